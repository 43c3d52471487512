"""Running one attempt: where a gang's pods would go, or on which nodes they fail."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TypeAlias

from msgspec import structs

from kubectl_koord.engine.attempt import (
    USUAL,
    Attempt,
    FailedSeat,
    Filling,
    Job,
    JobTopology,
    Kind,
    MemberOrder,
    aborting,
    are_alike,
    fillings,
    has_enough,
    is_enough,
    kind_prepared,
    kinds_of,
    may_abort,
)
from kubectl_koord.engine.filters import (
    Prepared,
    of_other_jobs,
    placed,
    preference,
    preferred,
    rejection_as_is,
    reserve,
    room_for,
    unbookable,
    unscored,
)
from kubectl_koord.engine.placement import gather, start_set
from kubectl_koord.engine.quota.state import counted_as, runs
from kubectl_koord.engine.reasons import PreFilterRefusal, Reason
from kubectl_koord.engine.slots import (
    Counts,
    LazyNames,
    NodeSlots,
    Offer,
    in_index_order,
    offer_slots,
    places,
    taking_any,
)
from kubectl_koord.engine.state import NodeState, Steps, View
from kubectl_koord.engine.table import NodeSet, members, named
from kubectl_koord.model.pods import PendingPod, claim_names
from kubectl_koord.model.values import Identity

_MOST_RANKED = 100
"""Size of a cluster up to which all nodes that take a pod are ranked."""


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
    rejections = {name: node.rejection for name, node in fewer.items()}
    refusing = offer.refusing_nodes and offer.refusing_nodes.but(rejections, counts)
    return Offer(names, counts, lambda name: fewer.get(name) or offer[name], refusing)


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


_MOST_LOOKED_AT = 64
"""Bound of the nodes that are looked at, unless there are more pods."""


def surely_placed_beside_all(job: Job, view: View, names: Iterable[str], taken: int | None = None) -> bool:
    """Tell whether every attempt surely places a job that is not planned, whatever quotas and nominated pods there are.

    `names`: the nodes of which the first are looked at. `taken`: on how many of these nodes, it is open which, others
    are placed before; None where all are as in `view`. Each must take a pod of the job as long as nobody is.
    """
    if job.topology is not None or len(job.triggers) > 1:
        return False
    nominated = {pod.nominated for pod in of_other_jobs(job.nominated, job.pods)}
    free = (name for name in names if name not in nominated)
    has_place = surely_placed(job, view, free) if taken is None else _can_spare(job, view, free, taken)
    return has_place and job.over_quota(view, job.gang_by_gang(job.triggers[0])) is None


def _can_spare(job: Job, view: View, names: Iterable[str], number: int) -> bool:
    """Tell whether a job that takes a node for each pod still finds as many where it loses so many of these nodes."""
    prepared = _prepared_alike(job, view)
    if prepared is None or prepared.may_fail_to_reserve:
        return False
    wanted = number + len(job.tried)
    return sum(1 for _ in islice(names, wanted)) == wanted


def surely_placed(job: Job, view: View, names: Iterable[str] | None = None) -> bool:
    """Tell whether an attempt surely places a job in a cluster without quotas, as if no other pod were nominated.

    Members that are alike find their places wherever nodes have room for all of them, whichever they take. A plan
    takes some domain where one has room: it is surely carried out, be it without nodes that it fails on, where all
    who are counted in a domain find their places, as these nodes are not among them.
    """
    prepared = _prepared_alike(job, view)
    if prepared is None:
        return False
    if job.topology is not None:
        return _has_domain(job.topology, view, len(job.pods), prepared)
    asked = view.names() if names is None else names
    return not prepared.may_fail_to_reserve and _have_room(view, asked, len(job.tried), prepared)


def _prepared_alike(job: Job, view: View) -> Prepared | None:
    """Return what is prepared for each member, as if it were alone, None where more than a node's own room decides."""
    trigger = next(iter(job.triggers), None)
    if job.prefilter is not None or trigger is None or may_abort(trigger) or not are_alike(job, trigger, job.pods):
        return None
    prepared = job.prepared_to_plan(trigger, view).alone(trigger)
    is_certain = prepared.counts_only_room and not prepared.reservations and not prepared.follows_members
    if not is_certain or prepared.refusal is not None or not is_enough(job, (pod.key for pod in job.tried)):
        return None
    return prepared


def _have_room(view: View, names: Iterable[str], number: int, prepared: Prepared) -> bool:
    left = number
    for name in islice(names, max(_MOST_LOOKED_AT, number)):
        left -= _placed_on(view.state(name), left, prepared)[1]
        if left <= 0:
            return True
    return False


def _has_domain(topology: JobTopology, view: View, number: int, prepared: Prepared) -> bool:
    if any(multiple > 1 for multiple in topology.requirements.multiples.values()):
        return False
    tree = topology.tree
    nodes = ((index, name) for index in start_set(tree, topology.requirements) for name in tree.nodes_below(index))
    left: dict[int, int] = {}
    for index, name in islice(nodes, max(_MOST_LOOKED_AT, number)):
        counted, placed = _placed_on(view.state(name), number, prepared)
        left[index] = left.get(index, number) - (placed if placed == counted else 0)
        if left[index] <= 0:
            return True
    return False


def _placed_on(state: NodeState, number: int, prepared: Prepared) -> tuple[int, int]:
    """Return for how many of so many pods a node offers slots, and how many of them find their places there."""
    pod = prepared.trigger
    if rejection_as_is(pod, state, prepared) is not None:
        return 0, 0
    counted = min(number, room_for(state, pod.requirements.requests, prepared))
    if not prepared.books:
        return counted, counted
    if counted == 1:
        return 1, int(isinstance(reserve(pod, state, prepared), PendingPod))
    return counted, places(state, (pod,) * counted, prepared).slots


_Seats: TypeAlias = Mapping[str, tuple[PendingPod, ...]]
"""Members by the node that they wait on, with what is booked for them."""


def attempt(job: Job, view: View, trigger: PendingPod, member_order: MemberOrder = USUAL) -> Attempt:
    """Return what comes of an attempt with this trigger.

    `trigger`: the member that is taken first. `member_order`: how members come that are not planned for, and which
    feasible nodes they take.
    """
    prepared = job.prepared_to_plan(trigger, view)
    refusal = job.prefilter or prepared.refusal
    if refusal is not None:
        return Attempt(trigger, prepared, None, None, {}, left=job.pods, prefilter=refusal)
    if job.topology is not None:
        return _planned(job, job.topology, view, prepared, member_order)
    return pod_by_pod(job, view, prepared, member_order)


def carried_out(job: Job, view: View, done: Attempt) -> _Seats:
    """Return the members that an attempt has placed, by node, with what is booked for them one after another.

    Nothing is where one of them is refused now, as in another variant of the cluster than that of the attempt.
    """
    placement = done.placement or {}
    by_key = {pod.key: pod for pod in job.pods}
    in_turn = [by_key[key] for key in placement]
    if done.plan is not None:
        in_turn.sort(key=lambda pod: (pod.key != done.trigger.key, pod.key))
    seated = _seated(job, view, done.prepared, placement, in_turn)
    return _as_placed(in_turn, placement) if isinstance(seated, FailedSeat) else seated


def _as_placed(pods: Iterable[PendingPod], placement: Mapping[str, str]) -> _Seats:
    seats: dict[str, tuple[PendingPod, ...]] = {}
    for pod in pods:
        seats[placement[pod.key]] = (*seats.get(placement[pod.key], ()), pod)
    return seats


def _planned(job: Job, topology: JobTopology, view: View, prepared: Prepared, member_order: MemberOrder) -> Attempt:
    trigger = prepared.trigger
    slots = offer_slots(view, view.names(), in_index_order(job.pods), prepared)
    plan = gather(topology.tree, view, job.pods, topology.requirements, slots, job.rules)
    if plan.assignments is None:
        return Attempt(trigger, prepared, plan, None, slots, left=job.pods)
    in_turn = _in_turn(job, view, trigger, member_order)
    stopped = job.over_quota(view, in_turn)
    if job.rules.places_plans_whole and stopped is not None:
        refused, why = in_turn[stopped[0]], stopped[1]
        seat = FailedSeat(refused.key, plan.assignments[refused.key], why)
        return Attempt(trigger, prepared, plan, None, slots, left=job.pods, failed_seat=seat)
    admitted = in_turn[: stopped[0]] if stopped else in_turn
    seated = _seated(job, view, prepared, plan.assignments, admitted)
    if isinstance(seated, FailedSeat):
        found = (
            _failing(job, view, prepared, plan.assignments, admitted, member_order) if job.may_do_without else seated
        )
        if isinstance(found, FailedSeat):
            failed = Attempt(trigger, prepared, plan, None, slots, left=job.pods, failed_seat=found)
            races = job.rules.races_over_plans and (failed.plan_fails or _may_be_bound(job, view, found))
            return structs.replace(failed, races=races)
        enough = {pod.key: plan.assignments[pod.key] for pod in job.tried}
        return Attempt(trigger, prepared, plan, enough, slots, left=job.pods, late=found)
    if stopped is not None and not is_enough(job, (pod.key for pod in admitted)):
        failing, refusal = in_turn[stopped[0]], stopped[1]
        seat = FailedSeat(failing.key, plan.assignments[failing.key], refusal)
        return _stopped(job, view, Attempt(failing, prepared, plan, None, slots, seated, failed_seat=seat))
    tried = {pod.key: plan.assignments[pod.key] for pod in job.tried}
    late = tuple(pod.key for pod in in_turn[len(admitted) :])
    return Attempt(trigger, prepared, plan, tried if is_enough(job, tried) else None, slots, left=job.pods, late=late)


def _may_be_bound(job: Job, view: View, failed: FailedSeat) -> bool:
    """Tell whether enough members have a node each, be it only as long as no other member is placed."""
    if isinstance(failed.reason, PreFilterRefusal):
        return False
    kinds = kinds_of(job, view, job.tried)
    prepared = {kind: job.prepared(pod, view) for kind, pod in {kinds[pod.key]: pod for pod in job.tried}.items()}
    fitting = {kind for kind, one in prepared.items() if _has_node(view, one)}
    return is_enough(job, (pod.key for pod in job.tried if kinds[pod.key] in fitting))


def _has_node(view: View, prepared: Prepared) -> bool:
    return prepared.refusal is None and bool(offer_slots(view, view.names(), (prepared.trigger,), prepared).counts)


def _in_turn(job: Job, view: View, trigger: PendingPod, member_order: MemberOrder) -> Sequence[PendingPod]:
    """Return the members in the order in which they are tried: the trigger first, the others as they come from a map.

    The round ends with the member that makes them enough. Where they are not alike for quotas, it is an order in which
    one refuses a member before that; with those that fail as the last, an order in which none does.
    """
    others = sorted((pod for pod in job.tried if pod.key != trigger.key), key=lambda pod: pod.key)
    usual = [trigger, *others]
    if not job.has_surplus or len(list(runs(usual))) == 1 or job.over_quota(view, usual) is None:
        return usual
    last = member_order.failing_last
    for some in _orders(job, view, usual, failing_last=last):
        stopped = job.over_quota(view, some)
        if (stopped is None or is_enough(job, (pod.key for pod in some[: stopped[0]]))) == last:
            return some
    return usual


def _orders(job: Job, view: View, usual: Sequence[PendingPod], *, failing_last: bool) -> Iterator[Sequence[PendingPod]]:
    """Yield orders in which quotas refuse a member as early as they can, or as late."""
    passing, refused = list(usual), []
    while (stopped := job.over_quota(view, passing)) is not None:
        before, others = passing[: stopped[0]], passing[stopped[0] :]
        kind = counted_as(others[0])  # what is used only grows: all of them are refused
        passing = before + [pod for pod in others if counted_as(pod) != kind]
        refused += [pod for pod in others if counted_as(pod) == kind]
    trigger, others = usual[0], list(usual[1:])
    yield [*passing, *refused] if failing_last else [trigger, *refused, *passing[1:]]
    sizes = {pod.key: dict(pod.requirements.requests) for pod in others}
    for resource in sorted({resource for size in sizes.values() for resource in size}):
        by_size = sorted(others, key=lambda pod: sizes[pod.key].get(resource, 0), reverse=not failing_last)
        yield [trigger, *by_size]


def _failing(
    job: Job,
    view: View,
    prepared: Prepared,
    assignments: Mapping[str, str],
    in_turn: Sequence[PendingPod],
    member_order: MemberOrder,
) -> FailedSeat | tuple[str, ...]:
    """Return the seat that fails before enough members have theirs; or whose seats do, after that ends the round.

    The trigger comes first, the others as they come from a map.
    """
    failing = {one.pod: one for one in _tried(job, view, in_turn, assignments) if isinstance(one, FailedSeat)}
    first = next(iter(failing.values()))
    early = [pod for pod in in_turn if pod.key not in failing]
    if first.pod == in_turn[0].key or not is_enough(job, (pod.key for pod in early)):
        return first
    every = (*(pod for pod in in_turn if pod.key in failing), *early)
    for node in dict.fromkeys(one.node for one in failing.values()) if not member_order.failing_last else ():
        order = sorted(every, key=lambda pod: (pod is not in_turn[0], assignments[pod.key] != node))
        found = _seated(job, view, prepared, assignments, _enough(job, order))
        if isinstance(found, FailedSeat):
            return found
    return tuple(failing)


def _enough(job: Job, in_turn: Sequence[PendingPod]) -> Sequence[PendingPod]:
    """Return the first of these members that are enough."""
    keys = [pod.key for pod in in_turn]
    return in_turn[: next(count for count in range(len(keys) + 1) if is_enough(job, keys[:count]))]


def _stopped(job: Job, view: View, planned: Attempt) -> Attempt:
    """Return the attempt in which a quota refuses its trigger, while the members before it wait on their nodes."""
    seated = {pod.key for pods in planned.waiting.values() for pod in pods}
    return structs.replace(
        planned,
        prepared=job.prepared(planned.trigger, view.with_pods(planned.waiting)),
        left=tuple(pod for pod in job.pods if pod.key not in seated),
    )


def _seated(
    job: Job, view: View, prepared: Prepared, assignments: Mapping[str, str], in_turn: Sequence[PendingPod]
) -> _Seats | FailedSeat:
    """Return these members on their planned nodes, or the first that its own filters refuse there.

    The plan was made with the trigger's prepared state, and nothing was booked for those who were counted;
    now each pod is tried with its own, and all is booked for those before it.
    """
    trigger = prepared.trigger
    if are_alike(job, trigger, job.pods) and not prepared.books and not prepared.follows_members:
        return _as_placed(in_turn, assignments)
    seats: dict[str, tuple[PendingPod, ...]] = {}
    for found in _tried(job, view, in_turn, assignments):
        if isinstance(found, FailedSeat):
            return found
        node = assignments[found.key]
        seats[node] = (*seats.get(node, ()), found)
    return seats


def _tried(
    job: Job, view: View, in_turn: Sequence[PendingPod], assignments: Mapping[str, str]
) -> Iterator[PendingPod | FailedSeat]:
    """Yield each of these members as it is placed on its planned node beside those before it, or why it is not.

    What is prepared for a member changes with those before it, or is the same for all of its kind.
    """
    kinds = kinds_of(job, view, in_turn)
    own = {kinds[pod.key]: pod for pod in reversed(in_turn)}
    by_kind = {kind: job.prepared(pod, view) for kind, pod in own.items()}
    follows_members = any(one.follows_members for one in by_kind.values())
    if len(by_kind) == 1 and not follows_members:
        (only,) = by_kind.values()
        filled = _filled(view, only, {assignments[pod.key] for pod in in_turn})
        if filled:
            yield from _one_kind(in_turn, assignments, filled, only)
            return
    seats: dict[str, tuple[PendingPod, ...]] = {}
    states: dict[str, NodeState] = {}
    for pod in in_turn:
        node = assignments[pod.key]
        if follows_members:
            now = view.with_pods(seats)
            state, of_pod = now.state(node), job.prepared(pod, now)
        else:
            state, of_pod = states.setdefault(node, view.state(node).copy()), by_kind[kinds[pod.key]]
        found = placed(pod, state, of_pod)
        if not isinstance(found, PendingPod):
            yield FailedSeat(pod.key, node, found, bool(of_pod.reservations))
            continue
        if follows_members:
            seats[node] = (*seats.get(node, ()), found)
        else:
            state.add(found)
        yield found


def _filled(view: View, prepared: Prepared, names: Collection[str]) -> Mapping[str, Filling]:
    """Return these nodes as they are filled with pods like the trigger; none where that is not so for one of them."""
    fill = fillings(view, prepared)
    found = {name: filled for name in names if prepared.refusal is None and (filled := fill(name)) is not None}
    return found if len(found) == len(names) else {}


def _one_kind(
    in_turn: Iterable[PendingPod], assignments: Mapping[str, str], filled: Mapping[str, Filling], prepared: Prepared
) -> Iterator[PendingPod | FailedSeat]:
    """Yield the seats of equal members, from nodes that are filled with such pods."""
    taken: Counter[str] = Counter()
    for pod in in_turn:
        node = assignments[pod.key]
        found = filled[node].seat(pod, taken[node])
        if isinstance(found, PendingPod):
            taken[node] += 1
            yield found
        else:
            yield FailedSeat(pod.key, node, found, bool(prepared.reservations))
