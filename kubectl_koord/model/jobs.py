"""What owns pods, what lets them start, and what became of them: jobs, queues in front of the scheduler, events."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.model.objects import PodGroup
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.reservations import OwnerReference

Finished: TypeAlias = Literal["", "Complete", "Failed"]


class ObjectCondition(Struct, frozen=True, gc=False):
    """One of an object's conditions, as its controller wrote it; `since` is RFC 3339, empty where not told."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    since: str = ""


Conditions: TypeAlias = tuple[ObjectCondition, ...]


class Role(Struct, frozen=True, gc=False):
    """Pods of one template of an owner: Worker, head, a replicated job. Counts are None where nobody wrote them.

    `wanted` is how many pods it is to have, `active` how many there are that are not finished.
    """

    name: str
    wanted: int | None = None
    active: int | None = None
    succeeded: int | None = None
    failed: int | None = None


class Owner(Struct, frozen=True, gc=False):
    """An object that makes pods, or makes what makes them.

    Of a kind that is not known only the metadata and the conditions are there, and `is_known` is false. `suspended` is
    what its spec says (suspend, or a TrainJob's), `paused` that of a Deployment. `deleting` is since when, empty where
    it is not; `finalizers` are what keeps it. `phase` is the state in the words of its status where it has one
    (RayJob: jobDeploymentStatus, Volcano Job: state.phase), `message` what is written beside it.
    `wanted` is how many pods it will make, None where that cannot be told. `deadline` is in seconds from
    `started`. `retries` is how many failures it allows (backoffLimit), `failed` how many pods (of a JobSet: restarts)
    have failed. `is_seen` is false where its controller has not looked at what its spec says now, and None where it
    never says. `queue` is the queue that its labels or spec name, `priority_class` that of the queue.
    `managed_by` is the controller that is to care for it, empty for the usual one. `selector` is the label selector of
    its pods, empty where only their ownerReferences tell.
    """

    kind: str
    group: str
    namespace: str
    name: str
    uid: str = ""
    created: str = ""
    owner: OwnerReference | None = None
    is_known: bool = True
    suspended: bool = False
    paused: bool = False
    deleting: str = ""
    finalizers: tuple[str, ...] = ()
    finished: Finished = ""
    phase: str = ""
    message: str = ""
    conditions: Conditions = ()
    wanted: int | None = None
    active: int | None = None
    ready: int | None = None
    succeeded: int | None = None
    failed: int | None = None
    roles: tuple[Role, ...] = ()
    started: str = ""
    deadline: int | None = None
    retries: int | None = None
    is_seen: bool | None = None
    queue: str = ""
    priority_class: str = ""
    managed_by: str = ""
    selector: str = ""

    @property
    def key(self) -> str:
        """The name as reports print it: `namespace/name`."""
        return f"{self.namespace}/{self.name}"


ContainerStatus: TypeAlias = Literal["waiting", "running", "terminated"]


class ContainerState(Struct, frozen=True, gc=False):
    """One container, as its kubelet tells it; `last_...` is how it ended before."""

    name: str
    image: str = ""
    init: bool = False
    state: ContainerStatus = "waiting"
    reason: str = ""
    message: str = ""
    exit_code: int | None = None
    restarts: int = 0
    ready: bool = False
    since: str = ""
    last_reason: str = ""
    last_exit_code: int | None = None
    last_since: str = ""
    last_message: str = ""


class PodState(Struct, frozen=True, gc=False):
    """A pod of the job that was asked about, with what became of it once it had a node.

    `key` is `namespace/name`, `owner` its controller as `Kind/name`. `scheduled` is since when PodScheduled is True,
    `reason` and `message` are those of its status (OutOfcpu, UnexpectedAdmissionError, Evicted). `gates` are the
    scheduling gates that it still has, `unready_gates` conditions of readinessGates that are not True. `containers`
    begins with the init containers; `volumes` are the names of its PersistentVolumeClaims.
    """

    key: str
    uid: str = ""
    owner: str = ""
    phase: str = ""
    node: str = ""
    created: str = ""
    scheduled: str = ""
    scheduler: str = ""
    deleting: bool = False
    reason: str = ""
    message: str = ""
    ready: bool = False
    ready_since: str = ""
    ready_reason: str = ""
    ready_message: str = ""
    gates: tuple[str, ...] = ()
    unready_gates: Conditions = ()
    labels: Mapping[str, str] = {}
    containers: tuple[ContainerState, ...] = ()
    volumes: tuple[str, ...] = ()

    @property
    def is_waiting(self) -> bool:
        """Whether it has no node yet, and is to get one."""
        return not self.node and self.phase in {"", "Pending"} and not self.deleting


class JobEvent(Struct, frozen=True, gc=False):
    """An event about the job, what made it, or one of its pods. Times are RFC 3339, empty where not told."""

    kind: str
    namespace: str
    name: str
    reason: str
    message: str
    type: str = "Warning"
    count: int = 1
    first: str = ""
    last: str = ""


class CheckState(Struct, frozen=True, gc=False):
    """What an admission check says of a workload: Pending, Ready, Retry or Rejected."""

    name: str
    state: str
    message: str = ""
    since: str = ""


class QueuedPods(Struct, frozen=True, gc=False):
    """Pods of one template that wait in a queue: how many, and what each of them asks for."""

    name: str
    count: int
    min_count: int | None = None
    requests: Mapping[str, int] = {}


class KueueWorkload(Struct, frozen=True, gc=False):
    """A Workload of Kueue.

    `owner` is its controller, `owners` are all of its ownerReferences as `Kind/name`: a group of plain pods has many.
    `queue` is its LocalQueue, `cluster_queue` where it has quota (empty for none yet) and `flavors` what it has there:
    podset, resource, flavor, amount. `requeued` counts how often it was set back, `requeue_at` is until when it has to
    wait for that.
    """

    namespace: str
    name: str
    uid: str = ""
    queue: str = ""
    active: bool = True
    priority: int = 0
    priority_class: str = ""
    created: str = ""
    owner: OwnerReference | None = None
    owners: tuple[str, ...] = ()
    pods: tuple[QueuedPods, ...] = ()
    conditions: Conditions = ()
    checks: tuple[CheckState, ...] = ()
    cluster_queue: str = ""
    flavors: tuple[tuple[str, str, str, int], ...] = ()
    requeued: int = 0
    requeue_at: str = ""

    @property
    def key(self) -> str:
        """The name as reports print it: `namespace/name`."""
        return f"{self.namespace}/{self.name}"

    def condition(self, kind: str) -> ObjectCondition | None:
        """Return its condition of a type, None where it has none."""
        return next((one for one in self.conditions if one.type == kind), None)

    @property
    def asks_for(self) -> dict[str, int]:
        """What its pods ask for together, and how many they are under `pods`."""
        found: dict[str, int] = {"pods": sum(pods.count for pods in self.pods)}
        for pods in self.pods:
            for resource, amount in pods.requests.items():
                found[resource] = found.get(resource, 0) + amount * pods.count
        return found


class LocalQueue(Struct, frozen=True, gc=False):
    """A LocalQueue of Kueue; `stop_policy` is None, Hold or HoldAndDrain, empty where not told."""

    namespace: str
    name: str
    cluster_queue: str = ""
    stop_policy: str = ""
    pending: int = 0
    reserving: int = 0
    admitted: int = 0
    conditions: Conditions = ()

    @property
    def key(self) -> str:
        """The name as reports print it: `namespace/name`."""
        return f"{self.namespace}/{self.name}"


class FlavorQuota(Struct, frozen=True, gc=False):
    """What a ClusterQueue (or Cohort) has of a resource in a flavor, and how much of it is reserved.

    `borrowed` is the part of `used` that belongs to the cohort. A limit that is None is none.
    """

    flavor: str
    resource: str
    nominal: int = 0
    borrowing_limit: int | None = None
    lending_limit: int | None = None
    used: int = 0
    borrowed: int = 0


class ClusterQueue(Struct, frozen=True, gc=False):
    """A ClusterQueue of Kueue.

    `groups` are the resources that are given flavors together. Preemption is `within` the queue, `reclaim` from its
    cohort, and `borrow` with borrowed quota: policies in Kueue's words, Never where not told.
    """

    name: str
    cohort: str = ""
    strategy: str = "BestEffortFIFO"
    stop_policy: str = ""
    groups: tuple[tuple[str, ...], ...] = ()
    quotas: tuple[FlavorQuota, ...] = ()
    within: str = "Never"
    reclaim: str = "Never"
    borrow: str = "Never"
    checks: tuple[str, ...] = ()
    pending: int = 0
    reserving: int = 0
    admitted: int = 0
    conditions: Conditions = ()


class Cohort(Struct, frozen=True, gc=False):
    """A Cohort of Kueue, with quota of its own."""

    name: str
    parent: str = ""
    quotas: tuple[FlavorQuota, ...] = ()


class ResourceFlavor(Struct, frozen=True, gc=False):
    """A ResourceFlavor of Kueue: the nodes that it stands for."""

    name: str
    node_labels: Mapping[str, str] = {}


class AdmissionCheck(Struct, frozen=True, gc=False):
    """An AdmissionCheck of Kueue, and which controller cares for it."""

    name: str
    controller: str = ""
    conditions: Conditions = ()


class Kueue(Struct, frozen=True):
    """What was read of Kueue: Workloads and LocalQueues by `namespace/name`, the others by name."""

    workloads: Mapping[str, KueueWorkload] = {}
    local_queues: Mapping[str, LocalQueue] = {}
    cluster_queues: Mapping[str, ClusterQueue] = {}
    cohorts: Mapping[str, Cohort] = {}
    flavors: Mapping[str, ResourceFlavor] = {}
    checks: Mapping[str, AdmissionCheck] = {}


class QueueUnit(Struct, frozen=True, gc=False):
    """A QueueUnit of koord-queue; `consumer` is the job that it stands for.

    `phase` is empty before it was looked at, then Enqueued, Reserved, Dequeued, Running, Succeed, Failed, or
    TimeoutBackoff; `resources` is what it asks for as a whole, `quota` the ElasticQuota that its labels name.
    `requeue_at` is until when it has to wait after it was set back, `requeued` how often it was.
    """

    namespace: str
    name: str
    consumer: OwnerReference | None = None
    consumer_namespace: str = ""
    queue: str = ""
    priority: int = 0
    priority_class: str = ""
    created: str = ""
    phase: str = ""
    message: str = ""
    updated: str = ""
    attempts: int = 0
    resources: Mapping[str, int] = {}
    pods: tuple[QueuedPods, ...] = ()
    checks: tuple[CheckState, ...] = ()
    quota: str = ""
    active: bool = True
    conditions: Conditions = ()
    requeued: int = 0
    requeue_at: str = ""

    @property
    def key(self) -> str:
        """The name as reports print it: `namespace/name`."""
        return f"{self.namespace}/{self.name}"


class QueuePlace(Struct, frozen=True, gc=False):
    """One unit in the order of a queue, as koord-queue wrote it; `place` is the list that it stands in."""

    place: str
    namespace: str
    name: str
    priority: int = 0
    position: int = 0


class KoordQueue(Struct, frozen=True, gc=False):
    """A Queue of koord-queue: its policy, and the order in which its units wait."""

    namespace: str
    name: str
    policy: str = ""
    priority: int = 0
    checks: tuple[str, ...] = ()
    order: tuple[QueuePlace, ...] = ()
    created: str = ""


class KoordQueues(Struct, frozen=True):
    """What was read of koord-queue: units and queues by `namespace/name`."""

    units: Mapping[str, QueueUnit] = {}
    queues: Mapping[str, KoordQueue] = {}


class Controller(Struct, frozen=True, gc=False):
    """A controller that makes pods of owners of these `groups`, and whether it is there.

    `renewed` is when its leader last renewed the `lease` of so many seconds (RFC 3339, empty where that was not read),
    `holder` who that is. `ready` of `replicas` pods of its `deployment` (`namespace/name`) are ready, None where none
    was found.
    """

    name: str
    groups: tuple[str, ...] = ()
    lease: str = ""
    holder: str = ""
    renewed: str = ""
    lease_seconds: int = 0
    deployment: str = ""
    ready: int | None = None
    replicas: int | None = None


class Jobs(Struct, frozen=True):
    """What was read besides the scheduler's own world.

    `owners`, `pods` and `events` are all that were read, in name order, unless it is about one job: then `asked` is
    `Kind/namespace/name`, `owners` begins with that object and goes on to its owner, and so on, and `made` are objects
    that the job made and that make pods themselves (the Jobs of a JobSet, the RayCluster of a RayJob); `pods` are all
    pods of the job, with or without a node. What could not be read is a gap of the snapshot, under its kind.
    `planned` are the pods that the job makes once it is let in, with `planned_groups` for them, where it has none yet;
    `not_planned` tells why they are not there.
    """

    asked: str = ""
    owners: tuple[Owner, ...] = ()
    made: tuple[Owner, ...] = ()
    pods: tuple[PodState, ...] = ()
    events: tuple[JobEvent, ...] = ()
    kueue: Kueue = Kueue()
    koord: KoordQueues = KoordQueues()
    controllers: tuple[Controller, ...] = ()
    planned: tuple[PendingPod, ...] = ()
    planned_groups: Mapping[str, PodGroup] = {}
    not_planned: str = ""
