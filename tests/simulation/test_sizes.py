"""The largest number that fits."""

import pytest

from kubectl_koord.simulation.simulation import largest, largest_from_above, largest_from_below


def test_the_largest_number_that_fits_is_found_by_halves() -> None:
    assert largest(100, lambda number: number <= 37) == 37
    assert largest(100, lambda _: True) == 100
    assert largest(100, lambda _: False) == 0


@pytest.mark.parametrize("most", range(34))
def test_it_is_found_from_above_and_from_below_too(most: int) -> None:
    for border in range(most + 2):
        found = {find(most, border.__ge__) for find in (largest, largest_from_above, largest_from_below)}
        assert found == {min(most, border)}
