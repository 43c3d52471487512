"""One attempt of the scheduler at a gang: where its pods would go, or on which nodes they failed.

A gang with a topology spec is planned as a whole; any other is tried pod by pod.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TypeAlias

from msgspec import Struct

from kubectl_koord.engine.fit import Prepared, placed, prepare, rejection
from kubectl_koord.engine.gangs import GangGroup
from kubectl_koord.engine.placement import PlacementPlan, TopologyRequirements, gather
from kubectl_koord.engine.quota.state import quota_state
from kubectl_koord.engine.quota.tree import quota_tree
from kubectl_koord.engine.reasons import Reason
from kubectl_koord.engine.refusals import PreFilterRefusal, QuotaExceeded
from kubectl_koord.engine.rules import Rules
from kubectl_koord.engine.slots import Offer, in_index_order, offer_slots, places
from kubectl_koord.engine.tree import Tree
from kubectl_koord.engine.view import NodeState, View
from kubectl_koord.model.objects import Claim
from kubectl_koord.model.pods import PendingPod, PodRequirements
from kubectl_koord.model.selectors import Labels

Choice: TypeAlias = Callable[[Sequence[NodeState]], NodeState]
"""Which of the feasible nodes a plain pod takes; the scheduler scores, we try extremes."""
_Kind: TypeAlias = tuple[PodRequirements, str, Labels]
_Stop: TypeAlias = tuple[int, QuotaExceeded]


class JobTopology(Struct, frozen=True):
    """The tree that a job is planned on, and what the job asks of it."""

    requirements: TopologyRequirements
    tree: Tree


class Job(Struct, frozen=True):
    """What is tried as one: the pending pods of a gang group, or one pod.

    topology is None for a job without one; `needed` is how many pods must find a place
    at once, by gang id; `nominated` the pending pods of the cluster that are nominated to a node;
    `may_trigger` the members that may be taken first (all, where it is empty); `claims` the volume claims and
    `never` the members that are planned for but never tried (of another scheduler, held by a gate, being
    deleted), by `namespace/name`; `prefilter` why all are refused before any node, None where nodes decide;
    `pending` all pods that wait in the cluster, None where they are those of the snapshot.
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
    pending: tuple[PendingPod, ...] | None = None

    @property
    def tried(self) -> tuple[PendingPod, ...]:
        """The members that the scheduler takes from its queue."""
        return tuple(pod for pod in self.pods if pod.key not in self.never) if self.never else self.pods

    def prepared(self, trigger: PendingPod, view: View) -> Prepared:
        """Return the prepared state of one member as the trigger."""
        return prepare(trigger, view, self.rules, self.nominated, self.pods, self.claims, self.pending)

    def over_quota(self, view: View, in_turn: Sequence[PendingPod]) -> _Stop | None:
        """Return the first of these members that a quota refuses once those before it are placed, and why."""
        tree = quota_tree(view.snapshot)
        if not any(tree.may_refuse(pod) for pod in in_turn):
            return None
        return quota_state(view, self.rules, self.pending).first_refused(in_turn)


class FailedSeat(Struct, frozen=True):
    """The first member (`namespace/name`) that its planned node refuses as the plan is carried out, and why."""

    pod: str
    node: str
    reason: Reason | PreFilterRefusal


class Attempt(Struct, frozen=True, dict=True):
    """What came of one attempt.

    placement: `ns/pod` to node when the job is placed (for a plain job: one possible placement).
    node_answers: the slots of nodes, or why they refused; see `rejections`.
    waiting: members that had found a node before the trigger failed, by node; `left` those that had none.
    failed_seat: where the plan failed as it was carried out, None where it did not.
    prefilter: why no node was asked, None where nodes were.
    """

    trigger: PendingPod
    prepared: Prepared
    plan: PlacementPlan | None
    placement: Mapping[str, str] | None
    node_answers: Offer | Mapping[str, Reason]
    waiting: Mapping[str, tuple[PendingPod, ...]] = {}
    left: tuple[PendingPod, ...] = ()
    failed_seat: FailedSeat | None = None
    prefilter: PreFilterRefusal | None = None

    @cached_property
    def rejections(self) -> Mapping[str, Reason]:
        """By node, why it refused (the trigger, for a plain job); nodes without a reason are left out."""
        return self.node_answers.refusals if isinstance(self.node_answers, Offer) else self.node_answers

    @property
    def over_quota(self) -> QuotaExceeded | None:
        """Why a quota refuses the trigger, None where none does."""
        reason = self.failed_seat.reason if self.failed_seat is not None else self.prefilter
        return reason if isinstance(reason, QuotaExceeded) else None

    def considered(self, view: View) -> tuple[str, ...]:
        """Return the nodes that preemption looks at: those whose refusal does not last whoever goes.

        A quota counts as such a refusal by every node.
        """
        if self.over_quota is not None:
            return tuple(view.names())
        return self._considered

    @cached_property
    def _considered(self) -> tuple[str, ...]:
        return tuple(name for name, reason in self.rejections.items() if not reason.unresolvable)


def triggers(job: Job) -> tuple[PendingPod, ...]:
    """Return one member of each kind that may be the trigger, the likeliest first.

    Members differ as triggers by shape, priority, preemption policy and nomination; which of them the
    scheduler takes first from its queue is in no object. Higher priority and larger number go first.
    """
    kinds: dict[tuple[object, ...], list[PendingPod]] = {}
    for pod in job.may_trigger or job.tried:
        kinds.setdefault((pod.requirements, pod.priority, pod.never_preempts, bool(pod.nominated)), []).append(pod)
    ranked = sorted(kinds.values(), key=lambda pods: (-pods[0].priority, -len(pods), pods[0].key))
    return tuple(pods[0] for pods in ranked)


def attempt(job: Job, view: View, trigger: PendingPod, choose: Choice | None = None) -> Attempt:
    """Return what comes of an attempt with this trigger.

    Args:
        job: what is tried.
        view: the cluster.
        trigger: the member that is taken first.
        choose: which feasible node a plain member takes; by default the emptiest.

    """
    prepared = job.prepared(trigger, view)
    refusal = job.prefilter or prepared.refusal
    if refusal is not None:
        return Attempt(trigger, prepared, None, None, {}, left=job.pods, prefilter=refusal)
    if job.topology is not None:
        return _planned(job, job.topology, view, trigger)
    return _pod_by_pod(job, view, trigger, choose or emptiest)


def _planned(job: Job, topology: JobTopology, view: View, trigger: PendingPod) -> Attempt:
    prepared = job.prepared(trigger, view)
    slots = offer_slots(view, view.names(), in_index_order(job.pods), prepared)
    plan = gather(topology.tree, view, job.pods, topology.requirements, slots, job.rules)
    if plan.assignments is None:
        return Attempt(trigger, prepared, plan, None, slots, left=job.pods)
    in_turn = sorted(job.tried, key=lambda pod: (pod.key != trigger.key, pod.key))
    stopped = job.over_quota(view, in_turn)
    failed = _failed_seat(job, view, prepared, plan.assignments, in_turn[: stopped[0]] if stopped else in_turn)
    if stopped is not None and failed is None:
        return _stopped(job, view, plan, slots, in_turn, stopped)
    tried = {pod.key: plan.assignments[pod.key] for pod in job.tried}
    placement = tried if failed is None and is_enough(job, tried) else None
    return Attempt(trigger, prepared, plan, placement, slots, left=job.pods, failed_seat=failed)


def _stopped(
    job: Job, view: View, plan: PlacementPlan, slots: Offer, in_turn: Sequence[PendingPod], stopped: _Stop
) -> Attempt:
    """Return the attempt in which a quota refuses a member of a plan, while those before it wait on their nodes."""
    position, refusal = stopped
    assignments = plan.assignments or {}
    waiting: dict[str, tuple[PendingPod, ...]] = {}
    for pod in in_turn[:position]:
        waiting[assignments[pod.key]] = (*waiting.get(assignments[pod.key], ()), pod)
    failing = in_turn[position]
    seated = {pod.key for pod in in_turn[:position]}
    return Attempt(
        trigger=failing,
        prepared=job.prepared(failing, view.with_pods(waiting)),
        plan=plan,
        placement=None,
        node_answers=slots,
        waiting=waiting,
        left=tuple(pod for pod in job.pods if pod.key not in seated),
        failed_seat=FailedSeat(failing.key, assignments[failing.key], refusal),
    )


def _failed_seat(
    job: Job, view: View, prepared: Prepared, assignments: Mapping[str, str], in_turn: Sequence[PendingPod]
) -> FailedSeat | None:
    """Return the first of these members that its own filters refuse on its planned node, None when all fit.

    The plan was made with the trigger's prepared state, and nothing was booked for those who were counted;
    now each pod is tried with its own, and all is booked for those before it.
    """
    trigger = prepared.trigger
    alike = all(pod.requirements == trigger.requirements for pod in job.pods)
    if alike and not prepared.books and not prepared.follows_members:
        return None
    own = {_kind(pod): pod for pod in in_turn}
    by_kind = {kind: job.prepared(pod, view) for kind, pod in own.items()}
    if not any(one.follows_members for one in by_kind.values()):
        return _first_refused(view, in_turn, assignments, by_kind)
    seated: dict[str, list[PendingPod]] = {}
    for pod in in_turn:
        node = assignments[pod.key]
        now = view.with_pods(seated)
        found = placed(pod, now.state(node), job.prepared(pod, now))
        if not isinstance(found, PendingPod):
            return FailedSeat(pod.key, node, found)
        seated.setdefault(node, []).append(found)
    return None


def _kind(pod: PendingPod) -> _Kind:
    """Return what filters prepare from: pods that are equal in it have equal prepared states."""
    return (pod.requirements, pod.namespace, pod.labels)


def _first_refused(
    view: View, in_turn: Iterable[PendingPod], assignments: Mapping[str, str], by_kind: Mapping[_Kind, Prepared]
) -> FailedSeat | None:
    """Return the same for members of which none changes what was prepared for the others."""
    states: dict[str, NodeState] = {}
    for pod in in_turn:
        node = assignments[pod.key]
        state = states.setdefault(node, view.state(node).copy())
        found = placed(pod, state, by_kind[_kind(pod)])
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
    if all(pod.requirements == trigger.requirements for pod in job.tried) and not _is_stateful(job, trigger, view):
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
    if prepared.books:
        slots = _places(view, slots, job.tried, prepared)
    queue = sorted(job.tried, key=lambda pod: (pod.gang, pod.key == trigger.key))
    order = [name for name, node in sorted(slots.items(), key=lambda item: -item[1].slots) for _ in range(node.slots)]
    stopped = job.over_quota(view, queue[: len(order) + 1])
    allowed = queue[: stopped[0]] if stopped is not None else queue
    placement = {pod.key: node for pod, node in zip(allowed, order, strict=False)}
    if is_enough(job, placement):
        return Attempt(trigger, prepared, None, placement, slots)
    waiting: dict[str, tuple[PendingPod, ...]] = {}
    for pod in queue:
        if pod.key in placement:
            waiting[placement[pod.key]] = (*waiting.get(placement[pod.key], ()), pod)
    left = tuple(pod for pod in queue if pod.key not in placement)
    if not left:
        return _too_few(job, view, trigger, waiting)
    if stopped is not None:
        now = job.prepared(left[0], view.with_pods(waiting))
        return Attempt(left[0], now, None, None, {}, waiting, (*left, *_never(job)), prefilter=stopped[1])
    # Nodes that hold all they can refuse the next pod for what the counting ended with.
    return Attempt(trigger, prepared, None, None, slots, waiting, (*left, *_never(job)))


def _places(view: View, offer: Offer, pods: Sequence[PendingPod], prepared: Prepared) -> Offer:
    """Return how many of the pods nodes take once each is placed before the next is tried, until all have a place."""
    found = Offer()
    left = len(pods)
    for name, node in sorted(offer.items(), key=lambda item: -item[1].slots):
        found[name] = places(view.state(name), pods[: node.slots], prepared) if node.slots else node
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
        if prepared.refusal is not None:
            left = (*queue[position:], *_never(job))
            return Attempt(pod, prepared, None, None, {}, waiting, left, prefilter=prepared.refusal)
        states = [now.state(name) for name in now.names()]
        feasible = [state for state in states if rejection(pod, state, prepared) is None]
        if not feasible:
            return _failed(job, now, pod, waiting, (*queue[position:], *_never(job)))
        name = choose(feasible).node.name
        waiting[name] = (*waiting.get(name, ()), pod)
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


def _failed(
    job: Job,
    full: View,
    failing: PendingPod,
    waiting: Mapping[str, tuple[PendingPod, ...]],
    left: tuple[PendingPod, ...],
) -> Attempt:
    prepared = job.prepared(failing, full)
    reasons = {name: rejection(failing, full.state(name), prepared) for name in full.names()}
    rejections = {name: reason for name, reason in reasons.items() if reason is not None}
    return Attempt(failing, prepared, None, None, rejections, waiting, left)


def needed(group: GangGroup) -> dict[str, int]:
    """Return how many members of each gang must be placed at once, by gang id.

    `waiting-and-running` counts bound members, the other policies only those that wait.
    """
    return {
        gang.key: max(0, (gang.minimum or 0) - (gang.bound if gang.match_policy == "waiting-and-running" else 0))
        for gang in group.members
    }
