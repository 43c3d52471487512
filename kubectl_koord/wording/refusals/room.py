"""Why there is no room that room alone does not tell, in English."""

from collections.abc import Sequence

from kubectl_koord.engine.reasons import nodes
from kubectl_koord.engine.reasons.nodes import Reason, Refused
from kubectl_koord.wording.words import amount_of, count, few, listed, resource_name, verb


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
        f"; no koordlet runs on {few(idle)}"
        if idle
        else "; koordlet fills it from NVML, see its log"
        if offering
        else ""
    )
    return f"no Device object lists a {resource_name(resource)}{offer}{runs}."


def _nothing_runs(resource: str, idle: Sequence[str]) -> str:
    what = "no koordlet" if resource.startswith("koordinator.sh/") else "no pod of a device plugin"
    return f"{what} runs on {few(idle)}"
