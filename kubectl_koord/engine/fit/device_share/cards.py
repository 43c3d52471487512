"""The devices of one type that may be allocated: those that a hint's selector and the chosen NUMA nodes leave."""

from collections.abc import Collection, Mapping

from msgspec import Struct

from kubectl_koord.engine.fit.device_share.amounts import Amounts, fits, is_zero
from kubectl_koord.engine.fit.device_share.books import DeviceBooks, total
from kubectl_koord.model.hardware.devices import Device, DeviceHint
from kubectl_koord.model.hardware.scoring import Scoring
from kubectl_koord.model.values.selectors import Selector, matches


class Cards(Struct, frozen=True):
    """Devices of one type, by minor, with what is free of each.

    `taken` are the minors of which something is used, or which are not to be chosen and in use.
    """

    devices: Mapping[int, Device]
    free: Mapping[int, Amounts]
    taken: frozenset[int]

    def fitting(self, request: Amounts) -> tuple[int, ...]:
        """Return the minors, in order, of those that are good for anything and have enough free."""
        return tuple(minor for minor, free in self.free.items() if not is_zero(free) and fits(request, free))

    def healthy(self, minors: Collection[int]) -> bool:
        """Tell whether all of these are there and have anything at all to give."""
        return all(minor in self.devices and not is_zero(total(self.devices[minor])) for minor in minors)

    def score(self, request: Amounts, minor: int, scoring: Scoring | None) -> int:
        """Return how well a device suits; nothing counts where the scheduler does not score yet.

        Mirrors `scoreDevice` in deviceshare/scoring.go.
        """
        return _suits(request, total(self.devices[minor]), self.free[minor], scoring)

    def score_in_scope(self, request: Amounts, minor: int, scoring: Scoring | None) -> int:
        """Return how well a device suits within a scope, where upstream takes what is free for the total and reversed.

        So all that is in use suits alike. Mirrors `allocateFromScope` in deviceshare/allocator_gpu.go.
        """
        return _suits(request, self.free[minor], total(self.devices[minor]), scoring)


def _suits(request: Amounts, has: Amounts, free: Amounts, scoring: Scoring | None) -> int:
    if scoring is None:
        return 0
    known = ((name, has[name], free.get(name, 0)) for name, _ in scoring.weights if has.get(name))
    return scoring.score(
        {
            name: (amount - left + request.get(name, 0) if amount >= left else amount, amount)
            for name, amount, left in known
        }
    )


def cards_of(books: DeviceBooks, kind: str, hint: DeviceHint, zones: Collection[int] | None) -> Cards:
    """Return the devices of a type that a pod may be given.

    Mirrors `filterNodeDevice` in deviceshare/device_allocator.go.

    Args:
        books: those of the node.
        kind: the type.
        hint: what the pod asks of it.
        zones: the NUMA nodes that are left, None for all.

    """
    left = books.left(kind)
    chosen = {
        device.minor: device
        for device in books.layout.of_type(kind)
        if books.gives(device) and _is_in(device, zones) and is_selected(hint.selector, device)
    }
    if left.nothing:
        chosen = {}
    free = {minor: left.free[minor] for minor in sorted(chosen)}
    return Cards(chosen, free, left.used & chosen.keys() | books.minors_used(kind) - chosen.keys())


def is_selected(selector: Selector | None, device: Device) -> bool:
    """Tell whether a selector, if there is one, takes the device."""
    return selector is None or matches(selector, dict(device.labels))


def _is_in(device: Device, zones: Collection[int] | None) -> bool:
    """Tell whether a device is on one of the NUMA nodes; one of no node is on each of them."""
    return zones is None or (device.place is not None and (device.place.numa == -1 or device.place.numa in zones))
