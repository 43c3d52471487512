"""The settings of a gang that are written as JSON: its group and its topology spec, as Go decodes them."""

import json
from typing import Any, NoReturn, TypeAlias

from msgspec import Struct


class GatherRule(Struct, frozen=True):
    """One rule of a gang's topology spec."""

    layer: str
    strategy: str
    multiple: int = 0


Spec: TypeAlias = tuple[GatherRule, ...] | None
"""The topology spec of a gang; None for a gang without a readable one."""


def listed_ids(written: str | None, own: str) -> tuple[tuple[str, ...], str]:
    """Return the ids of the group, sorted, and `groups` when the JSON is no list (own id stands in).

    Whatever is no string in a list is an empty id: Go's decoder goes on behind it, and what it has decoded counts.
    Mirrors `StringToGangGroupSlice`.
    """
    if not written:
        return (own,), ""
    try:
        listed = _decoded(written)
    except (ValueError, RecursionError):
        return (own,), "groups"
    if listed is not None and not isinstance(listed, list):
        return (own,), "groups"
    return tuple(sorted(item if isinstance(item, str) else "" for item in listed or ())) or (own,), ""


def gather_rules(written: str | None, *, with_multiples: bool = True) -> tuple[Spec, str]:
    """Return the rules of a topology spec, and `network-topology-spec` when it does not parse.

    Upstream logs such a spec and schedules the gang without topology. Keys match whatever their
    case, as Go's JSON decoder does. Mirrors `GetNetworkTopologySpec`.

    Args:
        written: the annotation.
        with_multiples: whether the version decodes `podCountMultiple`: one that does not takes whatever is written.

    """
    if not written:
        return None, ""
    try:
        spec = _decoded(written)
        found = tuple(_rule(rule, with_multiples=with_multiples) for rule in _field(spec, "gatherStrategy", list, []))
    except (ValueError, TypeError, RecursionError):
        return None, "network-topology-spec"
    return found, ""


def _decoded(written: str) -> Any:  # noqa: ANN401
    """Return what JSON holds; NaN and Infinity, which Python alone would read, make it none."""
    return json.loads(written, parse_constant=_refuse)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _rule(rule: Any, *, with_multiples: bool) -> GatherRule:  # noqa: ANN401
    layer, strategy = _field(rule, "layer", str, ""), _field(rule, "strategy", str, "")
    try:
        multiple = _field(rule, "podCountMultiple", int, 0)
    except TypeError:
        if with_multiples:
            raise
        multiple = 0
    return GatherRule(layer, strategy, multiple)


def _field(value: Any, name: str, wanted: type, default: Any) -> Any:  # noqa: ANN401
    """Return a field as Go would decode it: null and absence are the zero value; the last of several spellings wins."""
    if value is None:
        return default
    if not isinstance(value, dict):
        raise TypeError(name)
    found = default
    for key, other in value.items():
        if other is None or key.lower() != name.lower():
            continue
        if not isinstance(other, wanted) or isinstance(other, bool):
            raise TypeError(name)
        found = other
    return found
