"""What every object has: its metadata, and conditions."""

from collections.abc import Mapping
from sys import intern
from typing import Annotated, TypeAlias

from msgspec import Meta as Limits
from msgspec import Raw, Struct

Int32: TypeAlias = Annotated[int, Limits(ge=-(1 << 31), le=(1 << 31) - 1)]
Int64: TypeAlias = Annotated[int, Limits(ge=-(1 << 63), le=(1 << 63) - 1)]
Strings: TypeAlias = Mapping[str, str]
NOTHING = Raw(b"null")
"""A field that is left as bytes, where it is not written."""


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
    """Any object of which only the metadata counts."""

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
    """Return who owns the object, its controller first: `Kind/name`, empty for nobody."""
    owners = meta.owner_references
    if not owners:
        return ""
    found = next((o for o in owners if o.controller), owners[0]) if len(owners) > 1 else owners[0]
    return intern(f"{found.kind}/{found.name}")


def strings(written: Mapping[str, str | None] | None) -> Strings:
    """Return annotations or labels with null read as empty."""
    return {key: value or "" for key, value in (written or {}).items()}
