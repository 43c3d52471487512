"""What lies around the scheduler, taken: owners of pods, queues, events and container states."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from kubectl_koord.cluster.objects import jobs as written_jobs
from kubectl_koord.cluster.objects import pod_states
from kubectl_koord.cluster.objects.jobs import (
    BY_KIND,
    CHECK,
    CLUSTER_QUEUE,
    COHORT,
    FLAVOR,
    LOCAL_QUEUE,
    QUEUE,
    QUEUES,
    UNIT,
    WORKLOAD,
    QueueKind,
    Written,
    text,
)
from kubectl_koord.cluster.objects.pod_states import ReportedEvent, StatedPod
from kubectl_koord.errors import KoordError
from kubectl_koord.language import say
from kubectl_koord.model.jobs import Controller, JobEvent, Jobs, KoordQueues, Kueue, Owner, PodState
from kubectl_koord.model.values import QuantityError

if TYPE_CHECKING:
    from kubectl_koord.model.snapshot import Gap

T = TypeVar("T")

OWNING = frozenset(("Deployment", "DaemonSet"))
"""Kinds of owners that are read as parts of Koordinator, too."""
TAKEN_TWICE = frozenset(("Pod", "Event", "Lease", *OWNING))
"""Kinds of objects that are read as usual, and for their states besides."""
_NO_OWNERS = frozenset(("Lease", "Endpoints", "EndpointSlice", "ControllerRevision", "NetworkPolicy", "Role"))
"""Kinds with a group and a namespace that are many, and make no pods."""
BESIDE = frozenset((
    "PriorityClass", "LimitRange", "RuntimeClass", "ResourceQuota", "ClusterColocationProfile", "TrainingRuntime",
    "ClusterTrainingRuntime", "PodGroup",
))  # fmt: skip
"""Kinds of objects that decide about the pods which a job will make."""


class Around:
    """Takes objects of all kinds, and keeps of them what lies around the scheduler."""

    def __init__(self, *, with_pods: bool = True) -> None:
        self.with_pods = with_pods  # and what is made of templates: not for lists
        self.gaps: tuple[Gap, ...] | None = None  # of a recorded cluster: what could not be read; None for any other
        self.written: dict[tuple[str, str, str], Written] = {}  # owners, by kind, `namespace/name` and group
        self.beside: list[Written] = []
        self._owners: dict[tuple[str, str, str], Owner] = {}
        self._queues: dict[str, dict[str, Any]] = {row.name: {} for row in QUEUES.values()}
        self._pods: dict[str, PodState] = {}
        self._events: list[JobEvent] = []
        self.managers: list[Controller] = []

    def forget(self) -> None:
        """Forget all that was taken."""
        for queues in self._queues.values():
            queues.clear()
        self.written.clear()
        self._owners.clear()
        self._pods.clear()
        self.beside.clear()
        self._events.clear()

    def take(self, written: Written) -> None:
        """Take an object, as JSON has it; those that are of no use are passed over.

        Raises KoordError, naming the object of which an amount cannot be read.
        """
        group, kind = written_jobs.group_of(text(written, "apiVersion")), text(written, "kind")
        row = QUEUES.get((group, kind))
        if not text(written, "metadata", "name"):
            return
        if kind in BESIDE:
            self.beside += [written] if self.with_pods else []
            return
        if kind == "Lease":
            self.managers += [written_jobs.manager(written)] if written_jobs.is_manager(written) else []
            return
        try:
            if row is not None:
                key = written_jobs.key(written) if row.namespaced else text(written, "metadata", "name")
                self._queues[row.name][key] = row.value(written)
            elif _may_own(group, kind, written):
                key = written_jobs.key(written)
                self._owners[kind, key, group] = written_jobs.owner(written)
                self.written |= {(kind, key, group): written} if self.with_pods else {}
        except QuantityError as problem:
            raise KoordError(
                say("error: {kind} {key}: {problem}", kind=kind, key=written_jobs.key(written), problem=problem)
            ) from None

    def take_pod(self, written: StatedPod) -> None:
        """Take a pod."""
        state = pod_states.pod_state(written)
        self._pods[state.key] = state

    def keep_pods(self, keys: Collection[str]) -> None:
        """Forget the pods but these."""
        self._pods = {key: pod for key, pod in self._pods.items() if key in keys}

    def take_event(self, written: ReportedEvent) -> None:
        """Take an event."""
        found = pod_states.job_event(written)
        if found is not None:
            self._events.append(found)

    def owner(self, kind: str, key: str, group: str) -> Owner | None:
        """Return an owner that was taken, by its kind, `namespace/name` and API group."""
        return self._owners.get((kind, key, group))

    def of_queue(self, row: QueueKind) -> dict[str, Any]:
        """Return what was taken of a kind of queues."""
        return self._queues[row.name]

    @property
    def pods(self) -> Collection[PodState]:
        """The pods that were taken."""
        return self._pods.values()

    def jobs(self) -> Jobs:
        """Return all that was taken."""
        owners = tuple(one for _, one in sorted(self._owners.items()))
        return Jobs(
            owners=owners,
            controllers=(*filter(None, map(written_jobs.controller, owners)), *self.managers),
            pods=tuple(one for _, one in sorted(self._pods.items())),
            events=tuple(self._events),
            kueue=Kueue(*(_sorted(self.of_queue(row)) for row in _OF_KUEUE)),
            koord=KoordQueues(_sorted(self.of_queue(UNIT)), _sorted(self.of_queue(QUEUE))),
        )


_OF_KUEUE = (WORKLOAD, LOCAL_QUEUE, CLUSTER_QUEUE, COHORT, FLAVOR, CHECK)


def _sorted(found: Mapping[str, T]) -> dict[str, T]:
    return dict(sorted(found.items()))


def is_around(written: Written) -> bool:
    """Tell whether an object is a queue, or may own pods."""
    group, kind = written_jobs.group_of(text(written, "apiVersion")), text(written, "kind")
    return (group, kind) in QUEUES or _may_own(group, kind, written)


def _may_own(group: str, kind: str, written: Written) -> bool:
    """Tell whether an object may own pods: one of the known kinds, or any other of a group and a namespace."""
    if (group, kind) in BY_KIND:
        return True
    known = group and kind not in _NO_OWNERS and not kind.endswith("List")
    return bool(
        known and text(written, "metadata", "namespace") and not group.endswith(("koordinator.sh", "metrics.k8s.io"))
    )
