"""PodGroups as they stand in manifests."""

import json
from typing import Any

import pytest

from kubectl_koord.changes.manifests import changed_manifest, is_pod_group, key_in
from kubectl_koord.changes.settings import PREFIX, SPEC
from kubectl_koord.changes.values import RefusedError, Wanted

API = "scheduling.sigs.k8s.io/v1alpha1"


def group(**annotations: str) -> dict[str, Any]:
    named = {PREFIX + key: value for key, value in annotations.items()}
    metadata = {"name": "job", "labels": {"a": "b"}, "annotations": named}
    return {"apiVersion": API, "kind": "PodGroup", "metadata": metadata, "spec": {"minMember": 2, "other": 1}}


def test_only_what_is_wanted_changes() -> None:
    changed = changed_manifest(
        group(mode="Strict"), "default/job", Wanted(min_member=3, removed=("mode",)), overwrite=True
    )
    assert changed == group() | {"spec": {"minMember": 3, "other": 1}}


def test_what_is_so_already_stays_as_it_is() -> None:
    assert changed_manifest(group(), "default/job", Wanted(removed=("mode",)), overwrite=False) == group()


def test_layers_and_gangs_are_taken_as_typed() -> None:
    wanted = Wanted(must_gather=("AnyLayer",), groups=("job,any",))
    annotations = changed_manifest(group(), "default/job", wanted, overwrite=False)["metadata"]["annotations"]
    assert json.loads(annotations[SPEC]) == {"gatherStrategy": [{"layer": "AnyLayer", "strategy": "MustGather"}]}
    assert json.loads(annotations[PREFIX + "groups"]) == ["default/any", "default/job"]


def test_rules_in_the_manifest_are_kept_by_a_multiple_alone() -> None:
    rules = '{"gatherStrategy": [{"layer": "A", "strategy": "MustGather"}]}'
    manifest = group() | {"spec": {}}
    manifest["metadata"]["annotations"] = {SPEC: rules}
    changed = changed_manifest(manifest, "default/job", Wanted(multiples=("A=2",)), overwrite=True)
    (rule,) = json.loads(changed["metadata"]["annotations"][SPEC])["gatherStrategy"]
    assert rule == {"layer": "A", "strategy": "MustGather", "podCountMultiple": 2}


def test_a_value_is_overwritten_only_when_told_so() -> None:
    with pytest.raises(RefusedError, match=r"--overwrite is false but spec.minMember is declared already: 2"):
        changed_manifest(group(), "default/job", Wanted(min_member=3), overwrite=False)


def test_a_pod_group_is_known_by_kind_and_group() -> None:
    assert is_pod_group(group())
    assert not is_pod_group(group() | {"apiVersion": "scheduling.volcano.sh/v1beta1"})
    assert not is_pod_group({"kind": "Pod"})


def test_a_name_is_in_its_own_namespace_or_in_the_one_that_is_used() -> None:
    assert key_in(group(), "here") == "here/job"
    assert key_in({"metadata": {"name": "x", "namespace": "there"}}, "here") == "there/x"
    nothing: dict[str, Any] = {}
    for nameless in (nothing, {"metadata": nothing}):
        with pytest.raises(RefusedError, match=r"^a PodGroup in the manifests has no metadata.name$"):
            key_in(nameless, "here")
