"""How many pods and gangs of a shape each domain takes."""

import pytest
from msgspec import structs

from kubectl_koord.explain.topo import topo, with_shape
from kubectl_koord.model.objects import Node
from kubectl_koord.model.values import Resources
from kubectl_koord.render.show import TopoOptions, text
from kubectl_koord.reports.capacity import TopologyReport
from kubectl_koord.simulation.submitted import ShapeError, parsed, requested
from tests.build import PODS_PER_NODE, Drawing, card, cluster, cpus, devices, holding
from tests.render.samples import PIPE

TREE = "s0: b0[n1:8 n2:8] b1[n3:8]; s1: b2[n4:8]; -: -[n5:8]"


def shaped(drawn: Drawing, shape: str, members: int = 0) -> TopologyReport:
    return with_shape(topo(drawn), drawn, parsed(drawn, shape, members))


def pods(report: TopologyReport) -> dict[str, int | None]:
    return {row.name: row.shape_pods for row in report.domains}


def gpu_nodes(*rooms: Resources) -> Drawing:
    return cluster().with_nodes(
        *(Node(f"n{at}", tuple(sorted((*room, ("pods", PODS_PER_NODE))))) for at, room in enumerate(rooms))
    )


def test_domains_count_what_their_nodes_take() -> None:
    drawn = cluster(TREE).with_running("x", "n1", 5).cordon("n3")
    found = shaped(drawn, "3cpu", 2)
    assert found.verdict == "yes"
    assert pods(found) == {"": 5, "s0": 3, "b0": 3, "b1": 0, "s1": 2, "b2": 2}
    assert {row.name: row.shape_gangs for row in found.domains} == {"": 2, "s0": 1, "b0": 1, "b1": 0, "s1": 1, "b2": 1}
    assert {row.node: row.shape_pods for row in found.nodes} == {"n1": 1, "n2": 2, "n3": 0, "n4": 2}
    assert (found.shape, found.shape_requests, found.shape_members) == ("3cpu", {"cpu": "3"}, 2)


def test_cards_are_booked_for_each_pod() -> None:
    """Of two cards, one half taken, offer slots would count two where amounts alone are looked at."""
    room = tuple(sorted((*cpus(8, nvidia_gpu=2), ("pods", PODS_PER_NODE))))
    drawn = cluster(TREE).change("n1", allocatable=room, devices=devices(card(0), card(1)))
    assert pods(shaped(drawn, "1gpu"))["b0"] == 2
    assert pods(shaped(drawn.with_running("x", "n1", allocations=holding(0, share=50)), "1gpu"))["b0"] == 1
    full = drawn.with_running("x", "n1", allocations=holding(0, 1))
    assert pods(shaped(full, "1gpu"))["b0"] == 0


def refused(drawn: Drawing, shape: str) -> list[str]:
    return [one.message for one in shaped(drawn, shape).warnings if one.code == "shape-refused"]


def test_why_nodes_with_enough_free_take_none_is_told() -> None:
    drawn = cluster(TREE).taint("n1", "gpu").taint("n2", "gpu").taint("n5", "gpu").cordon("n4")
    told = "nodes with enough free take none: taint gpu:NoSchedule (2 nodes) and cordoned (1 node)."
    assert refused(drawn, "8cpu") == [told]
    fewer = "nodes with enough free take none: cordoned (1 node) and taint gpu:NoSchedule (1 node)."
    assert refused(drawn.with_running("x", "n1", 5), "8cpu") == [fewer]
    assert refused(cluster(TREE).with_running("x", "n1", 5), "8cpu") == []


def test_why_no_cards_can_be_booked_is_told() -> None:
    room = tuple(sorted((*cpus(8, nvidia_gpu=2), ("pods", PODS_PER_NODE))))
    drawn = cluster(TREE).change("n1", allocatable=room, devices=devices(card(0), card(1)))
    (told,) = refused(drawn.with_running("x", "n1", allocations=holding(0, share=50)), "2gpu")
    assert told.startswith("nodes with enough free take none: ")
    assert told.endswith(" (1 node).")


def test_nodes_without_places_take_none() -> None:
    drawn = cluster(TREE).change("n1", "n2", "n3", "n4", "n5", allocatable=(("cpu", 8000),))
    assert set(pods(shaped(drawn, "1cpu")).values()) == {0}


@pytest.mark.untraced
def test_a_node_that_claims_to_hold_any_number_of_pods_is_counted_in_bounded_memory() -> None:
    drawn = cluster(TREE).change("n4", allocatable=(("cpu", 2**62), ("pods", 2**62)))
    assert pods(shaped(drawn, "1cpu"))["b2"] == 10_000


def test_a_request_that_no_node_can_meet_is_told() -> None:
    room = (("koordinator.sh/gpu-core", 400), ("koordinator.sh/gpu-memory-ratio", 400), ("pods", PODS_PER_NODE))
    found = shaped(cluster(TREE).change("n1", allocatable=room), "1.5gpu")
    assert set(pods(found).values()) == {0}
    assert found.shape_refusal


@pytest.mark.parametrize("kind", ["Node", "Pod", "ClusterNetworkTopology"])
def test_what_could_not_be_read_leaves_nothing_to_count(kind: str) -> None:
    drawn = cluster(TREE).with_gap(kind)
    drawn = drawn.but(topologies={}) if kind == "ClusterNetworkTopology" else drawn
    found = shaped(drawn, "1cpu")
    assert found.verdict == "unknown"
    assert {row.shape_pods for row in found.domains} <= {None}


def test_what_may_refuse_makes_the_count_unknown() -> None:
    found = shaped(cluster(TREE).with_gap("Reservation"), "1cpu")
    assert (found.verdict, pods(found)["s1"]) == ("unknown", 8)
    assert "you may not read it" in found.message


@pytest.mark.parametrize(
    ("text_given", "requests"),
    [
        ("8gpu", (("nvidia.com/gpu", 8),)),
        ("8gpu,64cpu", (("cpu", 64000), ("nvidia.com/gpu", 8))),
        ("nvidia.com/gpu=8", (("nvidia.com/gpu", 8),)),
        ("GPU=2,memory=64Gi", (("memory", 64 << 30), ("nvidia.com/gpu", 2))),
        ("0.5gpu", (("koordinator.sh/gpu-core", 50),)),
        ("2npu", (("huawei.com/npu", 2),)),
        ("1.5cpu", (("cpu", 1500),)),
    ],
)
def test_shapes(text_given: str, requests: Resources) -> None:
    room = (("memory", 1 << 40), ("koordinator.sh/gpu-core", 800), ("huawei.com/npu", 8))
    drawn = gpu_nodes((*cpus(8, nvidia_gpu=8), *room), cpus(8, nvidia_gpu=8), (("amd.com/gpu", 8),))
    assert parsed(drawn, text_given).pod.requirements.requests == requests


@pytest.mark.parametrize(
    ("text_given", "message"),
    [
        ("", "'' is not of the form 8gpu or NAME=AMOUNT"),
        ("gpu", "'gpu' is not of the form 8gpu or NAME=AMOUNT"),
        ("8gpu,", "'' is not of the form 8gpu or NAME=AMOUNT"),
        ("cpu=x", "'cpu=x': 'x' is not a quantity"),
        ("0cpu", "'0cpu' must be more than 0"),
        ("cpu=-1", "'cpu=-1' must be more than 0"),
        ("1cpu,cpu=2", "cpu is given twice"),
        ("0.5gpu", "a part of a GPU needs nodes with koordinator.sh/gpu-core"),
        ("8npu", "no node has the resource 'npu'"),
        ("nvidia.com/gpu=1.5", "the amount of nvidia.com/gpu is no whole number"),
    ],
)
def test_what_is_no_shape(text_given: str, message: str) -> None:
    with pytest.raises(ShapeError) as raised:
        parsed(gpu_nodes(cpus(8, nvidia_gpu=8)), text_given)
    assert str(raised.value) == message


def test_without_gpus_there_is_no_such_shape() -> None:
    with pytest.raises(ShapeError, match="no node has GPUs") as raised:
        parsed(gpu_nodes(cpus(8)), "8gpu")
    assert raised.value.resource == "gpu"


def test_the_page() -> None:
    drawn = cluster(TREE)
    found = text(shaped(drawn, "3cpu", 2), style=PIPE)
    assert found.startswith(
        """\
Nodes of the tree take 8 more pods of shape 3cpu (3 CPU each), quotas left out.
At most 6 in one spine and 4 in one block. Gangs of 2: 4 within one spine each, 4 within one block each.

DOMAIN    NODES   FREE CPU   TOTAL CPU   PODS   GANGS OF 2
cluster       4         32          32      8            4
"""
    )


def test_the_page_without_gangs_or_with_a_refusal() -> None:
    report = shaped(cluster(TREE), "3cpu")
    assert "GANGS OF" not in text(report, style=PIPE, topo_options=TopoOptions(nodes=True))
    refused = structs.replace(report, shape_refusal="it cannot")
    assert text(refused, style=PIPE).startswith("No node takes a pod of shape 3cpu (3 CPU each): it cannot.\n\nDOMAIN")
    flat = structs.replace(report, domains=report.domains[:1])
    assert text(flat, style=PIPE).splitlines()[1] == ""


def test_the_page_says_what_leaves_the_count_open() -> None:
    report = shaped(cluster(TREE).with_gap("Reservation"), "1cpu")
    assert text(report, style=PIPE).startswith("Cannot tell exactly how many slots there are for shape 1cpu: ")


def test_what_need_not_be_known_is_taken_as_it_is_written() -> None:
    nodes = (Node("n1", (("nvidia.com/gpu", 8),)),)
    assert requested(nodes, "gpu=2,example.com/card=1", known=False) == {"nvidia.com/gpu": 2, "example.com/card": 1}
    assert requested((), "gpu=2", known=False) == {"gpu": 2}
    with pytest.raises(ShapeError, match="must be more than 0"):
        requested((), "card=0", known=False)
