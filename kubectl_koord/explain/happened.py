"""What happened last: pods bound, preempted, new, refused or gone, told by gang; of two readings, or of one."""

from collections.abc import Iterable, Iterator, Mapping
from heapq import nlargest
from itertools import chain
from operator import attrgetter
from typing import Literal, NamedTuple, TypeAlias, assert_never

from kubectl_koord.language import say
from kubectl_koord.model.pods import PendingPod, RunningPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.wording.words import count, few

What: TypeAlias = Literal["preempted", "failed", "bound", "gone", "new"]
"""The worst first."""
_ORDER: Mapping[What, int] = {"preempted": 0, "failed": 1, "bound": 2, "gone": 3, "new": 4}


class Happened(NamedTuple):
    """One thing that happened: when (RFC 3339), what, to which gang, owner or pod, and that in words."""

    when: str
    what: What
    who: str
    text: str


class _Seen(NamedTuple):
    """What happened to one pod, and what is told with it: a node, the preemptor, what the scheduler says."""

    what: What
    who: str
    detail: str = ""


def happened(before: Snapshot, after: Snapshot) -> tuple[Happened, ...]:
    """Return what differs in the pods of two readings, the worst first; nothing where pods could not be read."""
    if not (before.sees("Pod") and after.sees("Pod")):
        return ()
    nodes = [name for name in {*before.running, *after.running} if before.running.get(name) != after.running.get(name)]
    ran, runs = (
        {pod.key: pod for pod in chain.from_iterable(side.running.get(name, ()) for name in nodes)}
        for side in (before, after)
    )
    waited, waits = ({pod.key: pod for pod in side.pending} for side in (before, after))
    finished = {pod.key for pod in after.finished}
    return _told(after.moment, (*_placed(ran, runs), *_waiting(waited, waits, ran), *_gone(ran, runs, waits, finished)))


def _placed(ran: Mapping[str, RunningPod], runs: Mapping[str, RunningPod]) -> Iterator[_Seen]:
    for key, pod in runs.items():
        old = ran.get(key)
        if old is None:
            yield _Seen("bound", _who(pod), pod.node)
        elif pod.preempted and not old.preempted:
            yield _Seen("preempted", _who(pod), pod.preemptor)


def _waiting(
    waited: Mapping[str, PendingPod], waits: Mapping[str, PendingPod], ran: Mapping[str, RunningPod]
) -> Iterator[_Seen]:
    for key, pod in waits.items():
        old = waited.get(key)
        said = pod.condition.message if pod.condition is not None else ""
        if old is None:
            yield _Seen("new", _who(pod), say("created anew") if key in ran else "")
        elif said and pod.condition != old.condition:
            yield _Seen("failed", _who(pod), said)


def _gone(
    ran: Mapping[str, RunningPod], runs: Mapping[str, RunningPod], waits: Mapping[str, PendingPod], finished: set[str]
) -> Iterator[_Seen]:
    for key, pod in ran.items():
        if key not in runs and key not in waits:
            yield _Seen("gone", _who(pod), say("finished") if key in finished else say("deleted"))


_MOST_PODS = 1000


def lately(snapshot: Snapshot) -> tuple[Happened, ...]:
    """Return what the objects of one reading tell of the past, the latest first; of the last pods where many are."""
    by_time: dict[str, list[_Seen]] = {}
    running = chain.from_iterable(snapshot.running.values())
    for pod in nlargest(_MOST_PODS, running, key=attrgetter("scheduled")):
        by_time.setdefault(pod.scheduled, []).append(_Seen("bound", _who(pod), pod.node))
    for waiting in nlargest(_MOST_PODS, snapshot.pending, key=attrgetter("created")):
        by_time.setdefault(waiting.created, []).append(_Seen("new", _who(waiting)))
    for event in snapshot.events:
        if event.reason == "Preempted":
            by_time.setdefault(event.last_seen, []).append(_Seen("preempted", event.key))
    by_time.pop("", None)
    return tuple(chain.from_iterable(_told(when, by_time[when]) for when in sorted(by_time, reverse=True)))


def _who(pod: PendingPod | RunningPod) -> str:
    """Return whom people know a pod by: its gang, what owns it, or itself."""
    return pod.gang or (f"{pod.namespace}/{pod.owner.partition('/')[2]}" if pod.owner else pod.key)


def _told(when: str, every: Iterable[_Seen]) -> tuple[Happened, ...]:
    """Return what happened to several pods of one gang as one."""
    details: dict[tuple[What, str], list[str]] = {}
    for one in every:
        details.setdefault((one.what, one.who), []).append(one.detail)
    order = sorted(details, key=lambda each: (_ORDER[each[0]], each[1]))
    return tuple(Happened(when, what, who, _sentence(what, details[what, who])) for what, who in order)


def _sentence(what: What, details: list[str]) -> str:
    pods, told = count(len(details), "pod"), few(sorted({*details} - {""}))
    match what:
        case "bound":
            return say("{pods} bound to {told}", pods=pods, told=told)
        case "preempted":
            return say("{pods} preempted{part}", pods=pods, part=say(" for {told}", told=told) if told else "")
        case "failed":
            return say("{pods} refused: {told}", pods=pods, told=told)
        case "gone":
            return say("{pods} {what}", pods=pods, what=told)
        case "new":
            return say("{pods} new{part}", pods=pods, part=say(" ({note})", note=told) if told else "")
        case _:
            assert_never(what)
