"""What it costs to empty each node, by which the scheduler chooses among domains and nodes."""

from collections.abc import Callable, Collection, Mapping, Sequence
from operator import itemgetter
from typing import TypeAlias

from msgspec import Struct

from kubectl_koord.engine.preemption.victims import NO_RESERVATIONS, job_key, victims_by_node
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.view import View
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.values.memo import memoised

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
