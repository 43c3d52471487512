"""Each way out that is offered is applied as offered; then the answer is yes."""

from functools import reduce
from random import Random

import pytest
from hypothesis import given
from msgspec import structs

from kubectl_koord.explain.preempt import preempt
from kubectl_koord.explain.why import why
from kubectl_koord.model import values
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import PendingPod, PodRequirements
from kubectl_koord.model.values import Toleration
from kubectl_koord.reports.common import (
    AddNode,
    DeletePod,
    Edit,
    MovePod,
    ReleaseReservation,
    SetMinimum,
    SetQuota,
    SetRequest,
    SetTopology,
    Tolerate,
    Uncordon,
    UseQuota,
)
from kubectl_koord.reports.jobs import PlanFailure
from tests.build import Drawing, preempt_of, why_of
from tests.properties.strategies import ALONE, HELD, clusters, random_cluster


def made(drawing: Drawing, edit: Edit) -> Drawing:
    """Return the cluster after one edit of a way out."""
    match edit:
        case DeletePod(pod=key, node=""):
            return drawing.but(pending=tuple(pod for pod in drawing.pending if pod.key != key))
        case DeletePod(pod=key):
            return drawing.without_running(key)
        case MovePod(pod=key, node=node, to=to):
            (pod,) = (pod for pod in drawing.running[node] if pod.key == key)
            there = (*drawing.running.get(to, ()), structs.replace(pod, node=to))
            return drawing.but(running={**drawing.without_running(key).running, to: there})
        case Uncordon(node=name):
            return drawing.with_nodes(_open(drawing.nodes[name]))
        case AddNode(node=name, like=like):
            return drawing.with_nodes(structs.replace(_open(drawing.nodes[like]), name=name))
        case _:
            return _changed(drawing, edit)


def _with_more(drawing: Drawing, edit: SetQuota | UseQuota | ReleaseReservation) -> Drawing:
    match edit:
        case SetQuota(quota=key, field=field, resource=resource, amount=amount):
            (quota,) = (one for one in drawing.quotas if f"{one.namespace}/{one.name}" == key)
            limits = dict(quota.min if field == "min" else quota.max)
            limits[resource] = values.amount(resource, values.parse(amount))
            raised = structs.replace(quota, **{field: tuple(sorted(limits.items()))})
            return drawing.but(quotas=tuple(raised if one is quota else one for one in drawing.quotas))
        case UseQuota(pods=keys, quota=name):
            label = (("quota.scheduling.koordinator.sh/name", name),)
            return drawing.with_pods(
                *(structs.replace(pod, labels=label) for pod in drawing.pending if pod.key in keys)
            )
        case ReleaseReservation(reservation=name):
            kept = tuple(one for one in drawing.reservations if one.name != name)
            return drawing.but(reservations=kept, reserved=tuple(one for one in drawing.reserved if one.name != name))


def _changed(drawing: Drawing, edit: Edit) -> Drawing:
    if isinstance(edit, SetQuota | UseQuota | ReleaseReservation):
        return _with_more(drawing, edit)
    group = drawing.pod_groups["default/job"]
    match edit:
        case SetTopology(spec=spec):
            return drawing.with_group("job", group.min_member, topology=spec)
        case SetMinimum(minimum=minimum):
            return drawing.with_group("job", minimum, topology=group.topology)
        case Tolerate(pods=keys) | SetRequest(pods=keys):
            shapes = {pod.key: _shape(pod, edit) for pod in drawing.pending if pod.key in keys}
            return drawing.with_pods(
                *(structs.replace(pod, requirements=shapes[pod.key]) for pod in drawing.pending if pod.key in shapes)
            )
        case _:
            raise AssertionError(edit)


def _open(node: Node) -> Node:
    taints = tuple(taint for taint in node.taints if taint.key != "node.kubernetes.io/unschedulable")
    return structs.replace(node, unschedulable=False, taints=taints)


def _shape(pod: PendingPod, edit: Tolerate | SetRequest) -> PodRequirements:
    if isinstance(edit, Tolerate):
        more = Toleration(edit.key, "Equal", edit.value, edit.effect)
        return structs.replace(pod.requirements, tolerations=(*pod.requirements.tolerations, more))
    most = values.amount(edit.resource, values.parse(edit.amount))
    requests = tuple((name, most if name == edit.resource else amount) for name, amount in pod.requirements.requests)
    return structs.replace(pod.requirements, requests=requests)


@pytest.mark.measured
@given(clusters(ALONE))
def test_every_way_out_makes_the_answer_yes(drawing: Drawing) -> None:
    for way in why_of(drawing).unblock:
        assert why_of(reduce(made, way.edits, drawing)).verdict == "yes", way


@given(clusters(HELD))
def test_every_way_out_of_a_quota_or_past_a_reservation_makes_the_answer_yes(drawing: Drawing) -> None:
    for way in why_of(drawing).unblock:
        assert why_of(reduce(made, way.edits, drawing)).verdict == "yes", way


@given(clusters(HELD))
def test_of_a_maximum_that_is_to_be_raised_less_is_not_enough(drawing: Drawing) -> None:
    for way in why_of(drawing).unblock:
        raised = [edit for edit in way.edits if isinstance(edit, SetQuota)]
        if way.action != "raise-quota" or any(edit.field == "min" for edit in raised):
            continue
        for edit in raised:
            amount = values.amount(edit.resource, values.parse(edit.amount))
            less = structs.replace(edit, amount=values.spell(edit.resource, amount - 1))
            edits = [less if one is edit else one for one in way.edits]
            assert why_of(reduce(made, edits, drawing)).verdict == "no", way


@pytest.mark.soak
@pytest.mark.parametrize("tens", range(60))
def test_every_way_out_of_many_clusters_with_quotas_and_reservations_makes_the_answer_yes(tens: int) -> None:
    for seed in range(10 * tens, 10 * tens + 10):
        drawing = random_cluster(Random(seed), HELD)  # noqa: S311
        for way in why_of(drawing).unblock:
            assert why_of(reduce(made, way.edits, drawing)).verdict == "yes", (seed, way)


@given(clusters(ALONE))
def test_a_no_has_a_cause_and_a_yes_has_none(drawing: Drawing) -> None:
    report = why_of(drawing)
    assert (report.cause is None) == (report.verdict == "yes")
    # A plan that cannot be carried out is a race where the scheduler tries again at once: its verdict is open.
    is_race = report.verdict == "unknown" and isinstance(report.cause, PlanFailure)
    assert report.unblock == () or report.verdict == "no" or is_race


@given(clusters())
def test_a_yes_needs_no_preemption(drawing: Drawing) -> None:
    subject = drawing.subject("job")
    if why(drawing, subject).verdict == "yes":
        assert preempt(drawing, subject).reason in {"not-needed", "no-pending-pods"}


@pytest.mark.measured
@given(clusters(ALONE))
def test_once_the_victims_of_every_round_are_gone_the_gang_is_placed(drawing: Drawing) -> None:
    report = preempt_of(drawing)
    if report.verdict != "yes" or not report.rounds or report.alternatives:
        return
    running = [pod for held in drawing.running.values() for pod in held]
    nodes = {name for one in report.rounds for name in one.nominations.values()}
    killed = {victim.pod for one in report.rounds for victim in one.victims}
    gone = {pod.key for pod in running if pod.terminating and pod.node in nodes}
    assert why_of(drawing.without_running(*killed, *gone)).verdict == "yes"
