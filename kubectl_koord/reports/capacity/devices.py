"""The answer of `devices`."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.reports.common import Basis, DomainName, Notice, Verdict

DeviceObject: TypeAlias = Literal["present", "empty", "missing"]


class Holder(Struct, frozen=True, rename="camel"):
    """Who has a device or a part of it; `share` is in hundredths of the device.

    kind: `pod` (the name is `namespace/name`), or `reservation` with what its pods have left of it.
    """

    kind: Literal["pod", "reservation"]
    name: str
    share: int


class Card(Struct, frozen=True, rename="camel"):
    """One device of a node.

    `total` is what its Device object gives it, `free` what the scheduler can still give away; an unhealthy one has
    nothing free. `free` is None where pods or Reservations could not be read, `pods` and `holders` where pods could
    not. `share` is the part of it that is free, in hundredths. `numa` and `pcie` are None where no topology is told.
    """

    type: str
    minor: int
    id: str
    healthy: bool
    total: Mapping[str, int]
    free: Mapping[str, int] | None
    pods: tuple[str, ...] | None
    share: int | None = None
    holders: tuple[Holder, ...] | None = ()
    numa: int | None = None
    pcie: str | None = None


class UnlistedCard(Struct, frozen=True, rename="camel"):
    """A device that pods have by their annotations, and that no Device object lists."""

    type: str
    minor: int
    pods: tuple[str, ...]


class NodeCards(Struct, frozen=True, rename="camel"):
    """The devices of one node.

    `device` tells whether there is a Device object of the node, and whether it lists any device. `state` is empty,
    `cordoned` or `not ready`. `parent` is the domain right above it, None outside the tree. `accelerators` are the
    resources of its allocatable that count accelerators.
    """

    node: str
    parent: DomainName | None
    state: str
    device: DeviceObject
    cards: tuple[Card, ...]
    accelerators: tuple[str, ...] = ()
    unlisted: tuple[UnlistedCard, ...] = ()


class DeviceRoom(Struct, frozen=True, rename="camel"):
    """How many pods of so many whole devices each fit, as devices alone go."""

    cards: int
    pods: int


class TypeTotal(Struct, frozen=True, rename="camel"):
    """The devices of one type on some nodes.

    `free` are those that are healthy and whole, on nodes that can be used; `withheld` the same on nodes that are
    cordoned or not ready. `shared` are those in use of which a share is free, `shares` what is free of them together,
    in hundredths. All four are None where pods or Reservations could not be read; then there is no `room`. `unbooked`
    is what running pods have of them by their requests, in hundredths, that the scheduler does not know to be taken.
    """

    type: str
    cards: int
    unhealthy: int
    free: int | None
    withheld: int | None
    shared: int | None
    shares: int | None
    room: tuple[DeviceRoom, ...] = ()
    unbooked: int = 0


class DomainCards(Struct, frozen=True, rename="camel"):
    """What there is in one domain of the topology tree, of its `nodes` nodes."""

    layer: str
    name: str
    parent: DomainName | None
    nodes: int
    devices: tuple[TypeTotal, ...]


class DevicesReport(Struct, frozen=True, rename="camel"):
    """The single devices of nodes: what is free of each, and who has the rest.

    `nodes` are those with devices, and those that were asked for by name; `without_devices` counts the others among
    those that were looked at. `devices` is all of it by type; `domains` are in pre-order, none where nodes were asked
    for by name, or where there is no tree. `message` names what could not be read where that leaves it unknown.
    """

    verdict: Verdict
    basis: Basis
    warnings: tuple[Notice, ...]
    nodes: tuple[NodeCards, ...]
    devices: tuple[TypeTotal, ...] = ()
    domains: tuple[DomainCards, ...] = ()
    without_devices: int = 0
    asked: tuple[str, ...] = ()
    domain: str = ""
    message: str = ""
