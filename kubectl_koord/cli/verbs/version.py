"""`kubectl koord version`: which plugin this is, and whom it evaluates as."""

from typing import TYPE_CHECKING

import typer

from kubectl_koord import __version__
from kubectl_koord.cli.command_line import VERSIONS
from kubectl_koord.cli.session import write
from kubectl_koord.language import say

_NEWEST = say("a7a1b76b, July 2026")

if TYPE_CHECKING:
    from kubectl_koord.cli.session import Session


def command(context: typer.Context) -> None:
    """Print the version of this plugin, and the scheduler versions that it evaluates."""
    from kubectl_koord.wording.version import version_lines

    session: Session = context.obj
    if session.options.is_text:  # at once: a report takes longer to import than all of this
        write("".join(f"{line}\n" for line in version_lines(__version__, VERSIONS, _NEWEST)))
        return
    from kubectl_koord.reports.manual import VersionReport

    session.show(VersionReport("yes", __version__, VERSIONS, _NEWEST))
