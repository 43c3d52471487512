"""A cluster followed: each kind is listed once and then watched, in a thread of its own."""

import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
from msgspec import Struct, structs

from kubectl_koord.cluster import source
from kubectl_koord.cluster.api.transport import (
    LONGEST_REPLY,
    Closing,
    Stream,
    TooLate,
    Transport,
    failure,
    gap_of,
    not_read,
    status_of,
)
from kubectl_koord.cluster.bounds import BOUNDS, Bounds, Meter, TooLargeError, decoder, too_large_object
from kubectl_koord.cluster.collect import Collector
from kubectl_koord.cluster.kinds import KINDS, LEASE, NODE_METRIC, POD
from kubectl_koord.cluster.lists import ListRequest, Lists, in_namespace, with_query
from kubectl_koord.cluster.objects.fields import Meta, Named
from kubectl_koord.cluster.source import Part, StatedInstallation
from kubectl_koord.errors import KoordError
from kubectl_koord.language import say
from kubectl_koord.model.snapshot import Gap, Snapshot
from kubectl_koord.model.values import between

_EVENTS_PER_POOL = 100_000


class State:
    """The current state of the cluster, written by the followers and read for snapshots.

    `changed` is a descriptor that is readable after a change; where kinds are `calm`, only after one of what is kept of
    another.
    """

    def __init__(self, calm: Collection[str] = ()) -> None:
        self._calm = frozenset(calm)
        self.collector = Collector()
        self.narrowed = False
        self.changed, self._write_end = os.pipe()
        self._lock = threading.Lock()
        self._gaps: dict[str, Gap] = {}
        self._failure: Exception | None = None
        self._is_notified = False
        self._events = 0
        self._interrupted: dict[str, str] = {}
        self._lease_heard = ""
        self._server_ahead = timedelta()

    def more_kinds(self, kinds: Sequence[str]) -> tuple[str, ...]:
        """Return the further kinds that a question about these kinds needs, by the current state."""
        with self._lock:
            return source.more_kinds(kinds, self.collector)

    def snapshot(self, chosen_version: str, namespace_only: str) -> Snapshot:
        """Return the current cluster; a kind whose watch broke is as of its last event.

        The age of a lease counts from the last event of its watch. Raises KoordError: that of the follower that gave
        up.
        """
        with self._lock:
            if self._failure is not None:
                raise self._failure
            if self._is_notified:
                os.read(self.changed, 1)
                self._is_notified = False
            lease_seen = None if LEASE.name in self._gaps else self._lease_heard
            moment = min([source.now(), *self._interrupted.values()])
            gaps = self._gaps.values()
            return source.at_this_moment(self.collector, gaps, chosen_version, namespace_only, lease_seen, moment)

    def take(self, found: Lists[Part]) -> None:
        """Replace the kinds that were listed by what their lists hold."""
        with self._lock:
            for kind in found.values:
                self.collector.forget(kind)
                if kind in self._gaps and self._gaps[kind].code == "unavailable":
                    del self._gaps[kind]
            listed = source.lease_seen(found)
            if listed is not None:
                self._server_ahead = between(source.now(), listed) or timedelta()
                self._lease_heard = self._server_now()
            for gap in source.absorb(found, self.collector):
                self._gaps[gap.kind] = gap
            self.narrowed = self.narrowed or bool(found.namespace_only)
            self._notify()

    def put(self, kind: str, written: Any) -> None:  # noqa: ANN401
        """Take an object that was added or has changed."""
        with self._lock:
            self._events += 1
            if self._events % _EVENTS_PER_POOL == 0:
                self.collector.renew_pool()
            is_other = self.collector.renew(kind, written)
            if not self._calm or (is_other and kind not in self._calm):
                self._notify()

    def remove(self, kind: str, meta: Meta) -> None:
        """Forget an object that was deleted."""
        with self._lock:
            self.collector.remove(kind, meta)
            self._notify()

    def followed(self, kind: str) -> None:
        """Take note that a kind is watched, from its last version on."""
        with self._lock:
            if self._interrupted.pop(kind, ""):
                self._notify()

    def interrupted(self, kind: str) -> None:
        """Note that the watch of a kind broke: its age counts from now."""
        with self._lock:
            self._interrupted.setdefault(kind, source.now())

    def broken(self) -> tuple[str, ...]:
        """Return the kinds whose watch is broken, in name order."""
        with self._lock:
            return tuple(sorted(self._interrupted))

    def heard(self, kind: str) -> None:
        """Take note that the watch of a kind has brought something, if only that nothing has happened."""
        if kind == LEASE.name:
            with self._lock:
                self._lease_heard = self._server_now()
                if kind not in self._calm:
                    self._notify()

    def lose(self, gap: Gap) -> None:
        """Note that a kind cannot be watched any more: its age counts from now."""
        with self._lock:
            self._gaps[gap.kind] = gap
            self._interrupted.pop(gap.kind, None)
            self._notify()

    def fail(self, problem: Exception) -> None:
        """Raise this at the next snapshot."""
        with self._lock:
            self._failure = self._failure or problem
            self._notify()

    def close(self) -> None:
        """Close the descriptor. May be called twice."""
        with self._lock:
            if self._write_end >= 0:
                os.close(self.changed)
                os.close(self._write_end)
                self._write_end, self._is_notified = -1, True

    def _server_now(self) -> str:
        """Return the current time by the server's clock, where its answers have a date."""
        return (datetime.fromisoformat(source.now()) + self._server_ahead).isoformat().replace("+00:00", "Z")

    def _notify(self) -> None:
        if not self._is_notified:
            os.write(self._write_end, b"!")
            self._is_notified = True


class Streams:
    """The open streams, so that they can be ended all at once, and for good."""

    def __init__(self) -> None:
        self.ended = threading.Event()
        self._lock = threading.Lock()
        self._open: set[Stream] = set()

    def enter(self, stream: Stream) -> None:
        """Take a stream that was opened; after the end of all it is interrupted at once."""
        with self._lock:
            self._open.add(stream)
            if self.ended.is_set():
                stream.interrupt()

    def leave(self, stream: Stream) -> None:
        """Close a stream."""
        with self._lock:
            self._open.discard(stream)
        stream.close()

    def interrupt(self) -> None:
        """Interrupt all streams, and those to come."""
        with self._lock:
            self.ended.set()
            for stream in self._open:
                stream.interrupt()


def lines(pieces: Iterable[bytes], bounds: Bounds = BOUNDS) -> Iterator[bytes]:
    """Yield complete lines; one that the end cut off is left out.

    Raises TooLargeError when a line is longer than any object.
    """
    rest = bytearray()
    for piece in pieces:
        rest += piece
        if len(rest) > bounds.object_bytes:
            raise too_large_object(bounds)
        if b"\n" in piece:
            *whole, rest = rest.split(b"\n")
            yield from (bytes(line) for line in whole if line)


_OK, _GONE = 200, 410
_EXPIRED = {"Expired", "Gone"}
_SERVER_SECONDS = 300
_GRACE_SECONDS = 30.0
HEARTBEATS = frozenset({LEASE.name, NODE_METRIC.name})
"""Kinds that say something by how old they are: after a failure they are listed anew, whatever was missed."""


class Backoff(Struct, frozen=True):
    """How failures of one kind's watch are retried: after pauses in seconds, doubled from `first` to `most`.

    A watch has failed that brought no event and ended, however it did, before it was open for `healthy`
    seconds; after more than `failures` in a row the whole watch is given up, and at once where the first
    request does not begin within the time limits. A kind that may not be watched counts as failed where it was
    watched before: an API server that has just started may know no roles yet, and no CRDs.
    """

    first: float = 0.5
    most: float = 15.0
    failures: int = 8
    healthy: float = 5.0

    def pause(self, failures: int) -> float:
        """Return the seconds to wait after a number of failures in a row."""
        return min(self.first * 2.0 ** max(failures - 1, 0), self.most)


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


_EVENT = decoder(_Event)
_NAMED = decoder(Named)


class Follower:
    """Keeps one kind up to date, in a thread."""

    def __init__(
        self,
        request: ListRequest,
        version: str,
        transport: Transport,
        backoff: Backoff,
        state: State,
        streams: Streams,
    ) -> None:
        self.kind = request.kind
        self._request = request
        self._version = version
        self._transport = transport
        self._backoff = backoff
        self._state = state
        self._streams = streams
        self._has_received = False
        self._opened: float | None = None
        self._has_begun = False
        self._meter = Meter()
        self._decoder = decoder(KINDS[request.kind].wire_type)

    def run(self) -> None:
        """Follow until all is ended, the kind is refused, or too many attempts have failed."""
        try:
            self._follow()
        except _Refused as refused:
            if self.kind == POD.name:
                self._state.fail(not_read(refused.gap))
            else:
                self._state.lose(refused.gap)
        except Exception as problem:  # noqa: BLE001 - it is raised where the snapshot is asked for
            if not self._streams.ended.is_set():
                self._state.fail(problem)

    def _follow(self) -> None:
        failures = 0
        while not self._streams.ended.is_set():
            self._has_received, self._opened = False, None
            problem = self._attempt()
            self._state.interrupted(self.kind)
            failures = 0 if self._has_received or self._has_lasted() else failures + 1
            if (failures or problem) and self.kind in HEARTBEATS:
                self._version = ""
            if failures > self._backoff.failures:
                raise problem or KoordError(
                    say(
                        "error: the watch of {kind} ended {failures} times in a row without a word",
                        kind=self.kind,
                        failures=failures,
                    )
                )
            self._streams.ended.wait(self._backoff.pause(failures))

    def _has_lasted(self) -> bool:
        """Tell whether the watch was open for long: the time that connecting took does not count."""
        return self._opened is not None and time.monotonic() - self._opened >= self._backoff.healthy

    def _attempt(self) -> Exception | None:
        """List where no version is known, and watch to the end; return what went wrong, if anything did."""
        try:
            if not self._version:
                self._list_again()
            self._watch()
        except _Expired:
            self._version = ""
        except (_Refused, KoordError) as problem:
            if isinstance(problem, _Refused | TooLate) and not self._has_begun:
                raise
            return problem
        return None

    def _list_again(self) -> None:
        # The server's cache may be older than what we have seen: ask for the newest state.
        request = structs.replace(self._request, path=with_query(self._request.path, "resourceVersion="))
        found = source.read(self._transport, [request], str, self._state.collector)
        listed = found.values[request.kind]
        if isinstance(listed, Gap):
            raise not_read(listed) if listed.code == "unavailable" else _Refused(listed)
        self._state.take(found)
        self._version = listed.version

    def _watch(self) -> None:
        """Take every event of one watch, until it ends."""
        if not self._version:
            raise KoordError(
                say("error: the server's list of {kind} has no version to be watched from", kind=self.kind)
            )
        query = f"watch=1&allowWatchBookmarks=true&timeoutSeconds={_SERVER_SECONDS}&resourceVersion={self._version}"
        path = with_query(self._request.path, query)
        stream = self._transport.watch(path, _SERVER_SECONDS + _GRACE_SECONDS)
        self._streams.enter(stream)
        try:
            if stream.status != _OK:
                raise self._refusal(stream, path)
            self._opened = time.monotonic()
            self._has_begun = True
            self._state.followed(self.kind)
            for line in lines(stream.pieces()):
                self._meter.count(0, len(line))  # a pod that changes often is no other pod
                self._take(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, TooLargeError) as problem:
            raise KoordError(
                say("error: the server's watch of {kind} cannot be read: {problem}", kind=self.kind, problem=problem)
            ) from None
        finally:
            self._streams.leave(stream)

    def _take(self, line: bytes) -> None:
        event = _EVENT.decode(line)
        if event.type == "ERROR":
            raise self._error_of(bytes(event.object))
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
        self._has_received = True
        self._state.heard(self.kind)

    def _refusal(self, stream: Stream, path: str) -> Exception:
        """Return what an answer other than 200 means."""
        body = stream.read(LONGEST_REPLY)
        if stream.status == _GONE:
            return _Expired()
        gap = gap_of(self.kind, stream.status, body, path)
        is_refused = gap is not None and gap.code != "unavailable"
        return _Refused(gap) if gap and is_refused else failure(stream.status, body, path)

    def _error_of(self, body: bytes) -> Exception:
        """Return what an ERROR event means: its object is a Status."""
        status = status_of(body)
        if status is not None and (status.code == _GONE or status.reason in _EXPIRED):
            return _Expired()
        return failure((status.code if status else None) or 500, body, self._request.path)


_CLOSING_SECONDS = 2.0

BACKOFF = Backoff()
"""About three quarters of a minute: long enough for an API server to restart."""


class ClusterWatch(Closing):
    """The cluster behind a transport, followed from the first `snapshot()` to `close()`.

    Where kinds are `calm`, `fileno` tells only of changes of what is kept of others.
    """

    def __init__(
        self,
        transport: Transport,
        kinds: Sequence[str],
        namespace: Callable[[], str],
        told: StatedInstallation,
        backoff: Backoff | None = None,
        calm: Collection[str] = (),
    ) -> None:
        self._transport = transport
        self._kinds = tuple(kinds)
        self._namespace = namespace
        self._told = told
        self._backoff = backoff or BACKOFF
        self._state = State(calm)
        self._state.collector.looked_in = told.namespace
        self._streams = Streams()
        self._listed: set[str] = set()
        self._threads: list[threading.Thread] = []

    def fileno(self) -> int:
        """Return a descriptor that is readable when something has changed since the last snapshot."""
        return self._state.changed

    def interrupted(self) -> tuple[str, ...]:
        """Return the kinds whose watch is broken for the moment, in name order."""
        return self._state.broken()

    def snapshot(self) -> Snapshot:
        """Return the current cluster; the first time as it was listed.

        Raises KoordError when it cannot be listed, or could not be watched for too long.
        """
        followers: list[Follower] = []
        if not self._listed:
            followers += self._list(self._kinds)
            source.detect_version(self._transport, self._state.collector, self._told.version)
        more = [kind for kind in self._state.more_kinds(self._kinds) if kind not in self._listed]
        if more:
            followers += self._list(more)
        namespace_only = self._namespace() if self._state.narrowed else ""
        snapshot = self._state.snapshot(self._told.version, namespace_only)
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

    def _list(self, kinds: Sequence[str]) -> list[Follower]:
        """List the kinds, and return what is to follow each that could be listed."""
        found = source.read(
            self._transport, source.requests(kinds), self._namespace, self._state.collector, home=self._told.namespace
        )
        pods = found.values.get(POD.name)
        if isinstance(pods, Gap):
            raise not_read(pods)
        self._listed |= set(kinds)
        self._state.take(found)
        followers = []
        for kind, value in found.values.items():
            if not isinstance(value, Gap) or value.code == "unavailable":
                request = self._as_listed(found.requests[kind], narrowed=kind in found.namespace_only)
                shared = (self._transport, self._backoff, self._state, self._streams)
                followers.append(Follower(request, "" if isinstance(value, Gap) else value.version, *shared))
        return followers

    def _as_listed(self, request: ListRequest, *, narrowed: bool) -> ListRequest:
        if not narrowed or request.namespaced_path is None:
            return structs.replace(request, namespaced_path=None)
        path = in_namespace(request.namespaced_path, self._namespace())
        return structs.replace(request, path=path, namespaced_path=None)
