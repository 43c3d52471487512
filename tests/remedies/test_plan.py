"""Plans: the cheapest moves that make room for a gang, beside a plain search, and as a scheduler carries them out."""

import random
from collections.abc import Sequence
from statistics import median

import pytest

from kubectl_koord.engine.filters import placed, prepare
from kubectl_koord.engine.gangs import all_gangs
from kubectl_koord.engine.rules import rules as version_rules
from kubectl_koord.engine.state import of
from kubectl_koord.model.pods import GangAnnotations, PendingPod, PodTerm, RunningPod
from kubectl_koord.model.values import Selector
from kubectl_koord.remedies import plan as plans
from kubectl_koord.remedies.plan import Found, Weights, cheapest
from kubectl_koord.remedies.search import Search, SearchBudget
from kubectl_koord.simulation.simulation import all_place, every_outcome, next_attempt, simulate
from kubectl_koord.simulation.what_if import recreated
from tests.build import SPINE, Drawing, cluster, cpus, having, holding, rules
from tests.remedies.fragmented import drawn, fragmented, optimum

DICE, MOST_CHOICES = random.Random, 20  # what the scheduler chooses among nodes that take a pod


WEIGHTS = Weights()


def planned(drawing: Drawing, weights: Weights = WEIGHTS, keep: Selector | None = None) -> Found | None:
    return asked(drawing, weights, keep)[0]


def asked(
    drawing: Drawing,
    weights: Weights = WEIGHTS,
    keep: Selector | None = None,
) -> tuple[Found | None, bool]:
    simulation = simulate(drawing, drawing.subject("job"))
    failed = next(every_outcome(simulation, preemption=False))
    return cheapest(Search(simulation, failed, SearchBudget(simulation)), weights, keep)


def told(found: Found | None) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return the moves: what, whose, and where to."""
    assert found is not None
    return [("waits" if move.unit.waits else move.unit.kind, move.unit.key, move.to) for move in found.moves]


SMALL = (*range(6, 15), *range(16, 27))
"""Those of 8 to 12 nodes that take little; where the search goes to its last step, `make soak` looks."""


@pytest.mark.parametrize("number", [pytest.param(one, marks=pytest.mark.soak if one % 2 else []) for one in SMALL])
def test_a_plan_is_found_wherever_a_plain_search_finds_one_and_is_no_dearer(number: int) -> None:
    one = fragmented(number, most_nodes=12)
    best, found = optimum(one, 3), planned(drawn(one))
    assert best is None or (found is not None and found.cost <= best)
    if found is not None:
        carried_out(drawn(one), found, number)


@pytest.mark.soak
@pytest.mark.parametrize("first", range(0, 300, 50))
def test_plans_are_the_cheapest_of_300_fragmented_clusters(first: int) -> None:
    shares = []
    for number in range(first, first + 50):
        one = fragmented(number)
        best, found = optimum(one, 4), planned(drawn(one))
        if best is not None:
            assert found is not None, number
            shares.append(found.cost / best)
        if found is not None:
            carried_out(drawn(one), found, number)
    assert max(shares) <= 1.1
    assert median(shares) == 1.0


def carried_out(drawing: Drawing, found: Found, seed: int) -> None:
    """Be the scheduler: put each pod that is made anew on a node that the engine lets it go to, by every choice."""
    dice, choices = DICE(seed), [0] * sum(len(move.to) for move in found.moves)
    for _ in range(MOST_CHOICES):
        sizes = _carried_out(drawing, found, choices)
        last = next((at for at in reversed(range(len(sizes))) if choices[at] + 1 < sizes[at]), None)
        if last is None:
            return
        choices = [*choices[:last], choices[last] + 1, *[0] * (len(choices) - last - 1)]
    for _ in range(MOST_CHOICES):  # too many to try them all
        _carried_out(drawing, found, [dice.randrange(1 << 16) for _ in choices])


def _carried_out(drawing: Drawing, found: Found, choices: Sequence[int]) -> list[int]:
    """Carry a plan out with these choices, one for each pod, and return how many there were for each."""
    steered = not found.blocked and not found.choices_cut
    opened = {move.unit.key for move in found.moves if move.unit.kind == "node"}
    shut, sizes = set(found.closed), list[int]()
    now = drawing
    for move in found.moves:
        shut -= set(move.to) - opened
        whole = move.unit.kind == "gang"
        now = now.without_running(*(pod.key for pod in move.unit.pods))
        for pod, to in zip(move.unit.pods, move.to, strict=False):
            taking = _taking(now, pod, shut) if steered else [to]
            assert taking
            node = taking[choices[len(sizes)] % len(taking)]
            sizes.append(len(taking))
            now = now.with_running(
                pod.key, node, requests=pod.requirements.requests, priority=pod.priority, gang=pod.gang
            )
            assert whole or not pod.gang or _is_whole(now, pod.gang)
        assert not whole or move.unit.waits or _is_whole(now, move.unit.key)
    for name in opened:
        now = now.change(name, unschedulable=False, taints=())
    assert all_place(next_attempt(simulate(now, now.subject("job"))))
    return sizes


def _taking(now: Drawing, pod: RunningPod, shut: set[str]) -> list[str]:
    waiting, view = recreated(pod), of(now)
    prepared = prepare(
        waiting, view, version_rules(now.config.version), now.nominated, now.claims_asked_for, pending=now.pending
    )
    every = (name for name in view.names() if name not in shut)
    return [name for name in every if isinstance(placed(waiting, view.state(name), prepared), PendingPod)]


def _is_whole(now: Drawing, gang: str) -> bool:
    found = all_gangs(now)[gang]
    return found.minimum is not None and len(found.running) >= found.minimum


ONE_SHORT = (
    cluster("s: b[n0 n1 n2]")
    .with_running("a", "n0", 2, owner="ReplicaSet/a")
    .with_running("b", "n1", 4)
    .with_running("c", "n2", 5)
    .with_gang("job", 1, cpu=8)
)


def test_a_pod_is_moved_to_where_it_finds_a_place() -> None:
    found = planned(ONE_SHORT)
    assert found is not None
    assert (told(found), found.closed, found.nodes) == ([("pod", "default/a", ("n1",))], ("n0",), ("n0",))
    assert (found.cost, found.is_cheapest, found.blocked, found.choices_cut) == (1, True, "", False)


@pytest.mark.parametrize(
    "fields",
    [
        {"owner": ""},
        {"owner": "Node/n0"},
        {"of_daemon_set": True},
        {"protected": True},
        {"terminating": True},
        {"priority": 1},
        {"has_resource_claims": True},
        {"labels": (("app", "kept"),)},
        {"labels": (("app", "covered"),)},
        {"labels": (("app", "covered"),), "priority": -1},
        {"gang": "default/pair"},
        {"gang": "default/waiting"},
    ],
    ids=str,
)
def test_a_pod_that_is_not_to_end_stays(fields: dict[str, object]) -> None:
    drawing = ONE_SHORT.with_budget("none", having(app="covered"), allowed=0).with_group("pair", 2)
    drawing = drawing.with_group("waiting", 1).with_pod("w", "waiting", 7, node_selector=(("never", "there"),))
    drawing = drawing.with_running("other", "n1", 1, gang="default/pair")  # without an owner
    pod = {"owner": "ReplicaSet/a", **fields}
    drawing = drawing.without_running("default/a").with_running("a", "n0", 2, **pod)
    assert asked(drawing, keep=having(app="kept")) == (None, False)


def test_a_gang_is_moved_whole_and_one_that_can_spare_a_pod_loses_that_one() -> None:
    drawing = ONE_SHORT.without_running("default/a").with_group("pair", 2)
    drawing = drawing.with_running("p-0", "n0", 2, gang="default/pair", owner="Job/pair")
    drawing = drawing.with_running("p-1", "n1", 1, gang="default/pair", owner="Job/pair")
    found = planned(drawing)
    assert found is not None
    assert told(found) == [("gang", "default/pair", found.moves[0].to)]
    assert len(found.moves[0].to) == 2
    assert found.cost == 12
    carried_out(drawing, found, 0)
    spare = drawing.with_group("pair", 1, match_policy="once-satisfied")
    assert told(planned(spare)) == [("pod", "default/p-0", ("n1",))]


def test_a_gang_that_pods_define_is_placed_again_by_their_own_words() -> None:
    drawing = ONE_SHORT.without_running("default/a")
    terms = GangAnnotations(minimum="2")
    for number, on in enumerate(("n0", "n1")):
        drawing = drawing.with_running(f"p-{number}", on, 2, gang="default/pair", owner="Job/pair", gang_terms=terms)
    assert told(planned(drawing))[0][:2] == ("gang", "default/pair")


def test_what_finds_no_place_waits_where_it_is_of_lower_priority() -> None:
    full = ONE_SHORT.with_running("d", "n1", 4).with_running("e", "n2", 3)
    assert asked(full) == (None, False)
    found = planned(full.change_pods("job-0", priority=1))
    assert (told(found), found and found.cost) == ([("waits", "default/a", ())], 21)


def test_a_budget_that_bears_one_pod_does_not_bear_two_that_wait() -> None:
    drawing = ONE_SHORT.with_running("d", "n1", 4).with_running("e", "n2", 3).without_running("default/a")
    drawing = drawing.change_pods("job-0", priority=1).with_budget("one", having(app="x"), allowed=1)
    for name in ("a", "b2"):
        drawing = drawing.with_running(name, "n0", 1, owner=f"ReplicaSet/{name}", labels=(("app", "x"),))
    assert asked(drawing) == (None, False)


def test_a_budget_that_bears_one_pod_does_not_bear_a_gang_of_two() -> None:
    drawing = ONE_SHORT.without_running("default/a").with_group("pair", 2)
    for number, on in enumerate(("n0", "n1")):
        labels = (("app", "x"),)
        drawing = drawing.with_running(f"p-{number}", on, 1, gang="default/pair", owner="Job/pair", labels=labels)
    assert asked(drawing.with_budget("one", having(app="x"), allowed=1)) == (None, False)
    assert told(planned(drawing.with_budget("two", having(app="x"), allowed=2)))[0][:2] == ("gang", "default/pair")


def test_room_for_a_moved_pod_is_made_by_another_move() -> None:
    drawing = (
        cluster("s: b[n0 n1 n2]")
        .with_running("a", "n0", 4, owner="ReplicaSet/a")
        .with_running("b", "n1", 2, owner="ReplicaSet/b")
        .with_running("stays", "n1", 3)
        .with_running("c", "n2", 6)
        .with_gang("job", 1, cpu=8)
    )
    found = planned(drawing)
    assert found is not None
    assert told(found) == [("pod", "default/b", ("n2",)), ("pod", "default/a", ("n1",))]
    assert found.closed == ("n0", "n1")
    carried_out(drawing, found, 0)


def test_a_cordoned_node_is_opened_and_a_reservation_released() -> None:
    stuck = ONE_SHORT.without_running("default/a").with_running("a", "n0", 2)
    opened = planned(stuck.with_nodes(*cluster("s: b[n3]").nodes.values()).cordon("n3"))
    assert (told(opened), opened and opened.cost) == ([("node", "n3", ())], 5)
    released = planned(cluster("s: b[n0]").with_reservation("held", "n0", 4).with_gang("job", 1, cpu=8))
    assert (told(released), released and released.cost) == ([("reservation", "held", ())], 5)


def test_work_that_is_lost_counts_by_gpus_and_age() -> None:
    drawing = cluster("s: b[n0 n1 n2]").change("n0", "n1", "n2", allocatable=(*cpus(8, nvidia_gpu=8), ("pods", 110)))
    asks = cpus(0, nvidia_gpu=4)
    ages = {"n0": "2026-11-20T08:00:00Z", "n1": "2026-11-20T09:00:00Z", "n2": ""}
    for name, since in ages.items():
        drawing = drawing.with_running(
            f"p-{name}", name, requests=asks, scheduled=since, owner="Job/x", priority=name == "n2"
        )
    found = planned(drawing.with_gang("job", 1, requests=cpus(0, nvidia_gpu=8)))
    assert (told(found), found and found.cost) == ([("pod", "default/p-n1", ("n0",))], 5)
    cheap = Weights(hours=0, pods=0)
    assert told(planned(drawing.with_gang("job", 1, requests=cpus(0, nvidia_gpu=8)), cheap))[0][1] == "default/p-n0"


def test_a_choice_of_the_scheduler_that_spoils_a_plan_is_named() -> None:
    drawing = (
        cluster("s: b[n0 n1 n2]")
        .with_running("small", "n0", 2, owner="ReplicaSet/s")
        .with_running("large", "n0", 4, owner="ReplicaSet/l")
        .with_running("x", "n1", 4)
        .with_running("y", "n2", 6)
        .with_gang("job", 1, cpu=8)
    )
    found = planned(drawing)
    assert found is not None
    assert sorted(told(found)) == [("pod", "default/large", ("n1",)), ("pod", "default/small", ("n2",))]
    assert found.blocked in {"default/large", ""}


def test_where_cards_are_booked_each_pod_is_followed_by_itself() -> None:
    drawing = ONE_SHORT.without_running("default/a").with_running("a", "n0", 2, owner="Job/a", allocations=holding(0))
    assert told(planned(drawing))[0][:2] == ("pod", "default/a")


TWO = (
    cluster("s: b[n0 n1]; t: c[n2 n3]")
    .with_running("a", "n0", 2, owner="Job/a", labels=(("app", "a"),))
    .with_running("b", "n1", 3, owner="Job/b")
    .with_running("x", "n2", 5)
    .with_running("y", "n3", 5)
    .with_gang("job", 2, cpu=8, must_gather=SPINE)
)
"""Both nodes of a spine are to be freed, for which the other has room in two ways, or none."""


@pytest.mark.parametrize(
    ("limit", "most"),
    [("_MOST_PLACES", 0), ("_MOST_NODES", 1), ("_MOST_SUBSETS", 1), ("_FEWEST_STEPS", 1)],
)
def test_what_is_not_looked_at_to_the_end_is_never_called_proven(
    monkeypatch: pytest.MonkeyPatch, limit: str, most: int
) -> None:
    monkeypatch.setattr(plans, "_MOST_STEPS", 0 if limit == "_FEWEST_STEPS" else 6000)
    monkeypatch.setattr(plans, limit, most)
    drawing = TWO.with_running("z", "n0", 1, owner="Job/z").with_running("z2", "n1", 2, owner="Job/z2")
    drawing = drawing.without_running("default/x", "default/y")
    found, is_cut = asked(drawing)
    assert is_cut
    assert found is None or not found.is_cheapest


def test_where_there_is_no_time_for_the_cheapest_the_cheapest_for_each_slot_is_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(plans, "_MOST_STEPS", 0)
    monkeypatch.setattr(plans, "_FEWEST_STEPS", 60)
    monkeypatch.setattr(plans, "_FOR_FEW", 1)
    monkeypatch.setattr(plans, "_FOR_GREEDY", 1)
    found, is_cut = asked(TWO)
    assert is_cut
    assert found is not None
    assert ([move[1] for move in sorted(told(found))], found.is_cheapest) == (["default/a", "default/b"], False)
    assert asked(TWO.with_running("full", "n2", 3).with_running("full2", "n3", 3)) == (None, True)
    third = TWO.with_nodes(*cluster("s: b[n4]").nodes.values()).with_running("c", "n4", 4, owner="Job/c")
    assert [move[1] for move in sorted(told(asked(third)[0]))] == ["default/a", "default/b"]


def test_where_there_is_no_time_for_all_plans_those_of_a_few_moves_are_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(plans, "_FOR_FEW", 1)
    found, is_cut = asked(TWO)
    assert is_cut
    assert found is not None
    assert ([move[1] for move in sorted(told(found))], found.is_cheapest) == (["default/a", "default/b"], False)
    monkeypatch.setattr(plans, "_FEW_MOVES", 1)
    assert asked(TWO) == (None, True)


def test_a_search_without_budget_finds_nothing_and_says_so() -> None:
    simulation = simulate(ONE_SHORT, ONE_SHORT.subject("job"))
    search = Search(simulation, next(every_outcome(simulation, preemption=False)), SearchBudget(simulation))
    assert search.jobs_ahead.view is simulation.view
    search.budget.left = 0
    assert cheapest(search, WEIGHTS) == (None, True)


def test_room_that_only_the_gangs_own_nodes_have_is_no_place() -> None:
    drawing = cluster("s: b[n0 n1]; t: c[n2]").with_running("a", "n0", 2, owner="Job/a").with_running("x", "n2", 8)
    assert asked(drawing.with_gang("job", 2, cpu=8, must_gather=SPINE)) == (None, False)


def test_a_gang_that_finds_no_place_again_or_not_for_all_pods_is_not_moved() -> None:
    drawing = cluster("s: b[n0 n1 n2]").with_running("x", "n1", 6).with_running("y", "n2", 6).with_group("pair", 2)
    for number, (on, cpu) in enumerate((("n0", 3), ("n1", 1))):
        drawing = drawing.with_running(f"p-{number}", on, cpu, gang="default/pair", owner="Job/pair")
    drawing = drawing.with_gang("job", 1, cpu=8)
    assert asked(drawing) == (None, False)
    assert asked(drawing.with_group("pair", 1)) == (None, False)


def test_a_gang_of_which_only_a_part_is_placed_again_is_not_moved() -> None:
    drawing = cluster("s: b[n0 n1]").label("n0", zone="a").with_group("pair", 1, match_policy="only-waiting")
    drawing = drawing.with_running("p-0", "n0", 2, gang="default/pair", owner="Job/pair")
    bound_to = {"node_selector": (("zone", "a"),)}
    drawing = drawing.with_running("p-1", "n0", 2, gang="default/pair", owner="Job/pair", **bound_to)
    drawing = drawing.with_running("x", "n1", 1)
    assert asked(drawing.with_gang("job", 1, cpu=8))[0] is None


def test_a_gang_on_two_nodes_frees_both_at_once() -> None:
    drawing = cluster("s: b[n0 n1 n2]; t: c[n3 n4]").with_group("pair", 2).with_running("a", "n2", 2, owner="Job/a")
    for number, on in enumerate(("n0", "n1")):
        drawing = drawing.with_running(f"p-{number}", on, 3, gang="default/pair", owner="Job/pair")
    found = planned(drawing.with_gang("job", 3, cpu=8, must_gather=SPINE))
    assert [move[:2] for move in sorted(told(found))] == [("gang", "default/pair"), ("pod", "default/a")]


def test_a_gang_for_which_a_choice_of_the_scheduler_leaves_no_room_is_named() -> None:
    drawing = cluster("s: b[n0 n1 n2 n3]").with_group("pair", 2).with_running("small", "n0", 2, owner="Job/s")
    for name, on, cpu in (("x", "n1", 5), ("y", "n2", 5), ("z", "n3", 6)):
        drawing = drawing.with_running(name, on, cpu)
    for number, on in enumerate(("n0", "n1")):
        drawing = drawing.with_running(f"p-{number}", on, 3, gang="default/pair", owner="Job/pair")
    found = planned(drawing.with_gang("job", 1, cpu=8))
    assert found is not None
    assert found.blocked == "default/pair"


def pair_on(drawing: Drawing, *nodes: str, cpu: float, **fields: object) -> Drawing:
    drawing = drawing.with_group("pair", 2, **fields)
    for number, on in enumerate(nodes):
        drawing = drawing.with_running(f"p-{number}", on, cpu, gang="default/pair", owner="Job/pair")
    return drawing


@pytest.mark.parametrize("most", [0, 1])
def test_choices_that_are_not_followed_are_told(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(plans, "_MOST_CHOICES", most)
    found = planned(pair_on(cluster("s: b[n0 n1]"), "n0", "n1", cpu=2).with_gang("job", 1, cpu=8))
    assert found is not None
    assert (found.blocked, found.choices_cut) == ("", True)


def test_of_a_gang_that_stays_together_one_place_is_followed_and_said_to_be() -> None:
    together = {"topology": rules("MustGather SpineLayer")}
    drawing = pair_on(cluster("s: b[n0]; t: c[n1]"), "n0", "n0", cpu=2, **together).with_gang("job", 1, cpu=8)
    found = planned(drawing)
    assert found is not None
    assert (told(found), found.blocked, found.choices_cut) == (
        [("gang", "default/pair", ("n1", "n1"))],
        "",
        True,
    )


def test_whether_the_gang_is_placed_at_last_is_a_choice_to_follow_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "_MOST_CHOICES", 0)
    stuck = ONE_SHORT.without_running("default/a").with_running("a", "n0", 2)
    opened = planned(stuck.with_nodes(*cluster("s: b[n3]").nodes.values()).cordon("n3"))
    assert opened is not None
    assert opened.choices_cut


def test_a_gang_that_must_stay_together_is_not_moved_apart() -> None:
    drawing = cluster("s: b[n0]; t: c[n1]; u: d[n2]").with_running("x", "n1", 6).with_running("y", "n2", 6)
    drawing = pair_on(drawing, "n0", "n0", cpu=2, topology=rules("MustGather SpineLayer")).with_gang("job", 1, cpu=8)
    assert asked(drawing)[0] is None
    assert planned(drawing.with_group("pair", 2)) is not None


def test_of_many_ways_to_free_a_node_the_cheapest_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    drawing = ONE_SHORT.with_running("d", "n0", 3, owner="Job/d").with_gang("job", 1, cpu=5)
    monkeypatch.setattr(plans, "_MOST_PIECES", 1)
    found, is_cut = asked(drawing)
    assert found is not None
    assert is_cut
    full = drawing.with_running("e", "n1", 3, owner="Job/e").with_running("f", "n2", 2, owner="Job/f")
    assert asked(full) == (None, True)


def test_pods_that_are_alike_need_no_choice_to_be_followed_also_where_cards_are_booked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawing = cluster("s: b[n0 n1 n2]")
    for number, name in enumerate(("n0", "n1", "n2")):
        drawing = drawing.change(name, allocatable=(*cpus(8, nvidia_gpu=8), ("pods", 110)))
        asks = cpus(0, nvidia_gpu=5 + number)
        drawing = drawing.with_running(f"x-{name}", name, requests=asks) if number else drawing
    for number in range(3):
        drawing = drawing.with_running(f"p-{number}", "n0", requests=cpus(0, nvidia_gpu=1), owner="Job/p")
    monkeypatch.setattr(plans, "_MOST_CHOICES", 0)
    found = planned(drawing.with_gang("job", 1, requests=cpus(0, nvidia_gpu=8)))
    assert found is not None
    assert ([move.unit.key for move in found.moves], found.blocked, found.choices_cut) == (
        ["default/p-0", "default/p-1", "default/p-2"],
        "",
        False,
    )


def test_a_pod_that_keeps_others_away_is_followed_by_itself() -> None:
    apart = (PodTerm("kubernetes.io/hostname", having(app="none")),)
    drawing = ONE_SHORT.without_running("default/a")
    drawing = drawing.with_running("a", "n0", 2, owner="Job/a", pod_anti_affinity=apart)
    found = planned(drawing)
    assert (told(found), found and found.blocked) == ([("pod", "default/a", ("n1",))], "")


def test_choices_beyond_those_that_are_followed_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "_MOST_CHOICES", 2)
    apart = (PodTerm("kubernetes.io/hostname", having(app="none")),)
    drawing = ONE_SHORT.without_running("default/a")
    found = planned(drawing.with_running("a", "n0", 2, owner="Job/a", pod_anti_affinity=apart))
    assert (told(found), found and found.choices_cut) == ([("pod", "default/a", ("n1",))], True)


def test_where_no_more_places_are_tried_nothing_is_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "_MOST_SEATS", 0)
    assert asked(ONE_SHORT) == (None, True)


def test_pods_that_hold_nothing_of_what_is_short_stay() -> None:
    drawing = cluster("s: b[n0 n1 n2]")
    for name in ("n0", "n1", "n2"):
        drawing = drawing.change(name, allocatable=(*cpus(8, nvidia_gpu=8), ("pods", 110)))
        drawing = drawing.with_running(f"card-{name}", name, requests=cpus(0, nvidia_gpu=2), owner="Job/x")
        drawing = drawing.with_running(f"small-{name}", name, 1, owner="Job/y")
    found = planned(drawing.with_gang("job", 1, requests=cpus(1, nvidia_gpu=8)))
    assert told(found) == [("pod", "default/card-n0", ("n1",))]


def test_moves_that_wait_for_each_other_are_no_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans.Planner, "moved", lambda *_: None)  # no order is good
    assert planned(ONE_SHORT) is None


def test_beside_reservations_and_booked_cards_each_node_is_asked_for_itself() -> None:
    drawing = ONE_SHORT.with_reservation("held", "n2", 1).without_running("default/b")
    drawing = drawing.with_running("b", "n1", 4, allocations=holding(0))
    assert told(planned(drawing)) == [("pod", "default/a", ("n1",))]


@pytest.mark.parametrize("most", [1, 2, 3])
def test_the_choices_of_a_later_move_are_bounded_together_with_those_before(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(plans, "_MOST_CHOICES", most)
    apart = (PodTerm("kubernetes.io/hostname", having(app="none")),)
    drawing = cluster("s: b[n0 n1 n2 n3]").with_gang("job", 1, cpu=8)
    for name in ("n1", "n2", "n3"):
        drawing = drawing.with_running(f"x-{name}", name, 3)
    for name, cpu in (("a", 2), ("c", 3)):
        drawing = drawing.with_running(name, "n0", cpu, owner=f"Job/{name}", pod_anti_affinity=apart)
    found = planned(drawing)
    assert (told(found), found and found.choices_cut) == (
        [("pod", "default/a", ("n1",)), ("pod", "default/c", ("n1",))],
        True,
    )
