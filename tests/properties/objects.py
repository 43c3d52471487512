"""A drawing as the JSON objects of an API server."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from kubectl_koord.cluster import stored
from kubectl_koord.cluster.collect import Collector
from kubectl_koord.model import values
from kubectl_koord.model.objects import NetworkTopology, Node, PodGroup
from kubectl_koord.model.pods import PendingPod, PodRequirements, PodTerm, RunningPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values import Requirement, Resources, Selector

Json = dict[str, Any]
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFIX = "gang.scheduling.koordinator.sh/"


def objects_of(snapshot: Snapshot) -> list[Json]:
    """Return every object of the snapshot, in its order."""
    running = (pod for pods in snapshot.running.values() for pod in pods)
    return [
        *map(_node, snapshot.nodes.values()),
        *map(_running, running),
        *map(_pending, snapshot.pending),
        *map(_pod_group, snapshot.pod_groups.values()),
        *map(_topology, snapshot.topologies.values()),
    ]


def read(objects: Iterable[Json], like: Snapshot) -> Snapshot:
    """Return the cluster of a List of these objects, under the configuration of another."""
    collector = Collector()
    stored.take("list.json", json.dumps({"kind": "List", "items": list(objects)}).encode(), collector)
    found = collector.snapshot(moment=like.moment, source=like.source)
    return Snapshot(**{name: getattr(found, name) for name in found.__struct_fields__} | {"config": like.config})


def _amounts(resources: Resources) -> Json:
    return {resource: values.spell(resource, amount) for resource, amount in resources}


def _node(node: Node) -> Json:
    taints = [{"key": taint.key, "value": taint.value, "effect": taint.effect} for taint in node.taints]
    ready = {"type": "Ready", "status": "True" if node.ready else "False"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node.name, "labels": dict(node.labels)},
        "spec": {"taints": taints, "unschedulable": node.unschedulable},
        "status": {"allocatable": _amounts(node.allocatable), "conditions": [ready]},
    }


def _running(pod: RunningPod) -> Json:
    labels = dict(pod.labels) | {"scheduling.koordinator.sh/questioned-object-key": pod.job}
    if pod.protected:
        labels["scheduling.koordinator.sh/disable-preemptible"] = "true"
    if pod.gang:
        labels["pod-group.scheduling.sigs.k8s.io"] = pod.gang.partition("/")[2]
    target = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    written = _pod(pod, labels)
    written["spec"]["nodeName"] = pod.node
    written["status"]["conditions"] = [target] if pod.preempted else []
    if pod.terminating:
        written["metadata"]["deletionTimestamp"] = "2026-11-20T09:59:00Z"
    return written


def _pending(pod: PendingPod) -> Json:
    labels = dict(pod.labels)
    if pod.gang:
        labels["pod-group.scheduling.sigs.k8s.io"] = pod.gang.partition("/")[2]
    written = _pod(pod, labels)
    written["status"]["nominatedNodeName"] = pod.nominated
    written["spec"]["schedulerName"] = pod.scheduler
    if pod.never_preempts:
        written["spec"]["preemptionPolicy"] = "Never"
    if pod.index is not None:
        written["metadata"]["annotations"][_PREFIX + "network-topology-index"] = str(pod.index)
    return written


def _pod(pod: RunningPod | PendingPod, labels: Mapping[str, str]) -> Json:
    annotations = {"scheduling.koordinator.sh/network-topology-selector": pod.selector}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "namespace": pod.namespace,
            "name": pod.name,
            "labels": dict(labels),
            "annotations": annotations,
        },
        "spec": _spec(pod.requirements) | {"priority": pod.priority},
        "status": {},
    }


def _spec(requirements: PodRequirements) -> Json:
    ports = [{"hostPort": port.port, "protocol": port.protocol, "hostIP": port.address} for port in requirements.ports]
    affinity: Json = {
        "podAffinity": _terms(requirements.pod_affinity),
        "podAntiAffinity": _terms(requirements.pod_anti_affinity),
    }
    if requirements.affinity is not None:
        terms = [
            {"matchExpressions": _expressions(term.labels), "matchFields": _expressions(term.fields)}
            for term in requirements.affinity
        ]
        affinity["nodeAffinity"] = {_REQUIRED: {"nodeSelectorTerms": terms}}
    return {
        "containers": [{"resources": {"requests": _amounts(requirements.requests)}, "ports": ports}],
        "nodeSelector": dict(requirements.selector),
        "affinity": affinity,
        "tolerations": [
            {"key": one.key, "operator": one.operator, "value": one.value, "effect": one.effect}
            for one in requirements.tolerations
        ],
        "topologySpreadConstraints": [
            {
                "topologyKey": one.key,
                "maxSkew": one.max_skew,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": _selector(one.selector),
            }
            for one in requirements.spread
        ],
    }


def _terms(terms: Iterable[PodTerm]) -> Json:
    written = [
        {"topologyKey": term.key, "labelSelector": _selector(term.selector), "namespaces": list(term.namespaces)}
        for term in terms
    ]
    return {_REQUIRED: written}


def _selector(selector: Selector | None) -> Json | None:
    return None if selector is None else {"matchExpressions": _expressions(selector.requirements)}


def _expressions(requirements: Iterable[Requirement]) -> list[Json]:
    return [{"key": one.key, "operator": one.operator, "values": list(one.values)} for one in requirements]


def _pod_group(group: PodGroup) -> Json:
    return {
        "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"namespace": group.namespace, "name": group.name, "annotations": dict(group.annotations)},
        "spec": {"minMember": group.min_member},
    }


def _topology(topology: NetworkTopology) -> Json:
    layers = [
        {"topologyLayer": layer.name, "parentTopologyLayer": layer.parent, "labelKey": list(layer.label_keys)}
        for layer in topology.layers
    ]
    return {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "ClusterNetworkTopology",
        "metadata": {"name": topology.name},
        "spec": {"networkTopologySpec": layers},
    }
