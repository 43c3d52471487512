"""How every verb that changes the cluster goes about it: plan, show, ask, send."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import Struct

from kubectl_koord import leaving
from kubectl_koord.errors import KoordError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kubectl_koord.cli.session import Session
    from kubectl_koord.cluster.api.connection import Target
    from kubectl_koord.reports.change import ChangePlan

DRY_RUNS = ("none", "client", "server")
DryRun = Annotated[str, typer.Option("--dry-run", metavar="[none|client|server]", help="Only preview the change.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace existing values.")]
FieldManager = Annotated[
    str, typer.Option("--field-manager", metavar="NAME", help="The manager that the changed fields get.")
]
MANAGER = "kubectl-koord"
_LONGEST_MANAGER = 128


class How(Struct, frozen=True):
    """How a change is to be carried out; with `all_or_none` a failure half-way is rolled back."""

    dry_run: str = "none"
    yes: bool = False
    field_manager: str = MANAGER
    all_or_none: bool = False


def carry_out(session: "Session", plan: "Callable[[], ChangePlan]", how: How) -> None:
    """Plan, show, ask, send: each step only if the one before it allows.

    Raises:
        KoordError: when it may not be, or was not done.

    """
    from msgspec import structs

    from kubectl_koord.changes.values import RefusedError

    check(session, how)
    try:
        planned = structs.replace(plan(), dry_run=how.dry_run)
    except RefusedError as refused:
        raise KoordError(f"error: {refused}") from None
    if session.transport is not None:
        from kubectl_koord.cli.writing.sending import with_appliers

        planned = with_appliers(session.transport, planned)
    if not planned.changes or how.dry_run == "client":
        session.show(planned)
        return
    asked = how.dry_run == "none" and not how.yes
    if asked and not _confirmed(session, planned):
        session.show(structs.replace(planned, verdict="no", message="declined: nothing was sent."))
        return
    from kubectl_koord.cli.writing.sending import send

    send(session.live_transport(), planned, how.field_manager, session.aim(), all_or_none=how.all_or_none)
    _tell_the_end(session, structs.replace(planned, applied=how.dry_run == "none"), shown_before=asked)


def check(session: "Session", how: How) -> None:
    """Refuse what may not be carried out this way, before anything is read.

    Raises:
        KoordError: when it may not.

    """
    if how.dry_run not in DRY_RUNS:
        raise KoordError(f"error: --dry-run={how.dry_run} is not one of {', '.join(DRY_RUNS)}")
    if not how.field_manager.isprintable() or not 0 < len(how.field_manager) <= _LONGEST_MANAGER:
        raise KoordError(f"error: --field-manager {how.field_manager!r} must have 1 to {_LONGEST_MANAGER} characters")
    if how.dry_run != "client" and not session.options.is_live:
        raise KoordError("error: a snapshot cannot be changed; use --dry-run=client")
    if how.dry_run == "none" and not how.yes and not (sys.stdin and sys.stdin.isatty()):
        raise KoordError("error: stdin is not a terminal; use --yes, or --dry-run=client to preview")


def _tell_the_end(session: "Session", done: "ChangePlan", *, shown_before: bool) -> None:
    """Show what was done; of a plan that was shown before the question a line is enough."""
    if not shown_before or not session.options.is_text:
        session.show(done)
        return
    from kubectl_koord.cli.session import write
    from kubectl_koord.render import show
    from kubectl_koord.wording.pages.change import headline

    write(show.sentence(headline(done), done.verdict, style=session.style()))


def _confirmed(session: "Session", planned: "ChangePlan") -> bool:
    from msgspec import structs

    from kubectl_koord.render import show
    from kubectl_koord.render.escape import harmless
    from kubectl_koord.wording.words import count

    objects = count(len(planned.changes), "object")
    before = structs.replace(planned, message=f"To be changed: {objects}.")
    sys.stderr.write(show.text(before, style=session.style(sys.stderr)))
    namespaces = {change.object.namespace for change in planned.changes}
    leaving.say(f"\n{leaving.NOTHING_SENT}")
    sys.stderr.write(harmless(f"Change {objects}{_place(session.live_transport().target(), namespaces)}? [y/N] "))
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
    names += [f'namespace "{name}"' for name in sorted(filter(None, namespaces))]
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
