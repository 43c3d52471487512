"""NodeMetrics, CSINodes and claims: what other objects tell of a node."""

import pytest

from kubectl_koord.engine.fit.load_aware import Usage, estimated
from kubectl_koord.errors import KoordError
from kubectl_koord.model.objects import Claim, NodeMetric, PodUsage
from kubectl_koord.model.pods import NodeTerm, Resources
from kubectl_koord.model.selectors import Requirement
from kubectl_koord.model.unevaluated import NodeSetting
from tests.cluster.objects.wire import Json, collect, pending, pod, read, thing

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
MEM = 1 << 30
OVERRIDE = "scheduling.koordinator.sh/usage-thresholds"
RAW = "node.koordinator.sh/raw-allocatable"


def a_node(**annotations: str) -> Json:
    return thing("Node", "n1", annotations=annotations, status={"allocatable": {"cpu": 8, "memory": "10Gi", "pods": 9}})


def metric(*pods: Json, used: Json | None = None, **fields: object) -> Json:
    status = {
        "updateTime": "2026-11-20T09:10:00Z",
        "nodeMetric": {"nodeUsage": {"resources": used or {"cpu": "2", "memory": "1Gi"}}},
        "podsMetric": list(pods),
    }
    return thing("NodeMetric", "n1", status=status, **fields)


def placed(scheduled: str) -> Json:
    condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": scheduled}
    return pod("p", nodeName="n1", requests={"cpu": 1, "memory": "1Gi"}, status={"conditions": [condition]})


def measured(cpu: str, name: str = "p") -> Json:
    return {"namespace": "default", "name": name, "podUsage": {"resources": {"cpu": cpu}}}


def load(*objects: Json) -> tuple[Usage, ...]:
    return estimated(read(*objects)).get("n1", ())


def test_a_metric_stays_as_it_was_measured() -> None:
    raw = {OVERRIDE: '{"usageThresholds": {"memory": 80, "cpu": 0}}', RAW: '{"cpu": "4"}'}
    spec = {"metricCollectPolicy": {"reportIntervalSeconds": 600}}
    found = read(a_node(**raw), placed("2026-11-20T09:00:00Z"), metric(measured("100m"), measured("1", "x"), spec=spec))
    assert found.nodes["n1"].metric == NodeMetric(
        used=(("cpu", 2000), ("memory", MEM)),
        updated="2026-11-20T09:10:00Z",
        interval=600,
        pods=(PodUsage("default", "p", (("cpu", 100),)), PodUsage("default", "x", (("cpu", 1000),))),
        thresholds=(("memory", 80), ("cpu", 0)),
        raw_allocatable=(("cpu", 4000),),
    )
    assert estimated(found) == {"n1": (Usage("memory", MEM, 10 * MEM, 80),)}


def test_what_was_measured_is_what_a_node_uses() -> None:
    assert load(a_node(), metric()) == (Usage("cpu", 2000, 8000, 65), Usage("memory", MEM, 10 * MEM, 95))


def test_without_a_measurement_nothing_is_known() -> None:
    assert load(a_node(), thing("NodeMetric", "n1")) == ()


def test_a_pod_that_was_not_measured_counts_with_its_estimate() -> None:
    cpu, memory = load(a_node(), placed("2026-11-20T09:00:00Z"), metric(measured("1", "other")))
    assert (cpu.used, memory.used) == (2850, MEM + (70 * MEM + 50) // 100)


@pytest.mark.parametrize(
    ("scheduled", "cpu"),
    [("2026-11-20T09:00:00Z", 2000), ("2026-11-20T09:09:30Z", 2750), ("", 2000), ("2026-11-20T09:09:30", 2000)],
)
def test_a_pod_that_is_new_counts_with_what_it_is_expected_to_use_above_what_was_measured(
    scheduled: str, cpu: int
) -> None:
    assert load(a_node(), placed(scheduled), metric(measured("100m")))[0].used == cpu


def test_how_long_a_pod_is_new_depends_on_the_interval() -> None:
    spec = {"metricCollectPolicy": {"reportIntervalSeconds": 600}}
    assert load(a_node(), placed("2026-11-20T09:05:00Z"), metric(measured("100m"), spec=spec))[0].used == 2750


def test_an_interval_beyond_time_makes_nobody_new() -> None:
    spec = {"metricCollectPolicy": {"reportIntervalSeconds": 1 << 62}}
    assert load(a_node(), placed("2026-11-20T09:05:00Z"), metric(measured("100m"), spec=spec))[0].used == 2000


@pytest.mark.parametrize(
    ("written", "thresholds"),
    [
        ('{"usageThresholds": {"cpu": 80}}', {"cpu": 80}),
        ('{"usageThresholds": {"cpu": "high"}}', {"cpu": 65, "memory": 95}),
        ('{"usageThresholds": 5}', {"cpu": 65, "memory": 95}),
        ("[]", {"cpu": 65, "memory": 95}),
        ("{", {"cpu": 65, "memory": 95}),
    ],
)
def test_a_node_may_set_its_own_thresholds(written: str, thresholds: dict[str, int]) -> None:
    found = load(a_node(**{OVERRIDE: written}), metric())
    assert {usage.resource: usage.threshold for usage in found} == thresholds


def test_without_thresholds_no_load_refuses_a_pod() -> None:
    found = read(a_node(**{OVERRIDE: '{"usageThresholds": {"cpu": 0}, "prodUsageThresholds": {"cpu": 50}}'}), metric())
    assert (estimated(found), found.nodes["n1"].unevaluated) == ({}, ())


@pytest.mark.parametrize("written", ['{"prodUsageThresholds": {"cpu": 50}}', '{"aggregatedUsage": {"x": 1}}'])
def test_thresholds_that_are_not_evaluated_are_named(written: str) -> None:
    assert read(a_node(**{OVERRIDE: written}), metric()).nodes["n1"].unevaluated == (NodeSetting("load-thresholds"),)


@pytest.mark.parametrize(("written", "total"), [('{"cpu": "16"}', 16000), ('{"cpu": "x"}', 8000), ("[", 8000)])
def test_an_amplified_node_is_measured_against_what_it_really_has(written: str, total: int) -> None:
    assert load(a_node(**{RAW: written}), metric())[0].total == total


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (metric(used={"cpu": "lots"}), "error: list.json: NodeMetric n1: cpu: 'lots' is not a quantity"),
        (metric(measured("lots")), "error: list.json: NodeMetric n1: cpu: 'lots' is not a quantity"),
        (
            thing("Reservation", "r", status={"allocatable": {"cpu": "x"}}),
            "error: list.json: Reservation r: cpu: 'x' is not a quantity",
        ),
    ],
)
def test_an_amount_that_cannot_be_read_is_told_with_its_object(written: Json, words: str) -> None:
    with pytest.raises(KoordError) as refused:
        read(a_node(), written)
    assert refused.value.message == words


@pytest.mark.parametrize(
    ("fields", "estimate"),
    [
        ({}, (("cpu", 250), ("memory", 200 << 20))),
        ({"requests": {"cpu": 1, "memory": "1000"}}, (("cpu", 850), ("memory", 700))),
        (
            {"containers": [{"resources": {"requests": {"cpu": 1}, "limits": {"cpu": 2}}}]},
            (("cpu", 1700), ("memory", 200 << 20)),
        ),
        (
            {"containers": [{"resources": {"requests": {"cpu": 2}, "limits": {"cpu": 1}}}]},
            (("cpu", 1000), ("memory", 200 << 20)),
        ),
        ({"requests": {"kubernetes.io/batch-cpu": 1000}, "priority": 5500}, (("cpu", 850), ("memory", 200 << 20))),
        ({"requests": {"kubernetes.io/mid-cpu": 1000}, "priority": 7500}, (("cpu", 850),)),
        ({"requests": {"cpu": 1}, "priority": 3500}, ()),
        ({"requests": {"cpu": 1}, "labels": {"koordinator.sh/priority-class": "koord-free"}}, ()),
        ({"labels": {"koordinator.sh/qosClass": "BE"}}, (("cpu", 250), ("memory", 200 << 20))),
        ({"status": {"qosClass": "BestEffort"}}, (("cpu", 250), ("memory", 200 << 20))),
    ],
)
def test_what_a_pod_is_expected_to_use(fields: Json, estimate: Resources) -> None:
    assert pending(**fields).requirements.estimate == estimate


def test_pods_of_a_daemon_set_are_known() -> None:
    assert pending(ownerReferences=[{"kind": "DaemonSet", "name": "d"}]).requirements.of_daemon_set


def test_a_node_tells_how_many_volumes_it_can_hold() -> None:
    drivers = [{"name": "b", "allocatable": {"count": 5}}, {"name": "a"}, {"name": "c", "allocatable": {}}]
    found = read(a_node(), thing("CSINode", "n1", spec={"drivers": drivers}))
    assert (found.nodes["n1"].volume_limits, found.nodes["n1"].metric) == ((("b", 5),), None)


def claim(name: str, volume: str | None, *modes: str) -> Json:
    return thing("PersistentVolumeClaim", name, spec={"volumeName": volume, "accessModes": list(modes)})


def test_claims_with_what_their_volumes_say() -> None:
    terms = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]
    spec = {"csi": {"driver": "ebs"}, "nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}
    found = read(
        claim("a", "pv-a", "ReadWriteOncePod"),
        claim("b", "pv-b"),
        claim("c", None),
        claim("d", "pv-d"),
        thing("PersistentVolume", "pv-a", labels={"zone": "a"}, spec=spec),
        thing("PersistentVolume", "pv-d", spec={"nodeAffinity": {}}),
    )
    assert found.claims == {
        "default/a": Claim(
            name="default/a",
            volume="pv-a",
            terms=(NodeTerm((Requirement("zone", "In", ("a",)),)),),
            labels=(("zone", "a"),),
            driver="ebs",
            single_pod=True,
            known=True,
        ),
        "default/b": Claim("default/b", "pv-b"),
        "default/c": Claim("default/c"),
        "default/d": Claim("default/d", "pv-d", known=True),
    }


@pytest.mark.parametrize(
    ("fields", "has"), [({"volumes": [{"persistentVolumeClaim": {"claimName": "d"}}]}, True), ({}, False)]
)
def test_whether_any_waiting_pod_uses_a_claim_is_known(fields: Json, *, has: bool) -> None:
    assert collect(pod("p", **fields)).has_claims == has
