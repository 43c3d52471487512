"""Two readings compared: what domains have, and which nodes and pods made the difference."""

from msgspec import structs

from kubectl_koord.engine.gangs import PodSubject
from kubectl_koord.explain.diff import OfGang, diff
from kubectl_koord.explain.topo import topo, with_shape
from kubectl_koord.model.objects import Layer, NetworkTopology, Node
from kubectl_koord.model.pods import RunningPod
from kubectl_koord.model.snapshot import Gap, Snapshot
from kubectl_koord.model.values import Taint
from kubectl_koord.reports.operation import DomainDiff, NodeDiff, PodDiff
from kubectl_koord.simulation.submitted import parsed
from tests.build import card, devices, holding, node, pending, running

LAYERS = (Layer("SpineLayer", "", ("spine",)), Layer("NodeTopologyLayer", "SpineLayer", ()))
GPU = "nvidia.com/gpu"


def at(spine: str, name: str, cpu: float = 8, **fields: object) -> Node:
    return node(name, cpu, labels=(("spine", spine),), **fields)


def cluster(*nodes: Node, pods: tuple[RunningPod, ...] = (), **fields: object) -> Snapshot:
    by_node: dict[str, list[RunningPod]] = {}
    for pod in pods:
        by_node.setdefault(pod.node, []).append(pod)
    made = Snapshot(
        moment="2026-11-01T10:00:00Z",
        nodes={one.name: one for one in sorted(nodes, key=lambda one: one.name)},
        running={name: tuple(found) for name, found in by_node.items()},
        topologies={"default": NetworkTopology("default", LAYERS)},
        source="file",
    )
    return structs.replace(made, **fields)


def asked(cpu: float, number: int) -> OfGang:
    pod = pending("pod", cpu)
    return OfGang(PodSubject(pod), (pod,) * number)


def test_nothing_differs_between_a_cluster_and_itself() -> None:
    one = cluster(at("a", "n1"), pods=(running("x", "n1"),))
    report = diff(one, one)
    assert (report.verdict, report.domains, report.nodes, report.placed) == ("yes", (), (), ())


def test_domains_nodes_and_pods_are_told_the_largest_difference_first() -> None:
    before = cluster(at("a", "n1"), at("b", "n2"), pods=(running("x", "n1", 2), running("y", "n1", 1)))
    after = cluster(at("a", "n1"), at("b", "n2"), pods=(running("x", "n2", 2), running("z", "n2", 4, owner="Job/z")))
    report = diff(before, after)
    assert report.resource == "cpu"
    assert report.domains == (
        DomainDiff("SpineLayer", "b", 8000, 2000),
        DomainDiff(report.domains[1].layer, "", 13000, 10000),
        DomainDiff("SpineLayer", "a", 5000, 8000),
    )
    assert report.nodes == (NodeDiff("n2", (), -6000), NodeDiff("n1", (), 3000))
    assert report.placed == (
        PodDiff("default/z", "came", None, "n2", 4000, owner="Job/z"),
        PodDiff("default/x", "moved", "n1", "n2", 2000),
        PodDiff("default/y", "went", "n1", None, 1000),
    )


def test_nodes_tell_how_they_changed() -> None:
    taint = (Taint("a", "", "NoSchedule"),)
    before = cluster(
        at("a", "cordoned"),
        at("a", "grew"),
        at("a", "labelled"),
        at("a", "lost"),
        at("a", "back", ready=False, unschedulable=True),
        at("a", "tainted"),
    )
    after = cluster(
        at("a", "cordoned", unschedulable=True, ready=False),
        at("a", "grew", cpu=9),
        at("b", "labelled"),
        at("a", "new"),
        at("a", "back"),
        at("a", "tainted", taints=taint),
    )
    changes = {one.node: one.changes for one in diff(before, after).nodes}
    assert changes == {
        "cordoned": ("cordoned", "not-ready"),
        "grew": ("allocatable",),
        "labelled": ("labels",),
        "lost": ("went",),
        "new": ("came",),
        "back": ("uncordoned", "ready"),
        "tainted": ("taints",),
    }


def test_slots_are_counted_for_the_pods_that_are_asked_for() -> None:
    before = cluster(at("a", "n1"), at("b", "n2"))
    after = cluster(at("a", "n1"), at("b", "n2"), pods=(running("x", "n2", 4),))
    report = diff(before, after, asked(4, 10))
    assert (report.asked, report.pods) == ("default/pod", 10)
    found = {one.name: (one.slots_before, one.slots_after) for one in report.domains}
    assert found["b"] == (2, 1)
    assert "a" not in found
    assert report.nodes == (NodeDiff("n2", (), -1),)


def test_a_request_that_no_node_can_meet_has_no_slots_anywhere() -> None:
    one = cluster(at("a", "n1"))
    pod = pending(
        "pod",
        requirements=structs.replace(
            pending("pod").requirements, requests=((GPU, 3), ("koordinator.sh/gpu-core", 150))
        ),
    )
    report = diff(one, cluster(at("a", "n1"), pods=(running("x", "n1"),)), OfGang(PodSubject(pod), (pod,)))
    assert {(row.slots_before, row.slots_after) for row in report.domains} == {(0, 0)}


def test_cards_are_counted_where_there_are_any() -> None:
    has = (("cpu", 8000), (GPU, 8), ("pods", 110))
    wants = structs.replace(running("x", "n1").requirements, requests=((GPU, 2),))
    before = cluster(at("a", "n1", allocatable=has))
    after = cluster(at("a", "n1", allocatable=has), pods=(running("x", "n1", requirements=wants),))
    report = diff(before, after)
    assert report.resource == GPU
    assert [one.amount for one in report.placed] == [2]
    assert report.nodes == (NodeDiff("n1", (), -2),)


def test_what_could_not_be_read_leaves_it_unknown_and_no_pod_gone() -> None:
    full = cluster(at("a", "n1"), pods=(running("x", "n1"),))
    blind = cluster(at("a", "n1"), gaps=(Gap("Pod", "forbidden", "no pods for you"),))
    report = diff(full, blind)
    assert (report.verdict, report.placed) == ("unknown", ())
    assert "no pods for you" in report.message
    heavy = structs.replace(pending("pod").requirements, requests=((GPU, 1),))
    pod = pending("pod", requirements=heavy)
    unseen = cluster(at("a", "n1"), gaps=(Gap("Device", "forbidden", "no devices for you"),))
    assert diff(unseen, full).verdict == "yes"
    assert diff(unseen, full, asked(1, 1)).verdict == "yes"
    assert diff(unseen, full, OfGang(PodSubject(pod), (pod,))).verdict == "unknown"


def test_without_a_tree_nodes_and_pods_are_compared_all_the_same() -> None:
    before = cluster(at("a", "n1"), topologies={})
    after = cluster(at("a", "n1"), at("a", "n2"), topologies={}, pods=(running("x", "n1"),))
    for report in (diff(before, after), diff(before, after, asked(1, 3))):
        assert report.domains == ()
        assert [one.node for one in report.nodes if one.changes] == ["n2"]
        assert [one.pod for one in report.placed] == ["default/x"]


def test_slots_of_a_shape_are_those_that_the_topology_counts() -> None:
    room = (("cpu", 8000), (GPU, 2), ("pods", 110))
    before = cluster(at("a", "n1", allocatable=room, devices=devices(card(0), card(1))))
    taken = running("x", "n1", allocations=holding(0, share=50))
    after = structs.replace(before, running={"n1": (taken,)})
    shape = parsed(after, "1gpu")
    report = diff(before, after, shape)
    assert (report.asked, report.pods) == ("pods of 1 GPU", 0)
    assert {(one.slots_before, one.slots_after) for one in report.domains} == {(2, 1)}
    counted = with_shape(topo(after), after, shape)
    assert {one.shape_pods for one in counted.domains} == {1}


def test_a_shape_of_what_only_the_earlier_nodes_have_is_counted() -> None:
    before = cluster(at("a", "n1", allocatable=(("cpu", 8000), (GPU, 2), ("pods", 110))))
    after = cluster(at("a", "n1"))
    report = diff(before, after, parsed(after, "gpu=1", before=before))
    assert [(one.name, one.slots_before, one.slots_after) for one in report.domains] == [("", 2, 0), ("a", 2, 0)]
