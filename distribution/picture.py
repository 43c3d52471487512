"""A screen of a terminal as a picture: docs/images/*.svg, readable where it is light and where it is dark."""

import re
from collections.abc import Iterator, Sequence
from itertools import chain

from msgspec import Struct

from distribution.screens import printed
from kubectl_koord.cluster import stored
from kubectl_koord.explain.why import why
from kubectl_koord.render.plain import width
from kubectl_koord.render.show import OutputStyle, text
from kubectl_koord.render.web import Markup, ascii_only, element, empty, lines, together
from kubectl_koord.simulation import subjects
from kubectl_koord.wording.words import Aim

_COMMAND = "why-pending one-short -n train --demo"
_SHOWN = 16  # lines: down to the last of the slots
_CHAR, _LINE, _MARGIN, _BAR = 8.4, 18, 16, 34
_LOOKS = {"1": "bold", "2": "dim", "31": "bad", "32": "good", "33": "warn", "36": "code"}
_CODES = re.compile(r"\x1b\[([0-9;]*)m")
_WORDS = re.compile(r"\S+(?: \S+)*")
_STYLE = """\
svg { color-scheme: light dark; }
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #1f2328; }
.window { fill: #f6f8fa; stroke: #d1d9e0; }
.bar { fill: #d1d9e0; }
.bold { font-weight: 700; }
.dim { fill: #59636e; }
.bad { fill: #b3150f; font-weight: 700; }
.good { fill: #116329; }
.warn { fill: #7d4e00; }
.code { fill: #0b5c74; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .window { fill: #0d1117; stroke: #3d444d; }
  .bar { fill: #3d444d; }
  .dim { fill: #9da7b1; }
  .bad { fill: #ff8b80; }
  .good { fill: #6bd185; }
  .warn { fill: #e8b454; }
  .code { fill: #76d1e5; }
}"""


class Run(Struct, frozen=True):
    """Characters of one look, without two blanks in a row, and the cell in which they begin."""

    cell: int
    text: str
    look: str


def pictures() -> dict[str, str]:
    """Return each picture by its path."""
    return {
        "docs/images/why-pending.svg": screen(f"kubectl koord {_COMMAND}", _answer(), most=_SHOWN),
        "docs/images/topology.svg": printed("topo --for train/one-short --demo -o svg"),
    }


def _answer() -> str:
    snapshot = stored.demo("")
    job = next(one for one in subjects.pending_subjects(snapshot) if one.key == "train/one-short")
    style = OutputStyle(terminal=True, width=80, colour=True, unicode=True)
    return text(why(snapshot, job), style=style, aim=Aim(koord=("--demo",)))


def screen(command: str, answer: str, *, most: int) -> str:
    """Return a terminal in which a command was typed, with the first lines of its answer.

    Args:
        command: what was typed.
        answer: what was printed, with the codes that colour it; any other code is shown, as all that acts is.
        most: how many lines of it are shown; `...` stands for the rest.

    """
    printed = answer.splitlines()
    rows = [[Run(0, f"$ {command}", "bold")], *(list(_runs(line)) for line in printed[:most])]
    if len(printed) > most:
        rows.append([Run(0, "...", "dim")])
    cells = max(run.cell + width(run.text) for run in chain(*rows))
    high, wide = _BAR + len(rows) * _LINE + _MARGIN, round(cells * _CHAR) + 2 * _MARGIN
    picture = element(
        "svg",
        element("title", f"$ {command}", id="title"),
        element("desc", lines(plain(row) for row in rows), id="text"),
        element("style", lines(_STYLE.splitlines())),
        empty("rect", class_="window", x="0.5", y="0.5", width=str(wide - 1), height=str(high - 1), rx="8"),
        together(*(empty("circle", class_="bar", cx=str(x), cy="16", r="5") for x in (20, 38, 56))),
        together(*(_text(run, at) for at, row in enumerate(rows, 1) for run in row)),
        xmlns="http://www.w3.org/2000/svg",
        width=str(wide),
        height=str(high),
        viewBox=f"0 0 {wide} {high}",
        role="img",
        aria_labelledby="title",
        aria_describedby="text",
    )
    return ascii_only(picture.text + "\n")


def _runs(line: str) -> Iterator[Run]:
    """Yield the runs of a line. Blanks between them are not drawn, as pictures have them their own way."""
    cell, look = 0, ""
    for at, part in enumerate(_CODES.split(line)):
        if at % 2:
            known = [_LOOKS[code] for code in part.split(";") if code in _LOOKS]
            look = known[-1] if known else ""
            continue
        for match in _WORDS.finditer(part):
            yield Run(cell + width(part[: match.start()]), match[0], look)
        cell += width(part)


def plain(row: Sequence[Run]) -> str:
    """Return the text of a row, its runs in their cells."""
    said = ""
    for run in row:
        said += " " * (run.cell - width(said)) + run.text
    return said


def _text(run: Run, row: int) -> Markup:
    """Return a run at its place, as long as its cells are, whatever font there is."""
    return element(
        "text",
        run.text,
        class_=run.look,
        x=f"{_MARGIN + run.cell * _CHAR:.1f}",
        y=str(_BAR + row * _LINE - 4),
        textLength=f"{width(run.text) * _CHAR:.1f}",
        lengthAdjust="spacingAndGlyphs",
    )
