"""Blocks that several pages share: pods that are being moved, and the Reservations that concern a gang."""

from collections.abc import Iterator, Sequence

from kubectl_koord.render.document import Block, Column, EmptyLine, Line, Row, Table, slim
from kubectl_koord.render.lines import more_line
from kubectl_koord.render.shown import Shown, parted
from kubectl_koord.reports.common import GangReservation, Migration
from kubectl_koord.wording import facts
from kubectl_koord.wording.words import more

_MIGRATIONS = (Column("POD"), Column("NODE", goes=2), Column("GANG", goes=1), Column("MIGRATION", flow="wrap"))
_RESERVATIONS = (Column("RESERVATION"), Column("NODE", goes=1), Column("CONCERNS", flow="wrap"))


def migrations(every: Sequence[Migration], shown: Shown, *, of_one_gang: bool = False) -> Iterator[Block]:
    """Yield the pods that are being moved, a gap and a title before them; nothing where there are none."""
    rows = [
        Row(
            (one.pod, one.node or "", "" if of_one_gang else one.gang or "", facts.described(one)),
            "warn" if one.breaks or one.leaves else "",
        )
        for one in every
    ]
    yield from _titled(facts.MIGRATIONS, _MIGRATIONS, rows, shown)


def reservations(every: Sequence[GangReservation], shown: Shown) -> Iterator[Block]:
    """Yield the Reservations that concern a gang, a gap and a title before them; nothing where there are none."""
    rows = [Row((one.reservation, one.node or facts.NOT_PLACED, facts.concerns(one))) for one in every]
    yield from _titled(facts.RESERVATIONS, _RESERVATIONS, rows, shown)


def _titled(title: str, columns: tuple[Column, ...], rows: Sequence[Row], shown: Shown) -> Iterator[Block]:
    if not rows:
        return
    first, rest = parted(rows, shown.rows)
    yield from (EmptyLine(), Line(title, "bold"), slim(Table(columns, tuple(first))))
    if rest:
        yield more_line(more(len(rest)))
