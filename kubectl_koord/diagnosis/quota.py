"""What quotas say of a subject: as the scheduler reports it, and as it is computed."""

from collections.abc import Iterable

from kubectl_koord.engine.attempts.attempt import needed
from kubectl_koord.engine.quota.state import quota_state
from kubectl_koord.engine.quota.tree import quota_tree
from kubectl_koord.engine.reasons.prefilter import QuotaExceeded
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.subjects import PodSubject, never_tried
from kubectl_koord.messages.conditions import conditions, root_of
from kubectl_koord.model.unevaluated import OpenQuota, QuotaSetting, Unevaluated, UnreadQuotas
from kubectl_koord.reports.pending import Cause
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


def exceeded(simulation: Simulation) -> QuotaExceeded | None:
    """Return how quotas stop the subject whatever nodes there are, None where enough members pass.

    Members are taken in the order of their names, which decides who is refused, not whether anybody is.
    """
    subject, snapshot = simulation.subject, simulation.snapshot
    never = never_tried(subject, snapshot)
    pods = [pod for pod in subject.pending if pod.key not in never]
    if not any(quota_tree(snapshot).may_refuse(pod) for pod in pods):
        return None
    state = quota_state(simulation.view, rules(snapshot.config.version), snapshot.pending)
    stopped = state.first_refused(pods)
    return stopped[1] if stopped is not None and stopped[0] < _wanted_at_once(simulation, len(pods)) else None


def _wanted_at_once(simulation: Simulation, pods: int) -> int:
    subject = simulation.subject
    if isinstance(subject, PodSubject) or simulation.has_topology or subject.group.is_satisfied():
        return pods
    return sum(needed(subject.group).values())
