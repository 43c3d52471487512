"""What reservations do before a gang is tried, and to it."""

from collections.abc import Sequence

from kubectl_koord.wording.words import listed

DEPENDS_ON_LANDING = "it depends on where the scheduler places pending reservations; no object shows this."
ONLY_RESERVATIONS = "what it would choose are reservations, which it cannot delete"
_MOST_NAMED = 3


def once_placed(landing: Sequence[tuple[str, str]], case: str) -> str:
    """Return a case with where pending reservations are placed before."""
    if not landing:
        return case
    placed = [
        f"reservation {name} is placed {f'on {node}' if node else 'over running pods'}"
        for name, node in landing[:_MOST_NAMED]
    ]
    more = [f"{len(landing) - _MOST_NAMED} more on other nodes"] if len(landing) > _MOST_NAMED else []
    return f"{', '.join([*placed, *more])}, and {case}"


OWNERS_FORGOTTEN = (
    "it depends on running pods that own a reservation: a scheduler of this version may forget them when it starts,"
    " and then counts both."
)


def plugin_off(points: Sequence[str]) -> str:
    """Return what becomes of reservations where the profile does not enable their plugin at some points."""
    effects = []
    if set(points) - {"reserve"}:
        effects.append("what pods may or must use of reservations is not checked")
    if "reserve" in points:
        effects.append("pods do not use up the reservations that they match, which keep their room beside them")
    return f"the scheduler's profile does not enable plugin Reservation at {listed(points)}: {' and '.join(effects)}."


def members(names: Sequence[str]) -> str:
    """Return that pending reservations count as members of the gang."""
    are = "reservation {} counts as a member" if len(names) == 1 else "reservations {} count as members"
    return f"pending {are.format(listed(names))} of the gang, each with a pod of its own that the scheduler places."


def bound_members(names: Sequence[str]) -> str:
    """Return that reservations on nodes count as bound members of the gang."""
    are = "reservation {} counts as a bound member" if len(names) == 1 else "reservations {} count as bound members"
    return f"{are.format(listed(names))} of the gang as long as {'it exists' if len(names) == 1 else 'they exist'}."


def preempts(name: str, pods: Sequence[str]) -> str:
    """Return whom a pending reservation preempts."""
    return f"pending reservation {name} goes first, finds no room, and would preempt {listed(pods)}."


def overcommitted(nodes: Sequence[str]) -> str:
    """Return where 1.7 places more than there is room for."""
    return (
        f"{listed(nodes)} would be overcommitted: it needs more there than its reservation holds, and more than is left"
        " beside it."
    )


def victims(names: Sequence[str]) -> str:
    """Return that preemption cannot delete reservations."""
    noun = "reservation" if len(names) == 1 else "reservations"
    return f"preemption would choose {noun} {listed(names)}, which it cannot delete: that room stays reserved."
