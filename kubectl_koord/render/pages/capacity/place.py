"""The pages of `node` and `domain`: what is free and runs there, who could use it, what a drain would do."""

from collections.abc import Iterator, Mapping

from kubectl_koord.model.values import quantity
from kubectl_koord.render.document import Block, Column, Command, EmptyLine, Line, Row, Table, slim
from kubectl_koord.render.lines import VERDICT_STYLE, basis_line, more_line, warning_lines
from kubectl_koord.render.pages import moves
from kubectl_koord.render.shown import Shown, parted
from kubectl_koord.reports.capacity.place import DomainReport, Drain, JobHere, NodeReport, ReservationHere, WaitingGang
from kubectl_koord.wording.pages.capacity import place as sentences
from kubectl_koord.wording.pages.common import DETAILS, more
from kubectl_koord.wording.words import amounts, ranked

_RUNNING = (
    Column("GANG OR OWNER"),
    Column("PODS", right=True),
    Column("NODES", right=True, goes=1),
    Column("PRIORITY", right=True),
    Column("REQUESTS", flow="wrap"),
    Column("NOTES"),
)
_WAITING = (
    Column("GANG"),
    Column("PRIORITY", right=True, goes=1),
    Column("SLOTS", right=True),
    Column("CAUSE", goes=2),
    Column("LACKS HERE", flow="wrap"),
)
_RESERVATIONS = (
    Column("RESERVATION"),
    Column("NODE"),
    Column("HOLDS"),
    Column("UNUSED"),
    Column("FOR", flow="wrap"),
)
_NOMINATED = (
    Column("POD"),
    Column("NODE"),
    Column("PRIORITY", right=True),
)
_DRAINED = (
    Column("POD"),
    Column("PRIORITY", right=True, goes=1),
    Column("AFTERWARDS", flow="wrap"),
)


def node_blocks(report: NodeReport, shown: Shown) -> list[Block]:
    """Return the page of a node."""
    page = _head(report, sentences.node_headline(report))
    page.append(Line(sentences.within(report)))
    page += [Line(sentences.tainted(report.taints), "warn")] if report.taints else []
    return [*page, *_rest(report, shown, 1)]


def domain_blocks(report: DomainReport, shown: Shown) -> list[Block]:
    """Return the page of a domain."""
    page = _head(report, sentences.domain_headline(report))
    lines = ((sentences.below(report), ""), (sentences.out(report), "warn"))
    page += [Line(text, "warn" if style else "") for text, style in lines if text]
    return [*page, *_rest(report, shown, len(report.nodes))]


def _head(report: NodeReport | DomainReport, headline: str) -> list[Block]:
    page: list[Block] = [Line(headline, "bold")]
    if report.message:
        page.append(Line(sentences.unknown(report.message), VERDICT_STYLE["unknown"]))
    return page


def _rest(report: NodeReport | DomainReport, shown: Shown, nodes: int) -> Iterator[Block]:
    if others := sentences.free_of_others(report.free):
        first, more = parted(others, shown.few)
        yield Line(sentences.also_free(first, len(more)))
    if report.devices:
        yield Line(sentences.devices(report.devices))
    if report.drain is not None:
        yield from (EmptyLine(), Line(sentences.RUNNING, "bold"))
        yield from _running(report.running, shown, nodes)
    if report.nominated:
        yield from (EmptyLine(), Line(sentences.NOMINATED, "bold"))
        rows = [Row((one.pod, one.node if nodes > 1 else "", str(one.priority))) for one in report.nominated]
        yield from _listed(_NOMINATED, rows, shown)
    if report.reservations:
        yield from (EmptyLine(), Line(sentences.RESERVATIONS, "bold"))
        yield from _listed(_RESERVATIONS, [_reservation(one) for one in report.reservations], shown)
    yield from moves.migrations(report.migrations, shown)
    if report.waiting:
        title = sentences.WAITING if any(gang.slots for gang in report.waiting) else sentences.NO_GANG_FITS
        yield from (EmptyLine(), Line(title, "bold"))
        yield from _listed(_WAITING, [_gang(gang, nodes) for gang in report.waiting], shown)
        yield Line(sentences.SLOTS, "dim", indent=2)
        yield Command(sentences.DETAILS, indent=2, label=DETAILS)
    if report.drain is not None:
        yield from (EmptyLine(), Line(sentences.DRAIN, "bold"))
        yield from _drain(report.drain, shown)
    yield from (*warning_lines(report.warnings), EmptyLine(), basis_line(report.basis))


def _listed(columns: tuple[Column, ...], rows: list[Row], shown: Shown) -> Iterator[Block]:
    first, rest = parted(rows, shown.rows)
    yield slim(Table(columns, tuple(first)))
    if rest:
        yield more_line(more(len(rest)))


def _running(running: tuple[JobHere, ...], shown: Shown, nodes: int) -> Iterator[Block]:
    if not running:
        yield Line(sentences.NOTHING_RUNS, indent=2)
        return
    rows = []
    for one in running:
        spread = str(len(one.nodes)) if nodes > 1 else ""
        cells = (sentences.job(one), str(len(one.pods)), spread, str(one.priority), _requests(one.requests))
        rows.append(Row((*cells, sentences.job_notes(one)), "dim" if one.daemon_set else ""))
    yield from _listed(_RUNNING, rows, shown)


def _requests(written: Mapping[str, str]) -> str:
    found = tuple((name, quantity.amount(name, quantity.parse(number))) for name, number in written.items())
    return amounts(ranked(found))


def _gang(gang: WaitingGang, nodes: int) -> Row:
    cells = (gang.gang, str(gang.priority), sentences.slots(gang), sentences.state(gang), sentences.lacks(gang, nodes))
    return Row(cells, "good" if gang.lacks == 0 else "")


def _reservation(one: ReservationHere) -> Row:
    unused = _requests(one.unused) if one.unused else ""
    return Row((one.reservation, one.node, _requests(one.size), unused, sentences.owners(one)))


def _drain(drain: Drain, shown: Shown) -> Iterator[Block]:
    yield Line(sentences.evicted(drain), indent=2)
    yield from (Line(text, "warn", indent=2) for text in sentences.effects(drain))
    priorities = {pod.pod: pod.priority for pod in drain.evicts}
    if drain.goes:
        rows = [
            Row((one.pod, str(priorities[one.pod]), sentences.goes(one)), "" if one.outcome == "fits" else "warn")
            for one in drain.goes
        ]
        yield from _listed(_DRAINED, rows, shown)
        yield Line(sentences.ONE_BY_ONE, "dim", indent=2)
    if not all(one.recreated for one in drain.goes):
        yield Line(sentences.unowned(drain), "warn", indent=2)
    if drain.stays:
        yield Line(sentences.stays(drain), indent=2)
    if drain.terminating:
        yield Line(sentences.terminating(drain), indent=2)
