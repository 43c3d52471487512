"""Resource amounts, and values that many pods share (interned)."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from operator import getitem, itemgetter, mul
from sys import intern
from typing import Annotated, TypeAlias

import msgspec

from kubectl_koord.cluster.bounds import decoder
from kubectl_koord.model import objects, values
from kubectl_koord.model.values import Resources

Amounts: TypeAlias = dict[str, str | int | float]
Nano: TypeAlias = dict[str, int]
CPU_AND_MEMORY = ("cpu", "memory")
_list = decoder(Amounts | None)
_DIGITS = b"0123456789"
_NO_DIGIT = re.compile(rb':"\D')
_APART = bytes(sign if sign in _DIGITS else ord("," if sign in b",}" else " ") for sign in range(1 << 8))
_MOST_MEASURED = 1 << 43  # more MiB than that are no int64
_numbers = msgspec.json.Decoder(list[Annotated[int, msgspec.Meta(lt=_MOST_MEASURED)]]).decode
_FORMS = {
    b'{"cpu":"%s","memory":"%s"' % (cpu, memory): (thousandths, size)
    for cpu, thousandths in ((b"m", 1), (b"", 1000))
    for memory, size in ((b"", 1), (b"Ki", 1 << 10), (b"Mi", 1 << 20))
}
"""How koordlet writes a list, without the digits, and what its numbers are to be multiplied by."""
_MOST_LISTS, _MOST_AMOUNTS = 1 << 8, 1 << 14
_RENAMED = {
    "koordinator.sh/batch-cpu": "kubernetes.io/batch-cpu",
    "koordinator.sh/batch-memory": "kubernetes.io/batch-memory",
    "kubernetes.io/gpu": "koordinator.sh/gpu",
    "kubernetes.io/gpu-core": "koordinator.sh/gpu-core",
    "kubernetes.io/gpu-memory": "koordinator.sh/gpu-memory",
    "kubernetes.io/gpu-memory-ratio": "koordinator.sh/gpu-memory-ratio",
    "kubernetes.io/rdma": "koordinator.sh/rdma",
    "kubernetes.io/fpga": "koordinator.sh/fpga",
}


def amounts(written: Amounts | None, parse: Callable[[str | float], int] = values.parse) -> Nano:
    """Return a resource list in billionths, under the names that the scheduler uses.

    Mirrors the renames of pkg/util/transformer in Koordinator: a name stays where the new one is there, too.

    Raises QuantityError, naming the resource whose amount is no quantity.
    """
    result: Nano = {}
    for resource, text in (written or {}).items():
        new = _RENAMED.get(resource, resource)
        if written is not None and new in written:
            new = resource
        try:
            result[new] = parse(text)
        except values.QuantityError as problem:
            raise values.QuantityError(f"{resource}: {problem}") from None
    return result


def decoded(written: msgspec.Raw) -> Amounts | None:
    """Return a list that was left as bytes. Raises msgspec.ValidationError when it is something else."""
    found: Amounts | None = _list.decode(written)
    return found


def resources(nano: Nano) -> Resources:
    """Return rounded amounts in name order; zero amounts are left out."""
    rounded = ((resource, values.amount(resource, value)) for resource, value in sorted(nano.items()))
    return tuple((resource, number) for resource, number in rounded if number)


def every_amount(written: Amounts | None) -> dict[str, int]:
    """Return rounded amounts by resource; those that are zero are there, too: of a limit that is not none at all.

    Raises QuantityError: as `amounts`.
    """
    return {resource: values.amount(resource, value) for resource, value in sorted(amounts(written).items())}


def measured(written: Amounts | None) -> Resources:
    """Return measured amounts, without a cache: hardly two texts are equal. Raises QuantityError: as `amounts`."""
    return resources(amounts(written, values.parse_once))


def cpu_and_memory(*groups: Sequence[bytes | msgspec.Raw]) -> list[list[int]] | None:
    """Return the CPU and the memory of each list of each group, as `resources` has them; the lists are JSON.

    None where there are no lists, and unless all are as koordlet writes them: of CPUs thousandths, or whole ones; of
    memory bytes, where they are an average, and else as many KiB or MiB.
    """
    text = b"".join(chain.from_iterable(groups))
    forms = text.translate(None, _DIGITS).split(b"}")
    lists = len(forms) - 1
    # Forms do not tell where digits are. But each amount begins with one, and all between two commas stand together, or
    # there is no list of numbers: so none is in a name or behind a unit.
    if not lists or lists != sum(map(len, groups)) or _NO_DIGIT.search(text):
        return None
    try:
        numbers = _numbers(b"[" + text.translate(_APART)[:-1] + b"]")
        found, start = [], 0
        for group in groups:
            end = start + len(group)
            found.append(_multiplied(numbers[2 * start : 2 * end], forms[start:end]))
            start = end
    except (msgspec.DecodeError, KeyError):  # two numbers, zeros before others, or a large one; another form
        return None
    return found


def _multiplied(numbers: list[int], forms: list[bytes]) -> list[int]:
    """Return numbers multiplied by their units; most lists have the same units."""
    if forms and forms.count(forms[0]) < len(forms):
        return list(map(mul, numbers, chain.from_iterable([_FORMS[form] for form in forms])))
    for first, factor in enumerate(_FORMS[forms[0]] if forms else ()):
        if factor != 1:
            numbers[first::2] = [number * factor for number in numbers[first::2]]
    return numbers


def limits(written: Amounts | None) -> Resources:
    """Return amounts in name order, zeros among them: of a resource with a limit of zero nothing may be used.

    Each pair of resource and amount is one shared object, cached by its text. Raises QuantityError, naming the resource
    whose amount is no quantity.
    """
    if not written:
        return ()
    return tuple([_amount(new, name, written[name]) for new, name in _names(tuple(written))])


@lru_cache(_MOST_LISTS)
def _names(written: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Return the names that the scheduler uses, in order, each with the one that is written."""
    renamed = ((_RENAMED.get(name, name), name) for name in written)
    return tuple(sorted((name, name) if new in written else (new, name) for new, name in renamed))


@lru_cache(_MOST_AMOUNTS)
def _amount(resource: str, name: str, written: str | float) -> tuple[str, int]:
    try:
        return resource, values.amount(resource, values.parse_once(written))
    except values.QuantityError as problem:
        raise values.QuantityError(f"{name}: {problem}") from None


def forget() -> None:
    """Keep no amount any more for lists that are yet to come: all are read."""
    _amount.cache_clear()


Allocatable: TypeAlias = tuple[Resources, tuple[str, ...]]
"""What a node has of resources, and the names of those that it reports and has nothing of."""

_MOST = 1 << 10


class _Pairs(dict[str | None, tuple[str, str]]):
    """The labels of one key in the cache, by value."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = intern(name)

    def __missing__(self, value: str | None) -> tuple[str, str]:
        pair = self[value] = (self._name, intern(value)) if value is not None else self[""]
        return pair


class _Names:
    """The label sets in the cache that have the same keys."""

    __slots__ = ("in_order", "pairs")

    def __init__(self, pairs: list[_Pairs], places: list[int]) -> None:
        self.pairs = [pairs[place] for place in places]
        # API servers write labels in the order of their names.
        self.in_order = itemgetter(*places) if places != sorted(places) else None


class SharedValues:
    """A cache of label sets and amounts, so that equal ones are one object and are computed once."""

    def __init__(self) -> None:
        self._labels: dict[values.Labels, values.Labels] = {}
        self._label_names: dict[tuple[str, ...], _Names] = {}
        self._pairs: dict[str, _Pairs] = {}
        self._allocatable: dict[Resources, Resources] = {}
        self._none_of: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._lost: dict[tuple[Resources, Resources], Resources] = {}

    def labels(self, written: Mapping[str, str | None] | None) -> values.Labels:
        """Return labels in key order, one object for all equal sets."""
        new = self.own_labels(written)
        return self._labels.setdefault(new, new)

    def own_labels(self, written: Mapping[str, str | None] | None) -> values.Labels:
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

    def allocatable(self, written: Amounts | None) -> Allocatable:
        """Return a node's amounts, and of what it has nothing, one object for all equal lists.

        Raises QuantityError when an amount is no quantity.
        """
        try:
            every = limits(written)
        except values.QuantityError:
            every = resources(amounts(written))  # names the first of those that are none
        has = tuple([one for one in every if one[1]])
        none_of = tuple([resource for resource, amount in every if not amount])
        return self._allocatable.setdefault(has, has), self._none_of.setdefault(none_of, none_of)

    def lost(self, allocatable: Amounts | None, capacity: Amounts | None) -> Resources:
        """Return by resource how many cards of a node's capacity are not allocatable, none without a capacity.

        Raises QuantityError when an amount is no quantity.
        """
        if not capacity or capacity == allocatable:
            return ()
        key = self.allocatable(allocatable)[0], self.allocatable(capacity)[0]
        found = self._lost.get(key)
        if found is None:
            offered = dict(key[0])
            found = self._lost[key] = tuple(
                (resource, missing)
                for resource, amount in key[1]
                if objects.family(resource) and (missing := amount - offered.get(resource, 0)) > 0
            )
        return found
