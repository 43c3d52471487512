"""A server that asks to be asked again is asked again, after what it asks for, as client-go does; and not for ever."""

import threading
from collections.abc import Callable
from contextlib import closing

import pytest

from kubectl_koord.cluster.api.connection import take_connection
from kubectl_koord.cluster.api.retrying import TRIES, RetryingTransport
from kubectl_koord.cluster.api.transport import Body, Reply, Transport, Unsent, asks_to_wait
from kubectl_koord.errors import KoordError
from tests.apiserver import ApiServer, Rule
from tests.cluster.conftest import Reach

PODS = "/api/v1/namespaces/red/pods"
POD = f"{PODS}/a"
LATER = {"Retry-After": "7"}
MERGE = "application/merge-patch+json"

pytestmark = pytest.mark.usefixtures("way")


class Clock:
    """Seconds that pass only where somebody waits."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waited: list[float] = []
        self.told: list[str] = []
        self.notified: list[str] = []

    def wait(self, _over: threading.Event, seconds: float) -> None:
        self.waited.append(seconds)
        self.now += seconds

    def patient(self, transport: Transport, *flags: str) -> RetryingTransport:
        connection, _ = take_connection(flags)
        tell, notify = self.told.append, self.notified.append
        return RetryingTransport(transport, connection, tell, notify, wait=self.wait, clock=lambda: self.now)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def too_many(times: int | None = None, status: int = 429, seconds: int = 7) -> Rule:
    headers = {"Retry-After": str(seconds)}
    return Rule(f"{PODS}.*", status, "TooManyRequests", "slow down", times=times, headers=headers)


def opened(transport: Transport) -> Body:
    return transport.open(PODS)


def watched(transport: Transport) -> Body:
    return transport.watch(f"{PODS}?watch=1&resourceVersion=1", 60)


@pytest.mark.parametrize("ask", [opened, watched])
@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_read_is_sent_again_after_what_the_server_asks_for(
    server: ApiServer, reach: Reach, clock: Clock, ask: Callable[[Transport], Body], status: int
) -> None:
    server.rules.append(too_many(2, status))
    with closing(ask(clock.patient(reach()))) as answer:
        assert answer.status == 200
    assert (clock.waited, len(server.requests(PODS))) == ([7, 7], 3)
    assert clock.notified == ["pods: it asks to be asked again in 7 s"]


@pytest.mark.parametrize(("method", "path", "done"), [("PATCH", POD, 200), ("POST", PODS, 201)])
def test_a_write_is_sent_again_whole(
    server: ApiServer, reach: Reach, clock: Clock, method: str, path: str, done: int
) -> None:
    server.rules.append(too_many(2))
    body = b'{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "new", "namespace": "red"}}'
    reply = clock.patient(reach(writes=True)).send(method, path, body, MERGE)
    assert (reply.status, reply.doubtful, clock.waited) == (done, False, [7, 7])
    assert [request.body for request in server.requests(path, method)] == [body] * 3


def test_after_ten_tries_the_last_answer_is_the_answer(server: ApiServer, reach: Reach, clock: Clock) -> None:
    server.rules.append(too_many())
    transport = clock.patient(reach(writes=True))
    with closing(transport.open(PODS)) as answer:
        assert (answer.status, b"slow down" in answer.read()) == (429, True)
    assert transport.send("PATCH", POD, b"{}", MERGE).status == 429
    assert len(server.requests(PODS)) == len(server.requests(POD, "PATCH")) == TRIES + 1
    assert clock.waited == [7] * 2 * TRIES


@pytest.mark.parametrize(
    ("status", "headers", "seconds"),
    [
        (429, {"retry-after": "7"}, 7),
        (503, {"retry-after": " 0 "}, 0),
        (599, {"retry-after": "12"}, 12),
        (429, {}, None),
        (503, {}, None),
        (409, {"retry-after": "7"}, None),
        (200, {"retry-after": "7"}, None),
        (429, {"retry-after": "Sat, 28 Nov 2026 09:00:00 GMT"}, None),
        (429, {"retry-after": "-1"}, None),
        (429, {"retry-after": "\u0667"}, None),
        (429, {"retry-after": "9" * 400}, None),
    ],
)
def test_only_a_number_of_seconds_with_429_or_a_fault_asks_to_wait(
    status: int, headers: dict[str, str], seconds: float | None
) -> None:
    assert asks_to_wait(status, headers) == seconds


def test_a_budgets_word_is_an_answer_and_nothing_to_wait_for(server: ApiServer, reach: Reach, clock: Clock) -> None:
    cause = {"reason": "DisruptionBudget", "message": "still being processed"}
    server.rules.append(Rule(f"{POD}/eviction", 429, "TooManyRequests", "no", headers=LATER, causes=(cause,)))
    assert clock.patient(reach(writes=True)).send("POST", f"{POD}/eviction", b"{}", MERGE).status == 429
    assert clock.waited == []


@pytest.mark.parametrize(
    ("flags", "bound", "waits"),
    [
        ((), None, TRIES),
        (("--request-timeout=20s",), None, 2),
        (("--request-timeout=6s",), None, 0),
        (("--request-timeout=0",), None, TRIES),
        ((), 30, 4),
    ],
    ids=["no-limit", "two-waits", "too-short", "none-wanted", "bound"],
)
def test_no_wait_ends_after_the_time_that_there_is(
    server: ApiServer, reach: Reach, clock: Clock, flags: tuple[str, ...], bound: float | None, waits: int
) -> None:
    server.rules.append(too_many())
    transport = clock.patient(reach(*flags), *flags)
    if bound:
        transport.bound(bound)
    with closing(transport.open(PODS)) as answer:
        assert answer.status == 429
    assert clock.waited == [7] * waits


def test_a_wait_that_is_longer_than_any_silence_is_not_begun(server: ApiServer, reach: Reach, clock: Clock) -> None:
    server.rules.append(too_many(seconds=31))
    with closing(clock.patient(reach()).open(PODS)) as answer:
        assert answer.status == 429
    assert clock.waited == []


def test_each_wait_is_told_where_requests_are(server: ApiServer, reach: Reach, clock: Clock) -> None:
    server.rules.append(too_many(2))
    clock.patient(reach(), "-v", "6").open(PODS).close()
    assert clock.told == [f"Got a Retry-After 7s response (429) for attempt {n} to pods" for n in (1, 2)]
    assert clock.notified == []


@pytest.mark.usefixtures("server")
def test_what_an_earlier_try_may_have_done_makes_the_last_answer_doubtful(
    server: ApiServer, reach: Reach, clock: Clock
) -> None:
    transport = clock.patient(reach(writes=True))
    server.rules.append(Rule(POD, 409, "Conflict", "newer"))
    for earlier, doubtful in (
        (too_many(1), False),
        (too_many(1, 503), True),
        (Rule(POD, 429, raw=b"busy", headers=LATER, times=1), True),
    ):
        server.rules.insert(0, earlier)
        reply = transport.send("PATCH", POD, b"{}", MERGE)
        assert (reply.status, reply.doubtful) == (409, doubtful)


class Gone:
    """A way to a server that answers with 503, and is gone then."""

    def __init__(self, *answers: int) -> None:
        self._answers = list(answers)

    def send(self, *_: object) -> Reply:
        if not self._answers:
            raise Unsent("refused")
        return Reply(self._answers.pop(0), b'{"kind": "Status"}', {"retry-after": "1"})


@pytest.mark.parametrize(("answers", "sure"), [((), True), ((429,), True), ((503,), False), ((503, 429), False)])
def test_a_refused_connection_is_no_proof_after_a_try_that_may_have_been_carried_out(
    clock: Clock, answers: tuple[int, ...], *, sure: bool
) -> None:
    transport = clock.patient(Gone(*answers))  # type: ignore[arg-type] # it sends, and that is all
    with pytest.raises(KoordError, match="refused") as caught:
        transport.send("PATCH", POD, b"{}", MERGE)
    assert isinstance(caught.value, Unsent) is sure


def test_closing_ends_what_is_waited_for(server: ApiServer, reach: Reach) -> None:
    waits = threading.Event()
    server.rules.append(too_many())
    transport = RetryingTransport(reach(), take_connection(())[0], notify=lambda _: waits.set())
    failed: list[KoordError] = []

    def ask() -> None:
        try:
            transport.open(PODS)
        except KoordError as problem:
            failed.append(problem)

    thread = threading.Thread(target=ask)
    thread.start()
    assert waits.wait(20)
    transport.close()
    thread.join(20)
    assert not thread.is_alive()
