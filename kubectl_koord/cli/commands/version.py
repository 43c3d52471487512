"""`kubectl koord version`: which plugin this is, and whom it evaluates as."""

from typing import TYPE_CHECKING

import typer

from kubectl_koord import __version__
from kubectl_koord.cli.session import write
from kubectl_koord.errors import KoordError

if TYPE_CHECKING:
    from kubectl_koord.cli.session import Session


def command(context: typer.Context) -> None:
    """Print the version of this plugin, and the scheduler versions that it evaluates."""
    session: Session = context.obj
    if session.options.output:
        raise KoordError("error: version does not support -o")
    write(f"kubectl-koord {__version__}\nevaluates as koord-scheduler 1.7, 1.8 and main (a7a1b76b, July 2026)\n")
