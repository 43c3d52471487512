"""`kubectl koord why-preempted`: who killed a pod, or the pods of a gang."""

from typing import TYPE_CHECKING, Annotated

import typer

from kubectl_koord.cli.command_line import one_name
from kubectl_koord.cli.flags import GANG_HELP, All
from kubectl_koord.errors import KoordError
from kubectl_koord.language import say

if TYPE_CHECKING:
    from kubectl_koord.cli.session import Session
    from kubectl_koord.cluster.traces import Traces
    from kubectl_koord.explain.preempt import VictimName
    from kubectl_koord.model.snapshot import Snapshot
    from kubectl_koord.reports.jobs import WhyPreemptedReport

EXAMPLES = """\b
Examples:
  # Who preempted pod job-3, even if it no longer exists
  kubectl koord why-preempted job-3
  # Every preempted pod of gang job
  kubectl koord why-preempted job
"""


def command(
    context: typer.Context,
    victim: Annotated[list[str], typer.Argument(metavar="POD|GANG", help=GANG_HELP)],
    everything: All = False,
) -> None:
    """Show who preempted a pod or the pods of a gang: preemptor, trigger pod, priorities, plugin and result."""
    session: Session = context.obj
    name = one_name(victim)
    session.everything = everything
    session.show(_live(session, name) if session.options.is_live else _from_file(session, name))


def _from_file(session: "Session", victim: str) -> "WhyPreemptedReport":
    from kubectl_koord.explain import preempt
    from kubectl_koord.explain.why_preempted import why_preempted
    from kubectl_koord.simulation.subjects import Unknown

    snapshot = session.traces()
    asked = preempt.find(snapshot, victim, session.namespace())
    if isinstance(asked, Unknown) and not session.connection.namespace:
        asked = preempt.find_anywhere(snapshot, victim) or asked
    if isinstance(asked, Unknown):
        raise _nobody(session, snapshot, victim, asked.nearest)
    return why_preempted(snapshot, asked)


def _live(session: "Session", victim: str) -> "WhyPreemptedReport":
    """Return the report; what became of preemptors in other namespaces is read once these are known."""
    from kubectl_koord.cluster.traces import Traces
    from kubectl_koord.explain.why_preempted import other_namespaces, why_preempted

    traces = Traces(session.live_transport(), session.told())
    asked, snapshot = _found(session, traces, victim)
    report = why_preempted(snapshot, asked)
    others = other_namespaces(report)
    for namespace in others:
        traces.read(namespace)
    return why_preempted(traces.snapshot(), asked) if others else report


def _found(session: "Session", traces: "Traces", victim: str) -> "tuple[VictimName, Snapshot]":
    """Return what the name means; of `x/y` both meanings are tried, namespace and kind."""
    from kubectl_koord.diagnosis import coverage
    from kubectl_koord.explain.preempt import VictimName, find
    from kubectl_koord.simulation.subjects import Unknown, homes

    looked = homes(victim, session.namespace())
    nearest: tuple[str, ...] = ()
    for home in dict.fromkeys(looked):
        traces.read(home)
        snapshot = traces.snapshot()
        asked = find(snapshot, victim, session.namespace())
        if not isinstance(asked, Unknown):
            return asked, snapshot
        nearest = asked.nearest
    snapshot = traces.snapshot()
    blind = next((home for home in looked if coverage.unread(snapshot, "preempted", home)), None)
    if blind is not None:
        return VictimName("pod", f"{blind}/{victim.rpartition('/')[2]}"), snapshot
    session.require(snapshot, "podgroup", *looked)
    raise _nobody(session, snapshot, victim, nearest)


def _nobody(session: "Session", snapshot: "Snapshot", victim: str, nearest: tuple[str, ...]) -> KoordError:
    gone = say(", and no event mentions it (events are kept for about 1 hour)")
    return session.nobody(snapshot, victim, gone, nearest)
