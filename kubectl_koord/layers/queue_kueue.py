"""Kueue's queue: whether the job's Workload was admitted, what its ClusterQueue lacks, and who is ahead of it."""

from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from kubectl_koord.language import STOP, say
from kubectl_koord.layers.base import (
    WORKLOAD,
    Answer,
    Held,
    Job,
    NotHere,
    Passed,
    Unknown,
    is_mine,
    is_true,
    serves_kueue,
)
from kubectl_koord.layers.owner import words
from kubectl_koord.model.jobs import ClusterQueue, FlavorQuota, Kueue, KueueWorkload, ObjectCondition
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.common import WayOut
from kubectl_koord.wording import facts
from kubectl_koord.wording.words import SEMICOLON, amount_of, could_not_be_read, count, listed, paste, resource_name

NAME = "queue (Kueue)"
_LOCAL, _CLUSTER = "LocalQueue", "ClusterQueue"
READS = (WORKLOAD, _LOCAL, _CLUSTER, "Cohort", "AdmissionCheck")

_STOPPED = ("Hold", "HoldAndDrain")
_PASSED_ON = ("Ready",)


class Room(Struct, frozen=True):
    """What a ClusterQueue has of a resource in the flavor that has most left.

    `left` is of its own quota, `available` with what it may borrow; None where its cohorts are a circle, or were not
    read.
    """

    resource: str
    flavor: str
    nominal: int
    left: int
    available: int | None
    wanted: int


def ask(job: Job, snapshot: Snapshot) -> Answer:
    """Tell whether Kueue has admitted every Workload of the job."""
    jobs = snapshot.jobs
    if jobs is None or not serves_kueue(snapshot):
        return NotHere()
    mine = _workloads(job, snapshot, jobs.kueue)
    if not mine:
        return _without(job, snapshot, jobs.kueue)
    answers = [_asked(work, jobs.kueue, snapshot) for work in mine]
    return next((one for one in answers if isinstance(one, Held)), answers[0])


def _workloads(job: Job, snapshot: Snapshot, kueue: Kueue) -> list[KueueWorkload]:
    """Return the Workloads of the job, or of its pods where Kueue queues these; none that is finished beside others."""
    made = snapshot.jobs.made if snapshot.jobs else ()
    pods = {pod.key for pod in job.pods} | {pod.key for pod in (job.subject.pending if job.subject else ())}
    found = [
        work
        for work in kueue.workloads.values()
        if is_mine(work.owners, work.namespace, job, made)
        or any(f"{work.namespace}/{owner.removeprefix('Pod/')}" in pods for owner in work.owners if "Pod/" in owner)
    ]
    return [work for work in found if not is_true(work.conditions, "Finished")] or found


def _without(job: Job, snapshot: Snapshot, kueue: Kueue) -> Answer:
    """Return what it means that there is no Workload: nothing where the job names no queue."""
    named = next((one for one in job.owners if one.queue and one.group != "batch.volcano.sh"), None)
    gap = snapshot.unread(WORKLOAD, job.key.partition("/")[0])
    if named is None:
        return Unknown(could_not_be_read((gap,))) if gap is not None and not job.pods else NotHere()
    if gap is not None:
        return Unknown(could_not_be_read((gap,)))
    key = f"{named.namespace}/{named.queue}"
    if key not in kueue.local_queues and snapshot.sees(_LOCAL, named.namespace):
        return _no_queue(key)
    if not named.suspended:
        return NotHere()
    message = say("no Workload was made for {kind} {name}", kind=named.kind, name=named.name)
    hint = say(
        "See whether Kueue runs, and whether its configuration names {kind} among its integrations", kind=named.kind
    )
    step = WayOut("see-owner", hint, facts.describe(named.kind.lower(), named.key))
    told = say("waits in a queue: LocalQueue {key} is named, and Kueue has made no Workload for it.", key=key)
    return Held("queue-holds", told, message, f"LocalQueue/{key}", steps=(step,))


def _no_queue(key: str) -> Held:
    namespace, _, name = key.partition("/")
    message = say("LocalQueue {key} does not exist", key=key)
    command = paste("kubectl", "get", "localqueues", "-n", namespace)
    step = WayOut(
        "free-queue",
        say("Create LocalQueue {name} in namespace {namespace}, or name another", name=name, namespace=namespace),
        command,
    )
    return Held(
        "queue-holds", say("waits in a queue: {message}.", message=message), message, f"LocalQueue/{key}", steps=(step,)
    )


def _asked(work: KueueWorkload, kueue: Kueue, snapshot: Snapshot) -> Answer:
    if is_true(work.conditions, "Finished"):
        return Passed(say("its Workload is finished"), f"Workload/{work.key}")
    if is_true(work.conditions, "Admitted"):
        since = next(one.since for one in work.conditions if one.type == "Admitted")
        return Passed(
            say("admitted by ClusterQueue {cluster_queue}", cluster_queue=work.cluster_queue),
            f"Workload/{work.key}",
            since,
        )
    return _inactive(work) if not work.active else _unadmitted(work, kueue, snapshot)


def _unadmitted(work: KueueWorkload, kueue: Kueue, snapshot: Snapshot) -> Held:
    key = f"{work.namespace}/{work.queue}"
    local = kueue.local_queues.get(key)
    if local is None and snapshot.sees(_LOCAL, work.namespace):
        return _no_queue(key)
    name = work.cluster_queue or (local.cluster_queue if local else "")
    queue = kueue.cluster_queues.get(name)
    reserved = is_true(work.conditions, "QuotaReserved")
    if local is not None and local.stop_policy in _STOPPED and not reserved:
        return _stopped(f"LocalQueue {key}", local.stop_policy, f"LocalQueue/{key}", work)
    if queue is None:
        return _without_cluster_queue(work, name, snapshot)
    return _checks(work, queue) if reserved else _without_quota(work, queue, kueue, snapshot)


def _without_quota(work: KueueWorkload, queue: ClusterQueue, kueue: Kueue, snapshot: Snapshot) -> Held:
    name = queue.name
    if queue.stop_policy in _STOPPED:
        return _stopped(f"ClusterQueue {name}", queue.stop_policy, f"ClusterQueue/{name}", work)
    inactive = next((one for one in queue.conditions if one.type == "Active" and one.status == "False"), None)
    if inactive is not None:
        return _broken(name, inactive)
    return _waiting(work, queue, kueue, snapshot)


def _inactive(work: KueueWorkload) -> Held:
    evicted = work.condition("Evicted")
    why = f": {words(evicted)}" if evicted is not None and words(evicted) else ""
    message = say("Workload {name} is not active{why}", name=work.name, why=why)
    command = facts.patch("workload", work.key, {"spec": {"active": True}})
    step = WayOut("resume-owner", say("Let Workload {name} be queued again", name=work.name), command)
    told = say(
        "waits in a queue: its Workload {name} is not active (spec.active is false){why}.", name=work.name, why=why
    )
    since = evicted.since if evicted is not None else ""
    return Held("queue-holds", told, message, f"Workload/{work.key}", since, steps=(step,))


def _stopped(queue: str, policy: str, seen: str, work: KueueWorkload) -> Held:
    message = say("{queue} is stopped (stopPolicy {policy})", queue=queue, policy=policy)
    kind, name = queue.split(" ")
    patch = {"spec": {"stopPolicy": "None"}}
    is_local = "/" in name
    command = facts.patch(kind.lower(), name, patch) if is_local else facts.patch_named(kind.lower(), name, patch)
    step = WayOut("free-queue", say("Have {queue} opened again by who has stopped it", queue=queue), command)
    return Held(
        "queue-holds", say("waits in a queue: {message}.", message=message), message, seen, work.created, steps=(step,)
    )


def _broken(name: str, inactive: ObjectCondition) -> Held:
    message = say("ClusterQueue {name} is not active: {words}", name=name, words=words(inactive))
    step = WayOut(
        "free-queue", say("Correct ClusterQueue {name}", name=name), facts.describe_named("clusterqueue", name)
    )
    told = say("waits in a queue: {message}.", message=message)
    return Held("queue-holds", told, message, f"ClusterQueue/{name}", inactive.since, steps=(step,))


def _without_cluster_queue(work: KueueWorkload, name: str, snapshot: Snapshot) -> Held:
    gap = snapshot.unread(_CLUSTER) or snapshot.unread(_LOCAL, work.namespace)
    waiting = work.condition("QuotaReserved")
    said = words(waiting) if waiting is not None else ""
    if gap is None and name:
        message = say("ClusterQueue {name} does not exist", name=name)
        step = WayOut("free-queue", say("Create ClusterQueue {name}", name=name), "kubectl get clusterqueues")
        return Held(
            "queue-holds",
            say("waits in a queue: {message}.", message=message),
            message,
            f"ClusterQueue/{name}",
            steps=(step,),
        )
    why = f"LocalQueue {work.queue}" + (f": {said}" if said else "")
    told = say(
        "waits in a queue: {why}; {could_not_be_read}",
        why=why,
        could_not_be_read=could_not_be_read((gap,)) if gap else say("its ClusterQueue is not known"),
    )
    return Held(
        "queue-holds",
        say("{told}.", told=told.rstrip(STOP)),
        why,
        f"Workload/{work.key}",
        work.created,
        steps=(_see(work),),
    )


def _see(work: KueueWorkload) -> WayOut:
    return WayOut("free-queue", say("See what the queue says of its Workload"), facts.describe("workload", work.key))


def _checks(work: KueueWorkload, queue: ClusterQueue) -> Held:
    """Return which admission check holds a Workload that has its quota."""
    open_checks = [check for check in work.checks if check.state not in _PASSED_ON]
    missing = sorted({*queue.checks} - {check.name for check in work.checks})
    since = next((one.since for one in work.conditions if one.type == "QuotaReserved"), "")
    if open_checks:
        first = open_checks[0]
        said = say(": {why}", why=first.message.rstrip(".")) if first.message else ""
        what = say("admission check {name} is {state}{said}", name=first.name, state=first.state, said=said)
    elif missing:
        what = say("admission check {missing} has not answered yet", missing=listed(missing))
    else:
        what = say("Kueue has not started it yet")
    told = say("waits in a queue: it has quota in ClusterQueue {name}, and {what}.", name=queue.name, what=what)
    step = WayOut("free-queue", say("See what the admission check waits for"), facts.describe("workload", work.key))
    return Held("queue-holds", told, what, f"Workload/{work.key}", since, steps=(step,))


def _waiting(work: KueueWorkload, queue: ClusterQueue, kueue: Kueue, snapshot: Snapshot) -> Held:
    """Return what a Workload waits for that has no quota yet: room, those ahead, or until it may try again."""
    condition = work.condition("QuotaReserved")
    said = words(condition) if condition is not None else ""
    seen, wide, local = _ahead(work, queue, kueue)
    found = rooms(work, queue, kueue)
    if queue.cohort and not snapshot.sees("Cohort"):
        found = [structs.replace(one, available=None) for one in found]
    lacking = [one for one in found if (one.left if one.available is None else one.available) < one.wanted]
    parts = [_short(one) for one in lacking[:1]]
    parts += _borrowing(queue, lacking[:1])
    parts += _preemption(queue, lacking[:1], kueue)
    if not lacking and work.requeue_at > snapshot.moment:
        parts.append(
            say("ClusterQueue {name} tries it again at {requeue_at}", name=queue.name, requeue_at=work.requeue_at)
        )
    elif not lacking:
        parts.append(
            say(
                "ClusterQueue {name}{part}",
                name=queue.name,
                part=say(" says: {said}", said=said) if said else say(" has not looked at it yet"),
            )
        )
    head = say("ClusterQueue {name} has {parts}", name=queue.name, parts=parts[0]) if lacking else parts[0]
    ahead = (
        (
            say("{workloads} {are} ahead", workloads=count(wide, "workload"), are="is" if wide == 1 else "are")
            if wide
            else say("none is ahead")
        )
        if seen
        else (say("{workloads} wait there", workloads=count(queue.pending, "workload")))
    )
    told = SEMICOLON.join([head, *parts[1:], ahead])
    place = (
        say(
            ", position {local} in LocalQueue {namespace}/{queue}",
            local=local + 1,
            namespace=work.namespace,
            queue=work.queue,
        )
        if seen
        else ""
    )
    short = say("ClusterQueue {name}: {parts}", name=queue.name, parts=parts[0]) if lacking else parts[0]
    return Held(
        "queue-holds",
        say("waits in a queue: {told}.", told=told),
        f"{short}{place}",
        f"ClusterQueue/{queue.name}",
        work.created,
        steps=tuple(_steps(queue, lacking, kueue)),
    )


def _short(room: Room) -> str:
    left, nominal = (amount_of(room.resource, number) for number in (max(room.left, 0), room.nominal))
    return say(
        "{left} of {nominal} {resource_name} left, {amount} wanted",
        left=left,
        nominal=nominal,
        resource_name=resource_name(room.resource),
        amount=amount_of(room.resource, room.wanted),
    )


def _borrowing(queue: ClusterQueue, lacking: Sequence[Room]) -> list[str]:
    """Return what the cohort could lend of the resource that is lacking."""
    if not lacking or not queue.cohort:
        return []
    room = lacking[0]
    if room.available is None:
        return [say("what cohort {cohort} could lend was not computed", cohort=queue.cohort)]
    lends = room.available - max(room.left, 0)
    return [
        say(
            "it may borrow {amount} more from cohort {cohort}",
            amount=amount_of(room.resource, max(lends, 0)),
            cohort=queue.cohort,
        )
    ]


def _preemption(queue: ClusterQueue, lacking: Sequence[Room], kueue: Kueue) -> list[str]:
    """Return whom Kueue may preempt for a Workload, in its own words; nothing where it may preempt nobody."""
    allowed = {"in its queue": queue.within}
    if queue.cohort:
        allowed |= {"in its cohort": queue.reclaim, "while it borrows": queue.borrow}
    told = [f"{policy} {where}" for where, policy in allowed.items() if policy != "Never"]
    if not lacking or not told:
        return []
    resource = lacking[0].resource
    lent = sum(quota.borrowed for one in _others(queue, kueue) for quota in one.quotas if quota.resource == resource)
    borrowed = say("; others borrow {amount} there", amount=amount_of(resource, lent)) if lent else ""
    return [say("it may preempt {told}{borrowed}", told=listed(told), borrowed=borrowed)]


def _others(queue: ClusterQueue, kueue: Kueue) -> list[ClusterQueue]:
    """Return the other queues of the tree of cohorts that a queue is in."""
    root = (_above(queue.cohort, kueue) or [""])[-1]
    others = (one for one in kueue.cluster_queues.values() if one.cohort and one.name != queue.name)
    return [one for one in others if (_above(one.cohort, kueue) or [""])[-1] == root != ""]


def _steps(queue: ClusterQueue, lacking: Sequence[Room], kueue: Kueue) -> list[WayOut]:
    command = facts.describe_named("clusterqueue", queue.name)
    if not lacking:
        return [WayOut("free-queue", say("See what ClusterQueue {name} waits for", name=queue.name), command)]
    room = lacking[0]
    short = room.wanted - (room.left if room.available is None else room.available)
    what = f"{amount_of(room.resource, short)} {resource_name(room.resource)}"
    message = say(
        "Free {what} in ClusterQueue {name}, have its quota raised by as much, or wait for those ahead",
        what=what,
        name=queue.name,
    )
    borrowers = sorted(
        other.name
        for other in _others(queue, kueue)
        if any(one.resource == room.resource and one.borrowed for one in other.quotas)
    )
    found = [WayOut("free-queue", message, command)]
    if borrowers and queue.reclaim == "Never":
        take = say(
            "{borrowers} borrows: let ClusterQueue {name} reclaim (preemption.reclaimWithinCohort)",
            borrowers=listed(borrowers),
            name=queue.name,
        )
        found.append(WayOut("free-queue", take, command))
    return found


def rooms(work: KueueWorkload, queue: ClusterQueue, kueue: Kueue) -> list[Room]:
    """Return what there is of each resource that a Workload asks for and its queue has quota of; devices first."""
    wanted = work.asks_for
    found = []
    for resource, amount in sorted(wanted.items(), key=lambda item: (item[0] in {"pods", "cpu", "memory"}, item[0])):
        own = [one for one in queue.quotas if one.resource == resource]
        if own:
            each = [_room(one, queue, kueue, amount) for one in own]
            found.append(max(each, key=lambda one: one.left if one.available is None else one.available))
    return found


def _room(one: FlavorQuota, queue: ClusterQueue, kueue: Kueue, wanted: int) -> Room:
    """Return the room in one flavor (`available` in Kueue's pkg/cache/scheduler/resource_node.go)."""
    left = one.nominal - one.used
    return Room(one.resource, one.flavor, one.nominal, left, _available(one, queue, kueue), wanted)


def _available(one: FlavorQuota, queue: ClusterQueue, kueue: Kueue) -> int | None:
    """Return what a queue has with all that it may borrow through its cohorts; None where these are a circle."""
    above = _above(queue.cohort, kueue)
    if above is None:
        return None
    left: int | None = None
    for name in reversed(above):
        own = _of(kueue.cohorts[name].quotas if name in kueue.cohorts else (), one) or FlavorQuota("", "")
        left = _through(own, _sum(name, one, kueue), left)
    return _through(one, (one.nominal, one.used), left)


def _above(cohort: str, kueue: Kueue) -> list[str] | None:
    """Return a cohort, its parent, and so on; None for a circle, of which Kueue computes nothing either."""
    found: list[str] = []
    while cohort:
        if cohort in found:
            return None
        found.append(cohort)
        cohort = kueue.cohorts[cohort].parent if cohort in kueue.cohorts else ""
    return found


def _through(limits: FlavorQuota, held: tuple[int, int], above: int | None) -> int:
    """Return what is available at a queue or cohort that holds so much quota, of which so much is used.

    That is what it keeps to itself, and what is available `above` it, within its borrowing limit.
    """
    quota, used = held
    if above is None:
        return quota - used
    kept = _kept(limits, quota)
    if limits.borrowing_limit is not None:
        above = min(above, quota - kept - max(0, used - kept) + limits.borrowing_limit)
    return max(0, kept - used) + above


def _kept(limits: FlavorQuota, quota: int) -> int:
    """Return what a queue or cohort lends to nobody above it."""
    return max(0, quota - limits.lending_limit) if limits.lending_limit is not None else 0


def _sum(name: str, like: FlavorQuota, kueue: Kueue) -> tuple[int, int]:
    """Return the quota of a cohort and all below it, and what is used of it, without what is kept below.

    Mirrors updateCohortResourceNode of Kueue's pkg/cache/scheduler/resource_node.go.
    """
    own = _of(kueue.cohorts[name].quotas if name in kueue.cohorts else (), like)
    quota, used = own.nominal if own else 0, 0
    queues = [_of(one.quotas, like) for one in kueue.cluster_queues.values() if one.cohort == name]
    below = [(one, (one.nominal, one.used)) for one in queues if one is not None]
    below += [
        (_of(cohort.quotas, like) or FlavorQuota("", ""), _sum(cohort.name, like, kueue))
        for cohort in kueue.cohorts.values()
        if cohort.parent == name
    ]
    for limits, (theirs, usage) in below:
        kept = _kept(limits, theirs)
        quota, used = quota + theirs - kept, used + max(0, usage - kept)
    return quota, used


def _of(quotas: Sequence[FlavorQuota], like: FlavorQuota) -> FlavorQuota | None:
    return next((one for one in quotas if (one.flavor, one.resource) == (like.flavor, like.resource)), None)


def _ahead(work: KueueWorkload, queue: ClusterQueue, kueue: Kueue) -> tuple[bool, int, int]:
    """Return whether all that wait were read, and how many are ahead in the ClusterQueue and in the LocalQueue."""
    homes: Mapping[str, str] = {key: local.cluster_queue for key, local in kueue.local_queues.items()}
    waiting = [
        other
        for other in kueue.workloads.values()
        if other.active
        and homes.get(f"{other.namespace}/{other.queue}") == queue.name
        and not is_true(other.conditions, "QuotaReserved")
        and not is_true(other.conditions, "Finished")
    ]
    mine = (-work.priority, work.created, work.name)
    ahead = [other for other in waiting if (-other.priority, other.created, other.name) < mine]
    local = [other for other in ahead if (other.namespace, other.queue) == (work.namespace, work.queue)]
    return len(waiting) >= queue.pending, len(ahead), len(local)
