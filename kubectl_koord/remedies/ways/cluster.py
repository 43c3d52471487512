"""Remedies on the side of the cluster: waiting, preemption, cordons, taints, more nodes."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count as numbers
from itertools import islice

from msgspec import structs

from kubectl_koord.diagnosis import disruption, evidence
from kubectl_koord.engine.budget import Budget
from kubectl_koord.engine.reasons.nodes import Overloaded, Untolerated
from kubectl_koord.engine.rounds import Outcome
from kubectl_koord.engine.subjects import GangSubject
from kubectl_koord.engine.tree import NODE_LAYER, Domain
from kubectl_koord.engine.view import View
from kubectl_koord.model.pods import RunningPod
from kubectl_koord.model.values.selectors import Taint
from kubectl_koord.remedies import next_steps
from kubectl_koord.remedies.proof import attempt_of, jobs_of
from kubectl_koord.remedies.search import Search
from kubectl_koord.remedies.slot_count import Shortage, SlotCount, in_domain
from kubectl_koord.reports.edits import AddNode, Edit, MendNode, SetThresholds, Threshold, Tolerate, Uncordon
from kubectl_koord.reports.ways_out import WayOut
from kubectl_koord.simulation.edits import NOT_READY, deleted, terminating_on
from kubectl_koord.simulation.simulation import every_outcome
from kubectl_koord.simulation.sizes import largest
from kubectl_koord.wording.ages import overdue, overdue_clause
from kubectl_koord.wording.disruption import preemption_effects
from kubectl_koord.wording.remedies import commands
from kubectl_koord.wording.remedies import ways_out as sentences
from kubectl_koord.wording.remedies.ways_out import Change

_MOST_NAMED = 3
_WHOLE = 100
_MOST_OF_PROFILE = 64
_MOST_TAINTS = 8
_MOST_PODS_NAMED = 6
_MOST_PLACES = 3
_MOST_TRIED = 16
_MOST_GROWN = 6
_MORE_NODES = 2
_NOT_FOR_JOBS = (
    "node.kubernetes.io/",
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
)
_GROWING: tuple[Change, ...] = ("add-nodes",)


def wait_for_terminating(search: Search) -> Iterator[WayOut]:
    """Yield to wait, where pods that terminate already make room enough."""
    terminating = leaving(search.simulation.view)
    edits = deleted(terminating)
    if terminating and search.works(edits, "wait"):
        moment = search.simulation.snapshot.moment
        message = sentences.wait_for_terminating(len(terminating), overdue_clause(terminating, moment))
        command = "".join(commands.see_finalizers_of_terminating(pod.key) for pod in overdue(terminating, moment)[:1])
        yield WayOut("wait-for-terminating", message, command, edits)


def leaving(view: View) -> list[RunningPod]:
    """Return the pods that terminate, without those that come back at once on the same node."""
    return [pod for pod in evidence.terminating(view) if not disruption.comes_back_there(pod)]


def wait_for_preemption(search: Search) -> Iterator[WayOut]:
    """Yield to wait, where the scheduler's own preemption leads to a placement in every outcome."""
    simulation = search.simulation
    may_preempt = any(not pod.never_preempts for pod in simulation.subject.pending)
    config = simulation.snapshot.config
    if not config.preemption or config.plugins.default_preemption or not may_preempt:
        return
    each = attempt_of(simulation)
    allowed = search.budget.now // each
    if search.passes_over_room or not allowed:
        search.untried.add("preemption")
        return
    steps = Budget(allowed)
    effective = (outcome for outcome in every_outcome(simulation, budget=steps) if outcome.rounds)
    first = next(effective, None)
    always_helps = first is not None and bool(first.runs) and all(outcome.runs for outcome in effective)
    search.budget.take_up_to((allowed - steps.left) * each)
    if steps.is_cut:
        search.untried.add("preemption")
    elif first is not None and always_helps:
        yield from _preempting(search, first)


def _preempting(search: Search, outcome: Outcome) -> Iterator[WayOut]:
    simulation = search.simulation
    edits = deleted(pod for one in outcome.rounds for pod in one.gone)
    if not search.works(edits, "preemption"):
        return
    is_gang = isinstance(simulation.subject, GangSubject)
    message = sentences.wait_for_preemption(outcome.killed, outcome.rounds[-1].domain, is_gang=is_gang)
    freed = disruption.freed(simulation.snapshot, outcome.killed)
    broken = disruption.broken_gangs(simulation.snapshot, outcome.killed)
    message += preemption_effects(freed, broken)
    shown = commands.preempt(simulation.subject.key, lone_pod=not is_gang)
    yield WayOut("wait-for-preemption", message, shown, edits, freed, broken)


def uncordon(search: Search) -> Iterator[WayOut]:
    """Yield the fewest cordoned nodes of one place that are enough; of single ones all that are."""
    if not evidence.cordoned(search.view) or not search.may_help("uncordon"):
        return
    found: list[tuple[Edit, ...]] = []
    alone = [] if search.counts_exactly else _tried(search)
    for short, gains in _opening(search):
        ranked = in_domain(short.nodes, gains)
        each = (name for gain, name in ranked if gain >= short.missing and search.works((Uncordon(name),)))
        alone += islice((name for name in each if name not in alone), _MOST_NAMED + 1 - len(alone))
        if ranked and not alone:
            found.append(search.fewest([(gain, (Uncordon(name),)) for gain, name in ranked], short.missing))
    sets = [(Uncordon(name),) for name in sorted(alone)[:1]] or sorted(filter(None, found), key=len)[:1]
    for edits in sets:
        yield uncordoning(edits, sorted(alone))


def _tried(search: Search) -> list[str]:
    """Return the cordoned nodes of which one is enough where counting may miss them: the first few are tried."""
    names = [node.name for node in evidence.cordoned(search.view)[:_MOST_TRIED]]
    return list(islice((name for name in names if search.works((Uncordon(name),))), _MOST_NAMED + 1))


def _opening(search: Search) -> Iterator[tuple[Shortage, Mapping[str, int]]]:
    """Yield the places that are short, and what each node would bring were it not cordoned."""
    for slot_count in search.slot_counts:
        now, then = slot_count.slots(search.view), slot_count.slots(evidence.uncordoned(search.view))
        gains = {name: then[name] - now[name] for name in then}
        yield from ((short, gains) for short in slot_count.shorts())


def uncordoning(edits: Sequence[Edit], alone: Sequence[str] = ()) -> WayOut:
    """Return the way out that uncordons these nodes; `alone` are nodes of which one is enough."""
    names = sorted(edit.node for edit in edits if isinstance(edit, Uncordon))
    others = [name for name in alone if name not in names]
    return WayOut("uncordon", sentences.uncordon(names, others), commands.uncordon(names), tuple(edits))


def mend_nodes(search: Search) -> Iterator[WayOut]:
    """Yield the first few nodes that are not ready of which one is enough, or else all of them together."""
    dead = [name for name in search.view.names() if _is_dead(search.view, name)]
    if not dead or not search.may_help("mend-node"):
        return
    few = dead[:_MOST_TRIED]
    alone = list(islice((name for name in few if search.works((MendNode(name),))), _MOST_NAMED + 1))
    chosen = alone[:1] or (few if search.works([MendNode(name) for name in few]) else [])
    if chosen:
        stuck = [pod.key for name in chosen for pod in terminating_on(search.view, name)]
        message = sentences.mend_nodes(chosen, alone[1:], stuck[:_MOST_NAMED])
        edits = tuple(MendNode(name) for name in chosen)
        yield WayOut("mend-node", message, commands.describe_nodes(chosen), edits)


def _is_dead(view: View, name: str) -> bool:
    return any(taint.key in NOT_READY for taint in view.node(name).taints)


def raise_thresholds(search: Search) -> Iterator[WayOut]:
    """Yield the least thresholds of load of the fewest nodes with which it starts."""
    loaded = {name for name, reason in search.first.rejections.items() if isinstance(reason, Overloaded)}
    if not loaded or not search.may_help("raise-threshold"):
        return
    for slot_count in search.slot_counts:
        now, fresh = slot_count.slots(search.view), slot_count.slots(_unmeasured(search.view, frozenset(loaded)))
        for short in slot_count.shorts():
            ranked = in_domain([name for name in short.nodes if name in loaded], {n: fresh[n] - now[n] for n in fresh})
            edits = search.fewest([(gain, (_unlimited(search, name),)) for gain, name in ranked], short.missing)
            if edits and len(edits) <= _MOST_NAMED:
                yield _raising(search, [edit for edit in edits if isinstance(edit, SetThresholds)])
                return
    yield from _raising_for_all(search)


def _raising_for_all(search: Search) -> Iterator[WayOut]:
    """Yield the least thresholds of load for all nodes without any of their own, where a few nodes are not enough."""
    config, view = search.simulation.snapshot.config, search.view
    configured = dict(config.load.thresholds.whole)
    measured = [(name, metric) for name in view.names() if (metric := view.node(name).metric) is not None]
    names = [name for name, metric in measured if not metric.thresholds.whole]
    if len(names) > _MOST_OF_PROFILE:
        search.untried.add("raise-threshold")
        return
    found = dict.fromkeys(configured, _WHOLE)

    def holds(resource: str, spare: int) -> bool:
        after = {**found, resource: _WHOLE - spare}
        return search.works(tuple(_thresholds(name, after) for name in names))

    if not names or not search.works(tuple(_thresholds(name, found) for name in names)):
        return
    for resource, least in configured.items():
        found[resource] = _WHOLE - largest(_WHOLE - least, partial(holds, resource))
    changes = [(one, now, found[one]) for one, now in sorted(configured.items()) if found[one] > now]
    command = commands.edit_scheduler_config(config.home)
    edits = tuple(_thresholds(name, found) for name in names)
    yield WayOut("raise-threshold", sentences.raise_thresholds_of_all(changes), command, edits)


def _unmeasured(view: View, names: frozenset[str]) -> View:
    return view.with_nodes(structs.replace(view.node(name), metric=None) for name in names)


def _now(search: Search, node: str) -> Mapping[str, int]:
    """Return the thresholds for the whole of a node."""
    metric, configured = search.view.node(node).metric, search.simulation.snapshot.config.load.thresholds
    return dict((metric.thresholds if metric is not None else configured).over(configured).whole)


def _unlimited(search: Search, node: str) -> SetThresholds:
    return _thresholds(node, dict.fromkeys(_now(search, node), _WHOLE))


def _thresholds(node: str, percent: Mapping[str, int]) -> SetThresholds:
    return SetThresholds(node, tuple(Threshold(resource, most) for resource, most in sorted(percent.items())))


def _raising(search: Search, edits: Sequence[SetThresholds]) -> WayOut:
    """Return to raise thresholds of nodes, each by no more than it takes."""
    found = {edit.node: {one.resource: one.percent for one in edit.percent} for edit in edits}

    def holds(node: str, resource: str, percent: int) -> bool:
        after = {**found, node: {**found[node], resource: percent}}
        return search.works(tuple(_thresholds(name, limits) for name, limits in after.items()))

    for node, limits in found.items():
        for resource, least in _now(search, node).items():
            limits[resource] = _WHOLE - largest(_WHOLE - least, partial(_is_spared, holds, node, resource))
    changes = [
        (node, resource, now, limits[resource])
        for node, limits in found.items()
        for resource, now in sorted(_now(search, node).items())
        if limits[resource] > now
    ]
    has_others = any(_has_others(search.view, node) for node in found)
    command = "" if has_others else commands.in_turn(commands.set_thresholds(*item) for item in sorted(found.items()))
    after = tuple(_thresholds(*item) for item in found.items())
    return WayOut("raise-threshold", sentences.raise_thresholds(changes), command, after)


def _is_spared(holds: Callable[[str, str, int], bool], node: str, resource: str, spare: int) -> bool:
    return holds(node, resource, _WHOLE - spare)


def _has_others(view: View, node: str) -> bool:
    """Tell whether a node has other thresholds of its own, which the annotation that is written would lose."""
    metric = view.node(node).metric
    return metric is not None and bool(metric.thresholds.prod or metric.thresholds.aggregated)


def tolerate(search: Search) -> Iterator[WayOut]:
    """Yield each taint that, tolerated by all its pods, lets it start.

    Not those that Kubernetes sets itself, nor that of the control plane, on which no job belongs.
    """
    return (way for way in tolerating(search) if search.works(way.edits))


def tolerating(search: Search) -> Iterator[WayOut]:
    """Yield to tolerate each taint in the way, the commonest first, whether it is enough or not."""
    for taint, nodes in _taints(search):
        edits = (Tolerate(search.pods, taint.key, taint.value, taint.effect),)
        command = _toleration(search, taint)
        owners = None if command else next_steps.owners_of(search.members)
        yield WayOut("tolerate", sentences.tolerate(taint, nodes, owners), command, edits)


def _taints(search: Search) -> list[tuple[Taint, int]]:
    taints: Counter[Taint] = Counter()
    for one in search.first.refused:
        if isinstance(one.reason, Untolerated):
            taints[one.reason.taint] += one.nodes
    ranked = sorted(taints.items(), key=lambda item: (-item[1], item[0].key, item[0].value, item[0].effect))
    return [(taint, nodes) for taint, nodes in ranked if not taint.key.startswith(_NOT_FOR_JOBS)][:_MOST_TAINTS]


def _toleration(search: Search, taint: Taint) -> str:
    """Return the commands for a few pods; many are better changed in what creates them."""
    if len(search.pods) > _MOST_PODS_NAMED:
        return ""
    members = sorted(search.members, key=lambda pod: pod.key)
    return commands.in_turn(
        commands.tolerate(pod.key, taint, is_first=not pod.requirements.tolerations) for pod in members
    )


def add_nodes(search: Search) -> Iterator[WayOut]:
    """Yield how many more nodes, like one that is there, the few places would need that need the fewest."""
    if jobs_of(search.simulation, search.jobs_ahead.asked, changes=_GROWING) > search.budget.left:
        search.untried.add("add-nodes")
        return
    if not search.may_help("add-nodes"):
        return
    places: dict[Domain | None, tuple[Shortage, list[tuple[str, int]]]] = {}
    for slot_count in search.slot_counts:
        for short in _growing(slot_count):
            where = short.named
            _, more = places.get(where, (short, []))
            places[where] = short, sorted({*more, *_numbers(slot_count, short)}, key=lambda item: item[::-1])
    nearest = sorted(((short, more) for short, more in places.values() if more), key=lambda item: item[1][0][1])
    grown = (way for short, more in nearest[:_MOST_GROWN] for way in islice(_grown(search, short, more), 1))
    yield from islice(grown, _MOST_PLACES)


def _grown(search: Search, short: Shortage, numbers: Iterable[tuple[str, int]]) -> Iterator[WayOut]:
    for like, number in numbers:
        edits = _added(search.simulation.view, like, number)
        if search.works(edits):
            yield WayOut("add-nodes", sentences.add_nodes(number, like, short.named), edits=edits)


def _growing(slot_count: SlotCount) -> Iterator[Shortage]:
    """Yield the places that grow with a node: where it must gather on one node, a new node is a place of its own."""
    if slot_count.simulation.must_gather != NODE_LAYER:
        yield from slot_count.shorts()
        return
    yield Shortage(None, len(slot_count.members), tuple(name for short in slot_count.shorts() for name in short.nodes))


def _numbers(slot_count: SlotCount, short: Shortage) -> Iterator[tuple[str, int]]:
    """Yield which node to add how often: no fewer than division asks for."""
    extras = range(_MORE_NODES + max(slot_count.multiples.values(), default=1))
    for like, slots in _roomiest(slot_count, short):
        least = -(-short.missing // slots)
        yield from ((like, least + extra) for extra in extras)


def _roomiest(slot_count: SlotCount, short: Shortage) -> list[tuple[str, int]]:
    """Return the node of a place that takes the most pods when empty, and how many.

    With multiples it counts in which domain below a node is added: then the best of each of the few best. Where the
    pods are tried one by one it does not, whatever the spec of another gang of the group says.
    """
    empty = slot_count.fresh_slots
    ranked = sorted(((name, empty[name]) for name in short.nodes if empty[name]), key=lambda item: (-item[1], item[0]))
    plan = slot_count.first.plan
    if plan is None or not slot_count.multiples:
        return ranked[:1]
    best: dict[int, tuple[str, int]] = {}
    for name, slots in ranked:
        best.setdefault(plan.tree.parents[plan.tree.leaf[name]], (name, slots))
    return list(best.values())[:_MOST_PLACES]


def _added(view: View, like: str, number: int) -> tuple[AddNode, ...]:
    taken = set(view.names())
    free = (name for at in numbers(1) if (name := f"{like}-new-{at}") not in taken)
    return tuple(AddNode(next(free), like) for _ in range(number))
