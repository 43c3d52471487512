"""The settings that `annotate` may write: how each is spelled, validated, and what it contradicts."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct, structs

from kubectl_koord.diagnosis import coverage
from kubectl_koord.engine import gangs, tree
from kubectl_koord.engine.rules import GatherRule, gather_rules
from kubectl_koord.engine.tree import TreeFault
from kubectl_koord.language import say
from kubectl_koord.model.objects import Workload
from kubectl_koord.model.snapshot import Gap, Snapshot
from kubectl_koord.reports.change import Change
from kubectl_koord.wording.refusals import fault_clause
from kubectl_koord.wording.suggestions import near
from kubectl_koord.wording.words import could_not_be_read, count, listed

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


def written_value(written: Mapping[str, Any], field: str) -> Value:
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


class ChangedField(Struct, frozen=True):
    """A field that is no longer as the plan showed it."""

    field: str
    shown: Value
    now: Value


def moved(change: Change, now: Mapping[str, Any]) -> tuple[ChangedField, ...]:
    """Return the fields of a change that are no longer as it showed them."""
    found = (ChangedField(field, shown, written_value(now, field)) for field, shown in change.before.items())
    return tuple(one for one in found if one.shown != one.now)


def is_done(change: Change, now: Mapping[str, Any]) -> bool:
    """Tell whether an object has all that a change wants."""
    return all(written_value(now, field) == wanted for field, wanted in change.after.items())


def is_in(change: Change, now: Mapping[str, Any]) -> bool:
    """Tell whether an object is as a change leaves it: all that it sends is there, and all that it removes is not."""
    metadata = {key: sent for key, sent in mapping(change.patch.get("metadata")).items() if key != "resourceVersion"}
    return _has({**change.patch, "metadata": metadata}, now)


def _has(sent: object, now: object) -> bool:
    if isinstance(sent, dict):
        found = mapping(now)
        return all(_has(wanted, found.get(key)) for key, wanted in sent.items())
    if isinstance(sent, list):
        return (
            isinstance(now, list) and len(now) == len(sent) and all(_has(*pair) for pair in zip(sent, now, strict=True))
        )
    return sent == now or (sent is None and now == 0)  # 0 is absent for Go


def rebased(change: Change, now: Mapping[str, Any]) -> Change:
    """Return a change with the resource version of the object as it is now."""
    version = version_of(now)
    return structs.replace(change, patch=merge_patch(change.after, version), resource_version=version)


def undone(change: Change, now: Mapping[str, Any]) -> Change:
    """Return the change that takes another back, from the object as it is now."""
    version = version_of(now)
    patch = merge_patch(change.before, version)
    return structs.replace(change, before=change.after, after=change.before, patch=patch, resource_version=version)


def version_of(now: Mapping[str, Any]) -> str:
    """Return the resource version of an object, empty where it has none."""
    return str(mapping(now.get("metadata")).get("resourceVersion") or "")


def appliers(change: Change, now: Mapping[str, Any]) -> Mapping[str, tuple[str, ...]]:
    """Return who applies fields of a change (server-side apply), by name with the fields: they will set them back."""
    found: dict[str, tuple[str, ...]] = {}
    for entry in _managed(now):
        if entry.get("operation") == "Apply":
            owned = tuple(field for field in {**change.before, **change.after} if _owns(entry, field))
            found |= {str(entry.get("manager") or ""): owned} if owned else {}
    return found


def _owns(entry: Mapping[str, Any], field: str) -> bool:
    """Tell whether an entry of managed fields holds a field, whose path there is that of the patch which sets it."""
    place: object = mapping(entry.get("fieldsV1"))
    sent: object = merge_patch({field: ""}, "")
    while isinstance(sent, dict):
        key, sent = next((key, below) for key, below in sent.items() if below != {})
        if f"f:{key}" not in mapping(place):
            return False
        place = mapping(place)[f"f:{key}"]
    return True


def last_manager(now: Mapping[str, Any]) -> str:
    """Return who changed an object last, by its managed fields, empty where they do not say."""
    last = max(_managed(now), key=lambda entry: str(entry.get("time") or ""), default={})
    return str(last.get("manager") or "")


def _managed(now: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    managed = mapping(now.get("metadata")).get("managedFields")
    return [entry for entry in managed if isinstance(entry, dict)] if isinstance(managed, list) else []


NOTHING_TO_SET = say(
    "nothing to set: give at least one of --must-gather, --prefer-gather, --multiple, --mode, "
    "--match-policy, --groups, --waiting-time, --total, --min-member, or the name of a setting "
    "and - to remove it, as in mode-"
)
NOTHING_FOR_PODS = say(
    "nothing to set: give at least one of --index, --index-order, --topology-selector, or index- "
    "or topology-selector- to remove it"
)
NAMELESS = say("a PodGroup in the manifests has no metadata.name")
INDEX_AND_ORDER = say("--index and --index-order cannot be used together")


def unchanged(name: str) -> str:
    """Return that there is nothing to change."""
    return say("{name} unchanged.", name=name)


def no_pod_group(key: str, nearest: str) -> str:
    """Return that there is no such PodGroup, and the name that is nearest, if any."""
    return say("podgroup {key!r} not found{did_you_mean}", key=key, did_you_mean=_did_you_mean(nearest))


def no_gang(key: str, nearest: str) -> str:
    """Return that there is no such gang, and the name that is nearest, if any."""
    return say("gang {key!r} does not exist{did_you_mean}", key=key, did_you_mean=_did_you_mean(nearest))


def _did_you_mean(nearest: str) -> str:
    return say(", did you mean {nearest}?", nearest=nearest) if nearest else ""


def gang_not_in_manifests(key: str) -> str:
    """Return that a gang of a group is not where the others are."""
    return say(
        "gang {key!r} is to change with the others and is not in the manifests: give those of the whole group", key=key
    )


def pod_group_not_in_manifests(key: str) -> str:
    """Return that what alone can define a gang is missing."""
    return say(
        "podgroup {key!r} is not in the manifests: by their label, nothing else defines the gang of its pods", key=key
    )


def no_names_yet(key: str) -> str:
    """Return that pods cannot be numbered before they are made."""
    return say("--index and --index-order need pods with names, and those of {key} are made of a template", key=key)


def no_tree(fault: TreeFault) -> str:
    """Return why there is no layer at all."""
    return say("no layer to gather on: {fault_clause}", fault_clause=fault_clause(fault))


def no_pod_setting(name: str) -> str:
    """Return that a name to be removed is none of the settings that a single pod has."""
    return say("{name!r} is not one of index, topology-selector (settings of the gang: see annotate gang)", name=name)


def set_and_removed(name: str) -> str:
    """Return that one setting is to be set and removed at once."""
    return say("{name!r} is to be set and to be removed", name=name)


def bad_selector(value: str) -> str:
    """Return that no pods are told apart by such a text."""
    return say("--topology-selector {value!r} must have 1 to 253 characters, without blanks around them", value=value)


def not_pending(name: str, nearest: str) -> str:
    """Return that an order names somebody else, and the name that is nearest, if any."""
    return say(
        "--index-order: {name!r} is no pending pod of the gang{did_you_mean}",
        name=name,
        did_you_mean=_did_you_mean(nearest),
    )


def named_twice(name: str) -> str:
    """Return that an order names a pod again."""
    return say("--index-order names {name} twice", name=name)


def not_in_the_order(pods: Sequence[str]) -> str:
    """Return which pods an order leaves out."""
    return say("--index-order leaves out {pods}", pods=listed(tuple(pods)))


def first_pod_decides(key: str) -> str:
    """Return when the scheduler notices what pods newly say of their gang."""
    return say(
        "the scheduler will not notice this now: it has taken the settings of gang {key} from the "
        "first of its pods that it saw, and reads them anew only when all its pods are gone, or after "
        "it was restarted.",
        key=key,
    )


def group_attached_once(key: str) -> str:
    """Return what a new list of gangs does not change."""
    return say(
        "the scheduler will notice only half of this now: gang {key} keeps the state of the group "
        "that it was attached to first (its representative, and whether it was satisfied) until its "
        "PodGroup is created anew, or the scheduler is restarted.",
        key=key,
    )


def not_in_a_gang(pod: str) -> str:
    """Return that a pod has no gang whose ranks could be set."""
    return say("pod {pod} belongs to no gang", pod=pod)


def no_pending_pods(key: str) -> str:
    """Return that a gang has no pods to annotate."""
    return say("{key} has no pending pods", key=key)


def no_number(pod: str) -> str:
    """Return that a pod's name does not end in a number."""
    return say("pod {pod} has no number at the end of its name: cannot derive its index", pod=pod)


def same_number(one: str, other: str, number: int) -> str:
    """Return that the names of two pods end in the same number."""
    return say("pods {one} and {other} end in the same number {number}", one=one, other=other, number=number)


def declared_already(name: str, value: str | int | None) -> str:
    """Return that a key has a value already and may not be overwritten."""
    return say("--overwrite is false but {name} is declared already: {value}", name=name, value=value)


def no_gang_of(one: Workload) -> str:
    """Return why a workload cannot be made a gang, and what can be done."""
    who = f"{one.kind} {one.name}"
    match one.obstacle:
        case "of-another-scheduler":
            return say(
                "{who}: Volcano makes its pods only once its own PodGroup is let in; use another kind of job", who=who
            )
        case "from-runtime":
            return say(
                "{who}: its pod templates stand in its training runtime; give the labels of a gang there", who=who
            )
        case "in-turn":
            return say(
                "{who} makes its pods one after the other ({detail}): in a gang they would wait for ever for "
                "those that are not made yet; change that first",
                who=who,
                detail=one.detail,
            )
        case "no-name":
            return say(
                "{kind} {name}* gets a name with each run (generateName), and a PodGroup is for one: name it",
                kind=one.kind,
                name=one.name,
            )
        case "owned":
            return say(
                "{who} is made by {detail}, which would undo the change: make a gang of that",
                who=who,
                detail=one.detail,
            )
        case _:
            return say("{who} makes no pods: there is nothing to be a gang", who=who)


def has_pod_group(key: str) -> str:
    """Return that a gang has a PodGroup already."""
    return say("PodGroup {key} is there already: leave out --create to change it", key=key)


def several_gangs(one: Workload, names: Sequence[str]) -> str:
    """Return that the templates of a workload name several gangs."""
    return say(
        "the pod templates of {kind} {name} are labelled for several gangs: {names}",
        kind=one.kind,
        name=one.name,
        names=listed(names),
    )


def more_than_its_pods(minimum: int, pods: int) -> str:
    """Return that a gang would need more pods than are made."""
    return say("--min-member {minimum} is more than its {pods}", minimum=minimum, pods=count(pods, "pod"))


def of_manifests(changed: int) -> str:
    """Return that manifests would change, and how to get them."""
    return say(
        "Nothing was sent: {objects} would change. -o yaml prints the new manifests.", objects=count(changed, "object")
    )


def recreate_workload(kind: str, name: str, *, is_immutable: bool) -> str:
    """Return why a workload of the cluster is not changed in place, and what becomes of its pods."""
    why = (
        say("the pod template of a {kind} cannot be changed", kind=kind)
        if is_immutable
        else say("pods that run do not change")
    )
    return say(
        "Nothing was sent: {kind} {name} is not changed in place, as {why}, and pods that are made "
        "anew one by one would wait for each other. To make it a gang, save its new manifest, delete "
        "it, which ends its pods, and create it:",
        kind=kind,
        name=name,
        why=why,
    )


def no_object(key: str) -> str:
    """Return that something in a workload is not what it must be."""
    return say("{key} is no object", key=key)


_MODES = ("Strict", "NonStrict")
_POLICIES = ("only-waiting", "waiting-and-running", "once-satisfied")
_STEP = re.compile(r"(\d+)(h|m|s)")
_SECONDS = {"h": 3600, "m": 60, "s": 1}


class RefusedError(ValueError):
    """Something that was asked for cannot be: one sentence for the user."""


class WantedSettings(Struct, frozen=True):
    """What the user asks to set; empty means untouched. `multiples` and `groups` are as typed.

    `removed` holds what is to be removed: our names of settings, or full keys, as typed without the `-`.
    """

    must_gather: tuple[str, ...] = ()
    prefer_gather: tuple[str, ...] = ()
    multiples: tuple[str, ...] = ()
    mode: str = ""
    match_policy: str = ""
    groups: tuple[str, ...] = ()
    waiting_time: str = ""
    total: int | None = None
    min_member: int | None = None
    removed: tuple[str, ...] = ()


class AnnotatedGang(Struct, frozen=True):
    """The gang that gets settings: its id, its minimum and topology spec as they are, and where its settings stand.

    `snapshot` is None where only a manifest is at hand: then nobody knows which layers and gangs there are. `others`
    are gangs that need not be in it, as they are made together with this one.
    """

    key: str
    minimum: int
    topology: str | None
    where: Where
    snapshot: Snapshot | None
    others: frozenset[str] = frozenset()


def wanted_values(owner: AnnotatedGang, wanted: WantedSettings) -> Fields:
    """Return the value of each field that is to be set, None of one that is to be removed.

    Raises RefusedError when a layer or a gang does not exist, or could not be read, or a value is invalid.
    """
    values = _set(owner, wanted)
    for name in wanted.removed:
        key = key_of(name, owner.where)
        if not key:
            raise RefusedError(
                say("{name!r} is no setting of a gang (kubectl annotate removes other annotations)", name=name)
            )
        if key in values:
            raise RefusedError(set_and_removed(name))
        values[key] = None
    if not values:
        raise RefusedError(NOTHING_TO_SET)
    return values


def _set(owner: AnnotatedGang, wanted: WantedSettings) -> Fields:
    values: Fields = {}
    if wanted.must_gather or wanted.prefer_gather or wanted.multiples:
        values[SPEC] = _topology_spec(owner, wanted)
    if wanted.mode:
        values[PREFIX + "mode"] = _one_of("--mode", wanted.mode, _MODES)
    if wanted.match_policy:
        values[PREFIX + "match-policy"] = _one_of("--match-policy", wanted.match_policy, _POLICIES)
    if wanted.groups:
        values[PREFIX + "groups"] = _groups(owner, wanted.groups)
    if wanted.waiting_time:
        limit = seconds(wanted.waiting_time)
        if owner.where == "PodGroup":
            values[TIMEOUT] = limit
        else:
            values[PREFIX + "waiting-time"] = f"{limit}s"
    values |= _numbers(owner, wanted)
    return values


def _numbers(owner: AnnotatedGang, wanted: WantedSettings) -> Fields:
    values: Fields = {}
    minimum = owner.minimum
    if wanted.min_member is not None:
        minimum = wanted.min_member
        if not 0 < minimum < 1 << 31:
            raise RefusedError(say("--min-member {minimum} must be above zero and below 2147483648", minimum=minimum))
        values[key_of("min-member", owner.where)] = minimum if owner.where == "PodGroup" else str(minimum)
    if wanted.total is not None:
        if wanted.total < minimum:
            raise RefusedError(
                say("--total {total} is less than minMember {minimum}", total=wanted.total, minimum=minimum)
            )
        values[PREFIX + "total-number"] = str(wanted.total)
    return values


def _one_of(option: str, value: str, allowed: Sequence[str]) -> str:
    if value not in allowed:
        raise RefusedError(
            say("{option} {value!r} is not one of {allowed}", option=option, value=value, allowed=", ".join(allowed))
        )
    return value


def seconds(written: str) -> int:
    """Return a duration such as `600`, `90s` or `1h30m` in whole seconds.

    Raises RefusedError when it is none, or not above zero.
    """
    steps = _STEP.findall(written)
    if written.isascii() and written.isdecimal():
        total = int(written)
    elif steps and "".join(number + unit for number, unit in steps) == written:
        total = sum(int(number) * _SECONDS[unit] for number, unit in steps)
    else:
        raise RefusedError(
            say("--waiting-time {written!r} is not a duration such as 90s, 10m or 1h30m", written=written)
        )
    if not 0 < total < 1 << 31:
        raise RefusedError(say("--waiting-time {written!r} must be above zero and below 68 years", written=written))
    return total


def _topology_spec(owner: AnnotatedGang, wanted: WantedSettings) -> str:
    rules: dict[str, GatherRule] = {}
    if not wanted.must_gather and not wanted.prefer_gather:
        rules = {rule.layer: rule for rule in gather_rules(owner.topology)[0] or ()}
    for layer in wanted.prefer_gather:
        rules[layer] = GatherRule(layer, "PreferGather")
    for layer in wanted.must_gather:
        rules[layer] = GatherRule(layer, "MustGather")
    for layer, number in map(_multiple, wanted.multiples):
        rule = rules.get(layer, GatherRule(layer, "PreferGather"))
        rules[layer] = structs.replace(rule, multiple=number)
    if owner.snapshot is not None:
        _check_layers(owner.snapshot, rules)
    written: list[dict[str, Any]] = [
        {"layer": rule.layer, "strategy": rule.strategy}
        | ({"podCountMultiple": rule.multiple} if rule.multiple > 1 else {})
        for rule in rules.values()
    ]
    return json.dumps({"gatherStrategy": written})


def _multiple(written: str) -> tuple[str, int]:
    layer, _, number = written.partition("=")
    if not layer or not number.isascii() or not number.isdecimal() or not 0 < int(number) < 1 << 31:
        raise RefusedError(say("--multiple {written!r} must be LAYER=N with N above zero", written=written))
    return layer, int(number)


def _check_layers(snapshot: Snapshot, layers: Iterable[str]) -> None:
    refuse_unread(coverage.unread(snapshot, "layers"))
    built = tree.tree_of(snapshot)
    if isinstance(built, tree.NoTree):
        raise RefusedError(no_tree(built.fault))
    for layer in layers:
        if layer not in built.layers:
            raise RefusedError(
                say(
                    "layer {layer!r} is not in the topology{did_you_mean}",
                    layer=layer,
                    did_you_mean=_did_you_mean(nearest(layer, built.layers)),
                )
            )


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name that may have been meant, empty where none is near."""
    return next(iter(near(name, known, 1)), "")


def group_ids(written: Sequence[str], namespace: str) -> list[str]:
    """Return the gang ids that were typed: names with commas between them, those without a namespace in this one."""
    return [
        name if "/" in name else f"{namespace}/{name}"
        for part in written
        for name in (piece.strip() for piece in part.split(","))
        if name
    ]


def _groups(owner: AnnotatedGang, written: Sequence[str]) -> str:
    wanted = group_ids(written, owner.key.partition("/")[0])
    if owner.snapshot is not None:
        known = gangs.all_gangs(owner.snapshot)
        for key in wanted:
            if key not in known and key not in owner.others:
                refuse_unread(coverage.unread(owner.snapshot, "members", key.partition("/")[0]))
                raise RefusedError(no_gang(key, nearest(key, known)))
    if owner.key not in wanted:
        raise RefusedError(
            say("--groups must include {key} itself: the scheduler takes the list literally", key=owner.key)
        )
    return json.dumps(sorted(set(wanted)))


def refuse_unread(gaps: tuple[Gap, ...]) -> None:
    """Refuse what rests on kinds that could not be read. Raises RefusedError where there are any."""
    if gaps:
        raise RefusedError(could_not_be_read(gaps))
