"""The next step for a cause that keeps the subject from being tried at all."""

from collections.abc import Iterator
from difflib import get_close_matches

from kubectl_koord.engine.tree import Tree
from kubectl_koord.explain.question import Question
from kubectl_koord.explain.reports import Cause, WayOut
from kubectl_koord.explain.words import count, listed


def for_cause(question: Question, cause: Cause) -> tuple[WayOut, ...]:
    """Return the next step for a cause that keeps the subject from being tried at all."""
    namespace, _, name = question.subject.key.partition("/")
    pending = question.subject.pending
    if cause.code == "no-podgroup":
        manifest = f"Create PodGroup {name} with spec.minMember {len(pending)} (or fewer) in namespace {namespace}"
        return (WayOut("create-podgroup", manifest, _apply_pod_group(namespace, name, len(pending))),)
    if cause.code == "scheduling-gated":
        gates = listed(sorted({gate for pod in pending for gate in pod.gates}))
        return (WayOut("ungate", f"Whoever set gate {gates} must lift it: look at that controller"),)
    if cause.code == "unknown-layer":
        return tuple(_nearest_layer(question))
    if cause.code == "too-few-pods":
        return _lower_minimum(question, namespace, name)
    return ()


def _apply_pod_group(namespace: str, name: str, minimum: int) -> str:
    return (
        f"printf 'apiVersion: scheduling.sigs.k8s.io/v1alpha1\\nkind: PodGroup\\nmetadata: {{name: {name},"
        f" namespace: {namespace}}}\\nspec: {{minMember: {minimum}}}\\n' | kubectl apply -f -"
    )


def _lower_minimum(question: Question, namespace: str, name: str) -> tuple[WayOut, ...]:
    group = question.subject.group
    gang = group.gangs.get(group.asked) if group is not None else None
    if gang is None or gang.minimum is None:
        return ()
    missing = gang.minimum - gang.children
    more = WayOut("add-pods", f"Create the {count(missing, 'missing pod')}: look at what should create them")
    if gang.defined_by != "PodGroup":
        return (more,)
    command = (
        f'kubectl patch podgroup {name} -n {namespace} --type merge -p \'{{"spec":{{"minMember":{gang.children}}}}}\''
    )
    return more, WayOut("lower-minimum", f"Let it start with {gang.children}", command)


def _nearest_layer(question: Question) -> Iterator[WayOut]:
    known = question.tree.layers if isinstance(question.tree, Tree) else ()
    layers = [layer for layer in known if layer != "NodeTopologyLayer"]
    for layer in get_close_matches(question.must_gather, layers, n=1, cutoff=0.0):
        verb = _annotate(question, f"--must-gather {layer}")
        yield WayOut("use-layer", f"Gather on {layer}, the nearest name in the topology", verb)


def _annotate(question: Question, option: str) -> str:
    """Return what to paste: every gang of the group must change alike; empty for gangs that pods define."""
    members = question.subject.group.members if question.subject.group is not None else ()
    if any(gang.defined_by != "PodGroup" for gang in members):
        return ""
    names = (gang.key.partition("/") for gang in members)
    return " && ".join(
        f"kubectl koord annotate podgroup {name} -n {namespace} {option} --overwrite" for namespace, _, name in names
    )
