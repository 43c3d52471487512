"""What room alone does not tell: members that exclude each other, what lies scattered, what no node offers."""

from typing import Any

import pytest

from kubectl_koord.model.objects import Claim, Storage
from kubectl_koord.model.pods import HostPort, PodTerm, Spread
from kubectl_koord.model.values import NodeTerm, Requirement
from kubectl_koord.reports.common import SelectNodes, WayOut
from kubectl_koord.reports.jobs import WhyReport
from tests.build import SPINE, Drawing, card, cluster, cpus, devices, having, why_of

HOST = "kubernetes.io/hostname"
TWO = cluster("s0: b0[n1 n2]").label("n1", **{HOST: "n1"}).label("n2", **{HOST: "n2"})
APP = (("app", "job"),)
OWN = having(app="job")


def with_storage(drawing: Drawing, claim: Claim) -> Drawing:
    return drawing.but(claims={claim.name: claim}, storage=Storage((), {}))


def told(drawing: Drawing, name: str = "job") -> tuple[str, str]:
    cause = why_of(drawing, name).cause
    assert cause is not None
    return cause.code, cause.message


def steps(report: WhyReport) -> list[tuple[str, str]]:
    return [(way.message, way.command) for way in report.next_steps]


ONLY_TWO = "only 2 of its 3 pods fit at the same time, 3 must (1 CPU each): they exclude each other on 2 nodes: "


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"ports": (HostPort(29500),)}, "each takes host port 29500 of its node"),
        ({"labels": APP, "pod_anti_affinity": (PodTerm(HOST, OWN),)}, "their pod anti-affinity keeps them apart"),
    ],
)
def test_members_that_keep_each_other_from_nodes_are_told_so(fields: dict[str, Any], why: str) -> None:
    assert told(TWO.with_gang("job", 3, 1, **fields)) == ("insufficient-capacity", f"{ONLY_TWO}{why}.")


def test_of_a_gang_that_gathers_likewise() -> None:
    gathering = TWO.with_gang("job", 3, 1, must_gather=SPINE, ports=(HostPort(29500),))
    why = "they exclude each other on 2 nodes: each takes host port 29500 of its node"
    assert told(gathering) == ("insufficient-slots", f"no spine has room for its 3 pods; the best has 2: {why}.")


def test_a_claim_for_one_pod_keeps_all_other_members_from_every_node() -> None:
    drawing = with_storage(TWO, Claim("default/data", "pv", known=True, single_pod=True))
    code, message = told(drawing.with_gang("job", 2, 1, claims=("data",)))
    assert (code, message.partition(": ")[2]) == (
        "insufficient-capacity",
        "they exclude each other on 2 nodes: volume claim default/data (ReadWriteOncePod) is for one pod.",
    )


def test_members_keep_each_other_from_the_other_nodes_of_a_zone_too() -> None:
    zoned = cluster("s: b[n1 n2 n3 n4]")
    for name in ("n1", "n2", "n3", "n4"):
        zoned = zoned.label(name, zone="a")
    code, message = told(zoned.with_gang("job", 2, 8, labels=APP, pod_anti_affinity=(PodTerm("zone", OWN),)))
    assert (code, message.partition(": ")[2]) == (
        "insufficient-capacity",
        "they exclude each other on 3 nodes: their pod anti-affinity keeps them apart.",
    )


def test_a_spread_that_lets_no_more_pods_in_is_told() -> None:
    spread = Spread(HOST, 1, OWN)
    full = TWO.with_running("low", on="n2", cpu=7)
    code, message = told(full.with_gang("job", 4, 1, labels=APP, spread=(spread,)))
    assert (code, message.partition(": ")[2]) == (
        "insufficient-capacity",
        f"they exclude each other on 1 node: their topology spread over {HOST} lets no more pods in.",
    )


def test_members_that_take_each_other_s_room_do_not_exclude_each_other() -> None:
    assert told(TWO.with_running("low", on="n2", cpu=4).with_gang("job", 4, 4))[1] == (
        "only 3 of its 4 pods fit at the same time, 4 must (4 CPU each)."
    )


def test_a_gang_that_ran_before_is_told_the_same() -> None:
    drawing = TWO.with_running("job-9", on="n1", gang="default/job", ports=(HostPort(80),))
    assert told(drawing.with_gang("job", 2, 1, minimum=1, ports=(HostPort(80),)))[1] == (
        "1 of its 2 pending pods fits (1 CPU each): they exclude each other on 1 node: each takes host port 80 of its"
        " node."
    )


GPUS = cluster("s0: b0[n1 n2 n3]").change("n1", "n2", "n3", allocatable=(*cpus(8, nvidia_gpu=4), ("pods", 110)))


def with_free(*free: int) -> Drawing:
    drawing = GPUS
    for number, left in enumerate(free, 1):
        drawing = drawing.with_running(f"low-{number}", on=f"n{number}", requests=cpus(1, nvidia_gpu=4 - left))
    return drawing


def test_cards_that_are_free_and_lie_scattered_are_counted_in_the_headline() -> None:
    job: dict[str, Any] = {"requests": cpus(1, nvidia_gpu=4)}
    assert told(with_free(2, 1, 1).with_gang("job", 1, **job)) == (
        "no-feasible-node",
        (
            "no node fits default/job-0 (4 GPU and 1 CPU): 4 GPU are free, at most 2 on a node; insufficient GPU"
            " (3 nodes)."
        ),
    )
    assert told(with_free(1, 1, 1).with_gang("job", 1, **job))[1] == (
        "no node fits default/job-0 (4 GPU and 1 CPU): insufficient GPU (3 nodes)."
    )


def test_of_a_gang_that_gathers_what_lies_scattered_is_told_where_not_one_pod_fits() -> None:
    drawing = with_free(2, 1, 1).with_gang("job", 2, must_gather=SPINE, requests=cpus(1, nvidia_gpu=4))
    assert told(drawing)[1] == ("no spine has room for even one of its 2 pods: 4 GPU are free, at most 2 on a node.")


def test_parts_of_cards_are_added_up() -> None:
    shares = (("koordinator.sh/gpu-core", 100), ("koordinator.sh/gpu-memory-ratio", 100))
    drawing = cluster("s0: b0[n1 n2]").change("n1", "n2", allocatable=(*cpus(8), *shares, ("pods", 110)))
    half = tuple((name, 50) for name, _ in shares)
    drawing = drawing.with_running("a", on="n1", requests=half).with_running("b", on="n2", requests=half)
    assert told(drawing.with_gang("job", 1, requests=shares))[1] == (
        "no node fits default/job-0 (1 GPU): 1 GPU is free, at most 0.5 on a node; insufficient GPU (2 nodes)."
    )


ASKING: dict[str, Any] = {"requests": cpus(1, nvidia_gpu=8)}
PRESENT: dict[str, str] = {"nvidia.com/gpu.present": "true"}
PUBLISHER = "Check why the device plugin does not publish them on {}: whether its pod is there, and what it logs"


def test_a_resource_that_no_node_offers_is_named_with_the_nodes_that_should_and_what_is_not_running_there() -> None:
    bare = TWO.label("n1", **PRESENT).label("n2", accelerator="a100").taint("n1", "gpu").with_pod("p", **ASKING)
    code, message = told(bare, "pod/p")
    assert (code, message) == (
        "resource-not-offered",
        (
            "no node offers nvidia.com/gpu; n1 should, by label nvidia.com/gpu.present=true and n2 should, by label"
            " accelerator=a100; no pod of a device plugin is ready on n1 and n2."
        ),
    )
    assert steps(why_of(bare, "pod/p")) == [
        (PUBLISHER.format("n1"), "kubectl get pods -A -o wide --field-selector spec.nodeName=n1")
    ]
    running = bare.with_running("kube-system/nvidia-device-plugin-x", on="n1")
    assert told(running, "pod/p")[1].endswith("; no pod of a device plugin is ready on n2.")
    assert steps(why_of(running, "pod/p"))[0][0] == PUBLISHER.format("n2")
    everywhere = running.with_running("kube-system/nvidia-device-plugin-y", on="n2")
    assert told(everywhere, "pod/p")[1].endswith("by label accelerator=a100.")
    assert steps(why_of(everywhere, "pod/p"))[0][0] == PUBLISHER.format("n1")


def test_a_label_that_says_no_is_none_and_that_of_another_maker_neither() -> None:
    labelled = TWO.label("n1", **{"nvidia.com/gpu.present": "false"}).label("n2", **PRESENT)
    assert told(labelled.with_pod("p", requests=(("amd.com/gpu", 1),)), "pod/p")[1] == (
        "no node offers amd.com/gpu, and none has a label or a Device object that says it should."
    )
    assert why_of(labelled.with_pod("p", requests=(("amd.com/gpu", 1),)), "pod/p").next_steps == (
        WayOut("other-resource", "Check the name amd.com/gpu in the manifest, or run what offers it"),
    )


@pytest.mark.parametrize(
    ("resource", "label", "words"),
    [
        ("nvidia.com/mig-1g.5gb", "nvidia.com/mig-1g.5gb.count", "nvidia.com/mig-1g.5gb.count=7"),
        ("rdma/hca", "feature.node.kubernetes.io/rdma.capable", "feature.node.kubernetes.io/rdma.capable=7"),
        ("koordinator.sh/gpu-core", "node.koordinator.sh/gpu-model", "node.koordinator.sh/gpu-model=7"),
    ],
)
def test_labels_of_other_devices_tell_likewise(resource: str, label: str, words: str) -> None:
    drawing = TWO.label("n1", **{label: "7"}).with_pod("p", requests=((resource, 100),))
    if resource == "koordinator.sh/gpu-core":
        drawing = TWO.label("n1", **{label: "7"}).with_pod(
            "p", requests=((resource, 100), ("koordinator.sh/gpu-memory-ratio", 100))
        )
    assert f"no node offers {resource}; n1 should, by label {words}" in told(drawing, "pod/p")[1]


def test_a_node_that_reports_none_of_it_and_one_whose_device_object_lists_cards_are_named() -> None:
    drawing = TWO.change("n1", none_of=("nvidia.com/gpu",)).change("n2", devices=devices(card(0)))
    assert told(drawing.with_pod("p", **ASKING), "pod/p")[1] == (
        "no node offers nvidia.com/gpu; n1 reports 0 of it and n2 has such devices by its Device object; no pod of a"
        " device plugin is ready on n1 and n2."
    )
    both = TWO.change("n1", "n2", devices=devices(card(0)))
    shared = both.with_pod("p", requests=(("koordinator.sh/gpu-core", 50), ("koordinator.sh/gpu-memory-ratio", 50)))
    assert told(shared, "pod/p")[1] == (
        "no node offers koordinator.sh/gpu-core; n1 and n2 have such devices by their Device object; no koordlet is"
        " ready on n1 and n2."
    )


def test_a_name_that_nodes_do_offer_may_be_meant() -> None:
    drawing = GPUS.with_pod("p", requests=(("nvidia.com/gpus", 1),))
    assert told(drawing, "pod/p")[1] == "no node offers nvidia.com/gpus; nodes offer nvidia.com/gpu: was that meant?"
    assert steps(why_of(drawing, "pod/p")) == [
        ("Request nvidia.com/gpu in place of nvidia.com/gpus in the manifest, if that was meant", "")
    ]
    assert told(GPUS.with_pod("p", requests=(("nvidia.com/mig-1g.5gb", 1),)), "pod/p")[1] == (
        "no node offers nvidia.com/mig-1g.5gb; nodes offer nvidia.com/gpu: was that meant?"
    )
    assert told(GPUS.with_pod("p", requests=(("amd.com/gpu", 1),)), "pod/p")[1] == (
        "no node offers amd.com/gpu; nodes offer nvidia.com/gpu: was that meant?"
    )


def test_any_member_may_ask_for_what_no_node_offers() -> None:
    drawing = TWO.with_gang("job", 1, 1, minimum=2).with_pod("job-9", gang="job", **ASKING)
    report = why_of(drawing)
    assert report.cause is not None
    assert (report.cause.code, report.cause.pods) == ("resource-not-offered", ("default/job-9",))


def test_where_pods_could_not_be_read_nothing_is_said_not_to_run() -> None:
    report = why_of(TWO.label("n1", **PRESENT).with_pod("p", **ASKING).with_gap("Pod"), "pod/p")
    assert report.verdict == "unknown"


def test_taints_do_not_hide_that_no_node_offers_it() -> None:
    tainted = TWO.taint("n1", "a").taint("n2", "a")
    assert told(tainted.with_pod("p", **ASKING), "pod/p")[0] == "resource-not-offered"


def test_cards_that_no_device_object_lists_are_told_with_the_nodes_that_offer_them() -> None:
    empty = GPUS.change("n1", "n2", "n3", devices=devices())
    drawing = empty.with_pod("p", requests=cpus(1, nvidia_gpu=2))
    assert told(drawing, "pod/p") == (
        "resource-not-offered",
        (
            "no Device object lists a GPU, though n1, n2 and n3 offer nvidia.com/gpu; no koordlet is ready on n1, n2"
            " and n3."
        ),
    )
    for name in ("n1", "n2", "n3"):
        drawing = drawing.with_running(f"koordinator-system/koordlet-{name}", on=name)
    assert told(drawing, "pod/p")[1].endswith("offer nvidia.com/gpu; koordlet fills it from NVML, see its log.")
    assert steps(why_of(drawing, "pod/p"))[0][0].startswith("Check why koordlet does not publish them on n1")
    one = drawing.change("n2", devices=devices(card(0), card(1)), unschedulable=True)
    assert told(one, "pod/p")[0] == "no-feasible-node"


def test_of_many_nodes_the_first_are_named() -> None:
    many = cluster("s0: b0[n1 n2 n3 n4 n5]")
    for number in range(1, 6):
        many = many.label(f"n{number}", **PRESENT)
    assert "; n1, n2, n3 and 2 more should, by label" in told(many.with_pod("p", **ASKING), "pod/p")[1]


def test_cards_that_a_node_has_lost_are_told_of_a_gang_that_wants_them() -> None:
    drawing = cluster("s: b[n1]").change("n1", lost=(("nvidia.com/gpu", 1),))
    wanting = drawing.with_pod("p", requests=(("nvidia.com/gpu", 8),))
    assert "cards-lost" in [notice.code for notice in why_of(wanting, "pod/p").warnings]
    assert "cards-lost" not in [notice.code for notice in why_of(drawing.with_pod("q", cpu=99), "pod/q").warnings]


def test_what_colocation_publishes_is_said_to_be_so() -> None:
    (step,) = why_of(TWO.with_pod("p", requests=(("kubernetes.io/batch-cpu", 1),)), "pod/p").next_steps
    assert (step.action, step.message.partition(":")[0]) == (
        "start-publisher",
        "Turn colocation on in ConfigMap slo-controller-config",
    )


ALIKE = cluster("s: b[n1 n2 n3]").label("n1", gpu="h100").label("n2", gpu="h100").label("n3", gpu="l40s")


def near_miss(drawing: Drawing, **asked: str) -> str:
    """Return what is said of a pod that selects nodes by labels, after the counts of those that refuse it."""
    message = told(drawing.with_pod("p", node_selector=tuple(asked.items())), "pod/p")[1]
    assert message.startswith("no node fits it (1 CPU): ")
    return message.partition("). ")[2]


def test_a_label_that_is_nearly_the_one_that_pods_select_by_is_named_with_how_many_nodes_have_it() -> None:
    assert near_miss(ALIKE, gpu="H100") == "No node has the label gpu=H100; 2 nodes have gpu=h100."
    assert near_miss(ALIKE, GPU="h100") == "No node has the label GPU=h100; 2 nodes have gpu=h100."
    product = cluster("s: b[n1 n2 n3]").label("n1", product="NVIDIA-A100-SXM4-80GB")
    assert near_miss(product, product="A100").endswith("1 node has product=NVIDIA-A100-SXM4-80GB.")
    assert near_miss(product, product="nvidia_a100_sxm4_80gb").endswith("1 node has product=NVIDIA-A100-SXM4-80GB.")
    pool = cluster("s: b[n1 n2 n3]").label("n2", pool="nightshift").label("n3", pool="inference")
    assert near_miss(pool, pool="nightshft") == "No node has the label pool=nightshft; 1 node has pool=nightshift."
    bare = cluster("s: b[n1 n2 n3]").change("n1", labels=(("example.com/pool", "training"),))
    assert near_miss(bare, pool="training").endswith("1 node has example.com/pool=training.")


@pytest.mark.parametrize(
    ("labels", "asked"),
    [
        ({"gpu": "h100"}, {"gpu": "h200"}),
        ({"zone": "us-east-1b"}, {"zone": "us-east-1a"}),
        ({"host": "node-12"}, {"host": "node-11"}),
        ({"pool": "training"}, {"pool": "inference"}),
        ({"pool": "training"}, {"team": "training"}),
        ({"pool": "training"}, {"pool": ""}),
    ],
)
def test_a_label_of_another_meaning_is_not_taken_for_a_misspelt_one(
    labels: dict[str, str], asked: dict[str, str]
) -> None:
    ((key, value),) = asked.items()
    assert (
        near_miss(cluster("s: b[n1 n2 n3]").label("n1", **labels), **asked) == f"No node has the label {key}={value}."
    )
    asks = Requirement("pool", "NotIn", ("Training",))
    drawing = cluster("s: b[n1]").label("n1", pool="training").cordon("n1")
    term = (NodeTerm((asks,)),)
    assert "No node has" not in told(drawing.with_pod("p", affinity=term), "pod/p")[1]


def test_of_terms_any_of_which_is_enough_no_label_is_missing_while_one_holds() -> None:
    near, there = (NodeTerm((Requirement("gpu", "In", (value,)),)) for value in ("H100", "l40s"))
    crowded = ALIKE.cordon("n3")
    assert "No node has" not in told(crowded.with_pod("p", affinity=(near, there)), "pod/p")[1]
    assert "gpu=H100; 2 nodes" in told(crowded.with_pod("p", affinity=(near,)), "pod/p")[1]


def test_the_pods_of_a_gang_with_a_topology_are_told_of_the_label_that_may_be_meant_and_what_it_helps() -> None:
    asked = NodeTerm((Requirement("gpu", "In", ("H100",)), Requirement("kubernetes.io/os", "Exists")))
    drawing = ALIKE.with_gang("job", 2, must_gather=SPINE, affinity=(asked,))
    for name in ("n1", "n2"):
        drawing = drawing.label(name, **{"kubernetes.io/os": "linux"})
    report = why_of(drawing)
    assert "No node has the label gpu=H100; 2 nodes have gpu=h100." in told(drawing)[1]
    (way,) = [one for one in report.unblock if one.action == "select-nodes"]
    assert way.message == "Ask for nodes with gpu=h100 instead of gpu=H100 in the manifest and recreate the pods"
    assert way.edits == (SelectNodes(("default/job-0", "default/job-1"), "gpu", "H100", "gpu", "h100"),)
    assert report.unblock[0] == way
    large = ALIKE.with_gang("job", 2, 99, must_gather=SPINE, affinity=(asked,))
    assert "select-nodes" not in [one.action for one in why_of(large).unblock]


def test_parts_of_gpus_that_no_node_offers_are_a_matter_of_koord_managers_feature_gate_first() -> None:
    asks = (("koordinator.sh/gpu-core", 50), ("koordinator.sh/gpu-memory-ratio", 50), ("koordinator.sh/gpu.shared", 1))
    room = (*cpus(8), ("koordinator.sh/gpu-core", 100), ("koordinator.sh/gpu-memory-ratio", 100), ("pods", 110))
    drawing = cluster("s: b[n1]").change("n1", allocatable=room, devices=devices(card()))
    report = why_of(drawing.with_pod("p", requests=asks), "pod/p")
    assert report.cause is not None
    assert "was that meant" not in report.cause.message
    (step,) = report.next_steps
    assert step.message.startswith("Start koord-manager with feature gate EnableSyncGPUSharedResource=true")
    assert step.command == "kubectl edit deployment koord-manager -n koordinator-system"


def test_a_publisher_whose_pod_is_not_ready_publishes_nothing() -> None:
    owner = "DaemonSet/nvidia-device-plugin"
    drawing = cluster("s: b[n1]").label("n1", **PRESENT).with_pod("p", **ASKING)
    works = drawing.with_running("nvidia-device-plugin-x", "n1", owner=owner)
    assert "is ready on" not in told(works, "pod/p")[1]
    fails = drawing.with_running("nvidia-device-plugin-x", "n1", owner=owner, unready=True)
    assert "no pod of a device plugin is ready on n1" in told(fails, "pod/p")[1]
