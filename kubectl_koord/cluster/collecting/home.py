"""The scheduler among what was read: its Deployment, configuration and lease, whatever they are called."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from kubectl_koord.cluster.objects.fields import deployments
from kubectl_koord.cluster.objects.fields.deployments import DESCHEDULER, MANAGER, SCHEDULER, Deployment
from kubectl_koord.cluster.objects.fields.meta import namespace
from kubectl_koord.cluster.objects.koordinator import descheduler, scheduler
from kubectl_koord.model import installation
from kubectl_koord.model.installation import ConfigState, Home
from kubectl_koord.model.others.descheduler import Descheduler

_Key = tuple[str, str]


class Scheduler(Struct, frozen=True):
    """What was found: `parsed` is its configuration, None where it is absent or unreadable."""

    home: Home
    deployment: Deployment | None = None
    image: str = ""
    flags: tuple[str, ...] = ()
    own_flags: tuple[str, ...] = ()
    state: ConfigState = "absent"
    parsed: dict[str, Any] | None = None
    lease: _Key = ("", "")

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
    name, key = place or deployments.Config(scheduler.CONFIG, scheduler.CONFIG)
    known = [one for one in config_maps if one[1] == name or (place is None and _is_usual(config_maps[one]))]
    chosen = min(known, key=lambda one: (one[0] != home, one[1] != name, one), default=None)
    text = scheduler.text_of(config_maps[chosen], key) if chosen else None
    parsed = scheduler.parsed(text) if text else None
    lease_name, lease_home = scheduler.lease_of(parsed or {}, flags)
    return Scheduler(
        home=Home(home, own.metadata.name if own else SCHEDULER, name, lease_name),
        deployment=own,
        image=deployments.image(own, SCHEDULER) if own else "",
        flags=flags,
        own_flags=tuple(deployments.words_of(own, SCHEDULER)) if own else (),
        state="absent" if not text else "unreadable" if parsed is None else "read",
        parsed=parsed,
        lease=(lease_home or home, lease_name),
    )


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
