"""What differs between versions: one row per difference, one column per version; and a gang's settings."""

import json
from typing import Any, NoReturn, TypeAlias

from msgspec import Struct, structs

from kubectl_koord.model.installation import INLINE_BATCH
from kubectl_koord.model.snapshot import SchedulerConfig


class GatherRule(Struct, frozen=True):
    """One rule of a gang's topology spec."""

    layer: str
    strategy: str
    multiple: int = 0


Spec: TypeAlias = tuple[GatherRule, ...] | None
"""The topology spec of a gang; None for a gang without a readable one."""


def listed_ids(written: str | None, own: str) -> tuple[tuple[str, ...], str]:
    """Return the ids of the group, sorted, and `groups` when the JSON is no list (own id stands in).

    Whatever is no string in a list is an empty id: Go's decoder goes on behind it, and what it has decoded counts.
    Mirrors `StringToGangGroupSlice`.
    """
    if not written:
        return (own,), ""
    try:
        listed = _decoded(written)
    except (ValueError, RecursionError):
        return (own,), "groups"
    if listed is not None and not isinstance(listed, list):
        return (own,), "groups"
    return tuple(sorted(item if isinstance(item, str) else "" for item in listed or ())) or (own,), ""


def gather_rules(written: str | None, *, with_multiples: bool = True) -> tuple[Spec, str]:
    """Return the rules of a topology spec, and `network-topology-spec` when it does not parse.

    Upstream logs such a spec and schedules the gang without topology. Keys match whatever their
    case, as Go's JSON decoder does. Mirrors `GetNetworkTopologySpec`.

    `with_multiples`: whether the version decodes `podCountMultiple`: one that does not takes whatever is written.
    """
    if not written:
        return None, ""
    try:
        spec = _decoded(written)
        found = tuple(_rule(rule, with_multiples=with_multiples) for rule in _field(spec, "gatherStrategy", list, []))
    except (ValueError, TypeError, RecursionError):
        return None, "network-topology-spec"
    return found, ""


def _decoded(written: str) -> Any:  # noqa: ANN401
    """Return what JSON holds; NaN and Infinity, which Python alone would read, make it none."""
    return json.loads(written, parse_constant=_refuse)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _rule(rule: Any, *, with_multiples: bool) -> GatherRule:  # noqa: ANN401
    layer, strategy = _field(rule, "layer", str, ""), _field(rule, "strategy", str, "")
    try:
        multiple = _field(rule, "podCountMultiple", int, 0)
    except TypeError:
        if with_multiples:
            raise
        multiple = 0
    return GatherRule(layer, strategy, multiple)


def _field(value: Any, name: str, wanted: type, default: Any) -> Any:  # noqa: ANN401
    """Return a field as Go would decode it: null and absence are the zero value; the last of several spellings wins."""
    if value is None:
        return default
    if not isinstance(value, dict):
        raise TypeError(name)
    found = default
    for key, other in value.items():
        if other is None or key.lower() != name.lower():
            continue
        if not isinstance(other, wanted) or isinstance(other, bool):
            raise TypeError(name)
        found = other
    return found


class Rules(Struct, frozen=True):
    """The behaviour of one version.

    pod_count_multiple: `podCountMultiple` is decoded and honoured (koordinator#2799).
    compares_ancestors: domains compare by pods of the same selector and by slots along all their
        ancestors (koordinator#2797, #2798).
    oversized_is_unresolvable: NodeResourcesFit answers UnschedulableAndUnresolvable when a missing
        resource's request exceeds the node's whole allocatable (Kubernetes 1.35).
    filters_best_effort: NodeNUMAResource looks at nodes with the policy BestEffort before one is chosen, and not
        only as it reserves what the pod needs there.
    knows_sidecars: pods with restartable init containers are scheduled (Kubernetes 1.29 and later).
    knows_pod_resources: what a pod requests as a whole counts in place of what its containers do (Kubernetes 1.32 and
        later).
    retries_failed_plans: a gang whose plan cannot be carried out is tried again at once, before its waiting members
        are cleaned up: a race, from which it may come out bound in part, or off its plan.
    keeps_nominations: members that waited while another found no place stay nominated to their nodes, and hold that
        room as others are tried before them (Kubernetes 1.35).
    retries_meanwhile: a gang is tried again many times a second while its victims terminate; before, only where
        something else wakes it up (Kubernetes 1.35, where a nomination that is cleared does: it takes pods from backoff
        when no other is ready).
    names_jobs: each victim without label questioned-object-key is a job of its own, and a gang is one; else all of them
        are one (`TransformScheduleExplanationObjectKey`).
    knows_unshareable_gpus: models of GPUs may be configured as not shareable.
    knows_resource_claims: pods wait for their ResourceClaims (Kubernetes 1.34 and later); else these are ignored.
    fails_to_score_claims: nodes cannot be ranked for a pod with claims of which some are allocated and some are not
        (Kubernetes 1.35.2).
    fails_to_score_cpus: where several nodes take a pod that binds CPUs, one with the policy BestEffort and too few CPUs
        ends the attempt, as nodes cannot be ranked (before koordinator#2883).
    exact_shares: quotas share by largest remainder, so that shares add up; before, each share is rounded.
    filters_by_reservation: a pod that need not use a reservation is held against those that match it, too.
    spends_reservations: one for a single owner does not match any more, and counts in full beside its owner,
        once that has its place.
    places_waiting_reservations: phase Waiting, which nobody writes, counts as Pending.
    forgets_owners: a scheduler that starts may read a running owner before its reservation, and then does not know
        that it draws on it.
    returns_owners_of_zones: CPUs and zones that owners of a reservation have count once for a pod that matches it and
        draws on the rest of the node; and one that lacks CPUs or zones for a pod is not taken.
    forgets_cpus: a scheduler that starts may read a running pod before its node's NodeResourceTopology, and then takes
        its CPUs and its part of zones for free.
    counts_attachments: volumes that are attached to a node count towards its limits, though no pod there uses them
        (Kubernetes 1.35).
    tolerates_unschedulable: a pod may tolerate that a reservation is unschedulable.
    finds_newer_zones: a volume's zone label of the older name is held against the newer one of a node, too
        (Kubernetes 1.35).
    keeps_namespace_selectors: the namespace selector of a pod that is tried stays beside the namespaces that it
        selects, and is held against no labels at all: one that only excludes some means every namespace
        (Kubernetes 1.35, where `mergeAffinityTermNamespacesIfNotEmpty` gets a copy of the term).
    looks_up_reservations: a reservation that a pod names is looked up, and no other node counts.
    configures_match_policy: the match policy of gangs that name none is a setting (`defaultMatchPolicy`).
    places_plans_whole: a plan is carried out for all its pods at once or not at all, and preempts nobody where it fails
        (main, with the feature gate EnableInlineBatchSchedule: `BatchSchedule` in batch/batch_scheduler.go).
    """

    pod_count_multiple: bool
    compares_ancestors: bool
    oversized_is_unresolvable: bool
    filters_best_effort: bool
    knows_sidecars: bool
    knows_pod_resources: bool
    retries_failed_plans: bool
    keeps_nominations: bool
    retries_meanwhile: bool
    names_jobs: bool
    knows_unshareable_gpus: bool
    knows_resource_claims: bool
    fails_to_score_claims: bool
    fails_to_score_cpus: bool
    exact_shares: bool
    filters_by_reservation: bool
    spends_reservations: bool
    places_waiting_reservations: bool
    forgets_owners: bool
    forgets_cpus: bool
    looks_up_reservations: bool
    returns_owners_of_zones: bool
    counts_attachments: bool
    finds_newer_zones: bool
    keeps_namespace_selectors: bool
    tolerates_unschedulable: bool
    configures_match_policy: bool
    places_plans_whole: bool = False

    @property
    def races_over_plans(self) -> bool:
        """Whether what comes of a plan that cannot be carried out is a race."""
        return self.retries_failed_plans and not self.places_plans_whole


_RULES = {
    "1.7": Rules(
        pod_count_multiple=False,
        compares_ancestors=False,
        oversized_is_unresolvable=False,
        filters_best_effort=True,
        knows_sidecars=False,
        knows_pod_resources=False,
        retries_failed_plans=False,
        keeps_nominations=False,
        retries_meanwhile=False,
        names_jobs=True,
        knows_unshareable_gpus=False,
        knows_resource_claims=False,
        fails_to_score_claims=False,
        fails_to_score_cpus=False,
        exact_shares=False,
        filters_by_reservation=False,
        spends_reservations=True,
        places_waiting_reservations=True,
        forgets_owners=False,
        forgets_cpus=False,
        looks_up_reservations=False,
        returns_owners_of_zones=False,
        counts_attachments=False,
        finds_newer_zones=False,
        keeps_namespace_selectors=False,
        tolerates_unschedulable=False,
        configures_match_policy=False,
    ),
    "1.8": Rules(
        pod_count_multiple=True,
        compares_ancestors=True,
        oversized_is_unresolvable=True,
        filters_best_effort=False,
        knows_sidecars=True,
        knows_pod_resources=True,
        retries_failed_plans=True,
        keeps_nominations=True,
        retries_meanwhile=True,
        names_jobs=False,
        knows_unshareable_gpus=True,
        knows_resource_claims=True,
        fails_to_score_claims=True,
        fails_to_score_cpus=True,
        exact_shares=False,
        filters_by_reservation=True,
        spends_reservations=False,
        places_waiting_reservations=False,
        forgets_owners=False,
        forgets_cpus=False,
        looks_up_reservations=False,
        returns_owners_of_zones=False,
        counts_attachments=True,
        finds_newer_zones=True,
        keeps_namespace_selectors=True,
        tolerates_unschedulable=True,
        configures_match_policy=True,
    ),
    "main": Rules(
        pod_count_multiple=True,
        compares_ancestors=True,
        oversized_is_unresolvable=True,
        filters_best_effort=False,
        knows_sidecars=True,
        knows_pod_resources=True,
        retries_failed_plans=True,
        keeps_nominations=True,
        retries_meanwhile=True,
        names_jobs=False,
        knows_unshareable_gpus=True,
        knows_resource_claims=True,
        fails_to_score_claims=False,
        fails_to_score_cpus=False,
        exact_shares=True,
        filters_by_reservation=True,
        spends_reservations=False,
        places_waiting_reservations=False,
        forgets_owners=True,
        forgets_cpus=True,
        looks_up_reservations=True,
        returns_owners_of_zones=True,
        counts_attachments=True,
        finds_newer_zones=True,
        keeps_namespace_selectors=True,
        tolerates_unschedulable=True,
        configures_match_policy=True,
    ),
}


def rules(version: str) -> Rules:
    """Return the rules of a known version (`1.7`, `1.8`, `main`)."""
    return _RULES[version]


def rules_of(config: SchedulerConfig) -> Rules:
    """Return the rules of a scheduler: those of its version, with what its feature gates change."""
    found = _RULES[config.version]
    return structs.replace(found, places_plans_whole=True) if INLINE_BATCH in config.gates else found
