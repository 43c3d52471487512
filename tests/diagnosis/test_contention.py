"""Who goes first, and whether that leaves room wherever it goes."""

from collections.abc import Mapping

import pytest
from msgspec import structs

from kubectl_koord.diagnosis import contention
from kubectl_koord.diagnosis.contention import _preempting, in_turn, left_by_jobs_ahead
from kubectl_koord.engine import queue
from kubectl_koord.engine.budget import Budget
from kubectl_koord.engine.state import of
from kubectl_koord.engine.trying import carried_out
from kubectl_koord.explain.topo import topo
from kubectl_koord.model.load import NodeMetric
from kubectl_koord.model.pods import PodTerm
from kubectl_koord.model.unevaluated import PodSetting, WideningPodSetting
from kubectl_koord.reports.common import Notice
from kubectl_koord.reports.jobs import Cause, Contention, PreemptReport, WhyAlternative, WhyReport
from kubectl_koord.simulation.simulation import cluster_of, next_attempt, simulate
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
    preempt_of,
    rules,
    why_of,
)
from tests.build import node as node_of

MAY = "default/high has higher priority and may take its place; otherwise it would be placed."
TWO_SPINES = cluster("s0: b0[n1 n2 n5:1]; s1: b1[n3 n4]").with_running("x", on="n1", cpu=1)
FOUR_NODES = cluster("s0: b0[n1 n2]; s1: b1[n3 n4]")
GATHERED = rules(f"MustGather {SPINE}")
CARDS = tuple(sorted((*cpus(8), ("nvidia.com/gpu", 8), ("pods", 110))))
BUSY = NodeMetric((("cpu", 10),))


@pytest.fixture
def many_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Follow one way only in which jobs that go first may go, as in a cluster with many nodes."""
    monkeypatch.setattr(queue, "_NODES_IN_ALL", 0)


def job(drawing: Drawing, number: int = 2, cpu: float = 8, topology: str | None = None) -> Drawing:
    return drawing.with_gang("job", number, cpu, topology=topology, priority=1)


def test_a_job_of_which_any_member_may_go_first_leaves_it_open_where_its_priorities_differ() -> None:
    drawing = job(cluster("s0: b0[n1 n2]")).with_gang("high", 2, 8, priority=10)
    assert why_of(drawing).verdict == "no"
    report = why_of(drawing.change_pods("high-1", priority=0))
    assert (report.verdict, report.cause and report.cause.message, report.unblock) == ("unknown", MAY, ())


@pytest.mark.usefixtures("many_nodes")
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
@pytest.mark.usefixtures("many_nodes")
def test_a_gang_is_placed_behind_a_pod_only_where_it_fits_wherever_that_goes(drawing: Drawing, verdict: str) -> None:
    assert why_of(drawing.with_pod("high", cpu=3, priority=10)).verdict == verdict


PICKED = cluster("s0: b0[n1 n2]").label("n1", pick="one").with_pod("job", cpu=8, priority=1)
ONE = (("pick", "one"),)
EXCLUSIVE = WideningPodSetting("exclusive-node-selector")


@pytest.mark.usefixtures("many_nodes")
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
@pytest.mark.usefixtures("many_nodes")
def test_a_job_that_may_be_refused_takes_a_place_or_none(nodes: str, verdict: str) -> None:
    hinted = (PodSetting("scheduling-hint"),)
    drawing = cluster(f"s0: b0[{nodes}]").with_pod("job", cpu=8, priority=1)
    assert why_of(drawing.with_pod("high", cpu=7, priority=10, unevaluated=hinted)).verdict == verdict


TEAM = (("quota.scheduling.koordinator.sh/name", "team"),)


@pytest.mark.parametrize(("most", "verdict"), [(30, "yes"), (14, "unknown")])
@pytest.mark.usefixtures("many_nodes")
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
@pytest.mark.usefixtures("many_nodes")
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
@pytest.mark.usefixtures("many_nodes")
def test_behind_very_many_jobs_those_count_too_that_are_not_tried(
    monkeypatch: pytest.MonkeyPatch, nodes: str, quota: tuple[tuple[str, str], ...], verdict: str
) -> None:
    monkeypatch.setattr(queue, "_MOST_AHEAD", 1)
    drawing = cluster(f"s0: b0[{nodes}]").change("n1", metric=BUSY).with_quota("team", cpu=30)
    drawing = drawing.with_pod("high", cpu=7, priority=10).with_pod("next", cpu=6, priority=9)
    assert why_of(drawing.with_pod("job", cpu=8, priority=1, labels=quota)).verdict == verdict


@pytest.mark.usefixtures("many_nodes")
def test_a_job_loses_no_node_to_those_of_which_it_is_known_where_they_go() -> None:
    drawing = cluster("s0: b0[n1 n2]; s1: b1[n3 n4]").with_gang("top", 2, 8, priority=20, must_gather=SPINE)
    for name in ("n1", "n2", "n3", "n4"):
        drawing = drawing.change(name, metric=BUSY)
    drawing = drawing.with_pod("high", cpu=7, priority=10)
    assert why_of(drawing.with_gang("job", 1, 8, priority=1)).verdict == "yes"
    assert why_of(drawing.with_gang("job", 2, 8, priority=1)).verdict == "unknown"


@pytest.mark.usefixtures("many_nodes")
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


@pytest.mark.usefixtures("many_nodes")
def test_what_is_known_of_who_goes_first_is_taken_off_before_what_is_open() -> None:
    drawing = cluster("s0: b0[n1 n2]; s1: b1[n3 n4]; s2: b2[n5]").with_gang("top", 2, 8, priority=20, must_gather=SPINE)
    drawing = job(drawing, topology=GATHERED).with_pod("high", cpu=8, priority=10)
    report = why_of(drawing)
    message = "default/top and default/high have higher priority and may take its place; otherwise it would be placed."
    assert (report.verdict, report.cause and report.cause.message) == ("unknown", message)


@pytest.mark.usefixtures("many_nodes")
def test_a_way_out_must_hold_wherever_those_before_it_go() -> None:
    drawing = job(cluster("s0: b0[n1 n2]; s1: b1[n3:1]").cordon("n2"), topology=GATHERED).with_pod(
        "high", cpu=8, priority=10
    )
    assert [way.action for way in why_of(drawing).unblock if way.action == "uncordon"] == []


def test_who_would_get_first_what_becomes_free_is_named() -> None:
    drawing = job(cluster("s0: b0[n1 n2]").with_running("x", on="n1", cpu=1), topology=GATHERED)
    drawing = drawing.with_gang("top", 2, 8, priority=20, must_gather=SPINE).with_pod("high", cpu=16, priority=10)
    shown = "default/top has higher priority and goes first: slots, nodes and victims are shown as it leaves them."
    told = "default/high has higher priority and may take freed resources first."
    assert [one.message for one in why_of(drawing).warnings if one.code == "contended"] == [shown, told]
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


@pytest.mark.parametrize("must_gather", [SPINE, ""])
def test_what_jobs_ahead_have_booked_is_not_there_for_those_behind(must_gather: str) -> None:
    drawing = with_gpus(TWO_CARDS, "top", 1, 9, must_gather=must_gather)
    assert why_of(with_gpus(drawing, "job", 1, 1, must_gather=must_gather)).verdict == "yes"
    behind = with_gpus(drawing, "job", 2, 1, must_gather=must_gather)
    assert why_of(behind).verdict == "no"
    both = with_gpus(drawing, "job", 2, 9, must_gather=must_gather)
    every = [both.subject(name) for name in ("top", "job")]
    assert in_turn(cluster_of(both), every).contentions == (Contention("default/top", ("default/job",)),)


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


def gathered(drawing: Drawing, name: str, number: int, priority: int, **fields: object) -> Drawing:
    return drawing.with_gang(name, number, 8, must_gather=SPINE, priority=priority, **fields)  # type: ignore[arg-type]


def offered(report: WhyReport | WhyAlternative) -> dict[str, int]:
    return {row.name: row.offer_slots for row in report.domains}


def test_a_gang_is_promised_what_one_that_goes_first_leaves() -> None:
    drawing = gathered(cluster("s0: b0[a0 a1 a2]; s1: b1[b0 b1 b2 b3]"), "job", 2, 1)
    report = why_of(gathered(drawing, "rival", 3, 9))
    assert (report.verdict, report.placement) == ("yes", {"default/job-0": "b0", "default/job-1": "b1"})
    assert offered(report) == {"s0": 0, "s1": 4}
    shown = "default/rival has higher priority and goes first: slots, nodes and victims are shown as it leaves them."
    assert [one.message for one in report.warnings if one.code == "contended"] == [shown]
    assert why_of(drawing).placement == {"default/job-0": "a0", "default/job-1": "a1"}


def test_slots_are_those_that_jobs_leave_that_go_first() -> None:
    drawing = gathered(cluster("s0: b0[a0 a1 a2 a3]; s1: b1[b0 b1]"), "job", 5, 1)
    assert offered(why_of(gathered(drawing, "rival", 2, 9))) == {"s0": 4, "s1": 0}


HALF_FULL = (
    cluster("s0: b0[a0 a1 a2]; s1: b1[b0 b1 b2]")
    .with_running("low-a2", "a2", 8)
    .with_running("low-b1", "b1", 8)
    .with_running("low-b2", "b2", 8)
)


def test_victims_are_those_that_remain_wherever_a_pod_goes_that_goes_first() -> None:
    drawing = gathered(HALF_FULL.cordon("b0"), "job", 2, 5).with_pod("first", cpu=8, priority=9)
    told = [(one.when, [pod.pod for pod in one.victims]) for one in preempt_of(drawing).alternatives]
    assert told == [(f"default/first takes {node}", ["default/low-a2"]) for node in ("a0", "a1")]
    assert why_of(drawing).alternatives == ()


def test_where_it_matters_which_node_a_pod_takes_first_all_that_may_come_is_told() -> None:
    drawing = gathered(cluster("s0: b0[a0 a1]; s1: b1[b0 b1]").cordon("b1"), "job", 2, 1)
    report = why_of(drawing.with_pod("first", cpu=8, priority=9))
    assert (report.verdict, report.cause and report.cause.message) == ("unknown", MAY.replace("/high", "/first"))
    told = [(one.when, one.verdict, offered(one)) for one in report.alternatives]
    assert told == [
        ("default/first takes a0", "no", {"s0": 1, "s1": 1}),
        ("default/first takes b0", "yes", {"s0": 2, "s1": 0}),
    ]


FULL = (
    cluster("s0: b0[a0 a1]; s1: b1[b0 b1]")
    .with_running("low-a0", "a0", 8)
    .with_running("low-a1", "a1", 8)
    .with_running("low-b0", "b0", 8)
    .with_running("low-b1", "b1", 8)
)


def test_a_job_that_preempts_first_holds_its_nodes_and_its_victims_are_its_own() -> None:
    drawing = gathered(gathered(FULL, "job", 2, 5), "rival", 2, 9)
    report = preempt_of(drawing)
    assert report.nominations == {"default/job-0": "b0", "default/job-1": "b1"}
    assert ([one.pod for one in report.victims], report.verdict) == (["default/low-b0", "default/low-b1"], "yes")
    shown = "default/rival has higher priority and goes first: slots, nodes and victims are shown as it leaves them."
    assert Notice("contended", shown) in report.warnings
    assert [row.in_the_way for row in why_of(drawing).domains] == [
        ("a0: low-a0 (8 CPU, priority 0), a1: low-a1 (8 CPU, priority 0), default/rival goes first on a0 and a1"),
        "b0: low-b0 (8 CPU, priority 0), b1: low-b1 (8 CPU, priority 0)",
    ]


def test_room_that_a_job_is_nominated_to_is_no_room_for_those_behind() -> None:
    drawing = cluster("s0: b0[a0:12]").with_running("low", "a0", 8).with_gang("job", 1, 4, priority=5)
    assert why_of(drawing).verdict == "yes"
    report = why_of(drawing.with_gang("rival", 1, 12, priority=9))
    assert (report.verdict, report.cause and report.cause.message) == (
        "no",
        "default/rival has higher priority and takes its place; otherwise it would be placed.",
    )


def test_what_jobs_hold_that_preempt_first_is_not_looked_at_where_nodes_are_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(queue, "_NODES_IN_ALL", 0)
    monkeypatch.setattr(queue, "_FEWEST_PREEMPTING", 0)
    drawing = gathered(gathered(FULL, "job", 2, 5), "rival", 2, 9)
    told = "default/rival has higher priority and may preempt: which nodes it holds then was not looked at."
    assert Notice("contended", told) in preempt_of(drawing).warnings
    assert Notice("contended", told) in why_of(drawing).warnings


def test_what_jobs_hold_that_preempt_first_is_not_looked_at_where_those_before_took_all_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawing = gathered(gathered(gathered(FULL, "job", 2, 5), "rival", 2, 9), "second", 2, 8)
    told = "{} may preempt: which nodes it holds then was not looked at."
    first, second = (told.format(f"default/{name} has higher priority and") for name in ("rival", "second"))
    assert first not in {one.message for one in why_of(drawing).warnings}
    monkeypatch.setattr(queue, "_STEPS", 2)
    assert Notice("contended", second) in why_of(drawing).warnings


def test_where_many_jobs_wait_few_ways_are_told_apart_in_which_they_may_go(monkeypatch: pytest.MonkeyPatch) -> None:
    drawing = cluster("s0: b0[n1 n2 n3 n4]").with_gang("job", 1, 8, priority=1)
    for number in range(3):
        drawing = drawing.with_gang(f"rival-{number}", 1, 8, priority=9)
    simulation = simulate(drawing, drawing.subject("job"))
    assert len(contention.jobs_ahead(simulation).ways) > 1
    monkeypatch.setattr(queue, "_TRIED_IN_ALL", 4)
    again = structs.replace(simulation, view=of(drawing))
    assert len(contention.jobs_ahead(again).ways) == 1


def test_a_pod_that_is_nominated_goes_where_it_is_nominated() -> None:
    drawing = gathered(cluster("s0: b0[a0 a1]; s1: b1[b0 b1]"), "job", 2, 1)
    report = why_of(drawing.with_pod("first", cpu=8, nominated="a1", priority=9))
    assert (report.verdict, offered(report), report.alternatives) == ("yes", {"s0": 1, "s1": 2}, ())


def test_whether_a_pod_has_company_depends_on_where_that_goes_first() -> None:
    beside = PodTerm("kubernetes.io/hostname", having(app="web"))
    drawing = cluster("s0: b0[n1:4 n2:8]").label("n1", **{"kubernetes.io/hostname": "n1"})
    drawing = drawing.label("n2", **{"kubernetes.io/hostname": "n2"})
    drawing = drawing.with_pod("first", cpu=4, priority=9, labels=(("app", "web"),))
    report = why_of(drawing.with_pod("job", cpu=4, pod_affinity=(beside,)))
    assert (report.verdict, report.cause and report.cause.message) == (
        "unknown",
        "it depends on where default/first goes first; no object shows this.",
    )
    assert [(one.when, one.verdict) for one in report.alternatives] == [
        ("default/first takes n1", "no"),
        ("default/first takes n2", "yes"),
    ]


def test_a_gang_that_goes_first_may_be_spread_in_any_way_and_all_that_are_few_are_told_apart() -> None:
    drawing = gathered(cluster("s0: b0[a0:16 a1]; s1: b1[b0]"), "job", 1, 1).with_gang("first", 2, 8, priority=9)
    told = [(one.when, one.verdict, offered(one)) for one in why_of(drawing).alternatives]
    assert told == [
        ("default/first takes a0", "yes", {"s0": 1, "s1": 1}),
        ("default/first takes a0 and a1", "yes", {"s0": 1, "s1": 1}),
        ("default/first takes a0 and b0", "yes", {"s0": 2, "s1": 0}),
        ("default/first takes a1 and b0", "yes", {"s0": 1, "s1": 0}),
    ]


def test_a_gang_that_takes_all_there_is_goes_there() -> None:
    nodes = " ".join(f"n{number:02}" for number in range(40))
    drawing = gathered(cluster(f"s0: b0[{nodes}]; s1: b1[z0 z1]").cordon("z0"), "job", 1, 1)
    report = why_of(drawing.with_gang("first", 41, 8, priority=9))
    assert (report.verdict, offered(report), report.alternatives) == ("no", {"s0": 0, "s1": 0}, ())


def test_of_a_gang_of_unlike_pods_that_goes_first_all_plans_are_followed() -> None:
    drawing = gathered(cluster("s0: b0[a0:9 a1:9]; s1: b1[b0:8 b1:8]"), "job", 2, 1)
    mixed = drawing.with_gang("first", 1, 9, must_gather=SPINE, priority=9)
    mixed = mixed.with_pod("first-9", gang="first", needs_pod_group=True, cpu=1, priority=9)
    report = why_of(mixed)
    assert (report.verdict, offered(report)) == ("yes", {"s0": 1, "s1": 2})


def test_what_a_satisfied_gang_holds_whose_pods_come_one_by_one_is_open() -> None:
    drawing = gathered(FULL, "job", 2, 5).with_gang("rival", 2, 8, priority=9).with_finished("old", gang="rival")
    assert preempt_of(drawing).verdict == "yes"


ROOM_FOR_BOTH = gathered(gathered(FOUR_NODES, "job", 2, 1), "rival", 2, 1)
ROOM_FOR_ONE = gathered(gathered(cluster("s0: b0[n1 n2]"), "job", 2, 1), "rival", 2, 1)
THREE_SPINES = cluster("s0: b0[n1 n2]; s1: b1[n3 n4]; s2: b2[n5 n6]")
ROOM_FOR_THREE = gathered(gathered(THREE_SPINES, "job", 2, 1), "rival", 2, 1)
BOTH_PREEMPT = gathered(gathered(FULL, "job", 2, 5), "rival", 2, 5)
SAME_ROOM = "default/rival has the same priority and needs the same room: the one tried first gets it."
SHOWN_BEFORE = "default/rival has the same priority: what is shown is as where this one is tried before it."


def test_of_very_many_plans_of_a_gang_that_goes_first_not_all_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    drawing = gathered(cluster("s0: b0[a0:9 a1:9]; s1: b1[b0:8 b1:8]"), "job", 2, 1)
    mixed = drawing.with_gang("first", 1, 9, must_gather=SPINE, priority=9)
    mixed = mixed.with_pod("first-9", gang="first", needs_pod_group=True, cpu=1, priority=9)
    simulation = simulate(mixed, mixed.subject("job"))
    assert contention.jobs_ahead(simulation).are_all
    monkeypatch.setattr(contention, "MOST_WAYS", 1)
    assert not contention.jobs_ahead(structs.replace(simulation, view=of(mixed))).are_all


def test_of_a_job_that_preempts_first_in_many_ways_not_all_are_followed() -> None:
    drawing = gathered(FULL, "job", 2, 5)
    simulation = simulate(drawing, drawing.subject("job"))
    ways = [_preempting(simulation, queue.Preempting(Budget(), most), is_sure=True) for most in (None, 1, 0)]
    assert [(len(way.came), way.are_all) for way in ways] == [(1, True), (1, True), (1, False)]


@pytest.fixture
def one_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Follow one order of jobs of equal priority only, as for more jobs in a cluster with more nodes."""
    monkeypatch.setattr(queue, "_NODES_IN_ALL", 0)
    monkeypatch.setattr(queue, "_FEWEST_ORDERS", 1)


def of_job(placed: Mapping[str, str] | None) -> str:
    return " ".join((placed or {}).values())


def contended(report: WhyReport | PreemptReport) -> list[str]:
    return [notice.message for notice in report.warnings if notice.code == "contended"]


@pytest.mark.parametrize(("name", "other"), [("job", "rival"), ("rival", "job")])
def test_two_jobs_of_equal_priority_are_not_both_promised_the_same_nodes(name: str, other: str) -> None:
    report = why_of(ROOM_FOR_BOTH, name)
    assert (report.verdict, report.cause, report.placement, contended(report)) == ("yes", None, None, [])
    assert [(one.when, one.verdict, of_job(one.placement)) for one in report.alternatives] == [
        (f"it is tried before default/{other}", "yes", "n1 n2"),
        (f"default/{other} takes n1 and n2", "yes", "n3 n4"),
    ]
    assert preempt_of(ROOM_FOR_BOTH, name).verdict == "yes"


@pytest.mark.parametrize(("name", "other"), [("job", "rival"), ("rival", "job")])
def test_of_jobs_of_equal_priority_none_is_promised_the_room_for_one(name: str, other: str) -> None:
    report = why_of(ROOM_FOR_ONE, name)
    said = SAME_ROOM.replace("rival", other)
    assert (report.verdict, report.cause, report.placement) == ("unknown", Cause("contended", said), None)
    assert [(one.when, one.verdict) for one in report.alternatives] == [
        (f"it is tried before default/{other}", "yes"),
        (f"default/{other} takes n1 and n2", "no"),
    ]
    plan = preempt_of(ROOM_FOR_ONE, name)
    assert (plan.verdict, contended(plan)) == ("unknown", [said])


@pytest.mark.parametrize(("drawing", "verdict"), [(ROOM_FOR_ONE, "unknown"), (ROOM_FOR_THREE, "yes")])
def test_of_very_many_jobs_of_equal_priority_those_count_too_that_are_not_tried(
    monkeypatch: pytest.MonkeyPatch, drawing: Drawing, verdict: str
) -> None:
    monkeypatch.setattr(queue, "_MOST_EQUALS", 0)
    report = why_of(drawing)
    assert (report.verdict, report.placement) == (verdict, None)
    assert [report.cause and report.cause.message] == ([SAME_ROOM] if verdict == "unknown" else [None])
    assert contended(report) == [SHOWN_BEFORE]
    assert preempt_of(drawing).verdict == verdict


def test_a_job_of_equal_priority_that_takes_other_nodes_in_any_order_changes_nothing() -> None:
    single = gathered(gathered(cluster("s0: b0[n1 n2]; s1: b1[n3]"), "job", 2, 1), "single", 1, 1)
    report = why_of(single)
    assert (report.verdict, of_job(report.placement), report.alternatives) == ("yes", "n1 n2", ())
    assert contended(report) == []
    with_rival = gathered(single, "rival", 2, 1)
    told = why_of(with_rival)
    assert (told.cause, [one.when for one in told.alternatives]) == (
        Cause("contended", SAME_ROOM),
        ["it is tried before default/rival and default/single", "default/rival takes n1 and n2"],
    )


def test_whom_jobs_of_equal_priority_preempt_depends_on_who_is_tried_first() -> None:
    plan = preempt_of(BOTH_PREEMPT)
    assert (plan.verdict, contended(plan)) == ("yes", [])
    assert [(one.when, of_job(one.nominations)) for one in plan.alternatives] == [
        ("it is tried before default/rival", "a0 a1"),
        ("default/rival takes a0 and a1", "b0 b1"),
    ]
    assert (why_of(BOTH_PREEMPT).verdict, why_of(BOTH_PREEMPT).alternatives) == ("no", ())


def test_jobs_of_equal_priority_come_after_those_of_a_higher_one() -> None:
    three = cluster("s0: b0[n1 n2]; s1: b1[n3 n4]; s2: b2[n5 n6]")
    drawing = gathered(gathered(gathered(three, "job", 2, 1), "rival", 2, 1), "top", 2, 9)
    assert [(one.when, of_job(one.placement)) for one in why_of(drawing).alternatives] == [
        ("it is tried before default/rival", "n3 n4"),
        ("default/rival takes n3 and n4", "n5 n6"),
    ]


@pytest.mark.usefixtures("one_order")
def test_where_orders_are_too_many_a_job_is_placed_where_it_fits_wherever_the_others_go() -> None:
    roomy = gathered(gathered(cluster("s0: b0[n1 n2]; s1: b1[n3 n4]; s2: b2[n5 n6]"), "job", 2, 1), "rival", 2, 1)
    report = why_of(roomy)
    assert (report.verdict, of_job(report.placement), contended(report)) == ("yes", "", [SHOWN_BEFORE])
    assert preempt_of(roomy).verdict == "yes"
    report = why_of(ROOM_FOR_BOTH)
    assert (report.verdict, report.cause) == ("unknown", Cause("contended", SAME_ROOM))
    plan = preempt_of(ROOM_FOR_BOTH)
    assert (plan.verdict, plan.message) == (
        "unknown",
        f"default/job: cannot tell which pods it would preempt: {SAME_ROOM}",
    )
    assert SHOWN_BEFORE in contended(preempt_of(BOTH_PREEMPT))


def test_whom_jobs_of_equal_priority_preempt_is_not_looked_at_where_nodes_are_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    half = gathered(gathered(FULL.without_running("default/low-a0", "default/low-a1"), "job", 2, 5), "rival", 3, 5)
    whole = half.with_nodes(node_of("b2", labels=half.nodes["b0"].labels))
    assert [(one.when, of_job(one.placement)) for one in why_of(whole).alternatives] == []
    monkeypatch.setattr(queue, "_STEPS_OF_EQUALS_IN_ALL", 0)
    told = "default/rival has the same priority and may preempt: which nodes it holds then was not looked at."
    assert contended(why_of(whole)) == [told]
    assert contended(preempt_of(BOTH_PREEMPT)) == [told]


@pytest.mark.parametrize(
    ("drawing", "told"), [(ROOM_FOR_BOTH, [SHOWN_BEFORE]), (ROOM_FOR_ONE, [SHOWN_BEFORE]), (FOUR_NODES, [])]
)
def test_slots_are_shown_as_where_a_job_is_tried_before_those_of_equal_priority(
    drawing: Drawing, told: list[str]
) -> None:
    drawing = drawing if told else gathered(drawing, "job", 2, 1)
    report = topo(drawing, subject=drawing.subject("job"))
    assert [notice.message for notice in report.warnings if notice.code == "contended"] == told


def test_who_is_asked_about_together_is_placed_in_turn() -> None:
    every = [ROOM_FOR_BOTH.subject(name) for name in ("job", "rival")]
    found = in_turn(cluster_of(ROOM_FOR_BOTH), every)
    assert (found.contentions, [of_job(one) for one in found.placements.values()]) == ((), ["n1 n2", "n3 n4"])
