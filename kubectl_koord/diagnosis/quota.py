"""A quota's refusal in the scheduler's own words: quotas themselves are not evaluated."""

from collections.abc import Iterable

from kubectl_koord.messages.conditions import conditions, root_of
from kubectl_koord.model.unevaluated import LimitedQuota, Unevaluated, UnreadQuotas
from kubectl_koord.reports.pending import Cause
from kubectl_koord.simulation.simulation import Simulation
from kubectl_koord.wording.scheduler import quota_refused


def refuses(simulation: Simulation, unevaluated: Iterable[Unevaluated]) -> Cause | None:
    """Return the cause of pods that the scheduler refuses for their quota, None where it does not say so.

    It comes before slots in the scheduler's order, but its message may be old: what is computed now is surer.
    `unevaluated` is what bears on the subject: where no quota is among it, the refusal is out of date.
    """
    is_limited = any(isinstance(item, LimitedQuota | UnreadQuotas) for item in unevaluated)
    reported = conditions(simulation.subject.pending) if is_limited else ()
    if not reported:
        return None
    root = root_of(reported)
    refusal = root.parsed.root.quota
    return None if refusal is None else Cause("quota", quota_refused(root.pod, root.since, refusal), (root.pod,))
