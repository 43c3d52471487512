"""How wide the columns of a table may be on a narrow terminal."""

from kubectl_koord.render.document import Column
from kubectl_koord.render.escape import width

BETWEEN = "   "

# What gives way, in this order, and down to how many cells: sentences, names, sentences, ...
_STAGES = ((False, 24), (True, 32), (False, 12), (True, 16), (False, 8), (True, 8), (False, 2), (True, 2))


def sizes(columns: tuple[Column, ...], rows: list[tuple[str, ...]], room: int) -> list[int]:
    """Return the width of each column.

    Args:
        columns: what gives way.
        rows: harmless cells, the headers and the guides of a tree included.
        room: the cells for the whole row, 0 for no limit.

    """
    found = [max(map(width, cells)) for cells in zip(*rows, strict=True)]
    if not room:
        return found
    room -= len(BETWEEN) * (len(columns) - 1)
    found = [min(size, max(room, 2)) for size in found]
    for names, floor in _STAGES:
        chosen = [index for index, column in enumerate(columns) if _gives_way(column, names=names)]
        _shrink(found, chosen, room, floor)
    return found


def _gives_way(column: Column, *, names: bool) -> bool:
    return not column.right and (column.flow == "name") is names


def _shrink(found: list[int], chosen: list[int], room: int, floor: int) -> None:
    while sum(found) > room and chosen:
        widest = max(chosen, key=found.__getitem__)
        if found[widest] <= floor:
            return
        found[widest] -= 1
