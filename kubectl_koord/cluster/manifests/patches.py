"""Strategic merge patches of what is read of a pod."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import structs

from kubectl_koord.cluster.manifests.workload import TemplateSpec
from kubectl_koord.cluster.objects.fields.meta import Meta

_KEYS = {
    "volumes": "name",
    "topologySpreadConstraints": "topologyKey",
    "schedulingGates": "name",
    "resourceClaims": "name",
}
"""Lists of a pod's spec that are merged, by what tells their items apart; all others but containers are replaced."""
_CONTAINERS = {"containers", "initContainers"}


def is_evaluated(patch: Mapping[str, Any]) -> bool:
    """Tell whether a patch neither changes containers, whose names are not read, nor has directives."""
    spec = patch.get("spec")
    return not (isinstance(spec, dict) and _CONTAINERS & spec.keys()) and not any(
        key.startswith("$") for key in _keys(patch)
    )


def _keys(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _keys(part)


def patched(meta: Meta, spec: TemplateSpec, patch: Mapping[str, Any]) -> tuple[Meta, TemplateSpec]:
    """Return the labels and annotations, and the spec, of a pod with a patch.

    Raises:
        msgspec.ValidationError: when it makes a field something else.

    """
    before = {
        "metadata": {"labels": meta.labels or {}, "annotations": meta.annotations or {}},
        "spec": msgspec.to_builtins(spec),
    }
    after = _merged(before, patch)
    said = msgspec.convert(after.get("metadata") or {}, Meta)
    return (
        structs.replace(meta, labels=said.labels, annotations=said.annotations),
        msgspec.convert(after.get("spec") or {}, TemplateSpec),
    )


def _merged(before: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(before)
    for name, value in patch.items():
        if value is None:
            found.pop(name, None)
        elif isinstance(value, dict) and isinstance(found.get(name), dict):
            found[name] = _merged(found[name], value)
        elif isinstance(value, list) and name in _KEYS and isinstance(found.get(name), list):
            found[name] = _items(found[name], value, _KEYS[name])
        else:
            found[name] = value
    return found


def _items(before: list[Any], patch: list[Any], key: str) -> list[Any]:
    """Return the items of a list merged by their key; new ones come last."""
    found = {one.get(key): one for one in before}
    for one in patch:
        name = one.get(key) if isinstance(one, dict) else None
        found[name] = _merged(found[name], one) if name in found else one
    return [*found.values()]
