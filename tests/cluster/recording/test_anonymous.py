"""Names replaced: nothing is decided otherwise, and nothing is told of whose cluster it is."""

import json
from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_koord.cluster.recording import recorder
from kubectl_koord.cluster.recording.anonymous import KNOWN, Seen, renamed
from kubectl_koord.explain.preempt import preempt
from kubectl_koord.explain.why import why
from kubectl_koord.model.snapshot import Snapshot
from tests.cli.world import GATHER, node, pod, pod_group, topology
from tests.cluster.recording.again import again
from tests.cluster.recording.test_secrets import written
from tests.conformance.cases import CASES, VERSIONS, Case, read_cases, snapshot_of, subject_of

SAMPLE = ("docs", "gang", "claim", "quota", "reservation")
USED = frozenset(
    (
        *("job", "node", "gang", "pod", "pods", "spine", "block", "claim", "claims", "group", "one", "low", "high"),
        *("device", "devices", "net", "zone", "zones", "domain", "class", "reservation", "gpu", "memory", "victim"),
        *("victims", "volume", "free", "batch", "mid", "prod", "other", "new", "network", "child", "attempt"),
    )
)
"""Words of the recorded clusters that are also the scheduler's, and replaced here all the same."""

Name = Callable[[str], str]


def _answer(snapshot: Snapshot, key: str, name: Name) -> dict[str, Any]:
    """Return what is decided of a gang or pod, its names as `name` has them."""
    subject = subject_of(snapshot)
    because, plan = why(snapshot, subject, brief=True), preempt(snapshot, subject)
    return {
        "asked": (key, name(subject.key)),
        "why": (because.verdict, because.cause and because.cause.code),
        "alternatives": [(one.verdict, one.cause and one.cause.code) for one in because.alternatives],
        "slots": {(name(row.layer), name(row.name)): row.offer_slots for row in because.domains},
        "placement": {name(pod): name(node) for pod, node in (because.placement or {}).items()},
        "plan": (plan.verdict, plan.reason, len(plan.alternatives)),
        "victims": [(name(victim.pod), name(victim.node)) for victim in plan.victims],
        "rounds": [[name(victim.pod) for victim in one.victims] for one in plan.rounds],
        "nominations": {name(pod): name(node) for pod, node in plan.nominations.items()},
        "warnings": [notice.code for notice in because.warnings],
    }


def _agrees(case: Case, recorded: str) -> None:
    version = VERSIONS[recorded]
    snapshot = snapshot_of(case.cluster, version)
    other, names = again(case.cluster, version, anonymize=True)
    key = names.name(subject_of(snapshot).key)
    if subject_of(other).key == key:  # that is looked for by its name where it was recorded
        assert _answer(other, key, str) == _answer(snapshot, key, names.name), case.name
    plain, _ = again(case.cluster, version, anonymize=False)
    assert _answer(plain, key, str) == _answer(snapshot, key, str), case.name


@pytest.mark.parametrize("family", SAMPLE)
def test_with_other_names_recorded_clusters_get_the_same_answers(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "KNOWN", KNOWN - USED)
    for case in list(read_cases(CASES, (family,)))[::8]:
        _agrees(case, next(iter(case.records)))


@pytest.mark.soak
def test_with_other_names_every_recorded_cluster_gets_the_same_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "KNOWN", KNOWN - USED)
    for case in read_cases(CASES):
        for recorded in case.records:
            _agrees(case, recorded)


NAMES = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,12}[a-z0-9])?(\.[a-z]{1,3})?", fullmatch=True)


@settings(max_examples=25, deadline=None)
@given(st.lists(NAMES, min_size=2, max_size=30), st.integers())
def test_names_keep_their_order_and_their_numbers(names: list[str], salt: int) -> None:
    joined = sorted({*names, *(f"{one}/{other}" for one, other in pairwise(names))})
    seen = Seen()
    for name in joined:
        seen(name)
    other = renamed(seen, KNOWN, Random(salt))  # noqa: S311 - to be repeated
    found = [other(name) for name in joined]
    assert found == sorted(set(found))
    assert ["".join(filter(str.isdigit, name)) for name in found] == ["".join(filter(str.isdigit, n)) for n in joined]


@settings(deadline=None)
@given(st.sets(st.sampled_from(["koorda", "koordi", "koordim", "koordin", "koordb", "koordinatora", "Koordi"])))
def test_words_between_two_that_stay_keep_their_order_too(words: set[str]) -> None:
    seen = Seen()
    seen(" ".join(words))
    other = renamed(seen, {"koord", "koordinator"}, Random(1))  # noqa: S311 - to be repeated
    found = [other(word) for word in sorted(words | {"koord", "koordinator"})]
    assert found == sorted(set(found))


def test_each_file_has_other_names() -> None:
    cluster = {"items": [pod("trainer-0", namespace="vision")]}
    names = {again(cluster, "1.8", anonymize=True)[1].name("vision/trainer-0") for _ in range(8)}
    assert len(names) > 1
    assert all(name.endswith("-0") for name in names)


def test_nothing_tells_whose_cluster_it_is() -> None:
    first = node("ip-10-0-3-17.ec2.internal", "munich-7")
    first["metadata"]["labels"]["acme.example/rack"] = "basement"
    first["spec"] = {"taints": [{"key": "acme.example/taint", "value": "vip", "effect": "NoSchedule"}]}
    waiting = pod("secretproject-0", "secretproject", namespace="acme")
    waiting["metadata"]["ownerReferences"] = [
        {"apiVersion": "acme.example/v1", "kind": "Job", "name": "secretproject", "uid": "u-1", "controller": True}
    ]
    waiting["spec"]["nodeSelector"] = {"acme.example/rack": "basement"}
    waiting["spec"]["tolerations"] = [{"key": "acme.example/taint", "operator": "Exists"}]
    waiting["spec"]["containers"][0]["ports"] = [{"hostPort": 80, "hostIP": "192.168.7.9"}]
    said = "0/1 nodes are available: 1 Insufficient cpu. acme/secretproject is not on 10.0.3.17, fd00:1:2:3::9."
    waiting["status"]["conditions"] = [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": said}
    ]
    group = pod_group("secretproject", 1, namespace="acme", **GATHER)
    text = written(first, waiting, group, topology(), anonymize=True)
    for word in (
        "acme",
        "secretproject",
        "basement",
        "munich",
        "vip",
        "internal",
        "10-0-3",
        "10.0.3",
        "fd00",
        "192.168",
    ):
        assert word in json.dumps([first, waiting, group])
        assert word not in text
    assert "0/1 nodes are available: 1 Insufficient cpu. " in text
    for kept in ("kubernetes.io/hostname", "SpineLayer", "NoSchedule", "hostPort", '"cpu":"8"', "koord-scheduler"):
        assert kept in text


def test_names_of_drivers_and_attributes_which_objects_have_in_common_stay() -> None:
    claim = {
        "kind": "ResourceClaim",
        "metadata": {"name": "secretproject", "namespace": "acme"},
        "spec": {
            "devices": {"constraints": [{"matchAttribute": "gpu.acme.example/numa", "requests": ["secretproject"]}]}
        },
    }
    attachment = {
        "kind": "VolumeAttachment",
        "metadata": {"name": "csi-1"},
        "spec": {"attacher": "csi.acme.example", "nodeName": "secretproject"},
    }
    found, attached = json.loads(written(claim, attachment, anonymize=True))["items"][1:]
    (constraint,) = found["spec"]["devices"]["constraints"]
    assert (constraint["matchAttribute"], attached["spec"]["attacher"]) == ("gpu.acme.example/numa", "csi.acme.example")
    assert constraint["requests"] == [attached["spec"]["nodeName"]] == [found["metadata"]["name"]]
