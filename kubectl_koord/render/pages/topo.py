"""The page of `topo`: the tree with what is free in it, then what is wrong with it."""

from collections import Counter
from collections.abc import Iterator

from kubectl_koord.render.document import Block, Gap, Line
from kubectl_koord.render.pages.domain_tree import ROOT, DomainTree, drawn, free_of, together
from kubectl_koord.render.shown import Shown
from kubectl_koord.render.words import VERDICT_STYLE, amount, basis_line, warning_lines
from kubectl_koord.reports.common import Notice
from kubectl_koord.reports.topology import OutsideNode, TopologyReport
from kubectl_koord.wording.words import count, layer_noun, unit

_NODE_LAYER = "NodeTopologyLayer"
_NO_TREE = {"no-topology", "topology-other-name", "broken-layer-chain", "layer-cycle"}


def blocks(report: TopologyReport, shown: Shown, *, depth: int | None = None, nodes: bool = False) -> list[Block]:
    """Return the page.

    Args:
        report: what `topo` found.
        shown: how many lines of the tree.
        depth: how many layers below the cluster to show; None shows as many as `shown` has lines for.
        nodes: show every node, and therefore every layer, and fold nothing.

    """
    page: list[Block] = [Line(_headline(report), "bold" if report.verdict == "yes" else VERDICT_STYLE[report.verdict])]
    if report.domains:
        page += [Gap(), *_tree(report, shown.lines, depth, nodes=nodes)]
        page += [block for line in _out_of_use(report) for block in (Gap(), line)]
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
        what = f"count the slots for {report.gang}" if report.gang else "build the topology tree"
        return f"Cannot {what}: {report.message.rstrip('.')}."
    return _slots_sentence(report) if report.gang else _size_sentence(report)


def _size_sentence(report: TopologyReport) -> str:
    counts = Counter(domain.layer for domain in report.domains)
    parts = [count(counts[layer], layer_noun(layer)) for layer in _between(report)]
    roots = [domain for domain in report.domains if domain.parent is None]
    nodes = count(sum(root.nodes for root in roots), "node")
    free, total = free_of(roots), sum(root.total for root in roots)
    room = [_free(report.resource, free, total)]
    for resource in report.resources[1:]:
        each = together(root.others[resource] for root in roots)
        room.append(_free(resource, each.free, each.total))
    size = f"{', '.join(parts)} and {nodes}" if parts else nodes
    return f"The topology tree has {size}; {', '.join(room)}."


def _free(resource: str, free: int | None, total: int) -> str:
    whole = f"{amount(resource, total)} {unit(resource)}"
    return f"{whole}, how many are free is unknown" if free is None else f"{amount(resource, free)} of {whole} free"


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


def _tree(report: TopologyReport, lines: int | None, depth: int | None, *, nodes: bool) -> Iterator[Block]:
    forest = DomainTree(report)
    deepest = forest.height()
    if nodes:
        yield drawn(forest, deepest, nodes=True)
        return
    if lines is None:
        yield drawn(forest, deepest if depth is None else min(depth, deepest))
        return
    shown = min(depth, deepest) if depth is not None else forest.fitting(deepest, lines)
    tree = drawn(forest, shown, fold=True, most=lines if depth is None else None)
    yield tree
    if depth is None and shown < deepest:
        how = f"use --depth {shown + 1} for one more, --all for every domain, --nodes for every node"
        yield Line(f"Showing {count(shown, 'layer')}: {how}.", "dim")
    elif len(tree.rows) < sum(1 for _ in forest.rows(shown)):
        yield Line("Some domains share a row: --all shows each.", "dim")


def _out_of_use(report: TopologyReport) -> Iterator[Line]:
    """Yield how many nodes are cordoned or not ready, where something does not count as free because of that."""
    roots = [domain for domain in report.domains if domain.parent is None]
    cordoned, not_ready = sum(root.cordoned for root in roots), sum(root.not_ready for root in roots)
    parts = [_are(cordoned, "cordoned", noun="node")] if cordoned else []
    parts += [_are(not_ready, "not ready", noun="" if parts else "node")] if not_ready else []
    withheld = sum(root.withheld or 0 for root in roots)
    if withheld:
        what = f"{amount(report.resource, withheld)} free {unit(report.resource)}"
        whose = "its" if cordoned + not_ready == 1 else "their"
        yield Line(f"{', '.join(parts)}: {whose} {what} are not counted.", "warn")


def _are(number: int, state: str, noun: str) -> str:
    return f"{count(number, noun) if noun else number} {'is' if number == 1 else 'are'} {state}"


def _outside(outside: tuple[OutsideNode, ...]) -> Iterator[Block]:
    by_missing: dict[tuple[str, ...], list[str]] = {}
    for node in outside:
        by_missing.setdefault(node.missing, []).append(node.node)
    number = count(len(outside), "node")
    yield Line(f"{number} outside the tree (gangs with a topology spec are never placed there):", "warn")
    for missing, names in by_missing.items():
        verb = "lacks" if len(names) == 1 else "lack"
        lack = f"{verb} the label {', '.join(missing)}" if missing else "no label is missing"
        yield Line(f"{', '.join(names)}: {lack}", indent=2)
