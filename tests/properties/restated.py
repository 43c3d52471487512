"""The rules of the reference once more, slowly and apart from the engine: equal members, CPU and pod places only."""

from collections.abc import Iterable, Sequence
from itertools import product

from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import PendingPod, RunningPod
from kubectl_koord.model.snapshot import Snapshot
from tests.build import BLOCK, BLOCK_KEY, NODE, ROOT, SPINE, SPINE_KEY


def places(snapshot: Snapshot, layer: str) -> list[set[str]]:
    """Return the sets of nodes within which a gang must stay, read from the labels; for no layer all labelled nodes."""
    found: dict[str, set[str]] = {}
    for node in snapshot.nodes.values():
        labels = dict(node.labels)
        if SPINE_KEY not in labels:
            continue
        block = labels.get(BLOCK_KEY, node.name)
        name = {SPINE: labels[SPINE_KEY], BLOCK: block, NODE: node.name, ROOT: "", "": ""}[layer]
        found.setdefault(name, set()).add(node.name)
    return list(found.values())


def admits(node: Node) -> bool:
    """Tell whether a pod without tolerations may be there at all."""
    return not node.unschedulable and not node.taints


def holds(node: Node, pods: Iterable[RunningPod | PendingPod]) -> bool:
    """Tell whether all these pods are there without being more than the node can take."""
    there = list(pods)
    room = dict(node.allocatable)
    return (
        len(there) <= room["pods"]
        and sum(dict(pod.requirements.requests).get("cpu", 0) for pod in there) <= room["cpu"]
    )


def can_take(node: Node, there: Sequence[RunningPod], new: Sequence[PendingPod]) -> bool:
    """Tell whether the pods go in after those that are there; who is there may have too much already."""
    if not new:
        return True
    if not admits(node):
        return False
    asks_nothing = not any(pod.requirements.requests for pod in new)
    return holds(node, [*there, *new]) or (asks_nothing and len(there) + len(new) <= dict(node.allocatable)["pods"])


def can_be_seated(snapshot: Snapshot, pods: Sequence[PendingPod], within: Iterable[str]) -> bool:
    """Try every way to put the pods on the nodes."""
    names = sorted(within)
    for choice in product(names, repeat=len(pods)):
        if list(choice) != sorted(choice):
            continue  # equal pods: their order is no matter
        by_node = {name: [pod for pod, at in zip(pods, choice, strict=True) if at == name] for name in names}
        if all(can_take(snapshot.nodes[name], snapshot.running.get(name, ()), new) for name, new in by_node.items()):
            return True
    return False


def dying(
    snapshot: Snapshot,
    name: str,
    members: Sequence[PendingPod],
    gang: Sequence[PendingPod],
    held: Sequence[PendingPod] | None,
) -> set[str]:
    """Return who is not given back on a node that got members (reference, section 6, point 5).

    `held` are members of a plain gang that wait there; None for a planned gang: then the node still
    carries the min(slots, N-1) pods of the slot count.
    """
    node = snapshot.nodes[name]
    there = snapshot.running.get(name, ())
    possible = [pod for pod in there if pod.priority < gang[0].priority and not pod.protected]
    staying = [pod for pod in there if pod not in possible]
    ghosts = list(held or ())
    if held is None:
        slots = max(number for number in range(len(gang) + 1) if can_take(node, staying, gang[:number]))
        ghosts = list(gang[: min(slots, len(gang) - 1)])
    lost = set()
    for pod in sorted(possible, key=lambda pod: (-pod.priority, pod.job, pod.name)):
        if can_take(node, [*staying, pod], [*ghosts, *members]):
            staying.append(pod)
        else:
            lost.add(pod.key)
    return lost
