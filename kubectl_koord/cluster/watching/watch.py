"""The watch of a whole cluster: one follower per kind, in a thread of its own."""

import threading
import time
from collections.abc import Callable, Sequence

from msgspec import structs

from kubectl_koord.cluster import source
from kubectl_koord.cluster.api.replies import not_read
from kubectl_koord.cluster.api.transport import Transport
from kubectl_koord.cluster.closing import Closing
from kubectl_koord.cluster.elsewhere import StatedInstallation
from kubectl_koord.cluster.kinds import POD
from kubectl_koord.cluster.reading.lists import ListRequest, in_namespace
from kubectl_koord.cluster.watching.follower import Backoff, Follower
from kubectl_koord.cluster.watching.state import State
from kubectl_koord.cluster.watching.streams import Streams
from kubectl_koord.model.snapshot import Gap, Snapshot

_CLOSING_SECONDS = 2.0

BACKOFF = Backoff()
"""About three quarters of a minute: long enough for an API server to restart."""


class ClusterWatch(Closing):
    """The cluster behind a transport, followed from the first `snapshot()` to `close()`."""

    def __init__(
        self,
        transport: Transport,
        kinds: Sequence[str],
        namespace: Callable[[], str],
        told: StatedInstallation,
        backoff: Backoff | None = None,
    ) -> None:
        """Keep what to follow; nothing is sent yet."""
        self._transport = transport
        self._kinds = tuple(kinds)
        self._namespace = namespace
        self._told = told
        self._backoff = backoff or BACKOFF
        self._state = State()
        self._state.collector.looked_in = told.namespace
        self._streams = Streams()
        self._listed: set[str] = set()
        self._threads: list[threading.Thread] = []

    def fileno(self) -> int:
        """Return a descriptor that is readable when something has changed since the last snapshot."""
        return self._state.changed

    def snapshot(self) -> Snapshot:
        """Return the cluster as it is known now; the first time as it was listed.

        Raises:
            KoordError: when it cannot be listed, or could not be watched for too long.

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
        """Return the request whose path is the one that could be listed."""
        if not narrowed or request.namespaced_path is None:
            return structs.replace(request, namespaced_path=None)
        path = in_namespace(request.namespaced_path, self._namespace())
        return structs.replace(request, path=path, namespaced_path=None)
