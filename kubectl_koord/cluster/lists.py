"""Reading whole lists of several kinds side by side."""

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Generic, Self, TypeVar
from urllib.parse import quote

import msgspec
from msgspec import Struct

from kubectl_koord.cluster.api.transport import JSON, LONGEST_REPLY, Body, Interrupted, Transport, failure, gap_of
from kubectl_koord.cluster.bounds import Outcomes, TooLargeError
from kubectl_koord.errors import KoordError
from kubectl_koord.language import say
from kubectl_koord.model.snapshot import Gap

T = TypeVar("T")

_OK = 200
_GONE = 410
_RESTARTS = 3
_EMPTY_PAGES = 10


class ListRequest(Struct, frozen=True):
    """A list to read: `path` may carry a query of its own, such as a fieldSelector.

    `namespaced_path` holds `{namespace}` and is read when the cluster-wide list is forbidden.
    A kind that is not `optional` fails the whole reading when it is forbidden or not served.
    """

    kind: str
    path: str
    namespaced_path: str | None = None
    optional: bool = True


class Lists(Struct, Generic[T], frozen=True):
    """What was read of each kind, and which kinds only of one namespace."""

    values: Mapping[str, T | Gap]
    namespace_only: frozenset[str] = frozenset()


class Expired(Exception):  # noqa: N818
    """The server has forgotten the list that we page through. For `read_lists`; not to be caught."""


class Page:
    """A page of a list, whose reading ends with an error once `stop` is set."""

    def __init__(self, body: Body, stop: threading.Event) -> None:
        self.status, self.headers = body.status, body.headers
        self.close = body.close
        self._body, self._stop = body, stop

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes, as `Body` does."""
        self.check()
        return self._body.read(size)

    def readinto(self, buffer: bytearray | memoryview, /) -> int:
        """Fill the buffer, as `Body` does."""
        self.check()
        return self._body.readinto(buffer)

    def check(self) -> None:
        """Look whether it is still wanted. Raises KoordError when it is not."""
        if self._stop.is_set():
            raise KoordError(say("error: interrupted by the failure of another list"))


class Pages:
    """The pages of one list, to be gone through once.

    After each page set `continue_token` to its `metadata.continue`: it asks for the next page,
    and an empty one ends the list. Then call `came` with how many items the page had. `accept` are the forms in which
    they may come.
    """

    def __init__(self, kind: str, transport: Transport, path: str, stop: threading.Event) -> None:
        self.continue_token = ""
        self.accept = JSON
        self._kind = kind
        self._transport = transport
        self._path = path
        self._stop = stop
        self._page: Page | None = None
        self._tokens: set[str] = set()
        self._without_items = 0

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Page:
        """Return the next page.

        Raises Expired when the list has to be begun again. Raises KoordError when the page cannot be had, or the pages
        would never end.
        """
        if self._page and not self.continue_token:
            raise StopIteration
        if self.continue_token in self._tokens:
            raise self._endless("a continue token comes twice")
        self._tokens |= {self.continue_token} - {""}
        path = _continued(self._path, self.continue_token) if self._page else _from_cache(self._path)
        self.close()
        self.continue_token = ""
        page = Page(self._transport.open(path, self.accept), self._stop)
        self._page = page
        if page.status != _OK:
            raise _refusal(self._kind, page, path)
        return page

    def came(self, items: int) -> None:
        """Take note of how many items a page had. Raises KoordError when page after page has none."""
        self._without_items = 0 if items else self._without_items + 1
        if self._without_items >= _EMPTY_PAGES and self.continue_token:
            raise self._endless(f"{_EMPTY_PAGES} pages without items came, and more are to follow")

    def close(self) -> None:
        """Give up the page being read."""
        if self._page:
            self._page.close()

    def _endless(self, why: str) -> KoordError:
        return KoordError(
            say("error: the server's list of {kind} cannot be read: it would not end: {why}", kind=self._kind, why=why)
        )


Decode = Callable[[str, Pages], T]
"""Reads the pages of a kind into one value; called again, from the start, when a list expires or breaks off."""


def read_lists(
    transport: Transport,
    requests: Sequence[ListRequest],
    namespace: str | Callable[[], str],
    decode: Decode[T],
    arrived: Callable[[str, T | Gap], None] | None = None,
) -> Lists[T]:
    """Read all the lists, each in a thread of its own.

    `namespace` is only looked at when a cluster-wide list is forbidden; `decode` is called in the threads. Lists that
    may not be read or are not served become a `Gap`. `arrived` is called with each kind as soon as it is there, while
    others may still come. Raises KoordError: the first failure of any list; the other threads are told to stop.
    """
    stop = threading.Event()
    outcomes = Outcomes[_Read[T]]()
    reader = _Reader(transport, namespace, decode, stop)
    for request in requests:
        outcomes.begin(partial(reader.read, request))
    values: dict[str, T | Gap] = {}
    narrowed: set[str] = set()
    try:
        for _ in requests:
            outcome = outcomes.wait()
            values[outcome.kind] = outcome.value
            if outcome.namespace_only:
                narrowed.add(outcome.kind)
            if arrived:
                arrived(outcome.kind, outcome.value)
    finally:
        stop.set()
    return Lists({request.kind: values[request.kind] for request in requests}, frozenset(narrowed))


class _Read(Struct, Generic[T], frozen=True):
    """One kind, read or found to be a gap."""

    kind: str
    value: T | Gap
    namespace_only: bool = False


class _Refused(Exception):  # noqa: N818
    """A list that is forbidden or not served."""

    def __init__(self, gap: Gap, error: KoordError) -> None:
        super().__init__(error.message)
        self.gap, self.error = gap, error


class _Reader(Generic[T]):
    """Reads one list: in the namespace after a refusal, again when it has expired or the connection broke."""

    def __init__(
        self,
        transport: Transport,
        namespace: str | Callable[[], str],
        decode: Decode[T],
        stop: threading.Event,
    ) -> None:
        self._transport = transport
        self._namespace = namespace
        self._decode = decode
        self._stop = stop

    def read(self, request: ListRequest) -> _Read[T]:
        try:
            return _Read(request.kind, self._list(request.kind, request.path))
        except _Refused as refused:
            if refused.gap.code == "forbidden" and request.namespaced_path:
                return self._narrowed(request, request.namespaced_path, refused)
            return _gap(request, refused)

    def _narrowed(self, request: ListRequest, template: str, whole: _Refused) -> _Read[T]:
        namespace = self._namespace if isinstance(self._namespace, str) else self._namespace()
        path = in_namespace(template, namespace)
        try:
            return _Read(request.kind, self._list(request.kind, path), namespace_only=True)
        except _Refused:
            # The cluster-wide list is what we wanted: its refusal names the grant to ask for.
            return _gap(request, whole)

    def _list(self, kind: str, path: str) -> T:
        for left in reversed(range(_RESTARTS)):
            pages = Pages(kind, self._transport, path, self._stop)
            try:
                return self._decode(kind, pages)
            except Expired:
                continue
            except Interrupted:
                if not left:
                    raise
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, TooLargeError) as problem:
                raise KoordError(
                    say("error: the server's list of {kind} cannot be read: {problem}", kind=kind, problem=problem)
                ) from None
            finally:
                pages.close()
        raise KoordError(
            say("error: the list of {kind} expired {restarts} times before it was read", kind=kind, restarts=_RESTARTS)
        )


def _gap(request: ListRequest, refused: _Refused) -> _Read[T]:
    if not request.optional:
        raise refused.error
    return _Read(request.kind, refused.gap)


def _refusal(kind: str, page: Body, path: str) -> Exception:
    body = page.read(LONGEST_REPLY)
    if page.status == _GONE:
        return Expired()
    error = failure(page.status, body, path)
    gap = gap_of(kind, page.status, body, path)
    return _Refused(gap, error) if gap else error


def with_query(path: str, query: str) -> str:
    """Return the path of a list with more in its query, which beats a version that the path names: none comes twice."""
    bare, _, own = path.partition("?")
    kept = [part for part in own.split("&") if part and not part.startswith("resourceVersion")]
    return f"{bare}?{'&'.join([*kept, query])}"


def _from_cache(path: str) -> str:
    """Ask for what the server has at hand rather than for a quorum read, unless the path has an opinion."""
    return path if "resourceVersion=" in path.partition("?")[2] else with_query(path, "resourceVersion=0")


def in_namespace(template: str, namespace: str) -> str:
    """Return the path of a namespace's list."""
    return template.replace("{namespace}", quote(namespace, safe=""))


def _continued(path: str, token: str) -> str:
    """Return the path of the next page: it must not name a version, the token does."""
    return with_query(path, f"continue={quote(token, safe='')}")
