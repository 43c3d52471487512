"""The verbs, one row each: the command line, its help, completion and the way to the cluster are derived from these.

Nothing is imported here: `entry` asks before it imports anything else, and completion must not wait for Typer.
Its flags are declared by the command itself: `command_line.flags_of` knows them.
"""

TYPE_CHECKING = False  # as typing has it: importing that takes longer than all of this

if TYPE_CHECKING:
    from collections.abc import Mapping


class Verb:
    """One verb, or one that stands behind another, such as `annotate pods`.

    `about` is a line of help; the first page of help has it below `group`, if at all. `module` in `cli.verbs` holds
    `command`, or `app` where more verbs stand behind it. `reads` are the readings of `cluster.rbac` that it makes at
    most, of the cluster unless a file is given. `words` is what completion offers in the place of each; where it
    `repeats`, the last of them may be given again. `sends` holds those values of `--dry-run` with which it sends
    requests other than GET, an empty one for no such flag, and it sends none without the flag `only_with`. With a flag
    of `offline` it reads no cluster, unless one of `online` stands beside it. Where it `writes` a file, `-o` names it.
    """

    __slots__ = (
        "about",
        "group",
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
        group: str = "",
        module: str = "",
        words: tuple[str, ...] = (),
        repeats: bool = False,
        sends: tuple[str, ...] = (),
        writes: bool = False,
        only_with: str = "",
        offline: tuple[str, ...] = (),
        online: tuple[str, ...] = (),
        reads: tuple[str, ...] = (),
    ) -> None:
        self.about = about
        self.group = group
        self.module = module
        self.words = words
        self.repeats = repeats
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


_WHY, _WHAT_IF, _WHAT_IS = "Why a job waits", "What would help", "What there is"
_RUN, _OFFLINE = "Run the cluster", "Beside the cluster"
_SENDS = ("", "none", "server")
_FILES = ("--filename", "-f", "--kustomize", "-k")
_BY_NAME = ("gangs", "namespace")
_ASKS_LEADER = ("gangs", "leader")

VERBS: "Mapping[str, Verb]" = {
    "why-pending": Verb(
        "show why gangs are pending, and what to do next",
        group=_WHY,
        module="why_pending",
        reads=("disruption", "elsewhere", "traces", "watched", "namespace", "around"),
        words=("gang",),
        repeats=True,
    ),
    "preempt": Verb(
        "show which pods the scheduler would preempt",
        group=_WHY,
        module="preempt",
        reads=("disruption", "namespace", "followed"),
        words=("gang",),
        repeats=True,
        sends=("server",),
    ),
    "why-preempted": Verb(
        "show who preempted a pod",
        group=_WHY,
        module="why_preempted",
        reads=("traces", "namespace"),
        words=("gang",),
    ),
    "fit": Verb(
        "show whether a job would be placed before it is submitted",
        group=_WHAT_IF,
        module="fit",
        reads=("disruption", "fit", "namespace"),
    ),
    "plan": Verb(
        "show which moves make room for a gang, and what they cost",
        group=_WHAT_IF,
        module="plan",
        reads=("disruption", "fit", "namespace", "applied"),
        words=("gang",),
        sends=("",),
        only_with="--apply",
    ),
    "evict": Verb(
        "evict pods as their budgets allow, and keep their nodes free",
        group=_WHAT_IF,
        module="evict",
        reads=("disruption", "followed"),
        words=("pod",),
        repeats=True,
        sends=_SENDS,
    ),
    "annotate": Verb(
        "set gang and topology annotations", group=_WHAT_IF, module="annotate", words=("target",), sends=_SENDS
    ),
    "annotate podgroup": Verb(
        "set the settings of a PodGroup, or of manifests",
        reads=_BY_NAME,
        words=("podgroup",),
        sends=_SENDS,
        offline=_FILES,
    ),
    "annotate gang": Verb(
        "set the settings of a gang's whole group, or of pods without a PodGroup, or of manifests",
        reads=("disruption", "fit", "namespace"),
        words=("gang",),
        sends=_SENDS,
        offline=_FILES,
        online=("--create",),
    ),
    "annotate pods": Verb(
        "set the topology index and selector of pods, or of manifests",
        reads=_BY_NAME,
        words=("gang",),
        sends=_SENDS,
        offline=_FILES,
    ),
    "topo": Verb(
        "show the topology tree and its free resources",
        group=_WHAT_IS,
        module="topo",
        reads=(*_BY_NAME, "followed"),
    ),
    "topo init": Verb(
        "propose a ClusterNetworkTopology from the labels of the nodes",
        reads=("gangs",),
        sends=_SENDS,
        only_with="--apply",
    ),
    "topo label": Verb(
        "give nodes the labels of their layers, out of a file",
        reads=("topology",),
        sends=_SENDS,
    ),
    "gangs": Verb(
        "list gangs: pods wanted, bound and pending, and their spread",
        group=_WHAT_IS,
        module="gangs",
        reads=(*_BY_NAME, "elsewhere", "followed"),
    ),
    "quota": Verb(
        "show elastic quotas, who lends, borrows and is held back",
        group=_WHAT_IS,
        module="quota",
        reads=(*_BY_NAME, "followed"),
        words=("quota",),
        repeats=True,
    ),
    "devices": Verb(
        "show the GPUs and other devices of nodes, and who has them",
        group=_WHAT_IS,
        module="devices",
        reads=("devices",),
        words=("node",),
        repeats=True,
    ),
    "node": Verb(
        "show what runs on a node or domain, and what a drain would do",
        group=_WHAT_IS,
        module="node",
        reads=("disruption", "moved"),
        words=("node",),
        repeats=True,
    ),
    "doctor": Verb(
        "find what is wrong: installation, topology, devices, gangs",
        group=_RUN,
        module="doctor",
        reads=("doctor",),
        offline=("--print-rbac",),
    ),
    "live": Verb(
        "show who waits and where the room is, full screen",
        group=_RUN,
        module="live",
        reads=("disruption", "elsewhere", "traces", "watched", "namespace", "around"),
    ),
    "serve": Verb(
        "serve metrics, JSON documents and a page over HTTP",
        group=_RUN,
        module="serve",
        reads=("disruption", "elsewhere", "traces", "watched", "namespace", "around"),
    ),
    "snapshot": Verb(
        "write what the commands read to a file, without secrets",
        group=_OFFLINE,
        module="snapshot",
        reads=("recorded",),
        writes=True,
    ),
    "diff": Verb(
        "show which domains, nodes and pods differ in two snapshots",
        group=_OFFLINE,
        module="diff",
        reads=("gangs",),
        words=("file", "file"),
    ),
    "explain": Verb("explain a code from an answer", group=_OFFLINE, module="explain", words=("code",)),
    "version": Verb("show the version of this plugin", group=_OFFLINE, module="version"),
    "completion": Verb(
        "complete kubectl-koord in bash, zsh or fish", group=_OFFLINE, module="completion", words=("target",)
    ),
    "completion bash": Verb("print the script for bash"),
    "completion zsh": Verb("print the script for zsh"),
    "completion fish": Verb("print the script for fish"),
    "completion install": Verb("write the script to the home folder", words=("shell",)),
    "domain": Verb(
        "show the same of a domain of the topology: node does, too",
        module="node",
        reads=("disruption", "moved"),
        words=("domain",),
    ),
    "scheduler": Verb(
        "show what the scheduler remembers beside the objects, and read its log",
        module="scheduler",
        words=("target",),
    ),
    "scheduler gangs": Verb(
        "show every gang as the scheduler remembers it",
        reads=("members", "leader"),
    ),
    "scheduler gang": Verb(
        "show one gang as the scheduler remembers it",
        reads=(*_BY_NAME, "leader"),
        words=("gang",),
    ),
    "scheduler node": Verb(
        "show the pods of a node as the scheduler counts them",
        reads=("members", "leader"),
        words=("node",),
    ),
    "scheduler quotas": Verb(
        "show the quotas as the scheduler counts them",
        reads=_ASKS_LEADER,
        words=("quota",),
        repeats=True,
    ),
    "scheduler devices": Verb(
        "show the devices as the scheduler's books say",
        reads=_ASKS_LEADER,
        words=("node",),
    ),
    "scheduler numa": Verb(
        "show who has bound which CPUs of a node",
        reads=_ASKS_LEADER,
        words=("node",),
    ),
    "scheduler reservations": Verb(
        "show the Reservations on a node, and who draws on them",
        reads=_ASKS_LEADER,
        words=("node",),
    ),
    "scheduler services": Verb("show which paths the scheduler answers", reads=_ASKS_LEADER),
    "scheduler scores": Verb("show out of a log how nodes scored", words=("pod",)),
    "scheduler filters": Verb("show out of a log which plugin refused a node", words=("pod",)),
    "scheduler diagnosis": Verb("show out of a log what was noted of attempts", words=("pod",)),
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
