"""What quotas hold back, who has it, and whether the over-use controller acts, in sentences."""

from collections.abc import Iterable, Sequence

from kubectl_koord.model.values import quantity
from kubectl_koord.reports.capacity.quota import HeldBack, Share
from kubectl_koord.wording.words import amount_of, amounts_of, count, listed, main_amounts, resource_name

NO_QUOTAS = "No ElasticQuota exists: no pod is limited by a quota."
NOTHING_HELD_BACK = "No quota holds back any pod."
OFF = "The over-use controller is off (monitorAllQuotas): no pod is evicted for its quota."
OFF_WITHOUT_RUNTIME = "The over-use controller is off (enableRuntimeQuota): no pod is evicted for its quota."
ON = (
    "The over-use controller is on (monitorAllQuotas): it evicts pods of a quota that stays above its runtime for"
    " longer than delayEvictTime."
)


def counted(resource: str, written: str) -> str:
    """Return an amount that is spelled as a quantity as people count it, and anything else as it is."""
    try:
        number = quantity.amount(resource, quantity.parse(written))
    except quantity.QuantityError:
        return written
    return amount_of(resource, number, "rounded")


def spelled_amount(resource: str, written: str) -> str:
    """Return an amount that is spelled as a quantity with what it is of: `8 GPU`."""
    return f"{_told(resource, [written])[0]} {resource_name(resource)}"


def _told(resource: str, written: Sequence[str]) -> Sequence[str]:
    """Return amounts of one sentence that are spelled as quantities as people count them, any others as they are."""
    try:
        return amounts_of(resource, *(quantity.amount(resource, quantity.parse(one)) for one in written))
    except quantity.QuantityError:
        return written


def held_together(held: Sequence[HeldBack]) -> str:
    """Return what quotas hold back together: `48 GPU`; nothing where nobody asks for anything."""
    total: dict[str, int] = {}
    for one in held:
        for resource, written in one.requests.items():
            total[resource] = total.get(resource, 0) + quantity.amount(resource, quantity.parse(written))
    return main_amounts(total)


def headline(held: Sequence[HeldBack], quotas: int) -> str:
    """Return how many quotas hold back how much of how many gangs and pods, of so many quotas."""
    if not held:
        return f"{NOTHING_HELD_BACK[:-1]} ({count(quotas, 'quota')})."
    gangs = {hold.gang for one in held for hold in one.gangs if not hold.lone_pod}
    pods = {pod for one in held for hold in one.gangs for pod in hold.pods}
    whose = f"{count(len(gangs), 'gang')} ({count(len(pods), 'pod')})" if gangs else count(len(pods), "pod")
    much = held_together(held)
    return f"{count(len(held), 'quota')} {_holds(len(held))} back {much + ' of ' if much else ''}{whose}."


def _holds(number: int) -> str:
    return "holds" if number == 1 else "hold"


def held(one: HeldBack) -> str:
    """Return how much one quota holds back, of which gangs."""
    names = [f"{'pod ' if hold.lone_pod else ''}{hold.gang}{_some(hold.of, len(hold.pods))}" for hold in one.gangs]
    much = f"{one.waiting_for} of " if one.waiting_for else ""
    return f"Quota {one.quota} holds back {much}{listed(names)}."


def _some(all_of_them: int, refused: int) -> str:
    return f" ({refused} of {count(all_of_them, 'pod')})" if refused < all_of_them else ""


def holders(shares: Iterable[Share]) -> str:
    """Return who uses more than its minimum of what a quota lacks."""
    by_resource: dict[str, list[Share]] = {}
    for share in shares:
        by_resource.setdefault(share.resource, []).append(share)
    parts: list[str] = []
    for resource, found in by_resource.items():
        told = _told(resource, [one.amount for one in found])
        name = resource_name(resource)
        parts += [f"{listed(one.quotas)} {amount} {name}" for one, amount in zip(found, told, strict=True)]
    return f"Used above their minimums: {listed(parts)}."


def lent(quota: str, share: Share) -> str:
    """Return what a quota lends, and who may have it."""
    limit = "" if share.exact else "up to "
    return f"{quota} lends {limit}{spelled_amount(share.resource, share.amount)} to {listed(share.quotas)}."


def borrowed(quota: str, share: Share) -> str:
    """Return what a quota uses above its minimum, and from whose minimums that may come."""
    part = f"up to {spelled_amount(share.resource, share.of_it)} of it " if share.of_it else ""
    of = f" ({part}from {listed(share.quotas)})" if share.quotas else ""
    return f"{quota} uses {spelled_amount(share.resource, share.amount)} above its minimum{of}."


def unknown(why: str) -> str:
    """Return that the quotas cannot be shown, and why."""
    return f"Cannot show quotas: {why.rstrip('.')}."


def amounts_unknown(why: str) -> str:
    """Return that what quotas use and may use is unknown, and why."""
    return f"Cannot tell what quotas use and may use: {why.rstrip('.')}."


def of_quota(name: str, chain: Sequence[str], pods: int, pending: int, held_back: int) -> str:
    """Return how many pods one quota has, how many of them are pending and refused; and the quotas above it."""
    waiting = f", {pending} of them pending" if pending else ""
    refused = f"; it holds back {held_back or 'none'} of these" if pending else ""
    return f"Quota {name}{_below(chain)} has {count(pods, 'pod')}{waiting}{refused}."


def _below(chain: Sequence[str]) -> str:
    return f" (below {' < '.join(chain)})" if chain else ""


def admits(gang: str, pods: int, admitted: int, refusal: str) -> str:
    """Return how many of a gang's pending pods quotas admit, and why they stop there."""
    if not pods:
        return f"{gang} has no pending pods: there is nothing to admit."
    if admitted == pods:
        return f"Quotas admit all {count(pods, 'pending pod')} of {gang}." if pods > 1 else f"Quotas admit {gang}."
    return f"Quotas admit {admitted} of {count(pods, 'pending pod')} of {gang}: {refusal.rstrip('.')}."


def cannot_admit(gang: str, why: str) -> str:
    """Return that it is open how many pods quotas admit."""
    return f"Cannot tell how many pods of {gang} quotas admit: {why.rstrip('.')}."


def unlimited(gang: str) -> str:
    """Return that no quota limits a gang."""
    return f"No quota limits {gang}."


def depends_on(names: str) -> str:
    """Return what decides and is not evaluated."""
    return f"that depends on {names}, which is not evaluated"


def more_quotas(number: int) -> str:
    """Return how many more quotas there are."""
    return f"... and {count(number, 'more quota')} (--all shows them)"
