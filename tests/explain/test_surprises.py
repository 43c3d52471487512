"""What surprises beside an answer: a policy that forbids preemption, a place outside a domain, parts of GPUs."""

import pytest

from kubectl_koord.explain import why
from kubectl_koord.reports.common import Notice
from tests.build import SPINE, Drawing, cluster, node, why_of

TREE = "sa: b0[n1 n2]; sb: b1[n3 n4]"
PARTS = "koordinator.sh/gpu.shared"


def notices(drawing: Drawing, code: str, name: str = "job") -> list[str]:
    return [one.message for one in why_of(drawing, name).warnings if one.code == code]


def full(priority: int = 0) -> Drawing:
    drawn = cluster("sa: b0[n1 n2]")
    return drawn.with_running("low-1", on="n1", cpu=8, priority=priority).with_running("low-2", on="n2", cpu=8)


def test_pods_that_never_preempt_are_told_whom_they_could_and_how() -> None:
    drawn = full().with_gang("job", 2, 8, priority=5, never_preempts=True, owner="Job/j")
    (told,) = notices(drawn, "policy-never")
    assert told == (
        "it could preempt 2 pods (default/low-1 and default/low-2) and then run, but for its preemptionPolicy Never."
        " Name a PriorityClass with preemptionPolicy PreemptLowerPriority in the pod template of Job/j, recreate its"
        " pods."
    )
    lone = full().with_pod("job", cpu=8, priority=5, never_preempts=True)
    assert len(notices(lone, "policy-never")) == 1


def test_whom_they_could_preempt_is_not_told_where_not_every_outcome_is_followed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(why, "_MOST_OUTCOMES", 0)
    assert notices(full().with_gang("job", 2, 8, priority=5, never_preempts=True), "policy-never") == []


@pytest.mark.parametrize(
    "drawing",
    [
        full().with_gang("job", 2, 8, priority=5),
        full(priority=9).with_gang("job", 2, 8, priority=5, never_preempts=True),
        cluster("sa: b0[n1 n2]").with_gang("job", 2, 8, priority=5, never_preempts=True),
        full().configured(preemption=False).with_gang("job", 2, 8, priority=5, never_preempts=True),
    ],
    ids=["may preempt", "not enough", "starts", "preemption is off"],
)
def test_a_policy_that_decides_nothing_is_not_told(drawing: Drawing) -> None:
    assert notices(drawing, "policy-never") == []


def ran(drawing: Drawing, cpu: float) -> Drawing:
    drawn = drawing.with_gang("job", 0, minimum=2, must_gather=SPINE)
    drawn = drawn.with_running("job-0", on="n1", gang="default/job").with_running("job-1", on="n2", gang="default/job")
    return drawn.with_members(("job-2",), gang="job", cpu=cpu)


def test_a_replacement_that_only_nodes_outside_take_leaves_the_domain_of_its_gang() -> None:
    (told,) = notices(ran(cluster(TREE), 8), "replacement-leaves-domain")
    assert told == (
        "its gang must stay together in one spine (MustGather SpineLayer), and is in spine sa, where no node takes"
        " default/job-2: it would be placed outside, as a gang that ran is no longer planned."
    )


def test_a_replacement_that_nodes_outside_take_too_may_leave_the_domain() -> None:
    (told,) = notices(ran(cluster(TREE), 1), "replacement-leaves-domain")
    assert told == (
        "its gang must stay together in one spine (MustGather SpineLayer), and is in spine sa: default/job-2 may be"
        " placed outside, as a gang that ran is no longer planned."
    )


@pytest.mark.parametrize(
    "drawing",
    [
        ran(cluster("sa: b0[n1 n2]"), 1),
        ran(cluster(TREE), 9),
        cluster(TREE).with_gang("job", 1, must_gather=SPINE),
        cluster(TREE).with_gang("job", 1, minimum=1).with_running("job-1", on="n1", gang="default/job"),
        ran(cluster(TREE), 1).but(topologies={}),
        cluster(TREE).with_pod("job"),
    ],
    ids=["no nodes outside", "no node takes it", "none bound", "need not gather", "no tree", "lone"],
)
def test_who_stays_in_the_domain_or_has_none_is_not_told(drawing: Drawing) -> None:
    assert notices(drawing, "replacement-leaves-domain") == []


def test_parts_of_gpus_that_no_node_offers_are_told() -> None:
    drawn = cluster(TREE).with_gang("job", 2, requests=((PARTS, 1),))
    (told,) = notices(drawn, "gpu-shared-not-offered")
    assert told.startswith("no node offers koordinator.sh/gpu.shared, which pods request that ask for parts of GPUs: ")
    offering = drawn.with_nodes(node("n9", allocatable=(("cpu", 8000), (PARTS, 8), ("pods", 10))))
    assert notices(offering, "gpu-shared-not-offered") == []
    assert Notice("gpu-shared-not-offered", told) not in why_of(cluster(TREE).with_gang("job", 2)).warnings
