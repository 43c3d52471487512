"""Remedies for claims of volumes and of devices that no node can serve as they are."""

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from kubectl_koord.engine.reasons.prefilter import ClaimsUnallocated, VolumesUnbound
from kubectl_koord.model.pods import PendingPod, claim_names
from kubectl_koord.remedies.search import Search
from kubectl_koord.reports.edits import SupplyClaims
from kubectl_koord.reports.ways_out import WayOut
from kubectl_koord.simulation.edits import changed
from kubectl_koord.wording.remedies import claims as sentences

_Lacking: TypeAlias = VolumesUnbound | ClaimsUnallocated
_MOST_CLAIMS = 16


def supply(search: Search) -> Iterator[WayOut]:
    """Yield what brings all claims of the subject in order, where that is enough."""
    yield from (way for way in supplying(search) if search.works(way.edits))


def supplying(search: Search) -> Iterator[WayOut]:
    """Yield it whether or not it is enough."""
    lacking = search.kept("claims", lambda: _lacking(search))
    if lacking:
        every = lacking.values()
        yield WayOut("supply-claims", sentences.supply(every), sentences.see(every), (_supplied(lacking),))


def _supplied(lacking: Mapping[str, _Lacking]) -> SupplyClaims:
    return SupplyClaims(
        tuple(name for name, one in lacking.items() if isinstance(one, VolumesUnbound)),
        tuple(name for name, one in lacking.items() if isinstance(one, ClaimsUnallocated)),
    )


def _lacking(search: Search) -> Mapping[str, _Lacking]:
    """Return the claims that keep any member from all nodes, by name, as long as they are few."""
    found: dict[str, _Lacking] = {}
    members = list(search.members) if any(map(_has_claims, search.members)) else []
    simulation = search.simulation
    while members and len(found) < _MOST_CLAIMS:
        pod = next(one for one in simulation.subject.pending if one.key == members[0].key)
        refusal = simulation.prepared(pod).refusal
        if isinstance(refusal, VolumesUnbound | ClaimsUnallocated):
            found[refusal.claim] = refusal
            simulation = changed(search.simulation, (_supplied(found),))
        else:
            members.pop(0)
    return found


def _has_claims(pod: PendingPod) -> bool:
    return bool(pod.resource_claims or claim_names(pod))
