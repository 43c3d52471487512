"""What a log of the scheduler says of each pod: why here, why not there.

However long the log is, no more than so many pods and refusals are kept: the pods that it spoke of last.
"""

from collections.abc import Iterable, Iterator
from typing import assert_never

from msgspec import structs

from kubectl_koord.messages.log import READERS, Broken, Diagnosis, Found, RefusedNode, ScoreLine, ScoreRow, Unfit
from kubectl_koord.reports.operation.scheduler import LoggedPod, LogPart, RefusedByPlugin, SchedulerLogReport, Scored

MOST_PODS = 500
MOST_ROWS = 100
MOST_REFUSALS = 200_000
_LONGEST = 1000


def log(part: LogPart, lines: Iterable[str], pod: str = "") -> SchedulerLogReport:
    """Return what is said of every pod, or of the pod or gang of one name.

    Args:
        part: what to look for.
        lines: the log, each of no more than some length.
        pod: `namespace/name`, empty for all.

    """
    reading = _Reading(pod)
    for one in READERS[part](reading.counted(lines)):
        reading.take(one)
    return SchedulerLogReport("yes", part, reading.items(), reading.lines, reading.broken, reading.left_out)


class _Reading:
    """What was read so far, by pod, the one that was spoken of last at the end."""

    def __init__(self, wanted: str) -> None:
        self.lines = self.broken = self.left_out = 0
        self._wanted = wanted
        self._pods: dict[str, LoggedPod] = {}
        self._refused: dict[str, dict[str, tuple[str, str]]] = {}
        self._kept = 0

    def counted(self, lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            self.lines += 1
            yield line

    def take(self, one: Found) -> None:
        """Take note of one thing."""
        match one:
            case Broken():
                self.broken += 1
            case ScoreRow():
                self._row(one)
            case ScoreLine():
                self._pod(one.pod, one.at, feasible=one.feasible, scores=())
            case RefusedNode():
                self._refusal(one)
            case Diagnosis():
                self._count_once(one)
                failed = (
                    RefusedByPlugin(each.plugin, each.reason, each.nodes, each.count, each.preempt)
                    for each in one.failed
                )
                self._pod(
                    one.pod,
                    one.at,
                    gang=one.gang,
                    root_cause=one.root_cause,
                    waiting=one.waiting,
                    slots=one.slots,
                    refused=tuple(failed),
                    said=one.said,
                )
            case Unfit():
                self._unfit(one)
            case _:
                assert_never(one)

    def items(self) -> tuple[LoggedPod, ...]:
        """Return the pods, the last first; each with the nodes that refused it, by plugin and reason."""
        return tuple(
            structs.replace(item, refused=(*item.refused, *_by_reason(self._refused.get(pod, {}))))
            for pod, item in reversed(self._pods.items())
        )

    def _pod(self, pod: str, at: str, gang: str = "", **fields: object) -> None:
        if self._wanted not in {"", pod, gang}:
            return
        before = self._pods.pop(pod, None) or LoggedPod(pod, at, 0)
        self._pods[pod] = structs.replace(before, at=at, times=before.times + 1, gang=gang, **fields)
        if len(self._pods) > MOST_PODS:
            self._forget_the_oldest()

    def _forget_the_oldest(self) -> None:
        oldest = next(iter(self._pods))
        del self._pods[oldest]
        self._kept -= len(self._refused.pop(oldest, ()))
        self.left_out += 1

    def _row(self, row: ScoreRow) -> None:
        item = self._pods.get(row.pod)
        if item is not None and len(item.scores) < MOST_ROWS:
            scored = Scored(row.node, row.total, row.plugins)
            self._pods[row.pod] = structs.replace(item, scores=(*item.scores, scored))

    def _count_once(self, one: Diagnosis) -> None:
        """Take back the count of an attempt whose error was read before its dump, which may be written later."""
        before = self._pods.get(one.pod)
        if before is not None and one.at and before.at == one.at and before.root_cause is None:
            self._pods[one.pod] = structs.replace(before, times=before.times - 1)

    def _unfit(self, one: Unfit) -> None:
        """Note the error of an attempt, unless that attempt is dumped: a pod is not tried twice within a second."""
        before = self._pods.get(one.pod)
        if before is None or not one.at or before.at != one.at:
            nothing = LoggedPod(one.pod, one.at, 0)
            self._pod(
                one.pod,
                one.at,
                before.gang if before else "",
                root_cause=nothing.root_cause,
                waiting=nothing.waiting,
                slots=nothing.slots,
                refused=(),
                said=(one.said,),
            )

    def _refusal(self, one: RefusedNode) -> None:
        self._pod(one.pod, one.at)
        if one.pod not in self._pods:
            return
        nodes = self._refused.setdefault(one.pod, {})
        while self._kept >= MOST_REFUSALS and len(self._pods) > 1:
            self._forget_the_oldest()
        if one.node not in nodes and self._kept >= MOST_REFUSALS:
            item = self._pods[one.pod]
            self._pods[one.pod] = structs.replace(item, more=item.more + 1)
            return
        self._kept += one.node not in nodes
        nodes[one.node] = (one.plugin, one.reason[:_LONGEST])


def _by_reason(nodes: dict[str, tuple[str, str]]) -> Iterator[RefusedByPlugin]:
    """Yield each plugin and reason once, that of most nodes first."""
    found: dict[tuple[str, str], list[str]] = {}
    for node, why in nodes.items():
        found.setdefault(why, []).append(node)
    for (plugin, reason), names in sorted(found.items(), key=lambda one: (-len(one[1]), one[0])):
        yield RefusedByPlugin(plugin, reason, tuple(sorted(names)), len(names))
