"""The texts that are translated, and the catalogue of Simplified Chinese: extracted and compiled with Babel.

What `say` takes, and nouns that `count` counts, are read from the source; verbs, flags, the manual and the table of
settings from what they are kept in.

python -m distribution.messages --write
"""

import ast
import io
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import typer
from babel.messages import mofile, pofile
from babel.messages.catalog import Catalog

from kubectl_koord import layers
from kubectl_koord.cli.app import tree
from kubectl_koord.cli.verb_table import VERBS
from kubectl_koord.cli.verbs.explain import shipped_manual
from kubectl_koord.explain import way
from kubectl_koord.reports import common, manual
from kubectl_koord.wording.words import several

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "kubectl_koord"
PO = PACKAGE / "locale/zh_CN/LC_MESSAGES/kubectl_koord.po"
MO = PO.with_suffix(".mo")
_DAY = datetime(2026, 11, 29, tzinfo=UTC)
"""A date that a catalogue must have, and that must not change with each run."""
_JOINED = (", ", " and ", " or ")
_OF_TYPER = ("Arguments", "Options", "Commands", "default: {default}", "required", "Show this message and exit.")
_COUNTED = (
    "lower-priority pod",
    "error",
    "warning",
    "note",
    "spine",
    "block",
    "rack",
    "row",
    "accelerator",
    "switch",
    "node",
    "domain",
)


def texts() -> Iterator[tuple[str, str]]:
    """Yield each text that is translated, with the file that has it."""
    for path in sorted(PACKAGE.rglob("*.py")):
        yield from ((text, str(path.relative_to(ROOT))) for text in of_source(path.read_text("utf-8")))
    of_layers = (*(one.NAME for one in (*layers.BEFORE, *layers.AFTER)), *way.LAYERS.values(), way.SCHEDULER)
    yield from ((text, "kubectl_koord/layers") for text in of_layers)
    of_words = (*_JOINED, *_OF_TYPER, *(text for noun in _COUNTED for text in _counted(noun)))
    yield from ((text, "kubectl_koord/wording/words.py") for text in of_words)
    for verb in VERBS.values():
        yield from ((text, "kubectl_koord/cli/verb_table.py") for text in (verb.about, verb.group) if text)
    of_help = _of_help(typer.main.get_command(tree()))
    yield from ((text, "kubectl_koord/cli/verbs") for text in of_help if text)
    of_manual = (*(group for group, _ in common.GROUPS), *(use for use, _ in manual.USES))
    yield from ((text, "kubectl_koord/reports/manual.py") for text in of_manual)
    for page in shipped_manual().pages.values():
        of_page = (" ".join(text.split()) for text in (page.title, page.text, page.how, page.remedy))
        yield from ((text, "kubectl_koord/reports/manual.toml") for text in of_page)


def _of_help(command: Any) -> Iterator[str]:  # noqa: ANN401 - Typer's vendored, private classes
    """Yield what help says of a command and of those behind it, as `cli.help_text` looks it up."""
    yield " ".join((command.help or "").split())
    yield (command.epilog or "").replace("\b\n", "").strip("\n")
    yield from (getattr(one, "help", "") or "" for one in command.params)
    for inner in getattr(command, "commands", {}).values():
        yield from _of_help(inner)


def of_source(source: str) -> Iterator[str]:
    """Yield what a module says, and what it counts."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Name(id="say"), args=[ast.Constant(value=str(text)), *_]):
                yield text
            case ast.Call(func=ast.Name(id="count" | "more" | "beyond_limit"), args=[_, noun]):
                for part in ast.walk(noun):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        yield from _counted(part.value)
            case _:
                pass


def _counted(noun: str) -> tuple[str, str]:
    return f"{{number}} {noun}", f"{{number}} {several(noun)}"


def catalogue() -> Catalog:
    """Return all texts with the translations that are there."""
    with PO.open("rb") as content:
        known = pofile.read_po(content)
    found = Catalog(
        "zh_CN", project="kubectl-koord", charset="utf-8", creation_date=_DAY, revision_date=_DAY, fuzzy=False
    )
    for text, path in texts():
        before = known.get(text)
        found.add(text, before.string if before else "", locations=[(path, 0)])
    return found


def written(found: Catalog) -> tuple[bytes, bytes]:
    """Return the catalogue as it is kept, and compiled."""
    po, mo = io.BytesIO(), io.BytesIO()
    pofile.write_po(po, found, width=100, include_lineno=False, omit_header=False)
    mofile.write_mo(mo, found)
    return po.getvalue(), mo.getvalue()


def main() -> None:
    """Write the catalogue anew: new texts have no translation yet, old ones are gone."""
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    for path, content in zip((PO, MO), written(catalogue()), strict=True):
        path.write_bytes(content)


if __name__ == "__main__":
    main()
