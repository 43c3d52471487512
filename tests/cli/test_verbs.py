"""One row per verb: what the row decides before the verb itself is imported."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from kubectl_koord.cli.command_line import may_change, may_send
from kubectl_koord.cli.verb_table import VERBS
from tests.apiserver import ApiServer
from tests.cli.conftest import Run

METHODS = ("GET", "PATCH", "POST", "PUT", "DELETE")
READS, WRITES = ["GET"], ["GET", "PATCH", "POST"]
CHANGE = ("annotate", "podgroup", "job", "--mode=NonStrict")


@pytest.mark.parametrize(
    ("words", "passing"),
    [
        (("why-pending", "annotate"), READS),
        (("why-pending", "-n", "annotate"), READS),
        (("why-pending", "pod/job-0", "--namespace=annotate"), READS),
        (("topo", "--for", "annotate"), READS),
        (("why-pending", "job", "--", "annotate"), READS),
        (("preempt", "annotate", "--dry-run"), READS),
        (("preempt", "high", "--dry-run=server", "--dry-run=client"), READS),
        (("preempt", "high", "--dry-run=server"), WRITES),
        (("-n", "default", "--dry-run=server", "preempt", "high"), WRITES),
        ((*CHANGE, "--dry-run=client"), READS),
        ((*CHANGE, "--dry-run=server"), WRITES),
        ((*CHANGE, "--yes"), WRITES),
        (("--", *CHANGE, "--yes"), WRITES),
        (("topo", "init"), READS),
        (("topo", "init", "--diff"), READS),
        (("topo", "init", "--apply", "--dry-run=client"), READS),
        (("topo", "init", "--apply", "--yes"), WRITES),
        (("topo", "label", "-f", "racks", "--yes"), WRITES),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_the_verb_alone_decides_whether_kubectls_proxy_lets_anything_but_get_through(
    koord: Run,
    server: ApiServer,
    kubectl: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    passing: list[str],
) -> None:
    told = tmp_path / "told"
    wrapper = tmp_path / "kubectl"
    wrapper.write_text(f'#!/bin/sh\necho "$@" >>{told}\nexec {kubectl} "$@"\n')
    wrapper.chmod(0o700)
    monkeypatch.setenv("KUBECTL_PATH", str(wrapper))
    (tmp_path / "racks").write_text("node,SpineLayer\na0,spine-a\n")
    monkeypatch.chdir(tmp_path)
    koord(*words)
    (rejected,) = re.findall(r"--reject-methods=(\S+)", told.read_text())
    assert [method for method in METHODS if not re.match(rejected, method)] == passing
    assert passing == WRITES or {request.method for request in server.log} <= {"GET"}


@pytest.mark.parametrize("verb", [name for name, row in VERBS.items() if row.module])
def test_only_what_writes_and_a_dry_run_on_the_server_may_send_more_than_get(verb: str) -> None:
    assert may_send([verb]) == may_send([verb, "--dry-run=none"]) == (verb in {"annotate", "evict"})
    assert may_send([verb, "--dry-run=server"]) == (verb in {"annotate", "evict", "preempt"})
    assert not may_send([verb, "--dry-run=client"])


def test_only_the_words_topo_init_in_a_row_may_send_what_apply_sends() -> None:
    assert may_send(["topo", "init", "--apply"])
    assert not may_send(["topo", "--for", "init", "--apply"])


ALONE = """
import os, sys
from kubectl_koord.cli.main import run
for verb in sys.argv[1:]:
    if os.fork() == 0:
        run([verb, "--help"])
        verbs = (name for name, of in sys.modules.items() if "cli.verbs." in name and not hasattr(of, "__path__"))
        print(verb, *sorted(verbs), file=sys.stderr, flush=True)
        os._exit(0)
    os.wait()
"""


def test_only_the_verb_that_is_used_is_imported() -> None:
    verbs = {name: row.module for name, row in VERBS.items() if row.module}
    done = subprocess.run([sys.executable, "-c", ALONE, *verbs], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines() == [f"{name} kubectl_koord.cli.verbs.{module}" for name, module in verbs.items()]


@pytest.mark.parametrize(
    ("words", "changing"),
    [
        (CHANGE, True),
        (("topo",), False),
        (("topo", "init"), False),
        (("topo", "init", "--apply"), True),
        (("topo", "label"), True),
        (("nonsense",), False),
    ],
)
def test_only_what_may_write_speaks_when_it_is_interrupted(words: tuple[str, ...], changing: bool) -> None:  # noqa: FBT001
    assert may_change(words) == changing
