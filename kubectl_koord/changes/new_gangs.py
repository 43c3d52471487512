"""A gang made of a workload: the PodGroup, and its label and the scheduler's name in every template of the pods."""

import copy
from typing import Any

from msgspec import Struct, structs

from kubectl_koord.changes.manifests import Manifest, Meant
from kubectl_koord.changes.settings import GANG_LABEL, Fields, Value, mapping, put
from kubectl_koord.changes.values import AnnotatedGang, RefusedError, WantedSettings, wanted_values
from kubectl_koord.model.workloads import Keys, Workload
from kubectl_koord.reports.change import Change, ObjectName
from kubectl_koord.wording.answers import changes as sentences

_SCHEDULER = "koord-scheduler"
_USUAL = {None, "", "default-scheduler"}
_API = "scheduling.sigs.k8s.io/v1alpha1"


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

    Raises:
        RefusedError: when it can be no gang, or is one, names another scheduler, or a setting is invalid.

    """
    if one.obstacle is not None:
        raise RefusedError(sentences.no_gang_of(one))
    name = _name(written, one)
    key = f"{one.namespace}/{name}"
    if key in meant.gangs or (meant.snapshot is not None and key in meant.snapshot.pod_groups):
        raise RefusedError(sentences.has_pod_group(key))
    minimum = one.minimum if wanted.min_member is None else wanted.min_member
    if minimum > one.pods:
        raise RefusedError(sentences.more_than_its_pods(minimum, one.pods))
    owner = AnnotatedGang(key, minimum, None, "PodGroup", meant.snapshot, others)
    values = wanted_values(owner, structs.replace(wanted, min_member=minimum))
    set_now: Fields = {field: value for field, value in values.items() if value is not None}
    metadata = {"name": name} | ({"namespace": one.namespace} if _has_namespace(written) else {})
    pod_group = put({"apiVersion": _API, "kind": "PodGroup", "metadata": metadata}, set_now)
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
        raise RefusedError(sentences.several_gangs(one, sorted(named)))
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
                raise RefusedError(sentences.declared_already(field, old))
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
            raise RefusedError(sentences.no_object(str(key)))
    written[last] = value
