"""A comparison as a report: who was asked, what could not be seen, and whether all that differs is explained."""

from collections.abc import Iterable

from msgspec import structs

from kubectl_koord.diagnosis import coverage, visibility
from kubectl_koord.diagnosis.visibility import About
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.common import Verdict
from kubectl_koord.reports.operation.scheduler import Compared, Difference, Field, Part, SchedulerReport
from kubectl_koord.wording.answers import scheduler_view as sentences
from kubectl_koord.wording.basis import could_not_be_read


def report(snapshot: Snapshot, part: Part, asked: str, about: About, items: Iterable[Compared]) -> SchedulerReport:
    """Return the report; where objects that it rests on could not be read, what the scheduler says stands alone.

    Args:
        snapshot: the objects.
        part: what was asked for.
        asked: who answered.
        about: which kinds ours rests on.
        items: what was compared.

    """
    unread = visibility.unread(snapshot, about)
    compared = tuple(map(_alone, items) if unread else items)
    return SchedulerReport(
        verdict="unknown" if unread else _verdict(compared),
        basis=coverage.basis(snapshot),
        warnings=coverage.general(snapshot),
        part=part,
        asked=asked,
        items=compared,
        message=could_not_be_read(unread) if unread else "",
    )


def routes(snapshot: Snapshot, paths: tuple[str, ...], asked: str) -> SchedulerReport:
    """Return the paths that the scheduler answers; nothing is compared."""
    return SchedulerReport("yes", coverage.basis(snapshot), (), "services", asked, (), routes=paths)


def unexplained(fields: Iterable[Field], explained: Iterable[str]) -> tuple[Difference, ...]:
    """Return one difference for the fields that differ and have no other explanation."""
    known = set(explained)
    left = [field.field for field in fields if not field.agrees and field.field not in known]
    return (Difference("unexplained", sentences.unexplained(left)),) if left else ()


def only_here(name: str) -> Compared:
    """Return what the scheduler does not know."""
    return Compared(name, (), (Difference("not-known", sentences.not_known()),))


def only_there(name: str, fields: Iterable[Field]) -> Compared:
    """Return what the scheduler alone knows."""
    alone = tuple(structs.replace(field, ours=None) for field in fields)
    return Compared(name, alone, (Difference("gone-but-known", sentences.gone_but_known()),))


def _alone(item: Compared) -> Compared:
    return Compared(item.name, tuple(structs.replace(field, ours=None) for field in item.fields))


def _verdict(items: Iterable[Compared]) -> Verdict:
    codes = {difference.code for item in items for difference in item.differences}
    return "no" if "unexplained" in codes else "yes"
