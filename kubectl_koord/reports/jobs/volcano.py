"""Gangs of Volcano, as its scheduler wrote about them: no decision is computed for them."""

from msgspec import Struct


class VolcanoCondition(Struct, frozen=True, rename="camel"):
    """One of a PodGroup's conditions, as Volcano wrote it."""

    type: str
    status: str
    reason: str
    message: str
    since: str


class VolcanoGang(Struct, frozen=True, rename="camel"):
    """A PodGroup of API group scheduling.volcano.sh, with what its scheduler wrote.

    `running`, `succeeded` and `failed` are the numbers of its status. `queue_state` is None where the queue was not
    read or does not exist, which `queue_exists` tells where it is known. `preemption_policy` is that of its
    PriorityClass, None where that was not read. `never_preempting` are those of its `pending` pods whose own
    preemptionPolicy is Never.
    """

    gang: str
    phase: str
    queue: str
    queue_state: str | None
    queue_exists: bool | None
    min_member: int
    pending: tuple[str, ...]
    running: int
    succeeded: int
    failed: int
    priority_class: str
    preemption_policy: str | None
    never_preempting: tuple[str, ...]
    conditions: tuple[VolcanoCondition, ...]
    owner: str | None = None
    created: str = ""

    @property
    def is_waiting(self) -> bool:
        """Whether it is still to run, or pods of it are pending."""
        return bool(self.pending) or self.phase in {"", "Pending", "Inqueue", "Unknown"}
