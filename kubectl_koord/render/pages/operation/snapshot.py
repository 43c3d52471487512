"""The page of `snapshot`: what was written, of each kind how much, and what is not in it."""

from collections.abc import Mapping, Sequence

from kubectl_koord.model.snapshot import Gap as Unread
from kubectl_koord.render.document import Block, Column, EmptyLine, Line, Row, Table
from kubectl_koord.wording.pages.operation import snapshot as sentences


def blocks(
    file: str, packed: int, objects: Mapping[str, tuple[int, int]], unread: Sequence[Unread], *, anonymized: bool
) -> list[Block]:
    """Return the page.

    Args:
        file: where to it was written, empty for standard output.
        packed: how many bytes that is.
        objects: by kind how many there are, and the bytes of their text.
        unread: the kinds that could not be read.
        anonymized: whether names stand for others.

    """
    columns = (Column("KIND"), Column("OBJECTS", right=True), Column("SIZE", right=True))
    ordered = sorted(objects.items(), key=lambda item: (-item[1][1], item[0]))
    rows = (Row((kind, str(number), sentences.kilobytes(size))) for kind, (number, size) in ordered)
    page: list[Block] = [
        Line(sentences.wrote(file, sum(number for number, _ in objects.values()), packed)),
        EmptyLine(),
        Table(columns, tuple(rows), indent=0),
        EmptyLine(),
        Line(sentences.NOT_HELD),
        Line(sentences.ANONYMOUS if anonymized else sentences.NAMED),
        *(Line(sentences.not_read(gap)) for gap in unread if gap.code != "not-in-input"),
    ]
    return [*page, EmptyLine(), Line(sentences.how_to_read(file))] if file else page
