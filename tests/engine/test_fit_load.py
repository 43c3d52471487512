"""Measured load: a node takes nobody who would lift its usage above a threshold."""

import pytest

from kubectl_koord.engine.fit import prepare
from kubectl_koord.engine.fit.load_aware import overloaded
from kubectl_koord.engine.reasons import Insufficient, Overloaded
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.slots import NodeSlots, offer_slots
from kubectl_koord.engine.view import of
from kubectl_koord.model.objects import Usage
from kubectl_koord.model.pods import PodRequirements
from tests.build import SPINE, attempt_of, cluster, node, pending

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
    assert overloaded(requirements, node("n1", load=(usage,))) == reason


def test_a_node_without_metrics_takes_anybody() -> None:
    assert overloaded(PodRequirements(estimate=ESTIMATE), node("n1")) is None


def test_an_overloaded_node_has_no_slots_but_what_is_short_is_named_first() -> None:
    pods = [pending("p", 2, estimate=ESTIMATE)]
    drawing = cluster("s0: b0[n1:8 n2:1]").change("n1", "n2", load=(BUSY,))
    view = of(drawing)
    found = offer_slots(view, view.names(), pods, prepare(pods[0], view, rules("1.7")))
    assert found == {
        "n1": NodeSlots(0, Overloaded("cpu", 75, 65)),
        "n2": NodeSlots(0, Insufficient((("cpu", 2000, 1000),))),
    }


def test_members_that_are_assumed_on_a_node_count_when_the_plan_is_carried_out() -> None:
    drawing = cluster("s0: b0[n1:8]").change("n1", load=(Usage("cpu", 4000, 8000, 65),))
    failed = attempt_of(drawing.with_gang("job", 2, 1, must_gather=SPINE, estimate=ESTIMATE))
    assert failed.plan is not None
    assert failed.plan.nodes["n1"].slots == 2
    assert failed.invalid == "default/job-1"
