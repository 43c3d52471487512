"""The JSON answers of the scheduler's endpoints (`/apis/v1/...`) as values."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, field

from kubectl_koord.cluster.objects.pool import Amounts, limits
from kubectl_koord.errors import KoordError
from kubectl_koord.language import say
from kubectl_koord.model.objects import (
    CPUSummary,
    DeviceSummary,
    GangSummary,
    NodeSummary,
    QuotaSummary,
    ReservationSummary,
)
from kubectl_koord.model.values import QuantityError, Resources

T = TypeVar("T")
_FROM_GROUP = "GangFromPodGroupCrd"
_QUOTA_FIELDS = ("min", "max", "used", "request", "runtime")
_MOST_CPUS = 1 << 14


class _Group(Struct, rename="pascal"):
    representative_pod_key: str = ""


class _Gang(Struct, rename="camel"):
    name: str
    mode: str = ""
    gang_match_policy: str = ""
    min_required_number: int = 0
    gang_group: list[str] | None = None
    children: dict[str, Any] | None = None
    pending_children: dict[str, Any] | None = None
    waiting_for_bind_children: dict[str, Any] | None = None
    bound_children: dict[str, Any] | None = None
    once_resource_satisfied: bool = False
    gang_group_info: _Group | None = None
    gang_from: str = ""
    has_gang_init: bool = False


class _Quota(Struct, rename="camel"):
    name: str
    parent_name: str = ""
    min: Amounts | None = None
    max: Amounts | None = None
    used: Amounts | None = None
    request: Amounts | None = None
    runtime: Amounts | None = None


class _Meta(Struct):
    name: str = ""
    namespace: str = ""

    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


class _Pod(Struct):
    metadata: _Meta = field(default_factory=_Meta)


class _PodInfo(Struct, rename="pascal"):
    pod: _Pod = field(default_factory=_Pod)


class _Resource(Struct, rename="pascal"):
    milli_cpu: int = field(default=0, name="MilliCPU")
    memory: int = 0
    ephemeral_storage: int = 0
    scalar_resources: dict[str, int] | None = None


class _Node(Struct):
    node: _Pod = field(default_factory=_Pod)
    pods: list[_PodInfo] | None = None
    requested: _Resource = field(default_factory=_Resource)
    allocatable: _Resource = field(default_factory=_Resource)


class _Devices(Struct, rename="camel"):
    device_total_detail: dict[str, dict[str, Amounts]] | None = None
    device_free_detail: dict[str, dict[str, Amounts]] | None = None
    allocate_set: dict[str, dict[str, dict[str, Any]]] | None = None


class _PodCPUs(Struct):
    namespace: str = ""
    name: str = ""
    cpuset: str = ""


class _CPUs(Struct, rename="camel"):
    name: str = ""
    available_cpus: str = field(default="", name="availableCPUs")
    allocated_pods: list[_PodCPUs] | None = None


class _Assigned(Struct, rename="pascal"):
    namespace: str = ""
    name: str = ""


class _Reservation(Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    kind: str = ""
    allocatable: Amounts | None = None
    allocated: Amounts | None = None
    assigned_pods: list[_Assigned] | None = None


class _Reservations(Struct):
    items: list[_Reservation] | None = None


def gangs(text: bytes, source: str) -> dict[str, GangSummary]:
    """Return the gangs of an answer to `gangs`, or the one of an answer to `gang`, by their keys.

    Raises KoordError when the text is neither.
    """
    found = _one_or_many(text, _Gang, source)
    return {gang.name: _gang(gang) for gang in found}


def quotas(text: bytes, source: str) -> dict[str, QuotaSummary]:
    """Return the quotas of an answer, all of them or one, by name. Raises KoordError when the text is neither."""
    found = _one_or_many(text, _Quota, source)
    amounts = ({name: _amounts(getattr(one, name), source) for name in _QUOTA_FIELDS} for one in found)
    return {one.name: QuotaSummary(one.name, one.parent_name, some) for one, some in zip(found, amounts, strict=True)}


def node(text: bytes, source: str) -> NodeSummary:
    """Return the node of an answer. Raises KoordError when the text is none."""
    found = _decoded(text, _Node, source)
    pods = frozenset(one.pod.metadata.key() for one in found.pods or ())
    return NodeSummary(found.node.metadata.name, pods, _resource(found.requested), _resource(found.allocatable))


def devices(text: bytes, source: str) -> tuple[DeviceSummary, ...]:
    """Return the devices of all nodes of an answer, in the order of nodes, types and minors.

    Raises KoordError when the text is none.
    """
    found = _decoded(text, dict[str, _Devices], source)
    return tuple(one for name, devices in sorted(found.items()) for one in _devices(name, devices, source))


def devices_of(text: bytes, source: str, name: str) -> tuple[DeviceSummary, ...]:
    """Return the devices of an answer that is about one node. Raises KoordError when the text is none."""
    return tuple(_devices(name, _decoded(text, _Devices, source), source))


def cpus(text: bytes, source: str) -> CPUSummary:
    """Return the CPUs of an answer. Raises KoordError when the text is none."""
    found = _decoded(text, _CPUs, source)
    pods = {f"{pod.namespace}/{pod.name}": _numbers(pod.cpuset, source) for pod in found.allocated_pods or ()}
    return CPUSummary(found.name, _numbers(found.available_cpus, source), {key: pods[key] for key in sorted(pods)})


def reservations(text: bytes, source: str) -> dict[str, ReservationSummary]:
    """Return the Reservations of an answer by name; a pod that is one is `namespace/name`.

    Raises KoordError when the text is none.
    """
    items = _decoded(text, _Reservations, source).items or ()
    found = (
        ReservationSummary(
            name="/".join(filter(None, [one.namespace, one.name])),
            kind=one.kind,
            allocatable=_amounts(one.allocatable, source),
            allocated=_amounts(one.allocated, source),
            pods=frozenset(f"{pod.namespace}/{pod.name}" for pod in one.assigned_pods or ()),
        )
        for one in items
    )
    return {one.name: one for one in sorted(found, key=lambda one: one.name)}


def services(text: bytes, source: str) -> tuple[str, ...]:
    """Return the paths that may be asked with GET. Raises KoordError when the text tells of none."""
    return tuple(_decoded(text, dict[str, list[str]], source).get("GET", ()))


def _gang(wire: _Gang) -> GangSummary:
    info = wire.gang_group_info
    return GangSummary(
        key=wire.name,
        minimum=wire.min_required_number if wire.has_gang_init else None,
        mode=wire.mode,
        match_policy=wire.gang_match_policy,
        group=tuple(sorted(wire.gang_group or ())),
        defined_by="PodGroup" if wire.gang_from == _FROM_GROUP else "pods",
        satisfied=wire.once_resource_satisfied,
        children=frozenset(wire.children or ()),
        pending=frozenset(wire.pending_children or ()),
        waiting=frozenset(wire.waiting_for_bind_children or ()),
        bound=frozenset(wire.bound_children or ()),
        representative=info.representative_pod_key if info is not None else "",
    )


def _devices(name: str, wire: _Devices, source: str) -> Iterable[DeviceSummary]:
    free, held = wire.device_free_detail or {}, wire.allocate_set or {}
    for kind, minors in sorted((wire.device_total_detail or {}).items()):
        for minor, total in sorted(minors.items(), key=lambda one: _number(one[0], source)):
            yield DeviceSummary(
                node=name,
                type=kind,
                minor=_number(minor, source),
                total=_amounts(total, source),
                free=_amounts(free.get(kind, {}).get(minor), source),
                pods=frozenset(pod for pod, some in held.get(kind, {}).items() if minor in some),
            )


def _resource(wire: _Resource) -> Resources:
    amounts: Mapping[str, int] = {
        "cpu": wire.milli_cpu,
        "memory": wire.memory,
        "ephemeral-storage": wire.ephemeral_storage,
        **(wire.scalar_resources or {}),
    }
    return tuple((name, amounts[name]) for name in sorted(amounts) if amounts[name])


def _amounts(written: Amounts | None, source: str) -> Resources:
    try:
        return tuple((name, amount) for name, amount in limits(written) if amount)
    except QuantityError as problem:
        raise KoordError(say("error: {source}: {problem}", source=source, problem=problem)) from None


def _number(text: str, source: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(_MOST_CPUS))):
        raise KoordError(
            say("error: {source}: {text!r} is not the number of a device or CPU", source=source, text=text[:20])
        )
    return int(text)


def _numbers(text: str, source: str) -> frozenset[int]:
    """Return the numbers of a list such as `0-3,8`."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, dash, last = part.partition("-")
        least = _number(first, source)
        found.update(range(least, min(_number(last, source) if dash else least, _MOST_CPUS) + 1))
    return frozenset(found)


def _one_or_many(text: bytes, kind: type[T], source: str) -> list[T]:
    """Return the values of an object of them, or the only one, which has a name itself."""
    fields = _decoded(text, dict[str, msgspec.Raw], source)
    if bytes(fields.get("name", b"")).startswith(b'"'):
        return [_decoded(text, kind, source)]
    return [_decoded(bytes(raw), kind, source) for raw in fields.values()]


def _decoded(text: bytes, kind: type[T], source: str) -> T:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
        raise KoordError(
            say("error: {source} is no such answer of the scheduler: {problem}", source=source, problem=problem)
        ) from None
