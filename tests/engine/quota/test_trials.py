"""Quotas as they would be: equal to what is computed anew of the changed cluster."""

from collections.abc import Mapping

from msgspec import structs

from kubectl_koord.engine.quota import state as trials
from kubectl_koord.engine.quota.state import QuotaState, quota_state
from kubectl_koord.engine.quota.tree import quotas_of
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.state import of
from kubectl_koord.model.quotas import DEFAULT, NAME_LABEL, QuotaSettings
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
    tree = state(TREE).tree.with_limits(changed.quotas)
    assert told(state(TREE).with_limits(tree)) == told(state(changed)) != told(state(TREE))
    assert tree == state(changed).tree


def test_other_limits_in_a_what_if_and_in_all_that_lie_over_it() -> None:
    raised = structs.replace(TREE.quotas[1], max=cpus(10))
    changed = TREE.but(quotas=(TREE.quotas[0], raised, TREE.quotas[2]))
    over = of(TREE).with_quotas(changed.quotas)
    assert told(quota_state(over, rules("1.8"))) == told(state(changed))
    gone = [pod for pod in TREE.running["n1"] if pod.name == "old"]
    assert told(quota_state(over.without(gone), rules("1.8"))) == told(state(changed.without_running("default/old")))
    assert quotas_of(over.without(gone)) is quotas_of(over)


def test_a_what_if_without_quotas_is_the_cluster_without_them() -> None:
    over = of(TREE).without([TREE.running["n1"][0]]).with_quotas(())
    bare = TREE.without_running(TREE.running["n1"][0].key).but(quotas=())
    found, plain = quota_state(over, rules("1.8")), state(bare)
    assert (found.tree, found.used(DEFAULT), found.request(DEFAULT)) == (
        plain.tree,
        plain.used(DEFAULT),
        plain.request(DEFAULT),
    )


def test_pods_that_wait_and_request_the_same_make_the_same_state() -> None:
    view, waiting = of(TREE), TREE.pending
    assert quota_state(view, rules("1.8"), (*waiting[1:], waiting[0])) is quota_state(view, rules("1.8"))


def test_many_quotas_at_once() -> None:
    drawn = cluster("s0: b0[n1:64]")
    for number in range(40):
        drawn = drawn.with_quota(f"q{number}", cpu=4)
        drawn = drawn.with_running(f"run-{number}", on="n1", cpu=1, labels=((NAME_LABEL, f"q{number}"),))
    gone = drawn.running["n1"][:36]
    changed = drawn.without_running(*(pod.key for pod in gone))

    def used(one: QuotaState) -> list[object]:
        return [(amounts(one.used(f"q{n}")), amounts(one.runtime(f"q{n}"))) for n in range(40)]

    assert used(quota_state(of(drawn).without(gone), rules("1.8"))) == used(state(changed)) != used(state(drawn))


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
