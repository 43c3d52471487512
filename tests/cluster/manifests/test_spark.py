"""The pods that Spark makes of a SparkApplication."""

from typing import Any

import pytest

from kubectl_koord.errors import KoordError
from tests.cluster.manifests.conftest import Submit
from tests.cluster.manifests.test_families import seen, workload

API = "sparkoperator.k8s.io/v1beta2"
MI = 1 << 20


def application(driver: dict[str, Any], executor: dict[str, Any], **spec: Any) -> dict[str, Any]:  # noqa: ANN401
    return workload(API, "SparkApplication", {"driver": driver, "executor": executor, **spec})


def memory(submit: Submit, written: str, **spec: Any) -> int:  # noqa: ANN401
    pods = submit(application({"memory": written}, {"instances": 0}, **spec))[0].pending
    return dict(pods[0].requirements.requests)["memory"] // MI


def test_a_driver_and_its_executors_request_cores_memory_with_overhead_and_cards(submit: Submit) -> None:
    card = {"name": "nvidia.com/gpu", "quantity": 1}
    executor = {"cores": 4, "instances": 2, "memory": "8g", "memoryOverhead": "1g", "gpu": card}
    snapshot, submitted = submit(application({"coreRequest": "500m", "coreLimit": "1200m"}, executor))
    worker = (("cpu", 4000), ("memory", 9216 * MI), ("nvidia.com/gpu", 1))
    assert seen(snapshot.pending) == {
        "x-driver-0": (("cpu", 500), ("memory", 1408 * MI)),
        "x-exec-1": worker,
        "x-exec-2": worker,
    }
    assert {pod.owner for pod in snapshot.pending} == {"SparkApplication/x"}
    assert submitted.suspended == ()


@pytest.mark.parametrize(
    ("written", "spec", "mebibytes"),
    [
        ("1g", {}, 1408),
        ("10g", {}, 11264),
        ("10G", {"type": "Python"}, 14336),
        ("10gb", {"memoryOverheadFactor": "0.5"}, 15360),
        ("1t", {"type": "Scala"}, (1 << 20) + (1 << 20) // 10),
        ("2048k", {}, 386),
        ("512", {}, 896),
        ("1073741824b", {}, 1408),
    ],
)
def test_memory_is_spelled_as_java_does_and_gets_overhead(
    submit: Submit, written: str, spec: dict[str, Any], mebibytes: int
) -> None:
    assert memory(submit, written, **spec) == mebibytes


@pytest.mark.parametrize(
    ("driver", "spec", "expected"),
    [
        ({"memory": "much"}, {}, r"Expected memory as Java spells it, such as 8g - at `\$.spec.driver.memory`"),
        (
            {"memoryOverhead": "1x"},
            {},
            r"Expected memory as Java spells it, such as 8g - at `\$.spec.driver.memoryOverhead`",
        ),
        ({}, {"memoryOverheadFactor": "half"}, r"Expected a number - at `\$.spec.memoryOverheadFactor`"),
    ],
)
def test_an_amount_that_is_none_is_an_error(
    submit: Submit, driver: dict[str, Any], spec: dict[str, Any], expected: str
) -> None:
    with pytest.raises(KoordError, match=f"document 1: SparkApplication x: {expected}"):
        submit(application(driver, {}, **spec))


@pytest.mark.parametrize(
    ("dynamic", "instances", "count"),
    [
        (None, None, 1),
        ({"enabled": False, "initialExecutors": 5}, 3, 3),
        ({"enabled": True, "initialExecutors": 5, "minExecutors": 2}, 3, 5),
        ({"enabled": True, "minExecutors": 4}, None, 4),
        ({"enabled": True}, None, 0),
    ],
)
def test_executors_are_those_that_it_begins_with(
    submit: Submit, dynamic: dict[str, Any] | None, instances: int | None, count: int
) -> None:
    executor = {} if instances is None else {"instances": instances}
    pods = submit(application({}, executor, dynamicAllocation=dynamic))[0].pending
    assert len(pods) == 1 + count


def test_what_stands_in_a_template_stays_and_what_stands_beside_it_wins(submit: Submit) -> None:
    gang = {"pod-group.scheduling.sigs.k8s.io": "g"}
    beside = {"name": "log", "resources": {"requests": {"cpu": "1"}}}
    template = {
        "metadata": {"labels": gang},
        "spec": {"containers": [{"name": "main"}, beside], "schedulerName": "a", "nodeSelector": {"disk": "ssd"}},
    }
    own = {"schedulerName": "b", "nodeSelector": {"zone": "a"}, "labels": {"x": "y"}}
    pods = submit(application({**own, "template": template}, {"instances": 0}, nodeSelector={"zone": "b"}))[0].pending
    (pod,) = pods
    assert (pod.name, pod.scheduler, pod.gang) == ("x-driver-0", "b", "team/g")
    assert pod.requirements.selector == (("disk", "ssd"), ("zone", "a"))
    assert dict(pod.requirements.requests) == {"cpu": 2000, "memory": 1408 * MI}


@pytest.mark.parametrize(("outer", "inner"), [(True, False), (False, True), (False, False)])
def test_a_scheduled_application_is_that_of_one_run(submit: Submit, *, outer: bool, inner: bool) -> None:
    spec = {"schedule": "@daily", "suspend": outer, "template": {"suspend": inner, "driver": {}, "executor": {}}}
    snapshot, submitted = submit(workload(API, "ScheduledSparkApplication", spec))
    own = "ScheduledSparkApplication/x"
    assert len(snapshot.pending) == 2
    assert (submitted.scheduled, submitted.suspended) == (((own, "@daily"),), (own,) if outer or inner else ())
