"""The pods of a diverse cluster: about 12 labels, owners, and what scheduler and controllers write on them."""

import random
from collections.abc import Callable, Mapping
from typing import NamedTuple

from benchmarks.diverse.places import MODELS, POOLS, card, model_of, node_name, pool_name
from benchmarks.diverse.plan import Running, Waiting, is_pinned, is_stateful
from benchmarks.diverse.tables import leaf_of
from benchmarks.diverse.terms import apart, band, requests_of, spread, tolerations
from benchmarks.shapes import Object, Shape, pod_shape, uid

QUOTA = "quota.scheduling.koordinator.sh/name"
_SHAPES = 96
_DOMAIN = "scheduling.koordinator.sh/"
_GANG = "pod-group.scheduling.sigs.k8s.io"
_TEAMS = ("search", "ads", "maps", "speech", "vision", "llm", "feed", "pay")
_OPERATORS = ("pytorchjob", "mpijob", "tfjob", "rayjob")
_WAITING_GPUS = (0, 8, 8, 1, 8, 4, 8, 2, 8)


class Facts(NamedTuple):
    """What other objects say of pods."""

    leaves: int
    """Quotas that have no others below them."""
    claimed: frozenset[int]
    """Numbers of the pods that have a volume claim."""
    reserved: Mapping[int, tuple[str, str]]
    """Name and uid of the Reservation of a pod, by its number."""


class Pods:
    """Makes the pods."""

    def __init__(self, rng: random.Random, facts: Facts, cpus_from: Callable[[Running], int]) -> None:
        """Take what other objects say, and the first of the CPUs that a pod has for its own."""
        self._rng = rng
        self._facts = facts
        self._cpus_from = cpus_from
        self._shapes = [pod_shape(rng, number % 24) for number in range(_SHAPES)]

    def of(self, pod: Running | Waiting) -> Object:
        """Return a pod."""
        return self._running(pod) if isinstance(pod, Running) else self._waiting(pod)

    def _running(self, pod: Running) -> Object:
        workload = pod.workload
        shape = self._shapes[workload % _SHAPES]
        priority, quality = band(workload, gang=bool(pod.gang))
        requests = requests_of(pod)
        spec = self._spec(shape, requests, priority, tolerations(workload, everywhere=pod.gpus > 0))
        spec["nodeName"] = node_name(pod.node)
        spec["nodeSelector"] = {"kubernetes.io/os": "linux"}
        if is_pinned(workload):
            spec["nodeSelector"] |= {"node-pool": pool_name(workload % POOLS)}
        if workload % 100 == 11:  # noqa: PLR2004
            spec["affinity"] = {"podAntiAffinity": apart(f"app-{workload}")}
        if workload % 30 == 17:  # noqa: PLR2004
            spec["topologySpreadConstraints"] = [spread(f"app-{workload}", "ScheduleAnyway")]
        if pod.number in self._facts.claimed:
            spec["volumes"].append({"name": "data", "persistentVolumeClaim": {"claimName": f"data-{pod.name}"}})
        labels = self._labels(workload, quality) | (gang_labels(pod.gang, pod.number) if pod.gang else {})
        if is_stateful(workload):
            labels |= {"apps.kubernetes.io/pod-index": pod.name[-1], "statefulset.kubernetes.io/pod-name": pod.name}
        ended = not pod.gpus and workload % 20 == 19 and pod.number not in self._facts.reserved  # noqa: PLR2004
        created = _created(pod.number)
        status = shape.status | {
            "phase": "Succeeded" if ended else "Running",
            "conditions": [dict(one, lastTransitionTime=created) for one in shape.conditions],
            "podIP": f"10.{pod.node >> 8}.{pod.node & 255}.{pod.number % 250}",
            "startTime": created,
        }
        return self._pod(pod, shape, labels, self._annotations(pod, quality), _owner(pod), spec, status)

    def _annotations(self, pod: Running, quality: str) -> dict[str, str]:
        found = self._common(pod)
        if pod.gpus:
            memory = model_of(pod.node)[1]
            amounts = f'"koordinator.sh/gpu-core":"100","koordinator.sh/gpu-memory":"{memory}"'
            cards = ",".join(
                f'{{"minor":{minor},"resources":{{{amounts},"koordinator.sh/gpu-memory-ratio":"100"}},'
                f'"id":"{card(pod.node, minor)}"}}'
                for minor in range(pod.first_gpu, pod.first_gpu + pod.gpus)
            )
            found[_DOMAIN + "device-allocated"] = f'{{"gpu":[{cards}]}}'
        if quality == "LSR":
            first = self._cpus_from(pod)
            if first >= 0:
                found[_DOMAIN + "resource-spec"] = '{"preferredCPUBindPolicy":"FullPCPUs"}'
                found[_DOMAIN + "resource-status"] = f'{{"cpuset":"{first}-{first + 1},{first + 96}-{first + 97}"}}'
        elif quality == "BE":
            amounts = '{"kubernetes.io/batch-cpu":"2k","kubernetes.io/batch-memory":"4Gi"}'
            spec = f'{{"containers":{{"main":{{"limits":{amounts},"requests":{amounts}}}}}}}'
            found["node.koordinator.sh/extended-resource-spec"] = spec
        if pod.gang:
            for prefix in ("", "internal."):
                found[f"{prefix}{_DOMAIN}bind-gang-group-id"] = f"{pod.namespace}/{pod.gang}"
                found[f"{prefix}{_DOMAIN}bind-gang-member-count"] = "8"
        if pod.number in self._facts.reserved:
            name, its = self._facts.reserved[pod.number]
            found[_DOMAIN + "reservation-allocated"] = f'{{"name":"{name}","uid":"{its}"}}'
        return found

    def _common(self, pod: Running | Waiting) -> dict[str, str]:
        return {
            "checksum/config": f"{self._rng.getrandbits(256):064x}",
            "cni.example.com/mac": f'{{"eth0":"{pod.number:012x}","eth1":"{pod.number + 1:012x}"}}',
            "kubectl.kubernetes.io/restartedAt": _created(pod.number),
            "prometheus.io/scrape": "true",
        }

    def _labels(self, workload: int, quality: str) -> dict[str, str]:
        app = f"app-{workload}"
        return {
            "app": app,
            "app.kubernetes.io/name": app,
            "app.kubernetes.io/instance": f"{app}-prod",
            "app.kubernetes.io/component": ("api", "worker", "cache", "web")[workload % 4],
            "app.kubernetes.io/part-of": f"suite-{workload % 250}",
            "app.kubernetes.io/managed-by": "Helm",
            "app.kubernetes.io/version": f"1.{workload % 40}.{workload % 9}",
            "helm.sh/chart": f"{app}-0.{workload % 30}.1",
            "team": _TEAMS[workload % len(_TEAMS)],
            "cost-center": str(4000 + workload % 300),
            "pod-template-hash": f"{workload * 2654435761 % (1 << 32):08x}",
            "koordinator.sh/qosClass": quality,
            QUOTA: f"leaf-{leaf_of(workload, self._facts.leaves):04}",
        }

    def _waiting(self, pod: Waiting) -> Object:
        kind = pod.kind
        shape = self._shapes[kind % _SHAPES]
        if kind < 0:
            spec = self._spec(shape, {"cpu": "8", "nvidia.com/gpu": "1"}, 9000, tolerations(0, everywhere=True))
            quality, workload = "LS", 1_000_000
        else:
            spec, quality, workload = self._spec_of_kind(shape, kind), band(kind)[1], 1_000_000 + kind
        labels = self._labels(workload, quality)
        annotations = self._common(pod)
        if pod.gang:
            labels |= gang_labels(pod.gang, pod.number)
        if kind % 29 == 3:  # noqa: PLR2004
            annotations[_DOMAIN + "resource-spec"] = '{"preferredCPUBindPolicy":"FullPCPUs"}'
        said = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": "0/5000 nodes are available: 5000 Insufficient nvidia.com/gpu",
            "lastTransitionTime": _created(pod.number),
        }
        status = {"phase": "Pending", "qosClass": "Burstable", "conditions": [said]}
        return self._pod(pod, shape, labels, annotations, _owner(pod), spec, status)

    def _spec_of_kind(self, shape: Shape, kind: int) -> Object:
        gpus = _WAITING_GPUS[kind % len(_WAITING_GPUS)]
        requests = {"cpu": str((1 if gpus else 110) + kind % 48), "memory": f"{8 + kind}Gi"}
        if gpus == 1 and kind % 3 == 0:
            requests |= {"koordinator.sh/gpu-core": "50", "koordinator.sh/gpu-memory-ratio": "50"}
        elif gpus:
            requests["nvidia.com/gpu"] = str(gpus)
        spec = self._spec(shape, requests, band(kind)[0], tolerations(kind, everywhere=kind % 3 == 1))
        spec["nodeSelector"] = {"kubernetes.io/os": "linux"}
        if kind % 4 == 0:
            spec["nodeSelector"]["node-pool"] = pool_name(kind // 4 % POOLS)
        if kind % 7 == 0:
            spec["nodeSelector"]["topology.kubernetes.io/zone"] = f"zone-{kind // 7 % 3}"
        affinity: Object = {}
        if kind % 11 == 0:
            models = [MODELS[kind // 11 % len(MODELS)][0], "H20"]
            term = {"key": "node.koordinator.sh/gpu-model", "operator": "In", "values": models}
            terms = {"nodeSelectorTerms": [{"matchExpressions": [term]}]}
            affinity["nodeAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
        if kind % 17 == 0:
            affinity["podAntiAffinity"] = apart(f"app-{1_000_000 + kind}")
        if kind % 13 == 0:
            spec["topologySpreadConstraints"] = [spread(f"app-{1_000_000 + kind}", "DoNotSchedule")]
        if kind % 20 == 7:  # noqa: PLR2004
            spec["volumes"].append({"name": "data", "persistentVolumeClaim": {"claimName": f"claim-{kind}"}})
        return spec | ({"affinity": affinity} if affinity else {})

    def _spec(self, shape: Shape, requests: dict[str, str], priority: int, tolerations: list[Object]) -> Object:
        token = f"kube-api-access-{self._rng.getrandbits(24):06x}"  # every pod has its own
        spec = dict(shape.spec)
        mount = {"name": token, "mountPath": "/var/run/secrets", "readOnly": True}
        container = dict(spec["containers"][0], resources={"requests": requests, "limits": requests})
        container["volumeMounts"] = [*container["volumeMounts"], mount]
        spec["containers"] = [container]
        spec["volumes"] = [*spec["volumes"], {"name": token, "projected": {"defaultMode": 420, "sources": []}}]
        return spec | {"priority": priority, "tolerations": [*spec["tolerations"], *tolerations]}

    def _pod(
        self,
        pod: Running | Waiting,
        shape: Shape,
        labels: dict[str, str],
        annotations: dict[str, str],
        owner: Object,
        spec: Object,
        status: Object,
    ) -> Object:
        metadata = {
            "name": pod.name,
            "namespace": pod.namespace,
            "uid": uid(self._rng),
            "resourceVersion": str(100_000 + pod.number),
            "creationTimestamp": _created(pod.number),
            "labels": labels,
            "annotations": annotations,
            "ownerReferences": [owner],
            "managedFields": shape.managed,
        }
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def gang_labels(gang: str, number: int) -> dict[str, str]:
    """Return what an operator writes on the pods of a job."""
    return {
        _GANG: gang,
        "training.kubeflow.org/job-name": gang,
        "training.kubeflow.org/operator-name": f"{_OPERATORS[len(gang) % 4]}-controller",
        "training.kubeflow.org/replica-type": "worker",
        "training.kubeflow.org/replica-index": str(number),
    }


def _owner(pod: Running | Waiting) -> Object:
    if pod.gang:
        api, kind, name = "kubeflow.org/v1", "PyTorchJob", pod.gang
    elif isinstance(pod, Waiting):
        api, kind, name = "batch/v1", "Job", pod.name.rpartition("-worker-")[0]
    elif is_stateful(pod.workload):
        api, kind, name = "apps/v1", "StatefulSet", f"db-{pod.workload}"
    else:
        api, kind, name = "apps/v1", "ReplicaSet", pod.name.rpartition("-")[0]
    owner_uid = uid(random.Random(f"{pod.namespace}/{name}"))  # noqa: S311 - data, no secret
    reference = {"apiVersion": api, "kind": kind, "name": name, "uid": owner_uid}
    return reference | {"controller": True, "blockOwnerDeletion": True}


def _created(number: int) -> str:
    return f"2026-10-{number // 86400 % 28 + 1:02}T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}Z"
