"""What surprises about victims: those that come back, those that cannot die, and nodes that call for them in vain."""

from collections.abc import Iterable, Iterator

from kubectl_koord.diagnosis import evidence
from kubectl_koord.diagnosis.obstacles import reservations
from kubectl_koord.engine.admission.queue import priority
from kubectl_koord.engine.attempts.attempt import Attempt
from kubectl_koord.engine.preemption.victims import possible_victims
from kubectl_koord.engine.reasons.nodes import MetricExpired, Overloaded, Reason
from kubectl_koord.engine.rounds import Outcome
from kubectl_koord.model.pods import RunningPod
from kubectl_koord.reports.common import Notice
from kubectl_koord.simulation.simulation import Simulation
from kubectl_koord.wording.answers.preemption import daemons_come_back
from kubectl_koord.wording.refusals.load import overloaded_sentence


def notices(simulation: Simulation, outcomes: Iterable[Outcome]) -> Iterator[Notice]:
    """Yield what users do not expect of the preemption in these outcomes."""
    found = tuple(outcomes)
    overloaded = sorted({name for outcome in found for name in _overloaded(simulation, outcome.first)})
    if overloaded:
        yield Notice("overloaded-nodes", overloaded_sentence(overloaded))
    killed = {victim.key for outcome in found for victim in outcome.killed if victim.requirements.of_daemon_set}
    if killed:
        yield Notice("daemon-set-victims", daemons_come_back(sorted(killed)))
    yield from reservations.in_vain(found)


def awaited(simulation: Simulation) -> tuple[RunningPod, ...]:
    """Return the victims of earlier attempts that still terminate: those on nodes to which its pods are nominated.

    While they do, nominations come and go many times a second: a victim whose condition names the subject is one, too.
    """
    subject = simulation.subject
    nominated = {pod.nominated for pod in subject.pending}
    own = {*subject.gangs, *(pod.key for pod in subject.pending)}
    return tuple(
        pod
        for pod in evidence.terminating(simulation.view)
        if pod.preempted and (pod.node in nominated or not own.isdisjoint(pod.preemptor.split(",")))
    )


def may_surprise(simulation: Simulation) -> bool:
    """Tell whether it matters whom preemption ends: pods of DaemonSets or reservations are below the subject."""
    snapshot, own = simulation.snapshot, priority(simulation.subject)
    return any(room.priority < own for room in snapshot.reserved) or any(
        pod.requirements.of_daemon_set and pod.priority < own for pods in snapshot.running.values() for pod in pods
    )


def _overloaded(simulation: Simulation, first: Attempt) -> Iterator[str]:
    """Yield the nodes that preemption looks at in vain: they refuse for load, and hold pods that it may end.

    Those are left out that take a pod as things are: what they refuse for are members that wait there already.
    """
    refusing = tuple(first.refusing(_is_for_load)) if first.placement is None else ()
    taking = evidence.asked(simulation, first.trigger).counts if refusing else ()
    for name in refusing:
        if name not in taking and possible_victims(simulation.view, name, first.trigger):
            yield name


def _is_for_load(reason: Reason) -> bool:
    return isinstance(reason, Overloaded | MetricExpired)
