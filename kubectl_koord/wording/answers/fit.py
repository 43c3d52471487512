"""The sentences of `fit` that the answer carries."""

from collections.abc import Sequence

from kubectl_koord.wording.words import listed


def not_beside(others: Sequence[str]) -> str:
    """Return that a gang fits alone, and not once others are placed that were submitted with it."""
    verb = "has" if len(others) == 1 else "have"
    return f"it fits alone, but not once {listed(others)} {verb} been placed."


def skipped(kinds: Sequence[str]) -> str:
    """Return which kinds in manifests make no pods that are known of."""
    return f"the manifests also have {listed(kinds)}: no pods are known of them, and they were left out."


def assumed(groups: Sequence[str]) -> str:
    """Return which PodGroups operators are taken to make."""
    noun = "PodGroup" if len(groups) == 1 else "PodGroups"
    return f"{noun} {listed(groups)}: made by the job's operator, if gang scheduling is enabled there."
