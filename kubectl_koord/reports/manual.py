"""The manual: one page per code. The pages are `manual.toml`; who has a file system reads it."""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from kubectl_koord.language import say
from kubectl_koord.reports import common
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


USES = (
    ("cause", common.CauseCode),
    ("reason of preempt", common.ReasonCode),
    ("warning", common.WarningCode),
    ("way out", common.ActionCode),
    ("finding", common.QuotaFindingCode),
    ("finding of doctor", common.DoctorCode),
)
_CODES = {code for _, listed in common.GROUPS for code in listed}


class Page(Struct, frozen=True, forbid_unknown_fields=True):
    """What there is to say of a code: a title, what it means, how the scheduler comes to it, what to do.

    `see` are commands that show it; words in capitals are to be replaced. Prose may have line breaks anywhere.
    """

    title: str
    text: str
    how: str
    remedy: str
    see: tuple[str, ...]


class Manual(Struct, frozen=True):
    """A page for each code, and for nothing else."""

    pages: Mapping[str, Page]

    def explained(self, code: str) -> Explanation | None:
        """Return the page of a code, None for none of ours."""
        page = self.pages.get(code)
        if page is None:
            return None
        uses = tuple(use for use, known in USES if code in common.members(known))
        title, text, how, remedy = map(_said, (page.title, page.text, page.how, page.remedy))
        return Explanation("yes", code, uses, title, text, how, page.see, remedy)

    def contents(self) -> Explanations:
        """Return every code with its title, under its heading; causes in the order in which the scheduler looks."""
        rows = (
            CodeRow(group, code, _said(self.pages[code].title)) for group, listed in common.GROUPS for code in listed
        )
        return Explanations("yes", tuple(rows))


def read(content: str) -> Manual:
    """Return the manual that a TOML document holds: a table for each code, with the fields of a page.

    Raises msgspec.DecodeError where it is not TOML, a page lacks a field or has another one, a code lacks its page, or
    a page is for no code.
    """
    pages = msgspec.toml.decode(content, type=dict[str, Page])
    if odd := sorted(_CODES ^ set(pages)):
        raise msgspec.DecodeError(f"a code without a page, or a page for no code: {', '.join(odd)}")
    return Manual(pages)


def _said(prose: str) -> str:
    return say(" ".join(prose.split()))
