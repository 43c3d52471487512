"""PodMigrationJobs: pods that koord-descheduler moves to another node."""

from msgspec import Struct

_ACTIVE = {"", "Pending", "Running"}


class MigrationJob(Struct, frozen=True, gc=False):
    """One PodMigrationJob, which moves one pod: `pod` is its `namespace/name`.

    `mode`, `phase`, `status`, `reason` and `message` are as written; without a mode a Reservation comes first.
    `reservation` is the name of the Reservation for the pod that is to replace it, `replacement` that pod
    (`namespace/name`), each empty where the job names none.
    """

    name: str
    pod: str
    uid: str = ""
    mode: str = "ReservationFirst"
    paused: bool = False
    phase: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    reservation: str = ""
    replacement: str = ""

    @property
    def is_active(self) -> bool:
        """Whether it is not over: neither Succeeded, Failed nor Aborted."""
        return self.phase in _ACTIVE
