"""The gangs as the scheduler remembers them, beside those that the objects define."""

from collections.abc import Iterator, Mapping

from kubectl_koord.engine.gangs import Gang, all_gangs, group_of
from kubectl_koord.explain.operation.scheduler.comparison import only_here, only_there, report, unexplained
from kubectl_koord.explain.operation.scheduler.pods import without_reservations
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.summaries import GangSummary
from kubectl_koord.reports.operation.scheduler import Compared, Difference, Field, SchedulerReport
from kubectl_koord.wording.answers import scheduler_view as sentences

_SETTINGS = ("minMember", "mode", "matchPolicy", "gangGroup")
_YES_NO = {True: "yes", False: "no"}


def gangs(snapshot: Snapshot, found: Mapping[str, GangSummary], asked: str, name: str = "") -> SchedulerReport:
    """Return every gang that the scheduler or the objects know, or the named one.

    Args:
        snapshot: the objects.
        found: the scheduler's answer.
        asked: who answered.
        name: `namespace/name` of a gang, empty for all.

    """
    ours = all_gangs(snapshot)
    keys = [name] if name else sorted({*found, *ours})
    items = (_compared(key, found.get(key), ours, snapshot) for key in keys)
    return report(snapshot, "gang" if name else "gangs", asked, "listing", items)


def _compared(key: str, theirs: GangSummary | None, gangs: Mapping[str, Gang], snapshot: Snapshot) -> Compared:
    gang = gangs.get(key)
    if theirs is None:
        return only_here(key)
    if gang is None:
        return only_there(key, _fields(theirs, None, satisfied=False))
    satisfied = _ran(gangs, key)
    fields = tuple(_fields(theirs, gang, satisfied=satisfied))
    differences = tuple(_explained(theirs, gang, fields, snapshot, satisfied=satisfied))
    return Compared(key, fields, (*differences, *unexplained(fields, _accounted_for(theirs, gang, differences))))


def _ran(gangs: Mapping[str, Gang], key: str) -> bool:
    """Tell whether a member of the group is bound: gangs with the same list share the scheduler's flag."""
    own = gangs[key]
    sharing = (gang for gang in group_of(gangs, key).members if set(gang.group) == set(own.group))
    return own.bound > 0 or any(gang.bound for gang in sharing)


def _fields(theirs: GangSummary, gang: Gang | None, *, satisfied: bool) -> Iterator[Field]:
    here, bound = (_pods(gang), _bound(gang)) if gang else (frozenset(), frozenset())
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
    here, bound = _pods(gang), _bound(gang)
    if waiting := theirs.waiting & here - bound:
        yield Difference("waiting-in-permit", sentences.waiting_in_permit(waiting))
    if assumed := theirs.bound & here - bound:
        yield Difference("assumed-pods", sentences.assumed_pods(assumed))
    stands = theirs.children - here - without_reservations(theirs.children - here, snapshot)
    if stands:
        yield Difference("reservation-counts", sentences.reservations_count(stands))
    if gone := theirs.children - here - stands:
        yield Difference("deleted-pods-linger", sentences.deleted_pods_linger(gone))
    if unknown := here - theirs.children:
        yield Difference("pods-not-known", sentences.pods_not_known(unknown))
    if satisfied and not theirs.satisfied:
        yield Difference("satisfied-flag-lost", sentences.flag_lost())
    if theirs.satisfied and not satisfied and not theirs.bound & here:
        yield Difference("satisfied-flag-kept", sentences.flag_kept())
    kept = [field.field for field in fields if field.field in _kept(gang) and not field.agrees]
    if kept:
        yield Difference("settings-kept", sentences.settings_kept(kept))


def _kept(gang: Gang) -> tuple[str, ...]:
    """Return what is not taken over from objects that change: of a PodGroup, only the group that it began with."""
    return _SETTINGS if gang.defined_by == "pods" else ("gangGroup",)


def _accounted_for(theirs: GangSummary, gang: Gang, differences: tuple[Difference, ...]) -> Iterator[str]:
    """Yield the fields whose difference follows from pods and settings that were named."""
    codes = {difference.code for difference in differences}
    here, bound = _pods(gang), _bound(gang)
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


def _pods(gang: Gang) -> frozenset[str]:
    return frozenset(pod.key for pods in (gang.pending, gang.running, gang.finished) for pod in pods)


def _bound(gang: Gang) -> frozenset[str]:
    ended = (pod.key for pod in gang.finished if pod.was_bound)
    return frozenset((*(pod.key for pod in gang.running), *ended))
