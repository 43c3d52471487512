"""Clusters as large and as talkative as real ones: managedFields, images, conditions, environment variables.

The same seed gives the same bytes. Pods have 8 to 12 kB, two fifths of it managedFields; nodes 17 kB, most
of it the list of images. A twentieth of the pods has finished, a hundredth waits, half of the nodes have GPUs.
"""

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

Object = dict[str, Any]

NODES_PER_BLOCK, BLOCKS_PER_SPINE = 8, 8
GANG_SIZE = 8
_CREATED = "2026-11-01T08:00:00Z"
_LABEL = "pod-group.scheduling.sigs.k8s.io"
_SIGS = "scheduling.sigs.k8s.io/v1alpha1"
_SPINE, _BLOCK = "network.topology.nvidia.com/spine", "network.topology.nvidia.com/block"


class Cluster(NamedTuple):
    """The lists of a cluster, each item as the bytes that an API server would send."""

    nodes: list[bytes]
    pods: list[bytes]
    others: list[Object]


def generate(nodes: int, pods: int, seed: int = 1) -> Cluster:
    """Return a cluster of so many nodes and pods under one topology of spines and blocks."""
    rng = random.Random(seed)  # noqa: S311 - data, no secret
    shapes = [_pod_shape(rng, size) for size in range(24)]
    waiting = max(GANG_SIZE, pods // 100 // GANG_SIZE * GANG_SIZE)
    encoded = [msgspec.json.encode(_node(rng, number)) for number in range(nodes)]
    made = [msgspec.json.encode(_pod(rng, shapes, number, nodes, waiting)) for number in range(pods)]
    return Cluster(encoded, made, [_topology(), *_gangs(waiting // GANG_SIZE)])


def as_list(cluster: Cluster) -> bytes:
    """Return the cluster as `kubectl get nodes,pods,... -A -o json` prints it, though on one line."""
    items = [*cluster.nodes, *cluster.pods, *map(msgspec.json.encode, cluster.others)]
    return b'{"apiVersion":"v1","kind":"List","items":[' + b",".join(items) + b"]}"


def _topology() -> Object:
    layers = [
        {"topologyLayer": "SpineLayer", "labelKey": [_SPINE]},
        {"topologyLayer": "BlockLayer", "parentTopologyLayer": "SpineLayer", "labelKey": [_BLOCK]},
        {"topologyLayer": "NodeTopologyLayer", "parentTopologyLayer": "BlockLayer"},
    ]
    return {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "ClusterNetworkTopology",
        "metadata": {"name": "default"},
        "spec": {"networkTopologySpec": layers},
    }


def _gangs(count: int) -> Iterator[Object]:
    spec = '{"gatherStrategy":[{"layer":"BlockLayer","strategy":"MustGather"}]}'
    annotations = {"gang.scheduling.koordinator.sh/network-topology-spec": spec}
    for number in range(count):
        metadata = {"name": f"gang-{number}", "namespace": "train", "annotations": annotations}
        yield {"apiVersion": _SIGS, "kind": "PodGroup", "metadata": metadata, "spec": {"minMember": GANG_SIZE}}


def _uid(rng: random.Random) -> str:
    digits = f"{rng.getrandbits(128):032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _fields(value: object) -> object:
    """Return the managedFields form of an object: its keys, nothing of its values."""
    if isinstance(value, dict):
        return {f"f:{name}": _fields(part) for name, part in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], dict) and "name" in value[0]:
        return {f'k:{{"name":"{part["name"]}"}}': {".": {}, "f:name": {}} | _as_dict(part) for part in value}
    return {}


def _as_dict(part: Object) -> Object:
    fields = _fields(part)
    return fields if isinstance(fields, dict) else {}


def _managed(manager: str, part: Object) -> Object:
    return {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "time": _CREATED,
        "fieldsType": "FieldsV1",
        "fieldsV1": _fields(part),
    }


def _node(rng: random.Random, number: int) -> Object:
    block = number // NODES_PER_BLOCK
    name = f"node-{number:05}"
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "node.kubernetes.io/instance-type": "gpu.8x",
        "topology.kubernetes.io/zone": f"zone-{block % 3}",
        _SPINE: f"spine-{block // BLOCKS_PER_SPINE:03}",
        _BLOCK: f"block-{block:04}",
    }
    room = {"cpu": "96", "memory": "1056632488Ki", "ephemeral-storage": "3567587328Ki", "pods": "110"}
    if number % 2 == 0:
        room |= {"nvidia.com/gpu": "8"}
    conditions = [
        {
            "type": kind,
            "status": "True" if kind == "Ready" else "False",
            "reason": f"Kubelet{kind}",
            "message": f"kubelet has no {kind} trouble to tell of",
            "lastHeartbeatTime": "2026-11-01T09:59:30Z",
            "lastTransitionTime": _CREATED,
        }
        for kind in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    ]
    images = [
        {
            "names": [
                f"registry.example.com/team-{rng.randrange(99)}/image-{each}@sha256:{rng.getrandbits(256):064x}",
                f"registry.example.com/team-{rng.randrange(99)}/image-{each}:v1.{each}",
            ],
            "sizeBytes": rng.randrange(10**7, 10**10),
        }
        for each in range(50)
    ]
    status = {"capacity": room, "allocatable": room, "conditions": conditions}
    metadata = {
        "name": name,
        "uid": _uid(rng),
        "resourceVersion": str(1000 + number),
        "creationTimestamp": _CREATED,
        "labels": labels,
        "managedFields": [_managed("kubelet", {"metadata": {"labels": labels}, "status": status})],
    }
    spec = {"podCIDR": "10.0.0.0/24", "providerID": f"example:///{name}"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata,
        "spec": spec,
        "status": status | {"images": images},
    }


class _Shape(NamedTuple):
    """What many pods have in common."""

    spec: Object
    status: Object
    managed: list[Object]


def _pod_shape(rng: random.Random, size: int) -> _Shape:
    env = [{"name": f"SETTING_{each}", "value": "x" * rng.randrange(8, 40)} for each in range(14 + size)]
    requests = {"cpu": rng.choice(["500m", "1", "2", "4"]), "memory": rng.choice(["512Mi", "2Gi", "4Gi"])}
    mounts = [{"name": f"volume-{each}", "mountPath": f"/mnt/data/{each}"} for each in range(6)]
    container: Object = {
        "name": "main",
        "image": "registry.example.com/team/app:v1.2.3",
        "command": ["/bin/app", "--config=/etc/app/config.yaml", "--log-level=info"],
        "env": env,
        "ports": [{"containerPort": 8080, "name": "http", "protocol": "TCP"}],
        "resources": {"limits": requests, "requests": requests},
        "volumeMounts": mounts,
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 10, "failureThreshold": 3},
        "terminationMessagePath": "/dev/termination-log",
        "imagePullPolicy": "IfNotPresent",
    }
    spec = {
        "containers": [container],
        "volumes": [{"name": f"volume-{each}", "emptyDir": {}} for each in range(6)],
        "restartPolicy": "Always",
        "schedulerName": "koord-scheduler",
        "priority": 1000 * (size % 3),
        "serviceAccountName": "default",
        "terminationGracePeriodSeconds": 30,
        "tolerations": [
            {"key": f"node.kubernetes.io/{kind}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            for kind in ("not-ready", "unreachable")
        ],
    }
    conditions = [
        {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": _CREATED}
        for kind in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    ]
    states = [{"name": "main", "ready": True, "restartCount": 0, "image": container["image"], "started": True}]
    status = {"conditions": conditions, "containerStatuses": states, "qosClass": "Burstable", "hostIP": "10.0.0.1"}
    labels = {"app": "app", "pod-template-hash": "abc"}
    managed = [
        _managed("kube-controller-manager", {"metadata": {"labels": labels, "name": ""}, "spec": spec}),
        _managed("kubelet", {"status": status | {"podIPs": [{"name": "ip"}]}}),
    ]
    return _Shape(spec, status, managed)


def _pod(rng: random.Random, shapes: list[_Shape], number: int, nodes: int, waiting: int) -> Object:
    shape = shapes[rng.randrange(len(shapes))]
    spec, labels, phase = dict(shape.spec), {"app": f"app-{number % 997}", "pod-template-hash": "5d9c7b8f6d"}, "Running"
    status = dict(shape.status)
    if number < waiting:
        labels[_LABEL] = f"gang-{number // GANG_SIZE}"
        spec["containers"] = [dict(spec["containers"][0], resources={"requests": {"cpu": "8", "nvidia.com/gpu": "8"}})]
        phase, status = "Pending", {"conditions": []}
    else:
        spec["nodeName"] = f"node-{number % nodes:05}"
        phase = "Succeeded" if number % 20 == 0 else "Running"
    metadata = {
        "name": f"app-{number % 997}-5d9c7b8f6d-{number:06}",
        "namespace": "train" if number < waiting else f"team-{number % 40}",
        "uid": _uid(rng),
        "resourceVersion": str(100_000 + number),
        "creationTimestamp": _CREATED,
        "labels": labels,
        "annotations": {"prometheus.io/scrape": "true", "checksum/config": f"{rng.getrandbits(256):064x}"},
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "app", "uid": _uid(rng), "controller": True}
        ],
        "managedFields": shape.managed,
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status | {"phase": phase}}
