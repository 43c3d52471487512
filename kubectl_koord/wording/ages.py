"""How long ago something was, and which pods should have terminated by now."""

import re
from collections.abc import Iterable
from datetime import timedelta

from kubectl_koord.model.pods import RunningPod
from kubectl_koord.model.values.moments import between
from kubectl_koord.wording.words import listed

_SLACK = timedelta(minutes=1)
_AGO = re.compile(r"\b\d+[dhms] ago\b")


def spelled(age: timedelta) -> str:
    """Return an age in its largest unit: `13d`, `2h`, `90s`, as kubectl does."""
    seconds = int(age.total_seconds())
    for size, sign in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= 2 * size:
            return f"{seconds // size}{sign}"
    return f"{max(seconds, 0)}s"


def without_ages(text: str) -> str:
    """Return a text to compare with another, which may have been said a second later."""
    return _AGO.sub("ago", text)


def age_at(since: str, moment: str) -> str:
    """Return how long before `moment` the other moment was, empty when one of them is no time."""
    age = between(since, moment)
    return "" if age is None else spelled(age)


def overdue(pods: Iterable[RunningPod], moment: str) -> tuple[RunningPod, ...]:
    """Return the pods that still terminate though their grace period is over, the latest first.

    They may never end: a finalizer keeps them, or their node does not answer.
    """
    late = [(age, pod) for pod in pods if (age := between(pod.gone_by, moment)) is not None and age > _SLACK]
    return tuple(pod for _, pod in sorted(late, key=lambda item: (-item[0], item[1].key)))


def overdue_clause(pods: Iterable[RunningPod], moment: str) -> str:
    """Return, to follow a sentence, which pods should have terminated, and since when; empty for none."""
    late = overdue(pods, moment)
    age = between(late[0].gone_by, moment) if late else None
    if age is None:
        return ""
    return f"{listed([pod.key for pod in late])} should have terminated {spelled(age)} ago: check finalizers and node"
