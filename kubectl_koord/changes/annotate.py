"""Changes to the annotations of PodGroups and their pods, validated against the cluster as it is."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from kubectl_koord.diagnosis import coverage, visibility
from kubectl_koord.engine import gangs, tree
from kubectl_koord.engine.gangs import GatherRule
from kubectl_koord.engine.subjects import GangSubject, PodSubject, Subject
from kubectl_koord.explain.why import why
from kubectl_koord.model.objects import PodGroup
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.snapshot import Gap, Snapshot
from kubectl_koord.reports.change import Change, ChangePlan, Effect, ObjectName, VerdictSummary
from kubectl_koord.reports.codes import CauseCode
from kubectl_koord.reports.common import Notice
from kubectl_koord.wording.basis import could_not_be_read
from kubectl_koord.wording.suggestions import near

PREFIX = "gang.scheduling.koordinator.sh/"
SPEC = PREFIX + "network-topology-spec"
INDEX = PREFIX + "network-topology-index"
TIMEOUT = "spec.scheduleTimeoutSeconds"
MODES = ("Strict", "NonStrict")
POLICIES = ("only-waiting", "waiting-and-running", "once-satisfied")
_STEP = re.compile(r"(\d+)(h|m|s)")
_SECONDS = {"h": 3600, "m": 60, "s": 1}
_RANK = re.compile(r"(\d+)$")


class RefusedError(ValueError):
    """Something that was asked for cannot be: one sentence for the user."""


class Wanted(Struct, frozen=True):
    """What the user asks to set; empty means untouched. `multiples` and `groups` are as typed."""

    must_gather: tuple[str, ...] = ()
    prefer_gather: tuple[str, ...] = ()
    multiples: tuple[str, ...] = ()
    mode: str = ""
    match_policy: str = ""
    groups: tuple[str, ...] = ()
    waiting_time: str = ""
    total: int | None = None


def pod_group_plan(snapshot: Snapshot, key: str, wanted: Wanted, *, overwrite: bool) -> ChangePlan:
    """Return the plan for one PodGroup, with what why-pending answers before and after.

    Raises:
        RefusedError: when the PodGroup, a layer or a gang does not exist, or could not be read, a value is invalid,
            or a key has another value already and `overwrite` is not set.

    """
    group = snapshot.pod_groups.get(key)
    if group is None:
        _refuse_unread(visibility.unread(snapshot, "podgroup", key.partition("/")[0]))
        raise RefusedError(_nearest(f"podgroup {key!r} not found", key, snapshot.pod_groups))
    after = _wanted_values(snapshot, group, wanted)
    if not after:
        raise RefusedError("nothing to set: give at least one of --must-gather, --prefer-gather, --multiple, --mode, "
                      "--match-policy, --groups, --waiting-time, --total")  # fmt: skip
    before = {name: _value(group, name) for name in after}
    changed = {name: value for name, value in after.items() if before[name] != value}
    _refuse_overwriting(before, changed, overwrite=overwrite)
    planned = _with_values(group, after)
    later = structs.replace(snapshot, pod_groups={**snapshot.pod_groups, key: planned})
    name = ObjectName("PodGroup", group.namespace, group.name)
    changes = (_change(name, before, changed, group.resource_version),) if changed else ()
    return _plan(snapshot, later, key, changes)


def index_plan(snapshot: Snapshot, subject: Subject, *, overwrite: bool) -> ChangePlan:
    """Return the plan that gives each pending pod of a gang its rank, the number that its name ends in.

    Raises:
        RefusedError: when there is no gang, its pods could not all be read, a name ends in no number, two pods
            share one, or an index is set already.

    """
    if isinstance(subject, PodSubject):
        raise RefusedError(f"pod {subject.key} belongs to no gang")
    _refuse_unread(visibility.unread_members(subject, snapshot))
    ranks: dict[tuple[str, int], str] = {}
    changes = []
    for pod in subject.pending:
        rank = _rank(pod)
        if (pod.gang, rank) in ranks:
            raise RefusedError(f"pods {ranks[pod.gang, rank]} and {pod.key} end in the same number {rank}")
        ranks[pod.gang, rank] = pod.key
        before = {INDEX: None if pod.index is None else str(pod.index)}
        changed: dict[str, str | int] = {INDEX: str(rank)} if pod.index != rank else {}
        _refuse_overwriting(before, changed, overwrite=overwrite)
        if changed:
            name = ObjectName("Pod", pod.namespace, pod.name)
            changes.append(_change(name, before, changed, pod.resource_version))
    if not subject.pending:
        raise RefusedError(f"{subject.key} has no pending pods")
    by_key = {key: rank for (_, rank), key in ranks.items()}
    later = structs.replace(
        snapshot,
        pending=tuple(
            structs.replace(pod, index=by_key[pod.key]) if pod.key in by_key else pod for pod in snapshot.pending
        ),
    )
    return _plan(snapshot, later, subject.key, tuple(changes))


def _rank(pod: PendingPod) -> int:
    match = _RANK.search(pod.name)
    if match is None:
        raise RefusedError(f"pod {pod.key} has no number at the end of its name: cannot derive its index")
    return int(match[1])


def _wanted_values(snapshot: Snapshot, group: PodGroup, wanted: Wanted) -> dict[str, str | int]:
    values: dict[str, str | int] = {}
    if wanted.must_gather or wanted.prefer_gather or wanted.multiples:
        values[SPEC] = _topology_spec(snapshot, group, wanted)
    if wanted.mode:
        values[PREFIX + "mode"] = _one_of("--mode", wanted.mode, MODES)
    if wanted.match_policy:
        values[PREFIX + "match-policy"] = _one_of("--match-policy", wanted.match_policy, POLICIES)
    if wanted.groups:
        values[PREFIX + "groups"] = _groups(snapshot, group, wanted.groups)
    if wanted.waiting_time:
        values[TIMEOUT] = seconds(wanted.waiting_time)
    if wanted.total is not None:
        if wanted.total < group.min_member:
            raise RefusedError(f"--total {wanted.total} is less than minMember {group.min_member}")
        values[PREFIX + "total-number"] = str(wanted.total)
    return values


def _one_of(option: str, value: str, allowed: Sequence[str]) -> str:
    if value not in allowed:
        raise RefusedError(f"{option} {value!r} is not one of {', '.join(allowed)}")
    return value


def seconds(written: str) -> int:
    """Return a duration such as `600`, `90s` or `1h30m` in whole seconds.

    Raises:
        RefusedError: when it is none, or not above zero.

    """
    steps = _STEP.findall(written)
    if written.isascii() and written.isdecimal():
        total = int(written)
    elif steps and "".join(number + unit for number, unit in steps) == written:
        total = sum(int(number) * _SECONDS[unit] for number, unit in steps)
    else:
        raise RefusedError(f"--waiting-time {written!r} is not a duration such as 90s, 10m or 1h30m")
    if not 0 < total < 1 << 31:
        raise RefusedError(f"--waiting-time {written!r} must be above zero and below 68 years")
    return total


def _topology_spec(snapshot: Snapshot, group: PodGroup, wanted: Wanted) -> str:
    rules: dict[str, GatherRule] = {}
    if not wanted.must_gather and not wanted.prefer_gather:
        rules = {rule.layer: rule for rule in gangs.gather_rules(group.topology)[0] or ()}
    for layer in wanted.prefer_gather:
        rules[layer] = GatherRule(layer, "PreferGather")
    for layer in wanted.must_gather:
        rules[layer] = GatherRule(layer, "MustGather")
    for layer, number in map(_multiple, wanted.multiples):
        rule = rules.get(layer, GatherRule(layer, "PreferGather"))
        rules[layer] = structs.replace(rule, multiple=number)
    _check_layers(snapshot, rules)
    written: list[dict[str, Any]] = [
        {"layer": rule.layer, "strategy": rule.strategy}
        | ({"podCountMultiple": rule.multiple} if rule.multiple > 1 else {})
        for rule in rules.values()
    ]
    return json.dumps({"gatherStrategy": written})


def _multiple(written: str) -> tuple[str, int]:
    layer, _, number = written.partition("=")
    if not layer or not number.isascii() or not number.isdecimal() or not 0 < int(number) < 1 << 31:
        raise RefusedError(f"--multiple {written!r} must be LAYER=N with N above zero")
    return layer, int(number)


def _check_layers(snapshot: Snapshot, layers: Iterable[str]) -> None:
    _refuse_unread(visibility.unread(snapshot, "layers"))
    built = tree.build(snapshot.topologies, snapshot.nodes)
    if isinstance(built, tree.NoTree):
        raise RefusedError(f"no layer to gather on: {built.message}")
    for layer in layers:
        if layer not in built.layers:
            raise RefusedError(_nearest(f"layer {layer!r} is not in the topology", layer, built.layers))


def _nearest(message: str, name: str, known: Iterable[str]) -> str:
    found = near(name, known, 1)
    return f"{message}, did you mean {found[0]}?" if found else message


def _groups(snapshot: Snapshot, group: PodGroup, written: Sequence[str]) -> str:
    known = gangs.all_gangs(snapshot)
    wanted = [
        name if "/" in name else f"{group.namespace}/{name}"
        for part in written
        for name in (piece.strip() for piece in part.split(","))
        if name
    ]
    for key in wanted:
        if key not in known:
            _refuse_unread(visibility.unread(snapshot, "members", key.partition("/")[0]))
            raise RefusedError(_nearest(f"gang {key!r} does not exist", key, known))
    if group.key not in wanted:
        raise RefusedError(f"--groups must include {group.key} itself: the scheduler takes the list literally")
    return json.dumps(sorted(set(wanted)))


def _refuse_unread(gaps: tuple[Gap, ...]) -> None:
    if gaps:
        raise RefusedError(could_not_be_read(gaps))


def _value(group: PodGroup, name: str) -> str | int | None:
    return group.timeout_seconds if name == TIMEOUT else dict(group.annotations).get(name)


def _refuse_overwriting(before: Mapping[str, object], changed: Mapping[str, object], *, overwrite: bool) -> None:
    for name in changed:
        if before[name] is not None and not overwrite:
            raise RefusedError(f"--overwrite is false but {name} is declared already: {before[name]}")


def _change(
    name: ObjectName,
    before: Mapping[str, str | int | None],
    changed: Mapping[str, str | int],
    resource_version: str,
) -> Change:
    annotations = {key: value for key, value in changed.items() if key != TIMEOUT}
    metadata: dict[str, Any] = {"resourceVersion": resource_version} if resource_version else {}
    if annotations:
        metadata["annotations"] = annotations
    patch: dict[str, Any] = {"metadata": metadata}
    if TIMEOUT in changed:
        patch["spec"] = {"scheduleTimeoutSeconds": changed[TIMEOUT]}
    return Change(name, {key: before[key] for key in changed}, dict(changed), patch, resource_version)


def _with_values(group: PodGroup, values: Mapping[str, str | int]) -> PodGroup:
    annotations = dict(group.annotations) | {key: str(value) for key, value in values.items() if key != TIMEOUT}
    timeout = values.get(TIMEOUT, group.timeout_seconds)
    return structs.replace(
        group,
        timeout_seconds=timeout if isinstance(timeout, int) else None,
        annotations=tuple(sorted(annotations.items())),
        mode=annotations.get(PREFIX + "mode", ""),
        match_policy=annotations.get(PREFIX + "match-policy", group.match_policy),
        groups=annotations.get(PREFIX + "groups"),
        topology=annotations.get(SPEC),
        total=annotations.get(PREFIX + "total-number"),
    )


def _plan(snapshot: Snapshot, later: Snapshot, key: str, changes: tuple[Change, ...]) -> ChangePlan:
    (before, _), (after, _) = (_outcome(one, key) for one in (snapshot, later))
    return ChangePlan(
        verdict="yes",
        basis=coverage.basis(snapshot),
        warnings=tuple(_new_oddities(snapshot, later, key)),
        changes=changes,
        applied=False,
        effect=Effect(before, after, worse=_badness(after) > _badness(before)),
        message="" if changes else f"{key} unchanged.",
    )


_WAITS: frozenset[CauseCode] = frozenset({"waiting-for-preemption", "waiting-for-retry", "being-deleted"})
_LACKS: frozenset[CauseCode] = frozenset(
    {"quota", "insufficient-slots", "insufficient-capacity", "no-feasible-node", "multiple-mismatch", "too-few-pods"}
)


def _badness(outcome: VerdictSummary) -> tuple[int, int]:
    """Return how bad an answer is: by its verdict, of two noes by what ends it.

    Time alone, more room or pods, somebody who mends a setting, nothing.
    """
    verdict = ("yes", "unknown", "no").index(outcome.verdict)
    if outcome.verdict != "no" or outcome.cause is None:
        return verdict, 0
    if outcome.cause == "never-fits":
        return verdict, 3
    return verdict, 0 if outcome.cause in _WAITS else 1 if outcome.cause in _LACKS else 2


def _outcome(snapshot: Snapshot, key: str) -> tuple[VerdictSummary, tuple[Notice, ...]]:
    report = why(snapshot, GangSubject(gangs.group_of(gangs.all_gangs(snapshot), key)), brief=True)
    cause = report.cause if report.verdict != "yes" else None  # the change itself makes the scheduler try again
    return VerdictSummary(
        report.verdict, cause.code if cause else None, cause.message if cause else ""
    ), report.warnings


def _new_oddities(snapshot: Snapshot, later: Snapshot, key: str) -> Iterable[Notice]:
    """Return the warnings that hold after the change, those about the reading left out."""
    general = set(coverage.general(snapshot))
    return (notice for notice in _outcome(later, key)[1] if notice not in general)
