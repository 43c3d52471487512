"""The answers of `explain` and `version`, which are about us and not about a cluster."""

from msgspec import Struct

from kubectl_koord.reports.common import Verdict


class Explanation(Struct, frozen=True, rename="camel"):
    """The page of one code: what it means, how the scheduler comes to it, how to see it, what to do.

    `used_as` names what carries the code, such as `cause`; `see` are commands to paste.
    """

    verdict: Verdict
    code: str
    used_as: tuple[str, ...]
    title: str
    text: str
    how: str
    see: tuple[str, ...]
    remedy: str


class CodeRow(Struct, frozen=True, rename="camel"):
    """One line of the list of codes; `group` is the heading it stands under."""

    group: str
    code: str
    title: str


class Explanations(Struct, frozen=True, rename="camel"):
    """Every code with its title, grouped."""

    verdict: Verdict
    items: tuple[CodeRow, ...]


class VersionReport(Struct, frozen=True, rename="camel"):
    """Which plugin this is, the scheduler versions that it evaluates, and what it takes for the newest of them."""

    verdict: Verdict
    version: str
    evaluates: tuple[str, ...]
    main: str
