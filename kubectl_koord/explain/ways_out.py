"""Ways out of being pending: single changes, each offered only because the engine then says yes."""

from collections.abc import Iterator

from msgspec import structs

from kubectl_koord.engine.gangs import GatherRule
from kubectl_koord.engine.rounds import Course
from kubectl_koord.engine.slots import in_index_order, offer_slots
from kubectl_koord.engine.tree import Tree
from kubectl_koord.explain.next_steps import annotate as _annotate
from kubectl_koord.explain.obstacles import scarce, slots_when_empty
from kubectl_koord.explain.question import Question, ask, open_courses
from kubectl_koord.explain.reports import Cause, WayOut
from kubectl_koord.explain.subjects import Subject
from kubectl_koord.explain.words import count, listed, requests
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import RunningPod

_MOST_TRIED = 400
_MOST_DOMAINS = 3
_MOST_NAMED = 3
_CORDON = "node.kubernetes.io/unschedulable"


def proven(question: Question, stuck: Course, cause: Cause | None) -> tuple[WayOut, ...]:
    """Return the single changes after which the subject would be placed, cheapest first."""
    if cause is not None and cause.code == "never-fits":
        return tuple(_other_layer(question))
    return (
        *_wait_for_the_dying(question),
        *_preemption(question),
        *_uncordon(question),
        *_free_one(question, stuck),
        *_other_layer(question),
    )


def _wait_for_the_dying(question: Question) -> Iterator[WayOut]:
    dying = [pod for pods in question.snapshot.running.values() for pod in pods if pod.terminating]
    if dying and _works(question.answered_in(question.view.without(dying))):
        yield WayOut("wait-for-terminating", f"Wait: {count(len(dying), 'pod')} already terminating make room enough")


def _works(courses: tuple[Course, ...]) -> bool:
    return bool(courses) and all(course.placed_at_once for course in courses)


def _preemption(question: Question) -> Iterator[WayOut]:
    if not question.snapshot.config.preemption:
        return
    courses = open_courses(question)
    if not courses or not all(course.runs and course.rounds for course in courses):
        return
    course = courses[0]
    namespace, _, name = question.subject.key.partition("/")
    who = listed([victim.key for victim in course.killed], _MOST_NAMED)
    where = _domain_words(question, course)
    message = f"Wait: the scheduler will preempt {who or 'pods that terminate already'} and place the gang{where}"
    yield WayOut("wait-for-preemption", message, f"kubectl koord preempt {name} -n {namespace} --dry-run")


def _domain_words(question: Question, course: Course) -> str:
    domain = course.rounds[-1].domain
    if domain is None or not isinstance(question.tree, Tree) or not question.tree.domains[domain].name:
        return ""
    return f" in {question.tree.domains[domain].name}"


def _uncordon(question: Question) -> Iterator[WayOut]:
    """Try each cordoned node, then all of them at once."""
    cordoned = [node for node in map(question.view.node, question.view.names()) if node.unschedulable]
    alone = [
        node.name
        for node in cordoned[:_MOST_TRIED]
        if _works(question.answered_in(question.view.with_nodes([_opened(node)])))
    ]
    if alone:
        others = f" (or {listed(alone[1:], _MOST_NAMED)})" if alone[1:] else ""
        yield WayOut("uncordon", f"Uncordon {alone[0]}{others}", f"kubectl uncordon {alone[0]}")
    elif len(cordoned) > 1 and _works(question.answered_in(question.view.with_nodes(map(_opened, cordoned)))):
        names = [node.name for node in cordoned]
        yield WayOut("uncordon", f"Uncordon all of {listed(names, 6)}", f"kubectl uncordon {' '.join(names)}")


def _opened(node: Node) -> Node:
    return structs.replace(
        node, unschedulable=False, taints=tuple(taint for taint in node.taints if taint.key != _CORDON)
    )


def _free_one(question: Question, stuck: Course) -> Iterator[WayOut]:
    """Try each single running pod that is in the way: gone, would the subject be placed?"""
    freed: dict[str, list[RunningPod]] = {}
    for pod in _blocking(question, stuck)[:_MOST_TRIED]:
        after = question.answered_in(question.view.without([pod]))
        if _works(after):
            freed.setdefault(_place(question, after[0], pod), []).append(pod)
    for place, pods in sorted(freed.items(), key=lambda item: (min(pod.priority for pod in item[1]), item[0]))[
        :_MOST_DOMAINS
    ]:
        ranked = sorted(pods, key=lambda pod: (pod.priority, pod.key))
        names = listed([f"{pod.key} on {pod.node}" for pod in ranked], _MOST_NAMED)
        first = ranked[0]
        needed = scarce(first.shape.requests, stuck.first.rejections.get(first.node))
        room = requests(tuple(need for need in first.shape.requests if need[0] in needed))
        message = f"Free {room}: move or end {names.replace(' and ', ' or ')}{place}"
        yield WayOut("free-pod", message, f"kubectl delete pod {first.name} -n {first.namespace}")


def _killable(question: Question, node: str) -> Iterator[RunningPod]:
    """Yield the pods of a node, but for members of its own gangs; what is left of a reservation is none."""
    own = question.subject.group.gangs if question.subject.group is not None else {}
    return (pod for pod in question.snapshot.running.get(node, ()) if pod.namespace and pod.gang not in own)


def _place(question: Question, course: Course, pod: RunningPod) -> str:
    gathering = course.first.gathering
    if gathering is None or gathering.chosen is None or not isinstance(question.tree, Tree):
        return f" (then {pod.node})" if gathering is None else ""
    start = set(gathering.start)
    top = next(index for index in question.tree.ancestors(gathering.chosen) if index in start)
    domain = question.tree.domains[top]
    return f" (then {domain.name})" if domain.name else ""


def _blocking(question: Question, stuck: Course) -> list[RunningPod]:
    """Return running pods whose end alone could be enough, the least important first.

    Their node must gain as many slots as some domain of the start set that it is in lacks.
    """
    first = stuck.first
    if first.gathering is None or not isinstance(question.tree, Tree):
        names = [name for name, reason in first.rejections.items() if not reason.unresolvable]
        return sorted(
            (pod for name in names for pod in _killable(question, name)),
            key=lambda pod: (pod.priority, pod.key),
        )
    gathering, tree = first.gathering, question.tree
    ordered = in_index_order(question.subject.pending)
    empty = slots_when_empty(question, first.prepared)
    found = []
    for index in gathering.start:
        short = gathering.desired - gathering.raw[index]
        for name in tree.nodes_below(index):
            now = gathering.nodes[name].slots
            if empty[name] - now < short:
                continue
            for pod in _killable(question, name):
                gained = offer_slots(question.view.without([pod]), [name], ordered, first.prepared)[name].slots
                if gained - now >= short:
                    found.append(pod)
    return sorted(found, key=lambda pod: (pod.priority, pod.key))


def _other_layer(question: Question) -> Iterator[WayOut]:
    """Try each wider layer for a hard gather rule, then gathering as a preference."""
    group = question.subject.group
    if group is not None and any(rule.multiple > 1 for spec in group.specs for rule in spec or ()):
        return  # another layer would mean to give up the multiples, too
    if (
        not question.must_gather
        or not isinstance(question.tree, Tree)
        or question.must_gather not in question.tree.layers
    ):
        return
    above = question.tree.layers[: question.tree.layers.index(question.must_gather)]
    for layer in reversed(above):
        if _works(open_courses(_with_rules(question, layer, "MustGather"), preemption=False)):
            yield WayOut("gather-wider", f"Gather on {layer} instead", _annotate(question, f"--must-gather {layer}"))
            return
    if _works(open_courses(_with_rules(question, question.must_gather, "PreferGather"), preemption=False)):
        option = f"--prefer-gather {question.must_gather}"
        yield WayOut("prefer-gather", "Prefer the layer instead of insisting on it", _annotate(question, option))


def _with_rules(question: Question, layer: str, strategy: str) -> Question:
    group = question.subject.group
    if group is None:
        raise AssertionError("only a gang gathers")
    rules = (GatherRule(layer, strategy),)
    changed = {key: structs.replace(gang, topology=rules) if gang else None for key, gang in group.gangs.items()}
    subject = Subject(question.subject.key, structs.replace(group, gangs=changed))
    return ask(question.snapshot, subject, question)
