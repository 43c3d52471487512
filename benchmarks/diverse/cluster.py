"""All lists of a diverse cluster."""

import random
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property

import msgspec

from benchmarks.diverse import places, tables
from benchmarks.diverse.plan import NAMESPACES, Running, Waiting, is_stateful, jobs, running, scale_of, waiting
from benchmarks.diverse.pods import Facts, Pods
from benchmarks.diverse.terms import band
from benchmarks.generate import Large, Size, topology
from benchmarks.shapes import CREATED, Object

_HOME = "koordinator-system"
_SCHEDULING, _SIGS = "/apis/scheduling.koordinator.sh/v1alpha1", "/apis/scheduling.sigs.k8s.io/v1alpha1"
_OWN_CPUS = 4  # of a pod that binds CPUs: two whole cores
_CONFIG = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: koord-scheduler
    pluginConfig:
    - name: LoadAwareScheduling
      args:
        filterExpiredNodeMetrics: false
        nodeMetricExpirationSeconds: 315360000
        resourceWeights: {cpu: 1, memory: 1}
        usageThresholds: {cpu: 65, memory: 95}
        estimatedScalingFactors: {cpu: 85, memory: 70}
    - name: ElasticQuota
      args: {quotaGroupNamespace: koordinator-system}
    - name: Coscheduling
      args: {enablePreemption: true, awareNetworkTopology: true}
"""


class Diverse:
    """A cluster of a size; what depends on where pods are is computed once."""

    def __init__(self, size: Size) -> None:
        """Take the size."""
        self.size = size
        self._scale = scale_of(size)
        self._leaves = tables.tree(self._scale.quotas).leaves

    @cached_property
    def _running(self) -> list[Running]:
        return running(self.size)

    @cached_property
    def _by_node(self) -> dict[int, list[Running]]:
        found = defaultdict(list)
        for pod in self._running:
            found[pod.node].append(pod)
        return found

    @cached_property
    def _reserved(self) -> list[tables.Reserved]:
        plain = {
            node: next(one for one in pods if not one.gpus)
            for node, pods in self._by_node.items()
            if any(not one.gpus for one in pods)
        }
        return tables.reserved(_random(3), self._scale.reservations, self.size.nodes, plain)

    @cached_property
    def _claimed(self) -> list[Running]:
        return [pod for pod in self._running if is_stateful(pod.workload)][: self._scale.claims]

    @cached_property
    def _first_cpu(self) -> dict[int, int]:
        """Return the first CPU of each pod that has CPUs of its own, as far as there are any left."""
        found: dict[int, int] = {}
        for pods in self._by_node.values():
            binding = [pod.number for pod in pods if band(pod.workload, gang=bool(pod.gang))[1] == "LSR"]
            most = places.CORES * 2 // _OWN_CPUS
            found |= {number: 2 * place for place, number in enumerate(binding[:most])}
        return found

    def nodes(self) -> Iterator[bytes]:
        """Yield the nodes."""
        rng = _random(1)
        return (msgspec.json.encode(places.node(rng, number)) for number in range(self.size.nodes))

    def pods(self) -> Iterator[bytes]:
        """Yield the pods, in the order of their names."""
        reserved = {one.owner.number: (one.name, one.uid) for one in self._reserved if one.owner}
        facts = Facts(self._leaves, frozenset(pod.number for pod in self._claimed), reserved)
        made = Pods(_random(2), facts, lambda pod: self._first_cpu.get(pod.number, -1))
        every: list[Running | Waiting] = [*self._running, *waiting(self.size)]
        every.sort(key=lambda pod: (pod.namespace, pod.name))
        return (msgspec.json.encode(made.of(pod)) for pod in every)

    def large(self) -> Iterator[Large]:
        """Yield the other lists that have an object for each node, job or claim."""
        rng, nodes = _random(4), range(self.size.nodes)
        scale = self._scale
        devices = (places.device(rng, number) for number in nodes)
        yield Large(f"{_SCHEDULING}/devices", "DeviceList", map(msgspec.json.encode, devices))
        topologies = (places.topology(rng, number) for number in nodes)
        path = "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies"
        yield Large(path, "NodeResourceTopologyList", map(msgspec.json.encode, topologies))
        metrics = (tables.metric(rng, number, self._by_node.get(number, ())) for number in nodes)
        path = "/apis/slo.koordinator.sh/v1alpha1/nodemetrics"
        yield Large(path, "NodeMetricList", map(msgspec.json.encode, metrics))
        reservations = map(tables.reservation, self._reserved)
        yield Large(f"{_SCHEDULING}/reservations", "ReservationList", map(msgspec.json.encode, reservations))
        quotas = tables.quotas(scale.quotas, tables.used(self._running, self._leaves))
        yield Large(f"{_SIGS}/elasticquotas", "ElasticQuotaList", map(msgspec.json.encode, quotas))
        groups = tables.pod_groups(jobs(self.size), self._held())
        yield Large(f"{_SIGS}/podgroups", "PodGroupList", map(msgspec.json.encode, groups))
        budgets = (tables.budget(pod.namespace, f"app-{pod.workload}") for pod in self._running[:: max(1, self._every)])
        path = "/apis/policy/v1/poddisruptionbudgets"
        yield Large(path, "PodDisruptionBudgetList", map(msgspec.json.encode, _once(budgets)))
        claims = (tables.claim(rng, namespace, name, bound=zone != "") for namespace, name, zone in self._claims())
        yield Large("/api/v1/persistentvolumeclaims", "PersistentVolumeClaimList", map(msgspec.json.encode, claims))
        volumes = (tables.volume(*one) for one in self._claims() if one[2])
        yield Large("/api/v1/persistentvolumes", "PersistentVolumeList", map(msgspec.json.encode, volumes))
        csi = (places.csi_node(rng, number) for number in nodes)
        yield Large("/apis/storage.k8s.io/v1/csinodes", "CSINodeList", map(msgspec.json.encode, csi))

    @property
    def _every(self) -> int:
        """Return of how many bound pods one has its app in a budget."""
        return len(self._running) // self._scale.reservations

    def _held(self) -> list[tuple[str, str, int]]:
        sizes: dict[tuple[str, str], int] = {}
        for pod in self._running:
            if pod.gang:
                sizes[pod.namespace, pod.gang] = sizes.get((pod.namespace, pod.gang), 0) + 1
        return [(namespace, gang, size) for (namespace, gang), size in sizes.items()]

    def _claims(self) -> Iterator[tuple[str, str, str]]:
        """Yield the claims: namespace, name, and the zone of the volume, empty for those that are not bound."""
        wanted = [kind for kind in range(self._scale.kinds) if kind % 20 == 7]  # noqa: PLR2004
        for kind in wanted:
            bound = kind % 40 == 7  # noqa: PLR2004
            yield NAMESPACES[kind % 95], f"claim-{kind}", f"zone-{kind % 3}" if bound else ""
        used = self._claimed[: self._scale.claims - len(wanted)]
        for pod in used:
            yield pod.namespace, f"data-{pod.name}", f"zone-{pod.node // 8 % 3}"
        for number in range(self._scale.claims - len(wanted) - len(used)):  # of pods that are gone
            yield NAMESPACES[number % 96], f"old-{number}", f"zone-{number % 3}"

    def others(self) -> list[Object]:
        """Return what there is one of, or few."""
        args = ["--config=/config/koord-scheduler.config", "--enable-network-topology-manager=true"]
        container = {"name": "scheduler", "image": "example.com/koordinator-sh/koord-scheduler:v1.8.0", "args": args}
        return [
            topology(),
            *({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in NAMESPACES),
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": "koord-scheduler", "namespace": _HOME, "creationTimestamp": CREATED},
                "spec": {"replicas": 1, "template": {"spec": {"containers": [container]}}},
                "status": {"replicas": 1, "readyReplicas": 1, "availableReplicas": 1},
            },
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "koord-scheduler-config", "namespace": _HOME},
                "data": {"koord-scheduler-config": _CONFIG},
            },
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "StorageClass",
                "metadata": {"name": "block-ssd"},
                "provisioner": "block-ssd.csi.example.com",
                "volumeBindingMode": "WaitForFirstConsumer",
            },
        ]


def _random(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 - data, no secret


def _once(budgets: Iterator[Object]) -> Iterator[Object]:
    seen = set()
    for one in budgets:
        name = one["metadata"]["namespace"], one["metadata"]["name"]
        if name not in seen:
            seen.add(name)
            yield one
