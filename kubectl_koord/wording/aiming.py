"""Where a printed command goes: to the cluster that was asked about, whatever the current context is by then."""

import re
import shlex
from collections.abc import Sequence

from msgspec import Struct

OF_NO_CLUSTER = frozenset({"completion", "explain", "version"})
"""Our own verbs that need no cluster."""

_FOLLOWS = frozenset({"--until", "--watch", "-w"})
_OF_CLUSTER = "Commands of kubectl, and those that change or follow something,"
_PART = re.compile(r"""\s+|'[^']*'|"(?:\\.|[^"\\])*"|\\.|&&|\|\||[;&|(){}]|[^\s'"\\;&|(){}]+|.""", re.DOTALL)
_SEPARATORS = frozenset({"&&", "||", ";", "&", "|", "(", "{", "do", "then", "else"})


class Aim(Struct, frozen=True):
    """What chose the cluster, as words for a command line.

    `kubectl` are for kubectl, `koord` for our own commands. `note` says what no word can: that kubectl's commands are
    for another cluster than the file that was read, that a token is not repeated.
    """

    kubectl: tuple[str, ...] = ()
    koord: tuple[str, ...] = ()
    note: str = ""


HERE = Aim()
"""The current context: nothing needs to be said."""


def aimed(command: str, aim: Aim) -> str:
    """Return a command line for a shell with the words that choose the cluster, in each of its simple commands.

    They stand behind `kubectl`, and at the end of a command of ours, as a person types them. What is quoted, and what
    is no command but an argument, stays as it is. What changes or follows the cluster gets the words of kubectl also
    where it is a command of ours: no file can be changed, and none goes on.
    """
    found: list[str] = []
    simple: list[str] = []
    for part in _PART.findall(command):
        if part in _SEPARATORS:
            found += [*_simple(simple, aim), part]
            simple = []
        else:
            simple.append(part)
    return "".join([*found, *_simple(simple, aim)])


def _simple(parts: Sequence[str], aim: Aim) -> list[str]:
    """Return a command without pipes, and with the space around it."""
    words = [part for part in parts if not part.isspace()]
    if words[:1] != ["kubectl"]:
        return list(parts)
    is_ours = words[1:2] == ["koord"]
    chosen = [f" {shlex.quote(word)}" for word in (_of_ours(words[2:], aim) if is_ours else aim.kubectl)]
    behind = parts.index("kubectl") + 1
    if is_ours:
        redirects = (place for place, part in enumerate(parts) if part.startswith((">", "<")))
        behind = next(redirects, len(parts))
        while parts[behind - 1].isspace():
            behind -= 1
    return [*parts[:behind], *chosen, *parts[behind:]]


def _of_ours(words: Sequence[str], aim: Aim) -> tuple[str, ...]:
    if OF_NO_CLUSTER & {*words[:1]}:
        return ()
    is_change = words[:1] == ["annotate"] and not any(word.startswith("--dry-run") for word in words)
    return aim.kubectl if is_change or _FOLLOWS & {*words} else aim.koord


def is_for_cluster(command: str) -> bool:
    """Tell whether a command line holds what only a cluster takes: kubectl's own commands, changes, what goes on."""
    return aimed(command, Aim(kubectl=("--",))) != command


def for_recorded(files: Sequence[str]) -> str:
    """Return for which cluster commands are where files were read, or the demo where none is named."""
    if not files:
        return f"{_OF_CLUSTER} are examples here: the demo cluster is no real one."
    again = "; the others read standard input again: give them the same" if "-" in files else ""
    source = "this input" if "-" in files else ", ".join(files)
    return f"{_OF_CLUSTER} are for the cluster that {source} came from: add its --context{again}."


def not_repeated(flags: Sequence[str]) -> str:
    """Return that flags with secrets are not in the commands."""
    return f"The commands do not repeat {', '.join(flags)}: add what is secret yourself."
