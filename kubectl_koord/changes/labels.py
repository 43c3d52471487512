"""Layer labels for nodes, out of a file: what would change, and the tree that results."""

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from kubectl_koord.changes.planning import change_of
from kubectl_koord.changes.settings import LABEL, Fields
from kubectl_koord.changes.values import RefusedError, refuse_unread
from kubectl_koord.diagnosis import coverage, visibility
from kubectl_koord.engine import tree
from kubectl_koord.model.objects import Layer, Node
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.change import ChangePlan, ObjectName
from kubectl_koord.wording.answers import layers as sentences

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

    Raises:
        RefusedError: when the nodes could not be read, a node or a layer does not exist, a value cannot be a label,
            or a node has another value already and `overwrite` is not set.

    """
    refuse_unread(visibility.unread(snapshot, "tree"))
    wanted = _labels(snapshot, placed)
    unknown = sorted(set(wanted) - set(snapshot.nodes))
    if unknown:
        raise RefusedError(sentences.unknown_nodes(unknown))
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
        message="" if made else sentences.labels_unchanged(),
        notes=sentences.tree_notes(built),
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
                raise RefusedError(sentences.bad_label(node, key, value))
    if not any(wanted.values()):
        raise RefusedError(sentences.nothing_named())
    return {node: labels for node, labels in wanted.items() if labels}


def _key(column: str, keys: Mapping[str, str]) -> str:
    """Return the label key that a column means: that of a layer, or the key itself, which then has a prefix."""
    if column in keys:
        return keys[column]
    if "/" not in column or not _KEY.fullmatch(column):
        raise RefusedError(sentences.unknown_column(column, tuple(keys)))
    return column


def _from_below(layers: Sequence[Layer], levels: int) -> list[str]:
    if levels > len(layers):
        raise RefusedError(sentences.too_deep(levels, tuple(layer.name for layer in layers)))
    return [layer.label_keys[0] for layer in reversed(layers)]
