"""The page of `why-pending GANG`, for Koordinator's gangs and Volcano's, and its sentences."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import compress

from msgspec import structs

from kubectl_koord.language import STOP, say
from kubectl_koord.model.values import between
from kubectl_koord.render.document import (
    Block,
    Bullet,
    Bullets,
    Column,
    Command,
    EmptyLine,
    Line,
    Row,
    Style,
    Table,
    slim,
)
from kubectl_koord.render.lines import (
    VERDICT_STYLE,
    basis_line,
    more_line,
    outcome_lines,
    raw_lines,
    scheduler_line,
    warning_lines,
)
from kubectl_koord.render.pages import moves
from kubectl_koord.render.pages.place import by_node
from kubectl_koord.render.shown import Shown, parted
from kubectl_koord.reports.capacity import Share
from kubectl_koord.reports.common import OF_LAYERS, Notice, WayOut
from kubectl_koord.reports.jobs import (
    Cause,
    FitGang,
    Funnel,
    LayerRow,
    LayerState,
    NodeReason,
    PodShape,
    SlotRow,
    VolcanoGang,
    WhyAlternative,
    WhyReport,
)
from kubectl_koord.wording.facts import amounts_as_counted, condition_line, ended, newest_condition, subject_name
from kubectl_koord.wording.words import (
    COMMA,
    DETAILS,
    NEXT_STEPS,
    SEMICOLON,
    age_at,
    and_more,
    asked_for,
    command,
    count,
    domain_name,
    layer_noun,
    listed,
    more,
    name_within,
    noted,
    resource_name,
    sentence,
    spelled,
    told,
    warning,
)

TITLE = say("Gangs of Volcano")
NOT_COMPUTED = say("As Volcano wrote it: no decision is computed for another scheduler.")
SAYS = say("As Volcano wrote it")


def volcano_facts(gang: VolcanoGang) -> Iterator[str]:
    """Yield what is known of a gang besides its conditions."""
    parts = [
        say("{min_member} wanted", min_member=gang.min_member),
        say("{number} pending", number=len(gang.pending)),
        say("{running} running", running=gang.running),
    ]
    yield say("Pods: {parts}.", parts=COMMA.join([*parts, *ended(gang)]))
    yield say("Queue: {queue}.", queue=queue(gang))
    if gang.priority_class:
        policy = gang.preemption_policy or say("not read")
        yield say(
            "PriorityClass: {priority_class} (preemptionPolicy {policy}).",
            priority_class=gang.priority_class,
            policy=policy,
        )
    if gang.never_preempting:
        yield say("preemptionPolicy is Never in {pods}.", pods=count(len(gang.never_preempting), "pending pod"))


def queue(gang: VolcanoGang) -> str:
    """Return the name of a gang's queue, and its state."""
    if gang.queue_exists is None:
        return say("{queue} (not read)", queue=gang.queue)
    state = gang.queue_state or say("no state yet") if gang.queue_exists else say("does not exist")
    return noted(gang.queue, state)


def preempts(gang: VolcanoGang) -> str:
    """Return the preemptionPolicy of its PriorityClass, or that pods have Never themselves."""
    if gang.never_preempting:
        return "Never"
    return gang.preemption_policy or ""


_GANGS = (
    Column("GANG"),
    Column("PHASE"),
    Column("QUEUE", goes=2),
    Column("WANTED", right=True),
    Column("PENDING", right=True),
    Column("RUNNING", right=True, goes=1),
    Column("PREEMPTION POLICY", wide=True),
    Column("SAYS", flow="wrap"),
)


def table(gangs: Sequence[VolcanoGang], shown: Shown) -> Iterator[Block]:
    """Yield the gangs, a gap and a title before them; nothing where there are none."""
    if not gangs:
        return
    first, rest = parted(gangs, shown.rows)
    yield from (EmptyLine(), Line(TITLE, "bold"), slim(Table(_GANGS, tuple(map(_row, first)))))
    if rest:
        yield more_line(more(len(rest)))
    yield Line(NOT_COMPUTED, "dim", indent=2)


def _row(gang: VolcanoGang) -> Row:
    numbers = map(str, (gang.min_member, len(gang.pending), gang.running))
    policy, says = preempts(gang), newest_condition(gang)
    return Row((gang.gang, gang.phase, queue(gang), *numbers, policy, says))


def details(gang: VolcanoGang) -> Iterator[Block]:
    """Yield what is known of a gang, and its conditions, a gap and a title before them."""
    yield from (EmptyLine(), Line(SAYS, "bold"))
    yield from (Line(fact, indent=2) for fact in volcano_facts(gang))
    yield from (Line(condition_line(one), indent=2, quoted=True) for one in gang.conditions)


_STATES: Mapping[LayerState, str] = {"passed": "ok", "held": "HELD", "unknown": "?", "then": "then"}
_STYLES: Mapping[LayerState, Style] = {"held": "bad", "unknown": "warn", "then": "dim"}


def way(rows: Sequence[LayerRow], moment: str) -> Iterator[Block]:
    """Yield the layers of a job's way, a gap before them; nothing where no more than one of them was asked."""
    seen = [row for row in rows if row.state != "not-here"]
    if len(seen) <= 1:
        return
    cells = ((_STATES[row.state], say(row.layer), sentence_of(row, moment)) for row in seen)
    styled = (Row(cell, _STYLES.get(row.state, "")) for cell, row in zip(cells, seen, strict=True))
    yield EmptyLine()
    yield slim(Table((Column("STATE"), Column("LAYER"), Column("WHY", flow="wrap")), tuple(styled)))


def sentence_of(row: LayerRow, moment: str) -> str:
    """Return what was seen of a layer, and since when it holds the job."""
    age = age_at(row.since, moment) if row.state == "held" else ""
    return say("{message} (for {age})", message=row.message, age=age) if age else row.message


WAIT = say("Wait until it is scheduled; after some minutes look whether koord-scheduler runs (doctor)")
_LONG = timedelta(hours=1)
_FEW_NODES = 3


def _wait(report: WhyReport) -> Bullet:
    """Return to wait for a job that would be placed; where it waits for long and nobody tried it, to look why."""
    age = between(report.waiting_since, report.basis.moment)
    if age is not None and age > _LONG and report.scheduler_says is None:
        text = say(
            "It has waited for {age}, and the scheduler said nothing: look whether koord-scheduler runs",
            age=spelled(age),
        )
        return Bullet(text, command("doctor"))
    asked = asked_for(report.gang, lone_pod=report.lone_pod)
    return Bullet(WAIT, command("why-pending", asked, "--until", "scheduled"))


def headline(report: WhyReport) -> str:
    """Return the verdict in one sentence."""
    if report.verdict == "no" and report.cause and report.cause.code in OF_LAYERS:
        kind = f" ({report.owner_kind})" if report.owner_kind and not report.lone_pod else ""
        name = f"{subject_name(report.gang, lone_pod=report.lone_pod)}{kind}"
        return say("{name} {what}", name=name, what=report.cause.message)
    return _of_scheduler(report)


def _of_scheduler(report: WhyReport) -> str:
    kind = f" ({report.owner_kind})" if report.owner_kind and not report.lone_pod else ""
    name = say("pod {gang}", gang=report.gang) if report.lone_pod else f"{report.gang}{kind}"
    if report.verdict == "unknown" and report.cause and report.cause.code == "plan-not-executable":
        return say("{name} may or may not start: {reason}", name=name, reason=reason(report))
    if report.verdict == "unknown":
        return say(
            "Cannot tell whether {name} would be placed: {reason}.", name=name, reason=reason(report).rstrip(STOP)
        )
    if report.verdict == "no":
        return say("{name} is pending: {reason}", name=name, reason=reason(report))
    if not report.pending_pods and report.lone_pod:
        return (
            say("{name} is on {node}.", name=name, node=report.node)
            if report.node
            else say("{name} has finished.", name=name)
        )
    if not report.pending_pods:
        return say(
            "{name} has no pending pods: {pods} on a node, {min_member} needed.",
            name=name,
            pods=count(report.bound_pods, "pod"),
            min_member=report.min_member,
        )
    return say(
        "{name} {part} {place}.",
        name=name,
        part=say("would be placed now:") if report.placement else say("fits now;"),
        place=place(report),
    )


def place(report: WhyReport) -> str:
    """Return how many pods would be placed on which nodes, or that these are open."""
    return where(report.placement) if report.placement else left_to_scoring(len(report.pending_pods))


def left_to_scoring(pods: int) -> str:
    """Return that it is open on which nodes so many pods go."""
    return say("on which {noun} is left to scoring", noun="node" if pods == 1 else "nodes")


def reason(report: WhyReport) -> str:
    """Return what the verdict rests on, in one sentence."""
    if report.cause:
        return report.cause.message
    if report.alternatives:
        return say("{outcomes} are possible.", outcomes=count(len(report.alternatives), "outcome"))
    return report.warnings[-1].message if report.warnings else say("no reason was found.")


def where(placement: Mapping[str, str]) -> str:
    """Return on which nodes pods are placed, or on how many."""
    nodes = sorted(set(placement.values()))
    place = say(", ").join(nodes) if len(nodes) <= _FEW_NODES else count(len(nodes), "node")
    return say("{pods} on {place}", pods=count(len(placement), "pod"), place=place)


def remarks(report: WhyReport) -> Iterator[str]:
    """Yield what is to be read below the verdict."""
    if report.verdict == "yes" and report.cause:
        yield sentence(report.cause.message)
    cause = report.cause
    if cause and len(cause.pods) < len(report.pending_pods) and not all(pod in cause.message for pod in cause.pods):
        yield say("Affected pods: {gang}.", gang=say(", ").join(name_within(report.gang, pod) for pod in cause.pods))
    if report.quota_holders:
        yield _holders(report.quota_holders)
    others = [gang for gang in report.gang_group if gang != report.gang]
    if others:
        yield say("It starts only together with {others} (same gang group).", others=say(", ").join(others))
    if report.also:
        yield other_problems(report.also)
    if report.funnel and report.funnel.lost and not report.domains:
        yield _funnel(report, report.funnel)


def _holders(shares: Iterable[Share]) -> str:
    """Return who uses more than its minimum of what a quota lacks."""
    by_resource: dict[str, list[Share]] = {}
    for share in shares:
        by_resource.setdefault(share.resource, []).append(share)
    parts: list[str] = []
    for resource, found in by_resource.items():
        told = amounts_as_counted(resource, [one.amount for one in found])
        name = resource_name(resource)
        parts += [f"{listed(one.quotas)} {amount} {name}" for one, amount in zip(found, told, strict=True)]
    return say("Used above their minimums: {parts}.", parts=listed(parts))


def other_problems(also: Iterable[Cause]) -> str:
    """Return what is wrong besides."""
    told = (noted(one.message.rstrip(STOP), one.code) for one in also)
    return say("Other problems: {told}.", told=SEMICOLON.join(told))


def about(report: WhyReport) -> str:
    """Return what is asked for and since when; empty where no pod waits."""
    if report.priority is None:
        return ""
    parts = [say("Priority {priority}", priority=report.priority)]
    parts += [listed(report.owners)] if report.owners else []
    age = age_at(report.waiting_since, report.basis.moment)
    parts += [say("waiting for {age}", age=age)] if age else []
    each = say("; each pod requests {requests}", requests=report.shapes[0].requests) if len(report.shapes) == 1 else ""
    return say("{parts}{each}.", parts=COMMA.join(parts), each=each)


def _funnel(report: WhyReport, funnel: Funnel) -> str:
    lost = COMMA.join(say("{number} {why}", number=number, why=why) for why, number in funnel.lost)
    pod = f" {name_within(report.gang, funnel.pod)}" if funnel.pod else ""
    return say(
        "{left} of {nodes} {fit}{pod}: {lost}.",
        left=funnel.left,
        nodes=count(funnel.nodes, "node"),
        fit="fits" if funnel.nodes == 1 else "fit",
        pod=pod,
        lost=lost,
    )


def requested(shapes: Sequence[PodShape]) -> str:
    """Return what each pod requests, or how many request what."""
    if len(shapes) == 1:
        return say("Each pod requests {requests}", requests=shapes[0].requests)
    return say("Its pods request {by_shape}", by_shape=_by_shape(shapes))


def _by_shape(shapes: Sequence[PodShape]) -> str:
    return listed([noted(one.requests, count(one.pods, "pod")) for one in shapes], "or")


def next_steps_title(proven: int) -> str:
    """Return the title of the ways out, so many of them proven."""
    return say("{next_steps} (cheapest first)", next_steps=NEXT_STEPS) if proven > 1 else NEXT_STEPS


def unproven(step: str) -> str:
    """Return a step that is not proven, and stands below ways out that are, or was tried and is not enough."""
    return say("{step} (may not be enough)", step=step)


def no_way_out(why: str) -> str:
    """Return why there is no way out."""
    return say("{next_steps}: {why}", next_steps=NEXT_STEPS, why=why)


def not_tried(what: str) -> str:
    """Return that there may be more ways out than those that are shown."""
    return say("There may be more: {what}", what=what)


def more_domains(number: int, most_slots: int) -> str:
    """Return how many more domains there are, and the most slots of any of them."""
    each = say("{slots} or fewer each", slots=count(most_slots, "slot")) if most_slots else say("no slots")
    return and_more(say("{number} more", number=number), say(", with {each}", each=each))


_WHAT_IFS = (
    say("without terminating pods"),
    say("uncordoned"),
    say("without pods of lower priority"),
    say("with nothing running"),
)


def what_if(noun: str, is_told: Sequence[bool]) -> str:
    """Return the title of the slots of domains if one thing were different, of those what-ifs that are told."""
    return say("Slots per {noun}: {part}", noun=noun, part=" | ".join([say("now"), *compress(_WHAT_IFS, is_told)]))


def what_is_in_the_way(domain: SlotRow, *, everything: bool) -> str:
    """Return what is in the way in a domain: on every node, or on the first few."""
    if not domain.obstacles:
        return domain.in_the_way
    return (
        COMMA.join(domain.obstacles)
        if everything
        else say("{in_the_way} (--all shows them)", in_the_way=domain.in_the_way)
    )


def outcomes(every: Sequence[WhyAlternative]) -> list[str]:
    """Return the outcomes in which one would act differently, each with the cases in which it comes.

    Where a gang is placed makes no difference to that; where there is but one, there is nothing to tell.
    """
    alike: dict[str, list[WhyAlternative]] = {}
    for each in every:
        alike.setdefault("yes" if each.verdict == "yes" else _outcome(each), []).append(each)
    if len(alike) == 1:
        return []
    return told(([one.when for one in some], _of_alike(some)) for some in alike.values())


def _of_alike(some: Sequence[WhyAlternative]) -> str:
    first, *others = map(_outcome, some)
    return first if all(one == first for one in others) else say("it would be placed; on which nodes is open.")


def _outcome(each: WhyAlternative) -> str:
    if each.verdict == "yes":
        outcome = (
            say("it would be placed, {where}.", where=where(each.placement))
            if each.placement
            else say("it would be placed.")
        )
    elif each.cause:
        outcome = each.cause.message
    else:
        outcome = say("it stays pending.") if each.verdict == "no" else say("unknown.")
    return f"{outcome}{_best(each.domains)}"


def _best(domains: Sequence[SlotRow]) -> str:
    if not domains:
        return ""
    best = max(domains, key=lambda domain: domain.offer_slots)
    place = f"{layer_noun(best.layer)} {best.name}" if best.name else say("the whole cluster")
    return say(" Best: {place}, {slots}.", place=place, slots=count(best.offer_slots, "slot"))


def facts(report: WhyReport) -> Iterator[str]:
    """Yield what was counted and what was asked for, to stand in the last line."""
    if report.funnel:
        pod = name_within(report.gang, report.funnel.pod) if report.funnel.pod else report.requests
        stages = [say("{number} {what}", number=number, what=passed) for passed, number in report.funnel.stages]
        stages += [say("all with room for {pod}", pod=pod)] if report.funnel.nodes and not stages else []
        yield COMMA.join([count(report.funnel.nodes, "node"), *stages])
        if len(report.shapes) > 1:
            yield say("its pods request {by_shape}", by_shape=_by_shape(report.shapes))
    elif report.shapes:
        yield requested(report.shapes)
    if report.must_gather:
        noun = layer_noun(report.must_gather)
        is_known = noun != report.must_gather and not (report.cause and report.cause.code == "unknown-layer")
        yield say(
            "MustGather {must_gather}{part}",
            must_gather=report.must_gather,
            part=say(" (all pods in one {noun})", noun=noun) if is_known else "",
        )


_ALWAYS_TOLD = 2  # of the what-ifs those from here on: that they change nothing is an answer, too
_BESIDE_SLOTS = "slots-incomplete"
_OF_THE_CAUSE = frozenset(("raise-resource-quota", "admit-pods"))  # what makes it complete, not smaller
_TRIED_WHOLE = frozenset(("use-layer", "lower-minimum"))  # of other steps only a part can be tried


def blocks(report: WhyReport, shown: Shown) -> list[Block]:
    """Return the page."""
    page: list[Block] = [Line(headline(report), VERDICT_STYLE[report.verdict])]
    page += [Line(text) for text in remarks(report)]
    page += [Line(text, "dim") for text in [about(report)] if text]
    if report.cause:
        page.append(Command(command("explain", report.cause.code), label=DETAILS))
    page += steps(report, shown)
    if report.verdict == "yes" and report.pending_pods and not (report.unblock or report.next_steps):
        page += [EmptyLine(), Line(NEXT_STEPS, "bold"), Bullets((_wait(report),))]
    page += way(report.layers, report.basis.moment)
    page += details(report.volcano) if report.volcano is not None else ()
    if report.domains:
        page += [EmptyLine(), *slots(report.domains, report.desired_offer_slot, shown, report.warnings)]
    if report.placement:
        page += [EmptyLine(), *by_node(report.placement, report.gang, shown)]
    if report.nodes:
        page += [EmptyLine(), *_nodes(report.nodes, report.desired_offer_slot)]
    page += outcome_lines(outcomes(report.alternatives), shown)
    page += moves.migrations(report.migrations, shown, of_one_gang=True)
    page += moves.reservations(report.reservations, shown)
    if report.scheduler_says:
        page += [EmptyLine(), scheduler_line(report.scheduler_says, report.basis.moment, shown)]
        page += raw_lines(report.scheduler_says, report.gang)
    is_warning = report.verdict != "yes" and not report.cause and not report.alternatives  # the headline, that is
    warnings = report.warnings[:-1] if is_warning else report.warnings
    return [
        *page,
        *warning_lines([notice for notice in warnings if not report.domains or notice.code != _BESIDE_SLOTS]),
        EmptyLine(),
        basis_line(report.basis, facts(report)),
    ]


def steps(report: WhyReport | FitGang, shown: Shown) -> Iterator[Block]:
    """Yield the ways out and what else to do, or why there is no way out."""
    unblock, next_steps = report.unblock, report.next_steps
    proven = unblock if shown.lines is None else _one_of_each(unblock)
    if report.no_way_out and not proven and all(way.action == "plan-moves" for way in next_steps):
        yield from (EmptyLine(), Line(no_way_out(report.no_way_out)))
        yield from [Bullets(tuple(_as_told(next_steps)))] if next_steps else ()
    elif proven or next_steps:
        yield from (EmptyLine(), Line(next_steps_title(len(proven)), "bold"))
        first = [way for way in next_steps if way.action in _OF_THE_CAUSE]
        others = [way for way in next_steps if way.action not in _OF_THE_CAUSE]
        yield Bullets((*_as_told(first), *_as_told(proven), *_unproven(others, beside_proven=bool(proven))))
        rest = len(unblock) - len(proven)
        if rest:
            yield more_line(and_more(say("{ways} of these kinds", ways=count(rest, "more way"))))
        if report.ways_not_tried:
            yield Line(not_tried(report.ways_not_tried))


def _one_of_each(ways: Sequence[WayOut]) -> list[WayOut]:
    """Return the cheapest way of each kind."""
    first: dict[str, WayOut] = {}
    for way in ways:
        first.setdefault(way.action, way)
    return list(first.values())


def _as_told(ways: Iterable[WayOut]) -> Iterator[Bullet]:
    return (Bullet(way.message, way.command) for way in ways)


def _unproven(ways: Iterable[WayOut], *, beside_proven: bool) -> Iterator[Bullet]:
    for way in ways:
        is_open = beside_proven or way.action in _TRIED_WHOLE
        yield Bullet(unproven(way.message) if is_open else way.message, way.command)


def _nodes(nodes: Sequence[NodeReason], wanted: int | None) -> Iterator[Block]:
    """Return why each node is out, domain by domain."""
    columns = (Column("NODE"), Column("DOMAIN", goes=1), Column("SLOTS"), Column("REASON", flow="wrap"))
    ordered = sorted(nodes, key=lambda node: (node.domain, -node.offer_slots, node.node))
    rows = (
        Row(
            (node.node, node.domain, _of(node.offer_slots, wanted), node.reason),
            "good" if node.offer_slots else "",
        )
        for node in ordered
    )
    yield slim(Table(columns, tuple(rows)))


def _of(slots: int, wanted: int | None) -> str:
    return str(slots) if wanted is None else f"{slots}/{wanted}"


def slots(
    domains: Sequence[SlotRow], wanted: int | None, shown: Shown, warnings: Sequence[Notice] = ()
) -> Iterator[Block]:
    """Yield how many pods each domain takes of those wanted, what is in the way, and what would change that.

    Of the warnings those that are about slots stand there, too.
    """
    ordered = sorted(domains, key=lambda domain: -domain.offer_slots)
    first, rest = parted(ordered, shown.rows)
    layers = {domain.layer for domain in domains}
    noun = layer_noun(ordered[0].layer) if len(layers) == 1 else "domain"
    header = noun.upper()
    columns = (
        Column(header),
        Column("SLOTS"),
        Column("MISSING", right=True, goes=1),
        Column("IN THE WAY", flow="wrap"),
    )
    rows = tuple(_slot_row(domain, wanted, shown, mixed=len(layers) > 1) for domain in first)
    yield slim(Table(columns, rows))
    if rest:
        yield more_line(more_domains(len(rest), rest[0].offer_slots))
    yield from (Line(warning(notice), "warn") for notice in warnings if notice.code == _BESIDE_SLOTS)
    yield from _what_ifs(ordered, noun, shown)


def _what_ifs(domains: Sequence[SlotRow], noun: str, shown: Shown) -> Iterator[Block]:
    """Yield the slots that domains would have if one thing were different, where that differs from now."""
    columns = (
        Column(noun.upper()),
        Column("NOW", right=True),
        Column("TERMINATING GONE", right=True),
        Column("UNCORDONED", right=True),
        Column("NO LOWER PRIORITY", right=True),
        Column("EMPTY", right=True),
    )
    states = [(domain, structs.astuple(domain.what_if)) for domain in domains if domain.what_if is not None]
    differing = [(domain, slots) for domain, slots in states if set(slots) != {domain.offer_slots}]
    if not differing:
        return
    ranked = sorted(differing, key=lambda state: (-max(state[1]), -state[0].offer_slots))
    first, rest = parted(ranked, shown.few)
    is_told = [at >= _ALWAYS_TOLD or any(slots[at] != one.offer_slots for one, slots in differing) for at in range(4)]
    rows = tuple(
        Row(
            (
                domain_name(domain.name),
                str(domain.offer_slots),
                *(str(number) if is_told[at] else "" for at, number in enumerate(slots)),
            )
        )
        for domain, slots in first
    )
    yield from (EmptyLine(), Line(what_if(noun, is_told), "bold"), slim(Table(columns, rows)))
    if rest:
        yield more_line(more(len(rest)))


def _slot_row(domain: SlotRow, wanted: int | None, shown: Shown, *, mixed: bool) -> Row:
    name = domain_name(domain.name)
    if mixed:
        name = f"{layer_noun(domain.layer)} {name}"
    in_the_way = what_is_in_the_way(domain, everything=shown.few is None)
    cells = (name, _of(domain.offer_slots, wanted), str(domain.short), in_the_way)
    return Row(cells, "" if domain.short else "good")
