import subprocess
import sys
from pathlib import Path

import pytest

from kubectl_koord.render.show import OutputStyle, output_style, text
from tests.render.samples import WHY

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("flag", "environ", "isatty", "colour"),
    [
        ("auto", {"TERM": "xterm"}, True, True),
        ("auto", {}, False, False),
        ("auto", {"TERM": "dumb"}, True, False),
        ("auto", {"NO_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ("auto", {"FORCE_COLOR": "1"}, False, True),
        ("auto", {"FORCE_COLOR": "0"}, False, False),
        ("auto", {"FORCE_COLOR": ""}, False, False),
        ("auto", {"FORCE_COLOR": "0"}, True, True),
        ("auto", {"FORCE_COLOR": "1", "TERM": "dumb"}, True, True),
        ("always", {"NO_COLOR": "1", "TERM": "dumb"}, False, True),
        ("never", {"FORCE_COLOR": "1"}, True, False),
    ],
)
def test_colour_follows_the_flag_then_no_color_then_force_color_then_the_terminal(
    flag: str, environ: dict[str, str], *, isatty: bool, colour: bool
) -> None:
    assert output_style(flag, environ, isatty, "utf-8", 80).colour is colour


def test_a_pipe_is_never_cut_even_with_colours() -> None:
    assert output_style("always", {}, isatty=False, encoding="utf-8", columns=80) == OutputStyle(
        terminal=True, width=0, colour=True, unicode=True
    )
    assert output_style("auto", {}, isatty=False, encoding="utf-8", columns=80) == OutputStyle(
        terminal=False, width=0, colour=False, unicode=True
    )


def test_a_terminal_that_tells_no_width_has_80_columns() -> None:
    assert output_style("auto", {}, isatty=True, encoding="utf-8", columns=0).width == 80
    assert output_style("auto", {}, isatty=True, encoding="utf-8", columns=132).width == 132


@pytest.mark.parametrize(
    ("encoding", "unicode"), [("utf-8", True), ("UTF8", True), ("utf_8", True), ("ascii", False), ("latin-1", False)]
)
def test_only_unicode_encodings_get_more_than_ascii(encoding: str, *, unicode: bool) -> None:
    assert output_style("auto", {}, isatty=True, encoding=encoding, columns=80).unicode is unicode


def test_without_unicode_everything_can_be_written_as_ascii() -> None:
    for terminal in (True, False):
        style = OutputStyle(terminal=terminal, width=80, colour=False, unicode=False)
        assert text(WHY, style=style).isascii()


@pytest.mark.parametrize(
    "style",
    [
        "OutputStyle(terminal=False, width=0, colour=False, unicode=True)",
        "OutputStyle(terminal=True, width=80, colour=False, unicode=True)",
    ],
)
def test_without_colours_rich_is_not_imported(style: str) -> None:
    code = (
        "import sys; from tests.render.samples import REPORTS\n"
        "from kubectl_koord.render.show import OutputStyle, text\n"
        f"for report in REPORTS.values(): text(report, style={style})\n"
        "sys.exit(bool({'rich', 'yaml'} & {name.partition('.')[0] for name in sys.modules}))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=ROOT).returncode == 0
