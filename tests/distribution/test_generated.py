"""The files that are generated from the command tree are current, and say what `--help` says."""

import re
from pathlib import Path

import pytest

from distribution.generated import ROOT, files, kept
from distribution.tree import Command, commands
from kubectl_koord.cli import command_line
from tests.cli.conftest import Run


def test_what_is_generated_is_current() -> None:
    wanted = files()
    stale = [name for name, text in wanted.items() if not Path(ROOT / name).is_file() or _read(name) != text]
    assert stale == [], "make golden writes them anew"
    assert kept() - set(wanted) == set()


def test_every_command_has_a_page_with_its_help_and_what_it_prints() -> None:
    """What writes a file, or a script for a shell, is not shown; of a full screen there is a picture."""
    of_verbs = {command.verb for command in commands()} - {""}
    shown, helped = set(), set()
    for path in (ROOT / "docs" / "commands").glob("[a-z]*.md"):
        text = path.read_text("utf-8")
        helped |= set(re.findall(r"^## kubectl koord (.+) --help$", text, re.MULTILINE))
        shown |= set(re.findall(rf"^\$ kubectl koord ({path.stem}) *", text, re.MULTILINE))
    assert helped == of_verbs
    assert {verb.split()[0] for verb in of_verbs} - shown == {"snapshot", "completion", "live", "serve"}


@pytest.mark.parametrize("command", commands(), ids=lambda command: command.verb or "the program")
def test_a_man_page_lists_the_flags_that_help_lists(koord: Run, command: Command) -> None:
    shown = koord(*command.verb.split(), "--help").out
    of_help = set(re.findall(r"^  (-[^\s,]+)(?:, (-\S+))?", shown.partition("\nOptions of every")[0], re.MULTILINE))
    page = _read(f"man/{'-'.join(['kubectl-koord', *command.verb.split()])}.1").replace("\\-", "-")
    own = page.partition(".SH OPTIONS OF EVERY COMMAND")[0]
    help_itself = {"-h", "--help"}
    assert _flags(own) | help_itself == {flag for pair in of_help for flag in pair if flag} | help_itself
    assert f"\\fBkubectl koord {command.verb}".strip() in page


def test_the_page_of_the_program_lists_the_options_of_every_command() -> None:
    page = _read("man/kubectl-koord.1").replace("\\-", "-")
    assert _flags(page.partition(".SH OPTIONS OF EVERY COMMAND")[2]) == set(command_line.OF_ALL)


def _flags(page: str) -> set[str]:
    return set(re.findall(r"\\fB(--?[a-zA-Z][\w-]*)\\fR", page))


def _read(name: str) -> str:
    return (ROOT / name).read_text("utf-8")
