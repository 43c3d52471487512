"""A workload that is to become a gang: which of its pods, and where its templates stand."""

from typing import Literal, TypeAlias

from msgspec import Struct

Keys: TypeAlias = tuple[str | int, ...]
"""The way from an object down to a part of it."""
NoGang: TypeAlias = Literal["of-another-scheduler", "from-runtime", "in-turn", "no-name", "no-pods", "owned"]
"""Why a workload cannot be made a gang: Volcano, or a training runtime, makes its pods; it makes them one after the
other; it gets a name with each run; it has no pods; or another workload makes it."""


class Template(Struct, frozen=True):
    """A pod template: where its labels and its schedulerName stand, and whether its pods are in the gang."""

    labels: Keys
    scheduler: Keys
    is_member: bool = True


class Workload(Struct, frozen=True):
    """What is to become a gang: `pods` are made at once, of which `minimum` are enough to begin.

    With an `obstacle` it cannot, for what `detail` says.
    """

    kind: str
    namespace: str
    name: str
    pods: int = 0
    minimum: int = 0
    templates: tuple[Template, ...] = ()
    obstacle: NoGang | None = None
    detail: str = ""
