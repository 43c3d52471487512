"""Blocks for a pipe: one line per row, never cut, never wrapped, no escape codes and no drawing."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import assert_never

from kubectl_koord.render.document import Block, Bullets, Command, EmptyLine, Line, Table, TreeTable
from kubectl_koord.render.escape import harmless, width

_BETWEEN = "   "


def to_plain(blocks: Iterable[Block], *, unicode: bool = True) -> str:
    """Return the text that kubectl's habits promise to a pipe: upper-case headers, three spaces between columns.

    Args:
        blocks: the page.
        unicode: False where the output cannot carry more than ASCII; the rest is then shown escaped.

    """
    lines: list[str] = []
    for block in blocks:
        lines.extend(_lines(block, ascii_only=not unicode))
    return "".join(f"{line}\n" for line in lines)


def _lines(block: Block, *, ascii_only: bool) -> Iterable[str]:
    match block:
        case Line():
            return [" " * block.indent + harmless(block.text, ascii_only=ascii_only)]
        case Command():
            return [" " * block.indent + harmless(block.label + block.text, ascii_only=ascii_only)]
        case EmptyLine():
            return [""]
        case Bullets():
            return _points(block, ascii_only=ascii_only)
        case Table() | TreeTable():
            return _grid(block, ascii_only=ascii_only)
        case _:
            assert_never(block)


def _points(block: Bullets, *, ascii_only: bool) -> Iterator[str]:
    for number, item in enumerate(block.items, 1):
        lead = f"  {number}. "
        yield lead + harmless(item.text, ascii_only=ascii_only)
        if item.command:
            yield " " * len(lead) + harmless(item.command, ascii_only=ascii_only)


def _grid(block: Table | TreeTable, *, ascii_only: bool) -> Iterator[str]:
    columns = list(zip(*(row.cells for row in block.rows), strict=True)) or [()] * len(block.columns)
    padded: list[list[str]] = []
    for index, (column, cells) in enumerate(zip(block.columns, columns, strict=True)):
        header, *texts = _harmless_column((column.header, *cells), ascii_only=ascii_only)
        if index == 0 and isinstance(block, TreeTable):
            texts = ["  " * row.depth + text for row, text in zip(block.rows, texts, strict=True)]
        padded.append(_padded([header, *texts], right=column.right))
    margin = " " * block.indent
    lines = (margin + _BETWEEN.join(row).rstrip() for row in zip(*padded, strict=True))
    return lines if any(column.header for column in block.columns) else islice(lines, 1, None)


def _harmless_column(cells: Iterable[str], *, ascii_only: bool) -> list[str]:
    texts = list(cells)
    whole = "".join(texts)
    if whole.isascii() and whole.isprintable():
        return texts
    return [harmless(text, ascii_only=ascii_only) for text in texts]


def _padded(texts: list[str], *, right: bool) -> list[str]:
    if not all(map(str.isascii, texts)):
        widths = list(map(width, texts))
        most = max(widths)
        blanks = [" " * (most - own) for own in widths]
        pairs = zip(texts, blanks, strict=True)
        return [blank + text if right else text + blank for text, blank in pairs]
    most = max(map(len, texts))
    return [text.rjust(most) for text in texts] if right else [text.ljust(most) for text in texts]
