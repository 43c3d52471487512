"""The lines of `version`."""

from kubectl_koord.reports.explanation import VersionReport
from kubectl_koord.wording.words import listed


def version_lines(report: VersionReport) -> tuple[str, str]:
    """Return which plugin this is, and whose decisions it reproduces."""
    versions = listed(report.evaluates)
    return f"kubectl-koord {report.version}", f"evaluates as koord-scheduler {versions} ({report.main})"
