"""What one parent has of one resource, shared among the quotas below it.

Mirrors `redistribution` and `iterationForRedistribution` in elasticquota/core/runtime_quota_calculator.go: every number
is an int64 there.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

_HALF = 1 << 63


class Claimant(Struct, frozen=True, gc=False):
    """One quota that takes part: what it requests, its minimum as it is kept for it, its weight, whether it lends."""

    name: str
    request: int
    minimum: int
    weight: int
    lends: bool = True


def as_int64(number: int) -> int:
    """Return what is left of a number in 64 bits: amounts in milli overflow."""
    return (number + _HALF) % (2 * _HALF) - _HALF


def shares(total: int, claimants: Sequence[Claimant], *, exact: bool) -> Mapping[str, int]:
    """Return the runtime of each quota.

    Each first gets its minimum, or its request where that is less and it lends. What is left goes to those that
    request more, round by round and by weight; who has all that it requests gives back what is too much.

    Args:
        total: what the parent has.
        claimants: the quotas below the parent, of which nobody minds the order.
        exact: whether shares add up to what is shared, the largest remainders rounded up (main); else each is rounded.

    """
    hungry = [one for one in claimants if one.request > one.minimum]
    found = {one.name: min(one.request, one.minimum) if one.lends else one.minimum for one in claimants}
    pool = total - sum(found.values())
    weights = sum(one.weight for one in hungry)
    while pool > 0 and weights > 0 and hungry:
        more = _by_largest_remainder(pool, weights, hungry) if exact else _each_rounded(pool, weights, hungry)
        left, pool = [], 0
        for one in hungry:
            found[one.name] += more[one.name]
            if found[one.name] < one.request:
                left.append(one)
            else:
                pool += found[one.name] - one.request
                found[one.name] = one.request
        hungry, weights = left, sum(one.weight for one in left)
    return found


def _each_rounded(pool: int, weights: int, hungry: Sequence[Claimant]) -> Mapping[str, int]:
    """Return the shares as 1.7 and 1.8 compute them, in floating point: they need not add up to the pool."""
    return {one.name: int(float(one.weight) * float(pool) / float(weights) + 0.5) for one in hungry}


def _by_largest_remainder(pool: int, weights: int, hungry: Sequence[Claimant]) -> Mapping[str, int]:
    """Return the shares as main computes them (`computeHamiltonDeltas`)."""
    entitled = [one for one in hungry if one.weight > 0]
    found = dict.fromkeys((one.name for one in hungry), 0)
    found.update((one.name, one.weight * pool // weights) for one in entitled)
    rest = max(0, pool - sum(found.values()))
    ranked = sorted(entitled, key=lambda one: (-(one.weight * pool % weights), one.name))
    for one in ranked[:rest]:
        found[one.name] += 1
    return found
