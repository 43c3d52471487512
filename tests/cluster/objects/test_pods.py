"""Pods from the API: who waits, runs or is finished, and what its labels and annotations say."""

from typing import Any

import msgspec
import pytest
from msgspec import structs

from kubectl_koord.cluster.objects import pods
from kubectl_koord.cluster.objects.pod_wire import Pod
from kubectl_koord.cluster.objects.pods import PodPool
from kubectl_koord.model.pods import (
    SCHEDULER_LABEL,
    Condition,
    FinishedPod,
    GangAnnotations,
    Marks,
    PendingPod,
    RunningPod,
)
from kubectl_koord.model.quotas import quota_labels
from kubectl_koord.model.reservations import OwnerReference
from kubectl_koord.model.values import PackedLabels
from tests.cluster.objects.wire import Json, finished, pending, pod, read, running

GANG = "gang.scheduling.koordinator.sh/"
LABEL = "pod-group.scheduling.sigs.k8s.io"


@pytest.mark.parametrize(
    ("field", "label", "counts"),
    [
        ({}, {}, "default-scheduler"),
        ({"schedulerName": "koord-scheduler"}, {}, "koord-scheduler"),
        ({"schedulerName": "koord-scheduler"}, {SCHEDULER_LABEL: "other"}, "other"),
        ({"schedulerName": "koord-scheduler"}, {SCHEDULER_LABEL: ""}, ""),
        ({"schedulerName": "koord-scheduler"}, {SCHEDULER_LABEL: None}, "koord-scheduler"),
        ({}, {SCHEDULER_LABEL: "koord-scheduler"}, "koord-scheduler"),
    ],
)
def test_a_label_counts_in_place_of_the_name_of_the_scheduler(field: Json, label: Json, counts: str) -> None:
    assert pending(labels=label, **field).scheduler == counts


def test_a_pod_without_a_node_waits() -> None:
    found = pending(
        namespace="ml",
        labels={LABEL: "job", "app": "web"},
        annotations={
            GANG + "network-topology-index": "3",
            "scheduling.koordinator.sh/network-topology-selector": "ring",
        },
        creationTimestamp="2026-11-20T09:00:00Z",
        ownerReferences=[{"kind": "Set", "name": "s"}, {"kind": "Job", "name": "j", "controller": True}],
        priority=7,
        preemptionPolicy="Never",
        schedulerName="koord-scheduler",
        schedulingGates=[{"name": "kueue"}],
        status={
            "nominatedNodeName": "n9",
            "conditions": [
                {"type": "Ready", "status": "False"},
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "reason": "Unschedulable",
                    "message": "0/3",
                    "lastTransitionTime": "2026-11-20T09:30:00Z",
                },
            ],
        },
    )
    assert found == PendingPod(
        namespace="ml",
        name="p",
        priority=7,
        requirements=found.requirements,
        scheduler="koord-scheduler",
        gang="ml/job",
        needs_pod_group=True,
        gang_terms=GangAnnotations(),
        never_preempts=True,
        index=3,
        selector="ring",
        nominated="n9",
        gates=("kueue",),
        condition=Condition("Unschedulable", "0/3", "2026-11-20T09:30:00Z"),
        created="2026-11-20T09:00:00Z",
        owner="Job/j",
        labels=(("app", "web"), (LABEL, "job")),
        owners=(OwnerReference("Set", "s"), OwnerReference("Job", "j", controller=True)),
    )


def test_a_pod_with_a_node_runs() -> None:
    found = running(
        labels={"scheduling.koordinator.sh/questioned-object-key": "x", LABEL + "/name": "old"},
        annotations={"scheduling.koordinator.sh/network-topology-selector": "ring"},
        deletionTimestamp="2026-11-20T09:59:00Z",
        ownerReferences=[{"kind": "Set", "name": "s"}],
        status={
            "phase": "Running",
            "conditions": [
                {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"},
                {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-11-20T09:01:00Z"},
            ],
        },
    )
    assert structs.replace(found, labels=tuple(found.labels)) == RunningPod(
        namespace="default",
        name="p",
        node="n1",
        priority=0,
        requirements=found.requirements,
        gang="default/old",
        owner="Set/s",
        labels=((LABEL + "/name", "old"), ("scheduling.koordinator.sh/questioned-object-key", "x")),
        scheduled="2026-11-20T09:01:00Z",
        marks=Marks(
            "x",
            terminating=True,
            preempted=True,
            selector="ring",
            gone_by="2026-11-20T09:59:00Z",
            gang_terms=GangAnnotations(),
        ),
    )


def test_a_pod_with_a_node_says_what_its_gang_is_like_unless_that_is_a_pod_groups() -> None:
    annotations = {GANG + "name": "c", GANG + "min-available": "4"}
    assert running(annotations=annotations).gang_terms == GangAnnotations("4")
    assert running(labels={LABEL + "/name": "b", LABEL + "/min-available": "2"}).gang_terms == GangAnnotations("2")
    assert running(labels={LABEL: "a"}, annotations=annotations).gang_terms is None
    assert running(annotations={GANG + "min-available": "4"}).gang_terms is None


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
@pytest.mark.parametrize("node", ["n1", None])
def test_a_finished_pod_is_a_child_wherever_it_was(phase: str, node: str | None) -> None:
    found = finished(nodeName=node, labels={LABEL: "job"}, status={"phase": phase})
    assert found == FinishedPod("default", "p", "default/job", was_bound=node is not None)


@pytest.mark.parametrize(
    ("labels", "annotations", "gang", "needs"),
    [
        ({}, {}, "", False),
        ({LABEL: "a", LABEL + "/name": "b"}, {GANG + "name": "c"}, "default/a", True),
        ({LABEL: "", LABEL + "/name": "b"}, {GANG + "name": "c"}, "default/b", False),
        ({LABEL: None}, {GANG + "name": "c"}, "default/c", False),
        ({"scheduling.x-k8s.io/pod-group": "d"}, {}, "", False),
    ],
)
def test_a_gang_is_named_in_three_ways_and_the_first_wins(
    labels: dict[str, Any], annotations: dict[str, Any], gang: str, *, needs: bool
) -> None:
    found = pending(labels=labels, annotations=annotations)
    assert (found.gang, found.needs_pod_group) == (gang, needs)


def test_what_a_pod_says_of_its_gang() -> None:
    found = pending(
        labels={LABEL + "/min-available": "4"},
        annotations={
            GANG + "name": "job",
            GANG + "min-available": "9",
            GANG + "total-number": "5",
            GANG + "mode": "NonStrict",
            GANG + "groups": "[]",
            GANG + "network-topology-spec": "{}",
            LABEL + "/match-policy": "only-waiting",
        },
    )
    assert found.gang_terms == GangAnnotations("4", "5", "NonStrict", "only-waiting", "[]", "{}")


def test_annotations_stand_in_for_labels() -> None:
    annotations = {GANG + "min-available": "9", GANG + "match-policy": "a", LABEL + "/match-policy": "b"}
    assert pending(annotations=annotations).gang_terms == GangAnnotations("9", match_policy="a")


@pytest.mark.parametrize(
    ("written", "index"),
    [
        ("0", 0),
        ("007", 7),
        ("+7", 7),
        ("9223372036854775807", 9223372036854775807),
        ("9223372036854775808", None),
        ("-1", None),
        ("-0", 0),
        ("1.0", None),
        ("", None),
        (" 1", None),
        ("٣", None),
        (None, None),
    ],
)
def test_an_index_is_a_whole_number_from_zero(written: str | None, index: int | None) -> None:
    assert pending(annotations={GANG + "network-topology-index": written}).index == index


@pytest.mark.parametrize(
    ("labels", "spared"),
    [
        ({"scheduling.koordinator.sh/disable-preemptible": "true"}, True),
        ({"scheduling.koordinator.sh/disable-preemptible": "false"}, False),
        ({"quota.scheduling.koordinator.sh/preemptible": "false"}, True),
        ({"quota.scheduling.koordinator.sh/preemptible": "true"}, False),
        (None, False),
    ],
)
def test_two_labels_protect_from_preemption(labels: dict[str, str] | None, *, spared: bool) -> None:
    assert running(labels=labels).protected == spared


@pytest.mark.parametrize(
    "condition",
    [
        {"type": "DisruptionTarget", "status": "False", "reason": "PreemptionByScheduler"},
        {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"},
        {"type": "Ready", "status": "True"},
    ],
)
def test_only_the_schedulers_preemption_makes_a_victim(condition: dict[str, str]) -> None:
    assert not running(status={"conditions": [condition]}).preempted


@pytest.mark.parametrize(
    ("message", "preemptor"),
    [
        (
            "s: preempting to accommodate higher priority pods, preemptor: default/a,default/b, triggerPod: a/a-0",
            "default/a,default/b",
        ),
        ("koord-scheduler: preempting to accommodate a higher priority pod", ""),
        ("", ""),
    ],
)
def test_a_victim_names_the_job_for_which_it_ends(message: str, preemptor: str) -> None:
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "message": message}
    assert running(status={"conditions": [condition]}).preemptor == preemptor


def test_of_a_daemon_set_it_is_told_whether_a_pod_is_ready() -> None:
    owners = [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "koordlet", "uid": "1", "controller": True}]
    no, yes = ({"conditions": [{"type": "Ready", "status": status}]} for status in ("False", "True"))
    assert running(ownerReferences=owners, status=no).marks.unready
    assert not running(ownerReferences=owners, status=yes).marks.unready
    assert not running(ownerReferences=owners, status={}).marks.unready
    assert not running(status=no).marks.unready


def test_a_scheduled_pod_has_no_condition_to_show() -> None:
    assert pending(status={"conditions": [{"type": "PodScheduled", "status": "True"}]}).condition is None


def test_what_the_api_leaves_out_has_its_defaults() -> None:
    found = pending(labels=None, annotations=None, status={"conditions": None})
    assert (found.scheduler, found.priority, found.namespace, found.owner) == ("default-scheduler", 0, "default", "")


def test_pods_that_are_equal_in_it_share_their_shape() -> None:
    found = read(pod("a", requests={"cpu": 1}), pod("b", requests={"cpu": "1000m"}), pod("c", requests={"cpu": "2"}))
    one, two, three = (each.requirements for each in found.pending)
    assert one is two
    assert one is not three


@pytest.mark.parametrize(
    ("fields", "marker"),
    [
        ({"labels": {"scheduling.x-k8s.io/pod-group": "job"}}, "scheduling.x-k8s.io/pod-group"),
        ({"annotations": {"scheduling.k8s.io/group-name": "job"}}, "scheduling.k8s.io/group-name"),
        ({"labels": {"scheduling.x-k8s.io/pod-group": ""}}, ""),
        ({"schedulingGroup": {"podGroupName": "native"}}, "spec.schedulingGroup"),
        ({"schedulingGroup": {"podGroupName": "native"}, "labels": {LABEL: "job"}}, ""),
        ({"schedulingGroup": {}}, ""),
        ({"workloadRef": {"name": "native", "podGroup": "workers"}}, "spec.workloadRef"),
        ({"workloadRef": {}}, ""),
        ({"labels": {"scheduling.x-k8s.io/pod-group": "job", LABEL: "job"}}, ""),
        ({}, ""),
    ],
)
def test_the_marker_of_another_gang_scheduler_is_kept_where_it_is_the_only_one(
    fields: dict[str, Any], marker: str
) -> None:
    assert pending(**fields).foreign_gang == marker


def test_names_of_volumes_that_tie_a_pod_to_nothing_do_not_part_shapes() -> None:
    def with_token(name: str, *more: Json) -> Json:
        return pod(name, nodeName="n1", volumes=[{"name": f"kube-api-access-{name}", "projected": {}}, *more])

    claim = {"name": "d", "persistentVolumeClaim": {"claimName": "data"}}
    one, other, tied = read(with_token("a"), with_token("b"), with_token("c", claim)).running["n1"]
    assert one.requirements is other.requirements
    assert (one.requirements.claims, tied.requirements.claims) == ((), ("data",))


def test_a_running_pod_keeps_its_labels_in_the_order_of_their_names_however_they_were_written() -> None:
    labels = {"b": None, "a": "ä\0"}
    assert tuple(running(labels=labels).labels) == (("a", "ä\0"), ("b", ""))
    assert running(labels=labels).labels == running(labels={"a": "ä\0", "b": ""}).labels


def test_what_labels_say_to_quotas_is_found_out_once_and_shared() -> None:
    def labelled(number: int, **more: str | None) -> Json:
        return {
            "unique": f"{number}",
            **{f"quota.scheduling.koordinator.sh/{name}": text for name, text in more.items()},
        }

    every = (labelled(1, name="a"), labelled(2, name="a"), labelled(3, preemptible="false", name=None), labelled(4))
    written = [pod(f"p{number}", labels=each, nodeName="n1") for number, each in enumerate(every)]
    pods = read(*written).running["n1"]
    first, second, *_ = (quota_labels(one.labels) for one in pods)
    assert first is second
    assert [quota_labels(one.labels) for one in pods] == [("a", None), ("a", None), ("", "false"), (None, None)]
    assert [quota_labels(tuple(one.labels)) for one in pods] == [quota_labels(one.labels) for one in pods]


def test_pods_with_equal_labels_share_them() -> None:
    labels = ({"x": "1", "y": "2"}, {"x": "1", "y": "2"}, {"x": "1", "y": "3"})
    written = [pod(name, labels=each, nodeName="n1") for name, each in zip("abc", labels, strict=True)]
    first, second, other = read(*written).running["n1"]
    assert isinstance(first.labels, PackedLabels)
    assert first.labels is second.labels
    assert isinstance(other.labels, PackedLabels)
    assert first.labels.names is other.labels.names


def test_a_pod_without_details_is_the_same_but_for_labels_owner_and_times() -> None:
    labels = {
        "scheduling.koordinator.sh/questioned-object-key": "x",
        "scheduling.koordinator.sh/disable-preemptible": "true",
        "koordinator.sh/qosClass": "BE",
    }
    times: Json = {"creationTimestamp": "2026-11-20T09:00:00Z", "ownerReferences": [{"kind": "Set", "name": "s"}]}
    written = msgspec.convert(pod("a", labels=labels, nodeName="n1", **times), Pod)
    whole, lean = (pods.pod(written, PodPool(details=keeps)) for keeps in (True, False))
    assert isinstance(whole, RunningPod)
    assert lean == structs.replace(whole, labels=(), owner="", created="", scheduled="")
