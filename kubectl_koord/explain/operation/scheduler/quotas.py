"""The quotas as the scheduler counts them, beside ours."""

from collections.abc import Iterator, Mapping

from kubectl_koord.explain.capacity.quota import quotas as computed
from kubectl_koord.explain.operation.scheduler.comparison import only_here, only_there, report, unexplained
from kubectl_koord.explain.operation.scheduler.pods import amounts_field
from kubectl_koord.model.quotas import ROOT
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.summaries import QuotaSummary
from kubectl_koord.model.values import quantity
from kubectl_koord.model.values.quantity import Resources
from kubectl_koord.reports.capacity.quota import QuotaRow, Spelled
from kubectl_koord.reports.operation.scheduler import Compared, Difference, Field, SchedulerReport
from kubectl_koord.wording.answers import scheduler_view as sentences


def quotas(snapshot: Snapshot, found: Mapping[str, QuotaSummary], asked: str, name: str = "") -> SchedulerReport:
    """Return every quota that the scheduler or the objects know, or the named one."""
    ours = {row.name: row for row in computed(snapshot).quotas if row.name != ROOT}
    keys = [name] if name else sorted({*found, *ours})
    items = (_compared(key, found.get(key), ours.get(key)) for key in keys)
    return report(snapshot, "quotas", asked, "quotas", items)


def _compared(name: str, theirs: QuotaSummary | None, row: QuotaRow | None) -> Compared:
    if theirs is None:
        return only_here(name)
    if row is None:
        return only_there(name, _fields(theirs, None))
    fields = tuple(_fields(theirs, row))
    explained = tuple(_explained(theirs, row, fields))
    accounted = [name for one in explained for name in ("runtime" if one.code == "runtime-lag" else "used",)]
    return Compared(name, fields, (*explained, *unexplained(fields, accounted)))


def _fields(theirs: QuotaSummary, row: QuotaRow | None) -> Iterator[Field]:
    ours: dict[str, Spelled | None] = {}
    if row is not None:
        limits = {} if row.built_in else {"min": row.min, "max": row.max, "runtime": row.runtime}
        ours = {**limits, "used": row.used, "request": row.request}
    for name, amounts in theirs.amounts.items():
        own = ours.get(name)
        yield amounts_field(name, amounts, None if own is None else _parsed(own))


def _explained(theirs: QuotaSummary, row: QuotaRow, fields: tuple[Field, ...]) -> Iterator[Difference]:
    differ = {field.field for field in fields if not field.agrees}
    if "used" in differ:
        more, ours = dict(theirs.amounts["used"]), dict(_parsed(row.used or {}))
        if all(more.get(resource, 0) >= number for resource, number in ours.items()):
            yield Difference("assumed-pods", sentences.assumed_amounts())
    if "runtime" in differ:
        yield Difference("runtime-lag", sentences.runtime_lag())


def _parsed(amounts: Spelled) -> Resources:
    return tuple((name, quantity.amount(name, quantity.parse(text))) for name, text in amounts.items())
