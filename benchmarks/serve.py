"""A loopback API server for large lists: they lie ready in files before the clock starts.

Lists come whole or in pages, as JSON or as the table that `kubectl get` asks for; pods and nodes as protobuf to whoever
accepts that, whole. With `--gzip` they are packed for whoever accepts that, as an API server packs them.

    python -m benchmarks.serve NODES PODS FOLDER [--diverse] [--tables] [--file] [--tls] [--gzip] [--latency SECONDS]
        [--changes NUMBER] [--heartbeats]

writes a kubeconfig into the folder, prints its path, and serves until its standard input ends. It is a process
of its own: the memory of whoever starts a program counts as the program's.

Who watches is sent so many changes a second: of five one is a pod that is new, named by the time in milliseconds, one
that it is bound, one that it is deleted, and two change of a pod what no answer depends on. Heartbeats are a Lease each
two seconds, and of each node a NodeMetric a minute and its status each five minutes.
"""

import argparse
import gzip
import json
import mmap
import sys
import threading
import time
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from benchmarks.diverse.cluster import Diverse
from benchmarks.generate import Cluster, Size, Uniform
from benchmarks.shapes import Object
from kubectl_koord.cluster.objects.pod_wire import FINISHED
from kubectl_koord.cluster.protobuf import MIME as PROTOBUF
from kubectl_koord.cluster.protobuf import field, varint
from tests import encoded
from tests.apiserver import ApiServer, Request, Rule, Tls, self_signed

_VERSION = "1000000"
_COLUMNS = ("Name", "Ready", "Status", "Restarts", "Age")
_UNFINISHED = "status.phase!=Succeeded,status.phase!=Failed"
_OF_JSON = 0.69  # of the bytes of JSON a list of pods has as protobuf, measured with kube-apiserver 1.34
_PACKED_FROM = 128 * 1024  # bytes; an API server leaves smaller answers alone


class _Brief(msgspec.Struct):
    metadata: dict[str, Any]
    status: dict[str, Any]


class Stored(NamedTuple):
    """The items of a list in a file, one behind the other with a comma behind each."""

    kind: str
    group: str
    content: mmap.mmap | bytes
    ends: Sequence[int]

    def page(self, start: int, limit: int) -> tuple[bytes | memoryview, ...]:
        """Return a page of the list in parts; a limit of 0 is none."""
        count = len(self.ends)
        end = min(start + limit, count) if limit else count
        meta: dict[str, Any] = {"resourceVersion": _VERSION}
        if end < count:
            meta |= {"continue": str(end), "remainingItemCount": count - end}
        is_table = self.kind == "Table"
        head: dict[str, Any] = {"kind": self.kind, "apiVersion": self.group, "metadata": meta}
        if is_table:
            column = {"type": "string", "format": "", "description": "", "priority": 0}
            head["columnDefinitions"] = [{"name": name} | column for name in _COLUMNS]
        opened = json.dumps(head, separators=(",", ":"))[:-1].encode() + (b',"rows":[' if is_table else b',"items":[')
        first = self.ends[start - 1] if start else 0
        last = self.ends[end - 1] - 1 if end > start else first
        return opened, memoryview(self.content)[first:last], b"]}\n"


class Store:
    """Writes the items of a list to a file."""

    def __init__(self, path: Path, kind: str, group: str = "v1") -> None:
        self._kind, self._group, self._path = kind, group, path
        self._ends, self._total = array("Q"), 0
        self._file = path.open("wb")

    def add(self, item: bytes) -> None:
        self._total += self._file.write(item + b",")
        self._ends.append(self._total)

    def stored(self) -> Stored:
        """Return the list, to which nothing is added any more."""
        self._file.close()
        with self._path.open("rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if self._total else b","
            return Stored(self._kind, self._group, content, self._ends)


class EncodedStore(Store):
    """Writes nodes or pods to a file as protobuf, each padded to the size that it has from an API server."""

    def add(self, item: bytes) -> None:
        written = encoded.message(self._kind, msgspec.json.decode(item))
        padding = bytes(max(0, int(len(item) * _OF_JSON) - len(written)))
        self._total += self._file.write(field(2, written + field(1002, padding)))

    def parts(self) -> tuple[bytes | memoryview, ...]:
        """Return the list, to which nothing is added any more, in parts."""
        meta = field(1, field(2, _VERSION.encode()))
        said = field(1, field(1, b"v1") + field(2, f"{self._kind}List".encode()))
        opened = b"k8s\0" + said + varint(2 << 3 | 2) + varint(len(meta) + self._total) + meta
        return opened, memoryview(self.stored().content)[: self._total]


def store(path: Path, kind: str, items: Iterable[bytes], group: str = "v1") -> Stored:
    """Write the items of a list to a file."""
    made = Store(path, kind, group)
    for item in items:
        made.add(item)
    return made.stored()


class BigServer(ApiServer):
    """Serves the large lists of a generated cluster from files, the rest as usual."""

    def __init__(self, cluster: Cluster, folder: Path, options: argparse.Namespace, tls: Tls | None) -> None:
        super().__init__({"items": cluster.others()}, tls=tls)
        self._version = int(_VERSION)
        self._latency: float = options.latency
        self._packs: bool = options.gzip
        self._packed: dict[tuple[object, ...], bytes] = {}
        self._lists = {("/api/v1/nodes", ""): store(folder / "nodes", "NodeList", map(_bare, cluster.nodes()))}
        self._lists |= _stored_pods(cluster, folder, tables=options.tables)
        self._encoded = {
            ("/api/v1/nodes", ""): _encoded(folder / "nodes.pb", "Node", cluster.nodes()),
            ("/api/v1/pods", _UNFINISHED): _encoded(folder / "pods.pb", "Pod", filter(_is_unfinished, cluster.pods())),
        }
        for large in cluster.large():
            group, plural = large.path.removeprefix("/apis/").removeprefix("/api/").rsplit("/", 1)
            self._lists[large.path, ""] = store(folder / plural, large.kind, large.items, group)

    def rule_for(self, request: Request) -> Rule | None:
        """Answer the large lists."""
        if self._latency:
            self.closing.wait(self._latency)
        wanted = "Table" if "as=Table" in request.headers.get("accept", "") else request.query.get("fieldSelector", "")
        key = (request.path, wanted)
        if key not in self._lists or request.is_watch:
            return super().rule_for(request)
        start, limit = int(request.query.get("continue") or 0), int(request.query.get("limit") or 0)
        page: tuple[object, ...] = (*key, start, limit)
        headers: dict[str, str] = {}
        if PROTOBUF in request.headers.get("accept", "") and key in self._encoded:
            page, headers = (*key, PROTOBUF), {"Content-Type": PROTOBUF}
            parts = self._encoded[key]
        else:
            parts = self._lists[key].page(start, limit)
        if self._packs and "gzip" in request.headers.get("accept-encoding", "") and sum(map(len, parts)) > _PACKED_FROM:
            if page not in self._packed:
                self._packed[page] = gzip.compress(b"".join(parts), 1, mtime=0)
            return Rule(request.path, raw=self._packed[page], headers=headers | {"Content-Encoding": "gzip"})
        return Rule(request.path, parts=parts, headers=headers)


def write_file(path: Path, cluster: Cluster) -> None:
    """Write the cluster as `kubectl get nodes,pods,... -A -o json` prints it."""
    more = (msgspec.json.encode(other) for other in cluster.others())
    with path.open("wb") as file:
        between = b'{\n    "apiVersion": "v1",\n    "items": [\n        '
        for items in (cluster.nodes(), cluster.pods(), *_large(cluster), more):
            for item in items:
                pretty = msgspec.json.format(msgspec.json.encode(msgspec.json.decode(item), order="sorted"), indent=4)
                file.write(between + pretty.replace(b"\n", b"\n        "))
                between = b",\n        "
        file.write(b'\n    ],\n    "kind": "List",\n    "metadata": {\n        "resourceVersion": ""\n    }\n}\n')


def _bare(item: bytes) -> bytes:
    """Return an item as it stands in a list: without its kind, which the list tells."""
    return b"{" + item[item.index(b'"metadata"') :]


def _large(cluster: Cluster) -> Iterator[Iterator[bytes]]:
    for large in cluster.large():
        group, _ = large.path.removeprefix("/apis/").removeprefix("/api/").rsplit("/", 1)
        head = json.dumps({"apiVersion": group, "kind": large.kind.removesuffix("List")})[:-1].encode() + b","
        yield (item if item.startswith(b'{"apiVersion"') else head + item[1:] for item in large.items)


def _stored_pods(cluster: Cluster, folder: Path, *, tables: bool) -> dict[tuple[str, str], Stored]:
    """Return the lists of all pods and of unfinished ones, and the table of all."""
    path = "/api/v1/pods"
    every, unfinished = Store(folder / "all", "PodList"), Store(folder / "pods", "PodList")
    rows = Store(folder / "table", "Table", "meta.k8s.io/v1") if tables else None
    for pod in cluster.pods():
        brief = msgspec.json.decode(pod, type=_Brief)
        bare = _bare(pod)
        every.add(bare)
        if _is_unfinished(pod):
            unfinished.add(bare)
        if rows:
            rows.add(_row(brief))
    found = {(path, ""): every.stored(), (path, _UNFINISHED): unfinished.stored()}
    return found | ({(path, "Table"): rows.stored()} if rows else {})


def _is_unfinished(pod: bytes) -> bool:
    brief: _Brief = msgspec.json.decode(pod, type=_Brief)
    return brief.status["phase"] not in FINISHED


def _encoded(path: Path, kind: str, items: Iterable[bytes]) -> tuple[bytes | memoryview, ...]:
    made = EncodedStore(path, kind)
    for item in items:
        made.add(item)
    return made.parts()


def _row(brief: _Brief) -> bytes:
    kind = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": brief.metadata}
    cells = [brief.metadata["name"], "1/1", brief.status["phase"], "0", "2h"]
    return msgspec.json.encode({"cells": cells, "object": kind})


class Changes(threading.Thread):
    """Lets a served cluster change until the server is closed."""

    def __init__(self, server: BigServer, cluster: Cluster, rate: int, *, heartbeats: bool) -> None:
        super().__init__(daemon=True)
        self._server, self._nodes = server, cluster.size.nodes
        running = (pod for pod in cluster.pods() if b'"nodeName"' in pod and _is_unfinished(pod))
        self._pods = deque(islice(running, _KEPT)) if rate else deque()
        self._metrics: deque[bytes] = deque()
        self._beaten: deque[bytes] = deque()
        if heartbeats:
            metrics = (one.items for one in cluster.large() if one.kind == "NodeMetricList")
            self._metrics.extend(chain.from_iterable(metrics))
            self._beaten.extend(islice(cluster.nodes(), _KEPT))
        self._new: deque[Object] = deque()
        self._bound: deque[Object] = deque()
        self._due: list[tuple[float, Callable[[], None]]] = [(1 / rate, self._change)] if rate else []
        if heartbeats:
            self._due += [(2.0, self._lease), (60 / self._nodes, self._metric), (300 / self._nodes, self._status)]
        self._number = 0

    def run(self) -> None:
        """Send what is due, each kind at its own pace."""
        began = time.monotonic()
        sent = [0] * len(self._due)
        while not self._server.closing.wait(0.005):
            passed = time.monotonic() - began
            for place, (every, send) in enumerate(self._due):
                while (sent[place] + 1) * every <= passed:
                    sent[place] += 1
                    send()

    def _change(self) -> None:
        self._number += 1
        match self._number % 5:
            case 0:
                self._new.append(self._server.put(_probe(f"probe-{time.time() * 1000:.0f}")))
            case 2 if len(self._new) > _WAIT:
                pod = self._new.popleft()
                pod["spec"]["nodeName"] = f"node-{self._number % self._nodes:05}"
                pod["status"] = {"phase": "Running"}
                self._bound.append(self._server.put(pod))
            case 4 if len(self._bound) > _RUN:
                self._server.delete("pods", "train", self._bound.popleft()["metadata"]["name"])
            case _:
                touched = msgspec.json.decode(self._pods[0])
                touched["metadata"].setdefault("annotations", {})["touched"] = str(self._number)
                self._server.put(touched)
                self._pods.rotate(-1)

    def _lease(self) -> None:
        spec = {"holderIdentity": "koord-scheduler-0_x", "renewTime": _now(), "leaseDurationSeconds": 15}
        name = {"name": "koord-scheduler", "namespace": "koordinator-system"}
        self._server.put({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": name, "spec": spec})

    def _metric(self) -> None:
        self._number += 1
        metric = msgspec.json.decode(self._metrics[0])
        metric |= {"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeMetric"}
        status = metric["status"]
        status["updateTime"] = _now()
        status["nodeMetric"]["nodeUsage"]["resources"]["cpu"] = f"{20_000 + self._number % 1000}m"
        self._server.put(metric)
        self._metrics.rotate(-1)

    def _status(self) -> None:
        node = msgspec.json.decode(self._beaten[0])
        for condition in node["status"]["conditions"]:
            condition["lastHeartbeatTime"] = _now()
        self._server.put(node)
        self._beaten.rotate(-1)


_KEPT, _WAIT, _RUN = 2000, 30, 200


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _probe(name: str) -> Object:
    container = {"name": "main", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "train", "creationTimestamp": _now()},
        "spec": {"schedulerName": "koord-scheduler", "containers": [container]},
        "status": {"phase": "Pending"},
    }


def main() -> None:
    """Serve a generated cluster."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("nodes", type=int)
    parser.add_argument("pods", type=int)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--diverse", action="store_true", help="pods, nodes and waiting jobs that differ")
    parser.add_argument("--tables", action="store_true", help="also the table of all pods that kubectl asks for")
    parser.add_argument("--file", action="store_true", help="also write cluster.json as kubectl prints it")
    parser.add_argument("--tls", action="store_true", help="serve over TLS")
    parser.add_argument("--gzip", action="store_true", help="pack lists for whoever accepts it")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--changes", type=int, default=0, help="changes a second")
    parser.add_argument("--heartbeats", action="store_true", help="send heartbeats, too")
    options = parser.parse_args()
    size = Size(options.nodes, options.pods)
    cluster: Cluster = Diverse(size) if options.diverse else Uniform(size)
    if options.file:
        write_file(options.folder / "cluster.json", cluster)
    with ExitStack() as stack:
        tls = self_signed(options.folder) if options.tls else None
        server = stack.enter_context(BigServer(cluster, options.folder, options, tls))
        # A packing server is one elsewhere: under an address that is not known to be this machine's.
        far = {"server": server.url.replace("127.0.0.1", "0.0.0.0")} if options.gzip else {}  # noqa: S104
        named = {"tls-server-name": "localhost"} if options.tls else {}
        Changes(server, cluster, options.changes, heartbeats=options.heartbeats).start()
        sys.stdout.write(f"{server.kubeconfig(options.folder, cluster=far | named)}\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()
