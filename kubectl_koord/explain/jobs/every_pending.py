"""Every gang with pending pods: why each waits, by cause, and which of them want the same room."""

from collections.abc import Collection

from kubectl_koord.diagnosis import (
    contention,
    coverage,
    overview,
    visibility,
)
from kubectl_koord.diagnosis.obstacles import admission
from kubectl_koord.diagnosis.quotas import holding
from kubectl_koord.explain.jobs import volcano
from kubectl_koord.explain.jobs.why import why
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values.selectors import EVERYTHING, Selector
from kubectl_koord.reports.codes import WOULD_START
from kubectl_koord.reports.jobs.pending import PendingGangsReport, WhyReport
from kubectl_koord.simulation.simulation import cluster_of
from kubectl_koord.simulation.subjects import of_each, pending_subjects, selected
from kubectl_koord.wording.basis import could_not_be_read


def every_pending(
    snapshot: Snapshot, namespace: str = "", selector: Selector = EVERYTHING, causes: Collection[str] = ()
) -> PendingGangsReport:
    """Return one report per gang group or lone pod with pending pods, in name order.

    Args:
        snapshot: the cluster.
        namespace: where the pods are, empty for everywhere.
        selector: which labels the PodGroup or a pending pod has.
        causes: the codes of causes to which the list is restricted, `would-start` for no cause; none for all.

    """
    cluster = cluster_of(snapshot)
    subjects = pending_subjects(snapshot, namespace)
    subjects = selected(snapshot, subjects, selector) if selector != EVERYTHING else subjects
    items = of_each(subjects, lambda subject: why(snapshot, subject, brief=True, sharing=cluster))
    if causes:
        items = tuple(item for item in items if _is_of(item, causes))
        kept = {item.gang for item in items}
        subjects = tuple(subject for subject in subjects if subject.key in kept)
    startable = [subject for subject, item in zip(subjects, items, strict=True) if _would_start(item)]
    warnings = (*coverage.general(snapshot), *coverage.absent(snapshot, ("Node", "Pod", "PodGroup")))
    warnings = (*warnings, *admission.of_other_gangs(subjects, snapshot))
    unread = visibility.unread(snapshot, "listing", namespace)
    is_selection = selector != EVERYTHING or bool(causes)
    return PendingGangsReport(
        verdict="unknown" if unread else "yes",
        basis=coverage.basis(snapshot),
        warnings=warnings,
        items=items,
        causes=overview.by_cause(items),
        contending=contention.in_turn(cluster, startable).contentions,
        message=could_not_be_read(unread) if unread else "",
        held_back=holding.of_namespace(cluster.view, namespace),
        volcano=() if is_selection else volcano.gangs(snapshot, namespace, only_waiting=True),
        namespace=namespace,
        selected=is_selection,
    )


def _would_start(item: WhyReport) -> bool:
    """Tell whether a subject would be placed, were it tried first of those of its priority."""
    return item.verdict == "yes" or (item.cause is not None and item.cause.code == "contended")


def _is_of(item: WhyReport, causes: Collection[str]) -> bool:
    code = item.cause.code if item.cause is not None else ""
    return code in causes or (item.verdict == "yes" and WOULD_START in causes)
