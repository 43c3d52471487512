"""Job preemption of one failed attempt: victims, reprieve, costs, nominations, and ElasticQuota's own preemption."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Literal, TypeAlias

from msgspec import Struct, structs

from kubectl_koord.engine.attempt import Attempt, Job, JobTopology
from kubectl_koord.engine.filters import Prepared, rejection
from kubectl_koord.engine.placement import gather, suffices
from kubectl_koord.engine.quota.state import QuotaState, quota_state
from kubectl_koord.engine.quota.tree import QuotaTree, add, exceeding, quotas_of
from kubectl_koord.engine.quota.usage import is_fixed, requested, running_in
from kubectl_koord.engine.reservations import uid_of
from kubectl_koord.engine.rules import Rules, rules
from kubectl_koord.engine.slots import Offer, crowded, in_index_order, offer_slots, runs_of
from kubectl_koord.engine.state import NodeState, Room, View
from kubectl_koord.engine.table import NodeNames, NodeSet, base_with_most, differing, packed, places_touched, set_of
from kubectl_koord.engine.tree import Domain
from kubectl_koord.model.objects import Budget
from kubectl_koord.model.pods import POD_GROUP_LABEL, NodePods, PendingPod, ReservedRoom, RunningPod
from kubectl_koord.model.quotas import DEFAULT
from kubectl_koord.model.values import Identity, matches, memoised, recently

_ROLES = ("-master", "-worker")
NO_RESERVATIONS: frozenset[str] = frozenset()


def possible_victims(view: View, node: str, trigger: PendingPod) -> tuple[RunningPod, ...]:
    """Return the pods on a node that the trigger may preempt, by name (`isPreemptionAllowed`)."""
    return tuple(pod for pod in _below(view, node, trigger.priority, NO_RESERVATIONS) if isinstance(pod, RunningPod))


def _below(view: View, node: str, priority: int, spared: frozenset[str]) -> tuple[Room, ...]:
    """Return the pods and reservations that may be preempted; those that the trigger draws on are not in its way."""
    held = view.occupants(node)
    if isinstance(held, NodePods) and not spared:
        return tuple([one for one in held if one.priority < priority and not one.marks.protected])
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


def job_key(victim: Room, *, names_jobs: bool) -> str:
    """Return which job a victim belongs to, as far as that is told; `names_jobs` is as in `Rules`.

    Mirrors `TransformScheduleExplanationObjectKey` in util/transformer/pod_transformer.go, which sees no pods that
    stand for reservations.
    """
    if victim.job or not names_jobs or not isinstance(victim, RunningPod):
        return victim.job
    if not victim.gang:
        return victim.key
    name = victim.gang.partition("/")[2]
    by_label = name.endswith(_ROLES) and dict(victim.labels).get(POD_GROUP_LABEL) == name
    return name.removesuffix("-master").removesuffix("-worker") if by_label else name


def without_victims(view: View, trigger: PendingPod, spared: frozenset[str] = NO_RESERVATIONS) -> View:
    """Return the cluster without all that the trigger may preempt, save the reservations that are `spared`."""
    return view.without_any(victims_by_node, trigger.priority, spared)


def victims_by_node(view: View, priority: int, spared: frozenset[str]) -> Mapping[str, tuple[Room, ...]]:
    """Return what may be preempted on each node by a pod of this priority, in the order of the occupants."""
    return view.per_node(_victims_on, priority, spared)


def _victims_on(view: View, priority: int, spared: frozenset[str]) -> Callable[[str], tuple[Room, ...]]:
    return lambda name: _below(view, name, priority, spared)


@memoised
def with_victims(view: View, priority: int, spared: frozenset[str]) -> NodeSet:
    """Return the nodes on which anything may be preempted."""
    victims, base = victims_by_node(view, priority, spared), base_with_most(view)
    if base is None:
        return packed(bytes(map(bool, victims.values())))
    now = (position for name, position in places_touched(view).items() if victims[name])
    return with_victims(base, priority, spared) & ~differing(view) | set_of(view, now)


FirstOfJob: TypeAlias = Callable[[Sequence[int]], int]
"""Which of a job's pods on a node comes first: of their priorities, given in the order of their names."""


class VictimOrder(Struct, frozen=True):
    """Which pod of each victim job on a node comes first for the scheduler: no object shows it, so several are tried.

    It follows from the order in which its cache lists a node's pods. `usual` holds on all nodes but those set `apart`,
    each with its own order.
    """

    usual: FirstOfJob
    apart: tuple[tuple[frozenset[str], FirstOfJob], ...] = ()

    def changed_on(self, nodes: frozenset[str], first: FirstOfJob) -> "VictimOrder":
        """Return the order that is another one on these nodes."""
        return VictimOrder(self.usual, (*self.apart, (nodes, first)))


by_name = VictimOrder(itemgetter(0))  # the order of a scheduler that has just started
last_first = VictimOrder(itemgetter(-1))
lowest_priority_first = VictimOrder(min)
highest_priority_first = VictimOrder(max)
VICTIM_ORDERS: tuple[VictimOrder, ...] = (by_name, last_first, lowest_priority_first, highest_priority_first)


def single_out(node: str, *, cheap: bool) -> VictimOrder:
    """Return the order that gives one node its lowest cost and all others their highest, or reversed."""
    usual, other = (max, min) if cheap else (min, max)
    return VictimOrder(usual).changed_on(frozenset({node}), other)


def node_costs(
    view: View,
    nodes: Collection[str],
    trigger: PendingPod,
    victim_order: VictimOrder,
    spared: frozenset[str] = NO_RESERVATIONS,
) -> Mapping[str, int]:
    """Return the cost of emptying each node: priority ranks summed over distinct victim jobs.

    A job counts with the first of its pods. Mirrors `estimatePreemptionCost`.

    Args:
        view: the cluster; its nodes keep what was computed of them.
        nodes: those that are considered, which must be hashable; only their victims are ranked.
        trigger: the pod that preempts.
        victim_order: which pod of each job comes first on each node.
        spared: the reservations that are no victims.
    """
    ranks, costs = _ranked_costs(view, nodes, trigger.priority, spared, victim_order.usual)
    if not victim_order.apart:
        return costs
    jobs = _priorities(view, trigger.priority, spared)
    first = {name: of_node for some, of_node in victim_order.apart for name in some if name in costs}
    return {**costs, **{name: sum(ranks[of_node(job)] for job in jobs[name]) for name, of_node in first.items()}}


@memoised
def _ranked_costs(
    view: View, names: Collection[str], priority: int, spared: frozenset[str], first: FirstOfJob
) -> tuple[Mapping[int, int], Mapping[str, int]]:
    """Return the rank of each priority among the victims, and the cost of each node."""
    jobs = _priorities(view, priority, spared)
    kinds = {jobs[name] for name in names}
    levels = sorted({level for kind in kinds for job in kind for level in job})
    ranks = {level: rank for rank, level in enumerate(levels)}
    costs = {kind: sum([ranks[first(job)] for job in kind]) for kind in kinds}
    return ranks, {name: costs[jobs[name]] for name in names}


def _priorities(view: View, priority: int, spared: frozenset[str]) -> Mapping[str, tuple[tuple[int, ...], ...]]:
    """Return, by node, the priorities of its possible victims, those of each victim job in the order of their names."""
    return view.per_node(_priorities_on, priority, spared)


def _priorities_on(view: View, priority: int, spared: frozenset[str]) -> Callable[[str], tuple[tuple[int, ...], ...]]:
    victims = victims_by_node(view, priority, spared)
    names_jobs = rules(view.snapshot.config.version).names_jobs

    known: dict[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]] = {}

    def on_node(name: str) -> tuple[tuple[int, ...], ...]:
        jobs: dict[str, list[int]] = {}
        for victim in victims[name]:
            jobs.setdefault(job_key(victim, names_jobs=names_jobs), []).append(victim.priority)
        found = tuple(map(tuple, jobs.values()))
        return known.setdefault(found, found)

    return on_node


def not_reprieved(
    state: NodeState, members: Sequence[PendingPod], possible: Sequence[Room], prepared: Prepared, *, names_jobs: bool
) -> list[Room]:
    """Return the possible victims of one node that do not come back, in name order.

    From the highest priority down each is put back, and stays if the members still fit one after
    the other. Mirrors `selectVictims`; `state` is changed, and `names_jobs` is as in `Rules`.
    """

    def turn(pod: Room) -> tuple[int, str, str]:
        return -pod.priority, job_key(pod, names_jobs=names_jobs), _name(pod)

    victims = []
    for pod in sorted(possible, key=turn):
        state.add(pod)
        if not _fit_in_turn(state.copy(), members, prepared):
            state.remove(pod)
            victims.append(pod)
    return sorted(victims, key=lambda pod: pod.key)


def _name(victim: Room) -> str:
    """Return the name that the scheduler goes by: that of the pod which stands for a reservation is its uid."""
    return victim.uid if isinstance(victim, ReservedRoom) else victim.name


def _fit_in_turn(state: NodeState, members: Sequence[PendingPod], prepared: Prepared) -> bool:
    for pod in members:
        if rejection(pod, state, prepared) is not None:
            return False
        state.add(pod)
    return True


Refusal: TypeAlias = Literal[
    "preemption-disabled", "no-pending-pods", "policy-never", "terminating-victim", "no-victims", "not-helpful"
]
"""Why one attempt preempts no pod."""

_MOST_KEPT = 64


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


Holding: TypeAlias = tuple[tuple[str, PendingPod], ...]
"""Pods that are nominated to a node, with that node."""

_OFFSET = 1 << 31


class _Candidate(Struct, frozen=True):
    """A node, and whom the pod would have to take the place of there; `violating` of them count as against a budget."""

    node: str
    victims: tuple[RunningPod, ...]
    violating: int


def preempt_within_quota(
    job: Job, view: View, failed: Attempt, *, anew: bool = False, holding: Holding = ()
) -> tuple[Preemption, ...]:
    """Return whom the pod that failed preempts in its quota, nothing where nobody; the same for the same attempt.

    Of nodes that cost the same upstream takes any (`pickOneNodeForPreemption` walks over a map): there is one for each.

    Args:
        job: what was tried.
        view: the cluster as it was before the attempt.
        failed: the attempt, with the pod that failed as its trigger.
        anew: whether the pod does not wait for one that terminates on its nominated node.
        holding: the pods that hold room on their nominated nodes, and use nothing of their quotas.
    """
    if not anew and waits_within_quota(view, failed, failed.trigger.nominated):
        return ()
    return _within_quota(view, Identity(job), Identity(failed), holding)


@recently(_MOST_KEPT)
def _within_quota(
    view: View, tried: Identity[Job], attempt: Identity[Attempt], holding: Holding
) -> tuple[Preemption, ...]:
    job, failed = tried.value, attempt.value
    now = failed.beside_waiting(view)
    tree = quotas_of(now)
    trigger, name = failed.trigger, tree.name_of(failed.trigger)
    spared = name == DEFAULT and tree.settings.spares_default
    if spared or name in tree.faults or trigger.never_preempts:
        return ()
    by_node = _possible(now, tree, failed, _considered(now, failed))
    if not by_node:
        return ()
    state = quota_state(now, job.rules, job.pending)
    room = now.with_pods({node: (pod,) for node, pod in holding}) if holding else now
    found = [
        candidate
        for node, possible in by_node.items()
        if (candidate := _on_node(room, state, failed, node, possible)) is not None and candidate.victims
    ]
    least = min(map(_cost, found), default=None)
    chosen = sorted((one for one in found if _cost(one) == least), key=lambda one: one.node)
    return tuple(_chosen(one, trigger) for one in chosen)


def _chosen(candidate: _Candidate, trigger: PendingPod) -> Preemption:
    killed = tuple(victim for victim in candidate.victims if not victim.terminating)
    nominations = {trigger.key: candidate.node}
    return Preemption(eligible=True, reason=None, victims=killed, gone=candidate.victims, nominations=nominations)


def _considered(view: View, failed: Attempt) -> Collection[str]:
    """Return the nodes that are looked at: where a plan was not found all refuse, and none for good."""
    return view.names() if _lacks_plan(failed) else failed.considered(view)


def _lacks_plan(failed: Attempt) -> bool:
    return failed.plan is not None and failed.failed_seat is None


def waits_within_quota(view: View, failed: Attempt, node: str, dying: frozenset[str] = frozenset()) -> bool:
    """Tell whether the pod has to wait for one that terminates on its nominated node (`PodEligibleToPreemptOthers`).

    It need not where that node refuses it for good. Pods that are `dying` (`namespace/name`) terminate, too.
    """
    if node not in view.names():
        return False
    reason = None if _lacks_plan(failed) or failed.over_quota is not None else failed.worded.get(node)
    if reason is not None and reason.unresolvable:
        return False
    now = failed.beside_waiting(view)
    possible = _possible(now, quotas_of(now), failed, (node,), fixed_too=True)
    return any(pod.terminating or pod.key in dying for pods in possible.values() for pod in pods)


def _possible(
    view: View, tree: QuotaTree, failed: Attempt, nodes: Collection[str], *, fixed_too: bool = False
) -> Mapping[str, Sequence[RunningPod]]:
    """Return by node the pods of its quota there that the pod may preempt (`canPreempt`).

    Where there is no default quota, those without one are as good as of one quota.
    """
    name, least = tree.name_of(failed.trigger), failed.trigger.priority
    found: dict[str, list[RunningPod]] = {}
    for pod in running_in({name}, view, tree).get(name, ()):
        if pod.priority < least and pod.node in nodes and (fixed_too or not is_fixed(pod)):
            found.setdefault(pod.node, []).append(pod)
    return found


def _on_node(
    view: View, state: QuotaState, failed: Attempt, node: str, possible: Sequence[RunningPod]
) -> _Candidate | None:
    """Return whom the pod would take the place of on a node, None where it would not fit all the same.

    Pods are put back one by one, and stay where the pod still fits, and its quota still holds it. Both is checked for
    each, so that one who may stay for neither reason is removed twice, which is an error (`SelectVictimsOnNode`).
    Only who has to make room counts against a budget, not who goes for the quota alone.
    """
    trigger, name = failed.trigger, state.tree.name_of(failed.trigger)
    asked, limit = dict(trigger.requirements.requests), state.limit(name) if name else {}
    used = dict(state.used(name))
    there = view.state(node).copy()
    for pod in possible:
        there.remove(pod)
        add(used, _counted(pod, name, state.tree).items(), -1)
    if rejection(trigger, there, failed.prepared) is not None:
        return None
    victims: list[RunningPod] = []
    number_violating = 0
    violating, others = _by_budget(possible, view.snapshot.budgets)
    for pod in (*violating, *others):
        own = _counted(pod, name, state.tree)
        there.add(pod)
        fits = rejection(trigger, there, failed.prepared) is None
        with_it = {resource: used.get(resource, 0) + own.get(resource, 0) + need for resource, need in asked.items()}
        without = {resource: used.get(resource, 0) + need for resource, need in asked.items()}
        if not fits and exceeding(without, limit):
            return None
        if fits and not exceeding(with_it, limit):
            add(used, own.items())
            continue
        there.remove(pod)
        victims.append(pod)
        number_violating += not fits and pod in violating
    return _Candidate(node, tuple(victims), number_violating)


def _counted(pod: RunningPod, name: str, tree: QuotaTree) -> Mapping[str, int]:
    """Return what a pod counts with in its quota; nothing where it has none."""
    return requested(pod, name, tree) if name else {}


def _by_budget(
    pods: Iterable[RunningPod], budgets: Iterable[Budget]
) -> tuple[Sequence[RunningPod], Sequence[RunningPod]]:
    """Return those whose end would violate a budget, and the others, both from the most important down."""
    budgets = tuple(budgets)
    left = {position: budget.allowed for position, budget in enumerate(budgets)}
    violating: list[RunningPod] = []
    others: list[RunningPod] = []
    for pod in sorted(pods, key=lambda pod: (-pod.priority, _start(pod), pod.key)):
        hit = [
            position
            for position, budget in enumerate(budgets)
            if budget.namespace == pod.namespace
            and budget.selector is not None
            and budget.selector.requirements
            and matches(budget.selector, dict(pod.labels))
        ]
        for position in hit:
            left[position] -= 1
        (violating if any(left[position] < 0 for position in hit) else others).append(pod)
    return violating, others


def _start(pod: RunningPod) -> str:
    return pod.scheduled or pod.created


def _cost(candidate: _Candidate) -> tuple[int, int, int, int, tuple[int, ...]]:
    """Return what makes one candidate better than another (`pickOneNodeForPreemption`): the least is chosen.

    The first victim passes for the most important one, though those that a budget protects come before the others.
    """
    victims = candidate.victims
    top = max(victim.priority for victim in victims)
    earliest = min(_start(victim) for victim in victims if victim.priority == top)
    return (
        candidate.violating,
        victims[0].priority,
        sum(victim.priority + _OFFSET for victim in victims),
        len(victims),
        tuple(-ord(letter) for letter in earliest),
    )


@recently(_MOST_KEPT)
def preempt_as_retried(view: View, tried: Identity[Job], attempt: Identity[Attempt]) -> tuple[Preemption, ...]:
    """Return the victims of later attempts after one whose preemption does not help, nothing where there are none.

    Members that waited stay nominated to their nodes and hold that room from those that had none. So a later attempt
    fails before all wait that could: there is room for one more on a node, and all that are left are nominated
    there, as none is counted against another. They do not fit there together, and so its victims die for nothing. In
    the end that befalls every node where members wait, as seen of the real schedulers. Mirrors `setAllNominatedNode`
    and `placeToSchedulePods` in coscheduling/core/preemption.go, and the nominations of Kubernetes for pods that wait.
    """
    job, failed = tried.value, attempt.value
    if job.topology is not None or job.each_queued or not job.rules.keeps_nominations:
        return ()
    if failed.prefilter is not None or failed.failed_seat is not None or failed.aborted:
        return ()  # what stopped these is not room
    spared = failed.prepared.reservations
    possible = victims_by_node(view, failed.trigger.priority, spared)
    nodes = sorted(name for name in failed.waiting if possible[name])
    if not nodes:
        return ()
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
    return (structs.replace(found, retried=True),) if found.gone else ()


def _prepared(job: Job, view: View, failed: Attempt, waiting: Mapping[str, Sequence[PendingPod]]) -> Prepared:
    """Return the prepared state of the trigger with fewer members waiting, where it matters on which nodes they are."""
    if not failed.prepared.follows_members_elsewhere:
        return failed.prepared
    return job.prepared(failed.trigger, view.with_pods(waiting))
