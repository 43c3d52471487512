"""The scheduler among what was read: its Deployment, configuration and lease, whatever they are called."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from kubectl_koord.cluster.objects.fields import deployments
from kubectl_koord.cluster.objects.fields.deployments import DESCHEDULER, MANAGER, SCHEDULER, Deployment
from kubectl_koord.cluster.objects.fields.meta import namespace
from kubectl_koord.cluster.objects.koordinator import configuration, descheduler, scheduler
from kubectl_koord.model import installation
from kubectl_koord.model.installation import ConfigState, Home, is_older
from kubectl_koord.model.others.descheduler import Descheduler

_Key = tuple[str, str]


class Scheduler(Struct, frozen=True):
    """What was found: `parsed` is its configuration, None where it is absent or unreadable, and `fault` why.

    `place` is where the Deployment has it from, None where that is not told; `unused` are ConfigMaps that hold another.
    """

    home: Home
    deployment: Deployment | None = None
    image: str = ""
    flags: tuple[str, ...] = ()
    own_flags: tuple[str, ...] = ()
    state: ConfigState = "absent"
    parsed: dict[str, Any] | None = None
    lease: _Key = ("", "")
    fault: str = ""
    place: deployments.Config | None = None
    unused: tuple[str, ...] = ()

    @property
    def unread(self) -> str:
        """Why the configuration was not read, as far as that is told."""
        if self.state == "elsewhere" and self.place is not None:
            return f"it is in a volume that is no ConfigMap: {self.place.volume}"
        return self.fault

    @property
    def installed(self) -> installation.Deployment | None:
        """How it is installed, None where its Deployment was not read."""
        return deployments.installed(self.deployment, SCHEDULER) if self.deployment is not None else None


def found(written: Iterable[Deployment], config_maps: Mapping[_Key, scheduler.ConfigMap], looked_in: str) -> Scheduler:
    """Return the scheduler: the one of the usual name in the namespace that was looked in, if there is one."""
    own = deployments.find(written, SCHEDULER, looked_in)
    place = deployments.config_of(own) if own else None
    home = namespace(own.metadata) if own else looked_in
    flags = tuple(deployments.words(own)) if own else ()
    is_elsewhere = place is not None and not place.name
    name, key, _ = place if place and place.name else deployments.Config(scheduler.CONFIG, scheduler.CONFIG)
    known = [one for one in config_maps if one[1] == name or (place is None and _is_usual(config_maps[one]))]
    chosen = None if is_elsewhere else min(known, key=lambda one: (one[0] != home, one[1] != name, one), default=None)
    text = scheduler.text_of(config_maps[chosen], key) if chosen else None
    image = deployments.image(own, SCHEDULER) if own else ""
    fault = configuration.fault(text, scheduler.from_image(image) or "") if text and not is_older(image) else ""
    parsed = scheduler.parsed(text) if text and not fault else None
    lease_name, lease_home = scheduler.lease_of(parsed or {}, flags)
    return Scheduler(
        home=Home(home, own.metadata.name if own else SCHEDULER, name, lease_name),
        deployment=own,
        image=image,
        flags=flags,
        own_flags=tuple(deployments.words_of(own, SCHEDULER)) if own else (),
        state=_state(text, parsed, is_elsewhere=is_elsewhere),
        parsed=parsed,
        fault=fault,
        place=place,
        unused=tuple(sorted(one[1] for one in config_maps if one != chosen and _is_usual(config_maps[one]))),
        lease=(lease_home or home, lease_name),
    )


def _state(text: str | None, parsed: object, *, is_elsewhere: bool) -> ConfigState:
    if is_elsewhere:
        return "elsewhere"
    return "absent" if not text else "unreadable" if parsed is None else "read"


def parts(own: Scheduler, written: Iterable[Deployment]) -> tuple[installation.Deployment, ...]:
    """Return the manager and the descheduler beside the scheduler, and the scheduler, those that there are."""
    there = list(written)
    beside = ((deployments.find(there, part, own.home.namespace), part) for part in (MANAGER, DESCHEDULER))
    every = (*beside, (own.deployment, SCHEDULER))
    return tuple(deployments.installed(one, part) for one, part in every if one is not None)


def _is_usual(config_map: scheduler.ConfigMap) -> bool:
    """Tell whether a ConfigMap of another name holds the configuration under the usual key."""
    return scheduler.CONFIG in (config_map.data or {})


def descheduler_config(own: Deployment | None, usual: str) -> tuple[_Key, str]:
    """Return where the configuration of koord-descheduler is: namespace and name of the ConfigMap, and the key in it.

    Args:
        own: its Deployment, None where none was read.
        usual: the namespace that counts then.

    """
    place = (deployments.config_of(own) if own else None) or deployments.Config(descheduler.CONFIG, descheduler.CONFIG)
    return (namespace(own.metadata) if own else usual, place.name), place.key


def descheduler_found(
    own: Deployment | None, config_maps: Mapping[_Key, scheduler.ConfigMap], usual: str
) -> Descheduler | None:
    """Return how koord-descheduler is configured, None where that was not read; the arguments are as above."""
    where, key = descheduler_config(own, usual)
    written = config_maps.get(where)
    text = descheduler.text_of(written.data or {}, key) if written else None
    parsed = scheduler.parsed(text) if text else None
    state: ConfigState = "absent" if not text else "unreadable" if parsed is None else "read"
    return descheduler.configuration(state, parsed or {})
