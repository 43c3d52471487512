"""Whom a gang without topology preempts as it is tried again and again, though room for all is nowhere."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import structs

from kubectl_koord.engine.attempts.attempt import Attempt, Job
from kubectl_koord.engine.fit import Prepared, rejection
from kubectl_koord.engine.preemption.preempt import Preemption, placed_alike, preempting
from kubectl_koord.engine.preemption.reprieve import not_reprieved
from kubectl_koord.engine.preemption.victims import victims_by_node, without_victims
from kubectl_koord.engine.view import View
from kubectl_koord.model.pods import PendingPod

if TYPE_CHECKING:
    from kubectl_koord.engine.node_state import Room


def preempt_as_retried(job: Job, view: View, failed: Attempt) -> Preemption | None:
    """Return the victims of later attempts after one whose preemption does not help, None where there are none.

    Members that waited stay nominated to their nodes and hold that room from those that had none. So a later attempt
    fails before all wait that could: there is room for one more on a node, and all that are left are nominated
    there, as none is counted against another. They do not fit there together, and so its victims die for nothing. In
    the end that befalls every node where members wait, as seen of the real schedulers. Mirrors `setAllNominatedNode`
    and `placeToSchedulePods` in coscheduling/core/preemption.go, and the nominations of Kubernetes for pods that wait.
    """
    if job.topology is not None or job.each_queued or not job.rules.keeps_nominations:
        return None
    if failed.prefilter is not None or failed.failed_seat is not None or failed.aborted:
        return None  # what stopped these is not room
    spared = failed.prepared.reservations
    possible = victims_by_node(view, failed.trigger.priority, spared)
    nodes = sorted(name for name in failed.waiting if possible[name])
    if not nodes:
        return None
    emptied = without_victims(failed.beside_waiting(view), failed.trigger, spared)
    gone: list[Room] = []
    for name in nodes:
        *waiting, last = failed.waiting[name]
        left = (*failed.left, last)
        kinds = {placed_alike(pod): pod for pod in left}.values()
        prepared = _prepared(job, view, failed, {**failed.waiting, name: tuple(waiting)})
        state = emptied.state(name).copy()
        state.remove(last)
        if all(rejection(pod, state, prepared) is None for pod in kinds):
            gone += not_reprieved(state, left, possible[name], prepared, names_jobs=job.rules.names_jobs)
    found = preempting(gone)
    return structs.replace(found, retried=True) if found.gone else None


def _prepared(job: Job, view: View, failed: Attempt, waiting: Mapping[str, Sequence[PendingPod]]) -> Prepared:
    """Return the prepared state of the trigger with fewer members waiting, where it matters on which nodes they are."""
    if not failed.prepared.follows_members_elsewhere:
        return failed.prepared
    return job.prepared(failed.trigger, view.with_pods(waiting))
