"""Which moves make room for a gang, in order, and what they cost."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import structs

from kubectl_koord.diagnosis import coverage
from kubectl_koord.diagnosis.contention import jobs_ahead
from kubectl_koord.engine.gangs import Subject, all_gangs
from kubectl_koord.explain.why import why
from kubectl_koord.language import say
from kubectl_koord.model.pods import RunningPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values import Selector
from kubectl_koord.remedies import next_steps
from kubectl_koord.remedies.defrag import Point, defragment
from kubectl_koord.remedies.plan import Found, Kind, Move, Unit, Weights, again, cheapest
from kubectl_koord.remedies.running_pods import evict_command
from kubectl_koord.remedies.search import Search, SearchBudget
from kubectl_koord.reports.jobs import PlanCost, PlanPoint, PlanReport, PlanStep, WhyReport
from kubectl_koord.simulation.simulation import Simulation, every_outcome, simulate
from kubectl_koord.simulation.subjects import pending_subjects
from kubectl_koord.simulation.what_if import opened
from kubectl_koord.wording.facts import help_depends_on
from kubectl_koord.wording.words import count, few, listed, paste

NOT_NEEDED = say("Nothing has to be moved: it would be placed as things are.")
NOT_ROOM = say("It is not room that it lacks, so moves do not help.")
NONE = say(
    "No moves make room for it: of pods that have an owner, no higher priority and no budget "
    "against it, none that are placed again, or may wait, leave enough."
)
_GANG_GOES, _NOBODY = say("the gang goes there"), say("nobody has to stay away any more")
CUT_OFF = say("No plan was found, but not all was looked at: the search was cut off.")


def plan(
    snapshot: Snapshot, subject: Subject, weights: Weights, keep: Selector | None = None, *, is_there: bool = True
) -> PlanReport:
    """Return the cheapest plan after which the engine places a gang.

    Args:
        snapshot: the cluster.
        subject: the gang or pod.
        weights: what a plan costs.
        keep: pods whose labels match stay where they are.
        is_there: whether the gang exists, so that it may have to be woken.
    """
    report = why(snapshot, subject, brief=True)
    if report.verdict == "yes":
        return _answer(report, "yes", NOT_NEEDED)
    simulation = simulate(snapshot, subject)
    search = _search(simulation, report)
    if isinstance(search, PlanReport):
        return search
    found, is_cut = cheapest(search, weights, keep)
    if found is None:
        gap = snapshot.unread("PodDisruptionBudget", "")
        if gap is not None:
            return _answer(
                report,
                "unknown",
                say("{none} Which budgets there are could not be read ({message}).", none=NONE, message=gap.message),
            )
        return _answer(report, "unknown" if is_cut else "no", CUT_OFF if is_cut else NONE)
    planned = _planned(report, simulation, found)
    return planned if is_there else structs.replace(planned, steps=tuple(_without_wake(planned.steps)))


def defrag(snapshot: Snapshot, subject: Subject, weights: Weights, keep: Selector | None = None) -> PlanReport:
    """Return how many gangs of a shape fit, and which moves make room for more of them, the fewest for each.

    Pods that wait are left out: they would take room that is free now.

    Args:
        snapshot: the cluster with a gang of that shape.
        subject: the gang.
        weights: what a move costs.
        keep: pods whose labels match stay where they are.

    """
    alone = structs.replace(snapshot, pending=subject.pending)
    report = why(alone, subject, brief=True)
    simulation = simulate(alone, subject)
    if report.verdict != "yes":
        search = _search(simulation, report)
        if isinstance(search, PlanReport):
            return search
    room = defragment(simulation, weights, keep)
    which = say("{gangs} of {pods}", gangs=count(room.now, "gang"), pods=count(len(subject.pending), "pod"))
    if room.now_cut:
        return _answer(report, "yes", say("At least {which} fit now: further they were not counted.", which=which))
    now = say("{which} {fit} now", which=which, fit="fits" if room.now == 1 else "fit")
    curve = (PlanPoint(room.now, 0, 0, 0, fewest=True), *map(_point, room.points))
    if room.found is None:
        more = say("whether moves make room for more was not looked at to the end") if room.is_cut else _NO_MORE
        none = _answer(report, "unknown" if room.is_cut else "no", say("{now}; {more}.", now=now, more=more))
        return structs.replace(none, cause=None, curve=curve)
    last = room.points[-1]
    gangs = {
        move.unit.key: next(point.gangs for point in room.points if index < point.moves)
        for index, move in enumerate(room.found.moves)
    }
    planned = _planned(report, simulation, room.found)
    ends = say(", which is as far as was looked") if room.is_cut else ""
    return structs.replace(
        planned,
        steps=tuple(_for_room(step, gangs) for step in _without_wake(planned.steps)),
        risks=(*_risks(snapshot, subject, room.found), _OPEN_AGAIN),
        message=say(
            "{now}, {gangs} after {pods} moved{ends}.",
            now=now,
            gangs=last.gangs,
            pods=count(last.pods, "pod"),
            ends=ends,
        ),
        curve=curve,
    )


_NO_MORE = say("no moves make room for more")
_OPEN_AGAIN = say("Once the nodes are open again, whoever waits or comes next may take the room.")


def _point(one: Point) -> PlanPoint:
    return PlanPoint(one.gangs, one.moves, one.pods, round(one.hours, 1), one.is_least)


def _for_room(step: PlanStep, gangs: Mapping[str, int]) -> PlanStep:
    """Return a step with why it is taken where room is made for gangs that are not there."""
    told = {"cordon": say("so that what is moved does not come to a node that is to be free")}
    if step.action == "uncordon" and step.why == _GANG_GOES:
        return structs.replace(step, why=_NOBODY)
    if step.object in gangs and step.pods:
        return structs.replace(step, why=say("makes room for {gangs}", gangs=count(gangs[step.object], "gang")))
    return structs.replace(step, why=told.get(step.action, step.why))


def _without_wake(steps: Iterable[PlanStep]) -> Iterator[PlanStep]:
    return (step for step in steps if step.action != "wake-gang")


def rest(
    snapshot: Snapshot,
    subject: Subject,
    steps: Sequence[PlanStep],
    closed: Collection[str],
    weights: Weights,
    keep: Selector | None = None,
) -> PlanReport:
    """Return what is left of a plan in the cluster as it is, tried in the engine again: no other pods are moved.

    The verdict is no with a message where it does not hold any more.

    Args:
        snapshot: the cluster.
        subject: the gang or pod.
        steps: those that were not done.
        closed: the nodes that those which were done have closed, and not opened.
        weights: what a plan costs.
        keep: pods whose labels match stay where they are.
    """
    nodes = {name: opened(node) if name in closed else node for name, node in snapshot.nodes.items()}
    snapshot = structs.replace(snapshot, nodes=nodes)
    report, simulation = why(snapshot, subject, brief=True), simulate(snapshot, subject)
    found: Found | str = Found((), (), (), (), 0, is_cheapest=True)
    if report.verdict != "yes":
        search = _search(simulation, report)
        if isinstance(search, PlanReport):
            return search
        found = again(search, weights, keep, _units(snapshot, steps, closed))
    if isinstance(found, str):
        return _answer(report, "no", found)
    told = {(step.action, step.object): step.why for step in steps}
    left = _planned(report, simulation, found, closed)
    each = (structs.replace(step, why=told.get((step.action, step.object), step.why)) for step in left.steps)
    return structs.replace(left, steps=tuple(each))


def _units(snapshot: Snapshot, steps: Sequence[PlanStep], closed: Collection[str]) -> Iterator[tuple[Kind, str, bool]]:
    """Yield what steps move, open or release, and whether it waits; not the nodes that the plan itself closes."""
    closing = {step.object for step in steps if step.action == "cordon"} | {*closed}
    gangs = all_gangs(snapshot)
    for step in steps:
        match step.action:
            case "move-pod":
                yield "pod", step.object, False
            case "move-gang":
                yield "gang", step.object, False
            case "requeue":
                yield ("gang" if step.object in gangs else "pod"), step.object, True
            case "release-reservation":
                yield "reservation", step.object, False
            case "uncordon" if step.object not in closing:
                yield "node", step.object, False
            case _:
                pass


def replacements(step: PlanStep, before: Snapshot, now: Snapshot) -> tuple[str, ...]:
    """Return the pods on nodes that were made anew for those that a step evicted."""
    gone = [pod for pod in _running(before) if pod.key in step.pods]
    there = {(pod.key, pod.created) for pod in _running(before)}
    owners = {(pod.namespace, pod.owner) for pod in gone}
    return tuple(
        pod.key
        for pod in _running(now)
        if (pod.namespace, pod.owner) in owners and (pod.key, pod.created) not in there and not pod.terminating
    )


def _running(snapshot: Snapshot) -> Iterator[RunningPod]:
    return (pod for there in snapshot.running.values() for pod in there)


def missing(step: PlanStep, before: Snapshot, now: Snapshot) -> str:
    """Return what has not come about of a step that was sent, empty where all has."""
    match step.action:
        case "cordon" | "uncordon":
            node = now.nodes.get(step.object)
            is_seen = node is None or node.unschedulable == (step.action == "cordon")
            return "" if is_seen else say("{object} is not seen {action}ed", object=step.object, action=step.action)
        case "release-reservation":
            is_there = any(one.name == step.object for one in now.reservations)
            return say("Reservation {object} still holds its room", object=step.object) if is_there else ""
        case "wake-gang":
            return ""
        case _:
            evicted = {(pod.key, pod.created) for pod in _running(before) if pod.key in step.pods}
            left = [pod.key for pod in _running(now) if (pod.key, pod.created) in evicted]
            if left:
                return say("{left} {have} not ended", left=listed(left), have="has" if len(left) == 1 else "have")
            come = len(replacements(step, before, now))
            if step.action == "requeue" or come >= len(step.pods):
                return ""
            return say(
                "{come} of {pods} made anew for {object} stand on a node",
                come=come,
                pods=count(len(step.pods), "pod"),
                object=step.object,
            )


def _search(simulation: Simulation, report: WhyReport) -> Search | PlanReport:
    """Return where to look for moves, or the answer where these cannot help, or nobody can tell."""
    if report.verdict != "no":
        return _answer(report, report.verdict, "")
    if report.cause is None or report.cause.code not in next_steps.OF_ROOM:
        return _answer(report, "no", NOT_ROOM)
    unevaluated = coverage.not_evaluated(simulation.subject, simulation.snapshot)
    if unevaluated:
        return _answer(report, "unknown", help_depends_on(unevaluated))
    failed = next(every_outcome(simulation, jobs_ahead(simulation).view, preemption=False))
    return Search(simulation, failed, SearchBudget(simulation))


def _planned(report: WhyReport, simulation: Simulation, found: Found, closed: Collection[str] = ()) -> PlanReport:
    moved = [move.unit for move in found.moves]
    pods = [pod for unit in moved for pod in unit.pods]
    waiting = sum(len(unit.pods) for unit in moved if unit.waits)
    hours = sum(unit.hours for unit in moved)
    gangs = sum(unit.kind == "gang" for unit in moved)
    return PlanReport(
        verdict="yes",
        basis=report.basis,
        warnings=report.warnings,
        gang=report.gang,
        pods=len(report.pending_pods),
        steps=tuple(_steps(simulation, found, closed)),
        cost=PlanCost(
            round(hours, 1), len(pods), gangs, waiting, round(found.cost, 1), sum(unit.budgets for unit in moved)
        ),
        cheapest=found.is_cheapest,
        nodes=tuple(sorted(found.nodes)),
        risks=tuple(_risks(simulation.snapshot, simulation.subject, found)),
    )


def _answer(report: WhyReport, verdict: str, message: str) -> PlanReport:
    return PlanReport(
        verdict=verdict,  # type: ignore[arg-type]
        basis=report.basis,
        warnings=report.warnings,
        gang=report.gang,
        pods=len(report.pending_pods),
        cause=report.cause,
        message=message,
    )


def _steps(simulation: Simulation, found: Found, closed: Collection[str]) -> Iterator[PlanStep]:
    """Yield the steps: nodes are closed before the first pod leaves, and opened when somebody is to come there.

    `closed` are those that are closed already for this plan.
    """
    view = simulation.view
    opening = {move.unit.key for move in found.moves if move.unit.kind == "node"}
    closing = [name for name in found.closed if name not in {*opening, *closed} and not view.node(name).unschedulable]
    shut = [*sorted({*closing, *closed}), *sorted(opening)]
    for name in closing:
        yield PlanStep(
            "cordon",
            name,
            "",
            "",
            say("so that what is moved does not come to {purpose}", purpose=_purpose(name, found)),
            command=paste("kubectl", "cordon", name),
        )
    for move in found.moves:
        for name in sorted({*move.to} & ({*shut} - opening)):
            shut.remove(name)
            command = paste("kubectl", "uncordon", name)
            yield PlanStep("uncordon", name, "", "", say("{key} goes there", key=move.unit.key), command=command)
        step = _step(move, found, simulation.snapshot.moment)
        if step is not None:
            yield step
    for name in shut:
        why = _GANG_GOES if name in found.nodes else _NOBODY
        yield PlanStep("uncordon", name, "", "", why, command=paste("kubectl", "uncordon", name))
    woken = next_steps.wake(simulation) if simulation.has_topology else None
    if woken is not None:
        yield PlanStep(
            "wake-gang",
            simulation.subject.key,
            "",
            "",
            say("room that others leave does not wake it"),
            command=woken.command,
        )


def _purpose(name: str, found: Found) -> str:
    return say("a node that the gang needs") if name in found.nodes else say("the node that it leaves")


def _step(move: Move, found: Found, moment: str) -> PlanStep | None:
    unit = move.unit
    if unit.kind == "node":
        return None  # opened at the end
    if unit.kind == "reservation":
        patch = f'{{"spec":{{"expires":"{moment}"}}}}'
        command = paste("kubectl", "patch", "reservation", unit.key, "--type", "merge", "-p", patch)
        return PlanStep("release-reservation", unit.key, "", "", say("what it holds is not used"), command=command)
    nodes = sorted({pod.node for pod in unit.pods})
    keys = tuple(pod.key for pod in unit.pods)
    evict = evict_command(keys)
    hours = round(unit.hours, 1)
    here = ", ".join(nodes)
    if unit.waits:
        return PlanStep("requeue", _named(unit), here, "", _waits(unit), keys, hours, evict)
    is_for_gang = not found.nodes or any(name in found.nodes for name in nodes)
    why = say("makes room for the gang") if is_for_gang else say("makes room for a pod that moves later")
    action = "move-gang" if unit.kind == "gang" else "move-pod"
    if action == "move-gang":
        why += say(", as a whole: alone its pods would be too few")
    return PlanStep(action, _named(unit), here, ", ".join(sorted(set(move.to))), why, keys, hours, evict)  # type: ignore[arg-type]


def _named(unit: Unit) -> str:
    return unit.key


def _waits(unit: Unit) -> str:
    owners = sorted({pod.owner for pod in unit.pods})
    return say(
        "finds no other place, and has a lower priority: it waits; scale {owners} down until the gang runs",
        owners=listed(owners),
    )


def _risks(snapshot: Snapshot, subject: Subject, found: Found) -> Iterator[str]:
    """Yield what may upset a plan: choices of the scheduler, and others that wait."""
    if found.blocked:
        yield (
            say(
                "Where the scheduler chooses other nodes than these, {blocked} may find no place: look again "
                "after each step.",
                blocked=found.blocked,
            )
        )
    elif found.choices_cut:
        yield say(
            "Not every choice that the scheduler has for the moved pods was followed: look again after each step."
        )
    others = [one.key for one in pending_subjects(snapshot) if one.key != subject.key]
    if others and any(move.to for move in found.moves):
        which = few(others)
        yield say(
            "{which} also {waits}, and may take room meanwhile.",
            which=which,
            waits="wait" if len(others) > 1 else "waits",
        )
    waiting = [pod for move in found.moves if move.unit.waits for pod in move.unit.pods]
    if waiting:
        yield say(
            "What waits ({pods}) may come back first unless its owner is scaled down before.",
            pods=count(len(waiting), "pod"),
        )
