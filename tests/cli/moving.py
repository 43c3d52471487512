"""A cluster whose controllers do what the steps of a plan ask for."""

from collections.abc import Mapping
from typing import Any

from tests.apiserver import ApiServer
from tests.cli.world import Object, lease, node, pod, pod_group, scheduler

DESCHEDULER = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "koord-descheduler", "namespace": "koordinator-system"},
    "spec": {"replicas": 1},
}
HELD: Object = {
    "apiVersion": "scheduling.koordinator.sh/v1alpha1",
    "kind": "Reservation",
    "metadata": {"name": "held"},
    "spec": {"template": {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}]}}},
    "status": {"phase": "Available", "nodeName": "n0", "allocatable": {"cpu": "2"}},
}


class Cluster(ApiServer):
    """Two nodes, of which pod `a` blocks one; a pod that is evicted is made anew on the node `goes`, if any."""

    def __init__(self, *more: Object) -> None:
        job = [pod_group("job", 1), pod("job-0", "job")]
        nodes = [node(name, "spine") for name in ("n0", "n1")]
        others = [owned("a", "n0", "2"), pod("b", on="n1", cpu="3")]
        self.migrates = False
        self.ends: Object = {}
        super().__init__({"items": [*scheduler(), lease(), *nodes, *job, *others, *more]})
        self.goes = "n1"
        self.phase = "Running"
        self.also: Object | None = None

    def put(self, item: Mapping[str, Any]) -> Object:
        stored = super().put({**item, "status": self.ends} if item["kind"] == "PodMigrationJob" else item)
        if stored["kind"] == "PodMigrationJob" and self.migrates:
            self.delete("pods", "default", stored["spec"]["podRef"]["name"])
        if stored["kind"] == "Reservation" and "expires" in stored["spec"]:
            self.delete("reservations", "", stored["metadata"]["name"])
        return stored

    def delete(self, plural: str, namespace: str, name: str) -> None:
        super().delete(plural, namespace, name)
        if plural == "pods" and self.also:
            self.put(self.also)
        if plural == "pods" and self.goes:
            self.put(owned(f"{name}-2", self.goes, "2", phase=self.phase))


def owned(name: str, on: str, cpu: str, phase: str = "Running", priority: int = 0) -> Object:
    found = pod(name, on=on, cpu=cpu)
    found["spec"]["priority"] = priority
    own = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "a", "uid": "u", "controller": True}
    found["metadata"] |= {"ownerReferences": [own], "creationTimestamp": f"2026-01-0{len(name)}T00:00:00Z"}
    found["status"]["phase"] = phase
    return found
