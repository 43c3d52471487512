"""What is computed of all nodes at once is what is computed of each by its state."""

from collections.abc import Iterator
from itertools import product
from random import Random
from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from kubectl_koord.engine.attempt import OF_ALL, OF_SCARCEST
from kubectl_koord.engine.filters.device_share import booked_devices, device_classes, seen_devices
from kubectl_koord.engine.filters.load_aware import MOST_INCOMING, Limits
from kubectl_koord.engine.filters.resources import FREE, PLACES
from kubectl_koord.engine.preemption import without_victims
from kubectl_koord.engine.reservations import placed_members, reserved_nodes
from kubectl_koord.engine.state import View, of
from kubectl_koord.engine.table import at_least, every_node, numbers_of, set_of
from kubectl_koord.model.hardware import Allocations, CPUAllocation
from kubectl_koord.model.load import (
    AggregatedThresholds,
    ExpectedUse,
    LoadSettings,
    NodeMetric,
    PodUsage,
    Thresholds,
    UsageOverTime,
    pod_usages,
)
from kubectl_koord.model.pods import NodePods, RunningPod
from kubectl_koord.model.values import Identity
from tests.build import cluster, holding, pending, running
from tests.engine.filters.test_columns import drawn, named

if TYPE_CHECKING:
    from kubectl_koord.model.objects import Node
    from kubectl_koord.model.pods import PodRequirements

NOW = "2026-11-20T10:00:00Z"
TIMES = ("2026-11-20T09:59:30Z", *["2026-11-20T08:00:00Z"] * 6, "2026-11-20T08:00:00", "soon", "")
OVER_TIME = AggregatedThresholds((("cpu", 50),), "avg")
THRESHOLDS = (
    *[Thresholds()] * 3,
    Thresholds(whole=(("cpu", 0),)),
    Thresholds(whole=(("memory", 50),)),
    Thresholds(prod=(("cpu", 30),)),
    Thresholds(aggregated=OVER_TIME),
    Thresholds(aggregated=structs.replace(OVER_TIME, seconds=300)),
)


def lively(rng: Random, pod: RunningPod, shared: "dict[PodRequirements, PodRequirements]") -> RunningPod:
    """Return a pod of which something is expected, scheduled at some time, of some priority."""
    wanted = structs.replace(
        pod.requirements,
        requests=(("cpu", rng.choice((500, 1000))), *((("memory", 1 << 30),) if rng.random() < 0.5 else ())),
        expected=(ExpectedUse("cpu", 0, least=rng.choice((100, 2000))),),
        is_prod=rng.random() < 0.5,
    )
    wanted = shared.setdefault(wanted, wanted)
    return structs.replace(pod, requirements=wanted, scheduled=rng.choice(TIMES), priority=rng.choice((0, 0, 9)))


def measured(rng: Random, pods: tuple[RunningPod, ...]) -> NodeMetric:
    """Return what was measured of a node and of some of its pods."""
    reported = [PodUsage(pod.namespace, pod.name, (("cpu", 300),), is_prod=rng.random() < 0.5) for pod in pods]
    left_out = rng.random() < 0.3
    return NodeMetric(
        rng.choice((None, *[(("cpu", 1000), ("memory", 1 << 30))] * 5)),
        updated=rng.choice((*[NOW] * 6, "", "2026-11-20T09:00:00Z")),
        pods=(pod_usages if rng.random() < 0.7 else tuple)(reported[1:] if left_out else reported),
        system=(("cpu", 200),),
        over_time=rng.choice(((), (UsageOverTime("avg", 60.0, (("cpu", 900),)),))),
        thresholds=rng.choice(THRESHOLDS),
        raw_allocatable=rng.choice(((), (("cpu", 16000),))),
    )


def world(seed: int) -> View:
    """Return a cluster of nodes with pods, cards, measurements, and a Reservation."""
    rng = Random(seed)  # noqa: S311 - data, no secret
    bare = drawn(seed, 12)
    shared: dict[PodRequirements, PodRequirements] = {}
    held = {name: tuple(lively(rng, pod, shared) for pod in pods) for name, pods in bare.running.items()}
    nodes: list[Node] = []
    for name, node in bare.nodes.items():
        measurement = measured(rng, held.get(name, ())) if rng.random() < 0.9 else None
        nodes.append(structs.replace(node, metric=measurement))
    summed = {name: NodePods.of(pods, sums(pods), ()) if rng.random() < 0.8 else pods for name, pods in held.items()}
    return of(structs.replace(bare.with_nodes(*nodes), running=summed))


def sums(pods: tuple[RunningPod, ...]) -> dict[str, int]:
    found: dict[str, int] = {}
    for pod in pods:
        for resource, amount in pod.requirements.requests:
            found[resource] = found.get(resource, 0) + amount
    return found


def variants(view: View) -> Iterator[View]:
    """Yield the cluster, what-ifs that differ in few nodes and in all, trials of these, and one over a trial."""
    names = list(view.names())
    booked = structs.replace(pending("p", expected=(ExpectedUse("cpu", 0, least=700),)), allocations=holding(1))
    placed = view.with_pods({names[0]: [booked], names[-1]: [pending("q")]})
    few = placed.without([pod for pod in view.occupants(names[2]) if isinstance(pod, RunningPod)])
    trigger = pending("t", priority=5)
    bare = view.with_nodes([structs.replace(view.node(names[0]), labels=(), metric=None, devices=None)])
    yield from (view, placed, few, bare, View(view.snapshot, {}, dict.fromkeys(names, ()), bare))
    yield from (without_victims(one, trigger) for one in (view, placed, few))
    everybody = {name: [booked] for name in names}
    yield from (view.with_pods(everybody), without_victims(view.with_pods(everybody), trigger))
    yield without_victims(view, trigger).with_pods({names[1]: [booked]})
    yield view.without_any(lambda one: {name: one.occupants(name) for name in one.names()})


@pytest.mark.parametrize("seed", range(3))
def test_numbers_of_all_nodes_are_those_of_each(seed: int) -> None:
    settings = LoadSettings(filters_expired=seed % 2 == 0, prod_includes_system=seed % 3 == 0)
    for view in variants(world(seed)):
        states = [view.state(name) for name in view.names()]
        assert list(PLACES.everywhere(view)) == list(map(PLACES, states))
        for resource in ("cpu", "memory", "pods", "nvidia.com/gpu"):
            expected = [FREE(state, resource) for state in states]
            assert list(FREE.everywhere(view, resource)) == expected
            assert list(numbers_of(view, every_node(view), FREE, resource)) == expected
            for limits in (Limits(settings, NOW, is_prod) for is_prod in (True, False)):
                expected = [MOST_INCOMING(state, limits, resource) for state in states]
                assert list(MOST_INCOMING.everywhere(view, limits, resource)) == expected
                for places in ([0], [0, 2], range(len(states))):
                    some = set_of(view, places)
                    assert list(numbers_of(view, some, MOST_INCOMING, limits, resource)) == [
                        expected[at] for at in places
                    ]
                    enough = at_least(view, some, expected[0], MOST_INCOMING, limits, resource)
                    assert enough == set_of(view, (at for at in places if expected[at] >= expected[0]))


@pytest.mark.parametrize("seed", range(3))
def test_free_shares_of_all_nodes_are_those_of_each(seed: int) -> None:
    for view in variants(world(seed)):
        states = [view.state(name) for name in view.names()]
        for number, sign in product((OF_SCARCEST, OF_ALL), (1, -1)):
            assert list(number.everywhere(view, sign)) == [number(state, sign) for state in states]


@pytest.mark.parametrize("seed", range(3))
def test_nodes_are_told_apart_at_once_as_they_are_one_by_one(seed: int) -> None:
    for view in variants(world(seed)):
        snapshot = Identity(view.snapshot)
        classes = {name: seen for seen, nodes in device_classes(view).items() for name in named(view, nodes)}
        assert classes == {name: seen_devices(snapshot)(view.state(name)) for name in view.names()}
        assert named(view, reserved_nodes(view)) == [name for name in view.names() if view.state(name).rooms]
        placed = {name: tuple(pod for pod in view.occupants(name) if pod.key == "default/p") for name in view.names()}
        assert placed_members(view) == {name: pods for name, pods in placed.items() if pods}


def test_who_had_devices_that_their_node_has_none_of_keeps_that_node_apart() -> None:
    drawing, held = cluster("s0: b0[n1 n2 n3]"), holding(0)
    for name, on in (("a", "n1"), ("b", "n1"), ("c", "n2")):
        drawing = drawing.with_running(name, on=on, allocations=held)
    gone = (running("x", "gone", allocations=held),)
    view = of(structs.replace(drawing, running={**drawing.running, "gone": gone}))
    assert [named(view, nodes) for nodes in device_classes(view).values()] == [["n1"], ["n2"], ["n3"]]


def test_nodes_with_the_same_cards_booked_are_alike_whatever_cpus_are() -> None:
    cards = holding(0).devices
    drawing = cluster("s0: b0[n1 n2 n3]")
    for name, first in (("n1", 0), ("n2", 4)):
        held = Allocations(cards, CPUAllocation(tuple(range(first, first + 4))))
        drawing = drawing.with_running(f"on-{name}", on=name, allocations=held)
    view = of(drawing)
    apart = {name for name, devices in zip(view.names(), booked_devices(view), strict=True) if not devices}
    assert apart == {"n3"}
    assert len({*booked_devices(view)}) == 2
