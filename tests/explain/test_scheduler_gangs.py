"""A gang as the scheduler remembers it beside the gang of the objects: each way in which they may differ, and why."""

import pytest
from msgspec import structs

from kubectl_koord.explain.scheduler import gangs, routes
from kubectl_koord.model.objects import GangSummary
from kubectl_koord.model.pods import GangAnnotations
from kubectl_koord.reports.operation import Compared, Field, SchedulerReport
from tests.build import Drawing, cluster, pending

POLICY = "once-satisfied"


def keys(*names: str) -> frozenset[str]:
    return frozenset(f"default/{name}" for name in names)


def summary(
    pending: str = "", bound: str = "", waiting: str = "", minimum: int | None = 2, **fields: object
) -> GangSummary:
    ours = GangSummary(
        "default/job",
        minimum,
        "Strict",
        POLICY,
        ("default/job",),
        "PodGroup",
        satisfied=bool(bound),
        children=keys(*pending.split(), *bound.split(), *waiting.split()),
        pending=keys(*pending.split()),
        waiting=keys(*waiting.split()),
        bound=keys(*bound.split()),
    )
    return structs.replace(ours, **fields)


def job(pods: int = 2) -> Drawing:
    return cluster("s0: b0[n1:8 n2:8]").with_gang("job", pods, minimum=2)


def compared(drawn: Drawing, theirs: GangSummary | None, name: str = "") -> SchedulerReport:
    return gangs(drawn, {theirs.key: theirs} if theirs else {}, "koord-scheduler-0", name)


def codes(drawn: Drawing, theirs: GangSummary | None) -> tuple[str, list[str]]:
    report = compared(drawn, theirs)
    return report.verdict, [one.code for item in report.items for one in item.differences]


def of_pods(terms: GangAnnotations, *names: str) -> Drawing:
    drawn = cluster("s0: b0[n1:8]")
    return drawn.with_pods(*(pending(name, gang="default/job", gang_terms=terms) for name in names))


def with_bound(*pods: str, **fields: object) -> Drawing:
    drawn = cluster("s0: b0[n1:8 n2:8]").with_group("job", 2, **fields)
    for name in pods:
        drawn = drawn.with_running(name, "n1", gang="default/job")
    return drawn


def test_a_gang_as_the_objects_say_has_no_difference() -> None:
    report = compared(job(), summary("job-0 job-1", representative="default/job-0"))
    assert report.items == (
        Compared(
            "default/job",
            (
                Field("minMember", "2", "2"),
                Field("initialised", "yes", "yes"),
                Field("mode", "Strict", "Strict"),
                Field("matchPolicy", POLICY, POLICY),
                Field("gangGroup", "default/job", "default/job"),
                Field("pods", "2", "2"),
                Field("pending", "2", "2"),
                Field("waiting", "0"),
                Field("bound", "0", "0"),
                Field("onceSatisfied", "no", "no"),
                Field("representative", "default/job-0"),
            ),
        ),
    )
    assert (report.verdict, report.part, report.asked, report.message) == ("yes", "gangs", "koord-scheduler-0", "")


@pytest.mark.parametrize(
    ("drawn", "theirs", "found"),
    [
        (job(), summary("job-1", waiting="job-0"), ["waiting-in-permit"]),
        (job(), summary("job-1", bound="job-0"), ["assumed-pods"]),
        (job(), summary("job-0 job-1 job-9"), ["deleted-pods-linger"]),
        (job().with_reservation("r1", "n1"), summary("job-0 job-1 r1"), ["reservation-counts"]),
        (job(), summary("job-0"), ["pods-not-known"]),
        (with_bound("job-0", "job-1"), summary(bound="job-0 job-1", satisfied=False), ["satisfied-flag-lost"]),
        (with_bound(), summary(satisfied=True), ["satisfied-flag-kept"]),
        (with_bound("job-0", "job-1"), summary(bound="job-0"), ["pods-not-known"]),
        (job(), summary("job-0 job-1", group=("default/a", "default/job")), ["settings-kept"]),
        (job(), None, ["not-known"]),
        (cluster("s0: b0[n1:8]"), summary("job-0"), ["gone-but-known"]),
    ],
)
def test_what_differs_for_a_known_reason_names_it(drawn: Drawing, theirs: GangSummary | None, found: list[str]) -> None:
    assert codes(drawn, theirs) == ("yes", found)


@pytest.mark.parametrize(
    "theirs",
    [
        summary("job-0 job-1", minimum=3),
        summary("job-0 job-1", mode="NonStrict"),
        summary("job-0 job-1", match_policy="only-waiting"),
        summary("job-0", children=keys("job-0", "job-1")),
    ],
)
def test_what_differs_without_a_known_reason_is_said_to_and_makes_a_no(theirs: GangSummary) -> None:
    assert codes(job(), theirs) == ("no", ["unexplained"])


def test_a_bound_pod_that_it_counts_as_pending_has_no_known_reason() -> None:
    assert codes(with_bound("job-0"), summary("job-0")) == ("no", ["satisfied-flag-lost", "unexplained"])


def test_of_a_gang_without_pod_group_the_first_pod_that_was_seen_decides() -> None:
    drawn = of_pods(GangAnnotations("2", mode="NonStrict"), "job-0", "job-1")
    theirs = summary("job-0 job-1", minimum=3, mode="Strict", defined_by="pods")
    assert codes(drawn, theirs) == ("yes", ["settings-kept"])


def test_the_settings_of_a_gang_without_pod_group_that_runs_are_in_no_object_that_is_kept() -> None:
    drawn = cluster("s0: b0[n1:8]").with_running("job-0", "n1", gang="default/job")
    report = compared(drawn, summary(bound="job-0", minimum=7, defined_by="pods"), "default/job")
    assert (report.part, report.items[0].differences) == ("gang", ())
    assert report.items[0].fields[0] == Field("minMember", "7")


def test_a_gang_that_never_initialises_is_so_for_both() -> None:
    drawn = of_pods(GangAnnotations("many"), "job-0")
    assert codes(drawn, summary("job-0", minimum=None, defined_by="pods")) == ("yes", [])


def test_the_flag_is_that_of_the_whole_group() -> None:
    groups = '["default/a", "default/job"]'
    drawn = cluster("s0: b0[n1:8]").with_group("job", 2, groups=groups).with_group("a", 2, groups=groups)
    drawn = drawn.with_running("a-0", "n1", gang="default/a")
    theirs = summary(group=("default/a", "default/job"), satisfied=True)
    report = compared(drawn, theirs, "default/job")
    assert report.items[0].differences == ()


def test_where_objects_could_not_be_read_the_scheduler_stands_alone() -> None:
    report = compared(job().with_gap("Pod"), summary("job-0 job-1 job-9"))
    assert (report.verdict, report.message) == ("unknown", "Pod could not be read: you may not read it")
    assert all(field.ours is None for field in report.items[0].fields)
    assert report.items[0].differences == ()


def test_routes_are_listed_and_not_compared() -> None:
    report = routes(job(), ("/apis/v1/__services__",), "koord-scheduler-0")
    assert (report.verdict, report.items, report.routes) == ("yes", (), ("/apis/v1/__services__",))
