"""Remedies for a quota that refuses: higher limits, room that others borrow, another quota."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, islice
from typing import Literal, TypeAlias

from msgspec import Struct, structs

from kubectl_koord.diagnosis import disruption, obstacles
from kubectl_koord.engine.quota import state as trials
from kubectl_koord.engine.quota.state import QuotaState, is_on, over_used, quota_state, revoked
from kubectl_koord.engine.quota.tree import add, exceeding, plus
from kubectl_koord.engine.quota.usage import counted, is_fixed, requested, running_in, together
from kubectl_koord.engine.reasons import QuotaExceeded
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.state import Occupant
from kubectl_koord.language import say
from kubectl_koord.model import values
from kubectl_koord.model.pods import PendingPod, RunningPod
from kubectl_koord.model.quotas import BUILT_IN, NAME_LABEL, ROOT, Quota
from kubectl_koord.remedies import next_steps
from kubectl_koord.remedies.running_pods import PodCosts, eviction, harmed
from kubectl_koord.remedies.search import Search
from kubectl_koord.reports.common import SetQuota, UseQuota, WayOut
from kubectl_koord.simulation.what_if import counting_in, deleted
from kubectl_koord.wording.facts import and_recreate, eviction_effects, in_turn, name_and_namespace, template_of
from kubectl_koord.wording.words import amounts, amounts_of, count, listed, paste, resource_name

Field: TypeAlias = Literal["min", "max"]
_Place: TypeAlias = tuple[str, Field, str]
"""A limit: of which quota, its minimum or maximum, and of which resource."""
_Amounts: TypeAlias = Mapping[_Place, int]

_MOST_CHECKS = 120


class RaisedLimit(Struct, frozen=True):
    """One limit to raise, and what it is now."""

    edit: SetQuota
    before: int

    @staticmethod
    def patches(found: Sequence["RaisedLimit"]) -> Iterator[tuple[str, str]]:
        """Yield for each quota, by `namespace/name`, the patch of its spec; what is above goes first."""
        by_quota: dict[str, dict[str, dict[str, str]]] = {}
        for one in found:
            edit = one.edit
            by_quota.setdefault(edit.quota, {}).setdefault(edit.field, {})[edit.resource] = edit.amount
        yield from ((key, json.dumps({"spec": spec})) for key, spec in by_quota.items())


def least(
    state: QuotaState, pods: Sequence[PendingPod], passes: Callable[[QuotaState], bool]
) -> tuple[RaisedLimit, ...]:
    """Return the least limits with which the pods pass, those of parents first; none where none are enough.

    Args:
        state: the quotas as they are.
        pods: those that are to pass, one after the other.
        passes: tells whether they do in another state.
    """
    levels = _Levels(state, pods, passes)
    found = levels.maximums() or levels.minimums()
    order = {quota.name: position for position, quota in enumerate(levels.top_down)}
    ranked = sorted(found.items(), key=lambda item: (order[item[0][0]], item[0][1:]))
    return tuple(
        RaisedLimit(
            SetQuota(levels.quotas[name].key, field, resource, values.spell(resource, amount)),
            _limits(levels.quotas[name], field).get(resource, 0),
        )
        for (name, field, resource), amount in ranked
    )


def _limits(quota: Quota, field: Field) -> dict[str, int]:
    return dict(quota.min if field == "min" else quota.max)


class _Levels:
    """The quotas of pods and all above them, from the top down, and what the pods ask of each."""

    def __init__(self, state: QuotaState, pods: Sequence[PendingPod], passes: Callable[[QuotaState], bool]) -> None:
        self._state = state
        self._passes = passes
        self._checks = _MOST_CHECKS
        tree = state.tree
        self.asked: dict[str, dict[str, int]] = {}
        self.fixed: dict[str, dict[str, int]] = {}
        self.quotas: dict[str, Quota] = {}
        self.own = tuple(dict.fromkeys(name for pod in pods if (name := tree.name_of(pod))))
        depths: dict[str, int] = {}
        written = {quota.name for quota in tree.written}
        for pod in pods:
            name = tree.name_of(pod)
            asked = requested(pod, name, tree) if name else {}
            chain = tree.chain(name) if name else ()
            for depth, quota in [(at, one) for at, one in enumerate(reversed(chain)) if one.name in written]:
                self.quotas[quota.name], depths[quota.name] = quota, depth
                add(self.asked.setdefault(quota.name, {}), asked.items())
                if is_fixed(pod) and quota.name == name:
                    add(self.fixed.setdefault(name, {}), asked.items())
        self.top_down = sorted(self.quotas.values(), key=lambda quota: (depths[quota.name], quota.name))

    def maximums(self) -> dict[_Place, int]:
        """Return the least maximums that are enough, none where whatever maximum is not."""
        lows: dict[_Place, int] = {
            (quota.name, "max", resource): low
            for quota in self.top_down
            for resource, most in quota.max
            if (low := self._needed(quota.name).get(resource, 0)) > most
        }
        if self.holds(lows):
            found = self._without_needless(lows)
            return {**found, **{place: self._least(found, place) for place in found}}
        highs: dict[_Place, int] = {
            (quota.name, "max", resource): max(most, self._useful(quota.name, resource))
            for quota in self.top_down
            for resource, most in quota.max
            if resource in self.asked[quota.name]
        }
        if not self.holds(highs):
            return {}
        found = self._without_needless(highs)
        for place in tuple(found):
            found[place] = self._least(found, place)
        return self._without_needless(found)

    def minimums(self) -> dict[_Place, int]:
        """Return the least that must be guaranteed, to the pods' own quotas and to those above, none where nothing is.

        No minimum may be above its maximum, nor the sum of those below a quota above its own (but of the root quota).
        """
        found: dict[_Place, int] = {}
        for name in [one for one in self.own if one in self.quotas and one not in BUILT_IN]:
            kept = dict(self.quotas[name].min)
            is_capped = dict(self.quotas[name].max)
            wanted = plus(self._state.fixed(name), self.fixed[name]) if name in self.fixed else {}
            needed, counted = self._needed(name), plus(self.asked[name], self._state.used(name))
            least = {resource: max(needed.get(resource, 0), wanted.get(resource, 0)) for resource in is_capped}
            found |= {
                (name, "min", resource): amount
                for resource, amount in least.items()
                if amount > kept.get(resource, 0) and resource in counted
            }
        return self._lessened(found) if found and self.holds(self._allowed(found)) else {}

    def _lessened(self, found: dict[_Place, int]) -> dict[_Place, int]:
        """Return the least of minimums that are enough."""
        for place in tuple(found):
            rest = {other: amount for other, amount in found.items() if other != place}
            found = rest if rest and self.holds(self._allowed(rest)) else found
        for place in tuple(found):
            found[place] = self._least(found, place, self._allowed)
        return self._allowed(found)

    def _allowed(self, minimums: _Amounts) -> dict[_Place, int]:
        """Return minimums with what else must be raised, so that the webhook for quotas lets them in."""
        found: dict[_Place, int] = dict(minimums)
        tree = self._state.tree
        for quota in reversed(self.top_down):
            for resource, now in quota.min:
                found.setdefault((quota.name, "min", resource), now)
            for (name, field, resource), amount in tuple(found.items()):
                if name != quota.name or field != "min":
                    continue
                if amount > dict(quota.max).get(resource, amount):
                    found[name, "max", resource] = amount
                if quota.parent != ROOT and quota.parent in self.quotas:
                    siblings = tree.children[tree.tree_of(quota), quota.parent]
                    total = sum(
                        found.get((one.name, "min", resource), dict(one.min).get(resource, 0)) for one in siblings
                    )
                    above = dict(self.quotas[quota.parent].min).get(resource, 0)
                    place: _Place = (quota.parent, "min", resource)
                    found[place] = max(found.get(place, above), total)
        return {place: amount for place, amount in found.items() if amount > self._now(place)}

    def _needed(self, name: str) -> dict[str, int]:
        return plus(self._state.used(name), self.asked[name])

    def _useful(self, name: str, resource: str) -> int:
        """Return a maximum beyond which none changes anything: all that is requested below, whatever is capped."""
        tree, total, names = self._state.tree, 0, [name]
        for one in names:  # which grows
            sums = self._state.own.get(one)
            total += sums.request.get(resource, 0) if sums is not None else 0
            below = tree.children.get((tree.tree_of(tree.quotas[one]), one), ())
            total += dict(tree.quotas[one].min).get(resource, 0)
            names.extend(child.name for child in below)
        return max(total, self._needed(name).get(resource, 0))

    def _now(self, place: _Place) -> int:
        name, field, resource = place
        return _limits(self.quotas[name], field).get(resource, 0)

    def _without_needless(self, limits: _Amounts) -> dict[_Place, int]:
        """Leave out every limit without which the pods pass as well, those of parents first."""
        kept = dict(limits)
        for place in limits:
            rest = {other: amount for other, amount in kept.items() if other != place}
            if rest and self.holds(rest):
                kept = rest
        return kept

    def _least(self, limits: _Amounts, place: _Place, allowed: Callable[[_Amounts], _Amounts] = dict) -> int:
        """Return the least amount of one limit with which the pods pass, the others as they are."""
        low, high = self._now(place), limits[place]
        middle = high - 1
        while low + 1 < high and self._checks > 0:
            low, high = (low, middle) if self.holds(allowed({**limits, place: middle})) else (middle, high)
            middle = (low + high) // 2
        return high

    def holds(self, limits: _Amounts) -> bool:
        """Tell whether the pods pass with these limits; no where too much was asked already."""
        self._checks -= 1
        if not limits or self._checks < 0:
            return False
        changed: dict[str, Quota] = {}
        for (name, field, resource), amount in limits.items():
            quota = changed.get(name, self.quotas[name])
            own = _limits(quota, field) | {resource: amount}
            changed[name] = structs.replace(quota, **{field: tuple(sorted(own.items()))})
        for name, quota in changed.items():
            changed[name] = structs.replace(quota, weight=quota.max) if quota.weighs_max else quota
        tree = self._state.tree
        raised = tree.with_limits(tuple(changed.get(quota.name, quota) for quota in tree.written))
        return self._passes(self._state.with_limits(raised))


def raise_quota_text(changes: Iterable[tuple[SetQuota, int]]) -> str:
    """Return which limits of which quotas to raise, from what to what."""
    by_limit: dict[tuple[str, str], list[str]] = {}
    for edit, before in changes:
        after = values.amount(edit.resource, values.parse(edit.amount))
        named = say(
            "{resource_name} from {amounts}",
            resource_name=resource_name(edit.resource),
            amounts=say(" to ").join(amounts_of(edit.resource, before, after)),
        )
        by_limit.setdefault((edit.quota, edit.field), []).append(named)
    raised = [
        say("{field} of quota {bare} ({parts})", field=field, bare=_bare(key), parts=listed(parts))
        for (key, field), parts in by_limit.items()
    ]
    guaranteed = any(field == "min" for _, field in by_limit)
    return say("Raise {raised}", raised=listed(raised)) + (say("; others can borrow less then") if guaranteed else "")


def _bare(key: str) -> str:
    """Return the name of a quota, which alone tells it apart."""
    return key.rpartition("/")[2]


def other_quota_text(name: str, others: Sequence[str], owners: Sequence[str], pods: int) -> str:
    """Return the quota for so many pods to run in, and which others would do.

    The label counts from when a pod is created.
    """
    instead = say(" (or {others})", others=listed(others, "or")) if others else ""
    return say(
        "Run in quota {name}{instead}: set label {name_label} in {template}{and_recreate}",
        name=name,
        instead=instead,
        name_label=NAME_LABEL,
        template=template_of(owners),
        and_recreate=and_recreate(pods),
    )


def wait_for_revoking_text(quotas: Sequence[str], pods: Sequence[str], number: int, after: str) -> str:
    """Return that the over-use controller makes room by itself: in which quotas, by which of so many pods, and when."""
    named = [*pods, *([say("{number} more", number=number - len(pods))] if number > len(pods) else [])]
    over = (
        say("quota {quotas} has been above its", quotas=quotas[0])
        if len(quotas) == 1
        else say("quotas {quotas} were above their", quotas=listed(quotas))
    )
    return say(
        "Wait: the over-use controller evicts {named} once {over} runtime for {after}",
        named=listed(named),
        over=over,
        after=after,
    )


def free_quota_text(
    name: str, over: Sequence[tuple[str, int]], pods: Iterable[tuple[str, str, int]], *, is_own: bool
) -> str:
    """Return which pods of a quota to evict, and how much of what is short they use of it or borrow by it."""
    named = [
        say("{key} on {node} (priority {priority})", key=key, node=node, priority=priority)
        for key, node, priority in pods
    ]
    verb = "uses" if is_own else "borrows"
    return say(
        "Evict {pods} to free {amounts} that quota {name} {verb}: {named}",
        pods=count(len(named), "pod"),
        amounts=amounts(over),
        name=name,
        verb=verb,
        named=listed(named),
    )


def recreated(pods: int, owners: Sequence[str], taking_it: Sequence[str]) -> str:
    """Return who creates evicted pods anew, to follow a sentence; last those who must be scaled down before."""
    anew = "it" if pods == 1 else "pods"
    plain = (
        say("; {owners} {recreates} {anew}", owners=listed(owners), recreates=_recreates(owners), anew=anew)
        if owners
        else ""
    )
    them = "it" if len(taking_it) == 1 else "them"
    down = (
        say(
            "; {taking_it} {recreates} {anew}: scale {them} down",
            taking_it=listed(taking_it),
            recreates=_recreates(taking_it),
            anew=anew,
            them=them,
        )
        if taking_it
        else ""
    )
    return plain + down


def _recreates(owners: Sequence[str]) -> str:
    return "recreates" if len(owners) == 1 else "recreate"


_MOST_NAMED = 3
_MOST_TRIED = 12
_MOST_LENDERS = 8
_MOST_FREED = 200
_MOST_IN_COMMAND = 20
_PODS_A_STEP = 32


def raise_quota(search: Search) -> Iterator[WayOut]:
    """Yield by how much to raise limits of the quota and of those above it, where that is enough."""
    return (way for way in raising(search) if search.works(way.edits))


def raising(search: Search) -> Iterator[WayOut]:
    """Yield the least limits with which quotas let the subject pass, whether nodes have room for it or not.

    The maximums where they suffice; else what is guaranteed, which takes from those who borrow.
    """
    refused = _Refused.of(search)
    if refused is None:
        return
    found = refused.raised
    search.judged("raise-quota")
    if found:
        changes = [(one.edit, one.before) for one in found]
        command = in_turn(
            paste("kubectl", "patch", "elasticquota", *name_and_namespace(key), "--type", "merge", "-p", patch)
            for key, patch in RaisedLimit.patches(found)
        )
        yield WayOut("raise-quota", raise_quota_text(changes), command, tuple(one.edit for one in found))


def refuse(search: Search) -> bool:
    """Tell whether quotas refuse the subject, whatever room nodes have."""
    return _Refused.of(search) is not None


def may_pass(search: Search) -> bool:
    """Tell whether quotas refuse the subject and could be made to let it pass, so that nodes are what remains."""
    return next(raising(search), None) is not None


class _Refused:
    """Members of which quotas refuse some, and the state of the quotas in which they are tried."""

    def __init__(self, search: Search, state: QuotaState, refusal: QuotaExceeded) -> None:
        self.search = search
        self.state = state
        self.refusal = refusal
        self.pods = obstacles.tried(search.simulation)
        self._using: dict[str, Sequence[RunningPod]] = {}

    @classmethod
    def of(cls, search: Search) -> "_Refused | None":
        """Return them; None where quotas refuse nobody."""
        return search.kept(cls, lambda: cls._of(search))

    @classmethod
    def _of(cls, search: Search) -> "_Refused | None":
        simulation = search.simulation
        refusal = obstacles.exceeded(simulation, search.view)
        if refusal is None:
            return None
        snapshot = simulation.snapshot
        return cls(search, quota_state(search.view, rules(snapshot.config.version), snapshot.pending), refusal)

    def passes(self, state: QuotaState) -> bool:
        """Tell whether enough members pass in another state of the quotas; no when too many were computed."""
        budget = self.search.budget
        budget.trials -= len(state.tree.quotas)
        return budget.trials >= 0 and obstacles.refusal(self.search.simulation, state, self.pods) is None

    @property
    def evict_after(self) -> str:
        """How long a quota must be above its runtime until the over-use controller evicts its pods."""
        return self.state.tree.settings.evict_after

    @cached_property
    def raised(self) -> tuple[RaisedLimit, ...]:
        """The least limits with which the members pass."""
        return least(self.state, self.pods, self.passes)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The quotas of the members."""
        return tuple(dict.fromkeys(self.state.tree.name_of(pod) for pod in self.pods))

    def using(self, name: str) -> Sequence[RunningPod]:
        """Return the running pods of a quota that use what is short, and could be ended for that."""
        if name not in self._using:
            view = self.search.view
            there = running_in((name,), view, self.state.tree).get(name, ())
            self._using[name] = [pod for pod in there if pod.node in view.names() and self._could_end(pod)]
        return self._using[name]

    @cached_property
    def is_used(self) -> bool:
        """Whether there is any such pod."""
        return any(isinstance(pod, RunningPod) and self._could_end(pod) for pod in self._on_nodes())

    @cached_property
    def lenders(self) -> Sequence[str]:
        """The other quotas that use more of what is short than is guaranteed to them: who borrows most nearby first."""
        state, tree = self.state, self.state.tree
        above = {quota.name for name in self.names if name for quota in tree.chain(name)}
        found = []
        for name in tree.quotas.keys() - set(self.names) - tree.faults.keys():
            guaranteed, used = state.minimum(name), state.used(name)
            borrowed = max(used.get(resource, 0) - guaranteed.get(resource, 0) for resource in self.refusal.over)
            if borrowed > 0:
                shared = sum(quota.name in above for quota in tree.chain(name))
                found.append((-shared, -borrowed, name))
        return [name for *_, name in sorted(found)]

    def _on_nodes(self) -> Iterator[Occupant]:
        view = self.search.view
        return chain.from_iterable(map(view.occupants, view.names()))

    def _could_end(self, pod: RunningPod) -> bool:
        return (
            any(resource in self.refusal.over for resource, _ in pod.requirements.requests)
            and pod.gang not in self.search.simulation.subject.gangs
            and not pod.terminating
            and not disruption.comes_back_there(pod)
        )


def wait_for_revoking(search: Search) -> Iterator[WayOut]:
    """Yield to wait, where the over-use controller evicts pods by itself, and the subject starts once they are gone."""
    refused = _Refused.of(search)
    if refused is None or not is_on(refused.state):
        return
    over = over_used(refused.state)
    running = running_in(over, search.view, refused.state.tree) if over else {}
    going = {name: revoked(refused.state, name, running.get(name, ())) for name in over}
    gone = [pod for pods in going.values() for pod in pods if pod.node in search.view.names()]
    edits = deleted(gone)
    if edits and search.works(edits, "revoking"):
        freed, broken = harmed(search, gone)
        names, pods = [name for name, pods in going.items() if pods], [pod.key for pod in gone[:_MOST_NAMED]]
        message = wait_for_revoking_text(names, pods, len(gone), refused.evict_after)
        message += eviction_effects(freed, broken)
        yield WayOut("wait-for-revoking", message, "", edits, freed, broken)


def free_quota(search: Search) -> Iterator[WayOut]:
    """Yield the fewest pods to end in the own quota, or of what another borrows beyond its minimum."""
    refused = _Refused.of(search)
    if refused is None:
        return
    if not refused.is_used or not search.may_help("free-pods"):
        return
    costs = PodCosts(search.simulation)
    found = [(name, pods) for name in _in_use(refused) if (pods := _freed(refused, name, costs))]
    search.judged("free-pods")
    found.sort(key=lambda item: (costs.together(item[1]), item[0]))
    yield from islice((_free(search, refused, name, pods) for name, pods in found), _MOST_NAMED)


def _in_use(refused: _Refused) -> Iterator[str]:
    """Yield the quotas whose pods use what the own quota may use, too: the own first."""
    yield from (name for name in refused.names if refused.using(name))
    lenders = (name for name in refused.lenders if refused.using(name))
    yield from refused.search.few(lenders, _MOST_LENDERS, "free-pods")


def _freed(refused: _Refused, name: str, costs: PodCosts) -> tuple[RunningPod, ...]:
    """Return the pods of a quota that are enough, as few as may be; none where all that it borrows are not."""
    over = refused.refusal.over

    def size(pod: RunningPod) -> int:
        return -sum(amount for resource, amount in pod.requirements.requests if resource in over)

    pods = refused.using(name)
    by_priority = sorted(pods, key=lambda pod: (costs.level(pod), pod.priority, size(pod), pod.key))
    by_size = sorted(pods, key=lambda pod: (costs.level(pod), size(pod), pod.priority, pod.key))
    found = [some for ranked in (by_priority, by_size) if (some := _fewest(refused, name, ranked))]
    works = (some for some in sorted(found, key=costs.together) if refused.search.works(deleted(some)))
    return next(works, ())


def _fewest(refused: _Refused, name: str, ranked: Sequence[RunningPod]) -> tuple[RunningPod, ...]:
    """Return the first so many of these pods that are enough, without those of them that are not needed."""
    few = refused.search.few(_borrowing(refused, name, ranked), _MOST_FREED, "free-pods")

    def passes(pods: Iterable[RunningPod]) -> bool:
        return refused.passes(trials.without(refused.state, pods))

    if not few or not passes(few):
        return ()
    low, high = 1, len(few)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if passes(few[:middle]) else (middle + 1, high)
    kept = few[:high]
    for pod in kept[:-1][:_MOST_TRIED]:
        rest = [other for other in kept if other is not pod]
        kept = rest if passes(rest) else kept
    return tuple(kept)


def _borrowing(refused: _Refused, name: str, ranked: Iterable[RunningPod]) -> Iterator[RunningPod]:
    """Yield pods as long as what is left is more than the quota's minimum; of the own quota all."""
    tree, over = refused.state.tree, refused.refusal.over
    guaranteed, left = refused.state.minimum(name), dict(refused.state.used(name))
    for pod in ranked:
        if name not in refused.names:
            if not any(left.get(resource, 0) > guaranteed.get(resource, 0) for resource in over):
                return
            for resource, amount in requested(pod, name, tree).items():
                left[resource] -= amount
        yield pod


def _free(search: Search, refused: _Refused, name: str, pods: Sequence[RunningPod]) -> WayOut:
    freed, broken = harmed(search, pods)
    ranked = sorted(pods, key=lambda pod: (pod.priority, pod.key))
    total = together(pod.requirements.requests for pod in pods)
    over = [item for item in sorted(total.items()) if item[0] in refused.refusal.over]
    own = name in refused.names
    message = free_quota_text(name, over, [(pod.key, pod.node, pod.priority) for pod in ranked], is_own=own)
    owners = {pod.owner for pod in pods if pod.owner}
    # What comes back requests again, and gets its share: of the own quota only what goes first.
    costs = PodCosts(search.simulation)
    takes_it = {pod.owner for pod in pods if pod.owner and (not own or costs.comes_back(pod))}
    message += recreated(len(pods), sorted(owners - takes_it), sorted(takes_it))
    message += eviction_effects(freed, broken)
    command = eviction(freed) if len(pods) <= _MOST_IN_COMMAND else ""
    return WayOut("free-quota", message, command, deleted(pods), freed, broken)


def other_quota(search: Search) -> Iterator[WayOut]:
    """Yield the quota of the same tree in which the pods would start, and which others would do as well."""
    refused = _Refused.of(search)
    if refused is None or len(refused.names) != 1 or not refused.names[0]:
        return
    if len(refused.state.tree.bottom_up) > 1:
        search.counted.add("other-quota")
    keys = search.pods
    rooms = (name for name in _with_room(refused) if _may_ask(search) and _holds(refused, name))
    names = list(islice((name for name in rooms if search.works((UseQuota(keys, name),))), _MOST_NAMED))
    if names:
        owners = next_steps.owners_of(search.members)
        message = other_quota_text(names[0], names[1:], owners, len(keys))
        yield WayOut("other-quota", message, "", (UseQuota(keys, names[0]),))


def _may_ask(search: Search) -> bool:
    """Take away what it takes to count all pods in another quota, and tell whether there was as much."""
    is_enough = search.budget.take(len(search.members) // _PODS_A_STEP)
    if not is_enough:
        search.untried.add("other-quota")
    return is_enough


def _holds(refused: _Refused, name: str) -> bool:
    waiting = [counting_in(pod, name) for pod in refused.pods]
    state = trials.counting_in(refused.state, refused.search.members, name)
    return obstacles.refusal(refused.search.simulation, state, waiting) is None


def _with_room(refused: _Refused) -> Iterator[str]:
    """Yield the quotas for pods whose maximum leaves room for the members, the siblings first, then the emptiest."""
    tree, (name,) = refused.state.tree, refused.names
    own = tree.quotas[name]
    over = refused.refusal.over
    all_ask = together(pod.requirements.requests for pod in refused.pods)
    found = []
    for other in tree.bottom_up.values():
        if not _takes_pods(refused.state, other) or other.name == name or tree.tree_of(other) != tree.tree_of(own):
            continue
        most, used = dict(other.max), refused.state.used(other.name)
        asked = counted(all_ask.items(), other.name, tree)
        if not exceeding(plus(used, asked), most):
            left = sum(most.get(resource, 0) - used.get(resource, 0) for resource in over)
            found.append((other.parent != own.parent, -left, other.name))
    yield from refused.search.few((name for *_, name in sorted(found)), _MOST_TRIED, "other-quota")


def _takes_pods(state: QuotaState, other: Quota) -> bool:
    """Tell whether pods may count against a quota: its webhook lets none into one that is a parent."""
    tree = state.tree
    if other.is_parent or other.name in BUILT_IN or other.name in tree.faults:
        return False
    return (tree.tree_of(other), other.name) not in tree.children
