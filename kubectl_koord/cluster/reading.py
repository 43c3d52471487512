"""JSON lists decoded in slices as they arrive, in this process or in a second one."""

import contextlib
import math
import os
import re
import signal
import sys
from collections.abc import Callable, Collection
from struct import Struct
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, NoReturn, Protocol, Self, TypeAlias

import msgspec
from msgspec import structs

from kubectl_koord.cluster import processes
from kubectl_koord.cluster.api.transport import Interrupted, TooLate, interrupted
from kubectl_koord.cluster.bounds import BOUNDS, Bounds, Meter, TooLargeError, decoder, too_large_object
from kubectl_koord.errors import KoordError

if TYPE_CHECKING:
    from kubectl_koord.cluster.lists import Page


Send = Callable[[bytes], None]
Tell = Callable[[str], None]
Work = Callable[[Send, Tell], bytes]
"""Sends messages, tells what it waits for, and returns its result. It imports nothing: others may hold those locks."""

_PIECE, _WAITS, _RESULT, _UNREADABLE, _FAULT, _FAILED = range(6)
_FAILURES: tuple[type[KoordError], ...] = (Interrupted, TooLate, KoordError)
"""What work may raise, the special before the general: told by its place behind `_FAILED`."""
_LENGTH = 4
_AT_ONCE = 1 << 16
"""Bytes that are sent together: to wake up for every message costs more than to take it."""
_SET_DEATH_SIGNAL = 1
"""`PR_SET_PDEATHSIG` of Linux's sys/prctl.h."""


class Reducer(NamedTuple):
    """What is done with some items in the process that reads them, and with what is left of them in ours."""

    reduced: Callable[[list[Any]], bytes]
    take: Send


class Apart(NamedTuple):
    """Reads the rest of a page in a process of its own."""

    reducer: Reducer
    page: "Page"

    @classmethod
    def where_faster(cls, reducer: Reducer | None, page: "Page") -> Self | None:
        """Return what reads a page apart, None where that cannot be done, or there is no processor for it."""
        is_faster = sys.platform == "linux" and len(os.sched_getaffinity(0)) > 1
        return cls(reducer, page) if reducer is not None and page.descriptor >= 0 and is_faster else None

    def run(self, work: Callable[[Send], bytes], take: Send) -> bytes | None:
        """Do work there, which sends messages; take them here. The rest is as in `run`."""
        page = self.page

        def reading(send: Send, tell: Tell) -> bytes:
            page.deadline.waits_for = tell
            page.read_ahead()
            return work(send)

        def take_wanted(message: bytes) -> None:
            page.check()
            take(message)

        return run(reading, page.descriptor, take_wanted, page.deadline.waits_for)


def run(work: Work, descriptor: int, take: Send, tell: Tell) -> bytes | None:
    """Do work in a process of its own, which ends before this one or with it.

    Args:
        work: what to do there.
        descriptor: the file that it needs; all others are closed there.
        take: called here with each message, in order.
        tell: called here with what the work waits for.

    Returns: the result of the work, None where no such process is to be had.

    Raises:
        Interrupted: when the work raised it, or its process was killed.
        KoordError: when the work raised one.
        msgspec.DecodeError: when the work could not read something.

    """
    prctl = _prctl()
    if prctl is None:
        return None
    try:
        ours, theirs = processes.wide()
    except OSError:
        return None
    us = os.getpid()
    with open(ours, "rb", buffering=processes.HOLDS) as messages:  # noqa: PTH123 - a pipe
        try:
            child = processes.fork(lambda: _child(work, (descriptor, theirs), prctl, us))
        except OSError:
            return None
        finally:
            os.close(theirs)
        try:
            kind, content = _taken(messages, take, tell)
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            raise
        finally:
            with contextlib.suppress(ChildProcessError):  # who started us may have had ended children forgotten
                os.waitpid(child, 0)
    return _outcome(kind, content)


def _prctl() -> Callable[[int, int], int] | None:
    """Return Linux's function of this name; an interpreter may have been built without what finds it."""
    try:
        import ctypes  # noqa: PLC0415 - start-up time

        found: Callable[[int, int], int] = ctypes.CDLL(None).prctl
    except (ImportError, OSError, AttributeError):
        return None
    return found


def _taken(messages: BinaryIO, take: Send, tell: Tell) -> tuple[int, bytes]:
    """Take messages up to the last one, and return that."""
    while True:
        kind, content = _message(messages)
        if kind == _PIECE:
            take(content)
        elif kind == _WAITS:
            tell(_text(content))
        else:
            return kind, content


def _message(messages: BinaryIO) -> tuple[int, bytes]:
    """Return the next message and its kind."""
    head = messages.read(1 + _LENGTH)
    if len(head) == 1 + _LENGTH:
        length = int.from_bytes(head[1:], "little")
        content = messages.read(length)
        if len(content) == length:
            return head[0], content
    raise interrupted()


def _outcome(kind: int, content: bytes) -> bytes:
    """Return the result, or raise what the work raised."""
    if kind == _RESULT:
        return content
    text = _text(content)
    if kind >= _FAILED:
        raise _FAILURES[kind - _FAILED](text)
    raise msgspec.DecodeError(text) if kind == _UNREADABLE else RuntimeError(text)


def _child(work: Work, files: tuple[int, int], prctl: Callable[[int, int], int], parent: int) -> NoReturn:
    try:
        # It comes when the thread that forked ends, which waits for this process.
        if prctl(_SET_DEATH_SIGNAL, signal.SIGKILL) or os.getppid() != parent:
            os._exit(0)
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        _keep(files)
        sender = _Sender(files[1])
        sender.end(*_done(work, sender))
    finally:
        os._exit(0)


def _keep(files: Collection[int]) -> None:
    """Close all files but these: others wait until nobody has them any more."""
    null = os.open(os.devnull, os.O_RDWR)
    kept = {0, 1, 2, *files}
    for standard in {0, 1, 2}.difference(files):
        os.dup2(null, standard)
    for number in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208 - pathlib may import
        if number not in kept:
            with contextlib.suppress(OSError):  # the listing itself
                os.close(number)


def _done(work: Work, sender: "_Sender") -> tuple[int, bytes]:
    """Do the work; return what became of it."""
    try:
        return _RESULT, work(sender.send, sender.tell)
    except KoordError as failure:
        place = next(place for place, kind in enumerate(_FAILURES) if isinstance(failure, kind))
        kind, text = _FAILED + place, failure.message
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, TooLargeError) as problem:
        kind, text = _UNREADABLE, str(problem)
    except Exception as fault:  # noqa: BLE001 - raised where the result is waited for
        kind, text = _FAULT, f"{type(fault).__name__}: {fault}"
    return kind, _bytes(text)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(content: bytes) -> str:
    return content.decode("utf-8", "surrogatepass")


class _Sender:
    """Sends messages into a pipe, several at once."""

    def __init__(self, output: int) -> None:
        self._output = output
        self._unsent = bytearray()

    def send(self, content: bytes) -> None:
        self._add(_PIECE, content)
        if len(self._unsent) >= _AT_ONCE:
            self._flush()

    def tell(self, text: str) -> None:
        self._add(_WAITS, _bytes(text))
        self._flush()

    def end(self, kind: int, content: bytes) -> None:
        self._add(kind, content)
        self._flush()

    def _add(self, kind: int, content: bytes) -> None:
        self._unsent.append(kind)
        self._unsent += len(content).to_bytes(_LENGTH, "little")
        self._unsent += content

    def _flush(self) -> None:
        sent = 0
        with memoryview(self._unsent) as unsent:
            while sent < len(unsent):
                sent += os.write(self._output, unsent[sent:])
        self._unsent.clear()


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

_FIELD = b'"managedFields":['
_NEAR = 128
"""So far from where the last two items let expect them managedFields are looked for first: to search takes time."""
_LEAST = 1 / 8
"""Below such a share of a slice they are not worth it, nor in those that follow."""


class WithoutManagedFields:
    """Hands on slices of one list, one after the other, without their managedFields."""

    def __init__(self) -> None:
        """Start with nothing seen."""
        self._is_worth_it = True
        self._first = self._apart = 0  # where the first stood in the last slice, and how far apart the last two

    def handed_to(self, take: TakeSlice) -> TakeSlice:
        """Return what takes slices, and hands them on to `take`."""

        def taken(part: Slice) -> None:
            short = self._short(part) if self._is_worth_it else None
            if short is not None:
                try:
                    take(short)
                except msgspec.ValidationError:
                    raise
                except msgspec.DecodeError:
                    pass
                else:
                    return
            take(part)

        return taken

    def _short(self, part: Slice) -> Slice | None:
        """Return a slice without managedFields, None where it would hardly be shorter."""
        whole: Any = part if isinstance(part, bytes) else part.obj
        view, end = memoryview(part), len(part)
        find, kept = whole.find, list[memoryview]()
        taken = last = gone = 0
        expected = self._first
        while True:
            found = find(_FIELD, max(taken, expected - _NEAR), min(end, expected + _NEAR))
            if found < 0:
                found = find(_FIELD, taken, end)
                if found < 0:
                    break
            start = found + len(_FIELD)
            kept.append(view[taken:start])
            taken = find(b"]", start, end)
            if taken < 0:
                return None
            gone += taken - start
            if last:
                self._apart = found - last
            else:
                self._first = found
            last, expected = found, found + self._apart
        self._is_worth_it = gone >= end * _LEAST
        kept.append(view[taken:end])
        return b"".join(kept) if self._is_worth_it else None


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
