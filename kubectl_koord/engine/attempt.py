"""One attempt as a value: what is tried, in which order, and what came of it."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from operator import add
from typing import TypeAlias

from msgspec import Struct, structs

from kubectl_koord.engine.filters import Prepared, of_other_jobs, prepare, rejection_as_is, reserve
from kubectl_koord.engine.filters.base import Filter, how_many
from kubectl_koord.engine.filters.interpod_affinity import keys_looked_at
from kubectl_koord.engine.filters.resources import FREE
from kubectl_koord.engine.gangs import Gang, GangGroup
from kubectl_koord.engine.placement import PlacementPlan, TopologyRequirements
from kubectl_koord.engine.quota.state import quota_state
from kubectl_koord.engine.quota.tree import quotas_of
from kubectl_koord.engine.reasons import (
    Insufficient,
    IsolationMissing,
    PreFilterRefusal,
    QuotaExceeded,
    Reason,
    Refused,
    SelectorFails,
    TooManyDevices,
    TooManyPods,
)
from kubectl_koord.engine.reservations import owned
from kubectl_koord.engine.rules import Rules
from kubectl_koord.engine.slots import NodeSlots, Offer, in_index_order
from kubectl_koord.engine.state import NodeState, View
from kubectl_koord.engine.table import (
    NodeNames,
    NodeSet,
    Number,
    allocatable_of,
    allocatables,
    every_node,
    first_of,
    has,
    named,
    numbers_of,
    with_most,
    with_names,
)
from kubectl_koord.engine.tree import Tree
from kubectl_koord.model.hardware import NOTHING, Allocations
from kubectl_koord.model.objects import Claim
from kubectl_koord.model.pods import PendingPod, PodRequirements, any_pod_of, claim_names
from kubectl_koord.model.quotas import QUOTA_LABELS, quota_labels
from kubectl_koord.model.reservations import OPERATING_MODE, Reservation
from kubectl_koord.model.resource_claims import PodClaim, ResourceClaim
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values import Identity, Labels, Resources, recently

_Claims: TypeAlias = tuple[ResourceClaim | None, ...]
Kind: TypeAlias = tuple[PodRequirements, str, Labels, frozenset[str], _Claims]
_MOST_KEPT = 16
_FEWEST_TAKING = 100  # so many nodes that take a pod are looked for at least (`minFeasibleNodesToFind`)
_ALWAYS_LOOKED_AT = frozenset({*QUOTA_LABELS, OPERATING_MODE})
Stop: TypeAlias = tuple[int, QuotaExceeded]
"""The position of the first pod that a quota refuses, and why."""


class JobTopology(Struct, frozen=True):
    """The tree that a job is planned on, and what the job asks of it."""

    requirements: TopologyRequirements
    tree: Tree


class Job(Struct, frozen=True, dict=True):
    """What is tried as one: the pending pods of a gang group, or one pod.

    topology is None for a job without one; `needed` is how many pods must find a place
    at once, by gang id; `nominated` the pending pods of the cluster that are nominated to a node;
    `may_trigger` the members that may be taken first (all, where it is empty); `claims` the volume claims and
    `never` the members that are planned for but never tried (of another scheduler, with a scheduling gate, being
    deleted), by `namespace/name`; `prefilter` why all are refused before any node, None where nodes decide;
    `pending` all pods that wait in the cluster, None where they are those of the snapshot; `reservations` are those
    that tell members apart by who may own them, and `promised` the claims to which a volume is.
    With `each_queued` no pod takes others along: they come by priority.
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
    reservations: tuple[Reservation, ...] = ()
    each_queued: bool = False
    promised: frozenset[str] = frozenset()

    @property
    def tried(self) -> tuple[PendingPod, ...]:
        """The members that the scheduler takes from its queue."""
        return tuple(pod for pod in self.pods if pod.key not in self.never) if self.never else self.pods

    @property
    def has_surplus(self) -> bool:
        """Whether more members are tried than must find a place at once."""
        return sum(self.needed.values()) < len(self.tried)

    @property
    def may_do_without(self) -> bool:
        """Whether members may fail on their seats once enough others have theirs."""
        return self.has_surplus and not self.rules.places_plans_whole

    @cached_property
    def gang_decides(self) -> bool:
        """Whether it matters of which gang the trigger is: then that one has a member more when room ends."""
        return self.topology is None and len(self.needed) > 1 and self.has_surplus

    def kind(self, pod: PendingPod) -> tuple[object, ...]:
        """Return what tells members apart as triggers where nobody is preempted."""
        gang = pod.gang if self.gang_decides else ""
        return (*shape(pod, self.claims, self.promised), gang, quota_labels(pod.labels))

    @cached_property
    def triggers(self) -> tuple[PendingPod, ...]:
        """One member of each kind that may be the trigger, the likeliest first.

        Members differ as triggers by requirements, by what their volume claims come to, by their gang where that
        decides, by their quota, by the reservations that are for them, by priority, preemption policy and nomination;
        which of them the scheduler takes first from its queue is in no object. Higher priority and larger number go
        first.
        """
        every = self.may_trigger or self.tried
        if len(every) == 1:
            return every
        kinds: dict[tuple[object, ...], list[PendingPod]] = {}
        for pod in every:
            kind = (*self.kind(pod), owned(pod, self.reservations))
            kinds.setdefault((*kind, pod.priority, pod.never_preempts, bool(pod.nominated)), []).append(pod)
        ranked = sorted(kinds.values(), key=lambda pods: (-pods[0].priority, -len(pods), pods[0].key))
        return tuple(pods[0] for pods in ranked)

    def prepared(self, trigger: PendingPod, view: View) -> Prepared:
        """Return the prepared state of one member as the trigger, with which it is filtered itself."""
        return self._prepared(trigger, view, None)

    def prepared_to_plan(self, trigger: PendingPod, view: View) -> Prepared:
        """Return the prepared state of the trigger with which all members are counted: by index, then name."""
        first = in_index_order(self.pods)[0] if self.topology is not None else None
        return self._prepared(trigger, view, first)

    def _prepared(self, trigger: PendingPod, view: View, first: PendingPod | None) -> Prepared:
        nominated = of_other_jobs(self.nominated, self.pods)
        return prepare(trigger, view, self.rules, nominated, self.claims, first, self.pending)

    def rank(self, pod: PendingPod) -> int:
        """Return what orders the members before all else."""
        return -pod.priority if self.each_queued else 0

    def gang_by_gang(self, trigger: PendingPod) -> Sequence[PendingPod]:
        """Return members that are alike in their turn (`NextPod`): one of the trigger's gang, then gang by gang.

        The trigger comes as the last of its gang.
        """
        queue = sorted(self.tried, key=lambda pod: (self.rank(pod), pod.gang, pod.key == trigger.key))
        if not self.gang_decides:
            return queue
        first = next(pod for pod in queue if pod.gang == trigger.gang)
        return [first, *(pod for pod in queue if pod is not first)]

    def over_quota(self, view: View, in_turn: Sequence[PendingPod]) -> Stop | None:
        """Return the first of these members that a quota refuses once those before it are placed, and why."""
        tree = quotas_of(view)
        if not any(tree.may_refuse(pod) for pod in in_turn):
            return None
        return quota_state(view, self.rules, self.pending).first_refused(in_turn)


class FailedSeat(Struct, frozen=True):
    """The first member (`namespace/name`) that its planned node refuses as the plan is carried out, and why.

    `may_draw` tells whether any reservation is for it.
    """

    pod: str
    node: str
    reason: Reason | PreFilterRefusal
    may_draw: bool = False


class Attempt(Struct, frozen=True, dict=True):
    """What came of one attempt.

    placement: `ns/pod` to node when the job is placed (for a plain job: one possible placement).
    node_answers: the slots of nodes, or why they refused; see `rejections`.
    waiting: members that had found a node before the trigger failed, by node.
    left: the members that had none. failed_seat: where the plan failed as it was carried out, or a pod could not be
    booked on the node that it was to have, None where neither is so. aborted: by node, the reasons over which
    the scheduler gave up the attempt. unbookable: by node that passed the filters, why it could not be booked where
    that was looked at, whichever node was taken. prefilter: why no node was asked, None where nodes were.
    late: members (`namespace/name`) whose seats would fail, and that come when enough others have theirs.
    races: whether the plan fails as it is carried out, and the members that are left are tried again while others still
    wait on their seats: they may be bound, off any plan. Not where it is room that is short, and too few of them would
    fit anywhere.
    """

    trigger: PendingPod
    prepared: Prepared
    plan: PlacementPlan | None
    placement: Mapping[str, str] | None
    node_answers: Offer | Mapping[str, Reason]
    waiting: Mapping[str, tuple[PendingPod, ...]] = {}
    left: tuple[PendingPod, ...] = ()
    failed_seat: FailedSeat | None = None
    unbookable: Mapping[str, Reason] = {}
    aborted: Mapping[str, Reason] = {}
    prefilter: PreFilterRefusal | None = None
    late: tuple[str, ...] = ()
    races: bool = False

    @property
    def fails_at_reserve(self) -> bool:
        """Whether a node was chosen that could then not be booked: no other is tried, and no pod is preempted."""
        return self.plan is None and self.failed_seat is not None

    @property
    def plan_fails(self) -> bool:
        """Whether the members do not fit beside each other, though they would alone.

        Not where room is short, which a plan for another trigger counts rightly, unless what comes of this one is a
        race; nor where no node would do. Room of reservations none counts rightly: it is there for all who are counted,
        and one of them may use it up.
        """
        seat = self.failed_seat
        if self.plan is None or seat is None or isinstance(seat.reason, PreFilterRefusal):
            return False
        return self.races or seat.may_draw or not isinstance(seat.reason, Insufficient | TooManyPods)

    @cached_property
    def rejections(self) -> Mapping[str, Reason]:
        """By node, why it refused (the trigger, for a plain job); nodes without a reason are left out."""
        return self.node_answers.refusals if isinstance(self.node_answers, Offer) else self.node_answers

    @property
    def refused(self) -> Sequence[Refused]:
        """Why nodes refused, and how many for each reason."""
        answers = self.node_answers
        return answers.reasons if isinstance(answers, Offer) else [Refused(one, 1) for one in answers.values()]

    @property
    def over_quota(self) -> QuotaExceeded | None:
        """Why a quota refuses the trigger, None where none does."""
        reason = self.failed_seat.reason if self.failed_seat is not None else self.prefilter
        return reason if isinstance(reason, QuotaExceeded) else None

    def considered(self, view: View) -> NodeNames:
        """Return the nodes that preemption looks at: those whose refusal does not last whoever goes.

        A quota counts as such a refusal by every node; after an abort there are none.
        """
        return _considered(view, Identity(self))

    def beside_waiting(self, view: View) -> View:
        """Return the cluster with the members that wait in Permit on their nodes, the same one for the same attempt."""
        return _beside_waiting(view, Identity(self)) if self.waiting else view

    @property
    def worded(self) -> Mapping[str, Reason]:
        """Why nodes refused, each by a reason that is worded the same."""
        return self.node_answers.worded if isinstance(self.node_answers, Offer) else self.node_answers

    def refusing(self, is_of_sort: Callable[[Reason], bool]) -> Iterable[str]:
        """Return the nodes that refused for a reason of some sort, as `Offer.refusing`."""
        answers = self.node_answers
        if isinstance(answers, Offer):
            return answers.refusing(is_of_sort)
        return [name for name, reason in answers.items() if is_of_sort(reason)]


@recently(_MOST_KEPT)
def _beside_waiting(view: View, attempt: Identity[Attempt]) -> View:
    return view.with_pods(attempt.value.waiting)


@recently(_MOST_KEPT)
def _considered(view: View, failed: Identity[Attempt]) -> NodeNames:
    if failed.value.over_quota is not None:
        return NodeNames(view, every_node(view))
    return NodeNames(view, with_names(view, () if failed.value.aborted else failed.value.refusing(_may_end)))


def _may_end(reason: Reason) -> bool:
    """Tell whether a refusal may end with pods that go."""
    return not reason.unresolvable


def shape(pod: PendingPod, claims: Mapping[str, Claim], promised: Collection[str]) -> tuple[object, ...]:
    """Return what a pod asks of nodes; claims with volumes that are alike count as equal, whatever their names.

    Not those with a volume that is `promised` to them: it is no other's.
    """
    used = tuple(_alike(claim) for claim in pod.resource_claims)
    names = claim_names(pod)
    if not names:
        return (pod.requirements, used)
    alike = (
        claim if claim is None or name in promised else _named_alike(claim)
        for name, claim in ((name, claims.get(name)) for name in names)
    )
    own = tuple(claims[name].owner == (pod.uid, pod.name) for name in names if name in claims)
    return (structs.replace(pod.requirements, claims=()), tuple(alike), own, used)


def _named_alike(claim: Claim) -> Claim:
    name = claim.name if claim.single_pod else ""
    return structs.replace(claim, name=name, volume=str(bool(claim.volume)), owner=("", ""), uid="")


def _alike(claim: PodClaim) -> ResourceClaim | None:
    """Return what a resource claim asks for, without what only tells it from others."""
    return claim.found and structs.replace(claim.found, name="", reserved=(), owner=("", ""))


def are_alike(job: Job, trigger: PendingPod, pods: Collection[PendingPod]) -> bool:
    """Tell whether all these pods are filtered as the trigger is: none is with resource claims of its own."""
    if any(pod.resource_claims for pod in pods):
        return False
    others = [pod for pod in pods if pod is not trigger]
    own = owned(trigger, job.reservations) if others else None
    return all(pod.requirements == trigger.requirements and owned(pod, job.reservations) == own for pod in others)


def kinds_of(job: Job, view: View, pods: Iterable[PendingPod]) -> Mapping[str, Kind]:
    """Return by `namespace/name` what filters prepare from: pods that are equal in it have equal prepared states.

    Of labels that are those which a selector of the pod's own looks at, of others' anti-affinity, and of quotas.
    """
    keys: dict[str, frozenset[str]] = {}
    found: dict[str, Kind] = {}
    for pod in pods:
        if pod.namespace not in keys:
            keys[pod.namespace] = keys_looked_at(pod.namespace, view, job.pending) | _ALWAYS_LOOKED_AT
        asked, looked_at = pod.requirements, keys[pod.namespace]
        selects = asked.spread or asked.pod_affinity or asked.pod_anti_affinity
        labels = pod.labels if selects else tuple(label for label in pod.labels if label[0] in looked_at)
        claims = tuple(_alike(claim) for claim in pod.resource_claims)
        found[pod.key] = (asked, pod.namespace, labels, owned(pod, job.reservations), claims)
    return found


def may_abort(pod: PendingPod) -> bool:
    """Tell whether the scheduler may give up the attempt over a node's refusal of this pod."""
    isolates = pod.requirements.devices is not None and bool(pod.requirements.devices.isolation)
    return isolates or bool(pod.resource_claims)


def aborting(refusals: Mapping[str, Reason], taking: int) -> Mapping[str, Reason]:
    """Return the refusals among these over which the scheduler gives up the whole attempt (status Error).

    Over those of claims it does where so few nodes are `taking` the pod that it asks all.
    """
    every = (IsolationMissing, SelectorFails, TooManyDevices) if taking < _FEWEST_TAKING else (IsolationMissing,)
    return {name: reason for name, reason in refusals.items() if isinstance(reason, every)}


def is_enough(job: Job, placed: Iterable[str]) -> bool:
    """Tell whether every gang has as many members placed as it needs at once (`isGangValidForPermit`)."""
    keys = set(placed)
    return has_enough(job, Counter(pod.gang for pod in job.tried if pod.key in keys)) and bool(keys)


def has_enough(job: Job, placed: Mapping[str, int]) -> bool:
    """Tell whether these numbers of placed members are enough for every gang."""
    return all(placed.get(gang, 0) >= needed for gang, needed in job.needed.items())


def needed(group: GangGroup, *, remembered: bool = True) -> dict[str, int]:
    """Return how many members of each gang must be placed at once, by gang id.

    `waiting-and-running` counts bound members, the other policies only those that wait; a gang that is once satisfied
    needs none, if the scheduler has it `remembered`.
    """
    return {gang.key: 0 if remembered and group.has_run(gang) else _at_once(gang) for gang in group.members}


def _at_once(gang: Gang) -> int:
    return max(0, (gang.minimum or 0) - (gang.bound if gang.match_policy == "waiting-and-running" else 0))


Choice: TypeAlias = Callable[[View, NodeSet, Sequence[str], PendingPod, Collection[str]], str]
"""Which of the feasible nodes of a view a pod takes, of which some come last, in an order, and some cannot be booked.

They are never none. Of nodes that are equal the first is taken: those that come last are given by name.
"""
ChoosingKind: TypeAlias = tuple[PodRequirements, Collection[str]]
"""What some members ask for, and the names of the nodes that take one of them."""
_NO_SHARE = 1 << 62
"""More than the share of any resource that is free."""
_SOME = 1 / 8
"""The share of the nodes whose states take as long to make as columns of what all have free."""


def emptiest(
    view: View, nodes: NodeSet, late: Sequence[str], _pod: PendingPod, _unbookable: Collection[str] = ()
) -> str:
    """Choose the node with the largest free share of its scarcest resource (least allocated first)."""
    return _with_most_free(view, nodes, late, 1)


def fullest(view: View, nodes: NodeSet, late: Sequence[str], _pod: PendingPod, _unbookable: Collection[str]) -> str:
    """Choose the node with the smallest free share of its scarcest resource (most allocated first)."""
    return _with_most_free(view, nodes, late, -1)


def bookable(view: View, nodes: NodeSet, late: Sequence[str], pod: PendingPod, unbookable: Collection[str]) -> str:
    """Choose the emptiest of the nodes that can be booked, of all where none can."""
    return emptiest(view, nodes & ~named(view, unbookable) or nodes, late, pod)


def not_bookable(view: View, nodes: NodeSet, late: Sequence[str], pod: PendingPod, unbookable: Collection[str]) -> str:
    """Choose the emptiest of the nodes that cannot be booked, of all where all can."""
    return emptiest(view, nodes & named(view, unbookable) or nodes, late, pod)


def at_the_cost_of(kinds: Iterable[ChoosingKind], *, most: bool) -> Choice:
    """Return the choice of the node on which a pod takes the most places from members of other kinds, or the fewest."""
    every, sign = Identity(tuple(kinds)), 1 if most else -1

    def choose(view: View, nodes: NodeSet, late: Sequence[str], pod: PendingPod, _: Collection[str]) -> str:
        return emptiest(view, with_most(view, nodes, _cost, every, pod.requirements, sign), late, pod)

    return choose


class MemberOrder(Struct, frozen=True):
    """How the members come after the trigger, and what they choose: first those like it, or those unlike it.

    Where more are planned for than must find a place, those whose seats fail come before enough have found theirs,
    or `failing_last`.
    """

    choose: Choice = emptiest
    unlike_first: bool = False
    failing_last: bool = False


USUAL = MemberOrder()


def _cost(state: NodeState, kinds: Identity[tuple[ChoosingKind, ...]], requirements: PodRequirements, sign: int) -> int:
    """Return how many places fewer a node has for pods of other kinds, once one that asks for this is there."""
    others = [kind.requests for kind, names in kinds.value if kind != requirements and state.node.name in names]
    left = dict(state.free)
    for resource, amount in requirements.requests:
        left[resource] = left.get(resource, 0) - amount
    return sign * sum(
        _places(asked, state.free, state.places) - _places(asked, left, state.places - 1) for asked in others
    )


def _places(asked: Resources, free: Mapping[str, int], most: int) -> int:
    return how_many(asked, asked, free, most)


def _with_most_free(view: View, nodes: NodeSet, late: Sequence[str], sign: int) -> str:
    """Return the first of the nodes with the largest free share of the scarcest resource, then of all; or smallest."""
    found = with_most(view, with_most(view, nodes, OF_SCARCEST, sign), OF_ALL, sign)
    early = found & ~named(view, late)
    return first_of(view, early) if early else next(name for name in late if has(view, found, name))


def _free_shares(state: NodeState) -> list[int]:
    free = state.free
    return [1000 * free.get(r, 0) // total for r, total in state.node.allocatable if total and r != "pods"]


def _free_shares_everywhere(view: View, absent: int) -> Iterator[Sequence[int]]:
    """Yield the free shares of all nodes by resource, in name order; `absent` stands for nodes without it."""
    every = every_node(view)
    for resource in {resource for one in allocatables(view)[0] for resource, _ in one if resource != "pods"}:
        amounts = zip(numbers_of(view, every, FREE, resource), allocatable_of(view, resource), strict=True)
        yield [1000 * free // total if total else absent for free, total in amounts]


def _scarcest_everywhere(view: View, sign: int) -> Sequence[int]:
    least = [_NO_SHARE] * len(view.names())
    for shares in _free_shares_everywhere(view, _NO_SHARE):
        least = [*map(min, least, shares)]
    return [0 if share == _NO_SHARE else sign * share for share in least]


def _all_everywhere(view: View, sign: int) -> Sequence[int]:
    total = [0] * len(view.names())
    for shares in _free_shares_everywhere(view, 0):
        total = [*map(add, total, shares)]
    return [sign * share for share in total]


OF_SCARCEST = Number[int](
    lambda state, sign: sign * min(_free_shares(state), default=0),
    _scarcest_everywhere,
    _SOME,
)
OF_ALL = Number[int](
    lambda state, sign: sign * sum(_free_shares(state)),
    _all_everywhere,
    _SOME,
)


_MOST_KINDS = 64


class Filling:
    """What is booked for the first, the second, ... pod of a kind on a node, as far as anybody asked."""

    def __init__(self, state: NodeState, prepared: Identity[Prepared]) -> None:
        self._left = state
        self._prepared = prepared.value
        self._booked: list[Allocations] = []
        self._end: Reason | None = None

    def slots(self, most: int) -> NodeSlots:
        """Return how many of so many pods find a place, and why the next does not."""
        while len(self._booked) < most and self._end is None:
            self._place()
        placed = min(most, len(self._booked))
        return NodeSlots(placed, self._end if placed < most else None)

    def seat(self, pod: PendingPod, position: int) -> PendingPod | Reason:
        """Return the pod at a position, from 0 on, with all that is booked for it, or why it finds no place."""
        reason = self.slots(position + 1).rejection
        return structs.replace(pod, allocations=self._booked[position]) if reason is None else reason

    def _place(self) -> None:
        pod = self._prepared.trigger
        found = rejection_as_is(pod, self._left, self._prepared) or reserve(pod, self._left, self._prepared)
        if not isinstance(found, PendingPod):
            self._end = found
            return
        if not self._booked:
            self._left = self._left.copy()
        self._left.add(found)
        self._booked.append(found.allocations or NOTHING)


def fillings(view: View, prepared: Prepared) -> Callable[[str], Filling | None]:
    """Return what returns a node, by name, as it is filled with pods like the trigger.

    None where pods that are alike to the filters are not placed alike: they may change what was prepared, have claims
    of their own, or stand behind others that are nominated to the node.
    """
    if not prepared.counts_only_room or prepared.trigger.resource_claims:
        return lambda _: None
    kind = kind_prepared(view.snapshot, prepared.trigger.requirements, prepared.checks)
    nominated = prepared.nominated
    return lambda name: None if name in nominated else view.of_node(name, Filling, kind)


@recently(_MOST_KINDS)
def kind_prepared(_: Snapshot, requirements: PodRequirements, checks: tuple[Filter, ...]) -> Identity[Prepared]:
    """Return what pods of a kind are prepared with: the one object for all of them."""
    return Identity(Prepared(any_pod_of(requirements), checks))
