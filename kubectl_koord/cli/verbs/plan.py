"""`kubectl koord plan`: which moves make room for a gang, in order."""

from typing import TYPE_CHECKING, Annotated

import typer

from kubectl_koord.cli.flags import GANG_HELP, All
from kubectl_koord.errors import KoordError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kubectl_koord.cli.session import Session
    from kubectl_koord.remedies.plan import Weights

EXAMPLES = """\b
Examples:
  # Which moves make room for gang job, the cheapest of all
  kubectl koord plan job
  # The same without touching the pods of a team; a GPU-hour counts as much as ten pods
  kubectl koord plan job --keep team=search --weight hours=10
"""


def command(
    context: typer.Context,
    gang: Annotated[str, typer.Argument(metavar="GANG", help=GANG_HELP)],
    keep: Annotated[
        str, typer.Option("--keep", metavar="SELECTOR", help="Pods with these labels stay where they are.")
    ] = "",
    weight: Annotated[
        list[str] | None,
        typer.Option(
            "--weight",
            metavar="NAME=NUMBER",
            help="What counts: hours (of GPUs), pods, gangs, waits, cordons, reservations; may be repeated.",
        ),
    ] = None,
    everything: All = False,
) -> None:
    """Show the cheapest moves, in order, after which a gang is placed; nothing is changed.

    Pods are moved by evicting them; their controller makes them again, and the scheduler places them. Each step was
    tried in the engine on the cluster that those before it leave.
    """
    from kubectl_koord.cli.output import parsed
    from kubectl_koord.cluster import kinds
    from kubectl_koord.explain.plan import plan

    session: Session = context.obj
    session.everything = everything
    weights, kept = _weights(weight or ()), parsed(keep) if keep else None
    snapshot = session.snapshot(kinds.DISRUPTION_KINDS)
    subject = session.subject(snapshot, gang)
    with session.looking_for_ways_out():
        report = plan(snapshot, subject, weights, kept)
    session.show(report)


def _weights(written: "Iterable[str]") -> "Weights":
    """Return the weights with those that were given.

    Raises KoordError for a name that none has, and for what is no number from 0 upwards.
    """
    from msgspec import structs

    from kubectl_koord.remedies.plan import Weights

    found: dict[str, float] = {}
    for one in written:
        name, _, number = one.partition("=")
        if name not in Weights.__struct_fields__:
            names = ", ".join(Weights.__struct_fields__)
            raise KoordError(f"error: --weight {one!r}: no such weight; there are {names}")
        try:
            found[name] = float(number)
        except ValueError:
            raise KoordError(f"error: --weight {one!r}: no number") from None
        if not 0 <= found[name] < float("inf"):
            raise KoordError(f"error: --weight {one!r}: must be from 0 upwards")
    return structs.replace(Weights(), **found)
