"""Remedies that move one running pod to another node."""

from collections.abc import Iterable, Iterator

from kubectl_koord.engine.fit import placed
from kubectl_koord.model.pods import PendingPod, RunningPod
from kubectl_koord.remedies import next_steps
from kubectl_koord.remedies.costs import PodCosts
from kubectl_koord.remedies.running_pods import described, eviction, harmed, removable
from kubectl_koord.remedies.search import Search
from kubectl_koord.remedies.slot_count import Shortage, SlotCount
from kubectl_koord.reports.disruption import FreedPod
from kubectl_koord.reports.edits import Edit, MovePod
from kubectl_koord.reports.ways_out import WayOut
from kubectl_koord.simulation.edits import deleted, recreated
from kubectl_koord.wording.disruption import eviction_effects
from kubectl_koord.wording.remedies import commands
from kubectl_koord.wording.remedies import ways_out as sentences

_MOST_MOVED = 3
_MOST_COUNTED, _COUNTED_A_STEP, _NODES_A_STEP = 6_000, 10, 32


def move_one(search: Search) -> Iterator[WayOut]:
    """Yield single running pods that fit on another node and are all that is in the way.

    None with resource claims: where their devices could be had anew is not looked at.
    """
    looks = search.budget.take(len(search.view.names()) // _NODES_A_STEP)
    if not looks or search.passes_over_room:
        if any(removable(search, name) for name in search.view.names()):
            search.untried.add("move-pod")
        return
    moved = 0
    for pod, short in _blocking(search):
        if pod.requirements.has_resource_claims:
            continue
        to, assignments = _elsewhere(search, pod)
        edits: tuple[Edit, ...] = (MovePod(pod.key, pod.node, to),)
        if to and search.works(edits):
            freed, broken = harmed(search, [pod])
            message = sentences.move(described(search, pod), to, short.named, pod.owner)
            message += eviction_effects(freed, broken)
            command = _command(search, pod, freed[0], {pod.node, *assignments} - {to})
            yield WayOut("move-pod", message, command, edits, freed, broken)
            moved += 1
        if moved == _MOST_MOVED:
            return


def _command(search: Search, running: RunningPod, pod: FreedPod, nodes: Iterable[str]) -> str:
    """Return what makes a controller create the pod anew on none of these nodes, where the gang is to go.

    They are cordoned until the new pod is bound, but those that are so already; then a gang that freed room does not
    wake is woken. Empty for a pod that nothing creates anew, of which the successor could not be told, or that is not
    to be evicted by a command.
    """
    evict = eviction([pod]) if pod.owner else ""
    kept_free = [name for name in sorted(nodes) if not search.view.node(name).unschedulable]
    labels = dict(running.labels)
    has_name = running.owner.startswith("StatefulSet/")
    if evict and kept_free:
        successor = "" if has_name else ",".join(f"{name}={value}" for name, value in sorted(labels.items()))
        evict = commands.move(pod.pod, evict, kept_free, successor) if has_name or successor else ""
    wakes = next_steps.wake(search.simulation) if evict and search.simulation.has_topology else None
    return commands.in_turn(filter(None, (evict, wakes.command if wakes else "")))


def _blocking(search: Search) -> Iterator[tuple[RunningPod, Shortage]]:
    """Yield running pods whose end alone brings all that is missing, the harmless and least important first."""
    found: dict[str, tuple[RunningPod, Shortage]] = {}
    for slot_count in search.slot_counts:
        for pod, short in _blocking_one(search, slot_count):
            found.setdefault(pod.key, (pod, short))
    costs = PodCosts(search.simulation)
    return iter(sorted(found.values(), key=lambda item: (costs.level(item[0]), item[0].priority, item[0].key)))


def _blocking_one(search: Search, slot_count: SlotCount) -> Iterator[tuple[RunningPod, Shortage]]:
    now = slot_count.slots(slot_count.view)
    left = most = min(_MOST_COUNTED, search.budget.now * _COUNTED_A_STEP)
    for short in slot_count.shorts():
        for name in short.nodes if left > 0 else ():
            may_gain = slot_count.most_on(name) - now[name] >= short.missing
            if may_gain and slot_count.empty_slots[name] - now[name] >= short.missing:
                pods = removable(search, name)
                left -= len(pods)
                gains = ((pod, slot_count.slots_without(name, [pod]) - now[name]) for pod in pods)
                yield from ((pod, short) for pod, gain in gains if gain >= short.missing)
    search.budget.take_up_to((most - left) // _COUNTED_A_STEP)


def _elsewhere(search: Search, pod: RunningPod) -> tuple[str, tuple[str, ...]]:
    """Return a node that takes a pod once the gang is placed, best none of its own; empty for none; and those.

    It takes the pod only where its cards, CPUs and zones can be booked there, too. A pod that draws on a reservation
    stays: whether it must use one was not read.
    """
    if pod.allocations.reservation:
        return "", ()
    after = search.placed_after(deleted([pod]))
    if after is None:
        return "", ()
    view, assignments = after
    waiting = recreated(pod)
    prepared = search.simulation.prepared(waiting, view, created_anew=True)
    others = sorted((name for name in view.names() if name != pod.node), key=lambda name: name in assignments)
    taking = (name for name in others if isinstance(placed(waiting, view.state(name), prepared), PendingPod))
    return next(taking, ""), assignments
