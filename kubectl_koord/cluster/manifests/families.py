"""The kinds of workloads, by API group and kind."""

from collections.abc import Mapping

from kubectl_koord.cluster.manifests import builtin, kubeflow, ray, sets, volcano
from kubectl_koord.cluster.manifests.workload import WorkloadKind

FAMILIES: Mapping[tuple[str, str], WorkloadKind] = {
    (one.group, one.kind): one
    for some in (builtin.FAMILIES, kubeflow.FAMILIES, ray.FAMILIES, sets.FAMILIES, volcano.FAMILIES)
    for one in some
}
