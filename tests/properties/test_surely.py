"""What a look at a few nodes finds to be surely so is so."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from kubectl_koord.engine.attempt import Job
from kubectl_koord.engine.rounds import outcomes
from kubectl_koord.engine.state import View, of
from kubectl_koord.engine.trying import attempt, surely_placed, surely_placed_beside_all
from tests.build import Drawing, card, devices, jobs_of
from tests.properties.strategies import ANY, HELD, ODD, TINY, clusters

_GPU = "nvidia.com/gpu"


def with_cards(drawing: Drawing, which: int) -> Drawing:
    """Return the cluster in which each pod asks for a card, and nodes have up to three, of which some are ill."""
    for position, (name, node) in enumerate(tuple(drawing.nodes.items())):
        number, healthy = which >> 4 * position & 3, which >> 4 * position + 2 & 3
        cards = devices(*(card(minor, healthy=minor < healthy) for minor in range(number)))
        allocatable = tuple(sorted((dict(node.allocatable) | {_GPU: number}).items()))
        drawing = drawing.change(name, allocatable=allocatable, devices=cards)
    for pod in drawing.pending:
        requests = tuple(sorted((dict(pod.requirements.requests) | {_GPU: 1}).items()))
        requirements = structs.replace(pod.requirements, requests=requests)
        drawing = drawing.with_pods(structs.replace(pod, requirements=requirements))
    return drawing


def is_placed(job: Job, view: View) -> bool:
    """Tell whether the job is placed, be it without the nodes that plans fail on."""
    found = attempt(job, view, job.triggers[0])
    if not found.plan_fails or found.failed_seat is None:
        return found.placement is not None
    failing = structs.replace(view.node(found.failed_seat.node), unschedulable=True)
    return is_placed(job, view.with_nodes([failing]))


@given(clusters(TINY), st.booleans(), st.integers(0, (1 << 24) - 1))
def test_a_job_that_is_surely_placed_is_placed(drawing: Drawing, cards: bool, which: int) -> None:  # noqa: FBT001 - drawn
    drawn = with_cards(drawing, which) if cards else drawing
    for job in jobs_of(drawn):
        assert not surely_placed(job, of(drawn)) or is_placed(job, of(drawn))


@given(st.one_of([clusters(kind) for kind in (ANY, HELD, ODD, TINY)]), st.randoms(use_true_random=False))
def test_a_job_that_is_surely_placed_beside_all_is_so_whatever_comes_first(drawing: Drawing, rng: Random) -> None:
    view = of(drawing)
    names = rng.sample(sorted(view.names()), rng.randint(0, len(view.names())))
    for job in jobs_of(drawing):
        every = outcomes(job, view, preemption=False)
        assert not surely_placed_beside_all(job, view, names) or all(one.placed_at_once for one in every)
