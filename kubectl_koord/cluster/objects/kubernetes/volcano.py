"""Volcano's PodGroups and queues, of API group scheduling.volcano.sh."""

from msgspec import Struct, field

from kubectl_koord.cluster.objects.fields.meta import Condition, Int32, Meta, namespace, owner
from kubectl_koord.model.others import volcano


class VolcanoPodGroupSpec(Struct, gc=False, rename="camel"):
    """spec of a PodGroup."""

    min_member: Int32 | None = None
    queue: str | None = None
    priority_class_name: str | None = None


class VolcanoPodGroupStatus(Struct, gc=False):
    """status of a PodGroup."""

    phase: str | None = None
    running: Int32 | None = None
    succeeded: Int32 | None = None
    failed: Int32 | None = None
    conditions: list[Condition] | None = None


class VolcanoPodGroup(Struct, gc=False):
    """One PodGroup."""

    metadata: Meta
    spec: VolcanoPodGroupSpec = field(default_factory=VolcanoPodGroupSpec)
    status: VolcanoPodGroupStatus = field(default_factory=VolcanoPodGroupStatus)


class VolcanoQueueStatus(Struct, gc=False):
    """status of a Queue."""

    state: str | None = None


class VolcanoQueue(Struct, gc=False):
    """One Queue."""

    metadata: Meta
    status: VolcanoQueueStatus = field(default_factory=VolcanoQueueStatus)


def pod_group(written: VolcanoPodGroup) -> volcano.VolcanoGroup:
    """Return the PodGroup with what Volcano wrote about it."""
    meta, spec, status = written.metadata, written.spec, written.status
    return volcano.VolcanoGroup(
        namespace=namespace(meta),
        name=meta.name,
        queue=spec.queue or "default",
        min_member=spec.min_member or 0,
        priority_class=spec.priority_class_name or "",
        phase=status.phase or "",
        running=status.running or 0,
        succeeded=status.succeeded or 0,
        failed=status.failed or 0,
        conditions=tuple(map(_condition, status.conditions or ())),
        owner=owner(meta),
        created=meta.creation_timestamp or "",
    )


def _condition(one: Condition) -> volcano.VolcanoCondition:
    return volcano.VolcanoCondition(
        one.type, one.status, one.reason or "", one.message or "", one.last_transition_time or ""
    )


def queue_state(written: VolcanoQueue) -> str:
    """Return the state of a queue, empty where none is written yet."""
    return written.status.state or ""
