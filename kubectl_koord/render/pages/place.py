"""The pages of `node` and `domain`, and their sentences."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from kubectl_koord.language import say
from kubectl_koord.model import values
from kubectl_koord.render.document import Block, Column, Command, EmptyLine, Line, Row, Table, slim
from kubectl_koord.render.lines import VERDICT_STYLE, basis_line, more_line, warning_lines
from kubectl_koord.render.pages import moves
from kubectl_koord.render.pages.devices import held_unbooked, known_to_be_free
from kubectl_koord.render.shown import Shown, parted
from kubectl_koord.reports.capacity import (
    DomainReport,
    Drain,
    DrainedPod,
    Free,
    Goes,
    JobHere,
    NodeReport,
    ReservationHere,
    TypeTotal,
    WaitingGang,
)
from kubectl_koord.wording.facts import UNKNOWN_AMOUNT, eviction_effects, legend_of_signs
from kubectl_koord.wording.words import (
    COMMA,
    DETAILS,
    SEMICOLON,
    amount_of,
    amounts,
    command,
    count,
    device_name,
    domain_name,
    first_names,
    listed,
    more,
    more_pods,
    name_within,
    noted,
    ranked,
    sentence,
    unit,
)


def by_node(places: Mapping[str, str], gang: str, shown: Shown, header: str = "PODS") -> Iterator[Block]:
    """Return a row per node with its pods.

    Args:
        places: node by `namespace/name` of the pod.
        gang: its namespace is left out of the names of its pods.
        shown: how many nodes.
        header: what the pods are.
    """
    pods: dict[str, list[str]] = {}
    for pod, node in sorted(places.items()):
        pods.setdefault(node, []).append(name_within(gang, pod))
    nodes, rest = parted(sorted(pods), shown.rows)
    rows = tuple(Row((node, ", ".join(pods[node]))) for node in nodes)
    yield Table((Column("NODE"), Column(header, flow="wrap")), rows)
    if rest:
        yield more_line(more_pods(sum(len(pods[node]) for node in rest), len(rest)))


NOTHING_RUNS = say("No pods run here.")
RUNNING = say("Running")
NOMINATED = say("Nominated, not yet here: no pod of a lower or the same priority gets this room")
WAITING = say("Pending gangs that could use it")
RESERVATIONS = say("Reservations")
DRAIN = say("If it were drained")
SLOTS = say("SLOTS: pods that it takes now, beside what runs here.")
PLACE_DETAILS = command("why-pending", "GANG")
NO_GANG_FITS = say("No pending gang could use it now")
ONE_BY_ONE = say("Each pod was tried by itself on the other nodes; which of them the scheduler takes is not predicted.")
_MOST_REASONS = 2
_MOST_STAYING = 3
_OUTCOMES: dict[Goes, str] = {
    "fits": say("could go elsewhere"),
    "no-node": say("could not go elsewhere"),
    "unknown": say("unknown"),
}


def unknown(why: str) -> str:
    """Return why nothing can be told, or not all."""
    return say("Cannot tell everything: {why}.", why=why)


def node_headline(report: NodeReport) -> str:
    """Return where a node is, how it stands, and what is free."""
    state = say(" is {state}", state=report.state) if report.state else ""
    free = say("; {free}", free=_free(report.free)) if report.free else ""
    return say("Node {node}{state}{free}.", node=report.node, state=state, free=free)


def domain_headline(report: DomainReport) -> str:
    """Return how many nodes a domain has, and what is free on those that can be used."""
    nodes = count(len(report.nodes), "node")
    free = say("; {free}", free=_free(report.free)) if report.free else ""
    domain = f"{report.layer} {report.name}" if report.name else say("The cluster's topology tree")
    return say("{domain} has {nodes}{free}.", domain=domain, nodes=nodes, free=free)


def _free(every: Sequence[Free]) -> str:
    return say("free: {every}", every=say(", ").join(map(_of_total, every[: _usual(every)])))


def free_of_others(every: Sequence[Free]) -> list[str]:
    """Return what is free of the resources that the headline does not tell."""
    return [_of_total(one) for one in every[_usual(every) :]]


def also_free(amounts: Sequence[str], more: int) -> str:
    """Return the free amounts in a line: the first few, and how many more there are."""
    return say("Also free: {first_names}.", first_names=first_names(amounts, more) if more else say(", ").join(amounts))


def _usual(every: Sequence[Free]) -> int:
    """Return how many resources the headline tells: cards, CPU, memory and pods, which come first."""
    return next((index for index, one in enumerate(every, 1) if one.resource == "pods"), len(every))


def _of_total(one: Free) -> str:
    free, total = (amount_of(one.resource, number, "rounded") for number in (one.free, one.total))
    return say("{free} of {total} {unit}", free=free, total=total, unit=unit(one.resource))


def within(report: NodeReport) -> str:
    """Return in which domains of the topology a node is."""
    if not report.domains:
        return say("It is outside the topology tree.")
    return say("In {part}.", part=say(", ").join(f"{one.layer} {one.name}" for one in report.domains))


def below(report: DomainReport) -> str:
    """Return below which domain this one is."""
    above = report.parent
    return (
        say("In {layer} {name}.", layer=above.layer, name=domain_name(above.name))
        if above is not None and above.name
        else ""
    )


def tainted(taints: Sequence[str]) -> str:
    """Return the taints of a node."""
    return say("Taints: {taints}", taints=say(", ").join(taints))


def out(report: DomainReport) -> str:
    """Return which nodes of a domain are cordoned or not ready; what is free there does not count."""
    parts = [say("cordoned: {cordoned}", cordoned=say(", ").join(report.cordoned))] if report.cordoned else []
    parts += [say("not ready: {not_ready}", not_ready=say(", ").join(report.not_ready))] if report.not_ready else []
    return say("Not counted as free, {parts}.", parts=SEMICOLON.join(parts)) if parts else ""


def devices(totals: Sequence[TypeTotal]) -> str:
    """Return the devices in a line: `Devices: 3 of 8 GPU are whole and free, 1 unhealthy`."""
    return say("Devices: {totals}.", totals=SEMICOLON.join(map(_devices, totals)))


def cards(signs: Mapping[str, str]) -> str:
    """Return a sign for each device of a node, by type: `Each: GPU ##......`."""
    each = say(", ").join(f"{device_name(kind)} {one}" for kind, one in signs.items())
    return say(
        "Each: {each} ({legend_of_signs}).",
        each=each,
        legend_of_signs=legend_of_signs(is_unseen=UNKNOWN_AMOUNT in each),
    )


def _devices(total: TypeTotal) -> str:
    name = device_name(total.type)
    bad = say(", {unhealthy} unhealthy", unhealthy=total.unhealthy) if total.unhealthy else ""
    held = say(", {withheld} more on nodes that are out", withheld=total.withheld) if total.withheld else ""
    if total.free is None:
        return say("{cards} {name}, how many are free is unknown{bad}", cards=total.cards, name=name, bad=bad)
    free = known_to_be_free(total)
    unknown = f"{COMMA}{held_unbooked(total)}" if total.unbooked else ""
    return say(
        "{free} of {cards} {name} {are} whole and free{held}{unknown}{bad}",
        free=free,
        cards=total.cards,
        name=name,
        are="is" if free == 1 else "are",
        held=held,
        unknown=unknown,
        bad=bad,
    )


def owners(one: ReservationHere) -> str:
    """Return whom a Reservation is for, and the job that moves a pod there."""
    made_for = [say("PodMigrationJob {job}", job=one.job)] if one.job is not None else []
    return say(", ").join((*one.owners, *made_for))


def job(one: JobHere) -> str:
    """Return what pods run for: their gang, their owner, or the pod itself."""
    if one.gang:
        return one.gang
    return f"{one.pods[0].partition('/')[0]}/{one.owner}" if one.owner else one.pods[0]


def job_notes(one: JobHere) -> str:
    """Return what is special about pods that run here."""
    notes = [say("stays")] if one.daemon_set else []
    notes += [say("{terminating} terminating", terminating=one.terminating)] if one.terminating else []
    return COMMA.join(notes)


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
    reasons = [one.message if nodes == 1 else noted(one.message, count(one.nodes, "node")) for one in shown]
    more = say(" and {number} more", number=len(gang.reasons) - len(shown)) if len(gang.reasons) > len(shown) else ""
    why = say(": {why}", why=f"{say(', ').join(reasons)}{more}") if reasons else ""
    return f"{count(gang.lacks, 'slot')}{why}"


def evicted(drain: Drain) -> str:
    """Return whom a drain evicts, and how many of them could go elsewhere."""
    if not drain.evicts:
        return say("No pod would be evicted.")
    found = Counter(one.outcome for one in drain.goes)
    parts = [
        say("{number} {what}", number=found[outcome], what=words)
        for outcome, words in _OUTCOMES.items()
        if found[outcome]
    ]
    return say("{pods} would be evicted: {parts}.", pods=count(len(drain.evicts), "pod"), parts=COMMA.join(parts))


def effects(drain: Drain) -> list[str]:
    """Return what budgets and protection say about the evictions, and which gangs they break."""
    clauses = (eviction_effects(drain.evicts, ()), eviction_effects((), drain.broken_gangs))
    told = (clause.removeprefix(SEMICOLON) for clause in clauses if clause)
    return [say("{words}.", words=sentence(words)) for words in told]


def unowned(drain: Drain) -> str:
    """Return how many of the pods nothing creates anew."""
    number = sum(not one.recreated for one in drain.goes)
    return say(
        "{pods} without a controller: nothing creates {them} anew.",
        pods=count(number, "pod"),
        them="it" if number == 1 else "them",
    )


def stays(drain: Drain) -> str:
    """Return which pods a drain leaves, as they come back at once: of many how many, and of how many DaemonSets."""
    verb = "stays" if len(drain.stays) == 1 else "stay"
    pods = listed(drain.stays)
    if len(drain.stays) > _MOST_STAYING:
        owners = count(len(drain.daemon_sets), "DaemonSet") if drain.daemon_sets else say("the nodes themselves")
        pods = say("{pods} of {owners}", pods=count(len(drain.stays), "pod"), owners=owners)
    return say("{pods} {verb}: created anew here at once.", pods=pods, verb=verb)


def terminating(drain: Drain) -> str:
    """Return which pods end anyway."""
    verb = "terminates" if len(drain.terminating) == 1 else "terminate"
    return say("{terminating} {verb} already.", terminating=listed(drain.terminating), verb=verb)


def goes(one: DrainedPod) -> str:
    """Return what becomes of an evicted pod."""
    if one.outcome == "fits":
        return say("fits on {to}", to=one.to)
    return say(
        "{part}: {reason}",
        part=say("unknown") if one.outcome == "unknown" else say("no node takes it"),
        reason=one.reason,
    )


_RUNNING = (
    Column("GANG OR OWNER"),
    Column("PODS", right=True),
    Column("NODES", right=True, goes=1),
    Column("PRIORITY", right=True),
    Column("REQUESTS", flow="wrap"),
    Column("NOTES"),
)
_WAITING = (
    Column("GANG"),
    Column("PRIORITY", right=True, goes=1),
    Column("SLOTS", right=True),
    Column("CAUSE", goes=2),
    Column("LACKS HERE", flow="wrap"),
)
_RESERVATIONS = (
    Column("RESERVATION"),
    Column("NODE"),
    Column("HOLDS"),
    Column("UNUSED"),
    Column("FOR", flow="wrap"),
)
_NOMINATED = (
    Column("POD"),
    Column("NODE"),
    Column("PRIORITY", right=True),
)
_DRAINED = (
    Column("POD"),
    Column("PRIORITY", right=True, goes=1),
    Column("AFTERWARDS", flow="wrap"),
)


def node_blocks(report: NodeReport, shown: Shown) -> list[Block]:
    """Return the page of a node."""
    page = _head(report, node_headline(report))
    page.append(Line(within(report)))
    page += [Line(tainted(report.taints), "warn")] if report.taints else []
    return [*page, *_rest(report, shown, 1)]


def domain_blocks(report: DomainReport, shown: Shown) -> list[Block]:
    """Return the page of a domain."""
    page = _head(report, domain_headline(report))
    lines = ((below(report), ""), (out(report), "warn"))
    page += [Line(text, "warn" if style else "") for text, style in lines if text]
    return [*page, *_rest(report, shown, len(report.nodes))]


def _head(report: NodeReport | DomainReport, headline: str) -> list[Block]:
    page: list[Block] = [Line(headline, "bold")]
    if report.message:
        page.append(Line(unknown(report.message), VERDICT_STYLE["unknown"]))
    return page


def _rest(report: NodeReport | DomainReport, shown: Shown, nodes: int) -> Iterator[Block]:
    if others := free_of_others(report.free):
        first, more = parted(others, shown.few)
        yield Line(also_free(first, len(more)))
    if report.devices:
        yield Line(devices(report.devices))
    if isinstance(report, NodeReport) and report.cards:
        yield Line(cards(report.cards))
    if report.drain is not None:
        yield from (EmptyLine(), Line(RUNNING, "bold"))
        yield from _running(report.running, shown, nodes)
    if report.nominated:
        yield from (EmptyLine(), Line(NOMINATED, "bold"))
        rows = [Row((one.pod, one.node if nodes > 1 else "", str(one.priority))) for one in report.nominated]
        yield from _listed(_NOMINATED, rows, shown)
    if report.reservations:
        yield from (EmptyLine(), Line(RESERVATIONS, "bold"))
        yield from _listed(_RESERVATIONS, [_reservation(one) for one in report.reservations], shown)
    yield from moves.migrations(report.migrations, shown)
    if report.waiting:
        title = WAITING if any(gang.slots for gang in report.waiting) else NO_GANG_FITS
        yield from (EmptyLine(), Line(title, "bold"))
        yield from _listed(_WAITING, [_gang(gang, nodes) for gang in report.waiting], shown)
        yield Line(SLOTS, "dim", indent=2)
        yield Command(PLACE_DETAILS, indent=2, label=DETAILS)
    if report.drain is not None:
        yield from (EmptyLine(), Line(DRAIN, "bold"))
        yield from _drain(report.drain, shown)
    yield from (*warning_lines(report.warnings), EmptyLine(), basis_line(report.basis))


def _listed(columns: tuple[Column, ...], rows: list[Row], shown: Shown) -> Iterator[Block]:
    first, rest = parted(rows, shown.rows)
    yield slim(Table(columns, tuple(first)))
    if rest:
        yield more_line(more(len(rest)))


def _running(running: tuple[JobHere, ...], shown: Shown, nodes: int) -> Iterator[Block]:
    if not running:
        yield Line(NOTHING_RUNS, indent=2)
        return
    rows = []
    for one in running:
        spread = str(len(one.nodes)) if nodes > 1 else ""
        cells = (job(one), str(len(one.pods)), spread, str(one.priority), _requests(one.requests))
        rows.append(Row((*cells, job_notes(one)), "dim" if one.daemon_set else ""))
    yield from _listed(_RUNNING, rows, shown)


def _requests(written: Mapping[str, str]) -> str:
    found = tuple((name, values.amount(name, values.parse(number))) for name, number in written.items())
    return amounts(ranked(found))


def _gang(gang: WaitingGang, nodes: int) -> Row:
    cells = (gang.gang, str(gang.priority), slots(gang), state(gang), lacks(gang, nodes))
    return Row(cells, "good" if gang.lacks == 0 else "")


def _reservation(one: ReservationHere) -> Row:
    unused = _requests(one.unused) if one.unused else ""
    return Row((one.reservation, one.node, _requests(one.size), unused, owners(one)))


def _drain(drain: Drain, shown: Shown) -> Iterator[Block]:
    yield Line(evicted(drain), indent=2)
    yield from (Line(text, "warn", indent=2) for text in effects(drain))
    priorities = {pod.pod: pod.priority for pod in drain.evicts}
    if drain.goes:
        rows = [
            Row((one.pod, str(priorities[one.pod]), goes(one)), "" if one.outcome == "fits" else "warn")
            for one in drain.goes
        ]
        yield from _listed(_DRAINED, rows, shown)
        yield Line(ONE_BY_ONE, "dim", indent=2)
    if not all(one.recreated for one in drain.goes):
        yield Line(unowned(drain), "warn", indent=2)
    if drain.stays:
        yield Line(stays(drain), indent=2)
    if drain.terminating:
        yield Line(terminating(drain), indent=2)
