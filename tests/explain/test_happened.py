"""What happened last: of two readings, and of one."""

from msgspec import structs

from kubectl_koord.explain.happened import Happened, happened, lately
from kubectl_koord.model.pods import FinishedPod, Marks
from tests.build import MOMENT, cluster

ROOM = cluster("spine-0: block-0[n1:8 n2:8]")
LATER = "2026-11-20T10:00:05Z"


def test_pods_of_one_gang_are_told_as_one() -> None:
    before = ROOM.with_gang("job", 2)
    pods = before.pending
    after = ROOM.but(moment=LATER)
    for pod, on in zip(pods, ("n1", "n2"), strict=True):
        after = after.with_running(pod.name, on=on, gang=pod.gang)
    assert happened(before, after) == (Happened(LATER, "bound", "default/job", "2 pods bound to n1 and n2"),)


def test_what_is_worst_comes_first() -> None:
    before = (
        ROOM.with_running("v", on="n1")
        .with_running("w", on="n1", owner="Job/w")
        .with_running("x", on="n2")
        .with_running("stays", on="n2")
        .with_pod("waits")
        .with_pod("silent")
    )
    preempted = Marks(terminating=True, preempted=True, preemptor="default/job")
    after = (
        ROOM.but(moment=LATER, finished=(FinishedPod("default", "w", "", was_bound=True),))
        .with_running("v", on="n1", marks=preempted)
        .with_running("stays", on="n2")
        .with_pod("waits")
        .with_pod("silent")
        .with_pod("fresh")
        .with_message("waits", "no room")
    )
    assert happened(before, after) == (
        Happened(LATER, "preempted", "default/v", "1 pod preempted for default/job"),
        Happened(LATER, "failed", "default/waits", "1 pod refused: no room"),
        Happened(LATER, "gone", "default/w", "1 pod finished"),
        Happened(LATER, "gone", "default/x", "1 pod deleted"),
        Happened(LATER, "new", "default/fresh", "1 pod new"),
    )


def test_a_pod_that_is_created_anew_is_not_gone() -> None:
    before, after = ROOM.with_running("x", on="n1"), ROOM.with_pod("x")
    assert happened(before, after) == (Happened(MOMENT, "new", "default/x", "1 pod new (created anew)"),)


def test_nothing_is_told_where_nothing_differs_or_pods_were_not_read() -> None:
    some = ROOM.with_running("x", on="n1").with_pod("y")
    assert happened(some, structs.replace(some, moment=LATER)) == ()
    assert happened(some.with_gap("Pod"), some) == ()
    assert happened(some, ROOM.with_gap("Pod")) == ()


def test_one_reading_tells_what_its_objects_say_of_the_past() -> None:
    seen = (
        ROOM.with_running("x", on="n1", scheduled="2026-11-20T09:00:00Z")
        .with_running("y", on="n2")
        .with_pod("z", created="2026-11-20T09:30:00Z")
        .with_event("v", "by job", reason="Preempted", last_seen="2026-11-20T09:40:00Z")
        .with_event("z", "no room", last_seen="2026-11-20T09:50:00Z")
    )
    assert lately(seen) == (
        Happened("2026-11-20T09:40:00Z", "preempted", "default/v", "1 pod preempted"),
        Happened("2026-11-20T09:30:00Z", "new", "default/z", "1 pod new"),
        Happened("2026-11-20T09:00:00Z", "bound", "default/x", "1 pod bound to n1"),
    )
