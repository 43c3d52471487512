"""A ClusterNetworkTopology proposed from node labels: its layers, why each is there, and the plan to write it."""

from collections.abc import Iterator, Sequence
from typing import Any

from kubectl_koord.changes.settings import Fields
from kubectl_koord.changes.values import RefusedError, refuse_unread
from kubectl_koord.diagnosis import coverage, visibility
from kubectl_koord.diagnosis.proposal import NamedLayer, NothingTellsError, Proposal, of_names, proposed
from kubectl_koord.engine import gangs, tree
from kubectl_koord.model.objects import Layer
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.change import Change, ChangePlan, ObjectName
from kubectl_koord.reports.common import Notice
from kubectl_koord.wording.answers import layers as sentences

KIND = "ClusterNetworkTopology"
API = "scheduling.koordinator.sh/v1alpha1"
_SPEC = "spec.networkTopologySpec."


def propose(snapshot: Snapshot, named: Sequence[NamedLayer] = ()) -> Proposal:
    """Return the topology that the labels of the nodes tell; see `diagnosis.proposal`.

    Raises:
        RefusedError: when the nodes could not be read, or have no such labels.

    """
    refuse_unread(visibility.unread(snapshot, "nodes"))
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
