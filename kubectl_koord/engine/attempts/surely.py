"""Jobs that an attempt surely places: found by a look at a few nodes, where nothing but their room decides.

No is no proof of the contrary.
"""

from collections.abc import Iterable
from itertools import islice

from kubectl_koord.engine.attempts.attempt import Job, JobTopology, are_alike, is_enough, may_abort
from kubectl_koord.engine.fit import Prepared, of_other_jobs, rejection_as_is, reserve, room_for
from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.engine.placement import start_set
from kubectl_koord.engine.slots import places
from kubectl_koord.engine.view import View
from kubectl_koord.model.pods import PendingPod

_MOST_LOOKED_AT = 64
"""So many nodes are looked at, or as many as there are pods."""


def surely_placed_beside_all(job: Job, view: View, names: Iterable[str], taken: int | None = None) -> bool:
    """Tell whether every attempt surely places a job that is not planned, whatever quotas and nominated pods there are.

    Args:
        job: what is tried.
        view: the cluster.
        names: the nodes of which the first are looked at.
        taken: on how many of these nodes, it is open which, others are placed before; None where all are as in `view`.
            Each must take a pod of the job as long as nobody is.

    """
    if job.topology is not None or len(job.triggers) > 1:
        return False
    nominated = {pod.nominated for pod in of_other_jobs(job.nominated, job.pods)}
    free = (name for name in names if name not in nominated)
    has_place = surely_placed(job, view, free) if taken is None else _can_spare(job, view, free, taken)
    return has_place and job.over_quota(view, job.gang_by_gang(job.triggers[0])) is None


def _can_spare(job: Job, view: View, names: Iterable[str], number: int) -> bool:
    """Tell whether a job that takes a node for each pod still finds as many where it loses so many of these nodes."""
    prepared = _prepared_alike(job, view)
    if prepared is None or prepared.may_fail_to_reserve:
        return False
    wanted = number + len(job.tried)
    return sum(1 for _ in islice(names, wanted)) == wanted


def surely_placed(job: Job, view: View, names: Iterable[str] | None = None) -> bool:
    """Tell whether an attempt surely places a job in a cluster without quotas, as if no other pod were nominated.

    Members that are alike find their places wherever nodes have room for all of them, whichever they take. A plan
    takes some domain where one has room: it is surely carried out, be it without nodes that it fails on, where all
    who are counted in a domain find their places, as these nodes are not among them.
    """
    prepared = _prepared_alike(job, view)
    if prepared is None:
        return False
    if job.topology is not None:
        return _has_domain(job.topology, view, len(job.pods), prepared)
    asked = view.names() if names is None else names
    return not prepared.may_fail_to_reserve and _have_room(view, asked, len(job.tried), prepared)


def _prepared_alike(job: Job, view: View) -> Prepared | None:
    """Return what is prepared for each member, as if it were alone, None where more than a node's own room decides."""
    trigger = next(iter(job.triggers), None)
    if job.prefilter is not None or trigger is None or may_abort(trigger) or not are_alike(job, trigger, job.pods):
        return None
    prepared = job.prepared_to_plan(trigger, view).alone(trigger)
    is_certain = prepared.counts_only_room and not prepared.reservations and not prepared.follows_members
    if not is_certain or prepared.refusal is not None or not is_enough(job, (pod.key for pod in job.tried)):
        return None
    return prepared


def _have_room(view: View, names: Iterable[str], number: int, prepared: Prepared) -> bool:
    left = number
    for name in islice(names, max(_MOST_LOOKED_AT, number)):
        left -= _placed_on(view.state(name), left, prepared)[1]
        if left <= 0:
            return True
    return False


def _has_domain(topology: JobTopology, view: View, number: int, prepared: Prepared) -> bool:
    if any(multiple > 1 for multiple in topology.requirements.multiples.values()):
        return False
    tree = topology.tree
    nodes = ((index, name) for index in start_set(tree, topology.requirements) for name in tree.nodes_below(index))
    left: dict[int, int] = {}
    for index, name in islice(nodes, max(_MOST_LOOKED_AT, number)):
        counted, placed = _placed_on(view.state(name), number, prepared)
        left[index] = left.get(index, number) - (placed if placed == counted else 0)
        if left[index] <= 0:
            return True
    return False


def _placed_on(state: NodeState, number: int, prepared: Prepared) -> tuple[int, int]:
    """Return for how many of so many pods a node offers slots, and how many of them find their places there."""
    pod = prepared.trigger
    if rejection_as_is(pod, state, prepared) is not None:
        return 0, 0
    counted = min(number, room_for(state, pod.requirements.requests, prepared))
    if not prepared.books:
        return counted, counted
    if counted == 1:
        return 1, int(isinstance(reserve(pod, state, prepared), PendingPod))
    return counted, places(state, (pod,) * counted, prepared).slots
