"""What a command line is, by its words and the rows of the verbs: which verb, and what it may read, write and send.

Words are without global options. Like the rows, this imports nothing else: it is asked before anything is imported.
"""

from kubectl_koord.cli.verbs import VERBS, changes

TYPE_CHECKING = False  # as in `verbs`

if TYPE_CHECKING:
    from collections.abc import Sequence


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


def in_full(words: "Sequence[str]") -> str:
    """Return the verb of words without global options, with the one that stands behind it: `topo init`."""
    verb = named(words)
    flags = VERBS[verb].flags if verb in VERBS else {}
    rest = iter(words[place(words) :])
    for word in rest:
        if flags.get(word):
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
