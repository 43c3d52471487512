"""Job preemption: which pods one failed attempt would kill, and where it nominates the members.

Mirrors coscheduling/core/preemption.go, its known faults included: costs that win ties as scores,
members of plain gangs that are not counted against each other, and slots that stay occupied while
victims are given back.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Literal, TypeAlias, TypeGuard

from msgspec import Struct

from kubectl_koord.engine.attempt import Attempt, Job
from kubectl_koord.engine.fit import rejection
from kubectl_koord.engine.gather import gather
from kubectl_koord.engine.slots import crowded, in_index_order, offer_slots
from kubectl_koord.engine.view import NodeState, Occupant, View
from kubectl_koord.model.pods import PendingPod, RunningPod

Refusal: TypeAlias = Literal["no-pending-pods", "policy-never", "terminating-victim", "no-victims", "not-helpful"]
"""Why one attempt preempts nobody."""

Order: TypeAlias = Callable[[Sequence[RunningPod]], Sequence[RunningPod]]
"""A node's victims, given in name order, in another order."""


class Meeting(Struct, frozen=True):
    """The order in which the scheduler's cache lists each node's victims: in no object, so we try several.

    `usual` is the order on all nodes, or on all but one `node`, where it is `there`.
    """

    usual: Order
    node: str = ""
    there: Order | None = None


class Preemption(Struct, frozen=True):
    """What one attempt at preemption does.

    reason: None when pods are nominated.
    victims: those that are killed, by node then name (pods that terminate already are only `gone`).
    nominations: `ns/pod` to node; `domain` the index of the chosen domain, None for plain jobs.
    """

    eligible: bool
    reason: Refusal | None
    victims: tuple[RunningPod, ...] = ()
    gone: tuple[RunningPod, ...] = ()
    nominations: Mapping[str, str] = {}
    domain: int | None = None


def _last_first(victims: Sequence[RunningPod]) -> Sequence[RunningPod]:
    return victims[::-1]


def _dearest_first(victims: Sequence[RunningPod]) -> Sequence[RunningPod]:
    return sorted(victims, key=_PRIORITY, reverse=True)


def _cheapest_first(victims: Sequence[RunningPod]) -> Sequence[RunningPod]:
    return sorted(victims, key=_PRIORITY)


_PRIORITY = attrgetter("priority")

by_name = Meeting(tuple)  # as a scheduler lists them that has just started
last_first = Meeting(_last_first)
dearest_first = Meeting(_dearest_first)
cheapest_first = Meeting(_cheapest_first)
MEETINGS: tuple[Meeting, ...] = (by_name, last_first, cheapest_first, dearest_first)


def favouring(node: str, *, cheap: bool) -> Meeting:
    """Return the order in which one node is met at its lowest cost and all others at their highest, or reversed."""
    orders = (_dearest_first, _cheapest_first)
    return Meeting(orders[not cheap], node, orders[cheap])


def preempt(job: Job, view: View, failed: Attempt, meeting: Meeting = by_name) -> Preemption:
    """Return what preemption does after this attempt failed.

    Args:
        job: what was tried.
        view: the cluster as it was before the attempt.
        failed: the attempt, with its trigger and where that failed.
        meeting: the order of each node's victims in the scheduler's cache (decides cost ties only).

    """
    refusal = _ineligible(job, view, failed)
    if refusal:
        return Preemption(eligible=False, reason=refusal)
    if failed.invalid:
        return Preemption(eligible=True, reason="not-helpful")
    now = view.with_pods(failed.waiting) if failed.waiting else view
    considered = [name for name, reason in failed.rejections.items() if not reason.unresolvable]
    every = _victims(now, failed.trigger)
    possible = {name: victims for name in considered if (victims := every[name])}
    if not possible:
        return Preemption(eligible=True, reason="no-victims")
    # Nodes that are not considered are emptied too, and not looked at: attempts share what is reckoned of the rest.
    emptied = now.without_any(
        ("preemptible", failed.trigger.priority), partial(_is_preemptible, trigger=failed.trigger)
    )
    costs = node_costs(now, possible, failed.trigger, meeting)
    if job.wish is not None and job.tree is not None:
        return _gathered(job, emptied, failed, considered, possible, costs)
    return _pod_by_pod(emptied, failed, considered, possible, costs)


def _ineligible(job: Job, view: View, failed: Attempt) -> Refusal | None:
    """Return why nobody may be preempted now (`jobEligibleToPreemptOthers`)."""
    if not failed.left:
        return "no-pending-pods"
    if failed.trigger.never_preempts:
        return "policy-never"
    for pod in job.pods:
        if pod.nominated and pod.nominated in view.names() and _waits_for_victim(pod, view, failed):
            return "terminating-victim"
    return None


def _waits_for_victim(pod: PendingPod, view: View, failed: Attempt) -> bool:
    if pod.key == failed.trigger.key:
        reason = failed.rejections.get(pod.nominated)
        if reason is not None and reason.unresolvable:
            return False
    return any(victim.terminating and victim.preempted for victim in possible_victims(view, pod.nominated, pod))


def possible_victims(view: View, node: str, trigger: PendingPod) -> tuple[RunningPod, ...]:
    """Return the pods on a node that the trigger may preempt, by name (`isPreemptionAllowed`)."""
    return tuple(pod for pod in view.occupants(node) if _is_preemptible(pod, trigger))


def _is_preemptible(pod: Occupant, trigger: PendingPod) -> TypeGuard[RunningPod]:
    return isinstance(pod, RunningPod) and pod.priority < trigger.priority and not pod.protected


def _victims(view: View, trigger: PendingPod) -> Mapping[str, tuple[RunningPod, ...]]:
    return view.per_node(("victims", trigger.priority), lambda view: lambda name: possible_victims(view, name, trigger))


def node_costs(view: View, nodes: Iterable[str], trigger: PendingPod, meeting: Meeting) -> dict[str, int]:
    """Return the cost of emptying each node: priority ranks summed over distinct victim jobs.

    A job counts with the first of its pods that is met. Mirrors `estimatePreemptionCost`.

    Args:
        view: the cluster; its nodes keep what was reckoned of them.
        nodes: those that are considered; only their victims are ranked.
        trigger: the pod that preempts.
        meeting: the order of each node's victims.

    """
    own = trigger.priority

    def levels(view: View) -> Callable[[str], frozenset[int]]:
        victims = _victims(view, trigger)
        return lambda name: frozenset(victim.priority for victim in victims[name])

    def usually_met(view: View) -> Callable[[str], tuple[int, ...]]:
        victims = _victims(view, trigger)
        return lambda name: _first_met(meeting.usual(victims[name]))

    names = tuple(nodes)
    by_node = view.per_node(("priorities", own), levels)
    rank = {level: at for at, level in enumerate(sorted(frozenset[int]().union(*map(by_node.__getitem__, names))))}
    met = view.per_node(("met", meeting.usual, own), usually_met)
    costs = {name: sum(map(rank.__getitem__, met[name])) for name in names}
    if meeting.there is not None and meeting.node in costs:
        there = _first_met(meeting.there(_victims(view, trigger)[meeting.node]))
        costs[meeting.node] = sum(map(rank.__getitem__, there))
    return costs


def _first_met(victims: Iterable[RunningPod]) -> tuple[int, ...]:
    """Return the priority of each job's first pod."""
    first: dict[str, int] = {}
    for victim in victims:
        first.setdefault(victim.job, victim.priority)
    return tuple(first.values())


def _gathered(
    job: Job,
    emptied: View,
    failed: Attempt,
    considered: Sequence[str],
    possible: Mapping[str, tuple[RunningPod, ...]],
    costs: Mapping[str, int],
) -> Preemption:
    assert job.wish is not None  # noqa: S101  (narrowing: the caller has looked)
    assert job.tree is not None  # noqa: S101
    ordered = in_index_order(job.pods)
    slots = offer_slots(emptied, considered, ordered, failed.prepared)
    found = gather(job.tree, emptied, job.pods, job.wish, slots, job.rules, costs)
    if found.seats is None:
        return Preemption(eligible=True, reason="not-helpful")
    by_node = _members_by_node(job.pods, found.seats)
    states = {name: crowded(emptied.state(name), ordered, slots[name].slots) for name in by_node}
    return _outcome(failed, found.seats, by_node, states, possible, found.chosen)


def _members_by_node(pods: Sequence[PendingPod], seats: Mapping[str, str]) -> dict[str, list[PendingPod]]:
    by_node: dict[str, list[PendingPod]] = {}
    for pod in sorted(pods, key=lambda pod: (pod.name, pod.namespace)):
        by_node.setdefault(seats[pod.key], []).append(pod)
    return by_node


def _pod_by_pod(
    emptied: View,
    failed: Attempt,
    considered: Sequence[str],
    possible: Mapping[str, tuple[RunningPod, ...]],
    costs: Mapping[str, int],
) -> Preemption:
    """Nominate each member to the cheapest node that takes it alone (`placeToSchedulePods`).

    Upstream forgets the copy of the node on which it put the member before: nobody is counted
    against anybody. A node that refused one member is not asked again for the next.
    """
    feasible = sorted(considered)
    chosen = ""
    seats: dict[str, str] = {}
    by_node: dict[str, list[PendingPod]] = {}
    asked: set[object] = set()
    for pod in failed.left:
        kind = (pod.shape, pod.labels, pod.namespace, pod.priority)
        if kind not in asked:  # the nodes that are left have taken one like it
            asked.add(kind)
            feasible = [name for name in feasible if rejection(pod, emptied.state(name), failed.prepared) is None]
            if not feasible:
                return Preemption(eligible=True, reason="not-helpful")
            chosen = min(feasible, key=lambda name: (costs.get(name, 0), name))
        seats[pod.key] = chosen
        by_node.setdefault(chosen, []).append(pod)
    states = {name: emptied.state(name).copy() for name in by_node}
    return _outcome(failed, seats, by_node, states, possible, None)


def _outcome(
    failed: Attempt,
    seats: Mapping[str, str],
    by_node: Mapping[str, Sequence[PendingPod]],
    states: Mapping[str, NodeState],
    possible: Mapping[str, tuple[RunningPod, ...]],
    domain: int | None,
) -> Preemption:
    gone = [
        victim
        for name in sorted(by_node)
        for victim in not_reprieved(states[name], by_node[name], possible.get(name, ()), failed)
    ]
    killed = tuple(victim for victim in gone if not victim.terminating)
    held = {pod.key: node for node, pods in failed.waiting.items() for pod in pods}
    return Preemption(True, None, killed, tuple(gone), {**seats, **held}, domain)  # noqa: FBT003


def not_reprieved(
    state: NodeState, members: Sequence[PendingPod], possible: Sequence[RunningPod], failed: Attempt
) -> list[RunningPod]:
    """Return the possible victims of one node that do not come back, in name order.

    From the highest priority down each is put back, and stays if the members still fit one after
    the other. Mirrors `selectVictims`; `state` is changed.
    """
    victims = []
    for pod in sorted(possible, key=lambda pod: (-pod.priority, pod.job, pod.name)):
        state.add(pod)
        if not _fit_in_turn(state.copy(), members, failed):
            state.remove(pod)
            victims.append(pod)
    return sorted(victims, key=lambda pod: pod.key)


def _fit_in_turn(state: NodeState, members: Sequence[PendingPod], failed: Attempt) -> bool:
    for pod in members:
        if rejection(pod, state, failed.prepared) is not None:
            return False
        state.add(pod)
    return True
