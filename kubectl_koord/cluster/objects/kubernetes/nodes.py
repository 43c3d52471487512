"""Nodes."""

from sys import intern

from msgspec import Struct, field

from kubectl_koord.cluster.objects.fields.amounts import Amounts, amounts, resources
from kubectl_koord.cluster.objects.fields.kept_back import KEPT_BACK, kept_back
from kubectl_koord.cluster.objects.fields.meta import Condition, Meta
from kubectl_koord.cluster.objects.fields.pool import SharedValues
from kubectl_koord.cluster.objects.fields.taints import Taint, taints
from kubectl_koord.model import objects, pods

_FOR_BATCH = "kubernetes.io/batch-"


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


def node(written: Node, pool: SharedValues) -> objects.Node:
    """Return the node as the scheduler sees it, its own reservation taken off.

    Raises:
        QuantityError: when an amount is no quantity.

    """
    meta = written.metadata
    annotations = meta.annotations or {}
    reserved = annotations.get(KEPT_BACK)
    ready = next((c.status == "True" for c in written.status.conditions or () if c.type == "Ready"), False)
    return objects.Node(
        name=intern(meta.name),
        allocatable=_unreserved(written, reserved) if reserved else pool.allocatable(written.status.allocatable),
        labels=pool.labels(meta.labels),
        taints=taints(written.spec.taints),
        unschedulable=bool(written.spec.unschedulable),
        ready=ready,
    )


def _unreserved(written: Node, reserved: str) -> pods.Resources:
    allocatable = amounts(written.status.allocatable)
    _take_off(allocatable, reserved)
    return resources(allocatable)


def _take_off(allocatable: dict[str, int], annotation: str) -> None:
    """Lower the allocatable by `node.koordinator.sh/reservation`; what is there for batch pods is lower already.

    Mirrors `TrimNodeAllocatableByNodeReservation` in pkg/util/node.go.
    """
    for resource, amount in kept_back(annotation).items():
        if resource in allocatable and not resource.startswith(_FOR_BATCH):
            allocatable[resource] = max(0, allocatable[resource] - amount)
