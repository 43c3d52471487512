"""PodMigrationJobs and Reservations that concern a gang's pods, or a place."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import structs

from kubectl_koord.diagnosis import coverage, disruption
from kubectl_koord.engine.reservations import drawable
from kubectl_koord.engine.state import View
from kubectl_koord.language import say
from kubectl_koord.model.installation import MigrationJob
from kubectl_koord.model.pods import FinishedPod, PendingPod, RunningPod
from kubectl_koord.model.reservations import Reservation
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values import memoised
from kubectl_koord.reports.common import BrokenGang, DomainName, GangReservation, Migration, Notice
from kubectl_koord.wording.words import count, layer_noun, listed

Pods: TypeAlias = Iterable[PendingPod | RunningPod | FinishedPod]


def reservations_of(snapshot: Snapshot, view: View, pods: Pods) -> tuple[GangReservation, ...]:
    """Return the Reservations on which pods draw or may draw, that count as pods of theirs, or replace one of them.

    Args:
        snapshot: the cluster as it is.
        view: the same, perhaps with Reservations placed that go first.
        pods: those of a gang or of a gang group, or a pod alone.
    """
    if not snapshot.reservations and not snapshot.reserve_pods:
        return ()
    every = tuple(pods)
    members = {pod.key for pod in every}
    drawing: dict[str, list[str]] = {}
    for pod in every:
        if isinstance(pod, RunningPod) and pod.allocations.reservation:
            drawing.setdefault(pod.allocations.reservation, []).append(pod.key)
    may_draw = _may_draw(view, every)
    if not (drawing or may_draw or members & _stand_ins_and_moved(snapshot)):
        return ()
    jobs = _jobs_by_reservation(snapshot)
    found = []
    for one, stand_in in _every_reservation(snapshot):
        job = jobs.get(one.name)
        moves_one = job is not None and bool({job.pod, job.replacement} & members)
        if one.uid in drawing or one.uid in may_draw or stand_in in members or moves_one:
            found.append(
                GangReservation(
                    reservation=one.name,
                    node=one.node or None,
                    drawing=tuple(drawing.get(one.uid, ())),
                    may_draw=may_draw[one.uid],
                    is_member=stand_in in members,
                    job=job.name if job is not None else None,
                    expires=one.expires or None,
                )
            )
    return tuple(found)


def _may_draw(view: View, pods: Pods) -> Counter[str]:
    """Return how many pending pods may draw on each Reservation, by its uid; pods that are alike are asked for once."""
    named = _named_owners(view.snapshot)
    alike: dict[object, list[PendingPod]] = {}
    for pod in pods:
        if isinstance(pod, PendingPod):
            kind = (pod.namespace, id(pod.labels), id(pod.requirements), pod.owners)
            alike.setdefault(pod.key if {pod.name, pod.uid} & named else kind, []).append(pod)
    found = Counter[str]()
    for same in alike.values():
        found.update(dict.fromkeys(drawable(view, same[0]).uids, len(same)))
    return found


@memoised
def _stand_ins_and_moved(snapshot: Snapshot) -> frozenset[str]:
    """Return the pods that stand for Reservations, and those that jobs move or bring: most gangs have none of them."""
    moved = (name for job in _active(snapshot) for name in (job.pod, job.replacement))
    return frozenset((*(pod.key for pod in snapshot.reserve_pods), *moved))


@memoised
def _named_owners(snapshot: Snapshot) -> frozenset[str]:
    """Return the names and uids of pods that Reservations are for, each by itself."""
    objects = (owner.object for one in snapshot.reservations for owner in one.owners if owner.object is not None)
    return frozenset(name for one in objects for name in (one.name, one.uid) if name)


def _every_reservation(snapshot: Snapshot) -> Iterator[tuple[Reservation, str]]:
    """Yield each Reservation, with the pod that stands for it while it is still to be placed."""
    yield from ((one, "") for one in snapshot.reservations)
    yield from ((pod.reserves, pod.key) for pod in snapshot.reserve_pods if pod.reserves is not None)


def migrations_of(
    snapshot: Snapshot, pods: Pods, reservations: Sequence[GangReservation] = ()
) -> tuple[Migration, ...]:
    """Return the jobs, not over yet, that move one of these pods, bring one, or made one of these Reservations."""
    if not snapshot.migrations:
        return ()
    members = {pod.key for pod in pods}
    for_them = {one.job for one in reservations}
    return tuple(one for one in _migrations(snapshot) if {one.pod, one.replacement} & members or one.job in for_them)


def at(snapshot: Snapshot, names: Collection[str]) -> tuple[Migration, ...]:
    """Return the jobs, not over yet, that move a pod away from these nodes, or to one of them."""
    return tuple(one for one in _migrations(snapshot) if one.node in names or one.to in names)


def job_of(snapshot: Snapshot, reservation: str) -> str | None:
    """Return the name of the PodMigrationJob that a Reservation was made for, None for none."""
    job = _jobs_by_reservation(snapshot).get(reservation)
    return job.name if job is not None else None


def notices(migrations: Iterable[Migration], snapshot: Snapshot) -> Iterator[Notice]:
    """Yield a warning for each gang that these jobs break.

    It falls below its minimum when its pods are evicted, or they are to come back outside its domain.
    """
    moved: dict[str, list[Migration]] = {}
    astray: dict[tuple[str, DomainName], list[Migration]] = {}
    for one in migrations:
        if one.breaks and one.gang is not None:
            moved.setdefault(one.gang, []).append(one)
        if one.leaves is not None and one.gang is not None:
            astray.setdefault((one.gang, one.leaves), []).append(one)
    broken = _broken(snapshot)
    for gang, jobs in moved.items():
        yield Notice("migration-breaks-gang", _breaks_gang(jobs, broken[gang]))
    for (gang, left), jobs in astray.items():
        yield Notice("migration-leaves-domain", _leaves_domain(jobs, gang, left))


def _leaves_domain(jobs: Sequence[Migration], gang: str, left: DomainName) -> str:
    """Return that the pods that jobs move are to come back outside the domain of the rest of their gang."""
    pods, names = listed([one.pod for one in jobs]), listed([one.job for one in jobs])
    nodes = listed(sorted({one.to for one in jobs if one.to}))
    s, verb = ("", "moves") if len(jobs) == 1 else ("s", "move")
    domain = f"{layer_noun(left.layer)} {left.name}"
    must = say("its pods must stay together there (MustGather {layer})", layer=left.layer)
    return say(
        "PodMigrationJob{s} {names} {verb} {pods} to {nodes}, outside {domain} with the rest of gang {gang}: {must}.",
        s=s,
        names=names,
        verb=verb,
        pods=pods,
        nodes=nodes,
        domain=domain,
        gang=gang,
        must=must,
    )


def _breaks_gang(jobs: Sequence[Migration], broken: BrokenGang) -> str:
    """Return that evicting the pods that jobs move brings a gang below its minimum."""
    pods, names = listed([one.pod for one in jobs]), listed([one.job for one in jobs])
    s, verb = ("", "moves") if len(jobs) == 1 else ("s", "move")
    left = say(
        "{left} of {pods} left, {min_member} needed",
        left=broken.left,
        pods=count(broken.bound, "pod"),
        min_member=broken.min_member,
    )
    evicted = say("it is evicted") if len(jobs) == 1 else say("they are evicted")
    return say(
        "PodMigrationJob{s} {names} {verb} {pods}: when {evicted}, gang {gang} falls below its minimum ({left}).",
        s=s,
        names=names,
        verb=verb,
        pods=pods,
        evicted=evicted,
        gang=broken.gang,
        left=left,
    )


@memoised
def _migrations(snapshot: Snapshot) -> tuple[Migration, ...]:
    every = _without_domains(snapshot)
    left = coverage.left_domains(snapshot, every)
    return tuple(structs.replace(one, leaves=left[one.job]) if one.job in left else one for one in every)


def _without_domains(snapshot: Snapshot) -> tuple[Migration, ...]:
    running = _moving(snapshot)
    broken = _broken(snapshot)
    nodes = {one.name: one.node for one in snapshot.reservations}
    made_for = {job.name: name for name, job in _jobs_by_reservation(snapshot).items()}
    gangs = {pod.key: pod.gang for pod in snapshot.pending}
    found = []
    for job in _active(snapshot):
        pod, reservation = running.get(job.pod), made_for.get(job.name, "")
        gang = pod.gang if pod is not None else gangs.get(job.replacement, "")
        found.append(
            Migration(
                job=job.name,
                pod=job.pod,
                phase=job.phase or "Pending",
                mode=job.mode,
                paused=job.paused,
                status=job.status,
                reason=job.reason,
                message=job.message,
                node=pod.node if pod is not None else None,
                gang=gang or None,
                reservation=reservation or None,
                to=nodes.get(reservation) or None,
                replacement=job.replacement or None,
                breaks=pod is not None and not job.paused and gang in broken,
            )
        )
    return tuple(found)


@memoised
def _broken(snapshot: Snapshot) -> Mapping[str, BrokenGang]:
    """Return by gang which fall below their minimum when all pods are evicted that are being moved."""
    paused = {job.pod for job in _active(snapshot) if job.paused}
    ending = [pod for key, pod in _moving(snapshot).items() if key not in paused]
    return {one.gang: one for one in disruption.broken_gangs(snapshot, ending)}


@memoised
def _moving(snapshot: Snapshot) -> Mapping[str, RunningPod]:
    """Return the pods on nodes that are to be moved away, by name."""
    wanted = {job.pod for job in _active(snapshot)}
    every = (pod for pods in snapshot.running.values() for pod in pods) if wanted else ()
    return {pod.key: pod for pod in every if pod.key in wanted}


@memoised
def _jobs_by_reservation(snapshot: Snapshot) -> Mapping[str, MigrationJob]:
    """Return the jobs by the name of the Reservation that each was made: one that the job names, or that has its uid.

    Mirrors `CreateOrUpdateReservationOptions` in pkg/descheduler/controllers/migration/reservation/util.go.
    """
    known = {one.name for one, _ in _every_reservation(snapshot)}
    named = ((job.reservation or (job.uid if job.uid in known else ""), job) for job in _active(snapshot))
    return {name: job for name, job in named if name}


def _active(snapshot: Snapshot) -> tuple[MigrationJob, ...]:
    return tuple(job for job in snapshot.migrations if job.is_active)
