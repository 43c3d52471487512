"""Bound volumes: where their PersistentVolumes can be reached, and who else holds them.

Mirrors plugins/volumebinding, volumezone, volumerestrictions and nodevolumelimits for claims that
are bound; what a claim without a volume will do is not told by objects, and not answered here.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import ClassVar

from msgspec import Struct

from kubectl_koord.engine.fit.check import Cluster, DependsOn, Stateless
from kubectl_koord.engine.fit.node_affinity import term_matches
from kubectl_koord.engine.reasons import ClaimInUse, NoClaim, Reason, TooManyVolumes, VolumeElsewhere
from kubectl_koord.engine.view import NodeState, Occupant
from kubectl_koord.model.objects import Claim, Node
from kubectl_koord.model.pods import PendingPod, PodRequirements, ReservedRoom

_ZONES = (
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
)


class Volumes(Stateless, Struct, frozen=True):
    """The filter: the trigger's claims, and how often its claims of one pod only are held, by node."""

    depends_on: ClassVar[DependsOn] = "pods"
    claims: tuple[Claim, ...]
    missing: tuple[str, ...]
    held: Mapping[str, int]
    by_name: Mapping[str, Claim]

    def follows_members(self, _trigger: PodRequirements) -> bool:
        """Tell that a member which is placed holds its claims."""
        return True

    def reject(self, _pod: PendingPod, state: NodeState, _trigger: PodRequirements) -> Reason | None:
        """Return a reason when the node cannot hold the trigger's volumes."""
        if self.missing:
            return NoClaim(self.missing[0])
        single = {claim.name for claim in self.claims if claim.single_pod}
        elsewhere = sum(self.held.values()) - self.held.get(state.node.name, 0)
        if elsewhere + _held(single, state.occupants) > 0:
            return ClaimInUse(min(single))
        for claim in self.claims:
            if not _reaches(claim, state.node):
                return VolumeElsewhere(claim.name)
        return _over_limit(state, self)


def prepare(trigger: PendingPod, cluster: Cluster) -> Volumes | None:
    """Return the filter; None for a trigger without claims."""
    if not trigger.requirements.claims:
        return None
    view, claims = cluster.view, cluster.claims
    names = [f"{trigger.namespace}/{name}" for name in trigger.requirements.claims]
    single = {name for name in names if name in claims and claims[name].single_pod}
    held = {node: _held(single, view.occupants(node)) for node in (view.names() if single else ())}
    return Volumes(
        claims=tuple(claims[name] for name in names if name in claims),
        missing=tuple(name for name in names if name not in claims),
        held={node: count for node, count in held.items() if count},
        by_name=claims,
    )


def _held(single: Collection[str], occupants: Iterable[Occupant]) -> int:
    return sum(name in single for pod in occupants for name in claim_names(pod))


def claim_names(occupant: Occupant) -> Iterable[str]:
    """Return the claims of a pod as `namespace/name`; reserved room has none."""
    if isinstance(occupant, ReservedRoom):
        return ()
    return (f"{occupant.namespace}/{name}" for name in occupant.requirements.claims)


def _reaches(claim: Claim, node: Node) -> bool:
    labels = dict(node.labels)
    if claim.terms is not None and not any(term_matches(term, node, labels) for term in claim.terms):
        return False
    zones = ((key, value) for key, value in claim.labels if key in _ZONES and key in labels)
    return all(labels[key] in value.split("__") for key, value in zones)


def _over_limit(state: NodeState, prepared: Volumes) -> Reason | None:
    """Count volumes by driver, as far as the node tells how many it can hold."""
    limits = dict(state.node.volume_limits)
    if not limits:
        return None
    attached: dict[str, set[str]] = {}
    for pod in state.occupants:
        for name in claim_names(pod):
            _attach(attached, prepared.by_name.get(name))
    before = {driver: len(volumes) for driver, volumes in attached.items()}
    for claim in prepared.claims:
        _attach(attached, claim)
    for driver, volumes in sorted(attached.items()):
        if len(volumes) > before.get(driver, 0) and len(volumes) > limits.get(driver, len(volumes)):
            return TooManyVolumes(driver)
    return None


def _attach(attached: dict[str, set[str]], claim: Claim | None) -> None:
    if claim is not None and claim.driver:
        attached.setdefault(claim.driver, set()).add(claim.volume)
