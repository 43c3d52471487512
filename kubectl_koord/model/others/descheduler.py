"""How koord-descheduler is configured: what only `doctor` looks at."""

from collections.abc import Iterator
from typing import Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.model.values.selectors import Selector

DeschedulerState: TypeAlias = Literal["unreadable", "read"]


class Namespaces(Struct, frozen=True):
    """Of which namespaces pods may be evicted: of all for none, without those that are excluded."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def cover(self, namespace: str) -> bool:
        """Tell whether pods of a namespace may be evicted."""
        return (not self.include or namespace in self.include) and namespace not in self.exclude


class DeschedulerPlugin(Struct, frozen=True):
    """A plugin that chooses pods, at which point (`deschedule` or `balance`), and of which namespaces."""

    name: str
    point: str
    namespaces: Namespaces = Namespaces()


class Evictable(Struct, frozen=True):
    """Which pods MigrationController evicts, whoever chose them.

    `priority_below` None stands for any priority, `selector` None for any labels, `critical` for those of the system,
    and `bare` for pods that no controller owns.
    """

    namespaces: Namespaces = Namespaces()
    priority_below: int | None = None
    selector: Selector | None = None
    critical: bool = False
    bare: bool = False


class DeschedulerProfile(Struct, frozen=True):
    """A profile: `limits` of evictions by the names of the settings, spelled as in YAML."""

    name: str
    plugins: tuple[DeschedulerPlugin, ...] = ()
    evictors: tuple[str, ...] = ()
    evictable: Evictable = Evictable()
    limits: tuple[tuple[str, str], ...] = ()


class Descheduler(Struct, frozen=True):
    """The configuration of koord-descheduler; a `dry_run` evicts nothing. Of an unreadable one there is no more."""

    state: DeschedulerState = "read"
    dry_run: bool = False
    interval: str = ""
    profiles: tuple[DeschedulerProfile, ...] = ()

    def evicting(self) -> Iterator[DeschedulerProfile]:
        """Yield the profiles in which some plugin chooses pods, and another evicts them."""
        yield from (one for one in self.profiles if one.plugins and one.evictors and not self.dry_run)
