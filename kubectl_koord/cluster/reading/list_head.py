"""How a JSON list begins."""

import re
from typing import Any, NamedTuple, Protocol

import msgspec

from kubectl_koord.cluster.bounds import Bounds, too_large_object
from kubectl_koord.cluster.decoders import decoder

LONGEST_HEAD = 4096
"""Bytes within which a list must have begun its first item, if it is to be read in slices."""
_PIECE = 1 << 17

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
    """A source of which the first bytes were read already."""

    def __init__(self, first: bytes, rest: Source) -> None:
        """Put them in front again."""
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
    """What a list says of itself: the token of its next page, and the version that a watch goes on from."""

    continue_: str | None = msgspec.field(default=None, name="continue")
    resource_version: str | None = None


class ListHead(msgspec.Struct, frozen=True, rename="camel"):
    """What a list says besides its items: its kind, such as `PodList`, and what it says of itself."""

    kind: str | None = None
    metadata: ListMeta | None = None
    api_version: str | None = None

    def beside(self, other: "ListHead") -> "ListHead":
        """Return what is said here or, where nothing is, there."""
        return ListHead(self.kind or other.kind, self.metadata or other.metadata, self.api_version or other.api_version)

    @property
    def meta(self) -> ListMeta:
        """What the list says of itself."""
        return self.metadata or ListMeta()


def item_kind(of_list: object) -> str:
    """Return the kind of a list's items that do not say it, by the list's own; empty where that does not tell.

    Mirrors `decodeToList` of apimachinery's unstructured scheme: answers of the API server, and those of
    `kubectl cluster-info dump`, have such items.
    """
    return of_list.removesuffix("List") if isinstance(of_list, str) and of_list.endswith("List") else ""


def completed(item: Any, of_list: object, api_version: object) -> Any:  # noqa: ANN401 - any value
    """Return an item of a list with the kind that it does not say."""
    kind = item_kind(of_list)
    if not kind or not isinstance(item, dict) or item.get("kind"):
        return item
    version = {"apiVersion": api_version} if api_version else {}
    return {**version, **item, "kind": kind}


class Opening(NamedTuple):
    """Where the bracket before the items stands, what the list said before it, and what parts two items."""

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

    Raises:
        TooLargeError: when it is neither.

    """
    head = source.read(LONGEST_HEAD)
    found = opening(head)
    if found is None:
        more = bytearray(head)
        while len(more) <= bounds.object_bytes and (piece := source.read(_PIECE)):
            more += piece
        head = bytes(more)
        if len(head) > bounds.object_bytes:
            found = opening(head)
            if found is None:
                raise too_large_object(bounds)
    return head, found
