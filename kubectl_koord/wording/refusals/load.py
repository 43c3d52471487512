"""What measured load does to a preemption, in a sentence."""

from collections.abc import Sequence

from kubectl_koord.wording.words import count, listed

_MOST_NAMED = 4


def overloaded_sentence(nodes: Sequence[str]) -> str:
    """Return that these nodes refuse the pods for load, and that preemption there does not help."""
    which = listed(nodes) if len(nodes) <= _MOST_NAMED else count(len(nodes), "node")
    verb = "refuses" if len(nodes) == 1 else "refuse"
    return f"{which} {verb} its pods for measured load, which preemption there does not lower at once."
