"""Values kept as bytes until somebody goes through them: most of what is read of a large cluster nobody asks for."""

from collections.abc import Iterable, Iterator
from functools import lru_cache

import msgspec
from msgspec import Struct

from kubectl_koord.model.values.selectors import Labels

_encode = msgspec.msgpack.Encoder().encode
_MOST_NAMES = 1 << 10
_strings = msgspec.msgpack.Decoder(tuple[str, ...]).decode


@lru_cache(_MOST_NAMES)
def _places(names: tuple[str, ...], wanted: tuple[str, ...]) -> tuple[int | None, ...] | None:
    """Return where names are among others, None for each that is not; None altogether where none is."""
    places = tuple([names.index(name) if name in names else None for name in wanted])
    return None if all(place is None for place in places) else places


class PackedLabels(Struct, frozen=True, gc=False):
    """Labels in the order of their names, as pairs for whoever iterates over them.

    `values` is the list of their values as MessagePack. `quota` are the values of those that quotas go by, None for
    each that is missing: they are asked for of every pod, and few pods have others than the rest.
    """

    names: tuple[str, ...]
    values: bytes
    quota: tuple[str | None, ...]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Yield names and values."""
        return zip(self.names, _strings(self.values), strict=True)

    def picked(self, names: tuple[str, ...]) -> tuple[str | None, ...]:
        """Return the values of some labels, None for each that is missing."""
        places = _places(self.names, names)
        if places is None:
            return (None,) * len(names)
        values = _strings(self.values)
        return tuple([None if place is None else values[place] for place in places])


def picked(labels: Labels | PackedLabels, *names: str) -> tuple[str | None, ...]:
    """Return the values of some labels, None for each that is missing; few labels have to be read for that."""
    if isinstance(labels, PackedLabels):
        return labels.picked(names)
    known = dict(labels)
    return tuple(map(known.get, names))


def values_of(labels: Labels | PackedLabels) -> bytes:
    """Return the values of labels as bytes, among them those of each value in UTF-8."""
    return labels.values if isinstance(labels, PackedLabels) else _encode([value for _, value in labels])


class Packed(Struct, frozen=True, gc=False):
    """Values of one kind as bytes; a subclass says how they are read."""

    content: bytes


def packed(values: Iterable[object]) -> bytes | None:
    """Return values as bytes, None where one of their numbers is too large for that."""
    try:
        return _encode(tuple(values))
    except OverflowError:
        return None


class PackedStrings(Packed, frozen=True, gc=False):
    """Texts."""

    def __iter__(self) -> Iterator[str]:
        """Yield each."""
        return iter(_strings(self.content))


def packed_strings(texts: tuple[str, ...]) -> PackedStrings:
    """Return texts as bytes."""
    return PackedStrings(_encode(texts))
