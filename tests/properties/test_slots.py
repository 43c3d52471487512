"""Laws of slots and seats."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from kubectl_koord.engine.attempt import Attempt, Job
from kubectl_koord.engine.filters import Prepared, prepare, rejection
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.slots import _by_room, _one_by_one, in_index_order, runs_of
from kubectl_koord.engine.state import of
from kubectl_koord.engine.tree import Tree, build
from kubectl_koord.engine.trying import attempt
from tests.build import Drawing, jobs_of, why_of
from tests.properties.strategies import ALIKE, ALONE, clusters

FEWER = settings(max_examples=settings().max_examples // 3)


def attempts(drawing: Drawing) -> list[tuple[Job, Attempt]]:
    view = of(drawing)
    return [(job, attempt(job, view, trigger)) for job in jobs_of(drawing) for trigger in job.triggers]


def tree_of(drawing: Drawing) -> Tree:
    tree = build(drawing.topologies, drawing.nodes)
    assert isinstance(tree, Tree)
    return tree


@given(clusters())
def test_a_domain_offers_the_sum_of_its_children_rounded_down_to_its_multiple(drawing: Drawing) -> None:
    tree = tree_of(drawing)
    for job, one in attempts(drawing):
        if one.plan is None or job.topology is None:
            continue
        honoured = job.rules.pod_count_multiple
        for index, domain in enumerate(tree.domains):
            node = one.plan.nodes.get(domain.name) if domain.layer == "NodeTopologyLayer" else None
            raw = node.slots if node else sum(one.plan.slots[child] for child in domain.children)
            multiple = job.topology.requirements.multiples.get(domain.layer, 1) if honoured else 1
            assert one.plan.slots[index] == raw // multiple * multiple


@given(clusters(ALIKE), st.integers(0, 11), st.integers(1, 8000))
def test_a_larger_node_never_offers_less(drawing: Drawing, which: int, more: int) -> None:
    name = list(drawing.nodes)[which % len(drawing.nodes)]
    larger = tuple((resource, amount + more) for resource, amount in drawing.nodes[name].allocatable)
    for (_, before), (_, after) in zip(
        attempts(drawing), attempts(drawing.change(name, allocatable=larger)), strict=True
    ):
        if before.plan is not None and after.plan is not None:
            assert all(one <= two for one, two in zip(before.plan.slots, after.plan.slots, strict=True))
        assert after.placement is not None or before.placement is None


@given(clusters())
def test_a_plan_seats_each_pod_once_within_the_slots_and_within_one_domain(drawing: Drawing) -> None:
    tree = tree_of(drawing)
    for job, one in attempts(drawing):
        if one.plan is None or one.plan.assignments is None:
            continue
        assignments = one.plan.assignments
        assert set(assignments) == {pod.key for pod in job.pods}
        assert all(count <= one.plan.nodes[name].slots for name, count in Counter(assignments.values()).items())
        tops = {
            index
            for name in assignments.values()
            for index in tree.ancestors(tree.leaf[name])
            if index in one.plan.start
        }
        assert len(tops) == 1


@given(clusters())
def test_each_node_takes_all_or_has_a_reason(drawing: Drawing) -> None:
    for job, one in attempts(drawing):
        if one.plan is None:
            continue
        for node in one.plan.nodes.values():
            assert (node.rejection is None) == (node.slots == len(job.pods))


@given(clusters())
def test_the_failing_pod_of_a_plain_gang_is_refused_by_every_node(drawing: Drawing) -> None:
    for job, one in attempts(drawing):
        if one.plan is None and one.placement is None:
            assert set(one.rejections) == set(drawing.nodes)
            waiting = [pod.key for pods in one.waiting.values() for pod in pods]
            assert sorted([*waiting, *(pod.key for pod in one.left)]) == sorted(pod.key for pod in job.pods)


@given(clusters(ALONE))
def test_counting_by_division_equals_counting_one_by_one(drawing: Drawing) -> None:
    view = of(drawing)
    for job in jobs_of(drawing):
        pods = in_index_order(job.pods)
        for trigger in job.triggers:
            prepared = job.prepared(trigger, view)
            for name in view.names():
                state = view.state(name)
                if _divisible(prepared, name):
                    assert _by_room(state, runs_of(pods), prepared) == _one_by_one(state.copy(), pods, prepared)


def _divisible(prepared: Prepared, name: str) -> bool:
    return prepared.counts_only_room and name not in prepared.nominated


@given(clusters(ALIKE))
def test_a_placed_plain_gang_fits_where_it_is_placed(drawing: Drawing) -> None:
    for job, one in attempts(drawing):
        if one.plan is not None or one.placement is None:
            continue
        now = of(drawing)
        for pod in job.pods:
            if pod.key in one.placement:
                name = one.placement[pod.key]
                assert rejection(pod, now.state(name), job.prepared(pod, now)) is None
                now = now.with_pods({name: [structs.replace(pod)]})


@FEWER
@given(clusters(ALONE), st.sampled_from((1, 3, 8)))
def test_a_yes_holds_wherever_a_pod_of_higher_priority_goes(drawing: Drawing, cpu: int) -> None:
    waiting = drawing.with_pod("first", cpu=cpu, priority=99)
    if why_of(waiting).verdict != "yes":
        return
    prepared = prepare(waiting.subject("first").pending[0], of(waiting), rules(waiting.config.version))
    for name in waiting.nodes:
        if rejection(prepared.trigger, of(waiting).state(name), prepared) is None:
            assert why_of(drawing.with_running("first", on=name, cpu=cpu, priority=99)).verdict == "yes"
