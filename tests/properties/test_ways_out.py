"""Each way out that is offered is applied as offered; then the answer is yes."""

import shlex

from hypothesis import given
from msgspec import structs

from kubectl_koord.changes.annotate import Wanted, pod_group_plan
from kubectl_koord.explain.preempt import preempt
from kubectl_koord.explain.reports import WayOut
from kubectl_koord.explain.why import why
from tests.build import Drawing, preempt_of, why_of
from tests.properties.strategies import ALONE, clusters


def applied(drawing: Drawing, way: WayOut) -> Drawing:
    """Return the cluster after a way out that changes the cluster."""
    running = [pod for held in drawing.running.values() for pod in held]
    match way.action:
        case "wait-for-terminating":
            return drawing.without_running(*(pod.key for pod in running if pod.terminating))
        case "wait-for-preemption":
            report = preempt_of(drawing)
            killed = {victim.pod for one in report.rounds for victim in one.victims}
            nodes = {name for one in report.rounds for name in one.nominations.values()}
            gone = {pod.key for pod in running if pod.terminating and pod.node in nodes}
            return drawing.without_running(*killed, *gone)
        case "uncordon":
            names = shlex.split(way.command)[2:]
            return drawing.with_nodes(*(structs.replace(drawing.nodes[name], unschedulable=False) for name in names))
        case "free-pod":
            name = shlex.split(way.command)[3]
            return drawing.without_running(f"default/{name}")
        case "drop-surplus":
            names = shlex.split(way.command)[3:-2]
            return drawing.but(pending=tuple(pod for pod in drawing.pending if pod.name not in names))
        case _:
            raise AssertionError(way)


@given(clusters(ALONE))
def test_every_way_out_makes_the_answer_yes(drawing: Drawing) -> None:
    report = why_of(drawing)
    for way in report.unblock:
        if way.action in {"gather-wider", "prefer-gather"}:
            option, layer = shlex.split(way.command)[7:9]
            wanted = Wanted(must_gather=(layer,)) if option == "--must-gather" else Wanted(prefer_gather=(layer,))
            later = pod_group_plan(drawing, "default/job", wanted, overwrite=True).effect
            assert later is not None
            assert later.after.verdict == "yes", way
        else:
            assert why_of(applied(drawing, way)).verdict == "yes", way


@given(clusters(ALONE))
def test_a_no_has_a_cause_and_a_yes_has_none(drawing: Drawing) -> None:
    report = why_of(drawing)
    assert (report.cause is None) == (report.verdict == "yes")
    assert report.unblock == () or report.verdict == "no"


@given(clusters())
def test_a_yes_needs_no_preemption(drawing: Drawing) -> None:
    subject = drawing.subject("job")
    if why(drawing, subject).verdict == "yes":
        assert preempt(drawing, subject).reason in {"not-needed", "no-pending-pods"}


@given(clusters(ALONE))
def test_once_the_victims_of_every_round_are_gone_the_gang_is_placed(drawing: Drawing) -> None:
    report = preempt_of(drawing)
    if report.verdict != "yes" or not report.rounds or report.alternatives:
        return
    way = WayOut("wait-for-preemption", "")
    assert why_of(applied(drawing, way)).verdict == "yes"
