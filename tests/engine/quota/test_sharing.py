"""One parent, one resource: rounds of sharing, in both ways to round."""

import pytest

from kubectl_koord.engine.quota.tree import Claimant, as_int64, shares

PROPOSAL = (  # name, request, minimum, weight
    Claimant("A", 5, 10, 40),
    Claimant("B", 20, 15, 60),
    Claimant("C", 40, 20, 50),
    Claimant("D", 70, 15, 80),
)
IN_MILLI = tuple(Claimant(c.name, c.request * 1000, c.minimum * 1000, c.weight * 1000) for c in PROPOSAL)
KEEPING = (Claimant("A", 5, 10, 40, lends=False), *PROPOSAL[1:])
WEIGHTLESS = (*PROPOSAL[:3], Claimant("D", 70, 15, 0))
DONOR = (Claimant("donor", 0, 3, 1), *(Claimant(f"q{n}", 99, 8 if n < 8 else 7, 1) for n in range(10)))


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(
    ("total", "claimants", "expected"),
    [
        (100, PROPOSAL, (5, 20, 35, 40)),
        (100_000, IN_MILLI, (5000, 20_000, 35_385, 39_615)),
        (100, WEIGHTLESS, (5, 20, 40, 15)),
        (40, PROPOSAL, (5, 15, 20, 15)),  # nothing is left: minimums are not cut back
        (1000, PROPOSAL, (5, 20, 40, 70)),  # all have what they request, and the rest is nobody's
    ],
)
def test_what_is_left_goes_by_weight_to_those_who_request_more_than_their_minimum(
    total: int, claimants: tuple[Claimant, ...], expected: tuple[int, ...], *, exact: bool
) -> None:
    assert tuple(shares(total, claimants, exact=exact)[name] for name in "ABCD") == expected


@pytest.mark.parametrize(("exact", "expected"), [(True, (10, 20, 33, 37)), (False, (10, 20, 34, 37))])
def test_shares_that_are_rounded_need_not_add_up(expected: tuple[int, ...], *, exact: bool) -> None:
    assert tuple(shares(100, KEEPING, exact=exact)[name] for name in "ABCD") == expected


@pytest.mark.parametrize(("exact", "expected"), [(True, [9, 9, 9, 8, 8, 8, 8, 8, 7, 7]), (False, [8] * 8 + [7] * 2)])
def test_a_remainder_is_lost_where_shares_are_rounded_and_goes_by_name_where_not(
    expected: list[int], *, exact: bool
) -> None:
    found = shares(81, DONOR, exact=exact)

    assert [found[f"q{number}"] for number in range(10)] == expected


def test_a_weight_below_zero_gets_nothing_and_makes_the_shares_of_others_too_large() -> None:
    claimants = (Claimant("a", 1000, 0, 100), Claimant("b", 1000, 0, -50))

    assert shares(100, claimants, exact=True) == {"a": 200, "b": 0}
    assert shares(100, claimants, exact=False) == {"a": 200, "b": -99}


def test_milli_of_the_largest_amount_overflow_as_upstream() -> None:
    assert as_int64(1000 * (((1 << 63) - 1) // 5)) == -600
    assert [as_int64(number) for number in (-1, 0, 1 << 62)] == [-1, 0, 1 << 62]
