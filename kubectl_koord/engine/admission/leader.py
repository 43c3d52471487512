"""Whether a koord-scheduler leads, and since when, by its lease.

Mirrors `tryAcquireOrRenew` in client-go's tools/leaderelection/leaderelection.go: others take the lease over when its
duration has passed without a renewal.
"""

from datetime import timedelta
from typing import ClassVar, Literal

from msgspec import Struct

from kubectl_koord.engine.gangs import GangGroup
from kubectl_koord.model.objects import Lease
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values.moments import between

_LEAST_SECONDS = 15  # kube-scheduler's own leaseDurationSeconds; it renews every 2 s
_SLACK = 5  # clocks of a cluster agree to a few seconds only


class NoLeader(Struct, frozen=True):
    """No scheduler renews the lease: its name, its holder (empty where it was given up), and the last renewal's age."""

    lease: str
    holder: str
    age: timedelta
    code: ClassVar[Literal["no-scheduler"]] = "no-scheduler"


class NoReplica(Struct, frozen=True):
    """The scheduler's Deployment has no pod that is available, of so many that are wanted, and no lease says more."""

    deployment: str
    wanted: int
    code: ClassVar[Literal["no-scheduler"]] = "no-scheduler"


def no_leader(snapshot: Snapshot) -> NoLeader | NoReplica | None:
    """Return what shows that no scheduler is active; None where one is or nothing can be said.

    A lease tells it, or else the Deployment. Nothing can be said where the lease could not be read, nor of one
    whose times cannot be compared. A renewal in the future is a clock that is off.
    """
    elects = snapshot.config.elects_leader
    if elects and snapshot.leases:
        return next(filter(None, (_overdue(lease, snapshot.moment) for lease in snapshot.leases)), None)
    own = snapshot.config.deployment
    if own is None or not own.is_down or (elects and not snapshot.sees("Lease")):
        return None
    return NoReplica(own.name, own.wanted)


def _overdue(lease: Lease, moment: str) -> NoLeader | None:
    age = between(lease.renewed, lease.seen or moment)
    if age is None or age <= timedelta(seconds=max(_LEAST_SECONDS, lease.seconds) + _SLACK):
        return None
    return NoLeader(lease.name, lease.holder, age)


def has_bound(group: GangGroup, snapshot: Snapshot) -> bool:
    """Tell whether some member was bound while the present leader led: then it remembers that the group ran."""
    if not snapshot.config.elects_leader:
        return False
    starts = [lease.acquired for lease in snapshot.leases or ()]
    bound = [pod.scheduled for gang in group.members for pod in gang.running]
    ages = (between(start, moment) for start in starts for moment in bound)
    return any(age is not None and age > timedelta(seconds=_SLACK) for age in ages)
