"""Pods that the scheduler counts on a node or device, beside those that the objects put there."""

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet

from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values import quantity
from kubectl_koord.reports.operation.scheduler import Difference, Field
from kubectl_koord.wording.answers import scheduler_view as sentences


def of_reservations(snapshot: Snapshot) -> frozenset[str]:
    """Return the names of the pods that stand for Reservations in the scheduler's memory: their uids."""
    placed = (one.uid for one in snapshot.reservations)
    return frozenset((*placed, *(pod.reserves.uid for pod in snapshot.reserve_pods if pod.reserves is not None)))


def without_reservations(pods: Iterable[str], snapshot: Snapshot) -> frozenset[str]:
    """Return the pods but those that stand for Reservations."""
    uids = of_reservations(snapshot)
    return frozenset(pod for pod in pods if pod.partition("/")[2] not in uids)


def differences(
    theirs: AbstractSet[str], ours: AbstractSet[str], snapshot: Snapshot, *, books: bool = False
) -> Iterator[Difference]:
    """Yield why the scheduler counts other pods; `books` are those of CPUs, which it may have lost."""
    unbound = {pod.key for pod in snapshot.pending}
    more = theirs - ours
    if assumed := more & unbound:
        yield Difference("assumed-pods", sentences.assumed_pods(assumed))
    if gone := more - unbound - {pod.key for pods in snapshot.running.values() for pod in pods}:
        yield Difference("deleted-pods-linger", sentences.deleted_pods_linger(gone))
    if lost := ours - theirs:
        yield Difference(
            "books-lost" if books else "pods-not-known",
            sentences.books_lost(lost) if books else sentences.pods_not_known(lost),
        )


def amounts_field(name: str, theirs: Iterable[tuple[str, int]], ours: Iterable[tuple[str, int]] | None) -> Field:
    """Return amounts beside each other, zeros left out."""
    return Field(name, _spelled(theirs), None if ours is None else _spelled(ours))


def pods_field(theirs: Iterable[str], ours: Iterable[str]) -> Field:
    """Return pods beside each other."""
    return Field("pods", ", ".join(sorted(theirs)), ", ".join(sorted(ours)))


def _spelled(amounts: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{name}={quantity.spell(name, number)}" for name, number in sorted(amounts) if number)
