"""The command line: a row per verb, the flags that all have, and the order in which words may stand."""

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from kubectl_koord.cli import languages
from kubectl_koord.cli.verb_table import VERBS, changes, needs_more
from kubectl_koord.cluster.api import connection
from kubectl_koord.cluster.api.connection import Connection, boolean
from kubectl_koord.errors import KoordError
from kubectl_koord.language import say

if TYPE_CHECKING:
    from kubectl_koord.wording.words import Aim


def place(words: "Sequence[str]") -> int:
    """Return where the verb stands among words without global options, or a `--`; behind the last where it is missing.

    Flags may stand before the verb, each one word.
    """
    return next((at for at, word in enumerate(words) if not word.startswith("-") or word == "--"), len(words))


def named(words: "Sequence[str]") -> str:
    """Return the verb of words without global options, empty where it is missing."""
    at = place(words)
    at += words[at : at + 1] == ["--"]
    return next(iter(words[at:]), "")


def verb_first(words: Sequence[str]) -> list[str]:
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


MORE = say("Examples: --help. Options of every command: kubectl koord --help.")
_TITLE = say("Show why a gang on Koordinator is pending, which pods it would preempt, and\nwhat to do next.")
_GLOBALS = say(
    "Options of every command, before or after the verb:\n"
    "  --snapshot FILE|DIR        read what kubectl get -o json printed (-: stdin)\n"
    "  -R, --recursive            with the folders within a folder\n"
    "  --demo                     read the embedded demo cluster\n"
    "  --koordinator-version V    evaluate as 1.7, 1.8 or main (default: detected)\n"
    "  --koordinator-namespace N  where Koordinator is installed (default: found)\n"
    "  -o, --output FORMAT        json|yaml|wide|name|jsonpath=|custom-columns=|\n"
    "                             html, and for topo svg\n"
    "  --color auto|always|never  when to use colour\n"
    "  --lang en|zh               the language (default: that of the system)\n"
    "  --no-pager                 no pager for what is longer than the terminal\n"
    "  --request-timeout 10s      limit of a request (default: 30 s of silence)\n"
    "  -v 6                       also show each request on standard error\n"
    "  -n, --context, --kubeconfig, --as, --server, ...  the same as in kubectl\n"
    "\n"
    "Also: kubectl koord scheduler --help, on what the scheduler itself remembers.\n"
    "\n"
    "Exit code: 0 yes, 1 no, 2 unknown or failure.\n"
)


def front_page(*, short: bool) -> str:
    """Return the help of the program: the verbs in their groups; the long one has the options of every command, too."""
    groups: dict[str, list[str]] = {}
    for name, verb in VERBS.items():
        if verb.group:
            about = say(verb.about)
            line = say("{about}.", about=f"{about[0].upper()}{about[1:]}")
            groups.setdefault(say(verb.group), []).append(f"  {name:<13}  {line}\n")
    parts = (f"\n{title}:\n{''.join(lines)}" for title, lines in groups.items())
    rest = f"\n  {MORE}\n" if short else f"\n{_GLOBALS}"
    return say(
        "Usage: kubectl koord [OPTIONS] COMMAND [ARGS]...\n\n{title}\n{parts}{rest}",
        title=_TITLE,
        parts="".join(parts),
        rest=rest,
    )


def in_full(words: "Sequence[str]") -> str:
    """Return the verb of words without global options, with the one that stands behind it: `topo init`."""
    verb = named(words)
    flags = flags_of(verb)
    rest = iter(words[place(words) :])
    for word in rest:
        if word in flags and flags[word][0]:
            next(rest, None)
        elif word not in {"--", verb} and not word.startswith("-"):
            return f"{verb} {word}" if f"{verb} {word}" in VERBS else verb
    return verb


def may_send(words: "Sequence[str]") -> bool:
    """Tell whether the command that these words are, without global options, may send requests other than GET."""
    verb = VERBS.get(in_full(words))
    dry_runs = [word.partition("=")[2] for word in words if word.startswith("--dry-run=")]
    if verb is None or (verb.only_with and verb.only_with not in words):
        return False
    return (dry_runs[-1] if dry_runs else "") in verb.sends


def reads_cluster(words: "Sequence[str]") -> bool:
    """Tell whether the command reads the live cluster where no file is given: `diff` where that is one of the two."""
    name = in_full(words)
    if name not in VERBS:
        return False
    is_offline = any(_is_one(flag, words) for flag in VERBS[name].offline)
    if is_offline and not set(VERBS[name].online) & set(words):
        return False
    return VERBS[name].live and (name != "diff" or "-" in words)


def _is_one(flag: str, words: "Sequence[str]") -> bool:
    """Tell whether a flag with a value is among words: also `--flag=value`, and `-fvalue` of a short one."""
    beginning = f"{flag}=" if flag.startswith("--") else flag
    return any(word == flag or word.startswith(beginning) for word in words)


def writes_file(words: "Sequence[str]") -> bool:
    """Tell whether the command that these words are, without global options, writes a file that `-o` names."""
    verb = VERBS.get(named(words))
    return verb is not None and verb.writes


def may_change(words: "Sequence[str]") -> bool:
    """Tell whether the command that these words are changes the cluster unless it is told to make a dry run."""
    verb = in_full(words)
    return changes(verb) and (VERBS[verb].only_with in {"", *words})


OF_EVERY_VERB: Mapping[str, tuple[str, str]] = {
    "--snapshot": ("FILE|DIR", say("Read what kubectl get -o json printed (-: standard input).")),
    "--demo": ("", say("Read the embedded demo cluster.")),
    "--recursive": ("", say("Read the folders within a folder, too.")),
    "--koordinator-version": ("1.7|1.8|main", say("Evaluate as this version (default: detected).")),
    "--koordinator-namespace": ("NAME", say("Where Koordinator is installed (default: found).")),
    "--output": ("FORMAT", say("Output format: json, yaml, wide, name, jsonpath=... or custom-columns=...")),
    "--color": ("auto|always|never", say("When to use colour.")),
    "--lang": ("en|zh", say("The language of what is printed (default: that of the system).")),
    "--no-pager": ("", say("Do not show what is longer than the terminal in a pager.")),
    "--help": ("", say("Show help, with examples; -h: in short.")),
}
OF_CONNECTIONS: Mapping[str, tuple[str, str]] = {f"--{name}": row for name, row in connection.FLAGS.items()}
"""The long flags with what stands for their values, nothing for a switch, and what they are for."""

SHORT: Mapping[str, str] = {
    "--recursive": "-R",
    "--output": "-o",
    "--help": "-h",
    **{f"--{name}": f"-{short}" for short, name in connection.SHORT_FLAGS.items()},
}
_LONG = {**OF_EVERY_VERB, **OF_CONNECTIONS}
OF_ALL: Mapping[str, tuple[str, str]] = {**_LONG, **{short: _LONG[name] for name, short in SHORT.items()}}


def flags_of(verb: str) -> Mapping[str, tuple[str, str]]:
    """Return the flags of a verb as `OF_ALL` has those of every verb; none for what is no verb."""
    return _of_verbs().get(verb, {})


@cache
def _of_verbs() -> dict[str, dict[str, tuple[str, str]]]:
    written = Path(__file__).with_name("flags.json").read_bytes()
    return msgspec.json.decode(written, type=dict[str, dict[str, tuple[str, str]]])


FORMATS = ("json", "yaml", "name", "wide", "jsonpath=", "custom-columns=", "html", "svg")
DOCUMENTS = ("html", "svg")
VERSIONS = ("1.7", "1.8", "main")
COLOURS = ("auto", "always", "never")
SHELLS = ("bash", "zsh", "fish")
_WITH_VALUE = {
    "--snapshot": "snapshot",
    "--koordinator-version": "version",
    "--koordinator-namespace": "home",
    "--output": "output",
    "-o": "output",
    "--color": "colour",
    languages.FLAG: "language",
}
_DRY_RUN = "--dry-run"
_SPELLED = {"-A": "--all-namespaces", "-w": "--watch", "-y": "--yes"}
_SAME = _SPELLED | {long: short for short, long in _SPELLED.items()}
_RECURSIVE = ("-R", "--recursive")
NODE = ("node", "nodes", "no")
PODGROUP = ("podgroup", "podgroups", "pg")
QUOTA = ("elasticquota", "elasticquotas", "eq")
"""What may stand before the slash of a name, as kubectl has it."""


class Globals(NamedTuple):
    """Where to read from, whose behaviour to reproduce, how to print. Empty means not given.

    `home` is the namespace in which Koordinator is installed. `file` is where a verb writes to that writes a file: `-o`
    names that, then, and no format.
    """

    snapshots: tuple[str, ...] = ()
    demo: bool = False
    version: str = ""
    output: str = ""
    colour: str = "auto"
    recursive: bool = False
    file: str = ""
    home: str = ""
    pager: bool = True

    @property
    def is_text(self) -> bool:
        """Whether the answer is printed as text for people."""
        return self.output in {"", "wide"}

    @property
    def is_page(self) -> bool:
        """Whether the answer is laid out for people: as text, as an HTML page, as a picture."""
        return self.is_text or self.output in DOCUMENTS

    @property
    def is_live(self) -> bool:
        """Whether the cluster itself is read."""
        return not self.snapshots and not self.demo


def take_globals(argv: Sequence[str]) -> tuple[Globals, list[str]]:
    """Return the global options and the words that are none; a bare `--dry-run` becomes `=client`.

    Raises KoordError when a value is missing or not one of those allowed.
    """
    found: dict[str, list[str]] = {
        "snapshot": [],
        "version": [],
        "output": [],
        "colour": [],
        "home": [],
        "language": [],
    }
    demo = recursive = no_pager = False
    rest: list[str] = []
    words = iter(argv)
    for word in words:
        if word == "--":
            rest += [word, *words]
        elif _is_switch(word, ("--demo",)):
            demo = _switch(word)
        elif _is_switch(word, _RECURSIVE):
            recursive = _switch(word)
        elif _is_switch(word, ("--no-pager",)):
            no_pager = _switch(word)
        elif word == _DRY_RUN:
            rest.append(f"{_DRY_RUN}=client")
        elif option := _option(word, words):
            found[option[0]].append(option[1])
        else:
            rest.append(word)
    file = _file(found["output"]) if writes_file(rest) else ""
    return _checked(found, demo=demo)._replace(recursive=recursive, file=file, pager=not no_pager), rest


def repeated(chosen: Globals, connection: Connection) -> "Aim":
    """Return the options that chose the cluster, for the commands that are printed; no secret is among them."""
    from kubectl_koord.wording.words import Aim, for_recorded, not_repeated

    said = {"koordinator-version": chosen.version, "koordinator-namespace": chosen.home}
    ours = [f"--{name}={value}" for name, value in said.items() if value]
    if not chosen.is_live:
        files = [f"--snapshot={name}" for name in chosen.snapshots]
        every = (*(files or ["--demo"]), *(["--recursive"] if chosen.recursive else []), *ours)
        return Aim((), every, for_recorded(chosen.snapshots))
    flags = connection.of_target()
    secrets = connection.secrets()
    return Aim(flags, (*flags, *ours), not_repeated(secrets) if secrets else "")


def plain_switches(words: Sequence[str], verb: str) -> list[str]:
    """Return the words of a verb with its switches bare: `--watch=true` is `--watch`, `--watch=false` takes it back.

    As in kubectl the last one counts. Raises KoordError in kubectl's words, for a value that is no truth value.
    """
    flags = flags_of(verb)
    end = words.index("--") if "--" in words else len(words)
    found: list[str] = []
    for word in words[:end]:
        flag, equals, _ = word.partition("=")
        if not equals or flags.get(flag, (True, ""))[0]:
            found.append(word)
        elif _switch(word):
            found.append(flag)
        else:
            found = [other for other in found if other not in {flag, _SAME.get(flag)}]
    return [*found, *words[end:]]


def _is_switch(word: str, names: Sequence[str]) -> bool:
    return word.partition("=")[0] in names


def _switch(word: str) -> bool:
    """Return what a switch says, alone or with a value."""
    flag, equals, value = word.partition("=")
    return boolean(value, flag) if equals else True


def check_output(chosen: Globals, verb: str) -> None:
    """Refuse a format that a verb does not have. Raises KoordError, naming the verb that has it."""
    if chosen.output == "svg" and verb and verb != "topo":
        raise KoordError(say("error: -o svg is for topo"))


def name_given(name: str | None) -> str:
    """Return a name that may be left out, "" where it was.

    Raises KoordError when it is there and empty, as `"$JOB"` is by mistake: that must not ask for everything.
    """
    if name == "":
        raise KoordError(say("error: resource name may not be empty"))
    return name or ""


def without_type(name: str | None, types: Sequence[str]) -> str:
    """Return a name without the type that may stand before it, "" for none.

    Raises KoordError for a name that is there and empty.
    """
    given = name_given(name)
    kind, slash, bare = given.partition("/")
    return bare if slash and kind in types else given


def without_types(names: Sequence[str], types: Sequence[str]) -> tuple[str, ...]:
    """Return names, each once, without the type that may stand before each. Raises KoordError for an empty name."""
    return tuple(dict.fromkeys(without_type(name, types) for name in names))


def several_names(words: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names that words give, each once: `a b`, or behind their type, as in `podgroup a b`.

    Raises KoordError for an empty word.
    """
    given = [name_given(word) for word in words or ()]
    if len(given) > 1 and "/" not in given[0]:
        from kubectl_koord.simulation.subjects import is_kind

        if is_kind(given[0]):
            given = [f"{given[0]}/{name}" for name in given[1:]]
    return tuple(dict.fromkeys(given))


def check_several(chosen: Globals, names: Sequence[str], *, alone: bool) -> None:
    """Refuse several names where one only is possible: where it is followed, or handed on as one document.

    Raises KoordError, naming what wants one name.
    """
    form = chosen.output
    if len(names) > 1 and (alone or form in DOCUMENTS):
        wants = f"-o {form}" if form in DOCUMENTS else say("--watch or --until")
        raise KoordError(
            say(
                "error: one name at a time with {wants}, not {number}: {names}",
                wants=wants,
                number=len(names),
                names=", ".join(names),
            )
        )


def one_name(words: Sequence[str] | None) -> str:
    """Return the name that one word gives, or two, its type and itself, as in `podgroup x`; "" for none.

    Raises KoordError for an empty word, and for more than one name.
    """
    given = several_names(words)
    if len(given) > 1:
        raise KoordError(
            say("error: one name at a time, not {number}: {given}", number=len(given), given=", ".join(given))
        )
    return "".join(given)


def _option(word: str, words: Iterator[str]) -> tuple[str, str] | None:
    flag, equals, value = word.partition("=")
    if word.startswith("-o") and not word.startswith("--") and len(word) > len("-o"):
        flag, equals, value = "-o", "=", word[2:].removeprefix("=")
    if flag not in _WITH_VALUE:
        return None
    if not equals:
        following = next(words, None)
        if following is None:
            raise KoordError(say("error: flag needs an argument: {flag}", flag=flag))
        value = following
    return _WITH_VALUE[flag], value


def _file(output: list[str]) -> str:
    """Take the name of a file from where else a format stands.

    Raises KoordError for a format: hardly anybody wants a file of that name.
    """
    file = output.pop() if output else ""
    output.clear()
    if file in FORMATS or file.startswith(("jsonpath=", "custom-columns=")):
        raise KoordError(say("error: -o {file}: this command writes a file, as in -o cluster.json.gz", file=file))
    return file


def _checked(found: dict[str, list[str]], *, demo: bool) -> Globals:
    version = _last(found["version"]).removeprefix("v")
    output, colour = _last(found["output"]), _last(found["colour"]) or "auto"
    if version and version not in VERSIONS:
        raise KoordError(
            say(
                "error: --koordinator-version {version!r} is not one of {versions}",
                version=version,
                versions=", ".join(VERSIONS),
            )
        )
    form, equals, argument = output.partition("=")
    if output and form + equals not in FORMATS:
        unknown = say("unable to match a printer suitable for the output format {output!r}", output=output)
        raise KoordError(
            say("error: {unknown}, allowed formats are: {formats}", unknown=unknown, formats=",".join(FORMATS))
        )
    if equals:
        from kubectl_koord.cli.output import check

        check(form, argument)
    if colour not in COLOURS:
        raise KoordError(
            say("error: --color {colour!r} is not one of {colours}", colour=colour, colours=", ".join(COLOURS))
        )
    for source, name in (
        (languages.FLAG, _last(found["language"])),
        (languages.VARIABLE, os.environ.get(languages.VARIABLE, "")),
    ):
        if name and not languages.understood(name):
            raise KoordError(
                say(
                    "error: {source} {name!r} is not one of {languages}",
                    source=source,
                    name=name,
                    languages=", ".join(languages.LANGUAGES),
                )
            )
    if demo and found["snapshot"]:
        raise KoordError(say("error: --demo and --snapshot cannot be used together"))
    return Globals(tuple(found["snapshot"]), demo, version, output, colour, home=_last(found["home"]))


def _last(values: list[str]) -> str:
    return values[-1] if values else ""
