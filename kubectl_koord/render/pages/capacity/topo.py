"""The page of `topo`: the tree with what is free in it, then what is wrong with it."""

from collections import Counter
from collections.abc import Iterator

from kubectl_koord.render.document import Block, Bullet, Bullets, EmptyLine, Line
from kubectl_koord.render.lines import VERDICT_STYLE, basis_line, warning_lines
from kubectl_koord.render.pages.capacity.domain_tree import ROOT, DomainTree, drawn, together
from kubectl_koord.render.shown import Shown
from kubectl_koord.reports.capacity.topology import Amount, OutsideNode, TopologyReport
from kubectl_koord.reports.common import Notice
from kubectl_koord.wording.pages.capacity import topo as sentences
from kubectl_koord.wording.pages.common import NEXT_STEPS

_NODE_LAYER = "NodeTopologyLayer"
_NOT_THERE = {"no-topology", "topology-other-name"}
_NO_TREE = _NOT_THERE | {"broken-layer-chain", "layer-cycle"}


def blocks(report: TopologyReport, shown: Shown, *, depth: int | None = None, nodes: bool = False) -> list[Block]:
    """Return the page.

    Args:
        report: what `topo` found.
        shown: how many lines of the tree.
        depth: how many layers below the cluster to show; None shows as many as `shown` has lines for.
        nodes: show every node, and therefore every layer, and fold nothing.

    """
    page: list[Block] = [Line(_headline(report), "bold" if report.verdict == "yes" else VERDICT_STYLE[report.verdict])]
    if report.headroom is not None:
        page.append(Line(report.headroom.message, "" if report.headroom.admits == report.headroom.pods else "warn"))
    if report.shape and report.verdict == "yes" and not report.shape_refusal:
        page += [Line(text) for text in (_most_of_shape(report),) if text]
    if report.domains:
        page += [EmptyLine(), *_tree(report, shown.lines, depth, nodes=nodes)]
        page += [block for line in _out_of_use(report) for block in (EmptyLine(), line)]
    page += _next_steps(report)
    page += warning_lines(_other_warnings(report))
    if report.outside:
        page += [EmptyLine(), *_outside(report.outside)]
    return [*page, EmptyLine(), basis_line(report.basis)]


def _next_steps(report: TopologyReport) -> list[Block]:
    """Return what proposes a topology, where there is none to build a tree from."""
    reason = _reason(report) if report.verdict == "no" else None
    if reason is None or reason.code not in _NO_TREE:
        return []
    step = Bullet(sentences.PROPOSE, sentences.propose(is_there=reason.code not in _NOT_THERE))
    return [EmptyLine(), Line(NEXT_STEPS, "bold"), Bullets((step,))]


def _other_warnings(report: TopologyReport) -> list[Notice]:
    """Return the warnings that are neither the headline nor shown by the list of nodes outside."""
    reason = _reason(report) if report.verdict == "no" else None
    listed = "outside-nodes" if report.outside else ""
    return [notice for notice in report.warnings if notice is not reason and notice.code != listed]


def _reason(report: TopologyReport) -> Notice | None:
    """Return the warning with the reason why there is no tree."""
    decisive = [notice for notice in report.warnings if notice.code in _NO_TREE]
    return next(iter([*decisive, *reversed(report.warnings)]), None)


def _headline(report: TopologyReport) -> str:
    if report.verdict == "no":
        reason = _reason(report)
        return sentences.no_tree(reason.message if reason else None)
    if report.verdict == "unknown":
        counted = any(domain.offer_slots is not None for domain in report.domains)
        counted = counted or any(domain.shape_pods is not None for domain in report.domains)
        name = sentences.of_shape(report.shape) if report.shape else report.gang
        return sentences.unknown(name, report.message, counted=counted)
    if report.shape:
        roots = [domain for domain in report.domains if domain.parent is None]
        pods = sum(root.shape_pods or 0 for root in roots)
        return sentences.shape(report.shape, report.shape_requests, pods, report.shape_refusal)
    return _slots_sentence(report, report.gang) if report.gang else _size_sentence(report)


def _most_of_shape(report: TopologyReport) -> str:
    layers = {}
    for layer in _between(report):
        rows = [domain for domain in report.domains if domain.layer == layer]
        layers[layer] = max(row.shape_pods or 0 for row in rows), sum(row.shape_gangs or 0 for row in rows)
    return sentences.most_of_shape(layers, report.shape_members or 0)


def _size_sentence(report: TopologyReport) -> str:
    counts = Counter(domain.layer for domain in report.domains)
    roots = [domain for domain in report.domains if domain.parent is None]
    amounts = {report.resource: together(Amount(root.free, root.total) for root in roots)}
    amounts |= {name: together(root.others[name] for root in roots) for name in report.resources[1:]}
    layers = {layer: counts[layer] for layer in _between(report)}
    return sentences.size(layers, sum(root.nodes for root in roots), amounts)


def _slots_sentence(report: TopologyReport, gang: str) -> str:
    wanted = report.desired_offer_slot
    if wanted is not None and all(domain.offer_slots is None for domain in report.domains):
        return sentences.no_slots(gang, wanted, report.no_slots)
    layers: dict[str, tuple[int, int]] = {}
    for layer in _between(report):
        offers = [domain.offer_slots or 0 for domain in report.domains if domain.layer == layer]
        layers[layer] = sum(1 for offer in offers if wanted is not None and offer >= wanted), len(offers)
    return sentences.slots(gang, wanted, layers)


def _between(report: TopologyReport) -> list[str]:
    """Return the layers between the cluster and the nodes, top first."""
    present = {domain.layer for domain in report.domains}
    return [layer for layer in report.layers if layer in present and layer not in {ROOT, _NODE_LAYER}]


def _tree(report: TopologyReport, lines: int | None, depth: int | None, *, nodes: bool) -> Iterator[Block]:
    domains = DomainTree(report)
    deepest = domains.height()
    if nodes:
        yield drawn(domains, deepest, nodes=True)
        return
    if lines is None:
        yield drawn(domains, deepest if depth is None else min(depth, deepest))
        return
    shown = min(depth, deepest) if depth is not None else domains.fitting(deepest, lines)
    tree = drawn(domains, shown, fold=True, most=lines if depth is None else None)
    yield tree
    if depth is None and shown < deepest:
        yield Line(sentences.deeper(shown), "dim")
    elif len(tree.rows) < sum(1 for _ in domains.rows(shown)):
        yield Line(sentences.ROWS_SHARED, "dim")


def _out_of_use(report: TopologyReport) -> Iterator[Line]:
    """Yield how many nodes are cordoned or not ready, where something does not count as free because of that."""
    roots = [domain for domain in report.domains if domain.parent is None]
    cordoned, not_ready = sum(root.cordoned for root in roots), sum(root.not_ready for root in roots)
    withheld = sum(root.withheld or 0 for root in roots)
    if withheld:
        yield Line(sentences.not_counted(report.resource, withheld, cordoned=cordoned, not_ready=not_ready), "warn")


def _outside(outside: tuple[OutsideNode, ...]) -> Iterator[Block]:
    by_missing: dict[tuple[str, ...], list[str]] = {}
    for node in outside:
        by_missing.setdefault(node.missing, []).append(node.node)
    yield Line(sentences.outside(len(outside)), "warn")
    yield from (Line(sentences.lacking(names, missing), indent=2) for missing, names in by_missing.items())
