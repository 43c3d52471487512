"""Devices given to those that want them, each once: whoever has one gives way where another serves it, too."""

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

S = TypeVar("S", bound=Hashable)
D = TypeVar("D", bound=Hashable)


def seated(seat: S, options: Mapping[S, Sequence[D]], owner: dict[D, S]) -> bool:
    """Give a device to one who wants it: a free one, or one that its owner can replace (an augmenting path).

    Args:
        seat: who wants one.
        options: the devices that serve each.
        owner: who has which, which is changed where it succeeds.

    """
    return _seated(seat, options, owner, set())


def _seated(seat: S, options: Mapping[S, Sequence[D]], owner: dict[D, S], tried: set[D]) -> bool:
    for device in options[seat]:
        if device not in owner:
            owner[device] = seat
            return True
    for device in options[seat]:
        if device in tried:
            continue
        tried.add(device)
        if _seated(owner[device], options, owner, tried):
            owner[device] = seat
            return True
    return False
