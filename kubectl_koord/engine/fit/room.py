"""What a node refuses because of who is there: host ports, resources, pod places."""

from kubectl_koord.engine.reasons import Insufficient, PortTaken, Reason, SidecarsUnknown, TooManyPods
from kubectl_koord.engine.rules import Rules
from kubectl_koord.engine.view import NodeState
from kubectl_koord.model.pods import EVERY_ADDRESS, HostPort, Resources, Shape


def port_taken(wanted: tuple[HostPort, ...], state: NodeState) -> Reason | None:
    """Return a reason when a host port is in use (plugins/nodeports, `HostPortInfo.CheckConflict`)."""
    for port in wanted:
        if any(_clash(port, held) for held in state.ports):
            return PortTaken(port.port)
    return None


def _clash(one: HostPort, other: HostPort) -> bool:
    return (
        one.port == other.port
        and one.protocol == other.protocol
        and (one.address == other.address or EVERY_ADDRESS in {one.address, other.address})
    )


def sidecars_unknown(shape: Shape, rules: Rules) -> Reason | None:
    """Return a reason when the pod has sidecars and the version does not know them (`Fit.Filter`)."""
    return SidecarsUnknown() if shape.sidecars and not rules.knows_sidecars else None


def short_of(requests: Resources, state: NodeState, rules: Rules) -> Reason | None:
    """Return a reason when resources or pod places are short (plugins/noderesources, `fitsRequest`)."""
    free = state.free
    short = [(resource, amount, left) for resource, amount in requests if amount > (left := free.get(resource, 0))]
    no_place = state.places < 1
    if short:
        allocatable = dict(state.node.allocatable)
        oversized = any(amount > allocatable.get(resource, 0) for resource, amount, _ in short)
        return Insufficient(tuple(short), oversized and rules.oversized_is_unresolvable, no_place)
    return TooManyPods(dict(state.node.allocatable).get("pods", 0)) if no_place else None


def how_many(need: Resources, each: Resources, state: NodeState) -> int:
    """Return how many pods go in one after the other, each asking `need` and taking up `each`."""
    count = state.places
    taken = dict(each)
    free = state.free
    for resource, amount in need:
        left = free.get(resource, 0) - amount
        if left < 0:
            return 0
        if taken.get(resource):
            count = min(count, left // taken[resource] + 1)
    return max(0, count)
