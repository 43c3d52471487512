"""What listens: few requests at once, of few bytes, by GET and HEAD, for hosts that were told."""

import gc
import http.client
import ipaddress
import socket
import threading
from collections.abc import Iterator

import pytest

from kubectl_koord.errors import KoordError
from kubectl_koord.live import server as served
from kubectl_koord.live.faces import HTML, PLAIN, Reply
from kubectl_koord.live.server import LONGEST_HEAD, MOST_AT_ONCE, Listening, Server, run
from kubectl_koord.live.state import Recorded
from kubectl_koord.model.snapshot import Snapshot
from tests.live.served import questions
from tests.live.test_state import PATIENCE


class Echo:
    """Answers with the path, once it may."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.open.set()
        self.came = threading.Semaphore(0)
        self.counted: list[tuple[str, int]] = []

    def count(self, face: str, code: int) -> None:
        self.counted.append((face, code))

    def __call__(self, path: str) -> Reply:
        self.came.release()
        assert self.open.wait(PATIENCE)
        return Reply(200, HTML if path == "/page" else PLAIN, path.encode())


@pytest.fixture(scope="module")
def echo() -> Echo:
    return Echo()


@pytest.fixture(scope="module")
def port(echo: Echo) -> Iterator[int]:
    with Server(Listening(hosts=("Told.example.com",))) as server:
        server.reply, server.count = echo, echo.count
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join(PATIENCE)


def answered(port: int, request: bytes) -> tuple[str, dict[str, str], bytes]:
    """Return the status line, the headers and the body of the answer to these bytes."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as made:
        made.sendall(request)
        return read(made)


def read(made: socket.socket) -> tuple[str, dict[str, str], bytes]:
    found = b""
    while more := made.recv(1 << 16):
        found += more
    head, _, body = found.partition(b"\r\n\r\n")
    status, *lines = head.decode().split("\r\n")
    return status, dict(line.split(": ", 1) for line in lines if line), body


def status(port: int, request: str) -> str:
    return answered(port, request.encode())[0].partition(" ")[2]


def test_a_request_is_answered_with_headers_that_let_nothing_act_or_stay(port: int) -> None:
    first, headers, body = answered(port, b"GET /page?x HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert (first, body) == ("HTTP/1.1 200 OK", b"/page?x")
    first, headers, body = answered(port, b"GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n")
    del headers["Date"]
    policy = headers.pop("Content-Security-Policy")
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert policy.endswith("; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
    assert headers == {
        "Server": "kubectl-koord",
        "Content-Type": "text/html; charset=utf-8",
        "Content-Length": "5",
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Connection": "close",
        "Refresh": "30",
    }


def test_head_is_answered_without_the_content(port: int) -> None:
    made = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    made.request("HEAD", "/x")
    reply = made.getresponse()
    assert (reply.status, reply.headers["Content-Length"], reply.read()) == (200, "2", b"")


@pytest.mark.parametrize(
    ("request_head", "expected"),
    [
        ("POST / HTTP/1.1\r\nHost: localhost", "405 Method Not Allowed"),
        ("DELETE / HTTP/1.1\r\nHost: localhost", "405 Method Not Allowed"),
        ("GET / HTTP/1.1", "400 Bad Request"),
        ("GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost", "400 Bad Request"),
        ("GET http://localhost/ HTTP/1.1\r\nHost: localhost", "400 Bad Request"),
        ("GET / HTTP/9.1\r\nHost: localhost", "505 HTTP Version Not Supported"),
        ("what is this\r\nHost: localhost", "400 Bad Request"),
        ("GET / HTTP/1.1\r\nHost: localhost\r\n" + "X: y\r\n" * 150, "431 Request Header Fields Too Large"),
        ("GET /" + "x" * LONGEST_HEAD + " HTTP/1.1\r\nHost: localhost", "431 Request Header Fields Too Large"),
    ],
)
def test_other_requests_are_refused_with_a_document_and_counted(
    port: int, echo: Echo, request_head: str, expected: str
) -> None:
    first, headers, body = answered(port, f"{request_head}\r\n\r\n".encode())
    assert first == f"HTTP/1.1 {expected}"
    assert headers["Content-Type"] == "application/json"
    assert b'"kind": "Error"' in body
    assert echo.counted[-1] == ("refused", int(expected[:3]))


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost:9094", "200 OK"),
        ("127.0.0.1", "200 OK"),
        ("10.0.0.7:9094", "200 OK"),
        ("[::1]:9094", "200 OK"),
        ("told.example.com:80", "200 OK"),
        ("rebound.example.com", "421 Misdirected Request"),
        ("localhost.example.com", "421 Misdirected Request"),
        ("[rebound", "421 Misdirected Request"),
        ("", "421 Misdirected Request"),
    ],
)
def test_only_hosts_that_were_told_and_addresses_are_answered(port: int, host: str, expected: str) -> None:
    assert status(port, f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n") == expected


def test_a_request_that_does_not_come_is_given_up(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served, "SECONDS_TO_ASK", 0.05)
    assert status(port, "GET / HTTP/1.1\r\n") == "431 Request Header Fields Too Large"
    monkeypatch.setattr(served, "SECONDS_TO_ASK", -1.0)
    assert status(port, "GET / HTTP/1.1\r\n") == "431 Request Header Fields Too Large"


def test_who_goes_away_is_forgotten(port: int) -> None:
    socket.create_connection(("127.0.0.1", port), PATIENCE).close()
    assert status(port, "GET / HTTP/1.1\nHost: localhost\n\n") == "200 OK"


def test_more_than_are_answered_at_once_are_sent_away(port: int, echo: Echo) -> None:
    echo.open.clear()
    waiting = [socket.create_connection(("127.0.0.1", port), PATIENCE) for _ in range(MOST_AT_ONCE)]
    for number, one in enumerate(waiting):
        one.sendall(f"GET /{number} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    while echo.came.acquire(blocking=False):
        pass
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as one_more:
        assert one_more.recv(1) == b""
    assert echo.counted[-1] == ("refused", 503)
    echo.open.set()
    assert [read(one)[2] for one in waiting] == [f"/{number}".encode() for number in range(MOST_AT_ONCE)]
    for one in waiting:
        one.close()


def test_where_it_cannot_listen_the_reason_is_told(port: int) -> None:
    with pytest.raises(KoordError, match=r"error: cannot listen on 127\.0\.0\.1 port \d+: Address already in use"):
        Server(Listening(port=port))
    with pytest.raises(KoordError, match="error: --address 'here' is not an IP address"):
        Server(Listening("here"))


def test_it_listens_on_ipv6_as_well() -> None:
    try:
        server = Server(Listening("::1"))
    except KoordError:
        pytest.skip("there is no IPv6 here")
    with server:
        assert ipaddress.ip_address(str(server.server_address[0])) == ipaddress.ip_address("::1")
        assert server.url.startswith("http://[::1]:")


def test_it_ends_where_the_cluster_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> Snapshot:
        raise KoordError("error: no such file")

    said: list[str] = []
    monkeypatch.setattr(served, "_COLLECTED", gc.get_threshold())
    with pytest.raises(KoordError, match="no such file"):
        run(Recorded(fails), questions(), Listening(), said.append, said.append, 0.0)
    assert [one[:17] for one in said] == ["http://127.0.0.1:"]
