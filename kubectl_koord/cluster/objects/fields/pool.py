"""Values that many objects have in common, kept once."""

from collections.abc import Mapping
from sys import intern

from kubectl_koord.cluster.objects.fields.amounts import Amounts, amounts, resources
from kubectl_koord.model import pods
from kubectl_koord.model.values import selectors


class SharedValues:
    """Label sets and amounts seen so far, so that equal ones are one object and are computed once."""

    def __init__(self) -> None:
        """Start with nothing seen."""
        self._labels: dict[selectors.Labels, selectors.Labels] = {}
        self._pairs: dict[tuple[str, str | None], tuple[str, str]] = {}
        self._allocatable: dict[tuple[tuple[str, str | int | float], ...], pods.Resources] = {}

    def labels(self, written: Mapping[str, str | None] | None) -> selectors.Labels:
        """Return labels in key order, one object for all equal sets."""
        pairs = self._pairs
        new = tuple(sorted([pairs.get(pair) or self._pair(*pair) for pair in (written or {}).items()]))
        return self._labels.setdefault(new, new)

    def _pair(self, key: str, value: str | None) -> tuple[str, str]:
        pair = intern(key), intern(value or "")
        return self._pairs.setdefault((key, value), pair) if value is None else self._pairs.setdefault(pair, pair)

    def allocatable(self, written: Amounts | None) -> pods.Resources:
        """Return a node's amounts, one object for all equal lists.

        Raises:
            QuantityError: when an amount is no quantity.

        """
        key = tuple(written.items()) if written else ()
        found = self._allocatable.get(key)
        if found is None:
            found = self._allocatable[key] = resources(amounts(written))
        return found
