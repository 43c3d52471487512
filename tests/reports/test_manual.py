"""The manual: every code that an answer may carry has a page, and no page is for anything else."""

import msgspec
import pytest

from kubectl_koord.cli.verbs.explain import shipped_manual
from kubectl_koord.render.show import OutputStyle, text
from kubectl_koord.reports import common, manual
from kubectl_koord.reports.manual import CodeRow, Explanation
from kubectl_koord.wording.suggestions import near

MANUAL = shipped_manual()
CODES = [code for _, group in common.GROUPS for code in group]


def test_every_code_of_the_types_has_a_page_and_every_page_a_code() -> None:
    assert list(MANUAL.pages) == CODES


def written(pages: dict[str, dict[str, object]]) -> str:
    return "\n".join(
        f"[{code}]\n" + "\n".join(f"{field} = {msgspec.json.encode(value).decode()}" for field, value in page.items())
        for code, page in pages.items()
    )


PAGE: dict[str, object] = {"title": "T", "text": "a\nb", "how": "\nc  d", "remedy": "e", "see": ["kubectl get pods"]}
PAGES = dict.fromkeys(CODES, PAGE)


def test_line_breaks_within_prose_do_not_matter() -> None:
    found = manual.read(written(PAGES)).explained("pair")
    assert found == Explanation("yes", "pair", ("way out",), "T", "a b", "c d", ("kubectl get pods",), "e")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[quota", "Expected ']' at the end of a table declaration"),
        (written({"quota": {**PAGE, "titel": "T"}}), "unknown field `titel`"),
        (written({"quota": {"title": "T"}}), "missing required field `text`"),
        (written({"quota": {**PAGE, "see": "kubectl"}}), "Expected `array`, got `str`"),
        (
            written({**{code: PAGE for code in CODES if code != "quota"}, "qota": PAGE}),
            "a code without a page, or a page for no code: qota, quota",
        ),
    ],
    ids=["no TOML", "unknown field", "missing field", "wrong type", "other codes"],
)
def test_a_manual_that_is_not_whole_is_refused(content: str, message: str) -> None:
    with pytest.raises(msgspec.DecodeError) as refused:
        manual.read(content)
    assert message in str(refused.value)


def test_each_code_stands_under_one_heading() -> None:
    assert len(CODES) == len(set(CODES))
    assert CODES[0] == "owner-suspended"


@pytest.mark.untraced
@pytest.mark.parametrize("code", CODES)
def test_a_page_is_5_to_15_lines_of_80_columns_and_of_commands_that_are_whole(code: str) -> None:
    found = MANUAL.explained(code)
    assert isinstance(found, Explanation)
    for terminal in (True, False):
        page = text(found, style=OutputStyle(terminal=terminal, width=80, colour=False, unicode=True)).splitlines()
        assert page[:2] == [f"{found.title}.", f"{code} ({', '.join(found.used_as)})"]
        assert 5 <= len(page) <= 15
        prose, commands = page[: -len(found.see)], page[-len(found.see) :]
        assert [line for line in prose if len(line) > 80] == []
        assert commands == [f"  {command}" for command in found.see]


def test_a_page_says_what_the_code_is_used_as() -> None:
    found = MANUAL.explained("not-evaluated")
    assert isinstance(found, Explanation)
    assert found.used_as == ("cause", "warning")


@pytest.mark.parametrize(("typed", "nearest"), [("Insufficient-slot", "insufficient-slots"), ("qota", "quota")])
def test_a_mistyped_code_brings_the_nearest(typed: str, nearest: str) -> None:
    assert MANUAL.explained(typed) is None
    assert near(typed.lower(), MANUAL.pages)[0] == nearest


def test_what_is_like_no_code_brings_none() -> None:
    assert MANUAL.explained("%") is None
    assert near("%", MANUAL.pages) == ()


def test_the_list_has_every_code_with_its_title() -> None:
    report = MANUAL.contents()
    assert report.items[0] == CodeRow("Causes", "owner-suspended", "What creates the pods is suspended")
    assert {row.code for row in report.items} == set(CODES)
    page = text(report, style=OutputStyle(terminal=True, width=80, colour=False, unicode=True)).splitlines()
    assert page[:5] == [
        "kubectl koord explain CODE shows what a code means and what to do next.",
        "",
        "Causes",
        "  CODE                        MEANING",
        "  owner-suspended             What creates the pods is suspended",
    ]
    assert max(map(len, page)) <= 80
