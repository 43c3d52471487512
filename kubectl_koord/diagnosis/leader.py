"""Whether a koord-scheduler leads, and since when: what its lease tells."""

from datetime import timedelta

from kubectl_koord.engine.gangs import GangGroup
from kubectl_koord.model.objects import Lease
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.wording.ages import between, spelled

_LEAST_SECONDS = 15  # kube-scheduler's own leaseDurationSeconds; it renews every 2 s
_SLACK = 5  # clocks of a cluster agree to a few seconds only


def no_leader(snapshot: Snapshot) -> str:
    """Return in one sentence that no scheduler leads; empty where one does or nothing can be said.

    Nothing can be said without a lease, without leader election, and of a lease whose times cannot be
    compared. A renewal in the future is a clock that is off, and no silence.
    """
    if not snapshot.config.elects_leader:
        return ""
    return next(filter(None, (_silence(lease, snapshot.moment) for lease in snapshot.leases or ())), "")


def _silence(lease: Lease, moment: str) -> str:
    age = between(lease.renewed, lease.seen or moment)
    if age is None or age <= timedelta(seconds=max(_LEAST_SECONDS, lease.seconds) + _SLACK):
        return ""
    held = f"held by {lease.holder}" if lease.holder else "no holder"
    return (
        f"koord-scheduler is not active: lease {lease.name} ({held}) was last renewed {spelled(age)} ago;"
        " an active scheduler renews it every few seconds."
    )


def has_bound(group: GangGroup, snapshot: Snapshot) -> bool:
    """Tell whether some member was bound while the present leader led: then it remembers that the group ran."""
    if not snapshot.config.elects_leader:
        return False
    starts = [lease.acquired for lease in snapshot.leases or ()]
    bound = [pod.scheduled for gang in group.members for pod in gang.running]
    ages = (between(start, moment) for start in starts for moment in bound)
    return any(age is not None and age > timedelta(seconds=_SLACK) for age in ages)
