"""Nodes."""

import json
from sys import intern
from typing import Any

from msgspec import Struct, field

from kubectl_koord.cluster.objects.fields.amounts import Amounts, amounts, resources
from kubectl_koord.cluster.objects.fields.meta import Condition, Meta
from kubectl_koord.cluster.objects.fields.pool import Pool
from kubectl_koord.model import objects, pods, quantity, selectors

_RESERVATION = "node.koordinator.sh/reservation"


class Taint(Struct, gc=False):
    """spec.taints[] of a Node."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(Struct, gc=False):
    """spec of a Node."""

    unschedulable: bool | None = None
    taints: list[Taint] | None = None


class NodeStatus(Struct, gc=False):
    """status of a Node."""

    allocatable: Amounts | None = None
    conditions: list[Condition] | None = None


class Node(Struct, gc=False):
    """One Node."""

    metadata: Meta
    spec: NodeSpec = field(default_factory=NodeSpec)
    status: NodeStatus = field(default_factory=NodeStatus)


def node(written: Node, pool: Pool) -> objects.Node:
    """Return the node as the scheduler sees it, its own reservation taken off.

    Raises:
        QuantityError: when an amount is no quantity.

    """
    meta = written.metadata
    annotations = meta.annotations or {}
    reserved = annotations.get(_RESERVATION)
    ready = next((c.status == "True" for c in written.status.conditions or () if c.type == "Ready"), False)
    return objects.Node(
        name=intern(meta.name),
        allocatable=_unreserved(written, reserved) if reserved else pool.allocatable(written.status.allocatable),
        labels=pool.labels(meta.labels),
        taints=tuple(selectors.Taint(t.key, t.value, t.effect) for t in written.spec.taints or ()),
        unschedulable=bool(written.spec.unschedulable),
        ready=ready,
    )


def _unreserved(written: Node, reserved: str) -> pods.Resources:
    allocatable = amounts(written.status.allocatable)
    _take_off(allocatable, reserved)
    return resources(allocatable)


def _take_off(allocatable: dict[str, int], annotation: str) -> None:
    """Lower the allocatable by `node.koordinator.sh/reservation` (pkg/util/transformer)."""
    try:
        reservation: Any = json.loads(annotation)
        if not isinstance(reservation, dict) or reservation.get("applyPolicy", "") not in {"", "Default"}:
            return
        reserved = amounts(reservation.get("resources"))
        cpus = _count_cpus(str(reservation.get("reservedCPUs") or ""))
    except (ValueError, AttributeError, RecursionError):
        return
    if cpus:
        reserved["cpu"] = cpus * quantity.NANO
    for resource, amount in reserved.items():
        if resource in allocatable:
            allocatable[resource] = max(0, allocatable[resource] - amount)


def _count_cpus(written: str) -> int:
    cpus: set[int] = set()
    for part in filter(None, written.split(",")):
        first, _, last = part.partition("-")
        low, high = int(first), int(last or first)
        if not 0 <= low <= high < 1 << 16:
            raise ValueError(written)
        cpus.update(range(low, high + 1))
    return len(cpus)
