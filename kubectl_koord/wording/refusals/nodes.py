"""Why a node refuses a pod, in English."""

from collections import Counter
from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import TypeAlias, assert_never

from kubectl_koord.engine.reasons import claims, nodes, numa
from kubectl_koord.engine.reasons.devices import DeviceReason
from kubectl_koord.engine.reasons.nodes import Reason, Refused
from kubectl_koord.model.pods import Resources
from kubectl_koord.model.values import quantity
from kubectl_koord.wording.refusals.claims import claim_obstacle
from kubectl_koord.wording.refusals.devices import device_obstacle, device_stage
from kubectl_koord.wording.refusals.numa import zone_obstacle
from kubectl_koord.wording.words import amounts, listed, ranked, resource_name, resource_names, span

Measure: TypeAlias = int | str

_MEASURES: Mapping[type, str] = {
    nodes.Overloaded: "percent",
    nodes.MetricExpired: "updated",
    numa.InsufficientAmplifiedCPU: "free",
    numa.NotEnoughCPUs: "free",
}
"""The fields of reasons in which nodes differ."""


def stage(reason: Reason, needs: Resources) -> tuple[int, str]:
    """Return the filter that a reason comes from: its place in the order, and what the nodes are that pass it."""
    if isinstance(reason, DeviceReason):
        return 140, device_stage(reason)
    match reason:
        case nodes.Cordoned():
            return 0, "not cordoned"
        case nodes.Untolerated():
            return 10, "with taints tolerated"
        case nodes.NotSelected():
            return 20, "matching its node selector and affinity"
        case nodes.Insufficient(short=short):
            scarce = {resource for resource, _, _ in short}
            place, need = next((at, need) for at, need in enumerate(ranked(needs)) if need[0] in scarce)
            return 50 + place, f"with {amounts([need])} free"
        case nodes.TooManyPods():
            return 40, "below their pod limit"
        case nodes.SidecarsUnknown() | nodes.PortTaken():
            return 30, "with its ports free" if isinstance(reason, nodes.PortTaken) else "that support sidecars"
        case nodes.ClaimInUse() | nodes.VolumeElsewhere() | nodes.TooManyVolumes():
            return 70, "with access to its volumes"
        case nodes.NoVolumeToBind() | nodes.NotEnoughStorage():
            return 70, "with access to its volumes"
        case nodes.SpreadTooSkewed() | nodes.SpreadLabelMissing():
            return 80, "within its topology spread"
        case nodes.PodAffinityUnmet() | nodes.AntiAffinityViolated() | nodes.ExistingAntiAffinityViolated():
            return 90, "allowed by pod affinity"
        case claims.NotEnoughDevices() | claims.ClaimElsewhere() | claims.SelectorFails() | claims.TooManyDevices():
            return 92, "with devices for its resource claims"
        case nodes.Overloaded() | nodes.MetricExpired():
            return 100, "below the load thresholds"
        case nodes.NotReserved():
            return 5, "with a reservation that matches"
        case nodes.OtherPolicy():
            return 94, "with reservations of the same allocate policy"
        case nodes.BeyondReservation():
            return 95, "with room in a reservation that matches"
        case numa.NUMAPolicyMismatch() | numa.FractionalCPUs():
            return 110, "whose CPU and NUMA policies allow it"
        case numa.InvalidAmplification() | numa.InsufficientAmplifiedCPU():
            return 120, "with amplified CPU free"
        case (
            numa.NoCPUTopology()
            | numa.BindPolicyConflict()
            | numa.PartialCores()
            | numa.NotEnoughCPUs()
            | numa.NoZones()
            | numa.UnsatisfiedZones()
            | numa.UnalignedZones()
            | numa.InsufficientInZones()
            | numa.BeyondReservedZones()
        ):
            return 130, "with CPUs and NUMA zones for it"
        case _:
            assert_never(reason)


def obstacles(refused: Iterable[Refused]) -> tuple[tuple[str, int], ...]:
    """Return why nodes refuse, in a few plain words each, and how many do; the commonest first.

    Reasons that differ only in what was measured are one: every busy node has a usage of its own.
    """
    found = Counter[str]()
    measured: dict[tuple[object, ...], list[tuple[Measure, Refused]]] = {}
    for one in refused:
        measure = _measure(one.reason)
        if measure is None:
            found[obstacle(one.reason)] += one.nodes
        else:
            measured.setdefault(_unmeasured(one.reason), []).append((measure, one))
    for alike in measured.values():
        (_, least), (most, _) = min(alike, key=itemgetter(0)), max(alike, key=itemgetter(0))
        found[obstacle(least.reason, most)] += sum(one.nodes for _, one in alike)
    return tuple(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def _measure(reason: Reason) -> Measure | None:
    """Return what was measured of a node, None where nothing was."""
    name = _MEASURES.get(type(reason))
    measure = getattr(reason, name) if name else None
    return None if measure == "" else measure


def _unmeasured(reason: Reason) -> tuple[object, ...]:
    """Return what a reason says besides."""
    measure = _MEASURES[type(reason)]
    return type(reason), *(getattr(reason, name) for name in reason.__struct_fields__ if name != measure)


def obstacle(reason: Reason, most: Measure | None = None) -> str:
    """Return a reason in a few plain words, for tables and funnels; `most` was measured of other nodes beside it."""
    if isinstance(reason, DeviceReason):
        return device_obstacle(reason)
    match reason:
        case nodes.Cordoned():
            return "cordoned"
        case nodes.Untolerated(taint=taint):
            value = f"={taint.value}" if taint.value else ""
            return f"taint {taint.key}{value}:{taint.effect}"
        case nodes.NotSelected():
            return "node selector or affinity"
        case nodes.SidecarsUnknown():
            return "sidecar containers, not supported by this version"
        case nodes.PortTaken(port=port):
            return f"host port {port} in use"
        case nodes.TooManyPods(allowed=allowed):
            return f"pod limit {allowed} reached"
        case nodes.Insufficient(short=short):
            return f"insufficient {listed(resource_names(resource for resource, _, _ in short))}"
        case nodes.ClaimInUse(claim=claim):
            return f"volume claim {claim} is in use by another pod"
        case nodes.VolumeElsewhere(claim=claim):
            return f"volume of claim {claim} is not reachable"
        case nodes.NoVolumeToBind(claim=claim):
            return f"no volume for claim {claim} can be had here"
        case nodes.NotEnoughStorage(claim=claim, size=size):
            return f"less storage than the {quantity.spell('ephemeral-storage', size)} of claim {claim}"
        case nodes.TooManyVolumes(driver=driver):
            return f"volume limit of {driver} reached"
        case nodes.Overloaded(resource=resource, percent=percent, threshold=threshold, aggregated=aggregated):
            aggregate = "aggregated " if aggregated else ""
            return f"{aggregate}{resource_name(resource)} usage {span(percent, most)} % above {threshold} %"
        case nodes.MetricExpired(updated=""):
            return "NodeMetric expired, never updated"
        case nodes.MetricExpired(updated=updated):
            return f"NodeMetric expired, last updated {span(updated, most)}"
        case nodes.NotReserved():
            return "no reservation that matches"
        case nodes.OtherPolicy():
            return "reservations of another allocate policy"
        case nodes.BeyondReservation():
            return _beyond_reservation(reason)
        case nodes.SpreadTooSkewed(key=key):
            return f"topology spread over {key}"
        case nodes.SpreadLabelMissing(key=key):
            return f"no label {key} for the topology spread"
        case nodes.PodAffinityUnmet():
            return "pod affinity"
        case nodes.AntiAffinityViolated():
            return "pod anti-affinity"
        case nodes.ExistingAntiAffinityViolated():
            return "anti-affinity of existing pods"
        case claims.NotEnoughDevices() | claims.ClaimElsewhere() | claims.SelectorFails() | claims.TooManyDevices():
            return claim_obstacle(reason)
        case _:
            return zone_obstacle(reason, most if isinstance(most, int) else None)


def _beyond_reservation(reason: nodes.BeyondReservation) -> str:
    """Return what reservations that match are short of, alone or together with their node."""
    if reason.of_reservation:
        return f"too little {listed(resource_names(name for name, _, _ in reason.of_reservation))} in its reservations"
    if reason.full:
        return "no pod place in its reservations"
    short = listed(resource_names(name for name, _, _ in reason.of_node))
    return f"insufficient {short} with a reservation" if short else "no reservation that can be used"
