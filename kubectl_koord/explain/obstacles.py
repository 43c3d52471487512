"""Evidence for a no: slots by domain with what is in the way, and the funnel of lost nodes."""

from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec import structs

from kubectl_koord.engine.attempt import Attempt
from kubectl_koord.engine.fit import Prepared
from kubectl_koord.engine.gather import Gathering, sums
from kubectl_koord.engine.reasons import Cordoned, Insufficient, Reason, TooManyPods
from kubectl_koord.engine.slots import in_index_order, offer_slots
from kubectl_koord.engine.tree import Tree
from kubectl_koord.engine.view import View
from kubectl_koord.explain.question import Question
from kubectl_koord.explain.reports import Funnel, SlotRow
from kubectl_koord.explain.words import amounts, count, listed, obstacle
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import Resources, RunningPod

_MOST_NODES = 2
_MOST_PODS = 3


def empty_view(view: View) -> View:
    """Return the cluster with nobody in it and no node cordoned."""
    return view.once("empty", _emptied)


def _emptied(view: View) -> View:
    nodes = [view.node(name) for name in view.names()]
    opened = view.with_nodes([_opened(node) for node in nodes if node.unschedulable])
    return View({}, dict.fromkeys(view.names(), ()), opened)


def _opened(node: Node) -> Node:
    taints = tuple(taint for taint in node.taints if taint.key != "node.kubernetes.io/unschedulable")
    return structs.replace(node, unschedulable=False, taints=taints)


def offered(first: Attempt) -> tuple[int, ...]:
    """Return the slots of the start set, in the order of the tree."""
    gathering = first.gathering
    return tuple(gathering.slots[index] for index in gathering.start) if gathering is not None else ()


def slot_rows(question: Question, first: Attempt, *, brief: bool = False) -> tuple[SlotRow, ...]:
    """Return the slots of the start set in the order of the tree, unless brief with what is in the way."""
    gathering, tree = first.gathering, question.tree
    if gathering is None or not isinstance(tree, Tree):
        return ()
    key = ("slot rows", gathering.start, gathering.slots, gathering.desired)
    rows = question.view.once(key, lambda _: tuple(_bare_rows(tree, gathering)))  # gangs that are alike share them
    if brief:
        return rows
    empty = slots_when_empty(question, first.prepared)
    by_domain = sums(tree, empty)
    return tuple(
        structs.replace(row, in_the_way=_in_the_way(question, first, index, empty, by_domain[index]))
        if row.short
        else row
        for index, row in zip(gathering.start, rows, strict=True)
    )


def _bare_rows(tree: Tree, gathering: Gathering) -> Iterator[SlotRow]:
    for index in gathering.start:
        domain = tree.domains[index]
        short = max(0, gathering.desired - gathering.slots[index])
        yield SlotRow(domain.layer, domain.name, gathering.slots[index], short, "")


def slots_when_empty(question: Question, prepared: Prepared) -> dict[str, int]:
    """Return the slots by node with nobody there and no node cordoned."""
    view = empty_view(question.view)
    alone = structs.replace(prepared, nominated={})
    found = offer_slots(view, view.names(), in_index_order(question.subject.pending), alone)
    return {name: node.slots for name, node in found.items()}


def _in_the_way(question: Question, first: Attempt, index: int, empty: dict[str, int], room: int) -> str:
    gathering, tree = first.gathering, question.tree
    if gathering is None or not isinstance(tree, Tree):
        raise AssertionError("only a planned gang has slots")
    if room < gathering.desired:
        nodes = tree.domains[index].nodes
        return f"has {count(nodes, 'node')} with room for {room} when empty: can never take {gathering.desired}"
    lost = sorted(
        ((empty[name] - gathering.nodes[name].slots, name) for name in tree.nodes_below(index)),
        key=lambda item: (-item[0], item[1]),
    )
    blocked = [name for missing, name in lost if missing > 0]
    if not blocked:
        return "the pods cannot be divided up by podCountMultiple"
    shown = [_on_node(question.view, name, first) for name in blocked[:_MOST_NODES]]
    more = f" and {count(len(blocked) - _MOST_NODES, 'more node')}" if len(blocked) > _MOST_NODES else ""
    return ", ".join(shown) + more


def _on_node(view: View, name: str, first: Attempt) -> str:
    reason = first.rejections.get(name)
    pods = [pod for pod in view.occupants(name) if isinstance(pod, RunningPod)]
    if reason is None or not pods or reason.unresolvable or isinstance(reason, Cordoned):
        return f"{name}: {obstacle(reason) if reason else 'taken'}"
    need = scarce(first.trigger.shape.requests, reason)
    pods.sort(key=lambda pod: sum(amount for r, amount in pod.shape.requests if r in need), reverse=True)
    largest = amounts((r, amount) for r, amount in pods[0].shape.requests if r in need)
    names = listed([pod.name for pod in pods], _MOST_PODS)
    priorities = sorted({pod.priority for pod in pods})
    span = str(priorities[0]) if len(priorities) == 1 else f"{priorities[0]} to {priorities[-1]}"
    each = f"{largest} each, " if len(pods) > 1 and _alike(pods) else (f"{largest}, " if len(pods) == 1 else "")
    return f"{name}: {names} ({each}priority {span})"


def scarce(requests: Resources, reason: Reason | None) -> set[str]:
    """Return the resources that a reason says are short; all that the pod asks for where it names none."""
    if isinstance(reason, Insufficient):
        return {resource for resource, _, _ in reason.short}
    return {resource for resource, _ in requests}


def _alike(pods: list[RunningPod]) -> bool:
    return len({pod.shape.requests for pod in pods}) == 1


def main(first: Attempt) -> str:
    """Return the reasons for which nodes were lost, the commonest first."""
    return _counted(first.rejections.values())


def other_than_room(first: Attempt) -> str:
    """Return them where they are more than a want of room, such as taints; empty otherwise."""
    others = [reason for reason in first.rejections.values() if not isinstance(reason, Insufficient | TooManyPods)]
    return _counted(others) if others else ""


def _counted(reasons: Iterable[Reason]) -> str:
    found = Counter(obstacle(reason) for reason in reasons)
    ranked = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return listed([f"{number} {words}" for words, number in ranked], 3) or "there is none"


def funnel(question: Question, first: Attempt) -> Funnel:
    """Return how many nodes are lost to each reason, in the filters' order, and how many are left."""
    total = len(question.view.names())
    nodes = first.gathering.nodes if first.gathering is not None else None
    lost = Counter[str]()
    left = 0
    for name in question.view.names():
        reason = first.rejections.get(name)
        if reason is None or (nodes is not None and nodes[name].slots > 0):
            left += 1
        else:
            lost[obstacle(reason)] += 1
    return Funnel(total, tuple(sorted(lost.items(), key=lambda item: (-item[1], item[0]))), left)
