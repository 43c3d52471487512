"""Clusters as drawings: `cluster("spine-0: block-0[n1:8 n2:8] block-1[n3:4]; spine-1: block-2[n4:8]")`.

`n1:8` is a node of 8 CPU; a domain called `-` stands for a missing label. A Drawing is a Snapshot;
each `with_...` yields a new one. Everything is in namespace `default` unless a name says otherwise.
"""

import json
import re
from collections.abc import Iterable, Mapping

from msgspec import structs

from kubectl_koord.engine.attempt import Attempt, Job
from kubectl_koord.engine.blockers import jobs
from kubectl_koord.engine.gangs import Subject
from kubectl_koord.engine.placement import PlacementPlan
from kubectl_koord.engine.preemption import Preemption, VictimOrder, by_name
from kubectl_koord.engine.preemption import preempt as engine_preempt
from kubectl_koord.engine.rules import rules as version_rules
from kubectl_koord.engine.state import of
from kubectl_koord.engine.tree import build
from kubectl_koord.engine.trying import attempt
from kubectl_koord.explain.preempt import preempt
from kubectl_koord.explain.why import why
from kubectl_koord.model.hardware import Allocations, Device, DeviceAllocation, DeviceLayout, NodeDevices
from kubectl_koord.model.installation import MigrationJob
from kubectl_koord.model.objects import Budget, DomainStatus, Layer, NetworkTopology, Node, PodGroup
from kubectl_koord.model.pods import (
    Condition,
    Event,
    FinishedPod,
    GangAnnotations,
    Marks,
    PendingPod,
    PodRequirements,
    PodTrace,
    ReservedRoom,
    RunningPod,
)
from kubectl_koord.model.quotas import Quota
from kubectl_koord.model.reservations import Reservation, ReservationOwner
from kubectl_koord.model.snapshot import Gap, GapCode, SchedulerConfig, Snapshot
from kubectl_koord.model.values import Requirement, Resources, Selector, Taint
from kubectl_koord.reports.common import FreedPod
from kubectl_koord.reports.jobs import PreemptReport, WhyReport
from kubectl_koord.simulation import subjects

MOMENT = "2026-11-20T10:00:00Z"
SPINE, BLOCK, NODE, ROOT = "SpineLayer", "BlockLayer", "NodeTopologyLayer", "ClusterTopologyLayer"
SPINE_KEY, BLOCK_KEY = "network/spine", "network/block"
LAYERS = (Layer(SPINE, ROOT, (SPINE_KEY,)), Layer(BLOCK, SPINE, (BLOCK_KEY,)), Layer(NODE, BLOCK))
PODS_PER_NODE = 110
_BLOCK = re.compile(r"(\S+?)\[([^\]]*)\]")
_SHAPE = {name: name for name in PodRequirements.__struct_fields__ if name != "selector"} | {
    "node_selector": "selector"
}


def rules(*written: str) -> str:
    """Return a topology spec: `rules("MustGather SpineLayer", "PreferGather BlockLayer x4")`."""
    entries: list[dict[str, object]] = []
    for rule in written:
        strategy, layer, *multiple = rule.split()
        entry: dict[str, object] = {"layer": layer, "strategy": strategy}
        if multiple:
            entry["podCountMultiple"] = int(multiple[0].removeprefix("x"))
        entries.append(entry)
    return json.dumps({"gatherStrategy": entries})


def cpus(number: float, **others: int) -> Resources:
    """Return requests or room: whole CPUs and other resources (`nvidia_gpu=2`)."""
    known = {"cpu": int(number * 1000)} | {
        name.replace("nvidia_gpu", "nvidia.com/gpu"): n for name, n in others.items()
    }
    return tuple(sorted((name, amount) for name, amount in known.items() if amount))


def having(**labels: str) -> Selector:
    """Return a selector of equal labels."""
    return Selector(tuple(Requirement(key, "In", (value,)) for key, value in labels.items()))


def of_app(app: str) -> ReservationOwner:
    """Return the owner of a reservation that is for the pods with a label."""
    return ReservationOwner(selector=having(app=app))


def node(name: str, cpu: float = 8, **fields: object) -> Node:
    """Return a node with room for 110 pods."""
    bare = Node(name, (*cpus(cpu), ("pods", PODS_PER_NODE)))
    return structs.replace(bare, **fields)


def card(minor: int = 0, memory: int = 16, **fields: object) -> Device:
    """Return a healthy GPU with so many GiB of memory."""
    amounts = (("koordinator.sh/gpu-core", 100), ("koordinator.sh/gpu-memory", memory << 30))
    bare = Device("gpu", minor, (*amounts, ("koordinator.sh/gpu-memory-ratio", 100)))
    return structs.replace(bare, **fields)


def nic(minor: int = 0, **fields: object) -> Device:
    """Return a healthy RDMA card."""
    return structs.replace(Device("rdma", minor, (("koordinator.sh/rdma", 100),)), **fields)


def devices(*all_of_them: Device, **fields: object) -> NodeDevices:
    """Return the Device object of a node."""
    return NodeDevices(structs.replace(DeviceLayout(all_of_them), **fields), ("",) * len(all_of_them))


def holding(*minors: int, share: int = 100, kind: str = "gpu", **fields: object) -> Allocations:
    """Return that whole devices, or shares of each, are booked for a pod."""
    gpu = (("koordinator.sh/gpu-core", share), ("koordinator.sh/gpu-memory", share * (16 << 30) // 100))
    each = (*gpu, ("koordinator.sh/gpu-memory-ratio", share)) if kind == "gpu" else ((f"koordinator.sh/{kind}", share),)
    bare = Allocations(tuple(DeviceAllocation(kind, minor, each) for minor in minors))
    return structs.replace(bare, **fields)


def pending(name: str, cpu: float = 1, **fields: object) -> PendingPod:
    """Return a pending pod; fields of a Shape go into its shape (its selector as `node_selector`)."""
    requirements, rest = _split(cpu, fields)
    namespace, short = _name(name)
    return structs.replace(PendingPod(namespace, short, 0, requirements, "koord-scheduler"), **rest)


def running(name: str, on: str, cpu: float = 1, **fields: object) -> RunningPod:
    """Return a running pod."""
    requirements, rest = _split(cpu, fields)
    namespace, short = _name(name)
    marks = Marks(**{name: rest.pop(name) for name in Marks.__struct_fields__ if name in rest})  # type: ignore[arg-type]
    return structs.replace(RunningPod(namespace, short, on, 0, requirements, marks=marks), **rest)


def _split(cpu: float, fields: Mapping[str, object]) -> tuple[PodRequirements, dict[str, object]]:
    own = {_SHAPE[name]: value for name, value in fields.items() if name in _SHAPE}
    rest = {name: value for name, value in fields.items() if name not in _SHAPE}
    return structs.replace(PodRequirements(cpus(cpu)), **own), rest


def _name(name: str) -> tuple[str, str]:
    namespace, slash, short = name.rpartition("/")
    return (namespace if slash else "default"), short


def _key(name: str) -> str:
    return "/".join(_name(name))


class Drawing(Snapshot, frozen=True):
    """A Snapshot that grows: each method returns a new one."""

    def but(self, **fields: object) -> "Drawing":
        """Return the same with some fields of the Snapshot changed."""
        return structs.replace(self, **fields)

    def version(self, version: str) -> "Drawing":
        """Return the same under another version's rules."""
        return self.configured(version=version)

    def configured(self, **fields: object) -> "Drawing":
        """Return the same with another scheduler configuration."""
        return self.but(config=structs.replace(self.config, **fields))

    def with_nodes(self, *nodes: Node) -> "Drawing":
        """Add nodes, or replace those of the same name."""
        return self.but(nodes=dict(sorted((dict(self.nodes) | {node.name: node for node in nodes}).items())))

    def change(self, *names: str, **fields: object) -> "Drawing":
        """Change some fields of nodes."""
        return self.with_nodes(*(structs.replace(self.nodes[name], **fields) for name in names))

    def cordon(self, *names: str) -> "Drawing":
        """Cordon nodes, as `kubectl cordon` and the node controller do."""
        return self.change(
            *names, unschedulable=True, taints=(Taint("node.kubernetes.io/unschedulable", "", "NoSchedule"),)
        )

    def taint(self, name: str, key: str, value: str = "", effect: str = "NoSchedule") -> "Drawing":
        """Taint a node."""
        return self.change(name, taints=(*self.nodes[name].taints, Taint(key, value, effect)))

    def label(self, name: str, **labels: str) -> "Drawing":
        """Label a node."""
        return self.change(name, labels=tuple(sorted((dict(self.nodes[name].labels) | labels).items())))

    def with_pods(self, *pods: PendingPod) -> "Drawing":
        """Add pending pods, or replace those of the same name."""
        every = {(pod.namespace, pod.name): pod for pod in (*self.pending, *pods)}
        return self.but(pending=tuple(pod for _, pod in sorted(every.items())))

    def with_pod(self, name: str, gang: str = "", cpu: float = 1, **fields: object) -> "Drawing":
        """Add one pending pod, with a gang's name as a member of a gang that a PodGroup defines."""
        own = {"gang": _key(gang), "needs_pod_group": True} if gang else {}
        return self.with_pods(pending(name, cpu, **(own | fields)))

    def change_pods(self, *names: str, **fields: object) -> "Drawing":
        """Change some fields of pending pods (of all of them, where none is named)."""
        wanted = {_key(name) for name in names} or {pod.key for pod in self.pending}
        return self.with_pods(*(structs.replace(pod, **fields) for pod in self.pending if pod.key in wanted))

    def with_group(self, name: str, minimum: int = 0, **fields: object) -> "Drawing":
        """Add a PodGroup; its annotations hold what its fields say."""
        namespace, short = _name(name)
        group = structs.replace(PodGroup(namespace, short, minimum), **fields)
        prefix = "gang.scheduling.koordinator.sh/"
        named = {
            "network-topology-spec": group.topology,
            "mode": group.mode,
            "match-policy": group.match_policy,
            "groups": group.groups,
            "total-number": group.total,
        }
        written = {prefix + key: value for key, value in named.items() if value}
        group = structs.replace(group, annotations=tuple(sorted((dict(group.annotations) | written).items())))
        return self.but(pod_groups=dict(sorted((dict(self.pod_groups) | {group.key: group}).items())))

    def with_gang(
        self,
        name: str,
        pods: int = 1,
        cpu: float = 1,
        *,
        must_gather: str = "",
        minimum: int | None = None,
        **fields: object,
    ) -> "Drawing":
        """Add a PodGroup and its pending pods `name-0`, `name-1`, ...; minMember is their number by default."""
        group_fields = {key: fields.pop(key) for key in _OF_GROUP & fields.keys()}
        if must_gather:
            group_fields["topology"] = rules(f"MustGather {must_gather}")
        drawn = self.with_group(name, pods if minimum is None else minimum, **group_fields)
        members = (f"{name}-{number}" for number in range(pods))
        return drawn.with_members(members, gang=name, cpu=cpu, **fields)

    def with_members(self, names: Iterable[str], gang: str, cpu: float = 1, **fields: object) -> "Drawing":
        """Add alike pending pods to a gang."""
        own: dict[str, object] = {"gang": _key(gang), "needs_pod_group": True}
        return self.with_pods(*(pending(name, cpu, **(own | fields)) for name in names))

    def with_light_gang(
        self, name: str, pods: int = 1, cpu: float = 1, *, gang_terms: GangAnnotations, **fields: object
    ) -> "Drawing":
        """Add a gang that its pods define themselves."""
        members = (f"{name}-{number}" for number in range(pods))
        return self.with_members(members, gang=name, cpu=cpu, needs_pod_group=False, gang_terms=gang_terms, **fields)

    def with_running(self, name: str, on: str, cpu: float = 1, **fields: object) -> "Drawing":
        """Put a running pod on a node."""
        pod = running(name, on, cpu, **fields)
        held = (*self.running.get(on, ()), pod)
        return self.but(running=dict(self.running) | {on: tuple(sorted(held, key=lambda pod: pod.key))})

    def with_reserved(self, name: str, on: str, cpu: float = 1, **fields: object) -> "Drawing":
        """Let a Reservation hold room on a node."""
        bare = ReservedRoom(name, on, PodRequirements(cpus(cpu)), allocations=Allocations(reservation=name))
        return self.but(reserved=(*self.reserved, structs.replace(bare, **fields)))

    def with_reservation(
        self, name: str, on: str, cpu: float = 1, app: str = "job", *, priority: int = 2**31 - 1, **fields: object
    ) -> "Drawing":
        """Let a Reservation hold room on a node for the pods of an app, Aligned and for any number of them."""
        size = cpus(cpu)
        names = tuple(resource for resource, _ in size)
        bare = Reservation(name, name, on, size, (of_app(app),), "Aligned", once=False, resources=names)
        held = structs.replace(bare, **fields)
        requests = tuple((resource, n) for resource, n in held.size if resource != "pods")
        booked = Allocations(reservation=name)
        room = ReservedRoom(name, on, PodRequirements(requests), priority, booked, resources=held.resources)
        return self.but(reservations=(*self.reservations, held), reserved=(*self.reserved, room))

    def with_owner(self, name: str, on: str, of: str, cpu: float = 1, **fields: object) -> "Drawing":
        """Put a running pod on a node that draws on a Reservation."""
        return self.with_running(name, on, cpu, allocations=Allocations(reservation=of), **fields)

    def with_reserve_pod(self, name: str, cpu: float = 1, app: str = "job", **fields: object) -> "Drawing":
        """Let a Reservation wait for a place; its fields are those of the pod that stands for it."""
        size = _split(cpu, fields)[0].requests
        names = tuple(resource for resource, _ in size)
        reserves = Reservation(name, name, "", size, (of_app(app),), "Aligned", once=False, resources=names)
        own: dict[str, object] = {"priority": 2**31 - 1, "reserves": reserves}
        pod = pending(name, cpu, **(own | fields))
        drawn = self.but(reserve_pods=(*self.reserve_pods, pod))
        return drawn.with_pods(pod) if pod.gang else drawn

    def with_migration(self, name: str, pod: str, **fields: object) -> "Drawing":
        """Let a PodMigrationJob move a pod."""
        job = structs.replace(MigrationJob(name, _key(pod)), **fields)
        return self.but(migrations=(*self.migrations, job))

    def without_running(self, *keys: str) -> "Drawing":
        """Take running pods (`ns/name`) away."""
        return self.but(
            running={name: tuple(pod for pod in held if pod.key not in keys) for name, held in self.running.items()}
        )

    def with_finished(self, name: str, gang: str, *, was_bound: bool = True) -> "Drawing":
        """Add a finished pod of a gang."""
        pod = FinishedPod(*_name(name), _key(gang), was_bound)
        return self.but(finished=(*self.finished, pod))

    def with_budget(self, name: str, selector: Selector | None, allowed: int = 0) -> "Drawing":
        """Add a PodDisruptionBudget."""
        return self.but(budgets=(*self.budgets, Budget(*_name(name), selector, allowed)))

    def with_event(self, name: str, note: str, reason: str = "FailedScheduling", **fields: str) -> "Drawing":
        """Add an event about a pod, last seen a minute ago."""
        times = {"first_seen": "2026-11-20T09:50:00Z", "last_seen": "2026-11-20T09:59:00.5Z"}
        return self.but(events=(*self.events, Event(*_name(name), reason, note, **(times | fields))))

    def with_trace(self, name: str, gang: str = "", preempted: str = "", **fields: object) -> "Drawing":
        """Add the trace of a pod, with the message of its condition where it was preempted."""
        said = Condition("PreemptionByScheduler", preempted, "2026-11-20T09:55:00Z") if preempted else None
        bare = PodTrace(*_name(name), gang=_key(gang) if gang else "", preempted=said)
        return self.but(traces=(*self.traces, structs.replace(bare, **fields)))

    def with_quota(self, name: str, *namespaces: str, **fields: object) -> "Drawing":
        """Add an ElasticQuota for the pods of some namespaces: of at most so many CPUs (`cpu`), and of that weight."""
        cpu = fields.pop("cpu", 1000)
        assert isinstance(cpu, int | float)
        most = fields.get("max", cpus(cpu))
        bare = Quota(*_name(name), namespaces=namespaces)
        return self.but(quotas=(*self.quotas, structs.replace(bare, **({"max": most, "weight": most} | fields))))

    def with_gap(self, kind: str, code: GapCode = "forbidden", message: str = "you may not read it") -> "Drawing":
        """Add a kind that could not be read."""
        return self.but(gaps=(*self.gaps, Gap(kind, code, message)))

    def with_layers(self, *layers: Layer, name: str = "default") -> "Drawing":
        """Replace the ClusterNetworkTopology."""
        return self.but(topologies={name: NetworkTopology(name, layers)})

    def with_status(self, *status: tuple[str, str, int]) -> "Drawing":
        """Let the scheduler have written a status: layer, name and number of nodes of each domain."""
        written = tuple(DomainStatus(*entry) for entry in status)
        return self.but(topologies={"default": structs.replace(self.topologies["default"], status=written)})

    def with_message(self, name: str, message: str, reason: str = "Unschedulable") -> "Drawing":
        """Let the scheduler have said something of a pending pod."""
        return self.change_pods(name, condition=Condition(reason, message, "2026-11-20T09:55:00Z"))

    def subject(self, name: str) -> Subject:
        """Return whom a name means; it must be known."""
        found = subjects.find(self, name, "default")
        assert isinstance(found, Subject), found
        return found


_OF_GROUP = {
    "topology",
    "mode",
    "match_policy",
    "groups",
    "total",
    "timeout_seconds",
    "resource_version",
    "annotations",
    "phase",
}


def cluster(drawing: str = "", layers: tuple[Layer, ...] = LAYERS) -> Drawing:
    """Return the cluster of a drawing, with the ClusterNetworkTopology `default`."""
    nodes = [node for spine in filter(None, map(str.strip, drawing.split(";"))) for node in _nodes(spine)]
    return Drawing(
        moment=MOMENT,
        nodes={},
        running={},
        topologies={"default": NetworkTopology("default", layers)},
        config=SchedulerConfig(assumed=False),
    ).with_nodes(*nodes)


def _nodes(drawn: str) -> Iterable[Node]:
    spine, _, blocks = drawn.partition(":")
    for block, names in _BLOCK.findall(blocks):
        labels = {SPINE_KEY: spine.strip(), BLOCK_KEY: block}
        written = tuple(sorted((key, value) for key, value in labels.items() if value != "-"))
        for item in names.split():
            name, _, cpu = item.partition(":")
            yield node(name, float(cpu or 8), labels=written)


def why_of(drawing: Drawing, name: str = "job") -> WhyReport:
    """Return why a gang or pod is pending."""
    return why(drawing, drawing.subject(name))


def preempt_of(drawing: Drawing, name: str = "job") -> PreemptReport:
    """Return whom preemption for a gang or pod would hit."""
    return preempt(drawing, drawing.subject(name))


def freed(name: str, on: str, priority: int = 0, **fields: object) -> FreedPod:
    """Return what a way out says of a pod that it ends: nobody's, and harmless, but for the fields."""
    bare = FreedPod(
        pod=_key(name),
        node=on,
        priority=priority,
        gang=None,
        owner=None,
        protected=False,
        pod_disruption_budget=None,
        budgets_read=True,
        evictable=True,
        breaks=None,
    )
    return structs.replace(bare, **fields)


def short(placed: Mapping[str, str] | None) -> dict[str, str]:
    """Return a placement or nominations without namespaces, to compare it with a drawing."""
    return {key.rpartition("/")[2]: name for key, name in (placed or {}).items()}


def jobs_of(drawing: Drawing, name: str = "job") -> tuple[Job, ...]:
    """Return what the scheduler tries as one."""
    tree = build(drawing.topologies, drawing.nodes)
    return jobs(drawing.subject(name), drawing, version_rules(drawing.config.version), tree)


def attempt_of(drawing: Drawing, name: str = "job", trigger: str = "") -> Attempt:
    """Return the first attempt with the trigger that is named, or else the likeliest."""
    job = jobs_of(drawing, name)[0]
    named = [pod for pod in job.pods if pod.name == trigger]
    return attempt(job, of(drawing), (named or job.triggers)[0])


def failing_pod(failed: Attempt) -> str:
    """Return the member that the planned node refuses as the plan is carried out, empty for none."""
    return failed.failed_seat.pod if failed.failed_seat is not None else ""


def gathering_of(drawing: Drawing, name: str = "job") -> PlacementPlan:
    """Return where a topology gang would be planned."""
    plan = attempt_of(drawing, name).plan
    assert plan is not None
    return plan


def preemption_of(
    drawing: Drawing, name: str = "job", victim_order: VictimOrder = by_name, *, trigger: str = ""
) -> Preemption:
    """Return what preemption does after the first attempt failed."""
    return engine_preempt(jobs_of(drawing, name)[0], of(drawing), attempt_of(drawing, name, trigger), victim_order)
