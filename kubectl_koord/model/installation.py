"""How Koordinator is installed: what `doctor` alone looks at."""

from typing import Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.model.descheduler import Descheduler

ConfigState: TypeAlias = Literal["absent", "unreadable", "read"]


class Deployment(Struct, frozen=True):
    """One Deployment; `available` is None where its status tells nothing, `flags` where no command line is shown."""

    name: str
    image: str = ""
    wanted: int = 1
    available: int | None = None
    flags: tuple[str, ...] = ()


class PriorityClass(Struct, frozen=True):
    """One PriorityClass; `is_default` is globalDefault."""

    name: str
    value: int
    is_default: bool = False
    preemption_policy: str = ""


class Webhooks(Struct, frozen=True):
    """One webhook configuration; `unsigned` are those of its webhooks that have no caBundle."""

    kind: str
    name: str
    unsigned: tuple[str, ...] = ()


class Profile(Struct, frozen=True):
    """A scheduler profile: which plugins are enabled at each extension point, and Coscheduling's arguments as written.

    Of Kubernetes' own plugins only DefaultPreemption is known. An argument is spelled as in YAML.
    """

    scheduler: str
    plugins: tuple[tuple[str, tuple[str, ...]], ...] = ()
    arguments: tuple[tuple[str, str], ...] = ()

    def at(self, point: str) -> tuple[str, ...]:
        """Return the plugins that are enabled at an extension point."""
        return dict(self.plugins).get(point, ())


class Installation(Struct, frozen=True):
    """What was read of the installation. `kinds` are those of which a file holds anything.

    `descheduler` is None where its configuration was not read, or there is none.
    """

    deployments: tuple[Deployment, ...] = ()
    priority_classes: tuple[PriorityClass, ...] = ()
    webhooks: tuple[Webhooks, ...] = ()
    config: ConfigState = "absent"
    profiles: tuple[Profile, ...] = ()
    kinds: tuple[str, ...] = ()
    descheduler: Descheduler | None = None

    def deployment(self, name: str) -> Deployment | None:
        """Return the Deployment of a name, None where it was not read."""
        return next((one for one in self.deployments if one.name == name), None)


class Right(Struct, frozen=True):
    """What a command needs to be allowed: the resource with its API group, and which commands read it."""

    resource: str
    commands: tuple[str, ...] = ()
