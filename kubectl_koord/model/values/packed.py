"""Values kept as bytes until somebody goes through them: most of what is read of a large cluster nobody asks for."""

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct

from kubectl_koord.model.values.selectors import Labels

_encode = msgspec.msgpack.Encoder().encode
_strings = msgspec.msgpack.Decoder(tuple[str, ...]).decode


class PackedLabels(Struct, frozen=True, gc=False):
    """Labels in the order of their names, as pairs for whoever iterates over them.

    `values` is the list of their values as MessagePack.
    """

    names: tuple[str, ...]
    values: bytes

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Yield names and values."""
        return zip(self.names, _strings(self.values), strict=True)


def picked(labels: Labels | PackedLabels, *names: str) -> tuple[str | None, ...]:
    """Return the values of some labels, None for each that is missing; few labels have to be read for that."""
    if isinstance(labels, PackedLabels) and not any(name in labels.names for name in names):
        return (None,) * len(names)
    known = dict(labels)
    return tuple(map(known.get, names))


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
