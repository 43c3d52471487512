import json
import re
import unicodedata
from collections.abc import Iterator

import pytest
import yaml

from kubectl_koord.render.plain import width
from kubectl_koord.render.show import OutputStyle, TopoOptions, text
from kubectl_koord.render.structured import Report, document, to_json, to_yaml
from tests.render.planting import planted_everywhere, planted_one_by_one, shown_as_blocks
from tests.render.samples import REPORTS

pytestmark = pytest.mark.untraced

HOSTILE = (
    "\x1b[2J\x1b]8;;http://evil\x07\x9b31m\x85\u202etxt\u2066\u200b\u2028 [/red] [link=http://x]y[/link] [bold] "
    ":smile: a\nb\tc\r\x7f\ufeff 节点 \U0001f600 \U000e0041 \ue000 'q' \"d\" \\x1b # - : {a} &x *y %"
)
SURROGATES = "\ud800 lone \udfff"
QUICK = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Takes a tenth of the time, but no half of a surrogate pair."""
BAD = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
OUR_COLOURS = re.compile(r"\x1b\[(?:0|1|2|32|33|36|1;31)m")
STYLES = {
    "plain": OutputStyle(terminal=False, width=0, colour=False, unicode=True),
    "plain ASCII": OutputStyle(terminal=False, width=0, colour=False, unicode=False),
    "terminal": OutputStyle(terminal=True, width=80, colour=False, unicode=True),
    "ASCII terminal": OutputStyle(terminal=True, width=80, colour=False, unicode=False),
    "colour": OutputStyle(terminal=True, width=80, colour=True, unicode=True),
    "narrow": OutputStyle(terminal=True, width=24, colour=True, unicode=True),
}

of_each_report = pytest.mark.parametrize("name", REPORTS)
in_each_style = pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
in_some_styles = pytest.mark.parametrize(
    "style",
    [
        pytest.param(style, id=name, marks=[] if name in {"plain", "narrow"} else pytest.mark.soak)
        for name, style in STYLES.items()
    ],
)


def dangerous(written: str) -> set[str]:
    return {char for char in set(OUR_COLOURS.sub("", written)) - {"\n"} if unicodedata.category(char) in BAD}


def strings(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for key, item in value.items():
                yield from (key, *strings(item))
        case list():
            for item in value:
                yield from strings(item)
        case _:
            pass


def page(report: Report, style: OutputStyle) -> str:
    return text(report, style=style, topo_options=TopoOptions(nodes=True))


@of_each_report
@in_each_style
def test_no_text_reaches_a_terminal_or_a_pipe_raw(name: str, style: OutputStyle) -> None:
    assert dangerous(page(planted_everywhere(REPORTS[name], HOSTILE + SURROGATES), style)) == set()


@of_each_report
@in_some_styles
def test_no_text_reaches_a_terminal_or_a_pipe_raw_wherever_it_stands(name: str, style: OutputStyle) -> None:
    for replaced, report in planted_one_by_one(REPORTS[name], HOSTILE + SURROGATES):
        assert dangerous(page(report, style)) == set(), replaced


@of_each_report
def test_markup_of_rich_is_shown_as_it_is_written(name: str) -> None:
    written = page(planted_everywhere(REPORTS[name], "[/red][b]:smile:[link=x]"), STYLES["colour"])
    assert "[/red][b]:smile:[link=x]" in written


@of_each_report
@pytest.mark.parametrize("evil", [HOSTILE, SURROGATES])
def test_json_and_yaml_give_back_what_was_planted_in_ascii_only(name: str, evil: str) -> None:
    for _, report in planted_one_by_one(REPORTS[name], evil):
        written = to_json(report)
        assert written.isascii()
        assert dangerous(written) == set()
        parsed = json.loads(written)
        assert evil in strings(parsed)
        assert parsed == json.loads(json.dumps(document(report)))


@of_each_report
@pytest.mark.parametrize("evil", [HOSTILE, SURROGATES, "x" * 10_000, "1e3", "y", "0o17", "no", "~", " a ", "a\nb\n"])
def test_yaml_equals_json_and_is_ascii_only(name: str, evil: str) -> None:
    report = planted_everywhere(REPORTS[name], evil)
    written = to_yaml(report)
    assert written.isascii()
    assert dangerous(written) == set()
    loader = yaml.SafeLoader if evil == SURROGATES else QUICK
    assert yaml.load(written, Loader=loader) == json.loads(to_json(report))  # noqa: S506 - both are safe


@of_each_report
@pytest.mark.parametrize(
    "width_of_terminal", [20, *(pytest.param(wide, marks=pytest.mark.soak) for wide in (40, 80, 200))]
)
@pytest.mark.parametrize("name_of_10_kb", ["x" * 10_000, "节" * 5_000, "x/" * 5_000])
def test_a_name_of_10_kb_floods_no_terminal(name: str, width_of_terminal: int, name_of_10_kb: str) -> None:
    report = planted_everywhere(REPORTS[name], name_of_10_kb)
    written = page(report, OutputStyle(terminal=True, width=width_of_terminal, colour=False, unicode=True))
    assert max(map(width, written.splitlines())) <= max(width_of_terminal, 40) * 4
    assert len(written) < 60_000


@of_each_report
def test_a_name_of_10_kb_is_whole_in_a_pipe(name: str) -> None:
    assert "x" * 10_000 in page(planted_everywhere(REPORTS[name], "x" * 10_000), STYLES["plain"])


@of_each_report
def test_line_breaks_in_names_add_no_lines(name: str) -> None:
    blocks = shown_as_blocks(REPORTS[name])

    def lines(text: str) -> list[int]:
        planted = planted_one_by_one(REPORTS[name], text)
        return [len(page(report, STYLES["plain"]).splitlines()) for old, report in planted if old not in blocks]

    assert lines("a\nb\r\nc\u2028\x85d") == lines("QQ")
