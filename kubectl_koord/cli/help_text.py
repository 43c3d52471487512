"""Help in another language than English, in which Typer's commands are declared."""

from functools import partialmethod
from typing import Any

import typer
from typer import core
from typer._click import formatting

from kubectl_koord.language import STOP, say
from kubectl_koord.render.terminal import wrapped

_AS_IT_IS = "\b\n"
_write_usage = formatting.HelpFormatter.write_usage


def translate(command: Any) -> None:  # noqa: ANN401 - Typer's vendored, private classes
    """Translate what help says of a command and of those behind it, and let it break lines as Chinese does."""
    setattr(core, "_", say)  # noqa: B010 - the headings, which Typer looks up by this name
    formatting.wrap_text = _wrap
    setattr(formatting.HelpFormatter, "write_usage", partialmethod(_write_usage, prefix=say("Usage: ")))  # noqa: B010
    _translate(command)


def _translate(command: Any) -> None:  # noqa: ANN401 - ditto
    command.help = say(" ".join((command.help or "").split()))
    command.short_help = say(command.short_help) if command.short_help else _first_sentence(command.help)
    if command.epilog:
        as_it_is = command.epilog.startswith(_AS_IT_IS)
        text = say(command.epilog.removeprefix(_AS_IT_IS).strip("\n"))
        command.epilog = f"{_AS_IT_IS}{text}\n" if as_it_is else text
    help_option = command.get_help_option(typer.Context(command, help_option_names=["-h", "--help"]))
    for one in (*command.params, help_option):
        one.help = say(one.help) if getattr(one, "help", "") else ""
    for each in getattr(command, "commands", {}).values():
        _translate(each)


def _first_sentence(text: str) -> str:
    first, stop, _ = text.partition(STOP[1])
    return f"{first}{stop}"


def _wrap(
    text: str,
    width: int = 78,
    initial_indent: str = "",
    subsequent_indent: str = "",
    preserve_paragraphs: bool = False,
) -> str:
    """Break a text into lines as Typer's own function does, by cells; examples stay as they are."""
    if preserve_paragraphs and text.startswith(_AS_IT_IS):
        return "\n".join(f"{initial_indent}{line}" for line in text.removeprefix(_AS_IT_IS).split("\n"))
    lines = wrapped(" ".join(text.split()), width - len(subsequent_indent))
    return "\n".join(f"{subsequent_indent if number else initial_indent}{line}" for number, line in enumerate(lines))
