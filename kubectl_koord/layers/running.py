"""Running, not ready, or broken: pods that crash, are not ready, were evicted, or are too few."""

from collections.abc import Iterator

from kubectl_koord.language import STOP, say
from kubectl_koord.layers import binding
from kubectl_koord.layers.base import Answer, Held, Job, NotHere, Passed
from kubectl_koord.layers.binding import Fault, brief, counted, events_of, exit_words, has_run, restarts, see_pod
from kubectl_koord.model.jobs import ContainerState, PodState
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.common import WayOut
from kubectl_koord.wording import facts
from kubectl_koord.wording.words import age_at, count, listed, name_within

NAME = "running and ready"
READS = ("Pod", "Event", "Node")

_OOM = "OOMKilled"


def ask(job: Job, snapshot: Snapshot) -> Answer:
    """Tell whether every pod that was started runs and is ready, and whether there are enough."""
    pods = counted(job)
    if not pods:
        return NotHere()
    every = [one for pod in pods if (one := _fault(pod, snapshot)) is not None]
    found = [one for one in every if one.rank] and every
    alive = [pod for pod in pods if pod.phase != "Failed"]
    if found:
        first, told, message = binding.said(found, job)
        if len(alive) + job.pending < job.minimum > 1:
            left = say("{number} of {minimum} members are left", number=len(alive), minimum=job.minimum)
            told, message = (
                say("{told}; {left}.", told=told.rstrip(STOP), left=left),
                say("{message}; {left}", message=message, left=left),
            )
        return Held(
            code="not-ready",
            told=say("{state}: {told}", state=_state(found), told=told),
            message=message,
            object=first.object or f"Pod/{first.pod.key}",
            since=_since(first.pod),
            pods=tuple(one.pod.key for one in found),
            steps=binding.steps(found),
        )
    if len(alive) + job.pending < job.minimum:
        return _below_minimum(job, pods, alive)
    if all(pod.phase == "Succeeded" for pod in pods):
        return Passed(say("{pods} finished", pods=count(len(pods), "pod")))
    ready = sum(1 for pod in pods if _is_ready(pod))
    early = say("; {early}", early=binding.early(every[0], snapshot)) if every else ""
    return Passed(say("{ready} of {pods} ready{early}", ready=ready, pods=count(len(pods), "pod"), early=early))


def _is_ready(pod: PodState) -> bool:
    return pod.phase == "Running" and pod.ready


def are_ready(job: Job) -> bool:
    """Tell whether every pod of a job that counts is ready, or has succeeded."""
    return all(_is_ready(pod) or pod.phase == "Succeeded" for pod in counted(job))


def _state(found: list[Fault]) -> str:
    return say("runs and is not ready") if all(one.rank <= 1 for one in found) else say("was started and is broken")


def _since(pod: PodState) -> str:
    return pod.ready_since or pod.scheduled


def _below_minimum(job: Job, pods: tuple[PodState, ...], alive: list[PodState]) -> Held:
    gone = [name_within(job.key, pod.key) for pod in pods if pod.phase == "Failed"]
    failed = say(", {gone} failed", gone=listed(gone)) if gone else ""
    message = say("{number} of {minimum} members left{failed}", number=len(alive), minimum=job.minimum, failed=failed)
    step = WayOut("add-pods", say("See why what creates the pods makes no others, and start the job anew if it cannot"))
    told = say("is below its minimum: {message}; no pod waits to take the place of the others.", message=message)
    return Held("not-ready", told, message, pods=tuple(pod.key for pod in pods), steps=(step,))


def _fault(pod: PodState, snapshot: Snapshot) -> Fault | None:
    if pod.phase == "Succeeded":
        return None
    if pod.phase == "Failed":
        return _failed(pod)
    main = [one for one in pod.containers if not one.init]
    if not main or not all(map(has_run, main)):
        return None
    broken = next(_broken(pod), None)
    return binding.of_node(pod, snapshot) or broken or (None if pod.ready else _unready(pod, snapshot))


def _failed(pod: PodState) -> Fault | None:
    """Return how a pod ended that has failed; None for one that the kubelet refused, which never ran."""
    ended = next((one for one in pod.containers if one.state == "terminated" and one.exit_code), None)
    if ended is not None and not pod.reason:
        return _ended(pod, ended)
    if not binding.was_refused(pod):
        why = f"{pod.reason or 'Failed'}{f': {brief(pod.message)}' if pod.message else ''}"
        step = see_pod(pod, say("See why the pod was ended; what owns it makes another if it may"))
        return Fault(
            pod,
            ("failed", pod.reason),
            say("has failed ({why})", why=why),
            say("failed ({reason})", reason=pod.reason or "Failed"),
            5,
            step,
        )
    return None


def _broken(pod: PodState) -> Iterator[Fault]:
    for one in pod.containers:
        if one.init and one.ready:
            continue
        is_waiting = one.state == "waiting" and one.reason == "CrashLoopBackOff"
        if is_waiting or (one.state == "terminated" and one.exit_code and not one.init):
            yield _ended(pod, one)


def _ended(pod: PodState, one: ContainerState) -> Fault:
    is_waiting = one.state == "waiting"
    code = one.last_exit_code if is_waiting else one.exit_code
    reason = one.last_reason if is_waiting else one.reason
    why = exit_words(code, reason)
    again = " (CrashLoopBackOff)" if is_waiting else ""
    logs = facts.see_logs(pod.key, one.name, previous=is_waiting)
    is_oom = reason == _OOM
    fix = (
        say("Raise its memory limit, or see what uses the memory")
        if is_oom
        else say("See in its log why {name} ends", name=one.name)
    )
    what = say(
        "has container {name}, which {why}{restarts}{again}",
        name=one.name,
        why=why,
        restarts=restarts(one),
        again=again,
    )
    short = say("with container {name}, which {why}", name=one.name, why=why)
    return Fault(pod, ("ended", one.name, why), what, short, 5, WayOut("see-logs", fix, logs))


def _unready(pod: PodState, snapshot: Snapshot) -> Fault:
    age = age_at(_since(pod), snapshot.moment)
    since = say(" for {age}", age=age) if age else ""
    gates = [one.type for one in pod.unready_gates]
    if gates:
        step = see_pod(pod, say("See who sets the readiness gate {gates}, and why it does not", gates=gates[0]))
        what = say("has not been ready{since}: readiness gate {gates} is not met", since=since, gates=listed(gates))
        return Fault(pod, ("gate", *gates), what, say("without readiness gate {gates}", gates=listed(gates)), 1, step)
    probes = events_of(pod, snapshot, ("Unhealthy",))
    rank = 0 if not probes and binding.is_early(pod.ready_since or pod.scheduled, snapshot) else 1
    slow = [one.name for one in pod.containers if not one.init and not one.ready]
    probe = f": {brief(probes[0].message)}" if probes else ""
    which = say("container {slow}", slow=listed(slow)) if slow else say("the pod")
    step = see_pod(pod, say("See why {which} does not pass its readiness probe", which=which))
    what = say("has not been ready{since} ({which}){probe}", since=since, which=which, probe=probe)
    return Fault(pod, ("unready", *slow), what, say("not ready"), rank, step)
