"""What Koordinator's webhook makes of GPUs that containers ask for in parts.

Mirrors pkg/webhook/pod/mutating/device_resource_spec.go with the gates of koord-manager as they are by default.
"""

from msgspec import Struct, structs

from kubectl_koord.cluster.manifests.workload import TemplateSpec
from kubectl_koord.cluster.objects.fields.amounts import Amounts, amounts
from kubectl_koord.cluster.objects.pods.fields import Container, ResourceRequirements
from kubectl_koord.model.values import quantity

HOOK = "mpod-create.koordinator.sh"
"""The webhook of new pods, as its configuration names it."""

_WHOLE, _SHARED = "koordinator.sh/gpu", "koordinator.sh/gpu.shared"
_CORE, _RATIO = "koordinator.sh/gpu-core", "koordinator.sh/gpu-memory-ratio"
_PARTS = frozenset({_WHOLE, _SHARED, _CORE, _RATIO, "koordinator.sh/gpu-memory"})
_CARD = 100


class Split(Struct, frozen=True):
    """A spec as the webhook leaves it; where `is_open`, that depends on its version."""

    spec: TemplateSpec
    is_open: bool


def asks_parts(spec: TemplateSpec) -> bool:
    """Tell whether a container asks for parts of GPUs."""
    return any(_asks(one.resources) for one in spec.containers or ())


def split(spec: TemplateSpec) -> Split:
    """Return a spec with `koordinator.sh/gpu` in its parts, and with the number of cards as `gpu.shared`.

    Raises:
        QuantityError: naming the resource whose amount is no quantity.

    """
    found = [_container(one) for one in spec.containers or ()]
    return Split(structs.replace(spec, containers=[one for one, _ in found]), any(is_open for _, is_open in found))


def _asks(resources: ResourceRequirements | None) -> bool:
    return resources is not None and not _PARTS.isdisjoint([*(resources.requests or ()), *(resources.limits or ())])


def _container(written: Container) -> tuple[Container, bool]:
    """Return a container, and whether the number of its cards is open."""
    own = written.resources
    if own is None or not _asks(own):
        return written, False
    requests, limits = dict(own.requests or {}), dict(own.limits or {})
    if _WHOLE in requests:
        parts = dict.fromkeys((_CORE, _RATIO), _value(requests, _WHOLE))
        requests, limits = ({**_without_whole(one), **parts} for one in (requests, limits))
    cards: int | None = 0
    if _SHARED not in requests:
        cards = _cards(requests)
        if cards is not None:
            requests, limits = ({**one, _SHARED: cards} for one in (requests, limits))
    resources = structs.replace(own, requests=requests or None, limits=limits or None)
    return structs.replace(written, resources=resources), cards is None


def _without_whole(written: Amounts) -> Amounts:
    return {name: amount for name, amount in written.items() if name != _WHOLE}


def _cards(requests: Amounts) -> int | None:
    """Return how many cards are asked for (`injectGPUShare`).

    Of cores alone, of several cards, 1.7 and 1.8 make no card, and later versions so many: None.
    """
    by = _RATIO if _RATIO in requests else _CORE
    asked = _value(requests, by) if by in requests else 0
    if asked <= _CARD or asked % _CARD:
        return 1
    return asked // _CARD if by == _RATIO else None


def _value(requests: Amounts, name: str) -> int:
    return quantity.whole(amounts({name: requests[name]})[name])
