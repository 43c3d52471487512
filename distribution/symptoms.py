"""docs/symptoms.md: from what a person sees to the command that answers, and to what it may answer."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from kubectl_koord.reports import manual

PATH = "docs/symptoms.md"
_SOURCE = Path(__file__).with_name("symptoms.toml")
_MANUAL = Path(manual.__file__).with_suffix(".toml")
_HEAD = """\
# By symptom

Find what you see, run the command below it, and look up the code that it answers with. `kubectl koord explain CODE`
says more of each, without a network.
"""


class Symptom(Struct, frozen=True, forbid_unknown_fields=True):
    """What is seen, the commands that answer, in order, and the codes that they may answer with."""

    seen: str
    ask: tuple[str, ...]
    codes: tuple[str, ...]


class _Table(Struct, frozen=True, forbid_unknown_fields=True):
    symptom: tuple[Symptom, ...]


def symptoms() -> tuple[Symptom, ...]:
    """Return the symptoms in the order of the page."""
    return msgspec.toml.decode(_SOURCE.read_bytes(), type=_Table).symptom


def text() -> str:
    """Return the page as it is kept."""
    listed = symptoms()
    index = [f"* [{one.seen}](#{anchor(one.seen)})" for one in listed]
    return "\n".join([_HEAD, *index, "", *(line for one in listed for line in _section(one))])


def anchor(title: str) -> str:
    """Return the name by which a heading is linked to."""
    return "".join(char for char in title.lower().replace(" ", "-") if char.isalnum() or char == "-")


def _section(one: Symptom) -> Iterator[str]:
    yield f"## {one.seen}\n"
    yield "```"
    yield from one.ask
    yield "```\n"
    yield "| code | what it is | what to do |"
    yield "|---|---|---|"
    pages = manual.read(_MANUAL.read_text("utf-8")).explained
    for found in filter(None, map(pages, one.codes)):
        yield f"| `{found.code}` | {found.title} | {found.remedy} |"
    yield ""
