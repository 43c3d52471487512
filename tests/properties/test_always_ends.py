"""Every question about a cluster as mixed as real ones has an answer, in a bounded number of steps."""

from collections.abc import Callable, Iterator
from cProfile import Profile
from functools import partial
from random import Random
from time import process_time
from typing import TypeAlias

import pytest

from kubectl_koord.engine.gangs import Subject
from kubectl_koord.engine.tree import Tree, tree_of
from kubectl_koord.explain.devices import devices
from kubectl_koord.explain.doctor import doctor
from kubectl_koord.explain.every_pending import every_pending, gangs
from kubectl_koord.explain.fit import fit
from kubectl_koord.explain.place import domain_report, node_report
from kubectl_koord.explain.preempt import preempt
from kubectl_koord.explain.quota import quotas
from kubectl_koord.explain.topo import topo
from kubectl_koord.explain.why import why
from kubectl_koord.model.objects import Claim, Storage, StorageClass
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.simulation.subjects import pending_subjects
from kubectl_koord.simulation.submitted import Submitted
from tests.build import Drawing, cluster
from tests.conformance.cases import snapshot_of
from tests.properties.mixed import VERSIONS, mixed_cluster

MOST_CALLS = 3_000_000
Ask: TypeAlias = Callable[[Snapshot, Subject], object]


def prepared(seed: int, nodes: int, most_pods: int = 64) -> tuple[Snapshot, Subject]:
    """Return one of the clusters, and who is asked about."""
    rng = Random(seed)  # noqa: S311
    snapshot = snapshot_of(mixed_cluster(rng, nodes, most_pods), rng.choice(VERSIONS))
    return snapshot, next(one for one in pending_subjects(snapshot) if "/job" in one.key)


def answers(snapshot: Snapshot, subject: Subject) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield every verb that computes anything, and the question."""
    tree, node = tree_of(snapshot), next(iter(snapshot.nodes))
    submitted = Submitted(frozenset(pod.key for pod in subject.pending))
    yield "why-pending", lambda: why(snapshot, subject)
    yield "preempt", lambda: preempt(snapshot, subject)
    yield "why-pending -A", lambda: every_pending(snapshot)
    yield "topo --for", lambda: topo(snapshot, subject)
    yield "fit --count", lambda: fit(snapshot, submitted, count=True)
    yield "gangs", lambda: gangs(snapshot)
    yield "quota", lambda: quotas(snapshot)
    yield "devices", lambda: devices(snapshot)
    yield "node", lambda: node_report(snapshot, node)
    if isinstance(tree, Tree):
        yield "domain", lambda: domain_report(snapshot, tree, len(tree.domains) - 1)
    yield "doctor", lambda: doctor(snapshot)


@pytest.mark.parametrize("seed", [2, 3])
def test_no_answer_about_a_small_cluster_takes_more_than_so_many_calls(seed: int) -> None:
    snapshot, subject = prepared(seed, 6, 6)
    for verb, ask in answers(snapshot, subject):
        assert (verb, _calls(ask) <= MOST_CALLS) == (verb, True)


def with_own_claims(pods: int) -> Drawing:
    """Return ten nodes held by pods that may be preempted, and a gang of so many pods, each with a claim that waits."""
    names = [f"n{number}" for number in range(10)]
    drawing = cluster(f"s0: b0[{' '.join(names)}]").with_group("job", pods)
    for number, name in enumerate(names):
        drawing = drawing.with_running(f"low-{number}", name, cpu=4, priority=number % 3)
    for number in range(pods):
        drawing = drawing.with_pod(f"job-{number}", "job", cpu=6, priority=9, claims=(f"data-{number}",))
    keys = [f"default/data-{number}" for number in range(pods)]
    storage = Storage(classes={"late": StorageClass("late", "csi.example.com", waits=True)})
    return drawing.but(claims={key: Claim(key, class_name="late", uid=key) for key in keys}, storage=storage)


@pytest.mark.parametrize("ask", [why, preempt])
def test_pods_with_a_claim_of_their_own_each_take_steps_in_proportion(ask: Ask) -> None:
    drawings = [with_own_claims(pods) for pods in (3, 6, 12)]
    three, six, twelve = (_calls(partial(ask, drawing, drawing.subject("job"))) for drawing in drawings)
    assert twelve - six <= 2.5 * (six - three)


@pytest.mark.soak
@pytest.mark.parametrize("tens", range(40))
def test_no_answer_about_ten_of_400_clusters_takes_long(tens: int) -> None:
    for seed in range(10 * tens, 10 * tens + 10):
        _ask_within(seed, 48, 5)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(8))
def test_nor_does_one_about_a_very_large_cluster(seed: int) -> None:
    _ask_within(seed, 5000, 30)


def _calls(ask: Callable[[], object]) -> int:
    """Return how many functions of ours are called for an answer: a number that no machine changes."""
    profile = Profile(builtins=False)
    profile.runcall(ask)
    return sum(entry.callcount for entry in profile.getstats())


def _ask_within(seed: int, nodes: int, seconds: int) -> None:
    """Ask everything, each within so many seconds of processor time."""
    snapshot, subject = prepared(seed, nodes)
    for verb, ask in answers(snapshot, subject):
        began = process_time()
        ask()
        assert (seed, verb, process_time() - began < seconds) == (seed, verb, True)
