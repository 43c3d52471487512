"""A thousand seeded clusters: no crash, and the laws hold. Deselected by default (marker `soak`)."""

from random import Random

import pytest

from kubectl_koord.engine.placement import sums
from kubectl_koord.engine.state import of
from kubectl_koord.engine.tree import Tree, build
from kubectl_koord.engine.trying import attempt
from kubectl_koord.explain.preempt import preempt
from kubectl_koord.explain.why import why
from tests.build import Drawing, jobs_of
from tests.properties.strategies import random_cluster
from tests.properties.test_never_raises import ask_everything


@pytest.mark.soak
@pytest.mark.parametrize("tens", range(100))
def test_ten_of_a_thousand_clusters_keep_the_laws(tens: int) -> None:
    for seed in range(10 * tens, 10 * tens + 10):
        drawing = random_cluster(Random(seed))  # noqa: S311
        ask_everything(drawing)
        _answers_agree(drawing)
        _plans_are_sound(drawing)


def _answers_agree(drawing: Drawing) -> None:
    subject = drawing.subject("job")
    report, plan = why(drawing, subject), preempt(drawing, subject)
    assert (report.cause is None) == (report.verdict == "yes")
    if report.verdict == "yes":
        assert plan.reason in {"not-needed", "no-pending-pods"}
    if report.verdict == "no" and not plan.alternatives:
        assert plan.reason not in {"not-needed", "no-pending-pods"}
    lowest = max(pod.priority for pod in subject.pending)
    assert all(victim.priority < lowest for one in plan.rounds for victim in one.victims)


def _plans_are_sound(drawing: Drawing) -> None:
    tree = build(drawing.topologies, drawing.nodes)
    assert isinstance(tree, Tree)
    for job in jobs_of(drawing):
        for trigger in job.triggers:
            found = attempt(job, of(drawing), trigger).plan
            if found is None:
                continue
            assert found.raw == sums(tree, {name: node.slots for name, node in found.nodes.items()})
            assert all(slots <= raw for slots, raw in zip(found.slots, found.raw, strict=True))
            assert found.assignments is None or set(found.assignments) == {pod.key for pod in job.pods}
