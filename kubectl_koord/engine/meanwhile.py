"""Which preemptions follow while the victims of one still terminate.

An attempt that preempts nominates all members. In the same turn the others are refused without a look at nodes, and
ElasticQuota, which finds nobody for them, clears their nominations: the trigger alone stays nominated. In a later turn
Coscheduling preempts nobody while a victim terminates on a node to which a pending member is nominated, and hands on to
ElasticQuota: it takes pods of the trigger's own quota, or finds none and clears that nomination, too. Once nobody is
nominated Coscheduling preempts anew, elsewhere if another trigger or the costs of nodes make it so: the cache lists a
pod last that has changed. Which member is the trigger of a turn is in no object.

Mirrors `jobEligibleToPreemptOthers` in coscheduling/core/preemption.go, `NextPod` in coscheduling/core/core.go,
PostFilter and `PodEligibleToPreemptOthers` in elasticquota, `RunPostFilterPlugins` in kube-scheduler, and there
`updatePodInSchedulingQueue`, by which each nomination that is cleared wakes up all pods of at most its pod's priority
(Kubernetes 1.35): none of a pod that is tried alone is cleared, and it waits for others to wake it up.
"""

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import TypeAlias

from msgspec import Struct, structs

from kubectl_koord.engine.attempt import Attempt, Job
from kubectl_koord.engine.budget import Budget, steps_of_retries
from kubectl_koord.engine.preemption import (
    Holding,
    Preemption,
    VictimOrder,
    node_costs,
    preempt_as_retried,
    preempt_within_quota,
    waits_for_victim,
    waits_within_quota,
)
from kubectl_koord.engine.state import View
from kubectl_koord.model.pods import PendingPod, RunningPod
from kubectl_koord.model.values import Identity

MOST_STATES, MOST_TIES = 64, 8
"""Bounds of the states (who is nominated, who terminates) that are followed, and of the nodes of equal cost in one."""
_TURNS_OF_A_STEP = 8

ByJob: TypeAlias = Callable[[Attempt, VictimOrder], Preemption]
"""What Coscheduling does after a failed attempt when no member is nominated."""


class Meanwhile(Struct, frozen=True):
    """Preemptions that follow before the victims of one are gone, each without the victims of those before it.

    surely: those that come whichever member is the trigger, if the victims take long enough. perhaps: those that come
    only in some order of triggers, or of the scheduler's cache, and all where nothing may wake the gang up, or too many
    nodes cost the same: each turn may take another one. With `cut` none was followed.
    """

    surely: tuple[Preemption, ...] = ()
    perhaps: tuple[Preemption, ...] = ()
    cut: bool = False


class _State(Struct, frozen=True):
    """Between two turns: the kind of the member that is nominated, and its node; and the victims that terminate."""

    nominated: tuple[int, str] | None
    dying: frozenset[str]


_Turn: TypeAlias = tuple[Preemption | None, _State]


class _Turns:
    """What the turns of a gang depend on: for each kind of trigger its attempt, and what Coscheduling does after it.

    What comes after a state with a trigger of one kind is computed once; of those computed every eighth is a step.
    """

    def __init__(
        self,
        job: Job,
        view: View,
        attempts: Sequence[Attempt],
        by_job: Sequence[Callable[[], Preemption]],
        budget: Budget,
    ) -> None:
        self.job, self.view, self.attempts, self.by_job, self._budget = job, view, attempts, by_job, budget
        self._kinds = [_kind(job, one.trigger) for one in attempts]
        self._numbers = Counter(_kind(job, pod) for pod in job.tried)
        self._waiting = [{_kind(job, pod) for some in one.waiting.values() for pod in some} for one in attempts]
        self._known: dict[tuple[_State, int], list[_Turn]] = {}

    def after(self, state: _State, kinds: Iterable[int]) -> list[_Turn] | None:
        """Return what the next turn may be with a trigger of one of these kinds; None where the budget has ended."""
        found: list[_Turn] = []
        for kind in kinds:
            if (state, kind) not in self._known:
                if len(self._known) % _TURNS_OF_A_STEP == 0 and not self._budget.take():
                    return None
                self._known[state, kind] = [*self._with_trigger(state, kind)]
            found += self._known[state, kind]
        return found

    def _with_trigger(self, state: _State, kind: int) -> Iterator[_Turn]:
        if state.nominated is None or state.nominated[0] != kind:
            yield from self._of(state, kind, itself=False)
            return
        yield from self._of(state, kind, itself=True)
        if self._numbers[self._kinds[kind]] > 1:
            yield from self._of(state, kind, itself=False)

    def _of(self, state: _State, kind: int, *, itself: bool) -> Iterator[_Turn]:
        """Yield what a trigger does; `itself` is the one that is nominated, else that one's nomination is cleared."""
        failed = self.attempts[kind]
        idle = (None, state if itself else _State(None, state.dying))
        if failed.trigger.never_preempts:
            yield idle
            return
        for waits in self._waits(state, kind, itself=itself):
            done = None if waits else self.by_job[kind]()
            if done is not None and done.reason is None:
                yield _then(state, kind, failed, done)
            elif itself and self._waits_in_quota(state, failed):
                yield idle
            else:
                yield from self._within_quota(state, kind, failed, itself=itself)

    def _waits(self, state: _State, kind: int, *, itself: bool) -> Iterator[bool]:
        """Yield whether Coscheduling waits for a victim: not for the node of a member that waits in Permit now."""
        if state.nominated is None:
            yield False
            return
        (other, node), failed = state.nominated, self.attempts[kind]
        nominated = self.attempts[other].trigger
        may_wait = not itself and self._kinds[other] in self._waiting[kind]
        if itself or len(failed.left) > 1:
            waits = waits_for_victim(nominated, node, self.view, failed, state.dying, itself=itself)
            yield waits
            may_wait = may_wait and waits
        if may_wait:
            yield False

    def _waits_in_quota(self, state: _State, failed: Attempt) -> bool:
        node = state.nominated[1] if state.nominated is not None else ""
        return waits_within_quota(self.view, failed, node, state.dying)

    def _within_quota(self, state: _State, kind: int, failed: Attempt, *, itself: bool) -> Iterator[_Turn]:
        """Yield what ElasticQuota does: a nomination that was just cleared may still be the one that it sees."""
        found = preempt_within_quota(
            self.job, self.view, failed, anew=True, holding=self._holding(state, itself=itself)
        )
        for done in found:
            yield _then(state, kind, failed, done)
        if not found or (not itself and any(_keys(done.victims) <= state.dying for done in found)):
            yield None, _State(None, state.dying)

    def _holding(self, state: _State, *, itself: bool) -> Holding:
        """Return the nominated member, where it holds its room against the trigger: not in a plan for both."""
        if itself or state.nominated is None or self.job.topology is not None:
            return ()
        kind, node = state.nominated
        return ((node, self.attempts[kind].trigger),)


def meanwhile(  # noqa: PLR0913, PLR0917 - all of them decide
    job: Job,
    view: View,
    attempts: Sequence[Attempt],
    done: Preemption,
    by: Attempt,
    order: VictimOrder,
    by_job: ByJob,
    budget: Budget,
) -> Meanwhile:
    """Return what follows a preemption before its victims are gone.

    Args:
        job: what is tried.
        view: the cluster as it was before the attempt.
        attempts: an attempt for each kind of member that may be the trigger: all fail.
        done: what was preempted.
        by: the attempt after which that was.
        order: the order of the cache that led to it.
        by_job: what Coscheduling does.
        budget: what all of it may take: a step for each attempt in each further order of the cache, for a few turns,
            and for what `preempt_as_retried` looks at.
    """
    alone = job.each_queued and len(job.tried) > 1
    if alone or not done.gone or not done.nominations or not view.snapshot.config.plugins.preempts_in_quotas:
        return Meanwhile()
    kinds = [_kind(job, one.trigger) for one in attempts]
    own = kinds.index(_kind(job, by.trigger))
    start = _State((own, done.nominations[by.trigger.key]), _keys(done.gone))
    ties = [one for failed in attempts for one in preempt_within_quota(job, view, failed, anew=True)]
    found: list[Preemption] = []
    ends: list[frozenset[str]] = []
    is_open = len(ties) > MOST_TIES or not job.rules.retries_meanwhile or len(job.tried) == 1
    for one in _orders(view, attempts, done, order):
        if one is not order and not budget.take(len(attempts)):
            return Meanwhile(cut=True)
        turns = _Turns(job, view, attempts, [cache(partial(by_job, failed, one)) for failed in attempts], budget)
        graphs = []
        for some in _triggers(len(kinds)) if len(ties) <= MOST_TIES else ():
            graph = _graph(turns, start, some)
            if graph is None:
                return Meanwhile(cut=True)
            graphs.append(graph)
        if any(len(graph) > MOST_STATES for graph in graphs):
            is_open = True
            budget.cut()
        if not graphs or len(graphs[0]) > MOST_STATES:
            found += [*(made for turn in turns.by_job if (made := turn()).reason is None), *ties]
        found += [
            made for graph in graphs for turns_after in graph.values() for made, _ in turns_after if made is not None
        ]
        ends += [end for graph in graphs for end in _ends(graph)]
    sure = frozenset.intersection(*ends) if ends and not is_open else frozenset()
    for failed in attempts if job.topology is None else ():
        if not budget.take(steps_of_retries(len(failed.waiting))):
            return Meanwhile(cut=True)
        found += preempt_as_retried(view, Identity(job), Identity(failed))
    surely = tuple(_further(found, start.dying, sure))
    return Meanwhile(surely, tuple(_further(found, start.dying | sure, None)))


def _triggers(kinds: int) -> Iterator[range]:
    """Yield the kinds of members that may be triggers: all, or, where there are more, one of them again and again."""
    yield range(kinds)
    for kind in range(kinds) if kinds > 1 else ():
        yield range(kind, kind + 1)


def _orders(view: View, attempts: Iterable[Attempt], done: Preemption, order: VictimOrder) -> Iterator[VictimOrder]:
    """Yield the orders of the cache that differ in what nodes cost, once the victims have changed."""
    touched = frozenset(pod.node for pod in done.gone)
    yield order
    seen = [[_costs(view, one, order) for one in attempts]]
    for first in (min, max):
        changed = order.changed_on(touched, first)
        costs = [_costs(view, one, changed) for one in attempts]
        if costs not in seen:
            seen.append(costs)
            yield changed


def _costs(view: View, failed: Attempt, order: VictimOrder) -> Mapping[str, int]:
    return node_costs(view, failed.considered(view), failed.trigger, order, failed.prepared.reservations)


def _graph(turns: _Turns, start: _State, kinds: Collection[int]) -> dict[_State, list[_Turn]] | None:
    """Return the turns that may follow each state that may come; one more than `MOST_STATES` where there are more.

    None where the budget has ended.
    """
    graph: dict[_State, list[_Turn]] = {}
    queue = deque([start])
    while queue and len(graph) <= MOST_STATES:
        state = queue.popleft()
        if state not in graph:
            after = turns.after(state, kinds)
            if after is None:
                return None
            graph[state] = after
            queue.extend(then for _, then in after)
    return graph


def _ends(graph: Mapping[_State, Sequence[_Turn]]) -> Iterator[frozenset[str]]:
    """Yield who terminates in the states that come again for ever, whatever comes before."""
    after = {state: _reached(graph, state) for state in graph}
    for state, reached in after.items():
        if all(state in after.get(then, ()) for then in reached):
            yield state.dying


def _reached(graph: Mapping[_State, Sequence[_Turn]], state: _State) -> set[_State]:
    reached: set[_State] = set()
    queue = [state]
    while queue:
        new = {then for _, then in graph.get(queue.pop(), ())} - reached
        reached |= new
        queue += new
    return reached


def _then(state: _State, kind: int, failed: Attempt, done: Preemption) -> _Turn:
    node = done.nominations[failed.trigger.key]
    return done, _State((kind, node), state.dying | _keys(done.victims))


def _further(found: Iterable[Preemption], told: frozenset[str], wanted: frozenset[str] | None) -> Iterator[Preemption]:
    """Yield the preemptions as far as their victims are not told yet, and are wanted (all, where that is None)."""
    for done in found:
        new = [pod for pod in done.victims if pod.key not in told and (wanted is None or pod.key in wanted)]
        if new:
            told |= _keys(new)
            yield structs.replace(done, victims=tuple(new), gone=tuple(new), in_vain=(), meanwhile=True)


def _kind(job: Job, pod: PendingPod) -> object:
    return (*job.kind(pod), pod.priority, pod.never_preempts)


def _keys(pods: Iterable[RunningPod]) -> frozenset[str]:
    return frozenset([pod.key for pod in pods])
