"""The answer of `doctor`."""

from typing import Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.reports.codes import DoctorCode, QuotaFindingCode
from kubectl_koord.reports.common import Basis, Notice, Verdict

Severity: TypeAlias = Literal["error", "warning", "info"]
"""Whether something cannot work, does not do what was meant, or is only to be known."""


class Finding(Struct, frozen=True, rename="camel"):
    """Something that was found: its evidence is in the message, what to do about it in the remedy.

    `command` does it or shows more, and may be empty; a word of it in capitals is to be replaced.
    `object` is the kind and name of what it is about; where those are several, `objects` has all of them.
    """

    code: DoctorCode | QuotaFindingCode
    severity: Severity
    object: str
    message: str
    remedy: str
    objects: tuple[str, ...] = ()
    command: str = ""


class DoctorReport(Struct, frozen=True, rename="camel"):
    """All findings, errors first. The verdict is no with any error, unknown where else something may not be read."""

    verdict: Verdict
    basis: Basis
    warnings: tuple[Notice, ...]
    findings: tuple[Finding, ...]
    nodes: int = 0
    gangs: int = 0
