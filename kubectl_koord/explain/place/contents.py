"""What is at a place: what runs there, what is free, which devices and Reservations there are."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from kubectl_koord.diagnosis import disruption, migrations
from kubectl_koord.diagnosis.obstacles import cards
from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.model import accelerators
from kubectl_koord.model.pods import ReservedRoom, Resources, RunningPod
from kubectl_koord.model.values import quantity
from kubectl_koord.reports.capacity.devices import TypeTotal
from kubectl_koord.reports.capacity.place import Free, JobHere, NominatedPod, ReservationHere
from kubectl_koord.simulation.simulation import Scenario
from kubectl_koord.wording.remedies.reservations import owner

_RANKS = {resource: rank for rank, resource in enumerate(("cpu", "memory", "pods"))}


def free(cluster: Scenario, names: Iterable[str]) -> Iterator[Free]:
    """Yield what is free by resource: cards, counted once whatever they are called, CPU, memory, pods, then others."""
    total, free, withheld = Counter[str](), Counter[str](), Counter[str]()
    every = tuple(names)
    for name in every:
        node = cluster.view.node(name)
        has, left = _amounts(cluster.view.state(name))
        total.update(has)
        (free if node.ready and not node.unschedulable else withheld).update(left)
    order = sorted(total, key=lambda kind: (not accelerators.is_family(kind), _RANKS.get(kind, len(_RANKS)), kind))
    spelled = [name for one in every for name, _ in cluster.view.node(one).allocatable]
    for kind in order:
        numbers = [total[kind], free[kind], withheld[kind]]
        resource = accelerators.resource_of(kind, spelled, numbers)
        unit = accelerators.unit(resource)
        yield Free(resource, free[kind] // unit, total[kind] // unit, withheld[kind] // unit)


def _amounts(state: NodeState) -> tuple[dict[str, int], dict[str, int]]:
    """Return by family of cards, and by any other resource, what a node has and what of it is free."""
    has = dict(state.node.allocatable)
    places = has.pop("pods", 0)
    used = {name: has.get(name, 0) - left for name, left in state.free.items()}
    plain = {
        name: number
        for name, number in has.items()
        if number and not accelerators.is_family(name) and not _is_share(name)
    }
    all_cards, taken = accelerators.of_node(has), accelerators.of_pods(used)
    free = {kind: max(number - taken.get(kind, 0), 0) for kind, number in all_cards.items()}
    free |= {name: max(state.free[name], 0) for name in plain}
    return {**all_cards, **plain, "pods": places}, {**free, "pods": max(state.places, 0)}


def _is_share(name: str) -> bool:
    return accelerators.is_share(name) or name.startswith("koordinator.sh/gpu")


def devices(cluster: Scenario, names: Iterable[str]) -> tuple[TypeTotal, ...]:
    """Return the devices by type."""
    counted = [cards.counted(cluster.view, name) for name in names]
    sizes: dict[str, int] = {}
    for node in counted:
        for kind, found in node.items():
            sizes[kind] = max(sizes.get(kind, 1), found.cards)
    return cards.totals(counted, sizes, seen=cards.are_books_seen(cluster.snapshot))


def running(cluster: Scenario, names: Iterable[str]) -> tuple[JobHere, ...]:
    """Return what runs here: gangs, owners and lone pods, the most important first."""
    jobs: dict[tuple[str, str, int], list[RunningPod]] = {}
    for name in names:
        for pod in cluster.view.occupants(name):
            if isinstance(pod, RunningPod):
                owner = f"{pod.namespace}/{pod.owner}" if pod.owner else pod.key
                jobs.setdefault((pod.gang, "" if pod.gang else owner, pod.priority), []).append(pod)
    order = sorted(jobs, key=lambda job: (-job[2], job))
    return tuple(_job(jobs[key]) for key in order)


def _job(pods: Sequence[RunningPod]) -> JobHere:
    first = pods[0]
    requested = Counter[str]()
    for pod in pods:
        requested.update(dict(pod.requirements.requests))
    return JobHere(
        gang=first.gang or None,
        owner=first.owner or None,
        priority=first.priority,
        pods=tuple(sorted(pod.key for pod in pods)),
        nodes=tuple(sorted({pod.node for pod in pods})),
        requests=_spelled(tuple(sorted(requested.items()))),
        daemon_set=all(disruption.comes_back_there(pod) for pod in pods),
        terminating=sum(pod.terminating for pod in pods),
    )


def _spelled(amounts: Resources) -> dict[str, str]:
    return {name: quantity.spell(name, number) for name, number in amounts}


def nominated(cluster: Scenario, names: Iterable[str]) -> tuple[NominatedPod, ...]:
    """Return the pending pods that are nominated to nodes here, by node, the most important first."""
    here = set(names)
    found = [pod for pod in cluster.snapshot.nominated if pod.nominated in here]
    found.sort(key=lambda pod: (pod.nominated, -pod.priority, pod.key))
    return tuple(NominatedPod(pod.key, pod.nominated, pod.priority) for pod in found)


def reservations(cluster: Scenario, names: Iterable[str]) -> Iterator[ReservationHere]:
    """Yield the Reservations that hold room here."""
    written = {one.uid: one for one in cluster.snapshot.reservations}
    for name in names:
        rooms = [one for one in cluster.view.occupants(name) if isinstance(one, ReservedRoom)]
        state = cluster.view.state(name)
        for room in sorted(rooms, key=lambda room: room.name):
            known = written.get(room.uid)
            rest = state.rest(room.uid) if room.uid in state.rooms else dict(room.requirements.requests)
            yield ReservationHere(
                reservation=room.name,
                node=name,
                owners=tuple(map(owner, known.owners)) if known is not None else (),
                size=_spelled(room.requirements.requests),
                unused=_spelled(tuple((resource, number) for resource, number in rest.items() if number > 0)),
                drawing=tuple(sorted(_drawing(cluster, name, room.uid))),
                expires=known.expires or None if known is not None else None,
                job=migrations.job_of(cluster.snapshot, room.name),
            )


def _drawing(cluster: Scenario, node: str, uid: str) -> Iterator[str]:
    for pod in cluster.view.occupants(node):
        if isinstance(pod, RunningPod) and uid and pod.allocations.reservation == uid:
            yield pod.key
