"""Values that many objects have in common, kept once."""

from collections.abc import Mapping
from operator import getitem, itemgetter
from sys import intern
from typing import TypeAlias

from msgspec import Raw

from kubectl_koord.cluster.objects.fields.amounts import Amounts, amounts, decoded, limits, resources
from kubectl_koord.model import accelerators, pods
from kubectl_koord.model.values import quantity, selectors

Allocatable: TypeAlias = tuple[pods.Resources, tuple[str, ...]]
"""What a node has of resources, and the names of those that it reports and has nothing of."""

_MOST = 1 << 10


class _Pairs(dict[str | None, tuple[str, str]]):
    """The labels of one name seen so far, by value."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = intern(name)

    def __missing__(self, value: str | None) -> tuple[str, str]:
        pair = self[value] = (self._name, intern(value)) if value is not None else self[""]
        return pair


class _Names:
    """The label sets of the same names."""

    __slots__ = ("in_order", "pairs")

    def __init__(self, pairs: list[_Pairs], places: list[int]) -> None:
        self.pairs = [pairs[place] for place in places]
        # API servers write labels in the order of their names.
        self.in_order = itemgetter(*places) if places != sorted(places) else None


class SharedValues:
    """Label sets and amounts seen so far, so that equal ones are one object and are computed once."""

    def __init__(self) -> None:
        """Start with nothing seen."""
        self._labels: dict[selectors.Labels, selectors.Labels] = {}
        self._label_names: dict[tuple[str, ...], _Names] = {}
        self._pairs: dict[str, _Pairs] = {}
        self._allocatable: dict[pods.Resources, pods.Resources] = {}
        self._none_of: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._written: dict[bytes, Allocatable] = {}
        self._lost: dict[tuple[pods.Resources, pods.Resources], pods.Resources] = {}

    def labels(self, written: Mapping[str, str | None] | None) -> selectors.Labels:
        """Return labels in key order, one object for all equal sets."""
        new = self.own_labels(written)
        return self._labels.setdefault(new, new)

    def own_labels(self, written: Mapping[str, str | None] | None) -> selectors.Labels:
        """Return labels in key order, of an object that hardly has them all like another; equal ones are one object."""
        if not written:
            return ()
        names = tuple(written)
        named = self._label_names.get(names) or self._known_names(names)
        values = tuple(written.values())
        return tuple(map(getitem, named.pairs, named.in_order(values) if named.in_order else values))

    def _known_names(self, names: tuple[str, ...]) -> _Names:
        if len(self._label_names) >= _MOST:
            self._label_names.clear()
        places = sorted(range(len(names)), key=names.__getitem__)
        pairs = [self._pairs.setdefault(name, _Pairs(name)) for name in names]
        named = self._label_names[names] = _Names(pairs, places)
        return named

    def allocatable(self, written: Amounts | Raw | None) -> Allocatable:
        """Return a node's amounts, and of what it has nothing, one object for all equal lists.

        Raises:
            QuantityError: when an amount is no quantity.
            msgspec.ValidationError: when a list that was left as bytes is something else.

        """
        if not isinstance(written, Raw):
            return self._resources(written)
        text = bytes(written)
        found = self._written.get(text)
        if found is None:
            if len(self._written) >= _MOST:
                self._written.clear()
            found = self._written[text] = self._resources(decoded(written))
        return found

    def lost(self, allocatable: Amounts | Raw | None, capacity: Amounts | Raw | None) -> pods.Resources:
        """Return how many cards a node has and does not offer, by resource; none where its capacity is not told.

        Raises:
            QuantityError: when an amount is no quantity.
            msgspec.ValidationError: when a list that was left as bytes is something else.

        """
        if not capacity or bytes(capacity) == b"null" if isinstance(capacity, Raw) else not capacity:
            return ()
        if isinstance(capacity, Raw) and isinstance(allocatable, Raw) and bytes(capacity) == bytes(allocatable):
            return ()
        key = self.allocatable(allocatable)[0], self.allocatable(capacity)[0]
        found = self._lost.get(key)
        if found is None:
            offered = dict(key[0])
            found = self._lost[key] = tuple(
                (resource, missing)
                for resource, amount in key[1]
                if accelerators.family(resource) and (missing := amount - offered.get(resource, 0)) > 0
            )
        return found

    def _resources(self, written: Amounts | None) -> Allocatable:
        try:
            every = limits(written)
        except quantity.QuantityError:
            every = resources(amounts(written))  # names the first of those that are none
        has = tuple([one for one in every if one[1]])
        none_of = tuple([resource for resource, amount in every if not amount])
        return self._allocatable.setdefault(has, has), self._none_of.setdefault(none_of, none_of)
