"""A what-if laid over a cluster answers like a cluster in which it is so."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from kubectl_koord.engine.filters import Prepared
from kubectl_koord.engine.rounds import Outcome
from kubectl_koord.engine.state import NodeState, View, of
from kubectl_koord.model.pods import RunningPod
from kubectl_koord.simulation.simulation import Simulation, open_outcomes, simulate
from tests.build import Drawing
from tests.properties.strategies import clusters


def known(state: NodeState) -> tuple[object, ...]:
    free = {resource: amount for resource, amount in state.free.items() if amount}
    return free, state.places, sorted(one.name for one in state.occupants), sorted(port.port for port in state.ports)


def same(over: View, whole: View) -> bool:
    names = list(over.names())
    return names == list(whole.names()) and all(known(over.state(n)) == known(whole.state(n)) for n in names)


def some(drawing: Drawing, which: int) -> list[RunningPod]:
    pods = [pod for held in drawing.running.values() for pod in held]
    return [pod for position, pod in enumerate(pods) if which >> position & 1]


def answers(simulation: Simulation, view: View | None = None) -> list[Outcome]:
    """Return the outcomes without the filters, which know the view that they were prepared for."""
    return [
        structs.replace(one, first=structs.replace(one.first, prepared=Prepared(one.trigger, ())))
        for one in open_outcomes(simulation, view)
    ]


@given(clusters(), st.integers(0, 1023))
def test_a_view_without_pods_is_the_cluster_without_them(drawing: Drawing, which: int) -> None:
    gone = some(drawing, which)
    without = drawing.without_running(*(pod.key for pod in gone))
    simulation = simulate(drawing, drawing.subject("job"))
    over = simulation.view.without(gone)
    assert same(over, of(without))
    mine = [pod for pod in gone if pod.gang == "default/job"]
    if not mine:  # a member that is gone changes what the gang still needs
        assert answers(simulation, over) == answers(simulate(without, without.subject("job")))


@given(clusters())
def test_a_view_with_nodes_uncordoned_is_the_cluster_with_them_uncordoned(drawing: Drawing) -> None:
    opened = [structs.replace(node, unschedulable=False) for node in drawing.nodes.values()]
    simulation = simulate(drawing, drawing.subject("job"))
    changed = drawing.with_nodes(*opened)
    assert same(simulation.view.with_nodes(opened), of(changed))
    after = answers(simulate(changed, changed.subject("job")))
    assert answers(simulation, simulation.view.with_nodes(opened)) == after


@given(clusters(), st.integers(0, 1023))
def test_views_may_be_laid_over_each_other_in_any_order(drawing: Drawing, which: int) -> None:
    gone = some(drawing, which)
    opened = [structs.replace(node, unschedulable=False) for node in drawing.nodes.values()]
    one = of(drawing).without(gone[::2]).with_nodes(opened).without(gone[1::2])
    other = of(drawing).with_nodes(opened).without(gone)
    assert same(one, other)
