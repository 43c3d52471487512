"""A list of the API server, decoded slice by slice as it arrives, so that memory stays flat.

The server's own layout is taken advantage of: `{..."metadata":{...},"items":[{"metadata":{...`, one
item after the other, without blanks. Any other layout is read whole, with the same result.
"""

from collections.abc import Callable
from typing import Any, Protocol

import msgspec

SLICE = 1 << 20
"""Bytes to decode at once: about what a processor's cache holds."""
_ITEMS = b'"items":['
_BORDER = b'},{"metadata":{'
_LONGEST_HEAD = 4096


class Source(Protocol):
    """What bytes come from; see `transport.Body`."""

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes."""

    def readinto(self, buffer: bytearray | memoryview, /) -> int:
        """Fill the buffer; fewer bytes come only at the end."""


class ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    """What a list says of itself: the token of its next page, and the version that a watch goes on from."""

    continue_: str | None = msgspec.field(default=None, name="continue")
    resource_version: str | None = None


class _Head(msgspec.Struct):
    metadata: ListMeta | None = None


class _Rest(msgspec.Struct):
    items: msgspec.Raw


class _Whole(msgspec.Struct):
    metadata: ListMeta | None = None
    items: list[msgspec.Raw] | None = None


def read_list(source: Source, kind: Any, take: Callable[[Any], None], size: int = SLICE) -> str:  # noqa: ANN401
    """Hand every item of a list to `take`, in order, and return the token of the next page (or empty).

    As `read_page`, of which only the token is kept.
    """
    return read_page(source, kind, take, size).continue_ or ""


def read_page(source: Source, kind: Any, take: Callable[[Any], None], size: int = SLICE) -> ListMeta:  # noqa: ANN401
    """Hand every item of a list to `take`, in order, and return what the list says of itself.

    Args:
        source: the bytes of one JSON list.
        kind: the msgspec type of an item.
        take: called with each item as soon as it is there.
        size: how much to decode at once.

    Raises:
        msgspec.MsgspecError: when it is no list, an item is none of the kind, or the end is missing.

    """
    buffer = bytearray(max(size, _LONGEST_HEAD))
    filled = source.readinto(memoryview(buffer))
    start = buffer.find(_ITEMS, 0, min(filled, _LONGEST_HEAD))
    head = _head(bytes(buffer[:start])) if start >= 0 else None
    if head is None:
        return _whole(bytes(buffer[:filled]) + source.read(), kind, take)
    _slices(source, buffer, start + len(_ITEMS) - 1, filled, msgspec.json.Decoder(list[kind]), take)
    return head.metadata or ListMeta()


def _head(written: bytes) -> _Head | None:
    """Return what stands before the items; None unless that is all there is besides them."""
    try:
        head = msgspec.json.decode(written.rstrip(b", ") + b"}", type=_Head)
    except msgspec.MsgspecError:
        return None
    return head if head.metadata is not None else None


def _whole(content: bytes, kind: Any, take: Callable[[Any], None]) -> ListMeta:  # noqa: ANN401
    found = msgspec.json.decode(content, type=_Whole)
    decoder = msgspec.json.Decoder(kind)
    for item in found.items or ():
        take(decoder.decode(item))
    return found.metadata or ListMeta()


def _slices(
    source: Source,
    buffer: bytearray,
    start: int,
    filled: int,
    decoder: Any,  # noqa: ANN401
    take: Callable[[Any], None],
) -> None:
    """Decode up to the last complete item in the buffer, move the rest to the front, read on.

    `start` is where the bracket before the items stands; the bracket or comma before the rest is
    made one, and the comma behind the slice its end, so that every slice is a list of its own.
    """
    at_end = filled < len(buffer)
    while not at_end:
        border = buffer.rfind(_BORDER, start, filled)
        if border >= 0:
            comma = border + 1
            buffer[comma] = ord("]")
            with memoryview(buffer) as view:
                _hand_on(decoder.decode(view[start : comma + 1]), take)
            buffer[comma] = ord("[")
            start = comma
        if start == 0 and filled == len(buffer):
            buffer.extend(bytes(len(buffer)))
        buffer[: filled - start] = buffer[start:filled]
        filled -= start
        start = 0
        with memoryview(buffer) as view:
            more = source.readinto(view[filled:])
        filled += more
        at_end = filled < len(buffer)
    # What is left is the end of the list's object: it must be complete, and may hold more fields.
    rest = msgspec.json.decode(b'{"items":' + buffer[start:filled], type=_Rest)
    _hand_on(decoder.decode(rest.items), take)


def _hand_on(items: list[Any], take: Callable[[Any], None]) -> None:
    for item in items:
        take(item)
