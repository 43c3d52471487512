"""The answers of `diff`, `doctor` and `scheduler`."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.reports.common import Basis, DifferenceCode, DoctorCode, Notice, QuotaFindingCode, Verdict

NodeChange: TypeAlias = Literal[
    "came", "went", "cordoned", "uncordoned", "not-ready", "ready", "allocatable", "labels", "taints"
]
PodChange: TypeAlias = Literal["came", "went", "moved"]


class DomainDiff(Struct, frozen=True, rename="camel"):
    """One domain before and after; None where it was not there.

    `free` counts the report's resource; `slots` how many of the pods fit, None where none were asked for.
    """

    layer: str
    name: str
    free_before: int | None
    free_after: int | None
    slots_before: int | None = None
    slots_after: int | None = None


class NodeDiff(Struct, frozen=True, rename="camel"):
    """One node that has changed: how, and by how much its slots or else what is free of it."""

    node: str
    changes: tuple[NodeChange, ...]
    difference: int


class PodDiff(Struct, frozen=True, rename="camel"):
    """One pod that takes room elsewhere now: on which node before and after, and what it requests of the resource."""

    pod: str
    change: PodChange
    node_before: str | None
    node_after: str | None
    amount: int
    gang: str = ""
    owner: str = ""


class DiffReport(Struct, frozen=True, rename="camel"):
    """What is different in a later cluster, the largest differences first.

    The verdict is unknown where what could not be read leaves open what differs, else yes. `before` is what the earlier
    reading rests on. `asked` names the gang or the pods of a shape that slots were counted for, empty for none;
    `pods` is how many of a gang's are pending.
    """

    verdict: Verdict
    basis: Basis
    warnings: tuple[Notice, ...]
    before: Basis
    resource: str
    asked: str
    pods: int
    domains: tuple[DomainDiff, ...]
    nodes: tuple[NodeDiff, ...]
    placed: tuple[PodDiff, ...]
    message: str = ""


Severity: TypeAlias = Literal["error", "warning", "info"]
"""Whether something cannot work, does not do what was meant, or is only to be known."""


class Finding(Struct, frozen=True, rename="camel"):
    """Something that was found: its evidence is in the message, what to do about it in the remedy.

    `command` does it or shows more, and may be empty; a word of it in capitals is to be replaced.
    `object` is the kind and name of what it is about; where those are several, `objects` has all of them.
    """

    code: DoctorCode | QuotaFindingCode
    severity: Severity
    object: str
    message: str
    remedy: str
    objects: tuple[str, ...] = ()
    command: str = ""


class DoctorReport(Struct, frozen=True, rename="camel"):
    """All findings, errors first. The verdict is no with any error, unknown where else something may not be read."""

    verdict: Verdict
    basis: Basis
    warnings: tuple[Notice, ...]
    findings: tuple[Finding, ...]
    nodes: int = 0
    gangs: int = 0


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
