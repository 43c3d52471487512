"""Why DeviceShare refuses a pod on a node; `unresolvable` as in `nodes`."""

from typing import TypeAlias

from msgspec import Struct


class DevicesMissing(Struct, frozen=True):
    """The node has no device of a type, or with `functions` none with virtual functions."""

    type: str
    functions: bool = False
    unresolvable: bool = True


class DevicesShort(Struct, frozen=True):
    """Too few devices of a type have enough free: how many are needed, how many have it.

    `scope` is where all of them must be together, empty for the node.
    """

    type: str
    wanted: int
    fitting: int
    scope: str = ""
    unresolvable: bool = False


class NoPartition(Struct, frozen=True):
    """No GPU partition of the wanted size is free; `sizes` are those the node has, None where it has no table."""

    wanted: int
    sizes: tuple[int, ...] | None
    unresolvable: bool = False


class ScopeUnsupported(Struct, frozen=True):
    """GPUs must be together in a scope, and the node tells no topology; or they are `shared`, several at once."""

    scope: str
    shared: bool = False
    unresolvable: bool = True


class DevicesApart(Struct, frozen=True):
    """Devices that must be on the same PCIe switches are not, of these types."""

    types: tuple[str, ...]
    unresolvable: bool = False


class SharingUnsupported(Struct, frozen=True):
    """GPUs of this vendor and model cannot be shared."""

    vendor: str
    model: str
    unresolvable: bool = True


class IsolationMissing(Struct, frozen=True):
    """The node has another GPU isolation provider, or none, and the scheduler gives up the whole attempt over that."""

    provider: str
    unresolvable: bool = True


class DevicesOutsideZones(Struct, frozen=True):
    """NUMA nodes have fewer devices of a type than are needed, whatever is free of them."""

    type: str
    wanted: int
    there: int
    unresolvable: bool = True


ByBooks: TypeAlias = (
    DevicesMissing
    | DevicesShort
    | NoPartition
    | ScopeUnsupported
    | DevicesApart
    | SharingUnsupported
    | IsolationMissing
    | DevicesOutsideZones
)
"""Why the devices of a node do not do, by one set of books."""


class BeyondReservedDevices(Struct, frozen=True):
    """A pod must use a reservation, and none that matches has devices for it: why, for each of them."""

    reasons: tuple[ByBooks, ...]
    unresolvable: bool = False


DeviceReason: TypeAlias = ByBooks | BeyondReservedDevices
"""Why the devices of a node do not do."""
