"""Reservations that are not placed yet, and what they take before others are tried."""

import pytest
from msgspec import structs
from msgspec.structs import replace

from kubectl_koord.engine.budget import Budget
from kubectl_koord.engine.filters import prepare, rejection
from kubectl_koord.engine.rounds import Preempting, landings, not_told, preempting
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.state import of
from kubectl_koord.model.reservations import ReservationAffinity, ReservationUse
from kubectl_koord.simulation.simulation import first_effects, outcomes_of_each, simulate
from tests.build import Drawing, card, cluster, cpus, devices, holding, pending, preempt_of, why_of

TWO = cluster("s0: b0[n1:8] b1[n2:8]")
RULES = rules("1.8")


def nodes(drawing: Drawing, own: int = 0) -> list[dict[str, str]]:
    return [dict(landing.nodes) for landing in landings(of(drawing), own, RULES)]


def test_where_a_pending_reservation_lands_is_open() -> None:
    drawing = TWO.with_running("x", "n1", 1).with_reserve_pod("r", 4)
    assert nodes(drawing) == [{"r": "n2"}, {"r": "n1"}]
    (first, _) = landings(of(drawing), 0, RULES)
    assert first.view.state("n2").free == {"cpu": 4000}
    assert [one.node for one in first.view.snapshot.reservations] == ["n2"]


def test_where_several_land_on_few_nodes_all_ways_are_followed() -> None:
    drawing = TWO.with_running("x", "n1", 1).with_reserve_pod("r", 1).with_reserve_pod("s", 1)
    every = ["n2", "n1"], ["n2", "n2"], ["n1", "n2"], ["n1", "n1"]
    assert [[*one.values()] for one in nodes(drawing)] == [*every]


def test_of_several_on_many_nodes_the_extremes_are_told_and_that_there_are_others() -> None:
    drawing = cluster("s0: b0[n1:8 n2:8 n3:8]").with_running("x", "n1", 1)
    drawing = drawing.with_reserve_pod("r", 1).with_reserve_pod("s", 1)
    assert nodes(drawing) == [{"r": "n2", "s": "n3"}, {"r": "n1", "s": "n1"}]
    others = landings(of(drawing), 0, RULES)[0].others
    assert [[view.state(name).free["cpu"] for name in view.names()] for view in others or ()] == [
        [7000, 8000, 8000],
        [5000, 6000, 6000],
    ]


def test_those_of_which_only_some_find_room_land_in_one_way() -> None:
    alike = cluster("s0: b0[n1:2]").with_reserve_pod("r", 1).with_reserve_pod("s", 1).with_reserve_pod("t", 1)
    assert nodes(alike) == [{"r": "n1", "s": "n1"}]


def test_what_it_lands_on_holds_cards_for_its_owners_alone() -> None:
    drawing = cluster("s0: b0[n1:8]").change(
        "n1", allocatable=cpus(8, pods=110, nvidia_gpu=2), devices=devices(card(0), card(1))
    )
    drawing = drawing.with_reserve_pod("r", requests=cpus(1, nvidia_gpu=2))
    ((landing,), asked) = landings(of(drawing), 0, RULES), cpus(1, nvidia_gpu=2)
    assert [one.allocations for one in landing.view.occupants("n1")] == [
        structs.replace(holding(0, 1), reservation="r")
    ]
    for app, is_refused in (("job", False), ("x", True)):
        pod = pending("p", requests=asked, labels=(("app", app),))
        prepared = prepare(pod, landing.view, RULES)
        assert (rejection(pod, landing.view.state("n1"), prepared) is not None) == is_refused


@pytest.mark.parametrize(
    "fields", [{"priority": 5}, {"cpu": 9}, {"gang": "default/g"}, {"terminating": True}, {"scheduler": "other"}]
)
def test_those_that_do_not_go_first_or_fit_nowhere_take_no_room(fields: dict[str, object]) -> None:
    drawing = TWO.with_reserve_pod("r", **{"cpu": 1, **fields})  # type: ignore[arg-type]
    assert nodes(drawing, own=5) == [{}]


def test_what_its_template_says_of_using_reservations_counts_for_nothing() -> None:
    for said in (ReservationUse(ReservationAffinity()), ReservationUse(unreadable="x")):
        assert sorted(where["r"] for where in nodes(TWO.with_reserve_pod("r", 1, reservation=said))) == ["n1", "n2"]


@pytest.mark.parametrize(
    ("policy", "lands"), [("Default", ["n2"]), ("Aligned", ["n1", "n2"]), ("Restricted", ["n1", "n2"])]
)
def test_default_goes_with_no_other_policy(policy: str, lands: list[str]) -> None:
    drawing = TWO.with_reservation("held", "n1", 1, app="x").with_reserve_pod("r", 1)
    (pod,) = drawing.reserve_pods
    assert pod.reserves is not None
    changed = replace(pod, reserves=replace(pod.reserves, policy=policy))
    assert sorted(where["r"] for where in nodes(drawing.but(reserve_pods=(changed,)))) == lands


def pre_allocating(drawing: Drawing, policy: str = "Restricted") -> Drawing:
    pod, *others = drawing.reserve_pods
    assert pod.reserves is not None
    changed = replace(pod, reserves=replace(pod.reserves, policy=policy, pre_allocates=True))
    return drawing.but(reserve_pods=(changed, *others))


def test_one_that_takes_running_pods_into_it_may_take_no_room() -> None:
    drawing = pre_allocating(TWO.with_running("x", "n1", 1).with_reserve_pod("r", 8))
    assert nodes(drawing) == [{"r": "n2"}, {"r": ""}]
    several = pre_allocating(drawing.with_reserve_pod("s", 7))
    assert nodes(several) == [{"r": "n2", "s": "n1"}, {"r": "", "s": "n2"}, {"r": "", "s": "n1"}]
    assert list(preempting(of(pre_allocating(TWO.with_running("x", "n1", 1).with_reserve_pod("r", 9))), 0, RULES)) == []


def test_whether_it_is_placed_over_running_pods_decides() -> None:
    drawing = TWO.with_running("x", "n1", 8).with_reserve_pod("r", 8, app="other").with_gang("job", 1, 8)
    report = why_of(pre_allocating(drawing))
    assert (report.verdict, [one.when.partition(",")[0] for one in report.alternatives]) == (
        "unknown",
        ["reservation r is placed on n2", "reservation r is placed over running pods"],
    )


@pytest.mark.parametrize("policy", ["Default", "Aligned"])
def test_one_that_would_do_so_is_placed_nowhere_but_with_the_policy_restricted(policy: str) -> None:
    assert nodes(pre_allocating(TWO.with_reserve_pod("r", 8), policy)) == [{}]


def test_a_gang_finds_what_a_pending_reservation_leaves() -> None:
    drawing = TWO.with_gang("job", 2, 8, must_gather="SpineLayer").with_reserve_pod("r", 8, app="other")
    report = why_of(drawing)
    assert (report.verdict, [row.offer_slots for row in report.domains]) == ("no", [1])
    assert preempt_of(drawing).verdict == "no"


def test_what_depends_on_where_it_lands_is_unknown() -> None:
    drawing = cluster("s0: b0[n1:8]; s1: b1[n2:4]").with_reserve_pod("r", 4, app="other")
    report = why_of(drawing.with_gang("job", 1, 8))
    assert (report.verdict, report.cause and report.cause.message) == (
        "unknown",
        "it depends on where the scheduler places pending reservations; no object shows this.",
    )
    assert [(one.when, one.verdict) for one in report.alternatives] == [
        ("reservation r is placed on n1, and the scheduler tries default/job-0 first (8 CPU)", "no"),
        ("reservation r is placed on n2, and the scheduler tries default/job-0 first (8 CPU)", "yes"),
    ]


def many(used: float, need: float = 8) -> Drawing:
    """Return a gang that fits on node z alone, if the reservation lands elsewhere, and more nodes than are followed."""
    small = " ".join(f"n{number}:4" for number in range(9))
    drawing = cluster(f"s0: b0[{small}] b1[z:32]").with_running("x", "z", used)
    return drawing.with_gang("job", 1, need).with_reserve_pod("r", 2, app="other")


def test_where_it_may_land_on_more_nodes_than_are_followed_the_answer_says_so() -> None:
    report = why_of(many(24))
    assert (report.verdict, report.cause and report.cause.message) == (
        "unknown",
        "followed 8 of more outcomes: what the others come to is unknown",
    )
    assert preempt_of(many(24)).verdict == "unknown"


@pytest.mark.parametrize(("used", "verdict"), [(16, "yes"), (26, "no")])
def test_where_the_other_nodes_decide_nothing_they_need_not_be_followed(used: float, verdict: str) -> None:
    report = why_of(many(used))
    assert (report.verdict, [notice.code for notice in report.warnings if notice.code == "not-followed"]) == (
        verdict,
        [],
    )


def test_one_that_is_for_the_gang_takes_nothing_from_it() -> None:
    drawing = TWO.with_gang("job", 2, 8, labels=(("app", "job"),)).with_reserve_pod("r", 8)
    assert why_of(drawing).verdict == "yes"
    must = ReservationUse(ReservationAffinity())
    needs = TWO.with_gang("job", 1, 8, labels=(("app", "job"),), reservation=must)
    assert why_of(needs.with_reserve_pod("r", 8)).verdict == "yes"
    assert [why_of(needs).cause and why_of(needs).cause.code] == ["no-matching-reservation"]  # type: ignore[union-attr]


def test_one_without_room_preempts() -> None:
    drawing = cluster("s0: b0[n1:8]").with_running("low", "n1", 8).with_reserve_pod("r", 8).with_reserve_pod("never", 9)
    (low,) = drawing.running["n1"]
    assert list(preempting(of(drawing), 0, RULES)) == [Preempting("r", (low,))]
    assert list(preempting(of(drawing.configured(preemption=False)), 0, RULES)) == []
    assert list(preempting(of(TWO.with_reserve_pod("r", 8)), 0, RULES)) == []


def test_a_pending_reservation_of_the_gang_is_a_member() -> None:
    drawing = TWO.with_gang("job", 1, 8, minimum=2, must_gather="SpineLayer")
    member = drawing.with_reserve_pod("r", 8, gang="default/job", needs_pod_group=True)
    assert (why_of(drawing).verdict, why_of(member).placement) == ("no", {"default/job-0": "n1", "default/r": "n2"})


def test_whom_pods_of_a_gang_that_ran_preempt_is_not_told_whole_where_more_may_come() -> None:
    lost = many(24).with_running("job-run", "z", 0, gang="default/job")
    simulation = simulate(lost, lost.subject("job"))
    assert not_told(simulation.landings) is not None
    assert [one.followed for one in outcomes_of_each(simulation, simulation.view)] == [8]


def test_of_a_job_that_goes_first_effects_are_cut_where_more_may_come() -> None:
    drawing, budget = many(24), Budget()
    list(first_effects(simulate(drawing, drawing.subject("job")), budget))
    assert budget.is_cut
