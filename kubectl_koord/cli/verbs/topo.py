"""`kubectl koord topo`: the topology tree."""

from typing import TYPE_CHECKING, Annotated

import typer

from kubectl_koord.cli.command_line import name_given
from kubectl_koord.cli.flags import MANAGER, All, DryRun, FieldManager, Overwrite, Resource, Watch, Yes
from kubectl_koord.cli.writing import How, carry_out
from kubectl_koord.errors import KoordError
from kubectl_koord.language import say

if TYPE_CHECKING:
    from kubectl_koord.cli.session import Session
    from kubectl_koord.diagnosis.labels import NamedLayer
    from kubectl_koord.model.snapshot import Snapshot
    from kubectl_koord.reports.capacity import TopologyReport
    from kubectl_koord.reports.change import ChangePlan
    from kubectl_koord.simulation.submitted import Shape

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
  # How many pods of 8 GPU fit in each domain, and gangs of 4 of them
  kubectl koord topo --shape 8gpu --members 4
  # Down to the nodes, and to each card with a sign
  kubectl koord topo --nodes
  kubectl koord topo -o wide
  # As a page or a picture to hand on
  kubectl koord topo -o html > topology.html
  kubectl koord topo -o svg > topology.svg
  # The same on the embedded demo cluster
  kubectl koord topo --demo
  # What the labels of the nodes tell of the topology, as a manifest
  kubectl koord topo init
"""
_OF_INIT = """\b
Examples:
  # A ClusterNetworkTopology for review
  kubectl koord topo init > topology.yaml
  # Of labels of your own, from the top
  kubectl koord topo init --layer SpineLayer=example.com/row --layer BlockLayer=example.com/rack
  # How it differs from the live one
  kubectl koord topo init --diff
  # Create it, or change the live one
  kubectl koord topo init --apply
"""
_OF_LABEL = """\b
Examples:
  # A CSV file: node,SpineLayer,BlockLayer in the first line, or label keys
  kubectl koord topo label -f nodes.csv --dry-run
  # The tree of switches that topograph writes for Slurm
  kubectl koord topo label -f topology.conf
"""

app = typer.Typer(rich_markup_mode=None, invoke_without_command=True, epilog=EXAMPLES)


def command(
    context: typer.Context,
    name: Annotated[
        str | None, typer.Option("--for", metavar="GANG", help="Also show the slots for this gang.")
    ] = None,
    depth: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Layers to show (default: on a terminal what fits).")
    ] = None,
    nodes: Annotated[bool, typer.Option("--nodes", help="Show every node.")] = False,
    resource: Resource = None,
    whole_cards: Annotated[
        bool,
        typer.Option(
            "--whole-cards",
            help="Also count cards that are whole and free. This reads Devices and Reservations, which are large.",
        ),
    ] = False,
    shape: Annotated[
        str | None,
        typer.Option(
            metavar="SHAPE", help="Also count how many pods of this shape fit: 8gpu, 16cpu, or NAME=AMOUNT,..."
        ),
    ] = None,
    members: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Also count how many gangs of N pods of the shape fit.")
    ] = None,
    watch: Watch = False,
    everything: All = False,
) -> None:
    """Show the topology tree: nodes, free resources, and nodes with missing labels."""
    if context.invoked_subcommand is not None:
        return
    from kubectl_koord.cli.follow import follow_report
    from kubectl_koord.cluster import kinds
    from kubectl_koord.engine import tree
    from kubectl_koord.explain.topo import counted_as, resource_names, topo, with_shape
    from kubectl_koord.render.show import TopoOptions

    session: Session = context.obj
    session.everything = everything
    gang, asked, shaped = name_given(name), name_given(resource), name_given(shape)
    if gang and shaped:
        raise KoordError(say("error: --for and --shape cannot be used together"))
    if members and not shaped:
        raise KoordError(say("error: --members is for --shape"))
    built: list[tree.Tree | tree.NoTree] = []  # meanwhile: of many pods we wait for the last
    is_wide = session.options.output == "wide"
    nodes, whole = nodes or is_wide, whole_cards or is_wide
    needed = kinds.DEVICE_KINDS if whole else kinds.TOPOLOGY_KINDS
    needed = kinds.GANG_KINDS if gang or shaped else needed

    def ask(snapshot: "Snapshot") -> "TopologyReport":
        subject = session.subject(snapshot, gang) if gang else None
        counted = counted_as(snapshot, asked) if asked else ""
        if asked and not counted:
            session.unknown_name(snapshot, "tree", say("resource"), asked, resource_names(snapshot))
        report = topo(
            snapshot,
            subject,
            with_nodes=nodes or not session.options.is_page,
            tree=built[0] if built else None,
            resource=counted,
            whole=whole,
        )
        if shaped:
            return with_shape(report, snapshot, _shape(session, snapshot, shaped, members or 0))
        return report

    if watch:
        follow_report(session, needed, ask, TopoOptions(depth, nodes))
        return
    snapshot = session.snapshot(
        needed,
        early=lambda topologies, nodes: built.append(tree.build(topologies, nodes)),
        sums=not (gang or shaped or whole),
    )
    session.show(ask(snapshot), TopoOptions(depth, nodes))


app.callback()(command)


@app.command("init", epilog=_OF_INIT)
def init(
    context: typer.Context,
    layer: Annotated[
        list[str] | None,
        typer.Option("--layer", metavar="NAME=KEY", help="A layer and its label, from the top; may be repeated."),
    ] = None,
    diff: Annotated[bool, typer.Option("--diff", help="Show how it differs from the live one.")] = False,
    apply: Annotated[bool, typer.Option("--apply", help="Create it, or change the live one.")] = False,
    dry_run: DryRun = "none",
    yes: Yes = False,
    field_manager: FieldManager = MANAGER,
) -> None:
    """Propose a ClusterNetworkTopology from the labels of the nodes: as a manifest, unless told otherwise."""
    from kubectl_koord.changes.topology import manifest, propose, topology_plan
    from kubectl_koord.changes.values import RefusedError
    from kubectl_koord.cli.session import write
    from kubectl_koord.cluster import edits, kinds
    from kubectl_koord.render.plain import harmless

    session: Session = context.obj
    if diff and apply:
        raise KoordError(say("error: --diff and --apply cannot be used together"))
    named = [_layer(one) for one in layer or ()]
    names = [one.name for one in named]
    if len(set(names)) < len(names):
        raise KoordError(say("error: --layer: each layer can be named only once"))
    if diff or apply:

        def plan() -> "ChangePlan":
            snapshot = session.snapshot(kinds.GANG_KINDS)
            return topology_plan(snapshot, propose(snapshot, named))

        carry_out(session, plan, How("client" if diff else dry_run, yes, field_manager))
        return
    if session.options.output not in {"", "json", "yaml"}:
        raise KoordError(say("error: topo init prints -o yaml or json"))
    try:
        proposal = propose(session.snapshot(kinds.TOPOLOGY_KINDS), named)
    except RefusedError as refused:
        raise KoordError(say("error: {refused}", refused=refused)) from None
    comments = "".join(f"# {harmless(note)}\n" for note in proposal.notes)
    written = [manifest(proposal)]
    is_json = session.options.output == "json"
    write(edits.to_json(written) if is_json else edits.to_yaml(written, comments))


@app.command("label", epilog=_OF_LABEL)
def label(
    context: typer.Context,
    file: Annotated[
        str,
        typer.Option("--filename", "-f", metavar="FILE", help="CSV, JSON, or a topology.conf of switches (-: stdin)."),
    ],
    dry_run: DryRun = "none",
    yes: Yes = False,
    overwrite: Overwrite = False,
    field_manager: FieldManager = MANAGER,
) -> None:
    """Give nodes the labels of their layers, out of a file; the tree that results is shown before."""
    from kubectl_koord.changes.topology import NodePlaces, labels_plan
    from kubectl_koord.cluster import edits, kinds

    session: Session = context.obj

    def plan() -> "ChangePlan":
        found = edits.read(file)
        return labels_plan(
            session.snapshot(kinds.TOPOLOGY_KINDS), NodePlaces(found.columns, found.switches), overwrite=overwrite
        )

    carry_out(session, plan, How(dry_run, yes, field_manager))


def _layer(text: str) -> "NamedLayer":
    """Return a layer of --layer: `SpineLayer=example.com/rack`, of several keys with commas between them."""
    from kubectl_koord.diagnosis.labels import NamedLayer
    from kubectl_koord.engine.tree import NODE_LAYER, ROOT_LAYER

    name, _, keys = text.partition("=")
    every = tuple(key.strip() for key in keys.split(","))
    if not name or not all(every) or name in {NODE_LAYER, ROOT_LAYER}:
        raise KoordError(
            say("error: --layer {text!r} is not of the form NAME=KEY, such as SpineLayer=example.com/spine", text=text)
        )
    return NamedLayer(name, every)


def _shape(session: "Session", snapshot: "Snapshot", text: str, members: int) -> "Shape":
    from kubectl_koord.explain.topo import resource_names
    from kubectl_koord.simulation.submitted import ShapeError, parsed

    try:
        return parsed(snapshot, text, members)
    except ShapeError as problem:
        if problem.resource:
            session.unknown_name(snapshot, "nodes", say("resource"), problem.resource, resource_names(snapshot))
        raise KoordError(say("error: --shape: {problem}", problem=problem)) from None
