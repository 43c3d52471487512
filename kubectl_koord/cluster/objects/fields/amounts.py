"""Lists of resources."""

import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from kubectl_koord.model import pods
from kubectl_koord.model.values import quantity

Amounts: TypeAlias = dict[str, str | int | float]
Nano: TypeAlias = dict[str, int]
_USAGES = re.compile(r"[1-9][0-9]{0,9}m [1-9][0-9]{0,9}Ki(?: [1-9][0-9]{0,9}m [1-9][0-9]{0,9}Ki)*")
_USAGE = re.compile(r"([1-9][0-9]{0,9})m ([1-9][0-9]{0,9})(Ki)?")
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
        if isinstance(cpu, str) and isinstance(memory, str) and (both := _USAGE.fullmatch(f"{cpu} {memory}")):
            return ("cpu", int(both[1])), ("memory", int(both[2]) << 10 if both[3] else int(both[2]))
    return resources(amounts(written, quantity.parse_once))


def cpu_and_memory(written: Sequence[Amounts]) -> list[int] | None:
    """Return the CPU and the memory of each, as `measured` has them, None unless all are spelled as koordlet does."""
    try:
        text = " ".join([f"{one['cpu']} {one['memory']}" for one in written])
    except KeyError:
        return None
    if sum(map(len, written)) != 2 * len(written) or not _USAGES.fullmatch(text):
        return None
    numbers = list(map(int, text.replace("m", "").replace("Ki", "").split(" ")))
    if len(numbers) != 2 * len(written):
        return None
    numbers[1::2] = [kib << 10 for kib in numbers[1::2]]
    return numbers


def limits(written: Amounts | None) -> pods.Resources:
    """Return amounts in name order, zeros among them: of a resource with a limit of zero nothing may be used.

    Raises:
        QuantityError: naming the resource whose amount is no quantity.

    """
    return tuple((name, quantity.amount(name, nano)) for name, nano in sorted(amounts(written).items()))
