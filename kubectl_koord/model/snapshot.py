"""The seam of the program: one value that holds all that was read, at one moment."""

from collections.abc import Mapping
from functools import cached_property
from typing import Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.model.memo import Memo
from kubectl_koord.model.objects import Budget, Claim, Lease, NetworkTopology, Node, PodGroup, Quota, Reservation
from kubectl_koord.model.pods import FinishedPod, PendingPod, RunningPod
from kubectl_koord.model.traces import Event, PodTrace
from kubectl_koord.model.unevaluated import NodeSetting

GapCode: TypeAlias = Literal["forbidden", "missing", "one-namespace", "not-in-input"]


class Gap(Struct, frozen=True):
    """A kind that could not be read: `forbidden`, `missing` (no such API), `one-namespace`, `not-in-input`.

    A gap is never an empty list: whoever rests on the kind must answer unknown. Of a kind that is
    `one-namespace` the objects of `Snapshot.namespace_only` are there; one that is `not-in-input`
    counts as absent, with a warning. With a `namespace` only that one's objects are missing.
    """

    kind: str
    code: GapCode
    message: str
    namespace: str = ""


class SchedulerConfig(Struct, frozen=True):
    """Whose behaviour is reproduced, and how that was found out.

    `usage_thresholds` are LoadAwareScheduling's, in percent; `load_unevaluated` is set where it is configured
    in a way that is not evaluated. `elects_leader` is false where replicas do not agree on one by a
    Lease. `assumed` is true where the Helm chart's settings stand in for what
    could not be read.
    """

    version: str = "1.8"
    version_from: str = "assumed"
    profiles: tuple[str, ...] = ("koord-scheduler",)
    preemption: bool = True
    aware_of_topology: bool = True
    default_match_policy: str = "once-satisfied"
    usage_thresholds: tuple[tuple[str, int], ...] = (("cpu", 65), ("memory", 95))
    load_unevaluated: bool = False
    elects_leader: bool = True
    assumed: bool = True


class Snapshot(Memo, Struct, frozen=True, dict=True):
    """A cluster at one moment. Everything is in name order; amounts are whole numbers.

    `running` holds the pods of each node by node name (pods on unknown nodes included);
    `devices` the nodes that have a Device object; `moment` is RFC 3339 and the only clock:
    ages are reckoned from it. `leases` holds the scheduler's leader lease, none where it has none; it
    is None where that was not read, as of files. `namespace_only` is set when no more than one namespace could be
    read. `events` holds those of preempted pods and failed attempts; `traces` every pod once more,
    only where a question needs it.
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
    devices: frozenset[str] = frozenset()
    reservations: tuple[Reservation, ...] = ()
    claims: Mapping[str, Claim] = {}
    leases: tuple[Lease, ...] | None = None
    gaps: tuple[Gap, ...] = ()
    config: SchedulerConfig = SchedulerConfig()
    source: str = "cluster"
    namespace_only: str = ""
    events: tuple[Event, ...] = ()
    traces: tuple[PodTrace, ...] = ()

    @cached_property
    def node_settings(self) -> tuple[NodeSetting, ...]:
        """What nodes are set to that is not evaluated, by code."""
        found = {setting for node in self.nodes.values() for setting in node.unevaluated}
        return tuple(sorted(found, key=lambda setting: setting.code))

    @cached_property
    def nominated(self) -> tuple[PendingPod, ...]:
        """The pending pods that are nominated to a node: preemption made room for them there."""
        return tuple(pod for pod in self.pending if pod.nominated)

    def gap(self, kind: str) -> Gap | None:
        """Return why the kind could not be read, None when it was read."""
        return next((gap for gap in self.gaps if gap.kind == kind and not gap.namespace), None)

    def gap_in(self, kind: str, namespace: str) -> Gap | None:
        """Return why the kind could not be read in a namespace, None when it was read there."""
        return next((gap for gap in self.gaps if gap.kind == kind and gap.namespace in {"", namespace}), None)

    def sees(self, kind: str, namespace: str = "") -> bool:
        """Tell whether every object of the kind (in a namespace, where one is named) was read."""
        gap = self.gap(kind)
        if gap is None or gap.code == "not-in-input":
            return True
        return gap.code == "one-namespace" and namespace != "" and namespace == self.namespace_only
