"""koord-queue: whether the job's QueueUnit was dequeued, and what stands before it."""

from kubectl_koord.language import say
from kubectl_koord.layers.base import UNIT, Answer, Held, Job, NotHere, Passed, Unknown, is_consumer
from kubectl_koord.layers.owner import describe
from kubectl_koord.model.jobs import Jobs, QueueUnit
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.common import WayOut
from kubectl_koord.wording import facts
from kubectl_koord.wording.words import SEMICOLON, could_not_be_read, count

NAME = "queue (koord-queue)"
READS = (UNIT, "Queue.scheduling.x-k8s.io")

_PASSED = ("Dequeued", "Running", "Succeed", "Succeeded", "SchedReady")
_RESERVED = "Reserved"
_FAILED = ("Failed", "SchedFailed")


def ask(job: Job, snapshot: Snapshot) -> Answer:
    """Tell whether koord-queue has let every unit of the job go."""
    jobs = snapshot.jobs
    if jobs is None:
        return NotHere()
    units = [unit for unit in jobs.koord.units.values() if is_consumer(unit, job, jobs.made)]
    gap = snapshot.unread(UNIT, job.key.partition("/")[0])
    if not units:
        return Unknown(could_not_be_read((gap,))) if gap is not None and gap.code != "missing" else NotHere()
    held = next((unit for unit in units if unit.phase not in _PASSED), None)
    if held is None:
        return Passed(
            say("QueueUnit {name} is {phase}", name=units[0].name, phase=units[0].phase),
            f"QueueUnit/{units[0].key}",
            units[0].updated,
        )
    return _held(held, job, jobs, snapshot)


def _held(unit: QueueUnit, job: Job, jobs: Jobs, snapshot: Snapshot) -> Held:
    phase = unit.phase or say("not looked at yet")
    written = unit.message or _reported(unit, jobs)
    said = say(": {why}", why=" ".join(written.split()).rstrip(".")) if written else ""
    open_checks = [check for check in unit.checks if check.state != "Ready"]
    parts = [say("QueueUnit {name} is {phase}{said}", name=unit.name, phase=phase, said=said)]
    if not unit.active:
        parts = [say("QueueUnit {name} is not active{said}", name=unit.name, said=said)]
    elif unit.phase == _RESERVED and open_checks:
        parts.append(say("admission check {name} is {state}", name=open_checks[0].name, state=open_checks[0].state))
    elif unit.requeue_at > snapshot.moment:
        parts.append(say("it is tried again at {requeue_at}", requeue_at=unit.requeue_at))
    ahead = _ahead(unit, jobs) if unit.phase not in _FAILED and unit.active else None
    parts += (
        [say("{units} {are} ahead", units=count(ahead, "unit"), are="is" if ahead == 1 else "are")]
        if ahead is not None
        else []
    )
    queue = f" {unit.queue}" if unit.queue else ""
    place = say(", position {ahead} in queue{queue}", ahead=ahead + 1, queue=queue) if ahead is not None else ""
    quota = say(" of quota {quota}", quota=unit.quota) if unit.quota else ""
    message = say("Make room{quota} in queue{queue}, or wait for those ahead", quota=quota, queue=queue)
    if unit.phase in _FAILED and job.owners:
        step = WayOut("recreate-owner", say("Create the job anew: its unit has failed"), describe(job.owners[0]))
    else:
        step = WayOut("free-queue", message, facts.describe("queueunit", unit.key))
    told = say("waits in a queue{queue}: {parts}.", queue=queue, parts=SEMICOLON.join(parts))
    since = unit.updated or unit.created
    return Held("queue-holds", told, f"{parts[0]}{place}", f"QueueUnit/{unit.key}", since, steps=(step,))


def _reported(unit: QueueUnit, jobs: Jobs) -> str:
    """Return what an event last said of a unit, such as that there is no queue of its name; empty for nothing."""
    mine = ("QueueUnit", unit.namespace, unit.name)
    found = [one for one in jobs.events if (one.kind, one.namespace, one.name) == mine and one.type == "Warning"]
    last = max(found, key=lambda one: one.last, default=None)
    return f"{last.reason}: {last.message}" if last is not None else ""


def _ahead(unit: QueueUnit, jobs: Jobs) -> int | None:
    """Return how many units are before one: as its Queue wrote it, else by priority and age; None where unknown."""
    queue = next((one for one in jobs.koord.queues.values() if one.name == unit.queue), None)
    if queue is not None:
        order = [(one.namespace, one.name) for one in sorted(queue.order, key=lambda one: one.position)]
        if (unit.namespace, unit.name) in order:
            return order.index((unit.namespace, unit.name))
    waiting = [one for one in jobs.koord.units.values() if one.queue == unit.queue and one.phase not in _PASSED]
    if len(waiting) <= 1:
        return None
    mine = (-unit.priority, unit.created, unit.name)
    return sum(1 for one in waiting if (-one.priority, one.created, one.name) < mine)
