"""One attempt of the scheduler at a gang: where its pods would go, or on which nodes they failed.

A gang with a topology spec is planned as a whole; any other is tried pod by pod.
"""

from collections.abc import Iterable, Mapping

from kubectl_koord.engine.attempt import Attempt, FailedSeat, Job, JobTopology, Kind, are_alike, is_enough, kind_of
from kubectl_koord.engine.fit import Prepared, placed
from kubectl_koord.engine.one_by_one import Choice, emptiest, pod_by_pod
from kubectl_koord.engine.placement import gather
from kubectl_koord.engine.slots import in_index_order, offer_slots
from kubectl_koord.engine.view import NodeState, View
from kubectl_koord.model.pods import PendingPod


def attempt(job: Job, view: View, trigger: PendingPod, choose: Choice | None = None) -> Attempt:
    """Return what comes of an attempt with this trigger.

    Args:
        job: what is tried.
        view: the cluster.
        trigger: the member that is taken first.
        choose: which feasible node a plain member takes; by default the emptiest.

    """
    prepared = job.prepared_to_plan(trigger, view)
    refusal = job.prefilter or prepared.refusal
    if refusal is not None:
        return Attempt(trigger, prepared, None, None, {}, left=job.pods, prefilter=refusal)
    if job.topology is not None:
        return _planned(job, job.topology, view, trigger)
    return pod_by_pod(job, view, trigger, choose or emptiest)


def _planned(job: Job, topology: JobTopology, view: View, trigger: PendingPod) -> Attempt:
    prepared = job.prepared_to_plan(trigger, view)
    slots = offer_slots(view, view.names(), in_index_order(job.pods), prepared)
    plan = gather(topology.tree, view, job.pods, topology.requirements, slots, job.rules)
    failed = _failed_seat(job, view, prepared, plan.assignments) if plan.assignments else None
    tried = {pod.key: plan.assignments[pod.key] for pod in job.tried} if plan.assignments else {}
    placement = tried if failed is None and is_enough(job, tried) else None
    return Attempt(trigger, prepared, plan, placement, slots, left=job.pods, failed_seat=failed)


def _failed_seat(job: Job, view: View, prepared: Prepared, assignments: Mapping[str, str]) -> FailedSeat | None:
    """Return the first member that its own filters refuse on its planned node, None when all fit.

    The plan was made with the trigger's prepared state, and nothing was booked for those who were counted;
    now each pod is tried with its own, and all is booked for those before it.
    """
    trigger = prepared.trigger
    if are_alike(job, trigger, job.pods) and not prepared.books and not prepared.follows_members:
        return None
    in_turn = sorted(job.tried, key=lambda pod: (pod.key != trigger.key, pod.key))
    own = {kind_of(job, pod): pod for pod in in_turn}
    by_kind = {kind: job.prepared(pod, view) for kind, pod in own.items()}
    if not any(one.follows_members for one in by_kind.values()):
        return _first_refused(job, view, in_turn, assignments, by_kind)
    seated: dict[str, list[PendingPod]] = {}
    for pod in in_turn:
        node = assignments[pod.key]
        now = view.with_pods(seated)
        of_pod = job.prepared(pod, now)
        found = placed(pod, now.state(node), of_pod)
        if not isinstance(found, PendingPod):
            return FailedSeat(pod.key, node, found, bool(of_pod.reservations))
        seated.setdefault(node, []).append(found)
    return None


def _first_refused(
    job: Job,
    view: View,
    in_turn: Iterable[PendingPod],
    assignments: Mapping[str, str],
    by_kind: Mapping[Kind, Prepared],
) -> FailedSeat | None:
    """Return the same for members of which none changes what was prepared for the others."""
    states: dict[str, NodeState] = {}
    for pod in in_turn:
        node = assignments[pod.key]
        state = states.setdefault(node, view.state(node).copy())
        of_pod = by_kind[kind_of(job, pod)]
        found = placed(pod, state, of_pod)
        if not isinstance(found, PendingPod):
            return FailedSeat(pod.key, node, found, bool(of_pod.reservations))
        state.add(found)
    return None
