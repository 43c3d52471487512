"""What an answer rests on that was not read or is not evaluated; each makes a yes unknown."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TypeAlias

from kubectl_koord.engine.admission.open_settings import of_pods
from kubectl_koord.engine.fit.device_share import PodDeviceRequest, request_of
from kubectl_koord.engine.fit.interpod_affinity.selecting import needs_unread_namespaces
from kubectl_koord.engine.fit.node_affinity import is_selected
from kubectl_koord.engine.fit.resource_claims import readiness
from kubectl_koord.engine.fit.resource_claims.readiness import open_claims, uses_claims
from kubectl_koord.engine.fit.taints import untolerated
from kubectl_koord.engine.gangs import GangGroup
from kubectl_koord.engine.quota.tree import quota_tree
from kubectl_koord.engine.rounds import Outcome
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.subjects import GangSubject, Subject
from kubectl_koord.model.hardware.numa import NO_NUMA, policy_of
from kubectl_koord.model.objects import Node
from kubectl_koord.model.plugins import INLINE_BATCH, POINTS, VOLUMES, Extender
from kubectl_koord.model.pods import PendingPod, claim_names
from kubectl_koord.model.quotas import IGNORE_TERMINATING
from kubectl_koord.model.settings import Bears
from kubectl_koord.model.snapshot import Snapshot
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
from kubectl_koord.model.values.memo import memoised
from kubectl_koord.reports.codes import OF_GAP, ReadingCode
from kubectl_koord.reports.common import Basis, Notice
from kubectl_koord.wording.answers.pending import slots_leave_out
from kubectl_koord.wording.basis import assumed_config, lease_missing, none_in_input, not_followed, not_read
from kubectl_koord.wording.unevaluated import settings_left_out

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
        if _has_spec(subject.group):
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
    return readiness.KINDS if any(uses_claims(pod, snapshot) for pod in subject.pending) else ()


def _has_spec(group: GangGroup) -> bool:
    return any(gang.topology is not None for gang in group.everyone)


def is_device(resource: str) -> bool:
    """Tell whether DeviceShare allocates the resource."""
    return resource in _DEVICES or resource.startswith(_DEVICE_PREFIXES)


def of_search(outcomes: Sequence[Outcome]) -> Iterator[Notice]:
    """Yield that there are more outcomes than were followed, where that is so."""
    followed = max((outcome.followed for outcome in outcomes), default=0)
    if followed:
        yield Notice("not-followed", f"{not_followed(followed)}.")


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
        yield Notice("slots-incomplete", slots_leave_out(left_out))


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
