"""What the scheduler last said of a gang, and whether it still holds."""

from collections.abc import Sequence

from kubectl_koord.explain.messages import Words, read
from kubectl_koord.explain.reports import SchedulerSays, SlotRow, Verdict
from kubectl_koord.model.pods import Condition, PendingPod


def scheduler_says(pending: Sequence[PendingPod], rows: Sequence[SlotRow], verdict: Verdict) -> SchedulerSays | None:
    """Return the root cause among the members' conditions, None where nothing was said.

    The root cause is what does not quote another member; of several the newest. `agrees` compares
    its slots with those of now; without slots it is False when the gang would be placed now.
    """
    found = root(pending)
    if found is None:
        return None
    _, condition, words = found
    return SchedulerSays(condition.message, condition.since, _agrees(words, rows, verdict))


def root(pending: Sequence[PendingPod]) -> tuple[str, Condition, Words] | None:
    """Return the pod (`ns/name`) whose condition tells the root cause, the condition, and what it says."""
    said = [
        (pod.key, pod.condition, read(pod.condition.message))
        for pod in pending
        if pod.condition and pod.condition.message
    ]
    roots = [one for one in said if not one[2].is_quote] or said[:1]
    return max(roots, key=lambda one: one[1].since) if roots else None


def _agrees(words: Words, rows: Sequence[SlotRow], verdict: Verdict) -> bool | None:
    slots = words.slots
    if slots is not None and rows:
        if slots.best is not None:
            return slots.best == (len(rows), max(row.offer_slots for row in rows))
        counted = {(domain.layer, domain.name): domain.slots for domain in slots.domains}
        return counted == {(row.layer, row.name): row.offer_slots for row in rows}
    return False if verdict == "yes" else None
