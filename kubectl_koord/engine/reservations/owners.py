"""Whose a reservation is, by its owners (reservation/util)."""

from collections.abc import Iterable

from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.reservations import OwnerController, OwnerObject, Reservation, ReservationOwner, by_label
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values.memo import Identity, memoised
from kubectl_koord.model.values.selectors import matches

_NONE: frozenset[str] = frozenset()


def is_owner(pod: PendingPod, owners: Iterable[ReservationOwner]) -> bool:
    """Tell whether any of a reservation's owners is the pod (`MatchReservationOwners`)."""
    return any(
        (owner.object is None or _is_object(pod, owner.object))
        and (owner.controller is None or _is_controlled(pod, owner.controller))
        and (owner.selector is None or matches(owner.selector, dict(pod.labels)))
        for owner in owners
    )


def owned(pod: PendingPod, reservations: tuple[Reservation, ...]) -> frozenset[str]:
    """Return the uids of those reservations that are for a pod by their owners, whatever else they ask."""
    in_reach = by_label(Identity(reservations)).in_reach(pod.labels) if reservations else ()
    return frozenset([one.uid for one in in_reach if is_owner(pod, one.owners)]) if in_reach else _NONE


@memoised
def one_of_each_owner(snapshot: Snapshot) -> tuple[Reservation, ...]:
    """Return one reservation for each way to own one, those too that are to be placed: they tell pods apart."""
    waiting = (pod.reserves for pod in snapshot.reserve_pods if pod.reserves is not None)
    every = (*snapshot.reservations, *waiting)
    return tuple({one.owners: one for one in reversed(every)}.values())


def _is_object(pod: PendingPod, wanted: OwnerObject) -> bool:
    return (
        not wanted.api_version
        and wanted.uid in {"", pod.uid}
        and wanted.name in {"", pod.name}
        and wanted.namespace in {"", pod.namespace}
    )


def _is_controlled(pod: PendingPod, wanted: OwnerController) -> bool:
    return wanted.namespace in {"", pod.namespace} and any(
        wanted.controller in {None, owner.controller}
        and wanted.uid in {"", owner.uid}
        and wanted.name in {"", owner.name}
        and wanted.kind in {"", owner.kind}
        and wanted.api_version in {"", owner.api_version}
        for owner in pod.owners
    )
