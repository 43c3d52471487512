"""The pending gangs by cause."""

from collections import Counter
from collections.abc import Iterable, Mapping

from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.values import quantity
from kubectl_koord.reports.jobs.pending import CauseGroup, PodShape, WhyReport
from kubectl_koord.wording.words import main_amounts, requests

_ORDER = {"no": 0, "unknown": 1, "yes": 2}


def by_cause(items: Iterable[WhyReport]) -> tuple[CauseGroup, ...]:
    """Return the items by verdict and cause: those that cannot start first, of these the cause of most pods."""
    found: dict[tuple[str, str], list[WhyReport]] = {}
    for item in items:
        code = item.cause.code if item.cause is not None and item.verdict != "yes" else ""
        found.setdefault((item.verdict, code), []).append(item)
    groups = (_group(reports) for reports in found.values())
    return tuple(sorted(groups, key=lambda group: (_ORDER[group.verdict], -group.pods, group.code)))


def _group(items: list[WhyReport]) -> CauseGroup:
    items.sort(key=lambda item: (item.waiting_since, item.gang))
    first = items[0]
    totals = _sum(item.waiting for item in items)
    return CauseGroup(
        code=first.cause.code if first.cause is not None and first.verdict != "yes" else "",
        verdict=first.verdict,
        gangs=tuple(item.gang for item in items),
        pods=sum(len(item.pending_pods) for item in items),
        waiting=_spelled(totals),
        oldest=first.waiting_since,
        waiting_for=main_amounts(totals),
    )


def asked_for(pods: Iterable[PendingPod]) -> tuple[dict[str, str], str]:
    """Return what pods request together: spelled as quantities, by resource; and in words what counts most."""
    totals: dict[str, int] = {}
    for pod in pods:
        for resource, amount in pod.requirements.requests:
            totals[resource] = totals.get(resource, 0) + amount
    return _spelled(totals), main_amounts(totals)


def shapes(pods: Iterable[PendingPod]) -> tuple[PodShape, ...]:
    """Return pods by what they request, the most first."""
    found = Counter(pod.requirements.requests for pod in pods)
    return tuple(
        PodShape(number, requests(needs), {name: quantity.spell(name, amount) for name, amount in needs})
        for needs, number in found.most_common()
    )


def _sum(parts: Iterable[Mapping[str, str]]) -> dict[str, int]:
    totals: dict[str, int] = {}
    for part in parts:
        for resource, written in part.items():
            totals[resource] = totals.get(resource, 0) + quantity.amount(resource, quantity.parse(written))
    return totals


def _spelled(totals: Mapping[str, int]) -> dict[str, str]:
    return {resource: quantity.spell(resource, number) for resource, number in sorted(totals.items())}
