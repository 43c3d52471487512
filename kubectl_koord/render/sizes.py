"""What becomes of the columns of a table on a narrow terminal: names are never cut."""

from collections.abc import Collection, Iterator, Sequence

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

    What gives way, in this order: sentences wrap, then stand below their rows; headers wrap; columns are left
    out in the order that they declare; names go on in the next line.

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
    low = [max(size, *map(width, title.split(" "))) for size, title in zip(cells, header, strict=True)]
    least = [size if columns[index].right else min(size, _NAME) for index, size in enumerate(low)]
    for floors in (low, least, [min(size, 2) for size in low]):
        for left_out in _left_out(columns):
            beside = tuple(index for index in everything if index not in {*sentences, *left_out})
            if _total(floors, beside) <= room:
                return Fit(beside, _shrunk(natural, floors, beside, room), sentences, left_out)
    names = tuple(index for index in everything if index not in sentences) or everything
    return Fit(names[:1], (room,), tuple(index for index in sentences if index not in names), names[1:])


def _left_out(columns: Sequence[Column]) -> Iterator[tuple[int, ...]]:
    """Yield nothing, then the columns that go first, and so on."""
    ranked = sorted((column.goes, index) for index, column in enumerate(columns) if column.goes)
    order = [index for _, index in ranked]
    return (tuple(sorted(order[:number])) for number in range(len(order) + 1))


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
