"""A pod's spec to what the filters read of it: requests, constraints, and what is not evaluated."""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from msgspec import structs

from kubectl_koord.cluster.objects.fields import load_aware
from kubectl_koord.cluster.objects.fields.selectors import label_selector, node_terms
from kubectl_koord.cluster.objects.fields.shared import shared
from kubectl_koord.cluster.objects.pods import numa
from kubectl_koord.cluster.objects.pods.fields import (
    Affinity,
    NodeAffinity,
    Pod,
    PodAffinity,
    PodSpec,
    Volume,
)
from kubectl_koord.cluster.objects.pods.requests import (
    expected_use,
    has_own_resources,
    priority_class,
    requests_and_limits,
)
from kubectl_koord.model import pods
from kubectl_koord.model.unevaluated import (
    AttachedVolume,
    PodSetting,
    PodUnevaluated,
)
from kubectl_koord.model.values import selectors

_UNEVALUATED_ANNOTATIONS: Mapping[str, PodUnevaluated] = {
    "scheduling.koordinator.sh/scheduling-hint": PodSetting("scheduling-hint"),
    "internal.scheduling.koordinator.sh/scheduling-hint": PodSetting("scheduling-hint"),
}
UNEVALUATED = frozenset(_UNEVALUATED_ANNOTATIONS)
_SELDOM = (*_UNEVALUATED_ANNOTATIONS, *load_aware.ANNOTATIONS)
_ANY_SELDOM = frozenset(_SELDOM)
_ATTACHED = ("gce_persistent_disk", "aws_elastic_block_store", "azure_disk", "rbd", "iscsi")
QOS_LABELS = ("koordinator.sh/priority-class", "koordinator.sh/qosClass")
Qos: TypeAlias = tuple[str | None, str | None]
"""The values of `QOS_LABELS`, None for each that is missing."""
NO_QOS: Qos = (None, None)


def qos_of(labels: Mapping[str, str | None]) -> Qos:
    """Return what a pod's labels say of its priority and QoS class."""
    priority, qos = QOS_LABELS
    return labels.get(priority), labels.get(qos)


def other_fields(pod: Pod) -> tuple[object, ...]:
    """Return what `requirements` reads of a pod besides its spec and its QoS; equal ones have equal requirements."""
    meta = pod.metadata
    labels, annotations, owners = meta.labels, meta.annotations, meta.owner_references
    return (
        pod.status.qos_class,
        owners[0].kind if owners and len(owners) == 1 else tuple(owner.kind for owner in owners or ()),
        ()
        if not annotations or _ANY_SELDOM.isdisjoint(annotations)
        else tuple([annotations.get(name, 0) for name in _SELDOM]),
        tuple(sorted(labels.items())) if labels and pod.spec.topology_spread_constraints else (),
        (annotations.get(numa.SPEC, 0), annotations.get(numa.TOPOLOGY_SPEC, 0)) if annotations else (0, 0),
    )


def tying_volumes(volumes: list[Volume]) -> list[Volume]:
    """Return the volumes that can tie a pod to nodes."""
    return [  # one by one: a loop over the names costs ten times as much, for six volumes of every pod
        volume
        for volume in volumes
        if volume.persistent_volume_claim is not None
        or volume.ephemeral is not None
        or volume.gce_persistent_disk is not None
        or volume.aws_elastic_block_store is not None
        or volume.azure_disk is not None
        or volume.rbd is not None
        or volume.iscsi is not None
    ]


def requirements(pod: Pod) -> pods.PodRequirements:
    """Return what the filters read of the pod.

    Raises:
        QuantityError: when a request is no quantity.

    """
    spec = pod.spec
    affinity = spec.affinity or Affinity()
    kind = priority_class(pod)
    annotations = pod.metadata.annotations or {}
    factors = load_aware.own_factors(annotations)
    asked = requests_and_limits(spec)
    by_containers = None
    if has_own_resources(spec):
        less = requests_and_limits(structs.replace(spec, resources=None))
        by_containers = pods.PodAmounts(less[0], expected_use(*less, kind, factors))
    found = pods.PodRequirements(
        requests=asked[0],
        selector=shared(tuple(sorted((spec.node_selector or {}).items()))),
        affinity=_node_terms(affinity.node_affinity),
        tolerations=shared(
            tuple([selectors.Toleration(t.key, t.operator, t.value, t.effect) for t in spec.tolerations or ()])
        ),
        ports=tuple(host_ports(spec)),
        spread=tuple(_spread(pod)),
        pod_affinity=pod_terms(affinity.pod_affinity),
        pod_anti_affinity=pod_terms(affinity.pod_anti_affinity),
        expected=expected_use(*asked, kind, factors),
        estimated_for=load_aware.estimated_time(annotations),
        is_prod=kind == "koord-prod",
        of_daemon_set="DaemonSet" in [owner.kind for owner in pod.metadata.owner_references or ()],
        sidecars="Always" in [container.restart_policy for container in spec.init_containers or ()],
        unevaluated=tuple(dict.fromkeys(_unevaluated(pod))),
        has_resource_claims=bool(spec.resource_claims),
        numa=numa.asked(
            annotations,
            (pod.metadata.labels or {}).get("koordinator.sh/qosClass"),
            kind,
        ),
        by_containers=by_containers,
    )
    return with_volumes(found, tying_volumes(spec.volumes or []))


def with_volumes(wanted: pods.PodRequirements, volumes: list[Volume]) -> pods.PodRequirements:
    """Return requirements with those of volumes that can tie the pod to nodes."""
    if not volumes:
        return wanted
    return structs.replace(
        wanted,
        claims=tuple(
            [one.persistent_volume_claim.claim_name for one in volumes if one.persistent_volume_claim is not None]
        ),
        ephemeral=tuple([one.name for one in volumes if one.ephemeral is not None]),
        unevaluated=tuple(dict.fromkeys((*_unevaluated_volumes(volumes), *wanted.unevaluated))),
    )


def _node_terms(affinity: NodeAffinity | None) -> tuple[selectors.NodeTerm, ...] | None:
    return None if affinity is None or affinity.required is None else node_terms(affinity.required)


def host_ports(spec: PodSpec) -> Iterable[pods.HostPort]:
    """Yield the host ports that a pod takes."""
    containers = [*(spec.containers or ()), *(c for c in spec.init_containers or () if c.restart_policy == "Always")]
    for container in containers:
        for port in container.ports or ():
            if port.host_port > 0:
                address = port.host_ip or pods.EVERY_ADDRESS
                yield pods.HostPort(port.host_port, port.protocol or "TCP", address)


def _spread(pod: Pod) -> Iterable[pods.Spread]:
    labels = pod.metadata.labels or {}
    for constraint in pod.spec.topology_spread_constraints or ():
        if constraint.when_unsatisfiable != "DoNotSchedule":
            continue
        wanted = label_selector(constraint.label_selector)
        if wanted is not None:
            own = ((key, labels[key]) for key in constraint.match_label_keys or () if key in labels)
            more = tuple(selectors.Requirement(key, "In", (value or "",)) for key, value in own)
            wanted = selectors.Selector(wanted.requirements + more)
        yield pods.Spread(
            key=constraint.topology_key,
            max_skew=constraint.max_skew,
            selector=wanted,
            min_domains=constraint.min_domains or 1,
            honor_affinity=constraint.node_affinity_policy != "Ignore",
            honor_taints=constraint.node_taints_policy == "Honor",
        )


def pod_terms(affinity: PodAffinity | None) -> tuple[pods.PodTerm, ...]:
    """Return the required terms of a pod affinity or anti-affinity."""
    return tuple(
        pods.PodTerm(
            key=term.topology_key,
            selector=label_selector(term.label_selector),
            namespaces=tuple(sorted(term.namespaces or ())),
            namespace_selector=label_selector(term.namespace_selector),
        )
        for term in (affinity.required if affinity else None) or ()
    )


def _unevaluated(pod: Pod) -> Iterable[PodUnevaluated]:
    for annotation in pod.metadata.annotations or ():
        if annotation in _UNEVALUATED_ANNOTATIONS:
            yield _UNEVALUATED_ANNOTATIONS[annotation]


def _unevaluated_volumes(volumes: Iterable[Volume]) -> Iterable[PodUnevaluated]:
    for volume in volumes:
        if any(getattr(volume, kind) is not None for kind in _ATTACHED):
            yield AttachedVolume(volume.name)
