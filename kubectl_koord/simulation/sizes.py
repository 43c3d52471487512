"""The largest number that fits, where all below a fitting one fit: found in few attempts, as each may take long."""

from collections.abc import Callable


def largest(most: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number from 1 to `most` that fits; 0 when none does. It is looked for by halves."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low


def largest_from_above(most: int, fits: Callable[[int], bool]) -> int:
    """Return the same where it is probably near `most`: each step down is twice as long as the last."""
    above, step = most + 1, 1
    while above > 1:
        size = max(1, above - step)
        if fits(size):
            return size + largest(above - size - 1, lambda more: fits(size + more))  # noqa: B023 - called at once
        above, step = size, step * 2
    return 0


def largest_from_below(most: int, fits: Callable[[int], bool]) -> int:
    """Return the same where it is probably small: twice as many are tried each time."""
    size, tried = 0, 1
    while tried <= most and fits(tried):
        size, tried = tried, tried * 2
    return size + largest(min(tried - 1, most) - size, lambda more: fits(size + more))
