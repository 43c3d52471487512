"""Why the API server did not make a pod, in its words: which setting refuses it, and by how much.

Words of Kubernetes' admission: resource quotas (`CheckRequest`), LimitRanger, PodSecurity, service accounts, priorities
and webhooks. A controller passes them on in its events.
"""

import re
from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct


class Exceeded(Struct, frozen=True):
    """A ResourceQuota that has too little left; of each resource what the pod adds, is used, is allowed."""

    quota: str
    short: tuple[tuple[str, str, str, str], ...]


class Unspecified(Struct, frozen=True):
    """A ResourceQuota that counts what the pod does not request."""

    quota: str
    what: str


class OutOfRange(Struct, frozen=True):
    """A LimitRange that the pod's requests or limits do not keep to, and what it says."""

    said: str


class Insecure(Struct, frozen=True):
    """A PodSecurity level of the namespace that the pod does not keep to."""

    level: str


class Missing(Struct, frozen=True):
    """An object that the pod names and that is not there: a ServiceAccount or a PriorityClass."""

    kind: str
    name: str


class Webhook(Struct, frozen=True):
    """An admission webhook that refuses, or does not answer."""

    name: str
    answers: bool


Refused: TypeAlias = Exceeded | Unspecified | OutOfRange | Insecure | Missing | Webhook


def _exceeded(quota: str, *lists: str) -> Exceeded:
    requested, used, limited = (dict(pair.split("=", 1) for pair in text.split(",") if "=" in pair) for text in lists)
    names = [name for name in requested if name in used and name in limited]
    return Exceeded(quota, tuple((name, requested[name], used[name], limited[name]) for name in names))


_PER = "per (?:Container|Pod)"
_EXCEEDED = re.compile(r"exceeded quota: (\S+), requested: (\S+), used: (\S+), limited: (\S+?)\.?(?:\s|$)")
_UNSPECIFIED = re.compile(r"failed quota: (\S+): must specify (.+?)\.?$")
_RANGE = re.compile(rf"\[?(?:(?:minimum|maximum) \S+ usage {_PER}|\S+ max limit to request ratio {_PER}).*[^.]")
_SECURITY = re.compile(r'violates PodSecurity "([^":]+)')
_ACCOUNT = re.compile(r'service ?account "?([^\s"]+?)"? (?:was )?not found', re.IGNORECASE)
_PRIORITY = re.compile(r"no PriorityClass with name (\S+) was found")
_WEBHOOK = re.compile(r'(admission|failed calling) webhook "([^"]+)"')
_READ: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Refused]], ...] = (
    (_EXCEEDED, lambda found: _exceeded(*found.groups())),
    (_UNSPECIFIED, lambda found: Unspecified(found[1], found[2])),
    (_RANGE, lambda found: OutOfRange(found[0])),
    (_SECURITY, lambda found: Insecure(found[1])),
    (_ACCOUNT, lambda found: Missing("ServiceAccount", found[1].rpartition("/")[2])),
    (_PRIORITY, lambda found: Missing("PriorityClass", found[1])),
    (_WEBHOOK, lambda found: Webhook(found[2], answers=found[1] == "admission")),
)


def refused(said: str) -> Refused | None:
    """Return what refuses a pod, None where it is not one of the known ones."""
    matches = ((found, made) for pattern, made in _READ if (found := pattern.search(said)))
    return next((made(found) for found, made in matches), None)
