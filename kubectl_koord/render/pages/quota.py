"""The page of `quota`, and its sentences."""

from collections.abc import Iterator, Mapping

from kubectl_koord.language import say
from kubectl_koord.model import values
from kubectl_koord.render.document import Block, Column, EmptyLine, Line, Row, Style, Table, TreeTable, slim
from kubectl_koord.render.lines import VERDICT_STYLE, basis_line, more_line, warning_lines
from kubectl_koord.render.shown import Shown, parted
from kubectl_koord.reports.capacity import Eviction, Headroom, QuotaFinding, QuotaPod, QuotaRow, QuotaTreeReport, Share
from kubectl_koord.wording.facts import amounts_as_counted, held_back, more_quotas
from kubectl_koord.wording.words import COMMA, amount_of, and_more, count, listed, more, resource_name, unit

FINDINGS = say("Findings")
HEADROOM = say("Room for more pods like its first, from its quota upwards")
NOT_CHECKED = say("not checked, but limits those below")
_SEVERITIES = {"error": say("error"), "warning": say("warning"), "info": say("info")}


def counted(report: QuotaTreeReport) -> str:
    """Return what the tree counts, and which other resources quotas have."""
    others = sorted({name for quota in report.quotas for name in quota.max if not quota.built_in} - {report.resource})
    more = say(" (--resource counts another: {others})", others=say(", ").join(others)) if others else ""
    return say("Counted: {resource_name}{more}.", resource_name=resource_name(report.resource), more=more)


def finding(one: QuotaFinding) -> str:
    """Return what is wrong with a quota, and what to do."""
    return say(
        "{severity}: {object}: {message} {remedy} ({code})",
        severity=_SEVERITIES[one.severity],
        object=one.object,
        message=one.message,
        remedy=one.remedy,
        code=one.code,
    )


def evicts(one: Eviction, *, on: bool) -> str:
    """Return which pods of a quota the over-use controller evicts, or would."""
    what = say(
        "{quota} uses more than its runtime ({resource_name})",
        quota=one.quota,
        resource_name=listed([resource_name(name) for name in one.resources]),
    )
    if not one.pods:
        return say("{what}: it has no pods of its own that may be evicted.", what=what)
    when = say("evicted if that lasts") if on else say("would be evicted if the controller was on")
    return say("{what}; {when}: {pod}.", what=what, when=when, pod=listed([pod.pod for pod in one.pods]))


def notes(quota: QuotaRow) -> str:
    """Return what is special about a quota, in a few words."""
    found = [say("tree {tree}", tree=quota.tree)] if quota.tree and quota.depth == 1 else []
    found += [say("does not lend")] if not quota.lends and not quota.built_in else []
    found += [quota.fault] if quota.fault else []
    return COMMA.join(found)


_TREE = (
    Column("QUOTA"),
    Column("MIN", right=True),
    Column("USED", right=True),
    Column("RUNTIME", right=True),
    Column("MAX", right=True),
    Column("REQUEST", right=True, goes=4),
    Column("WEIGHT", right=True, goes=1),
    Column("LENT", right=True, goes=3),
    Column("BORROWED", right=True, goes=3),
    Column("NOTES", goes=2),
)
_OF_ONE = (
    Column("RESOURCE"),
    Column("MIN", right=True),
    Column("USED", right=True),
    Column("RUNTIME", right=True),
    Column("MAX", right=True),
    Column("REQUEST", right=True),
    Column("WEIGHT", right=True, goes=1),
    Column("LENT", right=True, goes=2),
    Column("BORROWED", right=True, goes=2),
)
_PODS = (
    Column("POD"),
    Column("REQUESTS"),
    Column("PRIORITY", right=True, goes=2),
    Column("NODE", goes=1),
    Column("LACKS", flow="wrap"),
)
_LEVELS = (
    Column("QUOTA"),
    Column("RESOURCE"),
    Column("USED", right=True),
    Column("LIMIT", right=True),
    Column("ROOM FOR PODS", right=True),
    Column("NOTES", goes=1),
)
_STYLES: Mapping[str, Style] = {"error": "bad", "warning": "warn", "info": "dim"}


def blocks(report: QuotaTreeReport, shown: Shown) -> list[Block]:
    """Return the page."""
    style = VERDICT_STYLE["unknown"] if report.verdict == "unknown" else "bold"
    page: list[Block] = [Line(report.message, style)]
    held, rest = parted(report.held_back, shown.few)
    page += [Line(held_back(one), "bad") for one in held]
    page += [more_line(more_quotas(len(rest)))] if rest else []
    if report.headroom is not None:
        page += [EmptyLine(), *_headroom(report.headroom)]
    if report.asked or not all(quota.built_in for quota in report.quotas):
        page += [EmptyLine(), *_tree(report, shown)]
    asked = next((quota for quota in report.quotas if quota.name == report.asked), None)
    if asked is not None:
        page += [EmptyLine(), slim(Table(_OF_ONE, tuple(_of_one(asked)), indent=0))]
    page += _lending(report, shown)
    if report.pods:
        page += [EmptyLine(), *_pods(report.pods, shown)]
    if report.findings:
        page += [EmptyLine(), *_findings(report, shown)]
    if report.over_use is not None:
        page += [EmptyLine(), Line(report.over_use.message, "warn" if report.over_use.on else "dim")]
        page += [Line(evicts(one, on=report.over_use.on), "warn") for one in report.over_use.evicts]
    return [*page, *warning_lines(report.warnings), EmptyLine(), basis_line(report.basis)]


def _headroom(headroom: Headroom) -> Iterator[Block]:
    style = VERDICT_STYLE["unknown" if headroom.admits is None else "yes" if headroom.admits == headroom.pods else "no"]
    yield Line(headroom.message, style)
    if headroom.chain:
        rows = tuple(
            Row(
                (
                    level.quota,
                    resource_name(level.resource) if level.resource else "",
                    _counted(level.resource, level.used) if level.resource else "",
                    _counted(level.resource, level.limit) if level.resource else "",
                    "" if level.members is None else str(level.members),
                    "" if level.checked else NOT_CHECKED,
                )
            )
            for level in headroom.chain
        )
        yield Line(HEADROOM)
        yield slim(Table(_LEVELS, rows))


def _counted(resource: str, written: str) -> str:
    """Return an amount that is spelled as a quantity as people count it, and anything else as it is."""
    try:
        number = values.amount(resource, values.parse(written))
    except values.QuantityError:
        return written
    return amount_of(resource, number, "rounded")


def _tree(report: QuotaTreeReport, shown: Shown) -> Iterator[Block]:
    rows = [quota for quota in report.quotas if not quota.built_in or quota.depth == 0 or quota.used or quota.request]
    first, rest = parted(rows, shown.lines)
    yield Line(counted(report), "dim")
    yield slim(TreeTable(_TREE, tuple(_quota(quota, report) for quota in first)))
    if rest:
        yield more_line(more_quotas(len(rest)))


def _quota(quota: QuotaRow, report: QuotaTreeReport) -> Row:
    resource = report.resource
    most = quota.max if not quota.built_in else quota.total or {}
    held = any(one.quota == quota.name for one in report.held_back)
    cells = (
        quota.name,
        _cell(quota.min, resource),
        _cell(quota.used, resource),
        _cell(quota.runtime, resource),
        _cell(most, resource),
        _cell(quota.request, resource),
        _cell(quota.shared_weight, resource) if not quota.built_in else "",
        _share(quota.lent, resource),
        _share(quota.borrowed, resource),
        notes(quota),
    )
    return Row(cells, "bad" if held or quota.fault else "dim" if quota.built_in else "", depth=quota.depth)


def _of_one(quota: QuotaRow) -> Iterator[Row]:
    for resource in sorted({*quota.max, *quota.min, *(quota.request or ())}):
        yield Row(
            (
                resource_name(resource),
                _cell(quota.min, resource),
                _cell(quota.used, resource),
                _cell(quota.runtime, resource),
                _cell(quota.max, resource) if not quota.built_in else "",
                _cell(quota.request, resource),
                _cell(quota.shared_weight, resource) if not quota.built_in else "",
                _share(quota.lent, resource),
                _share(quota.borrowed, resource),
            )
        )


def _cell(amounts: Mapping[str, str] | None, resource: str) -> str:
    return _counted(resource, amounts[resource]) if amounts and resource in amounts else ""


def _share(shares: tuple[Share, ...], resource: str) -> str:
    found = next((share for share in shares if share.resource == resource), None)
    return "" if found is None else ("" if found.exact else "<= ") + _counted(resource, found.amount)


def _lending(report: QuotaTreeReport, shown: Shown) -> Iterator[Block]:
    """Yield who lends to whom, of the resource that is counted, or of every one of the quota that was asked for."""
    said = [
        _lent(quota.name, share)
        for quota in report.quotas
        for share in quota.lent
        if (quota.name == report.asked if report.asked else share.resource == report.resource)
    ]
    said += [
        _borrowed(quota.name, share)
        for quota in report.quotas
        for share in quota.borrowed
        if quota.name == report.asked
    ]
    first, rest = parted(said, shown.few)
    if first:
        yield EmptyLine()
    yield from map(Line, first)
    if rest:
        yield more_line(more(len(rest)))


def _borrowed(quota: str, share: Share) -> str:
    """Return what a quota uses above its minimum, and from whose minimums that may come."""
    part = (
        say("up to {spelled_amount} of it ", spelled_amount=_spelled_amount(share.resource, share.of_it))
        if share.of_it
        else ""
    )
    of = say(" ({part}from {quotas})", part=part, quotas=listed(share.quotas)) if share.quotas else ""
    return say(
        "{quota} uses {spelled_amount} above its minimum{of}.",
        quota=quota,
        spelled_amount=_spelled_amount(share.resource, share.amount),
        of=of,
    )


def _spelled_amount(resource: str, written: str) -> str:
    return f"{amounts_as_counted(resource, [written])[0]} {resource_name(resource)}"


def _lent(quota: str, share: Share) -> str:
    limit = "" if share.exact else say("up to ")
    return say(
        "{quota} lends {limit}{spelled_amount} to {quotas}.",
        quota=quota,
        limit=limit,
        spelled_amount=_spelled_amount(share.resource, share.amount),
        quotas=listed(share.quotas),
    )


def _pods(pods: tuple[QuotaPod, ...], shown: Shown) -> Iterator[Block]:
    ordered = sorted(pods, key=lambda pod: not pod.lacks)
    first, rest = parted(ordered, shown.rows)
    rows = tuple(
        Row(
            (
                pod.pod,
                ", ".join(f"{_counted(name, amount)} {unit(name)}" for name, amount in pod.requests.items()),
                str(pod.priority),
                pod.node,
                pod.lacks,
            ),
            "bad" if pod.lacks else "",
        )
        for pod in first
    )
    yield slim(Table(_PODS, rows, indent=0))
    if rest:
        yield more_line(more(len(rest), "more pod"))


def _findings(report: QuotaTreeReport, shown: Shown) -> Iterator[Block]:
    first, rest = parted(report.findings, shown.few)
    yield Line(FINDINGS, "bold")
    yield from (Line(finding(one), _STYLES[one.severity], indent=2) for one in first)
    if rest:
        yield more_line(and_more(count(len(rest), "more finding")))
