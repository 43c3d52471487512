"""Where reasons and amounts become English; nowhere else."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias, assert_never

from kubectl_koord.engine import reasons
from kubectl_koord.engine.reasons import DeviceReason, Reason
from kubectl_koord.model import accelerators, quantity
from kubectl_koord.model.pods import Resources
from kubectl_koord.wording.devices import device_obstacle, device_stage

AmountForm: TypeAlias = Literal["exact", "rounded"]
_BINARY = (("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10))


def count(number: int, noun: str) -> str:
    """Return `1 pod`, `4 pods`, `2 switches`."""
    ending = "es" if noun.endswith(("s", "x", "z", "ch", "sh")) else "s"
    return f"{number} {noun}" if number == 1 else f"{number} {noun}{ending}"


def paste(*words: str) -> str:
    """Return a command line that may be pasted into a shell, whatever the names are."""
    return " ".join(map(shlex.quote, words))


def command(*words: str) -> str:
    """Return a command line of this plugin that may be pasted, whatever the names are."""
    return paste("kubectl", "koord", *words)


def name_within(namespace_of: str, name: str) -> str:
    """Return `namespace/name` without the namespace where it is that of `namespace_of`, itself such a name."""
    namespace, slash, _ = namespace_of.partition("/")
    return name.removeprefix(namespace + slash) if slash else name


def domain_name(name: str) -> str:
    """Return the name of a domain; the one above all others has none."""
    return name or "cluster"


def listed(items: Sequence[str], last: str = "and") -> str:
    """Return `a, b and c`. Where that is too long for a screen, the page shortens it."""
    return f" {last} ".join(filter(None, [", ".join(items[:-1]), items[-1]])) if items else ""


def resource_name(resource: str) -> str:
    """Return the short name of a resource: `CPU`, `GPU` for what counts GPUs, `NPU`, `RDMA`, else the name itself."""
    if resource == "cpu":
        return "CPU"
    if accelerators.family(resource) == accelerators.GPU and not resource.endswith("-memory-ratio"):
        return "GPU"
    last = resource.rpartition("/")[2]
    return last.upper() if last in {"npu", "rdma"} and last != resource else resource


def unit(resource: str) -> str:
    """Return the shortest name of a resource, for tables: `CPU`, `GPU`, `mig-1g.5gb`."""
    last = resource_name(resource).rpartition("/")[2]
    return last.upper() if last in {"rdma", "npu", "xpu", "tpu"} else last


def amount_of(resource: str, number: int, form: AmountForm = "exact") -> str:
    """Return an amount as people count it: 150 of `koordinator.sh/gpu-core` are 1.5 (GPU).

    `exact` is the quantity (`1500m`, `1536Mi`), for sentences and commands; `rounded` is for tables (`1.5`, `1.5Gi`).
    """
    if resource_name(resource) == "GPU" and accelerators.is_share(resource):
        return f"{number / accelerators.CARD:g}"
    return quantity.spell(resource, number) if form == "exact" else _rounded(resource, number)


def _rounded(resource: str, number: int) -> str:
    if resource == "cpu":
        return f"{number / 1000:.2f}".rstrip("0").rstrip(".")
    if resource in {"memory", "ephemeral-storage"} or resource.startswith("hugepages-"):
        for suffix, size in _BINARY:
            if abs(number) >= size:
                return f"{number / size:.1f}".removesuffix(".0") + suffix
    return str(number)


def amounts(needs: Iterable[tuple[str, int]]) -> str:
    """Return `8 CPU and 4 GPU`."""
    return listed([f"{amount_of(r, n)} {resource_name(r)}" for r, n in needs]) or "no resources"


def main_amounts(needs: Mapping[str, int]) -> str:
    """Return what counts most of what pods request together: `64 GPU`, `96 CPU`."""
    return ", ".join(f"{amount_of(name, number)} {unit(name)}" for name, number in accelerators.main_of(needs).items())


def layer_noun(layer: str) -> str:
    """Return what people call a domain of the layer: `spine` for SpineLayer; a name of another form as it is."""
    for ending in ("TopologyLayer", "Layer"):
        if layer.endswith(ending) and layer != ending:
            return layer.removesuffix(ending).lower()
    return layer


def requests(needs: Resources) -> str:
    """Return what a pod asks for, the resource that counts first."""
    return amounts(_ranked(needs))


def _ranked(needs: Resources) -> list[tuple[str, int]]:
    return sorted(needs, key=lambda need: (not accelerators.family(need[0]), need[0] != "cpu", need[0]))


def stage(reason: Reason, needs: Resources) -> tuple[int, str]:
    """Return the filter that a reason comes from: its place in the order, and what the nodes are that pass it."""
    if isinstance(reason, DeviceReason):
        return 140, device_stage(reason)
    match reason:
        case reasons.Cordoned():
            return 0, "not cordoned"
        case reasons.Untolerated():
            return 10, "with taints tolerated"
        case reasons.NotSelected():
            return 20, "matching its node selector and affinity"
        case reasons.Insufficient(short=short):
            scarce = {resource for resource, _, _ in short}
            place, need = next((at, need) for at, need in enumerate(_ranked(needs)) if need[0] in scarce)
            return 50 + place, f"with {amounts([need])} free"
        case reasons.TooManyPods():
            return 40, "below their pod limit"
        case reasons.SidecarsUnknown() | reasons.PortTaken():
            return 30, "with its ports free" if isinstance(reason, reasons.PortTaken) else "that support sidecars"
        case reasons.ClaimInUse() | reasons.VolumeElsewhere() | reasons.TooManyVolumes():
            return 70, "with access to its volumes"
        case reasons.NoVolumeToBind() | reasons.NotEnoughStorage():
            return 70, "with access to its volumes"
        case reasons.SpreadTooSkewed() | reasons.SpreadLabelMissing():
            return 80, "within its topology spread"
        case reasons.PodAffinityUnmet() | reasons.AntiAffinityViolated() | reasons.ExistingAntiAffinityViolated():
            return 90, "allowed by pod affinity"
        case reasons.Overloaded() | reasons.MetricExpired():
            return 100, "below the load thresholds"
        case reasons.NotReserved():
            return 5, "with a reservation that matches"
        case reasons.OtherPolicy():
            return 94, "with reservations of the same allocate policy"
        case reasons.BeyondReservation():
            return 95, "with room in a reservation that matches"
        case reasons.NUMAPolicyMismatch() | reasons.FractionalCPUs():
            return 110, "whose CPU and NUMA policies allow it"
        case reasons.InvalidAmplification() | reasons.InsufficientAmplifiedCPU():
            return 120, "with amplified CPU free"
        case (
            reasons.NoCPUTopology()
            | reasons.BindPolicyConflict()
            | reasons.PartialCores()
            | reasons.NotEnoughCPUs()
            | reasons.NoZones()
            | reasons.UnsatisfiedZones()
            | reasons.UnalignedZones()
            | reasons.InsufficientInZones()
        ):
            return 130, "with CPUs and NUMA zones for it"
        case _:
            assert_never(reason)


def obstacle(reason: Reason) -> str:
    """Return a reason in a few plain words, for tables and funnels."""
    if isinstance(reason, DeviceReason):
        return device_obstacle(reason)
    match reason:
        case reasons.Cordoned():
            return "cordoned"
        case reasons.Untolerated(taint=taint):
            value = f"={taint.value}" if taint.value else ""
            return f"taint {taint.key}{value}:{taint.effect}"
        case reasons.NotSelected():
            return "node selector or affinity"
        case reasons.SidecarsUnknown():
            return "sidecar containers, not supported by this version"
        case reasons.PortTaken(port=port):
            return f"host port {port} in use"
        case reasons.TooManyPods(allowed=allowed):
            return f"pod limit {allowed} reached"
        case reasons.Insufficient(short=short):
            return f"insufficient {listed([resource_name(resource) for resource, _, _ in short])}"
        case reasons.ClaimInUse(claim=claim):
            return f"volume claim {claim} is in use by another pod"
        case reasons.VolumeElsewhere(claim=claim):
            return f"volume of claim {claim} is not reachable"
        case reasons.NoVolumeToBind(claim=claim):
            return f"no volume for claim {claim} can be had here"
        case reasons.NotEnoughStorage(claim=claim, size=size):
            return f"less storage than the {quantity.spell('ephemeral-storage', size)} of claim {claim}"
        case reasons.TooManyVolumes(driver=driver):
            return f"volume limit of {driver} reached"
        case reasons.Overloaded(resource=resource, percent=percent, threshold=threshold, aggregated=aggregated):
            aggregate = "aggregated " if aggregated else ""
            return f"{aggregate}{resource_name(resource)} usage {percent} % above {threshold} %"
        case reasons.MetricExpired(updated=updated):
            return f"NodeMetric expired, last updated {updated}" if updated else "NodeMetric expired, never updated"
        case reasons.NotReserved():
            return "no reservation that matches"
        case reasons.OtherPolicy():
            return "reservations of another allocate policy"
        case reasons.BeyondReservation():
            return _beyond_reservation(reason)
        case reasons.SpreadTooSkewed(key=key):
            return f"topology spread over {key}"
        case reasons.SpreadLabelMissing(key=key):
            return f"no label {key} for the topology spread"
        case reasons.PodAffinityUnmet():
            return "pod affinity"
        case reasons.AntiAffinityViolated():
            return "pod anti-affinity"
        case reasons.ExistingAntiAffinityViolated():
            return "anti-affinity of existing pods"
        case _:
            return _of_numa(reason)


def _cpu(milli: int) -> str:
    return quantity.spell("cpu", milli)


def _of_numa(reason: reasons.NUMAReason) -> str:
    match reason:
        case reasons.NUMAPolicyMismatch(node=node, pod=pod):
            return f"NUMA policy {node}, not {pod}"
        case reasons.FractionalCPUs(asked=asked):
            return f"binds whole CPUs, not {asked}m"
        case reasons.InvalidAmplification():
            return "amplification ratio not readable"
        case reasons.InsufficientAmplifiedCPU(needed=needed, free=free):
            return f"insufficient amplified CPU ({_cpu(free)} of {_cpu(needed)} free)"
        case reasons.NoCPUTopology():
            return "no CPU topology"
        case reasons.BindPolicyConflict(node=node, pod=pod):
            return f"binds CPUs by {node}, not {pod}"
        case reasons.PartialCores(cpus=cpus, per_core=per_core):
            return f"{cpus} CPUs are no whole cores of {per_core}"
        case reasons.NotEnoughCPUs(needed=needed, free=free, policy=policy):
            return f"{free} of {needed} CPUs free to bind{policy and f' by {policy}'}"
        case reasons.NoZones():
            return "no NUMA zones known"
        case reasons.UnsatisfiedZones(resources=resources):
            return f"no NUMA zones with enough {listed([resource_name(one) for one in resources])}"
        case reasons.UnalignedZones(policy=policy, hints=hints):
            return f"no NUMA zones by {policy} for {listed([resource_name(one) for one, _, _ in hints])} together"
        case reasons.InsufficientInZones(short=short):
            return f"insufficient {listed([resource_name(one) for one, _, _ in short])} in its NUMA zones"
        case _:
            assert_never(reason)


def _beyond_reservation(reason: reasons.BeyondReservation) -> str:
    """Return what reservations that match are short of, alone or together with their node."""
    if reason.of_reservation:
        return f"too little {listed([resource_name(name) for name, _, _ in reason.of_reservation])} in its reservations"
    if reason.full:
        return "no pod place in its reservations"
    short = listed([resource_name(name) for name, _, _ in reason.of_node])
    return f"insufficient {short} with a reservation" if short else "no reservation that can be used"
