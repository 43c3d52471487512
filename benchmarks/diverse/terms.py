"""What pods request, tolerate and keep away from, by their workload or kind."""

from benchmarks.diverse.places import DEDICATED, POOLS, pool_name
from benchmarks.diverse.plan import Running
from benchmarks.generate import GPUS
from benchmarks.shapes import Object

_CPUS = ("250m", "500m", "750m", "1", "1500m", "2", "3", "4", "6")
_MEMORY = ("512Mi", "1Gi", "1536Mi", "2Gi", "4Gi", "6Gi", "8Gi", "12Gi", "16Gi", "24Gi", "32Gi")


def band(workload: int, *, gang: bool = False) -> tuple[int, str]:
    """Return priority and QoS class."""
    if gang:
        return 5000 + workload % 16 * 250, "LS"
    if workload % 10 == 3:  # noqa: PLR2004
        return 5000 + workload % 7 * 100, "BE"
    return 9000 + workload % 12 * 80, "LSR" if workload % 10 == 7 else "LS"  # noqa: PLR2004


def requests_of(pod: Running) -> dict[str, str]:
    """Return what a bound pod requests."""
    workload = pod.workload
    if pod.gang:
        return {"cpu": str(64 + workload % 8), "memory": f"{512 + workload % 8 * 16}Gi", "nvidia.com/gpu": str(GPUS)}
    quality = band(workload)[1]
    memory = _MEMORY[workload % len(_MEMORY)]
    if quality == "BE":
        requests = {"kubernetes.io/batch-cpu": "2k", "kubernetes.io/batch-memory": "4Gi"}
    else:
        requests = {"cpu": "4" if quality == "LSR" else _CPUS[workload % len(_CPUS)], "memory": memory}
    return requests | ({"nvidia.com/gpu": str(pod.gpus)} if pod.gpus else {})


def apart(app: str) -> Object:
    """Return the term that keeps the pods of an app on nodes of their own."""
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": app}}}
    return {"requiredDuringSchedulingIgnoredDuringExecution": [term]}


def spread(app: str, otherwise: str) -> Object:
    """Return the constraint that spreads the pods of an app over zones."""
    return {
        "maxSkew": 2,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": otherwise,
        "labelSelector": {"matchLabels": {"app": app}},
    }


def tolerations(workload: int, *, everywhere: bool) -> list[Object]:
    """Return what a pod tolerates, the taint of its pool or of every pool."""
    found: list[Object] = []
    if everywhere:
        found.append({"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"})
    elif workload % POOLS in DEDICATED:
        value = pool_name(workload % POOLS)
        found.append({"key": "dedicated", "operator": "Equal", "value": value, "effect": "NoSchedule"})
    if workload % 5 == 2:  # noqa: PLR2004
        found.append({"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"})
    if workload % 8 == 6:  # noqa: PLR2004
        found.append({"key": f"maintenance-{workload % 6}", "operator": "Exists"})
    return found
