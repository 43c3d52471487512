"""Nodes and pods as protobuf: the fields that are read, by number, and how a message becomes an object."""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import cache, lru_cache
from importlib.util import find_spec
from typing import Any, NamedTuple, TypeAlias, TypeVar

from msgspec import DecodeError, convert

MIME = "application/vnd.kubernetes.protobuf"
"""The type of the content of protobuf as API servers write it."""
T = TypeVar("T")
Message: TypeAlias = Any
"""A message of the `protobuf` package, whose fields are attributes."""

# One message a line: field, number and type. `text` where none is said, `[x]` for several, `<x>` for several that
# are left as bytes, `{x}` for a map with such values, whose entries are left as bytes, `^x` for what JSON has among the
# fields of the message itself. These are the numbers of generated.proto in k8s.io/api/core/v1 and
# k8s.io/apimachinery/pkg/apis/meta/v1; all other fields are skipped. Of a `Placed` pod only sums are made.
_SCHEMA = """
TypeMeta: apiVersion 1, kind 2
ListMeta: resourceVersion 2, continue 3
Time: seconds 1 int
Some:
Text: key 1, value 2
Amount: key 1, value 2 Quantity
Quantity: string 1
Meta: name 1, namespace 3, uid 5, resourceVersion 6, creationTimestamp 8 time, deletionTimestamp 9 time, labels 11 {text}, annotations 12 {text}, ownerReferences 13 <Owner>
Owner: kind 1, name 3, uid 4, apiVersion 5, controller 6 bool
Condition: type 1, status 2, lastTransitionTime 4 time, reason 5, message 6
Node: metadata 1 Meta, spec 2 NodeSpec, status 3 NodeStatus
NodeSpec: unschedulable 4 bool, taints 5 [Taint]
Taint: key 1, value 2, effect 3
NodeStatus: capacity 1 {amount}, allocatable 2 {amount}, conditions 4 <Condition>
Pod: metadata 1 Meta, spec 2 PodSpec, status 3 PodStatus
PodSpec: volumes 1 [Volume], containers 2 [Container], nodeSelector 7 {text}, nodeName 10, affinity 18 Affinity, schedulerName 19, initContainers 20 [Container], tolerations 22 [Toleration], priority 25 int, preemptionPolicy 31, overhead 32 {amount}, topologySpreadConstraints 33 [Spread], schedulingGates 38 [Gate], resourceClaims 39 [Claim], resources 40 Resources, workloadRef 42 Gate, schedulingGroup 43 Group
Volume: name 1, volumeSource 2 ^Source
Source: gcePersistentDisk 3 Some, awsElasticBlockStore 4 Some, iscsi 8 Some, persistentVolumeClaim 10 ClaimSource, rbd 11 Some, azureDisk 22 Some, ephemeral 29 Some
ClaimSource: claimName 1
Container: ports 6 [Port], resources 8 Resources, restartPolicy 24
Port: hostPort 2 int, containerPort 3 int, protocol 4, hostIP 5
Resources: limits 1 {amount}, requests 2 {amount}, claims 3 [ContainerClaim]
ContainerClaim: name 1, request 2
Affinity: nodeAffinity 1 NodeAffinity, podAffinity 2 PodAffinity, podAntiAffinity 3 PodAffinity
NodeAffinity: requiredDuringSchedulingIgnoredDuringExecution 1 NodeSelector
NodeSelector: nodeSelectorTerms 1 [NodeTerm]
NodeTerm: matchExpressions 1 [Expression], matchFields 2 [Expression]
Expression: key 1, operator 2, values 3 [text]
PodAffinity: requiredDuringSchedulingIgnoredDuringExecution 1 [PodTerm]
PodTerm: labelSelector 1 LabelSelector, namespaces 2 [text], topologyKey 3, namespaceSelector 4 LabelSelector, matchLabelKeys 5 [text], mismatchLabelKeys 6 [text]
LabelSelector: matchLabels 1 {text}, matchExpressions 2 [Expression]
Toleration: key 1, operator 2, value 3, effect 4
Spread: maxSkew 1 int, topologyKey 2, whenUnsatisfiable 3, labelSelector 4 LabelSelector, minDomains 5 int, nodeAffinityPolicy 6, nodeTaintsPolicy 7, matchLabelKeys 8 [text]
Gate: name 1
Group: podGroupName 1
Claim: name 1, resourceClaimName 3
PodStatus: phase 1, conditions 2 <Condition>, qosClass 9, nominatedNodeName 11, resourceClaimStatuses 15 [MadeClaim]
MadeClaim: name 1, resourceClaimName 2
PlacedPod: metadata 1 PlacedMeta, spec 2 PlacedSpec, status 3 PlacedStatus
PlacedMeta: name 1, namespace 3
PlacedSpec: containers 2 [PlacedContainer], nodeName 10, initContainers 20 [PlacedContainer], overhead 32 {amount}, resources 40 PlacedResources
PlacedContainer: resources 8 PlacedResources, restartPolicy 24
PlacedResources: requests 2 {amount}
PlacedStatus: phase 1
"""  # noqa: E501 - a table
_SCALARS = {"text": 9, "bytes": 12, "bool": 8, "int": 3, "time": 12}
_KEY, _VALUE, _SHORT = b"\x0a", 0x12, 128
_OPTIONAL, _REPEATED, _MESSAGE = 1, 3, 11


class Field(NamedTuple):
    """A field of the schema; `kind` is a scalar or a message, `form` what stands around it, if anything."""

    name: str
    number: int
    kind: str
    form: str


def _fields(text: str) -> Iterator[Field]:
    for part in filter(None, text.split(",")):
        name, number, kind = (*part.split(), "text")[:3]
        form = kind[0] if kind[0] in "[{<^" else ""
        yield Field(name, int(number), kind.strip("[]{}<>^"), form)


MESSAGES = {
    name: tuple(_fields(text)) for name, _, text in (line.partition(":") for line in _SCHEMA.strip().splitlines())
}
"""The schema: the fields of each message."""


def field(number: int, value: bytes | int) -> bytes:
    """Return a field as it is written: a number, or bytes with their length before them."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(value: int) -> bytes:
    """Return a number as it is written."""
    written = bytearray()
    while value > 0x7F:  # noqa: PLR2004 - seven bits a byte
        written.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*written, value))


def _described(name: str) -> bytes:
    """Return a message of the schema as a DescriptorProto of descriptor.proto."""
    described = field(1, name.encode())
    for one in MESSAGES[name]:
        label = _REPEATED if one.form in {"[", "{", "<"} else _OPTIONAL
        kind = _SCALARS["bytes"] if one.form in {"{", "<"} else _SCALARS.get(one.kind)
        told = field(1, one.name.encode()) + field(3, one.number) + field(4, label) + field(5, kind or _MESSAGE)
        described += field(2, told + (b"" if kind else field(6, f".koord.{one.kind}".encode())))
    return described


def is_readable() -> bool:
    """Tell whether the C library of `protobuf` is there: its reader in Python would take longer than JSON does."""
    try:
        return find_spec("google._upb._message") is not None
    except ImportError:
        return False


class Schema(NamedTuple):
    """What reads messages, by their names, and the exception that it raises."""

    parsers: dict[str, Callable[[bytes], Message]]
    fault: type[Exception]


@cache
def schema() -> Schema:
    """Return the schema, once the package was imported."""
    from google.protobuf import descriptor_pool, message, message_factory  # noqa: PLC0415 - start-up time

    pool = descriptor_pool.DescriptorPool()
    every = b"".join(field(4, _described(name)) for name in MESSAGES)
    pool.AddSerializedFile(field(1, b"koord.proto") + field(2, b"koord") + every + field(12, b"proto3"))
    found = {name: pool.FindMessageTypeByName(f"koord.{name}") for name in MESSAGES}
    return Schema(
        {name: message_factory.GetMessageClass(described).FromString for name, described in found.items()},
        message.DecodeError,
    )


def parsed(name: str, written: bytes) -> Message:
    """Return a message of the schema; what is none raises `Schema.fault`."""
    return schema().parsers[name](written)


_KINDS = {name: {one.name: one for one in fields} for name, fields in MESSAGES.items()}


def plain(name: str, message: Message) -> dict[str, Any]:
    """Return a message as JSON has it: what is empty is left out."""
    found: dict[str, Any] = {}
    kinds = _KINDS[name]
    for described, value in message.ListFields():
        field_name, _, kind, form = kinds[described.name]
        if form == "{":
            found[field_name] = texts(value) if kind == "text" else amounts(value)
        elif kind in _SCALARS:
            found[field_name] = list(value) if form else value
        elif form == "^":
            found |= plain(kind, value)
        else:
            found[field_name] = [plain(kind, one) for one in value] if form else plain(kind, value)
    return found


def whole(name: str, message: Message, form: type[T]) -> T:
    """Return a message as a Struct, unless it is one already."""
    return message if isinstance(message, form) else convert(plain(name, message), form)


def texts(entries: Iterable[bytes]) -> dict[str, str | None]:
    """Return a map as a dict, in the order in which it came: that of the keys."""
    return dict(map(_text, entries))


def labels(entries: Iterable[bytes]) -> dict[str, str | None]:
    """Return a map of short texts as a dict, of which many are equal to others."""
    return dict(map(_label, entries))


def _text(entry: bytes) -> tuple[str, str]:
    # As they are written: key and value, each behind its tag and its length, which has one byte for a short key and one
    # or two for the value.
    size, middle = len(entry), entry[1] + 2 if entry[:1] == _KEY and len(entry) > 1 else 0
    if middle and middle < min(size - 1, _SHORT) and entry[middle] == _VALUE:
        start, length = middle + 2, entry[middle + 1]
        if length >= _SHORT and start < size and entry[start] < _SHORT:
            start, length = start + 1, length + (entry[start] - 1) * _SHORT
        if start + length == size:
            return entry[2:middle].decode(), entry[start:].decode()
    found = parsed("Text", entry)
    return found.key, found.value


_label = lru_cache(maxsize=1 << 12)(_text)


def amounts(entries: Iterable[bytes]) -> dict[str, str | int | float]:
    """Return a list of resources as a dict, in the order in which it came."""
    return dict(map(_amount, entries))


@lru_cache(maxsize=1 << 12)
def _amount(entry: bytes) -> tuple[str, str]:
    found = parsed("Amount", entry)
    return found.key, found.value.string


@lru_cache(maxsize=1024)
def time(written: bytes) -> str | None:
    """Return a time as JSON has it, None for that of Go which is no time."""
    seconds = parsed("Time", written).seconds
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z") if seconds else None
    except (ValueError, OverflowError, OSError):
        raise DecodeError(f"{seconds} s are beyond all dates") from None
