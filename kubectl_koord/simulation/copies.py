"""A subject again and again, or with more or fewer pods: how often it fits, and how large it may be.

Copies are placed one after the other in the same engine; each takes its room in the view of the next.
"""

from collections import Counter
from collections.abc import Iterable
from math import lcm
from typing import NamedTuple

from msgspec import structs

from kubectl_koord.engine.attempts.attempt import may_abort
from kubectl_koord.engine.budget import Budget
from kubectl_koord.engine.gangs import Gang
from kubectl_koord.engine.quota.tree import quotas_of
from kubectl_koord.engine.subjects import GangSubject, Subject, never_tried
from kubectl_koord.engine.view import View
from kubectl_koord.model.pods import PendingPod, PodRequirements
from kubectl_koord.model.values.memo import Identity, recently
from kubectl_koord.simulation import sizes
from kubectl_koord.simulation.simulation import Scenario, Simulation, likeliest_outcome, seats

MOST_COPIES = 256
"""How many copies are tried; a job that fits as often as that is not followed further."""
_MOST_AT_ONCE, _MOST_IN_TURN = 1 << 12, 1 << 10
"""How many pods are tried to find out how large a gang may be: in one attempt, and in one for each size."""
_MOST_STEPS, _NODES_A_STEP, _BESIDE_OTHERS = 1 << 10, 500, 4
"""How many steps counting may take: a copy takes one for each kind of its pods, more where there are many nodes, and so
many times as many where filters look at who is there."""
_EVERYWHERE = frozenset(("cpu", "memory", "ephemeral-storage"))


class Counted(NamedTuple):
    """How much finds a place at most, or more where that is as much as was tried."""

    number: int
    counted_to: int


def how_many(simulation: Simulation, view: View) -> Counted:
    """Return how many copies of the subject find a place one after the other in a variant of the cluster."""
    at_once = _at_once(view, Identity(simulation))
    if at_once is not None:
        return Counted(min(at_once // len(simulation.subject.pending), MOST_COPIES), MOST_COPIES)
    waiting: tuple[PendingPod, ...] = ()
    budget, steps = Budget(_MOST_STEPS), _steps_of_copy(simulation, view)
    for number in range(MOST_COPIES):
        if number and not budget.take(steps):
            return Counted(number, number)
        copy = renamed(simulation.subject, number)
        waiting += copy.pending
        after = _after(simulation, copy, view, waiting)
        if after is None:
            return Counted(number, MOST_COPIES)
        view = after
    return Counted(MOST_COPIES, MOST_COPIES)


def _steps_of_copy(simulation: Simulation, view: View) -> int:
    pods = simulation.subject.pending
    each = (1 if simulation.prepared(pods[0], view).counts_only_room else _BESIDE_OTHERS) * len(_kinds(pods))
    return each * (1 + len(view.names()) // _NODES_A_STEP)


def _kinds(pods: Iterable[PendingPod]) -> Counter[PodRequirements]:
    return Counter(pod.requirements for pod in pods)


@recently(1)
def _at_once(view: View, asked: Identity[Simulation]) -> int | None:
    """Return how many pods find a place, of as many as are counted, by one attempt; None where more may find others.

    Members of a gang without topology that are alike, and change nothing but the room and the books of their own nodes,
    find as many places in one gang as in several: so many go on a node, whoever comes first.
    """
    simulation, subject = asked.value, asked.value.subject
    if not isinstance(subject, GangSubject) or not _is_plain(simulation, subject):
        return None
    prepared = simulation.prepared(subject.pending[0], view)
    is_open = prepared.may_fail_to_reserve or prepared.follows_members or prepared.nominated or prepared.reservations
    if prepared.refusal is not None or not prepared.counts_only_room or is_open:
        return None
    if _may_refuse(subject.pending, view):
        return None
    pods = max(len(subject.pending) * MOST_COPIES, _MOST_AT_ONCE)
    every = Scenario(simulation.snapshot, view, simulation.tree).simulation(sized(subject, pods))
    outcome = likeliest_outcome(every)
    return pods if outcome.placed_at_once else sum(map(len, outcome.first.waiting.values()))


def _may_refuse(pods: Iterable[PendingPod], view: View) -> bool:
    quotas = quotas_of(view)
    return any(quotas.may_refuse(pod) for pod in pods)


def _is_plain(simulation: Simulation, subject: GangSubject) -> bool:
    """Tell whether all members of a gang are alike, tried one after the other, and needed at once."""
    gang, snapshot, pods = subject.group.own, simulation.snapshot, subject.pending
    return (
        len(subject.gangs) == 1
        and not simulation.has_topology
        and not subject.group.is_satisfied()
        and not gang.running
        and not snapshot.reserve_pods
        and not never_tried(subject, snapshot)
        and gang.minimum == len(pods)
        and not may_abort(pods[0])
        and all(_asks_alike(pod, pods[0]) for pod in pods)
    )


def _asks_alike(pod: PendingPod, first: PendingPod) -> bool:
    own = (pod.requirements, pod.namespace, pod.labels, pod.resource_claims)
    return own == (first.requirements, first.namespace, first.labels, ())


def largest(simulation: Simulation, view: View) -> Counted:
    """Return the most pods with which the subject finds a place, all of them needed at once; 0 where none is enough.

    The number of the pods that there are most of changes, the others stay. The number returned was tried and fits; the
    next does not, or is more than is tried.
    """
    at_once = _at_once(view, Identity(simulation))
    if at_once is not None:
        return Counted(min(at_once, _MOST_AT_ONCE), _MOST_AT_ONCE)
    pods = simulation.subject.pending
    most, least, step = max(_MOST_IN_TURN, len(pods)), len(_others(pods)), lcm(*simulation.multiples.values())

    none = least // step
    budget, steps = Budget(_MOST_STEPS), _steps_of_copy(simulation, view)

    def fits(more: int) -> bool:
        return budget.take(steps) and _fits(simulation, (none + more) * step, view)

    alike = _most_alike(simulation, view)
    if alike is None:
        found = sizes.largest_from_below(most // step - none, fits)
    else:
        found = sizes.largest_from_above(min(least + alike, most) // step - none, fits)
    number = (none + found) * step if found else 0
    return Counted(number, number if budget.is_cut else most // step * step)


def _most_alike(simulation: Simulation, view: View) -> int | None:
    """Return how many of the pods that there are most of find a place where the others are not there, None if unknown.

    Others that take room leave them no more than that.
    """
    others = _others(simulation.subject.pending)
    if not others or not isinstance(simulation.subject, GangSubject):
        return None

    def alone(gang: Gang) -> Gang:
        alike = tuple(pod for pod in gang.pending if pod not in others)
        return structs.replace(gang, pending=alike, minimum=len(alike))

    kind = Scenario(simulation.snapshot, view, simulation.tree).simulation(simulation.subject.with_gangs(alone))
    return _at_once(view, Identity(kind))


def renamed(subject: Subject, number: int) -> Subject:
    """Return a copy of the subject: the same pods under other names."""
    return subject.with_pending(lambda pods: tuple(structs.replace(pod, name=f"{pod.name}~{number}") for pod in pods))


def sized(subject: GangSubject, pods: int) -> GangSubject:
    """Return the gang with so many pods, and a minimum of all of them."""

    def changed(gang: Gang) -> Gang:
        others = _others(gang.pending)
        alike = next(pod for pod in gang.pending if pod not in others)
        more = (structs.replace(alike, name=f"{alike.name}~{number:05}") for number in range(pods - len(others)))
        return structs.replace(gang, pending=(*others, *more), minimum=pods)

    return subject.with_gangs(changed)


def _others(pods: Iterable[PendingPod]) -> tuple[PendingPod, ...]:
    """Return the pods that are not of the kind that there are most of; of several such, of that which asks for most."""
    pods = tuple(pods)
    numbers = _kinds(pods)
    most = max(numbers, key=lambda one: (numbers[one], _size(one)))
    return tuple(pod for pod in pods if pod.requirements != most)


def _size(requirements: PodRequirements) -> tuple[int, int]:
    """Return how much a pod asks for: of what few nodes have, such as cards, and then of CPU."""
    asked = dict(requirements.requests)
    return sum(amount for resource, amount in asked.items() if resource not in _EVERYWHERE), asked.get("cpu", 0)


def _fits(simulation: Simulation, pods: int, view: View) -> bool:
    subject = simulation.subject
    more = sized(subject, pods) if isinstance(subject, GangSubject) else subject
    return _after(simulation, more, view, more.pending) is not None


def _after(simulation: Simulation, subject: Subject, view: View, waiting: tuple[PendingPod, ...]) -> View | None:
    """Return the view once a subject is placed, None where it finds no place.

    `waiting` are the pods that request of their quotas in place of the subject's own, placed ones included.
    """
    snapshot = simulation.snapshot
    if _may_refuse(subject.pending, view):
        own = {pod.key for pod in simulation.subject.pending}
        others = (pod for pod in snapshot.pending if pod.key not in own)
        snapshot = structs.replace(snapshot, pending=(*others, *waiting))
    found = Scenario(snapshot, view, simulation.tree).simulation(subject)
    outcome = likeliest_outcome(found)
    return view.with_pods(seats(found, outcome)) if outcome.placed_at_once else None
