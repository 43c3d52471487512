"""Quotas as they would be: equal to what is computed anew of the changed cluster."""

from collections.abc import Mapping

from msgspec import structs

from kubectl_koord.engine.quota import trials
from kubectl_koord.engine.quota.state import QuotaState, quota_state
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.view import of
from kubectl_koord.model.quotas import NAME_LABEL, QuotaSettings
from tests.build import Drawing, cluster, cpus

NAMES = ("team", "a", "b")
TREE = (
    cluster("s0: b0[n1:16]")
    .with_quota("team", cpu=12, is_parent=True)
    .with_quota("a", cpu=4, parent="team")
    .with_quota("b", cpu=12, parent="team")
    .with_running("old", on="n1", cpu=6, labels=((NAME_LABEL, "b"),))
    .with_running(
        "kept", on="n1", cpu=1, labels=((NAME_LABEL, "b"), ("quota.scheduling.koordinator.sh/preemptible", "false"))
    )
    .with_running("going", on="n1", cpu=1, labels=((NAME_LABEL, "a"),), terminating=True)
    .with_gang("job", 2, 4, labels=((NAME_LABEL, "a"),))
)


def state(drawing: Drawing) -> QuotaState:
    return quota_state(of(drawing), rules("1.8"))


def amounts(found: Mapping[str, int]) -> dict[str, int]:
    return {resource: amount for resource, amount in found.items() if amount}


def told(one: QuotaState) -> list[object]:
    return [
        (amounts(one.used(name)), amounts(one.request(name)), amounts(one.fixed(name)), amounts(one.runtime(name)))
        for name in NAMES
    ]


def test_with_other_limits() -> None:
    raised = structs.replace(TREE.quotas[1], max=cpus(10))
    changed = TREE.but(quotas=(TREE.quotas[0], raised, TREE.quotas[2]))
    assert told(trials.with_quotas(state(TREE), {"a": raised})) == told(state(changed)) != told(state(TREE))
    assert trials.with_quotas(state(TREE), {"a": raised}).tree.written == changed.quotas


def test_without_pods_that_run() -> None:
    gone = [pod for pod in TREE.running["n1"] if pod.name != "going"]
    changed = TREE.without_running(*(pod.key for pod in gone))
    assert told(trials.without(state(TREE), gone)) == told(state(changed)) != told(state(TREE))


def test_without_pods_that_count_no_more_or_nowhere() -> None:
    ignoring = TREE.configured(quotas=QuotaSettings(ignores_terminating=True, no_default=True))
    stray = TREE.with_running("stray", on="n1").running["n1"][-1]
    gone = [pod for pod in TREE.running["n1"] if pod.name == "going"]
    assert told(trials.without(state(ignoring), [*gone, stray])) == told(state(ignoring))


def test_with_pods_that_count_against_another_quota() -> None:
    changed = TREE.change_pods(labels=((NAME_LABEL, "b"),))
    assert told(trials.counting_in(state(TREE), TREE.pending, "b")) == told(state(changed)) != told(state(TREE))


def test_with_pods_that_counted_nowhere() -> None:
    stray = TREE.configured(quotas=QuotaSettings(no_default=True)).change_pods(labels=())
    changed = stray.change_pods(labels=((NAME_LABEL, "b"),))
    assert told(trials.counting_in(state(stray), stray.pending, "b")) == told(state(changed))
