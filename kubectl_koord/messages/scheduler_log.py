"""What koord-scheduler logs of pods while it is told to: score tables, refusals of nodes, dumps of a diagnosis.

Formats of 1.7, 1.8 and main (frameworkext/debug.go, framework_extender.go, job_nominated_pods.go,
schedule_diagnosis.go), and of kube-scheduler, which by itself logs pods that fit nowhere (schedule_one.go);
what `kubectl logs` puts before a line does not matter.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct, field

_STAMP = re.compile(r"[IWEF](\d{4} \d\d:\d\d:\d\d)\.\d+ ")
_QUOTED = r'"((?:[^"\\]|\\.){1,600})"'

_SCORES = "scores for Pod: "
_TOP = re.compile(r"scores for Pod: (\S{1,600}), feasibleNodes: (\d{1,8}), plugins:\[([^\]]{0,4000})\]")
_FEWEST_CELLS = 4
_LONGEST_NAME, _LONGEST, _LONGEST_ROW = 300, 2000, 1 << 16
_MOST = 100
"""How many reasons, rows and domains are kept of one attempt; and names of nodes of one reason."""

_FAILED = "Failed to "
_REFUSED = re.compile(
    rf"Failed to (?:filter|FilterWithReservation|FilterNominateReservation) for Pod {_QUOTED}"
    rf"(?: with Reservation {_QUOTED})? on Node {_QUOTED}(?: \(pass \d+\))?"
    r", failedPlugin: ([^,]{0,200})(?:, schedulingPhaseBeingInvoked: [^,]*)?, reason: (.*)"
)
_IS_REFUSAL = re.compile(r"Failed to (?:filter|FilterWithReservation|FilterNominateReservation) for Pod ")

_DUMP = "dump diagnosis for "
_DUMPED = re.compile(
    r"dump diagnosis for (?:[^{]{0,2000}?, targetPod: )?([^/\s]{1,300})/([^/\s]{1,300})/[^/\s:]*: \$?(\{.*\})\s*$"
)

_UNFIT = "Unable to schedule pod; no fit; waiting"
_IS_UNFIT = re.compile(
    r'"Unable to schedule pod; no fit; waiting" pod="([^/\s"]{1,300}/[^/\s"]{1,300})" err="((?:[^"\\]|\\.){1,20000})"'
)


class ScoreLine(Struct, frozen=True):
    """The beginning of a table: the pod, how many nodes it could go to, and the plugins in the order of columns."""

    at: str
    pod: str
    feasible: int
    plugins: tuple[str, ...]


class ScoreRow(Struct, frozen=True):
    """One node of the table: its total, and what each plugin gave it."""

    pod: str
    node: str
    total: int
    plugins: Mapping[str, int]


class RefusedNode(Struct, frozen=True):
    """A node, or a Reservation on it, that a plugin refused a pod."""

    at: str
    pod: str
    node: str
    plugin: str
    reason: str


class FailedNodes(Struct, frozen=True):
    """How many nodes a plugin refused for one reason, the first of them by name; whether victims might help."""

    plugin: str
    reason: str
    nodes: tuple[str, ...]
    count: int
    preempt: bool


class Diagnosis(Struct, frozen=True):
    """What the scheduler noted of one attempt; `said` are its own texts, of PreFilter, preemption and suggestions."""

    at: str
    pod: str
    gang: str
    root_cause: bool | None
    waiting: int
    slots: Mapping[str, int]
    failed: tuple[FailedNodes, ...]
    said: tuple[str, ...]


class Unfit(Struct, frozen=True):
    """A pod that fitted nowhere in an attempt, and the error that its condition tells, too."""

    at: str
    pod: str
    said: str


class Broken(Struct, frozen=True):
    """A line that should be one of these and is not."""


Found: TypeAlias = ScoreLine | ScoreRow | RefusedNode | Diagnosis | Unfit | Broken


class _Failed(Struct, rename="camel"):
    node_name: str = ""
    failed_nodes: list[str] | None = None
    failed_plugin: str = ""
    reason: str = ""
    preempt_might_help: bool = False


class _Schedule(Struct, rename="camel"):
    already_wait_for_bound: int = 0
    node_offer_slot: dict[str, int] | None = None
    node_failed_details: list[_Failed] | None = None


class _Suggestion(Struct):
    type: str = ""
    message: str = ""


class _Dump(Struct, rename="camel"):
    questioned_key: str = ""
    pre_filter_message: str = ""
    is_root_cause_pod: bool | None = None
    schedule_diagnosis: _Schedule | None = None
    preemption_diagnosis: dict[str, Any] | None = None
    suggestion: _Suggestion = field(default_factory=_Suggestion)


def scores(lines: Iterable[str]) -> Iterator[Found]:
    """Yield the tables of scores: each its beginning, then its rows."""
    table: ScoreLine | None = None
    for line in lines:
        if _SCORES in line:
            table = _table(line)
            yield table or Broken()
        elif table is not None and "|" in line and not _STAMP.search(line):
            row = _row(line, table)
            if row is not None:
                yield row
        elif table is not None:
            table = None


def filters(lines: Iterable[str]) -> Iterator[Found]:
    """Yield which node was refused, by which plugin and why."""
    for line in lines:
        if _FAILED in line and (begin := _IS_REFUSAL.search(line)):
            match = _REFUSED.match(line, begin.start())
            if match is None:
                yield Broken()
                continue
            pod, reservation, node, plugin, reason = match.groups()
            place = f"{node} ({reservation.strip('/')})" if reservation else node
            yield RefusedNode(_time(line), pod, place, plugin, reason.strip())


def diagnoses(lines: Iterable[str]) -> Iterator[Found]:
    """Yield what is dumped of each attempt, and the error of each that found no node."""
    for line in lines:
        if _DUMP in line:
            yield _diagnosis(line) or Broken()
        elif _UNFIT in line:
            match = _IS_UNFIT.search(line)
            said = match and re.sub(r"\\(.)", r"\1", match[2])[:_LONGEST]
            yield Unfit(_time(line), match[1], said) if match and said else Broken()


READERS: Mapping[str, Callable[[Iterable[str]], Iterator[Found]]] = {
    "scores": scores,
    "filters": filters,
    "diagnosis": diagnoses,
}


def _time(line: str) -> str:
    match = _STAMP.search(line)
    return match[1] if match is not None else ""


def _table(line: str) -> ScoreLine | None:
    match = _TOP.match(line, line.index(_SCORES))
    if match is None:
        return None
    return ScoreLine(_time(line), match[1], int(match[2]), tuple(match[3].split()))


def _row(line: str, table: ScoreLine) -> ScoreRow | Broken | None:
    """Return a row of numbers; None for the header and the line below it."""
    if len(line) > _LONGEST_ROW:
        return Broken()
    cells = [cell.strip() for cell in line.split("|")[1:-1]]
    if not cells or not cells[0].isdigit():
        return None
    numbers = [_number(cell) for cell in cells[3:]]
    if (
        len(cells) != _FEWEST_CELLS + len(table.plugins)
        or None in numbers
        or cells[1] != table.pod
        or len(cells[2]) > _LONGEST_NAME
    ):
        return Broken()
    total, *each = (number or 0 for number in numbers)
    return ScoreRow(table.pod, cells[2], total, dict(zip(table.plugins, each, strict=True)))


def _number(text: str) -> int | None:
    return int(text) if re.fullmatch(r"-?\d{1,18}", text, re.ASCII) else None


def _diagnosis(line: str) -> Diagnosis | None:
    match = _DUMPED.match(line, line.index(_DUMP))
    if match is None:
        return None
    try:
        dump = msgspec.json.decode(match[3], type=_Dump)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None
    pod, schedule = f"{match[1]}/{match[2]}", dump.schedule_diagnosis or _Schedule()
    key = dump.questioned_key[:_LONGEST]
    return Diagnosis(
        at=_time(line),
        pod=pod,
        gang="" if key == pod else key,
        root_cause=dump.is_root_cause_pod,
        waiting=schedule.already_wait_for_bound,
        slots=dict(sorted((schedule.node_offer_slot or {}).items())[:_MOST]),
        failed=tuple(_failed(schedule.node_failed_details or ())),
        said=tuple(text[:_LONGEST] for text in _said(dump)),
    )


def _failed(details: Iterable[_Failed]) -> Iterator[FailedNodes]:
    """Yield each reason once: 1.7 has a detail for each node."""
    by_reason: dict[tuple[str, str, bool], list[str]] = {}
    for one in details:
        key = (one.failed_plugin, one.reason, one.preempt_might_help)
        by_reason.setdefault(key, []).extend(one.failed_nodes or ([one.node_name] if one.node_name else ()))
    most_first = sorted(by_reason.items(), key=lambda one: (-len(one[1]), one[0]))
    for (plugin, reason, preempt), nodes in most_first[:_MOST]:
        first = tuple(name[:_LONGEST_NAME] for name in sorted(nodes)[:_MOST])
        yield FailedNodes(plugin[:_LONGEST_NAME], reason[:_LONGEST], first, len(nodes), preempt)


def _said(dump: _Dump) -> Iterator[str]:
    if dump.pre_filter_message:
        yield dump.pre_filter_message
    preemption = dump.preemption_diagnosis or {}
    inner = preemption.get("otherDiagnosis", preemption)
    texts = (inner.get(name) for name in ("reason", "message")) if isinstance(inner, dict) else ()
    yield from (text for text in dict.fromkeys(texts) if isinstance(text, str) and text)
    yield from filter(None, (dump.suggestion.message,))
