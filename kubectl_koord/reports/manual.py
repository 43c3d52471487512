"""The manual: one page per code. The pages are `manual.toml`; who has a file system reads it."""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from kubectl_koord.reports import codes
from kubectl_koord.reports.explanation import CodeRow, Explanation, Explanations

_USES = (
    ("cause", codes.CauseCode),
    ("reason of preempt", codes.ReasonCode),
    ("warning", codes.WarningCode),
    ("way out", codes.ActionCode),
    ("finding", codes.QuotaFindingCode),
    ("finding of doctor", codes.DoctorCode),
)
_CODES = {code for _, listed in codes.GROUPS for code in listed}


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
        uses = tuple(use for use, known in _USES if code in codes.members(known))
        text, how, remedy = map(_unbroken, (page.text, page.how, page.remedy))
        return Explanation("yes", code, uses, page.title, text, how, page.see, remedy)

    def contents(self) -> Explanations:
        """Return every code with its title, under its heading; causes in the order in which the scheduler looks."""
        rows = (CodeRow(group, code, self.pages[code].title) for group, listed in codes.GROUPS for code in listed)
        return Explanations("yes", tuple(rows))


def read(content: str) -> Manual:
    """Return the manual that a TOML document holds: a table for each code, with the fields of a page.

    Raises:
        msgspec.DecodeError: where it is not TOML, a page lacks a field or has another one, a code lacks its page, or
            a page is for no code.

    """
    pages = msgspec.toml.decode(content, type=dict[str, Page])
    if odd := sorted(_CODES ^ set(pages)):
        raise msgspec.DecodeError(f"a code without a page, or a page for no code: {', '.join(odd)}")
    return Manual(pages)


def _unbroken(prose: str) -> str:
    return " ".join(prose.split())
