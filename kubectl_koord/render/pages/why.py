"""The page of `why-pending GANG`: the verdict, where room is short, and what helps."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import structs

from kubectl_koord.render.document import Block, Bullet, Bullets, Column, Command, Gap, Line, Row, Table, slim
from kubectl_koord.render.pages.nodes import by_node
from kubectl_koord.render.shown import Shown, and_more, parted
from kubectl_koord.render.words import (
    VERDICT_STYLE,
    basis_line,
    command,
    domain_word,
    local,
    raw_lines,
    scheduler_line,
    warning_lines,
)
from kubectl_koord.reports.pending import Funnel, NodeReason, SlotRow, WhyAlternative, WhyReport
from kubectl_koord.reports.ways_out import WayOut
from kubectl_koord.wording.words import count, layer_noun

_FEW_NODES = 3


def blocks(report: WhyReport, shown: Shown) -> list[Block]:
    """Return the page."""
    page: list[Block] = [Line(headline(report), VERDICT_STYLE[report.verdict])]
    page += [Line(text) for text in _remarks(report)]
    if report.cause:
        page.append(Command(command("explain", report.cause.code), label="Details: "))
    if report.domains:
        page += [Gap(), *_slots(report, shown)]
    if report.placement:
        page += [Gap(), *by_node(report.placement, report.gang, shown)]
    if report.nodes:
        page += [Gap(), *_nodes(report.nodes, report.desired_offer_slot)]
    page += _steps(report, shown)
    if report.alternatives:
        outcomes, rest = parted(report.alternatives, shown.few)
        points = tuple(map(Bullet, map(_alternative, outcomes)))
        page += [Gap(), Line("Possible outcomes (no object shows which one)", "bold"), Bullets(points)]
        page += [Line(and_more(f"{len(rest)} more outcomes"), "dim", indent=2)] if rest else []
    if report.scheduler_says:
        page += [Gap(), scheduler_line(report.scheduler_says, report.basis.moment, shown)]
        page += raw_lines(report.scheduler_says, report.gang)
    said = report.verdict != "yes" and not report.cause and not report.alternatives  # the headline is a warning
    return [
        *page,
        *warning_lines(report.warnings[:-1] if said else report.warnings),
        Gap(),
        basis_line(report.basis, _facts(report)),
    ]


def headline(report: WhyReport) -> str:
    """Return the verdict in one sentence."""
    name = f"pod {report.gang}" if report.lone_pod else report.gang
    if report.verdict == "unknown":
        return f"Cannot tell whether {name} would be placed: {reason(report).rstrip('.')}."
    if report.verdict == "no":
        return f"{name} is pending: {reason(report)}"
    if not report.pending_pods and report.lone_pod:
        return f"{name} is on {report.node}." if report.node else f"{name} has finished."
    if not report.pending_pods:
        return f"{name} has no pending pods: {count(report.bound_pods, 'pod')} on a node, {report.min_member} needed."
    return f"{name} would be placed now: {place(report)}."


def place(report: WhyReport) -> str:
    """Return how many pods would be placed and, where that is known, on which nodes."""
    return _where(report.placement) if report.placement else f"{count(len(report.pending_pods), 'pod')} waiting"


def reason(report: WhyReport) -> str:
    """Return what the verdict rests on, in one sentence."""
    if report.cause:
        return report.cause.message
    if report.alternatives:
        return f"{count(len(report.alternatives), 'outcome')} are possible."
    return report.warnings[-1].message if report.warnings else "no reason was found."


def _where(placement: Mapping[str, str]) -> str:
    nodes = sorted(set(placement.values()))
    place = ", ".join(nodes) if len(nodes) <= _FEW_NODES else count(len(nodes), "node")
    return f"{count(len(placement), 'pod')} on {place}"


def _remarks(report: WhyReport) -> Iterator[str]:
    if report.verdict == "yes" and report.cause:
        yield report.cause.message
    cause = report.cause
    if cause and len(cause.pods) < len(report.pending_pods) and not all(pod in cause.message for pod in cause.pods):
        yield f"Affected pods: {', '.join(local(pod, report.gang) for pod in cause.pods)}."
    others = [gang for gang in report.gang_group if gang != report.gang]
    if others:
        yield f"It starts only together with {', '.join(others)} (same gang group)."
    if report.also_wrong:
        yield f"Other problems: {', '.join(report.also_wrong)}."
    if report.funnel and report.funnel.lost and not report.domains:
        yield _funnel(report.funnel)


def _funnel(funnel: Funnel) -> str:
    lost = ", ".join(f"{number} {why}" for why, number in funnel.lost)
    return f"{funnel.left} of {count(funnel.nodes, 'node')} {'fits' if funnel.nodes == 1 else 'fit'}: {lost}."


def _steps(report: WhyReport, shown: Shown) -> Iterator[Block]:
    proven = report.unblock if shown.lines is None else _one_of_each(report.unblock)
    if proven or report.next_steps:
        order = " (cheapest first)" if len(proven) > 1 else ""
        yield from (Gap(), Line(f"What to do next{order}", "bold"))
        doubt = " (may not be enough)" if proven else ""
        yield Bullets((*_bullets(proven), *_bullets(report.next_steps, doubt)))
        rest = len(report.unblock) - len(proven)
        if rest:
            yield Line(and_more(f"{count(rest, 'more way')} of these kinds"), "dim", indent=2)
    elif report.no_way_out:
        yield from (Gap(), Line(f"What to do next: {report.no_way_out}"))


def _one_of_each(ways: Sequence[WayOut]) -> list[WayOut]:
    """Return the cheapest way of each kind."""
    first: dict[str, WayOut] = {}
    for way in ways:
        first.setdefault(way.action, way)
    return list(first.values())


def _bullets(ways: Iterable[WayOut], doubt: str = "") -> Iterator[Bullet]:
    return (Bullet(f"{way.message}{doubt}", way.command) for way in ways)


def _nodes(nodes: Sequence[NodeReason], wanted: int | None) -> Iterator[Block]:
    """Return why each node is out, domain by domain."""
    columns = (Column("NODE"), Column("DOMAIN", goes=1), Column("SLOTS"), Column("REASON", flow="wrap"))
    ordered = sorted(nodes, key=lambda node: (node.domain, -node.offer_slots, node.node))
    rows = (
        Row(
            (node.node, node.domain, _of(node.offer_slots, wanted), node.reason),
            "good" if node.offer_slots else "",
        )
        for node in ordered
    )
    yield slim(Table(columns, tuple(rows)))


def _of(slots: int, wanted: int | None) -> str:
    return str(slots) if wanted is None else f"{slots}/{wanted}"


def _slots(report: WhyReport, shown: Shown) -> Iterator[Block]:
    ordered = sorted(report.domains, key=lambda domain: -domain.offer_slots)
    first, rest = parted(ordered, shown.rows)
    layers = {domain.layer for domain in report.domains}
    noun = layer_noun(ordered[0].layer) if len(layers) == 1 else "domain"
    header = noun.upper()
    columns = (
        Column(header),
        Column("SLOTS"),
        Column("MISSING", right=True, goes=1),
        Column("IN THE WAY", flow="wrap"),
    )
    wanted = report.desired_offer_slot
    rows = tuple(_slot_row(domain, wanted, shown, mixed=len(layers) > 1) for domain in first)
    yield slim(Table(columns, rows))
    if rest:
        yield Line(and_more(f"{len(rest)} more", f", with {rest[0].offer_slots} slots or fewer each"), "dim", indent=2)
    yield from _what_ifs(ordered, noun, shown)


def _what_ifs(domains: Sequence[SlotRow], noun: str, shown: Shown) -> Iterator[Block]:
    """Yield the slots that domains would have if one thing were different, where that differs from now."""
    columns = (
        Column(noun.upper()),
        Column("NOW", right=True),
        Column("TERMINATING GONE", right=True),
        Column("UNCORDONED", right=True),
        Column("NO LOWER PRIORITY", right=True),
        Column("EMPTY", right=True),
    )
    states = [(domain, structs.astuple(domain.what_if)) for domain in domains if domain.what_if is not None]
    differing = [(domain, slots) for domain, slots in states if set(slots) != {domain.offer_slots}]
    if not differing:
        return
    ranked = sorted(differing, key=lambda state: (-max(state[1]), -state[0].offer_slots))
    first, rest = parted(ranked, shown.few)
    told = [any(slots[at] != domain.offer_slots for domain, slots in differing) for at in range(4)]
    rows = tuple(
        Row(
            (
                domain_word(domain.name),
                str(domain.offer_slots),
                *(str(number) if told[at] else "" for at, number in enumerate(slots)),
            )
        )
        for domain, slots in first
    )
    yield from (Gap(), Line(f"Slots per {noun}: now, and if ...", "bold"), slim(Table(columns, rows)))
    if rest:
        yield Line(and_more(f"{len(rest)} more"), "dim", indent=2)


def _slot_row(domain: SlotRow, wanted: int | None, shown: Shown, *, mixed: bool) -> Row:
    name = domain_word(domain.name)
    if mixed:
        name = f"{layer_noun(domain.layer)} {name}"
    cells = (name, _of(domain.offer_slots, wanted), str(domain.short), _in_the_way(domain, shown))
    return Row(cells, "" if domain.short else "good")


def _in_the_way(domain: SlotRow, shown: Shown) -> str:
    if not domain.obstacles:
        return domain.in_the_way
    return ", ".join(domain.obstacles) if shown.few is None else f"{domain.in_the_way} (--all shows them)"


def _alternative(each: WhyAlternative) -> str:
    if each.verdict == "yes":
        outcome = f"it would be placed, {_where(each.placement)}." if each.placement else "it would be placed."
    elif each.cause:
        outcome = each.cause.message
    else:
        outcome = "it stays pending." if each.verdict == "no" else "unknown."
    return f"If {each.when}: {outcome}{_best(each.domains)}"


def _best(domains: Sequence[SlotRow]) -> str:
    if not domains:
        return ""
    best = max(domains, key=lambda domain: domain.offer_slots)
    place = f"{layer_noun(best.layer)} {best.name}" if best.name else "the whole cluster"
    return f" Best: {place}, {count(best.offer_slots, 'slot')}."


def _facts(report: WhyReport) -> Iterator[str]:
    if report.funnel:
        stages = [f"{number} {words}" for words, number in report.funnel.stages]
        yield ", ".join([count(report.funnel.nodes, "node"), *(stages or [f"all with room for {report.requests}"])])
    elif report.requests:
        yield f"Each pod requests {report.requests}"
    if report.must_gather:
        noun = layer_noun(report.must_gather)
        is_known = noun != report.must_gather and not (report.cause and report.cause.code == "unknown-layer")
        yield f"MustGather {report.must_gather}{f' (all pods in one {noun})' if is_known else ''}"
