"""The pages of `explain`: one code, or the list of all."""

from collections.abc import Iterator
from itertools import groupby

from kubectl_koord.language import say
from kubectl_koord.render.document import Block, Column, Command, EmptyLine, Line, Row, Table
from kubectl_koord.render.terminal import wrapped
from kubectl_koord.reports.manual import CodeRow, Explanation, Explanations
from kubectl_koord.wording.words import CODES, NEXT_STEPS, noted

_WIDTH = 80
_COLUMNS = (Column("CODE"), Column("MEANING", flow="wrap"))


def blocks(report: Explanation | Explanations) -> list[Block]:
    """Return the page of one code, or the list of all."""
    return _page(report) if isinstance(report, Explanation) else _contents(report)


def _page(report: Explanation) -> list[Block]:
    return [
        Line(say("{title}.", title=report.title), "bold"),
        Line(noted(report.code, say(", ").join(map(say, report.used_as))), "dim"),
        *_prose(report.text),
        *_prose(say("Why: {how}", how=report.how)),
        *_prose(say("{next_steps}: {why}", next_steps=NEXT_STEPS, why=report.remedy)),
        Line("Commands:"),
        *(Command(command, indent=2) for command in report.see),
    ]


def _prose(text: str) -> Iterator[Line]:
    """Yield the lines of a paragraph: prose is wrapped in a pipe, too."""
    return (Line(line) for line in wrapped(text, _WIDTH))


def _contents(report: Explanations) -> list[Block]:
    found: list[Block] = [Line(CODES, "bold")]
    for group, rows in groupby(report.items, key=lambda row: row.group):
        found += [EmptyLine(), Line(say(group), "bold"), Table(_COLUMNS, tuple(map(_row, rows)))]
    return found


def _row(row: CodeRow) -> Row:
    return Row((row.code, row.title))
