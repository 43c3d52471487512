"""The report of `why-pending` about one subject, put together from its verdict, its cause and the attempt."""

from collections.abc import Iterator, Mapping
from typing import Any

from kubectl_koord.diagnosis import coverage, evidence, migrations, not_ready, overview
from kubectl_koord.diagnosis.agreement import Computed
from kubectl_koord.diagnosis.quotas import holding
from kubectl_koord.diagnosis.scheduler_says import scheduler_says, unseen_events
from kubectl_koord.engine.attempts.attempt import Attempt
from kubectl_koord.engine.subjects import GangSubject, Subject
from kubectl_koord.model.pods import FinishedPod, RunningPod
from kubectl_koord.reports.codes import CauseCode
from kubectl_koord.reports.common import Notice, Verdict
from kubectl_koord.reports.jobs.pending import Cause, WhyReport
from kubectl_koord.simulation.simulation import Simulation
from kubectl_koord.wording.words import requests


def report_of(
    simulation: Simulation,
    warnings: tuple[Notice, ...],
    *,
    verdict: Verdict,
    cause: Cause | None,
    also_wrong: tuple[CauseCode, ...] = (),
    attempts: tuple[Attempt, ...] = (),
    brief: bool = False,
    **more: object,
) -> WhyReport:
    """Return the report of a verdict and its cause; the rest is computed, or comes as fields of the report.

    Args:
        simulation: the subject in its cluster.
        warnings: what is to be known besides.
        verdict: the answer.
        cause: the one root cause, if any.
        also_wrong: what else is wrong.
        attempts: those that are open, first the one that the verdict comes from; none where the subject is not tried.
        brief: whether to leave out the evidence that listings do not show.
        more: other fields of the report.

    """
    subject, snapshot = simulation.subject, simulation.snapshot
    first = attempts[0] if attempts else None
    pending = subject.pending
    rows = evidence.slot_rows(simulation, first, brief=brief) if first is not None else ()
    left_out = tuple(coverage.slots_incomplete(subject, snapshot)) if rows else ()
    fields: dict[str, Any] = {
        "placement": None,
        "unblock": (),
        "next_steps": (),
        "alternatives": (),
        "requests": requests(pending[0].requirements.requests) if pending else "",
        **_of_subject(subject),
        **more,
    }
    if first is not None and first.prefilter is None and not brief and "funnel" not in more:
        fields["funnel"] = evidence.funnel(simulation, first)
    refusal = first.over_quota if first is not None and cause is not None and cause.code == "quota" else None
    if refusal is not None and not brief:
        fields["quota_holders"] = holding.holders(holding.state_of(simulation.view), refusal)
    waiting, waiting_for = overview.asked_for(pending)
    code = cause.code if cause is not None else None
    computed = Computed(simulation, verdict, code, attempts, not left_out)
    reservations = migrations.reservations_of(snapshot, simulation.view, subject.members)
    moving = migrations.migrations_of(snapshot, subject.members, reservations)
    says = scheduler_says(pending, () if brief else snapshot.events, rows, computed)
    return WhyReport(
        verdict=verdict,
        basis=coverage.basis(snapshot),
        warnings=(
            *migrations.notices(moving, snapshot),
            *unseen_events(snapshot, says),
            *warnings,
            *left_out,
            *not_ready.where_placed(snapshot, _planned_nodes(fields)),
        ),
        gang=subject.key,
        gang_group=tuple(subject.gangs),
        pending_pods=tuple(pod.key for pod in pending),
        must_gather=simulation.must_gather or None,
        desired_offer_slot=simulation.desired,
        domains=rows,
        cause=cause,
        also_wrong=also_wrong,
        scheduler_says=says,
        waiting=waiting,
        waiting_for=waiting_for,
        shapes=overview.shapes(pending),
        priority=max((pod.priority for pod in pending), default=None),
        owners=tuple(sorted({pod.owner for pod in pending} - {""})),
        waiting_since=min((pod.created for pod in pending), default=""),
        migrations=moving,
        reservations=reservations,
        **fields,
    )


def _planned_nodes(fields: Mapping[str, Any]) -> Iterator[str]:
    """Yield the nodes on which members would be placed, in any of the outcomes that the fields of a report tell."""
    for placement in (fields["placement"], *(each.placement for each in fields["alternatives"])):
        yield from (placement or {}).values()


def _of_subject(subject: Subject) -> dict[str, object]:
    """Return the fields of the report that a gang and a lone pod fill each in its own way."""
    if isinstance(subject, GangSubject):
        own = subject.group.own
        return {"bound_pods": subject.group.bound, "min_member": own.minimum or 0, "defined_by": own.defined_by}
    pod = subject.pod
    is_bound = isinstance(pod, RunningPod) or (isinstance(pod, FinishedPod) and pod.was_bound)
    node = pod.node if isinstance(pod, RunningPod) else ""
    return {"bound_pods": int(is_bound), "min_member": 1, "lone_pod": True, "node": node}
