"""The pages of `scheduler`, and their sentences."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from kubectl_koord.language import say
from kubectl_koord.render.document import Block, Column, EmptyLine, Line, Row, Style, Table, slim
from kubectl_koord.render.lines import VERDICT_STYLE, basis_line, more_line, warning_lines
from kubectl_koord.render.shown import Shown, parted
from kubectl_koord.reports.operation import Compared, LoggedPod, Part, SchedulerLogReport, SchedulerReport, Scored
from kubectl_koord.wording.words import COMMA, count, listed, more

SIDES = say("In brackets: what follows from the objects, where the scheduler has something else.")
EXPLAIN = say("What a code means: kubectl koord explain CODE")
DEBUG = say(
    "The scheduler logs it where its flags tell it to: --debug-scores=N, --debug-filters, "
    "--debug-diagnosis; errors of pods that fit nowhere from -v=2 on."
)
_NOUNS: dict[Part, str] = {
    "gangs": "gang",
    "gang": "gang",
    "node": "node",
    "quotas": "quota",
    "devices": "device",
    "numa": "node",
    "reservations": "reservation",
    "services": "path",
}


def headline(report: SchedulerReport) -> str:
    """Return how many things the scheduler knows, and how many of them are as the objects say."""
    if report.part == "services":
        return say("{asked} answers {paths}.", asked=report.asked, paths=count(len(report.routes), "path"))
    noun = _NOUNS[report.part]
    if not report.items:
        return say("{asked} knows no {noun}.", asked=report.asked, noun=noun)
    total = count(len(report.items), noun)
    if report.message:
        return say("{asked} knows {total}.", asked=report.asked, total=total)
    differ = sum(1 for item in report.items if item.differences)
    if not differ:
        return say("{asked}: {total}, as the objects say.", asked=report.asked, total=total)
    open_ = sum(1 for item in report.items for one in item.differences if one.code == "unexplained")
    reasons = (
        say("{differences} without a known reason", differences=count(open_, "difference"))
        if open_
        else say("all for a known reason")
    )
    return say(
        "{asked}: {total}, {differ} not as the objects say, {reasons}.",
        asked=report.asked,
        total=total,
        differ=differ,
        reasons=reasons,
    )


def beside(scheduler: str, ours: str | None) -> str:
    """Return what the scheduler has, and in brackets what the objects say where that is something else."""
    return f"{scheduler or '-'} ({ours or '-'})" if ours not in {None, scheduler} else scheduler


def difference(item: Compared, code: str, message: str) -> str:
    """Return one difference of one thing."""
    return say("{name}: {message} [{code}]", name=item.name, message=message, code=code)


def log_headline(report: SchedulerLogReport) -> str:
    """Return of how many pods a log says something."""
    read, pods = say("{lines} read", lines=count(report.lines, "line")), count(len(report.items), "pod")
    none, some = {
        "scores": (say("No scores in the log ({read})."), say("Scores of {pods} in the log ({read}).")),
        "filters": (say("No refusals in the log ({read})."), say("Refusals of {pods} in the log ({read}).")),
        "diagnosis": (say("No diagnoses in the log ({read})."), say("Diagnoses of {pods} in the log ({read}).")),
    }[report.part]
    return (some if report.items else none).format(pods=pods, read=read)


def incomplete(report: SchedulerLogReport) -> list[str]:
    """Return what of a log is not shown: lines that could not be read, pods beyond the most."""
    said = []
    if report.broken:
        said.append(
            say(
                "{lines} could not be read and {were} skipped.",
                lines=count(report.broken, "line"),
                were="was" if report.broken == 1 else "were",
            )
        )
    if report.left_out:
        said.append(
            say("It tells of more pods than are kept, the last {number}: name a pod.", number=len(report.items))
        )
    return said


def of_pod(item: LoggedPod) -> str:
    """Return whom the lines below are about, and when it was last spoken of."""
    gang = say(" of {gang}", gang=item.gang) if item.gang else ""
    facts = [say("last at {at}", at=item.at)] if item.at else []
    if item.root_cause is not None and not item.root_cause:
        facts.append(say("another member failed first"))
    if item.waiting:
        facts.append(say("{members} waited in Permit", members=count(item.waiting, "member")))
    if item.feasible is not None:
        facts.append(say("{nodes} could take it", nodes=count(item.feasible, "node")))
    pod = f"{item.pod}{gang}"
    return say("{pod}: {facts}", pod=pod, facts=COMMA.join(facts)) if facts else pod


def why_here(scores: Sequence[Scored]) -> str:
    """Return what puts the first node before the second; empty where there is no second."""
    for first, second in list(pairwise(scores))[:1]:
        gains = {name: number - second.plugins.get(name, 0) for name, number in first.plugins.items()}
        parts = [f"{name} {number:+d}" for name, number in gains.items() if number]
        if not parts:
            return say(
                "{node} and {node2} have the same scores: one of the best is taken by chance.",
                node=first.node,
                node2=second.node,
            )
        return say(
            "{node} is before {node2} by {total}: {parts}.",
            node=first.node,
            node2=second.node,
            total=first.total - second.total,
            parts=listed(parts),
        )
    return ""


def by_plugin(scored: Scored) -> str:
    """Return what each plugin gave a node, but those that gave nothing."""
    return ", ".join(f"{name} {number}" for name, number in scored.plugins.items() if number)


def offers(item: LoggedPod) -> str:
    """Return how many members each node had room for."""
    return say(
        "Members placed or offered room: {part}.",
        part=say(", ").join((f"{node} {number}" for node, number in item.slots.items())),
    )


def may_help(preempt: bool | None) -> str:  # noqa: FBT001 - one of three answers
    """Return whether victims might help."""
    return {None: "", True: "yes", False: "no"}[preempt]


_COLUMNS: Mapping[Part, tuple[tuple[str, str], ...]] = {
    "gangs": (
        ("minMember", "WANTED"),
        ("pods", "PODS"),
        ("pending", "PENDING"),
        ("waiting", say("IN PERMIT")),
        ("bound", "BOUND"),
        ("onceSatisfied", "SATISFIED"),
    ),
    "quotas": (("used", "USED"), ("request", "REQUEST"), ("runtime", "RUNTIME")),
    "devices": (("free", "FREE"), ("pods", "PODS")),
    "reservations": (("allocatable", "ALLOCATABLE"), ("allocated", "ALLOCATED"), ("pods", "PODS")),
}
"""What a table of many shows of each, and its header; of one alone every field is a row."""
_FIELDS = (Column("FIELD"), Column("SCHEDULER", flow="wrap"), Column("OBJECTS", flow="wrap"))
_SCORES = (Column("NODE"), Column("TOTAL", right=True), Column("BY PLUGIN", flow="wrap"))
_REFUSED = (
    Column("NODES", right=True),
    Column("PLUGIN"),
    Column("VICTIMS HELP", goes=2),
    Column("FIRST", goes=1),
    Column("REASON", flow="wrap"),
)


def blocks(report: SchedulerReport, shown: Shown) -> list[Block]:
    """Return the page of a comparison."""
    page: list[Block] = [Line(headline(report), "bold")]
    if report.message:
        page.append(Line(say("Not compared: {message}.", message=report.message), VERDICT_STYLE["unknown"]))
    items, rest = parted([item for item in report.items if item.fields], shown.lines)
    columns = _COLUMNS.get(report.part, ())
    if columns and items:
        page += [EmptyLine(), _table(items, columns)]
        page += [Line(SIDES, "dim")] if any(item.differences for item in items) else []
    else:
        page += [block for item in items for block in (EmptyLine(), _fields(item))]
    page += [more_line(more(len(rest)))] if rest else []
    routes, others = parted(report.routes, shown.lines)
    page += [EmptyLine(), *(Line(route, indent=2) for route in routes)] if routes else []
    page += [more_line(more(len(others)))] if others else []
    differences = [(item, one) for item in report.items for one in item.differences]
    first, hidden = parted(differences, shown.rows)
    if first:
        page.append(EmptyLine())
        page += [Line(difference(item, one.code, one.message), _style(one.code)) for item, one in first]
        page += [more_line(more(len(hidden)))] if hidden else []
        page.append(Line(EXPLAIN, "dim"))
    return [*page, *warning_lines(report.warnings), EmptyLine(), basis_line(report.basis)]


def log_blocks(report: SchedulerLogReport, shown: Shown) -> list[Block]:
    """Return the page of a log."""
    page: list[Block] = [Line(log_headline(report), "bold")]
    page += [Line(line, "warn") for line in incomplete(report)]
    items, rest = parted(report.items, shown.rows)
    for item in items:
        page += _pod(item, shown)
    page += [more_line(more(len(rest), "more pod"))] if rest else []
    return page if items else [*page, Line(DEBUG, "dim")]


def _table(items: Sequence[Compared], columns: tuple[tuple[str, str], ...]) -> Table:
    rows = []
    for item in items:
        fields = {one.field: beside(one.scheduler, one.ours) for one in item.fields}
        cells = (item.name, *(fields.get(name, "") for name, _ in columns))
        rows.append(Row(cells, "warn" if item.differences else ""))
    heads = (Column("NAME"), *(Column(head, flow="wrap") for _, head in columns))
    return slim(Table(heads, tuple(rows), indent=0, main=True))


def _fields(item: Compared) -> Table:
    rows = tuple(
        Row((one.field, one.scheduler, one.ours or ""), "" if one.agrees else "warn")
        for one in item.fields
        if one.scheduler or one.ours
    )
    return Table(_FIELDS, rows, indent=0, main=True)


def _style(code: str) -> Style:
    return "bad" if code == "unexplained" else "warn"


def _pod(item: LoggedPod, shown: Shown) -> list[Block]:
    page: list[Block] = [EmptyLine(), Line(of_pod(item), "bold")]
    here = why_here(item.scores)
    page += [Line(here, indent=2)] if here else []
    page += [Line(text, indent=2, quoted=True) for text in item.said]
    page += [Line(offers(item), indent=2)] if item.slots else []
    scores, rest = parted(item.scores, shown.rows)
    if scores:
        rows = tuple(Row((one.node, str(one.total), by_plugin(one))) for one in scores)
        page.append(Table(_SCORES, rows))
    refused, others = parted(item.refused, shown.rows)
    if refused:
        cells = (
            (str(one.count), one.plugin, may_help(one.preempt), one.nodes[0] if one.nodes else "", one.reason)
            for one in refused
        )
        page.append(slim(Table(_REFUSED, tuple(map(Row, cells)))))
    page += [more_line(more(len(rest) + len(others)))] if rest or others else []
    return (
        [*page, more_line(say("... and {refusals} that are not kept", refusals=count(item.more, "refusal")))]
        if item.more
        else page
    )
