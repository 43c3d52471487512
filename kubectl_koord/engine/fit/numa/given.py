"""What a node gives to a pod, and which sets of its zones could: found once for nodes that are alike to the pod."""

from functools import lru_cache

from msgspec import structs

from kubectl_koord.engine.fit.numa.allocate import Portion, ZoneRoom, cpus_taken, portion, room
from kubectl_koord.engine.fit.numa.books import Booked
from kubectl_koord.engine.fit.numa.hints import Hint, Hints, ZoneAffinity, chosen, sets_of
from kubectl_koord.engine.fit.numa.restored import ZoneWays
from kubectl_koord.engine.fit.numa.terms import Terms, Wants
from kubectl_koord.engine.reasons.nodes import Reason
from kubectl_koord.engine.reasons.numa import BeyondReservedZones, Lack, NotEnoughCPUs
from kubectl_koord.model.hardware.numa import CPUTopology, NodeNUMA, Zone, ZoneSet, amplified, members
from kubectl_koord.model.values.memo import Identity

_MOST_ANSWERS = 1 << 15
_ALWAYS_SCORED = ("cpu", "memory")


def looked_at(wants: Wants) -> frozenset[str]:
    """Return the resources that are looked at in zones: what the pod asks for, and what is scored."""
    return frozenset([*_ALWAYS_SCORED, *(resource for resource, _ in wants.requests)])


def as_seen(node: NodeNUMA, resources: frozenset[str]) -> Identity[NodeNUMA]:
    """Return the node with only these resources in its zones: the one object for all nodes that are alike then."""
    return _as_seen(Identity(node), resources)


@lru_cache(_MOST_ANSWERS)
def _as_seen(node: Identity[NodeNUMA], resources: frozenset[str]) -> Identity[NodeNUMA]:
    zones = tuple(
        Zone(zone.number, tuple((resource, amount) for resource, amount in zone.allocatable if resource in resources))
        for zone in node.value.zones
    )
    return _one_of(Identity(node.value.cpus), structs.replace(node.value, cpus=None, zones=zones))


@lru_cache(_MOST_ANSWERS)
def _one_of(cpus: Identity[CPUTopology | None], rest: NodeNUMA) -> Identity[NodeNUMA]:
    return Identity(structs.replace(rest, cpus=cpus.value))


@lru_cache(_MOST_ANSWERS)
def zones_alone(node: Identity[NodeNUMA], found_by: ZoneWays, wants: Wants, terms: Terms) -> ZoneAffinity | Reason:
    """Return the same where no other plugin has a say; nodes that are alike share it."""
    zones = [zone.number for zone in node.value.zones]
    every = zone_hints(node, found_by, wants, terms)
    found = chosen(terms.policy, zones, (every,), found_by.node, exclusive=terms.exclusive)
    if not isinstance(found, ZoneAffinity):
        return found
    got = portion_of(node, found_by, wants, terms, found)
    return found if isinstance(got, tuple) else got


@lru_cache(_MOST_ANSWERS)
def portion_of(
    node: Identity[NodeNUMA], found_by: ZoneWays, wants: Wants, terms: Terms, affinity: ZoneAffinity | None
) -> tuple[Booked, Portion] | Reason:
    """Return what the pod gets and by which books, or why it gets none (`tryAllocateFromReusable`)."""
    zones = affinity.zones if affinity else None
    refusals: list[Lack] = []
    for _, every in found_by.drawing:
        tried = [_portion(room(node.value, booked, wants, terms), booked, zones) for booked in every]
        lack = next((one for one in tried if not isinstance(one, Portion)), None)
        last = tried[-1]
        if lack is None and isinstance(last, Portion):
            return every[-1], last
        refusals += [lack] if lack is not None else []
    if refusals and found_by.must_draw:
        return BeyondReservedZones(tuple(refusals))
    found = _portion(room(node.value, found_by.node, wants, terms), found_by.node, zones)
    return (found_by.node, found) if isinstance(found, Portion) else found


def _portion(space: ZoneRoom, booked: Booked, zones: ZoneSet | None) -> Portion | Lack:
    """Return the same as `portion`, if the CPUs that a reservation holds for the pod, which go first, make whole cores.

    Mirrors `satisfiedRequiredCPUBindPolicy`; without such CPUs they always do.
    """
    found = portion(space, zones)
    if not isinstance(found, Portion) or not booked.preferred or not space.terms.whole_cores:
        return found
    cpus = cpus_taken(space, booked, found)
    whole = space.node.usable(cpus, space.terms.bind_policy)
    return found if whole == cpus else NotEnoughCPUs(space.terms.cpus, whole.bit_count(), space.terms.bind_policy)


@lru_cache(_MOST_ANSWERS)
def cpus_of(node: Identity[NodeNUMA], held: Booked, wants: Wants, terms: Terms, given: Portion) -> tuple[int, ...]:
    """Return the numbers of the CPUs that the pod gets, those free by the books that are `held`."""
    return members(cpus_taken(room(node.value, held, wants, terms), held, given))


@lru_cache(_MOST_ANSWERS)
def zone_hints(node: Identity[NodeNUMA], found_by: ZoneWays, wants: Wants, terms: Terms) -> Hints:
    """Return the sets of zones that have all CPUs and amounts (`generateResourceHints`)."""
    space = room(node.value, found_by.ranking, wants, terms)
    told = {resource for zone in node.value.zones for resource, _ in zone.allocatable}
    hints: dict[str, list[Hint]] = {resource: [] for resource, _ in wants.requests if resource in told}
    for zones in sets_of([zone.number for zone in node.value.zones]):
        if not isinstance(portion_of(node, found_by, wants, terms, ZoneAffinity(zones)), tuple):
            continue
        score = _score(space, members(zones))
        for resource, found in hints.items():
            if all(space.amounts[zone].get(resource) for zone in members(zones)):
                found.append(Hint(zones, terms.policy == "Restricted", score))
    return {resource: _preferring_few(found) for resource, found in hints.items()}


def _preferring_few(hints: list[Hint]) -> list[Hint]:
    """Return the hints, of which those with the fewest zones are preferred."""
    least = min((hint.zones.bit_count() for hint in hints if hint.zones is not None), default=0)
    few = (hint.zones is not None and hint.zones.bit_count() == least for hint in hints)
    return [structs.replace(hint, preferred=hint.preferred or is_few) for hint, is_few in zip(hints, few, strict=True)]


def _score(space: ZoneRoom, zones: tuple[int, ...]) -> int:
    """Return the score of zones with the pod; of what is no CPU or memory, only what it asks for counts."""
    asked = dict(space.wants.requests)
    if space.terms.cpus:
        asked["cpu"] = amplified(asked["cpu"], space.node.zone_ratio)
    scoring = space.wants.settings.scoring
    used: dict[str, tuple[int, int]] = {}
    for resource, _ in scoring.weights:
        total = sum(dict(zone.allocatable).get(resource, 0) for zone in space.node.zones if zone.number in zones)
        if total and (asked.get(resource) or resource in _ALWAYS_SCORED):
            taken = total - sum(space.amounts[zone].get(resource, 0) for zone in zones)
            used[resource] = taken + asked.get(resource, 0), total
    return scoring.score(used)
