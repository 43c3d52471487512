"""What reservations do before a gang is tried, and to it."""

from collections.abc import Sequence

DEPENDS_ON_LANDING = "it depends on where the scheduler places pending reservations; no object shows this."
_MOST_NAMED = 3


def once_placed(landing: Sequence[tuple[str, str]], case: str) -> str:
    """Return a case with where pending reservations are placed before."""
    if not landing:
        return case
    placed = [f"reservation {name} is placed on {node}" for name, node in landing[:_MOST_NAMED]]
    more = [f"{len(landing) - _MOST_NAMED} more on other nodes"] if len(landing) > _MOST_NAMED else []
    return f"{', '.join([*placed, *more])}, and {case}"
