"""`kubectl koord evict`: pods go as their budgets allow, and nodes are kept free for whom their room is."""

from typing import TYPE_CHECKING, Annotated

import typer

from kubectl_koord import leaving
from kubectl_koord.cli.flags import MANAGER, DryRun, Yes
from kubectl_koord.errors import KoordError
from kubectl_koord.language import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kubectl_koord.cli.session import Session
    from kubectl_koord.model.pods import RunningPod
    from kubectl_koord.model.snapshot import Snapshot

EXAMPLES = """\b
Examples:
  # Evict a pod; whom that harms is shown first
  kubectl koord evict low-0 -n train
  # Move a pod away from node-1, which takes no other pod until its successor stands elsewhere
  kubectl koord evict train/low-0 --hold node-1
  # What is sent, and how kubectl sends it
  kubectl koord evict train/low-0 train/low-1 -o yaml
"""


def command(
    context: typer.Context,
    names: Annotated[list[str], typer.Argument(metavar="POD...", help="NAME or NAMESPACE/NAME.")],
    hold: Annotated[
        list[str] | None,
        typer.Option("--hold", metavar="NODE", help="Cordon this node until all is done; may be repeated."),
    ] = None,
    timeout: Annotated[
        str, typer.Option("--timeout", metavar="DURATION", help="How long --hold waits for what replaces the pods.")
    ] = "10m",
    dry_run: DryRun = "none",
    yes: Yes = False,
) -> None:
    """Evict pods one by one, as their budgets allow; the first refusal ends it.

    With --hold nodes are cordoned, so that what replaces a pod does not come back to them: they are uncordoned once it
    stands on another node, or something fails. Beside kubectl delete and drain this shows before which budgets it
    uses and which gangs it breaks, and evicts the very pods that were shown.
    """
    from kubectl_koord.cli.sending import tell
    from kubectl_koord.cli.session import write
    from kubectl_koord.cli.writing import How, check, place, says_yes
    from kubectl_koord.cluster import kinds
    from kubectl_koord.diagnosis import coverage, disruption
    from kubectl_koord.wording.facts import eviction_effects
    from kubectl_koord.wording.words import could_not_be_read, count, sentence

    session: Session = context.obj
    is_shown = session.options.output in {"json", "yaml"}
    how = How(dry_run="client" if is_shown else dry_run, yes=yes)
    check(session, how)
    snapshot = session.snapshot(kinds.DISRUPTION_KINDS)
    pods = _named(session, snapshot, dict.fromkeys(names))
    held = [name for name in _nodes(session, snapshot, hold or ()) if not snapshot.nodes[name].unschedulable]
    if is_shown:
        write(_as_sent(pods, session.options.output))
        return
    effects = eviction_effects(disruption.freed(snapshot, pods), disruption.broken_gangs(snapshot, pods))
    for pod in pods:
        tell(say("{key} on {node}, priority {priority}", key=pod.key, node=pod.node, priority=pod.priority))
    if unread := coverage.unread(snapshot, "podgroup", *(pod.namespace for pod in pods)):
        tell(
            say(
                "Which gangs this breaks is not known: {could_not_be_read}.",
                could_not_be_read=could_not_be_read(unread),
            )
        )
    if effects:
        tell(f"{sentence(effects.removeprefix('; '))}.")
    if how.dry_run == "client":
        tell(say("Nothing was sent (--dry-run=client)."))
        return
    leaving.say(say("\ninterrupted: nothing was sent\n"))
    namespaces = {pod.namespace for pod in pods}
    question = say(
        "Evict {pods}{place}?", pods=count(len(pods), "pod"), place=place(session.live_transport().target(), namespaces)
    )
    if how.dry_run == "none" and not yes and not says_yes(question):
        tell(say("declined: nothing was sent."))
        session.exit_code = 1
        return
    if how.dry_run == "server":
        _ask_server(session, pods)
    else:
        _evict(session, snapshot, pods, held, timeout)


def _named(session: "Session", snapshot: "Snapshot", names: "Iterable[str]") -> "list[RunningPod]":
    running = {pod.key: pod for there in snapshot.running.values() for pod in there}
    found = []
    for name in names:
        key = name if "/" in name else f"{session.namespace()}/{name}"
        if key not in running:
            session.unknown_name(snapshot, "attempt", say("pod on a node"), key, running)
        found.append(running[key])
    return found


def _as_sent(pods: "Sequence[RunningPod]", form: str) -> str:
    """Return the Evictions; in YAML each below the command of kubectl that sends it."""
    import json

    from kubectl_koord.cli.sending import manifests_of
    from kubectl_koord.cluster import edits

    items = manifests_of((), [pod.key for pod in pods])
    if form == "json":
        return json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=2) + "\n"
    paths = (f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/eviction" for pod in pods)
    comments = (say("# kubectl create --raw {path} -f FILE\n", path=path) for path in paths)
    return "---\n".join(edits.to_yaml([item], comment) for item, comment in zip(items, comments, strict=True))


def _nodes(session: "Session", snapshot: "Snapshot", names: "Sequence[str]") -> "list[str]":
    every = list(dict.fromkeys(name for some in names for name in some.split(",")))
    for name in every:
        if name not in snapshot.nodes:
            session.unknown_name(snapshot, "nodes", say("node"), name, snapshot.nodes)
    return every


def _ask_server(session: "Session", pods: "Sequence[RunningPod]") -> None:
    from kubectl_koord.cli.sending import would_evict
    from kubectl_koord.cli.session import write

    for pod in pods:
        would_evict(session.live_transport(), pod.key)
        write(say("pod/{name} evicted (server dry run)\n", name=pod.name))


def _evict(
    session: "Session", before: "Snapshot", pods: "Sequence[RunningPod]", held: "Sequence[str]", timeout: str
) -> None:
    from kubectl_koord.changes.moves import cordon
    from kubectl_koord.cli.sending import evict, send_one, tell
    from kubectl_koord.cli.session import write
    from kubectl_koord.cluster.api.connection import request_timeout

    transport, aim = session.live_transport(), session.aim()
    done: list[str] = []
    closed: list[str] = []

    def state() -> str:
        gone = say("evicted: {done}", done=say(", ").join(done)) if done else say("nothing was evicted")
        return (
            say("{gone}; still cordoned: kubectl uncordon {closed}", gone=gone, closed=" ".join(closed))
            if closed
            else gone
        )

    seconds = request_timeout(timeout) or float("inf")
    try:
        for name in held:
            leaving.say(say("interrupted: {state}; may be cordoned: {name}\n", state=state(), name=name))
            send_one(transport, cordon(name, closed=True), MANAGER, aim)
            closed.append(name)
        for pod in pods:
            leaving.say(say("interrupted: {state}; may be evicted: {name}\n", state=state(), name=pod.key))
            evict(transport, pod.key, (pod.node,), aim)
            write(say("pod/{name} evicted\n", name=pod.name))
            done.append(pod.key)
        leaving.say(say("interrupted: {state}\n", state=state()))
        if closed:
            _wait(session, before, pods, seconds)
    except KoordError as problem:
        failure: KoordError | None = problem
    else:
        failure = None
    for name in tuple(closed):
        try:
            send_one(transport, cordon(name, closed=False), MANAGER, aim)
            closed.remove(name)
        except KoordError as problem:
            tell(problem.message)
            failure = failure or KoordError(say("error: {name} was not uncordoned", name=name))
    if failure is not None:
        raise KoordError(say("{message} ({state})", message=failure.message, state=state()))


def _wait(session: "Session", before: "Snapshot", pods: "Sequence[RunningPod]", seconds: float) -> None:
    """Wait until pods are gone, and those that their controllers make anew stand on nodes."""
    from kubectl_koord.cli.sending import seen
    from kubectl_koord.cluster import kinds
    from kubectl_koord.explain.plan import missing
    from kubectl_koord.reports.jobs import PlanStep

    steps = [PlanStep("move-pod" if pod.owner else "requeue", pod.key, pod.node, "", "", (pod.key,)) for pod in pods]
    with session.watch(kinds.DISRUPTION_KINDS) as cluster:
        seen(cluster, lambda now: next(filter(None, (missing(step, before, now) for step in steps)), ""), seconds)
