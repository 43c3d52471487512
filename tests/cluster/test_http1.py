"""What kubectl's proxy sends is HTTP, or it is told in one line that it is none."""

import socket
from contextlib import closing

import pytest

from kubectl_koord.cluster.api.connection import Connection
from kubectl_koord.cluster.api.kubectl import SocketBody
from kubectl_koord.cluster.api.transport import Deadline, Limits
from kubectl_koord.errors import KoordError

_CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
_INTERIM = b"HTTP/1.1 100 Continue\r\n\r\n"


def received(body: SocketBody) -> bytes:
    body.receive()
    return body.read()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (_INTERIM * 6, "net/http: too many 1xx informational responses"),
        (b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 300, "net/http: malformed HTTP response"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "net/http: malformed HTTP response"),
        (_CHUNKED + b"-5\r\nxxxxx\r\n", "unexpected EOF"),
        (_CHUNKED + b"0x5\r\nxxxxx\r\n", "unexpected EOF"),
    ],
)
def test_http_that_is_none_is_one_line(answer: bytes, said: str) -> None:
    ours, theirs = socket.socketpair()
    with theirs, closing(SocketBody(ours, Deadline(Limits(Connection())))) as body:
        theirs.sendall(answer)
        theirs.shutdown(socket.SHUT_WR)
        with pytest.raises(KoordError, match=f"^Unable to connect to the server: {said}$"):
            received(body)


def test_a_few_interim_answers_are_skipped() -> None:
    ours, theirs = socket.socketpair()
    with theirs, closing(SocketBody(ours, Deadline(Limits(Connection())))) as body:
        theirs.sendall(_INTERIM * 5 + _CHUNKED + b"a;b=c\r\n0123456789\r\n0\r\n\r\n")
        assert (received(body), body.status) == (b"0123456789", 200)
