"""A fault of the program itself is one line and exit code 2: a script must not read it as a no."""

import os
import subprocess
import sys
from typing import NoReturn

import pytest
from msgspec import structs

from kubectl_koord.cli.session import Session
from kubectl_koord.explain import preempt
from tests.cli.conftest import BIN, Run

FAULT = (
    "error: internal error: IndexError: no such\\u202ething\\x0aat all"
    " (please report it; KUBECTL_KOORD_DEBUG=1 shows where)"
)


def fail_with(monkeypatch: pytest.MonkeyPatch, problem: BaseException) -> None:
    def failing(*_: object, **__: object) -> NoReturn:
        raise problem

    monkeypatch.setattr(Session, "snapshot", failing)
    monkeypatch.delenv("KUBECTL_KOORD_DEBUG", raising=False)


@pytest.mark.parametrize("output", [(), ("-o", "json")])
def test_a_fault_is_one_harmless_line(
    koord: Run, cluster: str, monkeypatch: pytest.MonkeyPatch, output: tuple[str, ...]
) -> None:
    fail_with(monkeypatch, IndexError("no such\u202ething\nat all"))

    assert koord("why-pending", "job", "--snapshot", cluster, *output) == (2, "", f"{FAULT}\n")


def test_a_fault_without_words_is_told_by_its_kind(koord: Run, cluster: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with(monkeypatch, AssertionError())

    assert koord("topo", "--snapshot", cluster).err.startswith("error: internal error: AssertionError (please report")


def test_where_it_happened_is_told_on_demand(koord: Run, cluster: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with(monkeypatch, IndexError("no such\u202ething\nat all"))
    monkeypatch.setenv("KUBECTL_KOORD_DEBUG", "1")

    done = koord("why-pending", "job", "--snapshot", cluster)

    lines = done.err.splitlines()
    assert (done.code, done.out, lines[0], lines[-1]) == (2, "", "Traceback (most recent call last):", FAULT)
    assert any("test_faults.py" in line for line in lines)
    assert "\u202e" not in done.err


def test_what_the_system_refuses_is_no_fault_of_ours(koord: Run, cluster: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with(monkeypatch, OSError(28, "No space left on device"))

    assert koord("topo", "--snapshot", cluster) == (2, "", "error: [Errno 28] No space left on device\n")


@pytest.mark.parametrize(
    "argv", [("topo", "--demo", "-n", "a\udcff"), ("why-pending", "\ud800"), ("__complete", "\udcff")]
)
def test_an_argument_that_is_no_text_is_refused(koord: Run, argv: tuple[str, ...]) -> None:
    assert koord(*argv) == (2, "", f"error: the argument {argv[-1]!r} is not UTF-8\n")


@pytest.mark.parametrize(("problem", "code"), [(KeyboardInterrupt(), 130), (BrokenPipeError(), 141)])
def test_who_interrupts_it_is_told_nothing(
    koord: Run, cluster: str, monkeypatch: pytest.MonkeyPatch, problem: BaseException, code: int
) -> None:
    fail_with(monkeypatch, problem)

    assert koord("topo", "--snapshot", cluster) == (code, "", "")


def test_an_output_that_takes_nothing_is_a_failure(cluster: str) -> None:
    program = "from kubectl_koord.cli.main import main; main()"
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device
        done = subprocess.run(
            [sys.executable, "-c", program, "topo", "--snapshot", cluster],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env=dict(os.environ),
        )

    assert (done.returncode, done.stderr) == (
        2,
        "error: standard output cannot be written: No space left on device\n",
    )


@pytest.mark.parametrize("words", ["why-pending nosuch --demo", "fit -f /nonexistent --demo", "topo --snapshot /none"])
@pytest.mark.parametrize("errors", ["2>/dev/full", "2> >(exec true)", "2>&-"])
def test_a_failure_is_2_wherever_standard_error_goes(words: str, errors: str) -> None:
    command = f'"{BIN / "kubectl-koord"}" {words} {errors}'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")


def test_why_no_name_was_printed_is_told_where_the_answer_is_unknown(
    koord: Run, cluster: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 2 without a word would be taken for a failure of another kind."""
    words = ("preempt", "job", "--dry-run", "--snapshot", cluster)
    assert koord(*words, "-o", "name") == (1, "", "")
    answer = preempt.preempt
    monkeypatch.setattr(preempt, "preempt", lambda *given: structs.replace(answer(*given), verdict="unknown"))
    page = koord(*words).out
    done = koord(*words, "-o", "name")
    assert (done.code, done.out) == (2, "")
    assert done.err
    assert page.startswith(done.err)
