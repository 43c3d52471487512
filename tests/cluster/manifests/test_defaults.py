"""What the API server fills in when pods are made."""

from typing import Any

import pytest

from kubectl_koord.cluster.manifests.completed import Overrides
from kubectl_koord.errors import KoordError
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.snapshot import Gap
from tests.cluster.manifests.conftest import Submit


def pod(*containers: dict[str, Any], **spec: Any) -> dict[str, Any]:  # noqa: ANN401
    main = [{"name": "main", "resources": one} for one in containers]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": main, **spec}}


def priority_class(name: str, value: int, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        **more,
    }


def limit_range(namespace: str = "team", **item: Any) -> dict[str, Any]:  # noqa: ANN401
    limits = [{"type": "Pod", "max": {"cpu": "64"}}, {"type": "Container", **item}]
    return {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "l", "namespace": namespace},
        "spec": {"limits": limits},
    }


def only(pods: tuple[PendingPod, ...]) -> PendingPod:
    (one,) = pods
    return one


@pytest.mark.parametrize(
    ("spec", "classes", "expected"),
    [
        ({}, [], (0, False)),
        ({}, [priority_class("b", 7, globalDefault=True), priority_class("a", 9, globalDefault=True)], (7, False)),
        ({"priorityClassName": "high"}, [priority_class("high", 50, preemptionPolicy="Never")], (50, True)),
        (
            {"priorityClassName": "high", "preemptionPolicy": "PreemptLowerPriority"},
            [priority_class("high", 50, preemptionPolicy="Never")],
            (50, False),
        ),
        ({"priority": 3}, [priority_class("d", 7, globalDefault=True)], (3, False)),
        ({"priorityClassName": "gone", "priority": 3}, [], (3, False)),
        ({"priorityClassName": "koord-mid"}, [], (7000, False)),
        ({"priorityClassName": "koord-mid"}, [priority_class("koord-mid", 7500)], (7500, False)),
        ({"priorityClassName": "system-cluster-critical"}, [], (2_000_000_000, False)),
    ],
)
def test_a_pod_gets_the_priority_of_its_class_or_of_the_default(
    submit: Submit, spec: dict[str, Any], classes: list[dict[str, Any]], expected: tuple[int, bool]
) -> None:
    found = only(submit(pod({}, **spec), *classes)[0].pending)
    assert (found.priority, found.never_preempts) == expected


def test_a_class_may_stand_in_the_manifests(submit: Submit) -> None:
    items = [pod({}, priorityClassName="own"), priority_class("own", 5)]
    assert only(submit({"kind": "List", "items": items})[0].pending).priority == 5


def test_a_class_that_is_nowhere_is_an_error_that_names_the_pod(submit: Submit) -> None:
    with pytest.raises(KoordError, match=r"job\.yaml: document 1: Pod p: PriorityClass 'gone': none such was read"):
        submit(pod({}, priorityClassName="gone"))


@pytest.mark.parametrize(
    ("spec", "classes", "refused"),
    [
        ({"priority": 3}, [], True),
        ({"priority": 0}, [], False),
        ({"priority": 7}, [priority_class("d", 7, globalDefault=True)], False),
        ({"priority": 0}, [priority_class("d", 7, globalDefault=True)], True),
        ({"priority": 3, "priorityClassName": "d"}, [priority_class("d", 7)], True),
        ({"priority": 7, "priorityClassName": "d"}, [priority_class("d", 7)], False),
        ({"priority": 3, "priorityClassName": "gone"}, [], False),
        ({"priorityClassName": "d"}, [priority_class("d", 7)], False),
    ],
)
def test_a_priority_that_no_class_gives_is_told(
    submit: Submit, spec: dict[str, Any], classes: list[dict[str, Any]], *, refused: bool
) -> None:
    assert submit(pod({}, **spec), *classes)[1].own_priority == (("Pod/p",) if refused else ())
    assert submit(pod({}, **spec), *classes, overrides=Overrides(priority=3))[1].own_priority == ()
    hidden = Gap("PriorityClass", "forbidden", "you may not")
    assert submit(pod({}, **spec), *classes, gaps=[hidden])[1].own_priority == ()


def test_a_priority_or_class_from_the_command_line_beats_what_is_written(submit: Submit) -> None:
    written = pod({}, priorityClassName="gone", priority=1)
    assert only(submit(written, overrides=Overrides(priority=4))[0].pending).priority == 4
    chosen = Overrides(priority_class="koord-free")
    assert only(submit(written, overrides=chosen)[0].pending).priority == 3000


def requests(submit: Submit, written: dict[str, Any], *cluster: dict[str, Any]) -> dict[str, int]:
    return dict(only(submit(written, *cluster)[0].pending).requirements.requests)


def test_requests_that_are_left_out_are_the_limits(submit: Submit) -> None:
    written = pod({"limits": {"cpu": "2", "nvidia.com/gpu": 8}, "requests": {"cpu": "1"}}, {})
    assert requests(submit, written) == {"cpu": 1000, "nvidia.com/gpu": 8}


def test_what_a_pod_requests_as_a_whole_are_its_limits_where_nobody_requests_that(submit: Submit) -> None:
    own = {"limits": {"cpu": "8", "memory": "2Gi", "example.com/foo": "1"}, "requests": {"cpu": "6"}}
    assert requests(submit, pod({}, resources=own)) == {"cpu": 6000, "memory": 2 << 30}
    asking = pod({"limits": {"memory": "1Gi"}}, resources=own)
    assert requests(submit, asking) == {"cpu": 6000, "memory": 1 << 30}
    assert requests(submit, pod({"requests": {"cpu": "1"}}, resources={"requests": {"cpu": "6"}})) == {"cpu": 6000}


def test_a_limitrange_of_the_namespace_fills_in_what_is_left_out(submit: Submit) -> None:
    there = limit_range(default={"cpu": "4"}, defaultRequest={"cpu": "2", "memory": "1Gi"})
    assert requests(submit, pod({}), there) == {"cpu": 2000, "memory": 1 << 30}
    assert requests(submit, pod({"requests": {"cpu": "3"}}), there) == {"cpu": 3000, "memory": 1 << 30}
    assert requests(submit, pod({"limits": {"cpu": "1"}}), there) == {"cpu": 1000, "memory": 1 << 30}
    assert requests(submit, pod({}), limit_range("other", default={"cpu": "4"})) == {}


def test_a_limitrange_without_defaults_fills_in_its_bounds(submit: Submit) -> None:
    there = limit_range(max={"cpu": "4"}, min={"cpu": "1", "memory": "1Gi"})
    assert requests(submit, pod({}), there) == {"cpu": 4000, "memory": 1 << 30}


def test_an_amount_of_a_limitrange_that_is_none_is_an_error(submit: Submit) -> None:
    with pytest.raises(KoordError, match="LimitRange team/l: cpu"):
        submit(pod({}), limit_range(default={"cpu": "much"}))


CARD = "nvidia.com/gpu"
FIRST = "spec.containers[0].resources"


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        (
            {"requests": {CARD: 1}, "limits": {CARD: 2}},
            f'{FIRST}.requests: Invalid value: "1": must be equal to nvidia.com/gpu limit of 2',
        ),
        (
            {"requests": {CARD: 1}},
            f"{FIRST}.limits: Required value: Limit must be set for non overcommitable resources",
        ),
        (
            {"requests": {"hugepages-2Mi": "2Mi"}, "limits": {"hugepages-2Mi": "4Mi"}},
            f'{FIRST}.requests: Invalid value: "2Mi": must be equal to hugepages-2Mi limit of 4Mi',
        ),
        (
            {"requests": {"cpu": "2"}, "limits": {"cpu": "1500m"}},
            f'{FIRST}.requests: Invalid value: "2": must be less than or equal to cpu limit of 1500m',
        ),
        ({"requests": {"cpu": "1", CARD: "1"}, "limits": {"cpu": "2", CARD: 1}}, ""),
        ({"requests": {"kubernetes.io/batch-cpu": 1000}}, ""),
        ({"limits": {CARD: 1}}, ""),
    ],
    ids=range(7),
)
def test_requests_that_the_api_server_refuses_beside_their_limits_are_told_in_its_words(
    submit: Submit, resources: dict[str, Any], expected: str
) -> None:
    if not expected:
        assert only(submit(pod(resources))[0].pending).name == "p"
        return
    with pytest.raises(KoordError) as told:
        submit(pod(resources))
    assert told.value.message.endswith(f'Pod p: the API server refuses it: Pod "p" is invalid: {expected}')


def test_init_containers_are_checked_too(submit: Submit) -> None:
    with pytest.raises(KoordError, match=r"spec.initContainers\[0\].resources.limits: Required value"):
        submit(pod({}, initContainers=[{"name": "i", "resources": {"requests": {CARD: 1}}}]))


def test_a_class_that_is_nowhere_is_told_in_the_words_of_the_server_too(submit: Submit) -> None:
    with pytest.raises(KoordError, match="no PriorityClass with name gone was found"):
        submit(pod({}, priorityClassName="gone"))
