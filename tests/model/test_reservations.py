"""Reservations as values."""

from msgspec import structs

from kubectl_koord.model.reservations import Reservation, ReservationOwner, by_label
from kubectl_koord.model.values import Identity, Requirement, Selector


def test_only_those_are_in_reach_that_may_be_for_a_pod_with_such_labels() -> None:
    listing = Selector((Requirement("tier", "Exists"), Requirement("app", "In", ("web", "shop"))))
    owners = {
        "web or shop": (ReservationOwner(selector=listing),),
        "any tier": (ReservationOwner(selector=Selector((Requirement("tier", "Exists"),))),),
        "everybody": (ReservationOwner(),),
        "nobody": (),
    }
    every = tuple(_reservation(name, some) for name, some in owners.items())
    known = by_label(Identity(every))
    assert [one.uid for one in known.in_reach((("app", "shop"),))] == ["web or shop", "any tier", "everybody"]
    assert [one.uid for one in known.in_reach((("app", "db"),))] == ["any tier", "everybody"]
    assert by_label(Identity(every)) is known


def _reservation(uid: str, owners: tuple[ReservationOwner, ...]) -> Reservation:
    return structs.replace(Reservation(uid, uid, "n1"), owners=owners)
