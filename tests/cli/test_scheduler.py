"""`scheduler` as a whole: live through the API server, with saved answers, and with logs."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from kubectl_koord.cli.verb_table import VERBS
from kubectl_koord.cluster import stored
from tests.apiserver import ApiServer, Rule
from tests.cli.conftest import Run

BASE = "/api/v1/namespaces/koordinator-system/pods/http:koord-scheduler-0:10251/proxy/apis/v1"
ENDPOINTS = {
    ("gangs",): "plugins/Coscheduling/gangs",
    ("gang", "job"): "plugins/Coscheduling/gang/default/job",
    ("node", "a0"): "nodes/a0",
    ("quotas",): "plugins/ElasticQuota/quotas",
    ("quotas", "q"): "plugins/ElasticQuota/quotas/q",
    ("devices",): "plugins/DeviceShare/nodeDeviceSummaries",
    ("devices", "a0"): "plugins/DeviceShare/nodeDeviceSummaries/a0",
    ("numa", "a0"): "plugins/NodeNUMAResource/nodes/a0",
    ("reservations", "a0"): "plugins/Reservation/nodeReservations/a0",
    ("services",): "__services__",
}
LOGS = ("scores", "filters", "diagnosis")
TINY = {
    "name": "default/tiny",
    "mode": "Strict",
    "gangMatchPolicy": "once-satisfied",
    "minRequiredNumber": 1,
    "gangGroup": ["default/tiny"],
    "children": {"default/tiny-0": {}, "default/gone": {}},
    "pendingChildren": {"default/tiny-0": {}},
    "gangFrom": "GangFromPodGroupCrd",
    "hasGangInit": True,
}


@pytest.fixture
def server(direct: ApiServer) -> ApiServer:
    """Ask without kubectl: both ways read the same."""
    return direct


def answering(server: ApiServer, path: str, body: Any) -> None:  # noqa: ANN401 - any JSON value
    server.rules.append(Rule(f"{BASE}/{path}", raw=json.dumps(body).encode()))


def test_every_sub_verb_has_its_endpoint_or_reads_a_log() -> None:
    subs = {name.partition(" ")[2] for name in VERBS if name.startswith("scheduler ")}
    assert subs == {words[0] for words in ENDPOINTS} | set(LOGS)


def test_a_gang_stands_beside_that_of_the_objects_and_what_differs_is_explained(koord: Run, server: ApiServer) -> None:
    answering(server, "plugins/Coscheduling/gang/default/tiny", TINY)
    done = koord("scheduler", "gang", "tiny", "-o", "json")
    report = json.loads(done.out)
    assert (done.code, report["kind"], report["asked"]) == (0, "SchedulerMemory", "koord-scheduler-0")
    assert [one["code"] for one in report["items"][0]["differences"]] == ["deleted-pods-linger"]
    assert {"field": "pods", "scheduler": "2", "ours": "1"} in report["items"][0]["fields"]


@pytest.mark.parametrize("words", ENDPOINTS, ids=" ".join)
def test_no_sub_verb_asks_anything_but_its_own_endpoint_and_with_get_alone(
    koord: Run, server: ApiServer, words: tuple[str, ...]
) -> None:
    answering(server, ENDPOINTS[words], {})
    done = koord("scheduler", *words)
    assert done.err == ""
    asked = [request.path for request in server.log if "/proxy" in request.path]
    assert asked == [f"{BASE}/{ENDPOINTS[words]}"]
    assert {request.method for request in server.log} == {"GET"}
    assert not any("debug" in request.path for request in server.log)


@pytest.mark.parametrize("words", ENDPOINTS, ids=" ".join)
def test_where_the_endpoint_cannot_be_reached_there_is_one_line_and_no_answer(
    koord: Run, server: ApiServer, words: tuple[str, ...]
) -> None:
    server.rules.append(Rule(f"{BASE}/.*", 403, "Forbidden", "you may not"))
    done = koord("scheduler", *words)
    assert (done.code, done.out) == (2, "")
    why = "you may not (it takes get of pods/proxy in koordinator-system)"
    assert done.err == f"error: could not see what the scheduler knows: {why}\n"


def test_another_port_is_asked_where_it_is_told(koord: Run, server: ApiServer) -> None:
    koord("scheduler", "services", "--port", "10999")
    assert any("http:koord-scheduler-0:10999" in request.path for request in server.log)


def test_without_a_live_cluster_a_saved_answer_is_compared(koord: Run, cluster: str, tmp_path: Path) -> None:
    line = "error: the scheduler's endpoints need a live cluster; --endpoint FILE reads an answer that was saved\n"
    assert koord("scheduler", "gangs", "--snapshot", cluster).err == line
    assert koord("scheduler", "gangs", "--demo").err == line
    file = tmp_path / "gangs.json"
    file.write_text(json.dumps({"default/tiny": TINY}))
    done = koord("scheduler", "gangs", "--snapshot", cluster, "--endpoint", str(file))
    assert done.code == 0
    assert "default/tiny: 1 pod (default/gone) is gone" in done.out
    assert "default/job: the scheduler does not know it" in done.out


def test_a_saved_answer_comes_from_standard_input_too(installed: Run, cluster: str) -> None:
    done = installed("scheduler", "gangs", "--snapshot", cluster, "--endpoint", "-", stdin='{"x": {"name": "x"}}')
    assert (done.code, done.err) == (0, "")


def test_names_that_mean_nothing_are_told(koord: Run, cluster: str, tmp_path: Path) -> None:
    file = tmp_path / "empty.json"
    file.write_text("{}")
    given = ("--snapshot", cluster, "--endpoint", str(file))
    assert koord("scheduler", "node", "a9", *given).err.startswith("error: no node 'a9', did you mean ")
    assert koord("scheduler", "gang", "nobody", *given).err.startswith("error: no gang, pod or owner 'default/nobody'")
    assert koord("scheduler", "quotas", "", *given).err == "error: resource name may not be empty\n"
    assert koord("scheduler", "numa", "nodes/a0", *given).code == 0
    known = koord("scheduler", "gang", "podgroup/job", *given)
    assert (known.code, "default/job: the scheduler does not know it" in known.out) == (0, True)


@pytest.mark.parametrize("flag", ["--endpoint", "--log"])
def test_a_file_that_is_not_there_is_named(koord: Run, flag: str) -> None:
    verb = "gangs" if flag == "--endpoint" else "scores"
    done = koord("scheduler", verb, flag, "nowhere.json", "--demo")
    assert (done.code, done.err) == (2, "error: the path 'nowhere.json' cannot be read: No such file or directory\n")


def refusal(pod: str) -> str:
    return f'Failed to filter for Pod "default/{pod}" on Node "n1", failedPlugin: Fit, reason: \x1b[31mfull\n'


def test_a_log_is_read_without_a_cluster_and_its_text_is_harmless(koord: Run, tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text(refusal("a") + refusal("b"))
    done = koord("scheduler", "filters", "--log", str(file))
    assert (done.code, done.err, "\x1b" in done.out) == (0, "", False)
    assert "default/a" not in koord("scheduler", "filters", "b", "--log", str(file)).out
    assert json.loads(koord("scheduler", "filters", "--log", str(file), "-o", "json").out)["kind"] == "SchedulerLog"


def test_a_log_comes_from_standard_input(installed: Run) -> None:
    done = installed("scheduler", "filters", "--log", "-", stdin=refusal("a"))
    assert (done.code, "default/a" in done.out) == (0, True)


def test_a_log_and_an_answer_may_be_packed(koord: Run, tmp_path: Path) -> None:
    file = tmp_path / "packed.gz"
    file.write_bytes(gzip.compress(refusal("a").encode()))
    assert "default/a" in koord("scheduler", "filters", "--log", str(file)).out
    file.write_bytes(gzip.compress(json.dumps({"default/tiny": TINY}).encode()))
    assert koord("scheduler", "gangs", "--demo", "--endpoint", str(file)).code == 0
    file.write_bytes(gzip.compress(refusal("a").encode())[:-9])
    assert koord("scheduler", "filters", "--log", str(file)).err.startswith(f"error: {file}: broken gzip: ")


def test_a_line_that_is_too_long_is_cut_and_the_next_is_read(
    koord: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "LONGEST_LINE", 1000)
    file = tmp_path / "log"
    file.write_text(f"{'x' * 999}\n{'x' * 5000}\n{refusal('a')}")
    done = koord("scheduler", "filters", "--log", str(file), "-o", "json")
    assert [item["pod"] for item in json.loads(done.out)["items"]] == ["default/a"]
    assert json.loads(done.out)["lines"] == 3


@pytest.mark.parametrize(("bound", "most"), [("MOST_LINES", 1000), ("MOST_BYTES", 64 << 20)])
def test_a_log_without_an_end_is_refused(
    koord: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str, most: int
) -> None:
    """/dev/zero, or somebody who goes on and on."""
    monkeypatch.setattr(stored, bound, most)
    file = "/dev/zero"
    if bound == "MOST_LINES":
        file = str(tmp_path / "log")
        Path(file).write_text("a\n" * 2000)
    done = koord("scheduler", "filters", "--log", file)
    lines = "1,000 lines or 2,048 MiB" if bound == "MOST_LINES" else "20,000,000 lines or 64 MiB"
    error = f"error: {file}: more than {lines}: give a part of it, as of kubectl logs --tail=100000\n"
    assert done == (2, "", error)


def test_how_much_of_a_log_came_is_counted(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text("a\n" * 5)
    seen: dict[str, int] = {}
    assert len(list(stored.lines(str(file), seen))) == 5
    assert seen == {"line": 5}


def test_a_saved_answer_beyond_the_bound_is_refused(
    koord: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "LONGEST", 1 << 20)
    file = tmp_path / "large"
    file.write_bytes(b" " * ((1 << 20) + 1))
    done = koord("scheduler", "gangs", "--demo", "--endpoint", str(file))
    assert done.err == f"error: {file}: more than 1 MiB\n"
