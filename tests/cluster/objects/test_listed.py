"""Pods of a list in protobuf are what they would be each for itself, as JSON."""

from collections.abc import Iterable
from operator import attrgetter
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_koord.cluster.bounds import resident
from kubectl_koord.cluster.collect import Collector
from kubectl_koord.cluster.objects import pods as decode
from kubectl_koord.cluster.objects.listed import ListedPods
from kubectl_koord.cluster.objects.pod_wire import Pod
from kubectl_koord.cluster.objects.pods import PodPool
from kubectl_koord.cluster.protobuf import parsed
from kubectl_koord.errors import KoordError
from kubectl_koord.model.pods import FinishedPod, PendingPod, RunningPod
from kubectl_koord.model.snapshot import Snapshot
from tests import encoded
from tests.cluster.objects.wire import Json, pod

_LIGHT = "pod-group.scheduling.sigs.k8s.io"
_DOMAIN = "scheduling.koordinator.sh/"
_CARD = '{"gpu": [{"minor": 1, "resources": {"koordinator.sh/gpu-core": "100"}, "id": "GPU-1"}]}'
_OWNER = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "1", "controller": True}]
_READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
_UNREADY = {"type": "Ready", "status": "False", "reason": "ContainersNotReady"}
_PREEMPTED = {
    "conditions": [
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-11-20T09:00:00Z"},
        {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "PreemptionByScheduler",
            "message": "s: preempting to accommodate higher priority pods, preemptor: d/a, triggerPod: d/a-0",
        },
    ]
}
_INITIALIZED = {"conditions": [{"type": "Initialized", "status": "True", "lastTransitionTime": "2026-11-20T09:00:00Z"}]}
SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "matchLabelKeys": ["app"]}


def token(letters: str) -> Json:
    return {"name": f"kube-api-access-{letters}", "projected": {"sources": []}}


def claimed(name: str) -> Json:
    return {"name": "data", "persistentVolumeClaim": {"claimName": name}}


BOUND: tuple[Json, ...] = (
    {"requests": {"cpu": "1"}, "labels": {"app": "web"}, "ownerReferences": _OWNER},
    {"requests": {"cpu": "2"}, "labels": {"app": "web"}, "ownerReferences": _OWNER, "priority": 9000},
    {"requests": {"cpu": "0.5", "memory": str(1 << 70)}},
    {"labels": {"app": "web"}, "ownerReferences": [{"kind": "DaemonSet", "name": "agent"}]},
    {"ownerReferences": [{"kind": "DaemonSet", "name": "agent"}], "status": {"conditions": [_UNREADY, _UNREADY]}},
    {"status": {"conditions": [_UNREADY]}},
    {"labels": {"app": "web"}, "topologySpreadConstraints": [SPREAD]},
    {"labels": {"app": "api"}, "topologySpreadConstraints": [SPREAD]},
    {"labels": {"pod-group.scheduling.sigs.k8s.io": "big"}, "annotations": {f"gang.{_DOMAIN}name": "other"}},
    {"annotations": {f"gang.{_DOMAIN}name": "other"}, "status": {"qosClass": "BestEffort"}},
    {"annotations": {f"gang.{_DOMAIN}name": "other", f"gang.{_DOMAIN}min-available": "4", f"gang.{_DOMAIN}mode": ""}},
    {
        "labels": {f"{_LIGHT}/name": "lean", f"{_LIGHT}/min-available": "2"},
        "annotations": {f"{_LIGHT}/match-policy": "x"},
    },
    {"annotations": {f"{_DOMAIN}device-allocated": _CARD, f"{_DOMAIN}reservation-allocated": '{"uid": "r"}'}},
    {"annotations": {f"{_DOMAIN}device-allocated": "{"}},
    {"annotations": {f"{_DOMAIN}resource-spec": '{"requiredCPUBindPolicy": "FullPCPUs"}'}, "priority": 9000},
    {"annotations": {f"{_DOMAIN}resource-spec": ""}, "labels": {"koordinator.sh/qosClass": "LSR"}},
    {"annotations": {f"{_DOMAIN}scheduling-hint": "{}", f"{_DOMAIN}network-topology-selector": "s"}},
    {"annotations": {f"{_DOMAIN}load-estimated-scaling-factors": '{"cpu": 40}'}},
    {"annotations": {f"{_DOMAIN}load-estimated-seconds-after-pod-scheduled": "600"}},
    {"annotations": {f"{_DOMAIN}load-estimated-seconds-after-initialized": "600"}, "status": _INITIALIZED},
    {"labels": {f"{_DOMAIN}questioned-object-key": "x", f"{_DOMAIN}disable-preemptible": "true"}},
    {"labels": {"koordinator.sh/gpu-isolation-provider": "HAMi"}, "nodeSelector": {"zone": "a"}},
    {"volumes": [claimed("a"), token("abcde")]},
    {"volumes": [claimed("b"), token("fghij")]},
    {"volumes": [{"name": "kube-api-access-abcde", "rbd": {}}, {"name": "scratch", "ephemeral": {}}]},
    {"initContainers": [{"restartPolicy": "Always", "ports": [{"hostPort": 80}]}], "overhead": {"cpu": "1m"}},
    {"tolerations": [{"operator": "Exists"}], "affinity": {"podAntiAffinity": {}}, "resourceClaims": [{"name": "c"}]},
    {"deletionTimestamp": "2026-11-20T10:00:00Z", "creationTimestamp": "2026-11-20T09:00:00Z"},
    {"status": _PREEMPTED, "creationTimestamp": "2026-11-20T09:00:00Z"},
    {"status": _READY, "labels": {f"{_DOMAIN}operating-mode": "Reservation"}},
    {"status": {"phase": "Pending"}, "labels": {f"{_DOMAIN}operating-mode": "Reservation"}},
)
OTHERS = (
    pod("done", nodeName="n1", status={"phase": "Succeeded"}, labels={"a": "b"}),
    pod("waits", schedulingGates=[{"name": "later"}], volumes=[claimed("c")], annotations={"a": "b"}),
)
EVERY = (*(pod(f"bound-{number:02}", nodeName="n1", **told) for number, told in enumerate(BOUND)), *OTHERS)


def alone(pods: Iterable[Json], pool: PodPool) -> list[RunningPod | PendingPod | FinishedPod]:
    return [decode.pod(msgspec.convert(one, Pod), pool) for one in pods]


def listed(pods: Iterable[Json], pool: PodPool) -> list[RunningPod | PendingPod | FinishedPod]:
    reader = ListedPods()
    messages = [parsed("Pod", encoded.message("Pod", one)) for one in pods]
    return [decode.pod(found, pool, shape) for found, shape in map(reader.pod, messages)]


@pytest.mark.parametrize("details", [True, False], ids=["with-details", "without"])
def test_a_listed_pod_is_what_it_is_for_itself(*, details: bool) -> None:
    pods = (*EVERY, *EVERY)
    assert listed(pods, PodPool(details=details)) == alone(pods, PodPool(details=details))


def test_an_annotation_that_is_empty_is_there() -> None:
    pods = [pod("p"), pod("q", annotations={f"{_DOMAIN}resource-spec": ""}), pod("r")]
    each = [alone([one], PodPool())[0] for one in pods]
    for order in (pods, pods[::-1]):
        assert sorted(alone(order, PodPool()), key=attrgetter("name")) == each
    assert len({one.requirements for one in each if isinstance(one, PendingPod)}) == 2


def test_pods_that_differ_in_their_tokens_share_their_requirements() -> None:
    pods = [pod(letters, nodeName="n1", volumes=[claimed("a"), token(letters)]) for letters in ("abcde", "fghijk")]
    first, second = listed(pods, PodPool())
    assert isinstance(first, RunningPod)
    assert isinstance(second, RunningPod)
    assert first.requirements is second.requirements
    assert first.requirements.claims == ("a",)


def test_owners_of_one_name_in_two_namespaces_are_two() -> None:
    pods = [pod(f"p-{at}", namespace=f"n-{at % 2}", nodeName="n1", ownerReferences=_OWNER) for at in range(4)]
    pods = [*pods, *sorted(pods, key=lambda one: one["metadata"]["namespace"])]
    assert listed(pods, PodPool()) == alone(pods, PodPool())


def test_more_owners_than_are_remembered_are_read_all_the_same() -> None:
    pods = [pod(f"p-{number}", nodeName="n1", labels={"app": str(number)}) for number in range(300)]
    assert listed([*pods, *pods], PodPool()) == alone([*pods, *pods], PodPool())


def taken(collector: Collector, *pods: Json) -> Snapshot:
    part = collector.part()
    part.add_all("Pod", [parsed(part.messages["Pod"], encoded.message("Pod", one)) for one in pods])
    collector.merge(part)
    return collector.snapshot(moment="", source="")


def test_a_live_cluster_is_the_same_as_one_of_a_file() -> None:
    again = pod("bound-22", nodeName="n1")  # the later of two counts, and this one offers nothing
    for pods in (EVERY, (*EVERY, again)):
        file = Collector()
        file.add_all("Pod", [msgspec.convert(one, Pod) for one in pods])
        assert taken(Collector(), *pods) == file.snapshot(moment="", source="")


OWNERS = st.sampled_from(["", *"abc"]).map(lambda name: [{"kind": "ReplicaSet", "name": name}] if name else [])
LABELS = st.sampled_from([None, {"app": "web"}, {"app": "api"}, {"pod-group.scheduling.sigs.k8s.io": "g"}])
PARTS = st.fixed_dictionaries(
    {
        "namespace": st.sampled_from(["a", "b"]),
        "nodeName": st.sampled_from(["n1", "n2", ""]),
        "ownerReferences": OWNERS,
        "labels": LABELS,
        "volumes": st.sampled_from([[], [token("abcde")], [claimed("c"), token("fghij")]]),
        "requests": st.sampled_from([{}, {"cpu": "1"}, {"cpu": "2", "memory": "1Gi"}]),
        "topologySpreadConstraints": st.sampled_from([[], [SPREAD]]),
        "annotations": st.sampled_from(
            [{}, {"gang.scheduling.koordinator.sh/name": "g"}, {"scheduling.koordinator.sh/resource-spec": "{}"}]
        ),
    }
)


@settings(derandomize=True, max_examples=60, deadline=None)
@given(parts=st.lists(PARTS, max_size=30))
def test_any_pods_of_a_list_are_what_they_are_for_themselves(parts: list[dict[str, Any]]) -> None:
    every = [pod(f"p-{at:02}", **told) for at, told in enumerate(parts)]
    assert listed(every, PodPool()) == alone(every, PodPool())


def test_more_owners_than_are_remembered_come_again() -> None:
    owners = [[{"kind": "ReplicaSet", "name": f"web-{at % 150}"}] for at in range(400)]
    labels = [{"app": str(at % 7)} for at in range(400)]
    every = [
        pod(f"p-{at:03}", nodeName="n1", ownerReferences=owners[at], labels=labels[at], volumes=[token(f"{at:05}")])
        for at in range(400)
    ]
    assert listed(every, PodPool()) == alone(every, PodPool())


def test_what_is_remembered_of_large_specs_stays_small() -> None:
    at_first, found = resident(), ListedPods()
    for at in range(100, 164):
        one = pod(f"p-{at}", nodeName="n1", tolerations=[{"key": f"{at}" * 900_000}])
        found.pod(parsed("Pod", encoded.message("Pod", one)))
    assert resident() - at_first < 100 << 20


@pytest.mark.parametrize("place", [0, len(EVERY)], ids=["first", "last"])
@pytest.mark.parametrize("bound", [{"nodeName": "n"}, {}], ids=["bound", "pending"])
def test_a_pod_that_cannot_be_taken_is_named(bound: Json, place: int) -> None:
    pods = [*EVERY[:place], pod("q", namespace="a", requests={"cpu": "much"}, **bound), *EVERY[place:]]
    with pytest.raises(KoordError) as raised:
        taken(Collector(), *pods)
    assert raised.value.message == "error: Pod a/q: cpu: 'much' is not a quantity"
