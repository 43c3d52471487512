"""What several answers carry: the verdict, what it rests on, warnings, the name of a domain."""

from typing import Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.reports.codes import WarningCode

Verdict: TypeAlias = Literal["yes", "no", "unknown"]


class Notice(Struct, frozen=True, rename="camel"):
    """A warning: a stable code and one sentence."""

    code: WarningCode
    message: str


class Basis(Struct, frozen=True, rename="camel"):
    """What an answer rests on: whose behaviour, how that was found out, and the moment of reading."""

    koordinator_version: str
    version_from: str
    moment: str
    source: str


class DomainName(Struct, frozen=True, rename="camel"):
    """The identity of a topology domain."""

    layer: str
    name: str
