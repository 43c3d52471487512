"""A Snapshot from wherever the user points: the live cluster, files, or the embedded demo cluster."""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from importlib import resources

from kubectl_koord.cluster import files, version
from kubectl_koord.cluster.collect import WIRE_TYPES, Collector
from kubectl_koord.cluster.lists import ListRequest, Pages, read_lists
from kubectl_koord.cluster.stream import read_list
from kubectl_koord.cluster.transport import Transport
from kubectl_koord.errors import KoordError
from kubectl_koord.model.snapshot import Gap, Snapshot

_UNFINISHED = "fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed"
_SCHEDULING = "/apis/scheduling.koordinator.sh/v1alpha1"
_SIGS = "/apis/scheduling.sigs.k8s.io/v1alpha1"
_INSTALLED_IN = "koordinator-system"
_CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/scheduleexplanations.scheduling.koordinator.sh"
_OK = 200

REQUESTS = {
    request.kind: request
    for request in (
        ListRequest("Node", "/api/v1/nodes"),
        ListRequest("Pod", f"/api/v1/pods?{_UNFINISHED}", f"/api/v1/namespaces/{{namespace}}/pods?{_UNFINISHED}"),
        ListRequest("PodGroup", f"{_SIGS}/podgroups", f"{_SIGS}/namespaces/{{namespace}}/podgroups"),
        ListRequest("ClusterNetworkTopology", f"{_SCHEDULING}/clusternetworktopologies"),
        ListRequest(
            "PodDisruptionBudget",
            "/apis/policy/v1/poddisruptionbudgets",
            "/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets",
        ),
        ListRequest("ElasticQuota", f"{_SIGS}/elasticquotas"),
        ListRequest("Device", f"{_SCHEDULING}/devices"),
        ListRequest("Reservation", f"{_SCHEDULING}/reservations"),
        ListRequest("NodeMetric", "/apis/slo.koordinator.sh/v1alpha1/nodemetrics"),
        ListRequest(
            "PersistentVolumeClaim",
            "/api/v1/persistentvolumeclaims",
            "/api/v1/namespaces/{namespace}/persistentvolumeclaims",
        ),
        ListRequest("PersistentVolume", "/api/v1/persistentvolumes"),
        ListRequest("CSINode", "/apis/storage.k8s.io/v1/csinodes"),
        ListRequest(
            "Deployment",
            f"/apis/apps/v1/namespaces/{_INSTALLED_IN}/deployments?fieldSelector=metadata.name%3Dkoord-scheduler",
        ),
        ListRequest(
            "ConfigMap",
            f"/api/v1/namespaces/{_INSTALLED_IN}/configmaps?fieldSelector=metadata.name%3Dkoord-scheduler-config",
        ),
    )
}
"""Where each kind is listed; the last two only tell version and configuration."""

TOPOLOGY_KINDS = ("Node", "Pod", "ClusterNetworkTopology", "Deployment", "ConfigMap")
GANG_KINDS = (
    *TOPOLOGY_KINDS,
    "PodGroup",
    "ElasticQuota",
    "Device",
    "Reservation",
    "NodeMetric",
)
PREEMPTION_KINDS = (*GANG_KINDS, "PodDisruptionBudget")
_VOLUME_KINDS = ("PersistentVolumeClaim", "PersistentVolume", "CSINode")
_WITHOUT_GAP = {"ConfigMap"}  # told by assumed-config


def live(
    transport: Transport,
    kinds: Sequence[str],
    namespace: Callable[[], str],
    chosen_version: str,
    seen: dict[str, int] | None = None,
) -> Snapshot:
    """Return the cluster behind a transport, with a named gap for each kind that may not be read.

    `seen` is counted up, by kind, while objects come.

    Raises:
        KoordError: when the server cannot be reached or answers with anything but a list or a refusal.

    """
    collector = Collector(seen=seen)
    gaps, narrowed = _read(transport, kinds, namespace, collector)
    if "PodGroup" in kinds and collector.has_claims:
        more, _ = _read(transport, _VOLUME_KINDS, namespace, collector)
        gaps += more
    if not chosen_version and "Deployment" not in collector.kinds:
        collector.crd_version = _crd_version(transport)
    return collector.snapshot(
        moment=_now(),
        source="cluster",
        gaps=[gap for gap in gaps if gap.kind not in _WITHOUT_GAP],
        chosen_version=chosen_version,
        namespace_only=namespace() if narrowed else "",
    )


def _read(
    transport: Transport, kinds: Sequence[str], namespace: Callable[[], str], collector: Collector
) -> tuple[list[Gap], bool]:
    """Read lists into the collector; return the gaps, and whether any held one namespace only."""

    def decode(kind: str, pages: Pages) -> Collector:
        part = collector.part()  # a list that expires is read anew, into a part of its own
        for page in pages:
            pages.continue_token = read_list(page, WIRE_TYPES[kind], partial(part.add_all, kind))
        return part

    found = read_lists(transport, [REQUESTS[kind] for kind in kinds], namespace, decode)
    gaps = []
    for value in found.values.values():
        if isinstance(value, Gap):
            gaps.append(value)
        else:
            collector.merge(value)
    gaps += [_only_one_namespace(kind) for kind in sorted(found.namespace_only)]
    return gaps, bool(found.namespace_only)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _only_one_namespace(kind: str) -> Gap:
    return Gap(kind, "one-namespace", "only those of one namespace could be read")


def _crd_version(transport: Transport) -> str | None:
    try:
        body = transport.open(_CRD)
        try:
            content = body.read()
            return version.from_explanation_schema(content) if body.status == _OK else None
        finally:
            body.close()
    except KoordError:
        return None


def from_files(names: Iterable[str], chosen_version: str, seen: dict[str, int] | None = None) -> Snapshot:
    """Return the cluster that the files hold; a kind of which they hold nothing is absent.

    `seen` is counted up, by kind, while objects come.

    Raises:
        KoordError: naming the file, and the object and field in it, that cannot be read.

    """
    collector = Collector(seen=seen)
    files.read(names, collector)
    return _whole(collector, _now(), "file", chosen_version)


def demo(chosen_version: str) -> Snapshot:
    """Return the embedded demo cluster, at the moment for which it was made."""
    collector = Collector()
    files.take("demo", resources.files("kubectl_koord.cluster").joinpath("demo.json").read_bytes(), collector)
    return _whole(collector, "2026-11-01T10:00:00Z", "demo", chosen_version)


def _whole(collector: Collector, moment: str, source: str, chosen_version: str) -> Snapshot:
    gaps = [
        Gap(kind, "not-in-input", f"the input holds no {kind}: taken as absent")
        for kind in files.missing_kinds(collector)
    ]
    return collector.snapshot(moment=moment, source=source, gaps=gaps, chosen_version=chosen_version)
