"""`why-pending` of a job from a snapshot: the layers that it has live, also where names are replaced."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.apiserver import RESOURCES, ApiServer
from tests.cli.conftest import Run

CLUSTERS = Path(__file__).parents[1] / "layers" / "clusters"
FILES = (
    *("owner-pytorchjob-failed", "owner-deployment-paused", "kueue-cohort-tree", "koord-queue-position", "volcano-cpu"),
    *("creation-operator-down", "creation-child-of-a-jobset", "gates-grove", "binding-image", "binding-attach"),
    *("binding-init-crash", "running-oom", "running-readiness", "gang-too-few"),
)
"""Of each layer some; of all that are there it was compared once."""


def objects_of(file: Path) -> list[dict[str, Any]]:
    found = [one for one in yaml.load_all(file.read_text(), yaml.CSafeLoader) if one]
    return [item for one in found for item in one.get("items", [one])]


def asked(file: Path) -> str:
    found = re.search(r"^# ask: (.*)$", file.read_text(), re.MULTILINE)
    assert found, file
    return found[1]


def answer(koord: Run, *words: str) -> tuple[int, list[tuple[str, str]], list[dict[str, str]], str]:
    done = koord("why-pending", *words, "-o", "json")
    assert done.out, done.err
    document = json.loads(done.out)
    rows = [{name: row[name] for name in ("message", "object", "since") if name in row} for row in document["layers"]]
    return done.code, [(row["layer"], row["state"]) for row in document["layers"]], rows, document["cause"]["message"]


def served(item: dict[str, Any]) -> dict[str, Any]:
    """Return an object as the newest version has it that the server of the tests serves."""
    if item["kind"] == "Event" and item["apiVersion"] == "v1":
        moved = {"involvedObject": "regarding", "message": "note", "count": "deprecatedCount"}
        moved |= {"firstTimestamp": "deprecatedFirstTimestamp", "lastTimestamp": "deprecatedLastTimestamp"}
        return {**{moved.get(name, name): part for name, part in item.items()}, "apiVersion": "events.k8s.io/v1"}
    group = item["apiVersion"].partition("/")[0]
    version = next((one.group_version for one in RESOURCES if one.group_version.partition("/")[0] == group), "")
    return item | {"apiVersion": version} if group == "kueue.x-k8s.io" else item


@pytest.mark.parametrize("stem", [*FILES[::2], *(pytest.param(stem, marks=pytest.mark.soak) for stem in FILES[1::2])])
def test_a_snapshot_gives_the_layers_that_the_cluster_gives(
    stem: str, koord: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_kubectl: None
) -> None:
    assert no_kubectl is None
    file = CLUSTERS / f"{stem}.yaml"
    known = {(one.group_version, one.kind) for one in RESOURCES}
    items = [one for one in map(served, objects_of(file)) if (one["apiVersion"], one["kind"]) in known]
    items.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}})
    with ApiServer({"items": items}) as api:
        monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig(tmp_path)))
        name = asked(file)
        live = answer(koord, name)
        plain, other = tmp_path / "plain.json", tmp_path / "other.json"
        for path, flags in ((plain, ()), (other, ("--anonymize",))):
            done = koord("snapshot", "-o", str(path), *flags)
            assert (done.code, done.err) == (0, "")
    assert answer(koord, name, "--snapshot", str(plain)) == live
    found = answer(koord, renamed(name, plain, other), "--snapshot", str(other))
    assert found[:2] == live[:2]
    assert numbers(found[2:]) == numbers(live[2:])


def renamed(name: str, plain: Path, other: Path) -> str:
    """Return the name of an object as the file with other names has it."""
    *kind, bare = name.split("/")
    (old, new) = (json.loads(path.read_text())["items"] for path in (plain, other))
    pairs = [(one["metadata"], two["metadata"]) for one, two in zip(old, new, strict=True)]
    homes = {one.get("namespace", ""): two.get("namespace", "") for one, two in pairs}
    (found,) = {two["name"] for one, two in pairs if one["name"] == bare}
    return "/".join([*(homes.get(part, part) for part in kind), found])


def numbers(value: object) -> list[str]:
    return re.findall(r"[0-9]+", str(value))
