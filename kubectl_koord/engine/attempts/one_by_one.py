"""An attempt at pods without a plan: each takes a node in its turn, until one finds none."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice

from msgspec import structs

from kubectl_koord.engine.attempts.attempt import (
    Attempt,
    FailedSeat,
    Job,
    Kind,
    aborting,
    are_alike,
    has_enough,
    is_enough,
    kinds_of,
    may_abort,
)
from kubectl_koord.engine.attempts.choosing import MemberOrder
from kubectl_koord.engine.attempts.filling import fillings, kind_prepared
from kubectl_koord.engine.columns import NodeSet, members, named
from kubectl_koord.engine.fit import Prepared, preference, preferred, reserve, unbookable, unscored
from kubectl_koord.engine.levels import taking_any
from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.engine.offer import Counts, LazyNames, NodeSlots, Offer
from kubectl_koord.engine.reasons.nodes import Reason, Refused
from kubectl_koord.engine.slots import offer_slots, places
from kubectl_koord.engine.view import Steps, View
from kubectl_koord.model.pods import PendingPod, claim_names
from kubectl_koord.model.values.memo import Identity

_MOST_RANKED = 100
"""Of so many nodes all that take a pod are found, and ranked."""


def pod_by_pod(job: Job, view: View, prepared: Prepared, member_order: MemberOrder) -> Attempt:
    """Return what comes of an attempt at a job without topology, with the prepared state of its trigger."""
    trigger = prepared.trigger
    goes_anywhere = len(job.tried) > 1 or not trigger.nominated
    counts_only = prepared.counts_only_room and not prepared.may_fail_to_reserve
    if goes_anywhere and counts_only and are_alike(job, trigger, job.tried):
        return _alike(job, view, trigger, prepared)
    return _one_by_one(job, view, prepared, member_order)


def _alike(job: Job, view: View, trigger: PendingPod, prepared: Prepared) -> Attempt:
    """Fill the nodes with members that are alike: where each goes is open, how many fit is not.

    Members are tried gang by gang (`NextPod`); the trigger stands for the first without room.
    """
    slots = offer_slots(view, view.names(), job.tried, prepared)
    aborted = aborting(slots.refusals, len(slots.counts)) if may_abort(trigger) else {}
    if aborted:
        return Attempt(trigger, prepared, None, None, slots, left=job.pods, aborted=aborted)
    if prepared.books:
        slots = _places(view, slots, job.tried, prepared)
    queue = job.gang_by_gang(trigger)
    seats = (name for name, number in _ranked(view, slots, prepared) for _ in range(number))
    order = [*islice(seats, len(queue))]
    stopped = job.over_quota(view, queue[: len(order) + 1])
    allowed = queue[: stopped[0]] if stopped is not None else queue
    placement = {pod.key: node for pod, node in zip(allowed, order, strict=False)}
    if is_enough(job, placement):
        return Attempt(trigger, prepared, None, placement, slots)
    waiting = _waiting(view, (pod for pod in queue if pod.key in placement), placement, prepared)
    left = tuple(pod for pod in queue if pod.key not in placement)
    if not left:
        return Attempt(trigger, prepared, None, None, {}, waiting)  # fewer are there than must wait at once
    if stopped is not None:
        now = job.prepared(left[0], view.with_pods(waiting))
        return Attempt(left[0], now, None, None, {}, waiting, (*left, *_never(job)), prefilter=stopped[1])
    if trigger.key in placement:  # it is the only one of its gang
        trigger, prepared = left[0], job.prepared(left[0], view)
    # Nodes that hold all they can refuse the next pod for what the counting ended with.
    return Attempt(trigger, prepared, None, None, slots, waiting, (*left, *_never(job)))


def _waiting(
    view: View, pods: Iterable[PendingPod], placement: Mapping[str, str], prepared: Prepared
) -> Mapping[str, tuple[PendingPod, ...]]:
    """Return the pods that wait in Permit by node, with what is booked for them, as far as anything is."""
    states: dict[str, NodeState] = {}
    waiting: dict[str, tuple[PendingPod, ...]] = {}
    fill = fillings(view, prepared)
    for pod in pods:
        node = placement[pod.key]
        found: PendingPod | Reason = pod
        filled = fill(node) if prepared.books else None
        if filled:
            found = filled.seat(pod, len(waiting.get(node, ())))
        elif prepared.books:
            state = states.setdefault(node, view.state(node).copy())
            found = reserve(pod, state, prepared)
            state.add(found if isinstance(found, PendingPod) else pod)
        waiting[node] = (*waiting.get(node, ()), found if isinstance(found, PendingPod) else pod)
    return waiting


def _ranked(view: View, offer: Offer, prepared: Prepared) -> Iterable[tuple[str, int]]:
    """Return the nodes that take any and how many, as they are filled: preferred ones first, then those for most."""
    counts = offer.counts
    if not prepared.reservations:
        return counts.most_first()
    return sorted(counts.items(), key=lambda node: (preference(view.state(node[0]), prepared), -node[1]))


def _places(view: View, offer: Offer, pods: Sequence[PendingPod], prepared: Prepared) -> Offer:
    """Return how many of the pods nodes take once each is placed before the next is tried, until all have a place."""
    numbers: dict[str, int] = {}
    fewer: dict[str, NodeSlots] = {}
    left, fill = len(pods), fillings(view, prepared)
    for name, slots in _ranked(view, offer, prepared):
        # Counting charges members to the node, where each may draw on a reservation of its own.
        most = len(pods) if prepared.reservations else slots
        filled = fill(name)
        found = filled.slots(most) if filled else places(view.state(name), pods[:most], prepared)
        numbers[name] = found.slots
        if found.slots != slots:
            fewer[name] = found
        left -= found.slots
        if left <= 0:
            break
    names = LazyNames(lambda: (*(name for name in offer if name not in offer.counts), *numbers))
    counts = Counts((name, number) for name, number in numbers.items() if number)
    unasked = dict.fromkeys(name for name in offer.counts if name not in numbers)
    refusing = offer.refusing_but({name: node.rejection for name, node in fewer.items()} | unasked)
    return Offer(names, counts, lambda name: fewer.get(name) or offer[name], _refused(offer, fewer), refusing=refusing)


def _refused(offer: Offer, placed: Mapping[str, NodeSlots]) -> Callable[[], Iterable[Refused]]:
    """Return what tells why nodes take none of the pods that are placed one by one, as the filters or Reserve say."""
    unbooked = [node.rejection for node in placed.values() if not node.slots and node.rejection is not None]
    return lambda: (
        *(offer.refused() if offer.refused else (Refused(reason, 1) for reason in offer.refusals.values())),
        *(Refused(reason, 1) for reason in unbooked),
    )


def _never(job: Job) -> tuple[PendingPod, ...]:
    """Return the members that are never tried: preemption makes room for them, too, but where each is for itself."""
    return () if job.each_queued else tuple(pod for pod in job.pods if pod.key in job.never)


class _Turns:
    """In which order nodes come for one kind of pods, while members take their places."""

    def __init__(self) -> None:
        self._late: dict[str, None] = {}
        self._taken: set[str] = set()

    def take(self, name: str) -> None:
        """Note that another member took a node."""
        self._taken.add(name)

    def late(self) -> tuple[str, ...]:
        """Return the nodes that come last, in their order: those that members took since one of this kind was tried."""
        for name in sorted(self._taken):
            self._late.pop(name, None)
            self._late[name] = None
        self._taken.clear()
        return tuple(self._late)


def _not_bookable(view: View, pod: PendingPod, nodes: NodeSet, prepared: Prepared) -> Mapping[str, Reason]:
    """Return which of the nodes, which take the pod, cannot be booked for it, and why.

    Pods that ask for the same ask each node once. What volumes and claims they ask for makes no difference: the filters
    have found those.
    """
    books = tuple(check for check in prepared.checks if check.depends_on == "books")
    kind = kind_prepared(view.snapshot, structs.replace(pod.requirements, claims=(), ephemeral=()), books)
    uncertain = members(view, kind.value.uncertain(view, nodes))
    asked = ((name, view.of_node(name, _unbookable_of_kind, kind)) for name in uncertain)
    return {name: reason for name, reason in asked if reason is not None}


def _unbookable_of_kind(state: NodeState, kind: Identity[Prepared]) -> Reason | None:
    return unbookable(kind.value.trigger, state, kind.value)


def _seat(
    view: View, pod: PendingPod, nodes: NodeSet, prepared: Prepared, choose: Callable[[], str]
) -> tuple[str, PendingPod | Reason]:
    """Return which of the nodes that take the pod it gets, and the pod with what is booked for it there, or why not.

    That is the chosen one, or one that cannot be ranked: a single node need not be, and of very many not all are
    looked at (`numFeasibleNodesToFind`).
    """
    is_ranked = nodes.bit_count() > 1 and len(view.names()) <= _MOST_RANKED and not prepared.reservations
    if is_ranked and prepared.may_fail_to_reserve:
        asked = ((name, unscored(pod, view.state(name), prepared)) for name in members(view, nodes))
        failing = next(((name, reason) for name, reason in asked if reason is not None), None)
        if failing is not None:
            return failing
    name = choose()
    return name, reserve(pod, view.state(name), prepared)


def _left(job: Job, queue: Sequence[PendingPod], position: int) -> tuple[PendingPod, ...]:
    """Return the members that are still to be tried, and those that never are."""
    return (*queue[position:], *_never(job))


def _one_by_one(job: Job, view: View, first: Prepared, member_order: MemberOrder) -> Attempt:
    """Try members in turn, the trigger first, then the others of each gang, each with its own prepared state.

    One that is nominated to a node goes there where the node takes it, and no other is looked at
    (`evaluateNominatedNode` in kube-scheduler's schedule_one.go).
    """
    trigger = first.trigger

    def turn(pod: PendingPod) -> tuple[int, bool, str, bool, str]:
        is_unlike = pod.requirements != trigger.requirements
        return (job.rank(pod), pod.key != trigger.key, pod.gang, is_unlike != member_order.unlike_first, pod.key)

    queue = sorted(job.tried, key=turn)
    waiting: dict[str, tuple[PendingPod, ...]] = {}
    placement: dict[str, str] = {}
    unbookable: dict[str, Reason] = {}
    kinds, turns = kinds_of(job, view, queue), dict[Kind, _Turns]()
    steps, placed = Steps(view), Counter[str]()
    for position, pod in enumerate(queue):
        now = steps.now
        prepared = job.prepared(pod, now) if position else first
        left = partial(_left, job, queue, position)
        if prepared.refusal is not None:
            return Attempt(pod, prepared, None, None, {}, waiting, left(), prefilter=prepared.refusal)
        offer = offer_slots(now, now.names(), (pod,), prepared)
        held = pod.nominated in offer.counts
        aborted = aborting(offer.refusals, len(offer.counts)) if may_abort(pod) and not held else {}
        if aborted or not offer.counts:
            return Attempt(pod, prepared, None, None, offer, waiting, left(), unbookable=unbookable, aborted=aborted)
        lasting = prepared.counts_only_room and not prepared.follows_members_elsewhere and not claim_names(pod)
        order = turns.setdefault(kinds[pod.key], _Turns()) if lasting else _Turns()
        feasible = named(now, (pod.nominated,)) if held else taking_any(now, offer.counts)
        if prepared.may_fail_to_reserve:
            unbookable |= _not_bookable(now, pod, feasible, prepared)
        late, best = order.late(), preferred(now, feasible, prepared)
        choose = partial(member_order.choose, now, best, late, pod, unbookable)
        name, booked = _seat(now, pod, feasible, prepared, choose)
        if not isinstance(booked, PendingPod):
            seat = FailedSeat(pod.key, name, booked)
            found = {name: booked}
            return Attempt(pod, prepared, None, None, found, waiting, left(), failed_seat=seat, unbookable=unbookable)
        waiting[name] = (*waiting.get(name, ()), booked)
        placement[pod.key] = name
        placed[pod.gang] += 1
        steps.add(name, booked)
        for of_kind in turns.values():
            of_kind.take(name)
        if has_enough(job, placed):
            return Attempt(trigger, first, None, placement, {}, unbookable=unbookable)
    return Attempt(trigger, first, None, None, {}, waiting)  # each has a place, and fewer are there than must wait
