"""The sentences of ways out: what to change so that a subject would be placed."""

from collections.abc import Collection, Iterable, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.engine.tree import Domain
from kubectl_koord.model import accelerators
from kubectl_koord.model.hardware.allocations import NOTHING, Allocations, DeviceAllocation
from kubectl_koord.model.pods import Resources, RunningPod
from kubectl_koord.model.unevaluated import Unevaluated
from kubectl_koord.model.values.selectors import Taint
from kubectl_koord.wording.remedies.next_steps import at_pods, template_of
from kubectl_koord.wording.unevaluated import unevaluated_names
from kubectl_koord.wording.words import amount_of, count, layer_noun, listed, requests, resource_name, verb

_MOST_NAMED = 3
NO_NODES = "there are no nodes."
WAIT_FOR_TERMINATING = "Wait for the terminating pods"
POD = "pod"
_FEW_NODES = 6
LOWER_PRIORITY_POD = "lower-priority pod"


Change: TypeAlias = Literal[
    "wait",
    "preemption",
    "revoking",
    "label-nodes",
    "other-layers",
    "uncordon",
    "mend-node",
    "raise-threshold",
    "tolerate",
    "topology",
    "fewer-pods",
    "smaller-request",
    "other-quota",
    "raise-quota",
    "release-reservation",
    "supply-claims",
    "free-pods",
    "move-pod",
    "add-nodes",
    "pairs",
]
"""What may be tried."""

_CHANGES: dict[Change, str] = {
    "wait": "waiting for terminating pods",
    "preemption": "waiting for preemption",
    "revoking": "waiting for the over-use controller",
    "label-nodes": "labels for nodes outside the tree",
    "other-layers": "layers of the labels that nodes have",
    "uncordon": "uncordoning nodes",
    "mend-node": "nodes that are not ready",
    "raise-threshold": "higher thresholds of load",
    "tolerate": "tolerating taints",
    "topology": "another topology spec",
    "fewer-pods": "fewer pods",
    "smaller-request": "smaller requests",
    "other-quota": "other quotas",
    "raise-quota": "higher limits of its quotas",
    "release-reservation": "deleting reservations",
    "supply-claims": "claims that any node can serve",
    "free-pods": "evicting pods",
    "move-pod": "moving pods",
    "add-nodes": "more nodes like those there are",
    "pairs": "pairs of changes",
}


class RemovedPod(Struct, frozen=True):
    """A running pod that makes room: `needed` is what it requests of what is short.

    `held` are the cards, CPUs and zones that it holds where these are what is short, `claim` the one that it uses.
    """

    key: str
    node: str
    priority: int
    needed: Resources
    held: Allocations = NOTHING
    claim: str = ""

    @property
    def has(self) -> str:
        """What it gives back, in words."""
        if self.claim:
            return f"claim {self.claim}"
        cards = _cards(self.held.devices)
        cpus = self.held.cpus
        numbered = [f"CPUs {_ranges(cpus.cpus)}"] if cpus is not None and cpus.cpus else []
        zones = [f"NUMA zone {number}" for number, _ in cpus.zones] if cpus is not None and not cpus.cpus else []
        return listed([*cards, *numbered, *zones]) or requests(self.needed)


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
        return "there is nothing in its way that a change of the cluster or of its pods would remove."
    pairs = ", alone or in pairs" if "pairs" in tried else ""
    alone = [change for change in tried if change != "pairs"]
    parts = (
        f"none of the changes tried lets it start{pairs}: {_named(alone)}" if alone else "",
        f"by counting slots, these would not help: {_named(counted)}" if counted else "",
        "higher limits alone would let it pass its quotas, but nodes have no place for it then" if quotas_alone else "",
        _ended(untried),
    )
    return f"{'; '.join(filter(None, parts))}."


def not_tried(untried: Collection[Change]) -> str:
    """Return what was not looked at to the end where something else was found, empty for nothing."""
    return f"{_ended(untried)}." if untried else ""


def _ended(untried: Collection[Change]) -> str:
    return f"the search ended before it had fully tried {_named(untried)}" if untried else ""


def _named(changes: Collection[Change]) -> str:
    return listed([words for change, words in _CHANGES.items() if change in changes])


def help_depends_on(items: Iterable[Unevaluated]) -> str:
    """Return that whether anything helps depends on what is not evaluated."""
    return f"whether anything helps depends on {unevaluated_names(items)}, which is not evaluated."


def pair(one: str, other: str) -> str:
    """Return two ways out as one."""
    return f"{one}, and {other[0].lower()}{other[1:]}"


def _cards(held: Iterable[DeviceAllocation]) -> list[str]:
    """Return cards by their numbers, those together of which it has as much: `GPU 0-3`, `25% of GPU 5`."""
    numbers: dict[str, list[int]] = {}
    for one in held:
        share = next((amount for name, amount in one.resources if accelerators.is_share(name)), accelerators.CARD)
        part = f"{share}% of " if share < accelerators.CARD else ""
        numbers.setdefault(f"{part}{one.type.upper()}", []).append(one.minor)
    return [f"{what} {_ranges(sorted(minors))}" for what, minors in numbers.items()]


def _ranges(numbers: Sequence[int]) -> str:
    """Return numbers as cpusets are written: `0-3,8`."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][-1] == number - 1:
            parts[-1] = [parts[-1][0], number]
        else:
            parts.append([number])
    return ",".join("-".join(map(str, part)) for part in parts)


# --- the cluster --------------------------------------------------------------------------------


def wait_for_terminating(pods: int, overdue: str) -> str:
    """Return that terminating pods make room enough, and which of them are late, if any."""
    verb = "frees" if pods == 1 else "free"
    late = f"; {overdue}" if overdue else ""
    return f"Wait: {count(pods, 'terminating pod')} {verb} enough room{late}"


def wait_for_preemption(victims: Sequence[RunningPod], domain: Domain | None, *, is_gang: bool) -> str:
    """Return which pods the scheduler itself preempts, and where it then places the subject."""
    pods = _victims(victims) or "pods that are already terminating"
    where = f" in {domain.name}" if domain is not None and domain.name else ""
    return f"Wait: the scheduler will preempt {pods} and place {'the gang' if is_gang else 'it'}{where}"


def _victims(pods: Sequence[RunningPod]) -> str:
    """Return whom preemption ends: a few pods by name, of more the jobs that they are of, those of DaemonSets apart."""
    if len(pods) <= _MOST_NAMED:
        return listed([pod.key for pod in pods])
    daemons = [pod for pod in pods if pod.requirements.of_daemon_set]
    jobs = dict.fromkeys(_job_of(pod) for pod in pods if not pod.requirements.of_daemon_set)
    named = [*jobs][:_MOST_NAMED]
    more = [f"{len(jobs) - len(named)} more"] if len(jobs) > len(named) else []
    of_jobs = f"{count(len(pods) - len(daemons), 'pod')} of {count(len(jobs), 'job')} ({listed([*named, *more])})"
    of_daemons = f"{count(len(daemons), 'DaemonSet pod')}, which {'comes' if len(daemons) == 1 else 'come'} back,"
    return listed([*([of_jobs] if jobs else []), *([of_daemons] if daemons else [])])


def _job_of(pod: RunningPod) -> str:
    return pod.gang or (f"{pod.namespace}/{pod.owner}" if pod.owner else pod.key)


def label_nodes(groups: Sequence[tuple[Sequence[str], Sequence[str]]], *, told: bool) -> str:
    """Return which nodes to give which labels; unless other labels of theirs tell these, only if they are there."""
    each = [f"{_several(nodes)} {listed(labels)}" for nodes, labels in groups]
    proviso = "" if told else ", if that is where it stands in the network"
    if not told and sum(len(nodes) for nodes, _ in groups) > 1:
        proviso = ", if that is where they stand in the network"
    return f"Label {'; '.join(each)}{proviso}"


def _several(nodes: Sequence[str]) -> str:
    return (
        listed(nodes)
        if len(nodes) <= _FEW_NODES
        else f"{', '.join(nodes[:_FEW_NODES])} and {len(nodes) - _FEW_NODES} more"
    )


def other_layers(layers: Iterable[tuple[str, Sequence[str]]], *, told: bool) -> str:
    """Return which labels the topology is to name; to see the change comes before it is applied.

    `told` is whether a provider sets these labels: others may mean something else.
    """
    named = listed([f"{keys[0]} for {layer}" for layer, keys in layers])
    proviso = "" if told else ", if they tell where nodes stand in the network"
    return f"Let the ClusterNetworkTopology name the labels that nodes have: {named}{proviso} (see it, then --apply)"


def uncordon(nodes: Sequence[str], others: Sequence[str]) -> str:
    """Return which nodes to uncordon; where it is one, which others would do as well."""
    instead = f" (or {listed(others)})" if others else ""
    which = nodes[0] if len(nodes) == 1 else f"all of {listed(nodes)}"
    return f"Uncordon {which}{instead}"


def mend_nodes(nodes: Sequence[str], others: Sequence[str], stuck: Sequence[str]) -> str:
    """Return which nodes to bring back, which others would do, and the pods that cannot end there until then."""
    instead = f" (or {listed(others)})" if others else ""
    verb = "is" if len(nodes) == 1 else "are"
    held = f"; {listed(stuck)} cannot end before" if stuck else ""
    return f"Bring back {listed(nodes)}{instead}, which {verb} not ready{held}"


def raise_thresholds(changes: Sequence[tuple[str, str, int, int]]) -> str:
    """Return which thresholds of load to raise: by node, resource, percent now, percent then."""
    named = [
        f"of node {node} for {resource_name(resource)} from {now} to {then} %" for node, resource, now, then in changes
    ]
    return f"Raise the load threshold {listed(named)} (or usageThresholds in LoadAwareSchedulingArgs, for all nodes)"


def raise_thresholds_of_all(changes: Sequence[tuple[str, int, int]]) -> str:
    """Return which thresholds of load to raise for all nodes: by resource, percent now, percent then."""
    named = [f"{resource_name(resource)} from {now} to {then}" for resource, now, then in changes]
    return f"Raise usageThresholds of {listed(named)} in LoadAwareSchedulingArgs, and restart koord-scheduler"


def tolerate(taint: Taint, nodes: int, owners: Sequence[str] | None) -> str:
    """Return which taint to tolerate; `owners` of the pods where no command does it."""
    value = f"={taint.value}" if taint.value else ""
    where = "" if owners is None else f": add it to spec.tolerations in {template_of(owners)}"
    return f"Tolerate taint {taint.key}{value}:{taint.effect} ({count(nodes, 'node')}){where}"


def add_nodes(number: int, like: str, domain: Domain | None) -> str:
    """Return how many nodes to add, and where; None for anywhere."""
    return f"Add {count(number, 'node')} like {like}{_in_domain(domain)}"


def _in_domain(domain: Domain | None) -> str:
    """Return a place to follow a sentence, such as ` in spine s0`; empty for the whole cluster."""
    if domain is None:
        return ""
    noun = layer_noun(domain.layer)
    return f" in {domain.name}" if noun in domain.name else f" in {noun} {domain.name}"


# --- the gang -----------------------------------------------------------------------------------


def gather_on(layer: str, owners: Sequence[str] | None) -> str:
    """Return to gather on another layer; `owners` of the pods where no command does it."""
    return f"Gather on {layer} instead{at_pods(owners)}"


def prefer_gather(owners: Sequence[str] | None) -> str:
    """Return to gather as a preference; `owners` of the pods where no command does it."""
    return f"Use PreferGather instead of MustGather{at_pods(owners)}"


def lower_multiple(layer: str, multiple: int, number: int, owners: Sequence[str] | None) -> str:
    """Return to lower a podCountMultiple; `owners` of the pods where no command does it."""
    return f"Lower podCountMultiple of {layer} from {multiple} to {number}{at_pods(owners)}"


def minimum_of_pod_group(minimum: int) -> str:
    """Return the minimum as a PodGroup has it."""
    return f"minMember {minimum}"


def minimum_of_pods(minimum: int, owners: Sequence[str]) -> str:
    """Return the minimum as pods have it, and where to change it."""
    return f"min-available {minimum} in {template_of(owners)}"


def run_with(pods: int, instead_of: int, how: Sequence[str]) -> str:
    """Return to run with fewer pods, and which fields say so."""
    return f"Run with {count(pods, 'pod')} instead of {instead_of}{_fields(how)}{_share_of_pods(pods, instead_of)}"


def start_with(pods: int, instead_of: int, how: Sequence[str]) -> str:
    """Return to start with fewer pods while the others wait, and which fields say so."""
    start = f"Start with {count(pods, 'pod')}{_fields(how)}; the others start when there is room"
    return start + _share_of_pods(pods, instead_of)


def _share_of_pods(pods: int, instead_of: int) -> str:
    """Return what it means to run with less than half of the pods, to follow a sentence; else nothing."""
    if pods * 2 >= instead_of:
        return ""
    few = f"that is {_percent(pods, instead_of)} of its pods"
    return f"; {few}: the job takes longer accordingly, if it can run with so few at all"


def _percent(part: int, whole: int) -> str:
    return f"{part * 100 // whole} %"


def _fields(how: Sequence[str]) -> str:
    return f" ({'; '.join(how)})" if how else ""


def smaller_request(resource: str, amount: int, before: int, *, limits: bool) -> str:
    """Return to request less of a resource, and to limit pods to as much where their `limits` count."""
    less, more = f"{amount_of(resource, amount)} {resource_name(resource)}", amount_of(resource, before)
    little = f"; that is {_percent(amount, before)} of it: only for a program that can do with so little"
    little = little if amount * 2 < before else ""
    if limits:
        fields = "resources.limits and requests in the pod template"
        return f"Limit each pod to {less} instead of {more} ({fields}){little}"
    return f"Request {less} per pod instead of {more} (resources.requests in the pod template){little}"


def drop_surplus(minimum: int, surplus: int, how: Sequence[str]) -> str:
    """Return to run with the minimum alone, and how many pods are beyond it."""
    return f"Scale the job down to its minimum of {minimum}: it fits without {count(surplus, 'pod')}{_fields(how)}"


# --- running pods -------------------------------------------------------------------------------


def evict(pods: Sequence[RemovedPod], kind: str, domain: Domain | None) -> str:
    """Return which pods to evict, and where; None for the whole cluster."""
    names = listed([f"{pod.key} on {pod.node} ({pod.has}, priority {pod.priority})" for pod in pods])
    return f"Evict {count(len(pods), kind)}{_in_domain(domain)}: {names}"


def not_below(priorities: Sequence[int], own: int) -> str:
    """Return, to follow a sentence, how many of some pods have a higher priority than one's own, or the same."""
    higher, same = (sum(one > own for one in priorities), sum(one == own for one in priorities))
    number, than = (higher, "a higher priority than") if higher else (same, "the same priority as")
    if not number:
        return ""
    all_of_them = "it has" if number == 1 else "they have"
    who = all_of_them if number == len(priorities) else f"{number} of them {verb(number, 'has', 'have')}"
    return f"; {who} {than} this job ({own}): a last resort"


def recreated(pods: int, owners: Sequence[str], taking_the_place: Sequence[str]) -> str:
    """Return who creates evicted pods anew, to follow a sentence; last those whose pods would take the place again."""
    anew = "it" if pods == 1 else "pods"
    return _recreate(owners, anew) + _recreate(taking_the_place, anew, ": scale {} down")


def _recreate(owners: Sequence[str], anew: str, then: str = "") -> str:
    if not owners:
        return ""
    verb, them = ("recreates", "it") if len(owners) == 1 else ("recreate", "them")
    return f"; {listed(owners)} {verb} {anew}{then.format(them)}"


def move(pod: RemovedPod, to: str, domain: Domain | None, owner: str) -> str:
    """Return to move a pod, where that makes room, and who creates it anew; the owner is empty for nobody."""
    there = _in_domain(domain)
    room = f"; this makes enough room{there}" if there else ""
    anew = f"; {owner} recreates it" if owner else " (no controller recreates it)"
    return f"Move {pod.key} ({pod.has}) from {pod.node} to {to}, where it fits{room}{anew}"
