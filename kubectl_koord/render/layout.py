"""Blocks laid out for a terminal: what wraps, what stands below, where the guides of a tree run."""

import re
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import assert_never

from msgspec import Struct

from kubectl_koord.render.document import Block, Bullet, Bullets, Command, EmptyLine, Line, Row, Style, Table, TreeTable
from kubectl_koord.render.escape import clipped, harmless, head, short
from kubectl_koord.render.escape import width as cells_of
from kubectl_koord.render.guides import Glyphs, leads
from kubectl_koord.render.shown import folded
from kubectl_koord.render.sizes import BETWEEN, Fit, fit
from kubectl_koord.wording.pages.common import columns_left_out, command_left_out

_LONGEST = 400  # cells of a word: a namespace and a name take 317, a label with its value 380
_NO_NAME = re.compile(rf"[^ ]{{{_LONGEST + 1},}}")

_MOST_PASTED = 4_000


class Span(Struct, frozen=True):
    """A piece of one line in one style."""

    text: str
    style: Style = ""


class Screen(Struct, frozen=True):
    """Where it goes: `width` in cells, 0 for no limit; `unicode` is False for ASCII only.

    names: how many a list of names in a sentence may have before it is folded, None for any number.
    """

    width: int
    unicode: bool
    names: int | None = None

    def clean(self, text: str) -> str:
        """Return the text as this screen may show it; of what is longer than any name the middle is left out."""
        safe = harmless(text, ascii_only=not self.unicode)
        if not self.width or len(safe) <= _LONGEST:
            return safe
        return _NO_NAME.sub(lambda word: short(word[0], _LONGEST, self.glyphs.ellipsis), safe)

    def shortened(self, text: str) -> str:
        """Return a sentence of our own as this screen may show it, long lists of names in it folded."""
        return self.clean(folded(text, self.names))

    @property
    def glyphs(self) -> Glyphs:
        """The signs that this screen can draw."""
        return Glyphs() if self.unicode else Glyphs("|  ", "|- ", "`- ", "...")


def laid_out(blocks: Iterable[Block], screen: Screen) -> Iterator[tuple[Span, ...]]:
    """Return the lines of the page, harmless and no wider than the screen."""
    for block in blocks:
        match block:
            case Line():
                yield from _line(block, screen)
            case Command():
                yield from _command(block, screen)
            case EmptyLine():
                yield ()
            case Bullets():
                yield from _points(block, screen)
            case Table() | TreeTable():
                yield from _grid(block, screen)
            case _:
                assert_never(block)


def _line(line: Line, screen: Screen) -> Iterator[tuple[Span, ...]]:
    text = screen.clean(line.text) if line.quoted else screen.shortened(line.text)
    for part in wrapped(text, _room(screen, line.indent)):
        yield (Span(" " * line.indent), Span(part, line.style))


def _command(command: Command, screen: Screen) -> Iterator[tuple[Span, ...]]:
    """Yield a command in one line, which may run over the edge: cut or broken it would be another command."""
    clean = harmless(command.text, ascii_only=not screen.unicode)
    size = cells_of(clean)
    before = Span(" " * command.indent), Span(command.label, "dim")
    if size <= _MOST_PASTED or not screen.width:
        yield (*before, Span(clean, "code"))
    else:
        yield from _line(Line(command_left_out(size), "dim", command.indent), screen)


def wrapped(text: str, cells: int) -> list[str]:
    """Return the text in lines broken between words; a word wider than a line goes on in the next.

    Args:
        text: a harmless sentence.
        cells: the width of a line, 0 for no limit.

    """
    if not cells or cells_of(text) <= cells:
        return [text]
    lines: list[str] = []
    line, used = "", 0
    for piece in (piece for word in text.split(" ") for piece in broken(word, cells)):
        size = cells_of(piece)
        if line and used + 1 + size > cells:
            lines.append(line)
            line, used = piece, size
        else:
            line, used = (f"{line} {piece}", used + 1 + size) if line else (piece, size)
    return [*lines, line]


def broken(word: str, cells: int) -> list[str]:
    """Return a name in lines of so many cells, broken behind its signs where it has some; 0 for no limit."""
    lines: list[str] = []
    while cells and cells_of(word) > cells:
        piece = head(word, cells) or word[:1]
        behind = max(piece.rfind(sign) for sign in "/-.,") + 1
        at = behind if behind > len(piece) // 2 else len(piece)
        lines.append(word[:at])
        word = word[at:]
    return [*lines, word]


def _room(screen: Screen, taken: int) -> int:
    return max(screen.width - taken, 1) if screen.width else 0


def _points(block: Bullets, screen: Screen) -> Iterator[tuple[Span, ...]]:
    for number, item in enumerate(block.items, 1):
        yield from _point(f"  {number}. ", item, screen)


def _point(lead: str, item: Bullet, screen: Screen) -> Iterator[tuple[Span, ...]]:
    margin = " " * len(lead)
    room = _room(screen, len(lead))
    text = screen.shortened(item.text)
    for index, part in enumerate(wrapped(text, room)):
        yield (Span(margin if index else lead), Span(part))
    if item.command:
        yield from _command(Command(item.command, len(lead)), screen)


def _grid(block: Table | TreeTable, screen: Screen) -> Iterator[tuple[Span, ...]]:
    depths = [row.depth if isinstance(block, TreeTable) else 0 for row in block.rows]
    guides = leads(depths, screen.glyphs)
    rows = [tuple(map(screen.shortened, row.cells)) for row in block.rows]
    lines = zip(block.rows, guides, rows, strict=True)
    labels = [(lead + cells[0], *cells[1:]) for row, lead, cells in lines if not row.across]
    titles = tuple(screen.clean(column.header) for column in block.columns)
    grid = _Grid(block, screen, titles, fit(block.columns, titles, labels, _room(screen, block.indent)))
    if any(titles):
        yield from (grid.line("", text, "bold") for text in grid.fields(titles, grid.fit.widths))
    for row, lead, cells in zip(block.rows, guides, rows, strict=True):
        yield from grid.row(row, lead, cells)
    if grid.fit.left_out and any(titles):
        notice = columns_left_out([titles[index] for index in grid.fit.left_out])
        for part in wrapped(notice, _room(screen, block.indent)):
            yield grid.line("", part, "dim")


class _Grid(Struct, frozen=True):
    """A table or tree, and how its columns share the screen."""

    block: Table | TreeTable
    screen: Screen
    titles: tuple[str, ...]
    fit: Fit

    def row(self, row: Row, lead: str, cells: tuple[str, ...]) -> Iterator[tuple[Span, ...]]:
        """Yield the lines of a row: its names and numbers side by side, then the sentences below."""
        if row.across:
            yield self.line(lead, cells[0], row.style)
            return
        first, *others = self.fit.widths
        blank = " " * len(lead)
        for index, line in enumerate(self.fields(cells, (max(first - len(lead), 1), *others))):
            yield self.line(blank if index else lead, line, row.style)
        margin = blank + BETWEEN
        for index in self.fit.below:
            if cells[index]:
                title = self.titles[index].lower()
                below = f"{title}: {cells[index]}" if title else cells[index]
                for part in wrapped(below, _room(self.screen, self.block.indent + len(margin))):
                    yield self.line(margin, part, row.style)

    def fields(self, cells: tuple[str, ...], widths: tuple[int, ...]) -> Iterator[str]:
        """Yield the lines of the cells that stand side by side."""
        columns = [self.block.columns[index] for index in self.fit.beside]
        stacks = [wrapped(cells[index], size) for index, size in zip(self.fit.beside, widths, strict=True)]
        for line in zip_longest(*stacks, fillvalue=""):
            texts = zip(line, widths, columns, strict=True)
            yield BETWEEN.join(_pad(text, size, right=column.right) for text, size, column in texts).rstrip()

    def line(self, lead: str, text: str, style: Style) -> tuple[Span, ...]:
        """Return one line of it, clipped only where not even the narrowest columns fit."""
        return _clip((Span(" " * self.block.indent), Span(lead, "dim"), Span(text, style)), self.screen)


def _pad(text: str, size: int, *, right: bool) -> str:
    blanks = " " * (size - cells_of(text))
    return blanks + text if right else text + blanks


def _clip(line: tuple[Span, ...], screen: Screen) -> tuple[Span, ...]:
    if not screen.width or sum(cells_of(span.text) for span in line) <= screen.width:
        return line
    return (Span(clipped("".join(span.text for span in line), screen.width, screen.glyphs.ellipsis), line[-1].style),)
