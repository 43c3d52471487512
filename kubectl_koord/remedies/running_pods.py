"""Running pods in the way: which may go, what they request of that which is short, and what their end harms."""

from collections.abc import Sequence

from kubectl_koord.diagnosis import disruption
from kubectl_koord.diagnosis.evidence import scarce
from kubectl_koord.engine.preemption.victims import possible_victims
from kubectl_koord.model.pods import RunningPod
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
    pods = (pod for pod in search.view.occupants(node) if isinstance(pod, RunningPod))
    return tuple(
        pod for pod in pods if pod.gang not in own and not disruption.comes_back_there(pod) and not pod.terminating
    )


def lower_priority(search: Search, node: str) -> tuple[RunningPod, ...]:
    """Return the pods of a node that may be freed and that the gang's priority lets it preempt."""
    victims = {pod.key for pod in possible_victims(search.view, node, search.first.trigger)}
    return tuple(pod for pod in removable(search, node) if pod.key in victims)


def harmed(search: Search, pods: Sequence[RunningPod]) -> tuple[tuple[FreedPod, ...], tuple[BrokenGang, ...]]:
    """Return what is known of pods that would go together, and the gangs that their end breaks."""
    snapshot = search.simulation.snapshot
    return disruption.freed(snapshot, pods), disruption.broken_gangs(snapshot, pods)


def eviction(pods: Sequence[FreedPod]) -> str:
    """Return the command that evicts pods, empty where it should not be run."""
    return commands.evict([pod.pod for pod in pods]) if disruption.may_be_evicted(pods) else ""


def described(search: Search, pod: RunningPod) -> RemovedPod:
    """Return what a sentence says of a pod: where it is, and what it requests of that which is short."""
    need = scarce(pod.requirements.requests, search.first.rejections.get(pod.node))
    needed = tuple(item for item in pod.requirements.requests if item[0] in need)
    return RemovedPod(pod.key, pod.node, pod.priority, needed)
