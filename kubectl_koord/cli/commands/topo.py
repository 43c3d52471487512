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
  # Down to the nodes
  kubectl koord topo --nodes
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
    everything: Annotated[bool, typer.Option("--all", help=ALL_HELP)] = False,
) -> None:
    """Show the topology tree: nodes, free resources, and nodes with missing labels."""
    from kubectl_koord.cluster import kinds
    from kubectl_koord.engine import tree
    from kubectl_koord.explain.topo import topo
    from kubectl_koord.render.show import TopoOptions

    session: Session = context.obj
    session.everything = everything
    gang = name_given(name)
    built: list[tree.Tree | tree.NoTree] = []  # meanwhile: of many pods we wait for the last
    snapshot = session.snapshot(
        kinds.GANG_KINDS if gang else kinds.TOPOLOGY_KINDS,
        early=lambda topologies, nodes: built.append(tree.build(topologies, nodes)),
    )
    subject = session.subject(snapshot, gang) if gang else None
    report = topo(snapshot, subject, with_nodes=nodes or bool(session.options.output), tree=built[0] if built else None)
    session.show(report, TopoOptions(depth, nodes))
