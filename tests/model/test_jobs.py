"""Jobs, and what waits in queues for them."""

from kubectl_koord.model.jobs import (
    KueueWorkload,
    LocalQueue,
    ObjectCondition,
    Owner,
    QueuedPods,
    QueueUnit,
)


def test_all_have_the_name_that_reports_print() -> None:
    named = (
        Owner("Job", "batch", "team", "x"),
        KueueWorkload("team", "x"),
        LocalQueue("team", "x"),
        QueueUnit("team", "x"),
    )
    assert {one.key for one in named} == {"team/x"}


def test_a_condition_is_found_by_its_type() -> None:
    told = ObjectCondition("Failed", "True", "BackoffLimitExceeded", "too often")
    assert KueueWorkload("team", "x", conditions=(told,)).condition("Failed") == told
    assert KueueWorkload("team", "x").condition("Failed") is None


def test_a_workload_asks_for_what_all_of_its_pods_do() -> None:
    pods = (QueuedPods("head", 1, requests={"cpu": 4000}), QueuedPods("gpu", 3, requests={"cpu": 1000, "gpu": 8}))
    assert KueueWorkload("team", "x", pods=pods).asks_for == {"pods": 4, "cpu": 7000, "gpu": 24}
