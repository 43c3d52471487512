"""How what is not evaluated is named in sentences."""

from collections.abc import Iterable, Mapping, Sequence
from typing import assert_never

from kubectl_koord.model.settings import SetOtherwise
from kubectl_koord.model.unevaluated import (
    AddedAffinity,
    AttachedVolume,
    ClaimFeature,
    ForeignPlugin,
    IdleClaim,
    IgnoredResource,
    IncompletePool,
    NodeSetting,
    NodeSettingCode,
    OpenCards,
    OpenCardsCode,
    OpenClaim,
    OpenExtender,
    OpenGate,
    OpenPlugin,
    OpenProfile,
    OpenProfileCode,
    OpenQuota,
    OpenSetting,
    OpenToleration,
    OtherProfile,
    PodSetting,
    PodSettingCode,
    QuotaFault,
    QuotaSetting,
    Unevaluated,
    UnreadAttachments,
    UnreadCards,
    UnreadClaims,
    UnreadDevices,
    UnreadLoad,
    UnreadNamespaces,
    UnreadQuotas,
    UnreadReservations,
    UnreadRuntimeClass,
    UnreadScheduler,
    UnreadStorage,
    UnreadTopologies,
    UnreadVolume,
    UnreadVolumeLimits,
    WideningClaim,
    WideningCode,
    WideningPodSetting,
)
from kubectl_koord.wording.words import listed

_OF_SCHEDULER = {
    "whether the scheduler is active": "Lease",
    "the scheduler's flags": "Deployment",
    "the scheduler's configuration": "ConfigMap",
}
_POD_SETTINGS: Mapping[PodSettingCode | WideningCode, str] = {
    "npu-template": "template of shared NPU resources",
    "scheduling-hint": "scheduling hint",
    "unknown-numa-policy": "a NUMA policy of the pods that the scheduler does not know and may crash on",
    "default-storage-class": "default StorageClass for a volume claim",
    "resource-claim-template": "template of resource claims",
    "exclusive-topology": "exclusive placement by topology",
    "volume-claim-policy": "volume claim policies of a JobSet",
    "resource-quota-scope": "scopes of a ResourceQuota",
    "exclusive-node-selector": "exclusive placement by node selectors",
    "training-runtime": "the training runtime of a TrainJob (it was not read: give it with a further -f)",
    "training-runtime-patches": "runtimePatches of a TrainJob",
}
_CLAIM_FEATURES: Mapping[ClaimFeature, str] = {
    "selector": "CEL selector",
    "attribute": "devices on which its CEL selectors fail",
    "constraints": "constraints between devices",
    "all-devices": "requests for all devices that have to share an attribute, or are more than 32",
    "every-alternative": "requests for all devices as an alternative",
    "admin-access": "administrative access beside other claims",
    "beside-allocated": "claims that are allocated and claims that are not, for which 1.8 may fail to rank nodes",
    "prioritized-list": "requests with alternatives",
    "capacity": "capacity requests",
    "shared-device": "devices that several claims may share",
    "counters": "partitionable devices",
    "taints": "device taints",
    "binding-conditions": "devices with binding conditions",
    "node-selection": "devices that nodes share",
}
_QUOTA_FAULTS: Mapping[QuotaFault, str] = {
    "no-parent": "its parent does not exist",
    "cycle": "it is below itself",
    "same-name": "several quotas have this name",
    "same-namespace": "several quotas list the namespace",
}
_QUOTA_SETTINGS = {"hook-plugin": "hook plugin", "feature-gate": "feature gate"}
_PROFILES: Mapping[OpenProfileCode, str] = {
    "unread": "no right to list clustercolocationprofiles.config.koordinator.sh",
    "namespaces": "Namespace objects could not be read",
    "probability": "it changes some pods, at random",
    "mapping": "it maps keys onto each other",
    "patch": "its patch changes containers, or has directives",
}
_CARDS: Mapping[OpenCardsCode, str] = {
    "unread": "no right to list mutatingwebhookconfigurations.admissionregistration.k8s.io",
    "version": "without koordinator.sh/gpu.shared 1.7 and 1.8 ask for other cards than later versions",
}
_NODE_SETTINGS: Mapping[NodeSettingCode, str] = {
    "load-estimates": "estimates of load for a time after pods are initialized",
    "load-thresholds": "thresholds of load for other resources than CPU and memory",
    "numa-topology-policy": "NUMA policy of nodes with more than 8 zones",
    "unknown-numa-policy": (
        "labels with a NUMA policy that the scheduler does not know and may crash on: see 'kubectl koord doctor'"
    ),
}


def depends_on(items: Iterable[Unevaluated]) -> str:
    """Return that the answer depends on what is not evaluated."""
    return f"it depends on {unevaluated_names(items)}, which is not evaluated."


def unevaluated_names(items: Iterable[Unevaluated]) -> str:
    """Return `quota team, CPU binding and node settings (NUMA topology policy)`: node settings together, last."""
    items = tuple(items)
    names = [_name(item) for item in items if not isinstance(item, NodeSetting)]
    settings = sorted(_name(item) for item in items if isinstance(item, NodeSetting))
    return listed([*names, *([f"node settings ({listed(settings)})"] if settings else [])])


def setting_name(kind: str, name: str) -> str:
    """Return how a setting of the scheduler is called: `feature gate X`, `flag --x`, `argument Plugin.x`."""
    return f"{kind} {'--' if kind == 'flag' else ''}{name}"


def settings_left_out(settings: Iterable[SetOtherwise]) -> str:
    """Return the warning that the scheduler is told what is not evaluated."""
    settings = tuple(settings)
    decide = [setting_name(one.kind, one.name) for one in settings if one.known]
    unknown = [setting_name(one.kind, one.name) for one in settings if not one.known]
    told = [f"{listed(decide)}, which may decide and is not evaluated"] if decide else []
    told += [f"{listed(unknown)}, which is not known here for its version"] if unknown else []
    return f"the scheduler has {'; and '.join(told)}."


def _of_setting(item: OpenGate | OpenSetting | OpenToleration | ForeignPlugin) -> str:
    if isinstance(item, ForeignPlugin):
        return f"plugin {item.name} of the scheduler, which is neither Kubernetes' nor Koordinator's"
    if isinstance(item, OpenToleration):
        how = "the API server adds it with ExtendedResourceToleration, or the template"
        return f"a toleration of taint {item.key} ({how})"
    if isinstance(item, OpenGate):
        return f"{setting_name('feature gate', item.name)} of the scheduler"
    return f"{setting_name(item.kind, item.name)} of the scheduler{'' if item.known else ' (not known here)'}"


def _of_scheduler(kinds: Sequence[str]) -> str:
    parts = [part for part, of in _OF_SCHEDULER.items() if of in kinds]
    return f"{listed(parts)} ({listed(kinds)} objects could not be read)"


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
        case UnreadScheduler(kinds):
            return _of_scheduler(kinds)
        case UnreadReservations():
            return "reservations (Reservation objects could not be read)"
        case UnreadNamespaces():
            return "namespace selectors of inter-pod affinities (Namespace objects could not be read)"
        case UnreadStorage(name, kind):
            return f"volume claim {name} (not bound yet, and {kind} objects could not be read)"
        case UnreadVolume(name):
            return f"volume claim {name} (its volume could not be read)"
        case UnreadVolumeLimits():
            return "how many volumes the nodes can hold (CSINode objects could not be read)"
        case UnreadAttachments():
            return "which volumes are attached to the nodes (VolumeAttachment objects could not be read)"
        case UnreadClaims():
            return "how many volumes the nodes hold already (PersistentVolumeClaim objects could not all be read)"
        case OpenClaim(name, feature, detail):
            told = f" {detail}" if detail else ""
            return f"resource claim {name} ({_CLAIM_FEATURES[feature]}{told})"
        case WideningClaim(name, feature):
            return f"resource claim {name} ({_CLAIM_FEATURES[feature]})"
        case IdleClaim(name):
            return f"resource claim {name} (no other pod uses it: the scheduler may release it)"
        case IncompletePool(driver, pool):
            return f"device pool {pool} of driver {driver} (not all of its ResourceSlices are there)"
        case UnreadDevices(kind):
            return f"resource claims ({kind} objects could not all be read)"
        case AttachedVolume(name):
            return f"attached volume {name}"
        case UnreadRuntimeClass(name):
            return f"RuntimeClass {name} (RuntimeClass objects could not be read)"
        case OpenProfile(name, code):
            return f"ClusterColocationProfile{f' {name}' if name else 's'} ({_PROFILES[code]})"
        case OpenGate() | OpenSetting() | OpenToleration() | ForeignPlugin():
            return _of_setting(item)
        case AddedAffinity():
            return "the node affinity that the scheduler adds to that of every pod (addedAffinity)"
        case IgnoredResource(name):
            return f"resource {name}, of which the scheduler ignores whether a node has enough"
        case OpenExtender():
            return "an extender of the scheduler"
        case OtherProfile(name):
            return f"profile {name} of the scheduler, whose settings differ from those of the first"
        case OpenPlugin(name, points):
            return f"plugin {name} of the scheduler, which its profile does not enable at {listed(points)}"
        case OpenCards(code):
            return f"what Koordinator's webhook makes of parts of GPUs ({_CARDS[code]})"
        case PodSetting(code) | WideningPodSetting(code):
            return _POD_SETTINGS[code]
        case NodeSetting(code):
            return _NODE_SETTINGS[code]
        case _:
            assert_never(item)
