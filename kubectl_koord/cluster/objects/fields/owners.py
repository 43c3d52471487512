"""For whom reservations hold their room."""

from collections.abc import Iterable
from typing import Any

from msgspec import Struct, structs

from kubectl_koord.cluster.objects.fields.meta import Meta
from kubectl_koord.cluster.objects.fields.selectors import LabelSelector, label_selector
from kubectl_koord.model import reservations


class OwnerObject(Struct, gc=False, rename="camel"):
    """owners[].object."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    api_version: str = ""


class OwnerController(Struct, gc=False, rename="camel"):
    """owners[].controller."""

    kind: str = ""
    name: str = ""
    namespace: str = ""
    uid: str = ""
    api_version: str = ""
    controller: bool | None = None


class ReservationOwner(Struct, gc=False, rename="camel"):
    """owners[]."""

    object: OwnerObject | None = None
    controller: OwnerController | None = None
    label_selector: LabelSelector | None = None


def owners(written: Iterable[ReservationOwner]) -> tuple[reservations.ReservationOwner, ...]:
    """Return the owners as values."""
    return tuple(
        reservations.ReservationOwner(
            object=None if one.object is None else _fields(one.object, reservations.OwnerObject),
            controller=None if one.controller is None else _fields(one.controller, reservations.OwnerController),
            selector=label_selector(one.label_selector),
        )
        for one in written
    )


def _fields(written: Struct, wanted: Any) -> Any:  # noqa: ANN401
    return wanted(**structs.asdict(written))


def references(meta: Meta) -> tuple[reservations.OwnerReference, ...]:
    """Return the ownerReferences of an object as values."""
    return tuple(
        reservations.OwnerReference(one.kind, one.name, one.uid, one.api_version, one.controller)
        for one in meta.owner_references or ()
    )
