"""When a gang is tried again that would be placed now."""

import pytest

from tests.build import Drawing, cluster, why_of

REFUSED = cluster("s: b[n1]").with_gang("job", 1).with_message("job-0", "0/1 nodes are available.")
BY = "5 min 30 s after its last attempt"


def message(drawing: Drawing, name: str = "job") -> str:
    cause = why_of(drawing, name).cause
    assert cause is not None
    assert cause.code == "waiting-for-retry"
    return cause.message


@pytest.mark.parametrize(
    ("drawing", "end"),
    [
        (REFUSED, f"{BY}, here by 2026-11-20T10:00:30Z."),
        (REFUSED.with_event("job-0", "0/1 nodes are available."), f"{BY}, here by 2026-11-20T10:04:30Z."),
        (REFUSED.with_event("job-0", "0/1 nodes are available.", "Preempted"), f"{BY}, here by 2026-11-20T10:00:30Z."),
        (REFUSED.with_event("other", "0/1 nodes are available."), f"{BY}, here by 2026-11-20T10:00:30Z."),
        (REFUSED.but(moment="2026-11-20T10:00:30Z"), f"{BY}."),
        (REFUSED.but(moment="no time"), f"{BY}."),
    ],
    ids=["condition", "event", "another event", "of another pod", "over", "no clock"],
)
def test_the_latest_time_is_that_of_the_last_attempt_that_is_known(drawing: Drawing, end: str) -> None:
    assert message(drawing).endswith(end)


def test_a_complete_gang_is_woken_by_a_lack_of_pods_that_ends_and_a_lone_pod_by_nothing_of_its_own() -> None:
    lone = cluster("s: b[n1]").with_pod("p").with_message("p", "0/1 nodes are available.")
    assert message(lone, "p").endswith(", here by 2026-11-20T10:00:30Z.")
    assert why_of(lone, "p").unblock == ()
    patch = "kubectl patch podgroup job -n default --type merge -p "
    assert [(way.action, way.command) for way in why_of(REFUSED).unblock] == [
        ("wake-gang", patch + """'{"spec":{"minMember":2}}' && """ + patch + """'{"spec":{"minMember":1}}'"""),
    ]
