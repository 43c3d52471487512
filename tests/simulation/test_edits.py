"""A question in a changed cluster is the question in that cluster, drawn by hand."""

import pytest
from msgspec.structs import replace

from kubectl_koord.engine.gangs import GangSubject
from kubectl_koord.engine.rules import GatherRule
from kubectl_koord.model.load import ExpectedUse, NodeMetric, Thresholds
from kubectl_koord.model.pods import GangAnnotations, PodRequirements
from kubectl_koord.model.values import Toleration
from kubectl_koord.reports.common import (
    AddNode,
    CreatePodGroup,
    DeletePod,
    Edit,
    MendNode,
    MovePod,
    ReleaseReservation,
    SetMinimum,
    SetRequest,
    SetThresholds,
    SetTopology,
    Threshold,
    Tolerate,
    Uncordon,
)
from kubectl_koord.simulation.simulation import Simulation, simulate
from kubectl_koord.simulation.what_if import changed
from tests.build import BLOCK, SPINE, SPINE_KEY, Drawing, cluster, cpus, node, rules

BARE = cluster("s0: b0[n1 n2]; s1: b1[n3]")
GANG = BARE.with_gang("job", 2, 4, must_gather=SPINE).with_running("low", on="n1", cpu=3).with_running("r", on="n1")
LIGHT = BARE.with_light_gang("job", 2, gang_terms=GangAnnotations("2", topology=rules(f"MustGather {BLOCK}")))
BOTH = '["default/job", "default/peer"]'
PAIR = BARE.with_gang("job", 1, groups=BOTH).with_gang("peer", 1, groups=BOTH)
JOB = ("default/job-0", "default/job-1")
HOSTS = BARE.change("n1", labels=(("kubernetes.io/hostname", "n1"), (SPINE_KEY, "s0")), metric=None)
TWIN = node("twin", labels=(("kubernetes.io/hostname", "twin"), (SPINE_KEY, "s0")))
GPU = BARE.with_gang("job", 2, 4, requests=cpus(4, nvidia_gpu=2))
TOLERANT = (Toleration("gpu", "Equal", "a", "NoSchedule"),)


def using(request: int, limit: int = 0) -> Drawing:
    """Return the same with pods that are expected to use a share of what they ask for."""
    asked = (ExpectedUse("cpu", max(request, limit), limit, 250), ExpectedUse("memory", 0, least=200 << 20))
    return BARE.with_gang("job", 2, request / 1000, expected=asked)


def seen(simulation: Simulation) -> tuple[object, ...]:
    """Return all that the engine sees of a question."""
    view = simulation.view
    nodes = {name: (view.node(name), view.occupants(name)) for name in view.names()}
    return nodes, tuple(view.names()), simulation.subject, simulation.snapshot.pending, simulation.tree


@pytest.mark.parametrize(
    ("before", "edit", "after"),
    [
        (GANG, DeletePod("default/low", "n1"), GANG.without_running("default/low")),
        (
            BARE.with_gang("job", 2),
            DeletePod("default/job-1"),
            BARE.with_gang("job", 1, minimum=2),
        ),
        (
            GANG,
            MovePod("default/low", "n1", "n3"),
            GANG.without_running("default/low").with_running("low", on="n3", cpu=3),
        ),
        (GANG.cordon("n2"), Uncordon("n2"), GANG),
        (
            GANG.taint("n2", "node.kubernetes.io/unreachable")
            .change("n2", ready=False)
            .with_running("stuck", on="n2", terminating=True),
            MendNode("n2"),
            GANG,
        ),
        (
            GANG.change("n2", metric=NodeMetric((("cpu", 9),))),
            SetThresholds("n2", (Threshold("cpu", 80),)),
            GANG.change("n2", metric=NodeMetric((("cpu", 9),), thresholds=Thresholds(whole=(("cpu", 80),)))),
        ),
        (GANG, SetThresholds("n2", (Threshold("cpu", 80),)), GANG),
        (GANG.cordon("n2").taint("n2", "gpu"), Uncordon("n2"), GANG.taint("n2", "gpu")),
        (
            GANG.cordon("n2"),
            AddNode("a", "n2"),
            GANG.cordon("n2").with_nodes(node("a", labels=BARE.nodes["n2"].labels)),
        ),
        (HOSTS.with_gang("job"), AddNode("twin", "n1"), HOSTS.with_nodes(TWIN).with_gang("job")),
        (
            BARE.with_gang("job", 2),
            Tolerate(("default/job-1",), "gpu", "a", "NoSchedule"),
            BARE.with_gang("job", 2).change_pods("job-1", requirements=PodRequirements(cpus(1), tolerations=TOLERANT)),
        ),
        (GANG, SetRequest(JOB, "cpu", "2500m"), GANG.with_gang("job", 2, 2.5, must_gather=SPINE)),
        (GANG, SetRequest(JOB, "cpu", "5"), GANG),
        (using(4000), SetRequest(JOB, "cpu", "2500m"), using(2500)),
        (using(4000, 6000), SetRequest(JOB, "cpu", "2500m"), using(2500, 6000)),
        (using(4000, 6000), SetRequest(JOB, "cpu", "2500m", limits=True), using(2500, 2500)),
        (using(4000, 6000), SetRequest(JOB, "cpu", "5", limits=True), using(4000, 5000)),
        (using(4000, 6000), SetRequest(JOB, "memory", "1", limits=True), using(4000, 6000)),
        (GPU, SetRequest(JOB, "nvidia.com/gpu", "0"), BARE.with_gang("job", 2, 4)),
        (GANG, SetTopology("default/job", "PodGroup", rules()), GANG.with_gang("job", 2, 4, topology=rules())),
        (GANG, SetMinimum("default/job", "PodGroup", 1), GANG.with_gang("job", 2, 4, must_gather=SPINE, minimum=1)),
        (PAIR, SetMinimum("default/peer", "PodGroup", 0), PAIR.with_gang("peer", 1, groups=BOTH, minimum=0)),
        (BARE.with_members(("job-0",), "job"), CreatePodGroup("default/job", 1), BARE.with_gang("job", 1)),
        (
            BARE.with_gang("job", 1, groups=BOTH),
            CreatePodGroup("default/peer", 1),
            BARE.with_gang("job", 1, groups=BOTH),
        ),
    ],
)
def test_each_edit_yields_the_question_in_the_cluster_that_it_describes(
    before: Drawing, edit: Edit, after: Drawing
) -> None:
    found = changed(simulate(before, before.subject("job")), [edit])
    expected = simulate(after, after.subject("job"))
    assert seen(found) == seen(expected)


def test_terms_that_pods_define_change_in_their_gang() -> None:
    edits = (SetTopology("default/job", "pods", rules(f"MustGather {SPINE}")), SetMinimum("default/job", "pods", 1))
    subject = changed(simulate(LIGHT, LIGHT.subject("job")), edits).subject
    assert isinstance(subject, GangSubject)
    assert [(gang.topology, gang.minimum) for gang in subject.group.members] == [
        ((GatherRule(SPINE, "MustGather"),), 1)
    ]


def test_edits_of_several_kinds_are_all_made() -> None:
    edits = (Uncordon("n2"), DeletePod("default/low", "n1"), DeletePod("default/job-1"), AddNode("n4", "n1"))
    simulation = changed(simulate(GANG.cordon("n2"), GANG.subject("job")), edits)
    after = GANG.without_running("default/low").with_nodes(node("n4", labels=BARE.nodes["n1"].labels))
    assert tuple(simulation.view.names()) == ("n1", "n2", "n3", "n4")
    assert [simulation.view.occupants(name) for name in after.nodes] == [after.running.get(n, ()) for n in after.nodes]
    assert not simulation.view.node("n2").unschedulable
    assert [pod.key for pod in simulation.subject.pending] == ["default/job-0"]


def test_a_reservation_that_is_deleted_does_not_come_back_with_another_node() -> None:
    held = GANG.with_reservation("held", "n3", 4)
    view = changed(simulate(held, held.subject("job")), (ReleaseReservation("held"), AddNode("n4", "n1"))).view
    assert (tuple(view.names()), view.snapshot.reservations, view.occupants("n3")) == (("n1", "n2", "n3", "n4"), (), ())


def test_a_lone_pod_may_ask_for_less() -> None:
    before, after = BARE.with_pod("lone", cpu=9), BARE.with_pod("lone", cpu=8)
    simulation = changed(simulate(before, before.subject("lone")), [SetRequest(("default/lone",), "cpu", "8")])
    assert seen(simulation) == seen(simulate(after, after.subject("lone")))


def test_a_lone_pod_has_no_gang_to_change() -> None:
    drawing = BARE.with_pod("lone", cpu=9)
    simulation = simulate(drawing, drawing.subject("lone"))
    assert changed(simulation, [SetMinimum("default/job", "PodGroup", 1)]) == simulation


def test_no_edit_leaves_all_as_it_is() -> None:
    simulation = simulate(GANG, GANG.subject("job"))
    assert changed(simulation, []) == simulation


def test_pods_that_ask_for_the_same_share_it_once_changed() -> None:
    drawn = cluster("s0: b0[n1]").with_gang("job", 3, cpu=8)
    alike = drawn.pending[0].requirements
    drawn = replace(drawn, pending=tuple(replace(pod, requirements=alike) for pod in drawn.pending))
    pods = tuple(pod.key for pod in drawn.pending)
    simulation = changed(simulate(drawn, drawn.subject("job")), [SetRequest(pods, "cpu", "2")])
    assert len({id(pod.requirements) for pod in simulation.subject.pending}) == 1
    assert all(a is b for a, b in zip(simulation.subject.pending, simulation.snapshot.pending, strict=True))
