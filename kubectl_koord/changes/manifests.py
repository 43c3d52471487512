"""Changes to gangs and pods as they stand in manifests, with or without a cluster to check names against."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct, structs

from kubectl_koord.changes.planning import change_of
from kubectl_koord.changes.pods import PodsWanted, ranks_of, values_of
from kubectl_koord.changes.settings import (
    GANG_LABEL,
    LABEL,
    LIGHT_LABEL,
    MINIMUM,
    MINIMUM_LABEL,
    PREFIX,
    SPEC,
    Fields,
    Where,
    mapping,
    put,
    value,
)
from kubectl_koord.changes.values import AnnotatedGang, RefusedError, WantedSettings, group_ids, wanted_values
from kubectl_koord.engine.gang_settings import listed_ids
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.change import ObjectName
from kubectl_koord.wording.answers import changes as sentences

Manifest: TypeAlias = dict[str, Any]
Change: TypeAlias = Callable[[Manifest], Manifest]
"""Returns a manifest as it is to be; most stay as they are."""

_API = "scheduling.sigs.k8s.io/"
_GROUPS = PREFIX + "groups"
_NUMBER = re.compile("[0-9]{1,10}")
_DEEPEST = 16
"""How far down in an object a pod template is looked for: those of all workloads stand higher."""


class Meant(Struct, frozen=True):
    """Which objects are meant: those of a gang `key` (empty: of all), in `namespace` where they name none.

    `snapshot` is the cluster that layers and gangs must be in, None where they may have any name; `gangs` need not be
    in it, as they are in the manifests.
    """

    key: str
    namespace: str
    overwrite: bool
    snapshot: Snapshot | None = None
    gangs: frozenset[str] = frozenset()


def pod_groups_change(manifests: Sequence[Manifest], meant: Meant, wanted: WantedSettings) -> Change | None:
    """Return what to do with PodGroups, None where there is none that is meant.

    Raises:
        RefusedError: when one has no name. The change raises it when a value is invalid, or a key has another value
            already and `overwrite` is not set.

    """
    keys = {_key(one, meant.namespace) for one in manifests if is_pod_group(one)}
    of_pods = {key for _, key, _ in _pods_in(manifests, meant.namespace)}
    meant = structs.replace(meant, gangs=frozenset(keys | of_pods))
    chosen = keys & {meant.key} if meant.key else keys
    if not chosen:
        return None

    def change(manifest: Manifest) -> Manifest:
        if not is_pod_group(manifest):
            return manifest
        key = _key(manifest, meant.namespace)
        return _with_settings(manifest, key, "PodGroup", meant, wanted) if key in chosen else manifest

    return change


def gangs_change(manifests: Sequence[Manifest], meant: Meant, wanted: WantedSettings) -> Change | None:
    """Return what to do with whole gang groups, None where there is no gang that is meant.

    Of a gang that has a PodGroup that one is changed, of another all its pods and pod templates.

    Raises:
        RefusedError: as `pod_groups_change` does, and when a gang of a group, or a PodGroup that alone can define one,
            is not in the manifests.

    """
    groups = {_key(one, meant.namespace): one for one in manifests if is_pod_group(one)}
    pods: dict[str, Manifest] = {}
    lacking = set()
    for pod, key, needs_group in _pods_in(manifests, meant.namespace):
        pods.setdefault(key, pod)
        if needs_group and key not in groups:
            lacking.add(key)
    written = pods | groups
    meant = structs.replace(meant, gangs=frozenset(written))
    chosen = {key for key in written if meant.key in {"", key}}
    if not chosen:
        return None
    members = _members(written, lacking, chosen, wanted)

    def of_pod(pod: Manifest, key: str) -> Manifest:
        if key not in members or key in groups:
            return pod
        has_label = value(pod, LABEL + MINIMUM_LABEL) is not None
        return _with_settings(pod, key, "labelled-pods" if has_label else "pods", meant, wanted)

    def change(manifest: Manifest) -> Manifest:
        if not is_pod_group(manifest):
            return _with_pods(manifest, meant.namespace, of_pod)
        key = _key(manifest, meant.namespace)
        return _with_settings(manifest, key, "PodGroup", meant, wanted) if key in members else manifest

    return change


def _members(written: Mapping[str, Manifest], lacking: set[str], chosen: set[str], wanted: WantedSettings) -> set[str]:
    """Return the gangs that change with the chosen ones: those that are named, else all that their groups list."""
    members = {other for key in chosen for other in listed_ids(_text(written[key], _GROUPS), key)[0]} | chosen
    if wanted.groups:
        members = set(group_ids(wanted.groups, min(chosen).partition("/")[0]))
    for key in sorted(members):
        if key not in written:
            raise RefusedError(sentences.gang_not_in_manifests(key))
        if key in lacking:
            raise RefusedError(sentences.pod_group_not_in_manifests(key))
    return members


def pods_change(manifests: Sequence[Manifest], meant: Meant, wanted: PodsWanted) -> Change | None:
    """Return what to do with the pods of gangs, and with their templates, None where there is none that is meant.

    Raises:
        RefusedError: when what is wanted is no setting of a pod, or pods that have no names yet are to be numbered;
            else as `pods_plan` and `pod_groups_change` do.

    """
    named = []
    found = False
    for pod, key, _ in _pods_in(manifests, meant.namespace):
        if meant.key not in {"", key}:
            continue
        found = True
        if pod.get("kind") == "Pod" and mapping(pod.get("metadata")).get("name"):
            named.append(_Named(_key(pod, meant.namespace), str(pod["metadata"]["name"]), key))
        elif wanted.index or wanted.order:
            raise RefusedError(sentences.no_names_yet(key))
    if not found:
        return None
    ranks = ranks_of(named, wanted)

    def of_pod(pod: Manifest, key: str) -> Manifest:
        if meant.key not in {"", key}:
            return pod
        after = values_of(wanted, ranks.get(_key(pod, meant.namespace)) if ranks else None)
        return _changed(pod, ObjectName("Pod", *key.split("/", 1)), after, meant)

    return lambda manifest: _with_pods(manifest, meant.namespace, of_pod)


class _Named(Struct, frozen=True):
    """A pod that has its name already."""

    key: str
    name: str
    gang: str


def is_pod_group(manifest: Mapping[str, Any]) -> bool:
    """Tell whether a manifest is a PodGroup as Koordinator reads it."""
    return manifest.get("kind") == "PodGroup" and str(manifest.get("apiVersion")).startswith(_API)


def _key(manifest: Mapping[str, Any], namespace: str) -> str:
    metadata = mapping(manifest.get("metadata"))
    if not metadata.get("name"):
        raise RefusedError(sentences.NAMELESS)
    return f"{metadata.get('namespace') or namespace}/{metadata['name']}"


def _pods_in(manifests: Sequence[Manifest], namespace: str) -> Iterator[tuple[Manifest, str, bool]]:
    """Yield the pods and pod templates that are in a gang, its id, and whether only a PodGroup can define it."""
    found: list[tuple[Manifest, str, bool]] = []

    def note(pod: Manifest, key: str) -> Manifest:
        found.append((pod, key, bool(value(pod, LABEL + GANG_LABEL))))
        return pod

    for manifest in manifests:
        _with_pods(manifest, namespace, note)
    yield from found


def _with_pods(manifest: Manifest, namespace: str, change: Callable[[Manifest, str], Manifest]) -> Manifest:
    """Return an object in which each pod and pod template that is in a gang is changed.

    Either is known by a spec that has containers, so that no table of workloads is needed.
    """
    home = str(mapping(manifest.get("metadata")).get("namespace") or namespace)

    def within(part: Any, depth: int) -> Any:  # noqa: ANN401 - any JSON value
        if isinstance(part, list):
            return [within(item, depth + 1) for item in part] if depth < _DEEPEST else part
        if not isinstance(part, dict) or depth == _DEEPEST:
            return part
        if isinstance(mapping(part.get("spec")).get("containers"), list):
            name = _gang_name(part)
            return change(part, f"{home}/{name}") if name else part
        return {key: within(held, depth + 1) for key, held in part.items()}

    changed: Manifest = within(manifest, 0)
    return changed


def _gang_name(pod: Mapping[str, Any]) -> str:
    """Return the name of a pod's gang, empty for none: the scheduler looks at these in this order."""
    names = (value(pod, field) for field in (LABEL + GANG_LABEL, LABEL + LIGHT_LABEL, PREFIX + "name"))
    return str(next(filter(None, names), ""))


def _with_settings(written: Manifest, key: str, where: Where, meant: Meant, wanted: WantedSettings) -> Manifest:
    """Return what defines a gang with what is wanted."""
    if where == "PodGroup":
        minimum = value(written, MINIMUM)
    else:
        minimum = value(written, LABEL + MINIMUM_LABEL) or value(written, PREFIX + "min-available")
    number = str(minimum or "")
    least = int(number) if _NUMBER.fullmatch(number) else 0
    owner = AnnotatedGang(key, least, _text(written, SPEC), where, meant.snapshot, meant.gangs)
    kind = "PodGroup" if where == "PodGroup" else "Pod"
    return _changed(written, ObjectName(kind, *key.split("/", 1)), wanted_values(owner, wanted), meant)


def _changed(written: Manifest, name: ObjectName, after: Fields, meant: Meant) -> Manifest:
    before = {field: value(written, field) for field in after}
    change = change_of(name, before, after, "", overwrite=meant.overwrite)
    return put(written, change.after) if change else written


def _text(written: Mapping[str, Any], field: str) -> str | None:
    found = value(written, field)
    return found if isinstance(found, str) else None
