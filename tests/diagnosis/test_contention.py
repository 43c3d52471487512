"""Who goes first, and whether that leaves room wherever it goes."""

import pytest
from msgspec import structs

from kubectl_koord.diagnosis.contention import contentions, left_by_jobs_ahead
from kubectl_koord.engine.admission import queue
from kubectl_koord.engine.attempts.trying import carried_out
from kubectl_koord.engine.view import of
from kubectl_koord.model.load import NodeMetric
from kubectl_koord.model.pods import PodTerm
from kubectl_koord.model.unevaluated import PodSetting, WideningPodSetting
from kubectl_koord.reports.jobs.pending import Contention
from kubectl_koord.simulation.simulation import cluster_of, next_attempt
from kubectl_koord.simulation.subjects import pending_subjects
from tests.build import (
    BLOCK,
    SPINE,
    Drawing,
    attempt_of,
    card,
    cluster,
    cpus,
    devices,
    having,
    jobs_of,
    rules,
    why_of,
)

MAY = "default/high has higher priority and may take its place; otherwise it would be placed."
TWO_SPINES = cluster("s0: b0[n1 n2 n5:1]; s1: b1[n3 n4]").with_running("x", on="n1", cpu=1)
FOUR_NODES = cluster("s0: b0[n1 n2]; s1: b1[n3 n4]")
GATHERED = rules(f"MustGather {SPINE}")
CARDS = tuple(sorted((*cpus(8), ("nvidia.com/gpu", 8), ("pods", 110))))
BUSY = NodeMetric((("cpu", 10),))


def job(drawing: Drawing, number: int = 2, cpu: float = 8, topology: str | None = None) -> Drawing:
    return drawing.with_gang("job", number, cpu, topology=topology, priority=1)


def test_a_job_of_which_any_member_may_go_first_leaves_it_open_where_its_priorities_differ() -> None:
    drawing = job(cluster("s0: b0[n1 n2]")).with_gang("high", 2, 8, priority=10)
    assert why_of(drawing).verdict == "no"
    report = why_of(drawing.change_pods("high-1", priority=0))
    assert (report.verdict, report.cause and report.cause.message, report.unblock) == ("unknown", MAY, ())


def test_a_pod_that_may_go_to_the_only_place_of_a_gang_leaves_it_open() -> None:
    drawing = job(TWO_SPINES, topology=GATHERED).with_pod("high", cpu=8, priority=10)
    report = why_of(drawing)
    assert (report.verdict, report.cause and report.cause.message, report.unblock) == ("unknown", MAY, ())


@pytest.mark.parametrize(
    ("drawing", "verdict"),
    [
        pytest.param(job(FOUR_NODES, topology=GATHERED), "yes", id="another domain is left"),
        pytest.param(
            job(FOUR_NODES.cordon("n4"), topology=GATHERED), "unknown", id="the only domain has no slot to spare"
        ),
        pytest.param(job(FOUR_NODES.cordon("n4"), 1, topology=GATHERED), "yes", id="a domain has a slot to spare"),
        pytest.param(
            job(cluster("s0: b0[n1 n2 n3 n4]"), topology=rules(f"MustGather {SPINE}", f"PreferGather {BLOCK} x2")),
            "yes",
            id="a multiple is lost where two can be spared",
        ),
        pytest.param(
            job(cluster("s0: b0[n1 n2 n3]"), topology=rules(f"MustGather {SPINE}", f"PreferGather {BLOCK} x2")),
            "unknown",
            id="a multiple is lost and nothing can be spared",
        ),
        pytest.param(
            job(cluster("s0: b0[n1 n2] bx[n3]; s1: bx[n4] b1[n5 n6]"), topology=GATHERED),
            "yes",
            id="a slot can be spared whichever parent a domain is below",
        ),
        pytest.param(job(cluster("s0: b0[n1 n2 n3]")), "yes", id="a plain gang with a slot to spare"),
        pytest.param(cluster("s0: b0[n1 n2]").with_pod("job", cpu=8), "yes", id="a lone pod with a slot to spare"),
        pytest.param(job(cluster("s0: b0[n1 n2:12]"), cpu=4), "yes", id="a plain gang of small pods"),
        pytest.param(
            job(FOUR_NODES, 1, topology=GATHERED).with_pod("job-other", gang="job", cpu=7, priority=1),
            "unknown",
            id="unequal pods are not reckoned with",
        ),
        pytest.param(
            job(FOUR_NODES.change("n1", metric=BUSY), topology=GATHERED), "unknown", id="load is not reckoned with"
        ),
    ],
)
def test_a_gang_is_placed_behind_a_pod_only_where_it_fits_wherever_that_goes(drawing: Drawing, verdict: str) -> None:
    assert why_of(drawing.with_pod("high", cpu=3, priority=10)).verdict == verdict


PICKED = cluster("s0: b0[n1 n2]").label("n1", pick="one").with_pod("job", cpu=8, priority=1)
ONE = (("pick", "one"),)
EXCLUSIVE = WideningPodSetting("exclusive-node-selector")


def test_a_job_that_finds_no_place_behind_others_may_find_one_where_these_go_elsewhere() -> None:
    drawing = PICKED.with_pod("high", cpu=7, priority=10)
    assert why_of(drawing).verdict == "yes"
    report = why_of(drawing.with_pod("next", cpu=6, priority=9, node_selector=ONE))
    assert (report.verdict, report.cause and report.cause.message) == (
        "unknown",
        "default/high and default/next have higher priority and may take its place; otherwise it would be placed.",
    )


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        pytest.param(
            {"unevaluated": (WideningPodSetting("exclusive-node-selector"),)}, "unknown", id="it may be admitted"
        ),
        pytest.param({"unevaluated": (PodSetting("scheduling-hint"),)}, "yes", id="it may only be refused"),
        pytest.param({}, "yes", id="it is surely refused"),
    ],
)
def test_a_job_takes_no_place_where_it_is_surely_refused(fields: dict[str, object], verdict: str) -> None:
    high = {"cpu": 9, "priority": 10, **fields}
    assert why_of(PICKED.cordon("n2").with_pod("high", **high)).verdict == verdict  # type: ignore[arg-type]


@pytest.mark.parametrize(("nodes", "verdict"), [("n1 n2", "yes"), ("n1", "unknown")])
def test_a_job_that_may_be_refused_takes_a_place_or_none(nodes: str, verdict: str) -> None:
    hinted = (PodSetting("scheduling-hint"),)
    drawing = cluster(f"s0: b0[{nodes}]").with_pod("job", cpu=8, priority=1)
    assert why_of(drawing.with_pod("high", cpu=7, priority=10, unevaluated=hinted)).verdict == verdict


TEAM = (("quota.scheduling.koordinator.sh/name", "team"),)


@pytest.mark.parametrize(("most", "verdict"), [(30, "yes"), (14, "unknown")])
def test_a_quota_has_room_beside_a_job_that_may_find_a_place(most: int, verdict: str) -> None:
    drawing = cluster("s0: b0[n1 n2 n3 n4]").label("n1", pick="one").with_quota("team", cpu=most)
    drawing = drawing.with_pod("job", cpu=8, priority=1, labels=TEAM).with_pod("high", cpu=8, priority=10)
    drawing = drawing.with_pod("next", cpu=8, priority=9, node_selector=ONE, labels=TEAM)
    assert why_of(drawing).verdict == verdict


@pytest.mark.parametrize(
    ("nodes", "number", "verdict"),
    [
        pytest.param("n1 n2 n3", 2, "yes", id="a node is left for each of its pods"),
        pytest.param("n1 n2", 2, "unknown", id="there may be a node too few"),
        pytest.param("n1 n2", 1, "yes", id="one pod is left a node"),
    ],
)
def test_whatever_is_booked_a_job_fits_where_more_nodes_take_a_pod_than_others_can_take_away(
    nodes: str, number: int, verdict: str
) -> None:
    drawing = cluster(f"s0: b0[{nodes}]")
    for name in nodes.split():
        drawing = drawing.change(name, allocatable=CARDS, devices=devices(card(0), card(1)))
    drawing = drawing.with_gang("job", number, requests=cpus(1, nvidia_gpu=2), priority=1)
    assert why_of(drawing.with_pod("high", requests=cpus(2, nvidia_gpu=1), priority=10)).verdict == verdict


@pytest.mark.parametrize(
    ("nodes", "quota", "verdict"),
    [
        pytest.param("n1 n2 n3", (), "yes", id="a node is left whatever they take"),
        pytest.param("n1 n2", (), "unknown", id="there may be a node too few"),
        pytest.param("n1 n2 n3", TEAM, "unknown", id="what they take of quotas is not known"),
    ],
)
def test_behind_very_many_jobs_those_count_too_that_are_not_tried(
    monkeypatch: pytest.MonkeyPatch, nodes: str, quota: tuple[tuple[str, str], ...], verdict: str
) -> None:
    monkeypatch.setattr(queue, "_MOST_AHEAD", 1)
    drawing = cluster(f"s0: b0[{nodes}]").change("n1", metric=BUSY).with_quota("team", cpu=30)
    drawing = drawing.with_pod("high", cpu=7, priority=10).with_pod("next", cpu=6, priority=9)
    assert why_of(drawing.with_pod("job", cpu=8, priority=1, labels=quota)).verdict == verdict


def test_a_job_loses_no_node_to_those_of_which_it_is_known_where_they_go() -> None:
    drawing = cluster("s0: b0[n1 n2]; s1: b1[n3 n4]").with_gang("top", 2, 8, priority=20, must_gather=SPINE)
    for name in ("n1", "n2", "n3", "n4"):
        drawing = drawing.change(name, metric=BUSY)
    drawing = drawing.with_pod("high", cpu=7, priority=10)
    assert why_of(drawing.with_gang("job", 1, 8, priority=1)).verdict == "yes"
    assert why_of(drawing.with_gang("job", 2, 8, priority=1)).verdict == "unknown"


def test_a_pod_that_keeps_others_away_leaves_it_open_wherever_there_is_room() -> None:
    alone = PodTerm("kubernetes.io/hostname", having(app="web"))
    drawing = job(FOUR_NODES, topology=GATHERED).with_pod("high", cpu=1, priority=10, pod_anti_affinity=(alone,))
    assert why_of(drawing).verdict == "unknown"


@pytest.mark.parametrize(
    ("drawing", "placed"),
    [
        pytest.param(job(FOUR_NODES), True, id="two nodes are left that nobody takes"),
        pytest.param(job(FOUR_NODES.cordon("n3", "n4"), 1, 6), False, id="the one that takes it is taken"),
        pytest.param(job(FOUR_NODES, topology=GATHERED), False, id="a plan is not judged"),
        pytest.param(
            job(FOUR_NODES).with_reserve_pod("r", priority=10).with_reserve_pod("s", priority=10),
            False,
            id="where reservations land is open",
        ),
    ],
)
def test_behind_others_a_job_is_surely_placed_on_nodes_that_nobody_takes(drawing: Drawing, *, placed: bool) -> None:
    drawing = drawing.with_pod("high", cpu=3, priority=10).with_pod("next", cpu=8, priority=9)
    simulation = cluster_of(drawing).simulation(drawing.subject("job"))
    left = left_by_jobs_ahead(simulation)
    assert left is not None
    assert left.surely_places(next_attempt(simulation)[0].first) is placed
    assert not placed or left.outcome.placed_at_once


def test_what_is_known_of_who_goes_first_is_taken_off_before_what_is_open() -> None:
    drawing = cluster("s0: b0[n1 n2]; s1: b1[n3 n4]; s2: b2[n5]").with_gang("top", 2, 8, priority=20, must_gather=SPINE)
    drawing = job(drawing, topology=GATHERED).with_pod("high", cpu=8, priority=10)
    report = why_of(drawing)
    message = "default/top and default/high have higher priority and may take its place; otherwise it would be placed."
    assert (report.verdict, report.cause and report.cause.message) == ("unknown", message)


def test_a_way_out_must_hold_wherever_those_before_it_go() -> None:
    drawing = job(cluster("s0: b0[n1 n2]; s1: b1[n3:1]").cordon("n2"), topology=GATHERED).with_pod(
        "high", cpu=8, priority=10
    )
    assert [way.action for way in why_of(drawing).unblock if way.action == "uncordon"] == []


def test_who_would_get_first_what_becomes_free_is_named() -> None:
    drawing = job(cluster("s0: b0[n1 n2]").with_running("x", on="n1", cpu=1), topology=GATHERED)
    drawing = drawing.with_gang("top", 2, 8, priority=20, must_gather=SPINE).with_pod("high", cpu=16, priority=10)
    told = "default/top and default/high have higher priority and may take freed resources first."
    assert [one.message for one in why_of(drawing).warnings if one.code == "contended"] == [told]
    told = "default/top has higher priority and may take freed resources first."
    assert [one.message for one in why_of(drawing, "high").warnings if one.code == "contended"] == [told]


def test_who_waits_is_looked_up_anew_where_a_what_if_changes_the_waiting() -> None:
    before = job(FOUR_NODES).with_pod("high", cpu=8, priority=10)
    assert [subject.key for subject in pending_subjects(before)] == ["default/job", "default/high"]
    assert pending_subjects(before) is pending_subjects(before)
    alone = structs.replace(before, pending=before.subject("job").pending)
    assert [subject.key for subject in pending_subjects(alone)] == ["default/job"]


TWO_CARDS = cluster("s0: b0[n1]").change("n1", allocatable=CARDS, devices=devices(card(0), card(1)))


def with_gpus(drawing: Drawing, name: str, number: int, priority: int, **fields: object) -> Drawing:
    requests = cpus(1, nvidia_gpu=number)
    return drawing.with_gang(name, 1, requests=requests, priority=priority, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(("must_gather", "verdict"), [(SPINE, "no"), ("", "unknown")])
def test_what_jobs_ahead_have_booked_is_not_there_for_those_behind(must_gather: str, verdict: str) -> None:
    drawing = with_gpus(TWO_CARDS, "top", 1, 9, must_gather=must_gather)
    assert why_of(with_gpus(drawing, "job", 1, 1, must_gather=must_gather)).verdict == "yes"
    behind = with_gpus(drawing, "job", 2, 1, must_gather=must_gather)
    assert why_of(behind).verdict == verdict
    both = with_gpus(drawing, "job", 2, 9, must_gather=must_gather)
    every = [both.subject(name) for name in ("top", "job")]
    assert contentions(cluster_of(both), every) == (Contention("default/top", ("default/job",)),)


def test_a_job_ahead_that_draws_on_its_reservation_leaves_the_rest_of_the_node_to_strangers() -> None:
    drawing = cluster("s0: b0[n1:6]").with_reservation("r", "n1", 4, app="top")
    drawing = drawing.with_gang("top", 1, 3, priority=9, labels=(("app", "top"),), must_gather=SPINE)
    assert why_of(drawing.with_gang("job", 1, 2, must_gather=SPINE)).verdict == "yes"
    assert why_of(drawing.with_gang("job", 1, 3, must_gather=SPINE)).verdict == "no"


def test_a_job_keeps_its_nodes_in_another_variant_of_the_cluster_where_it_finds_no_place() -> None:
    drawing = with_gpus(TWO_CARDS, "job", 2, 1)
    full = drawing.with_running("x", "n1", 8)
    (pod,) = drawing.pending
    assert carried_out(jobs_of(full)[0], of(full), attempt_of(drawing)) == {"n1": (pod,)}
