"""What is known of a cluster that is watched."""

import os
import threading
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from kubectl_koord.cluster import source
from kubectl_koord.cluster.collecting.collect import Collector
from kubectl_koord.cluster.elsewhere import Part
from kubectl_koord.cluster.kinds import LEASE
from kubectl_koord.cluster.objects.fields.meta import Meta
from kubectl_koord.cluster.reading.lists import Lists
from kubectl_koord.model.snapshot import Gap, Snapshot
from kubectl_koord.model.values.moments import between

_EVENTS_PER_POOL = 100_000


class State:
    """What is known of the cluster: written by the followers, read by whoever asks for a snapshot."""

    def __init__(self) -> None:
        """Start with nothing known; `changed` is the descriptor that is readable after a change."""
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
        """Return the kinds that a question which rests on these rests on besides, as things are."""
        with self._lock:
            return source.more_kinds(kinds, self.collector)

    def snapshot(self, chosen_version: str, namespace_only: str) -> Snapshot:
        """Return the cluster as it is known now: while a kind is not followed, as of the moment when it last was.

        A lease is as old as it was when its watch last brought something: nobody knows what came to it since.

        Raises:
            KoordError: that of the follower that gave up.

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
            self.collector.add(kind, written)
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
        """Take note that a kind is not watched: from now on what is known of it grows old."""
        with self._lock:
            self._interrupted.setdefault(kind, source.now())

    def heard(self, kind: str) -> None:
        """Take note that the watch of a kind has brought something, if only that nothing has happened."""
        if kind == LEASE.name:
            with self._lock:
                self._lease_heard = self._server_now()
                self._notify()

    def lose(self, gap: Gap) -> None:
        """Name a kind that can be watched no longer: what was read of it grows old."""
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
        """Return this moment by the clock of the server, as far as it has told: the scheduler's is nearer to that."""
        return (datetime.fromisoformat(source.now()) + self._server_ahead).isoformat().replace("+00:00", "Z")

    def _notify(self) -> None:
        if not self._is_notified:
            os.write(self._write_end, b"!")
            self._is_notified = True
