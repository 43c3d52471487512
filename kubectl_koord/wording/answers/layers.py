"""The sentences of `topo init` and `topo label`: what node labels tell of the topology."""

from collections import Counter
from collections.abc import Mapping, Sequence

from kubectl_koord.engine.tree import NODE_LAYER, ROOT_LAYER, NoTree, Tree
from kubectl_koord.wording.refusals.tree import fault_clause
from kubectl_koord.wording.words import count, layer_noun, listed

_FEW = 5
_PROVIDERS = {
    "google": "Google Cloud",
    "oracle": "Oracle Cloud",
    "alibaba": "Alibaba Cloud",
    "coreweave-infiniband": "CoreWeave InfiniBand",
    "aws": "AWS",
    "coreweave": "CoreWeave",
    "nebius": "Nebius",
    "volcano": "Volcano",
    "kubernetes": "Kubernetes",
}


def source(name: str, nodes: int, of: int) -> str:
    """Return whose labels were used, and how many of the nodes that count have them."""
    return f"From the labels of {_PROVIDERS.get(name, name)}, which {nodes} of {count(of, 'node')} carry."


def no_labels(candidates: Mapping[str, int]) -> str:
    """Return that no labels of a provider tell where nodes are, and which others may."""
    if candidates:
        return f"no node has labels of a provider that tell its place in the network: {_name_them(candidates)}"
    return "no node has labels that tell its place in the network: give each its labels first, see topo label"


def nothing_tells(candidates: Mapping[str, int]) -> str:
    """Return that the labels that were looked at divide nothing, and which others may."""
    told = _name_them(candidates) if candidates else "no layer is left to propose"
    return f"the labels of the nodes divide them nowhere: {told}"


def _name_them(candidates: Mapping[str, int]) -> str:
    counted = [f"{key} ({number} values)" for key, number in candidates.items()]
    example = f"--layer SpineLayer={next(iter(candidates))}"
    return f"name yours, from the top: {example}; labels that divide the nodes: {listed(counted)}"


def named(name: str, keys: Sequence[str], nodes: int, of: int) -> str:
    """Return how many of the nodes that count have the labels of a layer that was named."""
    return f"{name} from {listed(keys, 'or')}, which {nodes} of {count(of, 'node')} carry."


def no_such_key(name: str, keys: Sequence[str], candidates: Mapping[str, int]) -> str:
    """Return that no node has a label of a layer that was named, and which others may tell."""
    others = f": {_name_them(candidates)}" if candidates else ""
    return f"no node has the label {listed(keys, 'or')} of --layer {name}{others}"


def not_within(name: str, above: str, values: Sequence[str]) -> str:
    """Return that a layer does not lie within the one that was named before it."""
    verb = "stands" if len(values) == 1 else "stand"
    return f"--layer {name} does not lie within {above}: {_some(values)} {verb} below several of its domains"


def same_domains(key: str, other: str) -> str:
    """Return that a level is left out as it divides no more than the one above it."""
    return f"{key} is left out: it has the same domains as {other}."


def placeholder(key: str, value: str, nodes: int) -> str:
    """Return that a label says nothing on some nodes, and what the scheduler takes that for."""
    if not value:
        return f"{key} is empty on {count(nodes, 'node')}, as good as missing."
    where = f"{key} is the placeholder {value} on {count(nodes, 'node')}"
    return f"{where}, which the scheduler takes for a domain: remove it."


def reversed_order() -> str:
    """Return that the levels lie within each other the other way round."""
    return "The levels lie within each other in the reverse of their usual order: taken as they lie."


def repeats(key: str, above: str, names: Sequence[str]) -> str:
    """Return that a level is left out as its values stand below several of the one above."""
    verb = "stands" if len(names) == 1 else "stand"
    return (
        f"{key} is left out: {_some(names)} {verb} below several values of {above}, and a name must be unique "
        "in its layer (prefix the values with those above them)."
    )


def disagree(newest: str, key: str) -> str:
    """Return that a second key of a level groups the nodes otherwise."""
    return f"{key} is left out: nodes that carry it and {newest} are grouped differently by them."


def other_names(newest: str, key: str) -> str:
    """Return that a second key of a level has other names for the same domains."""
    return f"{key} has other names than {newest} for the same domains: nodes that carry only one of them are set apart."


def one_value(key: str) -> str:
    """Return that a level is left out as it divides nothing."""
    return f"{key} is left out: all nodes have the same value."


def one_node_each(key: str) -> str:
    """Return that a level is left out as each of its domains is a node."""
    return f"{key} is left out: every node has a value of its own."


def accelerators_above(key: str, below: str) -> str:
    """Return that a domain of linked accelerators is larger than a level of the network."""
    return f"Domains of {key} span several of {below}: placed above it."


def not_nested(key: str) -> str:
    """Return that a level lies neither within nor around the others."""
    return f"{key} is left out: its domains lie neither within those of the other levels nor around them."


def as_live() -> str:
    """Return that the live topology is the proposed one."""
    return "ClusterNetworkTopology default unchanged."


def layer_in_use(layer: str, gangs: Sequence[str]) -> str:
    """Return that gangs gather on a layer that would be gone."""
    verb = "gathers" if len(gangs) == 1 else "gather"
    return f"there would be no layer {layer or '(none)'}, on which {_some(gangs)} {verb}."


def tree_notes(built: Tree | NoTree) -> tuple[str, ...]:
    """Return what the resulting tree is: its domains by layer, nodes outside, names that stand below several."""
    if isinstance(built, NoTree):
        return (f"There is no tree: {fault_clause(built.fault)}.",)
    numbers = Counter(domain.layer for domain in built.domains if domain.layer != ROOT_LAYER)
    sizes = [count(numbers[layer], "node" if layer == NODE_LAYER else layer_noun(layer)) for layer in built.layers]
    notes = [f"Resulting tree: {listed(sizes)}."]
    if built.outside:
        names = [one.node for one in built.outside]
        lacking = dict.fromkeys(key for one in built.outside for key in one.missing)
        notes.append(f"Outside the tree: {_some(names)}, without {listed(tuple(lacking), 'or')}.")
    virtual = sum(1 for domain in built.domains if domain.virtual)
    if virtual:
        notes.append(f"{count(virtual, 'node')} without a label of the lowest layer: a domain each.")
    notes += [
        f"{one.layer} {one.name} stands below {listed(one.parents)}: one domain for the scheduler, below the first."
        for one in built.merged
    ]
    return tuple(notes)


def unknown_nodes(names: Sequence[str]) -> str:
    """Return that a file names nodes that do not exist."""
    return f"there is no node {_some(names, 'or')}: nothing is labelled while the file names nodes that do not exist"


def unknown_column(name: str, layers: Sequence[str]) -> str:
    """Return that a file names what is neither a layer nor a label key."""
    there = f" ({listed(layers)})" if layers else ""
    return f"{name!r} is neither a layer of the topology{there} nor a label key"


def bad_label(node: str, key: str, value: str) -> str:
    """Return that no label can have such a value."""
    return f"node {node}: {value!r} is no value of label {key}: up to 63 letters, digits, -, _ and ."


def too_deep(levels: int, layers: Sequence[str]) -> str:
    """Return that a file has more levels of switches than the topology has layers."""
    there = listed(layers) if layers else "none"
    return f"the file has {count(levels, 'level')} of switches, the topology fewer layers above the nodes: {there}"


def nothing_named() -> str:
    """Return that a file names no labels."""
    return "the file names no labels"


def labels_unchanged() -> str:
    """Return that all nodes have these labels already."""
    return "All nodes have these labels already."


def _some(names: Sequence[str], last: str = "and") -> str:
    if len(names) <= _FEW:
        return listed(tuple(names), last)
    return f"{', '.join(names[:_FEW])} and {len(names) - _FEW} more"
