"""Remedies on the side of the gang: each whole, as it is offered."""

from typing import Any

import pytest
from msgspec import structs

from kubectl_koord.model.load import ExpectedUse, LoadSettings, NodeMetric
from kubectl_koord.model.pods import GangAnnotations, HostPort, PodTerm
from kubectl_koord.reports.common import DeletePod, RelaxRule, SetMinimum, SetRequest, SetTopology, WayOut
from tests.build import BLOCK, ROOT, SPINE, Drawing, cluster, cpus, having, rules, why_of

ANNOTATE = "kubectl koord annotate podgroup job -n default"
JOB = ("default/job-0", "default/job-1", "default/job-2")
BOTH = '["default/a", "default/b"]'


def ways(drawing: Drawing, action: str, name: str = "job") -> tuple[WayOut, ...]:
    report = why_of(drawing, name)
    assert report.verdict == "no"
    return tuple(way for way in report.unblock if way.action == action)


def spec(*written: str, gang: str = "default/job", where: str = "PodGroup") -> SetTopology:
    return SetTopology(gang, where, rules(*written))


def test_the_nearest_wider_layer_that_works_is_named() -> None:
    drawing = cluster("s0: b0[n1] b1[n2]").with_gang("job", 2, 8, must_gather=BLOCK)
    command = f"{ANNOTATE} --must-gather SpineLayer --overwrite"
    wider = WayOut("gather-wider", "Gather on SpineLayer instead", command, (spec(f"MustGather {SPINE}"),))
    prefer = WayOut(
        "prefer-gather",
        "Use PreferGather instead of MustGather",
        f"{ANNOTATE} --prefer-gather BlockLayer --overwrite",
        (spec(f"PreferGather {BLOCK}"),),
    )
    assert why_of(drawing).unblock[:2] == (wider, prefer)


def test_a_wider_layer_keeps_the_multiples_of_both() -> None:
    drawing = cluster("s0: b0[n1 n2] b1[n3 n4]")
    written = rules(f"MustGather {BLOCK} x2", f"PreferGather {SPINE} x4")
    kept = spec(f"MustGather {SPINE} x4", f"PreferGather {BLOCK} x2")
    command = (
        f"{ANNOTATE} --must-gather SpineLayer --multiple SpineLayer=4 --prefer-gather BlockLayer"
        " --multiple BlockLayer=2 --overwrite"
    )
    assert ways(drawing.with_gang("job", 4, 8, topology=written), "gather-wider") == (
        WayOut("gather-wider", "Gather on SpineLayer instead", command, (kept,)),
    )


def test_where_no_single_spine_is_enough_it_may_be_preferred_only() -> None:
    drawing = cluster("s0: b0[n1]; s1: b1[n2]").with_gang("job", 2, 8, must_gather=BLOCK)
    assert [ways(drawing, "gather-wider"), len(ways(drawing, "prefer-gather"))] == [(), 1]


@pytest.mark.parametrize("topology", [rules(), rules(f"PreferGather {SPINE}"), rules(f"MustGather {ROOT}")])
def test_there_is_nothing_wider_than_the_whole_cluster(topology: str) -> None:
    drawing = cluster("s0: b0[n1]").with_gang("job", 2, 8, topology=topology)
    assert [ways(drawing, action) for action in ("gather-wider", "prefer-gather")] == [(), ()]


def test_what_pods_say_of_their_gang_has_no_command() -> None:
    terms = GangAnnotations("2", topology=rules(f"MustGather {BLOCK}"))
    drawing = cluster("s0: b0[n1] b1[n2]").with_light_gang("job", 2, 8, gang_terms=terms)
    edits = (spec(f"MustGather {SPINE}", where="pods"),)
    wider = "Gather on SpineLayer instead (network-topology-spec in the manifest)"
    assert ways(drawing, "gather-wider") == (WayOut("gather-wider", wider, "", edits),)
    (fewer,) = ways(drawing, "fewer-pods")
    edits_of_fewer = (DeletePod("default/job-1"), SetMinimum("default/job", "pods", 1))
    message = "Run with 1 pod instead of 2 (min-available 1 in the manifest; leave out default/job-1)"
    assert fewer == WayOut("fewer-pods", message, "", edits_of_fewer)


def test_every_gang_of_a_group_changes_alike() -> None:
    drawing = cluster("s0: b0[n1] b1[n2]").with_gang("a", 1, 8, must_gather=BLOCK, groups=BOTH)
    drawing = drawing.with_gang("b", 1, 8, must_gather=BLOCK, groups=BOTH)
    command = "kubectl koord annotate podgroup {} -n default --must-gather SpineLayer --overwrite"
    edits = tuple(spec(f"MustGather {SPINE}", gang=f"default/{name}") for name in "ab")
    both = f"{command.format('a')} && {command.format('b')}"
    assert ways(drawing, "gather-wider", "a") == (WayOut("gather-wider", "Gather on SpineLayer instead", both, edits),)


def test_the_largest_smaller_multiple_that_works_is_named() -> None:
    drawing = cluster("s0: b0[n1 n2 n3 n4]").with_gang("job", 4, 8, topology=rules(f"MustGather {BLOCK} x5"))
    command = f"{ANNOTATE} --must-gather BlockLayer --multiple BlockLayer=4 --overwrite"
    message = "Lower podCountMultiple of BlockLayer from 5 to 4"
    way = WayOut("smaller-multiple", message, command, (spec(f"MustGather {BLOCK} x4"),))
    assert ways(drawing, "smaller-multiple") == (way,)


def test_a_gang_with_topology_is_run_with_fewer_pods_which_no_command_does_by_half() -> None:
    drawing = cluster("s0: b0[n1 n2]").with_gang("job", 3, 8, must_gather=SPINE)
    edits = (DeletePod("default/job-2"), SetMinimum("default/job", "PodGroup", 2))
    message = "Run with 2 pods instead of 3 (minMember 2; leave out default/job-2)"
    assert ways(drawing, "fewer-pods") == (WayOut("fewer-pods", message, "", edits),)
    scaled = "Run with 2 pods instead of 3 (minMember 2; lower replicas of PyTorchJob/x by 1)"
    owned = drawing.change_pods(owner="PyTorchJob/x")
    assert ways(owned, "fewer-pods") == (WayOut("fewer-pods", scaled, "", edits),)


def test_what_it_means_to_run_with_less_than_half_is_said() -> None:
    few = "; that is 16 % of its pods: the job takes longer accordingly, if it can run with so few at all"
    gathered = cluster("s0: b0[n1]").with_gang("job", 6, 8, must_gather=SPINE)
    pods = "default/job-1, default/job-2, default/job-3, default/job-4 and 1 more"
    (way,) = ways(gathered, "fewer-pods")
    assert way.message == f"Run with 1 pod instead of 6 (minMember 1; leave out {pods}){few}"
    (way,) = ways(cluster("s0: b0[n1]").with_gang("job", 6, 8), "fewer-pods")
    assert way.message == f"Start with 1 pod (minMember 1); the others start when there is room{few}"
    (way,) = ways(BIG.with_gang("job", 3, requests=cpus(1, nvidia_gpu=6)), "smaller-request")
    assert way.message.endswith(THIRD)


def test_a_gang_without_topology_keeps_its_pods_and_lowers_its_minimum() -> None:
    drawing = cluster("s0: b0[n1 n2]").with_gang("job", 3, 8)
    command = """kubectl patch podgroup job -n default --type merge -p '{"spec": {"minMember": 2}}'"""
    message = "Start with 2 pods (minMember 2); the others start when there is room"
    edits = (SetMinimum("default/job", "PodGroup", 2),)
    assert ways(drawing, "fewer-pods") == (WayOut("fewer-pods", message, command, edits),)


def test_bound_members_count_towards_the_lower_minimum_where_the_policy_counts_them() -> None:
    drawing = cluster("s0: b0[n1 n2 n3]").with_running("job-9", on="n3", cpu=8, gang="default/job")
    drawing = drawing.with_gang("job", 3, 8, minimum=4, match_policy="waiting-and-running")
    (way,) = ways(drawing, "fewer-pods")
    assert way.edits == (SetMinimum("default/job", "PodGroup", 3),)


def test_one_pod_cannot_be_fewer() -> None:
    assert ways(cluster("s0: b0[n1:4]").with_gang("job", 1, 8), "fewer-pods") == ()


def test_gangs_of_one_group_drop_what_is_beyond_their_minimums() -> None:
    drawing = cluster("s0: b0[n1 n2 n3]").with_gang("a", 2, 8, must_gather=SPINE, groups=BOTH, minimum=1)
    drawing = drawing.with_gang("b", 2, 8, must_gather=SPINE, groups=BOTH)
    message = "Scale the job down to its minimum of 3: it fits without 1 pod"
    way = WayOut("drop-surplus", f"{message} (leave out default/a-1)", edits=(DeletePod("default/a-1"),))
    assert ways(drawing, "drop-surplus", "a") == (way,)
    assert why_of(drawing, "a").also_wrong == ("surplus-pods",)
    (scaled,) = ways(drawing.change_pods("a-1", owner="Job/a"), "drop-surplus", "a")
    assert (scaled.message, scaled.command) == (f"{message} (lower parallelism of Job/a by 1)", "")


def test_pods_of_several_namespaces_are_dropped_in_each() -> None:
    both = '["default/a", "ml/b"]'
    drawing = cluster("s0: b0[n1 n2]").with_gang("a", 2, 8, must_gather=SPINE, groups=both, minimum=1)
    drawing = drawing.with_gang("ml/b", 2, 8, must_gather=SPINE, groups=both, minimum=1)
    (way,) = ways(drawing, "drop-surplus", "a")
    assert (way.message[-30:], way.command) == ("leave out default/a-1 and ml/b-1)"[-30:], "")


THIRD = "; that is 33 % of it: only for a program that can do with so little"
BIG = cluster("s0: b0[n1]").change("n1", allocatable=(*cpus(8, memory=8 << 30, nvidia_gpu=8), ("pods", 110)))


def test_a_rule_is_not_done_without_where_that_is_not_enough_or_not_what_is_in_the_way() -> None:
    full = cluster("s0: b0[n1]").with_running("r", "n1", 8)
    assert ways(full.with_gang("job", 1, 4, ports=(HostPort(80),)), "relax-rule") == ()
    taken = full.with_running("web", "n1", 0, ports=(HostPort(80),))
    assert ways(taken.with_gang("job", 1, 4, ports=(HostPort(80),)), "relax-rule") == ()
    free = cluster("s0: b0[n1]").with_running("web", "n1", 0, ports=(HostPort(80),))
    (way,) = ways(free.with_gang("job", 1, 4, ports=(HostPort(80),), owner="Job/j"), "relax-rule")
    assert way.message == "Take no host ports in the pod template of Job/j and recreate the pod"
    assert way.edits == (RelaxRule(("default/job-0",), "host-ports"),)
    other = free.with_running("apart", "n1", 0, labels=(("a", "b"),))
    asks: dict[str, Any] = {"ports": (HostPort(81),), "pod_anti_affinity": (PodTerm("h", having(a="b")),)}
    assert [one.edits[0] for one in ways(other.label("n1", h="x").with_gang("job", 1, 4, **asks), "relax-rule")] == [
        RelaxRule(("default/job-0",), "pod-anti-affinity")
    ]


@pytest.mark.parametrize(
    ("drawing", "message", "resource", "amount"),
    [
        (
            cluster("s0: b0[n1]").with_gang("job", 3, 4),
            "Request 2666m CPU per pod instead of 4 (resources.requests in the pod template)",
            "cpu",
            "2666m",
        ),
        (
            BIG.with_gang("job", 3, requests=cpus(1, memory=4 << 30)),
            "Request 2730Mi memory per pod instead of 4Gi (resources.requests in the pod template)",
            "memory",
            "2730Mi",
        ),
        (
            BIG.with_gang("job", 3, requests=cpus(1, memory=(8 << 30) - 1)),
            "Request 2863311530 memory per pod instead of 8589934591 (resources.requests in the pod template)" + THIRD,
            "memory",
            "2863311530",
        ),
        (
            BIG.with_gang("job", 3, requests=cpus(1, nvidia_gpu=4)),
            "Request 2 GPU per pod instead of 4 (resources.requests in the pod template)",
            "nvidia.com/gpu",
            "2",
        ),
    ],
)
def test_the_largest_request_that_works_is_named(drawing: Drawing, message: str, resource: str, amount: str) -> None:
    way = WayOut("smaller-request", message, edits=(SetRequest(JOB, resource, amount),))
    assert ways(drawing, "smaller-request") == (way,)


@pytest.mark.untraced
def test_of_unequal_pods_only_the_larger_ask_for_less() -> None:
    drawing = cluster("s0: b0[n1]").with_gang("job", 2, 3).with_pod("job-1", gang="job", cpu=7)
    edits = (SetRequest(("default/job-1",), "cpu", "5"),)
    way = WayOut(
        "smaller-request", "Request 5 CPU per pod instead of 7 (resources.requests in the pod template)", edits=edits
    )
    assert ways(drawing, "smaller-request") == (way,)


def test_where_two_resources_are_short_neither_alone_is_enough() -> None:
    assert ways(BIG.with_gang("job", 3, requests=cpus(4, nvidia_gpu=4)), "smaller-request") == ()


MEASURED = cluster("s0: b0[n1]").change("n1", metric=NodeMetric((("cpu", 1000),)))
"""Of 8 CPU at most 5,239m may be used."""
BATCH = "kubernetes.io/batch-cpu"


def using(*uses: ExpectedUse) -> Drawing:
    """Return the same with a pod that is expected to use so much, and requests 8 CPU at most."""
    asked = {one.requested: min(one.amount, 8000) for one in uses}
    room = MEASURED.change("n1", allocatable=(("cpu", 8000), (BATCH, 8000), ("memory", 8 << 30), ("pods", 110)))
    return room.with_gang("job", 1, requests=tuple(asked.items()), expected=uses)


@pytest.mark.parametrize(
    ("drawing", "message", "edit"),
    [
        (
            using(ExpectedUse("cpu", 8000)),
            "Request 4987m CPU per pod instead of 8 (resources.requests in the pod template)",
            SetRequest(JOB[:1], "cpu", "4987m"),
        ),
        (
            using(ExpectedUse("cpu", 8000, 8000)),
            "Limit each pod to 4987m CPU instead of 8 (resources.limits and requests in the pod template)",
            SetRequest(JOB[:1], "cpu", "4987m", limits=True),
        ),
        (
            using(ExpectedUse("cpu", 16000, 16000)),
            "Limit each pod to 4987m CPU instead of 16 (resources.limits and requests in the pod template)"
            + THIRD.replace("33", "31"),
            SetRequest(JOB[:1], "cpu", "4987m", limits=True),
        ),
        (
            using(ExpectedUse("cpu", 8000, asked_as=BATCH)),
            f"Request 4987 {BATCH} per pod instead of 8000 (resources.requests in the pod template)",
            SetRequest(JOB[:1], BATCH, "4987"),
        ),
    ],
)
def test_the_largest_request_that_no_threshold_of_load_refuses_is_named(
    drawing: Drawing, message: str, edit: SetRequest
) -> None:
    assert ways(drawing, "smaller-request") == (WayOut("smaller-request", message, edits=(edit,)),)


def test_memory_that_load_refuses_is_told_in_whole_mebibytes() -> None:
    (way,) = ways(using(ExpectedUse("memory", 16 << 30, 16 << 30)), "smaller-request")
    assert way.edits == (SetRequest(JOB[:1], "memory", "11176Mi", limits=True),)


@pytest.mark.parametrize(
    "drawing",
    [
        using(ExpectedUse("cpu", 60000, 60000)),
        using(ExpectedUse("cpu", 0, least=8000)),
        using(ExpectedUse("cpu", 1, factor=800000)).configured(load=LoadSettings(customizable=True)),
    ],
)
def test_a_request_that_load_leaves_a_tenth_of_or_that_there_is_none_of_is_not_named(drawing: Drawing) -> None:
    assert ways(drawing, "smaller-request") == ()


def test_where_room_is_short_and_load_refuses_less_than_the_limit_may_be_needed() -> None:
    drawing = MEASURED.with_gang("job", 1, 9, expected=(ExpectedUse("cpu", 9000, 9000),))
    drawing = drawing.with_nodes(
        structs.replace(drawing.nodes["n1"], name="n2", allocatable=(("cpu", 16000), ("pods", 9)))
    )
    drawing = drawing.change("n2", metric=NodeMetric((("cpu", 10000),)))
    assert [way.edits for way in ways(drawing, "smaller-request")] == [
        (SetRequest(JOB[:1], "cpu", "4987m", limits=True),)
    ]
