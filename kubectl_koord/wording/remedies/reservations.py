"""The sentences of ways out that release Reservations."""

from collections.abc import Mapping, Sequence

from kubectl_koord.model.reservations import ReservationOwner
from kubectl_koord.model.values import quantity
from kubectl_koord.model.values.selectors import Requirement, Selector
from kubectl_koord.reports.ways_out import ReleasedReservation
from kubectl_koord.wording.words import amounts, count, listed, ranked


def release(released: Sequence[ReleasedReservation]) -> str:
    """Return which Reservations to delete, and what that costs."""
    named = [f"{one.reservation} on {one.node} ({_cost(one)})" for one in released]
    noun = "reservation" if len(named) == 1 else f"{len(named)} reservations:"
    owners = sorted({owner for one in released for owner in one.owners})
    drawing = [pod for one in released for pod in one.drawing]
    waiting = sorted({pod for one in released for pod in one.waiting})
    for_whom = f"for {listed(owners, 'or')}" if owners else "for nobody"
    running = (
        f"; {count(len(drawing), 'pod')} on it {'keeps' if len(drawing) == 1 else 'keep'} running" if drawing else ""
    )
    lose = f"; {listed(waiting)} {'waits' if len(waiting) == 1 else 'wait'} for this room" if waiting else ""
    return f"Delete {noun} {listed(named)}, {for_whom}{running}{lose}"


def _cost(one: ReleasedReservation) -> str:
    unused = tuple((name, quantity.amount(name, quantity.parse(amount))) for name, amount in one.unused.items())
    left = f"{amounts(ranked(unused))} unused" if unused else "all used"
    return f"{left}, {f'expires at {one.expires}' if one.expires else 'never expires'}"


def spelled(left: Mapping[str, int]) -> dict[str, str]:
    """Return amounts as quantities."""
    return {resource: quantity.spell(resource, amount) for resource, amount in sorted(left.items())}


def owner(one: ReservationOwner) -> str:
    """Return whom one entry of a Reservation's owners means."""
    said = []
    if one.object is not None and (one.object.name or one.object.uid):
        name = one.object.name or f"with uid {one.object.uid}"
        said.append(f"pod {one.object.namespace}/{name}" if one.object.namespace else f"pod {name}")
    elif one.object is not None and one.object.namespace:
        said.append(f"pods in namespace {one.object.namespace}")
    if one.controller is not None:
        named = "/".join(filter(None, (one.controller.kind, one.controller.name)))
        said.append(f"pods of {named or 'a controller'}")
    if one.selector is not None:
        said.append(f"pods with {_labels(one.selector)}" if one.selector.requirements else "all pods")
    return " that are ".join(said) or "all pods"


def _labels(selector: Selector) -> str:
    return ",".join(map(_expression, selector.requirements))


def _expression(one: Requirement) -> str:
    """Return an expression as kubectl takes it with `-l`."""
    if one.operator == "In" and len(one.values) == 1:
        return f"{one.key}={one.values[0]}"
    if one.operator in {"Exists", "DoesNotExist"}:
        return one.key if one.operator == "Exists" else f"!{one.key}"
    return f"{one.key} {one.operator.lower()} ({','.join(one.values)})"
