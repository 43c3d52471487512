"""Why the scheduler remembers something else than the objects say."""

from collections.abc import Collection

from kubectl_koord.wording.words import count, listed

_SHOWN = 5


def waiting_in_permit(pods: Collection[str]) -> str:
    """Return that pods have a node in its memory alone, until enough others have one."""
    return f"{_pods(pods)} in Permit: a node is kept for each until enough of the gang have one"


def assumed_pods(pods: Collection[str]) -> str:
    """Return that pods are bound in its memory and not yet in the API."""
    one = "its binding is" if len(pods) == 1 else "their bindings are"
    return f"{_pods(pods)} placed in its memory: {one} under way, or waiting in Permit"


def assumed_amounts() -> str:
    """Return that a quota counts pods that are bound in its memory alone."""
    return "used: it counts pods that wait in Permit or are being bound, too"


def reservations_count(pods: Collection[str]) -> str:
    """Return that the pods that stand for Reservations are members."""
    return f"{_pods(pods)} no pod: a Reservation of the gang stands for it in the scheduler's memory"


def deleted_pods_linger(pods: Collection[str]) -> str:
    """Return that it still counts pods that are gone."""
    missed = "the scheduler missed the deletion (1.7 and 1.8 may), or has yet to read of it"
    return f"{_pods(pods)} gone, and still counted: {missed}"


def pods_not_known(pods: Collection[str]) -> str:
    """Return that it does not count pods that exist."""
    again = "it counts each again once that pod changes"
    return f"{_pods(pods)} there, and not counted: the PodGroup came after a deletion, or they are new; {again}"


def flag_lost() -> str:
    """Return that it forgot that the gang ran."""
    return (
        "members are bound, and it does not know that the gang was once satisfied: after a restart it met them before"
        " their PodGroup. New members wait for a whole gang; a change of the PodGroup does not mend it"
    )


def flag_kept() -> str:
    """Return that it remembers members that are gone."""
    return "no member is bound any more, and it remembers that one was: new members are placed one by one, as no gang"


def settings_kept(fields: Collection[str]) -> str:
    """Return that it works with settings that were read earlier."""
    return f"{listed(sorted(fields))}: it keeps what the first pod of the gang said, and the group that it began with"


def gone_but_known() -> str:
    """Return that it knows something that is gone."""
    return "it is in its memory alone: the object is gone, or it comes from another kind of object"


def not_known() -> str:
    """Return that it does not know something."""
    return "the scheduler does not know it: it is new, or another scheduler's"


def runtime_lag() -> str:
    """Return that its runtime is from a while ago."""
    return "runtime: it refreshes that of a quota when one of its pods is tried, and all others later"


def books_lost(pods: Collection[str]) -> str:
    """Return that it does not know what pods have bound."""
    return f"{_pods(pods)} bound there, and not in its books: main forgets CPUs and zones of bound pods at a restart"


def unexplained(fields: Collection[str]) -> str:
    """Return that there is no known reason."""
    return f"{listed(list(fields))}: no known reason; if it stays so, it is worth a report"


def _pods(pods: Collection[str]) -> str:
    names = sorted(pods)
    shown = names if len(names) <= _SHOWN + 1 else [*names[:_SHOWN], f"{len(names) - _SHOWN} more"]
    return f"{count(len(names), 'pod')} ({', '.join(shown)}) {'is' if len(names) == 1 else 'are'}"
