"""Blocks about gangs of Volcano: a table of them, and what is known of one."""

from collections.abc import Iterator, Sequence

from kubectl_koord.render.document import Block, Column, EmptyLine, Line, Row, Table, slim
from kubectl_koord.render.lines import more_line
from kubectl_koord.render.shown import Shown, parted
from kubectl_koord.reports.jobs.volcano import VolcanoGang
from kubectl_koord.wording.answers import volcano as answers
from kubectl_koord.wording.pages.common import more
from kubectl_koord.wording.pages.jobs import volcano as sentences

_GANGS = (
    Column("GANG"),
    Column("PHASE"),
    Column("QUEUE", goes=2),
    Column("WANTED", right=True),
    Column("PENDING", right=True),
    Column("RUNNING", right=True, goes=1),
    Column("PREEMPTION POLICY", wide=True),
    Column("SAYS", flow="wrap"),
)


def table(gangs: Sequence[VolcanoGang], shown: Shown) -> Iterator[Block]:
    """Yield the gangs, a gap and a title before them; nothing where there are none."""
    if not gangs:
        return
    first, rest = parted(gangs, shown.rows)
    yield from (EmptyLine(), Line(sentences.TITLE, "bold"), slim(Table(_GANGS, tuple(map(_row, first)))))
    if rest:
        yield more_line(more(len(rest)))
    yield Line(sentences.NOT_COMPUTED, "dim", indent=2)


def _row(gang: VolcanoGang) -> Row:
    numbers = map(str, (gang.min_member, len(gang.pending), gang.running))
    policy, says = sentences.preempts(gang), answers.last_said(gang)
    return Row((gang.gang, gang.phase, sentences.queue(gang), *numbers, policy, says))


def details(gang: VolcanoGang) -> Iterator[Block]:
    """Yield what is known of a gang, and its conditions, a gap and a title before them."""
    yield from (EmptyLine(), Line(sentences.SAYS, "bold"))
    yield from (Line(fact, indent=2) for fact in sentences.facts(gang))
    yield from (Line(answers.said(one), indent=2, quoted=True) for one in gang.conditions)
