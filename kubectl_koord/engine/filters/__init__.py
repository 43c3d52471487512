"""The Filter plugins: whether one node takes one pod, and the first reason why not.

Each filter is a module with a `prepare`, which returns a check, and an entry in `FILTERS`. What the
filters of one round share, the state that PreFilter prepares for the trigger pod, is `Prepared`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import TypeAlias, TypeGuard, get_args

from msgspec import Struct, structs

from kubectl_koord.engine.filters import (
    device_share,
    interpod_affinity,
    load_aware,
    node,
    numa,
    reservation,
    resource_claims,
    resources,
    topology_spread,
    volumes,
)
from kubectl_koord.engine.filters.base import Cluster, Filter
from kubectl_koord.engine.reasons import PreFilterRefusal, Reason
from kubectl_koord.engine.reservations import drawable, nodes_with
from kubectl_koord.engine.rules import Rules
from kubectl_koord.engine.state import NodeState, View
from kubectl_koord.engine.table import NodeSet, first_of, singles, union
from kubectl_koord.model.hardware import NOTHING, Allocations
from kubectl_koord.model.load import ExpectedUse
from kubectl_koord.model.objects import Claim
from kubectl_koord.model.pods import PendingPod, PodRequirements
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values import Resources, memoised

Prepare: TypeAlias = Callable[[PendingPod, Cluster], Filter | PreFilterRefusal | None]
_Kind: TypeAlias = tuple[Rules, PodRequirements, tuple[ExpectedUse, ...], bool]

FILTERS: tuple[Prepare, ...] = (
    reservation.prepare_nodes,  # PreFilter leaves no other nodes
    node.prepare_cordon,
    node.prepare_taints,
    node.prepare_node_affinity,
    node.prepare_sidecars,
    node.prepare_ports,
    resources.prepare,
    volumes.prepare,
    topology_spread.prepare,
    interpod_affinity.prepare,
    resource_claims.prepare,
    reservation.prepare_policy,
    reservation.prepare_fit,
    reservation.prepare_booking,
    load_aware.prepare,
    numa.prepare_settings,
    numa.prepare_amplified,
    numa.prepare,
    device_share.prepare,
    node.prepare_quota,
)
"""In the order of the default profile.

Each returns None where it has nothing to say of this trigger, or why PreFilter refuses the trigger for all nodes.
"""


_BY_REQUIREMENTS: frozenset[Prepare] = frozenset(
    (
        node.prepare_cordon,
        node.prepare_taints,
        node.prepare_node_affinity,
        node.prepare_sidecars,
        node.prepare_ports,
        resources.prepare,
        reservation.prepare_fit,
        reservation.prepare_booking,
        load_aware.prepare,
        numa.prepare_settings,
        numa.prepare_amplified,
        numa.prepare,
        device_share.prepare,
    )
)
"""Those that look at nothing of a trigger but its requirements, the reservations that match it, and whether it is one.

Of the cluster they look at the snapshot and at these reservations alone.
"""

_PLUGINS: Mapping[Prepare, str] = {
    node.prepare_cordon: "NodeUnschedulable",
    node.prepare_taints: "TaintToleration",
    node.prepare_node_affinity: "NodeAffinity",
    node.prepare_ports: "NodePorts",
    topology_spread.prepare: "PodTopologySpread",
    interpod_affinity.prepare: "InterPodAffinity",
    resource_claims.prepare: "DynamicResources",
    load_aware.prepare: "LoadAwareScheduling",
    numa.prepare_settings: "NodeNUMAResource",
    numa.prepare_amplified: "NodeNUMAResource",
    numa.prepare: "NodeNUMAResource",
    device_share.prepare: "DeviceShare",
}
"""Whose filters they are that are left out where a profile does not enable the plugin at all."""

_REFUSALS = frozenset(get_args(PreFilterRefusal))
_MOST_KINDS = 16
"""Size of the cache of prepared filters by kind of pods."""


class Prepared(Struct, frozen=True):
    """What PreFilter leaves for all members of a round: the state of the trigger pod alone.

    `checks` are the filters that have a say, in order; `nominated` holds, by node, the pods of other
    jobs that are nominated there; `refusal` is why no node is asked, None where they are. `reservations`
    are the uids of those that the trigger may draw on: they are not in its way.
    """

    trigger: PendingPod
    checks: tuple[Filter, ...]
    nominated: Mapping[str, tuple[PendingPod, ...]] = {}
    refusal: PreFilterRefusal | None = None
    reservations: frozenset[str] = frozenset()

    @property
    def counts_only_room(self) -> bool:
        """Whether members added to a node change nothing there but its room."""
        return not any(check.depends_on == "pods" for check in self.checks)

    @property
    def books(self) -> bool:
        """Whether what is booked on a node counts: members that are placed there then count for the next one."""
        return any(check.depends_on in {"books", "claims"} for check in self.checks)

    @property
    def may_fail_to_reserve(self) -> bool:
        """Whether a node that passes the filters may have nothing to book."""
        return any(check.may_fail_to_reserve() for check in self.checks)

    def uncertain(self, view: View, among: NodeSet) -> NodeSet:
        """Return those nodes of a set, which take the trigger, that may have nothing to book for it."""
        return reduce(or_, (check.uncertain(view, among) for check in self.checks), 0)

    @property
    def follows_members(self) -> bool:
        """Whether members that are placed change what is prepared for the next one."""
        return any(check.follows_members(self.trigger.requirements) for check in self.checks)

    @property
    def follows_members_elsewhere(self) -> bool:
        """Whether members that are placed change that for other nodes than their own."""
        return any(check.follows_members_elsewhere(self.trigger.requirements) for check in self.checks)

    def nominated_before(self, pod: PendingPod, node: str) -> Sequence[PendingPod]:
        """Return the pods of other jobs that are nominated to a node and keep their place there before the pod."""
        return [other for other in self.nominated.get(node, ()) if other.priority >= pod.priority]

    def alone(self, trigger: PendingPod) -> "Prepared":
        """Return the state for a changed trigger, as if nobody else were nominated."""
        return structs.replace(self, trigger=trigger, nominated={})

    @property
    def by_room(self) -> "Prepared":
        """The state with the cheap filters alone, those of nodes and room: with it nodes take as many pods, or more."""
        return structs.replace(self, checks=tuple([one for one in self.checks if one.depends_on in {"node", "room"}]))

    def without_pods(self, trigger: PendingPod) -> "Prepared":
        """Return the state for a changed trigger without the filters that depend on who is on a node or on claims."""
        kept = tuple(check for check in self.checks if check.depends_on not in {"claims", "pods"})
        return structs.replace(self.alone(trigger), checks=kept)


def prepare(
    trigger: PendingPod,
    view: View,
    rules: Rules,
    nominated: Iterable[PendingPod] = (),
    claims: Mapping[str, Claim] | None = None,
    first: PendingPod | None = None,
    pending: tuple[PendingPod, ...] | None = None,
) -> Prepared:
    """Return the prepared state of the trigger.

    Args:
        trigger: the pod that is prepared for.
        view: the cluster, with those who are assumed.
        rules: those of the scheduler's version.
        nominated: the pods of other jobs that are nominated to nodes.
        claims: the volume claims, by `namespace/name`.
        first: the member that is filtered first, where that is not the trigger itself.
        pending: the pods that wait, None where they are those of the snapshot.
    """
    by_node: dict[str, tuple[PendingPod, ...]] = {}
    for pod in nominated:
        by_node[pod.nominated] = (*by_node.get(pod.nominated, ()), pod)
    cluster = Cluster(view, rules, claims or {}, first, pending)
    mine = drawable(view, trigger)
    shared = {} if mine.uids else _by_requirements(trigger, cluster)
    every = (shared[one] if one in shared else one(trigger, cluster) for one in _enabled(view.snapshot))
    found = [one for one in every if one is not None]
    checks = tuple([one for one in found if _is_check(one)])
    refusing = (one for one in found if isinstance(one, PreFilterRefusal))
    refusal = next(refusing, None) if len(checks) < len(found) else None
    return Prepared(trigger, checks, by_node, refusal, mine.uids)


@memoised
def _enabled(snapshot: Snapshot) -> tuple[Prepare, ...]:
    plugins = snapshot.config.plugins
    return tuple([one for one in FILTERS if one not in _PLUGINS or plugins.filters(_PLUGINS[one])])


def _by_requirements(trigger: PendingPod, cluster: Cluster) -> Mapping[Prepare, Filter | PreFilterRefusal | None]:
    """Return what is prepared by the requirements of a trigger that no reservation matches: pods alike share it."""
    first = cluster.first or trigger
    key = (cluster.rules, trigger.requirements, first.requirements.expected, trigger.reserves is not None)
    known = _known(cluster.view.snapshot)
    if key not in known:
        if len(known) == _MOST_KINDS:
            del known[next(iter(known))]
        known[key] = {one: one(trigger, cluster) for one in _BY_REQUIREMENTS}
    return known[key]


@memoised
def _known(_snapshot: Snapshot) -> dict[_Kind, dict[Prepare, Filter | PreFilterRefusal | None]]:
    """Return where it is kept what is prepared of kinds of pods: none at first."""
    return {}


def _is_check(found: Filter | PreFilterRefusal) -> TypeGuard[Filter]:
    """Tell whether nothing is refused yet: `isinstance` would go through all classes of refusals."""
    return type(found) not in _REFUSALS


def preference(state: NodeState, prepared: Prepared) -> tuple[int, int]:
    """Return how much a node is preferred to others that take the pod, the lowest most."""
    return max(check.preference(state) for check in prepared.checks)


def preferred(view: View, nodes: NodeSet, prepared: Prepared) -> NodeSet:
    """Return those of the nodes that take a pod that it prefers to all others: without a reservation all are equal."""
    if not prepared.reservations:
        return nodes
    reserved = nodes & nodes_with(view, drawable(view, prepared.trigger))
    parts = [part for part in (*singles(reserved), nodes & ~reserved) if part]
    ranks = [preference(view.state(first_of(view, part)), prepared) for part in parts]
    best = min(ranks)
    return union(part for part, rank in zip(parts, ranks, strict=True) if rank == best)


def of_other_jobs(nominated: Sequence[PendingPod], job: Iterable[PendingPod]) -> Sequence[PendingPod]:
    """Return the nominated pods but those of the job: their own nominations do not count."""
    own = {pod.key for pod in job} if nominated else ()
    return [pod for pod in nominated if pod.key not in own]


def room_for(state: NodeState, each: Resources, prepared: Prepared) -> int:
    """Return how many pods that take up `each` the room of a node takes, one after the other."""
    trigger = prepared.trigger.requirements
    limits = (check.most(state, trigger, each) for check in prepared.checks)
    return min((most for most in limits if most is not None), default=0)


def room_rejection(pod: PendingPod, state: NodeState, prepared: Prepared) -> Reason | None:
    """Return why the node has no room for the pod, by the filters that look at what is left there."""
    trigger = prepared.trigger.requirements
    for check in prepared.checks:
        reason = check.reject(pod, state, trigger) if check.depends_on == "room" else None
        if reason is not None:
            return reason
    return None


def rejection(pod: PendingPod, state: NodeState, prepared: Prepared) -> Reason | None:
    """Return the first reason why the node refuses the pod, None when it takes it.

    Pods of other jobs that are nominated to the node with at least the pod's priority count as if
    they were there; then the filters run once more without them. Mirrors
    `RunFilterPluginsWithNominatedPods`.
    """
    others = prepared.nominated_before(pod, state.node.name)
    if others:
        crowded = state.copy()
        for other in others:
            crowded.add(other)
        reason = rejection_as_is(pod, crowded, prepared)
        if reason is not None:
            return reason
    return rejection_as_is(pod, state, prepared)


def rejection_as_is(pod: PendingPod, state: NodeState, prepared: Prepared) -> Reason | None:
    """Return the first reason why the node refuses the pod, as if nobody were nominated there."""
    trigger = prepared.trigger.requirements
    for check in prepared.checks:
        reason = check.reject(pod, state, trigger)
        if reason is not None:
            return reason
    return None


def reserve(pod: PendingPod, state: NodeState, prepared: Prepared) -> PendingPod | Reason:
    """Return the pod with all that is booked for it on a node that takes it, or why that cannot be booked.

    The filters must have been prepared for this pod. Mirrors `RunReservePluginsReserve`.
    """
    booked = NOTHING
    for check in prepared.checks:
        found = check.reserve(pod, state, booked)
        if not isinstance(found, Allocations):
            return found
        booked = found
    return structs.replace(pod, allocations=booked)


def unscored(pod: PendingPod, state: NodeState, prepared: Prepared) -> Reason | None:
    """Return why a node that takes the pod cannot be ranked, None where it can."""
    for check in prepared.checks:
        reason = check.unscored(pod, state)
        if reason is not None:
            return reason
    return None


def unbookable(pod: PendingPod, state: NodeState, prepared: Prepared) -> Reason | None:
    """Return why a node that takes the pod has nothing to book for it, None where it has."""
    found = reserve(pod, state, prepared)
    return None if isinstance(found, PendingPod) else found


def placed(pod: PendingPod, state: NodeState, prepared: Prepared) -> PendingPod | Reason | PreFilterRefusal:
    """Return the pod as it is placed on the node, with all that is booked for it, or why it is not."""
    return prepared.refusal or rejection(pod, state, prepared) or reserve(pod, state, prepared)
