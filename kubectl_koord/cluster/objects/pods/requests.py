"""What a pod requests, and what it is expected to use."""

from collections.abc import Callable

from kubectl_koord.cluster.objects.fields.amounts import Amounts, Nano, amounts, resources
from kubectl_koord.cluster.objects.pods.fields import Container, Pod, PodSpec, ResourceRequirements
from kubectl_koord.model import pods

_ESTIMATES = {"cpu": (85, 250), "memory": (70, 200 << 20)}
_BY_CLASS = {"koord-mid": "kubernetes.io/mid-{}", "koord-batch": "kubernetes.io/batch-{}", "koord-free": ""}
_CLASSES = (
    ("koord-prod", 9000, 9999),
    ("koord-mid", 7000, 7999),
    ("koord-batch", 5000, 5999),
    ("koord-free", 3000, 3999),
)
_QOS = {"Guaranteed": "LSR", "Burstable": "LS", "BestEffort": "BE"}


def requests(spec: PodSpec) -> pods.Resources:
    """Return what the pod takes up on a node, init and sidecar containers and overhead included.

    Mirrors `PodRequests` in k8s.io/component-helpers/resource/helpers.go.
    """
    running = _effective(spec, lambda written: written.requests)
    _add(running, amounts(spec.overhead))
    return resources(running)


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


def _of(container: Container, which: Callable[[ResourceRequirements], Amounts | None]) -> Nano:
    return amounts(which(container.resources)) if container.resources else {}


def estimate(pod: Pod) -> pods.Resources:
    """Return the CPU (milli) and memory (bytes) that LoadAwareScheduling expects the pod to use.

    85 % of CPU and 70 % of memory, of the larger of request and limit, of the resources of its
    priority class. Mirrors plugins/loadaware/estimator/default_estimator.go.
    """
    requested = dict(requests(pod.spec))
    limits = dict(resources(_effective(pod.spec, lambda written: written.limits)))
    kind = priority_class(pod)
    found = []
    for resource, (factor, least) in _ESTIMATES.items():
        name = _BY_CLASS.get(kind, "{}").format(resource)
        if not name:
            continue
        largest = max(requested.get(name, 0), limits.get(name, 0))
        value = (largest * factor + 50) // 100
        if largest == 0:
            value = 0 if kind == "koord-mid" else least
        elif limits.get(name):
            value = min(value, limits[name])
        if value:
            found.append((resource, value))
    return tuple(found)


def priority_class(pod: Pod) -> str:
    """Return the Koordinator priority class (`GetPodPriorityClassWithDefault` in apis/extension)."""
    labels = pod.metadata.labels or {}
    named = labels.get("koordinator.sh/priority-class")
    priority = pod.spec.priority or 0
    if named is not None:
        by_value = next((name for name, _, _ in _CLASSES if name == named), "")
    else:
        by_value = next((name for name, low, high in _CLASSES if low <= priority <= high), "")
    qos = labels.get("koordinator.sh/qosClass") or _QOS.get(pod.status.qos_class or "", "LS")
    return by_value or ("koord-batch" if qos == "BE" else "koord-prod")


def _add(total: Nano, more: Nano) -> None:
    for resource, value in more.items():
        total[resource] = total.get(resource, 0) + value
