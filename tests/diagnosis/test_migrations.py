"""Pods that are being moved, and Reservations that concern a gang."""

from kubectl_koord.diagnosis import migrations
from kubectl_koord.engine.state import of
from kubectl_koord.engine.tree import Tree, build
from kubectl_koord.explain.every_pending import gangs
from kubectl_koord.explain.place import domain_report, node_report
from kubectl_koord.model.hardware import Allocations
from kubectl_koord.model.reservations import OwnerObject, ReservationOwner
from kubectl_koord.render.show import text
from kubectl_koord.reports.common import DomainName, GangReservation, Migration, Notice
from tests.build import BLOCK, SPINE, Drawing, cluster, rules, why_of
from tests.render.samples import PIPE, TERMINAL

DRAWN = (
    cluster("s0: b0[n1 n2]; s1: b1[n3]")
    .with_group("job", 2)
    .with_running("job-0", "n1", gang="default/job")
    .with_running("job-1", "n2", gang="default/job")
)
BREAKS = Notice(
    "migration-breaks-gang",
    "PodMigrationJob m moves default/job-0: when it is evicted, gang default/job falls below its minimum"
    " (1 of 2 pods left, 2 needed).",
)


def moved(job: str = "m", pod: str = "default/job-0", **fields: object) -> Migration:
    own: dict[str, object] = {"node": "n1", "gang": "default/job", "breaks": True}
    bare = {"phase": "Pending", "mode": "ReservationFirst", "paused": False, "status": "", "reason": "", "message": ""}
    return Migration(job, pod, **(bare | own | fields))  # type: ignore[arg-type]


def concerning(drawn: Drawing, name: str = "job") -> tuple[GangReservation, ...]:
    return migrations.reservations_of(drawn, of(drawn), drawn.subject(name).members)


def test_a_member_that_is_moved_is_told_of_with_what_its_eviction_breaks() -> None:
    drawn = (
        DRAWN.with_migration("m", "job-0").with_migration("other", "x").with_migration("over", "job-1", phase="Failed")
    )
    report = why_of(drawn)
    assert report.migrations == (moved(),)
    assert report.warnings[0] == BREAKS
    assert why_of(DRAWN).migrations == ()
    (row,) = gangs(drawn).items
    assert row.migrations == (moved(),)
    assert gangs(drawn).warnings[0] == BREAKS


def test_jobs_that_break_a_gang_only_together_are_told_together() -> None:
    drawn = DRAWN.with_running("job-2", "n3", gang="default/job").with_migration("m1", "job-0")
    assert [job.breaks for job in why_of(drawn).migrations] == [False]
    drawn = drawn.with_migration("m2", "job-1")
    report = why_of(drawn)
    assert [job.breaks for job in report.migrations] == [True, True]
    assert report.warnings[0].message == (
        "PodMigrationJobs m1 and m2 move default/job-0 and default/job-1: when they are evicted, gang default/job falls"
        " below its minimum (1 of 3 pods left, 2 needed)."
    )


def test_a_paused_job_and_one_whose_pod_is_gone_break_nothing() -> None:
    drawn = DRAWN.with_migration("m", "job-0", paused=True).with_migration("late", "job-9", replacement="default/job-1")
    assert why_of(drawn).migrations == (
        moved(paused=True, breaks=False),
        moved("late", "default/job-9", node=None, gang=None, breaks=False, replacement="default/job-1"),
    )


def test_a_pending_replacement_is_of_the_gang_of_its_job() -> None:
    drawn = DRAWN.without_running("default/job-0").with_pod("job-9", "job")
    drawn = drawn.with_migration("m", "job-0", replacement="default/job-9")
    assert why_of(drawn).migrations == (moved(node=None, breaks=False, replacement="default/job-9"),)


def test_a_reservation_for_a_migration_is_known_by_the_job_or_by_its_uid() -> None:
    named = DRAWN.with_migration("m", "job-0", reservation="r").with_reservation("r", "n3", app="other")
    by_uid = DRAWN.with_migration("m", "job-0", uid="r").with_reservation("r", "n3", app="other")
    for drawn in (named, by_uid):
        assert concerning(drawn) == (GangReservation("r", "n3", job="m"),)
        assert why_of(drawn).migrations == (moved(reservation="r", to="n3"),)
    waiting = DRAWN.with_migration("m", "job-0", uid="r").with_reserve_pod("r", app="other")
    assert concerning(waiting) == (GangReservation("r", None, job="m"),)
    assert why_of(waiting).migrations == (moved(reservation="r"),)


def test_reservations_concern_a_gang_that_draws_may_draw_or_counts_them() -> None:
    drawn = DRAWN.with_running("job-2", "n3", gang="default/job", allocations=Allocations(reservation="drawn"))
    drawn = drawn.with_reservation("drawn", "n3", app="other").with_reservation(
        "free", "n2", expires="2027-01-01T00:00:00Z"
    )
    drawn = drawn.with_reservation("foreign", "n1", app="foreign").with_pod("job-3", "job", labels=(("app", "job"),))
    drawn = drawn.with_reserve_pod("member", gang="default/job", needs_pod_group=True, app="other")
    assert concerning(drawn) == (
        GangReservation("drawn", "n3", drawing=("default/job-2",)),
        GangReservation("free", "n2", may_draw=1, expires="2027-01-01T00:00:00Z"),
        GangReservation("member", None, is_member=True),
    )
    assert concerning(drawn.with_pod("alone", labels=(("app", "job"),)), "pod/alone") == (
        GangReservation("free", "n2", may_draw=1, expires="2027-01-01T00:00:00Z"),
    )


def test_alike_pods_are_counted_and_a_reservation_for_one_pod_by_name_is_for_it_alone() -> None:
    drawn = cluster("s0: b0[n1]").with_gang("job", 3, labels=(("app", "job"),))
    drawn = drawn.with_reservation("all", "n1").with_reservation("foreign", "n1", app="foreign")
    by_name = ReservationOwner(object=OwnerObject(name="job-1"))
    assert concerning(drawn.with_reservation("one", "n1", owners=(by_name,))) == (
        GangReservation("all", "n1", may_draw=3),
        GangReservation("one", "n1", may_draw=1),
    )


def test_a_node_tells_of_pods_that_leave_it_and_of_those_that_come() -> None:
    drawn = DRAWN.with_migration("m", "job-0", reservation="r").with_reservation("r", "n3")
    for name in ("n1", "n3"):
        report = node_report(drawn, name)
        assert report.migrations == (moved(reservation="r", to="n3"),)
        assert report.warnings[0] == BREAKS
    assert node_report(drawn, "n2").migrations == ()
    (there,) = node_report(drawn, "n3").reservations
    assert there.job == "m"


def test_the_pages_tell_how_far_a_migration_is() -> None:
    drawn = DRAWN.with_running("x", "n3").with_running("y", "n3").with_reservation("r", "n3")
    drawn = drawn.with_migration("a", "job-0", phase="Running", status="Evicting", reason="FailedEvict", uid="r")
    drawn = drawn.with_migration("b", "job-1", paused=True, reservation="later", replacement="default/z")
    drawn = drawn.with_migration("c", "x", mode="EvictDirectly").with_migration("d", "y", status="Pending")
    page = text(node_report(drawn, "n3"), style=PIPE) + text(gangs(drawn), style=PIPE)
    for expected in (
        "default/job-0   n1     default/job   Running (FailedEvict), to n3 (Reservation r); PodMigrationJob a",
        "default/job   paused, Reservation later is not placed yet; PodMigrationJob b, replaced by default/z",
        "Pending, to wherever it is placed; PodMigrationJob c",
        "Pending, no Reservation yet; PodMigrationJob d",
        "r             n3     1 CPU   1 CPU    pods with app=job, PodMigrationJob a",
    ):
        assert expected in page
    drawn = drawn.with_reserve_pod("job-r", gang="default/job", needs_pod_group=True)
    page = text(why_of(drawn), style=PIPE)
    assert "r             n3             made for PodMigrationJob a" in page
    assert "job-r         (not placed)   counts as a member" in page


def test_of_many_jobs_the_first_are_shown() -> None:
    drawn = cluster("s0: b0[n1]")
    for number in range(40):
        drawn = drawn.with_running(f"p{number:02}", "n1").with_migration(f"m{number:02}", f"p{number:02}")
    page = text(node_report(drawn, "n1"), style=TERMINAL)
    assert "PodMigrationJob m14" in page
    assert "PodMigrationJob m15" not in page
    assert page.count("... and 25 more") == 3


SPREAD = (
    cluster("s0: b0[n1 n2]; s1: b1[n3 n4]")
    .with_group("job", 2, topology=rules(f"MustGather {SPINE}"))
    .with_running("job-0", "n1", gang="default/job")
    .with_running("job-1", "n2", gang="default/job")
    .with_running("job-2", "n2", gang="default/job")
)
LEAVES = Notice(
    "migration-leaves-domain",
    "PodMigrationJob m moves default/job-0 to n3, outside spine s0 with the rest of gang default/job: its pods must"
    " stay together there (MustGather SpineLayer).",
)


def moving(drawn: Drawing, *nodes: str, **fields: object) -> Drawing:
    """Move the first pods of the gang, each to a Reservation on one of the nodes."""
    for number, node in enumerate(nodes):
        name = f"{'m' if number == 0 else 'more'}"
        drawn = drawn.with_migration(name, f"job-{number}", reservation=f"r-{name}", **fields)
        drawn = drawn.with_reservation(f"r-{name}", node, app="other")
    return drawn


def astray(drawn: Drawing) -> list[str]:
    return [one.message for one in gangs(drawn).warnings if one.code == "migration-leaves-domain"]


def test_a_reservation_outside_the_domain_of_the_rest_of_the_gang_is_warned_of_wherever_it_concerns() -> None:
    drawn = moving(SPREAD, "n3")
    assert why_of(drawn).migrations == (
        moved(reservation="r-m", to="n3", breaks=False, leaves=DomainName(SPINE, "s0")),
    )
    tree = build(drawn.topologies, drawn.nodes)
    assert isinstance(tree, Tree)
    (there,) = (index for index in tree.inner if tree.domains[index].name == "s1")
    for report in (
        why_of(drawn),
        gangs(drawn),
        node_report(drawn, "n1"),
        node_report(drawn, "n3"),
        domain_report(drawn, tree, there),
    ):
        assert report.warnings[0] == LEAVES
    assert LEAVES not in node_report(drawn, "n4").warnings


def test_one_inside_it_or_where_nothing_must_stay_together_is_not() -> None:
    assert astray(moving(SPREAD, "n2")) == []
    prefers = SPREAD.with_group("job", 2, topology=rules(f"PreferGather {SPINE}"))
    assert astray(moving(prefers, "n3")) == []
    assert astray(moving(SPREAD.with_group("job", 2), "n3")) == []
    assert astray(moving(SPREAD, "n3", paused=True)) == []
    assert astray(moving(SPREAD, "n3").but(topologies={})) == []
    waiting = SPREAD.with_migration("m", "job-0", uid="r").with_reserve_pod("r", app="other")
    assert astray(waiting) == []


def test_all_pods_of_a_gang_may_go_to_another_domain_together() -> None:
    alone = SPREAD.without_running("default/job-2")
    assert astray(moving(alone, "n3", "n4")) == []
    (both,) = astray(moving(SPREAD, "n3", "n4"))
    assert both.startswith(
        "PodMigrationJobs m and more move default/job-0 and default/job-1 to n3 and n4, outside spine s0 "
    )


def test_the_replacement_that_is_outside_already_is_not_the_rest_of_the_gang() -> None:
    drawn = moving(SPREAD, "n3", replacement="default/job-9").with_running("job-9", "n3", gang="default/job")
    assert len(astray(drawn)) == 1


def test_gangs_of_a_group_stay_together_in_the_domain_that_has_most_of_them() -> None:
    both = '["default/job", "default/other"]'
    spec = rules(f"MustGather {BLOCK}")
    drawn = (
        SPREAD.with_group("job", 1, topology=spec, groups=both)
        .with_group("other", 1, topology=spec, groups=both)
        .without_running("default/job-1", "default/job-2")
        .with_running("other-0", "n2", gang="default/other")
    )
    (told,) = astray(moving(drawn, "n3"))
    assert "to n3, outside block b0 with the rest of gang default/job" in told
    assert astray(moving(drawn.with_running("other-1", "n3", gang="default/other"), "n4")) == []
