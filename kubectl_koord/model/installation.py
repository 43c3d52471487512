"""How Koordinator is installed: what `doctor` alone looks at."""

import re
from collections.abc import Collection, Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.model.others.descheduler import Descheduler

TREE_MANAGER = "--enable-network-topology-manager"
"""The flag with which koord-scheduler builds a topology tree; without it there is none."""
_TRUE = frozenset(("1", "t", "T", "TRUE", "true", "True"))

_RELEASE = re.compile(r":v?(\d+)\.(\d+)(?:\.(\d+))?(?:[.\-+@].*)?$")
_OF_MAIN = re.compile(r":(?:main|master)(?:[.\-@].*)?$")
_DATE = re.compile(r":[^/]*?(20\d\d)-?(\d\d)-?(\d\d)(?!\d)[^/]*$")
_NEWEST = {(1, 7): 0, (1, 8): 0}
_LAST_DAY = "20260724"
COMPARED = "1.7.0, 1.8.0 and main as of July 2026"
"""The schedulers whose recorded decisions the answers are compared with."""

ConfigState: TypeAlias = Literal["absent", "unreadable", "read", "elsewhere"]
"""It is `elsewhere` where the scheduler reads it of no ConfigMap."""


WEBHOOKS: Mapping[str, str] = {
    "koordinator-mutating-webhook-configuration": "MutatingWebhookConfiguration",
    "koordinator-validating-webhook-configuration": "ValidatingWebhookConfiguration",
}
"""The kinds of Koordinator's webhook configurations, by their names."""


class Home(Struct, frozen=True):
    """Where Koordinator is installed: the namespace, and what there tells of the scheduler; as by the Helm chart."""

    namespace: str = "koordinator-system"
    scheduler: str = "koord-scheduler"
    config: str = "koord-scheduler-config"
    lease: str = "koord-scheduler"


HOME = Home()


class Deployment(Struct, frozen=True):
    """One Deployment of this `part` of Koordinator.

    `available` is None where its status tells nothing, `flags` where no command line is shown.
    """

    name: str
    image: str = ""
    wanted: int = 1
    available: int | None = None
    flags: tuple[str, ...] = ()
    part: str = ""

    @property
    def is_down(self) -> bool:
        """Whether none of its pods is available, or wanted."""
        return self.wanted == 0 or self.available == 0


class PriorityClass(Struct, frozen=True):
    """One PriorityClass; `is_default` is globalDefault."""

    name: str
    value: int
    is_default: bool = False
    preemption_policy: str = ""


class Webhooks(Struct, frozen=True):
    """One webhook configuration, with the names of its webhooks; those without a caBundle are `unsigned`."""

    kind: str
    name: str
    unsigned: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()


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
    """What was read of the installation.

    It is `whole` where the cluster itself was read, if only once for a snapshot: what is not there does not exist. A
    file need not hold all: `kinds` are those of which there is anything. `config_fault` is why the scheduler cannot
    decode its configuration, `config_from` what it reads that from, where its Deployment tells, `config_unused` are
    ConfigMaps with another. `descheduler` is None where its configuration was not read, or there is none.
    """

    deployments: tuple[Deployment, ...] = ()
    priority_classes: tuple[PriorityClass, ...] = ()
    webhooks: tuple[Webhooks, ...] = ()
    config: ConfigState = "absent"
    config_fault: str = ""
    config_from: str = ""
    config_unused: tuple[str, ...] = ()
    profiles: tuple[Profile, ...] = ()
    kinds: tuple[str, ...] = ()
    descheduler: Descheduler | None = None
    whole: bool = True

    def deployment(self, part: str) -> Deployment | None:
        """Return the Deployment of a part of Koordinator, None where it was not read."""
        return next((one for one in self.deployments if part in {one.part, one.name}), None)


class Right(Struct, frozen=True):
    """What a command needs to be allowed: the resource with its API group, and which commands read it."""

    resource: str
    commands: tuple[str, ...] = ()


class Lack(Struct, frozen=True):
    """What may not be done with a resource, which commands need it, and the server's own words.

    It is not `is_sure` where the server did not say whether it may be done.
    """

    resource: str
    verb: str
    commands: tuple[str, ...] = ()
    why: str = ""
    is_sure: bool = True


def of_main(image: str) -> bool:
    """Tell whether an image's tag is one of main's: by its name, or by a day after that of the main that is known."""
    return _OF_MAIN.search(image) is not None or _is_later(image)


def is_newer(image: str) -> bool:
    """Tell whether an image may be newer than all that answers are compared with; nothing is told by a private tag."""
    found = _RELEASE.search(image)
    if found is None:
        return of_main(image) and not _is_earlier(image)
    release = (int(found[1]), int(found[2]))
    return release > max(_NEWEST) or int(found[3] or 0) > _NEWEST.get(release, int(found[3] or 0))


def is_older(image: str) -> bool:
    """Tell whether an image is of a release before the first whose rules are known."""
    found = _RELEASE.search(image)
    return found is not None and (int(found[1]), int(found[2])) < min(_NEWEST)


def _day(image: str) -> str:
    found = _DATE.search(image)
    return "".join(found.groups()) if found is not None else ""


def _is_later(image: str) -> bool:
    return _day(image) > _LAST_DAY


def _is_earlier(image: str) -> bool:
    return "" < _day(image) <= _LAST_DAY


def manages_topology(flags: Collection[str]) -> bool:
    """Tell whether a command line lets the scheduler build a topology tree; taken to be so where it shows nothing."""
    told = [word for word in flags if word.partition("=")[0] == TREE_MANAGER]
    return not flags or bool(told and (told[-1] == TREE_MANAGER or told[-1].partition("=")[2] in _TRUE))
