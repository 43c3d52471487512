"""Quotas, reservations, claims, measurements, groups and budgets of a diverse cluster."""

import random
from collections.abc import Iterable, Iterator, Sequence
from math import ceil
from typing import NamedTuple

from benchmarks.diverse.places import card, model_of, node_name
from benchmarks.diverse.plan import NAMESPACES, Job, Running
from benchmarks.diverse.terms import band, requests_of
from benchmarks.generate import BIG_GANG, BIG_SIZE
from benchmarks.shapes import CREATED, Object, uid

_QUOTA = "quota.scheduling.koordinator.sh/"
_SIGS = "scheduling.sigs.k8s.io/v1alpha1"
_ROOT = "koordinator-root-quota"
_HOME = "koordinator-system"
_CLASS = "block-ssd"


class Tree(NamedTuple):
    """How many quotas stand on each level of the tree."""

    orgs: int
    departments: int
    groups: int
    leaves: int


def tree(quotas: int) -> Tree:
    """Return the tree of so many quotas, on four levels."""
    orgs, departments, groups = max(2, quotas // 200), quotas // 20, quotas // 5
    return Tree(orgs, departments, groups, quotas - orgs - departments - groups)


class Used(NamedTuple):
    """What the bound pods of a quota request."""

    cores: float = 0.0
    gib: float = 0.0
    gpus: int = 0

    def plus(self, other: "Used") -> "Used":
        """Return both together."""
        return Used(self.cores + other.cores, self.gib + other.gib, self.gpus + other.gpus)


_SPARE = (Used(8192, 131_072, 768), Used(), Used(256, 4096, 16))


def leaf_of(workload: int, leaves: int) -> int:
    """Return the quota of the pods of a workload, among those that have no others below them."""
    return workload % leaves


def used(running: Iterable[Running], leaves: int) -> list[Used]:
    """Return what the pods of each such quota request."""
    found = [Used()] * leaves
    for pod in running:
        leaf = leaf_of(pod.workload, leaves)
        found[leaf] = found[leaf].plus(_asked(pod))
    return found


def _asked(pod: Running) -> Used:
    asked = requests_of(pod)
    cpu, memory = asked.get("cpu", "0"), asked.get("memory", "0Gi")
    cores = int(cpu[:-1]) / 1000 if cpu.endswith("m") else float(cpu)
    gib = int(memory[:-2]) / (1 if memory.endswith("Gi") else 1024)
    return Used(cores, gib, pod.gpus)


def quotas(count: int, of_leaves: Sequence[Used]) -> Iterator[Object]:
    """Yield the quotas; those of the chart come besides.

    A third of those that have no others below them is used up; the others have room for a few pods, or for a large job.
    """
    shape = tree(count)
    for name, parent in ((_ROOT, ""), ("koordinator-system-quota", _ROOT), ("koordinator-default-quota", _ROOT)):
        yield _quota(name, _HOME, parent, is_parent=name == _ROOT)
    of_groups, of_departments, of_orgs = [Used()] * shape.groups, [Used()] * shape.departments, [Used()] * shape.orgs
    room = [spent.plus(_SPARE[number % 3]) for number, spent in enumerate(of_leaves)]
    for above, below in ((of_groups, room), (of_departments, of_groups), (of_orgs, of_departments)):
        for number, one in enumerate(below):
            above[number % len(above)] = above[number % len(above)].plus(one)
    levels = (("org", of_orgs), ("dept", of_departments), ("group", of_groups), ("leaf", room))
    upper, uppers = "", 1
    for level, most in levels:
        for number, one in enumerate(most):
            parent = f"{upper}-{number % uppers:04}" if upper else _ROOT
            yield _quota(f"{level}-{number:04}", NAMESPACES[number % 96], parent, is_parent=level != "leaf", most=one)
        upper, uppers = level, len(most)


def _quota(name: str, home: str, parent: str, *, is_parent: bool, most: Used | None = None) -> Object:
    labels = {f"{_QUOTA}is-parent": str(is_parent).lower(), f"{_QUOTA}parent": parent}
    spec: Object = {}
    annotations = {}
    if most:
        amounts = {"cpu": f"{ceil(most.cores)}", "memory": f"{ceil(most.gib)}Gi", "nvidia.com/gpu": f"{most.gpus}"}
        half = Used(most.cores / 2, most.gib / 2, most.gpus // 2)
        least = {"cpu": f"{int(half.cores)}", "memory": f"{int(half.gib)}Gi", "nvidia.com/gpu": f"{half.gpus}"}
        spec = {"min": least, "max": amounts}
        weight = ",".join(f'"{resource}":"{amount}"' for resource, amount in amounts.items())
        annotations[f"{_QUOTA}shared-weight"] = f"{{{weight}}}"
    meta = {"name": name, "namespace": home, "creationTimestamp": CREATED, "labels": labels, "annotations": annotations}
    return {"apiVersion": _SIGS, "kind": "ElasticQuota", "metadata": meta, "spec": spec, "status": {}}


class Reserved(NamedTuple):
    """A Reservation on a node, and the bound pod that has it, if any."""

    number: int
    uid: str
    node: int
    owner: Running | None

    @property
    def name(self) -> str:
        """Its name."""
        return f"reserve-{self.number:03}"


def reserved(rng: random.Random, count: int, nodes: int, first_plain: dict[int, Running]) -> list[Reserved]:
    """Return where reservations are: a third of them has its owner."""
    found = []
    for number in range(count):
        node = number * nodes // count // 20 * 20 + 19 if number % 5 == 0 else number * nodes // count
        owner = first_plain.get(node) if number % 3 == 0 else None
        found.append(Reserved(number, uid(rng), node, owner))
    return found


def reservation(one: Reserved) -> Object:
    """Return a Reservation; every fifth holds two cards of its node."""
    room = {"cpu": "8", "memory": "32Gi"}
    annotations = {}
    if one.number % 5 == 0:
        room["nvidia.com/gpu"] = "2"
        memory = model_of(one.node)[1]
        cards = ",".join(
            f'{{"minor":{minor},"resources":{{"koordinator.sh/gpu-core":"100","koordinator.sh/gpu-memory":"{memory}",'
            f'"koordinator.sh/gpu-memory-ratio":"100"}},"id":"{card(one.node, minor)}"}}'
            for minor in (6, 7)
        )
        annotations["scheduling.koordinator.sh/device-allocated"] = f'{{"gpu":[{cards}]}}'
    labels = {"reserved-for": f"project-{one.number % 30}"}
    container = {"name": "main", "resources": {"requests": room, "limits": room}}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container], "priority": 9000}}
    status: Object = {"phase": "Available", "nodeName": node_name(one.node), "allocatable": room}
    if one.owner:
        status["allocated"] = requests_of(one.owner)
        status["currentOwners"] = [{"name": one.owner.name, "namespace": one.owner.namespace}]
    return {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "Reservation",
        "metadata": {"name": one.name, "uid": one.uid, "creationTimestamp": CREATED, "annotations": annotations},
        "spec": {
            "template": template,
            "owners": [{"labelSelector": {"matchLabels": labels}}],
            "ttl": "0s",
            "allocateOnce": False,
        },
        "status": status,
    }


def claim(rng: random.Random, namespace: str, name: str, *, bound: bool) -> Object:
    """Return a PersistentVolumeClaim."""
    spec: Object = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "200Gi"}},
        "storageClassName": _CLASS,
        "volumeMode": "Filesystem",
    }
    if bound:
        spec["volumeName"] = volume_name(namespace, name)
    meta = {"name": name, "namespace": namespace, "uid": uid(rng), "creationTimestamp": CREATED}
    return {"metadata": meta, "spec": spec, "status": {"phase": "Bound" if bound else "Pending"}}


def volume_name(namespace: str, name: str) -> str:
    """Return the name of the volume of a claim."""
    return f"pvc-{namespace}-{name}"


def volume(namespace: str, name: str, zone: str) -> Object:
    """Return the PersistentVolume of a bound claim."""
    its = volume_name(namespace, name)
    terms = [{"matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]}]}]
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "200Gi"},
        "storageClassName": _CLASS,
        "volumeMode": "Filesystem",
        "csi": {"driver": "block-ssd.csi.example.com", "volumeHandle": its},
        "claimRef": {"kind": "PersistentVolumeClaim", "namespace": namespace, "name": name, "uid": its},
        "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
    }
    return {"metadata": {"name": its, "creationTimestamp": CREATED}, "spec": spec, "status": {"phase": "Bound"}}


def metric(rng: random.Random, node: int, pods: Sequence[Running]) -> Object:
    """Return the NodeMetric of a node, with the usage of its pods."""
    cpu, memory = 8_000 + node * 7919 % 70_000, 400_000_000 + node * 104_729 % 900_000_000
    kinds = (("avg", 100), ("p50", 97), ("p90", 112), ("p95", 118), ("p99", 125))
    usage = {kind: {"resources": _measured(cpu * part // 100, memory * part // 100)} for kind, part in kinds}
    told = []
    for pod in pods:
        priority, quality = band(pod.workload, gang=bool(pod.gang))
        told.append(
            {
                "namespace": pod.namespace,
                "name": pod.name,
                "podUsage": {"resources": _averaged(rng.randrange(50, 4000), rng.randrange(10**5, 10**7))},
                "priority": "koord-prod" if priority >= 9000 else "koord-batch",  # noqa: PLR2004
                "qos": quality,
            }
        )
    collect = {"aggregateDurationSeconds": 300, "reportIntervalSeconds": 60}
    return {
        "apiVersion": "slo.koordinator.sh/v1alpha1",
        "kind": "NodeMetric",
        "metadata": {"name": node_name(node), "uid": uid(rng), "creationTimestamp": CREATED},
        "spec": {"metricCollectPolicy": collect},
        "status": {
            "updateTime": f"2026-11-01T09:59:{node % 60:02}Z",
            "nodeMetric": {
                "nodeUsage": {"resources": _averaged(cpu, memory)},
                "systemUsage": {"resources": _averaged(900 + node % 300, 5_000_000)},
                "aggregatedNodeUsages": [{"usage": usage, "duration": each} for each in ("5m0s", "10m0s", "30m0s")],
            },
            "podsMetric": told,
            "prodReclaimableMetric": {"resource": {"resources": _measured(cpu // 9, memory // 9)}},
        },
    }


def _averaged(cpu: int, memory: int) -> dict[str, str]:
    """Return an average of several measurements: whole pages are rarely what comes out."""
    return {"cpu": f"{cpu}m", "memory": str(memory * 1024 + memory % 1021)}


def _measured(cpu: int, memory: int) -> dict[str, str]:
    return {"cpu": f"{cpu}m", "memory": f"{memory}Ki"}


def pod_groups(jobs: Iterable[Job], held: Iterable[tuple[str, str, int]]) -> Iterator[Object]:
    """Yield the PodGroups of the jobs that wait, and of those that run."""
    yield _pod_group("train", BIG_GANG, BIG_SIZE, "SpineLayer", "Pending")
    for number, job in enumerate(jobs):
        if job.size > 1:
            yield _pod_group(job.namespace, job.name, job.size, "" if number % 3 else "BlockLayer", "Pending")
    for namespace, gang, size in held:
        yield _pod_group(namespace, gang, size, "BlockLayer", "Running")


def _pod_group(namespace: str, name: str, size: int, layer: str, phase: str) -> Object:
    meta: Object = {"name": name, "namespace": namespace, "creationTimestamp": CREATED}
    if layer:
        spec = f'{{"gatherStrategy":[{{"layer":"{layer}","strategy":"MustGather"}}]}}'
        meta["annotations"] = {"gang.scheduling.koordinator.sh/network-topology-spec": spec}
    terms = {"minMember": size, "scheduleTimeoutSeconds": 300}
    return {"apiVersion": _SIGS, "kind": "PodGroup", "metadata": meta, "spec": terms, "status": {"phase": phase}}


def budget(namespace: str, app: str) -> Object:
    """Return a PodDisruptionBudget of an app."""
    return {
        "metadata": {"name": app, "namespace": namespace, "creationTimestamp": CREATED},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": app}}},
        "status": {"disruptionsAllowed": 1, "currentHealthy": 6, "desiredHealthy": 5, "expectedPods": 6},
    }
