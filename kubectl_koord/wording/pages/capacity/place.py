"""The sentences of `node` and `domain`."""

from collections import Counter
from collections.abc import Sequence

from kubectl_koord.reports.capacity.devices import TypeTotal
from kubectl_koord.reports.capacity.place import (
    DomainReport,
    Drain,
    DrainedPod,
    Free,
    Goes,
    JobHere,
    NodeReport,
    ReservationHere,
    WaitingGang,
)
from kubectl_koord.wording.disruption import eviction_effects
from kubectl_koord.wording.pages.capacity.devices import held_unbooked, known_to_be_free
from kubectl_koord.wording.pages.common import first_names
from kubectl_koord.wording.words import amount_of, command, count, device_name, domain_name, listed, sentence, unit

NOTHING_RUNS = "No pods run here."
RUNNING = "Running"
NOMINATED = "Nominated, not yet here: no pod of a lower or the same priority gets this room"
WAITING = "Pending gangs that could use it"
RESERVATIONS = "Reservations"
DRAIN = "If it were drained"
SLOTS = "SLOTS: pods that it takes now, beside what runs here."
DETAILS = command("why-pending", "GANG")
NO_GANG_FITS = "No pending gang could use it now"
ONE_BY_ONE = "Each pod was tried by itself on the other nodes; which of them the scheduler takes is not predicted."
_MOST_REASONS = 2
_MOST_STAYING = 3
_OUTCOMES: dict[Goes, str] = {"fits": "could go elsewhere", "no-node": "could not go elsewhere", "unknown": "unknown"}


def unknown(why: str) -> str:
    """Return why nothing can be told, or not all."""
    return f"Cannot tell everything: {why}."


def node_headline(report: NodeReport) -> str:
    """Return where a node is, how it stands, and what is free."""
    state = f" is {report.state}" if report.state else ""
    free = f"; {_free(report.free)}" if report.free else ""
    return f"Node {report.node}{state}{free}."


def domain_headline(report: DomainReport) -> str:
    """Return how many nodes a domain has, and what is free on those that can be used."""
    nodes = count(len(report.nodes), "node")
    free = f"; {_free(report.free)}" if report.free else ""
    domain = f"{report.layer} {report.name}" if report.name else "The cluster's topology tree"
    return f"{domain} has {nodes}{free}."


def _free(every: Sequence[Free]) -> str:
    return f"free: {', '.join(map(_of_total, every[: _usual(every)]))}"


def free_of_others(every: Sequence[Free]) -> list[str]:
    """Return what is free of the resources that the headline does not tell."""
    return [_of_total(one) for one in every[_usual(every) :]]


def also_free(amounts: Sequence[str], more: int) -> str:
    """Return the same in a line, the first of many amounts."""
    return f"Also free: {first_names(amounts, more) if more else ', '.join(amounts)}."


def _usual(every: Sequence[Free]) -> int:
    """Return how many resources the headline tells: cards, CPU, memory and pods, which come first."""
    return next((index for index, one in enumerate(every, 1) if one.resource == "pods"), len(every))


def _of_total(one: Free) -> str:
    free, total = (amount_of(one.resource, number, "rounded") for number in (one.free, one.total))
    return f"{free} of {total} {unit(one.resource)}"


def within(report: NodeReport) -> str:
    """Return in which domains of the topology a node is."""
    if not report.domains:
        return "It is outside the topology tree."
    return f"In {', '.join(f'{one.layer} {one.name}' for one in report.domains)}."


def below(report: DomainReport) -> str:
    """Return below which domain this one is."""
    above = report.parent
    return f"In {above.layer} {domain_name(above.name)}." if above is not None and above.name else ""


def tainted(taints: Sequence[str]) -> str:
    """Return the taints of a node."""
    return f"Taints: {', '.join(taints)}"


def out(report: DomainReport) -> str:
    """Return which nodes of a domain are cordoned or not ready; what is free there does not count."""
    parts = [f"cordoned: {', '.join(report.cordoned)}"] if report.cordoned else []
    parts += [f"not ready: {', '.join(report.not_ready)}"] if report.not_ready else []
    return f"Not counted as free, {'; '.join(parts)}." if parts else ""


def devices(totals: Sequence[TypeTotal]) -> str:
    """Return the devices in a line: `Devices: 3 of 8 GPU are whole and free, 1 unhealthy`."""
    return f"Devices: {'; '.join(map(_devices, totals))}."


def _devices(total: TypeTotal) -> str:
    name = device_name(total.type)
    bad = f", {total.unhealthy} unhealthy" if total.unhealthy else ""
    held = f", {total.withheld} more on nodes that are out" if total.withheld else ""
    if total.free is None:
        return f"{total.cards} {name}, how many are free is unknown{bad}"
    free = known_to_be_free(total)
    unknown = f", {held_unbooked(total)}" if total.unbooked else ""
    return f"{free} of {total.cards} {name} {'is' if free == 1 else 'are'} whole and free{held}{unknown}{bad}"


def owners(one: ReservationHere) -> str:
    """Return whom a Reservation is for, and the job that moves a pod there."""
    made_for = [f"PodMigrationJob {one.job}"] if one.job is not None else []
    return ", ".join((*one.owners, *made_for))


def job(one: JobHere) -> str:
    """Return what pods run for: their gang, their owner, or the pod itself."""
    if one.gang:
        return one.gang
    return f"{one.pods[0].partition('/')[0]}/{one.owner}" if one.owner else one.pods[0]


def job_notes(one: JobHere) -> str:
    """Return what is special about pods that run here."""
    notes = ["stays"] if one.daemon_set else []
    notes += [f"{one.terminating} terminating"] if one.terminating else []
    return ", ".join(notes)


def slots(gang: WaitingGang) -> str:
    """Return how many of a gang's pods fit here, of how many."""
    return "?" if gang.slots is None else f"{gang.slots}/{gang.pending}"


def state(gang: WaitingGang) -> str:
    """Return why a gang is pending, in a word."""
    return gang.cause or {"yes": "would-start", "no": "(no)", "unknown": "(unknown)"}[gang.verdict]


def lacks(gang: WaitingGang, nodes: int) -> str:
    """Return what a gang still lacks here: how many slots, and why no more fit."""
    if not gang.lacks:
        return ""
    shown = gang.reasons[:_MOST_REASONS]
    reasons = [one.message if nodes == 1 else f"{one.message} ({count(one.nodes, 'node')})" for one in shown]
    more = f" and {len(gang.reasons) - len(shown)} more" if len(gang.reasons) > len(shown) else ""
    why = f": {', '.join(reasons)}{more}" if reasons else ""
    return f"{count(gang.lacks, 'slot')}{why}"


def evicted(drain: Drain) -> str:
    """Return whom a drain evicts, and how many of them could go elsewhere."""
    if not drain.evicts:
        return "No pod would be evicted."
    found = Counter(one.outcome for one in drain.goes)
    parts = [f"{found[outcome]} {words}" for outcome, words in _OUTCOMES.items() if found[outcome]]
    return f"{count(len(drain.evicts), 'pod')} would be evicted: {', '.join(parts)}."


def effects(drain: Drain) -> list[str]:
    """Return what budgets and protection say about the evictions, and which gangs they break."""
    clauses = (eviction_effects(drain.evicts, ()), eviction_effects((), drain.broken_gangs))
    told = (clause.removeprefix("; ") for clause in clauses if clause)
    return [f"{sentence(words)}." for words in told]


def unowned(drain: Drain) -> str:
    """Return how many of the pods nothing creates anew."""
    number = sum(not one.recreated for one in drain.goes)
    return f"{count(number, 'pod')} without a controller: nothing creates {'it' if number == 1 else 'them'} anew."


def stays(drain: Drain) -> str:
    """Return which pods a drain leaves, as they come back at once: of many how many, and of how many DaemonSets."""
    verb = "stays" if len(drain.stays) == 1 else "stay"
    pods = listed(drain.stays)
    if len(drain.stays) > _MOST_STAYING:
        owners = count(len(drain.daemon_sets), "DaemonSet") if drain.daemon_sets else "the nodes themselves"
        pods = f"{count(len(drain.stays), 'pod')} of {owners}"
    return f"{pods} {verb}: created anew here at once."


def terminating(drain: Drain) -> str:
    """Return which pods end anyway."""
    verb = "terminates" if len(drain.terminating) == 1 else "terminate"
    return f"{listed(drain.terminating)} {verb} already."


def goes(one: DrainedPod) -> str:
    """Return what becomes of an evicted pod."""
    if one.outcome == "fits":
        return f"fits on {one.to}"
    return f"{'unknown' if one.outcome == 'unknown' else 'no node takes it'}: {one.reason}"
