"""What becomes of the columns of a table on a narrow terminal: names are never cut."""

from collections.abc import Collection, Sequence

from msgspec import Struct

from kubectl_koord.render.document import Column
from kubectl_koord.render.escape import width

BETWEEN = "   "
_SENTENCE = 32  # narrower than that a sentence is better read below its row
_NAME = 24  # a name that has to go on in the next line does so after no fewer cells


class Fit(Struct, frozen=True):
    """Which columns stand side by side and how wide, which below each row, and which are left out."""

    beside: tuple[int, ...]
    widths: tuple[int, ...]
    below: tuple[int, ...] = ()
    left_out: tuple[int, ...] = ()


def fit(columns: Sequence[Column], header: Sequence[str], rows: Sequence[Sequence[str]], room: int) -> Fit:
    """Return how the columns share the room.

    What gives way, in this order: sentences wrap, then stand below their rows; headers and lists wrap; columns
    are left out, those of `-o wide` first, then in the order that they declare; names go on in the next line; columns
    are left out that declare nothing, the last ones first.

    Args:
        columns: what may be left out, and how each flows.
        header: harmless titles.
        rows: harmless cells, the guides of a tree included.
        room: the cells for the whole row, 0 for no limit.

    """
    cells = [max(map(width, column), default=0) for column in zip(*rows, strict=True)] or [0] * len(columns)
    natural = [max(size, width(title)) for size, title in zip(cells, header, strict=True)]
    everything = tuple(range(len(columns)))
    if not room or _total(natural, everything) <= room:
        return Fit(everything, tuple(natural))
    sentences = tuple(index for index in everything if columns[index].flow == "wrap")
    floors = [min(size, _SENTENCE) if index in sentences else size for index, size in enumerate(natural)]
    if _total(floors, everything) <= room:
        return Fit(everything, _shrunk(natural, floors, everything, room))
    words = [max(map(_longest_word, column), default=0) for column in zip(*rows, strict=True)] or cells
    low = [max(size, _longest_word(title)) for size, title in zip(words, header, strict=True)]
    least = [size if columns[index].right else min(size, _NAME) for index, size in enumerate(low)]
    going = _going(columns)
    names = tuple(index for index in everything if index not in sentences) or everything
    more = [index for index in reversed(names[1:]) if index not in going]
    ends = range(len(going) + 1)
    tries = [(floors, [*going[:end]]) for floors in (low, least) for end in ends]
    tries += [(least, [*going, *more[:end]]) for end in range(1, len(more) + 1)]
    below = tuple(index for index in sentences if index not in names)
    for floors, left_out in tries:
        beside = tuple(index for index in names if index not in left_out)
        if _total(floors, beside) <= room:
            return Fit(beside, _shrunk(natural, floors, beside, room), below, tuple(sorted(left_out)))
    return Fit(names[:1], (room,), below, names[1:])


def _longest_word(text: str) -> int:
    return max(map(width, text.split(" ")))


def _going(columns: Sequence[Column]) -> list[int]:
    """Return the columns that may be left out, those first that go first."""
    ranked = [(0, -index) for index, column in enumerate(columns) if column.wide and not column.goes]
    ranked += [(column.goes, index) for index, column in enumerate(columns) if column.goes]
    return [abs(index) for _, index in sorted(ranked)]


def _total(sizes: Sequence[int], beside: Collection[int]) -> int:
    return sum(sizes[index] for index in beside) + len(BETWEEN) * (len(beside) - 1)


def _shrunk(natural: Sequence[int], floors: Sequence[int], beside: Sequence[int], room: int) -> tuple[int, ...]:
    """Return the widths of these columns in the room: the one that can give most gives way first."""
    found = {index: natural[index] for index in beside}
    surplus = _total(natural, beside) - room
    while surplus > 0:
        giving = max(beside, key=lambda index: found[index] - floors[index])
        step = min(max(1, surplus // 2), found[giving] - floors[giving])
        found[giving] -= step
        surplus -= step
    return tuple(found[index] for index in beside)
