"""The accelerators of a cluster, counted once whatever resource names their cards have.

A card may have its vendor's resource name and Koordinator's: `nvidia.com/gpu: 8` and `koordinator.sh/gpu-core: 800`
on one node are the same eight GPUs. Amounts are in hundredths of a card here, as shares are. A share that
a pod asks for as memory alone (`koordinator.sh/gpu-memory`) is a part of a card that the pod does not show.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from operator import add

from kubectl_koord.model.objects import Node

CARD = 100
GPU = "gpu"
_SHARES = _WHOLE, _CORE, _RATIO = "koordinator.sh/gpu", "koordinator.sh/gpu-core", "koordinator.sh/gpu-memory-ratio"
_OTHERS = frozenset({"npu", "xpu", "tpu", "dcu", "mlu", "ppu", "gcu"})
_BEGINNINGS = ("mig-", "Ascend", "npu-core")
_MOST_NAMES = 1 << 10


@lru_cache(_MOST_NAMES)
def family(resource: str) -> str:
    """Return which cards a resource counts: `gpu`, the resource's own name, or nothing where it counts none."""
    vendor, _, name = resource.rpartition("/")
    if resource in _SHARES or (vendor and name == GPU):
        return GPU
    return resource if vendor and (name in _OTHERS or name.startswith(_BEGINNINGS)) else ""


def is_family(kind: str) -> bool:
    """Tell whether this is a family of cards, which may go by several resources, or a resource that counts some."""
    return kind == GPU or bool(family(kind))


def of_node(amounts: Mapping[str, int]) -> dict[str, int]:
    """Return the cards of a node by family: of several names for the same cards the one that has most of them."""
    return _counted(amounts, max, max(amounts.get(name, 0) for name in _SHARES))


def of_pods(amounts: Mapping[str, int]) -> dict[str, int]:
    """Return the cards that pods request together, by family: each of them goes by one name."""
    shares = amounts.get(_WHOLE, 0) + max(amounts.get(_CORE, 0), amounts.get(_RATIO, 0))
    return _counted(amounts, add, shares)


def main_of(amounts: Mapping[str, int]) -> dict[str, int]:
    """Return what counts most of what pods request, by resource: cards, else CPUs, else the first there is."""
    cards = of_pods(amounts)
    if cards:
        found = {resource_of(kind, amounts, [number]): number for kind, number in cards.items()}
        return {resource: number // unit(resource) for resource, number in found.items()}
    first = "cpu" if "cpu" in amounts else min(amounts, default="")
    return {first: amounts[first]} if first else {}


def families(nodes: Iterable[Node]) -> tuple[str, ...]:
    """Return the families of cards that nodes have, the one that most of them have first; CPU where none has any."""
    sizes = Counter(node.allocatable for node in nodes)
    found: Counter[str] = Counter()
    for size, number in sizes.items():
        found.update(dict.fromkeys(of_node(dict(size)), number))
    return tuple(sorted(found, key=lambda kind: (-found[kind], kind))) or ("cpu",)


def resource_of(kind: str, names: Iterable[str], amounts: Iterable[int]) -> str:
    """Return the resource to count a family in: the vendor's, unless there is none or cards are shared.

    Args:
        kind: the family, or any other resource, which is counted in itself.
        names: of resources, each as often as it counts.
        amounts: of the family, in hundredths.

    """
    if kind != GPU:
        return kind
    vendors = Counter(name for name in names if family(name) == GPU and name not in _SHARES)
    if not vendors or any(amount % CARD for amount in amounts):
        return _CORE
    return max(vendors, key=lambda name: (vendors[name], name))


def is_share(resource: str) -> bool:
    """Tell whether the resource counts hundredths of a card."""
    return resource in _SHARES


def unit(resource: str) -> int:
    """Return how many hundredths of a card one of this resource is; 1 where it counts no cards."""
    return CARD if family(resource) and not is_share(resource) else 1


def _counted(amounts: Mapping[str, int], both: Callable[[int, int], int], shares: int) -> dict[str, int]:
    found: dict[str, int] = {}
    for resource, number in amounts.items():
        kind = family(resource)
        if kind and number and resource not in _SHARES:
            found[kind] = found.get(kind, 0) + number * CARD
    if shares:  # Koordinator counts Huawei's cards as GPUs, their cores beside them
        found = {kind: number for kind, number in found.items() if not kind.endswith("/npu-core")}
        found[GPU] = both(found.get(GPU, 0), shares)
    return found
