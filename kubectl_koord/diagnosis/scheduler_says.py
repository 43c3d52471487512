"""What the scheduler last said of a gang, how old that is, whether it still holds, and when it tries again."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import structs

from kubectl_koord.diagnosis.agreement import Computed, agrees
from kubectl_koord.messages.conditions import conditions, failed_attempts, instant, of_events, root_of
from kubectl_koord.messages.parsed import ParsedMessage, TopologyMessage
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.traces import Event
from kubectl_koord.reports.codes import OF_GAP
from kubectl_koord.reports.common import Notice, Verdict
from kubectl_koord.reports.jobs.pending import SaidText, SchedulerSays, SlotRow, WhyReport
from kubectl_koord.simulation.simulation import Simulation
from kubectl_koord.wording import scheduler

_OF_COSCHEDULING = ("gang-", "group-", "member-", "no-topology")


def scheduler_says(
    pending: Sequence[PendingPod],
    events: Iterable[Event],
    rows: Sequence[SlotRow],
    now: Computed,
) -> SchedulerSays | None:
    """Return the root cause among the members' conditions, None where nothing was said.

    Events count where no pod has a condition, and show how recent the message is: a condition keeps the
    time of the first failure. `rows` are the slots that are shown beside it.
    """
    attempts = failed_attempts(pending, events)
    reported = conditions(pending) or of_events(attempts)
    if not reported:
        return None
    root = root_of(reported)
    holds = agrees(root.parsed, now)
    return SchedulerSays(
        message=root.message,
        since=root.since,
        agrees=holds,
        pod=root.pod,
        last_seen=max([root.since, *(event.last_seen for event in attempts)], key=instant) if attempts else None,
        reads=scheduler.understood(root.parsed),
        now=_now(root.parsed.slots, rows, now.verdict, wanted=len(pending), agrees=holds),
        retry=_retry(root.parsed.root, now.simulation) if holds is False else "",
    )


def members_bring_it_back(simulation: Simulation) -> bool:
    """Tell whether a gang that was refused is mostly tried again within seconds, whatever changes.

    A round takes all members but the first past the queue (`runNextPodPlugin`). From 1.8 on, whose kube-scheduler does
    not know such pods to be in flight, a refused one waits for its backoff alone, and begins another round.
    """
    return simulation.snapshot.config.version != "1.7" and len(simulation.subject.pending) > 1


def with_texts(report: WhyReport, pending: Sequence[PendingPod]) -> WhyReport:
    """Return the report with every distinct text on the pods: the root cause first, then the most frequent."""
    says = report.scheduler_says
    if says is None:
        return report
    pods: dict[str, list[str]] = {}
    for one in conditions(pending):
        pods.setdefault(one.message, []).append(one.pod)
    ranked = sorted(pods.items(), key=lambda item: (item[0] != says.message, -len(item[1]), item[1]))
    texts = tuple(SaidText(message, tuple(names)) for message, names in ranked) or (
        SaidText(says.message, (says.pod,)),
    )
    return structs.replace(report, scheduler_says=structs.replace(says, texts=texts))


def unseen_events(snapshot: Snapshot, says: SchedulerSays | None) -> Iterator[Notice]:
    """Yield a warning where events could not be read and would have shown how recent the message is."""
    gap = snapshot.gap("Event")
    if says is not None and gap is not None and gap.code != "not-in-input":
        yield Notice(OF_GAP[gap.code], scheduler.unknown_time(gap))


def _now(
    plan: TopologyMessage | None, rows: Sequence[SlotRow], verdict: Verdict, *, wanted: int, agrees: bool | None
) -> str:
    """Return what is computed now, to be read beside what the scheduler said."""
    if agrees:
        return scheduler.UNCHANGED
    if plan is None or not rows:
        return scheduler.PLACED_NOW[verdict]
    most = max((domain.slots for domain in plan.domains), default=-1)
    named = {(domain.layer, domain.name) for domain in plan.domains if domain.slots == most}
    same_domains = {row.offer_slots for row in rows if (row.layer, row.name) in named}
    best = max(rows, key=lambda row: row.offer_slots)
    if same_domains == {best.offer_slots} and best.offer_slots != most:
        return scheduler.slots_there_now(best.offer_slots, wanted)
    return scheduler.most_slots_now(best, wanted)


def _retry(root: ParsedMessage, simulation: Simulation) -> str:
    """Return when the scheduler tries again: what Coscheduling alone refused is not woken by freed room."""
    if root.topology is not None and members_bring_it_back(simulation):
        return scheduler.RETRIES_OFTEN
    if root.topology is not None or (root.phrase is not None and root.phrase.code.startswith(_OF_COSCHEDULING)):
        return scheduler.RETRIES_SELDOM
    is_of_nodes = bool(root.counts) and root.phrase is None
    return scheduler.RETRIES_SOON if is_of_nodes or root.quota is not None else ""
