"""Planned changes of whole gang groups: on all PodGroups, or on all pods of a gang without one."""

from typing import Any

import pytest

from kubectl_koord.changes.annotate import gang_plan, pods_to_read
from kubectl_koord.changes.values import LABEL, MINIMUM_LABEL, PREFIX, SPEC, RefusedError, WantedSettings
from kubectl_koord.model.pods import GangAnnotations
from kubectl_koord.reports.change import ChangePlan, Effect, VerdictSummary
from tests.build import BLOCK, SPINE, Drawing, cluster, rules

BOTH = '["default/a", "default/b"]'
PAIR = cluster("s0: b0[n1 n2]").with_gang("a", 1, groups=BOTH).with_gang("b", 1, groups=BOTH)


def plan(drawing: Drawing, wanted: WantedSettings, of: str = "a", **written: dict[str, Any]) -> ChangePlan:
    named = {f"default/{key.replace('_', '-')}": value for key, value in written.items()}
    return gang_plan(drawing, drawing.subject(of), wanted, named, overwrite=True)


def told(found: ChangePlan) -> dict[str, object]:
    return {f"{change.object.kind} {change.object.name}": dict(change.after) for change in found.changes}


def refusal(drawing: Drawing, wanted: WantedSettings, of: str = "a") -> str:
    with pytest.raises(RefusedError) as refused:
        plan(drawing, wanted, of)
    return str(refused.value)


def test_every_pod_group_of_the_group_is_changed() -> None:
    found = plan(PAIR, WantedSettings(mode="NonStrict"))
    assert told(found) == {"PodGroup a": {PREFIX + "mode": "NonStrict"}, "PodGroup b": {PREFIX + "mode": "NonStrict"}}
    assert pods_to_read(PAIR, PAIR.subject("a"), WantedSettings()) == ()


def test_only_those_that_need_it_are_changed() -> None:
    drawing = PAIR.with_group("b", 1, groups=BOTH, mode="NonStrict")
    assert list(told(plan(drawing, WantedSettings(mode="NonStrict")))) == ["PodGroup a"]


def test_the_gangs_of_a_new_list_get_it_all() -> None:
    drawing = cluster("s0: b0[n1 n2]").with_gang("a", 1).with_gang("b", 1)
    found = plan(drawing, WantedSettings(groups=("a,b",)))
    assert told(found) == {"PodGroup a": {PREFIX + "groups": BOTH}, "PodGroup b": {PREFIX + "groups": BOTH}}
    assert [notice.code for notice in found.warnings] == ["group-attached-once", "group-attached-once"]


def test_a_member_that_does_not_exist_is_refused() -> None:
    assert refusal(PAIR, WantedSettings(groups=("a,c",))) == "gang 'default/c' does not exist, did you mean default/a?"
    alone = cluster("s0: b0[n1]").with_gang("a", 1, groups=BOTH)
    assert refusal(alone, WantedSettings(mode="Strict")) == "gang 'default/b' does not exist, did you mean default/a?"


def test_a_lone_pod_and_a_gang_without_its_pod_group_are_refused() -> None:
    drawing = cluster("s0: b0[n1]").with_pod("lone").with_members(["x-0"], "lost")
    assert refusal(drawing, WantedSettings(mode="Strict"), "lone") == "pod default/lone belongs to no gang"
    assert refusal(drawing, WantedSettings(mode="Strict"), "lost") == "podgroup 'default/lost' not found"


def test_what_could_not_be_read_is_not_said_to_be_missing() -> None:
    assert refusal(PAIR.with_gap("Pod"), WantedSettings(mode="Strict")) == "Pod could not be read: you may not read it"


TERMS = GangAnnotations(minimum="2")
LIGHT = cluster("s0: b0[n1 n2]").with_members(["w-0", "w-1"], "light", needs_pod_group=False, gang_terms=TERMS)


def pod(version: str, labels: dict[str, str] | None = None, **annotations: str) -> dict[str, Any]:
    named = {PREFIX + key.replace("_", "-"): value for key, value in annotations.items()}
    return {"metadata": {"resourceVersion": version, "labels": labels or {}, "annotations": named}}


def test_all_pods_of_a_gang_without_a_pod_group_are_changed() -> None:
    drawing = LIGHT.with_running("w-2", on="n1", cpu=1, gang="default/light")
    wanted = WantedSettings(mode="NonStrict", waiting_time="2m", min_member=3)
    assert pods_to_read(drawing, drawing.subject("light"), wanted) == ("default/w-0", "default/w-1", "default/w-2")
    plain = pod("1", min_available="2")
    labelled = pod("2", {MINIMUM_LABEL: "2"})
    found = plan(drawing, wanted, "light", w_0=plain, w_1=labelled, w_2={})
    usual = {PREFIX + "mode": "NonStrict", PREFIX + "waiting-time": "120s"}
    assert told(found) == {
        "Pod w-0": usual | {PREFIX + "min-available": "3"},
        "Pod w-1": usual | {LABEL + MINIMUM_LABEL: "3"},
        "Pod w-2": usual | {PREFIX + "min-available": "3"},
    }
    assert [change.resource_version for change in found.changes] == ["1", "2", ""]
    assert found.changes[1].patch == {
        "metadata": {"resourceVersion": "2", "annotations": usual, "labels": {MINIMUM_LABEL: "3"}}
    }
    assert [notice.code for notice in found.warnings][-1] == "first-pod-decides"


def test_what_the_scheduler_will_not_notice_has_its_effect_after_a_restart_alone() -> None:
    short_of_one = LIGHT.change_pods(gang_terms=GangAnnotations(minimum="3"))
    old = pod("1", min_available="3")
    effect = plan(short_of_one, WantedSettings(min_member=2), "light", w_0=old, w_1=old).effect
    lacking = VerdictSummary("no", "too-few-pods", "it has 2 of the 3 pods it needs.")
    assert effect == Effect(lacking, lacking, worse=False, after_restart=VerdictSummary("yes", None))
    worse = plan(LIGHT, WantedSettings(min_member=3), "light", w_0=pod("1"), w_1=pod("2")).effect
    assert worse == Effect(VerdictSummary("yes", None), VerdictSummary("yes", None), worse=True, after_restart=lacking)


def test_of_a_group_what_pod_groups_say_is_noticed_and_what_pods_say_is_not() -> None:
    pair = '["default/a", "default/light"]'
    drawing = LIGHT.change_pods(gang_terms=GangAnnotations(minimum="3", groups=pair))
    drawing = drawing.with_gang("a", 1, minimum=2, groups=pair)
    old = pod("1", min_available="3", groups=pair)
    found = plan(drawing, WantedSettings(min_member=1), w_0=old, w_1=old)
    assert found.effect is not None
    assert found.effect.after_restart is not None
    causes = [one.cause for one in (found.effect.before, found.effect.after, found.effect.after_restart)]
    assert causes == ["too-few-pods", "group-member-too-few-pods", None]


def test_multiples_keep_the_rules_of_the_pod_that_decides() -> None:
    spec = rules(f"MustGather {SPINE}")
    written = pod("1", min_available="2", network_topology_spec=spec)
    found = plan(LIGHT, WantedSettings(multiples=(f"{BLOCK}=2",)), "light", w_0=written, w_1=written)
    expected = rules(f"MustGather {SPINE}", f"PreferGather {BLOCK} x2")
    assert told(found) == {"Pod w-0": {SPEC: expected}, "Pod w-1": {SPEC: expected}}


def test_a_gang_that_the_scheduler_could_not_read_is_read_again() -> None:
    drawing = cluster("s0: b0[n1 n2]").with_members(
        ["w-0"], "light", needs_pod_group=False, gang_terms=GangAnnotations(minimum="x")
    )
    found = plan(drawing, WantedSettings(min_member=1), "light", w_0=pod("1", min_available="x"))
    assert found.warnings == ()
    assert found.effect is not None
    assert (found.effect.before.cause, found.effect.after.verdict) == ("gang-not-initialised", "yes")


def test_pods_that_have_it_already_are_left_alone() -> None:
    found = plan(
        LIGHT, WantedSettings(mode="Strict"), "light", w_0=pod("1", mode="Strict"), w_1=pod("2", mode="Strict")
    )
    assert (found.changes, found.warnings, found.message) == ((), (), "default/light unchanged.")
