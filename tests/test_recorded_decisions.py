"""Every recorded cluster: our answers are what tests/cases/differences.json says, agreement where it says nothing."""

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tests.conformance import known
from tests.conformance.cases import CASES, Case, names_of, read_cases, totals_of
from tests.conformance.grading import judge

FAMILIES = names_of(CASES)
MEASURED = {"load", "numa"}
"""Families that count towards coverage: of all, tracing would take as long again twice."""
LISTED = known.read(CASES)


@cache
def of_family(family: str) -> dict[str, Case]:
    return {case.name: case for case in read_cases(CASES, (family,))}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.measured if family in MEASURED else ()) for name, family in FAMILIES.items()],
)
def test_the_answers_are_neither_worse_nor_better_than_listed(name: str) -> None:
    results = judge(of_family(FAMILIES[name])[name])

    assert list(known.complaints(LISTED, results)) == []


def test_the_list_names_each_result_once_and_gives_every_family_a_reason() -> None:
    keys = Counter((entry.case, version) for entry in LISTED.results for version in entry.versions)

    assert [key for key, times in keys.items() if times > 1] == []
    assert {case for case, _ in keys} <= set(FAMILIES)
    assert {FAMILIES[case] for case, _ in keys} == set(LISTED.families)
    assert all(LISTED.families.values())


@pytest.mark.parametrize("page", known.PAGES, ids=lambda page: page.name)
def test_the_table_of_the_readme_is_what_the_list_comes_to(page: Path) -> None:
    text = page.read_text("utf-8")

    assert text == known.with_table(text, LISTED, totals_of(CASES)), known.RENEW
    assert f" {len(FAMILIES)} " in text
