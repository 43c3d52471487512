"""`snapshot`: a cluster as a file, from which every command answers as it did live."""

import errno
import gzip
import json
import os
import re
import signal
import stat
import subprocess
import threading
from pathlib import Path
from typing import IO, Any, NoReturn

import pytest

from kubectl_koord import leaving
from kubectl_koord.cluster import kinds
from kubectl_koord.cluster.recording import recorder
from kubectl_koord.cluster.recording.recorder import NewFile
from kubectl_koord.errors import KoordError
from tests.apiserver import ApiServer, Rule
from tests.cli.conftest import BIN, Run
from tests.cli.test_sight import selecting_namespaces
from tests.cli.world import lasting, pod, pod_group

OF_PLACE = {"source", "context", "cluster", "commandsFor"}
"""What an answer says of where it was read."""
READING = (
    ("topo",),
    ("topo", "--for", "job"),
    ("topo", "--whole-cards"),
    ("devices",),
    ("gangs", "-A"),
    ("quota", "-A"),
    ("why-pending", "-A"),
    ("why-pending", "job"),
    ("why-pending", "job", "--nodes"),
    ("why-pending", "tiny"),
    ("why-pending", "few"),
    ("preempt", "high", "--dry-run"),
    ("why-preempted", "filler-a"),
    ("doctor",),
    ("fit", "--pods", "2", "--request", "cpu=1", "--priority-class", "high"),
    ("fit", "--like", "podgroup/job"),
    ("plan", "job"),
    ("node", "a0"),
    ("domain", "spine-a"),
    ("topo", "--shape", "1cpu"),
    ("topo", "init"),
)
EVERY = (*kinds.DISRUPTION_KINDS, "Event", "PriorityClass", "LimitRange", "MutatingWebhookConfiguration")


@pytest.fixture
def server(direct: ApiServer) -> ApiServer:
    """Ask without kubectl: both ways read the same."""
    return direct


def content(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return document


def answers(koord: Run, *where: str) -> dict[str, Any]:
    """Return the exit code and the document of every reading verb, without what differs by where it was read.

    A file does not tell which rights its reader has.
    """
    found = {}
    for words in READING:
        done = koord(*words, "-o", "json", *where)
        document: Any = _bare(json.loads(done.out)) if done.out else done.err
        if words[0] == "doctor":
            document["findings"] = [one for one in document["findings"] if one["code"] != "rbac-missing"]
        found[" ".join(words)] = (done.code, document)
    return found


def _bare(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, dict):
        return {name: _bare(part) for name, part in lasting(value).items() if name not in OF_PLACE}
    return [_bare(part) for part in value] if isinstance(value, list) else value


@pytest.fixture
def events(server: ApiServer) -> None:
    """Add what the scheduler said of a pod, and that it preempted one."""
    for kind, name, reason, note in (
        ("Pod", "job-0", "FailedScheduling", "0/4 nodes are available: 4 Insufficient cpu."),
        ("Pod", "filler-a", "Preempted", "Preempted by default/high-0"),
        ("Pod", "filler-b", "Pulled", "nobody asks"),
        ("Job", "few", "FailedCreate", 'pods "few-1" is forbidden: exceeded quota: team'),
        ("Job", "few", "SuccessfulCreate", "nobody asks"),
    ):
        about = {"kind": kind, "namespace": "default", "name": name}
        meta = {"name": f"{name}.{reason.lower()}", "namespace": "default"}
        server.put(
            {
                "apiVersion": "events.k8s.io/v1",
                "kind": "Event",
                "metadata": meta,
                "reason": reason,
                "note": note,
                "regarding": about,
                "type": "Warning",
                "eventTime": "2026-11-01T10:00:00Z",
            }
        )


@pytest.fixture
def installation(server: ApiServer) -> None:
    """Add what only `doctor`, `fit` and `topo init` read, with something to be found in each."""
    deployment = server.get("deployments", "koordinator-system", "koord-scheduler")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    container["args"] = ["--port=10251", "--config=/config"]
    server.put(deployment)
    server.put(json.loads(json.dumps(deployment).replace("koord-scheduler", "koord-manager").replace("1.8.0", "1.7.1")))
    server.put(json.loads(json.dumps(deployment).replace("koord-scheduler", "somebody-else")))
    settings = server.get("configmaps", "koordinator-system", "koord-scheduler-config")
    settings["data"]["koord-scheduler-config"] = CONFIG
    server.put(settings)
    _install_descheduler(server, deployment)
    hooks = [{"name": "a", "clientConfig": {}}, {"name": "b", "clientConfig": {"caBundle": "Zm9v"}}]
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        name = f"koordinator-{kind[:-20].lower()}-webhook-configuration"
        for one in (name, "of-others"):
            meta = {"name": one}
            api = "admissionregistration.k8s.io/v1"
            server.put({"apiVersion": api, "kind": kind, "metadata": meta, "webhooks": hooks})
    for name, value in (("high", 1000), ("koord-prod", 5)):
        meta = {"name": name}
        server.put({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": meta, "value": value})
    limits = [{"type": "Container", "defaultRequest": {"memory": "1Gi"}, "default": {"memory": "9Gi"}}]
    meta = {"name": "limits", "namespace": "default"}
    server.put({"apiVersion": "v1", "kind": "LimitRange", "metadata": meta, "spec": {"limits": limits}})
    for api, kind, rest in ADDED:
        server.put({"apiVersion": api, "kind": kind, **rest})
    for name in ("a0", "a1", "b0", "b1"):
        node = server.get("nodes", "", name)
        node["metadata"]["labels"] |= {"topology.kubernetes.io/network-level-2": name[0], "team": "x"}
        server.put(node)


def _install_descheduler(server: ApiServer, scheduler: dict[str, Any]) -> None:
    """Add koord-descheduler with a ConfigMap of another name."""
    other = json.loads(json.dumps(scheduler).replace("koord-scheduler", "koord-descheduler"))
    spec = other["spec"]["template"]["spec"]
    spec["volumes"] = [{"name": "c", "configMap": {"name": "evictions"}}]
    spec["containers"][0] |= {"args": ["--config=/c/d.yaml"], "volumeMounts": [{"name": "c", "mountPath": "/c"}]}
    server.put(other)
    meta = {"name": "evictions", "namespace": "koordinator-system"}
    server.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"d.yaml": EVICTIONS}})
    running = server.get("pods", "default", "filler-a")
    running["metadata"]["labels"] = {"pod-group.scheduling.sigs.k8s.io": "lone", "may": "go"}
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "lone", "uid": "u", "controller": True}
    running["metadata"]["ownerReferences"] = [owner]
    server.put(running)
    server.put(pod_group("lone", 1))


ADDED: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("v1", "Namespace", {"metadata": {"name": "default", "labels": {"pool": "x"}}}),
    ("node.k8s.io/v1", "RuntimeClass", {"metadata": {"name": "kata"}, "overhead": {"podFixed": {"cpu": "250m"}}}),
    (
        "config.koordinator.sh/v1alpha1",
        "ClusterColocationProfile",
        {
            "metadata": {"name": "mid"},
            "spec": {
                "namespaceSelector": {"matchLabels": {"pool": "x"}},
                "selector": {"matchLabels": {"app": "a"}},
                "priorityClassName": "koord-mid",
                "labels": {"koordinator.sh/qosClass": "LS"},
                "labelKeysMapping": {"app": "koord-app"},
                "patch": {"spec": {"tolerations": [{"operator": "Exists"}]}},
            },
        },
    ),
)
"""What is added to pods of manifests."""

MANIFESTS = """\
apiVersion: v1
kind: Pod
metadata: {name: sandboxed}
spec: {runtimeClassName: kata, containers: [{name: main, image: "a:1"}]}
---
apiVersion: v1
kind: Pod
metadata: {name: mid, labels: {app: a}}
spec: {containers: [{name: main, image: "a:1", resources: {requests: {cpu: 1}}}]}
"""

EVICTIONS = """\
apiVersion: descheduler/v1alpha2
kind: DeschedulerConfiguration
deschedulingInterval: 2m0s
maxNoOfPodsToEvictTotal: 7
profiles:
- name: own
  plugins: {balance: {enabled: [{name: LowNodeLoad}, {name: HomeMade}]}}
  pluginConfig:
  - {name: LowNodeLoad, args: {evictableNamespaces: {include: [default]}, nodePools: [{name: a}]}}
  - {name: HomeMade, args: {namespaces: {exclude: [batch]}}}
  - name: MigrationController
    args:
      maxMigratingGlobally: 10%
      evictSystemCriticalPods: true
      skipEvictionGates: [MaxMigratingPerNode]
      namespaces: {include: [default, own]}
      priorityThreshold: {value: 100}
      labelSelector: {matchExpressions: [{key: may, operator: In, values: [go]}]}
"""

CONFIG = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: koord-scheduler
  plugins:
    preEnqueue: {enabled: [{name: Coscheduling}]}
    postFilter: {enabled: [{name: Coscheduling}]}
    multiPoint: {enabled: [{name: ElasticQuota}]}
  pluginConfig:
  - name: Coscheduling
    args: {enablePreemption: true, awareNetworkTopology: true, defaultTimeout: -5s}
"""


def test_a_server_that_speaks_protobuf_is_recorded_as_any(koord: Run, server: ApiServer, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("json.json", "protobuf.json")]
    for file, server.protobuf in zip(files, (False, True), strict=True):
        assert koord("snapshot", "-o", str(file)).code == 0
    first, second = (json.loads(file.read_bytes())["items"] for file in files)
    assert first[1:] == second[1:]


@pytest.mark.usefixtures("events", "installation")
def test_every_command_answers_from_a_snapshot_as_it_does_live(koord: Run, server: ApiServer, tmp_path: Path) -> None:
    file, job = tmp_path / "c.json.gz", tmp_path / "job.yaml"
    job.write_text(MANIFESTS)
    done = koord("snapshot", "-o", str(file))
    assert (done.code, done.err) == (0, "")
    assert {request.method for request in server.log} == {"GET"}
    live = answers(koord)
    assert answers(koord, "--snapshot", str(file)) == live
    asked, other = (koord("fit", "-f", str(job), "-o", "json", *way) for way in ((), ("--snapshot", str(file))))
    assert (asked.code, _bare(json.loads(asked.out))) == (other.code, _bare(json.loads(other.out)))
    requested = {one["gang"]: one["requests"] for one in json.loads(other.out)["gangs"]}
    renamed = "1000 kubernetes.io/mid-cpu, 1Gi kubernetes.io/mid-memory and 1Gi memory"  # the LimitRange fills in again
    assert requested == {"default/mid": renamed, "default/sandboxed": "250m CPU and 1Gi memory"}
    told = {one["code"] for one in live["doctor"][1]["findings"]}
    assert {"descheduler-settings", "descheduler-breaks-gangs"} <= told


@pytest.mark.parametrize("key", ["team", "kubernetes.io/metadata.name"])
def test_namespaces_that_terms_select_are_selected_in_a_snapshot_too(
    koord: Run, server: ApiServer, tmp_path: Path, key: str
) -> None:
    server.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"team": "shop"}}})
    for name in ("a0", "a1", "b0", "b1"):
        server.put(pod(f"one-{name}", cpu="0", on=name, namespace="shop"))
    for gang, value in (("met", "shop"), ("free", "nobody")):
        server.put(pod_group(gang, 1))
        server.put(selecting_namespaces(f"{gang}-0", key, value))
    plain, other = tmp_path / "plain.json.gz", tmp_path / "other.json.gz"
    koord("snapshot", "-o", str(plain))
    koord("snapshot", "-o", str(other), "--anonymize")
    for gang, verdict in (("met", "no"), ("free", "yes")):
        live = koord("why-pending", gang, "-o", "json")
        assert json.loads(live.out)["verdict"] == verdict
        recorded = koord("why-pending", gang, "-o", "json", "--snapshot", str(plain))
        assert _bare(json.loads(recorded.out.replace(f" --snapshot={plain}", ""))) == _bare(json.loads(live.out))
    listed = [koord("why-pending", "-A", "-o", "json", "--snapshot", str(file)) for file in (plain, other)]
    causes = [[(one["code"], len(one["gangs"])) for one in json.loads(done.out)["causes"]] for done in listed]
    assert causes[0] == causes[1]


OFTEN = {("Pod", 403), ("NodeMetric", 404)}
REFUSED = [
    pytest.param(kind, status, marks=() if (kind, status) in OFTEN else pytest.mark.soak)
    for kind in EVERY
    for status in (403, 404)
]


@pytest.mark.usefixtures("events", "installation")
@pytest.mark.parametrize(("kind", "status"), REFUSED)
def test_what_could_not_be_seen_is_not_seen_in_the_snapshot_either(
    koord: Run, server: ApiServer, tmp_path: Path, kind: str, status: int
) -> None:
    plural = kinds.KINDS[kind].plural
    reason = {403: "Forbidden", 404: "NotFound"}[status]
    server.rules.append(Rule(f"/api.*/{plural}", status, reason, f"no {kind} for you"))
    file = tmp_path / "c.json.gz"
    done = koord("snapshot", "-o", str(file))
    assert done.code == 0
    assert f"Not in it: {kind} (" in done.out
    live, recorded = answers(koord), answers(koord, "--snapshot", str(file))
    assert {name: found[0] for name, found in recorded.items()} == {name: found[0] for name, found in live.items()}
    told = [name for name, found in live.items() if isinstance(found[1], dict)]
    assert {name: recorded[name] for name in told} == {name: live[name] for name in told}


@pytest.fixture(params=["without a name", "under another name"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write snapshots in each of the two ways that there are."""
    if request.param == "under another name":
        monkeypatch.setattr(recorder, "NAMELESS", 0)


@pytest.mark.usefixtures("way")
def test_it_is_its_owners_alone_and_overwrites_nothing(koord: Run, tmp_path: Path) -> None:
    file = tmp_path / "c.json.gz"
    before = os.umask(0)
    try:
        assert koord("snapshot", "--demo", "-o", str(file)).code == 0
    finally:
        os.umask(before)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    written = file.read_bytes()
    again = koord("snapshot", "--demo", "--output", str(file))
    assert (again.code, again.out) == (2, "")
    assert again.err == f"error: the file '{file}' exists, and is not overwritten\n"
    assert file.read_bytes() == written
    assert not list(tmp_path.glob(".*"))


@pytest.mark.usefixtures("way")
def test_a_file_that_came_meanwhile_is_not_overwritten_either(tmp_path: Path) -> None:
    file = tmp_path / "c.json.gz"
    with NewFile(str(file)) as made:
        made.file.write(b"ours")
        file.write_text("theirs")
        with pytest.raises(KoordError, match="exists, and is not overwritten"):
            made.complete()
    assert file.read_text() == "theirs"
    assert not list(tmp_path.glob(".*"))


@pytest.mark.usefixtures("way")
def test_a_failure_leaves_nothing_behind(koord: Run, server: ApiServer, tmp_path: Path) -> None:
    server.rules.append(Rule("/api/v1/nodes", 500, "InternalError", "broken"))
    done = koord("snapshot", "-o", str(tmp_path / "c.json.gz"))
    assert (done.code, done.out) == (2, "")
    assert "broken" in done.err
    assert not [path for path in tmp_path.iterdir() if "json.gz" in path.name]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_leaves_nothing_behind(server: ApiServer, tmp_path: Path, number: signal.Signals) -> None:
    if number == signal.SIGKILL and not recorder.NAMELESS:
        pytest.skip("no files without a name here")
    hang = threading.Event()
    server.rules.append(Rule("/api/v1/nodes", hang=hang))
    folder = tmp_path / "out"
    folder.mkdir()
    running = subprocess.Popen([BIN / "kubectl-koord", "snapshot", "-o", str(folder / "c.json.gz")])
    with server.came:
        assert server.came.wait_for(lambda: any(one.path == "/api/v1/nodes" for one in server.log), 60)
    running.send_signal(number)
    assert running.wait(60) == {signal.SIGTERM: 143, signal.SIGKILL: -9}[number]
    hang.set()
    assert not list(folder.iterdir())


def test_where_there_are_no_files_without_a_name_it_has_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file system answers so that has no such files."""
    opened = os.open

    def without(path: str, flags: int, mode: int = 0o777) -> int:
        if recorder.NAMELESS and flags & recorder.NAMELESS == recorder.NAMELESS:
            raise OSError(errno.EOPNOTSUPP, "Operation not supported")
        return opened(path, flags, mode)

    monkeypatch.setattr(os, "open", without)
    with NewFile(str(tmp_path / "c.json.gz")) as made:
        (beside,) = tmp_path.glob(".*")
        assert beside.name.startswith(".c.json.gz.")
        made.complete()
    assert [path.name for path in tmp_path.glob("*c.json*")] == ["c.json.gz"]


@pytest.mark.parametrize("name", ["c.json", "c.JSON", "c.json.gz", "c", "1.8"])
def test_a_file_is_what_its_name_says(koord: Run, tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    assert koord("snapshot", "--demo", "-o", str(file)).code == 0
    is_json = name.lower().endswith(".json")
    content = file.read_bytes() if is_json else gzip.decompress(file.read_bytes())
    assert json.loads(content)["kind"] == "List"
    assert koord("topo", "--snapshot", str(file)).out == koord("topo", "--demo").out


@pytest.mark.parametrize("ending", ["yaml", "json.zst", "ZIP", "tgz"])
def test_a_name_that_promises_another_format_is_refused(koord: Run, tmp_path: Path, ending: str) -> None:
    path = str(tmp_path / f"c.{ending}")
    last = ending.lower().rpartition(".")[2]
    error = f"error: a snapshot is JSON (.json) or packed JSON (.json.gz), not .{last}: {path!r}\n"
    assert koord("snapshot", "--demo", "-o", path) == (2, "", error)
    assert not list(tmp_path.glob("*c.*"))


class Full:
    """A file on a full disk: what it says when it is written to, or only when it is closed."""

    def __init__(self, file: IO[bytes], *, says_late: bool) -> None:
        self._file, self._says_late = file, says_late

    def write(self, content: bytes) -> int:
        return len(content) if self._says_late else self._say()

    def close(self) -> None:
        self._file.close()
        self._say()

    def _say(self) -> NoReturn:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("says_late", [False, True])
def test_a_full_disk_is_told_with_the_name_of_the_file(
    koord: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, says_late: bool
) -> None:
    path = str(tmp_path / "c.json")
    opened = os.fdopen
    monkeypatch.setattr(os, "fdopen", lambda number, _: Full(opened(number, "wb"), says_late=says_late))
    monkeypatch.setattr(NewFile, "complete", lambda _: None)
    error = f"error: the file {path!r} cannot be written: No space left on device\n"
    assert koord("snapshot", "--demo", "-o", path) == (2, "", error)
    assert not list(tmp_path.glob("*c.*"))


def test_another_failure_is_no_fault_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="refused"), NewFile(str(tmp_path / "c.json")):
        raise ConnectionRefusedError(errno.ECONNREFUSED, "refused")


def test_a_folder_that_is_not_there_is_named(koord: Run, tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "c.json.gz"
    done = koord("snapshot", "--demo", "-o", str(path))
    assert done == (2, "", f"error: the file '{path}' cannot be written: No such file or directory\n")


def test_to_standard_output_it_says_what_it_took_beside_it(installed: Run, tmp_path: Path) -> None:
    with (tmp_path / "c").open("wb") as out:
        done = subprocess.run(
            [BIN / "kubectl-koord", "snapshot", "--demo", "-o", "-"], stdout=out, stderr=subprocess.PIPE, check=True
        )
    assert done.stderr.decode().startswith("Wrote to standard output: 82 objects, ")
    assert re.search(r"^Node +12 +\d+ kB$", done.stderr.decode(), re.MULTILINE)
    file = str(tmp_path / "c")
    from_demo = installed("why-pending", "--demo").out
    assert installed("why-pending", "--snapshot", file).out == from_demo.replace("--demo", f"--snapshot={file}")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ((), "error: snapshot needs the name of a file, as in -o cluster.json.gz"),
        (("-o", "json"), "error: -o json: this command writes a file, as in -o cluster.json.gz"),
        (("-ojsonpath={.a}",), "error: -o jsonpath={.a}: this command writes a file, as in -o cluster.json.gz"),
        (
            ("-o", "x.gz", "--koordinator-version=1.8"),
            "error: a snapshot holds what tells the version; give --koordinator-version where you read it",
        ),
        (("-o", "/nowhere/x.gz"), "error: the file '/nowhere/x.gz' cannot be written: No such file or directory"),
    ],
)
def test_what_is_no_file_is_refused(koord: Run, words: tuple[str, ...], error: str) -> None:
    done = koord("snapshot", "--demo", *words)
    assert (done.code, done.out, done.err) == (2, "", f"{error}\n")


def test_a_format_is_still_one_for_every_other_verb(koord: Run) -> None:
    done = koord("topo", "--demo", "-o", "cluster.json.gz")
    assert done.code == 2
    assert "unable to match a printer suitable for the output format" in done.err


@pytest.mark.parametrize("flags", [(), ("--anonymize",)])
def test_what_is_wrong_with_the_demo_is_found_in_its_snapshot_too(
    koord: Run, tmp_path: Path, flags: tuple[str, ...]
) -> None:
    file = str(tmp_path / "c.json.gz")
    koord("snapshot", "--demo", "-o", file, *flags)
    found, expected = (json.loads(koord("doctor", "-o", "json", *of).out) for of in (("--snapshot", file), ("--demo",)))
    assert [(one["code"], one["severity"]) for one in found["findings"]] == [
        (one["code"], one["severity"]) for one in expected["findings"]
    ]
    assert (found["verdict"], found["nodes"], found["gangs"]) == ("no", 12, 6)


def test_how_the_descheduler_is_configured_is_told_of_a_snapshot_under_other_names_too(
    koord: Run, tmp_path: Path
) -> None:
    made, file = str(Path(__file__).parent.parent / "clusters" / "elsewhere.yaml"), str(tmp_path / "c.json.gz")
    assert koord("snapshot", "--snapshot", made, "-o", file, "--anonymize").code == 0
    found, expected = (json.loads(koord("doctor", "-o", "json", "--snapshot", of).out) for of in (file, made))
    of_evictions = [one for one in expected["findings"] if "descheduler" in one["code"]]
    told = [one for one in found["findings"] if "descheduler" in one["code"]]
    assert [(one["code"], one["severity"]) for one in told] == [
        ("descheduler-breaks-gangs", "warning"),
        ("descheduler-settings", "info"),
    ]
    assert told[1] == of_evictions[1]
    assert "resnet" in of_evictions[0]["message"]
    assert "resnet" not in json.dumps(found)


def test_a_kind_that_an_older_version_did_not_record_is_told(koord: Run, server: ApiServer, tmp_path: Path) -> None:
    assert server.url
    file = tmp_path / "c.json.gz"
    koord("snapshot", "-o", str(file))
    held = content(file)
    held["items"][0]["kinds"].remove("NodeMetric")
    file.write_bytes(gzip.compress(json.dumps(held).encode()))
    done = koord("why-pending", "job", "--snapshot", str(file))
    assert "snapshot contains no NodeMetric; assuming none exist." in " ".join(done.out.split())


def test_a_snapshot_of_a_snapshot_keeps_its_moment_and_gaps(koord: Run, server: ApiServer, tmp_path: Path) -> None:
    server.rules.append(Rule(".*/poddisruptionbudgets", 403, "Forbidden", 'User "jane@corp" cannot list them'))
    first, second, third = (tmp_path / f"{name}.json.gz" for name in "abc")
    koord("snapshot", "-o", str(first))
    koord("snapshot", "-o", str(second), "--snapshot", str(first))
    assert content(first) == content(second)
    koord("snapshot", "-o", str(third), "--snapshot", str(first), "--anonymize")
    before, after = content(first)["items"][0], content(third)["items"][0]
    assert "jane@corp" in json.dumps(before)
    assert "jane" not in json.dumps(content(third))
    assert after["moment"] == before["moment"]
    assert [gap["code"] for gap in after["gaps"]] == [gap["code"] for gap in before["gaps"]] == ["forbidden"]
    assert after["anonymized"]


def test_nothing_is_left_to_do_once_it_is_written(koord: Run, tmp_path: Path) -> None:
    before = list(leaving._LEAVING.actions)  # noqa: SLF001 - of servers that other tests of this process share
    koord("snapshot", "--demo", "-o", str(tmp_path / "c.json.gz"))
    assert leaving._LEAVING.actions == before  # noqa: SLF001
