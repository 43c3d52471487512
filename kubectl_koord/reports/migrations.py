"""What moves pods elsewhere, or holds room for them: PodMigrationJobs and Reservations."""

from msgspec import Struct

from kubectl_koord.reports.common import DomainName


class Migration(Struct, frozen=True, rename="camel"):
    """A PodMigrationJob that is not over.

    `pod` is the one that it moves away, which is on `node` as long as it is there; `gang` is its gang. `reservation`
    is for the pod that is to replace it, and holds room on node `to`; `replacement` is that pod. `breaks` tells whether
    the gang falls below its minimum when all of its pods that are being moved are evicted. `leaves` is the domain in
    which the gang must stay together, where node `to` is outside it.
    """

    job: str
    pod: str
    phase: str
    mode: str
    paused: bool
    status: str
    reason: str
    message: str
    node: str | None = None
    gang: str | None = None
    reservation: str | None = None
    to: str | None = None
    replacement: str | None = None
    breaks: bool = False
    leaves: DomainName | None = None


class GangReservation(Struct, frozen=True, rename="camel"):
    """A Reservation that concerns a gang, or a pod without one.

    `node` is where it holds room, None for one that is still to be placed. `drawing` are the pods that draw on it,
    `may_draw` how many pending ones may. `is_member` tells that it counts as a pod of the gang, `job` names the
    PodMigrationJob that it was made for.
    """

    reservation: str
    node: str | None
    drawing: tuple[str, ...] = ()
    may_draw: int = 0
    is_member: bool = False
    job: str | None = None
    expires: str | None = None
