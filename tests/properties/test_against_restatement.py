"""The engine against an independent search and an independent reprieve."""

from hypothesis import given

from kubectl_koord.engine.preemption import VICTIM_ORDERS, preempt
from kubectl_koord.engine.state import of
from kubectl_koord.engine.trying import attempt
from tests.build import Drawing, jobs_of
from tests.properties import restated
from tests.properties.strategies import ALIKE, ANY, TINY, clusters


@given(clusters(TINY))
def test_a_gang_is_planned_exactly_where_a_search_of_all_seatings_finds_one(drawing: Drawing) -> None:
    (job,) = jobs_of(drawing)
    placed = attempt(job, of(drawing), job.pods[0]).placement is not None
    if job.topology is None:
        enough = max(1, *job.needed.values())
        assert placed == restated.can_be_seated(drawing, job.pods[:enough], drawing.nodes)
        return
    layer = job.topology.requirements.must_gather
    found = any(restated.can_be_seated(drawing, job.pods, place) for place in restated.places(drawing, layer))
    assert placed == found


@given(clusters(ALIKE))
def test_the_victims_are_those_of_an_independent_reprieve(drawing: Drawing) -> None:
    (job,) = jobs_of(drawing)
    failed = attempt(job, of(drawing), job.pods[0])
    if failed.placement is not None:
        return
    for victim_order in VICTIM_ORDERS:
        found = preempt(job, of(drawing), failed, victim_order)
        if found.reason is not None:
            continue
        waiting = {pod.key: name for name, pods in failed.waiting.items() for pod in pods}
        assignments = {key: name for key, name in found.nominations.items() if key not in waiting}
        expected: set[str] = set()
        for name in set(assignments.values()):
            members = [pod for pod in job.pods if assignments.get(pod.key) == name]
            held = [pod for pod in job.pods if waiting.get(pod.key) == name]
            expected |= restated.dying(drawing, name, members, job.pods, held if job.topology is None else None)
        assert {pod.key for pod in found.gone} == expected


@given(clusters(ANY))
def test_victims_rank_lower_than_the_trigger_and_are_not_protected(drawing: Drawing) -> None:
    for job in jobs_of(drawing):
        for trigger in job.triggers:
            failed = attempt(job, of(drawing), trigger)
            if failed.placement is not None:
                continue
            found = preempt(job, of(drawing), failed)
            assert all(pod.priority < failed.trigger.priority and not pod.protected for pod in found.gone)
            assert all(pod.node in set(found.nominations.values()) for pod in found.gone)
            assert set(found.nominations) == ({pod.key for pod in job.pods} if found.reason is None else set())
