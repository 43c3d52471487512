"""Reports for programs: one document as JSON or YAML, with the keys that the contract promises."""

import json
import re
from collections.abc import Mapping
from typing import TypeAlias

import msgspec

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
from kubectl_koord.reports.manual import Explanation, Explanations, VersionReport
from kubectl_koord.reports.operation import DiffReport, DoctorReport, SchedulerLogReport, SchedulerReport

Report: TypeAlias = (
    TopologyReport
    | DevicesReport
    | NodeReport
    | DomainReport
    | QuotaTreeReport
    | DoctorReport
    | GangsReport
    | DiffReport
    | FitReport
    | PendingGangsReport
    | WhyReport
    | PreemptReport
    | PlanReport
    | WhyPreemptedReport
    | ChangePlan
    | SchedulerReport
    | SchedulerLogReport
    | Explanation
    | Explanations
    | VersionReport
)

API_VERSION = "kubectl-koord/v1alpha1"

OF_NO_CLUSTER = Explanation | Explanations | VersionReport | SchedulerLogReport
"""The reports that rest on no cluster."""

KINDS: Mapping[type[Report], str] = {
    TopologyReport: "Topology",
    DevicesReport: "Devices",
    NodeReport: "Node",
    DomainReport: "Domain",
    QuotaTreeReport: "QuotaTree",
    DoctorReport: "Doctor",
    GangsReport: "Gangs",
    DiffReport: "Diff",
    FitReport: "Fit",
    PendingGangsReport: "PendingGangs",
    WhyReport: "WhyPending",
    PreemptReport: "PreemptionDryRun",
    PlanReport: "Plan",
    WhyPreemptedReport: "WhyPreempted",
    ChangePlan: "ChangePlan",
    SchedulerReport: "SchedulerMemory",
    SchedulerLogReport: "SchedulerLog",
    Explanation: "Explanation",
    Explanations: "Explanations",
    VersionReport: "Version",
}

# Plain words that YAML 1.2 or Go's reader would take for a number or a truth value, PyYAML would not.
_MISREAD = re.compile(r"[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?|0[oO][0-7]+|[yYnN]")

# PyYAML has no "never": a line is folded after so many characters.
_NEVER_FOLD = 1 << 30


def document(report: Report) -> dict[str, object]:
    """Return the report as plain objects: the envelope first, then the fields in the order of the report."""
    return {"apiVersion": API_VERSION, **_body(report)}


def to_json(report: Report) -> str:
    r"""Return one JSON document, ASCII only: whatever acts on a terminal is `\u`-escaped and parses back unchanged."""
    return json.dumps(document(report), indent=2) + "\n"


def to_json_line(report: Report) -> str:
    """Return the JSON document on a line of its own, for output that goes on."""
    return json.dumps(document(report)) + "\n"


def to_yaml(report: Report) -> str:
    """Return one YAML document, equal to the JSON one, ASCII only."""
    import yaml  # noqa: PLC0415 - imported only for YAML output

    value = document(report)
    try:
        return _dumped(value, getattr(yaml, "CSafeDumper", yaml.SafeDumper))
    except UnicodeEncodeError:  # libyaml cannot write lone surrogates, PyYAML itself can
        return _dumped(value, yaml.SafeDumper)


def _body(report: Report) -> dict[str, object]:
    fields = _fields(report)
    basis = {} if isinstance(report, OF_NO_CLUSTER) else _fields(report.basis)
    fields.pop("basis", None)
    if isinstance(report, PendingGangsReport):
        fields["items"] = [_body(item) for item in report.items]
    head = {"kind": KINDS[type(report)], "verdict": fields.pop("verdict")}
    return {**head, **basis, **fields}


def _fields(value: msgspec.Struct) -> dict[str, object]:
    plain: dict[str, object] = msgspec.to_builtins(value, enc_hook=dict)  # mappings that are no dict
    return {name: _with_lists(held) for name, held in plain.items()}


def _with_lists(value: object) -> object:
    """Return the value with lists in place of tuples, which JSONPath would not take for lists."""
    if isinstance(value, dict):
        return {name: _with_lists(held) for name, held in value.items()}
    return [_with_lists(held) for held in value] if isinstance(value, list | tuple) else value


def _dumped(value: dict[str, object], base: type) -> str:
    import yaml  # noqa: PLC0415

    def text(dumper: yaml.SafeDumper, data: str) -> yaml.ScalarNode:
        style = '"' if "\n" in data or _MISREAD.fullmatch(data) else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", data, style=style)

    # A class of our own: representers belong to the class, and PyYAML's own must not change.
    ours = type("Dumper", (base,), {"ignore_aliases": lambda _self, _data: True})
    yaml.add_representer(str, text, Dumper=ours)
    written = yaml.dump(value, Dumper=ours, sort_keys=False, allow_unicode=False, width=_NEVER_FOLD)
    return str(written)
