"""Names that somebody may have meant."""

from collections.abc import Iterable, Iterator

_MOST_EDITS = 2
_SHORT = 3  # in a word of so few letters two edits leave nothing of it


def near(word: str, known: Iterable[str], most: int = 3) -> tuple[str, ...]:
    """Return the names that the word is one or two typing errors away from or begins, the nearest first.

    Of `namespace/name` the name alone may be near: whoever forgets the namespace, or has another one in mind,
    means that. Nothing is returned that is far off.
    """
    ranked = sorted((rank, name) for name in dict.fromkeys(known) if (rank := _rank(word, name)) is not None)
    return tuple(name for _, name in ranked[:most])


def _rank(word: str, name: str) -> tuple[int, int] | None:
    home, _, bare = word.rpartition("/")
    elsewhere = int(bool(home) and name.rpartition("/")[0] != home)
    return min(((far, elsewhere) for far in _distances(word, bare, name)), default=None)


def _distances(word: str, bare: str, name: str) -> Iterator[int]:
    for typed, meant in {(word, name), (bare, name.rpartition("/")[2])}:
        edits = range(1 + (_MOST_EDITS if len(typed) > _SHORT else 1))
        found = next((number for number in edits if _within(typed, meant, number)), None)
        if found is not None:
            yield found
        elif bare and meant.startswith(typed):
            yield _MOST_EDITS + 1


def _within(left: str, right: str, edits: int) -> bool:
    """Tell whether so many letters put in, left out, replaced or swapped with the next turn one into the other."""
    if abs(len(left) - len(right)) > edits:
        return False
    same = next((at for at, (one, other) in enumerate(zip(left, right, strict=False)) if one != other), None)
    if same is None:
        return True
    left, right = left[same:], right[same:]
    return edits > 0 and (
        _within(left[1:], right[1:], edits - 1)
        or _within(left[1:], right, edits - 1)
        or _within(left, right[1:], edits - 1)
        or (left[:2] == right[1::-1] and _within(left[2:], right[2:], edits - 1))
    )
