"""Blocks laid out for a terminal: what is cut, what wraps, where the guides of a tree run."""

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import assert_never

from msgspec import Struct

from kubectl_koord.render.document import Block, Bullet, Bullets, Column, Command, Gap, Line, Row, Style, Table, Tree
from kubectl_koord.render.escape import clipped, harmless, short
from kubectl_koord.render.escape import width as cells_of
from kubectl_koord.render.guides import Glyphs, leads
from kubectl_koord.render.sizes import BETWEEN, sizes

_MOST_PASTED = 4_000


class Span(Struct, frozen=True):
    """A piece of one line in one style."""

    text: str
    style: Style = ""


class Screen(Struct, frozen=True):
    """Where it goes: `width` in cells, 0 for no limit; `unicode` is False for ASCII only."""

    width: int
    unicode: bool

    def clean(self, text: str) -> str:
        """Return the text as this screen may show it."""
        return harmless(text, ascii_only=not self.unicode)

    @property
    def glyphs(self) -> Glyphs:
        """The signs that this screen can draw."""
        return Glyphs() if self.unicode else Glyphs("|  ", "|- ", "`- ", "...")


def laid_out(blocks: Iterable[Block], screen: Screen) -> Iterator[tuple[Span, ...]]:
    """Return the lines of the page, harmless and cut to the screen."""
    for block in blocks:
        match block:
            case Line():
                yield from _line(block, screen)
            case Command():
                yield from _command(block, screen)
            case Gap():
                yield ()
            case Bullets():
                yield from _points(block, screen)
            case Table() | Tree():
                yield from _grid(block, screen)
            case _:
                assert_never(block)


def _line(block: Line, screen: Screen) -> Iterator[tuple[Span, ...]]:
    for part in wrapped(screen.clean(block.text), _room(screen, block.indent), screen.glyphs.ellipsis):
        yield (Span(" " * block.indent), Span(part, block.style))


def _command(command: Command, screen: Screen) -> Iterator[tuple[Span, ...]]:
    """Yield a command in one line, which may run over the edge: cut or broken it would be another command."""
    clean = screen.clean(command.text)
    size = cells_of(clean)
    before = Span(" " * command.indent), Span(command.label, "dim")
    if size <= _MOST_PASTED or not screen.width:
        yield (*before, Span(clean, "code"))
    else:
        yield from _line(Line(f"(a command of {size} characters: -o json has it)", "dim", command.indent), screen)


def wrapped(text: str, cells: int, ellipsis: str) -> list[str]:
    """Return the text in lines broken between words; a word wider than a line is cut in the middle.

    Args:
        text: a harmless sentence.
        cells: the width of a line, 0 for no limit.
        ellipsis: what stands for the part that is cut out.

    """
    if not cells or cells_of(text) <= cells:
        return [text]
    lines: list[str] = []
    line, used = "", 0
    for word in text.split(" "):
        piece = short(word, cells, ellipsis)
        size = cells_of(piece)
        if line and used + 1 + size > cells:
            lines.append(line)
            line, used = piece, size
        else:
            line, used = (f"{line} {piece}", used + 1 + size) if line else (piece, size)
    return [*lines, line]


def _room(screen: Screen, taken: int) -> int:
    return max(screen.width - taken, 1) if screen.width else 0


def _points(block: Bullets, screen: Screen) -> Iterator[tuple[Span, ...]]:
    for number, item in enumerate(block.items, 1):
        yield from _point(f"  {number}. ", item, screen)


def _point(lead: str, item: Bullet, screen: Screen) -> Iterator[tuple[Span, ...]]:
    margin = " " * len(lead)
    room = _room(screen, len(lead))
    text = screen.clean(item.text)
    for index, part in enumerate(wrapped(text, room, screen.glyphs.ellipsis)):
        yield (Span(margin if index else lead), Span(part))
    if item.command:
        yield from _command(Command(item.command, len(lead)), screen)


def _grid(block: Table | Tree, screen: Screen) -> Iterator[tuple[Span, ...]]:
    depths = [row.depth if isinstance(block, Tree) else 0 for row in block.rows]
    guides = leads(depths, screen.glyphs)
    rows = [tuple(map(screen.clean, row.cells)) for row in block.rows]
    labels = [(lead + cells[0], *cells[1:]) for lead, cells in zip(guides, rows, strict=True)]
    headers = tuple(screen.clean(column.header) for column in block.columns)
    widths = sizes(block.columns, [headers, *labels], _room(screen, block.indent))
    margin = Span(" " * block.indent)
    header = _fields(headers, block.columns, widths, screen)
    yield from (_clip((margin, Span(line, "bold")), screen) for line in header)
    for row, lead, cells in zip(block.rows, guides, rows, strict=True):
        yield from (_clip((margin, *line), screen) for line in _row(row, lead, cells, (block.columns, widths, screen)))


def _row(
    row: Row, lead: str, cells: tuple[str, ...], grid: tuple[tuple[Column, ...], list[int], Screen]
) -> Iterator[tuple[Span, ...]]:
    columns, widths, screen = grid
    inner = [max(widths[0] - len(lead), 1), *widths[1:]]
    for index, line in enumerate(_fields(cells, columns, inner, screen)):
        yield (Span(" " * len(lead) if index else lead, "dim"), Span(line, row.style))


def _fields(cells: tuple[str, ...], columns: tuple[Column, ...], widths: list[int], screen: Screen) -> Iterator[str]:
    ellipsis = screen.glyphs.ellipsis
    stacks: list[list[str]] = []
    for cell, column, size in zip(cells, columns, widths, strict=True):
        match column.flow:
            case "wrap":
                stacks.append(wrapped(cell, size, ellipsis))
            case "cut":
                stacks.append([clipped(cell, size, ellipsis)])
            case _:
                stacks.append([short(cell, size, ellipsis)])
    for line in zip_longest(*stacks, fillvalue=""):
        texts = [_pad(text, size, right=column.right) for text, size, column in zip(line, widths, columns, strict=True)]
        yield BETWEEN.join(texts).rstrip()


def _pad(text: str, size: int, *, right: bool) -> str:
    blanks = " " * (size - cells_of(text))
    return blanks + text if right else text + blanks


def _clip(line: tuple[Span, ...], screen: Screen) -> tuple[Span, ...]:
    # Only where not even the narrowest columns fit.
    if not screen.width or sum(cells_of(span.text) for span in line) <= screen.width:
        return line
    return (Span(clipped("".join(span.text for span in line), screen.width, screen.glyphs.ellipsis), line[-1].style),)
