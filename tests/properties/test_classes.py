"""Laws of counting by classes and columns: it gives what asking every node gives."""

from collections.abc import Iterator
from itertools import islice
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from kubectl_koord.diagnosis import evidence
from kubectl_koord.engine.filters import Prepared, prepare, rejection_as_is
from kubectl_koord.engine.reasons import Reason, TooManyPods
from kubectl_koord.engine.rules import Rules, rules
from kubectl_koord.engine.slots import NodeSlots, Offer, _on_node, _without_limit, offer_slots, taking
from kubectl_koord.engine.state import View, of
from kubectl_koord.engine.table import every_node, members
from kubectl_koord.model.load import LoadSettings, NodeMetric, Thresholds
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import PendingPod, PodRequirements, any_pod_of
from kubectl_koord.wording.refusals import obstacle
from tests.build import Drawing, cluster, jobs_of
from tests.conformance.cases import CASES, read_cases, snapshot_of
from tests.properties.strategies import Kind, clusters, random_cluster
from tests.worded import worded

MANY = Kind(nodes=60, pods=6)


def measured(drawing: Drawing, rng: Random) -> Drawing:
    """Return the cluster with load on some of its nodes, and thresholds for it."""
    for name in drawing.nodes:
        if rng.random() < 0.5:
            used = (("cpu", rng.randint(0, 8000)),)
            own = Thresholds(whole=(("cpu", rng.choice((0, 30, 65))),)) if rng.random() < 0.3 else Thresholds()
            metric = NodeMetric(rng.choice((used, used, None)), drawing.moment, thresholds=own)
            drawing = drawing.change(name, metric=metric)
    load = LoadSettings(filters_expired=rng.random() < 0.5, passes_expired=rng.random() < 0.5)
    return structs.replace(drawing, config=structs.replace(drawing.config, load=load))


def variants(view: View, rng: Random) -> list[View]:
    """Return the cluster, with one node changed, with pods gone from one, and with all nodes changed."""
    names = sorted(view.names())
    name = rng.choice(names)

    def empty(node: Node) -> Node:
        return structs.replace(node, taints=(), unschedulable=not node.unschedulable)

    gone = view.snapshot.running.get(name, ())
    return [
        view,
        view.with_nodes([empty(view.node(name))]),
        view.without(gone),
        view.with_nodes(map(empty, map(view.node, names))),
    ]


def asked_one_by_one(view: View, prepared: Prepared, most: int) -> dict[str, NodeSlots]:
    if not prepared.counts_only_room:
        pods = ((prepared.trigger,) * most,)
        return {name: _on_node(view.state(name), pods, prepared) for name in view.names()}
    every = {name: _without_limit(view.state(name), prepared) for name in view.names()}
    return {name: one if one.slots < most else NodeSlots(most, None) for name, one in every.items()}


def check(drawing: Drawing, rng: Random) -> None:
    for job in jobs_of(drawing):
        for trigger in job.triggers:
            for view in variants(of(drawing), rng):
                check_view(job.rules, trigger, view, rng.randint(1, 6))
            check_filters(of(drawing), job.prepared(trigger, of(drawing)))


def what_ifs(view: View, kept: frozenset[str]) -> Iterator[View]:
    """Yield clusters without pods and in which no taint refuses any, with or without what is reserved, and mixed.

    In a mixed one few nodes are as they were: these alone are asked anew.
    """
    names = [*view.names()]
    for empty in (evidence.empty_view(view), evidence.empty_view(view, kept), evidence.roomy_view(view, kept)):
        yield empty
        yield empty.with_pods({name: view.occupants(name) for name in names[:: max(8, len(names) // 2)]})


def check_filters(view: View, prepared: Prepared) -> None:
    """Ask each filter about all nodes at once, and about each by itself, in the cluster and in what-ifs."""
    if prepared.refusal is not None:
        return
    pod, asked = prepared.trigger, prepared.trigger.requirements
    lasting = prepared.without_pods(pod)
    for one in (view, *what_ifs(view, prepared.reservations)):
        for filter_ in prepared.checks:
            each = {name for name in one.names() if filter_.reject(pod, one.state(name), asked) is not None}
            assert set(members(one, filter_.refused(one, pod, every_node(one)))) == each, type(filter_)
        passing = {name for name in one.names() if rejection_as_is(pod, one.state(name), lasting) is None}
        assert set(members(one, taking(one, asked, lasting.checks))) == passing


def check_view(known: Rules, trigger: PendingPod, view: View, most: int) -> None:
    prepared = prepare(trigger, view, known, claims=view.snapshot.claims_asked_for)
    for one in (view, view.with_pods({name: [trigger] for name in list(view.names())[:2]})):
        check_prepared(prepared, trigger, one, most)


def told(reason: Reason) -> tuple[str, bool]:
    return obstacle(reason), reason.unresolvable


def may_end(reason: Reason) -> bool:
    return not reason.unresolvable


def check_prepared(prepared: Prepared, trigger: PendingPod, view: View, most: int) -> None:
    if prepared.refusal is not None:
        return
    offer = offer_slots(view, view.names(), (trigger,) * most, prepared)
    expected = asked_one_by_one(view, prepared, most)
    check_offer(offer, expected, prepared)
    names = [*view.names()]
    others = {names[0]: NodeSlots(0, TooManyPods(1)), names[-1]: NodeSlots(1, None)}
    check_offer(offer.but(others), expected | others, prepared)
    assert set(offer.counts) == {
        name for name in view.names() if rejection_as_is(trigger, view.state(name), prepared) is None
    }


def check_offer(offer: Offer, expected: dict[str, NodeSlots], prepared: Prepared) -> None:
    assert list(offer.counts.items()) == [(name, one.slots) for name, one in expected.items() if one.slots]
    assert offer == expected
    assert worded(offer.reasons) == worded(type(offer).of(expected).reasons)
    refusing = {name: one.rejection for name, one in expected.items() if one.rejection is not None}
    assert {name: told(reason) for name, reason in offer.worded.items()} == {
        name: told(reason) for name, reason in refusing.items()
    }
    assert list(offer.refusing(may_end)) == list(filter(lambda name: may_end(refusing[name]), refusing))
    for resource, _ in prepared.trigger.requirements.requests:
        left = Offer.of(expected).left_where_short(resource, prepared)
        assert sorted(offer.left_where_short(resource, prepared)) == sorted(left)


@given(clusters(MANY), st.randoms(use_true_random=False))
def test_classes_and_columns_give_what_asking_every_node_gives(drawing: Drawing, rng: Random) -> None:
    check(measured(drawing, rng), rng)


@pytest.mark.parametrize("family", ["device", "filters", "load", "numa", "production", "reservation", "real"])
def test_classes_and_columns_give_the_same_on_recorded_clusters(family: str) -> None:
    for case in islice(read_cases(CASES, (family,)), 15):
        snapshot = snapshot_of(case.cluster, "1.8")
        view = of(snapshot)
        for pod in {pod.requirements: pod for pod in snapshot.pending}.values():
            check_view(rules("1.8"), pod, view, 3)


@pytest.mark.parametrize("family", ["device", "filters", "load", "numa", "production", "reservation", "volume"])
def test_each_filter_says_of_all_nodes_what_it_says_of_each_by_itself(family: str) -> None:
    for case in islice(read_cases(CASES, (family,)), 0, None, 1 if family == "reservation" else 5):
        snapshot = snapshot_of(case.cluster, "1.8")
        view = of(snapshot)
        for pod in {pod.requirements: pod for pod in snapshot.pending}.values():
            check_filters(view, prepare(pod, view, rules("1.8"), claims=snapshot.claims_asked_for))


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(40))
def test_classes_and_columns_give_the_same_on_large_clusters(seed: int) -> None:
    rng = Random(seed)  # noqa: S311 - data, no secret
    check(measured(random_cluster(rng, Kind(nodes=600, pods=8)), rng), rng)


def test_the_latest_slots_are_kept_and_older_ones_counted_anew() -> None:
    view = of(cluster().with_nodes(Node("n1", (("cpu", 100_000), ("pods", 200)))))
    pods = [any_pod_of(PodRequirements(requests=(("cpu", amount),))) for amount in range(1, 70)]
    offers = [offer_slots(view, view.names(), (pod,), prepare(pod, view, rules("1.8"))) for pod in pods]
    again = [offer_slots(view, view.names(), (pod,), prepare(pod, view, rules("1.8"))) for pod in (pods[-1], pods[0])]
    assert again == [offers[-1], offers[0]]
    assert [again[0] is offers[-1], again[1] is offers[0]] == [True, False]


def test_the_offer_of_some_nodes_knows_no_others() -> None:
    drawing = cluster().with_nodes(*(Node(name, (("cpu", 4000), ("pods", 9))) for name in ("n1", "n2")))
    view, pod = of(drawing), any_pod_of(PodRequirements(requests=(("cpu", 2000),)))
    offer = offer_slots(view, ("n2",), (pod,) * 3, prepare(pod, view, rules("1.8")))
    assert (list(offer), offer["n2"].slots, offer.get("n1")) == (["n2"], 2, None)
