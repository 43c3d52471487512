"""Section 3 of the reference: how many of a gang's pods each node takes."""

from kubectl_koord.engine.filters import of_other_jobs, prepare
from kubectl_koord.engine.reasons import Cordoned, Insufficient, PortTaken, Untolerated
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.slots import NodeSlots, Offer, crowded, in_index_order, offer_slots, runs_of, slots_on
from kubectl_koord.engine.state import of
from kubectl_koord.model.pods import HostPort, PendingPod
from kubectl_koord.model.values import Taint, Toleration
from tests.build import Drawing, cluster, cpus, pending

THREE = cluster("s0: b0[n1:8 n2:4 n3:1]")


def slots_of(drawing: Drawing, *pods: PendingPod, trigger: PendingPod | None = None) -> Offer:
    view = of(drawing)
    nominated = of_other_jobs([pod for pod in (*drawing.pending, *pods) if pod.nominated], pods)
    prepared = prepare(trigger or pods[0], view, rules(drawing.config.version), nominated)
    return offer_slots(view, view.names(), pods, prepared)


def alike(number: int, cpu: float, **fields: object) -> tuple[PendingPod, ...]:
    return tuple(pending(f"p-{position}", cpu, **fields) for position in range(number))


def test_each_node_takes_as_many_as_fit_one_after_the_other() -> None:
    slots = slots_of(THREE.version("1.7"), *alike(3, 2))
    assert slots == {
        "n1": NodeSlots(3, None),
        "n2": NodeSlots(2, Insufficient((("cpu", 2000, 0),))),
        "n3": NodeSlots(0, Insufficient((("cpu", 2000, 1000),))),
    }
    assert slots.counts.total() == 5


def test_a_request_above_the_whole_node_is_beyond_preemption() -> None:
    slots = slots_of(THREE, *alike(3, 2))
    assert slots["n3"] == NodeSlots(0, Insufficient((("cpu", 2000, 1000),), unresolvable=True))


def test_a_node_that_takes_nobody_whoever_is_there_says_so() -> None:
    assert slots_of(THREE.cordon("n1"), *alike(3, 2))["n1"] == NodeSlots(0, Cordoned())


def test_slots_are_counted_in_units_of_the_trigger() -> None:
    master, workers = pending("master", 6), alike(2, 2)
    assert slots_of(THREE, master, *workers, trigger=workers[0])["n1"].slots == 2
    assert slots_of(THREE, master, *workers, trigger=master)["n1"] == NodeSlots(1, Insufficient((("cpu", 6000, 2000),)))


def test_while_each_member_takes_up_its_own_requests() -> None:
    worker, master = pending("a-worker", 2), pending("b-master", 6)
    slots = slots_of(THREE, worker, master, trigger=worker)
    assert slots["n1"] == NodeSlots(2, None)
    assert slots["n2"].slots == 2


def test_members_that_ask_for_nothing_of_what_the_trigger_needs_fit_as_long_as_it_would() -> None:
    master = pending("z-master", requests=cpus(4))
    workers = tuple(pending(f"w-{number}", requests=(("memory", 1),)) for number in range(3))
    drawing = THREE.change("n1", allocatable=(("cpu", 4000), ("memory", 2), ("pods", 110)))
    assert slots_of(drawing, *workers, master, trigger=master)["n1"].slots == 4


def test_members_are_filtered_by_their_own_tolerations() -> None:
    tolerant = pending("p-0", 1, tolerations=(Toleration("gpu", "Exists"),))
    slots = slots_of(THREE.taint("n1", "gpu"), tolerant, pending("p-1", 1))
    assert slots["n1"] == NodeSlots(1, Untolerated(Taint("gpu", "", "NoSchedule")))


def test_a_host_port_gives_each_node_one_slot() -> None:
    slots = slots_of(THREE, *alike(2, 1, ports=(HostPort(80),)))
    assert slots["n1"] == NodeSlots(1, PortTaken(80))


def test_nominated_pods_of_others_keep_their_room() -> None:
    drawing = THREE.with_pod("other", cpu=6, priority=9, nominated="n1")
    assert slots_of(drawing, *alike(2, 2))["n1"] == NodeSlots(1, Insufficient((("cpu", 2000, 0),)))


def test_a_node_with_nominated_pods_may_still_take_all() -> None:
    drawing = THREE.with_pod("other", cpu=4, priority=9, nominated="n1")
    assert slots_of(drawing, *alike(2, 2))["n1"] == NodeSlots(2, None)


def test_what_is_left_where_it_is_too_little_counts_nominated_and_reserved_pods() -> None:
    drawing = THREE.with_reservation("r", "n2", 2, app="other").with_pod("other", cpu=7, priority=9, nominated="n1")
    pods = alike(1, 5)
    prepared = prepare(pods[0], of(drawing), rules("1.8"), of_other_jobs(drawing.pending, pods))
    assert sorted(slots_of(drawing, *pods).left_where_short("cpu", prepared)) == [1000, 1000, 2000]


def test_pods_with_an_index_come_first_then_the_rest_by_name() -> None:
    pods = [pending("b"), pending("a"), pending("z", index=0), pending("c", index=10), pending("d", index=2)]
    assert [pod.name for pod in in_index_order(pods)] == ["z", "d", "c", "a", "b"]


def test_ties_of_index_go_by_name() -> None:
    assert [pod.name for pod in in_index_order([pending("b", index=1), pending("a", index=1)])] == ["a", "b"]


def test_counting_leaves_the_members_on_the_node_save_the_very_last() -> None:
    pods = alike(3, 2)
    state = of(THREE).state("n1")
    assert [crowded(state, pods, slots).occupants for slots in (0, 2, 3)] == [[], list(pods[:2]), list(pods[:2])]
    assert state.free == {"cpu": 8000}


def test_members_that_keep_each_other_away_are_counted_as_if_every_node_were_asked() -> None:
    drawn = THREE.with_running("a", on="n2", cpu=1, ports=(HostPort(80),))
    alone = pending("p-0", 2, ports=(HostPort(80),))
    for pods in ((alone,), alike(3, 2, ports=(HostPort(80),)), (alone, *alike(2, 1))):
        prepared = prepare(pods[0], of(drawn), rules("1.8"))
        states = {name: of(drawn).state(name) for name in ("n1", "n2", "n3")}
        offer = slots_of(drawn, *pods)
        assert offer.counts == {n: c for n, state in states.items() if (c := slots_on(state, runs_of(pods), prepared))}
        assert [offer[name].slots for name in states] == [offer.counts[name] for name in states]
    assert slots_of(drawn, *alike(2, 1), trigger=alone).counts == {"n1": 2}
