"""Who has what of whose minimum: quotas below one parent use what others of them leave."""

from collections.abc import Mapping

from msgspec import Struct

from kubectl_koord.engine.quota.runtimes import QuotaAmounts
from kubectl_koord.model.quotas import ROOT


class Lending(Struct, frozen=True):
    """What quotas below one parent use of one resource beyond their minimums, and what of others' minimums that takes.

    `borrowed` is by quota what it uses above its minimum; `lent` by quota what others use of its minimum. What the
    parent has above all minimums is taken first. Where several leave more than is borrowed, nobody can tell whose
    it is: `lent` is then the most that it can be, and `exact` false.
    """

    borrowed: Mapping[str, int]
    lent: Mapping[str, int]
    exact: bool = True


def lending(amounts: QuotaAmounts, tree: str, parent: str) -> Mapping[str, Lending]:
    """Return who lends and who borrows below a parent that has quotas, by resource: those that anybody borrows."""
    children = amounts.tree.children[tree, parent]
    total = amounts.total(tree) if parent == ROOT else amounts.runtime(parent)
    kept = {child.name: amounts.minimum(child.name) for child in children}
    limits = {child.name: dict(child.max) for child in children}
    found: dict[str, Lending] = {}
    for resource in sorted({resource for most in limits.values() for resource in most}):
        borrowed: dict[str, int] = {}
        left: dict[str, int] = {}
        for child in children:
            if resource not in limits[child.name]:
                continue
            above = amounts.used(child.name).get(resource, 0) - kept[child.name].get(resource, 0)
            if above > 0:
                borrowed[child.name] = above
            elif above < 0 and amounts.lends(child):
                left[child.name] = -above
        if borrowed:
            minimums = sum(least.get(resource, 0) for least in kept.values())
            taken = max(0, sum(borrowed.values()) - max(0, total.get(resource, 0) - minimums))
            lent = {name: min(amount, taken) for name, amount in left.items()} if taken else {}
            found[resource] = Lending(borrowed, lent, exact=len(left) <= 1 or taken in {0, *_all(left, taken)})
    return found


def _all(left: Mapping[str, int], taken: int) -> set[int]:
    """Return the number that is taken where that is all that is left, or more."""
    return {taken} if taken >= sum(left.values()) else set()
