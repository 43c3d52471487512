"""Which pods count against which quota, in clusters and in what-ifs."""

from collections import Counter
from collections.abc import Iterator
from itertools import chain

import pytest

from kubectl_koord.engine.quota.state import QuotaState, quota_state
from kubectl_koord.engine.quota.tree import quotas_of
from kubectl_koord.engine.quota.usage import running_in
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.state import Pod, View, of
from kubectl_koord.model.pods import ReservedRoom, RunningPod, RunningPods
from kubectl_koord.model.quotas import DEFAULT, NAME_LABEL, PREEMPTIBLE_LABEL
from tests.build import Drawing, cluster, node, pending, running

LABELS = {name: ((NAME_LABEL, name),) for name in ("a", "b")}
FIXED = (*LABELS["a"], (PREEMPTIBLE_LABEL, "false"))
DRAWN = (
    cluster()
    .with_nodes(node("n1"), node("n2"))
    .with_quota("a")
    .with_quota("b", "home")
    .with_running("a1", on="n1", cpu=1, labels=LABELS["a"])
    .with_running("a2", on="n2", cpu=2, labels=LABELS["a"])
    .with_running("a3", on="n1", cpu=1, labels=FIXED)
    .with_running("b1", on="n2", cpu=1, labels=LABELS["b"])
    .with_running("home/b2", on="n1", cpu=3)
    .with_running("lone", on="n1", cpu=1)
    .with_running("far", on="unknown", cpu=1, labels=LABELS["a"])
)
VIEWS = {
    "as it is": of(DRAWN),
    "with reserved room": of(DRAWN.with_reserved("r", on="n1")),
    "without some": of(DRAWN).without([pod for pod in DRAWN.running["n1"] if pod.name in {"a1", "b2"}]),
    "with more": of(DRAWN).with_pods({"n2": (running("b3", "n2", 2, labels=LABELS["b"]), pending("a4", 1))}),
    "on trial": of(DRAWN).without_any(lambda _: {"n1": DRAWN.running["n1"][:1]}),
    "of other nodes": View(DRAWN, DRAWN.nodes, {"n1": DRAWN.running["n1"]}),
    "emptied": View(DRAWN, {}, dict.fromkeys(DRAWN.nodes, ()), of(DRAWN)),
    "twice": of(DRAWN).without(DRAWN.running["n2"]).with_pods({"n1": (running("a5", "n1", labels=LABELS["a"]),)}),
}


def listed(drawing: Drawing, pods: list[RunningPod]) -> Drawing:
    """Return the same cluster, read from lists."""
    return drawing.but(running=RunningPods(drawing.running, pods))  # type: ignore[arg-type]


def on_nodes(view: View) -> Iterator[Pod]:
    """Yield all pods by asking all nodes, those that the view does not know, too."""
    for one in chain.from_iterable(map(view.occupants, {*view.names(), *DRAWN.running})):
        if not isinstance(one, ReservedRoom):
            yield one


def state(view: View) -> QuotaState:
    return quota_state(view, rules("1.8"))


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_the_pods_of_a_quota_are_those_that_a_walk_over_all_nodes_finds(view: View) -> None:
    tree, expected = quotas_of(view), dict[str, set[str]]()
    for pod in on_nodes(view):
        if isinstance(pod, RunningPod):
            expected.setdefault(tree.name_of(pod), set()).add(pod.key)
    found = running_in({"a", "b", DEFAULT}, view, tree)
    assert {name: {pod.key for pod in pods} for name, pods in found.items() if pods} == expected
    assert running_in({"b"}, view, tree).get("b") == found.get("b")


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_a_what_if_counts_as_the_cluster_that_it_stands_for(view: View) -> None:
    used: Counter[str] = Counter()
    for pod in on_nodes(view):
        used[quotas_of(view).name_of(pod)] += dict(pod.requirements.requests)["cpu"]
    assert {name: sums.used["cpu"] for name, sums in state(view).own.items() if sums.used["cpu"]} == used


def test_pods_count_the_same_in_whatever_order_they_were_listed() -> None:
    pods = list(chain.from_iterable(DRAWN.running.values()))
    plain, forwards, backwards = (state(of(one)) for one in (DRAWN, listed(DRAWN, pods), listed(DRAWN, pods[::-1])))
    assert plain.own == forwards.own == backwards.own
    assert plain.own["a"].used == {"cpu": 5000}
    assert plain.own["a"].fixed == {"cpu": 1000}
