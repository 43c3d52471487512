"""What nodes answered an attempt is what they answer when they are asked again."""

from hypothesis import given

from kubectl_koord.diagnosis.evidence import asked
from kubectl_koord.simulation.simulation import open_outcomes, simulate
from tests.build import Drawing
from tests.properties.strategies import clusters
from tests.worded import worded


@given(clusters())
def test_what_an_attempt_has_asked_nodes_they_answer_again(drawing: Drawing) -> None:
    simulation = simulate(drawing, drawing.subject("job"))
    for first in (outcome.first for outcome in open_outcomes(simulation, preemption=False)):
        if first.prefilter is None:
            known, anew = asked(simulation, first.trigger, first), asked(simulation, first.trigger)
            assert (dict(known.counts), worded(known.reasons)) == (dict(anew.counts), worded(anew.reasons))
