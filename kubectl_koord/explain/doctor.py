"""What is wrong with a cluster: the findings of every area, the worst first."""

from collections.abc import Collection, Iterable, Mapping

from kubectl_koord.diagnosis import coverage
from kubectl_koord.diagnosis.doctor import (
    of_access,
    of_configuration,
    of_descheduler,
    of_devices,
    of_gangs,
    of_installation,
    of_quotas,
    of_topology,
)
from kubectl_koord.engine.gangs import all_gangs
from kubectl_koord.engine.tree import tree_of
from kubectl_koord.model.installation import Lack, Right
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.common import Verdict
from kubectl_koord.reports.operation import DoctorReport, Finding

_SEVERITIES = ("error", "warning", "info")
_DECISIVE = ("Node", "Pod", "PodGroup", "ClusterNetworkTopology")


def doctor(snapshot: Snapshot, rights: Mapping[str, Right] | None = None, lacks: Collection[Lack] = ()) -> DoctorReport:
    """Return everything that is found wrong.

    Args:
        snapshot: the cluster, with its installation.
        rights: by kind what must be allowed to read it, and which commands do.
        lacks: what commands may not do beside the lists of this reading.
    """
    tree = tree_of(snapshot)
    findings = (
        *of_installation(snapshot),
        *of_configuration(snapshot),
        *of_descheduler(snapshot),
        *of_topology(snapshot, tree),
        *of_devices(snapshot),
        *of_gangs(snapshot, tree),
        *of_quotas(snapshot),
        *of_access(snapshot, rights or {}, lacks),
    )
    return DoctorReport(
        verdict=_verdict(snapshot, findings),
        basis=coverage.basis(snapshot),
        warnings=(*coverage.general(snapshot), *coverage.absent(snapshot, _DECISIVE)),
        findings=tuple(sorted(findings, key=lambda finding: _SEVERITIES.index(finding.severity))),
        nodes=len(snapshot.nodes),
        gangs=len(all_gangs(snapshot)),
    )


def _verdict(snapshot: Snapshot, findings: Iterable[Finding]) -> Verdict:
    """Return no where something is broken, and unknown where it may be: what was refused may hide an error."""
    if any(finding.severity == "error" for finding in findings):
        return "no"
    return "yes" if all(gap.code == "not-in-input" for gap in snapshot.gaps) else "unknown"
