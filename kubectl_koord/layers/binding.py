"""Bound, not running: what a pod with a node waits for before its containers run."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta

from msgspec import Struct

from kubectl_koord.language import STOP, say
from kubectl_koord.layers.base import Answer, Held, Job, NotHere, Passed
from kubectl_koord.messages import kubelet
from kubectl_koord.model.jobs import ContainerState, JobEvent, PodState
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values import between
from kubectl_koord.reports.common import WayOut
from kubectl_koord.simulation.what_if import NOT_READY
from kubectl_koord.wording import facts
from kubectl_koord.wording.words import COMMA, age_at, count, name_within, spelled

NAME = "bound, not running"
READS = ("Pod", "Event", "Node")

_PULL = frozenset(("ErrImagePull", "ImagePullBackOff", "ImageInspectError", "RegistryUnavailable"))
_OF_IMAGE = _PULL | {"InvalidImageName", "ErrImageNeverPull", "SignatureValidationFailed"}
_PLAIN = frozenset(("", "ContainerCreating", "PodInitializing"))
_OF_VOLUMES = ("FailedAttachVolume", "FailedMount", "FailedMapVolume")
_OF_SANDBOX = ("FailedCreatePodSandBox", "NetworkNotReady")
_OF_CLAIMS = ("FailedPrepareDynamicResources",)
_TIMED_OUT = "Unable to attach or mount volumes"
ENDED_LATER = frozenset(("Evicted", "DeadlineExceeded", "Terminated", "NodeLost", "Preempting"))
_REJECTED, _PRESSURE = "Pod was rejected", "The node had condition: "
"""How a kubelet begins that refuses a pod, for pressure on its node, too (Kubernetes 1.27 and before)."""
_NEVER_BEGAN = frozenset(("StartError", "ContainerCannotRun"))
_FINISHED = ("Succeeded", "Failed")
_SIGNALS = {134: "SIGABRT", 137: "SIGKILL", 139: "SIGSEGV", 143: "SIGTERM"}
_MOST_STEPS = 3
_TOO_FEW = re.compile(r"OutOf(.+)")
_SAID_MOST, _SAID_FIRST = 220, 60


USUAL = timedelta(minutes=2)
"""So long a pod may take to start or be ready: as long as a kubelet waits for volumes before it says a word."""
_PULLS: Mapping[kubelet.Pull, str] = {
    "missing": say("not found"),
    "denied": say("access denied"),
    "unreachable": say("not reachable"),
    "limited": say("rate limit reached"),
    "untrusted": say("certificate not trusted"),
}


class Fault(Struct, frozen=True):
    """Why one pod does not run: `what` goes on after its name; those of one `alike` have the same fault.

    `rank` is higher for what says more: a fault before silence; it is 0 for what is usual so early. `object` is what
    decides, where it is not the pod.
    """

    pod: PodState
    alike: tuple[str, ...]
    what: str
    short: str
    rank: int
    step: WayOut
    object: str = ""


def ask(job: Job, snapshot: Snapshot) -> Answer:
    """Tell whether every pod that has a node has begun to run."""
    pods = counted(job)
    if not pods:
        return NotHere()
    found = [one for pod in pods if (one := _fault(pod, snapshot)) is not None]
    if not any(one.rank for one in found):
        started = len(pods) - len(found)
        return Passed(
            say(
                "{started} of {pods} started; {early}",
                started=started,
                pods=count(len(pods), "pod"),
                early=early(found[0], snapshot),
            )
            if found
            else say("{pods} started", pods=count(started, "pod"))
        )
    first, told, message = said(found, job)
    return Held(
        code="not-running",
        told=say("is placed and does not start: {told}", told=told),
        message=message,
        object=first.object or f"Pod/{first.pod.key}",
        since=first.pod.scheduled,
        pods=tuple(one.pod.key for one in found),
        steps=steps(found),
    )


def is_early(since: str, snapshot: Snapshot) -> bool:
    """Tell whether a pod began so short a while ago that waiting is usual: a kubelet tells of faults by then."""
    age = between(since, snapshot.moment)
    return age is not None and timedelta() <= age < USUAL


def early(one: Fault, snapshot: Snapshot) -> str:
    """Return what a pod does of which nothing is wrong yet, and how long that may take."""
    age = age_at(one.pod.scheduled, snapshot.moment)
    return say(
        "{partition} {short} since {age}, usual up to {usual}",
        partition=one.pod.key.partition("/")[2],
        short=one.short,
        age=age,
        usual=spelled(USUAL),
    )


def counted(job: Job) -> tuple[PodState, ...]:
    """Return the pods that count: none that is being deleted, nor one that failed and for which others came."""
    left = [pod for pod in job.pods if not pod.deleting and (pod.node or pod.phase in _FINISHED)]
    alive = [pod for pod in left if pod.phase not in _FINISHED]
    done = max(sum(1 for pod in left if pod.phase == "Succeeded"), (job.owners[0].succeeded or 0) if job.owners else 0)
    wanted = (job.owners[0].wanted or 0) if job.owners else 0
    enough = len(alive) + job.pending + done >= max(job.minimum, wanted, 1)
    return tuple(pod for pod in left if pod.phase != "Failed" or not enough)


def said(found: Sequence[Fault], job: Job) -> tuple[Fault, str, str]:
    """Return the fault that says most, it with how many pods have it and what the others have; and a short form."""
    groups = _groups(found)
    first, more = groups[0][0], len(groups[0]) - 1
    is_pod = job.key == first.pod.key
    where = say(" on {node}", node=first.pod.node) if first.pod.node else ""
    name = f"{say('it') if is_pod else name_within(job.key, first.pod.key)}{where}"
    alike = say(", {more} more alike", more=more) if more else ""
    others = "".join(
        say("; {pods} {short}", pods=count(len(group), "more pod"), short=group[0].short) for group in groups[1:]
    )
    of_all = "" if is_pod else say("{number} of {pods}: ", number=len(found), pods=count(len(counted(job)), "pod"))
    return (
        first,
        say("{name} {what}{alike}{others}.", name=name, what=first.what, alike=alike, others=others),
        f"{of_all}{name} {first.short}",
    )


def steps(found: Iterable[Fault]) -> tuple[WayOut, ...]:
    """Return what to do about these faults, each kind once, the fault that says most first."""
    return tuple(group[0].step for group in _groups(found))[:_MOST_STEPS]


def _groups(found: Iterable[Fault]) -> list[list[Fault]]:
    groups: dict[tuple[str, ...], list[Fault]] = {}
    for one in found:
        groups.setdefault(one.alike, []).append(one)
    return sorted(groups.values(), key=lambda group: (-group[0].rank, -len(group), group[0].pod.key))


def has_run(container: ContainerState) -> bool:
    """Tell whether a container runs, or has run: one that its runtime could not start has not."""
    if _NEVER_BEGAN & {container.reason, container.last_reason}:
        return container.state == "running"
    return container.state != "waiting" or bool(container.restarts) or container.last_exit_code is not None


def _fault(pod: PodState, snapshot: Snapshot) -> Fault | None:
    main = [one for one in pod.containers if not one.init]
    if pod.phase == "Succeeded":
        return None
    if pod.phase == "Failed" and not was_refused(pod):
        return None
    if pod.phase == "Failed" and not any(_NEVER_BEGAN & {one.reason} for one in pod.containers):
        return _refused(pod)
    if main and all(map(has_run, main)):
        return None
    first = next((one for one in pod.containers if not _is_done(one)), None)
    return of_node(pod, snapshot) or (_of_container(pod, first, snapshot) if first else None) or _silent(pod, snapshot)


def was_refused(pod: PodState) -> bool:
    """Tell whether a pod that has failed never ran: its kubelet did not take it, or could start no container of it."""
    if any(map(has_run, pod.containers)):
        return False
    return pod.reason not in ENDED_LATER or pod.message.startswith((_REJECTED, _PRESSURE))


def _is_done(container: ContainerState) -> bool:
    """Tell whether those after an init container may start, or another container has started."""
    if container.init:
        return container.exit_code == 0 if container.state == "terminated" else container.ready
    return has_run(container)


def of_node(pod: PodState, snapshot: Snapshot) -> Fault | None:
    """Return that a pod's node is not ready, or is gone: what the pod says of itself is of before that."""
    node = snapshot.nodes.get(pod.node)
    if node is None and (not pod.node or not snapshot.nodes or not snapshot.sees("Node")):
        return None
    if node is not None and (node.ready or not any(taint.key in NOT_READY for taint in node.taints)):
        return None  # a node of which no condition was read has no such taint either
    state = say("is not ready") if node else say("is gone")
    message = say(
        "Bring back node {node}, or delete its pods: they are made anew elsewhere where something owns them",
        node=pod.node,
    )
    step = WayOut("mend-node", message, facts.describe_named("node", pod.node))
    what = say("cannot run: node {node} {state}", node=pod.node, state=state)
    return Fault(pod, ("node", pod.node), what, say("on a node that {state}", state=state), 6, step, f"Node/{pod.node}")


def _refused(pod: PodState) -> Fault:
    """Return that the kubelet refused the pod, as it does with one that its node has no room for after all."""
    short = say("refused by kubelet ({reason})", reason=pod.reason) if pod.reason else say("refused by kubelet")
    lack = kubelet.devices(pod.message)
    lacks = _TOO_FEW.fullmatch(pod.reason)
    if lack:
        why = say("{lack}: {lack2} requested, {lack3} available", lack=lack[0], lack2=lack[1], lack3=lack[2])
    elif lacks:
        why = say("not enough {lacks} on the node", lacks=lacks[1]) + (
            say(" ({note})", note=brief(pod.message)) if pod.message else ""
        )
    else:
        why = brief(pod.message) or say("it says no reason")
    message = say("Delete the pod: one that a kubelet refused is never started; what owns it makes another")
    after = say("; first see why {node} has less than it reports", node=pod.node) if lack or lacks else ""
    step = WayOut("recreate-pod", f"{message}{after}", facts.delete("pod", pod.key))
    what = say("was {short}: {why}", short=short, why=why)
    return Fault(pod, ("refused", pod.reason, *(map(str, lack or ()))), what, short, 5, step)


def brief(text: str) -> str:
    """Return what was said as one line of no great length: of a long one its end, too, where the cause stands."""
    line = " ".join(text.split()).rstrip(STOP)
    return (
        line
        if len(line) <= _SAID_MOST
        else say("{line} ... {line2}", line=line[:_SAID_FIRST], line2=line[_SAID_FIRST - _SAID_MOST :])
    )


def _of_container(pod: PodState, one: ContainerState, snapshot: Snapshot) -> Fault | None:
    which = say("{container} {name}", container=say("init container") if one.init else say("container"), name=one.name)
    if one.reason in _OF_IMAGE:
        return _of_image(pod, one, which, snapshot)
    if one.init and (one.state == "running" or has_run(one)):
        return _of_init(pod, one, which, snapshot)
    if one.reason in _PLAIN:
        return None
    reason, message = (
        (one.last_reason, one.last_message) if one.last_reason in _NEVER_BEGAN else (one.reason, one.message)
    )
    missing = _missing(message)
    why = say("{missing} does not exist", missing=missing) if missing else brief(message)
    told = say("{reason}: {why}", reason=reason, why=why) if why else reason
    home = pod.key.partition("/")[0]
    create = (
        say(
            "Create {missing} in namespace {home}, or correct the name in what makes the pods",
            missing=missing,
            home=home,
        )
        if missing
        else ""
    )
    step = see_pod(pod, create or say("See why {which} cannot be made, and correct what makes the pods", which=which))
    return Fault(
        pod,
        (reason, missing or one.name),
        say("cannot start {which} ({told})", which=which, told=told),
        say("in {reason}", reason=reason),
        4,
        step,
    )


def _missing(text: str) -> str:
    """Return what a pod names and that is not there, empty where nothing is said of one."""
    found = kubelet.missing(text)
    if found is None:
        return ""
    kind, name, key = found
    return say("key {key} of {kind} {name}", key=key, kind=kind, name=name) if key else f"{kind} {name}"


def _of_image(pod: PodState, one: ContainerState, which: str, snapshot: Snapshot) -> Fault:
    texts = (one.message, *(event.message for event in events_of(pod, snapshot, ("Failed", "BackOff"))))
    why = next((found for text in texts if (found := kubelet.pull_failure(text))), None)
    host = kubelet.registry(one.image)
    because = f": {_PULLS[why]}" if why else ""
    match one.reason, why:
        case "InvalidImageName", _:
            step = say("Correct the name of the image in what makes the pods")
        case "ErrImageNeverPull", _:
            step = say("Load the image on {node}, or set another imagePullPolicy than Never", node=pod.node)
        case _, "denied":
            step = say(
                "Give the pods an imagePullSecret that {host} accepts, or correct the name of the image", host=host
            )
        case _, "missing":
            step = say("Correct the image or its tag, or push it to {host}", host=host)
        case _, "unreachable" | "limited" | "untrusted":
            step = say(
                "See from {node} why {host} does not deliver: {pulls}", node=pod.node, host=host, pulls=_PULLS[why]
            )
        case _:
            step = say(
                "See why {host} does not deliver the image; name, tag, and pull secret are what is wrong most often",
                host=host,
            )
    what = say(
        "cannot pull image {image} of {which} from {host} ({reason}{because})",
        image=one.image,
        which=which,
        host=host,
        reason=one.reason,
        because=because,
    )
    alike = ("image", one.image, one.reason if one.reason not in _PULL else "")
    return Fault(
        pod,
        alike,
        what,
        say("in {reason}{because}", reason=one.reason, because=because),
        4,
        see_pod(pod, step),
        f"Pod/{pod.key}",
    )


def _of_init(pod: PodState, one: ContainerState, which: str, snapshot: Snapshot) -> Fault:
    """Return that an init container does not end, or ends with an error again and again."""
    code = one.exit_code if one.exit_code is not None else one.last_exit_code
    logs = facts.see_logs(pod.key, one.name, previous=one.state == "waiting")
    if one.state == "running" and not code:
        age = age_at(one.since, snapshot.moment)
        step = WayOut(
            "see-logs", say("See what {which} waits for, such as peers that do not answer", which=which), logs
        )
        what = say(
            "waits for {which}, which has been running{part}",
            which=which,
            part=say(" for {age}", age=age) if age else "",
        )
        rank = 0 if is_early(one.since, snapshot) else 2
        return Fault(pod, ("init", one.name, "running"), what, say("in {which}", which=which), rank, step)
    reason = one.last_reason if one.state == "waiting" else one.reason
    why = exit_words(code, reason)
    step = WayOut("see-logs", say("See why {which} fails", which=which), logs)
    what = say("cannot get past {which}, which {why}{restarts}", which=which, why=why, restarts=restarts(one))
    return Fault(pod, ("init", one.name, why), what, say("in {which}, which {why}", which=which, why=why), 4, step)


def exit_words(code: int | None, reason: str) -> str:
    """Return how a container has ended."""
    if reason == "OOMKilled":
        return say("was killed as it used more memory than its limit (OOMKilled)")
    if code is None:
        return say("ended ({reason})", reason=reason) if reason else say("ended")
    signal = _SIGNALS.get(code)
    return say("ended with exit code {code}{part}", code=code, part=say(" ({note})", note=signal) if signal else "")


def restarts(container: ContainerState) -> str:
    """Return how often a container was started again, to go on after how it ended; empty for never."""
    return f"{COMMA}{count(container.restarts, 'restart')}" if container.restarts else ""


def events_of(pod: PodState, snapshot: Snapshot, reasons: Iterable[str]) -> list[JobEvent]:
    """Return the events of a pod with these reasons, the latest first."""
    wanted, namespace, name = {*reasons}, *pod.key.split("/", 1)
    found = [
        event
        for event in (snapshot.jobs.events if snapshot.jobs else ())
        if event.kind == "Pod" and event.reason in wanted and (event.namespace, event.name) == (namespace, name)
    ]
    return sorted(found, key=lambda event: event.last, reverse=True)


def _silent(pod: PodState, snapshot: Snapshot) -> Fault:
    """Return what events tell of a pod whose containers are being made; without any that nobody says why."""
    volumes = events_of(pod, snapshot, _OF_VOLUMES)
    sandbox = events_of(pod, snapshot, _OF_SANDBOX)
    claims = events_of(pod, snapshot, _OF_CLAIMS)
    if volumes:
        return _of_volume(pod, min(volumes, key=lambda event: event.message.startswith(_TIMED_OUT)))
    if claims:
        step = see_pod(pod, say("See what the driver of its devices says on {node}", node=pod.node))
        what = say(
            "cannot get its devices ({reason}): {brief}", reason=claims[0].reason, brief=brief(claims[0].message)
        )
        return Fault(pod, ("claims",), what, say("in {reason}", reason=claims[0].reason), 3, step)
    if sandbox:
        return _of_sandbox(pod, sandbox[0])
    age = age_at(pod.scheduled, snapshot.moment)
    waits = say("has been in ContainerCreating for {age}", age=age) if age else say("is in ContainerCreating")
    rank = 0 if is_early(pod.scheduled, snapshot) else 1
    step = see_pod(
        pod, say("See the events of the pod; without any, whether the kubelet of {node} works", node=pod.node)
    )
    return Fault(
        pod,
        ("silent",),
        say("{waits}, and no event that was read tells why", waits=waits),
        say("in ContainerCreating"),
        rank,
        step,
    )


def _of_volume(pod: PodState, event: JobEvent) -> Fault:
    name, missing = kubelet.volume(event.message), _missing(event.message)
    volume = say("volume {name}", name=name) if name else say("a volume")
    if missing:
        why = say("{missing} does not exist", missing=missing)
        step = say(
            "Create {missing} in namespace {namespace}, or correct its name in what makes the pods",
            missing=missing,
            namespace=event.namespace,
        )
    elif kubelet.used_elsewhere(event.message):
        why = say("it is attached to another node")
        step = say("End the pod that uses it, or wait until it is detached there: it can be on one node at a time")
    else:
        why = brief(event.message)
        step = say(
            "See why {volume} is not there: its claim, its CSI driver on {node}, its storage",
            volume=volume,
            node=pod.node,
        )
    what = say(
        "waits for {volume}, which cannot be {done} ({reason}): {why}",
        volume=volume,
        done=say("attached") if event.reason == "FailedAttachVolume" else say("mounted"),
        reason=event.reason,
        why=why,
    )
    short = say("waiting for {volume} ({reason})", volume=volume, reason=event.reason)
    return Fault(pod, ("volume", missing or name), what, short, 4, see_pod(pod, step), f"Pod/{pod.key}")


def _of_sandbox(pod: PodState, event: JobEvent) -> Fault:
    plugin, handler = kubelet.network_plugin(event.message), kubelet.runtime_handler(event.message)
    if handler:
        why = say("the node's container runtime has no handler {handler}", handler=handler)
        step = say(
            "Set up {handler} on {node}, or keep such pods from it with the RuntimeClass's nodeSelector",
            handler=handler,
            node=pod.node,
        )
    elif plugin:
        why = say("the network plugin {plugin} sets up no network: {brief}", plugin=plugin, brief=brief(event.message))
        step = say("See whether {plugin} works on {node}, and has addresses left", plugin=plugin, node=pod.node)
    else:
        why = brief(event.message)
        step = say("See the container runtime and the network on {node}", node=pod.node)
    what = say("gets no sandbox ({reason}): {why}", reason=event.reason, why=why)
    alike = ("sandbox", plugin or handler)
    return Fault(
        pod,
        alike,
        what,
        say("without a sandbox ({reason})", reason=event.reason),
        4,
        see_pod(pod, step),
        f"Pod/{pod.key}",
    )


def see_pod(pod: PodState, message: str) -> WayOut:
    """Return a step with what shows the pod."""
    return WayOut("see-pod", message, facts.describe("pod", pod.key))
