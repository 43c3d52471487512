"""A ClusterNetworkTopology proposed from node labels: its layers, why each is there, and the plan to write it."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from msgspec import Struct, structs

from kubectl_koord.changes import families
from kubectl_koord.changes.families import FamilyLevel, LabelFamily
from kubectl_koord.changes.settings import Fields
from kubectl_koord.changes.values import RefusedError, refuse_unread
from kubectl_koord.diagnosis import coverage, visibility
from kubectl_koord.engine import gangs, tree
from kubectl_koord.model.objects import Layer, NetworkTopology, Node
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.change import Change, ChangePlan, ObjectName
from kubectl_koord.reports.common import Notice
from kubectl_koord.wording.answers import layers as sentences

KIND = "ClusterNetworkTopology"
API = "scheduling.koordinator.sh/v1alpha1"
_FROM_BELOW = ("BlockLayer", "SpineLayer", "DatacenterLayer")
_ACCELERATOR, _ZONE = "AcceleratorLayer", "ZoneLayer"
_SPEC = "spec.networkTopologySpec."


class Proposal(Struct, frozen=True):
    """The layers that node labels prove, from the top to the nodes, and what is to be said of them."""

    layers: tuple[Layer, ...]
    notes: tuple[str, ...]


def propose(snapshot: Snapshot) -> Proposal:
    """Return the topology that the labels of the nodes tell.

    Of all families of labels the one counts that most nodes have; each layer is proven from the data to lie within
    the one above it.

    Raises:
        RefusedError: when the nodes could not be read, or have no such labels.

    """
    refuse_unread(visibility.unread(snapshot, "nodes"))
    counted = families.workers(snapshot.nodes)
    every = tuple(snapshot.nodes.values())
    family, levels = _best(counted)
    notes = [
        sentences.source(family.source, len(levels[0].values.keys() & {one.name for one in counted}), len(counted))
    ]
    notes += [
        sentences.placeholder(key, value, number)
        for (key, value), number in families.placeholders(family, every).items()
    ]
    whole = families.levels_of(family, every)
    chain = [level for level in whole if not level.is_accelerator]
    chain = list(_one_name(_in_order(chain, notes), every, notes))
    chain = list(_telling(chain, len(every), notes))
    for level in whole:
        if level.is_accelerator:
            _place(chain, level, notes)
    zone = families.zone_of(every)
    if family.source != families.GENERIC and zone and len(set(zone.values.values())) > 1:
        _add_zone(chain, zone, notes)
    if not chain:
        raise RefusedError(sentences.NOTHING_TELLS)
    layers = _layers(chain)
    built = tree.build({tree.DEFAULT_NAME: NetworkTopology(tree.DEFAULT_NAME, layers)}, snapshot.nodes)
    return Proposal(layers, (*notes, *sentences.tree_notes(built)))


def _best(nodes: Sequence[Node]) -> tuple[LabelFamily, tuple[FamilyLevel, ...]]:
    """Return the family that most nodes have a label of; of equals the first, and the generic one only alone."""
    *fabric, generic = families.families(nodes)
    found = [(family, families.levels_of(family, nodes)) for family in fabric]
    told = [(family, levels) for family, levels in found if levels]
    if told:
        return max(told, key=lambda one: len({node for level in one[1] for node in level.values}))
    levels = families.levels_of(generic, nodes)
    if not levels:
        raise RefusedError(sentences.NO_LABELS)
    return generic, levels


def _in_order(levels: list[FamilyLevel], notes: list[str]) -> list[FamilyLevel]:
    """Return the levels that lie within each other: in the usual order, else in the reverse, else as many as do."""
    for order in (levels, levels[::-1]):
        if all(families.nests(lower, higher) for higher, lower in pairwise(order)):
            if order is not levels:
                notes.append(sentences.reversed_order())
            return order
    kept: list[FamilyLevel] = []
    for level in levels:
        names = families.repeated(level, kept[-1]) if kept else ()
        if names:
            notes.append(sentences.repeats(level.keys[0], kept[-1].keys[0], names))
        else:
            kept.append(level)
    return kept


def _one_name(levels: Sequence[FamilyLevel], nodes: Sequence[Node], notes: list[str]) -> Iterator[FamilyLevel]:
    """Yield the levels, without keys that contradict the newest."""
    for level in levels:
        wrong = families.disagreeing(level, nodes)
        notes += [sentences.disagree(level.keys[0], key) for key in wrong]
        notes += [
            sentences.other_names(level.keys[0], key) for key in families.renamed(level, nodes) if key not in wrong
        ]
        yield structs.replace(level, keys=tuple(key for key in level.keys if key not in wrong))


def _telling(levels: Sequence[FamilyLevel], nodes: int, notes: list[str]) -> Iterator[FamilyLevel]:
    """Yield the levels that divide the nodes."""
    for level in levels:
        domains = set(level.values.values())
        if len(domains) == 1 and len(level.values) == nodes:
            notes.append(sentences.one_value(level.keys[0]))
        elif len(domains) == len(level.values):
            notes.append(sentences.one_node_each(level.keys[0]))
        else:
            yield level


def _place(chain: list[FamilyLevel], level: FamilyLevel, notes: list[str]) -> None:
    """Put a level of linked accelerators where it nests, the lowest place first, or leave it out and say so."""
    for at in range(len(chain), -1, -1):
        higher, lower = chain[at - 1 : at] if at else [], chain[at : at + 1]
        if all(families.nests(level, one) for one in higher) and all(families.nests(one, level) for one in lower):
            if at < len(chain):
                notes.append(sentences.accelerators_above(level.keys[0], chain[at].keys[0]))
            chain.insert(at, level)
            return
    notes.append(sentences.not_nested(level.keys[0]))


def _add_zone(chain: list[FamilyLevel], zone: FamilyLevel, notes: list[str]) -> None:
    if chain and families.nests(chain[0], zone):
        chain.insert(0, zone)
    elif chain:
        notes.append(sentences.not_nested(zone.keys[0]))


def _layers(chain: Sequence[FamilyLevel]) -> tuple[Layer, ...]:
    """Return the layers with the names that Koordinator's manual recommends, counted from the nodes up."""
    names: list[str] = []
    used = 0
    for level in reversed(chain):
        if level.is_accelerator:
            name = _ACCELERATOR if _ACCELERATOR not in names else f"{_ACCELERATOR}{len(names)}"
        elif level.keys == (families.ZONE,) and level is chain[0]:
            name = _ZONE
        else:
            name = _FROM_BELOW[used] if used < len(_FROM_BELOW) else f"Tier{used}Layer"
            used += 1
        names.append(name)
    layers = []
    parent = tree.ROOT_LAYER
    for name, level in zip(reversed(names), chain, strict=True):
        layers.append(Layer(name, parent, level.keys))
        parent = name
    return (*layers, Layer(tree.NODE_LAYER, parent))


def manifest(proposal: Proposal) -> dict[str, Any]:
    """Return the proposal as an object of the API."""
    return {
        "apiVersion": API,
        "kind": KIND,
        "metadata": {"name": tree.DEFAULT_NAME},
        "spec": {"networkTopologySpec": _written(proposal.layers)},
    }


def _written(layers: Sequence[Layer]) -> list[dict[str, Any]]:
    return [
        {"topologyLayer": layer.name}
        | ({"parentTopologyLayer": layer.parent} if layer.parent != tree.ROOT_LAYER else {})
        | ({"labelKey": list(layer.label_keys)} if layer.label_keys else {})
        for layer in layers
    ]


def topology_plan(snapshot: Snapshot, proposal: Proposal) -> ChangePlan:
    """Return the plan that makes the live topology the proposed one: created where there is none.

    Raises:
        RefusedError: when the live one could not be read.

    """
    refuse_unread(visibility.unread(snapshot, "layers"))
    live = snapshot.topologies.get(tree.DEFAULT_NAME)
    before, after = (_flat(layers) for layers in (live.layers if live else (), proposal.layers))
    fields = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    name = ObjectName(KIND, "", tree.DEFAULT_NAME)
    changes: tuple[Change, ...] = ()
    if fields:
        version = live.resource_version if live else ""
        patch = manifest(proposal)
        if live:
            metadata = {"resourceVersion": version} if version else {}
            patch = {"metadata": metadata, "spec": {"networkTopologySpec": _written(proposal.layers)}}
        old, new = ({key: side.get(key) for key in fields} for side in (before, after))
        changes = (Change(name, old, new, patch, version),)
    return ChangePlan(
        verdict="yes",
        basis=coverage.basis(snapshot),
        warnings=tuple(_lost_layers(snapshot, proposal)),
        changes=changes,
        applied=False,
        effect=None,
        message="" if changes else sentences.as_live(),
        notes=proposal.notes,
    )


def _flat(layers: Sequence[Layer]) -> Fields:
    """Return a field for each thing that a layer says; the top one may leave out that it lies below the root."""
    flat: Fields = {}
    for layer in layers:
        flat[f"{_SPEC}{layer.name}.parentTopologyLayer"] = layer.parent or tree.ROOT_LAYER
        if layer.label_keys:
            flat[f"{_SPEC}{layer.name}.labelKey"] = ", ".join(layer.label_keys)
    return flat


def _lost_layers(snapshot: Snapshot, proposal: Proposal) -> Iterator[Notice]:
    """Yield a warning for each layer that gangs gather on and that the proposal does not have."""
    known = {layer.name for layer in proposal.layers}
    users: dict[str, list[str]] = {}
    for gang in gangs.all_gangs(snapshot).values():
        for rule in gang.topology or ():
            if rule.layer not in known:
                users.setdefault(rule.layer, []).append(gang.key)
    for layer, keys in users.items():
        yield Notice("unknown-layer", sentences.layer_in_use(layer, keys))
