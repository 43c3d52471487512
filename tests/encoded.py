"""Objects as protobuf, as an API server writes them."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from kubectl_koord.cluster.protobuf import MESSAGES, field

Json = Mapping[str, Any]

_INT64 = (1 << 64) - 1
SKIPPED = field(1000, b"of a later version") + field(1001, 7)
"""Fields that nobody reads."""


def message(name: str, value: Json) -> bytes:
    """Return a message of the schema, with its fields in order and others that are not read."""
    found = b""
    for field_name, number, kind, form in MESSAGES[name]:
        given = value if form == "^" else value.get(field_name)
        if given is None:
            continue
        if form == "{":
            entries = sorted(given.items())
            texts = [(key, _text(one)) for key, one in entries]
            amount = kind == "amount"
            parts: list[bytes | int] = [
                field(1, key.encode()) + field(2, field(1, one) if amount else one) for key, one in texts
            ]
        else:
            parts = [_value(kind, one) for one in (given if form in {"[", "<"} else [given])]
        found += b"".join(field(number, one) for one in parts)
    return found + SKIPPED


def _value(kind: str, value: Any) -> bytes | int:  # noqa: ANN401
    match kind:
        case "text":
            return _text(value)
        case "bool" | "int":
            return int(value) & _INT64
        case "time":
            return field(1, int(datetime.fromisoformat(value).timestamp()))
        case _:
            return message(kind, value)


def _text(value: object) -> bytes:
    return b"" if value is None else str(value).encode()


def page(kind: str, items: Iterable[Json], *, version: str = "7", more: str = "") -> bytes:
    """Return a list of pods or nodes."""
    meta = field(2, version.encode()) + field(3, more.encode())
    raw = field(1, meta) + b"".join(field(2, message(kind, one)) for one in items)
    said = field(1, b"v1") + field(2, f"{kind}List".encode())
    return b"k8s\0" + field(1, said) + field(2, raw) + field(3, b"") + field(4, b"")
