"""From the API's objects to the answer: the order of objects is no matter, and nothing is lost on the way."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from kubectl_koord.engine.gangs import Subject
from kubectl_koord.explain.preempt import preempt
from kubectl_koord.explain.topo import topo
from kubectl_koord.explain.why import why
from kubectl_koord.model import values
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.simulation.subjects import find
from tests.build import Drawing
from tests.properties.objects import objects_of, read
from tests.properties.strategies import clusters


def answers(snapshot: Snapshot) -> tuple[object, ...]:
    subject = find(snapshot, "job", "default")
    assert isinstance(subject, Subject)
    return why(snapshot, subject, brief=True), preempt(snapshot, subject), topo(snapshot, subject)


@given(clusters(), st.randoms(use_true_random=False))
def test_the_order_of_objects_is_no_matter(drawing: Drawing, rng: Random) -> None:
    objects = objects_of(drawing)
    turned = objects[::-1]
    rng.shuffle(turned)
    assert read(turned, drawing) == read(objects, drawing)


@given(clusters())
def test_a_drawing_and_its_objects_give_the_same_answers(drawing: Drawing) -> None:
    assert answers(read(objects_of(drawing), drawing)) == answers(drawing)


@given(st.sampled_from(("cpu", "memory", "nvidia.com/gpu", "hugepages-2Mi")), st.integers(0, 1 << 60))
def test_an_amount_reads_back_as_it_was_spelled(resource: str, number: int) -> None:
    assert values.amount(resource, values.parse(values.spell(resource, number))) == number


@given(st.integers(0, 10**12), st.sampled_from(("", "m", "k", "M", "G", "Ki", "Mi", "Gi")))
def test_a_sum_of_quantities_is_exact(number: int, suffix: str) -> None:
    text = f"{number}{suffix}"
    assert values.parse(text) + values.parse("-" + text) == 0
    assert values.whole(values.parse(text)) * 1000 >= values.milli(values.parse(text))
