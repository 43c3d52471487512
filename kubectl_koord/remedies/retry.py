"""A gang that would be placed now and waits until the scheduler tries it again, or never would (1.7)."""

from collections.abc import Iterator
from datetime import timedelta

from kubectl_koord.diagnosis.scheduler_says import members_bring_it_back
from kubectl_koord.engine.subjects import PodSubject
from kubectl_koord.model.values.moments import between, later
from kubectl_koord.remedies import next_steps
from kubectl_koord.reports.common import Notice, Verdict
from kubectl_koord.reports.jobs.pending import Cause
from kubectl_koord.reports.ways_out import WayOut
from kubectl_koord.simulation.simulation import Simulation
from kubectl_koord.wording.answers import pending as sentences

_SOON = timedelta(minutes=1)  # a pod that young may simply not have been tried yet
_FLUSHED_WITHIN = timedelta(minutes=5, seconds=30)
"""A pod is flushed that waits for 5 minutes, and all are looked at every 30 s (`flushUnschedulablePodsLeftover`)."""


def waits(simulation: Simulation) -> Cause | None:
    """Return the cause of a subject that would be placed now though the scheduler said no earlier; else None.

    Coscheduling registers no cluster events: a pod that only it has refused comes back with the
    periodic flush of the queue, or when a pod comes. Other plugins register some, which not every change is.
    Of a gang other members may bring it back.
    """
    refused = [pod.key for pod in simulation.subject.pending if pod.condition is not None and pod.condition.message]
    if not refused:
        return None
    by_members = members_bring_it_back(simulation)
    message = sentences.not_retried(_latest(simulation), by_members=by_members, has_topology=simulation.has_topology)
    return Cause("waiting-for-retry", message, tuple(refused))


def _latest(simulation: Simulation) -> str:
    """Return when it is tried again at the latest, by the last attempt that is known; empty where that is over."""
    own = {pod.key for pod in simulation.subject.pending}
    said = [pod.condition.since for pod in simulation.subject.pending if pod.condition is not None]
    said += [one.last_seen for one in simulation.snapshot.events if one.key in own and one.reason == "FailedScheduling"]
    moment = simulation.snapshot.moment
    by = max((later(since, _FLUSHED_WITHIN) for since in said), default="")
    left = between(moment, by)
    return by if left is not None and left > timedelta() else ""


def steps(simulation: Simulation) -> tuple[WayOut, ...]:
    """Return what makes the scheduler try again, where there is a PodGroup to do it by."""
    wakes = next_steps.wake(simulation)
    return () if wakes is None else (wakes,)


def notices(simulation: Simulation, verdict: Verdict) -> Iterator[Notice]:
    """Warn of a group that 1.7 may never try again, and does not report (koordinator#2773)."""
    subject, is_affected = simulation.subject, simulation.snapshot.config.version == "1.7"
    if not is_affected or verdict != "yes" or isinstance(subject, PodSubject) or subject.group.is_satisfied():
        return
    if len(subject.pending) > 1 and all(
        pod.condition is None and _is_old(simulation, pod.created) for pod in subject.pending
    ):
        yield Notice("stuck-representative", sentences.STUCK_REPRESENTATIVE)


def _is_old(simulation: Simulation, created: str) -> bool:
    age = between(created, simulation.snapshot.moment)
    return age is not None and age > _SOON
