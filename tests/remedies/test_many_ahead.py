"""A large cluster in which many jobs go first: ways out are found, and what was not tried is not said to be tried."""

import pytest

from kubectl_koord.model.quotas import QuotaSettings
from kubectl_koord.remedies import search as proof
from kubectl_koord.remedies.search import MOST_STEPS, Search, SearchBudget, is_placed
from kubectl_koord.reports.common import DeletePod, SetMinimum, Uncordon
from kubectl_koord.simulation.simulation import next_attempt, simulate
from kubectl_koord.simulation.what_if import changed
from tests.build import BLOCK, SPINE, Drawing, cluster, why_of

MOST_AHEAD, RUN = 64, 2
BEFORE = "the search ended before it had fully tried "


@pytest.fixture(autouse=True)
def _few_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof, "_TIGHT", 1_000)


def behind(drawing: Drawing, cpu: float = 99, jobs: int = 70) -> Drawing:
    """Add jobs of higher priority that no node takes, or, if they ask for less, that go first."""
    for number in range(jobs):
        drawing = drawing.with_gang(f"ahead-{number:02}", 1, cpu, priority=9, must_gather=SPINE)
    return drawing


ROW = cluster("s0: b0[n1 n2]").with_running("wall", "n1", 8, priority=99, of_daemon_set=True)
FULL = cluster("s0: b0[n1]").with_running("low", "n1", 8)


@pytest.mark.untraced
@pytest.mark.parametrize(
    ("drawing", "action"),
    [
        (ROW.cordon("n2").with_gang("job", 1, 8, never_preempts=True), "uncordon"),
        (ROW.taint("n2", "gpu").with_gang("job", 1, 8, never_preempts=True), "tolerate"),
        (cluster("s0: b0[n1] b1[n2]").with_gang("job", 2, 8, must_gather=BLOCK), "gather-wider"),
        (cluster("s0: b0[n1 n2]").with_gang("job", 3, 8, must_gather=SPINE), "fewer-pods"),
        (cluster("s0: b0[n1:4]").with_gang("job", 1, 8, never_preempts=True), "smaller-request"),
        (cluster("s0: b0[n1]").with_gang("job", 1, 8).with_quota("default", cpu=6), "raise-quota"),
        (FULL.with_gang("job", 1, 8, priority=1), "wait-for-preemption"),
        (FULL.with_gang("job", 1, 8, priority=1, never_preempts=True), "free-pods"),
        (
            ROW.cordon("n2").with_running("x", "n2", 8, of_daemon_set=True).with_gang("job", 1, 8, never_preempts=True),
            "add-nodes",
        ),
        (cluster("s0: b0[n1]").with_reservation("r", "n1", 8, "other").with_gang("job", 1, 8), "release-reservation"),
    ],
)
def test_a_way_out_is_found_behind_many_jobs_that_have_no_place(drawing: Drawing, action: str) -> None:
    jobs = 40 if action == "add-nodes" else 70  # in a cluster with more nodes all are tried anew
    assert action in [way.action for way in why_of(behind(drawing, jobs=jobs)).unblock]


def test_nodes_are_not_added_where_all_jobs_ahead_would_take_too_long_to_try_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(proof, "MOST_STEPS", 160)
    drawing = ROW.cordon("n2").with_running("x", "n2", 8, of_daemon_set=True)
    report = why_of(behind(drawing.with_gang("job", 1, 8, never_preempts=True)))
    assert "more nodes like those there are" in report.no_way_out.partition(BEFORE)[2]


def test_a_pair_is_found_where_a_quota_keeps_nodes_from_being_asked() -> None:
    drawing = cluster("s0: b0[n1]").cordon("n1").with_gang("job", 1, 8).with_quota("a", "default", cpu=0.5)
    drawing = behind(drawing.configured(quotas=QuotaSettings(by_runtime=False)))
    assert [way.action for way in why_of(drawing).unblock] == ["pair"]


def search(drawing: Drawing) -> Search:
    simulation = simulate(drawing, drawing.subject("job"))
    return Search(simulation, next_attempt(simulation)[0], SearchBudget(simulation))


THREE = behind(cluster("s0: b0[n1] b1[n2]").cordon("n2").with_gang("job", 3, 1, must_gather=BLOCK, minimum=1), 0.1)


def test_what_jobs_ahead_take_is_computed_once_for_all_changes_that_they_do_not_see() -> None:
    found = search(THREE)
    assert (found.view is not found.simulation.view, found.budget.left) == (True, MOST_STEPS - MOST_AHEAD)
    assert not found.works((DeletePod("default/job-2"),))
    assert found.works((DeletePod("default/job-1"), DeletePod("default/job-2")))
    assert found.budget.left == MOST_STEPS - MOST_AHEAD - 2 * RUN
    assert found.works((Uncordon("n2"),))
    assert found.budget.left == MOST_STEPS - 2 * MOST_AHEAD - 3 * RUN


def test_jobs_ahead_are_tried_with_all_steps_once_and_then_with_half_of_those_that_are_left() -> None:
    budget = search(THREE).budget
    budget.left = 100
    assert [budget.allows_jobs(100), budget.allows_jobs(50), budget.allows_jobs(51)] == [True, True, False]
    assert not search(THREE).budget.allows_jobs(MOST_STEPS + 1)


def test_what_would_be_placed_alone_and_was_not_tried_behind_others_is_not_said_to_be_tried() -> None:
    found = search(THREE)
    found.budget.left = MOST_AHEAD
    assert not found.works((Uncordon("n2"),))
    assert (found.tried, found.untried) == (set(), {"uncordon"})


def test_jobs_for_which_no_node_is_asked_count_for_less() -> None:
    drawing = THREE.with_quota("small", "default", cpu=0.05).with_gang("other/job", 3, 1, must_gather=BLOCK)
    simulation = changed(simulate(drawing, drawing.subject("other/job")), (Uncordon("n2"),))
    budget = SearchBudget(simulation)
    assert is_placed(simulation, budget, {"uncordon"})
    assert budget.left == MOST_STEPS - RUN - MOST_AHEAD // 4


def test_nothing_is_said_of_nodes_where_the_budget_did_not_allow_to_ask_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof, "MOST_STEPS", 0)
    drawing = cluster("s0: b0[n1]").with_gang("job", 1, 8, never_preempts=True).with_quota("a", "default", cpu=6)
    words = f"{BEFORE}higher limits of its quotas, more nodes like those there are and pairs of changes."
    assert why_of(drawing).no_way_out == words


def test_nothing_is_said_of_quotas_that_took_too_long_to_compute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof, "_QUOTAS_IN_ALL", 0)
    drawing = cluster("s0: b0[n1]").with_gang("job", 1, 8, never_preempts=True).with_quota("a", "default", cpu=6)
    drawing = drawing.with_running("x", "n1", 1)
    words = why_of(drawing).no_way_out
    assert words.endswith(f"; {BEFORE}higher limits of its quotas and evicting pods.")


def test_whoever_is_tried_first_decides_only_where_that_could_be_computed() -> None:
    drawing = cluster("s0: b0[n1:10]; s1: b1[n2:1]").with_gang("job", 1, 7, must_gather=SPINE, minimum=2)
    found = search(drawing.with_pod("job-w", "job", 2).cordon("n1"))
    for runs in (1, 3):
        found.budget.left = runs * RUN
        assert not found.works((Uncordon("n1"),) * runs)
        assert (found.tried, found.untried) == (set(), {"uncordon"})


def test_what_seems_not_to_fit_even_in_an_empty_cluster_is_not_given_room_in_a_full_one() -> None:
    drawing = cluster("s0: b0[n1 n2]").cordon("n2").with_running("low", "n1", 8)
    report = why_of(behind(drawing.with_gang("job", 1, 99, must_gather=SPINE)))
    assert report.cause
    assert (report.cause.code, report.unblock) == ("never-fits", ())
    room = "waiting for preemption, uncordoning nodes, evicting pods and moving pods"
    tried = "another topology spec and smaller requests"
    counted = "by counting slots, these would not help: more nodes like those there are"
    words = f"none of the changes tried lets it start, alone or in pairs: {tried}; {counted}; {BEFORE}{room}."
    assert report.no_way_out == words


def test_who_is_not_tried_is_not_placed_and_jobs_ahead_are_not_tried_anew_where_they_left_no_room() -> None:
    gone = simulate(THREE, THREE.subject("job"))
    assert is_placed(changed(gone, tuple(DeletePod(f"default/job-{n}") for n in range(3))), SearchBudget(gone)) is False
    drawing = cluster("s0: b0[n1:4]").with_gang("job", 3, 1, must_gather=SPINE, priority=1)
    drawing = drawing.with_gang("high", 1, 3, must_gather=SPINE, priority=9).with_quota("a", "default", cpu=99)
    found = search(drawing)
    assert not found.works((DeletePod("default/job-2"), SetMinimum("default/job", "PodGroup", 2)))
    assert (found.budget.left, found.untried) == (MOST_STEPS - RUN - 1, {"fewer-pods"})
