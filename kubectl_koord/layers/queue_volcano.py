"""Volcano's queue: whether the job's PodGroup was enqueued, and what its queue may still give."""

from kubectl_koord.layers.base import Answer, Held, Job, NotHere, Passed, Unknown
from kubectl_koord.model.installation import VolcanoCondition, VolcanoGroup, VolcanoQueue
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.common import WayOut
from kubectl_koord.wording import facts
from kubectl_koord.wording.words import amount_of, could_not_be_read, resource_name

NAME = "queue (Volcano)"
READS = ("PodGroup.scheduling.volcano.sh", "Queue.scheduling.volcano.sh")

_WAITING = ("", "Pending")
_GROUP = "PodGroup.scheduling.volcano.sh"


def ask(job: Job, snapshot: Snapshot) -> Answer:
    """Tell whether Volcano has let the PodGroups of the job into its scheduler."""
    groups = _groups(job, snapshot)
    gap = snapshot.unread(_GROUP, job.key.partition("/")[0])
    if not groups:
        is_volcanos = any(one.group == "batch.volcano.sh" for one in job.owners)
        return Unknown(could_not_be_read((gap,))) if gap is not None and is_volcanos else NotHere()
    held = next((group for group in groups if group.phase in _WAITING), None)
    if held is None:
        return Passed(f"PodGroup {groups[0].name} is {groups[0].phase}", f"PodGroup/{groups[0].key}")
    return _held(held, snapshot)


def _groups(job: Job, snapshot: Snapshot) -> list[VolcanoGroup]:
    named = {pod.volcano_group for pod in (job.subject.pending if job.subject else ())}
    own = {f"{one.kind}/{one.name}" for one in (*job.owners, *(snapshot.jobs.made if snapshot.jobs else ()))}
    home = job.key.partition("/")[0]
    return [
        group
        for group in snapshot.volcano.groups.values()
        if group.key in named or (group.namespace == home and group.owner in own)
    ]


def _held(group: VolcanoGroup, snapshot: Snapshot) -> Held:
    queue = snapshot.volcano.queues.get(group.queue)
    said = _said(group)
    since = said.since if said is not None else group.created
    told = f"; Volcano says: {said.reason}: {said.message}".rstrip(": .") if said is not None else ""
    known = bool(snapshot.volcano.queues) and snapshot.sees("Queue.scheduling.volcano.sh")
    lack = _lack(group, queue) if queue is not None else ""
    if queue is None:
        why = f"Queue {group.queue} {'does not exist' if known else 'was not read'}"
    elif queue.state not in {"", "Open"}:
        why = f"Queue {group.queue} is {queue.state}"
    elif lack:
        why = f"Queue {group.queue} has {lack}"
    else:
        why = f"Queue {group.queue} has not enqueued PodGroup {group.name}"
    command = facts.describe_named("queue.scheduling.volcano.sh", group.queue)
    step = WayOut("free-queue", f"See what Queue {group.queue} may give, and who uses it", command)
    message = why.replace(" has ", ": ", 1) if lack else why
    return Held(
        "queue-holds",
        f"waits in a queue: {why}{told}.",
        message,
        f"Queue/{group.queue}",
        since,
        steps=(step,),
    )


def _said(group: VolcanoGroup) -> VolcanoCondition | None:
    """Return the latest condition that tells why a PodGroup waits."""
    found = [one for one in group.conditions if one.type == "Unschedulable" and one.status == "True"]
    return max(found, key=lambda one: one.since, default=None)


def _lack(group: VolcanoGroup, queue: VolcanoQueue) -> str:
    """Return what the queue has too little left of, against its capability or what it deserves."""
    for resource, wanted in sorted(group.min_resources.items(), key=lambda item: (item[0] in {"cpu", "memory"}, item)):
        limit = queue.capability.get(resource)
        if limit is None:
            continue
        left = max(0, limit - queue.allocated.get(resource, 0))
        if left < wanted:
            numbers = [amount_of(resource, number) for number in (left, limit, wanted)]
            return f"{numbers[0]} of {numbers[1]} {resource_name(resource)} left, {numbers[2]} wanted"
    return ""
