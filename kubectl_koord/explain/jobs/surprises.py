"""What surprises beside an answer: books that do not add up, victims in vain, jobs at the same place."""

from collections.abc import Iterator
from itertools import islice

from kubectl_koord.diagnosis import contention
from kubectl_koord.diagnosis.obstacles import bookings, victims
from kubectl_koord.engine.admission.queue import Equals
from kubectl_koord.engine.attempts.attempt import Attempt
from kubectl_koord.engine.rounds import Outcome
from kubectl_koord.reports.common import Notice, Verdict
from kubectl_koord.simulation.simulation import Simulation, every_outcome
from kubectl_koord.wording.answers import pending as sentences

_MOST_OUTCOMES = 8


def notices(simulation: Simulation, outcomes: tuple[Outcome, ...], verdict: Verdict) -> Iterator[Notice]:
    """Yield what is not expected of the books, of preemption where it may come, and of jobs beside the subject."""
    yield from bookings.notices(simulation, outcomes)
    if (
        verdict != "yes"
        and simulation.snapshot.config.preemption
        and not simulation.snapshot.config.plugins.default_preemption
    ):
        most = 1 if victims.may_surprise(simulation) else None
        yield from victims.notices(simulation, islice(every_outcome(simulation, most_rounds=most), _MOST_OUTCOMES))
    yield from _contended(simulation, outcomes[0].first)


def of_jobs_ahead(simulation: Simulation) -> Iterator[Notice]:
    """Yield who goes first and takes room, where slots or nodes are shown, and of whom it was not looked at."""
    left = contention.left_by_jobs_ahead(simulation)
    if left is not None and simulation.has_topology:
        yield Notice("contended", sentences.counted_after(left.names, certain=left.is_known))
    yield from of_unasked_jobs(simulation)


def of_equals(found: Equals) -> Iterator[Notice]:
    """Yield who has the same priority and may as well go first, where what is shown is without it."""
    if found.taking:
        yield Notice("contended", sentences.shown_before([one.key for one in found.taking]))


def of_unasked_jobs(simulation: Simulation) -> Iterator[Notice]:
    """Yield who goes first and may preempt, where it was not looked at whom."""
    unasked = contention.jobs_ahead(simulation).unasked
    if unasked:
        yield Notice("contended", sentences.may_preempt_first(unasked, equal=False))


def of_unasked_equals(found: Equals) -> Iterator[Notice]:
    """Yield who of equal priority may preempt, where it was not looked at whom."""
    if found.unasked:
        yield Notice("contended", sentences.may_preempt_first([one.key for one in found.unasked], equal=True))


def _contended(simulation: Simulation, first: Attempt) -> Iterator[Notice]:
    """Yield which jobs want the place that the subject would have, or what becomes free for it."""
    if first.placement is None:
        before = [other.key for other in contention.higher_priority_jobs(simulation)]
        if before:
            yield Notice("contended", sentences.goes_first(before))
