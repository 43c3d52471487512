"""What the API server fills in when a pod is made: its priority, requests from limits, the defaults of LimitRanges."""

from collections.abc import Iterable
from typing import TypeVar

from msgspec import structs

from kubectl_koord.cluster.objects.fields.amounts import amounts
from kubectl_koord.cluster.objects.kubernetes.admission import LimitItem, LimitRange
from kubectl_koord.cluster.objects.pods.fields import Container, PodSpec, ResourceRequirements
from kubectl_koord.cluster.objects.pods.requests import is_of_pods
from kubectl_koord.model.installation import PriorityClass
from kubectl_koord.model.values import quantity

S = TypeVar("S", bound=PodSpec)

BUILT_IN = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
    "koord-prod": 9000,
    "koord-mid": 7000,
    "koord-batch": 5000,
    "koord-free": 3000,
}
"""Classes that Kubernetes or Koordinator's chart makes, where the cluster's own are not there."""


class RefusedError(Exception):
    """The API server refuses the pod; the text says why."""


class NoSuchClassError(RefusedError):
    """A pod names a PriorityClass that is not there."""

    def __init__(self, name: str) -> None:
        """Say so."""
        super().__init__(
            f"PriorityClass {name!r}: none such was read, and pods are forbidden without: no PriorityClass with name"
            f" {name} was found; --priority N stands in for it"
        )


def is_refused(spec: PodSpec, name: str, classes: Iterable[PriorityClass]) -> bool:
    """Tell whether the API server refuses a priority that is written, as its class, or the default, has another."""
    known = {one.name: one for one in classes}
    found = known.get(name) if name else _default(known.values())
    if spec.priority is None or (name and found is None):
        return False
    return spec.priority != (found.value if found else 0)


def _default(classes: Iterable[PriorityClass]) -> PriorityClass | None:
    return min((one for one in classes if one.is_default), key=lambda one: one.value, default=None)


def prioritised(spec: S, name: str, classes: Iterable[PriorityClass]) -> S:
    """Return the spec with the priority and the policy of its class, or else of the cluster's default.

    A priority that is written stays where the class is not known, or none is named.

    Raises:
        NoSuchClassError: when the class is not there and nothing else tells its priority.

    Mirrors `admitPod` in plugin/pkg/admission/priority of Kubernetes.

    """
    known = {one.name: one for one in classes}
    found = known.get(name)
    if not name and spec.priority is None:
        found = _default(known.values())
    if found is not None:
        policy = spec.preemption_policy or found.preemption_policy or None
        return structs.replace(spec, priority=found.value, preemption_policy=policy)
    if not name or spec.priority is not None:
        return spec
    if name not in BUILT_IN:
        raise NoSuchClassError(name)
    return structs.replace(spec, priority=BUILT_IN[name])


def filled(spec: S, ranges: Iterable[LimitRange]) -> S:
    """Return the spec with what the API server fills in of requests and limits.

    Mirrors `SetDefaults_Pod`, `SetDefaults_LimitRangeItem` and `mergePodResourceRequirements` of Kubernetes.
    """
    items = [item for one in ranges for item in one.spec.limits or () if item.type == "Container"]
    return structs.replace(
        spec,
        resources=_of_pod(spec),
        containers=[_container(one, items) for one in spec.containers or ()],
        init_containers=[_container(one, items) for one in spec.init_containers or ()],
    )


def _of_pod(spec: PodSpec) -> ResourceRequirements | None:
    """Return what the pod asks for as a whole, with its limits of what nobody requests (`setDefaultPodRequests`)."""
    own = spec.resources
    if own is None or not own.limits:
        return own
    containers = (*(spec.containers or ()), *(spec.init_containers or ()))
    made = [_container(one, ()).resources or own for one in containers]
    asked = {resource for one in made for resource in one.requests or ()}
    limits = {name: amount for name, amount in own.limits.items() if is_of_pods(name) and name not in asked}
    return structs.replace(own, requests={**limits, **(own.requests or {})} or None)


def _container(written: Container, items: Iterable[LimitItem]) -> Container:
    own = written.resources or ResourceRequirements()
    limits = dict(own.limits or {})
    requests = {**limits, **(own.requests or {})}
    for item in items:
        default = {**(item.max or {}), **(item.default or {})}
        limits = {**default, **limits}
        requests = {**(item.min or {}), **default, **(item.default_request or {}), **requests}
    return structs.replace(written, resources=structs.replace(own, limits=limits or None, requests=requests or None))


def check_amounts(spec: PodSpec) -> None:
    """Let pass what the API server takes as requests and limits.

    Raises:
        RefusedError: for negative amounts, and for parts of what is requested in whole units.
        QuantityError: when an amount is none.

    """
    for one in (spec, *(spec.containers or ()), *(spec.init_containers or ())):
        own = one.resources or ResourceRequirements()
        for resource, written in (*(own.requests or {}).items(), *(own.limits or {}).items()):
            (nano,) = amounts({resource: written}).values()
            why = "is negative" if nano < 0 else quantity.refused(resource, nano)
            if why:
                raise RefusedError(f"{resource}: {str(written)!r} {why}")


def check_limits(spec: PodSpec) -> None:
    """Let pass what the API server takes as requests beside limits.

    Raises:
        RefusedError: in its words, for requests above their limits, and for extended resources and huge pages whose
            limits are missing, or others.

    Mirrors `ValidateResourceRequirements` and `IsOvercommitAllowed` of Kubernetes.

    """
    for part, containers in (("containers", spec.containers), ("initContainers", spec.init_containers)):
        for at, one in enumerate(containers or ()):
            own = one.resources or ResourceRequirements()
            where = f"spec.{part}[{at}].resources"
            for resource, asked in sorted((own.requests or {}).items()):
                why = _refused_request(resource, asked, (own.limits or {}).get(resource), where)
                if why:
                    raise RefusedError(why)


def _refused_request(resource: str, asked: str | float, limit: str | float | None, where: str) -> str:
    may_differ = ("/" not in resource or "kubernetes.io/" in resource) and not resource.startswith("hugepages-")
    if limit is None:
        lacks = "Required value: Limit must be set for non overcommitable resources"
        return "" if may_differ else f"{where}.limits: {lacks}"
    requested, limited = quantity.parse(asked), quantity.parse(limit)
    if requested == limited or (may_differ and requested < limited):
        return ""
    must = "less than or equal" if may_differ else "equal"
    return f'{where}.requests: Invalid value: "{asked}": must be {must} to {resource} limit of {limit}'
