"""The verdict about a subject, and its one root cause, without the report about them."""

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import TypeAlias

from msgspec import Struct, structs

from kubectl_koord.diagnosis import contention, coverage, visibility
from kubectl_koord.diagnosis.contention import Case, LeftByJobsAhead
from kubectl_koord.diagnosis.obstacles import admission, quota, victims
from kubectl_koord.engine.admission.before_trying import before_trying, is_open
from kubectl_koord.engine.admission.blockers import Blocker
from kubectl_koord.engine.admission.queue import NO_EQUALS, Equals
from kubectl_koord.engine.gangs import GangGroup
from kubectl_koord.engine.rounds import Outcome
from kubectl_koord.engine.subjects import GangSubject
from kubectl_koord.explain.jobs.alternatives import alternatives_of
from kubectl_koord.explain.jobs.insufficient import Unsaid, about_pods, said, why_not
from kubectl_koord.model.snapshot import Gap, Snapshot
from kubectl_koord.model.unevaluated import (
    OpenCards,
    OpenGate,
    OpenPlugin,
    OpenProfile,
    OpenSetting,
    OtherProfile,
    Unevaluated,
)
from kubectl_koord.remedies import retry, surplus
from kubectl_koord.reports.common import Verdict
from kubectl_koord.reports.jobs.pending import Cause
from kubectl_koord.simulation.simulation import Simulation, next_attempt
from kubectl_koord.wording.ages import overdue_clause
from kubectl_koord.wording.answers import pending as sentences
from kubectl_koord.wording.basis import could_not_be_read, not_followed
from kubectl_koord.wording.reservations import DEPENDS_ON_LANDING
from kubectl_koord.wording.unevaluated import depends_on

_Unevaluated: TypeAlias = tuple[Unevaluated, ...]


class Decided(Struct, frozen=True, dict=True):
    """What is decided about a subject, and by what: there are no outcomes where it is not tried.

    `cases` are the outcomes by what comes of the jobs that go first, the likeliest first, and `outcomes` those of all.
    `on_memory` is whether it depends on what the scheduler remembers, `behind` what jobs that go first leave where that
    is too little, `is_unseen` whether there may be such jobs that could not be read. `equals` are those of equal
    priority that may as well go first: who takes something, where that changes what is shown or may, and who may.
    `is_open` is whether not all that the others leave is followed: the nodes of one that is placed are not known then.
    """

    verdict: Verdict
    why: Cause | Unsaid | None
    cases: tuple[Case, ...] = ()
    unevaluated: _Unevaluated = ()
    on_memory: bool = False
    behind: LeftByJobsAhead | None = None
    is_unseen: bool = False
    equals: Equals = NO_EQUALS
    is_open: bool = False

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """What may come of the next attempt."""
        return tuple(outcome for case in self.cases for outcome in case.outcomes)

    @cached_property
    def cause(self) -> Cause | None:
        """The one root cause, if any."""
        return said(self.why) if self.why is not None else None


def verdict_of(simulation: Simulation) -> Decided:
    """Return what `why` answers about a subject that has pending pods, and not more."""
    subject, snapshot = simulation.subject, simulation.snapshot
    blockers = before_trying(subject, snapshot, simulation.tree)
    if blockers:
        return Decided(*blocked(blockers[0]))
    unread = visibility.unread_for(subject, snapshot)
    return Decided("unknown", not_readable(unread)) if unread else decided(simulation)


def blocked(blocker: Blocker) -> tuple[Verdict, Cause]:
    """Return the answer about a subject that is not tried."""
    return "unknown" if is_open(blocker) else "no", admission.cause(blocker)


def not_readable(gaps: tuple[Gap, ...]) -> Cause:
    """Return the cause of an answer that is open as something could not be read."""
    return Cause("not-readable", could_not_be_read(gaps))


def decided(simulation: Simulation, beside: Collection[str] = ()) -> Decided:
    """Return what is decided about a subject that is tried: the engine's answer decides.

    The pods `beside` it do not go before it.
    """
    outcomes = next_attempt(simulation)
    alone = (Case(simulation, outcomes),)
    subject = simulation.subject
    if (
        outcomes[0].placed_at_once
        and isinstance(subject, GangSubject)
        and depends_on_memory(subject.group, simulation.snapshot)
    ):
        forgotten = about_pods(surplus.late_code(subject.group), on_memory(subject.group), subject.pending)
        return Decided("unknown", forgotten, alone, on_memory=True)
    unevaluated = coverage.not_evaluated(subject, simulation.snapshot)
    left = contention.left_by_jobs_ahead(simulation)
    verdict = _verdict(outcomes, unevaluated)
    if verdict == "yes" and left is not None and not left.leaves_room:
        message = sentences.place_taken(left.names, certain=left.certain)
        taken = about_pods(
            "insufficient-slots" if simulation.has_topology else "insufficient-capacity", message, subject.pending
        )
        return Decided("no" if left.certain else "unknown", taken, left.cases, unevaluated, behind=left)
    equals = contention.equals(simulation, beside) if verdict == "yes" else NO_EQUALS
    if equals.taking:
        left = contention.left_by_others(simulation, equals.taking)
        if not left.leaves_room:
            taken_first = Cause("contended", sentences.same_place(left.in_the_way))
            return Decided("unknown", taken_first, left.cases, unevaluated, equals=equals)
    cases = left.cases if left is not None else alone
    if left is not None and left.is_known:
        outcomes = tuple(outcome for case in cases for outcome in case.outcomes)
        verdict = _verdict(outcomes, unevaluated)
    if verdict == "yes":
        return _placed(simulation, left, cases, unevaluated, equals)
    waits = _waiting_for_victims(simulation) if verdict == "no" else None
    return Decided(verdict, waits or _cause(cases, unevaluated, verdict), cases, unevaluated)


def _placed(
    simulation: Simulation,
    left: LeftByJobsAhead | None,
    cases: tuple[Case, ...],
    unevaluated: _Unevaluated,
    equals: Equals,
) -> Decided:
    """Return what is decided about a subject that is placed, whichever of the jobs that were read go first."""
    unread = contention.unread_higher_priority_jobs(simulation)
    if unread:
        unseen = Cause("not-readable", sentences.place_may_be_taken(unread))
        return Decided("unknown", unseen, cases, unevaluated, is_unseen=True)
    of_scheduler = coverage.of_scheduler(simulation.snapshot)
    if of_scheduler:
        return Decided("unknown", Cause("not-readable", depends_on(of_scheduler)), cases, unevaluated)
    is_order_told = left is not None and bool(left.equals) and (not left.is_known or len(alternatives_of(cases)) > 1)
    told = structs.replace(equals, taking=equals.taking if is_order_told else ())
    is_open = left is not None and not left.is_known
    return Decided("yes", retry.waits(simulation), cases, unevaluated, equals=told, is_open=is_open)


def depends_on_memory(group: GangGroup, snapshot: Snapshot) -> bool:
    """Tell whether the answer depends on whether the scheduler remembers that the gang ran, which is in no object."""
    return any(spec is not None for spec in group.specs) and surplus.may_be_forgotten(group, snapshot)


def on_memory(group: GangGroup) -> str:
    """Return that the answer depends on what the scheduler remembers of a group."""
    pending = len(group.pending)
    return sentences.depends_on_memory(surplus.late_code(group), pending, pending + group.bound)


def _verdict(outcomes: tuple[Outcome, ...], unevaluated: _Unevaluated) -> Verdict:
    placed = {outcome.placed_at_once for outcome in outcomes}
    if len(placed) == 1 and outcomes[0].followed:
        return "unknown"
    if placed == {False}:
        by_quota = all(outcome.first.over_quota is not None for outcome in outcomes)
        races = any(outcome.races for outcome in outcomes)
        return "unknown" if races or any(_may_admit(item, by_quota=by_quota) for item in unevaluated) else "no"
    refusing = any(item.may_refuse for item in unevaluated)
    return "yes" if placed == {True} and not refusing else "unknown"


def _may_admit(item: Unevaluated, *, by_quota: bool) -> bool:
    """Tell whether something may open what is closed: what nodes are found to offer opens no quota."""
    asks_else = isinstance(item, OpenCards | OpenGate | OpenPlugin | OpenProfile | OpenSetting | OtherProfile)
    return item.may_admit and (not by_quota or asks_else)


def _cause(cases: Sequence[Case], unevaluated: _Unevaluated, verdict: Verdict) -> Cause | Unsaid:
    simulation, outcomes = cases[0].simulation, tuple(outcome for case in cases for outcome in case.outcomes)
    if verdict == "unknown" and unevaluated:
        says = quota.refuses(simulation, unevaluated) if all(outcome.placed_at_once for outcome in outcomes) else None
        return says or Cause("not-evaluated", depends_on(unevaluated))
    if outcomes[0].followed and len({outcome.placed_at_once for outcome in outcomes}) == 1:
        return Cause("not-followed", not_followed(outcomes[0].followed))
    racing = next((outcome for outcome in outcomes if outcome.races), None)
    if racing is not None and not any(outcome.placed_at_once for outcome in outcomes):
        return why_not(simulation, racing.first)
    if verdict == "unknown" and any(outcome.first.fails_at_reserve for outcome in outcomes):
        failing = {name: reason for outcome in outcomes for name, reason in outcome.first.unbookable.items()}
        return Cause("several-outcomes", sentences.depends_on_node(failing))
    if verdict == "unknown":
        return Cause("several-outcomes", _what_decides(cases))
    return why_not(simulation, outcomes[0].first)


def _what_decides(cases: Sequence[Case]) -> str:
    """Return on what it depends which of the outcomes comes."""
    if len(cases) > 1 and all(len({outcome.placed_at_once for outcome in case.outcomes}) == 1 for case in cases):
        return sentences.depends_on_others([key for key, _ in cases[0].went])
    is_landing_open = len({outcome.landing for case in cases for outcome in case.outcomes}) > 1
    return DEPENDS_ON_LANDING if is_landing_open else sentences.DEPENDS_ON_FIRST_POD


def _waiting_for_victims(simulation: Simulation) -> Cause | None:
    """Return a cause when victims of an earlier attempt still terminate."""
    leaving = victims.awaited(simulation)
    if not leaving:
        return None
    names = sorted(victim.key for victim in leaving)
    message = sentences.waits_for_victims(names, overdue_clause(leaving, simulation.snapshot.moment))
    return Cause("waiting-for-preemption", message, tuple(names))
