"""The options that stand before or after any verb, taken from the command line before Typer sees it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kubectl_koord.cli.command_words import writes_file
from kubectl_koord.cluster.api.connection import Connection, boolean
from kubectl_koord.errors import KoordError

if TYPE_CHECKING:
    from kubectl_koord.wording.aiming import Aim

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
}
_DRY_RUN = "--dry-run"
_LONG = {"-A": "--all-namespaces", "-w": "--watch", "-y": "--yes"}
_SAME = _LONG | {long: short for short, long in _LONG.items()}
_RECURSIVE = ("-R", "--recursive")
NODE = ("node", "nodes", "no")
PODGROUP = ("podgroup", "podgroups", "pg")
QUOTA = ("elasticquota", "elasticquotas", "eq")
"""What may stand before the slash of a name, as kubectl has it."""
ALL_HELP = "Show everything, also on a terminal (in a pipe nothing is left out)."
GANG_HELP = "NAME, NAMESPACE/NAME, KIND/NAME, KIND NAME or KIND/NAMESPACE/NAME."


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

    Raises:
        KoordError: when a value is missing or not one of those allowed.

    """
    found: dict[str, list[str]] = {"snapshot": [], "version": [], "output": [], "colour": [], "home": []}
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
    from kubectl_koord.wording.aiming import Aim, for_recorded, not_repeated

    said = {"koordinator-version": chosen.version, "koordinator-namespace": chosen.home}
    ours = [f"--{name}={value}" for name, value in said.items() if value]
    if not chosen.is_live:
        files = [f"--snapshot={name}" for name in chosen.snapshots]
        every = (*(files or ["--demo"]), *(["--recursive"] if chosen.recursive else []), *ours)
        return Aim((), every, for_recorded(chosen.snapshots))
    flags = connection.of_target()
    secrets = connection.secrets()
    return Aim(flags, (*flags, *ours), not_repeated(secrets) if secrets else "")


def plain_switches(words: Sequence[str], flags: Mapping[str, bool]) -> list[str]:
    """Return the words of a verb with its switches bare: `--watch=true` is `--watch`, `--watch=false` takes it back.

    `flags` are those of the verb, with whether each takes a value. As in kubectl the last one counts.

    Raises:
        KoordError: in kubectl's words, for a value that is no truth value.

    """
    end = words.index("--") if "--" in words else len(words)
    found: list[str] = []
    for word in words[:end]:
        flag, equals, _ = word.partition("=")
        if not equals or flags.get(flag, True):
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
    """Refuse a format that a verb does not have.

    Raises:
        KoordError: naming the verb that has it.

    """
    if chosen.output == "svg" and verb and verb != "topo":
        raise KoordError("error: -o svg is for topo")


def name_given(name: str | None) -> str:
    """Return a name that may be left out, "" where it was.

    Raises:
        KoordError: when it is there and empty, as `"$JOB"` is by mistake: that must not ask for everything.

    """
    if name == "":
        raise KoordError("error: resource name may not be empty")
    return name or ""


def without_type(name: str | None, types: Sequence[str]) -> str:
    """Return a name without the type that may stand before it, "" for none.

    Raises:
        KoordError: for a name that is there and empty.

    """
    given = name_given(name)
    kind, slash, bare = given.partition("/")
    return bare if slash and kind in types else given


def several_names(words: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names that words give, each once: `a b`, or behind their type, as in `podgroup a b`.

    Raises:
        KoordError: for an empty word.

    """
    given = [name_given(word) for word in words or ()]
    if len(given) > 1 and "/" not in given[0]:
        from kubectl_koord.simulation.subjects import is_kind

        if is_kind(given[0]):
            given = [f"{given[0]}/{name}" for name in given[1:]]
    return tuple(dict.fromkeys(given))


def check_several(chosen: Globals, names: Sequence[str], *, alone: bool) -> None:
    """Refuse several names where one only is possible: where it is followed, or handed on as one document.

    Raises:
        KoordError: naming what wants one name.

    """
    form = chosen.output
    if len(names) > 1 and (alone or form in DOCUMENTS):
        wants = f"-o {form}" if form in DOCUMENTS else "--watch or --until"
        raise KoordError(f"error: one name at a time with {wants}, not {len(names)}: {', '.join(names)}")


def one_name(words: Sequence[str] | None) -> str:
    """Return the name that one word gives, or two, its type and itself, as in `podgroup x`; "" for none.

    Raises:
        KoordError: for an empty word, and for more than one name.

    """
    given = several_names(words)
    if len(given) > 1:
        raise KoordError(f"error: one name at a time, not {len(given)}: {', '.join(given)}")
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
            raise KoordError(f"error: flag needs an argument: {flag}")
        value = following
    return _WITH_VALUE[flag], value


def _file(output: list[str]) -> str:
    """Take the name of a file from where else a format stands.

    Raises:
        KoordError: for a format: hardly anybody wants a file of that name.

    """
    file = output.pop() if output else ""
    output.clear()
    if file in FORMATS or file.startswith(("jsonpath=", "custom-columns=")):
        raise KoordError(f"error: -o {file}: this command writes a file, as in -o cluster.json.gz")
    return file


def _checked(found: dict[str, list[str]], *, demo: bool) -> Globals:
    version = _last(found["version"]).removeprefix("v")
    output, colour = _last(found["output"]), _last(found["colour"]) or "auto"
    if version and version not in VERSIONS:
        raise KoordError(f"error: --koordinator-version {version!r} is not one of {', '.join(VERSIONS)}")
    form, equals, argument = output.partition("=")
    if output and form + equals not in FORMATS:
        unknown = f"unable to match a printer suitable for the output format {output!r}"
        raise KoordError(f"error: {unknown}, allowed formats are: {','.join(FORMATS)}")
    if equals:
        from kubectl_koord.cli.output.formats import check

        check(form, argument)
    if colour not in COLOURS:
        raise KoordError(f"error: --color {colour!r} is not one of {', '.join(COLOURS)}")
    if demo and found["snapshot"]:
        raise KoordError("error: --demo and --snapshot cannot be used together")
    return Globals(tuple(found["snapshot"]), demo, version, output, colour, home=_last(found["home"]))


def _last(values: list[str]) -> str:
    return values[-1] if values else ""
