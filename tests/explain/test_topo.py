"""topo: the tree with what is free, the slots of a gang, and what is wrong with the labels."""

import pytest

from kubectl_koord.explain.topo import counted_as, resource_names, topo
from kubectl_koord.model.objects import Layer
from kubectl_koord.reports.capacity import Amount, DomainRow, NodeRow, OutsideNode
from kubectl_koord.reports.common import DomainName, Notice
from tests.build import (
    BLOCK,
    BLOCK_KEY,
    LAYERS,
    NODE,
    ROOT,
    SPINE,
    SPINE_KEY,
    Drawing,
    card,
    cluster,
    cpus,
    devices,
    holding,
)

DRAWN = cluster("s0: b0[n1:8 n2:4]; s1: b1[n3:8]").with_running("low", on="n1", cpu=2)
TOP, S0, B0, B1 = DomainName(ROOT, ""), DomainName(SPINE, "s0"), DomainName(BLOCK, "b0"), DomainName(BLOCK, "b1")


def warned(drawing: Drawing) -> tuple[Notice, ...]:
    return topo(drawing).warnings


def test_no_slots_are_counted_for_a_gang_that_gathers_on_a_layer_that_there_is_not() -> None:
    drawing = cluster("s0: b0[n1 n2]").with_gang("job", 3, 1, minimum=4, must_gather="RackLayer")
    report = topo(drawing, drawing.subject("job"))
    assert report.no_slots.startswith("it must gather in layer RackLayer, which is not in the topology (")
    assert [row.offer_slots for row in report.domains] == [None, None, None]


def test_the_tree_shows_what_is_free_and_who_is_out_of_use() -> None:
    report = topo(DRAWN.cordon("n2").change("n3", ready=False))
    assert (report.verdict, report.layers, report.resource) == ("yes", (SPINE, BLOCK, NODE), "cpu")
    assert report.domains == (
        DomainRow(ROOT, "", None, 3, 6000, 20000, cordoned=1, not_ready=1, withheld=12000),
        DomainRow(SPINE, "s0", TOP, 2, 6000, 12000, cordoned=1, withheld=4000),
        DomainRow(BLOCK, "b0", S0, 2, 6000, 12000, cordoned=1, withheld=4000),
        DomainRow(SPINE, "s1", TOP, 1, 0, 8000, not_ready=1, withheld=8000),
        DomainRow(BLOCK, "b1", DomainName(SPINE, "s1"), 1, 0, 8000, not_ready=1, withheld=8000),
    )
    assert report.nodes == (
        NodeRow("n1", B0, 6000, 8000),
        NodeRow("n2", B0, 0, 4000, "cordoned", withheld=4000),
        NodeRow("n3", B1, 0, 8000, "not ready", withheld=8000),
    )
    assert (report.gang, report.desired_offer_slot, report.warnings) == (None, None, ())


def test_a_tree_that_the_scheduler_does_not_build_is_shown_with_a_warning() -> None:
    report = topo(DRAWN.configured(manages_topology=False))
    assert (report.verdict, [one.code for one in report.warnings]) == ("yes", ["topology-manager-off"])


def test_for_a_gang_every_domain_has_its_slots() -> None:
    drawing = DRAWN.with_gang("job", 2, 3, must_gather=SPINE)
    report = topo(drawing, drawing.subject("job"))
    assert [(row.name, row.offer_slots) for row in report.domains] == [
        ("", 5),
        ("s0", 3),
        ("b0", 3),
        ("s1", 2),
        ("b1", 2),
    ]
    assert [(row.node, row.offer_slots, row.reason) for row in report.nodes] == [
        ("n1", 2, ""),
        ("n2", 1, ""),
        ("n3", 2, ""),
    ]
    assert (report.gang, report.desired_offer_slot) == ("default/job", 2)


def test_slots_are_those_that_jobs_leave_that_go_first() -> None:
    drawing = cluster("s0: b0[n1 n2]").with_gang("job", 2, 8, must_gather=SPINE)
    high = drawing.with_gang("high", 1, 8, must_gather=SPINE, priority=9)
    taken = Notice("contended", "default/high has higher priority and takes its place; otherwise it would be placed.")
    shown = "default/high has higher priority and goes first: slots, nodes and victims are shown as it leaves them."
    first = Notice("contended", shown)
    report = topo(high, high.subject("job"))
    assert ([row.offer_slots for row in report.domains], report.warnings) == ([1, 1, 1], (taken, first))
    room = cluster("s0: b0[n1 n2 n3]").but(pending=high.pending, pod_groups=high.pod_groups)
    report = topo(room, room.subject("job"))
    assert ([row.offer_slots for row in report.domains], report.warnings) == ([2, 2, 2], (first,))
    assert topo(drawing, drawing.subject("job")).warnings == ()


def test_a_node_without_slots_says_why() -> None:
    drawing = DRAWN.with_gang("job", 1, 8, must_gather=SPINE)
    report = topo(drawing, drawing.subject("job"))
    assert [(row.offer_slots, row.reason) for row in report.nodes] == [
        (0, "insufficient CPU"),
        (0, "insufficient CPU"),
        (1, ""),
    ]


@pytest.mark.parametrize("drawing", [DRAWN.with_gang("job", 1, 8), DRAWN.with_gang("job", 0)])
def test_a_gang_that_is_not_planned_has_no_slots(drawing: Drawing) -> None:
    assert {row.offer_slots for row in topo(drawing, drawing.subject("job")).domains} == {None}


def test_what_is_overfull_has_nothing_free() -> None:
    assert topo(DRAWN.with_running("more", on="n2", cpu=9)).domains[2].free == 6000
    assert topo(DRAWN.with_reserved("more", on="n2", cpu=9)).domains[2].free == 6000


@pytest.mark.parametrize(
    ("resources", "counted"),
    [
        ({}, "cpu"),
        ({"n1": "nvidia.com/gpu"}, "nvidia.com/gpu"),
        ({"n1": "amd.com/gpu", "n2": "nvidia.com/gpu", "n3": "nvidia.com/gpu"}, "nvidia.com/gpu"),
        ({"n1": "huawei.com/Ascend910"}, "huawei.com/Ascend910"),
        ({"n1": "huawei.com/npu"}, "huawei.com/npu"),
        ({"n1": "nvidia.com/mig-1g.5gb"}, "nvidia.com/mig-1g.5gb"),
        ({"n1": "koordinator.sh/gpu-core"}, "koordinator.sh/gpu-core"),
        ({"n1": "koordinator.sh/rdma"}, "cpu"),
    ],
)
def test_the_resource_that_is_counted_is_the_gpu_that_most_nodes_have(resources: dict[str, str], counted: str) -> None:
    drawing = DRAWN
    for name, resource in resources.items():
        drawing = drawing.change(name, allocatable=(*cpus(8), (resource, 8), ("pods", 10)))
    assert topo(drawing).resource == counted


def with_cards(drawing: Drawing, **nodes: dict[str, int]) -> Drawing:
    for name, amounts in nodes.items():
        drawing = drawing.change(name, allocatable=(*cpus(8), *sorted(amounts.items()), ("pods", 10)))
    return drawing


BOTH = {"koordinator.sh/gpu-core": 800, "koordinator.sh/gpu-memory-ratio": 800, "nvidia.com/gpu": 8}


def test_cards_that_go_by_two_names_are_counted_once() -> None:
    drawing = with_cards(DRAWN, n1=BOTH, n2=BOTH)
    drawing = drawing.with_running("a", on="n1", requests=(("nvidia.com/gpu", 1),))
    drawing = drawing.with_running(
        "b", on="n1", requests=(("koordinator.sh/gpu-core", 200), ("koordinator.sh/gpu-memory-ratio", 200))
    )
    report = topo(drawing.cordon("n2"))
    assert (report.resource, report.resources) == ("nvidia.com/gpu", ("nvidia.com/gpu",))
    assert [(row.free, row.total, row.withheld) for row in report.nodes] == [(5, 8, 0), (0, 8, 8), (0, 0, 0)]


def test_shared_cards_are_counted_in_hundredths() -> None:
    drawing = with_cards(DRAWN, n1=BOTH).with_running("a", on="n1", requests=(("koordinator.sh/gpu-core", 50),))
    report = topo(drawing)
    assert report.resource == "koordinator.sh/gpu-core"
    assert (report.domains[0].free, report.domains[0].total) == (750, 800)


def test_each_family_of_cards_has_its_amounts() -> None:
    drawing = with_cards(DRAWN, n1={"nvidia.com/gpu": 8}, n2={"nvidia.com/gpu": 4, "nvidia.com/mig-1g.5gb": 7})
    report = topo(drawing.with_running("a", on="n2", requests=(("nvidia.com/mig-1g.5gb", 2),)))
    assert report.resources == ("nvidia.com/gpu", "nvidia.com/mig-1g.5gb")
    assert (report.domains[0].free, report.domains[0].total) == (12, 12)
    assert report.domains[0].others == {"nvidia.com/mig-1g.5gb": Amount(5, 7)}
    assert [row.others["nvidia.com/mig-1g.5gb"] for row in report.nodes] == [Amount(0, 0), Amount(5, 7), Amount(0, 0)]


def test_what_went_unseen_is_free_nowhere() -> None:
    drawing = with_cards(DRAWN, n1={"nvidia.com/gpu": 8}, n2={"nvidia.com/mig-1g.5gb": 7}).with_gap("Pod")
    root = topo(drawing).domains[0]
    assert (root.free, root.total, root.withheld) == (None, 8, None)
    assert root.others == {"nvidia.com/mig-1g.5gb": Amount(None, 7)}


@pytest.mark.parametrize(
    ("drawing", "code"),
    [
        (DRAWN.but(topologies={}), "no-topology"),
        (DRAWN.with_layers(*LAYERS, name="fabric"), "topology-other-name"),
        (DRAWN.with_layers(*LAYERS[:2]), "broken-layer-chain"),
        (DRAWN.with_layers(Layer(BLOCK, NODE), Layer(NODE, BLOCK), LAYERS[0]), "layer-cycle"),
    ],
)
def test_where_no_tree_can_be_built_the_warning_says_why(drawing: Drawing, code: str) -> None:
    report = topo(drawing)
    assert (report.verdict, report.domains, report.nodes, report.outside) == ("no", (), (), ())
    assert [notice.code for notice in report.warnings] == [code]


@pytest.mark.parametrize("kind", ["Node", "ClusterNetworkTopology"])
def test_what_could_not_be_read_makes_it_unknown(kind: str) -> None:
    report = topo(DRAWN.but(topologies={}).with_gap(kind))
    assert (report.verdict, [notice.code for notice in report.warnings]) == ("unknown", ["forbidden-list"])


def test_what_the_input_does_not_hold_is_absent() -> None:
    drawing = DRAWN.but(topologies={}).with_gap("ClusterNetworkTopology", "not-in-input")
    assert topo(drawing).verdict == "no"


def test_nodes_outside_the_tree_are_named() -> None:
    report = topo(cluster("s0: b0[n1]; -: b1[n2] -[n3]"))
    assert report.outside == (OutsideNode("n2", (SPINE_KEY,)), OutsideNode("n3", (SPINE_KEY,)))
    words = "2 nodes are outside the tree: gangs with a topology spec are never placed there."
    assert report.warnings == (Notice("outside-nodes", words),)


def test_nodes_without_the_lowest_label_are_named() -> None:
    words = "1 node lacks the label of the lowest layer: each is a domain of its own (n2)."
    assert warned(cluster("s0: b0[n1] -[n2]")) == (Notice("virtual-domains", words),)


def test_a_name_below_two_parents_is_named_with_both() -> None:
    words = (
        "BlockLayer b0 has several parents (s0 and s1): the scheduler treats it as one domain,"
        " below the parent that it reads first."
    )
    assert warned(cluster("s0: b0[n1]; s1: b0[n2]")) == (Notice("merged-domains", words),)


STATUS = (("ClusterTopologyLayer", "", 3), (SPINE, "s0", 2), (BLOCK, "b0", 2), (SPINE, "s1", 1), (BLOCK, "b1", 1))


def test_a_status_that_is_as_the_labels_are_is_not_stale() -> None:
    assert warned(DRAWN.with_status(*STATUS)) == ()


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (((ROOT, "", 4), *STATUS[1:]), "1 domain, such as ClusterTopologyLayer (root) (status: 4 nodes, now: 3)"),
        (STATUS[:3], "2 domains, such as BlockLayer b1 (status: 0 nodes, now: 1)"),
        ((*STATUS, (SPINE, "s9", 1)), "1 domain, such as SpineLayer s9 (status: 1 nodes, now: 0)"),
    ],
)
def test_a_status_that_differs_is_stale(status: tuple[tuple[str, str, int], ...], words: str) -> None:
    stale = Notice("stale-status", f"the status of the ClusterNetworkTopology is stale in {words}.")
    assert warned(DRAWN.with_status(*status)) == (stale,)


@pytest.mark.parametrize(("blocks", "codes"), [(2, []), (3, ["stale-status"])])
def test_a_status_with_a_merged_domain_below_another_parent_is_not_stale(blocks: int, codes: list[str]) -> None:
    merged = cluster("s0: b0[n1]; s1: b0[n2]")
    written = ((ROOT, "", 2), (SPINE, "s0", 0), (SPINE, "s1", blocks), (BLOCK, "b0", blocks))
    assert [notice.code for notice in warned(merged.with_status(*written))] == ["merged-domains", *codes]


def test_the_keys_of_the_drawing_are_those_of_the_layers() -> None:
    assert (LAYERS[0].label_keys, LAYERS[1].label_keys) == ((SPINE_KEY,), (BLOCK_KEY,))


def test_whole_cards_are_those_of_which_nothing_is_used_on_nodes_that_take_pods() -> None:
    drawn = cluster("s0: b0[n1 n2]; s1: b1[n3 n4]")
    drawn = drawn.change("n1", "n2", "n3", devices=devices(card(0), card(1), card(2, healthy=False)))
    drawn = drawn.with_running("half", "n1", allocations=holding(0, share=50)).cordon("n3")

    report = topo(drawn, whole=True)

    assert report.whole
    assert {row.name: row.whole for row in report.domains} == {"": 3, "s0": 3, "b0": 3, "s1": 0, "b1": 0}
    assert {row.node: row.whole for row in report.nodes} == {"n1": 1, "n2": 2, "n3": 0, "n4": 0}
    assert {row.node: row.cards for row in report.nodes} == {
        "n1": {"gpu": "+.x"},
        "n2": {"gpu": "..x"},
        "n3": {"gpu": "..x"},
        "n4": {},
    }
    assert {row.whole for row in topo(drawn).domains} == {None}


@pytest.mark.parametrize("kind", ["Device", "Pod", "Reservation"])
def test_whole_cards_are_unknown_where_what_takes_them_could_not_be_read(kind: str) -> None:
    drawn = cluster("s: b[n]").change("n", devices=devices(card(0))).with_gap(kind)
    report = topo(drawn, whole=True)
    assert report.verdict == "yes"
    assert {row.whole for row in report.domains} == {None}


def test_any_resource_can_be_counted() -> None:
    drawn = cluster("s: b[n m]").change("n", allocatable=(("example.com/fast", 4), ("memory", 8 << 30), ("pods", 3)))
    drawn = drawn.with_running("one", "n", cpu=0, requests=(("memory", 1 << 30),))

    def free_of(name: str) -> tuple[str, int | None, int]:
        report = topo(drawn, resource=counted_as(drawn, name))
        return report.resource, report.domains[0].free, report.domains[0].total

    assert free_of("memory") == ("memory", 7 << 30, 8 << 30)
    assert free_of("example.com/fast") == free_of("fast") == ("example.com/fast", 4, 4)
    assert free_of("pods") == ("pods", 112, 113)
    assert counted_as(drawn, "gpu") == ""
    assert resource_names(drawn) == ("cpu", "example.com/fast", "memory", "pods")


@pytest.mark.parametrize("name", ["nvidia.com/gpu", "koordinator.sh/gpu-core", "gpu", "GPU"])
def test_names_of_the_same_cards_count_them_all(name: str) -> None:
    drawn = cluster("s: b[n m]").change("n", allocatable=(("koordinator.sh/gpu-core", 800), ("nvidia.com/gpu", 8)))
    drawn = drawn.with_running("one", "n", cpu=0, requests=(("koordinator.sh/gpu-core", 200),))

    report = topo(drawn, resource=counted_as(drawn, name))

    assert (report.resource, report.resources) == ("nvidia.com/gpu", ("nvidia.com/gpu",))
    assert (report.domains[0].free, report.domains[0].total) == (6, 8)


@pytest.mark.parametrize(
    ("drawing", "why"),
    [
        (DRAWN.with_gang("job", 2, 3, must_gather=SPINE), ""),
        (DRAWN.with_gang("job", 2, 3), "it has no topology spec, so the scheduler looks at nodes alone."),
        (
            DRAWN.with_gang("job", 1, 3, must_gather=SPINE).with_running("job-9", on="n3", gang="default/job"),
            "it ran before, so the scheduler places each of its pods alone.",
        ),
        (
            DRAWN.with_gang("job", 2, 3, must_gather=SPINE).configured(aware_of_topology=False),
            "it has a topology spec, but awareNetworkTopology is off in the scheduler's configuration: only its first",
        ),
        (
            DRAWN.with_gang("job", 1, 3, minimum=2),
            "it has 1 of the 2 pods it needs.",
        ),
        (
            DRAWN.with_gang("job", 2, 3, must_gather=SPINE, claims=("data",)),
            "volume claim default/data does not exist.",
        ),
        (DRAWN.with_gang("job", 2, 3).with_gap("Node"), "Node could not be read: you may not read it"),
        (DRAWN.with_group("job", 1).with_running("job-0", on="n3", gang="default/job"), ""),
    ],
)
def test_why_no_slots_are_counted_for_a_gang_is_the_reason_that_is_true(drawing: Drawing, why: str) -> None:
    assert topo(drawing, drawing.subject("job")).no_slots.startswith(why)
    assert bool(topo(drawing, drawing.subject("job")).no_slots) == bool(why)
