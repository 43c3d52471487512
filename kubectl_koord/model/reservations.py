"""Reservations: what they hold, for whom, and on which terms; and what pods say about using them."""

from collections.abc import Collection
from functools import lru_cache
from typing import Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.model import keys
from kubectl_koord.model.values import (
    EVERYTHING,
    BySelector,
    Identity,
    Labels,
    Requirement,
    Resources,
    Selector,
    Taint,
    Toleration,
)

_MOST_LISTS = 16
AllocatePolicy: TypeAlias = Literal["Default", "Aligned", "Restricted"]

OPERATING_MODE = keys.OPERATING_MODE
"""The label of a pod that is a reservation itself, once it runs: with the value `Reservation`."""


class OwnerReference(Struct, frozen=True, gc=False):
    """One of an object's ownerReferences."""

    kind: str
    name: str
    uid: str = ""
    api_version: str = ""
    controller: bool | None = None


class OwnerObject(Struct, frozen=True, gc=False):
    """A pod by name, namespace or uid; what is empty matches every pod.

    With an `api_version` it matches none: the pods that the scheduler compares do not tell theirs.
    """

    name: str = ""
    namespace: str = ""
    uid: str = ""
    api_version: str = ""


class OwnerController(Struct, frozen=True, gc=False):
    """An owner of pods, in a namespace; what is empty matches everything."""

    kind: str = ""
    name: str = ""
    namespace: str = ""
    uid: str = ""
    api_version: str = ""
    controller: bool | None = None


class ReservationOwner(Struct, frozen=True, gc=False):
    """One entry of a Reservation's owners: all that is set must match; nothing at all matches every pod."""

    object: OwnerObject | None = None
    controller: OwnerController | None = None
    selector: Selector | None = None


class Reservation(Struct, frozen=True, gc=False):
    """One Reservation that holds room on a node and may be drawn on.

    `size` is what it holds, of which `kept_back` is for nobody; `resources` are those that its owners draw from
    it. A pod that is itself a reservation (operating mode) is one, too: `is_pod`. `order` is the lowest first, 0
    for none. `expires` is when it ends by itself, RFC 3339; empty for never, or where that is not known.
    One that `pre_allocates` may be placed over running pods, which become its owners.
    """

    uid: str
    name: str
    node: str
    size: Resources = ()
    owners: tuple[ReservationOwner, ...] = ()
    policy: AllocatePolicy = "Default"
    once: bool = True
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    labels: Labels = ()
    kept_back: Resources = ()
    resources: tuple[str, ...] = ()
    order: int = 0
    is_pod: bool = False
    expires: str = ""
    terminating: bool = False
    pre_allocates: bool = False


class ReservationTerm(Struct, frozen=True, gc=False):
    """One term of a required reservation affinity: expressions on labels, and on the reservation's name."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()


class ReservationAffinity(Struct, frozen=True, gc=False):
    """What a pod requires of a reservation, as it must use one.

    By `name` nothing else counts. `terms` None requires nothing; of none at all no reservation matches.
    """

    name: str = ""
    selector: Labels = ()
    terms: tuple[ReservationTerm, ...] | None = None
    tolerations: tuple[Toleration, ...] = ()


class ReservationUse(Struct, frozen=True, gc=False):
    """What a pod says about reservations.

    With an `affinity` it must use one; one that `ignores` them takes all reserved room as free; `exact` names the
    resources of which it asks for just as much as the reservation holds. `unreadable` is the annotation, if any, that
    is neither.
    """

    affinity: ReservationAffinity | None = None
    ignores: bool = False
    exact: tuple[str, ...] = ()
    unreadable: str = ""


class ReservedMember(Struct, frozen=True, gc=False):
    """A Reservation on a node that the scheduler counts as a bound member of a gang, whatever has become of it since.

    `gang` is the gang's id, `name` the Reservation's.
    """

    gang: str
    name: str


class ByLabel:
    """Reservations by a label of the pods that they are for, so that few are asked whether they are for a pod."""

    def __init__(self, reservations: tuple[Reservation, ...]) -> None:
        self._every = reservations
        owners = ((owner, position) for position, one in enumerate(reservations) for owner in one.owners)
        self._positions = BySelector((owner.selector or EVERYTHING, position) for owner, position in owners)

    def in_reach(self, labels: Labels) -> Collection[Reservation]:
        """Return those that may be for a pod with these labels, in their order; none of the others is."""
        positions = self._positions.in_reach(labels)
        return [self._every[position] for position in sorted({*positions})] if positions else ()


@lru_cache(_MOST_LISTS)
def by_label(reservations: Identity[tuple[Reservation, ...]]) -> ByLabel:
    """Return reservations by label, those of the same list once."""
    return ByLabel(reservations.value)
