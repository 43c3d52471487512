"""`kubectl koord live`: who waits for what and where the room is, full screen, as it changes."""

import sys
from typing import TYPE_CHECKING

import typer

from kubectl_koord.cli.flags import AllNamespaces, Selector
from kubectl_koord.errors import KoordError
from kubectl_koord.language import say

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kubectl_koord.cli.session import Session
    from kubectl_koord.engine.gangs import Subject
    from kubectl_koord.live.views import Overview
    from kubectl_koord.model.snapshot import Snapshot

EXAMPLES = """\b
Examples:
  # Who waits for what in all namespaces, and where the room is
  kubectl koord live -A
  # Those of one team
  kubectl koord live -A -l team=vision
  # The same on the embedded demo cluster, or of a file
  kubectl koord live --demo
  kubectl koord live --snapshot cluster.json.gz
"""
INSTALL = say("pip install 'kubectl-koord[live]'")


def command(context: typer.Context, every: AllNamespaces = False, selector: Selector = "") -> None:
    """Show who waits for what and where the room is, full screen, as it changes. Nothing is ever changed.

    Enter opens a gang, node or domain, w tries what would help it, p shows whom preemption would remove, ? the keys.
    """
    from kubectl_koord.cli.follow import feed

    session: Session = context.obj
    if session.options.output:
        raise KoordError(
            say("error: -o {output} cannot be used with live: it draws on a terminal", output=session.options.output)
        )
    if not on_terminal():
        raise KoordError(say("error: live needs a terminal; why-pending --watch prints what changes"))
    run = screen()
    run(feed(session), overview(session, selector, every=every), session.aim(), session.style())


def on_terminal() -> bool:
    """Tell whether there is a terminal to draw on, and to read keys from."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def screen() -> "Callable[..., None]":
    """Return what runs the screen. Raises KoordError with the command that installs what it is made with."""
    try:
        from kubectl_koord.live.terminal import run
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in {"textual", "rich"}:
            raise
        raise KoordError(say("error: live needs Textual, which is not installed: {install}", install=INSTALL)) from None
    return run


def overview(session: "Session", selector: str, *, every: bool) -> "Overview":
    """Return the first screen, of the gangs that a listing would have."""
    from kubectl_koord.cli.follow import EventsAround, is_everywhere, listing_now, report_now
    from kubectl_koord.cli.output import parsed
    from kubectl_koord.live.views import Overview, Questions
    from kubectl_koord.simulation.subjects import pending_subjects, selected
    from kubectl_koord.wording.words import command as command_line

    words = ("why-pending", *(["-A"] if every else []), *(["-l", selector] if selector else []))
    events = EventsAround(session)

    def waiting(snapshot: "Snapshot") -> "Sequence[Subject]":
        subjects = pending_subjects(snapshot, "" if is_everywhere(session, every=every) else session.namespace())
        return selected(snapshot, subjects, parsed(selector)) if selector else subjects

    questions = Questions(
        pending=listing_now(session, selector, every=every),
        waiting=waiting,
        gang=lambda snapshot, name: report_now(session, snapshot, name, events),
        subject=session.subject,
    )
    return Overview(questions, command_line(*words))
