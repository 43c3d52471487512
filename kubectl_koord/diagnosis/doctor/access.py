"""What could not be looked at: CRDs not installed, lists that are forbidden, kinds that a file does not hold."""

from collections.abc import Collection, Iterator, Mapping

from kubectl_koord.diagnosis.doctor.finding import found
from kubectl_koord.model.installation import Installation, Right
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.operation.doctor import Finding
from kubectl_koord.wording.doctor import access as sentences

_CRDS = {
    "PodGroup",
    "ElasticQuota",
    "ClusterNetworkTopology",
    "Device",
    "Reservation",
    "NodeMetric",
    "NodeResourceTopology",
}
_INSTALLED = (
    "Deployment",
    "ConfigMap",
    "PriorityClass",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
)


def of_access(snapshot: Snapshot, rights: Mapping[str, Right]) -> Iterator[Finding]:
    """Yield what could not be read, and which commands rest on it.

    Whether one has a right is only told by what was refused: a SelfSubjectAccessReview would be a POST.
    """
    missing = [gap for gap in snapshot.gaps if gap.code == "missing"]
    crds = [gap.kind for gap in missing if gap.kind in _CRDS]
    if crds:
        yield found("crd-missing", "error", "CustomResourceDefinition", crds, sentences.crds(crds))
    for gap in snapshot.gaps:
        if gap.code == "unavailable" or (gap.code == "missing" and gap.kind not in _CRDS):
            yield found("not-checked", "info", gap.kind, [], sentences.not_checked([gap.kind], gap.message))
    for gap in snapshot.gaps:
        if gap.code in {"forbidden", "one-namespace"}:
            right = rights.get(gap.kind, Right(gap.kind))
            message = sentences.no_right(right.resource, gap.message, right.commands)
            yield found("rbac-missing", "info", right.resource, [], message)
    installed = snapshot.installation or Installation(whole=False)
    if not installed.whole:
        yield from _absent(installed.kinds)


def _absent(held: Collection[str]) -> Iterator[Finding]:
    """Yield the kinds of the installation that the input does not hold."""
    lacking = [kind for kind in _INSTALLED if kind not in held]
    if lacking:
        yield found("not-checked", "info", "Installation", [], sentences.not_checked(lacking))
