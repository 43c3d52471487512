"""Remedies for a quota that refuses: higher limits, room that others borrow, another quota."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, islice

from kubectl_koord.diagnosis import disruption
from kubectl_koord.diagnosis.obstacles import quota
from kubectl_koord.engine.node_state import Occupant
from kubectl_koord.engine.quota import trials
from kubectl_koord.engine.quota.amounts import exceeding, plus
from kubectl_koord.engine.quota.counting import running_in
from kubectl_koord.engine.quota.revoking import is_on, over_used, revoked
from kubectl_koord.engine.quota.state import QuotaState, quota_state
from kubectl_koord.engine.quota.sums import counted, requested, together
from kubectl_koord.engine.reasons.prefilter import QuotaExceeded
from kubectl_koord.engine.rules import rules
from kubectl_koord.model.pods import RunningPod
from kubectl_koord.model.quotas import BUILT_IN, Quota
from kubectl_koord.remedies import next_steps
from kubectl_koord.remedies.costs import PodCosts
from kubectl_koord.remedies.running_pods import eviction, harmed
from kubectl_koord.remedies.search import Search
from kubectl_koord.remedies.ways.quota_limits import RaisedLimit, least
from kubectl_koord.reports.edits import UseQuota
from kubectl_koord.reports.ways_out import WayOut
from kubectl_koord.simulation.edits import counting_in, deleted
from kubectl_koord.wording.disruption import eviction_effects
from kubectl_koord.wording.remedies import commands
from kubectl_koord.wording.remedies import quotas as sentences

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
        command = commands.in_turn(commands.patch_quota(key, patch) for key, patch in RaisedLimit.patches(found))
        yield WayOut("raise-quota", sentences.raise_quota(changes), command, tuple(one.edit for one in found))


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
        self.pods = quota.tried(search.simulation)
        self._using: dict[str, Sequence[RunningPod]] = {}

    @classmethod
    def of(cls, search: Search) -> "_Refused | None":
        """Return them; None where quotas refuse nobody."""
        return search.kept(cls, lambda: cls._of(search))

    @classmethod
    def _of(cls, search: Search) -> "_Refused | None":
        simulation = search.simulation
        refusal = quota.exceeded(simulation, search.view)
        if refusal is None:
            return None
        snapshot = simulation.snapshot
        return cls(search, quota_state(search.view, rules(snapshot.config.version), snapshot.pending), refusal)

    def passes(self, state: QuotaState) -> bool:
        """Tell whether enough members pass in another state of the quotas; no when too many were computed."""
        budget = self.search.budget
        budget.trials -= len(state.tree.quotas)
        return budget.trials >= 0 and quota.refusal(self.search.simulation, state, self.pods) is None

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
        message = sentences.wait_for_revoking(names, pods, len(gone), refused.evict_after)
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
    yield from islice((name for name in refused.lenders if refused.using(name)), _MOST_LENDERS)


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
    few = list(islice(_borrowing(refused, name, ranked), _MOST_FREED))

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
    message = sentences.free_quota(name, over, [(pod.key, pod.node, pod.priority) for pod in ranked], is_own=own)
    owners = {pod.owner for pod in pods if pod.owner}
    # What comes back requests again, and gets its share: of the own quota only what goes first.
    costs = PodCosts(search.simulation)
    takes_it = {pod.owner for pod in pods if pod.owner and (not own or costs.comes_back(pod))}
    message += sentences.recreated(len(pods), sorted(owners - takes_it), sorted(takes_it))
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
        message = sentences.other_quota(names[0], names[1:], owners, len(keys))
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
    return quota.refusal(refused.search.simulation, state, waiting) is None


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
    yield from (name for *_, name in sorted(found)[:_MOST_TRIED])


def _takes_pods(state: QuotaState, other: Quota) -> bool:
    """Tell whether pods may count against a quota: its webhook lets none into one that is a parent."""
    tree = state.tree
    if other.is_parent or other.name in BUILT_IN or other.name in tree.faults:
        return False
    return (tree.tree_of(other), other.name) not in tree.children
