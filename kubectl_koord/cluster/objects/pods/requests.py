"""What a pod requests, and what it is expected to use."""

from collections.abc import Callable, Mapping
from functools import lru_cache

import msgspec
from msgspec import structs

from kubectl_koord.cluster.decoders import decoder
from kubectl_koord.cluster.objects.fields.amounts import Amounts, Nano, amounts, resources
from kubectl_koord.cluster.objects.pods.fields import Container, Pod, PodSpec, ResourceRequirements
from kubectl_koord.model import pods
from kubectl_koord.model.load import ExpectedUse

_MOST = 1 << 12
_SPEC = decoder(PodSpec)
_LEAST_USE = {"cpu": 250, "memory": 200 << 20}
_BY_CLASS = {"koord-mid": "kubernetes.io/mid-{}", "koord-batch": "kubernetes.io/batch-{}", "koord-free": ""}
_CLASSES = {
    "koord-prod": (9000, 9999),
    "koord-mid": (7000, 7999),
    "koord-batch": (5000, 5999),
    "koord-free": (3000, 3999),
}
_QOS_CLASSES = {"LSE", "LSR", "LS", "BE", "SYSTEM"}
_OF_QOS = {"cpu", "memory"}
_OF_PODS = {"cpu", "memory"}


def requests(spec: PodSpec) -> pods.Resources:
    """Return what the pod takes up on a node, init and sidecar containers and overhead included.

    Raises:
        QuantityError: when an amount is none.

    Mirrors `PodRequests` in k8s.io/component-helpers/resource/helpers.go.

    """
    return requests_and_limits(spec)[0]


def requests_and_limits(spec: PodSpec) -> tuple[pods.Resources, pods.Resources]:
    """Return what the pod takes up on a node, and its limits: what it says of itself as a whole beats its containers.

    Raises:
        QuantityError: when an amount is none.

    """
    parts = PodSpec(
        containers=spec.containers,
        init_containers=spec.init_containers,
        overhead=spec.overhead,
        resources=spec.resources,
    )
    return _sums(msgspec.json.encode(parts))


def has_own_resources(spec: PodSpec) -> bool:
    """Tell whether the pod requests or limits anything as a whole (`IsPodLevelResourcesSet`)."""
    own = spec.resources
    return own is not None and any(map(is_of_pods, (*(own.requests or ()), *(own.limits or ()))))


def is_of_pods(resource: str) -> bool:
    """Tell whether a pod may request a resource as a whole (`IsSupportedPodLevelResource`)."""
    return resource in _OF_PODS or resource.startswith("hugepages-")


@lru_cache(_MOST)
def _sums(written: bytes) -> tuple[pods.Resources, pods.Resources]:
    spec: PodSpec = _SPEC.decode(written)
    requested = _effective(spec, lambda written: written.requests)
    requested |= _of_pod(spec, lambda written: written.requests)
    _add(requested, amounts(spec.overhead))
    return resources(requested), resources(_limits(spec))


def _limits(spec: PodSpec) -> Nano:
    """Return the pod's limits, the overhead included where there is one (`PodLimits`)."""
    limits = _effective(spec, lambda written: written.limits)
    limits |= _of_pod(spec, lambda written: written.limits)
    _add(limits, {resource: value for resource, value in amounts(spec.overhead).items() if resource in limits})
    return limits


def _effective(spec: PodSpec, which: Callable[[ResourceRequirements], Amounts | None]) -> Nano:
    """Return the pod's requests or limits: containers and sidecars together, or the largest init container."""
    running: Nano = {}
    for container in spec.containers or ():
        _add(running, _of(container, which))
    sidecars: Nano = {}
    initial: Nano = {}
    for container in spec.init_containers or ():
        requested = _of(container, which)
        if container.restart_policy == "Always":
            _add(running, requested)
            _add(sidecars, requested)
            requested = sidecars
        else:
            requested = dict(requested)
            _add(requested, sidecars)
        for resource, value in requested.items():
            initial[resource] = max(initial.get(resource, 0), value)
    for resource, value in initial.items():
        running[resource] = max(running.get(resource, 0), value)
    return running


def _of_pod(spec: PodSpec, which: Callable[[ResourceRequirements], Amounts | None]) -> Nano:
    """Return what the pod says of itself as a whole, of resources of which it may."""
    written = amounts(which(spec.resources)) if spec.resources else {}
    return {resource: value for resource, value in written.items() if is_of_pods(resource)}


def _of(container: Container, which: Callable[[ResourceRequirements], Amounts | None]) -> Nano:
    return amounts(which(container.resources)) if container.resources else {}


@lru_cache(_MOST)
def _expected_use(requests: pods.Resources, limits: pods.Resources, kind: str) -> tuple[ExpectedUse, ...]:
    requested, limited = dict(requests), dict(limits)
    found = []
    for resource, least in _LEAST_USE.items():
        name = _BY_CLASS.get(kind, "{}").format(resource)
        if name:
            limit = limited.get(name, 0)
            amount = max(requested.get(name, 0), limit)
            asked_as = "" if name == resource else name
            found.append(ExpectedUse(resource, amount, limit, 0 if kind == "koord-mid" else least, asked_as=asked_as))
    return tuple(one for one in found if one.amount or one.least)


def expected_use(
    requests: pods.Resources, limits: pods.Resources, kind: str, own: Mapping[str, int]
) -> tuple[ExpectedUse, ...]:
    """Return what LoadAwareScheduling estimates the CPU (milli) and memory (bytes) of a pod of a priority class from.

    The larger of request and limit, of the resources of its priority class; `own` are the percentages that it sets
    itself. Mirrors `estimatedUsedByResource` in plugins/loadaware/estimator/default_estimator.go.
    """
    found = _expected_use(requests, limits, kind)
    return tuple([structs.replace(one, factor=own.get(one.resource)) for one in found]) if own else found


def priority_class(pod: Pod) -> str:
    """Return the priority class by the pod's label, its priority or, for want of both, its QoS class.

    Mirrors `GetPodPriorityClassWithDefault` in apis/extension/priority_utils.go.
    """
    labels = pod.metadata.labels or {}
    named = labels.get("koordinator.sh/priority-class")
    if named is not None:
        known = named if named in _CLASSES else ""
    else:
        priority = pod.spec.priority or 0
        known = next((name for name, (low, high) in _CLASSES.items() if low <= priority <= high), "")
    return known or ("koord-batch" if _qos_class(pod, labels) == "BE" else "koord-prod")


def _qos_class(pod: Pod, labels: Mapping[str, str | None]) -> str:
    """Return Koordinator's QoS class: that of the label, or else what stands for Kubernetes'."""
    named = labels.get("koordinator.sh/qosClass")
    if named is None or named not in _QOS_CLASSES:
        return "BE" if (pod.status.qos_class or _kubernetes_qos(pod)) == "BestEffort" else "LS"
    return named


def _kubernetes_qos(pod: Pod) -> str:
    """Return the QoS class that the API server would write: whether anything is asked for, or limited, at all."""
    own = (one.resources for one in (*(pod.spec.containers or ()), *(pod.spec.init_containers or ())))
    lists = [written for one in (pod.spec.resources, *own) if one for written in (one.requests, one.limits)]
    asks = any(not _OF_QOS.isdisjoint(written or ()) for written in lists)
    return "Burstable" if asks else "BestEffort"


def _add(total: Nano, more: Nano) -> None:
    for resource, value in more.items():
        total[resource] = total.get(resource, 0) + value
