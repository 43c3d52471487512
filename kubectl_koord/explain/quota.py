"""A quota's refusal in the scheduler's own words: quotas themselves are not evaluated."""

from collections.abc import Iterable

from kubectl_koord.explain.messages import QuotaWords, refused_by_quota
from kubectl_koord.explain.question import Question
from kubectl_koord.explain.reports import Cause
from kubectl_koord.explain.said import root
from kubectl_koord.explain.words import listed, resource_name


def refuses(question: Question, unseen: Iterable[str]) -> Cause | None:
    """Return the cause of pods that the scheduler refuses for their quota, None where it does not say so.

    `unseen` is what is not evaluated for the subject: where no quota is among it, the refusal is out of date.
    """
    found = root(question.subject.pending)
    if found is None or not any(item.startswith("quota") for item in unseen):
        return None
    key, condition, words = found
    refusal = refused_by_quota(words)
    if refusal is None:
        return None
    since = f" since {condition.since}" if condition.since else ""
    message = (
        f"the scheduler says{since} that quota {refusal.quota} has no room for {key}{_numbers(refusal)};"
        " quotas are not evaluated here."
    )
    return Cause("quota", message, (key,))


def _numbers(refusal: QuotaWords) -> str:
    """Return used, limit and request of the resources that are over: ` (CPU: 4 of 4 used, it asks for 1)`."""
    lists = [_amounts(written) for written in (refusal.used, refusal.limit, refusal.request)]
    parts = []
    for resource in refusal.resources:
        used, limit, asked = (amounts.get(resource, "0") for amounts in lists)
        parts.append(f"{resource_name(resource)}: {used} of {limit} used, it asks for {asked}")
    return f" ({listed(parts)})" if parts else ""


def _amounts(written: str) -> dict[str, str]:
    """Return `cpu:4,memory:8Gi` by resource; `<empty>` holds nothing."""
    entries = (entry.rpartition(":") for entry in written.split(","))
    return {resource: amount for resource, colon, amount in entries if colon}
