"""What ClusterColocationProfiles change of pods that are made, and Koordinator's webhook with them.

Mirrors pkg/webhook/pod/mutating/cluster_colocation_profile.go with the gates of koord-manager as they are by default.
"""

import re
from collections.abc import Callable, Iterable, Mapping

import msgspec
from msgspec import Struct, structs

from kubectl_koord.cluster.manifests import patches
from kubectl_koord.cluster.manifests.defaults import RefusedError
from kubectl_koord.cluster.manifests.workload import TemplateSpec
from kubectl_koord.cluster.objects.fields.amounts import Amounts
from kubectl_koord.cluster.objects.fields.meta import Meta, strings
from kubectl_koord.cluster.objects.fields.selectors import Expression, LabelSelector, label_selector
from kubectl_koord.cluster.objects.koordinator.colocation import ColocationProfile, ProfileSpec
from kubectl_koord.cluster.objects.pods.fields import Container, Pod, ResourceRequirements
from kubectl_koord.cluster.objects.pods.requests import priority_class
from kubectl_koord.model.unevaluated import OpenProfile, OpenProfileCode
from kubectl_koord.model.values import quantity
from kubectl_koord.model.values.selectors import matches

_KEEPS_RESOURCES = "config.koordinator.sh/skip-update-resources"
_QOS, _PRIORITY = "koordinator.sh/qosClass", "koordinator.sh/priority"
_TRANSLATED = {"koord-batch": "kubernetes.io/batch-", "koord-mid": "kubernetes.io/mid-"}
_PERCENT = re.compile(r"[+-]?[0-9]{1,9}%", re.ASCII)
_ALWAYS = 99
"""A profile is skipped where a number below 100 is above its probability."""

Prioritised = Callable[[TemplateSpec, str], TemplateSpec]
"""Returns a spec with the priority of a class; raises RefusedError."""


class Changed(Struct, frozen=True):
    """A pod as profiles leave it; `open` are those of which that cannot be told."""

    meta: Meta
    spec: TemplateSpec
    open: tuple[OpenProfile, ...] = ()


def changed(
    meta: Meta,
    spec: TemplateSpec,
    profiles: Iterable[ColocationProfile],
    namespace: Mapping[str, str] | None,
    prioritised: Prioritised,
) -> Changed:
    """Return a pod as profiles leave it: as it is where none is for it.

    Args:
        meta: what the pod is called and labelled.
        spec: the rest of it.
        profiles: all that there are.
        namespace: the labels of its namespace, None where they could not be read.
        prioritised: gives a spec the priority of a class.

    Raises:
        RefusedError: when the pod is refused.

    """
    labels = dict(strings(meta.labels))
    matched, opened = [], []
    for profile in sorted(profiles, key=lambda one: one.metadata.name):
        name, wanted = profile.metadata.name, profile.spec
        if not _selects(wanted.selector, labels):
            continue
        if namespace is None and wanted.namespace_selector not in (None, LabelSelector()):
            opened.append(OpenProfile(name, "namespaces"))
        elif _selects(wanted.namespace_selector, namespace or {}):
            matched.append(profile)
    if not matched:
        return Changed(meta, spec, tuple(opened))
    for profile in matched:
        percent = _percent(profile)
        why = _open(profile.spec, percent)
        if why is not None:
            opened.append(OpenProfile(profile.metadata.name, why))
        elif percent > 0:
            meta, spec = _applied(profile, meta, spec, prioritised)
    if not any(_KEEPS_RESOURCES in (profile.metadata.annotations or {}) for profile in matched):
        spec = _translated(spec, _TRANSLATED.get(priority_class(Pod(meta, spec)), ""))
    return Changed(meta, spec, tuple(opened))


def _selects(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """Tell whether a selector holds; none does, and one that cannot be read counts as if it did."""
    if selector is None or not all(map(_is_readable, selector.match_expressions or ())):
        return True
    found = label_selector(selector)
    return found is not None and matches(found, dict(labels))


def _is_readable(expression: Expression) -> bool:
    if expression.operator in {"In", "NotIn"}:
        return bool(expression.values)
    return expression.operator in {"Exists", "DoesNotExist"} and not expression.values


def _percent(profile: ColocationProfile) -> int:
    """Return how probable it is that a profile is applied to a pod, in percent."""
    written = profile.spec.probability
    if isinstance(written, str):
        if not _PERCENT.fullmatch(written):
            raise RefusedError(f"ClusterColocationProfile {profile.metadata.name!r}: probability {written!r}")
        return int(written[:-1])
    return _ALWAYS if written is None else written


def _open(spec: ProfileSpec, percent: int) -> OpenProfileCode | None:
    """Return why it cannot be told what a profile does, None where it can."""
    if 0 < percent < _ALWAYS:
        return "probability"
    if percent <= 0:
        return None
    mappings = (spec.label_keys_mapping or {}, spec.annotation_keys_mapping or {})
    if any(not set(one).isdisjoint(one.values()) or len({*one.values()}) < len(one) for one in mappings):
        return "mapping"
    return None if patches.is_evaluated(spec.patch or {}) else "patch"


def _applied(
    profile: ColocationProfile, meta: Meta, spec: TemplateSpec, prioritised: Prioritised
) -> tuple[Meta, TemplateSpec]:
    """Return a pod with what a profile sets (`doMutateByColocationProfile`)."""
    wanted = profile.spec
    labels = {**(meta.labels or {}), **(wanted.labels or {})}
    labels |= {new: labels.get(old) for old, new in (wanted.label_keys_mapping or {}).items()}
    labels |= {key: f"{labels[key] or ''}{end}" for key, end in (wanted.label_suffixes or {}).items() if key in labels}
    annotations = {**(meta.annotations or {}), **(wanted.annotations or {})}
    annotations |= {new: annotations.get(old) for old, new in (wanted.annotation_keys_mapping or {}).items()}
    if wanted.qos_class:
        labels[_QOS] = wanted.qos_class
    if wanted.koordinator_priority is not None:
        labels[_PRIORITY] = str(wanted.koordinator_priority)
    meta = structs.replace(meta, labels=labels, annotations=annotations)
    if wanted.scheduler_name:
        spec = structs.replace(spec, scheduler_name=wanted.scheduler_name)
    name = profile.metadata.name
    try:
        spec = prioritised(spec, wanted.priority_class_name) if wanted.priority_class_name else spec
        return patches.patched(meta, spec, wanted.patch) if wanted.patch else (meta, spec)
    except (RefusedError, msgspec.ValidationError) as problem:
        raise RefusedError(f"ClusterColocationProfile {name!r}: {problem}") from None


def _translated(spec: TemplateSpec, prefix: str) -> TemplateSpec:
    """Return a spec with CPU and memory under the names of batch or mid resources (`mutatePodResourceSpec`)."""
    if not prefix:
        return spec
    return structs.replace(
        spec,
        containers=[_container(one, prefix) for one in spec.containers or ()],
        init_containers=[_container(one, prefix) for one in spec.init_containers or ()],
        overhead=_amounts(spec.overhead, prefix),
    )


def _container(written: Container, prefix: str) -> Container:
    own = written.resources or ResourceRequirements()
    limits = _amounts(own.limits, prefix)
    requests = _amounts(own.requests, prefix) or {}
    more = {name: amount for name, amount in (limits or {}).items() if name.startswith(prefix)}
    return structs.replace(
        written, resources=structs.replace(own, limits=limits, requests={**more, **requests} or None)
    )


def _amounts(written: Amounts | None, prefix: str) -> Amounts | None:
    if written is None:
        return None
    found = {name: amount for name, amount in written.items() if name not in {"cpu", "memory"}}
    if "cpu" in written:
        found[f"{prefix}cpu"] = quantity.milli(quantity.parse(written["cpu"]))
    if "memory" in written:
        found[f"{prefix}memory"] = written["memory"]
    return found
