"""The page of `fit`: for each gang whether it fits, where room is short, whom it would preempt, and what helps."""

from collections.abc import Iterator

from kubectl_koord.render.document import Block, Command, EmptyLine, Line, Style
from kubectl_koord.render.lines import VERDICT_STYLE, basis_line, outcome_lines, warning_lines
from kubectl_koord.render.pages.capacity.nodes import by_node
from kubectl_koord.render.pages.jobs import preempt, why
from kubectl_koord.render.shown import Shown
from kubectl_koord.reports.jobs.fit import FitGang, FitReport
from kubectl_koord.wording.pages.common import DETAILS
from kubectl_koord.wording.pages.jobs import fit as sentences
from kubectl_koord.wording.pages.jobs import why as of_why
from kubectl_koord.wording.words import command


def blocks(report: FitReport, shown: Shown) -> list[Block]:
    """Return the page."""
    page: list[Block] = []
    if len(report.gangs) > 1:
        page += [Line(sentences.headline(report), "bold"), EmptyLine()]
    for gang in report.gangs:
        page += [*_gang(gang, shown), EmptyLine()]
    facts = sentences.facts(report.gangs[0]) if len(report.gangs) == 1 else ()
    return [*page[:-1], *warning_lines(report.warnings), EmptyLine(), basis_line(report.basis, facts)]


def _gang(gang: FitGang, shown: Shown) -> Iterator[Block]:
    style: Style = "warn" if gang.fits == "by-preemption" else VERDICT_STYLE[gang.verdict]
    yield Line(sentences.verdict(gang), style)
    yield from map(Line, sentences.remarks(gang))
    if gang.cause:
        yield Command(command("explain", gang.cause.code), label=DETAILS)
    if gang.domains:
        yield from (EmptyLine(), *why.slots(gang.domains, gang.desired_offer_slot, shown))
    if gang.placement:
        yield from (EmptyLine(), *by_node(gang.placement, gang.gang, shown))
    if gang.victims:
        yield from (EmptyLine(), Line(sentences.victims(gang), "bold"), *preempt.victims(gang.victims, shown))
    if gang.broken_gangs:
        yield from (EmptyLine(), *preempt.broken(gang.broken_gangs))
    yield from why.steps(gang, shown)
    yield from outcome_lines(of_why.outcomes(gang.alternatives), shown)
