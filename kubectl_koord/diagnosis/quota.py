"""A quota's refusal in the scheduler's own words, where quotas could not be read or are not evaluated."""

from collections.abc import Iterable

from kubectl_koord.messages.conditions import conditions, root_of
from kubectl_koord.messages.parser import QuotaMessage
from kubectl_koord.model import accelerators
from kubectl_koord.model.unevaluated import OpenQuota, QuotaSetting, Unevaluated, UnreadQuotas
from kubectl_koord.reports.pending import Cause
from kubectl_koord.simulation.simulation import Simulation
from kubectl_koord.wording.words import listed, resource_name


def refuses(simulation: Simulation, unevaluated: Iterable[Unevaluated]) -> Cause | None:
    """Return the cause of pods that the scheduler refuses for their quota, None where it does not say so.

    It comes before slots in the scheduler's order, but its words may be old: what is computed now is surer.
    `unevaluated` is what bears on the subject: where no quota is among it, they are computed, and the words are
    nothing but evidence.
    """
    is_open = any(isinstance(item, OpenQuota | QuotaSetting | UnreadQuotas) for item in unevaluated)
    said = conditions(simulation.subject.pending) if is_open else ()
    if not said:
        return None
    told = root_of(said)
    refusal = told.words.root.quota
    if refusal is None:
        return None
    since = f" since {told.since}" if told.since else ""
    message = (
        f"the scheduler reports{since} that quota {' '.join(refusal.names)} has no room for {told.pod}"
        f"{_numbers(refusal)}; quotas are not evaluated."
    )
    return Cause("quota", message, (told.pod,))


def _numbers(refusal: QuotaMessage) -> str:
    """Return used, limit and request of the resources that are over: ` (CPU: 4 of 4 used, 1 requested)`."""
    lists = [dict(amounts) for amounts in (refusal.used, refusal.allowed, refusal.request)]
    parts = []
    for resource in refusal.exceeded:
        used, limit, asked = (amounts.get(resource, "0") for amounts in lists)
        name = resource if accelerators.is_share(resource) else resource_name(resource)  # as the scheduler counts
        parts.append(f"{name}: {used} of {limit} used, {asked} requested")
    return f" ({listed(parts)})" if parts else ""
