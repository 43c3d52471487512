"""One attempt of the scheduler: triggers, plans that fail on execution, gangs that are tried pod by pod."""

import pytest

from kubectl_koord.engine.attempt import Attempt, emptiest, fullest
from kubectl_koord.engine.reasons import (
    AntiAffinityViolated,
    Insufficient,
    NoTopologyTree,
    PreFilterRefusal,
    TopologyNotAware,
)
from kubectl_koord.engine.state import of
from kubectl_koord.engine.table import every_node
from kubectl_koord.engine.tree import NoTopology
from kubectl_koord.engine.trying import attempt
from kubectl_koord.model.objects import Claim, Storage, Volume
from kubectl_koord.model.pods import PodTerm
from tests.build import BLOCK, SPINE, Drawing, attempt_of, cluster, failing_pod, having, jobs_of, rules, short

MIXED = cluster("s0: b0[n1:16 n2:4]").with_gang("job", 0).with_pod("master", gang="job", cpu=12)
MIXED = MIXED.with_members(("worker-0", "worker-1"), "job", cpu=2)


def names(drawing: Drawing) -> list[str]:
    return [pod.name for pod in jobs_of(drawing)[0].triggers]


def with_trigger(drawing: Drawing, name: str) -> Attempt:
    job = jobs_of(drawing)[0]
    trigger = next(pod for pod in job.pods if pod.name == name)
    return attempt(job, of(drawing), trigger)


def test_each_kind_of_member_may_be_the_trigger_the_larger_number_first() -> None:
    assert names(MIXED) == ["worker-0", "master"]


def test_higher_priority_goes_first() -> None:
    assert names(MIXED.change_pods("master", priority=1)) == ["master", "worker-0"]


def test_the_preemption_policy_makes_a_kind_of_its_own() -> None:
    assert names(MIXED.change_pods("worker-1", never_preempts=True)) == ["master", "worker-0", "worker-1"]


@pytest.mark.parametrize(("promised", "kinds"), [("", ["job-0"]), ("default/b", ["job-0", "job-1"])])
def test_claims_that_differ_in_name_and_uid_alone_make_no_kinds_unless_a_volume_is_promised(
    promised: str, kinds: list[str]
) -> None:
    drawing = cluster("s0: b0[n1]").with_gang("job", 0)
    for name, claim in (("job-0", "a"), ("job-1", "b")):
        drawing = drawing.with_pod(name, gang="job", claims=(claim,))
    drawing = drawing.but(
        claims={f"default/{name}": Claim(f"default/{name}", class_name="late", uid=name) for name in ("a", "b")},
        storage=Storage((Volume("pv", "late", size=1, promised=promised),)),
    )
    assert names(drawing) == kinds


def test_only_members_of_gangs_with_the_spec_may_trigger_it() -> None:
    ids = '["default/job", "default/other"]'
    drawing = cluster("s0: b0[n1]").with_gang("job", 1, groups=ids, topology=rules(f"MustGather {SPINE}"))
    drawing = drawing.with_gang("other", 1, groups=ids, topology=rules(f"MustGather {BLOCK}"))
    assert [[pod.name for pod in job.triggers] for job in jobs_of(drawing)] == [["job-0"], ["other-0"]]


def test_a_plan_depends_on_its_trigger() -> None:
    drawing = MIXED.with_group("job", 3, topology=rules(f"MustGather {SPINE}"))
    assert short(with_trigger(drawing, "worker-0").placement) == dict.fromkeys(("master", "worker-0", "worker-1"), "n1")
    refused = with_trigger(drawing, "master")
    assert refused.placement is None
    assert refused.rejections == {
        "n1": Insufficient((("cpu", 12000, 4000),)),
        "n2": Insufficient((("cpu", 12000, 4000),), unresolvable=True),
    }


def test_a_plan_fails_on_execution_where_a_pods_own_filters_refuse() -> None:
    drawing = cluster("s0: b0[n1:8 n2:8]").with_gang("job", 0, minimum=3, must_gather=SPINE)
    drawing = drawing.with_pod("a-small", gang="job", cpu=2).with_pod("b-small", gang="job", cpu=2)
    drawing = drawing.with_pod("c-large", gang="job", cpu=6)
    failed = with_trigger(drawing, "a-small")
    assert (failed.placement, failing_pod(failed)) == (None, "default/c-large")
    assert failed.plan is not None
    assert set((failed.plan.assignments or {}).values()) == {"n1"}


@pytest.mark.parametrize(
    ("version", "large", "minimum", "races"),
    [
        ("1.7", 6, 3, False),  # its waiting members are thrown out before it is tried again
        ("1.8", 6, 3, True),
        ("main", 6, 3, True),
        ("1.8", 9, 3, False),  # no node has room for it: they are never all bound
        ("1.8", 9, 2, True),  # enough others have one
    ],
)
def test_what_comes_of_a_plan_that_fails_is_a_race_where_enough_members_have_a_node_each(
    version: str, large: int, minimum: int, *, races: bool
) -> None:
    drawing = cluster("s0: b0[n1:8 n2:8]").with_gang("job", 0, minimum=minimum, must_gather=SPINE).version(version)
    drawing = drawing.with_members(("a-small", "b-small"), "job", cpu=2).with_pod("c-large", gang="job", cpu=large)
    failed = with_trigger(drawing, "a-small")
    assert (failed.races, failed.plan_fails) == (races, races)


def test_a_plan_of_unequal_pods_may_hold_on_execution() -> None:
    drawing = MIXED.with_group("job", 3, topology=rules(f"MustGather {SPINE}"))
    assert with_trigger(drawing, "worker-0").failed_seat is None


def test_members_that_repel_each_other_are_tried_with_their_own_state() -> None:
    apart = PodTerm("network/block", having(app="web"))
    drawing = cluster("s0: b0[n1 n2]").with_gang("job", 2, 1, must_gather=SPINE)
    drawing = drawing.change_pods(labels=(("app", "web"),))
    repelling = drawing.with_members(("job-0", "job-1"), "job", labels=(("app", "web"),), pod_anti_affinity=(apart,))
    assert failing_pod(attempt_of(repelling)) == "default/job-1"


def test_a_plain_gang_is_placed_when_its_minimum_fits() -> None:
    drawing = cluster("s0: b0[n1:8 n2:4]").with_gang("job", 4, 4, minimum=3)
    placed = attempt_of(drawing)
    assert placed.plan is None
    assert sorted((placed.placement or {}).values()) == ["n1", "n1", "n2"]


def test_a_plain_gang_that_does_not_fit_leaves_some_waiting_and_fails_at_the_next() -> None:
    drawing = cluster("s0: b0[n1:8 n2:4]").with_gang("job", 4, 4)
    failed = attempt_of(drawing)
    assert (failed.placement, failed.trigger.name) == (None, "job-0")
    assert {name: [pod.name for pod in pods] for name, pods in failed.waiting.items()} == {
        "n1": ["job-1", "job-2"],
        "n2": ["job-3"],
    }
    assert [pod.name for pod in failed.left] == ["job-0"]
    assert failed.rejections == {
        "n1": Insufficient((("cpu", 4000, 0),)),
        "n2": Insufficient((("cpu", 4000, 0),)),
    }


def test_members_that_differ_are_tried_one_by_one() -> None:
    assert short(with_trigger(MIXED.with_group("job", 3), "master").placement) == {
        "master": "n1",
        "worker-0": "n2",
        "worker-1": "n2",
    }


def test_the_first_that_finds_no_node_ends_the_attempt() -> None:
    drawing = MIXED.with_group("job", 3).with_running("low", on="n1", cpu=5)
    failed = with_trigger(drawing, "worker-0")
    assert (failed.trigger.name, [pod.name for pod in failed.left]) == ("master", ["master"])
    assert sorted(pod.name for pods in failed.waiting.values() for pod in pods) == ["worker-0", "worker-1"]


def test_the_attempt_ends_when_enough_are_placed() -> None:
    assert short(with_trigger(MIXED.with_group("job", 1), "worker-1").placement) == {"worker-1": "n1"}


def test_members_that_repel_each_other_are_tried_one_by_one() -> None:
    apart = PodTerm("network/block", having(app="web"))
    drawing = cluster("s0: b0[n1 n2]").with_gang("job", 2, 1, labels=(("app", "web"),), pod_anti_affinity=(apart,))
    failed = attempt_of(drawing)
    assert failed.rejections == {"n1": AntiAffinityViolated(), "n2": AntiAffinityViolated()}


def test_members_that_repel_each_other_are_tried_beside_a_nominated_pod() -> None:
    apart = PodTerm("network/block", having(app="web"))
    drawing = cluster("s0: b0[n1 n2]").with_pod("other", cpu=8, priority=9, nominated="n1")
    drawing = drawing.with_gang("job", 2, 1, labels=(("app", "web"),), pod_anti_affinity=(apart,))
    failed = attempt_of(drawing)
    assert failed.rejections == {"n1": Insufficient((("cpu", 1000, 0),)), "n2": AntiAffinityViolated()}


def test_a_lone_pod_is_a_job_of_its_own() -> None:
    drawing = cluster("s0: b0[n1]").with_pod("lone", cpu=4)
    assert short(attempt_of(drawing, "lone").placement) == {"lone": "n1"}


def test_nodes_are_compared_by_the_share_of_their_scarcest_resource() -> None:
    drawing = cluster("s0: b0[n1:8 n2:16]").with_running("low", on="n2", cpu=12).with_pod("lone", cpu=1)
    view, pod = of(drawing), drawing.pending[0]
    assert [choose(view, every_node(view), (), pod, ()) for choose in (emptiest, fullest)] == ["n1", "n2"]


def test_a_node_without_resources_has_nothing_free() -> None:
    drawing = cluster("s0: b0[n1:8 n2]").change("n2", allocatable=(("pods", 110),)).with_pod("lone", cpu=1)
    view = of(drawing)
    assert emptiest(view, every_node(view), (), drawing.pending[0]) == "n1"


def test_of_nodes_that_are_as_empty_those_that_come_last_are_taken_last() -> None:
    drawing = cluster("s0: b0[n1 n2 n3]").with_running("low", on="n3", cpu=1).with_pod("lone", cpu=1)
    view, pod = of(drawing), drawing.pending[0]
    every = every_node(view)
    assert [emptiest(view, every, late, pod) for late in ((), ("n1",), ("n2", "n1"))] == ["n1", "n2", "n2"]
    assert [emptiest(view, every, late, pod) for late in (("n3", "n1"), ("n1", "n2", "n3"))] == ["n2", "n1"]


@pytest.mark.parametrize("cpu", [1, 2])
@pytest.mark.parametrize("spec", [None, rules(f"MustGather {SPINE}")])
def test_fewer_pods_than_must_wait_at_once_place_nobody(cpu: int, spec: str | None) -> None:
    drawing = cluster("s0: b0[n1]").with_gang("job", 2, 1, minimum=3, topology=spec)
    failed = attempt_of(drawing.with_pod("job-1", gang="job", cpu=cpu))
    assert failed.placement is None


def test_members_of_a_group_are_tried_gang_by_gang() -> None:
    ids = '["default/a", "default/b"]'
    drawing = cluster("s0: b0[n1:4]").with_gang("a", 4, minimum=2, groups=ids).with_gang("b", 2, groups=ids)

    found = attempt_of(drawing, "a")

    assert found.placement is None
    assert sorted(pod.name for pods in found.waiting.values() for pod in pods) == ["a-0", "a-1", "a-2", "a-3"]


IDS = '["default/a", "default/b"]'
UNEVEN = cluster("s0: b0[n1:4]").with_gang("a", 4, minimum=3, groups=IDS).with_gang("b", 1, groups=IDS)


def test_pods_that_each_come_to_the_queue_are_tried_by_priority() -> None:
    drawing = cluster("s0: b0[n1:3]").with_gang("job", 3, 1).with_running("job-9", on="n1", gang="default/job")
    drawing = drawing.change_pods("job-1", priority=2).change_pods("job-2", priority=1)
    assert names(drawing) == ["job-1"]
    failed = attempt_of(drawing)
    assert ([pod.name for pods in failed.waiting.values() for pod in pods], failed.trigger.name) == (
        ["job-1", "job-2"],
        "job-0",
    )


def test_room_for_fewer_than_all_goes_first_to_the_gang_of_the_trigger() -> None:
    assert [pod.name for pod in jobs_of(UNEVEN, "a")[0].triggers] == ["a-0", "b-0"]
    by_trigger = {name: attempt_of(UNEVEN, "a", name).placement for name in ("a-0", "b-0")}
    assert by_trigger["a-0"] is None
    assert sorted(by_trigger["b-0"] or ()) == ["default/a-0", "default/a-1", "default/a-2", "default/b-0"]


def test_the_gang_of_the_trigger_makes_no_difference_where_all_must_find_a_place_at_once() -> None:
    drawing = UNEVEN.with_group("a", 4, groups=IDS)
    assert [pod.name for pod in jobs_of(drawing, "a")[0].triggers] == ["a-0"]


def test_who_fails_is_the_first_without_room_where_the_trigger_has_found_some() -> None:
    failed = attempt_of(cluster("s0: b0[n1:3]").but(pod_groups=UNEVEN.pod_groups, pending=UNEVEN.pending), "a", "b-0")
    assert (failed.trigger.name, failed.prepared.trigger.name, failed.placement) == ("a-2", "a-2", None)
    assert [pod.name for pod in failed.left] == ["a-2", "a-3"]


@pytest.mark.parametrize(
    ("drawing", "refusal"),
    [
        (cluster("s0: b0[n1]").but(topologies={}), NoTopologyTree(NoTopology())),
        (cluster("s0: b0[n1]").configured(aware_of_topology=False), TopologyNotAware()),
    ],
)
def test_without_a_plan_a_job_with_a_topology_spec_is_refused_before_any_node_is_asked(
    drawing: Drawing, refusal: PreFilterRefusal
) -> None:
    refused = attempt_of(drawing.with_gang("job", 2, must_gather=SPINE))
    assert (refused.prefilter, refused.placement, refused.rejections) == (refusal, None, {})
    assert [pod.name for pod in refused.left] == ["job-0", "job-1"]
    assert attempt_of(drawing.with_gang("job", 2)).prefilter is None


@pytest.mark.parametrize(
    ("nominated", "room", "node"),
    [
        ("", 4, "n1"),
        ("n2", 4, "n2"),  # it fits there: no other node is looked at, be it emptier
        ("n2", 1, "n1"),  # it does not: all are
        ("gone", 4, "n1"),
    ],
)
@pytest.mark.parametrize("apart", [False, True])
def test_a_lone_pod_goes_to_the_node_that_it_is_nominated_to(
    nominated: str, room: int, node: str, *, apart: bool
) -> None:
    drawing = cluster(f"s0: b0[n1:16 n2:{room}]")
    terms = (PodTerm("network/block", having(app="none")),) if apart else ()
    placed = attempt_of(drawing.with_pod("lone", cpu=2, nominated=nominated, pod_anti_affinity=terms), "lone")
    assert short(placed.placement) == {"lone": node}
