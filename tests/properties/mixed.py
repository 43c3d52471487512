"""Clusters as mixed as real ones: recorded hardware and running pods, under which all that a pod may ask for is mixed.

Of a recorded cluster some nodes are kept, or all are copied; what runs there stays, what waits does not. Then gangs of
1 to 64 unequal pods and lone pods come, with their quotas, claims, Reservations and rivals.
"""

import copy
import gzip
import json
from functools import cache
from random import Random
from typing import Any

from tests.conformance import cases

Json = dict[str, Any]
VERSIONS = ("1.7", "1.8", "main")
_OF_NODE = {"NodeMetric", "NodeResourceTopology", "Device", "CSINode"}
_QUOTA = "quota.scheduling.koordinator.sh"
_GANG = "gang.scheduling.koordinator.sh"
_LAYERS = ("SpineLayer", "BlockLayer", "NodeTopologyLayer")
_PRIORITIES = (3000, 5500, 9000, 9100, 9500)


@cache
def recorded() -> tuple[Json, ...]:
    """Return the clusters that were recorded as real ones are."""
    lines = gzip.decompress((cases.CASES / "production.jsonl.gz").read_bytes()).splitlines()
    return tuple(json.loads(line)["cluster"] for line in lines)


def mixed_cluster(rng: Random, nodes: int = 48, most_pods: int = 64) -> Json:
    """Return a cluster of so many nodes as a List, in which gang `job` of up to so many pods waits, among others."""
    items = _resized(rng, rng.choice(recorded())["items"], nodes)
    items += _quotas(rng)
    for item in items:
        if item["kind"] == "Pod":
            _change_running(rng, item)
    names = [item["metadata"]["name"] for item in items if item["kind"] == "Node"]
    items += _reservations(rng, names)
    items += _gang(rng, "job", names, rng.choice((1, 2, 3, 4, 8, 16, 32, 64)), most_pods)
    for number in range(rng.choice((0, 0, 1, 2, 5))):
        items += _gang(rng, f"rival-{number}", names, rng.choice((1, 2, 4, 8)), most_pods)
    for number in range(rng.choice((0, 0, 1, 3))):
        items += _pods(rng, "", names, [f"lone-{number}"])
    return {"apiVersion": "v1", "kind": "List", "items": items}


def _resized(rng: Random, every: list[Json], nodes: int) -> list[Json]:
    """Return what is there, without what waits, on so many nodes: some of those recorded, or copies of them."""
    named = [item["metadata"]["name"] for item in every if item["kind"] == "Node"]
    chosen = rng.sample(named, nodes) if nodes < len(named) else named
    by_node: dict[str, list[Json]] = {name: [] for name in named}
    others = []
    for item in every:
        name = _node_of(item)
        if name in by_node:
            by_node[name].append(item)
        elif item["kind"] != "Pod" and name is None:
            others.append(item)
    items = [copy.deepcopy(item) for item in others]
    for number in range(max(1, -(-nodes // len(chosen)))):
        left = chosen[: nodes - number * len(chosen)]
        items += [_copied(item, name, number) for name in left for item in by_node[name]]
    return items


def _node_of(item: Json) -> str | None:
    if item["kind"] == "Node" or item["kind"] in _OF_NODE:
        return str(item["metadata"]["name"])
    if item["kind"] == "Reservation":
        return str(item.get("status", {}).get("nodeName", ""))
    return str(item["spec"].get("nodeName", "")) if item["kind"] == "Pod" else None


def _copied(item: Json, node: str, number: int) -> Json:
    if not number:
        return copy.deepcopy(item)
    name = item["metadata"]["name"]
    text = json.dumps(item).replace(f'"{node}"', f'"{node}-{number}"').replace(f'"{name}"', f'"{name}-{number}"')
    found: Json = json.loads(text)
    found["metadata"]["name"] = f"{node}-{number}" if name == node else f"{name}-{number}"
    found["metadata"]["uid"] = f"{number}{item['metadata'].get('uid', name)}"
    for label in found["metadata"].get("labels", {}):
        if label.startswith("network.topology"):
            found["metadata"]["labels"][label] += f"-{number}"
    return found


def _change_running(rng: Random, pod: Json) -> None:
    labels = pod["metadata"].setdefault("labels", {})
    if rng.random() < 0.3:
        pod["spec"]["priority"] = rng.choice(_PRIORITIES)
    if rng.random() < 0.2:
        labels[f"{_QUOTA}/name"] = rng.choice(("team-a", "team-b", "team-c"))
    if rng.random() < 0.05:
        labels[f"{_QUOTA}/preemptible"] = "false"
    if rng.random() < 0.02:
        pod["metadata"]["deletionTimestamp"] = "2026-11-21T09:59:00Z"


def _quotas(rng: Random) -> list[Json]:
    found = []
    for name in ("team-a", "team-b", "team-c"):
        most = {"cpu": str(rng.choice((8, 100, 1000, 100000))), "memory": rng.choice(("64Gi", "4Ti", "900Ti"))}
        if rng.random() < 0.5:
            most["nvidia.com/gpu"] = str(rng.choice((0, 8, 64)))
        least = {resource: "0" if rng.random() < 0.5 else amount for resource, amount in most.items()}
        meta = {"name": name, "namespace": "default", "labels": {f"{_QUOTA}/parent": "koordinator-root-quota"}}
        found.append(_object("scheduling.sigs.k8s.io/v1alpha1", "ElasticQuota", meta, {"max": most, "min": least}))
    return found


def _reservations(rng: Random, nodes: list[str]) -> list[Json]:
    found = []
    for number in range(rng.choice((0, 0, 1, 3))):
        requests = {"cpu": str(rng.choice((2, 8, 32))), "memory": "16Gi"}
        template = {"spec": {"containers": [{"name": "main", "resources": {"requests": requests}}]}}
        spec: Json = {
            "template": template,
            "owners": [{"labelSelector": {"matchLabels": {"app": rng.choice("abc")}}}],
            "allocateOnce": rng.random() < 0.5,
            "ttl": "0s",
        }
        if rng.random() < 0.5:
            spec["allocatePolicy"] = rng.choice(("Aligned", "Restricted"))
        one = _object("scheduling.koordinator.sh/v1alpha1", "Reservation", {"name": f"mixed-{number}"}, spec)
        if rng.random() < 0.7:
            ready = {"type": "Ready", "status": "True", "reason": "Available"}
            scheduled = {"type": "Scheduled", "status": "True", "reason": "Scheduled"}
            one["status"] = {
                "phase": "Available",
                "nodeName": rng.choice(nodes),
                "allocatable": requests,
                "conditions": [ready, scheduled],
            }
        found.append(one)
    return found


def _gang(rng: Random, name: str, nodes: list[str], pods: int, most: int) -> list[Json]:
    number = min(pods, most)
    annotations = {}
    if rng.random() < 0.5:
        rules = [
            {"layer": layer, "strategy": rng.choice(("MustGather", "PreferGather"))}
            | ({"podCountMultiple": rng.choice((2, 4))} if rng.random() < 0.2 else {})
            for layer in _LAYERS
            if rng.random() < 0.5
        ]
        annotations[f"{_GANG}/network-topology-spec"] = json.dumps({"gatherStrategy": rules})
    if rng.random() < 0.3:
        annotations[f"{_GANG}/match-policy"] = rng.choice(("only-waiting", "waiting-and-running", "once-satisfied"))
    if rng.random() < 0.2:
        annotations[f"{_GANG}/mode"] = "NonStrict"
    if rng.random() < 0.15:
        annotations[f"{_GANG}/groups"] = json.dumps(["default/job", "default/rival-0"])
    least = number if rng.random() < 0.7 else rng.randint(1, number)
    meta = {"name": name, "namespace": "default", "annotations": annotations}
    spec = {"minMember": least, "scheduleTimeoutSeconds": 300}
    group = _object("scheduling.sigs.k8s.io/v1alpha1", "PodGroup", meta, spec)
    return [group, *_pods(rng, name, nodes, [f"{name}-{index}" for index in range(number)])]


def _pods(rng: Random, gang: str, nodes: list[str], names: list[str]) -> list[Json]:
    """Return pods of a few kinds, or of as many kinds as there are pods."""
    kinds = [_kind(rng) for _ in range(rng.choice((1, 1, 2, 3, len(names))))]
    priority, found = rng.choice(_PRIORITIES), []
    for index, name in enumerate(names):
        pod = copy.deepcopy(rng.choice(kinds))
        pod["metadata"] |= {"name": name, "namespace": "default", "creationTimestamp": "2026-11-21T09:30:00Z"}
        pod["metadata"]["uid"] = f"uid-{name}"
        pod["spec"]["priority"] = priority if rng.random() < 0.9 else rng.choice(_PRIORITIES)
        if gang:
            pod["metadata"]["labels"]["pod-group.scheduling.sigs.k8s.io"] = gang
        if rng.random() < 0.1:
            pod["metadata"]["annotations"][f"{_GANG}/network-topology-index"] = str(index)
        if rng.random() < 0.05:
            pod["status"]["nominatedNodeName"] = rng.choice(nodes)
        if rng.random() < 0.02:
            pod["spec"]["schedulingGates"] = [{"name": "wait"}]
        found.append(pod)
        if pod.pop("claimed"):
            pod["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": f"data-{name}"}}]
            meta = {"name": f"data-{name}", "namespace": "default", "uid": f"claim-{name}"}
            wanted = {"requests": {"storage": "2Ti"}}
            spec = {"accessModes": ["ReadWriteOnce"], "resources": wanted, "storageClassName": "block-ssd"}
            found.append(_object("v1", "PersistentVolumeClaim", meta, spec) | {"status": {"phase": "Pending"}})
    return found


def _kind(rng: Random) -> Json:
    """Return a pod without a name; `claimed` tells whether it is to have a volume of its own."""
    requests = {"cpu": str(rng.choice((1, 4, 17, 48, 96))), "memory": rng.choice(("1Gi", "64Gi", "400Gi"))}
    labels, annotations = {"app": rng.choice("abc")}, {}
    _add_cards(rng, requests)
    if rng.random() < 0.3:
        labels["koordinator.sh/qosClass"] = rng.choice(("LS", "LSR", "LSE", "BE"))
    if rng.random() < 0.3:
        policy = rng.choice(("FullPCPUs", "SpreadByPCPUs", "ConstrainedBurst"))
        annotations["scheduling.koordinator.sh/resource-spec"] = json.dumps({"preferredCPUBindPolicy": policy})
    if rng.random() < 0.2:
        policy = rng.choice(("BestEffort", "Restricted", "SingleNUMANode"))
        annotations["scheduling.koordinator.sh/numa-topology-spec"] = json.dumps({"numaTopologyPolicy": policy})
    if rng.random() < 0.4:
        labels[f"{_QUOTA}/name"] = rng.choice(("team-a", "team-b", "team-c", "nobody"))
    spec: Json = {"schedulerName": "koord-scheduler", "containers": [{"name": "main", "resources": {}}]}
    spec["containers"][0]["resources"] = {"requests": requests, "limits": requests}
    _add_terms(rng, spec, labels["app"])
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"labels": labels, "annotations": annotations},
        "spec": spec,
        "status": {"phase": "Pending"},
        "claimed": rng.random() < 0.25,
    }


def _add_cards(rng: Random, requests: Json) -> None:
    cards = rng.choice((None, None, "whole", "api", "part"))
    if cards == "whole":
        requests["nvidia.com/gpu"] = str(rng.choice((1, 2, 4, 8)))
    elif cards is not None:
        number = rng.choice((1, 2, 8)) if cards == "api" else 1
        share = 100 * number if cards == "api" else rng.choice((20, 50))
        requests |= {"koordinator.sh/gpu-core": str(share), "koordinator.sh/gpu-memory-ratio": str(share)}
        if number > 1:
            requests["koordinator.sh/gpu.shared"] = str(number)
    if cards is not None and rng.random() < 0.3:
        requests["rdma/hca_shared_devices_a"] = "1"


def _add_terms(rng: Random, spec: Json, app: str) -> None:
    if rng.random() < 0.7:
        spec["tolerations"] = [{"operator": "Exists"}]
    if rng.random() < 0.2:
        spec["nodeSelector"] = {"node-pool": rng.choice(("train", "infer"))}
    if rng.random() < 0.1:
        spec["preemptionPolicy"] = "Never"
    if rng.random() < 0.1:
        spec["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
    selector = {"matchLabels": {"app": app}}
    key = rng.choice(("kubernetes.io/hostname", "topology.kubernetes.io/zone", "network.topology.nvidia.com/block"))
    term = {"labelSelector": selector, "topologyKey": key}
    if rng.random() < 0.15:
        kind = rng.choice(("podAffinity", "podAntiAffinity"))
        spec["affinity"] = {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    if rng.random() < 0.15:
        spread = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
        spec["topologySpreadConstraints"] = [spread]


def _object(version: str, kind: str, meta: Json, spec: Json) -> Json:
    return {"apiVersion": version, "kind": kind, "metadata": meta, "spec": spec}
