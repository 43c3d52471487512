"""The seam of the program: one value that holds all that was read, at one moment."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.model.hardware import DEVICE_SCORING, NUMASettings, Scoring
from kubectl_koord.model.installation import (
    HOME,
    Deployment,
    Extender,
    Home,
    Installation,
    MigrationJob,
    Plugins,
    Volcano,
)
from kubectl_koord.model.jobs import Jobs
from kubectl_koord.model.load import LoadSettings
from kubectl_koord.model.objects import Budget, Claim, Lease, NetworkTopology, Node, PodGroup, Storage
from kubectl_koord.model.pods import (
    Event,
    FinishedPod,
    NamespaceLabels,
    PendingPod,
    PodTrace,
    ReservedRoom,
    RunningPod,
    claim_names,
)
from kubectl_koord.model.quotas import Quota, QuotaSettings
from kubectl_koord.model.reservations import ByLabel, Reservation, ReservedMember, by_label
from kubectl_koord.model.resource_claims import NO_DEVICES, ClaimSettings, DynamicResources
from kubectl_koord.model.settings import SetOtherwise
from kubectl_koord.model.unevaluated import NodeSetting
from kubectl_koord.model.values import Identity, Memo

GapCode: TypeAlias = Literal["forbidden", "missing", "one-namespace", "unavailable", "not-in-input"]


class Gap(Struct, frozen=True):
    """A kind that could not be read: `forbidden`, `missing` (no such API), `one-namespace`, `unavailable` for now.

    Files have `not-in-input` as well.

    A gap is never an empty list: an answer that rests on the kind is unknown. Of a kind that is
    `one-namespace` the objects of `Snapshot.namespace_only` are there; one that is `not-in-input`
    counts as absent, with a warning. With a `namespace` only that one's objects are missing.
    """

    kind: str
    code: GapCode
    message: str
    namespace: str = ""


class SchedulerConfig(Struct, frozen=True):
    """Whose behaviour is reproduced, and how that was found out.

    `manages_topology` is false where the scheduler's flags are known and let it build no topology tree.
    `load` holds LoadAwareScheduling's arguments. `numa` those of NodeNUMAResource. `device_scoring` is how
    DeviceShare scores devices, and `aligns_devices` whether it has a say in NUMA zones; `unshareable_gpus` holds the
    vendors and models of GPUs that cannot be shared.
    `profiles` are the schedulerNames; the settings are those of the first, and those of the `differing` are others.
    `preemption` is whether Coscheduling preempts; `plugins` tells which plugins are not enabled, and where.
    `extenders` are those that filter or preempt; `gates` are those of the feature gates in `GATES` that are on.
    `claims` is how resource claims are treated.
    `elects_leader` is false where replicas do not agree on one by a
    Lease. `assumed` is true where the Helm chart's settings stand in for what could not be read, `unread` is why, where
    that is told. `home` is where all that was looked for, `deployment` the scheduler's, None where there is none.
    `settings` are those that decide and are not evaluated, or that nobody here knows.
    """

    version: str = "1.8"
    version_from: str = "assumed"
    profiles: tuple[str, ...] = ("koord-scheduler",)
    differing: tuple[str, ...] = ()
    preemption: bool = True
    aware_of_topology: bool = True
    manages_topology: bool = True
    default_match_policy: str = "once-satisfied"
    load: LoadSettings = LoadSettings()
    numa: NUMASettings = NUMASettings()
    device_scoring: Scoring = DEVICE_SCORING
    aligns_devices: bool = True
    unshareable_gpus: tuple[tuple[str, str], ...] = ()
    elects_leader: bool = True
    quotas: QuotaSettings = QuotaSettings()
    plugins: Plugins = Plugins()
    extenders: tuple[Extender, ...] = ()
    gates: tuple[str, ...] = ()
    claims: ClaimSettings = ClaimSettings()
    assumed: bool = True
    unread: str = ""
    home: Home = HOME
    deployment: Deployment | None = None
    settings: tuple[SetOtherwise, ...] = ()


class Snapshot(Memo, Struct, frozen=True, dict=True):
    """A cluster at one moment. Everything is in name order; amounts are whole numbers.

    `running` holds the pods of each node by node name (pods on unknown nodes included), and `reserved` what the
    `reservations` hold there, in the order of their names; `reserve_pods` stand for Reservations that are not placed
    yet (those that belong to a gang are `pending`, too), and `reserved_members` are of gangs; `moment` is RFC 3339 and
    the only clock: ages are computed from it. `leases` holds the scheduler's leader lease, none where it has none; it
    is None where that was not read, as of files. `migrations` and `volcano` are read only where a question tells of
    them. `namespace_only` is set when no more than one namespace could be read. `events` holds those of preempted pods
    and failed attempts; `traces` every pod once more, only where a question needs it, and so `installation`, how
    Koordinator is installed. `dynamic_resources` is what resource claims are allocated from, read only where a pending
    pod has one; `namespaces` are the labels of namespaces, read only where a term of a pod selects some by them. Where
    nothing but sums of pods was asked for, `running` tells them by node, and `pending` and `finished` are empty.
    `jobs` is what lies around the scheduler: owners, queues, events and containers; None where nobody asked for it.
    """

    moment: str
    nodes: Mapping[str, Node]
    running: Mapping[str, tuple[RunningPod, ...]]
    pending: tuple[PendingPod, ...] = ()
    finished: tuple[FinishedPod, ...] = ()
    pod_groups: Mapping[str, PodGroup] = {}
    topologies: Mapping[str, NetworkTopology] = {}
    budgets: tuple[Budget, ...] = ()
    quotas: tuple[Quota, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    reserved: tuple[ReservedRoom, ...] = ()
    reserve_pods: tuple[PendingPod, ...] = ()
    reserved_members: tuple[ReservedMember, ...] = ()
    migrations: tuple[MigrationJob, ...] = ()
    volcano: Volcano = Volcano()
    claims: Mapping[str, Claim] = {}
    storage: Storage = Storage()
    dynamic_resources: DynamicResources = NO_DEVICES
    namespaces: NamespaceLabels = {}
    leases: tuple[Lease, ...] | None = None
    gaps: tuple[Gap, ...] = ()
    config: SchedulerConfig = SchedulerConfig()
    source: str = "cluster"
    namespace_only: str = ""
    events: tuple[Event, ...] = ()
    traces: tuple[PodTrace, ...] = ()
    installation: Installation | None = None
    jobs: Jobs | None = None

    @cached_property
    def node_settings(self) -> Mapping[NodeSetting, Sequence[Node]]:
        """What nodes are set to that is not evaluated, by code, and which nodes are."""
        found: dict[NodeSetting, list[Node]] = {}
        for node in self.nodes.values():
            for setting in node.unevaluated:
                found.setdefault(setting, []).append(node)
        return dict(sorted(found.items(), key=lambda item: item[0].code))

    @cached_property
    def reservations_by_label(self) -> ByLabel:
        """The reservations by labels of the pods that they are for."""
        return by_label(Identity(self.reservations))

    @cached_property
    def numa_settings(self) -> bool:
        """Whether any node has settings of CPUs and zones that may refuse a pod which asks for nothing special."""
        return any(node.numa is not None and node.numa.restricts for node in self.nodes.values())

    @cached_property
    def best_effort_zones(self) -> bool:
        """Whether any node has the NUMA policy BestEffort."""
        return any(node.numa is not None and node.numa.policy == "BestEffort" for node in self.nodes.values())

    @cached_property
    def amplified_cpus(self) -> bool:
        """Whether any node tells more CPUs than it has, or cannot be read in that."""
        numas = (node.numa for node in self.nodes.values())
        return any(numa is not None and (numa.bad_ratio or numa.ratio > 1) for numa in numas)

    @cached_property
    def nominated(self) -> tuple[PendingPod, ...]:
        """The pending pods that are nominated to a node: preemption made room for them there.

        Those of another scheduler are not in the queue, and the scheduler leaves no room for them
        (`responsibleForPod` in kube-scheduler's eventhandlers.go).
        """
        return tuple(pod for pod in self.pending if pod.nominated and pod.scheduler in self.config.profiles)

    def holds(self, namespace: str) -> bool:
        """Tell whether any object of a namespace was read."""
        running = (pod.namespace for pods in self.running.values() for pod in pods)
        pods = (pod.namespace for pods in (self.pending, self.finished, self.traces) for pod in pods)
        rest = (one.namespace for some in (self.budgets, self.quotas, self.events) for one in some)
        keys = (key.partition("/")[0] for key in chain(self.pod_groups, self.claims))
        return namespace in chain(running, pods, rest, keys)

    def gap(self, kind: str) -> Gap | None:
        """Return why the kind could not be read, None when it was read."""
        return next((gap for gap in self.gaps if gap.kind == kind and not gap.namespace), None)

    @cached_property
    def claims_asked_for(self) -> Mapping[str, Claim]:
        """The volume claims; one that pending pods name and that could not be read is there without volume.

        It may exist: what it allows is open, not refused.
        """
        named = ((pod.namespace, claim_names(pod)) for pod in self.pending)
        hidden = (names for home, names in named if names and not self.sees("PersistentVolumeClaim", home))
        return {**{name: Claim(name, is_read=False) for name in chain.from_iterable(hidden)}, **self.claims}

    def unread(self, kind: str, namespace: str = "") -> Gap | None:
        """Return why not every object of the kind (in a namespace, where one is named) was read, None where it was.

        What a file does not hold is absent, and no gap here.
        """
        return next((gap for gap in self.gaps if gap.kind == kind and self._hides(gap, namespace)), None)

    def _hides(self, gap: Gap, namespace: str) -> bool:
        if gap.code == "not-in-input" or (namespace and gap.namespace not in {"", namespace}):
            return False
        return gap.code != "one-namespace" or namespace == "" or namespace != self.namespace_only

    def sees(self, kind: str, namespace: str = "") -> bool:
        """Tell whether every object of the kind (in a namespace, where one is named) was read."""
        return self.unread(kind, namespace) is None
