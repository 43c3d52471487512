"""Blocks that several pages share: pods that are being moved, and the Reservations that concern a gang."""

from collections.abc import Iterator, Sequence

from kubectl_koord.render.document import Block, Column, EmptyLine, Line, Row, Table, slim
from kubectl_koord.render.lines import more_line
from kubectl_koord.render.shown import Shown, parted
from kubectl_koord.reports.migrations import GangReservation, Migration
from kubectl_koord.wording import migrations as sentences
from kubectl_koord.wording.pages.common import more

_MIGRATIONS = (Column("POD"), Column("NODE", goes=2), Column("GANG", goes=1), Column("MIGRATION", flow="wrap"))
_RESERVATIONS = (Column("RESERVATION"), Column("NODE", goes=1), Column("CONCERNS", flow="wrap"))


def migrations(every: Sequence[Migration], shown: Shown, *, of_one_gang: bool = False) -> Iterator[Block]:
    """Yield the pods that are being moved, a gap and a title before them; nothing where there are none."""
    rows = [
        Row(
            (one.pod, one.node or "", "" if of_one_gang else one.gang or "", sentences.described(one)),
            "warn" if one.breaks or one.leaves else "",
        )
        for one in every
    ]
    yield from _titled(sentences.MIGRATIONS, _MIGRATIONS, rows, shown)


def reservations(every: Sequence[GangReservation], shown: Shown) -> Iterator[Block]:
    """Yield the Reservations that concern a gang, a gap and a title before them; nothing where there are none."""
    rows = [Row((one.reservation, one.node or sentences.NOT_PLACED, sentences.concerns(one))) for one in every]
    yield from _titled(sentences.RESERVATIONS, _RESERVATIONS, rows, shown)


def _titled(title: str, columns: tuple[Column, ...], rows: Sequence[Row], shown: Shown) -> Iterator[Block]:
    if not rows:
        return
    first, rest = parted(rows, shown.rows)
    yield from (EmptyLine(), Line(title, "bold"), slim(Table(columns, tuple(first))))
    if rest:
        yield more_line(more(len(rest)))
