"""The morning screen: what waits, by cause."""

from kubectl_koord.diagnosis.coverage import asked_for
from kubectl_koord.explain.every_pending import every_pending
from kubectl_koord.reports.jobs import Cause, CauseGroup, Contention
from tests.build import SPINE, cluster, pending


def test_what_waits_is_grouped_by_cause_the_worst_first_and_the_oldest_first_within() -> None:
    drawing = (
        cluster("s0: b0[n1 n2]")
        .with_gang("young", 3, 8, must_gather=SPINE)
        .with_gang("old", 4, 8, must_gather=SPINE)
        .with_gang("small", 1, 1)
        .with_group("short", 2)
        .with_members(["short-0"], "short")
        .with_pod("foreign", scheduler="default-scheduler")
        .with_pod("lone", cpu=2)
    )
    drawing = drawing.change_pods("old-0", created="2026-11-19T00:00:00Z").change_pods(
        "young-0", "young-1", "young-2", "old-1", "old-2", "old-3", created="2026-11-20T00:00:00Z"
    )
    gangs = ("default/old", "default/young")
    assert every_pending(drawing).causes == (
        CauseGroup("never-fits", "no", gangs, 7, {"cpu": "56"}, "2026-11-19T00:00:00Z", "56 CPU"),
        CauseGroup("too-few-pods", "no", ("default/short",), 1, {"cpu": "1"}, "", "1 CPU"),
        CauseGroup("", "yes", ("default/lone", "default/small"), 2, {"cpu": "3"}, "", "3 CPU"),
    )


def test_requests_are_summed_and_spelled_exactly() -> None:
    pods = (pending("a", 0.4, requests=(("cpu", 400), ("memory", 1 << 30), ("nvidia.com/gpu", 8))),) * 2
    assert asked_for(pods) == ({"cpu": "800m", "memory": "2Gi", "nvidia.com/gpu": "16"}, "16 GPU")


def test_gangs_of_one_priority_that_want_one_place_are_shown_as_such() -> None:
    drawing = (
        cluster("s0: b0[n1 n2]; s1: b1[n3]")
        .with_gang("one", 2, 8, must_gather=SPINE)
        .with_gang("two", 2, 8, must_gather=SPINE)
        .with_gang("single", 1, 8, must_gather=SPINE)
    )
    report = every_pending(drawing)
    message = "default/{} has the same priority and needs the same room: the one tried first gets it."
    one, two = (Cause("contended", message.format(other)) for other in ("two", "one"))
    found = [(item.verdict, item.cause, item.placement) for item in report.items]
    assert found == [("unknown", one, None), ("yes", None, {"default/single-0": "n3"}), ("unknown", two, None)]
    assert report.contending == (Contention("default/two", ("default/one",)),)


def test_gangs_that_only_together_are_too_many_name_all_before_them() -> None:
    drawing = cluster("s0: b0[n1:4 n2:4]").with_gang("a", 1, 3).with_gang("b", 1, 3).with_gang("c", 1, 4)
    assert every_pending(drawing).contending == (Contention("default/c", ("default/a", "default/b")),)
