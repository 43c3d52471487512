"""`quota` on the command line: what is asked for, its JSON, and names of nobody."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.cli.world import Object, node, pod, topology, write

PREFIX = "quota.scheduling.koordinator.sh/"


def elastic_quota(name: str, most: str, annotations: Object, namespace: str = "default", **labels: str) -> Object:
    return {
        "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
        "kind": "ElasticQuota",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {PREFIX + key.replace("_", "-"): value for key, value in labels.items()},
            "annotations": {PREFIX + key: value for key, value in annotations.items()},
        },
        "spec": {"max": {"cpu": most}, "min": {"cpu": "1"}},
    }


def of_quota(item: Object, name: str) -> Object:
    item["metadata"].setdefault("labels", {})[PREFIX + "name"] = name
    return item


@pytest.fixture
def shared(tmp_path: Path) -> str:
    """Return a file with quotas p and, below it, a with a pod that runs and one that is too many."""
    items = [
        topology(),
        node("n", "s0"),
        elastic_quota("p", "4", {}, is_parent="true"),
        elastic_quota("a", "2", {"shared-weight": "{", "namespaces": '"x"'}, parent="p", allow_force_update="true"),
        of_quota(pod("runs", on="n", cpu="2"), "a"),
        of_quota(pod("waits", cpu="1500m"), "a"),
    ]
    return write(tmp_path, {"kind": "List", "items": items})


def document(koord: Run, *words: str) -> Any:  # noqa: ANN401 - any JSON value
    return json.loads(koord("quota", "-o", "json", *words).out)


def test_quotas_in_json_are_as_promised(koord: Run, shared: str) -> None:
    found = document(koord, "--snapshot", shared)
    assert (found["kind"], found["verdict"]) == ("QuotaTree", "yes")
    rows = {row["name"]: row for row in found["quotas"]}
    assert set(rows) == {f"koordinator-{name}-quota" for name in ("root", "system", "default")} | {"p", "a"}
    promised = {
        "name": "a",
        "parent": "p",
        "tree": "",
        "isParent": False,
        "min": {"cpu": "1"},
        "max": {"cpu": "2"},
        "used": {"cpu": "2"},
        "request": {"cpu": "3500m"},
        "runtime": {"cpu": "2"},
        "sharedWeight": {"cpu": "2"},
        "nonPreemptibleUsed": {},
        "children": [],
    }
    assert {key: rows["a"][key] for key in promised} == promised
    assert rows["p"]["children"] == ["a"]
    assert [one["code"] for one in found["findings"]] == ["quota-unreadable"]


def test_the_tree_of_quotas_and_what_they_hold_back_is_shown(koord: Run, shared: str) -> None:
    done = koord("quota", "--snapshot", shared)
    assert done.out.startswith(
        "1 quota holds back 1500m CPU of 1 pod.\nQuota a holds back 1500m CPU of pod default/waits."
    )
    assert done.code == 0


@pytest.mark.parametrize("name", ["a", "elasticquota/a", "eq/a"])
def test_one_quota_is_asked_for_by_its_name(koord: Run, shared: str, name: str) -> None:
    found = document(koord, name, "--snapshot", shared)
    assert [row["name"] for row in found["quotas"]] == ["koordinator-root-quota", "p", "a"]
    assert [(each["pod"], bool(each["lacks"])) for each in found["pods"]] == [
        ("default/runs", False),
        ("default/waits", True),
    ]


def test_several_quotas_are_told_one_after_the_other(koord: Run, shared: str) -> None:
    each = [koord("quota", name, "--snapshot", shared).out for name in ("p", "a")]
    assert koord("quota", "p", "eq/a", "--snapshot", shared).out == "\n".join(each)
    assert "one name at a time with --watch" in koord("quota", "p", "a", "-w", "--snapshot", shared).err


def test_headroom_of_a_pod_is_asked_for_by_its_name(koord: Run, shared: str) -> None:
    assert document(koord, "--for", "pod/waits", "--snapshot", shared)["headroom"]["admits"] == 0
    assert "Quotas admit 0 of 1 pending pod" in koord("quota", "--for", "pod/waits", "--snapshot", shared).out


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("koordinator-rot-quota",), "no quota 'koordinator-rot-quota', did you mean koordinator-root-quota?"),
        (("--resource", "gpu"), "no resource 'gpu', did you mean cpu?"),
        (("a", "-A"), "a resource cannot be retrieved by name across all namespaces"),
        (("a", "--for", "pod/waits"), "name a quota or give --for, not both"),
    ],
)
def test_what_cannot_be_answered_is_one_line(koord: Run, shared: str, words: tuple[str, ...], error: str) -> None:
    assert koord("quota", *words, "--snapshot", shared) == (2, "", f"error: {error}\n")


def test_another_resource_and_a_namespace_may_be_asked_for(koord: Run, shared: str) -> None:
    assert document(koord, "--resource", "memory", "--snapshot", shared)["resource"] == "memory"
    assert [row["name"] for row in document(koord, "-n", "none", "--snapshot", shared)["quotas"]] == []
    assert len(document(koord, "-n", "none", "-A", "--snapshot", shared)["quotas"]) == 5
