"""How much a page shows of what there is."""

import re
from collections.abc import Sequence
from typing import TypeVar

from msgspec import Struct

from kubectl_koord.wording.pages.common import first_names

_T = TypeVar("_T")
# `name`, `name on node`, `name (8 GPU, priority 1000)`, without what the sentence goes on with.
_NAME = r"[^\s,()]*[^\s,():;.]"
_ITEM = rf"{_NAME}(?: on {_NAME})?(?: \([^()]*\))?"
_LIST = re.compile(rf"(?<![^\s(])({_ITEM}(?:, {_ITEM})+)(?: and ({_ITEM}))?")
_ITEMS = re.compile(_ITEM)


class Shown(Struct, frozen=True):
    """How much is shown; None is all of it.

    lines: of what a page is about, a listing or a tree. rows: of a table beside it. few: remarks of one
    kind, names within a sentence.
    """

    lines: int | None = None
    rows: int | None = None
    few: int | None = None


EVERYTHING = Shown()
ON_A_SCREEN = Shown(lines=59, rows=15, few=5)


def parted(items: Sequence[_T], most: int | None) -> tuple[Sequence[_T], Sequence[_T]]:
    """Return the items to show and the others: never one alone, it takes the line that would say so."""
    if most is None or len(items) <= most + 1:
        return items, ()
    return items[:most], items[most:]


def folded(text: str, most: int | None) -> str:
    """Return the text with the first few names only of every long list of names in it."""
    return text if most is None or ", " not in text else _LIST.sub(lambda found: _fewer(found, most), text)


def _fewer(found: re.Match[str], most: int) -> str:
    names = [*_ITEMS.findall(found[1]), *filter(None, [found[2]])]
    if len(names) <= most + 1:
        return found[0]
    return first_names(names[:most], len(names) - most)
