"""Blocks for a pipe: one line per row, never cut or wrapped; and the escaping of text from a cluster."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import assert_never

from kubectl_koord.language import spoken
from kubectl_koord.render.document import Block, Bullets, Command, EmptyLine, Line, Table, TreeTable
from kubectl_koord.render.shown import in_lines

_WIDE = frozenset("WF")

# Code points that draw nothing although Unicode calls them letters, marks or selectors.
_INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")


def harmless(text: str, *, ascii_only: bool = False) -> str:
    r"""Return the text with everything that acts, hides or reorders shown as `\x1b`, `\u202e` or `\U000e0001`.

    `text`: anything, lone surrogates and line breaks included. `ascii_only`: for an output that cannot carry more than
    ASCII.
    """
    if text.isascii():
        return text if text.isprintable() else "".join(map(_shown, text))
    if ascii_only:
        return "".join(_shown(char) if char.isascii() else _code(char) for char in text)
    if spoken() == "zh":
        text = _STOPS.sub(_typeset, text)
    if text.isprintable() and _INVISIBLE.search(text) is None:
        return text
    return "".join(map(_shown, text))


_CHINESE = "\u3000-\u303f\u4e00-\u9fff\uff00-\uffef"
_STOPS = re.compile(
    rf"(?<=[{_CHINESE}])(?<!\uff08)([,;:.])(?:\x20|$)"
    rf"|(?<=[^\s.\uff08])(?<!error)(?<!interrupted)([,;:.])\x20(?=[{_CHINESE}])"
    rf"|(?<=[{_CHINESE}])\x20(?=[{_CHINESE}])"
)
_FULL_WIDTH = {",": "\uff0c", ";": "\uff1b", ":": "\uff1a", ".": "\u3002"}


def _typeset(found: re.Match[str]) -> str:
    """Return what stands beside Chinese as Chinese is set: a stop in full width, no space between two signs."""
    return _FULL_WIDTH.get(found[1] or found[2] or "", "")


def width(text: str) -> int:
    """Return how many terminal cells the text takes."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def short(text: str, cells: int, ellipsis: str = "\u2026") -> str:
    """Return the text in at most so many cells, cut in the middle: names differ at both ends."""
    if width(text) <= cells:
        return text
    room = cells - width(ellipsis)
    if room < 2:  # noqa: PLR2004 - one cell on each side
        return head(text, cells)
    tail = head(text[::-1], room // 2)[::-1]
    return head(text, room - width(tail)) + ellipsis + tail


def clipped(text: str, cells: int, ellipsis: str = "\u2026") -> str:
    """Return the text in at most so many cells, cut at the end: a sentence says the main thing first."""
    if width(text) <= cells:
        return text
    room = cells - width(ellipsis)
    return head(text, room).rstrip() + ellipsis if room > 0 else head(text, cells)


def head(text: str, cells: int) -> str:
    """Return the longest beginning that takes no more than so many cells."""
    if text.isascii():
        return text[: max(cells, 0)]
    used = 0
    for index, char in enumerate(text):
        used += _cells(char)
        if used > cells:
            return text[:index]
    return text


def _cells(char: str) -> int:
    if unicodedata.east_asian_width(char) in _WIDE:
        return 2
    return 0 if unicodedata.category(char) in {"Mn", "Me"} else 1


def _shown(char: str) -> str:
    # isprintable() is false for every C* and Z* category but the plain space; other spaces only look wide.
    if (char.isprintable() and _INVISIBLE.match(char) is None) or unicodedata.category(char) == "Zs":
        return char
    return _code(char)


def _code(char: str) -> str:
    number = ord(char)
    if number > 0xFFFF:  # noqa: PLR2004
        return f"\\U{number:08x}"
    return f"\\u{number:04x}" if number > 0xFF else f"\\x{number:02x}"  # noqa: PLR2004


_BETWEEN = "   "


def to_plain(blocks: Iterable[Block], *, unicode: bool = True) -> str:
    """Return the text that kubectl's habits promise to a pipe: upper-case headers, three spaces between columns.

    `unicode`: False where the output cannot carry more than ASCII; the rest is then shown escaped.
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
        first, *others = in_lines(item.text, None)
        yield lead + harmless(first, ascii_only=ascii_only)
        yield from (" " * len(lead) + harmless(line, ascii_only=ascii_only) for line in others)
        for command in item.commands:
            yield " " * len(lead) + harmless(command, ascii_only=ascii_only)


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
