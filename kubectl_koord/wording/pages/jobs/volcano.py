"""The sentences about gangs of Volcano."""

from collections.abc import Iterator

from kubectl_koord.reports.jobs.volcano import VolcanoGang
from kubectl_koord.wording.words import count

TITLE = "Gangs of Volcano"
NOT_COMPUTED = "As Volcano wrote it: no decision is computed for another scheduler."
SAYS = "As Volcano wrote it"


def facts(gang: VolcanoGang) -> Iterator[str]:
    """Yield what is known of a gang besides its conditions."""
    parts = [f"{gang.min_member} wanted", f"{len(gang.pending)} pending", f"{gang.running} running"]
    parts += [f"{number} {word}" for number, word in ((gang.succeeded, "succeeded"), (gang.failed, "failed")) if number]
    yield f"Pods: {', '.join(parts)}."
    yield f"Queue: {queue(gang)}."
    if gang.priority_class:
        policy = gang.preemption_policy or "not read"
        yield f"PriorityClass: {gang.priority_class} (preemptionPolicy {policy})."
    if gang.never_preempting:
        yield f"preemptionPolicy is Never in {count(len(gang.never_preempting), 'pending pod')}."


def queue(gang: VolcanoGang) -> str:
    """Return the name of a gang's queue, and its state."""
    if gang.queue_exists is None:
        return f"{gang.queue} (not read)"
    state = gang.queue_state or "no state yet" if gang.queue_exists else "does not exist"
    return f"{gang.queue} ({state})"


def preempts(gang: VolcanoGang) -> str:
    """Return the preemptionPolicy of its PriorityClass, or that pods have Never themselves."""
    if gang.never_preempting:
        return "Never"
    return gang.preemption_policy or ""
