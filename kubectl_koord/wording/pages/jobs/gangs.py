"""The sentences of `gangs`."""

from collections import Counter

from kubectl_koord.reports.common import Verdict
from kubectl_koord.reports.jobs.gangs import GangRow, GangsReport, Hops, StaleFault
from kubectl_koord.wording.words import command, count, layer_noun

DETAILS = command("why-pending", "GANG")
OUTSIDE = "OUTSIDE: members that run outside the must-gather domain that most of them are in."
HOPS = "HOPS: layers between members with neighbouring numbers, on average and at most; 0 is the same node."
_VERDICTS: dict[Verdict, str] = {"no": "cannot start now", "yes": "would be placed now", "unknown": "unknown"}
_STALE: dict[StaleFault, str] = {
    "more-bound": "stale: enough pods are bound",
    "fewer-bound": "stale: too few pods are bound",
    "used-again": "stale: it has pods again, and this phase is never left",
}


def headline(report: GangsReport) -> str:
    """Return how many gangs there are, how many of them wait, and how many of those cannot start."""
    if not report.items:
        doubt = "" if report.verdict == "yes" else " among the objects that could be read"
        where = f" in namespace {report.namespace}" if report.namespace else ""
        return f"There is no {'such ' if report.selected else ''}gang{where}{doubt}."
    waiting = Counter(item.verdict for item in report.items if item.pending)
    total = count(len(report.items), "gang")
    if not waiting:
        return f"{total}, none with pending pods."
    parts = [f"{waiting[verdict]} {words}" for verdict, words in _VERDICTS.items() if waiting[verdict]]
    return f"{total}, {waiting.total()} with pending pods: {', '.join(parts)}."


def state(item: GangRow) -> str:
    """Return in a word how a gang does: the cause why it waits, or how much of it runs."""
    if item.pending:
        return item.cause or {"yes": "would-start", "no": "(no)", "unknown": "(unknown)"}[item.verdict]
    if item.running:
        return "running"
    return "finished" if item.finished else "no pods"


def progress(item: GangRow) -> str:
    """Return in a line how a gang does now: `running: 2 of 2 pods bound, 0 pending`."""
    counted = f"{item.bound} of {count(item.pods, 'pod')} bound, {item.pending} pending"
    return "; ".join(filter(None, [f"{state(item)}: {counted}", note(item)]))


def span(item: GangRow, node_layer: str) -> str:
    """Return how many domains of each layer the running members are in: `1 spine, 2 blocks`."""
    return ", ".join(count(used, layer_noun(layer)) for layer, used in item.span.items() if layer != node_layer)


def nodes(item: GangRow, node_layer: str) -> str:
    """Return on how many nodes of the tree it runs."""
    return str(item.span[node_layer]) if node_layer in item.span else ""


def note(item: GangRow) -> str:
    """Return what the phase of its PodGroup does not know."""
    return f"its phase is {_STALE[item.stale]}" if item.stale else ""


def hops(found: Hops | None) -> str:
    """Return how far apart neighbours run, on average and at most."""
    return f"{found.mean:g}, {found.most}" if found is not None else ""
