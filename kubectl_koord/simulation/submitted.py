"""Pods that do not exist: of a standard shape such as `8gpu`, or of a job that was submitted."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping

from msgspec import Struct, structs

from kubectl_koord.engine.gangs import Gang, GangSubject, PodSubject, Subject
from kubectl_koord.engine.reasons import PreFilterRefusal, QuotaExceeded, Reason
from kubectl_koord.engine.slots import offer_slots, places
from kubectl_koord.engine.state import NodeState
from kubectl_koord.language import say
from kubectl_koord.model import objects, values
from kubectl_koord.model.load import ExpectedUse
from kubectl_koord.model.objects import Node, PodGroup
from kubectl_koord.model.pods import PendingPod, PodRequirements, RunningPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values import QuantityError
from kubectl_koord.simulation.simulation import Scenario
from kubectl_koord.simulation.subjects import pending_subjects
from kubectl_koord.simulation.what_if import recreated

_COUNTED = re.compile(r"(\d{1,9}(?:\.\d{1,2})?)([A-Za-z][\w.-]*)", re.ASCII)
_SHARES = ("koordinator.sh/gpu-core", "koordinator.sh/gpu-memory-ratio")
_MOST_PODS = 10_000  # on one node, whatever it says of itself
_LEAST_USE = {"cpu": 250, "memory": 200 << 20}


class ShapeError(ValueError):
    """A text that is no shape; with a `resource` that is the name of one which no node has."""

    def __init__(self, message: str, resource: str = "") -> None:
        super().__init__(message)
        self.resource = resource


class Shape(Struct, frozen=True):
    """A pod that only requests resources, by the name that was given for it; and how many make a gang, 0 for none."""

    name: str
    pod: PendingPod
    members: int = 0


class ShapeRoom(Struct, frozen=True):
    """How many pods of a shape each node takes, by name, without nodes that take none; why all refuse it.

    `refused` is why nodes refuse it that have enough free, by name.
    """

    counts: Mapping[str, int]
    refusal: PreFilterRefusal | None = None
    refused: Mapping[str, Reason] = {}


def parsed(snapshot: Snapshot, text: str, members: int = 0, before: Snapshot | None = None) -> Shape:
    """Return the shape of `8gpu`, `16cpu`, `8gpu,64cpu`, `nvidia.com/gpu=8,memory=64Gi`.

    Its resources are those of the snapshot's nodes, or of an earlier one's; see `requested`. Raises ShapeError when it
    cannot be read, or no node has such a resource.
    """
    nodes = (*snapshot.nodes.values(), *(before.nodes.values() if before else ()))
    requests = requested(nodes, text)
    expected = tuple(ExpectedUse(name, requests.get(name, 0), least=least) for name, least in _LEAST_USE.items())
    requirements = PodRequirements(tuple(sorted(requests.items())), expected=expected)
    profile = next(iter(snapshot.config.profiles), "")
    return Shape(text, PendingPod("", text, 0, requirements, profile), members)


def requested(nodes: Iterable[Node], text: str, *, known: bool = True) -> Mapping[str, int]:
    """Return by resource what is requested: `8gpu` or `NAME=AMOUNT`, several with commas between them.

    A resource may be named by what is behind its slash. GPUs are those of the vendor that most nodes have, or
    Koordinator's shares where nodes have no other, or a part of one is asked for. Unless it must be `known`, one that
    no node has is taken by the name that is written. Raises ShapeError when a text cannot be read, or no node has such
    a resource.
    """
    names = Counter(resource for node in nodes for resource, _ in node.allocatable)
    found: dict[str, int] = {}
    for part in map(str.strip, text.split(",")):
        name, nano = _amount(part)
        try:
            resolved = dict(_of_gpus(names, nano)) if name.lower() == objects.GPU else _of_name(names, name, nano)
        except ShapeError as problem:
            if known or not problem.resource:
                raise
            resolved = _rounded(name, nano)
        for resource, amount in resolved.items():
            if resource in found:
                raise ShapeError(say("{resource} is given twice", resource=resource))
            found[resource] = amount
    return found


def _amount(part: str) -> tuple[str, int]:
    name, equals, amount = part.partition("=")
    if not (equals and name):
        counted = _COUNTED.fullmatch(part)
        if counted is None:
            raise ShapeError(say("{part!r} is not of the form 8gpu or NAME=AMOUNT", part=part))
        amount, name = counted.groups()
    try:
        nano = values.parse(amount)
    except QuantityError as problem:
        raise ShapeError(f"{part!r}: {problem}") from None
    if nano <= 0:
        raise ShapeError(say("{part!r} must be more than 0", part=part))
    return name, nano


def _of_name(names: Counter[str], name: str, nano: int) -> Mapping[str, int]:
    return _rounded(_named(names, name), nano)


def _rounded(resource: str, nano: int) -> Mapping[str, int]:
    refused = values.refused(resource, nano)
    if refused:
        raise ShapeError(say("the amount of {resource} {refused}", resource=resource, refused=refused))
    return {resource: values.amount(resource, nano)}


def _named(names: Counter[str], name: str) -> str:
    """Return the resource of a name, or of what is behind a slash: that which most nodes have."""
    if name in names:
        return name
    found = [resource for resource in names if resource.rpartition("/")[2].lower() == name.lower()]
    if not found:
        raise ShapeError(say("no node has the resource {name!r}", name=name), name)
    return max(found, key=lambda resource: (names[resource], resource))


def _of_gpus(names: Counter[str], nano: int) -> Iterator[tuple[str, int]]:
    vendors = [name for name in names if objects.family(name) == objects.GPU and "koordinator.sh/" not in name]
    shares = [name for name in _SHARES if name in names]
    if vendors and (nano % values.NANO == 0 or not shares):
        if nano % values.NANO:
            raise ShapeError(say("a part of a GPU needs nodes with {shares}", shares=_SHARES[0]))
        yield max(vendors, key=lambda name: (names[name], name)), nano // values.NANO
    elif shares:
        yield from ((name, values.whole(nano * objects.CARD)) for name in shares)
    else:
        raise ShapeError(say("no node has GPUs"), objects.GPU)


def room(cluster: Scenario, shape: Shape) -> ShapeRoom:
    """Return how many pods of a shape each node takes beside what is there, quotas left out.

    Where cards or CPUs are booked, each pod is placed with what is booked for it before the next one is tried.
    """
    simulation = cluster.simulation(PodSubject(shape.pod))
    view, prepared = simulation.view, simulation.prepared(shape.pod)
    if prepared.refusal is not None and not isinstance(prepared.refusal, QuotaExceeded):
        return ShapeRoom({}, prepared.refusal)
    most = min(max((dict(view.node(name).allocatable).get("pods", 0) for name in view.names()), default=0), _MOST_PODS)
    if not most:
        return ShapeRoom({})
    offer = offer_slots(view, view.names(), (shape.pod,) * most, prepared)
    reasons = {name: reason for name, reason in offer.worded.items() if not offer.counts[name]}
    counts: Mapping[str, int] = offer.counts
    if prepared.books:
        booked = {name: places(view.state(name), (shape.pod,) * number, prepared) for name, number in counts.items()}
        counts = {name: node.slots for name, node in booked.items() if node.slots}
        reasons |= {name: node.rejection for name, node in booked.items() if not node.slots and node.rejection}
    refused = {name: reason for name, reason in sorted(reasons.items()) if _has_room(view.state(name), shape.pod)}
    return ShapeRoom(counts, refused=refused)


def _has_room(state: NodeState, pod: PendingPod) -> bool:
    """Tell whether the amounts that a pod requests are free on a node, and a place."""
    return state.places > 0 and all(state.free.get(name, 0) >= amount for name, amount in pod.requirements.requests)


class Submitted(Struct, frozen=True):
    """Which pods of a snapshot were put there from manifests, or as a shape.

    `is_filled` tells whether the API server would fill in what is missing of them, `is_mutated` whether Koordinator's
    webhook would change them, `asks_parts` whether they ask for parts of GPUs. `skipped` are the kinds in manifests
    that make no pods, `assumed` the PodGroups that an operator is taken to make, `of_others` those that
    stand for the PodGroups of another scheduler. No pods of `suspended` workloads are made yet, and those of
    `scheduled` ones at the times that stand beside them. Those with an `own_priority` have one that the API server
    refuses, as no class gives it; pods that it refuses for what its namespace allows are `refused`, with its words.
    """

    pods: frozenset[str]
    skipped: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    is_filled: bool = False
    of_others: tuple[str, ...] = ()
    suspended: tuple[str, ...] = ()
    scheduled: tuple[tuple[str, str], ...] = ()
    is_mutated: bool = False
    asks_parts: bool = False
    own_priority: tuple[str, ...] = ()
    refused: Mapping[str, str] = {}


def subjects_of(snapshot: Snapshot, submitted: Submitted) -> tuple[Subject, ...]:
    """Return the subjects with pods that were submitted: gang groups first, then pods without a gang, by name.

    Pods without a gang are there whatever their scheduler is: whoever submits them wants to know.
    """
    gangs = [one for one in pending_subjects(snapshot) if isinstance(one, GangSubject) and _is_of(one, submitted)]
    alone = (pod for pod in snapshot.pending if pod.key in submitted.pods and not pod.gang)
    return (*gangs, *map(PodSubject, alone))


def _is_of(subject: Subject, submitted: Submitted) -> bool:
    return any(pod.key in submitted.pods for pod in subject.pending)


def of_profile(snapshot: Snapshot, submitted: Submitted) -> Snapshot:
    """Return the snapshot with the submitted pods given to the first profile of the scheduler."""
    return _given(snapshot, submitted.pods)


def of_other_schedulers(snapshot: Snapshot, submitted: Submitted) -> Mapping[str, PendingPod]:
    """Return the submitted pods that another scheduler would place, by name, as it would.

    Those that say that they are in a gang of Koordinator are not among them: they would wait for ever.
    """
    stand_ins = {"", *submitted.assumed, *submitted.of_others}
    return {
        pod.key: pod
        for pod in snapshot.pending
        if pod.key in submitted.pods and pod.gang in stand_ins and pod.scheduler not in snapshot.config.profiles
    }


def taken_over(snapshot: Snapshot, submitted: Submitted) -> Snapshot:
    """Return the snapshot with those pods, too, given to the first profile of the scheduler."""
    others = of_other_schedulers(snapshot, submitted)
    return _given(snapshot, others.keys()) if others else snapshot


def _given(snapshot: Snapshot, pods: Collection[str]) -> Snapshot:
    profile = snapshot.config.profiles[0]
    pending = (structs.replace(pod, scheduler=profile) if pod.key in pods else pod for pod in snapshot.pending)
    return structs.replace(snapshot, pending=tuple(pending))


def with_copy(snapshot: Snapshot, subject: GangSubject) -> tuple[Snapshot, Submitted]:
    """Return the snapshot with a copy of a gang, none of whose pods is anywhere yet.

    The copy of a gang that lacks its PodGroup, or never initialises, has the same fault.
    """
    gang = subject.group.own
    is_sound = bool(gang.defined_by) and gang.minimum is not None
    group = _group(snapshot, gang)
    pods = tuple(_copies(gang, snapshot.moment, group.key, is_sound=is_sound))
    submitted = Submitted(frozenset(pod.key for pod in pods))
    pending = tuple(sorted((*snapshot.pending, *pods), key=lambda pod: (pod.namespace, pod.name)))
    added = {group.key: group} if is_sound else {}
    groups = dict(sorted({**snapshot.pod_groups, **added}.items()))
    return of_profile(structs.replace(snapshot, pending=pending, pod_groups=groups), submitted), submitted


def _group(snapshot: Snapshot, gang: Gang) -> PodGroup:
    namespace, _, name = gang.key.partition("/")
    written = snapshot.pod_groups.get(gang.key)
    terms = next((pod.gang_terms for pod in gang.pending), None)
    return structs.replace(
        written or PodGroup(namespace, name, gang.minimum or 0, topology=terms.topology if terms else None),
        name=f"{name}-copy",
        mode=gang.mode,
        match_policy=gang.match_policy,
        groups=None,
        phase="",
        created=snapshot.moment,
    )


def _copies(gang: Gang, moment: str, key: str, *, is_sound: bool) -> Iterator[PendingPod]:
    namespace, _, name = key.partition("/")
    members: Iterable[PendingPod | RunningPod] = sorted((*gang.pending, *gang.running), key=lambda pod: pod.name)
    for number, pod in enumerate(members):
        fresh = pod if isinstance(pod, PendingPod) else recreated(pod)
        yield structs.replace(
            fresh,
            name=f"{name}-{number}",
            namespace=namespace,
            gang=key,
            needs_pod_group=is_sound or fresh.needs_pod_group,
            nominated="",
            condition=None,
            terminating=False,
            created=moment,
            owner="",
            owners=(),
            uid="",
        )
