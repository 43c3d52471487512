"""The command tree: what Typer parses, and what help says."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from kubectl_koord import __version__
from kubectl_koord.cli.commands import annotate, explain, preempt, topo, why_pending, why_preempted
from kubectl_koord.cli.options import Globals
from kubectl_koord.cli.session import Session, write
from kubectl_koord.cluster.api.connection import Connection
from kubectl_koord.errors import KoordError
from kubectl_koord.wording.suggestions import near

if TYPE_CHECKING:
    from kubectl_koord.cluster.api.transport import Transport

_GLOBALS = """\b
Options of every command, before or after the verb:
  --snapshot FILE            read a file of kubectl get -o json|yaml (- for stdin)
  --demo                     read the embedded demo cluster
  --koordinator-version V    evaluate as 1.7, 1.8 or main (default: detected)
  -o, --output json|yaml     print JSON or YAML
  --color auto|always|never  when to use colour
  --request-timeout 10s      limit of each request (default: 30 s without data)
  -n, --context, --kubeconfig, --as, --server, ...  the same as in kubectl
\b
Exit code: 0 yes, 1 no, 2 unknown or failure.
"""

app = typer.Typer(
    name="kubectl koord",
    help="Show why a gang on Koordinator is pending, which pods it would preempt, and what to do next.",
    epilog=_GLOBALS,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    suggest_commands=False,  # _usage does, and only what is near
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("topo", short_help="Show the topology tree and its free resources.", epilog=topo.EXAMPLES)(topo.command)
app.command("why-pending", short_help="Show why gangs are pending, and what to do next.", epilog=why_pending.EXAMPLES)(
    why_pending.command
)
app.command("preempt", short_help="Show which pods the scheduler would preempt.", epilog=preempt.EXAMPLES)(
    preempt.command
)
app.command("why-preempted", short_help="Show who preempted a pod.", epilog=why_preempted.EXAMPLES)(
    why_preempted.command
)
app.command("explain", short_help="Explain a code from an answer.", epilog=explain.EXAMPLES)(explain.command)
app.add_typer(annotate.app, name="annotate", short_help="Set gang and topology annotations.")


@app.command("version", short_help="Show the version of this plugin.")
def version(context: typer.Context) -> None:
    """Print the version of this plugin, and the scheduler versions that it evaluates."""
    session: Session = context.obj
    if session.options.output:
        raise KoordError("error: version does not support -o")
    write(f"kubectl-koord {__version__}\nevaluates as koord-scheduler 1.7, 1.8 and main (a7a1b76b, July 2026)\n")


def invoke(words: Sequence[str], chosen: Globals, connection: Connection, transport: "Transport | None") -> int:
    """Run one command line (without global options) and return its exit code.

    Raises:
        KoordError: usage errors too, as one line.

    """
    session = Session(chosen, connection, transport)
    command = typer.main.get_command(app)
    try:
        # Not main(): that turns Ctrl-C and a closed pipe into exit codes of its own.
        with command.make_context("kubectl koord", _verb_first(words), obj=session) as typed:
            command.invoke(typed)
    except typer.Exit as left:
        return left.exit_code
    except typer.Abort:
        raise KeyboardInterrupt from None
    except Exception as problem:
        format_message = getattr(problem, "format_message", None)  # Typer's usage errors: vendored, private classes
        if format_message is None:
            raise
        raise _usage(problem, str(format_message())) from None
    return session.exit_code


def _verb_first(words: Sequence[str]) -> list[str]:
    """Return the words as Typer wants them: the verb, then its flags, wherever they stood; help is a flag, too.

    Where the verb is missing that is a question for help.
    """
    at = next((at for at, word in enumerate(words) if not word.startswith("-") or word == "--"), len(words))
    flags, rest = list(words[:at]), list(words[at:])
    if rest[:1] == ["help"]:
        return [*rest[1:], "--help"]
    if flags == ["--version"] and not rest:
        return ["version"]
    if not flags and rest in ([], ["annotate"]):
        return [*rest, "--help"]
    return [*rest[:1], *flags, *rest[1:]]


def _usage(problem: Exception, message: str) -> KoordError:
    context = getattr(problem, "ctx", None)
    where = context.command_path if context is not None else "kubectl koord"
    mistyped = re.fullmatch(r"No such command '(.*)'\.", message, re.DOTALL)
    if mistyped is not None and (meant := near(mistyped[1], _verbs(context))):
        message = f"{message.rstrip('.')}, did you mean {', '.join(meant)}?"
    else:
        message = f"{message.rstrip('.')};"
    text = message.rstrip(".") if message.startswith("error") else f"error: {message.rstrip('.')}"
    return KoordError(f"{' '.join(text.split())} see '{where} --help'")


def _verbs(context: object) -> list[str]:
    return list(getattr(getattr(context, "command", None), "commands", ()))
