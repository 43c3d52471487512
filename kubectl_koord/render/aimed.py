"""The commands of a page or of a report, so that each goes to the cluster that was asked about."""

from collections.abc import Iterable
from typing import TypeVar

from msgspec.structs import replace

from kubectl_koord.render.document import Block, Bullets, Command, Line
from kubectl_koord.render.structured import OF_NO_CLUSTER, Report
from kubectl_koord.reports.explanation import Explanation
from kubectl_koord.reports.jobs.fit import FitReport
from kubectl_koord.reports.jobs.pending import WhyReport
from kubectl_koord.reports.operation.doctor import DoctorReport
from kubectl_koord.reports.ways_out import WayOut
from kubectl_koord.wording.aiming import Aim, aimed, is_for_cluster

R = TypeVar("R", bound=Report)


def page(blocks: Iterable[Block], aim: Aim) -> list[Block]:
    """Return the page with its commands aimed; the note of the aim stands below the last of kubectl's."""
    found: list[Block] = []
    behind = 0
    for block in blocks:
        found.append(_block(block, aim))
        if any(map(is_for_cluster, _commands(block))):
            behind = len(found)
    if aim.note and behind:
        found.insert(behind, Line(aim.note, "dim", indent=2))
    return found


def _block(block: Block, aim: Aim) -> Block:
    match block:
        case Command():
            return replace(block, text=aimed(block.text, aim))
        case Bullets():
            return replace(block, items=tuple(replace(item, command=aimed(item.command, aim)) for item in block.items))
        case _:
            return block


def _commands(block: Block) -> list[str]:
    match block:
        case Command():
            return [block.text]
        case Bullets():
            return [item.command for item in block.items]
        case _:
            return []


def report(answer: Report, aim: Aim) -> Report:
    """Return the answer with its commands aimed, as programs get it; the note of the aim stands in what it rests on."""
    changed: WhyReport | FitReport | DoctorReport
    match answer:
        case WhyReport():
            changed = replace(answer, unblock=_ways(answer.unblock, aim), next_steps=_ways(answer.next_steps, aim))
            commands = [way.command for way in (*answer.unblock, *answer.next_steps)]
        case FitReport():
            gangs = [
                replace(gang, unblock=_ways(gang.unblock, aim), next_steps=_ways(gang.next_steps, aim))
                for gang in answer.gangs
            ]
            changed = replace(answer, gangs=tuple(gangs))
            commands = [way.command for gang in answer.gangs for way in (*gang.unblock, *gang.next_steps)]
        case DoctorReport():
            commands = [finding.command for finding in answer.findings]
            findings = [replace(finding, command=aimed(finding.command, aim)) for finding in answer.findings]
            changed = replace(answer, findings=tuple(findings))
        case Explanation():
            return replace(answer, see=tuple(aimed(command, aim) for command in answer.see))
        case _:
            return answer
    if not any(map(is_for_cluster, commands)):
        return changed
    return replace(changed, basis=replace(changed.basis, commands_for=aim.note))


def _ways(ways: Iterable[WayOut], aim: Aim) -> tuple[WayOut, ...]:
    return tuple(replace(way, command=aimed(way.command, aim)) for way in ways)


def named(answer: R, cluster: str, context: str) -> R:
    """Return the answer with the names of the cluster that was read; one that rests on none stays as it is."""
    if isinstance(answer, OF_NO_CLUSTER) or not (cluster or context):
        return answer
    return replace(answer, basis=replace(answer.basis, cluster=cluster, context=context))
