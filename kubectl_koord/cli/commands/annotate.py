"""`kubectl koord annotate`: set gang and topology annotations, the effect shown before anything is sent."""

import sys
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

import typer

from kubectl_koord import leaving
from kubectl_koord.errors import KoordError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kubectl_koord.cli.session import Session
    from kubectl_koord.cluster.api.context import Target
    from kubectl_koord.model.snapshot import Snapshot
    from kubectl_koord.reports.change import Change, ChangePlan

EXAMPLES = """\b
Examples:
  # Show what a hard layer would change, and its effect
  kubectl koord annotate podgroup job --must-gather SpineLayer --dry-run
  # Place multiples of 4 pods in each block
  kubectl koord annotate podgroup job --multiple BlockLayer=4 --overwrite
  # Wait 20 minutes for the gang, and do not ask
  kubectl koord annotate podgroup job --waiting-time 20m --yes
  # Number the pods as their names do
  kubectl koord annotate pods job --index
"""

app = typer.Typer(
    help="Set gang and topology annotations: check them, show their effect, ask, then write.",
    epilog=EXAMPLES,
    rich_markup_mode=None,
    no_args_is_help=True,
)
_DRY_RUNS = ("none", "client", "server")
_DryRun = Annotated[str, typer.Option("--dry-run", metavar="[none|client|server]", help="Only preview the change.")]
_Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
_Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace existing values.")]


@app.command("podgroup", epilog=EXAMPLES)
def podgroup(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME")],
    must_gather: Annotated[
        list[str] | None, typer.Option(metavar="LAYER", help="Require all pods in one domain of this layer.")
    ] = None,
    prefer_gather: Annotated[list[str] | None, typer.Option(metavar="LAYER", help="Prefer one domain.")] = None,
    multiple: Annotated[
        list[str] | None, typer.Option(metavar="LAYER=N", help="Place a multiple of N pods per domain.")
    ] = None,
    mode: Annotated[str, typer.Option(metavar="MODE", help="Strict or NonStrict.")] = "",
    match_policy: Annotated[
        str, typer.Option(metavar="POLICY", help="only-waiting, waiting-and-running or once-satisfied.")
    ] = "",
    groups: Annotated[
        list[str] | None, typer.Option(metavar="GANG,...", help="Gangs that start together, including this one.")
    ] = None,
    waiting_time: Annotated[str, typer.Option(metavar="DURATION", help="Set spec.scheduleTimeoutSeconds.")] = "",
    total: Annotated[
        int | None, typer.Option(metavar="N", help="Set the total number of pods (informational).")
    ] = None,
    dry_run: _DryRun = "none",
    yes: _Yes = False,
    overwrite: _Overwrite = False,
) -> None:
    """Set the gang and topology settings of a PodGroup."""
    from kubectl_koord.changes.annotate import pod_group_plan
    from kubectl_koord.changes.values import Wanted
    from kubectl_koord.simulation import subjects

    session: Session = context.obj
    wanted = Wanted(
        must_gather=tuple(must_gather or ()),
        prefer_gather=tuple(prefer_gather or ()),
        multiples=tuple(multiple or ()),
        mode=mode,
        match_policy=match_policy,
        groups=tuple(groups or ()),
        waiting_time=waiting_time,
        total=total,
    )

    def plan(snapshot: "Snapshot") -> "ChangePlan":
        key = subjects.pod_group_key(name, session.namespace())
        home = key.partition("/")[0]
        if key not in snapshot.pod_groups and snapshot.sees("PodGroup", home):
            nowhere = session.no_namespace(snapshot, home)
            if nowhere:
                raise nowhere
        return pod_group_plan(snapshot, key, wanted, overwrite=overwrite)

    _carry_out(session, plan, dry_run, yes=yes)


@app.command("pods", epilog=EXAMPLES)
def pods(
    context: typer.Context,
    gang: Annotated[str, typer.Argument(metavar="GANG")],
    index: Annotated[
        bool, typer.Option("--index", help="Set each pod's topology index to the number at the end of its name.")
    ] = False,
    dry_run: _DryRun = "none",
    yes: _Yes = False,
    overwrite: _Overwrite = False,
) -> None:
    """Set the topology index of a gang's pending pods."""
    from kubectl_koord.changes.annotate import index_plan

    session: Session = context.obj
    if not index:
        raise KoordError("error: --index is required: nothing else can be set on pods")

    def plan(snapshot: "Snapshot") -> "ChangePlan":
        return index_plan(snapshot, session.subject(snapshot, gang), overwrite=overwrite)

    _carry_out(session, plan, dry_run, yes=yes)


def _carry_out(session: "Session", plan: "Callable[[Snapshot], ChangePlan]", dry_run: str, *, yes: bool) -> None:
    """Plan, show, ask, send: each step only if the one before it allows."""
    from msgspec import structs

    from kubectl_koord.changes.values import RefusedError
    from kubectl_koord.cluster import kinds

    if dry_run not in _DRY_RUNS:
        raise KoordError(f"error: --dry-run={dry_run} is not one of {', '.join(_DRY_RUNS)}")
    if dry_run != "client" and not session.options.is_live:
        raise KoordError("error: a snapshot cannot be changed; use --dry-run=client")
    if dry_run == "none" and not yes and not (sys.stdin and sys.stdin.isatty()):
        raise KoordError("error: stdin is not a terminal; use --yes, or --dry-run=client to preview")
    try:
        planned = structs.replace(plan(session.snapshot(kinds.GANG_KINDS)), dry_run=dry_run)
    except RefusedError as refused:
        raise KoordError(f"error: {refused}") from None
    if not planned.changes or dry_run == "client":
        session.show(planned)
        return
    if dry_run == "none" and not yes and not _confirmed(session, planned):
        session.show(structs.replace(planned, verdict="no", message="declined: nothing was sent."))
        return
    _send(session, planned)
    session.show(structs.replace(planned, applied=dry_run == "none"))


def _confirmed(session: "Session", planned: "ChangePlan") -> bool:
    from msgspec import structs

    from kubectl_koord.cluster.api.connect import target
    from kubectl_koord.render import show
    from kubectl_koord.render.escape import harmless
    from kubectl_koord.wording.words import count

    objects = count(len(planned.changes), "object")
    before = structs.replace(planned, message=f"To be changed: {objects}.")
    sys.stderr.write(show.text(before, style=session.style(sys.stderr)))
    namespaces = {change.object.namespace for change in planned.changes}
    leaving.say(f"\n{leaving.NOTHING_SENT}")
    sys.stderr.write(harmless(f"Change {objects}{_place(target(session.connection), namespaces)}? [y/N] "))
    sys.stderr.flush()
    _until_typed()
    answer = sys.stdin.readline()
    if not answer.endswith("\n"):
        sys.stderr.write("\n")  # Ctrl-D leaves the cursor behind the question
    leaving.say(leaving.NOTHING_SENT)
    return answer.strip().lower() in {"y", "yes"}


def _place(target: "Target", namespaces: "Iterable[str]") -> str:
    """Return where objects are to be changed, by the names that kubectl has for it."""
    cluster = f' in cluster "{target.cluster}"' if target.cluster else ""
    names = [f'context "{target.context}"'] if target.context else []
    names += [f'namespace "{name}"' for name in sorted(namespaces)]
    return f"{cluster} ({', '.join(names)})"


def _until_typed() -> None:
    """Wait for a line or for Ctrl-C: one that comes in the instant before a read starts would not end the read."""
    import os
    import select
    import signal

    woken, waker = os.pipe()
    os.set_blocking(waker, False)
    before = signal.set_wakeup_fd(waker)
    try:
        select.select([sys.stdin, woken], [], [])
    finally:
        signal.set_wakeup_fd(before)
        os.close(woken)
        os.close(waker)


def _send(session: "Session", planned: "ChangePlan") -> None:
    from kubectl_koord.cluster.api.transport import TooLate
    from kubectl_koord.cluster.apply import patch

    for done, change in enumerate(planned.changes):
        leaving.say(_last_words(planned, done, is_sending=True))
        try:
            patch(session.live_transport(), _path(change), change.patch, dry_run_server=planned.dry_run == "server")
        except KoordError as error:
            so_far = f" ({done} of {len(planned.changes)} changed before that)" if done else ""
            unsure = " (what was sent may have been changed)" if isinstance(error, TooLate) else ""
            raise KoordError(error.message + unsure + so_far) from None
    leaving.say(_last_words(planned, len(planned.changes), is_sending=False))


def _last_words(planned: "ChangePlan", done: int, *, is_sending: bool) -> str:
    """Return what a signal leaves behind when so many objects have been changed, and perhaps the next is on its way."""
    import shlex

    from kubectl_koord.render.escape import harmless

    if planned.dry_run == "server":
        return "interrupted: nothing was changed, it was a dry run\n"
    names = [f"{change.object.kind} {change.object.namespace}/{change.object.name}" for change in planned.changes]
    lines = [f"changed: {', '.join(names[:done])}"] if done else []
    if is_sending:
        target = planned.changes[done].object
        look = shlex.join(["kubectl", "get", target.kind.lower(), target.name, "-n", target.namespace, "-o", "yaml"])
        lines.append(f"may have been changed, as it was being sent: {names[done]}; see: {look}")
    if unsent := names[done + is_sending :]:
        lines.append(f"not sent: {', '.join(unsent)}")
    return "".join(f"{harmless(f'interrupted: {line}')}\n" for line in lines)


def _path(change: "Change") -> str:
    from kubectl_koord.cluster.kinds import KINDS

    target = change.object
    return f"{KINDS[target.kind].path(target.namespace)}/{quote(target.name, safe='')}"
