"""Events of both APIs, and the traces of pods."""

from typing import Any

import pytest

from kubectl_koord.cluster.collect import Collector
from kubectl_koord.model.pods import Condition, Event, PodTrace
from tests.cluster.objects.wire import Json, pod, read, take, thing

ABOUT = {"kind": "Pod", "namespace": "a", "name": "p", "uid": "u"}
OTHER = {"kind": "Pod", "namespace": "b", "name": "q", "uid": "v"}


def event(**fields: Any) -> Json:  # noqa: ANN401
    return thing("Event", "p.1", namespace="a", creationTimestamp="T0", **({"reason": "Preempted"} | fields))


@pytest.mark.parametrize(
    ("fields", "note", "first", "last"),
    [
        ({"regarding": ABOUT, "note": "n", "eventTime": "T1"}, "n", "T1", "T1"),
        ({"regarding": ABOUT, "note": "n", "eventTime": "T1", "series": {"lastObservedTime": "T9"}}, "n", "T1", "T9"),
        (
            {"regarding": ABOUT, "note": "n", "deprecatedFirstTimestamp": "T2", "deprecatedLastTimestamp": "T3"},
            "n",
            "T2",
            "T3",
        ),
        ({"involvedObject": ABOUT, "message": "m", "firstTimestamp": "T4", "lastTimestamp": "T5"}, "m", "T4", "T5"),
        ({"involvedObject": ABOUT, "message": "m", "lastTimestamp": None, "eventTime": "T6"}, "m", "T6", "T6"),
        ({"regarding": ABOUT}, "", "T0", "T0"),
    ],
)
def test_an_event_of_either_api_has_one_meaning(fields: Json, note: str, first: str, last: str) -> None:
    (found,) = read(event(**fields, related=OTHER)).events

    assert found == Event("a", "p", "Preempted", note, "u", "b/q", first, last)


@pytest.mark.parametrize(
    "fields",
    [{"regarding": ABOUT, "reason": "Pulled"}, {"regarding": {**ABOUT, "kind": "Node"}}, {}],
    ids=["another reason", "about a node", "about nothing"],
)
def test_other_events_are_not_kept(fields: Json) -> None:
    assert read(event(**fields)).events == ()


def test_what_is_related_counts_only_if_it_is_a_pod() -> None:
    (found,) = read(event(regarding=ABOUT, related={**OTHER, "kind": "Node"})).events

    assert not found.related


def test_a_pod_leaves_a_trace_whatever_its_phase_where_traces_are_asked_for() -> None:
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "message": "m"}
    status = {"phase": "Failed", "conditions": [{"type": "Ready"}, {**condition, "lastTransitionTime": "T"}]}
    labels = {"quota.scheduling.koordinator.sh/name": "q", "pod-group.scheduling.sigs.k8s.io": "g"}
    one = pod(
        namespace="a",
        labels=labels,
        nodeName="n",
        priority=3,
        status=status,
        deletionTimestamp="T",
        creationTimestamp="C",
    )
    one["metadata"]["uid"] = "u"
    collector = Collector(traced=True)
    take(collector.part(), one)
    part = collector.part()
    take(part, one)
    collector.merge(part)

    said = Condition("PreemptionByScheduler", "m", "T")
    expected = PodTrace("a", "p", "u", "n", 3, "a/g", "", "q", "Failed", True, said, "C")  # noqa: FBT003
    assert collector.snapshot(moment="", source="file").traces == (expected,)
    assert read(one).traces == ()
