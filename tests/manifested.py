"""A pending gang of a recorded cluster, taken out of it and given as a manifest."""

import json
from pathlib import Path
from typing import Any

from kubectl_koord.cluster import stored
from kubectl_koord.cluster.collect import Collector
from kubectl_koord.cluster.manifests.read import Manifests
from kubectl_koord.engine.gangs import Subject
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.simulation.submitted import Submitted
from tests.conformance.cases import snapshot_of

Json = dict[str, Any]
_MOMENT = "2026-11-21T00:00:00Z"
_WRITTEN_BY_SERVER = ("deletionTimestamp", "uid", "resourceVersion")


def parted(cluster: Json, subject: Subject) -> tuple[Json, Json]:
    """Return the cluster without the pending pods and the PodGroups of a subject, and a List of these as submitted."""
    wanted = {("Pod", pod.key) for pod in subject.pending} | {("PodGroup", key) for key in subject.gangs}
    inside: list[Json] = []
    outside: list[Json] = []
    for item in cluster["items"]:
        meta = item["metadata"]
        key = f"{meta.get('namespace', 'default')}/{meta['name']}"
        if (item["kind"], key) in wanted:
            kept = {name: value for name, value in meta.items() if name not in _WRITTEN_BY_SERVER}
            outside.append({name: value for name, value in item.items() if name != "status"} | {"metadata": kept})
        else:
            inside.append(item)
    return {**cluster, "items": inside}, {"apiVersion": "v1", "kind": "List", "items": outside}


def together(cluster: Json, submitted: Json, version: str) -> Snapshot:
    """Return the cluster once it has the objects of a List."""
    return snapshot_of({**cluster, "items": [*cluster["items"], *submitted["items"]]}, version)


def joined(cluster: Json, submitted: Json, version: str, folder: Path) -> tuple[Snapshot, Submitted]:
    """Return the cluster with the List as a manifest."""
    path = folder / "manifest.json"
    path.write_text(json.dumps(submitted))
    manifests = Manifests(lambda: "default")
    manifests.read([str(path)])
    collector = Collector()
    stored.take("cluster.json", json.dumps(cluster).encode(), collector)
    manifests.join(collector, _MOMENT)
    return collector.snapshot(moment=_MOMENT, source="file", chosen_version=version), manifests.submitted()
