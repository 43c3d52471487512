"""Long lists of pods are read in a process of their own, with the answer that one process gives."""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_koord.cluster import reading, source
from kubectl_koord.cluster.api.connection import Connection, Target
from kubectl_koord.cluster.api.transport import Closing, Deadline, Interrupted, Limits, Reply, Stream, TooLate
from kubectl_koord.cluster.bounds import Bounds, Meter, TooLargeError, resident
from kubectl_koord.cluster.collect import Collector
from kubectl_koord.cluster.collect_live import ListingCollector
from kubectl_koord.cluster.lists import ListRequest, Page
from kubectl_koord.cluster.objects.listed_pods import PodComparer
from kubectl_koord.cluster.objects.pod_wire import ListedPod
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

    def read_ahead(self) -> None:
        pass

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

    def target(self) -> Target:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


def page(pods: list[Json], token: str = "") -> bytes:
    meta = {"resourceVersion": "7"} | ({"continue": token} if token else {})
    return json.dumps({"kind": "PodList", "apiVersion": "v1", "metadata": meta, "items": pods}).encode()


@pytest.fixture
def apart_from_the_first(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let every list be read apart, in small slices; return the processes that are made for it."""
    monkeypatch.setattr(reading, "AT_FIRST", 0)
    monkeypatch.setattr(reading.read_page, "__defaults__", (1 << 10, None, None))
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
    monkeypatch.setattr(reading.read_page, "__defaults__", (size, None, None))
    pods = [*EVERY, *EVERY[::-1]]
    seen: dict[str, int] = {}
    assert read(Server(page(pods)), ListingCollector(seen=seen)) == plain(*pods)
    assert seen == {"Pod": len(pods)}
    assert len(apart_from_the_first) == 1
    with pytest.raises(ChildProcessError):
        os.waitpid(apart_from_the_first[0], os.WNOHANG)


OWNERS = st.sampled_from(["", *"abc"]).map(lambda name: [{"kind": "ReplicaSet", "name": name}] if name else [])
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
    assert handed_over(every) == plain(*every)


def handed_over(every: list[Json]) -> Snapshot:
    """Return pods that one collector compares and another takes, seven at a time."""
    there, here = ListingCollector().reducer("Pod"), (collector := ListingCollector()).reducer("Pod")
    assert there is not None
    assert here is not None
    for start in range(0, len(every), 7):
        written = msgspec.json.decode(json.dumps(every[start : start + 7]), type=list[ListedPod])
        here.take(there.reduced(written))
    return collector.snapshot(moment="", source="")


def test_more_owners_than_are_remembered_come_again() -> None:
    owners = [[{"kind": "ReplicaSet", "name": f"web-{at % 150}"}] for at in range(400)]
    labels = [{"app": str(at % 7)} for at in range(400)]
    every = [
        pod(f"p-{at:03}", nodeName="n1", ownerReferences=owners[at], labels=labels[at], volumes=[token(f"{at:05}")])
        for at in range(400)
    ]
    assert handed_over(every) == plain(*every)


def test_what_is_remembered_of_large_pods_stays_small() -> None:
    at_first, comparer = resident(), PodComparer()
    for at in range(100, 164):
        one = pod(f"p-{at}", nodeName="n1", labels={"app": f"{at}" * 900_000}, ownerReferences=[{"name": str(at)}])
        comparer.told(msgspec.json.decode(json.dumps(one), type=ListedPod))
    assert resident() - at_first < 100 << 20


def test_a_page_here_goes_on_after_one_that_was_read_apart(
    apart_from_the_first: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "AT_FIRST", 2000)
    labels = [{"app": "a"}] * 40 + [{"app": "b"}] * 40 + [{"app": "a"}] * 40
    pods = [pod(f"p-{at:03}", nodeName="n1", labels=told) for at, told in enumerate(labels)]
    assert read(Server(page(pods[:80], "next"), page(pods[80:]))) == plain(*pods)
    assert len(apart_from_the_first) == 2


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


@pytest.mark.parametrize("processors", [{0}, {0, 1}], ids=["here", "apart"])
@pytest.mark.parametrize("place", [0, len(EVERY)], ids=["first", "last"])
@pytest.mark.parametrize("bound", [{"nodeName": "n"}, {}], ids=["bound", "pending"])
@pytest.mark.parametrize(
    ("told", "problem"),
    [
        ({"requests": {"cpu": "much"}}, "cpu: 'much' is not a quantity"),
        ({"labels": {"app": 5}}, "Expected `str | null`, got `int`"),
        ({"ownerReferences": 5}, "Expected `array | null`, got `int`"),
    ],
    ids=["amount", "labels", "owners"],
)
@pytest.mark.usefixtures("apart_from_the_first")
def test_a_pod_that_cannot_be_taken_is_named(
    told: Json, problem: str, bound: Json, place: int, processors: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: processors)
    pods = [*EVERY[:place], pod("q", namespace="a", **told, **bound), *EVERY[place:]]
    with pytest.raises(KoordError) as raised:
        read(Server(page(pods)))
    assert raised.value.message.startswith(f"error: Pod a/q: {problem}")


def test_the_bounds_hold_for_what_is_read_apart(apart_from_the_first: list[int]) -> None:
    body = FileBody(page(list(EVERY)), Deadline(Limits(Connection()), "/pods"))
    reducer = ListingCollector().reducer("Pod")
    beside = reading.Apart.where_faster(reducer, Page(body, threading.Event()))
    with closing(body), pytest.raises(TooLargeError, match="more than 20 objects"):
        reading.read_page(body, ListedPod, lambda _: None, 1 << 10, Meter(Bounds(objects=20)), beside)
    assert apart_from_the_first


def test_a_page_that_is_no_longer_wanted_is_given_up(apart_from_the_first: list[int]) -> None:
    stop = threading.Event()
    whole = Page(FileBody(page(list(EVERY)), Deadline(Limits(Connection()), "/pods")), stop)
    taken: list[bytes] = []

    def take(reduced: bytes) -> None:
        taken.append(reduced)
        stop.set()

    beside = reading.Apart(reading.Reducer(lambda _: b"some", take), whole)
    with closing(whole), pytest.raises(KoordError, match="another list"):
        reading.read_page(whole, ListedPod, lambda _: None, 1 << 10, None, beside)
    assert taken == [b"some"]
    assert apart_from_the_first


@pytest.mark.usefixtures("apart_from_the_first")
def test_children_that_are_forgotten_at_once_do_no_harm() -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert read(Server(page(list(EVERY)))) == plain(*EVERY)
    finally:
        signal.signal(signal.SIGCHLD, before)


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

    monkeypatch.setattr(reading, "AT_FIRST", 0)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(os, "fork", none)
    assert read(Server(page(list(EVERY)))) == plain(*EVERY)


def test_a_short_list_and_a_single_processor_make_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def never() -> int:
        raise AssertionError

    monkeypatch.setattr(os, "fork", never)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    assert read(Server(page(list(EVERY)))) == plain(*EVERY)
    monkeypatch.setattr(reading, "AT_FIRST", 0)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    assert read(Server(page(list(EVERY)))) == plain(*EVERY)


def done(work: reading.Work, descriptor: int = 0) -> tuple[bytes | None, list[bytes], list[str]]:
    taken: list[bytes] = []
    told: list[str] = []
    return reading.run(work, descriptor, taken.append, told.append), taken, told


def test_messages_come_in_order_however_long_they_are() -> None:
    sent = [b"", b"a", b"b" * 3_000_000, *(str(number).encode() for number in range(9999))]

    def work(send: reading.Send, tell: reading.Tell) -> bytes:
        tell("begin\ud800")
        for message in sent:
            send(message)
        tell("end")
        return b"result"

    assert done(work) == (b"result", sent, ["begin\ud800", "end"])


def _fail(error: BaseException) -> reading.Work:
    def work(send: reading.Send, _: reading.Tell) -> bytes:
        send(b"one")
        raise error

    return work


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (Interrupted("broken"), Interrupted, "^broken$"),
        (KoordError("error: no"), KoordError, "^error: no$"),
        (TooLate("too late"), TooLate, "^too late$"),
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
    def work(send: reading.Send, _: reading.Tell) -> bytes:
        send(b"x" * reading._AT_ONCE)  # noqa: SLF001 - sent at once
        os.kill(os.getpid(), signal.SIGKILL)
        return b""

    taken: list[bytes] = []
    with pytest.raises(Interrupted):
        reading.run(work, 0, taken.append, print)
    assert list(map(len, taken)) == [reading._AT_ONCE]  # noqa: SLF001


def test_a_failure_here_ends_the_process_there() -> None:
    ours, theirs = os.pipe()

    def work(send: reading.Send, _: reading.Tell) -> bytes:
        while True:
            send(b"more")

    def fail(_: bytes) -> None:
        raise KoordError("no")

    with pytest.raises(KoordError, match="no"):
        reading.run(work, theirs, fail, print)
    os.close(theirs)
    with os.fdopen(ours, "rb") as end:
        assert end.read() == b""


@contextmanager
def open_file() -> Iterator[int]:
    with tempfile.TemporaryFile() as file:
        yield file.fileno()


def test_the_process_has_no_file_but_the_one_that_it_needs() -> None:
    def work(_: reading.Send, __: reading.Tell) -> bytes:
        found = [str(one.readlink()) for one in Path("/proc/self/fd").iterdir() if one.exists() and one.name != str(at)]
        os.fstat(at)
        return json.dumps(found).encode()

    with open_file() as at, open_file():
        result, _, _ = done(work, at)
    assert result is not None
    assert [found.partition(":")[0] for found in sorted(json.loads(result))] == [os.devnull] * 3 + ["pipe"]


PARENT = """
import os, signal, sys
from kubectl_koord.cluster import reading as apart

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
        assert select.select([ours], [], [], 30)[0]
        assert output.read() == b""  # nobody has the other end any more
    assert parent.returncode == -number


def test_what_ends_us_is_not_handled_there() -> None:
    def work(_: reading.Send, __: reading.Tell) -> bytes:
        return json.dumps([signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]).encode()

    before = signal.getsignal(signal.SIGTERM)
    signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        result, _, _ = done(work)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert result == json.dumps([signal.SIG_DFL, signal.SIG_DFL]).encode()


def test_what_is_ignored_stays_so_there() -> None:
    def work(_: reading.Send, __: reading.Tell) -> bytes:
        return str(signal.getsignal(signal.SIGINT) == signal.SIG_IGN).encode()

    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        result, _, _ = done(work)
    finally:
        signal.signal(signal.SIGINT, before)
    assert result == b"True"
