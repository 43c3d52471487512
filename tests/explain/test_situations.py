"""What people ask about in public threads, drawn anew: the cause that one can act on, and what to do first."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec import Struct

from kubectl_koord.model.load import NodeMetric
from kubectl_koord.model.pods import HostPort, PodTerm, Spread
from kubectl_koord.model.quotas import QuotaSettings
from kubectl_koord.model.values import Selector, Taint
from kubectl_koord.reports.jobs import WhyReport
from tests.build import (
    BLOCK,
    SPINE,
    Drawing,
    card,
    cluster,
    cpus,
    devices,
    having,
    nic,
    rules,
    why_of,
)

HOST = "kubernetes.io/hostname"
ROW = "s0: b0[a1:32 a2:32]"
TWO_SPINES = "s0: b0[a1:32 a2:32] b1[a3:32 a4:32]; s1: b2[c1:32 c2:32] b3[c3:32 c4:32]"
APP = having(app="ps")


def offering(drawing: Drawing, *names: str, each: int = 8, resource: str = "nvidia.com/gpu") -> Drawing:
    """Let nodes offer so many cards, all where none is named."""
    for name in names or tuple(drawing.nodes):
        room = dict(drawing.nodes[name].allocatable) | {resource: each}
        drawing = drawing.change(name, allocatable=tuple(sorted(room.items())))
    return drawing


def asking(number: int, resource: str = "nvidia.com/gpu") -> dict[str, Any]:
    return {"requests": tuple(sorted((("cpu", 1000), (resource, number))))}


GPUS = offering(cluster(ROW))
SPINES = offering(cluster(TWO_SPINES))
ALL = asking(8)


def named_by_host(drawing: Drawing) -> Drawing:
    for name in drawing.nodes:
        drawing = drawing.label(name, **{HOST: name})
    return drawing


def renamed(drawing: Drawing) -> Drawing:
    for name, node in drawing.nodes.items():
        labels = tuple((key.replace("network/", "fabric/"), value) for key, value in node.labels)
        drawing = drawing.change(name, labels=labels)
    return drawing


class Situation(Struct, frozen=True):
    """A cluster, whom one asks about, words of the verdict's sentence, the first thing to do, and a warning if any."""

    drawing: Drawing
    asked: str
    says: str
    first: str
    verdict: str = "no"
    warns: str = ""


def _labels() -> dict[str, Situation]:
    short = offering(cluster("s0: b0[a1:32 a2:32 a3:32]; -: -[a4:32]"))
    own = cluster("s0: b0[a1:32 a2:32]; -: -[cp:32]").taint("cp", "node-role.kubernetes.io/control-plane")
    own = offering(own, "a1", "a2").with_running("x", "a1", **ALL)
    product = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}
    a100 = GPUS.label("a1", **product).label("a2", **product)
    return {
        "a node lacks the label of its spine": Situation(
            short.with_gang("llm", 4, must_gather=SPINE, **ALL),
            "llm",
            "Node a4 would take 1, but is in no spine: it lacks the label network/spine.",
            "Label a4 network/spine=s0, if that is where it stands in the network",
        ),
        "all labels are renamed": Situation(
            renamed(SPINES).with_gang("llm", 3, must_gather=BLOCK, **ALL),
            "llm",
            "no node is in any block: 8 nodes lack the label network/block, and have fabric/block and fabric/spine",
            "let the ClusterNetworkTopology name the labels that nodes have: fabric/spine for SpineLayer",
        ),
        "what could not have helped is not named": Situation(
            own.with_gang("g", 2, must_gather=SPINE, **ALL),
            "g",
            "no spine has room for its 2 pods; the best has 1.",
            "Add 1 node like a1 in spine s0",
        ),
        "a product is named by a part of its name": Situation(
            a100.with_gang("ft", 2, must_gather=SPINE, node_selector=(("nvidia.com/gpu.product", "A100-SXM4"),), **ALL),
            "ft",
            "No node has the label nvidia.com/gpu.product=A100-SXM4; 2 nodes have nvidia.com/gpu.product=NVIDIA-A100",
            "Ask for nodes with nvidia.com/gpu.product=NVIDIA-A100-SXM4-80GB instead of",
        ),
        "a node that is gone is asked for": Situation(
            named_by_host(GPUS).with_pod("pin", node_selector=((HOST, "a7"),), **ALL),
            "pod/pin",
            "No node has the label kubernetes.io/hostname=a7.",
            "Correct kubernetes.io/hostname=a7 in the node selector or affinity of the manifest",
        ),
    }


def _room() -> dict[str, Situation]:
    memory = (("cpu", 32000), ("memory", 100 << 30), ("pods", 110))
    loaded = cluster(ROW).change(
        "a1", "a2", allocatable=memory, metric=NodeMetric((("cpu", 1000), ("memory", 96 << 30)))
    )
    scattered = cluster("s0: b0[a1 a2 a3]")
    for number in (1, 2, 3):
        scattered = scattered.with_running(f"r{number}", f"a{number}", 5, owner="ReplicaSet/r")
    lost = offering(GPUS, "a2", each=7).change("a2", lost=(("nvidia.com/gpu", 1),))
    gone = Taint("node.kubernetes.io/unreachable", "", "NoExecute")
    dead = GPUS.change("a1", taints=(gone,), ready=False)
    dead = dead.with_running("st", "a1", terminating=True, owner="StatefulSet/st", **ALL)
    dead = dead.with_running("hi", "a2", priority=100, owner="Job/hi", **ALL)
    held = offering(cluster("s0: b0[a1]"), each=100, resource="koordinator.sh/rdma").change(
        "a1", devices=devices(nic())
    )
    held = held.with_running("n", "a1", **asking(100, "koordinator.sh/rdma"))
    pressed = GPUS.taint("a1", "node.kubernetes.io/disk-pressure").taint("a2", "node.kubernetes.io/memory-pressure")
    going = GPUS.taint("a1", "ToBeDeletedByClusterAutoscaler", "17600").taint("a2", "karpenter.sh/disrupted")
    return {
        "memory is above the threshold of load": Situation(
            loaded.with_pod("web", cpu=2, priority=9500),
            "pod/web",
            "memory usage 96 % above 95 % (2 nodes)",
            "Raise the load threshold of node a1 for memory from 95 to 96 %",
        ),
        "CPU is free, but scattered": Situation(
            scattered.with_pod("big", cpu=8),
            "pod/big",
            "9 CPU are free, at most 3 on a node",
            "Add 1 node like a1",
        ),
        "a card is lost": Situation(
            lost.with_gang("l", 2, must_gather=SPINE, **ALL),
            "l",
            "its 2 pods (8 GPU and 1 CPU) do not fit even in an empty spine",
            "Bring back 1 GPU of a2",
        ),
        "a card is held, and no annotation says which": Situation(
            held.with_gang("ib", 1, **asking(100, "koordinator.sh/rdma")),
            "ib",
            "no node fits default/ib-0",
            "Add 1 node like a1",
            warns="default/n holds 1 RDMA on a1, and no annotation says which: DeviceShare takes these cards for free",
        ),
        "a node is gone, and its pod cannot end": Situation(
            dead.with_pod("next", **ALL), "pod/next", "insufficient GPU (1 node)", "Bring back a1, which is not ready"
        ),
        "an autoscaler takes the nodes away": Situation(
            going.with_gang("m", 2, **ALL),
            "m",
            "taint ToBeDeletedByClusterAutoscaler=17600:NoSchedule (1 node)",
            "Add 2 nodes like a1",
        ),
        "nodes are under pressure": Situation(
            pressed.with_gang("m", 2, **ALL),
            "m",
            "taint node.kubernetes.io/disk-pressure:NoSchedule (1 node)",
            "Find out why a1 and a2 have taint node.kubernetes.io/disk-pressure and node.kubernetes.io/memory-pressure",
        ),
        "the agent of the network is not ready": Situation(
            offering(cluster("s0: b0[a1:32]")).taint("a1", "node.cilium.io/agent-not-ready").with_pod("p", **ALL),
            "pod/p",
            "taint node.cilium.io/agent-not-ready:NoSchedule (1 node)",
            "Find out why a1 has taint node.cilium.io/agent-not-ready: who set it takes it away",
        ),
        "a job is larger than any spine": Situation(
            SPINES.with_gang("xl", 6, must_gather=SPINE, **ALL),
            "xl",
            "its 6 pods (8 GPU and 1 CPU) do not fit even in an empty spine; waiting does not help.",
            "Use PreferGather instead of MustGather",
        ),
        "a multiple does not divide": Situation(
            SPINES.with_gang("mu", 3, topology=rules("MustGather SpineLayer", "PreferGather BlockLayer x2"), **ALL),
            "mu",
            "its 3 pods cannot be split by podCountMultiple 2 of BlockLayer (room for 4).",
            "Lower podCountMultiple of BlockLayer from 2 to 1",
        ),
        "nodes are cordoned for maintenance": Situation(
            SPINES.cordon("a1", "a2").with_running("x", "c1", **ALL).with_gang("m", 4, must_gather=SPINE, **ALL),
            "m",
            "the best has 3; excluded nodes: cordoned (2 nodes).",
            "Uncordon all of a1 and a2",
        ),
    }


def _apart() -> dict[str, Situation]:
    hosts = named_by_host(GPUS)
    agents = hosts.with_running("dcgm-1", "a1", of_daemon_set=True, labels=(("app", "dcgm"),))
    agents = agents.with_running("dcgm-2", "a2", of_daemon_set=True, labels=(("app", "dcgm"),))
    zones = GPUS.label("a1", zone="x").label("a2", zone="x")
    even = Spread("zone", 1, APP, min_domains=2)
    return {
        "members take the same host port": Situation(
            GPUS.with_gang("ray", 3, ports=(HostPort(6379),), **asking(1)),
            "ray",
            "they exclude each other on 2 nodes: each takes host port 6379 of its node.",
            "Take no host ports in the manifest and recreate the pods",
        ),
        "members keep apart": Situation(
            hosts.with_gang("ps", 3, labels=(("app", "ps"),), pod_anti_affinity=(PodTerm(HOST, APP),), **asking(1)),
            "ps",
            "their pod anti-affinity keeps them apart.",
            "Prefer to be apart instead of requiring it (podAntiAffinity) in the manifest and recreate the pods",
        ),
        "nodes are to be exclusive, and each has an agent": Situation(
            agents.with_gang("ex", 2, pod_anti_affinity=(PodTerm(HOST, Selector()),), **ALL),
            "ex",
            "pod anti-affinity (2 nodes)",
            "Prefer to be apart instead of requiring it",
        ),
        "a spread wants more zones than there are": Situation(
            zones.with_gang("sp", 3, labels=(("app", "ps"),), spread=(even,), **asking(1)),
            "sp",
            "only 1 of its 3 pods fits",
            "Use whenUnsatisfiable ScheduleAnyway for topologySpreadConstraints in the manifest",
        ),
    }


def _resources() -> dict[str, Situation]:
    amd = cluster(ROW).label("a1", **{"amd.com/gpu.product-name": "MI300X"})
    parts = (("koordinator.sh/gpu-core", 50), ("koordinator.sh/gpu-memory-ratio", 50), ("koordinator.sh/gpu.shared", 1))
    room = (*cpus(8), ("koordinator.sh/gpu-core", 100), ("koordinator.sh/gpu-memory-ratio", 100), ("pods", 110))
    shared = cluster("s0: b0[a1]").change("a1", allocatable=room, devices=devices(card()))
    return {
        "no device plugin runs": Situation(
            amd.with_gang("hip", 2, **asking(4, "amd.com/gpu")),
            "hip",
            "a1 should, by label amd.com/gpu.product-name=MI300X; no pod of a device plugin is ready on a1.",
            "Check why the device plugin does not publish them on a1",
        ),
        "a resource is misspelt": Situation(
            GPUS.with_pod("p", **asking(1, "nvidia.com/gpus")),
            "pod/p",
            "nodes offer nvidia.com/gpu: was that meant?",
            "Request nvidia.com/gpu in place of nvidia.com/gpus",
        ),
        "a profile of MIG": Situation(
            GPUS.with_pod("p", **asking(1, "nvidia.com/mig-1g.5gb")),
            "pod/p",
            "no node offers nvidia.com/mig-1g.5gb",
            "Divide GPUs by MIG: label a node nvidia.com/mig.config",
        ),
        "a GPU shared in time": Situation(
            GPUS.with_pod("p", **asking(1, "nvidia.com/gpu.shared")),
            "pod/p",
            "no node offers nvidia.com/gpu.shared",
            "Share GPUs in the configuration of NVIDIA's device plugin",
        ),
        "huge pages": Situation(
            GPUS.with_pod("p", requests=(("cpu", 1000), ("hugepages-1Gi", 4 << 30))),
            "pod/p",
            "no node offers hugepages-1Gi",
            "Reserve huge pages of this size on nodes",
        ),
        "batch CPU without colocation": Situation(
            cluster(ROW).with_pod("p", requests=(("kubernetes.io/batch-cpu", 4000),), priority=5500),
            "pod/p",
            "no node offers kubernetes.io/batch-cpu",
            "Turn colocation on in ConfigMap slo-controller-config",
        ),
        "parts of GPUs without the feature gate": Situation(
            shared.with_pod("p", requests=parts),
            "pod/p",
            "no node offers koordinator.sh/gpu.shared",
            "Start koord-manager with feature gate EnableSyncGPUSharedResource=true",
        ),
    }


def _gangs() -> dict[str, Situation]:
    said = "0/8 nodes are available: 8 Insufficient nvidia.com/gpu."
    team = cluster(ROW).with_quota("root", cpu=40, min=cpus(20), is_parent=True)
    team = team.with_quota("team", "default", cpu=10, min=cpus(4), parent="root").with_running("w", "a1", 9)
    scaled = cluster("s0: b0[a1:20]").configured(quotas=QuotaSettings(scale_min=True))
    scaled = scaled.with_quota("a", "default", cpu=20, min=cpus(20)).with_quota("b", "team-b", cpu=20, min=cpus(20))
    scaled = scaled.with_running("team-b/x", "a1", 8).with_pod("team-b/y", cpu=4).with_running("w", "a1", 8)
    revoking = cluster(ROW).configured(quotas=QuotaSettings(check_parents=True, evict_after="5s", revokes=True))
    revoking = revoking.with_quota("team", cpu=10, min=cpus(10), is_parent=True)
    revoking = revoking.with_quota("a", "default", cpu=10, min=cpus(10), parent="team")
    revoking = revoking.with_quota("b", "team-b", cpu=10, parent="team").with_running("team-b/low", "a1", 8)
    ran = SPINES.with_gang("run", 0, minimum=2, must_gather=BLOCK)
    for number in (0, 1):
        ran = ran.with_running(f"run-{number}", f"a{number + 1}", gang="default/run", **ALL)
    return {
        "the PodGroup is in another namespace": Situation(
            GPUS.with_group("team/pg", 2).with_pod("a", gang="pg", **ALL),
            "pg",
            "PodGroup pg, which does not exist. There is one in namespace team; it counts for the pods of that alone.",
            "Create PodGroup pg in namespace default",
        ),
        "the PodGroup is misspelt": Situation(
            GPUS.with_group("llama-train", 2).with_pod("a", gang="llama-tran", **ALL),
            "llama-tran",
            "PodGroup llama-tran, which does not exist. There is llama-train: was that meant?",
            "Create PodGroup llama-tran in namespace default",
        ),
        "the only PodGroup without pods has another name": Situation(
            GPUS.with_group("llm", 2).with_pod("a", gang="job-1", **ALL),
            "job-1",
            "PodGroup job-1, which does not exist. There is llm: was that meant?",
            "Create PodGroup job-1 in namespace default",
        ),
        "fewer pods than minMember": Situation(
            SPINES.with_gang("mm", 2, minimum=4, **ALL),
            "mm",
            "it has 2 of the 4 pods it needs.",
            "Lower minMember to 2",
        ),
        "its quota has too little": Situation(
            team.with_pod("q", cpu=3),
            "pod/q",
            "quota team: 9 CPU in use, 10 allowed (its max); default/q wants 3 CPU more.",
            "Raise max of quota team (CPU from 10 to 12)",
        ),
        "the scheduler has not tried it again": Situation(
            SPINES.with_gang("r", 2, must_gather=BLOCK, **ALL).with_message("r-0", said),
            "r",
            "it would be placed now, but the scheduler has not retried yet",
            "Set minMember above the number of its pods and back",
            "yes",
        ),
        "preemption is forbidden to it": Situation(
            offering(cluster("s0: b0[a1:32]"))
            .with_running("lo", "a1", owner="Job/lo", **ALL)
            .with_pod("hi", priority=1000, never_preempts=True, **ALL),
            "pod/hi",
            "insufficient GPU (1 node)",
            "Evict 1 lower-priority pod: default/lo on a1",
            warns="could preempt 1 pod (default/lo) and then run, but for its preemptionPolicy Never.",
        ),
        "minimums are more than there is": Situation(
            scaled.with_pod("q", cpu=4),
            "pod/q",
            "its min of 20 counts as 10, as it and those beside it are together more than there is",
            "Run in quota b: set label quota.scheduling.koordinator.sh/name",
        ),
        "who uses too much is evicted soon": Situation(
            revoking.with_pod("q", cpu=6),
            "pod/q",
            "quota team (above a): 8 CPU in use, 10 allowed (its max); default/q wants 6 CPU more.",
            "Wait: the over-use controller evicts team-b/low once quota b has been above its runtime for 5s",
        ),
        "a pod of a gang is made anew, and its block is full": Situation(
            ran.with_members(("run-2",), gang="run", **ALL),
            "run",
            "it starts, unless koord-scheduler was restarted since.",
            "Still pending after a minute? Touch the PodGroup",
            "unknown",
            "its gang must stay together in one block (MustGather BlockLayer), and is in block b0, where no node takes",
        ),
        "several want the same room": Situation(
            offering(cluster("s0: b0[a1:32]")).with_pod("p", owner="Job/p", **ALL).with_pod("q", **ALL),
            "pod/p",
            "default/q has the same priority and needs the same room: the one tried first gets it.",
            "Name a PriorityClass above theirs in the pod template of Job/p and recreate the pod, or make room for all",
            "unknown",
        ),
        "room is reserved for others": Situation(
            cluster("s0: b0[a1:32]").with_reservation("res", "a1", 30, app="other").with_pod("p", cpu=20),
            "pod/p",
            "insufficient CPU (1 node)",
            "Delete reservation res on a1 (30 CPU unused, never expires), for pods with app=other",
        ),
    }


GROUPS: tuple[Callable[[], dict[str, Situation]], ...] = (_labels, _room, _apart, _resources, _gangs)
SITUATIONS = {name: one for group in GROUPS for name, one in group().items()}


def first_step(report: WhyReport) -> str:
    return (*report.unblock, *report.next_steps)[0].message


@pytest.mark.parametrize("name", SITUATIONS)
def test_the_cause_is_said_and_what_helps_stands_first(name: str) -> None:
    one = SITUATIONS[name]
    report = why_of(one.drawing, one.asked)
    assert report.cause is not None
    assert (report.verdict, one.says in report.cause.message) == (one.verdict, True), report.cause.message
    assert one.first in first_step(report), first_step(report)
    assert any(one.warns in notice.message for notice in report.warnings) or not one.warns


def test_more_than_thirty_kinds_are_asked_about() -> None:
    assert len(SITUATIONS) >= 30


GANG = "gang.scheduling.koordinator.sh/"


@pytest.mark.parametrize(
    ("annotation", "meant"),
    [
        (f"{GANG}network-topology-specs", f"{GANG}network-topology-spec"),
        (f"{GANG}topology-spec", f"{GANG}network-topology-spec"),
        ("scheduling.koordinator.sh/network-topology-spec", f"{GANG}network-topology-spec"),
        (f"{GANG}group", f"{GANG}groups"),
        (f"{GANG}mode", ""),
        (f"{GANG}timeout", ""),
        ("scheduling.koordinator.sh/note", ""),
        ("example.com/groups", ""),
    ],
)
def test_an_annotation_that_is_nearly_one_of_gangs_is_told_with_that(annotation: str, meant: str) -> None:
    drawing = GPUS.with_gang("a", 2, annotations=((annotation, "x"),), **ALL)
    told = [notice.message for notice in why_of(drawing, "a").warnings if notice.code == "misspelt-key"]
    assert told == ([f"Koordinator does not know {annotation} of default/a: was {meant} meant?"] if meant else [])


def test_a_label_that_is_nearly_that_of_gangs_is_told_of_a_pod_that_is_in_none() -> None:
    label, known = "podgroup.scheduling.sigs.k8s.io", "pod-group.scheduling.sigs.k8s.io"
    lone = why_of(GPUS.with_pod("p", labels=((label, "x"), ("app", "y"))), "pod/p")
    assert [notice.message for notice in lone.warnings if notice.code == "misspelt-key"] == [
        f"Koordinator does not know {label} of default/p: was {known} meant?"
    ]
    other = why_of(GPUS.with_pod("p", labels=((f"{known}/min-available", "x"),)), "pod/p")
    assert "misspelt-key" not in [notice.code for notice in other.warnings]


def test_moves_are_no_answer_where_no_room_is_missing() -> None:
    report = why_of(SITUATIONS["nodes are to be exclusive, and each has an agent"].drawing, "ex")
    assert [way.action for way in report.next_steps] == []
