"""The sentences of ways out of a quota that refuses."""

from collections.abc import Iterable, Sequence

from kubectl_koord.model.quotas import NAME_LABEL
from kubectl_koord.model.values import quantity
from kubectl_koord.reports.edits import SetQuota
from kubectl_koord.wording.remedies.next_steps import recreate, template_of
from kubectl_koord.wording.words import amounts, amounts_of, count, listed, resource_name


def raise_quota(changes: Iterable[tuple[SetQuota, int]]) -> str:
    """Return which limits of which quotas to raise, from what to what."""
    by_limit: dict[tuple[str, str], list[str]] = {}
    for edit, before in changes:
        after = quantity.amount(edit.resource, quantity.parse(edit.amount))
        named = f"{resource_name(edit.resource)} from {' to '.join(amounts_of(edit.resource, before, after))}"
        by_limit.setdefault((edit.quota, edit.field), []).append(named)
    raised = [f"{field} of quota {_bare(key)} ({listed(parts)})" for (key, field), parts in by_limit.items()]
    guaranteed = any(field == "min" for _, field in by_limit)
    return f"Raise {listed(raised)}" + ("; others can borrow less then" if guaranteed else "")


def _bare(key: str) -> str:
    """Return the name of a quota, which alone tells it apart."""
    return key.rpartition("/")[2]


def other_quota(name: str, others: Sequence[str], owners: Sequence[str], pods: int) -> str:
    """Return the quota for so many pods to run in, and which others would do.

    The label counts from when a pod is created.
    """
    instead = f" (or {listed(others, 'or')})" if others else ""
    return f"Run in quota {name}{instead}: set label {NAME_LABEL} in {template_of(owners)}{recreate(pods)}"


def wait_for_revoking(quotas: Sequence[str], pods: Sequence[str], number: int, after: str) -> str:
    """Return that the over-use controller makes room by itself: in which quotas, by which of so many pods, and when."""
    named = [*pods, *([f"{number - len(pods)} more"] if number > len(pods) else [])]
    over = f"quota {quotas[0]} has been above its" if len(quotas) == 1 else f"quotas {listed(quotas)} were above their"
    return f"Wait: the over-use controller evicts {listed(named)} once {over} runtime for {after}"


def free_quota(
    name: str, over: Sequence[tuple[str, int]], pods: Iterable[tuple[str, str, int]], *, is_own: bool
) -> str:
    """Return which pods of a quota to evict, and how much of what is short they use of it or borrow by it."""
    named = [f"{key} on {node} (priority {priority})" for key, node, priority in pods]
    what = "uses" if is_own else "borrows"
    return f"Evict {count(len(named), 'pod')} to free {amounts(over)} that quota {name} {what}: {listed(named)}"


def recreated(pods: int, owners: Sequence[str], taking_it: Sequence[str]) -> str:
    """Return who creates evicted pods anew, to follow a sentence; last those who must be scaled down before."""
    anew = "it" if pods == 1 else "pods"
    plain = f"; {listed(owners)} {_recreates(owners)} {anew}" if owners else ""
    them = "it" if len(taking_it) == 1 else "them"
    down = f"; {listed(taking_it)} {_recreates(taking_it)} {anew}: scale {them} down" if taking_it else ""
    return plain + down


def _recreates(owners: Sequence[str]) -> str:
    return "recreates" if len(owners) == 1 else "recreate"
