"""What is said of gangs that Volcano schedules."""

from kubectl_koord.reports.jobs.volcano import VolcanoCondition, VolcanoGang
from kubectl_koord.wording.words import count


def decides(gang: VolcanoGang) -> str:
    """Return that Volcano decides about a gang, and how far it is."""
    return f"Volcano schedules it ({_phase(gang)}, queue {gang.queue}); no decision is computed for another scheduler"


def state(gang: VolcanoGang) -> str:
    """Return how far a gang is, without its name: `phase Inqueue: 2 pods pending, none running`."""
    pods = [f"{count(len(gang.pending), 'pod')} pending"] if gang.pending else []
    pods.append(f"{gang.running or 'none'} running")
    pods += [f"{number} {word}" for number, word in ((gang.succeeded, "succeeded"), (gang.failed, "failed")) if number]
    return f"{_phase(gang)}: {', '.join(pods)}"


def scheduled(gang: VolcanoGang) -> str:
    """Return that Volcano has scheduled a gang, as the end of a sentence that begins with its name."""
    return f"scheduled by Volcano ({state(gang)})"


def _phase(gang: VolcanoGang) -> str:
    return f"phase {gang.phase}" if gang.phase else "no phase yet"


def queue_changed(gang: VolcanoGang) -> str:
    """Return the state of a gang's queue, which was another."""
    return f"queue {gang.queue} is {gang.queue_state or 'without a state'}"


def gone(key: str) -> str:
    """Return that a gang is there no more."""
    return f"{key} no longer exists: it has no PodGroup of Volcano"


def last_said(gang: VolcanoGang) -> str:
    """Return the newest of its conditions in a line, empty without any."""
    newest = max(gang.conditions, key=lambda one: one.since, default=None)
    return said(newest) if newest is not None else ""


def said(one: VolcanoCondition) -> str:
    """Return a condition in a line: `Unschedulable: NotEnoughResources: 2/2 tasks in gang unschedulable`."""
    head = one.type if one.status in {"True", ""} else f"{one.type}={one.status}"
    return ": ".join(filter(None, (head, one.reason, one.message)))
