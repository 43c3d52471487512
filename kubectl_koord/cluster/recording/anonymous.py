"""Names of a snapshot replaced by others: consistently, in the same order, and by others in each file.

Every text is a name, unless it stands in a field that holds none: a new field is replaced before anybody thinks of it.
"""

import json
import re
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, TypeAlias

from msgspec import structs

from kubectl_koord.cluster import kinds
from kubectl_koord.cluster.recording.keys import written_json
from kubectl_koord.cluster.recording.vocabulary import is_standard
from kubectl_koord.cluster.recording.words import ADDRESS
from kubectl_koord.model.snapshot import Gap, GapCode

Tree: TypeAlias = dict[str, Any]
Rename: TypeAlias = Callable[[str], str]

_MESSAGES = {"message", "note"}
_KEYS = {"key", "topologyKey", "matchLabelKeys", "mismatchLabelKeys", "labelKey"}
_LABELS = {"labels", "matchLabels", "nodeSelector", "reservationSelector", "labelSuffixes"}
_MAPPINGS = {"labelKeysMapping", "annotationKeysMapping"}
_PLAIN = {
    *("allocatable", "capacity", "requests", "limits", "overhead", "used", "min", "max", "maximumVolumeSize"),
    *("resources", "defaultQuotaGroupMax", "systemQuotaGroupMax", "ringBusBandwidth", "resourceVersion", "options"),
    *("kind", "effect", "operator", "phase", "status", "reason", "type", "protocol", "qosClass", "priority"),
    *(
        "mode",
        "state",
        "whenUnsatisfiable",
        "nodeAffinityPolicy",
        "nodeTaintsPolicy",
        "restartPolicy",
        "preemptionPolicy",
    ),
    *("creationTimestamp", "deletionTimestamp", "lastTransitionTime", "updateTime", "renewTime", "acquireTime"),
    *("eventTime", "firstTimestamp", "lastTimestamp", "deprecatedFirstTimestamp", "deprecatedLastTimestamp"),
    *("lastObservedTime", "ttl", "expires", "duration", "allocatePolicy", "applyPolicy", "policy", "topologyPolicies"),
    *(
        "volumeBindingMode",
        "accessModes",
        "volumeMode",
        "allocationMode",
        "driver",
        "drivers",
        "provisioner",
        "attacher",
    ),
    *(
        "expression",
        "attributes",
        "matchAttribute",
        "vendor",
        "model",
        "strategy",
        "allocateStrategy",
        "exclusivePolicy",
    ),
    *("requiredTopologyScope", "requiredScope", "deviceTypes", "resourceNames", "reservedCPUs", "cpuset"),
    *(
        "command",
        "mountPath",
        "args",
        "default",
        "defaultRequest",
        "caBundle",
        "pcieID",
        "busID",
        "usageAggregationType",
        "usageAggregatedDuration",
        "deschedulingInterval",
        "skipEvictionGates",
    ),
    *("probability", "$patch"),
}
"""Fields that hold no name: codes, amounts, times, hardware, drivers."""

_NO_NAMES = {
    *(f"node.koordinator.sh/{name}" for name in ("gpu-model", "gpu-vendor", "cpu-topology", "raw-allocatable")),
    *(f"node.koordinator.sh/{name}" for name in ("resource-amplification-ratio", "system-qos-resource")),
    *(f"scheduling.koordinator.sh/{name}" for name in ("device-joint-allocate", "gpu-partition-spec")),
    *(f"scheduling.koordinator.sh/{name}" for name in ("gpu-partitions", "numa-topology-spec", "resource-spec")),
    *(f"scheduling.koordinator.sh/{name}" for name in ("resource-status", "usage-thresholds")),
    *(f"quota.scheduling.koordinator.sh/{name}" for name in ("shared-weight", "total-resource", "admission")),
    *(
        f"quota.scheduling.koordinator.sh/{name}"
        for name in ("guaranteed", "runtime", "max-strict-check-resource-keys")
    ),
    "kubelet.koordinator.sh/cpu-manager-policy",
}
"""Labels and annotations whose values are amounts, settings or hardware."""

_OTHERWISE: Mapping[str, type] = {"status": dict, "requests": list, "args": dict}
"""Fields of these names that are of another type.

Those of an object, not of a condition; of a claim, not of a container; of a plugin, not of a command line.
"""

_TOKEN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._:/-]*[A-Za-z0-9])?")
_RELEASE = re.compile(r":v?\d+\.\d+(?=[.\-+]|$)[.\d]*")
_SAYS: Mapping[GapCode, str] = {
    "forbidden": "it may not be read",
    "missing": "it is not served",
    "one-namespace": "readable in one namespace only",
    "unavailable": "the server was too busy",
    "not-in-input": "the input contains none",
}


class Anonymous:
    """Gives objects other names.

    `rename` returns the other name of a name, and `names` are whole names for which messages are searched. One that
    returns its argument is told every name: this is how names are collected.
    """

    def __init__(self, rename: Rename, names: AbstractSet[str] = frozenset()) -> None:
        """Keep them."""
        self._rename = rename
        self._names = names

    def name(self, name: str) -> str:
        """Return the other name of a name."""
        return self._rename(name)

    def object(self, kind: str, tree: Tree) -> Tree:
        """Return an object with other names; its fields are those that a snapshot holds."""
        found = self._fields(tree)
        if kind == kinds.NODE_TOPOLOGY.name:
            found["zones"] = tree.get("zones", [])  # they have numbers
        elif kind == kinds.CSI_DRIVER.name:
            found["metadata"]["name"] = tree["metadata"]["name"]  # volumes name drivers
        elif kind == kinds.CONFIG_MAP.name and "data" in tree:
            found["data"] = {name: self._setting(text) for name, text in tree["data"].items()}
        return found

    def gap(self, gap: Gap) -> Gap:
        """Return a gap without the server's words, which name who was refused."""
        namespace = self._rename(gap.namespace)
        return structs.replace(gap, message=f"{gap.kind}: {_SAYS[gap.code]}", namespace=namespace)

    def _setting(self, text: str) -> str:
        """Return a configuration with other names; what cannot be read has none."""
        found = written_json(text)
        return text if found is None else json.dumps(self._fields(found))

    def _fields(self, tree: Tree) -> Tree:
        return {name: self._field(name, part) for name, part in tree.items()}

    def _field(self, name: str, value: Any) -> Any:  # noqa: ANN401 - any JSON value
        if name in _PLAIN and not isinstance(value, _OTHERWISE.get(name, ())):
            return value
        match value:
            case dict():
                return self._object(name, value)
            case list():
                inner = "" if name in _OTHERWISE else name
                return [self._field("" if isinstance(part, dict) else inner, part) for part in value]
            case str():
                return self._text(name, value)
            case _:
                return value

    def _object(self, name: str, value: Tree) -> Tree:
        if name == "annotations":
            return {key: self._annotation(key, text) for key, text in value.items()}
        if name in _MAPPINGS:
            return {self._key(key): self._key(new) for key, new in value.items()}
        if name in _LABELS and "nodeSelectorTerms" not in value:
            return {self._key(key): self._label(key, text) for key, text in value.items()}
        return value if value.get("key") in _NO_NAMES else self._fields(value)

    def _text(self, name: str, value: str) -> str:
        if name in _MESSAGES:
            return _TOKEN.sub(self._token, value)
        if name == "image":
            return self._image(value)
        return self._key(value) if name in _KEYS or name == "apiVersion" else self._rename(value)

    def _key(self, key: str) -> str:
        return key if is_standard(key) or key == "v1" else self._rename(key)

    def _label(self, key: str, value: Any) -> Any:  # noqa: ANN401
        return value if key in _NO_NAMES or not isinstance(value, str) else self._rename(value)

    def _annotation(self, key: str, text: str) -> str:
        found = written_json(text)
        if found is None or (isinstance(found, list) and all(isinstance(one, str) for one in found)):
            return self._rename(text)
        return text if key in _NO_NAMES else json.dumps(self._field("", found), separators=(",", ":"))

    def _token(self, found: re.Match[str]) -> str:
        """Return what stands for a word of a message: another one where it is a name, or has an address."""
        token = found[0]
        is_name = all(part in self._names for part in token.split("/"))
        return self._rename(token) if is_name or ADDRESS.search(token) else token

    def _image(self, image: str) -> str:
        release = _RELEASE.search(image)
        if release is None:
            return self._rename(image)
        return f"{self._rename(image[: release.start()])}{release[0]}{self._rename(image[release.end() :])}"
