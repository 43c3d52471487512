"""The nodes of a diverse cluster, and what koordlet tells of each: devices, NUMA zones and CPUs."""

import random
from functools import lru_cache
from typing import Any

import msgspec

from benchmarks.generate import BLOCK, BLOCKS_PER_SPINE, GPUS, NODES_PER_BLOCK, NODES_PER_SPINE, SPINE
from benchmarks.shapes import CREATED, Object, conditions, images, managed, uid

POOLS = 12
DEDICATED = frozenset({1, 4, 7, 10})
"""Pools whose nodes have a taint."""
MODELS = (("H800", "81559Mi"), ("A100-SXM4-80GB", "81920Mi"), ("L40S", "46068Mi"))
CPUS, CORES, SOCKETS = 192, 96, 2
_BATCH_CPU, _BATCH_MEMORY = "44739", "272144643Ki"
_BUSES = (
    ("15", "19"),
    ("37", "3b"),
    ("48", "4c"),
    ("59", "5d"),
    ("97", "9b"),
    ("b7", "bb"),
    ("c7", "cb"),
    ("d7", "db"),
)


def pool_of(number: int) -> int:
    """Return the pool of a node."""
    return number // (2 * NODES_PER_BLOCK) % POOLS


def pool_name(pool: int) -> str:
    """Return the name of a pool."""
    return f"pool-{'abcdefghijkl'[pool]}"


def model_of(number: int) -> tuple[str, str]:
    """Return the model of a node's cards, and the memory of each."""
    return MODELS[number // NODES_PER_SPINE % len(MODELS)]


def node_name(number: int) -> str:
    """Return the name of a node."""
    return f"node-{number:05}"


def card(number: int, minor: int) -> str:
    """Return the id of a card."""
    return f"GPU-{(number * GPUS + minor) * 0x9E3779B97F4A7C15 % (1 << 128):032x}"


def node(rng: random.Random, number: int) -> Object:
    """Return a node."""
    block, pool, name = number // NODES_PER_BLOCK, pool_of(number), node_name(number)
    model, memory = model_of(number)
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "node.kubernetes.io/instance-type": f"gpu.8x{model.lower()}.{number % 2}",
        "topology.kubernetes.io/region": "dc1",
        "topology.kubernetes.io/zone": f"zone-{block % 3}",
        "topology.example.com/rack": f"rack-{block:04}",
        "hardware.example.com/serial": f"SN{number * 7919 % 10**8:08}",
        "node-pool": pool_name(pool),
        SPINE: f"spine-{block // BLOCKS_PER_SPINE:03}",
        BLOCK: f"block-{block:04}",
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.product": f"NVIDIA-{model}",
        "nvidia.com/gpu.count": str(GPUS),
        "nvidia.com/gpu.memory": memory.removesuffix("Mi"),
        "nvidia.com/gpu.sharing-strategy": "none",
        "nvidia.com/mig.strategy": "single",
        "nvidia.com/cuda.driver-version.full": ("550.90.07", "535.183.01")[block % 2],
        "node.koordinator.sh/gpu-vendor": "nvidia",
        "node.koordinator.sh/gpu-model": model,
        "node.koordinator.sh/gpu-driver-version": ("550.90.07", "535.183.01")[block % 2],
    }
    if number % 10 == 3:  # noqa: PLR2004
        labels["node.koordinator.sh/numa-topology-policy"] = "SingleNUMANode"
    room = {
        "cpu": "190",
        "memory": "2096521940Ki",
        "ephemeral-storage": "3650656984Ki",
        "pods": "110",
        "nvidia.com/gpu": str(GPUS),
        "koordinator.sh/gpu": "800",
        "koordinator.sh/gpu-core": "800",
        "koordinator.sh/gpu-memory-ratio": "800",
        "koordinator.sh/gpu-memory": f"{int(memory.removesuffix('Mi')) * GPUS}Mi",
        "kubernetes.io/batch-cpu": str(89_000 + number % 50 * 100),
        "kubernetes.io/batch-memory": f"{544_000_000 + number % 50 * 1000}Ki",
    }
    taints = []
    if pool in DEDICATED:
        taints.append({"key": "dedicated", "value": pool_name(pool), "effect": "NoSchedule"})
    if number % 97 == 0:
        taints.append({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
    spec: Object = {"podCIDR": "10.0.0.0/24", "providerID": f"example:///{name}", "taints": taints}
    if number % 97 == 0:
        spec["unschedulable"] = True
    status = {"capacity": room, "allocatable": room, "conditions": conditions()}
    amounts = f'{{"kubernetes.io/batch-cpu":"{89_000 + number}"}}'
    annotations = {
        "node.alpha.kubernetes.io/ttl": "0",
        "volumes.kubernetes.io/controller-managed-attach-detach": "true",
        "node.koordinator.sh/cpu-normalization-ratio": "1.00",
        "node.koordinator.sh/originExtendedAllocatable": f'{{"resources":{amounts}}}',
    }
    metadata = {
        "name": name,
        "uid": uid(rng),
        "resourceVersion": str(1000 + number),
        "creationTimestamp": CREATED,
        "labels": labels,
        "annotations": annotations,
        "managedFields": [managed("kubelet", {"metadata": {"labels": labels}, "status": status})],
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata,
        "spec": spec,
        "status": status | {"images": images(rng)},
    }


def _meta(rng: random.Random, number: int, **more: Any) -> Object:  # noqa: ANN401
    owner = {"apiVersion": "v1", "kind": "Node", "name": node_name(number), "uid": uid(rng), "controller": True}
    return {
        "name": node_name(number),
        "uid": uid(rng),
        "resourceVersion": str(2000 + number),
        "creationTimestamp": CREATED,
        "ownerReferences": [owner],
    } | more


def device(rng: random.Random, number: int) -> Object:
    """Return the Device of a node; now and then a card is ill."""
    model, memory = model_of(number)
    resources = {
        "koordinator.sh/gpu-core": "100",
        "koordinator.sh/gpu-memory-ratio": "100",
        "koordinator.sh/gpu-memory": memory,
    }
    devices = [
        {
            "type": "gpu",
            "id": card(number, minor),
            "minor": minor,
            "health": (number + minor) % 613 != 0,
            "resources": resources,
            "topology": {
                "socketID": -1,
                "nodeID": minor // 4,
                "pcieID": f"pci0000:{pcie}",
                "busID": f"0000:{bus}:00.0",
            },
        }
        for minor, (pcie, bus) in enumerate(_BUSES)
    ]
    labels = {"node.koordinator.sh/gpu-vendor": "nvidia", "node.koordinator.sh/gpu-model": model}
    return {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "Device",
        "metadata": _meta(rng, number, labels=labels),
        "spec": {"devices": devices},
        "status": {},
    }


@lru_cache(1)
def _cpu_list() -> str:
    per_socket = CORES // SOCKETS
    detail = [
        {"id": cpu, "core": cpu % CORES, "socket": cpu % CORES // per_socket, "node": cpu % CORES // per_socket}
        for cpu in range(CPUS)
    ]
    return msgspec.json.encode({"detail": detail}).decode()


def topology(rng: random.Random, number: int) -> Object:
    """Return the NodeResourceTopology of a node; what batch pods may use of a zone differs from node to node."""
    pools = '[{"socket":0,"node":0,"cpuset":"0-47,96-143"},{"socket":1,"node":1,"cpuset":"48-95,144-191"}]'
    annotations = {
        "node.koordinator.sh/cpu-basic-info": '{"cpuModel":"Intel(R) Xeon(R) Platinum 8468","hyperThreadEnabled":true}',
        "node.koordinator.sh/cpu-topology": _cpu_list(),
        "node.koordinator.sh/cpu-shared-pools": pools,
        "node.koordinator.sh/be-cpu-shared-pools": pools,
        "kubelet.koordinator.sh/cpu-manager-policy": '{"policy":"none"}',
        "node.koordinator.sh/pod-cpu-allocs": "null",
        "node.koordinator.sh/reservation": "{}",
        "node.koordinator.sh/system-qos-resource": "null",
    }
    zones = []
    for zone in range(SOCKETS):
        amounts = {
            "cpu": "96",
            "hugepages-1Gi": "0",
            "hugepages-2Mi": "0",
            "kubernetes.io/batch-cpu": str(int(_BATCH_CPU) - number * 37 % 10_000),
            "kubernetes.io/batch-memory": _BATCH_MEMORY,
            "memory": f"{1_056_700_778 - number % 4}Ki",
        }
        resources = [
            {"name": name, "capacity": amount, "allocatable": amount, "available": amount}
            for name, amount in amounts.items()
        ]
        zones.append({"name": f"node-{zone}", "type": "Node", "resources": resources})
    labels = {"app.kubernetes.io/managed-by": "Koordinator"}
    return {
        "apiVersion": "topology.node.k8s.io/v1alpha1",
        "kind": "NodeResourceTopology",
        "metadata": _meta(rng, number, labels=labels, annotations=annotations),
        "topologyPolicies": ["None"],
        "zones": zones,
    }


def csi_node(rng: random.Random, number: int) -> Object:
    """Return the CSINode of a node."""
    driver = {"name": "block-ssd.csi.example.com", "nodeID": node_name(number), "allocatable": {"count": 31}}
    return {"metadata": _meta(rng, number), "spec": {"drivers": [driver | {"topologyKeys": [SPINE]}]}}
