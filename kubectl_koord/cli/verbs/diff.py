"""`kubectl koord diff`: two readings of a cluster compared."""

from typing import TYPE_CHECKING, Annotated

import typer

from kubectl_koord.cli.command_line import name_given
from kubectl_koord.cli.flags import All
from kubectl_koord.errors import KoordError
from kubectl_koord.language import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubectl_koord.cli.session import Session
    from kubectl_koord.explain.diff import OfGang
    from kubectl_koord.model.snapshot import Snapshot
    from kubectl_koord.simulation.submitted import Shape

EXAMPLES = """\b
Examples:
  # What changed since a snapshot: free cards, nodes and pods
  kubectl koord diff yesterday.json.gz -
  # Where slots for gang job came and went
  kubectl koord diff yesterday.json.gz today.json.gz --for job
  # The same for pods of 8 GPUs
  kubectl koord diff yesterday.json.gz - --shape 8gpu
"""


def command(
    context: typer.Context,
    before: Annotated[str, typer.Argument(metavar="BEFORE", help="A snapshot, or - for the live cluster.")],
    after: Annotated[str, typer.Argument(metavar="AFTER", help="A snapshot, or - for the live cluster.")],
    gang: Annotated[
        str | None, typer.Option("--for", metavar="GANG", help="Compare the slots for the pending pods of this gang.")
    ] = None,
    shape: Annotated[
        list[str] | None,
        typer.Option(
            "--shape", "--request", metavar="SHAPE", help="Compare how many such pods fit: 8gpu, or NAME=AMOUNT,..."
        ),
    ] = None,
    everything: All = False,
) -> None:
    """Show what differs between two snapshots: free cards or slots by domain, and the nodes and pods behind it."""
    from kubectl_koord.explain.diff import diff

    session: Session = context.obj
    session.everything = everything
    name = name_given(gang)
    if not session.options.is_live:
        raise KoordError(
            say("error: diff takes the names of two snapshots; --snapshot and --demo are for other commands")
        )
    if before == after:
        raise KoordError(say("error: diff needs two different snapshots"))
    if name and shape:
        raise KoordError(say("error: --for and --shape cannot be used together"))
    first, second = _read(session, before), _read(session, after)
    asked = _gang(session, (second, first), name) if name else (_shape(first, second, shape) if shape else None)
    session.show(diff(first, second, asked))


def _read(session: "Session", file: str) -> "Snapshot":
    from kubectl_koord.cluster import kinds, stored

    if file == "-":
        return session.snapshot(kinds.GANG_KINDS)
    return stored.from_files((file,), session.options.version, kinds=kinds.GANG_KINDS)


def _gang(session: "Session", snapshots: "Sequence[Snapshot]", name: str) -> "OfGang":
    """Return the pending pods of a gang: the later ones, or those before, where they are pending no more."""
    from kubectl_koord.engine.gangs import Subject
    from kubectl_koord.explain.diff import OfGang
    from kubectl_koord.simulation import subjects

    for snapshot in snapshots:
        found = subjects.find(snapshot, name, session.namespace())
        subject = found if isinstance(found, Subject) else subjects.find_anywhere(snapshot, name)
        if subject is not None and subject.pending:
            return OfGang(subject, subject.pending)
    for snapshot in snapshots:
        session.require(snapshot, "members", *subjects.homes(name, session.namespace()))
    raise KoordError(say("error: no gang or pod {name!r} with pending pods in either snapshot", name=name))


def _shape(before: "Snapshot", after: "Snapshot", written: "Sequence[str]") -> "Shape":
    from kubectl_koord.simulation.submitted import ShapeError, parsed

    try:
        return parsed(after, ",".join(written), before=before)
    except ShapeError as problem:
        raise KoordError(say("error: --shape: {problem}", problem=problem)) from None
