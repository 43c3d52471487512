"""A pod's spec to what the filters read of it."""

from typing import Any

import pytest

from kubectl_koord.model.pods import HostPort, PodRequirements, PodTerm, Spread
from kubectl_koord.model.unevaluated import (
    AttachedVolume,
    PodUnevaluated,
)
from kubectl_koord.model.values import EVERYTHING, NodeTerm, Requirement, Resources, Selector, Toleration
from tests.build import having
from tests.cluster.objects.wire import Json, pending

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def requirements(**fields: Any) -> PodRequirements:  # noqa: ANN401
    return pending(**fields).requirements


def asking(*requests: Json, **fields: object) -> Resources:
    return requirements(containers=[{"resources": {"requests": each}} for each in requests], **fields).requests


def init(requests: Json, **fields: object) -> Json:
    return {"resources": {"requests": requests}, **fields}


def test_containers_add_up_exactly_and_are_rounded_once() -> None:
    assert asking({"cpu": "0.1m", "memory": "0.5"}, {"cpu": "0.1m", "memory": "0.5"}) == (("cpu", 1), ("memory", 1))


def test_what_is_zero_is_left_out() -> None:
    assert asking({"cpu": 0, "memory": "0"}) == ()


def test_the_largest_init_container_counts_where_it_is_larger() -> None:
    assert asking({"cpu": 2, "memory": 4}, initContainers=[init({"cpu": 3}), init({"memory": 1})]) == (
        ("cpu", 3000),
        ("memory", 4),
    )


def test_sidecars_run_beside_the_containers() -> None:
    sidecar = init({"cpu": 1}, restartPolicy="Always")
    found = requirements(containers=[init({"cpu": 2})], initContainers=[sidecar])
    assert (found.requests, found.sidecars) == ((("cpu", 3000),), True)


def test_and_beside_the_init_containers_after_them() -> None:
    sidecar = init({"cpu": 1}, restartPolicy="Always")
    before, after = [init({"cpu": 4}), sidecar], [sidecar, init({"cpu": 4})]
    assert asking({"cpu": 2}, initContainers=before) == (("cpu", 4000),)
    assert asking({"cpu": 2}, initContainers=after) == (("cpu", 5000),)


def test_what_a_pod_requests_as_a_whole_beats_its_containers() -> None:
    """Of processors, memory and huge pages; the overhead comes on top."""
    own = {"requests": {"cpu": 6, "hugepages-2Mi": 8, "example.com/foo": 9}, "limits": {"cpu": 7}}
    containers = [{"resources": {"requests": {"cpu": 2, "memory": 4}, "limits": {"cpu": 3}}}]
    found = requirements(containers=containers, resources=own, overhead={"cpu": 1})
    assert found.requests == (("cpu", 7000), ("hugepages-2Mi", 8), ("memory", 4))
    assert [(one.resource, one.amount, one.limit) for one in found.expected] == [("cpu", 8000, 8000), ("memory", 4, 0)]
    assert found.unevaluated == ()
    alone = requirements(containers=containers, overhead={"cpu": 1})
    assert (found.of_containers, alone.of_containers) == (alone, alone)


@pytest.mark.parametrize("own", [{}, {"requests": {}}, {"requests": {"example.com/foo": 9}}])
def test_a_pod_that_requests_nothing_as_a_whole_is_the_same_to_all_schedulers(own: Json) -> None:
    containers = [{"resources": {"requests": {"cpu": 2}}}]
    assert requirements(containers=containers, resources=own) == requirements(containers=containers)


def test_a_pod_that_requests_something_as_a_whole_is_not_of_best_effort() -> None:
    """So its usage is estimated as that of a prod pod."""
    assert [requirements(resources={"requests": {"cpu": amount}}).is_prod for amount in (1, 2)] == [True, True]
    assert not requirements(resources={}).is_prod


def test_the_overhead_comes_on_top() -> None:
    assert asking({"cpu": 1}, overhead={"cpu": "250m", "memory": "1Ki"}) == (("cpu", 1250), ("memory", 1024))


@pytest.mark.parametrize(
    ("requests", "taken"),
    [
        ({"koordinator.sh/batch-cpu": 1000}, (("kubernetes.io/batch-cpu", 1000),)),
        ({"kubernetes.io/gpu-core": 100}, (("koordinator.sh/gpu-core", 100),)),
        ({"kubernetes.io/gpu": 1, "koordinator.sh/gpu": 2}, (("koordinator.sh/gpu", 2), ("kubernetes.io/gpu", 1))),
    ],
)
def test_resources_have_the_names_that_the_scheduler_gives_them(requests: Json, taken: Resources) -> None:
    assert asking(requests) == taken


def test_a_container_without_resources_asks_for_nothing() -> None:
    assert requirements(containers=[{}, {"resources": {"requests": None}}]).requests == ()


def test_a_pod_without_containers_asks_for_nothing() -> None:
    assert requirements(containers=None, initContainers=None) == PodRequirements(
        expected=requirements(containers=None).expected, is_prod=False
    )


def test_selectors_and_tolerations() -> None:
    found = requirements(
        nodeSelector={"b": "2", "a": "1"},
        tolerations=[{"operator": "Exists"}, {"key": "k", "value": "v", "effect": "NoExecute", "tolerationSeconds": 5}],
    )
    assert found.selector == (("a", "1"), ("b", "2"))
    assert found.tolerations == (Toleration("", "Exists"), Toleration("k", "", "v", "NoExecute"))


def test_required_node_affinity() -> None:
    terms = [
        {
            "matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}],
            "matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n1"]}],
        },
        {},
    ]
    found = requirements(affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}})
    assert found.affinity == (
        NodeTerm((Requirement("zone", "In", ("a", "b")),), (Requirement("metadata.name", "NotIn", ("n1",)),)),
        NodeTerm(),
    )


@pytest.mark.parametrize("affinity", [None, {}, {"nodeAffinity": {}}, {"nodeAffinity": {REQUIRED: None}}])
def test_without_required_node_affinity_every_node_will_do(affinity: Json | None) -> None:
    assert requirements(affinity=affinity).affinity is None


def test_host_ports_of_containers_and_sidecars() -> None:
    ports = [{"containerPort": 1}, {"hostPort": 80}, {"hostPort": 53, "protocol": "UDP", "hostIP": "10.0.0.1"}]
    sidecar = {"ports": [{"hostPort": 9, "protocol": ""}], "restartPolicy": "Always"}
    found = requirements(containers=[{"ports": ports}], initContainers=[{"ports": [{"hostPort": 7}]}, sidecar])
    assert found.ports == (HostPort(80), HostPort(53, "UDP", "10.0.0.1"), HostPort(9))


def test_hard_spread_constraints() -> None:
    constraint = {
        "topologyKey": "zone",
        "maxSkew": 2,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
        "minDomains": 3,
        "nodeAffinityPolicy": "Ignore",
        "nodeTaintsPolicy": "Honor",
        "matchLabelKeys": ["hash", "absent"],
    }
    soft = {**constraint, "whenUnsatisfiable": "ScheduleAnyway"}
    bare = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    found = requirements(labels={"hash": "h1"}, topologySpreadConstraints=[constraint, soft, bare])
    wanted = Selector((Requirement("app", "In", ("web",)), Requirement("hash", "In", ("h1",))))
    assert found.spread == (
        Spread("zone", 2, wanted, min_domains=3, honor_affinity=False, honor_taints=True),
        Spread("zone", 1, None),
    )


def test_required_inter_pod_terms() -> None:
    term = {
        "topologyKey": "zone",
        "labelSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
        "namespaces": ["b", "a"],
    }
    wide = {"topologyKey": "zone", "namespaceSelector": {"matchLabels": {}}}
    selecting = {"topologyKey": "zone", "namespaces": ["c"], "namespaceSelector": {"matchLabels": {"team": "a"}}}
    found = requirements(affinity={"podAffinity": {REQUIRED: [term]}, "podAntiAffinity": {REQUIRED: [wide, selecting]}})
    assert found.pod_affinity == (PodTerm("zone", Selector((Requirement("app", "Exists"),)), ("a", "b")),)
    assert found.pod_anti_affinity == (
        PodTerm("zone", None, namespace_selector=EVERYTHING),
        PodTerm("zone", None, ("c",), having(team="a")),
    )
    assert found.unevaluated == ()


@pytest.mark.parametrize(
    ("fields", "unevaluated"),
    [
        ({"volumes": [{"name": "e", "ephemeral": {}}]}, ()),
        ({"volumes": [{"name": "r", "rbd": {"image": "x"}}]}, (AttachedVolume("r"),)),
        ({"volumes": [{"name": "s", "csi": {"driver": "secrets"}}]}, ()),
        ({"volumes": [{"name": "c", "configMap": {}}, {"name": "d", "emptyDir": {}}]}, ()),
        ({"resourceClaims": [{"name": "gpu"}]}, ()),
    ],
)
def test_what_no_filter_evaluates_is_named_once(fields: Json, unevaluated: tuple[PodUnevaluated, ...]) -> None:
    assert requirements(**fields).unevaluated == unevaluated


def test_volume_claims_are_named() -> None:
    found = requirements(volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}])
    assert (found.claims, found.unevaluated) == (("data",), ())
