"""JSON objects to a Snapshot, as files are read."""

import json
from typing import Any

from kubectl_koord.cluster import stored
from kubectl_koord.cluster.collect import Collector
from kubectl_koord.model.pods import FinishedPod, PendingPod, RunningPod
from kubectl_koord.model.snapshot import Snapshot

Json = dict[str, Any]


def collect(*objects: Json) -> Collector:
    """Return a collector that has taken a List of these objects."""
    collector = Collector()
    take(collector, *objects)
    return collector


def take(collector: Collector, *objects: Json) -> None:
    """Let a collector take a List of these objects."""
    stored.take("list.json", json.dumps({"kind": "List", "items": objects}).encode(), collector)


def read(*objects: Json) -> Snapshot:
    """Return the cluster of these objects."""
    return collect(*objects).snapshot(moment="2026-11-20T10:00:00Z", source="file")


def thing(kind: str, name: str, **fields: object) -> Json:
    """Return an object; `labels` and `annotations` go into its metadata."""
    meta: Json = {"name": name}
    for key in ("namespace", "labels", "annotations", "ownerReferences", "deletionTimestamp", "creationTimestamp"):
        if key in fields:
            meta[key] = fields.pop(key)
    return {"apiVersion": "v1", "kind": kind, "metadata": meta, **fields}


def pod(name: str = "p", *, requests: Json | None = None, status: Json | None = None, **fields: object) -> Json:
    """Return a pod; what is no metadata goes into its spec."""
    meta = {
        key: fields.pop(key)
        for key in ("namespace", "labels", "annotations", "ownerReferences", "deletionTimestamp", "creationTimestamp")
        if key in fields
    }
    spec: Json = {"containers": [{"resources": {"requests": requests or {}}}], **fields}
    return thing("Pod", name, spec=spec, status=status or {}, **meta)


def pending(**fields: Any) -> PendingPod:  # noqa: ANN401
    """Return the one pending pod of a List."""
    (found,) = read(pod(**fields)).pending
    return found


def running(**fields: Any) -> RunningPod:  # noqa: ANN401
    """Return the one running pod of a List."""
    ((found,),) = read(pod(nodeName="n1", **fields)).running.values()
    return found


def finished(**fields: Any) -> FinishedPod:  # noqa: ANN401
    """Return the one finished pod of a List."""
    (found,) = read(pod(**fields)).finished
    return found
