"""Which pods quotas refuse, as things are and once others are placed: lending, holding, revoking."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import Literal, TypeVar

from msgspec import Struct, structs

from kubectl_koord.engine.quota.runtimes import QuotaAmounts
from kubectl_koord.engine.quota.tree import Amounts, Changed, QuotaTree, exceeding, plus, quota_tree, quotas_of
from kubectl_koord.engine.quota.usage import (
    OwnSums,
    Pod,
    Sums,
    all_waiting,
    capacity,
    differing,
    is_fixed,
    on_nodes,
    requested,
    says_fixed,
    waiting,
    waiting_instead,
)
from kubectl_koord.engine.reasons import QuotaExceeded
from kubectl_koord.engine.rules import Rules
from kubectl_koord.engine.state import View
from kubectl_koord.model.pods import PendingPod, RunningPod
from kubectl_koord.model.quotas import BUILT_IN, ROOT, quota_labels
from kubectl_koord.model.values import Identity, recently

P = TypeVar("P", bound=Pod)

_NONE = Sums()
_MOST_STATES = 4
_MOST_AHEAD = 4  # pods of which the names are kept
_FEW = 32
"""Where more quotas than these have other sums, all is computed anew."""


class QuotaState(QuotaAmounts, frozen=True, dict=True):
    """The quotas as they are held against pods."""

    def limit(self, name: str) -> Amounts:
        """Return what pods of a quota are held against (`getQuotaInfoUsedLimit`)."""
        return self.runtime(name) if self.tree.settings.by_runtime else dict(self.tree.quotas[name].max)

    def refusal(self, pod: Pod) -> QuotaExceeded | None:
        """Return why the quota of a pod, or one above it, refuses the pod; None where none does.

        Mirrors `PreFilter` in elasticquota/plugin.go, and `checkQuotaRecursive`.
        """
        refused = self._refused(pod)
        return refused if refused is None or refused.kind != "runtime" else self._with_reasons(refused)

    def _with_reasons(self, refusal: QuotaExceeded) -> QuotaExceeded:
        """Return a refusal by the runtime with whether that is the maximum, and which minimums are scaled down."""
        quota, limit = self.tree.quotas[refusal.path[0]], dict(refusal.limit)
        most, kept = dict(quota.max), self.minimum(quota.name)
        return structs.replace(
            refusal,
            capped=tuple(one for one in refusal.over if limit[one] == most.get(one)),
            scaled=tuple(
                (one, least, kept.get(one, 0))
                for one, least in quota.min
                if one in refusal.over and kept.get(one, 0) < least
            ),
        )

    def _refused(self, pod: Pod) -> QuotaExceeded | None:
        """Return which quota refuses the pod, and by how much, without why its limit is that low."""
        labels = quota_labels(pod.labels)
        name = self.tree.name_by(labels, pod.namespace)
        if not name or self.tree.fault_of(pod) is not None:
            return None
        asked = requested(pod, name, self.tree)
        return (
            self._over_limit(pod, name, asked)
            or (self._over_minimum(pod, name, asked) if says_fixed(labels) else None)
            or self._above(pod, name, asked)
        )

    def _over_limit(self, pod: Pod, name: str, asked: Amounts) -> QuotaExceeded | None:
        used, limit = self.used(name), self.limit(name)
        over = exceeding(plus(used, asked), limit)
        return (
            QuotaExceeded(pod.key, (name,), self._kind, _pairs(limit), _pairs(used), _pairs(asked), over)
            if over
            else None
        )

    def _over_minimum(self, pod: Pod, name: str, asked: Amounts) -> QuotaExceeded | None:
        used, limit = self.fixed(name), dict(self.tree.quotas[name].min)
        over = exceeding(plus(used, asked), limit)
        return (
            QuotaExceeded(pod.key, (name,), "min", _pairs(limit), _pairs(used), _pairs(asked), over) if over else None
        )

    def _above(self, pod: Pod, name: str, asked: Amounts) -> QuotaExceeded | None:
        """Return the refusal of the nearest quota above that the pod would bring over its limit."""
        if not self.tree.settings.check_parents or name in BUILT_IN:
            return None
        chain = self.tree.chain(name)
        for position, quota in enumerate(chain[1:], 1):
            used, limit = self.used(quota.name), self.limit(quota.name)
            over = exceeding({resource: used.get(resource, 0) + amount for resource, amount in asked.items()}, limit)
            if over:
                path = tuple(one.name for one in reversed(chain[: position + 1]))
                return QuotaExceeded(pod.key, path, self._kind, _pairs(limit), _pairs(used), _pairs(asked), over)
        return None

    @property
    def _kind(self) -> Literal["runtime", "max"]:
        return "runtime" if self.tree.settings.by_runtime else "max"

    def first_refused(self, pods: Sequence[Pod]) -> tuple[int, QuotaExceeded] | None:
        """Return the first of these pods that a quota refuses once all before it are placed, by its position, and why.

        None where all of them pass.
        """
        in_turn = [*runs(pods)]
        names = {self.tree.name_of(run[0]) for run in in_turn}
        if not any(map(self.tree.limits, names)):
            return None
        state = self
        if len(names) == 1 and self.stand_alone:
            (name,) = names
            if self._holds(name, in_turn):
                return None
            state = self.alone(name)
        elif self._hold_in_the_end(in_turn):  # then none is refused on the way there
            return None
        position = 0
        for run in in_turn:
            fitting = state.fitting(run)
            if fitting < len(run):
                refusal = state.after(run[0], fitting).refusal(run[fitting])
                position += fitting
                return None if refusal is None else (position, self.behind(pods[:position], refusal))
            state, position = state.after(run[0], len(run)), position + len(run)
        return None

    def behind(self, ahead: Iterable[Pod], refusal: QuotaExceeded) -> QuotaExceeded:
        """Return a refusal once pods that wait were placed in this state, with who they are and what they take."""
        name = refusal.path[0]
        before = self.fixed(name) if refusal.kind == "min" else self.used(name)
        more = {resource: used - before.get(resource, 0) for resource, used in refusal.used if resource in refusal.over}
        taken = {resource: amount for resource, amount in more.items() if amount > 0}
        if not taken:
            return refusal
        counted = (pod.key for pod in ahead if self._counts(pod, refusal))
        return structs.replace(refusal, ahead=tuple(islice(counted, _MOST_AHEAD)), taken=_pairs(taken))

    def _counts(self, pod: Pod, refusal: QuotaExceeded) -> bool:
        """Tell whether a pod that is placed counts for a refusal, as one of the refusing quota or of one below it."""
        own, (name, *below) = self.tree.name_of(pod), refusal.path
        if refusal.kind == "min" and not is_fixed(pod):
            return False
        return own == name or bool(own and below and any(quota.name == name for quota in self._counting(own)))

    def _holds(self, name: str, in_turn: Sequence[Sequence[Pod]]) -> bool:
        """Tell whether a quota that stands alone is within its limits with all of these pods."""
        more = Sums()
        for run in in_turn:
            more.take(_placed(run[0], name, self.tree), len(run))
        if exceeding(plus(self.used(name), more.used), self.limit(name)):
            return False
        least = dict(self.tree.quotas[name].min) if any(is_fixed(run[0]) for run in in_turn) else {}
        return not exceeding(plus(self.fixed(name), more.fixed), least)

    def _hold_in_the_end(self, in_turn: Sequence[Sequence[Pod]]) -> bool:
        """Tell whether quotas would take one more of each of these pods once all are placed."""
        in_the_end = self
        for run in in_turn:
            in_the_end = in_the_end.after(run[0], len(run))
        return all(in_the_end._refused(run[0]) is None for run in in_turn)  # noqa: SLF001 - of the same class

    def fitting(self, alike: Sequence[Pod]) -> int:
        """Return how many of these pods, which count alike, pass one after the other."""

        def refuses(placed: int) -> bool:
            return self.after(alike[0], placed)._refused(alike[0]) is not None  # noqa: SLF001 - of the same class

        last = len(alike) - 1
        if self.tree.settings.guarantees:  # what they use may change what they may use
            return next((number for number in range(last + 1) if refuses(number)), last + 1)
        if refuses(0):
            return 0
        return bisect_left(range(last), x=True, lo=1, key=refuses) if last and refuses(last) else last + 1

    @property
    def stand_alone(self) -> bool:
        """Whether what a pod takes of its quota is missed in no other one."""
        return not (self.tree.settings.check_parents or self.tree.settings.guarantees)

    def after(self, placed: Pod, number: int = 1) -> "QuotaState":
        """Return the state once a pod that waits, and others that count alike, so many in all, are placed."""
        name = self.tree.name_of(placed)
        if not name or not number:
            return self
        return self.with_more({name: _NONE.plus(_placed(placed, name, self.tree), number)})

    def with_more(self, more: OwnSums, nodes: Amounts | None = None) -> "QuotaState":
        """Return the state with so much more in some quotas' own sums, and if given, with other sums of nodes.

        Only what follows from them is computed anew.
        """
        own = {name: self.own.get(name, _NONE).plus(additional) for name, additional in more.items()}
        state = QuotaState(self.tree, Changed(self.own, own), self.nodes if nodes is None else nodes, self.rules)
        if len(more) > _FEW:
            return state
        sums: dict[str, Sums] = {}
        for name, additional in more.items():
            for quota in self._counting(name):
                before = sums[quota.name] if quota.name in sums else self._sums.get(quota.name, _NONE)
                sums[quota.name] = before.plus(additional)
        state.__dict__["_sums"] = Changed(self._sums, sums)
        requesting = [name for name, new in own.items() if new.request != self.own.get(name, _NONE).request]
        requests = state._requests_within(self._upwards(requesting), self._child_requests)
        state.__dict__["_child_requests"] = (
            Changed(self._child_requests, requests) if requests else self._child_requests
        )
        shared = state.nodes == self.nodes and not requesting and BUILT_IN.isdisjoint(more)
        if shared and not self.tree.settings.guarantees:
            # What is used by other quotas than these changes nobody's share.
            state.__dict__["_known_runtimes"] = self._known_runtimes
        return state

    def with_limits(self, tree: QuotaTree) -> "QuotaState":
        """Return the state of the same quotas with other limits of the same resources."""
        state = QuotaState(tree, self.own, self.nodes, self.rules)
        state.__dict__["_sums"] = self._sums
        requests = state._requests_within(self._upwards(self.tree.changed(tree.written)), self._child_requests)
        state.__dict__["_child_requests"] = Changed(self._child_requests, requests)
        return state

    def alone(self, name: str) -> "QuotaState":
        """Return the state as far as one quota goes, whose limit nothing that is placed changes; it is cheap to add to.

        Of the other quotas it knows what they may use, and not what they use.
        """
        self.limit(name)
        state = QuotaState(self.tree, {name: self.own.get(name, _NONE)}, self.nodes, self.rules)
        state.__dict__["_sums"] = {quota.name: self._sums.get(quota.name, _NONE) for quota in self._counting(name)}
        state.__dict__["_known_runtimes"] = self._known_runtimes
        state.__dict__["_child_requests"] = self._child_requests
        return state


def _placed(pod: Pod, name: str, tree: QuotaTree) -> Sums:
    """Return what a pod that waits adds to its quota once it is placed."""
    own = requested(pod, name, tree)
    return Sums({}, own, own if is_fixed(pod) else {})


def runs(pods: Sequence[P]) -> Iterator[tuple[P, ...]]:
    """Yield neighbours that count alike together."""
    for _, run in groupby(pods, key=counted_as):
        yield tuple(run)


def counted_as(pod: Pod) -> object:
    """Return the key by which pods are grouped: those with one key count the same."""
    return pod.namespace, quota_labels(pod.labels), pod.requirements


def quota_state(view: View, rules: Rules, pending: tuple[PendingPod, ...] | None = None) -> QuotaState:
    """Return the state of the quotas in a variant of a cluster; None are the pods that wait in its snapshot."""
    return _state(view, rules, None if pending is view.snapshot.pending or pending is None else Identity(pending))


@recently(_MOST_STATES)
def _state(view: View, rules: Rules, pending: Identity[tuple[PendingPod, ...]] | None) -> QuotaState:
    if pending is not None:
        return _requested_by(_state(view, rules, None), view, pending.value)
    below, tree = view.layers()[0], quotas_of(view)
    if below is not None and (tree is quotas_of(below) or tree.quotas.keys() == quotas_of(below).quotas.keys()):
        return _over(_state(below, rules, None), view)
    snapshot = view.snapshot
    asked = all_waiting(snapshot) if tree is quota_tree(snapshot) else waiting(snapshot.pending, tree)
    own = on_nodes(view, tree)
    for name, sums in asked.items():
        own[name] = own[name].plus(sums) if name in own else sums
    return QuotaState(tree, own, capacity(view), rules)


def _requested_by(state: QuotaState, view: View, pods: tuple[PendingPod, ...]) -> QuotaState:
    """Return the state in which these pods wait, and not those of the snapshot."""
    more, fewer = waiting_instead(view.snapshot, pods, state.tree)
    differing = {
        name: more.get(name, _NONE).minus(fewer.get(name, _NONE))
        for name in more.keys() | fewer.keys()
        if more.get(name) != fewer.get(name)
    }
    return state.with_more(differing) if differing else state


def _over(state: QuotaState, view: View) -> QuotaState:
    tree = quotas_of(view)
    state = state.with_limits(tree) if tree is not state.tree else state
    counted, nodes = differing(view, tree), capacity(view)
    if not counted and nodes == state.nodes:
        return state
    return state.with_more(counted, nodes)


def _pairs(amounts: Amounts) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(amounts.items()))


class Held(Struct, frozen=True):
    """A pod that waits, and the refusal of its quota, or of one above that."""

    pod: PendingPod
    refusal: QuotaExceeded


def held_back(state: QuotaState, pods: Iterable[PendingPod]) -> Mapping[str, tuple[Held, ...]]:
    """Return by quota the pods that it refuses, once those before them are placed: by priority, then by name.

    Each is listed under its own quota, also where one above it refuses. Where pods would go is not looked at: a pod
    that nodes have no room for takes its part of the quota here.
    """
    waiting: dict[str, list[PendingPod]] = {}
    for pod in pods:
        name = state.tree.name_of(pod)
        if state.tree.limits(name):
            waiting.setdefault(name, []).append(pod)
    if state.stand_alone:
        found = {name: _refused(state.alone(name), some) for name, some in waiting.items()}
    else:
        found = {name: [] for name in waiting}
        for held in _refused(state, [pod for some in waiting.values() for pod in some]):
            found[state.tree.name_of(held.pod)].append(held)
    return {name: tuple(found[name]) for name in sorted(found) if found[name]}


def _refused(state: QuotaState, pods: Sequence[PendingPod]) -> list[Held]:
    before = state
    known: dict[tuple[str, int, bool], QuotaExceeded] = {}
    found: list[Held] = []
    placed: list[PendingPod] = []
    for run in runs(sorted(pods, key=lambda pod: (-pod.priority, pod.key))):
        # What is used only grows: who is refused once is refused for good, and so are all that ask for the same.
        kind = (state.tree.name_of(run[0]), id(run[0].requirements), is_fixed(run[0]))
        refusal = known.get(kind)
        number = state.fitting(run) if refusal is None else 0
        state, left = state.after(run[0], number), run[number:]
        placed += run[:number]
        if refusal is None and left and (refused := state.refusal(left[0])) is not None:
            refusal = known[kind] = before.behind(placed, refused)
        if refusal is not None:
            found += [Held(pod, refusal) for pod in left]
    return found


class QuotaRoom(Struct, frozen=True):
    """One quota of a chain, and how many pods of a shape it has room for.

    `limit` and `used` are of the `resource` of which it has room for the fewest; `members` is None where it limits
    nothing that they ask for. `checked` is whether the scheduler holds pods against it: of the quotas above a
    pod's own it does so only where it is told to, but what they may use limits those below them.
    """

    quota: str
    resource: str
    limit: int
    used: int
    requested: int
    members: int | None
    checked: bool


def headroom(state: QuotaState, pod: PendingPod) -> tuple[QuotaRoom, ...]:
    """Return for each quota from a pod's own upwards how many pods like it there is room for now; none without one."""
    name = state.tree.name_of(pod)
    if not name or state.tree.fault_of(pod) is not None:
        return ()
    asked = requested(pod, name, state.tree)
    chain = state.tree.chain(name)
    return tuple(
        _level(state, quota.name, asked, checked=not position or state.tree.settings.check_parents)
        for position, quota in enumerate(chain)
    )


def _level(state: QuotaState, name: str, asked: Mapping[str, int], *, checked: bool) -> QuotaRoom:
    used, limit = state.used(name), state.limit(name)
    room = [
        (max(0, (limit[resource] - used.get(resource, 0)) // amount), resource)
        for resource, amount in sorted(asked.items())
        if resource in limit and amount
    ]
    if checked:  # over its limit it refuses whatever a pod asks for
        room += [(0, resource) for resource, amount in sorted(used.items()) if amount > limit.get(resource, amount)]
    if not room:
        return QuotaRoom(name, "", 0, 0, 0, None, checked)
    members, resource = min(room)
    return QuotaRoom(name, resource, limit[resource], used.get(resource, 0), asked.get(resource, 0), members, checked)


class Lending(Struct, frozen=True):
    """What quotas below one parent use of one resource beyond their minimums, and what of others' minimums that takes.

    `borrowed` is by quota what it uses above its minimum; `lent` by quota what others use of its minimum. What the
    parent has above all minimums is taken first. Where several leave more than is borrowed, nobody can tell whose
    it is: `lent` is then the most that it can be, and `exact` false.
    """

    borrowed: Mapping[str, int]
    lent: Mapping[str, int]
    exact: bool = True


def lending(amounts: QuotaAmounts, tree: str, parent: str) -> Mapping[str, Lending]:
    """Return who lends and who borrows below a parent that has quotas, by resource: those that anybody borrows."""
    children = amounts.tree.children[tree, parent]
    total = amounts.total(tree) if parent == ROOT else amounts.runtime(parent)
    kept = {child.name: amounts.minimum(child.name) for child in children}
    limits = {child.name: dict(child.max) for child in children}
    found: dict[str, Lending] = {}
    for resource in sorted({resource for most in limits.values() for resource in most}):
        borrowed: dict[str, int] = {}
        left: dict[str, int] = {}
        for child in children:
            if resource not in limits[child.name]:
                continue
            above = amounts.used(child.name).get(resource, 0) - kept[child.name].get(resource, 0)
            if above > 0:
                borrowed[child.name] = above
            elif above < 0 and amounts.lends(child):
                left[child.name] = -above
        if borrowed:
            minimums = sum(least.get(resource, 0) for least in kept.values())
            taken = max(0, sum(borrowed.values()) - max(0, total.get(resource, 0) - minimums))
            lent = {name: min(amount, taken) for name, amount in left.items()} if taken else {}
            found[resource] = Lending(borrowed, lent, exact=len(left) <= 1 or taken in {0, *_all(left, taken)})
    return found


def _all(left: Mapping[str, int], taken: int) -> set[int]:
    """Return the number that is taken where that is all that is left, or more."""
    return {taken} if taken >= sum(left.values()) else set()


def is_on(state: QuotaState) -> bool:
    """Tell whether the controller runs."""
    return state.tree.settings.revokes and state.tree.settings.by_runtime


def over_used(state: QuotaState) -> Mapping[str, tuple[str, ...]]:
    """Return the quotas that use more than their runtime, by name, and of which resources."""
    found: dict[str, tuple[str, ...]] = {}
    for name in sorted(state.tree.quotas):
        over = exceeding(state.used(name), state.runtime(name)) if name not in BUILT_IN else ()
        if over:
            found[name] = over
    return found


def revoked(state: QuotaState, name: str, pods: Iterable[RunningPod]) -> tuple[RunningPod, ...]:
    """Return which of a quota's own pods on nodes would be evicted, the least important first.

    Pods are taken from the least important up until the quota is within its runtime, and then spared from the most
    important down where it stays so (`getToRevokePodList`). After each only what that pod requests is compared.
    """
    runtime = state.runtime(name)
    used = dict(state.used(name))
    taken: list[RunningPod] = []
    for pod in sorted(pods, key=_importance):
        if not exceeding(used, runtime):
            break
        if not is_fixed(pod):
            used = {resource: used.get(resource, 0) - amount for resource, amount in pod.requirements.requests}
            taken.append(pod)
    if exceeding(used, runtime):
        return tuple(taken)
    evicted: list[RunningPod] = []
    for pod in reversed(taken):
        asked = dict(pod.requirements.requests)
        with_it = {resource: used.get(resource, 0) + amount for resource, amount in asked.items()}
        if exceeding(with_it, runtime):
            used = {resource: with_it[resource] - amount for resource, amount in asked.items()}
            evicted.append(pod)
        else:
            used = with_it
    return tuple(reversed(evicted))


def _importance(pod: RunningPod) -> tuple[int, tuple[int, ...], str]:
    """Return what puts the least important first: a lower priority, then a later start."""
    return pod.priority, tuple(-ord(letter) for letter in pod.scheduled or pod.created), pod.key


def without(state: QuotaState, pods: Iterable[RunningPod]) -> QuotaState:
    """Return the state once running pods have ended."""
    more: dict[str, Sums] = {}
    for pod in pods:
        name = state.tree.name_of(pod)
        if name in state.own and not (pod.terminating and state.tree.settings.ignores_terminating):
            asked = requested(pod, name, state.tree)
            more.setdefault(name, Sums()).take(Sums(asked, asked, asked if is_fixed(pod) else {}), -1)
    return state.with_more(more)


def counting_in(state: QuotaState, pods: Iterable[PendingPod], quota: str) -> QuotaState:
    """Return the state once pods that wait request of another quota than theirs."""
    more: dict[str, Sums] = {}
    for pod in pods:
        name = state.tree.name_of(pod)
        if name in more or name in state.own:
            more.setdefault(name, Sums()).take(Sums(requested(pod, name, state.tree)), -1)
        more.setdefault(quota, Sums()).take(Sums(requested(pod, quota, state.tree)))
    return state.with_more(more)
