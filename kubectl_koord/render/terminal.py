"""Blocks laid out for a terminal: what wraps, what stands below, where the guides of a tree run."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from types import MappingProxyType
from typing import assert_never

from msgspec import Struct

from kubectl_koord.render.document import (
    Block,
    Bullet,
    Bullets,
    Column,
    Command,
    EmptyLine,
    Line,
    Row,
    Style,
    Table,
    TreeTable,
)
from kubectl_koord.render.plain import clipped, harmless, head, short, width
from kubectl_koord.render.plain import width as cells_of
from kubectl_koord.render.shown import folded, in_lines
from kubectl_koord.wording.words import columns_left_out, command_left_out


class Glyphs(Struct, frozen=True):
    """The signs of one character set; the first three are of one width."""

    through: str = "\u2502  "
    branch: str = "\u251c\u2500 "
    last: str = "\u2514\u2500 "
    ellipsis: str = "\u2026"


def leads(depths: list[int], glyphs: Glyphs) -> list[str]:
    """Return what to draw in front of each row of a tree in pre-order; nothing at depth 0."""
    blank = " " * len(glyphs.through)
    out: list[str] = []
    follows: list[bool] = []  # per depth: whether a sibling comes below the row at hand
    for depth in reversed(depths):
        follows = [*follows[: depth + 1], *[False] * (depth + 1 - len(follows))]
        above = "".join(glyphs.through if more else blank for more in follows[1:depth])
        out.append(above + (glyphs.branch if follows[depth] else glyphs.last) if depth else "")
        follows[depth] = True
    return out[::-1]


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

    What gives way, in this order: bars go, which repeat a number; sentences wrap, then stand below their rows; headers
    and lists wrap; columns are left out, those of `-o wide` first, then in the order that they declare; names go on in
    the next line; columns are left out that declare nothing, the last ones first.

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
    everything = tuple(index for index in everything if not columns[index].drawn)
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
    return max(width(word) for _, word in _words(text))


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

    `cells`: the width of a line, 0 for no limit.
    """
    if not cells or cells_of(text) <= cells:
        return [text]
    lines: list[str] = []
    line, used = "", 0
    for gap, word in _words(text):
        for number, piece in enumerate(broken(word, cells)):
            size = cells_of(piece)
            between = "" if number else gap
            if line and used + len(between) + size > cells:
                lines.append(line)
                line, used = piece, size
            else:
                line, used = (f"{line}{between}{piece}", used + len(between) + size) if line else (piece, size)
    return [*lines, line]


# Chinese breaks between any two signs, but for those that end or begin a clause.
_OPENS, _ENDS = "\u201c\uff08\u300c[", "\uff0c\u3002\uff1b\uff1a\u3001\uff1f\uff01\uff09\u201d\u300d"
_WIDE = "\u3000-\u9fff\uff00-\uffef"
_PARTS = re.compile(f"[{_OPENS}]*(?:[{_WIDE}]|[^{_WIDE}{_OPENS}]+)[{_ENDS},.;:)\\]]*")


def _words(text: str) -> Iterator[tuple[str, str]]:
    """Yield what stays in one line, each with what is before it in a line."""
    for word in text.split(" "):
        gap = " "
        for part in [word] if word.isascii() else _PARTS.findall(word) or [word]:
            yield gap, part
            gap = ""


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
    told = in_lines(screen.clean(item.text), screen.names)
    for index, part in enumerate(part for line in told for part in wrapped(line, room)):
        yield (Span(margin if index else lead), Span(part))
    for command in item.commands:
        yield from _command(Command(command, len(lead)), screen)


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


_SGR: Mapping[Style, str] = MappingProxyType(
    {"": "", "good": "32", "bad": "1;31", "warn": "33", "dim": "2", "bold": "1", "code": "36"}
)


def to_terminal(
    blocks: Sequence[Block],
    *,
    width: int,
    colour: bool,
    unicode: bool,
    write: Callable[[str], object],
    height: int = 0,
    names: int | None = None,
) -> None:
    """Write the page to a terminal.

    Args:
        blocks: the page.
        width: cells per line, 0 for no limit (nothing is then cut or wrapped).
        colour: whether escape codes for colours may be written.
        unicode: False for a terminal that knows ASCII only.
        write: takes the text, in one or more parts.
        height: lines of the terminal, 0 for no limit. A longer page ends with its first block, the verdict, which has
            scrolled away by then.
        names: how many names a list in a sentence may have before it is folded, None for any number.
    """
    screen = Screen(width, unicode, names)
    lines = lines_of(blocks, screen)
    if 0 < height <= len(lines):
        lines += lines_of([EmptyLine(), *blocks[:1]], screen)
    if not colour:
        write("".join("".join(span.text for span in line) + "\n" for line in lines))
    else:
        write("".join("".join(map(_coloured, line)) + "\n" for line in lines))


def lines_of(blocks: Iterable[Block], screen: Screen) -> list[tuple[Span, ...]]:
    """Return the lines of the page without the blanks at their ends."""
    return [_trimmed(line) for line in laid_out(blocks, screen)]


def _coloured(span: Span) -> str:
    code = _SGR[span.style]
    return f"\x1b[{code}m{span.text}\x1b[0m" if code and span.text else span.text


def _trimmed(line: tuple[Span, ...]) -> tuple[Span, ...]:
    while line and not line[-1].text.rstrip(" "):
        line = line[:-1]
    if not line:
        return ()
    return (*line[:-1], Span(line[-1].text.rstrip(" "), line[-1].style))
