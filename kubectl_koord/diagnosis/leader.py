"""Whether a koord-scheduler leads, and since when, by its lease."""

from datetime import timedelta

from kubectl_koord.engine.gangs import GangGroup
from kubectl_koord.model.objects import Lease
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.wording.ages import between

_LEAST_SECONDS = 15  # kube-scheduler's own leaseDurationSeconds; it renews every 2 s
_SLACK = 5  # clocks of a cluster agree to a few seconds only


def expired_lease(snapshot: Snapshot) -> tuple[Lease, timedelta] | None:
    """Return a lease that its holder should have renewed and has not, and how long ago it was renewed last.

    None where a scheduler leads or nothing can be said: without a lease, without leader election, and of a lease
    whose times cannot be compared. A renewal in the future is a clock that is off.
    """
    if not snapshot.config.elects_leader:
        return None
    for lease in snapshot.leases or ():
        age = between(lease.renewed, lease.seen or snapshot.moment)
        if age is not None and age > timedelta(seconds=max(_LEAST_SECONDS, lease.seconds) + _SLACK):
            return lease, age
    return None


def has_bound(group: GangGroup, snapshot: Snapshot) -> bool:
    """Tell whether some member was bound while the present leader led: then it remembers that the group ran."""
    if not snapshot.config.elects_leader:
        return False
    starts = [lease.acquired for lease in snapshot.leases or ()]
    bound = [pod.scheduled for gang in group.members for pod in gang.running]
    ages = (between(start, moment) for start in starts for moment in bound)
    return any(age is not None and age > timedelta(seconds=_SLACK) for age in ages)
