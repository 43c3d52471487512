"""The verbs, one row each: the command line, its help, completion and the way to the cluster are derived from these.

Nothing is imported here: `entry` asks before it imports anything else, and completion must not wait for Typer.
A test compares the flags and words of each row with those of the command itself.
"""

TYPE_CHECKING = False  # as typing has it: importing that takes longer than all of this

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Verb:
    """One verb, or one that stands behind another, such as `annotate pods`.

    `about` is a line of help. `module` in `cli.commands` holds `command`, or `app` where more verbs stand behind it.
    One that is `live` reads the cluster, unless a file is given. `flags` tell whether each takes a value, `words` what
    completion offers in the place of each; where it `repeats`, the last of them may be given again. `sends` holds those
    values of `--dry-run` with which it sends requests other than GET, an empty one for no such flag; with
    a flag that is `offline` it reads nothing.
    """

    __slots__ = ("about", "dry_runs", "flags", "live", "module", "offline", "repeats", "sends", "words")

    def __init__(
        self,
        about: str,
        *,
        module: str = "",
        live: bool = False,
        flags: "Mapping[str, bool] | None" = None,
        words: tuple[str, ...] = (),
        repeats: bool = False,
        dry_runs: tuple[str, ...] = (),
        sends: tuple[str, ...] = (),
        offline: tuple[str, ...] = (),
    ) -> None:
        """Keep the row."""
        self.about = about
        self.module = module
        self.live = live
        self.flags = flags or {}
        self.words = words
        self.repeats = repeats
        self.dry_runs = dry_runs
        self.sends = sends
        self.offline = offline


_DRY_RUNS = ("none", "client", "server")
_OF_LISTS = {"--sort-by": True, "--limit": True, "--no-headers": False}
_OF_CHANGES = {"--dry-run": True, "--yes": False, "-y": False, "--overwrite": False}

VERBS: "Mapping[str, Verb]" = {
    "topo": Verb(
        "show the topology tree and its free resources",
        module="topo",
        live=True,
        flags={
            "--for": True,
            "--depth": True,
            "--nodes": False,
            "--resource": True,
            "--whole-cards": False,
            "--shape": True,
            "--members": True,
            "--all": False,
        },
    ),
    "devices": Verb(
        "show the GPUs and other devices of nodes, and who has them",
        module="devices",
        live=True,
        flags={"--domain": True, **_OF_LISTS, "--all": False},
        words=("node",),
        repeats=True,
    ),
    "node": Verb(
        "show what runs on a node, what is free, who could use it, what a drain would do",
        module="node",
        live=True,
        flags={"--all": False},
        words=("node",),
    ),
    "domain": Verb(
        "show the same of a domain of the topology",
        module="domain",
        live=True,
        flags={"--all": False},
        words=("domain",),
    ),
    "quota": Verb(
        "show elastic quotas, who lends and borrows, and what they hold back",
        module="quota",
        live=True,
        flags={"--all-namespaces": False, "-A": False, "--for": True, "--resource": True, "--all": False},
        words=("quota",),
    ),
    "why-pending": Verb(
        "show why gangs are pending, and what to do next",
        module="why_pending",
        live=True,
        flags={
            "--all-namespaces": False,
            "-A": False,
            "--raw": False,
            "--nodes": False,
            "--watch": False,
            "-w": False,
            "--until": True,
            "--timeout": True,
            "--selector": True,
            "-l": True,
            "--cause": True,
            **_OF_LISTS,
            "--all": False,
        },
        words=("gang",),
    ),
    "gangs": Verb(
        "list gangs: what is wanted, bound and pending, and how far they are spread",
        module="gangs",
        live=True,
        flags={
            "--all-namespaces": False,
            "-A": False,
            "--pending": False,
            "--selector": True,
            "-l": True,
            **_OF_LISTS,
            "--all": False,
        },
    ),
    "preempt": Verb(
        "show which pods the scheduler would preempt",
        module="preempt",
        live=True,
        flags={"--dry-run": True, "--all": False},
        words=("gang",),
        dry_runs=("client", "server"),
        sends=("server",),
    ),
    "why-preempted": Verb(
        "show who preempted a pod", module="why_preempted", live=True, flags={"--all": False}, words=("gang",)
    ),
    "doctor": Verb(
        "find what is wrong with the installation, topology, devices and gangs",
        module="doctor",
        live=True,
        flags={"--print-rbac": False},
        offline=("--print-rbac",),
    ),
    "explain": Verb("explain a code from an answer", module="explain", words=("code",)),
    "version": Verb("show the version of this plugin", module="version"),
    "annotate": Verb(
        "set gang and topology annotations",
        module="annotate",
        live=True,
        words=("target",),
        sends=("", "none", "server"),
    ),
    "annotate podgroup": Verb(
        "set the annotations of a PodGroup",
        flags={
            "--must-gather": True,
            "--prefer-gather": True,
            "--multiple": True,
            "--mode": True,
            "--match-policy": True,
            "--groups": True,
            "--waiting-time": True,
            "--total": True,
            **_OF_CHANGES,
        },
        words=("podgroup",),
        dry_runs=_DRY_RUNS,
    ),
    "annotate pods": Verb(
        "set the topology index of pods",
        flags={"--index": False, **_OF_CHANGES},
        words=("gang",),
        dry_runs=_DRY_RUNS,
    ),
}
"""In the order in which help shows them."""


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


def may_send(words: "Sequence[str]") -> bool:
    """Tell whether the command that these words are, without global options, may send requests other than GET."""
    verb = VERBS.get(named(words))
    dry_runs = [word.partition("=")[2] for word in words if word.startswith("--dry-run=")]
    return verb is not None and (dry_runs[-1] if dry_runs else "") in verb.sends


def has_more(verb: str) -> bool:
    """Tell whether other verbs stand behind this one."""
    return any(name.startswith(f"{verb} ") for name in VERBS)


def changes(verb: str) -> bool:
    """Tell whether this verb changes the cluster unless it is told to make a dry run."""
    return verb in VERBS and "" in VERBS[verb].sends
