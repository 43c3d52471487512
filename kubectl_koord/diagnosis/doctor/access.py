"""What could not be looked at: CRDs not installed, lists that are forbidden, kinds that a file does not hold."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from msgspec import structs

from kubectl_koord.diagnosis.doctor.finding import found
from kubectl_koord.model.installation import Installation, Lack, Right
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.operation.doctor import Finding
from kubectl_koord.wording.doctor import access as sentences
from kubectl_koord.wording.doctor.naming import first
from kubectl_koord.wording.doctor.remedies import role

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


def of_access(snapshot: Snapshot, rights: Mapping[str, Right], lacks: Collection[Lack] = ()) -> Iterator[Finding]:
    """Yield what could not be read, and which commands rest on it; `lacks` are of what this reading does not list."""
    missing = [gap for gap in snapshot.gaps if gap.code == "missing"]
    crds = [gap.kind for gap in missing if gap.kind in _CRDS]
    if crds:
        yield found("crd-missing", "error", "CustomResourceDefinition", crds, sentences.crds(crds))
    for gap in snapshot.gaps:
        if gap.code == "unavailable" or (gap.code == "missing" and gap.kind not in _CRDS):
            yield found("not-checked", "info", gap.kind, [], sentences.not_checked([gap.kind], gap.message))
    yield from _rights((*_refused(snapshot, rights), *(lack for lack in lacks if lack.is_sure)))
    for lack in lacks:
        if not lack.is_sure:
            message = sentences.not_told(lack.resource, lack.verb, lack.why)
            yield found("not-checked", "info", lack.resource, [], message)
    installed = snapshot.installation or Installation(whole=False)
    if not installed.whole:
        yield from _absent(installed.kinds)


def _refused(snapshot: Snapshot, rights: Mapping[str, Right]) -> Iterator[Lack]:
    for gap in snapshot.gaps:
        if gap.code in {"forbidden", "one-namespace"}:
            right = rights.get(gap.kind, Right(gap.kind))
            yield Lack(right.resource, "list", right.commands, gap.message)


def _rights(lacks: Iterable[Lack]) -> Iterator[Finding]:
    """Yield a finding for all resources that the same is missing for, of the same commands."""
    of: dict[str, list[Lack]] = {}
    for lack in lacks:
        of.setdefault(lack.resource, []).append(lack)
    alike: dict[tuple[tuple[str, tuple[str, ...]], ...], list[str]] = {}
    for resource, some in of.items():
        alike.setdefault(tuple((lack.verb, lack.commands) for lack in some), []).append(resource)
    for missing, resources in alike.items():
        readers = dict.fromkeys(name for verb, names in missing if verb != "watch" for name in names)
        followers = dict.fromkeys(name for verb, names in missing if verb == "watch" for name in names)
        verbs = [verb for verb, _ in missing]
        message = sentences.no_right(resources, verbs, of[resources[0]][0].why, [*readers], [*followers])
        finding = found("rbac-missing", "info", first(resources), [], message)
        objects = tuple(resources) if len(resources) > 1 else ()
        yield structs.replace(finding, objects=objects, command=role([*readers]))


def _absent(held: Collection[str]) -> Iterator[Finding]:
    """Yield the kinds of the installation that the input does not hold."""
    lacking = [kind for kind in _INSTALLED if kind not in held]
    if lacking:
        yield found("not-checked", "info", "Installation", [], sentences.not_checked(lacking))
