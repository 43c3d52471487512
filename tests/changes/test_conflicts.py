"""What becomes of a planned change when its object has changed meanwhile."""

import pytest
from msgspec import structs

from kubectl_koord.changes import values
from kubectl_koord.changes.values import (
    LABEL,
    MINIMUM,
    PREFIX,
    SPEC,
    ChangedField,
    key_of,
    merge_patch,
    pod_key_of,
    put,
    written_value,
)
from kubectl_koord.reports.change import Change, ObjectName

MODE = PREFIX + "mode"
CHANGE = Change(
    ObjectName("PodGroup", "default", "job"),
    {MODE: None, MINIMUM: 2},
    {MODE: "Strict", MINIMUM: 3},
    {"metadata": {"resourceVersion": "1"}},
    "1",
)


def job(minimum: object = 2, version: str = "2", **annotations: str) -> dict[str, object]:
    named = {PREFIX + key: value for key, value in annotations.items()}
    return {"metadata": {"resourceVersion": version, "annotations": named}, "spec": {"minMember": minimum}}


def test_what_is_as_it_was_shown_is_changed_from_the_newer_version() -> None:
    assert values.moved(CHANGE, job(groups="x")) == ()
    assert values.rebased(CHANGE, job(groups="x")).patch == {
        "metadata": {"resourceVersion": "2", "annotations": {MODE: "Strict"}},
        "spec": {"minMember": 3},
    }


def test_what_is_not_as_it_was_shown_is_told() -> None:
    assert values.moved(CHANGE, job(4, mode="NonStrict")) == (
        ChangedField(MODE, None, "NonStrict"),
        ChangedField(MINIMUM, 2, 4),
    )


def test_what_is_as_wanted_is_done() -> None:
    assert values.is_done(CHANGE, job(3, mode="Strict"))
    assert not values.is_done(CHANGE, job(3))


def test_an_object_is_as_a_change_leaves_it_where_all_that_it_sends_is_there() -> None:
    sent = merge_patch({MODE: "Strict", MINIMUM: 3, SPEC: None}, "1")
    change = structs.replace(CHANGE, patch=sent)
    assert values.is_in(change, job(3, "9", mode="Strict", other="x"))
    assert not values.is_in(change, job(2, "9", mode="Strict"))
    assert not values.is_in(change, job(3, "9", mode="Strict", **{SPEC.removeprefix(PREFIX): "{}"}))
    assert not values.is_in(change, {})
    gone = structs.replace(CHANGE, patch=merge_patch({MINIMUM: None}, "1"))
    assert values.is_in(gone, job(0))
    layers = structs.replace(CHANGE, patch={"metadata": {}, "spec": {"layers": [{"name": "a", "keys": ["x"]}]}})
    for held, same in (
        ([{"name": "a", "keys": ["x"], "more": 1}], True),
        ([{"name": "a", "keys": ["y"]}], False),
        ([{"name": "a", "keys": ["x"]}, {"name": "b"}], False),
        (None, False),
    ):
        assert values.is_in(layers, {"spec": {"layers": held}}) is same


def test_a_change_is_undone_from_what_it_made() -> None:
    undone = values.undone(CHANGE, job(3, "7", mode="Strict"))
    assert (undone.before, undone.after) == (CHANGE.after, CHANGE.before)
    assert undone.patch == {
        "metadata": {"resourceVersion": "7", "annotations": {MODE: None}},
        "spec": {"minMember": 2},
    }


@pytest.mark.parametrize(
    ("managed", "manager"),
    [
        (None, ""),
        ([], ""),
        (["x"], ""),
        ([{"manager": "a", "time": "2026-01-02T00:00:00Z"}, {"manager": "b", "time": "2026-01-01T00:00:00Z"}], "a"),
        ([{"manager": "b"}, {"manager": "a", "time": "2026-01-02T00:00:00Z"}], "a"),
    ],
)
def test_the_last_manager_is_the_one_of_the_newest_entry(managed: object, manager: str) -> None:
    assert values.last_manager({"metadata": {"managedFields": managed}}) == manager


def test_an_object_without_metadata_says_nothing() -> None:
    assert (values.version_of({}), values.last_manager({}), written_value({}, MODE), written_value({}, MINIMUM)) == (
        "",
        "",
        None,
        None,
    )
    assert written_value({}, LABEL + "x") is None


def test_zero_is_absent_in_a_spec_and_other_values_are_text() -> None:
    assert written_value({"spec": {"minMember": 0}}, MINIMUM) is None
    assert written_value({"metadata": {"annotations": {MODE: ["x"]}}}, MODE) == "['x']"


def test_fields_are_put_where_they_belong() -> None:
    before = {"kind": "PodGroup", "metadata": {"name": "job", "annotations": {MODE: "Strict"}}}
    after = put(before, {MODE: None, SPEC: "{}", MINIMUM: 3, LABEL + "x": "y"})
    assert after == {
        "kind": "PodGroup",
        "metadata": {"name": "job", "annotations": {SPEC: "{}"}, "labels": {"x": "y"}},
        "spec": {"minMember": 3},
    }
    assert merge_patch({}, "") == {"metadata": {}}
    assert put({"metadata": "odd"}, {MODE: None}) == {"metadata": {"annotations": {}}}


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("mode", PREFIX + "mode"),
        ("topology", SPEC),
        (PREFIX + "mode", PREFIX + "mode"),
        (PREFIX + "timeout", PREFIX + "timeout"),
        ("pod-group.scheduling.sigs.k8s.io/match-policy", "pod-group.scheduling.sigs.k8s.io/match-policy"),
        (MINIMUM, MINIMUM),
        (PREFIX, ""),
        (PREFIX + "name", ""),
        ("colour", ""),
    ],
)
def test_settings_go_by_our_names_and_by_their_keys(name: str, key: str) -> None:
    assert key_of(name, "PodGroup") == key


def test_settings_of_one_pod_have_names_of_their_own() -> None:
    assert pod_key_of("index") == pod_key_of(PREFIX + "network-topology-index") == PREFIX + "network-topology-index"
    assert pod_key_of("mode") == ""


def test_who_applies_what_is_changed_is_told_with_the_fields() -> None:
    annotated: dict[str, object] = {"f:metadata": {"f:annotations": {".": {}, f"f:{MODE}": {}}}}
    managed = [
        {"manager": "argocd", "operation": "Apply", "fieldsV1": {**annotated, "f:spec": {"f:minMember": {}}}},
        {"manager": "flux", "operation": "Apply", "fieldsV1": annotated},
        {"manager": "helm", "operation": "Apply", "fieldsV1": {"f:spec": {"f:other": {}}}},
        {"operation": "Apply", "fieldsV1": {"f:spec": {"f:minMember": {}}}},
        {"operation": "Apply"},
        {"manager": "kubectl-edit", "operation": "Update", "fieldsV1": annotated},
        "x",
    ]
    found = values.appliers(CHANGE, {"metadata": {"managedFields": managed}})
    assert found == {"argocd": (MODE, MINIMUM), "flux": (MODE,), "": (MINIMUM,)}
    assert values.appliers(CHANGE, job()) == {}
    label = LABEL + "example.com/rack"
    node = structs.replace(CHANGE, before={label: "a"}, after={label: "b"})
    labelled: dict[str, object] = {"f:metadata": {"f:labels": {"f:example.com/rack": {}}}}
    owner = [{"manager": "a", "operation": "Apply", "fieldsV1": labelled}]
    assert values.appliers(node, {"metadata": {"managedFields": owner}}) == {"a": (label,)}
