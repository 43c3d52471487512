"""What a verb is. Nothing is imported here, as little as by the rows in `verbs`."""

TYPE_CHECKING = False  # as typing has it: importing that takes longer than all of this

if TYPE_CHECKING:
    from collections.abc import Mapping


class Verb:
    """One verb, or one that stands behind another, such as `annotate pods`.

    `about` is a line of help. `module` in `cli.commands` holds `command`, or `app` where more verbs stand behind it.
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
