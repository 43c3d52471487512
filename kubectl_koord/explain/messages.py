"""The scheduler's own words, read: what a condition or event of a gang's pod says, of 1.7, 1.8 and main.

The shapes are those of kube-scheduler's FitError around Koordinator's texts; nesting is followed.
What is not understood stays as text, it is never guessed.
"""

import json
import re
from collections.abc import Iterator

from msgspec import Struct

_DEEPEST = 4
_NODES = re.compile(r"0/(\d+) nodes are available:\s*")
_QUOTED = r'"((?:[^"\\]|\\.)*)"'
_REJECTED = re.compile(
    f"GangGroup {_QUOTED} gets rejected due to member Pod {_QUOTED} is unschedulable with reason {_QUOTED},"
    r" alreadyWaitForBound: (\d+)"
)
_PREEMPTION = re.compile(r"(?:^|[\s,])preemption: ")
_TOPOLOGY = re.compile(
    r"no candidate topology nodes can accommodate job, desiredOfferSlot: (\d+), (.*?)"
    r"(?:, (0/\d+ nodes are available:.*?))?(?:; podCountMultiple constraints: (.*?))?$",
    re.DOTALL,
)
_DOMAIN = re.compile(r"topology topologyNode ([^/;]*)/([^;:]*): (\d+)")
_BEST = re.compile(r"max offer slot among (\d+) must-gather topology nodes: (\d+)")
_MULTIPLE = re.compile(r"([^=,\s]+)=(\d+)")
_ITEM = re.compile(r"(\d+) (.*)", re.DOTALL)
_ITEM_BORDER = re.compile(r", (?=\d+ )")
_QUOTA = re.compile(r"Insufficient (?:non-preemptible )?quotas, quotaName(?:Topo)?: (.+?), (?:runtime|min):")
_QUOTA_PARTS = {
    "limit": re.compile(r", (?:runtime|min): (.*?), (?:used|nonPreemptibleUsed): "),
    "used": re.compile(r", (?:used|nonPreemptibleUsed): (.*?), pod's request: "),
    "request": re.compile(r", pod's request: (.*?), exceedDimensions: "),
    "resources": re.compile(r", exceedDimensions: \[([^\]]*)\]"),
}
_ATTEMPTED = re.compile(r"preemption already attempted by (\S+) with message (.*)", re.DOTALL)


class DomainSlots(Struct, frozen=True):
    """The slots that the scheduler counted for one domain."""

    layer: str
    name: str
    slots: int


class TopologyWords(Struct, frozen=True):
    """The text of a failed plan.

    `domains` is empty for a layer that does not exist, and where only the best is told: then
    `best` holds how many domains there are and the most slots of any (koordinator#3191).
    """

    desired: int
    domains: tuple[DomainSlots, ...]
    best: tuple[int, int] | None
    multiples: tuple[tuple[str, int], ...]
    nodes: "Words | None"


class Rejection(Struct, frozen=True):
    """A member quoting another: the group, the pod that failed, its words, how many waited."""

    group: str
    pod: str
    words: "Words"
    waiting: int


class Words(Struct, frozen=True):
    """One message, taken apart.

    nodes: the number in `0/N nodes are available`, None without.
    counts: `(number, reason)` by node; topology, rejected, quota: what else it says.
    preemption: what follows `preemption:`, one entry per plugin.
    text: what was not understood, as it is.
    """

    nodes: int | None = None
    counts: tuple[tuple[int, str], ...] = ()
    topology: TopologyWords | None = None
    rejected: Rejection | None = None
    quota: str = ""
    preemption: tuple[str, ...] = ()
    text: str = ""

    @property
    def is_quote(self) -> bool:
        """Whether it only quotes another member's failure."""
        return self.rejected is not None

    @property
    def slots(self) -> TopologyWords | None:
        """Return the slot table, also where it is quoted from another member."""
        return self.topology or (self.rejected.words.slots if self.rejected else None)

    @property
    def has_preempted(self) -> bool:
        """Whether a preemption has succeeded: victims were just deleted."""
        return any("preempt success" in fragment for fragment in (*self.preemption, self.text))


def read(message: str, depth: int = _DEEPEST) -> Words:
    """Return what a message says; nested messages are read down to a few levels."""
    text = message.strip()
    rejected = _REJECTED.search(text)
    head = text[: rejected.end()] if rejected else _PREEMPTION.split(text, maxsplit=1)[0]
    fragments = tuple(_trimmed(part) for part in _PREEMPTION.split(text[len(head) :]) if _trimmed(part))
    prefix = _NODES.match(head)
    nodes = int(prefix[1]) if prefix else None
    body = head[prefix.end() :] if prefix else head
    if rejected and depth:
        words = read(_unquoted(rejected[3]), depth - 1)
        found = Rejection(_unquoted(rejected[1]), _unquoted(rejected[2]), words, int(rejected[4]))
        return Words(nodes=nodes, rejected=found, preemption=fragments)
    return _plain(nodes, _trimmed(body), fragments, depth)


def _plain(nodes: int | None, body: str, fragments: tuple[str, ...], depth: int) -> Words:
    topology = _TOPOLOGY.search(body)
    if topology:
        return Words(nodes=nodes, topology=_topology(topology, depth), preemption=fragments)
    quota = _QUOTA.search(body)
    if quota:
        return Words(nodes=nodes, quota=quota[1], preemption=fragments, text=body)
    counts = tuple(_counted(body)) if nodes is not None else ()
    return Words(nodes=nodes, counts=counts, preemption=fragments, text="" if counts else body)


def _topology(match: re.Match[str], depth: int) -> TopologyWords:
    listed, nested, multiples = match[2], match[3], match[4] or ""
    best = _BEST.search(listed)
    return TopologyWords(
        desired=int(match[1]),
        domains=tuple(DomainSlots(layer, name, int(slots)) for layer, name, slots in _DOMAIN.findall(listed)),
        best=(int(best[1]), int(best[2])) if best else None,
        multiples=tuple((layer, int(number)) for layer, number in _MULTIPLE.findall(multiples)),
        nodes=read(nested, depth - 1) if nested and depth else None,
    )


def _counted(body: str) -> Iterator[tuple[int, str]]:
    """Yield the items of a histogram; nothing when any part is no `number reason`."""
    items = [item for part in _ITEM_BORDER.split(body) if (item := _ITEM.fullmatch(part)) is not None]
    if len(items) == len(_ITEM_BORDER.split(body)):
        yield from ((int(item[1]), item[2]) for item in items)


def _unquoted(written: str) -> str:
    r"""Return a Go-quoted string as it was; `\x..` and `\a` have no JSON form and are turned into one."""
    portable = re.sub(r"\\x([0-9a-fA-F]{2})", r"\\u00\1", written).replace("\\a", "\\u0007").replace("\\v", "\\u000b")
    try:
        found = json.loads(f'"{portable}"', strict=False)
    except ValueError:
        return written
    return str(found)


def _trimmed(part: str) -> str:
    return part.strip().strip(",").rstrip(". ").strip()


def attempted_by(fragment: str) -> tuple[str, str] | None:
    """Return who tried to preempt before, and with what outcome; None for other fragments."""
    match = _ATTEMPTED.match(fragment)
    return (match[1], _trimmed(match[2])) if match else None


class QuotaWords(Struct, frozen=True):
    """A quota's refusal: the quota (or the path to the parent that is full), the resources that are over.

    `limit` is the quota's runtime, or its min for pods that may not be preempted; lists as written,
    such as `cpu:4,memory:8Gi`.
    """

    quota: str
    resources: tuple[str, ...]
    limit: str
    used: str
    request: str


def refused_by_quota(words: Words) -> QuotaWords | None:
    """Return the refusal of an elastic quota in a message, also where it is quoted; None for other messages.

    Mirrors the texts of `PreFilter` in plugins/elasticquota/plugin.go.
    """
    if words.rejected is not None:
        return refused_by_quota(words.rejected.words)
    if not words.quota:
        return None
    parts = {name: match[1] for name, form in _QUOTA_PARTS.items() if (match := form.search(words.text))}
    return QuotaWords(
        quota=words.quota,
        resources=tuple(parts.get("resources", "").split()),
        limit=parts.get("limit", ""),
        used=parts.get("used", ""),
        request=parts.get("request", ""),
    )
