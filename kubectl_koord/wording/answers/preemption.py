"""The sentences of `preempt --dry-run`: what preemption would do, and whether that helps."""

from collections.abc import Mapping, Sequence

from kubectl_koord.reports.codes import CauseCode, ReasonCode
from kubectl_koord.wording.reservations import ONLY_RESERVATIONS
from kubectl_koord.wording.words import count, few, listed, the_subject

EACH_POD_ALONE = (
    "the gang ran before, so each of its pods preempts on its own; they differ, and no object shows which comes first"
)
BY_DEFAULT_PREEMPTION = (
    "kube-scheduler's DefaultPreemption is enabled at postFilter, and whom that preempts is not evaluated"
)
WITHIN_QUOTA_ALONE = "job preemption is off, so each of its pods preempts in its quota alone; this is not evaluated"
NO_PENDING_PODS = "it has no pending pods"
NOT_PENDING = "it is not pending"
WAITS = "victims of an earlier attempt are still terminating"
MIXED_POLICIES = "its pods have different preemption policies: only the policy of the pod tried first counts."

_REASONS: Mapping[ReasonCode | CauseCode, str] = {
    "policy-never": "its preemption policy is Never",
    "terminating-victim": WAITS,
    "no-victims": "no node has lower-priority pods that may be preempted",
    "not-helpful": "it would not fit even without all lower-priority pods",
    "no-pending-pods": NO_PENDING_PODS,
    "plan-not-executable": "slots are enough, but the plan made of them cannot be carried out",
}


def no_attempt(name: str, why: str, *, certain: bool) -> str:
    """Return why the scheduler preempts nothing for a subject, or why nobody can tell what it would preempt."""
    outcome = " would preempt no pods" if certain else ": cannot tell which pods it would preempt"
    return f"{name}{outcome}: {why.rstrip('.')}."


def tried_first(pod: str) -> str:
    """Return the case that the scheduler tries this pod first."""
    return f"the scheduler tries {pod} first"


def taking(case: str, nodes: Sequence[str]) -> str:
    """Return a case with the nodes on which room is made."""
    return f"{case} and makes room on {few(nodes)}"


def ignores_budgets(budgets: Sequence[str], violated: Sequence[str]) -> str:
    """Return which budgets cover the victims, and which of them would be violated."""
    end = f"; this would violate {listed(violated)}" if violated else ""
    return f"job preemption ignores PodDisruptionBudgets ({listed(budgets)}){end}."


_ONE_BY_ONE = (
    " It is tried again and again, and each attempt preempts on one more node where its pods wait; the order is open."
)


def wasted(quota: str, *, lone_pod: bool, retried: bool) -> str:
    """Return that victims end in vain; `quota` is one that refuses the subject, empty where none does.

    retried: whether many attempts free one node each.
    """
    it = the_subject(lone_pod=lone_pod)
    why = f", as quota {quota} refuses its pods whatever is freed for them" if quota else ""
    return f"the preemption would be wasted: {it} would still not run{why}.{_ONE_BY_ONE if retried else ''}"


def daemons_come_back(pods: Sequence[str]) -> str:
    """Return that pods of DaemonSets are victims, and what becomes of their room."""
    are, come = ("belongs to a DaemonSet", "it comes") if len(pods) == 1 else ("belong to DaemonSets", "they come")
    return f"{few(pods)} {are}: {come} back on the same node at once, and may take the freed room again."


def cannot_tell(name: str, why: str) -> str:
    """Return that it is open whether preemption helps, and why; `why` is empty where that is not one sentence."""
    return f"{name}: cannot tell whether preemption helps{f': {why}' if why else ''}."


def may_not_run(name: str, why: str) -> str:
    """Return that it is open whether a subject runs, with preemption or without."""
    return f"{name}: cannot tell whether it would run: {why}"


def race(*, preempts: bool) -> str:
    """Return that what comes of a plan is a race, perhaps of one made after pods were preempted."""
    then = "with the room that it makes " if preempts else ""
    return f"{then}slots are enough, but the plan made of them cannot be carried out, and what comes of it is a race"


def not_followed(attempts: int) -> str:
    """Return that more attempts would follow than are computed."""
    return f"it takes more than {count(attempts, 'attempt')}, and no more are computed"


def runs_either_way(name: str) -> str:
    """Return that a subject runs in every outcome, in some of them by preemption."""
    return f"{name} would be placed, at once or by preemption: no object shows which."


def not_needed(name: str) -> str:
    """Return that a subject is placed without preemption."""
    return f"{name} needs no preemption: it would be placed now."


def no_victims(name: str, reason: ReasonCode | CauseCode | None, quota: str, *, in_vain: bool) -> str:
    """Return why preemption finds no victims; `quota` is one that refuses the subject, empty where none does.

    in_vain: whether it chooses reservations as victims, and nothing else.
    """
    why_not = ONLY_RESERVATIONS if in_vain else "it would not help"
    otherwise = f"quota {quota} refuses it, not the nodes" if quota else why_not
    why = _REASONS[reason] if reason is not None else otherwise
    return f"{name} would preempt no pods: {why}."


def helps_some(name: str, victims: int, helped: int, pods: int) -> str:
    """Return how many pods are preempted, and how many of a gang that ran before then run."""
    run = "runs" if helped == 1 else "run"
    killed = f"would preempt {count(victims, 'pod')}"
    return f"{name} {killed}, and {helped} of its {count(pods, 'pending pod')} then {run}: each preempts on its own."


def disabled(name: str, plugin: str) -> str:
    """Return that nobody is preempted as this plugin is not enabled; as enablePreemption is off where none is named."""
    why = f"plugin {plugin} is not enabled at postFilter" if plugin else "enablePreemption is off"
    return f"{name} would preempt no pods: {why}."


def may_follow(victims: int, places: Sequence[str]) -> str:
    """Return how many pods more may be preempted before the first victims are gone, and in which domains or nodes."""
    return (
        f"while the first victims terminate, up to {count(victims, 'more pod')} may be preempted on {few(places)}: "
        "the scheduler tries again, and no object shows which pod it tries first or in which order it counts victims."
    )


def waits_for(name: str, dying: int, *, runs: bool) -> str:
    """Return that so many pods which terminate already make the room, and whether the subject then runs."""
    room = "1 pod that terminates already makes" if dying == 1 else f"{dying} pods that terminate already make"
    return f"{name} would preempt no pods: {room} room, and it would {'then run' if runs else 'still not run'}."


def preempts(name: str, victims: int, attempts: int, *, now: int, runs: bool, retried: bool) -> str:
    """Return how many pods are preempted in how many attempts, and whether the subject then runs.

    now: how many of them are in the first attempt, where another follows while they terminate; all of them elsewhere.
    retried: whether attempts go on and on, so that how many there are is open.
    """
    tries = " in repeated attempts" if retried else f" in {attempts} attempts" if attempts > 1 else ""
    now_only = f", {now} now and more while these terminate," if now != victims else ""
    end = "then run" if runs else "still not run"
    return f"{name} would preempt {count(victims, 'pod')}{tries}{now_only} and {end}."
