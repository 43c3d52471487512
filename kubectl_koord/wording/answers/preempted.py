"""The sentences of `why-preempted`."""

from collections.abc import Sequence

from kubectl_koord.wording.words import listed


def events_unread(message: str) -> str:
    """Return why events could not be read."""
    return f"Event: {message}"


def members_by_name(pods: Sequence[str]) -> str:
    """Return which deleted pods are taken for members by their names alone."""
    return f"membership of deleted pods is inferred from their names: {listed(pods)}."


def nothing_shows_it(*, is_pod: bool) -> str:
    """Return that nothing tells of a preemption of a pod, or of the pods of a gang."""
    whose = "" if is_pod else " of its pods"
    return f"no condition or event{whose} shows it (events are kept for about 1 hour)."
