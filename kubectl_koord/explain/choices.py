"""What could be changed for a gang, to be tried one by one: its ways out, fewer pods, another layer, a pod, a node."""

from collections.abc import Iterator
from itertools import chain

from msgspec import Struct

from kubectl_koord.engine.gangs import GangSubject, Subject
from kubectl_koord.engine.tree import NODE_LAYER, Tree
from kubectl_koord.explain.why import why
from kubectl_koord.language import say
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.remedies.gang import gathering, gathering_nowhere, shrunk
from kubectl_koord.reports.common import AddNode, DeletePod, Edit
from kubectl_koord.simulation.simulation import Simulation, simulate
from kubectl_koord.wording.words import count, layer_noun

MOST_SIZES, MOST_PODS = 64, 500
"""So many smaller sizes and running pods are offered at most."""


class Choice(Struct, frozen=True):
    """One change: in words, and as edits. It `is_proven` where it was tried and is enough."""

    text: str
    edits: tuple[Edit, ...]
    is_proven: bool = False


def choices(snapshot: Snapshot, subject: Subject) -> tuple[Choice, ...]:
    """Return what may be tried for a gang or pod that waits, proven ways out first; nothing where nothing waits."""
    if not subject.pending:
        return ()
    simulation = simulate(snapshot, subject)
    proven = (Choice(way.message, way.edits, is_proven=True) for way in why(snapshot, subject).unblock if way.edits)
    kinds = (_sizes(simulation), _layers(simulation), _nodes(simulation), _pods(simulation))
    return (*proven, *chain.from_iterable(kinds))


def _sizes(simulation: Simulation) -> Iterator[Choice]:
    """Yield to run with fewer pods, where they are of one gang."""
    subject = simulation.subject
    if not isinstance(subject, GangSubject) or len(subject.gangs) != 1:
        return
    (gang,) = subject.group.members
    pods = len(gang.pending)
    for number in range(pods - 1, max(0, pods - 1 - MOST_SIZES), -1):
        edits = shrunk(gang, number, drops=True)
        yield Choice(say("Fewer pods: {number} instead of {pods}", number=number, pods=pods), edits)


def _layers(simulation: Simulation) -> Iterator[Choice]:
    """Yield to gather on each other layer, and on none."""
    if not isinstance(simulation.tree, Tree) or not isinstance(simulation.subject, GangSubject):
        return
    must = simulation.must_gather
    for layer in simulation.tree.layers:
        if layer not in {must, NODE_LAYER}:
            yield Choice(
                say("Other layer: all pods in one {layer} ({layer2})", layer=layer_noun(layer), layer2=layer),
                gathering(simulation, layer),
            )
    if must:
        yield Choice(say("Other layer: none, as a preference only"), gathering_nowhere(simulation))


def _nodes(simulation: Simulation) -> Iterator[Choice]:
    """Yield one more node like the first of each domain right above the nodes."""
    tree = simulation.tree
    firsts: dict[int, str] = {}
    if isinstance(tree, Tree):
        for name, leaf in tree.leaf.items():
            firsts.setdefault(tree.parents[leaf], name)
    for above, like in firsts.items():
        where = tree.domains[above].name if isinstance(tree, Tree) else ""
        yield Choice(
            say("One more node like {like}{part}", like=like, part=say(" in {where}", where=where) if where else ""),
            (AddNode(f"{like}-more", like),),
        )


def _pods(simulation: Simulation) -> Iterator[Choice]:
    """Yield to go without each running pod, those of the lowest priority first."""
    pods = sorted(chain.from_iterable(simulation.snapshot.running.values()), key=lambda pod: (pod.priority, pod.key))
    for pod in pods[:MOST_PODS]:
        what = say(
            "Without pod {key} on {node} (priority {priority})", key=pod.key, node=pod.node, priority=pod.priority
        )
        if pod.node in simulation.snapshot.nodes:
            yield Choice(what, (DeletePod(pod.key, pod.node),))
    if len(pods) > MOST_PODS:
        yield Choice(say("({pods} of higher priority not listed)", pods=count(len(pods) - MOST_PODS, "more pod")), ())
