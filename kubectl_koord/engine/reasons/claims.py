"""Why DynamicResources refuses a pod on a node; `unresolvable` as in `nodes`."""

from typing import Literal, TypeAlias

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


SelectorProblemCode: TypeAlias = Literal[
    "no-such-key",
    "no-such-overload",
    "unsupported-attribute",
    "no-boolean",
    "no-version",
    "no-quantity",
    "no-integer",
    "integer-overflow",
    "division-by-zero",
    "no-value",
    "unhashable",
]
"""Runtime errors of CEL."""


class SelectorProblem(Struct, frozen=True, gc=False):
    """Why a CEL selector fails: `about` is the key, the function, the attribute or the text."""

    code: SelectorProblemCode
    about: str = ""


class SelectorFails(Struct, frozen=True):
    """A CEL selector of a request, or of its class, fails on a device of the node: the scheduler gives up there."""

    claim: str
    request: str
    expression: str
    problem: SelectorProblem
    unresolvable: bool = True


class TooManyDevices(Struct, frozen=True):
    """A claim asks for more devices than one may get: the scheduler gives up ("exceeds the claim limit")."""

    claim: str
    wanted: int
    unresolvable: bool = True


NotAllocated: TypeAlias = NotEnoughDevices | SelectorFails | TooManyDevices
"""Why a node cannot supply what claims ask for."""
ClaimReason: TypeAlias = NotAllocated | ClaimElsewhere
"""What DynamicResources says of one node."""
