"""Commands on a page: found in its text, and aimed at the cluster that was asked about."""

import re
from collections.abc import Iterable, Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kubectl_koord.render.document import Block, Bullets, Command, Line
from kubectl_koord.render.structured import OF_NO_CLUSTER, Report
from kubectl_koord.reports.common import WayOut
from kubectl_koord.reports.jobs import FitReport, PlanReport, WhyReport
from kubectl_koord.reports.manual import Explanation
from kubectl_koord.reports.operation import DoctorReport
from kubectl_koord.wording.words import Aim, aimed, first_names, is_for_cluster, more_of_pods

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
    changed: WhyReport | FitReport | DoctorReport | PlanReport
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
        case PlanReport():
            commands = [step.command for step in answer.steps]
            steps = tuple(replace(step, command=aimed(step.command, aim)) for step in answer.steps)
            changed = replace(answer, steps=steps)
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


_T = TypeVar("_T")
# `name`, `name on node`, `name (8 GPU, priority 1000)`, without what the sentence goes on with.
# Chinese has stops of its own, some of them where a list begins.
_STOPS, _BEGINS = "\u3001\uff0c\u3002\uff1b\uff1a\uff08\uff09", "\uff08\uff1a\uff0c\uff1b"
_NAME = rf"[^\s,(){_STOPS}]*[^\s,():;.{_STOPS}]"
_ITEM = rf"{_NAME}(?: on {_NAME})?(?: \([^()]*\))?"
_LIST = re.compile(rf"(?<![^\s({_BEGINS}])({_ITEM}(?:(?:, |\u3001){_ITEM})+)(?:\x20(?:and|\u548c)\x20({_ITEM}))?")
_ITEMS = re.compile(_ITEM)


class Shown(Struct, frozen=True):
    """How much is shown; None is all of it.

    lines: of what a page is about, a listing or a tree. rows: of a table beside it. few: remarks of one
    kind, names within a sentence.
    """

    lines: int | None = None
    rows: int | None = None
    few: int | None = None


EVERYTHING = Shown()
ON_A_SCREEN = Shown(lines=59, rows=15, few=5)


def parted(items: Sequence[_T], most: int | None) -> tuple[Sequence[_T], Sequence[_T]]:
    """Return the items to show and the others: never one alone, it takes the line that would say so."""
    if most is None or len(items) <= most + 1:
        return items, ()
    return items[:most], items[most:]


def folded(text: str, most: int | None) -> str:
    """Return the text with the first few names only of every long list of names in it."""
    return (
        text
        if most is None or (", " not in text and "\u3001" not in text)
        else _LIST.sub(lambda found: _fewer(found, most), text)
    )


_LONG = 4


def in_lines(text: str, most: int | None) -> list[str]:
    """Return a sentence with a long list of pods and their nodes as lines, the first few pods one below the other."""
    found = next((one for one in _LIST.finditer(text) if _is_long(one)), None)
    if found is None:
        return [folded(text, most)]
    names = [*_ITEMS.findall(found[1]), *filter(None, [found[2]])]
    some, rest = parted(names, most)
    lines = [text[: found.start()].rstrip(), *(f"- {name}" for name in some)]
    lines += [f"- {more_of_pods(len(rest))}"] if rest else []
    behind = text[found.end() :].lstrip(";:., ")
    return [*lines, *([f"{behind[0].upper()}{behind[1:]}"] if behind else [])]


def _is_long(found: re.Match[str]) -> bool:
    return found[0].count(" on ") >= _LONG


def _fewer(found: re.Match[str], most: int) -> str:
    names = [*_ITEMS.findall(found[1]), *filter(None, [found[2]])]
    if len(names) <= most + 1:
        return found[0]
    return first_names(names[:most], len(names) - most)
