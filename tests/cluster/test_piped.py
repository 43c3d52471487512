"""What is received through a pipe is what the socket receives, and its sender goes on meanwhile."""

import errno
import fcntl
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import pytest

from kubectl_koord.cluster.api.connection import Connection
from kubectl_koord.cluster.api.kubectl import Piped, SocketBody
from kubectl_koord.cluster.api.transport import Deadline, Interrupted, Limits

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux moves bytes from a socket to a pipe")

SENT = bytes(range(256)) * (3 << 12)
"""Three MiB: more than the pipe holds, and the socket."""


@contextmanager
def piped(content: bytes) -> Iterator[Piped]:
    """Yield what receives that, once somebody has begun to send it."""
    ours, theirs = socket.socketpair()
    sender = threading.Thread(target=send, args=(theirs, content))
    with ours, closing(Piped(ours)) as found:
        sender.start()
        yield found
        ours.shutdown(socket.SHUT_RDWR)
        sender.join()


def send(connection: socket.socket, content: bytes) -> None:
    with connection:
        connection.sendall(content)


def received(piped: Piped) -> bytes:
    piped.settimeout(60)
    buffer, found = bytearray(100_000), bytearray()
    while count := piped.recv_into(buffer):
        found += buffer[:count]
    return bytes(found)


def raising(number: int) -> Callable[..., None]:
    def raises(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    return raises


def test_all_that_is_sent_is_received() -> None:
    with piped(SENT) as found:
        assert received(found) == SENT


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOSYS, errno.EPERM])
def test_a_kernel_that_does_not_move_it_is_no_fault(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    monkeypatch.setattr(os, "splice", raising(number))
    with piped(SENT) as found:
        assert received(found) == SENT


def test_a_pipe_that_may_not_hold_more_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "fcntl", raising(errno.EPERM))
    with piped(SENT) as found:
        assert received(found) == SENT


def test_a_connection_that_breaks_is_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "splice", raising(errno.ECONNRESET))
    ours, theirs = socket.socketpair()
    with ours, theirs, closing(Piped(ours)) as found, pytest.raises(ConnectionResetError):
        received(found)


def test_what_does_not_come_in_time_may_come_later() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, closing(Piped(ours)) as found:
        found.settimeout(0.001)
        with pytest.raises(TimeoutError):
            found.recv_into(bytearray(1))
        theirs.sendall(b"there")
        theirs.shutdown(socket.SHUT_WR)
        found.settimeout(None)
        buffer = bytearray(9)
        assert found.recv_into(buffer) == len(b"there")
        assert found.recv_into(buffer) == 0


def test_a_limit_of_a_thousand_years_is_one() -> None:
    with piped(b"there") as found:
        found.settimeout(1000 * 365 * 86400)
        assert found.recv_into(bytearray(9)) == len(b"there")


def test_the_sender_need_not_wait_for_who_reads() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, closing(Piped(ours)):
        held = theirs.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
        theirs.settimeout(60)
        theirs.sendall(bytes(3 * held))
        ours.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("ahead", [False, True], ids=["as-it-comes", "ahead"])
def test_the_rest_of_an_answer_is_read_ahead(*, ahead: bool) -> None:
    before = set(threading.enumerate())
    ours, theirs = socket.socketpair()
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(SENT)
    sender = threading.Thread(target=send, args=(theirs, head + SENT))
    sender.start()
    body = SocketBody(ours, Deadline(Limits(Connection()), "/api/v1/pods"))
    body.receive()
    first = body.read(1000)
    if ahead:
        body.read_ahead()
    assert first + body.read() == SENT
    body.close()
    body.close()
    sender.join()
    for thread in set(threading.enumerate()) - before:
        thread.join()


def test_an_answer_that_breaks_off_ahead_is_interrupted() -> None:
    ours, theirs = socket.socketpair()
    sender = threading.Thread(target=send, args=(theirs, b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"))
    sender.start()
    body = SocketBody(ours, Deadline(Limits(Connection()), "/api/v1/pods"))
    body.receive()
    body.read_ahead()
    with closing(body), pytest.raises(Interrupted):
        body.read()
    sender.join()
