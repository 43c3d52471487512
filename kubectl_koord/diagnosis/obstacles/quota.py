"""What quotas say of a subject: as the scheduler reports it, and as it is computed."""

from collections.abc import Iterable, Sequence

from kubectl_koord.engine.attempts.attempt import needed
from kubectl_koord.engine.quota.state import QuotaState, quota_state
from kubectl_koord.engine.quota.tree import quotas_of
from kubectl_koord.engine.reasons.prefilter import QuotaExceeded
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.subjects import PodSubject, never_tried
from kubectl_koord.engine.view import View
from kubectl_koord.messages.conditions import conditions, root_of
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.unevaluated import OpenQuota, QuotaSetting, Unevaluated, UnreadQuotas
from kubectl_koord.reports.jobs.pending import Cause
from kubectl_koord.simulation.simulation import Simulation
from kubectl_koord.wording.scheduler import quota_refused


def refuses(simulation: Simulation, unevaluated: Iterable[Unevaluated]) -> Cause | None:
    """Return the cause of pods that the scheduler refuses for their quota, None where it does not say so.

    It comes before slots in the scheduler's order, but its message may be old: what is computed now is surer.
    `unevaluated` is what bears on the subject: where no quota is among it, they are computed, and the message is
    nothing but evidence.
    """
    is_open = any(isinstance(item, OpenQuota | QuotaSetting | UnreadQuotas) for item in unevaluated)
    reported = conditions(simulation.subject.pending) if is_open else ()
    if not reported:
        return None
    root = root_of(reported)
    refusal = root.parsed.root.quota
    return None if refusal is None else Cause("quota", quota_refused(root.pod, root.since, refusal), (root.pod,))


def exceeded(simulation: Simulation, view: View | None = None) -> QuotaExceeded | None:
    """Return how quotas stop the subject whatever nodes there are, as things are or in another variant.

    None where enough members pass.
    """
    snapshot, pods = simulation.snapshot, tried(simulation)
    view = view or simulation.view
    if not any(quotas_of(view).may_refuse(pod) for pod in pods):
        return None
    return refusal(simulation, quota_state(view, rules(snapshot.config.version), snapshot.pending), pods)


def tried(simulation: Simulation) -> tuple[PendingPod, ...]:
    """Return the members that the scheduler takes from its queue."""
    never = never_tried(simulation.subject, simulation.snapshot)
    return tuple(pod for pod in simulation.subject.pending if pod.key not in never)


def refusal(simulation: Simulation, state: QuotaState, pods: Sequence[PendingPod]) -> QuotaExceeded | None:
    """Return how quotas in this state stop the subject's members, None where enough of them pass.

    Members are taken in the order of their names, which decides who is refused, not whether anybody is.
    """
    stopped = state.first_refused(pods)
    return stopped[1] if stopped is not None and stopped[0] < _wanted_at_once(simulation, len(pods)) else None


def _wanted_at_once(simulation: Simulation, pods: int) -> int:
    subject = simulation.subject
    if isinstance(subject, PodSubject) or subject.group.is_satisfied():
        return pods
    return sum(needed(subject.group).values())
