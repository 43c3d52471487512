"""What-ifs over a cluster."""

from collections.abc import Callable, Sequence
from functools import partial

from kubectl_koord.engine.state import NodeState, Occupant, Steps, View, of
from kubectl_koord.engine.table import allocatable_of
from kubectl_koord.model.hardware import Allocations
from kubectl_koord.model.pods import HostPort, NodePods, PendingPod, PodRequirements, ReservedRoom
from tests.build import cluster, cpus, node, pending, running

DRAWN = cluster("s0: b0[n1:8 n2:8]").with_running("a", on="n1", cpu=3, ports=(HostPort(80),))
A = DRAWN.running["n1"][0]


def test_a_state_knows_what_is_free_and_who_is_there() -> None:
    state = of(DRAWN).state("n1")
    assert (state.free, state.places, state.occupants, state.ports) == ({"cpu": 5000}, 109, [A], [HostPort(80)])


def test_a_copy_of_a_state_is_its_own() -> None:
    state = of(DRAWN).state("n1")
    twin = state.copy()
    twin.remove(A)
    assert (twin.free, twin.places, twin.occupants, twin.ports) == ({"cpu": 8000}, 110, [], [])
    assert (state.free, state.occupants) == ({"cpu": 5000}, [A])


def test_a_sum_looks_once_at_each_who_comes_and_anew_once_somebody_left() -> None:
    state, looked_at = of(DRAWN).state("n1").copy(), []

    def names(so_far: str, more: Sequence[Occupant]) -> str:
        looked_at.append(len(more))
        return so_far + "".join(one.name for one in more)

    def summed(now: NodeState) -> str:
        return now.summed("names", partial(names, "", now.occupants), names)

    found = [summed(state)]
    for name in "bc":
        state.add(pending(name))
        found += [summed(state), summed(state)]
    twin = state.copy()
    twin.add(pending("d"))
    state.remove(A)
    assert (found, summed(twin), summed(state)) == (["a", "ab", "ab", "abc", "abc"], "abcd", "bc")
    assert looked_at == [1, 1, 1, 1, 2]


def test_who_came_and_who_left_are_those_after_all_who_stayed() -> None:
    state = of(DRAWN).state("n1").copy()
    assert state.since((A,)) == ([], ())
    assert state.since(()) == ([A], ())
    other = pending("p")
    assert state.since((A, other)) == ([], (other,))
    state.remove(A)
    state.add(other)
    assert state.since((A, other)) == ([other], (A, other))


def test_a_resource_that_the_node_does_not_have_goes_below_zero() -> None:
    state = of(DRAWN).state("n2").copy()
    state.add(pending("p", requests=(("nvidia.com/gpu", 2),)))
    assert state.free == {"cpu": 8000, "nvidia.com/gpu": -2}


def test_a_view_without_a_pod_changes_only_its_node() -> None:
    view = of(DRAWN)
    without = view.without([A])
    assert (without.occupants("n1"), view.occupants("n1")) == ((), (A,))
    assert without.state("n2") is view.state("n2")


def test_pods_that_are_not_running_cannot_be_taken_away() -> None:
    assert of(DRAWN).without([pending("a")]).occupants("n1") == (A,)


def test_views_lie_over_views() -> None:
    late = running("late", on="n1", cpu=1)
    view = of(DRAWN).with_pods({"n1": [late]}).without([A]).with_nodes([node("n1", 4)])
    assert (view.occupants("n1"), view.state("n1").free, list(view.names())) == ((late,), {"cpu": 3000}, ["n1", "n2"])
    assert view.node("n2") is DRAWN.nodes["n2"]


def test_what_was_computed_of_a_node_holds_in_all_what_ifs_that_leave_it_as_it_is() -> None:
    asked: list[str] = []

    def places(state: NodeState, more: int) -> int:
        asked.append(state.node.name)
        return state.places + more

    view = of(DRAWN)
    for number in range(9):  # more than lie over each other
        view = view.with_pods({"n2": [running(f"late-{number}", on="n2")]})
        assert (view.of_node("n1", places, 1), view.of_node("n2", places, 1)) == (110, 110 - number)
        assert view.state("n2").places == 109 - number
    assert asked == ["n1", *["n2"] * 9]


def test_a_node_that_stays_as_it_is_is_not_computed_anew_where_layers_become_one() -> None:
    view = of(DRAWN)
    for number in range(4):
        view = view.with_pods({"n2": [running(f"late-{number}", on="n2")]})
    known, there = view.of_node("n2", id), view.state("n2")
    over = view.with_pods({"n1": [running("one", on="n1")]})
    assert (over.of_node("n2", id), over.state("n2") is there) == (known, True)


def test_nobody_is_on_a_node_that_no_pod_names() -> None:
    assert of(DRAWN).occupants("n2") == ()


def test_a_view_without_all_of_some_kind_follows_what_ifs() -> None:
    drawn = DRAWN.with_running("b", on="n1", cpu=1, priority=9).with_running("c", on="n2", cpu=1)
    view, late = of(drawn), running("late", on="n2", cpu=2, priority=9)

    def low(view: View) -> dict[str, tuple[Occupant, ...]]:
        return {name: tuple(pod for pod in view.occupants(name) if pod.priority < 9) for name in view.names()}

    emptied = view.without_any(low)
    assert [pod.name for name in emptied.names() for pod in emptied.occupants(name)] == ["b"]
    assert view.without_any(low) is emptied
    assert len(emptied.layers()[1]) == 2
    changed = view.with_pods({"n2": [late]}).without_any(low)
    assert (changed.occupants("n2"), changed.state("n2").free) == ((late,), {"cpu": 6000})
    assert changed.state("n1") is emptied.state("n1")


def test_a_value_by_node_is_computed_anew_only_where_a_what_if_differs() -> None:
    asked: list[str] = []

    def count(view: View) -> Callable[[str], int]:
        def on_node(name: str) -> int:
            asked.append(name)
            return len(view.occupants(name))

        return on_node

    view = of(DRAWN)
    assert view.per_node(count) == {"n1": 1, "n2": 0}
    assert view.without([A]).with_nodes([node("n2", 4)]).per_node(count) == {"n1": 0, "n2": 0}
    assert asked == ["n1", "n2", "n1", "n2"]
    assert view.without([A]).per_node(count) == {"n1": 0, "n2": 0}
    assert asked[4:] == ["n1"]


def test_pods_whose_sums_are_known_are_not_gone_through() -> None:
    held = NodePods.of(DRAWN.running["n1"], {"cpu": 3000}, (HostPort(80),))
    state, plain = NodeState(DRAWN.nodes["n1"], held), of(DRAWN).state("n1")
    assert (state.free, state.places, state.occupants, state.ports) == (
        plain.free,
        plain.places,
        plain.occupants,
        plain.ports,
    )
    assert type(of(DRAWN).without([A]).occupants("n1")) is tuple
    told = NodePods.of(held, held.requested, held.ports, booked=(A,))
    assert (told.booked, held.booked, held == told) == ((A,), (), True)


def test_what_is_reserved_goes_first_on_its_node_and_takes_room_and_a_place() -> None:
    view = of(DRAWN.with_reserved("r", on="n1", cpu=2).with_reserved("s", on="n1").with_reserved("t", on="n2"))
    r, s, t = (
        ReservedRoom(name, on, PodRequirements(cpus(cpu)), allocations=Allocations(reservation=name))
        for name, on, cpu in (("r", "n1", 2), ("s", "n1", 1), ("t", "n2", 1))
    )
    assert (view.occupants("n1"), view.occupants("n2")) == ((r, s, A), (t,))
    state = view.state("n1").copy()
    assert (state.free, state.places, state.ports) == ({"cpu": 2000}, 107, [HostPort(80)])
    state.remove(r)
    assert (state.free, state.occupants) == ({"cpu": 4000}, [s, A])
    assert view.without([A]).occupants("n1") == (r, s)


def test_what_is_forgotten_is_computed_anew() -> None:
    what_if = of(DRAWN).without([A])
    before, allocatable = what_if.state("n1"), allocatable_of(what_if, "cpu")
    what_if.forget()
    assert what_if.state("n1") is not before
    assert (what_if.state("n1").free, allocatable_of(what_if, "cpu")) == (before.free, allocatable)


def test_pods_that_are_added_in_turn_are_where_they_were_put_and_others_see_nothing_of_them() -> None:
    drawn = cluster(f"s0: b0[{' '.join(f'n{number:02}:8' for number in range(40))}]")
    view = of(drawn)
    steps, names = Steps(view), list(drawn.nodes)
    placed: dict[str, list[PendingPod]] = {}
    for number in range(300):
        name = names[number * number % 37 % len(names)]
        pod = pending(f"p{number}", requests=cpus(number % 3))
        before = steps.now.of_node(name, room, 1)
        steps.add(name, pod)
        placed.setdefault(name, []).append(pod)
        assert steps.now.of_node(name, room, 1) == before - 1
        whole = view.with_pods(placed)
        assert [steps.now.occupants(one) for one in names] == [whole.occupants(one) for one in names]
        assert [steps.now.state(one).free for one in names] == [whole.state(one).free for one in names]
        assert [steps.now.of_node(one, room, 1) for one in names] == [whole.of_node(one, room, 1) for one in names]
        assert depth(steps.now) < 9
    assert all(view.occupants(name) == () for name in names)


def room(state: NodeState, more: int) -> int:
    return state.places + more


def depth(view: View) -> int:
    base = view.layers()[0]
    return 0 if base is None else 1 + depth(base)
