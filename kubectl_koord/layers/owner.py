"""The owner: whether what makes the pods exists, and is neither suspended, ended, nor being deleted."""

from collections.abc import Iterator

from kubectl_koord.language import STOP, say
from kubectl_koord.layers.base import Answer, Held, Job, NotHere, Passed, is_queued, is_true
from kubectl_koord.model.jobs import ObjectCondition, Owner
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.common import WayOut
from kubectl_koord.wording import facts
from kubectl_koord.wording.words import COMMA, age_at, count, listed

NAME = "owner"
READS = ("Job", "StatefulSet", "Deployment")

_REFUSED = ("Created", "Accepted", "Initialized", "Valid")
_BAD = ("Failed", "Stalled", "Degraded", "Error")
_GOOD = ("Ready", "Available", "Reconciled")
_WELL = ("Running", "Active", "Ready", "Available")
_IN_TURN = "StartupPolicyInProgress"
_SUSPENDED = ("Suspended", "JobSuspended")
_FIELD = {"PyTorchJob", "TFJob", "MPIJob", "XGBoostJob", "PaddleJob", "JAXJob", "MXJob"}


def ask(job: Job, snapshot: Snapshot) -> Answer:
    """Tell whether any object from the one asked about up to its root keeps pods from being made."""
    if not job.owners:
        return NotHere()
    made = snapshot.jobs.made if snapshot.jobs else ()
    for one in (*reversed(job.owners), *made):
        held = _held(one, job, snapshot)
        if held is not None:
            return held
    asked = job.owners[0]
    age = age_at(asked.created, snapshot.moment)
    parts = [
        say("{kind} created {age} ago", kind=asked.kind, age=age) if age else say("{kind} created", kind=asked.kind),
        *_sizes(asked),
    ]
    parts += [say("suspended, as its queue wants")] if any(one.suspended for one in job.owners) else []
    return Passed(COMMA.join(parts), named(asked), asked.created)


def named(owner: Owner) -> str:
    """Return the name of an owner as rows print it: `Kind/namespace/name`."""
    return f"{owner.kind}/{owner.key}"


def _sizes(owner: Owner) -> Iterator[str]:
    roles = [count(role.wanted, role.name.lower()) for role in owner.roles if role.wanted]
    if roles:
        yield listed(roles)
    elif owner.wanted is not None:
        yield count(owner.wanted, "pod")


def _held(one: Owner, job: Job, snapshot: Snapshot) -> Held | None:
    if one.deleting:
        return _deleting(one, job, snapshot)
    if one.finished:
        return _finished(one, job)
    if (one.suspended and not is_queued(job, snapshot) and not _is_in_turn(one, job, snapshot)) or one.paused:
        return _suspended(one, job)
    if one.wanted == 0 and not any(role.wanted for role in one.roles):
        what = say("{who}wants no pods: its size is 0.", who=_who(one, job))
        step = WayOut(
            "see-owner", say("Give {kind} {name} more than 0 pods", kind=one.kind, name=one.name), describe(one)
        )
        return Held(
            "owner-waits",
            what,
            say("{kind} {name} wants 0 pods", kind=one.kind, name=one.name),
            named(one),
            one.created,
            steps=(step,),
        )
    return _waits(one, job)


def _is_in_turn(one: Owner, job: Job, snapshot: Snapshot) -> bool:
    """Tell whether what made an object keeps it suspended until its turn comes: a JobSet that starts in order."""
    made = snapshot.jobs.made if snapshot.jobs else ()
    makers = {(by.kind, by.name): by for by in (*job.owners, *made)}
    maker = makers.get((one.owner.kind, one.owner.name)) if one.owner is not None else None
    return maker is not None and is_true(maker.conditions, _IN_TURN)


def _who(one: Owner, job: Job) -> str:
    """Return who a sentence goes on about, where that is not the object that the user named."""
    return "" if one == job.owners[0] else say("is made by {kind} {name}, which ", kind=one.kind, name=one.name)


def describe(one: Owner) -> str:
    """Return what shows an owner with its events."""
    return facts.describe(f"{one.kind.lower()}.{one.group}" if one.group else one.kind.lower(), one.key)


def _deleting(one: Owner, job: Job, snapshot: Snapshot) -> Held:
    age = age_at(one.deleting, snapshot.moment)
    since = say(", for {age}", age=age) if age else ""
    keeps = say(": finalizer {finalizers} keeps it", finalizers=listed(one.finalizers)) if one.finalizers else ""
    step = WayOut(
        "recreate-owner",
        say("Wait until {kind} {name} is gone, and create it anew", kind=one.kind, name=one.name),
        describe(one),
    )
    message = say("{kind} {name} is being deleted{keeps}", kind=one.kind, name=one.name, keeps=keeps)
    told = say("{who}is being deleted{since}{keeps}.", who=_who(one, job), since=since, keeps=keeps)
    return Held("owner-deleting", told, message, named(one), one.deleting, steps=(step,))


def _finished(one: Owner, job: Job) -> Held:
    condition = next((c for c in one.conditions if c.type in _ends(one) and c.status == "True"), None)
    said = words(condition) if condition else one.message
    why = say(": {why}", why=said) if said else ""
    failed = one.finished == "Failed"
    pods = say(" ({pods} failed)", pods=count(one.failed, "pod")) if failed and one.failed else ""
    state = say("has failed") if failed else say("is complete")
    create = say("See why it has failed, and create") if failed else say("Create")
    step = WayOut(
        "recreate-owner",
        say("{create} {kind} {name} anew: it makes no more pods", create=create, kind=one.kind, name=one.name),
        describe(one),
    )
    since = condition.since if condition else ""
    message = f"{one.kind} {one.name} {state}{pods}{why}"
    return Held(
        "owner-finished",
        say("{who}{state}{pods}{why}.", who=_who(one, job), state=state, pods=pods, why=why),
        message,
        named(one),
        since,
        steps=(step,),
    )


def _ends(one: Owner) -> tuple[str, ...]:
    return ("Failed", "JobFailed") if one.finished == "Failed" else ("Complete", "Succeeded", "Completed")


def words(condition: ObjectCondition) -> str:
    """Return a condition's own words: its reason, and what it says."""
    said = " ".join(condition.message.split()).rstrip(STOP)
    return f"{condition.reason}: {said}" if condition.reason and said else condition.reason or said


def _suspended(one: Owner, job: Job) -> Held:
    field = "spec.paused" if one.paused else "spec.runPolicy.suspend" if one.kind in _FIELD else "spec.suspend"
    condition = next((c for c in one.conditions if c.type in _SUSPENDED and c.status == "True"), None)
    said = words(condition) if condition else ""
    state = say("is paused") if one.paused else say("is suspended")
    why = f": {said}" if said else ""
    message = say("{kind} {name} {state} ({field} is true)", kind=one.kind, name=one.name, state=state, field=field)
    patch = _patch(field)
    kind = f"{one.kind.lower()}.{one.group}" if one.group else one.kind.lower()
    command = facts.patch(kind, one.key, patch)
    step = WayOut("resume-owner", say("Resume {kind} {name}", kind=one.kind, name=one.name), command)
    told = say("{who}{state} ({field} is true){why}.", who=_who(one, job), state=state, field=field, why=why)
    since = condition.since if condition else ""
    return Held("owner-suspended", told, message, named(one), since, steps=(step,))


def _patch(field: str) -> dict[str, object]:
    """Return the patch that sets a field, `spec.x.y`, to false."""
    *outer, last = field.split(".")
    patch: dict[str, object] = {last: False}
    for part in reversed(outer):
        patch = {part: patch}
    return patch


def _waits(one: Owner, job: Job) -> Held | None:
    """Return what a condition says that keeps pods from being made; nothing where there are pods."""
    if job.pods or job.pending:
        return None
    if not one.is_known and one.phase and one.message and one.phase not in _WELL:
        said = f"{one.phase}: {' '.join(one.message.split()).rstrip('.')}"
        step = WayOut("see-owner", say("Do what {kind} {name} asks for", kind=one.kind, name=one.name), describe(one))
        told = say("{who}waits, as its status says: {said}.", who=_who(one, job), said=said)
        return Held("owner-waits", told, said, named(one), one.created, steps=(step,))
    for condition in one.conditions:
        refused = condition.type in _REFUSED and condition.status == "False"
        is_bad = condition.type in _BAD and condition.status == "True"
        not_good = condition.type in _GOOD and condition.status == "False" and not one.is_known
        if (refused or is_bad or not_good) and condition.message:
            said = say(
                "{type} is {status}, {words}", type=condition.type, status=condition.status, words=words(condition)
            )
            step = WayOut(
                "see-owner", say("Do what {kind} {name} asks for", kind=one.kind, name=one.name), describe(one)
            )
            told = say("{who}waits, as its condition says: {said}.", who=_who(one, job), said=said)
            return Held("owner-waits", told, said, named(one), condition.since, steps=(step,))
    return None
