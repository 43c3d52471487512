"""What surprises beside an answer: books that do not add up, victims in vain, jobs at the same place."""

from collections.abc import Iterator
from itertools import islice

from msgspec import structs

from kubectl_koord.diagnosis import contention, evidence, strays
from kubectl_koord.diagnosis.obstacles import bookings, victims
from kubectl_koord.engine.admission.queue import Equals
from kubectl_koord.engine.attempts.attempt import Attempt
from kubectl_koord.engine.fit.device_share.request import SHARED
from kubectl_koord.engine.rounds import Outcome
from kubectl_koord.remedies import next_steps
from kubectl_koord.reports.common import Notice, Verdict
from kubectl_koord.simulation.simulation import Simulation, every_outcome
from kubectl_koord.wording.answers import pending as sentences
from kubectl_koord.wording.answers.fit import not_offered
from kubectl_koord.wording.remedies.next_steps import template_of

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
    if verdict != "yes" and simulation.snapshot.config.preemption:
        yield from _policy_never(simulation)
    yield from _contended(simulation, outcomes[0].first)


def of_pods(simulation: Simulation) -> Iterator[Notice]:
    """Yield what is not expected of what the pods ask for, and of where they may be placed."""
    asked = any(SHARED in dict(pod.requirements.requests) for pod in simulation.subject.pending)
    if asked and not any(dict(node.allocatable).get(SHARED) for node in simulation.snapshot.nodes.values()):
        yield Notice("gpu-shared-not-offered", not_offered(SHARED))
    home = strays.home_of(simulation.subject, simulation.tree)
    if home is not None and not simulation.has_topology:
        yield from _outside(simulation, home)


def _outside(simulation: Simulation, home: strays.Home) -> Iterator[Notice]:
    """Yield a pod that is made anew, and may be placed outside the domain in which its gang is."""
    for pod in simulation.subject.pending:
        nodes = {name for name, room in evidence.asked(simulation, pod).counts.items() if room}
        outside = nodes - home.nodes
        if outside:
            certain = outside == nodes
            yield Notice(
                "replacement-leaves-domain", sentences.leaves_domain(pod.key, home.layer, home.name, certain=certain)
            )
            return


def _policy_never(simulation: Simulation) -> Iterator[Notice]:
    """Yield whom the pods would preempt, and then run, if their preemption policy let them."""
    pods = simulation.subject.pending
    if not any(pod.never_preempts for pod in pods):
        return
    subject = simulation.subject.with_pending(
        lambda kept: tuple(structs.replace(pod, never_preempts=False) for pod in kept)
    )
    lifted = structs.replace(simulation, subject=subject)
    found = tuple(islice(every_outcome(lifted), _MOST_OUTCOMES))
    if all(outcome.rounds and outcome.runs for outcome in found):
        killed = sorted(victim.key for victim in found[0].killed)
        yield Notice("policy-never", sentences.would_preempt(killed, template_of(next_steps.owners_of(pods))))


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
    """Yield which jobs may take what becomes free for a subject that finds no place, but for those told of already."""
    if first.placement is not None:
        return
    left = contention.left_by_jobs_ahead(simulation) if simulation.has_topology else None
    told = {*contention.jobs_ahead(simulation).unasked, *(left.names if left is not None else ())}
    before = [other.key for other in contention.higher_priority_jobs(simulation) if other.key not in told]
    if before:
        yield Notice("contended", sentences.goes_first(before))
