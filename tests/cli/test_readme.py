"""What the README shows is what the program prints, and what it tells to paste works."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.apiserver import ApiServer, Rule
from tests.cli.conftest import Run

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"^```\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
PROMPT = "$ kubectl koord "
EXAMPLES = [block for block in BLOCKS if block.startswith(PROMPT)]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda block: block.partition("\n")[0])
def test_an_example_prints_what_it_shows_where_dots_stand_for_lines_left_out(koord: Run, example: str) -> None:
    first, _, shown = example.partition("\n")
    done = koord(*shlex.split(first.removeprefix(PROMPT)))
    lines = re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE)
    assert re.fullmatch("(.*\n)*".join(map(re.escape, lines)), done.out), done.out
    assert done.err == ""


def test_every_verb_that_needs_no_server_has_an_example() -> None:
    assert {example.split()[3] for example in EXAMPLES} == {
        "why-pending",
        "topo",
        "devices",
        "preempt",
        "fit",
        "annotate",
    }


def test_a_cluster_can_be_saved_as_told_where_custom_resources_are_not_installed(
    server: ApiServer, tmp_path: Path
) -> None:
    (block,) = (block for block in BLOCKS if "for kind in" in block)
    no_such = (404, "NotFound", "the server could not find the requested resource")
    server.rules += [Rule("/apis/slo.koordinator.sh/v1alpha1", *no_such), Rule(".*/elasticquotas", *no_such)]
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["sh", "-c", block], capture_output=True, text=True, check=False, cwd=tmp_path, env=environment
    )
    assert done.stdout.startswith("default/job is pending: no spine has room for its 2 pods; the best has 1.\n")
    assert done.returncode == 1
    saved = {path.name.removesuffix(".json") for path in (tmp_path / "cluster").iterdir()}
    assert {"nodes", "pods", "podgroups.scheduling.sigs.k8s.io", "podmigrationjobs"} <= saved
    assert not saved & {"elasticquotas", "nodemetrics"}
    assert 'doesn\'t have a resource type "nodemetrics"' in done.stderr
