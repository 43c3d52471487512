"""Lists of resources."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain
from operator import mul
from typing import Annotated, TypeAlias

import msgspec

from kubectl_koord.cluster.decoders import decoder
from kubectl_koord.model import pods
from kubectl_koord.model.values import quantity

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


def decoded(written: msgspec.Raw) -> Amounts | None:
    """Return a list that was left as bytes.

    Raises:
        msgspec.ValidationError: when it is something else.

    """
    found: Amounts | None = _list.decode(written)
    return found


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
    """Return numbers multiplied by what their units stand for: most lists have the same."""
    if forms and forms.count(forms[0]) < len(forms):
        return list(map(mul, numbers, chain.from_iterable([_FORMS[form] for form in forms])))
    for first, factor in enumerate(_FORMS[forms[0]] if forms else ()):
        if factor != 1:
            numbers[first::2] = [number * factor for number in numbers[first::2]]
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
