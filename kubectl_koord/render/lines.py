"""Lines that several pages share."""

from collections.abc import Iterable, Sequence

from kubectl_koord.language import say
from kubectl_koord.render.document import Block, Bullet, Bullets, EmptyLine, Line, Style
from kubectl_koord.render.shown import Shown, parted
from kubectl_koord.reports.common import Basis, Notice, Verdict
from kubectl_koord.reports.jobs import SchedulerSays
from kubectl_koord.wording import words
from kubectl_koord.wording.words import OUTCOMES, SEMICOLON, age_at, count, more, name_within, sentence

_LONG = 300  # the text of a scheduler that is quoted on a screen

VERDICT_STYLE: dict[Verdict, Style] = {"yes": "good", "no": "bad", "unknown": "warn"}


def basis_line(basis: Basis, facts: Iterable[str] = ()) -> Line:
    """Return the last line: the facts counted, and whose behaviour the answer reproduces."""
    return Line(words.evaluated_as(basis, facts), "dim")


def warning_lines(warnings: Sequence[Notice]) -> list[Block]:
    """Return the warnings, a gap before them."""
    lines = [Line(words.warning(notice), "warn") for notice in warnings]
    return [EmptyLine(), *lines] if lines else []


def outcome_lines(outcomes: Sequence[str], shown: Shown) -> list[Block]:
    """Return the possible outcomes as points under their title, a gap before it; nothing where there are none."""
    if not outcomes:
        return []
    first, rest = parted(outcomes, shown.few)
    lines: list[Block] = [EmptyLine(), Line(OUTCOMES, "bold"), Bullets(tuple(map(Bullet, first)))]
    return [*lines, more_line(more(len(rest), "more outcome"))] if rest else lines


def more_line(sentence: str) -> Line:
    """Return the line below a table or list that says how much more there is."""
    return Line(sentence, "dim", indent=2)


def scheduler_line(says: SchedulerSays, moment: str, shown: Shown) -> Line:
    """Return what the scheduler wrote on the pods."""
    return Line(_last_said(says, moment, None if shown.lines is None else _LONG), "dim")


_HOLDS = {True: say("still true"), False: say("no longer true"), None: say("may be outdated")}


def _last_said(says: SchedulerSays, moment: str, longest: int | None) -> str:
    """Return what the scheduler wrote on the pods, how old it is, whether it still holds and when it tries again.

    Without an event only the first failure has a time: the message itself may be newer. Of a message that is not
    understood `longest` characters are quoted, None for all.
    """
    age = age_at(says.last_seen or says.since, moment)
    since = (
        (say("{age} ago", age=age) if says.last_seen else say("Within the last {age}", age=age))
        if age
        else say("Since {since}", since=says.since)
    )
    said = says.reads or say(
        'the scheduler reported ({holds}): "{shortened}"',
        holds=_HOLDS[says.agrees],
        shortened=_shortened(says.message, longest),
    )
    told = f"{since} {said}" if age or says.since else sentence(said)
    if not says.reads:
        return told
    now = say("now {now}", now=says.now) if says.now else ""
    return say("{told}.", told=SEMICOLON.join(filter(None, [told, now, says.retry])))


def _shortened(message: str, longest: int | None) -> str:
    if longest is None or len(message) <= longest:
        return message
    return say("{message}... (--all shows the rest)", message=message[:longest].rstrip())


def raw_lines(says: SchedulerSays, gang: str) -> list[Block]:
    """Return every text of the scheduler as it is, with the pods that carry it; nothing where none was asked for."""
    if not says.texts:
        return []
    lines: list[Block] = [EmptyLine(), Line(say("Scheduler messages"), "bold")]
    for each in says.texts:
        pods = [name_within(gang, pod) for pod in each.pods]
        lines.append(
            Line(say("on {pods} ({pods2}):", pods=count(len(pods), "pod"), pods2=say(", ").join(pods)), "dim", indent=2)
        )
        lines.append(Line(each.message, indent=4, quoted=True))
    return lines
