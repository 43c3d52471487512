"""How our answers for one case compare with a record: agree, unknown or wrong, and in which fields."""

from collections.abc import Iterable
from typing import Any

import msgspec

from kubectl_koord.explain.preempt import preempt
from kubectl_koord.explain.topo import topo
from kubectl_koord.explain.why import why
from kubectl_koord.model.snapshot import Snapshot
from tests.conformance.cases import VERSIONS, Case, Json, snapshot_of, subject_of
from tests.conformance.quotas import quotas_differ
from tests.conformance.records import PLAN_FAILS, PREDICTABLE, real


class Result(msgspec.Struct, frozen=True):
    """How one answer compares: its grade, and for wrong ones the fields that differ.

    `agree`, `unknown` or `wrong`; `explained` where it is wrong and the list of known results gives a reason
    for just this case. `full`: the verdict, placement, slots and victims are all there, and right. Which
    nodes one takes that is placed is not compared where it is said to be open.
    """

    case: str
    family: str
    version: str
    grade: str
    full: bool
    with_alternatives: bool
    differing: tuple[str, ...]
    ours: Json
    theirs: Json


def judge(case: Case) -> list[Result]:
    """Return how our answers for one case compare with its records."""
    return [judge_version(case, recorded) for recorded in VERSIONS if recorded in case.records]


def judge_version(case: Case, recorded: str) -> Result:
    """Return how our answers for one case and version compare with the record."""
    version = VERSIONS[recorded]
    snapshot = snapshot_of(case.cluster, version)
    subject = subject_of(snapshot)
    theirs = real(case.records[recorded], subject)
    because = why(snapshot, subject, brief=True)
    plan = preempt(snapshot, subject)
    every = _outcomes(because, plan)
    ours = [with_slots_of_others(one, every, theirs) for one in every]
    nearest = min(ours, key=lambda one: len(differing(one, theirs, version)))
    record = case.records[recorded]
    fields = [*differing(nearest, theirs, version), *_tree_differs(snapshot, record)]
    fields += quotas_differ(snapshot, subject, record)
    is_known = is_decided(nearest, theirs, version)
    alternatives = len(because.alternatives) + len(plan.alternatives) > 0
    grade = "agree" if not fields else "wrong"
    if not is_known and not alternatives:
        grade = "unknown"
    shown = not theirs["slots"] or "slots" in theirs["unstable"] or nearest["slots"] is not None
    placed = nearest["planned"] or not nearest["placed"] or because.desired_offer_slot is None
    full = grade == "agree" and is_known and shown and placed
    report = {"verdicts": [because.verdict, plan.verdict], "outcomes": ours}
    differs = tuple(fields) if grade == "wrong" else ()
    return Result(case.name, case.family, version, grade, full, alternatives, differs, report, theirs)


def is_decided(ours: Json, theirs: Json, version: str) -> bool:
    """Tell whether an answer says all that can be said: where a plan fails, what comes of it is open from 1.8 on."""
    is_open = version not in PREDICTABLE
    if ours["cause"] == PLAN_FAILS and is_open:
        return True
    fails_later = ours["reason"] == PLAN_FAILS or theirs["planFails"] == "after victims"
    asked = ("verdict",) if fails_later and is_open else ("verdict", "preemption")
    return all(ours[field] != "unknown" for field in asked)


def _tree_differs(snapshot: Snapshot, record: Json) -> list[str]:
    recorded = record.get("topologyStatus")
    report = topo(snapshot)
    if any(notice.code == "merged-domains" for notice in report.warnings):
        return []  # the parent is the one of whichever node came first from the scheduler's cache
    ours = [(row.layer, row.name, row.nodes, row.parent.name if row.parent else None) for row in report.domains]
    if recorded is None:
        return []
    theirs = [
        (
            entry["topologyInfo"]["topologyLayer"],
            entry["topologyInfo"]["topologyName"],
            entry.get("nodeNum", 0),
            entry["parentTopologyInfo"]["topologyName"] if entry.get("parentTopologyInfo") else None,
        )
        for entry in recorded
    ]
    return [] if ours == theirs else ["tree"]


def _outcomes(because: Any, plan: Any) -> list[Json]:  # noqa: ANN401
    """Return every outcome that we hold possible, each in the terms of `real`."""
    reasons = because.alternatives or (because,)
    plans = plan.alternatives or (plan,)
    planned = because.desired_offer_slot is not None
    return [_outcome(reason, one, planned=planned) for reason in reasons for one in plans]


def _outcome(reason: Any, plan: Any, *, planned: bool) -> Json:  # noqa: ANN401
    rounds = _as_watched(plan.rounds)
    return {
        "verdict": reason.verdict,
        "preemption": plan.verdict,
        "cause": reason.cause and reason.cause.code,
        "reason": plan.reason,
        "planned": planned and (reason.verdict != "yes" or reason.placement is not None),
        "placed": reason.verdict == "yes" or (reason.verdict == "unknown" and reason.placement is not None),
        "runs": plan.verdict == "yes",
        "victims": rounds[0] if rounds else {},
        "perhaps": [_killed(one) for one in plan.may_follow],
        "later": [one for one in rounds[1:] if one],
        "bound": {pod.partition("/")[2]: node for pod, node in (reason.placement or {}).items()},
        "nominations": {pod.partition("/")[2]: node for pod, node in plan.nominations.items()},
        "renominated": _renominated(plan),
        "slots": slots_shown(reason),
    }


def with_slots_of_others(one: Json, every: list[Json], theirs: Json) -> Json:
    """Return an outcome; of one whose plan fails, which shows no slots, with those seen that another trigger shows."""
    if one["cause"] != PLAN_FAILS:
        return one
    shown = next((other["slots"] for other in every if other["slots"] in theirs["slots"]), one["slots"])
    return one | {"slots": shown}


def _as_watched(rounds: Any) -> list[dict[str, str]]:  # noqa: ANN401
    """Return the victims of each attempt, with those of others that are made before they are gone."""
    watched: list[dict[str, str]] = []
    for one in rounds:
        if one.when == "while-terminating":
            watched[-1] |= _killed(one)
        else:
            watched.append(_killed(one))
    return watched


def _renominated(plan: Any) -> list[str]:  # noqa: ANN401
    """Return the nodes of nominations before the first victims are gone, where attempts follow till then.

    So they do where ElasticQuota nominates one member, and then others to the same node.
    """
    meanwhile = [one for one in (*plan.rounds, *plan.may_follow) if one.when == "while-terminating"]
    one_by_one = plan.rounds and len(plan.rounds[0].nominations) == 1
    every = (*plan.rounds[:1], *meanwhile) if meanwhile or one_by_one else ()
    return sorted({node for one in every for node in one.nominations.values()})


def _killed(one: Any) -> dict[str, str]:  # noqa: ANN401
    return {victim.pod.partition("/")[2]: victim.node for victim in one.victims}


def slots_shown(reason: Any) -> dict[str, int] | None:  # noqa: ANN401
    """Return the slots that we show; None where we show none, or tell that something may change them."""
    if any(notice.code in {"slots-not-shown", "slots-incomplete"} for notice in getattr(reason, "warnings", ())):
        return None
    return {f"{row.layer}/{row.name}": row.offer_slots for row in reason.domains}


def differing(ours: Json, theirs: Json, version: str) -> list[str]:
    """Return the fields in which one of our outcomes differs from what was seen."""
    if ours["cause"] == PLAN_FAILS:
        return _failing_differs(ours, theirs, version)
    if theirs["planFails"] == "at once" and not theirs["byTrigger"]:
        return ["cause"]
    found = _slots_differ(ours, theirs)
    causes = () if theirs["byTrigger"] else theirs["causes"]
    found += ["cause"] if causes and ours["verdict"] == "no" and ours["cause"] not in causes else []
    found += ["placed"] if theirs["placed"] != ours["placed"] else []
    found += _victims_differ(ours, theirs)
    if ours["reason"] == PLAN_FAILS:  # after the victims are gone
        found += ["runs"] if theirs["whole"] else []
    elif theirs["planFails"] == "after victims":
        found += ["runs"] if ours["runs"] and not theirs["runs"] else []
    else:
        found += _attempts_differ(ours, theirs)
    return found + _nodes_differ(ours, theirs, version)


def _failing_differs(ours: Json, theirs: Json, version: str) -> list[str]:
    """Compare what can be: such a plan is tried many times a second, and may end anywhere."""
    if theirs["planFails"] != "at once":
        return ["cause"]
    allowed = ("no", "unknown") if version in PREDICTABLE else ("unknown",)
    return _slots_differ(ours, theirs) + ([] if ours["verdict"] in allowed else ["verdict"])


def _attempts_differ(ours: Json, theirs: Json) -> list[str]:
    found = ["runs"] if theirs["runs"] not in {ours["runs"], None} else []
    if "victims" not in theirs["unstable"]:
        found += ["later"] if _later_differs(ours, theirs) else []
    return found


def _later_differs(ours: Json, theirs: Json) -> bool:
    """Tell whether other pods die later: those that may follow as well, if they do, may be of any attempt."""
    perhaps = _pairs(ours.get("perhaps", []))
    if not perhaps:
        seen = ours["later"] if theirs["watched"] else ours["later"][: len(theirs["later"])]
        return bool(seen != theirs["later"])
    told, seen = _pairs(ours["later"]), _pairs(theirs["later"])
    missing = told - seen - _pairs([theirs["victims"]]) if theirs["watched"] else set()
    return not seen <= told | perhaps or bool(missing)


def _victims_differ(ours: Json, theirs: Json) -> list[str]:
    stable = "victims" not in theirs["unstable"]
    told, seen = _pairs([ours["victims"]]), _pairs([theirs["victims"]])
    dead = seen | _pairs([theirs.get("died", {})])  # another job may have come first for some of them
    return ["victims"] if stable and not (told <= dead and seen <= told | _pairs(ours.get("perhaps", []))) else []


def _pairs(rounds: Iterable[Json]) -> set[tuple[str, str]]:
    return {pair for one in rounds for pair in one.items()}


def _nodes_differ(ours: Json, theirs: Json, version: str) -> list[str]:
    found: list[str] = []
    if ours["planned"] and theirs["placed"] and "bound" not in theirs["unstable"]:
        surplus = {pod: ours["bound"].get(pod) for pod in theirs["bound"]}
        found += ["bound"] if surplus != theirs["bound"] else []
    settled = version in PREDICTABLE or theirs["planFails"] != "after victims"  # else many attempts were seen at once
    if settled and ours["planned"] and theirs["victims"] and "nominations" not in theirs["unstable"]:
        found += ["nominations"] if _nominations_differ(ours, theirs) else []
    return found


def _nominations_differ(ours: Json, theirs: Json) -> bool:
    """Compare where pods were nominated first, each at its time: where attempts follow, to a node of any of them."""
    seen = set(theirs["nominations"].values())
    if ours.get("renominated"):
        return not set(ours["nominations"].values()) <= seen <= set(ours["renominated"])
    return bool(ours["nominations"] != theirs["nominations"])


def _slots_differ(ours: Json, theirs: Json) -> list[str]:
    stable = "slots" not in theirs["unstable"]
    return ["slots"] if theirs["slots"] and stable and ours["slots"] not in [*theirs["slots"], None] else []


def summary(results: Iterable[Result]) -> str:
    """Return the table: how the answers compare, by family and version, and over all versions."""
    counted: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        for family in (result.family, "all"):
            for version in (result.version, "all"):
                counted.setdefault((family, version), []).append(result)
    width = max((len(family) for family, _ in counted), default=0)
    percent = ("UNKNOWN %", "WRONG %", "FULL", "FULL %", "WITH ALTERNATIVES")
    heads = ("AGREE", "UNKNOWN", "WRONG, EXPLAINED", "WRONG, NOT EXPLAINED", *percent)
    lines = ["  ".join((f"{'FAMILY':{width}}", f"{'VERSION':7}", *heads))]
    order = ("1.7", "1.8", "main", "all")
    for (family, version), group in sorted(
        counted.items(), key=lambda item: (item[0][0] == "all", item[0][0], order.index(item[0][1]))
    ):
        total = len(group)
        grades = ("agree", "unknown", "explained", "wrong")
        numbers = [sum(one.grade == grade for one in group) for grade in grades]
        full = sum(one.full for one in group)
        cells: list[str] = [str(number) for number in numbers]
        cells += [f"{100 * share / total:.1f}" for share in (numbers[1], sum(numbers[2:]))]
        cells += [str(full), f"{100 * full / total:.1f}", str(sum(one.with_alternatives for one in group))]
        row = (f"{cell:>{len(head)}}" for cell, head in zip(cells, heads, strict=True))
        lines.append("  ".join((f"{family:{width}}", f"{version:7}", *row)))
    return "\n".join(lines)
