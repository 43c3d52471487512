"""A cluster that is kept up to date: each kind is listed once, and then watched from the version of its list.

As client-go's reflector does: a watch that ends goes on from the last version seen, one whose version the server
has forgotten begins with a new list, and failures are waited out, ever longer, up to a limit.
"""

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, Self

import msgspec
from msgspec import Struct, structs

from kubectl_koord.cluster import source
from kubectl_koord.cluster.api.replies import LONGEST_REPLY, failure, gap_of, not_read, status_of
from kubectl_koord.cluster.api.transport import Stream, TooLate, Transport
from kubectl_koord.cluster.bounds import BOUNDS, Bounds, Meter, TooLargeError, too_large_object
from kubectl_koord.cluster.collect import Collector
from kubectl_koord.cluster.decoders import decoder
from kubectl_koord.cluster.kinds import KINDS, LEASE, POD, POD_GROUP, VOLUME_KINDS
from kubectl_koord.cluster.lists import ListRequest, Lists, in_namespace
from kubectl_koord.cluster.objects.fields.meta import Meta, Named
from kubectl_koord.cluster.source import Part
from kubectl_koord.errors import KoordError
from kubectl_koord.model.snapshot import Gap, Snapshot

_OK, _GONE = 200, 410
_EXPIRED = {"Expired", "Gone"}
_SERVER_SECONDS = 300
_GRACE_SECONDS = 30.0
_CLOSING_SECONDS = 2.0
_EVENTS_PER_POOL = 100_000
_ESSENTIAL = POD.name


class Patience(Struct, frozen=True):
    """How long failures of one kind's watch are borne: pauses in seconds, doubled from `first` to `most`.

    A watch has failed that told nothing and ended, however it did, before it was open for `healthy`
    seconds; after more than `failures` in a row everything is given up. A watch of which the first did not
    even begin within the time limits is given up at once.
    """

    first: float = 0.5
    most: float = 15.0
    failures: int = 8
    healthy: float = 5.0

    def pause(self, failures: int) -> float:
        """Return how long to wait after so many failures in a row."""
        return min(self.first * 2.0 ** max(failures - 1, 0), self.most)


class ClusterWatch:
    """The cluster behind a transport, followed from the first `snapshot()` to `close()`."""

    def __init__(
        self,
        transport: Transport,
        kinds: Sequence[str],
        namespace: Callable[[], str],
        chosen_version: str,
        patience: Patience | None = None,
    ) -> None:
        """Keep what to follow; nothing is sent yet."""
        self._transport = transport
        self._kinds = tuple(kinds)
        self._namespace = namespace
        self._chosen_version = chosen_version
        self._patience = patience or PATIENCE
        self._state = _State()
        self._streams = _Streams()
        self._begun: set[str] = set()
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        """Return the watch, to be closed at the end of the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        """Close."""
        self.close()

    def fileno(self) -> int:
        """Return a descriptor that is readable when something has changed since the last snapshot."""
        return self._state.wakeup

    def snapshot(self) -> Snapshot:
        """Return the cluster as it is known now; the first time as it was listed.

        Raises:
            KoordError: when it cannot be listed, or could not be watched for too long.

        """
        followers: list[_Follower] = []
        if not self._begun:
            followers += self._begin(self._kinds)
            source.detect_version(self._transport, self._state.collector, self._chosen_version)
        if POD_GROUP.name in self._kinds and VOLUME_KINDS[0] not in self._begun and self._state.has_claims():
            followers += self._begin(VOLUME_KINDS)
        namespace_only = self._namespace() if self._state.narrowed else ""
        snapshot = self._state.snapshot(self._chosen_version, namespace_only)
        for follower in followers:
            self._threads.append(threading.Thread(target=follower.run, name=f"watch {follower.kind}", daemon=True))
            self._threads[-1].start()
        return snapshot

    def close(self) -> None:
        """End every watch, and return when the threads have ended. May be called twice."""
        self._streams.interrupt()
        limit = time.monotonic() + _CLOSING_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, limit - time.monotonic()))
        self._state.close()

    def _begin(self, kinds: Sequence[str]) -> list["_Follower"]:
        """List the kinds, and return what is to follow each that could be listed."""
        requests = {request.kind: request for request in source.requests(kinds)}
        found = source.read(self._transport, list(requests.values()), self._namespace, self._state.collector)
        essential = found.values.get(_ESSENTIAL)
        if isinstance(essential, Gap):
            raise not_read(essential)
        self._begun |= set(kinds)
        self._state.take(found)
        followers = []
        for kind, value in found.values.items():
            if not isinstance(value, Gap):
                own = self._as_listed(requests[kind], narrowed=kind in found.namespace_only)
                share = (self._transport, self._patience, self._state, self._streams)
                followers.append(_Follower(own, value.version, *share))
        return followers

    def _as_listed(self, request: ListRequest, *, narrowed: bool) -> ListRequest:
        """Return the request whose path is the one that could be listed."""
        if not narrowed or request.namespaced_path is None:
            return structs.replace(request, namespaced_path=None)
        path = in_namespace(request.namespaced_path, self._namespace())
        return structs.replace(request, path=path, namespaced_path=None)


class _State:
    """What is known of the cluster: written by the followers, read by whoever asks for a snapshot."""

    def __init__(self) -> None:
        self.collector = Collector()
        self.narrowed = False
        self.wakeup, self._rope = os.pipe()
        self._lock = threading.Lock()
        self._gaps: dict[str, Gap] = {}
        self._failure: Exception | None = None
        self._rung = False
        self._events = 0

    def has_claims(self) -> bool:
        with self._lock:
            return self.collector.has_claims

    def snapshot(self, chosen_version: str, namespace_only: str) -> Snapshot:
        with self._lock:
            if self._failure is not None:
                raise self._failure
            if self._rung:
                os.read(self.wakeup, 1)
                self._rung = False
            lease_seen = None if LEASE.name in self._gaps else ""  # the time of its list says nothing of now
            gaps = self._gaps.values()
            return source.at_this_moment(self.collector, gaps, chosen_version, namespace_only, lease_seen)

    def take(self, found: Lists[Part]) -> None:
        """Take lists over: nothing else is there of their kinds."""
        with self._lock:
            for kind in found.values:
                self.collector.forget(kind)
            for gap in source.absorb(found, self.collector):
                self._gaps[gap.kind] = gap
            self.narrowed = self.narrowed or bool(found.namespace_only)
            self._ring()

    def put(self, kind: str, written: Any) -> None:  # noqa: ANN401
        with self._lock:
            self._events += 1
            if self._events % _EVENTS_PER_POOL == 0:
                self.collector.renew_pool()
            self.collector.add(kind, written)
            self._ring()

    def remove(self, kind: str, meta: Meta) -> None:
        with self._lock:
            self.collector.remove(kind, meta)
            self._ring()

    def lose(self, gap: Gap) -> None:
        """Name a kind that can be followed no longer. What was read of it says what was once, no more."""
        with self._lock:
            self._gaps[gap.kind] = gap
            self._ring()

    def fail(self, problem: Exception) -> None:
        with self._lock:
            self._failure = self._failure or problem
            self._ring()

    def close(self) -> None:
        with self._lock:
            if self._rope >= 0:
                os.close(self.wakeup)
                os.close(self._rope)
                self._rope, self._rung = -1, True

    def _ring(self) -> None:
        if not self._rung:
            os.write(self._rope, b"!")
            self._rung = True


class _Streams:
    """The open streams, so that they can be ended all at once, and for good."""

    def __init__(self) -> None:
        self.ended = threading.Event()
        self._lock = threading.Lock()
        self._open: set[Stream] = set()

    def enter(self, stream: Stream) -> None:
        with self._lock:
            self._open.add(stream)
            if self.ended.is_set():
                stream.interrupt()

    def leave(self, stream: Stream) -> None:
        with self._lock:
            self._open.discard(stream)
        stream.close()

    def interrupt(self) -> None:
        with self._lock:
            self.ended.set()
            for stream in self._open:
                stream.interrupt()


class _Expired(Exception):  # noqa: N818
    """The server has forgotten the version from which to go on."""


class _Refused(Exception):  # noqa: N818
    """The kind may not be watched, or is not served any more."""

    def __init__(self, gap: Gap) -> None:
        super().__init__(gap.message)
        self.gap = gap


class _Event(Struct):
    """One line of a watch."""

    type: str
    object: msgspec.Raw


class _Follower:
    """Keeps one kind up to date, in a thread of its own."""

    def __init__(
        self,
        request: ListRequest,
        version: str,
        transport: Transport,
        patience: Patience,
        state: _State,
        streams: _Streams,
    ) -> None:
        self.kind = request.kind
        self._request = request
        self._version = version
        self._transport = transport
        self._patience = patience
        self._state = state
        self._streams = streams
        self._heard = False
        self._opened: float | None = None
        self._has_begun = False
        self._meter = Meter()
        self._decoder = decoder(KINDS[request.kind].wire_type)

    def run(self) -> None:
        """Follow until all is ended, the kind is refused, or too many attempts have failed."""
        try:
            self._follow()
        except _Refused as refused:
            if self.kind == _ESSENTIAL:
                self._state.fail(not_read(refused.gap))
            else:
                self._state.lose(refused.gap)
        except Exception as problem:  # noqa: BLE001 - it is raised where the snapshot is asked for
            if not self._streams.ended.is_set():
                self._state.fail(problem)

    def _follow(self) -> None:
        failures = 0
        while not self._streams.ended.is_set():
            self._heard, self._opened = False, None
            problem = self._attempt()
            failures = 0 if self._heard or self._has_lasted() else failures + 1
            if failures > self._patience.failures:
                raise problem or KoordError(
                    f"error: the watch of {self.kind} ended {failures} times in a row without a word"
                )
            self._streams.ended.wait(self._patience.pause(failures))

    def _has_lasted(self) -> bool:
        """Tell whether the watch was open for long: the time that connecting took does not count."""
        return self._opened is not None and time.monotonic() - self._opened >= self._patience.healthy

    def _attempt(self) -> KoordError | None:
        """List where no version is known, and watch to the end; return what went wrong, if anything did."""
        try:
            if not self._version:
                self._list_anew()
            self._watch()
        except _Expired:
            self._version = ""
        except KoordError as problem:
            if isinstance(problem, TooLate) and not self._has_begun:
                raise
            return problem
        return None

    def _list_anew(self) -> None:
        # The server's cache may be older than what we have seen: ask for the newest state.
        request = structs.replace(self._request, path=_with_query(self._request.path, "resourceVersion="))
        found = source.read(self._transport, [request], str, self._state.collector)
        listed = found.values[request.kind]
        if isinstance(listed, Gap):
            raise _Refused(listed)
        self._state.take(found)
        self._version = listed.version

    def _watch(self) -> None:
        """Take every event of one watch, until it ends."""
        if not self._version:
            raise KoordError(f"error: the server's list of {self.kind} has no version to be watched from")
        query = f"watch=1&allowWatchBookmarks=true&timeoutSeconds={_SERVER_SECONDS}&resourceVersion={self._version}"
        path = _with_query(self._request.path, query)
        stream = self._transport.watch(path, _SERVER_SECONDS + _GRACE_SECONDS)
        self._streams.enter(stream)
        try:
            if stream.status != _OK:
                raise self._refusal(stream, path)
            self._opened = time.monotonic()
            self._has_begun = True
            for line in lines(stream.pieces()):
                self._meter.count(0, len(line))  # a pod that changes often is no other pod
                self._take(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, TooLargeError) as problem:
            raise KoordError(f"error: the server's watch of {self.kind} cannot be read: {problem}") from None
        finally:
            self._streams.leave(stream)

    def _take(self, line: bytes) -> None:
        event = _EVENT.decode(line)
        if event.type == "ERROR":
            raise self._told(bytes(event.object))
        meta: Meta
        if event.type in {"ADDED", "MODIFIED"}:
            written = self._decoder.decode(event.object)
            self._state.put(self.kind, written)
            meta = written.metadata
        else:
            meta = _NAMED.decode(event.object).metadata
            if event.type == "DELETED":
                self._state.remove(self.kind, meta)
        self._version = meta.resource_version or self._version
        self._heard = True

    def _refusal(self, stream: Stream, path: str) -> Exception:
        """Return what an answer other than 200 means."""
        body = stream.read(LONGEST_REPLY)
        if stream.status == _GONE:
            return _Expired()
        gap = gap_of(self.kind, stream.status, body, path)
        return _Refused(gap) if gap else failure(stream.status, body, path)

    def _told(self, body: bytes) -> Exception:
        """Return what an ERROR event means: its object is a Status."""
        status = status_of(body)
        if status is not None and (status.code == _GONE or status.reason in _EXPIRED):
            return _Expired()
        return failure((status.code if status else None) or 500, body, self._request.path)


PATIENCE = Patience()
"""About three quarters of a minute: an API server that restarts is waited for."""

_EVENT = decoder(_Event)
_NAMED = decoder(Named)


def lines(pieces: Iterable[bytes], bounds: Bounds = BOUNDS) -> Iterator[bytes]:
    """Yield complete lines; one that was cut off by the end is not there.

    Raises:
        TooLargeError: when a line is longer than any object.

    """
    rest = bytearray()
    for piece in pieces:
        rest += piece
        if len(rest) > bounds.object_bytes:
            raise too_large_object(bounds)
        if b"\n" in piece:
            *whole, rest = rest.split(b"\n")
            yield from (bytes(line) for line in whole if line)


def _with_query(path: str, query: str) -> str:
    return f"{path}{'&' if '?' in path else '?'}{query}"
