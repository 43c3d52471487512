"""The tree of `topo` as rows: how deep to go, and which siblings to fold."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from kubectl_koord.render.document import Column, Row, Style, TreeTable, slim
from kubectl_koord.reports.capacity.topology import Amount, DomainRow, NodeRow, TopologyReport
from kubectl_koord.wording.pages.capacity import topo as sentences
from kubectl_koord.wording.pages.common import more
from kubectl_koord.wording.words import amount_of, domain_name, unit

ROOT = "ClusterTopologyLayer"
_ALIKE = 4  # fewer siblings than that are shown one by one

_Key = tuple[str, str]
_Cells = tuple[str, ...]


class DomainTree:
    """The domains of a report by their parent. Rows of an unknown parent hang nowhere and are not shown."""

    def __init__(self, report: TopologyReport) -> None:
        """Sort the rows of the report by parent, in the order of the report."""
        self._report = report
        self.columns = _columns(report)
        self.below: dict[_Key | None, list[DomainRow]] = {}
        self.leaves: dict[_Key, list[NodeRow]] = {}
        for domain in report.domains:
            parent = (domain.parent.layer, domain.parent.name) if domain.parent else None
            if parent != (domain.layer, domain.name):  # never below itself
                self.below.setdefault(parent, []).append(domain)
        for node in report.nodes:
            self.leaves.setdefault((node.parent.layer, node.parent.name), []).append(node)

    def height(self) -> int:
        """Return how many layers there are below the root."""
        levels, here = -1, self.below.get(None, [])
        while here:
            levels += 1
            here = [child for domain in here for child in self.children(domain)]
        return max(levels, 0)

    def children(self, domain: DomainRow) -> list[DomainRow]:
        """Return the domains right below this one."""
        return self.below.get((domain.layer, domain.name), [])

    def fitting(self, deepest: int, lines: int) -> int:
        """Return the deepest layer down to which the tree, folded, takes no more than so many lines."""
        for depth in range(deepest, 1, -1):
            if len(list(self.rows(depth, fold=True))) <= lines:
                return depth
        return min(deepest, 1)

    def rows(self, depth: int, *, nodes: bool = False, fold: bool = False) -> Iterator[Row]:
        """Return the rows in pre-order down to a depth; siblings at that depth that are alike may be folded."""
        for root in self.below.get(None, []):
            yield from self._rows([root], 0, depth, nodes=nodes, fold=fold)

    def _rows(self, siblings: Sequence[DomainRow], level: int, depth: int, *, nodes: bool, fold: bool) -> Iterator[Row]:
        if level > depth:
            return
        if level == depth and fold:
            yield from self._folded(siblings, level)
            return
        for domain in siblings:
            yield Row((domain_name(domain.name), *self.cells(domain)), _style(domain), level)
            yield from self._rows(self.children(domain), level + 1, depth, nodes=nodes, fold=fold)
            if nodes:
                yield from (self._node(node, level + 1) for node in self.leaves.get((domain.layer, domain.name), []))

    def _folded(self, siblings: Sequence[DomainRow], level: int) -> Iterator[Row]:
        for cells, run in groupby(siblings, self.cells):
            alike = list(run)
            names = [domain_name(domain.name) for domain in alike]
            if len(alike) >= _ALIKE:
                names = [sentences.folded(alike)]
            yield from (Row((name, *cells), _style(alike[0]), level) for name in names)

    def cells(self, domain: DomainRow) -> _Cells:
        """Return what stands beside the name of a domain."""
        slots = self._slots(domain.offer_slots)
        amounts = self._amounts(domain.free, domain.total, domain.others)
        takes = (_number(domain.shape_pods), _number(domain.shape_gangs))
        return (str(domain.nodes), *amounts, self._whole(domain.whole), slots, *takes, sentences.notes(domain))

    def _node(self, node: NodeRow, level: int) -> Row:
        notes = sentences.node_notes((node.state, node.reason))
        cells = (
            *self._amounts(node.free, node.total, node.others),
            self._whole(node.whole),
            self._slots(node.offer_slots),
            _number(node.shape_pods),
            "",
            notes,
        )
        return Row((node.node, "", *cells), "warn" if node.state else "", level)

    def _amounts(self, free: int | None, total: int, others: Mapping[str, Amount]) -> _Cells:
        every = {self._report.resource: Amount(free, total), **others}
        return tuple(cell for resource in every for cell in _amount(resource, every[resource]))

    def _whole(self, number: int | None) -> str:
        return "" if not self._report.whole else "?" if number is None else str(number)

    def _slots(self, slots: int | None) -> str:
        wanted = self._report.desired_offer_slot
        return "" if slots is None else str(slots) if wanted is None else f"{slots}/{wanted}"

    def summary(self, domains: Sequence[DomainRow], level: int) -> Row:
        """Return one row for all these domains together."""
        free, total = free_of(domains), sum(domain.total for domain in domains)
        nodes = str(sum(domain.nodes for domain in domains))
        others = {resource: together(each.others[resource] for each in domains) for resource in domains[0].others}
        label = more(len(domains))
        takes = [_sum(each.shape_pods for each in domains), _sum(each.shape_gangs for each in domains)]
        whole = together(Amount(domain.whole, 0) for domain in domains).free
        return Row(
            (label, nodes, *self._amounts(free, total, others), self._whole(whole), "", *takes, ""), "dim", level
        )


def free_of(domains: Sequence[DomainRow]) -> int | None:
    """Return what is free in all these domains together, None where that could not be seen."""
    return together(Amount(domain.free, domain.total) for domain in domains).free


def _number(number: int | None) -> str:
    return "" if number is None else str(number)


def _sum(numbers: Iterable[int | None]) -> str:
    every = [number for number in numbers if number is not None]
    return str(sum(every)) if every else ""


def _amount(resource: str, each: Amount) -> _Cells:
    free = "?" if each.free is None else amount_of(resource, each.free, "rounded")
    return (free, amount_of(resource, each.total, "rounded"))


def together(amounts: Iterable[Amount]) -> Amount:
    """Return the sum of amounts; what is free is None where any of it could not be seen."""
    every = list(amounts)
    free = [each.free for each in every if each.free is not None]
    return Amount(sum(free) if len(free) == len(every) else None, sum(each.total for each in every))


def drawn(
    tree: DomainTree, depth: int, *, nodes: bool = False, fold: bool = False, most: int | None = None
) -> TreeTable:
    """Return the tree down to a depth, cut after the first layer's domains that fill `most` lines."""
    rows = list(tree.rows(depth, nodes=nodes, fold=fold))
    if most is not None and len(rows) > most:
        rows = _cut(tree, most)
    return slim(TreeTable(tree.columns, tuple(rows)))


def _cut(tree: DomainTree, most: int) -> list[Row]:
    root = tree.below[None][0]
    first, rest = tree.children(root)[: most - 2], tree.children(root)[most - 2 :]
    rows = [Row((domain_name(domain.name), *tree.cells(domain)), _style(domain), 1) for domain in first]
    return [Row((domain_name(root.name), *tree.cells(root))), *rows, tree.summary(rest, 1)]


def _columns(report: TopologyReport) -> tuple[Column, ...]:
    names = list(map(unit, (report.resource, *report.resources[1:])))
    return (
        Column("DOMAIN"),
        Column("NODES", right=True, goes=1),
        *(column for name in names for column in _amount_columns(name)),
        Column("WHOLE CARDS", right=True),
        Column("SLOTS", right=True),
        Column("PODS", right=True),
        Column(sentences.gangs_of(report.shape_members or 0), right=True),
        Column("NOTES", flow="wrap"),
    )


def _amount_columns(name: str) -> tuple[Column, Column]:
    return Column(f"FREE {name}", right=True), Column(f"TOTAL {name}", right=True, goes=2)


def _style(domain: DomainRow) -> Style:
    return "warn" if domain.cordoned or domain.not_ready else ""
