"""The order in which pending jobs are tried, and what those that go first take.

Mirrors `PrioritySort.Less` in kube-scheduler's plugins/queuesort/priority_sort.go: the higher priority goes first. Of
equal priority the one that was queued earlier does, and when that was is in no object.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from heapq import nlargest
from itertools import takewhile
from typing import TypeAlias

from msgspec import Struct, structs

from kubectl_koord.engine.attempt import Attempt, needed
from kubectl_koord.engine.budget import Budget
from kubectl_koord.engine.filters import Prepared
from kubectl_koord.engine.gangs import PodSubject, Subject
from kubectl_koord.engine.slots import in_index_order, offer_slots
from kubectl_koord.engine.state import View
from kubectl_koord.model.pods import PendingPod, RunningPod

_MOST_AHEAD = 64
MOST_WAYS = 24
"""Bound of the ways in which the jobs ahead may go; lower where there are many nodes, or many wait."""
_NODES_IN_ALL, _TRIED_IN_ALL = 1_500, 128
_FEWEST_PREEMPTING, _FEWER_UNKNOWN = 2, 8
_MOST_EQUALS, _FEWEST_ORDERS = 16, 4
_STEPS = 256
"""How many steps the preemption of all jobs ahead may take."""
_MOST_STEPS_OF_EQUALS, _STEPS_OF_EQUALS_IN_ALL = 64, 3_000
"""How many that of all jobs of one priority may: fewer where nodes are more, and once others went first a quarter."""


class After(Struct, frozen=True):
    """The cluster once some jobs have been tried.

    nominated: the pods that are nominated to a node then. preempted: those that have been preempted and terminate, by
    the job for which. went: where jobs went of which it is open, by their name. later: jobs that may as well go first.
    """

    view: View
    nominated: tuple[PendingPod, ...]
    preempted: tuple[tuple[str, tuple[RunningPod, ...]], ...] = ()
    went: tuple[tuple[str, tuple[str, ...]], ...] = ()
    later: tuple[str, ...] = ()


class Placed(Struct, frozen=True):
    """The pods of a job by the node where they go, with what is booked for them."""

    seats: Mapping[str, tuple[PendingPod, ...]]


class Nominated(Struct, frozen=True):
    """The pods of a job that preempts, each nominated to the node that it waits for, and who ends for them."""

    pods: tuple[PendingPod, ...]
    victims: tuple[RunningPod, ...]


class NotPlaced(Struct, frozen=True):
    """That a job finds no place, and preempts nobody."""


Came: TypeAlias = Placed | Nominated | NotPlaced


class Tried(Struct, frozen=True):
    """What may come of a job, the likeliest first; `are_all` is whether nothing else may.

    asked: whether any node was asked. may_be: whether it may be placed all the same where it is not. preempts: whether
    it may preempt others, which was not looked at.
    """

    came: tuple[Came, ...]
    are_all: bool
    asked: bool = True
    may_be: bool = False
    preempts: bool = False


class Preempting(Struct, frozen=True):
    """How far preemption by a job is looked at: in so many steps, and so many outcomes; not at all without steps."""

    budget: Budget
    most: int | None = None


IDLE = Preempting(Budget(0))
Try: TypeAlias = Callable[[Subject, After, Preempting], Tried]
"""Tells what becomes of a job in a variant of the cluster, and whom it preempts as far as that is asked."""


class JobsAhead(Struct, frozen=True):
    """The jobs that go first and may be placed now, or preempt, and the cluster once they have been tried.

    A pod of which the node is undetermined is on any node there, or on none.

    ways: the cluster as they may leave it, the likeliest first; view: that of the first.
    are_all: whether they leave it in one of these ways. undetermined: where that is not so the pods of which it is open
    what nodes they take, from the first such job on, where that may decide.
    elsewhere: those of them that find no place there, and may find one all the same.
    fixed: the cluster with the jobs before these. tried: how many jobs go first, those that find no place included;
    asked: for how many of them nodes were asked. surely: whether they go first whichever of their pods stand for them.
    untried: the pods of jobs that go first, too, and are too many to be tried. unasked: the jobs that may preempt, and
    hold nodes, which was not looked at. equals: the jobs of equal priority that take something: in the first way none
    of them goes first, and some do in the others.
    """

    names: tuple[str, ...]
    ways: tuple[After, ...]
    undetermined: tuple[PendingPod, ...]
    fixed: After
    are_all: bool = True
    tried: int = 0
    asked: int = 0
    surely: bool = True
    elsewhere: tuple[PendingPod, ...] = ()
    untried: tuple[PendingPod, ...] = ()
    unasked: tuple[str, ...] = ()
    equals: tuple[str, ...] = ()

    @property
    def view(self) -> View:
        """The cluster once they have been tried, as it is likeliest."""
        return self.ways[0].view


class _Step(Struct, frozen=True):
    """One job of the queue that was tried, and the cluster after it, in all ways that are followed.

    `tried` is what came of it in the first of them, `takes` whether it takes nodes in any, or holds them. `are_all` is
    whether all ways are followed until then. `elsewhere` is whether one that is not placed may be, as where those
    before it go is open, or what decides about it.
    """

    subject: Subject
    priority: int
    tried: Tried
    ways: tuple[After, ...]
    are_all: bool
    takes: bool
    elsewhere: bool

    @property
    def certain(self) -> bool:
        """Whether nothing else may come of it, where those before it went as is likeliest."""
        return self.tried.are_all and len(self.tried.came) == 1


class Equals(Struct, frozen=True):
    """Jobs of equal priority: those that take something, those that may preempt, and the `untried` of many.

    Of the last two it was not looked at which nodes they hold.
    """

    taking: tuple[Subject, ...] = ()
    unasked: tuple[Subject, ...] = ()
    untried: tuple[Subject, ...] = ()


NO_EQUALS = Equals()


class _Order(Struct, frozen=True):
    """The cluster after some jobs of equal priority, and what each of them took of which way of those before them."""

    after: After
    way: int
    took: frozenset[tuple[str, object]] = frozenset()

    def has(self, job: Subject) -> bool:
        """Tell whether a job went first."""
        return any(key == job.key for key, _ in self.took)


class SchedulingQueue:
    """Pending jobs in the order in which they are tried, each tried once for all who ask."""

    def __init__(self, waiting: Iterable[Subject], now: After, try_job: Try) -> None:
        self._waiting = by_priority(waiting)
        self._now = now
        self._try_job = try_job
        jobs = max(1, min(_MOST_AHEAD, len(self._waiting)))
        in_nodes = _NODES_IN_ALL // max(1, len(now.view.names()))
        self._most_ways = max(1, min(MOST_WAYS, in_nodes, _TRIED_IN_ALL // jobs))
        self._most_preempting = max(_FEWEST_PREEMPTING, in_nodes)
        self._preempting = 0
        self._budget = Budget(_STEPS)
        self._tried: list[_Step] = []
        steps = min(_MOST_STEPS_OF_EQUALS, _STEPS_OF_EQUALS_IN_ALL // max(1, len(now.view.names())))
        self._steps_of_equals = steps
        self._equals: dict[int, Equals] = {}  # by priority
        self._followed: dict[tuple[int, str, object], tuple[tuple[_Order, ...], bool]] = {}
        self._untried_above: dict[int, tuple[PendingPod, ...]] = {}  # by priority
        self._before_open: After | None = None  # the cluster without the first job of which it is open where it goes

    def ahead_of(self, subject: Subject, *, is_planned: bool, others: Equals = NO_EQUALS) -> JobsAhead:
        """Return what jobs of strictly higher priority take before a subject is tried: the first, if they are many.

        `is_planned` is whether the subject is placed by topology, `others` are those of equal priority that may go
        first, too: those that were not tried on any nodes.
        """
        steps = self._before(priority(subject))
        ways, are_all = (steps[-1].ways, steps[-1].are_all) if steps else ((self._now,), True)
        if others.taking:
            ways, is_each = self._in_each_order(priority(subject), ways, others.taking)
            are_all = are_all and is_each
        equals = (*others.taking, *others.untried)
        are_all = are_all and not others.untried
        taking = [step for step in steps if step.takes]
        fixed = [*takewhile(lambda step: _is_determined(step, subject, is_planned=is_planned), taking)]
        elsewhere = [step.subject for step in steps if step.elsewhere]
        pods = () if are_all else _pods_of((*elsewhere, *equals))
        return JobsAhead(
            names=tuple(step.subject.key for step in steps if step.takes or step.elsewhere),
            ways=ways,
            are_all=are_all,
            undetermined=() if are_all else (*_pods_of(step.subject for step in taking[len(fixed) :]), *pods),
            elsewhere=pods,
            fixed=fixed[-1].ways[0] if fixed else self._now,
            untried=self._never_tried(priority(subject)),
            tried=len(steps),
            asked=sum(step.tried.asked for step in steps),
            unasked=tuple(step.subject.key for step in steps if step.tried.preempts),
            surely=all(least_priority(step.subject) > priority(subject) for step in taking),
            equals=tuple(other.key for other in equals),
        )

    def equals(self, subject: Subject, beside: Collection[str]) -> Equals:
        """Return who of equal priority takes something where it is tried before a subject: of many, the first.

        Those of the pods `beside` it are left out.
        """
        own = priority(subject)
        if own not in self._equals:
            self._equals[own] = self._tried_as_equals(own)
        without = {*beside, *(pod.key for pod in subject.pending)}
        return Equals(
            *(
                tuple(other for other in found if without.isdisjoint(pod.key for pod in other.pending))
                for found in structs.astuple(self._equals[own])
            )
        )

    def _tried_as_equals(self, own: int) -> Equals:
        before = self._before(own)
        now, preempting = before[-1].ways[0] if before else self._now, Preempting(Budget(self._steps_of_equals))
        taking: list[Subject] = []
        unasked: list[Subject] = []
        every = [other for other in self._waiting if priority(other) == own]
        for other in every[:_MOST_EQUALS]:
            tried = self._try_job(other, now, preempting)
            came = tried.came[0]
            if tried.preempts or (isinstance(came, Nominated) and not tried.are_all):
                unasked.append(other)
            elif not isinstance(came, NotPlaced):
                taking.append(other)
        return Equals(tuple(taking), tuple(unasked), tuple(every[_MOST_EQUALS:]))

    def knows_before(self, subject: Subject) -> bool:
        """Tell whether all jobs that go before a subject have been tried."""
        return not any(self._untried(priority(subject)))

    def _before(self, own: int) -> list[_Step]:
        for other in self._untried(own):
            self._tried.append(self._try(other))
        return [*takewhile(lambda step: step.priority > own, self._tried)]

    def _untried(self, own: int) -> Iterable[Subject]:
        untried = self._waiting[len(self._tried) : _MOST_AHEAD]
        return takewhile(lambda other: priority(other) > own, untried)

    def _never_tried(self, own: int) -> tuple[PendingPod, ...]:
        if own not in self._untried_above:
            rest = takewhile(lambda other: priority(other) > own, self._waiting[_MOST_AHEAD:])
            self._untried_above[own] = tuple(pod for other in rest for pod in other.pending)
        return self._untried_above[own]

    def _try(self, other: Subject) -> _Step:
        is_known = not self._tried or self._tried[-1].are_all
        before = self._tried[-1].ways[: None if is_known else 1] if self._tried else (self._now,)
        tried = [self._try_job(other, way, self._how_far(is_known=is_known)) for way in before]
        self._preempting += any(each.asked and not isinstance(each.came[0], Placed) for each in tried)
        is_few = is_known and sum(len(each.came) for each in tried) <= self._most_ways
        ways = tuple(
            _after(other.key, way, one, is_open=len(each.came) > 1)
            for way, each in zip(before, tried, strict=True)
            for one in (each.came if is_few else each.came[:1])
        )
        are_all = is_few and all(each.are_all for each in tried)
        likely = tried[0]
        is_placed = isinstance(likely.came[0], Placed)
        if is_placed and not (likely.are_all and len(likely.came) == 1) and self._before_open is None:
            self._before_open = before[0]
        takes = [not isinstance(each.came[0], NotPlaced) for each in tried]
        may_be = not takes[0] and (likely.may_be or any(takes))
        elsewhere = may_be or (not takes[0] and not are_all and self._is_placed_elsewhere(other))
        return _Step(other, priority(other), likely, ways, are_all, any(takes), elsewhere)

    def _how_far(self, *, is_known: bool) -> Preempting:
        """Return how far preemption by the next job is looked at: by few jobs once not all ways are known."""
        most = self._most_preempting if is_known else max(_FEWEST_PREEMPTING, self._most_preempting // _FEWER_UNKNOWN)
        if self._preempting >= most:
            return IDLE
        return Preempting(self._budget, None if is_known else 1)

    def _in_each_order(
        self, own: int, before: Sequence[After], equals: Sequence[Subject]
    ) -> tuple[tuple[After, ...], bool]:
        """Return the cluster as jobs of equal priority may leave it, none of them first, and whether this is all."""
        most = max(_FEWEST_ORDERS, self._most_ways, len(before))
        found = {(way, frozenset[tuple[str, object]]()): _Order(after, way) for way, after in enumerate(before)}
        left = [*found.values()]
        are_all = True
        for order in left:
            for other in equals:
                if order.has(other):
                    continue
                following, is_each = self._following(own, order, other)
                are_all = are_all and is_each
                for one in following:
                    if (one.way, one.took) in found:
                        continue
                    if len(found) == most:
                        return _told_apart(found.values(), equals), False
                    found[one.way, one.took] = one
                    left.append(one)
        return _told_apart(found.values(), equals), are_all

    def _following(self, own: int, order: _Order, other: Subject) -> tuple[tuple[_Order, ...], bool]:
        """Return the cluster after one job more, where it takes something, and whether nothing else may come of it."""
        key = (order.way, other.key, (own, order.took))
        if key not in self._followed:
            tried = self._try_job(other, order.after, Preempting(Budget(self._steps_of_equals // 4)))
            following = tuple(
                _Order(
                    _after(other.key, order.after, one, is_open=True),
                    order.way,
                    order.took | {(other.key, _taken_by(one))},
                )
                for one in tried.came
                if not isinstance(one, NotPlaced)
            )
            self._followed[key] = following, tried.are_all
        return self._followed[key]

    def _is_placed_elsewhere(self, other: Subject) -> bool:
        """Tell whether a job that finds no place would, were it not for those of which it is open where they go."""
        before = self._before_open
        return before is not None and isinstance(self._try_job(other, before, IDLE).came[0], Placed)


def _after(key: str, before: After, came: Came, *, is_open: bool) -> After:
    """Return the cluster after a job of which this came; `is_open` is whether anything else might have."""
    if isinstance(came, NotPlaced):
        return structs.replace(before, went=(*before.went, (key, ()))) if is_open else before
    if isinstance(came, Nominated):
        return _waiting_for(key, before, came, is_open=is_open)
    return structs.replace(
        before,
        view=before.view.with_pods(came.seats),
        nominated=_without(before.nominated, (pod for pods in came.seats.values() for pod in pods)),
        went=(*before.went, (key, tuple(sorted(came.seats)))) if is_open else before.went,
    )


def _waiting_for(key: str, before: After, came: Nominated, *, is_open: bool) -> After:
    """Return the cluster in which a job waits for its victims: its pods hold their nodes, and these terminate."""
    return structs.replace(
        before,
        view=before.view.preempting(came.victims),
        nominated=(*_without(before.nominated, came.pods), *came.pods),
        preempted=(*before.preempted, (key, came.victims)),
        went=(*before.went, (key, tuple(sorted({pod.nominated for pod in came.pods})))) if is_open else before.went,
    )


def _taken_by(came: Placed | Nominated) -> object:
    """Return what tells apart what jobs take."""
    if isinstance(came, Nominated):
        return frozenset((pod.key, pod.nominated) for pod in came.pods), frozenset(pod.key for pod in came.victims)
    return frozenset((node, tuple(pod.key for pod in pods)) for node, pods in came.seats.items())


def _told_apart(orders: Iterable[_Order], equals: Iterable[Subject]) -> tuple[After, ...]:
    """Return what comes of orders, of that in which none of the others goes first with who may as well."""
    later = tuple(other.key for other in equals)
    return tuple(order.after if order.took else structs.replace(order.after, later=later) for order in orders)


def _without(nominated: Sequence[PendingPod], pods: Iterable[PendingPod]) -> tuple[PendingPod, ...]:
    if not nominated:
        return ()
    keys = {pod.key for pod in pods}
    return tuple(pod for pod in nominated if pod.key not in keys)


def _pods_of(subjects: Iterable[Subject]) -> tuple[PendingPod, ...]:
    return tuple(pod for subject in subjects for pod in subject.pending)


def _is_determined(step: _Step, subject: Subject, *, is_planned: bool) -> bool:
    """Tell whether it is known where a job goes, or does not matter: pods all alike, and no topology."""
    requirements = {pod.requirements for each in (subject, step.subject) for pod in each.pending}
    return step.certain or (len(requirements) == 1 and not is_planned)


def may_fit_wherever(subject: Subject, ahead: JobsAhead, prepared: Iterable[Prepared]) -> bool:
    """Tell whether `fits_wherever` can find that it does: it compares pods that are alike, and take room alone.

    One of what is prepared must do; it is asked for last.
    """
    are_alike = len({pod.requirements for pod in subject.pending}) == 1
    if not are_alike or any(pod.requirements.pod_anti_affinity for pod in ahead.undetermined):
        return False
    return not all(one.books for one in prepared)


def fits_wherever(subject: Subject, ahead: JobsAhead, first: Attempt, multiples: Mapping[str, int]) -> bool:
    """Tell whether a subject is surely placed, whatever nodes the undetermined pods ahead of it take.

    It is when they are too few to take, from every domain that has room, the slots that this one can spare. No is no
    proof of the contrary. None of them takes more slots than its requests are worth, nor those of more than one node.

    Args:
        subject: what is tried after the jobs ahead, and may fit wherever these go.
        ahead: these jobs; some pods of theirs are undetermined.
        first: the attempt at the subject in the cluster without the undetermined pods.
        multiples: the pod count multiple by layer.
    """
    pods = subject.pending
    prepared = first.prepared
    if first.placement is None or not prepared.counts_only_room:
        return False
    taken = [_slots_taken_by(pod, pods[0]) for pod in ahead.undetermined]
    plan = first.plan
    if plan is None:
        offer = offer_slots(ahead.fixed.view, ahead.fixed.view.names(), in_index_order(pods), first.prepared)
        largest = nlargest(len(taken), offer.counts.by_name.values())
        return offer.counts.total() - _wanted_at_once(subject) >= min(sum(taken), sum(largest))
    most = max(taken)
    top = plan.tree.domains[plan.start[0]].layer
    below = takewhile(lambda layer: layer != top, reversed(plan.tree.layers))
    for layer in (*below, top):
        multiple = multiples.get(layer, 1)
        most = -(-most // multiple) * multiple
    spare = [slots - plan.desired for slots in plan.offered]
    return sum(few // most + 1 for few in spare if few >= 0) > len(ahead.undetermined)


def _slots_taken_by(pod: PendingPod, member: PendingPod) -> int:
    """Return the most offer slots that a pod can take from a node: by its requests, or by its place."""
    asked = dict(pod.requirements.requests)
    return max((-(-asked.get(resource, 0) // need) for resource, need in member.requirements.requests), default=1) or 1


def _wanted_at_once(subject: Subject) -> int:
    """Return how many pods at most must find a place together, for a subject without a plan."""
    if isinstance(subject, PodSubject) or subject.group.is_satisfied() or len(subject.gangs) > 1:
        return len(subject.pending)
    return max(1, *needed(subject.group).values())


def priority(subject: Subject) -> int:
    """Return the highest priority with which a subject may be tried: that of a pending pod that may stand for it.

    One that is being deleted or has a scheduling gate never comes to the queue.
    """
    return max(_priorities(subject), default=0)


def least_priority(subject: Subject) -> int:
    """Return the lowest: which pod stands for a gang in the queue is in no object (`RecordIfNoRepresentatives`)."""
    return min(_priorities(subject), default=0)


def _priorities(subject: Subject) -> list[int]:
    pods = subject.pending
    return [pod.priority for pod in pods if not (pod.terminating or pod.gates)] or [pod.priority for pod in pods]


def by_priority(subjects: Iterable[Subject]) -> list[Subject]:
    """Return subjects by priority, the highest first, and by name where it is equal."""
    return sorted(subjects, key=lambda subject: (-priority(subject), subject.key))


def by_priority_and_age(subjects: Iterable[Subject]) -> list[Subject]:
    """Return subjects by priority, the highest first; of equal priority the oldest first, as if queued when created."""

    def order(subject: Subject) -> tuple[int, str, str]:
        return -priority(subject), min((pod.created for pod in subject.pending), default=""), subject.key

    return sorted(subjects, key=order)


def higher_priority(subjects: Iterable[Subject], own: int) -> tuple[Subject, ...]:
    """Return the subjects of a priority above this one, the highest first: the first of them, if they are many."""
    return tuple(by_priority(subject for subject in subjects if priority(subject) > own)[:_MOST_AHEAD])
