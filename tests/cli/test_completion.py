"""Completion as kubectl and the shells ask for it."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import typer

from kubectl_koord.cli import completion
from kubectl_koord.cli.app import tree
from kubectl_koord.cli.command_line import FORMATS, Globals
from kubectl_koord.cli.verb_table import VERBS, needs_more
from kubectl_koord.cluster.api.connection import Connection
from tests.apiserver import ApiServer, Rule, Tls
from tests.cli.conftest import BIN, Run
from tests.cli.world import pod_group, topology, world, write

GANGS = ["few", "high", "job", "lost", "tiny"]
SHIPPED = Path(__file__).parents[2] / "completions"


def candidates(*words: str) -> list[str]:
    *lines, directive = completion.answer(words).splitlines()
    assert directive == ":4"
    return [line.partition("\t")[0] for line in lines]


def verbs() -> dict[str, Any]:
    """Return Typer's commands by their words, groups included."""
    root: Any = typer.main.get_command(tree())
    found: dict[str, Any] = {}
    for name, command in root.commands.items():
        found[name] = command
        found |= {f"{name} {sub}": inner for sub, inner in getattr(command, "commands", {}).items()}
    return found


def test_the_verbs_are_those_that_typer_knows() -> None:
    assert set(VERBS) == set(verbs())
    assert candidates("") == [name for name in VERBS if " " not in name]


@pytest.mark.parametrize("verb", VERBS)
def test_the_words_of_a_verb_are_those_that_typer_knows(verb: str) -> None:
    parameters = verbs()[verb].params
    arguments = [one for one in parameters if one.param_type_name == "argument"]
    assert len(VERBS[verb].words) == len(arguments) + needs_more(verb)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["why"], ["why-pending", "why-preempted"]),
        (["x"], []),
        (["topo", ""], ["init", "label"]),
        (["topo", "-o", ""], list(FORMATS)),
        (["topo", "--output=y"], ["yaml"]),
        (["-o", "j"], ["json", "jsonpath="]),
        (["topo", "--color", "a"], ["auto", "always"]),
        (["topo", "--koordinator-version", "1"], ["1.7", "1.8"]),
        (["preempt", "--dry-run="], ["client", "server"]),
        (["annotate", "podgroup", "--dry-run="], ["none", "client", "server"]),
        (["annotate", ""], ["podgroup", "gang", "pods"]),
        (["completion", ""], ["bash", "zsh", "fish", "install"]),
        (["completion", "install", ""], ["bash", "zsh", "fish"]),
        (["annotate", "podgroup", "x", "--mode", ""], ["Strict", "NonStrict"]),
        (["annotate", "podgroup", "--match-policy=only"], ["only-waiting"]),
        (["topo", "--dep"], ["--depth"]),
        (["preempt", "--d"], ["--dry-run", "--demo", "--disable-compression"]),
        (["topo", "--depth", ""], []),
        (["topo", "--token", ""], []),
        (["--context-of-nobody", ""], [name for name in VERBS if " " not in name]),
        ([], [name for name in VERBS if " " not in name]),
        (["version", ""], []),
        (["explain", "insuff"], ["insufficient-slots", "insufficient-capacity"]),
        (["explain", "quota", ""], []),
        (["--demo", "devices", "node-1"], ["node-1", "node-10", "node-11"]),
        (["--demo", "devices", "node-1", "node-2"], ["node-2"]),
        (["--demo", "devices", "--domain", "block-"], [f"block-{number}" for number in range(5)]),
        (["--demo", "quota", "koordinator-d"], ["koordinator-default-quota"]),
        (["--demo", "-n", "train", "evict", "sw"], ["sweep-1", "sweep-0"]),
        (["nonsense", ""], []),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else "",
)
def test_static_words_are_filtered_by_what_is_typed(words: list[str], expected: list[str]) -> None:
    assert candidates(*words) == expected


@pytest.mark.parametrize("flag", ["--snapshot", "--kubeconfig", "--client-key"])
def test_file_names_are_left_to_the_shell(flag: str) -> None:
    assert completion.answer(["topo", flag, "x"]) == completion.answer(["topo", f"{flag}=x"]) == ":0\n"
    assert completion.answer(["--cache-dir", ""]) == ":16\n"


def test_gangs_come_from_the_file_that_is_typed(cluster: str) -> None:
    typed = ["--snapshot", cluster]
    assert candidates("why-pending", *typed, "") == GANGS
    assert candidates(*typed, "topo", "--for", "h") == ["high"]
    assert candidates(*typed, "preempt", "--dry-run", "j") == ["job"]
    assert candidates(*typed, "annotate", "podgroup", "") == [gang for gang in GANGS if gang != "lost"]
    assert candidates(*typed, "annotate", "pods", "") == GANGS
    assert candidates(*typed, "why-pending", "default/j") == ["default/job"]
    assert candidates(*typed, "-n", "other", "why-pending", "") == [f"default/{gang}" for gang in GANGS]
    assert candidates(*typed, "-n", "") == ["default"]
    assert candidates(*typed, "why-pending", "job", "") == [gang for gang in GANGS if gang != "job"]
    assert candidates(*typed, "why-pending", "--", "j") == ["job"]


def test_layers_come_from_the_file_that_is_typed(cluster: str) -> None:
    for flag in ("--must-gather", "--prefer-gather"):
        assert candidates("annotate", "podgroup", "job", "--snapshot", cluster, flag, "") == [
            "SpineLayer",
            "NodeTopologyLayer",
        ]


def test_gangs_come_from_the_demo() -> None:
    assert "train/one-short" in candidates("--demo", "why-pending", "train/")
    assert "one-short" in candidates("--demo", "why-pending", "-n", "train", "")


@pytest.mark.parametrize(
    "typed", [["--snapshot", "/nowhere"], ["--snapshot", "-"], ["-o", "x"], ["--request-timeout=x"]]
)
def test_whatever_is_wrong_there_are_just_no_names(typed: list[str]) -> None:
    assert candidates(*typed, "why-pending", "--snapshot", "/nowhere", "") == []


def test_names_that_a_shell_could_act_on_are_not_offered(tmp_path: Path) -> None:
    evil = ["$(reboot)", "a b", "`x`", "x;y", "\x1b[2J", "\u202e", "a\tb", "a\nb", "'", '"', "x|y", "<x", "*"]
    objects = {"kind": "List", "items": [topology(), *(pod_group(name, 1) for name in [*evil, "good.1"])]}
    assert candidates("why-pending", "--snapshot", write(tmp_path, objects), "") == ["good.1"]


def test_names_come_from_the_live_cluster(server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completion, "SECONDS", 60.0)
    server.put(pod_group("far", 1, "away"))
    assert candidates("devices", "a0", "b") == ["b0", "b1"]
    assert candidates("devices", "--domain", "") == ["spine-a", "spine-b"]
    assert candidates("domain", "SpineLayer/") == ["SpineLayer/spine-a", "SpineLayer/spine-b"]
    written = {"topologyInfo": {"topologyLayer": "SpineLayer", "topologyName": "s1"}, "nodeNum": 2}
    leaf = {"topologyInfo": {"topologyLayer": "NodeTopologyLayer", "topologyName": "a0"}, "nodeNum": 1}
    server.put(topology() | {"status": {"detailStatus": [written, leaf]}})
    assert candidates("domain", "s") == ["s1"]
    assert candidates("quota", "koordinator-r") == ["koordinator-root-quota"]
    assert candidates("why-pending", "") == ["few", "high", "job", "tiny"]
    assert candidates("why-pending", "-n", "away", "") == ["far"]
    assert candidates("why-pending", "away/f") == ["away/far"]
    assert candidates("evict", "filler-") == ["filler-a", "filler-b"]
    assert candidates("annotate", "podgroup", "x", "--must-gather", "S") == ["SpineLayer"]
    assert "away" in candidates("topo", "-n", "")
    assert {request.method for request in server.log} == {"GET"}
    assert {request.query["limit"] for request in server.log if request.path.startswith("/api")} == {"500"}


@pytest.mark.parametrize(
    "rule", [Rule(".*", 403, "Forbidden"), Rule(".*", 500), Rule(".*", raw=b"{"), Rule(".*", cut="head")]
)
def test_a_server_that_does_not_tell_is_no_failure(server: ApiServer, rule: Rule) -> None:
    server.rules.append(rule)
    assert candidates("why-pending", "") == []


def test_a_server_that_hangs_is_not_waited_for(server: ApiServer) -> None:
    server.rules.append(Rule(".*", hang=threading.Event()))
    assert completion.find("gang", "", Connection(), Globals(), seconds=0.3) == []


def test_the_whole_program_is_done_in_time_though_the_server_hangs(server: ApiServer) -> None:
    server.rules.append(Rule(".*", hang=threading.Event()))
    start = time.monotonic()
    done = subprocess.run([BIN / "kubectl_complete-koord", "why-pending", ""], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b":4\n", b"")
    assert time.monotonic() - start < 4 * completion.SECONDS


@pytest.mark.usefixtures("no_kubectl")
def test_names_come_without_kubectl_too(tls: Tls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ApiServer(world(), token="secret", tls=tls) as api:  # noqa: S106
        monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig(tmp_path)))
        monkeypatch.setattr(completion, "SECONDS", 20.0)
        found = completion.find("gang", "", Connection(), Globals(), seconds=20)
    assert found == ["few", "high", "job", "tiny"]


def test_contexts_come_from_all_kubeconfig_files(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = {"contexts": [{"name": "one"}, {"name": "arn:aws:eks/x@y"}, {"name": 7}, "odd"], "users": [{"name": "me"}]}
    (tmp_path / "a").write_text(json.dumps(config))
    (tmp_path / "b").write_text('{"contexts": [{"name": "two"}]}')
    (tmp_path / "broken").write_text("{")
    (home / ".kube").mkdir()
    (home / ".kube" / "config").write_text('{"contexts": [{"name": "own"}]}')
    assert candidates("--context", "") == ["own"]
    files = [str(tmp_path / name) for name in ("a", "nowhere", "broken", "b")]
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(files))
    assert candidates("topo", "--context", "") == ["arn:aws:eks/x@y", "one", "two"]
    assert candidates("topo", "--context=t") == ["two"]
    assert candidates("topo", "--kubeconfig", str(tmp_path / "b"), "--context", "") == ["two"]
    assert candidates("--user", "") == ["me"]


def test_the_hidden_verb_answers_as_the_program_for_kubectl_does(koord: Run, cluster: str) -> None:
    words = ("why-pending", "--snapshot", cluster, "t")
    done = subprocess.run([BIN / "kubectl_complete-koord", *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "tiny\n:4\n", "")
    assert koord("__complete", *words) == (0, done.stdout, "")
    path = os.pathsep.join([str(BIN), os.environ["PATH"]])
    script = subprocess.run(
        [SHIPPED / "kubectl_complete-koord", *words], capture_output=True, text=True, check=False, env={"PATH": path}
    )
    assert (script.returncode, script.stdout) == (0, "tiny\n:4\n")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("kubectl-koord why", ["why-pending", "why-preempted"]),
        ("kubectl-koord topo -o ", list(FORMATS)),
        ("kubectl-koord topo --output=j", ["json", "jsonpath="]),
        ("kubectl-koord why-pending --snapshot FILE j", ["job"]),
        ("kubectl-koord x", []),
    ],
)
def test_bash_completes_the_program_with_the_dash(cluster: str, line: str, expected: list[str]) -> None:
    bash = shutil.which("bash")
    if not bash:
        pytest.skip("no bash here")
    typed = line.replace("FILE", cluster)
    ask = 'COMP_LINE=$1; COMP_POINT=${#1}; _kubectl_koord; printf "%s\\n" "${COMPREPLY[@]}"'
    script = f'. "{SHIPPED}/kubectl-koord.bash"; {ask}'
    path = os.pathsep.join([str(BIN), os.environ["PATH"]])
    done = subprocess.run(
        [bash, "-c", script, "bash", typed], capture_output=True, text=True, check=True, env={"PATH": path}
    )
    assert (done.stdout.split(), done.stderr) == (expected, "")


def test_every_flag_is_offered_with_what_it_is_for() -> None:
    for verb in VERBS:
        *lines, _ = completion.answer([*verb.split(), "--"]).splitlines()
        assert [line for line in lines if not line.partition("\t")[2]] == []
    assert "--depth\tLayers to show (default: on a terminal what fits)." in completion.answer(["topo", "--dep"])


@pytest.mark.parametrize(
    ("known", "offered"),
    [("--kubeconfig='':\n", ["--kubeconfig"]), ("--kubeconfig='':\n --kuberc='':\n", ["--kubeconfig", "--kuberc"])],
)
def test_a_flag_that_the_kubectl_which_asks_would_refuse_is_not_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: str, offered: list[str]
) -> None:
    asking = tmp_path / "kubectl"
    asking.write_text(f'#!/bin/sh\n[ "$*" = options ] && cat <<"END"\n{known}END\n')
    asking.chmod(0o755)
    monkeypatch.setenv("KUBECTL_PATH", str(asking))
    assert candidates("topo", "--kube") == offered


@pytest.mark.usefixtures("no_kubectl")
def test_without_kubectl_flags_that_only_it_knows_are_not_offered() -> None:
    assert candidates("topo", "--kube") == ["--kubeconfig"]


@pytest.mark.parametrize(
    ("breaks", "expected"), [(" :=", ["aws:one", "aws:two"]), (" =", ["arn:aws:one", "arn:aws:two"])]
)
def test_bash_replaces_only_what_stands_behind_a_colon(tmp_path: Path, breaks: str, expected: list[str]) -> None:
    config = tmp_path / "config"
    config.write_text('{"contexts": [{"name": "arn:aws:one"}, {"name": "arn:aws:two"}]}')
    line = f"kubectl-koord topo --kubeconfig {config} --context=arn:a"
    ask = 'COMP_WORDBREAKS=$2; COMP_LINE=$1; COMP_POINT=${#1}; _kubectl_koord; printf "%s\\n" "${COMPREPLY[@]}"'
    script = f'. "{SHIPPED}/kubectl-koord.bash"; {ask}'
    path = os.pathsep.join([str(BIN), os.environ["PATH"]])
    command = ["bash", "-c", script, "bash", line, breaks]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={"PATH": path})
    assert (done.stdout.split(), done.stderr) == (expected, "")


def test_it_imports_no_typer() -> None:
    code = "import sys; from kubectl_koord.cli.completion import answer;answer(['topo', '-']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"typer", "yaml", "kubectl_koord.cluster.source"} & set(done.stdout.split())
