"""What LimitRanges, ResourceQuotas and admission allow or add to new pods, in the words of the API server."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Self

from msgspec import Struct, structs

from kubectl_koord.cluster.collect import Collector
from kubectl_koord.cluster.manifests.workload import TemplateSpec
from kubectl_koord.cluster.objects.nodes import LimitItem, LimitRange, ResourceQuota
from kubectl_koord.cluster.objects.pod_wire import Container, ResourceRequirements
from kubectl_koord.cluster.objects.pool import Nano, amounts
from kubectl_koord.model import values
from kubectl_koord.model.pods import FinishedPod, PendingPod
from kubectl_koord.model.unevaluated import OpenToleration, PodSetting
from kubectl_koord.model.values import Taint, Toleration, tolerates

_CONTAINERS = ("containers", "initContainers")
_REQUIRED = ("name", "image")
_DEEPEST = 12
_TERMS = {"BestEffort", "NotBestEffort", "PriorityClass"}
"""The scopes of quotas that are evaluated."""
_WANTED = ("cpu", "memory")


def refused_by_ranges(spec: TemplateSpec, ranges: Iterable[LimitRange]) -> str:
    """Return why LimitRanges refuse a pod, empty where they do not.

    Mirrors `PodValidateLimitFunc` of Kubernetes' LimitRanger; ratios of limits to requests are compared, too.
    """
    items = [item for one in ranges for item in one.spec.limits or ()]
    containers = [_amounts_of(one) for one in (*(spec.containers or ()), *(spec.init_containers or ()))]
    faults = [why for item in items if item.type == "Container" for each in containers for why in _faults(item, each)]
    whole = (_total(spec, "requests"), _total(spec, "limits"))
    faults += [why for item in items if item.type == "Pod" for why in _faults(item, whole)]
    return f"[{', '.join(faults)}]" if len(faults) > 1 else "".join(faults)


def lacking(written: object, path: str = "spec", depth: int = 0) -> Iterator[str]:
    """Yield what the API server says of containers without a name or an image, wherever a manifest has pod specs.

    Mirrors `validateContainerCommon` of Kubernetes.
    """
    inner = written.items() if isinstance(written, dict) else enumerate(written) if isinstance(written, list) else ()
    for key, value in inner if depth < _DEEPEST else ():
        here = f"{path}.{key}" if isinstance(written, dict) else f"{path}[{key}]"
        if key not in _CONTAINERS or not isinstance(value, list):
            yield from lacking(value, here, depth + 1)
            continue
        for at, one in enumerate(value):
            missing = (name for name in _REQUIRED if isinstance(one, dict) and not one.get(name))
            yield from (f"{here}[{at}].{name}: Required value" for name in missing)


def _amounts_of(one: Container) -> tuple[Nano, Nano]:
    own = one.resources or ResourceRequirements()
    return amounts(own.requests), amounts(own.limits)


def _faults(item: LimitItem, asked: tuple[Nano, Nano]) -> Iterator[str]:
    requests, limits = asked
    for resource, written in (item.min or {}).items():
        usage = f"minimum {resource} usage per {item.type} is {written}"
        yield from _below(usage, resource, values.parse(written), requests, limits)
    for resource, written in (item.max or {}).items():
        usage = f"maximum {resource} usage per {item.type} is {written}"
        yield from _above(usage, resource, values.parse(written), requests, limits)
    for resource, written in (item.max_limit_request_ratio or {}).items():
        usage = f"{resource} max limit to request ratio per {item.type} is {written}"
        requested, limited = requests.get(resource, 0), limits.get(resource, 0)
        if not requested or not limited:
            yield f"{usage}, but no {'limit' if requested else 'request'} is specified or it is 0"
        elif limited * values.NANO > values.parse(written) * requested:
            yield f"{usage}, but provided ratio is {limited / requested:f}"


def _below(usage: str, resource: str, least: int, requests: Nano, limits: Nano) -> Iterator[str]:
    if resource not in requests:
        yield f"{usage}.  No request is specified"
    elif requests[resource] < least:
        yield f"{usage}, but request is {_spelled(resource, requests[resource])}"
    elif limits.get(resource, least) < least:
        yield f"{usage}, but limit is {_spelled(resource, limits[resource])}"


def _above(usage: str, resource: str, most: int, requests: Nano, limits: Nano) -> Iterator[str]:
    if resource not in limits:
        yield f"{usage}.  No limit is specified"
    elif limits[resource] > most:
        yield f"{usage}, but limit is {_spelled(resource, limits[resource])}"
    elif requests.get(resource, 0) > most:
        yield f"{usage}, but request is {_spelled(resource, requests[resource])}"


def _spelled(resource: str, nano: int) -> str:
    return values.spell(resource, values.amount(resource, nano))


def _total(spec: TemplateSpec, field: str) -> Nano:
    """Return what a pod requests, or is limited to: its containers together, or more for an init container."""
    total: Nano = dict(amounts(spec.overhead))
    largest: Nano = {}
    for one in (*(spec.containers or ()), *(spec.init_containers or ())):
        found = amounts(getattr(one.resources or ResourceRequirements(), field))
        runs_along = one in (spec.containers or ()) or one.restart_policy == "Always"
        for resource, nano in found.items():
            if runs_along:
                total[resource] = total.get(resource, 0) + nano
            else:
                largest[resource] = max(largest.get(resource, 0), nano)
    return {name: max(total.get(name, 0), largest.get(name, 0)) for name in {**total, **largest}}


class Quotas:
    """The ResourceQuotas of a cluster while pods are made, one after the other."""

    def __init__(self, written: Iterable[ResourceQuota]) -> None:
        self._quotas: dict[str, list[tuple[ResourceQuota, Nano, Nano]]] = {}
        for one in sorted(written, key=lambda quota: quota.metadata.name):
            hard = amounts(one.status.hard or one.spec.hard)
            used = amounts(one.status.used)
            self._quotas.setdefault(one.metadata.namespace or "", []).append((one, hard, used))

    def open(self, namespace: str) -> tuple[PodSetting, ...]:
        """Return what is not evaluated of the quotas of a namespace: scopes other than the class and best effort."""
        scopes = {scope for one, _, _ in self._quotas.get(namespace, ()) for scope, _, _ in _scopes(one)}
        return () if scopes <= _TERMS else (PodSetting("resource-quota-scope"),)

    def take(self, namespace: str, spec: TemplateSpec) -> str:
        """Count a pod, and return why it is refused, empty where it is made.

        Mirrors `CheckRequest` of Kubernetes' admission of resource quotas, and `PodUsageFunc`.
        """
        requests, limits = _total(spec, "requests"), _total(spec, "limits")
        usage = _usage(requests, limits)
        matching = [one for one in self._quotas.get(namespace, ()) if _matches(one[0], spec, requests, limits)]
        for quota, hard, used in matching:
            lacks = [name for name in _compute(hard) if name not in usage]
            if lacks:
                return f"failed quota: {quota.metadata.name}: must specify {','.join(sorted(lacks))}"
            over = [name for name in hard if name in usage and used.get(name, 0) + usage[name] > hard[name]]
            if over:
                told = (_listed(over, usage), _listed(over, used), _listed(over, hard))
                return "exceeded quota: {}, requested: {}, used: {}, limited: {}".format(quota.metadata.name, *told)
        for _, hard, used in matching:
            used.update({name: used.get(name, 0) + usage[name] for name in hard if name in usage})
        return ""


def _usage(requests: Nano, limits: Nano) -> Nano:
    found: Nano = {"pods": values.NANO, "count/pods": values.NANO}
    for name, nano in requests.items():
        found[f"requests.{name}"] = nano
        if "/" not in name:
            found[name] = nano
    found |= {f"limits.{name}": nano for name, nano in limits.items() if "/" not in name}
    return found


def _compute(hard: Nano) -> Iterator[str]:
    """Yield the CPU and memory entries of a ResourceQuota, for which each pod must have an amount."""
    names = {form for name in _WANTED for form in (name, f"requests.{name}", f"limits.{name}")}
    yield from (name for name in hard if name in names)


def _listed(names: Iterable[str], found: Nano) -> str:
    return ",".join(
        f"{name}={_spelled(name.removeprefix('requests.').removeprefix('limits.'), found.get(name, 0))}"
        for name in sorted(names)
    )


def _scopes(one: ResourceQuota) -> Iterator[tuple[str, str, list[str]]]:
    yield from ((scope, "Exists", []) for scope in one.spec.scopes or ())
    for term in (one.spec.scope_selector or {}).get("matchExpressions") or ():
        yield str(term.get("scopeName")), str(term.get("operator")), list(term.get("values") or ())


def _matches(one: ResourceQuota, spec: TemplateSpec, requests: Nano, limits: Nano) -> bool:
    """Tell whether a quota counts a pod; one with a scope that is not evaluated counts none."""
    is_best_effort = not any(found.get(name) for found in (requests, limits) for name in _WANTED)
    own = spec.priority_class_name or ""
    for scope, operator, named in _scopes(one):
        held = {
            "BestEffort": is_best_effort,
            "NotBestEffort": not is_best_effort,
            "PriorityClass": {
                "In": own in named,
                "NotIn": own not in named,
                "Exists": bool(own),
                "DoesNotExist": not own,
            }.get(operator, False),
        }
        if not held.get(scope, False):
            return False
    return True


_EFFECT = "NoSchedule"


class Tolerations(Struct, frozen=True):
    """By resource that taints are named after, these taints; and whether pods get a toleration, None where none tells.

    All pods that request it have one where the plugin is on, and not all where it is off.
    """

    taints: Mapping[str, frozenset[Taint]]
    added: Mapping[str, bool | None]

    @classmethod
    def of(cls, collector: Collector) -> Self:
        """Return the taints for extended resources on nodes, and whether pods that request them tolerate them."""
        taints: dict[str, set[Taint]] = {}
        for node in collector.nodes.values():
            for taint in node.taints:
                if taint.effect == _EFFECT and _is_extended(taint.key):
                    taints.setdefault(taint.key, set()).add(taint)
        seen: dict[str, set[bool]] = {name: set() for name in taints}
        for pod in collector.every_pod if taints else ():
            if not isinstance(pod, FinishedPod):
                for name, _ in pod.requirements.requests:
                    if name in seen:
                        seen[name].add(_toleration(name) in pod.requirements.tolerations)
        told = {name: next(iter(found)) if len(found) == 1 else None for name, found in seen.items()}
        return cls({name: frozenset(found) for name, found in taints.items()}, told)

    def completed(self, pod: PendingPod) -> PendingPod:
        """Return a pod with the tolerations that it gets, and may get: then it is open whether it does."""
        wanted = pod.requirements
        for name, _ in wanted.requests:
            told = self.added.get(name, False)
            if told is False or all(_is_tolerated(one, wanted.tolerations) for one in self.taints[name]):
                continue
            opened = () if told else (OpenToleration(name),)
            wanted = structs.replace(
                wanted,
                tolerations=(*wanted.tolerations, _toleration(name)),
                unevaluated=(*wanted.unevaluated, *opened),
            )
        return pod if wanted is pod.requirements else structs.replace(pod, requirements=wanted)


def _is_extended(name: str) -> bool:
    """Tell whether a resource is an extended one; mirrors `IsExtendedResourceName` of Kubernetes' API helpers."""
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")


def _toleration(name: str) -> Toleration:
    return Toleration(name, "Exists", "", _EFFECT)


def _is_tolerated(taint: Taint, tolerations: tuple[Toleration, ...]) -> bool:
    return any(tolerates(one, taint) for one in tolerations)
