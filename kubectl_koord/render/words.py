"""Small wordings that several pages share."""

from collections.abc import Iterable, Sequence

from kubectl_koord.model.moments import between
from kubectl_koord.render.document import Block, Gap, Line, Style
from kubectl_koord.render.shown import Shown
from kubectl_koord.reports.common import Basis, Notice, Verdict
from kubectl_koord.reports.pending import SchedulerSays
from kubectl_koord.wording.ages import spelled
from kubectl_koord.wording.words import amount_of, count, paste, unit

_LONG = 300  # the text of a scheduler that is quoted on a screen

VERDICT_STYLE: dict[Verdict, Style] = {"yes": "good", "no": "bad", "unknown": "warn"}

_UNITS = (("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10))


def domain_word(name: str) -> str:
    """Return the name of a domain; the one above all others has none."""
    return name or "cluster"


def local(name: str, home: str) -> str:
    """Return `namespace/name` without the namespace where it is that of `home`."""
    namespace, slash, _ = home.partition("/")
    return name.removeprefix(namespace + slash) if slash else name


def amount(resource: str, number: int) -> str:
    """Return an amount of the resource for people: CPUs instead of milli-CPU, cards instead of shares, GiB."""
    if unit(resource) == "GPU":
        return amount_of(resource, number)
    if resource == "cpu":
        return f"{number / 1000:.2f}".rstrip("0").rstrip(".")
    if resource in {"memory", "ephemeral-storage"} or resource.startswith("hugepages-"):
        for suffix, size in _UNITS:
            if abs(number) >= size:
                return f"{number / size:.1f}".removesuffix(".0") + suffix
    return str(number)


def age_at(since: str, moment: str) -> str:
    """Return how long before `moment` the other moment was, empty when one of them is no time."""
    gone = between(since, moment)
    return "" if gone is None else spelled(gone)


def command(*words: str) -> str:
    """Return a command line of this plugin that may be pasted, whatever the names are."""
    return paste("kubectl", "koord", *words)


def basis_line(basis: Basis, facts: Iterable[str] = ()) -> Line:
    """Return the last line: the facts counted, and whose behaviour the answer reproduces."""
    by = f"Evaluated as Koordinator {basis.koordinator_version} ({basis.version_from})"
    return Line(". ".join(filter(None, ["; ".join(filter(None, facts)), by])), "dim")


def warning_lines(warnings: Sequence[Notice]) -> list[Block]:
    """Return the warnings, a gap before them."""
    lines = [Line(f"Warning: {notice.message} ({notice.code})", "warn") for notice in warnings]
    return [Gap(), *lines] if lines else []


def scheduler_line(says: SchedulerSays, moment: str, shown: Shown) -> Line:
    """Return what the scheduler wrote on the pods, how old it is, whether it still holds and when it tries again.

    Without an event only the first failure has a time: the words themselves may be newer.
    """
    gone = age_at(says.last_seen or says.since, moment)
    since = (f"{gone} ago" if says.last_seen else f"Within the last {gone}") if gone else f"Since {says.since}"
    if not says.reads:
        holds = {True: "still true", False: "no longer true", None: "may be outdated"}
        return Line(
            f'{since} the scheduler reported ({holds[says.agrees]}): "{_shortened(says.message, shown)}"', "dim"
        )
    now = f"now {says.now}" if says.now else ""
    return Line("; ".join(filter(None, [f"{since} {says.reads}", now, says.retry])) + ".", "dim")


def raw_lines(says: SchedulerSays, home: str) -> list[Block]:
    """Return every text of the scheduler as it is, with the pods that carry it; nothing where none was asked for."""
    if not says.texts:
        return []
    lines: list[Block] = [Gap(), Line("Scheduler messages", "bold")]
    for each in says.texts:
        pods = ", ".join(local(pod, home) for pod in each.pods)
        lines.append(Line(f"on {count(len(each.pods), 'pod')} ({pods}):", "dim", indent=2))
        lines.append(Line(each.message, indent=4, quoted=True))
    return lines


def _shortened(message: str, shown: Shown) -> str:
    if shown.lines is None or len(message) <= _LONG:
        return message
    return f"{message[:_LONG].rstrip()}... (--all shows the rest)"
