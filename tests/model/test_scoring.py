"""Scores: the weighted mean of shares, rounded down as upstream does."""

import pytest

from kubectl_koord.model.hardware import Scoring

BOTH = (("cpu", 1), ("memory", 3))


@pytest.mark.parametrize(
    ("scoring", "used", "score"),
    [
        (Scoring(BOTH), {"cpu": (25, 100), "memory": (1, 3)}, (75 + 3 * 66) // 4),
        (Scoring(BOTH, most_allocated=True), {"cpu": (25, 100), "memory": (1, 3)}, (25 + 3 * 33) // 4),
        (Scoring(BOTH), {"cpu": (101, 100)}, 0),
        (Scoring(BOTH, most_allocated=True), {"cpu": (101, 100)}, 100),
        (Scoring(BOTH), {"other": (1, 100)}, 0),
        (Scoring(()), {"cpu": (1, 100)}, 0),
        (Scoring((("cpu", 0),)), {"cpu": (1, 100)}, 0),
    ],
)
def test_a_score_is_the_weighted_mean_of_what_is_left_or_taken(
    scoring: Scoring, used: dict[str, tuple[int, int]], score: int
) -> None:
    assert scoring.score(used) == score
