"""Why the API server did not make a pod, in its words: which setting refuses it, and by how much.

Words of Kubernetes' admission: resource quotas (`CheckRequest`), LimitRanger, PodSecurity, service accounts, priorities
and webhooks. A controller passes them on in its events.
"""

import re
from typing import TypeAlias

from msgspec import Struct

_QUOTA = re.compile(r"exceeded quota: (\S+), requested: (\S+), used: (\S+), limited: ([^\s.]\S*?)\.?(?:\s|$)")
_UNSPECIFIED = re.compile(r"failed quota: (\S+): must specify (.+)")
_RANGE = re.compile(
    r"\[?(?:(?:minimum|maximum) \S+ usage per (?:Container|Pod) is|\S+ max limit to request ratio per (?:Container|Pod))"
)
_SECURITY = re.compile(r'violates PodSecurity "([^":]+)')
_ACCOUNT = re.compile(r'service ?account "?([^\s"]+?)"? (?:was )?not found', re.IGNORECASE)
_PRIORITY = re.compile(r"no PriorityClass with name (\S+) was found")
_WEBHOOK = re.compile(r'(?:admission webhook|failed calling webhook) "([^"]+)"')


class Exceeded(Struct, frozen=True):
    """A ResourceQuota that has too little left; of each resource that is short what the pod adds, is used, is allowed."""

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


def refused(said: str) -> Refused | None:
    """Return what refuses a pod, None where it is not one of the known ones."""
    if found := _QUOTA.search(said):
        return _exceeded(*found.groups())
    if found := _UNSPECIFIED.search(said):
        return Unspecified(found[1], found[2].rstrip("."))
    if found := _RANGE.search(said):
        return OutOfRange(said[found.start() :].rstrip("."))
    if found := _SECURITY.search(said):
        return Insecure(found[1])
    if found := _ACCOUNT.search(said):
        return Missing("ServiceAccount", found[1].rpartition("/")[2])
    if found := _PRIORITY.search(said):
        return Missing("PriorityClass", found[1])
    if found := _WEBHOOK.search(said):
        return Webhook(found[1], answers="denied the request" in said)
    return None


def _exceeded(quota: str, *lists: str) -> Exceeded:
    requested, used, limited = (dict(pair.split("=", 1) for pair in text.split(",") if "=" in pair) for text in lists)
    names = [name for name in requested if name in used and name in limited]
    return Exceeded(quota, tuple((name, requested[name], used[name], limited[name]) for name in names))
