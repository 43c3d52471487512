"""A JSON list, decoded slice by slice as it arrives, so that memory stays flat.

What stands between the first two items is taken to stand between all of them. The guess need not
be right: a slice that does not end where an item ends is no JSON, and then all that is left of the
list is decoded at once, with the same result. What does decode is right, whatever follows it.
"""

import contextlib
import math
import re
from collections.abc import Callable
from struct import Struct
from typing import Any, TypeAlias

import msgspec
from msgspec import structs

from kubectl_koord.cluster.bounds import BOUNDS, Bounds, Meter, too_large_object
from kubectl_koord.cluster.decoders import decoder
from kubectl_koord.cluster.reading.apart import Apart
from kubectl_koord.cluster.reading.list_head import FIRST_KEY, ListHead, Opening, Rejoined, Source, beginning
from kubectl_koord.cluster.reading.managed_fields import Slice, TakeSlice, WithoutManagedFields

SLICE = 1 << 17
"""Bytes to decode at once: what a socket holds, so that its sender goes on meanwhile, and a processor's cache, too."""

AT_FIRST = 1 << 21
"""Bytes of a list that are read before it is a long one: to start a process takes as long as to read a few MB."""

# An item says its kind, if anything, and then its metadata; nothing within a Pod or Node begins like that.
_ITEM = re.compile(rb'\s*\{(?:\s*"\w+"\s*:\s*"[^"\\]*"\s*,)*\s*"metadata"\s*:\s*\{')
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\Z)|[][{}]', re.DOTALL)
_COMMA = re.compile(rb"\s*,")
_POSITION = re.compile(r"\(byte (\d+)\)")
_REST = b'{"items":'
_COUNTS = Struct("<II")  # how many items, and how many bytes they were
_SHARE = 4  # of the memory that reading may take, what a process that keeps nothing may take besides
_head = msgspec.msgpack.Decoder(ListHead)


class _Whole(ListHead, frozen=True):
    items: msgspec.Raw = msgspec.Raw(b"[]")

    @property
    def array(self) -> bytes:
        """The items, apart from the bytes of the list."""
        items = bytes(self.items)
        return b"[]" if items == b"null" else items


_WHOLE = decoder(_Whole)


Rest: TypeAlias = Callable[[TakeSlice], ListHead]
"""Reads the rest of a list; returns what the list says besides."""


def read_page(
    source: Source,
    kind: Any,  # noqa: ANN401
    take: Callable[[list[Any]], None],
    size: int = SLICE,
    meter: Meter | None = None,
    apart: Apart | None = None,
) -> ListHead:
    """Hand the items of a list to `take`, in order, and return what the list says besides.

    A list without items, or with null for them, is an empty one: Go writes and reads them so.

    Args:
        source: the bytes of one JSON list.
        kind: the msgspec type of an item.
        take: called with some items as soon as they are there.
        size: how many bytes to decode at once.
        meter: counts the items of all pages of a list.
        apart: takes what is not among the first items of a long list.

    Raises:
        TooLargeError: when an item, or all of them, are larger than the bounds.
        msgspec.MsgspecError: when it is no list, an item is none of the kind, or the end is missing.

    """
    items = decoder(list[kind])
    counted = meter or Meter()

    def taken(part: Slice) -> None:
        found = items.decode(part)
        counted.count(len(found), len(part))
        take(found)

    head, found = beginning(source, counted.bounds)
    if found is not None:
        slices = _Slices(Rejoined(head, source), found, size, counted.bounds)
        lean = WithoutManagedFields()

        def rest(take: TakeSlice) -> ListHead:
            return slices.rest(lean.handed_to(take))

        told = None
        if apart:
            is_short = slices.hand_on(lean.handed_to(taken), AT_FIRST)
            told = None if is_short else _read_apart(apart, rest, items, counted)
        return told or rest(taken)
    whole: _Whole = _WHOLE.decode(head)
    taken(whole.array)
    return whole


def _read_apart(apart: Apart, rest: Rest, items: "msgspec.json.Decoder[Any]", counted: Meter) -> ListHead | None:
    """Read the rest of a list in a process of its own; None where there is none."""
    reduced, take = apart.reducer

    def reading(send: Callable[[bytes], None]) -> bytes:
        bounds = counted.bounds
        its_own = Meter(structs.replace(bounds, memory=bounds.memory // _SHARE))

        def sent(part: Slice) -> None:
            found = items.decode(part)
            its_own.count(0, len(part))
            send(_COUNTS.pack(len(found), len(part)) + reduced(found))

        return msgspec.msgpack.encode(rest(sent))

    def take_counted(message: bytes) -> None:
        counted.count(*_COUNTS.unpack_from(message))
        take(message[_COUNTS.size :])

    told = apart.run(reading, take_counted)
    return None if told is None else _head.decode(told)


def read_slices(
    source: Source, found: Opening, take: TakeSlice, size: int = SLICE, bounds: Bounds = BOUNDS
) -> ListHead:
    """Hand a list's items to `take` as JSON arrays, in order, and return what the list says besides.

    Args:
        source: the bytes of the list, from the beginning.
        found: how it begins.
        take: called with some items as soon as they are there.
        size: how many bytes to hand on at once, unless a single item has more.
        bounds: how large an item may be.

    Raises:
        TooLargeError: when an item is larger than the bounds.
        msgspec.DecodeError: when it is no JSON up to its end; the position is that in the source.

    """
    return _Slices(source, found, size, bounds).rest(take)


class _Slices:
    """The items of a list, some at once."""

    def __init__(self, source: Source, found: Opening, size: int, bounds: Bounds) -> None:
        self._source = source
        self._outside = found.outside
        self._border = found.border
        self._bounds = bounds
        self._begin = len(source.read(found.start))
        self._buffer = bytearray(size)
        self._filled = source.readinto(self._buffer)

    def rest(self, take: TakeSlice) -> ListHead:
        """Hand on all that is left."""
        self.hand_on(take)
        return _end(self._buffer[: self._filled], self._begin, take).beside(self._outside)

    def hand_on(self, take: TakeSlice, until: float = math.inf) -> bool:
        """Hand on what begins before a place; return whether the source has come to its end."""
        buffer, begin, filled, border = self._buffer, self._begin, self._filled, self._border
        while filled == len(buffer) and begin < until:
            comma, border = _handed_on(buffer, border, begin, take)
            if comma < 0:
                if len(buffer) > self._bounds.object_bytes:
                    raise too_large_object(self._bounds)
                buffer.extend(bytes(len(buffer)))
            else:
                # The rest is an array again: the comma before it becomes its bracket.
                buffer[comma] = ord("[")
                begin += comma
                filled -= comma
                buffer[:filled] = buffer[comma:]
            filled += self._source.readinto(memoryview(buffer)[filled:])
        self._begin, self._filled, self._border = begin, filled, border
        return filled < len(buffer)


def _handed_on(buffer: bytearray, border: bytes, begin: int, take: TakeSlice) -> tuple[int, bytes]:
    """Hand on the items that are whole.

    Returns: where the comma behind them stands, -1 where none is whole, and what seems to stand between two items.
    """
    comma = _last_comma(buffer, border)
    if comma >= 0:
        try:
            _hand_on(buffer, comma, take)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:
            pass  # not where an item ends, or no JSON
        else:
            return comma, border
    comma = _exact_comma(buffer)
    if comma >= 0:
        try:
            _hand_on(buffer, comma, take)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError as problem:
            raise _moved(problem, begin) from None
        first = FIRST_KEY.match(buffer, comma + 1)
        border = b"}," + buffer[comma + 1 : first.end() - len(first[2])] if first else border
    return comma, border


def _last_comma(buffer: bytearray, border: bytes) -> int:
    """Return where the comma behind the last whole item seems to stand, -1 where there seems to be none."""
    at = buffer.rfind(border)
    while at >= 0 and not _ITEM.match(buffer, at + 2):
        at = buffer.rfind(border, 0, at)
    return at + 1 if at >= 0 else -1


def _exact_comma(buffer: bytearray) -> int:
    """Return where the comma behind the last whole item stands, -1 where there is none: surely, and slowly."""
    depth, comma = 0, -1
    for token in _TOKEN.finditer(buffer):
        sign = token[0]
        if sign in b"[{":
            depth += 1
        elif sign in b"]}":
            depth -= 1
            if depth == 0:
                break
            if depth == 1 and (behind := _COMMA.match(buffer, token.end())):
                comma = behind.end() - 1
    return comma


def _hand_on(buffer: bytearray, comma: int, take: TakeSlice) -> None:
    buffer[comma] = ord("]")
    view = memoryview(buffer)[: comma + 1]
    try:
        take(view)
    finally:
        with contextlib.suppress(BufferError):  # an error holds what was decoded
            view.release()
        buffer[comma] = ord(",")


def _end(rest: bytearray, begin: int, take: TakeSlice) -> ListHead:
    """Take the last items and return what is said behind them: the list must be complete, and may hold more fields."""
    try:
        whole: _Whole = _WHOLE.decode(_REST + rest)
        take(whole.array)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError as problem:
        raise _moved(problem, begin - len(_REST)) from None
    return whole


def _moved(problem: msgspec.DecodeError, by: int) -> msgspec.DecodeError:
    return msgspec.DecodeError(_POSITION.sub(lambda found: f"(byte {int(found[1]) + by})", str(problem)))
