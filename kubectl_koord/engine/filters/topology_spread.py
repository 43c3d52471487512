"""Hard topology spread constraints, with the prepared state of one pod (plugins/podtopologyspread)."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import compress
from typing import ClassVar, TypeAlias

from msgspec import Struct

from kubectl_koord.engine.filters.base import Cluster, DependsOn, Filter
from kubectl_koord.engine.filters.node import selected, tolerated
from kubectl_koord.engine.reasons import Reason, SpreadLabelMissing, SpreadTooSkewed
from kubectl_koord.engine.reservations import drawable, number_on
from kubectl_koord.engine.state import NodeState, Occupant, View
from kubectl_koord.engine.table import (
    NodeSet,
    every_node,
    has,
    label_column,
    selector,
    split,
    sums_by_value,
    with_values,
    without_label,
)
from kubectl_koord.model.pods import PendingPod, PodRequirements, ReservedRoom, RunningPod, Spread
from kubectl_koord.model.values import EVERYTHING, Labels, NodeTerm, Selector, Toleration, matches, recently

_Honored: TypeAlias = tuple[Labels, tuple[NodeTerm, ...] | None, tuple[Toleration, ...]]
_MOST_CONSTRAINTS = 16


class _Spread(Struct, frozen=True):
    """The pods that a constraint counts; a reservation counts like one, unless it is given to the trigger."""

    selector: Selector
    namespace: str
    given: frozenset[str]

    @property
    def namespaces(self) -> tuple[str]:
        return (self.namespace,)

    @property
    def selectors(self) -> tuple[Selector]:
        return (self.selector,)

    def __call__(self, occupant: Occupant) -> bool:
        return self.follows(occupant) and not (isinstance(occupant, RunningPod) and occupant.terminating)

    def follows(self, occupant: Occupant) -> bool:
        """Tell whether the count changes as it is added or taken away, be it dying or not (`updateWithPod`)."""
        return (
            not (isinstance(occupant, ReservedRoom) and occupant.uid in self.given)
            and occupant.namespace == self.namespace
            and matches(self.selector, dict(occupant.labels))
        )


class _Counts(Struct, frozen=True, dict=True):
    """Matching pods by value of one constraint's key, and the nodes on which they were counted.

    Values of which there is no such pod on these nodes are left out.
    """

    view: View
    constraint: Spread
    pods: _Spread | None
    by_value: Mapping[str, int]
    counted: NodeSet

    @cached_property
    def key(self) -> object:
        """What sums over the pods of a node go by."""
        return object()

    @cached_property
    def least(self) -> int:
        """The fewest of any value, of too few values none."""
        return self._least(self.by_value)

    @cached_property
    def _domains(self) -> int:
        """How many values the nodes have on which pods were counted."""
        return len(set(compress(label_column(self.view, self.constraint.key), selector(self.view, self.counted))))

    def skew(self, value: str, pod: PendingPod, change: int = 0) -> int:
        """Return by how many a value has more than the least once the pod is there, and so many besides."""
        now = self.by_value.get(value, 0) + change
        least = self._least({**self.by_value, value: now}) if change else self.least
        own = self.pods is not None and matches(self.pods.selector, dict(pod.labels))
        return now + own - least

    def _least(self, by_value: Mapping[str, int]) -> int:
        """Return the fewest, where each value with any is told."""
        if not by_value or len(by_value) < max(self._domains, self.constraint.min_domains):
            return 0
        return min(by_value.values())


class TopologySpread(Filter, Struct, frozen=True, dict=True):
    """The filter: what PreFilter prepares for the trigger, one count per constraint over the whole cluster."""

    depends_on: ClassVar[DependsOn] = "pods"
    namespace: str
    requirements: PodRequirements
    view: View
    given: frozenset[str]

    def follows_members(self, _trigger: PodRequirements) -> bool:
        """Tell that a member which is placed is counted for the next one."""
        return True

    @cached_property
    def _counts(self) -> tuple[_Counts, ...]:
        every = self.requirements.spread
        keys = tuple(sorted({constraint.key for constraint in every}))
        return tuple(
            _count(self.view, constraint, keys, _honored(constraint, self.requirements), self.namespace, self.given)
            for constraint in every
        )

    def reject(self, pod: PendingPod, state: NodeState, _trigger: PodRequirements) -> Reason | None:
        """Return a reason when the pod here would skew the spread, or the node lacks a key.

        Who was added to or taken from this node since the preparation is counted; other nodes stay as
        they were prepared, as upstream's copies of the state do.
        """
        labels = dict(state.node.labels)
        for counts in self._counts:
            key = counts.constraint.key
            if key not in labels:
                return SpreadLabelMissing(key)
            if counts.skew(labels[key], pod, self._change(counts, state)) > counts.constraint.max_skew:
                return SpreadTooSkewed(key)
        return None

    def _change(self, counts: _Counts, state: NodeState) -> int:
        """Return how many more pods are on a node than when they were counted."""
        name, pods = state.node.name, counts.pods
        if pods is None or not has(self.view, counts.counted, name) or state is self.view.state(name):
            return 0
        follows = pods.follows

        def whole() -> int:
            came, left = state.since(self.view.occupants(name))
            return sum(map(follows, came)) - sum(map(follows, left))

        return state.summed(counts.key, whole, lambda number, came: number + sum(map(follows, came)))

    def parts(self, view: View, pods: Sequence[PendingPod], among: NodeSet) -> Iterable[NodeSet]:
        """Return the nodes by how many pods are counted for their values, and whether they are counted themselves."""
        return split(among, *self._seen) if view is self.view else super().parts(view, pods, among)

    @cached_property
    def _seen(self) -> Sequence[NodeSet]:
        """For each constraint the nodes without its key, those counted, and those whose values have as many pods."""
        found = []
        for counts in self._counts:
            key = counts.constraint.key
            values: dict[int, list[str]] = {}
            for value, number in counts.by_value.items():
                values.setdefault(number, []).append(value)
            found += [without_label(self.view, key), counts.counted]
            found += [with_values(self.view, key, held) for held in values.values()]
        return found


def prepare(trigger: PendingPod, cluster: Cluster) -> TopologySpread | None:
    """Return the filter; None for a trigger without hard constraints (`calPreFilterState`)."""
    if not trigger.requirements.spread:
        return None
    given = drawable(cluster.view, trigger).uids
    return TopologySpread(trigger.namespace, trigger.requirements, cluster.view, given)


def _honored(constraint: Spread, requirements: PodRequirements) -> _Honored:
    """Return what of a pod leaves nodes out of the count."""
    by_labels = (requirements.selector, requirements.affinity) if constraint.honor_affinity else ((), None)
    return (*by_labels, requirements.tolerations if constraint.honor_taints else ())


@recently(_MOST_CONSTRAINTS)
def _count(
    view: View, constraint: Spread, keys: tuple[str, ...], honored: _Honored, namespace: str, given: frozenset[str]
) -> _Counts:
    """Return what a constraint counts on the nodes with all keys of the pod; pods that are alike share it."""
    counted = every_node(view)
    for key in keys:
        counted &= ~without_label(view, key)
    selecting = PodRequirements(selector=honored[0], affinity=honored[1], tolerations=honored[2])
    counted &= selected(view, selecting)
    if constraint.honor_taints:
        counted &= tolerated(view, selecting)
    pods = _Spread(constraint.selector, namespace, given) if constraint.selector is not None else None
    # upstream counts nobody for a selector that matches everybody (`countPodsMatchSelector`)
    by_node = number_on(view, pods) if pods is not None and pods.selector != EVERYTHING else {}
    by_value = sums_by_value(view, constraint.key, {name: n for name, n in by_node.items() if has(view, counted, name)})
    return _Counts(view, constraint, pods, by_value, counted)
