"""Running pods in the way: which may go, what they request of that which is short, and what their end harms."""

from collections.abc import Callable, Mapping, Sequence

from kubectl_koord.diagnosis import disruption
from kubectl_koord.diagnosis.evidence import scarce
from kubectl_koord.engine.attempts.attempt import Attempt
from kubectl_koord.engine.preemption.victims import NO_RESERVATIONS, victims_by_node
from kubectl_koord.engine.reasons.nodes import ClaimInUse, Insufficient, Reason, TooManyPods
from kubectl_koord.engine.reasons.prefilter import PreFilterRefusal
from kubectl_koord.model.hardware.allocations import NOTHING
from kubectl_koord.model.pods import RunningPod, claim_names
from kubectl_koord.remedies.search import Search
from kubectl_koord.reports.disruption import BrokenGang, FreedPod
from kubectl_koord.wording.remedies import commands
from kubectl_koord.wording.remedies.ways_out import RemovedPod


def removable(search: Search, node: str) -> tuple[RunningPod, ...]:
    """Return the pods of a node that may be freed.

    These are no members of its own gangs, nothing that comes back at once on the same node, and nothing
    that is about to go anyway.
    """
    own = search.simulation.subject.gangs
    return tuple(
        [
            pod
            for pod in search.view.occupants(node)
            if isinstance(pod, RunningPod)
            and pod.gang not in own
            and not pod.marks.terminating
            and not disruption.comes_back_there(pod)
        ]
    )


def lower_priority(search: Search, node: str) -> tuple[RunningPod, ...]:
    """Return the pods of a node that may be freed and that the gang's priority lets it preempt."""
    victims = victims_by_node(search.view, search.first.trigger.priority, NO_RESERVATIONS)[node]
    keys = {victim.key for victim in victims if isinstance(victim, RunningPod)}
    return tuple(pod for pod in removable(search, node) if pod.key in keys) if keys else ()


def harmed(search: Search, pods: Sequence[RunningPod]) -> tuple[tuple[FreedPod, ...], tuple[BrokenGang, ...]]:
    """Return what is known of pods that would go together, and the gangs that their end breaks."""
    snapshot = search.simulation.snapshot
    return disruption.freed(snapshot, pods), disruption.broken_gangs(snapshot, pods)


def eviction(pods: Sequence[FreedPod]) -> str:
    """Return the command that evicts pods, empty where it should not be run."""
    return commands.evict([pod.pod for pod in pods]) if disruption.may_be_evicted(pods) else ""


def described(search: Search, pod: RunningPod) -> RemovedPod:
    """Return what a sentence says of a pod: where it is, and what it has of that which is short.

    Where it is not the amounts that are short, but cards, CPUs, zones or a claim: those of them that it holds.
    """
    reason = _refusal(search.first, pod.node)
    need = scarce(pod.requirements.requests, reason)
    needed = tuple(item for item in pod.requirements.requests if item[0] in need)
    if isinstance(reason, ClaimInUse) and reason.claim in claim_names(pod):
        return RemovedPod(pod.key, pod.node, pod.priority, needed, claim=reason.claim)
    held = pod.allocations if reason is not None and not isinstance(reason, Insufficient | TooManyPods) else NOTHING
    return RemovedPod(pod.key, pod.node, pod.priority, needed, held)


def _refusal(first: Attempt, node: str) -> Reason | PreFilterRefusal | None:
    """Return why a node refused: as the plan was carried out, or to take more."""
    seat = first.failed_seat
    return seat.reason if seat is not None and seat.node == node else first.rejections.get(node)


def in_the_way(search: Search, pods_on: Callable[[str], Sequence[RunningPod]]) -> Mapping[str, RunningPod]:
    """Return by name the pods that hold what a planned node lacked, or a claim that no other may use meanwhile."""
    firsts = [slot_count.first for slot_count in search.slot_counts]
    seats = {first.failed_seat.node for first in firsts if first.failed_seat is not None}
    found = [pod for name in seats for pod in pods_on(name)]
    if any(map(claim_names, search.members)):
        reasons = {reason for first in firsts for reason in first.rejections.values()}
        claims = {reason.claim for reason in reasons if isinstance(reason, ClaimInUse)}
        every = (pod for name in search.view.names() for pod in pods_on(name))
        found += [pod for pod in every if not claims.isdisjoint(claim_names(pod))]
    return {pod.key: pod for pod in found}
