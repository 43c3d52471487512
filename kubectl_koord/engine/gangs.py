"""Gangs, gang groups and subjects: which pods belong together, and whether a group may be tried."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from operator import itemgetter
from typing import TypeAlias

from msgspec import Struct, structs

from kubectl_koord.engine.filters.resource_claims import unready_claim
from kubectl_koord.engine.placement import TopologyRequirements
from kubectl_koord.engine.rules import GatherRule, Spec, gather_rules, listed_ids, rules
from kubectl_koord.engine.tree import NoTree, Tree
from kubectl_koord.model.objects import PodGroup
from kubectl_koord.model.pods import FinishedPod, PendingPod, RunningPod
from kubectl_koord.model.snapshot import SchedulerConfig, Snapshot
from kubectl_koord.model.values import memoised

ONCE_SATISFIED = "once-satisfied"
_POLICIES = {"only-waiting", "waiting-and-running", ONCE_SATISFIED}
_INT32_MAX = 2**31 - 1
_NUMBER = re.compile("([+-]?)0*([0-9]{1,10})")


class Gang(Struct, frozen=True):
    """One gang with its members.

    defined_by: `PodGroup`, `pods`, or empty when the label names a PodGroup that does not exist.
    minimum: None when the gang never initialises (bad `min-available`).
    topology: the rules, None for a gang without (readable) spec; `unreadable` lists the settings
    whose JSON does not parse (`groups`, `network-topology-spec`), silently ignored upstream.
    reserved: the Reservations on nodes that count as bound members.
    """

    key: str
    defined_by: str
    minimum: int | None
    match_policy: str
    mode: str
    group: tuple[str, ...]
    topology: Spec
    unreadable: tuple[str, ...]
    pending: tuple[PendingPod, ...]
    running: tuple[RunningPod, ...]
    finished: tuple[FinishedPod, ...]
    minimum_written: str = ""
    reserved: tuple[str, ...] = ()

    @property
    def pods(self) -> tuple[PendingPod | RunningPod | FinishedPod, ...]:
        """Every pod of the gang that exists, finished ones included."""
        return (*self.pending, *self.running, *self.finished)

    @property
    def children(self) -> int:
        """How many these are, and the Reservations on nodes that count as such."""
        return len(self.pending) + len(self.running) + len(self.finished) + len(self.reserved)

    @property
    def bound(self) -> int:
        """How many of these have a node, finished ones and Reservations included (`boundChildren`)."""
        return len(self.running) + sum(1 for pod in self.finished if pod.was_bound) + len(self.reserved)


class GangGroup(Struct, frozen=True, dict=True):
    """Gangs that are scheduled as one: those that a gang's own group annotation names.

    `own` is the gang that was asked for; `gangs` maps each id of its list to the gang, None where no
    such gang exists. The list is taken literally: it may leave out the gang itself.
    """

    own: Gang
    gangs: Mapping[str, Gang | None]

    @property
    def omits_itself(self) -> bool:
        """Whether the list leaves out the gang that carries it."""
        return self.own.key not in self.gangs

    @cached_property
    def members(self) -> tuple[Gang, ...]:
        """The gangs of the group that exist, in id order."""
        return tuple(gang for gang in self.gangs.values() if gang is not None)

    @property
    def tried(self) -> tuple[Gang, ...]:
        """The gangs whose pods are tried as one: the members, or the gang alone where its list leaves it out."""
        return (self.own,) if self.omits_itself else self.members

    @property
    def everyone(self) -> tuple[Gang, ...]:
        """The members, and the gang itself where its list leaves it out."""
        return (*self.members, self.own) if self.omits_itself else self.members

    @cached_property
    def pending(self) -> tuple[PendingPod, ...]:
        """All pods that are tried as one, by name."""
        return tuple(sorted((pod for gang in self.tried for pod in gang.pending), key=lambda pod: pod.key))

    @property
    def minimum(self) -> int:
        """The sum of the minimums."""
        return sum(gang.minimum or 0 for gang in self.members)

    @cached_property
    def bound(self) -> int:
        """Pods with a node, of the gangs that are tried as one."""
        return sum(gang.bound for gang in self.tried)

    @cached_property
    def specs(self) -> tuple[Spec, ...]:
        """The distinct topology specs within the group, in id order of their gangs."""
        return tuple(dict.fromkeys(gang.topology for gang in self.tried if gang.pending))

    def is_satisfied(self) -> bool:
        """Tell whether members are scheduled one by one: once satisfied, and a member was bound."""
        return self.has_run(self.own)

    def has_run(self, gang: Gang) -> bool:
        """Tell whether one of the gangs is once satisfied, and was: it needs no pods that wait any more.

        Mirrors `isGangOnceResourceSatisfied`; the flag itself is in no object, a bound member
        stands for it. Gangs with the same list share the flag, whether the list names them or not.
        """
        return gang.match_policy == ONCE_SATISFIED and self._list_of(gang) in self._lists_with_bound

    def differs(self, gang: Gang) -> bool:
        """Tell whether one of the gangs has another list than that which was asked for."""
        return self._list_of(gang) != frozenset(self.own.group)

    @cached_property
    def _lists_with_bound(self) -> frozenset[frozenset[str]]:
        return frozenset(self._list_of(gang) for gang in self.everyone if gang.bound)

    def _list_of(self, gang: Gang) -> frozenset[str]:
        """Return the group that a gang names; of one whose pods have all finished it is not kept: it counts as ours."""
        is_told = gang.defined_by != "pods" or gang.pending or gang.running
        return frozenset(gang.group if is_told else self.own.group)

    def with_each(self, change: Callable[[Gang], Gang]) -> "GangGroup":
        """Return the group with each of its gangs changed."""
        gangs = {key: gang and change(gang) for key, gang in self.gangs.items()}
        return GangGroup(change(self.own), gangs)


@memoised
def all_gangs(snapshot: Snapshot) -> Mapping[str, Gang]:
    """Return every gang that has a PodGroup or pods, by id."""
    pending: dict[str, list[PendingPod]] = defaultdict(list)
    running: dict[str, list[RunningPod]] = defaultdict(list)
    finished: dict[str, list[FinishedPod]] = defaultdict(list)
    for unbound in snapshot.pending:
        pending[unbound.gang].append(unbound)
    for on_node in snapshot.running.values():
        for pod in on_node:
            if pod.gang:
                running[pod.gang].append(pod)
    for ended in snapshot.finished:
        finished[ended.gang].append(ended)
    keys = ({*pending, *running, *finished} - {""}) | set(snapshot.pod_groups)
    found = {
        key: _gang(key, snapshot, tuple(pending[key]), tuple(running[key]), tuple(finished[key]))
        for key in sorted(keys)
    }
    for one in snapshot.reserved_members:
        gang = found.get(one.gang)
        if gang is not None:
            found[one.gang] = structs.replace(gang, reserved=(*gang.reserved, one.name))
    return found


def _gang(
    key: str,
    snapshot: Snapshot,
    pending: tuple[PendingPod, ...],
    running: tuple[RunningPod, ...],
    finished: tuple[FinishedPod, ...],
) -> Gang:
    group = snapshot.pod_groups.get(key)
    definition = _defined_by_group(group) if group else _defined_by_pods(pending, running)
    listed, groups_fault = listed_ids(definition.groups, key)
    known = rules(snapshot.config.version)
    spec, topology_fault = gather_rules(definition.topology, with_multiples=known.pod_count_multiple)
    return Gang(
        key=key,
        defined_by=definition.defined_by,
        minimum=definition.minimum,
        match_policy=_policy(definition.match_policy, snapshot.config),
        mode="NonStrict" if definition.mode == "NonStrict" else "Strict",
        group=listed,
        topology=spec,
        unreadable=tuple(name for name in (groups_fault, topology_fault) if name),
        pending=pending,
        running=running,
        finished=finished,
        minimum_written=definition.minimum_written,
    )


class _Definition(Struct, frozen=True):
    """What defines a gang, as written."""

    defined_by: str
    minimum: int | None
    mode: str = ""
    match_policy: str = ""
    groups: str | None = None
    topology: str | None = None
    minimum_written: str = ""


def _defined_by_group(group: PodGroup) -> _Definition:
    return _Definition("PodGroup", group.min_member, group.mode, group.match_policy, group.groups, group.topology)


def _defined_by_pods(pending: tuple[PendingPod, ...], running: tuple[RunningPod, ...]) -> _Definition:
    """Return what the oldest pod with a valid minimum says, the first by name; where none has one, the oldest of all.

    Each pod may initialise the gang until one does. Mirrors `tryInitByPodConfig` in coscheduling/core/gang.go.
    """
    waiting = [(pod.created, pod.name, pod.gang_terms) for pod in pending if not pod.needs_pod_group]
    bound = [(pod.created, pod.name, pod.gang_terms) for pod in running if pod.gang_terms is not None]
    seen = [terms for _, _, terms in sorted((*waiting, *bound), key=itemgetter(0, 1))]
    if not seen:
        return _Definition("", None) if pending else _Definition("pods", 0)
    own = next((terms for terms in seen if _int32(terms.minimum) is not None), seen[0])
    minimum, written = _int32(own.minimum), "" if own.minimum is None else own.minimum
    if minimum is None and not pending:
        minimum = 0  # it runs, and waits for nobody
    return _Definition("pods", minimum, own.mode, own.match_policy, own.groups, own.topology, written)


def _int32(written: str | None) -> int | None:
    match = _NUMBER.fullmatch(written or "")
    if match is None:
        return None
    value = int(match[1] + match[2])
    return value if -_INT32_MAX - 1 <= value <= _INT32_MAX else None


def _policy(written: str, config: SchedulerConfig) -> str:
    default = config.default_match_policy if rules(config.version).configures_match_policy else ONCE_SATISFIED
    return written if written in _POLICIES else default


def topology_requirements(spec: Iterable[GatherRule], tree: Tree | NoTree) -> TopologyRequirements:
    """Return what a spec asks of this tree: the hard layer and the multiples.

    The sort is upstream's: its comparison puts the layer nearest to the nodes first, treats
    unknown layers like the top one, and of equals the one written later. Mirrors
    `GetMustGatherLayer` and `GetLayerPodCountMultiple`.
    """
    rank = {layer: position for position, layer in enumerate(tree.layers)}
    ordered: list[GatherRule] = []
    written = tuple(spec)
    for rule in written:
        at = len(ordered)
        while at and rank.get(rule.layer, 0) >= rank.get(ordered[at - 1].layer, 0):
            at -= 1
        ordered.insert(at, rule)
    must = next((rule.layer for rule in ordered if rule.strategy == "MustGather"), "")
    return TopologyRequirements(must, {rule.layer: rule.multiple for rule in ordered if rule.multiple > 1})


def group_of(gangs: Mapping[str, Gang], key: str) -> GangGroup:
    """Return the group of a gang: the gangs that its own annotation lists."""
    return GangGroup(gangs[key], {member: gangs.get(member) for member in gangs[key].group})


_Pods: TypeAlias = tuple[PendingPod, ...]


class GangSubject(Struct, frozen=True):
    """A gang, with all that are scheduled as one with it."""

    group: GangGroup

    @property
    def key(self) -> str:
        """The gang that was asked for, as `namespace/name`."""
        return self.group.own.key

    @property
    def pending(self) -> tuple[PendingPod, ...]:
        """The pending pods of the group, by name."""
        return self.group.pending

    @property
    def members(self) -> tuple[PendingPod | RunningPod | FinishedPod, ...]:
        """Every pod of its gangs that exists."""
        return tuple(pod for gang in self.group.everyone for pod in gang.pods)

    @property
    def gangs(self) -> Mapping[str, Gang | None]:
        """The gangs that its own list names, by id; None for those that do not exist."""
        return self.group.gangs

    @property
    def specs(self) -> tuple[Spec, ...]:
        """The distinct topology specs of its pending pods, None for those without one."""
        return self.group.specs

    def with_gangs(self, change: Callable[[Gang], Gang]) -> "GangSubject":
        """Return the subject with each of its gangs changed."""
        return GangSubject(self.group.with_each(change))

    def with_pending(self, kept: Callable[[_Pods], _Pods]) -> "GangSubject":
        """Return the subject with what is kept of the pending pods of each gang."""
        return self.with_gangs(lambda gang: structs.replace(gang, pending=kept(gang.pending)))


class PodSubject(Struct, frozen=True):
    """One pod without a gang: one that is pending, or on a node, or that has finished."""

    pod: PendingPod | RunningPod | FinishedPod

    @property
    def key(self) -> str:
        """The pod, as `namespace/name`."""
        return self.pod.key

    @property
    def pending(self) -> tuple[PendingPod, ...]:
        """The pod itself while it is pending."""
        return (self.pod,) if isinstance(self.pod, PendingPod) else ()

    @property
    def members(self) -> tuple[PendingPod | RunningPod | FinishedPod, ...]:
        """The pod itself."""
        return (self.pod,)

    @property
    def gangs(self) -> Mapping[str, Gang | None]:
        """None at all."""
        return {}

    @property
    def specs(self) -> tuple[Spec, ...]:
        """None: these are specs of gangs."""
        return ()

    def with_gangs(self, _change: Callable[[Gang], Gang]) -> "PodSubject":
        """Return the subject as it is: it has no gang to change."""
        return self

    def with_pending(self, kept: Callable[[_Pods], _Pods]) -> "PodSubject":
        """Return the subject with its pending pod changed; it must be kept."""
        (pod,) = kept(self.pending)
        return PodSubject(pod)


Subject: TypeAlias = GangSubject | PodSubject


def never_tried(subject: Subject, snapshot: Snapshot, *, gates: bool = True) -> frozenset[str]:
    """Return the pods that the scheduler counts as members and never takes from its queue.

    They belong to another scheduler, are being deleted, or are held by a resource claim or, with `gates`, by a
    scheduling gate: other members take such pods along (`NextPod`), and only binding them is refused.
    """
    profiles = snapshot.config.profiles
    return frozenset(
        pod.key
        for pod in subject.pending
        if pod.terminating
        or (gates and pod.gates)
        or pod.scheduler not in profiles
        or (pod.resource_claims and unready_claim(pod, snapshot) is not None)
    )
