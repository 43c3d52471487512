"""Measured load: a node takes nobody who would lift its usage above a threshold."""

import pytest

from kubectl_koord.engine.fit import prepare, rejection
from kubectl_koord.engine.fit.load_aware import Usage, overloaded
from kubectl_koord.engine.reasons import Insufficient, Overloaded
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.slots import NodeSlots, offer_slots
from kubectl_koord.engine.view import of
from kubectl_koord.model.objects import NodeMetric
from kubectl_koord.model.pods import PodRequirements
from tests.build import SPINE, attempt_of, cluster, failing_pod, pending

BUSY = Usage("cpu", 5000, 8000, 65)
ESTIMATE = (("cpu", 1000),)


@pytest.mark.parametrize(
    ("usage", "requirements", "reason"),
    [
        (BUSY, PodRequirements(estimate=ESTIMATE), Overloaded("cpu", 75, 65)),
        (BUSY, PodRequirements(), None),
        (BUSY, PodRequirements(estimate=ESTIMATE, of_daemon_set=True), None),
        (Usage("cpu", 4200, 8000, 65), PodRequirements(estimate=ESTIMATE), None),
        (Usage("cpu", 4240, 8000, 65), PodRequirements(estimate=ESTIMATE), Overloaded("cpu", 66, 65)),
        (Usage("cpu", 5000, 0, 65), PodRequirements(estimate=ESTIMATE), None),
        (Usage("cpu", 5000, 8000, 0), PodRequirements(estimate=ESTIMATE), None),
        (Usage("memory", 96, 100, 95), PodRequirements(estimate=ESTIMATE), Overloaded("memory", 96, 95)),
    ],
)
def test_usage_and_estimate_together_must_not_pass_the_threshold(
    usage: Usage, requirements: PodRequirements, reason: Overloaded | None
) -> None:
    assert overloaded(requirements, (usage,)) == reason


def test_an_overloaded_node_has_no_slots_but_what_is_short_is_named_first() -> None:
    pods = [pending("p", 2, estimate=ESTIMATE)]
    drawing = cluster("s0: b0[n1:8 n2:1]").change("n1", "n2", metric=NodeMetric((("cpu", 5000),)))
    view = of(drawing)
    found = offer_slots(view, view.names(), pods, prepare(pods[0], view, rules("1.7")))
    assert found == {
        "n1": NodeSlots(0, Overloaded("cpu", 75, 65)),
        "n2": NodeSlots(0, Insufficient((("cpu", 2000, 1000),))),
    }


def test_members_that_are_assumed_on_a_node_count_when_the_plan_is_carried_out() -> None:
    drawing = cluster("s0: b0[n1:8]").change("n1", metric=NodeMetric((("cpu", 4000),)))
    failed = attempt_of(drawing.with_gang("job", 2, 1, must_gather=SPINE, estimate=ESTIMATE))
    assert failed.plan is not None
    assert failed.plan.nodes["n1"].slots == 2
    assert failing_pod(failed) == "default/job-1"


def test_a_what_if_keeps_what_was_estimated_of_the_cluster_as_it_is() -> None:
    measured = NodeMetric((("cpu", 4000),), "2026-11-20T10:00:00Z")
    drawing = cluster("s0: b0[n1:8]").change("n1", metric=measured).with_running("new", on="n1", estimate=ESTIMATE)
    pod, view = pending("p", estimate=ESTIMATE), of(drawing)
    without, beside = view.without(drawing.running["n1"]), view.with_pods({"n1": [pending("q", estimate=ESTIMATE)]})
    for variant in (view, without, beside):
        found = rejection(pod, variant.state("n1"), prepare(pod, variant, rules("1.8")))
        assert found == Overloaded("cpu", 75, 65)


def test_where_nothing_is_measured_the_filter_has_nothing_to_say() -> None:
    pod, measured = pending("p"), cluster("s0: b0[n1 n2]").change("n1", metric=NodeMetric(()))
    names = [
        [type(check).__name__ for check in prepare(pod, of(drawing), rules("1.8")).checks]
        for drawing in (cluster("s0: b0[n1 n2]"), measured.configured(usage_thresholds=()), measured)
    ]
    assert ["LoadAware" in found for found in names] == [False, False, True]


def test_a_node_that_is_not_measured_takes_anybody_beside_one_that_is() -> None:
    pod, view = pending("p"), of(cluster("s0: b0[n1 n2]").change("n1", metric=NodeMetric((("cpu", 8000),))))
    prepared = prepare(pod, view, rules("1.8"))
    found = [rejection(pod, view.state(name), prepared) for name in view.names()]
    assert found == [Overloaded("cpu", 100, 65), None]
