"""`kubectl koord explain`: what a code in an answer means, offline."""

from typing import TYPE_CHECKING, Annotated

import typer

from kubectl_koord.errors import KoordError
from kubectl_koord.language import say

if TYPE_CHECKING:
    from kubectl_koord.cli.session import Session
    from kubectl_koord.reports.manual import Manual

EXAMPLES = """\b
Examples:
  kubectl koord explain                      all codes
  kubectl koord explain insufficient-slots   what it means and what to do next
"""


def command(
    context: typer.Context,
    code: Annotated[str, typer.Argument(metavar="[CODE]", help="A code from an answer.")] = "",
) -> None:
    """Explain a cause, warning, reason or way out: what it means, why it happens, and what to do next."""
    from kubectl_koord.wording.suggestions import near

    session: Session = context.obj
    manual = shipped_manual()
    if not code:
        session.show(manual.contents())
        return
    found = manual.explained(code)
    if found is None:
        meant = near(code.lower(), manual.pages)
        hint = (
            say(", did you mean {meant}?", meant=", ".join(meant))
            if meant
            else say("; 'kubectl koord explain' lists them all")
        )
        raise KoordError(say("error: no code {code!r}{hint}", code=code, hint=hint))
    session.show(found)


def shipped_manual() -> "Manual":
    """Return the manual that comes with the program."""
    from importlib import resources

    from kubectl_koord.reports import manual

    return manual.read(resources.files("kubectl_koord.reports").joinpath("manual.toml").read_text("utf-8"))
