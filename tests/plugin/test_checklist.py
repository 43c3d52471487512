"""What a first-class kubectl plugin must do, 32 checks in a row, each in small: other tests look closer.

`python -m tests.packaging --checks` runs them against the installed wheel. What cannot be seen here, other systems and
Krew itself, is said where it belongs.
"""

import gzip
import html
import json
import os
import re
import signal
import ssl
import subprocess
import sys
import threading
import time
import tomllib
from pathlib import Path

import pytest
import yaml

from distribution import krew
from distribution.bundle import PROGRAM, archive_name, pack
from distribution.generated import ROOT
from distribution.manpages import pages
from distribution.release import manifest
from kubectl_koord.cli import completion
from kubectl_koord.cli.command_line import Globals, flags_of
from kubectl_koord.cli.main import run
from kubectl_koord.cli.verb_table import VERBS
from kubectl_koord.cluster.api.connection import Connection
from kubectl_koord.cluster.api.direct import Cluster, Credentials, context_of
from kubectl_koord.cluster.rbac import lean
from tests.apiserver import RESOURCES, ApiServer, Request, Rule, Tls
from tests.cli.conftest import Run
from tests.cli.world import lasting, world, write
from tests.distribution.test_krew import SET, SYSTEMS, bundle, template
from tests.distribution.test_roles import READING, asked_for, granted

CHANGE = ("annotate", "podgroup", "job", "--mode=NonStrict")
HOSTILE = "\x1b[31m\x9b\r\x07\u202e[/red][link=x]:smile:\n" + "x" * 10_000
CANARY = "canary-b7e1"
RAW = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def test_01_kubectl_finds_one_plugin_and_help_is_that_of_kubectl_koord(
    programs: Path, kubectl: str, tmp_path: Path
) -> None:
    for name in ("kubectl-koord", "kubectl_complete-koord"):
        (tmp_path / name).symlink_to(programs / name)
    path = {"PATH": f"{tmp_path}{os.pathsep}/usr/bin{os.pathsep}/bin"}

    def ran(*words: str) -> str:
        done = subprocess.run([kubectl, *words], capture_output=True, text=True, check=True, env=os.environ | path)
        return done.stdout

    assert re.findall(r"^/\S+", ran("plugin", "list"), re.MULTILINE) == [str(tmp_path / "kubectl-koord")]
    for words in ((), ("-h",), ("--help",)):
        assert ran("koord", *words).startswith("Usage: kubectl koord ")


def test_02_nothing_slow_is_imported(served: ApiServer, no_kubectl: None) -> None:
    assert no_kubectl is None
    code = """
import sys
from kubectl_koord.cli.main import run
run(["version"]), run(["--help"])
assert "kubernetes" not in sys.modules
assert run(["topo"]) == 0
assert "kubernetes.client.api.core_v1_api" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert served.requests("/api/v1/nodes")


def test_03_global_flags_stand_before_and_after_the_verb_with_and_without_equals(koord: Run, cluster: str) -> None:
    expected = koord("why-pending", "job", "-n", "default", "-o", "name", "--snapshot", cluster)
    assert expected == (1, "podgroup.scheduling.sigs.k8s.io/job\n", "")
    for words in (
        ("--snapshot", cluster, "-o", "name", "--namespace", "default", "why-pending", "job"),
        (f"--snapshot={cluster}", "why-pending", "-o=name", "job", "--namespace=default"),
        ("why-pending", "job", f"--snapshot={cluster}", "--output=name", "-ndefault"),
    ):
        assert koord(*words) == expected


def namespaces(api: ApiServer) -> set[str]:
    """Return the namespaces whose pods were asked for."""
    found = (re.fullmatch("/api/v1/namespaces/([^/]+)/pods", request.path) for request in api.log)
    return {match[1] for match in found if match}


@pytest.mark.parametrize("order", ["12", "21", "-1", "~1", "11", "e2"])
def test_04_several_kubeconfigs_are_merged_as_kubectl_does(
    koord: Run, kubectl: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: str
) -> None:
    with ApiServer(world()) as one, ApiServer(world()) as other:
        (tmp_path / "empty-config").touch()
        names = {
            "1": str(one.kubeconfig(tmp_path, namespace="first")),
            "2": os.path.relpath(other.kubeconfig(tmp_path, namespace="second")),
            "-": "",
            "~": str(tmp_path / "missing"),
            "e": str(tmp_path / "empty-config"),
        }
        monkeypatch.setenv("KUBECONFIG", os.pathsep.join(names[letter] for letter in order))
        template = "jsonpath={.clusters[0].cluster.server} {.contexts[0].context.namespace}"
        view = [kubectl, "config", "view", "--minify", "-o", template]
        server, namespace = subprocess.run(view, capture_output=True, text=True, check=True).stdout.split()
        assert koord("why-preempted", "nobody").code == 2
        asked = {api.url: namespaces(api) for api in (one, other) if api.log}
    assert asked == {server: {namespace}}


def test_05_flags_override_the_kubeconfig_at_the_server(
    koord: Run, kubectl: str, tls: Tls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kubectl
    with ApiServer(world(), token=CANARY, tls=tls) as api:
        config = yaml.safe_load(api.kubeconfig(tmp_path, user={"token": CANARY}).read_text())
        config["clusters"].append({"name": "wrong", "cluster": {"server": "http://127.0.0.1:1"}})
        config["users"].append({"name": "nobody", "user": {"token": "other"}})
        config["contexts"][0]["context"] = {"cluster": "wrong", "user": "nobody"}
        (tmp_path / "both").write_text(json.dumps(config))
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "both"))
        authority = f"--certificate-authority={tls.certificate}"
        assert "refused" in koord("topo").err
        assert "Unauthorized" in koord("topo", "--cluster=test").err
        assert koord("topo", "--cluster=test", "--user=test").code == 0
        assert koord("topo", "--server", api.url, "--token", CANARY, authority).code == 0
        assert "x509" in koord("topo", "--cluster=test", "--user=test", "--tls-server-name=elsewhere").err
        bearers = dict.fromkeys(request.headers.get("authorization") for request in api.log)
    assert list(bearers) == ["Bearer other", f"Bearer {CANARY}"]


def test_06_impersonation_is_on_every_request(koord: Run, kubectl: str, served: ApiServer, tmp_path: Path) -> None:
    assert kubectl
    of_flags = ("--as=jane", "--as-group=dev", "--as-group=ops", "--as-uid=7")
    user = {"as": "jane", "as-groups": ["dev", "ops"], "as-uid": "7", "as-user-extra": {"team": ["blue"]}}
    assert koord("topo", *of_flags).code == 0
    assert koord("topo", f"--kubeconfig={served.kubeconfig(tmp_path, user=user)}").code == 0
    found = [
        {name: value for name, value in request.headers.items() if name.startswith("impersonate-")}
        for request in served.log
    ]
    assert {one["impersonate-user"] for one in found} == {"jane"}
    assert {one["impersonate-uid"] for one in found} == {"7"}
    assert all(one["impersonate-group"] for one in found)
    assert "blue" in {one.get("impersonate-extra-team") for one in found}


PLUGINS = {
    "fails": ("exit 3", "IfAvailable", "exec: executable PLUGIN failed with exit code 3"),
    "prints garbage": ("echo garbage", "Never", "decoding stdout: couldn't get version/kind"),
    "is missing": ("", "Never", "exec: executable PLUGIN not found (get it there)"),
    "must ask": ("exit 0", "Always", "exec plugin cannot support interactive mode"),
}


@pytest.mark.parametrize("way", ["kubectl", "client"])
@pytest.mark.parametrize("plugin", PLUGINS)
def test_07_without_credentials_nothing_is_sent(
    koord: Run, tls: Tls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, plugin: str
) -> None:
    script, mode, said = PLUGINS[plugin]
    path = tmp_path / "plugin-of-ours"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    command = str(path) if script else "no-such-plugin"
    entry = {"apiVersion": "client.authentication.k8s.io/v1", "command": command, "interactiveMode": mode}
    if way == "client":
        monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with ApiServer(tls=tls, token=CANARY) as api, Path(os.devnull).open() as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        config = api.kubeconfig(tmp_path, user={"exec": entry | {"installHint": "get it there"}})
        done = koord("topo", f"--kubeconfig={config}")
        assert not api.log
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert f"getting credentials: {said.replace('PLUGIN', command)}" in done.err


def test_07_a_policy_that_denies_plugins_is_not_bypassed(
    koord: Run, tls: Tls, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where kubectl is, it keeps its own policy; without it we refuse to run a plugin beside one."""
    (home / ".kube").mkdir()
    (home / ".kube" / "kuberc").write_text("credentialPluginPolicy: DenyAll\n")
    ran = tmp_path / "ran"
    entry = {"apiVersion": "client.authentication.k8s.io/v1", "command": "/usr/bin/touch", "args": [str(ran)]}
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with ApiServer(tls=tls, token=CANARY) as api:
        config = api.kubeconfig(tmp_path, user={"exec": entry | {"interactiveMode": "Never"}})
        done = koord("topo", f"--kubeconfig={config}")
        assert not api.log
    assert done.code == 2
    assert "the credential plugin policy of kuberc" in done.err
    assert not ran.exists()


def test_08_no_kubeconfig_is_ever_written(koord: Run, direct: ApiServer) -> None:
    path = Path(os.environ["KUBECONFIG"])
    before = (path.read_bytes(), path.stat().st_mtime_ns)
    for words in (("topo",), ("why-pending",), ("__complete", "--context", ""), (*CHANGE, "--yes")):
        koord(*words)
    assert direct.log
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


@pytest.mark.usefixtures("no_kubectl")
def test_09_an_authority_without_key_identifiers_is_trusted_and_no_other(
    koord: Run, tls: Tls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From Python 3.13 on such authorities are refused unless one flag of OpenSSL is off."""
    trusting = context_of(Cluster(certificate_authority=str(tls.certificate)), Credentials())
    assert not trusting.verify_flags & ssl.VERIFY_X509_STRICT
    assert (trusting.verify_mode, trusting.check_hostname) == (ssl.CERT_REQUIRED, True)
    with ApiServer(world(), token=CANARY, tls=tls) as api:
        monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig(tmp_path)))
        assert koord("topo").code == 0
        assert "x509" in koord("topo", "--tls-server-name=elsewhere").err


@pytest.mark.parametrize(
    ("status", "reason", "said"),
    [
        (401, "Unauthorized", "error: You must be logged in to the server (no)"),
        (403, "Forbidden", "error: PodGroup could not be read: no"),
        (404, "NotFound", "error: PodGroup could not be read: the PodGroup CRD is not installed"),
        (429, "TooManyRequests", "error: PodGroup could not be read: no"),
        (500, "InternalError", "Error from server (InternalError): no"),
    ],
)
def test_10_a_failure_is_one_line_of_kubectls_within_the_time_asked_for(
    koord: Run, direct: ApiServer, status: int, reason: str, said: str
) -> None:
    raw = b"404 page not found\n" if status == 404 else None
    direct.rules[:] = [Rule(".*/podgroups", status, reason, "no", raw=raw)]
    assert koord(*CHANGE, "--dry-run=client") == (2, "", f"{said}\n")
    direct.rules[:] = [Rule(".*", hang=threading.Event())]
    start = time.monotonic()
    assert koord("topo", "--request-timeout=200ms").code == 2
    assert time.monotonic() - start < 20
    closed = "The connection to the server 127.0.0.1:1 was refused - did you specify the right host or port?\n"
    assert koord("topo", "--server=http://127.0.0.1:1") == (2, "", closed)


def test_11_warnings_are_told_once_and_no_token_ever(
    koord: Run, kubectl: str, tls: Tls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kubectl
    with ApiServer(world(), token=CANARY, tls=tls) as api:
        monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig(tmp_path)))
        told = json.dumps({"kind": "PodGroupList", "metadata": {}, "items": []}).encode()
        api.rules[:] = [Rule(".*/podgroups", raw=told, headers={"Warning": '299 - "v1alpha1 is old"'})]
        done = koord("gangs", "-v", "8")
    assert done.err.count("Warning: v1alpha1 is old\n") == 1
    assert re.search(r"^GET \S+/api/v1/nodes\S* 200 OK in \d+ milliseconds$", done.err, re.MULTILINE)
    assert CANARY not in done.out + done.err


def test_12_a_pipe_gets_rows_of_one_line_whatever_the_width(installed: Run, koord: Run, cluster: str) -> None:
    narrow = installed("why-pending", "--snapshot", cluster, COLUMNS="20", TERM="xterm-256color")
    assert narrow == koord("why-pending", "--snapshot", cluster)
    assert not RAW.search(narrow.out)
    rows = koord("gangs", "--no-headers", "--snapshot", cluster).out.splitlines()
    names = koord("gangs", "-o", "name", "--snapshot", cluster).out.splitlines()
    assert "NAME" not in rows[0]
    assert "podgroup.scheduling.sigs.k8s.io/job" in names


PLAIN, COLOURED = False, True


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("--color=auto", PLAIN),
        ("--color=always NO_COLOR=1", COLOURED),
        ("--color=never FORCE_COLOR=1", PLAIN),
        ("FORCE_COLOR=1", COLOURED),
        ("FORCE_COLOR=1 NO_COLOR=1", PLAIN),
    ],
)
def test_13_colour_is_as_documented(
    koord: Run, cluster: str, monkeypatch: pytest.MonkeyPatch, setting: str, *, expected: bool
) -> None:
    words = setting.split()
    for name, _, value in (word.partition("=") for word in words if not word.startswith("-")):
        monkeypatch.setenv(name, value)
    done = koord("why-pending", "job", *(word for word in words if word.startswith("-")), "--snapshot", cluster)
    assert ("\x1b[" in done.out) == expected


def test_14_json_and_yaml_are_one_document_and_an_unknown_format_lists_those_there_are(
    koord: Run, cluster: str
) -> None:
    done = koord("gangs", "-o", "json", "--snapshot", cluster)
    document = json.loads(done.out)
    assert (document["apiVersion"], list(document)[:2]) == ("kubectl-koord/v1alpha1", ["apiVersion", "kind"])
    same = yaml.safe_load(koord("gangs", "-o", "yaml", "--snapshot", cluster).out)
    assert (list(same), lasting(same)) == (list(document), lasting(document))
    refused = koord("gangs", "-o", "xml", "--snapshot", cluster)
    assert refused.err.startswith("error: unable to match a printer suitable for the output format 'xml', allowed")
    assert (refused.code, refused.out) == (2, "")


def hostile(folder: Path) -> str:
    """Write a cluster with hostile text wherever the API would let a string be."""
    text = json.dumps(world()).replace('"job', json.dumps(HOSTILE)[:-1] + "job").replace('"a1"', json.dumps(HOSTILE))
    return write(folder, json.loads(text))


def test_15_hostile_text_is_shown_and_never_acts(koord: Run, tmp_path: Path) -> None:
    path = hostile(tmp_path)
    for words in (("topo", "--nodes"), ("gangs",), ("why-pending",), ("why-pending", HOSTILE), ("__complete", "x", "")):
        done = koord(*words, *(() if words[0] == "__complete" else ("--snapshot", path)))
        assert not RAW.search(done.out + done.err)
        assert "Traceback" not in done.err
    assert "\\x1b[31m" in koord("gangs", "--snapshot", path).out
    assert koord("__complete", "why-pending", "--snapshot", path, "x") == (0, ":4\n", "")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("",), [name for name in VERBS if " " not in name]),
        (("why-p",), ["why-pending", "why-preempted"]),
        (("topo", "--output=j"), ["json", "jsonpath="]),
        (("--demo", "-n", "tr"), ["train"]),
        (("topo", "--context", ""), ["test"]),
        (("topo", "--snapshot", ""), []),
    ],
    ids=" ".join,
)  # fmt: skip
def test_16_completion_ends_in_a_directive_and_never_fails(
    koord: Run, direct: ApiServer, words: tuple[str, ...], expected: list[str]
) -> None:
    done = koord("__complete", *words)
    assert {request.method for request in direct.log} <= {"GET"}
    *lines, directive = done.out.splitlines()
    assert [line.partition("\t")[0] for line in lines if "=" not in line or "json" in line] == expected
    assert (done.code, directive, done.err) == (0, ":0" if "--snapshot" in words else ":4", "")


def test_16_completion_offers_the_names_of_the_cluster(direct: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """With more time than somebody who types has: here the machine may be busy."""
    monkeypatch.setattr(completion, "SECONDS", 60.0)
    found = completion.find("gang", "h", Connection(), Globals(), seconds=60)
    assert {"heavy", "high"} <= set(found)
    assert {request.method for request in direct.log} == {"GET"}


AWAITING = """
import contextlib, ctypes, os, subprocess, sys
ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER: who is left becomes our child
code = subprocess.call(sys.argv[1:])
with contextlib.suppress(ChildProcessError):
    while True:
        os.wait()
sys.exit(code)
"""
"""Runs a program, and ends when it and all that it has started have ended."""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells when those that are left have ended")
@pytest.mark.parametrize(
    "rule", [Rule(".*", hang=threading.Event()), Rule(".*", 403, "Forbidden")], ids=["hangs", "403"]
)
def test_17_completion_waits_for_no_server_and_leaves_nothing(
    served: ApiServer, programs: Path, tmp_path: Path, rule: Rule
) -> None:
    """That it takes two seconds at most is measured where nothing else runs: here the machine may be busy."""
    served.rules[:] = [rule]
    (tmp_path / "tmp").mkdir()
    environment = os.environ | {"TMPDIR": str(tmp_path / "tmp")}
    command = [sys.executable, "-c", AWAITING, str(programs / "kubectl_complete-koord"), "why-pending", ""]
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, check=False, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, b":4\n", b"")
    assert time.monotonic() - start < 20
    assert [*(tmp_path / "tmp").iterdir()] == []


WRITES = [name for name, row in VERBS.items() if "--yes" in flags_of(name) and row.sends != ("",)]
"""All but `plan`, which is a dry run without `--apply`."""


def sent(server: ApiServer) -> list[Request]:
    return [request for request in server.log if request.method != "GET"]


def test_18_what_writes_has_a_dry_run_asks_and_without_a_terminal_refuses(
    koord: Run, direct: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert set(WRITES) == {name for name, row in VERBS.items() if "none" in row.sends and "--dry-run" in flags_of(name)}
    for verb in WRITES:
        assert flags_of(verb)["--dry-run"][0] == "[none|client|server]"
    with Path(os.devnull).open() as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        done = koord(*CHANGE)
    assert (done.code, done.out) == (2, "")
    assert sent(direct) == []


def test_18_what_writes_names_its_field_manager(koord: Run, direct: ApiServer) -> None:
    assert koord(*CHANGE, "--yes", "--field-manager=mine").code == 0
    assert [request.query.get("fieldManager") for request in sent(direct)] == ["mine"]


def test_19_a_dry_run_keeps_nothing(koord: Run, direct: ApiServer) -> None:
    before = direct.get("podgroups", "default", "job")
    assert koord(*CHANGE, "--dry-run=client").code == 0
    assert koord("preempt", "high", "--dry-run=client").code == 0
    assert sent(direct) == []
    assert koord(*CHANGE, "--dry-run=server").code == 0
    assert koord("preempt", "high", "--dry-run=server").code == 0
    assert [request.query["dryRun"] for request in sent(direct)] == ["All"] * len(sent(direct))
    assert direct.get("podgroups", "default", "job") == before


def test_20_nothing_is_overwritten(koord: Run, direct: ApiServer) -> None:
    gather = ("annotate", "podgroup", "job", "--prefer-gather=SpineLayer", "--yes")
    refused = koord(*gather)
    assert (refused.code, refused.out) == (2, "")
    assert "--overwrite" in refused.err
    assert sent(direct) == []
    direct.rules[:] = [Rule(".*/podgroups/job", 409, "Conflict", "the object has been modified", method="PATCH")]
    conflict = koord(*CHANGE, "--yes")
    assert (conflict.code, conflict.out) == (2, "")
    assert "the object has been modified" in conflict.err
    assert all(request.json["metadata"]["resourceVersion"] for request in sent(direct))


BUDGET = "Cannot evict pod as it would violate the pod's disruption budget."


@pytest.mark.parametrize(
    ("status", "reason", "message", "causes"),
    [
        (201, "", "allowed", ()),
        (429, "TooManyRequests", BUDGET, ({"reason": "DisruptionBudget"},)),
        (429, "TooManyRequests", "the server is busy", ()),
        (404, "NotFound", 'pods "filler-a" not found', ()),
        (403, "Forbidden", "cannot create resource pods/eviction", ()),
        (500, "InternalError", "This pod has more than one PodDisruptionBudget", ()),
    ],
    ids=["allowed", "budget", "throttled", "gone", "forbidden", "several budgets"],
)
def test_21_an_eviction_is_only_asked_for_and_each_answer_is_told(
    koord: Run, direct: ApiServer, status: int, reason: str, message: str, causes: tuple[dict[str, str], ...]
) -> None:
    if status != 201:
        direct.rules[:] = [Rule(".*/eviction", status, reason, message, causes=causes)]
    done = koord("preempt", "high", "--dry-run=server", "-o", "json")
    assert {victim["eviction"] for victim in json.loads(done.out)["victims"]} == {message}
    assert {request.method for request in sent(direct)} == {"POST"}


def test_22_reading_asks_for_no_more_than_the_role_for_viewing_grants(koord: Run, direct: ApiServer) -> None:
    for words in READING:
        if words[0] != "scheduler":  # it takes a role of its own
            koord(*words)
    asked = (one for one in direct.log if one.path != "/apis")  # which everybody may ask
    assert lean(map(asked_for, asked)) <= granted("view")


@pytest.mark.parametrize("kind", ["ElasticQuota", "Reservation", "NodeMetric", "NodeResourceTopology"])
def test_23_what_may_not_be_read_is_named_and_makes_the_answer_unknown(
    koord: Run, direct: ApiServer, kind: str
) -> None:
    plural = next(resource.plural for resource in RESOURCES if resource.kind == kind)
    direct.delete("pods", "default", "using-0")  # it would need the same room
    assert koord("why-pending", "tiny").code == 0
    direct.rules[:] = [Rule(f".*/{plural}", 403, "Forbidden", f"{plural} is forbidden")]
    done = koord("why-pending", "tiny", "-o", "json")
    report = json.loads(done.out)
    assert (done.code, report["verdict"]) == (2, "unknown")
    assert f"{plural} is forbidden" in "".join(one["message"] for one in report["warnings"])


def test_24_a_snapshot_holds_no_secret(koord: Run, direct: ApiServer, tmp_path: Path) -> None:
    pod = direct.get("pods", "default", "job-0")
    pod["metadata"]["annotations"] = {
        "kubectl.kubernetes.io/last-applied-configuration": CANARY,
        "example.com/token": CANARY,
    }
    pod["spec"]["containers"][0] |= {"env": [{"name": "KEY", "value": CANARY}], "args": [CANARY], "command": [CANARY]}
    direct.put(pod)
    path = tmp_path / "cluster.json.gz"
    assert koord("snapshot", "-o", str(path)).code == 0
    taken = gzip.decompress(path.read_bytes()).decode()
    assert "job-0" in taken
    assert CANARY not in taken
    assert path.stat().st_mode & 0o777 == 0o600


def test_25_a_page_of_hostile_text_runs_and_loads_nothing(koord: Run, tmp_path: Path) -> None:
    evil = '<script src="http://x.test/a.js">alert(1)</script>'
    text = json.dumps(world()).replace('"a1"', json.dumps(evil))
    page = koord("topo", "--nodes", "-o", "html", "--snapshot", write(tmp_path, json.loads(text))).out
    assert "&lt;script" in page
    assert "<script src" not in page
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert html.unescape(policy).startswith("default-src 'none'")
    assert not re.search(r"""\b(src|href)=["']?(https?:)?//""", page)


def test_26_a_signal_and_a_closed_pipe_end_it_without_a_word(
    served: ApiServer, programs: Path, cluster: str, tmp_path: Path
) -> None:
    command = [str(programs / "kubectl-koord"), "topo"]
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        (tmp_path / f"tmp-{number}").mkdir()
        environment = os.environ | {"TMPDIR": str(tmp_path / f"tmp-{number}")}
        served.rules[:] = [Rule("/api/v1/nodes", hang=threading.Event())]
        served.log.clear()
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as child:
            served.wait_for("/api/v1/nodes", 1, watch=False)
            child.send_signal(number)
            out, errors = child.communicate(timeout=60)
        waited = re.sub(rb"Waiting for the API server .*\n", b"", errors)
        assert (child.returncode, out, waited) == (code, b"", b"")
        assert not [*(tmp_path / f"tmp-{number}").iterdir()]
    line = f'"{programs}/kubectl-koord" topo --nodes --snapshot "{cluster}" | head -1'
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True)
    assert (done.stdout.count("\n"), done.stderr) == (1, "")


@pytest.mark.usefixtures("no_kubectl")
def test_27_in_a_pod_the_service_account_is_used(
    tmp_path: Path, tls: Tls, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    account = tmp_path / "account"
    account.mkdir()
    (account / "token").write_text(CANARY)
    (account / "namespace").write_text("default")
    (account / "ca.crt").write_bytes(tls.certificate.read_bytes())
    for module in ("direct", "connection"):
        monkeypatch.setattr(f"kubectl_koord.cluster.api.{module}.SERVICE_ACCOUNT", str(account))
    with ApiServer(world(), token=CANARY, tls=tls) as api:
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(api.port))
        assert run(["why-pending", "job", "-o", "name"]) == 1
    assert capfd.readouterr() == ("podgroup.scheduling.sigs.k8s.io/job\n", "")


def test_28_lists_come_whole_and_a_version_that_is_gone_is_listed_anew(koord: Run, direct: ApiServer) -> None:
    """By decision they are not paged: they are decoded as they arrive. `make bench` records time and memory."""
    assert koord("topo").code == 0
    assert [request.query.get("limit") for request in direct.requests("/api/v1/pods")] == [None]
    direct.forget_events()
    assert koord("why-pending", "done", "--until", "scheduled", "--timeout", "60s").code == 0


def test_29_what_krew_installs_is_taken_by_krews_rules(koord: Run, programs: Path, tmp_path: Path) -> None:
    """Krew itself is not run: its rules are restated in `distribution/krew.py`."""
    made = bundle(tmp_path / "bundle")
    for system in SYSTEMS:
        pack(made, tmp_path / archive_name(*system))
        assert krew.archive_problems(tmp_path / archive_name(*system), PROGRAM) == []
    assert krew.problems(yaml.safe_load(manifest(tmp_path, SET, template())), "koord") == []
    link = tmp_path / "kubectl-koord"
    link.symlink_to(programs / "kubectl-koord")
    shown = subprocess.run([link, "version"], capture_output=True, text=True, check=True).stdout
    assert shown == koord("version").out


def test_30_both_programs_are_installed_for_every_python_that_is_named(programs: Path) -> None:
    """`make packaging` installs the wheel with pip; pipx and uv install the same scripts."""
    made = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    project = made["project"]
    assert set(project["scripts"]) == {"kubectl-koord", "kubectl_complete-koord"}
    for name in project["scripts"]:
        assert os.access(programs / name, os.X_OK)
    named = re.findall(r"Python :: (3\.\d+)", " ".join(project["classifiers"]))
    assert named == [f"3.{minor}" for minor in range(11, 15)]
    assert project["requires-python"] == f">={named[0]}"


def test_31_files_folders_and_standard_input_are_read_and_what_harms_is_refused(
    koord: Run, installed: Run, cluster: str, tmp_path: Path
) -> None:
    objects = world()["items"]
    folder = tmp_path / "parts" / "within"
    folder.mkdir(parents=True)
    (folder.parent / "one.yaml").write_text(yaml.safe_dump_all(objects[:5]))
    (folder / "two.json").write_text(json.dumps({"kind": "List", "items": objects[5:]}))
    expected = koord("gangs", "-o", "name", "--snapshot", cluster)
    assert expected.code == 0
    assert koord("gangs", "-o", "name", "-R", "--snapshot", str(folder.parent)) == expected
    each = ("--snapshot", str(folder.parent / "one.yaml"), "--snapshot", str(folder / "two.json"))
    assert koord("gangs", "-o", "name", *each) == expected
    assert installed("gangs", "-o", "name", "--snapshot", "-", stdin=Path(cluster).read_text()) == expected
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
        for before, name in zip("abcdefghi", "bcdefghij", strict=True)
    )
    refusals = {"kind: List\nitems: ]\n": "line 2 not YAML", "!!python/object:os.system x": "not YAML", bomb: "values"}
    for text, said in refusals.items():
        (tmp_path / "bad.yaml").write_text(text)
        done = koord("gangs", "--snapshot", str(tmp_path / "bad.yaml"))
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert said in done.err


def test_32_the_readme_and_the_man_pages_name_what_there_is() -> None:
    """That the README prints what the program prints is tested beside it; the pages are compared with --help, too."""
    for readme in ("README.md", "README.zh-CN.md"):
        linked = re.findall(r"docs/commands/([a-z-]+)\.md", (ROOT / readme).read_text("utf-8"))
        assert set(linked) == {name for name, row in VERBS.items() if row.module}
    assert [name for name, text in pages().items() if (ROOT / "man" / name).read_text("utf-8") != text] == []


def test_the_checks_are_in_the_order_of_the_list() -> None:
    numbers = re.findall(r"^def test_(\d\d)_", Path(__file__).read_text("utf-8"), re.MULTILINE)
    assert sorted(numbers) == numbers
    assert set(numbers) == {f"{number:02}" for number in range(1, 33)}
