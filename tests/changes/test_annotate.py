"""Planned changes of PodGroups and pods: what would be sent, what it would do, and what is refused."""

import json

import pytest

from kubectl_koord.changes.annotate import PodsWanted, pod_group_plan, pods_plan
from kubectl_koord.changes.values import (
    INDEX,
    LIGHT_POLICY,
    MINIMUM,
    PREFIX,
    SELECTOR,
    SPEC,
    TIMEOUT,
    RefusedError,
    WantedSettings,
    seconds,
)
from kubectl_koord.engine.gangs import Subject
from kubectl_koord.reports.change import Change, ChangePlan, Effect, ObjectName, VerdictSummary
from tests.build import BLOCK, NODE, SPINE, Drawing, cluster, rules

FREE = cluster("s0: b0[n1 n2]; s1: b1[n3 n4]").with_gang("job", 2, 8, resource_version="7")
JOB = ObjectName("PodGroup", "default", "job")


def plan(wanted: WantedSettings, drawing: Drawing = FREE, *, overwrite: bool = False) -> tuple[Change, ...]:
    return pod_group_plan(drawing, "default/job", wanted, overwrite=overwrite).changes


def after(wanted: WantedSettings, drawing: Drawing = FREE, *, overwrite: bool = False) -> dict[str, object]:
    (change,) = plan(wanted, drawing, overwrite=overwrite)
    return dict(change.after)


def index_plan(drawing: Drawing, subject: Subject, *, overwrite: bool) -> ChangePlan:
    return pods_plan(drawing, subject, PodsWanted(index=True), overwrite=overwrite)


def refusal(wanted: WantedSettings, drawing: Drawing = FREE, key: str = "default/job") -> str:
    with pytest.raises(RefusedError) as refused:
        pod_group_plan(drawing, key, wanted, overwrite=False)
    return str(refused.value)


@pytest.mark.parametrize(
    ("kind", "wanted", "key"),
    [
        ("PodGroup", WantedSettings(mode="Strict"), "default/gone"),
        ("ClusterNetworkTopology", WantedSettings(must_gather=(SPINE,)), "default/job"),
        ("Pod", WantedSettings(groups=("job,gone",)), "default/job"),
        ("PodGroup", WantedSettings(groups=("job,gone",)), "default/job"),
    ],
)
def test_what_could_not_be_read_is_not_said_to_be_missing(kind: str, wanted: WantedSettings, key: str) -> None:
    assert refusal(wanted, FREE.with_gap(kind), key) == f"{kind} could not be read: you may not read it"


@pytest.mark.parametrize("kind", ["Pod", "PodGroup"])
def test_no_index_is_set_where_the_members_could_not_all_be_read(kind: str) -> None:
    with pytest.raises(RefusedError, match=f"^{kind} could not be read: you may not read it$"):
        index_plan(FREE.with_gap(kind), FREE.subject("job"), overwrite=False)


def test_a_change_holds_before_after_and_the_patch_that_is_sent() -> None:
    spec = rules(f"MustGather {SPINE}")
    found = pod_group_plan(FREE, "default/job", WantedSettings(must_gather=(SPINE,)), overwrite=False)
    patch = {"metadata": {"resourceVersion": "7", "annotations": {SPEC: spec}}}
    assert found.changes == (Change(JOB, {SPEC: None}, {SPEC: spec}, patch, "7"),)
    assert (found.verdict, found.applied, found.message, found.warnings) == ("yes", False, "", ())
    assert found.effect == Effect(VerdictSummary("yes", None), VerdictSummary("yes", None))


def test_the_effect_is_what_why_pending_would_answer_then() -> None:
    drawing = FREE.with_gang("job", 2, 8, must_gather=BLOCK).cordon("n1", "n3")
    found = pod_group_plan(drawing, "default/job", WantedSettings(prefer_gather=(BLOCK,)), overwrite=True)
    assert found.effect is not None
    assert (found.effect.before.verdict, found.effect.before.cause) == ("no", "insufficient-slots")
    assert found.effect.after == VerdictSummary("yes", None)


FULL = FREE.with_running("a", on="n1", cpu=1).with_running("b", on="n2", cpu=1).with_running("c", on="n3", cpu=1)


@pytest.mark.parametrize(
    ("drawing", "wanted", "answers"),
    [
        (FREE.cordon("n1", "n3"), WantedSettings(must_gather=(SPINE,)), ("yes", "no insufficient-slots", True)),
        (FREE, WantedSettings(must_gather=(NODE,)), ("yes", "no never-fits", True)),
        (FULL, WantedSettings(must_gather=(SPINE,)), ("no insufficient-capacity", "no insufficient-slots", False)),
        (FULL, WantedSettings(must_gather=(NODE,)), ("no insufficient-capacity", "no never-fits", True)),
        (
            FREE.with_gang("job", 2, 8, must_gather=NODE),
            WantedSettings(must_gather=(SPINE,)),
            ("no never-fits", "yes", False),
        ),
        (
            FREE.with_group("gone", 2).with_running("w", on="n1", cpu=0),
            WantedSettings(groups=("job,gone",)),
            ("yes", "no group-member-too-few-pods", True),
        ),
        (
            FULL.with_group("gone", 2),
            WantedSettings(groups=("job,gone",)),
            ("no insufficient-capacity", "no group-member-too-few-pods", True),
        ),
        (
            FREE.with_gang("job", 2, 9, must_gather="Rack"),
            WantedSettings(must_gather=(SPINE,)),
            ("no unknown-layer", "no never-fits", False),
        ),
        (
            FREE.with_gang("job", 2, 9, minimum=3, must_gather="Rack"),
            WantedSettings(must_gather=(SPINE,)),
            ("no too-few-pods", "no too-few-pods", False),
        ),
    ],
)
def test_a_change_is_worse_by_its_verdict_or_of_two_noes_by_its_cause(
    drawing: Drawing, wanted: WantedSettings, answers: tuple[str, str, bool]
) -> None:
    effect = pod_group_plan(drawing, "default/job", wanted, overwrite=True).effect
    assert effect is not None
    told = tuple(f"{one.verdict} {one.cause or ''}".rstrip() for one in (effect.before, effect.after))
    assert (*told, effect.worse) == answers


def test_everything_may_be_set_at_once() -> None:
    wanted = WantedSettings(
        mode="NonStrict",
        match_policy="only-waiting",
        groups=("job, peer",),
        waiting_time="10m",
        total=4,
    )
    (change,) = plan(wanted, FREE.with_gang("peer", 1))
    annotations = {
        PREFIX + "mode": "NonStrict",
        PREFIX + "match-policy": "only-waiting",
        PREFIX + "groups": '["default/job", "default/peer"]',
        PREFIX + "total-number": "4",
    }
    assert change.after == {**annotations, "spec.scheduleTimeoutSeconds": 600}
    assert change.patch == {
        "metadata": {"resourceVersion": "7", "annotations": annotations},
        "spec": {"scheduleTimeoutSeconds": 600},
    }


def test_a_timeout_alone_touches_no_annotation() -> None:
    (change,) = plan(WantedSettings(waiting_time="60"), FREE.with_group("job", 2))
    assert change.patch == {"metadata": {}, "spec": {"scheduleTimeoutSeconds": 60}}


@pytest.mark.parametrize(
    ("before", "wanted", "written"),
    [
        (
            None,
            WantedSettings(must_gather=(SPINE,), prefer_gather=(BLOCK,)),
            (f"PreferGather {BLOCK}", f"MustGather {SPINE}"),
        ),
        (None, WantedSettings(must_gather=(SPINE,), prefer_gather=(SPINE,)), (f"MustGather {SPINE}",)),
        (None, WantedSettings(multiples=(f"{BLOCK}=4",)), (f"PreferGather {BLOCK} x4",)),
        (rules(f"MustGather {SPINE}"), WantedSettings(multiples=(f"{SPINE}=2",)), (f"MustGather {SPINE} x2",)),
        (rules(f"MustGather {SPINE} x2"), WantedSettings(multiples=(f"{SPINE}=1",)), (f"MustGather {SPINE}",)),
        (rules(f"MustGather {SPINE} x2"), WantedSettings(must_gather=(BLOCK,)), (f"MustGather {BLOCK}",)),
        ("unreadable", WantedSettings(multiples=(f"{BLOCK}=4",)), (f"PreferGather {BLOCK} x4",)),
    ],
)
def test_rules_replace_rules_and_multiples_alone_keep_them(
    before: str | None, wanted: WantedSettings, written: tuple[str, ...]
) -> None:
    drawing = FREE.with_group("job", 2, topology=before)
    assert after(wanted, drawing, overwrite=True) == {SPEC: rules(*written)}


def test_what_is_so_already_changes_nothing() -> None:
    drawing = FREE.with_group("job", 2, mode="Strict")
    found = pod_group_plan(drawing, "default/job", WantedSettings(mode="Strict"), overwrite=False)
    assert (found.changes, found.message) == ((), "default/job unchanged.")


def test_a_value_is_overwritten_only_when_asked_to() -> None:
    drawing = FREE.with_group("job", 2, timeout_seconds=60, mode="Strict")
    words = "--overwrite is false but spec.scheduleTimeoutSeconds is declared already: 60"
    assert refusal(WantedSettings(waiting_time="90"), drawing) == words
    assert after(WantedSettings(waiting_time="90"), drawing, overwrite=True) == {"spec.scheduleTimeoutSeconds": 90}


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (
            WantedSettings(must_gather=("SpinLayer",)),
            "layer 'SpinLayer' is not in the topology, did you mean SpineLayer?",
        ),
        (WantedSettings(multiples=("Rack=2",)), "layer 'Rack' is not in the topology"),
        (WantedSettings(multiples=(f"{SPINE}=0",)), "--multiple 'SpineLayer=0' must be LAYER=N with N above zero"),
        (WantedSettings(multiples=(SPINE,)), "--multiple 'SpineLayer' must be LAYER=N with N above zero"),
        (WantedSettings(multiples=("=2",)), "--multiple '=2' must be LAYER=N with N above zero"),
        (WantedSettings(multiples=(f"{SPINE}=²",)), "--multiple 'SpineLayer=²' must be LAYER=N with N above zero"),
        (WantedSettings(mode="strict"), "--mode 'strict' is not one of Strict, NonStrict"),
        (
            WantedSettings(match_policy="never"),
            "--match-policy 'never' is not one of only-waiting, waiting-and-running, once-satisfied",
        ),
        (WantedSettings(groups=("job,pear",)), "gang 'default/pear' does not exist"),
        (
            WantedSettings(groups=("default/peer",)),
            "--groups must include default/job itself: the scheduler takes the list literally",
        ),
        (WantedSettings(total=1), "--total 1 is less than minMember 2"),
        (WantedSettings(total=3, min_member=4), "--total 3 is less than minMember 4"),
        (WantedSettings(min_member=0), "--min-member 0 must be above zero and below 2147483648"),
        (WantedSettings(mode="Strict", removed=("mode",)), "'mode' is to be set and to be removed"),
        (
            WantedSettings(removed=("colour",)),
            "'colour' is no setting of a gang (kubectl annotate removes other annotations)",
        ),
        (
            WantedSettings(),
            (
                "nothing to set: give at least one of --must-gather, --prefer-gather, --multiple, --mode,"
                " --match-policy, --groups, --waiting-time, --total, --min-member, or the name of a setting and - to"
                " remove it, as in mode-"
            ),
        ),
    ],
)
def test_what_cannot_be_is_refused(wanted: WantedSettings, words: str) -> None:
    drawing = FREE if wanted.groups != ("default/peer",) else FREE.with_gang("peer", 1)
    assert refusal(wanted, drawing) == words


def test_an_unknown_pod_group_is_answered_with_the_nearest() -> None:
    words = "podgroup 'default/jab' not found, did you mean default/job?"
    assert refusal(WantedSettings(mode="Strict"), key="default/jab") == words
    assert refusal(WantedSettings(mode="Strict"), cluster(), "default/jab") == "podgroup 'default/jab' not found"


def test_without_a_topology_no_layer_can_be_gathered_on() -> None:
    words = "no layer to gather on: there is no ClusterNetworkTopology default"
    assert refusal(WantedSettings(must_gather=(SPINE,)), FREE.but(topologies={})) == words


@pytest.mark.parametrize(
    ("written", "number"), [("600", 600), ("90s", 90), ("10m", 600), ("1h30m", 5400), ("1h1m1s", 3661)]
)
def test_a_duration_is_read_in_whole_seconds(written: str, number: int) -> None:
    assert seconds(written) == number


@pytest.mark.parametrize("written", ["", "s", "1.5h", "10 m", "-5", "1d", "10ms", "²"])
def test_what_is_no_duration_is_refused(written: str) -> None:
    with pytest.raises(RefusedError, match="is not a duration such as 90s, 10m or 1h30m"):
        seconds(written)


@pytest.mark.parametrize("written", ["0", "0s", "99999999999"])
def test_a_duration_must_be_above_zero_and_fit(written: str) -> None:
    with pytest.raises(RefusedError, match="must be above zero and below 68 years"):
        seconds(written)


def test_a_change_is_planned_with_the_warnings_that_it_brings() -> None:
    drawing = FREE.with_gang("job", 2, 8, selector="ring").configured(assumed=True)
    found = pod_group_plan(drawing, "default/job", WantedSettings(must_gather=(SPINE,)), overwrite=False)
    assert [notice.code for notice in found.warnings] == ["worst-fit"]


def ranked(*names: str) -> Drawing:
    return cluster("s0: b0[n1]").with_group("job", 1).with_members(names, "job", resource_version="3")


def ranks(drawing: Drawing, *, overwrite: bool = False) -> tuple[Change, ...]:
    return index_plan(drawing, drawing.subject("job"), overwrite=overwrite).changes


def test_each_pod_gets_the_number_that_its_name_ends_in() -> None:
    patch = {"metadata": {"resourceVersion": "3", "annotations": {INDEX: "10"}}}
    assert [(change.object.name, change.after) for change in ranks(ranked("w-2", "w-10"))] == [
        ("w-10", {INDEX: "10"}),
        ("w-2", {INDEX: "2"}),
    ]
    assert ranks(ranked("w-10")) == (
        Change(ObjectName("Pod", "default", "w-10"), {INDEX: None}, {INDEX: "10"}, patch, "3"),
    )


def test_pods_that_have_their_rank_are_left_alone() -> None:
    assert ranks(ranked("w-1").change_pods(index=1)) == ()


def test_another_rank_is_overwritten_only_when_asked_to() -> None:
    drawing = ranked("w-1").change_pods(index=5)
    with pytest.raises(RefusedError, match="is declared already: 5"):
        ranks(drawing)
    assert [change.after for change in ranks(drawing, overwrite=True)] == [{INDEX: "1"}]


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("w-1", "master"), "pod default/master has no number at the end of its name: cannot derive its index"),
        (("a-1", "b-1"), "pods default/a-1 and default/b-1 end in the same number 1"),
        ((), "default/job has no pending pods"),
    ],
)
def test_pods_without_a_rank_of_their_own_are_refused(names: tuple[str, ...], words: str) -> None:
    with pytest.raises(RefusedError) as refused:
        ranks(ranked(*names))
    assert str(refused.value) == words


def test_a_lone_pod_has_no_rank() -> None:
    drawing = cluster("s0: b0[n1]").with_pod("lone-0")
    with pytest.raises(RefusedError, match="pod default/lone-0 belongs to no gang"):
        index_plan(drawing, drawing.subject("lone-0"), overwrite=False)


def test_the_effect_of_ranks_is_shown_with_its_warnings() -> None:
    drawing = ranked("w-2", "w-10").with_group("job", 2, topology=json.dumps({"gatherStrategy": []}))
    found = index_plan(drawing, drawing.subject("job"), overwrite=False)
    assert found.effect == Effect(VerdictSummary("yes", None), VerdictSummary("yes", None))
    assert [notice.code for notice in found.warnings] == ["index-not-honoured"]


def test_gangs_of_one_group_may_share_ranks() -> None:
    ids = '["default/a", "default/b"]'
    drawing = cluster("s0: b0[n1]").with_gang("a", 1, groups=ids).with_gang("b", 1, groups=ids)
    found = index_plan(drawing, drawing.subject("a"), overwrite=False)
    assert [change.after for change in found.changes] == [{INDEX: "0"}, {INDEX: "0"}]


def test_a_setting_is_removed_by_our_name_or_its_key_without_overwriting() -> None:
    drawing = FREE.with_group("job", 2, mode="NonStrict", timeout_seconds=60, topology=rules(f"MustGather {SPINE}"))
    (change,) = plan(WantedSettings(removed=("mode", "waiting-time", SPEC)), drawing)
    assert change.before == {PREFIX + "mode": "NonStrict", TIMEOUT: 60, SPEC: rules(f"MustGather {SPINE}")}
    assert change.after == {PREFIX + "mode": None, TIMEOUT: None, SPEC: None}
    assert change.patch == {
        "metadata": {"annotations": {PREFIX + "mode": None, SPEC: None}},
        "spec": {"scheduleTimeoutSeconds": None},
    }


def test_what_is_not_there_needs_not_be_removed() -> None:
    assert plan(WantedSettings(removed=("mode", "min-member")), FREE.with_group("job", 0)) == ()


def test_the_policy_under_its_older_name_counts_once_the_newer_is_removed() -> None:
    drawing = FREE.with_group("job", 2, match_policy="only-waiting", annotations=((LIGHT_POLICY, "once-satisfied"),))
    (change,) = plan(WantedSettings(removed=("match-policy",)), drawing)
    assert change.after == {PREFIX + "match-policy": None}


def test_a_minimum_goes_into_the_spec_and_its_effect_is_shown() -> None:
    drawing = FREE.with_gang("job", 2, 8, minimum=3)
    found = pod_group_plan(drawing, "default/job", WantedSettings(min_member=2), overwrite=True)
    (change,) = found.changes
    assert (change.before, change.after) == ({MINIMUM: 3}, {MINIMUM: 2})
    assert change.patch == {"metadata": {}, "spec": {"minMember": 2}}
    assert found.effect == Effect(
        VerdictSummary("no", "too-few-pods", "it has 2 of the 3 pods it needs."),
        VerdictSummary("yes", None),
    )


def test_a_changed_list_of_gangs_is_told_to_be_noticed_only_in_part() -> None:
    found = pod_group_plan(FREE, "default/job", WantedSettings(groups=("job",)), overwrite=False)
    assert [notice.code for notice in found.warnings] == ["group-attached-once"]


def pods(drawing: Drawing, wanted: PodsWanted) -> tuple[Change, ...]:
    return pods_plan(drawing, drawing.subject("job"), wanted, overwrite=False).changes


def test_pods_get_their_place_in_a_given_order() -> None:
    drawing = ranked("master", "w-1", "w-2")
    changes = pods(drawing, PodsWanted(order=("w-2", "default/master", "w-1")))
    assert {change.object.name: change.after[INDEX] for change in changes} == {"w-2": "0", "master": "1", "w-1": "2"}
    warned = pods_plan(drawing, drawing.subject("job"), PodsWanted(order=("w-2", "w-1", "master")), overwrite=False)
    assert warned.changes


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (
            PodsWanted(order=("w-1", "w-3")),
            "--index-order: 'w-3' is no pending pod of the gang, did you mean default/w-1?",
        ),
        (PodsWanted(order=("w-1", "w-1")), "--index-order names w-1 twice"),
        (PodsWanted(order=("w-1",)), "--index-order leaves out default/w-2"),
        (PodsWanted(order=("w-1",), index=True), "--index and --index-order cannot be used together"),
        (PodsWanted(index=True, removed=("index",)), "'index' is to be set and to be removed"),
        (
            PodsWanted(removed=("mode",)),
            "'mode' is not one of index, topology-selector (settings of the gang: see annotate gang)",
        ),
        (
            PodsWanted(),
            (
                "nothing to set: give at least one of --index, --index-order, --topology-selector, "
                "or index- or topology-selector- to remove it"
            ),
        ),
        (
            PodsWanted(selector=" x"),
            "--topology-selector ' x' must have 1 to 253 characters, without blanks around them",
        ),
    ],
)
def test_what_cannot_be_of_pods_is_refused(wanted: PodsWanted, words: str) -> None:
    with pytest.raises(RefusedError) as refused:
        pods(ranked("w-1", "w-2"), wanted)
    assert str(refused.value) == words


def test_a_selector_is_set_with_the_warning_of_what_it_does() -> None:
    drawing = FREE.with_gang("job", 2, 8, must_gather=SPINE).configured(assumed=True)
    found = pods_plan(drawing, drawing.subject("job"), PodsWanted(selector="ring"), overwrite=False)
    assert [change.after for change in found.changes] == [{SELECTOR: "ring"}, {SELECTOR: "ring"}]
    assert [notice.code for notice in found.warnings] == ["worst-fit"]


def test_index_and_selector_are_removed() -> None:
    drawing = ranked("w-1").change_pods(index=5, selector="ring")
    (change,) = pods(drawing, PodsWanted(removed=("index", SELECTOR)))
    assert (change.before, change.after) == ({INDEX: "5", SELECTOR: "ring"}, {INDEX: None, SELECTOR: None})
