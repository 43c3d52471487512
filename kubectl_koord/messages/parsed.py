"""What a message of the scheduler says, taken apart: values without any reading."""

from msgspec import Struct

from kubectl_koord.messages.phrases import Phrase

_NO_PREEMPTION = {"no potential victims", "Preemption is not helpful for scheduling"}


class DomainSlots(Struct, frozen=True):
    """The slots that the scheduler counted for one domain."""

    layer: str
    name: str
    slots: int


class TopologyMessage(Struct, frozen=True):
    """The text of a failed plan (coscheduling/core/network_topology_solver.go).

    `domains` is empty for a layer that does not exist, and where only the best is stated: then
    `best` holds how many domains there are and the most slots of any (koordinator#3191).
    `nodes` is the nested histogram; `text` what of the list could not be read, such as its cut end.
    """

    desired: int
    domains: tuple[DomainSlots, ...] = ()
    best: tuple[int, int] | None = None
    multiples: tuple[tuple[str, int], ...] = ()
    nodes: "ParsedMessage | None" = None
    text: str = ""


class Rejection(Struct, frozen=True):
    """A member quoting another: the group, the pod that failed, its words, how many waited (None: not stated)."""

    group: str
    pod: str
    words: "ParsedMessage"
    waiting: int | None


class QuotaMessage(Struct, frozen=True):
    """ElasticQuota's refusal (elasticquota/plugin_helper.go): amounts are spelled as in the text.

    names: the quota, or the path to the parent that refused; limit: `runtime`, or `min` for pods
    that may not be preempted; exceeded: the resources of which there is not enough.
    """

    names: tuple[str, ...]
    limit: str
    allowed: tuple[tuple[str, str], ...]
    used: tuple[tuple[str, str], ...]
    request: tuple[tuple[str, str], ...]
    exceeded: tuple[str, ...]


class Fragment(Struct, frozen=True):
    """What one plugin says after `preemption:`; `by` is set where it repeats another member's attempt."""

    words: "ParsedMessage"
    by: str = ""


class Suggestion(Struct, frozen=True):
    """What main may append: a type such as `WaitingVictimReleased`, and a sentence."""

    type: str
    message: str


class ParsedMessage(Struct, frozen=True):
    """One message, taken apart.

    nodes: the number in `0/N nodes are available`, None without.
    counts: `(number, reason)` by node, and by reservation, which may follow a phrase or quota. Of
    phrase, topology, rejected, quota and permit (the text of a pod that waited in Permit, where
    that is a message itself) at most one is set.
    preemption: what follows `preemption:`, one entry per plugin.
    text: what was not understood, as it is. cut: whether the end is missing, as in long events.
    """

    nodes: int | None = None
    counts: tuple[tuple[int, str], ...] = ()
    phrase: Phrase | None = None
    topology: TopologyMessage | None = None
    rejected: Rejection | None = None
    quota: QuotaMessage | None = None
    permit: "ParsedMessage | None" = None
    preemption: tuple[Fragment, ...] = ()
    suggestion: Suggestion | None = None
    text: str = ""
    cut: bool = False

    @property
    def is_quote(self) -> bool:
        """Whether it only quotes another member's failure."""
        return self.rejected is not None

    @property
    def is_failed_preemption(self) -> bool:
        """Whether its counts are those of a preemption that failed."""
        return any(reason in _NO_PREEMPTION for _, reason in self.counts)

    @property
    def root(self) -> "ParsedMessage":
        """The innermost words: those of the pod whose failure all others quote."""
        inner = self.rejected.words if self.rejected else self.permit
        return inner.root if inner is not None else self

    @property
    def slots(self) -> TopologyMessage | None:
        """Return the slot table, also where it is quoted from another member."""
        return self.root.topology

    @property
    def has_preempted(self) -> bool:
        """Whether a preemption has succeeded: victims were just deleted."""
        phrases = [self.phrase, *(fragment.words.phrase for fragment in self.preemption)]
        return any(one is not None and one.code == "preempt-success" for one in phrases)

    @property
    def is_of_old_scheduler(self) -> bool:
        """Whether only schedulers older than 1.7 say so."""
        return self.root.phrase is not None and self.root.phrase.is_old
