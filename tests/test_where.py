"""What is seen on a screen leads to the functions that word it."""

import re

import pytest

from tests.sentences import PAGE
from tests.where import PACKAGE, Template, templates, templates_of, where

LINES = re.findall(r"^- `(.*)`$", PAGE.read_text("utf-8"), re.MULTILINE)


@pytest.fixture(scope="module")
def package() -> list[Template]:
    return templates()


def share(sentence: str, among: list[Template]) -> float:
    """Return which share of the letters of a sentence is worded; the rest are names, amounts and words of others."""
    worded = frozenset[int]().union(*(one.letters for one in where(sentence, among)))
    return len(worded) / sum(sign.isalpha() for sign in sentence)


def functions(sentence: str, among: list[Template]) -> list[str]:
    return [f"{one.template.path.name} {one.template.function}" for one in where(sentence, among)]


def test_sentences_of_the_page_of_sentences_are_found(package: list[Template]) -> None:
    assert len(LINES) > 300

    shares = {line: share(line, package) for line in LINES[::4]}

    assert [line for line, worded in shares.items() if worded < 1 / 5] == []
    assert sum(worded > 2 / 3 for worded in shares.values()) / len(shares) > 9 / 10


def test_a_sentence_that_nobody_words_is_not_found(package: list[Template]) -> None:
    assert where("Zebras graze", package) == []


def test_a_template_is_a_text_with_a_hole_for_each_value_and_knows_its_function() -> None:
    source = '''"""Says nothing."""

SEVERAL = {"a": "no room"}


class Page:
    TITLE: "str" = "two words"

    def line(self, name: "str") -> "str":
        """Return it."""
        return f"{name}: at most {len(name)} pods{' too' if name else ''}" + "%s of {}"
'''
    found = [(one.line, one.function, one.text) for one in templates_of(PACKAGE / "pages.py", source) if one.text]

    assert set(found) == {
        (3, "SEVERAL", "a"),
        (3, "SEVERAL", "no room"),
        (7, "Page.TITLE", "two words"),
        (11, "Page.line", "\0 of \0"),
        (11, "Page.line", " too"),
        (11, "Page.line", "\0: at most \0 pods\0"),
    }


def test_fragments_are_listed_by_how_much_they_word() -> None:
    source = """
def whole(name, why): return f"{name} waits: {why}"
def clause(layer): return f"no room in {layer}"
def same(layer): return f"no room in {layer}"
def part(): return "room"
def no_part(): return "roo"
def elsewhere(): return "no room at all"
"""
    among = [*templates_of(PACKAGE / "page.py", source)]

    assert functions("train/a waits: no room in spine-1", among) == ["page.py clause", "page.py same", "page.py whole"]
    assert functions("No room in spine-1", among) == ["page.py clause", "page.py same"]
