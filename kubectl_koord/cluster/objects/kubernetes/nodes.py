"""Nodes."""

from sys import intern

from msgspec import Raw, Struct, field

from kubectl_koord.cluster.objects.fields.amounts import Amounts, amounts, decoded, resources
from kubectl_koord.cluster.objects.fields.kept_back import KEPT_BACK, kept_back
from kubectl_koord.cluster.objects.fields.meta import NOTHING, Condition, Meta
from kubectl_koord.cluster.objects.fields.pool import Allocatable, SharedValues
from kubectl_koord.cluster.objects.fields.taints import Taint, taints
from kubectl_koord.model import objects

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


class ListedNodeStatus(Struct, gc=False, omit_defaults=True):
    """status of a Node in a list: what it has and what is allocatable, which many nodes have alike, as bytes."""

    allocatable: Raw = NOTHING
    capacity: Raw = NOTHING
    conditions: list[Condition] | None = None


class ListedNode(Struct, gc=False):
    """One Node in a list: the fields of `Node`."""

    metadata: Meta
    spec: NodeSpec = field(default_factory=NodeSpec)
    status: ListedNodeStatus = field(default_factory=ListedNodeStatus)


def node(written: Node | ListedNode, pool: SharedValues) -> objects.Node:
    """Return the node as the scheduler sees it, its own reservation taken off.

    Raises:
        QuantityError: when an amount is no quantity.
        msgspec.ValidationError: when what is allocatable of a listed one is something else.

    """
    meta, allocatable = written.metadata, written.status.allocatable
    reserved = meta.annotations.get(KEPT_BACK) if meta.annotations else None
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


def _unreserved(written: Amounts | Raw | None, reserved: str) -> Allocatable:
    allocatable = amounts(decoded(written) if isinstance(written, Raw) else written)
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
