"""Moments, and the time between them."""

from datetime import timedelta

import pytest

from kubectl_koord.model.values import later

DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("2026-11-20T10:00:00Z", "2026-11-21T10:00:00Z"),
        ("2026-11-20T10:00:00.5+02:00", "2026-11-21T08:00:00Z"),
        ("9999-12-31T10:00:00Z", ""),
        ("", ""),
        ("now", ""),
    ],
)
def test_a_later_moment_is_told_in_utc_and_none_of_what_is_no_time(start: str, expected: str) -> None:
    assert later(start, DAY) == expected
