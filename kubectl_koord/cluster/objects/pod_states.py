"""What became of a pod once it had a node, and what was reported about it: container states and events."""

from msgspec import Struct, field

from kubectl_koord.cluster.objects import pod_wire
from kubectl_koord.cluster.objects.events import Event
from kubectl_koord.cluster.objects.fields import Condition, Int32, Meta, namespace, owner, strings
from kubectl_koord.cluster.objects.pod_wire import ClaimSource, Gate
from kubectl_koord.model import jobs


class Waiting(Struct, gc=False):
    """state.waiting."""

    reason: str | None = None
    message: str | None = None


class Running(Struct, gc=False, rename="camel"):
    """state.running."""

    started_at: str | None = None


class Terminated(Struct, gc=False, rename="camel"):
    """state.terminated."""

    reason: str | None = None
    message: str | None = None
    exit_code: Int32 | None = None
    finished_at: str | None = None


class State(Struct, gc=False):
    """state and lastState of a container."""

    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


class Status(Struct, gc=False, rename="camel"):
    """status.containerStatuses[] and initContainerStatuses[]."""

    name: str = ""
    image: str | None = None
    state: State | None = None
    last_state: State | None = None
    ready: bool | None = None
    restart_count: Int32 | None = None


class PodStatus(Struct, gc=False, rename="camel"):
    """status of a Pod."""

    phase: str | None = None
    reason: str | None = None
    message: str | None = None
    conditions: list[Condition] | None = None
    container_statuses: list[Status] | None = None
    init_container_statuses: list[Status] | None = None


class ReadinessGate(Struct, gc=False, rename="camel"):
    """spec.readinessGates[]."""

    condition_type: str = ""


class Container(Struct, gc=False):
    """spec.containers[] and initContainers[]."""

    name: str = ""
    image: str | None = None


class Volume(Struct, gc=False, rename="camel"):
    """spec.volumes[]."""

    name: str = ""
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: dict[str, object] | None = None


class PodSpec(Struct, gc=False, rename="camel"):
    """spec of a Pod."""

    node_name: str | None = None
    scheduler_name: str | None = None
    scheduling_gates: list[Gate] | None = None
    readiness_gates: list[ReadinessGate] | None = None
    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    volumes: list[Volume] | None = None


class StatedPod(Struct, gc=False):
    """One Pod."""

    metadata: Meta
    spec: PodSpec = field(default_factory=PodSpec)
    status: PodStatus = field(default_factory=PodStatus)


class RecordedContainer(pod_wire.Container, gc=False, omit_defaults=True, rename="camel"):
    """spec.containers[] and initContainers[] of a pod that a snapshot holds."""

    name: str = ""
    image: str | None = None


class RecordedSpec(pod_wire.PodSpec, gc=False, omit_defaults=True, rename="camel"):
    """spec of a pod that a snapshot holds."""

    containers: list[RecordedContainer] | None = None  # type: ignore[assignment]
    init_containers: list[RecordedContainer] | None = None  # type: ignore[assignment]
    readiness_gates: list[ReadinessGate] | None = None


class RecordedStatus(pod_wire.PodStatus, gc=False, rename="camel"):
    """status of a pod that a snapshot holds."""

    reason: str | None = None
    message: str | None = None
    container_statuses: list[Status] | None = None
    init_container_statuses: list[Status] | None = None


class RecordedPod(pod_wire.Pod, gc=False):
    """One Pod with all that is read of it: for the scheduler, and of what became of it once it had a node."""

    spec: RecordedSpec = field(default_factory=RecordedSpec)
    status: RecordedStatus = field(default_factory=RecordedStatus)


class ReportedEvent(Event, gc=False, rename="camel"):
    """One Event, with how often it came and how bad it is."""

    type: str | None = None
    count: Int32 | None = None
    deprecated_count: Int32 | None = None


_TOLD = ("Pending", "Succeeded", "Failed")
"""Phases in which a pod need not have a status for its containers: of one that runs the kubelet writes some."""


def pod_state(written: StatedPod) -> jobs.PodState:
    """Return what became of a pod; one that a person wrote down with a node, and no more, runs."""
    meta, spec, status = written.metadata, written.spec, written.status
    told = {one.type: one for one in status.conditions or ()}
    scheduled, ready = told.get("PodScheduled"), told.get("Ready")
    gates = [one.condition_type for one in spec.readiness_gates or ()]
    is_told = bool(status.container_statuses or status.init_container_statuses) or status.phase in _TOLD
    is_ready = ready.status == "True" if ready else bool(spec.node_name and not is_told)
    return jobs.PodState(
        key=f"{namespace(meta)}/{meta.name}",
        uid=meta.uid or "",
        owner=owner(meta),
        phase=status.phase or ("Running" if spec.node_name else ""),
        node=spec.node_name or "",
        created=meta.creation_timestamp or "",
        scheduled=scheduled.last_transition_time or "" if scheduled and scheduled.status == "True" else "",
        scheduler=spec.scheduler_name or "",
        deleting=meta.deletion_timestamp is not None,
        reason=status.reason or "",
        message=status.message or "",
        ready=is_ready,
        ready_since=ready.last_transition_time or "" if ready else "",
        ready_reason=ready.reason or "" if ready and not is_ready else "",
        ready_message=ready.message or "" if ready and not is_ready else "",
        gates=tuple(one.name for one in spec.scheduling_gates or ()),
        unready_gates=tuple(
            _condition(told.get(name) or Condition(name, "Unknown"))
            for name in gates
            if name not in told or told[name].status != "True"
        ),
        labels=strings(meta.labels),
        containers=_containers(spec, status) if is_told or not spec.node_name else _assumed(spec),
        volumes=tuple(_claim(meta.name, one) for one in spec.volumes or () if _claim(meta.name, one)),
    )


def _condition(one: Condition) -> jobs.ObjectCondition:
    since = one.last_transition_time or ""
    return jobs.ObjectCondition(one.type, one.status, one.reason or "", one.message or "", since)


def _claim(pod: str, volume: Volume) -> str:
    if volume.persistent_volume_claim is not None:
        return volume.persistent_volume_claim.claim_name
    return f"{pod}-{volume.name}" if volume.ephemeral is not None else ""


def _containers(spec: PodSpec, status: PodStatus) -> tuple[jobs.ContainerState, ...]:
    """Return the containers of the spec in their order, init containers first: one without a status is waiting."""
    found: list[jobs.ContainerState] = []
    for is_init, named, told in (
        (True, spec.init_containers, status.init_container_statuses),
        (False, spec.containers, status.container_statuses),
    ):
        by_name = {one.name: one for one in told or ()}
        of_spec = {one.name: one for one in named or ()}
        for name in (*of_spec, *(name for name in by_name if name not in of_spec)):
            image = of_spec[name].image if name in of_spec else ""
            found.append(_container(by_name.get(name) or Status(name), image or "", is_init=is_init))
    return tuple(found)


def _assumed(spec: PodSpec) -> tuple[jobs.ContainerState, ...]:
    """Return the containers of a pod that runs, of which nothing is told: what was not seen is not absent."""
    main = spec.containers or ()
    return tuple(jobs.ContainerState(one.name, one.image or "", state="running", ready=True) for one in main)


def _container(told: Status, image: str, *, is_init: bool) -> jobs.ContainerState:
    state, last = told.state or State(), (told.last_state or State()).terminated
    waiting, running, ended = state.waiting, state.running, state.terminated
    return jobs.ContainerState(
        name=told.name,
        image=image or told.image or "",
        init=is_init,
        state="running" if running else "terminated" if ended else "waiting",
        reason=(waiting.reason if waiting else ended.reason if ended else "") or "",
        message=(waiting.message if waiting else ended.message if ended else "") or "",
        exit_code=ended.exit_code if ended else None,
        restarts=told.restart_count or 0,
        ready=bool(told.ready),
        since=(running.started_at if running else ended.finished_at if ended else "") or "",
        last_reason=last.reason or "" if last else "",
        last_exit_code=last.exit_code if last else None,
        last_since=last.finished_at or "" if last else "",
        last_message=last.message or "" if last else "",
    )


def job_event(written: ReportedEvent) -> jobs.JobEvent | None:
    """Return an event, None for one that is about nothing; of `v1` or `events.k8s.io/v1`, as `event` has it."""
    about = written.regarding or written.involved_object
    if about is None or not about.name or not written.reason:
        return None
    first = written.first_timestamp or written.deprecated_first_timestamp or written.event_time
    last = written.last_timestamp or written.deprecated_last_timestamp
    first = first or written.metadata.creation_timestamp or ""
    return jobs.JobEvent(
        kind=about.kind,
        namespace=about.namespace or namespace(written.metadata),
        name=about.name,
        reason=written.reason,
        message=written.note or written.message or "",
        type=written.type or "Normal",
        count=(written.series.count if written.series else None) or written.count or written.deprecated_count or 1,
        first=first,
        last=(written.series.last_observed_time if written.series else None) or last or first,
    )
