"""Remedies for nodes outside the topology tree: the labels that they lack, or layers that name those that they have."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from kubectl_koord.diagnosis import outside
from kubectl_koord.diagnosis.proposal import NothingTellsError, filled, proposed
from kubectl_koord.engine.placement import PlacementPlan
from kubectl_koord.engine.tree import DEFAULT_NAME, NODE_LAYER, Tree
from kubectl_koord.model.objects import Layer
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.remedies.search import Search
from kubectl_koord.remedies.slot_count import Shortage
from kubectl_koord.reports.edits import LabelNode, LayerKeys, NodeLabel, SetLayers
from kubectl_koord.reports.ways_out import WayOut
from kubectl_koord.wording.remedies import commands
from kubectl_koord.wording.remedies import ways_out as sentences

_MOST_NODES = 256


class _Place(Struct, frozen=True):
    """The labels that put a node into a domain; `told` is whether its other labels tell that it belongs there."""

    node: str
    labels: tuple[NodeLabel, ...]
    told: bool


class _Labels:
    """What the labels of nodes tell of those that they lack."""

    def __init__(self, snapshot: Snapshot, tree: Tree) -> None:
        self._snapshot = snapshot
        self._tree = tree
        self.layers = outside.layers_of(snapshot, tree)
        every = {layer.name: [tree.domains[index] for index in tree.at_layer(layer.name)] for layer in self.layers}
        self._above = {layer: {one.name: one.parent for one in domains} for layer, domains in every.items()}

    def place(self, node: str, domain: Mapping[str, str]) -> _Place | None:
        """Return what puts a node into a domain, given by the values of its layers; None where other labels say no."""
        labels = dict(self._snapshot.nodes[node].labels)
        lacking, told = [], True
        for layer in self.layers:
            value = layer.value(labels)
            wanted = domain.get(layer.name, "")
            if value and wanted and value != wanted:
                return None
            if value:
                continue
            known = self._told(layer, labels)
            if known and wanted and known != wanted:
                return None
            if not (known or wanted or layer is self.layers[-1]):
                return None
            told = told and bool(known)
            if known or wanted:
                lacking.append(NodeLabel(layer.label_keys[0], known or wanted))
        return _Place(node, tuple(lacking), told) if lacking else None

    def _told(self, layer: Layer, labels: Mapping[str, str]) -> str:
        """Return the value that a layer's label would have: of a key that is nearly it, or of the layer below."""
        near = (value for key, value in sorted(labels.items()) if value and outside.nearest(key, layer.label_keys))
        return next(near, "") or self._of_below(layer, labels)

    def _of_below(self, layer: Layer, labels: Mapping[str, str]) -> str:
        """Return the domain of a layer above that which a label of a lower layer names, empty for none."""
        lower = self.layers[self.layers.index(layer) + 1 :]
        for one in lower:
            index = self._above[one.name].get(one.value(labels))
            if index is not None:
                above = (self._tree.domains[at] for at in self._tree.ancestors(index))
                return next((domain.name for domain in above if domain.layer == layer.name), "")
        return ""


def label_nodes(search: Search) -> Iterator[WayOut]:
    """Yield the fewest nodes outside the tree that are enough once they have the labels that others of theirs tell."""
    yield from search.once("label-nodes", _told)


def label_where_they_stand(search: Search) -> Iterator[WayOut]:
    """Yield the same with nodes of which no label tells where they stand: that is for people to know."""
    if not search.once("label-nodes", _told):
        yield from _labelled(search, guessed=True)


def _told(search: Search) -> tuple[WayOut, ...]:
    return tuple(_labelled(search, guessed=False))


def _labelled(search: Search, *, guessed: bool) -> Iterator[WayOut]:
    plan = search.first.plan
    nodes = _strays(plan) if plan is not None else []
    if plan is None or not nodes or not search.may_help("label-nodes"):
        return
    labels = _Labels(search.simulation.snapshot, plan.tree)
    for slot_count in search.slot_counts:
        counts = slot_count.slots(search.view)
        for short in slot_count.shorts():
            domain = _values(plan.tree, short)
            places = [place for node in nodes if counts[node] and (place := labels.place(node, domain))]
            told = [one for one in places if one.told or guessed]
            ranked = sorted(told, key=lambda one: (not one.told, -counts[one.node], one.node))
            pieces = [(counts[one.node], (LabelNode(one.node, one.labels),)) for one in ranked]
            edits = search.fewest(pieces, short.missing)
            if edits:
                chosen = {edit.node for edit in edits if isinstance(edit, LabelNode)}
                yield _labelling([one for one in ranked if one.node in chosen])
                return
    alone = [place for node in nodes if (place := labels.place(node, {})) and place.told]
    if alone and not guessed and search.works([LabelNode(one.node, one.labels) for one in alone]):
        yield _labelling(alone)


def _strays(plan: PlacementPlan) -> list[str]:
    """Return the nodes outside the tree, and those that are domains of their own as they lack a label."""
    alone = outside.alone_in(plan.tree, plan.requirements.must_gather)
    return [*(one.node for one in plan.tree.outside), *alone][:_MOST_NODES]


def _values(tree: Tree, short: Shortage) -> Mapping[str, str]:
    """Return the values of the labels of a domain and of those above it, by layer."""
    if short.domain is None or not short.nodes:
        return {}
    node = tree.leaf[short.nodes[0]]
    above = [tree.domains[index] for index in tree.ancestors(node)]
    at = next(number for number, one in enumerate(above) if one == short.domain)
    return {one.layer: one.name for one in above[at:] if one.name}


def _labelling(places: Sequence[_Place]) -> WayOut:
    by_labels: dict[tuple[NodeLabel, ...], list[str]] = {}
    for one in places:
        by_labels.setdefault(one.labels, []).append(one.node)
    groups = [(nodes, [f"{label.key}={label.value}" for label in labels]) for labels, nodes in by_labels.items()]
    edits = tuple(LabelNode(one.node, one.labels) for one in places)
    message = sentences.label_nodes(groups, told=all(one.told for one in places))
    told = all(one.told for one in places)
    return WayOut(
        "label-nodes" if told else "place-nodes",
        message,
        commands.in_turn(commands.label(*group) for group in groups),
        edits,
    )


def name_labels(search: Search) -> Iterator[WayOut]:
    """Yield the topology that the labels of the nodes tell, where that is another than the live one and is enough."""
    plan, snapshot = search.first.plan, search.simulation.snapshot
    if plan is None or not (_strays(plan) or _is_empty(search)) or not search.may_help("other-layers"):
        return
    live = snapshot.topologies[DEFAULT_NAME].layers
    known = {key for layer in live for key in layer.label_keys}
    for layers, told in _named(snapshot, plan, is_empty=_is_empty(search)):
        keys = {key for layer in layers for key in layer.label_keys} - known
        edit = SetLayers(tuple(LayerKeys(layer.name, layer.label_keys) for layer in layers))
        if keys and search.works((edit,)):
            named = [(layer.name, layer.label_keys) for layer in layers if layer.name != NODE_LAYER]
            command = commands.SEE_PROPOSED_TOPOLOGY if told else commands.see_named_topology(named)
            yield WayOut("other-layers", sentences.other_layers(named, told=told), command, (edit,))
            return


def _is_empty(search: Search) -> bool:
    plan = search.first.plan
    return plan is not None and outside.empty_layer(search.simulation.snapshot, plan) is not None


def _named(snapshot: Snapshot, plan: PlacementPlan, *, is_empty: bool) -> Iterator[tuple[tuple[Layer, ...], bool]]:
    """Yield layers of labels that nodes have: those that a provider sets, then others that may mean it."""
    with contextlib.suppress(NothingTellsError):
        yield proposed(snapshot).layers, True
    if is_empty and (layers := filled(snapshot, outside.layers_of(snapshot, plan.tree), plan.requirements.must_gather)):
        yield layers, False
