"""The page of `fit`, and its sentences."""

from collections.abc import Iterator, Mapping

from kubectl_koord.language import say
from kubectl_koord.render.document import Block, Command, EmptyLine, Line, Style
from kubectl_koord.render.lines import VERDICT_STYLE, basis_line, outcome_lines, warning_lines
from kubectl_koord.render.pages import preempt, why
from kubectl_koord.render.pages.place import by_node
from kubectl_koord.render.pages.why import left_to_scoring, other_problems, requested, where
from kubectl_koord.render.shown import Shown
from kubectl_koord.reports.jobs import FitGang, FitReport, Fits
from kubectl_koord.wording.words import COMMA, DETAILS, command, count, layer_noun

_TOTALS: Mapping[Fits, tuple[str, str]] = {
    "now": (say("fits now"), say("fit now")),
    "by-preemption": (say("fits only by preemption"), say("fit only by preemption")),
    "not-now": (say("does not fit now"), say("do not fit now")),
    "never": (say("never fits"), say("never fit")),
    "unknown": (say("unknown"), say("unknown")),
}
"""What one gang does, and what several do."""


def headline(report: FitReport) -> str:
    """Return how many gangs fit, of several; with pods in none among them they are workloads."""
    number = {state: sum(gang.fits == state for gang in report.gangs) for state in _TOTALS}
    parts = [
        say("{number} {what}", number=number[state], what=words[number[state] > 1])
        for state, words in _TOTALS.items()
        if number[state]
    ]
    noun = "workload" if any(gang.alone for gang in report.gangs) else "gang"
    return say("{nouns}: {parts}.", nouns=count(len(report.gangs), noun), parts=COMMA.join(parts))


def verdict(gang: FitGang) -> str:
    """Return in one sentence whether a gang fits."""
    reason = gang.cause.message if gang.cause is not None else ""
    match gang.fits:
        case "now":
            if gang.placement:
                return say("{gang} fits now: {where}.", gang=gang.gang, where=where(gang.placement))
            return say(
                "{gang} fits now ({pods}); {left_to_scoring}.",
                gang=gang.gang,
                pods=count(gang.pods, "pod"),
                left_to_scoring=left_to_scoring(gang.pods),
            )
        case "by-preemption":
            return say(
                "{gang} fits only by preempting {pods}: {reason}",
                gang=gang.gang,
                pods=count(len(gang.victims), "pod"),
                reason=reason,
            )
        case "not-now":
            return say("{gang} does not fit now: {reason}", gang=gang.gang, reason=reason)
        case "never":
            return say("{gang} never fits: {reason}", gang=gang.gang, reason=reason)
        case _:
            several = say("{outcomes} are possible.", outcomes=count(len(gang.alternatives), "outcome"))
            return say("Cannot tell whether {gang} fits: {reason}", gang=gang.gang, reason=reason or several)


def remarks(gang: FitGang) -> Iterator[str]:
    """Yield what is to be read below the verdict."""
    if gang.other_scheduler:
        yield say(
            "As if koord-scheduler placed all of its pods, also those with schedulerName {other_scheduler}.",
            other_scheduler=gang.other_scheduler,
        )
    if gang.alone and gang.pods > 1:
        yield say("Its pods are in no gang: the scheduler places each alone.")
    others = [name for name in gang.gang_group if name != gang.gang]
    if others:
        yield say("It starts only together with {others} (same gang group).", others=say(", ").join(others))
    if gang.also:
        yield other_problems(gang.also)
    if gang.how_many is not None:
        yield _how_many(gang, gang.how_many)


def _how_many(gang: FitGang, number: int) -> str:
    least = say("{number} or more", number=number) if number == gang.counted_to else str(number or say("No"))
    noun = say("gang") if not gang.alone else say("pod") if gang.pods == 1 else say("workload")
    fits = say("{noun}s fit", noun=noun) if number > 1 else say("{noun} fits", noun=noun)
    more = say(" or more") if gang.largest == gang.largest_counted_to else ""
    size = say("; the largest has {pods}{more}", pods=count(gang.largest, "pod"), more=more) if gang.largest else ""
    return say("{least} such {fits}{size}.", least=least, fits=fits, size=size)


def victims(gang: FitGang) -> str:
    """Return the title of the pods that it would preempt."""
    return say("The scheduler would preempt {pods}, and then run it", pods=count(len(gang.victims), "pod"))


def fit_facts(gang: FitGang) -> Iterator[str]:
    """Yield what was asked for, to stand in the last line."""
    yield requested(gang.shapes)
    if gang.must_gather:
        yield say(
            "MustGather {must_gather} (all pods in one {must_gather2})",
            must_gather=gang.must_gather,
            must_gather2=layer_noun(gang.must_gather),
        )


def blocks(report: FitReport, shown: Shown) -> list[Block]:
    """Return the page."""
    page: list[Block] = []
    if len(report.gangs) > 1:
        page += [Line(headline(report), "bold"), EmptyLine()]
    for gang in report.gangs:
        page += [*_gang(gang, shown), EmptyLine()]
    facts = fit_facts(report.gangs[0]) if len(report.gangs) == 1 else ()
    return [*page[:-1], *warning_lines(report.warnings), EmptyLine(), basis_line(report.basis, facts)]


def _gang(gang: FitGang, shown: Shown) -> Iterator[Block]:
    style: Style = "warn" if gang.fits == "by-preemption" else VERDICT_STYLE[gang.verdict]
    yield Line(verdict(gang), style)
    yield from map(Line, remarks(gang))
    if gang.cause:
        yield Command(command("explain", gang.cause.code), label=DETAILS)
    yield from why.steps(gang, shown)
    if gang.domains:
        yield from (EmptyLine(), *why.slots(gang.domains, gang.desired_offer_slot, shown))
    if gang.placement:
        yield from (EmptyLine(), *by_node(gang.placement, gang.gang, shown))
    if gang.victims:
        yield from (EmptyLine(), Line(victims(gang), "bold"), *preempt.victims(gang.victims, shown))
    if gang.broken_gangs:
        yield from (EmptyLine(), *preempt.broken(gang.broken_gangs))
    yield from outcome_lines(why.outcomes(gang.alternatives), shown)
