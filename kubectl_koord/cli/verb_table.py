"""The verbs, one row each: the command line, its help, completion and the way to the cluster are derived from these.

Nothing is imported here: `entry` asks before it imports anything else, and completion must not wait for Typer.
A test compares the flags and words of each row with those of the command itself.
"""

TYPE_CHECKING = False  # as typing has it: importing that takes longer than all of this

if TYPE_CHECKING:
    from collections.abc import Mapping


class Verb:
    """One verb, or one that stands behind another, such as `annotate pods`.

    `about` is a line of help. `module` in `cli.verbs` holds `command`, or `app` where more verbs stand behind it.
    `reads` are the readings of `cluster.rbac` that it makes at most, of the cluster unless a file is given. `flags`
    tell whether each takes a value, `words` what completion offers in the place of each; where it `repeats`, the last
    of them may be given again. `sends` holds those values of `--dry-run` with which it sends requests other than GET,
    an empty one for no such flag, and it sends none without the flag `only_with`. With a flag of `offline` it reads no
    cluster, unless one of `online` stands beside it. Where it `writes` a file, `-o` names that.
    """

    __slots__ = (
        "about",
        "dry_runs",
        "flags",
        "module",
        "offline",
        "online",
        "only_with",
        "reads",
        "repeats",
        "sends",
        "words",
        "writes",
    )

    def __init__(
        self,
        about: str,
        *,
        module: str = "",
        flags: "Mapping[str, bool] | None" = None,
        words: tuple[str, ...] = (),
        repeats: bool = False,
        dry_runs: tuple[str, ...] = (),
        sends: tuple[str, ...] = (),
        writes: bool = False,
        only_with: str = "",
        offline: tuple[str, ...] = (),
        online: tuple[str, ...] = (),
        reads: tuple[str, ...] = (),
    ) -> None:
        """Keep the row."""
        self.about = about
        self.module = module
        self.flags = flags or {}
        self.words = words
        self.repeats = repeats
        self.dry_runs = dry_runs
        self.sends = sends
        self.writes = writes
        self.only_with = only_with
        self.offline = offline
        self.online = online
        self.reads = reads

    @property
    def live(self) -> bool:
        """Whether it reads the cluster, unless a file is given."""
        return bool(self.reads)


_DRY_RUNS = ("none", "client", "server")
_OF_LISTS = {"--sort-by": True, "--limit": True, "--no-headers": False}
_SENDS = ("", "none", "server")
_YES = {"--yes": False, "-y": False}
_OF_CHANGES = {"--dry-run": True, **_YES, "--overwrite": False, "--field-manager": True}
_OF_FILES = {"--filename": True, "-f": True}
_OF_GANGS = {
    "--must-gather": True,
    "--prefer-gather": True,
    "--multiple": True,
    "--mode": True,
    "--match-policy": True,
    "--groups": True,
    "--waiting-time": True,
    "--total": True,
    "--min-member": True,
}
_WATCH = {"--watch": False, "-w": False}
_ALL = {"--all": False}
_BY_NAME = ("gangs", "namespace")
_ASKS_LEADER = ("gangs", "leader")
_OF_ENDPOINTS = {"--endpoint": True, "--port": True}
_OF_LOGS = {"--log": True, **_ALL}

VERBS: "Mapping[str, Verb]" = {
    "topo": Verb(
        "show the topology tree and its free resources",
        module="topo",
        reads=(*_BY_NAME, "followed"),
        flags={
            "--for": True,
            "--depth": True,
            "--nodes": False,
            "--resource": True,
            "--whole-cards": False,
            "--shape": True,
            "--members": True,
            **_WATCH,
            "--all": False,
        },
    ),
    "topo init": Verb(
        "propose a ClusterNetworkTopology from the labels of the nodes",
        reads=("gangs",),
        flags={
            "--layer": True,
            "--diff": False,
            "--apply": False,
            "--dry-run": True,
            **_YES,
            "--field-manager": True,
        },
        dry_runs=_DRY_RUNS,
        sends=_SENDS,
        only_with="--apply",
    ),
    "topo label": Verb(
        "give nodes the labels of their layers, out of a file",
        reads=("topology",),
        flags={"--filename": True, "-f": True, **_OF_CHANGES},
        dry_runs=_DRY_RUNS,
        sends=_SENDS,
    ),
    "devices": Verb(
        "show the GPUs and other devices of nodes, and who has them",
        module="devices",
        reads=("devices",),
        flags={"--domain": True, **_OF_LISTS, "--all": False},
        words=("node",),
        repeats=True,
    ),
    "node": Verb(
        "show what runs on a node, what is free, who could use it, what a drain would do",
        module="node",
        reads=("disruption", "moved"),
        flags={"--all": False},
        words=("node",),
    ),
    "domain": Verb(
        "show the same of a domain of the topology",
        module="domain",
        reads=("disruption", "moved"),
        flags={"--all": False},
        words=("domain",),
    ),
    "quota": Verb(
        "show elastic quotas, who lends and borrows, and what they hold back",
        module="quota",
        reads=(*_BY_NAME, "followed"),
        flags={"--all-namespaces": False, "-A": False, "--for": True, "--resource": True, **_WATCH, "--all": False},
        words=("quota",),
    ),
    "why-pending": Verb(
        "show why gangs are pending, and what to do next",
        module="why_pending",
        reads=("disruption", "elsewhere", "traces", "watched", "namespace", "around"),
        flags={
            "--all-namespaces": False,
            "-A": False,
            "--raw": False,
            "--nodes": False,
            **_WATCH,
            "--until": True,
            "--timeout": True,
            "--selector": True,
            "-l": True,
            "--cause": True,
            **_OF_LISTS,
            "--all": False,
        },
        words=("gang",),
        repeats=True,
    ),
    "gangs": Verb(
        "list gangs: what is wanted, bound and pending, and how far they are spread",
        module="gangs",
        reads=(*_BY_NAME, "elsewhere", "followed"),
        flags={
            "--all-namespaces": False,
            "-A": False,
            "--pending": False,
            "--selector": True,
            "-l": True,
            **_OF_LISTS,
            **_WATCH,
            "--all": False,
        },
    ),
    "preempt": Verb(
        "show which pods the scheduler would preempt",
        module="preempt",
        reads=("disruption", "namespace", "followed"),
        flags={"--dry-run": True, **_WATCH, "--all": False},
        words=("gang",),
        repeats=True,
        dry_runs=("client", "server"),
        sends=("server",),
    ),
    "plan": Verb(
        "show which moves make room for a gang, in order, and what they cost",
        module="plan",
        reads=("disruption", "namespace"),
        flags={"--keep": True, "--weight": True, "--all": False},
        words=("gang",),
    ),
    "fit": Verb(
        "show whether a job would be placed before it is submitted",
        module="fit",
        reads=("disruption", "fit", "namespace"),
        flags={
            "--filename": True,
            "-f": True,
            "--pods": True,
            "--request": True,
            "--must-gather": True,
            "--like": True,
            "--priority": True,
            "--priority-class": True,
            "--count": False,
            "--detailed-exit-code": False,
            "--all": False,
        },
    ),
    "why-preempted": Verb(
        "show who preempted a pod",
        module="why_preempted",
        reads=("traces", "namespace"),
        flags={"--all": False},
        words=("gang",),
    ),
    "scheduler": Verb(
        "show what the scheduler remembers beside the objects, and read its log",
        module="scheduler",
        words=("target",),
    ),
    "scheduler gangs": Verb(
        "show every gang as the scheduler remembers it",
        reads=_ASKS_LEADER,
        flags=_OF_ENDPOINTS | _ALL,
    ),
    "scheduler gang": Verb(
        "show one gang as the scheduler remembers it",
        reads=(*_BY_NAME, "leader"),
        flags=_OF_ENDPOINTS,
        words=("gang",),
    ),
    "scheduler node": Verb(
        "show the pods of a node as the scheduler counts them",
        reads=_ASKS_LEADER,
        flags=_OF_ENDPOINTS,
        words=("node",),
    ),
    "scheduler quotas": Verb(
        "show the quotas as the scheduler counts them",
        reads=_ASKS_LEADER,
        flags=_OF_ENDPOINTS | _ALL,
        words=("quota",),
    ),
    "scheduler devices": Verb(
        "show the devices as the scheduler's books say",
        reads=_ASKS_LEADER,
        flags=_OF_ENDPOINTS | _ALL,
        words=("node",),
    ),
    "scheduler numa": Verb(
        "show who has bound which CPUs of a node",
        reads=_ASKS_LEADER,
        flags=_OF_ENDPOINTS,
        words=("node",),
    ),
    "scheduler reservations": Verb(
        "show the Reservations on a node, and who draws on them",
        reads=_ASKS_LEADER,
        flags=_OF_ENDPOINTS,
        words=("node",),
    ),
    "scheduler services": Verb(
        "show which paths the scheduler answers", reads=_ASKS_LEADER, flags=_OF_ENDPOINTS | _ALL
    ),
    "scheduler scores": Verb("show out of a log how nodes scored", flags=_OF_LOGS, words=("pod",)),
    "scheduler filters": Verb("show out of a log which plugin refused a node", flags=_OF_LOGS, words=("pod",)),
    "scheduler diagnosis": Verb("show out of a log what was noted of attempts", flags=_OF_LOGS, words=("pod",)),
    "snapshot": Verb(
        "write what the commands read to a file, without secrets",
        module="snapshot",
        reads=("recorded",),
        flags={"--anonymize": False, "--label": True},
        writes=True,
    ),
    "diff": Verb(
        "show which domains, nodes and pods differ between two snapshots",
        module="diff",
        reads=("gangs",),
        flags={"--for": True, "--shape": True, "--request": True, "--all": False},
        words=("file", "file"),
    ),
    "doctor": Verb(
        "find what is wrong with the installation, topology, devices and gangs",
        module="doctor",
        reads=("doctor",),
        flags={"--print-rbac": False, "--command": True},
        offline=("--print-rbac",),
    ),
    "explain": Verb("explain a code from an answer", module="explain", words=("code",)),
    "version": Verb("show the version of this plugin", module="version"),
    "completion": Verb("complete kubectl-koord in bash, zsh or fish", module="completion", words=("target",)),
    "completion bash": Verb("print the script for bash"),
    "completion zsh": Verb("print the script for zsh"),
    "completion fish": Verb("print the script for fish"),
    "completion install": Verb("write the script to the home folder", words=("shell",)),
    "annotate": Verb("set gang and topology annotations", module="annotate", words=("target",), sends=_SENDS),
    "annotate podgroup": Verb(
        "set the settings of a PodGroup, or of manifests",
        reads=_BY_NAME,
        flags={**_OF_GANGS, **_OF_FILES, **_OF_CHANGES},
        words=("podgroup",),
        dry_runs=_DRY_RUNS,
        sends=_SENDS,
        offline=tuple(_OF_FILES),
    ),
    "annotate gang": Verb(
        "set the settings of a gang's whole group, or of pods without a PodGroup, or of manifests",
        reads=("disruption", "fit", "namespace"),
        flags={**_OF_GANGS, **_OF_FILES, "--create": False, **_OF_CHANGES},
        words=("gang",),
        dry_runs=_DRY_RUNS,
        sends=_SENDS,
        offline=tuple(_OF_FILES),
        online=("--create",),
    ),
    "annotate pods": Verb(
        "set the topology index and selector of pods, or of manifests",
        reads=_BY_NAME,
        flags={"--index": False, "--index-order": True, "--topology-selector": True, **_OF_FILES, **_OF_CHANGES},
        words=("gang",),
        dry_runs=_DRY_RUNS,
        sends=_SENDS,
        offline=tuple(_OF_FILES),
    ),
}
"""In the order in which help shows them."""


def reading() -> "Mapping[str, tuple[str, ...]]":
    """Return what each verb that reads a cluster reads at most, with those that stand behind it."""
    found: dict[str, tuple[str, ...]] = {}
    for name, row in VERBS.items():
        if row.reads:
            verb = name.partition(" ")[0]
            found[verb] = (*found.get(verb, ()), *row.reads)
    return found


def has_more(verb: str) -> bool:
    """Tell whether other verbs stand behind this one."""
    return any(name.startswith(f"{verb} ") for name in VERBS)


def needs_more(verb: str) -> bool:
    """Tell whether one of the verbs behind it must be given: it does nothing alone."""
    return verb in VERBS and "target" in VERBS[verb].words


def changes(verb: str) -> bool:
    """Tell whether this verb changes the cluster unless it is told to make a dry run."""
    return verb in VERBS and "" in VERBS[verb].sends
