"""The scheduler's own messages, parsed: conditions and events of a gang's pods, of 1.7, 1.8 and main."""

import re
from collections.abc import Mapping
from functools import lru_cache

from msgspec import Struct, structs

_NAME = r'(?:[^"\\]|\\.)*'
_OLD = "before-1.7-"


class Phrase(Struct, frozen=True):
    """A sentence that was recognised: its code, and the names and numbers in it."""

    code: str
    about: tuple[tuple[str, str], ...] = ()

    @property
    def is_old(self) -> bool:
        """Whether only schedulers older than 1.7 say so."""
        return self.code.startswith(_OLD)

    @property
    def names(self) -> Mapping[str, str]:
        """What the sentence names, by what it is: `gang`, `pod`, `reason`, ..."""
        return dict(self.about)


# Rows of coscheduling/core/core.go and gang.go (gang-*, group-*, member-*), batch scheduling, job preemption,
# Permit (kube-scheduler's waiting pods among them), binding, quota hooks, what DeviceShare refuses before any node.
_PHRASES = (
    ("gang-unknown", r"can't find gang, gangName: (?P<gang>\S+), podName: (?P<pod>\S+)"),
    ("gang-not-initialised", r"gang has not init, gangName: (?P<gang>\S+), podName: (?P<pod>\S+)"),
    ("gang-gone", r"Gang not found|gang is nil, may be already deleted"),
    (
        "group-incomplete",
        (
            r"gangGroup (?P<group>\[[^\]]*\]|\S+) basic check: (?P<reason>.*), current gang: (?P<gang>[^,]+),"
            r" podName: (?P<pod>\S+)"
        ),
    ),
    ("group-in-round", r"gangGroup (?P<group>\S+) is scheduling and this pod has not been attempted"),
    ("group-attempted", r"all pending pods is already been attempted"),
    ("member-represents", r"representative pod (?P<pod>\S+) of gangGroupID (?P<group>\S+) already exists"),
    ("member-not-known", r"pod (?P<pod>\S+) is not exists in gangCache"),
    ("member-unreserved", rf'Gang "(?P<gang>{_NAME})" gets rejected due to Pod "(?P<pod>{_NAME})" in Unreserve'),
    ("no-topology", r"no cluster network topology"),
    ("no-pending-pods", r"no pending pods"),
    ("plan-invalid", r"plan become invalid, wait for the next round"),
    (
        "batch-failed",
        (
            r"job failed due to job batch schedule failed, assumed (?P<assumed>\d+) pods, failed (?P<failed>\d+) pods,"
            r" first failed pod (?P<pod>[^\s@]+)@(?P<node>\S+) failed due to (?P<reason>.*)"
        ),
    ),
    (
        "batch-waits",
        r"inline batch permit did not complete: (?P<pods>\d+) pods are still waiting after all pods were permitted",
    ),
    ("batch-not-permitted", r"permit failed for pod (?P<pod>[^\s@]+)@(?P<node>[^\s:]+): (?P<reason>.*)"),
    ("permit-timeout", r"rejected due to timeout after waiting (?P<waited>\S+) at plugin (?P<plugin>\S+)"),
    ("preempted", r"preempted"),
    ("preempt-success", r"preempt success, alreadyWaitingForBound: (?P<waiting>\d+)/(?P<members>\d+)"),
    ("preempts-never", r"not eligible due to preemptionPolicy=Never"),
    ("victims-terminate", r"not eligible due to (?:a )?terminating pod on the nominated node"),
    ("quota-hook", r"CheckPod failed for hook plugin (?P<plugin>[^,]+), err: (?P<reason>.*)"),
    ("no-reservation", r"node\(s\) no reservations match reservation affinity"),
    ("other-scheduler", r"schedulerName unmatched"),
    ("being-deleted", r"pod is being deleted"),
    ("plugin-failed", rf'running (?P<point>\w+) plugin "(?P<plugin>{_NAME})": (?P<reason>.*)'),
    ("filter-failed", rf'running "(?P<plugin>{_NAME})" filter plugin: (?P<reason>.*)'),
    ("device-amount-invalid", r"invalid resource unit (?P<resource>\S+): (?P<amount>\S+)"),
    ("device-set-invalid", r"invalid resource device requests: \[(?P<resources>[^\]]*)\]"),
    (
        "device-annotation-unreadable",
        (
            r"invalid (?P<annotation>DeviceAllocateHint|DeviceJointAllocate|GPUPartitionSpec) annotation,"
            r" err: (?P<reason>.*)"
        ),
    ),
    (
        "device-selector-invalid",
        r"invalid (?P<selector>VFSelector|Selector) of DeviceHint, deviceType: (?P<type>[^,]*), err: (?P<reason>.*)",
    ),
    ("device-template-missing", r"no matched GPU shared resource template"),
    ("cpus-not-integer", r"the requested CPUs must be integer"),
    ("claim-unbound", r"pod has unbound immediate PersistentVolumeClaims"),
    ("claim-missing", r'persistentvolumeclaim "(?P<claim>[^"]+)" not found'),
    ("claim-deleted", r'persistentvolumeclaim "(?P<claim>[^"]+)" is being deleted'),
    ("claim-of-other", r"PVC (?P<claim>\S+) was not created for pod \S+ \(pod is not owner\)"),
    (
        "claim-awaited",
        r'waiting for ephemeral volume controller to create the persistentvolumeclaim "(?P<claim>[^"]+)"',
    ),
    (
        "volume-missing",
        (
            r'(?:persistentvolumeclaim "(?P<claim>[^"]+)" bound to non-existent persistentvolume|persistentvolume)'
            r' "(?P<volume>[^"]+)"(?: not found)?'
        ),
    ),
    ("device-class-missing", r"request (?P<request>\S+): device class (?P<class>\S+) does not exist"),
    (f"{_OLD}too-few-pods", r"gang child pod not collect enough, (?P<reason>.*)"),
    (f"{_OLD}cycle", r"gang scheduleCycle not valid, (?P<reason>.*)"),
    (
        f"{_OLD}rejected",
        (
            rf'Gang "(?P<gang>{_NAME})" gets rejected due to member Pod "(?P<pod>{_NAME})" is unschedulable'
            rf' with reason "(?P<reason>{_NAME})"'
        ),
    ),
)
_COMPILED = tuple((code, re.compile(pattern, re.DOTALL)) for code, pattern in _PHRASES)


def phrase(text: str) -> Phrase | None:
    """Return the sentence that the whole text is, None where it is none of those known."""
    for code, pattern in _COMPILED:
        match = pattern.fullmatch(text)
        if match:
            return Phrase(code, tuple((name, value) for name, value in match.groupdict().items() if value is not None))
    return None


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


_DEEPEST = 4
_MOST_TEXTS = 128
"""Size of the cache of parsed texts: most pods wait for what others wait for."""
_OF_NODES_TOO = {"no-reservation", "cpus-not-integer"}  # what is said before any node, and behind a number by nodes
_CUT = " ..."
_NUMBER = r"\d{1,18}"  # what a scheduler counts has fewer digits; whatever has more stays text
_NODES = re.compile(rf"0/({_NUMBER}) nodes are available:\s*")
_QUOTED = r'"((?:[^"\\]|\\.)*)"'
_GROUP = rf"(?:\d+ )?GangGroup {_QUOTED} gets rejected due to member Pod {_QUOTED} is unschedulable with reason "
_REJECTED = re.compile(rf"{_GROUP}{_QUOTED}, alreadyWaitForBound: ({_NUMBER})(?!\d)")
_REJECTED_CUT = re.compile(rf'{_GROUP}"((?:[^"\\]|\\.)*)(?:"(?:, [a-zA-Z]*:? ?\d*)?|\\)?')
_PREEMPTION = re.compile(r"(?:^|[\s,])preemption: ")
_SUGGESTION = re.compile(r"Suggestion: \{type: (\w*), message: (.*)\}", re.DOTALL)
_PLAN = re.compile(
    rf"(?:\d+ )?no candidate topology nodes can accommodate job, desiredOfferSlot: ({_NUMBER})(?:,\s*|$)", re.DOTALL
)
_FIT = re.compile(r"(?:^|, )(?=0/\d+ nodes are available:)")
_SUGGESTED = "Suggestion: {type: "
_MULTIPLES = "; podCountMultiple constraints: "
_DOMAIN = re.compile(rf"topology topologyNode ([^/;]*)/([^;:]*): ({_NUMBER})")
_BEST = re.compile(rf"max offer slot among ({_NUMBER}) must-gather topology nodes: ({_NUMBER})")
_MULTIPLE = re.compile(rf"([^=,\s]+)=({_NUMBER})")
_ITEM = re.compile(rf"({_NUMBER}) (.*)", re.DOTALL)
_ITEM_BORDER = re.compile(r"[,.] (?=\d+ )")
_QUOTA = re.compile(
    r"(?:\d+ )?Insufficient (?:non-preemptible )?quotas, quotaName(?:Topo)?: (\[[^\]]*\]|[^,]*), (runtime|min): (\S*),"
    r" (?:used|nonPreemptibleUsed): (\S*), pod's request: (\S*), exceedDimensions: \[([^\]]*)\]"
)
_OF_RESERVATIONS = re.compile(r"\. (?=\d+ Reservation\(s\) )")
_AMOUNT = re.compile(r"([^:,]+):([^:,]+)")
_ATTEMPTED = re.compile(r"preemption already attempted by (\S+) with message ")
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\", '"': '"'}
_LAST_CHARACTER = 0x10FFFF
_MISSING = re.compile(r"%!([a-zA-Z])\(MISSING\)")


@lru_cache(_MOST_TEXTS)
def read(message: str, depth: int = _DEEPEST) -> ParsedMessage:
    """Return what a message says; nested messages are read down to a few levels. Never raises."""
    text = _MISSING.sub(r"%\1", message.strip())  # 1.7 runs it through a format function
    is_cut = text.endswith(_CUT)
    return _read(text.removesuffix(_CUT) if is_cut else text, depth, is_cut=is_cut)


def _read(text: str, depth: int, *, is_cut: bool) -> ParsedMessage:
    prefix = _NODES.match(text)
    found = _behind_prefix(
        text[prefix.end() :] if prefix else text, depth, has_prefix=prefix is not None, is_cut=is_cut
    )
    return structs.replace(found, nodes=int(prefix[1])) if prefix else found


def _behind_prefix(text: str, depth: int, *, has_prefix: bool, is_cut: bool) -> ParsedMessage:
    """Return the words behind the prefix: first what it is about, then what preemption came to."""
    rejected, end = _rejection(text, depth, is_cut=is_cut) if depth else (None, 0)
    marker = _PREEMPTION.search(text, end)
    head, tail = (text[end : marker.start()], text[marker.end() :]) if marker else (text[end:], "")
    after, suggestion = _suggestion(tail if marker else head)
    head, tail = (head, after) if marker else (after, "")
    fragments = tuple(_fragments(tail, depth, is_cut=is_cut)) if marker else ()
    if rejected is not None:
        body = ParsedMessage(rejected=rejected, text=_trimmed(head))
    else:
        body = _body(_trimmed(head), depth, has_prefix=has_prefix, is_cut=is_cut and not marker and not suggestion)
    return structs.replace(body, preemption=fragments, suggestion=suggestion, cut=is_cut)


def _rejection(text: str, depth: int, *, is_cut: bool) -> tuple[Rejection | None, int]:
    """Return the quotation that the text begins with, and where it ends.

    Mirrors the text of BeforePreFilter in coscheduling/core/core.go; what has no `alreadyWaitForBound`
    is of a scheduler before 1.7.
    """
    whole = _REJECTED.match(text)
    if whole:
        words = _read(_unquoted(whole[3]), depth - 1, is_cut=False)
        waiting = None if is_cut and whole.end() == len(text) else int(whole[4])
        return Rejection(_unquoted(whole[1]), _unquoted(whole[2]), words, waiting), whole.end()
    part = _REJECTED_CUT.fullmatch(text) if is_cut else None
    if part:
        words = _read(_unquoted(part[3]), depth - 1, is_cut=True)
        return Rejection(_unquoted(part[1]), _unquoted(part[2]), words, None), part.end()
    return None, 0


def _suggestion(text: str) -> tuple[str, Suggestion | None]:
    """Return the text without the suggestion at its end, and the suggestion."""
    start = text.rfind(_SUGGESTED)
    match = _SUGGESTION.fullmatch(text[start:].rstrip(". ")) if start >= 0 else None
    return (text[:start], Suggestion(match[1], match[2])) if match else (text, None)


def _fragments(text: str, depth: int, *, is_cut: bool) -> list[Fragment]:
    parts = _PREEMPTION.split(text)
    found = []
    for index, part in enumerate(parts):
        repeated = _ATTEMPTED.match(part)
        inner = part[repeated.end() :] if repeated else part
        words = (
            _read(_trimmed(inner), depth - 1, is_cut=is_cut and index == len(parts) - 1)
            if depth
            else ParsedMessage(text=inner)
        )
        found.append(Fragment(words, repeated[1] if repeated else ""))
    return found


def _body(body: str, depth: int, *, has_prefix: bool, is_cut: bool) -> ParsedMessage:
    plan = _PLAN.match(body)
    if plan and not (is_cut and plan.end() == len(body)):
        return ParsedMessage(topology=_topology(int(plan[1]), body[plan.end() :], depth, is_cut=is_cut))
    # What PreFilter refuses may be followed by what plugin Reservation counts in PostFilter.
    front, *behind = _OF_RESERVATIONS.split(body, 1)
    counted = _histogram(behind[0], is_cut=is_cut) if behind else ParsedMessage()
    quota = _QUOTA.fullmatch(front)
    if quota:
        return structs.replace(counted, quota=_quota(quota))
    # A pod rejected while it waits in Permit gets the bare text in 1.7, and `1 TEXT` since 1.8.
    one = _ITEM.fullmatch(body) if has_prefix else None
    found = phrase(one[2] if one else front) if behind or not is_cut else None
    if found is not None and (one is None or one[1] == "1" or found.code not in _OF_NODES_TOO):
        return structs.replace(counted, phrase=found)
    if one and _NODES.match(one[2]):
        return ParsedMessage(permit=_nested(one[2], depth, is_cut=is_cut))
    return _histogram(body, is_cut=is_cut) if has_prefix else ParsedMessage(text=body)


def _topology(desired: int, text: str, depth: int, *, is_cut: bool) -> TopologyMessage:
    before, has_multiples, constraints = text.rpartition(_MULTIPLES)
    listed = before if has_multiples else text
    fit = _FIT.search(listed)
    nested = _trimmed(listed[fit.end() :]) if fit else ""
    items = _items(listed[: fit.start()] if fit else listed, ";", is_cut=is_cut and not fit and not has_multiples)
    best = _BEST.fullmatch(items[0]) if len(items) == 1 else None
    domains = [match for item in items if (match := _DOMAIN.fullmatch(item))]
    limits = _items(constraints, ", ", is_cut=is_cut) if has_multiples else []
    multiples = [match for item in limits if (match := _MULTIPLE.fullmatch(item))]
    unread = [item for item in items if not best and not _DOMAIN.fullmatch(item)]
    unread += [item for item in limits if not _MULTIPLE.fullmatch(item)]
    return TopologyMessage(
        desired=desired,
        domains=tuple(DomainSlots(match[1], match[2], int(match[3])) for match in domains),
        best=(int(best[1]), int(best[2])) if best else None,
        multiples=tuple((match[1], int(match[2])) for match in multiples),
        nodes=_nested(nested, depth, is_cut=is_cut and not has_multiples) if nested else None,
        text=";".join(unread),
    )


def _items(listed: str, border: str, *, is_cut: bool) -> list[str]:
    """Return the items of a list; the last one of a list that is cut says that it is: `: 3` may have been `: 35`."""
    items = [item for item in _trimmed(listed).split(border) if item]
    return [*items[:-1], items[-1] + _CUT] if is_cut and items else items


def _nested(text: str, depth: int, *, is_cut: bool) -> ParsedMessage:
    return _read(text, depth - 1, is_cut=is_cut) if depth else ParsedMessage(text=text, cut=is_cut)


def _quota(match: re.Match[str]) -> QuotaMessage:
    return QuotaMessage(
        names=tuple(match[1].strip("[]").split()),
        limit=match[2],
        allowed=_amounts(match[3]),
        used=_amounts(match[4]),
        request=_amounts(match[5]),
        exceeded=tuple(match[6].split()),
    )


def _amounts(listed: str) -> tuple[tuple[str, str], ...]:
    """Return `cpu:1,memory:2Gi` as pairs; `<empty>` has none."""
    return tuple((name, amount) for name, amount in _AMOUNT.findall(listed))


def _histogram(body: str, *, is_cut: bool) -> ParsedMessage:
    """Return the items of a histogram; text where any part is no `number reason`. A cut last item is text."""
    parts = _ITEM_BORDER.split(body)
    rest = parts.pop() if is_cut else ""
    items = [item for part in parts if (item := _ITEM.fullmatch(part)) is not None]
    if len(items) < len(parts) or not items:
        return ParsedMessage(text=body)
    return ParsedMessage(counts=tuple((int(item[1]), item[2]) for item in items), text=rest)


def _unquoted(written: str) -> str:
    """Return what Go's strconv.Quote was given; an escape that Go does not write is left as it is."""
    return _ESCAPE.sub(_unescaped, written)


def _unescaped(match: re.Match[str]) -> str:
    number = match[1] or match[2] or match[3]
    if number is None:
        return _SIMPLE.get(match[4], match[0])
    return chr(int(number, 16)) if int(number, 16) <= _LAST_CHARACTER else match[0]


def _trimmed(part: str) -> str:
    return part.strip().strip(",").rstrip(". ").strip()
