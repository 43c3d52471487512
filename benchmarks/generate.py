"""Clusters as large and as talkative as real ones: managedFields, images, conditions, environment variables.

The same seed gives the same bytes. Pods have 8 to 12 kB, two fifths of it managedFields; nodes 17 kB, most
of it the list of images. Every other spine has GPUs, which running gangs hold but for some blocks; a hundredth
of the pods waits in gangs of several sizes, besides one of 512 pods that needs a whole spine to itself; a
twentieth of the rest has finished.
"""

import random
from collections.abc import Iterator
from itertools import islice, zip_longest
from typing import Any, NamedTuple

import msgspec

Object = dict[str, Any]

NODES_PER_BLOCK, BLOCKS_PER_SPINE = 8, 8
NODES_PER_SPINE = NODES_PER_BLOCK * BLOCKS_PER_SPINE
GPUS = 8
BIG_GANG, BIG_SIZE = "big", NODES_PER_SPINE * GPUS
_SMALL = ((8, 8), (4, 8), (16, 4), (8, 1))  # pods of a gang, GPUs of each
_FREE_BLOCKS = 20  # one of so many blocks is free of gangs
_CREATED = "2026-11-01T08:00:00Z"
_LABEL = "pod-group.scheduling.sigs.k8s.io"
_SIGS = "scheduling.sigs.k8s.io/v1alpha1"
_SPINE, _BLOCK = "network.topology.nvidia.com/spine", "network.topology.nvidia.com/block"


class Size(NamedTuple):
    """How many nodes and pods a cluster has."""

    nodes: int
    pods: int


class Job(NamedTuple):
    """What tells pods of a gang from others."""

    gang: str
    gpus: int
    priority: int
    node: int = -1  # -1: it waits


def nodes(size: Size, seed: int = 1) -> Iterator[bytes]:
    """Yield the nodes, each as the bytes that an API server would send."""
    rng = random.Random(seed)  # noqa: S311 - data, no secret
    return (msgspec.json.encode(_node(rng, number)) for number in range(size.nodes))


def pods(size: Size, seed: int = 2) -> Iterator[bytes]:
    """Yield the pods, each as the bytes that an API server would send, in the order of their names."""
    rng = random.Random(seed)  # noqa: S311 - data, no secret
    shapes = [_pod_shape(rng, size) for size in range(24)]
    pairs = islice(zip_longest(range(size.pods), _jobs(size)), size.pods)
    for _, _, number, job in sorted((*_name(number, job), number, job) for number, job in pairs):
        yield msgspec.json.encode(_pod(rng, shapes, number, size.nodes, job))


def others(size: Size) -> list[Object]:
    """Return the topology and the PodGroups."""
    sizes: dict[str, int] = {}
    for job in _jobs(size):
        sizes[job.gang] = sizes.get(job.gang, 0) + 1
    return [_topology(), *(_pod_group(gang, count) for gang, count in sizes.items())]


def _jobs(size: Size) -> Iterator[Job]:
    """Yield what the first pods of the cluster belong to."""
    for _ in range(BIG_SIZE):
        yield Job(BIG_GANG, 1, 9000)
    left, gang = size.pods // 100, 0
    while left > 0:
        count, gpus = _SMALL[gang % len(_SMALL)]
        for _ in range(count):
            yield Job(f"gang-{gang}", gpus, 2000)
        left -= count
        gang += 1
    for node in filter(_has_gpus, range(size.nodes)):
        block = node // NODES_PER_BLOCK
        if block % _FREE_BLOCKS:
            yield Job(f"run-{block}", GPUS, 1000 + 500 * (block % 4), node)


def _has_gpus(node: int) -> bool:
    return node // NODES_PER_SPINE % 2 == 0


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


def _pod_group(gang: str, size: int) -> Object:
    layer = "SpineLayer" if gang == BIG_GANG else "BlockLayer"
    spec = f'{{"gatherStrategy":[{{"layer":"{layer}","strategy":"MustGather"}}]}}'
    annotations = {"gang.scheduling.koordinator.sh/network-topology-spec": spec}
    metadata = {"name": gang, "namespace": "train", "annotations": annotations}
    return {"apiVersion": _SIGS, "kind": "PodGroup", "metadata": metadata, "spec": {"minMember": size}}


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
    if _has_gpus(number):
        room |= {"nvidia.com/gpu": str(GPUS)}
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
        for each in range(76)
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
    conditions: list[Object]
    managed: list[Object]


def _pod_shape(rng: random.Random, size: int) -> _Shape:
    env = [{"name": f"SETTING_{each}", "value": "x" * rng.randrange(8, 40)} for each in range(27 + size)]
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
        {"type": kind, "status": "True", "lastProbeTime": None}
        for kind in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    ]
    states = [{"name": "main", "ready": True, "restartCount": 0, "image": container["image"], "started": True}]
    status = {"containerStatuses": states, "qosClass": "Burstable", "hostIP": "10.0.0.1"}
    labels = {"app": "app", "pod-template-hash": "abc"}
    managed = [
        _managed("kube-controller-manager", {"metadata": {"labels": labels, "name": ""}, "spec": spec}),
        _managed("kubelet", {"status": status | {"conditions": conditions, "podIPs": [{"name": "ip"}]}}),
    ]
    return _Shape(spec, status, conditions, managed)


def _name(number: int, job: Job | None) -> tuple[str, str]:
    """Return a pod's namespace and name."""
    return (f"team-{number % 40:02}" if job is None else "train"), f"app-{number % 997}-5d9c7b8f6d-{number:06}"


def _pod(rng: random.Random, shapes: list[_Shape], number: int, nodes: int, job: Job | None) -> Object:
    namespace, name = _name(number, job)
    shape = shapes[rng.randrange(len(shapes))]
    spec, labels, phase = dict(shape.spec), {"app": f"app-{number % 997}", "pod-template-hash": "5d9c7b8f6d"}, "Running"
    created = f"2026-10-{number // 86400 % 28 + 1:02}T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}Z"
    token = f"kube-api-access-{rng.getrandbits(24):06x}"  # every pod has its own
    mounts = [
        *spec["containers"][0]["volumeMounts"],
        {"name": token, "mountPath": "/var/run/secrets", "readOnly": True},
    ]
    spec["volumes"] = [*spec["volumes"], {"name": token, "projected": {"defaultMode": 420, "sources": []}}]
    container = dict(spec["containers"][0], volumeMounts=mounts)
    status = shape.status | {"conditions": [dict(one, lastTransitionTime=created) for one in shape.conditions]}
    if job is not None:
        labels[_LABEL] = job.gang
        spec["priority"] = job.priority
        container["resources"] = {"requests": {"cpu": "8", "nvidia.com/gpu": str(job.gpus)}}
    spec["containers"] = [container]
    if job is not None and job.node < 0:
        phase, status = "Pending", {"conditions": []}
    else:
        spec["nodeName"] = f"node-{number % nodes if job is None else job.node:05}"
        phase = "Succeeded" if job is None and number % 20 == 0 else "Running"
    metadata = {
        "name": name,
        "namespace": namespace,
        "uid": _uid(rng),
        "resourceVersion": str(100_000 + number),
        "creationTimestamp": created,
        "labels": labels,
        "annotations": {"prometheus.io/scrape": "true", "checksum/config": f"{rng.getrandbits(256):064x}"},
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "app", "uid": _uid(rng), "controller": True}
        ],
        "managedFields": shape.managed,
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status | {"phase": phase}}
