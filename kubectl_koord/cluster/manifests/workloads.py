"""Workloads as what could become gangs: their pods, and where the templates of these stand."""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

import msgspec

from kubectl_koord.cluster.manifests.documents import Head
from kubectl_koord.cluster.manifests.families import FAMILIES
from kubectl_koord.cluster.manifests.workload import Made, Set
from kubectl_koord.errors import KoordError
from kubectl_koord.model.workloads import Keys, Template, Workload

_OF_SERVER = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid")
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_OF_JOB = (
    "batch.kubernetes.io/controller-uid",
    "batch.kubernetes.io/job-name",
    "controller-uid",
    "job-name",
)
"""Labels that the server gives the templates of Jobs, which a new one must not have."""
_VERSIONS: Mapping[str, tuple[str, ...]] = {
    "batch": ("v1",),
    "apps": ("v1",),
    "kubeflow.org": ("v2beta1", "v1"),
    "ray.io": ("v1",),
    "jobset.x-k8s.io": ("v1alpha2",),
    "leaderworkerset.x-k8s.io": ("v1",),
    "sparkoperator.k8s.io": ("v1beta2",),
    "trainer.kubeflow.org": ("v1alpha1",),
    "batch.volcano.sh": ("v1alpha1",),
}
IMMUTABLE = frozenset({"Job", "JobSet", "RayJob"})
"""The kinds whose pod templates cannot be changed once they are there."""


def paths_of(kind: str, namespace: str) -> Iterator[str]:
    """Yield where the objects of a kind of workload may be listed; none for what is no such kind."""
    wanted = kind.lower()
    for group, name in FAMILIES:
        if wanted in {name.lower(), f"{name.lower()}s"}:
            for version in _VERSIONS[group]:
                yield f"/apis/{group}/{version}/namespaces/{quote(namespace, safe='')}/{name.lower()}s"


def as_created(written: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object without what the server wrote, so that it can be created anew."""
    found = {key: value for key, value in written.items() if key != "status"}
    meta = {key: value for key, value in written["metadata"].items() if key not in _OF_SERVER}
    notes = {key: value for key, value in (meta.get("annotations") or {}).items() if key != _LAST_APPLIED}
    meta["annotations"] = notes
    found["metadata"] = {key: value for key, value in meta.items() if value or key != "annotations"}
    spec = found.get("spec")
    if found.get("kind") == "Job" and isinstance(spec, dict) and not spec.get("manualSelector"):
        found["spec"] = _new_job(spec)
    return found


def _new_job(spec: Mapping[str, Any]) -> dict[str, Any]:
    template = spec.get("template") or {}
    meta = template.get("metadata") or {}
    labels = {key: value for key, value in (meta.get("labels") or {}).items() if key not in _OF_JOB}
    kept = {key: value for key, value in meta.items() if key not in {"labels", "creationTimestamp"}}
    metadata = {**kept, "labels": labels} if labels else kept
    own = {key: value for key, value in template.items() if key != "metadata"} | (
        {"metadata": metadata} if metadata else {}
    )
    return {key: value for key, value in spec.items() if key not in {"selector", "template"}} | {"template": own}


def workload(written: Any, namespace: str) -> Workload | None:  # noqa: ANN401 - any object
    """Return what an object is of which pods are made, None for any other.

    Args:
        written: the object.
        namespace: that of objects which name none.

    Raises:
        KoordError: naming the object and the field that cannot be read.

    """
    try:
        head = msgspec.convert(written, Head)
        family = FAMILIES.get((head.api_version.rpartition("/")[0], head.kind))
        if family is None:
            return None
        name = head.metadata.name
        bare = Workload(head.kind, head.metadata.namespace or namespace, name or head.metadata.generate_name)
        if not name:
            return msgspec.structs.replace(bare, obstacle="no-name")
        decoded = msgspec.convert(written, family.wire_type)
        owner = next((one for one in decoded.metadata.owner_references or () if one.controller), None)
        if owner is not None:
            return msgspec.structs.replace(bare, obstacle="owned", detail=f"{owner.kind} {owner.name}")
        if family.basis is not None:
            return msgspec.structs.replace(bare, obstacle="from-runtime")
        return _gang(bare, family.made(name, decoded))
    except msgspec.ValidationError as problem:
        raise KoordError(f"error: {problem}") from None


def _gang(bare: Workload, made: Made) -> Workload:
    if made.of_another:
        return msgspec.structs.replace(bare, obstacle="of-another-scheduler")
    if made.in_turn:
        return msgspec.structs.replace(bare, obstacle="in-turn", detail=made.in_turn)
    pods = least = 0
    templates: dict[Keys, Template] = {}
    for one in made.sets:
        if one.at:
            templates.setdefault(one.at, _template(one))
        if not one.come_later:
            pods += one.count
            least += one.count if one.least is None else min(one.least, one.count)
    if not pods:
        return msgspec.structs.replace(bare, obstacle="no-pods")
    minimum = least if made.minimum is None else made.minimum
    return msgspec.structs.replace(bare, pods=pods, minimum=max(minimum, 1), templates=tuple(templates.values()))


def _template(one: Set) -> Template:
    within: Keys = () if one.is_flat else ("metadata",)
    spec: Keys = () if one.is_flat else ("spec",)
    return Template((*one.at, *within, "labels"), (*one.at, *spec, "schedulerName"), is_member=not one.come_later)
