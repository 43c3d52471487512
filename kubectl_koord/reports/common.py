"""What several answers carry: the verdict, what it rests on, warnings, the name of a domain."""

from typing import Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.reports.codes import WarningCode

Verdict: TypeAlias = Literal["yes", "no", "unknown"]


class Notice(Struct, frozen=True, rename="camel"):
    """A warning: a stable code and one sentence."""

    code: WarningCode
    message: str


class Basis(Struct, frozen=True, rename="camel", omit_defaults=True):
    """What an answer rests on: whose behaviour, how that was found out, and the moment of reading.

    `context` and `cluster` are the names that the kubeconfig has for what was read, where it has some. `commands_for`
    says what no command can say itself: for which cluster those of kubectl are.
    """

    koordinator_version: str
    version_from: str
    moment: str
    source: str
    context: str = ""
    cluster: str = ""
    commands_for: str = ""


class DomainName(Struct, frozen=True, rename="camel"):
    """The identity of a topology domain."""

    layer: str
    name: str
