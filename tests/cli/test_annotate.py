"""The one verb that writes: nothing is sent before it was checked, shown and agreed to."""

import io
import json
import os
import pty
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.apiserver import ApiServer, Request, Rule
from tests.cli.conftest import Done, Run
from tests.cli.world import SIGS, SPEC, Object, pod, world
from tests.forked import forked

PREFIX = "gang.scheduling.koordinator.sh/"
GROUP = "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/default/podgroups/job"


@pytest.fixture
def server(direct: ApiServer) -> ApiServer:
    """Ask without kubectl: both ways write the same."""
    return direct


def sent(server: ApiServer) -> list[Request]:
    return [request for request in server.log if request.method != "GET"]


def group(server: ApiServer, name: str = "job") -> Object:
    return server.get("podgroups", "default", name)


def refused(done: Done) -> str:
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    return done.err


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"y\n")))


def test_without_a_terminal_and_without_yes_nothing_is_sent(koord: Run, server: ApiServer) -> None:
    for words in (("podgroup", "job", "--mode=NonStrict"), ("pods", "job", "--index")):
        said = refused(koord("annotate", *words))
        assert said == "error: stdin is not a terminal; use --yes, or --dry-run=client to preview\n"
    assert not sent(server)


@pytest.mark.parametrize(
    ("flags", "changed"),
    [
        (
            ["--prefer-gather", "SpineLayer"],
            {SPEC: '{"gatherStrategy": [{"layer": "SpineLayer", "strategy": "PreferGather"}]}'},
        ),
        (
            ["--must-gather=SpineLayer", "--prefer-gather=NodeTopologyLayer"],
            {
                SPEC: '{"gatherStrategy": [{"layer": "NodeTopologyLayer", "strategy": "PreferGather"}, '
                '{"layer": "SpineLayer", "strategy": "MustGather"}]}'
            },
        ),
        (
            ["--multiple", "SpineLayer=2"],
            {SPEC: '{"gatherStrategy": [{"layer": "SpineLayer", "strategy": "MustGather", "podCountMultiple": 2}]}'},
        ),
        (["--mode", "NonStrict"], {PREFIX + "mode": "NonStrict"}),
        (["--match-policy", "only-waiting"], {PREFIX + "match-policy": "only-waiting"}),
        (["--groups", "job,default/tiny"], {PREFIX + "groups": '["default/job", "default/tiny"]'}),
        (["--groups", "job", "--groups", "tiny"], {PREFIX + "groups": '["default/job", "default/tiny"]'}),
        (["--total", "5"], {PREFIX + "total-number": "5"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_every_annotation_is_sent_as_the_scheduler_reads_it(
    koord: Run, server: ApiServer, flags: list[str], changed: dict[str, str]
) -> None:
    before = group(server)
    done = koord("annotate", "podgroup", "job", *flags, "--overwrite", "--yes")
    assert (done.code, done.err) == (0, "")
    (request,) = sent(server)
    assert (request.method, request.path) == ("PATCH", GROUP)
    assert request.headers["content-type"] == "application/merge-patch+json"
    assert request.query == {"fieldManager": "kubectl-koord"}
    assert request.json == {
        "metadata": {"resourceVersion": before["metadata"]["resourceVersion"], "annotations": changed}
    }
    assert group(server)["metadata"]["annotations"] == before["metadata"]["annotations"] | changed


def test_a_waiting_time_goes_into_the_spec(koord: Run, server: ApiServer) -> None:
    assert koord("annotate", "podgroup", "job", "--waiting-time", "1h30m", "-y").code == 0
    assert group(server)["spec"] == {"minMember": 2, "scheduleTimeoutSeconds": 5400}
    assert group(server)["metadata"]["annotations"].keys() == {SPEC}


def test_the_change_and_its_effect_are_one_screen(koord: Run, server: ApiServer) -> None:
    done = koord("annotate", "podgroup", "job", "--waiting-time=10m", "--yes")
    assert sent(server)
    assert done.out == (
        "Changed 1 object.\n"
        "\n"
        "PodGroup default/job\n"
        "  + spec.scheduleTimeoutSeconds: 600\n"
        "\n"
        "why-pending: no (insufficient-slots) -> no (insufficient-slots) (unchanged)\n"
        "  before: no spine has room for its 2 pods; the best has 1.\n"
        "  after: no spine has room for its 2 pods; the best has 1.\n"
        "\n"
        "Evaluated as Koordinator 1.8 (from the image tag). Context test, cluster test\n"
    )


def test_the_document_holds_object_values_patch_and_effect(koord: Run, server: ApiServer) -> None:
    version = group(server)["metadata"]["resourceVersion"]
    words = ("annotate", "podgroup", "job", "--prefer-gather=SpineLayer", "--overwrite", "--dry-run=client", "-o=json")
    report = json.loads(koord(*words).out)
    assert (report["kind"], report["verdict"], report["applied"]) == ("ChangePlan", "yes", False)
    (change,) = report["changes"]
    assert change["object"] == {"kind": "PodGroup", "namespace": "default", "name": "job"}
    assert "MustGather" in change["before"][SPEC]
    assert "PreferGather" in change["after"][SPEC]
    assert change["patch"]["metadata"]["resourceVersion"] == change["resourceVersion"] == version
    assert (report["effect"]["before"]["verdict"], report["effect"]["before"]["cause"]) == ("no", "insufficient-slots")
    assert not sent(server)


def test_indexes_are_the_numbers_that_names_end_in(koord: Run, server: ApiServer) -> None:
    done = koord("annotate", "pods", "job", "--index", "--yes")
    assert done.code == 0
    for rank in ("0", "1"):
        annotations = server.get("pods", "default", f"job-{rank}")["metadata"]["annotations"]
        assert annotations == {PREFIX + "network-topology-index": rank}
    assert [request.path for request in sent(server)] == [f"/api/v1/namespaces/default/pods/job-{n}" for n in (0, 1)]


def test_a_dry_run_on_the_server_is_checked_there_and_kept_nowhere(koord: Run, server: ApiServer) -> None:
    before = group(server)
    done = koord("annotate", "podgroup", "job", "--mode=NonStrict", "--dry-run=server")
    assert done.code == 0
    assert done.out.startswith("Would change 1 object (server dry run: nothing was saved).\n")
    (request,) = sent(server)
    assert request.query["dryRun"] == "All"
    assert group(server) == before


@pytest.mark.parametrize("flag", ["--dry-run", "--dry-run=client"])
def test_a_dry_run_here_sends_nothing(koord: Run, server: ApiServer, flag: str) -> None:
    done = koord("annotate", "podgroup", "job", flag, "--mode=NonStrict")
    assert done.code == 0
    assert done.out.startswith("Would change 1 object (client dry run: nothing was sent).\n")
    assert not sent(server)


def test_what_is_so_already_is_not_sent(koord: Run, server: ApiServer) -> None:
    done = koord("annotate", "podgroup", "job", "--must-gather=SpineLayer", "--yes")
    assert (done.code, done.out.partition("\n")[0]) == (0, "default/job unchanged.")
    assert not sent(server)


def test_another_value_is_replaced_only_when_told_so(koord: Run, server: ApiServer) -> None:
    words = ("annotate", "podgroup", "job", "--prefer-gather=SpineLayer", "--yes")
    assert refused(koord(*words)).startswith(f"error: --overwrite is false but {SPEC} is declared already: ")
    assert not sent(server)
    assert koord(*words, "--overwrite").code == 0


def test_an_object_that_has_changed_elsewhere_meanwhile_keeps_that_change(koord: Run, server: ApiServer) -> None:
    """The list is served as it was, the object is newer: as if somebody else had been faster."""
    listed = {"kind": "PodGroupList", "items": [group(server)], "metadata": {}}
    stale = json.dumps(listed).encode()
    newer = group(server)
    newer["metadata"]["annotations"]["by"] = "somebody"
    server.put(newer)
    server.rules.append(Rule("/apis/scheduling.sigs.k8s.io/v1alpha1/podgroups", raw=stale))
    done = koord("annotate", "podgroup", "job", "--mode=NonStrict", "--yes")
    assert done.code == 0
    assert done.err == "PodGroup default/job was changed meanwhile, but not in what was shown: trying again.\n"
    assert group(server)["metadata"]["annotations"].keys() == {SPEC, "by", PREFIX + "mode"}


def test_a_failure_halfway_says_how_far_it_came(koord: Run, server: ApiServer) -> None:
    server.rules.append(Rule("/api/v1/namespaces/default/pods/job-1", 403, "Forbidden", "not yours", "PATCH"))
    said = refused(koord("annotate", "pods", "job", "--index", "--yes"))
    assert said == "Error from server (Forbidden): not yours (1 of 2 changed before that)\n"
    said = refused(koord("annotate", "pods", "job", "--index", "--dry-run=server"))
    assert said == "Error from server (Forbidden): not yours\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["podgroup", "jbo", "--mode=Strict"], "error: podgroup 'default/jbo' not found, did you mean default/job?"),
        (["podgroup", "job"], "error: nothing to set: give at least one of --must-gather"),
        (
            ["podgroup", "job", "--must-gather=SpinLayer"],
            "error: layer 'SpinLayer' is not in the topology, did you mean SpineLayer?",
        ),
        (
            ["podgroup", "job", "--multiple=SpineLayer"],
            "error: --multiple 'SpineLayer' must be LAYER=N with N above",
        ),
        (["podgroup", "job", "--multiple=SpineLayer=0"], "error: --multiple 'SpineLayer=0' must be LAYER=N"),
        (["podgroup", "job", "--mode=strict"], "error: --mode 'strict' is not one of Strict, NonStrict"),
        (["podgroup", "job", "--match-policy=x"], "error: --match-policy 'x' is not one of only-waiting,"),
        (["podgroup", "job", "--groups=job,nobody"], "error: gang 'default/nobody' does not exist"),
        (["podgroup", "job", "--groups=tiny"], "error: --groups must include default/job itself"),
        (["podgroup", "job", "--waiting-time=soon"], "error: --waiting-time 'soon' is not a duration such as 90s, 10m"),
        (["podgroup", "job", "--waiting-time=0"], "error: --waiting-time '0' must be above zero"),
        (["podgroup", "job", "--total=1"], "error: --total 1 is less than minMember 2"),
        (["podgroup", "job", "--total=x"], "error: Invalid value for '--total'"),
        (["pods", "job"], "error: nothing to set: give at least one of --index, --index-order, --topology-selector"),
        (["pods", "nobody", "--index"], "error: no gang, pod or owner 'nobody' in namespace 'default'"),
        (
            ["podgroup", "job", "--mode=Strict", "--dry-run=yes"],
            "error: --dry-run=yes is not one of none, client, server",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_is_refused_before_anything_is_sent(
    koord: Run, server: ApiServer, words: list[str], said: str
) -> None:
    assert refused(koord("annotate", *words, "--yes")).startswith(said)
    assert not sent(server)


def test_a_file_is_never_changed(koord: Run, cluster: str) -> None:
    for flags in (["--yes"], ["--dry-run=server"], []):
        said = refused(koord("annotate", "podgroup", "job", "--mode=NonStrict", *flags, "--snapshot", cluster))
        assert said == "error: a snapshot cannot be changed; use --dry-run=client\n"
    shown = koord("annotate", "podgroup", "job", "--mode=NonStrict", "--dry-run=client", "--snapshot", cluster)
    assert (shown.code, shown.err) == (0, "")


def asked(answer: bytes | None, *argv: str) -> Done:
    """Run the program with a terminal of its own as standard input, and answer its question; None is Ctrl-C."""
    ours, theirs = pty.openpty()
    command = [*forked(), *argv]
    pipes: dict[str, Any] = {"stdin": theirs, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, env=dict(os.environ)) as child:
        os.close(theirs)
        out: list[bytes] = []
        reader = threading.Thread(target=lambda: out.append(child.stdout.read() if child.stdout else b""))
        reader.start()
        said = b""
        while b"[y/N] " not in said and (piece := os.read(child.stderr.fileno(), 4096) if child.stderr else b""):
            said += piece
        if answer is None:
            child.send_signal(signal.SIGINT)
        else:
            os.write(ours, answer)
        said += child.stderr.read() if child.stderr else b""
        reader.join()
    os.close(ours)
    return Done(child.returncode, out[0].decode(), said.decode())


@pytest.mark.parametrize("answer", [b"y\n", b"yes\n", b"YES\n"])
def test_a_yes_at_the_prompt_changes_what_was_shown(server: ApiServer, answer: bytes) -> None:
    done = asked(answer, "annotate", "podgroup", "job", "--mode=NonStrict")
    assert done.code == 0
    assert done.err.startswith("To be changed: 1 object.\n\nPodGroup default/job\n")
    place = 'in cluster "test" (context "test", namespace "default")'
    assert done.err.endswith(f"Change 1 object {place}? [y/N] ")
    assert done.err.count("context") == 1
    assert done.out == "Changed 1 object.\n"
    assert len(sent(server)) == 1


def test_the_prompt_names_the_cluster_or_server_that_a_flag_means(server: ApiServer) -> None:
    done = asked(b"n\n", "annotate", "podgroup", "job", "--mode=NonStrict", f"--server={server.url}")
    assert done.err.endswith(f'in cluster "{server.url}" (context "test", namespace "default")? [y/N] ')


def test_a_change_for_the_worse_is_told_before_the_question(server: ApiServer) -> None:
    words = ("annotate", "podgroup", "tiny", "--multiple=SpineLayer=5", "--overwrite")
    done = asked(b"n\n", *words)
    worse = "This makes it worse: why-pending will answer no (multiple-mismatch) instead of yes.\n"
    assert worse in done.err
    assert not sent(server)


@pytest.mark.parametrize("answer", [b"n\n", b"\n", b"yep\n", b"\x04"])
def test_anything_else_at_the_prompt_changes_nothing(server: ApiServer, answer: bytes) -> None:
    done = asked(answer, "annotate", "podgroup", "job", "--mode=NonStrict")
    assert (done.code, done.out) == (1, "declined: nothing was sent.\n")
    assert not sent(server)


def test_ctrl_c_at_the_prompt_ends_it_with_130(server: ApiServer) -> None:
    done = asked(None, "annotate", "podgroup", "job", "--mode=NonStrict")
    assert (done.code, done.out) == (130, "")
    assert done.err.endswith("? [y/N] \ninterrupted: nothing was sent\n")
    assert not sent(server)


MANIFESTS = """\
# of the platform team
apiVersion: v1
kind: ConfigMap
metadata:
  name: other
data:
  when: 2026-01-02
---
apiVersion: scheduling.sigs.k8s.io/v1alpha1
kind: PodGroup
metadata:
  name: job
spec:
  minMember: 2
---
- 1
"""


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    path = tmp_path / "job.yaml"
    path.write_text(MANIFESTS)
    return path


def test_manifests_are_changed_in_place_of_the_cluster_and_all_else_in_them_kept(
    koord: Run, monkeypatch: pytest.MonkeyPatch, manifest: Path
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    done = koord("annotate", "podgroup", "-f", str(manifest), "--min-member=4", "--mode=NonStrict", "--overwrite")
    assert done.code == 0
    assert done.err == "Warning: layers and gangs were not checked, as no cluster was read.\n"
    before, after = list(yaml.safe_load_all(MANIFESTS)), list(yaml.safe_load_all(done.out))
    assert after[0]["data"] == {"when": "2026-01-02"}
    assert after[1] == before[1] | {
        "metadata": {"name": "job", "annotations": {PREFIX + "mode": "NonStrict"}},
        "spec": {"minMember": 4},
    }
    assert after[2] == [1]
    assert manifest.read_text() == MANIFESTS


def test_manifests_come_from_standard_input_and_go_out_as_json(koord: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    groups = [{"apiVersion": SIGS, "kind": "PodGroup", "metadata": {"name": name}} for name in ("job", "tiny")]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": groups})
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    done = koord("annotate", "podgroup", "tiny", "-f", "-", "--min-member", "3", "-o", "json")
    assert done.code == 0
    assert json.loads(done.out)["items"] == [groups[0], groups[1] | {"spec": {"minMember": 3}}]


def test_manifests_are_checked_against_the_cluster_that_is_given(koord: Run, manifest: Path) -> None:
    (manifest.parent / "pods.yaml").write_text(GANGS)
    words = ("annotate", "podgroup", "-f", str(manifest.parent), "--demo", "--overwrite")
    assert refused(koord(*words, "--must-gather=Foo")) == "error: layer 'Foo' is not in the topology\n"
    assert refused(koord(*words, "--groups=job,gone")) == "error: gang 'default/gone' does not exist\n"
    done = koord(*words, "--must-gather=SpineLayer", "--groups=job,light,train/fits")
    assert (done.code, done.err) == (0, "")
    both = koord("annotate", "podgroup", "-f", "-", "--snapshot", "-", "--mode=Strict")
    assert refused(both) == "error: -f and --snapshot cannot both read standard input\n"


GANGS = """\
apiVersion: v1
kind: Pod
metadata:
  name: light-0
  labels: {pod-group.scheduling.sigs.k8s.io/name: light}
spec:
  containers: [{name: main, image: x}]
"""


def test_gangs_and_pods_of_manifests_are_changed_without_a_cluster(
    koord: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    path = tmp_path / "light.yaml"
    path.write_text(GANGS)
    gang = koord("annotate", "gang", "light", "-f", str(tmp_path), "--min-member=1")
    assert yaml.safe_load(gang.out)["metadata"]["annotations"] == {PREFIX + "min-available": "1"}
    pods = koord("annotate", "pods", "-f", str(path), "--index", "-o", "json")
    assert json.loads(pods.out)["metadata"]["annotations"] == {PREFIX + "network-topology-index": "0"}
    for words, said in (
        (("gang", "other", "--mode=Strict"), f"error: no gang default/other in {path}\n"),
        (("pods", "other", "--index"), f"error: no pods of gang default/other in {path}\n"),
    ):
        assert koord("annotate", *words, "-f", str(path)) == (2, "", said)


@pytest.mark.parametrize("words", [("podgroup", "--mode=Strict"), ("gang", "--mode=Strict"), ("pods", "--index")])
def test_without_files_there_must_be_a_name(koord: Run, words: tuple[str, ...]) -> None:
    assert koord("annotate", *words, "--yes") == (2, "", "error: resource name may not be empty\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nobody", "--mode=Strict"], "error: no PodGroup default/nobody in "),
        (["--min-member=3"], "error: --overwrite is false but spec.minMember is declared already: 2"),
        ([], "error: nothing to set: give at least one of --must-gather"),
        (["--mode=Strict", "-o", "wide"], "error: manifests are printed as -o yaml or json"),
        (["job", "tiny", "--mode=Strict"], "error: one name at a time, not 2: job, tiny (a setting to be removed ends"),
    ],
    ids=str,
)
def test_what_cannot_be_of_manifests_is_told(koord: Run, manifest: Path, words: list[str], said: str) -> None:
    assert refused(koord("annotate", "podgroup", "-f", str(manifest), *words)).startswith(said)


def test_settings_are_removed_as_kubectl_removes_annotations(koord: Run, server: ApiServer) -> None:
    assert koord("annotate", "podgroup", "job", "topology-", "mode-", "--yes").code == 0
    (request,) = sent(server)
    assert request.json["metadata"]["annotations"] == {SPEC: None}
    assert SPEC not in group(server)["metadata"]["annotations"]


@pytest.mark.usefixtures("server")
def test_pods_get_their_place_in_an_order_from_a_list_or_a_file(koord: Run, tmp_path: Path) -> None:
    file = tmp_path / "order"
    file.write_text("# ranks\njob-1\njob-0\n")
    for order in ("job-1,job-0", str(file)):
        done = koord("annotate", "pods", "job", "--index-order", order, "--dry-run=client", "-o", "json")
        report = json.loads(done.out)
        after = {change["object"]["name"]: change["after"] for change in report["changes"]}
        index = PREFIX + "network-topology-index"
        assert after == {"job-1": {index: "0"}, "job-0": {index: "1"}}
        assert "index-not-honoured" in [warning["code"] for warning in report["warnings"]]


def test_a_selector_comes_with_the_warning_of_what_it_does(koord: Run, server: ApiServer) -> None:
    done = koord("annotate", "pods", "tiny", "--topology-selector", "ring", "--yes")
    assert done.code == 0
    assert "(worst-fit)" in done.out
    annotations = server.get("pods", "default", "tiny-0")["metadata"]["annotations"]
    assert annotations == {"scheduling.koordinator.sh/network-topology-selector": "ring"}


def test_the_pods_of_a_gang_are_planned_for_from_a_file(koord: Run, tmp_path: Path) -> None:
    light = pod("light-0") | {}
    light["metadata"]["labels"] = {"pod-group.scheduling.sigs.k8s.io/name": "light"}
    light["metadata"]["annotations"] = {PREFIX + "min-available": "1"}
    path = tmp_path / "light.json"
    path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": [*world()["items"], light]}))
    words = ("annotate", "gang", "light", "--mode=NonStrict", "--dry-run", "--snapshot")
    done = koord(*words, str(path))
    assert (done.code, done.err) == (0, "")
    assert f"  + {PREFIX}mode: NonStrict\n" in done.out
