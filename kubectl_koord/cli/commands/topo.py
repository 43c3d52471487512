"""`kubectl koord topo`: the topology tree."""

from typing import TYPE_CHECKING, Annotated

import typer

from kubectl_koord.cli.options import ALL_HELP, name_given

if TYPE_CHECKING:
    from kubectl_koord.cli.session import Session

EXAMPLES = """\b
Examples:
  # The tree, with free and total resources
  kubectl koord topo
  # How many pods of gang job fit in each domain
  kubectl koord topo --for job
  # What is free of another resource
  kubectl koord topo --resource memory
  # With the cards that are whole and free
  kubectl koord topo --whole-cards
  # Down to the nodes
  kubectl koord topo --nodes
  # As a page or a picture to hand on
  kubectl koord topo -o html > topology.html
  kubectl koord topo -o svg > topology.svg
  # The same on the embedded demo cluster
  kubectl koord topo --demo
"""


def command(
    context: typer.Context,
    name: Annotated[
        str | None, typer.Option("--for", metavar="GANG", help="Also show the slots for this gang.")
    ] = None,
    depth: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Layers to show (default: on a terminal what fits).")
    ] = None,
    nodes: Annotated[bool, typer.Option("--nodes", help="Show every node.")] = False,
    resource: Annotated[
        str | None, typer.Option(metavar="NAME", help="Count this resource (default: accelerators, else CPU).")
    ] = None,
    whole_cards: Annotated[
        bool,
        typer.Option(
            "--whole-cards",
            help="Also count cards that are whole and free. This reads Devices and Reservations, which are large.",
        ),
    ] = False,
    everything: Annotated[bool, typer.Option("--all", help=ALL_HELP)] = False,
) -> None:
    """Show the topology tree: nodes, free resources, and nodes with missing labels."""
    from kubectl_koord.cluster import kinds
    from kubectl_koord.engine import tree
    from kubectl_koord.explain.topo import counted_as, resource_names, topo
    from kubectl_koord.render.show import TopoOptions

    session: Session = context.obj
    session.everything = everything
    gang, asked = name_given(name), name_given(resource)
    built: list[tree.Tree | tree.NoTree] = []  # meanwhile: of many pods we wait for the last
    needed = kinds.DEVICE_KINDS if whole_cards else kinds.TOPOLOGY_KINDS
    snapshot = session.snapshot(
        kinds.GANG_KINDS if gang else needed,
        early=lambda topologies, nodes: built.append(tree.build(topologies, nodes)),
    )
    subject = session.subject(snapshot, gang) if gang else None
    counted = counted_as(snapshot, asked) if asked else ""
    if asked and not counted:
        session.unknown_name(snapshot, "tree", "resource", asked, resource_names(snapshot))
    report = topo(
        snapshot,
        subject,
        with_nodes=nodes or not session.options.is_page,
        tree=built[0] if built else None,
        resource=counted,
        whole=whole_cards,
    )
    session.show(report, TopoOptions(depth, nodes))
