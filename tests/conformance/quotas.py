"""How our arithmetic of quotas compares with the scheduler's: what it said of a refusal, and its own summary.

Of the summary `used` and `request` are compared for every quota, the runtime only for the quotas of those who were
tried, and above them: the scheduler refreshes no others at once. It is from before the pods were bound, or after.
"""

import re
from collections.abc import Iterator

from kubectl_koord.cluster.objects.pool import limits
from kubectl_koord.engine.gangs import PodSubject, Subject
from kubectl_koord.engine.quota.state import QuotaState, quota_state
from kubectl_koord.engine.reasons import QuotaExceeded
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.state import of
from kubectl_koord.model.quotas import BUILT_IN
from kubectl_koord.model.snapshot import Snapshot
from tests.conformance.cases import Json
from tests.conformance.records import root_texts

_REFUSED = re.compile(
    r"Insufficient (?:non-preemptible )?quotas, quotaName(?:Topo)?: (.*?), (runtime|min): (\S+),"
    r" (?:used|nonPreemptibleUsed): (\S+), pod's request: (\S+), exceedDimensions: \[([^\]]*)\]"
)


def quotas_differ(snapshot: Snapshot, subject: Subject, record: Json) -> list[str]:
    """Return what of our arithmetic differs from the record: `quota refusal`, `used of Q`, `request of Q`, ..."""
    if not snapshot.quotas:
        return []
    state = quota_state(of(snapshot), rules(snapshot.config.version))
    found = _refusal_differs(state, subject, record) if isinstance(subject, PodSubject) else []
    if any(one["victims"] for one in record["rounds"]):
        return found
    return [*found, *_summary_differs(state, subject, record)]


def _refusal_differs(state: QuotaState, subject: Subject, record: Json) -> list[str]:
    (pod,) = subject.pending
    ours = state.refusal(pod)
    said = [match for text in root_texts(record, {pod.name}) if (match := _REFUSED.search(text))]
    if ours is None or not said:
        return ["quota refusal"] if (ours is None) != (not said) else []
    return [] if _as_said(ours) == _said(said[0]) else ["quota refusal"]


def _as_said(ours: QuotaExceeded) -> list[object]:
    return [ours.path, ours.kind, *map(_above_zero, map(dict, (ours.limit, ours.used, ours.requested))), set(ours.over)]


def _said(match: re.Match[str]) -> list[object]:
    path, kind, *amounts, over = match.groups()
    numbers = [
        _above_zero(dict(limits({name: amount for pair in text.split(",") for name, amount in [pair.split(":")]})))
        if text != "<empty>"
        else {}
        for text in amounts
    ]
    return [tuple(path.strip("[]").split()), kind, *numbers, set(over.split())]


def _above_zero(amounts: dict[str, int]) -> dict[str, int]:
    return {resource: amount for resource, amount in amounts.items() if amount}


def _summary_differs(state: QuotaState, subject: Subject, record: Json) -> Iterator[str]:
    bound = {name for one in record["rounds"] for name, node in one["bound"].items() if node}
    after = state
    for pod in subject.pending:
        after = after.after(pod) if pod.name in bound else after
    tree = state.tree
    tried = {quota.name for pod in subject.pending for quota in tree.chain(tree.name_of(pod))}
    for name, summary in (record.get("quotasEndpoint") or {}).items():
        theirs = {field: _above_zero(dict(limits(summary[field] or {}))) for field in _FIELDS}
        ours = {"used": after.used(name), "request": state.request(name), "nonPreemptibleUsed": after.fixed(name)}
        for field, amounts in ours.items():
            if _above_zero(dict(amounts)) != theirs[field]:
                yield f"{field} of {name}"
        possible = [_above_zero(dict(one.runtime(name))) for one in (state, after)]
        if name in tried - BUILT_IN and theirs["runtime"] not in possible:
            yield f"runtime of {name}"


_FIELDS = ("used", "request", "nonPreemptibleUsed", "runtime")
