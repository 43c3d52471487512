"""Why a node, PreFilter or the queue refuses, in sentences: a case for each class of reason."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import TypeAlias, assert_never

from kubectl_koord.engine import admission, blockers
from kubectl_koord.engine import reasons as nodes
from kubectl_koord.engine.admission import Oddity
from kubectl_koord.engine.blockers import Blocker, NoLeader, NoReplica, UnknownLayer
from kubectl_koord.engine.filters.resource_claims import UnreadyClaim
from kubectl_koord.engine.reasons import (
    ClaimElsewhere,
    ClaimReason,
    ClaimsUnallocated,
    DeviceReason,
    FractionalBinding,
    InvalidDeviceAmount,
    InvalidDevices,
    InvalidDeviceSet,
    NoReservationMatches,
    NotEnoughDevices,
    NoTopologyTree,
    NUMAReason,
    PreFilterRefusal,
    QuotaExceeded,
    Reason,
    Refused,
    SelectorFails,
    SelectorProblemCode,
    TooManyDevices,
    TopologyManagerOff,
    TopologyNotAware,
    UnreadableAnnotation,
    UnreadableDeviceAnnotation,
    VolumesUnbound,
)
from kubectl_koord.engine.tree import DEFAULT_NAME, LayerCycle, MissingLayer, NoTopology, OtherName, TreeFault
from kubectl_koord.model import values
from kubectl_koord.model.installation import TREE_MANAGER
from kubectl_koord.model.values import Resources
from kubectl_koord.wording.words import (
    amount_of,
    amounts,
    amounts_of,
    count,
    depends_on,
    device_name,
    few,
    listed,
    ranked,
    resource_name,
    resource_names,
    span,
    spelled,
    verb,
)

_PROBLEMS: Mapping[SelectorProblemCode, str] = {
    "no-such-key": "no such key",
    "no-such-overload": "no such overload",
    "unsupported-attribute": "unsupported attribute value",
    "no-boolean": "its result is no boolean",
    "no-version": "no semantic version",
    "no-quantity": "no quantity",
    "no-integer": "no integer",
    "integer-overflow": "integer overflow",
    "division-by-zero": "division by zero",
    "no-value": "optional value that is not there",
    "unhashable": "versions cannot be looked up in a list of texts",
}


def claim_obstacle(reason: ClaimReason) -> str:
    """Return why a node cannot serve a claim, in a few plain words."""
    match reason:
        case ClaimElsewhere(claim):
            return f"resource claim {claim} (allocated on other nodes)"
        case NotEnoughDevices(claim, request, wanted, free, every=True):
            told = f"all {count(wanted, 'device')}, {free} free" if wanted else "all devices that match, none does"
            return f"resource claim {claim} (request {request} wants {told})"
        case NotEnoughDevices(claim, request, wanted, free):
            return f"resource claim {claim} (request {request} wants {count(wanted, 'device')}, {free} free)"
        case SelectorFails(claim, request, expression, problem):
            told = f"{_PROBLEMS[problem.code]}{f': {problem.about}' if problem.about else ''}"
            return f"resource claim {claim} (CEL selector {expression} of request {request} fails: {told})"
        case TooManyDevices(claim, wanted):
            return f"resource claim {claim} (wants {count(wanted, 'device')}, more than one claim may get)"
        case _:
            assert_never(reason)


def unready_clause(claims: Sequence[UnreadyClaim]) -> str:
    """Return what claims wait for: the first of them, and how many more there are."""
    first, *more = claims
    return f"{_unready(first)} (and {count(len(more), 'more claim')})" if more else _unready(first)


def _unready(claim: UnreadyClaim) -> str:
    match claim.fault:
        case "not-made":
            return f"its resource claim {claim.name} was not made from its template yet"
        case "missing":
            return f"resource claim {claim.name} does not exist"
        case "being-deleted":
            return f"resource claim {claim.name} is being deleted"
        case "not-owner":
            return f"resource claim {claim.name} exists, but was made for another pod"
        case _:
            assert_never(claim.fault)


def claims_sentence(refusal: ClaimsUnallocated) -> str:
    """Return why a claim cannot be used on any node."""
    claim = refusal.claim
    match refusal.fault:
        case "no-class":
            return (
                f"request {refusal.request} of resource claim {claim} names DeviceClass {refusal.about},"
                " which does not exist."
            )
        case "in-use":
            return f"as many pods use resource claim {claim} as may at once."
        case "being-allocated":
            return (
                f"resource claim {claim} is being allocated for another pod that waits to be bound;"
                " pods that are bound together cannot share a claim that is not allocated yet."
            )
        case _:
            assert_never(refusal.fault)


def not_allocated(obstacles: Sequence[tuple[str, int]], nodes: int) -> str:
    """Return which claims so many nodes cannot serve, the most frequent reason first."""
    parts = [f"{number} of {count(nodes, 'node')} cannot serve {words}" for words, number in obstacles]
    return f"{listed(parts)}."


_SCOPES: Mapping[str, str] = {"Node": "node", "NUMANode": "NUMA node", "PCIe": "PCIe switch", "Device": "device"}


def device_stage(reason: DeviceReason) -> str:
    """Return what the nodes are whose devices do."""
    match reason:
        case nodes.IsolationMissing(provider=provider):
            return f"with GPU isolation by {provider}"
        case nodes.NoPartition(wanted=wanted):
            return f"with a free partition of {wanted} GPU"
        case nodes.BeyondReservedDevices():
            return "with the devices it asks for free in a reservation"
        case _:
            return "with the devices it asks for free"


def device_obstacle(reason: DeviceReason) -> str:
    """Return a reason in a few plain words."""
    match reason:
        case nodes.DevicesMissing(type=kind, functions=functions):
            return f"no {device_name(kind)} with virtual functions" if functions else f"no {device_name(kind)} devices"
        case nodes.DevicesShort(type=kind, wanted=wanted, scope=scope):
            within = f" in one {_SCOPES.get(scope, scope)}" if scope else ""
            fewer = "no" if wanted == 1 else f"fewer than {wanted}"
            return f"{fewer} {device_name(kind)} with enough free{within}"
        case nodes.NoPartition(wanted=wanted, sizes=None):
            return f"no partition table for {wanted} GPU"
        case nodes.NoPartition(wanted=wanted, sizes=sizes):
            known = sizes or ()
            if wanted in known:
                return f"no free partition of {wanted} GPU"
            return f"partitions are of {', '.join(map(str, known)) or 'no'} GPU, not of {wanted}"
        case nodes.ScopeUnsupported(scope=scope, shared=shared):
            why = "several shared GPU cannot be" if shared else "no topology of its GPU to be"
            return f"{why} within one {_SCOPES.get(scope, scope)}"
        case nodes.DevicesApart(types=types):
            return f"{' and '.join(map(device_name, types))} not on the same PCIe switches"
        case nodes.SharingUnsupported(vendor=vendor, model=model):
            return f"GPU model {model} of {vendor} cannot be shared"
        case nodes.IsolationMissing(provider=provider):
            return f"GPU isolation {provider} missing"
        case nodes.DevicesOutsideZones(type=kind, wanted=wanted, there=there):
            return f"{there} of {wanted} {device_name(kind)} on the NUMA nodes"
        case nodes.BeyondReservedDevices(reasons=reasons):
            found = dict.fromkeys(device_obstacle(one) for one in reasons)
            return f"{', '.join(found)} with a reservation"
        case _:
            assert_never(reason)


def invalid_devices(refusal: InvalidDevices) -> str:
    """Return why the scheduler refuses what a pod asks for, before it looks at a node."""
    match refusal:
        case nodes.InvalidDeviceAmount(resource=resource, amount=amount):
            return f"{amount} of {resource} is neither a part of a device (up to 100) nor whole devices (hundreds)"
        case nodes.InvalidDeviceSet(resources=(alone,)):
            return f"{alone} cannot be requested alone, or not in this amount"
        case nodes.InvalidDeviceSet(resources=resources):
            return f"{' and '.join(resources)} cannot be requested together, or not in these amounts"
        case nodes.UnreadableDeviceAnnotation(annotation=annotation):
            return f"annotation scheduling.koordinator.sh/{annotation} cannot be read"
        case _:
            assert_never(refusal)


def _cpu(milli: int) -> str:
    return values.spell("cpu", milli)


def _named(hinted: str) -> str:
    """Return the name of what zones are asked for: a resource, or a type of device."""
    return device_name(resource_name(hinted))


def zone_obstacle(reason: NUMAReason, most: int | None = None) -> str:
    """Return why NodeNUMAResource refuses a node, in a few plain words; `most` is as `obstacle` has it."""
    match reason:
        case nodes.NUMAPolicyMismatch(node=node, pod=pod):
            return f"NUMA policy {node}, not {pod}"
        case nodes.FractionalCPUs(asked=asked):
            return f"binds whole CPUs, not {asked}m"
        case nodes.InvalidAmplification():
            return "amplification ratio not readable"
        case nodes.InsufficientAmplifiedCPU(needed=needed, free=free):
            return f"insufficient amplified CPU ({span(free, most, _cpu)} of {_cpu(needed)} free)"
        case nodes.NoCPUTopology():
            return "no CPU topology"
        case nodes.BindPolicyConflict(node=node, pod=pod):
            return f"binds CPUs by {node}, not {pod}"
        case nodes.PartialCores(cpus=cpus, per_core=per_core):
            return f"{cpus} CPUs are no whole cores of {per_core}"
        case nodes.NotEnoughCPUs(needed=needed, free=free, policy=policy):
            return f"{span(free, most)} of {needed} CPUs free to bind{policy and f' by {policy}'}"
        case nodes.NoZones():
            return "no NUMA zones known"
        case nodes.UnsatisfiedZones(resources=resources):
            return f"no NUMA zones with enough {listed([resource_name(one) for one in resources])}"
        case nodes.UnalignedZones(policy=policy, hints=hints):
            return f"no NUMA zones by {policy} for {listed([_named(one) for one, _, _ in hints])} together"
        case nodes.InsufficientInZones(short=short):
            return f"insufficient {listed([resource_name(one) for one, _, _ in short])} in its NUMA zones"
        case nodes.BeyondReservedZones(reasons=reasons):
            return f"{', '.join(dict.fromkeys(zone_obstacle(one) for one in reasons))} with a reservation"
        case _:
            assert_never(reason)


Measure: TypeAlias = int | str

_MEASURES: Mapping[type, str] = {
    nodes.Overloaded: "percent",
    nodes.MetricExpired: "updated",
    nodes.InsufficientAmplifiedCPU: "free",
    nodes.NotEnoughCPUs: "free",
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
        case nodes.NotEnoughDevices() | nodes.ClaimElsewhere() | nodes.SelectorFails() | nodes.TooManyDevices():
            return 92, "with devices for its resource claims"
        case nodes.Overloaded() | nodes.MetricExpired():
            return 100, "below the load thresholds"
        case nodes.NotReserved():
            return 5, "with a reservation that matches"
        case nodes.OtherPolicy():
            return 94, "with reservations of the same allocate policy"
        case nodes.BeyondReservation():
            return 95, "with room in a reservation that matches"
        case nodes.NUMAPolicyMismatch() | nodes.FractionalCPUs():
            return 110, "whose CPU and NUMA policies allow it"
        case nodes.InvalidAmplification() | nodes.InsufficientAmplifiedCPU():
            return 120, "with amplified CPU free"
        case (
            nodes.NoCPUTopology()
            | nodes.BindPolicyConflict()
            | nodes.PartialCores()
            | nodes.NotEnoughCPUs()
            | nodes.NoZones()
            | nodes.UnsatisfiedZones()
            | nodes.UnalignedZones()
            | nodes.InsufficientInZones()
            | nodes.BeyondReservedZones()
        ):
            return 130, "with CPUs and NUMA zones for it"
        case _:
            assert_never(reason)


def refusal_counts(refused: Iterable[Refused]) -> tuple[tuple[str, int], ...]:
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
            return f"less storage than the {values.spell('ephemeral-storage', size)} of claim {claim}"
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
        case nodes.NotEnoughDevices() | nodes.ClaimElsewhere() | nodes.SelectorFails() | nodes.TooManyDevices():
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


MANAGER_OFF = f"koord-scheduler runs without {TREE_MANAGER}=true, so it builds no topology tree"


def fault_clause(fault: TreeFault) -> str:
    """Return why there is no tree, without a full stop."""
    match fault:
        case NoTopology():
            return f"there is no ClusterNetworkTopology {DEFAULT_NAME}"
        case OtherName(names):
            return f"no ClusterNetworkTopology is named {DEFAULT_NAME}; there is {', '.join(names)}, which is ignored"
        case MissingLayer(layer, child, unused):
            where = f"named as parent of {child}" if child is not None else "where every chain begins"
            rest = f"; not on the chain: {', '.join(unused)}" if unused else ""
            return f"layer {layer or '(none)'}, {where}, has no entry{rest}"
        case LayerCycle(layer):
            return f"layer {layer} is its own ancestor"
        case _:
            assert_never(fault)


def unbound_sentence(refusal: VolumesUnbound) -> str:
    """Return why a claim cannot be used on any node."""
    claim, about = refusal.claim, refusal.about
    match refusal.fault:
        case "claim-missing":
            return f"volume claim {claim} does not exist."
        case "being-deleted":
            return f"volume claim {claim} is being deleted."
        case "not-bound" if about:
            return (
                f"volume claim {claim} is not bound: its StorageClass {about} (Immediate) should have bound it; look at"
                " the provisioner."
            )
        case "not-bound":
            return f"volume claim {claim} is not bound, and has no StorageClass that exists."
        case "binding":
            return f"volume claim {claim} names volume {about}, and is not bound to it yet."
        case "lost":
            return f"volume claim {claim} has lost volume {about}, which it was bound to."
        case "volume-missing":
            return f"volume claim {claim} is bound to volume {about}, which does not exist."
        case "ephemeral-missing":
            return f"volume claim {claim} for an ephemeral volume was not made yet."
        case "not-owner":
            return f"volume claim {claim} exists, but was not made for pod {refusal.pod}: the pod is not its owner."
        case _:
            assert_never(refusal.fault)


def lacking(reason: Reason | PreFilterRefusal) -> str:
    """Return in a few words why a planned node does not take a pod."""
    return refusal_sentence(reason).rstrip(".") if isinstance(reason, PreFilterRefusal) else obstacle(reason)


def refusal_sentence(refusal: PreFilterRefusal) -> str:
    """Return why PreFilter refuses a job."""
    match refusal:
        case NoTopologyTree(fault):
            return f"{fault_clause(fault)}."
        case TopologyManagerOff():
            return f"it has a topology spec, and {MANAGER_OFF}."
        case TopologyNotAware():
            return (
                "it has a topology spec, but awareNetworkTopology is off in the scheduler's configuration: only its"
                " first pod is ever placed."
            )
        case InvalidDeviceAmount() | InvalidDeviceSet() | UnreadableDeviceAnnotation():
            return f"{invalid_devices(refusal)}."
        case NoReservationMatches():
            return _no_reservation(refusal)
        case FractionalBinding(asked=asked):
            return f"it asks to bind its CPUs, which must be whole ones, and requests {asked}m."
        case UnreadableAnnotation(annotation=annotation):
            return f"its annotation {annotation} cannot be read."
        case VolumesUnbound():
            return unbound_sentence(refusal)
        case ClaimsUnallocated():
            return claims_sentence(refusal)
        case QuotaExceeded():
            return _quota_exceeded(refusal)
        case _:
            assert_never(refusal)


def _no_reservation(refusal: NoReservationMatches) -> str:
    """Return which reservation a pod asks for, and which are for it instead."""
    name, owned = refusal.name, refusal.owned
    asks = f"it asks for {f'reservation {name}' if name else 'a reservation with its reservation affinity'}"
    if refusal.is_own:
        return f"{asks}, which is for it, but has no room, does not match, or is on a node that the pod may not go to."
    if not owned:
        return f"{asks}, and no reservation with room is for it."
    those = f"{count(owned, 'reservation')} {'is' if owned == 1 else 'are'} for it"
    return f"{asks}; {those}, none {f'is {name}' if name else 'matches'}."


_MOST_NAMED = 3
_OF_QUOTA = {
    "runtime": "allowed now (its runtime share",
    "max": "allowed (its max",
    "min": "allowed (its min, which non-preemptible pods must stay within",
}


def _ahead(refusal: QuotaExceeded, amount: str) -> str:
    """Return how much of what is used pods take that wait, too, and who they are."""
    named = list(refusal.ahead[:_MOST_NAMED])
    others = ["others"] if len(refusal.ahead) > _MOST_NAMED else []
    goes = "goes" if len(refusal.ahead) == 1 else "go"
    return f" ({amount} of it for {listed([*named, *others])}, which {goes} first)"


def _quota_exceeded(refusal: QuotaExceeded) -> str:
    """Return which quota has no room, by its arithmetic: `quota q: 63 GPU in use, 67 allowed; w-1 wants 8 more`."""
    refusing, *below = refusal.path
    place = f" (above {below[-1]})" if below else ""
    used, limit, asked, taken = (
        dict(amounts) for amounts in (refusal.used, refusal.limit, refusal.requested, refusal.taken)
    )
    parts, wanted = [], []
    scaled = {name: amounts_of(name, written, counts) for name, written, counts in refusal.scaled}
    for name in refusal.over:
        numbers = (used.get(name, 0), limit[name], asked.get(name, 0), taken.get(name, 0))
        has, may, more, first = amounts_of(name, *numbers)
        ahead = _ahead(refusal, first) if name in taken else ""
        limit_is = _OF_QUOTA["max" if name in refusal.capped else refusal.kind]
        parts.append(f"{has} {resource_name(name)} in use{ahead}, {may} {limit_is}{_scaled(scaled.get(name))})")
        wanted += [f"{more} {resource_name(name)}"] if asked.get(name, 0) else []
    wants = (
        f"{refusal.pod} wants {listed(wanted)} more"
        if wanted
        else f"until then {refusal.pod}, which asks for none of it, waits"
    )
    return f"quota {refusing}{place}: {'; '.join([*parts, wants])}."


def _scaled(amounts: Sequence[str] | None) -> str:
    """Return that a minimum counts as less than is written, to follow a sentence; nothing for None."""
    if amounts is None:
        return ""
    written, counts = amounts
    return f"; its min of {written} counts as {counts}, as it and those beside it are together more than there is"


_MAY_HANDLE = "may handle that or not: its configuration was not read."


def _other_groups(gang: str, others: Sequence[str]) -> str:
    """Return which PodGroups may be meant in place of one that does not exist, to follow a sentence."""
    home, _, _ = gang.partition("/")
    near = [one.partition("/")[2] for one in others if one.startswith(f"{home}/")]
    elsewhere = [one.partition("/")[0] for one in others if not one.startswith(f"{home}/")]
    meant = f" There is {listed(near)}: was that meant?" if near else ""
    there = f" There is one in namespace {listed(elsewhere)}; it counts for the pods of that alone."
    return f"{meant}{there if elsewhere else ''}"


def blocker_sentence(blocker: Blocker) -> str:
    """Return why a gang or a pod is not tried."""
    match blocker:
        case blockers.OtherScheduler(pods, names, profiles, in_gang, known):
            who = ("its pod " if len(pods) == 1 else "its pods ") if in_gang else "it "
            handled = f"handles only {listed(profiles)}." if known else _MAY_HANDLE
            return f"{who}{_have(pods)} schedulerName {listed(names)}; koord-scheduler {handled}"
        case blockers.MixedSchedulers(pods, of, names, known):
            named = f"{len(pods)} of its {of} pods {_have(pods)} schedulerName {listed(names)}"
            if not known:
                return f"{named}; koord-scheduler {_MAY_HANDLE}"
            it = "it" if len(pods) == 1 else "them"
            return f"{named}: koord-scheduler does not place {it}, and the other pods keep waiting."
        case blockers.OpenConfiguration(settings):
            return depends_on(settings)
        case NoLeader(lease, holder, age):
            held = f"held by {holder}" if holder else "no holder"
            return (
                f"koord-scheduler is not active: lease {lease} ({held}) was last renewed {spelled(age)} ago;"
                " an active scheduler renews it every few seconds."
            )
        case NoReplica(deployment, wanted):
            none = f"has 0 of {count(wanted, 'pod')} available" if wanted else "is scaled to 0"
            return f"koord-scheduler is not active: Deployment {deployment} {none}."
        case blockers.BeingDeleted():
            return _being_deleted(blocker)
        case blockers.Gated(gates=gates, enough_others=False):
            return f"{_gated(blocker)} held back by scheduling gate {listed(gates)}."
        case blockers.Gated(pods, gates=gates):
            held = f"{_gated(blocker)} held back by scheduling gate {listed(gates)}"
            them = "it" if len(pods) == 1 else "them"
            return f"{held}: the scheduler tries {them} with the others all the same, but cannot bind {them}."
        case blockers.ClaimsUnready(claims=claims):
            return f"{_gated(blocker)} not tried before all resource claims can be used: {unready_clause(claims)}."
        case blockers.NoPodGroup(gang, others=others):
            return (
                f"its pods name PodGroup {gang.partition('/')[2]}, which does not exist.{_other_groups(gang, others)}"
            )
        case blockers.NotInitialised(written=""):
            return "the gang is not initialised: its pods do not set min-available."
        case blockers.NotInitialised(written=written):
            return f"the gang is not initialised: min-available {written!r} is not a whole number."
        case blockers.TooFewPods(gang, _, own, children, minimum):
            which = "it has" if own else f"gang {gang} of its group has"
            return f"{which} {children} of the {count(minimum, 'pod')} it needs."
        case blockers.NoSuchGangs(gangs):
            where = "" if all("/" in key for key in gangs) else " (ids must be NAMESPACE/NAME)"
            noun, verb = ("gang", "does") if len(gangs) == 1 else ("gangs", "do")
            return f"{noun} {listed([key or repr(key) for key in gangs])} of its group {verb} not exist{where}."
        case blockers.FinishedNeverWait(finished=finished):
            return f"{_too_few_waiting(blocker)}: finished pods ({finished}) count as members but never wait."
        case blockers.BoundDoNotCount(bound=bound, match_policy=policy):
            return f"{_too_few_waiting(blocker)}: with match policy {policy}, bound pods ({bound}) do not count."
        case blockers.OmitsItself(gang, others):
            return f"it depends only on {listed(others)}: its own groups annotation does not list {gang}."
        case blockers.GroupsDiffer(gang, others):
            return f"the groups annotation of {gang} differs from that of {listed(others)}."
        case UnknownLayer(layer, layers):
            return f"it must gather in layer {layer}, which is not in the topology ({listed(layers)})."
        case _:
            return refusal_sentence(blocker)


def _being_deleted(blocker: blockers.BeingDeleted) -> str:
    pods, of = blocker.pods, blocker.of
    if not blocker.in_gang:
        return "it is being deleted."
    if len(pods) == of:
        return f"its {count(of, 'pending pod')} {_are(pods)} being deleted."
    return f"{len(pods)} of its {of} pending pods {_are(pods)} being deleted: too few others are left."


def _gated(blocker: blockers.Gated | blockers.ClaimsUnready) -> str:
    """Return which of its pods are held back, with the verb: `it is`, `its pod is`, `1 of its 3 pods is`."""
    pods, of = blocker.pods, blocker.of
    if not blocker.in_gang:
        return "it is"
    if len(pods) == of:
        return "its pod is" if of == 1 else "its pods are"
    return f"{len(pods)} of its {of} pods {_are(pods)}"


def _too_few_waiting(blocker: blockers.FinishedNeverWait | blockers.BoundDoNotCount) -> str:
    return f"{blocker.gang} has {count(len(blocker.pods), 'pending pod')}, but needs {blocker.needed} at once"


def _are(items: Sequence[str]) -> str:
    return "is" if len(items) == 1 else "are"


def _have(items: Sequence[str]) -> str:
    return "has" if len(items) == 1 else "have"


def oddity_sentence(oddity: Oddity) -> str:
    """Return what is odd about the settings of a gang or a pod."""
    match oddity:
        case admission.SomeOfOtherScheduler(pods, of, names):
            return f"{len(pods)} of its {of} pending pods {_have(pods)} schedulerName {listed(names)} ({listed(pods)})."
        case admission.SomeBeingDeleted(pods, of):
            return (
                f"{len(pods)} of its {of} pending pods {_are(pods)} being deleted ({listed(pods)}):"
                " they still count as members but are not scheduled."
            )
        case admission.SomeGated(pods, of, gates):
            return (
                f"{len(pods)} of its {of} pending pods {_are(pods)} held back by scheduling gate {listed(gates)}"
                f" ({listed(pods)}); the others are scheduled one by one."
            )
        case admission.ForeignGangMarker(pod, marker):
            return (
                f"Koordinator ignores {marker}: {pod} is scheduled alone, not in a gang"
                " (Koordinator's label is pod-group.scheduling.sigs.k8s.io)."
            )
        case admission.MisspeltKey(owner, key, meant):
            return f"Koordinator does not know {key} of {owner}: was {meant} meant?"
        case admission.GroupsUnreadable(gang):
            return f"the groups annotation of {gang} is not a JSON list: the gang has no group."
        case admission.TopologySpecUnreadable(gang):
            return (
                f"the network-topology-spec of {gang} cannot be parsed: the scheduler ignores it"
                " and places the pods without topology."
            )
        case admission.UnknownStrategy(gang, strategy):
            return f"{gang}: strategy {strategy or '(none)'} has no effect: use MustGather or PreferGather."
        case admission.UnknownPreferredLayer(gang, layer):
            return f"{gang}: PreferGather names layer {layer or '(none)'}, which is not in the topology."
        case admission.MinimumZero(gang):
            return f"{gang} has minimum 0: its pods never wait for each other, and its PodGroup stays in phase Pending."
        case admission.StalePhase(gang, phase):
            return f"phase {phase} of PodGroup {gang} is from an earlier run: it is stale and has no effect."
        case admission.DifferingSpecs():
            return "the gangs of the group have different topology specs: only the spec of the pod tried first counts."
        case admission.SatisfiedWithoutItself(gang):
            return f"the groups annotation of {gang} does not list {gang} itself: the scheduler takes it literally."
        case admission.SatisfiedByEarlierPods():
            return (
                "finished pods of an earlier run with the same gang name count as members: the scheduler treats the"
                " gang as satisfied and schedules its pods one by one, without gang and topology; each preempts on its"
                " own."
            )
        case admission.SpecWithoutEffect():
            return "awareNetworkTopology is off in the scheduler's configuration: the topology spec has no effect."
        case admission.IndexNotHonoured(names):
            return (
                "the scheduler ignores the topology index: it assigns nodes in the lexical order of the pod names"
                f" ({listed(names)})."
            )
        case admission.WorstFit():
            return (
                "with a topology selector, the scheduler also counts the gang's own planned pods: it picks the domain"
                " with the most room (worst fit) instead of the best fit."
            )
        case _:
            assert_never(oddity)


def ignored_markers(marker: str, pods: int) -> str:
    """Return that so many pods carry a marker of another gang scheduler."""
    are = "it is scheduled alone" if pods == 1 else "they are scheduled each alone"
    return (
        f"Koordinator ignores {marker} of {count(pods, 'pod')}: {are}, not in a gang"
        " (Koordinator's label is pod-group.scheduling.sigs.k8s.io)."
    )


_MOST_NODES = 4


def overloaded_sentence(nodes: Sequence[str]) -> str:
    """Return that these nodes refuse the pods for load, and that preemption there does not help."""
    which = listed(nodes) if len(nodes) <= _MOST_NODES else count(len(nodes), "node")
    verb = "refuses" if len(nodes) == 1 else "refuse"
    return f"{which} {verb} its pods for measured load, which preemption there does not lower at once."


def free_but_scattered(resource: str, free: int, most: int) -> str:
    """Return that enough of a resource is free, and on no node: `8 GPU are free, at most 1 on a node`."""
    in_all, on_one = amount_of(resource, free, "rounded"), amount_of(resource, most, "rounded")
    return f"{in_all} {resource_name(resource)} {'is' if in_all == '1' else 'are'} free, at most {on_one} on a node"


def exclude_each_other(refused: Sequence[Refused]) -> str:
    """Return by what members keep each other from nodes, and on how many."""
    why = dict.fromkeys(_keeps_apart(one.reason) for one in refused)
    return f"they exclude each other on {count(sum(one.nodes for one in refused), 'node')}: {listed([*why])}"


def _keeps_apart(reason: Reason) -> str:
    match reason:
        case nodes.PortTaken(port=port):
            return f"each takes host port {port} of its node"
        case nodes.ClaimInUse(claim=claim):
            return f"volume claim {claim} (ReadWriteOncePod) is for one pod"
        case nodes.SpreadTooSkewed(key=key):
            return f"their topology spread over {key} lets no more pods in"
        case _:
            return "their pod anti-affinity keeps them apart"


def not_offered(
    resource: str,
    with_none: Sequence[str],
    listed_by_device: Sequence[str],
    labelled: Sequence[tuple[str, str]],
    idle: Sequence[str],
    similar: Sequence[str],
) -> str:
    """Return that no node offers a resource, which nodes should, what is not running there, and what may be meant."""
    should = [f"{few(with_none)} {verb(len(with_none), 'reports', 'report')} 0 of it"] if with_none else []
    if listed_by_device:
        has = verb(len(listed_by_device), "has", "have")
        should.append(
            f"{few(listed_by_device)} {has} such devices by {verb(len(listed_by_device), 'its', 'their')} Device object"
        )
    for label in dict.fromkeys(label for _, label in labelled):
        names = [name for name, one in labelled if one == label]
        should.append(f"{few(names)} should, by label {label}")
    parts = [f"no node offers {resource}", *([listed(should)] if should else [])]
    if should and idle:
        parts.append(_nothing_runs(resource, idle))
    if similar:
        parts.append(f"nodes offer {listed(similar)}: was that meant?")
    if not should and not similar:
        parts[0] += ", and none has a label or a Device object that says it should"
    return f"{'; '.join(parts).rstrip('?')}{'?' if similar else '.'}"


def not_listed(resource: str, offering: Sequence[str], idle: Sequence[str]) -> str:
    """Return that no Device object lists a device, though nodes offer a resource, and what is not running there."""
    offer = f", though {few(offering)} {verb(len(offering), 'offers', 'offer')} {resource}" if offering else ""
    runs = (
        f"; no koordlet is ready on {few(idle)}"
        if idle
        else "; koordlet fills it from NVML, see its log"
        if offering
        else ""
    )
    return f"no Device object lists a {resource_name(resource)}{offer}{runs}."


def _nothing_runs(resource: str, idle: Sequence[str]) -> str:
    what = "no koordlet" if resource.startswith("koordinator.sh/") else "no pod of a device plugin"
    return f"{what} is ready on {few(idle)}"
