"""Every cause that keeps a gang from being tried, in the scheduler's order, and every oddity that stops nobody."""

from typing import Any

import pytest

from kubectl_koord.explain.every_pending import every_pending
from kubectl_koord.explain.why import with_nodes
from kubectl_koord.model.objects import Layer
from kubectl_koord.model.pods import GangAnnotations
from kubectl_koord.render.show import text
from kubectl_koord.reports.common import CauseCode, CreatePodGroup, SetMinimum, SetTopology, WayOut
from kubectl_koord.reports.jobs import Cause
from tests.build import BLOCK, LAYERS, NODE, SPINE, Drawing, cluster, preempt_of, rules, short, why_of
from tests.render.samples import PIPE

FREE = cluster("s0: b0[n1 n2 n3 n4]")
BOTH = '["default/job", "default/peer"]'


def stopped(drawing: Drawing) -> tuple[str, Cause | None, tuple[str, ...]]:
    report = why_of(drawing)
    return report.verdict, report.cause, report.also_wrong


def no(code: CauseCode, message: str, *pods: str) -> tuple[str, Cause, tuple[str, ...]]:
    return "no", Cause(code, message, tuple(f"default/{pod}" for pod in pods)), ()


def test_pods_of_another_scheduler_are_nobodys_business() -> None:
    drawing = FREE.with_gang("job", 2, scheduler="default-scheduler")
    message = "its pods have schedulerName default-scheduler; koord-scheduler handles only koord-scheduler."
    assert stopped(drawing) == no("other-scheduler", message, "job-0", "job-1")


def test_members_of_another_scheduler_are_waited_for_in_vain() -> None:
    drawing = FREE.with_gang("job", 2).change_pods("job-1", scheduler="volcano")
    message = (
        "1 of its 2 pods has schedulerName volcano: koord-scheduler does not place it, and the other pods keep waiting."
    )
    assert stopped(drawing) == no("mixed-schedulers", message, "job-1")


def test_unless_the_others_are_enough() -> None:
    assert why_of(FREE.with_gang("job", 2, minimum=1).change_pods("job-1", scheduler="volcano")).verdict == "yes"


def test_pods_that_are_being_deleted_are_not_tried() -> None:
    drawing = FREE.with_gang("job", 2, terminating=True)
    assert stopped(drawing) == no("being-deleted", "its 2 pending pods are being deleted.", "job-0", "job-1")


def test_gated_pods_are_held_back() -> None:
    drawing = FREE.with_gang("job", 2, gates=("kueue",))
    message = "its pods are held back by scheduling gate kueue."
    assert stopped(drawing) == no("scheduling-gated", message, "job-0", "job-1")
    report = why_of(drawing)
    assert report.unblock == ()
    assert report.no_way_out == "fix the cause first; whether that is enough is unknown."
    assert report.next_steps == (WayOut("ungate", "Check the controller that must remove scheduling gate kueue"),)


def test_where_some_are_gated_what_comes_of_it_is_not_known() -> None:
    drawing = FREE.with_gang("job", 2, minimum=1).change_pods("job-1", gates=("b", "a"))
    report = why_of(drawing)
    message = (
        "1 of its 2 pods is held back by scheduling gate a and b: the scheduler tries it with the others all the same,"
        " but cannot bind it."
    )
    cause = Cause("scheduling-gated", message, ("default/job-1",))
    assert (report.verdict, report.cause, preempt_of(drawing).verdict) == ("unknown", cause, "unknown")


def test_one_pod_without_a_gate_takes_the_others_along() -> None:
    drawing = FREE.with_gang("job", 3, minimum=2).change_pods("job-1", "job-2", gates=("a",))
    message = (
        "2 of its 3 pods are held back by scheduling gate a: the scheduler tries them with the others all the same,"
        " but cannot bind them."
    )
    report = why_of(drawing)
    assert (report.verdict, report.cause and report.cause.message) == ("unknown", message)


@pytest.mark.parametrize("held", [{"scheduler": "x"}, {"terminating": True}])
def test_gated_pods_stay_where_no_other_pod_may_be_tried(held: dict[str, Any]) -> None:
    drawing = FREE.with_gang("job", 3, minimum=1).change_pods("job-1", "job-2", gates=("a",))
    message = "2 of its 3 pods are held back by scheduling gate a."
    assert stopped(drawing.change_pods("job-0", **held)) == no("scheduling-gated", message, "job-1", "job-2")


def test_gated_pods_of_a_gang_that_has_run_are_only_warned_of() -> None:
    drawing = FREE.with_gang("job", 3, minimum=2).with_running("job-9", on="n1", gang="default/job")
    report = why_of(drawing.change_pods("job-1", "job-2", gates=("a",)))
    sentence = (
        "2 of its 3 pending pods are held back by scheduling gate a (default/job-1 and default/job-2); the others are"
        " scheduled one by one."
    )
    assert report.verdict == "yes"
    assert [notice.message for notice in report.warnings if notice.code == "scheduling-gated"] == [sentence]
    message = "its pods are held back by scheduling gate a."
    every = ("job-0", "job-1", "job-2")
    assert stopped(drawing.change_pods(gates=("a",))) == no("scheduling-gated", message, *every)


def test_gated_pods_are_taken_along_by_a_gang_that_needs_more_though_theirs_has_run() -> None:
    drawing = FREE.with_gang("job", 2, groups=BOTH).with_running("job-9", on="n1", gang="default/job")
    drawing = drawing.with_gang("peer", 1, minimum=1, match_policy="only-waiting", groups=BOTH)
    report = why_of(drawing.change_pods("job-1", gates=("a",)))
    assert (report.verdict, report.cause and report.cause.code) == ("unknown", "scheduling-gated")


def test_what_stops_for_certain_goes_before_a_gate_of_some() -> None:
    report = why_of(FREE.with_gang("job", 2, minimum=1, groups=BOTH).change_pods("job-1", gates=("a",)))
    assert (report.verdict, report.cause and report.cause.code) == ("no", "group-member-missing")
    assert report.also_wrong == ("scheduling-gated",)


@pytest.mark.parametrize(
    ("drawing", "message"),
    [
        (FREE.with_pod("lone", gates=("a",)), "it is held back by scheduling gate a."),
        (FREE.with_pod("lone", terminating=True), "it is being deleted."),
        (FREE.with_gang("lone", 1, gates=("a",)), "its pod is held back by scheduling gate a."),
        (FREE.with_gang("lone", 1, terminating=True), "its 1 pending pod is being deleted."),
    ],
)
def test_one_pod_is_spoken_of_as_one(drawing: Drawing, message: str) -> None:
    cause = why_of(drawing, "lone").cause
    assert cause is not None
    assert cause.message == message


def test_no_pod_is_left_where_some_are_deleted_and_the_others_foreign() -> None:
    drawing = FREE.with_gang("job", 2, minimum=0).change_pods("job-0", scheduler="x")
    drawing = drawing.change_pods("job-1", terminating=True)
    message = "1 of its 2 pending pods is being deleted: too few others are left."
    assert stopped(drawing) == no("being-deleted", message, "job-1")
    assert with_nodes(why_of(drawing), drawing, drawing.subject("job")).nodes == ()


def test_a_missing_pod_group_leaves_the_gang_silent() -> None:
    drawing = FREE.with_members(("job-0", "job-1"), "job")
    message = "its pods name PodGroup job, which does not exist."
    assert stopped(drawing) == no("no-podgroup", message, "job-0", "job-1")
    command = (
        "printf 'apiVersion: scheduling.sigs.k8s.io/v1alpha1\\nkind: PodGroup\\nmetadata: {name: job,"
        " namespace: default}\\nspec: {minMember: 2}\\n' | kubectl apply -f -"
    )
    remedy = "Create PodGroup job in namespace default with spec.minMember 2 or less"
    assert why_of(drawing).unblock == (WayOut("create-podgroup", remedy, command, (CreatePodGroup("default/job", 2),)),)


@pytest.mark.parametrize(
    ("written", "words"),
    [(None, "its pods do not set min-available"), ("many", "min-available 'many' is not a whole number")],
)
def test_a_gang_without_a_valid_minimum_is_never_initialised(written: str | None, words: str) -> None:
    drawing = FREE.with_light_gang("job", 1, gang_terms=GangAnnotations(written))
    assert stopped(drawing) == no("gang-not-initialised", f"the gang is not initialised: {words}.", "job-0")


def test_too_few_pods_wait_for_more() -> None:
    drawing = FREE.with_gang("job", 2, minimum=4)
    assert stopped(drawing) == no("too-few-pods", "it has 2 of the 4 pods it needs.", "job-0", "job-1")
    command = 'kubectl patch podgroup job -n default --type merge -p \'{"spec":{"minMember":2}}\''
    report = why_of(drawing)
    lower = WayOut("lower-minimum", "Lower minMember to 2", command, (SetMinimum("default/job", "PodGroup", 2),))
    assert report.unblock == (lower,)
    assert report.next_steps == (WayOut("add-pods", "Create 2 missing pods: check the controller of the job"),)


def test_the_minimum_of_a_gang_that_its_pods_define_is_not_lowered_on_a_pod_group() -> None:
    drawing = FREE.with_light_gang("job", 1, gang_terms=GangAnnotations("2"))
    report = why_of(drawing)
    assert (report.unblock, [step.action for step in report.next_steps]) == ((), ["add-pods"])


def test_finished_and_running_members_count_as_children() -> None:
    drawing = FREE.with_gang("job", 1, minimum=3, match_policy="waiting-and-running")
    drawing = drawing.with_running("job-8", on="n1", gang="default/job").with_finished("job-9", "job")
    assert why_of(drawing).verdict == "yes"


def test_a_gang_of_the_group_that_does_not_exist_stops_all() -> None:
    message = "gang default/peer of its group does not exist."
    assert stopped(FREE.with_gang("job", 1, groups=BOTH)) == (
        "no",
        Cause("group-member-missing", message, ("default/peer",)),
        (),
    )


def test_pods_of_a_satisfied_gang_wait_for_one_that_needs_more_and_is_never_tried() -> None:
    drawing = FREE.with_gang("job", 1, minimum=3, groups=BOTH).with_running("job-9", on="n1", gang="default/job")

    def with_peer(pods: int) -> Drawing:
        return drawing.with_gang("peer", pods, minimum=2, match_policy="waiting-and-running", groups=BOTH)

    message = "it has 2 of the 3 pods it needs."
    assert stopped(with_peer(2))[:2] == (
        "no",
        Cause("too-few-pods", message, ("default/job-0",)),
    )
    ran = with_peer(1).with_running("peer-9", on="n1", gang="default/peer")
    assert why_of(ran.with_running("peer-8", on="n1", gang="default/peer")).verdict == "yes"


def test_ids_of_a_group_need_their_namespace() -> None:
    report = why_of(FREE.with_gang("job", 1, groups='["default/job", "peer"]').with_gang("peer", 1))
    message = "gang peer of its group does not exist (ids must be NAMESPACE/NAME)."
    assert report.cause == Cause("group-member-missing", message, ("peer",))


def test_a_gang_of_the_group_without_its_pod_group_stops_all() -> None:
    drawing = FREE.with_gang("job", 1, groups=BOTH).with_members(("peer-0",), "peer")
    verdict, cause, _ = stopped(drawing)
    message = "its pods name PodGroup peer, which does not exist."
    assert (verdict, cause) == ("no", Cause("group-member-missing", message, ("default/peer-0",)))


def test_a_gang_of_the_group_that_is_never_initialised_stops_all() -> None:
    drawing = FREE.with_gang("job", 1, groups=BOTH).with_light_gang(
        "peer", 1, gang_terms=GangAnnotations("x", groups=BOTH)
    )
    message = "the gang is not initialised: min-available 'x' is not a whole number."
    assert stopped(drawing) == no("group-member-missing", message, "peer-0")


def test_a_gang_of_the_group_with_too_few_pods_stops_all() -> None:
    drawing = FREE.with_gang("job", 1, groups=BOTH).with_gang("peer", 1, minimum=2, groups=BOTH)
    message = "gang default/peer of its group has 1 of the 2 pods it needs."
    assert stopped(drawing) == no("group-member-too-few-pods", message, "peer-0")


def test_gangs_that_name_different_groups_do_not_come_together() -> None:
    drawing = FREE.with_gang("job", 1, groups=BOTH).with_gang("peer", 1)
    message = "the groups annotation of default/job differs from that of default/peer."
    assert stopped(drawing) == ("no", Cause("groups-differ", message, ("default/peer",)), ())


def test_a_satisfied_group_is_not_held_up() -> None:
    drawing = FREE.with_gang("job", 1, minimum=4, groups=BOTH).with_running("job-9", on="n1", gang="default/job")
    assert why_of(drawing.with_group("peer", 4, groups=BOTH)).verdict == "yes"


def test_a_satisfied_group_waits_for_a_gang_that_is_gone() -> None:
    drawing = FREE.with_gang("job", 1, minimum=4, groups=BOTH).with_running("job-9", on="n1", gang="default/job")
    message = "gang default/peer of its group does not exist."
    assert stopped(drawing) == no("group-member-missing", message, "peer")


def test_what_comes_of_a_gang_that_its_own_list_leaves_out_is_not_known() -> None:
    drawing = FREE.with_gang("job", 1, groups='["default/peer"]').with_gang("peer", 1)
    report = why_of(drawing)
    message = "it depends only on default/peer: its own groups annotation does not list default/job."
    assert (report.verdict, report.cause) == ("unknown", Cause("groups-differ", message, ("default/job",)))
    assert (report.pending_pods, report.min_member, report.also_wrong) == (("default/job-0",), 1, ())
    command = " && ".join(
        f"kubectl koord annotate podgroup {name} -n default --groups default/job,default/peer --overwrite"
        for name in ("job", "peer")
    )
    step = "Set the same groups annotation on default/job and default/peer; recreate the job if it stays pending"
    assert report.next_steps == (WayOut("fix-groups", step, command),)
    assert why_of(drawing, "peer").verdict == "yes"
    assert [(item.gang, item.verdict) for item in every_pending(drawing).items] == [
        ("default/job", "unknown"),
        ("default/peer", "yes"),
    ]


@pytest.mark.parametrize("running", ["job", "peer"])
def test_a_gang_that_its_own_list_leaves_out_is_satisfied_with_those_of_the_same_list(running: str) -> None:
    drawing = FREE.with_gang("job", 1, groups='["default/peer"]').with_gang("peer", 1, groups='["default/peer"]')
    report = why_of(drawing.with_running("old", on="n1", gang=f"default/{running}"))
    message = "the groups annotation of default/job does not list default/job itself: the scheduler takes it literally."
    assert report.verdict == "yes"
    assert [(notice.code, notice.message) for notice in report.warnings if notice.code == "groups-differ"] == [
        ("groups-differ", message)
    ]


@pytest.mark.parametrize(
    ("ids", "message", "missing"),
    [
        ('["ghost"]', "gang ghost of its group does not exist (ids must be NAMESPACE/NAME).", ("ghost",)),
        ('["default/zz"]', "gang default/zz of its group does not exist.", ("default/zz",)),
        ("[null]", "gang '' of its group does not exist (ids must be NAMESPACE/NAME).", ("",)),
        (
            '["default/job", "default/b", "other/c"]',
            "gangs default/b and other/c of its group do not exist.",
            ("default/b", "other/c"),
        ),
    ],
)
def test_all_gangs_of_the_group_that_are_missing_are_named(ids: str, message: str, missing: tuple[str, ...]) -> None:
    drawing = FREE.with_gang("job", 1, groups=ids).with_gang("mate", 1)
    report = why_of(drawing)
    assert (report.verdict, report.cause) == ("no", Cause("group-member-missing", message, missing))
    assert report.pending_pods == ("default/job-0",)
    assert why_of(drawing, "mate").verdict == "yes"
    assert [(item.gang, item.verdict) for item in every_pending(drawing).items] == [
        ("default/job", "no"),
        ("default/mate", "yes"),
    ]


@pytest.mark.parametrize("fields", [{"scheduler": "default-scheduler"}, {"terminating": True}])
@pytest.mark.parametrize(("room", "spec"), [(9, ""), (17, SPINE)])
def test_members_that_are_never_tried_do_not_make_up_the_minimum(fields: dict[str, Any], room: int, spec: str) -> None:
    drawing = cluster(f"s0: b0[n1:{room}]").with_gang("job", 2, 8, must_gather=spec)
    report = why_of(drawing.with_pod("job-a", gang="job", cpu=1, **fields))
    assert (report.verdict, report.cause and report.cause.code) == ("no", "never-fits")
    assert report.desired_offer_slot == (3 if spec else None)


def test_members_that_are_never_tried_have_a_slot_and_no_place() -> None:
    drawing = FREE.with_gang("job", 2, 4, must_gather=SPINE).with_pod("job-a", gang="job", cpu=4, scheduler="x")
    report = why_of(drawing)
    assert (report.verdict, report.desired_offer_slot) == ("yes", 3)
    assert short(report.placement) == {"job-0": "n1", "job-1": "n1"}
    plain = drawing.with_group("job", 2)
    assert why_of(plain).verdict == "yes"


def test_preemption_makes_room_for_members_that_are_never_tried() -> None:
    drawing = cluster("s0: b0[n1]").with_running("low", on="n1", cpu=1).with_gang("job", 2, 4, priority=9)
    report = preempt_of(drawing.with_pod("job-a", gang="job", cpu=8, scheduler="x", priority=9))
    assert short(report.nominations) == {"job-0": "n1", "job-1": "n1", "job-a": "n1"}
    mixed = drawing.with_pod("job-2", gang="job", cpu=3, priority=9).with_group("job", 3)
    report = preempt_of(mixed.with_pod("job-a", gang="job", cpu=8, scheduler="x", priority=9))
    assert report.verdict == "no"


TWO = cluster("s0: b0[n1 n2]")


@pytest.mark.parametrize(
    ("drawing", "fields"),
    [
        (TWO, {"must_gather": "Rack"}),
        (TWO.but(topologies={}), {"must_gather": SPINE}),
        (TWO.configured(aware_of_topology=False), {"must_gather": SPINE}),
    ],
)
def test_a_spec_that_stops_its_own_gang_leaves_the_others_to_be_tried_first(
    drawing: Drawing, fields: dict[str, Any]
) -> None:
    drawing = drawing.with_gang("job", 1, 8, groups=BOTH)
    report = why_of(drawing.with_gang("peer", 1, 8, groups=BOTH, **fields))
    assert (report.verdict, report.cause) == ("yes", None)
    assert "differing-specs" in [notice.code for notice in report.warnings]
    short_of_room = why_of(drawing.with_gang("peer", 2, 8, groups=BOTH, **fields))
    message = "its 3 pods (8 CPU) do not fit even in an empty cluster; waiting does not help."
    assert (short_of_room.verdict, short_of_room.cause and short_of_room.cause.message) == ("no", message)


def test_where_every_spec_stops_its_gang_all_are_named_once() -> None:
    drawing = FREE.with_gang("job", 1, must_gather="Rack", groups=BOTH)
    report = why_of(drawing.with_gang("peer", 1, must_gather="Row", groups=BOTH))
    assert (report.verdict, report.cause and report.cause.code, report.also_wrong) == ("no", "unknown-layer", ())


@pytest.mark.parametrize(("good", "bad"), [("job", "peer"), ("peer", "job")])
def test_each_outcome_has_the_cause_of_the_spec_that_comes_first(good: str, bad: str) -> None:
    drawing = TWO.with_running("low", on="n1", cpu=8).with_gang(good, 1, 8, groups=BOTH, must_gather=SPINE)
    report = why_of(drawing.with_gang(bad, 1, 8, groups=BOTH, must_gather="Rack"))
    assert (report.verdict, report.cause and report.cause.code) == ("no", "insufficient-slots")
    assert [(each.when, each.verdict, each.cause and each.cause.code) for each in report.alternatives] == [
        (f"the scheduler tries default/{good}-0 first (8 CPU)", "no", "insufficient-slots"),
        (f"the scheduler tries default/{bad}-0 first (8 CPU)", "no", "unknown-layer"),
    ]


def test_a_spec_that_refuses_is_the_cause_where_no_pod_without_it_is_tried() -> None:
    drawing = TWO.but(topologies={}).with_gang("job", 1, minimum=0, terminating=True, groups=BOTH)
    report = why_of(drawing.with_gang("peer", 2, minimum=1, must_gather=SPINE, groups=BOTH))
    assert (report.verdict, report.cause) == ("no", Cause("no-topology", "there is no ClusterNetworkTopology default."))


def test_a_pod_without_room_is_not_blamed_on_a_spec_that_the_attempt_did_not_use() -> None:
    drawing = cluster("s0: b0[n1:9 n2]").cordon("n2").with_gang("job", 1, 4, groups=BOTH)
    report = why_of(drawing.with_gang("peer", 1, 8, groups=BOTH, must_gather="Rack"))
    message = "only 1 of its 2 pods fits at the same time, 2 must (4 CPU or 8 CPU each)."
    assert (report.verdict, report.cause) == ("no", Cause("insufficient-capacity", message, ("default/peer-0",)))


@pytest.mark.parametrize(
    ("drawing", "code", "message"),
    [
        (FREE.but(topologies={}), "no-topology", "there is no ClusterNetworkTopology default."),
        (
            FREE.with_layers(*LAYERS, name="fabric"),
            "no-topology",
            "no ClusterNetworkTopology is named default; there is fabric, which is ignored.",
        ),
        (
            FREE.with_layers(*LAYERS[:2]),
            "broken-layer-chain",
            (
                "layer NodeTopologyLayer, where every chain begins, has no entry;"
                " not on the chain: BlockLayer, SpineLayer."
            ),
        ),
        (
            FREE.with_layers(Layer(BLOCK, NODE), Layer(NODE, BLOCK), LAYERS[0]),
            "broken-layer-chain",
            "layer NodeTopologyLayer is its own ancestor.",
        ),
    ],
)
def test_a_topology_gang_without_a_tree_fails(drawing: Drawing, code: CauseCode, message: str) -> None:
    assert stopped(drawing.with_gang("job", 1, must_gather=SPINE)) == no(code, message)
    assert why_of(drawing.with_gang("job", 1)).verdict == "yes"


def test_an_unknown_hard_layer_has_no_domain_but_a_near_name() -> None:
    report = why_of(FREE.with_gang("job", 1, must_gather="spinelayer"))
    layers = "SpineLayer, BlockLayer and NodeTopologyLayer"
    message = f"it must gather in layer spinelayer, which is not in the topology ({layers})."
    assert report.cause == Cause("unknown-layer", message)
    command = "kubectl koord annotate podgroup job -n default --must-gather SpineLayer --overwrite"
    edit = SetTopology("default/job", "PodGroup", rules(f"MustGather {SPINE}"))
    message = "Gather on SpineLayer, the layer with the closest name"
    assert report.unblock == (WayOut("use-layer", message, command, (edit,)),)
    terms = GangAnnotations("1", topology=rules("MustGather spinelayer"))
    (said_by_pods,) = why_of(FREE.with_light_gang("job", 1, gang_terms=terms, owner="Job/x")).unblock
    assert said_by_pods.message == f"{message} (network-topology-spec in the pod template of Job/x)"


def test_of_the_layers_that_there_are_one_with_room_is_offered_beside_the_closest_name() -> None:
    drawing = cluster("s0: b0[n1] b1[n2]")
    report = why_of(drawing.with_gang("job", 2, 8, must_gather="blockLayer"))
    assert [way.message for way in report.unblock] == ["Gather on SpineLayer, which has room for all its pods"]
    assert [way.message for way in report.next_steps] == ["Gather on BlockLayer, the layer with the closest name"]
    nowhere = why_of(drawing.with_gang("job", 3, 8, must_gather="blockLayer"))
    assert (nowhere.unblock, len(nowhere.next_steps)) == ((), 1)
    step = "  1. Gather on BlockLayer, the layer with the closest name (may not be enough)\n"
    assert step in text(nowhere, style=PIPE)
    flat = why_of(drawing.with_layers(Layer(NODE)).with_gang("job", 1, must_gather="blockLayer"))
    assert (flat.unblock, flat.next_steps) == ((), ())


def test_an_unknown_layer_above_the_hard_one_stops_nobody() -> None:
    report = why_of(FREE.with_gang("job", 1, topology=rules("MustGather Rack", f"MustGather {BLOCK}")))
    assert (report.verdict, report.must_gather) == ("yes", BLOCK)


def test_the_earliest_cause_is_the_root_and_the_others_are_told_too() -> None:
    drawing = FREE.with_gang("job", 1, minimum=2, must_gather="Rack", gates=("kueue",), scheduler="volcano")
    report = why_of(drawing)
    assert report.cause is not None
    assert (report.cause.code, report.also_wrong) == (
        "other-scheduler",
        ("scheduling-gated", "too-few-pods", "unknown-layer"),
    )


def warned(drawing: Drawing) -> list[str]:
    return [notice.code for notice in why_of(drawing).warnings]


@pytest.mark.parametrize(
    ("drawing", "codes"),
    [
        (FREE.with_gang("job", 1, groups="oops"), ["groups-unreadable"]),
        (FREE.with_gang("job", 1, topology="oops"), ["topology-spec-unreadable"]),
        (FREE.with_gang("job", 1, topology=rules(f"Gather {SPINE}")), ["unknown-strategy"]),
        (FREE.with_gang("job", 1, topology=rules("PreferGather Rack")), ["unknown-layer"]),
        (
            FREE.with_gang("job", 1, must_gather=SPINE, groups=BOTH).with_gang("peer", 1, groups=BOTH),
            ["differing-specs"],
        ),
        (FREE.with_gang("job", 1, must_gather=SPINE, selector="ring"), ["worst-fit"]),
        (FREE.with_gang("job", 1, must_gather=SPINE, selector="ring").version("1.7"), []),
        (FREE.with_gang("job", 1).configured(assumed=True), ["assumed-config"]),
        (FREE.with_gang("job", 1).with_finished("job-9", "job"), ["satisfied-by-earlier-pods"]),
        (FREE.with_gang("job", 1), []),
    ],
)
def test_what_is_odd_but_stops_nobody_is_warned_of(drawing: Drawing, codes: list[str]) -> None:
    assert warned(drawing) == codes


def indexed(*order: tuple[str, int | None], must_gather: str = SPINE) -> Drawing:
    drawing = FREE.with_gang("job", 0, minimum=2, must_gather=must_gather)
    for name, index in order:
        drawing = drawing.with_pod(name, gang="job", index=index)
    return drawing


def test_an_index_that_does_not_sort_like_the_names_is_not_honoured() -> None:
    assert warned(indexed(("w-2", 2), ("w-10", 10))) == ["index-not-honoured"]


@pytest.mark.parametrize(
    "drawing",
    [
        indexed(("w-1", 1), ("w-2", 2)),
        indexed(("w-2", 2), ("w-10", None)),
        indexed(("w-2", 2), ("w-10", 10), must_gather=""),
    ],
)
def test_an_index_that_sorts_like_the_names_needs_no_warning(drawing: Drawing) -> None:
    assert warned(drawing) == []


def test_bound_members_do_not_count_for_a_gang_that_counts_only_who_waits() -> None:
    drawing = FREE.with_gang("job", 1, minimum=2, match_policy="only-waiting")
    drawing = drawing.with_running("job-9", on="n1", gang="default/job")
    message = (
        "default/job has 1 pending pod, but needs 2 at once: with match policy only-waiting, bound"
        " pods (1) do not count."
    )
    assert stopped(drawing) == no("replacement-waits", message, "job-0")


def test_a_gang_of_the_group_that_may_not_be_seen_is_not_called_missing() -> None:
    report = why_of(FREE.with_gang("job", 1, groups='["default/job", "far/peer"]').with_gap("PodGroup"))
    assert (report.verdict, report.cause and report.cause.code) == ("unknown", "not-readable")


def test_a_gang_that_its_group_does_not_list_is_stopped_by_those_that_it_lists() -> None:
    drawing = FREE.with_gang("job", 1, groups='["default/peer"]').with_gang("peer", 1, minimum=2)
    report = why_of(drawing)
    assert (report.cause and report.cause.code, report.unblock) == ("group-member-too-few-pods", ())


def test_a_topology_spec_without_awareness_places_no_second_member() -> None:
    drawing = FREE.with_gang("job", 2, must_gather=SPINE).configured(aware_of_topology=False)
    message = (
        "it has a topology spec, but awareNetworkTopology is off in the scheduler's configuration:"
        " only its first pod is ever placed."
    )
    assert stopped(drawing) == no("no-topology", message)


def test_without_awareness_members_that_need_not_wait_are_placed_where_they_fit() -> None:
    drawing = FREE.with_gang("job", 2, minimum=1, must_gather=SPINE).configured(aware_of_topology=False)
    report = why_of(drawing)
    assert (report.verdict, "topology-not-aware" in {notice.code for notice in report.warnings}) == ("yes", True)


def test_a_partner_whose_pods_all_run_is_not_missing() -> None:
    drawing = FREE.with_gang("job", 1, groups=BOTH).with_running("peer-0", on="n1", gang="default/peer")
    assert why_of(drawing).cause is None


def test_a_list_tells_of_pods_that_are_in_gangs_of_another_scheduler() -> None:
    drawing = FREE.with_pod("a", foreign_gang="spec.schedulingGroup").with_pod("b", foreign_gang="spec.schedulingGroup")
    drawing = drawing.with_pod("c", foreign_gang="spec.schedulingGroup", scheduler="x").with_gang("job", 1)
    assert [(one.code, one.message[:44]) for one in every_pending(drawing).warnings] == [
        ("foreign-gang-marker", "Koordinator ignores spec.schedulingGroup of ")
    ]
