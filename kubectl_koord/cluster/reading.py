"""Lists decoded in slices as they arrive, from JSON or protobuf."""

import contextlib
import re
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeAlias

import msgspec

from kubectl_koord.cluster import protobuf
from kubectl_koord.cluster.bounds import BOUNDS, Bounds, Meter, decoder, too_large_object

LONGEST_HEAD = 4096
"""Bytes within which a list must have begun its first item, if it is to be read in slices."""
_LIST_HEAD_PIECE = 1 << 17

_ITEMS = re.compile(rb'"items"\s*:\s*\[')
FIRST_KEY = re.compile(rb'(\s*)\{\s*"\w+"\s*:( ?)')
_NO_ITEMS = b'"items":[]}'


class Source(Protocol):
    """What bytes come from; see `transport.Body`."""

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes; fewer than asked for come only at the end."""

    def readinto(self, buffer: bytearray | memoryview, /) -> int:
        """Fill the buffer; fewer bytes come only at the end."""


class Rejoined:
    """A source with bytes put back in front of it."""

    def __init__(self, first: bytes, rest: Source) -> None:
        self._first = first
        self._rest = rest

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes."""
        first = self._first if size < 0 else self._first[:size]
        self._first = self._first[len(first) :]
        if size < 0 or len(first) < size:
            first += self._rest.read(size if size < 0 else size - len(first))
        return first

    def readinto(self, buffer: bytearray | memoryview, /) -> int:
        """Fill the buffer."""
        view = memoryview(buffer)
        count = min(len(self._first), len(view))
        view[:count] = self._first[:count]
        self._first = self._first[count:]
        return count + (self._rest.readinto(view[count:]) if count < len(view) else 0)


class ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    """metadata of a list: the token of its next page, and the resourceVersion that a watch starts from."""

    continue_: str | None = msgspec.field(default=None, name="continue")
    resource_version: str | None = None


class ListHead(msgspec.Struct, frozen=True, rename="camel"):
    """A list without its items: kind, such as `PodList`, apiVersion, and metadata."""

    kind: str | None = None
    metadata: ListMeta | None = None
    api_version: str | None = None

    def beside(self, other: "ListHead") -> "ListHead":
        """Return a head whose missing fields are those of another."""
        return ListHead(self.kind or other.kind, self.metadata or other.metadata, self.api_version or other.api_version)

    @property
    def meta(self) -> ListMeta:
        """The metadata of the list, empty where it has none."""
        return self.metadata or ListMeta()


def item_kind(of_list: object) -> str:
    """Return the kind of items without one, from the kind of their list; empty where that has no `List` at its end.

    Mirrors `decodeToList` of apimachinery's unstructured scheme: answers of the API server, and those of
    `kubectl cluster-info dump`, have such items.
    """
    return of_list.removesuffix("List") if isinstance(of_list, str) and of_list.endswith("List") else ""


def completed(item: Any, of_list: object, api_version: object) -> Any:  # noqa: ANN401 - any value
    """Return an item of a list with the list's kind filled in where it has none."""
    kind = item_kind(of_list)
    if not kind or not isinstance(item, dict) or item.get("kind"):
        return item
    version = {"apiVersion": api_version} if api_version else {}
    return {**version, **item, "kind": kind}


class Opening(NamedTuple):
    """The position of the bracket before the items, the fields before it, and the bytes between two items."""

    start: int
    outside: ListHead
    border: bytes


_OUTSIDE = decoder(ListHead)


def opening(head: bytes) -> Opening | None:
    """Return how a list begins; None where these bytes do not show it, or it is no list, or an empty one."""
    items = _ITEMS.search(head)
    first = FIRST_KEY.match(head, items.end()) if items else None
    if items is None or first is None:
        return None
    try:
        # With its last field instead of the list: the decoder refuses more or less than one comma before it.
        outside = _OUTSIDE.decode(head[: items.start()] + _NO_ITEMS)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    # Whoever puts blanks behind colons puts them behind commas too.
    blank = first[1] or first[2]
    key = head[first.end(1) : first.end() - len(first[2])]
    return Opening(items.end() - 1, outside, b"}," + blank + key)


def beginning(source: Source, bounds: Bounds) -> tuple[bytes, Opening | None]:
    """Read how a list begins; where no list begins, all of the source, which may then be one object.

    Raises TooLargeError when it is neither.
    """
    head = source.read(LONGEST_HEAD)
    found = opening(head)
    if found is None:
        more = bytearray(head)
        while len(more) <= bounds.object_bytes and (piece := source.read(_LIST_HEAD_PIECE)):
            more += piece
        head = bytes(more)
        if len(head) > bounds.object_bytes:
            found = opening(head)
            if found is None:
                raise too_large_object(bounds)
    return head, found


Slice: TypeAlias = bytes | memoryview
"""A JSON array of whole items; a view is of the beginning of a bytearray."""
TakeSlice: TypeAlias = Callable[[Slice], None]
"""Takes a slice, of which it keeps nothing; with a `DecodeError` it has taken no item of it."""

SLICE = 1 << 17
"""Bytes to decode at once: what a socket holds, so that its sender goes on meanwhile, and a processor's cache, too."""

# An item says its kind, if anything, and then its metadata; nothing within a Pod or Node begins like that.
_ITEM = re.compile(rb'\s*\{(?:\s*"\w+"\s*:\s*"[^"\\]*"\s*,)*\s*"metadata"\s*:\s*\{')
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\Z)|[][{}]', re.DOTALL)
_COMMA = re.compile(rb"\s*,")
_POSITION = re.compile(r"\(byte (\d+)\)")
_REST = b'{"items":'


class _Whole(ListHead, frozen=True):
    items: msgspec.Raw = msgspec.Raw(b"[]")

    @property
    def array(self) -> bytes:
        """A copy of the items as a JSON array."""
        items = bytes(self.items)
        return b"[]" if items == b"null" else items


_WHOLE = decoder(_Whole)


def read_page(
    source: Source,
    kind: Any,  # noqa: ANN401
    take: Callable[[list[Any]], None],
    size: int = SLICE,
    meter: Meter | None = None,
) -> ListHead:
    """Call `take` with the items of a list, in order, and return the other fields of the list.

    A list without items, or with null for them, is an empty one: Go writes and reads them so.

    Args:
        source: the bytes of one JSON list.
        kind: the msgspec type of an item.
        take: called with some items as soon as they are there.
        size: how many bytes to decode at once.
        meter: counts the items of all pages of a list.

    Raises TooLargeError when an item, or all of them, are larger than the bounds. Raises msgspec.MsgspecError when it
    is no list, an item is none of the kind, or the end is missing.
    """
    items = decoder(list[kind])
    counted = meter or Meter()

    def taken(part: Slice) -> None:
        found = items.decode(part)
        counted.count(len(found), len(part))
        take(found)

    head, found = beginning(source, counted.bounds)
    if found is not None:
        return read_slices(Rejoined(head, source), found, taken, size, counted.bounds)
    whole: _Whole = _WHOLE.decode(head)
    taken(whole.array)
    return whole


def read_slices(
    source: Source, found: Opening, take: TakeSlice, size: int = SLICE, bounds: Bounds = BOUNDS
) -> ListHead:
    """Call `take` with JSON arrays of a list's items, in order, and return the other fields of the list.

    Args:
        source: the bytes of the list, from the beginning.
        found: how it begins.
        take: called with some items as soon as they are there.
        size: how many bytes to hand on at once, unless a single item has more.
        bounds: how large an item may be.

    Raises TooLargeError when an item is larger than the bounds. Raises msgspec.DecodeError when it is no JSON up to its
    end; the position is that in the source.
    """
    begin, border = len(source.read(found.start)), found.border
    buffer = bytearray(size)
    filled = source.readinto(buffer)
    while filled == len(buffer):
        comma, border = _handed_on(buffer, border, begin, take)
        if comma < 0:
            if len(buffer) > bounds.object_bytes:
                raise too_large_object(bounds)
            buffer.extend(bytes(len(buffer)))
        else:
            # The rest is an array again: the comma before it becomes its bracket.
            buffer[comma] = ord("[")
            begin += comma
            filled -= comma
            buffer[:filled] = buffer[comma:]
        filled += source.readinto(memoryview(buffer)[filled:])
    return _end(buffer[:filled], begin, take).beside(found.outside)


def _handed_on(buffer: bytearray, border: bytes, begin: int, take: TakeSlice) -> tuple[int, bytes]:
    """Call `take` with the complete items of the buffer.

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
    """Take the last items and return the fields behind them. A list that is cut off is an error."""
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


_MAGIC = b"k8s\0"
_SEVEN_BITS, _LONGEST = 0x7F, 64
_VARINT, _LENGTH = 0, 2
_FIXED = {1: 8, 5: 4}
_OF_UNKNOWN = {"typeMeta": 1, "raw": 2, "contentEncoding": 3}
_OF_LIST = {"metadata": 1, "items": 2}


class _Wire:
    """Fields as protobuf writes them, from a source that is read as far as is needed; `at` tells how far."""

    def __init__(self, source: Source, bounds: Bounds, piece: int) -> None:
        self._source, self._bounds, self._piece = source, bounds, piece
        self._data, self._place, self._before = b"", 0, 0

    @property
    def at(self) -> int:
        return self._before + self._place

    def more(self, size: int = 1) -> bool:
        """Tell whether so many bytes are left."""
        if len(self._data) - self._place < size:
            self._before += self._place
            self._data = self._data[self._place :] + self._source.read(max(self._piece, size))
            self._place = 0
        return len(self._data) - self._place >= size

    def bytes(self, size: int) -> bytes:
        if size > self._bounds.object_bytes:
            raise too_large_object(self._bounds)
        if not self.more(size):
            raise self.fault("Input data was truncated")
        self._place += size
        return self._data[self._place - size : self._place]

    def number(self) -> int:
        value = 0
        for shift in range(0, _LONGEST, 7):
            if not self.more():
                raise self.fault("Input data was truncated")
            byte = self._data[self._place]
            self._place += 1
            value |= (byte & _SEVEN_BITS) << shift
            if byte <= _SEVEN_BITS:
                return value
        raise self.fault("A number is too long")

    def field(self) -> tuple[int, int]:
        """Return the number and the wire type of the next field."""
        key = self.number()
        return key >> 3, key & 7

    def skip(self, wire_type: int) -> None:
        """Pass over the value of a field."""
        if wire_type == _VARINT:
            self.number()
        elif wire_type == _LENGTH or wire_type in _FIXED:
            self.bytes(_FIXED.get(wire_type) or self.number())
        else:
            raise self.fault("A field has none of the types of proto3")

    def fault(self, what: str) -> msgspec.DecodeError:
        return msgspec.DecodeError(f"{what} (byte {self.at})")


TakeMessages: TypeAlias = Callable[[list[protobuf.Message]], None]


def read_encoded_page(
    source: Source, kind: str, take: TakeMessages, meter: Meter | None = None, size: int = SLICE
) -> ListHead:
    """Call `take` with the items of a list in protobuf, in order, and return the other fields of the list.

    Mirrors the `Unknown` in which the API server wraps objects (runtime/serializer/protobuf of k8s.io/apimachinery).

    Args:
        source: the bytes of one list.
        kind: the message of an item in the schema of `protobuf`.
        take: called with some items as soon as they are there.
        meter: counts the items of all pages of a list.
        size: how many bytes to read at once.

    Raises TooLargeError when an item, or all of them, are larger than the bounds. Raises msgspec.DecodeError when it is
    no such list, or the end is missing.
    """
    counted = meter or Meter()
    try:
        return _read_unknown(_Wire(source, counted.bounds, size), kind, take, counted)
    except (protobuf.schema().fault, UnicodeDecodeError) as problem:
        raise msgspec.DecodeError(str(problem)) from None


def _read_unknown(wire: _Wire, kind: str, take: TakeMessages, counted: Meter) -> ListHead:
    if wire.bytes(len(_MAGIC)) != _MAGIC:
        raise wire.fault("It is no protobuf of Kubernetes")
    outside = ListHead()
    while wire.more():
        number, wire_type = wire.field()
        if wire_type != _LENGTH or number not in _OF_UNKNOWN.values():
            wire.skip(wire_type)
        elif number == _OF_UNKNOWN["raw"]:
            outside = outside.beside(_read_encoded(wire, kind, take, counted))
        else:
            value = wire.bytes(wire.number())
            if number == _OF_UNKNOWN["typeMeta"]:
                said = protobuf.parsed("TypeMeta", value)
                outside = ListHead(said.kind, outside.metadata, said.apiVersion)
            elif value:
                raise wire.fault("It is packed")
    return outside


def _read_encoded(wire: _Wire, kind: str, take: TakeMessages, meter: Meter) -> ListHead:
    """Read a list of so many bytes as its length says."""
    length = wire.number()
    end = wire.at + length
    head, items, size = ListHead(), list[protobuf.Message](), 0
    while wire.at < end:
        number, wire_type = wire.field()
        if wire_type == _LENGTH and number == _OF_LIST["items"]:
            item = wire.bytes(wire.number())
            items.append(protobuf.parsed(kind, item))
            size += len(item)
            if size >= SLICE:
                meter.count(len(items), size)
                take(items)
                items, size = [], 0
        elif wire_type == _LENGTH and number == _OF_LIST["metadata"]:
            meta = protobuf.parsed("ListMeta", wire.bytes(wire.number()))
            head = ListHead(metadata=ListMeta(getattr(meta, "continue"), meta.resourceVersion))
        else:
            wire.skip(wire_type)
    if wire.at != end:
        raise wire.fault("The last item is longer than the list")
    meter.count(len(items), size)
    take(items)
    return head
