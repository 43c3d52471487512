"""Remedies on the side of the gang: another layer, smaller multiples, fewer pods, smaller requests."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice

from msgspec import structs

from kubectl_koord.diagnosis import evidence, obstacles
from kubectl_koord.diagnosis.obstacles import Meant
from kubectl_koord.engine.filters.resources import FREE, with_room
from kubectl_koord.engine.gangs import Gang, PodSubject
from kubectl_koord.engine.reasons import (
    AntiAffinityViolated,
    Insufficient,
    Overloaded,
    PortTaken,
    Reason,
    SpreadLabelMissing,
    SpreadTooSkewed,
)
from kubectl_koord.engine.reservations import reserved_nodes
from kubectl_koord.engine.rules import GatherRule
from kubectl_koord.engine.slots import in_index_order
from kubectl_koord.engine.state import View
from kubectl_koord.engine.table import at_least, every_node, members
from kubectl_koord.language import say
from kubectl_koord.model import objects, values
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.remedies import next_steps
from kubectl_koord.remedies.search import Search, placed_members
from kubectl_koord.reports.common import (
    ActionCode,
    DeletePod,
    Edit,
    OwnRule,
    RelaxRule,
    SelectNodes,
    SetMinimum,
    SetRequest,
    SetTopology,
    WayOut,
)
from kubectl_koord.simulation.simulation import Simulation, largest, largest_from_above
from kubectl_koord.simulation.what_if import RULES, asked, asking
from kubectl_koord.wording.facts import (
    and_recreate,
    annotate_pod_group,
    at_pods,
    in_fields,
    in_turn,
    patch_pod_group,
    template_of,
)
from kubectl_koord.wording.words import amount_of, count, listed, resource_name

_MEBI = 1 << 20
_LEAST_SHARE = 10  # a pod that asks for a tenth of what it needs is not helped
_MOST_SIZES = 16
_NODES_A_STEP = 16
_Change = Callable[[tuple[GatherRule, ...]], tuple[GatherRule, ...]]
_Message = Callable[[Sequence[str] | None], str]


def other_layer(search: Search) -> Iterator[WayOut]:
    """Yield the nearest wider layer to gather on that works, and gathering as a preference only."""
    offered: set[str] = set()
    for way in other_layers(search):
        if way.action not in offered and search.works(way.edits):
            offered.add(way.action)
            yield way


def other_layers(search: Search) -> Iterator[WayOut]:
    """Yield to gather on each wider layer, and to prefer only, whether it is enough or not."""
    simulation = search.simulation
    tree, must = simulation.tree, simulation.must_gather
    if must not in tree.layers:
        return
    for layer in reversed(tree.layers[: tree.layers.index(must)]):
        edits = _with_rules(simulation, _gathered_on(must, layer))
        yield _changing_spec(simulation, "gather-wider", partial(_gather_on, layer), edits)
    edits = gathering_nowhere(simulation)
    yield _changing_spec(simulation, "prefer-gather", _prefer_gather, edits)


def _prefer_gather(owners: Sequence[str] | None) -> str:
    return say("Use PreferGather instead of MustGather{at_pods}", at_pods=at_pods(owners))


def _gather_on(layer: str, owners: Sequence[str] | None) -> str:
    return say("Gather on {layer} instead{at_pods}", layer=layer, at_pods=at_pods(owners))


def _changing_spec(
    simulation: Simulation, action: ActionCode, message: _Message, edits: tuple[SetTopology, ...]
) -> WayOut:
    """Return to change the spec by command; where pods carry it, by the field."""
    command = annotate(edits)
    owners = None if command else next_steps.owners_of(simulation.subject.pending)
    return WayOut(action, message(owners), command, edits)


def _gathered_on(old: str, new: str) -> _Change:
    """Return the change that moves the hard rule to another layer; a multiple of the old one stays where it is."""

    def change(rules: tuple[GatherRule, ...]) -> tuple[GatherRule, ...]:
        before = next((rule.multiple for rule in rules if rule.layer == new), 0)
        kept = [
            structs.replace(rule, strategy="PreferGather") if rule.layer == old else rule
            for rule in rules
            if rule.layer != new and (rule.layer != old or rule.multiple > 1)
        ]
        return (GatherRule(new, "MustGather", before), *kept)

    return change


def gathering(simulation: Simulation, layer: str) -> tuple[SetTopology, ...]:
    """Return the edits that let the gangs of a group gather on a layer, whether they have a topology or not."""
    change = _gathered_on(simulation.must_gather, layer)
    return tuple(
        SetTopology(gang.key, gang.defined_by, _spec(change(gang.topology or ())))
        for gang in simulation.subject.gangs.values()
        if gang is not None
    )


def gathering_nowhere(simulation: Simulation) -> tuple[SetTopology, ...]:
    """Return the edits that make what gangs must gather on a preference."""
    return _with_rules(simulation, _preferring)


def _preferring(rules: tuple[GatherRule, ...]) -> tuple[GatherRule, ...]:
    return tuple(structs.replace(rule, strategy="PreferGather") for rule in rules)


def smaller_multiple(search: Search) -> Iterator[WayOut]:
    """Yield for each layer the largest smaller podCountMultiple that works."""
    for layer, multiple in search.simulation.multiples.items():
        ways = (lower_multiple(search.simulation, layer, multiple, number) for number in range(multiple - 1, 0, -1))
        yield from islice((way for way in ways if search.works(way.edits)), 1)


def lower_multiple(simulation: Simulation, layer: str, multiple: int, number: int) -> WayOut:
    """Return to lower a multiple, whether it is enough or not."""
    edits = _with_rules(simulation, _multiplied(layer, number))
    message = partial(_lower_multiple, layer, multiple, number)
    return _changing_spec(simulation, "smaller-multiple", message, edits)


def _lower_multiple(layer: str, multiple: int, number: int, owners: Sequence[str] | None) -> str:
    return say(
        "Lower podCountMultiple of {layer} from {multiple} to {number}{at_pods}",
        layer=layer,
        multiple=multiple,
        number=number,
        at_pods=at_pods(owners),
    )


def _multiplied(layer: str, number: int) -> _Change:
    def change(rules: tuple[GatherRule, ...]) -> tuple[GatherRule, ...]:
        return tuple(structs.replace(rule, multiple=number) if rule.layer == layer else rule for rule in rules)

    return change


def _with_rules(simulation: Simulation, change: _Change) -> tuple[SetTopology, ...]:
    """Return the edits that change the spec of every gang of the group that has one."""
    return tuple(
        SetTopology(gang.key, gang.defined_by, _spec(change(gang.topology)))
        for gang in simulation.subject.gangs.values()
        if gang is not None and gang.topology is not None
    )


def _spec(rules: Sequence[GatherRule]) -> str:
    written = [
        {"layer": rule.layer, "strategy": rule.strategy}
        | ({"podCountMultiple": rule.multiple} if rule.multiple > 1 else {})
        for rule in rules
    ]
    return json.dumps({"gatherStrategy": written})


def annotate(edits: Sequence[SetTopology]) -> str:
    """Return what to paste; empty where pods define a gang: what they say is read when they are created."""
    if any(edit.defined_by != "PodGroup" for edit in edits):
        return ""
    return in_turn(annotate_pod_group(edit.gang, _options(edit)) for edit in edits)


def _options(edit: SetTopology) -> list[str]:
    options: list[str] = []
    for rule in json.loads(edit.spec)["gatherStrategy"]:
        options += ["--must-gather" if rule["strategy"] == "MustGather" else "--prefer-gather", rule["layer"]]
        if "podCountMultiple" in rule:
            options += ["--multiple", f"{rule['layer']}={rule['podCountMultiple']}"]
    return options


def select_nodes(search: Search) -> Iterator[WayOut]:
    """Yield to select nodes by the labels that they have, where those which the pods ask for are nearly that."""
    found = obstacles.meant_labels(search.view, search.first.trigger)
    edits = tuple(SelectNodes(search.pods, one.key, one.value, one.to_key, one.to_value) for one in found)
    if edits and search.works(edits):
        owners = next_steps.owners_of(search.members)
        yield WayOut("select-nodes", _ask_for(found, owners, len(search.pods)), edits=edits)


def _ask_for(found: Sequence[Meant], owners: Sequence[str], pods: int) -> str:
    """Return which labels to select nodes by, and where to write them."""
    named = listed(
        [
            say(
                "{to_key}={to_value} instead of {key}={value}",
                to_key=one.to_key,
                to_value=one.to_value,
                key=one.key,
                value=one.value,
            )
            for one in found
        ]
    )
    return say(
        "Ask for nodes with {named} in {template}{and_recreate}",
        named=named,
        template=template_of(owners),
        and_recreate=and_recreate(pods),
    )


_RULES: Mapping[type[Reason], OwnRule] = {
    PortTaken: "host-ports",
    AntiAffinityViolated: "pod-anti-affinity",
    SpreadTooSkewed: "topology-spread",
    SpreadLabelMissing: "topology-spread",
}


def relax_rules(search: Search) -> Iterator[WayOut]:
    """Yield to do without each rule of the pods that keeps them from nodes, or from each other."""
    wanted = {rule for rule, field in RULES.items() if any(getattr(pod.requirements, field) for pod in search.members)}
    if not wanted:
        return
    refused = (*search.first.refused, *obstacles.exclusions(search.simulation, search.first))
    for rule in dict.fromkeys(_RULES[type(one.reason)] for one in refused if type(one.reason) in _RULES):
        edits = (RelaxRule(search.pods, rule),)
        if rule in wanted and search.works(edits):
            message = say(
                "{without} in {template}{and_recreate}",
                without=_WITHOUT[rule],
                template=template_of(next_steps.owners_of(search.members)),
                and_recreate=and_recreate(len(search.pods)),
            )
            yield WayOut("relax-rule", message, edits=edits)


_WITHOUT: Mapping[OwnRule, str] = {
    "host-ports": say("Take no host ports"),
    "pod-anti-affinity": say("Prefer to be apart instead of requiring it (podAntiAffinity)"),
    "topology-spread": say("Use whenUnsatisfiable ScheduleAnyway for topologySpreadConstraints"),
}


def fewer_pods(search: Search) -> Iterator[WayOut]:
    """Yield the largest number of pods with which a gang would start; of several gangs, their minimums only."""
    subject = search.simulation.subject
    if isinstance(subject, PodSubject) or len(subject.gangs) != 1 or subject.group.is_satisfied():
        yield from (way for way in next_steps.without(search.simulation) if search.works(way.edits))
        return
    (gang,) = subject.group.members

    def works(number: int) -> bool:
        edits = shrunk(gang, number, drops=search.first.plan is not None)
        return bool(edits) and search.works(edits)

    most = _most_pods(search, gang)
    in_turn = range(most, max(0, most - _MOST_SIZES), -1) if search.simulation.multiples else range(0)
    number = next((size for size in in_turn if works(size)), 0) or largest_from_above(most - len(in_turn), works)
    if number:
        yield _fewer(gang, number, shrunk(gang, number, drops=search.first.plan is not None))
    elif search.simulation.multiples and len(in_turn) < most:
        search.left_out.add("fewer-pods")


def _most_pods(search: Search, gang: Gang) -> int:
    """Return the largest number of pods to try: those for which there is room, if fewer than are asked for now."""
    plan = search.first.plan
    if plan is not None:
        return min(plan.best[0], len(gang.pending) - 1)
    return min(placed_members(search.first), len(gang.pending) - 1, (gang.minimum or 0) - _counted(gang) - 1)


def _counted(gang: Gang) -> int:
    """Return how many pods count for the minimum that have a node already."""
    return gang.bound if gang.match_policy == "waiting-and-running" else 0


def shrunk(gang: Gang, number: int, *, drops: bool) -> tuple[Edit, ...]:
    """Return the edits that leave so many pending pods; where none are dropped, the others wait."""
    edits: list[Edit] = []
    if drops:
        edits += [DeletePod(pod.key) for pod in in_index_order(gang.pending)[number:]]
    minimum = gang.minimum or 0
    counted = _counted(gang)
    if minimum > number + counted:
        edits.append(SetMinimum(gang.key, gang.defined_by, number + counted))
    return tuple(edits)


def _fewer(gang: Gang, number: int, edits: tuple[Edit, ...]) -> WayOut:
    dropped = {edit.pod for edit in edits if isinstance(edit, DeletePod)}
    gone = [pod for pod in gang.pending if pod.key in dropped]
    minimums = [edit.minimum for edit in edits if isinstance(edit, SetMinimum)]
    fields = [_minimum(gang, minimum) for minimum in minimums]
    if gone:
        fields += next_steps.dropped(gone)
        return WayOut("fewer-pods", _run_with(number, len(gang.pending), fields), edits=edits)
    message = _start_with(number, len(gang.pending), fields)
    command = _lowered(gang, *minimums) if gang.defined_by == "PodGroup" else ""
    return WayOut("fewer-pods", message, command, edits)


def _start_with(pods: int, instead_of: int, how: Sequence[str]) -> str:
    """Return to start with fewer pods while the others wait, and which fields say so."""
    start = say(
        "Start with {pods}{in_fields}; the others start when there is room",
        pods=count(pods, "pod"),
        in_fields=in_fields(how),
    )
    return start + _share_of_pods(pods, instead_of)


def _share_of_pods(pods: int, instead_of: int) -> str:
    """Return what it means to run with less than half of the pods, to follow a sentence; else nothing."""
    if pods * 2 >= instead_of:
        return ""
    few = say("that is {percent} of its pods", percent=_percent(pods, instead_of))
    return say("; {few}: the job takes longer accordingly, if it can run with so few at all", few=few)


def _percent(part: int, whole: int) -> str:
    return f"{part * 100 // whole} %"


def _run_with(pods: int, instead_of: int, how: Sequence[str]) -> str:
    return say(
        "Run with {pods} instead of {instead_of}{in_fields}{share_of_pods}",
        pods=count(pods, "pod"),
        instead_of=instead_of,
        in_fields=in_fields(how),
        share_of_pods=_share_of_pods(pods, instead_of),
    )


def _minimum(gang: Gang, minimum: int) -> str:
    if gang.defined_by == "PodGroup":
        return say("minMember {minimum}", minimum=minimum)
    return say(
        "min-available {minimum} in {template}",
        minimum=minimum,
        template=template_of(next_steps.owners_of(gang.pending)),
    )


def _lowered(gang: Gang, minimum: int) -> str:
    return patch_pod_group(gang.key, json.dumps({"spec": {"minMember": minimum}}))


def smaller_request(search: Search) -> Iterator[WayOut]:
    """Yield, for each resource that is short, the largest request with which it would start, if no tiny one.

    The same of each that makes the pods exceed a threshold of load, which their limits count for, too.
    """
    reasons = [one.reason for one in search.first.refused]
    short = {resource for one in reasons if isinstance(one, Insufficient) for resource, _, _ in one.short}
    loaded = _loading(search.members, {one.resource for one in reasons if isinstance(one, Overloaded)})
    for resource in sorted(short | loaded, key=lambda name: (not objects.family(name), name != "cpu", name)):
        ways = (
            _smaller(search, resource, is_short=is_short, limits=limits)
            for is_short, limits in ((True, False), (False, _are_limited(search.members, resource)))
            if resource in (short if is_short else loaded)
        )
        yield from islice(chain.from_iterable(ways), 1)


def _loading(pods: Iterable[PendingPod], measured: Collection[str]) -> set[str]:
    """Return the resources that pods request, and from which their use of the measured ones is estimated."""
    every = chain.from_iterable(pod.requirements.expected for pod in pods)
    return {one.requested for one in every if one.resource in measured and one.amount}


def _are_limited(pods: Iterable[PendingPod], resource: str) -> bool:
    return any(one.limit and one.requested == resource for pod in pods for one in pod.requirements.expected)


def _smaller(search: Search, resource: str, *, is_short: bool, limits: bool) -> Iterator[WayOut]:
    """Yield to request less of a resource, and to limit pods to as much, if that is no tiny share."""
    now = max(asked(pod, resource, limits=limits) for pod in search.members)
    find = _largest_request if is_short else _largest_estimated
    found = find(search, resource, now, limits=limits)
    if found * _LEAST_SHARE >= now:
        message = _smaller_request(resource, found, now, limits=limits)
        yield WayOut("smaller-request", message, edits=(_capped(search, resource, found, limits=limits),))


def _smaller_request(resource: str, amount: int, before: int, *, limits: bool) -> str:
    """Return to request less of a resource, and to limit pods to as much where their `limits` count."""
    less, more = f"{amount_of(resource, amount)} {resource_name(resource)}", amount_of(resource, before)
    little = ""
    if amount * 2 < before:
        little = say(
            "; that is {percent} of it: only for a program that can do with so little", percent=_percent(amount, before)
        )
    elif objects.family(resource) and before % amount:
        little = say("; only for a program that divides its work by {amount}", amount=amount_of(resource, amount))
    if limits:
        fields = say("resources.limits and requests in the pod template")
        return say(
            "Limit each pod to {less} instead of {more} ({fields}){little}",
            less=less,
            more=more,
            fields=fields,
            little=little,
        )
    return say(
        "Request {less} per pod instead of {more} (resources.requests in the pod template){little}",
        less=less,
        more=more,
        little=little,
    )


def _capped(search: Search, resource: str, most: int, *, limits: bool) -> SetRequest:
    pods = search.simulation.subject.pending
    touched = tuple(pod.key for pod in pods if asked(pod, resource, limits=limits) > most)
    return SetRequest(touched, resource, values.spell(resource, most), limits)


def _step(now: int) -> int:
    return _MEBI if now % _MEBI == 0 and now > _MEBI else 1


def _largest_request(search: Search, resource: str, now: int, *, limits: bool) -> int:
    """Return the largest request that works: bytes in whole MiB; 0 for none.

    First by division of what is free, as slots are counted; the engine has the last word, and where it
    refuses, as with pods of several kinds, it is asked for each step.
    """
    step = _step(now)
    top = now // step - 1

    def fits(number: int) -> bool:
        return search.works((_capped(search, resource, number * step, limits=limits),))

    can_divide = search.budget.take(len(search.view.names()) // _NODES_A_STEP)
    guess = 0 if not can_divide else min(_divided(search, resource, now) // step, top)
    if guess > 0 and fits(guess) and (guess == top or not fits(guess + 1)):
        return guess * step
    return largest(top, fits) * step


def _largest_estimated(search: Search, resource: str, now: int, *, limits: bool) -> int:
    """Return the largest request that fits where load refuses: the engine is asked for each step but the smallest."""
    step = _step(now)
    least = -(-now // (_LEAST_SHARE * step))

    def fits(number: int) -> bool:
        return search.works((_capped(search, resource, number * step, limits=limits),))

    if least * step >= now or not fits(least):
        return 0
    return (least + largest(now // step - 1 - least, lambda more: fits(least + more))) * step


def _divided(search: Search, resource: str, now: int) -> int:
    """Return the largest request by which what is free holds enough pods, by division alone."""
    pods, view = search.simulation.subject.pending, search.view
    spared = structs.replace(search.first.prepared.trigger, requirements=asking(pods[0], resource, 0).requirements)
    without = in_index_order(asking(pod, resource, 0) for pod in pods)
    having = tuple(_having(view, resource))
    limits = evidence.slots_among(view, having, without, search.first.prepared.alone(spared))
    free = {name: view.state(name).free[resource] for name in having if limits[name]}
    best = 0
    slot_count = search.slot_counts[0]
    for short in slot_count.shorts():
        nodes = [(limits[name], free[name]) for name in short.nodes if name in free]
        wanted = len(pods) if short.domain is not None else slot_count.wanted

        def holds(each: int, nodes: Sequence[tuple[int, int]] = nodes, wanted: int = wanted) -> bool:
            return sum(min(limit, room // each) for limit, room in nodes) >= wanted

        best = max(best, largest(now - 1, holds))
    return best


def _having(view: View, resource: str) -> Iterator[str]:
    """Yield the nodes with some of a resource free, and a place for a pod there, be it reserved."""
    reserved = at_least(view, reserved_nodes(view), 1, FREE, resource)
    yield from members(view, with_room(view, every_node(view), ((resource, 1),)) | reserved)
