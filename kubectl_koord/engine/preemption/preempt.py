"""Job preemption: which pods one failed attempt preempts, and where it nominates the members.

Mirrors coscheduling/core/preemption.go, its known faults included: costs that win ties as scores,
members of plain gangs that are not counted against each other, and slots that stay occupied while
victims are given back.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Literal, TypeAlias

from msgspec import Struct, structs

from kubectl_koord.engine.attempts.attempt import Attempt, Job, JobTopology
from kubectl_koord.engine.node_names import NodeNames
from kubectl_koord.engine.node_state import NodeState, Room
from kubectl_koord.engine.offer import Offer
from kubectl_koord.engine.placement import gather, suffices
from kubectl_koord.engine.preemption.costs import VictimOrder, by_name, node_costs
from kubectl_koord.engine.preemption.reprieve import not_reprieved
from kubectl_koord.engine.preemption.victims import possible_victims, victims_by_node, with_victims, without_victims
from kubectl_koord.engine.rules import Rules
from kubectl_koord.engine.slots import crowded, in_index_order, offer_slots, runs_of
from kubectl_koord.engine.tree import Domain
from kubectl_koord.engine.view import View
from kubectl_koord.model.pods import PendingPod, ReservedRoom, RunningPod
from kubectl_koord.model.values.memo import Identity, recently

Refusal: TypeAlias = Literal[
    "preemption-disabled", "no-pending-pods", "policy-never", "terminating-victim", "no-victims", "not-helpful"
]
"""Why one attempt preempts no pod."""

_MOST_KEPT = 8


class Preemption(Struct, frozen=True):
    """What one attempt at preemption does.

    reason: None when pods are nominated.
    victims: the pods that are preempted, by node then name. gone: those, and pods that terminate already.
    in_vain: the reservations that were chosen as victims: nothing deletes them, and their room stays reserved.
    nominations: `ns/pod` to node; `domain` the chosen domain, None for plain jobs. by_cost: whether what it costs to
    empty nodes had a say in which. retried: whether it takes many attempts, each with victims on one node, in an order
    that is open; there are no nominations then, as they change each time. waited: the members that waited in Permit,
    which are nominated to the nodes that they had.
    """

    eligible: bool
    reason: Refusal | None
    victims: tuple[RunningPod, ...] = ()
    gone: tuple[RunningPod, ...] = ()
    in_vain: tuple[ReservedRoom, ...] = ()
    nominations: Mapping[str, str] = {}
    domain: Domain | None = None
    by_cost: bool = False
    retried: bool = False
    meanwhile: bool = False
    waited: frozenset[str] = frozenset()


def preempt(
    job: Job, view: View, failed: Attempt, victim_order: VictimOrder = by_name, *, anew: bool = False
) -> Preemption:
    """Return what preemption does after this attempt failed.

    Args:
        job: what was tried.
        view: the cluster as it was before the attempt.
        failed: the attempt, with its trigger and where that failed.
        victim_order: which pod of each job comes first on each node (decides cost ties only).
        anew: whether no member is nominated now, whatever the API shows.

    """
    refusal = _ineligible(view, failed, anew=anew)
    if refusal:
        return Preemption(eligible=False, reason=refusal)
    if failed.failed_seat is not None or failed.aborted:
        return Preemption(eligible=True, reason="not-helpful")
    now = failed.beside_waiting(view)
    considered = failed.considered(view)
    spared = failed.prepared.reservations
    emptying = NodeNames(now, considered.nodes & with_victims(now, failed.trigger.priority, spared))
    if not emptying:
        return Preemption(eligible=True, reason="no-victims")
    # Nodes that are not considered are emptied too, and not looked at: attempts share what is computed of the rest.
    emptied = without_victims(now, failed.trigger, spared)
    possible = victims_by_node(now, failed.trigger.priority, spared)
    costs = partial(node_costs, now, emptying, failed.trigger, victim_order, spared)
    if job.topology is not None:
        return _gathered(job, job.topology, emptied, failed, considered, possible, costs)
    return _pod_by_pod(job, emptied, failed, considered, possible, costs)


def _ineligible(view: View, failed: Attempt, *, anew: bool) -> Refusal | None:
    """Return why no pod may be preempted now (`jobEligibleToPreemptOthers`)."""
    if not failed.left:
        return "no-pending-pods"
    if failed.trigger.never_preempts:
        return "policy-never"
    for pod in () if anew else failed.left:
        itself = pod.key == failed.trigger.key
        if pod.nominated in view.names() and waits_for_victim(pod, pod.nominated, view, failed, itself=itself):
            return "terminating-victim"
    return None


def waits_for_victim(
    pod: PendingPod, node: str, view: View, failed: Attempt, dying: frozenset[str] = frozenset(), *, itself: bool
) -> bool:
    """Tell whether a victim of an earlier attempt terminates on a pod's nominated node (`podEligibleToPreemptOthers`).

    Pods that are `dying` (`namespace/name`) terminate, too. The trigger `itself` need not wait where that node refuses
    it for good.
    """
    if itself:
        reason = failed.worded.get(node) if failed.over_quota is None else None
        if reason is not None and reason.unresolvable:
            return False
    return any(
        victim.key in dying or (victim.terminating and victim.preempted) for victim in possible_victims(view, node, pod)
    )


def _gathered(
    job: Job,
    topology: JobTopology,
    emptied: View,
    failed: Attempt,
    considered: NodeNames,
    possible: Mapping[str, tuple[Room, ...]],
    costs: Callable[[], Mapping[str, int]],
) -> Preemption:
    ordered = in_index_order(failed.left)
    if not _may_suffice(topology, emptied, ordered, failed, considered, job.rules):
        return Preemption(eligible=True, reason="not-helpful")
    slots = _slots(emptied, Identity(failed), considered)
    found = gather(topology.tree, emptied, failed.left, topology.requirements, slots, job.rules, costs)
    if found.assignments is None:
        return Preemption(eligible=True, reason="not-helpful")
    by_node = _members_by_node(failed.left, found.assignments)
    states = {name: crowded(emptied.state(name), ordered, slots.counts[name]) for name in by_node}
    return _outcome(job, failed, found.assignments, by_node, states, possible, found.chosen)


def _may_suffice(
    topology: JobTopology,
    emptied: View,
    pods: Sequence[PendingPod],
    failed: Attempt,
    considered: NodeNames,
    rules: Rules,
) -> bool:
    """Tell whether there is room enough anywhere, whatever else nodes refuse: for pods alike that is found soon."""
    if len(runs_of(pods)) > 1:
        return True
    room = offer_slots(emptied, considered, pods, failed.prepared.by_room)
    return suffices(topology.tree, len(pods), topology.requirements, room, rules)


@recently(_MOST_KEPT)
def _slots(emptied: View, failed: Identity[Attempt], considered: NodeNames) -> Offer:
    """Return the slots of the nodes that are considered, for all orders in which the cache may list victims."""
    attempt = failed.value
    return offer_slots(emptied, considered, in_index_order(attempt.left), attempt.prepared)


def _members_by_node(pods: Sequence[PendingPod], assignments: Mapping[str, str]) -> dict[str, list[PendingPod]]:
    by_node: dict[str, list[PendingPod]] = {}
    for pod in sorted(pods, key=lambda pod: (pod.name, pod.namespace)):
        by_node.setdefault(assignments[pod.key], []).append(pod)
    return by_node


def _pod_by_pod(
    job: Job,
    emptied: View,
    failed: Attempt,
    considered: NodeNames,
    possible: Mapping[str, tuple[Room, ...]],
    costs: Callable[[], Mapping[str, int]],
) -> Preemption:
    """Nominate each member to the cheapest node that takes it alone (`placeToSchedulePods`).

    Upstream drops the copy of the node on which it put the member before: no member is counted
    against another. A node that refused one member is not tried again for the next.
    """
    assignments: dict[str, str] = {}
    by_node: dict[str, list[PendingPod]] = {}
    for pods, feasible in _feasible(emptied, Identity(failed), considered):
        if not feasible:
            return Preemption(eligible=True, reason="not-helpful")
        by_cost = costs()
        chosen = min(feasible, key=lambda name: (by_cost.get(name, 0), name))
        assignments.update((pod.key, chosen) for pod in pods)
        by_node.setdefault(chosen, []).extend(pods)
    states = {name: emptied.state(name).copy() for name in by_node}
    return _outcome(job, failed, assignments, by_node, states, possible, None)


@recently(_MOST_KEPT)
def _feasible(
    emptied: View, failed: Identity[Attempt], considered: NodeNames
) -> Sequence[tuple[Sequence[PendingPod], Collection[str]]]:
    """Return the members with the nodes that are left for them, those together that come to the same node.

    All orders in which the cache may list victims share it.
    """
    feasible: Collection[str] = considered
    found: list[tuple[list[PendingPod], Collection[str]]] = []
    tried: set[object] = set()
    for pod in failed.value.left:
        kind = placed_alike(pod)
        if kind not in tried:  # the nodes that are left have taken one like it
            tried.add(kind)
            taking = offer_slots(emptied, feasible, (pod,), failed.value.prepared).counts.by_name
            feasible = [name for name in feasible if name in taking]
            found.append(([], feasible))
        found[-1][0].append(pod)
        if not feasible:
            break
    return found


def _outcome(
    job: Job,
    failed: Attempt,
    assignments: Mapping[str, str],
    by_node: Mapping[str, Sequence[PendingPod]],
    states: Mapping[str, NodeState],
    possible: Mapping[str, tuple[Room, ...]],
    domain: Domain | None,
) -> Preemption:
    gone = [
        victim
        for name in sorted(by_node)
        for victim in not_reprieved(
            states[name], by_node[name], possible.get(name, ()), failed.prepared, names_jobs=job.rules.names_jobs
        )
    ]
    waiting = {pod.key: node for node, members in failed.waiting.items() for pod in members}
    done = preempting(gone)
    nominations = {**assignments, **waiting}
    return structs.replace(done, nominations=nominations, domain=domain, by_cost=True, waited=frozenset(waiting))


def preempting(gone: Sequence[Room]) -> Preemption:
    """Return the preemption that takes these away: pods are deleted, and reservations chosen in vain."""
    pods = tuple(victim for victim in gone if isinstance(victim, RunningPod))
    return Preemption(
        eligible=True,
        reason=None,
        victims=tuple(pod for pod in pods if not pod.terminating),
        gone=pods,
        in_vain=tuple(victim for victim in gone if isinstance(victim, ReservedRoom)),
    )


def placed_alike(pod: PendingPod) -> object:
    """Return what members have in common that the same emptied nodes take."""
    return (pod.requirements, pod.labels, pod.namespace, pod.priority)
