"""Requests that are sent again where the server asks for it, as client-go does, whichever way leads there."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from msgspec import structs

from kubectl_koord.cluster.api.connection import Connection
from kubectl_koord.cluster.api.observed import REQUESTS
from kubectl_koord.cluster.api.transport import (
    JSON,
    Body,
    Notify,
    Passing,
    Reply,
    Stream,
    Transport,
    Unsent,
    asks_to_wait,
    is_refusal,
    resource_of,
)
from kubectl_koord.errors import KoordError

B = TypeVar("B", bound=Body)

TRIES = 10
"""How often a request is sent again, as client-go has it."""

Wait = Callable[[threading.Event, float], object]
"""Lets so many seconds pass, fewer where the event is set meanwhile."""
WAIT: Wait = threading.Event.wait


class RetryingTransport(Passing):
    """A `Transport` that repeats a request after the time that a Retry-After header names.

    With `-v 6` `tell` prints each wait, without it `notify` is called with the first.

    Mirrors client-go's `withRetry` (rest/with_retry.go). All of it takes no longer than `--request-timeout`; without
    one, no wait is longer than the server may be silent. The last answer is returned.
    """

    def __init__(
        self,
        transport: Transport,
        connection: Connection,
        tell: Callable[[str], None] | None = None,
        notify: Notify | None = None,
        *,
        wait: Wait | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._transport = transport
        self._limit = connection.request_timeout
        self._longest = connection.idle_limit
        self._tell = tell if connection.verbosity >= REQUESTS else None
        self._notify = notify
        self._takes_protobuf = connection.takes_protobuf
        self._wait = wait or WAIT
        self._clock = clock
        self._end: float | None = None
        self._closed = threading.Event()

    def open(self, path: str, accept: str = JSON) -> Body:
        """Send a GET and return once the status is known."""
        return self._read(path, lambda: self._transport.open(path, accept if self._takes_protobuf else JSON))

    def watch(self, path: str, seconds: float) -> Stream:
        """Send a GET whose body may take up to `seconds`."""
        return self._read(path, lambda: self._transport.watch(path, seconds))

    def send(self, method: str, path: str, body: bytes, content_type: str) -> Reply:
        """Send a request with a body and return the whole answer.

        Raises KoordError, which is Unsent only where no earlier try can have been carried out either.
        """
        begin = self._clock()
        attempt, doubtful = 1, False
        while True:
            try:
                reply = self._transport.send(method, path, body, content_type)
            except Unsent as problem:
                if doubtful:
                    raise KoordError(problem.message) from None
                raise
            seconds = self._seconds(asks_to_wait(reply.status, reply.headers, reply.body), attempt, begin)
            if seconds is None:
                return structs.replace(reply, doubtful=doubtful)
            doubtful = doubtful or not is_refusal(reply.status, reply.body)
            self._pause(path, reply.status, attempt, seconds)
            attempt += 1

    def bound(self, seconds: float) -> None:
        """Let every request end within `seconds` from now."""
        self._end = self._clock() + seconds
        self._transport.bound(seconds)

    def close(self) -> None:
        """End what is waited for, and give everything back."""
        self._closed.set()
        self._transport.close()

    def _read(self, path: str, send: Callable[[], B]) -> B:
        begin, attempt = self._clock(), 1
        while True:
            answer = send()
            seconds = self._seconds(asks_to_wait(answer.status, answer.headers), attempt, begin)
            if seconds is None:
                return answer
            answer.close()
            self._pause(path, answer.status, attempt, seconds)
            attempt += 1

    def _seconds(self, asked: float | None, attempt: int, begin: float) -> float | None:
        """Return how long to wait before the next try, None where there is none."""
        if asked is None or attempt > TRIES or (self._longest is not None and asked > self._longest):
            return None
        ends = (self._end, None if self._limit is None else begin + self._limit)
        over = self._clock() + asked
        return None if any(end is not None and over > end for end in ends) else asked

    def _pause(self, path: str, status: int, attempt: int, seconds: float) -> None:
        what = resource_of(path)
        if self._tell:
            self._tell(f"Got a Retry-After {seconds:g}s response ({status}) for attempt {attempt} to {what}")
        elif self._notify:
            notify, self._notify = self._notify, None
            notify(f"{what}: it asks to be asked again in {seconds:g} s")
        self._wait(self._closed, seconds)
