"""Changes to PodGroups as they stand in manifests, without a cluster to check names against."""

from collections.abc import Mapping
from typing import Any

from kubectl_koord.changes.planning import change_of
from kubectl_koord.changes.settings import MINIMUM, SPEC, put, value
from kubectl_koord.changes.values import Owner, RefusedError, Wanted, wanted_values
from kubectl_koord.reports.change import ObjectName
from kubectl_koord.wording.answers import changes as sentences

_API = "scheduling.sigs.k8s.io/"


def is_pod_group(manifest: Mapping[str, Any]) -> bool:
    """Tell whether a manifest is a PodGroup as Koordinator reads it."""
    return manifest.get("kind") == "PodGroup" and str(manifest.get("apiVersion")).startswith(_API)


def key_in(manifest: Mapping[str, Any], namespace: str) -> str:
    """Return the `namespace/name` of a manifest; without one of its own it will be in this namespace."""
    metadata = manifest.get("metadata")
    if not isinstance(metadata, dict) or not metadata.get("name"):
        raise RefusedError(sentences.NAMELESS)
    return f"{metadata.get('namespace') or namespace}/{metadata['name']}"


def changed_manifest(manifest: Mapping[str, Any], key: str, wanted: Wanted, *, overwrite: bool) -> dict[str, Any]:
    """Return a PodGroup's manifest with what is wanted.

    Raises:
        RefusedError: when a value is invalid, or a key has another value already and `overwrite` is not set.

    """
    minimum, topology = value(manifest, MINIMUM), value(manifest, SPEC)
    owner = Owner(
        key,
        minimum if isinstance(minimum, int) else 0,
        topology if isinstance(topology, str) else None,
        "PodGroup",
        None,
    )
    after = wanted_values(owner, wanted)
    before = {field: value(manifest, field) for field in after}
    home, _, name = key.partition("/")
    change = change_of(ObjectName("PodGroup", home, name), before, after, "", overwrite=overwrite)
    return put(manifest, change.after) if change else dict(manifest)
