"""What is in the way of a gang: on a node, in a domain, over all nodes."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from kubectl_koord.engine.reasons.nodes import Reason, Refused
from kubectl_koord.model.pods import ReservedRoom, RunningPod
from kubectl_koord.wording.refusals.nodes import obstacle, obstacles
from kubectl_koord.wording.words import amounts, count, few, listed

_MOST_NAMED, _MOST_JOBS = 4, 2


def main_obstacles(main: Sequence[str], more: int, ahead: str = "") -> str:
    """Return what is in the way on some nodes, on how many more something is, and who goes first."""
    rest = f" and {count(more, 'more node')}" if more else ""
    return ", ".join(filter(None, [", ".join(main) + rest, ahead]))


def goes_first(nodes: Mapping[str, Sequence[str]]) -> str:
    """Return which jobs go first, and on which nodes each: `ns/a goes first on n1 and n2`."""
    each = [f"{job} goes first on {few(on, _MOST_NAMED)}" for job, on in nodes.items()]
    rest = len(each) - _MOST_JOBS
    return listed([*each[:_MOST_JOBS], *([count(rest, "more job")] if rest > 0 else [])])


def multiples(numbers: Mapping[str, int]) -> str:
    """Return every podCountMultiple with its layer: `podCountMultiple 4 of BlockLayer`."""
    return f"podCountMultiple {listed([f'{number} of {layer}' for layer, number in numbers.items()])}"


def cannot_be_split(numbers: Mapping[str, int]) -> str:
    """Return that the pods are no multiple of what each domain takes."""
    return f"the pods cannot be split by {multiples(numbers)}"


def never_fits(most: int, desired: int, nodes: int, unrounded: int, *, refused: bool) -> str:
    """Return how many pods a domain takes at most, and without podCountMultiple where that makes a difference.

    refused: whether it takes fewer when it is merely empty, as taints, load and the like still count then.
    """
    alone = " and nothing else refuses them" if refused else ""
    without = f"; {unrounded} without podCountMultiple" if most < unrounded else ""
    return f"fits at most {most} of {desired} pods even when empty{alone} ({count(nodes, 'node')}{without})"


def outside_tree(lacking: Sequence[str]) -> str:
    """Return that a node is outside the tree, where no pod of the gang goes, and which labels it lacks."""
    return f"outside the tree: lacks the label {listed(lacking)}"


def node_refuses(name: str, reason: Reason | None) -> str:
    """Return why a node refuses pods, whatever pods are on it."""
    return f"{name}: {obstacle(reason) if reason else 'full'}"


def node_taken(
    name: str,
    need: Collection[str],
    using: Sequence[RunningPod | ReservedRoom],
    nominated: Sequence[str],
) -> str:
    """Return who takes what is needed, pods on a node and those nominated to it; empty where nobody does.

    `n1: a and b (4 GPU each, priority 5 to 9) and nominated for ns/c`.
    """
    found = [_largest_first(using, need)] if using else []
    found += [f"nominated for {listed(nominated)}"] if nominated else []
    return f"{name}: {listed(found)}" if found else ""


def _largest_first(using: Sequence[RunningPod | ReservedRoom], need: Collection[str]) -> str:
    largest = amounts((resource, number) for resource, number in using[0].requirements.requests if resource in need)
    names = listed([f"reservation {one.name}" if isinstance(one, ReservedRoom) else one.name for one in using])
    priorities = sorted({one.priority for one in using})
    span = str(priorities[0]) if len(priorities) == 1 else f"{priorities[0]} to {priorities[-1]}"
    is_alike = all(one.requirements.requests == using[0].requirements.requests for one in using)
    each = f"{largest}, " if len(using) == 1 else f"{largest} each, " if is_alike else ""
    return f"{names} ({each}priority {span})"


def lost_nodes(refused: Iterable[Refused]) -> str:
    """Return the reasons for which nodes refuse, the commonest first, each with the number of nodes."""
    return (
        listed([f"{why} ({count(number, 'node')})" for why, number in obstacles(refused)]) or "the cluster has no nodes"
    )
