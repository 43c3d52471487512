"""Ways out of being pending: single changes, or pairs where none is enough, each because the engine then says yes."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import TypeAlias

from msgspec import Struct

from kubectl_koord.diagnosis import coverage, evidence
from kubectl_koord.engine.rounds import Outcome
from kubectl_koord.language import say
from kubectl_koord.remedies import cluster, gang, pods, quotas
from kubectl_koord.remedies.running_pods import Loss, loss
from kubectl_koord.remedies.search import Change, Search, SearchBudget, is_placed
from kubectl_koord.reports.common import Edit, Uncordon, WayOut
from kubectl_koord.simulation.simulation import Simulation
from kubectl_koord.simulation.what_if import changed, deleted
from kubectl_koord.wording.facts import help_depends_on, in_turn
from kubectl_koord.wording.words import SEMICOLON, listed

_Family: TypeAlias = Callable[[Search], Iterator[WayOut]]
_FAMILIES: tuple[_Family, ...] = (
    cluster.wait_for_terminating,
    quotas.wait_for_revoking,
    cluster.supply,
    cluster.label_nodes,
    cluster.name_labels,
    cluster.uncordon,
    cluster.mend_nodes,
    cluster.raise_thresholds,
    cluster.tolerate,
    gang.select_nodes,
    gang.relax_rules,
    quotas.raise_quota,
    quotas.other_quota,
    gang.other_layer,
    gang.smaller_multiple,
    gang.smaller_request,
    cluster.wait_for_preemption,
    cluster.release,
    pods.move_one,
    pods.free_lower,
    quotas.free_quota,
    cluster.label_where_they_stand,
    cluster.add_nodes,
    gang.fewer_pods,
    pods.free_any,
)
"""In the order of what people lose, so that what is cut off is the dearest; what is found is sorted by it again."""
_OF_QUOTAS = (
    cluster.wait_for_terminating,
    quotas.wait_for_revoking,
    quotas.raise_quota,
    quotas.other_quota,
    gang.smaller_request,
    cluster.wait_for_preemption,
    quotas.free_quota,
    cluster.add_nodes,
    gang.fewer_pods,
)
"""Those that may open a quota: room on nodes does not."""
_LONG: Mapping[_Family, Change] = {
    cluster.wait_for_preemption: "preemption",
    cluster.release: "release-reservation",
    pods.move_one: "move-pod",
    pods.free_lower: "free-pods",
    quotas.free_quota: "free-pods",
    cluster.add_nodes: "add-nodes",
    gang.fewer_pods: "fewer-pods",
    pods.free_any: "free-pods",
}
"""Those that look for candidates all over the cluster, or change all of it, or cost much, and what they find."""
_ENOUGH = 3
"""Where the budget is tight, and so many are found that cost no running pod, nothing dearer is looked for."""
_SHARE, _SHARE_WHERE_TIGHT = 2, 4
"""A family takes no more than one step in so many of those that are left; more nodes, and a pair, as if not tight."""

_Half: TypeAlias = tuple[int, WayOut]


class Found(Struct, frozen=True):
    """The ways out, cheapest first, and where there is none: why; else what was not looked at to the end."""

    ways: tuple[WayOut, ...]
    why_none: str = ""
    not_tried: str = ""


def proven(simulation: Simulation, failed: Outcome, *, never_fits: bool = False, waits: bool = False) -> Found:
    """Return the single changes after which the subject would be placed; the best pair where there is none.

    Where the subject `never_fits`, as it seems not even in an empty cluster, what only makes room in this one is passed
    over where there is too little time to look for everything. Where it `waits` for its victims, and these are enough,
    that is the only way: the scheduler takes it by itself.
    """
    unevaluated = coverage.not_evaluated(simulation.subject, simulation.snapshot)
    if unevaluated:
        return Found((), help_depends_on(unevaluated))
    if not simulation.view.names():
        return Found((), say("there are no nodes."))
    search = Search(simulation, failed, SearchBudget(simulation), never_fits=never_fits)
    ways = (_of_family(search, cluster.wait_for_terminating) if waits else ()) or _found(search)
    if ways:
        return Found(
            tuple(sorted(ways, key=partial(loss, simulation))),
            not_tried=not_tried(search.untried - {"pairs"}),
        )
    quotas_alone = "raise-quota" not in search.untried and quotas.may_pass(search)
    tried, untried = search.tried - search.untried, search.untried
    counted = search.counted - tried - untried
    return Found((), none_found(tried, untried, quotas_alone=quotas_alone, counted=counted))


def not_tried(untried: Collection[Change]) -> str:
    """Return which changes the search had no steps left for, in a sentence; empty where there are none."""
    return say("{ended}.", ended=_ended(untried)) if untried else ""


def _ended(untried: Collection[Change]) -> str:
    return say("the search ended before it had fully tried {named}", named=_named(untried)) if untried else ""


_CHANGES: dict[Change, str] = {
    "wait": say("waiting for terminating pods"),
    "preemption": say("waiting for preemption"),
    "revoking": say("waiting for the over-use controller"),
    "label-nodes": say("labels for nodes outside the tree"),
    "other-layers": say("layers of the labels that nodes have"),
    "uncordon": say("uncordoning nodes"),
    "mend-node": say("nodes that are not ready"),
    "raise-threshold": say("higher thresholds of load"),
    "tolerate": say("tolerating taints"),
    "select-nodes": say("labels of nodes that may be meant"),
    "relax-rule": say("doing without host ports or rules that keep pods apart"),
    "topology": say("another topology spec"),
    "fewer-pods": say("fewer pods"),
    "smaller-request": say("smaller requests"),
    "other-quota": say("other quotas"),
    "raise-quota": say("higher limits of its quotas"),
    "release-reservation": say("deleting reservations"),
    "supply-claims": say("claims that any node can serve"),
    "free-pods": say("evicting pods"),
    "move-pod": say("moving pods"),
    "add-nodes": say("more nodes like those there are"),
    "pairs": say("pairs of changes"),
}


def _named(changes: Collection[Change]) -> str:
    return listed([words for change, words in _CHANGES.items() if change in changes])


def none_found(
    tried: Collection[Change], untried: Collection[Change], *, quotas_alone: bool, counted: Collection[Change] = ()
) -> str:
    """Return that nothing is known to let it start, and what was tried.

    Args:
        tried: the changes that do not.
        untried: those that may, as the search ended before all of them were tried.
        quotas_alone: whether the quotas could be made to let it pass, and nodes still have no place for it.
        counted: the changes of which none was tried, as counting slots tells that they do not help.
    """
    if not tried and not counted and not untried:
        return say("there is nothing in its way that a change of the cluster or of its pods would remove.")
    pairs = say(", alone or in pairs") if "pairs" in tried else ""
    alone = [change for change in tried if change != "pairs"]
    parts = (
        say("none of the changes tried lets it start{pairs}: {named}", pairs=pairs, named=_named(alone))
        if alone
        else "",
        say("by counting slots, these would not help: {named}", named=_named(counted)) if counted else "",
        say("higher limits alone would let it pass its quotas, but nodes have no place for it then")
        if quotas_alone
        else "",
        _ended(untried),
    )
    return say("{filter}.", filter=SEMICOLON.join(filter(None, parts)))


def _found(search: Search) -> tuple[WayOut, ...]:
    """Return the ways out; where there is too little time to look for all, what is found soon goes first."""
    found = {family: _of_family(search, family) for family in _quick(search)}
    is_tight = search.budget.is_tight
    if is_tight and not any(found.values()) and (pair := tuple(_pair(search, _opening(search)))):
        return pair
    families = _families(search)
    for family in (one for one in families if one not in found):
        if is_tight and _are_enough(search, found) and family is not cluster.wait_for_preemption:
            search.untried.add(_LONG[family])
            found[family] = ()
        else:
            found[family] = _of_family(search, family)
    ways = tuple(way for family in families for way in found[family])
    return ways or tuple(_pair(search, _halves(search) if is_tight else chain(_opening(search), _halves(search))))


def _of_family(search: Search, family: _Family) -> tuple[WayOut, ...]:
    """Return the ways out of a family, which leaves most steps to those that come after it."""
    search.budget.keep(_SHARE_WHERE_TIGHT if search.budget.is_tight and family is not cluster.add_nodes else _SHARE)
    search.left_out.clear()
    ways = tuple(family(search))
    if not ways:
        search.untried |= search.left_out | (search.counted if search.counts_few else set())
    return ways


def _are_enough(search: Search, found: Mapping[_Family, tuple[WayOut, ...]]) -> bool:
    """Tell whether a few ways out are found by which nobody loses more than by waiting."""
    every = (way for ways in found.values() for way in ways)
    return sum(loss(search.simulation, way)[0] <= Loss.WAIT for way in every) >= _ENOUGH


def _families(search: Search) -> Sequence[_Family]:
    """Return the families that may help: where quotas refuse the subject, those alone that may change that."""
    return _OF_QUOTAS if quotas.refuse(search) else _FAMILIES


def _quick(search: Search) -> Sequence[_Family]:
    """Return the families that may help, without those that take long where there is little time."""
    families = _families(search)
    return [family for family in families if family not in _LONG] if search.budget.is_tight else families


def divided(simulation: Simulation, steps: Iterable[WayOut]) -> tuple[tuple[WayOut, ...], tuple[WayOut, ...]]:
    """Return the steps after which the engine says yes, and those that must be done but may not be enough."""
    steps = tuple(steps)
    subject, snapshot = simulation.subject, simulation.snapshot
    if coverage.not_evaluated(subject, snapshot) or coverage.unread_for(subject, snapshot):
        return (), steps
    budget = SearchBudget(simulation)
    proven = tuple(step for step in steps if step.edits and is_placed(changed(simulation, step.edits), budget))
    return proven, tuple(step for step in steps if step not in proven)


def _pair(search: Search, halves: Iterable[_Half]) -> Iterator[WayOut]:
    """Yield the cheapest pair: a change that is not enough alone, and the first that is enough after it."""
    found: list[tuple[Loss, int, int, WayOut, WayOut]] = []
    for rank, half in halves:
        search.budget.keep(_SHARE)
        after = search.outcome_after(half.edits)
        if after is None:
            continue
        beyond = search.beyond(half.edits, after)
        ranked = ((_rank(family), way) for family in _quick(beyond) for way in family(beyond))
        for at, way in ranked:
            lost = max(loss(search.simulation, half), loss(beyond.simulation, way))[0]
            found.append((lost, rank + at, rank, half, way))
            if lost < Loss.MUCH_LESS:
                break
        (search.untried if beyond.untried or beyond.left_out else search.tried).add("pairs")
    search.budget.keep(1)
    for *_, half, way in sorted(found, key=lambda item: item[:3])[:1]:
        yield _joined(_trimmed(search, half, way), way)


def _opening(search: Search) -> Iterator[_Half]:
    """Yield changes to begin a pair with without which no node is asked, and their rank among the families."""
    for way in quotas.raising(search):
        yield _rank(quotas.raise_quota), way
    for way in cluster.supplying(search) if not quotas.refuse(search) else ():
        yield _rank(cluster.supply), way


def _halves(search: Search) -> Iterator[_Half]:
    """Yield the other changes to begin a pair with."""
    view = search.simulation.view
    terminating, cordoned = cluster.leaving(view), evidence.cordoned(view)
    if terminating:
        yield (
            _rank(cluster.wait_for_terminating),
            WayOut("wait-for-terminating", say("Wait for the terminating pods"), edits=deleted(terminating)),
        )
    if cordoned:
        yield _rank(cluster.uncordon), cluster.uncordoning([Uncordon(node.name) for node in cordoned])
    if quotas.refuse(search):
        return
    for way in cluster.tolerating(search):
        yield _rank(cluster.tolerate), way
    for way in gang.other_layers(search):
        yield _rank(gang.other_layer), way
    for layer, multiple in search.simulation.multiples.items():
        yield _rank(gang.smaller_multiple), gang.lower_multiple(search.simulation, layer, multiple, 1)


def _rank(family: _Family) -> int:
    return _FAMILIES.index(family)


def _trimmed(search: Search, half: WayOut, way: WayOut) -> WayOut:
    """Return the first half with no more nodes uncordoned than the pair needs."""
    kept = list(half.edits)
    for edit in half.edits:
        rest = [other for other in kept if other != edit]
        if isinstance(edit, Uncordon) and rest and search.works((*rest, *way.edits)):
            kept = rest
    return cluster.uncordoning(kept) if half.action == "uncordon" else half


def _joined(one: WayOut, other: WayOut) -> WayOut:
    both = [way.command for way in (one, other)]
    edits: tuple[Edit, ...] = (*one.edits, *other.edits)
    command = in_turn(both) if all(both) else ""
    message = say(
        "{message}, and {message2}{message3}",
        message=one.message,
        message2=other.message[0].lower(),
        message3=other.message[1:],
    )
    freed, broken = (*one.freed, *other.freed), (*one.broken_gangs, *other.broken_gangs)
    return WayOut("pair", message, command, edits, freed, broken, (*one.released, *other.released))
