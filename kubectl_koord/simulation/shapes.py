"""A pod of a standard shape, such as `8gpu`: what it requests, and how many such pods each node takes."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.engine.reasons.nodes import Reason
from kubectl_koord.engine.reasons.prefilter import PreFilterRefusal, QuotaExceeded
from kubectl_koord.engine.slots import offer_slots, places
from kubectl_koord.engine.subjects import PodSubject
from kubectl_koord.model import accelerators
from kubectl_koord.model.load import ExpectedUse
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import PendingPod, PodRequirements
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values import quantity
from kubectl_koord.model.values.quantity import QuantityError
from kubectl_koord.simulation.simulation import Scenario
from kubectl_koord.wording.answers import shapes as words

_COUNTED = re.compile(r"(\d{1,9}(?:\.\d{1,2})?)([A-Za-z][\w.-]*)", re.ASCII)
_SHARES = ("koordinator.sh/gpu-core", "koordinator.sh/gpu-memory-ratio")
_MOST_PODS = 10_000  # on one node, whatever it says of itself
_LEAST_USE = {"cpu": 250, "memory": 200 << 20}


class ShapeError(ValueError):
    """A text that is no shape; with a `resource` that is the name of one which no node has."""

    def __init__(self, message: str, resource: str = "") -> None:
        """Keep them."""
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

    Its resources are those of the snapshot's nodes, or of an earlier one's; see `requested`.

    Raises:
        ShapeError: when it cannot be read, or no node has such a resource.

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
    no node has is taken by the name that is written.

    Raises:
        ShapeError: when a text cannot be read, or no node has such a resource.

    """
    names = Counter(resource for node in nodes for resource, _ in node.allocatable)
    found: dict[str, int] = {}
    for part in map(str.strip, text.split(",")):
        name, nano = _amount(part)
        try:
            resolved = dict(_of_gpus(names, nano)) if name.lower() == accelerators.GPU else _of_name(names, name, nano)
        except ShapeError as problem:
            if known or not problem.resource:
                raise
            resolved = _rounded(name, nano)
        for resource, amount in resolved.items():
            if resource in found:
                raise ShapeError(words.twice(resource))
            found[resource] = amount
    return found


def _amount(part: str) -> tuple[str, int]:
    name, equals, amount = part.partition("=")
    if not (equals and name):
        counted = _COUNTED.fullmatch(part)
        if counted is None:
            raise ShapeError(words.unreadable(part))
        amount, name = counted.groups()
    try:
        nano = quantity.parse(amount)
    except QuantityError as problem:
        raise ShapeError(words.no_quantity(part, str(problem))) from None
    if nano <= 0:
        raise ShapeError(words.nothing(part))
    return name, nano


def _of_name(names: Counter[str], name: str, nano: int) -> Mapping[str, int]:
    return _rounded(_named(names, name), nano)


def _rounded(resource: str, nano: int) -> Mapping[str, int]:
    refused = quantity.refused(resource, nano)
    if refused:
        raise ShapeError(words.refused(resource, refused))
    return {resource: quantity.amount(resource, nano)}


def _named(names: Counter[str], name: str) -> str:
    """Return the resource of a name, or of what is behind a slash: that which most nodes have."""
    if name in names:
        return name
    found = [resource for resource in names if resource.rpartition("/")[2].lower() == name.lower()]
    if not found:
        raise ShapeError(words.no_such_resource(name), name)
    return max(found, key=lambda resource: (names[resource], resource))


def _of_gpus(names: Counter[str], nano: int) -> Iterator[tuple[str, int]]:
    vendors = [
        name for name in names if accelerators.family(name) == accelerators.GPU and "koordinator.sh/" not in name
    ]
    shares = [name for name in _SHARES if name in names]
    if vendors and (nano % quantity.NANO == 0 or not shares):
        if nano % quantity.NANO:
            raise ShapeError(words.needs_shares(_SHARES[0]))
        yield max(vendors, key=lambda name: (names[name], name)), nano // quantity.NANO
    elif shares:
        yield from ((name, quantity.whole(nano * accelerators.CARD)) for name in shares)
    else:
        raise ShapeError(words.NO_GPUS, accelerators.GPU)


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
