"""Lists of resources."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from operator import itemgetter
from typing import TypeAlias

import msgspec

from kubectl_koord.model import pods
from kubectl_koord.model.values import quantity

Amounts: TypeAlias = dict[str, str | int | float]
Nano: TypeAlias = dict[str, int]
CPU_AND_MEMORY = ("cpu", "memory")
_cpu_and_memory = itemgetter(*CPU_AND_MEMORY)
_DIGITS, _WITH_COMMAS = b"0123456789", bytes.maketrans(b" ", b",")
_SUFFIXES = b"mKMi"
_LIKE = bytes.maketrans(_SUFFIXES + _DIGITS, b"m" * len(_SUFFIXES) + b"0" * len(_DIGITS))
_integers = msgspec.json.Decoder(list[int]).decode
_OF_CPU, _OF_MEMORY = {b"m": 1, b"": 1000}, {b"": 1, b"Ki": 1 << 10, b"Mi": 1 << 20}
_MOST_MEASURED = 1 << 43  # more MiB than that are no int64
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


def amounts(written: Amounts | None, parse: Callable[[str | float], int] = quantity.parse) -> Nano:
    """Return a resource list in billionths, under the names that the scheduler uses.

    Args:
        written: the list.
        parse: reads an amount.

    Raises:
        QuantityError: naming the resource whose amount is no quantity.

    Mirrors the renames of pkg/util/transformer in Koordinator: a name stays where the new one is there, too.

    """
    result: Nano = {}
    for resource, text in (written or {}).items():
        new = _RENAMED.get(resource, resource)
        if written is not None and new in written:
            new = resource
        try:
            result[new] = parse(text)
        except quantity.QuantityError as problem:
            raise quantity.QuantityError(f"{resource}: {problem}") from None
    return result


def resources(nano: Nano) -> pods.Resources:
    """Return rounded amounts in name order; zero amounts are left out."""
    rounded = ((resource, quantity.amount(resource, value)) for resource, value in sorted(nano.items()))
    return tuple((resource, number) for resource, number in rounded if number)


def measured(written: Amounts | None) -> pods.Resources:
    """Return `resources` of what was measured: hardly two are spelled alike.

    Raises:
        QuantityError: as `amounts`.

    """
    return resources(amounts(written, quantity.parse_once))


def cpu_and_memory(written: Sequence[Amounts]) -> list[int] | None:
    """Return the CPU and the memory of each, as `resources` has them, None unless all are spelled as koordlet does.

    There is at least one. Of CPUs it writes thousandths, or whole ones; of memory bytes, where they are an average,
    and else as many KiB or MiB.
    """
    try:
        text = " ".join(chain.from_iterable(map(_cpu_and_memory, written))).encode()
    except (KeyError, TypeError):  # another resource, or a number
        return None
    if sum(map(len, written)) != 2 * len(written) or b"m0" in text.translate(_LIKE):  # digits behind a suffix
        return None
    units = text.translate(None, _DIGITS).split(b" ")
    try:
        numbers: list[int] = _integers(b"[" + text.translate(_WITH_COMMAS, _SUFFIXES) + b"]")
        if len(numbers) != 2 * len(written) or max(numbers) >= _MOST_MEASURED:
            return None
        _multiply(numbers, slice(0, None, 2), units, _OF_CPU)
        _multiply(numbers, slice(1, None, 2), units, _OF_MEMORY)
    except (msgspec.DecodeError, KeyError):  # no digits, zeros before others, or another suffix
        return None
    return numbers


def _multiply(numbers: list[int], which: slice, units: list[bytes], factors: Mapping[bytes, int]) -> None:
    """Multiply some numbers by what their units stand for: most have one unit."""
    written = units[which]
    if written.count(written[0]) < len(written):
        numbers[which] = [number * factors[unit] for number, unit in zip(numbers[which], written, strict=True)]
    elif (factor := factors[written[0]]) != 1:
        numbers[which] = [number * factor for number in numbers[which]]


def limits(written: Amounts | None) -> pods.Resources:
    """Return amounts in name order, zeros among them: of a resource with a limit of zero nothing may be used.

    Each resource with its amount is one object for all that are written alike.

    Raises:
        QuantityError: naming the resource whose amount is no quantity.

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
        return resource, quantity.amount(resource, quantity.parse_once(written))
    except quantity.QuantityError as problem:
        raise quantity.QuantityError(f"{name}: {problem}") from None


def forget() -> None:
    """Keep no amount any more for lists that are yet to come: all are read."""
    _amount.cache_clear()
