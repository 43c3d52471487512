"""Reservations, and which of them a pod was allocated from."""

from collections.abc import Mapping

from msgspec import Struct, field

from kubectl_koord.cluster.objects.fields import pod_devices
from kubectl_koord.cluster.objects.fields.allocated import reservation_name
from kubectl_koord.cluster.objects.fields.amounts import Amounts, amounts, resources
from kubectl_koord.cluster.objects.fields.meta import Meta
from kubectl_koord.cluster.objects.fields.selectors import LabelSelector, label_selector
from kubectl_koord.model import objects, pods
from kubectl_koord.model.allocations import Allocations


class OwnerObject(Struct, gc=False):
    """spec.owners[].object of a Reservation."""

    name: str = ""
    namespace: str = ""


class OwnerController(Struct, gc=False):
    """spec.owners[].controller of a Reservation."""

    kind: str = ""
    name: str = ""
    namespace: str = ""


class ReservationOwner(Struct, gc=False, rename="camel"):
    """spec.owners[] of a Reservation."""

    object: OwnerObject | None = None
    controller: OwnerController | None = None
    label_selector: LabelSelector | None = None


class ReservationSpec(Struct, gc=False):
    """spec of a Reservation."""

    owners: list[ReservationOwner] | None = None


class ReservationStatus(Struct, gc=False, rename="camel"):
    """status of a Reservation."""

    phase: str | None = None
    node_name: str | None = None
    allocatable: Amounts | None = None


class Reservation(Struct, gc=False):
    """One Reservation."""

    metadata: Meta
    spec: ReservationSpec = field(default_factory=ReservationSpec)
    status: ReservationStatus = field(default_factory=ReservationStatus)


def readable(written: Reservation) -> Reservation:
    """Return the same object.

    Raises:
        QuantityError: when what it reserves is no quantity.

    """
    reserved_room(written, {})
    return written


def reservation(written: Reservation) -> objects.Reservation | None:
    """Return the Reservation if it holds room on a node now, else None."""
    status = written.status
    if status.phase != "Available" or not status.node_name:
        return None
    owners = tuple(
        objects.ReservationOwner(
            namespace=(owner.object.namespace if owner.object else "")
            or (owner.controller.namespace if owner.controller else ""),
            name=owner.object.name if owner.object else "",
            controller=f"{owner.controller.kind}/{owner.controller.name}" if owner.controller else "",
            selector=label_selector(owner.label_selector),
        )
        for owner in written.spec.owners or ()
    )
    return objects.Reservation(written.metadata.name, status.node_name, owners)


def reserved_room(written: Reservation, allocated: Mapping[str, int]) -> pods.ReservedRoom:
    """Return what is left of a Reservation.

    `allocated` are its owners' requests. Mirrors plugins/reservation/transformer.go.
    """
    allocatable = dict(resources(amounts(written.status.allocatable)))
    left = ((resource, amount - allocated.get(resource, 0)) for resource, amount in sorted(allocatable.items()))
    requests = tuple((resource, amount) for resource, amount in left if amount)
    meta = written.metadata
    return pods.ReservedRoom(
        meta.name,
        written.status.node_name or "",
        pods.PodRequirements(requests=requests),
        allocations=Allocations(devices=pod_devices.allocated(meta.annotations), reservation=meta.uid or ""),
    )


def reservation_of(meta: Meta) -> str:
    """Return the name of the Reservation that the pod was allocated from, empty for none."""
    return reservation_name(meta.annotations)
