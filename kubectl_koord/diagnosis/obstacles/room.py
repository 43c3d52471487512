"""Why there is no room that room alone does not tell: members in each other's way, cards scattered, none offered."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice

from msgspec import Struct

from kubectl_koord.diagnosis import evidence
from kubectl_koord.engine.attempts.attempt import Attempt
from kubectl_koord.engine.reasons.devices import DevicesMissing
from kubectl_koord.engine.reasons.nodes import (
    AntiAffinityViolated,
    ClaimInUse,
    Cordoned,
    ExistingAntiAffinityViolated,
    Insufficient,
    NotSelected,
    PortTaken,
    Reason,
    Refused,
    SpreadTooSkewed,
    Untolerated,
)
from kubectl_koord.engine.slots import offer_slots
from kubectl_koord.engine.view import View
from kubectl_koord.model import accelerators
from kubectl_koord.model.hardware.devices import GPU
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.values.memo import memoised
from kubectl_koord.simulation.edits import room_alone
from kubectl_koord.simulation.simulation import Simulation
from kubectl_koord.wording.suggestions import near
from kubectl_koord.wording.words import ranked

_EXCLUSIVE = AntiAffinityViolated | ClaimInUse | ExistingAntiAffinityViolated | PortTaken | SpreadTooSkewed
_LABELS_OF_GPUS = (
    "nvidia.com/gpu.present",
    "node.koordinator.sh/gpu-model",
    "cloud.google.com/gke-accelerator",
    "kubernetes.azure.com/accelerator",
    "k8s.amazonaws.com/accelerator",
    "accelerator",
)
_LABELS_OF_RDMA = ("feature.node.kubernetes.io/rdma.available", "feature.node.kubernetes.io/rdma.capable")
_MOST_KINDS = 4
_FALSE = frozenset({"", "0", "false", "none"})
_KOORD = "koordinator.sh/"
_PLUGINS = ("device-plugin", "-dp-")
"""What the names of pods of device plugins have in them."""


class Scattered(Struct, frozen=True):
    """What is free of a resource that every node has too little of: in all, and most on one node."""

    resource: str
    free: int
    most: int


class Unoffered(Struct, frozen=True):
    """A resource that pods request and no node offers, or of which no Device object lists a device.

    with_none: nodes that report it, and have nothing of it. listed: nodes whose Device object lists such devices.
    labelled: other nodes that should have it by a label, with the label. unlisted: nodes that offer it, though no
    Device object lists one. idle: of all these the nodes on which nothing runs that publishes it. similar: names
    that nodes offer, and that may be meant.
    """

    resource: str
    with_none: tuple[str, ...] = ()
    listed: tuple[str, ...] = ()
    labelled: tuple[tuple[str, str], ...] = ()
    unlisted: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()
    similar: tuple[str, ...] = ()


def exclusions(simulation: Simulation, first: Attempt) -> tuple[Refused, ...]:
    """Return why nodes that take a member refuse the next one because of it, and how many do; the commonest first."""
    slots = first.plan.nodes if first.plan is not None else None
    beside = [slots[name].rejection for name in slots.counts] if slots is not None else None
    found = _beside_members(simulation, first) if beside is None else beside
    counted = Counter(reason for reason in found if isinstance(reason, _EXCLUSIVE))
    return tuple(Refused(reason, number) for reason, number in counted.most_common())


def _beside_members(simulation: Simulation, first: Attempt) -> list[Reason]:
    """Return why nodes refuse a member that is left once others have their places, of those that took it before."""
    pod, view = next(iter(first.left), first.trigger), first.beside_waiting(simulation.view)
    before = evidence.asked(simulation, pod).counts
    after = offer_slots(view, view.names(), (pod,), simulation.prepared(pod))
    return [reason for name in before if (reason := after[name].rejection) is not None and not after[name].slots]


def scattered(pod: PendingPod, refused: Mapping[str, Reason]) -> Scattered | None:
    """Return what is free on nodes that refuse a pod for too little of a resource, where together they have enough.

    It is the resource that counts most of those that any of them lacks.
    """
    free: dict[str, list[int]] = {}
    for reason in refused.values():
        for resource, _, left in reason.short if isinstance(reason, Insufficient) else ():
            free.setdefault(resource, []).append(max(0, left))
    main = next(((resource, need) for resource, need in ranked(pod.requirements.requests) if resource in free), None)
    if main is None or sum(free[main[0]]) < main[1]:
        return None
    return Scattered(main[0], sum(free[main[0]]), max(free[main[0]]))


def unoffered(simulation: Simulation, first: Attempt) -> Unoffered | None:
    """Return what a pod of the subject requests and no node offers; None where for each of it there is a node."""
    offered = _offered(simulation.view)
    kinds = {pod.requirements: pod for pod in (*reversed(simulation.subject.pending), first.trigger)}
    lacking = (pod for pod in kinds.values() if any(name not in offered for name, _ in pod.requirements.requests))
    every = dict.fromkeys((*islice(lacking, _MOST_KINDS), first.trigger))
    return next(filter(None, (_of_pod(simulation, pod) for pod in every)), None)


def _of_pod(simulation: Simulation, pod: PendingPod) -> Unoffered | None:
    view, offered = simulation.view, _offered(simulation.view)
    asked = [resource for resource, _ in ranked(pod.requirements.requests)]
    for resource in asked:
        if resource not in offered and _is_missed(simulation, pod, resource):
            return _unoffered(view, resource)
    reasons = [one.reason for one in evidence.asked(simulation, pod).reasons]
    missing = {reason.type for reason in reasons if isinstance(reason, DevicesMissing)}
    missing = {kind for kind in missing if not any(_lists(view.node(name), kind) for name in view.names())}
    return _unlisted(view, asked, missing) if missing and all(map(_is_no_room, reasons)) else None


def _is_missed(simulation: Simulation, pod: PendingPod, resource: str) -> bool:
    """Tell whether every node, with nothing on it, refuses a pod for want of a resource: some are ignored."""
    alone, empty = room_alone(pod), evidence.roomy_view(simulation.view)
    offer = offer_slots(empty, empty.names(), (alone,), simulation.prepared(alone, empty))
    reasons = [one.reason for one in offer.reasons]
    short = [{name for name, _, _ in reason.short} for reason in reasons if isinstance(reason, Insufficient)]
    return not offer.counts and bool(short) and all(resource in names for names in short)


def _is_no_room(reason: Reason) -> bool:
    return isinstance(reason, DevicesMissing | Insufficient | Cordoned | Untolerated | NotSelected)


def _lists(node: Node, kind: str) -> bool:
    """Tell whether the Device object of a node lists devices of a type."""
    return node.devices is not None and bool(node.devices.layout.of_type(kind))


@memoised
def _offered(view: View) -> frozenset[str]:
    """Return the resources that any node has."""
    sizes = {view.node(name).allocatable for name in view.names()}
    return frozenset(resource for size in sizes for resource, _ in size)


def _unoffered(view: View, resource: str) -> Unoffered:
    nodes = [view.node(name) for name in view.names()]
    kind = _type_of(resource)
    with_none = [node.name for node in nodes if resource in node.none_of]
    listed = [node.name for node in nodes if kind and _lists(node, kind)]
    labels = ((node.name, _label(node, resource)) for node in nodes)
    labelled = [(name, label) for name, label in labels if label and name not in {*with_none, *listed}]
    should = (*with_none, *listed, *(name for name, _ in labelled))
    offered = sorted(_offered(view))
    named = [one for one in offered if "/" in one]
    cards = [one for one in named if _is_like(one, resource)]
    return Unoffered(
        resource=resource,
        with_none=tuple(with_none),
        listed=tuple(listed),
        labelled=tuple(labelled),
        idle=_idle(view, should, ("koordlet",) if resource.startswith(_KOORD) else _PLUGINS),
        similar=tuple(dict.fromkeys((*near(resource, named), *sorted(cards)))),
    )


def _unlisted(view: View, requested: Sequence[str], missing: Collection[str]) -> Unoffered:
    resource = next((one for one in requested if _type_of(one) in missing), requested[0])
    names = tuple(name for name in view.names() if dict(view.node(name).allocatable).get(resource, 0))
    return Unoffered(resource, unlisted=names, idle=_idle(view, names, ("koordlet",)))


def _type_of(resource: str) -> str:
    """Return the type of device that a resource is of; empty for any other."""
    if accelerators.family(resource) == accelerators.GPU or resource.startswith(f"{_KOORD}gpu"):
        return GPU
    return resource.removeprefix(_KOORD) if resource in {f"{_KOORD}rdma", f"{_KOORD}fpga"} else ""


def _is_like(offered: str, resource: str) -> bool:
    """Tell whether two resources are cards by another name, or of the same maker."""
    is_same = _type_of(offered) == _type_of(resource) != ""
    is_kin = offered.partition("/")[0] == resource.partition("/")[0] and bool(accelerators.family(offered))
    return "/" in resource and (is_same or is_kin)


def _label(node: Node, resource: str) -> str:
    """Return the label by which a node should have a resource; empty for none."""
    labels = {key: value for key, value in node.labels if value.lower() not in _FALSE}
    usual = _LABELS_OF_GPUS if _type_of(resource) == GPU else _LABELS_OF_RDMA if "rdma" in resource else ()
    maker = resource.partition("/")[0]
    of_maker = [key for key in usual if not key.endswith("/gpu.present") or maker in {"nvidia.com", "koordinator.sh"}]
    own = [key for key in labels if key.startswith(f"{resource}.")]
    found = next((key for key in (*of_maker, *own) if key in labels), "")
    return f"{found}={labels[found]}" if found else ""


def _idle(view: View, names: Iterable[str], publishers: Sequence[str]) -> tuple[str, ...]:
    """Return the nodes on which no pod runs that has one of these in its name."""
    return tuple(
        name
        for name in names
        if not any(part in pod.name for pod in view.snapshot.running.get(name, ()) for part in publishers)
    )
