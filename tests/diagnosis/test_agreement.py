"""Whether the scheduler's words still hold, beside what is computed now."""

import pytest

from kubectl_koord.model.unevaluated import PodSetting
from tests.build import SPINE, Drawing, cluster, why_of

LONE = cluster("s0: b0[n1 n2 n3]").with_pod("p", cpu=9)
TAINTED = LONE.taint("n1", "odd")
GANG = cluster("s0: b0[n1 n2]").with_gang("job", 3, 8)
PLANNED = cluster("s0: b0[n1 n2 n3]; s1: b1[n4 n5]").with_gang("job", 4, 8, must_gather=SPINE)
CLAIMS = (PodSetting("npu-template"),)
CLAIMING = cluster("s0: b0[n1 n2 n3]; s1: b1[n4 n5]").with_gang("job", 4, 8, must_gather=SPINE, unevaluated=CLAIMS)
TABLE = "topology topologyNode SpineLayer/s0: {};topology topologyNode SpineLayer/s1: {}"
TOLD = "no candidate topology nodes can accommodate job, desiredOfferSlot: {}, {}"
PLAN = f"0/5 nodes are available: {TOLD}, 0/5 nodes are available: 5 x"


def agrees(drawing: Drawing, said: str, name: str) -> bool | None:
    pod = drawing.subject(name).pending[0].key.partition("/")[2]
    found = why_of(drawing.with_message(pod, said), name).scheduler_says
    assert found is not None
    return found.agrees


@pytest.mark.parametrize(
    ("drawing", "said", "expected"),
    [
        (LONE, "0/3 nodes are available: 3 Insufficient cpu.", True),
        (LONE, "0/3 nodes are available: 2 Insufficient cpu, 1 node(s) were unschedulable.", False),
        (LONE, "0/4 nodes are available: 4 Insufficient cpu.", False),
        (LONE, "0/3 nodes are available: 3 no such words.", None),
        (LONE, "0/3 nodes are available: 3 Insufficient cpu. 1 Reservation(s) matched owner total.", True),
        (LONE, "0/3 nodes are available: 2 Insufficient cpu. 1 Reservation(s) Insufficient cpu.", None),
        (LONE, "0/3 nodes are available: 3 no potential victims.", None),
        (TAINTED, "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu.", True),
        (TAINTED, "0/3 nodes are available: 1 node(s) had untolerated taint {odd: }, 2 Insufficient cpu.", True),
        (TAINTED, "0/3 nodes are available: 3 Insufficient cpu.", False),
        (
            TAINTED,
            "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [Coscheduling].",
            None,
        ),
    ],
)
def test_what_nodes_refuse_for_is_compared_by_number(drawing: Drawing, said: str, *, expected: bool | None) -> None:
    assert agrees(drawing, said, "pod/p") is expected


def test_refusals_may_differ_where_pods_went_to_nodes_before_the_one_that_found_none() -> None:
    assert agrees(GANG, "0/2 nodes are available: 2 Insufficient cpu.", "job") is True
    assert agrees(GANG, "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable.", "job") is None


@pytest.mark.parametrize(
    ("drawing", "wanted", "slots", "expected"),
    [
        (PLANNED, 4, (3, 2), True),
        (PLANNED, 4, (3, 1), False),
        (PLANNED, 1, (0, 0), None),
        (PLANNED.with_members(("job-0",), "job", cpu=7), 4, (0, 0), None),
        (CLAIMING, 4, (0, 0), None),
    ],
    ids=["same", "other", "of other pods", "unlike pods", "incomplete"],
)
def test_slots_contradict_only_where_they_were_counted_for_the_same_pods(
    drawing: Drawing, wanted: int, slots: tuple[int, int], *, expected: bool | None
) -> None:
    assert agrees(drawing, PLAN.format(wanted, TABLE.format(*slots)), "job") is expected


@pytest.mark.parametrize(
    ("said", "drawing", "name", "expected"),
    [
        ("0/3 nodes are available: the requested CPUs must be integer.", LONE, "pod/p", None),
        ('0/3 nodes are available: persistentvolumeclaim "data" not found.', LONE, "pod/p", None),
        (
            '0/3 nodes are available: persistentvolumeclaim "data" not found.',
            LONE.with_pods().with_pod("q", claims=("data",)),
            "pod/q",
            True,
        ),
        ("0/3 nodes are available: 3 the requested CPUs must be integer.", LONE, "pod/p", False),
    ],
)
def test_what_was_said_before_any_node_holds_while_it_is_the_cause(
    said: str, drawing: Drawing, name: str, *, expected: bool | None
) -> None:
    assert agrees(drawing, said, name) is expected


QUOTA = "Insufficient quotas, quotaName: {}, runtime: cpu:2, used: cpu:0, pod's request: cpu:9, exceedDimensions: [cpu]"


@pytest.mark.parametrize(("name", "expected"), [("default", True), ("other", None)])
def test_a_quota_that_still_refuses_is_still_told(name: str, *, expected: bool | None) -> None:
    limited = LONE.with_quota("default", max=(("cpu", 2000),))
    assert why_of(limited, "pod/p").cause is not None
    assert agrees(limited, QUOTA.format(name), "pod/p") is expected


def test_words_about_nodes_no_longer_hold_for_what_would_be_placed() -> None:
    free = cluster("s0: b0[n1 n2 n3]").with_pod("p", cpu=1)
    assert agrees(free, "0/3 nodes are available: 3 Insufficient cpu.", "pod/p") is False


def test_slots_are_not_compared_where_there_are_none_to_compare_with() -> None:
    nowhere = cluster("s0: b0[n1 n2 n3]").with_gang("job", 4, 8, must_gather="NoLayer")
    assert agrees(nowhere, PLAN.format(4, TABLE.format(1, 1)), "job") is None
    assert agrees(nowhere, PLAN.format(4, ""), "job") is True
