"""Lists of resources."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain
from operator import itemgetter
from typing import TypeAlias

import msgspec

from kubectl_koord.model import pods
from kubectl_koord.model.values import quantity

Amounts: TypeAlias = dict[str, str | int | float]
Nano: TypeAlias = dict[str, int]
_cpu_and_memory = itemgetter("cpu", "memory")
_DIGITS, _WITH_COMMAS = b"0123456789", bytes.maketrans(b" ", b",")
_integers = msgspec.json.Decoder(list[int]).decode
_MOST_DIGITS = 10
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
    """Return `resources` of what was measured: hardly two are spelled alike, but most are spelled as koordlet does.

    Raises:
        QuantityError: as `amounts`.

    """
    if written and len(written) == 2:  # noqa: PLR2004
        cpu, memory = written.get("cpu"), written.get("memory")
        if isinstance(cpu, str) and isinstance(memory, str):
            milli, kib = _number(cpu, "m"), _number(memory, "Ki")
            if milli and kib:
                return ("cpu", milli), ("memory", kib << 10)
    return resources(amounts(written, quantity.parse_once))


def _number(text: str, suffix: str) -> int:
    """Return the number before a suffix, 0 where it is none, or a large one."""
    digits = text[: -len(suffix)]
    is_plain = len(digits) <= _MOST_DIGITS and digits.isascii() and digits.isdigit() and text.endswith(suffix)
    return int(digits) if is_plain else 0


def cpu_and_memory(written: Sequence[Amounts]) -> list[int] | None:
    """Return the CPU and the memory of each, as `measured` has them, None unless all are spelled as koordlet does.

    There is at least one.
    """
    try:
        text = " ".join(chain.from_iterable(map(_cpu_and_memory, written)))
    except (KeyError, TypeError):  # another resource, or a number
        return None
    if sum(map(len, written)) != 2 * len(written):
        return None
    count, read = len(written), text.encode()
    # Each with its suffix, in turn, and nothing but digits before it.
    if (
        read.count(b"m ") != count
        or read.count(b"Ki ") != count - 1
        or read.translate(None, _DIGITS) != (b"m Ki " * count)[:-1]
        or not read.endswith(b"Ki")
    ):
        return None
    try:
        numbers: list[int] = _integers(b"[" + read.translate(_WITH_COMMAS, b"mKi") + b"]")
    except msgspec.DecodeError:  # no digits, or zeros before others
        return None
    if not 0 < min(numbers) <= max(numbers) < 10**_MOST_DIGITS:
        return None
    numbers[1::2] = [kib << 10 for kib in numbers[1::2]]
    return numbers


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
