"""A simulation in a changed cluster: each edit applied to view and subject, nothing copied that stays as it is."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import assert_never

from msgspec import structs

from kubectl_koord.engine import tree
from kubectl_koord.engine.fit import placed
from kubectl_koord.engine.gang_settings import gather_rules
from kubectl_koord.engine.gangs import Gang
from kubectl_koord.engine.view import View
from kubectl_koord.model.hardware.allocations import NOTHING
from kubectl_koord.model.load import ExpectedUse
from kubectl_koord.model.objects import Layer, NetworkTopology, Node
from kubectl_koord.model.pods import PendingPod, PodRequirements, RunningPod
from kubectl_koord.model.quotas import NAME_LABEL, Quota
from kubectl_koord.model.resource_claims import ResourceClaim
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.storage import Claim
from kubectl_koord.model.values import quantity
from kubectl_koord.model.values.selectors import Toleration
from kubectl_koord.reports.edits import (
    AddNode,
    CreatePodGroup,
    DeletePod,
    Edit,
    LabelNode,
    MendNode,
    MovePod,
    ReleaseReservation,
    SetLayers,
    SetMinimum,
    SetQuota,
    SetRequest,
    SetThresholds,
    SetTopology,
    SupplyClaims,
    Tolerate,
    Uncordon,
    UseQuota,
)
from kubectl_koord.simulation.others import see_no_difference
from kubectl_koord.simulation.simulation import Simulation

NOT_READY = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
CORDON = "node.kubernetes.io/unschedulable"
_HOSTNAME = "kubernetes.io/hostname"


def changed(simulation: Simulation, edits: Sequence[Edit]) -> Simulation:
    """Return the simulation once all edits are made: those of one kind at once, as there may be many."""
    view = simulation.view
    gone = [_occupant(view, edit.node, edit.pod) for edit in edits if isinstance(edit, DeletePod) and edit.node]
    gone += [pod for edit in edits if isinstance(edit, MendNode) for pod in terminating_on(view, edit.node)]
    nodes = [opened(view.node(edit.node)) for edit in edits if isinstance(edit, Uncordon)]
    nodes += [mended(view.node(edit.node)) for edit in edits if isinstance(edit, MendNode)]
    nodes += [_limited_by(view.node(edit.node), edit) for edit in edits if isinstance(edit, SetThresholds)]
    more = [like_but_empty(view.node(edit.like), edit.node) for edit in edits if isinstance(edit, AddNode)]
    more += [_labelled(view.node(edit.node), edit) for edit in edits if isinstance(edit, LabelNode)]
    layers = next((edit for edit in edits if isinstance(edit, SetLayers)), None)
    surplus = {edit.pod for edit in edits if isinstance(edit, DeletePod) and not edit.node}
    view = view.without(gone) if gone else view
    limits = [edit for edit in edits if isinstance(edit, SetQuota)]
    view = view.with_quotas(limited(view.quotas, limits)) if limits else view
    released = {edit.reservation for edit in edits if isinstance(edit, ReleaseReservation)}
    view = view.without_reservations(_uids(view.snapshot, released)) if released else view
    simulation = structs.replace(simulation, view=view.with_nodes(nodes) if nodes else view)
    simulation = _with_tree(simulation, more, layers) if more or layers else simulation
    simulation = _with_pods(simulation, surplus, lambda _: None) if surplus else simulation
    for edit in edits:
        simulation = _one(simulation, edit)
    return simulation


def opened(node: Node) -> Node:
    """Return a node without its cordon."""
    return structs.replace(
        node, unschedulable=False, taints=tuple(taint for taint in node.taints if taint.key != CORDON)
    )


def terminating_on(view: View, node: str) -> list[RunningPod]:
    """Return the pods of a node that terminate."""
    return [pod for pod in view.occupants(node) if isinstance(pod, RunningPod) and pod.terminating]


def mended(node: Node) -> Node:
    """Return a node that is ready, without the taints of one that is not."""
    return structs.replace(node, ready=True, taints=tuple(taint for taint in node.taints if taint.key not in NOT_READY))


def _limited_by(node: Node, edit: SetThresholds) -> Node:
    if node.metric is None:
        return node
    percent = tuple((one.resource, one.percent) for one in edit.percent)
    thresholds = structs.replace(node.metric.thresholds, whole=percent)
    return structs.replace(node, metric=structs.replace(node.metric, thresholds=thresholds))


def recreated(pod: RunningPod) -> PendingPod:
    """Return a running pod as it would wait for a node, were it created anew."""
    return PendingPod(
        pod.namespace, pod.name, pod.priority, pod.requirements, "", labels=tuple(pod.labels), selector=pod.selector
    )


def _one(simulation: Simulation, edit: Edit) -> Simulation:
    match edit:
        case MendNode() | SetThresholds():
            return simulation  # all at once, above
        case Uncordon() | AddNode() | LabelNode() | SetLayers() | DeletePod() | SetQuota() | ReleaseReservation():
            return simulation  # all at once, above
        case MovePod(pod=key, node=node, to=to):
            pod = _occupant(simulation.view, node, key)
            view = simulation.view.without([pod])
            waiting = recreated(pod)
            there = placed(waiting, view.state(to), simulation.prepared(waiting, view, created_anew=True))
            booked = there.allocations if isinstance(there, PendingPod) else None
            moved = structs.replace(pod, node=to, allocations=booked or NOTHING)
            return structs.replace(simulation, view=view.with_pods({to: [moved]}))
        case Tolerate() | SetRequest() | UseQuota():
            return _with_pods(simulation, set(edit.pods), partial(_altered, edit=edit))
        case SupplyClaims():
            return _supplied(simulation, edit)
        case SetTopology() | SetMinimum() | CreatePodGroup():
            return _with_gang(simulation, edit)
        case _:
            assert_never(edit)


def limited(quotas: Iterable[Quota], edits: Iterable[SetQuota]) -> tuple[Quota, ...]:
    """Return the quotas with their limits as the edits have them; a weight that is the maximum follows it."""
    by_name: dict[str, dict[str, dict[str, int]]] = {}
    for edit in edits:
        amount = quantity.amount(edit.resource, quantity.parse(edit.amount))
        by_name.setdefault(edit.quota, {}).setdefault(edit.field, {})[edit.resource] = amount
    return tuple(_limited(quota, by_name[quota.key]) if quota.key in by_name else quota for quota in quotas)


def _limited(quota: Quota, limits: Mapping[str, Mapping[str, int]]) -> Quota:
    least, most = ({**dict(own), **limits.get(field, {})} for field, own in (("min", quota.min), ("max", quota.max)))
    found = structs.replace(quota, min=tuple(sorted(least.items())), max=tuple(sorted(most.items())))
    return structs.replace(found, weight=found.max) if quota.weighs_max else found


def _uids(snapshot: Snapshot, names: Collection[str]) -> frozenset[str]:
    """Return the uids of Reservations by their names, those included that are to be placed."""
    waiting = (pod.reserves for pod in snapshot.reserve_pods if pod.reserves is not None)
    return frozenset(one.uid for one in (*snapshot.reservations, *waiting) if one.name in names and not one.is_pod)


def counting_in(pod: PendingPod, quota: str) -> PendingPod:
    """Return the pod with the label by which it counts against a quota."""
    return structs.replace(pod, labels=tuple(sorted((dict(pod.labels) | {NAME_LABEL: quota}).items())))


def _altered(pod: PendingPod, edit: Tolerate | SetRequest | UseQuota) -> PendingPod:
    if isinstance(edit, UseQuota):
        return counting_in(pod, edit.quota)
    if isinstance(edit, SetRequest):
        most = quantity.amount(edit.resource, quantity.parse(edit.amount))
        return asking(pod, edit.resource, most, limits=edit.limits)
    more = Toleration(edit.key, "Equal", edit.value, edit.effect)
    return structs.replace(
        pod, requirements=structs.replace(pod.requirements, tolerations=(*pod.requirements.tolerations, more))
    )


def _supplied(simulation: Simulation, edit: SupplyClaims) -> Simulation:
    """Return the simulation with claims that no node is held against."""
    served = {name: Claim(name, is_read=False) for name in edit.volume_claims}
    snapshot = structs.replace(simulation.snapshot, claims={**simulation.snapshot.claims, **served})
    keys = {pod.key for pod in simulation.subject.pending} if edit.resource_claims else set()
    simulation = structs.replace(simulation, snapshot=snapshot, unchanged=None)
    return _with_pods(simulation, keys, partial(_allocated, names=edit.resource_claims))


def _allocated(pod: PendingPod, names: Collection[str]) -> PendingPod:
    owner = pod.uid, pod.name
    return structs.replace(
        pod,
        resource_claims=tuple(
            structs.replace(one, found=ResourceClaim(one.claim, allocated=True, owner=owner))
            if one.claim in names
            else one
            for one in pod.resource_claims
        ),
    )


def _occupant(view: View, node: str, key: str) -> RunningPod:
    return next(pod for pod in view.occupants(node) if isinstance(pod, RunningPod) and pod.key == key)


def like_but_empty(node: Node, name: str) -> Node:
    """Return another node of the same size, labels and taints, schedulable and without a measured load."""
    labels = tuple((key, name if key == _HOSTNAME else value) for key, value in node.labels)
    return structs.replace(opened(node), name=name, labels=labels, metric=None)


def _labelled(node: Node, edit: LabelNode) -> Node:
    more = {label.key: label.value for label in edit.labels}
    return structs.replace(node, labels=tuple(sorted({**dict(node.labels), **more}.items())))


def _with_tree(simulation: Simulation, more: Iterable[Node], layers: SetLayers | None) -> Simulation:
    """Return the simulation with these nodes, in place of those of the same name, and a tree of what is there then."""
    view, topologies = simulation.view, simulation.snapshot.topologies
    if layers is not None:
        topologies = {**topologies, tree.DEFAULT_NAME: _layered(topologies[tree.DEFAULT_NAME], layers)}
    added = {node.name: node for node in more}
    nodes = {name: added[name] if name in added else view.node(name) for name in sorted([*view.names(), *added])}
    occupants = {name: view.occupants(name) for name in view.names()}
    snapshot = structs.replace(simulation.snapshot, nodes=nodes, topologies=topologies)
    own = structs.replace(view.snapshot, nodes=nodes, topologies=topologies)
    grown = View(own, nodes, occupants, quotas=view.quotas)
    built = tree.build(topologies, nodes)
    return structs.replace(simulation, snapshot=snapshot, view=grown, tree=built, unchanged=None)


def asked(pod: PendingPod, resource: str, *, limits: bool = False) -> int:
    """Return the pod's request of a resource; its limit where limits count, and that is more."""
    limited = (one.limit for one in pod.requirements.expected if limits and one.requested == resource)
    return max(dict(pod.requirements.requests).get(resource, 0), *limited, 0)


def _layered(live: NetworkTopology, wanted: SetLayers) -> NetworkTopology:
    """Return a topology with other layers, each below the one before it."""
    parents = [tree.ROOT_LAYER, *(one.layer for one in wanted.layers)]
    layers = (Layer(one.layer, above, one.label_keys) for one, above in zip(wanted.layers, parents, strict=False))
    return structs.replace(live, layers=tuple(layers), status=None)


def asking(pod: PendingPod, resource: str, most: int, *, limits: bool = False) -> PendingPod:
    """Return the pod with no more than this request of one resource; none at all where `most` is 0.

    What it is expected to use follows its limit where that is more, unless its `limits` are no more than this, too.
    """
    requests = ((name, min(amount, most) if name == resource else amount) for name, amount in pod.requirements.requests)
    kept = tuple((name, amount) for name, amount in requests if amount)
    expected = tuple(
        _using(one, dict(kept).get(resource, 0), min(one.limit, most) if limits else one.limit)
        if one.requested == resource
        else one
        for one in pod.requirements.expected
    )
    return structs.replace(pod, requirements=structs.replace(pod.requirements, requests=kept, expected=expected))


def _using(one: ExpectedUse, request: int, limit: int) -> ExpectedUse:
    return structs.replace(one, amount=max(request, limit), limit=limit)


def wanting_room_alone(simulation: Simulation, *, for_others: bool) -> Simulation:
    """Return the simulation with pods that ask for their requests and for nothing else of a node.

    `for_others` is whether those who look at the pods that wait find them so, too.
    """
    keys = {pod.key for pod in simulation.subject.pending}
    return (_with_pods if for_others else _with_own_pods)(simulation, keys, room_alone)


def room_alone(pod: PendingPod) -> PendingPod:
    """Return the pod with its requests alone: no selector, affinity, ports, volumes, resource claims or spread."""
    alone = PodRequirements(requests=pod.requirements.requests)
    return structs.replace(pod, requirements=alone, resource_claims=())


def _with_gang(simulation: Simulation, edit: SetTopology | SetMinimum | CreatePodGroup) -> Simulation:
    fields: dict[str, object] = {}
    if isinstance(edit, SetTopology):
        fields = {"topology": gather_rules(edit.spec)[0]}
    elif isinstance(edit, SetMinimum):
        fields = {"minimum": edit.minimum}
    else:
        fields = {"minimum": edit.minimum, "defined_by": "PodGroup"} | ({"group": edit.groups} if edit.groups else {})

    def with_fields(gang: Gang) -> Gang:
        return structs.replace(gang, **fields) if gang.key == edit.gang else gang

    return structs.replace(simulation, subject=simulation.subject.with_gangs(with_fields))


def _with_pods(simulation: Simulation, keys: set[str], change: Callable[[PendingPod], PendingPod | None]) -> Simulation:
    """Return the simulation with some pending pods of the subject changed, or gone where there is None."""
    snapshot, once = simulation.snapshot, _once(change)
    snapshot = structs.replace(snapshot, pending=_changed(snapshot.pending, keys, once))
    after = _with_own_pods(simulation, keys, once)
    is_unseen = see_no_difference(simulation, after.subject)
    return structs.replace(after, snapshot=snapshot, unchanged=simulation.seen_by_others if is_unseen else None)


def _once(change: Callable[[PendingPod], PendingPod | None]) -> Callable[[PendingPod], PendingPod | None]:
    """Return the same change, made once of each pod however often it is listed; pods go on sharing what they ask."""
    known: dict[int, PendingPod | None] = {}
    shared: dict[int, PodRequirements] = {}

    def changed_once(pod: PendingPod) -> PendingPod | None:
        if id(pod) not in known:
            after = change(pod)
            if after is not None:
                asked = shared.setdefault(id(pod.requirements), after.requirements)
                after = structs.replace(after, requirements=asked) if asked == after.requirements else after
            known[id(pod)] = after
        return known[id(pod)]

    return changed_once


def _with_own_pods(
    simulation: Simulation, keys: set[str], change: Callable[[PendingPod], PendingPod | None]
) -> Simulation:
    """Return the same, with the pods that wait in the snapshot as they are."""
    subject = simulation.subject.with_pending(lambda pods: _changed(pods, keys, change))
    return structs.replace(simulation, subject=subject)


def _changed(
    pods: Iterable[PendingPod], keys: set[str], change: Callable[[PendingPod], PendingPod | None]
) -> tuple[PendingPod, ...]:
    after = (change(pod) if pod.key in keys else pod for pod in pods)
    return tuple(pod for pod in after if pod is not None)


def deleted(pods: Iterable[RunningPod]) -> tuple[DeletePod, ...]:
    """Return the deletions of running pods, in name order."""
    return tuple(DeletePod(pod.key, pod.node) for pod in sorted(pods, key=lambda pod: pod.key))
