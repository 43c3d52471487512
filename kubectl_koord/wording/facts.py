"""Sentences about facts that several answers give: quotas, reservations, moves, the scheduler's words."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from kubectl_koord.engine.reasons import Reason, Refused
from kubectl_koord.engine.tree import TreeFault
from kubectl_koord.messages.parser import ParsedMessage, QuotaMessage, TopologyMessage
from kubectl_koord.model import objects, values
from kubectl_koord.model.pods import ReservedRoom, RunningPod
from kubectl_koord.model.snapshot import Gap
from kubectl_koord.model.values import Resources
from kubectl_koord.reports.capacity import HeldBack, Share
from kubectl_koord.reports.common import BrokenGang, DomainName, FreedPod, GangReservation, Migration, Verdict
from kubectl_koord.reports.jobs import SchedulerSays, SlotRow
from kubectl_koord.wording.refusals import MANAGER_OFF, fault_clause, obstacle, obstacles
from kubectl_koord.wording.words import (
    age_at,
    amount_of,
    amounts,
    amounts_of,
    count,
    few,
    layer_noun,
    listed,
    main_amounts,
    requests,
    resource_name,
    sentence,
)

_MOST_NAMED, _MOST_JOBS = 4, 2


def main_obstacles(main: Sequence[str], more: int, ahead: str = "") -> str:
    """Return what is in the way on some nodes, on how many more something is, and who goes first."""
    rest = f" and {count(more, 'more node')}" if more else ""
    return ", ".join(filter(None, [", ".join(main) + rest, ahead]))


def goes_first(nodes: Mapping[str, Sequence[str]]) -> str:
    """Return which jobs go first, and on which nodes each: `ns/a goes first on n1 and n2`."""
    each = [f"{job} goes first on {few(on, _MOST_NAMED)}" for job, on in nodes.items()]
    rest = len(each) - _MOST_JOBS
    return listed([*each[:_MOST_JOBS], *([count(rest, "more job")] if rest > 0 else [])])


def multiples(numbers: Mapping[str, int]) -> str:
    """Return every podCountMultiple with its layer: `podCountMultiple 4 of BlockLayer`."""
    return f"podCountMultiple {listed([f'{number} of {layer}' for layer, number in numbers.items()])}"


def cannot_be_split(numbers: Mapping[str, int]) -> str:
    """Return that the pods are no multiple of what each domain takes."""
    return f"the pods cannot be split by {multiples(numbers)}"


def never_fits(most: int, desired: int, nodes: int, unrounded: int, *, refused: bool) -> str:
    """Return how many pods a domain takes at most, and without podCountMultiple where that makes a difference.

    refused: whether it takes fewer when it is merely empty, as taints, load and the like still count then.
    """
    alone = " and nothing else refuses them" if refused else ""
    without = f"; {unrounded} without podCountMultiple" if most < unrounded else ""
    return f"fits at most {most} of {desired} pods even when empty{alone} ({count(nodes, 'node')}{without})"


def outside_tree(lacking: Sequence[str]) -> str:
    """Return that a node is outside the tree, where no pod of the gang goes, and which labels it lacks."""
    return f"outside the tree: lacks the label {listed(lacking)}"


def node_refuses(name: str, reason: Reason | None) -> str:
    """Return why a node refuses pods, whatever pods are on it."""
    return f"{name}: {obstacle(reason) if reason else 'full'}"


def node_taken(
    name: str,
    need: Collection[str],
    using: Sequence[RunningPod | ReservedRoom],
    nominated: Sequence[str],
) -> str:
    """Return who takes what is needed, pods on a node and those nominated to it; empty where nobody does.

    `n1: a and b (4 GPU each, priority 5 to 9) and nominated for ns/c`.
    """
    found = [_largest_first(using, need)] if using else []
    found += [f"nominated for {listed(nominated)}"] if nominated else []
    return f"{name}: {listed(found)}" if found else ""


def _largest_first(using: Sequence[RunningPod | ReservedRoom], need: Collection[str]) -> str:
    largest = amounts((resource, number) for resource, number in using[0].requirements.requests if resource in need)
    names = listed([f"reservation {one.name}" if isinstance(one, ReservedRoom) else one.name for one in using])
    priorities = sorted({one.priority for one in using})
    span = str(priorities[0]) if len(priorities) == 1 else f"{priorities[0]} to {priorities[-1]}"
    is_alike = all(one.requirements.requests == using[0].requirements.requests for one in using)
    each = f"{largest}, " if len(using) == 1 else f"{largest} each, " if is_alike else ""
    return f"{names} ({each}priority {span})"


def lost_nodes(refused: Iterable[Refused]) -> str:
    """Return the reasons for which nodes refuse, the commonest first, each with the number of nodes."""
    return (
        listed([f"{why} ({count(number, 'node')})" for why, number in obstacles(refused)]) or "the cluster has no nodes"
    )


NO_GPUS = "no node has GPUs"


def pods_of(needs: Resources) -> str:
    """Return what pods are called that only request this."""
    return f"pods of {requests(needs)}"


def refused_by_nodes(reasons: Iterable[Refused]) -> str:
    """Return why nodes refuse pods of a shape for which they have enough free."""
    return f"nodes with enough free take none: {lost_nodes(reasons)}."


def twice(resource: str) -> str:
    """Return that a resource is given twice."""
    return f"{resource} is given twice"


def unreadable(part: str) -> str:
    """Return that a part has neither of the two forms."""
    return f"{part!r} is not of the form 8gpu or NAME=AMOUNT"


def no_quantity(part: str, problem: str) -> str:
    """Return what is wrong with an amount."""
    return f"{part!r}: {problem}"


def nothing(part: str) -> str:
    """Return that an amount must be more than 0."""
    return f"{part!r} must be more than 0"


def refused(resource: str, why: str) -> str:
    """Return that the API server refuses an amount."""
    return f"the amount of {resource} {why}"


def no_such_resource(name: str) -> str:
    """Return that no node has a resource."""
    return f"no node has the resource {name!r}"


def needs_shares(resource: str) -> str:
    """Return that a part of a GPU cannot be asked for by a vendor's resource."""
    return f"a part of a GPU needs nodes with {resource}"


_ROOT = "(root)"
NO_TOPOLOGY_SPEC = "it has no topology spec, so the scheduler looks at nodes alone."
RAN_BEFORE = "it ran before, so the scheduler places each of its pods alone."
NO_MANAGER = f"{MANAGER_OFF}: gangs with a topology spec are never placed."


def no_tree(fault: TreeFault) -> str:
    """Return why no tree can be built."""
    return f"{fault_clause(fault)}."


def node_state(*, unschedulable: bool, ready: bool) -> str:
    """Return what keeps all pods from a node; empty where nothing does."""
    if unschedulable:
        return "cordoned"
    return "" if ready else "not ready"


def places_on_not_ready(nodes: Sequence[str]) -> str:
    """Return that the scheduler places pods on nodes that are not ready."""
    verb, there = ("is", "there") if len(nodes) == 1 else ("are", "on them")
    return (
        f"{listed(nodes)} {verb} not ready: the scheduler looks at taints alone, and places pods {there} all the same."
    )


def merged(layer: str, name: str, parents: Sequence[str]) -> str:
    """Return that a domain is named below several parents; an empty name is the root."""
    below = listed([parent or _ROOT for parent in parents])
    return (
        f"{layer} {name} has several parents ({below}): the scheduler treats it as one domain,"
        " below the parent that it reads first."
    )


def outside(nodes: int) -> str:
    """Return how many nodes are outside the tree."""
    verb = "is" if nodes == 1 else "are"
    return f"{count(nodes, 'node')} {verb} outside the tree: gangs with a topology spec are never placed there."


def virtual(domains: Sequence[str]) -> str:
    """Return which nodes are domains of their own, as they lack the label of the lowest layer."""
    verb = "lacks" if len(domains) == 1 else "lack"
    return (
        f"{count(len(domains), 'node')} {verb} the label of the lowest layer: each is a domain of its own"
        f" ({listed(domains)})."
    )


def stale_status(domains: int, first: tuple[str, str], written: int, now: int) -> str:
    """Return in how many domains the status differs; of the first, its layer and name, the nodes in it and now."""
    layer, name = first
    return (
        f"the status of the ClusterNetworkTopology is stale in {count(domains, 'domain')}, such as"
        f" {layer} {name or _ROOT} (status: {written} nodes, now: {now})."
    )


def eviction_effects(pods: Sequence[FreedPod], broken: Sequence[BrokenGang]) -> str:
    """Return what evicting these pods does to others, to follow a sentence; empty where it does nothing."""
    return "".join(f"; {clause}" for clause in _clauses(pods, broken))


def preemption_effects(pods: Sequence[FreedPod], broken: Sequence[BrokenGang]) -> str:
    """Return what preempting these pods does to others, to follow a sentence: the scheduler ignores budgets."""
    names = [name for name, covered in _by_budget(pods).items() if not all(pod.evictable for pod in covered)]
    ignored = f"; it ignores budget {listed(names)}" if names else ""
    return ignored + "".join(f"; {clause}" for clause in _breaking(broken))


def _clauses(pods: Sequence[FreedPod], broken: Sequence[BrokenGang]) -> Iterator[str]:
    protected = [pod.pod for pod in pods if pod.protected]
    if protected:
        yield f"{listed(protected)} {'is' if len(protected) == 1 else 'are'} protected from preemption"
    for name, covered in _by_budget(pods).items():
        refused = [pod for pod in covered if not pod.evictable]
        if any(pod.pod_disruption_budget is not None and pod.pod_disruption_budget.violated for pod in refused):
            why = f"budget {name} allows no more disruptions"
        else:
            why = f"budget {name} is not its only one"
        if refused:
            yield f"the API server refuses to evict {listed([pod.pod for pod in refused])} now, as {why}"
        else:
            yield f"budget {name} allows to evict {listed([pod.pod for pod in covered])}"
    yield from _breaking(broken)
    if not all(pod.budgets_read for pod in pods):
        yield "PodDisruptionBudgets could not be read"


def _breaking(broken: Iterable[BrokenGang]) -> Iterator[str]:
    for gang in broken:
        yield f"gang {gang.gang} falls below its minimum ({gang.left} left, {gang.min_member} needed)"


def _by_budget(pods: Iterable[FreedPod]) -> Mapping[str, Sequence[FreedPod]]:
    found: dict[str, list[FreedPod]] = {}
    for pod in pods:
        if pod.pod_disruption_budget is not None:
            found.setdefault(pod.pod_disruption_budget.name, []).append(pod)
    return found


MIGRATIONS = "Pods that are being moved"
RESERVATIONS = "Reservations for its pods"
NOT_PLACED = "(not placed)"


def breaks_gang(jobs: Sequence[Migration], broken: BrokenGang) -> str:
    """Return that evicting the pods that jobs move brings a gang below its minimum."""
    pods, names = listed([one.pod for one in jobs]), listed([one.job for one in jobs])
    kind, verb = ("PodMigrationJob", "moves") if len(jobs) == 1 else ("PodMigrationJobs", "move")
    left = f"{broken.left} of {count(broken.bound, 'pod')} left, {broken.min_member} needed"
    evicted = "it is evicted" if len(jobs) == 1 else "they are evicted"
    return f"{kind} {names} {verb} {pods}: when {evicted}, gang {broken.gang} falls below its minimum ({left})."


def leaves_domain(jobs: Sequence[Migration], gang: str, left: DomainName) -> str:
    """Return that the pods that jobs move are to come back outside the domain of the rest of their gang."""
    pods, names = listed([one.pod for one in jobs]), listed([one.job for one in jobs])
    nodes = listed(sorted({one.to for one in jobs if one.to}))
    kind, verb = ("PodMigrationJob", "moves") if len(jobs) == 1 else ("PodMigrationJobs", "move")
    domain = f"{layer_noun(left.layer)} {left.name}"
    must = f"its pods must stay together there (MustGather {left.layer})"
    return f"{kind} {names} {verb} {pods} to {nodes}, outside {domain} with the rest of gang {gang}: {must}."


def described(one: Migration) -> str:
    """Return how far a migration is, and where the pod goes: `Running (Evicting), to n3; PodMigrationJob x`."""
    return f"{_state(one)}, {_goes_to(one)}; PodMigrationJob {one.job}{_replaced(one)}"


def _state(one: Migration) -> str:
    phase = "paused" if one.paused else one.phase
    details = one.reason or one.status
    return f"{phase} ({details})" if details and details != phase else phase


def _goes_to(one: Migration) -> str:
    if one.to is not None:
        return f"to {one.to} (Reservation {one.reservation})"
    if one.reservation is not None:
        return f"Reservation {one.reservation} is not placed yet"
    return "to wherever it is placed" if one.mode == "EvictDirectly" else "no Reservation yet"


def _replaced(one: Migration) -> str:
    return f", replaced by {one.replacement}" if one.replacement is not None else ""


def concerns(one: GangReservation) -> str:
    """Return what a Reservation is to a gang."""
    parts = [f"used by {listed(one.drawing)}"] if one.drawing else []
    parts += [f"{count(one.may_draw, 'pending pod')} may use it"] if one.may_draw else []
    parts += ["counts as a member"] if one.is_member else []
    parts += [f"made for PodMigrationJob {one.job}"] if one.job is not None else []
    return "; ".join(parts)


NO_QUOTAS = "No ElasticQuota exists: no pod is limited by a quota."
NOTHING_HELD_BACK = "No quota holds back any pod."
OFF = "The over-use controller is off (monitorAllQuotas): no pod is evicted for its quota."
OFF_WITHOUT_RUNTIME = "The over-use controller is off (enableRuntimeQuota): no pod is evicted for its quota."
ON = (
    "The over-use controller is on (monitorAllQuotas): it evicts pods of a quota that stays above its runtime for"
    " longer than delayEvictTime."
)


def counted(resource: str, written: str) -> str:
    """Return an amount that is spelled as a quantity as people count it, and anything else as it is."""
    try:
        number = values.amount(resource, values.parse(written))
    except values.QuantityError:
        return written
    return amount_of(resource, number, "rounded")


def spelled_amount(resource: str, written: str) -> str:
    """Return an amount that is spelled as a quantity with what it is of: `8 GPU`."""
    return f"{_told(resource, [written])[0]} {resource_name(resource)}"


def _told(resource: str, written: Sequence[str]) -> Sequence[str]:
    """Return amounts of one sentence that are spelled as quantities as people count them, any others as they are."""
    try:
        return amounts_of(resource, *(values.amount(resource, values.parse(one)) for one in written))
    except values.QuantityError:
        return written


def held_together(held: Sequence[HeldBack]) -> str:
    """Return what quotas hold back together: `48 GPU`; nothing where nobody asks for anything."""
    total: dict[str, int] = {}
    for one in held:
        for resource, written in one.requests.items():
            total[resource] = total.get(resource, 0) + values.amount(resource, values.parse(written))
    return main_amounts(total)


def headline(held: Sequence[HeldBack], quotas: int) -> str:
    """Return how many quotas hold back how much of how many gangs and pods, of so many quotas."""
    if not held:
        return f"{NOTHING_HELD_BACK[:-1]} ({count(quotas, 'quota')})."
    gangs = {hold.gang for one in held for hold in one.gangs if not hold.lone_pod}
    pods = {pod for one in held for hold in one.gangs for pod in hold.pods}
    whose = f"{count(len(gangs), 'gang')} ({count(len(pods), 'pod')})" if gangs else count(len(pods), "pod")
    much = held_together(held)
    return f"{count(len(held), 'quota')} {_holds(len(held))} back {much + ' of ' if much else ''}{whose}."


def _holds(number: int) -> str:
    return "holds" if number == 1 else "hold"


def held(one: HeldBack) -> str:
    """Return how much one quota holds back, of which gangs."""
    names = [f"{'pod ' if hold.lone_pod else ''}{hold.gang}{_some(hold.of, len(hold.pods))}" for hold in one.gangs]
    much = f"{one.waiting_for} of " if one.waiting_for else ""
    return f"Quota {one.quota} holds back {much}{listed(names)}."


def _some(all_of_them: int, refused: int) -> str:
    return f" ({refused} of {count(all_of_them, 'pod')})" if refused < all_of_them else ""


def holders(shares: Iterable[Share]) -> str:
    """Return who uses more than its minimum of what a quota lacks."""
    by_resource: dict[str, list[Share]] = {}
    for share in shares:
        by_resource.setdefault(share.resource, []).append(share)
    parts: list[str] = []
    for resource, found in by_resource.items():
        told = _told(resource, [one.amount for one in found])
        name = resource_name(resource)
        parts += [f"{listed(one.quotas)} {amount} {name}" for one, amount in zip(found, told, strict=True)]
    return f"Used above their minimums: {listed(parts)}."


def lent(quota: str, share: Share) -> str:
    """Return what a quota lends, and who may have it."""
    limit = "" if share.exact else "up to "
    return f"{quota} lends {limit}{spelled_amount(share.resource, share.amount)} to {listed(share.quotas)}."


def borrowed(quota: str, share: Share) -> str:
    """Return what a quota uses above its minimum, and from whose minimums that may come."""
    part = f"up to {spelled_amount(share.resource, share.of_it)} of it " if share.of_it else ""
    of = f" ({part}from {listed(share.quotas)})" if share.quotas else ""
    return f"{quota} uses {spelled_amount(share.resource, share.amount)} above its minimum{of}."


def unknown(why: str) -> str:
    """Return that the quotas cannot be shown, and why."""
    return f"Cannot show quotas: {why.rstrip('.')}."


def amounts_unknown(why: str) -> str:
    """Return that what quotas use and may use is unknown, and why."""
    return f"Cannot tell what quotas use and may use: {why.rstrip('.')}."


def of_quota(name: str, chain: Sequence[str], pods: int, pending: int, held_back: int) -> str:
    """Return how many pods one quota has, how many of them are pending and refused; and the quotas above it."""
    waiting = f", {pending} of them pending" if pending else ""
    refused = f"; it holds back {held_back or 'none'} of these" if pending else ""
    return f"Quota {name}{_below(chain)} has {count(pods, 'pod')}{waiting}{refused}."


def _below(chain: Sequence[str]) -> str:
    return f" (below {' < '.join(chain)})" if chain else ""


def admits(gang: str, pods: int, admitted: int, refusal: str) -> str:
    """Return how many of a gang's pending pods quotas admit, and why they stop there."""
    if not pods:
        return f"{gang} has no pending pods: there is nothing to admit."
    if admitted == pods:
        return f"Quotas admit all {count(pods, 'pending pod')} of {gang}." if pods > 1 else f"Quotas admit {gang}."
    return f"Quotas admit {admitted} of {count(pods, 'pending pod')} of {gang}: {refusal.rstrip('.')}."


def cannot_admit(gang: str, why: str) -> str:
    """Return that it is open how many pods quotas admit."""
    return f"Cannot tell how many pods of {gang} quotas admit: {why.rstrip('.')}."


def unlimited(gang: str) -> str:
    """Return that no quota limits a gang."""
    return f"No quota limits {gang}."


def depends_on(names: str) -> str:
    """Return what decides and is not evaluated."""
    return f"that depends on {names}, which is not evaluated"


def more_quotas(number: int) -> str:
    """Return how many more quotas there are."""
    return f"... and {count(number, 'more quota')} (--all shows them)"


DEPENDS_ON_LANDING = "it depends on where the scheduler places pending reservations; no object shows this."
ONLY_RESERVATIONS = "what it would choose are reservations, which it cannot delete"
_RESERVATIONS_MOST_NAMED = 3


def once_placed(landing: Sequence[tuple[str, str]], case: str) -> str:
    """Return a case with where pending reservations are placed before."""
    if not landing:
        return case
    placed = [
        f"reservation {name} is placed {f'on {node}' if node else 'over running pods'}"
        for name, node in landing[:_RESERVATIONS_MOST_NAMED]
    ]
    more = (
        [f"{len(landing) - _RESERVATIONS_MOST_NAMED} more on other nodes"]
        if len(landing) > _RESERVATIONS_MOST_NAMED
        else []
    )
    return f"{', '.join([*placed, *more])}, and {case}"


OWNERS_FORGOTTEN = (
    "it depends on running pods that own a reservation: a scheduler of this version may forget them when it starts,"
    " and then counts both."
)


def plugin_off(points: Sequence[str]) -> str:
    """Return what becomes of reservations where the profile does not enable their plugin at some points."""
    effects = []
    if set(points) - {"reserve"}:
        effects.append("what pods may or must use of reservations is not checked")
    if "reserve" in points:
        effects.append("pods do not use up the reservations that they match, which keep their room beside them")
    return f"the scheduler's profile does not enable plugin Reservation at {listed(points)}: {' and '.join(effects)}."


def members(names: Sequence[str]) -> str:
    """Return that pending reservations count as members of the gang."""
    are = "reservation {} counts as a member" if len(names) == 1 else "reservations {} count as members"
    return f"pending {are.format(listed(names))} of the gang, each with a pod of its own that the scheduler places."


def bound_members(names: Sequence[str]) -> str:
    """Return that reservations on nodes count as bound members of the gang."""
    are = "reservation {} counts as a bound member" if len(names) == 1 else "reservations {} count as bound members"
    return f"{are.format(listed(names))} of the gang as long as {'it exists' if len(names) == 1 else 'they exist'}."


def preempts(name: str, pods: Sequence[str]) -> str:
    """Return whom a pending reservation preempts."""
    return f"pending reservation {name} goes first, finds no room, and would preempt {listed(pods)}."


def overcommitted(nodes: Sequence[str]) -> str:
    """Return where 1.7 places more than there is room for."""
    return (
        f"{listed(nodes)} would be overcommitted: it needs more there than its reservation holds, and more than is left"
        " beside it."
    )


def victims(names: Sequence[str]) -> str:
    """Return that preemption cannot delete reservations."""
    noun = "reservation" if len(names) == 1 else "reservations"
    return f"preemption would choose {noun} {listed(names)}, which it cannot delete: that room stays reserved."


# Coscheduling registers no cluster events: nothing that happens to nodes or other pods wakes what it alone refused.
# An update of a PodGroup wakes its gang where it ends a lack of pods, and not otherwise.
RETRIES_SELDOM = (
    "it retries within 5 min 30 s, or at once when a pod is added or minMember goes above its pods and back"
)
RETRIES_OFTEN = "it mostly retries within seconds, after 5 min 30 s at the latest"
RETRIES_SOON = "it retries when resources are freed or the cluster changes, after 5 min 30 s at the latest"
UNCHANGED = "it is unchanged"
PLACED_NOW: Mapping[Verdict, str] = {
    "yes": "it would be placed",
    "no": "it would still not be placed",
    "unknown": "",
}
_HOLDS = {True: "still true", False: "no longer true", None: "may be outdated"}

_SENTENCES = {
    "gang-unknown": "did not know gang {gang}",
    "gang-not-initialised": "found no valid minimum for gang {gang}",
    "gang-gone": "found that the gang was deleted",
    "group-incomplete": "found the gang group incomplete: {reason}",
    "group-in-round": "had not tried the pod in this round yet",
    "group-attempted": "had tried every pod of the gang once, which ended the round",
    "member-represents": "tried {pod} for the whole gang",
    "member-not-known": "did not have {pod} among the gang's pods",
    "member-unreserved": "gave up the round because {pod} could not be bound in time",
    "no-topology": "had no topology tree",
    "no-pending-pods": "found no pending pods to plan for",
    "plan-invalid": "found that its plan was no longer valid",
    "batch-failed": "failed to place {failed} of the planned pods, {pod} first: {reason}",
    "batch-waits": "ended the round while {pods} pods still waited",
    "batch-not-permitted": "did not permit {pod} on {node}: {reason}",
    "permit-timeout": "gave up after waiting {waited} for the other pods",
    "preempted": "gave the place of this waiting pod to another",
    "preempt-success": "preempted pods for it and retries when they have terminated",
    "preempts-never": "may not preempt for it: preemptionPolicy is Never",
    "victims-terminate": "waited for preempted pods to terminate",
    "quota-hook": "was refused by the quota hook {plugin}: {reason}",
    "no-reservation": "found no reservation that matches the reservation affinity",
    "other-scheduler": "found another scheduler's name on the pod",
    "being-deleted": "found the pod being deleted",
    "plugin-failed": "failed in plugin {plugin}: {reason}",
    "filter-failed": "gave up the attempt because plugin {plugin} failed: {reason}",
    "device-amount-invalid": "refused the amount {amount} of {resource}",
    "device-set-invalid": "refused this set of device resources: {resources}",
    "device-annotation-unreadable": "could not read annotation {annotation}: {reason}",
    "device-selector-invalid": "could not read {selector} of the device hint for {type}: {reason}",
    "device-template-missing": "found no template for the requested share of the device",
    "cpus-not-integer": "refused parts of a CPU for a pod whose CPUs are bound",
    "claim-unbound": "found a volume claim that must be bound before pods are scheduled",
    "claim-missing": "did not find volume claim {claim}",
    "claim-deleted": "found volume claim {claim} being deleted",
    "claim-of-other": "found that volume claim {claim} was not made for this pod",
    "claim-awaited": "waited for volume claim {claim} of an ephemeral volume",
    "volume-missing": "did not find volume {volume}",
    "device-class-missing": "did not find device class {class}",
    "before-1.7-too-few-pods": "found too few pods of the gang (a scheduler older than 1.7)",
    "before-1.7-cycle": "was not in the right cycle of the gang (a scheduler older than 1.7)",
    "before-1.7-rejected": "rejected the gang because of {pod}: {reason} (a scheduler older than 1.7)",
}


def understood(parsed: ParsedMessage) -> str:
    """Return what a message says, `the scheduler found no node: 7 Insufficient cpu`; empty where it is not known."""
    root = parsed.root
    if root.topology is not None:
        return f"the scheduler {_plan(root.topology)}"
    if root.quota is not None:
        return f"the scheduler {_exhausted(root.quota)}"
    if root.phrase is not None:
        return f"the scheduler {_SENTENCES[root.phrase.code].format_map(root.phrase.names)}"
    if root.counts:
        found = "could not preempt for it" if root.is_failed_preemption else "found no node"
        return f"the scheduler {found}: {listed([f'{n} {reason}' for n, reason in root.counts])}"
    return ""


def _plan(plan: TopologyMessage) -> str:
    part = " (part of its list could not be read)" if plan.text else ""
    if plan.best is not None:
        return f"counted at most {plan.best[1]} of {plan.desired} slots in each of {plan.best[0]} domains"
    if not plan.domains:
        return f"found no domain in the requested layer{part}"
    most = max(domain.slots for domain in plan.domains)
    names = [domain.name or "the whole cluster" for domain in plan.domains if domain.slots == most]
    return f"counted {most} of {plan.desired} slots in {listed(names)}{part}"


def _exhausted(quota: QuotaMessage) -> str:
    kind = "quota" if quota.limit == "runtime" else "non-preemptible quota"
    parts = [f"{name} {used} used, {asked} requested, limit {limit}" for name, used, limit, asked in _exceeded(quota)]
    return f"found {kind} {'/'.join(quota.names)} exhausted: {listed(parts)}"


def quota_refused(pod: str, since: str, quota: QuotaMessage) -> str:
    """Return that the scheduler refuses the pod for its quota, with used, limit and request of what is over."""
    parts = []
    for resource, used, limit, asked in _exceeded(quota):
        name = resource if objects.is_share(resource) else resource_name(resource)  # as the scheduler counts
        parts.append(f"{name}: {used} of {limit} used, {asked} requested")
    numbers = f" ({listed(parts)})" if parts else ""
    when = f" since {since}" if since else ""
    return (
        f"the scheduler reports{when} that quota {' '.join(quota.names)} has no room for {pod}{numbers};"
        " quotas are not evaluated."
    )


def _exceeded(quota: QuotaMessage) -> Iterator[tuple[str, str, str, str]]:
    """Yield the resources that are over, with what is used, the limit and the request."""
    used, limits, asked = (dict(amounts) for amounts in (quota.used, quota.allowed, quota.request))
    for resource in quota.exceeded:
        yield resource, used.get(resource, "0"), limits.get(resource, "0"), asked.get(resource, "0")


def slots_there_now(slots: int, wanted: int) -> str:
    """Return the slots now of the domains that the scheduler named."""
    return f"it is {slots} of {wanted}"


def most_slots_now(best: SlotRow, wanted: int) -> str:
    """Return the most slots now of any domain."""
    where = f"in {best.name}" if best.name else "in the whole cluster"
    return f"the most is {best.offer_slots} of {wanted} {where}"


def unknown_time(gap: Gap) -> str:
    """Return that without events it is not known when the scheduler last said so."""
    return f"{gap.kind}: {gap.message}: the time of the scheduler's last message is unknown."


def last_said(says: SchedulerSays, moment: str, longest: int | None) -> str:
    """Return what the scheduler wrote on the pods, how old it is, whether it still holds and when it tries again.

    Without an event only the first failure has a time: the message itself may be newer. Of a message that is not
    understood `longest` characters are quoted, None for all.
    """
    age = age_at(says.last_seen or says.since, moment)
    since = (f"{age} ago" if says.last_seen else f"Within the last {age}") if age else f"Since {says.since}"
    said = says.reads or f'the scheduler reported ({_HOLDS[says.agrees]}): "{_shortened(says.message, longest)}"'
    told = f"{since} {said}" if age or says.since else sentence(said)
    if not says.reads:
        return told
    now = f"now {says.now}" if says.now else ""
    return "; ".join(filter(None, [told, now, says.retry])) + "."


def _shortened(message: str, longest: int | None) -> str:
    if longest is None or len(message) <= longest:
        return message
    return f"{message[:longest].rstrip()}... (--all shows the rest)"


def carried_by(pods: list[str]) -> str:
    """Return which pods carry a message, to stand above it."""
    return f"on {count(len(pods), 'pod')} ({', '.join(pods)}):"
