"""The page of `why-pending` without a name, and its sentences."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from kubectl_koord.language import STOP, say
from kubectl_koord.render.document import (
    USUAL,
    Block,
    Column,
    Columns,
    Command,
    EmptyLine,
    Line,
    Row,
    Table,
    TreeTable,
    slim,
)
from kubectl_koord.render.lines import VERDICT_STYLE, basis_line, more_line, warning_lines
from kubectl_koord.render.pages import why
from kubectl_koord.render.shown import Shown, folded, parted
from kubectl_koord.reports.common import OF_GAP, Notice, Verdict
from kubectl_koord.reports.jobs import CauseGroup, Contention, PendingGangsReport, WhyReport
from kubectl_koord.wording.facts import held_back, more_quotas
from kubectl_koord.wording.words import (
    COMMA,
    DETAILS,
    age_at,
    and_more,
    asked_for,
    beyond_limit,
    command,
    count,
    more,
    noted,
)

T = TypeVar("T")

PENDING_DETAILS = command("why-pending", "GANG")
_VERDICTS: dict[Verdict, str] = {
    "no": say("cannot start now"),
    "yes": say("would be placed now"),
    "unknown": say("unknown"),
}


def headline(report: PendingGangsReport) -> str:
    """Return how many gangs and pods are pending, by verdict."""
    if not report.items:
        doubt = "" if report.verdict == "yes" else say(" among the objects that could be read")
        none = say("No gang with pending pods matches") if report.selected else say("No gang has pending pods")
        where = say(" in namespace {namespace}", namespace=report.namespace) if report.namespace else ""
        return say("{none}{where}{doubt}.", none=none, where=where, doubt=doubt)
    if any(item.owner_kind for item in report.items):
        return say(
            "{jobs} {wait}: {by_layer}.",
            jobs=count(len(report.items), "job"),
            wait="waits" if len(report.items) == 1 else "wait",
            by_layer=by_layer(report),
        )
    return say(
        "{subjects}: {by_verdict}.",
        subjects=_subjects(report),
        by_verdict=by_verdict(item.verdict for item in report.items),
    )


def by_verdict(verdicts: Iterable[Verdict]) -> str:
    """Return how many cannot start, would be placed, or are unknown."""
    counts = Counter(verdicts)
    return _numbered((counts[verdict], words) for verdict, words in _VERDICTS.items())


def _numbered(every: Iterable[tuple[int, str]]) -> str:
    """Return how many there are of what; what there is none of is left out."""
    return COMMA.join(say("{number} {what}", number=number, what=what) for number, what in every if number)


def listing(
    columns: tuple[Column, ...], items: Sequence[T], row: Callable[[T], Row], shown: Shown, most: int | None
) -> Iterator[Block]:
    """Yield a table with a row for each item, and how many more there are than it shows, or than --limit lets it."""
    first, rest = parted(items[:most], shown.lines)
    yield slim(Table(columns, tuple(map(row, first)), indent=0, main=True))
    if rest:
        yield more_line(more(len(rest)))
    if most is not None and most < len(items):
        yield more_line(beyond_limit(len(items) - most))


_WAIT_FOR: Mapping[str, str] = {
    "owner": say("held by their owner"),
    "pods": say("for pods"),
    "gang": say("for pods"),
    "may be tried": say("not to be tried"),
    "quota": say("for quota"),
}
"""What jobs wait for that a layer holds; in queues, or else for room."""


def by_layer(report: PendingGangsReport) -> str:
    """Return how many jobs wait for what, in the order of their way: `7 in queues, 2 for pods, 3 for room`."""
    counts: Counter[str] = Counter()
    for one in report.layers:
        words = _VERDICTS[one.verdict] if one.verdict != "no" else _WAIT_FOR.get(one.layer, say("for room"))
        counts[say("in queues") if one.layer.startswith("queue ") and one.verdict == "no" else words] += one.jobs
    order = (
        *dict.fromkeys([say("held by their owner"), say("in queues"), *_WAIT_FOR.values(), say("for room")]),
        *_VERDICTS.values(),
    )
    return _numbered((counts[words], words) for words in order)


def _subjects(report: PendingGangsReport) -> str:
    pods = sum(1 for item in report.items if item.lone_pod)
    gangs = len(report.items) - pods
    if not gangs:
        return say("{pods} {are} pending", pods=count(pods, "pod"), are="is" if pods == 1 else "are")
    return say(
        "{gangs_and_pods} {have} pending pods",
        gangs_and_pods=gangs_and_pods(gangs, pods),
        have="has" if len(report.items) == 1 else "have",
    )


def gangs_and_pods(gangs: int, pods: int, noun: str = "gang") -> str:
    """Return how many gangs there are and how many pods without one."""
    return say(" and ").join(count(number, each) for number, each in ((gangs, noun), (pods, "pod")) if number)


def of_so_many(reason: str, number: int, total: int) -> str:
    """Return a reason that several gangs of one cause have alike, behind their number; empty without one."""
    if not reason:
        return ""
    return (
        say(": {why}", why=reason)
        if number == total
        else say(", {number} alike: {reason}", number=number, reason=reason)
    )


def incomplete(why: str) -> str:
    """Return that the list may be incomplete."""
    return say("This list may be incomplete: {why}.", why=why.rstrip(STOP))


def contention(one: Contention) -> str:
    """Return which gangs need the same room."""
    return say(
        "{gang} and {others} need the same room: the one tried first gets it.",
        gang=one.gang,
        others=say(", ").join(one.others),
    )


def more_contention(number: int) -> str:
    """Return how many more gangs compete for room."""
    return and_more(say("{gangs} that compete for room", gangs=count(number, "more gang")))


def of_gangs(notice: Notice, gang: str, others: Sequence[str]) -> str:
    """Return the warning about a gang, with the names of the others that it is about."""
    message = notice.message if gang in notice.message else say("{gang}: {message}", gang=gang, message=notice.message)
    return say("{message} Also: {others}.", message=message, others=say(", ").join(others)) if others else message


def cause_or_verdict(code: str, verdict: Verdict) -> str:
    """Return the code of a cause, or the verdict on gangs without one."""
    if verdict == "yes":
        return "would-start"
    return code or {"no": "(no)", "unknown": "(unknown)"}[verdict]


_COLUMNS = (
    Column("CAUSE / GANG"),
    Column("PODS", right=True, goes=3),
    Column("WAITING FOR", goes=2),
    Column("AGE", right=True, goes=1),
    Column("WHY", flow="wrap"),
)
_FLAT = (
    Column("GANG"),
    Column("CAUSE"),
    *_COLUMNS[1:4],
    Column("MIN MEMBER", right=True, wide=True),
    Column("BOUND", right=True, wide=True),
    Column("MUST GATHER", wide=True),
    Column("SLOTS", right=True, wide=True),
    _COLUMNS[4],
)
_FEWEST_CAUSES = 10
_USUAL_WIDTH = 80
# What makes the scheduler do something else than was asked for comes first; then what concerns most gangs.
_LOUD = ("topology-spec-unreadable", "groups-unreadable", "foreign-gang-marker", "satisfied-by-earlier-pods")
_OF_THE_INPUT = {*OF_GAP.values(), "assumed-config", "kind-not-in-input", "lease-missing"}
_OF_SLOTS = {"slots-not-shown", "slots-incomplete"}  # which lists do not show


def blocks(report: PendingGangsReport, shown: Shown, columns: Columns = USUAL) -> list[Block]:
    """Return the page: the causes, and below each its gangs, the oldest first; or all gangs in their order."""
    head: list[Block] = [Line(headline(report), "bold")]
    if report.message:
        head.append(Line(incomplete(report.message), VERDICT_STYLE["unknown"]))
    tail = [
        *why.table(report.volcano, shown),
        *_warned(report.contending, shown, contention, more_contention),
        *_warned(report.held_back, shown, held_back, more_quotas),
        *_warnings(report, shown),
        EmptyLine(),
        basis_line(report.basis),
    ]
    if not report.items:
        return [*head, *tail]
    hint = Command(PENDING_DETAILS, label=DETAILS)
    if columns != USUAL:
        flat = listing(_FLAT, report.items, lambda item: _flat_row(item, report), shown, columns.most)
        return [*head, EmptyLine(), *flat, EmptyLine(), hint, *tail]
    tail = [EmptyLine(), hint, *tail]
    lines = len(report.causes) + len(report.items)
    if shown.lines is not None:
        around = sum(_height(block, shown) for block in [*head, *tail]) + 2  # a gap, and the head of the table
        lines = min(lines, max(shown.lines - around, _FEWEST_CAUSES))
    return [*head, EmptyLine(), slim(TreeTable(_COLUMNS, tuple(_rows(report, lines)))), *tail]


def _flat_row(item: WhyReport, report: PendingGangsReport) -> Row:
    name, pods, waiting_for, age, why_so = _row(item, report).cells
    best = max((row.offer_slots for row in item.domains), default=0)
    cells = (
        name,
        cause_or_verdict(_code(item), item.verdict),
        pods,
        waiting_for,
        age,
        str(item.min_member),
        str(item.bound_pods),
        item.must_gather or "",
        f"{best}/{item.desired_offer_slot}" if item.domains else "",
        why_so,
    )
    return Row(cells, "" if item.verdict == "no" else VERDICT_STYLE[item.verdict])


def _height(block: Block, shown: Shown) -> int:
    """Return how many lines a sentence takes on a terminal of the usual width."""
    return 1 + len(folded(block.text, shown.few)) // (_USUAL_WIDTH - 10) if isinstance(block, Line) else 1


def _rows(report: PendingGangsReport, lines: int) -> Iterator[Row]:
    """Yield a row per cause, and of its gangs as many as there is room for."""
    causes = report.causes if len(report.causes) <= lines else report.causes[: lines - 1]
    unnamed = len(report.causes) - len(causes)
    left = lines - len(causes) - (1 if unnamed else 0)
    room = _shared_out([len(group.gangs) for group in causes], left)
    for group, height in zip(causes, room, strict=True):
        items = _of(group, report)
        shown = items if height == len(items) else items[: max(height - 1, 0)]
        rest = len(items) - len(shown)
        common, number = _common(group, items)
        yield _cause_row(group, report, alone=not shown, common=of_so_many(common, number, len(items)))
        yield from (_without(_row(item, report), common) for item in shown)
        if rest and shown:
            yield Row((more(rest), "", "", "", ""), "dim", depth=1, across=True)
    if unnamed:
        yield Row((more(unnamed, "more cause"), "", "", "", ""), "dim", across=True)


def _shared_out(sizes: Sequence[int], lines: int) -> list[int]:
    """Return how many lines each list gets: as many for each as for the others, one more for the first of them.

    A list in fewer lines than it has items needs the last of them to say how many more there are:
    one line alone would say nothing of several.
    """
    share = next(share for share in range(lines, -1, -1) if sum(_cut(size, share) for size in sizes) <= lines)
    heights = [_cut(size, share) for size in sizes]
    left = lines - sum(heights)
    for index, size in enumerate(sizes):
        extra = _cut(size, share + 1) - heights[index]
        if extra <= left:
            heights[index] += extra
            left -= extra
    return heights


def _cut(size: int, lines: int) -> int:
    """Return how many of the lines a list of that size uses."""
    used = min(size, lines)
    return 0 if used == 1 < size else used


def _warnings(report: PendingGangsReport, shown: Shown) -> Iterator[Block]:
    """Yield what is odd about all, and each kind of warning about gangs once, with the gangs that it is about."""
    of_all = {notice.code for notice in report.warnings} | _OF_THE_INPUT | _OF_SLOTS
    found: dict[str, dict[str, Notice]] = {}
    for item in report.items:
        for notice in item.warnings:
            if notice.code not in of_all:
                found.setdefault(notice.code, {}).setdefault(item.gang, notice)
    ranked = sorted(found, key=lambda code: (_LOUD.index(code) if code in _LOUD else len(_LOUD), -len(found[code])))
    first, rest = parted(ranked, shown.few)
    yield from warning_lines([*report.warnings, *(_merged(found[code]) for code in first)])
    if rest:
        yield Line(and_more(say("{number} more kinds of warnings about gangs", number=len(rest))), "warn")


def _merged(found: Mapping[str, Notice]) -> Notice:
    """Return the first gang's warning, with the names of the others."""
    gang, *others = found
    notice = found[gang]
    return Notice(notice.code, of_gangs(notice, gang, others))


def _common(group: CauseGroup, items: Sequence[WhyReport]) -> tuple[str, int]:
    """Return the reason that most gangs of a cause have alike, and how many; empty where each has its own."""
    found = Counter(why.reason(item) for item in items if group.code)
    (most, number), *_ = [*found.most_common(1), ("", 0)]
    return (most, number) if number > 1 else ("", 0)


def _without(row: Row, common: str) -> Row:
    """Return a row without a reason that stands above it."""
    *cells, reason = row.cells
    return replace(row, cells=(*cells, "")) if reason == common else row


def _cause_row(group: CauseGroup, report: PendingGangsReport, *, alone: bool, common: str) -> Row:
    lone = sum(1 for item in _of(group, report) if item.lone_pod)
    noun = "job" if any(item.owner_kind for item in _of(group, report)) else "gang"
    number = gangs_and_pods(len(group.gangs) - lone, lone, noun) if alone or len(group.gangs) > 1 else ""
    cells = (
        cause_or_verdict(group.code, group.verdict),
        str(group.pods),
        group.waiting_for,
        age_at(group.oldest, report.basis.moment),
        f"{number}{common}",
    )
    return Row(cells, "bold" if group.verdict == "no" else VERDICT_STYLE[group.verdict])


def _of(group: CauseGroup, report: PendingGangsReport) -> list[WhyReport]:
    """Return the reports that a cause holds, the oldest first."""
    items = (item for item in report.items if (item.verdict, _code(item)) == (group.verdict, group.code))
    return sorted(items, key=lambda item: (item.waiting_since, item.gang))


def _code(item: WhyReport) -> str:
    return item.cause.code if item.cause and item.verdict != "yes" else ""


def _warned(
    items: Sequence[T], shown: Shown, sentence: Callable[[T], str], left_out: Callable[[int], str]
) -> Iterator[Block]:
    """Yield the first few as warnings, and how many more there are."""
    first, rest = parted(items, shown.few)
    if first:
        yield EmptyLine()
    for one in first:
        yield Line(sentence(one), "warn")
    if rest:
        yield Line(left_out(len(rest)), "warn")


def _row(item: WhyReport, report: PendingGangsReport) -> Row:
    others = sum(1 for gang in item.gang_group if gang != item.gang)
    name = asked_for(item.gang, lone_pod=item.lone_pod)
    cells = (
        noted(name, f"+{count(others, 'gang')}") if others else name,
        str(len(item.pending_pods)),
        item.waiting_for,
        age_at(item.waiting_since, report.basis.moment),
        why.place(item) if item.verdict == "yes" and not item.cause else why.reason(item),
    )
    return Row(cells, "" if item.verdict == "no" else VERDICT_STYLE[item.verdict], depth=1)
