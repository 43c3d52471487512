"""Where each setting of a gang stands: on its PodGroup, or, where it has none, on its pods; how it is read and sent.

A field is named as reports print it: an annotation by its key, everything else by its path.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

Value: TypeAlias = str | int | None
Fields: TypeAlias = dict[str, Value]
"""The value of each field; None is absent, or to be removed."""
Where: TypeAlias = Literal["PodGroup", "pods", "labelled-pods"]
"""What defines a gang: `labelled-pods` have their minimum in a label, which wins over the annotation."""

PREFIX = "gang.scheduling.koordinator.sh/"
SPEC = PREFIX + "network-topology-spec"
INDEX = PREFIX + "network-topology-index"
SELECTOR = "scheduling.koordinator.sh/network-topology-selector"
TIMEOUT = "spec.scheduleTimeoutSeconds"
MINIMUM = "spec.minMember"
LABEL = "metadata.labels."
GANG_LABEL = "pod-group.scheduling.sigs.k8s.io"
LIGHT_LABEL = GANG_LABEL + "/name"
MINIMUM_LABEL = "pod-group.scheduling.sigs.k8s.io/min-available"
LIGHT_POLICY = "pod-group.scheduling.sigs.k8s.io/match-policy"

_SPEC_FIELD = "spec."
_NAMES: Mapping[str, str] = {
    "mode": PREFIX + "mode",
    "match-policy": PREFIX + "match-policy",
    "groups": PREFIX + "groups",
    "total": PREFIX + "total-number",
    "topology": SPEC,
    "must-gather": SPEC,
    "prefer-gather": SPEC,
    "multiple": SPEC,
}
_ELSEWHERE: Mapping[Where, Mapping[str, str]] = {
    "PodGroup": {"waiting-time": TIMEOUT, "min-member": MINIMUM},
    "pods": {"waiting-time": PREFIX + "waiting-time", "min-member": PREFIX + "min-available"},
    "labelled-pods": {"waiting-time": PREFIX + "waiting-time", "min-member": LABEL + MINIMUM_LABEL},
}
_OF_ONE_POD = {"index": INDEX, "topology-selector": SELECTOR}


def key_of(name: str, where: Where) -> str:
    """Return the field that one of our names, or a full key, means; empty for one that is no setting of a gang."""
    names = {**_NAMES, **_ELSEWHERE[where]}
    if name in names:
        return names[name]
    is_key = (name.startswith(PREFIX) and name not in {PREFIX, PREFIX + "name"}) or name == LIGHT_POLICY
    return name if is_key or name in names.values() else ""


def pod_key_of(name: str) -> str:
    """Return the annotation of one pod that a name, or a full key, means; empty for another."""
    return _OF_ONE_POD.get(name, name if name in _OF_ONE_POD.values() else "")


def value(written: Mapping[str, Any], field: str) -> Value:
    """Return what a field of an object is, as it came from the API server."""
    metadata = mapping(written.get("metadata"))
    if field.startswith(LABEL):
        found = mapping(metadata.get("labels")).get(field.removeprefix(LABEL))
    elif field.startswith(_SPEC_FIELD):
        found = mapping(written.get("spec")).get(field.removeprefix(_SPEC_FIELD)) or None  # 0 is absent for Go
    else:
        found = mapping(metadata.get("annotations")).get(field)
    return found if isinstance(found, str | int) or found is None else str(found)


def mapping(found: object) -> Mapping[str, Any]:
    """Return what is a mapping as it is, and an empty one for anything else."""
    return found if isinstance(found, dict) else {}


def merge_patch(fields: Mapping[str, Value], resource_version: str) -> dict[str, Any]:
    """Return the JSON merge patch that gives the fields these values, and nobody newer's."""
    metadata: dict[str, Any] = {"resourceVersion": resource_version} if resource_version else {}
    patch: dict[str, Any] = {"metadata": metadata}
    for field, wanted in fields.items():
        if field.startswith(LABEL):
            metadata.setdefault("labels", {})[field.removeprefix(LABEL)] = wanted
        elif field.startswith(_SPEC_FIELD):
            patch.setdefault("spec", {})[field.removeprefix(_SPEC_FIELD)] = wanted
        else:
            metadata.setdefault("annotations", {})[field] = wanted
    return patch


def put(written: Mapping[str, Any], fields: Mapping[str, Value]) -> dict[str, Any]:
    """Return an object with these fields, as the API server would merge them."""
    return _merged(written, merge_patch(fields, ""))


def _merged(old: Any, patch: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ANN401 - any JSON value
    result = dict(old) if isinstance(old, dict) else {}
    for key, wanted in patch.items():
        if wanted is None:
            result.pop(key, None)
        else:
            result[key] = _merged(result.get(key), wanted) if isinstance(wanted, dict) else wanted
    return result
