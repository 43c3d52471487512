"""The manual: every code that the program can emit has a page, and no page is for a code that it never emits."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import kubectl_koord
from kubectl_koord.explain import codes, manual
from kubectl_koord.explain.reports import CodeRow, Explanation
from kubectl_koord.render.show import OutputStyle, text

PACKAGE = Path(kubectl_koord.__file__).parent
DECIDING = [path for layer in ("engine", "explain", "changes") for path in sorted((PACKAGE / layer).rglob("*.py"))]
DECLARED = {PACKAGE / "explain" / name for name in ("codes.py", "manual.py")}
CARRIERS = {"Cause": codes.CauseCode, "Notice": codes.WarningCode, "WayOut": codes.ActionCode}
TYPED = {"Refusal", "TreeFault"}  # codes that the engine declares where it emits them


def emitted() -> Iterator[str]:
    """Yield the text of every string in the code that decides, docstrings and declarations of types left out."""
    for path in DECIDING:
        if path in DECLARED:
            continue
        tree = ast.parse(path.read_text())
        skipped: set[int] = set()
        for part in ast.walk(tree):
            if isinstance(part, ast.AnnAssign):
                named = isinstance(part.target, ast.Name) and part.target.id in TYPED
                skipped |= {id(inner) for inner in ast.walk(part if named else part.annotation)}
        for part in ast.walk(tree):
            if isinstance(part, ast.Constant) and isinstance(part.value, str) and id(part) not in skipped:
                yield part.value
    yield from codes.OF_GAP.values()


def carried() -> Iterator[tuple[str, str]]:
    """Yield the codes that are written where a cause, a warning or a way out is made, with what carries them."""
    for path in DECIDING:
        for call in ast.walk(ast.parse(path.read_text())):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in CARRIERS:
                first = call.args[0] if call.args else call.keywords[0].value
                for part in ast.walk(first):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        yield call.func.id, part.value


def test_every_code_of_the_types_has_a_page_and_every_page_a_code() -> None:
    assert set(manual.PAGES) == {code for _, group in codes.GROUPS for code in group}


def test_every_code_is_emitted_somewhere() -> None:
    assert set(manual.PAGES) - set(emitted()) == set()


def test_whatever_is_emitted_has_a_page_as_what_it_is() -> None:
    found = set(carried())
    assert len(found) > 50
    for carrier, code in found:
        assert code in codes.members(CARRIERS[carrier])


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
