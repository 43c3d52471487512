"""A small cluster for the command line: two spines of two nodes, one node of each taken.

Of its gangs `job` is one slot short, `tiny` fits, `high` would preempt, `few` lacks pods, and `lost` names no PodGroup.
"""

import json
from pathlib import Path
from typing import Any

Object = dict[str, Any]

SPEC = "gang.scheduling.koordinator.sh/network-topology-spec"
GATHER = {SPEC: json.dumps({"gatherStrategy": [{"layer": "SpineLayer", "strategy": "MustGather"}]})}
LABEL = "pod-group.scheduling.sigs.k8s.io"
SIGS = "scheduling.sigs.k8s.io/v1alpha1"
KOORDINATOR = "scheduling.koordinator.sh/v1alpha1"


def node(name: str, spine: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "spine": spine}},
        "status": {
            "allocatable": {"cpu": "8", "memory": "16Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def topology() -> Object:
    layers = [
        {"topologyLayer": "SpineLayer", "labelKey": ["spine"]},
        {"topologyLayer": "NodeTopologyLayer", "parentTopologyLayer": "SpineLayer"},
    ]
    return {
        "apiVersion": KOORDINATOR,
        "kind": "ClusterNetworkTopology",
        "metadata": {"name": "default"},
        "spec": {"networkTopologySpec": layers},
    }


def pod_group(name: str, minimum: int, namespace: str = "default", **annotations: str) -> Object:
    return {
        "apiVersion": SIGS,
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": namespace, "annotations": annotations},
        "spec": {"minMember": minimum},
    }


def pod(
    name: str, gang: str = "", cpu: str = "8", on: str = "", priority: int = 0, namespace: str = "default"
) -> Object:
    spec: Object = {
        "schedulerName": "koord-scheduler",
        "priority": priority,
        "containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}],
    }
    if on:
        spec["nodeName"] = on
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": {LABEL: gang} if gang else {}},
        "spec": spec,
        "status": {"phase": "Running" if on else "Pending"},
    }


def scheduler(image: str = "koord-scheduler:v1.8.0") -> list[Object]:
    """Return what tells the scheduler's version and configuration."""
    settings = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    profiles = "profiles:\n- schedulerName: koord-scheduler\n"
    profiles += "  pluginConfig:\n  - name: Coscheduling\n"
    arguments = "    args: {enablePreemption: true, awareNetworkTopology: true}\n"
    return [
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "koord-scheduler", "namespace": "koordinator-system"},
            "spec": {"template": {"spec": {"containers": [{"name": "scheduler", "image": image}]}}},
        },
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "koord-scheduler-config", "namespace": "koordinator-system"},
            "data": {"koord-scheduler-config": settings + profiles + arguments},
        },
    ]


def lease(renewed: str = "2999-01-01T00:00:00.000000Z") -> Object:
    """Return the scheduler's leader lease; one that is renewed in the future never grows old."""
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "koord-scheduler", "namespace": "koordinator-system"},
        "spec": {"holderIdentity": "koord-scheduler-0_x", "renewTime": renewed, "leaseDurationSeconds": 15},
    }


def world() -> Object:
    items = [
        *scheduler(),
        lease(),
        *(node(name, f"spine-{name[0]}") for name in ("a0", "a1", "b0", "b1")),
        topology(),
        pod("filler-a", on="a1"),
        pod("filler-b", on="b1"),
        pod_group("job", 2, **GATHER),
        pod("job-0", "job"),
        pod("job-1", "job"),
        pod_group("tiny", 1, **GATHER),
        pod("tiny-0", "tiny", cpu="1"),
        pod_group("high", 2, **GATHER),
        pod("high-0", "high", priority=1000),
        pod("high-1", "high", priority=1000),
        pod_group("few", 3),
        pod("few-0", "few"),
        pod("lost-0", "lost"),
    ]
    return {"apiVersion": "v1", "kind": "List", "items": items}


def write(folder: Path, objects: Object | None = None, name: str = "cluster.json") -> str:
    path = folder / name
    path.write_text(json.dumps(world() if objects is None else objects))
    return str(path)


def lasting(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return a document without what depends on when it was computed."""
    if isinstance(value, dict):
        return {name: lasting(part) for name, part in value.items() if name not in {"moment", "ageSeconds"}}
    return [lasting(part) for part in value] if isinstance(value, list) else value
