"""What helps a gang: ways out, and next steps of the same form."""

from msgspec import Struct

from kubectl_koord.reports.codes import ActionCode
from kubectl_koord.reports.disruption import BrokenGang, FreedPod
from kubectl_koord.reports.edits import Edit


class ReleasedReservation(Struct, frozen=True, rename="camel"):
    """A Reservation whose end a way out needs.

    owners: for whom it is. unused: what they have left of it, by resource. drawing: the running pods that draw on it
    and keep their places. waiting: the pending pods that may draw on it, and lose it. expires: RFC 3339.
    """

    reservation: str
    node: str
    owners: tuple[str, ...]
    unused: dict[str, str]
    expires: str | None
    drawing: tuple[str, ...]
    waiting: tuple[str, ...]


class WayOut(Struct, frozen=True, rename="camel"):
    """One proven way out: what to do in one sentence, the command to paste (may be empty), the change as data.

    `freed` are the running pods that it takes away, `broken_gangs` the gangs that fall below their minimum by it,
    `released` the Reservations.
    """

    action: ActionCode
    message: str
    command: str = ""
    edits: tuple[Edit, ...] = ()
    freed: tuple[FreedPod, ...] = ()
    broken_gangs: tuple[BrokenGang, ...] = ()
    released: tuple[ReleasedReservation, ...] = ()
