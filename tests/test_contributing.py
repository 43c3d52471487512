"""What CONTRIBUTING.md says is so: its toys work, its files and targets exist, hooks run what CI runs."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.cli import world
from tests.cli.test_quota import elastic_quota

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
TOYS = re.findall(r"^```diff\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
TOY_FILTER, TOY_COLUMN, TOY_FINDING, TOY_CAUSE, TOY_KIND, TOY_VENDOR, TOY_VERB = TOYS
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
TARGETS = set(re.findall(r"^([a-z-]+):(?!=)", MAKEFILE, re.MULTILINE))


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Return a folder with a copy of the package and of its rules."""
    shutil.copytree(ROOT / "kubectl_koord", tmp_path / "kubectl_koord", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "distribution").mkdir()
    shutil.copy(ROOT / "distribution" / "symptoms.toml", tmp_path / "distribution")
    return tmp_path


def ran(folder: Path, *command: str | Path, stdin: str = "", code: int = 0) -> str:
    """Run a command in a folder, as if it were no part of a repository, and return what it prints."""
    # Within a hook git tells its children where the repository is.
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PYTHON"))}
    kept["GIT_CEILING_DIRECTORIES"] = str(folder.parent)
    done = subprocess.run(
        command, cwd=folder, env=kept, input=stdin, capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == code, f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def asked(package: Path, *words: str, code: int = 0) -> str:
    """Return what the program in a folder prints."""
    run = "import sys; sys.path[0] = ''; from kubectl_koord.cli.entry import main; main()"
    return ran(package, sys.executable, "-c", run, *words, code=code)


def reasons(package: Path, cluster: str, code: int) -> dict[str, str]:
    """Return, by node, why it refuses the pod, from an answer with the exit code."""
    answer = asked(package, "why-pending", "pod/p-0", "--nodes", "--snapshot", cluster, "-o", "json", code=code)
    return {node["node"]: node["reason"] for node in json.loads(answer)["nodes"]}


def test_the_toy_filter_is_a_new_file_and_its_rows_and_refuses_what_it_says(package: Path) -> None:
    nodes = [world.node("n12", "s"), world.node("n13", "s")]
    items = [*world.scheduler(), *nodes, world.pod("filler", on="n12"), world.pod("p-0")]
    cluster = world.write(package, {"apiVersion": "v1", "kind": "List", "items": items})
    assert reasons(package, cluster, code=0) == {"n12": "insufficient CPU", "n13": ""}

    ran(package, "git", "apply", "-", stdin=TOY_FILTER)

    refused = reasons(package, cluster, code=1)
    assert refused == {"n12": "insufficient CPU", "n13": "taint example.com/unlucky:NoSchedule"}
    assert re.findall(r"^\+\+\+ b/(.*)$", TOY_FILTER, re.MULTILINE) == [
        "kubectl_koord/engine/filters/__init__.py",
        "kubectl_koord/engine/filters/unlucky.py",
    ]


def test_the_toy_column_is_shown_in_its_place(package: Path) -> None:
    quotas = [elastic_quota("p", "4", {}, is_parent="true"), elastic_quota("a", "2", {}, parent="p")]
    cluster = world.write(package, {"kind": "List", "items": [world.node("n", "s"), *quotas]})
    assert "CHILDREN" not in asked(package, "quota", "--snapshot", cluster)

    ran(package, "git", "apply", "-", stdin=TOY_COLUMN)

    lines = asked(package, "quota", "--snapshot", cluster).splitlines()
    (head,) = (line for line in lines if line.strip().startswith("QUOTA "))
    (parent,) = (line for line in lines if line.strip().startswith(("p ", "└─ p ", "├─ p ")))
    column = head.index("CHILDREN") + len("CHILDREN")
    assert parent[:column].split()[-1] == "1"
    assert re.findall(r"^\+\+\+ b/(.*)$", TOY_COLUMN, re.MULTILINE) == ["kubectl_koord/render/pages/quota.py"]


def test_the_toy_finding_is_one_of_doctor_and_has_a_page(package: Path) -> None:
    nodes = [world.node("n12", "s"), world.node("n13", "s")]
    cluster = world.write(package, {"kind": "List", "items": nodes})

    ran(package, "git", "apply", "-", stdin=TOY_FINDING)

    answer = json.loads(asked(package, "doctor", "--snapshot", cluster, "-o", "json"))
    found = [one for one in answer["findings"] if one["code"] == "unlucky-node"]
    assert [(one["severity"], one["object"], one["remedy"]) for one in found] == [
        ("warning", "Node/n13", "Give it another name.")
    ]
    assert asked(package, "explain", "unlucky-node").startswith("A node has an unlucky name.\n")


def test_the_toy_cause_keeps_a_pod_from_being_tried_and_has_a_page(package: Path) -> None:
    nodes = [world.node("n", "s"), world.node("m", "s")]
    items = [*world.scheduler(), *nodes, world.pod("p-12"), world.pod("p-13")]
    cluster = world.write(package, {"kind": "List", "items": items})
    asked(package, "why-pending", "pod/p-13", "--snapshot", cluster)

    ran(package, "git", "apply", "-", stdin=TOY_CAUSE)

    answer = json.loads(asked(package, "why-pending", "pod/p-13", "--snapshot", cluster, "-o", "json", code=1))
    assert answer["cause"] == {
        "code": "unlucky-pod",
        "message": "default/p-13 has an unlucky name.",
        "pods": ["default/p-13"],
    }
    asked(package, "why-pending", "pod/p-12", "--snapshot", cluster)
    assert asked(package, "explain", "unlucky-pod").startswith("A pod has an unlucky name.\n")


def test_the_toy_kind_is_a_new_file_and_its_row_and_is_read(package: Path) -> None:
    ran(package, "git", "apply", "-", stdin=TOY_KIND)

    read = """
from kubectl_koord.cluster import kinds
from kubectl_koord.cluster import stored as files
from kubectl_koord.cluster.collect import Collector

collector = Collector()
content = '{"kind": "Switch", "metadata": {"name": "s1"}, "spec": {"ports": 48}}'
files.take("f", content.encode(), collector)
print(collector.values(kinds.SWITCH), kinds.REQUESTS["Switch"].path)
"""
    printed = ran(package, sys.executable, "-c", f"import sys; sys.path[0] = ''{read}")
    assert printed == "{'s1': 48} /apis/scheduling.koordinator.sh/v1alpha1/switches\n"
    assert re.findall(r"^\+\+\+ b/(.*)$", TOY_KIND, re.MULTILINE) == [
        "kubectl_koord/cluster/objects/switches.py",
        "kubectl_koord/cluster/kinds.py",
    ]


def test_the_toy_vendor_is_a_row_and_its_queue_and_its_gate_are_known(package: Path) -> None:
    ran(package, "git", "apply", "-", stdin=TOY_VENDOR)

    read = """
from kubectl_koord.cluster.objects.jobs import owner
from kubectl_koord.model.vendors import owner_of_gate

meta = {"name": "a", "annotations": {"example.com/queue": "night"}}
print(owner({"apiVersion": "batch/v1", "kind": "Job", "metadata": meta}).queue, owner_of_gate("example.com/later"))
"""
    assert ran(package, sys.executable, "-c", f"import sys; sys.path[0] = ''{read}") == "night Harbour\n"


def test_the_toy_verb_is_a_new_file_and_its_row_and_answers(package: Path) -> None:
    asked(package, "size", "--demo", code=2)

    ran(package, "git", "apply", "-", stdin=TOY_VERB)

    assert asked(package, "size", "--demo") == "12 nodes\n"
    assert asked(package, "size", "--demo", "-o", "json", code=2) == ""
    assert re.search("^ *size  +Count the nodes", asked(package, "--help"), re.MULTILINE)
    assert re.findall(r"^\+\+\+ b/(.*)$", TOY_VERB, re.MULTILINE) == [
        "kubectl_koord/cli/verb_table.py",
        "kubectl_koord/cli/verbs/size.py",
    ]


def test_the_toys_keep_to_the_rules_of_the_code(package: Path) -> None:
    for toy in TOYS:
        ran(package, "git", "apply", "-", stdin=toy)

    ran(package, BIN / "ruff", "check", "--no-cache", "kubectl_koord")
    ran(package, BIN / "ruff", "format", "--no-cache", "--check", "kubectl_koord")
    ran(package, BIN / "lint-imports", "--no-cache")


def test_every_file_that_is_named_is_there() -> None:
    named = re.findall(
        r"(?<![\w/.])(?:kubectl_koord|tests|docs)/[\w./-]+",
        re.sub(r"^```diff\n.*?^```$", "", TEXT, flags=re.DOTALL | re.MULTILINE),
    )
    files = {name.rstrip(".") for name in named if not re.search("[A-Z]{2}", name.removesuffix("README.md"))}

    assert len(files) > 20
    assert [name for name in sorted(files) if not (ROOT / name).exists()] == []


def test_every_target_that_is_named_is_one_of_make() -> None:
    assert set(re.findall(r"(?:^|`)make ([a-z-]+)", TEXT, re.MULTILINE)) <= TARGETS


def test_hooks_run_what_make_test_runs() -> None:
    (rule,) = re.findall(r"^test:.*(?:\n\t.*)*", MAKEFILE, re.MULTILINE)
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))["repos"]
    hooks = [hook["entry"].removeprefix("make ") for hook in repository["hooks"]]

    assert hooks == ["format-check", "lint", "types", "imports", "spelling"]
    assert set(hooks) < set(rule.split())
