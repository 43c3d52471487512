"""PodGroups, gangs and pods as they stand in manifests."""

import json
from typing import Any

import pytest

from kubectl_koord.changes.annotate import PodsWanted
from kubectl_koord.changes.manifests import (
    Manifest,
    Meant,
    gangs_change,
    is_pod_group,
    pod_groups_change,
    pods_change,
)
from kubectl_koord.changes.values import (
    GANG_LABEL,
    INDEX,
    LIGHT_LABEL,
    MINIMUM_LABEL,
    PREFIX,
    SELECTOR,
    SPEC,
    RefusedError,
    WantedSettings,
)

API = "scheduling.sigs.k8s.io/v1alpha1"


def group(name: str = "job", **annotations: str) -> dict[str, Any]:
    named = {PREFIX + key: value for key, value in annotations.items()}
    metadata = {"name": name, "labels": {"a": "b"}, "annotations": named}
    return {"apiVersion": API, "kind": "PodGroup", "metadata": metadata, "spec": {"minMember": 2, "other": 1}}


def pod(named: str, labels: dict[str, str] | None = None, /, **annotations: str) -> dict[str, Any]:
    metadata = {"name": named} if named else {}
    found = {PREFIX + key.replace("_", "-"): value for key, value in annotations.items()}
    return {
        "metadata": {**metadata, "labels": labels or {}, "annotations": found},
        "spec": {"containers": [{"name": "main"}]},
    }


def bare(named: str, /, **annotations: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", **pod(named, None, **annotations)}


def workload(template: dict[str, Any], name: str = "made") -> dict[str, Any]:
    spec = {"replicatedJobs": [{"template": {"spec": {"template": template}}}]}
    return {"kind": "JobSet", "metadata": {"name": name, "namespace": "there"}, "spec": spec}


def template_of(manifest: Manifest) -> Manifest:
    found: Manifest = manifest["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    return found


def meant(key: str = "", *, overwrite: bool = False) -> Meant:
    return Meant(key, "default", overwrite)


def changed_group(written: Manifest, wanted: WantedSettings, *, overwrite: bool = False) -> Manifest:
    change = pod_groups_change([written], meant(overwrite=overwrite), wanted)
    assert change
    return change(written)


def changed_gangs(
    written: list[Manifest], wanted: WantedSettings, key: str = "", *, overwrite: bool = True
) -> list[Manifest]:
    change = gangs_change(written, meant(key, overwrite=overwrite), wanted)
    assert change
    return [change(one) for one in written]


def changed_pods(written: list[Manifest], wanted: PodsWanted, key: str = "") -> list[Manifest]:
    change = pods_change(written, meant(key, overwrite=True), wanted)
    assert change
    return [change(one) for one in written]


def test_only_what_is_wanted_changes() -> None:
    wanted = WantedSettings(min_member=3, removed=("mode",))
    changed = changed_group(group(mode="Strict"), wanted, overwrite=True)
    assert changed == group() | {"spec": {"minMember": 3, "other": 1}}


def test_what_is_so_already_stays_as_it_is() -> None:
    assert changed_group(group(), WantedSettings(removed=("mode",))) == group()


def test_layers_and_gangs_are_taken_as_typed() -> None:
    wanted = WantedSettings(must_gather=("AnyLayer",), groups=("job,any",))
    annotations = changed_group(group(), wanted)["metadata"]["annotations"]
    assert json.loads(annotations[SPEC]) == {"gatherStrategy": [{"layer": "AnyLayer", "strategy": "MustGather"}]}
    assert json.loads(annotations[PREFIX + "groups"]) == ["default/any", "default/job"]


def test_rules_in_the_manifest_are_kept_by_a_multiple_alone() -> None:
    rules = '{"gatherStrategy": [{"layer": "A", "strategy": "MustGather"}]}'
    manifest = group() | {"spec": {}}
    manifest["metadata"]["annotations"] = {SPEC: rules}
    changed = changed_group(manifest, WantedSettings(multiples=("A=2",)), overwrite=True)
    (rule,) = json.loads(changed["metadata"]["annotations"][SPEC])["gatherStrategy"]
    assert rule == {"layer": "A", "strategy": "MustGather", "podCountMultiple": 2}


def test_a_value_is_overwritten_only_when_told_so() -> None:
    with pytest.raises(RefusedError, match=r"--overwrite is false but spec.minMember is declared already: 2"):
        changed_group(group(), WantedSettings(min_member=3))


def test_a_pod_group_is_known_by_kind_and_group() -> None:
    assert is_pod_group(group())
    volcano = group() | {"apiVersion": "scheduling.volcano.sh/v1beta1"}
    assert not is_pod_group(volcano)
    assert pod_groups_change([volcano, {"kind": "Pod"}], meant(), WantedSettings(mode="Strict")) is None


def test_a_name_is_in_its_own_namespace_or_in_the_one_that_is_used() -> None:
    there = group()
    there["metadata"]["namespace"] = "there"
    change = pod_groups_change([group(), there], meant("there/job"), WantedSettings(mode="Strict"))
    assert change
    assert (change(group()), change({"kind": "x"})) == (group(), {"kind": "x"})
    assert change(there)["metadata"]["annotations"] == {PREFIX + "mode": "Strict"}
    nothing: dict[str, Any] = {}
    for nameless in (nothing, {"metadata": nothing}):
        with pytest.raises(RefusedError, match=r"^a PodGroup in the manifests has no metadata.name$"):
            pod_groups_change([{**group(), "metadata": {}, **nameless}], meant(), WantedSettings(mode="Strict"))


def test_all_pod_groups_of_a_gangs_group_change_and_no_other() -> None:
    both = '["default/job", "default/two"]'
    one, two, other = group(groups=both), group("two", groups=both), group("other")
    changed = changed_gangs([one, two, other, {"kind": "ConfigMap"}], WantedSettings(min_member=4), "default/job")
    assert [manifest.get("spec") for manifest in changed] == [
        {"minMember": 4, "other": 1},
        {"minMember": 4, "other": 1},
        {"minMember": 2, "other": 1},
        None,
    ]


def test_the_gangs_that_are_to_start_together_are_changed_whatever_their_groups_are() -> None:
    changed = changed_gangs([group("a"), group("b"), group("c")], WantedSettings(groups=("a", "b")))
    groups = [manifest["metadata"]["annotations"].get(PREFIX + "groups") for manifest in changed]
    assert groups == ['["default/a", "default/b"]', '["default/a", "default/b"]', None]


def test_a_gang_of_the_group_that_is_not_there_is_named_and_nothing_changes() -> None:
    alone = group(groups='["default/job", "default/two"]')
    with pytest.raises(RefusedError, match=r"gang 'default/two' is to change with the others and is not in the man"):
        gangs_change([alone], meant(), WantedSettings(mode="Strict"))


def test_a_gang_without_a_pod_group_changes_on_its_pods_and_templates() -> None:
    light = workload(pod("", {LIGHT_LABEL: "light", MINIMUM_LABEL: "2"}))
    single = bare("one", name="solo", min_available="3")
    none = bare("none")
    changed = changed_gangs([light, single, none], WantedSettings(min_member=4, waiting_time="90s"))
    assert template_of(changed[0])["metadata"] == {
        "labels": {LIGHT_LABEL: "light", MINIMUM_LABEL: "4"},
        "annotations": {PREFIX + "waiting-time": "90s"},
    }
    assert changed[1]["metadata"]["annotations"] == {
        PREFIX + "name": "solo",
        PREFIX + "min-available": "4",
        PREFIX + "waiting-time": "90s",
    }
    assert changed[2] == none
    (other,) = changed_gangs([light], WantedSettings(total=9), "there/light")
    assert template_of(other)["metadata"]["annotations"] == {PREFIX + "total-number": "9"}
    with pytest.raises(RefusedError, match=r"--total 1 is less than minMember 2"):
        changed_gangs([light], WantedSettings(total=1))


@pytest.mark.parametrize("minimum", ["many", "9" * 5000, "-1"])
def test_a_minimum_that_is_none_is_no_bound_for_the_total(minimum: str) -> None:
    (changed,) = changed_gangs([bare("one", name="solo", min_available=minimum)], WantedSettings(total=1))
    assert changed["metadata"]["annotations"][PREFIX + "total-number"] == "1"


def test_pods_of_another_gang_or_of_one_with_a_pod_group_stay_as_they_are() -> None:
    grouped, light = bare("job-0", name="job"), bare("light-0", name="light")
    manifests = [group(), grouped, light]
    assert changed_gangs(manifests, WantedSettings(mode="NonStrict"), "default/job") == [
        group(mode="NonStrict"),
        grouped,
        light,
    ]


def test_a_gang_that_only_a_pod_group_defines_needs_it_in_the_manifests() -> None:
    template = workload(pod("", {GANG_LABEL: "x"}))
    with pytest.raises(RefusedError, match=r"podgroup 'there/x' is not in the manifests"):
        gangs_change([template], meant(), WantedSettings(mode="Strict"))


def test_where_no_gang_is_meant_there_is_no_change() -> None:
    assert gangs_change([bare("a"), {"kind": "x"}], meant(), WantedSettings(mode="Strict")) is None
    assert gangs_change([group()], meant("default/other"), WantedSettings(mode="Strict")) is None
    assert pods_change([group(), bare("a", name="g")], meant("default/other"), PodsWanted(selector="x")) is None


def test_pods_are_numbered_by_name_or_order_each_within_its_gang() -> None:
    pods = [bare("a-7", name="a"), bare("a-3", name="a"), bare("b-1", name="b"), bare("lone")]

    def numbers(changed: list[Manifest]) -> list[str | None]:
        return [one["metadata"]["annotations"].get(INDEX) for one in changed]

    assert numbers(changed_pods(pods, PodsWanted(index=True))) == ["7", "3", "1", None]
    assert numbers(changed_pods(pods, PodsWanted(order=("a-3", "a-7")), "default/a")) == ["1", "0", None, None]


def test_a_selector_is_set_on_templates_and_an_index_cannot_be() -> None:
    template = workload(pod("", name="made"))
    (changed,) = changed_pods([template], PodsWanted(selector="ring", removed=("index",)))
    assert template_of(changed)["metadata"]["annotations"] == {PREFIX + "name": "made", SELECTOR: "ring"}
    for wanted in (PodsWanted(index=True), PodsWanted(order=("x",))):
        with pytest.raises(RefusedError, match=r"need pods with names, and those of there/made are made of a temp"):
            pods_change([template], meant(), wanted)


def test_what_lies_deeper_than_any_template_is_left_alone() -> None:
    deep: Any = pod("", name="deep")
    for _ in range(20):
        deep = [{"in": deep}]
    assert gangs_change([{"kind": "x", "spec": deep}], meant(), WantedSettings(mode="Strict")) is None
