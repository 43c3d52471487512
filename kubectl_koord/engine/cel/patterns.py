"""Regular expressions as RE2 has them, matched in bounded time: of all places at once, not one after the other."""

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from kubectl_koord.engine.cel.syntax import UnsupportedError

_MOST_DEEP = 8
_MOST_TIMES = 64
_MOST_STEPS = 1 << 14
_TIMES = re.compile(r"\{(0|[1-9][0-9]{0,8})(?:(,)(0|[1-9][0-9]{0,8})?)?\}")
_ONCE = {"?": (0, 1), "*": (0, None), "+": (1, None)}
_DIGITS = frozenset("0123456789")
_WORD = _DIGITS | frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_SETS = {"d": _DIGITS, "w": _WORD, "s": frozenset("\t\n\f\r ")}
_CONTROLS = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}

Test: TypeAlias = Callable[[str], bool]


class _Text:
    """A text in which a pattern is looked for, and how many steps that took."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.steps = 0

    def look(self, places: frozenset[int]) -> None:
        self.steps += 1 + len(places)
        if self.steps > _MOST_STEPS:
            raise UnsupportedError


Part: TypeAlias = Callable[[_Text, frozenset[int]], frozenset[int]]
"""A part of a pattern: from the places where it may begin to those where it may end."""


def matcher(pattern: str) -> Callable[[str], bool]:
    """Return what tells whether a pattern is somewhere in a text.

    Raises UnsupportedError when the pattern is none, or uses more than is evaluated; so may what is returned.
    """
    part = _Pattern(pattern).whole()

    def is_in(text: str) -> bool:
        return bool(part(_Text(text), frozenset(range(len(text) + 1))))

    return is_in


class _Pattern:
    def __init__(self, pattern: str) -> None:
        self._folds = pattern.startswith("(?i)")
        self._pattern = pattern.removeprefix("(?i)")
        self._at = 0
        self._deep = 0

    def whole(self) -> Part:
        part = self._alternatives()
        if self._at < len(self._pattern):
            raise UnsupportedError
        return part

    def _next(self) -> str:
        return self._pattern[self._at : self._at + 1]

    def _take(self) -> str:
        taken = self._next()
        if not taken:
            raise UnsupportedError
        self._at += 1
        return taken

    def _skip(self, text: str) -> bool:
        found = self._pattern.startswith(text, self._at)
        self._at += len(text) if found else 0
        return found

    def _alternatives(self) -> Part:
        parts = [self._sequence()]
        while self._skip("|"):
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else _either(parts)

    def _sequence(self) -> Part:
        parts = []
        while self._next() not in {"", "|", ")"}:
            parts.append(self._repeated())
        return _one_after_the_other(parts)

    def _repeated(self) -> Part:
        part = self._atom()
        times = self._times()
        if times is None:
            return part
        self._skip("?")  # as few as possible: the same for whether it matches
        if self._times() is not None:
            raise UnsupportedError
        return _repeated(part, *times)

    def _times(self) -> tuple[int, int | None] | None:
        if self._next() in _ONCE:
            return _ONCE[self._take()]
        found = _TIMES.match(self._pattern, self._at)
        if found is None:
            return None
        self._at = found.end()
        least = int(found[1])
        most = None if found[2] and not found[3] else int(found[3] or found[1])
        if max(least, most or 0) > _MOST_TIMES or (most is not None and most < least):
            raise UnsupportedError
        return least, most

    def _atom(self) -> Part:
        one = self._take()
        if one in _PLACES:
            return _where(_PLACES[one])
        match one:
            case "(":
                return self._group()
            case "[":
                return self._one_of(self._set())
            case "\\":
                return self._escape()
            case "*" | "+" | "?":
                raise UnsupportedError
            case _:
                return self._one_of(_is_no_line_end if one == "." else self._only(one))

    def _group(self) -> Part:
        if not self._skip("?:") and self._next() == "?":
            raise UnsupportedError
        self._deep += 1
        if self._deep > _MOST_DEEP:
            raise UnsupportedError
        part = self._alternatives()
        if not self._skip(")"):
            raise UnsupportedError
        self._deep -= 1
        return part

    def _escape(self) -> Part:
        if self._skip("b"):
            return _where(_is_boundary)
        self._at -= 1
        return self._one_of(self._member())

    def _set(self) -> Test:
        is_negated = self._skip("^")
        members = [self._range()]
        while not self._skip("]"):
            members.append(self._range())

        def is_in(one: str) -> bool:
            return any(member(one) for member in members) is not is_negated

        return is_in if not (self._folds and is_negated) else _folded_out(members)

    def _range(self) -> Test:
        """Return one member of a set: a character, a range, or a set of its own."""
        if self._pattern.startswith("[:", self._at):
            raise UnsupportedError
        first = self._next()
        start = self._at
        member = self._member()
        if self._next() != "-" or self._pattern.startswith("-]", self._at):
            return member
        self._at += 1
        last = self._take()
        if first == "\\" or last in {"\\", "["} or last < first or self._at - start != len("a-z"):
            raise UnsupportedError
        return lambda one: first <= one <= last

    def _member(self) -> Test:
        one = self._take()
        if one != "\\":
            return self._only(one)
        named = self._take()
        if named in _CONTROLS:
            return self._only(_CONTROLS[named])
        if named.lower() in _SETS:
            return _in_set(_SETS[named.lower()], is_negated=named.isupper())
        if named.isalnum() or not named.isascii():
            raise UnsupportedError
        return self._only(named)

    def _only(self, wanted: str) -> Test:
        if self._folds and not wanted.isascii():
            raise UnsupportedError
        return lambda one: one == wanted

    def _one_of(self, test: Test) -> Part:
        def ends(text: _Text, places: frozenset[int]) -> frozenset[int]:
            text.look(places)
            letters = text.text
            if folds and not letters.isascii():
                raise UnsupportedError
            found = (at for at in places if at < len(letters))
            if folds:
                return frozenset(at + 1 for at in found if test(letters[at].lower()) or test(letters[at].upper()))
            return frozenset(at + 1 for at in found if test(letters[at]))

        folds = self._folds
        return ends


def _in_set(members: frozenset[str], *, is_negated: bool) -> Test:
    return lambda one: (one in members) is not is_negated


def _is_no_line_end(one: str) -> bool:
    return one != "\n"


_PLACES: Mapping[str, Callable[[str, int], bool]] = {
    "^": lambda _, at: at == 0,
    "$": lambda text, at: at == len(text),
}


def _is_boundary(text: str, at: int) -> bool:
    return (text[max(at - 1, 0) : at] in _WORD) is not (text[at : at + 1] in _WORD)


def _folded_out(members: list[Test]) -> Test:
    """Return what tells whether neither the small nor the capital letter is a member."""
    return lambda one: not any(member(letter) for member in members for letter in (one.lower(), one.upper()))


def _where(is_there: Callable[[str, int], bool]) -> Part:
    return lambda text, places: frozenset(at for at in places if is_there(text.text, at))


def _either(parts: list[Part]) -> Part:
    return lambda text, places: frozenset().union(*(part(text, places) for part in parts))


def _one_after_the_other(parts: list[Part]) -> Part:
    def ends(text: _Text, places: frozenset[int]) -> frozenset[int]:
        for part in parts:
            if not places:
                break
            places = part(text, places)
        return places

    return ends


def _repeated(part: Part, least: int, most: int | None) -> Part:
    def ends(text: _Text, places: frozenset[int]) -> frozenset[int]:
        for _ in range(least):
            places = part(text, places)
        found = new = places
        times = least
        while new and (most is None or times < most):
            text.look(new)
            new = part(text, new) - found
            found |= new
            times += 1
        return found

    return ends
