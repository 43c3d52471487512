"""`kubectl koord completion`: completion of kubectl-koord in a shell, printed or installed."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kubectl_koord.cli import shells
from kubectl_koord.cli.command_line import SHELLS
from kubectl_koord.cli.session import write
from kubectl_koord.errors import KoordError
from kubectl_koord.language import say

if TYPE_CHECKING:
    from kubectl_koord.cli.session import Session

EXAMPLES = """\b
Examples:
  # Write the script of the login shell to the home folder
  kubectl koord completion install
  # The same for another shell
  kubectl koord completion install fish
  # Only in this shell
  source <(kubectl koord completion bash)
"""

app = typer.Typer(
    help="Complete kubectl-koord in a shell: print the script, or install it for this user.",
    epilog=EXAMPLES,
    rich_markup_mode=None,
    no_args_is_help=True,
)


@app.command("bash")
def bash(context: typer.Context) -> None:
    """Print the script for bash."""
    _print(context, "bash")


@app.command("zsh")
def zsh(context: typer.Context) -> None:
    """Print the script for zsh."""
    _print(context, "zsh")


@app.command("fish")
def fish(context: typer.Context) -> None:
    """Print the script for fish."""
    _print(context, "fish")


@app.command("install", epilog=EXAMPLES)
def install(
    context: typer.Context,
    shell: Annotated[str, typer.Argument(metavar="[bash|zsh|fish]", help="Default: the login shell.")] = "",
) -> None:
    """Write the script to the home folder, and beside the program what kubectl asks; no file of others is replaced."""
    _refuse_formats(context)
    if shell and shell not in SHELLS:
        raise KoordError(say("error: no shell {shell!r}: bash, zsh or fish", shell=shell))
    for done in shells.install(shell or shells.current(os.environ), os.environ, Path.home()):
        hint = f" ({done.hint})" if done.hint else ""
        write(f"{'wrote' if done.is_new else 'unchanged'} {done.path}{hint}\n")


def _print(context: typer.Context, shell: str) -> None:
    _refuse_formats(context)
    write(shells.script(shell))


def _refuse_formats(context: typer.Context) -> None:
    session: Session = context.obj
    if session.options.output:
        raise KoordError(say("error: completion does not support -o"))
