"""What the scheduler last said of a gang, and whether it still holds."""

from collections.abc import Sequence

from kubectl_koord.explain.messages import Words, read
from kubectl_koord.explain.reports import SchedulerSays, SlotRow, Verdict
from kubectl_koord.model.pods import PendingPod


def scheduler_says(pending: Sequence[PendingPod], rows: Sequence[SlotRow], verdict: Verdict) -> SchedulerSays | None:
    """Return the root cause among the members' conditions, None where nothing was said.

    The root cause is what does not quote another member; of several the newest. `agrees` compares
    its slots with those of now; without slots it is False when the gang would be placed now.
    """
    said = [(pod.condition, read(pod.condition.message)) for pod in pending if pod.condition and pod.condition.message]
    if not said:
        return None
    roots = [one for one in said if not one[1].is_quote] or said[:1]
    condition, words = max(roots, key=lambda one: one[0].since)
    return SchedulerSays(condition.message, condition.since, _agrees(words, rows, verdict))


def _agrees(words: Words, rows: Sequence[SlotRow], verdict: Verdict) -> bool | None:
    slots = words.slots
    if slots is not None and rows:
        if slots.best is not None:
            return slots.best == (len(rows), max(row.offer_slots for row in rows))
        counted = {(domain.layer, domain.name): domain.slots for domain in slots.domains}
        return counted == {(row.layer, row.name): row.offer_slots for row in rows}
    return False if verdict == "yes" else None
