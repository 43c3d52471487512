"""The manual: every code that the program can emit has a page, and no page is for a code that it never emits."""

from pathlib import Path

import pytest

import kubectl_koord
from kubectl_koord.render.show import OutputStyle, text
from kubectl_koord.reports import codes, manual
from kubectl_koord.reports.explanation import CodeRow, Explanation

PACKAGE = Path(kubectl_koord.__file__).parent
DECIDING = [path for layer in ("engine", "explain", "changes") for path in sorted((PACKAGE / layer).rglob("*.py"))]
DECLARED = {PACKAGE / "explain" / name for name in ("codes.py", "manual.py")}
CARRIERS = {"Cause": codes.CauseCode, "Notice": codes.WarningCode, "WayOut": codes.ActionCode}
TYPED = {"Refusal", "TreeFault"}  # codes that the engine declares where it emits them


def test_every_code_of_the_types_has_a_page_and_every_page_a_code() -> None:
    assert set(manual.PAGES) == {code for _, group in codes.GROUPS for code in group}


def test_each_code_stands_under_one_heading() -> None:
    listed = [code for _, group in codes.GROUPS for code in group]
    assert len(listed) == len(set(listed))
    assert listed[0] == "other-scheduler"


@pytest.mark.parametrize("code", manual.PAGES)
def test_a_page_is_5_to_15_lines_of_80_columns_and_of_commands_that_are_whole(code: str) -> None:
    found = manual.explained(code)
    assert isinstance(found, Explanation)
    for terminal in (True, False):
        page = text(found, style=OutputStyle(terminal=terminal, width=80, colour=False, unicode=True)).splitlines()
        assert page[:2] == [f"{found.title}.", f"{code} ({', '.join(found.used_as)})"]
        assert 5 <= len(page) <= 15
        prose, commands = page[: -len(found.see)], page[-len(found.see) :]
        assert [line for line in prose if len(line) > 80] == []
        assert commands == [f"  {command}" for command in found.see]


def test_a_page_says_what_the_code_is_used_as() -> None:
    found = manual.explained("not-evaluated")
    assert isinstance(found, Explanation)
    assert found.used_as == ("cause", "warning")


@pytest.mark.parametrize(("typed", "nearest"), [("Insufficient-slot", "insufficient-slots"), ("qota", "quota")])
def test_a_mistyped_code_brings_the_nearest(typed: str, nearest: str) -> None:
    found = manual.explained(typed)
    assert not isinstance(found, Explanation)
    assert found[0] == nearest


def test_what_is_like_no_code_brings_none() -> None:
    assert manual.explained("%") == ()


def test_the_list_has_every_code_with_its_title() -> None:
    report = manual.contents()
    assert report.items[0] == CodeRow("Causes", "other-scheduler", "The pods have another schedulerName")
    assert {row.code for row in report.items} == set(manual.PAGES)
    page = text(report, style=OutputStyle(terminal=True, width=80, colour=False, unicode=True)).splitlines()
    assert page[:5] == [
        "kubectl koord explain CODE shows what a code means and what to do next.",
        "",
        "Causes",
        "  CODE                        MEANING",
        "  other-scheduler             The pods have another schedulerName",
    ]
    assert max(map(len, page)) <= 80
