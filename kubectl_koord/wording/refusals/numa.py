"""Why the CPUs and NUMA zones of a node do not do, in English."""

from typing import assert_never

from kubectl_koord.engine.reasons import numa
from kubectl_koord.engine.reasons.numa import NUMAReason
from kubectl_koord.model.values import quantity
from kubectl_koord.wording.words import device_name, listed, resource_name, span


def _cpu(milli: int) -> str:
    return quantity.spell("cpu", milli)


def _named(hinted: str) -> str:
    """Return the name of what zones are asked for: a resource, or a type of device."""
    return device_name(resource_name(hinted))


def zone_obstacle(reason: NUMAReason, most: int | None = None) -> str:
    """Return why NodeNUMAResource refuses a node, in a few plain words; `most` is as `obstacle` has it."""
    match reason:
        case numa.NUMAPolicyMismatch(node=node, pod=pod):
            return f"NUMA policy {node}, not {pod}"
        case numa.FractionalCPUs(asked=asked):
            return f"binds whole CPUs, not {asked}m"
        case numa.InvalidAmplification():
            return "amplification ratio not readable"
        case numa.InsufficientAmplifiedCPU(needed=needed, free=free):
            return f"insufficient amplified CPU ({span(free, most, _cpu)} of {_cpu(needed)} free)"
        case numa.NoCPUTopology():
            return "no CPU topology"
        case numa.BindPolicyConflict(node=node, pod=pod):
            return f"binds CPUs by {node}, not {pod}"
        case numa.PartialCores(cpus=cpus, per_core=per_core):
            return f"{cpus} CPUs are no whole cores of {per_core}"
        case numa.NotEnoughCPUs(needed=needed, free=free, policy=policy):
            return f"{span(free, most)} of {needed} CPUs free to bind{policy and f' by {policy}'}"
        case numa.NoZones():
            return "no NUMA zones known"
        case numa.UnsatisfiedZones(resources=resources):
            return f"no NUMA zones with enough {listed([resource_name(one) for one in resources])}"
        case numa.UnalignedZones(policy=policy, hints=hints):
            return f"no NUMA zones by {policy} for {listed([_named(one) for one, _, _ in hints])} together"
        case numa.InsufficientInZones(short=short):
            return f"insufficient {listed([resource_name(one) for one, _, _ in short])} in its NUMA zones"
        case numa.BeyondReservedZones(reasons=reasons):
            return f"{', '.join(dict.fromkeys(zone_obstacle(one) for one in reasons))} with a reservation"
        case _:
            assert_never(reason)
