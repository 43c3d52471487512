"""What the scheduler said, and when it tries again, in our words."""

from collections.abc import Iterator, Mapping

from kubectl_koord.messages.parsed import ParsedMessage, QuotaMessage, TopologyMessage
from kubectl_koord.model import accelerators
from kubectl_koord.model.snapshot import Gap
from kubectl_koord.reports.common import Verdict
from kubectl_koord.reports.jobs.pending import SchedulerSays, SlotRow
from kubectl_koord.wording.ages import age_at
from kubectl_koord.wording.words import count, listed, resource_name, sentence

# Coscheduling registers no cluster events: nothing that happens to nodes or other pods wakes what it alone refused.
# An update of a PodGroup wakes its gang where it ends a lack of pods, and not otherwise.
RETRIES_SELDOM = (
    "it retries within 5 min 30 s, or at once when a pod is added or minMember goes above its pods and back"
)
RETRIES_OFTEN = "it mostly retries within seconds, after 5 min 30 s at the latest"
RETRIES_SOON = "it retries when resources are freed or the cluster changes, after 5 min 30 s at the latest"
UNCHANGED = "it is unchanged"
PLACED_NOW: Mapping[Verdict, str] = {
    "yes": "it would be placed",
    "no": "it would still not be placed",
    "unknown": "",
}
_HOLDS = {True: "still true", False: "no longer true", None: "may be outdated"}

_SENTENCES = {
    "gang-unknown": "did not know gang {gang}",
    "gang-not-initialised": "found no valid minimum for gang {gang}",
    "gang-gone": "found that the gang was deleted",
    "group-incomplete": "found the gang group incomplete: {reason}",
    "group-in-round": "had not tried the pod in this round yet",
    "group-attempted": "had tried every pod of the gang once, which ended the round",
    "member-represents": "tried {pod} for the whole gang",
    "member-not-known": "did not have {pod} among the gang's pods",
    "member-unreserved": "gave up the round because {pod} could not be bound in time",
    "no-topology": "had no topology tree",
    "no-pending-pods": "found no pending pods to plan for",
    "plan-invalid": "found that its plan was no longer valid",
    "batch-failed": "failed to place {failed} of the planned pods, {pod} first: {reason}",
    "batch-waits": "ended the round while {pods} pods still waited",
    "batch-not-permitted": "did not permit {pod} on {node}: {reason}",
    "permit-timeout": "gave up after waiting {waited} for the other pods",
    "preempted": "gave the place of this waiting pod to another",
    "preempt-success": "preempted pods for it and retries when they have terminated",
    "preempts-never": "may not preempt for it: preemptionPolicy is Never",
    "victims-terminate": "waited for preempted pods to terminate",
    "quota-hook": "was refused by the quota hook {plugin}: {reason}",
    "no-reservation": "found no reservation that matches the reservation affinity",
    "other-scheduler": "found another scheduler's name on the pod",
    "being-deleted": "found the pod being deleted",
    "plugin-failed": "failed in plugin {plugin}: {reason}",
    "filter-failed": "gave up the attempt because plugin {plugin} failed: {reason}",
    "device-amount-invalid": "refused the amount {amount} of {resource}",
    "device-set-invalid": "refused this set of device resources: {resources}",
    "device-annotation-unreadable": "could not read annotation {annotation}: {reason}",
    "device-selector-invalid": "could not read {selector} of the device hint for {type}: {reason}",
    "device-template-missing": "found no template for the requested share of the device",
    "cpus-not-integer": "refused parts of a CPU for a pod whose CPUs are bound",
    "claim-unbound": "found a volume claim that must be bound before pods are scheduled",
    "claim-missing": "did not find volume claim {claim}",
    "claim-deleted": "found volume claim {claim} being deleted",
    "claim-of-other": "found that volume claim {claim} was not made for this pod",
    "claim-awaited": "waited for volume claim {claim} of an ephemeral volume",
    "volume-missing": "did not find volume {volume}",
    "device-class-missing": "did not find device class {class}",
    "before-1.7-too-few-pods": "found too few pods of the gang (a scheduler older than 1.7)",
    "before-1.7-cycle": "was not in the right cycle of the gang (a scheduler older than 1.7)",
    "before-1.7-rejected": "rejected the gang because of {pod}: {reason} (a scheduler older than 1.7)",
}


def understood(parsed: ParsedMessage) -> str:
    """Return what a message says, `the scheduler found no node: 7 Insufficient cpu`; empty where it is not known."""
    root = parsed.root
    if root.topology is not None:
        return f"the scheduler {_plan(root.topology)}"
    if root.quota is not None:
        return f"the scheduler {_exhausted(root.quota)}"
    if root.phrase is not None:
        return f"the scheduler {_SENTENCES[root.phrase.code].format_map(root.phrase.names)}"
    if root.counts:
        found = "could not preempt for it" if root.is_failed_preemption else "found no node"
        return f"the scheduler {found}: {listed([f'{n} {reason}' for n, reason in root.counts])}"
    return ""


def _plan(plan: TopologyMessage) -> str:
    part = " (part of its list could not be read)" if plan.text else ""
    if plan.best is not None:
        return f"counted at most {plan.best[1]} of {plan.desired} slots in each of {plan.best[0]} domains"
    if not plan.domains:
        return f"found no domain in the requested layer{part}"
    most = max(domain.slots for domain in plan.domains)
    names = [domain.name or "the whole cluster" for domain in plan.domains if domain.slots == most]
    return f"counted {most} of {plan.desired} slots in {listed(names)}{part}"


def _exhausted(quota: QuotaMessage) -> str:
    kind = "quota" if quota.limit == "runtime" else "non-preemptible quota"
    parts = [f"{name} {used} used, {asked} requested, limit {limit}" for name, used, limit, asked in _exceeded(quota)]
    return f"found {kind} {'/'.join(quota.names)} exhausted: {listed(parts)}"


def quota_refused(pod: str, since: str, quota: QuotaMessage) -> str:
    """Return that the scheduler refuses the pod for its quota, with used, limit and request of what is over."""
    parts = []
    for resource, used, limit, asked in _exceeded(quota):
        name = resource if accelerators.is_share(resource) else resource_name(resource)  # as the scheduler counts
        parts.append(f"{name}: {used} of {limit} used, {asked} requested")
    numbers = f" ({listed(parts)})" if parts else ""
    when = f" since {since}" if since else ""
    return (
        f"the scheduler reports{when} that quota {' '.join(quota.names)} has no room for {pod}{numbers};"
        " quotas are not evaluated."
    )


def _exceeded(quota: QuotaMessage) -> Iterator[tuple[str, str, str, str]]:
    """Yield the resources that are over, with what is used, the limit and the request."""
    used, limits, asked = (dict(amounts) for amounts in (quota.used, quota.allowed, quota.request))
    for resource in quota.exceeded:
        yield resource, used.get(resource, "0"), limits.get(resource, "0"), asked.get(resource, "0")


def slots_there_now(slots: int, wanted: int) -> str:
    """Return the slots now of the domains that the scheduler named."""
    return f"it is {slots} of {wanted}"


def most_slots_now(best: SlotRow, wanted: int) -> str:
    """Return the most slots now of any domain."""
    where = f"in {best.name}" if best.name else "in the whole cluster"
    return f"the most is {best.offer_slots} of {wanted} {where}"


def unknown_time(gap: Gap) -> str:
    """Return that without events it is not known when the scheduler last said so."""
    return f"{gap.kind}: {gap.message}: the time of the scheduler's last message is unknown."


def last_said(says: SchedulerSays, moment: str, longest: int | None) -> str:
    """Return what the scheduler wrote on the pods, how old it is, whether it still holds and when it tries again.

    Without an event only the first failure has a time: the message itself may be newer. Of a message that is not
    understood `longest` characters are quoted, None for all.
    """
    age = age_at(says.last_seen or says.since, moment)
    since = (f"{age} ago" if says.last_seen else f"Within the last {age}") if age else f"Since {says.since}"
    said = says.reads or f'the scheduler reported ({_HOLDS[says.agrees]}): "{_shortened(says.message, longest)}"'
    told = f"{since} {said}" if age or says.since else sentence(said)
    if not says.reads:
        return told
    now = f"now {says.now}" if says.now else ""
    return "; ".join(filter(None, [told, now, says.retry])) + "."


def _shortened(message: str, longest: int | None) -> str:
    if longest is None or len(message) <= longest:
        return message
    return f"{message[:longest].rstrip()}... (--all shows the rest)"


def carried_by(pods: list[str]) -> str:
    """Return which pods carry a message, to stand above it."""
    return f"on {count(len(pods), 'pod')} ({', '.join(pods)}):"
