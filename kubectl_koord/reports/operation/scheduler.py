"""The answers of `scheduler`: what it remembers beside what the objects say, and what its log says of pods."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.reports.codes import DifferenceCode
from kubectl_koord.reports.common import Basis, Notice, Verdict

Part: TypeAlias = Literal["gangs", "gang", "node", "quotas", "devices", "numa", "reservations", "services"]
LogPart: TypeAlias = Literal["scores", "filters", "diagnosis"]


class Field(Struct, frozen=True, rename="camel"):
    """One thing as the scheduler has it and as it follows from the objects; `ours` is None where no object tells it."""

    field: str
    scheduler: str
    ours: str | None = None

    @property
    def agrees(self) -> bool:
        """Whether both are the same, as far as objects tell."""
        return self.ours in {None, self.scheduler}


class Difference(Struct, frozen=True, rename="camel"):
    """Why the scheduler has something else: a code and a sentence, which names what differs."""

    code: DifferenceCode
    message: str


class Compared(Struct, frozen=True, rename="camel"):
    """One gang, quota, node, device or Reservation."""

    name: str
    fields: tuple[Field, ...] = ()
    differences: tuple[Difference, ...] = ()


class SchedulerReport(Struct, frozen=True, rename="camel"):
    """What the scheduler answered, item by item beside ours.

    `asked` is the pod that answered, or the file that holds its answer. The verdict is no where something differs
    without a known reason, and unknown where objects could not be read: then nothing is compared, and `message` says
    what could not. `routes` are the paths that it serves, where these were asked for.
    """

    verdict: Verdict
    basis: Basis
    warnings: tuple[Notice, ...]
    part: Part
    asked: str
    items: tuple[Compared, ...]
    message: str = ""
    routes: tuple[str, ...] = ()


class Scored(Struct, frozen=True, rename="camel"):
    """A node that a pod could go to: its total, and what each plugin gave it."""

    node: str
    total: int
    plugins: Mapping[str, int]


class RefusedByPlugin(Struct, frozen=True, rename="camel"):
    """Nodes, or Reservations on them, that a plugin refused a pod, and why; `preempt` is whether victims may help.

    `count` is how many they are, of which a long diagnosis names only the first.
    """

    plugin: str
    reason: str
    nodes: tuple[str, ...]
    count: int
    preempt: bool | None = None


class LoggedPod(Struct, frozen=True, rename="camel"):
    """What a log says of one pod; of what it says again and again, the last.

    `feasible` is how many nodes it could go to, None where its log has no scores; `more` how many refusals were left
    out. `said` is what a diagnosis says of PreFilter and preemption, `root_cause` whether it was the pod that made its
    gang fail, `waiting` how many members waited in Permit.
    """

    pod: str
    at: str
    times: int
    feasible: int | None = None
    scores: tuple[Scored, ...] = ()
    refused: tuple[RefusedByPlugin, ...] = ()
    said: tuple[str, ...] = ()
    gang: str = ""
    root_cause: bool | None = None
    waiting: int = 0
    slots: Mapping[str, int] = {}
    more: int = 0


class SchedulerLogReport(Struct, frozen=True, rename="camel"):
    """What a log says of pods, those that it spoke of last first.

    `lines` were read, `broken` of those that should say something of this kind could not be; `left_out` counts how
    often a pod was dropped, beyond the most that are kept.
    """

    verdict: Verdict
    part: LogPart
    items: tuple[LoggedPod, ...]
    lines: int
    broken: int
    left_out: int = 0
    warnings: tuple[Notice, ...] = ()
