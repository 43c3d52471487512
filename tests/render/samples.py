"""One report of every kind with every field filled, and the small cluster of the documentation."""

from typing import Any

from msgspec.structs import replace

from kubectl_koord.diagnosis.coverage import by_cause
from kubectl_koord.render.show import OutputStyle
from kubectl_koord.render.structured import Report
from kubectl_koord.reports.capacity import (
    Card,
    ChainLevel,
    DeviceRoom,
    DevicesReport,
    DomainCards,
    DomainRow,
    Eviction,
    Headroom,
    HeldBack,
    Hold,
    Holder,
    NodeCards,
    NodeRow,
    OutsideNode,
    OverUse,
    QuotaFinding,
    QuotaPod,
    QuotaRow,
    QuotaTreeReport,
    Share,
    TopologyReport,
    TypeTotal,
    UnlistedCard,
)
from kubectl_koord.reports.change import Change, ChangePlan, Effect, ObjectName, VerdictSummary
from kubectl_koord.reports.common import Basis, BrokenGang, BudgetHit, DomainName, Notice, WayOut
from kubectl_koord.reports.jobs import (
    Cause,
    Contention,
    Evidence,
    Funnel,
    NodeReason,
    PendingGangsReport,
    PodShape,
    PreemptAlternative,
    PreemptedPod,
    Preemptor,
    PreemptReport,
    Round,
    SaidText,
    SchedulerSays,
    SlotRow,
    Victim,
    WhatIf,
    WhyAlternative,
    WhyPreemptedReport,
    WhyReport,
)
from kubectl_koord.reports.operation import (
    Compared,
    Difference,
    Field,
    LoggedPod,
    RefusedByPlugin,
    SchedulerLogReport,
    SchedulerReport,
    Scored,
)


def device(kind: str, minor: int, number: str, *rest: Any, healthy: bool = True) -> Card:  # noqa: ANN401
    """Return a device, healthy unless told otherwise; `rest` goes on with what there is of it."""
    return Card(kind, minor, number, healthy, *rest)


BASIS = Basis("1.8", "from the image tag", "2026-11-20T10:00:00Z", "cluster")
ROOT = DomainName("ClusterTopologyLayer", "")
SPINES = (DomainName("SpineLayer", "spine-0"), DomainName("SpineLayer", "spine-1"))
ASSUMED = Notice("assumed-config", "The scheduler's configuration is assumed as the Helm chart sets it.")

TOPO = TopologyReport(
    verdict="yes",
    basis=BASIS,
    warnings=(ASSUMED,),
    layers=("SpineLayer", "NodeTopologyLayer"),
    domains=(
        DomainRow("ClusterTopologyLayer", "", None, 4, 12, 32, cordoned=1, offer_slots=3),
        DomainRow("SpineLayer", "spine-0", ROOT, 2, 4, 16, cordoned=1, not_ready=1, offer_slots=1),
        DomainRow("SpineLayer", "spine-1", ROOT, 2, 8, 16, offer_slots=2),
    ),
    outside=(OutsideNode("node-8", ("network.topology/spine",)), OutsideNode("node-9", ("network.topology/spine",))),
    nodes=(
        NodeRow("node-0", SPINES[0], 0, 8, "cordoned", 0, "cordoned"),
        NodeRow("node-1", SPINES[0], 4, 8, "not ready", 1),
        NodeRow("node-2", SPINES[1], 8, 8, "", 2),
        NodeRow("node-3", SPINES[1], 0, 8, "", 0, "full"),
    ),
    resource="nvidia.com/gpu",
)
TOPO_FOR = replace(
    TOPO,
    warnings=(),
    domains=tuple(replace(row, free=(row.free or 0) * 500, total=row.total * 1000) for row in TOPO.domains),
    nodes=tuple(replace(row, free=(row.free or 0) * 500, total=row.total * 1000) for row in TOPO.nodes),
    outside=(),
    resource="cpu",
    gang="default/job",
    desired_offer_slot=2,
)
NO_TOPO = TopologyReport(
    verdict="no",
    basis=BASIS,
    warnings=(Notice("no-topology", "there is no ClusterNetworkTopology named default."), ASSUMED),
    layers=(),
    domains=(),
    outside=(),
    nodes=(),
    resource="cpu",
)

WHY = WhyReport(
    verdict="no",
    basis=BASIS,
    warnings=(ASSUMED,),
    gang="default/job",
    gang_group=("default/job", "default/ps"),
    pending_pods=("default/job-0", "default/job-1", "default/job-2", "default/job-3"),
    bound_pods=0,
    min_member=4,
    must_gather="SpineLayer",
    desired_offer_slot=4,
    domains=(
        SlotRow("SpineLayer", "spine-2", 2, 2, "has 3 nodes only: can never take 4"),
        SlotRow(
            "SpineLayer", "spine-0", 3, 1, "node-0: low-0, node-1: low-1, node-2: low-2 (8 CPU each, priority 1000)"
        ),
        SlotRow("SpineLayer", "spine-1", 3, 1, "node-5: low-5 (8 CPU, priority 1000)", WhatIf(3, 3, 4, 4)),
    ),
    placement=None,
    cause=Cause("insufficient-slots", "no spine has room for its 4 pods; the best has 3.", ("default/job-0",)),
    also_wrong=("quota",),
    also=(Cause("quota", "q is full."),),
    unblock=(
        WayOut(
            "wait-for-preemption",
            "Wait: the scheduler will preempt default/low-5 and place the gang in spine-1",
            "kubectl koord preempt job --dry-run",
        ),
        WayOut("free-pods", "Evict 1 lower-priority pod in spine-0: default/low-0 on node-0 (8 CPU, priority 1000)"),
        WayOut("free-pods", "Evict 1 lower-priority pod in spine-1: default/low-5 on node-5 (8 CPU, priority 1000)"),
    ),
    scheduler_says=SchedulerSays(
        "no candidate topology nodes can take job",
        "2026-11-20T09:55:00Z",
        agrees=False,
        pod="default/job-0",
        last_seen="2026-11-20T09:54:59.5Z",
        reads="the scheduler counted 3 of 4 slots in spine-1",
        now="it is 4 of 4",
        retry="it tries again soon",
        texts=(SaidText("no candidate topology nodes can take job", ("default/job-0",)),),
    ),
    alternatives=(
        WhyAlternative(
            "job-0 is tried first",
            "yes",
            (SlotRow("SpineLayer", "spine-1", 4, 0, "nothing"),),
            {"default/job-0": "node-8"},
        ),
        WhyAlternative("job-1 is tried first", "no", cause=Cause("quota", "the quota team-a is used up.", ("a/b",))),
    ),
    funnel=Funnel(12, (("cordoned", 1), ("insufficient CPU", 2)), 9, (("not cordoned", 11), ("with 8 CPU free", 9))),
    requests="8 CPU",
    shapes=(PodShape(4, "8 CPU", {"cpu": "8"}),),
    next_steps=(WayOut("add-pods", "Create 1 missing pod: check the controller of the job"),),
    waiting={"cpu": "32", "memory": "8Gi"},
    waiting_for="32 CPU",
    waiting_since="2026-11-20T09:30:00Z",
    nodes=(
        NodeReason("node-0", "block-0", 0, "insufficient CPU"),
        NodeReason("node-1", "block-0", 4, ""),
    ),
)
PLACED = WhyReport(
    verdict="yes",
    basis=BASIS,
    warnings=(),
    gang="default/job",
    gang_group=("default/job",),
    pending_pods=("default/job-0", "default/job-1", "default/job-2"),
    bound_pods=0,
    min_member=3,
    must_gather="SpineLayer",
    desired_offer_slot=3,
    domains=(),
    placement={"default/job-0": "node-4", "default/job-1": "node-5", "default/job-2": "node-4"},
    cause=Cause("waiting-for-retry", "The scheduler has not tried again yet."),
    also_wrong=(),
    unblock=(),
    scheduler_says=None,
)
LONE = WhyReport(
    verdict="unknown",
    basis=Basis("1.7", "as requested", "2026-11-20T10:00:00Z", "snapshot.json"),
    warnings=(Notice("forbidden-list", "ElasticQuotas may not be read."),),
    gang="default/single",
    gang_group=(),
    pending_pods=("default/single",),
    bound_pods=0,
    min_member=1,
    must_gather=None,
    desired_offer_slot=None,
    domains=(),
    placement=None,
    cause=None,
    also_wrong=(),
    unblock=(),
    scheduler_says=SchedulerSays("0/12 nodes are available", "2026-11-18T10:00:00Z", agrees=None),
    funnel=Funnel(12, (("insufficient CPU", 11), ("cordoned", 1)), 0, (("not cordoned", 11), ("with 8 CPU free", 0))),
    requests="8 CPU",
    shapes=(PodShape(4, "8 CPU", {"cpu": "8"}),),
    lone_pod=True,
    waiting={"nvidia.com/gpu": "8", "cpu": "8"},
    waiting_for="8 GPU",
    waiting_since="2026-11-18T10:00:00Z",
    no_way_out="whether anything helps depends on quotas, which is not evaluated.",
)
PENDING = PendingGangsReport(
    "no",
    BASIS,
    (ASSUMED,),
    (WHY, PLACED, LONE),
    by_cause((WHY, PLACED, LONE)),
    (Contention("default/job", ("default/a", "default/b")),),
)

_LOW_0 = Victim(
    pod="default/low-0",
    node="node-0",
    priority=1000,
    gang="default/low",
    owner="job/low",
    age_seconds=7300,
    pod_disruption_budget=BudgetHit("default/low-pdb", violated=True),
    domain="spine-0",
    eviction="accepted",
)
_LOW_1 = Victim(
    pod="default/low-1",
    node="node-1",
    priority=1000,
    gang=None,
    owner="replicaset/web",
    age_seconds=None,
    pod_disruption_budget=None,
    domain="spine-0",
    wasted=True,
)
PREEMPT = PreemptReport(
    verdict="unknown",
    basis=BASIS,
    warnings=(ASSUMED,),
    gang="default/job",
    gang_group=("default/job",),
    priority=9000,
    eligible=True,
    reason=None,
    helps=False,
    victims=(_LOW_0,),
    broken_gangs=(BrokenGang("default/low", 4, 4, 3),),
    nominations={"default/job-0": "node-0", "default/job-1": "node-0"},
    rounds=(
        Round((_LOW_0,), {"default/job-0": "node-0", "default/job-1": "node-0"}),
        Round((_LOW_1,), {"default/job-1": "node-1"}),
    ),
    message="default/job: preemption kills 2 pods in 2 attempts, and the gang still cannot run.",
    alternatives=(
        PreemptAlternative(
            "node-1 is tried first",
            "no",
            (_LOW_1,),
            {"default/job-0": "node-1"},
            (Round((_LOW_1,), {"default/job-0": "node-1"}),),
            helps=False,
            reason="not-helpful",
            broken_gangs=(BrokenGang("default/low", 4, 4, 3),),
        ),
    ),
)
NOT_NEEDED = PreemptReport(
    verdict="yes",
    basis=BASIS,
    warnings=(),
    gang="default/job",
    gang_group=(),
    priority=None,
    eligible=False,
    reason="not-needed",
    helps=None,
    victims=(),
    broken_gangs=(),
    nominations={},
    rounds=(),
    message="",
)

CHANGE = ChangePlan(
    verdict="yes",
    basis=BASIS,
    warnings=(ASSUMED,),
    changes=(
        Change(
            ObjectName("PodGroup", "default", "job"),
            {"spec.minMember": 4, "spec.mode": None},
            {"spec.minMember": 3, "spec.mode": "Strict"},
            {"spec": {"minMember": 3, "mode": "Strict"}, "metadata": {"finalizers": ["a"]}},
            "1234",
        ),
    ),
    applied=False,
    effect=Effect(
        VerdictSummary("no", "unknown-layer", "no such layer."), VerdictSummary("yes", None, "it would be placed.")
    ),
    dry_run="client",
)

PREEMPTED = WhyPreemptedReport(
    verdict="yes",
    basis=BASIS,
    warnings=(Notice("member-by-name", "membership of deleted pods is inferred from their names: default/low-1."),),
    asked="default/low",
    is_pod=False,
    pods=(
        PreemptedPod(
            "default/low-0",
            "node-0",
            1000,
            "default/low",
            "2026-11-20T09:55:00Z",
            "job-preemption",
            "default/hp",
            "default/hp-1",
            9000,
            "pending",
            (Evidence("condition", "koord-scheduler: preempting to accommodate higher priority pods"),),
            "terminating",
        ),
        PreemptedPod(
            "default/low-1",
            "node-1",
            None,
            None,
            "2026-11-20T09:50:00.25Z",
            None,
            "other/big",
            "other/big",
            None,
            "gone",
            (Evidence("event", "Preempted by pod 1-2 on node node-1"),),
            "gone",
            member_by_name=True,
        ),
    ),
    preemptors=(
        Preemptor("default/hp", "pending", 9000, 0, 2, 2, 1),
        Preemptor("other/big", "gone", None, 0, 0, None, 1),
    ),
)
NOT_PREEMPTED = WhyPreemptedReport("no", BASIS, (), "default/low-0", True, (), (), "no event tells of one.")  # noqa: FBT003

_GPU = {"koordinator.sh/gpu-core": 100, "koordinator.sh/gpu-memory": 80 << 30}
_HALF_GPU = {name: amount // 2 for name, amount in _GPU.items()}
_NO_GPU = dict.fromkeys(_GPU, 0)
_NIC = {"koordinator.sh/rdma": 100}
_SHARED = (Holder("reservation", "kept", 50),)
_OF_GPU = TypeTotal("gpu", 4, 1, 1, 1, 1, 50, (DeviceRoom(1, 1), DeviceRoom(2, 0)))
_OF_RDMA = TypeTotal("rdma", 1, 0, 1, 0, 0, 0, (DeviceRoom(1, 1),))
DEVICES = DevicesReport(
    verdict="yes",
    basis=BASIS,
    warnings=(ASSUMED,),
    nodes=(
        NodeCards(
            "node-0",
            SPINES[0],
            "",
            "present",
            (
                device("gpu", 0, "GPU-0", _GPU, _HALF_GPU, (), 50, _SHARED, 1, "pci1"),
                device("rdma", 0, "", _NIC, _NIC, (), 100),
            ),
            ("nvidia.com/gpu",),
        ),
        NodeCards(
            "node-1",
            SPINES[1],
            "cordoned",
            "present",
            (
                device(
                    "gpu", 0, "GPU-2", _GPU, _NO_GPU, ("a/whole",), 0, (Holder("pod", "a/whole", 100),), healthy=False
                ),
            ),
        ),
    ),
    devices=(_OF_GPU, _OF_RDMA),
    domains=(
        DomainCards("ClusterTopologyLayer", "", None, 5, (_OF_GPU, _OF_RDMA)),
        DomainCards(
            "SpineLayer",
            "spine-0",
            ROOT,
            1,
            (TypeTotal("gpu", 2, 0, 1, 0, 1, 50, (DeviceRoom(1, 1), DeviceRoom(2, 0))),),
        ),
        DomainCards("SpineLayer", "spine-1", ROOT, 4, ()),
    ),
    without_devices=2,
)
ODD_DEVICES = DevicesReport(
    verdict="yes",
    basis=BASIS,
    warnings=(),
    nodes=(
        NodeCards("node-1", SPINES[1], "", "present", (), unlisted=(UnlistedCard("gpu", 7, ("a/lost",)),)),
        NodeCards("node-2", SPINES[1], "", "empty", (), ("nvidia.com/gpu",)),
        NodeCards("node-3", SPINES[1], "", "missing", (), ("nvidia.com/gpu",)),
        NodeCards("node-4", SPINES[1], "", "empty", ()),
        NodeCards("node-8", None, "not ready", "present", (device("gpu", 0, "GPU-4", _GPU, None, None, None, None),)),
    ),
    devices=(TypeTotal("gpu", 1, 0, None, None, None, None),),
    domains=(DomainCards("ClusterTopologyLayer", "", None, 5, ()),),
)
NO_DEVICES = DevicesReport("unknown", BASIS, (ASSUMED,), (), message="Device could not be read: you may not")

_CARDS = "nvidia.com/gpu"
_QUOTA = QuotaRow(
    "team-a",
    "company",
    "",
    is_parent=False,
    min={_CARDS: "4"},
    max={_CARDS: "16", "cpu": "64"},
    used={_CARDS: "9", "cpu": "8"},
    request={_CARDS: "24"},
    runtime={_CARDS: "8"},
    shared_weight={_CARDS: "16"},
    non_preemptible_used={},
    children=(),
    namespace="default",
    depth=2,
    borrowed=(Share(_CARDS, "5", ("team-b",)),),
)
QUOTAS = QuotaTreeReport(
    verdict="yes",
    basis=BASIS,
    warnings=(ASSUMED,),
    quotas=(
        replace(_QUOTA, name="root", depth=0, built_in=True, total={_CARDS: "32"}, borrowed=()),
        replace(_QUOTA, name="company", depth=1, tree="gpus", borrowed=(), fault="cycle", lends=False),
        _QUOTA,
        replace(_QUOTA, name="team-b", borrowed=(), lent=(Share(_CARDS, "5", ("team-a",), exact=False),), used=None),
        replace(_QUOTA, name="idle", depth=1, built_in=True, used={}, request={}, borrowed=()),
    ),
    message="1 quota holds back 8 GPU of 1 gang (1 pod).",
    resource=_CARDS,
    held_back=(
        HeldBack("team-a", {_CARDS: "8"}, (Hold("train/job", ("train/job-1",), 2, (_CARDS,), {_CARDS: "8"}),), "8 GPU"),
        HeldBack("team-b", {}, (Hold("train/lone", ("train/lone",), 1, (_CARDS,), {}, lone_pod=True),)),
    ),
    findings=(
        QuotaFinding("quota-cycle", "error", "company", "it is below itself: company < company.", "Correct the label."),
        QuotaFinding("quota-over-used", "warning", "team-a", "it uses more than its runtime: 9 of 8 GPU.", "Wait."),
    ),
    over_use=OverUse(
        on=True,
        message="The over-use controller is on.",
        evicts=(
            Eviction("team-a", (_CARDS,), (QuotaPod("train/old", "n1", 5, {_CARDS: "1"}),)),
            Eviction("team-b", (_CARDS,), ()),
        ),
    ),
    headroom=Headroom(
        "train/job",
        2,
        1,
        "Quotas admit 1 of 2 pending pods of train/job.",
        "team-a",
        (_CARDS,),
        (
            ChainLevel("team-a", _CARDS, "8", "9", "8", 0, checked=True),
            ChainLevel("company", "", "", "", "", None, checked=False),
        ),
    ),
)
QUOTA = replace(
    QUOTAS,
    asked="team-a",
    headroom=None,
    over_use=OverUse(on=False, message="The over-use controller is off."),
    pods=(
        QuotaPod("train/old", "n1", 5, {_CARDS: "1"}),
        QuotaPod("train/job-1", "", 9, {_CARDS: "8", "cpu": "4"}, "train/job", lacks="quota team-a has no room."),
    ),
)
NO_QUOTAS = QuotaTreeReport("unknown", BASIS, (ASSUMED,), (), "Cannot show quotas: ElasticQuota could not be read.")

SCHEDULER = SchedulerReport(
    "no",
    BASIS,
    (ASSUMED,),
    "gang",
    "koord-scheduler-0",
    (Compared("train/job", (Field("mode", "Strict", "NonStrict"),), (Difference("unexplained", "mode: why"),)),),
    message="Pod could not be read: you may not",
)
SCHEDULER_LOG = SchedulerLogReport(
    "yes",
    "diagnosis",
    (
        LoggedPod(
            "train/job-0",
            "1122 10:00:00",
            1,
            scores=(Scored("n1", 9, {"Fit": 9}), Scored("n2", 8, {"Fit": 8})),
            refused=(RefusedByPlugin("Fit", "full", ("n3",), 1, preempt=True),),
            said=("no room",),
            gang="train/job",
            slots={"n1": 1},
        ),
    ),
    lines=9,
    broken=1,
)

REPORTS: dict[str, Report] = {
    "topo": TOPO,
    "topo for a gang": TOPO_FOR,
    "topo with whole cards": replace(
        TOPO,
        whole=True,
        domains=tuple(replace(row, whole=row.nodes) for row in TOPO.domains),
        nodes=tuple(replace(row, whole=None) for row in TOPO.nodes),
    ),
    "no topo": NO_TOPO,
    "devices": DEVICES,
    "odd devices": ODD_DEVICES,
    "no devices": NO_DEVICES,
    "quotas": replace(QUOTAS, held_back=(), findings=(), over_use=None, headroom=None, quotas=QUOTAS.quotas[2:3]),
    "one quota": replace(
        QUOTA, held_back=(), findings=(), over_use=None, quotas=(replace(_QUOTA, borrowed=()),), pods=QUOTA.pods[:1]
    ),
    "no quotas": NO_QUOTAS,
    "why": WHY,
    "placed": PLACED,
    "lone": LONE,
    "pending": PENDING,
    "preempt": PREEMPT,
    "not needed": NOT_NEEDED,
    "preempted": PREEMPTED,
    "not preempted": NOT_PREEMPTED,
    "change": CHANGE,
    "scheduler": SCHEDULER,
    "routes of the scheduler": replace(SCHEDULER, part="services", items=(), routes=("/apis/v1/__services__",)),
    "log of the scheduler": SCHEDULER_LOG,
}

PIPE = OutputStyle(terminal=False, width=0, colour=False, unicode=True)
TERMINAL = OutputStyle(terminal=True, width=80, colour=False, unicode=True)
ASCII_TERMINAL = OutputStyle(terminal=True, width=80, colour=False, unicode=False)
