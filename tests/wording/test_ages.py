"""Ages and who is overdue."""

from datetime import timedelta

import pytest

from kubectl_koord.model.values import between
from kubectl_koord.wording.words import age_at, overdue, overdue_clause, spelled
from tests.build import MOMENT, cluster

DAY = "2026-11-19T10:00:00Z"


@pytest.mark.parametrize(
    ("seconds", "expected"), [(0, "0s"), (119, "119s"), (120, "2m"), (7200, "2h"), (172_800, "2d")]
)
def test_an_age_is_told_in_its_largest_unit(seconds: int, expected: str) -> None:
    assert spelled(timedelta(seconds=seconds)) == expected


@pytest.mark.parametrize("since", ["", "yesterday", "2026-11-20T10:00:00", "99999-01-01T00:00:00Z"])
def test_since_what_is_no_time_has_no_age(since: str) -> None:
    assert age_at(since, "2026-11-20T10:00:00Z") == ""


@pytest.mark.parametrize(("start", "end"), [("", MOMENT), ("soon", MOMENT), ("2026-11-19T10:00:00", MOMENT)])
def test_what_is_no_time_has_no_age(start: str, end: str) -> None:
    assert between(start, end) is None


def test_only_whose_grace_period_is_over_is_overdue_and_the_latest_goes_first() -> None:
    drawing = cluster("s0: b0[n1]").with_running("lives", on="n1")
    for name, due in (("b", DAY), ("a", "2026-11-18T10:00:00Z"), ("c", DAY), ("soon", "2026-11-20T09:59:30Z")):
        drawing = drawing.with_running(name, on="n1", terminating=True, gone_by=due)
    late = overdue(drawing.running["n1"], MOMENT)
    assert [pod.name for pod in late] == ["a", "b", "c"]
    told = "default/a, default/b and default/c should have terminated 2d ago: check finalizers and node"
    assert overdue_clause(drawing.running["n1"], MOMENT) == told
    assert overdue_clause((), MOMENT) == ""
