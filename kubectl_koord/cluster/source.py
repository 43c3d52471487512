"""A Snapshot from the live cluster, files or the demo: which API groups are served, and what is asked for early."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from itertools import chain
from typing import Any, Generic, TypeAlias, TypeVar
from urllib.parse import quote

from msgspec import Struct, structs

from kubectl_koord.cluster import protobuf
from kubectl_koord.cluster.api.transport import JSON, Transport, failure
from kubectl_koord.cluster.bounds import BOUNDS, Meter, Outcomes
from kubectl_koord.cluster.collect import Collector, installation, installed_descheduler_config, uses_volumes
from kubectl_koord.cluster.collect_live import SummingCollector
from kubectl_koord.cluster.kinds import (
    CLAIM_KINDS,
    CONFIG_MAP,
    DEPLOYMENT,
    EVENT,
    KINDS,
    LEASE,
    NAMESPACE,
    NAMESPACE_KINDS,
    NETWORK_TOPOLOGY,
    NODE,
    OPTIONAL_KINDS,
    POD,
    POD_GROUP,
    PRIORITY_CLASS,
    VALIDATING,
    VOLCANO_GROUP,
    VOLUME_KINDS,
    Kind,
    only_named,
)
from kubectl_koord.cluster.lists import ListRequest, Lists, Pages, read_lists
from kubectl_koord.cluster.objects import scheduler, settings
from kubectl_koord.cluster.objects.pods import PodPool
from kubectl_koord.cluster.objects.settings import LABEL, SCHEDULER
from kubectl_koord.cluster.reading import ListMeta, read_encoded_page, read_page
from kubectl_koord.errors import KoordError
from kubectl_koord.language import say
from kubectl_koord.model.installation import HOME
from kubectl_koord.model.objects import NetworkTopology, Node
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.snapshot import Gap, Snapshot

T = TypeVar("T")

Kinds: TypeAlias = tuple[str, ...]
"""Kinds that are read together."""


class Ahead(Generic[T]):
    """Reads kinds in threads of their own."""

    def __init__(self, read: Callable[[Kinds], T], asked: Collection[str] = ()) -> None:
        self._read = read
        self._asked = frozenset(asked)
        self._begun: dict[Kinds, Outcomes[T]] = {}

    def watch(self, pods: Collector) -> None:
        """Look at pods that are listed, perhaps anew: what was read before they were may not have what they use."""
        self._begun = {}
        pods.when_waiting = self._look

    def found(self, wanted: Sequence[Kinds]) -> Iterator[T]:
        """Yield what was read of kinds, once it is there; what was not begun is begun now, all at once.

        Raises KoordError when it could not be read.
        """
        for kinds in wanted:
            self._begin(kinds)
        for kinds in wanted:
            yield self._begun[kinds].wait()

    def _look(self, pod: PendingPod) -> None:
        if uses_volumes(pod):
            self._begin(VOLUME_KINDS)
        if pod.resource_claims:
            self._begin(CLAIM_KINDS)
        if pod.requirements.reads_namespaces and NAMESPACE.name not in self._asked:
            self._begin(NAMESPACE_KINDS)

    def _begin(self, kinds: Kinds) -> None:
        if kinds not in self._begun:
            self._begun[kinds] = Outcomes()
            self._begun[kinds].begin(partial(self._read, kinds))


class StatedInstallation(Struct, frozen=True):
    """Koordinator's version and namespace as the user gave them, empty for those to be detected."""

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


V = TypeVar("V")
_SERVED_NOT_FOUND = 404


def told_apart(lists: Mapping[str, V | Gap], transport: Transport) -> Mapping[str, V | Gap]:
    """Return lists by kind, with forbidden kinds as missing ones where their API group is not served.

    The server refuses a path before it looks whether there is one; which groups there are everybody may know. Where
    Koordinator's is missing, that is the reason for all of its kinds.
    """
    optional = {kind: gap for kind, gap in lists.items() if isinstance(gap, Gap) and kind in OPTIONAL_KINDS}
    refused = {KINDS[kind].api for kind, gap in optional.items() if gap.code == "forbidden"}
    gone = {api for api in refused if is_missing(transport, api)}
    missing = {kind: structs.replace(gap, code="missing") for kind, gap in optional.items() if KINDS[kind].api in gone}
    topology = lists.get(NETWORK_TOPOLOGY.name)
    if isinstance(topology, Gap) and topology.code == "missing" and is_missing(transport, NETWORK_TOPOLOGY.api):
        return {kind: _not_installed(value) for kind, value in {**lists, **missing}.items()}
    return {**lists, **missing}


def _not_installed(value: V | Gap) -> V | Gap:
    """Return a missing kind of Koordinator's with that as the reason: its API group is not there at all."""
    if isinstance(value, Gap) and value.code == "missing" and KINDS[value.kind].of_koordinator:
        return structs.replace(value, message="Koordinator's CRDs are not installed")
    return value


def is_missing(transport: Transport, path: str) -> bool:
    """Tell whether the server answers a path with 404."""
    body = transport.open(path)
    body.close()
    return body.status == _SERVED_NOT_FOUND


CRD = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{scheduler.EXPLANATIONS}"
_OK, _NOT_FOUND = 200, 404


TRACED = (POD.name, POD_GROUP.name, EVENT.name, DEPLOYMENT.name, CONFIG_MAP.name)
"""The kinds in which preemption leaves traces."""

_OF_TREE = {NETWORK_TOPOLOGY.name, NODE.name}

EarlyLook: TypeAlias = Callable[[Mapping[str, NetworkTopology], Mapping[str, Node]], None]
"""Takes what the topology tree is made of, which is there long before the pods are."""

Join: TypeAlias = Callable[[Collector, str, Collection[Gap]], None]
"""Adds to a cluster what is not in it, as if it had been made at this moment; and is told what could not be read."""


def requests(kinds: Sequence[str]) -> list[ListRequest]:
    """Return the lists of the kinds: questions about gangs need their finished pods, too.

    The one about the installation needs all of its Deployments.
    """
    whole = {POD.name} if asks_of_gangs(kinds) else set()
    whole |= {DEPLOYMENT.name} if asks_about_installation(kinds) else set()
    return [KINDS[kind].request("" if kind in whole else None) for kind in kinds]


def asks_of_gangs(kinds: Sequence[str]) -> bool:
    """Tell whether these are the kinds of a question about gangs."""
    return POD_GROUP.name in kinds


def asks_about_installation(kinds: Sequence[str]) -> bool:
    """Tell whether these are the kinds of a question about how Koordinator is installed."""
    return VALIDATING.name in kinds


def live(  # noqa: PLR0913 - each names one thing
    transport: Transport,
    kinds: Sequence[str],
    namespace: Callable[[], str],
    told: StatedInstallation,
    seen: dict[str, int] | None = None,
    early: EarlyLook | None = None,
    join: Join | None = None,
    *,
    sums: bool = False,
) -> Snapshot:
    """Return the cluster behind a transport, with a named gap for each kind that may not be read.

    `seen` is counted up, by kind, while objects come; `early` is called while pods still come, if at all, `join` when
    all is there but for what pending pods use. With `sums` only what pods take up is kept, by node. Raises KoordError
    when the server cannot be reached or answers with anything but a list or a refusal.
    """
    collector = SummingCollector(seen) if sums else Collector(PodPool(details=POD_GROUP.name in kinds), seen)
    collector.looked_in = told.namespace
    ahead = (
        Ahead(lambda more: read(transport, requests(more), namespace, collector), kinds)
        if asks_of_gangs(kinds)
        else None
    )
    found = read(transport, requests(kinds), namespace, collector, early, told.namespace, ahead)
    gaps, listed, narrowed = absorb(found, collector), lease_seen(found), namespace() if found.namespace_only else ""
    del found  # the lists have more than the objects: what readers of pods and nodes remembered of them
    if join:
        join(collector, now(), gaps)
    if ahead:
        for more in ahead.found(_used(kinds, collector)):
            gaps += absorb(more, collector)
    if asks_about_installation(kinds):
        gaps += with_descheduler(transport, namespace, collector, gaps)
    detect_version(transport, collector, told.version)
    snapshot = at_this_moment(collector, gaps, told.version, narrowed, listed)
    if not asks_about_installation(kinds):
        return snapshot
    every_gap = tuple(sorted(gaps, key=lambda gap: gap.kind))
    return structs.replace(snapshot, gaps=every_gap, installation=installation(collector))


def with_descheduler(
    transport: Transport, namespace: Callable[[], str], collector: Collector, gaps: Iterable[Gap]
) -> list[Gap]:
    """Take the configuration of koord-descheduler, too; a refusal is a gap, unless ConfigMaps have one already."""
    known = {gap.kind for gap in gaps}
    more = read(transport, [at(CONFIG_MAP, *installed_descheduler_config(collector))], namespace, collector)
    return [gap for gap in absorb(more, collector) if gap.kind not in known]


def lease_seen(found: Lists[Part]) -> str | None:
    """Return when the server listed leases (empty without a Date header), None where it did not."""
    leases = found.values.get(LEASE.name)
    return _rfc_3339(leases.date) if isinstance(leases, Part) else None


def more_kinds(kinds: Sequence[str], collector: Collector) -> tuple[str, ...]:
    """Return the further kinds that a question about gangs needs, by what its pods use."""
    return tuple(chain.from_iterable(_used(kinds, collector))) if asks_of_gangs(kinds) else ()


def _used(kinds: Sequence[str], collector: Collector) -> tuple[Kinds, ...]:
    """Return the kinds for what pods use, those together that are read together."""
    volumes = (VOLUME_KINDS,) if collector.has_claims else ()
    claims = (CLAIM_KINDS,) if collector.has_resource_claims else ()
    namespaces = (NAMESPACE_KINDS,) if NAMESPACE.name not in kinds and collector.reads_namespaces else ()
    has_classes = VOLCANO_GROUP.name in kinds and collector.has_volcano_classes
    return (*volumes, *claims, *namespaces, *([(PRIORITY_CLASS.name,)] if has_classes else ()))


class Reading(Lists[Part], frozen=True):
    """What was read, and by which requests."""

    requests: Mapping[str, ListRequest] = {}


class _Decoding:
    """Decodes lists into parts of a cluster."""

    def __init__(self, collector: Collector, ahead: Ahead[Reading] | None) -> None:
        self._collector = collector
        self._ahead = ahead

    def __call__(self, kind: str, pages: Pages) -> Part:
        part = self._collector.part()  # a list that expires is read again, into a part of its own
        if self._ahead and kind == POD.name:
            self._ahead.watch(part)
        meta, date, meter = ListMeta(), "", Meter()
        if kind in self._collector.messages and protobuf.is_readable():
            pages.accept = f"{protobuf.MIME}, {JSON}"
        for page in pages:
            before = meter.objects
            take = partial(part.add_all, kind)
            if page.headers.get("content-type", "").startswith(protobuf.MIME):
                listed = read_encoded_page(page, self._collector.messages[kind], take, meter)
            else:
                listed = read_page(page, self._collector.wire_types[kind], take, meter=meter)
            if listed.kind != f"{KINDS[kind].object_kind}List":
                raise KoordError(
                    say(
                        "error: the server's list of {kind} cannot be read: {other_than_list}",
                        kind=kind,
                        other_than_list=_other_than_list(listed.kind),
                    )
                )
            meta = listed.meta
            pages.continue_token = meta.continue_ or ""
            pages.came(meter.objects - before)
            date = page.headers.get("date", "")
        return Part(part, meta.resource_version or "", date)


def read(
    transport: Transport,
    wanted: Sequence[ListRequest],
    namespace: Callable[[], str],
    collector: Collector,
    early: EarlyLook | None = None,
    home: str = "",
    ahead: Ahead[Reading] | None = None,
) -> Reading:
    """Return lists as parts of the collector's cluster, which are still to be absorbed; `early` is as in `live`.

    What tells how Koordinator is installed is looked for in `home`, or in the usual namespace, and else where its
    objects say that it is. `ahead` is told of pods as they come. Raises KoordError: as `live`.
    """
    decode = _Decoding(collector, ahead)
    of_tree: dict[str, Collector] = {}

    def arrived(kind: str, value: Part | Gap) -> None:
        if kind == CONFIG_MAP.name and isinstance(value, Part):
            value.objects.scheduler()  # its configuration is parsed, and the parser imported, while pods still come
        if early and kind in _OF_TREE and isinstance(value, Part):
            of_tree[kind] = value.objects
            if len(of_tree) == len(_OF_TREE):
                early(of_tree[NETWORK_TOPOLOGY.name].topologies, of_tree[NODE.name].nodes)

    wanted = [in_namespace(request, home) for request in wanted]
    found = read_lists(transport, wanted, namespace, decode, arrived)

    def read_one(request: ListRequest) -> Part | Gap:
        return read_lists(transport, [request], namespace, decode).values[request.kind]

    moved = look(found.values, read_one, {request.kind: request for request in wanted}, home)
    values = {**found.values, **{kind: one.value for kind, one in moved.items()}}
    followed = {request.kind: request for request in wanted} | {kind: one.request for kind, one in moved.items()}
    return Reading(told_apart(values, transport), found.namespace_only, followed)


def _other_than_list(kind: str | None) -> str:
    return f"it is a {kind}" if kind else "it has no kind"


def no_namespace(transport: Transport, namespace: str) -> KoordError | None:
    """Return the server's message that there is no such namespace, None where there is one or it may not be read."""
    path = f"/api/v1/namespaces/{quote(namespace, safe='')}"
    body = transport.open(path)
    try:
        return failure(body.status, body.read(), path) if body.status == _NOT_FOUND else None
    finally:
        body.close()


def absorb(found: Lists[Part], collector: Collector) -> list[Gap]:
    """Take over what was read, and return a gap for each kind that was not, or of one namespace only."""
    gaps = []
    for value in found.values.values():
        if isinstance(value, Gap):
            gaps.append(value)
        else:
            collector.merge(value.objects)
    return gaps + [_only_one_namespace(kind) for kind in sorted(found.namespace_only)]


def detect_version(transport: Transport, collector: Collector, chosen_version: str) -> None:
    """Look at the CRDs where neither the user nor the scheduler's image shows the version."""
    own = settings.find(collector.values(DEPLOYMENT).values(), settings.SCHEDULER, collector.looked_in)
    if not chosen_version and not (own and scheduler.from_image(settings.image(own, settings.SCHEDULER))):
        collector.crd_version = _crd_version(transport)


def at_this_moment(
    collector: Collector,
    gaps: Iterable[Gap],
    chosen_version: str,
    namespace_only: str,
    lease_seen: str | None = None,
    moment: str = "",
) -> Snapshot:
    """Return the live cluster as it was collected, stamped with a moment, which is now where none is given.

    `lease_seen` is as the collector wants it.
    """
    return collector.snapshot(
        moment=moment or now(),
        source="cluster",
        gaps=gaps,
        chosen_version=chosen_version,
        namespace_only=namespace_only,
        lease_seen=lease_seen,
    )


def _rfc_3339(date: str) -> str:
    """Return the time of an HTTP Date header, empty where that is none."""
    try:
        return parsedate_to_datetime(date).astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    except (ValueError, OverflowError):
        return ""


def with_events(snapshot: Snapshot, transport: Transport, namespaces: Iterable[str], selected: str) -> Snapshot:
    """Return a live snapshot with more events of some namespaces; a refusal is a gap, as for lists."""
    collector = Collector()
    gaps: list[Gap] = []
    for namespace in sorted(set(namespaces)):
        gaps += absorb(read(transport, [events_request(namespace, selected)], str, collector), collector)
    events = (*snapshot.events, *collector.snapshot(moment="", source="").events)
    return structs.replace(snapshot, events=events, gaps=(*snapshot.gaps, *gaps[:1]))


def events_request(namespace: str, selected: str) -> ListRequest:
    """Return the list of the events of a namespace, or of every (""), that a field selector selects."""
    return ListRequest(EVENT.name, f"{EVENT.path(namespace)}?fieldSelector={quote(selected, safe='')}")


def now() -> str:
    """Return this moment."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _only_one_namespace(kind: str) -> Gap:
    return Gap(kind, "one-namespace", "readable in one namespace only")


def _crd_version(transport: Transport) -> str | None:
    try:
        body = transport.open(CRD)
        try:
            content = body.read(BOUNDS.object_bytes)
            return scheduler.from_explanation_schema(content) if body.status == _OK else None
        finally:
            body.close()
    except KoordError:
        return None
