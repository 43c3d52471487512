"""Long lists of pods are read in a process of their own, with the answer that one process gives."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_koord.cluster import source
from kubectl_koord.cluster.api.connection import Connection
from kubectl_koord.cluster.api.limits import Deadline, Limits
from kubectl_koord.cluster.api.transport import Interrupted, Reply, Stream
from kubectl_koord.cluster.bounds import TooLargeError
from kubectl_koord.cluster.closing import Closing
from kubectl_koord.cluster.collecting.collect import Collector
from kubectl_koord.cluster.collecting.listing import ListingCollector
from kubectl_koord.cluster.objects.pods.listed_fields import ListedPod
from kubectl_koord.cluster.reading import apart, stream
from kubectl_koord.cluster.reading.lists import ListRequest
from kubectl_koord.errors import KoordError
from kubectl_koord.model.snapshot import Gap, Snapshot
from tests.cluster.objects.test_listed import EVERY, SPREAD, claimed, token
from tests.cluster.objects.wire import Json, pod

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes end with ours on Linux alone")

PODS = ListRequest("Pod", "/api/v1/pods")


class FileBody:
    """An answer whose body lies in a file, as a socket has it: what one process reads is gone for the other."""

    status = 200

    def __init__(self, content: bytes, deadline: Deadline, broken_at: int | None = None) -> None:
        self.headers: Mapping[str, str] = {}
        self.deadline = deadline
        self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed as a body is
        self._file.write(content)
        self._file.seek(0)
        self._broken_at = broken_at
        self.descriptor = self._file.fileno()

    def read(self, size: int = -1, /) -> bytes:
        return self._file.read(size)

    def readinto(self, buffer: bytearray | memoryview, /) -> int:
        self.deadline.notify()
        if self._broken_at is not None and self._file.tell() > self._broken_at:
            raise Interrupted("broken")
        return self._file.readinto(buffer)

    def close(self) -> None:
        self._file.close()


class Server(Closing):
    """A transport with one answer for each time it is asked, and nothing but that."""

    def __init__(self, *answers: bytes, broken_at: int | None = None) -> None:
        self.told: list[str] = []
        self.asked: list[str] = []
        self._answers = list(answers)
        self._broken_at = broken_at

    def open(self, path: str) -> FileBody:
        self.asked.append(path)
        deadline = Deadline(Limits(Connection(), self.told.append), path)
        broken_at, self._broken_at = self._broken_at, None
        return FileBody(self._answers.pop(0), deadline, broken_at)

    def watch(self, path: str, seconds: float) -> Stream:
        raise NotImplementedError

    def send(self, method: str, path: str, body: bytes, content_type: str) -> Reply:
        raise NotImplementedError

    def bound(self, seconds: float) -> None:
        raise NotImplementedError

    def namespace(self) -> str:
        raise NotImplementedError

    def server(self) -> str:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


def page(pods: list[Json], token: str = "") -> bytes:
    meta = {"resourceVersion": "7"} | ({"continue": token} if token else {})
    return json.dumps({"kind": "PodList", "apiVersion": "v1", "metadata": meta, "items": pods}).encode()


@pytest.fixture
def apart_from_the_first(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let every list be read apart, in small slices; return the processes that are made for it."""
    monkeypatch.setattr(stream, "AT_FIRST", 0)
    monkeypatch.setattr(stream.read_page, "__defaults__", (1 << 10, None, None))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    made: list[int] = []
    fork = os.fork

    def noted() -> int:
        pid = fork()
        made.append(pid)
        return pid

    monkeypatch.setattr(os, "fork", noted)
    return made


def read(server: Server, collector: Collector | None = None) -> Snapshot:
    collector = collector or ListingCollector()
    found = source.read(server, [PODS], str, collector)
    assert not isinstance(found.values["Pod"], Gap)
    assert found.values["Pod"].version == "7"
    source.absorb(found, collector)
    return collector.snapshot(moment="", source="")


def plain(*every: Json) -> Snapshot:
    collector = Collector()
    collector.add_all("Pod", [msgspec.convert(one, collector.wire_types["Pod"]) for one in every])
    return collector.snapshot(moment="", source="")


@pytest.mark.parametrize("size", [1, 1 << 9, 1 << 12])
def test_what_is_read_apart_is_what_one_process_reads(
    size: int, apart_from_the_first: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream.read_page, "__defaults__", (size, None, None))
    pods = [*EVERY, *EVERY[::-1]]
    seen: dict[str, int] = {}
    assert read(Server(page(pods)), ListingCollector(seen=seen)) == plain(*pods)
    assert seen == {"Pod": len(pods)}
    assert len(apart_from_the_first) == 1
    with pytest.raises(ChildProcessError):
        os.waitpid(apart_from_the_first[0], os.WNOHANG)


OWNERS = st.sampled_from([[], [{"kind": "ReplicaSet", "name": "web", "uid": "1"}], [{"kind": "Job", "name": "x"}]])
LABELS = st.sampled_from([None, {"app": "web"}, {"app": "api"}, {"pod-group.scheduling.sigs.k8s.io": "g"}])
PARTS = st.fixed_dictionaries(
    {
        "namespace": st.sampled_from(["a", "b"]),
        "nodeName": st.sampled_from(["n1", "n2", ""]),
        "ownerReferences": OWNERS,
        "labels": LABELS,
        "volumes": st.sampled_from([[], [token("abcde")], [claimed("c"), token("fghij")]]),
        "requests": st.sampled_from([{}, {"cpu": "1"}, {"cpu": "2", "memory": "1Gi"}]),
        "topologySpreadConstraints": st.sampled_from([[], [SPREAD]]),
        "annotations": st.sampled_from(
            [{}, {"gang.scheduling.koordinator.sh/name": "g"}, {"scheduling.koordinator.sh/resource-spec": "{}"}]
        ),
    }
)


@settings(derandomize=True, max_examples=60, deadline=None)
@given(parts=st.lists(PARTS, max_size=30))
def test_any_pods_compared_in_one_process_are_told_in_another(parts: list[dict[str, Any]]) -> None:
    every = [pod(f"p-{at:02}", **told) for at, told in enumerate(parts)]
    collector = ListingCollector()
    reducer = collector.reducer("Pod")
    assert reducer is not None
    for start in range(0, len(every), 7):
        written = msgspec.json.decode(json.dumps(every[start : start + 7]), type=list[ListedPod])
        reducer.take(reducer.reduced(written))
    assert collector.snapshot(moment="", source="") == plain(*every)


def test_pages_are_read_apart_one_after_the_other(apart_from_the_first: list[int]) -> None:
    first, second = list(EVERY[:9]), list(EVERY[9:])
    server = Server(page(first, "next"), page(second))
    assert read(server) == plain(*EVERY)
    assert len(apart_from_the_first) == 2
    assert server.asked == ["/api/v1/pods?resourceVersion=0", "/api/v1/pods?continue=next"]


def test_what_is_waited_for_apart_is_told_here(apart_from_the_first: list[int]) -> None:
    server = Server(page(list(EVERY)))
    read(server)
    assert server.told == ["pods"]
    assert apart_from_the_first


def test_a_list_that_breaks_off_apart_is_read_again_here(apart_from_the_first: list[int]) -> None:
    pods = [pod(f"p-{at:04}", nodeName="n1") for at in range(2000)]
    content = page(pods)
    server = Server(content, content, broken_at=len(content) // 2)
    assert read(server) == plain(*pods)
    assert (len(server.asked), len(apart_from_the_first)) == (2, 1)


@pytest.mark.parametrize("bad", [pod("q", nodeName="n", requests={"cpu": "much"}), pod("q", requests={"cpu": "much"})])
def test_a_pod_that_cannot_be_taken_is_named(bad: Json, apart_from_the_first: list[int]) -> None:
    with pytest.raises(KoordError) as raised:
        read(Server(page([*EVERY, bad])))
    assert raised.value.message == "error: Pod q: cpu: 'much' is not a quantity"
    assert apart_from_the_first


def test_what_is_no_list_of_pods_is_told_as_ever(
    apart_from_the_first: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    content = page([*EVERY, pod("q", nodeName=[])])
    with pytest.raises(KoordError) as told_apart:
        read(Server(content))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    with pytest.raises(KoordError) as told_here:
        read(Server(content))
    assert told_apart.value.message == told_here.value.message
    assert len(apart_from_the_first) == 1


def test_without_room_for_a_process_the_list_is_read_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> int:
        raise BlockingIOError

    monkeypatch.setattr(stream, "AT_FIRST", 0)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(os, "fork", none)
    assert read(Server(page(list(EVERY)))) == plain(*EVERY)


def test_a_short_list_and_a_single_processor_make_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def never() -> int:
        raise AssertionError

    monkeypatch.setattr(os, "fork", never)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    assert read(Server(page(list(EVERY)))) == plain(*EVERY)
    monkeypatch.setattr(stream, "AT_FIRST", 0)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    assert read(Server(page(list(EVERY)))) == plain(*EVERY)


def done(work: apart.Work, descriptor: int = 0) -> tuple[bytes | None, list[bytes], list[str]]:
    taken: list[bytes] = []
    told: list[str] = []
    return apart.run(work, descriptor, taken.append, told.append), taken, told


def test_messages_come_in_order_however_long_they_are() -> None:
    sent = [b"", b"a", b"b" * 3_000_000, *(str(number).encode() for number in range(9999))]

    def work(send: apart.Send, tell: apart.Tell) -> bytes:
        tell("begin\ud800")
        for message in sent:
            send(message)
        tell("end")
        return b"result"

    assert done(work) == (b"result", sent, ["begin\ud800", "end"])


def _fail(error: BaseException) -> apart.Work:
    def work(send: apart.Send, _: apart.Tell) -> bytes:
        send(b"one")
        raise error

    return work


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (Interrupted("broken"), Interrupted, "^broken$"),
        (KoordError("error: no"), KoordError, "^error: no$"),
        (TooLargeError("too large"), msgspec.DecodeError, "^too large$"),
        (msgspec.ValidationError("Expected"), msgspec.DecodeError, "^Expected$"),
        (RecursionError("deep"), msgspec.DecodeError, "^deep$"),
        (ZeroDivisionError("a fault"), RuntimeError, "ZeroDivisionError: a fault"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_an_error_there_is_one_here(error: Exception, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        done(_fail(error))


def test_a_process_that_is_killed_is_a_connection_that_broke() -> None:
    def work(send: apart.Send, _: apart.Tell) -> bytes:
        send(b"x" * apart._AT_ONCE)  # noqa: SLF001 - sent at once
        os.kill(os.getpid(), signal.SIGKILL)
        return b""

    taken: list[bytes] = []
    with pytest.raises(Interrupted):
        apart.run(work, 0, taken.append, print)
    assert list(map(len, taken)) == [apart._AT_ONCE]  # noqa: SLF001


def test_a_failure_here_ends_the_process_there() -> None:
    ours, theirs = os.pipe()

    def work(send: apart.Send, _: apart.Tell) -> bytes:
        while True:
            send(b"more")

    def fail(_: bytes) -> None:
        raise KoordError("no")

    with pytest.raises(KoordError, match="no"):
        apart.run(work, theirs, fail, print)
    os.close(theirs)
    with os.fdopen(ours, "rb") as end:
        assert end.read() == b""


@contextmanager
def open_file() -> Iterator[int]:
    with tempfile.TemporaryFile() as file:
        yield file.fileno()


def test_the_process_has_no_file_but_the_one_that_it_needs() -> None:
    def work(_: apart.Send, __: apart.Tell) -> bytes:
        found = [str(one.readlink()) for one in Path("/proc/self/fd").iterdir() if one.exists() and one.name != str(at)]
        os.fstat(at)
        return json.dumps(found).encode()

    with open_file() as at, open_file():
        result, _, _ = done(work, at)
    assert result is not None
    assert {found for found in json.loads(result) if not found.startswith("pipe:")} == {os.devnull}


PARENT = """
import os, signal, sys
from kubectl_koord.cluster.reading import apart

def work(send, tell):
    os.write({descriptor}, b"there")
    signal.pause()

apart.run(work, {descriptor}, print, print)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_process_ends_with_ours_however_that_ends(number: signal.Signals) -> None:
    ours, theirs = os.pipe()
    script = PARENT.format(descriptor=theirs)
    with subprocess.Popen([sys.executable, "-c", script], pass_fds=[theirs]) as parent, os.fdopen(ours, "rb") as output:
        os.close(theirs)
        assert output.read(5) == b"there"
        parent.send_signal(number)
        assert output.read() == b""  # nobody has the other end any more
    assert parent.returncode == -number


def test_an_interrupt_for_all_ends_the_process_at_once() -> None:
    def work(_: apart.Send, __: apart.Tell) -> bytes:
        os.kill(os.getpid(), signal.SIGINT)
        signal.pause()
        return b""

    with pytest.raises(Interrupted):
        done(work)
