"""The page of `gangs`: one row for each."""

from kubectl_koord.engine.tree import NODE_LAYER
from kubectl_koord.language import say
from kubectl_koord.render.document import USUAL, Block, Column, Columns, Command, EmptyLine, Line, Row
from kubectl_koord.render.lines import VERDICT_STYLE, basis_line, warning_lines
from kubectl_koord.render.pages import moves, pending, why
from kubectl_koord.render.shown import Shown, parted
from kubectl_koord.reports.jobs import GangRow, GangsReport
from kubectl_koord.wording.facts import gang_state, stale_phase
from kubectl_koord.wording.words import DETAILS, age_at, count, layer_noun

_COLUMNS = (
    Column("GANG"),
    Column("STATE"),
    Column("WANTED", right=True),
    Column("PODS", right=True),
    Column("BOUND", right=True),
    Column("PENDING", right=True),
    Column("LAYER", goes=5),
    Column("NOMINATED", right=True, wide=True),
    Column("MIGRATING", right=True),
    Column("RESERVATIONS", right=True, wide=True),
    Column("MUST GATHER", goes=2),
    Column("SPAN", goes=3),
    Column("NODES", right=True, wide=True),
    Column("OUTSIDE", right=True),
    Column("HOPS", right=True, wide=True),
    Column("PHASE", goes=1),
    Column("NOTE", flow="wrap"),
    Column("MODE", wide=True),
    Column("MATCH POLICY", wide=True),
    Column("DEFINED BY", wide=True),
    Column("AGE", right=True, goes=4),
)


_OUTSIDE = say("OUTSIDE: members that run outside the must-gather domain that most of them are in.")
_HOPS = say("HOPS: layers between members with neighbouring numbers, on average and at most; 0 is the same node.")


def blocks(report: GangsReport, shown: Shown, columns: Columns = USUAL) -> list[Block]:
    """Return the page."""
    page: list[Block] = [Line(_headline(report), "bold")]
    if report.message:
        page.append(Line(pending.incomplete(report.message), VERDICT_STYLE["unknown"]))
    items, _ = parted(report.items[: columns.most], shown.lines)
    if items:
        rows = pending.listing(_COLUMNS, report.items, lambda item: _row(item, report), shown, columns.most)
        page += [EmptyLine(), *rows]
    page += [Line(_OUTSIDE, "dim")] if any(item.outside for item in items) else []
    page += [Line(_HOPS, "dim")] if columns.wide and any(item.hops for item in items) else []
    page += moves.migrations(tuple(dict.fromkeys(job for item in items for job in item.migrations)), shown)
    page += why.table(report.volcano, shown)
    page += (
        [EmptyLine(), Command(pending.PENDING_DETAILS, label=DETAILS)] if any(item.pending for item in items) else []
    )
    return [*page, *warning_lines(report.warnings), EmptyLine(), basis_line(report.basis)]


def _headline(report: GangsReport) -> str:
    """Return how many gangs there are, how many of them wait, and how many of those cannot start."""
    doubt = "" if report.verdict == "yes" else say(" among the objects that could be read")
    if not report.items:
        where = say(" in namespace {namespace}", namespace=report.namespace) if report.namespace else ""
        if report.selected:
            return say("There is no such gang{where}{doubt}.", where=where, doubt=doubt)
        return say("There is no gang{where}{doubt}.", where=where, doubt=doubt)
    waiting = [item.verdict for item in report.items if item.pending]
    total = count(len(report.items), "gang")
    if not waiting:
        return say("{total}, none with pending pods{doubt}.", total=total, doubt=doubt)
    return say(
        "{total}, {number} with pending pods: {by_verdict}.",
        total=total,
        number=len(waiting),
        by_verdict=pending.by_verdict(waiting),
    )


def _row(item: GangRow, report: GangsReport) -> Row:
    cells = (
        item.gang,
        gang_state(item),
        str(item.min_member),
        str(item.pods),
        str(item.bound),
        str(item.pending),
        item.layer,
        str(item.waiting) if item.waiting else "",
        str(len(item.migrations) or ""),
        str(len(item.reservations) or ""),
        item.must_gather,
        say(", ").join(count(used, layer_noun(layer)) for layer, used in item.span.items() if layer != NODE_LAYER),
        _nodes(item, NODE_LAYER),
        str(item.outside) if item.outside else "",
        f"{item.hops.mean:g}, {item.hops.most}" if item.hops is not None else "",
        item.phase,
        stale_phase(item),
        item.mode,
        item.match_policy,
        item.defined_by,
        age_at(item.created, report.basis.moment) if item.created else "",
    )
    style = VERDICT_STYLE[item.verdict] if item.pending else ""
    return Row(cells, "warn" if not item.pending and (item.stale or item.outside) else style)


def _nodes(item: GangRow, node_layer: str) -> str:
    return str(item.span[node_layer]) if node_layer in item.span else ""
