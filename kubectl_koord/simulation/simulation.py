"""One subject put to the engine: what was left out, the sizes of gangs, and the outcomes that follow."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct, structs

from kubectl_koord.engine import gangs, tree
from kubectl_koord.engine.attempt import Job, shape
from kubectl_koord.engine.blockers import jobs
from kubectl_koord.engine.budget import MOST_STEPS, Budget, most_steps
from kubectl_koord.engine.filters import Prepared, of_other_jobs, prepare
from kubectl_koord.engine.gangs import GangSubject, Subject
from kubectl_koord.engine.placement import TopologyRequirements
from kubectl_koord.engine.preemption import Preemption, by_name
from kubectl_koord.engine.queue import After, priority
from kubectl_koord.engine.quota.tree import quotas_of
from kubectl_koord.engine.quota.usage import waiting
from kubectl_koord.engine.rounds import (
    MOST_ROUNDS,
    Landing,
    Outcome,
    effect,
    effects,
    landings,
    not_told,
    outcomes,
    post_filter,
)
from kubectl_koord.engine.rounds import outcomes_of_each as outcomes_of_job
from kubectl_koord.engine.rules import rules, rules_of
from kubectl_koord.engine.state import View, of
from kubectl_koord.engine.tree import NoTree, Tree
from kubectl_koord.engine.trying import carried_out, surely_placed_beside_all
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values import Identity, memoised, recently

_Seen: TypeAlias = tuple[object, ...]

_MOST_KEPT = 8


class Scenario(Struct, frozen=True):
    """What subjects are simulated in: the snapshot, the view to compute with, and the topology tree."""

    snapshot: Snapshot
    view: View
    tree: Tree | NoTree

    def simulation(self, subject: Subject) -> "Simulation":
        """Return the simulation of a subject in this cluster, once the reservations that go before it are placed."""
        known = rules(self.snapshot.config.version)
        found = landings(self.view, priority(subject), known)
        steps = most_steps(len(self.view.names()))
        return Simulation(self.snapshot, found[0].view, self.tree, subject, found, steps=steps)


class Simulation(Scenario, frozen=True):
    """A subject in its cluster; `landings` is where reservations that go before it may be placed, the first as here.

    `unchanged` is a snapshot in which other jobs see all that they see in this one, None where that is not known.
    `steps` is how many steps of the engine each enumeration of outcomes may take: all that is asked about the subject
    hands them down as a `Budget`.
    `nominated` are the pods that are nominated to nodes, None for those of the snapshot.
    """

    subject: Subject
    landings: tuple[Landing, ...] = ()
    unchanged: Snapshot | None = None
    steps: int = MOST_STEPS
    nominated: Identity[tuple[PendingPod, ...]] | None = None

    @property
    def is_landing_known(self) -> bool:
        """Whether there is one way only in which reservations that go before the subject may be placed."""
        return len(self.landings) == 1 and not_told(self.landings) is None

    def after(self, others: After) -> "Simulation":
        """Return the simulation of the subject once other jobs have been tried."""
        if others.view is self.view and others.nominated is self.all_nominated:
            return self
        then = Scenario(self.snapshot, others.view, self.tree).simulation(self.subject)
        return structs.replace(then, unchanged=self.unchanged, nominated=Identity(others.nominated), steps=self.steps)

    @property
    def seen_by_others(self) -> Snapshot:
        """The snapshot in which other jobs are tried: variants in which they see the same share what they do."""
        return self.unchanged or self.snapshot

    def answered_alone(self, view: View) -> tuple[Outcome, ...]:
        """Return the outcomes without preemption in another variant, as if no other pod were nominated anywhere."""
        own = {pod.key for pod in self.subject.pending}
        now = self.all_nominated
        if all(pod.key in own for pod in now):
            return open_outcomes(self, view, preemption=False, alone=True)
        alone = structs.replace(self, nominated=Identity(tuple(pod for pod in now if pod.key in own)))
        return open_outcomes(alone, view, preemption=False, alone=True)

    @property
    def all_nominated(self) -> tuple[PendingPod, ...]:
        """The pods that are nominated to nodes."""
        return self.snapshot.nominated if self.nominated is None else self.nominated.value

    def prepared(self, pod: PendingPod, view: View | None = None, *, created_anew: bool = False) -> Prepared:
        """Return what PreFilter leaves for a pod as things are, before any member is placed, or in another variant.

        One that is `created_anew` waits beside those of the snapshot: it requests of its quota what it did before.
        """
        snapshot = self.snapshot
        known = rules(snapshot.config.version)
        claims = snapshot.claims_asked_for
        nominated = of_other_jobs(self.all_nominated, self.subject.pending)
        pending = (*snapshot.pending, pod) if created_anew else snapshot.pending
        return prepare(pod, view or self.view, known, nominated, claims, pending=pending)

    @property
    def desired(self) -> int | None:
        """Return desiredOfferSlot: all pending pods of the group; None without topology."""
        return len(self.subject.pending) if self.has_topology else None

    @property
    def has_topology(self) -> bool:
        """Whether the group is planned by topology."""
        subject = self.subject
        return (
            isinstance(subject, GangSubject)
            and not subject.group.is_satisfied()
            and any(spec is not None for spec in subject.specs)
        )

    @property
    def must_gather(self) -> str:
        """The hard layer, empty for none."""
        return self._requirements.must_gather

    @property
    def multiples(self) -> Mapping[str, int]:
        """The pod count multiple by layer, where it is above one and the version knows of it."""
        return self._requirements.multiples if rules(self.snapshot.config.version).pod_count_multiple else {}

    @property
    def _requirements(self) -> TopologyRequirements:
        if not self.has_topology:
            return TopologyRequirements()
        spec = next(spec for spec in self.subject.specs if spec is not None)
        return gangs.topology_requirements(spec, self.tree)


def cluster_of(snapshot: Snapshot) -> Scenario:
    """Return the cluster as it is."""
    return Scenario(snapshot, of(snapshot), tree.tree_of(snapshot))


def simulate(snapshot: Snapshot, subject: Subject) -> Simulation:
    """Return the simulation of a subject in the cluster as it is."""
    return cluster_of(snapshot).simulation(subject)


def open_outcomes(
    simulation: Simulation,
    view: View | None = None,
    *,
    preemption: bool = True,
    idle_too: bool = False,
    alone: bool = False,
    most_rounds: int = MOST_ROUNDS,
) -> tuple[Outcome, ...]:
    """Return the distinct outcomes that the API leaves open, the likeliest first.

    Attempts go on with changing triggers until one has an effect: where any outcome has one, those without
    are dropped, but for one that fails on the node that scores best, and will again, and for a plan that fails while
    members wait on their seats, of which anything may come; with `idle_too` only
    where one places the job. In versions that do not try again at once, none is dropped, and of a gang that has run
    neither: each of its pods is bound as it finds a place, whatever that leaves to the next. Where the budget of the
    simulation does not suffice for all, each tells how many were followed. `most_rounds` is as in `outcomes`.
    """
    budget = Budget(simulation.steps)
    landed: dict[object, list[Outcome]] = {}
    for outcome in every_outcome(
        simulation, view, preemption=preemption, most_rounds=most_rounds, alone=alone, budget=budget
    ):
        landed.setdefault(outcome.landing, []).append(outcome)
    if not _tries_on(simulation):
        kept = [outcome for every in landed.values() for outcome in every]
    else:
        kept = [outcome for every in landed.values() for outcome in _with_effect(every, idle_too=idle_too)]
    return _distinct(_told(kept, budget, sum(map(len, landed.values()))))


def likeliest_outcome(simulation: Simulation) -> Outcome:
    """Return the first of the outcomes that are left open without preemption; those behind it are not computed."""
    every = every_outcome(simulation, preemption=False)
    first = next(every)
    if not _tries_on(simulation) or _has_effect(first):
        return first
    return next((one for one in every if one.landing == first.landing and _has_effect(one)), first)


def surely_fails(simulation: Simulation, outcome: Outcome) -> bool:
    """Tell whether the next attempt may leave the subject unplaced, as in this outcome, whatever others there are.

    In versions that try again at once that is so only where the attempt has an effect. No is no proof of the contrary.
    """
    first, every = outcome.first, _jobs_of(simulation)
    if outcome.placed_at_once:
        return False
    if not _tries_on(simulation) or _has_effect(outcome):
        return True
    if _are_alike(every):
        return False
    job = next(job for job in every if first.trigger in job.pods)
    views = {landing.nodes: landing.view for landing in _landings(simulation, simulation.view)}
    view = views.get(outcome.landing, simulation.view)
    return any(one.reason is None and one.gone for one in post_filter(view, Identity(job), Identity(first), by_name))


def _tries_on(simulation: Simulation) -> bool:
    """Tell whether other triggers are tried until an attempt has an effect."""
    tries_again = rules(simulation.snapshot.config.version).retries_failed_plans
    return tries_again and not _is_bound_one_by_one(simulation.subject)


def _told(every: Sequence[Outcome], budget: Budget, followed: int) -> Sequence[Outcome]:
    """Return outcomes that say how many were followed, where some were left out."""
    return [structs.replace(outcome, followed=followed) for outcome in every] if budget.is_cut else every


def all_place(outcomes: Iterable[Outcome]) -> bool:
    """Tell whether all outcomes place the job at once, and there are no others."""
    return all(outcome.placed_at_once and not outcome.followed for outcome in outcomes)


def _is_bound_one_by_one(subject: Subject) -> bool:
    return isinstance(subject, GangSubject) and subject.group.is_satisfied()


def _with_effect(every: list[Outcome], *, idle_too: bool) -> list[Outcome]:
    effective = [one for one in every if _has_effect(one)]
    if idle_too and not any(outcome.placed_at_once for outcome in every):
        return every
    return effective or every


def _has_effect(outcome: Outcome) -> bool:
    return outcome.placed_at_once or bool(outcome.rounds) or (outcome.first.fails_at_reserve or outcome.first.races)


def every_outcome(
    simulation: Simulation,
    view: View | None = None,
    *,
    preemption: bool = True,
    most_rounds: int | None = MOST_ROUNDS,
    alone: bool = False,
    budget: Budget | None = None,
) -> Iterator[Outcome]:
    """Yield the outcomes as they are computed, those that come to the same included.

    Reservations that go before the subject are placed first, those too that find room only in this variant;
    `alone` leaves them out. `most_rounds` is as in `outcomes`, and so is `budget`, by default that of the simulation.
    """
    budget = budget or Budget(simulation.steps)
    every = _jobs_of(simulation)
    now = view or simulation.view
    found = (Landing(now),) if alone else _landings(simulation, now)
    tried = [(landing, job) for landing in found for job in every]
    for left, (landing, job) in zip(range(len(tried), 0, -1), tried, strict=True):
        share = budget.part(budget.left // left)
        for outcome in outcomes(job, landing.view, preemption=preemption, most_rounds=most_rounds, budget=share):
            yield structs.replace(outcome, landing=landing.nodes) if len(found) > 1 else outcome
    others = not_told(found)
    if others is not None and not _alike_everywhere(every, others, budget, preemption=preemption):
        budget.cut()


def _alike_everywhere(every: Sequence[Job], others: tuple[View, View], budget: Budget, *, preemption: bool) -> bool:
    """Tell whether the job is placed at once, or is not, however reservations are placed in ways that are not told."""
    most, least = others
    placed = [
        {one.placed_at_once for job in every for one in outcomes(job, view, preemption=False, budget=budget)}
        for view in (most, least)
    ]
    return placed[1] == {True} or (placed[0] == {False} and not preemption)


def _landings(simulation: Simulation, view: View) -> tuple[Landing, ...]:
    """Return where the reservations that go before the subject may be placed in a variant of the cluster."""
    if any(view is landing.view for landing in simulation.landings[:1]):
        return simulation.landings
    return landings(view, priority(simulation.subject), rules(simulation.snapshot.config.version))


def outcomes_of_each(simulation: Simulation, view: View) -> tuple[Outcome, ...]:
    """Return the outcomes of a subject that has run before, whose pods are tried each for itself; none for too many."""
    every = _jobs_of(simulation)
    found = _landings(simulation, view)
    budget = Budget(simulation.steps)
    tried = [(landing, one) for landing in found for job in every for one in outcomes_of_job(job, landing.view, budget)]
    if not_told(found) is not None:
        budget.cut()
    apart = [structs.replace(one, landing=landing.nodes) if len(found) > 1 else one for landing, one in tried]
    return _distinct(_told(apart, budget, len(apart)))


def is_surely_placed(simulation: Simulation, view: View, names: Iterable[str], taken: int | None = None) -> bool:
    """Tell whether all outcomes without preemption in a variant surely place the subject; no proves nothing.

    Only a few nodes are looked at, the first of those that are named; `taken` is as in `surely_placed_beside_all`.
    """
    every = _jobs_of(simulation)
    found = _landings(simulation, view)
    return (
        len(found) == 1
        and found[0].others is None
        and all(surely_placed_beside_all(job, found[0].view, names, taken) for job in every)
    )


def is_within_quotas(simulation: Simulation, view: View) -> bool:
    """Tell whether no quota refuses a pod of the subject in a variant, whichever of them is tried first."""
    every = _jobs_of(simulation)
    asked = ((job, trigger) for job in every for trigger in job.triggers)
    return all(job.over_quota(view, job.gang_by_gang(trigger)) is None for job, trigger in asked)


def _jobs_of(simulation: Simulation) -> tuple[Job, ...]:
    subject, tree = Identity(simulation.subject), Identity(simulation.tree)
    return _jobs(simulation.snapshot, subject, tree, simulation.nominated)


@recently(_MOST_KEPT)
def _jobs(
    snapshot: Snapshot,
    subject: Identity[Subject],
    tree: Identity[Tree | NoTree],
    nominated: Identity[tuple[PendingPod, ...]] | None,
) -> tuple[Job, ...]:
    """Return what a subject is tried as; what was computed of a job holds for whoever asks about the subject again."""
    found = jobs(subject.value, snapshot, rules_of(snapshot.config), tree.value)
    if nominated is None:
        return found
    return tuple(structs.replace(job, nominated=nominated.value) for job in found)


def triggers(simulation: Simulation) -> Iterator[PendingPod]:
    """Yield the pods that may be tried first, one of each kind."""
    for job in _jobs_of(simulation):
        yield from job.triggers


def first_effects(simulation: Simulation, budget: Budget) -> Iterator[Preemption]:
    """Yield what may come of preemption after the first attempt, which does not place the subject."""
    found = _landings(simulation, simulation.view)
    for landing in found:
        for job in _jobs_of(simulation):
            yield from effects(job, landing.view, budget)
    if not_told(found) is not None:
        budget.cut()


def seats(
    simulation: Simulation, outcome: Outcome, placement: Mapping[str, str] | None = None
) -> Mapping[str, tuple[PendingPod, ...]]:
    """Return where the first attempt of an outcome puts the pods, by node, with what is booked for them there.

    `placement` are other nodes that they may take, by pod.
    """
    first = outcome.first if placement is None else structs.replace(outcome.first, placement=placement)
    every = _jobs_of(simulation)
    job = next(job for job in every if first.trigger in job.pods)
    views = {landing.nodes: landing.view for landing in simulation.landings}
    return carried_out(job, views.get(outcome.landing, simulation.view), first)


def next_attempt(simulation: Simulation, view: View | None = None) -> tuple[Outcome, ...]:
    """Return the outcomes that tell whether the next attempt places the subject, by every trigger that may come.

    Where all pods are alike, what preemption would do cannot change that, and is not computed; nor is ever what comes
    after its first round.
    """
    are_alike = _are_alike(_jobs_of(simulation))
    return open_outcomes(simulation, view, preemption=not are_alike, idle_too=True, most_rounds=0)


def _are_alike(every: Iterable[Job]) -> bool:
    """Tell whether all pods of each job ask for the same."""
    return all(len({shape(pod, job.claims, job.promised) for pod in job.pods}) == 1 for job in every)


def _distinct(every: Sequence[Outcome]) -> tuple[Outcome, ...]:
    """Return one outcome of each kind: those that differ in their first attempt go before those that differ later."""
    if len(every) == 1:
        return tuple(every)
    by_first: dict[_Seen, dict[_Seen, Outcome]] = {}
    for outcome in every:
        by_first.setdefault(at_first(outcome), {}).setdefault(_later(outcome), outcome)
    ranked = [tuple(later.values()) for later in by_first.values()]
    return (*(later[0] for later in ranked), *(outcome for later in ranked for outcome in later[1:]))


def at_first(outcome: Outcome) -> _Seen:
    """Return what users see of the first attempt: the slots, the placement, the first victims.

    Placement and nominations of plain jobs are left out: which node each pod takes is not predicted.
    """
    plan = outcome.first.plan
    placement = tuple(sorted(outcome.first.placement.items())) if plan and outcome.first.placement else ()
    reason = outcome.last.reason if outcome.last is not None and not outcome.rounds else None
    return (
        outcome.placed_at_once,
        plan.offered if plan else (),
        placement,
        effect(outcome.rounds[0], planned=plan is not None) if outcome.rounds else (),
        reason,
    )


def _later(outcome: Outcome) -> _Seen:
    planned = outcome.first.plan is not None
    later, perhaps = outcome.rounds[1:], outcome.perhaps
    return (
        outcome.runs,
        tuple((one.meanwhile, effect(one, planned=planned)) for one in later),
        tuple(effect(one, planned=planned) for one in perhaps),
    )


def see_no_difference(simulation: Simulation, after: Subject) -> bool:
    """Tell whether other jobs go where they did once the subject's own pending pods are changed.

    Of pods that wait they see nothing but what these request of quotas, where they are nominated, whom they keep away,
    and the gangs that they count among their own. No is no proof of the contrary.
    """
    before = simulation.subject
    if any(pod.nominated or pod.requirements.pod_anti_affinity for pod in (*before.pending, *after.pending)):
        return False
    if priority(before) != priority(after) or not _only_own(simulation.seen_by_others, before.gangs):
        return False
    tree = quotas_of(simulation.view)
    is_limited = any(map(tree.limits, tree.quotas))
    return not is_limited or waiting(before.pending, tree) == waiting(after.pending, tree)


def _only_own(snapshot: Snapshot, keys: Collection[str]) -> bool:
    """Tell whether no other gang counts one of these among those of its group."""
    listing = _listing(snapshot)
    return all(listing.get(key, frozenset()) <= set(keys) for key in keys)


@memoised
def _listing(snapshot: Snapshot) -> Mapping[str, frozenset[str]]:
    """Return by gang the gangs that name it in their list."""
    found: dict[str, set[str]] = {}
    for key, gang in gangs.all_gangs(snapshot).items():
        for other in gang.group:
            found.setdefault(other, set()).add(key)
    return {key: frozenset(naming) for key, naming in found.items()}


def largest(most: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number from 1 to `most` that fits; 0 when none does. It is looked for by halves."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low


def largest_from_above(most: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number that fits, probably near `most`: each step down is twice as long as the last."""
    above, step = most + 1, 1
    while above > 1:
        size = max(1, above - step)
        if fits(size):
            return size + largest(above - size - 1, lambda more: fits(size + more))  # noqa: B023 - called at once
        above, step = size, step * 2
    return 0


def largest_from_below(most: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number that fits, probably a small one: twice as many are tried each time."""
    size, tried = 0, 1
    while tried <= most and fits(tried):
        size, tried = tried, tried * 2
    return size + largest(min(tried - 1, most) - size, lambda more: fits(size + more))
