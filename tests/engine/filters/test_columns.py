"""What a filter says of all nodes at once is what it says of each."""

from collections.abc import Iterator
from itertools import chain
from random import Random
from typing import Any

import pytest
from msgspec import structs

from kubectl_koord.engine.filters import prepare, rejection_as_is, unbookable
from kubectl_koord.engine.filters.base import Filter
from kubectl_koord.engine.filters.device_share import device_classes, seen_devices
from kubectl_koord.engine.preemption import without_victims
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.slots import Offer, _on_node, offer_slots, passing
from kubectl_koord.engine.state import NodeState, View, of
from kubectl_koord.engine.table import (
    NodeSet,
    at_least,
    every_node,
    has,
    label_column,
    members,
    numbers_of,
    set_of,
    state_parts,
    with_most,
    with_values,
)
from kubectl_koord.messages.conditions import counted, of_reason
from kubectl_koord.model.hardware import (
    CPU,
    Allocations,
    CPUAllocation,
    CPUTopology,
    DeviceHint,
    DeviceOptions,
    NodeNUMA,
    NUMAPolicy,
    PodNUMA,
    Zone,
)
from kubectl_koord.model.objects import Claim, Node
from kubectl_koord.model.pods import (
    HostPort,
    PendingPod,
    PodRequirements,
    PodTerm,
    RunningPod,
    Spread,
    any_pod_of,
    claim_names,
)
from kubectl_koord.model.values import EVERYTHING, Identity, NodeTerm, Requirement, Resources
from tests.build import BLOCK_KEY, SPINE_KEY, Drawing, card, cluster, devices, having, holding, pending, running
from tests.engine.filters.device_share.world import ROOM, tree
from tests.worded import worded

HOST = "kubernetes.io/hostname"
CPUS = CPUTopology(tuple(CPU(number, number // 2, number // 8, number // 8) for number in range(16)))
GPU: Resources = (("cpu", 2000), ("nvidia.com/gpu", 1))
WEB = having(app="web")
SHOP = PodTerm(SPINE_KEY, WEB, namespaces=("shop",))
ANYWHERE = PodTerm(HOST, WEB, namespace_selector=EVERYTHING)
SELLING = PodTerm(BLOCK_KEY, WEB, namespace_selector=having(sells="all"))
LABELS = {"shop": {"sells": "all"}, "default": {}}

ASKING: dict[str, dict[str, Any]] = {
    "nothing more": {},
    "labels": {"node_selector": (("disk", "ssd"),)},
    "any of two terms": {
        "affinity": (
            NodeTerm(labels=(Requirement("disk", "DoesNotExist"),)),
            NodeTerm(fields=(Requirement("metadata.name", "In", ("n1", "n2")),)),
            NodeTerm(),
        )
    },
    "company": {"pod_affinity": (PodTerm(BLOCK_KEY, WEB), PodTerm(SPINE_KEY, WEB))},
    "company of its own kind": {"pod_affinity": (PodTerm("rack", having(app="new")),), "labels": (("app", "new"),)},
    "no company": {"pod_anti_affinity": (PodTerm(BLOCK_KEY, WEB), SHOP)},
    "no company anywhere": {"pod_anti_affinity": (ANYWHERE,)},
    "no company of some namespaces": {"pod_anti_affinity": (SELLING,)},
    "company of some namespaces": {"pod_affinity": (SELLING,)},
    "what others keep away": {"labels": (("app", "web"),)},
    "a spread": {"spread": (Spread(BLOCK_KEY, 1, WEB), Spread("rack", 2, None, honor_affinity=False))},
    "a spread of some nodes": {
        "spread": (Spread(HOST, 1, WEB, honor_taints=True),),
        "node_selector": (("disk", "ssd"),),
        "labels": (("app", "web"),),
    },
    "CPUs in one zone": {"requests": (("cpu", 4000),), "numa": PodNUMA(policy="SingleNUMANode")},
    "CPUs": {"requests": (("cpu", 6000),)},
    "what is not told of zones": {"requests": (("cpu", 1000), ("memory", 1 << 30))},
    "nothing at all of a resource": {"requests": (("cpu", 1000), ("memory", 0))},
    "whole cores": {"requests": (("cpu", 4000),), "numa": PodNUMA(binds=True, required="FullPCPUs")},
    "a card": {"requests": GPU},
    "a virtual function": {
        "requests": (("cpu", 2000), ("koordinator.sh/rdma", 100)),
        "devices": DeviceOptions(hints=(DeviceHint("rdma", function_selector=WEB),)),
    },
    "cards": {"requests": (("cpu", 2000), ("nvidia.com/gpu", 3))},
}


def place(rng: Random, name: str) -> Node:
    """Return a node with zones, cards, labels and perhaps a policy."""
    labels = {HOST: name, SPINE_KEY: rng.choice("ab"), BLOCK_KEY: rng.choice("cdef"), "disk": rng.choice(("ssd", ""))}
    if rng.random() < 0.4:
        labels["rack"] = rng.choice("12")
    if rng.random() < 0.2:
        del labels["disk"]
    told = (("memory", 8 << 30),) if rng.random() < 0.3 else ()
    numbers = range(rng.choice((0, 1, 2, 2, 3)))
    zones = tuple(Zone(number, (("cpu", rng.choice((2000, 8000))), *told)) for number in numbers)
    policies: tuple[NUMAPolicy, ...] = ("", "SingleNUMANode", "SingleNUMANode", "Restricted")
    policy = rng.choice(policies)
    numa = rng.choice((None, NodeNUMA(cpus=CPUS, zones=zones, policy=policy), NodeNUMA(zones=zones, policy=policy)))
    some = rng.choice(((), tree(), tree(2), (card(0), card(1))))
    found = devices(*some) if some else None
    return Node(name, ROOM, tuple(sorted(labels.items())), numa=numa, devices=found)


def resident(rng: Random, node: Node, number: int) -> RunningPod:
    """Return a pod on a node that may hold CPUs, amounts of zones, or a card."""
    amounts = ((0, ((rng.choice(("cpu", "memory")), 1000),)),)
    booked = (
        Allocations(),
        holding(0),
        Allocations(cpus=CPUAllocation((0, 1), amounts)) if node.numa is not None else Allocations(),
    )
    terms = rng.choice(((ANYWHERE,), (SELLING,), *((),) * 8))
    name = f"{rng.choice(('default', 'shop'))}/{node.name}-{number}"
    labels = (("app", rng.choice(("web", "db"))),)
    return running(name, node.name, labels=labels, allocations=rng.choice(booked), pod_anti_affinity=terms)


def drawn(seed: int, number: int) -> Drawing:
    """Return a cluster of so many nodes with who is there."""
    rng = Random(seed)  # noqa: S311 - data, no secret
    nodes = [place(rng, f"n{position}") for position in range(number)]
    there = {node.name: [resident(rng, node, number) for number in range(rng.randint(0, 3))] for node in nodes}
    held = {name: tuple(pods) for name, pods in there.items() if pods}
    drawing = cluster().with_nodes(*nodes).with_reservation("res", "n1", 4, "web")
    rooms = tuple(
        structs.replace(
            room,
            labels=(("app", "web"),),
            requirements=structs.replace(room.requirements, pod_anti_affinity=(ANYWHERE,)),
        )
        for room in drawing.reserved
    )
    return structs.replace(drawing, running=held, reserved=rooms, namespaces=LABELS)


def variants(view: View, pod: PendingPod) -> Iterator[View]:
    """Yield the cluster, what-ifs that differ in few nodes and in all, one over another, and two on trial."""
    names = list(view.names())
    gone = [one for name in names[:2] for one in view.occupants(name) if isinstance(one, RunningPod)]
    yield view
    yield view.without(gone)
    yield view.with_pods({names[-1]: [pod]}).without(gone)
    yield view.with_nodes([structs.replace(view.node(names[0]), labels=(("disk", "ssd"),))])
    yield View(view.snapshot, {}, dict.fromkeys(names, ()), view)
    stronger = structs.replace(pod, priority=1)
    yield without_victims(view, stronger)
    yield without_victims(view.with_pods({names[-1]: [pod]}), stronger)


def named(view: View, nodes: NodeSet) -> list[str]:
    return list(members(view, nodes))


def parts_of(view: View, check: Filter, pod: PendingPod, refused: NodeSet) -> list[list[str]]:
    return [named(view, part) for part in check.parts(view, (pod,), refused)]


@pytest.mark.parametrize("asked", ASKING)
@pytest.mark.parametrize("number", [3, 24])
def test_a_filter_refuses_at_once_what_it_refuses_one_by_one(asked: str, number: int) -> None:
    pod = pending("p", **ASKING[asked])
    base = of(drawn(len(asked), number))
    for view in variants(base, pod):
        for prepared in (prepare(pod, view, rules("1.8")), prepare(pod, base, rules("1.8"))):
            for check in prepared.checks:
                every = every_node(view)
                reasons = {name: check.reject(pod, view.state(name), pod.requirements) for name in view.names()}
                refused = check.refused(view, pod, every)
                assert named(view, refused) == [name for name, reason in reasons.items() if reason is not None]
                parts = parts_of(view, check, pod, refused)
                assert sorted(chain.from_iterable(parts)) == sorted(named(view, refused))
                words = [{of_reason(found) for name in part if (found := reasons[name])} for part in parts]
                assert [len(some) for some in words] == [1] * len(parts)


@pytest.mark.parametrize("asked", ["CPUs in one zone", "whole cores"])
def test_who_is_taken_away_on_trial_stays_in_the_books_of_a_what_if_over_it(asked: str) -> None:
    pod = pending("p", **ASKING[asked], priority=1)
    trial = without_victims(of(drawn(5, 24)), pod)
    view = trial.with_nodes(
        [structs.replace(trial.node(name), unschedulable=True) for name in ("n1", "n2", "n3", "n4")]
    )
    for check in prepare(pod, view, rules("1.8")).checks:
        refusing = [name for name in view.names() if check.reject(pod, view.state(name), pod.requirements)]
        assert named(view, check.refused(view, pod, every_node(view))) == refusing


@pytest.mark.parametrize(("version", "uncertain"), [("1.7", ["held"]), ("main", ["held", "zoned"])])
def test_only_nodes_that_may_have_nothing_to_book_are_asked_for_it(version: str, uncertain: list[str]) -> None:
    numa = NodeNUMA(cpus=CPUS, zones=tuple(Zone(number, (("cpu", 8000),)) for number in range(2)))
    places = {"free": numa, "held": numa, "zoned": structs.replace(numa, policy="BestEffort"), "plain": None}
    nodes = (Node(name, ROOM, numa=of_node) for name, of_node in places.items())
    there = running("default/a", "held", allocations=Allocations(cpus=CPUAllocation((0, 1, 2), ())))
    view = of(cluster().with_nodes(*nodes).but(running={"held": (there,)}))
    pod = pending("p", 14, numa=PodNUMA(binds=True, preferred="FullPCPUs"))
    prepared = prepare(pod, view, rules(version))
    taking = passing(view, pod, prepared.checks, every_node(view))
    assert named(view, taking) == ["free", "held", "zoned"]
    assert named(view, prepared.uncertain(view, taking)) == uncertain
    unbooked = [name for name in members(view, taking) if unbookable(pod, view.state(name), prepared)]
    assert unbooked == ["held"]


def test_a_pod_may_ask_for_one_zone_where_no_node_has_a_policy() -> None:
    zones = tuple(Zone(number, (("cpu", 8000),)) for number in range(2))
    view = of(cluster().with_nodes(*(Node(name, ROOM, numa=NodeNUMA(cpus=CPUS, zones=zones)) for name in ("n1", "n2"))))
    pod = pending("p", 4, numa=PodNUMA(policy="SingleNUMANode", zone_exclusive="Preferred"))
    prepared = prepare(pod, view, rules("1.8"))
    assert dict(offer_slots(view, view.names(), (pod,), prepared).counts) == {"n1": 1, "n2": 1}


@pytest.mark.parametrize("asked", ["company", "no company anywhere", "a spread", "a card"])
def test_nodes_offer_what_those_that_are_asked_one_by_one_offer(asked: str) -> None:
    pod = pending("p", **ASKING[asked])
    view = of(drawn(5, 24))
    prepared = prepare(pod, view, rules("1.8"))
    offer = offer_slots(view, view.names(), (pod,), prepared)
    found = {name: rejection_as_is(pod, view.state(name), prepared) for name in view.names()}
    assert dict(offer.counts) == {name: 1 for name, reason in found.items() if reason is None}
    assert offer.refusals == {name: reason for name, reason in found.items() if reason is not None}
    assert sum(one.nodes for one in offer.reasons) == len(offer.refusals)


GANGS: dict[str, dict[str, Any]] = ASKING | {
    "a port": {"ports": (HostPort(80),)},
    "a reservation": {"labels": (("app", "web"),)},
    "more than a reservation": {"labels": (("app", "web"),), "requests": (("cpu", 1 << 40),)},
}


@pytest.mark.parametrize("asked", GANGS)
def test_nodes_take_and_refuse_gangs_as_those_that_are_asked_one_by_one(asked: str) -> None:
    pods = [pending(f"p{number}", **GANGS[asked]) for number in range(4)]
    base = of(drawn(5, 24))
    every = [(view, one) for view in variants(base, pods[0]) for one in dict.fromkeys((view, base))]
    for view, one in every:
        prepared = prepare(pods[0], one, rules("1.8"))
        offer = offer_slots(view, view.names(), pods, prepared)
        found = {name: _on_node(view.state(name), (pods,), prepared) for name in view.names()}
        assert offer == found
        assert dict(offer.counts) == {name: node.slots for name, node in found.items() if node.slots}
        assert counted(offer.reasons) == counted(Offer.of(found).reasons)
        assert worded(offer.reasons) == worded(Offer.of(found).reasons)
        by_room = offer_slots(view, view.names(), pods, prepared.by_room).counts
        assert all(by_room[name] >= node.slots for name, node in found.items())


@pytest.mark.parametrize("asked", ["anti-affinity", "a spread", "a claim", "claims of their own"])
def test_nodes_take_members_that_differ_in_labels_and_claims_as_one_by_one(asked: str) -> None:
    own: dict[str, dict[str, Any]] = {
        "anti-affinity": {"pod_anti_affinity": (PodTerm("rack", WEB), PodTerm(BLOCK_KEY, having(app="new")))},
        "a spread": {"spread": (Spread("rack", 1, WEB),)},
        "a claim": {"claims": ("data",)},
        "claims of their own": {"ephemeral": ("tmp",)},
    }
    pods = [
        pending(f"p{number}", labels=(("app", "new" if number == 1 else "web"),), **own[asked]) for number in (1, 2, 3)
    ]
    claims = {
        claim: Claim(claim, volume=claim, driver="disk", known=True, owner=(pod.uid, pod.name))
        for pod in pods
        for claim in claim_names(pod)
    }
    drawing = structs.replace(drawn(5, 24), claims=claims)
    for number, name in enumerate(drawing.nodes):
        drawing = drawing.change(name, volume_limits=(("disk", number % 4),))
    view = of(drawing)
    prepared = prepare(pods[0], view, rules("1.8"), claims=claims)
    offer = offer_slots(view, view.names(), pods, prepared)
    assert prepared.refusal is None
    assert offer == {name: _on_node(view.state(name), (pods,), prepared) for name in view.names()}


def test_nodes_that_are_full_are_told_apart_by_how_many_pods_they_allow() -> None:
    nodes = (Node(f"n{allowed}", (("cpu", 4000), ("pods", allowed))) for allowed in range(3))
    there = {"n1": (running("default/a", "n1"),), "n2": (running("default/b", "n2"), running("default/c", "n2"))}
    view = of(structs.replace(cluster().with_nodes(*nodes), running=there))
    pod = any_pod_of(PodRequirements(requests=(("cpu", 1000),)))
    offer = offer_slots(view, view.names(), (pod,), prepare(pod, view, rules("1.8")))
    assert worded(offer.reasons) == {f"pod limit {allowed} reached": 1 for allowed in range(3)}


def free(state: NodeState, more: int) -> int:
    return state.free.get("cpu", 0) // 1000 + more


def test_numbers_of_few_nodes_and_of_all_are_those_of_each() -> None:
    view = of(cluster().with_nodes(*(Node(f"n{at}", (("cpu", at * 1000),)) for at in range(9))))
    for one in (view, view.with_pods({"n3": [pending("p", 2)]})):
        for nodes in ([1, 5], range(9), [2, 3, 4]):
            chosen = set_of(one, nodes)
            expected = [free(one.state(f"n{at}"), 7) for at in nodes]
            assert list(numbers_of(one, chosen, free, 7)) == expected
            for amount in (10, 0, 8, 12, 99):  # more than are compared with each
                assert named(one, at_least(one, chosen, amount, free, 7)) == [
                    f"n{at}" for at, have in zip(nodes, expected, strict=True) if have >= amount
                ]
            most = [f"n{at}" for at, have in zip(nodes, expected, strict=True) if have == max(expected)]
            assert named(one, with_most(one, chosen, free, 7)) == most
    assert [has(view, set_of(view, [2]), name) for name in ("n2", "n3", "gone")] == [True, False, False]


def test_nodes_with_enough_are_found_by_their_ranks() -> None:
    view = of(cluster().with_nodes(*(Node(f"n{at:03}", (("cpu", at % 251 * 1000),)) for at in range(600))))
    for amount in (*range(100), 251, *range(250, 100, -1), 0):
        enough = [f"n{at:03}" for at in range(600) if at % 251 >= amount]
        assert named(view, at_least(view, every_node(view), amount, free, 0)) == enough
    few = set_of(view, (3, 300, 599))
    assert named(view, few) == ["n003", "n300", "n599"]
    assert named(view, with_most(view, few, free, 0)) == ["n599"]


def test_a_label_is_found_wherever_it_stands() -> None:
    labels = ((("a", "1"), ("zone", "x")), (("zone", "y"),), (), (("a", "2"),), (("a", "1"), ("b", ""), ("zone", "z")))
    view = of(cluster().with_nodes(*(Node(f"n{at}", (), held) for at, held in enumerate(labels))))
    assert label_column(view, "zone") == ("x", "y", None, None, "z")
    assert label_column(view, "a") == ("1", None, None, "2", "1")


@pytest.mark.parametrize("seed", range(3))
def test_few_nodes_are_told_apart_as_all_are(seed: int) -> None:
    view = of(drawn(seed, 40))
    for one in (view, view.with_pods({"n3": [pending("p", 2)]})):
        sees = seen_devices(Identity(one.snapshot))
        for nodes in (set_of(one, (1, 3, 7, 20)), every_node(one)):
            by_class = {nodes & alike for alike in device_classes(one).values()} - {0}
            assert {*state_parts(one, nodes, sees)} == by_class


def test_numbers_may_be_as_large_as_they_like() -> None:
    view = of(cluster().with_nodes(*(Node(f"n{at}", (("cpu", (1 << 80) + at * 1000),)) for at in range(3))))
    assert list(numbers_of(view, every_node(view), free, 0)) == [(1 << 80) // 1000 + at for at in range(3)]


def test_a_member_of_another_kind_than_the_trigger_is_asked_one_by_one() -> None:
    view = of(drawn(5, 6))
    trigger, other = pending("p", pod_anti_affinity=(ANYWHERE,)), pending("q", 2)
    prepared = prepare(trigger, view, rules("1.8"))
    offer = offer_slots(view, view.names(), (other,), prepared)
    refusals = {name: rejection_as_is(other, view.state(name), prepared) for name in view.names()}
    assert offer.refusals == {name: reason for name, reason in refusals.items() if reason is not None}
    assert offer_slots(view, view.names(), (), prepared).counts == {}


def test_requirements_without_a_selector_match_every_node() -> None:
    view = of(drawn(1, 3))
    pod = PendingPod("default", "p", 0, PodRequirements(affinity=()), "koord-scheduler")
    (check,) = (one for one in prepare(pod, view, rules("1.8")).checks if type(one).__name__ == "NodeAffinity")
    assert check.refused(view, pod, every_node(view)) == every_node(view)


def test_values_that_many_nodes_have_are_found_as_those_of_few() -> None:
    view = of(cluster().with_nodes(*(Node(f"n{at:02}", (), (("zone", "b" if at > 69 else "a"),)) for at in range(72))))
    assert [*members(view, with_values(view, "zone", "bc"))] == ["n70", "n71"]
    assert with_values(view, "zone", "ab") == every_node(view)
    assert with_values(view, "zone", "a") == every_node(view) & ~with_values(view, "zone", "b")
