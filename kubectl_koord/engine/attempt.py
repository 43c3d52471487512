"""One attempt of the scheduler at a gang: where its pods would go, or on which nodes they failed.

A gang with a topology spec is planned as a whole; any other is tried pod by pod.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TypeAlias

from msgspec import Struct, structs

from kubectl_koord.engine.fit import Prepared, placed, preference, preferred, prepare, rejection, reserve
from kubectl_koord.engine.gangs import GangGroup
from kubectl_koord.engine.placement import PlacementPlan, TopologyRequirements, gather
from kubectl_koord.engine.reasons import Insufficient, IsolationMissing, Reason, TooManyPods
from kubectl_koord.engine.refusals import PreFilterRefusal
from kubectl_koord.engine.reservations import owned
from kubectl_koord.engine.rules import Rules
from kubectl_koord.engine.slots import Offer, in_index_order, offer_slots, places
from kubectl_koord.engine.tree import Tree
from kubectl_koord.engine.view import NodeState, View
from kubectl_koord.model.pods import PendingPod, PodRequirements, claim_names
from kubectl_koord.model.reservations import Reservation
from kubectl_koord.model.selectors import Labels
from kubectl_koord.model.storage import Claim

Choice: TypeAlias = Callable[[Sequence[NodeState]], NodeState]
"""Which of the feasible nodes a plain pod takes; the scheduler scores, we try extremes."""
_Kind: TypeAlias = tuple[PodRequirements, str, Labels, frozenset[str]]


class JobTopology(Struct, frozen=True):
    """The tree that a job is planned on, and what the job asks of it."""

    requirements: TopologyRequirements
    tree: Tree


class Job(Struct, frozen=True):
    """What is tried as one: the pending pods of a gang group, or one pod.

    topology is None for a job without one; `needed` is how many pods must find a place
    at once, by gang id; `nominated` the pending pods of the cluster that are nominated to a node;
    `may_trigger` the members that may be taken first (all, where it is empty); `claims` the volume claims and
    `never` the members that are planned for but never tried (of another scheduler, with a scheduling gate, being
    deleted), by `namespace/name`; `prefilter` why all are refused before any node, None where nodes decide;
    `reservations` are those that tell members apart by who may own them.
    """

    pods: tuple[PendingPod, ...]
    needed: Mapping[str, int]
    topology: JobTopology | None
    rules: Rules
    nominated: tuple[PendingPod, ...] = ()
    may_trigger: tuple[PendingPod, ...] = ()
    claims: Mapping[str, Claim] = {}
    never: frozenset[str] = frozenset()
    prefilter: PreFilterRefusal | None = None
    reservations: tuple[Reservation, ...] = ()

    @property
    def tried(self) -> tuple[PendingPod, ...]:
        """The members that the scheduler takes from its queue."""
        return tuple(pod for pod in self.pods if pod.key not in self.never) if self.never else self.pods

    def prepared(self, trigger: PendingPod, view: View) -> Prepared:
        """Return the prepared state of one member as the trigger, with which it is filtered itself."""
        return prepare(trigger, view, self.rules, self.nominated, self.pods, self.claims)

    def prepared_to_plan(self, trigger: PendingPod, view: View) -> Prepared:
        """Return the prepared state of the trigger with which all members are counted: by index, then name."""
        first = in_index_order(self.pods)[0] if self.topology is not None else None
        return prepare(trigger, view, self.rules, self.nominated, self.pods, self.claims, first)


class FailedSeat(Struct, frozen=True):
    """The first member (`namespace/name`) that its planned node refuses as the plan is carried out, and why."""

    pod: str
    node: str
    reason: Reason | PreFilterRefusal


class Attempt(Struct, frozen=True, dict=True):
    """What came of one attempt.

    placement: `ns/pod` to node when the job is placed (for a plain job: one possible placement).
    node_answers: the slots of nodes, or why they refused; see `rejections`.
    waiting: members that had found a node before the trigger failed, by node.
    left: the members that had none. failed_seat: where the plan failed as it was carried out, or a pod could not be
    booked on the node that it was to have, None where neither is so. aborted: by node, the reasons over which
    the scheduler gave up the attempt. prefilter: why no node was asked, None where nodes were.
    """

    trigger: PendingPod
    prepared: Prepared
    plan: PlacementPlan | None
    placement: Mapping[str, str] | None
    node_answers: Offer | Mapping[str, Reason]
    waiting: Mapping[str, tuple[PendingPod, ...]] = {}
    left: tuple[PendingPod, ...] = ()
    failed_seat: FailedSeat | None = None
    aborted: Mapping[str, Reason] = {}
    prefilter: PreFilterRefusal | None = None

    @property
    def plan_fails(self) -> bool:
        """Whether the members do not fit beside each other, though they would alone.

        Not where room is short, which a plan for another trigger counts rightly, nor where no node would do.
        """
        seat = self.failed_seat
        elsewhere = Insufficient | TooManyPods | PreFilterRefusal
        return self.plan is not None and seat is not None and not isinstance(seat.reason, elsewhere)

    @cached_property
    def rejections(self) -> Mapping[str, Reason]:
        """By node, why it refused (the trigger, for a plain job); nodes without a reason are left out."""
        return self.node_answers.refusals if isinstance(self.node_answers, Offer) else self.node_answers

    @cached_property
    def considered(self) -> tuple[str, ...]:
        """The nodes that preemption looks at: those whose refusal does not last whoever goes; none after an abort."""
        if self.aborted:
            return ()
        return tuple(name for name, reason in self.rejections.items() if not reason.unresolvable)


def triggers(job: Job) -> tuple[PendingPod, ...]:
    """Return one member of each kind that may be the trigger, the likeliest first.

    Members differ as triggers by requirements, by what their volume claims come to, by the reservations that are for
    them, by priority, preemption policy and nomination; which of them the scheduler takes first from its queue is in
    no object. Higher priority and larger number go first.
    """
    kinds: dict[tuple[object, ...], list[PendingPod]] = {}
    for pod in job.may_trigger or job.tried:
        kind = (*shape(pod, job.claims), owned(pod, job.reservations))
        kinds.setdefault((*kind, pod.priority, pod.never_preempts, bool(pod.nominated)), []).append(pod)
    ranked = sorted(kinds.values(), key=lambda pods: (-pods[0].priority, -len(pods), pods[0].key))
    return tuple(pods[0] for pods in ranked)


def shape(pod: PendingPod, claims: Mapping[str, Claim]) -> tuple[object, ...]:
    """Return what a pod asks of nodes; claims with volumes that are alike count as equal, whatever their names."""
    names = claim_names(pod)
    if not names:
        return (pod.requirements,)
    alike = (
        structs.replace(claim, name=name if claim.single_pod else "", volume=str(bool(claim.volume)), owner=("", ""))
        if (claim := claims.get(name)) is not None
        else None
        for name in names
    )
    own = tuple(claims[name].owner == (pod.uid, pod.name) for name in names if name in claims)
    return (structs.replace(pod.requirements, claims=()), tuple(alike), own)


def attempt(job: Job, view: View, trigger: PendingPod, choose: Choice | None = None) -> Attempt:
    """Return what comes of an attempt with this trigger.

    Args:
        job: what is tried.
        view: the cluster.
        trigger: the member that is taken first.
        choose: which feasible node a plain member takes; by default the emptiest.

    """
    prepared = job.prepared_to_plan(trigger, view)
    refusal = job.prefilter or prepared.refusal
    if refusal is not None:
        return Attempt(trigger, prepared, None, None, {}, left=job.pods, prefilter=refusal)
    if job.topology is not None:
        return _planned(job, job.topology, view, trigger)
    return _pod_by_pod(job, view, trigger, choose or emptiest)


def _planned(job: Job, topology: JobTopology, view: View, trigger: PendingPod) -> Attempt:
    prepared = job.prepared_to_plan(trigger, view)
    slots = offer_slots(view, view.names(), in_index_order(job.pods), prepared)
    plan = gather(topology.tree, view, job.pods, topology.requirements, slots, job.rules)
    failed = _failed_seat(job, view, prepared, plan.assignments) if plan.assignments else None
    tried = {pod.key: plan.assignments[pod.key] for pod in job.tried} if plan.assignments else {}
    placement = tried if failed is None and is_enough(job, tried) else None
    return Attempt(trigger, prepared, plan, placement, slots, left=job.pods, failed_seat=failed)


def _failed_seat(job: Job, view: View, prepared: Prepared, assignments: Mapping[str, str]) -> FailedSeat | None:
    """Return the first member that its own filters refuse on its planned node, None when all fit.

    The plan was made with the trigger's prepared state, and nothing was booked for those who were counted;
    now each pod is tried with its own, and all is booked for those before it.
    """
    trigger = prepared.trigger
    if _are_alike(job, trigger, job.pods) and not prepared.books and not prepared.follows_members:
        return None
    in_turn = sorted(job.tried, key=lambda pod: (pod.key != trigger.key, pod.key))
    own = {_kind(job, pod): pod for pod in in_turn}
    by_kind = {kind: job.prepared(pod, view) for kind, pod in own.items()}
    if not any(one.follows_members for one in by_kind.values()):
        return _first_refused(job, view, in_turn, assignments, by_kind)
    seated: dict[str, list[PendingPod]] = {}
    for pod in in_turn:
        node = assignments[pod.key]
        now = view.with_pods(seated)
        found = placed(pod, now.state(node), job.prepared(pod, now))
        if not isinstance(found, PendingPod):
            return FailedSeat(pod.key, node, found)
        seated.setdefault(node, []).append(found)
    return None


def _are_alike(job: Job, trigger: PendingPod, pods: Iterable[PendingPod]) -> bool:
    """Tell whether all these pods are filtered as the trigger is."""
    own = owned(trigger, job.reservations)
    return all(pod.requirements == trigger.requirements and owned(pod, job.reservations) == own for pod in pods)


def _kind(job: Job, pod: PendingPod) -> _Kind:
    """Return what filters prepare from: pods that are equal in it have equal prepared states."""
    return (pod.requirements, pod.namespace, pod.labels, owned(pod, job.reservations))


def _first_refused(
    job: Job,
    view: View,
    in_turn: Iterable[PendingPod],
    assignments: Mapping[str, str],
    by_kind: Mapping[_Kind, Prepared],
) -> FailedSeat | None:
    """Return the same for members of which none changes what was prepared for the others."""
    states: dict[str, NodeState] = {}
    for pod in in_turn:
        node = assignments[pod.key]
        state = states.setdefault(node, view.state(node).copy())
        found = placed(pod, state, by_kind[_kind(job, pod)])
        if not isinstance(found, PendingPod):
            return FailedSeat(pod.key, node, found)
        state.add(found)
    return None


def emptiest(states: Sequence[NodeState]) -> NodeState:
    """Choose the node with the largest free share of its scarcest resource (least allocated first)."""
    return max(states, key=_free_share)


def fullest(states: Sequence[NodeState]) -> NodeState:
    """Choose the node with the smallest free share of its scarcest resource (most allocated first)."""
    return min(states, key=_free_share)


def _free_share(state: NodeState) -> tuple[int, int]:
    totals = dict(state.node.allocatable)
    shares = [1000 * state.free.get(r, 0) // total for r, total in totals.items() if total and r != "pods"]
    return min(shares, default=0), sum(shares)


def _pod_by_pod(job: Job, view: View, trigger: PendingPod, choose: Choice) -> Attempt:
    if _are_alike(job, trigger, job.tried) and not _is_stateful(job, trigger, view):
        return _alike(job, view, trigger)
    return _one_by_one(job, view, trigger, choose)


def _is_stateful(job: Job, trigger: PendingPod, view: View) -> bool:
    return not job.prepared(trigger, view).counts_only_room


def _alike(job: Job, view: View, trigger: PendingPod) -> Attempt:
    """Fill the nodes with members that are alike: where each goes is open, how many fit is not.

    Members are tried gang by gang (`NextPod`); the trigger stands for the first without room.
    """
    prepared = job.prepared(trigger, view)
    slots = offer_slots(view, view.names(), job.tried, prepared)
    aborted = aborting(slots.refusals)
    if aborted:
        return Attempt(trigger, prepared, None, None, slots, left=job.pods, aborted=aborted)
    if prepared.books:
        slots = _places(view, slots, job.tried, prepared)
    queue = sorted(job.tried, key=lambda pod: (pod.gang, pod.key == trigger.key))
    ranked = _ranked(view, slots, prepared)
    order = [name for name in ranked for _ in range(slots[name].slots)]
    placement = {pod.key: node for pod, node in zip(queue, order, strict=False)}
    if is_enough(job, placement):
        return Attempt(trigger, prepared, None, placement, slots)
    waiting = _waiting(view, (pod for pod in queue if pod.key in placement), placement, prepared)
    left = tuple(pod for pod in queue if pod.key not in placement)
    if not left:
        return _too_few(job, view, trigger, waiting)
    # Nodes that hold all they can refuse the next pod for what the counting ended with.
    return Attempt(trigger, prepared, None, None, slots, waiting, (*left, *_never(job)))


def aborting(refusals: Mapping[str, Reason]) -> Mapping[str, Reason]:
    """Return the refusals among these over which the scheduler gives up the whole attempt (status Error)."""
    return {name: reason for name, reason in refusals.items() if isinstance(reason, IsolationMissing)}


def _waiting(
    view: View, pods: Iterable[PendingPod], placement: Mapping[str, str], prepared: Prepared
) -> Mapping[str, tuple[PendingPod, ...]]:
    """Return the pods that wait in Permit by node, with what is booked for them, as far as anything is."""
    states: dict[str, NodeState] = {}
    waiting: dict[str, tuple[PendingPod, ...]] = {}
    for pod in pods:
        node = placement[pod.key]
        found: PendingPod | Reason = pod
        if prepared.books:
            state = states.setdefault(node, view.state(node).copy())
            found = reserve(pod, state, prepared)
            state.add(found if isinstance(found, PendingPod) else pod)
        waiting[node] = (*waiting.get(node, ()), found if isinstance(found, PendingPod) else pod)
    return waiting


def _ranked(view: View, offer: Offer, prepared: Prepared) -> list[str]:
    """Return the nodes that take any, in the order in which they are filled: preferred ones, then those for most."""
    names = [name for name, node in offer.items() if node.slots]
    return sorted(names, key=lambda name: (preference(view.state(name), prepared), -offer[name].slots))


def _places(view: View, offer: Offer, pods: Sequence[PendingPod], prepared: Prepared) -> Offer:
    """Return how many of the pods nodes take once each is placed before the next is tried, until all have a place."""
    found = Offer((name, node) for name, node in offer.items() if not node.slots)
    left = len(pods)
    for name in _ranked(view, offer, prepared):
        node = offer[name]
        # Counting charges members to the node, where each may draw on a reservation of its own.
        most = len(pods) if prepared.reservations else node.slots
        found[name] = places(view.state(name), pods[:most], prepared)
        if found[name].slots == node.slots:
            found[name] = node
        left -= found[name].slots
        if left <= 0:
            break
    return found


def _never(job: Job) -> tuple[PendingPod, ...]:
    """Return the members that are never tried: preemption makes room for them, too."""
    return tuple(pod for pod in job.pods if pod.key in job.never)


def _one_by_one(job: Job, view: View, trigger: PendingPod, choose: Choice) -> Attempt:
    """Try members in turn, the trigger first, then its own kind, each with its own prepared state."""
    queue = sorted(
        job.tried, key=lambda pod: (pod.key != trigger.key, pod.gang, pod.requirements != trigger.requirements, pod.key)
    )
    waiting: dict[str, tuple[PendingPod, ...]] = {}
    placement: dict[str, str] = {}
    now = view
    for position, pod in enumerate(queue):
        prepared = job.prepared(pod, now)
        left = (*queue[position:], *_never(job))
        if prepared.refusal is not None:
            return Attempt(pod, prepared, None, None, {}, waiting, left, prefilter=prepared.refusal)
        states = [now.state(name) for name in now.names()]
        refusals = {state.node.name: rejection(pod, state, prepared) for state in states}
        feasible = [state for state in states if refusals[state.node.name] is None]
        reasons = {name: reason for name, reason in refusals.items() if reason is not None}
        if not feasible or aborting(reasons):
            return Attempt(pod, prepared, None, None, reasons, waiting, left, aborted=aborting(reasons))
        state = choose(preferred(feasible, prepared))
        name = state.node.name
        booked = reserve(pod, state, prepared)
        if not isinstance(booked, PendingPod):
            seat = FailedSeat(pod.key, name, booked)
            return Attempt(pod, prepared, None, None, {name: booked}, waiting, left, failed_seat=seat)
        waiting[name] = (*waiting.get(name, ()), booked)
        placement[pod.key] = name
        now = view.with_pods(waiting)
        if is_enough(job, placement):
            return Attempt(trigger, job.prepared(trigger, view), None, placement, {})
    return _too_few(job, view, trigger, waiting)


def _too_few(job: Job, view: View, trigger: PendingPod, waiting: Mapping[str, tuple[PendingPod, ...]]) -> Attempt:
    """Return the attempt in which every pod found a place and there are fewer than must wait at once."""
    return Attempt(trigger, job.prepared(trigger, view), None, None, {}, waiting)


def is_enough(job: Job, placed: Iterable[str]) -> bool:
    """Tell whether every gang has as many members placed as it needs at once (`isGangValidForPermit`)."""
    by_gang: dict[str, int] = {}
    keys = set(placed)
    for pod in job.tried:
        if pod.key in keys:
            by_gang[pod.gang] = by_gang.get(pod.gang, 0) + 1
    return all(by_gang.get(gang, 0) >= needed for gang, needed in job.needed.items()) and bool(keys)


def needed(group: GangGroup) -> dict[str, int]:
    """Return how many members of each gang must be placed at once, by gang id.

    `waiting-and-running` counts bound members, the other policies only those that wait.
    """
    return {
        gang.key: max(0, (gang.minimum or 0) - (gang.bound if gang.match_policy == "waiting-and-running" else 0))
        for gang in group.members
    }
