"""Why DynamicResources refuses a pod on a node; `unresolvable` as in `nodes`."""

from typing import TypeAlias

from msgspec import Struct


class NotEnoughDevices(Struct, frozen=True):
    """The node cannot supply a request of a claim: how many devices are wanted, and how many that match are free.

    The scheduler says "cannot allocate all claims". Where `every` device is wanted, `wanted` is how many match.
    """

    claim: str
    request: str
    wanted: int
    free: int
    every: bool = False
    unresolvable: bool = True


class ClaimElsewhere(Struct, frozen=True):
    """A claim is allocated, and its devices cannot be used on the node ("resourceclaim not available on the node")."""

    claim: str
    unresolvable: bool = True


ClaimReason: TypeAlias = NotEnoughDevices | ClaimElsewhere
"""What DynamicResources says of one node."""
