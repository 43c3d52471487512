"""The sentences of `doctor`."""

from collections import Counter
from collections.abc import Mapping

from kubectl_koord.reports.operation.doctor import DoctorReport, Finding, Severity
from kubectl_koord.wording.words import count, sentence

_NOUNS: Mapping[Severity, str] = {"error": "error", "warning": "warning", "info": "note"}
_HEADS: Mapping[Severity, str] = {"error": "Error", "warning": "Warning", "info": "Note"}
EXPLAIN = "More about a code: kubectl koord explain CODE"


def headline(report: DoctorReport) -> str:
    """Return how many findings there are of each severity."""
    if not report.findings:
        return f"No problems found: {count(report.nodes, 'node')} and {count(report.gangs, 'gang')} were checked."
    numbers = Counter(finding.severity for finding in report.findings)
    found = [count(numbers[severity], noun) for severity, noun in _NOUNS.items() if numbers[severity]]
    doubt = "; not everything could be checked" if report.verdict == "unknown" else ""
    return f"{', '.join(found)}{doubt}."


def title(finding: Finding) -> str:
    """Return what a finding is about."""
    return f"{_HEADS[finding.severity]}: {finding.object} ({finding.code})"


def what(finding: Finding) -> str:
    """Return what was found."""
    return sentence(finding.message)


def remedy(finding: Finding) -> str:
    """Return what to do."""
    return f"Remedy: {finding.remedy}"
