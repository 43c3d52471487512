"""The sentences of `topo`."""

from collections.abc import Iterable, Mapping, Sequence

from kubectl_koord.model.values import quantity
from kubectl_koord.reports.capacity.topology import Amount, DomainRow
from kubectl_koord.wording.words import (
    amount_of,
    amounts,
    command,
    count,
    domain_name,
    layer_noun,
    listed,
    ranked,
    unit,
)

NOTHING_FREE = "nothing free"
BELOW_A_THIRD = "less than a third free"
BELOW_TWO_THIRDS = "less than two thirds free"
TWO_THIRDS = "two thirds free or more"
UNKNOWN_FREE = "free: unknown"
ENOUGH_SLOTS = "enough slots for the gang"
TOO_FEW_SLOTS = "slots for some of its pods"
NO_SLOT = "no slot for its pods"
ROWS_SHARED = "Some domains share a row: --all shows each."
PROPOSE = "See which topology the labels of the nodes tell"


def propose(*, is_there: bool) -> str:
    """Return what proposes a topology; beside one that is there, how it differs."""
    return command("topo", "init", *(("--diff",) if is_there else ()))


def no_tree(why: str | None) -> str:
    """Return why there is no topology tree."""
    return f"The topology tree cannot be built: {'no reason was found.' if why is None else why}"


def unknown(gang: str | None, why: str, *, counted: bool) -> str:
    """Return why nothing can be counted, or nothing exactly, for a gang or a shape where one was asked for."""
    slots = f"tell exactly how many slots there are for {gang}" if counted else f"count the slots for {gang}"
    what = slots if gang else "build the topology tree"
    return f"Cannot {what}: {why.rstrip('.')}."


def size(layers: Mapping[str, int], nodes: int, resources: Mapping[str, Amount]) -> str:
    """Return how many domains of each layer and nodes the tree has, and what of each resource is free."""
    parts = [count(number, layer_noun(layer)) for layer, number in layers.items()]
    room = [free(resource, each) for resource, each in resources.items()]
    what = f"{', '.join(parts)} and {count(nodes, 'node')}" if parts else count(nodes, "node")
    return f"The topology tree has {what}; {', '.join(room)}."


def free(resource: str, each: Amount) -> str:
    """Return how much is free, of how much: `8 of 24 GPU free`."""
    whole = f"{amount_of(resource, each.total, 'rounded')} {unit(resource)}"
    if each.free is None:
        return f"{whole}, how many are free is unknown"
    return f"{amount_of(resource, each.free, 'rounded')} of {whole} free"


def slots(gang: str, wanted: int | None, layers: Mapping[str, tuple[int, int]]) -> str:
    """Return how many slots a gang needs, and by layer how many domains have them, of how many.

    `wanted` is None for a gang whose pods are not counted in slots.
    """
    if wanted is None:
        return f"SLOTS shows how many pods of {gang} fit in a domain."
    parts = [f"{enough} of {count(domains, layer_noun(layer))}" for layer, (enough, domains) in layers.items()]
    found = f" Domains with enough slots: {', '.join(parts)}." if parts else ""
    return f"{gang} needs {count(wanted, 'slot')} (1 slot = room for 1 pod).{found}"


def no_slots(gang: str, wanted: int, why: str) -> str:
    """Return why no slots are counted for a gang, and what counts pods all the same."""
    if wanted == 0:
        return f"{gang} has no pending pods: no slots are counted for it."
    return f"No slots are counted for {gang}: {why} Use --shape to count how many pods of a shape fit."


def shape(name: str, needs: Mapping[str, str], pods: int, refusal: str) -> str:
    """Return how many more pods of a shape the nodes of the tree take."""
    written = ((resource, quantity.amount(resource, quantity.parse(amount))) for resource, amount in needs.items())
    each = f"{amounts(ranked(tuple(written)))} each"
    if refusal:
        return f"No node takes a pod of shape {name} ({each}): {refusal}."
    return f"Nodes of the tree take {count(pods, 'more pod')} of shape {name} ({each}), quotas left out."


def of_shape(name: str) -> str:
    """Return what the pods of a shape are called."""
    return f"shape {name}"


def most_of_shape(layers: Mapping[str, tuple[int, int]], members: int) -> str:
    """Return by layer how many pods the domain with most room takes, and how many gangs gather in one domain each."""
    parts = [f"{most} in one {layer_noun(layer)}" for layer, (most, _) in layers.items()]
    found = f"At most {listed(parts)}." if parts else ""
    gangs = [f"{number} within one {layer_noun(layer)} each" for layer, (_, number) in layers.items()]
    return f"{found} Gangs of {members}: {', '.join(gangs)}.".lstrip() if members and gangs else found


def gangs_of(members: int) -> str:
    """Return the header of how many gangs of a shape a domain takes."""
    return f"GANGS OF {members}"


def deeper(depth: int) -> str:
    """Return that only so many layers are shown, and how to see more."""
    how = f"use --depth {depth + 1} for one more, --all for every domain, --nodes for every node"
    return f"Showing {count(depth, 'layer')}: {how}."


def not_counted(resource: str, withheld: int, *, cordoned: int, not_ready: int) -> str:
    """Return how much is free on nodes that are cordoned or not ready, and does not count as free."""
    parts = [_are(count(cordoned, "node"), cordoned, "cordoned")] if cordoned else []
    if not_ready:
        parts.append(_are(str(not_ready) if parts else count(not_ready, "node"), not_ready, "not ready"))
    what = f"{amount_of(resource, withheld, 'rounded')} free {unit(resource)}"
    whose = "its" if cordoned + not_ready == 1 else "their"
    return f"{', '.join(parts)}: {whose} {what} are not counted."


def _are(nodes: str, number: int, state: str) -> str:
    return f"{nodes} {'is' if number == 1 else 'are'} {state}"


def outside(number: int) -> str:
    """Return how many nodes are outside the tree, and what that means."""
    nodes = count(number, "node")
    return f"{nodes} outside the tree (gangs with a topology spec are never placed there):"


def lacking(nodes: Sequence[str], labels: Sequence[str]) -> str:
    """Return which labels nodes outside the tree lack."""
    verb = "lacks" if len(nodes) == 1 else "lack"
    lack = f"{verb} the label {', '.join(labels)}" if labels else "no label is missing"
    return f"{', '.join(nodes)}: {lack}"


def notes(domain: DomainRow) -> str:
    """Return how many nodes of a domain are cordoned or not ready."""
    found = [f"{domain.cordoned} cordoned"] if domain.cordoned else []
    found += [f"{domain.not_ready} not ready"] if domain.not_ready else []
    return ", ".join(found)


def folded(domains: Sequence[DomainRow]) -> str:
    """Return the first and the last of domains that share a row."""
    return f"{domain_name(domains[0].name)} to {domain_name(domains[-1].name)} ({len(domains)} domains, each)"


def node_notes(notes: Iterable[str]) -> str:
    """Return the notes on a node, each once."""
    return ", ".join(note for note in dict.fromkeys(notes) if note)


def in_the_picture(room: str, slots: int | None, wanted: int | None, notes: str) -> str:
    """Return what the picture of the tree says below the name of a domain or node: `8 of 24 GPU free, 1/4 slots`."""
    counted = "" if slots is None else count(slots, "slot") if wanted is None else f"{slots}/{wanted} slots"
    return ", ".join(filter(None, [room, counted, notes]))
