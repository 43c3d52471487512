"""What helps a gang: ways out, and next steps of the same form."""

from msgspec import Struct

from kubectl_koord.reports.codes import ActionCode
from kubectl_koord.reports.disruption import BrokenGang, FreedPod
from kubectl_koord.reports.edits import Edit


class WayOut(Struct, frozen=True, rename="camel"):
    """One proven way out: what to do in one sentence, the command to paste (may be empty), the change as data.

    `freed` are the running pods that it takes away, `broken_gangs` the gangs that fall below their minimum by it.
    """

    action: ActionCode
    message: str
    command: str = ""
    edits: tuple[Edit, ...] = ()
    freed: tuple[FreedPod, ...] = ()
    broken_gangs: tuple[BrokenGang, ...] = ()
