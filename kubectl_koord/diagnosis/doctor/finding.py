"""How a finding is made, and whether a kind was looked at."""

from collections.abc import Sequence

from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.codes import DoctorCode
from kubectl_koord.reports.operation.doctor import Finding, Severity
from kubectl_koord.wording.doctor import naming
from kubectl_koord.wording.doctor.remedies import command, remedy


def found(code: DoctorCode, severity: Severity, kind: str, names: Sequence[str], message: str) -> Finding:
    """Return a finding about objects of a kind."""
    about, run = naming.about(kind, names), command(code, kind, names)
    return Finding(code, severity, about, message, remedy(code), tuple(names), run)


def was_read(snapshot: Snapshot, kind: str) -> bool:
    """Tell whether objects of a kind were looked at; a file that holds none of a kind shows nothing of it."""
    if snapshot.installation is None or not snapshot.sees(kind):
        return False
    return snapshot.installation.whole or kind in snapshot.installation.kinds
