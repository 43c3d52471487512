"""How findings name what they are about."""

from collections.abc import Sequence

from kubectl_koord.wording.words import listed

_FEW = 4


def about(kind: str, names: Sequence[str]) -> str:
    """Return the kind and name of the first, and how many more there are: `Node/n1 and 3 more`."""
    return f"{kind}/{first(names)}" if names else kind


def first(names: Sequence[str]) -> str:
    """Return the first of the names, and how many more there are."""
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def some(names: Sequence[str]) -> str:
    """Return the first names, and how many more there are."""
    if len(names) <= _FEW + 1:
        return listed(names)
    return f"{', '.join(names[:_FEW])} and {len(names) - _FEW} more"
