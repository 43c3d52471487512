"""The command tree as Typer has it: verbs, their flags and what help says of them."""

from collections.abc import Iterator
from typing import Any

import typer
from msgspec import Struct

from kubectl_koord.cli.app import tree
from kubectl_koord.cli.verb_table import VERBS


class Flag(Struct, frozen=True):
    """A flag: its names, what stands for its value (nothing for a switch), what it is for."""

    names: tuple[str, ...]
    metavar: str
    text: str


class Command(Struct, frozen=True):
    """A verb, such as `annotate pods`, or the program itself, whose verb is empty."""

    verb: str
    about: str
    arguments: tuple[str, ...]
    flags: tuple[Flag, ...]
    verbs: tuple[tuple[str, str], ...]
    epilog: str


def commands() -> list[Command]:
    """Return the program and its verbs in the order of help, each before those behind it."""
    return list(_commands("", typer.main.get_command(tree())))


def _commands(verb: str, command: Any) -> Iterator[Command]:  # noqa: ANN401 - Typer's vendored, private classes
    behind = getattr(command, "commands", {})
    names = [f"{verb} {name}".lstrip() for name in behind]
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option" and not one.hidden]
    yield Command(
        verb,
        " ".join((command.help or "").split()),
        tuple(one.make_metavar(None) for one in arguments),
        tuple(Flag((*one.opts, *one.secondary_opts), _metavar(one), one.help or "") for one in options),
        tuple((name, VERBS[name].about) for name in names),
        (command.epilog or "").replace("\b\n", "").strip("\n"),
    )
    for name, inner in zip(names, behind.values(), strict=True):
        yield from _commands(name, inner)


def _metavar(option: Any) -> str:  # noqa: ANN401 - ditto
    return "" if option.is_flag else option.metavar or option.type.name.upper()
