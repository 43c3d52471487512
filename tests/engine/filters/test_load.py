"""Measured load: a node takes nobody who would lift its usage above a threshold."""

import pytest
from msgspec import structs

from kubectl_koord.engine.filters import prepare, rejection
from kubectl_koord.engine.filters.load_aware import estimate
from kubectl_koord.engine.reasons import Insufficient, MetricExpired, Overloaded, Reason, Refused
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.slots import NodeSlots, offer_slots
from kubectl_koord.engine.state import NodeState, of
from kubectl_koord.model.load import (
    AggregatedThresholds,
    EstimatedTime,
    ExpectedUse,
    LoadSettings,
    NodeMetric,
    PodUsage,
    Thresholds,
    UsageOverTime,
)
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import Marks, PendingPod
from kubectl_koord.model.values import Resources
from tests.build import SPINE, Drawing, attempt_of, cluster, failing_pod, node, pending, preempt_of, short
from tests.worded import worded

NOW, LONG_AGO = "2026-11-20T10:00:00Z", "2026-11-20T08:00:00Z"
DEFAULTS = LoadSettings()
CUSTOMIZABLE = LoadSettings(customizable=True)
ONE_NODE = cluster("s0: b0[n1:8]")


def cpu(milli: int) -> Resources:
    return (("cpu", milli),)


def use(milli: int) -> tuple[ExpectedUse, ...]:
    """Return what makes an estimate of just so much CPU."""
    return (ExpectedUse("cpu", 0, least=milli),)


def measured(milli: int, **fields: object) -> Drawing:
    """Return a node of 8 CPU that uses so much of it."""
    return ONE_NODE.change("n1", metric=structs.replace(NodeMetric(cpu(milli), NOW), **fields))


def with_thresholds(drawing: Drawing, **groups: object) -> Drawing:
    return drawing.configured(load=LoadSettings(Thresholds(**groups)))  # type: ignore[arg-type]


def refusal(drawing: Drawing, pod: PendingPod | None = None) -> Reason | None:
    asked, view = pod or pending("p", expected=use(1000)), of(drawing)
    return rejection(asked, view.state("n1"), prepare(asked, view, rules("1.8")))


@pytest.mark.parametrize("version", ["1.7", "1.8"])
def test_a_half_percent_is_rounded_as_floating_point_numbers_are(version: str) -> None:
    # 57.5 % is a little less as 0.575 * 100, 65.5 % is not
    for threshold, used in ((57, 3600), (65, 4240)):
        drawing = measured(used, thresholds=Thresholds(whole=(("cpu", threshold),))).version(version)
        asked = pending("p", expected=use(1000))
        found = offer_slots(of(drawing), ["n1"], (asked,), prepare(asked, of(drawing), rules(version)))
        refused = Overloaded("cpu", 66, 65) if threshold == 65 else None
        assert (refusal(drawing), dict(found.counts)) == (refused, {} if refused else {"n1": 1})


@pytest.mark.parametrize(
    ("drawing", "reason"),
    [
        (measured(5000), Overloaded("cpu", 75, 65)),
        (measured(4200), None),
        (measured(4240), Overloaded("cpu", 66, 65)),
        (ONE_NODE, None),
        (measured(5000, raw_allocatable=cpu(16000)), None),
        (measured(5000).with_nodes(Node("n1", (("pods", 9),), metric=NodeMetric(cpu(5000)))), None),
        (with_thresholds(measured(9000)), None),
        (with_thresholds(measured(9000), whole=(("cpu", 0), ("memory", 95))), None),
        (measured(9000, thresholds=Thresholds(whole=(("cpu", 0),))), None),
        (measured(5000, thresholds=Thresholds(whole=(("cpu", 80),))), None),
        (measured(4000, thresholds=Thresholds(whole=(("cpu", 50),))), Overloaded("cpu", 63, 50)),
        (measured(0, thresholds=Thresholds(whole=(("cpu", -1),))), Overloaded("cpu", 13, -1)),
        (measured(9000, used=None), None),
    ],
)
def test_usage_and_estimate_together_must_not_pass_the_threshold(drawing: Drawing, reason: Reason | None) -> None:
    pod = pending("p", 0, expected=use(1000))
    assert refusal(drawing, pod) == reason


def test_pods_of_daemon_sets_go_wherever_they_like() -> None:
    assert refusal(measured(9000), pending("p", expected=use(1000), of_daemon_set=True)) is None


@pytest.mark.parametrize(
    ("one", "settings", "expected"),
    [
        (ExpectedUse("cpu", 1000), DEFAULTS, 850),
        (ExpectedUse("cpu", 0, least=250), DEFAULTS, 250),
        (ExpectedUse("memory", 1), DEFAULTS, 1),
        (ExpectedUse("cpu", 1000), LoadSettings(factors=(("cpu", 150),)), 1500),
        (ExpectedUse("cpu", 1000, 1000), LoadSettings(factors=(("cpu", 150),)), 1000),
        (ExpectedUse("cpu", 1000, factor=20), DEFAULTS, 850),
        (ExpectedUse("cpu", 1000, factor=20), CUSTOMIZABLE, 200),
        (ExpectedUse("cpu", 1000, factor=0), CUSTOMIZABLE, 0),
        (ExpectedUse("cpu", 1000), CUSTOMIZABLE, 850),
        (ExpectedUse("cpu", 0, least=250, factor=20), CUSTOMIZABLE, 250),
        (ExpectedUse("cpu", 1000, 1000, factor=150), CUSTOMIZABLE, 1000),
        (ExpectedUse("cpu", 50, factor=1), CUSTOMIZABLE, 1),
        (ExpectedUse("cpu", 50, factor=-1), CUSTOMIZABLE, -1),
        (ExpectedUse("cpu", 49, factor=-1), CUSTOMIZABLE, 0),
    ],
)
def test_a_pod_is_expected_to_use_a_share_of_what_it_asks_for(
    one: ExpectedUse, settings: LoadSettings, expected: int
) -> None:
    assert estimate((one,), settings) == ((one.resource, expected),)


@pytest.mark.parametrize(("factor", "reason"), [(50, None), (None, Overloaded("cpu", 68, 65))])
def test_a_pod_is_let_in_by_the_factor_that_it_sets_itself(factor: int | None, reason: Reason | None) -> None:
    pod = pending("p", expected=(ExpectedUse("cpu", 4000, least=250, factor=factor),))
    assert refusal(measured(2000), pod) == Overloaded("cpu", 68, 65)
    assert refusal(measured(2000).configured(load=CUSTOMIZABLE), pod) == reason


@pytest.mark.parametrize(
    ("pod", "reason"),
    [
        (pending("p", expected=use(0)), Overloaded("cpu", 75, 50)),
        (pending("p", expected=use(0), is_prod=False), None),
    ],
)
def test_prod_pods_are_held_against_what_prod_pods_use(pod: PendingPod, reason: Reason | None) -> None:
    drawing = measured(
        1000,
        updated=LONG_AGO,
        pods=(PodUsage("default", "old", cpu(2000), is_prod=True), PodUsage("default", "other", cpu(9000))),
    )
    drawing = drawing.with_running("old", on="n1", expected=use(3000), scheduled="2026-11-20T07:00:00Z")
    drawing = drawing.with_running("new", on="n1", expected=use(1000), scheduled=NOW)
    drawing = drawing.with_running("other", on="n1", expected=use(3000), scheduled="2026-11-20T07:00:00Z")
    drawing = drawing.with_running("low", on="n1", expected=use(9), is_prod=False, scheduled="2026-11-20T07:00:00Z")
    assert refusal(with_thresholds(drawing, prod=(("cpu", 50),)), pod) == reason


def test_prod_pods_are_held_against_what_they_use_on_a_node_with_thresholds_of_its_own_for_them() -> None:
    own = Thresholds(prod=(("cpu", 50),))
    drawing = cluster("s0: b0[n1:8 n2:8]").change("n1", metric=NodeMetric(cpu(7000), NOW))
    drawing = drawing.change("n2", metric=NodeMetric(cpu(7000), NOW, thresholds=own))
    view, pods = of(drawing), (pending("high", expected=use(0)), pending("low", expected=use(0), is_prod=False))
    found = [offer_slots(view, view.names(), [pod], prepare(pod, view, rules("1.8"))) for pod in pods]
    above = NodeSlots(0, Overloaded("cpu", 88, 65))
    assert found == [{"n1": above, "n2": NodeSlots(1, None)}, {"n1": above, "n2": above}]


def test_what_the_system_uses_may_count_among_prod_pods() -> None:
    drawing = measured(8000, system=cpu(4000), pods=(PodUsage("default", "new", cpu(400), is_prod=True),))
    drawing = drawing.with_running("new", on="n1", expected=use(1000), scheduled=NOW)
    settings = LoadSettings(Thresholds(prod=(("cpu", 65),)))
    assert refusal(drawing.configured(load=settings)) is None
    assert refusal(drawing.configured(load=structs.replace(settings, prod_includes_system=True))) == Overloaded(
        "cpu", 75, 65
    )


P95 = (UsageOverTime("p95", 300, cpu(7000)), UsageOverTime("p95", 600, cpu(6000)), UsageOverTime("avg", 900, cpu(1)))


@pytest.mark.parametrize(
    ("kind", "seconds", "percent"), [("p95", 300, 88), ("p95", 0, 75), ("p50", 0, 25), ("p95", 60, 38)]
)
def test_aggregated_thresholds_are_held_against_usage_over_a_time(kind: str, seconds: float, percent: int) -> None:
    drawing = measured(2000, over_time=P95, updated=LONG_AGO, pods=(PodUsage("default", "old", cpu(5000)),))
    drawing = drawing.with_running("old", on="n1", expected=use(3000), scheduled="2026-11-20T07:00:00Z")
    limits = AggregatedThresholds((("cpu", 20),), kind, seconds)
    pod = pending("p", expected=use(0))
    assert refusal(with_thresholds(drawing, aggregated=limits), pod) == Overloaded("cpu", percent, 20, aggregated=True)


def test_aggregated_thresholds_that_are_switched_off_take_the_place_of_those_of_the_whole_node() -> None:
    off = AggregatedThresholds((("cpu", 0),), "p95")
    assert refusal(measured(9000, thresholds=Thresholds(aggregated=off))) is None


EXPIRING = LoadSettings(filters_expired=True)


@pytest.mark.parametrize(
    ("settings", "updated", "reason"),
    [
        (LoadSettings(), LONG_AGO, None),
        (EXPIRING, LONG_AGO, MetricExpired(LONG_AGO)),
        (EXPIRING, "", MetricExpired("")),
        (EXPIRING, "2026-11-20T10:00:00", MetricExpired("2026-11-20T10:00:00")),
        (EXPIRING, "2026-11-20T09:55:01Z", None),
        (structs.replace(EXPIRING, expiration=0), LONG_AGO, None),
        (structs.replace(EXPIRING, passes_expired=True), LONG_AGO, None),
    ],
)
def test_old_metrics_refuse_pods_where_that_is_configured(
    settings: LoadSettings, updated: str, reason: Reason | None
) -> None:
    assert refusal(measured(0, updated=updated).configured(load=settings)) == reason


@pytest.mark.parametrize(
    ("updated", "scheduled", "settings", "percent"),
    [
        (NOW, "2026-11-20T09:59:30Z", LoadSettings(), 75),
        (NOW, "2026-11-20T09:58:30Z", LoadSettings(), 50),
        (NOW, "2026-11-20T09:58:30Z", LoadSettings(after_scheduled=100), 75),
        (NOW, "", LoadSettings(), 75),
        ("", "2026-11-20T09:00:00Z", LoadSettings(), 75),
        ("0001-01-01T00:00:00Z", "2026-11-20T09:00:00Z", LoadSettings(), 50),
    ],
)
def test_pods_that_the_measuring_missed_count_with_what_they_are_expected_to_use(
    updated: str, scheduled: str, settings: LoadSettings, percent: int
) -> None:
    drawing = measured(4000, updated=updated, pods=(PodUsage("default", "new", cpu(1000)),))
    drawing = drawing.with_running("new", on="n1", expected=use(3000), scheduled=scheduled)
    limits = structs.replace(settings, thresholds=Thresholds(whole=(("cpu", 1),)))
    assert refusal(drawing.configured(load=limits), pending("p", expected=use(0))) == Overloaded("cpu", percent, 1)


def test_a_pod_that_is_not_reported_counts_in_full() -> None:
    drawing = measured(4000, updated=LONG_AGO).with_running("a", on="n1", expected=use(1000), scheduled=LONG_AGO)
    assert refusal(drawing) == Overloaded("cpu", 75, 65)


def test_an_overloaded_node_has_no_slots_but_what_is_short_is_named_first() -> None:
    pods = [pending("p", 2, expected=use(1000))]
    drawing = cluster("s0: b0[n1:8 n2:1]").change("n1", "n2", metric=NodeMetric(cpu(5000)))
    view = of(drawing)
    found = offer_slots(view, view.names(), pods, prepare(pods[0], view, rules("1.7")))
    assert found == {
        "n1": NodeSlots(0, Overloaded("cpu", 75, 65)),
        "n2": NodeSlots(0, Insufficient((("cpu", 2000, 1000),))),
    }


@pytest.mark.parametrize("is_prod", [True, False])
def test_members_that_are_assumed_on_a_node_count_when_the_plan_is_carried_out(*, is_prod: bool) -> None:
    drawing = with_thresholds(measured(4000, system=cpu(4000)), whole=(("cpu", 65),), prod=(("cpu", 20),))
    failed = attempt_of(drawing.with_gang("job", 2, 1, must_gather=SPINE, expected=use(1000), is_prod=is_prod))
    assert failed.plan is not None
    assert failed.plan.nodes["n1"].slots == 2
    assert failing_pod(failed) == "default/job-1"


@pytest.mark.parametrize(("first", "slots"), [(5000, 0), (100, 2)])
def test_the_first_pod_s_estimate_counts_for_all_members_in_slots(first: int, slots: int) -> None:
    drawing = ONE_NODE.change("n1", metric=NodeMetric(cpu(2000))).with_group("job", 2, topology=None)
    drawing = drawing.with_gang("job", 2, 1, must_gather=SPINE, expected=use(1000))
    drawing = drawing.with_pod("job-0", gang="job", expected=use(first))
    failed = attempt_of(drawing, trigger="job-1")
    assert failed.plan is not None
    assert failed.plan.nodes["n1"].slots == slots


def test_a_gang_without_topology_is_placed_one_by_one_each_counted() -> None:
    drawing = measured(4000).with_gang("job", 2, 1, expected=use(1000))
    failed = attempt_of(drawing)
    assert (failed.placement, {name: len(pods) for name, pods in failed.waiting.items()}) == (None, {"n1": 1})
    unequal = attempt_of(drawing.with_pod("job-1", gang="job", cpu=2, expected=use(1000)))
    assert (unequal.placement, {name: len(pods) for name, pods in unequal.waiting.items()}) == (None, {"n1": 1})


def test_a_pod_that_is_gone_is_expected_no_more_and_one_that_is_taken_away_on_trial_is() -> None:
    drawing = measured(4000).with_running("new", on="n1", expected=use(1000))
    view, everybody = of(drawing), {"n1": drawing.running["n1"]}
    pod = pending("p", expected=use(1000))
    found = {
        name: rejection(pod, variant.state("n1"), prepare(pod, variant, rules("1.8")))
        for name, variant in {
            "as it is": view,
            "on trial": view.without_any(lambda _: everybody),
            "gone": view.without(drawing.running["n1"]),
            "counted": view.with_pods({"n1": [pending("q", expected=use(1000))]}),
        }.items()
    }
    much = Overloaded("cpu", 75, 65)
    assert found == {"as it is": much, "on trial": much, "gone": None, "counted": much}


def test_a_copy_of_a_node_on_which_pods_are_tried_knows_the_same_load() -> None:
    pod, view = pending("p", expected=use(1000)), of(measured(5000))
    prepared = prepare(pod, view, rules("1.8"))
    assert rejection(pod, view.state("n1").copy(), prepared) == rejection(pod, view.state("n1"), prepared)
    assert rejection(pod, NodeState(view.node("n1"), iter(())), prepared) == Overloaded("cpu", 75, 65)


def test_preemption_against_load_hits_nobody_and_says_so() -> None:
    drawing = cluster("s0: b0[n1 n2]").change("n1", "n2", metric=NodeMetric(cpu(6000)))
    drawing = drawing.with_running("low", on="n1", expected=use(1000))
    report = preempt_of(drawing.with_gang("job", 1, 1, priority=9, expected=use(1000)))
    assert (report.reason, report.victims) == ("not-helpful", ())
    assert [notice.message for notice in report.warnings if notice.code == "overloaded-nodes"] == [
        "n1 refuses its pods for measured load, which preemption there does not lower at once."
    ]


def test_a_gang_that_load_keeps_apart_takes_one_victim_s_node_after_the_other() -> None:
    drawing = cluster("s0: b0[n1 n2]").change("n1", "n2", metric=NodeMetric(cpu(4000)))
    for name, low in (("n1", "a"), ("n2", "b")):
        drawing = drawing.with_running(low, on=name, cpu=8)
    report = preempt_of(drawing.with_gang("job", 2, 1, priority=9, expected=use(1000)))
    assert [[victim.pod for victim in one.victims] for one in report.rounds] == [["default/a"], ["default/b"]]
    assert (report.verdict, short(report.nominations)) == ("yes", {"job-0": "n1", "job-1": "n1"})


def test_where_nothing_is_measured_the_filter_has_nothing_to_say() -> None:
    pod, found_measured = pending("p"), cluster("s0: b0[n1 n2]").change("n1", metric=NodeMetric(()))
    names = [
        [type(check).__name__ for check in prepare(pod, of(drawing), rules("1.8")).checks]
        for drawing in (cluster("s0: b0[n1 n2]"), with_thresholds(found_measured), found_measured)
    ]
    assert ["LoadAware" in found for found in names] == [False, False, True]


def test_a_node_that_is_not_measured_takes_anybody_beside_one_that_is() -> None:
    pod, view = pending("p"), of(cluster("s0: b0[n1 n2]").change("n1", metric=NodeMetric(cpu(8000))))
    prepared = prepare(pod, view, rules("1.8"))
    found = [rejection(pod, view.state(name), prepared) for name in view.names()]
    assert found == [Overloaded("cpu", 100, 65), None]


def test_pods_of_a_daemon_set_are_refused_by_no_load_however_they_are_counted() -> None:
    drawing = with_thresholds(measured(7900), whole=(("cpu", 65),))
    pod, view = pending("p", expected=use(1000), of_daemon_set=True), of(drawing)
    assert offer_slots(view, ["n1"], [pod], prepare(pod, view, rules("1.8"))).counts == {"n1": 1}


def test_nodes_without_a_metric_or_without_thresholds_are_counted_as_they_are() -> None:
    bare = measured(7900, thresholds=Thresholds(whole=(("cpu", 0),))).with_nodes(node("n2"))
    drawing = with_thresholds(bare, whole=(("cpu", 65),))
    pod, view = pending("p", expected=use(1000)), of(drawing)
    assert offer_slots(view, ["n1", "n2"], [pod], prepare(pod, view, rules("1.8"))).counts == {"n1": 1, "n2": 1}


@pytest.mark.parametrize("filters_expired", [True, False])
def test_nodes_are_refused_for_load_in_the_same_words_at_once_as_one_by_one(*, filters_expired: bool) -> None:
    drawing = cluster("s0: b0[n0:8 n1:8 n2:8 n3:8 n4:8 n5:8 n6:8 n7:8 n8:8 n9:8 n10:8 n11:8]")
    for at in range(11):
        used = (("cpu", at // 2 * 1400), ("memory", (at % 5) << 34))
        own = Thresholds(whole=(("memory", 20), ("cpu", 50))) if at % 3 == 0 else Thresholds()
        metric = NodeMetric(used, LONG_AGO if at > 8 else NOW, thresholds=own, raw_allocatable=(("memory", 80 << 30),))
        drawing = drawing.change(f"n{at}", metric=metric)
    load = LoadSettings(Thresholds(whole=(("cpu", 65), ("memory", 60))), filters_expired=filters_expired, expiration=60)
    pod, view = pending("p", expected=use(1000)), of(drawing.configured(load=load))
    prepared = prepare(pod, view, rules("1.8"))
    found = {name: rejection(pod, view.state(name), prepared) for name in view.names()}
    refused = [Refused(reason, 1) for reason in found.values() if reason is not None]
    reasons = offer_slots(view, view.names(), [pod], prepared).reasons
    assert worded(reasons) == worded(refused)
    assert len(reasons) == len({one.reason for one in refused})


OLD, LATER = "2026-11-20T09:50:00Z", "2026-11-20T09:55:00Z"


@pytest.mark.parametrize(
    ("own", "initialized", "settings", "counts"),
    [
        (EstimatedTime(after_scheduled=900), "", CUSTOMIZABLE, True),
        (EstimatedTime(after_scheduled=900), "", LoadSettings(), False),
        (EstimatedTime(after_scheduled=599), "", CUSTOMIZABLE, False),
        (EstimatedTime(after_scheduled=9 * 10**9), "", CUSTOMIZABLE, True),
        (EstimatedTime(after_scheduled=10**10), "", CUSTOMIZABLE, False),
        (EstimatedTime(after_scheduled=2 * 10**10), "", CUSTOMIZABLE, True),
        (EstimatedTime(after_initialized=600), "", structs.replace(CUSTOMIZABLE, after_scheduled=900), True),
        (EstimatedTime(after_initialized=301), LATER, CUSTOMIZABLE, True),
        (EstimatedTime(after_initialized=300), LATER, structs.replace(CUSTOMIZABLE, after_scheduled=900), False),
        (EstimatedTime(900, 300), LATER, CUSTOMIZABLE, False),
        (EstimatedTime(900, 300), "", CUSTOMIZABLE, True),
        (EstimatedTime(900, 0), LATER, CUSTOMIZABLE, True),
        (EstimatedTime(after_scheduled=0), "", structs.replace(CUSTOMIZABLE, after_scheduled=900), False),
        (EstimatedTime(900), "", structs.replace(CUSTOMIZABLE, after_initialized=60), False),
        (EstimatedTime(900, 0), "", structs.replace(CUSTOMIZABLE, after_initialized=60), True),
        (None, "", structs.replace(CUSTOMIZABLE, after_scheduled=900), True),
        (None, "", structs.replace(CUSTOMIZABLE, after_scheduled=900, after_initialized=60), False),
    ],
)
def test_a_pod_counts_as_expected_for_as_long_as_it_says_itself(
    own: EstimatedTime | None, initialized: str, settings: LoadSettings, *, counts: bool
) -> None:
    drawing = measured(4000, pods=(PodUsage("default", "new", cpu(1000)),)).with_running(
        "new", on="n1", expected=use(3000), scheduled=OLD, estimated_for=own, marks=Marks(initialized=initialized)
    )
    limits = structs.replace(settings, thresholds=Thresholds(whole=(("cpu", 1),)))
    asked, view = pending("p", expected=use(0)), of(drawing.configured(load=limits))
    expected = Overloaded("cpu", 75 if counts else 50, 1)
    prepared = prepare(asked, view, rules("1.8"))
    assert rejection(asked, view.state("n1"), prepared) == expected
    assert offer_slots(view, ["n1"], (asked,), prepared) == {"n1": NodeSlots(0, expected)}


def test_a_pod_that_is_missed_by_the_measuring_is_new_whatever_it_says() -> None:
    drawing = measured(4000, pods=(PodUsage("default", "new", cpu(1000)),)).with_running(
        "new", on="n1", expected=use(3000), scheduled="2026-11-20T09:59:30Z", estimated_for=EstimatedTime(0, 0)
    )
    limits = structs.replace(CUSTOMIZABLE, thresholds=Thresholds(whole=(("cpu", 1),)))
    assert refusal(drawing.configured(load=limits), pending("p", expected=use(0))) == Overloaded("cpu", 75, 1)


def test_no_estimate_is_so_far_below_nothing_that_an_expired_metric_takes_the_pod() -> None:
    settings = LoadSettings(filters_expired=True, customizable=True)
    view = of(measured(0, updated=LONG_AGO).configured(load=settings))
    asked = pending("p", expected=(ExpectedUse("cpu", 9000, factor=-100),))
    prepared = prepare(asked, view, rules("1.8"))
    assert offer_slots(view, ["n1"], (asked,), prepared) == {"n1": NodeSlots(0, MetricExpired(LONG_AGO))}
