"""Clusters as large and as talkative as real ones: managedFields, images, conditions, environment variables.

The same seed gives the same bytes. Pods have 8 to 12 kB, two fifths of it managedFields; nodes 17 kB, most
of it the list of images. Every other spine has GPUs, which running gangs hold but for some blocks; a hundredth
of the pods waits in gangs of several sizes, besides one of 512 pods that needs a whole spine to itself; a
twentieth of the rest has finished.
"""

import random
from collections.abc import Iterator
from itertools import islice, zip_longest
from typing import NamedTuple, Protocol

import msgspec

from benchmarks.shapes import CREATED, Object, Shape, conditions, images, managed, pod_shape, uid

NODES_PER_BLOCK, BLOCKS_PER_SPINE = 8, 8
NODES_PER_SPINE = NODES_PER_BLOCK * BLOCKS_PER_SPINE
GPUS = 8
BIG_GANG, BIG_SIZE = "big", NODES_PER_SPINE * GPUS
_SMALL = ((8, 8), (4, 8), (16, 4), (8, 1))  # pods of a gang, GPUs of each
_FREE_BLOCKS = 20  # one of so many blocks is free of gangs
_LABEL = "pod-group.scheduling.sigs.k8s.io"
_SIGS = "scheduling.sigs.k8s.io/v1alpha1"
SPINE, BLOCK = "network.topology.nvidia.com/spine", "network.topology.nvidia.com/block"


class Size(NamedTuple):
    """How many nodes and pods a cluster has."""

    nodes: int
    pods: int


class Large(NamedTuple):
    """A list that is too large to be held: where it is listed, of which kind, and its items as they are sent."""

    path: str
    kind: str
    items: Iterator[bytes]


class Cluster(Protocol):
    """All that an API server has of a cluster."""

    size: Size

    def nodes(self) -> Iterator[bytes]:
        """Yield the nodes, each as the bytes that an API server would send."""

    def pods(self) -> Iterator[bytes]:
        """Yield the pods likewise, in the order of their names."""

    def large(self) -> Iterator[Large]:
        """Yield the other large lists."""

    def others(self) -> list[Object]:
        """Return all other objects."""


class Uniform:
    """A cluster whose pods are of few shapes, and the jobs that wait of few kinds."""

    def __init__(self, size: Size) -> None:
        """Take the size."""
        self.size = size

    def nodes(self) -> Iterator[bytes]:
        """Yield the nodes."""
        return nodes(self.size)

    def pods(self) -> Iterator[bytes]:
        """Yield the pods, in the order of their names."""
        return pods(self.size)

    def large(self) -> Iterator[Large]:
        """Yield nothing: there is nothing else that is large."""
        return iter(())

    def others(self) -> list[Object]:
        """Return the topology and the PodGroups."""
        return others(self.size)


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
    shapes = [pod_shape(rng, size) for size in range(24)]
    pairs = islice(zip_longest(range(size.pods), _jobs(size)), size.pods)
    for _, _, number, job in sorted((*_name(number, job), number, job) for number, job in pairs):
        yield msgspec.json.encode(_pod(rng, shapes, number, size.nodes, job))


def others(size: Size) -> list[Object]:
    """Return the topology and the PodGroups."""
    sizes: dict[str, int] = {}
    for job in _jobs(size):
        sizes[job.gang] = sizes.get(job.gang, 0) + 1
    return [topology(), *(_pod_group(gang, count) for gang, count in sizes.items())]


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


def topology() -> Object:
    """Return the network topology: spines of blocks of nodes."""
    layers = [
        {"topologyLayer": "SpineLayer", "labelKey": [SPINE]},
        {"topologyLayer": "BlockLayer", "parentTopologyLayer": "SpineLayer", "labelKey": [BLOCK]},
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


def _node(rng: random.Random, number: int) -> Object:
    block = number // NODES_PER_BLOCK
    name = f"node-{number:05}"
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "node.kubernetes.io/instance-type": "gpu.8x",
        "topology.kubernetes.io/zone": f"zone-{block % 3}",
        SPINE: f"spine-{block // BLOCKS_PER_SPINE:03}",
        BLOCK: f"block-{block:04}",
    }
    room = {"cpu": "96", "memory": "1056632488Ki", "ephemeral-storage": "3567587328Ki", "pods": "110"}
    if _has_gpus(number):
        room |= {"nvidia.com/gpu": str(GPUS)}
    listed = images(rng)
    status = {"capacity": room, "allocatable": room, "conditions": conditions()}
    metadata = {
        "name": name,
        "uid": uid(rng),
        "resourceVersion": str(1000 + number),
        "creationTimestamp": CREATED,
        "labels": labels,
        "managedFields": [managed("kubelet", {"metadata": {"labels": labels}, "status": status})],
    }
    spec = {"podCIDR": "10.0.0.0/24", "providerID": f"example:///{name}"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata,
        "spec": spec,
        "status": status | {"images": listed},
    }


def _name(number: int, job: Job | None) -> tuple[str, str]:
    """Return a pod's namespace and name."""
    return (f"team-{number % 40:02}" if job is None else "train"), f"app-{number % 997}-5d9c7b8f6d-{number:06}"


def _pod(rng: random.Random, shapes: list[Shape], number: int, nodes: int, job: Job | None) -> Object:
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
        "uid": uid(rng),
        "resourceVersion": str(100_000 + number),
        "creationTimestamp": created,
        "labels": labels,
        "annotations": {"prometheus.io/scrape": "true", "checksum/config": f"{rng.getrandbits(256):064x}"},
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "app", "uid": uid(rng), "controller": True}
        ],
        "managedFields": shape.managed,
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status | {"phase": phase}}
