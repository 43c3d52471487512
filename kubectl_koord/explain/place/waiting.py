"""Who is pending, how many of its pods a place takes, and why it takes no more."""

from collections.abc import Sequence

from msgspec import Struct

from kubectl_koord.diagnosis import visibility
from kubectl_koord.engine.admission.queue import priority
from kubectl_koord.engine.domains import domain_slots
from kubectl_koord.engine.fit import Prepared
from kubectl_koord.engine.offer import Offer
from kubectl_koord.engine.slots import in_index_order, offer_of_each, offer_slots
from kubectl_koord.engine.subjects import Subject
from kubectl_koord.engine.tree import Tree
from kubectl_koord.explain.jobs.verdict import Decided, verdict_of
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.reports.capacity.place import ReasonHere, WaitingGang
from kubectl_koord.simulation.simulation import Scenario, Simulation
from kubectl_koord.simulation.subjects import of_each, pending_subjects
from kubectl_koord.wording.refusals.nodes import obstacles
from kubectl_koord.wording.refusals.prefilter import lacking

_FEW = 4
"""Of so few nodes each is asked by itself."""


def waiting(cluster: Scenario, names: Sequence[str], domain: int | None) -> tuple[WaitingGang, ...]:
    """Return who is pending, those first whom the place would take most of, the more important before others."""
    every = of_each(pending_subjects(cluster.snapshot), lambda subject: _gang(cluster, subject, names, domain))
    return tuple(sorted(every, key=lambda gang: (not gang.slots, gang.lacks or 0, -gang.priority, gang.gang)))


class _Here(Struct, frozen=True):
    """How many pods a place takes, None where that cannot be counted, and why it takes no more."""

    slots: int | None
    reasons: tuple[ReasonHere, ...] = ()


def _gang(cluster: Scenario, subject: Subject, names: Sequence[str], domain: int | None) -> WaitingGang:
    simulation = cluster.simulation(subject)
    found = verdict_of(simulation)
    here = _here(simulation, found, names, domain)
    wanted = len(subject.pending)
    return WaitingGang(
        gang=subject.key,
        pending=wanted,
        priority=priority(subject),
        must_gather=simulation.must_gather,
        verdict=found.verdict,
        cause=found.why.code if found.why is not None else None,
        slots=here.slots,
        lacks=None if here.slots is None else max(wanted - here.slots, 0),
        reasons=here.reasons,
    )


def _here(simulation: Simulation, found: Decided, names: Sequence[str], domain: int | None) -> _Here:
    """Return how many of a subject's pods the place takes as things are, and why it takes no more."""
    if visibility.unread_for(simulation.subject, simulation.snapshot):
        return _Here(None)
    pods = in_index_order(simulation.subject.pending)
    prepared = _prepared(simulation, found, pods[0])
    if prepared.refusal is not None:
        return _Here(0, (ReasonHere(lacking(prepared.refusal), len(names)),))
    offer = (offer_of_each if len(names) <= _FEW else offer_slots)(simulation.view, names, pods, prepared)
    slots = sum(offer.counts[name] for name in names)
    if domain is not None and isinstance(simulation.tree, Tree) and simulation.has_topology:
        slots = domain_slots(simulation.tree, offer.counts, simulation.multiples)[domain]
    slots = min(slots, len(pods))
    return _Here(slots, _reasons(offer) if slots < len(pods) else ())


def _prepared(simulation: Simulation, found: Decided, pod: PendingPod) -> Prepared:
    """Return what PreFilter leaves for a pod, as computed for the verdict where the pod was tried before all others."""
    attempts = [outcome.first for outcome in found.outcomes] if len(simulation.landings) == 1 else []
    alone = (each.prepared for each in attempts if each.trigger is pod and not each.waiting)
    return next(alone, None) or simulation.prepared(pod)


def _reasons(offer: Offer) -> tuple[ReasonHere, ...]:
    return tuple(ReasonHere(*item) for item in obstacles(offer.reasons))
