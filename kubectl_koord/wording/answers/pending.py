"""The sentences of `why-pending`: causes, what bears on an answer, and what else may come."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

from kubectl_koord.engine.reasons.nodes import Reason, Refused
from kubectl_koord.model.pods import Resources
from kubectl_koord.model.snapshot import Gap
from kubectl_koord.model.unevaluated import Unevaluated
from kubectl_koord.wording.basis import could_not_be_read
from kubectl_koord.wording.evidence import lost_nodes, multiples
from kubectl_koord.wording.refusals.nodes import obstacle
from kubectl_koord.wording.unevaluated import unevaluated_names
from kubectl_koord.wording.words import count, layer_noun, listed, requests, requests_of_each

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
