"""Which moves make room for a gang, in order, and what they cost."""

from collections.abc import Iterator

from kubectl_koord.diagnosis import coverage
from kubectl_koord.diagnosis.contention import jobs_ahead
from kubectl_koord.engine.gangs import Subject
from kubectl_koord.explain.why import why
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values import Selector
from kubectl_koord.remedies import next_steps
from kubectl_koord.remedies.plan import Found, Move, Unit, Weights, cheapest
from kubectl_koord.remedies.running_pods import evict_command
from kubectl_koord.remedies.search import Search, SearchBudget
from kubectl_koord.reports.jobs import PlanCost, PlanReport, PlanStep, WhyReport
from kubectl_koord.simulation.simulation import Simulation, every_outcome, simulate
from kubectl_koord.simulation.subjects import pending_subjects
from kubectl_koord.wording.facts import help_depends_on
from kubectl_koord.wording.words import count, few, listed, paste

NOT_NEEDED = "Nothing has to be moved: it would be placed as things are."
NOT_ROOM = "It is not room that it lacks, so moves do not help."
NONE = (
    "No moves make room for it: of pods that have an owner, no higher priority and no budget against it, none that are "
    "placed again, or may wait, leave enough."
)
CUT_OFF = "No plan was found, but not all was looked at: the search was cut off."


def plan(snapshot: Snapshot, subject: Subject, weights: Weights, keep: Selector | None = None) -> PlanReport:
    """Return the cheapest plan after which the engine places a gang.

    Args:
        snapshot: the cluster.
        subject: the gang or pod.
        weights: what a plan costs.
        keep: pods whose labels match stay where they are.

    """
    report = why(snapshot, subject, brief=True)
    simulation = simulate(snapshot, subject)
    if report.verdict != "no":
        return _answer(report, report.verdict, NOT_NEEDED if report.verdict == "yes" else "")
    if report.cause is None or report.cause.code not in next_steps.OF_ROOM:
        return _answer(report, "no", NOT_ROOM)
    unevaluated = coverage.not_evaluated(subject, snapshot)
    if unevaluated:
        return _answer(report, "unknown", help_depends_on(unevaluated))
    failed = next(every_outcome(simulation, jobs_ahead(simulation).view, preemption=False))
    search = Search(simulation, failed, SearchBudget(simulation))
    found, is_cut = cheapest(search, weights, keep)
    if found is None:
        gap = snapshot.unread("PodDisruptionBudget", "")
        if gap is not None:
            return _answer(report, "unknown", f"{NONE} Which budgets there are could not be read ({gap.message}).")
        return _answer(report, "unknown" if is_cut else "no", CUT_OFF if is_cut else NONE)
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
        steps=tuple(_steps(simulation, found)),
        cost=PlanCost(round(hours, 1), len(pods), gangs, waiting, round(found.cost, 1)),
        cheapest=found.is_cheapest,
        nodes=tuple(sorted(found.nodes)),
        risks=tuple(_risks(snapshot, subject, found)),
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


def _steps(simulation: Simulation, found: Found) -> Iterator[PlanStep]:
    """Yield the steps: nodes are closed before the first pod leaves, and opened when somebody is to come there."""
    view = simulation.view
    opening = {move.unit.key for move in found.moves if move.unit.kind == "node"}
    closing = [name for name in found.closed if name not in opening and not view.node(name).unschedulable]
    shut = [*closing, *sorted(opening)]
    for name in closing:
        yield PlanStep(
            "cordon",
            name,
            "",
            "",
            f"so that what is moved does not come to {_purpose(name, found)}",
            command=paste("kubectl", "cordon", name),
        )
    for move in found.moves:
        for name in sorted({*move.to} & ({*shut} - opening)):
            shut.remove(name)
            command = paste("kubectl", "uncordon", name)
            yield PlanStep("uncordon", name, "", "", f"{move.unit.key} goes there", command=command)
        step = _step(move, found)
        if step is not None:
            yield step
    for name in shut:
        why = "the gang goes there" if name in found.nodes else "nobody has to stay away any more"
        yield PlanStep("uncordon", name, "", "", why, command=paste("kubectl", "uncordon", name))
    woken = next_steps.wake(simulation) if simulation.has_topology else None
    if woken is not None:
        yield PlanStep(
            "wake-gang",
            simulation.subject.key,
            "",
            "",
            "room that others leave does not wake it",
            command=woken.command,
        )


def _purpose(name: str, found: Found) -> str:
    return "a node that the gang needs" if name in found.nodes else "the node that it leaves"


def _step(move: Move, found: Found) -> PlanStep | None:
    unit = move.unit
    if unit.kind == "node":
        return None  # opened at the end
    if unit.kind == "reservation":
        command = paste("kubectl", "delete", "reservation", unit.key)
        return PlanStep("release-reservation", unit.key, "", "", "what it holds is not used", command=command)
    nodes = sorted({pod.node for pod in unit.pods})
    keys = tuple(pod.key for pod in unit.pods)
    evict = evict_command(keys)
    hours = round(unit.hours, 1)
    here = ", ".join(nodes)
    if unit.waits:
        return PlanStep("requeue", _named(unit), here, "", _waits(unit), keys, hours, evict)
    is_for_gang = not found.nodes or any(name in found.nodes for name in nodes)
    why = "makes room for the gang" if is_for_gang else "makes room for a pod that moves later"
    action = "move-gang" if unit.kind == "gang" else "move-pod"
    if action == "move-gang":
        why += ", as a whole: alone its pods would be too few"
    return PlanStep(action, _named(unit), here, ", ".join(sorted(set(move.to))), why, keys, hours, evict)  # type: ignore[arg-type]


def _named(unit: Unit) -> str:
    return unit.key


def _waits(unit: Unit) -> str:
    owners = sorted({pod.owner for pod in unit.pods})
    return f"finds no other place, and has a lower priority: it waits; scale {listed(owners)} down until the gang runs"


def _risks(snapshot: Snapshot, subject: Subject, found: Found) -> Iterator[str]:
    """Yield what may upset a plan: choices of the scheduler, and others that wait."""
    if found.blocked:
        yield (
            f"Where the scheduler chooses other nodes than these, {found.blocked} may find no place: "
            "look again after each step."
        )
    elif found.choices_cut:
        yield "Not every choice that the scheduler has for the moved pods was followed: look again after each step."
    others = [one.key for one in pending_subjects(snapshot) if one.key != subject.key]
    if others and any(move.to for move in found.moves):
        which = few(others)
        yield f"{which} also {'wait' if len(others) > 1 else 'waits'}, and may take room meanwhile."
    waiting = [pod for move in found.moves if move.unit.waits for pod in move.unit.pods]
    if waiting:
        yield f"What waits ({count(len(waiting), 'pod')}) may come back first unless its owner is scaled down before."
