"""The command tree: what Typer parses, and what help says."""

import re
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

import typer

from kubectl_koord.cli.command_line import MORE, OF_ALL, Globals, named
from kubectl_koord.cli.session import Session
from kubectl_koord.cli.verb_table import VERBS, Verb, has_more
from kubectl_koord.cluster.api.connection import Connection
from kubectl_koord.errors import KoordError
from kubectl_koord.language import spoken
from kubectl_koord.wording.suggestions import near

if TYPE_CHECKING:
    from kubectl_koord.cluster.api.transport import Transport


def tree(only: str = "") -> typer.Typer:
    """Return the verbs as Typer wants them: all, or the only one that is needed. Only their modules are imported."""
    app = _root()
    for name, verb in VERBS.items():
        if verb.module and only in {"", name}:
            _add(app, name, verb)
    return app


def _root() -> typer.Typer:
    app = typer.Typer(
        name="kubectl koord",
        help="Show why a gang on Koordinator is pending, which pods it would preempt, and what to do next.",
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
        app.add_typer(module.app, name=name)
    else:
        app.command(name, epilog=getattr(module, "EXAMPLES", None))(module.command)


def invoke(words: Sequence[str], chosen: Globals, connection: Connection, transport: "Transport | None") -> int:
    """Run one command line (without global options) and return its exit code.

    Raises KoordError: usage errors too, as one line.
    """
    session = Session(chosen, connection, transport)
    verb = named(words)
    if verb and verb not in VERBS:
        raise _refused(*_mistyped(f"No such command {verb!r}.", [name for name in VERBS if " " not in name]))
    command = typer.main.get_command(tree(verb) if verb else _root())
    if _short_help(words):
        _shorten(command)
    if spoken() != "en" and not {"--help", "-h"}.isdisjoint(words):
        from kubectl_koord.cli.help_text import translate

        translate(command)
    try:
        # Not main(): that turns Ctrl-C and a closed pipe into exit codes of its own.
        with command.make_context("kubectl koord", [*words], obj=session) as typed:
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
    end = words.index("--") if "--" in words else len(words)
    return "-h" in words[:end] and "--help" not in words[:end]


def _shorten(command: object) -> None:
    """Leave examples, and the options of every command, to the long help."""
    setattr(command, "epilog", MORE)  # noqa: B010 - of Typer's own classes, which are vendored
    for each in getattr(command, "commands", {}).values():
        _shorten(each)


def _usage(problem: Exception, message: str) -> KoordError:
    context = getattr(problem, "ctx", None)
    command = getattr(context, "command", None)
    own = [name for option in getattr(command, "params", ()) for name in option.opts]
    flags = [name.removeprefix("--") for name in (*own, *OF_ALL) if name.startswith("--")]
    if mistyped := re.match(r"No such option: --([^\s.]+)", message):
        return _refused(mistyped[0], [f"--{name}" for name in near(mistyped[1], flags)], context)
    return _refused(*_mistyped(message, list(getattr(command, "commands", ()))), context)


def _mistyped(message: str, verbs: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the message, and what was meant: of Typer's own guesses there are none."""
    command = re.fullmatch(r"No such command '(.*)'\.", message, re.DOTALL)
    return message, near(command[1], verbs) if command else ()


def _refused(message: str, meant: Sequence[str], context: object = None) -> KoordError:
    """Return the error in one line, with what was meant, and whose help tells more."""
    where = getattr(context, "command_path", "kubectl koord")
    message = f"{message.rstrip('.')}, did you mean {', '.join(meant)}?" if meant else f"{message.rstrip('.')};"
    text = message if message.startswith("error") else f"error: {message}"
    return KoordError(f"{' '.join(text.split())} see '{where} --help'")
