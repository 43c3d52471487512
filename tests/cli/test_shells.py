"""`completion`: the scripts are printed, and installed where the shell of the user looks for them."""

import stat
from pathlib import Path

import pytest

from kubectl_koord.cli.command_line import SHELLS
from tests.cli.conftest import Run

SHIPPED = Path(__file__).parents[2] / "completions"
FILES = {"bash": "kubectl-koord.bash", "zsh": "_kubectl-koord", "fish": "kubectl-koord.fish"}


@pytest.fixture
def where(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let a user have a home with nothing in it, and the two programs of the plugin on the path."""
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "ZDOTDIR", "BASH_COMPLETION_USER_DIR", "SHELL"):
        monkeypatch.delenv(name, raising=False)
    programs = home / "bin"
    programs.mkdir()
    for name in ("kubectl-koord", "kubectl_complete-koord"):
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    return home


PLACES = [
    ("bash", {}, ".local/share/bash-completion/completions/kubectl-koord"),
    ("bash", {"XDG_DATA_HOME": "data"}, "data/bash-completion/completions/kubectl-koord"),
    ("bash", {"BASH_COMPLETION_USER_DIR": "own"}, "own/completions/kubectl-koord"),
    ("zsh", {}, ".zfunc/_kubectl-koord"),
    ("zsh", {"ZDOTDIR": "z"}, "z/.zfunc/_kubectl-koord"),
    ("fish", {}, ".config/fish/completions/kubectl-koord.fish"),
    ("fish", {"XDG_CONFIG_HOME": "config"}, "config/fish/completions/kubectl-koord.fish"),
]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_is_printed_as_it_is_shipped(koord: Run, shell: str) -> None:
    assert koord("completion", shell) == (0, (SHIPPED / FILES[shell]).read_text("utf-8"), "")


@pytest.mark.parametrize(("shell", "environment", "place"), PLACES)
def test_a_script_is_written_where_the_shell_looks_and_the_place_is_told(
    koord: Run, where: Path, monkeypatch: pytest.MonkeyPatch, shell: str, environment: dict[str, str], place: str
) -> None:
    for name, folder in environment.items():
        monkeypatch.setenv(name, str(where / folder))
    path = where / place
    first = koord("completion", "install", shell)
    assert (first.code, first.err) == (0, "")
    assert first.out.partition(" (")[0].strip() == f"wrote {path}"
    assert path.read_text("utf-8") == (SHIPPED / FILES[shell]).read_text("utf-8")
    assert [one.name for one in path.parent.iterdir()] == [path.name]
    again = koord("completion", "install", shell)
    assert again == (0, first.out.replace("wrote", "unchanged"), "")


def test_zsh_needs_a_line_more_which_is_told(koord: Run, where: Path) -> None:
    told = f"wrote {where}/.zfunc/_kubectl-koord (~/.zshrc needs, before compinit: fpath=({where}/.zfunc $fpath))\n"
    assert koord("completion", "install", "zsh").out == told


def test_the_shell_is_that_of_the_login_unless_it_is_named(
    koord: Run, where: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    assert koord("completion", "install").out == f"wrote {where}/.config/fish/completions/kubectl-koord.fish\n"
    monkeypatch.setenv("SHELL", "/usr/bin/tcsh")
    message = "error: the shell cannot be told from SHELL='tcsh': name bash, zsh or fish\n"
    assert koord("completion", "install") == (2, "", message)


def test_an_older_script_of_ours_is_replaced_and_no_file_of_others(koord: Run, where: Path) -> None:
    path = where / ".config/fish/completions/kubectl-koord.fish"
    path.parent.mkdir(parents=True)
    path.write_text("# Completion, as kubectl koord completion fish prints it: an older one\n")
    assert koord("completion", "install", "fish") == (0, f"wrote {path}\n", "")
    refused = (2, "", f"error: {path} exists and is not ours: nothing was written there\n")
    path.write_text("# my own\n")
    assert koord("completion", "install", "fish") == refused
    assert path.read_text() == "# my own\n"
    path.unlink()
    (where / "mine").write_text((SHIPPED / FILES["fish"]).read_text("utf-8"))
    for target in ("mine", "nowhere"):
        path.symlink_to(where / target)
        assert koord("completion", "install", "fish") == refused
        path.unlink()


def test_a_folder_that_cannot_be_written_is_named(koord: Run, where: Path) -> None:
    (where / ".config").write_text("a file\n")
    path = where / ".config/fish/completions/kubectl-koord.fish"
    assert koord("completion", "install", "fish") == (2, "", f"error: unable to write {path}: Not a directory\n")


def test_what_kubectl_asks_is_written_beside_the_program_where_it_is_missing(koord: Run, where: Path) -> None:
    asked = where / "bin" / "kubectl_complete-koord"
    asked.unlink()
    fish = where / ".config/fish/completions/kubectl-koord.fish"
    assert koord("completion", "install", "fish") == (0, f"wrote {fish}\nwrote {asked}\n", "")
    assert asked.read_text() == (SHIPPED / "kubectl_complete-koord").read_text()
    assert stat.S_IMODE(asked.stat().st_mode) == 0o755


def test_an_unknown_shell_and_formats_are_refused(koord: Run, where: Path) -> None:
    assert koord("completion", "install", "tcsh") == (2, "", "error: no shell 'tcsh': bash, zsh or fish\n")
    assert koord("completion", "bash", "-o", "json") == (2, "", "error: completion does not support -o\n")
    assert not [path for path in where.iterdir() if path.name != "bin"]
