"""Volcano's PodGroups and queues: what its scheduler wrote, of which nothing is computed here."""

from collections.abc import Mapping

from msgspec import Struct


class VolcanoCondition(Struct, frozen=True, gc=False):
    """One of a PodGroup's conditions, as written."""

    type: str
    status: str = ""
    reason: str = ""
    message: str = ""
    since: str = ""


class VolcanoGroup(Struct, frozen=True):
    """One PodGroup of Volcano; the numbers are those of its status, `owner` is `Kind/name`."""

    namespace: str
    name: str
    queue: str = "default"
    min_member: int = 0
    priority_class: str = ""
    phase: str = ""
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    conditions: tuple[VolcanoCondition, ...] = ()
    owner: str = ""
    created: str = ""

    @property
    def key(self) -> str:
        """The name as reports print it: `namespace/name`."""
        return f"{self.namespace}/{self.name}"


class Volcano(Struct, frozen=True):
    """What was read of Volcano: PodGroups by `namespace/name`, and the state of each queue, empty where none is told.

    `policies` holds the preemptionPolicy of PriorityClasses by name, as far as those were read.
    """

    groups: Mapping[str, VolcanoGroup] = {}
    queues: Mapping[str, str] = {}
    policies: Mapping[str, str] = {}
