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
from kubectl_koord.language import STOP, say
from kubectl_koord.model import values
from kubectl_koord.model.installation import TREE_MANAGER
from kubectl_koord.model.values import Resources
from kubectl_koord.wording.words import (
    SEMICOLON,
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
    "no-such-key": say("no such key"),
    "no-such-overload": say("no such overload"),
    "unsupported-attribute": say("unsupported attribute value"),
    "no-boolean": say("its result is no boolean"),
    "no-version": say("no semantic version"),
    "no-quantity": say("no quantity"),
    "no-integer": say("no integer"),
    "integer-overflow": say("integer overflow"),
    "division-by-zero": say("division by zero"),
    "no-value": say("optional value that is not there"),
    "unhashable": say("versions cannot be looked up in a list of texts"),
}


def claim_obstacle(reason: ClaimReason) -> str:
    """Return why a node cannot serve a claim, in a few plain words."""
    match reason:
        case ClaimElsewhere(claim):
            return say("resource claim {claim} (allocated on other nodes)", claim=claim)
        case NotEnoughDevices(claim, request, wanted, free, every=True):
            told = (
                say("all {devices}, {free} free", devices=count(wanted, "device"), free=free)
                if wanted
                else say("all devices that match, none does")
            )
            return say(
                "resource claim {claim} (request {request} wants {told})", claim=claim, request=request, told=told
            )
        case NotEnoughDevices(claim, request, wanted, free):
            return say(
                "resource claim {claim} (request {request} wants {devices}, {free} free)",
                claim=claim,
                request=request,
                devices=count(wanted, "device"),
                free=free,
            )
        case SelectorFails(claim, request, expression, problem):
            told = f"{_PROBLEMS[problem.code]}{f': {problem.about}' if problem.about else ''}"
            return say(
                "resource claim {claim} (CEL selector {expression} of request {request} fails: {told})",
                claim=claim,
                expression=expression,
                request=request,
                told=told,
            )
        case TooManyDevices(claim, wanted):
            return say(
                "resource claim {claim} (wants {devices}, more than one claim may get)",
                claim=claim,
                devices=count(wanted, "device"),
            )
        case _:
            assert_never(reason)


def unready_clause(claims: Sequence[UnreadyClaim]) -> str:
    """Return what claims wait for: the first of them, and how many more there are."""
    first, *more = claims
    return (
        say("{unready} (and {claims})", unready=_unready(first), claims=count(len(more), "more claim"))
        if more
        else _unready(first)
    )


def _unready(claim: UnreadyClaim) -> str:
    match claim.fault:
        case "not-made":
            return say("its resource claim {name} was not made from its template yet", name=claim.name)
        case "missing":
            return say("resource claim {name} does not exist", name=claim.name)
        case "being-deleted":
            return say("resource claim {name} is being deleted", name=claim.name)
        case "not-owner":
            return say("resource claim {name} exists, but was made for another pod", name=claim.name)
        case _:
            assert_never(claim.fault)


def claims_sentence(refusal: ClaimsUnallocated) -> str:
    """Return why a claim cannot be used on any node."""
    claim = refusal.claim
    match refusal.fault:
        case "no-class":
            return say(
                "request {request} of resource claim {claim} names DeviceClass {about}, which does not exist.",
                request=refusal.request,
                claim=claim,
                about=refusal.about,
            )
        case "in-use":
            return say("as many pods use resource claim {claim} as may at once.", claim=claim)
        case "being-allocated":
            return say(
                "resource claim {claim} is being allocated for another pod that waits to be bound; pods that "
                "are bound together cannot share a claim that is not allocated yet.",
                claim=claim,
            )
        case _:
            assert_never(refusal.fault)


def not_allocated(obstacles: Sequence[tuple[str, int]], nodes: int) -> str:
    """Return which claims so many nodes cannot serve, the most frequent reason first."""
    parts = [
        say("{number} of {nodes} cannot serve {words}", number=number, nodes=count(nodes, "node"), words=words)
        for words, number in obstacles
    ]
    return say("{parts}.", parts=listed(parts))


_SCOPES: Mapping[str, str] = {
    "Node": "node",
    "NUMANode": say("NUMA node"),
    "PCIe": say("PCIe switch"),
    "Device": "device",
}


def device_stage(reason: DeviceReason) -> str:
    """Return what the nodes are whose devices do."""
    match reason:
        case nodes.IsolationMissing(provider=provider):
            return say("with GPU isolation by {provider}", provider=provider)
        case nodes.NoPartition(wanted=wanted):
            return say("with a free partition of {wanted} GPU", wanted=wanted)
        case nodes.BeyondReservedDevices():
            return say("with the devices it asks for free in a reservation")
        case _:
            return say("with the devices it asks for free")


def device_obstacle(reason: DeviceReason) -> str:
    """Return a reason in a few plain words."""
    match reason:
        case nodes.DevicesMissing(type=kind, functions=functions):
            return (
                say("no {device_name} with virtual functions", device_name=device_name(kind))
                if functions
                else say("no {device_name} devices", device_name=device_name(kind))
            )
        case nodes.DevicesShort(type=kind, wanted=wanted, scope=scope):
            within = say(" in one {scope}", scope=_SCOPES.get(scope, scope)) if scope else ""
            fewer = say("no") if wanted == 1 else say("fewer than {wanted}", wanted=wanted)
            return say(
                "{fewer} {device_name} with enough free{within}",
                fewer=fewer,
                device_name=device_name(kind),
                within=within,
            )
        case nodes.NoPartition(wanted=wanted, sizes=None):
            return say("no partition table for {wanted} GPU", wanted=wanted)
        case nodes.NoPartition(wanted=wanted, sizes=sizes):
            known = sizes or ()
            if wanted in known:
                return say("no free partition of {wanted} GPU", wanted=wanted)
            return say(
                "partitions are of {known} GPU, not of {wanted}",
                known=say(", ").join(map(str, known)) or say("no"),
                wanted=wanted,
            )
        case nodes.ScopeUnsupported(scope=scope, shared=shared):
            why = say("several shared GPU cannot be") if shared else say("no topology of its GPU to be")
            return say("{why} within one {scope}", why=why, scope=_SCOPES.get(scope, scope))
        case nodes.DevicesApart(types=types):
            return say("{types} not on the same PCIe switches", types=say(" and ").join(map(device_name, types)))
        case nodes.SharingUnsupported(vendor=vendor, model=model):
            return say("GPU model {model} of {vendor} cannot be shared", model=model, vendor=vendor)
        case nodes.IsolationMissing(provider=provider):
            return say("GPU isolation {provider} missing", provider=provider)
        case nodes.DevicesOutsideZones(type=kind, wanted=wanted, there=there):
            return say(
                "{there} of {wanted} {device_name} on the NUMA nodes",
                there=there,
                wanted=wanted,
                device_name=device_name(kind),
            )
        case nodes.BeyondReservedDevices(reasons=reasons):
            found = dict.fromkeys(device_obstacle(one) for one in reasons)
            return say("{found} with a reservation", found=say(", ").join(found))
        case _:
            assert_never(reason)


def invalid_devices(refusal: InvalidDevices) -> str:
    """Return why the scheduler refuses what a pod asks for, before it looks at a node."""
    match refusal:
        case nodes.InvalidDeviceAmount(resource=resource, amount=amount):
            return say(
                "{amount} of {resource} is neither a part of a device (up to 100) nor whole devices (hundreds)",
                amount=amount,
                resource=resource,
            )
        case nodes.InvalidDeviceSet(resources=(alone,)):
            return say("{alone} cannot be requested alone, or not in this amount", alone=alone)
        case nodes.InvalidDeviceSet(resources=resources):
            return say(
                "{resources} cannot be requested together, or not in these amounts",
                resources=say(" and ").join(resources),
            )
        case nodes.UnreadableDeviceAnnotation(annotation=annotation):
            return say("annotation scheduling.koordinator.sh/{annotation} cannot be read", annotation=annotation)
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
            return say("NUMA policy {node}, not {pod}", node=node, pod=pod)
        case nodes.FractionalCPUs(asked=asked):
            return say("binds whole CPUs, not {asked}m", asked=asked)
        case nodes.InvalidAmplification():
            return say("amplification ratio not readable")
        case nodes.InsufficientAmplifiedCPU(needed=needed, free=free):
            return say(
                "insufficient amplified CPU ({free} of {cpu} free)", free=span(free, most, _cpu), cpu=_cpu(needed)
            )
        case nodes.NoCPUTopology():
            return say("no CPU topology")
        case nodes.BindPolicyConflict(node=node, pod=pod):
            return say("binds CPUs by {node}, not {pod}", node=node, pod=pod)
        case nodes.PartialCores(cpus=cpus, per_core=per_core):
            return say("{cpus} CPUs are no whole cores of {per_core}", cpus=cpus, per_core=per_core)
        case nodes.NotEnoughCPUs(needed=needed, free=free, policy=policy):
            return say(
                "{free} of {needed} CPUs free to bind{policy}",
                free=span(free, most),
                needed=needed,
                policy=policy and say(" by {policy}", policy=policy),
            )
        case nodes.NoZones():
            return say("no NUMA zones known")
        case nodes.UnsatisfiedZones(resources=resources):
            return say(
                "no NUMA zones with enough {resource_name}",
                resource_name=listed([resource_name(one) for one in resources]),
            )
        case nodes.UnalignedZones(policy=policy, hints=hints):
            return say(
                "no NUMA zones by {policy} for {named} together",
                policy=policy,
                named=listed([_named(one) for one, _, _ in hints]),
            )
        case nodes.InsufficientInZones(short=short):
            return say(
                "insufficient {resource_name} in its NUMA zones",
                resource_name=listed([resource_name(one) for one, _, _ in short]),
            )
        case nodes.BeyondReservedZones(reasons=reasons):
            return say(
                "{fromkeys} with a reservation",
                fromkeys=say(", ").join(dict.fromkeys(zone_obstacle(one) for one in reasons)),
            )
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
            return 0, say("not cordoned")
        case nodes.Untolerated():
            return 10, say("with taints tolerated")
        case nodes.NotSelected():
            return 20, say("matching its node selector and affinity")
        case nodes.Insufficient(short=short):
            scarce = tuple((resource, wanted) for resource, wanted, _ in short)
            ours = {resource for resource, _ in scarce}
            # In a gang of unequal pods it may be another member that a node is short of.
            others = [(len(needs), need) for need in ranked(scarce)]
            place, need = [*((at, need) for at, need in enumerate(ranked(needs)) if need[0] in ours), *others][0]
            return 50 + place, say("with {amounts} free", amounts=amounts([need]))
        case nodes.TooManyPods():
            return 40, say("below their pod limit")
        case nodes.SidecarsUnknown() | nodes.PortTaken():
            return 30, say("with its ports free") if isinstance(reason, nodes.PortTaken) else say(
                "that support sidecars"
            )
        case nodes.ClaimInUse() | nodes.VolumeElsewhere() | nodes.TooManyVolumes():
            return 70, say("with access to its volumes")
        case nodes.NoVolumeToBind() | nodes.NotEnoughStorage():
            return 70, say("with access to its volumes")
        case nodes.SpreadTooSkewed() | nodes.SpreadLabelMissing():
            return 80, say("within its topology spread")
        case nodes.PodAffinityUnmet() | nodes.AntiAffinityViolated() | nodes.ExistingAntiAffinityViolated():
            return 90, say("allowed by pod affinity")
        case nodes.NotEnoughDevices() | nodes.ClaimElsewhere() | nodes.SelectorFails() | nodes.TooManyDevices():
            return 92, say("with devices for its resource claims")
        case nodes.Overloaded() | nodes.MetricExpired():
            return 100, say("below the load thresholds")
        case nodes.NotReserved():
            return 5, say("with a reservation that matches")
        case nodes.OtherPolicy():
            return 94, say("with reservations of the same allocate policy")
        case nodes.BeyondReservation():
            return 95, say("with room in a reservation that matches")
        case nodes.NUMAPolicyMismatch() | nodes.FractionalCPUs():
            return 110, say("whose CPU and NUMA policies allow it")
        case nodes.InvalidAmplification() | nodes.InsufficientAmplifiedCPU():
            return 120, say("with amplified CPU free")
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
            return 130, say("with CPUs and NUMA zones for it")
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
            return say("cordoned")
        case nodes.Untolerated(taint=taint):
            value = f"={taint.value}" if taint.value else ""
            return say("taint {key}{value}:{effect}", key=taint.key, value=value, effect=taint.effect)
        case nodes.NotSelected():
            return say("node selector or affinity")
        case nodes.SidecarsUnknown():
            return say("sidecar containers, not supported by this version")
        case nodes.PortTaken(port=port):
            return say("host port {port} in use", port=port)
        case nodes.TooManyPods(allowed=allowed):
            return say("pod limit {allowed} reached", allowed=allowed)
        case nodes.Insufficient(short=short):
            return say(
                "insufficient {resource_names}",
                resource_names=listed(resource_names((resource for resource, _, _ in short))),
            )
        case nodes.ClaimInUse(claim=claim):
            return say("volume claim {claim} is in use by another pod", claim=claim)
        case nodes.VolumeElsewhere(claim=claim):
            return say("volume of claim {claim} is not reachable", claim=claim)
        case nodes.NoVolumeToBind(claim=claim):
            return say("no volume for claim {claim} can be had here", claim=claim)
        case nodes.NotEnoughStorage(claim=claim, size=size):
            return say(
                "less storage than the {spell} of claim {claim}",
                spell=values.spell("ephemeral-storage", size),
                claim=claim,
            )
        case nodes.TooManyVolumes(driver=driver):
            return say("volume limit of {driver} reached", driver=driver)
        case nodes.Overloaded(resource=resource, percent=percent, threshold=threshold, aggregated=aggregated):
            aggregate = say("aggregated ") if aggregated else ""
            return say(
                "{aggregate}{resource_name} usage {percent} % above {threshold} %",
                aggregate=aggregate,
                resource_name=resource_name(resource),
                percent=span(percent, most),
                threshold=threshold,
            )
        case nodes.MetricExpired(updated=""):
            return say("NodeMetric expired, never updated")
        case nodes.MetricExpired(updated=updated):
            return say("NodeMetric expired, last updated {updated}", updated=span(updated, most))
        case nodes.NotReserved():
            return say("no reservation that matches")
        case nodes.OtherPolicy():
            return say("reservations of another allocate policy")
        case nodes.BeyondReservation():
            return _beyond_reservation(reason)
        case nodes.SpreadTooSkewed(key=key):
            return say("topology spread over {key}", key=key)
        case nodes.SpreadLabelMissing(key=key):
            return say("no label {key} for the topology spread", key=key)
        case nodes.PodAffinityUnmet():
            return say("pod affinity")
        case nodes.AntiAffinityViolated():
            return say("pod anti-affinity")
        case nodes.ExistingAntiAffinityViolated():
            return say("anti-affinity of existing pods")
        case nodes.NotEnoughDevices() | nodes.ClaimElsewhere() | nodes.SelectorFails() | nodes.TooManyDevices():
            return claim_obstacle(reason)
        case _:
            return zone_obstacle(reason, most if isinstance(most, int) else None)


def _beyond_reservation(reason: nodes.BeyondReservation) -> str:
    """Return what reservations that match are short of, alone or together with their node."""
    if reason.of_reservation:
        return say(
            "too little {resource_names} in its reservations",
            resource_names=listed(resource_names((name for name, _, _ in reason.of_reservation))),
        )
    if reason.full:
        return say("no pod place in its reservations")
    short = listed(resource_names(name for name, _, _ in reason.of_node))
    return (
        say("insufficient {short} with a reservation", short=short) if short else say("no reservation that can be used")
    )


MANAGER_OFF = say(
    "koord-scheduler runs without {tree_manager}=true, so it builds no topology tree", tree_manager=TREE_MANAGER
)


def fault_clause(fault: TreeFault) -> str:
    """Return why there is no tree, without a full stop."""
    match fault:
        case NoTopology():
            return say("there is no ClusterNetworkTopology {default_name}", default_name=DEFAULT_NAME)
        case OtherName(names):
            return say(
                "no ClusterNetworkTopology is named {default_name}; there is {names}, which is ignored",
                default_name=DEFAULT_NAME,
                names=say(", ").join(names),
            )
        case MissingLayer(layer, child, unused):
            where = (
                say("named as parent of {child}", child=child) if child is not None else say("where every chain begins")
            )
            rest = say("; not on the chain: {unused}", unused=say(", ").join(unused)) if unused else ""
            return say(
                "layer {layer}, {where}, has no entry{rest}", layer=layer or say("(none)"), where=where, rest=rest
            )
        case LayerCycle(layer):
            return say("layer {layer} is its own ancestor", layer=layer)
        case _:
            assert_never(fault)


def unbound_sentence(refusal: VolumesUnbound) -> str:
    """Return why a claim cannot be used on any node."""
    claim, about = refusal.claim, refusal.about
    match refusal.fault:
        case "claim-missing":
            return say("volume claim {claim} does not exist.", claim=claim)
        case "being-deleted":
            return say("volume claim {claim} is being deleted.", claim=claim)
        case "not-bound" if about:
            return say(
                "volume claim {claim} is not bound: its StorageClass {about} (Immediate) should have bound "
                "it; look at the provisioner.",
                claim=claim,
                about=about,
            )
        case "not-bound":
            return say("volume claim {claim} is not bound, and has no StorageClass that exists.", claim=claim)
        case "binding":
            return say(
                "volume claim {claim} names volume {about}, and is not bound to it yet.", claim=claim, about=about
            )
        case "lost":
            return say("volume claim {claim} has lost volume {about}, which it was bound to.", claim=claim, about=about)
        case "volume-missing":
            return say(
                "volume claim {claim} is bound to volume {about}, which does not exist.", claim=claim, about=about
            )
        case "ephemeral-missing":
            return say("volume claim {claim} for an ephemeral volume was not made yet.", claim=claim)
        case "not-owner":
            return say(
                "volume claim {claim} exists, but was not made for pod {pod}: the pod is not its owner.",
                claim=claim,
                pod=refusal.pod,
            )
        case _:
            assert_never(refusal.fault)


def lacking(reason: Reason | PreFilterRefusal) -> str:
    """Return in a few words why a planned node does not take a pod."""
    return refusal_sentence(reason).rstrip(STOP) if isinstance(reason, PreFilterRefusal) else obstacle(reason)


def refusal_sentence(refusal: PreFilterRefusal) -> str:
    """Return why PreFilter refuses a job."""
    match refusal:
        case NoTopologyTree(fault):
            return say("{fault_clause}.", fault_clause=fault_clause(fault))
        case TopologyManagerOff():
            return say("it has a topology spec, and {manager_off}.", manager_off=MANAGER_OFF)
        case TopologyNotAware():
            return say(
                "it has a topology spec, but awareNetworkTopology is off in the scheduler's configuration: "
                "only its first pod is ever placed."
            )
        case InvalidDeviceAmount() | InvalidDeviceSet() | UnreadableDeviceAnnotation():
            return say("{invalid_devices}.", invalid_devices=invalid_devices(refusal))
        case NoReservationMatches():
            return _no_reservation(refusal)
        case FractionalBinding(asked=asked):
            return say("it asks to bind its CPUs, which must be whole ones, and requests {asked}m.", asked=asked)
        case UnreadableAnnotation(annotation=annotation):
            return say("its annotation {annotation} cannot be read.", annotation=annotation)
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
    asks = say(
        "it asks for {part}",
        part=say("reservation {name}", name=name) if name else say("a reservation with its reservation affinity"),
    )
    if refusal.is_own:
        return say(
            "{asks}, which is for it, but has no room, does not match, or is on a node that the pod may not go to.",
            asks=asks,
        )
    if not owned:
        return say("{asks}, and no reservation with room is for it.", asks=asks)
    those = say(
        "{reservations} {are} for it", reservations=count(owned, "reservation"), are="is" if owned == 1 else "are"
    )
    return say(
        "{asks}; {those}, none {part}.",
        asks=asks,
        those=those,
        part=say("is {name}", name=name) if name else say("matches"),
    )


_MOST_NAMED = 3
_OF_QUOTA = {
    "runtime": say("allowed now (its runtime share"),
    "max": say("allowed (its max"),
    "min": say("allowed (its min, which non-preemptible pods must stay within"),
}


def _ahead(refusal: QuotaExceeded, amount: str) -> str:
    """Return how much of what is used pods take that wait, too, and who they are."""
    named = list(refusal.ahead[:_MOST_NAMED])
    others = [say("others")] if len(refusal.ahead) > _MOST_NAMED else []
    goes = "goes" if len(refusal.ahead) == 1 else "go"
    return say(
        " ({amount} of it for {part}, which {goes} first)", amount=amount, part=listed([*named, *others]), goes=goes
    )


def _quota_exceeded(refusal: QuotaExceeded) -> str:
    """Return which quota has no room, by its arithmetic: `quota q: 63 GPU in use, 67 allowed; w-1 wants 8 more`."""
    refusing, *below = refusal.path
    place = say(" (above {below})", below=below[-1]) if below else ""
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
        parts.append(
            say(
                "{has} {resource_name} in use{ahead}, {may} {limit_is}{scaled})",
                has=has,
                resource_name=resource_name(name),
                ahead=ahead,
                may=may,
                limit_is=limit_is,
                scaled=_scaled(scaled.get(name)),
            )
        )
        wanted += [f"{more} {resource_name(name)}"] if asked.get(name, 0) else []
    wants = (
        say("{pod} wants {wanted} more", pod=refusal.pod, wanted=listed(wanted))
        if wanted
        else say("until then {pod}, which asks for none of it, waits", pod=refusal.pod)
    )
    return say("quota {refusing}{place}: {part}.", refusing=refusing, place=place, part=SEMICOLON.join([*parts, wants]))


def _scaled(amounts: Sequence[str] | None) -> str:
    """Return that a minimum counts as less than is written, to follow a sentence; nothing for None."""
    if amounts is None:
        return ""
    written, counts = amounts
    return say(
        "; its min of {written} counts as {counts}, as it and those beside it are together more than there is",
        written=written,
        counts=counts,
    )


_MAY_HANDLE = say("may handle that or not: its configuration was not read.")


def _other_groups(gang: str, others: Sequence[str]) -> str:
    """Return which PodGroups may be meant in place of one that does not exist, to follow a sentence."""
    home, _, _ = gang.partition("/")
    near = [one.partition("/")[2] for one in others if one.startswith(f"{home}/")]
    elsewhere = [one.partition("/")[0] for one in others if not one.startswith(f"{home}/")]
    meant = say(" There is {near}: was that meant?", near=listed(near)) if near else ""
    there = say(
        " There is one in namespace {elsewhere}; it counts for the pods of that alone.", elsewhere=listed(elsewhere)
    )
    return f"{meant}{there if elsewhere else ''}"


def blocker_sentence(blocker: Blocker) -> str:
    """Return why a gang or a pod is not tried."""
    match blocker:
        case blockers.OtherScheduler(pods, names, profiles, in_gang, known):
            who = (say("its pod ") if len(pods) == 1 else say("its pods ")) if in_gang else say("it ")
            handled = say("handles only {profiles}.", profiles=listed(profiles)) if known else _MAY_HANDLE
            return say(
                "{who}{have} schedulerName {names}; koord-scheduler {handled}",
                who=who,
                have=_have(pods),
                names=listed(names),
                handled=handled,
            )
        case blockers.MixedSchedulers(pods, of, names, known):
            named = say(
                "{number} of its {of} pods {have} schedulerName {names}",
                number=len(pods),
                of=of,
                have=_have(pods),
                names=listed(names),
            )
            if not known:
                return say("{named}; koord-scheduler {may_handle}", named=named, may_handle=_MAY_HANDLE)
            it = "it" if len(pods) == 1 else "them"
            return say(
                "{named}: koord-scheduler does not place {it}, and the other pods keep waiting.", named=named, it=it
            )
        case blockers.OpenConfiguration(settings):
            return depends_on(settings)
        case NoLeader(lease, holder, age):
            held = say("held by {holder}", holder=holder) if holder else say("no holder")
            return say(
                "koord-scheduler is not active: lease {lease} ({held}) was last renewed {age} ago; an active "
                "scheduler renews it every few seconds.",
                lease=lease,
                held=held,
                age=spelled(age),
            )
        case NoReplica(deployment, wanted):
            none = say("has 0 of {pods} available", pods=count(wanted, "pod")) if wanted else say("is scaled to 0")
            return say(
                "koord-scheduler is not active: Deployment {deployment} {none}.", deployment=deployment, none=none
            )
        case blockers.BeingDeleted():
            return _being_deleted(blocker)
        case blockers.Gated(gates=gates, enough_others=False):
            return say("{gated} held back by scheduling gate {gates}.", gated=_gated(blocker), gates=listed(gates))
        case blockers.Gated(pods, gates=gates):
            held = say("{gated} held back by scheduling gate {gates}", gated=_gated(blocker), gates=listed(gates))
            them = "it" if len(pods) == 1 else "them"
            return say(
                "{held}: the scheduler tries {them} with the others all the same, but cannot bind {them}.",
                held=held,
                them=them,
            )
        case blockers.ClaimsUnready(claims=claims):
            return say(
                "{gated} not tried before all resource claims can be used: {unready_clause}.",
                gated=_gated(blocker),
                unready_clause=unready_clause(claims),
            )
        case blockers.NoPodGroup(gang, others=others):
            return say(
                "its pods name PodGroup {partition}, which does not exist.{other_groups}",
                partition=gang.partition("/")[2],
                other_groups=_other_groups(gang, others),
            )
        case blockers.NotInitialised(written=""):
            return say("the gang is not initialised: its pods do not set min-available.")
        case blockers.NotInitialised(written=written):
            return say("the gang is not initialised: min-available {written!r} is not a whole number.", written=written)
        case blockers.TooFewPods(gang, _, own, children, minimum):
            which = say("it has") if own else say("gang {gang} of its group has", gang=gang)
            return say(
                "{which} {children} of the {pods} it needs.", which=which, children=children, pods=count(minimum, "pod")
            )
        case blockers.NoSuchGangs(gangs):
            where = "" if all("/" in key for key in gangs) else say(" (ids must be NAMESPACE/NAME)")
            noun, verb = ("gang", "does") if len(gangs) == 1 else ("gangs", "do")
            return say(
                "{noun} {key} of its group {verb} not exist{where}.",
                noun=noun,
                key=listed([key or repr(key) for key in gangs]),
                verb=verb,
                where=where,
            )
        case blockers.FinishedNeverWait(finished=finished):
            return say(
                "{too_few_waiting}: finished pods ({finished}) count as members but never wait.",
                too_few_waiting=_too_few_waiting(blocker),
                finished=finished,
            )
        case blockers.BoundDoNotCount(bound=bound, match_policy=policy):
            return say(
                "{too_few_waiting}: with match policy {policy}, bound pods ({bound}) do not count.",
                too_few_waiting=_too_few_waiting(blocker),
                policy=policy,
                bound=bound,
            )
        case blockers.OmitsItself(gang, others):
            return say(
                "it depends only on {others}: its own groups annotation does not list {gang}.",
                others=listed(others),
                gang=gang,
            )
        case blockers.GroupsDiffer(gang, others):
            return say(
                "the groups annotation of {gang} differs from that of {others}.", gang=gang, others=listed(others)
            )
        case UnknownLayer(layer, layers):
            return say(
                "it must gather in layer {layer}, which is not in the topology ({layers}).",
                layer=layer,
                layers=listed(layers),
            )
        case _:
            return refusal_sentence(blocker)


def _being_deleted(blocker: blockers.BeingDeleted) -> str:
    pods, of = blocker.pods, blocker.of
    if not blocker.in_gang:
        return say("it is being deleted.")
    if len(pods) == of:
        return say("its {pods} {are} being deleted.", pods=count(of, "pending pod"), are=_are(pods))
    return say(
        "{number} of its {of} pending pods {are} being deleted: too few others are left.",
        number=len(pods),
        of=of,
        are=_are(pods),
    )


def _gated(blocker: blockers.Gated | blockers.ClaimsUnready) -> str:
    """Return which of its pods are held back, with the verb: `it is`, `its pod is`, `1 of its 3 pods is`."""
    pods, of = blocker.pods, blocker.of
    if not blocker.in_gang:
        return say("it is")
    if len(pods) == of:
        return say("its pod is") if of == 1 else say("its pods are")
    return say("{number} of its {of} pods {are}", number=len(pods), of=of, are=_are(pods))


def _too_few_waiting(blocker: blockers.FinishedNeverWait | blockers.BoundDoNotCount) -> str:
    return say(
        "{gang} has {pods}, but needs {needed} at once",
        gang=blocker.gang,
        pods=count(len(blocker.pods), "pending pod"),
        needed=blocker.needed,
    )


def _are(items: Sequence[str]) -> str:
    return "is" if len(items) == 1 else "are"


def _have(items: Sequence[str]) -> str:
    return "has" if len(items) == 1 else "have"


def oddity_sentence(oddity: Oddity) -> str:
    """Return what is odd about the settings of a gang or a pod."""
    match oddity:
        case admission.SomeOfOtherScheduler(pods, of, names):
            return say(
                "{number} of its {of} pending pods {have} schedulerName {names} ({pods}).",
                number=len(pods),
                of=of,
                have=_have(pods),
                names=listed(names),
                pods=listed(pods),
            )
        case admission.SomeBeingDeleted(pods, of):
            return say(
                "{number} of its {of} pending pods {are} being deleted ({pods}): they still count as members "
                "but are not scheduled.",
                number=len(pods),
                of=of,
                are=_are(pods),
                pods=listed(pods),
            )
        case admission.SomeGated(pods, of, gates):
            return say(
                "{number} of its {of} pending pods {are} held back by scheduling gate {gates} ({pods}); the "
                "others are scheduled one by one.",
                number=len(pods),
                of=of,
                are=_are(pods),
                gates=listed(gates),
                pods=listed(pods),
            )
        case admission.ForeignGangMarker(pod, marker):
            return say(
                "Koordinator ignores {marker}: {pod} is scheduled alone, not in a gang (Koordinator's label "
                "is pod-group.scheduling.sigs.k8s.io).",
                marker=marker,
                pod=pod,
            )
        case admission.MisspeltKey(owner, key, meant):
            return say(
                "Koordinator does not know {key} of {owner}: was {meant} meant?", key=key, owner=owner, meant=meant
            )
        case admission.GroupsUnreadable(gang):
            return say("the groups annotation of {gang} is not a JSON list: the gang has no group.", gang=gang)
        case admission.TopologySpecUnreadable(gang):
            return say(
                "the network-topology-spec of {gang} cannot be parsed: the scheduler ignores it and places "
                "the pods without topology.",
                gang=gang,
            )
        case admission.UnknownStrategy(gang, strategy):
            return say(
                "{gang}: strategy {strategy} has no effect: use MustGather or PreferGather.",
                gang=gang,
                strategy=strategy or say("(none)"),
            )
        case admission.UnknownPreferredLayer(gang, layer):
            return say(
                "{gang}: PreferGather names layer {layer}, which is not in the topology.",
                gang=gang,
                layer=layer or say("(none)"),
            )
        case admission.MinimumZero(gang):
            return say(
                "{gang} has minimum 0: its pods never wait for each other, and its PodGroup stays in phase Pending.",
                gang=gang,
            )
        case admission.StalePhase(gang, phase):
            return say(
                "phase {phase} of PodGroup {gang} is from an earlier run: it is stale and has no effect.",
                phase=phase,
                gang=gang,
            )
        case admission.DifferingSpecs():
            return say(
                "the gangs of the group have different topology specs: only the spec of the pod tried first counts."
            )
        case admission.SatisfiedWithoutItself(gang):
            return say(
                "the groups annotation of {gang} does not list {gang} itself: the scheduler takes it literally.",
                gang=gang,
            )
        case admission.SatisfiedByEarlierPods():
            return say(
                "finished pods of an earlier run with the same gang name count as members: the scheduler "
                "treats the gang as satisfied and schedules its pods one by one, without gang and topology; "
                "each preempts on its own."
            )
        case admission.SpecWithoutEffect():
            return say("awareNetworkTopology is off in the scheduler's configuration: the topology spec has no effect.")
        case admission.IndexNotHonoured(names):
            return say(
                "the scheduler ignores the topology index: it assigns nodes in the lexical order of the pod "
                "names ({names}).",
                names=listed(names),
            )
        case admission.WorstFit():
            return say(
                "with a topology selector, the scheduler also counts the gang's own planned pods: it picks "
                "the domain with the most room (worst fit) instead of the best fit."
            )
        case _:
            assert_never(oddity)


def ignored_markers(marker: str, pods: int) -> str:
    """Return that so many pods carry a marker of another gang scheduler."""
    are = say("it is scheduled alone") if pods == 1 else say("they are scheduled each alone")
    return say(
        "Koordinator ignores {marker} of {pods}: {are}, not in a gang (Koordinator's label is "
        "pod-group.scheduling.sigs.k8s.io).",
        marker=marker,
        pods=count(pods, "pod"),
        are=are,
    )


_MOST_NODES = 4


def overloaded_sentence(nodes: Sequence[str]) -> str:
    """Return that these nodes refuse the pods for load, and that preemption there does not help."""
    which = listed(nodes) if len(nodes) <= _MOST_NODES else count(len(nodes), "node")
    verb = "refuses" if len(nodes) == 1 else "refuse"
    return say(
        "{which} {verb} its pods for measured load, which preemption there does not lower at once.",
        which=which,
        verb=verb,
    )


def free_but_scattered(resource: str, free: int, most: int) -> str:
    """Return that enough of a resource is free, and on no node: `8 GPU are free, at most 1 on a node`."""
    in_all, on_one = amount_of(resource, free, "rounded"), amount_of(resource, most, "rounded")
    return say(
        "{in_all} {resource_name} {are} free, at most {on_one} on a node",
        in_all=in_all,
        resource_name=resource_name(resource),
        are="is" if in_all == "1" else "are",
        on_one=on_one,
    )


def exclude_each_other(refused: Sequence[Refused]) -> str:
    """Return by what members keep each other from nodes, and on how many."""
    why = dict.fromkeys(_keeps_apart(one.reason) for one in refused)
    return say(
        "they exclude each other on {nodes}: {part}",
        nodes=count(sum(one.nodes for one in refused), "node"),
        part=listed([*why]),
    )


def _keeps_apart(reason: Reason) -> str:
    match reason:
        case nodes.PortTaken(port=port):
            return say("each takes host port {port} of its node", port=port)
        case nodes.ClaimInUse(claim=claim):
            return say("volume claim {claim} (ReadWriteOncePod) is for one pod", claim=claim)
        case nodes.SpreadTooSkewed(key=key):
            return say("their topology spread over {key} lets no more pods in", key=key)
        case _:
            return say("their pod anti-affinity keeps them apart")


def not_offered(
    resource: str,
    with_none: Sequence[str],
    listed_by_device: Sequence[str],
    labelled: Sequence[tuple[str, str]],
    idle: Sequence[str],
    similar: Sequence[str],
) -> str:
    """Return that no node offers a resource, which nodes should, what is not running there, and what may be meant."""
    should = (
        [
            say(
                "{with_none} {report} 0 of it",
                with_none=few(with_none),
                report=verb(len(with_none), "reports", "report"),
            )
        ]
        if with_none
        else []
    )
    if listed_by_device:
        has = verb(len(listed_by_device), "has", "have")
        should.append(
            say(
                "{listed_by_device} {has} such devices by {their} Device object",
                listed_by_device=few(listed_by_device),
                has=has,
                their=verb(len(listed_by_device), "its", "their"),
            )
        )
    for label in dict.fromkeys(label for _, label in labelled):
        names = [name for name, one in labelled if one == label]
        should.append(say("{names} should, by label {label}", names=few(names), label=label))
    parts = [say("no node offers {resource}", resource=resource), *([listed(should)] if should else [])]
    if should and idle:
        parts.append(_nothing_runs(resource, idle))
    if similar:
        parts.append(say("nodes offer {similar}: was that meant?", similar=listed(similar)))
    if not should and not similar:
        parts[0] += say(", and none has a label or a Device object that says it should")
    told = SEMICOLON.join(parts)
    return told if similar else say("{told}.", told=told)


def not_listed(resource: str, offering: Sequence[str], idle: Sequence[str]) -> str:
    """Return that no Device object lists a device, though nodes offer a resource, and what is not running there."""
    offer = (
        say(
            ", though {offering} {offer} {resource}",
            offering=few(offering),
            offer=verb(len(offering), "offers", "offer"),
            resource=resource,
        )
        if offering
        else ""
    )
    runs = (
        say("; no koordlet is ready on {idle}", idle=few(idle))
        if idle
        else say("; koordlet fills it from NVML, see its log")
        if offering
        else ""
    )
    return say(
        "no Device object lists a {resource_name}{offer}{runs}.",
        resource_name=resource_name(resource),
        offer=offer,
        runs=runs,
    )


def _nothing_runs(resource: str, idle: Sequence[str]) -> str:
    what = say("no koordlet") if resource.startswith("koordinator.sh/") else say("no pod of a device plugin")
    return say("{what} is ready on {idle}", what=what, idle=few(idle))
