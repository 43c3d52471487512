"""The outcomes of the next attempt that no object tells apart, where they differ."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kubectl_koord.diagnosis import evidence
from kubectl_koord.diagnosis.contention import Case
from kubectl_koord.engine.rounds import Outcome
from kubectl_koord.explain.jobs import insufficient
from kubectl_koord.reports.jobs.pending import WhyAlternative
from kubectl_koord.simulation.simulation import at_first
from kubectl_koord.wording.answers import pending as sentences
from kubectl_koord.wording.answers.pending import others_went
from kubectl_koord.wording.reservations import once_placed

if TYPE_CHECKING:
    from kubectl_koord.reports.common import Verdict


def alternatives_of(cases: Sequence[Case]) -> tuple[WhyAlternative, ...]:
    """Return the outcomes of the first attempt where they differ."""
    every = [(case, outcome) for case in cases for outcome in case.outcomes]
    distinct: dict[object, tuple[Case, Outcome]] = {}
    for case, outcome in every:
        seen = (outcome.placed_at_once, evidence.offered(outcome.first), at_first(outcome)[2])
        distinct.setdefault(seen, (case, outcome))
    if len(distinct) == 1:
        return ()
    return tuple(_alternative(case, outcome) for case, outcome in distinct.values())


def case_of_booking(outcome: Outcome) -> str:
    """Return which node must score best for an outcome, where a pod cannot be bound on some; empty otherwise."""
    first = outcome.first
    if first.failed_seat is not None and first.fails_at_reserve:
        return sentences.node_scores_best(first.failed_seat.node, first.failed_seat.pod)
    return sentences.other_node_scores_best(sorted(first.unbookable)) if first.unbookable else ""


def _when(outcome: Outcome) -> str:
    first = outcome.first
    if case := case_of_booking(outcome):
        return case
    if first.late:
        return sentences.tried_late(first.late)
    return sentences.tried_first(outcome.trigger.key, outcome.trigger.requirements.requests)


def when(case: Case, outcome_when: str) -> str:
    """Return a case of the subject's own with where those went that are tried before it."""
    own = outcome_when if len(case.outcomes) > 1 else ""
    return others_went(case.went, own) if case.went else outcome_when


def _alternative(case: Case, outcome: Outcome) -> WhyAlternative:
    verdict: Verdict = "yes" if outcome.placed_at_once else "unknown" if outcome.races else "no"
    return WhyAlternative(
        when=when(case, once_placed(outcome.landing, _when(outcome))),
        verdict=verdict,
        domains=evidence.slot_rows(case.simulation, outcome.first),
        placement=outcome.first.placement if outcome.first.plan is not None else None,
        cause=None if outcome.placed_at_once else insufficient.cause_of(case.simulation, outcome.first),
    )
