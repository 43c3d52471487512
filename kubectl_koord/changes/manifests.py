"""Planned changes of gangs in manifests, and of workloads that become gangs; with or without a cluster beside them."""

import copy
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct, structs

from kubectl_koord.changes.annotate import PodsWanted, change_of, ranks_of, values_of
from kubectl_koord.changes.values import (
    GANG_LABEL,
    LABEL,
    LIGHT_LABEL,
    MINIMUM,
    MINIMUM_LABEL,
    NAMELESS,
    PREFIX,
    SPEC,
    AnnotatedGang,
    Fields,
    RefusedError,
    Value,
    WantedSettings,
    Where,
    declared_already,
    gang_not_in_manifests,
    group_ids,
    has_pod_group,
    mapping,
    more_than_its_pods,
    no_gang_of,
    no_names_yet,
    no_object,
    pod_group_not_in_manifests,
    put,
    several_gangs,
    wanted_values,
    written_value,
)
from kubectl_koord.engine.rules import listed_ids
from kubectl_koord.model.objects import Keys, Workload
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.change import Change, ObjectName

Manifest: TypeAlias = dict[str, Any]
ManifestsChange: TypeAlias = Callable[[Manifest], Manifest]
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


def pod_groups_change(manifests: Sequence[Manifest], meant: Meant, wanted: WantedSettings) -> ManifestsChange | None:
    """Return what to do with PodGroups, None where there is none that is meant.

    Raises RefusedError when one has no name. The change raises it when a value is invalid, or a key has another value
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


def gangs_change(manifests: Sequence[Manifest], meant: Meant, wanted: WantedSettings) -> ManifestsChange | None:
    """Return what to do with whole gang groups, None where there is no gang that is meant.

    Of a gang that has a PodGroup that one is changed, of another all its pods and pod templates. Raises RefusedError:
    as `pod_groups_change` does, and when a gang of a group, or a PodGroup that alone can define one, is not in the
    manifests.
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
        has_label = written_value(pod, LABEL + MINIMUM_LABEL) is not None
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
            raise RefusedError(gang_not_in_manifests(key))
        if key in lacking:
            raise RefusedError(pod_group_not_in_manifests(key))
    return members


def pods_change(manifests: Sequence[Manifest], meant: Meant, wanted: PodsWanted) -> ManifestsChange | None:
    """Return what to do with the pods of gangs, and with their templates, None where there is none that is meant.

    Raises RefusedError when what is wanted is no setting of a pod, or pods that have no names yet are to be numbered;
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
            raise RefusedError(no_names_yet(key))
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
        raise RefusedError(NAMELESS)
    return f"{metadata.get('namespace') or namespace}/{metadata['name']}"


def _pods_in(manifests: Sequence[Manifest], namespace: str) -> Iterator[tuple[Manifest, str, bool]]:
    """Yield the pods and pod templates that are in a gang, its id, and whether only a PodGroup can define it."""
    found: list[tuple[Manifest, str, bool]] = []

    def note(pod: Manifest, key: str) -> Manifest:
        found.append((pod, key, bool(written_value(pod, LABEL + GANG_LABEL))))
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
    names = (written_value(pod, field) for field in (LABEL + GANG_LABEL, LABEL + LIGHT_LABEL, PREFIX + "name"))
    return str(next(filter(None, names), ""))


def _with_settings(written: Manifest, key: str, where: Where, meant: Meant, wanted: WantedSettings) -> Manifest:
    if where == "PodGroup":
        minimum = written_value(written, MINIMUM)
    else:
        minimum = written_value(written, LABEL + MINIMUM_LABEL) or written_value(written, PREFIX + "min-available")
    number = str(minimum or "")
    least = int(number) if _NUMBER.fullmatch(number) else 0
    owner = AnnotatedGang(key, least, _text(written, SPEC), where, meant.snapshot, meant.gangs)
    kind = "PodGroup" if where == "PodGroup" else "Pod"
    return _changed(written, ObjectName(kind, *key.split("/", 1)), wanted_values(owner, wanted), meant)


def _changed(written: Manifest, name: ObjectName, after: Fields, meant: Meant) -> Manifest:
    before = {field: written_value(written, field) for field in after}
    change = change_of(name, before, after, "", overwrite=meant.overwrite)
    return put(written, change.after) if change else written


def _text(written: Mapping[str, Any], field: str) -> str | None:
    found = written_value(written, field)
    return found if isinstance(found, str) else None


_SCHEDULER = "koord-scheduler"
_USUAL = {None, "", "default-scheduler"}
_NEW_GANGS_API = "scheduling.sigs.k8s.io/v1alpha1"


class NewGang(Struct, frozen=True):
    """The gang of a workload: its id, the PodGroup and the workload as they are to be, and what that changes."""

    key: str
    pod_group: Manifest
    workload: Manifest
    changes: tuple[Change, ...]


def new_gang(
    written: Manifest, one: Workload, meant: Meant, wanted: WantedSettings, others: frozenset[str] = frozenset()
) -> NewGang:
    """Return a workload as a gang.

    Args:
        written: the workload.
        one: what is known of its pods.
        meant: the cluster, and the gangs that have a PodGroup beside it.
        wanted: the settings of the PodGroup; minMember is that of the workload unless it is among them.
        others: gangs that are there, too, once all is made.

    Raises RefusedError when it can be no gang, or is one, names another scheduler, or a setting is invalid.
    """
    if one.obstacle is not None:
        raise RefusedError(no_gang_of(one))
    name = _name(written, one)
    key = f"{one.namespace}/{name}"
    if key in meant.gangs or (meant.snapshot is not None and key in meant.snapshot.pod_groups):
        raise RefusedError(has_pod_group(key))
    minimum = one.minimum if wanted.min_member is None else wanted.min_member
    if minimum > one.pods:
        raise RefusedError(more_than_its_pods(minimum, one.pods))
    owner = AnnotatedGang(key, minimum, None, "PodGroup", meant.snapshot, others)
    values = wanted_values(owner, structs.replace(wanted, min_member=minimum))
    set_now: Fields = {field: value for field, value in values.items() if value is not None}
    metadata = {"name": name} | ({"namespace": one.namespace} if _has_namespace(written) else {})
    pod_group = put({"apiVersion": _NEW_GANGS_API, "kind": "PodGroup", "metadata": metadata}, set_now)
    profile = meant.snapshot.config.profiles[0] if meant.snapshot is not None else _SCHEDULER
    changed, before, after = _labelled(written, one, name, profile, overwrite=meant.overwrite)
    changes = [Change(ObjectName("PodGroup", one.namespace, name), dict.fromkeys(set_now), set_now, pod_group, "")]
    if after:
        target = ObjectName(one.kind, one.namespace, one.name)
        changes.append(Change(target, before, after, _patch(changed, after_keys(one)), ""))
    return NewGang(key, pod_group, changed, tuple(changes))


def after_keys(one: Workload) -> tuple[str, ...]:
    """Return the fields of a workload's object below which anything may change."""
    return tuple(dict.fromkeys(str(template.labels[0]) for template in one.templates))


def _patch(changed: Manifest, keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: changed[key] for key in keys}


def _has_namespace(written: Manifest) -> bool:
    return bool(mapping(written.get("metadata")).get("namespace"))


def _name(written: Manifest, one: Workload) -> str:
    """Return the name that the templates give their gang already, or else that of the workload."""
    named = {str(found) for each in one.templates if (found := _at(written, (*each.labels, GANG_LABEL)))}
    if len(named) > 1:
        raise RefusedError(several_gangs(one, sorted(named)))
    return named.pop() if named else one.name


def _labelled(
    written: Manifest, one: Workload, name: str, profile: str, *, overwrite: bool
) -> tuple[Manifest, Fields, Fields]:
    """Return the workload with labels and scheduler, and what each field that changes was and is."""
    changed = copy.deepcopy(written)
    before: Fields = {}
    after: Fields = {}
    for template in one.templates:
        wanted = {template.scheduler: profile} | ({(*template.labels, GANG_LABEL): name} if template.is_member else {})
        for keys, value in wanted.items():
            old = _at(written, keys)
            if old == value:
                continue
            field = ".".join(map(str, keys))
            if old not in _USUAL and not overwrite:
                raise RefusedError(declared_already(field, old))
            before[field], after[field] = old, value
            _put(changed, keys, value)
    return changed, before, after


def _at(written: Any, keys: Keys) -> Value:  # noqa: ANN401 - any JSON value
    """Return the text that stands somewhere in an object, None for none."""
    for key in keys:
        is_place = isinstance(written, list) and isinstance(key, int)
        written = written[key] if is_place else mapping(written).get(str(key))
    return None if written is None else str(written)


def _put(written: Any, keys: Keys, value: str) -> None:  # noqa: ANN401 - any JSON value
    *above, last = keys
    for key in above:
        if isinstance(written, dict) and written.get(key) is None:
            written[key] = {}
        written = written[key]
        if not isinstance(written, dict | list):
            raise RefusedError(no_object(str(key)))
    written[last] = value
