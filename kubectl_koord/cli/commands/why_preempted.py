"""`kubectl koord why-preempted`: who killed a pod, or the pods of a gang."""

from typing import TYPE_CHECKING, Annotated

import typer

from kubectl_koord.cli.options import ALL_HELP, GANG_HELP
from kubectl_koord.errors import KoordError

if TYPE_CHECKING:
    from kubectl_koord.cli.session import Session
    from kubectl_koord.cluster.source import Traces
    from kubectl_koord.explain.reports import WhyPreemptedReport
    from kubectl_koord.explain.why_preempted import Asked
    from kubectl_koord.model.snapshot import Snapshot

# What is before the slash is a namespace, unless it is one of these, or there turns out to be no such pod.
_KINDS = frozenset(
    [
        "pod",
        "pods",
        "po",
        "podgroup",
        "podgroups",
        "pg",
        "gang",
        "job",
        "pytorchjob",
        "statefulset",
        "deployment",
        "replicaset",
    ]
)

EXAMPLES = """\b
Examples:
  kubectl koord why-preempted job-3      who preempted pod job-3, also when it is gone
  kubectl koord why-preempted job        every preempted pod of gang job
"""


def command(
    context: typer.Context,
    victim: Annotated[str, typer.Argument(metavar="POD|GANG", help=GANG_HELP)],
    everything: Annotated[bool, typer.Option("--all", help=ALL_HELP)] = False,
) -> None:
    """Say who preempted a pod or pods of a gang: preemptor, trigger pod, priorities, plugin, and what came of it."""
    session: Session = context.obj
    session.everything = everything
    session.show(_live(session, victim) if session.options.is_live else _from_file(session, victim))


def _from_file(session: "Session", victim: str) -> "WhyPreemptedReport":
    from kubectl_koord.explain.subjects import Unknown
    from kubectl_koord.explain.why_preempted import whom, whom_anywhere, why_preempted

    snapshot = session.traces()
    asked = whom(snapshot, victim, session.namespace())
    if isinstance(asked, Unknown) and not session.connection.namespace:
        asked = whom_anywhere(snapshot, victim) or asked
    if isinstance(asked, Unknown):
        raise _nobody(victim, asked.nearest)
    return why_preempted(snapshot, asked)


def _live(session: "Session", victim: str) -> "WhyPreemptedReport":
    """Return the report; what became of preemptors in other namespaces is read once these are known."""
    from kubectl_koord.cluster.source import Traces
    from kubectl_koord.explain.why_preempted import other_namespaces, why_preempted

    traces = Traces(session.live_transport(), session.options.version)
    asked, snapshot = _found(traces, victim, session.namespace())
    report = why_preempted(snapshot, asked)
    others = other_namespaces(report)
    for namespace in others:
        traces.read(namespace)
    return why_preempted(traces.snapshot(), asked) if others else report


def _found(traces: "Traces", victim: str, namespace: str) -> "tuple[Asked, Snapshot]":
    """Return whom the name means; of `x/y` both meanings are tried, namespace and kind; `kind/ns/y` has one."""
    from kubectl_koord.explain.subjects import Unknown
    from kubectl_koord.explain.why_preempted import Asked, whom

    start, _, rest = victim.rpartition("/")
    kind, has_kind, first = start.rpartition("/")
    homes = (
        [first] if has_kind and kind else [namespace] if not first or first.lower() in _KINDS else [first, namespace]
    )
    nearest: tuple[str, ...] = ()
    for home in dict.fromkeys(homes):
        traces.read(home)
        snapshot = traces.snapshot()
        asked = whom(snapshot, victim, namespace)
        if not isinstance(asked, Unknown):
            return asked, snapshot
        nearest = asked.nearest
    blind = next((home for home in homes if traces.is_blind(home)), None)
    if blind is None:
        raise _nobody(victim, nearest)
    return Asked("pod", f"{blind}/{rest}"), traces.snapshot()


def _nobody(victim: str, nearest: tuple[str, ...]) -> KoordError:
    gone = "and no event remembers one (events are kept for about an hour)"
    hint = f", did you mean {', '.join(nearest)}?" if nearest else ""
    return KoordError(f"error: no gang, pod or owner {victim!r}, {gone}{hint}")
