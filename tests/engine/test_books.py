"""Filters that keep books: what counts in slots, what counts as a plan is carried out, what is refused before nodes."""

from typing import ClassVar

import pytest
from msgspec import Struct
from msgspec.structs import replace

from kubectl_koord.engine import filters
from kubectl_koord.engine.attempt import fillings
from kubectl_koord.engine.filters import Prepared, placed
from kubectl_koord.engine.filters.base import Cluster, DependsOn, Filter
from kubectl_koord.engine.filters.resources import NodeResources
from kubectl_koord.engine.reasons import PreFilterRefusal, Reason, TooManyPods, TopologyNotAware
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.slots import NodeSlots, places, slots_on
from kubectl_koord.engine.state import NodeState, of
from kubectl_koord.model.hardware import Allocations
from kubectl_koord.model.pods import PendingPod, PodRequirements
from kubectl_koord.model.resource_claims import PodClaim
from tests.build import SPINE, attempt_of, cluster, failing_pod, node, pending

ONE = cluster("s0: b0[n1:8]")


class Licences(Filter, Struct, frozen=True):
    """A filter with books: so many pods a node, whoever is there by name alone does not count."""

    depends_on: ClassVar[DependsOn] = "books"
    most_there: int

    def reject(self, _pod: PendingPod, state: NodeState, _trigger: PodRequirements) -> Reason | None:
        return TooManyPods(self.most_there) if state.booked(_licences) >= self.most_there else None

    def reserve(self, _pod: PendingPod, _state: NodeState, booked: Allocations) -> Allocations | Reason:
        return replace(booked, reservation="licence")


def _licences(state: NodeState) -> int:
    return sum(pod.allocations is not None and pod.allocations.reservation == "licence" for pod in state.occupants)


def test_members_that_are_counted_take_no_place_in_the_books_and_those_that_are_placed_do() -> None:
    pods = [pending(name, 1) for name in "abc"]
    prepared = Prepared(pods[0], (Licences(1), NodeResources(rules("1.8"))))
    state = of(ONE).state("n1")
    assert slots_on(state, [pods], prepared) == 3
    assert places(state, pods, prepared) == NodeSlots(1, TooManyPods(1))
    left = state.copy()
    first = placed(pods[0], left, prepared)
    assert isinstance(first, PendingPod)
    left.add(first)
    assert placed(pods[1], left, prepared) == TooManyPods(1)
    left.remove(first)
    assert isinstance(placed(pods[1], left, prepared), PendingPod)


@pytest.mark.parametrize(("pods", "room"), [(1, 8), (4, 8), (4, 7), (4, 1.5), (4, 0.5), (9, 8.5)])
def test_pods_alike_that_nothing_is_booked_for_are_counted_as_one_by_one(pods: int, room: float) -> None:
    alike = [replace(pending("a", 2), name=str(number)) for number in range(pods)]
    shared = [replace(pod, requirements=alike[0].requirements) for pod in alike]
    prepared = Prepared(alike[0], (NodeResources(rules("1.8")),))
    state = of(cluster(f"s0: b0[n1:{room}]")).state("n1")
    assert places(state, shared, prepared) == places(state, alike, prepared)
    assert places(state, shared, prepared).slots == min(pods, room // 2)


def test_a_node_is_filled_once_for_all_who_place_pods_of_a_kind() -> None:
    pods = [pending(name, 1) for name in "abc"]
    prepared = Prepared(pods[0], (Licences(2), NodeResources(rules("1.8"))))
    view = of(cluster("s0: b0[n1:8 n2:8]"))
    filled = fillings(view, prepared)("n1")
    assert filled is not None
    assert (filled.slots(1), filled.slots(3)) == (NodeSlots(1, None), places(view.state("n1"), pods, prepared))
    assert filled.seat(pods[1], 1) == replace(pods[1], allocations=Allocations(reservation="licence"))
    assert filled.seat(pods[2], 2) == TooManyPods(2)
    assert fillings(view.with_nodes([node("n2", 4)]), prepared)("n1") is filled
    assert fillings(view.with_nodes([node("n1", 4)]), prepared)("n1") is not filled


def test_pods_that_are_not_placed_alike_do_not_share_a_filled_node() -> None:
    pod, view = pending("a", 1), of(ONE)
    behind = Prepared(pod, (NodeResources(rules("1.8")),), {"n1": (pending("other", 1),)})
    assert fillings(view, behind)("n1") is None
    assert fillings(view, Prepared(replace(pod, resource_claims=(PodClaim("a"),)), behind.checks))("n1") is None


def test_what_cannot_be_booked_is_a_reason() -> None:
    class Closed(Licences, frozen=True):
        def reserve(self, _pod: PendingPod, _state: NodeState, _booked: Allocations) -> Allocations | Reason:
            return TooManyPods(0)

    pod = pending("p")
    assert placed(pod, of(ONE).state("n1"), Prepared(pod, (Closed(1),))) == TooManyPods(0)


def test_a_pod_that_prefilter_refuses_is_placed_nowhere() -> None:
    pod = pending("p")
    assert placed(pod, of(ONE).state("n1"), Prepared(pod, (), refusal=TopologyNotAware())) == TopologyNotAware()


def _without_small(trigger: PendingPod, _cluster: Cluster) -> Licences | PreFilterRefusal | None:
    if dict(trigger.requirements.requests)["cpu"] < 2000:
        return TopologyNotAware()
    return Licences(9)


@pytest.mark.parametrize("must_gather", [SPINE, ""])
def test_a_trigger_that_prefilter_refuses_asks_no_node(must_gather: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filters, "FILTERS", (*filters.FILTERS, _without_small))
    refused = attempt_of(ONE.with_gang("job", 2, 1, must_gather=must_gather))
    assert (refused.prefilter, refused.plan, refused.placement, refused.rejections) == (
        TopologyNotAware(),
        None,
        None,
        {},
    )
    large = attempt_of(ONE.with_gang("job", 2, 2, must_gather=must_gather))
    assert (large.prefilter, large.placement is not None) == (None, True)


def test_a_later_member_that_prefilter_refuses_fails_the_gang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filters, "FILTERS", (*filters.FILTERS, _without_small))
    plain = ONE.with_gang("job", 1, 2, minimum=2).with_pod("job-small", cpu=1, gang="job")
    failed = attempt_of(plain, trigger="job-0")
    assert (failed.prefilter, failed.placement) == (TopologyNotAware(), None)
    assert failed.trigger.name == "job-small"
    planned = ONE.with_gang("job", 1, 2, minimum=2, must_gather=SPINE).with_pod("job-small", cpu=1, gang="job")
    assert failing_pod(attempt_of(planned, trigger="job-0")) == "default/job-small"


def test_a_plain_gang_is_placed_by_what_is_booked_for_those_before(monkeypatch: pytest.MonkeyPatch) -> None:
    def licences(_trigger: PendingPod, _cluster: Cluster) -> Licences:
        return Licences(2)

    monkeypatch.setattr(filters, "FILTERS", (*filters.FILTERS, licences))
    two = cluster("s0: b0[n1:8 n2:8]")
    assert attempt_of(two.with_gang("job", 4, 1)).placement is not None
    failed = attempt_of(two.with_gang("job", 5, 1))
    assert failed.placement is None
    assert {name: len(pods) for name, pods in failed.waiting.items()} == {"n1": 2, "n2": 2}
    assert failed.rejections == {"n1": TooManyPods(2), "n2": TooManyPods(2)}
    behind = attempt_of(ONE.with_gang("job", 3, 1).with_pod("other", cpu=1, nominated="n1"))
    assert [pod.allocations for pod in behind.waiting["n1"]] == [Allocations(reservation="licence")] * 2
