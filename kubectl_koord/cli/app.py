"""The command tree: what Typer parses, and what help says."""

import re
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

import typer

from kubectl_koord.cli.command_line import Globals, named, place
from kubectl_koord.cli.session import Session
from kubectl_koord.cli.verb_table import VERBS, Verb, has_more, needs_more
from kubectl_koord.cluster.api.connection import Connection
from kubectl_koord.errors import KoordError
from kubectl_koord.wording.suggestions import near

if TYPE_CHECKING:
    from kubectl_koord.cluster.api.transport import Transport

_GLOBALS = """\b
Options of every command, before or after the verb:
  --snapshot FILE|DIR        read what kubectl get -o json printed (-: stdin)
  -R, --recursive            with the folders within a folder
  --demo                     read the embedded demo cluster
  --koordinator-version V    evaluate as 1.7, 1.8 or main (default: detected)
  --koordinator-namespace N  where Koordinator is installed (default: found)
  -o, --output FORMAT        json|yaml|wide|name|jsonpath=|custom-columns=|
                             html, and for topo svg
  --color auto|always|never  when to use colour
  --no-pager                 no pager for what is longer than the terminal
  --request-timeout 10s      limit of a request (default: 30 s of silence)
  -v 6                       also show each request on standard error
  -n, --context, --kubeconfig, --as, --server, ...  the same as in kubectl
\b
Exit code: 0 yes, 1 no, 2 unknown or failure.
"""


_MORE = "Examples: --help. Options of every command: kubectl koord --help."


def tree(only: str = "") -> typer.Typer:
    """Return the verbs as Typer wants them: all, or the only one that is needed. Only their modules are imported."""
    app = _root()
    for name, verb in VERBS.items():
        if verb.module and only in {"", name}:
            _add(app, name, verb)
    return app


def _listing() -> typer.Typer:
    """Return the verbs as they are listed where none is named: no module is imported."""
    app = _root()
    for name, verb in VERBS.items():
        if verb.module and has_more(name):
            app.add_typer(typer.Typer(), name=name, short_help=_short(verb))
        elif verb.module:
            app.command(name, short_help=_short(verb))(_no_verb)
    return app


def _root() -> typer.Typer:
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
    app.callback()(_no_verb)
    return app


def _no_verb() -> None:
    """Let Typer take even a single verb for one of several."""


def _add(app: typer.Typer, name: str, verb: Verb) -> None:
    module = import_module(f"kubectl_koord.cli.verbs.{verb.module}")
    if has_more(name):
        app.add_typer(module.app, name=name, short_help=_short(verb))
    else:
        app.command(name, short_help=_short(verb), epilog=getattr(module, "EXAMPLES", None))(module.command)


def _short(verb: Verb) -> str:
    return f"{verb.about[0].upper()}{verb.about[1:]}."


def invoke(words: Sequence[str], chosen: Globals, connection: Connection, transport: "Transport | None") -> int:
    """Run one command line (without global options) and return its exit code.

    Raises:
        KoordError: usage errors too, as one line.

    """
    session = Session(chosen, connection, transport)
    words = _verb_first(words)
    verb = named(words)
    command = typer.main.get_command(tree(verb) if verb in VERBS else _listing())
    if _short_help(words):
        _shorten(command)
    try:
        # Not main(): that turns Ctrl-C and a closed pipe into exit codes of its own.
        with command.make_context("kubectl koord", words, obj=session) as typed:
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


def _short_help(words: Sequence[str]) -> bool:
    """Tell whether the short help is asked for."""
    end = words.index("--") if "--" in words else len(words)
    return "-h" in words[:end] and "--help" not in words[:end]


def _shorten(command: object) -> None:
    """Leave examples, and the options of every command, to the long help."""
    setattr(command, "epilog", _MORE)  # noqa: B010 - of Typer's own classes, which are vendored
    for each in getattr(command, "commands", {}).values():
        _shorten(each)


def _verb_first(words: Sequence[str]) -> list[str]:
    """Return the words as Typer wants them: the verb, then its flags, wherever they stood; help is a flag, too.

    Where the verb is missing that is a question for help.
    """
    at = place(words)
    flags, rest = list(words[:at]), list(words[at:])
    if rest[:1] == ["help"]:
        return [*rest[1:], "--help"]
    if flags == ["--version"] and not rest:
        return ["version"]
    if not flags and (not rest or (len(rest) == 1 and needs_more(rest[0]))):
        return [*rest, "--help"]
    return [*rest[:1], *flags, *rest[1:]]


def _usage(problem: Exception, message: str) -> KoordError:
    context = getattr(problem, "ctx", None)
    where = context.command_path if context is not None else "kubectl koord"
    message, meant = _mistyped(message, context)
    message = f"{message.rstrip('.')}, did you mean {', '.join(meant)}?" if meant else f"{message.rstrip('.')};"
    text = message.rstrip(".") if message.startswith("error") else f"error: {message.rstrip('.')}"
    return KoordError(f"{' '.join(text.split())} see '{where} --help'")


def _mistyped(message: str, context: object) -> tuple[str, Sequence[str]]:
    """Return the message without the guesses of Typer, which knows the flags of one verb alone, and what was meant."""
    if flag := re.match(r"No such option: --([^\s.]+)", message):
        return flag[0], [f"--{name}" for name in near(flag[1], _flags(context))]
    command = re.fullmatch(r"No such command '(.*)'\.", message, re.DOTALL)
    return message, near(command[1], _verbs(context)) if command else ()


def _flags(context: object) -> list[str]:
    """Return the names of the flags that are known there: of the verb, of every verb, and kubectl's."""
    from kubectl_koord.cli import command_line

    own = [name for option in getattr(getattr(context, "command", None), "params", ()) for name in option.opts]
    every = (*own, *command_line.OF_ALL)
    return [name.removeprefix("--") for name in every if name.startswith("--")]


def _verbs(context: object) -> list[str]:
    return list(getattr(getattr(context, "command", None), "commands", ()))
