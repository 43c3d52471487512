"""What import contracts cannot hold: the packages listed here make no English, wording/, answers and pages do."""

import ast
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.where import HOLE, PACKAGE, not_printed, texts

WITHOUT_SENTENCES = ("engine", "messages", "render", "simulation")
"""The packages that find out what is printed, or lay it out; sentences are made elsewhere."""
WITH_SENTENCES = {"render/lines.py", "simulation/submitted.py"}
"""Modules of these packages that have sentences of their own."""
NO_SENTENCES = {
    "render/shown.py": {r"{}(?: on {})?(?: \([^()]*\))?", r"(?<![^\s(])({}(?:, {})+)(?: and ({}))?"},  # patterns
    "render/terminal.py": {"bold red"},  # a style
    "render/web.py": {"<!DOCTYPE html>\n{}\n", r'(<th scope="row">)([^<]+)(</th>)'},  # how a page begins, a pattern
}
"""Texts of two words that are no sentences of ours, by module."""

_WORD = r"[A-Za-z]{2,}"
_BETWEEN = r"[^\w\s\0]*\s+[^\w\s\0]*"
_ENGLISH = re.compile(f"{_WORD}{_BETWEEN}({_WORD}|{HOLE})|{HOLE}{_BETWEEN}{_WORD}")


def sentences(source: str) -> list[tuple[int, str]]:
    """Return the texts of a module that join a word to another, or to a value, with a space; and their lines.

    Docstrings and annotations are not texts of the program.
    """
    return _sentences(ast.parse(source), ())


def sentences_of(module: Path) -> list[tuple[int, str]]:
    """Return the same of a module of the package, but what is known to be no sentence of ours.

    The constants of messages/ are the scheduler's own phrases, which are matched; texts in capitals in render/ head
    columns.
    """
    name = module.relative_to(PACKAGE)
    tree = ast.parse(module.read_text("utf-8"))
    constants = [node for node in tree.body if isinstance(node, ast.Assign)] if name.parts[0] == "messages" else ()
    return [
        (line, text)
        for line, text in _sentences(tree, constants)
        if text not in NO_SENTENCES.get(name.as_posix(), ()) and not (name.parts[0] == "render" and text.isupper())
    ]


def _sentences(tree: ast.AST, besides: Iterable[ast.AST]) -> list[tuple[int, str]]:
    left_out = {id(node) for part in (*not_printed(tree), *besides) for node in ast.walk(part)}
    found = ((node.lineno, text) for node, text in texts(tree) if id(node) not in left_out)
    return sorted((line, text.replace(HOLE, "{}")) for line, text in found if _ENGLISH.search(text))


@pytest.mark.parametrize("package", WITHOUT_SENTENCES)
def test_sentences_are_not_made_by_what_decides_or_draws(package: str) -> None:
    own = {*(PACKAGE / "render/pages").iterdir(), *(PACKAGE / name for name in WITH_SENTENCES)}
    modules = sorted(set((PACKAGE / package).rglob("*.py")) - own)
    assert modules

    found = {str(module.relative_to(PACKAGE)): sentences_of(module) for module in modules}

    assert {name: said for name, said in found.items() if said} == {}


@pytest.mark.parametrize(
    "text",
    [
        '"no room"',
        'f"{number} pods"',
        'f" in {domain}"',
        'f"{name}: cannot {verb} it"',
        '"{} pods".format(2)',
        '"waits for %s" % name',
        '("one " "text")',
        "f'{say(\"two words\")}'",
    ],
)
def test_two_words_or_a_word_and_a_value_are_a_sentence(text: str) -> None:
    assert len(sentences(f"said = {text}")) == 1


@pytest.mark.parametrize(
    "text",
    [
        '"insufficient-slots"',
        'f"{namespace}/{name}"',
        'f"{one}; {other}"',
        '"kubectl"',
        '", "',
        'r"(\\d+)(h|m|s)"',
    ],
)
def test_codes_names_and_glue_are_none(text: str) -> None:
    assert sentences(f"said = {text}") == []


def test_docstrings_and_annotations_are_none() -> None:
    module = '''
"""Says what it is for."""

DAYS: "dict[str, int] | None" = None
"""Says what they are."""


def count(days: "list[str] | None") -> "dict[str, int] | None":
    """Return what was counted."""
'''
    assert sentences(module) == []
