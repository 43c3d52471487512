"""A loopback API server for large lists: everything is in bytes before the clock starts.

Lists come whole or in pages, as JSON or as the table that `kubectl get` asks for.

    python -m benchmarks.serve NODES PODS FOLDER

writes `cluster.json` and a kubeconfig into the folder, prints the kubeconfig's path, and serves until its
standard input ends. It is a process of its own: the memory of whoever starts a program counts as the program's.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.generate import Cluster, as_list, generate
from tests.apiserver import ApiServer, Request, Rule

_COLUMNS = ("Name", "Ready", "Status", "Restarts", "Age")
_UNFINISHED = "status.phase!=Succeeded,status.phase!=Failed"


class _Brief(msgspec.Struct):
    metadata: dict[str, Any]
    status: dict[str, Any]


class BigServer(ApiServer):
    """Serves the nodes and pods of a generated cluster from ready-made bytes, the rest as usual."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__({"items": cluster.others})
        pods = [(item, msgspec.json.decode(item, type=_Brief)) for item in cluster.pods]
        unfinished = [_bare(item) for item, brief in pods if brief.status["phase"] not in {"Succeeded", "Failed"}]
        self._items: Mapping[tuple[str, str], Sequence[bytes]] = {
            ("/api/v1/nodes", ""): [_bare(node) for node in cluster.nodes],
            ("/api/v1/pods", ""): [_bare(pod) for pod in cluster.pods],
            ("/api/v1/pods", _UNFINISHED): unfinished,
        }
        self._rows = [_row(brief) for _, brief in pods]
        self._made: dict[tuple[object, ...], bytes] = {}

    def rule_for(self, request: Request) -> Rule | None:
        """Answer the large lists; the bytes of an answer are joined once."""
        key = (request.path, request.query.get("fieldSelector", ""))
        if key not in self._items:
            return super().rule_for(request)
        as_table = "as=Table" in request.headers.get("accept", "")
        start, limit = int(request.query.get("continue") or 0), int(request.query.get("limit") or 0)
        page = (*key, as_table, start, limit)
        if page not in self._made:
            items = self._rows if as_table else self._items[key]
            self._made[page] = _page(request.path, items, start, limit, as_table=as_table)
        return Rule(request.path, raw=self._made[page])


def _bare(item: bytes) -> bytes:
    """Return an item as it stands in a list: without its kind, which the list tells."""
    return b"{" + item[item.index(b'"metadata"') :]


def _page(path: str, items: Sequence[bytes], start: int, limit: int, *, as_table: bool) -> bytes:
    end = start + limit if limit else len(items)
    meta: dict[str, Any] = {"resourceVersion": "1000000"}
    if end < len(items):
        meta |= {"continue": str(end), "remainingItemCount": len(items) - end}
    if as_table:
        columns = [
            {"name": name, "type": "string", "format": "", "description": "", "priority": 0} for name in _COLUMNS
        ]
        head = {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": meta, "columnDefinitions": columns}
        field = "rows"
    else:
        kind = "NodeList" if path.endswith("nodes") else "PodList"
        head, field = {"kind": kind, "apiVersion": "v1", "metadata": meta}, "items"
    opened = json.dumps(head)[:-1].encode()
    return b"".join((opened, b',"', field.encode(), b'":[', b",".join(items[start:end]), b"]}"))


def _row(brief: _Brief) -> bytes:
    kind = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": brief.metadata}
    cells = [brief.metadata["name"], "1/1", brief.status["phase"], "0", "2h"]
    return msgspec.json.encode({"cells": cells, "object": kind})


def main() -> None:
    """Serve a generated cluster."""
    nodes, pods, folder = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    cluster = generate(nodes, pods)
    (folder / "cluster.json").write_bytes(as_list(cluster))
    with BigServer(cluster) as server:
        sys.stdout.write(f"{server.kubeconfig(folder)}\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()
