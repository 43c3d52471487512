"""One row per kind: where it is listed, which questions read it, and what is kept of it."""

import json
from typing import Any

import pytest

from kubectl_koord.cluster import kinds, source, stored
from kubectl_koord.cluster.collect import Collector
from kubectl_koord.cluster.kinds import Kind, bare_name
from kubectl_koord.cluster.lists import ListRequest
from kubectl_koord.cluster.objects.fields import Meta, Named

STORAGE = "/apis/storage.k8s.io/v1"
DRA = "/apis/resource.k8s.io/v1"
UNFINISHED = "fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed"
SIGS = "/apis/scheduling.sigs.k8s.io/v1alpha1"
KOORDINATOR = "/apis/scheduling.koordinator.sh/v1alpha1"
VOLCANO = "/apis/scheduling.volcano.sh/v1beta1"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/koordinator-system/leases"


def test_each_kind_is_listed_at_its_path_and_where_that_is_forbidden_in_one_namespace() -> None:
    assert [(one.kind, one.path, one.namespaced_path) for one in kinds.REQUESTS.values()] == [
        ("Node", "/api/v1/nodes", None),
        ("Pod", f"/api/v1/pods?{UNFINISHED}", f"/api/v1/namespaces/{{namespace}}/pods?{UNFINISHED}"),
        ("ClusterNetworkTopology", f"{KOORDINATOR}/clusternetworktopologies", None),
        (
            "Deployment",
            "/apis/apps/v1/namespaces/koordinator-system/deployments?fieldSelector=metadata.name%3Dkoord-scheduler",
            None,
        ),
        (
            "ConfigMap",
            "/api/v1/namespaces/koordinator-system/configmaps?fieldSelector=metadata.name%3Dkoord-scheduler-config",
            None,
        ),
        ("PodGroup", f"{SIGS}/podgroups", f"{SIGS}/namespaces/{{namespace}}/podgroups"),
        ("ElasticQuota", f"{SIGS}/elasticquotas", None),
        ("Device", f"{KOORDINATOR}/devices", None),
        ("Reservation", f"{KOORDINATOR}/reservations", None),
        ("NodeMetric", "/apis/slo.koordinator.sh/v1alpha1/nodemetrics", None),
        (
            "NodeResourceTopology",
            "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies",
            None,
        ),
        ("Lease", f"{LEASES}?fieldSelector=metadata.name%3Dkoord-scheduler&resourceVersion=", None),
        (
            "PodDisruptionBudget",
            "/apis/policy/v1/poddisruptionbudgets",
            "/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets",
        ),
        (
            "PersistentVolumeClaim",
            "/api/v1/persistentvolumeclaims",
            "/api/v1/namespaces/{namespace}/persistentvolumeclaims",
        ),
        ("PersistentVolume", "/api/v1/persistentvolumes", None),
        ("StorageClass", f"{STORAGE}/storageclasses", None),
        ("CSIDriver", f"{STORAGE}/csidrivers", None),
        ("CSIStorageCapacity", f"{STORAGE}/csistoragecapacities", None),
        ("CSINode", f"{STORAGE}/csinodes", None),
        ("VolumeAttachment", f"{STORAGE}/volumeattachments", None),
        ("ResourceClaim", f"{DRA}/resourceclaims", f"{DRA}/namespaces/{{namespace}}/resourceclaims"),
        ("DeviceClass", f"{DRA}/deviceclasses", None),
        ("ResourceSlice", f"{DRA}/resourceslices", None),
        ("Namespace", "/api/v1/namespaces", None),
        ("PodMigrationJob", f"{KOORDINATOR}/podmigrationjobs", None),
        ("PodGroup.scheduling.volcano.sh", f"{VOLCANO}/podgroups", f"{VOLCANO}/namespaces/{{namespace}}/podgroups"),
        ("Queue.scheduling.volcano.sh", f"{VOLCANO}/queues", None),
    ]


def test_who_asks_about_gangs_lists_finished_pods_too() -> None:
    assert [request.path for request in source.requests(("Pod",))] == [f"/api/v1/pods?{UNFINISHED}"]
    listed = source.requests(("PodGroup", "Pod"))[1]
    assert listed == ListRequest("Pod", "/api/v1/pods", "/api/v1/namespaces/{namespace}/pods")


def test_a_larger_question_reads_all_that_a_smaller_one_does() -> None:
    topology = ("Node", "Pod", "ClusterNetworkTopology", "Deployment", "ConfigMap")
    devices = (*topology, "Device", "Reservation")
    gangs = (
        *topology,
        "PodGroup",
        "ElasticQuota",
        "Device",
        "Reservation",
        "NodeMetric",
        "NodeResourceTopology",
        "Lease",
    )
    disruption = (*gangs, "PodDisruptionBudget")
    assert (topology, devices) == (kinds.TOPOLOGY_KINDS, kinds.DEVICE_KINDS)
    assert (gangs, disruption) == (kinds.GANG_KINDS, kinds.DISRUPTION_KINDS)
    volumes = ("StorageClass", "CSIDriver", "CSIStorageCapacity", "CSINode", "VolumeAttachment")
    assert ("PersistentVolumeClaim", "PersistentVolume", *volumes) == kinds.VOLUME_KINDS
    assert kinds.FIT_KINDS == ("PriorityClass", "LimitRange", "ResourceQuota")
    assert kinds.MANIFEST_KINDS == ("RuntimeClass", "Namespace", "ClusterColocationProfile")
    assert kinds.CLAIM_KINDS == ("ResourceClaim", "DeviceClass", "ResourceSlice")
    assert kinds.NAMESPACE_KINDS == ("Namespace",)
    assert kinds.MIGRATION_KINDS == ("PodMigrationJob",)
    of_volcano = ("PodGroup.scheduling.volcano.sh", "Queue.scheduling.volcano.sh")
    assert (*kinds.MIGRATION_KINDS, *of_volcano) == kinds.ELSEWHERE_KINDS
    assert kinds.TRAIN_JOB_KINDS == ("TrainingRuntime", "ClusterTrainingRuntime")
    optional = (*kinds.CLAIM_KINDS, *kinds.ELSEWHERE_KINDS, *kinds.TRAIN_JOB_KINDS)
    assert {*optional, "ClusterColocationProfile"} == kinds.OPTIONAL_KINDS


def test_a_name_is_no_part_of_a_path_but_one() -> None:
    assert kinds.POD_GROUP.path("a/../b") == f"{SIGS}/namespaces/a%2F..%2Fb/podgroups"


def test_a_new_kind_is_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    row: Kind[Any, Any] = Kind(
        "Switch", Named, KOORDINATOR, "switches", bare_name, "gangs", lambda one: one.metadata.uid
    )
    monkeypatch.setitem(kinds.KINDS, row.name, row)
    monkeypatch.setitem(kinds.WIRE_TYPES, row.name, row.wire_type)
    collector = Collector()
    assert "Switch" in stored.missing_kinds(collector)
    items = [{"kind": "Switch", "metadata": {"name": name, "uid": f"u{name}"}} for name in ("a", "b")]
    part = collector.part()
    stored.take("f", json.dumps({"items": items}).encode(), part)
    part.remove("Switch", Meta("a"))
    collector.merge(part)
    assert "Switch" not in stored.missing_kinds(collector)
    assert collector.values(row) == {"b": "ub"}
    collector.forget("Switch")
    assert collector.values(row) == {}
    assert source.requests(("Switch",)) == [ListRequest("Switch", f"{KOORDINATOR}/switches")]
