"""Planned changes of `topo init` and `topo label`: the ClusterNetworkTopology, and layer labels of nodes."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from kubectl_koord.changes.annotate import change_of
from kubectl_koord.changes.values import LABEL, Fields, RefusedError, refuse_unread
from kubectl_koord.diagnosis import coverage
from kubectl_koord.diagnosis.labels import (
    NamedLayer,
    NothingTellsError,
    Proposal,
    as_live,
    bad_label,
    labels_unchanged,
    layer_in_use,
    nothing_named,
    of_names,
    proposed,
    too_deep,
    tree_notes,
    unknown_column,
    unknown_nodes,
)
from kubectl_koord.engine import gangs, tree
from kubectl_koord.model.objects import Layer, Node
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.change import Change, ChangePlan, ObjectName
from kubectl_koord.reports.common import Notice

_NAME = r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?"
_KEY = re.compile(rf"([a-z0-9]([a-z0-9.-]{{0,251}}[a-z0-9])?/)?{_NAME}")
_VALUE = re.compile(_NAME)


class NodePlaces(Struct, frozen=True):
    """Where nodes are, as a file says it.

    `columns` holds by node the value of each layer or label key. `switches` holds by node the names of the switches
    above it, the nearest first, for files that name no layers.
    """

    columns: Mapping[str, Mapping[str, str]] = {}
    switches: Mapping[str, Sequence[str]] = {}


def labels_plan(snapshot: Snapshot, placed: NodePlaces, *, overwrite: bool) -> ChangePlan:
    """Return the plan that labels the nodes.

    Raises RefusedError when the nodes could not be read, a node or a layer does not exist, a value cannot be a label,
    or a node has another value already and `overwrite` is not set.
    """
    refuse_unread(coverage.unread(snapshot, "tree"))
    wanted = _labels(snapshot, placed)
    unknown = sorted(set(wanted) - set(snapshot.nodes))
    if unknown:
        raise RefusedError(unknown_nodes(unknown))
    changes = []
    later: dict[str, Node] = dict(snapshot.nodes)
    for name in sorted(wanted):
        labels = dict(snapshot.nodes[name].labels)
        after: Fields = {LABEL + key: value for key, value in wanted[name].items()}
        before = {field: labels.get(field.removeprefix(LABEL)) for field in after}
        changes.append(change_of(ObjectName("Node", "", name), before, after, "", overwrite=overwrite))
        later[name] = structs.replace(later[name], labels=tuple(sorted((labels | wanted[name]).items())))
    made = tuple(change for change in changes if change is not None)
    built = tree.build(snapshot.topologies, later)
    return ChangePlan(
        verdict="yes",
        basis=coverage.basis(snapshot),
        warnings=(),
        changes=made,
        applied=False,
        effect=None,
        message="" if made else labels_unchanged(),
        notes=tree_notes(built),
    )


def _labels(snapshot: Snapshot, placed: NodePlaces) -> dict[str, dict[str, str]]:
    """Return by node the labels that are wanted, each value checked."""
    topology = tree.find(snapshot.topologies)
    order = () if isinstance(topology, tree.NoTree) else tree.layer_order(topology.layers)
    layers = () if isinstance(order, tree.NoTree) else tuple(layer for layer in order if layer.label_keys)
    keys = {layer.name: layer.label_keys[0] for layer in layers}
    wanted: dict[str, dict[str, str]] = {}
    for node, columns in placed.columns.items():
        wanted[node] = {_key(column, keys): value for column, value in columns.items() if value}
    for node, switches in placed.switches.items():
        wanted[node] = dict(zip(_from_below(layers, len(switches)), switches, strict=False))
    for node, labels in wanted.items():
        for key, value in labels.items():
            if not _VALUE.fullmatch(value):
                raise RefusedError(bad_label(node, key, value))
    if not any(wanted.values()):
        raise RefusedError(nothing_named())
    return {node: labels for node, labels in wanted.items() if labels}


def _key(column: str, keys: Mapping[str, str]) -> str:
    """Return the label key that a column means: that of a layer, or the key itself, which then has a prefix."""
    if column in keys:
        return keys[column]
    if "/" not in column or not _KEY.fullmatch(column):
        raise RefusedError(unknown_column(column, tuple(keys)))
    return column


def _from_below(layers: Sequence[Layer], levels: int) -> list[str]:
    if levels > len(layers):
        raise RefusedError(too_deep(levels, tuple(layer.name for layer in layers)))
    return [layer.label_keys[0] for layer in reversed(layers)]


KIND = "ClusterNetworkTopology"
API = "scheduling.koordinator.sh/v1alpha1"
_SPEC = "spec.networkTopologySpec."


def propose(snapshot: Snapshot, named: Sequence[NamedLayer] = ()) -> Proposal:
    """Return the topology that the labels of the nodes tell; see `diagnosis.proposal`.

    Raises RefusedError when the nodes could not be read, or have no such labels.
    """
    refuse_unread(coverage.unread(snapshot, "nodes"))
    try:
        return of_names(snapshot, named) if named else proposed(snapshot)
    except NothingTellsError as problem:
        raise RefusedError(str(problem)) from None


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

    Raises RefusedError when the live one could not be read.
    """
    refuse_unread(coverage.unread(snapshot, "layers"))
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
        message="" if changes else as_live(),
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
        yield Notice("unknown-layer", layer_in_use(layer, keys))
