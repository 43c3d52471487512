"""How much nodes may use by their thresholds, and how much of it one more pod may."""

from collections.abc import Mapping, Sequence
from itertools import compress, repeat
from typing import TypeAlias

from msgspec import Struct

from kubectl_koord.engine.columns import (
    NodeSet,
    base_with_most,
    every_node,
    grouped,
    members,
    nodes_of,
    of_nodes,
    patched,
    selector,
)
from kubectl_koord.engine.fit.load_aware.use import Measure, expected_above, expected_on, measured, of_placed, time_of
from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.engine.numbers import Number, numbers_of
from kubectl_koord.engine.occupants import placed_members
from kubectl_koord.engine.view import View
from kubectl_koord.model.load import LoadSettings, NodeMetric, Percentages, Thresholds
from kubectl_koord.model.objects import Node

Limit: TypeAlias = tuple[Measure, int, int] | int
"""By which measure a node is limited, how much it may use, and of how much that is a share.

It is a number where it takes any pod (`_ANY`), or none.
"""
_ANY = 1 << 62
_NONE = -_ANY


class Limits(Struct, frozen=True):
    """The limits of nodes by the plugin's arguments, at a moment, for pods that are prod pods or are not."""

    settings: LoadSettings
    moment: str
    is_prod: bool

    def held_against(self, own: Thresholds) -> tuple[Measure, Percentages]:
        """Return which group of thresholds counts on a node: the first of prod, aggregated and whole that is set.

        Those of the node itself replace the configured ones; aggregated ones count even where all are switched off.
        """
        thresholds = own.over(self.settings.thresholds)
        if self.is_prod and is_set(thresholds.prod):
            return "prod", thresholds.prod
        if thresholds.aggregated is not None:
            return thresholds.aggregated, thresholds.aggregated.percent
        return "whole", thresholds.whole

    def of(self, node: Node, resource: str) -> Limit:
        """Return how a node is limited."""
        metric = node.metric
        if metric is None:
            return _ANY
        measure, percent = self.held_against(metric.thresholds)
        if not is_set(percent):
            return _ANY
        threshold = dict(percent).get(resource, 0)
        expired = self.settings.filters_expired and self.is_expired(metric)
        total = total_of(node, metric, resource)
        if expired or metric.used is None or not threshold or total <= 0:
            return _NONE if expired and not self.settings.passes_expired else _ANY
        return measure, most_used(threshold, total), total

    def is_expired(self, metric: NodeMetric) -> bool:
        """Tell whether the metric is too old (`isNodeMetricExpired`)."""
        updated, now = time_of(metric.updated), time_of(self.moment)
        if updated is None or now is None:
            return True
        return self.settings.expiration > 0 and (now - updated).total_seconds() >= self.settings.expiration

    def held(self, state: NodeState, measure: Measure, resource: str) -> int:
        """Return what is used, and what is expected of members that were placed there."""
        used = state.assigned(expected_on, self.settings, measure)
        placed = state.booked(of_placed, self.settings)["prod" if measure == "prod" else "whole"]
        return used.get(resource, 0) + placed.get(resource, 0)


def is_set(percent: Percentages) -> bool:
    """Tell whether any threshold of a group is."""
    return any(threshold for _, threshold in percent)


def percent_of(used: int, total: int) -> int:
    """Return how many percent of the total are used, rounded as floating point numbers are (`filterNodeUsage`)."""
    share = used / total * 100
    return int(share) + (share - int(share) >= 0.5)  # noqa: PLR2004


def most_used(percent: int, total: int) -> int:
    """Return the largest amount that is no more than so many percent of a total."""
    most = (total * (2 * percent + 1) - 1) // 200
    return most + (percent_of(most + 1, total) <= percent)


def total_of(node: Node, metric: NodeMetric, resource: str) -> int:
    """Return how much a node has of a resource, of which thresholds are shares."""
    return dict(metric.raw_allocatable).get(resource) or dict(node.allocatable).get(resource, 0)


@of_nodes
def limits_of(view: View, limits: Limits, resource: str) -> Sequence[Limit]:
    """Return how nodes are limited, by position; found once for those that are alike in it."""
    base = base_with_most(view)
    if base is not None:
        before = limits_of(base, limits, resource)
        return patched(view, before, lambda name: limits.of(view.node(name), resource))
    known: dict[tuple[object, ...], Limit] = {}
    found: list[Limit] = []
    for node in nodes_of(view):
        metric = node.metric
        if metric is None:
            found.append(_ANY)
            continue
        updated = metric.updated if limits.settings.filters_expired else ""
        alike = (id(metric.thresholds), id(node.allocatable), metric.raw_allocatable, metric.used is None, updated)
        if alike not in known:
            known[alike] = limits.of(node, resource)
        found.append(known[alike])
    return found


@of_nodes
def by_limit(view: View, limits: Limits, resource: str) -> Mapping[Limit, NodeSet]:
    """Return the nodes by how they are limited."""
    return grouped(view, limits_of(view, limits, resource))


def _left(limit: Limit, node: Node, resource: str) -> int:
    if isinstance(limit, int):
        return limit
    measure, most, _ = limit
    return most - dict(measured(node.metric or NodeMetric(None), measure) or ()).get(resource, 0)


def _most_incoming(state: NodeState, limits: Limits, resource: str) -> int:
    """Return how much of a resource one more pod may be expected to use, less than nothing for no pod at all."""
    limit = limits.of(state.node, resource)
    return limit if isinstance(limit, int) else limit[1] - limits.held(state, limit[0], resource)


def _most_among(view: View, nodes: NodeSet, limits: Limits, resource: str) -> Sequence[int]:
    """Return the same of each node of a set, in name order."""
    trial, placed = view.trial(), placed_members(view)
    if trial is not None:  # who is taken away stays in the cache
        found = list(numbers_of(trial[0], nodes, MOST_INCOMING, limits, resource))
        placed = placed_members(trial[0])
    else:
        found = _most_of_held(view, nodes, limits, resource)
    for at, name in enumerate(members(view, nodes)) if placed else ():
        if name in placed:
            found[at] = _most_incoming(view.state(name), limits, resource)
    return found


def _most_of_held(view: View, nodes: NodeSet, limits: Limits, resource: str) -> list[int]:
    asked = selector(view, nodes)
    limited = list(compress(limits_of(view, limits, resource), asked))
    there = list(compress(nodes_of(view), asked))
    found = list(map(_left, limited, there, repeat(resource)))
    measures = {limit[0] for limit in set(limited) if not isinstance(limit, int)}
    above = {measure: expected_above(view, nodes, limits.settings, measure) for measure in measures}
    for at, (node, limit) in enumerate(zip(there, limited, strict=True)) if any(above.values()) else ():
        if not isinstance(limit, int) and node.name in above[limit[0]]:
            found[at] = limit[1] - above[limit[0]][node.name].get(resource, 0)
    return found


def _most_everywhere(view: View, limits: Limits, resource: str) -> Sequence[int]:
    return _most_among(view, every_node(view), limits, resource)


MOST_INCOMING = Number(_most_incoming, _most_everywhere, among=_most_among)
"""How much one more pod may use on a node."""
