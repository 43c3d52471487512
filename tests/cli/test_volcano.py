"""Gangs of Volcano and pods that are moved, by the command line: from a file, and at a cluster that is served."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.apiserver import ApiServer
from tests.cli.conftest import Run

FILE = Path(__file__).parents[1] / "clusters" / "elsewhere.yaml"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


@pytest.fixture
def live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_kubectl: None) -> Iterator[ApiServer]:
    assert no_kubectl is None
    with ApiServer({"items": [one for one in yaml.safe_load_all(FILE.read_text()) if one]}) as served:
        monkeypatch.setenv("KUBECONFIG", str(served.kubeconfig(tmp_path)))
        yield served


@pytest.mark.parametrize("name", ["bert", "train/bert-5e6f", "pod/bert-worker-0", "job/bert"])
def test_a_gang_of_volcano_is_asked_about_by_any_name_of_it(koord: Run, name: str) -> None:
    done = koord("why-pending", name, "--snapshot", str(FILE), "-o", "json")
    answer = json.loads(done.out)
    assert (done.code, answer["kind"], answer["verdict"]) == (2, "WhyPending", "unknown")
    assert (answer["gang"], answer["cause"]["code"]) == ("train/bert-5e6f", "other-scheduler")
    assert (answer["volcano"]["queueState"], answer["volcano"]["preemptionPolicy"]) == ("Open", "Never")


def test_names_of_koordinator_and_of_nobody_mean_what_they_did(koord: Run) -> None:
    there = ("--snapshot", str(FILE))
    assert json.loads(koord("why-pending", "train/resnet", *there, "-o", "json").out)["volcano"] is None
    assert koord("why-pending", "bert", "-n", "default", *there).code == 2
    assert koord("why-pending", "nobody", *there).err.startswith("error: no gang, pod or owner 'nobody'")


def test_at_a_cluster_priority_classes_are_read_only_for_gangs_of_volcano_that_name_one(
    koord: Run, live: ApiServer
) -> None:
    answer = json.loads(koord("why-pending", "bert", "-n", "train", "-o", "json").out)
    assert answer["volcano"]["preemptionPolicy"] == "Never"
    assert [job["job"] for job in json.loads(koord("gangs", "-A", "-o", "json").out)["items"][0]["migrations"]] == [
        "move-resnet-0"
    ]
    assert len(live.requests(CLASSES)) == 2
    live.delete("podgroups.scheduling.volcano.sh", "train", "bert-5e6f")
    assert koord("gangs", "-A").code == 0
    assert len(live.requests(CLASSES)) == 2
