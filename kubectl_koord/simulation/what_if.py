"""A simulation in a changed cluster: the edits, each applied to view and subject."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import lcm
from typing import NamedTuple, TypeAlias, assert_never

from msgspec import Struct, structs

from kubectl_koord.engine import tree
from kubectl_koord.engine.attempt import may_abort
from kubectl_koord.engine.budget import Budget
from kubectl_koord.engine.filters import Prepared, placed, prepare, reserve
from kubectl_koord.engine.gangs import Gang, GangSubject, Subject, never_tried
from kubectl_koord.engine.quota.state import quota_state
from kubectl_koord.engine.quota.tree import quota_tree, quotas_of
from kubectl_koord.engine.reasons import PreFilterRefusal, Reason, Refused
from kubectl_koord.engine.rounds import Outcome
from kubectl_koord.engine.rules import gather_rules, rules
from kubectl_koord.engine.slots import offer_slots
from kubectl_koord.engine.state import Occupant, View
from kubectl_koord.model import values
from kubectl_koord.model.hardware import NOTHING
from kubectl_koord.model.load import ExpectedUse
from kubectl_koord.model.objects import Claim, Layer, NetworkTopology, Node
from kubectl_koord.model.pods import PendingPod, PodRequirements, RunningPod
from kubectl_koord.model.quotas import NAME_LABEL, Quota
from kubectl_koord.model.resource_claims import ResourceClaim
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values import Identity, Requirement, Toleration, recently
from kubectl_koord.reports.common import (
    AddNode,
    CreatePodGroup,
    DeletePod,
    Edit,
    LabelNode,
    MendNode,
    MovePod,
    OwnRule,
    RelaxRule,
    ReleaseReservation,
    SelectNodes,
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
from kubectl_koord.simulation.simulation import (
    Scenario,
    Simulation,
    largest_from_above,
    largest_from_below,
    likeliest_outcome,
    seats,
    see_no_difference,
)

RULES: Mapping[OwnRule, str] = {
    "host-ports": "ports",
    "pod-anti-affinity": "pod_anti_affinity",
    "topology-spread": "spread",
}
"""The fields of requirements that hold what pods may do without."""
MOST_COPIES = 256
"""How many copies are tried; a job that fits as often as that is not followed further."""
_MOST_AT_ONCE, _MOST_IN_TURN = 1 << 12, 1 << 10
"""How many pods are tried to find out how large a gang may be: in one attempt, and in one for each size."""
_MOST_STEPS, _NODES_A_STEP, _BESIDE_OTHERS = 1 << 10, 500, 4
"""How many steps counting may take: a copy takes one for each kind of its pods, more where there are many nodes, and so
many times as many where filters look at who is there."""
_EVERYWHERE = frozenset(("cpu", "memory", "ephemeral-storage"))


class Counted(NamedTuple):
    """How much finds a place at most, or more where that is as much as was tried."""

    number: int
    counted_to: int


def how_many(simulation: Simulation, view: View) -> Counted:
    """Return how many copies of the subject find a place one after the other in a variant of the cluster."""
    at_once = _at_once(view, Identity(simulation))
    if at_once is not None:
        return Counted(min(at_once // len(simulation.subject.pending), MOST_COPIES), MOST_COPIES)
    waiting: tuple[PendingPod, ...] = ()
    budget, steps = Budget(_MOST_STEPS), _steps_of_copy(simulation, view)
    for number in range(MOST_COPIES):
        if number and not budget.take(steps):
            return Counted(number, number)
        copy = renamed(simulation.subject, number)
        waiting += copy.pending
        after = _after(simulation, copy, view, waiting)
        if after is None:
            return Counted(number, MOST_COPIES)
        view = after
    return Counted(MOST_COPIES, MOST_COPIES)


def _steps_of_copy(simulation: Simulation, view: View) -> int:
    pods = simulation.subject.pending
    each = (1 if simulation.prepared(pods[0], view).counts_only_room else _BESIDE_OTHERS) * len(_kinds(pods))
    return each * (1 + len(view.names()) // _NODES_A_STEP)


def _kinds(pods: Iterable[PendingPod]) -> Counter[PodRequirements]:
    return Counter(pod.requirements for pod in pods)


@recently(1)
def _at_once(view: View, asked: Identity[Simulation]) -> int | None:
    """Return how many pods find a place, of as many as are counted, by one attempt; None where more may find others.

    Members of a gang without topology that are alike, and change nothing but the room and the books of their own nodes,
    find as many places in one gang as in several: so many go on a node, whoever comes first.
    """
    simulation, subject = asked.value, asked.value.subject
    if not isinstance(subject, GangSubject) or not _is_plain(simulation, subject):
        return None
    prepared = simulation.prepared(subject.pending[0], view)
    is_open = prepared.may_fail_to_reserve or prepared.follows_members or prepared.nominated or prepared.reservations
    if prepared.refusal is not None or not prepared.counts_only_room or is_open:
        return None
    if _may_refuse(subject.pending, view):
        return None
    pods = max(len(subject.pending) * MOST_COPIES, _MOST_AT_ONCE)
    every = Scenario(simulation.snapshot, view, simulation.tree).simulation(sized(subject, pods))
    outcome = likeliest_outcome(every)
    return pods if outcome.placed_at_once else sum(map(len, outcome.first.waiting.values()))


def _may_refuse(pods: Iterable[PendingPod], view: View) -> bool:
    quotas = quotas_of(view)
    return any(quotas.may_refuse(pod) for pod in pods)


def _is_plain(simulation: Simulation, subject: GangSubject) -> bool:
    """Tell whether all members of a gang are alike, tried one after the other, and needed at once."""
    gang, snapshot, pods = subject.group.own, simulation.snapshot, subject.pending
    return (
        len(subject.gangs) == 1
        and not simulation.has_topology
        and not subject.group.is_satisfied()
        and not gang.running
        and not snapshot.reserve_pods
        and not never_tried(subject, snapshot)
        and gang.minimum == len(pods)
        and not may_abort(pods[0])
        and all(_asks_alike(pod, pods[0]) for pod in pods)
    )


def _asks_alike(pod: PendingPod, first: PendingPod) -> bool:
    own = (pod.requirements, pod.namespace, pod.labels, pod.resource_claims)
    return own == (first.requirements, first.namespace, first.labels, ())


def largest(simulation: Simulation, view: View) -> Counted:
    """Return the most pods with which the subject finds a place, all of them needed at once; 0 where none is enough.

    The number of the pods that there are most of changes, the others stay. The number returned was tried and fits; the
    next does not, or is more than is tried.
    """
    at_once = _at_once(view, Identity(simulation))
    if at_once is not None:
        return Counted(min(at_once, _MOST_AT_ONCE), _MOST_AT_ONCE)
    pods = simulation.subject.pending
    most, least, step = max(_MOST_IN_TURN, len(pods)), len(_others(pods)), lcm(*simulation.multiples.values())

    none = least // step
    budget, steps = Budget(_MOST_STEPS), _steps_of_copy(simulation, view)

    def fits(more: int) -> bool:
        return budget.take(steps) and _fits(simulation, (none + more) * step, view)

    alike = _most_alike(simulation, view)
    if alike is None:
        found = largest_from_below(most // step - none, fits)
    else:
        found = largest_from_above(min(least + alike, most) // step - none, fits)
    number = (none + found) * step if found else 0
    return Counted(number, number if budget.is_cut else most // step * step)


def _most_alike(simulation: Simulation, view: View) -> int | None:
    """Return how many of the pods that there are most of find a place where the others are not there, None if unknown.

    Others that take room leave them no more than that.
    """
    others = _others(simulation.subject.pending)
    if not others or not isinstance(simulation.subject, GangSubject):
        return None

    def alone(gang: Gang) -> Gang:
        alike = tuple(pod for pod in gang.pending if pod not in others)
        return structs.replace(gang, pending=alike, minimum=len(alike))

    kind = Scenario(simulation.snapshot, view, simulation.tree).simulation(simulation.subject.with_gangs(alone))
    return _at_once(view, Identity(kind))


def renamed(subject: Subject, number: int) -> Subject:
    """Return a copy of the subject: the same pods under other names."""
    return subject.with_pending(lambda pods: tuple(structs.replace(pod, name=f"{pod.name}~{number}") for pod in pods))


def sized(subject: GangSubject, pods: int) -> GangSubject:
    """Return the gang with so many pods, and a minimum of all of them."""

    def changed(gang: Gang) -> Gang:
        others = _others(gang.pending)
        alike = next(pod for pod in gang.pending if pod not in others)
        more = (structs.replace(alike, name=f"{alike.name}~{number:05}") for number in range(pods - len(others)))
        return structs.replace(gang, pending=(*others, *more), minimum=pods)

    return subject.with_gangs(changed)


def _others(pods: Iterable[PendingPod]) -> tuple[PendingPod, ...]:
    """Return the pods that are not of the kind that there are most of; of several such, of that which asks for most."""
    pods = tuple(pods)
    numbers = _kinds(pods)
    most = max(numbers, key=lambda one: (numbers[one], _size(one)))
    return tuple(pod for pod in pods if pod.requirements != most)


def _size(requirements: PodRequirements) -> tuple[int, int]:
    """Return how much a pod asks for: of what few nodes have, such as cards, and then of CPU."""
    asked = dict(requirements.requests)
    return sum(amount for resource, amount in asked.items() if resource not in _EVERYWHERE), asked.get("cpu", 0)


def _fits(simulation: Simulation, pods: int, view: View) -> bool:
    subject = simulation.subject
    more = sized(subject, pods) if isinstance(subject, GangSubject) else subject
    _, outcome = _tried(simulation, more, view, more.pending)
    return outcome.placed_at_once


def _after(simulation: Simulation, subject: Subject, view: View, waiting: tuple[PendingPod, ...]) -> View | None:
    """Return the view once a subject is placed, None where it finds no place."""
    found, outcome = _tried(simulation, subject, view, waiting)
    return view.with_pods(seats(found, outcome)) if outcome.placed_at_once else None


def _tried(
    simulation: Simulation, subject: Subject, view: View, waiting: tuple[PendingPod, ...]
) -> tuple[Simulation, Outcome]:
    """Return what most likely comes of a subject in a view.

    `waiting` are the pods that request of their quotas in place of the subject's own, placed ones included.
    """
    snapshot = simulation.snapshot
    if _may_refuse(subject.pending, view):
        own = {pod.key for pod in simulation.subject.pending}
        others = (pod for pod in snapshot.pending if pod.key not in own)
        snapshot = structs.replace(snapshot, pending=(*others, *waiting))
    found = Scenario(snapshot, view, simulation.tree).simulation(subject)
    return found, likeliest_outcome(found)


GOING = ("ToBeDeletedByClusterAutoscaler", "DeletionCandidateOfClusterAutoscaler", "karpenter.sh/disrupt")
"""How the taints begin of nodes that an autoscaler is about to take away: a new node has none of them."""
NOT_READY = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
CORDON = "node.kubernetes.io/unschedulable"
_HOSTNAME = "kubernetes.io/hostname"


def changed(simulation: Simulation, edits: Sequence[Edit]) -> Simulation:
    """Return the simulation once all edits are made: those of one kind at once, as there may be many."""
    view = simulation.view
    gone = [_occupant(view, edit.node, edit.pod) for edit in edits if isinstance(edit, DeletePod) and edit.node]
    dead = [edit.node for edit in edits if isinstance(edit, MendNode) and is_dead(view.node(edit.node))]
    gone += [pod for name in dead for pod in terminating_on(view, name)]
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


def is_dead(node: Node) -> bool:
    """Tell whether a node has a taint of one that is not ready or not reachable."""
    return any(taint.key in NOT_READY for taint in node.taints)


_UNFIT = {
    "karpenter.sh/unregistered",
    "node.cloudprovider.kubernetes.io/shutdown",
    "node.cloudprovider.kubernetes.io/uninitialized",
    *(f"node.kubernetes.io/{what}" for what in ("disk-pressure", "memory-pressure", "network-unavailable")),
    *(f"node.kubernetes.io/{what}" for what in ("out-of-service", "pid-pressure")),
}


def is_unfit(key: str) -> bool:
    """Tell whether the taints of a key say that a node lacks something for now, which its agents see to."""
    return key in _UNFIT or (key not in NOT_READY and key.endswith("not-ready"))


def mended(node: Node) -> Node:
    """Return a node that is ready, without the taints of one that is not, and offers all cards that it has."""
    taints = tuple(taint for taint in node.taints if taint.key not in NOT_READY and not is_unfit(taint.key))
    offered = Counter(dict(node.allocatable))
    offered.update(dict(node.lost))
    if node.devices is None:
        return structs.replace(node, ready=True, taints=taints, lost=(), allocatable=tuple(sorted(offered.items())))
    layout = node.devices.layout
    every = tuple(structs.replace(device, healthy=True) for device in layout.devices)
    whole = Counter[str]()
    for device in every:
        whole.update(dict(device.resources))
    offered |= Counter({name: amount for name, amount in whole.items() if name in offered})
    devices = structs.replace(node.devices, layout=structs.replace(layout, devices=every))
    allocatable = tuple(sorted(offered.items()))
    return structs.replace(node, ready=True, taints=taints, lost=(), allocatable=allocatable, devices=devices)


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
        case Tolerate() | SelectNodes() | RelaxRule() | SetRequest() | UseQuota():
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
        amount = values.amount(edit.resource, values.parse(edit.amount))
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


def _altered(pod: PendingPod, edit: Tolerate | SelectNodes | RelaxRule | SetRequest | UseQuota) -> PendingPod:
    if isinstance(edit, UseQuota):
        return counting_in(pod, edit.quota)
    if isinstance(edit, SetRequest):
        most = values.amount(edit.resource, values.parse(edit.amount))
        return asking(pod, edit.resource, most, limits=edit.limits)
    if isinstance(edit, RelaxRule):
        return structs.replace(pod, requirements=structs.replace(pod.requirements, **{RULES[edit.rule]: ()}))
    if isinstance(edit, SelectNodes):
        return structs.replace(pod, requirements=_selecting(pod.requirements, edit))
    more = Toleration(edit.key, "Equal", edit.value, edit.effect)
    return structs.replace(
        pod, requirements=structs.replace(pod.requirements, tolerations=(*pod.requirements.tolerations, more))
    )


def _selecting(requirements: PodRequirements, edit: SelectNodes) -> PodRequirements:
    """Return requirements that ask for another label in place of one."""
    was, now = (edit.key, edit.value), (edit.to_key, edit.to_value)
    selector = tuple(sorted(now if one == was else one for one in requirements.selector))
    affinity = requirements.affinity
    if affinity is not None:
        asked_for, then = Requirement(edit.key, "In", (edit.value,)), Requirement(edit.to_key, "In", (edit.to_value,))
        affinity = tuple(
            structs.replace(term, labels=tuple(then if one == asked_for else one for one in term.labels))
            for term in affinity
        )
    return structs.replace(requirements, selector=selector, affinity=affinity)


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
    return structs.replace(as_new(opened(node)), name=name, labels=labels)


def as_new(node: Node) -> Node:
    """Return a node on which nothing is measured yet, that is fit, and that no autoscaler is about to take away."""
    kept = tuple(taint for taint in node.taints if not (taint.key.startswith(GOING) or is_unfit(taint.key)))
    if node.metric is None and kept == node.taints:
        return node
    return structs.replace(node, metric=None, taints=kept)


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
    """Return the change with a cache by pod: pods that shared their requirements go on sharing them."""
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
    """Return the simulation with some pending pods of the subject changed; the snapshot keeps its own."""
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


_Why: TypeAlias = tuple[Refused, ...] | PreFilterRefusal


class MovedPod(Struct, frozen=True):
    """A pod that is taken away, the node that takes it then, or why none does."""

    pod: RunningPod
    to: str = ""
    why: _Why = ()


def moved(
    cluster: Scenario, names: Collection[str], pods: Iterable[RunningPod], gone: Collection[RunningPod]
) -> tuple[MovedPod, ...]:
    """Return where pods of drained nodes find a place once all that are `gone` have ended, in name order.

    Those that a controller creates anew go before others, those of higher priority before lower. Each is tried by
    itself as if created anew, with those placed that were tried before it. Which of the nodes that take a pod the
    scheduler would choose is not predicted: the roomiest is taken.
    """
    view = cluster.view.without(gone)
    view = view.with_nodes(structs.replace(view.node(name), unschedulable=True) for name in names)
    trial = _Trial(cluster.snapshot, names, pods)
    found: list[MovedPod] = []
    for run in trial.runs(view):
        view, placed_now = trial.placed(view, run)
        found += placed_now
    return tuple(sorted(found, key=lambda one: one.pod.key))


class _Trial:
    """Pods that look for a place on the nodes that are left; those without one wait, and quotas count them so."""

    def __init__(self, snapshot: Snapshot, drained: Collection[str], pods: Iterable[RunningPod]) -> None:
        self._snapshot = snapshot
        self._drained = frozenset(drained)
        self._waiting = {pod.key: pod for pod in pods}
        self._pending = self._all_pending()
        self._quotas = quota_tree(snapshot)
        self._rules = rules(snapshot.config.version)

    def runs(self, view: View) -> Iterable[list[RunningPod]]:
        """Return the pods that are alike to every filter together, the most important first."""
        prepared: dict[object, Prepared] = {}
        alike: dict[object, list[RunningPod]] = {}
        for pod in sorted(self._waiting.values(), key=lambda pod: (not pod.owner, -pod.priority, pod.key)):
            shape = (pod.requirements, pod.namespace, tuple(pod.labels), pod.priority)
            if shape not in prepared:
                prepared[shape] = self._prepared(recreated(pod), view)
            to_all = prepared[shape]
            rest = (to_all.checks, to_all.reservations) if to_all.counts_only_room else shape
            key = (bool(pod.owner), pod.priority, pod.requirements, rest, self._quota_of(pod))
            alike.setdefault(key, []).append(pod)
        return alike.values()

    def _quota_of(self, pod: RunningPod) -> str:
        return self._quotas.name_of(pod) if self._quotas.may_refuse(pod) else ""

    def _prepared(self, pod: PendingPod, view: View) -> Prepared:
        snapshot = self._snapshot
        pending = self._pending if self._quotas.may_refuse(pod) else None
        return prepare(pod, view, self._rules, snapshot.nominated, snapshot.claims_asked_for, pending=pending)

    def _all_pending(self) -> tuple[PendingPod, ...]:
        return (*self._snapshot.pending, *map(recreated, self._waiting.values()))

    def placed(self, view: View, run: Sequence[RunningPod]) -> tuple[View, list[MovedPod]]:
        """Return what becomes of pods that are alike, and the cluster with those that found a place."""
        found: list[MovedPod] = []
        admitted, refused = self._admitted(view, run)
        while admitted:
            first = recreated(admitted[0])
            prepared = self._prepared(first, view)
            every = offer_slots(view, view.names(), tuple(map(recreated, admitted)), prepared)
            taking = every.counts.by_name if prepared.refusal is None else {}
            rooms = {name: number for name, number in taking.items() if name not in self._drained}
            seats = _seats(view, rooms, admitted, prepared)
            if not seats:
                others = {name: why for name, why in every.worded.items() if name not in self._drained}
                taking_all = rooms.keys() - others.keys()
                why = prepared.refusal or tuple(_why(view, taking_all, others, first, prepared))
                found += [MovedPod(pod, why=why) for pod in admitted]
                break
            found += [MovedPod(pod, node) for node, there in seats.items() for pod in there]
            view = view.with_pods({node: tuple(there.values()) for node, there in seats.items()})
            for there in seats.values():
                for pod in there:
                    del self._waiting[pod.key]
            self._pending = self._all_pending()
            admitted = [pod for pod in admitted if pod.key in self._waiting]
        return view, [*found, *refused]

    def _admitted(self, view: View, run: Sequence[RunningPod]) -> tuple[Sequence[RunningPod], list[MovedPod]]:
        """Return those that their quota admits one after the other, and those that it refuses then."""
        if not self._quotas.may_refuse(run[0]):
            return run, []
        stop = quota_state(view, self._rules, self._pending).first_refused(tuple(map(recreated, run)))
        if stop is None:
            return run, []
        position, refusal = stop
        return run[:position], [MovedPod(pod, why=refusal) for pod in run[position:]]


def _seats(
    view: View, rooms: Mapping[str, int], waiting: Sequence[RunningPod], prepared: Prepared
) -> dict[str, dict[RunningPod, Occupant]]:
    """Return by node who goes there: one alone where it changes what is prepared for the next."""
    rest = iter(waiting[:1] if prepared.follows_members else waiting)
    pod = next(rest, None)
    seats: dict[str, dict[RunningPod, Occupant]] = {}
    for name in sorted(rooms, key=lambda name: (-rooms[name], name)):
        state = view.state(name).copy()
        for _ in range(rooms[name]):
            if pod is None:
                return seats
            there = placed(recreated(pod), state, prepared)
            if not isinstance(there, PendingPod):
                break
            settled = structs.replace(pod, node=name, allocations=there.allocations or NOTHING)
            state.add(settled)
            seats.setdefault(name, {})[pod] = settled
            pod = next(rest, None)
    return seats


def _why(
    view: View, taking: Iterable[str], refusing: Mapping[str, Reason], pod: PendingPod, prepared: Prepared
) -> Iterator[Refused]:
    """Yield why nodes refuse a pod, for their filters, or as nothing can be booked there; each reason once."""
    yield from (Refused(reason, nodes) for reason, nodes in Counter(refusing.values()).items())
    answers = (reserve(pod, view.state(name), prepared) for name in taking)
    yield from (Refused(answer, 1) for answer in answers if not isinstance(answer, PendingPod))
