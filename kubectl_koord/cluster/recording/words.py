"""Other words for the words of names, in the same order: by order of names the scheduler breaks ties.

A name is words of letters, and what stands between them: digits, dashes, dots, slashes. Only words are replaced, each
by one of letters that stands where it stood in the order of all words. Whatever stands between words comes before any
letter, so names, and parts of names joined by any of it, keep their order and their numbers.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from random import Random
from typing import overload

_WORD = re.compile(r"[A-Za-z\u0080-\U0010ffff]+")
ADDRESS = re.compile(
    r"(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}|(?:[0-9A-Fa-f]{0,4}:){3,7}[0-9A-Fa-f]{0,4})(?![\w:]|\.\d)"
    r"|(?<=\bip-)\d{1,3}(?:-\d{1,3}){3}(?!\d)"
)
"""An IP address, also as in the names of nodes: `ip-10-0-3-17`."""
_ANY = {"0.0.0.0", "::"}  # noqa: S104 - no address of anybody
_FIRST = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_NEXT = _FIRST[26:]
_SPARSE = 1000
_DIGITS = 7


class Seen:
    """Collects the words and addresses of names, to be replaced when all are known."""

    def __init__(self) -> None:
        """Start with none."""
        self.words: set[str] = set()
        self.addresses: set[str] = set()
        self.names: set[str] = set()

    def __call__(self, name: str) -> str:
        """Take a name, and return it as it is."""
        self.addresses.update(found for found in ADDRESS.findall(name) if found not in _ANY)
        self.words.update(_WORD.findall(ADDRESS.sub("0", name)))
        self.names.update((name, *name.split("/")))
        return name


class _Codes(Sequence[str]):
    """All words of so many letters, small ones after a first of either size, in order."""

    def __init__(self, length: int) -> None:
        self._rest = length - 1

    def __len__(self) -> int:
        size: int = len(_FIRST) * len(_NEXT) ** self._rest
        return size

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[str]: ...
    def __getitem__(self, at: int | slice) -> str | Sequence[str]:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self)))]
        if not 0 <= at < len(self):
            raise IndexError(at)
        letters = []
        for _ in range(self._rest):
            at, letter = divmod(at, len(_NEXT))
            letters.append(_NEXT[letter])
        return _FIRST[at] + "".join(reversed(letters))


def renamed(seen: Seen, known: AbstractSet[str], random: Random) -> Callable[[str], str]:
    """Return the function that gives a name its other name; the words of `known` stay as they are."""
    words = dict(_replaced(seen.words - known, sorted(known), random))
    numbers = sorted(random.sample(range(10 ** (_DIGITS - 1), 10**_DIGITS), len(seen.addresses)))
    addresses = dict(zip(sorted(seen.addresses), map(str, numbers), strict=True))

    def word(found: re.Match[str]) -> str:
        return words.get(found[0], found[0])

    def address(found: re.Match[str]) -> str:
        return addresses.get(found[0], found[0])

    def other(name: str) -> str:
        parts = []
        end = 0
        for found in ADDRESS.finditer(name):
            parts += [_WORD.sub(word, name[end : found.start()]), address(found)]
            end = found.end()
        return "".join((*parts, _WORD.sub(word, name[end:])))

    return other


def _replaced(words: Iterable[str], fixed: Sequence[str], random: Random) -> Iterator[tuple[str, str]]:
    """Yield each word with its other word: between two fixed ones are as many others as there were."""
    between: dict[int, list[str]] = {at: [] for at in range(len(fixed) + 1)}
    for word in sorted(words):
        between[bisect_left(fixed, word)].append(word)
    length, most = 3, max((len(some) for some in between.values()), default=0)
    while len(_Codes(length)) < _SPARSE * most:
        length += 1
    for at, some in between.items():
        before, after = fixed[at - 1] if at else "", fixed[at] if at < len(fixed) else ""
        yield from zip(some, _codes(len(some), before, after, length, random), strict=True)


def _codes(count: int, before: str, after: str, length: int, random: Random) -> Sequence[str]:
    """Return so many words in order, between two others (empty: anything is behind)."""
    codes = _Codes(length)
    first = bisect_right(codes, before)
    last = bisect_left(codes, after) if after else len(codes)
    if last - first >= count:
        return [codes[at] for at in sorted(random.sample(range(first, last), count))]
    # Hardly any word is between these two: what begins with the first is, as long as capitals follow it.
    inner = _Codes(length)
    return [before + inner[at].upper() for at in sorted(random.sample(range(len(inner) // 2), count))]
