"""What a page consists of: blocks as values, free of any output device.

Texts are kept as they came from the cluster; a writer makes them harmless.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kubectl_koord.wording.words import each_command

Style: TypeAlias = Literal["", "good", "bad", "warn", "dim", "bold", "code"]
Flow: TypeAlias = Literal["name", "wrap"]


class Line(Struct, frozen=True):
    """A sentence. On a terminal it may wrap between words, `indent` spaces from the left.

    Long lists of names in it may be folded there, unless it is `quoted`.
    """

    text: str
    style: Style = ""
    indent: int = 0
    quoted: bool = False


class EmptyLine(Struct, frozen=True):
    """An empty line."""


class Column(Struct, frozen=True):
    """A header, and what gives way on a narrow terminal.

    flow: `wrap` is a sentence, which goes on in the next line or stands below its row; a `name` stays whole as
    long as it can. goes: the column is left out where there is no room, 1 before 2 and so on; 0 never.
    wide: the column is there with `-o wide` alone. drawn: it is there on a terminal alone.
    """

    header: str
    right: bool = False
    flow: Flow = "name"
    goes: int = 0
    wide: bool = False
    drawn: bool = False


class Row(Struct, frozen=True):
    """The cells of one row; `depth` counts only in a tree, where the first cell is the label.

    across: the first cell is all there is, and may run across the other columns.
    """

    cells: tuple[str, ...]
    style: Style = ""
    depth: int = 0
    across: bool = False


class Table(Struct, frozen=True):
    """Rows under headers, each row with as many cells as there are columns.

    `main` is what the page lists: all that is left of it without headers.
    """

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    indent: int = 2
    main: bool = False


class TreeTable(Struct, frozen=True):
    """A table whose rows stand in pre-order and hang below the last row that is less deep."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    indent: int = 0
    main: bool = False


class Command(Struct, frozen=True):
    """A command to paste: in a line of its own that is never broken, however long it is.

    `label` stands before it in the same line.
    """

    text: str
    indent: int = 0
    label: str = ""


class Bullet(Struct, frozen=True):
    """One numbered point and, where there are any, the commands that belong to it, each in a line below."""

    text: str
    command: str = ""

    @property
    def commands(self) -> list[str]:
        """The commands one by one."""
        return each_command(self.command)


class Bullets(Struct, frozen=True):
    """Numbered points."""

    items: tuple[Bullet, ...]


Block: TypeAlias = Line | Command | EmptyLine | Table | TreeTable | Bullets
Grid = TypeVar("Grid", bound=Table | TreeTable)


class Columns(Struct, frozen=True):
    """How a listing is printed: with the columns of `-o wide`, with headers, in an order that was asked for, cut."""

    wide: bool = False
    headers: bool = True
    ordered: bool = False
    most: int | None = None


USUAL = Columns()


def printed(page: Iterable[Block], columns: Columns, *, is_drawn: bool = False) -> list[Block]:
    """Return the page with those columns; without headers only the rows of what it lists.

    `columns`: which are asked for. `is_drawn`: whether it is for a terminal.
    """
    blocks = [
        _with_columns(block, [index for index, one in enumerate(block.columns) if _stays(one, columns, is_drawn)])
        if isinstance(block, Table | TreeTable)
        else block
        for block in page
    ]
    if columns.headers:
        return blocks
    return [_without_headers(block) for block in blocks if isinstance(block, Table | TreeTable) and block.main]


def _without_headers(block: Grid) -> Grid:
    columns = tuple(replace(column, header="") for column in block.columns)
    return replace(block, columns=columns, rows=tuple(row for row in block.rows if not row.across), indent=0)


def _stays(column: Column, columns: Columns, is_drawn: bool) -> bool:  # noqa: FBT001
    return (columns.wide or not column.wide) and (is_drawn or not column.drawn)


def slim(block: Grid) -> Grid:
    """Return the table or tree without the columns in which no row says anything."""
    return _with_columns(
        block, [index for index in range(len(block.columns)) if any(row.cells[index] for row in block.rows)]
    )


def _with_columns(block: Grid, kept: Sequence[int]) -> Grid:
    if len(kept) == len(block.columns):
        return block
    columns = tuple(block.columns[index] for index in kept)
    rows = tuple(replace(row, cells=tuple(row.cells[index] for index in kept)) for row in block.rows)
    return replace(block, columns=columns, rows=rows)
