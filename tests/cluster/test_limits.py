"""What a server that lets us wait costs: a line, and an end."""

import re
import select
import threading
from collections.abc import Callable
from contextlib import closing

import pytest

from kubectl_koord.cluster import kinds
from kubectl_koord.cluster.api import transport as limits
from kubectl_koord.cluster.api.connect import connect
from kubectl_koord.cluster.api.connection import IDLE_LIMIT, Connection, take_connection
from kubectl_koord.cluster.api.transport import Deadline, Limits, TooLate
from kubectl_koord.cluster.source import StatedInstallation
from kubectl_koord.cluster.watching import ClusterWatch
from tests.apiserver import ApiServer, Rule
from tests.cluster.conftest import pod

PODS = "/api/v1/pods"
NEVER = threading.Event()
SHORT = Connection(idle_limit=0.3)
OF_REQUEST = "Unable to connect to the server: net/http: request canceled (Client.Timeout "


def ended(connection: Connection, bound: float = 0, notify: Callable[[str], None] | None = None) -> str:
    """The sentence with which reading the pods ends."""
    with connect(connection, writes=False, notify=notify) as transport:
        if bound:
            transport.open("/version").close()
            transport.bound(bound)
        with pytest.raises(TooLate) as caught, closing(transport.open(PODS)) as body:
            body.read()
    return caught.value.message


@pytest.mark.usefixtures("way")
def test_a_server_that_never_answers_is_given_up_after_a_silence(server: ApiServer) -> None:
    server.rules.append(Rule(PODS, hang=NEVER))
    assert ended(SHORT) == (
        "Unable to connect to the server: nothing came for 0.3 s (pods); --request-timeout sets another limit"
    )


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("drips", [False, True], ids=["stops", "drips"])
def test_a_server_that_stops_or_drips_within_a_list_is_given_up_after_a_silence(
    server: ApiServer, *, drips: bool
) -> None:
    server.rules.append(Rule(PODS, stall=NEVER, drips=drips))
    said = r"Unable to connect to the server: (nothing|no more than \d+ bytes) came for 0.3 s \(pods\); .*"
    assert re.fullmatch(said, ended(SHORT))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("drips", [False, True], ids=["stops", "drips"])
def test_the_request_timeout_is_for_the_whole_answer(server: ApiServer, *, drips: bool) -> None:
    server.rules.append(Rule(PODS, stall=NEVER, drips=drips))
    assert ended(Connection(request_timeout=0.3, idle_limit=None)).startswith(OF_REQUEST)


@pytest.mark.usefixtures("way")
def test_who_follows_bounds_everything(server: ApiServer) -> None:
    server.rules.append(Rule(PODS, stall=NEVER, drips=True))
    assert ended(Connection(idle_limit=None), bound=0.3) == (
        "Unable to connect to the server: no complete answer came within 0.3 s (pods)"
    )


@pytest.mark.usefixtures("way")
def test_a_drip_is_told_like_a_silence(server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "NOTICE", 0.02)
    server.rules.append(Rule(PODS, stall=NEVER, drips=True))
    told: list[str] = []
    ended(SHORT, notify=told.append)
    assert told == ["pods"]


def test_a_drip_of_100_bytes_a_second_is_no_word() -> None:
    assert IDLE_LIMIT * 100 < limits.PROGRESS_BYTES


@pytest.mark.usefixtures("way")
def test_what_is_waited_for_is_told_once(server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "NOTICE", 0.02)
    server.rules.append(Rule("/api/v1/namespaces/red/pods", hang=NEVER))
    server.rules.append(Rule(PODS, hang=NEVER))
    told: list[str] = []
    with connect(SHORT, writes=False, notify=told.append) as transport:
        for path in ("/api/v1/namespaces/red/pods?limit=1", PODS):
            with pytest.raises(TooLate):
                transport.open(path)
    assert told == ["pods"]


@pytest.mark.usefixtures("way")
def test_an_answer_that_goes_on_after_a_while_is_whole(server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "NOTICE", 0.02)
    goes_on = threading.Event()
    server.rules.append(Rule(PODS, stall=goes_on))
    with (
        connect(Connection(), writes=False, notify=lambda _: goes_on.set()) as transport,
        closing(transport.open(PODS)) as body,
    ):
        assert body.read().count(b'"kind": "Pod"') == 3


@pytest.mark.usefixtures("way")
def test_a_watch_that_does_not_begin_is_given_up_at_once(server: ApiServer) -> None:
    server.rules.append(Rule(PODS, hang=NEVER, watch=True))
    server.put(pod("d"))
    with (
        connect(Connection(idle_limit=2.0), writes=False) as transport,
        ClusterWatch(transport, kinds.GANG_KINDS, lambda: "red", StatedInstallation()) as watch,
    ):
        watch.snapshot()
        select.select([watch], [], [], 20)
        with pytest.raises(TooLate, match=r"nothing came for 2 s \(pods\)"):
            watch.snapshot()


def test_a_body_that_is_prolonged_may_be_silent() -> None:
    bounded = Limits(Connection(idle_limit=0.001))
    bounded.bound(0.001)
    deadline = Deadline(bounded, PODS)
    deadline.prolong(60)
    left = deadline.left()
    assert left is not None
    assert left > 50


@pytest.mark.parametrize(
    ("words", "seconds", "idle_limit"),
    [((), None, IDLE_LIMIT), (("--request-timeout=3s",), 3.0, None), (("--request-timeout=0",), None, None)],
    ids=["not-given", "given", "none"],
)
def test_a_limit_that_is_given_takes_the_place_of_the_silence(
    words: tuple[str, ...], seconds: float | None, idle_limit: float | None
) -> None:
    connection, _ = take_connection(words)
    assert (connection.request_timeout, connection.idle_limit) == (seconds, idle_limit)


@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("/api/v1/pods?limit=1", "pods"),
        ("/api/v1/namespaces", "namespaces"),
        ("/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/red/podgroups/job?fieldManager=x", "podgroups/job"),
        ("/version", "version"),
    ],
)
def test_what_is_waited_for_is_named_as_kubectl_does(path: str, what: str) -> None:
    told: list[str] = []
    Deadline(Limits(Connection(), told.append), path).notify()
    assert told == [what]
