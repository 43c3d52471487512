"""What the scheduler remembers of gangs, nodes, pods and quotas, beside what the objects say; and its log."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import TypeAlias, assert_never

from msgspec import structs

from kubectl_koord.diagnosis import coverage
from kubectl_koord.diagnosis.coverage import About
from kubectl_koord.engine.gangs import Gang, all_gangs, group_of
from kubectl_koord.explain.devices import devices as counted_devices
from kubectl_koord.explain.quota import quotas as computed
from kubectl_koord.language import say
from kubectl_koord.messages.scheduler_log import (
    READERS,
    Broken,
    Diagnosis,
    Found,
    RefusedNode,
    ScoreLine,
    ScoreRow,
    Unfit,
)
from kubectl_koord.model import values
from kubectl_koord.model.hardware import members
from kubectl_koord.model.objects import (
    CPUSummary,
    DeviceSummary,
    GangSummary,
    NodeSummary,
    QuotaSummary,
    ReservationSummary,
)
from kubectl_koord.model.quotas import ROOT
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values import Resources
from kubectl_koord.reports.capacity import Card, QuotaRow, Spelled
from kubectl_koord.reports.common import Verdict
from kubectl_koord.reports.operation import (
    Compared,
    Difference,
    Field,
    LoggedPod,
    LogPart,
    Part,
    RefusedByPlugin,
    SchedulerLogReport,
    SchedulerReport,
    Scored,
)
from kubectl_koord.wording.words import could_not_be_read, count, listed

_SHOWN = 5


def waiting_in_permit(pods: Collection[str]) -> str:
    """Return that pods have a node in its memory alone, until enough others have one."""
    return say("{n_pods} in Permit: a node is kept for each until enough of the gang have one", n_pods=_n_pods(pods))


def assumed_pods(pods: Collection[str]) -> str:
    """Return that pods are bound in its memory and not yet in the API."""
    one = say("its binding is") if len(pods) == 1 else say("their bindings are")
    return say("{n_pods} placed in its memory: {one} under way, or waiting in Permit", n_pods=_n_pods(pods), one=one)


def reservations_count(pods: Collection[str]) -> str:
    """Return that the pods that stand for Reservations are members."""
    return say(
        "{n_pods} no pod: a Reservation of the gang stands for it in the scheduler's memory", n_pods=_n_pods(pods)
    )


def deleted_pods_linger(pods: Collection[str]) -> str:
    """Return that it still counts pods that are gone."""
    missed = say("the scheduler missed the deletion (1.7 and 1.8 may), or has yet to read of it")
    return say("{n_pods} gone, and still counted: {missed}", n_pods=_n_pods(pods), missed=missed)


def pods_not_known(pods: Collection[str]) -> str:
    """Return that it does not count pods that exist."""
    again = say("it counts each again once that pod changes")
    return say(
        "{n_pods} there, and not counted: the PodGroup came after a deletion, or they are new; {again}",
        n_pods=_n_pods(pods),
        again=again,
    )


def flag_lost() -> str:
    """Return that it forgot that the gang ran."""
    return say(
        "members are bound, and it does not know that the gang was once satisfied: after a restart it "
        "met them before their PodGroup. New members wait for a whole gang; a change of the PodGroup "
        "does not mend it"
    )


def flag_kept() -> str:
    """Return that it remembers members that are gone."""
    return say(
        "no member is bound any more, and it remembers that one was: new members are placed one by one, as no gang"
    )


def settings_kept(fields: Collection[str]) -> str:
    """Return that it works with settings that were read earlier."""
    return say(
        "{fields}: it keeps what the first pod of the gang said, and the group that it began with",
        fields=listed(sorted(fields)),
    )


def gone_but_known() -> str:
    """Return that it knows something that is gone."""
    return say("it is in its memory alone: the object is gone, or it comes from another kind of object")


def unexplained(fields: Collection[str]) -> str:
    """Return that there is no known reason."""
    return say("{fields}: no known reason; if it stays so, it is worth a report", fields=listed(list(fields)))


def _n_pods(pods: Collection[str]) -> str:
    names = sorted(pods)
    shown = names if len(names) <= _SHOWN + 1 else [*names[:_SHOWN], say("{number} more", number=len(names) - _SHOWN)]
    return say(
        "{pods} ({names}) {are}",
        pods=count(len(names), "pod"),
        names=say(", ").join(shown),
        are="is" if len(names) == 1 else "are",
    )


def report(snapshot: Snapshot, part: Part, asked: str, about: About, items: Iterable[Compared]) -> SchedulerReport:
    """Return the report; where objects that it rests on could not be read, what the scheduler says stands alone.

    `part`: what was asked for. `about`: which kinds ours rests on.
    """
    unread = coverage.unread(snapshot, about)
    compared = tuple(map(_alone, items) if unread else items)
    return SchedulerReport(
        verdict="unknown" if unread else _verdict(compared),
        basis=coverage.basis(snapshot),
        warnings=coverage.general(snapshot),
        part=part,
        asked=asked,
        items=compared,
        message=could_not_be_read(unread) if unread else "",
    )


def routes(snapshot: Snapshot, paths: tuple[str, ...], asked: str) -> SchedulerReport:
    """Return the paths that the scheduler answers; nothing is compared."""
    return SchedulerReport("yes", coverage.basis(snapshot), (), "services", asked, (), routes=paths)


def comparison_unexplained(fields: Iterable[Field], explained: Iterable[str]) -> tuple[Difference, ...]:
    """Return one difference for the fields that differ and have no other explanation."""
    known = set(explained)
    left = [field.field for field in fields if not field.agrees and field.field not in known]
    return (Difference("unexplained", unexplained(left)),) if left else ()


def only_here(name: str) -> Compared:
    """Return what the scheduler does not know."""
    return Compared(
        name, (), (Difference("not-known", say("the scheduler does not know it: it is new, or another scheduler's")),)
    )


def only_there(name: str, fields: Iterable[Field]) -> Compared:
    """Return what the scheduler alone knows."""
    alone = tuple(structs.replace(field, ours=None) for field in fields)
    return Compared(name, alone, (Difference("gone-but-known", gone_but_known()),))


def _alone(item: Compared) -> Compared:
    return Compared(item.name, tuple(structs.replace(field, ours=None) for field in item.fields))


def _verdict(items: Iterable[Compared]) -> Verdict:
    codes = {difference.code for item in items for difference in item.differences}
    return "no" if "unexplained" in codes else "yes"


def of_reservations(snapshot: Snapshot) -> frozenset[str]:
    """Return the names of the pods that stand for Reservations in the scheduler's memory: their uids."""
    placed = (one.uid for one in snapshot.reservations)
    return frozenset((*placed, *(pod.reserves.uid for pod in snapshot.reserve_pods if pod.reserves is not None)))


def without_reservations(pods: Iterable[str], snapshot: Snapshot) -> frozenset[str]:
    """Return the pods but those that stand for Reservations."""
    uids = of_reservations(snapshot)
    return frozenset(pod for pod in pods if pod.partition("/")[2] not in uids)


def differences(
    theirs: AbstractSet[str], ours: AbstractSet[str], snapshot: Snapshot, *, books: bool = False
) -> Iterator[Difference]:
    """Yield why the scheduler counts other pods; `books` are those of CPUs, which it may have lost."""
    unbound = {pod.key for pod in snapshot.pending}
    more = theirs - ours
    if assumed := more & unbound:
        yield Difference("assumed-pods", assumed_pods(assumed))
    if gone := more - unbound - {pod.key for pods in snapshot.running.values() for pod in pods}:
        yield Difference("deleted-pods-linger", deleted_pods_linger(gone))
    if lost := ours - theirs:
        yield Difference(
            "books-lost" if books else "pods-not-known",
            say(
                "{n_pods} bound there, and not in its books: main forgets CPUs and zones of bound pods at a restart",
                n_pods=_n_pods(lost),
            )
            if books
            else pods_not_known(lost),
        )


def amounts_field(name: str, theirs: Iterable[tuple[str, int]], ours: Iterable[tuple[str, int]] | None) -> Field:
    """Return amounts beside each other, zeros left out."""
    return Field(name, _spelled(theirs), None if ours is None else _spelled(ours))


def pods_field(theirs: Iterable[str], ours: Iterable[str]) -> Field:
    """Return pods beside each other."""
    return Field("pods", ", ".join(sorted(theirs)), ", ".join(sorted(ours)))


def _spelled(amounts: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{name}={values.spell(name, number)}" for name, number in sorted(amounts) if number)


_SETTINGS = ("minMember", "mode", "matchPolicy", "gangGroup")
_YES_NO = {True: "yes", False: "no"}


def gangs(snapshot: Snapshot, found: Mapping[str, GangSummary], asked: str, name: str = "") -> SchedulerReport:
    """Return every gang that the scheduler or the objects know, or the named one.

    `name`: `namespace/name` of a gang, empty for all.
    """
    ours = all_gangs(snapshot)
    keys = [name] if name else sorted({*found, *ours})
    items = (_compared(key, found.get(key), ours, snapshot) for key in keys)
    return report(snapshot, "gang" if name else "gangs", asked, "members", items)


def _compared(key: str, theirs: GangSummary | None, gangs: Mapping[str, Gang], snapshot: Snapshot) -> Compared:
    gang = gangs.get(key)
    if theirs is None:
        return only_here(key)
    if gang is None:
        return only_there(key, _fields(theirs, None, satisfied=False))
    satisfied = _ran(gangs, key)
    fields = tuple(_fields(theirs, gang, satisfied=satisfied))
    differences = tuple(_explained(theirs, gang, fields, snapshot, satisfied=satisfied))
    return Compared(
        key, fields, (*differences, *comparison_unexplained(fields, _accounted_for(theirs, gang, differences)))
    )


def _ran(gangs: Mapping[str, Gang], key: str) -> bool:
    """Tell whether a member of the group is bound: gangs with the same list share the scheduler's flag."""
    own = gangs[key]
    sharing = (gang for gang in group_of(gangs, key).members if set(gang.group) == set(own.group))
    return own.bound > 0 or any(gang.bound for gang in sharing)


def _fields(theirs: GangSummary, gang: Gang | None, *, satisfied: bool) -> Iterator[Field]:
    here, bound = (_pods_beside(gang), _bound(gang)) if gang else (frozenset(), frozenset())
    is_told = gang is not None and (gang.defined_by != "pods" or bool(gang.pending))
    said = gang if is_told else None
    yield Field("minMember", str(theirs.minimum or 0), str(said.minimum or 0) if said else None)
    yield Field("initialised", _YES_NO[theirs.minimum is not None], _YES_NO[said.minimum is not None] if said else None)
    yield Field("mode", theirs.mode or "Strict", said.mode if said else None)
    yield Field("matchPolicy", theirs.match_policy, said.match_policy if said else None)
    yield Field("gangGroup", ", ".join(theirs.group), ", ".join(sorted(said.group)) if said else None)
    yield Field("pods", str(len(theirs.children)), str(len(here)) if gang else None)
    yield Field("pending", str(len(theirs.pending)), str(len(here - bound)) if gang else None)
    yield Field("waiting", str(len(theirs.waiting)))
    yield Field("bound", str(len(theirs.bound)), str(len(bound)) if gang else None)
    yield Field("onceSatisfied", _YES_NO[theirs.satisfied], _YES_NO[satisfied] if gang else None)
    yield Field("representative", theirs.representative)


def _explained(
    theirs: GangSummary, gang: Gang, fields: tuple[Field, ...], snapshot: Snapshot, *, satisfied: bool
) -> Iterator[Difference]:
    here, bound = _pods_beside(gang), _bound(gang)
    if waiting := theirs.waiting & here - bound:
        yield Difference("waiting-in-permit", waiting_in_permit(waiting))
    if assumed := theirs.bound & here - bound:
        yield Difference("assumed-pods", assumed_pods(assumed))
    stands = theirs.children - here - without_reservations(theirs.children - here, snapshot)
    if stands:
        yield Difference("reservation-counts", reservations_count(stands))
    if gone := theirs.children - here - stands:
        yield Difference("deleted-pods-linger", deleted_pods_linger(gone))
    if unknown := here - theirs.children:
        yield Difference("pods-not-known", pods_not_known(unknown))
    if satisfied and not theirs.satisfied:
        yield Difference("satisfied-flag-lost", flag_lost())
    if theirs.satisfied and not satisfied and not theirs.bound & here:
        yield Difference("satisfied-flag-kept", flag_kept())
    kept = [field.field for field in fields if field.field in _kept(gang) and not field.agrees]
    if kept:
        yield Difference("settings-kept", settings_kept(kept))


def _kept(gang: Gang) -> tuple[str, ...]:
    """Return what is not taken over from objects that change: of a PodGroup, only the group that it began with."""
    return _SETTINGS if gang.defined_by == "pods" else ("gangGroup",)


def _accounted_for(theirs: GangSummary, gang: Gang, differences: tuple[Difference, ...]) -> Iterator[str]:
    """Yield the fields whose difference follows from pods and settings that were named."""
    codes = {difference.code for difference in differences}
    here, bound = _pods_beside(gang), _bound(gang)
    if theirs.children ^ here:
        yield "pods"
    placed = theirs.bound & here - bound
    unknown = here - theirs.children
    if theirs.bound & here == bound - unknown | placed:
        yield "bound"
        if theirs.pending & here == here - bound - unknown - placed - theirs.waiting:
            yield "pending"
    if codes & {"satisfied-flag-lost", "satisfied-flag-kept"} or (theirs.satisfied and theirs.bound & here):
        yield "onceSatisfied"
    if "settings-kept" in codes:
        yield from _kept(gang)


def _pods_beside(gang: Gang) -> frozenset[str]:
    return frozenset(pod.key for pods in (gang.pending, gang.running, gang.finished) for pod in pods)


def _bound(gang: Gang) -> frozenset[str]:
    ended = (pod.key for pod in gang.finished if pod.was_bound)
    return frozenset((*(pod.key for pod in gang.running), *ended))


MOST_PODS = 500
MOST_ROWS = 100
MOST_REFUSALS = 200_000
_LONGEST = 1000


def log(part: LogPart, lines: Iterable[str], pod: str = "") -> SchedulerLogReport:
    """Return what is said of every pod, or of the pod or gang of one name.

    Args:
        part: what to look for.
        lines: the log, each of no more than some length.
        pod: `namespace/name`, empty for all.
    """
    reading = _Reading(pod)
    for one in READERS[part](reading.counted(lines)):
        reading.take(one)
    return SchedulerLogReport("yes", part, reading.items(), reading.lines, reading.broken, reading.left_out)


class _Reading:
    """What was read so far, by pod, the one that was spoken of last at the end."""

    def __init__(self, wanted: str) -> None:
        self.lines = self.broken = self.left_out = 0
        self._wanted = wanted
        self._pods: dict[str, LoggedPod] = {}
        self._refused: dict[str, dict[str, tuple[str, str]]] = {}
        self._kept = 0

    def counted(self, lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            self.lines += 1
            yield line

    def take(self, one: Found) -> None:
        """Take note of one thing."""
        match one:
            case Broken():
                self.broken += 1
            case ScoreRow():
                self._row(one)
            case ScoreLine():
                self._pod(one.pod, one.at, feasible=one.feasible, scores=())
            case RefusedNode():
                self._refusal(one)
            case Diagnosis():
                self._count_once(one)
                failed = (
                    RefusedByPlugin(each.plugin, each.reason, each.nodes, each.count, each.preempt)
                    for each in one.failed
                )
                self._pod(
                    one.pod,
                    one.at,
                    gang=one.gang,
                    root_cause=one.root_cause,
                    waiting=one.waiting,
                    slots=one.slots,
                    refused=tuple(failed),
                    said=one.said,
                )
            case Unfit():
                self._unfit(one)
            case _:
                assert_never(one)

    def items(self) -> tuple[LoggedPod, ...]:
        """Return the pods, the last first; each with the nodes that refused it, by plugin and reason."""
        return tuple(
            structs.replace(item, refused=(*item.refused, *_by_reason(self._refused.get(pod, {}))))
            for pod, item in reversed(self._pods.items())
        )

    def _pod(self, pod: str, at: str, gang: str = "", **fields: object) -> None:
        if self._wanted not in {"", pod, gang}:
            return
        before = self._pods.pop(pod, None) or LoggedPod(pod, at, 0)
        self._pods[pod] = structs.replace(before, at=at, times=before.times + 1, gang=gang, **fields)
        if len(self._pods) > MOST_PODS:
            self._forget_the_oldest()

    def _forget_the_oldest(self) -> None:
        oldest = next(iter(self._pods))
        del self._pods[oldest]
        self._kept -= len(self._refused.pop(oldest, ()))
        self.left_out += 1

    def _row(self, row: ScoreRow) -> None:
        item = self._pods.get(row.pod)
        if item is not None and len(item.scores) < MOST_ROWS:
            scored = Scored(row.node, row.total, row.plugins)
            self._pods[row.pod] = structs.replace(item, scores=(*item.scores, scored))

    def _count_once(self, one: Diagnosis) -> None:
        """Take back the count of an attempt whose error was read before its dump, which may be written later."""
        before = self._pods.get(one.pod)
        if before is not None and one.at and before.at == one.at and before.root_cause is None:
            self._pods[one.pod] = structs.replace(before, times=before.times - 1)

    def _unfit(self, one: Unfit) -> None:
        """Note the error of an attempt, unless that attempt is dumped: a pod is not tried twice within a second."""
        before = self._pods.get(one.pod)
        if before is None or not one.at or before.at != one.at:
            nothing = LoggedPod(one.pod, one.at, 0)
            self._pod(
                one.pod,
                one.at,
                before.gang if before else "",
                root_cause=nothing.root_cause,
                waiting=nothing.waiting,
                slots=nothing.slots,
                refused=(),
                said=(one.said,),
            )

    def _refusal(self, one: RefusedNode) -> None:
        self._pod(one.pod, one.at)
        if one.pod not in self._pods:
            return
        nodes = self._refused.setdefault(one.pod, {})
        while self._kept >= MOST_REFUSALS and len(self._pods) > 1:
            self._forget_the_oldest()
        if one.node not in nodes and self._kept >= MOST_REFUSALS:
            item = self._pods[one.pod]
            self._pods[one.pod] = structs.replace(item, more=item.more + 1)
            return
        self._kept += one.node not in nodes
        nodes[one.node] = (one.plugin, one.reason[:_LONGEST])


def _by_reason(nodes: dict[str, tuple[str, str]]) -> Iterator[RefusedByPlugin]:
    """Yield each plugin and reason once, that of most nodes first."""
    found: dict[tuple[str, str], list[str]] = {}
    for node, why in nodes.items():
        found.setdefault(why, []).append(node)
    for (plugin, reason), names in sorted(found.items(), key=lambda one: (-len(one[1]), one[0])):
        yield RefusedByPlugin(plugin, reason, tuple(sorted(names)), len(names))


_Key: TypeAlias = tuple[str, str, int]


def node(snapshot: Snapshot, found: NodeSummary | None, asked: str, name: str) -> SchedulerReport:
    """Return the pods of a node, what they request, and what it can give; None for a node that it does not know."""
    return report(snapshot, "node", asked, "attempt", [_node(snapshot, found, name)])


def devices(
    snapshot: Snapshot, found: Iterable[DeviceSummary], asked: str, names: tuple[str, ...] = ()
) -> SchedulerReport:
    """Return every device of the nodes, or of those named."""
    theirs = {(one.node, one.type, one.minor): one for one in found}
    seen = counted_devices(snapshot, names)
    ours = {(one.node, card.type, card.minor): card for one in seen.nodes for card in one.cards}
    keys = sorted({*theirs, *ours})
    items = (_device(snapshot, key, theirs.get(key), ours.get(key)) for key in keys)
    return report(snapshot, "devices", asked, "devices", items)


def cpus(snapshot: Snapshot, found: CPUSummary, asked: str, name: str) -> SchedulerReport:
    """Return the CPUs of a node that pods have bound, and those that are left."""
    return report(snapshot, "numa", asked, "attempt", [_cpus(snapshot, found, name)])


def reservations(snapshot: Snapshot, found: Mapping[str, ReservationSummary], asked: str, name: str) -> SchedulerReport:
    """Return the Reservations on a node, and the pods that draw on them."""
    ours = {one.name: one for one in snapshot.reservations if one.node == name}
    items = (_reservation(snapshot, key, found.get(key)) for key in sorted({*found, *ours}))
    return report(snapshot, "reservations", asked, "attempt", items)


def _node(snapshot: Snapshot, found: NodeSummary | None, name: str) -> Compared:
    here = snapshot.nodes.get(name)
    if found is None:
        return only_here(name)
    running = snapshot.running.get(name, ())
    theirs, ours = without_reservations(found.pods, snapshot), frozenset(pod.key for pod in running)
    requested = Counter[str]()
    for pod in running:
        requested.update(dict(pod.requirements.requests))
    known = not any(room.node == name for room in snapshot.reserved) and here is not None
    room = [one for one in here.allocatable if one[0] != "pods"] if here is not None else []
    fields = (
        pods_field(theirs, ours),
        amounts_field("requested", found.requested, requested.items() if known else None),
        amounts_field("allocatable", found.allocatable, room if here is not None else None),
    )
    if here is None:
        return only_there(name, fields)
    explained = tuple(differences(theirs, ours, snapshot))
    accounted = ("pods", "requested") if explained else ()
    return Compared(name, fields, (*explained, *comparison_unexplained(fields, accounted)))


def _device(snapshot: Snapshot, key: _Key, found: DeviceSummary | None, card: Card | None) -> Compared:
    name = f"{key[0]}/{key[1]}-{key[2]}"
    if found is None:
        return only_here(name)
    theirs = without_reservations(found.pods, snapshot)
    if card is None:
        return only_there(name, _device_fields(found, theirs, None))
    fields = _device_fields(found, theirs, card)
    ours = frozenset(card.pods) if card.pods is not None else theirs
    explained = tuple(differences(theirs, ours, snapshot))
    return Compared(name, fields, (*explained, *comparison_unexplained(fields, ("pods", "free") if explained else ())))


def _device_fields(found: DeviceSummary, theirs: frozenset[str], card: Card | None) -> tuple[Field, ...]:
    free = card.free if card is not None else None
    pods = card.pods if card is not None else None
    return (
        amounts_field("total", found.total, card.total.items() if card is not None and card.healthy else None),
        amounts_field("free", found.free, None if free is None else free.items()),
        pods_field(theirs, theirs if pods is None else pods),
    )


def _cpus(snapshot: Snapshot, found: CPUSummary, name: str) -> Compared:
    here = snapshot.nodes.get(name)
    ours = {
        pod.key: frozenset(pod.allocations.cpus.cpus)
        for pod in snapshot.running.get(name, ())
        if pod.allocations.cpus is not None and pod.allocations.cpus.cpus
    }
    theirs = {pod: some for pod, some in found.pods.items() if some and pod in without_reservations([pod], snapshot)}
    numa = here.numa if here is not None else None
    taken = frozenset[int]().union(*ours.values())
    left = frozenset(members(numa.every_cpu & ~numa.reserved)) - taken if numa is not None else None
    fields = (
        pods_field(_bindings(theirs), _bindings(ours)),
        Field("availableCPUs", _ranges(found.available), None if left is None else _ranges(left)),
    )
    explained = tuple(differences(theirs.keys(), ours.keys(), snapshot, books=True))
    return Compared(
        name, fields, (*explained, *comparison_unexplained(fields, ("pods", "availableCPUs") if explained else ()))
    )


def _reservation(snapshot: Snapshot, name: str, found: ReservationSummary | None) -> Compared:
    here = next((one for one in snapshot.reservations if one.name == name), None)
    if found is None:
        return only_here(name)
    drawing = (pod for pods in snapshot.running.values() for pod in pods)
    ours = frozenset(pod.key for pod in drawing if here is not None and pod.allocations.reservation == here.uid)
    fields = (
        amounts_field("allocatable", found.allocatable, here.size if here is not None else None),
        amounts_field("allocated", found.allocated, None),
        pods_field(found.pods, ours),
    )
    if here is None:
        return only_there(name, fields)
    explained = tuple(differences(found.pods, ours, snapshot))
    return Compared(name, fields, (*explained, *comparison_unexplained(fields, ("pods",) if explained else ())))


def _bindings(pods: Mapping[str, frozenset[int]]) -> Iterator[str]:
    return (f"{pod}: {_ranges(some)}" for pod, some in pods.items())


def _ranges(numbers: Iterable[int]) -> str:
    """Return a list of CPUs as Linux spells it: `0-3,8`."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


def quotas(snapshot: Snapshot, found: Mapping[str, QuotaSummary], asked: str, name: str = "") -> SchedulerReport:
    """Return every quota that the scheduler or the objects know, or the named one."""
    ours = {row.name: row for row in computed(snapshot).quotas if row.name != ROOT}
    keys = [name] if name else sorted({*found, *ours})
    items = (_quotas_compared(key, found.get(key), ours.get(key)) for key in keys)
    return report(snapshot, "quotas", asked, "quotas", items)


def _quotas_compared(name: str, theirs: QuotaSummary | None, row: QuotaRow | None) -> Compared:
    if theirs is None:
        return only_here(name)
    if row is None:
        return only_there(name, _quotas_fields(theirs, None))
    fields = tuple(_quotas_fields(theirs, row))
    explained = tuple(_quotas_explained(theirs, row, fields))
    accounted = [name for one in explained for name in ("runtime" if one.code == "runtime-lag" else "used",)]
    return Compared(name, fields, (*explained, *comparison_unexplained(fields, accounted)))


def _quotas_fields(theirs: QuotaSummary, row: QuotaRow | None) -> Iterator[Field]:
    ours: dict[str, Spelled | None] = {}
    if row is not None:
        limits = {} if row.built_in else {"min": row.min, "max": row.max, "runtime": row.runtime}
        ours = {**limits, "used": row.used, "request": row.request}
    for name, amounts in theirs.amounts.items():
        own = ours.get(name)
        yield amounts_field(name, amounts, None if own is None else _parsed(own))


def _quotas_explained(theirs: QuotaSummary, row: QuotaRow, fields: tuple[Field, ...]) -> Iterator[Difference]:
    differ = {field.field for field in fields if not field.agrees}
    if "used" in differ:
        more, ours = dict(theirs.amounts["used"]), dict(_parsed(row.used or {}))
        if all(more.get(resource, 0) >= number for resource, number in ours.items()):
            yield Difference("assumed-pods", say("used: it counts pods that wait in Permit or are being bound, too"))
    if "runtime" in differ:
        yield Difference(
            "runtime-lag",
            say("runtime: it refreshes that of a quota when one of its pods is tried, and all others later"),
        )


def _parsed(amounts: Spelled) -> Resources:
    return tuple((name, values.amount(name, values.parse(text))) for name, text in amounts.items())
