"""Changes to the settings of PodGroups, validated against the cluster as it is."""

from collections.abc import Mapping

from msgspec import structs

from kubectl_koord.changes.planning import change_of, not_noticed, plan_of
from kubectl_koord.changes.settings import LIGHT_POLICY, MINIMUM, PREFIX, SPEC, TIMEOUT, Value
from kubectl_koord.changes.values import (
    AnnotatedGang,
    RefusedError,
    WantedSettings,
    nearest,
    refuse_unread,
    wanted_values,
)
from kubectl_koord.diagnosis import visibility
from kubectl_koord.model.objects import PodGroup
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.change import Change, ChangePlan, ObjectName
from kubectl_koord.wording.answers import changes as sentences


def pod_group_plan(snapshot: Snapshot, key: str, wanted: WantedSettings, *, overwrite: bool) -> ChangePlan:
    """Return the plan for one PodGroup, with what why-pending answers before and after.

    Raises:
        RefusedError: when the PodGroup, a layer or a gang does not exist, or could not be read, a value is invalid,
            or a key has another value already and `overwrite` is not set.

    """
    group = snapshot.pod_groups.get(key)
    if group is None:
        refuse_unread(visibility.unread(snapshot, "podgroup", key.partition("/")[0]))
        raise RefusedError(sentences.no_pod_group(key, nearest(key, snapshot.pod_groups)))
    change, planned = changed_group(snapshot, group, wanted, overwrite=overwrite)
    later = structs.replace(snapshot, pod_groups={**snapshot.pod_groups, key: planned})
    return plan_of(snapshot, later, key, [change], not_noticed(key, [change], by_pods=False))


def changed_group(
    snapshot: Snapshot, group: PodGroup, wanted: WantedSettings, *, overwrite: bool
) -> tuple[Change | None, PodGroup]:
    """Return what is to be sent for a PodGroup, None for nothing, and the PodGroup as it will be.

    Raises:
        RefusedError: as `pod_group_plan` does.

    """
    owner = AnnotatedGang(group.key, group.min_member, group.topology, "PodGroup", snapshot)
    after = wanted_values(owner, wanted)
    before = {name: _value(group, name) for name in after}
    name = ObjectName("PodGroup", group.namespace, group.name)
    return change_of(name, before, after, group.resource_version, overwrite=overwrite), _with_values(group, after)


def _value(group: PodGroup, name: str) -> Value:
    if name == TIMEOUT:
        return group.timeout_seconds
    if name == MINIMUM:
        return group.min_member or None
    return dict(group.annotations).get(name)


def _with_values(group: PodGroup, values: Mapping[str, Value]) -> PodGroup:
    numbers = {TIMEOUT: group.timeout_seconds, MINIMUM: group.min_member} | {
        key: value for key, value in values.items() if key in {TIMEOUT, MINIMUM} and not isinstance(value, str)
    }
    annotations = dict(group.annotations) | {key: value for key, value in values.items() if key not in numbers}
    kept = {key: str(value) for key, value in annotations.items() if value is not None}
    return structs.replace(
        group,
        min_member=numbers[MINIMUM] or 0,
        timeout_seconds=numbers[TIMEOUT],
        annotations=tuple(sorted(kept.items())),
        mode=kept.get(PREFIX + "mode", ""),
        match_policy=kept.get(PREFIX + "match-policy") or kept.get(LIGHT_POLICY, ""),
        groups=kept.get(PREFIX + "groups"),
        topology=kept.get(SPEC),
        total=kept.get(PREFIX + "total-number"),
    )
