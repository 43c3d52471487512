"""What a record shows, as far as it came out the same when it was recorded again.

Two things are read from the scheduler's words: whether a plan failed on execution, and which cause they decide.
"""

import json
import re
from collections.abc import Collection, Iterator

from kubectl_koord.engine.gangs import GangSubject, PodSubject, Subject
from tests.conformance.cases import Json

PLAN_FAILS = "plan-not-executable"
PREDICTABLE = ("1.7",)
"""Versions in which a gang whose plan fails stays pending; in the others it may end up anywhere."""

_SLOTS = re.compile(r"topology topologyNode ([^/;]*)/([^;:]*): (\d+)")
_QUOTED = re.compile(r'is unschedulable with reason "((?:[^"\\]|\\.)*)"')
_PREEMPTION = re.compile(r"(?:^|[\s,])preemption: ")

_POST_FILTER = r"plan become invalid|0/\d+ nodes are available: \d+ (?:no potential victims|Preemption is not helpful)"
_IN_PERMIT = re.compile(
    r"^(?:0/1 nodes are available: 1 )?"
    rf"(?:{_POST_FILTER}|preempt success|Gang \"|all pending pods|rejected due to timeout)"
)
"""What a member is told that waited in Permit: not its own failure."""

_PLAN_FAILED = re.compile(
    # The member that does not fit on its seat: all other nodes are left out by the plan.
    r"didn't satisfy plugin\(s\) \[(?:\]|[^\]]*Coscheduling)"
    # Members that waited in Permit: thrown out with what preemption said for that one seat.
    rf"|^(?:0/1 nodes are available: 1 )?(?:{_POST_FILTER})"
    # Members that were let in, and another one that failed to reserve its seat.
    r"|gets rejected due to Pod \"[^\"]*\" in Unreserve"
)
_SEAT = re.compile(r"^0/\d+ nodes are available: 1 (?!0/|no potential|plan become|Preemption)")
_PREEMPTOR = re.compile(r"preemptor: (\S+), triggerPod: ")
_UNNAMED = "preempting to accommodate a higher priority pod"
_COUNTED = re.compile(r"^0/\d+ nodes are available: 1 Insufficient [^\s,]+?(?:[,.]|$)")
_CAUSES: tuple[tuple[re.Pattern[str], frozenset[str]], ...] = tuple(
    (re.compile(pattern), frozenset(codes.split()))
    for pattern, codes in (
        (r'persistentvolume(?:claim)? "[^"]*" (?:not found|is being deleted)', "volumes-unbound"),
        (r"pod has unbound immediate PersistentVolumeClaims", "volumes-unbound"),
        (r"waiting for ephemeral volume controller|was not created for pod", "volumes-unbound"),
        (r"no reservations match reservation affinity", "no-matching-reservation"),
        (r"nodes are available: invalid (?:resource unit|resource device requests|Device)", "invalid-request"),
        (r"nodes are available: the requested CPUs must be integer", "invalid-request"),
        (r"the requested CPUs must be integer", "invalid-request no-feasible-node never-fits"),
        (r"cannot allocate all claims|device class \S* does not exist", "claims-unallocated"),
        (r"resourceclaim not available on the node", "claims-unallocated no-feasible-node never-fits"),
        (r"Insufficient (?:non-preemptible )?quotas", "quota"),
        (r"no cluster network topology", "no-topology broken-layer-chain layer-cycle topology-other-name"),
        (r"desiredOfferSlot: \d+, ,", "unknown-layer"),
        (r"podCountMultiple constraints", "multiple-mismatch insufficient-slots never-fits no-feasible-node"),
        (r"desiredOfferSlot", "insufficient-slots never-fits no-feasible-node"),
        (r"^0/\d+ nodes are available: \d+ ", "no-feasible-node insufficient-capacity never-fits"),
    )
)
_SILENT = frozenset(
    (
        "other-scheduler",
        "no-scheduler",
        "being-deleted",
        "scheduling-gated",
        "no-podgroup",
        "gang-not-initialised",
        "too-few-pods",
        "group-member-missing",
        "group-member-too-few-pods",
        "groups-differ",
        "claims-unallocated",
    )
)


def real(record: Json, subject: Subject) -> Json:
    """Return what the scheduler did with those asked about.

    `whole`: all of them were bound in the end. `planFails`: "at once", "after victims" or empty; `byTrigger`: only
    because the plan was made with the eyes of one of several unlike pods. `causes`: the codes of which ours
    must be one, empty where the words leave it open.
    """
    # Nobody watched for longer than a few attempts: a job with victims that is not bound is no "no".
    unstable = set(record.get("unstable") or ())
    rounds = record["rounds"]
    members = {pod.name for pod in subject.pending if _is_tried_with(subject, pod.gang)}
    died = [one["victims"] for one in rounds]
    rounds = [one | {"victims": _of_others_left_out(record, subject, members, one["victims"])} for one in rounds]
    any_victims = any(one["victims"] for one in rounds)
    first = rounds[0] if rounds else {"bound": {}, "victims": {}, "boundOrNominated": {}}
    bound = {name: node for name, node in first["bound"].items() if name in members}
    late = {} if "boundAfter" in unstable else record.get("boundAfter") or {}
    ran = {name for seen in (*(one["bound"] for one in rounds), late) for name, node in seen.items() if node}
    texts = list(root_texts(record, members))
    has_run = members <= ran if _is_each_alone(subject) else bool(ran & members)
    fails = has_topology(subject) and any(map(_PLAN_FAILED.search, texts))
    return {
        "placed": bool(bound) and not first["victims"],
        "runs": True if has_run else (None if any_victims and not ran & members else False),
        "victims": first["victims"],
        "died": died[0] if died else {},
        "later": [one["victims"] for one in rounds[1:] if one["victims"]],
        "whole": members <= ran,
        "watched": any(set(one["bound"]) & members for one in rounds),
        "bound": bound,
        "nominations": {name: node for name, node in first["boundOrNominated"].items() if name in members and node},
        "slots": _slots_seen(record, {pod.name for pod in subject.pending}),
        "planFails": ("after victims" if first["victims"] else "at once") if fails else "",
        "byTrigger": fails and _is_by_trigger(subject, texts),
        "causes": sorted(_causes(record, texts, plan_fails=fails and not first["victims"])),
        "unstable": sorted(unstable),
    }


def _of_others_left_out(record: Json, subject: Subject, members: set[str], victims: Json) -> Json:
    """Return the victims without those whose condition names another job as the one that preempted them.

    ElasticQuota names none: its victims are another's where no member was ever nominated, or only others to their node.
    """
    keys = {pod.gang for pod in subject.pending} | {pod.key for pod in subject.pending}
    conditions = record.get("victimConditions") or {}
    texts = {name: (conditions.get(name) or {}).get("message") or "" for name in victims}
    named = {name: _PREEMPTOR.search(text) for name, text in texts.items()}
    own, others = _nominated(record, members), _nominated(record, record["firstStates"].keys() - members)
    unnamed = {
        name
        for name, node in victims.items()
        if _UNNAMED in texts[name] and (not own or (node not in own and node in others and "allStates" in record))
    }
    return {
        name: node
        for name, node in victims.items()
        if name not in unnamed | members and (not (by := named[name]) or not keys.isdisjoint(by[1].split(",")))
    }


def _nominated(record: Json, pods: Collection[str]) -> set[str]:
    """Return the nodes to which some of these pods were seen nominated."""
    states = record.get("allStates") or record["firstStates"]
    seen = [state.get("nominated") for name in pods for state in states.get(name, ())]
    return {
        node
        for node in (*seen, *(one["boundOrNominated"].get(name) for one in record["rounds"] for name in pods))
        if node
    }


def has_topology(subject: Subject) -> bool:
    """Tell whether the scheduler plans seats for them."""
    return any(spec is not None for spec in subject.specs)


def _is_by_trigger(subject: Subject, texts: list[str]) -> bool:
    # What the nodes' amounts allow is counted in every plan: it can only be wrong for pods unlike the trigger.
    refused = [text for text in texts if _SEAT.search(text)]
    are_unlike = len({pod.requirements for pod in subject.pending}) > 1
    return are_unlike and bool(refused) and all(map(_COUNTED.search, refused))


def _is_each_alone(subject: Subject) -> bool:
    """Tell whether pods are tried each for itself: then some may run, and others not."""
    return isinstance(subject, GangSubject) and subject.group.is_satisfied()


def _is_tried_with(subject: Subject, gang: str) -> bool:
    """Tell whether a gang names the same group as the one asked for: else it goes its own way."""
    if isinstance(subject, PodSubject):
        return True
    asked, other = subject.group.gangs.get(subject.group.own.key), subject.group.gangs.get(gang)
    return asked is not None and other is not None and asked.group == other.group


def messages(record: Json) -> Iterator[tuple[str, str]]:
    """Yield the pod and the text of each of the first conditions."""
    for pod, states in record["firstStates"].items():
        for state in states:
            text = (state.get("scheduled") or {}).get("message", "")
            if text:
                yield pod, text


def root_texts(record: Json, members: set[str]) -> Iterator[str]:
    """Yield each condition without what preemption added; of one that quotes another member, the quoted text."""
    for pod, text in messages(record):
        if pod in members:
            while quoted := _QUOTED.search(text):
                text = str(json.loads(f'"{quoted[1]}"'))  # noqa: PLW2901 - quotes hold quotes
            yield _PREEMPTION.split(text, maxsplit=1)[0].strip()


def _causes(record: Json, texts: list[str], *, plan_fails: bool) -> frozenset[str]:
    if plan_fails:
        return frozenset({PLAN_FAILS})
    if not any(states for states in record["firstStates"].values()):
        return _SILENT if record["silent"] else frozenset()
    own = [text for text in texts if not _IN_PERMIT.search(text)]
    decided = [next((codes for pattern, codes in _CAUSES if pattern.search(text)), None) for text in own]
    return frozenset().union(*(codes or () for codes in decided)) if None not in decided else frozenset()


def _slots_seen(record: Json, pods: set[str]) -> list[dict[str, int]]:
    """Return the slot tables in the first conditions of these pods, each once; those of plans for a part left out."""
    seen: list[dict[str, int]] = []
    for pod, message in messages(record):
        head = message.partition(" preemption:")[0]
        if pod not in pods or f"desiredOfferSlot: {len(pods)}," not in head:
            continue
        table = {f"{layer}/{name}": int(slots) for layer, name, slots in _SLOTS.findall(head)}
        if table and table not in seen:
            seen.append(table)
    return seen
