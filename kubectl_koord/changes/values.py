"""The values that PodGroup settings are given, validated against the cluster as it is."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct, structs

from kubectl_koord.changes.settings import PREFIX, SPEC, TIMEOUT, Fields, Where, key_of
from kubectl_koord.diagnosis import visibility
from kubectl_koord.engine import gangs, tree
from kubectl_koord.engine.gang_settings import GatherRule, gather_rules
from kubectl_koord.model.snapshot import Gap, Snapshot
from kubectl_koord.wording.answers import changes as sentences
from kubectl_koord.wording.basis import could_not_be_read
from kubectl_koord.wording.suggestions import near

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

    Raises:
        RefusedError: when a layer or a gang does not exist, or could not be read, or a value is invalid.

    """
    values = _set(owner, wanted)
    for name in wanted.removed:
        key = key_of(name, owner.where)
        if not key:
            raise RefusedError(sentences.no_setting(name))
        if key in values:
            raise RefusedError(sentences.set_and_removed(name))
        values[key] = None
    if not values:
        raise RefusedError(sentences.NOTHING_TO_SET)
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
            raise RefusedError(sentences.minimum_out_of_range(minimum))
        values[key_of("min-member", owner.where)] = minimum if owner.where == "PodGroup" else str(minimum)
    if wanted.total is not None:
        if wanted.total < minimum:
            raise RefusedError(sentences.total_below_minimum(wanted.total, minimum))
        values[PREFIX + "total-number"] = str(wanted.total)
    return values


def _one_of(option: str, value: str, allowed: Sequence[str]) -> str:
    if value not in allowed:
        raise RefusedError(sentences.not_one_of(option, value, allowed))
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
        raise RefusedError(sentences.not_a_duration(written))
    if not 0 < total < 1 << 31:
        raise RefusedError(sentences.duration_out_of_range(written))
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
        raise RefusedError(sentences.not_a_multiple(written))
    return layer, int(number)


def _check_layers(snapshot: Snapshot, layers: Iterable[str]) -> None:
    refuse_unread(visibility.unread(snapshot, "layers"))
    built = tree.tree_of(snapshot)
    if isinstance(built, tree.NoTree):
        raise RefusedError(sentences.no_tree(built.fault))
    for layer in layers:
        if layer not in built.layers:
            raise RefusedError(sentences.no_layer(layer, nearest(layer, built.layers)))


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
                refuse_unread(visibility.unread(owner.snapshot, "members", key.partition("/")[0]))
                raise RefusedError(sentences.no_gang(key, nearest(key, known)))
    if owner.key not in wanted:
        raise RefusedError(sentences.groups_lack(owner.key))
    return json.dumps(sorted(set(wanted)))


def refuse_unread(gaps: tuple[Gap, ...]) -> None:
    """Refuse what rests on kinds that could not be read.

    Raises:
        RefusedError: where there are any.

    """
    if gaps:
        raise RefusedError(could_not_be_read(gaps))
