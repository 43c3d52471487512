"""One kind, kept up to date."""

import time

import msgspec
from msgspec import Struct, structs

from kubectl_koord.cluster import source
from kubectl_koord.cluster.api.replies import LONGEST_REPLY, failure, gap_of, not_read, status_of
from kubectl_koord.cluster.api.transport import Stream, TooLate, Transport
from kubectl_koord.cluster.bounds import Meter, TooLargeError
from kubectl_koord.cluster.decoders import decoder
from kubectl_koord.cluster.kinds import KINDS, LEASE, NODE_METRIC, POD
from kubectl_koord.cluster.objects.fields.meta import Meta, Named
from kubectl_koord.cluster.reading.lists import ListRequest, with_query
from kubectl_koord.cluster.watching.state import State
from kubectl_koord.cluster.watching.streams import Streams, lines
from kubectl_koord.errors import KoordError
from kubectl_koord.model.snapshot import Gap

_OK, _GONE = 200, 410
_EXPIRED = {"Expired", "Gone"}
_SERVER_SECONDS = 300
_GRACE_SECONDS = 30.0
_AGING = {LEASE.name, NODE_METRIC.name}
"""Kinds that say something by how old they are: after a failure they are listed anew, whatever was missed."""


class Backoff(Struct, frozen=True):
    """How failures of one kind's watch are retried: after pauses in seconds, doubled from `first` to `most`.

    A watch has failed that brought no event and ended, however it did, before it was open for `healthy`
    seconds; after more than `failures` in a row the whole watch is given up, and at once where the first
    request does not begin within the time limits.
    """

    first: float = 0.5
    most: float = 15.0
    failures: int = 8
    healthy: float = 5.0

    def pause(self, failures: int) -> float:
        """Return how long to wait after so many failures in a row."""
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
    """Keeps one kind up to date, in a thread of its own."""

    def __init__(
        self,
        request: ListRequest,
        version: str,
        transport: Transport,
        backoff: Backoff,
        state: State,
        streams: Streams,
    ) -> None:
        """Keep the request, whose list had this version."""
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
            if (failures or problem) and self.kind in _AGING:
                self._version = ""
            if failures > self._backoff.failures:
                raise problem or KoordError(
                    f"error: the watch of {self.kind} ended {failures} times in a row without a word"
                )
            self._streams.ended.wait(self._backoff.pause(failures))

    def _has_lasted(self) -> bool:
        """Tell whether the watch was open for long: the time that connecting took does not count."""
        return self._opened is not None and time.monotonic() - self._opened >= self._backoff.healthy

    def _attempt(self) -> KoordError | None:
        """List where no version is known, and watch to the end; return what went wrong, if anything did."""
        try:
            if not self._version:
                self._list_again()
            self._watch()
        except _Expired:
            self._version = ""
        except KoordError as problem:
            if isinstance(problem, TooLate) and not self._has_begun:
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
            raise KoordError(f"error: the server's list of {self.kind} has no version to be watched from")
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
            raise KoordError(f"error: the server's watch of {self.kind} cannot be read: {problem}") from None
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
