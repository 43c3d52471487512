"""What is found in the topology, beyond what `topo` tells."""

from collections.abc import Sequence

from kubectl_koord.wording.doctor.naming import some
from kubectl_koord.wording.words import count, verb


def outside(nodes: Sequence[str], labels: Sequence[str]) -> str:
    """Return which nodes are outside the tree, and which labels they lack."""
    number = len(nodes)
    return (
        f"{count(number, 'node')} {verb(number, 'lacks', 'lack')} the label {some(labels)} ({some(nodes)}): outside the"
        " tree, where gangs with a topology spec are never placed."
    )


def virtual(nodes: Sequence[str]) -> str:
    """Return which nodes lack the label of the lowest layer alone."""
    number = len(nodes)
    return (
        f"{count(number, 'node')} {verb(number, 'lacks', 'lack')} the label of the lowest layer ({some(nodes)}): each"
        " is a domain of its own."
    )


def also_merged(first: str, others: int) -> str:
    """Return the first domain with several parents, and how many others there are in the layer."""
    return f"{first} So {verb(others, 'is', 'are')} {others} more of this layer." if others else first


def selectors(asking: Sequence[str], outside: int) -> str:
    """Return that pods have a topology selector, and nodes are not in the tree."""
    have = f"{count(len(asking), 'pending pod')} {verb(len(asking), 'has', 'have')} a network-topology-selector"
    where = f"{count(outside, 'node')} {verb(outside, 'is', 'are')} outside the topology tree"
    return f"{have} ({some(asking)}), and {where}: where several nodes fit such a pod the scheduler may crash."


def no_tree(clause: str, gangs: Sequence[str]) -> str:
    """Return why there is no tree, and which gangs ask for one."""
    return f"{clause}; {some(gangs)} {verb(len(gangs), 'asks', 'ask')} for one." if gangs else f"{clause}."


def reversed_layers(upper: str, lower: str, uppers: int, lowers: int) -> str:
    """Return that two layers stand in the wrong order."""
    return (
        f"{upper} stands above {lower}, but its {count(uppers, 'domain')} nest in the {lowers} of {lower}: the layers"
        " are in the wrong order."
    )


def placeholder(value: str, key: str, nodes: Sequence[str]) -> str:
    """Return that a label has a value that stands for none."""
    return (
        f"the label {key} is {value} on {count(len(nodes), 'node')} ({some(nodes)}): a placeholder, which the scheduler"
        " takes for one domain."
    )


def one_node(layer: str, domains: int) -> str:
    """Return that every domain of a layer has one node."""
    return f"each of the {domains} domains of {layer} has 1 node: the layer tells no more than the nodes themselves."


def renamed(nodes: Sequence[str], lacking: Sequence[str], found: Sequence[str]) -> str:
    """Return that nodes have the labels of another family than the topology names."""
    number = len(nodes)
    return (
        f"{count(number, 'node')} ({some(nodes)}) {verb(number, 'lacks', 'lack')} {some(lacking)} and"
        f" {verb(number, 'has', 'have')} {some(found)}, which no layer names: the labels were renamed."
    )
