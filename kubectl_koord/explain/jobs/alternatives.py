"""The outcomes of the next attempt that no object tells apart, where they differ."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kubectl_koord.diagnosis import evidence
from kubectl_koord.diagnosis.contention import Case, as_few_first
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
    """Return the outcomes of the first attempt where they differ.

    Of jobs of equal priority that are tried first no more are told than decide, nor what they leave to one that is
    placed.
    """
    is_order_open = any(case.later for case in cases)
    told = _telling(cases) if is_order_open else cases
    distinct: dict[object, tuple[Case, Outcome]] = {}
    for case, outcome in ((one, outcome) for one in told for outcome in one.outcomes):
        left = () if is_order_open and outcome.placed_at_once else evidence.offered(outcome.first)
        distinct.setdefault((outcome.placed_at_once, left, at_first(outcome)[2]), (case, outcome))
    if len(distinct) == 1:
        return ()
    return tuple(_alternative(case, outcome) for case, outcome in distinct.values())


def _telling(cases: Sequence[Case]) -> list[Case]:
    """Return the cases but those that fail, too, where fewer jobs go first."""
    placing = [any(outcome.placed_at_once for outcome in case.outcomes) for case in cases]
    least = {*map(id, as_few_first(case for case, places in zip(cases, placing, strict=True) if not places))}
    return [case for case, places in zip(cases, placing, strict=True) if places or id(case) in least]


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
    return others_went(case.went, case.later, own) if case.went or case.later else outcome_when


def _alternative(case: Case, outcome: Outcome) -> WhyAlternative:
    verdict: Verdict = "yes" if outcome.placed_at_once else "unknown" if outcome.races else "no"
    return WhyAlternative(
        when=when(case, once_placed(outcome.landing, _when(outcome))),
        verdict=verdict,
        domains=evidence.slot_rows(case.simulation, outcome.first),
        placement=outcome.first.placement if outcome.first.plan is not None else None,
        cause=None if outcome.placed_at_once else insufficient.cause_of(case.simulation, outcome.first),
    )
