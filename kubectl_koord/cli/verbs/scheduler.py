"""`kubectl koord scheduler`: what the leading scheduler remembers, beside what the objects say; and its log, read."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from kubectl_koord.cli.command_line import NODE, PODGROUP, QUOTA, without_type
from kubectl_koord.cli.flags import All
from kubectl_koord.errors import KoordError
from kubectl_koord.language import say

if TYPE_CHECKING:
    from kubectl_koord.cli.session import Session
    from kubectl_koord.cluster.scheduler_api import Answer, Endpoint
    from kubectl_koord.model.snapshot import Snapshot
    from kubectl_koord.reports.operation import LogPart

EXAMPLES = """\b
Examples:
  # Every gang as the scheduler remembers it; what differs from the API, and why
  kubectl koord scheduler gangs
  # One gang, node or quota
  kubectl koord scheduler gang job
  kubectl koord scheduler node node-1
  kubectl koord scheduler quotas team-a
  # Devices, CPUs and Reservations of a node
  kubectl koord scheduler devices node-1
  kubectl koord scheduler numa node-1
  kubectl koord scheduler reservations node-1
  # A saved answer beside a saved cluster
  kubectl koord scheduler gangs --endpoint gangs.json --snapshot cluster.json
  # Why here, why not there: out of the scheduler's log
  kubectl koord scheduler scores --log scheduler.log
  kubectl logs -n koordinator-system koord-scheduler-0 | kubectl koord scheduler filters job-0 --log -
"""

app = typer.Typer(
    help="Show what the leading scheduler remembers beside what the objects say, and what its log says of pods.",
    epilog=EXAMPLES,
    rich_markup_mode=None,
    no_args_is_help=True,
)
_OFFLINE = say("error: the scheduler's endpoints need a live cluster; --endpoint FILE reads an answer that was saved")
_File = Annotated[str, typer.Option("--endpoint", metavar="FILE", help="Read a saved answer (-: stdin).")]
_Port = Annotated[int, typer.Option("--port", metavar="PORT", help="The scheduler's own --port.")]
_Log = Annotated[str, typer.Option("--log", metavar="FILE", help="The scheduler's log (-: stdin).")]
_Node = Annotated[str, typer.Argument(metavar="NODE", help="Name of a node.")]
_Pod = Annotated[str, typer.Argument(metavar="[POD]", help="NAME or NAMESPACE/NAME; default: every pod.")]
_PORT = 10251


@app.command("gangs", epilog=EXAMPLES)
def gangs(context: typer.Context, endpoint: _File = "", port: _Port = _PORT, everything: All = False) -> None:
    """Show every gang as the scheduler remembers it."""
    _gangs(context.obj, "", endpoint, port, everything=everything)


@app.command("gang", epilog=EXAMPLES)
def gang(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="GANG", help="NAME or NAMESPACE/NAME.")],
    endpoint: _File = "",
    port: _Port = _PORT,
) -> None:
    """Show one gang as the scheduler remembers it."""
    session: Session = context.obj
    bare = without_type(name, PODGROUP)
    _gangs(session, bare if "/" in bare else f"{session.namespace()}/{bare}", endpoint, port, everything=True)


@app.command("node", epilog=EXAMPLES)
def node(context: typer.Context, name: _Node, endpoint: _File = "", port: _Port = _PORT) -> None:
    """Show the pods of a node, those that are being bound included, and what they request."""
    from kubectl_koord.cluster.objects import summaries
    from kubectl_koord.explain import scheduler

    name = without_type(name, NODE)
    session, answer, snapshot = _asked(context, "node", name, endpoint, port)
    _require_node(session, snapshot, name)
    found = None if answer.body is None else summaries.node(answer.body, answer.asked)
    session.show(scheduler.node(snapshot, found, answer.asked, name))


@app.command("quotas", epilog=EXAMPLES)
def quotas(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Name of a quota; default: all.")] = None,
    endpoint: _File = "",
    port: _Port = _PORT,
    everything: All = False,
) -> None:
    """Show the quotas as the scheduler counts them."""
    from kubectl_koord.cluster.objects import summaries
    from kubectl_koord.explain.scheduler import quotas as compared

    wanted = without_type(name, QUOTA)
    session, answer, snapshot = _asked(context, "quota" if wanted else "quotas", wanted, endpoint, port)
    session.everything = everything
    found = {} if answer.body is None else summaries.quotas(answer.body, answer.asked)
    session.show(compared(snapshot, found, answer.asked, wanted))


@app.command("devices", epilog=EXAMPLES)
def devices(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="[NODE]", help="Name of a node; default: all.")] = None,
    endpoint: _File = "",
    port: _Port = _PORT,
    everything: All = False,
) -> None:
    """Show the devices of nodes, and who has them, as the scheduler's books say."""
    from kubectl_koord.cluster.objects import summaries
    from kubectl_koord.explain import scheduler

    wanted = without_type(name, NODE)
    session, answer, snapshot = _asked(context, "devices-of-node" if wanted else "devices", wanted, endpoint, port)
    session.everything = everything
    if wanted:
        _require_node(session, snapshot, wanted)
        found = () if answer.body is None else summaries.devices_of(answer.body, answer.asked, wanted)
    else:
        found = summaries.devices(answer.body or b"{}", answer.asked)
    session.show(scheduler.devices(snapshot, found, answer.asked, (wanted,) if wanted else ()))


@app.command("numa", epilog=EXAMPLES)
def numa(context: typer.Context, name: _Node, endpoint: _File = "", port: _Port = _PORT) -> None:
    """Show which pods have bound which CPUs of a node, and which are left."""
    from kubectl_koord.cluster.objects import summaries
    from kubectl_koord.explain import scheduler

    name = without_type(name, NODE)
    session, answer, snapshot = _asked(context, "numa", name, endpoint, port)
    _require_node(session, snapshot, name)
    found = summaries.cpus(answer.body or b"{}", answer.asked)
    session.show(scheduler.cpus(snapshot, found, answer.asked, name))


@app.command("reservations", epilog=EXAMPLES)
def reservations(context: typer.Context, name: _Node, endpoint: _File = "", port: _Port = _PORT) -> None:
    """Show the Reservations on a node, and the pods that draw on them."""
    from kubectl_koord.cluster.objects import summaries
    from kubectl_koord.explain import scheduler

    name = without_type(name, NODE)
    session, answer, snapshot = _asked(context, "reservations", name, endpoint, port)
    _require_node(session, snapshot, name)
    found = summaries.reservations(answer.body or b"{}", answer.asked)
    session.show(scheduler.reservations(snapshot, found, answer.asked, name))


@app.command("services", epilog=EXAMPLES)
def services(context: typer.Context, endpoint: _File = "", port: _Port = _PORT, everything: All = False) -> None:
    """Show which paths the scheduler answers."""
    from kubectl_koord.cluster.objects import summaries
    from kubectl_koord.explain.scheduler import routes

    session, answer, snapshot = _asked(context, "services", "", endpoint, port)
    session.everything = everything
    session.show(routes(snapshot, summaries.services(answer.body or b"{}", answer.asked), answer.asked))


@app.command("scores", epilog=EXAMPLES)
def scores(context: typer.Context, log: _Log, pod: _Pod = "", everything: All = False) -> None:
    """Show, out of a log, how the nodes scored for each pod: why here."""
    _log(context.obj, "scores", log, pod, everything=everything)


@app.command("filters", epilog=EXAMPLES)
def filters(context: typer.Context, log: _Log, pod: _Pod = "", everything: All = False) -> None:
    """Show, out of a log, which plugin refused each node: why not there."""
    _log(context.obj, "filters", log, pod, everything=everything)


@app.command("diagnosis", epilog=EXAMPLES)
def diagnosis(context: typer.Context, log: _Log, pod: _Pod = "", everything: All = False) -> None:
    """Show, out of a log, what the scheduler noted of each pod's last attempt."""
    _log(context.obj, "diagnosis", log, pod, everything=everything)


def _gangs(session: "Session", name: str, endpoint: str, port: int, *, everything: bool) -> None:
    from kubectl_koord.cluster import kinds
    from kubectl_koord.cluster.objects import summaries
    from kubectl_koord.explain.scheduler import gangs as compared

    answer = _answer(session, "gang" if name else "gangs", name, endpoint, port)
    found = {} if answer.body is None else summaries.gangs(answer.body, answer.asked)
    snapshot = session.snapshot(kinds.MEMBER_KINDS)
    session.everything = everything
    if name and name not in found:
        session.subject(snapshot, f"podgroup/{name}" if name in snapshot.pod_groups else name)
    session.show(compared(snapshot, found, answer.asked, name))


def _asked(
    context: typer.Context, endpoint: "Endpoint", name: str, file: str, port: int
) -> "tuple[Session, Answer, Snapshot]":
    """Return the scheduler's answer, then the objects: what is bound meanwhile is not taken for gone."""
    session: Session = context.obj
    answer = _answer(session, endpoint, name, file, port)
    return session, answer, _snapshot(session)


def _answer(session: "Session", endpoint: "Endpoint", name: str, file: str, port: int) -> "Answer":
    from kubectl_koord.cluster import stored
    from kubectl_koord.cluster.scheduler_api import Answer, ask

    if file:
        return Answer(file, stored.answer(file))
    if not session.options.is_live:
        raise KoordError(_OFFLINE)
    return ask(session.live_transport(), endpoint, name, port, session.options.home)


def _snapshot(session: "Session") -> "Snapshot":
    from kubectl_koord.cluster import kinds

    return session.snapshot(kinds.GANG_KINDS)


def _require_node(session: "Session", snapshot: "Snapshot", name: str) -> None:
    if name not in snapshot.nodes:
        session.unknown_name(snapshot, "nodes", say("node"), name, snapshot.nodes)


def _log(session: "Session", part: "LogPart", file: str, pod: str, *, everything: bool) -> None:
    from kubectl_koord.cli.session import Progress
    from kubectl_koord.cluster import stored
    from kubectl_koord.explain.scheduler import log

    session.everything = everything
    name = pod.removeprefix("pod/")
    wanted = f"{session.namespace()}/{name}" if name and "/" not in name else name
    seen: dict[str, int] = {}
    with Progress(sys.stderr, seen):
        found = log(part, stored.lines(file, seen), wanted)
    session.show(found)
