"""Pending jobs that want the same place: those tried before a gang, or perhaps before it, and what they leave.

The order and what follows from it is in engine/queue.py; here, of which jobs enough was read to tell where they go.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import islice

from msgspec import Struct, structs

from kubectl_koord.diagnosis import coverage
from kubectl_koord.engine.admission import before_trying, is_open
from kubectl_koord.engine.attempt import Attempt
from kubectl_koord.engine.gangs import GangSubject, Subject
from kubectl_koord.engine.preemption import Preemption
from kubectl_koord.engine.queue import (
    IDLE,
    MOST_WAYS,
    After,
    Came,
    Equals,
    JobsAhead,
    Nominated,
    NotPlaced,
    Placed,
    Preempting,
    SchedulingQueue,
    Tried,
    by_priority_and_age,
    fits_wherever,
    higher_priority,
    may_fit_wherever,
    priority,
)
from kubectl_koord.engine.quota.tree import quotas_of
from kubectl_koord.engine.rounds import Outcome
from kubectl_koord.engine.slots import in_index_order, offer_slots
from kubectl_koord.engine.state import View
from kubectl_koord.engine.tree import NoTree, Tree
from kubectl_koord.model.snapshot import Gap, Snapshot
from kubectl_koord.model.values import Identity, memoised
from kubectl_koord.reports.jobs import Contention
from kubectl_koord.simulation.simulation import (
    Scenario,
    Simulation,
    all_place,
    first_effects,
    is_surely_placed,
    is_within_quotas,
    next_attempt,
    open_outcomes,
    seats,
    triggers,
)
from kubectl_koord.simulation.subjects import pending_subjects

_MOST_STEPS = 64
"""How many steps preemption by one job ahead may take."""
_FEWEST_TRIED, _NODES_IN_ALL = 20, 300_000


class Case(Struct, frozen=True):
    """What comes of a subject once others have been tried; `went` says where those went of which that is open.

    `later` are those of equal priority, where none of them goes first.
    """

    simulation: Simulation
    outcomes: tuple[Outcome, ...]
    went: tuple[tuple[str, tuple[str, ...]], ...] = ()
    later: tuple[str, ...] = ()


class LeftByJobsAhead(Struct, frozen=True, dict=True):
    """What the jobs that go first leave to a subject that would be placed alone."""

    simulation: Simulation
    ahead: JobsAhead

    @property
    def names(self) -> tuple[str, ...]:
        """Who of higher priority goes first and would be placed now."""
        return self.ahead.names

    @property
    def equals(self) -> tuple[str, ...]:
        """Who of equal priority goes first in some of the ways."""
        return self.ahead.equals

    @cached_property
    def in_the_way(self) -> tuple[str, ...]:
        """Who of equal priority may take the place of the subject: those that went first where it finds none."""
        return went_first(self.equals, (case for case in self.cases if not all_place(case.outcomes)))

    @property
    def certain(self) -> bool:
        """Whether it is known that they go first, and where, or that does not matter."""
        return self.ahead.surely and not self.ahead.undetermined and len(self.came) == 1

    @property
    def is_known(self) -> bool:
        """Whether they go first for sure, and all that may come of them is followed."""
        return self.ahead.are_all and self.ahead.surely

    @cached_property
    def seen(self) -> tuple[Simulation, ...]:
        """The subject once they have been tried, in all ways that are followed, the likeliest first."""
        return tuple(map(self.simulation.after, self.ahead.ways))

    @property
    def view(self) -> View:
        """The cluster once they are placed."""
        return self.seen[0].view

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """What comes of the subject in each of these ways."""
        ways = zip(self.ahead.ways, self.seen, strict=True)
        return tuple(Case(seen, next_attempt(seen), way.went, way.later) for way, seen in ways)

    @cached_property
    def came(self) -> frozenset[bool]:
        """Whether the subject is placed, in each of these ways."""
        return frozenset(one.placed_at_once for seen in self.seen for one in open_outcomes(seen, preemption=False))

    @cached_property
    def outcome(self) -> Outcome:
        """What comes of the subject then: one that does not place it, where there is any."""
        left = [one for seen in self.seen for one in open_outcomes(seen, preemption=False)]
        return next((outcome for outcome in left if not outcome.placed_at_once), left[0])

    @cached_property
    def leaves_room(self) -> bool:
        """Whether it is placed wherever those before it go."""
        if not self.ahead.undetermined:
            return self.outcome.placed_at_once
        return self._has_nodes_to_spare() or (
            _may_fit_wherever(self.seen[0], self.ahead)
            and self.outcome.placed_at_once
            and is_within_quotas(self.seen[0], self._with_all)
            and self._fits_wherever()
        )

    def surely_places(self, alone: Attempt) -> bool:
        """Tell whether its outcome surely places the subject, which has no plan: no is no proof of the contrary.

        Looked at are nodes that take a pod of its where it is tried `alone`, and on which jobs ahead take nothing.
        """
        return is_surely_placed(self.seen[0], self.view, self._untaken(alone, self.view))

    def _has_nodes_to_spare(self) -> bool:
        """Tell whether more nodes take a pod of the subject than those that go first can take away, one each.

        Of those that were not tried it is not known what they take of quotas.
        """
        untried = self.ahead.untried
        if self.simulation.has_topology or (untried and self._is_limited):
            return False
        others = (*self.ahead.undetermined, *untried)
        if any(pod.requirements.pod_anti_affinity for pod in others):
            return False
        alone = next_attempt(self.simulation)[0].first
        nodes = self._untaken(alone, self.ahead.fixed.view)
        return is_surely_placed(self.seen[0], self._with_all, nodes, len(others))

    @property
    def _is_limited(self) -> bool:
        """Whether a quota may refuse the subject."""
        return any(map(quotas_of(self.view).may_refuse, self.simulation.subject.pending))

    @cached_property
    def _with_all(self) -> View:
        """The cluster with those, too, who may be placed all the same: on any node, as quotas count them."""
        anywhere = next(iter(self.view.names()), None)
        return self.view.with_pods({anywhere: self.ahead.elsewhere}) if anywhere and self.ahead.elsewhere else self.view

    def _untaken(self, alone: Attempt, after: View) -> Iterator[str]:
        """Yield nodes that take a pod of the subject where it is tried alone, and on which nobody has come since."""
        now, pods = self.simulation.view, in_index_order(self.simulation.subject.pending)
        for name in offer_slots(now, now.names(), pods, alone.prepared).counts:
            if after.occupants(name) is now.occupants(name):
                yield name

    def _fits_wherever(self) -> bool:
        subject, ahead, after = self.simulation.subject, self.ahead, self.outcome.first
        return may_fit_wherever(subject, ahead, (after.prepared,)) and all(
            fits_wherever(subject, ahead, outcome.first, self.simulation.multiples)
            for outcome in open_outcomes(self.simulation.after(ahead.fixed), preemption=False)
        )


def went_first(jobs: Sequence[str], cases: Iterable[Case]) -> tuple[str, ...]:
    """Return which of some jobs take nodes in these cases, in as few of them as do; all of them where none does."""
    taking = {key for case in as_few_first(cases) for key, nodes in case.went if nodes}
    return tuple(key for key in jobs if key in taking or not taking)


def as_few_first(cases: Iterable[Case]) -> list[Case]:
    """Return cases without those in which the same jobs take nodes first as in another, and more besides."""
    every = [(case, {key for key, nodes in case.went if nodes}) for case in cases]
    return [case for case, first in every if not any(fewer < first for _, fewer in every)]


def _may_fit_wherever(simulation: Simulation, ahead: JobsAhead) -> bool:
    """Tell whether the subject may surely fit whichever of its pods is tried first, before any of them is."""
    prepared = (simulation.prepared(pod, ahead.view) for pod in triggers(simulation))
    return may_fit_wherever(simulation.subject, ahead, prepared)


@memoised
def _scheduling_queue(view: View, snapshot: Identity[Snapshot], tree: Identity[Tree | NoTree]) -> SchedulingQueue:
    cluster = Scenario(snapshot.value, view, tree.value)
    now = After(view, snapshot.value.nominated)
    return SchedulingQueue(pending_subjects(snapshot.value), now, partial(_tried, cluster))


def left_by_jobs_ahead(simulation: Simulation) -> LeftByJobsAhead | None:
    """Return what jobs of strictly higher priority leave to the subject, which is tried after them; None for none."""
    return left_by(simulation, jobs_ahead(simulation))


def equals(simulation: Simulation, beside: Collection[str] = ()) -> Equals:
    """Return who of equal priority takes something where it is tried before the subject, or may, by preemption.

    The pods `beside` the subject are of jobs that are asked about together with it, and stay out of its way.
    """
    return _queue_of(simulation).equals(simulation.subject, beside)


def left_by_others(simulation: Simulation, others: Equals) -> LeftByJobsAhead:
    """Return what jobs of strictly higher priority leave, and others of equal priority, which may as well go first."""
    queue = _queue_of(simulation)
    return LeftByJobsAhead(
        simulation, queue.ahead_of(simulation.subject, is_planned=simulation.has_topology, others=others)
    )


def left_by(simulation: Simulation, ahead: JobsAhead) -> LeftByJobsAhead | None:
    """Return what jobs leave that go first; None where there are none."""
    return LeftByJobsAhead(simulation, ahead) if ahead.names else None


def jobs_ahead(simulation: Simulation) -> JobsAhead:
    """Return what jobs of strictly higher priority take before the subject is tried, as far as was read."""
    return _queue_of(simulation).ahead_of(simulation.subject, is_planned=simulation.has_topology)


def are_nodes_known(simulation: Simulation) -> bool:
    """Tell whether it is known which nodes these jobs take."""
    return not _queue_of(simulation).ahead_of(simulation.subject, is_planned=True).undetermined


def knows_jobs_ahead(simulation: Simulation) -> bool:
    """Tell whether it is known already what these jobs take."""
    return _queue_of(simulation).knows_before(simulation.subject)


def _queue_of(simulation: Simulation) -> SchedulingQueue:
    return _scheduling_queue(simulation.view, Identity(simulation.seen_by_others), Identity(simulation.tree))


class InTurn(Struct, frozen=True):
    """What comes of jobs that are tried one after the other: who finds no place, and where the others go."""

    contentions: tuple[Contention, ...]
    placements: Mapping[str, Mapping[str, str]]


def in_turn(cluster: Scenario, subjects: Iterable[Subject]) -> InTurn:
    """Return who, among subjects that would be placed alone, finds no place once those before it are placed.

    They are tried by priority, then age; which of equal priority goes first is in no object. Of very many in
    a very large cluster only the first are tried.
    """
    found: list[Contention] = []
    view = cluster.view
    taken: dict[str, Mapping[str, str]] = {}
    most = max(_FEWEST_TRIED, _NODES_IN_ALL // max(1, len(view.names())))
    for subject in by_priority_and_age(subjects)[:most]:
        placed = _placed(cluster, subject, view)
        if placed is None:
            wanted = _wanted(cluster, subject)
            others = [key for key, nodes in taken.items() if wanted & {*nodes.values()}]
            found.append(Contention(subject.key, tuple(others or taken)))
            continue
        taken[subject.key] = {pod.key: node for node, pods in placed.seats.items() for pod in pods}
        view = view.with_pods(placed.seats)
    return InTurn(tuple(found), taken)


def _wanted(cluster: Scenario, subject: Subject) -> set[str]:
    """Return the nodes that a subject wants: those of its plan, or for one without a plan all that take a pod."""
    first = next_attempt(cluster.simulation(subject))[0].first
    if first.plan is not None:
        return set((first.placement or {}).values())
    return set(offer_slots(cluster.view, cluster.view.names(), in_index_order(subject.pending), first.prepared).counts)


def higher_priority_jobs(simulation: Simulation) -> tuple[Subject, ...]:
    """Return the pending jobs of strictly higher priority, the highest first."""
    return jobs_above(simulation.seen_by_others, priority(simulation.subject))


@memoised
def jobs_above(snapshot: Snapshot, own: int) -> tuple[Subject, ...]:
    """Return the pending jobs of a priority above this one, the highest first."""
    return higher_priority(pending_subjects(snapshot), own)


def unread_higher_priority_jobs(simulation: Simulation) -> tuple[Gap, ...]:
    """Return the gaps that leave open whether pending jobs of strictly higher priority take the subject's place."""
    own = priority(simulation.subject)
    found = _not_judged(simulation.snapshot)
    return tuple(dict.fromkeys(gap for gaps, most in found.items() if most > own for gap in gaps))


@memoised
def _not_judged(snapshot: Snapshot) -> dict[tuple[Gap, ...], int]:
    """Return the highest priority of the pending jobs that the same gaps keep from being judged."""
    found: dict[tuple[Gap, ...], int] = {}
    for other in pending_subjects(snapshot):
        if gaps := coverage.unread_for(other, snapshot):
            found[gaps] = max(found.get(gaps, priority(other)), priority(other))
    return found


def _placed(cluster: Scenario, other: Subject, view: View) -> Placed | None:
    """Return where another job would go; None when it would not be placed, or what was read does not tell."""
    found = _tried(cluster, other, After(view, cluster.snapshot.nominated), IDLE).came[0]
    return found if isinstance(found, Placed) else None


def _tried(
    cluster: Scenario,
    other: Subject,
    now: After,
    preempting: Preempting,
) -> Tried:
    """Return what becomes of another job that is tried now, and whom it preempts as far as that is looked at."""
    preempts = preempting.budget.left > 0
    snapshot = cluster.snapshot
    blockers = before_trying(other, snapshot, cluster.tree)
    if blockers:
        return _not_tried(may_be=is_open(blockers[0]))
    if coverage.unread_for(other, snapshot):
        return Tried((NotPlaced(),), are_all=False, asked=False)
    unevaluated = coverage.not_evaluated(other, snapshot)
    simulation = Scenario(snapshot, cluster.view, cluster.tree).simulation(other).after(now)
    outcomes = open_outcomes(simulation, preemption=False)
    if outcomes[0].first.placement is not None:
        return _seated(simulation, outcomes, is_sure=not (unevaluated or outcomes[0].followed))
    asked = any(outcome.first.prefilter is None for outcome in outcomes)
    may_be = any(one.may_admit for one in unevaluated) or any(one.placed_at_once or one.races for one in outcomes)
    if not preempts or may_be:
        may_preempt = asked and not preempts and snapshot.config.preemption
        return Tried(
            (NotPlaced(),), are_all=not (may_be or may_preempt), asked=asked, may_be=may_be, preempts=may_preempt
        )
    return structs.replace(_preempting(simulation, preempting, is_sure=not unevaluated), asked=asked)


def _not_tried(*, may_be: bool) -> Tried:
    return Tried((NotPlaced(),), are_all=not may_be, asked=False, may_be=may_be)


def _seated(simulation: Simulation, outcomes: Sequence[Outcome], *, is_sure: bool) -> Tried:
    """Return where a job goes that finds a place, on whichever nodes: of a plan they are known, of others if few."""
    likely = outcomes[0]
    found = [seats(simulation, one) for one in outcomes[:MOST_WAYS] if one.placed_at_once]
    is_sure = is_sure and len(outcomes) <= MOST_WAYS and all(outcome.placed_at_once for outcome in outcomes)
    if likely.first.plan is None:
        every = [*islice(_spread(simulation, likely.first), MOST_WAYS + 1)] if is_sure else []
        is_sure = 0 < len(every) <= MOST_WAYS
        found = [seats(simulation, likely, placement) for placement in every] if is_sure else found[:1]
    return Tried(tuple(map(Placed, found)), are_all=is_sure)


def _spread(simulation: Simulation, first: Attempt) -> Iterator[Mapping[str, str]]:
    """Yield the placements of pods without a plan that are alike, one for each set of nodes; none where others decide.

    A pod goes to the node to which it is nominated where that takes it (`evaluateNominatedNode` in kube-scheduler's
    schedule_one.go).
    """
    pods, prepared = in_index_order(simulation.subject.pending), first.prepared
    placement = first.placement or {}
    are_alike = len({(pod.requirements, pod.labels, pod.gang) for pod in pods}) == 1
    is_open = prepared.may_fail_to_reserve or prepared.follows_members or prepared.reservations or first.unbookable
    if is_open or not are_alike or len(placement) < len(pods) or not simulation.is_landing_known:
        return
    slots = offer_slots(simulation.view, simulation.view.names(), pods, prepared).counts.by_name
    held = Counter(pod.nominated for pod in pods)
    if all(number <= slots.get(name, 0) for name, number in held.items()):
        yield {pod.key: pod.nominated for pod in pods}
        return
    keys = [pod.key for pod in pods]
    order = sorted(slots.items(), key=lambda one: (one[0] not in placement.values(), one[0]))
    for names in _drawn(order, len(keys)):
        yield dict(zip(keys, names, strict=True))


def _drawn(slots: Sequence[tuple[str, int]], number: int) -> Iterator[tuple[str, ...]]:
    """Yield the ways in which so many pods may be spread over slots of nodes."""
    left = sum(many for _, many in slots)
    for at, (name, most) in enumerate(slots):
        if left < number:
            return
        left -= most
        for many in range(min(most, number), 0, -1):
            if many == number:
                yield (name,) * many
            else:
                yield from ((name,) * many + rest for rest in _drawn(slots[at + 1 :], number - many))


def _held(effect: Preemption) -> Iterator[Mapping[str, str]]:
    """Yield the nodes that pods hold once their job has preempted, by `namespace/name`.

    Members that waited in Permit are let go then, which takes their nominations out of the scheduler's memory
    (`handleBindingCycleError` in kube-scheduler), until it sees them come back from the API server.
    """
    yield {pod: node for pod, node in effect.nominations.items() if pod not in effect.waited}
    if effect.waited:
        yield dict(effect.nominations)


def _preempting(simulation: Simulation, asked: Preempting, *, is_sure: bool) -> Tried:
    """Return what a job holds that finds no place and preempts others."""
    found: dict[object, Came] = {}
    is_followed = not (isinstance(simulation.subject, GangSubject) and simulation.subject.group.is_satisfied())
    budget = asked.budget.part(min(simulation.steps, _MOST_STEPS))
    effects = first_effects(simulation, budget) if is_followed else iter(())
    for effect in islice(effects, asked.most):
        is_sure = is_sure and not effect.retried
        if effect.reason is None and not effect.retried:
            for held in _held(effect):
                pods = (pod for pod in simulation.subject.pending if pod.key in held)
                waiting = tuple(structs.replace(pod, nominated=held[pod.key]) for pod in pods)
                key = (tuple(sorted(held.items())), frozenset(pod.key for pod in effect.victims))
                found.setdefault(key, Nominated(waiting, effect.victims))
    is_sure = is_sure and is_followed and next(effects, None) is None and not budget.is_cut
    return Tried((*found.values(),) or (NotPlaced(),), are_all=is_sure)
