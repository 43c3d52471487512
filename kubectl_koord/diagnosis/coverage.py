"""What an answer rests on that was not read or is not evaluated, and what is said about it."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Literal, TypeAlias

from msgspec import Struct, structs

from kubectl_koord.engine.blockers import of_pods
from kubectl_koord.engine.filters import resource_claims
from kubectl_koord.engine.filters.device_allocation import PodDeviceRequest, request_of
from kubectl_koord.engine.filters.interpod_affinity import needs_unread_namespaces
from kubectl_koord.engine.filters.node import is_selected, untolerated
from kubectl_koord.engine.filters.resource_claims import open_claims, uses_claims
from kubectl_koord.engine.gangs import (
    Gang,
    GangSubject,
    PodSubject,
    Subject,
    all_gangs,
    group_of,
    topology_requirements,
)
from kubectl_koord.engine.quota.tree import quota_tree
from kubectl_koord.engine.rounds import Outcome
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.tree import DEFAULT_NAME, NODE_LAYER, NoTree, Tree, tree_of
from kubectl_koord.language import STOP, say
from kubectl_koord.model import values
from kubectl_koord.model.hardware import NO_NUMA, policy_of
from kubectl_koord.model.installation import INLINE_BATCH, POINTS, VOLUMES, Extender
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import Event, PendingPod, claim_names
from kubectl_koord.model.quotas import IGNORE_TERMINATING
from kubectl_koord.model.settings import Bears
from kubectl_koord.model.snapshot import Gap, Snapshot
from kubectl_koord.model.unevaluated import (
    AddedAffinity,
    AttachedVolume,
    ForeignPlugin,
    IgnoredResource,
    OpenExtender,
    OpenGate,
    OpenPlugin,
    OpenQuota,
    OpenSetting,
    PodSetting,
    QuotaSetting,
    Unevaluated,
    UnreadAttachments,
    UnreadCards,
    UnreadClaims,
    UnreadLoad,
    UnreadNamespaces,
    UnreadQuotas,
    UnreadReservations,
    UnreadScheduler,
    UnreadStorage,
    UnreadTopologies,
    UnreadVolume,
    UnreadVolumeLimits,
)
from kubectl_koord.model.values import memoised
from kubectl_koord.reports.common import OF_GAP, Basis, CauseCode, DomainName, Migration, Notice, ReadingCode
from kubectl_koord.reports.jobs import Cause, CauseGroup, PodShape, WhyReport
from kubectl_koord.simulation.what_if import NOT_READY
from kubectl_koord.wording.facts import ROOT_NAME
from kubectl_koord.wording.words import (
    age_at,
    assumed_config,
    count,
    lease_missing,
    listed,
    main_amounts,
    none_in_input,
    not_followed,
    not_read,
    requests,
    settings_left_out,
    unevaluated_names,
)

_DEVICE_PREFIXES = ("koordinator.sh/gpu", "koordinator.sh/rdma", "koordinator.sh/fpga", "huawei.com/npu")
_DEVICES = {"nvidia.com/gpu", "amd.com/gpu", "dcu.com/gpu"}
_MOST_NODES_ASKED = 64
_OF_UNBOUND = ("StorageClass", "PersistentVolume", "CSIDriver", "CSIStorageCapacity")


@memoised
def basis(snapshot: Snapshot) -> Basis:
    """Return what an answer from this snapshot rests on."""
    config = snapshot.config
    return Basis(config.version, config.version_from, snapshot.moment, snapshot.source)


@memoised
def general(snapshot: Snapshot) -> tuple[Notice, ...]:
    """Return a warning for each reason why kinds could not be read, and for an assumed configuration."""
    return tuple(_general(snapshot))


def _general(snapshot: Snapshot) -> Iterator[Notice]:
    kinds: dict[tuple[ReadingCode, str], list[str]] = {}
    unneeded = {"Event"} if snapshot.config.elects_leader else {"Event", "Lease"}  # events are told where they matter
    for gap in snapshot.gaps:
        if gap.code != "not-in-input" and gap.kind not in unneeded:
            kinds.setdefault((OF_GAP[gap.code], gap.message), []).append(gap.kind)
    for (code, message), unread in kinds.items():
        yield Notice(code, not_read(unread, message))
    if snapshot.config.settings:
        yield Notice("setting-not-evaluated", settings_left_out(snapshot.config.settings))
    if snapshot.config.assumed:
        yield Notice("assumed-config", assumed_config(snapshot.config.unread))
    if snapshot.leases == () and snapshot.config.elects_leader:
        yield Notice("lease-missing", lease_missing(snapshot.config.home))


def absent(snapshot: Snapshot, kinds: Iterable[str]) -> Iterator[Notice]:
    """Yield one warning that names the kinds among these of which the input holds nothing."""
    gaps = {gap.kind for gap in snapshot.gaps if gap.code == "not-in-input"}
    missing = [kind for kind in kinds if kind in gaps]
    if missing:
        yield Notice("kind-not-in-input", none_in_input(missing))


def kinds_needed(subject: Subject, snapshot: Snapshot) -> tuple[str, ...]:
    """Return the kinds that a verdict about the subject rests on."""
    kinds = ["Node", "Pod", "ElasticQuota", "Reservation", "NodeMetric"]
    if isinstance(subject, GangSubject):
        kinds.append("PodGroup")
        if any(gang.topology is not None for gang in subject.group.everyone):
            kinds.append("ClusterNetworkTopology")
    kinds += (*volume_kinds(subject, snapshot), *claim_kinds(subject, snapshot))
    if any(is_device(resource) for pod in subject.pending for resource, _ in pod.requirements.requests):
        kinds.append("Device")
    if snapshot.numa_settings or any(pod.requirements.numa != NO_NUMA for pod in subject.pending):
        kinds.append("NodeResourceTopology")
    return tuple(kinds)


def volume_kinds(subject: Subject, snapshot: Snapshot) -> tuple[str, ...]:
    """Return the kinds that decide about the volumes of the subject's pods."""
    names = {name for pod in subject.pending for name in claim_names(pod)}
    if not names:
        return ()
    claims = [snapshot.claims[name] for name in sorted(names) if name in snapshot.claims]
    attachments = ("VolumeAttachment",) if rules(snapshot.config.version).counts_attachments else ()
    unbound = _OF_UNBOUND if any(not claim.volume for claim in claims) else ()
    return tuple(dict.fromkeys(("PersistentVolumeClaim", "PersistentVolume", "CSINode", *attachments, *unbound)))


def claim_kinds(subject: Subject, snapshot: Snapshot) -> tuple[str, ...]:
    """Return the kinds that decide about the resource claims of the subject's pods."""
    return resource_claims.KINDS if any(uses_claims(pod, snapshot) for pod in subject.pending) else ()


def is_device(resource: str) -> bool:
    """Tell whether DeviceShare allocates the resource."""
    return resource in _DEVICES or resource.startswith(_DEVICE_PREFIXES)


def of_search(outcomes: Sequence[Outcome]) -> Iterator[Notice]:
    """Yield that there are more outcomes than were followed, where that is so."""
    followed = max((outcome.followed for outcome in outcomes), default=0)
    if followed:
        yield Notice("not-followed", say("{not_followed}.", not_followed=not_followed(followed)))


def not_evaluated(subject: Subject, snapshot: Snapshot) -> tuple[Unevaluated, ...]:
    """Return what bears on the subject's pods and is not evaluated, each once."""
    return tuple(dict.fromkeys(_not_evaluated(subject.pending, snapshot)))


def of_scheduler(snapshot: Snapshot) -> tuple[UnreadScheduler, ...]:
    """Return what could not be read of the scheduler itself, without which no job is certain to run.

    What a file does not hold is assumed, with a warning.
    """
    config = snapshot.config
    rests_on = (
        "Deployment",
        *(("ConfigMap",) if config.assumed else ()),
        *(("Lease",) if config.elects_leader else ()),
    )
    kinds = tuple(kind for kind in rests_on if not snapshot.sees(kind))
    return (UnreadScheduler(kinds),) if kinds else ()


def slots_incomplete(subject: Subject, snapshot: Snapshot) -> Iterator[Notice]:
    """Yield a warning where slots that are shown leave out something that nodes may refuse or take pods for."""
    left_out = [item for item in not_evaluated(subject, snapshot) if item.changes_slots]
    if left_out:
        yield Notice("slots-incomplete", _slots_leave_out(left_out))


def _slots_leave_out(items: Collection[Unevaluated]) -> str:
    """Return what the slots are counted without, and how far they may therefore be off."""
    bound = say("more or fewer") if any(item.may_admit for item in items) else say("fewer")
    return say(
        "slots are counted without {unevaluated_names}: there may be {bound}.",
        unevaluated_names=unevaluated_names(items),
        bound=bound,
    )


def _not_evaluated(pods: tuple[PendingPod, ...], snapshot: Snapshot) -> Iterator[Unevaluated]:
    for pod in _unlike(pods):
        yield from pod.requirements.unevaluated
        yield from _volumes(pod, snapshot)
        yield from open_claims(pod, snapshot)
        devices = request_of(pod.requirements)
        if isinstance(devices, PodDeviceRequest) and devices.needs_template:
            yield PodSetting("npu-template")
        if pod.requirements.requests and policy_of(None, pod.requirements.numa) == "Unknown":
            yield PodSetting("unknown-numa-policy")
    if needs_unread_namespaces(pods, snapshot):
        yield UnreadNamespaces()
    if not snapshot.sees("NodeMetric"):
        yield UnreadLoad()
    if any(pod.requirements.requests for pod in pods) and not snapshot.sees("NodeResourceTopology"):
        yield UnreadTopologies()  # a node's policy may stand there alone
    yield from of_pods(pods, snapshot)
    yield from _settings(pods, snapshot)
    yield from _plugins(pods, snapshot)
    yield from _quotas(pods, snapshot)
    wanted = {resource for pod in pods for resource, _ in pod.requirements.requests}
    if any(is_device(resource) for resource in wanted) and not snapshot.sees("Device"):
        yield UnreadCards()
    if not snapshot.sees("Reservation"):
        yield UnreadReservations()
    if wanted:
        unlike = tuple(_unlike(pods))
        yield from (setting for setting, nodes in snapshot.node_settings.items() if _may_be_on(nodes, unlike))


def _may_be_on(nodes: Sequence[Node], pods: Collection[PendingPod]) -> bool:
    """Tell whether selectors, affinities and taints let pods on any of some nodes; taken to be so where these are many.

    The scheduler may look at the selector of one pod and the tolerations of another.
    """
    return len(nodes) > _MOST_NODES_ASKED or any(
        any(is_selected(pod.requirements, node) for pod in pods)
        and any(untolerated(pod.requirements, node) is None for pod in pods)
        for node in nodes
    )


def _unlike(pods: Iterable[PendingPod]) -> Iterable[PendingPod]:
    """Return one of the pods for each set of requirements, and all that have claims of their own."""
    found: dict[int, PendingPod] = {}
    for pod in pods:
        own = pod.requirements.claims or pod.requirements.ephemeral or pod.resource_claims
        found.setdefault(id(pod if own else pod.requirements), pod)
    return found.values()


def _volumes(pod: PendingPod, snapshot: Snapshot) -> Iterator[Unevaluated]:
    for name in claim_names(pod):
        claim, bare = snapshot.claims.get(name), name.partition("/")[2]
        if not snapshot.sees("PersistentVolumeClaim", pod.namespace):
            yield UnreadVolume(bare)
        elif claim is None:
            continue
        elif not claim.volume:
            unread = next((kind for kind in _OF_UNBOUND if not snapshot.sees(kind)), None)
            if unread is not None:
                yield UnreadStorage(bare, unread)
        elif not claim.known and not snapshot.sees("PersistentVolume"):
            yield UnreadVolume(bare)
        if claim is not None and (claim.driver or not claim.volume):
            yield from _limits(snapshot)


def _limits(snapshot: Snapshot) -> Iterator[Unevaluated]:
    if not snapshot.sees("CSINode"):
        yield UnreadVolumeLimits()
    elif not snapshot.sees("PersistentVolumeClaim"):
        yield UnreadClaims()
    elif rules(snapshot.config.version).counts_attachments and not snapshot.sees("VolumeAttachment"):
        yield UnreadAttachments()


def of_preemption(subject: Subject, snapshot: Snapshot) -> Iterator[Unevaluated]:
    """Yield what else bears on whom a subject preempts."""
    if "PreemptionPolicyTransformer" in snapshot.config.gates:
        yield OpenGate("PreemptionPolicyTransformer")
    if any(one.preempts and _is_asked(one, subject.pending) for one in snapshot.config.extenders):
        yield OpenExtender()
    for one in snapshot.config.settings:
        if one.bears == "preemption":
            yield OpenSetting(one.kind, one.name, one.known)


def _settings(pods: tuple[PendingPod, ...], snapshot: Snapshot) -> Iterator[Unevaluated]:
    """Yield arguments of Kubernetes' plugins, extenders and feature gates that bear on these pods."""
    config = snapshot.config
    if config.plugins.adds_affinity and config.plugins.filters("NodeAffinity"):
        yield AddedAffinity()
    for resource in sorted({resource for pod in pods for resource, _ in pod.requirements.requests}):
        if "/" in resource and config.plugins.ignores(resource):
            yield IgnoredResource(resource)
    if any(one.filters and _is_asked(one, pods) for one in config.extenders):
        yield OpenExtender()
    yield from (OpenGate(gate) for gate in config.gates if _BEARING[gate](pods, snapshot))
    for one in config.settings:
        if one.kind == "plugin":
            yield ForeignPlugin(one.name)
        elif _BEARS[one.bears](pods, snapshot):
            yield OpenSetting(one.kind, one.name, one.known)


def _is_asked(extender: Extender, pods: tuple[PendingPod, ...]) -> bool:
    """Tell whether an extender is interested in any of some pods (`IsInterested`)."""
    requested = {resource for pod in pods for resource, _ in pod.requirements.requests}
    return not extender.resources or not requested.isdisjoint(extender.resources)


@memoised
def _any_has_no_priority(snapshot: Snapshot) -> bool:
    running = chain.from_iterable(snapshot.running.values())
    return any(pod.priority == 0 for pod in snapshot.pending) or any(pod.priority == 0 for pod in running)


@memoised
def _any_nominated_by_others(snapshot: Snapshot) -> bool:
    return any(pod.nominated and pod.scheduler not in snapshot.config.profiles for pod in snapshot.pending)


def _looks_beyond_its_node(pod: PendingPod) -> bool:
    """Tell whether a filter looks at pods of other nodes: of a plan that is placed at once only each node's own."""
    own = pod.requirements
    return bool(own.spread or own.pod_affinity or own.pod_anti_affinity)


_BEARING: Mapping[str, Callable[[tuple[PendingPod, ...], Snapshot], bool]] = {
    "PriorityTransformer": lambda _pods, snapshot: _any_has_no_priority(snapshot),
    "PreemptionPolicyTransformer": lambda _pods, _snapshot: False,
    "OmitNodeLabelsForReservation": lambda pods, _: any(pod.requirements.reservation is not None for pod in pods),
    "ReplaceResourcesTransformer": lambda _pods, _snapshot: True,
    INLINE_BATCH: lambda pods, _: any(map(_looks_beyond_its_node, pods)) or any(pod.gates for pod in pods),
    "SkipFilterWithNominatedPods": lambda pods, snapshot: (
        bool(snapshot.nominated) and any(map(_looks_beyond_its_node, pods))
    ),
    "CrossSchedulerNomination": lambda _pods, snapshot: _any_nominated_by_others(snapshot),
}
"""When a gate that is on changes what becomes of pods; the second bears on preemption alone."""


def _wants_devices(pods: tuple[PendingPod, ...], _snapshot: Snapshot) -> bool:
    return any(is_device(resource) for pod in pods for resource, _ in pod.requirements.requests)


_BEARS: Mapping[Bears, Callable[[tuple[PendingPod, ...], Snapshot], bool]] = {
    "everything": lambda _pods, _snapshot: True,
    "preemption": lambda _pods, _snapshot: False,
    "told": lambda _pods, _snapshot: False,
    "volumes": lambda pods, _: any(map(_has_volumes, pods)),
    "claims": lambda pods, _: any(pod.resource_claims for pod in pods),
    "spread": lambda pods, _: any(pod.requirements.spread for pod in pods),
    "devices": _wants_devices,
    "reservations": lambda pods, snapshot: (
        bool(snapshot.reservations) or any(pod.requirements.reservation is not None for pod in pods)
    ),
}
"""When a setting that is not evaluated bears on pods; `told` of what is found out by itself."""


def _plugins(pods: tuple[PendingPod, ...], snapshot: Snapshot) -> Iterator[Unevaluated]:
    """Yield the plugins that lack points at which they bear on these pods, where what comes of it is not certain."""
    for name, points in snapshot.config.plugins.off:
        bears = _MISSED.get(name)
        if snapshot.config.plugins.is_partial(name) if bears is None else bears(frozenset(points), pods, snapshot):
            yield OpenPlugin(name, points)


def _has_volumes(pod: PendingPod) -> bool:
    own = pod.requirements
    return bool(own.claims or own.ephemeral) or any(isinstance(one, AttachedVolume) for one in own.unevaluated)


def _wants_devices_of_zones(pods: tuple[PendingPod, ...], snapshot: Snapshot) -> bool:
    """Tell whether devices and NUMA zones are chosen together: DeviceShare and NodeNUMAResource ask each other then."""
    wants = any(is_device(resource) for pod in pods for resource, _ in pod.requirements.requests)
    return wants and (bool(snapshot.numa_settings) or any(pod.requirements.numa != NO_NUMA for pod in pods))


_Pods: TypeAlias = tuple[PendingPod, ...]
_MISSED: Mapping[str, Callable[[frozenset[str], _Pods, Snapshot], bool]] = {
    **dict.fromkeys(("Coscheduling", "Reservation"), lambda _points, _pods, _snapshot: False),  # told elsewhere
    "ElasticQuota": lambda points, _pods, _snapshot: "reserve" in points and "preFilter" not in points,
    "NodeResourcesFit": lambda _points, _pods, _snapshot: True,
    "DeviceShare": lambda points, pods, snapshot: (
        points != {*POINTS["DeviceShare"]} or _wants_devices_of_zones(pods, snapshot)
    ),
    "NodeNUMAResource": lambda points, pods, snapshot: (
        points != {*POINTS["NodeNUMAResource"]} or _wants_devices_of_zones(pods, snapshot)
    ),
    **dict.fromkeys(VOLUMES, lambda _points, pods, _snapshot: any(map(_has_volumes, pods))),
}
"""When plugins that lack points are missed, where that is not simply when they still filter."""


def _quotas(pods: tuple[PendingPod, ...], snapshot: Snapshot) -> Iterator[Unevaluated]:
    if not snapshot.sees("ElasticQuota"):
        yield UnreadQuotas()
        return
    tree, settings = quota_tree(snapshot), snapshot.config.quotas
    if not (tree.has_faults or settings.hooks or settings.open_gates):
        return
    limited = [pod for pod in pods if tree.may_refuse(pod)]
    for pod in limited:
        fault = tree.fault_of(pod)
        if fault is not None:
            yield OpenQuota(tree.name_of(pod), fault)
    if any(map(tree.name_of, pods)):  # they are asked about pods of the default quota, too
        yield from (QuotaSetting("hook-plugin", key) for key in settings.hooks)
    if limited:
        yield from (QuotaSetting("feature-gate", gate) for gate in settings.open_gates if _decides(gate, snapshot))


def _decides(gate: str, snapshot: Snapshot) -> bool:
    """Tell whether a gate has a say in what quotas count: that for pods that terminate only where any does."""
    return gate != IGNORE_TERMINATING or _any_terminates(snapshot)


@memoised
def _any_terminates(snapshot: Snapshot) -> bool:
    running = chain.from_iterable(snapshot.running.values())
    return any(pod.terminating for pod in snapshot.pending) or any(pod.terminating for pod in running)


_TOO_FEW: frozenset[CauseCode] = frozenset({"too-few-pods", "group-member-too-few-pods"})


def lacks_pods(subject: Subject) -> bool:
    """Tell whether a gang that the subject starts with has fewer pods than it needs."""
    return any(_lacks(gang) for gang in subject.gangs.values() if gang is not None)


def told(subject: Subject, snapshot: Snapshot, cause: Cause) -> Cause:
    """Return the cause with what a controller last said of pods that it could not make, where it said so.

    It is one that owns pods of the gang that lacks some, or has its name.
    """
    event = last_said(subject.gangs.values(), snapshot) if cause.code in _TOO_FEW else None
    if event is None:
        return cause
    age = age_at(event.last_seen, snapshot.moment)
    return structs.replace(cause, message=_not_created(cause.message, f"{event.kind} {event.name}", event.note, age))


def _not_created(cause: str, controller: str, said: str, age: str) -> str:
    """Return a cause, and what a controller last said of pods that it could not make, so long ago."""
    since = say(" (last {age} ago)", age=age) if age else ""
    return say(
        "{cause} {controller} could not make more{since}: {said}.",
        cause=cause,
        controller=controller,
        since=since,
        said=said.removeprefix("Error creating: ").rstrip(STOP),
    )


def last_said(gangs: Iterable[Gang | None], snapshot: Snapshot) -> Event | None:
    """Return what was last said of pods that could not be made, of those of these gangs that lack pods."""
    found = max(_events(gangs, snapshot), key=_rank, default=None)
    return found[1] if found is not None else None


def _rank(found: tuple[bool, Event]) -> tuple[bool, str]:
    is_owner, event = found
    return is_owner, event.last_seen.removesuffix("Z")


def _lacks(gang: Gang) -> bool:
    return gang.minimum is not None and gang.children < gang.minimum


def _events(gangs: Iterable[Gang | None], snapshot: Snapshot) -> Iterator[tuple[bool, Event]]:
    """Yield the events of controllers of the gangs that lack pods, and whether these own pods of theirs."""
    for gang in gangs:
        if gang is None or not _lacks(gang):
            continue
        namespace, _, name = gang.key.partition("/")
        owners = {*(pod.owner for pod in gang.pending), *(pod.owner for pod in gang.running)}
        for event in snapshot.events:
            is_owner = f"{event.kind}/{event.name}" in owners
            if event.kind != "Pod" and event.namespace == namespace and (is_owner or event.name == name):
                yield is_owner, event


_HARD = {"NoSchedule", "NoExecute"}


def where_placed(snapshot: Snapshot, names: Iterable[str]) -> Iterator[Notice]:
    """Yield which of the nodes that pods are planned on are not ready."""
    yield from _notices(name for name in sorted({*names}) if not snapshot.nodes[name].ready)


def where_open(snapshot: Snapshot, names: Iterable[str]) -> Iterator[Notice]:
    """Yield which of these nodes are not ready, and neither cordoned nor tainted for it: nothing keeps pods away."""
    yield from _notices(name for name in sorted({*names}) if _is_open(snapshot.nodes[name]))


def _is_open(node: Node) -> bool:
    is_tainted = any(taint.key in NOT_READY and taint.effect in _HARD for taint in node.taints)
    return not (node.ready or node.unschedulable or is_tainted)


def _notices(names: Iterable[str]) -> Iterator[Notice]:
    found = tuple(names)
    if found:
        yield Notice("not-ready-nodes", _places_on_not_ready(found))


def _places_on_not_ready(nodes: Sequence[str]) -> str:
    verb, there = ("is", "there") if len(nodes) == 1 else ("are", say("on them"))
    return say(
        "{nodes} {verb} not ready: the scheduler looks at taints alone, and places pods {there} all the same.",
        nodes=listed(nodes),
        verb=verb,
        there=there,
    )


_ORDER = {"no": 0, "unknown": 1, "yes": 2}


def by_cause(items: Iterable[WhyReport]) -> tuple[CauseGroup, ...]:
    """Return the items by verdict and cause: those that cannot start first, of these the cause of most pods."""
    found: dict[tuple[str, str], list[WhyReport]] = {}
    for item in items:
        code = item.cause.code if item.cause is not None and item.verdict != "yes" else ""
        found.setdefault((item.verdict, code), []).append(item)
    groups = (_group(reports) for reports in found.values())
    return tuple(sorted(groups, key=lambda group: (_ORDER[group.verdict], -group.pods, group.code)))


def _group(items: list[WhyReport]) -> CauseGroup:
    items.sort(key=lambda item: (item.waiting_since, item.gang))
    first = items[0]
    totals = _sum(item.waiting for item in items)
    return CauseGroup(
        code=first.cause.code if first.cause is not None and first.verdict != "yes" else "",
        verdict=first.verdict,
        gangs=tuple(item.gang for item in items),
        pods=sum(len(item.pending_pods) for item in items),
        waiting=_spelled(totals),
        oldest=first.waiting_since,
        waiting_for=main_amounts(totals),
    )


def asked_for(pods: Iterable[PendingPod]) -> tuple[dict[str, str], str]:
    """Return what pods request together: spelled as quantities, by resource; and in words what counts most."""
    totals: dict[str, int] = {}
    for pod in pods:
        for resource, amount in pod.requirements.requests:
            totals[resource] = totals.get(resource, 0) + amount
    return _spelled(totals), main_amounts(totals)


def shapes(pods: Iterable[PendingPod]) -> tuple[PodShape, ...]:
    """Return pods by what they request, the most first."""
    found = Counter(pod.requirements.requests for pod in pods)
    return tuple(
        PodShape(number, requests(needs), {name: values.spell(name, amount) for name, amount in needs})
        for needs, number in found.most_common()
    )


def _sum(parts: Iterable[Mapping[str, str]]) -> dict[str, int]:
    totals: dict[str, int] = {}
    for part in parts:
        for resource, written in part.items():
            totals[resource] = totals.get(resource, 0) + values.amount(resource, values.parse(written))
    return totals


def _spelled(totals: Mapping[str, int]) -> dict[str, str]:
    return {resource: values.spell(resource, number) for resource, number in sorted(totals.items())}


def left_domains(snapshot: Snapshot, moving: Iterable[Migration]) -> Mapping[str, DomainName]:
    """Return by job the domain that its pod leaves: its Reservation is elsewhere, and the spec says MustGather.

    That is where the pods of its gang, or of its gang group, are that stay.
    """
    gangs = all_gangs(snapshot)
    by_group: dict[tuple[str, ...], list[Migration]] = {}
    for one in moving:
        gang = gangs.get(one.gang or "")
        if gang is not None and gang.topology and not one.paused:
            by_group.setdefault(gang.group, []).append(one)
    if not any(one.to for jobs in by_group.values() for one in jobs):
        return {}
    tree = tree_of(snapshot)
    if isinstance(tree, NoTree):
        return {}
    return {job: left for jobs in by_group.values() for job, left in _of_group(snapshot, tree, jobs)}


class Home(Struct, frozen=True):
    """The domain in which most of a gang's pods are that are bound, and the nodes of all domains that have some."""

    layer: str
    name: str
    nodes: frozenset[str]


def home_of(subject: Subject, tree: Tree | NoTree) -> Home | None:
    """Return where the bound pods of a gang are that must stay together; None where it need not, or none is bound."""
    if isinstance(subject, PodSubject) or isinstance(tree, NoTree):
        return None
    layer = topology_requirements(subject.group.own.topology or (), tree).must_gather
    used = _used(tree, layer, (pod.node for gang in subject.group.everyone for pod in gang.running)) if layer else None
    if not used:
        return None
    home = _most(tree, used)
    nodes = frozenset(name for at in used for name in tree.nodes_below(at))
    return Home(home.layer, home.name, nodes)


def _used(tree: Tree, layer: str, nodes: Iterable[str]) -> Counter[int]:
    return Counter(at for node in nodes if (at := tree.domain_of(node, layer)) is not None)


def _most(tree: Tree, used: Counter[int]) -> DomainName:
    home = tree.domains[max(used, key=lambda at: (used[at], -at))]
    return DomainName(home.layer, home.name)


def _of_group(snapshot: Snapshot, tree: Tree, jobs: Sequence[Migration]) -> Iterator[tuple[str, DomainName]]:
    group = group_of(all_gangs(snapshot), jobs[0].gang or "")
    layer = topology_requirements(group.own.topology or (), tree).must_gather
    moved = {pod for one in jobs for pod in (one.pod, one.replacement)}
    staying = [pod.node for gang in group.everyone for pod in gang.running if pod.key not in moved]
    used = _used(tree, layer, staying)
    for one in jobs:
        if used and one.to and tree.domain_of(one.to, layer) not in used:
            yield one.job, _most(tree, used)


class StaleStatus(Struct, frozen=True):
    """The status differs from the tree, in what the message says."""

    message: str
    code: Literal["stale-status"] = "stale-status"


def stale_status(snapshot: Snapshot, tree: Tree) -> StaleStatus | None:
    """Compare the tree with what the scheduler last wrote into the status; None where it agrees or wrote nothing.

    How many nodes are below the parents of a merged domain is not compared: it may be below any of them.
    """
    written = snapshot.topologies[DEFAULT_NAME].status
    if written is None:
        return None
    then = {(domain.layer, domain.name): domain.nodes for domain in written}
    now = {(domain.layer, domain.name): domain.nodes for domain in tree.domains if domain.layer != NODE_LAYER}
    is_open = frozenset(_above_merged(tree)) & then.keys()
    differing = sorted(key for key in (then.keys() | now.keys()) - is_open if then.get(key) != now.get(key))
    if not differing:
        return None
    first = differing[0]
    return StaleStatus(_stale_status(len(differing), first, then.get(first, 0), now.get(first, 0)))


def _stale_status(domains: int, first: tuple[str, str], written: int, now: int) -> str:
    """Return in how many domains the status differs; of the first, its layer and name, the nodes in it and now."""
    layer, name = first
    return say(
        "the status of the ClusterNetworkTopology is stale in {domains}, such as {layer} {name} "
        "(status: {written} nodes, now: {now}).",
        domains=count(domains, "domain"),
        layer=layer,
        name=name or ROOT_NAME,
        written=written,
        now=now,
    )


def _above_merged(tree: Tree) -> Iterator[tuple[str, str]]:
    """Yield the layers and names of the domains that a merged domain may be below, but for the root."""
    places = {(domain.layer, domain.name): index for index, domain in enumerate(tree.domains)}
    for one in tree.merged:
        above = tree.layers[tree.layers.index(one.layer) - 1]
        for parent in one.parents:
            for index in tree.ancestors(places[above, parent]):
                if index:
                    yield tree.domains[index].layer, tree.domains[index].name


About: TypeAlias = Literal[
    "tree",
    "listing",
    "members",
    "pod",
    "podgroup",
    "layers",
    "attempt",
    "preempted",
    "devices",
    "nodes",
    "quotas",
    "quota-names",
    "volcano",
]

DECIDE: dict[About, tuple[str, ...]] = {
    "tree": ("ClusterNetworkTopology", "Node"),
    "listing": ("Node", "Pod", "PodGroup"),
    "members": ("Pod", "PodGroup"),
    "pod": ("Pod",),
    "podgroup": ("PodGroup",),
    "layers": ("ClusterNetworkTopology",),
    "attempt": ("Node", "Pod"),
    "preempted": ("Pod", "Event"),
    "devices": ("Device", "Node"),
    "nodes": ("Node",),
    "quotas": ("ElasticQuota", "Pod", "Node"),
    "quota-names": ("ElasticQuota",),
    "volcano": ("Pod", "PodGroup.scheduling.volcano.sh"),
}
"""What each question rests on: the tree; which gangs are pending; which pods a name means, and which of them are
pending or on a node; the same of a pod without a gang; whether a PodGroup, or a layer, exists; where pods would be
placed; which pods were preempted; which devices there are; whether a node exists; what quotas use and may use; which
quotas there are; how far a gang of Volcano is."""

_NAMESPACED = {"Pod", "PodGroup", "PodGroup.scheduling.volcano.sh", "PersistentVolumeClaim", "Event"}


def unread(snapshot: Snapshot, about: About, *namespaces: str) -> tuple[Gap, ...]:
    """Return why the kinds that decide a question could not be read: in these namespaces, or everywhere for none."""
    return tuple(dict.fromkeys(_unread(snapshot, DECIDE[about], namespaces or ("",))))


def _unread(snapshot: Snapshot, kinds: Iterable[str], namespaces: Iterable[str]) -> Iterator[Gap]:
    for kind in kinds:
        for namespace in namespaces if kind in _NAMESPACED else ("",):
            gap = snapshot.unread(kind, namespace)
            if gap is not None:
                yield gap


def unread_members(subject: Subject, snapshot: Snapshot) -> tuple[Gap, ...]:
    """Return the gaps that leave open which pods belong to the subject, and which of them are pending."""
    if isinstance(subject, PodSubject):
        return unread(snapshot, "pod", subject.key.partition("/")[0])
    return unread(snapshot, "members", *_namespaces(subject))


def unread_for(subject: Subject, snapshot: Snapshot) -> tuple[Gap, ...]:
    """Return the gaps without which nothing can be computed for the subject: others' pods take room everywhere."""
    gaps = [*unread(snapshot, "attempt")]
    if isinstance(subject, GangSubject):
        gaps += unread(snapshot, "podgroup", *_namespaces(subject))
        if any(gang.topology is not None for gang in subject.group.everyone):
            gaps += unread(snapshot, "layers")
    return tuple(gaps)


def unread_for_slots(subject: Subject, snapshot: Snapshot) -> tuple[Gap, ...]:
    """Return the gaps without which the slots that domains offer the subject are not known.

    Beyond what decides at all: what nodes may refuse its pods for, where its pods are counted in slots.
    """
    gaps = dict.fromkeys(unread_for(subject, snapshot))
    if any(spec is not None for spec in subject.specs):
        gaps |= dict.fromkeys(unread_for_room(subject, snapshot))
    return tuple(gaps)


def unread_for_room(subject: Subject, snapshot: Snapshot) -> tuple[Gap, ...]:
    """Return the gaps without which it is not known how many of the subject's pods a node takes."""
    asked = {resource for pod in subject.pending for resource, _ in pod.requirements.requests}
    kinds = ["NodeMetric", "Reservation"]
    kinds += ["Device"] if any(is_device(resource) for resource in asked) else []
    kinds += (*volume_kinds(subject, snapshot), *claim_kinds(subject, snapshot))
    return tuple(dict.fromkeys((*unread(snapshot, "attempt"), *_unread(snapshot, kinds, _namespaces(subject)))))


def _namespaces(subject: Subject) -> tuple[str, ...]:
    """Return the namespaces of the subject and of the gangs that its list names."""
    return tuple(dict.fromkeys(key.partition("/")[0] for key in (subject.key, *subject.gangs)))
