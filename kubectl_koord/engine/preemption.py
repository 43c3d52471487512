"""Job preemption: which pods one failed attempt preempts, and where it nominates the members.

Mirrors coscheduling/core/preemption.go, its known faults included: costs that win ties as scores,
members of plain gangs that are not counted against each other, and slots that stay occupied while
victims are given back.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.engine.attempt import Attempt, Job, JobTopology
from kubectl_koord.engine.fit import rejection
from kubectl_koord.engine.placement import gather
from kubectl_koord.engine.reservations import uid_of
from kubectl_koord.engine.slots import crowded, in_index_order, offer_slots
from kubectl_koord.engine.tree import Domain
from kubectl_koord.engine.view import NodeState, Room, View
from kubectl_koord.model.memo import memoised
from kubectl_koord.model.pods import PendingPod, ReservedRoom, RunningPod

_NONE: frozenset[str] = frozenset()
Refusal: TypeAlias = Literal["no-pending-pods", "policy-never", "terminating-victim", "no-victims", "not-helpful"]
"""Why one attempt preempts no pod."""

FirstOfJob: TypeAlias = Callable[[Sequence[int]], int]
"""Which of a job's pods on a node comes first: of their priorities, given in the order of their names."""


class VictimOrder(Struct, frozen=True):
    """Which pod of each victim job on a node comes first for the scheduler: no object shows it, so several are tried.

    It follows from the order in which its cache lists a node's pods. `usual` holds on all nodes, or on
    all but one `node`, where it is `on_node`.
    """

    usual: FirstOfJob
    node: str = ""
    on_node: FirstOfJob | None = None


class Preemption(Struct, frozen=True):
    """What one attempt at preemption does.

    reason: None when pods are nominated.
    victims: the pods that are preempted, by node then name. gone: those, and pods that terminate already.
    in_vain: the reservations that were chosen as victims: nothing deletes them, and their room stays reserved.
    nominations: `ns/pod` to node; `domain` the chosen domain, None for plain jobs.
    """

    eligible: bool
    reason: Refusal | None
    victims: tuple[RunningPod, ...] = ()
    gone: tuple[RunningPod, ...] = ()
    in_vain: tuple[ReservedRoom, ...] = ()
    nominations: Mapping[str, str] = {}
    domain: Domain | None = None


by_name = VictimOrder(itemgetter(0))  # the order of a scheduler that has just started
last_first = VictimOrder(itemgetter(-1))
lowest_priority_first = VictimOrder(min)
highest_priority_first = VictimOrder(max)
VICTIM_ORDERS: tuple[VictimOrder, ...] = (by_name, last_first, lowest_priority_first, highest_priority_first)


def single_out(node: str, *, cheap: bool) -> VictimOrder:
    """Return the order that gives one node its lowest cost and all others their highest, or reversed."""
    return VictimOrder(max, node, min) if cheap else VictimOrder(min, node, max)


def preempt(job: Job, view: View, failed: Attempt, victim_order: VictimOrder = by_name) -> Preemption:
    """Return what preemption does after this attempt failed.

    Args:
        job: what was tried.
        view: the cluster as it was before the attempt.
        failed: the attempt, with its trigger and where that failed.
        victim_order: which pod of each job comes first on each node (decides cost ties only).

    """
    refusal = _ineligible(view, failed)
    if refusal:
        return Preemption(eligible=False, reason=refusal)
    if failed.failed_seat is not None or failed.aborted:
        return Preemption(eligible=True, reason="not-helpful")
    now = view.with_pods(failed.waiting) if failed.waiting else view
    considered = failed.considered(view)
    spared = failed.prepared.reservations
    possible = _possible(now, failed.trigger.priority, spared, considered)
    if not possible:
        return Preemption(eligible=True, reason="no-victims")
    # Nodes that are not considered are emptied too, and not looked at: attempts share what is computed of the rest.
    emptied = without_victims(now, failed.trigger, spared)
    costs = node_costs(now, possible, failed.trigger, victim_order, spared)
    if job.topology is not None:
        return _gathered(job, job.topology, emptied, failed, considered, possible, costs)
    return _pod_by_pod(emptied, failed, considered, possible, costs)


def _ineligible(view: View, failed: Attempt) -> Refusal | None:
    """Return why no pod may be preempted now (`jobEligibleToPreemptOthers`)."""
    if not failed.left:
        return "no-pending-pods"
    if failed.trigger.never_preempts:
        return "policy-never"
    for pod in failed.left:
        if pod.nominated and pod.nominated in view.names() and _waits_for_victim(pod, view, failed):
            return "terminating-victim"
    return None


def _waits_for_victim(pod: PendingPod, view: View, failed: Attempt) -> bool:
    if pod.key == failed.trigger.key:
        reason = failed.rejections.get(pod.nominated) if failed.over_quota is None else None
        if reason is not None and reason.unresolvable:
            return False
    return any(victim.terminating and victim.preempted for victim in possible_victims(view, pod.nominated, pod))


def possible_victims(view: View, node: str, trigger: PendingPod) -> tuple[RunningPod, ...]:
    """Return the pods on a node that the trigger may preempt, by name (`isPreemptionAllowed`)."""
    return tuple(pod for pod in _below(view, node, trigger.priority, _NONE) if isinstance(pod, RunningPod))


def _below(view: View, node: str, priority: int, spared: frozenset[str]) -> tuple[Room, ...]:
    """Return the pods and reservations that may be preempted; those that the trigger draws on are not in its way."""
    held = view.occupants(node)
    return tuple(
        [
            one
            for one in held
            if not isinstance(one, PendingPod)
            and one.priority < priority
            and not one.protected
            and not (spared and uid_of(one) in spared)
        ]
    )


def without_victims(view: View, trigger: PendingPod, spared: frozenset[str] = _NONE) -> View:
    """Return the cluster without all that the trigger may preempt, save the reservations that are `spared`."""
    return view.without_any(_victims, trigger.priority, spared)


def _victims(view: View, priority: int, spared: frozenset[str]) -> Mapping[str, tuple[Room, ...]]:
    return view.per_node(_victims_on, priority, spared)


def _victims_on(view: View, priority: int, spared: frozenset[str]) -> Callable[[str], tuple[Room, ...]]:
    return lambda name: _below(view, name, priority, spared)


@memoised
def _possible(
    view: View, priority: int, spared: frozenset[str], considered: tuple[str, ...]
) -> Mapping[str, tuple[Room, ...]]:
    every = _victims(view, priority, spared)
    return {name: victims for name in considered if (victims := every[name])}


def node_costs(
    view: View,
    nodes: Iterable[str],
    trigger: PendingPod,
    victim_order: VictimOrder,
    spared: frozenset[str] = _NONE,
) -> Mapping[str, int]:
    """Return the cost of emptying each node: priority ranks summed over distinct victim jobs.

    A job counts with the first of its pods. Mirrors `estimatePreemptionCost`.

    Args:
        view: the cluster; its nodes keep what was computed of them.
        nodes: those that are considered; only their victims are ranked.
        trigger: the pod that preempts.
        victim_order: which pod of each job comes first on each node.
        spared: the reservations that are no victims.

    """
    names = tuple(nodes)
    ranks, costs = _ranked_costs(view, names, trigger.priority, spared, victim_order.usual)
    if victim_order.on_node is None or victim_order.node not in costs:
        return costs
    jobs = _priorities(view, trigger.priority, spared)[victim_order.node]
    return {**costs, victim_order.node: sum(ranks[victim_order.on_node(job)] for job in jobs)}


@memoised
def _ranked_costs(
    view: View, names: tuple[str, ...], priority: int, spared: frozenset[str], first: FirstOfJob
) -> tuple[Mapping[int, int], Mapping[str, int]]:
    """Return the rank of each priority among the victims, and the cost of each node."""
    jobs = _priorities(view, priority, spared)
    levels = sorted(set[int]().union(*(job for name in names for job in jobs[name])))
    ranks = {level: rank for rank, level in enumerate(levels)}
    return ranks, {name: sum([ranks[first(job)] for job in jobs[name]]) for name in names}


def _priorities(view: View, priority: int, spared: frozenset[str]) -> Mapping[str, Sequence[Sequence[int]]]:
    """Return, by node, the priorities of its possible victims, those of each victim job in the order of their names."""
    return view.per_node(_priorities_on, priority, spared)


def _priorities_on(view: View, priority: int, spared: frozenset[str]) -> Callable[[str], Sequence[Sequence[int]]]:
    victims = _victims(view, priority, spared)

    def on_node(name: str) -> Sequence[Sequence[int]]:
        jobs: dict[str, list[int]] = {}
        for victim in victims[name]:
            jobs.setdefault(victim.job, []).append(victim.priority)
        return tuple(jobs.values())

    return on_node


def _gathered(
    job: Job,
    topology: JobTopology,
    emptied: View,
    failed: Attempt,
    considered: Sequence[str],
    possible: Mapping[str, tuple[Room, ...]],
    costs: Mapping[str, int],
) -> Preemption:
    ordered = in_index_order(failed.left)
    slots = offer_slots(emptied, considered, ordered, failed.prepared)
    found = gather(topology.tree, emptied, failed.left, topology.requirements, slots, job.rules, costs)
    if found.assignments is None:
        return Preemption(eligible=True, reason="not-helpful")
    by_node = _members_by_node(failed.left, found.assignments)
    states = {name: crowded(emptied.state(name), ordered, slots[name].slots) for name in by_node}
    return _outcome(failed, found.assignments, by_node, states, possible, found.chosen)


def _members_by_node(pods: Sequence[PendingPod], assignments: Mapping[str, str]) -> dict[str, list[PendingPod]]:
    by_node: dict[str, list[PendingPod]] = {}
    for pod in sorted(pods, key=lambda pod: (pod.name, pod.namespace)):
        by_node.setdefault(assignments[pod.key], []).append(pod)
    return by_node


def _pod_by_pod(
    emptied: View,
    failed: Attempt,
    considered: Sequence[str],
    possible: Mapping[str, tuple[Room, ...]],
    costs: Mapping[str, int],
) -> Preemption:
    """Nominate each member to the cheapest node that takes it alone (`placeToSchedulePods`).

    Upstream drops the copy of the node on which it put the member before: no member is counted
    against another. A node that refused one member is not tried again for the next.
    """
    feasible = sorted(considered)
    chosen = ""
    assignments: dict[str, str] = {}
    by_node: dict[str, list[PendingPod]] = {}
    tried: set[object] = set()
    for pod in failed.left:
        kind = (pod.requirements, pod.labels, pod.namespace, pod.priority)
        if kind not in tried:  # the nodes that are left have taken one like it
            tried.add(kind)
            feasible = [name for name in feasible if rejection(pod, emptied.state(name), failed.prepared) is None]
            if not feasible:
                return Preemption(eligible=True, reason="not-helpful")
            chosen = min(feasible, key=lambda name: (costs.get(name, 0), name))
        assignments[pod.key] = chosen
        by_node.setdefault(chosen, []).append(pod)
    states = {name: emptied.state(name).copy() for name in by_node}
    return _outcome(failed, assignments, by_node, states, possible, None)


def _outcome(
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
        for victim in not_reprieved(states[name], by_node[name], possible.get(name, ()), failed)
    ]
    pods = tuple(victim for victim in gone if isinstance(victim, RunningPod))
    waiting = {pod.key: node for node, members in failed.waiting.items() for pod in members}
    return Preemption(
        eligible=True,
        reason=None,
        victims=tuple(pod for pod in pods if not pod.terminating),
        gone=pods,
        in_vain=tuple(victim for victim in gone if isinstance(victim, ReservedRoom)),
        nominations={**assignments, **waiting},
        domain=domain,
    )


def not_reprieved(
    state: NodeState, members: Sequence[PendingPod], possible: Sequence[Room], failed: Attempt
) -> list[Room]:
    """Return the possible victims of one node that do not come back, in name order.

    From the highest priority down each is put back, and stays if the members still fit one after
    the other. Mirrors `selectVictims`; `state` is changed.
    """
    victims = []
    for pod in sorted(possible, key=lambda pod: (-pod.priority, pod.job, _name(pod))):
        state.add(pod)
        if not _fit_in_turn(state.copy(), members, failed):
            state.remove(pod)
            victims.append(pod)
    return sorted(victims, key=lambda pod: pod.key)


def _name(victim: Room) -> str:
    """Return the name that the scheduler goes by: that of the pod which stands for a reservation is its uid."""
    return victim.uid if isinstance(victim, ReservedRoom) else victim.name


def _fit_in_turn(state: NodeState, members: Sequence[PendingPod], failed: Attempt) -> bool:
    for pod in members:
        if rejection(pod, state, failed.prepared) is not None:
            return False
        state.add(pod)
    return True
