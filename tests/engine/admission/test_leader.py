"""Whether a scheduler leads, and since when, by what its lease shows."""

from datetime import timedelta

import pytest

from kubectl_koord.engine.blockers import NoLeader, NoReplica, has_bound, no_leader
from kubectl_koord.engine.gangs import all_gangs, group_of
from kubectl_koord.model.installation import Deployment
from kubectl_koord.model.objects import Lease
from tests.build import MOMENT, cluster

EMPTY = cluster("s0: b0[n1]")
OLD = Lease("koord-scheduler", "", renewed="2026-11-20T09:59:00Z")


@pytest.mark.parametrize(
    "lease",
    [
        Lease("koord-scheduler", "a", renewed=MOMENT),
        Lease("koord-scheduler", "a", renewed="2026-11-20T10:30:00Z"),
        Lease("koord-scheduler", "a", renewed="once"),
        Lease("koord-scheduler", "a", renewed="2026-11-20T09:59:00Z", seconds=60),
        Lease("koord-scheduler", "a", renewed="2026-11-20T09:59:00Z", seen="2026-11-20T09:59:02Z"),
    ],
)
def test_a_lease_that_is_renewed_or_cannot_be_judged_shows_no_missing_leader(lease: Lease) -> None:
    assert no_leader(EMPTY.but(leases=(lease,))) is None


def test_a_lease_that_nobody_renews_shows_that_no_scheduler_leads() -> None:
    assert no_leader(EMPTY.but(leases=(OLD,))) == NoLeader("koord-scheduler", "", timedelta(minutes=1))
    assert no_leader(EMPTY.but(leases=(OLD,)).configured(elects_leader=False)) is None
    assert no_leader(EMPTY) is None


@pytest.mark.parametrize(
    ("deployment", "shown"),
    [
        (Deployment("own", wanted=2, available=0), NoReplica("own", 2)),
        (Deployment("own", wanted=0, available=0), NoReplica("own", 0)),
        (Deployment("own", wanted=0), NoReplica("own", 0)),
        (Deployment("own", wanted=2, available=1), None),
        (Deployment("own", wanted=2), None),
    ],
)
def test_without_a_lease_a_deployment_without_a_pod_shows_that_no_scheduler_is_active(
    deployment: Deployment, shown: NoReplica | None
) -> None:
    drawing = EMPTY.configured(deployment=deployment)
    assert no_leader(drawing) == no_leader(drawing.but(leases=())) == shown
    assert no_leader(drawing.configured(elects_leader=False).but(leases=(OLD,)).with_gap("Lease")) == shown


def test_a_lease_tells_more_than_the_deployment_and_one_that_was_not_read_might() -> None:
    drawing = EMPTY.configured(deployment=Deployment("own", wanted=1, available=0))
    assert no_leader(drawing.but(leases=(Lease("koord-scheduler", "a", renewed=MOMENT),))) is None
    assert no_leader(drawing.with_gap("Lease")) is None


@pytest.mark.parametrize(
    ("acquired", "elects_leader", "remembers"),
    [("2026-11-20T08:00:00Z", True, True), ("2026-11-20T08:00:00Z", False, False), (MOMENT, True, False)],
)
def test_a_leader_remembers_the_gangs_whose_pods_were_bound_under_it(
    acquired: str, *, elects_leader: bool, remembers: bool
) -> None:
    drawing = EMPTY.with_gang("job", 1).configured(elects_leader=elects_leader)
    drawing = drawing.with_running("job-9", on="n1", gang="default/job", scheduled="2026-11-20T09:00:00Z")
    drawing = drawing.but(leases=(Lease("koord-scheduler", "a", acquired=acquired, renewed=MOMENT),))
    assert has_bound(group_of(all_gangs(drawing), "default/job"), drawing) is remembers
