"""The scripts that users run: in every shell they start the installer's with Ctrl-C held back, and pass on all else."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.apiserver import ApiServer
from tests.cli.conftest import BIN

LAUNCHERS = Path(__file__).parents[2] / "launchers"
BEHIND = {"kubectl-koord": "kubectl_koord", "kubectl_complete-koord": "kubectl_complete_koord"}
SHELLS = [
    "sh",
    "bash",
    *(pytest.param(name, marks=pytest.mark.soak) for name in ("busybox", "dash", "ksh93", "mksh", "yash", "zsh")),
]
"""Those that every machine has, and others that a few have."""
ENV = "/usr/bin/env"
TELLS = """#!/bin/sh
"exec" "{python}" "$0" "$@"
import os, signal, sys
print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()), *map(os.fsencode, sys.argv[1:]), sys.stdin.read())
sys.exit(7)
"""
WORDS = ("", "a  b", "\n*", "$HOME", "-n", "'", '"', "\\n", "ü", os.fsdecode(bytes(range(0x80, 0x100))))


def holds_back() -> bool:
    """Tell whether env here can hold signals back."""
    return subprocess.run([ENV, "--block-signal=INT"], check=False, capture_output=True).returncode == 0


def laid_out(folder: Path, shell: str = "sh", env: str = ENV, behind: str = TELLS) -> Path:
    """Write the launcher for a shell and an env, and beside it a program that tells how it was started."""
    found = shutil.which(shell)
    if not found:
        pytest.skip(f"no {shell} here")
    line = f"#!{found} sh" if shell == "busybox" else f"#!{found}"
    text = (LAUNCHERS / "kubectl-koord").read_text("utf-8")
    folder.mkdir(exist_ok=True)
    for name, script in {
        "kubectl-koord": text.replace("#!/bin/sh", line).replace(ENV, env),
        "kubectl_koord": behind.format(python=sys.executable),
    }.items():
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)
    return folder / "kubectl-koord"


def told(program: Path, *words: str) -> tuple[int, str, str]:
    done = subprocess.run([program, *words], input="in", capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def as_told(*words: str, held: bool) -> tuple[int, str, str]:
    return 7, f"{' '.join(map(str, (held, *map(os.fsencode, words), 'in')))}\n", ""


def test_the_two_launchers_differ_in_what_they_call_and_are_what_is_installed() -> None:
    one, other = ((LAUNCHERS / name).read_text("utf-8") for name in BEHIND)
    assert re.sub(r"\bmain\b", "complete", one) == other
    assert [(BIN / name).read_text("utf-8") for name in BEHIND] == [one, other]
    assert all(os.access(BIN / behind, os.X_OK) for behind in BEHIND.values())


@pytest.mark.parametrize("shell", SHELLS)
def test_words_input_and_exit_code_are_passed_on_and_ctrl_c_is_held_back(tmp_path: Path, shell: str) -> None:
    words = tuple(word for word in WORDS if shell != "yash" or word.isascii())  # yash takes no bytes that are no text
    assert told(laid_out(tmp_path, shell), *words) == as_told(*words, held=holds_back())


@pytest.mark.parametrize("script", ["echo unrecognized option >&2; exit 125", ""])
def test_where_env_cannot_hold_it_back_or_is_missing_the_program_is_started_all_the_same(
    tmp_path: Path, script: str
) -> None:
    env = tmp_path / "env"
    if script:
        env.write_text(f"#!/bin/sh\n{script}\n")
        env.chmod(0o755)
    assert told(laid_out(tmp_path, env=str(env)), *WORDS) == as_told(*WORDS, held=False)


@pytest.mark.parametrize(("name", "held"), [("a b'$c", True), ("a=b", False)])
def test_the_folder_may_have_any_name(tmp_path: Path, name: str, held: bool) -> None:  # noqa: FBT001
    assert told(laid_out(tmp_path / name), "x") == as_told("x", held=held and holds_back())


def test_links_lead_to_it_and_a_copy_says_what_is_wrong(tmp_path: Path) -> None:
    program = laid_out(tmp_path / "there")
    (tmp_path / "here").mkdir()
    link, chain, copy = (tmp_path / "here" / name for name in ("koord", "kubectl-koord", "kubectl-copy"))
    link.symlink_to(program)
    chain.symlink_to("../here/koord")
    assert told(link, "x") == told(chain, "x") == as_told("x", held=holds_back())
    shutil.copy(program, copy)
    said = f"error: there is no {copy}_koord: link to the installed kubectl-copy, do not copy it\n"
    assert told(copy, "x") == (2, "", said)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_signal_while_the_shell_asks_env_ends_it(tmp_path: Path, shell: str) -> None:
    """bash would forget it, were it not in `wait`."""
    env = tmp_path / "env"
    env.write_text("#!/bin/sh\nkill -INT $LAUNCHER\n")
    env.chmod(0o755)
    program = laid_out(tmp_path, shell, str(env))
    code = 'LAUNCHER=$$ exec "$0"'
    done = subprocess.run(["sh", "-c", code, program], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert (done.returncode in {-signal.SIGINT, 130}, done.stdout, done.stderr) == (True, b"", b"")


def test_python_runs_the_launchers_as_well(cluster: str) -> None:
    words = ("why-pending", "--snapshot", cluster, "t")
    for name, code, said in (("kubectl-koord", 2, ""), ("kubectl_complete-koord", 0, "tiny\n:4\n")):
        command = [sys.executable, "-W", "error", str(LAUNCHERS / name), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (code, said)
        assert done.stderr.startswith("error: no gang" if code else "")


def interrupted(words: tuple[str, ...], before: Callable[[], object]) -> tuple[int, str, str]:
    """Run a program that has got a Ctrl-C before it starts, and that nobody has looked at."""

    def first() -> None:
        before()
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        os.kill(os.getpid(), signal.SIGINT)

    done = subprocess.run(words, capture_output=True, text=True, check=False, preexec_fn=first)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("name", BEHIND.values())
def test_a_ctrl_c_that_was_held_back_ends_it_with_what_was_sent(server: ApiServer, name: str) -> None:
    words = (str(BIN / name), "annotate", "podgroup", "job", "--mode=NonStrict", "--yes")
    assert interrupted(words, lambda: None) == (130, "", "interrupted: nothing was sent\n")
    assert server.log == []


def test_one_that_is_ignored_stays_ignored() -> None:
    ignored = lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)  # noqa: E731
    code, out, err = interrupted((str(BIN / "kubectl-koord"), "version"), ignored)
    assert (code, out.partition(" ")[0], err) == (0, "kubectl-koord", "")
    line = f"trap '' INT; '{BIN}/kubectl-koord' topo --snapshot - & kill -INT $!; wait $!"
    done = subprocess.run(["sh", "-c", line], input="{}", capture_output=True, text=True, check=False)
    assert done.returncode == 2
