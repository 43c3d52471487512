"""The pages of `diff`, `doctor` and `snapshot`, and their sentences."""

from collections import Counter
from collections.abc import Mapping, Sequence

from kubectl_koord.language import say
from kubectl_koord.model.snapshot import Gap
from kubectl_koord.render.document import USUAL, Block, Column, Columns, Command, EmptyLine, Line, Row, Style, Table
from kubectl_koord.render.lines import VERDICT_STYLE, basis_line, more_line, warning_lines
from kubectl_koord.render.shown import Shown, parted
from kubectl_koord.reports.operation import (
    DiffReport,
    DoctorReport,
    DomainDiff,
    Finding,
    NodeChange,
    NodeDiff,
    PodChange,
    PodDiff,
    Severity,
)
from kubectl_koord.wording.words import COMMA, amount_of, count, domain_name, each_command, more, noted, sentence, unit

SLOTS = say("SLOTS: how many of the pods fit, each node by itself, as if nothing else waited.")
_NODES: Mapping[NodeChange, str] = {
    "came": say("came"),
    "went": say("went"),
    "cordoned": say("cordoned"),
    "uncordoned": say("uncordoned"),
    "not-ready": say("not ready"),
    "ready": say("ready again"),
    "allocatable": say("allocatable changed"),
    "labels": say("labels changed"),
    "taints": say("taints changed"),
}
_PODS: Mapping[PodChange, str] = {"came": say("came"), "went": say("went"), "moved": say("moved")}


def diff_headline(report: DiffReport) -> str:
    """Return how much differs."""
    parts = [count(len(report.domains), "domain"), count(len(report.nodes), "node"), count(len(report.placed), "pod")]
    if not (report.domains or report.nodes or report.placed):
        return say("Nothing differs.") if not report.message else say("Nothing differs in what could be read.")
    return say("{parts}, {parts2} and {parts3} differ.", parts=parts[0], parts2=parts[1], parts3=parts[2])


def sums(report: DiffReport) -> tuple[str, ...]:
    """Return what the cluster as a whole lost or gained, and the domain that did most."""
    whole = next((one for one in report.domains if not one.name), None)
    first = next((one for one in report.domains if one.name), None)
    return tuple(
        say("{where}: {before_and_now}.", where=where, before_and_now=_before_and_now(report, one))
        for where, one in ((say("In all"), whole), (say("Most in {name}", name=first.name) if first else "", first))
        if one is not None
    )


def _before_and_now(report: DiffReport, one: DomainDiff) -> str:
    if one.slots_before != one.slots_after:
        return say(
            "{slots_before} slots for {asked} before, {slots_after} now",
            slots_before=one.slots_before or 0,
            asked=report.asked,
            slots_after=one.slots_after or 0,
        )
    before, after = (amount_of(report.resource, number or 0, "rounded") for number in (one.free_before, one.free_after))
    return say("{before} {unit} free before, {after} now", before=before, unit=unit(report.resource), after=after)


def between(report: DiffReport) -> str:
    """Return which moments are compared."""
    return say(
        "From {moment} ({source}) to {moment2} ({source2}).",
        moment=report.before.moment,
        source=report.before.source,
        moment2=report.basis.moment,
        source2=report.basis.source,
    )


def unread(message: str) -> str:
    """Return that something could not be read."""
    return say("Unknown: {message}.", message=message)


def changed(node: NodeDiff) -> str:
    """Return how a node has changed."""
    return COMMA.join(_NODES[one] for one in node.changes)


def change(pod: PodDiff) -> str:
    """Return what became of a pod."""
    return _PODS[pod.change]


def signed(resource: str, number: int) -> str:
    """Return a difference with its sign: `+8`."""
    text = amount_of(resource, abs(number), "rounded")
    return f"{'-' if number < 0 else '+'}{text}" if number else "0"


def diff_shown(resource: str, number: int | None) -> str:
    """Return an amount, a dash where there was none."""
    return "-" if number is None else amount_of(resource, number, "rounded")


def slots(number: int | None) -> str:
    """Return how many slots, a dash where there was no such domain."""
    return "-" if number is None else str(number)


def diff_blocks(report: DiffReport, shown: Shown, _columns: Columns = USUAL) -> list[Block]:
    """Return the page."""
    lines = [Line(diff_headline(report), "bold")]
    lines += [Line(text) for text in (*sums(report), between(report))]
    lines += [Line(unread(report.message), VERDICT_STYLE["unknown"])] if report.message else []
    page: list[Block] = [*lines, *_domains(report, shown), *_nodes(report, shown), *_pods(report, shown)]
    page += [EmptyLine(), Line(SLOTS, "dim")] if report.asked and report.domains else []
    return [*page, *warning_lines(report.warnings), EmptyLine(), basis_line(report.basis)]


def _domains(report: DiffReport, shown: Shown) -> list[Block]:
    counted = unit(report.resource)
    columns = [
        Column("LAYER"),
        Column("DOMAIN"),
        Column(say("{counted} FREE", counted=counted), right=True),
        Column("NOW", right=True),
    ]
    columns += [Column("SLOTS", right=True), Column("NOW", right=True)] if report.asked else []

    def row(one: DomainDiff) -> Row:
        free = (diff_shown(report.resource, number) for number in (one.free_before, one.free_after))
        fits = map(slots, (one.slots_before, one.slots_after) if report.asked else ())
        return Row((one.layer, domain_name(one.name), *free, *fits))

    first, rest = parted(report.domains, shown.lines)
    return _table(columns, [row(one) for one in first], len(rest))


def _nodes(report: DiffReport, shown: Shown) -> list[Block]:
    counted = "SLOTS" if report.asked else unit(report.resource)
    columns = (Column("NODE"), Column(counted, right=True), Column("CHANGED", flow="wrap"))

    def row(one: NodeDiff) -> Row:
        number = f"{one.difference:+d}" if report.asked else signed(report.resource, one.difference)
        return Row((one.node, number, changed(one)))

    first, rest = parted(report.nodes, shown.lines)
    return _table(columns, [row(one) for one in first], len(rest))


def _pods(report: DiffReport, shown: Shown) -> list[Block]:
    columns = (Column("POD"), Column(unit(report.resource), right=True), Column("CHANGE"), Column("FROM"), Column("TO"))

    def row(one: PodDiff) -> Row:
        amount = diff_shown(report.resource, one.amount)
        return Row((one.pod, amount, change(one), one.node_before or "", one.node_after or ""))

    first, rest = parted(report.placed, shown.lines)
    return _table(columns, [row(one) for one in first], len(rest))


def _table(columns: Sequence[Column], rows: Sequence[Row], rest: int) -> list[Block]:
    if not rows:
        return []
    found: list[Block] = [EmptyLine(), Table(tuple(columns), tuple(rows), indent=0)]
    return [*found, more_line(more(rest))] if rest else found


_NOUNS: Mapping[Severity, str] = {"error": "error", "warning": "warning", "info": "note"}
_HEADS: Mapping[Severity, str] = {"error": say("Error"), "warning": say("Warning"), "info": say("Note")}
EXPLAIN = say("More about a code: kubectl koord explain CODE")


def headline(report: DoctorReport) -> str:
    """Return how many findings there are of each severity."""
    if not report.findings:
        return say(
            "No problems found: {nodes} and {gangs} were checked.",
            nodes=count(report.nodes, "node"),
            gangs=count(report.gangs, "gang"),
        )
    numbers = Counter(finding.severity for finding in report.findings)
    found = [count(numbers[severity], noun) for severity, noun in _NOUNS.items() if numbers[severity]]
    doubt = say("; not everything could be checked") if report.verdict == "unknown" else ""
    return say("{found}{doubt}.", found=COMMA.join(found), doubt=doubt)


def title(finding: Finding) -> str:
    """Return what a finding is about."""
    head = say("{head}: {object}", head=_HEADS[finding.severity], object=finding.object)
    return noted(head, finding.code)


def what(finding: Finding) -> str:
    """Return what was found."""
    return sentence(finding.message)


def remedy(finding: Finding) -> str:
    """Return what to do."""
    return say("Remedy: {remedy}", remedy=finding.remedy)


_STYLES: Mapping[Severity, Style] = {"error": "bad", "warning": "warn", "info": "dim"}


def doctor_blocks(report: DoctorReport) -> list[Block]:
    """Return the page; a sound cluster gets a line."""
    page: list[Block] = [Line(headline(report), VERDICT_STYLE[report.verdict])]
    if not report.findings:
        return page
    for finding in report.findings:
        page += [
            EmptyLine(),
            Line(title(finding), _STYLES[finding.severity]),
            Line(what(finding), indent=2),
            Line(remedy(finding), indent=2),
            *(Command(one, indent=4) for one in each_command(finding.command)),
        ]
    return [*page, EmptyLine(), Line(EXPLAIN, "dim"), basis_line(report.basis)]


ANONYMOUS = say(
    "Names are replaced by others, in the same order; numbers, hardware, resources and their amounts are not."
)
NAMED = say("It holds names of nodes, namespaces, pods and whatever they refer to; --anonymize replaces them.")
NOT_HELD = say("It holds no environment, arguments, Secrets, or labels and annotations that no answer rests on.")


def wrote(file: str, objects: int, size: int) -> str:
    """Return where to, how many objects and how much was written."""
    return say(
        "Wrote {file}: {objects}, {kilobytes}.",
        file=file or say("to standard output"),
        objects=count(objects, "object"),
        kilobytes=kilobytes(size),
    )


def kilobytes(size: int) -> str:
    """Return a size, rounded up: `3 kB`."""
    return say("{part:,} kB", part=-(-size // 1000))


def not_read(gap: Gap) -> str:
    """Return that a kind could not be read, and why."""
    return say("Not in it: {kind} ({message}).", kind=gap.kind, message=gap.message)


def how_to_read(file: str) -> str:
    """Return how to read it again."""
    return say("Read it with: kubectl koord why-pending --snapshot {file}", file=file)


def snapshot_blocks(
    file: str, packed: int, objects: Mapping[str, tuple[int, int]], unread: Sequence[Gap], *, anonymized: bool
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
    rows = (Row((kind, str(number), kilobytes(size))) for kind, (number, size) in ordered)
    page: list[Block] = [
        Line(wrote(file, sum(number for number, _ in objects.values()), packed)),
        EmptyLine(),
        Table(columns, tuple(rows), indent=0),
        EmptyLine(),
        Line(NOT_HELD),
        Line(ANONYMOUS if anonymized else NAMED),
        *(Line(not_read(gap)) for gap in unread if gap.code != "not-in-input"),
    ]
    return [*page, EmptyLine(), Line(how_to_read(file))] if file else page
