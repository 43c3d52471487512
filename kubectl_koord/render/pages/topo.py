"""The page of `topo`: the tree as rows, which siblings are folded, and its sentences."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from kubectl_koord.language import STOP, say
from kubectl_koord.model import values
from kubectl_koord.render.document import Block, Bullet, Bullets, Column, EmptyLine, Line, Row, Style, TreeTable, slim
from kubectl_koord.render.lines import VERDICT_STYLE, basis_line, warning_lines
from kubectl_koord.render.shown import Shown
from kubectl_koord.reports.capacity import Amount, DomainRow, NodeRow, OutsideNode, TopologyReport
from kubectl_koord.reports.common import Notice
from kubectl_koord.wording.facts import UNKNOWN_AMOUNT, bar, legend_of_signs
from kubectl_koord.wording.words import (
    COMMA,
    NEXT_STEPS,
    amount_of,
    amounts,
    command,
    count,
    domain_name,
    layer_noun,
    listed,
    more,
    ranked,
    unit,
)

NOTHING_FREE = say("nothing free")
BELOW_A_THIRD = say("less than a third free")
BELOW_TWO_THIRDS = say("less than two thirds free")
TWO_THIRDS = say("two thirds free or more")
UNKNOWN_FREE = say("free: unknown")
ENOUGH_SLOTS = say("enough slots for the gang")
TOO_FEW_SLOTS = say("slots for some of its pods")
NO_SLOT = say("no slot for its pods")
ROWS_SHARED = say("Some domains share a row: --all shows each.")
PROPOSE = say("See which topology the labels of the nodes tell")


def propose(*, is_there: bool) -> str:
    """Return what proposes a topology; beside one that is there, how it differs."""
    return command("topo", "init", *(("--diff",) if is_there else ()))


def no_tree(why: str | None) -> str:
    """Return why there is no topology tree."""
    return say("The topology tree cannot be built: {why}", why=say("no reason was found.") if why is None else why)


def unknown(gang: str | None, why: str, *, counted: bool) -> str:
    """Return why nothing can be counted, or nothing exactly, for a gang or a shape where one was asked for."""
    slots = (
        say("tell exactly how many slots there are for {gang}", gang=gang)
        if counted
        else say("count the slots for {gang}", gang=gang)
    )
    what = slots if gang else say("build the topology tree")
    return say("Cannot {what}: {why}.", what=what, why=why.rstrip(STOP))


def size(layers: Mapping[str, int], nodes: int, resources: Mapping[str, Amount]) -> str:
    """Return how many domains of each layer and nodes the tree has, and what of each resource is free."""
    parts = [count(number, layer_noun(layer)) for layer, number in layers.items()]
    room = [free(resource, each) for resource, each in resources.items()]
    what = (
        say("{parts} and {nodes}", parts=say(", ").join(parts), nodes=count(nodes, "node"))
        if parts
        else count(nodes, "node")
    )
    return say("The topology tree has {what}; {room}.", what=what, room=COMMA.join(room))


def free(resource: str, each: Amount) -> str:
    """Return how much is free, of how much: `8 of 24 GPU free`."""
    whole = f"{amount_of(resource, each.total, 'rounded')} {unit(resource)}"
    if each.free is None:
        return say("{whole}, how many are free is unknown", whole=whole)
    return say("{amount} of {whole} free", amount=amount_of(resource, each.free, "rounded"), whole=whole)


def slots(gang: str, wanted: int | None, layers: Mapping[str, tuple[int, int]]) -> str:
    """Return how many slots a gang needs, and by layer how many domains have them, of how many.

    `wanted` is None for a gang whose pods are not counted in slots.
    """
    if wanted is None:
        return say("SLOTS shows how many pods of {gang} fit in a domain.", gang=gang)
    parts = [
        say("{enough} of {layers}", enough=enough, layers=count(domains, layer_noun(layer)))
        for layer, (enough, domains) in layers.items()
    ]
    found = say(" Domains with enough slots: {parts}.", parts=COMMA.join(parts)) if parts else ""
    return say(
        "{gang} needs {slots} (1 slot = room for 1 pod).{found}", gang=gang, slots=count(wanted, "slot"), found=found
    )


def no_slots(gang: str, wanted: int, why: str) -> str:
    """Return why no slots are counted for a gang, and what counts pods all the same."""
    if wanted == 0:
        return say("{gang} has no pending pods: no slots are counted for it.", gang=gang)
    return say(
        "No slots are counted for {gang}: {why} Use --shape to count how many pods of a shape fit.", gang=gang, why=why
    )


def shape(name: str, needs: Mapping[str, str], pods: int, refusal: str) -> str:
    """Return how many more pods of a shape the nodes of the tree take."""
    written = ((resource, values.amount(resource, values.parse(amount))) for resource, amount in needs.items())
    each = say("{amounts} each", amounts=amounts(ranked(tuple(written))))
    if refusal:
        return say("No node takes a pod of shape {name} ({each}): {refusal}.", name=name, each=each, refusal=refusal)
    return say(
        "Nodes of the tree take {pods} of shape {name} ({each}), quotas left out.",
        pods=count(pods, "more pod"),
        name=name,
        each=each,
    )


def most_of_shape(layers: Mapping[str, tuple[int, int]], members: int) -> str:
    """Return by layer how many pods the domain with most room takes, and how many gangs gather in one domain each."""
    parts = [say("{most} in one {layer}", most=most, layer=layer_noun(layer)) for layer, (most, _) in layers.items()]
    found = say("At most {parts}.", parts=listed(parts)) if parts else ""
    gangs = [
        say("{number} within one {layer} each", number=number, layer=layer_noun(layer))
        for layer, (_, number) in layers.items()
    ]
    return (
        say("{found} Gangs of {members}: {gangs}.", found=found, members=members, gangs=COMMA.join(gangs)).lstrip()
        if members and gangs
        else found
    )


def deeper(depth: int) -> str:
    """Return that only so many layers are shown, and how to see more."""
    how = say("use --depth {depth} for one more, --all for every domain, --nodes for every node", depth=depth + 1)
    return say("Showing {layers}: {how}.", layers=count(depth, "layer"), how=how)


def not_counted(resource: str, withheld: int, *, cordoned: int, not_ready: int) -> str:
    """Return how much is free on nodes that are cordoned or not ready, and does not count as free."""
    parts = [_are(count(cordoned, "node"), cordoned, say("cordoned"))] if cordoned else []
    if not_ready:
        parts.append(_are(str(not_ready) if parts else count(not_ready, "node"), not_ready, say("not ready")))
    what = say("{amount} free {unit}", amount=amount_of(resource, withheld, "rounded"), unit=unit(resource))
    whose = "its" if cordoned + not_ready == 1 else "their"
    return say("{parts}: {whose} {what} are not counted.", parts=COMMA.join(parts), whose=whose, what=what)


def _are(nodes: str, number: int, state: str) -> str:
    return say("{nodes} {are} {state}", nodes=nodes, are="is" if number == 1 else "are", state=state)


def nodes_outside(number: int) -> str:
    """Return how many nodes are outside the tree, and what that means."""
    nodes = count(number, "node")
    return say("{nodes} outside the tree (gangs with a topology spec are never placed there):", nodes=nodes)


def lacking(nodes: Sequence[str], labels: Sequence[str]) -> str:
    """Return which labels nodes outside the tree lack."""
    verb = "lacks" if len(nodes) == 1 else "lack"
    lack = (
        say("{verb} the label {labels}", verb=verb, labels=say(", ").join(labels))
        if labels
        else say("no label is missing")
    )
    return say("{nodes}: {lack}", nodes=say(", ").join(nodes), lack=lack)


def notes(domain: DomainRow) -> str:
    """Return how many nodes of a domain are cordoned or not ready."""
    found = [say("{cordoned} cordoned", cordoned=domain.cordoned)] if domain.cordoned else []
    found += [say("{not_ready} not ready", not_ready=domain.not_ready)] if domain.not_ready else []
    return COMMA.join(found)


def folded(domains: Sequence[DomainRow]) -> str:
    """Return the first and the last of domains that share a row."""
    return say(
        "{name} to {name2} ({number} domains, each)",
        name=domain_name(domains[0].name),
        name2=domain_name(domains[-1].name),
        number=len(domains),
    )


def node_notes(notes: Iterable[str]) -> str:
    """Return the notes on a node, each once."""
    return COMMA.join(note for note in dict.fromkeys(notes) if note)


def in_the_picture(room: str, slots: int | None, wanted: int | None, notes: str) -> str:
    """Return what the picture of the tree says below the name of a domain or node: `8 of 24 GPU free, 1/4 slots`."""
    counted = (
        ""
        if slots is None
        else count(slots, "slot")
        if wanted is None
        else say("{slots}/{wanted} slots", slots=slots, wanted=wanted)
    )
    return COMMA.join(filter(None, [room, counted, notes]))


ROOT = "ClusterTopologyLayer"
_ALIKE = 4  # fewer siblings than that are shown one by one

_Key = tuple[str, str]
_Cells = tuple[str, ...]


class DomainTree:
    """The domains of a report by their parent. Rows of an unknown parent hang nowhere and are not shown."""

    def __init__(self, report: TopologyReport) -> None:
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
                names = [folded(alike)]
            yield from (Row((name, *cells), _style(alike[0]), level) for name in names)

    def cells(self, domain: DomainRow) -> _Cells:
        """Return what stands beside the name of a domain."""
        slots = self._slots(domain.offer_slots)
        amounts = self._amounts(domain.free, domain.total, domain.others)
        takes = (_number(domain.shape_pods), _number(domain.shape_gangs))
        bar = _bar(Amount(domain.free, domain.total))
        return (str(domain.nodes), bar, *amounts, self._whole(domain.whole), "", slots, *takes, notes(domain))

    def _node(self, node: NodeRow, level: int) -> Row:
        notes = node_notes((node.state, node.reason))
        cells = (
            _bar(Amount(node.free, node.total)),
            *self._amounts(node.free, node.total, node.others),
            self._whole(node.whole),
            " ".join(node.cards.values()),
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
        whole = self._whole(together(Amount(domain.whole, 0) for domain in domains).free)
        amounts = self._amounts(free, total, others)
        return Row((label, nodes, _bar(Amount(free, total)), *amounts, whole, "", "", *takes, ""), "dim", level)


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


def _bar(each: Amount) -> str:
    return "" if each.free is None else bar(each.total - each.free, each.total)


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
        Column("IN USE", drawn=True),
        *(column for name in names for column in _amount_columns(name)),
        Column("WHOLE CARDS", right=True),
        Column("CARDS"),
        Column("SLOTS", right=True),
        Column("PODS", right=True),
        Column(say("GANGS OF {shape_members}", shape_members=report.shape_members or 0), right=True),
        Column("NOTES", flow="wrap"),
    )


def _amount_columns(name: str) -> tuple[Column, Column]:
    return Column(say("FREE {name}", name=name), right=True), Column(say("TOTAL {name}", name=name), right=True, goes=2)


def _style(domain: DomainRow) -> Style:
    return "warn" if domain.cordoned or domain.not_ready else ""


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
    step = Bullet(PROPOSE, propose(is_there=reason.code not in _NOT_THERE))
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
        return no_tree(reason.message if reason else None)
    if report.verdict == "unknown":
        counted = any(domain.offer_slots is not None for domain in report.domains)
        counted = counted or any(domain.shape_pods is not None for domain in report.domains)
        name = say("shape {shape}", shape=report.shape) if report.shape else report.gang
        return unknown(name, report.message, counted=counted)
    if report.shape:
        roots = [domain for domain in report.domains if domain.parent is None]
        pods = sum(root.shape_pods or 0 for root in roots)
        return shape(report.shape, report.shape_requests, pods, report.shape_refusal)
    return _slots_sentence(report, report.gang) if report.gang else _size_sentence(report)


def _most_of_shape(report: TopologyReport) -> str:
    layers = {}
    for layer in _between(report):
        rows = [domain for domain in report.domains if domain.layer == layer]
        layers[layer] = max(row.shape_pods or 0 for row in rows), sum(row.shape_gangs or 0 for row in rows)
    return most_of_shape(layers, report.shape_members or 0)


def _size_sentence(report: TopologyReport) -> str:
    counts = Counter(domain.layer for domain in report.domains)
    roots = [domain for domain in report.domains if domain.parent is None]
    amounts = {report.resource: together(Amount(root.free, root.total) for root in roots)}
    amounts |= {name: together(root.others[name] for root in roots) for name in report.resources[1:]}
    layers = {layer: counts[layer] for layer in _between(report)}
    return size(layers, sum(root.nodes for root in roots), amounts)


def _slots_sentence(report: TopologyReport, gang: str) -> str:
    wanted = report.desired_offer_slot
    if wanted is not None and all(domain.offer_slots is None for domain in report.domains):
        return no_slots(gang, wanted, report.no_slots)
    layers: dict[str, tuple[int, int]] = {}
    for layer in _between(report):
        offers = [domain.offer_slots or 0 for domain in report.domains if domain.layer == layer]
        layers[layer] = sum(1 for offer in offers if wanted is not None and offer >= wanted), len(offers)
    return slots(gang, wanted, layers)


def _between(report: TopologyReport) -> list[str]:
    """Return the layers between the cluster and the nodes, top first."""
    present = {domain.layer for domain in report.domains}
    return [layer for layer in report.layers if layer in present and layer not in {ROOT, _NODE_LAYER}]


def _tree(report: TopologyReport, lines: int | None, depth: int | None, *, nodes: bool) -> Iterator[Block]:
    domains = DomainTree(report)
    deepest = domains.height()
    if nodes:
        yield drawn(domains, deepest, nodes=True)
        if signs := "".join(sign for node in report.nodes for sign in node.cards.values()):
            yield Line(
                say("CARDS: {legend_of_signs}.", legend_of_signs=legend_of_signs(is_unseen=UNKNOWN_AMOUNT in signs)),
                "dim",
            )
        return
    if lines is None:
        yield drawn(domains, deepest if depth is None else min(depth, deepest))
        return
    shown = min(depth, deepest) if depth is not None else domains.fitting(deepest, lines)
    tree = drawn(domains, shown, fold=True, most=lines if depth is None else None)
    yield tree
    if depth is None and shown < deepest:
        yield Line(deeper(shown), "dim")
    elif len(tree.rows) < sum(1 for _ in domains.rows(shown)):
        yield Line(ROWS_SHARED, "dim")


def _out_of_use(report: TopologyReport) -> Iterator[Line]:
    """Yield how many nodes are cordoned or not ready, where something does not count as free because of that."""
    roots = [domain for domain in report.domains if domain.parent is None]
    cordoned, not_ready = sum(root.cordoned for root in roots), sum(root.not_ready for root in roots)
    withheld = sum(root.withheld or 0 for root in roots)
    if withheld:
        yield Line(not_counted(report.resource, withheld, cordoned=cordoned, not_ready=not_ready), "warn")


def _outside(outside: tuple[OutsideNode, ...]) -> Iterator[Block]:
    by_missing: dict[tuple[str, ...], list[str]] = {}
    for node in outside:
        by_missing.setdefault(node.missing, []).append(node.node)
    yield Line(nodes_outside(len(outside)), "warn")
    yield from (Line(lacking(names, missing), indent=2) for missing, names in by_missing.items())
