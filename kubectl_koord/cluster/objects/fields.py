"""Fields that several kinds share: metadata, selectors, taints, durations, integers, and JSON as Go reads it."""

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from functools import lru_cache
from sys import intern
from typing import Annotated, Any, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta as Limits
from msgspec import Struct, field, structs

from kubectl_koord.cluster.bounds import decoder
from kubectl_koord.cluster.objects.pool import Amounts, Nano, amounts
from kubectl_koord.model import reservations, values
from kubectl_koord.model.hardware import MOST_CPUS, CPUSet


def decode(written: str, form: Any) -> Any:  # noqa: ANN401 - `form | None` is no type that could be written
    """Return JSON text decoded into a msgspec type, with keys of any case as Go takes them.

    Of several keys that mean the same field the last one counts (Go joins what such objects hold). A text whose keys
    have the case of the fields, as nearly all do, is decoded at once.

    Raises msgspec.MsgspecError when the text is no JSON, or not of that form. Raises RecursionError when it is nested
    too deeply.
    """
    if _is_usual(written, form):
        return _decoder(form).decode(written)
    return _decoder(form).decode(msgspec.json.encode(_named(msgspec.json.decode(written), form)))


_decoder = lru_cache(maxsize=64)(decoder)


def _is_usual(written: str, form: Any) -> bool:  # noqa: ANN401 - as `decode`
    """Tell whether no field is named in another case than its own."""
    folded = written.casefold()
    return all(folded.count(low) == written.count(name) for name, low in _names(form))


@lru_cache(maxsize=64)
def _names(form: Any) -> tuple[tuple[str, str], ...]:  # noqa: ANN401 - as `decode`
    """Return the keys of all fields of a type, and of those within, as they stand in JSON and in lower case."""
    return tuple((f'"{name}"', f'"{name.casefold()}"') for name in sorted(set(_keys(form))))


def _keys(form: Any) -> Iterator[str]:  # noqa: ANN401 - as `decode`
    if _is_struct(form):
        for name, inner in _fields(form).values():
            yield name
            yield from _keys(inner)
    for inner in get_args(form):
        yield from _keys(inner)


@lru_cache(maxsize=64)
def _fields(form: type[Struct]) -> Mapping[str, tuple[str, Any]]:
    """Return the fields of a struct by their names in lower case: the names in JSON, and the types."""
    types = get_type_hints(form)
    names = zip(form.__struct_encode_fields__, form.__struct_fields__, strict=True)
    return {name.casefold(): (name, types[field]) for name, field in names}


def _is_struct(form: Any) -> bool:  # noqa: ANN401 - as `decode`
    return isinstance(form, type) and issubclass(form, Struct)


def _named(value: Any, form: Any) -> Any:  # noqa: ANN401 - any JSON value, and as `decode`
    """Return a value with the keys of its structs as their fields are named; other keys of these are left out."""
    if isinstance(value, list):
        inner = next((get_args(one)[0] for one in _options(form) if get_origin(one) is list), None)
        return [_named(part, inner) for part in value]
    if not isinstance(value, dict):
        return value
    for one in _options(form):
        if _is_struct(one):
            found = ((_fields(one).get(key.casefold()), part) for key, part in value.items())
            return {field[0]: _named(part, field[1]) for field, part in found if field is not None}
    inner = next((get_args(one)[1] for one in _options(form) if get_origin(one) is dict), None)
    return {key: _named(part, inner) for key, part in value.items()}


def _options(form: Any) -> tuple[Any, ...]:  # noqa: ANN401 - as `decode`
    """Return the types that a value may have, which are one but for null and numbers."""
    return (form,) if get_origin(form) in {list, dict} else (form, *get_args(form))


T = TypeVar("T")

_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)


def cpu_set(written: str | None) -> CPUSet | None:
    """Return the set of the CPUs; None for what is no such list. Mirrors `Parse` in pkg/util/cpuset."""
    found = 0
    if not written:
        return found
    for part in written.split(","):
        match = _RANGE.fullmatch(part)
        if match is None:
            return None
        low, high = int(match[1]), int(match[2] or match[1])
        if high >= MOST_CPUS:
            return None
        found |= max(0, (1 << high + 1) - (1 << low))
    return found


def annotation(annotations: Mapping[str, str | None], name: str, form: type[T]) -> T | None:
    """Return the decoded JSON of an annotation, None where it is missing or of another type."""
    written = annotations.get(name)
    if not written:
        return None
    try:
        found: T = decode(written, form)
    except (ValueError, RecursionError):
        return None
    return found


class CEL(Struct, gc=False):
    """selectors[].cel."""

    expression: str = ""


class CELSelector(Struct, gc=False):
    """One selector of a DeviceClass or of a request."""

    cel: CEL | None = None


def expressions(written: Iterable[CELSelector] | None) -> tuple[str, ...]:
    """Return the expressions, an empty one for a selector of another kind."""
    return tuple(one.cel.expression if one.cel else "" for one in written or ())


_MOST = 1 << 8
_PART = re.compile(r"(\d{1,18}(?:\.\d{0,18})?|\.\d{1,18})(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}


@lru_cache(_MOST)
def seconds(written: str) -> float | None:
    """Return the seconds of a duration (0 where nothing is written), None for a text that is none."""
    sign = -1 if written.startswith("-") else 1
    rest = written[1:] if written[:1] in {"+", "-"} else written
    if rest in {"", "0"}:
        return None if written in {"+", "-"} else 0
    parts = _PART.findall(rest)
    if "".join(number + unit for number, unit in parts) != rest:
        return None
    return sign * sum(float(number) * _SECONDS[unit] for number, unit in parts)


_WRITTEN = re.compile(r"([+-]?)0*([0-9]{1,19})")


def parse_int(text: str | None) -> int | None:
    """Return what strconv.ParseInt and Atoi read as 64 bits, None for what they do not."""
    found = _WRITTEN.fullmatch(text or "")
    value = int(found[1] + found[2]) if found else None
    return value if value is not None and -(1 << 63) <= value < 1 << 63 else None


class _KeptBack(Struct, gc=False):
    """node.koordinator.sh/reservation."""

    resources: Amounts | None = None
    reserved_cpus: str | None = field(default=None, name="reservedCPUs")
    policy: str | None = field(default=None, name="applyPolicy")


@lru_cache(maxsize=1024)
def kept_back(annotation: str) -> Nano:
    """Return what is kept back, one object for equal texts; nothing where that cannot be read."""
    try:
        read: _KeptBack | None = decode(annotation, _KeptBack | None)
        if read is None or (read.policy or "Default") != "Default":
            return {}
        reserved = amounts(read.resources)
    except (ValueError, RecursionError):
        return {}
    cpus = cpu_set(read.reserved_cpus)
    if cpus is None:
        return {}
    if read.reserved_cpus:
        reserved["cpu"] = cpus.bit_count() * values.NANO
    return reserved


Int32: TypeAlias = Annotated[int, Limits(ge=-(1 << 31), le=(1 << 31) - 1)]
Int64: TypeAlias = Annotated[int, Limits(ge=-(1 << 63), le=(1 << 63) - 1)]
Strings: TypeAlias = Mapping[str, str]


class Owner(Struct, gc=False, rename="camel"):
    """metadata.ownerReferences[]."""

    kind: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""
    controller: bool | None = None


class Meta(Struct, gc=False, rename="camel"):
    """metadata."""

    name: str = ""
    namespace: str | None = None
    uid: str | None = None
    labels: dict[str, str | None] | None = None
    annotations: dict[str, str | None] | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    resource_version: str | None = None
    owner_references: list[Owner] | None = None


class Named(Struct, gc=False):
    """An object whose metadata alone is read."""

    metadata: Meta


class Condition(Struct, gc=False, rename="camel"):
    """status.conditions[] of a Pod or a Node."""

    type: str = ""
    status: str = ""
    reason: str | None = None
    message: str | None = None
    last_transition_time: str | None = None


def namespace(meta: Meta) -> str:
    """Return the object's namespace; `default` where a hand-written file leaves it out."""
    return intern(meta.namespace or "default")


def owner(meta: Meta) -> str:
    """Return the owner of an object as `Kind/name`, its controller first, empty without an owner."""
    owners = meta.owner_references
    if not owners:
        return ""
    found = next((o for o in owners if o.controller), owners[0]) if len(owners) > 1 else owners[0]
    return intern(f"{found.kind}/{found.name}")


def strings(written: Mapping[str, str | None] | None) -> Strings:
    """Return annotations or labels with null read as empty."""
    return {key: value or "" for key, value in (written or {}).items()}


def mapping(written: object) -> dict[str, Any]:
    """Return a mapping, an empty one for any other value."""
    return written if isinstance(written, dict) else {}


def mappings(written: object) -> list[dict[str, Any]]:
    """Return the mappings that a list holds, none for any other value."""
    return [one for one in written if isinstance(one, dict)] if isinstance(written, list) else []


def texts(written: object) -> tuple[str, ...]:
    """Return the texts that a list holds, none for any other value."""
    return tuple(one for one in written if isinstance(one, str)) if isinstance(written, list) else ()


def arguments_of(profile: Mapping[str, Any], plugin: str) -> dict[str, Any]:
    """Return the arguments that a profile of a configuration has for a plugin."""
    found = (one for one in mappings(profile.get("pluginConfig")) if one.get("name") == plugin)
    return mapping(next(found, {}).get("args"))


def names_of(written: object) -> list[str]:
    """Return the names of the mappings that a list holds, empty for one without."""
    return [str(one.get("name") or "") for one in mappings(written)]


class Expression(Struct, gc=False, omit_defaults=True):
    """matchExpressions[]."""

    key: str = ""
    operator: str = ""
    values: list[str] | None = None


class LabelSelector(Struct, gc=False, omit_defaults=True, rename="camel"):
    """A metav1.LabelSelector."""

    match_labels: dict[str, str] | None = None
    match_expressions: list[Expression] | None = None


class NodeSelectorTerm(Struct, gc=False, omit_defaults=True, rename="camel"):
    """One term of a node selector."""

    match_expressions: list[Expression] | None = None
    match_fields: list[Expression] | None = None


class NodeSelector(Struct, gc=False, omit_defaults=True, rename="camel"):
    """What a node affinity or a volume requires of nodes."""

    node_selector_terms: list[NodeSelectorTerm] | None = None


class Toleration(Struct, gc=False, omit_defaults=True):
    """A taint of nodes that is tolerated."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


def label_selector(written: LabelSelector | None) -> values.Selector | None:
    """Return a label selector as a value; None, which matches nothing, where none is written."""
    if written is None:
        return None
    equal = sorted((written.match_labels or {}).items())
    exact = tuple(values.Requirement(key, "In", (value,)) for key, value in equal)
    return values.Selector(exact + label_requirements(written.match_expressions))


def node_terms(selector: NodeSelector) -> tuple[values.NodeTerm, ...]:
    """Return the terms of a node selector, of which one must hold."""
    return tuple(
        values.NodeTerm(labels=label_requirements(term.match_expressions), fields=label_requirements(term.match_fields))
        for term in selector.node_selector_terms or ()
    )


def label_requirements(expressions: Iterable[Expression] | None) -> tuple[values.Requirement, ...]:
    """Return matchExpressions as values."""
    return tuple(values.Requirement(e.key, e.operator, tuple(e.values or ())) for e in expressions or ())


class OwnerObject(Struct, gc=False, rename="camel"):
    """owners[].object."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    api_version: str = ""


class OwnerController(Struct, gc=False, rename="camel"):
    """owners[].controller."""

    kind: str = ""
    name: str = ""
    namespace: str = ""
    uid: str = ""
    api_version: str = ""
    controller: bool | None = None


class ReservationOwner(Struct, gc=False, rename="camel"):
    """owners[]."""

    object: OwnerObject | None = None
    controller: OwnerController | None = None
    label_selector: LabelSelector | None = None


def owners(written: Iterable[ReservationOwner]) -> tuple[reservations.ReservationOwner, ...]:
    """Return the owners as values."""
    return tuple(
        reservations.ReservationOwner(
            object=None if one.object is None else _owners_fields(one.object, reservations.OwnerObject),
            controller=None if one.controller is None else _owners_fields(one.controller, reservations.OwnerController),
            selector=label_selector(one.label_selector),
        )
        for one in written
    )


def _owners_fields(written: Struct, wanted: Any) -> Any:  # noqa: ANN401
    return wanted(**structs.asdict(written))


def references(meta: Meta) -> tuple[reservations.OwnerReference, ...]:
    """Return the ownerReferences of an object as values."""
    return tuple(
        reservations.OwnerReference(one.kind, one.name, one.uid, one.api_version, one.controller)
        for one in meta.owner_references or ()
    )


SHARED_T = TypeVar("SHARED_T", bound=Hashable)

_SHARED_MOST = 1 << 14


def shared(value: SHARED_T) -> SHARED_T:
    """Return the first of the equal values that were seen lately, so that the others are not kept."""
    found: SHARED_T = _first(value)
    return found


def forget() -> None:
    """Keep no value any more for who is yet to come: all is read."""
    _first.cache_clear()


@lru_cache(_SHARED_MOST)
def _first(value: SHARED_T) -> SHARED_T:
    return value


class Taint(Struct, gc=False):
    """spec.taints[]."""

    key: str = ""
    value: str = ""
    effect: str = ""


def taints(written: Iterable[Taint] | None) -> tuple[values.Taint, ...]:
    """Return taints as values."""
    return tuple([values.Taint(one.key, one.value, one.effect) for one in written]) if written else ()
