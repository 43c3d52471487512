"""Koordinator looked for where its objects say it is: in another namespace, with another ConfigMap or lease."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from kubectl_koord.cluster.collecting.collect import Collector
from kubectl_koord.cluster.kind import Kind, only_named
from kubectl_koord.cluster.kinds import CONFIG_MAP, DEPLOYMENT, KINDS, LEASE
from kubectl_koord.cluster.objects.fields.deployments import LABEL, SCHEDULER
from kubectl_koord.cluster.reading.lists import ListRequest
from kubectl_koord.model.installation import HOME
from kubectl_koord.model.snapshot import Gap


class StatedInstallation(Struct, frozen=True):
    """What the user says of Koordinator: its version and namespace, empty for what is to be found out."""

    version: str = ""
    namespace: str = ""


class Part(Struct, frozen=True):
    """The objects of one list, the version of the list, and the server's date when it was sent."""

    objects: Collector
    version: str
    date: str = ""


Read = Callable[[ListRequest], Part | Gap]


class Replacement(Struct, frozen=True):
    """A list that was read in place of the usual one."""

    request: ListRequest
    value: Part | Gap


def in_namespace(request: ListRequest, namespace: str) -> ListRequest:
    """Return the request with what is looked for where Koordinator is installed looked for in this namespace."""
    kind = KINDS[request.kind]
    if not (kind.home and namespace):
        return request
    return ListRequest(request.kind, request.path.replace(kind.path(kind.home), kind.path(namespace), 1))


def look(
    found: Mapping[str, Part | Gap], read: Read, wanted: Mapping[str, ListRequest], named: str
) -> Mapping[str, Replacement]:
    """Return by kind the lists that count in place of those that were found, none where all is as usual.

    Args:
        found: what was read of the usual places.
        read: reads one more list.
        wanted: how each kind was asked for.
        named: the namespace that the user names, empty for none.

    """
    if not isinstance(found.get(DEPLOYMENT.name), Part) or CONFIG_MAP.name not in found:
        return {}
    known = Collector()
    known.looked_in = named
    for kind in (DEPLOYMENT, CONFIG_MAP):
        if isinstance(value := found[kind.name], Part):
            known.merge(value.objects)
    moved: dict[str, Replacement] = {}

    def take(request: ListRequest) -> None:
        if request.path != wanted[request.kind].path:
            moved[request.kind] = one = Replacement(request, read(request))
            if isinstance(one.value, Part):
                known.merge(one.value.objects)

    if known.scheduler().deployment is None:
        place = _place(read, named)
        if place is None:
            return {}
        has_all = "fieldSelector" not in wanted[DEPLOYMENT.name].path
        take(_all_in(place[0]) if has_all else at(DEPLOYMENT, *place))
    home = known.scheduler().home
    take(at(CONFIG_MAP, home.namespace, home.config))
    if LEASE.name in found:
        take(at(LEASE, *known.scheduler().lease))
    return moved


def at(kind: Kind[Any, Any], namespace: str, name: str) -> ListRequest:
    """Return the request for one object."""
    rest = "".join(kind.query.partition("&")[1:])
    return ListRequest(kind.name, f"{kind.path(namespace)}?{only_named(name)}{rest}")


def _place(read: Read, named: str) -> tuple[str, str] | None:
    """Return the namespace and name of the scheduler's Deployment, by its label, image, or the lease's namespace."""
    for request in (_all_in(named),) if named else _searches(read):
        value = read(request)
        own = value.objects.scheduler().deployment if isinstance(value, Part) else None
        if own is not None:
            return own.metadata.namespace or HOME.namespace, own.metadata.name
    return None


def _all_in(namespace: str) -> ListRequest:
    return ListRequest(DEPLOYMENT.name, DEPLOYMENT.path(namespace))


def _searches(read: Read) -> Iterator[ListRequest]:
    yield ListRequest(DEPLOYMENT.name, f"{DEPLOYMENT.path()}?labelSelector={LABEL}%3D{SCHEDULER}")
    leases = read(ListRequest(LEASE.name, f"{LEASE.path()}?{LEASE.query}"))
    if isinstance(leases, Part):
        yield from (_all_in(namespace) for namespace, _ in leases.objects.values(LEASE))
