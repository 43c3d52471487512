"""Find the functions that word a sentence seen on a screen.

    python -m tests.where "3 more pods are needed."
    make where TEXT="3 more pods are needed."

A sentence is often made of fragments of several functions: all of them are listed, those first that word most of it.
"""

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "kubectl_koord"
HOLE = "\0"
"""Stands in a text for a value that is filled in."""

_FIELD = re.compile(r"\{\w*(?:![rs])?(?::[^{}]*)?\}|%[sd]")
_WORD = re.compile(r"[^\W\d_]{2,}")
_LEAST = 2  # letters that a fragment words beyond all better ones; below, it would be noise
_Scope = ast.Module | ast.ClassDef | ast.FunctionDef


class Template(NamedTuple):
    """A text of the package, with a `HOLE` for each value that is filled in, and where it stands.

    `function` is the function, or the constant of a module or class, that has it; `parts` is what stands between holes,
    in small letters, and `longest` the longest of them.
    """

    path: Path
    line: int
    function: str
    text: str
    parts: tuple[str, ...]
    longest: str

    @property
    def place(self) -> str:
        """Return the file, line and function."""
        return f"{self.path.relative_to(ROOT)}:{self.line} {self.function}"


class Fragment(NamedTuple):
    """What a template words of a sentence: the places of its letters in it."""

    template: Template
    letters: frozenset[int]


def templates() -> list[Template]:
    """Return every text of the package that has words: sentences and their fragments."""
    found = (one for path in sorted(PACKAGE.rglob("*.py")) for one in templates_of(path, path.read_text("utf-8")))
    return [one for one in found if _WORD.search(one.text)]


def templates_of(path: Path, source: str) -> Iterator[Template]:
    """Yield the texts of a module in order; docstrings and annotations are none."""
    tree = ast.parse(source)
    left_out = {id(part) for one in not_printed(tree) for part in ast.walk(one)}
    owners = dict(_owners(tree, ()))
    for node, text in texts(tree):
        if id(node) not in left_out:
            parts = re.sub(r"\s+", " ", text.strip().casefold()).split(HOLE)
            yield Template(path, node.lineno, owners[id(node)], text, tuple(parts), max(parts, key=len))


def texts(tree: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """Yield every text, those within another text not again; a value that is filled in is a `HOLE`."""
    within = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else HOLE for part in node.values)
            yield node, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in within:
            yield node, _FIELD.sub(HOLE, node.value)


def not_printed(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield what looks like a text and is never printed: docstrings and annotations."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant()):
                yield node
            case ast.arg(annotation=ast.expr() as part) | ast.AnnAssign(annotation=part):
                yield part
            case ast.FunctionDef(returns=ast.expr() as part):
                yield part
            case _:
                pass


def _owners(node: ast.AST, above: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Yield, for each node below one, the function, class or constant that it belongs to."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names = (*above, name)
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)) if isinstance(
                node, ast.Module | ast.ClassDef
            ):
                names = (*above, name)
            case _:
                names = above
        yield id(child), ".".join(names) or "(module)"
        yield from _owners(child, names)


def fragment(template: Template, sentence: str) -> Fragment | None:
    """Return what a template words of a sentence, None where it does not occur in it.

    Its parts have to follow one another, with anything in the holes; capital letters are not told from small ones, as
    a clause that begins a sentence gets one.
    """
    said, at, letters = sentence.casefold(), 0, set[int]()
    for place, part in enumerate(template.parts):
        at = _found(part, said, at, whole=(place == 0, place == len(template.parts) - 1))
        if at < 0:
            return None
        letters |= {index for index in range(at, at + len(part)) if said[index].isalpha()}
        at += len(part)
    return Fragment(template, frozenset(letters))


def _found(part: str, said: str, start: int, whole: tuple[bool, bool]) -> int:
    """Return where a part begins, -1 where it does not occur; at an end of the template it cuts no word in two."""
    at = said.find(part, start)
    while part and at >= 0:
        end = at + len(part)
        cut_before = whole[0] and said[at - 1 : at].isalnum() and part[0].isalnum()
        cut_after = whole[1] and said[end : end + 1].isalnum() and part[-1].isalnum()
        if not cut_before and not cut_after:
            break
        at = said.find(part, at + 1)
    return at


def where(sentence: str, among: Iterable[Template]) -> list[Fragment]:
    """Return the templates that word a sentence, those that word most first; what better ones word is not listed again.

    Where two word the very same in more than a word, both are listed: a screen does not tell which it was.
    """
    said = sentence.casefold()
    possible = (template for template in among if template.longest in said)
    found = [one for one in (fragment(template, sentence) for template in possible) if one]
    found.sort(key=lambda one: (-len(one.letters), one.template.text.count(HOLE)))
    listed: list[Fragment] = []
    worded = frozenset[int]()
    for one in found:
        is_same = " " in one.template.text.strip() and any(one.letters == other.letters for other in listed)
        if is_same or len(one.letters - worded) >= _LEAST:
            listed.append(one)
            worded |= one.letters
    return listed


def main() -> None:
    """Print where the sentence on the command line is worded; exit code 1 where it is not."""
    sentence = " ".join(sys.argv[1:])
    found = where(sentence, templates())
    for one in found:
        sys.stdout.write(f"{one.template.place}\n    {one.template.text.replace(HOLE, '{}').strip()}\n")
    sys.exit(0 if found else f"no text of the package occurs in: {sentence}")


if __name__ == "__main__":
    main()
