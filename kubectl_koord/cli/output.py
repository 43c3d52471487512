"""Reports for scripts besides JSON and YAML (`-o name`, `jsonpath=`, `custom-columns=`), their order, and the pager."""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from msgspec import structs

from kubectl_koord.cli import jsonpath
from kubectl_koord.errors import KoordError
from kubectl_koord.language import say
from kubectl_koord.model.values import Requirement, Selector
from kubectl_koord.render.document import Column, Row, Table
from kubectl_koord.render.plain import harmless, to_plain
from kubectl_koord.render.structured import Report, document, to_json, to_yaml
from kubectl_koord.reports.capacity import DevicesReport, DomainReport, NodeReport, QuotaTreeReport, TopologyReport
from kubectl_koord.reports.change import ChangePlan
from kubectl_koord.reports.jobs import (
    FitReport,
    GangsReport,
    PendingGangsReport,
    PlanReport,
    PreemptReport,
    WhyPreemptedReport,
    WhyReport,
)
from kubectl_koord.reports.manual import Explanations
from kubectl_koord.reports.operation import DiffReport, DoctorReport, SchedulerLogReport, SchedulerReport

R = TypeVar("R", bound=Report)

POD_GROUPS, QUOTAS = "podgroup.scheduling.sigs.k8s.io", "elasticquota.scheduling.sigs.k8s.io"
_LISTED: Mapping[type[Report], str] = {
    PendingGangsReport: "items",
    GangsReport: "items",
    DevicesReport: "nodes",
    DoctorReport: "findings",
    QuotaTreeReport: "quotas",
    FitReport: "gangs",
    TopologyReport: "domains",
    WhyPreemptedReport: "pods",
    SchedulerReport: "items",
    SchedulerLogReport: "items",
    Explanations: "items",
}
"""The field of each listing that holds what it lists."""
_NONE = "<none>"
_FIRST_FIELD = re.compile(r"\w+")


def check(form: str, argument: str) -> None:
    """Read the argument of a format, so that a mistake in it is told before anything else is done.

    Raises KoordError, naming what cannot be read in it.
    """
    if form == "jsonpath":
        jsonpath.template(argument)
    else:
        _columns(argument)


def printed(report: Report, output: str) -> str:
    """Return the report in a format other than text. Raises KoordError when nothing in it has a name, for `name`."""
    form, _, argument = output.partition("=")
    match form:
        case "json":
            return to_json(report)
        case "yaml":
            return to_yaml(report)
        case "jsonpath":
            return jsonpath.filled(jsonpath.template(argument), document(report))
        case "custom-columns":
            return _table(report, _columns(argument))
        case _:
            return "".join(f"{harmless(name)}\n" for name in names(report))


def names(report: Report) -> tuple[str, ...]:
    """Return the objects that a report is about, as `kubectl get` takes them: `TYPE/NAME`, each once.

    Raises KoordError for a report that is about no object.
    """
    match report:
        case PendingGangsReport():
            found = [name for item in report.items for name in _of_gang(item)]
        case GangsReport():
            found = [f"{POD_GROUPS}/{_bare(item.gang)}" for item in report.items if item.defined_by == "PodGroup"]
        case FitReport():
            found = [_pod(victim.pod) for gang in report.gangs for victim in gang.victims]
        case WhyReport():
            found = list(_of_gang(report))
        case DiffReport() | DevicesReport() | TopologyReport() | NodeReport() | DomainReport():
            found = [f"node/{name}" for name in _nodes(report)]
        case QuotaTreeReport():
            found = [f"{QUOTAS}/{one.name}" for one in report.quotas if one.namespace]  # the others are no objects
        case PlanReport() | PreemptReport():
            found = list(map(_pod, _restarting(report)))
        case WhyPreemptedReport():
            found = [_pod(one.pod) for one in report.pods]
        case ChangePlan():
            found = [f"{_type(change.object.kind)}/{change.object.name}" for change in report.changes]
        case _:
            raise KoordError(say("error: -o name is for answers about objects of the cluster"))
    return tuple(dict.fromkeys(found))


def _restarting(report: PlanReport | PreemptReport) -> Iterator[str]:
    """Yield the pods that a plan moves, or that preemption ends."""
    if isinstance(report, PlanReport):
        yield from (pod for step in report.steps for pod in step.pods)
    else:
        yield from (victim.pod for victim in report.victims)


def sorted_by(report: R, path: str) -> R:
    """Return a listing in the order of a field of its items; numbers before text, what lacks it last.

    A `-` before the path turns the order round. Raises KoordError when the path cannot be read, or no item may have
    such a field, or the report lists nothing.
    """
    field = _field(report)
    is_downwards, path = path.startswith("-"), path.removeprefix("-")
    steps = jsonpath.path(path)
    items: Sequence[object] = getattr(report, field)
    written = document(report)[field]
    rows = written if isinstance(written, list) else []
    found = [jsonpath.find(steps, row) for row in rows]
    if not any(found):
        _check_field(path, rows)
    keys = list(map(_key, found))
    lacking = [at for at, key in enumerate(keys) if not found[at]]
    having = (at for at in range(len(items)) if found[at])
    order = [*sorted(having, key=keys.__getitem__, reverse=is_downwards), *lacking]
    return structs.replace(report, **{field: tuple(items[at] for at in order)})


def first_of(report: R, most: int) -> R:
    """Return a listing with the first so many of its items. Raises KoordError when the report lists nothing."""
    field = _field(report)
    return structs.replace(report, **{field: getattr(report, field)[:most]})


def _field(report: Report) -> str:
    if type(report) not in _LISTED:
        raise KoordError(say("error: --sort-by and --limit are for listings"))
    return _LISTED[type(report)]


def _check_field(path: str, rows: Sequence[object]) -> None:
    """Refuse a path of which no item has even the first field; what stands behind may be missing in all of them.

    Raises KoordError in kubectl's words, with the nearest of the fields that items have.
    """
    from kubectl_koord.wording.suggestions import near

    known = {name for row in rows if isinstance(row, dict) for name in row}
    first = _FIRST_FIELD.search(path)
    if known and first and first[0] not in known:
        hint = ", ".join(f".{name}" for name in near(first[0], sorted(known)))
        raise KoordError(
            say(
                'error: couldn\'t find any field with path "{{{path}}}" in the list of objects{part}',
                path=path.strip("{}"),
                part=say(", did you mean {hint}?", hint=hint) if hint else "",
            )
        )


def _key(found: Sequence[object]) -> tuple[int, float, str]:
    match found[0] if found else None:
        case None:
            return (2, 0.0, "")
        case bool() | int() | float() as number:
            return (0, float(number), "")
        case other:
            return (1, 0.0, other if isinstance(other, str) else jsonpath.spelled(other))


def _nodes(report: DiffReport | DevicesReport | TopologyReport | NodeReport | DomainReport) -> Sequence[str]:
    match report:
        case NodeReport():
            return (report.node,)
        case DomainReport():
            return report.nodes
        case _:
            return [one.node for one in report.nodes]


def _of_gang(report: WhyReport) -> Iterator[str]:
    if report.defined_by == "PodGroup":
        yield f"{POD_GROUPS}/{_bare(report.gang)}"
    else:
        yield from map(_pod, report.pending_pods or (report.gang,))


def _pod(key: str) -> str:
    return f"pod/{_bare(key)}"


def _type(kind: str) -> str:
    """Return the type of a kind as kubectl prints it, its group included."""
    from kubectl_koord.cluster.kinds import KINDS

    return ".".join(filter(None, (kind.lower(), KINDS[kind].group)))


def _bare(key: str) -> str:
    return key.rpartition("/")[2]


def _columns(argument: str) -> tuple[tuple[str, tuple[jsonpath.Step, ...]], ...]:
    """Return headers and paths of `HEADER:PATH,...`; a comma within brackets divides nothing."""
    if not argument:
        raise KoordError(say("error: custom-columns format specified but no custom columns given"))
    columns = []
    for one in _divided(argument):
        header, colon, path = one.partition(":")
        if not (header and colon and path):
            raise KoordError(
                say("error: unexpected custom-columns spec: {one}, expected <header>:<json-path-expr>", one=one)
            )
        columns.append((header, jsonpath.path(path)))
    return tuple(columns)


def _divided(text: str) -> Iterator[str]:
    depth, begin = 0, 0
    for at, char in enumerate(text):
        depth += {"[": 1, "(": 1, "]": -1, ")": -1}.get(char, 0)
        if char == "," and depth == 0:
            yield text[begin:at]
            begin = at + 1
    yield text[begin:]


def _table(report: Report, columns: Iterable[tuple[str, tuple[jsonpath.Step, ...]]]) -> str:
    written = document(report)
    rows = written[_LISTED[type(report)]] if type(report) in _LISTED else [written]
    paths = tuple(columns)
    cells = [
        Row(tuple(",".join(map(jsonpath.spelled, jsonpath.find(steps, row))) or _NONE for _, steps in paths))
        for row in (rows if isinstance(rows, list) else [])
    ]
    return to_plain([Table(tuple(Column(header) for header, _ in paths), tuple(cells), indent=0)])


_KEY = r"(?:[A-Za-z0-9][-A-Za-z0-9.]*/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?"
_VALUE = r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?"
_EQUALS = re.compile(rf"({_KEY})\s*(==|=|!=)\s*({_VALUE})")
_SET = re.compile(rf"({_KEY})\s+(in|notin)\s*\(([^()]*)\)")
_EXISTS = re.compile(rf"(!?)\s*({_KEY})")
_NUMBER = re.compile(rf"({_KEY})\s*([<>])\s*(-?\d+)")


def parsed(text: str) -> Selector:
    """Return the selector that a text is; an empty one matches everything.

    Raises KoordError, naming the part that is none.
    """
    return Selector(tuple(_requirement(part, text) for part in _parts(text)))


def _parts(text: str) -> Iterator[str]:
    """Yield what commas divide, except within parentheses."""
    if text.strip():
        yield from (part.strip() for part in re.split(r",(?![^()]*\))", text))


def _requirement(part: str, text: str) -> Requirement:
    if found := _EQUALS.fullmatch(part):
        return Requirement(found[1], "NotIn" if found[2] == "!=" else "In", (found[3],))
    if found := _SET.fullmatch(part):
        values = tuple(value.strip() for value in found[3].split(","))
        if all(re.fullmatch(_VALUE, value) for value in values):
            return Requirement(found[1], "In" if found[2] == "in" else "NotIn", values)
    if found := _NUMBER.fullmatch(part):
        return Requirement(found[1], "Gt" if found[2] == ">" else "Lt", (found[3],))
    if found := _EXISTS.fullmatch(part):
        return Requirement(found[2], "DoesNotExist" if found[1] else "Exists")
    raise KoordError(say("error: unable to parse requirement {part!r} of the selector {text!r}", part=part, text=text))


_LESS = {"LESS": "FRX", "LV": "-c"}
"""What the usual pagers are told where the user says nothing: end with a short page, show colours, leave the text."""


def chosen(environ: Mapping[str, str]) -> str:
    """Return the pager to use: KUBECTL_KOORD_PAGER, else PAGER, else less where it is; empty for none.

    `cat` and an empty value are none, and so is what cannot move its cursor.
    """
    named = next((environ[name] for name in ("KUBECTL_KOORD_PAGER", "PAGER") if name in environ), None)
    pager = ("less" if shutil.which("less") else "") if named is None else named.strip()
    return "" if pager == "cat" or environ.get("TERM", "dumb") == "dumb" else pager


def show(pager: str, text: bytes) -> bool:
    """Show text in a pager until its user leaves it; return whether there is such a pager.

    Ctrl-C is for the pager meanwhile.
    """
    environment = _LESS | dict(os.environ)
    before = signal.signal(signal.SIGINT, lambda *_: None)  # the child would inherit that it is ignored
    try:
        child = subprocess.Popen(["/bin/sh", "-c", pager], stdin=subprocess.PIPE, env=environment)  # noqa: S603
        child.communicate(text)
    finally:
        signal.signal(signal.SIGINT, before)
    return child.returncode not in _NO_PAGER


_NO_PAGER = {126, 127}
"""What a shell ends with that cannot run a command."""
