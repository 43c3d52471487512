"""Where the pods of nodes that are drained could go: the same engine, on the nodes that are left."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct, structs

from kubectl_koord.engine.fit import Prepared, placed, prepare, reserve
from kubectl_koord.engine.node_state import Occupant
from kubectl_koord.engine.quota.state import quota_state
from kubectl_koord.engine.quota.tree import quota_tree
from kubectl_koord.engine.reasons.nodes import Reason, Refused
from kubectl_koord.engine.reasons.prefilter import PreFilterRefusal
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.slots import offer_slots
from kubectl_koord.engine.view import View
from kubectl_koord.model.hardware.allocations import NOTHING
from kubectl_koord.model.pods import PendingPod, RunningPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.simulation.edits import recreated
from kubectl_koord.simulation.simulation import Scenario

_Why: TypeAlias = tuple[Refused, ...] | PreFilterRefusal


class MovedPod(Struct, frozen=True):
    """A pod that is taken away, the node that takes it then, or why none does."""

    pod: RunningPod
    to: str = ""
    why: _Why = ()


def moved(
    cluster: Scenario, names: Collection[str], pods: Iterable[RunningPod], gone: Collection[RunningPod]
) -> tuple[MovedPod, ...]:
    """Return where pods of drained nodes find a place once all that are `gone` have ended, in name order.

    Those that a controller creates anew go before others, those of higher priority before lower. Each is tried by
    itself as if created anew, with those placed that were tried before it. Which of the nodes that take a pod the
    scheduler would choose is not predicted: the roomiest is taken.
    """
    view = cluster.view.without(gone)
    view = view.with_nodes(structs.replace(view.node(name), unschedulable=True) for name in names)
    trial = _Trial(cluster.snapshot, names, pods)
    found: list[MovedPod] = []
    for run in trial.runs(view):
        view, placed_now = trial.placed(view, run)
        found += placed_now
    return tuple(sorted(found, key=lambda one: one.pod.key))


class _Trial:
    """Pods that look for a place on the nodes that are left; those without one wait, and quotas count them so."""

    def __init__(self, snapshot: Snapshot, drained: Collection[str], pods: Iterable[RunningPod]) -> None:
        self._snapshot = snapshot
        self._drained = frozenset(drained)
        self._waiting = {pod.key: pod for pod in pods}
        self._pending = self._all_pending()
        self._quotas = quota_tree(snapshot)
        self._rules = rules(snapshot.config.version)

    def runs(self, view: View) -> Iterable[list[RunningPod]]:
        """Return the pods that are alike to every filter together, the most important first."""
        prepared: dict[object, Prepared] = {}
        alike: dict[object, list[RunningPod]] = {}
        for pod in sorted(self._waiting.values(), key=lambda pod: (not pod.owner, -pod.priority, pod.key)):
            shape = (pod.requirements, pod.namespace, tuple(pod.labels), pod.priority)
            if shape not in prepared:
                prepared[shape] = self._prepared(recreated(pod), view)
            to_all = prepared[shape]
            rest = (to_all.checks, to_all.reservations) if to_all.counts_only_room else shape
            key = (bool(pod.owner), pod.priority, pod.requirements, rest, self._quota_of(pod))
            alike.setdefault(key, []).append(pod)
        return alike.values()

    def _quota_of(self, pod: RunningPod) -> str:
        return self._quotas.name_of(pod) if self._quotas.may_refuse(pod) else ""

    def _prepared(self, pod: PendingPod, view: View) -> Prepared:
        snapshot = self._snapshot
        pending = self._pending if self._quotas.may_refuse(pod) else None
        return prepare(pod, view, self._rules, snapshot.nominated, snapshot.claims_asked_for, pending=pending)

    def _all_pending(self) -> tuple[PendingPod, ...]:
        return (*self._snapshot.pending, *map(recreated, self._waiting.values()))

    def placed(self, view: View, run: Sequence[RunningPod]) -> tuple[View, list[MovedPod]]:
        """Return what becomes of pods that are alike, and the cluster with those that found a place."""
        found: list[MovedPod] = []
        admitted, refused = self._admitted(view, run)
        while admitted:
            first = recreated(admitted[0])
            prepared = self._prepared(first, view)
            every = offer_slots(view, view.names(), tuple(map(recreated, admitted)), prepared)
            taking = every.counts.by_name if prepared.refusal is None else {}
            rooms = {name: number for name, number in taking.items() if name not in self._drained}
            seats = _seats(view, rooms, admitted, prepared)
            if not seats:
                others = {name: why for name, why in every.worded.items() if name not in self._drained}
                taking_all = rooms.keys() - others.keys()
                why = prepared.refusal or tuple(_why(view, taking_all, others, first, prepared))
                found += [MovedPod(pod, why=why) for pod in admitted]
                break
            found += [MovedPod(pod, node) for node, there in seats.items() for pod in there]
            view = view.with_pods({node: tuple(there.values()) for node, there in seats.items()})
            for there in seats.values():
                for pod in there:
                    del self._waiting[pod.key]
            self._pending = self._all_pending()
            admitted = [pod for pod in admitted if pod.key in self._waiting]
        return view, [*found, *refused]

    def _admitted(self, view: View, run: Sequence[RunningPod]) -> tuple[Sequence[RunningPod], list[MovedPod]]:
        """Return those that their quota admits one after the other, and those that it refuses then."""
        if not self._quotas.may_refuse(run[0]):
            return run, []
        stop = quota_state(view, self._rules, self._pending).first_refused(tuple(map(recreated, run)))
        if stop is None:
            return run, []
        position, refusal = stop
        return run[:position], [MovedPod(pod, why=refusal) for pod in run[position:]]


def _seats(
    view: View, rooms: Mapping[str, int], waiting: Sequence[RunningPod], prepared: Prepared
) -> dict[str, dict[RunningPod, Occupant]]:
    """Return by node who goes there: one alone where it changes what is prepared for the next."""
    rest = iter(waiting[:1] if prepared.follows_members else waiting)
    pod = next(rest, None)
    seats: dict[str, dict[RunningPod, Occupant]] = {}
    for name in sorted(rooms, key=lambda name: (-rooms[name], name)):
        state = view.state(name).copy()
        for _ in range(rooms[name]):
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


def _why(
    view: View, taking: Iterable[str], refusing: Mapping[str, Reason], pod: PendingPod, prepared: Prepared
) -> Iterator[Refused]:
    """Yield why nodes refuse a pod, for their filters, or as nothing can be booked there; each reason once."""
    yield from (Refused(reason, nodes) for reason, nodes in Counter(refusing.values()).items())
    answers = (reserve(pod, view.state(name), prepared) for name in taking)
    yield from (Refused(answer, 1) for answer in answers if not isinstance(answer, PendingPod))
