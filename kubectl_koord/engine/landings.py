"""Reservations that are not placed yet: they go before the pods of lower priority, by default before all.

Which of the nodes that take one it lands on is decided by scores, and is in no object: several are tried.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec import Struct

from kubectl_koord.engine.attempts.attempt import Job
from kubectl_koord.engine.attempts.choosing import Choice, emptiest, fullest
from kubectl_koord.engine.attempts.trying import attempt
from kubectl_koord.engine.columns import named
from kubectl_koord.engine.fit import placed
from kubectl_koord.engine.preemption.preempt import preempt
from kubectl_koord.engine.reservations import landed
from kubectl_koord.engine.rules import Rules
from kubectl_koord.engine.view import View
from kubectl_koord.model.pods import PendingPod, RunningPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values.memo import memoised

_MOST_NODES = 8


class Landing(Struct, frozen=True):
    """The cluster once pending reservations are placed.

    `nodes` says where each is, by name: empty where that is over running pods.
    """

    view: View
    nodes: tuple[tuple[str, str], ...] = ()


class Preempting(Struct, frozen=True):
    """A pending reservation that finds no room and preempts pods for it."""

    reservation: str
    victims: tuple[RunningPod, ...]


def landings(view: View, own: int, rules: Rules) -> tuple[Landing, ...]:
    """Return how the cluster may look once the reservations that go before a priority are placed, the likeliest first.

    Those that find no room stay pending, and take none.
    """
    return _landings(view, own, rules) if view.snapshot.reserve_pods else (Landing(view),)


@memoised
def _landings(view: View, own: int, rules: Rules) -> tuple[Landing, ...]:
    """Return the same; those that are placed over running pods, which become their owners, take no room besides."""
    waiting = _before(view, own)
    found = _places(waiting, view, rules)
    over = [pod.reserves.name for pod in waiting if pod.reserves is not None and pod.reserves.pre_allocates]
    if over:
        others = [pod for pod in waiting if pod.reserves is None or not pod.reserves.pre_allocates]
        where = tuple((name, "") for name in over)
        beside = (Landing(one.view, (*where, *one.nodes)) for one in _places(others, view, rules))
        found = (*found, *beside)
    return tuple({landing.nodes: landing for landing in reversed(found)}.values())[::-1]


def _places(waiting: Sequence[PendingPod], view: View, rules: Rules) -> tuple[Landing, ...]:
    if len(waiting) == 1:
        taking = _taking(waiting[0], view, rules)
        first = _chosen(waiting[0], taking, view, emptiest)
        nodes = sorted(taking, key=lambda name: (name != first, name))[:_MOST_NODES]
        return tuple(_landed(Landing(view), taking[node], node) for node in nodes) or (Landing(view),)
    found = []
    for choose in (emptiest, fullest):
        landing = Landing(view)
        for pod in waiting:
            taking = _taking(pod, landing.view, rules)
            node = _chosen(pod, taking, landing.view, choose)
            landing = _landed(landing, taking.get(node, pod), node)
        found.append(landing)
    return tuple(found)


def _before(view: View, own: int) -> list[PendingPod]:
    """Return the pods that stand for reservations of a higher priority which are not placed here, the highest first."""
    return [pod for pod in _waiting(view.snapshot) if pod.priority > own]


@memoised
def _waiting(snapshot: Snapshot) -> tuple[PendingPod, ...]:
    """Return the same of any priority. Those of gangs are placed with their gangs.

    One that pre-allocates is never placed but with the policy Restricted (`prepareMatchReservationStateForReservePod`).
    """
    placed = {one.uid for one in snapshot.reservations}
    waiting = (
        pod
        for pod in snapshot.reserve_pods
        if pod.reserves is not None
        and pod.reserves.uid not in placed
        and not pod.gang
        and not pod.terminating
        and (pod.reserves.policy == "Restricted" or not pod.reserves.pre_allocates)
        and pod.scheduler in snapshot.config.profiles
    )
    return tuple(sorted(waiting, key=lambda pod: (-pod.priority, pod.created, pod.name)))


def _job(pod: PendingPod, view: View, rules: Rules) -> Job:
    snapshot = view.snapshot
    return Job((pod,), {"": 1}, None, rules, snapshot.nominated, claims=snapshot.claims_asked_for)


def _taking(pod: PendingPod, view: View, rules: Rules) -> Mapping[str, PendingPod]:
    """Return the nodes that take the pod by name, and the pod as it is placed there, with what is booked for it."""
    prepared = _job(pod, view, rules).prepared(pod, view)
    found = ((name, placed(pod, view.state(name), prepared)) for name in view.names())
    return {name: one for name, one in found if isinstance(one, PendingPod)}


def _chosen(pod: PendingPod, names: Collection[str], view: View, choose: Choice) -> str:
    return choose(view, named(view, names), (), pod, ()) if names else ""


def _landed(landing: Landing, pod: PendingPod, node: str) -> Landing:
    if pod.reserves is None or not node:
        return landing
    reservation, room = landed(pod, pod.reserves, node)
    return Landing(landing.view.with_reservation(reservation, room), (*landing.nodes, (reservation.name, node)))


def preempting(view: View, own: int, rules: Rules) -> Iterator[Preempting]:
    """Yield the reservations before a priority that find no room, and whom each would preempt as things are.

    Those that may be placed over running pods are left out.
    """
    for pod in _before(view, own):
        if _taking(pod, view, rules) or pod.reserves is None or pod.reserves.pre_allocates:
            continue
        job = _job(pod, view, rules)
        victims = preempt(job, view, attempt(job, view, pod)).victims
        if victims and view.snapshot.config.preemption:
            yield Preempting(pod.reserves.name, victims)
