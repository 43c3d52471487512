"""Volcano's queue: whether the job's PodGroup was enqueued, and what its queue may still give."""

from kubectl_koord.language import say
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
        return Passed(
            say("PodGroup {name} is {phase}", name=groups[0].name, phase=groups[0].phase), f"PodGroup/{groups[0].key}"
        )
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
    told = (
        say("; Volcano says: {reason}: {message}", reason=said.reason, message=said.message).rstrip(": .")
        if said is not None
        else ""
    )
    known = bool(snapshot.volcano.queues) and snapshot.sees("Queue.scheduling.volcano.sh")
    full, lack = _full(group, snapshot)
    if queue is None:
        why = say(
            "Queue {queue} {part}", queue=group.queue, part=say("does not exist") if known else say("was not read")
        )
    elif queue.state not in {"", "Open"}:
        why = say("Queue {queue} is {state}", queue=group.queue, state=queue.state)
    elif lack:
        above = "" if full == group.queue else say(", above {queue},", queue=group.queue)
        why = say("Queue {full}{above} has {lack}", full=full, above=above, lack=lack)
    else:
        why = say("Queue {queue} has not enqueued PodGroup {name}", queue=group.queue, name=group.name)
    command = facts.describe_named("queue.scheduling.volcano.sh", full)
    step = WayOut("free-queue", say("See what Queue {full} may give, and who uses it", full=full), command)
    message = why.replace(" has ", ": ", 1) if lack else why
    return Held(
        "queue-holds",
        say("waits in a queue: {why}{told}.", why=why, told=told),
        message,
        f"Queue/{full}",
        since,
        steps=(step,),
    )


def _said(group: VolcanoGroup) -> VolcanoCondition | None:
    """Return the latest condition that tells why a PodGroup waits."""
    found = [one for one in group.conditions if one.type == "Unschedulable" and one.status == "True"]
    return max(found, key=lambda one: one.since, default=None)


def _full(group: VolcanoGroup, snapshot: Snapshot) -> tuple[str, str]:
    """Return the first queue, from that of a group up, that has too little left, and what of; without one its own."""
    name, seen = group.queue, set[str]()
    while (queue := snapshot.volcano.queues.get(name)) is not None and name not in seen:
        seen.add(name)
        if lack := _lack(group, queue):
            return name, lack
        name = queue.parent
    return group.queue, ""


def _lack(group: VolcanoGroup, queue: VolcanoQueue) -> str:
    """Return what the queue has too little left of, against its capability or what it deserves."""
    for resource, wanted in sorted(group.min_resources.items(), key=lambda item: (item[0] in {"cpu", "memory"}, item)):
        limit = queue.capability.get(resource)
        if limit is None:
            continue
        left = max(0, limit - queue.allocated.get(resource, 0))
        if left < wanted:
            numbers = [amount_of(resource, number) for number in (left, limit, wanted)]
            return say(
                "{numbers} of {numbers2} {resource_name} left, {numbers3} wanted",
                numbers=numbers[0],
                numbers2=numbers[1],
                resource_name=resource_name(resource),
                numbers3=numbers[2],
            )
    return ""
