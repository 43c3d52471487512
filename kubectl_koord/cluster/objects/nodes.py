"""Nodes, Namespaces, RuntimeClasses, and what admits pods to them."""

from collections.abc import Mapping
from sys import intern
from typing import Any

from msgspec import Struct, field

from kubectl_koord.cluster.objects.fields import (
    Condition,
    Meta,
    Taint,
    Toleration,
    kept_back,
    strings,
    taints,
)
from kubectl_koord.cluster.objects.pool import Allocatable, Amounts, SharedValues, amounts, resources
from kubectl_koord.model import keys, objects
from kubectl_koord.model.pods import labels_of_new


class LimitItem(Struct, gc=False, rename="camel"):
    """spec.limits[] of a LimitRange."""

    type: str = ""
    default: Amounts | None = None
    default_request: Amounts | None = None
    max: Amounts | None = None
    min: Amounts | None = None
    max_limit_request_ratio: Amounts | None = None


class LimitRangeSpec(Struct, gc=False):
    """spec of a LimitRange."""

    limits: list[LimitItem] | None = None


class LimitRange(Struct, gc=False):
    """One LimitRange."""

    metadata: Meta
    spec: LimitRangeSpec = field(default_factory=LimitRangeSpec)


def readable_range(written: LimitRange) -> LimitRange:
    """Return the object, once all of its amounts were parsed. Raises QuantityError when an amount is no quantity."""
    for item in written.spec.limits or ():
        for some in (item.default, item.default_request, item.max, item.min, item.max_limit_request_ratio):
            amounts(some)
    return written


class NamespaceQuotaSpec(Struct, gc=False, rename="camel"):
    """spec of a ResourceQuota."""

    hard: Amounts | None = None
    scopes: list[str] | None = None
    scope_selector: dict[str, Any] | None = None


class NamespaceQuotaStatus(Struct, gc=False):
    """status of a ResourceQuota."""

    hard: Amounts | None = None
    used: Amounts | None = None


class ResourceQuota(Struct, gc=False):
    """One ResourceQuota."""

    metadata: Meta
    spec: NamespaceQuotaSpec = field(default_factory=NamespaceQuotaSpec)
    status: NamespaceQuotaStatus = field(default_factory=NamespaceQuotaStatus)


def readable_quota(written: ResourceQuota) -> ResourceQuota:
    """Return the object, once all of its amounts were parsed. Raises QuantityError when an amount is no quantity."""
    for some in (written.spec.hard, written.status.hard, written.status.used):
        amounts(some)
    return written


class Namespace(Struct, gc=False):
    """One Namespace."""

    metadata: Meta


def labels(written: Namespace) -> Mapping[str, str]:
    """Return its labels, with the one that the API server sets."""
    return {**strings(written.metadata.labels), **labels_of_new(written.metadata.name)}


_FOR_BATCH = "kubernetes.io/batch-"


class NodeSpec(Struct, gc=False):
    """spec of a Node."""

    unschedulable: bool | None = None
    taints: list[Taint] | None = None


class NodeStatus(Struct, gc=False):
    """status of a Node."""

    allocatable: Amounts | None = None
    capacity: Amounts | None = None
    conditions: list[Condition] | None = None


class Node(Struct, gc=False):
    """One Node."""

    metadata: Meta
    spec: NodeSpec = field(default_factory=NodeSpec)
    status: NodeStatus = field(default_factory=NodeStatus)


def node(written: Node, pool: SharedValues) -> objects.Node:
    """Return the node as the scheduler sees it, its own reservation taken off.

    Raises QuantityError when an amount is no quantity.
    """
    meta, allocatable = written.metadata, written.status.allocatable
    reserved = meta.annotations.get(keys.NODE_RESERVATION) if meta.annotations else None
    ready = [one.status for one in written.status.conditions or () if one.type == "Ready"]
    has, none_of = _unreserved(allocatable, reserved) if reserved else pool.allocatable(allocatable)
    return objects.Node(
        name=intern(meta.name),
        allocatable=has,
        labels=pool.own_labels(meta.labels),  # its host name is among them
        taints=taints(written.spec.taints),
        unschedulable=bool(written.spec.unschedulable),
        ready=ready[:1] == ["True"],
        none_of=none_of,
        lost=pool.lost(allocatable, written.status.capacity),
    )


def _unreserved(written: Amounts | None, reserved: str) -> Allocatable:
    allocatable = amounts(written)
    _take_off(allocatable, reserved)
    has = resources(allocatable)
    return has, tuple(sorted(allocatable.keys() - dict(has)))


def _take_off(allocatable: dict[str, int], annotation: str) -> None:
    """Lower the allocatable by `node.koordinator.sh/reservation`; what is there for batch pods is lower already.

    Mirrors `TrimNodeAllocatableByNodeReservation` in pkg/util/node.go.
    """
    for resource, amount in kept_back(annotation).items():
        if resource in allocatable and not resource.startswith(_FOR_BATCH):
            allocatable[resource] = max(0, allocatable[resource] - amount)


class Overhead(Struct, gc=False, rename="camel"):
    """overhead of a RuntimeClass."""

    pod_fixed: Amounts | None = None


class Scheduling(Struct, gc=False, rename="camel"):
    """scheduling of a RuntimeClass: which nodes support it."""

    node_selector: dict[str, str] | None = None
    tolerations: list[Toleration] | None = None


class RuntimeClass(Struct, gc=False):
    """One RuntimeClass."""

    metadata: Meta
    overhead: Overhead | None = None
    scheduling: Scheduling = field(default_factory=Scheduling)


def readable(written: RuntimeClass) -> RuntimeClass:
    """Return the object, once all of its amounts were parsed. Raises QuantityError when an amount is no quantity."""
    if written.overhead is not None:
        amounts(written.overhead.pod_fixed)
    return written
