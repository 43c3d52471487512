"""How what is not evaluated is named in sentences."""

from collections.abc import Iterable, Mapping
from typing import assert_never

from kubectl_koord.model.unevaluated import (
    AttachedVolume,
    NodeSetting,
    NodeSettingCode,
    OpenQuota,
    PodSetting,
    PodSettingCode,
    QuotaFault,
    QuotaSetting,
    Unevaluated,
    UnreadCards,
    UnreadClaims,
    UnreadLoad,
    UnreadQuotas,
    UnreadReservations,
    UnreadStorage,
    UnreadTopologies,
    UnreadVolume,
    UnreadVolumeLimits,
    WideningCode,
    WideningPodSetting,
)
from kubectl_koord.wording.words import listed

_POD_SETTINGS: Mapping[PodSettingCode | WideningCode, str] = {
    "npu-template": "template of shared NPU resources",
    "resource-claims": "resource claims",
    "scheduling-hint": "scheduling hint",
    "namespace-selector": "namespace selector of an inter-pod affinity",
    "pod-level-resources": "pod-level resources",
}
_QUOTA_FAULTS: Mapping[QuotaFault, str] = {
    "no-parent": "its parent does not exist",
    "cycle": "it is below itself",
    "same-name": "several quotas have this name",
    "same-namespace": "several quotas list the namespace",
}
_QUOTA_SETTINGS = {"hook-plugin": "hook plugin", "feature-gate": "feature gate"}
_NODE_SETTINGS: Mapping[NodeSettingCode, str] = {
    "load-estimates": "estimates of load that pods set themselves",
    "numa-topology-policy": "NUMA policy of nodes with more than 8 zones",
}


def unevaluated_names(items: Iterable[Unevaluated]) -> str:
    """Return `quota team, CPU binding and node settings (NUMA topology policy)`: node settings together, last."""
    items = tuple(items)
    names = [_name(item) for item in items if not isinstance(item, NodeSetting)]
    settings = sorted(_name(item) for item in items if isinstance(item, NodeSetting))
    return listed([*names, *([f"node settings ({listed(settings)})"] if settings else [])])


def _name(item: Unevaluated) -> str:
    match item:
        case OpenQuota(name, fault):
            return f"quota {name} ({_QUOTA_FAULTS[fault]})"
        case QuotaSetting(kind, name):
            return f"{_QUOTA_SETTINGS[kind]} {name} of the scheduler's quotas"
        case UnreadQuotas():
            return "quotas (ElasticQuota objects could not be read)"
        case UnreadCards():
            return "the cards of the nodes (Device objects could not be read)"
        case UnreadLoad():
            return "the measured load of the nodes (NodeMetric objects could not be read)"
        case UnreadTopologies():
            return "the CPUs and NUMA zones of the nodes (NodeResourceTopology objects could not be read)"
        case UnreadReservations():
            return "reservations (Reservation objects could not be read)"
        case UnreadStorage(name, kind):
            return f"volume claim {name} (not bound yet, and {kind} objects could not be read)"
        case UnreadVolume(name):
            return f"volume claim {name} (its volume could not be read)"
        case UnreadVolumeLimits():
            return "how many volumes the nodes can hold (CSINode objects could not be read)"
        case UnreadClaims():
            return "how many volumes the nodes hold already (PersistentVolumeClaim objects could not all be read)"
        case AttachedVolume(name):
            return f"attached volume {name}"
        case PodSetting(code) | WideningPodSetting(code):
            return _POD_SETTINGS[code]
        case NodeSetting(code):
            return _NODE_SETTINGS[code]
        case _:
            assert_never(item)
