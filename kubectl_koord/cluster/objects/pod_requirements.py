"""A pod's spec to the shape that the filters read: requests, constraints, and what is not evaluated."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from kubectl_koord.cluster.objects import wire
from kubectl_koord.model import pods, quantity, selectors
from kubectl_koord.model.unevaluated import (
    AttachedVolume,
    EphemeralVolume,
    PodSetting,
    PodUnevaluated,
    WideningPodSetting,
)

_RENAMED = {
    "koordinator.sh/batch-cpu": "kubernetes.io/batch-cpu",
    "koordinator.sh/batch-memory": "kubernetes.io/batch-memory",
    "kubernetes.io/gpu": "koordinator.sh/gpu",
    "kubernetes.io/gpu-core": "koordinator.sh/gpu-core",
    "kubernetes.io/gpu-memory": "koordinator.sh/gpu-memory",
    "kubernetes.io/gpu-memory-ratio": "koordinator.sh/gpu-memory-ratio",
    "kubernetes.io/rdma": "koordinator.sh/rdma",
    "kubernetes.io/fpga": "koordinator.sh/fpga",
}
_UNEVALUATED_ANNOTATIONS: Mapping[str, PodUnevaluated] = {
    "scheduling.koordinator.sh/reservation-affinity": WideningPodSetting("reservation-affinity"),
    "scheduling.koordinator.sh/numa-topology-spec": PodSetting("numa-topology-spec"),
    "scheduling.koordinator.sh/resource-spec": PodSetting("cpu-binding"),
    "scheduling.koordinator.sh/scheduling-hint": PodSetting("scheduling-hint"),
    "internal.scheduling.koordinator.sh/scheduling-hint": PodSetting("scheduling-hint"),
}
_UNEVALUATED_NAMES = frozenset(_UNEVALUATED_ANNOTATIONS)
_ESTIMATES = {"cpu": (85, 250), "memory": (70, 200 << 20)}
_TRANSLATED = {"koord-mid": "kubernetes.io/mid-{}", "koord-batch": "kubernetes.io/batch-{}", "koord-free": ""}
_CLASSES = (
    ("koord-prod", 9000, 9999),
    ("koord-mid", 7000, 7999),
    ("koord-batch", 5000, 5999),
    ("koord-free", 3000, 3999),
)
_QOS = {"Guaranteed": "LSR", "Burstable": "LS", "BestEffort": "BE"}
_ATTACHED = ("csi", "gce_persistent_disk", "aws_elastic_block_store", "azure_disk", "rbd", "iscsi")

Nano: TypeAlias = dict[str, int]
Qos: TypeAlias = tuple[str | None, str | None]


def amounts(written: wire.Amounts | None) -> Nano:
    """Return a resource list in billionths, under the names that the scheduler uses.

    Raises:
        QuantityError: naming the resource whose amount is no quantity.

    Mirrors the renames of pkg/util/transformer in Koordinator.

    """
    result: Nano = {}
    for resource, text in (written or {}).items():
        new = _RENAMED.get(resource, resource)
        if new != resource and written is not None and new in written:
            continue
        try:
            result[new] = quantity.parse(text)
        except quantity.QuantityError as problem:
            raise quantity.QuantityError(f"{resource}: {problem}") from None
    return result


def resources(nano: Nano) -> pods.Resources:
    """Return rounded amounts in name order; zero amounts are left out."""
    rounded = ((resource, quantity.amount(resource, value)) for resource, value in sorted(nano.items()))
    return tuple((resource, number) for resource, number in rounded if number)


def requests(spec: wire.PodSpec) -> pods.Resources:
    """Return what the pod takes up on a node, init and sidecar containers and overhead included.

    Mirrors `PodRequests` in k8s.io/component-helpers/resource/helpers.go.
    """
    running = _effective(spec, lambda needs: needs.requests)
    _add(running, amounts(spec.overhead))
    return resources(running)


def _effective(spec: wire.PodSpec, which: Callable[[wire.ResourceRequirements], wire.Amounts | None]) -> Nano:
    """Return the pod's requests or limits: containers and sidecars together, or the largest init container."""
    running: Nano = {}
    for container in spec.containers or ():
        _add(running, _of(container, which))
    sidecars: Nano = {}
    initial: Nano = {}
    for container in spec.init_containers or ():
        asked = _of(container, which)
        if container.restart_policy == "Always":
            _add(running, asked)
            _add(sidecars, asked)
            asked = sidecars
        else:
            asked = dict(asked)
            _add(asked, sidecars)
        for resource, value in asked.items():
            initial[resource] = max(initial.get(resource, 0), value)
    for resource, value in initial.items():
        running[resource] = max(running.get(resource, 0), value)
    return running


def _of(container: wire.Container, which: Callable[[wire.ResourceRequirements], wire.Amounts | None]) -> Nano:
    return amounts(which(container.resources)) if container.resources else {}


def estimate(pod: wire.Pod) -> pods.Resources:
    """Return the CPU (milli) and memory (bytes) that LoadAwareScheduling expects the pod to use.

    85 % of CPU and 70 % of memory, of the larger of request and limit, of the resources of its
    priority class. Mirrors plugins/loadaware/estimator/default_estimator.go.
    """
    asked = dict(requests(pod.spec))
    limits = dict(resources(_effective(pod.spec, lambda needs: needs.limits)))
    kind = _priority_class(pod)
    found = []
    for resource, (factor, least) in _ESTIMATES.items():
        name = _TRANSLATED.get(kind, "{}").format(resource)
        if not name:
            continue
        largest = max(asked.get(name, 0), limits.get(name, 0))
        value = (largest * factor + 50) // 100
        if largest == 0:
            value = 0 if kind == "koord-mid" else least
        elif limits.get(name):
            value = min(value, limits[name])
        if value:
            found.append((resource, value))
    return tuple(found)


def _priority_class(pod: wire.Pod) -> str:
    labels = pod.metadata.labels or {}
    named = labels.get("koordinator.sh/priority-class")
    if named is not None:
        return named
    priority = pod.spec.priority or 0
    by_value = next((name for name, low, high in _CLASSES if low <= priority <= high), "")
    qos = labels.get("koordinator.sh/qosClass") or _QOS.get(pod.status.qos_class or "", "LS")
    return by_value or ("koord-batch" if qos == "BE" else "koord-prod")


def _add(total: Nano, more: Nano) -> None:
    for resource, value in more.items():
        total[resource] = total.get(resource, 0) + value


def qos_of(labels: Mapping[str, str | None]) -> Qos:
    """Return what a pod's labels tell of its priority and QoS class."""
    return labels.get("koordinator.sh/priority-class"), labels.get("koordinator.sh/qosClass")


def read_of(pod: wire.Pod) -> tuple[object, ...]:
    """Return what `requirements` reads of a pod besides its spec and its QoS; equal ones have equal requirements."""
    meta = pod.metadata
    labels, annotations, owners = meta.labels, meta.annotations, meta.owner_references
    return (
        pod.status.qos_class,
        owners[0].kind if owners and len(owners) == 1 else tuple(owner.kind for owner in owners or ()),
        ()
        if not annotations or _UNEVALUATED_NAMES.isdisjoint(annotations)
        else tuple(name for name in _UNEVALUATED_ANNOTATIONS if name in annotations),
        tuple(sorted(labels.items())) if labels and pod.spec.topology_spread_constraints else (),
    )


def ties(volumes: list[wire.Volume]) -> list[wire.Volume]:
    """Return the volumes that can tie a pod to nodes."""
    return [  # one by one: a loop over the names costs ten times as much, for six volumes of every pod
        volume
        for volume in volumes
        if volume.persistent_volume_claim is not None
        or volume.ephemeral is not None
        or volume.csi is not None
        or volume.gce_persistent_disk is not None
        or volume.aws_elastic_block_store is not None
        or volume.azure_disk is not None
        or volume.rbd is not None
        or volume.iscsi is not None
    ]


def requirements(pod: wire.Pod) -> pods.PodRequirements:
    """Return what the filters read of the pod.

    Raises:
        QuantityError: when a request is no quantity.

    """
    spec = pod.spec
    affinity = spec.affinity or wire.Affinity()
    return pods.PodRequirements(
        requests=requests(spec),
        selector=tuple(sorted((spec.node_selector or {}).items())),
        affinity=_node_terms(affinity.node_affinity),
        tolerations=tuple(
            selectors.Toleration(key=t.key, operator=t.operator, value=t.value, effect=t.effect)
            for t in spec.tolerations or ()
        ),
        ports=tuple(_ports(spec)),
        spread=tuple(_spread(pod)),
        pod_affinity=_pod_terms(affinity.pod_affinity),
        pod_anti_affinity=_pod_terms(affinity.pod_anti_affinity),
        claims=tuple(
            volume.persistent_volume_claim.claim_name
            for volume in spec.volumes or ()
            if volume.persistent_volume_claim is not None
        ),
        estimate=estimate(pod),
        of_daemon_set=any(owner.kind == "DaemonSet" for owner in pod.metadata.owner_references or ()),
        sidecars=any(container.restart_policy == "Always" for container in spec.init_containers or ()),
        unevaluated=tuple(dict.fromkeys(_unevaluated(pod))),
    )


def _node_terms(affinity: wire.NodeAffinity | None) -> tuple[pods.NodeTerm, ...] | None:
    return None if affinity is None or affinity.required is None else node_terms(affinity.required)


def node_terms(selector: wire.NodeSelector) -> tuple[pods.NodeTerm, ...]:
    """Return the terms of a node selector, of which one must hold."""
    return tuple(
        pods.NodeTerm(labels=label_requirements(term.match_expressions), fields=label_requirements(term.match_fields))
        for term in selector.node_selector_terms or ()
    )


def label_requirements(expressions: Iterable[wire.Expression] | None) -> tuple[selectors.Requirement, ...]:
    """Return matchExpressions as values."""
    return tuple(selectors.Requirement(e.key, e.operator, tuple(e.values or ())) for e in expressions or ())


def selector(written: wire.LabelSelector | None) -> selectors.Selector | None:
    """Return a label selector as a value; None, which matches nothing, where none is written."""
    if written is None:
        return None
    equal = sorted((written.match_labels or {}).items())
    exact = tuple(selectors.Requirement(key, "In", (value,)) for key, value in equal)
    return selectors.Selector(exact + label_requirements(written.match_expressions))


def _ports(spec: wire.PodSpec) -> Iterable[pods.HostPort]:
    containers = [*(spec.containers or ()), *(c for c in spec.init_containers or () if c.restart_policy == "Always")]
    for container in containers:
        for port in container.ports or ():
            if port.host_port > 0:
                address = port.host_ip or pods.EVERY_ADDRESS
                yield pods.HostPort(port.host_port, port.protocol or "TCP", address)


def _spread(pod: wire.Pod) -> Iterable[pods.Spread]:
    labels = pod.metadata.labels or {}
    for constraint in pod.spec.topology_spread_constraints or ():
        if constraint.when_unsatisfiable != "DoNotSchedule":
            continue
        wanted = selector(constraint.label_selector)
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


def _pod_terms(affinity: wire.PodAffinity | None) -> tuple[pods.PodTerm, ...]:
    return tuple(
        pods.PodTerm(
            key=term.topology_key,
            selector=selector(term.label_selector),
            namespaces=tuple(sorted(term.namespaces or ())),
            every_namespace=term.namespace_selector == wire.LabelSelector(),
        )
        for term in (affinity.required if affinity else None) or ()
    )


def _unevaluated(pod: wire.Pod) -> Iterable[PodUnevaluated]:
    spec = pod.spec
    yield from _unevaluated_volumes(spec)
    if spec.resource_claims:
        yield PodSetting("resource-claims")
    if spec.resources and spec.resources.requests:
        yield WideningPodSetting("pod-level-resources")
    if any(_names_selected(affinity) for affinity in _pod_affinities(spec)):
        yield WideningPodSetting("namespace-selector")
    for annotation in pod.metadata.annotations or ():
        if annotation in _UNEVALUATED_ANNOTATIONS:
            yield _UNEVALUATED_ANNOTATIONS[annotation]
    if (pod.metadata.labels or {}).get("koordinator.sh/qosClass") in {"LSR", "LSE"}:
        yield PodSetting("cpu-binding")


def _unevaluated_volumes(spec: wire.PodSpec) -> Iterable[PodUnevaluated]:
    for volume in spec.volumes or ():
        if volume.ephemeral is not None:
            yield EphemeralVolume(volume.name)
        elif any(getattr(volume, kind) is not None for kind in _ATTACHED):
            yield AttachedVolume(volume.name)


def _pod_affinities(spec: wire.PodSpec) -> Iterable[wire.PodAffinityTerm]:
    if spec.affinity:
        for affinity in (spec.affinity.pod_affinity, spec.affinity.pod_anti_affinity):
            yield from (affinity.required if affinity else None) or ()


def _names_selected(term: wire.PodAffinityTerm) -> bool:
    return term.namespace_selector is not None and term.namespace_selector != wire.LabelSelector()
