"""What Koordinator's webhook changes of pods of manifests."""

from typing import Any

import pytest

from kubectl_koord.cluster.manifests.completed import Overrides
from kubectl_koord.errors import KoordError
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.snapshot import Gap
from kubectl_koord.model.unevaluated import OpenProfile
from kubectl_koord.model.values import Toleration
from tests.cluster.manifests.conftest import Submit
from tests.cluster.manifests.test_defaults import limit_range, only, priority_class
from tests.cluster.manifests.test_defaults import pod as plain
from tests.cluster.manifests.test_runtime import FIXED

BATCH: dict[str, Any] = {"priorityClassName": "koord-batch"}
EACH = {"requests": {"cpu": "1500m", "memory": "1Gi", "nvidia.com/gpu": 1}, "limits": {"cpu": "2", "nvidia.com/gpu": 1}}


def pod(*containers: dict[str, Any], labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:  # noqa: ANN401
    written = plain(*containers, **spec)
    return {**written, "metadata": {"name": "p", "labels": labels or {}}}


def profile(name: str = "a", annotations: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        "apiVersion": "config.koordinator.sh/v1alpha1",
        "kind": "ClusterColocationProfile",
        "metadata": {"name": name, "annotations": annotations},
        "spec": spec,
    }


def namespace(name: str = "team", **labels: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def labels(found: PendingPod) -> dict[str, str]:
    return dict(found.labels)


def test_a_profile_sets_labels_the_scheduler_the_classes_and_the_gang(submit: Submit) -> None:
    wanted = profile(
        selector={"matchLabels": {"app": "a"}},
        labels={"team": "b", "pod-group.scheduling.sigs.k8s.io": "g"},
        labelKeysMapping={"app": "also", "none": "empty"},
        labelSuffixes={"app": "-x", "gone": "-y"},
        schedulerName="mine",
        qosClass="LS",
        koordinatorPriority=7,
        priorityClassName="high",
    )
    found = only(
        submit(pod(labels={"app": "a"}), wanted, priority_class("high", 9500, preemptionPolicy="Never"))[0].pending
    )
    assert (found.scheduler, found.priority, found.never_preempts, found.gang) == ("mine", 9500, True, "team/g")
    assert labels(found) == {
        "also": "a",
        "app": "a-x",
        "empty": "",
        "koordinator.sh/priority": "7",
        "koordinator.sh/qosClass": "LS",
        "pod-group.scheduling.sigs.k8s.io": "g",
        "team": "b",
    }


def test_annotations_are_set_and_copied(submit: Submit) -> None:
    spec: dict[str, Any] = {
        "annotations": {"hint": "{}"},
        "annotationKeysMapping": {"hint": "scheduling.koordinator.sh/scheduling-hint"},
    }
    (what,) = only(submit(pod(), profile(**spec))[0].pending).requirements.unevaluated
    assert what.code == "scheduling-hint"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("priority", "expected"),
    [
        ("koord-batch", {"kubernetes.io/batch-cpu": 1500, "kubernetes.io/batch-memory": 1 << 30, "nvidia.com/gpu": 1}),
        ("koord-mid", {"kubernetes.io/mid-cpu": 1500, "kubernetes.io/mid-memory": 1 << 30, "nvidia.com/gpu": 1}),
        ("koord-free", {"cpu": 1500, "memory": 1 << 30, "nvidia.com/gpu": 1}),
        ("koord-prod", {"cpu": 1500, "memory": 1 << 30, "nvidia.com/gpu": 1}),
    ],
)
def test_batch_and_mid_pods_of_a_profile_request_resources_of_their_class(
    submit: Submit, priority: str, expected: dict[str, int]
) -> None:
    found = only(submit(pod(EACH), profile(priorityClassName=priority))[0].pending)
    assert dict(found.requirements.requests) == expected
    written = pod(EACH, priorityClassName=priority)
    assert dict(only(submit(written, profile())[0].pending).requirements.requests) == expected
    assert dict(only(submit(written)[0].pending).requirements.requests)["nvidia.com/gpu"] == 1
    assert "cpu" in dict(only(submit(written)[0].pending).requirements.requests)


def test_the_class_of_a_label_or_of_best_effort_counts_too(submit: Submit) -> None:
    by_label = pod(EACH, labels={"koordinator.sh/priority-class": "koord-batch"})
    assert "kubernetes.io/batch-cpu" in dict(only(submit(by_label, profile())[0].pending).requirements.requests)
    by_qos = pod(EACH, labels={"koordinator.sh/qosClass": "BE"})
    assert "kubernetes.io/batch-cpu" in dict(only(submit(by_qos, profile())[0].pending).requirements.requests)


def test_limits_stand_in_for_requests_and_init_containers_are_translated(submit: Submit) -> None:
    written = pod({"limits": {"cpu": "2"}}, **BATCH)
    written["spec"]["initContainers"] = [{"name": "i", "resources": {"requests": {"cpu": "3"}}}]
    assert dict(only(submit(written, profile())[0].pending).requirements.requests) == {"kubernetes.io/batch-cpu": 3000}
    only_limits = pod({"limits": {"kubernetes.io/batch-cpu": "2000"}}, **BATCH)
    assert dict(only(submit(only_limits, profile())[0].pending).requirements.requests) == {
        "kubernetes.io/batch-cpu": 2000
    }


def test_a_limitrange_fills_in_again_what_the_webhook_has_renamed(submit: Submit) -> None:
    found = only(submit(pod(EACH, **BATCH), profile(), limit_range(defaultRequest={"cpu": "1"}))[0].pending)
    assert dict(found.requirements.requests) == {
        "cpu": 1000,
        "kubernetes.io/batch-cpu": 1500,
        "kubernetes.io/batch-memory": 1 << 30,
        "nvidia.com/gpu": 1,
    }


def test_an_overhead_that_the_webhook_has_renamed_is_refused(submit: Submit) -> None:
    with pytest.raises(KoordError, match=r"spec\.overhead is not that of RuntimeClass 'kata'"):
        submit(pod(EACH, runtimeClassName="kata", **BATCH), profile(), FIXED)


@pytest.mark.parametrize("spec", [{}, {"probability": 0}, {"probability": "50%"}])
def test_a_profile_may_leave_resources_as_they_are(submit: Submit, spec: dict[str, Any]) -> None:
    keeping = profile("z", {"config.koordinator.sh/skip-update-resources": ""}, **spec)
    found = only(submit(pod(EACH, **BATCH), profile(), keeping)[0].pending)
    assert dict(found.requirements.requests)["cpu"] == 1500


@pytest.mark.parametrize(
    ("spec", "there", "matches"),
    [
        ({}, (), True),
        ({"selector": {}}, (), True),
        ({"selector": {"matchLabels": {"app": "a"}}}, (), True),
        ({"selector": {"matchLabels": {"app": "b"}}}, (), False),
        ({"selector": {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}}, (), False),
        ({"selector": {"matchExpressions": [{"key": "app", "operator": "In"}]}}, (), True),
        ({"selector": {"matchExpressions": [{"key": "app", "operator": "Like", "values": ["b"]}]}}, (), True),
        ({"namespaceSelector": {"matchLabels": {"pool": "x"}}}, (namespace(pool="x"),), True),
        ({"namespaceSelector": {"matchLabels": {"pool": "x"}}}, (namespace(pool="y"),), False),
        ({"namespaceSelector": {"matchLabels": {"pool": "x"}}}, (), False),
        ({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "team"}}}, (), True),
        ({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "team"}}}, (namespace(),), True),
        ({"probability": 0}, (), False),
        ({"probability": "0%"}, (), False),
        ({"probability": -1}, (), False),
        ({"probability": 99}, (), True),
        ({"probability": "100%"}, (), True),
        ({"probability": 500}, (), True),
    ],
)
def test_a_profile_is_for_the_pods_that_its_selectors_match(
    submit: Submit, spec: dict[str, Any], there: tuple[dict[str, Any], ...], *, matches: bool
) -> None:
    found = only(submit(pod(labels={"app": "a"}), profile(schedulerName="mine", **spec), *there)[0].pending)
    assert (found.scheduler == "mine", found.requirements.unevaluated) == (matches, ())


def test_profiles_select_by_the_labels_as_written_and_the_last_by_name_wins(submit: Submit) -> None:
    first = profile("a", labels={"app": "b"}, schedulerName="first")
    second = profile("b", selector={"matchLabels": {"app": "a"}}, schedulerName="second")
    third = profile("c", selector={"matchLabels": {"app": "b"}}, schedulerName="third")
    assert only(submit(pod(labels={"app": "a"}), third, second, first)[0].pending).scheduler == "second"


def test_a_patch_is_merged_as_api_servers_merge_pods(submit: Submit) -> None:
    spread = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    written = pod(
        labels={"app": "a", "gone": "x"},
        nodeSelector={"a": "1", "b": "1"},
        tolerations=[{"key": "old", "operator": "Exists"}],
        topologySpreadConstraints=[spread, {**spread, "topologyKey": "rack"}],
    )
    patch = {
        "metadata": {"labels": {"gone": None, "new": "y"}, "annotations": {"x": "y"}, "name": "other"},
        "spec": {
            "nodeSelector": {"a": None, "c": "1"},
            "tolerations": [{"key": "new", "operator": "Exists"}],
            "topologySpreadConstraints": [{"topologyKey": "rack", "maxSkew": 2}, {**spread, "topologyKey": "row"}],
            "terminationGracePeriodSeconds": 3,
            "nodeName": "n1",
        },
    }
    found = only(submit(written, profile(patch=patch))[0].pending)
    assert (found.name, labels(found)) == ("p", {"app": "a", "new": "y"})
    assert found.requirements.selector == (("b", "1"), ("c", "1"))
    assert found.requirements.tolerations == (Toleration("new", "Exists", "", ""),)
    assert [(one.key, one.max_skew) for one in found.requirements.spread] == [("zone", 1), ("rack", 2), ("row", 1)]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"probability": "50%"}, OpenProfile("a", "probability")),
        ({"probability": 98}, OpenProfile("a", "probability")),
        ({"patch": {"spec": {"containers": [{"name": "main"}]}}}, OpenProfile("a", "patch")),
        ({"patch": {"spec": {"tolerations": [{"$patch": "replace"}]}}}, OpenProfile("a", "patch")),
        ({"labelKeysMapping": {"a": "b", "b": "c"}}, OpenProfile("a", "mapping")),
        ({"annotationKeysMapping": {"a": "c", "b": "c"}}, OpenProfile("a", "mapping")),
    ],
)
def test_what_a_profile_does_at_random_or_beyond_what_is_read_is_left_open(
    submit: Submit, spec: dict[str, Any], expected: OpenProfile
) -> None:
    found = only(submit(pod(), profile(schedulerName="mine", **spec))[0].pending)
    assert (found.scheduler, found.requirements.unevaluated) == ("default-scheduler", (expected,))


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"priorityClassName": "gone"}, "ClusterColocationProfile 'a': PriorityClass 'gone': none such was read"),
        ({"probability": "half"}, "ClusterColocationProfile 'a': probability 'half'"),
        ({"patch": {"spec": {"tolerations": "all"}}}, "ClusterColocationProfile 'a': Expected `array"),
    ],
)
def test_a_profile_that_keeps_pods_from_being_made_is_an_error_that_names_it(
    submit: Submit, spec: dict[str, Any], expected: str
) -> None:
    with pytest.raises(KoordError, match=f"job.yaml: document 1: Pod p: {expected}"):
        submit(pod(), profile(**spec))


def test_a_priority_from_the_command_line_beats_that_of_a_profile(submit: Submit) -> None:
    for chosen, expected in ((Overrides(priority=4), 4), (Overrides(priority_class="koord-free"), 3000)):
        assert only(submit(pod(), profile(priorityClassName="gone"), overrides=chosen)[0].pending).priority == expected


def test_what_could_not_be_read_leaves_pods_open(submit: Submit) -> None:
    def opened(*there: dict[str, Any], gap: Gap) -> tuple[object, ...]:
        return only(submit(pod(), *there, gaps=[gap])[0].pending).requirements.unevaluated

    hidden = Gap("ClusterColocationProfile", "forbidden", "you may not")
    assert opened(gap=hidden) == (OpenProfile("", "unread"),)
    assert opened(gap=Gap("ClusterColocationProfile", "missing", "not served")) == ()
    assert opened(gap=Gap("ClusterColocationProfile", "not-in-input", "none")) == ()
    no_namespaces = Gap("Namespace", "forbidden", "you may not")
    selecting = profile(namespaceSelector={"matchLabels": {"pool": "x"}})
    assert opened(selecting, gap=no_namespaces) == (OpenProfile("a", "namespaces"),)
    assert opened(selecting, namespace(pool="y"), gap=no_namespaces) == ()
    assert opened(profile(namespaceSelector={}), gap=no_namespaces) == ()


def test_profiles_and_namespaces_may_stand_in_the_manifests(submit: Submit) -> None:
    chosen = profile(namespaceSelector={"matchLabels": {"pool": "x"}}, schedulerName="mine")
    snapshot, submitted = submit({"kind": "List", "items": [namespace(pool="x"), chosen, pod()]})
    assert (only(snapshot.pending).scheduler, submitted.skipped, submitted.is_mutated) == ("mine", (), True)
