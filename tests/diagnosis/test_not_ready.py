"""Nodes that are not ready: the scheduler places pods there unless a taint or a cordon keeps them away."""

import pytest

from kubectl_koord.explain.place import node_report
from kubectl_koord.explain.preempt import preempt
from kubectl_koord.reports.common import Notice
from tests.build import BLOCK, Drawing, cluster, why_of

FREE = cluster("s0: b0[n1:8 n2:8]; s1: b1[n3:8]")
WAITING = FREE.with_gang("job", 2, 8, must_gather=BLOCK)
NOT_READY = "node.kubernetes.io/not-ready"


def told(warnings: tuple[Notice, ...]) -> list[str]:
    return [one.message for one in warnings if one.code == "not-ready-nodes"]


def at_node(drawn: Drawing) -> list[str]:
    return told(node_report(drawn, "n1").warnings)


def test_a_placement_on_nodes_that_are_not_ready_is_told() -> None:
    assert told(why_of(WAITING.change("n3", ready=False)).warnings) == []
    one = "n2 is not ready: the scheduler looks at taints alone, and places pods there all the same."
    assert told(why_of(WAITING.change("n2", ready=False)).warnings) == [one]
    both = "n1 and n2 are not ready: the scheduler looks at taints alone, and places pods on them all the same."
    report = why_of(WAITING.change("n1", "n2", ready=False))
    assert (report.verdict, told(report.warnings)) == ("yes", [both])


def test_a_nomination_to_a_node_that_is_not_ready_is_told() -> None:
    drawn = FREE.with_running("low", on="n1", cpu=8).with_gang("job", 2, 8, must_gather=BLOCK, priority=5)
    report = preempt(drawn.change("n1", ready=False), drawn.subject("job"))
    assert len(report.nominations) == 2
    assert told(report.warnings)[0].startswith("n1 is not ready: ")
    assert told(preempt(drawn, drawn.subject("job")).warnings) == []


@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
def test_a_node_tells_whether_anything_keeps_pods_away(effect: str) -> None:
    drawn = FREE.change("n1", ready=False)
    assert at_node(drawn)[0].startswith("n1 is not ready: ")
    assert at_node(drawn.taint("n1", "other", effect=effect)) == at_node(drawn)
    assert at_node(drawn.taint("n1", NOT_READY, effect="PreferNoSchedule")) == at_node(drawn)
    assert at_node(drawn.taint("n1", NOT_READY, effect=effect)) == at_node(drawn.cordon("n1")) == at_node(FREE) == []
