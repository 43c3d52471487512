"""The sentences of `topo`: what is wrong with the tree, and how a node stands."""

from collections.abc import Sequence

from kubectl_koord.engine.tree import TreeFault
from kubectl_koord.wording.refusals.tree import MANAGER_OFF, fault_clause
from kubectl_koord.wording.words import count, listed

_ROOT = "(root)"
NO_TOPOLOGY_SPEC = "it has no topology spec, so the scheduler looks at nodes alone."
RAN_BEFORE = "it ran before, so the scheduler places each of its pods alone."
NO_MANAGER = f"{MANAGER_OFF}: gangs with a topology spec are never placed."


def no_tree(fault: TreeFault) -> str:
    """Return why no tree can be built."""
    return f"{fault_clause(fault)}."


def node_state(*, unschedulable: bool, ready: bool) -> str:
    """Return what keeps all pods from a node; empty where nothing does."""
    if unschedulable:
        return "cordoned"
    return "" if ready else "not ready"


def places_on_not_ready(nodes: Sequence[str]) -> str:
    """Return that the scheduler places pods on nodes that are not ready."""
    verb, there = ("is", "there") if len(nodes) == 1 else ("are", "on them")
    return (
        f"{listed(nodes)} {verb} not ready: the scheduler looks at taints alone, and places pods {there} all the same."
    )


def merged(layer: str, name: str, parents: Sequence[str]) -> str:
    """Return that a domain is named below several parents; an empty name is the root."""
    below = listed([parent or _ROOT for parent in parents])
    return (
        f"{layer} {name} has several parents ({below}): the scheduler treats it as one domain,"
        " below the parent that it reads first."
    )


def outside(nodes: int) -> str:
    """Return how many nodes are outside the tree."""
    verb = "is" if nodes == 1 else "are"
    return f"{count(nodes, 'node')} {verb} outside the tree: gangs with a topology spec are never placed there."


def virtual(domains: Sequence[str]) -> str:
    """Return which nodes are domains of their own, as they lack the label of the lowest layer."""
    verb = "lacks" if len(domains) == 1 else "lack"
    return (
        f"{count(len(domains), 'node')} {verb} the label of the lowest layer: each is a domain of its own"
        f" ({listed(domains)})."
    )


def stale_status(domains: int, first: tuple[str, str], written: int, now: int) -> str:
    """Return in how many domains the status differs; of the first, its layer and name, the nodes in it and now."""
    layer, name = first
    return (
        f"the status of the ClusterNetworkTopology is stale in {count(domains, 'domain')}, such as"
        f" {layer} {name or _ROOT} (status: {written} nodes, now: {now})."
    )
