"""Names for completion: of gangs, nodes, domains, layers, and so on, from wherever the command line points.

Whoever types does not wait: a thread looks the names up, and what it has not found in time is not there. What only some
lines need is imported when it is needed, and what a live cluster needs while kubectl starts.
Only names made of harmless characters are offered: a shell puts them on a command line as they are.
"""

import contextlib
import os
import queue
import re
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from kubectl_koord.cli.options import Globals
from kubectl_koord.cluster.api.connect import connect
from kubectl_koord.cluster.api.connection import Connection
from kubectl_koord.cluster.api.transport import Transport

SECONDS = 1.5
_HARMLESS = re.compile(r"[\w.:/@+=,%-]+", re.ASCII)
_SECTIONS = {"context": "contexts", "cluster": "clusters", "user": "users"}
_OK = 200
_MOST = 500


class _Meta(Struct):
    name: str = ""
    labels: dict[str, str] | None = None


class _Layer(Struct, rename="camel"):
    topology_layer: str = ""
    label_key: list[str] | None = None


class _Spec(Struct, rename="camel"):
    network_topology_spec: list[_Layer] | None = None


class _Domain(Struct, rename="camel"):
    topology_layer: str = ""
    topology_name: str = ""


class _Detail(Struct, rename="camel"):
    topology_info: _Domain = field(default_factory=_Domain)


class _Status(Struct, rename="camel"):
    detail_status: list[_Detail] | None = None


class _Item(Struct):
    metadata: _Meta = field(default_factory=_Meta)
    spec: _Spec | None = None
    status: _Status | None = None


class _Items(Struct):
    items: list[_Item] | None = None


def find(what: str, word: str, connection: Connection, chosen: Globals, seconds: float = SECONDS) -> list[str]:
    """Return the names of a kind that a word may become; none where they cannot be had within the time."""
    outcome: queue.SimpleQueue[list[str]] = queue.SimpleQueue()

    def look_up() -> None:
        # Whatever goes wrong here is told when the command itself runs.
        with contextlib.suppress(Exception):
            _look_up(what, word, connection, chosen, outcome)
        outcome.put([])

    threading.Thread(target=look_up, daemon=True).start()
    try:
        return [name for name in outcome.get(timeout=seconds) if _HARMLESS.fullmatch(name)]
    except queue.Empty:
        return []


def _look_up(
    what: str, word: str, connection: Connection, chosen: Globals, outcome: "queue.SimpleQueue[list[str]]"
) -> None:
    if what in _SECTIONS:
        outcome.put(sorted(set(_configured(_SECTIONS[what], connection))))
    elif not chosen.is_live:
        from kubectl_koord.cli.completing import recorded_names

        outcome.put(recorded_names.find(what, word, chosen, connection.namespace or "default"))
    else:
        limited = connection._replace(request_timeout=min(connection.request_timeout or SECONDS, SECONDS))
        with connect(limited, writes=False) as transport:
            outcome.put(_live(what, word, transport))


def _live(what: str, word: str, transport: Transport) -> list[str]:
    """Return names in the namespace of the line, or in that of a word `namespace/...`."""
    from kubectl_koord.cluster.kinds import ELASTIC_QUOTA, NETWORK_TOPOLOGY, NODE, POD_GROUP

    if what == "namespace":
        return [item.metadata.name for item in _list(transport, "/api/v1/namespaces")]
    if what == "node":
        return [item.metadata.name for item in _list(transport, NODE.path())]
    if what == "quota":
        from kubectl_koord.model.quotas import BUILT_IN

        return sorted({*BUILT_IN, *(item.metadata.name for item in _list(transport, ELASTIC_QUOTA.path()))})
    if what == "domain":
        found = _domains(transport)
        return sorted({f"{layer}/{name}" if "/" in word else name for layer, name in found})
    if what == "layer":
        listed = _list(transport, NETWORK_TOPOLOGY.path())
        return [layer.topology_layer for item in listed if item.spec for layer in item.spec.network_topology_spec or ()]
    namespace, slash, _ = word.rpartition("/")
    listed = _list(transport, POD_GROUP.path(namespace or transport.namespace()))
    return [f"{namespace}{slash}{item.metadata.name}" for item in listed]


def _domains(transport: Transport) -> list[tuple[str, str]]:
    """Return the domains that the scheduler has written down, by layer and name, else those of the nodes' labels."""
    from kubectl_koord.cluster.kinds import NETWORK_TOPOLOGY, NODE
    from kubectl_koord.engine.tree import NODE_LAYER

    (topology, *_) = [*_list(transport, NETWORK_TOPOLOGY.path()), _Item()]
    details = (topology.status and topology.status.detail_status) or ()
    written = [(one.topology_info.topology_layer, one.topology_info.topology_name) for one in details]
    if found := [(layer, name) for layer, name in written if name and layer != NODE_LAYER]:
        return found
    layers = (topology.spec and topology.spec.network_topology_spec) or ()
    keys = [(layer.topology_layer, key) for layer in layers for key in layer.label_key or ()]
    labels = [item.metadata.labels or {} for item in (_list(transport, NODE.path()) if keys else ())]
    return [(layer, one[key]) for one in labels for layer, key in keys if one.get(key)]


def _list(transport: Transport, path: str) -> Iterable[_Item]:
    body = transport.open(f"{path}?limit={_MOST}&resourceVersion=0")
    try:
        if body.status != _OK:
            return ()
        return msgspec.json.decode(body.read(), type=_Items).items or ()
    finally:
        body.close()


def _configured(section: str, connection: Connection) -> Iterable[str]:
    """Yield the names of a section of the kubeconfig files; a file that cannot be read has none."""
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    given = connection.value("kubeconfig") or os.environ.get("KUBECONFIG", "")
    paths = [Path(path) for path in given.split(os.pathsep) if path] or [Path.home() / ".kube" / "config"]
    for path in paths:
        with contextlib.suppress(OSError, UnicodeDecodeError, yaml.YAMLError):
            config = yaml.load(path.read_text("utf-8"), loader)  # noqa: S506 - a safe loader
            entries = config.get(section) if isinstance(config, dict) else None
            yield from (
                entry["name"]
                for entry in entries or ()
                if isinstance(entry, Mapping) and isinstance(entry.get("name"), str)
            )
