import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from kubectl_koord.cli.verbs.explain import shipped_manual
from kubectl_koord.explain.every_pending import ProgressNote
from kubectl_koord.render.show import OutputStyle, output_style, progress_line, sentence, text
from kubectl_koord.render.structured import Report
from tests.render.samples import PIPE, TERMINAL, WHY

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
        "OutputStyle(terminal=True, width=80, colour=True, unicode=True)",
    ],
)
def test_neither_rich_nor_yaml_is_imported_for_text(style: str) -> None:
    code = (
        "import sys; from tests.render.samples import REPORTS\n"
        "from kubectl_koord.render.show import OutputStyle, text\n"
        f"for report in REPORTS.values(): text(report, style={style})\n"
        "sys.exit(bool({'rich', 'yaml'} & {name.partition('.')[0] for name in sys.modules}))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=ROOT).returncode == 0


def test_a_change_is_a_line_with_the_time_the_gang_and_what_changed() -> None:
    news = ProgressNote("train/job", "3 of 4 slots in spine-1 (was 2)", "no")
    assert progress_line("10:02:11", news, style=PIPE) == "10:02:11  train/job  3 of 4 slots in spine-1 (was 2)\n"
    coloured = OutputStyle(terminal=True, width=80, colour=True, unicode=True)
    assert "\x1b[1;31m" in progress_line("10:02:11", news, style=coloured)


def test_what_comes_from_the_cluster_is_harmless_in_a_single_line_as_well() -> None:
    assert progress_line("10:02:11", ProgressNote("a/\x1b[2J", "b\nc\u202e", "no"), style=PIPE) == (
        "10:02:11  a/\\x1b[2J  b\\x0ac\\u202e\n"
    )
    assert sentence("a\x1b", "yes", style=PIPE) == "a\\x1b\n"


@pytest.mark.parametrize(
    ("report", "more"),
    [(WHY, 1), (WHY, 0), (WHY, -1), (shipped_manual().contents(), -1)],
    ids=["longer than the page", "as high as the page", "one line too low", "a list of codes"],
)
def test_a_page_that_scrolls_away_ends_with_its_verdict(report: Report, more: int) -> None:
    whole = text(report, style=TERMINAL)
    height = whole.count("\n") + more
    last = whole.splitlines()[0]
    ending = "" if more > 0 or report is not WHY else f"\n{last}\n"
    assert text(report, style=replace(TERMINAL, height=height)) == whole + ending


def test_only_a_terminal_has_a_height() -> None:
    assert output_style("auto", {}, isatty=True, encoding="utf-8", columns=80, lines=24).height == 24
    assert output_style("always", {}, isatty=False, encoding="utf-8", columns=80, lines=24).height == 0
