"""The kinds that manifests may have: of workloads, and of what decides about pods, by API group and kind."""

from collections.abc import Mapping
from typing import Any

from kubectl_koord.cluster import kinds
from kubectl_koord.cluster.kind import Kind
from kubectl_koord.cluster.manifests import builtin, kubeflow, ray, sets, spark, trainer, volcano
from kubectl_koord.cluster.manifests.workload import WorkloadKind

FAMILIES: Mapping[tuple[str, str], WorkloadKind] = {
    (one.group, one.kind): one
    for family in (builtin, kubeflow, ray, sets, spark, trainer, volcano)
    for one in family.FAMILIES
}

_TAKEN = (
    kinds.POD_GROUP,
    kinds.ELASTIC_QUOTA,
    kinds.RESERVATION,
    kinds.DISRUPTION_BUDGET,
    kinds.VOLUME_CLAIM,
    kinds.VOLUME,
    kinds.STORAGE_CLASS,
    kinds.RESOURCE_CLAIM,
    kinds.PRIORITY_CLASS,
    kinds.LIMIT_RANGE,
    kinds.RESOURCE_QUOTA,
    kinds.RUNTIME_CLASS,
    kinds.NAMESPACE,
    kinds.COLOCATION_PROFILE,
    kinds.TRAINING_RUNTIME,
    kinds.CLUSTER_TRAINING_RUNTIME,
)
OBJECTS: Mapping[tuple[str, str], Kind[Any, Any]] = {(kind.group, kind.name): kind for kind in _TAKEN}
"""Objects that are taken as they are: what is submitted with pods and decides about them."""
