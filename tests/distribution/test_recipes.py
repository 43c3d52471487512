"""The recipes: an image without an invented registry, plugins of k9s that call what there is, a quiet bundle."""

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from distribution.generated import ROOT
from kubectl_koord.cli.command_line import flags_of, take_globals
from kubectl_koord.cluster.api.connection import take_connection

IMAGE = (ROOT / "packaging" / "Containerfile").read_text("utf-8")
K9S = yaml.safe_load((ROOT / "packaging" / "k9s-plugin.yaml").read_text("utf-8"))["plugins"]
GIVEN = {"$NAMESPACE": "train", "$NAME": "it's; reboot", "$CONTEXT": "arn:aws:eks/x y"}


def test_the_base_of_the_image_is_for_the_builder_to_name() -> None:
    assert re.findall(r"^ARG (.*)$", IMAGE, re.MULTILINE) == ["BASE"]
    assert set(re.findall(r"^FROM (\S+)", IMAGE, re.MULTILINE)) == {"${BASE}"}
    assert "constraints.txt" in IMAGE
    assert "USER 65532:65532" in IMAGE


def test_what_is_installed_by_hash_is_what_the_constraints_name_and_all_that_is_needed() -> None:
    pinned = {one.partition(" ;")[0] for one in (ROOT / "constraints.txt").read_text("utf-8").splitlines()}
    hashed = (ROOT / "packaging" / "requirements.txt").read_text("utf-8")
    one = r"^([a-z][^\\\n]*[^\\\n ]) \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)"
    parts = re.findall(one, hashed, re.MULTILINE)
    assert len(parts) == len(re.findall(r"^[a-z]", hashed, re.MULTILINE))
    assert {name.partition(" ;")[0] for name, _ in parts} <= pinned
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    names = {re.sub("[._]", "-", re.split("[=<>~! ;]", one)[0].lower()) for one in needed}
    assert names <= {name.partition("==")[0] for name, _ in parts}


@pytest.mark.parametrize("files", ["one", "one:another", ""])
@pytest.mark.parametrize("name", K9S)
def test_a_plugin_of_k9s_calls_a_verb_with_flags_that_it_has_and_splits_no_name(
    name: str, files: str, tmp_path: Path
) -> None:
    (tmp_path / "one").write_text("")
    given = {**GIVEN, "$KUBECONFIG": files and f"{tmp_path}/{files}"}
    plugin = K9S[name]
    assert set(plugin) == {"shortCut", "description", "scopes", "command", "background", "args"}
    told = tmp_path / "told"
    for program, script in {"kubectl": f'printf "%s\\n" "$@" >{told}', "less": "cat"}.items():
        (tmp_path / program).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / program).chmod(0o755)
    words = list(plugin["args"])
    for variable, value in given.items():
        words = [word.replace(f"{variable}/", f"{value}/") if word != variable else value for word in words]
        words = [word.removesuffix(variable) + value if word.endswith(variable) else word for word in words]
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    subprocess.run([plugin["command"], *words], check=True, env=environment, capture_output=True)
    koord, verb, *rest = told.read_text().splitlines()
    connection, others = take_connection(rest)
    _, left = take_globals(others)
    assert koord == "koord"
    assert connection.value("context") == GIVEN["$CONTEXT"]
    assert connection.value("kubeconfig") == (given["$KUBECONFIG"] if files == "one" else "")
    flags = [word.partition("=")[0] for word in left if word.startswith("-")]
    assert set(flags) <= set(flags_of(verb))
    (subject,) = [word for word in left if not word.startswith("-")]
    assert subject.endswith(GIVEN["$NAME"])


def test_keys_of_k9s_plugins_do_not_meet_in_one_view() -> None:
    keys = [(scope, plugin["shortCut"]) for plugin in K9S.values() for scope in plugin["scopes"]]
    assert len(set(keys)) == len(keys)
    assert all(shlex.split(plugin["args"][1].splitlines()[-1])[0] == "kubectl" for plugin in K9S.values())


def test_the_bundle_takes_care_of_signals_before_pyinstaller_prepares_anything() -> None:
    """PyInstaller runs the hooks that a recipe names before those of its own."""
    recipe = (ROOT / "packaging" / "kubectl-koord.spec").read_text("utf-8")
    (hook,) = re.findall(r'runtime_hooks=\[str\(root / "packaging" / "(\S+)"\)\]', recipe)
    code = f"import os, runpy; runpy.run_path({str(ROOT / 'packaging' / hook)!r}); os.kill(os.getpid(), 2)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
