"""Pending jobs that want the same place: those tried before a gang, or perhaps before it, and what they leave.

The order and what follows from it is in engine/queue.py; here, of which jobs enough was read to tell where they go.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, partial

from msgspec import Struct

from kubectl_koord.diagnosis import coverage, visibility
from kubectl_koord.engine.admission.before_trying import before_trying, is_open
from kubectl_koord.engine.admission.queue import (
    JobsAhead,
    NotPlaced,
    Placed,
    SchedulingQueue,
    by_priority_and_age,
    fits_wherever,
    higher_priority,
    may_fit_wherever,
    priority,
)
from kubectl_koord.engine.attempts.attempt import Attempt
from kubectl_koord.engine.quota.tree import quotas_of
from kubectl_koord.engine.rounds import Outcome
from kubectl_koord.engine.slots import in_index_order, offer_slots
from kubectl_koord.engine.subjects import Subject
from kubectl_koord.engine.tree import NoTree, Tree
from kubectl_koord.engine.view import View
from kubectl_koord.model.snapshot import Gap, Snapshot
from kubectl_koord.model.values.memo import Identity, memoised
from kubectl_koord.reports.jobs.pending import Contention
from kubectl_koord.simulation.simulation import (
    Scenario,
    Simulation,
    all_place,
    is_surely_placed,
    is_within_quotas,
    next_attempt,
    open_outcomes,
    seats,
    triggers,
)
from kubectl_koord.simulation.subjects import pending_subjects

_MOST_EQUALS = 16
_FEWEST_TRIED, _NODES_IN_ALL = 20, 300_000


class LeftByJobsAhead(Struct, frozen=True, dict=True):
    """What the jobs that go first leave to a subject that would be placed alone."""

    simulation: Simulation
    ahead: JobsAhead

    @property
    def names(self) -> tuple[str, ...]:
        """Who goes first and would be placed now."""
        return self.ahead.names

    @property
    def view(self) -> View:
        """The cluster once they are placed."""
        return self.ahead.view

    @property
    def certain(self) -> bool:
        """Whether it is known that they go first, and where, or that does not matter."""
        return self.ahead.surely and not self.ahead.undetermined

    @cached_property
    def outcome(self) -> Outcome:
        """What comes of the subject then: one that does not place it, where there is any."""
        left = open_outcomes(self.simulation, self.view, preemption=False)
        return next((outcome for outcome in left if not outcome.placed_at_once), left[0])

    @cached_property
    def leaves_room(self) -> bool:
        """Whether it is placed wherever those before it go."""
        if not self.ahead.undetermined:
            return self.outcome.placed_at_once
        return self._has_nodes_to_spare() or (
            _may_fit_wherever(self.simulation, self.ahead)
            and self.outcome.placed_at_once
            and is_within_quotas(self.simulation, self._with_all)
            and self._fits_wherever()
        )

    def surely_places(self, alone: Attempt) -> bool:
        """Tell whether its outcome surely places the subject, which has no plan: no is no proof of the contrary.

        Looked at are nodes that take a pod of its where it is tried `alone`, and on which jobs ahead take nothing.
        """
        return is_surely_placed(self.simulation, self.view, self._untaken(alone, self.view))

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
        nodes = self._untaken(alone, self.ahead.fixed)
        return is_surely_placed(self.simulation, self._with_all, nodes, len(others))

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
            for outcome in open_outcomes(self.simulation, ahead.fixed, preemption=False)
        )


def _may_fit_wherever(simulation: Simulation, ahead: JobsAhead) -> bool:
    """Tell whether the subject may surely fit whichever of its pods is tried first, before any of them is."""
    prepared = (simulation.prepared(pod, ahead.view) for pod in triggers(simulation))
    return may_fit_wherever(simulation.subject, ahead, prepared)


@memoised
def _scheduling_queue(view: View, snapshot: Identity[Snapshot], tree: Identity[Tree | NoTree]) -> SchedulingQueue:
    """Return the queue of one variant of the cluster."""
    cluster = Scenario(snapshot.value, view, tree.value)
    return SchedulingQueue(pending_subjects(snapshot.value), view, partial(_tried, cluster))


def left_by_jobs_ahead(simulation: Simulation) -> LeftByJobsAhead | None:
    """Return what jobs of strictly higher priority leave to the subject, which is tried after them; None for none."""
    return left_by(simulation, jobs_ahead(simulation))


def left_by(simulation: Simulation, ahead: JobsAhead) -> LeftByJobsAhead | None:
    """Return the same of jobs that take what is given."""
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


def contentions(cluster: Scenario, subjects: Iterable[Subject]) -> tuple[Contention, ...]:
    """Return who, among subjects that would be placed alone, finds no place once those before it are placed.

    They are tried by priority, then age; which of equal priority goes first is in no object. Of very many in
    a very large cluster only the first are tried.
    """
    found: list[Contention] = []
    view = cluster.view
    taken: dict[str, set[str]] = {}
    most = max(_FEWEST_TRIED, _NODES_IN_ALL // max(1, len(view.names())))
    for subject in by_priority_and_age(subjects)[:most]:
        placed = _placed(cluster, subject, view)
        if placed is None:
            wanted = _wanted(cluster, subject)
            others = [key for key, nodes in taken.items() if nodes & wanted]
            found.append(Contention(subject.key, tuple(others or taken)))
            continue
        taken[subject.key] = set(placed.seats)
        view = view.with_pods(placed.seats)
    return tuple(found)


def _wanted(cluster: Scenario, subject: Subject) -> set[str]:
    """Return the nodes that a subject wants: those of its plan, or for one without a plan all that take a pod."""
    first = next_attempt(cluster.simulation(subject))[0].first
    if first.plan is not None:
        return set((first.placement or {}).values())
    return set(offer_slots(cluster.view, cluster.view.names(), in_index_order(subject.pending), first.prepared).counts)


def equals(simulation: Simulation, placement: Mapping[str, str]) -> tuple[str, ...]:
    """Return pending jobs of the same priority that, tried first, leave no room for a subject with this placement."""
    own = priority(simulation.subject)
    others = [other for other in pending_subjects(simulation.snapshot) if priority(other) == own]
    nodes = set(placement.values())
    found = []
    for other in [other for other in others if other.key != simulation.subject.key][:_MOST_EQUALS]:
        placed = _placed(simulation, other, simulation.view)
        if placed is None or not nodes & set(placed.seats):
            continue
        after = simulation.view.with_pods(placed.seats)
        if not all_place(next_attempt(simulation, after)):
            found.append(other.key)
    return tuple(found)


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
        if gaps := visibility.unread_for(other, snapshot):
            found[gaps] = max(found.get(gaps, priority(other)), priority(other))
    return found


def _placed(cluster: Scenario, other: Subject, view: View) -> Placed | None:
    """Return where another job would go; None when it would not be placed, or what was read does not tell."""
    found = _tried(cluster, other, view)
    return found if isinstance(found, Placed) else None


def _tried(cluster: Scenario, other: Subject, view: View) -> Placed | NotPlaced:
    """Return the same, and of a job that would not be placed whether nodes were asked."""
    snapshot = cluster.snapshot
    blockers = before_trying(other, snapshot, cluster.tree)
    if blockers:
        return NotPlaced(asked=False, may_be=is_open(blockers[0]))
    if visibility.unread_for(other, snapshot):
        return NotPlaced(asked=False)
    unevaluated = coverage.not_evaluated(other, snapshot)
    simulation = Scenario(snapshot, view, cluster.tree).simulation(other)
    outcomes = open_outcomes(simulation, preemption=False)
    first = outcomes[0].first
    if first.placement is None:
        may_be = any(one.may_admit for one in unevaluated) or any(one.placed_at_once for one in outcomes)
        return NotPlaced(any(outcome.first.prefilter is None for outcome in outcomes), may_be)
    is_certain = first.plan is not None and len(outcomes) == 1 and not (unevaluated or outcomes[0].followed)
    return Placed(seats(simulation, outcomes[0]), is_certain)
