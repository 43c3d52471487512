"""Man pages, one for the program and one for each verb: the words of `--help`, and the options of every verb."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from distribution.tree import Command, Flag, commands
from kubectl_koord import __version__
from kubectl_koord.cli import command_line

_SECTION = 1
_PROGRAM = "kubectl-koord"
_EXIT_CODES = (
    ("0", "yes, or a plain listing"),
    ("1", "no"),
    ("2", "unknown, a usage error or a failure; then standard error says why"),
    ("130", "Ctrl-C"),
    ("141", "closed pipe"),
    ("143", "SIGTERM"),
)


def pages() -> dict[str, str]:
    """Return the text of each page by its file name."""
    every = commands()
    return {f"{_name(one.verb)}.{_SECTION}": "\n".join(_page(one, every)) + "\n" for one in every}


def _page(command: Command, every: Iterable[Command]) -> Iterator[str]:
    name = _name(command.verb)
    short = command.about.partition(".")[0].partition(": ")[0]
    yield f'.TH "{_escaped(name.upper())}" "{_SECTION}" "{_date()}" "kubectl-koord {__version__}" "User Commands"'
    yield from (".SH NAME", f"{_escaped(name)} \\- {_escaped(short[0].lower() + short[1:])}")
    yield from (".SH SYNOPSIS", _synopsis(command))
    yield from (".SH DESCRIPTION", _line(command.about))
    if command.verbs:
        yield ".SH COMMANDS"
        for verb, about in command.verbs:
            yield from (".TP", f"\\fB{_escaped(verb)}\\fR", _line(about))
    if command.flags:
        yield ".SH OPTIONS"
        yield from _flags(command.flags)
    if not command.verb:
        yield ".SH OPTIONS OF EVERY COMMAND"
        yield "They may stand before or after the verb."
        yield from _flags(_of_table(command_line.OF_EVERY_VERB))
        yield ".SS The connection, as in kubectl"
        yield from _flags(_of_table(command_line.OF_CONNECTIONS))
    elif command.epilog:
        title, _, examples = command.epilog.partition(":\n")
        yield from (f".SH {title.upper()}", ".nf", *map(_line, examples.splitlines()), ".fi")
    yield ".SH EXIT STATUS"
    for code, text in _EXIT_CODES:
        yield from (".TP", f"\\fB{code}\\fR", _line(text))
    yield ".SH SEE ALSO"
    others = [one.verb for one in every if one.verb != command.verb] if not command.verb else [""]
    yield ",\n".join(f"\\fB{_escaped(_name(verb))}\\fR({_SECTION})" for verb in others)


def _date() -> str:
    """Return the day of this version: the page comes out the same on another day."""
    changes = Path(__file__).parents[1].joinpath("CHANGELOG.md").read_text("utf-8")
    found = re.search(rf"^## \[{re.escape(__version__)}\] - (\S+)$", changes, re.MULTILINE)
    return found[1] if found else ""


def _synopsis(command: Command) -> str:
    words = ["kubectl koord", *command.verb.split()]
    rest = ["COMMAND"] if command.verbs else []
    rest += command.arguments
    return " ".join([f"\\fB{_escaped(' '.join(words))}\\fR", *map(_escaped, rest), "[options]"])


def _of_table(table: Mapping[str, tuple[str, str]]) -> list[Flag]:
    names = ((command_line.SHORT.get(name, ""), name) for name in table)
    return [Flag(tuple(filter(None, both)), *of_it) for both, of_it in zip(names, table.values(), strict=True)]


def _flags(flags: Iterable[Flag]) -> Iterator[str]:
    for flag in flags:
        value = f" \\fI{_escaped(flag.metavar)}\\fR" if flag.metavar else ""
        yield from (".TP", ", ".join(f"\\fB{_escaped(name)}\\fR" for name in flag.names) + value)
        yield _line(flag.text)


def _name(verb: str) -> str:
    return "-".join([_PROGRAM, *verb.split()])


def _line(text: str) -> str:
    r"""Return text that is no request of roff, though it may begin with a dot or a quote."""
    escaped = _escaped(text)
    return f"\\&{escaped}" if re.match(r"[.']", escaped) else escaped


def _escaped(text: str) -> str:
    return text.replace("\\", "\\e").replace("-", "\\-")
