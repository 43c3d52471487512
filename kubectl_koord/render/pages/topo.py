"""The page of `topo`: the tree with what is free in it, then what is wrong with it."""

from collections import Counter
from collections.abc import Iterator

from kubectl_koord.explain.reports import Notice, OutsideNode, TopologyReport
from kubectl_koord.explain.words import count, layer_noun, resource_name
from kubectl_koord.render.document import Block, Gap, Line
from kubectl_koord.render.pages.forest import LINES, ROOT, Forest, drawn, free_of
from kubectl_koord.render.words import VERDICT_STYLE, amount, basis_line, some, warning_lines

_NODE_LAYER = "NodeTopologyLayer"
_NO_TREE = {"no-topology", "topology-other-name", "broken-layer-chain", "layer-cycle"}


def blocks(report: TopologyReport, *, depth: int | None = None, nodes: bool = False) -> list[Block]:
    """Return the page.

    Args:
        report: what `topo` found.
        depth: how many layers below the cluster to show; None shows as many as fit on about one screen.
        nodes: show every node, and therefore every layer, and fold nothing.

    """
    page: list[Block] = [Line(_headline(report), "bold" if report.verdict == "yes" else VERDICT_STYLE[report.verdict])]
    if report.domains:
        page += [Gap(), *_tree(report, depth, nodes=nodes)]
    page += warning_lines(_unsaid(report))
    if report.outside:
        page += [Gap(), *_outside(report.outside)]
    return [*page, Gap(), basis_line(report.basis)]


def _unsaid(report: TopologyReport) -> list[Notice]:
    """Return the warnings that neither the headline nor the list of nodes outside tells already."""
    reason = _reason(report) if report.verdict == "no" else None
    told = "outside-nodes" if report.outside else ""
    return [notice for notice in report.warnings if notice is not reason and notice.code != told]


def _reason(report: TopologyReport) -> Notice | None:
    """Return the warning that tells why there is no tree."""
    decisive = [notice for notice in report.warnings if notice.code in _NO_TREE]
    return next(iter([*decisive, *reversed(report.warnings)]), None)


def _headline(report: TopologyReport) -> str:
    if report.verdict == "no":
        reason = _reason(report)
        return f"The topology tree cannot be built: {reason.message if reason else 'no reason was found.'}"
    if report.verdict == "unknown":
        what = f"slots for {report.gang}" if report.gang else "topology tree"
        return f"Cannot tell the {what}: {report.message.rstrip('.')}."
    return _slots_sentence(report) if report.gang else _size_sentence(report)


def _size_sentence(report: TopologyReport) -> str:
    counts = Counter(domain.layer for domain in report.domains)
    parts = [count(counts[layer], layer_noun(layer)) for layer in _between(report)]
    roots = [domain for domain in report.domains if domain.parent is None]
    nodes = count(sum(root.nodes for root in roots), "node")
    free, total = free_of(roots), sum(root.total for root in roots)
    known = "an unknown part" if free is None else amount(report.resource, free)
    room = f"{known} of {amount(report.resource, total)} {resource_name(report.resource)} free"
    size = f"{', '.join(parts)} and {nodes}" if parts else nodes
    return f"The topology tree has {size}; {room}."


def _slots_sentence(report: TopologyReport) -> str:
    wanted = report.desired_offer_slot
    if wanted is None:
        return f"SLOTS shows how many pods of {report.gang} fit in a domain."
    parts = []
    for layer in _between(report):
        offers = [domain.offer_slots or 0 for domain in report.domains if domain.layer == layer]
        enough = sum(1 for offer in offers if offer >= wanted)
        parts.append(f"{enough} of {count(len(offers), layer_noun(layer))}")
    found = f" Domains with enough slots: {', '.join(parts)}." if parts else ""
    return f"{report.gang} needs {count(wanted, 'slot')} (1 slot = room for 1 pod).{found}"


def _between(report: TopologyReport) -> list[str]:
    """Return the layers between the cluster and the nodes, top first."""
    present = {domain.layer for domain in report.domains}
    return [layer for layer in report.layers if layer in present and layer not in {ROOT, _NODE_LAYER}]


def _tree(report: TopologyReport, depth: int | None, *, nodes: bool) -> Iterator[Block]:
    forest = Forest(report)
    deepest = forest.height()
    if nodes:
        yield drawn(forest, deepest, nodes=True)
        return
    shown = min(depth, deepest) if depth is not None else forest.fitting(deepest)
    yield drawn(forest, shown, nodes=False, most=LINES if depth is None else None)
    if depth is None and shown < deepest:
        more = f"use --depth {shown + 1} for one more, --nodes for every node"
        yield Line(f"Showing {count(shown, 'layer')}: {more}.", "dim")


def _outside(outside: tuple[OutsideNode, ...]) -> Iterator[Block]:
    by_missing: dict[tuple[str, ...], list[str]] = {}
    for node in outside:
        by_missing.setdefault(node.missing, []).append(node.node)
    number = count(len(outside), "node")
    yield Line(f"{number} outside the tree (gangs with a topology spec are never placed there):", "warn")
    for missing, names in by_missing.items():
        verb = "lacks" if len(names) == 1 else "lack"
        lack = f"{verb} the label {', '.join(missing)}" if missing else "no label is missing"
        yield Line(f"{some(names)}: {lack}", indent=2)
