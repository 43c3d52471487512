"""Pods as they come, in order or not: the same snapshot, and the sums that go with them."""

import random

from kubectl_koord.cluster.pod_store import AnyPod, PodStore, Sorted
from kubectl_koord.model.hardware import Allocations, CPUAllocation
from kubectl_koord.model.pods import FinishedPod, HostPort, NodePods, RunningPods
from tests.build import pending, running

PODS: list[AnyPod] = [
    running("a", on="n2", cpu=1, ports=(HostPort(80),)),
    FinishedPod("default", "b", "", was_bound=True),
    running("c", on="n1", cpu=2),
    pending("d"),
    running("e", on="n2", cpu=4),
]


def stored(*pods: AnyPod) -> PodStore:
    store = PodStore()
    for pod in pods:
        store.add(pod)
    return store


def told(found: Sorted) -> tuple[object, ...]:
    sums = {node: (held.requested, held.ports, held.booked) for node, held in found.running.items()}
    return (*found, sums, list(found.running), sorted(pod.key for pod in found.running.listed))


def test_pods_in_order_come_out_by_node_with_what_they_take_up() -> None:
    found = stored(*PODS).sorted()
    assert dict(found.running) == {"n1": (PODS[2],), "n2": (PODS[0], PODS[4])}
    assert (found.running.listed, *found[1:]) == ([PODS[0], PODS[2], PODS[4]], (PODS[3],), (PODS[1],))
    held = found.running["n2"]
    assert (held.requested, held.ports, list(found.running)) == ({"cpu": 5000}, (HostPort(80),), ["n1", "n2"])


def test_for_which_pods_of_a_node_anything_is_booked_is_told_as_they_would_tell() -> None:
    booked = running("b", on="n2", allocations=Allocations(cpus=CPUAllocation((0, 1))))
    there = stored(*PODS[:1], booked, *PODS[2:]).sorted().running["n2"]
    assert (there.booked, NodePods(there).booked) == ((booked,), (booked,))


def test_the_order_in_which_they_come_does_not_matter() -> None:
    rng = random.Random(1)  # noqa: S311
    for _ in range(20):
        mixed = rng.sample(PODS, len(PODS))
        assert told(stored(*mixed).sorted()) == told(stored(*PODS).sorted())


def test_namespaces_that_come_in_the_order_of_keys_need_no_index() -> None:
    ports = (HostPort(80),)
    listed: list[AnyPod] = [
        running("a-b/x", on="n1", cpu=1, ports=(HostPort(81),)),
        pending("a-b/y"),
        running("a/x", on="n1", cpu=2, ports=ports),
        pending("a/y"),
        FinishedPod("a-c", "x", "", was_bound=True),
        FinishedPod("a", "z", "", was_bound=True),
    ]
    keys = listed[:2] + listed[4:5] + listed[2:4] + listed[5:]
    found = stored(*keys)
    assert found.has_index is False
    assert told(found.sorted()) == told(stored(*sorted(listed, key=lambda pod: (pod.namespace, pod.name))).sorted())
    assert stored(*keys, running("a-b/z", on="n1")).has_index


def test_pods_that_wait_and_come_behind_the_others_need_no_index() -> None:
    listed: list[AnyPod] = [running("a/b", on="n1", cpu=1), FinishedPod("a", "c", "", was_bound=True), pending("a/d")]
    late: list[AnyPod] = [pending("b/a"), pending("a/e"), pending("a/a"), pending("0/a")]
    for before in (listed, [*listed, running("c/b", on="n2")]):
        found = stored(*before, *late)
        assert found.has_index is False
        assert told(found.sorted()) == told(
            stored(*sorted((*before, *late), key=lambda p: (p.namespace, p.name))).sorted()
        )
        assert [pod.key for pod in found.sorted().waiting] == ["0/a", "a/a", "a/d", "a/e", "b/a"]


def test_a_pod_that_waits_takes_the_place_of_one_of_its_name_whatever_that_is() -> None:
    for before in PODS:
        found = stored(*PODS, pending("z"), pending(before.name)).sorted()
        assert before not in [*found.running.listed, *found.finished]
        assert [pod.name for pod in found.waiting] == sorted({"d", "z", before.name})
    twice = stored(*PODS, pending("b-z"), pending("b-z", cpu=3)).sorted().waiting
    assert [dict(pod.requirements.requests) for pod in twice if pod.name == "b-z"] == [{"cpu": 3000}]


def test_of_one_name_the_later_counts() -> None:
    late = running("c", on="n2", cpu=8)
    found = stored(*PODS, late).sorted()
    assert (list(found.running), found.running["n2"].requested) == (["n2"], {"cpu": 13000})


def test_a_part_is_taken_over_as_it_is_and_two_parts_are_one_cluster() -> None:
    whole = PodStore()
    for part in (stored(), stored(*PODS[:2]), stored(), stored(*PODS[2:])):
        whole.update(part)
    assert told(whole.sorted()) == told(stored(*PODS).sorted())
    assert whole.find({("default", "d"), ("default", "x")}) == {("default", "d"): PODS[3]}


def test_a_pod_that_comes_or_goes_later_changes_nothing_that_was_given_away() -> None:
    store = stored(*PODS)
    before = told(store.sorted())
    first = store.sorted()
    store.add(running("f", on="n2", cpu=8))
    assert store.pop(("default", "c"), None) is PODS[2]
    assert store.pop(("default", "c"), None) is None
    later = store.sorted()
    assert told(first) == before
    assert (list(later.running), later.running["n2"].requested) == (["n2"], {"cpu": 13000})
    store.clear()
    assert store.is_empty()
    assert store.sorted() == Sorted(RunningPods({}, ()), (), ())


def test_those_that_wait_are_known_at_any_time() -> None:
    assert [pod.key for pod in stored(*PODS).waiting()] == ["default/d"]
    assert [pod.key for pod in stored(*reversed(PODS)).waiting()] == ["default/d"]


def test_what_is_given_away_again_is_as_if_it_were_sorted_anew() -> None:
    rng = random.Random(2)  # noqa: S311
    store = stored(*(running(f"p{number:03}", on=f"n{number % 7}", cpu=1) for number in range(200)))
    for _ in range(300):
        name = f"p{rng.randrange(220):03}"
        match rng.randrange(5):
            case 0:
                store.pop(("default", name), None)
            case 1:
                store.add(pending(name))
            case 2:
                store.add(FinishedPod("default", name, "", was_bound=True))
            case _:
                store.add(running(name, on=f"n{rng.randrange(9)}", cpu=rng.randrange(4)))
        if rng.randrange(3) == 0:
            anew = stored(*sorted(store.every(), key=lambda pod: pod.key))
            assert told(store.sorted()) == told(anew.sorted())
            assert sorted(store.waiting(), key=str) == sorted(anew.waiting(), key=str)
    emptied = stored(running("a", on="n1"), running("b", on="n2"))
    for name in ("none", "a"):
        emptied.pop(("default", name), None)
        emptied.sorted()
    emptied.pop(("default", "b"), None)
    assert told(emptied.sorted()) == told(PodStore().sorted())


def test_nodes_without_a_change_are_those_that_were_given_away_before() -> None:
    store = stored(*(running(f"p{number:03}", on=f"n{number % 20}", cpu=1) for number in range(100)))
    store.pop(("default", "none"), None)
    before = store.sorted().running
    store.add(running("p000", on="n0", cpu=2))
    after = store.sorted().running
    assert [node for node in after if after[node] is not before[node]] == ["n0"]
    assert after["n0"].requested == {"cpu": 6000}
