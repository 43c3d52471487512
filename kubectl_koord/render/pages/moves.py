"""Blocks that several pages share: pods that are being moved, and the Reservations that concern a gang."""

from collections.abc import Iterator, Sequence

from kubectl_koord.language import say
from kubectl_koord.render.document import Block, Column, EmptyLine, Line, Row, Table, slim
from kubectl_koord.render.lines import more_line
from kubectl_koord.render.shown import Shown, parted
from kubectl_koord.reports.common import GangReservation, Migration
from kubectl_koord.wording.words import SEMICOLON, count, listed, more, noted

_MIGRATIONS = (Column("POD"), Column("NODE", goes=2), Column("GANG", goes=1), Column("MIGRATION", flow="wrap"))
_RESERVATIONS = (Column("RESERVATION"), Column("NODE", goes=1), Column("CONCERNS", flow="wrap"))


def migrations(every: Sequence[Migration], shown: Shown, *, of_one_gang: bool = False) -> Iterator[Block]:
    """Yield the pods that are being moved, a gap and a title before them; nothing where there are none."""
    rows = [
        Row(
            (
                one.pod,
                one.node or "",
                "" if of_one_gang else one.gang or "",
                say(
                    "{state}, {goes_to}; PodMigrationJob {job}{replaced}",
                    state=_state(one),
                    goes_to=_goes_to(one),
                    job=one.job,
                    replaced=_replaced(one),
                ),
            ),
            "warn" if one.breaks or one.leaves else "",
        )
        for one in every
    ]
    yield from _titled(say("Pods that are being moved"), _MIGRATIONS, rows, shown)


def _replaced(one: Migration) -> str:
    return say(", replaced by {replacement}", replacement=one.replacement) if one.replacement is not None else ""


def _goes_to(one: Migration) -> str:
    if one.to is not None:
        return say("to {to} (Reservation {reservation})", to=one.to, reservation=one.reservation)
    if one.reservation is not None:
        return say("Reservation {reservation} is not placed yet", reservation=one.reservation)
    return say("to wherever it is placed") if one.mode == "EvictDirectly" else say("no Reservation yet")


def _state(one: Migration) -> str:
    phase = say("paused") if one.paused else one.phase
    details = one.reason or one.status
    return noted(phase, details) if details and details != phase else phase


def reservations(every: Sequence[GangReservation], shown: Shown) -> Iterator[Block]:
    """Yield the Reservations that concern a gang, a gap and a title before them; nothing where there are none."""
    rows = [Row((one.reservation, one.node or say("(not placed)"), _concerns(one))) for one in every]
    yield from _titled(say("Reservations for its pods"), _RESERVATIONS, rows, shown)


def _concerns(one: GangReservation) -> str:
    parts = [say("used by {drawing}", drawing=listed(one.drawing))] if one.drawing else []
    parts += [say("{pods} may use it", pods=count(one.may_draw, "pending pod"))] if one.may_draw else []
    parts += [say("counts as a member")] if one.is_member else []
    parts += [say("made for PodMigrationJob {job}", job=one.job)] if one.job is not None else []
    return SEMICOLON.join(parts)


def _titled(title: str, columns: tuple[Column, ...], rows: Sequence[Row], shown: Shown) -> Iterator[Block]:
    if not rows:
        return
    first, rest = parted(rows, shown.rows)
    yield from (EmptyLine(), Line(title, "bold"), slim(Table(columns, tuple(first))))
    if rest:
        yield more_line(more(len(rest)))
