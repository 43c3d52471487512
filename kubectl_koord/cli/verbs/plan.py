"""`kubectl koord plan`: which moves make room for a gang, in order; and with `--apply` to make them."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kubectl_koord import leaving
from kubectl_koord.cli.flags import GANG_HELP, MANAGER, All, Kustomize, Priority, PriorityClass, Yes
from kubectl_koord.errors import KoordError
from kubectl_koord.language import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kubectl_koord.cli.session import Session
    from kubectl_koord.cluster.manifests.completed import Overrides
    from kubectl_koord.cluster.watching import ClusterWatch
    from kubectl_koord.engine.gangs import Subject
    from kubectl_koord.model.snapshot import Snapshot
    from kubectl_koord.model.values import Selector
    from kubectl_koord.remedies.plan import Weights
    from kubectl_koord.reports.change import Change, ObjectName
    from kubectl_koord.reports.jobs import PlanReport, PlanStep

EXAMPLES = """\b
Examples:
  # Which moves make room for gang job, the cheapest of all
  kubectl koord plan job
  # The same without touching the pods of a team; a GPU-hour counts as much as ten pods
  kubectl koord plan job --keep team=search --weight hours=10
  # For a job that is not submitted yet, and for 8 pods with 8 GPUs each in one spine
  kubectl koord plan -f job.yaml
  kubectl koord plan --shape 8gpu --count 8 --must-gather SpineLayer
  # How many such gangs fit, and which moves make room for more of them
  kubectl koord plan --defrag --shape 8gpu --count 8 --must-gather SpineLayer
  # What each step writes, as manifests in order
  kubectl koord plan job -o yaml
  # Make the moves, asking before each
  kubectl koord plan job --apply
"""
_TIMEOUT = "10m"


def command(
    context: typer.Context,
    gang: Annotated[str, typer.Argument(metavar="GANG", help=GANG_HELP)] = "",
    files: Annotated[
        list[str] | None,
        typer.Option("--filename", "-f", metavar="FILE", help="The manifests of a job, in place of GANG."),
    ] = None,
    kustomize: Kustomize = "",
    shape: Annotated[
        str, typer.Option("--shape", metavar="SHAPE", help="A gang of pods of this shape, such as 8gpu or 8gpu,64cpu.")
    ] = "",
    pods: Annotated[int, typer.Option("--count", metavar="N", min=1, help="How many pods of --shape.")] = 1,
    must_gather: Annotated[
        str, typer.Option("--must-gather", metavar="LAYER", help="The layer that --shape must gather in.")
    ] = "",
    priority: Priority = None,
    priority_class: PriorityClass = "",
    defrag: Annotated[
        bool, typer.Option("--defrag", help="Make room for as many gangs of --shape as possible, none of them there.")
    ] = False,
    keep: Annotated[
        str, typer.Option("--keep", metavar="SELECTOR", help="Pods with these labels stay where they are.")
    ] = "",
    weight: Annotated[
        list[str] | None,
        typer.Option(
            "--weight",
            metavar="NAME=NUMBER",
            help="What counts: hours (of GPUs), pods, gangs, waits, cordons, reservations, budgets; may be repeated.",
        ),
    ] = None,
    apply: Annotated[
        bool, typer.Option("--apply", help="Make the moves: each step is asked for, waited for, and checked again.")
    ] = False,
    yes: Yes = False,
    timeout: Annotated[
        str, typer.Option("--timeout", metavar="DURATION", help="How long --apply waits for each step.")
    ] = _TIMEOUT,
    everything: All = False,
) -> None:
    """Show the cheapest moves, in order, after which a gang is placed; with --apply make them.

    Pods are moved by evicting them; their controller makes them again, and the scheduler places them. Where
    koord-descheduler runs, -o yaml and --apply move single pods by PodMigrationJobs, each with a Reservation where it
    goes. Each step was tried in the engine on the cluster that those before it leave; --apply tries the rest again
    after each step, in the cluster as it is then, and stops where it does not hold any more.
    """
    from kubectl_koord.cli.output import parsed
    from kubectl_koord.cluster import kinds
    from kubectl_koord.cluster.files import named
    from kubectl_koord.cluster.manifests.completed import Overrides
    from kubectl_koord.explain.plan import defrag as defragmented
    from kubectl_koord.explain.plan import plan
    from kubectl_koord.remedies.defrag import FEWEST
    from kubectl_koord.remedies.plan import Weights

    session: Session = context.obj
    session.everything = everything
    weights, kept = _weights(weight or (), FEWEST if defrag else Weights()), parsed(keep) if keep else None
    files = [*named(files or (), kustomize)]
    overrides = Overrides(priority, priority_class)
    _refuse(
        {
            "one of GANG, -f, -k and --shape is required": sum(map(bool, (gang, files, shape))) != 1,
            "--defrag needs --shape": defrag and not shape,
            "--priority and --priority-class are for -f, -k and --shape": bool(gang) and overrides != Overrides(),
            "--priority and --priority-class cannot be used together": priority is not None and bool(priority_class),
            "--apply is for a GANG that is there": apply and not gang,
        }
    )
    if apply:
        _Carrying(session, gang, (weights, kept), timeout, asks=not yes).carry_out()
        return
    if gang:
        snapshot = session.snapshot(kinds.DISRUPTION_KINDS)
        subject = session.subject(snapshot, gang)
    else:
        snapshot, subject = _not_there_yet(session, files, (shape, pods, must_gather), overrides)
    with session.looking_for_ways_out():
        report = (
            defragmented(snapshot, subject, weights, kept)
            if defrag
            else plan(snapshot, subject, weights, kept, is_there=bool(gang))
        )
    if session.options.output != "yaml":
        session.show(report)
        return
    from kubectl_koord.cli.session import EXIT_CODES, write

    write(_manifests(session, snapshot, subject, report))
    session.exit_code = EXIT_CODES[report.verdict]


def _refuse(mistakes: "Mapping[str, bool]") -> None:
    """Raise KoordError for the first mistake that was made."""
    for message, is_made in mistakes.items():
        if is_made:
            raise KoordError(say("error: {message}", message=message))


def _not_there_yet(
    session: "Session", files: "Sequence[str]", shaped_as: tuple[str, int, str], overrides: "Overrides"
) -> "tuple[Snapshot, Subject]":
    """Return the cluster with a job of manifests, or of a shape, and that job."""
    from kubectl_koord.cli.writing import joined, shaped
    from kubectl_koord.cluster.manifests.read import Manifests
    from kubectl_koord.simulation.submitted import subjects_of, taken_over

    manifests = Manifests(session.namespace, session.connection.namespace, overrides)
    shape, pods, must_gather = shaped_as
    if shape:
        snapshot, submitted = shaped(session, manifests, pods, ("--shape", shape), must_gather)
    else:
        snapshot, submitted = joined(session, manifests, files)
    snapshot = taken_over(snapshot, submitted)
    found = subjects_of(snapshot, submitted)
    if len(found) != 1:
        raise KoordError(
            say(
                "error: the manifests make {number} gangs and single pods: one is planned for at a time",
                number=len(found),
            )
        )
    return snapshot, found[0]


def _manifests(session: "Session", snapshot: "Snapshot", subject: "Subject", report: "PlanReport") -> str:
    """Return what each step writes as YAML: a comment says which step, and how a patch or an Eviction is sent."""
    from kubectl_koord.cli.sending import manifests_of
    from kubectl_koord.cluster import edits
    from kubectl_koord.render.pages.plan import headline, told
    from kubectl_koord.render.plain import harmless

    texts = [f"# {harmless(headline(report))}\n"]
    by_jobs = _descheduler_runs(session, snapshot)
    for number, step in enumerate(report.steps, 1):
        changes, pods = _writes(session, snapshot, subject, step, by_jobs=by_jobs)
        is_created = any(change.creates for change in changes)
        how = "kubectl create -f" if is_created else step.command
        step_of = say("Step {number} of {number2}", number=number, number2=len(report.steps))
        comments = "".join(f"# {harmless(line)}\n" for line in (f"{step_of}: {told(step)}", how))
        texts.append(edits.to_yaml(manifests_of(changes, pods), comments))
    return "---\n".join(texts)


def _writes(
    session: "Session", snapshot: "Snapshot", subject: "Subject", step: "PlanStep", *, by_jobs: bool
) -> "tuple[tuple[Change, ...], tuple[str, ...]]":
    """Return what a step changes or creates, and which pods it evicts."""
    from kubectl_koord.changes.moves import changes_of, migration
    from kubectl_koord.cli.sending import pods_as_written

    pod = next((one for there in snapshot.running.values() for one in there if (one.key,) == step.pods), None)
    if step.action == "move-pod" and by_jobs and pod is not None and not pod.gang:
        written = pods_as_written(session, step.pods)[pod.key]
        return migration(written, step.to), ()
    return changes_of(snapshot, subject, step), step.pods


def _descheduler_runs(session: "Session", snapshot: "Snapshot") -> bool:
    from kubectl_koord.cli.sending import runs

    return runs(session, snapshot.config.home.namespace, "koord-descheduler")


class _Carrying:
    """A plan that is carried out step by step, the cluster followed meanwhile."""

    def __init__(
        self,
        session: "Session",
        gang: str,
        chosen: "tuple[Weights, Selector | None]",
        timeout: str,
        *,
        asks: bool,
    ) -> None:
        from kubectl_koord.cli.writing import How, check
        from kubectl_koord.cluster.api.connection import request_timeout

        check(session, How(yes=not asks))
        self._session = session
        self._gang = gang
        self._weights, self._keep = chosen
        self._seconds = request_timeout(timeout) or float("inf")
        self._asks = asks
        self._closed: set[str] = set()
        self._done: list[str] = []
        self._made: list[ObjectName] = []

    def carry_out(self) -> None:
        """Show the plan, and make its steps one by one.

        Raises KoordError when one was not done, or the rest does not hold any more: with what was done.
        """
        from kubectl_koord.cluster import kinds
        from kubectl_koord.explain.plan import plan

        with self._session.watch(kinds.DISRUPTION_KINDS) as cluster:
            snapshot = cluster.snapshot()
            subject = self._session.subject(snapshot, self._gang)
            report = plan(snapshot, subject, self._weights, self._keep)
            self._session.show(report)
            if report.verdict == "yes" and report.steps:
                self._each(cluster, snapshot, subject.key, report)

    def _each(self, cluster: "ClusterWatch", snapshot: "Snapshot", key: str, report: "PlanReport") -> None:
        from kubectl_koord.cli.sending import tell
        from kubectl_koord.explain.plan import rest
        from kubectl_koord.render.pages.plan import told

        shown = {(step.action, step.object) for step in report.steps}
        by_jobs = _descheduler_runs(self._session, snapshot)
        while report.steps:
            step = report.steps[0]
            if (step.action, step.object) not in shown:
                raise self._stopped(say("it would now need a step that was not shown: {told}", told=told(step)))
            subject = self._session.subject(snapshot, key)
            changes, pods = _writes(self._session, snapshot, subject, step, by_jobs=by_jobs)
            if not self._is_wanted(step, changes):
                return
            try:
                self._send(step, changes, pods)
                snapshot = self._seen(cluster, step, snapshot)
            except KoordError as problem:
                raise self._stopped(problem.message.removeprefix("error: ")) from None
            self._done.append(told(step))
            self._made = []
            subject = self._session.subject(snapshot, key)
            report = rest(snapshot, subject, report.steps[1:], self._closed, self._weights, self._keep)
            if report.verdict != "yes":
                raise self._stopped(report.message or (report.cause.message if report.cause else "unknown"))
        tell(say("Done: {number} steps; {key} is placed now, or would be.", number=len(self._done), key=key))

    def _is_wanted(self, step: "PlanStep", changes: "Sequence[Change]") -> bool:
        """Tell what is done next, and ask for it."""
        from kubectl_koord.cli.sending import tell
        from kubectl_koord.cli.writing import place, says_yes
        from kubectl_koord.render.pages.plan import told

        by = say(" (by a PodMigrationJob and its Reservation)") if any(change.creates for change in changes) else ""
        line = say("Step {number}: {told}{by}", number=len(self._done) + 1, told=told(step), by=by)
        leaving.say(say("\ninterrupted: {state}\n", state=self._state()))
        if not self._asks:
            tell(line)
            return True
        namespaces = {pod.partition("/")[0] for pod in step.pods}
        if says_yes(
            say("{line}. Do it{place}?", line=line, place=place(self._session.live_transport().target(), namespaces))
        ):
            return True
        tell(say("declined: {state}", state=self._state()))
        self._session.exit_code = 1
        return False

    def _send(self, step: "PlanStep", changes: "Sequence[Change]", pods: "Sequence[str]") -> None:
        from kubectl_koord.cli.sending import evict, send_one

        transport, aim = self._session.live_transport(), self._session.aim()
        leaving.say(
            say(
                "interrupted: {state}; may have been done, as it was being sent: {object}\n",
                state=self._state(),
                object=step.object,
            )
        )
        for change in changes:
            send_one(transport, change, MANAGER, aim)
            self._made += [change.object] if change.creates else []
        for pod in pods:
            evict(transport, pod, step.node.split(", "), aim)
        if step.action == "cordon":
            self._closed.add(step.object)
        elif step.action == "uncordon":
            self._closed.discard(step.object)
        leaving.say(
            say("interrupted: {state}; sent, and not waited for: {object}\n", state=self._state(), object=step.object)
        )

    def _seen(self, cluster: "ClusterWatch", step: "PlanStep", before: "Snapshot") -> "Snapshot":
        """Return the cluster once all that a step is to bring about is there.

        Raises KoordError when it is not in time, or koord-descheduler has given up.
        """
        from kubectl_koord.cli.sending import seen

        return seen(cluster, lambda now: self._lacking(step, before, now), self._seconds)

    def _lacking(self, step: "PlanStep", before: "Snapshot", now: "Snapshot") -> str:
        from kubectl_koord.cli.sending import name_of, state_of
        from kubectl_koord.explain.plan import missing

        lacking = missing(step, before, now) or self._not_running(step, before, now)
        for job in (one for one in self._made if lacking and one.kind == "PodMigrationJob"):
            state = state_of(self._session.live_transport(), job)
            if state.get("phase") in {"Failed", "Aborted"}:
                why = ": ".join(filter(None, (str(state.get(name) or "") for name in ("phase", "reason", "message"))))
                raise KoordError(say("error: {name} has ended: {why}", name=name_of(job), why=why))
        return lacking

    def _not_running(self, step: "PlanStep", before: "Snapshot", now: "Snapshot") -> str:
        """Return which pod that was made anew does not run yet, empty where all do."""
        from kubectl_koord.cli.sending import pods_as_written
        from kubectl_koord.explain.plan import replacements

        if step.action not in {"move-pod", "move-gang"}:
            return ""
        pods = pods_as_written(self._session, replacements(step, before, now))
        phases = {key: str(_status(pod).get("phase") or "") for key, pod in pods.items()}
        return next(
            (
                say("{key} does not run (phase {phase})", key=key, phase=phase)
                for key, phase in phases.items()
                if phase != "Running"
            ),
            "",
        )

    def _state(self) -> str:
        """Return what was done, made for a step that is not done, and closed for the plan and not opened again."""
        from kubectl_koord.cli.sending import name_of

        done = say("{number} steps were done", number=len(self._done)) if self._done else say("nothing was done")
        if self._made:
            done += say(
                "; made for the last one, and still there: {made}", made=say(", ").join(map(name_of, self._made))
            )
        if not self._closed:
            return done
        names = " ".join(sorted(self._closed))
        return say("{done}; still cordoned by this plan: kubectl uncordon {names}", done=done, names=names)

    def _stopped(self, reason: str) -> KoordError:
        from kubectl_koord.cli.sending import tell

        for number, line in enumerate(self._done, 1):
            tell(say("done {number}: {line}", number=number, line=line))
        return KoordError(say("error: stopped: {reason} ({state})", reason=reason, state=self._state()))


def _status(pod: "Mapping[str, Any]") -> "Mapping[str, Any]":
    found = pod.get("status")
    return found if isinstance(found, dict) else {}


def _weights(written: "Iterable[str]", others: "Weights") -> "Weights":
    """Return the weights that were given, of the others those.

    Raises KoordError for a name that none has, and for what is no number from 0 upwards.
    """
    from msgspec import structs

    found: dict[str, float] = {}
    for one in written:
        name, _, number = one.partition("=")
        if name not in others.__struct_fields__:
            names = ", ".join(others.__struct_fields__)
            raise KoordError(say("error: --weight {one!r}: no such weight; there are {names}", one=one, names=names))
        try:
            found[name] = float(number)
        except ValueError:
            raise KoordError(say("error: --weight {one!r}: no number", one=one)) from None
        if not 0 <= found[name] < float("inf"):
            raise KoordError(say("error: --weight {one!r}: must be from 0 upwards", one=one))
    return structs.replace(others, **found)
