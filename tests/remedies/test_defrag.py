"""Room for more gangs of a shape: the fewest moves for each gang more, beside a plain search for them."""

from collections.abc import Sequence

import pytest

from kubectl_koord.model.values import Selector
from kubectl_koord.remedies import defrag as module
from kubectl_koord.remedies import plan as plans
from kubectl_koord.remedies.defrag import FEWEST, Room, defragment
from kubectl_koord.remedies.plan import Move, Weights
from kubectl_koord.simulation.simulation import simulate
from kubectl_koord.simulation.what_if import how_many
from tests.build import SPINE, Drawing, cluster, cpus, having
from tests.remedies.fragmented import drawn, fragmented, optimum


def asked(drawing: Drawing, weights: Weights = FEWEST, keep: Selector | None = None) -> Room:
    return defragment(simulate(drawing, drawing.subject("job")), weights, keep)


def moved(room: Room) -> list[tuple[str, tuple[str, ...]]]:
    assert room.found is not None
    return [(move.unit.key, move.to) for move in room.found.moves]


def curve(room: Room) -> list[tuple[int, int, bool]]:
    return [(point.gangs, point.pods, point.is_least) for point in room.points]


@pytest.mark.parametrize("number", [4, 16, 18])
def test_each_gang_more_costs_what_a_plain_search_finds(number: int) -> None:
    assert share_of(number) <= 1


@pytest.mark.soak
def test_room_for_gangs_is_made_by_nearly_the_fewest_moves_in_100_fragmented_clusters() -> None:
    shares = [share_of(number) for number in range(100)]
    assert max(shares) <= 1.5
    assert sorted(shares)[90] == 1


def share_of(number: int) -> float:
    """Return what the dearest point of a cluster costs beside the best for it, 1 where none has so few moves."""
    one = fragmented(number, most_nodes=12)
    drawing = drawn(one)
    room = asked(drawing)
    shares = [1.0]
    for point in room.points:
        best = optimum(one, 4, FEWEST, point.gangs)
        if best is not None:
            assert best <= point.cost + 0.001
            assert not point.is_least or point.cost <= best + 0.001
            shares.append(round(point.cost) / round(best))
        if room.found is not None:
            assert fits_after(drawing, room.found.moves[: point.moves]) >= point.gangs
    last = room.points[-1].gangs if room.points else room.now
    assert optimum(one, 3, FEWEST, last + 1) is None
    return max(shares)


def fits_after(drawing: Drawing, moves: Sequence[Move]) -> int:
    """Return how many gangs fit once pods have moved."""
    for move in moves:
        drawing = drawing.without_running(*(pod.key for pod in move.unit.pods))
        for pod, to in zip(move.unit.pods, move.to, strict=True):
            drawing = drawing.with_running(pod.key, to, requests=pod.requirements.requests, priority=pod.priority)
    simulation = simulate(drawing, drawing.subject("job"))
    return how_many(simulation, simulation.view).number


FOUR = (
    cluster("s: b[n0 n1 n2 n3]")
    .with_running("a", "n0", 2, owner="ReplicaSet/a")
    .with_running("b", "n1", 3, owner="ReplicaSet/b")
    .with_running("c", "n2", 3)
    .with_running("d", "n3", 4)
    .with_gang("job", 1, cpu=8)
)


def test_each_gang_more_is_a_point_and_all_moves_are_one_plan() -> None:
    room = asked(FOUR)
    assert (room.now, room.now_cut, curve(room)) == (0, False, [(1, 1, True), (2, 2, True)])
    assert moved(room) == [("default/a", ("n3",)), ("default/b", ("n2",))]
    assert room.found is not None
    assert (room.found.closed, room.found.nodes) == (("n0", "n1"), ("n0", "n1"))
    assert (room.found.blocked, room.found.choices_cut) == ("", False)


def test_a_gang_that_fits_as_things_are_counts_and_no_pod_moves_twice_or_to_where_it_stands() -> None:
    room = asked(FOUR.with_nodes(*cluster("s: b[n4]").nodes.values()))
    assert (room.now, curve(room)) == (1, [(2, 1, True), (3, 2, True)])
    assert room.found is not None
    assert room.found.closed == ("n0", "n1", "n4")
    assert not {to for _, nodes in moved(room) for to in nodes} & {"n4"}


def test_pods_are_moved_alone_whatever_their_priority_but_for_those_of_the_system() -> None:
    none = Room(0, now_cut=False, points=(), found=None, is_cut=False)
    high = FOUR.without_running("default/b").with_running("b", "n1", 3)
    assert moved(asked(high.change("n0", unschedulable=False)))[0][0] == "default/a"
    owned = high.without_running("default/a")
    assert moved(asked(owned.with_running("a", "n0", 2, owner="ReplicaSet/a", priority=9000)))[0][0] == "default/a"
    assert asked(owned.with_running("a", "n0", 2, owner="ReplicaSet/a", priority=2_000_000_000)) == none
    assert asked(high, keep=having(app="x")).points
    kept = owned.with_running("a", "n0", 2, owner="ReplicaSet/a", labels=(("app", "x"),))
    assert asked(kept, keep=having(app="x")) == none


def test_no_node_is_opened_no_reservation_released_and_nobody_left_waiting() -> None:
    none = Room(0, now_cut=False, points=(), found=None, is_cut=False)
    assert asked(cluster("s: b[n0]").cordon("n0").with_gang("job", 1, cpu=8)) == none
    assert asked(cluster("s: b[n0]").with_reservation("held", "n0", 4).with_gang("job", 1, cpu=8)) == none
    full = cluster("s: b[n0 n1]").with_running("a", "n0", 2, owner="ReplicaSet/a", priority=-1)
    assert asked(full.with_running("b", "n1", 7).with_gang("job", 1, cpu=8)) == none


def test_where_gangs_that_fit_take_too_long_to_count_nothing_is_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_STEPS", 1)
    assert asked(cluster("s: b[n0 n1]").with_gang("job", 1, cpu=8)) == Room(
        1, now_cut=True, points=(), found=None, is_cut=False
    )


def test_no_more_points_are_looked_for_than_a_page_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_MORE", 1)
    room = asked(FOUR)
    assert (curve(room), room.is_cut) == ([(1, 1, True)], True)


def test_fewest_is_not_said_where_not_all_was_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [fewest for _, _, fewest in curve(asked(FOUR))] == [True, True]
    monkeypatch.setattr(plans, "_MOST_NODES", 3)
    assert [fewest for _, _, fewest in curve(asked(FOUR))] == [False, False]


def test_a_choice_of_the_scheduler_that_leaves_room_for_fewer_gangs_is_named() -> None:
    drawing = (
        cluster("s: b[n0 n1 n2]")
        .with_running("a-small", "n0", 2, owner="ReplicaSet/s")
        .with_running("large", "n0", 4, owner="ReplicaSet/l")
        .with_running("x", "n1", 4)
        .with_running("y", "n2", 6)
        .with_gang("job", 1, cpu=8)
    )
    room = asked(drawing)
    assert room.found is not None
    assert (curve(room), room.found.blocked) == ([(1, 2, True)], "default/large")
    part = (
        cluster("s: b[n0 n1]")
        .with_running("a", "n0", 1, owner="ReplicaSet/a")
        .with_running("b", "n1", 2)
        .with_gang("job", 1, cpu=4)
    )
    assert (asked(part).now, curve(asked(part))) == (2, [(3, 1, True)])


def test_gangs_of_several_pods_gather_and_cards_count() -> None:
    drawing = cluster("s: b[n0 n1]; t: c[n2 n3]")
    for name in tuple(drawing.nodes):
        drawing = drawing.change(name, allocatable=(*cpus(64, nvidia_gpu=8), ("pods", 110)))
    for name, on, number in (("a", "n0", 1), ("b", "n2", 1), ("c", "n3", 4)):
        asks = cpus(0, nvidia_gpu=number)
        drawing = drawing.with_running(name, on, requests=asks, owner="Job/x", scheduled="2026-11-20T09:00:00Z")
    room = asked(drawing.with_gang("job", 2, requests=cpus(0, nvidia_gpu=8), must_gather=SPINE))
    assert (room.now, curve(room), moved(room)) == (0, [(1, 1, True)], [("default/a", ("n3",))])
    assert [round(point.hours, 3) for point in room.points] == [1]
