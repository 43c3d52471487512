"""Sentences of `why-pending`, `preempt`, `fit`, `gangs` and `why-preempted`: causes, notices, progress."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

from kubectl_koord.engine.reasons import Reason, Refused
from kubectl_koord.model.snapshot import Gap
from kubectl_koord.model.unevaluated import Unevaluated
from kubectl_koord.model.values import Resources
from kubectl_koord.reports.common import CauseCode, ReasonCode, Verdict
from kubectl_koord.reports.jobs import GangRow, GangsReport, Hops, StaleFault, VolcanoCondition, VolcanoGang
from kubectl_koord.wording.facts import ONLY_RESERVATIONS, lost_nodes, multiples
from kubectl_koord.wording.refusals import obstacle
from kubectl_koord.wording.words import (
    command,
    could_not_be_read,
    count,
    few,
    layer_noun,
    listed,
    requests,
    requests_of_each,
    the_subject,
    unevaluated_names,
)


def not_beside(others: Sequence[str]) -> str:
    """Return that a gang fits alone, and not once others are placed that were submitted with it."""
    verb = "has" if len(others) == 1 else "have"
    return f"it fits alone, but not once {listed(others)} {verb} been placed."


def some_start(pods: int) -> str:
    """Return that so many of the pods of a workload without a gang start as they are."""
    return (
        f"Submit it as it is: {count(pods, 'pod')} {'starts' if pods == 1 else 'start'}, the others once there is room"
    )


def skipped(kinds: Sequence[str]) -> str:
    """Return which kinds in manifests make no pods that are known of."""
    return f"the manifests also have {listed(kinds)}: no pods are known of them, and they were left out."


def assumed(groups: Sequence[str]) -> str:
    """Return which PodGroups operators are taken to make."""
    noun = "PodGroup" if len(groups) == 1 else "PodGroups"
    return f"{noun} {listed(groups)}: made by the job's operator, if gang scheduling is enabled there."


def not_offered(resource: str) -> str:
    """Return that no node offers what Koordinator's webhook makes pods request that ask for parts of GPUs."""
    gate = "koord-manager publishes it only with feature gate EnableSyncGPUSharedResource"
    return f"no node offers {resource}, which pods request that ask for parts of GPUs: {gate}."


def other_scheduler(workloads: Sequence[str], scheduler: str, profile: str) -> str:
    """Return that another scheduler would place what was submitted, and what was computed in its place."""
    have = "has" if len(workloads) == 1 else "have"
    instead = f"computed as if it were {profile}, as no decision is computed for another scheduler"
    return (
        f"{listed(workloads)} {have} schedulerName {scheduler}: {instead}. Set schedulerName {profile} to make it so."
    )


def own_priority(workloads: Sequence[str]) -> str:
    """Return which workloads have a priority that the API server refuses."""
    have = "has" if len(workloads) == 1 else "have"
    return (
        f"{listed(workloads)} {have} a priority that no PriorityClass gives: it counts as written, but the API server"
        " refuses such pods. Name a PriorityClass."
    )


def suspended(workloads: Sequence[str]) -> str:
    """Return which workloads make no pods before they are resumed."""
    told = "is suspended, and makes no pods" if len(workloads) == 1 else "are suspended, and make no pods"
    return f"{listed(workloads)} {told} before somebody resumes {'it' if len(workloads) == 1 else 'them'}."


def scheduled(workloads: Sequence[tuple[str, str]]) -> str:
    """Return when workloads make pods, for which the answer is as if that were now."""
    told = [f"{name} at '{schedule}'" for name, schedule in workloads]
    return f"pods are made on a schedule: {listed(told)}. The answer is for pods that are made now."


def not_admitted(refused: int, pods: int, said: str) -> str:
    """Return how many of the pods the API server refuses, and what it says of the first."""
    return f"the API server refuses {refused} of its {count(pods, 'pod')}: {said}."


LateCode: TypeAlias = Literal["satisfied-by-earlier-pods", "surplus-pods", "replacement-waits"]

_FEW = 4
CAUSE_COMES_FIRST = "fix the cause first; whether that is enough is unknown."
DEPENDS_ON_FIRST_POD = "it depends on which pod the scheduler tries first; no object shows this."
SCHEDULER_REMEMBERS = "the scheduler remembers that the gang ran"
SCHEDULER_FORGOT = "the scheduler forgot it in a restart"
ANY_CHANGE_DEPENDS_ON_MEMORY = "the result of any change depends on what the scheduler remembers about the gang."
FORGOTTEN_IF_STILL_PENDING = (
    "if it stays pending, the scheduler forgot in a restart that the gang ran, and waits for as many new pods"
    " as the minimum: touch the PodGroup."
)
STUCK_REPRESENTATIVE = (
    "the scheduler has not reported anything about it. Koordinator 1.7 tries a gang group through one"
    " representative pod and never replaces it after a failed gang check: delete the oldest pod, or restart"
    " the scheduler."
)


def slots_leave_out(items: Collection[Unevaluated]) -> str:
    """Return what the slots are counted without, and how far they may therefore be off."""
    bound = "more or fewer" if any(item.may_admit for item in items) else "fewer"
    return f"slots are counted without {unevaluated_names(items)}: there may be {bound}."


def slots_not_counted(unread: Iterable[Gap]) -> str:
    """Return why there are no slots."""
    return f"slots cannot be counted: {could_not_be_read(unread)}"


def place_may_be_taken(unread: Iterable[Gap]) -> str:
    """Return that jobs of higher priority, which cannot be judged for what was not read, may take the place."""
    return f"jobs of higher priority may take its place: {could_not_be_read(unread)}"


def goes_first(jobs: Sequence[str]) -> str:
    """Return that jobs of higher priority may take what becomes free."""
    verb = "has" if len(jobs) == 1 else "have"
    return f"{listed(jobs)} {verb} higher priority and may take freed resources first."


def same_place(jobs: Sequence[str]) -> str:
    """Return that jobs of the same priority need the same place."""
    has, needs = ("has", "needs") if len(jobs) == 1 else ("have", "need")
    return f"{listed(jobs)} {has} the same priority and {needs} the same room: the one tried first gets it."


def shown_before(jobs: Sequence[str]) -> str:
    """Return that what is shown is as where jobs of the same priority are tried later."""
    has, it = ("has", "it") if len(jobs) == 1 else ("have", "them")
    return f"{listed(jobs)} {has} the same priority: what is shown is as where this one is tried before {it}."


def place_taken(jobs: Sequence[str], *, certain: bool) -> str:
    """Return that jobs of higher priority take the place of one that would be placed without them."""
    has, takes = ("has", "takes") if len(jobs) == 1 else ("have", "take")
    takes = takes if certain else "may take"
    return f"{listed(jobs)} {has} higher priority and {takes} its place; otherwise it would be placed."


def depends_on_others(jobs: Sequence[str]) -> str:
    """Return that it depends on which nodes jobs take that are tried first."""
    return f"it depends on where {listed(jobs)} {'goes' if len(jobs) == 1 else 'go'} first; no object shows this."


def others_went(went: Sequence[tuple[str, Sequence[str]]], later: Sequence[str], case: str) -> str:
    """Return where jobs go that are tried first, which are tried later, and a case of the subject's own if any."""
    each = [f"{job} takes {listed(nodes)}" if nodes else f"{job} finds no place" for job, nodes in went]
    each += [f"it is tried before {listed(later)}"] if later else []
    return f"{', '.join(each)}{f', and {case}' if case else ''}"


def counted_after(jobs: Sequence[str], *, certain: bool) -> str:
    """Return that what is shown is as jobs of higher priority leave it."""
    has, goes, leave, take = ("has", "goes", "it leaves", "it takes")
    if len(jobs) > 1:
        has, goes, leave, take = ("have", "go", "they leave", "they take")
    shown = (
        f"{listed(jobs)} {has} higher priority and {goes} first: slots, nodes and victims are shown as {leave} them."
    )
    return shown if certain else f"{shown} Which nodes {take} is open, so that others may be left."


def may_preempt_first(jobs: Sequence[str], *, equal: bool) -> str:
    """Return that jobs of higher or equal priority may preempt, which was left out as they are many, or nodes are."""
    has, holds = ("has", "it holds") if len(jobs) == 1 else ("have", "they hold")
    what = "the same priority" if equal else "higher priority"
    return f"{listed(jobs)} {has} {what} and may preempt: which nodes {holds} then was not looked at."


_LATE: Mapping[LateCode, tuple[str, str]] = {
    "replacement-waits": ("was recreated", "were recreated"),
    "surplus-pods": ("came after the gang ran", "came after the gang ran"),
    "satisfied-by-earlier-pods": ("is new, and the gang ran before", "are new, and the gang ran before"),
}


def depends_on_memory(code: LateCode, pods: int, of: int) -> str:
    """Return that members which came late start as long as the scheduler remembers that the gang ran."""
    were = _LATE[code][pods != 1]
    start = "it starts" if pods == 1 else "they start"
    return f"{pods} of its {count(of, 'pod')} {were}: {start}, unless koord-scheduler was restarted since."


def remembered(case: str) -> str:
    """Return the case that the scheduler remembers that a gang ran, and another one, empty for none."""
    return f"{SCHEDULER_REMEMBERS}{f', and {case}' if case else ''}"


def forgotten(minimum: int) -> str:
    """Return what a gang waits for that the scheduler does not remember to have run."""
    return f"it waits for {count(minimum, 'new pod')}, which never {'comes' if minimum == 1 else 'come'}."


def never_fits(pods: int, each: Sequence[Resources], layer: str) -> str:
    """Return that pods fit in no empty domain of a layer; where the layer is empty, not in the empty cluster."""
    fit = "does not fit" if pods == 1 else "do not fit"
    who = f"its {count(pods, 'pod')} ({requests_of_each(each)})"
    return f"{who} {fit} even in an empty {_place(layer)}; waiting does not help."


def beside_tree(nodes: Sequence[str], lacking: Sequence[str], pods: int, layer: str, *, are_alone: bool) -> str:
    """Return which nodes outside the tree would take how many pods, and what they lack: a sentence of its own.

    `are_alone` is whether each of them is a domain of its own instead.
    """
    one = len(nodes) == 1
    who = f"node {nodes[0]} would" if one else f"{count(len(nodes), 'node')} ({_first(nodes)}) would"
    place = f"in no {layer_noun(layer)}" if layer else "outside the topology tree"
    if are_alone:
        place = f"a {layer_noun(layer)} of its own" if one else f"{layer_noun(layer)}s of their own"
    lack = f"{'it lacks' if one else 'they lack'} the label {listed(lacking, 'or')}"
    return f"{who[0].upper()}{who[1:]} take {pods}, but {'is' if one else 'are'} {place}: {lack}."


def _first(names: Sequence[str]) -> str:
    return listed(names) if len(names) <= _FEW else f"{', '.join(names[:_FEW])} and {len(names) - _FEW} more"


def no_node_in_layer(layer: str, nodes: int, lacking: Sequence[str], instead: Sequence[str]) -> str:
    """Return that no node is in a layer, which labels they lack, and which they have that may be meant."""
    lack = "lacks" if nodes == 1 else "lack"
    label = f"the label {listed(lacking, 'or')}" if lacking else "a label, as the layer names none"
    have = f", and {'has' if nodes == 1 else 'have'} {listed(instead)}, which no layer names" if instead else ""
    return f"no node is in any {layer_noun(layer)}: {count(nodes, 'node')} {lack} {label}{have}."


def _place(layer: str) -> str:
    return layer_noun(layer) if layer else "cluster"


def planned_node_refuses(pod: str) -> str:
    """Return that the plan gives a pod a node that then refuses it, each time."""
    return f"every attempt fails: {pod} does not fit on its planned node."


def plan_fails(pod: str, node: str, lack: str, room: tuple[str, int, int], *, repeated: bool) -> str:
    """Return that slots are enough, and a member finds its planned node lacking something, and what follows.

    room: the domain of the plan, its slots, and how many are wanted.
    """
    domain, slots, wanted = room
    follows = "the scheduler keeps trying, and may bind some pods only" if repeated else "every attempt ends so"
    counted = f"by count {domain or 'the cluster'} has room ({count(slots, 'slot')} for {count(wanted, 'pod')})"
    return (
        f"{counted}, but {'it' if node == domain else node} does not take {pod} beside the others ({lack}); {follows}."
    )


def no_node_asked(pod: str, why: str) -> str:
    """Return what is wrong with a pod, so that the scheduler looks at no node for it."""
    return f"no node is looked at for {pod}: {why}."


def not_reserved(pod: str, node: str, lack: str) -> str:
    """Return that no other node is tried for a pod that passes the filters of one, and cannot be reserved there."""
    return f"{pod} passes all filters on {node}, and cannot be bound there: {lack}; no other node is tried."


def depends_on_node(unbookable: Mapping[str, Reason]) -> str:
    """Return that the answer depends on the node that scores best, naming those that cannot be reserved."""
    names = sorted(unbookable)
    verb = "passes" if len(names) == 1 else "pass"
    return (
        f"it depends on which node scores best: {listed(names)} {verb} all filters, and it cannot be bound there"
        f" ({obstacle(unbookable[names[0]])}); no other node is tried, and no pod is preempted."
    )


def node_scores_best(node: str, pod: str) -> str:
    """Return the case that this node scores best for a pod."""
    return f"{node} scores best for {pod}"


def other_node_scores_best(nodes: Sequence[str]) -> str:
    """Return the case that none of these nodes scores best."""
    return f"another node than {listed(nodes, 'or')} scores best"


def given_up(pod: str, aborted: Mapping[str, Reason]) -> str:
    """Return over which nodes the scheduler gives up every attempt at a pod, though another node may take it."""
    name, reason = next(iter(aborted.items()))
    others = f" and {count(len(aborted) - 1, 'more node')}" if len(aborted) > 1 else ""
    return f"the scheduler gives up every attempt at {pod} over {name}{others}: {obstacle(reason)}."


def indivisible(pods: int, numbers: Mapping[str, int], room: int) -> str:
    """Return that there is room, and the number of pods is not a multiple as it must be."""
    return f"its {count(pods, 'pod')} cannot be split by {multiples(numbers)} (room for {room})."


def too_few_slots(pods: int, layer: str, best: int, raw: int, excluded: Collection[Refused], why: str = "") -> str:
    """Return how many pods the best domain has room for.

    Args:
        pods: how many there are.
        layer: the layer of the domains; empty where there is but the cluster.
        best: the slots of the best one.
        raw: the slots of the best one before rounding to a podCountMultiple.
        excluded: why nodes are excluded for other reasons than want of room.
        why: what room alone does not tell, such as that members exclude each other.

    """
    rounded = f" ({raw} without podCountMultiple)" if raw >= pods else ""
    end = f"; excluded nodes: {lost_nodes(excluded)}" if excluded and layer else ""
    its = "its pod" if pods == 1 else f"its {pods} pods" if raw else f"even one of its {pods} pods"
    if not layer and raw:
        return f"the cluster has room for {best} of {its}{rounded}{_because(why)}."
    best_has = f"; the best has {best}{rounded}" if raw else ""
    where = f"no {layer_noun(layer)} has" if layer else "the cluster has no"
    return f"{where} room for {its}{best_has}{_because(why)}{end}."


def no_node_fits(pod: str, each: Resources, refused: Iterable[Refused], scattered: str = "") -> str:
    """Return why no node fits a pod; `pod` is empty where the answer is about this pod alone.

    scattered: that enough is free, and where, empty where that is not so.
    """
    but = f"{scattered}; " if scattered else ""
    return f"no node fits {pod or 'it'} ({requests(each)}): {but}{lost_nodes(refused)}."


def some_fit(placed: int, pods: int, each: Sequence[Resources], why: str = "") -> str:
    """Return how many fit of the pods that are bound one by one, and why not more, where room alone does not tell."""
    return f"{placed} of its {pods} pending pods {_fit(placed)} ({requests_of_each(each)} each){_because(why)}."


def too_few_fit(placed: int, pods: int, minimum: int, each: Sequence[Resources], why: str = "") -> str:
    """Return how many fit of the pods of which a minimum must be bound together, and why not more, likewise."""
    fit = f"{_fit(placed)} at the same time, {minimum} must"
    return f"only {placed} of its {pods} pods {fit} ({requests_of_each(each)} each){_because(why)}."


def _because(why: str) -> str:
    return f": {why}" if why else ""


def _fit(pods: int) -> str:
    return "fits" if pods == 1 else "fit"


def waits_for_victims(pods: Sequence[str], overdue: str) -> str:
    """Return which preempted pods must terminate first, and which of them are late, if any."""
    late = f"; {overdue}" if overdue else ""
    return f"it waits for {count(len(pods), 'preempted pod')} to terminate: {listed(pods)}{late}."


def tried_first(pod: str, each: Resources) -> str:
    """Return the case that the scheduler tries this pod first."""
    return f"the scheduler tries {pod} first ({requests(each)})"


def tried_late(pods: Sequence[str]) -> str:
    """Return the case that the scheduler tries these pods only when enough others have a place."""
    return f"the scheduler tries {listed(pods)} only after enough others"


def leaves_domain(pod: str, layer: str, domain: str, *, certain: bool) -> str:
    """Return that a pod made anew is, or may be, placed outside the domain in which the rest of its gang is."""
    noun = layer_noun(layer)
    kind = "" if domain.startswith(noun) else f"{noun} "
    stay = f"its gang must stay together in one {noun} (MustGather {layer}), and is in {kind}{domain}"
    if certain:
        return (
            f"{stay}, where no node takes {pod}: it would be placed outside, as a gang that ran is no longer planned."
        )
    return f"{stay}: {pod} may be placed outside, as a gang that ran is no longer planned."


def would_preempt(pods: Sequence[str], where: str) -> str:
    """Return whom the pods would preempt if their preemption policy were not Never, and where to let them."""
    return (
        f"it could preempt {count(len(pods), 'pod')} ({listed(pods)}) and then run, but for its preemptionPolicy Never."
        f" Name a PriorityClass with preemptionPolicy PreemptLowerPriority in {where}, recreate its pods."
    )


def not_created(cause: str, controller: str, said: str, age: str) -> str:
    """Return a cause, and what a controller last said of pods that it could not make, so long ago."""
    since = f" (last {age} ago)" if age else ""
    return f"{cause} {controller} could not make more{since}: {said.removeprefix('Error creating: ').rstrip('.')}."


def not_retried(latest: str, *, by_members: bool, has_topology: bool) -> str:
    """Return when the scheduler will try again a subject that would be placed now: by this time, where it is known.

    by_members: whether its own members mostly bring it back, without any change.
    """
    wakes = "freed room need not wake it" if has_topology else "not every change wakes it"
    again = "mostly it is tried again within seconds, and" if by_members else f"{wakes}, and it is tried again"
    by = f", here by {latest}" if latest else ""
    return (
        f"it would be placed now, but the scheduler has not retried yet: {again} at the latest"
        f" 5 min 30 s after its last attempt{by}."
    )


def wanted_beyond(enough: int, pods: int) -> str:
    """Return that a gang would start with so many of its pods, and room is wanted for all."""
    return f"{enough} of its {pods} pods would fit and be enough, but the scheduler wants room for all at once."


def some_bound_later(minimum: int, pods: Collection[object]) -> str:
    """Return that of these pods only the minimum is certain to be bound at once."""
    are = "is" if minimum == 1 else "are"
    return (
        f"only {minimum} of its {len(pods)} pods {are} certain to be bound at once: the round ends"
        " when the minimum is met, and the others follow some minutes later."
    )


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


def preemption_tried_first(pod: str) -> str:
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


LISTING = "this list"
NO_REASON = "no reason was found."
GONE = "gone"
NONE_UNFINISHED = "no unfinished pods any more"


def called(name: str, *, lone_pod: bool) -> str:
    """Return what a subject is called within a sentence."""
    return f"pod {name}" if lone_pod else name


def list_incomplete(unread: str) -> str:
    """Return that a listing may lack something, and what was unread."""
    return f"may be incomplete: {unread.rstrip('.')}"


def on_nodes(pods: int, *, lone_pod: bool) -> str:
    """Return that a subject is scheduled, and how many of its pods are."""
    return f"scheduled: {'it is' if lone_pod else count(pods, 'pod')} on a node"


def too_few(bound: int, minimum: int) -> str:
    """Return that nothing is pending and less than the minimum is on nodes."""
    return f"no pending pods, {bound} on a node, {minimum} needed"


def pending(reason: str) -> str:
    """Return that a subject is pending, and why."""
    return f"pending: {reason.rstrip('.')}"


def undecided(reason: str) -> str:
    """Return that nobody can tell whether a subject would be placed, and why."""
    return f"cannot tell whether it would be placed: {reason.rstrip('.')}"


def would_be_placed(pods: Collection[str], nodes: Sequence[str]) -> str:
    """Return that a subject would be placed; where the nodes are known, how many pods on which."""
    where = f": {count(len(pods), 'pod')} on {listed(nodes)}" if nodes else ""
    return f"would be placed now{where}"


def ended_scheduled(name: str, state: str) -> str:
    """Return that the wait for a subject is over."""
    return f"{name} is {state}."


def ended_too_few(name: str, waited: str, state: str) -> str:
    """Return that a subject has nothing pending when the time is over, and is not scheduled."""
    return f"{name} is not scheduled after {waited}: {state}."


def ended_not_retried(name: str, waited: str) -> str:
    """Return that a subject would be placed when the time is over."""
    return f"{name} is still pending after {waited}: it would be placed now, but the scheduler has not retried yet."


def ended_pending(name: str, waited: str, reason: str, *, certain: bool) -> str:
    """Return that a subject is pending when the time is over, and why it is, or may be."""
    doubt = "" if certain else "cannot tell whether it would be placed: "
    return f"{name} is still pending after {waited}: {doubt}{reason}"


def pod_gone(key: str) -> str:
    """Return that a pod is there no more."""
    return f"pod {key} was deleted or has finished"


def gang_not_seen(key: str) -> str:
    """Return that no pods of a gang are left, and whether there is a PodGroup could not be read."""
    return f"{key} has no unfinished pods left, and PodGroups could not be read"


def gang_gone(key: str) -> str:
    """Return that a gang is there no more."""
    return f"{key} no longer exists: it has no unfinished pods and no PodGroup"


def bound_changed(bound: int, pods: int, before: int) -> str:
    """Return how many pods are on nodes, and how many were."""
    return f"{bound} of {count(pods, 'pod')} on a node (was {before})"


def pending_changed(pods: int, before: int) -> str:
    """Return how many pods are pending, and how many were."""
    return f"{count(pods, 'pod')} pending (was {before})"


def slots_changed(slots: int, wanted: int | None, domain: tuple[str, str], before: int | None) -> str:
    """Return the slots of a domain, a layer and a name, and how many it had; None where it was not there."""
    layer, name = domain
    of_wanted = f" of {wanted}" if wanted is not None else ""
    was = "new" if before is None else f"was {before}"
    return f"{slots}{of_wanted} slots in {name or f'the {layer_noun(layer)}'} ({was})"


def now_helps(messages: Sequence[str]) -> str:
    """Return the first of the ways out that are new."""
    return f"now helps: {_progress_first(messages)}"


def no_longer_helps(messages: Sequence[str]) -> str:
    """Return the first of the ways out that are none any more."""
    return f"no longer helps: {_progress_first(messages)}"


def _progress_first(messages: Sequence[str]) -> str:
    return messages[0] + (f" (the first of {len(messages)})" if messages[1:] else "")


def decides(gang: VolcanoGang) -> str:
    """Return that Volcano decides about a gang, and how far it is."""
    return f"Volcano schedules it ({_phase(gang)}, queue {gang.queue}); no decision is computed for another scheduler"


def volcano_state(gang: VolcanoGang) -> str:
    """Return how far a gang is, without its name: `phase Inqueue: 2 pods pending, none running`."""
    pods = [f"{count(len(gang.pending), 'pod')} pending"] if gang.pending else []
    pods.append(f"{gang.running or 'none'} running")
    pods += [f"{number} {word}" for number, word in ((gang.succeeded, "succeeded"), (gang.failed, "failed")) if number]
    return f"{_phase(gang)}: {', '.join(pods)}"


def volcano_scheduled(gang: VolcanoGang) -> str:
    """Return that Volcano has scheduled a gang, as the end of a sentence that begins with its name."""
    return f"scheduled by Volcano ({volcano_state(gang)})"


def _phase(gang: VolcanoGang) -> str:
    return f"phase {gang.phase}" if gang.phase else "no phase yet"


def queue_changed(gang: VolcanoGang) -> str:
    """Return the state of a gang's queue, which was another."""
    return f"queue {gang.queue} is {gang.queue_state or 'without a state'}"


def gone(key: str) -> str:
    """Return that a gang is there no more."""
    return f"{key} no longer exists: it has no PodGroup of Volcano"


def last_said(gang: VolcanoGang) -> str:
    """Return the newest of its conditions in a line, empty without any."""
    newest = max(gang.conditions, key=lambda one: one.since, default=None)
    return said(newest) if newest is not None else ""


def said(one: VolcanoCondition) -> str:
    """Return a condition in a line: `Unschedulable: NotEnoughResources: 2/2 tasks in gang unschedulable`."""
    head = one.type if one.status in {"True", ""} else f"{one.type}={one.status}"
    return ": ".join(filter(None, (head, one.reason, one.message)))


DETAILS = command("why-pending", "GANG")
OUTSIDE = "OUTSIDE: members that run outside the must-gather domain that most of them are in."
HOPS = "HOPS: layers between members with neighbouring numbers, on average and at most; 0 is the same node."
_VERDICTS: dict[Verdict, str] = {"no": "cannot start now", "yes": "would be placed now", "unknown": "unknown"}
_STALE: dict[StaleFault, str] = {
    "more-bound": "stale: enough pods are bound",
    "fewer-bound": "stale: too few pods are bound",
    "used-again": "stale: it has pods again, and this phase is never left",
}


def headline(report: GangsReport) -> str:
    """Return how many gangs there are, how many of them wait, and how many of those cannot start."""
    if not report.items:
        doubt = "" if report.verdict == "yes" else " among the objects that could be read"
        where = f" in namespace {report.namespace}" if report.namespace else ""
        return f"There is no {'such ' if report.selected else ''}gang{where}{doubt}."
    waiting = Counter(item.verdict for item in report.items if item.pending)
    total = count(len(report.items), "gang")
    if not waiting:
        return f"{total}, none with pending pods."
    parts = [f"{waiting[verdict]} {words}" for verdict, words in _VERDICTS.items() if waiting[verdict]]
    return f"{total}, {waiting.total()} with pending pods: {', '.join(parts)}."


def state(item: GangRow) -> str:
    """Return in a word how a gang does: the cause why it waits, or how much of it runs."""
    if item.pending:
        return item.cause or {"yes": "would-start", "no": "(no)", "unknown": "(unknown)"}[item.verdict]
    if item.running:
        return "running"
    return "finished" if item.finished else "no pods"


def progress(item: GangRow) -> str:
    """Return in a line how a gang does now: `running: 2 of 2 pods bound, 0 pending`."""
    counted = f"{item.bound} of {count(item.pods, 'pod')} bound, {item.pending} pending"
    return "; ".join(filter(None, [f"{state(item)}: {counted}", note(item)]))


def span(item: GangRow, node_layer: str) -> str:
    """Return how many domains of each layer the running members are in: `1 spine, 2 blocks`."""
    return ", ".join(count(used, layer_noun(layer)) for layer, used in item.span.items() if layer != node_layer)


def nodes(item: GangRow, node_layer: str) -> str:
    """Return on how many nodes of the tree it runs."""
    return str(item.span[node_layer]) if node_layer in item.span else ""


def note(item: GangRow) -> str:
    """Return what the phase of its PodGroup does not know."""
    return f"its phase is {_STALE[item.stale]}" if item.stale else ""


def hops(found: Hops | None) -> str:
    """Return how far apart neighbours run, on average and at most."""
    return f"{found.mean:g}, {found.most}" if found is not None else ""
