"""Events, PodDisruptionBudgets, runtimes, and other kinds with few fields."""

import re
from collections.abc import Mapping
from sys import intern
from typing import Any

from msgspec import Struct, field

from kubectl_koord.cluster.objects.fields import (
    Condition,
    Int32,
    LabelSelector,
    Meta,
    arguments_of,
    label_selector,
    mapping,
    mappings,
    names_of,
    namespace,
    owner,
)
from kubectl_koord.cluster.objects.pool import Amounts, every_amount
from kubectl_koord.model import installation, objects, pods


class BudgetSpec(Struct, gc=False):
    """spec of a PodDisruptionBudget."""

    selector: LabelSelector | None = None


class BudgetStatus(Struct, gc=False, rename="camel"):
    """status of a PodDisruptionBudget."""

    disruptions_allowed: Int32 = 0


class Budget(Struct, gc=False):
    """One PodDisruptionBudget."""

    metadata: Meta
    spec: BudgetSpec = field(default_factory=BudgetSpec)
    status: BudgetStatus = field(default_factory=BudgetStatus)


def budget(written: Budget) -> objects.Budget:
    """Return the PodDisruptionBudget."""
    return objects.Budget(
        namespace=namespace(written.metadata),
        name=written.metadata.name,
        selector=label_selector(written.spec.selector),
        allowed=written.status.disruptions_allowed,
    )


REASONS = ("Preempted", "FailedScheduling")
"""The events of pods that are read; a cluster has many others."""
OF_CONTROLLERS = "regarding.kind!=Pod,type=Warning"
"""The field selector of those about other objects, what controllers could not do among them."""
_NOT_MADE = re.compile("Failed(To)?Create.*")
"""What controllers say of pods that they could not make: FailedCreate, FailedCreatePod, FailedToCreateWorkerPod."""


class Reference(Struct, gc=False):
    """The object that an event is about, or that had to do with it."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class EventSeries(Struct, gc=False, rename="camel"):
    """series of an Event."""

    last_observed_time: str | None = None
    count: Int32 | None = None


class Event(Struct, gc=False, rename="camel"):
    """One Event, of `v1` (message, involvedObject) or of `events.k8s.io/v1` (note, regarding)."""

    metadata: Meta
    reason: str | None = None
    note: str | None = None
    message: str | None = None
    regarding: Reference | None = None
    involved_object: Reference | None = None
    related: Reference | None = None
    series: EventSeries | None = None
    event_time: str | None = None
    first_timestamp: str | None = None
    last_timestamp: str | None = None
    deprecated_first_timestamp: str | None = None
    deprecated_last_timestamp: str | None = None


def is_read(kind: str, reason: str) -> bool:
    """Tell whether events of this reason about objects of a kind are read."""
    return reason in REASONS if kind == "Pod" else bool(_NOT_MADE.fullmatch(reason))


def event(written: Event) -> pods.Event | None:
    """Return the event if it is one of those that are read, about a pod or what could not make one, else None.

    The newest time counts: that of the series, else the event's own; `v1` spells it otherwise.
    """
    regarding = written.regarding or written.involved_object
    if regarding is None or not written.reason or not is_read(regarding.kind, written.reason):
        return None
    first = (
        written.event_time
        or written.first_timestamp
        or written.deprecated_first_timestamp
        or written.metadata.creation_timestamp
    )
    last = (
        (written.series.last_observed_time if written.series else None)
        or written.last_timestamp
        or written.deprecated_last_timestamp
        or first
    )
    related = written.related
    is_pod = related is not None and related.kind == "Pod" and related.name
    return pods.Event(
        namespace=intern(regarding.namespace or namespace(written.metadata)),
        name=regarding.name,
        reason=written.reason,
        note=written.note or written.message or "",
        uid=regarding.uid,
        related=f"{related.namespace or 'default'}/{related.name}" if related is not None and is_pod else "",
        first_seen=first or "",
        last_seen=last or "",
        kind=intern(regarding.kind),
    )


_POINTS = ("preEnqueue", "queueSort", "preFilter", "postFilter", "reserve", "permit", "postBind")
_DEFAULTS = {"postFilter": ("DefaultPreemption",)}
"""Of the plugins that Kubernetes enables by itself, the one that matters here."""


class PriorityClass(Struct, gc=False, rename="camel"):
    """One PriorityClass."""

    metadata: Meta
    value: Int32 = 0
    global_default: bool | None = None
    preemption_policy: str | None = None


class ClientConfig(Struct, gc=False, rename="camel"):
    """How a webhook is called."""

    ca_bundle: str | None = None


class Hook(Struct, gc=False, rename="camel"):
    """webhooks[]."""

    name: str = ""
    client_config: ClientConfig = field(default_factory=ClientConfig)


class Webhooks(Struct, gc=False):
    """One MutatingWebhookConfiguration or ValidatingWebhookConfiguration."""

    metadata: Meta
    webhooks: list[Hook] | None = None


def priority_class(written: PriorityClass) -> installation.PriorityClass:
    """Return the PriorityClass."""
    return installation.PriorityClass(
        written.metadata.name, written.value, bool(written.global_default), written.preemption_policy or ""
    )


def mutating(written: Webhooks) -> installation.Webhooks:
    """Return the webhooks that change objects."""
    return _webhooks("MutatingWebhookConfiguration", written)


def validating(written: Webhooks) -> installation.Webhooks:
    """Return the webhooks that refuse objects."""
    return _webhooks("ValidatingWebhookConfiguration", written)


def _webhooks(kind: str, written: Webhooks) -> installation.Webhooks:
    unsigned = tuple(hook.name for hook in written.webhooks or () if not hook.client_config.ca_bundle)
    hooks = tuple(hook.name for hook in written.webhooks or ())
    return installation.Webhooks(kind, written.metadata.name, unsigned, hooks)


def profiles(parsed: Mapping[str, Any]) -> tuple[installation.Profile, ...]:
    """Return the profiles of a KubeSchedulerConfiguration."""
    return tuple(
        installation.Profile(
            str(one.get("schedulerName") or "default-scheduler"),
            tuple((point, _enabled(mapping(one.get("plugins")), point)) for point in _POINTS),
            tuple((str(name), _spelled(value)) for name, value in arguments_of(one, "Coscheduling").items()),
        )
        for one in mappings(parsed.get("profiles"))
    )


def _enabled(plugins: Mapping[str, Any], point: str) -> tuple[str, ...]:
    """Return what is enabled at a point, there or at all points (`multiPoint`), and not disabled."""
    here, everywhere = mapping(plugins.get(point)), mapping(plugins.get("multiPoint"))
    off = {*names_of(here.get("disabled"))}
    never = off | {*names_of(everywhere.get("disabled"))}
    usual = [name for name in _DEFAULTS.get(point, ()) if not never & {name, "*"}]
    wide = [name for name in names_of(everywhere.get("enabled")) if not off & {name, "*"} and _has(name, point)]
    return tuple(dict.fromkeys((*usual, *wide, *names_of(here.get("enabled")))))


def _has(name: str, point: str) -> bool:
    """Tell whether a plugin may run at a point: `multiPoint` skips those that it lacks, such as queueSort of most."""
    return point != "queueSort" or name == "PrioritySort"


def _spelled(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)


class Mpi(Struct, gc=False, rename="camel"):
    """spec.mlPolicy.mpi."""

    run_launcher_as_node: bool | None = None


class Policy(Struct, gc=False, rename="camel"):
    """spec.mlPolicy."""

    num_nodes: Int32 | None = None
    mpi: Mpi | None = None


class JobSetTemplate(Struct, gc=False):
    """spec.template: the spec of a JobSet."""

    spec: dict[str, Any] | None = None


class RuntimeSpec(Struct, gc=False, rename="camel"):
    """spec of a training runtime."""

    template: JobSetTemplate = field(default_factory=JobSetTemplate)
    ml_policy: Policy | None = None


class TrainingRuntime(Struct, gc=False):
    """One TrainingRuntime or ClusterTrainingRuntime."""

    metadata: Meta
    spec: RuntimeSpec = field(default_factory=RuntimeSpec)


class VolcanoPodGroupSpec(Struct, gc=False, rename="camel"):
    """spec of a PodGroup."""

    min_member: Int32 | None = None
    min_resources: Amounts | None = None
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


class VolcanoGuarantee(Struct, gc=False):
    """spec.guarantee of a Queue."""

    resource: Amounts | None = None


class VolcanoQueueSpec(Struct, gc=False):
    """spec of a Queue."""

    weight: Int32 | None = None
    parent: str | None = None
    capability: Amounts | None = None
    deserved: Amounts | None = None
    guarantee: VolcanoGuarantee | None = None
    reclaimable: bool | None = None


class VolcanoQueueStatus(Struct, gc=False):
    """status of a Queue."""

    state: str | None = None
    allocated: Amounts | None = None
    pending: Int32 | None = None
    inqueue: Int32 | None = None
    running: Int32 | None = None


class VolcanoQueue(Struct, gc=False):
    """One Queue."""

    metadata: Meta
    spec: VolcanoQueueSpec = field(default_factory=VolcanoQueueSpec)
    status: VolcanoQueueStatus = field(default_factory=VolcanoQueueStatus)


def pod_group(written: VolcanoPodGroup) -> installation.VolcanoGroup:
    """Return the PodGroup with what Volcano wrote about it."""
    meta, spec, status = written.metadata, written.spec, written.status
    return installation.VolcanoGroup(
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
        min_resources=every_amount(spec.min_resources),
    )


def _condition(one: Condition) -> installation.VolcanoCondition:
    return installation.VolcanoCondition(
        one.type, one.status, one.reason or "", one.message or "", one.last_transition_time or ""
    )


def volcano_queue(written: VolcanoQueue) -> installation.VolcanoQueue:
    """Return a queue: what it may have, and has."""
    spec, status = written.spec, written.status
    return installation.VolcanoQueue(
        state=status.state or "",
        parent=spec.parent or "",
        weight=spec.weight or 0,
        capability=every_amount(spec.capability),
        deserved=every_amount(spec.deserved),
        guarantee=every_amount(spec.guarantee.resource if spec.guarantee else None),
        allocated=every_amount(status.allocated),
        reclaimable=spec.reclaimable is not False,
        pending=status.pending or 0,
        inqueue=status.inqueue or 0,
        running=status.running or 0,
    )
