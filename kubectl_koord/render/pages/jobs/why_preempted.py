"""The page of `why-preempted`: the preemptors of pods, by which plugin, and whether it helped."""

from collections.abc import Iterator

from kubectl_koord.render.document import Block, Bullet, Bullets, Column, EmptyLine, Line, Row, Table, slim
from kubectl_koord.render.lines import VERDICT_STYLE, basis_line, more_line, warning_lines
from kubectl_koord.render.shown import Shown, parted
from kubectl_koord.reports.jobs.preempted import PreemptedPod, WhyPreemptedReport
from kubectl_koord.wording.ages import age_at
from kubectl_koord.wording.pages.common import NEXT_STEPS, more
from kubectl_koord.wording.pages.jobs import why_preempted as sentences
from kubectl_koord.wording.words import command, name_within

_COLUMNS = (
    Column("POD"),
    Column("NODE", goes=4),
    Column("PRIORITY", right=True, goes=3),
    Column("WHEN", right=True),
    Column("STATE"),
    Column("PREEMPTOR"),
    Column("PREEMPTOR PRIORITY", right=True, goes=2),
    Column("TRIGGER POD", goes=1),
)


def blocks(report: WhyPreemptedReport, shown: Shown) -> list[Block]:
    """Return the page."""
    page: list[Block] = [Line(sentences.headline(report), VERDICT_STYLE[report.verdict])]
    page += [Line(sentences.fate(each, report)) for each in report.preemptors]
    if report.pods:
        pods, rest = parted(report.pods, shown.lines)
        page += [EmptyLine(), slim(Table(_COLUMNS, tuple(_row(pod, report) for pod in pods)))]
        if rest:
            page.append(more_line(more(len(rest))))
        page += [EmptyLine(), *_evidence(report, shown)]
    steps = tuple(_next(report))
    page += [EmptyLine(), Line(NEXT_STEPS, "bold"), Bullets(steps)] if steps else []
    return [*page, *warning_lines(report.warnings), EmptyLine(), basis_line(report.basis)]


def _row(pod: PreemptedPod, report: WhyPreemptedReport) -> Row:
    cells = (
        name_within(report.asked, pod.pod),
        pod.node,
        "" if pod.priority is None else str(pod.priority),
        age_at(pod.when, report.basis.moment) or pod.when,
        pod.state,
        name_within(report.asked, pod.preemptor or ""),
        "" if pod.preemptor_priority is None else str(pod.preemptor_priority),
        name_within(report.asked, pod.trigger_pod or ""),
    )
    return Row(cells)


def _evidence(report: WhyPreemptedReport, shown: Shown) -> Iterator[Line]:
    """Yield each distinct text that the answer rests on, with the pods that carry it."""
    pods: dict[tuple[str, str], list[str]] = {}
    for pod in report.pods:
        for each in pod.evidence:
            pods.setdefault((each.source, each.text), []).append(name_within(report.asked, pod.pod))
    texts, rest = parted(list(pods.items()), shown.rows)
    for (source, text), names in texts:
        yield Line(sentences.evidence(source, names, text), "dim")
    if rest:
        yield Line(more(len(rest), "texts"), "dim")


def _next(report: WhyPreemptedReport) -> Iterator[Bullet]:
    for each in report.preemptors:
        if each.state in {"pending", "partly-placed"}:
            first = each.name.partition(",")[0]
            yield Bullet(sentences.check(name_within(report.asked, first)), command("why-pending", first))
    if report.preemptors and any(pod.plugin == "job-preemption" for pod in report.pods):
        yield Bullet(sentences.SPARED)
