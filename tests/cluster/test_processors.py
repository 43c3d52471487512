"""We take processors from nobody who has one, and our threads not from each other, unless the user chose otherwise."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from kubectl_koord.cluster import processes

_on_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has these policies")


def policy_after(*work: Callable[[], object]) -> int:
    """Return the policy of a thread once it has done some work: other threads keep theirs."""
    found: list[int] = []

    def run() -> None:
        for one in work:
            one()
        found.append(os.sched_getscheduler(0))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found[0]


def choose(policy: int) -> None:
    os.sched_setscheduler(0, policy, os.sched_param(0))


@_on_linux
def test_we_interrupt_nobody() -> None:
    assert policy_after(lambda: choose(os.SCHED_OTHER), processes.run_in_batches) == os.SCHED_BATCH


@_on_linux
def test_what_the_user_chose_stays() -> None:
    assert policy_after(lambda: choose(os.SCHED_IDLE), processes.run_in_batches) == os.SCHED_IDLE


@_on_linux
def test_a_sandbox_may_forbid_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise PermissionError

    before = policy_after(lambda: choose(os.SCHED_OTHER))
    choosing = os.sched_setscheduler
    monkeypatch.setattr(os, "sched_setscheduler", refused)
    assert policy_after(lambda: choosing(0, before, os.sched_param(0)), processes.run_in_batches) == before


def test_other_systems_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(os, "sched_getscheduler", asked.append, raising=False)
    monkeypatch.setattr(sys, "platform", "darwin")
    processes.run_in_batches()
    assert not asked


@_on_linux
def test_kubectl_runs_as_we_do(tmp_path: Path) -> None:
    told, program = tmp_path / "told", tmp_path / "kubectl"
    tells = f"print(os.sched_getscheduler(0), file=open({str(told)!r}, 'w'))"
    program.write_text(f"#!{sys.executable} -I\nimport os\n{tells}\n")
    program.chmod(0o700)
    environment = {**os.environ, "KUBECTL_PATH": str(program)}
    command = [str(Path(sys.executable).parent / "kubectl-koord"), "topo"]
    policy_after(
        lambda: choose(os.SCHED_OTHER),
        lambda: subprocess.run(command, env=environment, capture_output=True, check=False),
    )
    assert told.read_text() == f"{os.SCHED_BATCH}\n"


def test_threads_take_longer_turns_for_a_while() -> None:
    before = sys.getswitchinterval()
    with processes.long_turns():
        assert sys.getswitchinterval() == pytest.approx(0.1)
    assert sys.getswitchinterval() == before
