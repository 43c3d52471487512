"""Where the pods of nodes that are drained could go: the same engine, on the nodes that are left."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TypeAlias

from msgspec import Struct, structs

from kubectl_koord.engine.fit import Prepared, placed, prepare, reserve
from kubectl_koord.engine.node_state import Occupant
from kubectl_koord.engine.reasons.nodes import Refused
from kubectl_koord.engine.reasons.prefilter import PreFilterRefusal
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.slots import Offer, offer_slots
from kubectl_koord.engine.view import View
from kubectl_koord.model.allocations import NOTHING
from kubectl_koord.model.pods import PendingPod, RunningPod
from kubectl_koord.simulation.edits import recreated
from kubectl_koord.simulation.simulation import Cluster

_Why: TypeAlias = tuple[Refused, ...] | PreFilterRefusal


class Moved(Struct, frozen=True):
    """A pod that is taken away, the node that takes it then, or why none does."""

    pod: RunningPod
    to: str = ""
    why: _Why = ()


def moved(
    cluster: Cluster, names: Collection[str], pods: Iterable[RunningPod], gone: Collection[RunningPod]
) -> tuple[Moved, ...]:
    """Return where pods of drained nodes find a place once all that are `gone` have ended, in name order.

    Those that a controller creates anew go before others, those of higher priority before lower. Each is tried by
    itself as if created anew, with those placed that were tried before it. Which of the nodes that take a pod the
    scheduler would choose is not predicted: the roomiest is taken.
    """
    view = cluster.view.without(gone)
    view = view.with_nodes(structs.replace(view.node(name), unschedulable=True) for name in names)
    left = tuple(name for name in view.names() if name not in names)
    runs = list(_runs(pods))
    homeless = {pod.key: pod for run in runs for pod in run}
    found: list[Moved] = []
    for run in runs:
        view, placed_now = _placed(cluster, view, left, run, homeless)
        found += placed_now
    return tuple(sorted(found, key=lambda one: one.pod.key))


def _runs(pods: Iterable[RunningPod]) -> Iterator[list[RunningPod]]:
    """Yield the pods that are alike to every filter together, the most important first."""
    alike: dict[object, list[RunningPod]] = {}
    for pod in sorted(pods, key=lambda pod: (not pod.owner, -pod.priority, pod.key)):
        key = (bool(pod.owner), pod.priority, pod.requirements, pod.namespace, tuple(pod.labels))
        alike.setdefault(key, []).append(pod)
    yield from alike.values()


def _placed(
    cluster: Cluster, view: View, left: Sequence[str], run: list[RunningPod], homeless: dict[str, RunningPod]
) -> tuple[View, list[Moved]]:
    """Return what becomes of pods that are alike; those without a place wait, and quotas count them so."""
    snapshot, found, waiting = cluster.snapshot, list[Moved](), list(run)
    while waiting:
        first = recreated(waiting[0])
        prepared = prepare(
            first,
            view,
            rules(snapshot.config.version),
            snapshot.nominated,
            snapshot.claims_asked_for,
            pending=(*snapshot.pending, *map(recreated, homeless.values())),
        )
        offer = offer_slots(view, left, tuple(map(recreated, waiting)), prepared)
        seats = {} if prepared.refusal is not None else _seats(view, offer, waiting, prepared)
        if not seats:
            why = prepared.refusal or _why(view, offer, first, prepared)
            return view, [*found, *(Moved(pod, why=why) for pod in waiting)]
        found += [Moved(pod, node) for node, there in seats.items() for pod in there]
        view = view.with_pods({node: tuple(there.values()) for node, there in seats.items()})
        for one in found:
            homeless.pop(one.pod.key, None)
        waiting = [pod for pod in waiting if pod.key in homeless]
    return view, found


def _seats(
    view: View, offer: Offer, waiting: Sequence[RunningPod], prepared: Prepared
) -> dict[str, dict[RunningPod, Occupant]]:
    """Return by node who goes there: one alone where it changes what is prepared for the next."""
    rest = iter(waiting[:1] if prepared.follows_members else waiting)
    pod = next(rest, None)
    seats: dict[str, dict[RunningPod, Occupant]] = {}
    for name in sorted(offer.counts, key=lambda name: (-offer.counts[name], name)):
        state = view.state(name).copy()
        for _ in range(offer.counts[name]):
            if pod is None:
                return seats
            there = placed(recreated(pod), state, prepared)
            if not isinstance(there, PendingPod):
                break
            settled = structs.replace(pod, node=name, allocations=there.allocations or NOTHING)
            state.add(settled)
            seats.setdefault(name, {})[pod] = settled
            pod = next(rest, None)
    return seats


def _why(view: View, offer: Offer, pod: PendingPod, prepared: Prepared) -> tuple[Refused, ...]:
    """Return why nodes refuse a pod: for their filters, or as nothing can be booked there."""
    answers = (offer[name].rejection or reserve(pod, view.state(name), prepared) for name in offer)
    return tuple(Refused(answer, 1) for answer in answers if not isinstance(answer, PendingPod))
