"""The sentences of `diff`."""

from collections.abc import Mapping

from kubectl_koord.reports.operation.difference import DiffReport, DomainDiff, NodeChange, NodeDiff, PodChange, PodDiff
from kubectl_koord.wording.words import amount_of, count, unit

SLOTS = "SLOTS: how many of the pods fit, each node by itself, as if nothing else waited."
_NODES: Mapping[NodeChange, str] = {
    "came": "came",
    "went": "went",
    "cordoned": "cordoned",
    "uncordoned": "uncordoned",
    "not-ready": "not ready",
    "ready": "ready again",
    "allocatable": "allocatable changed",
    "labels": "labels changed",
    "taints": "taints changed",
}
_PODS: Mapping[PodChange, str] = {"came": "came", "went": "went", "moved": "moved"}


def headline(report: DiffReport) -> str:
    """Return how much differs."""
    parts = [count(len(report.domains), "domain"), count(len(report.nodes), "node"), count(len(report.placed), "pod")]
    if not (report.domains or report.nodes or report.placed):
        return "Nothing differs." if not report.message else "Nothing differs in what could be read."
    return f"{parts[0]}, {parts[1]} and {parts[2]} differ."


def sums(report: DiffReport) -> tuple[str, ...]:
    """Return what the cluster as a whole lost or gained, and the domain that did most."""
    whole = next((one for one in report.domains if not one.name), None)
    first = next((one for one in report.domains if one.name), None)
    return tuple(
        f"{where}: {_before_and_now(report, one)}."
        for where, one in (("In all", whole), (f"Most in {first.name}" if first else "", first))
        if one is not None
    )


def _before_and_now(report: DiffReport, one: DomainDiff) -> str:
    if one.slots_before != one.slots_after:
        return f"{one.slots_before or 0} slots for {report.asked} before, {one.slots_after or 0} now"
    before, after = (amount_of(report.resource, number or 0, "rounded") for number in (one.free_before, one.free_after))
    return f"{before} {unit(report.resource)} free before, {after} now"


def between(report: DiffReport) -> str:
    """Return which moments are compared."""
    return f"From {report.before.moment} ({report.before.source}) to {report.basis.moment} ({report.basis.source})."


def unread(message: str) -> str:
    """Return that something could not be read."""
    return f"Unknown: {message}."


def changed(node: NodeDiff) -> str:
    """Return how a node has changed."""
    return ", ".join(_NODES[one] for one in node.changes)


def change(pod: PodDiff) -> str:
    """Return what became of a pod."""
    return _PODS[pod.change]


def signed(resource: str, number: int) -> str:
    """Return a difference with its sign: `+8`."""
    text = amount_of(resource, abs(number), "rounded")
    return f"{'-' if number < 0 else '+'}{text}" if number else "0"


def shown(resource: str, number: int | None) -> str:
    """Return an amount, a dash where there was none."""
    return "-" if number is None else amount_of(resource, number, "rounded")


def slots(number: int | None) -> str:
    """Return how many slots, a dash where there was no such domain."""
    return "-" if number is None else str(number)
