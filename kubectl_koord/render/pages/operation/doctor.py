"""The page of `doctor`: the verdict, then each finding with its remedy, errors first."""

from collections.abc import Mapping

from kubectl_koord.render.document import Block, Command, EmptyLine, Line, Style
from kubectl_koord.render.lines import VERDICT_STYLE, basis_line
from kubectl_koord.reports.operation.doctor import DoctorReport, Severity
from kubectl_koord.wording.pages.operation import doctor as sentences

_STYLES: Mapping[Severity, Style] = {"error": "bad", "warning": "warn", "info": "dim"}


def blocks(report: DoctorReport) -> list[Block]:
    """Return the page; a sound cluster gets a line."""
    page: list[Block] = [Line(sentences.headline(report), VERDICT_STYLE[report.verdict])]
    if not report.findings:
        return page
    for finding in report.findings:
        page += [
            EmptyLine(),
            Line(sentences.title(finding), _STYLES[finding.severity]),
            Line(sentences.what(finding), indent=2),
            Line(sentences.remedy(finding), indent=2),
            *([Command(finding.command, indent=4)] if finding.command else []),
        ]
    return [*page, EmptyLine(), Line(sentences.EXPLAIN, "dim"), basis_line(report.basis)]
