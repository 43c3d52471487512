"""The labels and annotations that are kept: those that are read by name, and those that selectors refer to."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

_GANG = "gang.scheduling.koordinator.sh/"
_POD_GROUP = "pod-group.scheduling.sigs.k8s.io"
_SCHEDULING = "scheduling.koordinator.sh/"
_NODE = "node.koordinator.sh/"
_QUOTA = "quota.scheduling.koordinator.sh/"

PRESENT = frozenset(
    {
        f"{_SCHEDULING}scheduling-hint",
        f"internal.{_SCHEDULING}scheduling-hint",
    }
)
"""Annotations of which only counts that they are there."""

_OF_PLACES = re.compile(
    r"(?:fabric|accelerator)\.topograph\.run/.+|network\.topology\.(?:nvidia\.com|kubernetes\.io)/.+"
    r"|topology\.kubernetes\.io/(?:region|zone|rack|network-level-\d+)|topology\.k8s\.aws/.+"
    r"|cloud\.google\.com/gce-topology-.+|oci\.oraclecloud\.com/(?:rdma|host)\..+"
    r"|alibabacloud\.com/(?:point-of-delivery|asw-id)|(?:backend|ib)\.coreweave\.cloud/.+|topology\.nebius\.com/.+"
    r"|volcano\.sh/(?:hypercluster|hypernode|tor)|cloud\.provider\.com/topology-.+"
    r"|nvidia\.com/gpu\.(?:clique|present)|node-role\.kubernetes\.io/(?:control-plane|master)"
)


def of_place(key: str) -> bool:
    """Tell whether a node's label is one that tools and clouds set for where it is, or what it is for."""
    return _OF_PLACES.fullmatch(key) is not None


READ = PRESENT | {
    _POD_GROUP,
    *(f"{_POD_GROUP}/{name}" for name in ("name", "match-policy", "min-available")),
    "scheduling.x-k8s.io/pod-group",
    "scheduling.k8s.io/group-name",
    *(
        _GANG + name
        for name in (
            *("name", "groups", "mode", "match-policy", "min-available", "total-number", "waiting-time"),
            *("network-topology-spec", "network-topology-index"),
        )
    ),
    *(
        _SCHEDULING + name
        for name in (
            *("device-allocated", "device-allocate-hint", "device-joint-allocate", "gpu-partition-spec"),
            *("gpu-partitions", "exact-match-reservation", "operating-mode", "reservation-affinity"),
            "scheduler-name",
            *("reservation-allocated", "reservation-ignored", "reservation-order", "reservation-owners"),
            "reservation-current-owner",
            *("reservation-restricted-options", "network-topology-selector", "numa-topology-spec"),
            *("resource-spec", "resource-status", "usage-thresholds", "disable-preemptible", "questioned-object-key"),
            *("load-estimated-scaling-factors", "load-estimated-seconds-after-pod-scheduled"),
            "load-estimated-seconds-after-initialized",
        )
    ),
    *(
        _NODE + name
        for name in (
            *("reservation", "cpu-topology", "pod-cpu-allocs", "raw-allocatable", "resource-amplification-ratio"),
            *("system-qos-resource", "cpu-bind-policy", "numa-topology-policy", "numa-allocate-strategy"),
            *("gpu-model", "gpu-vendor", "gpu-partition-policy", "secondary-device-well-planned"),
        )
    ),
    "kubelet.koordinator.sh/cpu-manager-policy",
    *(
        _QUOTA + name
        for name in (
            *("name", "parent", "preemptible", "allow-lent-resource", "is-parent", "is-root", "tree-id", "profile"),
            *("ignore-default-tree", "shared-weight", "total-resource", "namespaces", "admission", "guaranteed"),
            *("runtime", "max-strict-check-resource-keys", "allow-force-update"),
        )
    ),
    *(f"koordinator.sh/{name}" for name in ("qosClass", "priority", "priority-class", "gpu-isolation-provider")),
    "config.koordinator.sh/skip-update-resources",
    "kubernetes.io/hostname",
    "koord-app",
    *(
        f"{domain}/{name}"
        for domain in ("topology.kubernetes.io", "failure-domain.beta.kubernetes.io")
        for name in ("zone", "region")
    ),
    "volume.beta.kubernetes.io/storage-class",
    "volume.kubernetes.io/selected-node",
    "pv.kubernetes.io/bind-completed",
}
"""Labels and annotations that objects are read for; a test compares them with the modules that read objects."""

_OF_KEYS = ("matchLabelKeys", "mismatchLabelKeys", "labelKey")
_OF_LABELS = ("matchLabels", "reservationSelector", "nodeSelector", "labelKeysMapping", "labelSuffixes")
_OF_EXPRESSIONS = ("matchExpressions", "matchLabelExpressions")
_TELLING = frozenset(("topologyKey", "annotations", *_OF_KEYS, *_OF_LABELS, *_OF_EXPRESSIONS))
_MAY_TELL = re.compile("|".join((r"\\", *(f'"{name}"' for name in sorted(_TELLING)))))
_BRANCHES = (dict, list)


def referred(tree: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON value
    """Yield the keys of labels that selectors, affinities, spreads and topology layers of an object refer to."""
    branches = [tree] if isinstance(tree, _BRANCHES) else []
    while branches:  # by a list of its own: most of a snapshot's time goes here
        branch = branches.pop()
        parts = branch.values() if isinstance(branch, dict) else branch
        branches += [part for part in parts if isinstance(part, _BRANCHES)]
        if isinstance(branch, dict):
            for name in _TELLING & branch.keys():
                yield from _keys(name, branch[name])


def _keys(name: str, part: Any) -> Iterator[str]:  # noqa: ANN401
    """Yield the keys that a field itself names."""
    match part:
        case str() if name == "topologyKey":
            yield part
        case list() if name in _OF_KEYS:
            yield from (key for key in part if isinstance(key, str))
        case list() if name in _OF_EXPRESSIONS:
            yield from (one["key"] for one in part if isinstance(one, dict) and isinstance(one.get("key"), str))
        case dict() if name in _OF_LABELS:
            yield from part
        case dict() if name == "annotations":
            yield from _within(part[key] for key in READ & part.keys())


def _within(annotations: Iterable[Any]) -> Iterator[str]:
    for written in annotations:
        if isinstance(written, str) and _MAY_TELL.search(written):
            yield from referred(written_json(written))


def written_json(text: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return what a text holds that is a JSON object or list, None where it is none."""
    if not isinstance(text, str) or text.lstrip()[:1] not in {"{", "["}:
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None
