"""Nodes outside the topology tree: what they lack, what they have instead, and how many pods they would take."""

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from msgspec import Struct

from kubectl_koord.diagnosis import families
from kubectl_koord.diagnosis.labels import makers
from kubectl_koord.engine.attempts.attempt import Attempt
from kubectl_koord.engine.placement import PlacementPlan
from kubectl_koord.engine.tree import DEFAULT_NAME, NODE_LAYER, Tree
from kubectl_koord.model.objects import Layer
from kubectl_koord.model.snapshot import Snapshot

_ALIKE, _NEARLY = 0.75, 0.85


class OutsideRoom(Struct, frozen=True):
    """Nodes outside a layer that would take so many pods of a gang, and the keys of labels that any of them lacks.

    `are_alone` is whether each is a domain of its own, as it lacks no label but that of the lowest layer.
    """

    nodes: tuple[str, ...]
    lacking: tuple[str, ...]
    pods: int
    are_alone: bool = False


class EmptyLayer(Struct, frozen=True):
    """A layer that no node is in: which keys nodes lack, and which they have that no layer names."""

    layer: str
    nodes: tuple[str, ...]
    lacking: tuple[str, ...]
    instead: tuple[str, ...]


def room(first: Attempt, snapshot: Snapshot) -> OutsideRoom | None:
    """Return which nodes outside the tree have slots that an attempt could not use, None where none has."""
    plan = first.plan
    if plan is None:
        return None
    counts, tree = plan.nodes.counts, plan.tree
    found = [one for one in tree.outside if counts[one.node]]
    alone = [] if found else [name for name in alone_in(tree, plan.requirements.must_gather) if counts[name]]
    nodes = (*(one.node for one in found), *alone)
    if not nodes:
        return None
    lacking = dict.fromkeys(key for one in found for key in one.missing)
    if alone:
        lacking = dict.fromkeys(layers_of(snapshot, tree)[-1].label_keys)
    return OutsideRoom(nodes, tuple(lacking), sum(counts[name] for name in nodes), are_alone=bool(alone))


def alone_in(tree: Tree, layer: str) -> tuple[str, ...]:
    """Return the nodes that are domains of their own in a layer in which others are together."""
    domains = [tree.domains[index] for index in tree.at_layer(layer)] if layer in tree.layers else []
    if all(domain.virtual for domain in domains) or layer == NODE_LAYER:
        return ()
    return tuple(domain.name for domain in domains if domain.virtual)


def empty_layer(snapshot: Snapshot, plan: PlacementPlan) -> EmptyLayer | None:
    """Return the layer that the gang must gather in where no node has a label of it, None where some have."""
    layer, tree = plan.requirements.must_gather, plan.tree
    if not snapshot.nodes or layer not in tree.layers or layer == NODE_LAYER:
        return None
    domains = [tree.domains[index] for index in tree.at_layer(layer)]
    if any(not domain.virtual for domain in domains):
        return None
    layers = layers_of(snapshot, tree)
    own = next(one for one in layers if one.name == layer)
    nodes = tuple(sorted(snapshot.nodes))
    instead = instead_of(snapshot, layers, nodes)
    if not instead:
        named = {key for one in layers for key in one.label_keys}
        instead = tuple(sorted(families.candidates(families.workers(snapshot.nodes)).keys() - named))
    return EmptyLayer(layer, nodes, own.label_keys, instead)


def layers_of(snapshot: Snapshot, tree: Tree) -> tuple[Layer, ...]:
    """Return the layers of a tree as they are written, from the top, without that of the nodes."""
    by_name = {layer.name: layer for layer in snapshot.topologies[DEFAULT_NAME].layers}
    return tuple(by_name[name] for name in tree.layers if name != NODE_LAYER)


def instead_of(snapshot: Snapshot, layers: Iterable[Layer], nodes: Iterable[str]) -> tuple[str, ...]:
    """Return labels of nodes that no layer names, and that may be meant: of a known provider, or nearly of a name."""
    named = tuple(key for layer in layers for key in layer.label_keys)
    carried = {key for name in nodes for key, _ in snapshot.nodes[name].labels} - {*named}
    return tuple(sorted(key for key in carried if makers([key]) or nearest(key, named)))


def nearest(key: str, named: Sequence[str]) -> str:
    """Return the one of several keys that another is nearly: misspelt, or of another domain; empty for none."""
    return next((one for one in named if one != key and _is_nearly(key, one)), "")


def _is_nearly(one: str, other: str) -> bool:
    (domain, _, name), (domain2, _, name2) = one.rpartition("/"), other.rpartition("/")
    if domain == domain2:
        return _ratio(name, name2) >= _ALIKE
    return name == name2 and bool(domain and domain2) and _ratio(domain, domain2) >= _NEARLY


def _ratio(one: str, other: str) -> float:
    return SequenceMatcher(None, one.casefold(), other.casefold()).ratio()
