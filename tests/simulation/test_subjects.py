"""Names: whom `x`, `ns/x`, `pod/x` and `job/x` mean."""

import pytest
from msgspec import structs

from kubectl_koord.engine.gangs import GangSubject, PodSubject, Subject, all_gangs
from kubectl_koord.simulation.subjects import (
    Unknown,
    find,
    find_anywhere,
    has_labels,
    homes,
    is_kind,
    pending_subjects,
    pod_group_key,
)
from tests.build import Drawing, cluster, having

DRAWN = (
    cluster("s0: b0[n1]")
    .with_gang("train", 2, owner="PyTorchJob/bert")
    .with_pod("lone")
    .with_pod("single", owner="Job/one")
    .with_running("busy", on="n1", owner="ReplicaSet/web-server-6c9f7d5b84")
    .with_running("train-9", on="n1", gang="default/train")
    .with_finished("old-0", "old")
    .with_gang("ml/deep", 1)
    .with_pod("pod/odd")
)


def test_of_a_name_in_two_parts_the_first_is_a_kind_that_is_known_or_perhaps_a_namespace() -> None:
    assert homes("job", "default") == homes("pod/job", "default") == homes("Job/job", "default") == ("default",)
    assert homes("jobset.jobset.x-k8s.io/job", "default") == ("default",)
    assert homes("ml/job", "default") == ("ml", "default")
    assert homes("ml/Job/job", "default") == ("default",)


def key(name: str, drawing: Drawing = DRAWN, namespace: str = "default") -> str | None:
    found = find(drawing, name, namespace)
    return found.key if isinstance(found, Subject) else None


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("train", "default/train"),
        ("default/train", "default/train"),
        ("podgroup/train", "default/train"),
        ("PodGroups/train", "default/train"),
        ("pg/train", "default/train"),
        ("gang/train", "default/train"),
        ("podgroup.scheduling.sigs.k8s.io/train", "default/train"),
        ("ml/deep", "ml/deep"),
        ("train-0", "default/train"),
        ("pod/train-0", "default/train"),
        ("pods/train-9", "default/train"),
        ("default/PyTorchJob/bert", "default/train"),
        ("default/pod/lone", "default/lone"),
        ("ml/PodGroup/deep", "ml/deep"),
        ("pod/PyTorchJob/bert", None),
        ("po/lone", "default/lone"),
        ("lone", "default/lone"),
        ("busy", "default/busy"),
        ("old-0", "default/old"),
        ("bert", "default/train"),
        ("pytorchjob/bert", "default/train"),
        ("PyTorchJobs/bert", "default/train"),
        ("job/one", "default/single"),
        ("job.batch/one", "default/single"),
        ("pytorchjobs.kubeflow.org/bert", "default/train"),
        ("replicaset/web-server-6c9f7d5b84", "default/busy"),
        ("deployment/web-server", "default/busy"),
        ("deployments.apps/web-server", "default/busy"),
        ("deployment/web", None),
        ("statefulset/web-server", None),
        ("web-server", None),
        ("pod/odd", "pod/odd"),
        ("deep", None),
        ("job/bert", None),
        ("podgroup/lone", None),
        ("zzz", None),
        ("", None),
    ],
)
def test_a_name_means(name: str, meant: str | None) -> None:
    assert key(name) == meant


def test_a_gang_comes_before_a_pod_of_its_name() -> None:
    drawing = cluster("s0: b0[n1]").with_gang("x", 1).with_pod("x")
    found = drawing.subject("x")
    assert (type(found), [pod.name for pod in found.pending]) == (GangSubject, ["x-0"])
    lone = drawing.subject("pod/x")
    assert (type(lone), [pod.name for pod in lone.pending]) == (PodSubject, ["x"])


def test_a_running_pod_has_nothing_pending() -> None:
    busy = DRAWN.subject("busy")
    assert (type(busy), busy.key, busy.pending) == (PodSubject, "default/busy", ())


def test_a_lone_pod_is_of_no_gang_and_carries_no_spec() -> None:
    lone = cluster("s0: b0[n1]").with_pod("x").subject("x")
    assert (lone.key, dict(lone.gangs), lone.specs) == ("default/x", {}, ())


def test_the_namespace_of_the_context_counts() -> None:
    assert key("deep", namespace="ml") == "ml/deep"


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    assert find(DRAWN, "trian", "default") == Unknown("trian", ("default/train",))


def test_with_a_namespace_that_exists_the_name_is_taken_as_written() -> None:
    found = find(DRAWN, "ml/deap", "default")
    assert isinstance(found, Unknown)
    assert found.nearest[0] == "ml/deep"


def test_a_kind_is_not_taken_for_a_namespace() -> None:
    found = find(DRAWN, "job/trian", "default")
    assert isinstance(found, Unknown)
    assert found.nearest[0] == "default/train"


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("podgroup/ml/deep", "ml/deep"),
        ("pg/ml/deep", "ml/deep"),
        ("pod/default/lone", "default/lone"),
        ("pod/pod/odd", "pod/odd"),
        ("pod/default/train-9", "default/train"),
        ("job/default/one", "default/single"),
        ("pytorchjob/default/bert", "default/train"),
    ],
)
def test_a_name_may_have_a_kind_and_a_namespace_as_listings_print_it(name: str, key: str) -> None:
    found = find(DRAWN, name, "elsewhere")
    assert isinstance(found, Subject)
    assert found.key == key


@pytest.mark.parametrize(
    "name", ["pod/ml/lone", "podgroup/default/deep", "job/ml/one", "/deep", "pod//lone", "a/b/c/d"]
)
def test_a_name_in_full_means_nobody_else(name: str) -> None:
    assert isinstance(find(DRAWN, name, "default"), Unknown)


def test_a_mistyped_name_in_full_is_answered_with_the_nearest() -> None:
    assert find(DRAWN, "podgroup/ml/deap", "default") == Unknown("podgroup/ml/deap", ("ml/deep",))
    assert find(DRAWN, "nobody", "default") == Unknown("nobody", ())


def test_in_an_empty_cluster_nothing_is_near() -> None:
    assert find(cluster(), "x", "default") == Unknown("x", ())


def test_a_name_may_be_looked_for_in_every_namespace() -> None:
    found = find_anywhere(DRAWN, "deep")
    assert found is not None
    assert found.key == "ml/deep"


@pytest.mark.parametrize("name", ["nobody", "twin"])
def test_a_name_of_nobody_or_of_two_is_nobodys(name: str) -> None:
    assert find_anywhere(DRAWN.with_gang("twin", 1).with_gang("ml/twin", 1), name) is None


@pytest.mark.parametrize("name", ["deep", "job/one", "one", "single", "pod/single"])
def test_any_kind_of_name_may_be_looked_for_in_every_namespace(name: str) -> None:
    found = find_anywhere(DRAWN, name)
    assert found is not None
    assert found.key == ("ml/deep" if name == "deep" else "default/single")


def test_a_deployment_may_be_looked_for_in_every_namespace() -> None:
    found = find_anywhere(
        DRAWN.with_pod("ml/web-6c9f7d5b84-x7k2p", owner="ReplicaSet/web-6c9f7d5b84"), "deployment/web"
    )
    assert found is not None
    assert found.key == "ml/web-6c9f7d5b84-x7k2p"


def test_everybody_who_waits_is_a_subject_once() -> None:
    assert [subject.key for subject in pending_subjects(DRAWN)] == [
        "default/train",
        "ml/deep",
        "default/lone",
        "default/single",
        "pod/odd",
    ]
    assert [subject.key for subject in pending_subjects(DRAWN, "ml")] == ["ml/deep"]


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("job", "default/job"),
        ("train/job", "train/job"),
        ("podgroup/job", "default/job"),
        ("podgroup/train/job", "train/job"),
        ("pg/", "pg/"),
    ],
)
def test_a_pod_group_has_the_names_that_listings_print(name: str, key: str) -> None:
    assert pod_group_key(name, "default") == key


@pytest.mark.parametrize(
    ("word", "known"),
    [("PodGroups", True), ("jobs.batch", True), ("mpijob", True), ("po", True), ("node", False), ("", False)],
)
def test_a_word_is_a_kind_in_the_singular_and_plural_with_its_group_or_without(word: str, *, known: bool) -> None:
    assert is_kind(word) == known


def test_a_gang_has_the_labels_of_its_pod_group_and_of_its_pending_pods() -> None:
    team = having(team="a")
    drawn = cluster("s0: b0[n1]").with_gang("job", 1, labels=(("team", "a"),)).with_gang("other", 1)
    gangs = all_gangs(drawn)
    assert [has_labels(drawn, gangs[f"default/{name}"], team) for name in ("job", "other")] == [True, False]
    group = structs.replace(drawn.pod_groups["default/other"], labels=(("team", "a"),))
    changed = structs.replace(drawn, pod_groups={**drawn.pod_groups, "default/other": group})
    assert has_labels(changed, all_gangs(changed)["default/other"], team)


def test_a_gang_that_its_list_leaves_out_is_pending_beside_those_with_the_same_list() -> None:
    drawn = cluster("s0: b0[n1]").with_gang("a", 1, groups='["default/a"]').with_gang("b", 1, groups='["default/a"]')
    assert [subject.key for subject in pending_subjects(drawn)] == ["default/a", "default/b"]
