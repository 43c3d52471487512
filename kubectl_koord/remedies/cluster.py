"""Ways out on the side of the cluster: waiting, cordons, taints, labels, reservations, claims, more nodes."""

import contextlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count as numbers
from itertools import islice
from typing import TypeAlias, assert_never

from msgspec import Struct, structs

from kubectl_koord.diagnosis import disruption, evidence
from kubectl_koord.diagnosis import labels as node_labels
from kubectl_koord.diagnosis.labels import NothingTellsError, filled, proposed
from kubectl_koord.engine.budget import Budget
from kubectl_koord.engine.gangs import GangSubject
from kubectl_koord.engine.placement import PlacementPlan
from kubectl_koord.engine.reasons import ClaimsUnallocated, Overloaded, Untolerated, VolumesUnbound
from kubectl_koord.engine.reservations import is_match, is_owner
from kubectl_koord.engine.rounds import Outcome
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.state import View
from kubectl_koord.engine.tree import DEFAULT_NAME, NODE_LAYER, Domain, Tree
from kubectl_koord.language import say
from kubectl_koord.model import objects, values
from kubectl_koord.model.hardware import Device
from kubectl_koord.model.objects import Layer, Node
from kubectl_koord.model.pods import PendingPod, ReservedRoom, RunningPod, claim_names
from kubectl_koord.model.reservations import ByLabel, Reservation
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values import Taint
from kubectl_koord.remedies import next_steps
from kubectl_koord.remedies.search import Change, Search, Shortage, SlotCount, attempt_of, in_domain, jobs_of
from kubectl_koord.reports.common import (
    AddNode,
    BrokenGang,
    Edit,
    FreedPod,
    LabelNode,
    LayerKeys,
    MendNode,
    NodeLabel,
    ReleasedReservation,
    ReleaseReservation,
    SetLayers,
    SetThresholds,
    SupplyClaims,
    Threshold,
    Tolerate,
    Uncordon,
    WayOut,
)
from kubectl_koord.simulation.simulation import every_outcome, largest
from kubectl_koord.simulation.what_if import GOING, changed, deleted, is_dead, is_unfit, terminating_on
from kubectl_koord.wording.facts import (
    DEVICE_PLUGIN,
    FINALIZERS,
    KOORDLET,
    broken_gangs,
    delete,
    describe,
    edit_scheduler_config,
    in_turn,
    name_and_namespace,
    place_clause,
    pods_by_budget,
    reservation_owner,
    template_of,
)
from kubectl_koord.wording.words import (
    SEMICOLON,
    amounts,
    asked_for,
    count,
    listed,
    overdue,
    overdue_clause,
    paste,
    ranked,
    resource_name,
)

_Lacking: TypeAlias = VolumesUnbound | ClaimsUnallocated
_MOST_CLAIMS = 16


def supply(search: Search) -> Iterator[WayOut]:
    """Yield what brings all claims of the subject in order, where that is enough."""
    yield from (way for way in supplying(search) if search.works(way.edits))


def supplying(search: Search) -> Iterator[WayOut]:
    """Yield it whether or not it is enough."""
    lacking = search.kept("claims", lambda: _lacking(search))
    if lacking:
        every = lacking.values()
        yield WayOut(
            "supply-claims",
            supply_message(every),
            in_turn(filter(None, map(supply_command, every))),
            (_supplied(lacking),),
        )


def supply_command(one: VolumesUnbound | ClaimsUnallocated) -> str:
    """Return the command that shows the claim, or deletes one that is in the way; empty where it does not exist."""
    if isinstance(one, ClaimsUnallocated):
        return describe("resourceclaim", one.claim)
    if one.fault == "not-owner":
        return delete("pvc", one.claim)
    return "" if one.fault in {"claim-missing", "ephemeral-missing"} else describe("pvc", one.claim)


def supply_message(lacking: Iterable[VolumesUnbound | ClaimsUnallocated]) -> str:
    """Return what is to be done about claims that no node can serve."""
    told = listed([_volume(one) if isinstance(one, VolumesUnbound) else _devices(one) for one in lacking])
    return say("{told}{told2}, so that any node can serve it", told=told[0].upper(), told2=told[1:])


def _devices(one: ClaimsUnallocated) -> str:
    match one.fault:
        case "no-class":
            return say("create DeviceClass {about} for resource claim {claim}", about=one.about, claim=one.claim)
        case "in-use":
            return say("end a pod that uses resource claim {claim}", claim=one.claim)
        case "being-allocated":
            return say("wait until resource claim {claim} is allocated", claim=one.claim)
        case _:
            assert_never(one.fault)


def _volume(one: VolumesUnbound) -> str:  # noqa: PLR0911 -- one match over a closed union
    claim, about = one.claim, one.about
    match one.fault:
        case "claim-missing":
            return say("create volume claim {claim}", claim=claim)
        case "being-deleted":
            return say("create volume claim {claim} anew, once it is gone", claim=claim)
        case "not-bound" if about:
            return say(
                "find out why StorageClass {about} binds no volume to volume claim {claim}", about=about, claim=claim
            )
        case "not-bound":
            return say("create the StorageClass of volume claim {claim}, or a volume for it", claim=claim)
        case "binding":
            return say("find out why volume {about} is not bound to volume claim {claim}", about=about, claim=claim)
        case "lost" | "volume-missing":
            return say("create volume {about} anew for volume claim {claim}", about=about, claim=claim)
        case "ephemeral-missing":
            return say("find out why volume claim {claim} is not made for pod {pod}", claim=claim, pod=one.pod)
        case "not-owner":
            return say("delete volume claim {claim}, so that it is made for pod {pod}", claim=claim, pod=one.pod)
        case _:
            assert_never(one.fault)


def _supplied(lacking: Mapping[str, _Lacking]) -> SupplyClaims:
    return SupplyClaims(
        tuple(name for name, one in lacking.items() if isinstance(one, VolumesUnbound)),
        tuple(name for name, one in lacking.items() if isinstance(one, ClaimsUnallocated)),
    )


def _lacking(search: Search) -> Mapping[str, _Lacking]:
    """Return the claims that keep any member from all nodes, by name, as long as they are few."""
    found: dict[str, _Lacking] = {}
    members = list(search.members) if any(map(_has_claims, search.members)) else []
    simulation = search.simulation
    while members and len(found) < _MOST_CLAIMS:
        pod = next(one for one in simulation.subject.pending if one.key == members[0].key)
        refusal = simulation.prepared(pod).refusal
        if isinstance(refusal, VolumesUnbound | ClaimsUnallocated):
            found[refusal.claim] = refusal
            simulation = changed(search.simulation, (_supplied(found),))
        else:
            members.pop(0)
    if members:
        search.left_out.add("supply-claims")
    return found


def _has_claims(pod: PendingPod) -> bool:
    return bool(pod.resource_claims or claim_names(pod))


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
    *GOING,
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
        message = _wait_for_terminating(len(terminating), overdue_clause(terminating, moment))
        command = "".join(_see_finalizers_of_terminating(pod.key) for pod in overdue(terminating, moment)[:1])
        yield WayOut("wait-for-terminating", message, command, edits)


def _wait_for_terminating(pods: int, overdue: str) -> str:
    """Return that terminating pods make room enough, and which of them are late, if any."""
    verb = "frees" if pods == 1 else "free"
    late = say("; {overdue}", overdue=overdue) if overdue else ""
    return say("Wait: {pods} {verb} enough room{late}", pods=count(pods, "terminating pod"), verb=verb, late=late)


def _see_finalizers_of_terminating(pod: str) -> str:
    name, option, namespace = name_and_namespace(pod)
    return paste("kubectl", "get", "pod", option, namespace, name, "-o", f"jsonpath={FINALIZERS}")


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
    allowed = min(simulation.steps, search.budget.now // each)
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
    message = preemption_message(outcome.killed, outcome.rounds[-1].domain, is_gang=is_gang)
    freed = disruption.freed(simulation.snapshot, outcome.killed)
    broken = disruption.broken_gangs(simulation.snapshot, outcome.killed)
    message += _preemption_effects(freed, broken)
    shown = _preempt(simulation.subject.key, lone_pod=not is_gang)
    yield WayOut("wait-for-preemption", message, shown, edits, freed, broken)


def preemption_message(victims: Sequence[RunningPod], domain: Domain | None, *, is_gang: bool) -> str:
    """Return which pods the scheduler itself preempts, and where it then places the subject."""
    pods = _victims(victims) or say("pods that are already terminating")
    where = say(" in {name}", name=domain.name) if domain is not None and domain.name else ""
    return say(
        "Wait: the scheduler will preempt {pods} and place {it}{where}",
        pods=pods,
        it=say("the gang") if is_gang else "it",
        where=where,
    )


def _victims(pods: Sequence[RunningPod]) -> str:
    """Return whom preemption ends: a few pods by name, of more the jobs that they are of, those of DaemonSets apart."""
    if len(pods) <= _MOST_NAMED:
        return listed([pod.key for pod in pods])
    daemons = [pod for pod in pods if pod.requirements.of_daemon_set]
    jobs = dict.fromkeys(_job_of(pod) for pod in pods if not pod.requirements.of_daemon_set)
    named = [*jobs][:_MOST_NAMED]
    more = [say("{number} more", number=len(jobs) - len(named))] if len(jobs) > len(named) else []
    of_jobs = say(
        "{pods} of {jobs} ({part})",
        pods=count(len(pods) - len(daemons), "pod"),
        jobs=count(len(jobs), "job"),
        part=listed([*named, *more]),
    )
    of_daemons = say(
        "{pods}, which {come} back,",
        pods=count(len(daemons), "DaemonSet pod"),
        come="comes" if len(daemons) == 1 else "come",
    )
    return listed([*([of_jobs] if jobs else []), *([of_daemons] if daemons else [])])


def _job_of(pod: RunningPod) -> str:
    return pod.gang or (f"{pod.namespace}/{pod.owner}" if pod.owner else pod.key)


def _preempt(key: str, *, lone_pod: bool) -> str:
    """Return the call of this program that shows what preemption would do for a gang, or for a lone pod."""
    name, *namespace = name_and_namespace(key)
    return paste("kubectl", "koord", "preempt", asked_for(name, lone_pod=lone_pod), *namespace)


def _preemption_effects(pods: Sequence[FreedPod], broken: Sequence[BrokenGang]) -> str:
    """Return what preempting these pods does to others, to follow a sentence: the scheduler ignores budgets."""
    names = [name for name, covered in pods_by_budget(pods).items() if not all(pod.evictable for pod in covered)]
    ignored = say("; it ignores budget {names}", names=listed(names)) if names else ""
    return ignored + "".join(say("; {clause}", clause=clause) for clause in broken_gangs(broken))


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
    names = search.few((node.name for node in evidence.cordoned(search.view)), _MOST_TRIED, "uncordon")
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
    return WayOut("uncordon", _uncordon(names, others), paste("kubectl", "uncordon", *names), tuple(edits))


def _uncordon(nodes: Sequence[str], others: Sequence[str]) -> str:
    """Return which nodes to uncordon; where it is one, which others would do as well."""
    instead = say(" (or {others})", others=listed(others)) if others else ""
    which = nodes[0] if len(nodes) == 1 else say("all of {nodes}", nodes=listed(nodes))
    return say("Uncordon {which}{instead}", which=which, instead=instead)


def mend_nodes(search: Search) -> Iterator[WayOut]:
    """Yield of the first few nodes that are not ready, not fit, or have lost cards, one that is enough, or else all."""
    view = search.view
    wanted = {resource for pod in search.members for resource, _ in pod.requirements.requests}
    kinds = ((is_dead, _mend_nodes), (_is_unfit, _make_fit), (partial(_has_lost, wanted), _return_cards))
    for is_broken, says in kinds:
        broken = [name for name in view.names() if is_broken(view.node(name))]
        if not broken or not search.may_help("mend-node"):
            continue
        few = search.few(broken, _MOST_TRIED, "mend-node")
        alone = list(islice((name for name in few if search.works((MendNode(name),))), _MOST_NAMED + 1))
        chosen = alone[:1] or (few if search.works([MendNode(name) for name in few]) else [])
        if chosen:
            message = says(view, chosen, alone[1:])
            edits = tuple(MendNode(name) for name in chosen)
            yield WayOut("mend-node", message, paste("kubectl", "describe", "node", *chosen), edits)


def _mend_nodes(view: View, nodes: Sequence[str], others: Sequence[str]) -> str:
    """Return which nodes to bring back, which others would do, and the pods that cannot end there until then."""
    stuck = [pod.key for name in nodes for pod in terminating_on(view, name)][:_MOST_NAMED]
    verb = "is" if len(nodes) == 1 else "are"
    held = say("; {stuck} cannot end before", stuck=listed(stuck)) if stuck else ""
    return say(
        "Bring back {nodes}{or_}, which {verb} not ready{held}",
        nodes=listed(nodes),
        or_=_or(others),
        verb=verb,
        held=held,
    )


def _or(others: Sequence[str]) -> str:
    return say(" (or {others})", others=listed(others)) if others else ""


def _is_unfit(node: Node) -> bool:
    return any(is_unfit(taint.key) for taint in node.taints)


def _make_fit(view: View, nodes: Sequence[str], others: Sequence[str]) -> str:
    """Return which nodes have a taint of theirs to lose, which others would do, and who takes it away."""
    taints = {taint.key: None for name in nodes for taint in view.node(name).taints if is_unfit(taint.key)}
    has = "has" if len(nodes) == 1 else "have"
    return say(
        "Find out why {nodes}{or_} {has} taint {taints}: who set it takes it away",
        nodes=listed(nodes),
        or_=_or(others),
        has=has,
        taints=listed(list(taints)),
    )


def _has_lost(wanted: Collection[str], node: Node) -> bool:
    """Tell whether a node offers fewer cards than it has, of a kind that is wanted."""
    kinds = {objects.family(resource) for resource in wanted}
    return any(resource in wanted for resource, _ in node.lost) or any(
        device.type in kinds or any(resource in wanted for resource, _ in device.resources)
        for device in _unhealthy(node)
    )


def _unhealthy(node: Node) -> list[Device]:
    devices = node.devices.layout.devices if node.devices is not None else ()
    return [device for device in devices if not device.healthy]


def _return_cards(view: View, nodes: Sequence[str], others: Sequence[str]) -> str:
    """Return the nodes whose lost cards are to come back, and who takes a card away."""
    each = [say("{cards_lost} of {name}", cards_lost=_cards_lost(view.node(name)), name=name) for name in nodes]
    return say(
        "Bring back {each}{or_}: see why {device_plugin} or {koordlet} calls a card unhealthy there",
        each=listed(each),
        or_=_or(others),
        device_plugin=DEVICE_PLUGIN,
        koordlet=KOORDLET,
    )


def _cards_lost(node: Node) -> str:
    lost = listed([f"{number} {resource_name(resource)}" for resource, number in node.lost])
    unhealthy = Counter(device.type.upper() for device in _unhealthy(node))
    return lost or listed([f"{number} {kind}" for kind, number in sorted(unhealthy.items())])


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
    command = edit_scheduler_config(config.home)
    edits = tuple(_thresholds(name, found) for name in names)
    yield WayOut("raise-threshold", _raise_thresholds_of_all(changes), command, edits)


def _raise_thresholds_of_all(changes: Sequence[tuple[str, int, int]]) -> str:
    """Return which thresholds of load to raise for all nodes: by resource, percent now, percent then."""
    named = [
        say("{resource_name} from {now} to {then}", resource_name=resource_name(resource), now=now, then=then)
        for resource, now, then in changes
    ]
    return say(
        "Raise usageThresholds of {named} in LoadAwareSchedulingArgs, and restart koord-scheduler", named=listed(named)
    )


def _unmeasured(view: View, names: frozenset[str]) -> View:
    return view.with_nodes(structs.replace(view.node(name), metric=None) for name in names)


def _now(search: Search, node: str) -> Mapping[str, int]:
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
    command = "" if has_others else in_turn(_set_thresholds(*item) for item in sorted(found.items()))
    after = tuple(_thresholds(*item) for item in found.items())
    return WayOut("raise-threshold", _raise_thresholds(changes), command, after)


def _raise_thresholds(changes: Sequence[tuple[str, str, int, int]]) -> str:
    """Return which thresholds of load to raise: by node, resource, percent now, percent then."""
    named = [
        say(
            "of node {node} for {resource_name} from {now} to {then} %",
            node=node,
            resource_name=resource_name(resource),
            now=now,
            then=then,
        )
        for node, resource, now, then in changes
    ]
    return say(
        "Raise the load threshold {named} (or usageThresholds in LoadAwareSchedulingArgs, for all nodes)",
        named=listed(named),
    )


_USAGE_THRESHOLDS = "scheduling.koordinator.sh/usage-thresholds"


def _set_thresholds(node: str, percent: Mapping[str, int]) -> str:
    """Return what gives a node thresholds of load of its own."""
    value = json.dumps({"usageThresholds": dict(percent)}, separators=(",", ":"))
    return paste("kubectl", "annotate", "node", node, f"{_USAGE_THRESHOLDS}={value}", "--overwrite")


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
        yield WayOut("tolerate", _tolerate(taint, nodes, owners), command, edits)


def _tolerate(taint: Taint, nodes: int, owners: Sequence[str] | None) -> str:
    """Return which taint to tolerate; `owners` of the pods where no command does it."""
    value = f"={taint.value}" if taint.value else ""
    where = "" if owners is None else say(": add it to spec.tolerations in {template}", template=template_of(owners))
    return say(
        "Tolerate taint {key}{value}:{effect} ({nodes}){where}",
        key=taint.key,
        value=value,
        effect=taint.effect,
        nodes=count(nodes, "node"),
        where=where,
    )


def _taints(search: Search) -> list[tuple[Taint, int]]:
    taints: Counter[Taint] = Counter()
    for one in search.first.refused:
        if isinstance(one.reason, Untolerated):
            taints[one.reason.taint] += one.nodes
    ranked = sorted(taints.items(), key=lambda item: (-item[1], item[0].key, item[0].value, item[0].effect))
    for_jobs = ((one, nodes) for one, nodes in ranked if not (one.key.startswith(_NOT_FOR_JOBS) or is_unfit(one.key)))
    return search.few(for_jobs, _MOST_TAINTS, "tolerate")


def _toleration(search: Search, taint: Taint) -> str:
    """Return the commands for a few pods; many are better changed in what creates them."""
    if len(search.pods) > _MOST_PODS_NAMED:
        return ""
    members = sorted(search.members, key=lambda pod: pod.key)
    return in_turn(_tolerate_command(pod.key, taint, is_first=not pod.requirements.tolerations) for pod in members)


def _tolerate_command(pod: str, taint: Taint, *, is_first: bool) -> str:
    """Return what adds a toleration to a pod, whether it has others, which must stay, or none."""
    toleration = {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect}
    first = {"op": "add", "path": "/spec/tolerations", "value": [toleration]}
    another = {"op": "add", "path": "/spec/tolerations/-", "value": toleration}
    patch = json.dumps([first if is_first else another])
    return paste("kubectl", "patch", "pod", *name_and_namespace(pod), "--type", "json", "-p", patch)


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
    few = search.few(nearest, _MOST_GROWN, "add-nodes")
    grown = (way for short, more in few for way in islice(_grown(search, short, more), 1))
    yield from islice(grown, _MOST_PLACES)


def _grown(search: Search, short: Shortage, numbers: Iterable[tuple[str, int]]) -> Iterator[WayOut]:
    for like, number in numbers:
        edits = _added(search.simulation.view, like, number)
        if search.works(edits):
            yield WayOut(
                "add-nodes",
                say(
                    "Add {nodes} like {like}{place_clause}",
                    nodes=count(number, "node"),
                    like=like,
                    place_clause=place_clause(short.named),
                ),
                edits=edits,
            )


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


_MOST_NODES = 256


class _Place(Struct, frozen=True):
    """The labels that put a node into a domain; `told` is whether its other labels tell that it belongs there.

    It `overwrites` where it has one of them, and that is empty.
    """

    node: str
    labels: tuple[NodeLabel, ...]
    told: bool
    overwrites: bool


class _Labels:
    """What the labels of nodes tell of those that they lack."""

    def __init__(self, snapshot: Snapshot, tree: Tree) -> None:
        self._snapshot = snapshot
        self._tree = tree
        self.layers = node_labels.layers_of(snapshot, tree)
        every = {layer.name: [tree.domains[index] for index in tree.at_layer(layer.name)] for layer in self.layers}
        self._above = {layer: {one.name: one.parent for one in domains} for layer, domains in every.items()}

    def place(self, node: str, domain: Mapping[str, str]) -> _Place | None:
        """Return what puts a node into a domain, given by the values of its layers; None where other labels say no."""
        labels = dict(self._snapshot.nodes[node].labels)
        lacking, told = [], True
        for layer in self.layers:
            value = layer.value(labels)
            wanted = domain.get(layer.name, "")
            if value and wanted and value != wanted:
                return None
            if value:
                continue
            known = self._told(layer, labels)
            if known and wanted and known != wanted:
                return None
            if not (known or wanted or layer is self.layers[-1]):
                return None
            told = told and bool(known)
            if known or wanted:
                lacking.append(NodeLabel(layer.label_keys[0], known or wanted))
        return _Place(node, tuple(lacking), told, any(one.key in labels for one in lacking)) if lacking else None

    def _told(self, layer: Layer, labels: Mapping[str, str]) -> str:
        """Return the value that a layer's label would have: of a key that is nearly it, or of the layer below."""
        of_layers = {key for one in self.layers for key in one.label_keys}
        others = sorted((key, value) for key, value in labels.items() if value and key not in of_layers)
        near = (value for key, value in others if node_labels.nearest(key, layer.label_keys))
        return next(near, "") or self._of_below(layer, labels)

    def _of_below(self, layer: Layer, labels: Mapping[str, str]) -> str:
        """Return the domain of a layer above that which a label of a lower layer names, empty for none."""
        lower = self.layers[self.layers.index(layer) + 1 :]
        for one in lower:
            index = self._above[one.name].get(one.value(labels))
            if index is not None:
                above = (self._tree.domains[at] for at in self._tree.ancestors(index))
                return next((domain.name for domain in above if domain.layer == layer.name), "")
        return ""


def label_nodes(search: Search) -> Iterator[WayOut]:
    """Yield the fewest nodes outside the tree that are enough once they have the labels that others of theirs tell."""
    yield from search.once("label-nodes", _told)


def label_where_they_stand(search: Search) -> Iterator[WayOut]:
    """Yield the fewest nodes outside the tree that are enough, where no label tells their place: people must know."""
    if not search.once("label-nodes", _told):
        yield from _labelled(search, guessed=True)


def _told(search: Search) -> tuple[WayOut, ...]:
    return tuple(_labelled(search, guessed=False))


def _labelled(search: Search, *, guessed: bool) -> Iterator[WayOut]:
    plan = search.first.plan
    nodes = _strays(plan) if plan is not None else []
    if plan is None or not nodes or not search.may_help("label-nodes"):
        return
    labels, nodes = _Labels(search.simulation.snapshot, plan.tree), search.few(nodes, _MOST_NODES, "label-nodes")
    for slot_count in search.slot_counts:
        counts = slot_count.slots(search.view)
        for short in slot_count.shorts():
            domain = _values(plan.tree, short)
            places = [place for node in nodes if counts[node] and (place := labels.place(node, domain))]
            told = [one for one in places if one.told or guessed]
            ranked = sorted(told, key=lambda one: (not one.told, -counts[one.node], one.node))
            pieces = [(counts[one.node], (LabelNode(one.node, one.labels),)) for one in ranked]
            edits = search.fewest(pieces, short.missing)
            if edits:
                chosen = {edit.node for edit in edits if isinstance(edit, LabelNode)}
                yield _labelling([one for one in ranked if one.node in chosen])
                return
    alone = [place for node in nodes if (place := labels.place(node, {})) and place.told]
    if alone and not guessed and search.works([LabelNode(one.node, one.labels) for one in alone]):
        yield _labelling(alone)


def _strays(plan: PlacementPlan) -> list[str]:
    """Return the nodes outside the tree, and those that are domains of their own as they lack a label."""
    alone = node_labels.alone_in(plan.tree, plan.requirements.must_gather)
    return [*(one.node for one in plan.tree.outside), *alone]


def _values(tree: Tree, short: Shortage) -> Mapping[str, str]:
    """Return the values of the labels of a domain and of those above it, by layer."""
    if short.domain is None or not short.nodes:
        return {}
    node = tree.leaf[short.nodes[0]]
    above = [tree.domains[index] for index in tree.ancestors(node)]
    at = next(number for number, one in enumerate(above) if one == short.domain)
    return {one.layer: one.name for one in above[at:] if one.name}


def _labelling(places: Sequence[_Place]) -> WayOut:
    by_labels: dict[tuple[NodeLabel, ...], list[str]] = {}
    for one in places:
        by_labels.setdefault(one.labels, []).append(one.node)
    groups = [(nodes, [f"{label.key}={label.value}" for label in labels]) for labels, nodes in by_labels.items()]
    edits = tuple(LabelNode(one.node, one.labels) for one in places)
    message = _label_nodes(groups, told=all(one.told for one in places))
    told = all(one.told for one in places)
    return WayOut(
        "label-nodes" if told else "place-nodes",
        message,
        in_turn(_label(*group, overwrites=any(one.overwrites for one in places)) for group in groups),
        edits,
    )


def _label_nodes(groups: Sequence[tuple[Sequence[str], Sequence[str]]], *, told: bool) -> str:
    """Return which nodes to give which labels; unless other labels of theirs tell these, only if they are there."""
    each = [f"{_several(nodes)} {listed(labels)}" for nodes, labels in groups]
    proviso = "" if told else say(", if that is where it stands in the network")
    if not told and sum(len(nodes) for nodes, _ in groups) > 1:
        proviso = say(", if that is where they stand in the network")
    return say("Label {each}{proviso}", each=SEMICOLON.join(each), proviso=proviso)


_FEW_NODES = 6


def _several(nodes: Sequence[str]) -> str:
    return (
        listed(nodes)
        if len(nodes) <= _FEW_NODES
        else say("{nodes} and {number} more", nodes=say(", ").join(nodes[:_FEW_NODES]), number=len(nodes) - _FEW_NODES)
    )


def _label(nodes: Sequence[str], labels: Sequence[str], *, overwrites: bool) -> str:
    return paste("kubectl", "label", "node", *nodes, *labels, *(("--overwrite",) if overwrites else ()))


def name_labels(search: Search) -> Iterator[WayOut]:
    """Yield the topology that the labels of the nodes tell, where that is another than the live one and is enough."""
    plan, snapshot = search.first.plan, search.simulation.snapshot
    if plan is None or not (_strays(plan) or _is_empty(search)) or not search.may_help("other-layers"):
        return
    live = snapshot.topologies[DEFAULT_NAME].layers
    known = {key for layer in live for key in layer.label_keys}
    for layers, told in _named(snapshot, plan, is_empty=_is_empty(search)):
        keys = {key for layer in layers for key in layer.label_keys} - known
        edit = SetLayers(tuple(LayerKeys(layer.name, layer.label_keys) for layer in layers))
        if keys and search.works((edit,)):
            named = [(layer.name, layer.label_keys) for layer in layers if layer.name != NODE_LAYER]
            command = "kubectl koord topo init --diff" if told else _see_named_topology(named)
            yield WayOut("other-layers", _other_layers(named, told=told), command, (edit,))
            return


def _other_layers(layers: Iterable[tuple[str, Sequence[str]]], *, told: bool) -> str:
    """Return which labels the topology is to name; to see the change comes before it is applied.

    `told` is whether a provider sets these labels: others may mean something else.
    """
    named = listed([say("{keys} for {layer}", keys=keys[0], layer=layer) for layer, keys in layers])
    proviso = "" if told else say(", if they tell where nodes stand in the network")
    return say(
        "Let the ClusterNetworkTopology name the labels that nodes have: {named}{proviso} (see it, then --apply)",
        named=named,
        proviso=proviso,
    )


def _see_named_topology(layers: Iterable[tuple[str, Sequence[str]]]) -> str:
    """Return what shows the topology of layers with these keys, from the top."""
    named = [word for layer, keys in layers for word in ("--layer", f"{layer}={','.join(keys)}")]
    return paste("kubectl", "koord", "topo", "init", *named, "--diff")


def _is_empty(search: Search) -> bool:
    plan = search.first.plan
    return plan is not None and node_labels.empty_layer(search.simulation.snapshot, plan) is not None


def _named(snapshot: Snapshot, plan: PlacementPlan, *, is_empty: bool) -> Iterator[tuple[tuple[Layer, ...], bool]]:
    """Yield layers of labels that nodes have: those that a provider sets, then others that may mean it."""
    with contextlib.suppress(NothingTellsError):
        yield proposed(snapshot).layers, True
    if is_empty and (
        layers := filled(snapshot, node_labels.layers_of(snapshot, plan.tree), plan.requirements.must_gather)
    ):
        yield layers, False


_RESERVATIONS_MOST_TRIED, _MOST_TRIED_WHERE_TIGHT = 16, 4


def release(search: Search) -> Iterator[WayOut]:
    """Yield single Reservations whose room is enough, those for which nobody waits first; else the fewest."""
    held = _held(search.view)
    if not held or not search.may_help("release-reservation"):
        return
    alone: list[Reservation] = []
    found: list[tuple[Edit, ...]] = []
    for slot_count in search.slot_counts:
        gains = {one.name: gain for one in held.values() if (gain := _gain(slot_count, one)) > 0}
        for short in search.few(slot_count.shorts(), _MOST_PLACES, "release-reservation") if gains else ():
            names = [one.name for one in held.values() if one.node in short.nodes]
            ranked = in_domain(names, gains)
            alone += [held[name] for gain, name in ranked if gain >= short.missing and held[name] not in alone]
            if ranked and not alone:
                pieces = [(gain, (ReleaseReservation(name),)) for gain, name in ranked]
                found.append(search.fewest(pieces, short.missing))
    if not search.counts_exactly:
        alone += [one for one in held.values() if one not in alone]
    most = _MOST_TRIED_WHERE_TIGHT if search.budget.is_tight else _RESERVATIONS_MOST_TRIED
    few = search.few(alone, most, "release-reservation")
    waiting = _waiting(search, few)
    few.sort(key=lambda one: bool(waiting[one.name]))
    working = (one.name for one in few if search.works((ReleaseReservation(one.name),)))
    singles: list[tuple[Edit, ...]] = [(ReleaseReservation(name),) for name in islice(working, _MOST_NAMED)]
    for edits in singles or sorted(filter(None, found), key=len)[:1]:
        names = sorted(edit.reservation for edit in edits if isinstance(edit, ReleaseReservation))
        waiting = _waiting(search, [held[name] for name in names])
        released = tuple(_released(search, held[name], waiting[name]) for name in names)
        message, command = _releasing(released), paste("kubectl", "delete", "reservation", *names)
        yield WayOut("release-reservation", message, command, edits, released=released)


def _releasing(released: Sequence[ReleasedReservation]) -> str:
    """Return which Reservations to delete, and what that costs."""
    named = [
        say("{reservation} on {node} ({cost})", reservation=one.reservation, node=one.node, cost=_cost(one))
        for one in released
    ]
    noun = say("reservation") if len(named) == 1 else say("{number} reservations:", number=len(named))
    owners = sorted({owner for one in released for owner in one.owners})
    drawing = [pod for one in released for pod in one.drawing]
    waiting = sorted({pod for one in released for pod in one.waiting})
    for_whom = say("for {owners}", owners=listed(owners, "or")) if owners else say("for nobody")
    running = (
        say(
            "; {pods} on it {keep} running",
            pods=count(len(drawing), "pod"),
            keep="keeps" if len(drawing) == 1 else "keep",
        )
        if drawing
        else ""
    )
    lose = (
        say("; {waiting} {wait} for this room", waiting=listed(waiting), wait="waits" if len(waiting) == 1 else "wait")
        if waiting
        else ""
    )
    return say(
        "Delete {noun} {named}, {for_whom}{running}{lose}",
        noun=noun,
        named=listed(named),
        for_whom=for_whom,
        running=running,
        lose=lose,
    )


def _cost(one: ReleasedReservation) -> str:
    unused = tuple((name, values.amount(name, values.parse(amount))) for name, amount in one.unused.items())
    left = say("{amounts} unused", amounts=amounts(ranked(unused))) if unused else say("all used")
    return say(
        "{left}, {part}",
        left=left,
        part=say("expires at {expires}", expires=one.expires) if one.expires else say("never expires"),
    )


def _held(view: View) -> Mapping[str, Reservation]:
    """Return the Reservations that take up room, by name; not pods that are reservations themselves."""
    every = (one for one in view.snapshot.reservations if not one.is_pod and not one.terminating)
    return {one.name: one for one in every if one.node in view.names() and one.uid in view.state(one.node).rooms}


def _gain(slot_count: SlotCount, reservation: Reservation) -> int:
    name = reservation.node
    rooms = [
        one for one in slot_count.view.occupants(name) if isinstance(one, ReservedRoom) and one.uid == reservation.uid
    ]
    return slot_count.slots_without(name, rooms) - slot_count.slots(slot_count.view)[name]


def _released(search: Search, reservation: Reservation, waiting: tuple[str, ...]) -> ReleasedReservation:
    state = search.view.state(reservation.node)
    left = {resource: amount for resource, amount in state.rest(reservation.uid).items() if amount > 0}
    drawing = [
        pod.key
        for pod in search.view.occupants(reservation.node)
        if isinstance(pod, RunningPod) and pod.allocations.reservation == reservation.uid
    ]
    return ReleasedReservation(
        reservation=reservation.name,
        node=reservation.node,
        owners=tuple(map(reservation_owner, reservation.owners)),
        unused=_spelled(left),
        expires=reservation.expires or None,
        drawing=tuple(sorted(drawing)),
        waiting=waiting,
    )


def _spelled(left: Mapping[str, int]) -> dict[str, str]:
    return {resource: values.spell(resource, amount) for resource, amount in sorted(left.items())}


def _waiting(search: Search, reservations: Sequence[Reservation]) -> Mapping[str, tuple[str, ...]]:
    """Return by Reservation who of the pods that wait, the subject's own left out, may draw on it as its owner."""
    known = rules(search.simulation.snapshot.config.version)
    own = {pod.key for pod in search.members}
    by_owner = ByLabel(tuple(reservations))
    found: dict[str, list[str]] = {one.name: [] for one in reservations}
    for pod in search.simulation.snapshot.pending:
        for one in by_owner.in_reach(pod.labels):
            is_other = pod.key not in own and pod.reserves is None
            if is_other and is_owner(pod, one.owners) and is_match(pod, one, search.view.node(one.node), known):
                found[one.name].append(pod.key)
    return {name: tuple(sorted(keys)) for name, keys in found.items()}
