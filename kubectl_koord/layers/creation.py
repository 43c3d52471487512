"""The pods are created: how many of how many, what refuses the others, and whether their controller works."""

import re

from kubectl_koord.engine.gangs import GangSubject
from kubectl_koord.language import STOP, say
from kubectl_koord.layers.base import Answer, Held, Job, NotHere, Passed, Unknown
from kubectl_koord.layers.owner import describe, named
from kubectl_koord.model.jobs import Controller, JobEvent, Owner
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values import between
from kubectl_koord.remedies.next_steps import admitted
from kubectl_koord.reports.common import WayOut
from kubectl_koord.simulation.owners import is_not_made
from kubectl_koord.wording.words import age_at, could_not_be_read, count, spelled

NAME = "pods"
READS = ("Event", "ResourceQuota", "LimitRange")

_REFUSED = re.compile(r"\bis forbidden: |denied the request|exceeded quota")
"""What admission says, whatever the controller calls the event in which it passes that on."""
_LEASE_SECONDS, _TIMES = 15, 4


def ask(job: Job, snapshot: Snapshot) -> Answer:
    """Tell whether the pods that the job wants exist."""
    if not job.owners or snapshot.jobs is None:
        return NotHere()
    asked = job.owners[0]
    exist = _existing(job, asked)
    wanted = asked.wanted
    event = _refusal(job, snapshot)
    missing = max(0, (wanted or 0) - exist)
    ended = sum(1 for pod in job.pods if pod.phase == "Failed")
    lacks = isinstance(job.subject, GangSubject) and exist < job.minimum and (wanted is None or exist < wanted)
    if (exist or ended) and not (lacks and exist + ended < job.minimum) and not (missing and event):
        return Passed(
            say("{exist} of {pods} exist", exist=exist, pods=count(wanted, "pod"))
            if wanted
            else say("{pods} exist", pods=count(exist, "pod"))
        )
    of_all = (
        say("{exist} of {pods} exist", exist=exist, pods=count(max(wanted or 0, job.minimum), "pod"))
        if wanted or job.minimum
        else say("no pod exists")
    )
    if event is not None:
        return _refused(event, asked, of_all, max(missing, 1), snapshot)
    leaving = sum(1 for pod in job.pods if pod.deleting)
    return _silent(
        asked,
        say("{of_all}, {leaving} more being deleted", of_all=of_all, leaving=leaving) if leaving else of_all,
        snapshot,
    )


def _existing(job: Job, asked: Owner) -> int:
    """Return how many pods there are, those included that have succeeded and are deleted since."""
    pods = sum(1 for pod in job.pods if not pod.deleting and pod.phase != "Failed")
    waiting = {pod.key for pod in (job.subject.pending if job.subject else ())} - {pod.key for pod in job.pods}
    done = sum(1 for pod in job.pods if pod.phase == "Succeeded")
    return pods + len(waiting) + max(0, (asked.succeeded or 0) - done)


def _refusal(job: Job, snapshot: Snapshot) -> JobEvent | None:
    """Return what was last said of a pod that could not be made, of the job, what made it, or what it made."""
    made = snapshot.jobs.made if snapshot.jobs else ()
    names = {(one.kind, one.namespace, one.name) for one in (*job.owners, *made)}
    found = [
        event
        for event in (snapshot.jobs.events if snapshot.jobs else ())
        if (is_not_made(event) or _REFUSED.search(event.message)) and (event.kind, event.namespace, event.name) in names
    ]
    return max(found, key=lambda event: event.last, default=None)


def _refused(event: JobEvent, asked: Owner, of_all: str, missing: int, snapshot: Snapshot) -> Held:
    said = " ".join(event.message.split()).rstrip(STOP)
    age = age_at(event.last, snapshot.moment)
    who = say(
        "{kind} {name} said {part}: {said}",
        kind=event.kind,
        name=event.name,
        part=say("{age} ago", age=age) if age else say("last"),
        said=said,
    )
    step = admitted(event.namespace, event.message, f"{event.kind}/{event.name}", missing)
    told = say("is not created as a whole: {of_all}; {who}.", of_all=of_all, who=who)
    return Held(
        "pods-not-created",
        told,
        say("{of_all}: {why}", of_all=of_all, why=said),
        named(asked),
        event.first or event.last,
        steps=(step,),
    )


def _silent(asked: Owner, of_all: str, snapshot: Snapshot) -> Answer:
    """Return why a job has too few pods, of which no event tells: its controller is dead, late, or another one."""
    gap = snapshot.unread("Event", asked.namespace)
    controllers = snapshot.jobs.controllers if snapshot.jobs else ()
    dead = next((one for one in controllers if _is_dead(one, snapshot.moment)), None)
    if dead is not None:
        why = say("{name} does not run ({state})", name=dead.name, state=_state(dead, snapshot.moment))
        step = WayOut(
            "see-owner",
            say(
                "Start {name}, which makes the pods of {kind} {name2}",
                name=dead.name,
                kind=asked.kind,
                name2=asked.name,
            ),
        )
    elif asked.managed_by:
        why = say(
            "it is managed by {managed_by} (spec.managedBy), and its usual controller leaves it alone",
            managed_by=asked.managed_by,
        )
        step = WayOut(
            "see-owner",
            say("See what {managed_by} does with it, perhaps in another cluster", managed_by=asked.managed_by),
            describe(asked),
        )
    elif asked.is_seen is False:
        why = say("the controller of {kind} has not looked at what its spec says now", kind=asked.kind)
        step = WayOut("see-owner", say("See whether the controller of {kind} runs", kind=asked.kind), describe(asked))
    elif not asked.is_known:
        return Unknown(say("no pod exists, and whether a {kind} makes any is not known", kind=asked.kind), named(asked))
    else:
        why = could_not_be_read((gap,)).rstrip(STOP) if gap is not None else say("no event that was read tells why")
        step = WayOut(
            "see-owner",
            say("See whether the controller of {kind} runs, and what it logs", kind=asked.kind),
            describe(asked),
        )
    told = say("has too few pods: {of_all}; {why}.", of_all=of_all, why=why)
    return Held(
        "pods-not-created",
        told,
        say("{of_all}: {why}", of_all=of_all, why=why),
        named(asked),
        asked.created,
        steps=(step,),
    )


def _is_dead(one: Controller, moment: str) -> bool:
    """Tell whether no pod of a controller is ready, or its leader has not renewed its Lease for long."""
    if one.ready == 0:
        return True
    age = between(one.renewed, moment) if one.renewed else None
    return age is not None and age.total_seconds() > max(one.lease_seconds, _LEASE_SECONDS) * _TIMES


def _state(one: Controller, moment: str) -> str:
    if one.ready == 0:
        return say("0 of {replicas} ready", replicas=count(one.replicas or 0, "replica"))
    age = between(one.renewed, moment)
    return (
        say("Lease {lease} was last renewed {age} ago", lease=one.lease, age=spelled(age))
        if age is not None
        else say("Lease {lease}", lease=one.lease)
    )
