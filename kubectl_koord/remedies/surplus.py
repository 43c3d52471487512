"""Pods beyond a gang's minimum, and members that come after it once ran: what the scheduler does with them."""

from collections.abc import Iterator

from kubectl_koord.engine.admission.leader import has_bound
from kubectl_koord.engine.attempts.attempt import needed
from kubectl_koord.engine.gangs import GangGroup
from kubectl_koord.engine.subjects import PodSubject, never_tried
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.remedies import next_steps
from kubectl_koord.reports.common import Notice, Verdict
from kubectl_koord.reports.edits import DeletePod
from kubectl_koord.reports.jobs.pending import Cause
from kubectl_koord.reports.ways_out import WayOut
from kubectl_koord.simulation.edits import changed
from kubectl_koord.simulation.simulation import Simulation, all_place, next_attempt
from kubectl_koord.wording.answers import pending as sentences
from kubectl_koord.wording.remedies.ways_out import drop_surplus


def without(simulation: Simulation) -> tuple[WayOut, ...]:
    """Return the way out of a topology gang that would be placed with its minimum alone, none else.

    The scheduler wants slots for all members that are pending (`desiredOfferSlot`), not for the minimum.
    """
    subject = simulation.subject
    is_planned = simulation.has_topology and simulation.snapshot.config.aware_of_topology
    if isinstance(subject, PodSubject) or not is_planned:
        return ()
    group = subject.group
    wanted = needed(group)
    never = never_tried(subject, simulation.snapshot)
    kept = {
        gang.key: sorted(gang.pending, key=lambda pod: pod.key in never)[: wanted[gang.key]] for gang in group.members
    }
    staying = {pod.key for pods in kept.values() for pod in pods}
    surplus = tuple(pod for pod in group.pending if pod.key not in staying)
    if not surplus or not staying:
        return ()
    edits = tuple(DeletePod(pod.key) for pod in surplus)
    if not all_place(next_attempt(changed(simulation, edits))):
        return ()
    message = drop_surplus(len(staying), len(surplus), next_steps.dropped(surplus))
    return (WayOut("drop-surplus", message, edits=edits),)


def wanted(simulation: Simulation) -> Iterator[Cause]:
    """Yield that only pods beyond the minimum find no place, where that is so."""
    for way in without(simulation):
        gone = tuple(edit.pod for edit in way.edits if isinstance(edit, DeletePod))
        pods = len(simulation.subject.pending)
        yield Cause("surplus-pods", sentences.wanted_beyond(pods - len(gone), pods), gone)


def notices(simulation: Simulation, verdict: Verdict) -> Iterator[Notice]:
    """Warn of members that are not certain to be bound with the others, or at all."""
    subject = simulation.subject
    if isinstance(subject, PodSubject) or verdict != "yes":
        return
    group = subject.group
    at_once = max(1, sum(needed(group).values()))
    if not group.is_satisfied() and group.minimum > 0 and at_once < len(group.pending):
        yield Notice("surplus-pods", sentences.some_bound_later(at_once, group.pending))
    elif may_be_forgotten(group, simulation.snapshot):
        yield Notice("replacement-waits", sentences.FORGOTTEN_IF_STILL_PENDING)


def may_be_forgotten(group: GangGroup, snapshot: Snapshot) -> bool:
    """Tell whether it decides that the scheduler remembers the gang to have run (`OnceResourceSatisfied`).

    A scheduler that has restarted may have forgotten, which is in no object; then the new pods wait
    for as many as the minimum. One that leads for longer than some member is bound remembers.
    """
    if not any(group.has_run(gang) for gang in group.everyone) or has_bound(group, snapshot):
        return False
    forgotten = needed(group, remembered=False)
    return any(len(gang.pending) < forgotten[gang.key] for gang in group.members)


def late_code(group: GangGroup) -> sentences.LateCode:
    """Return what the pending members of a satisfied group are: of a new run, beyond the minimum, or replacements."""
    if not any(gang.running for gang in group.members):
        return "satisfied-by-earlier-pods"
    is_complete = all(len(gang.running) >= (gang.minimum or 0) for gang in group.members)
    return "surplus-pods" if is_complete else "replacement-waits"
