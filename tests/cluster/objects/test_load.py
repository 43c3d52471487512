"""NodeMetrics and CSINodes: what other objects tell of a node."""

import re

import pytest
from msgspec import structs

from kubectl_koord.cluster import collect as joined
from kubectl_koord.cluster.objects import fields, pool
from kubectl_koord.errors import KoordError
from kubectl_koord.model.load import (
    AggregatedThresholds,
    EstimatedTime,
    ExpectedUse,
    LoadSettings,
    NodeMetric,
    PodUsage,
    PodUsages,
    Thresholds,
    UsageOverTime,
    UsagesOverTime,
    pod_usages,
    usages_over_time,
)
from kubectl_koord.model.pods import Marks
from kubectl_koord.model.snapshot import SchedulerConfig
from kubectl_koord.model.unevaluated import NodeSetting
from kubectl_koord.model.values import QuantityError, Resources
from tests.cluster.objects.wire import Json, collect, pending, read, running, thing

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
MEM = 1 << 30
LEAST = 200 << 20
OVERRIDE = "scheduling.koordinator.sh/usage-thresholds"
RAW = "node.koordinator.sh/raw-allocatable"
OWN = "scheduling.koordinator.sh/load-estimated-"
FACTORS = OWN + "scaling-factors"
AFTER_SCHEDULED, AFTER_INITIALIZED = OWN + "seconds-after-pod-scheduled", OWN + "seconds-after-initialized"


def a_node(**annotations: str) -> Json:
    return thing("Node", "n1", annotations=annotations, status={"allocatable": {"cpu": 8, "memory": "10Gi", "pods": 9}})


def metric(*pods: Json, used: Json | None = None, **fields: object) -> Json:
    status = {
        "updateTime": "2026-11-20T09:10:00Z",
        "nodeMetric": {"nodeUsage": {"resources": used or {"cpu": "2", "memory": "1Gi"}}},
        "podsMetric": list(pods),
    }
    return thing("NodeMetric", "n1", status=status, **fields)


def measured(cpu: str, name: str = "p") -> Json:
    return {"namespace": "default", "name": name, "podUsage": {"resources": {"cpu": cpu}}}


def load(*objects: Json) -> NodeMetric:
    found = read(*objects).nodes["n1"].metric
    assert found is not None
    return found


def test_a_metric_stays_as_it_was_measured() -> None:
    raw = {OVERRIDE: '{"usageThresholds": {"memory": 80, "cpu": 0}}', RAW: '{"cpu": "4"}'}
    spec = {"metricCollectPolicy": {"reportIntervalSeconds": 600}}
    other = {**measured("1", "x"), "priority": "koord-prod"}
    assert load(a_node(**raw), metric(measured("100m"), other, {"name": "y"}, spec=spec)) == NodeMetric(
        used=(("cpu", 2000), ("memory", MEM)),
        updated="2026-11-20T09:10:00Z",
        interval=600,
        pods=pod_usages(
            [PodUsage("default", "p", (("cpu", 100),)), PodUsage("default", "x", (("cpu", 1000),), is_prod=True)]
        ),
        thresholds=Thresholds(whole=(("cpu", 0), ("memory", 80))),
        raw_allocatable=(("cpu", 4000),),
    )


def test_usage_over_a_time_is_kept_where_a_threshold_is_for_it_and_that_of_the_system_everywhere() -> None:
    usage = {"p95": {"resources": {"cpu": 3}}, "avg": {"resources": {}}}
    measured = {
        "nodeUsage": {"resources": {"cpu": 2}},
        "systemUsage": {"resources": {"cpu": 1}},
        "aggregatedNodeUsages": [
            {"duration": "1h5m0.5s", "usage": usage},
            {"duration": "long", "usage": usage},
            {"duration": "5m0s"},
        ],
    }
    written = thing("NodeMetric", "n1", status={"nodeMetric": measured})
    own = {OVERRIDE: '{"aggregatedUsage": {"usageThresholds": {"cpu": 50}, "usageAggregationType": "p95"}}'}
    expected = NodeMetric(
        used=(("cpu", 2000),),
        system=(("cpu", 1000),),
        over_time=usages_over_time([UsageOverTime("p95", 3900.5, (("cpu", 3000),))]),
        thresholds=Thresholds(aggregated=AggregatedThresholds((("cpu", 50),), "p95")),
    )
    assert load(a_node(**own), written) == expected
    assert load(a_node(), written) == structs.replace(expected, over_time=(), thresholds=Thresholds())


def test_what_was_measured_comes_out_as_it_went_in() -> None:
    pods = (PodUsage("default", "p", (("cpu", 100),)), PodUsage("x", "q", (("memory", (1 << 64) - 1),), is_prod=True))
    over_time = (UsageOverTime("p95", 3900.5, (("cpu", 3000),)), UsageOverTime("avg", 300, ()))
    found = NodeMetric(None, pods=pod_usages(pods), over_time=usages_over_time(over_time))
    assert isinstance(found.pods, PodUsages)
    assert isinstance(found.over_time, UsagesOverTime)
    assert (tuple(found.pods), tuple(found.over_time)) == (pods, over_time)


def test_numbers_beyond_64_bits_are_kept_as_they_are() -> None:
    pods = (PodUsage("default", "p", (("cpu", 1 << 64),)),)
    over_time = (UsageOverTime("p95", 60, (("cpu", 1 << 64),)),)
    assert (pod_usages(pods), usages_over_time(over_time)) == (pods, over_time)


def test_a_pod_that_uses_nothing_was_measured_all_the_same() -> None:
    idle = {**measured("0", "idle"), "priority": "koord-prod"}
    missing: Json = {"namespace": "default", "name": "missing", "podUsage": {"resources": {}}}
    assert tuple(load(a_node(), metric(idle, missing)).pods) == (PodUsage("default", "idle", (), is_prod=True),)


def test_a_metric_without_a_measurement_is_told_from_none() -> None:
    assert load(a_node(), thing("NodeMetric", "n1")) == NodeMetric(None)
    assert read(a_node()).nodes["n1"].metric is None


@pytest.mark.parametrize(
    ("written", "thresholds"),
    [
        ('{"usageThresholds": {"cpu": 80}}', Thresholds(whole=(("cpu", 80),))),
        ('{"usageThresholds": {"gpu": 80}}', Thresholds(whole=(("cpu", 0),))),
        ('{"prodUsageThresholds": {"memory": 50}}', Thresholds(prod=(("memory", 50),))),
        (
            (
                '{"aggregatedUsage": {"usageThresholds": {"cpu": 60}, "usageAggregationType": "p95",'
                ' "usageAggregatedDuration": "5m0s"}}'
            ),
            Thresholds(aggregated=AggregatedThresholds((("cpu", 60),), "p95", 300)),
        ),
        (
            '{"aggregatedUsage": {"usageThresholds": {"cpu": 60}, "usageAggregationType": "avg"}}',
            Thresholds(aggregated=AggregatedThresholds((("cpu", 60),), "avg")),
        ),
        ('{"aggregatedUsage": {"usageAggregationType": "avg"}}', Thresholds()),
        ('{"aggregatedUsage": {"usageThresholds": {"cpu": 60}}}', Thresholds()),
        (
            '{"usageThresholds": {"cpu": 80}, "aggregatedUsage": {"usageAggregatedDuration": "5 minutes"}}',
            Thresholds(),
        ),
        ('{"usageThresholds": {"cpu": 80}, "aggregatedUsage": {"usageAggregatedDuration": ""}}', Thresholds()),
        ('{"usageThresholds": {"cpu": 80}, "aggregatedUsage": {}}', Thresholds(whole=(("cpu", 80),))),
        ('{"usageThresholds": {}}', Thresholds()),
        ('{"usageThresholds": {"cpu": "high"}}', Thresholds()),
        ('{"usageThresholds": 5}', Thresholds()),
        ("[]", Thresholds()),
        ("{", Thresholds()),
    ],
)
def test_a_node_may_set_its_own_thresholds(written: str, thresholds: Thresholds) -> None:
    assert load(a_node(**{OVERRIDE: written}), metric()).thresholds == thresholds


@pytest.mark.parametrize(
    ("written", "raw"), [('{"cpu": "16"}', (("cpu", 16000),)), ('{"cpu": "x"}', ()), ("[", ()), ("[]", ())]
)
def test_an_amplified_node_tells_what_it_really_has(written: str, raw: Resources) -> None:
    assert load(a_node(**{RAW: written}), metric()).raw_allocatable == raw


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("", 0),
        ("0", 0),
        ("5m0s", 300),
        ("-1.5h", -5400),
        ("+300ms", 0.3),
        ("+", None),
        ("5", None),
        ("5 m", None),
        ("5m0", None),
    ],
)
def test_durations_are_read_as_go_writes_them(written: str, found: float | None) -> None:
    assert fields.seconds(written) == found


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
    ("fields", "expected"),
    [
        ({"requests": {"memory": 1}}, (ExpectedUse("cpu", 0, 0, 250), ExpectedUse("memory", 1, 0, LEAST))),
        (
            {"containers": [{"resources": {"requests": {"cpu": 1}, "limits": {"cpu": 2}}}]},
            (ExpectedUse("cpu", 2000, 2000, 250), ExpectedUse("memory", 0, 0, LEAST)),
        ),
        (
            {"containers": [{"resources": {"requests": {"cpu": 1}, "limits": {"cpu": 2}}}], "overhead": {"cpu": 1}},
            (ExpectedUse("cpu", 3000, 3000, 250), ExpectedUse("memory", 0, 0, LEAST)),
        ),
        (
            {"requests": {"cpu": 1}, "overhead": {"cpu": 1}},
            (ExpectedUse("cpu", 2000, 0, 250), ExpectedUse("memory", 0, 0, LEAST)),
        ),
        (
            {"containers": [{"resources": {"requests": {"cpu": 2}, "limits": {"cpu": 1}}}]},
            (ExpectedUse("cpu", 2000, 1000, 250), ExpectedUse("memory", 0, 0, LEAST)),
        ),
        (
            {"requests": {"kubernetes.io/batch-cpu": 1000}, "priority": 5500},
            (
                ExpectedUse("cpu", 1000, 0, 250, asked_as="kubernetes.io/batch-cpu"),
                ExpectedUse("memory", 0, 0, LEAST, asked_as="kubernetes.io/batch-memory"),
            ),
        ),
        (
            {"requests": {"kubernetes.io/mid-cpu": 1000}, "priority": 7500},
            (ExpectedUse("cpu", 1000, asked_as="kubernetes.io/mid-cpu"),),
        ),
        ({"requests": {"cpu": 1}, "priority": 3500}, ()),
        ({"requests": {"cpu": 1}, "labels": {"koordinator.sh/priority-class": "koord-free"}}, ()),
    ],
)
def test_what_estimates_of_a_pod_are_made_of(fields: Json, expected: tuple[ExpectedUse, ...]) -> None:
    assert pending(**fields).requirements.expected == expected


@pytest.mark.parametrize(
    ("written", "cpu", "memory"),
    [
        ('{"cpu": 40}', 40, None),
        ('{"cpu": 40, "memory": 0, "example.com/gpu": 7}', 40, 0),
        ('{"cpu": -40}', -40, None),
        ('{"cpu": null, "memory": 20}', 0, 20),
        ('{"example.com/gpu": 7}', None, None),
        ("{}", None, None),
        ("null", None, None),
        ("", None, None),
        ('{"cpu": 40.0}', None, None),
        ('{"cpu": 40, "memory": "20"}', None, None),
        ('{"cpu": 9223372036854775808}', None, None),
        ("[", None, None),
    ],
)
def test_a_pod_may_set_its_own_factors(written: str, cpu: int | None, memory: int | None) -> None:
    found = pending(requests={"cpu": 1}, annotations={FACTORS: written}).requirements
    assert found.expected == (ExpectedUse("cpu", 1000, 0, 250, cpu), ExpectedUse("memory", 0, 0, LEAST, memory))
    assert found.estimated_for is None


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("600", 600),
        ("+600", 600),
        ("0", 0),
        ("-0", 0),
        ("00000000000000000000600", 600),
        ("9223372036854775807", (1 << 63) - 1),
        ("9223372036854775808", None),
        ("-600", None),
        ("6e2", None),
        (" 600", None),
        ("600\n", None),
        ("6_00", None),
        ("\u0666", None),
        ("", None),
        (None, None),
        pytest.param("0" * 5000 + "1", 1, id="more digits than Python reads"),
    ],
)
def test_a_pod_may_say_for_how_long_its_estimate_counts(written: str | None, seconds: int | None) -> None:
    found = [
        pending(annotations={name: written}).requirements.estimated_for for name in (AFTER_SCHEDULED, AFTER_INITIALIZED)
    ]
    assert found == [None, None] if seconds is None else [EstimatedTime(seconds), EstimatedTime(None, seconds)]


INITIALIZED = {"type": "Initialized", "status": "True", "lastTransitionTime": "2026-11-20T09:00:00Z"}


@pytest.mark.parametrize(
    ("annotations", "conditions", "since"),
    [
        ({AFTER_INITIALIZED: "600"}, [{"type": "Ready"}, INITIALIZED], "2026-11-20T09:00:00Z"),
        ({AFTER_INITIALIZED: "600"}, [{**INITIALIZED, "status": "False"}], ""),
        ({AFTER_INITIALIZED: "600"}, [{"type": "Initialized", "status": "True"}], ""),
        ({AFTER_INITIALIZED: "600"}, None, ""),
        ({AFTER_INITIALIZED: "0"}, [INITIALIZED], ""),
        ({AFTER_SCHEDULED: "600"}, [INITIALIZED], ""),
        ({}, [INITIALIZED], ""),
    ],
)
def test_since_when_a_pod_is_initialized_is_kept_where_its_estimate_counts_from_then_on(
    annotations: Json, conditions: list[Json] | None, since: str
) -> None:
    assert running(annotations=annotations, status={"conditions": conditions}).marks == Marks(initialized=since)


@pytest.mark.parametrize(
    ("arguments", "unevaluated"),
    [
        (LoadSettings(customizable=True, after_scheduled=60), ()),
        (
            LoadSettings(after_initialized=60, limits_others=True),
            (NodeSetting("load-estimates"), NodeSetting("load-thresholds")),
        ),
    ],
)
def test_a_node_that_is_measured_tells_what_of_it_is_not_evaluated(
    arguments: LoadSettings, unevaluated: tuple[NodeSetting, ...]
) -> None:
    collector = collect(a_node(), thing("Node", "n2", status={"allocatable": {"cpu": 8}}), metric())
    config = SchedulerConfig(load=arguments)
    found = joined.completed_nodes(collector.values, joined.Said(), config, joined.Completed())
    assert [node.unevaluated for node in found.values()] == [unevaluated, ()]


@pytest.mark.parametrize(
    ("fields", "is_prod"),
    [
        ({"labels": {"koordinator.sh/priority-class": "koord-prod"}, "priority": 5500}, True),
        ({"labels": {"koordinator.sh/priority-class": "koord-batch"}, "priority": 9500}, False),
        ({"labels": {"koordinator.sh/priority-class": "none"}, "status": {"qosClass": "BestEffort"}}, False),
        ({"priority": 9500, "status": {"qosClass": "BestEffort"}}, True),
        ({"priority": 7500}, False),
        ({"labels": {"koordinator.sh/qosClass": "BE"}, "requests": {"cpu": 1}}, False),
        ({"labels": {"koordinator.sh/qosClass": "LS"}}, True),
        ({"labels": {"koordinator.sh/qosClass": "best"}, "status": {"qosClass": "BestEffort"}}, False),
        ({"status": {"qosClass": "Burstable"}}, True),
        ({"requests": {"cpu": 1}}, True),
        ({"requests": {"nvidia.com/gpu": 1}}, False),
        ({"containers": [{"resources": {"limits": {"memory": 1}}}]}, True),
        ({"containers": [{}]}, False),
    ],
)
def test_the_priority_class_goes_by_label_then_priority_then_qos_class(fields: Json, *, is_prod: bool) -> None:
    assert pending(**fields).requirements.is_prod is is_prod


def test_pods_of_a_daemon_set_are_known() -> None:
    assert pending(ownerReferences=[{"kind": "DaemonSet", "name": "d"}]).requirements.of_daemon_set


def test_a_node_tells_how_many_volumes_it_can_hold() -> None:
    drivers = [{"name": "b", "allocatable": {"count": 5}}, {"name": "a"}, {"name": "c", "allocatable": {}}]
    found = read(a_node(), thing("CSINode", "n1", spec={"drivers": drivers}))
    assert (found.nodes["n1"].volume_limits, found.nodes["n1"].metric) == ((("b", 5),), None)


@pytest.mark.parametrize("cpu", ["250m", "3", "0", "12345678901m", "5n", "07m", "m", 2])
@pytest.mark.parametrize(
    "memory", ["77", "4Ki", "2Mi", "0Ki", "1Gi", "8796093022207Mi", "8796093022208Mi", "5K1i", 12, "\u0663Ki"]
)
def test_usage_spelled_as_koordlet_does_is_read_as_any_other(cpu: str | int, memory: str | int) -> None:
    written: pool.Amounts = {"cpu": cpu, "memory": memory}
    one = metric(used=written)
    try:
        expected = pool.measured(written)
    except QuantityError as problem:
        with pytest.raises(KoordError, match=re.escape(str(problem))):
            load(a_node(), one)
    else:
        assert load(a_node(), one).used == expected


def test_what_koordlet_writes_is_read_together() -> None:
    of_one = [b'{"cpu":"26m","memory":"396051912"}', b'{"cpu":"1097m","memory":"5833412Ki"}']
    of_another = [b'{"cpu":"2","memory":"64Mi"}', b'{"cpu":"0","memory":"0Mi"}']
    assert pool.cpu_and_memory(of_one, (), of_another) == [
        [26, 396051912, 1097, 5833412 << 10],
        [],
        [2000, 64 << 20, 0, 0],
    ]
    assert pool.cpu_and_memory((), ()) is None


@pytest.mark.parametrize(
    "odd",
    [
        '{"cpu":"m5","memory":"7"}',
        '{"cpu":"5m5","memory":"7"}',
        '{"cpu5":"m","memory":"7"}',
        '{"5cpu":"m","memory":"7"}',
        '{"cpu":"5m","memory7":""}',
        '{"cpu":"5m","mem7ory":"7"}',
        '{"cpu":"5m","memory":"7K0i"}',
        '{"cpu":"05m","memory":"7"}',
        '{"cpu":"5m","memory":"7}8"}',
        '{"cpu":"5m","memory":"7,8"}',
        '{"cpu":"5m","memory":7}',
        '{"cpu":5,"memory":"7"}',
        '{"cpu":"5m","memory":"8796093022208"}',
        '{"cpu":"5m", "memory":"7"}',
        '{"cpu":"5m"}',
        "{}",
        "null",
        "7",
    ],
)
def test_what_only_looks_like_it_is_not(odd: str) -> None:
    plain = b'{"cpu":"5m","memory":"7"}'
    assert pool.cpu_and_memory([plain, odd.encode(), plain]) is None


KOORDLET: pool.Amounts = {"cpu": "865m", "memory": "3777237Ki"}


@pytest.mark.parametrize(
    "other",
    [
        {"cpu": "12m", "memory": "7Ki"},
        {"cpu": "0", "memory": "7Ki"},
        {"cpu": "12m", "memory": "8192"},
        {"cpu": "12m", "memory": "7Gi"},
        {"cpu": 1, "memory": 1024},
        {"cpu": "12m", "memory": "7Ki", "nvidia.com/gpu": "1"},
        {"memory": "7Ki"},
        {},
    ],
    ids=["alike", "zero", "bytes", "large", "numbers", "more", "less", "nothing"],
)
def test_usages_are_the_same_together_as_each_for_itself(other: pool.Amounts) -> None:
    every = [KOORDLET, other, KOORDLET]
    pods = [{"name": str(number), "podUsage": {"resources": one}} for number, one in enumerate(every)]
    found = load(a_node(), metric(*pods))
    assert found is not None
    assert [one.used for one in found.pods] == [pool.measured(one) for one in every if one]


def test_a_usage_that_looks_like_two_is_none() -> None:
    with pytest.raises(KoordError):
        load(a_node(), metric({"podUsage": {"resources": {"cpu": "1m 1Ki 1m", "memory": "1Ki"}}}))
