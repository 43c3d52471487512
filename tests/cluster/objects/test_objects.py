"""Everything but pods, from the API's JSON."""

import json

import pytest

from kubectl_koord.model.installation import HOME
from kubectl_koord.model.objects import (
    Budget,
    DomainStatus,
    Layer,
    Lease,
    NetworkTopology,
    Node,
    PodGroup,
)
from kubectl_koord.model.values import Requirement, Resources, Selector, Taint
from tests.cluster.objects.wire import Json, collect, pod, read, thing

GANG = "gang.scheduling.koordinator.sh/"


def node(**fields: object) -> Node:
    return read(thing("Node", "n1", **fields)).nodes["n1"]


def test_a_node() -> None:
    found = node(
        labels={"b": "2", "a": None},
        spec={"unschedulable": True, "taints": [{"key": "k", "effect": "NoSchedule", "timeAdded": "x"}]},
        status={
            "allocatable": {"cpu": "7500m", "memory": "1Ki", "pods": "110", "nvidia.com/gpu": "0"},
            "conditions": [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": "True"}],
        },
    )
    assert found == Node(
        name="n1",
        allocatable=(("cpu", 7500), ("memory", 1024), ("pods", 110)),
        labels=(("a", ""), ("b", "2")),
        taints=(Taint("k", "", "NoSchedule"),),
        unschedulable=True,
        none_of=("nvidia.com/gpu",),
    )


@pytest.mark.parametrize(
    ("allocatable", "capacity", "lost"),
    [
        ({"cpu": "7", "nvidia.com/gpu": "6"}, {"cpu": "8", "nvidia.com/gpu": "8"}, (("nvidia.com/gpu", 2),)),
        ({"cpu": "7", "nvidia.com/gpu": "0"}, {"cpu": "8", "nvidia.com/gpu": "8"}, (("nvidia.com/gpu", 8),)),
        ({"cpu": "7"}, {"nvidia.com/mig-1g.5gb": "7"}, (("nvidia.com/mig-1g.5gb", 7),)),
        ({"cpu": "7", "nvidia.com/gpu": "8"}, {"cpu": "8", "nvidia.com/gpu": "8"}, ()),
        ({"nvidia.com/gpu": "8"}, {"nvidia.com/gpu": "8"}, ()),
        ({"nvidia.com/gpu": "8"}, None, ()),
        ({"nvidia.com/gpu": "8"}, {}, ()),
    ],
)
def test_cards_that_a_node_has_and_does_not_offer_are_lost(
    allocatable: Json, capacity: Json | None, lost: Resources
) -> None:
    status = {"allocatable": allocatable, "capacity": capacity}
    assert node(status=status).lost == lost
    assert node(status={"allocatable": allocatable}).lost == ()


def test_of_what_is_all_kept_back_a_node_reports_nothing() -> None:
    kept = {"node.koordinator.sh/reservation": '{"resources": {"cpu": 8}}'}
    found = node(annotations=kept, status={"allocatable": {"cpu": 8, "nvidia.com/gpu": "0", "pods": 9}})
    assert (found.allocatable, found.none_of) == ((("pods", 9),), ("cpu", "nvidia.com/gpu"))


@pytest.mark.parametrize("status", [{}, {"conditions": None}, {"conditions": [{"type": "Ready", "status": "Unknown"}]}])
def test_a_node_that_does_not_say_so_is_not_ready(status: Json) -> None:
    assert not node(status=status).ready


def reserved(annotation: object) -> Resources:
    written = annotation if isinstance(annotation, str) else json.dumps(annotation)
    status = {"allocatable": {"cpu": 8, "memory": "1Ki"}}
    return node(annotations={"node.koordinator.sh/reservation": written}, status=status).allocatable


def test_what_a_node_has_for_batch_pods_is_without_its_reservation_already() -> None:
    kept = {"node.koordinator.sh/reservation": '{"resources": {"cpu": 1, "kubernetes.io/batch-cpu": 1000}}'}
    status = {"allocatable": {"cpu": 8, "kubernetes.io/batch-cpu": 4000}}
    assert node(annotations=kept, status=status).allocatable == (("cpu", 7000), ("kubernetes.io/batch-cpu", 4000))


@pytest.mark.parametrize(
    ("annotation", "cpu"),
    [
        ({"resources": {"cpu": "1500m"}}, 6500),
        ({"resources": {"cpu": "9"}}, 0),
        ({"resources": {"cpu": "2"}, "applyPolicy": "Default"}, 6000),
        ({"resources": {"cpu": "2"}, "applyPolicy": "ReservedCPUsOnly"}, 8000),
        ({"resources": {"cpu": "2"}, "reservedCPUs": "0-2,2,5"}, 4000),
        ({"reservedCPUs": "0"}, 7000),
        ({"reservedCPUs": "3-1"}, 8000),
        ({"reservedCPUs": "x"}, 8000),
        ({"reservedCPUs": "0-999999999"}, 8000),
        ({"resources": {"nvidia.com/gpu": 1}}, 8000),
        ({"resources": {"cpu": "lots"}}, 8000),
        ({"resources": ["cpu"]}, 8000),
        ({"resources": {"cpu": "2"}, "reservedCPUs": "3-1"}, 8000),
        ({"resources": {"cpu": "2"}, "reservedCPUs": 3}, 8000),
        ({"resources": {"cpu": "2"}, "reservedCPUs": None}, 6000),
        ({"resources": {"cpu": "2"}, "applyPolicy": None}, 6000),
        ({"resources": {"cpu": "2"}, "applyPolicy": ["Default"]}, 8000),
        ("null", 8000),
        ([], 8000),
        ("{", 8000),
        ("", 8000),
        ("[" * 100_000, 8000),
    ],
)
def test_what_a_node_reserves_for_itself_is_taken_off(annotation: object, cpu: int) -> None:
    assert dict(reserved(annotation)).get("cpu", 0) == cpu


def test_a_pod_group() -> None:
    annotations = {
        GANG + "mode": "Strict",
        GANG + "groups": "[]",
        GANG + "network-topology-spec": "{}",
        GANG + "total-number": "5",
        "pod-group.scheduling.sigs.k8s.io/match-policy": "only-waiting",
    }
    group = thing("PodGroup", "g", namespace="ml", annotations=annotations, creationTimestamp="t")
    group["metadata"]["resourceVersion"] = "7"
    group |= {"spec": {"minMember": 4, "scheduleTimeoutSeconds": 60}, "status": {"phase": "Pending"}}
    assert read(group).pod_groups == {
        "ml/g": PodGroup(
            namespace="ml",
            name="g",
            min_member=4,
            timeout_seconds=60,
            mode="Strict",
            match_policy="only-waiting",
            groups="[]",
            topology="{}",
            total="5",
            annotations=tuple(sorted(annotations.items())),
            phase="Pending",
            created="t",
            resource_version="7",
        )
    }


def test_a_bare_pod_group() -> None:
    assert read(thing("PodGroup", "g")).pod_groups == {"default/g": PodGroup("default", "g")}


def test_a_topology() -> None:
    layers = [
        {"topologyLayer": "A", "parentTopologyLayer": "B", "labelKey": ["x", "y"]},
        {"topologyLayer": "NodeTopologyLayer", "parentTopologyLayer": "A"},
    ]
    status = {"detailStatus": [{"topologyInfo": {"topologyLayer": "A", "topologyName": "a"}, "nodeNum": 2}, {}]}
    found = read(thing("ClusterNetworkTopology", "default", spec={"networkTopologySpec": layers}, status=status))
    written = (DomainStatus("A", "a", 2), DomainStatus("", "", 0))
    expected = NetworkTopology("default", (Layer("A", "B", ("x", "y")), Layer("NodeTopologyLayer", "A")), written)
    assert found.topologies == {"default": expected}


@pytest.mark.parametrize("status", [None, {}, {"detailStatus": None}])
def test_a_topology_of_which_the_scheduler_wrote_nothing(status: Json | None) -> None:
    found = read(thing("ClusterNetworkTopology", "default", status=status))
    assert found.topologies == {"default": NetworkTopology("default", ())}


def test_budgets() -> None:
    spec = {"selector": {"matchLabels": {"a": "b"}}}
    written = thing("PodDisruptionBudget", "b", spec=spec, status={"disruptionsAllowed": 2})
    assert read(written, thing("PodDisruptionBudget", "a")).budgets == (
        Budget("default", "a", None, 0),
        Budget("default", "b", Selector((Requirement("a", "In", ("b",)),)), 2),
    )


@pytest.mark.parametrize(
    ("written", "namespaces"), [('["a", "b"]', ("a", "b")), ("{}", ()), ("{", ()), ("", ()), ("[" * 100_000, ())]
)
def test_a_quota_may_list_namespaces(written: str, namespaces: tuple[str, ...]) -> None:
    annotations = {"quota.scheduling.koordinator.sh/namespaces": written}
    (found,) = read(thing("ElasticQuota", "q", annotations=annotations)).quotas
    assert found.namespaces == namespaces


def test_everything_is_in_name_order_and_the_later_of_two_wins() -> None:
    found = read(
        pod("b"),
        thing("Node", "n2"),
        pod("a"),
        thing("Node", "n1"),
        pod("z", nodeName="n2"),
        pod("a", priority=7),
    )
    assert (list(found.nodes), [(each.name, each.priority) for each in found.pending]) == (
        ["n1", "n2"],
        [("a", 7), ("b", 0)],
    )


def test_a_pod_on_a_node_that_is_not_there_is_kept() -> None:
    assert list(read(pod("a", nodeName="gone")).running) == ["gone"]


def test_the_kinds_that_were_seen_are_known() -> None:
    assert collect(thing("Node", "n1"), thing("Secret", "s")).kinds == {"Node"}


def test_leases_are_those_of_an_api_server() -> None:
    spec: Json = {
        "holderIdentity": "a_1",
        "acquireTime": "2026-11-20T08:00:00.000000Z",
        "renewTime": "2026-11-20T09:00:00.000000Z",
        "leaseDurationSeconds": 15,
    }
    found = collect(
        thing("Lease", "koord-scheduler", namespace=HOME.namespace, spec=spec),
        thing("Lease", "koord-scheduler", namespace=HOME.namespace),
    )
    bare = Lease("koord-scheduler", "", "", seconds=0, seen="2026-11-20T09:00:01Z")
    assert found.snapshot(moment="", source="file").leases is None
    assert found.snapshot(moment="", source="cluster", lease_seen="2026-11-20T09:00:01Z").leases == (bare,)
    whole = collect(thing("Lease", "koord-scheduler", namespace=HOME.namespace, spec=spec))
    assert whole.snapshot(moment="", source="cluster", lease_seen="").leases == (
        Lease("koord-scheduler", "a_1", spec["renewTime"], spec["acquireTime"], 15),
    )
