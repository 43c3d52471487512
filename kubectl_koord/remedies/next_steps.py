"""What to do next about a cause that keeps a gang from being tried, or that only time would heal."""

import json
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches

from kubectl_koord.engine.gangs import Gang, GangGroup
from kubectl_koord.engine.subjects import GangSubject
from kubectl_koord.engine.tree import Tree
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.reports.codes import CauseCode
from kubectl_koord.reports.edits import CreatePodGroup, SetMinimum, SetTopology
from kubectl_koord.reports.pending import Cause
from kubectl_koord.reports.ways_out import WayOut
from kubectl_koord.simulation.simulation import Simulation
from kubectl_koord.wording.words import count, listed, paste

_INSTALLED_IN = "koordinator-system"
_PREFIX = "gang.scheduling.koordinator.sh/"
_SIZE = {"Job": "parallelism"}


def for_cause(simulation: Simulation, cause: Cause) -> tuple[WayOut, ...]:
    """Return the next steps for a cause, none where there is nothing to do but to read what it says."""
    subject = simulation.subject
    if isinstance(subject, GangSubject) and cause.code in _GANG_STEPS:
        return tuple(_GANG_STEPS[cause.code](subject.group, cause))
    return tuple(_STEPS[cause.code](simulation, cause)) if cause.code in _STEPS else ()


def annotate(members: Sequence[Gang], option: str) -> str:
    """Return what to paste: every gang of a group must change alike; empty for gangs that pods define."""
    if any(gang.defined_by != "PodGroup" for gang in members):
        return ""
    return " && ".join(_annotated(gang.key, option) for gang in members)


def touch(simulation: Simulation, message: str) -> WayOut:
    """Return the step that makes the scheduler look at the gang again: any change of its PodGroup."""
    key = simulation.subject.key
    if key not in simulation.snapshot.pod_groups:
        return WayOut("touch-podgroup", message)
    stamp = simulation.snapshot.moment.replace(":", "")
    return WayOut("touch-podgroup", message, f"kubectl annotate podgroup {_object(key)} touched-at={stamp} --overwrite")


def _object(key: str) -> str:
    """Return how a command line names an object: `NAME -n NAMESPACE`."""
    namespace, _, name = key.partition("/")
    return f"{shlex.quote(name)} -n {shlex.quote(namespace)}"


def _annotated(key: str, option: str) -> str:
    return f"kubectl koord annotate podgroup {_object(key)} {option} --overwrite"


def delete(pods: Sequence[PendingPod]) -> str:
    """Return what deletes the pods; empty where an owner would create them anew."""
    return "" if any(pod.owner for pod in pods) else deletion(pods)


def deletion(pods: Iterable[PendingPod]) -> str:
    """Return the commands that delete pods that wait, one per namespace."""
    by_namespace: dict[str, list[str]] = {}
    for pod in sorted(pods, key=lambda pod: pod.key):
        by_namespace.setdefault(pod.namespace, []).append(pod.name)
    return " && ".join(paste("kubectl", "delete", "pod", *names, "-n", ns) for ns, names in by_namespace.items())


def written_in(pods: Iterable[PendingPod]) -> str:
    """Return where the fields of pods are to be changed: in what creates them, or in what was applied."""
    owners = sorted({pod.owner for pod in pods} - {""})
    return f"the pod template of {listed(owners)}" if owners else "their manifest"


def scaled_down(pods: Iterable[PendingPod]) -> str:
    """Return which field of their owners to lower to be rid of pods for good; empty where nobody owns them."""
    owners = Counter(pod.owner for pod in pods if pod.owner)
    fields = ((_SIZE.get(owner.partition("/")[0], "replicas"), owner, less) for owner, less in sorted(owners.items()))
    fewer = listed([f"{field} of {owner} by {less}" for field, owner, less in fields])
    return f"lower {fewer}" if fewer else ""


def _scheduler_name(simulation: Simulation, cause: Cause) -> Iterator[WayOut]:
    where = written_in([pod for pod in simulation.subject.pending if pod.key in cause.pods])
    wanted = simulation.snapshot.config.profiles[0]
    yield WayOut("set-scheduler-name", f"Set schedulerName {wanted} in {where} and recreate the pods")


def _scheduler(_question: Simulation, _cause: Cause) -> Iterator[WayOut]:
    command = f"kubectl get pods -n {_INSTALLED_IN} -l koord-app=koord-scheduler"
    yield WayOut("see-scheduler", "Check why koord-scheduler is not running", command)


def _finalizers(_question: Simulation, cause: Cause) -> Iterator[WayOut]:
    command = f"kubectl get pod {_object(cause.pods[0])} -o jsonpath='{{.metadata.finalizers}}'"
    yield WayOut("see-finalizers", "Check which controller must remove the finalizers", command)


def _ungate(simulation: Simulation, _cause: Cause) -> Iterator[WayOut]:
    gates = listed(sorted({gate for pod in simulation.subject.pending for gate in pod.gates}))
    yield WayOut("ungate", f"Check the controller that must remove scheduling gate {gates}")


def _pod_group(group: GangGroup, _cause: Cause) -> Iterator[WayOut]:
    yield _create(group.own.key, len(group.pending))


def _create(key: str, minimum: int, groups: tuple[str, ...] = (), *, whole: bool = False) -> WayOut:
    """Return the step that creates a PodGroup; names that a shell would not take as they are get no command.

    Args:
        key: the gang.
        minimum: its minimum.
        groups: the ids of its gang group, none where it stands alone.
        whole: whether its pods are missing, too.

    """
    namespace, _, name = key.partition("/")
    pods = ", and create its pods" if whole else ""
    message = f"Create PodGroup {name} in namespace {namespace} with spec.minMember {minimum} or less{pods}"
    # Of the backslashes before a quote printf takes one away, and YAML the other.
    ids = ",".join(f'\\\\"{each}\\\\"' for each in groups)
    annotations = f', annotations: {{{_PREFIX}groups: "[{ids}]"}}' if groups else ""
    manifest = (
        f"apiVersion: scheduling.sigs.k8s.io/v1alpha1\\nkind: PodGroup\\nmetadata: {{name: {name},"
        f" namespace: {namespace}{annotations}}}\\nspec: {{minMember: {minimum}}}\\n"
    )
    names = "".join((name, namespace, *groups))
    harmless = shlex.quote(names) == names and "%" not in names
    command = f"printf '{manifest}' | kubectl apply -f -" if harmless else ""
    return WayOut("create-podgroup", message, command, (CreatePodGroup(key, minimum, groups),))


def _min_available(_group: GangGroup, _cause: Cause) -> Iterator[WayOut]:
    message = (
        "Recreate the pods with a whole number in annotation gang.scheduling.koordinator.sh/min-available"
        " (or label pod-group.scheduling.sigs.k8s.io/min-available)"
    )
    yield WayOut("set-min-available", message)


def _more_pods(group: GangGroup, _cause: Cause) -> Iterator[WayOut]:
    yield from _pods_or_minimum(group.own)


def _pods_or_minimum(gang: Gang) -> Iterator[WayOut]:
    alive = len(gang.pending) + len(gang.running)
    minimum = gang.minimum or 0
    yield WayOut("add-pods", f"Create {count(minimum - alive, 'missing pod')}: check the controller of the job")
    if gang.defined_by == "PodGroup" and alive:
        spec = json.dumps({"spec": {"minMember": alive}}, separators=(",", ":"))
        command = f"kubectl patch podgroup {_object(gang.key)} --type merge -p '{spec}'"
        edits = (SetMinimum(gang.key, gang.defined_by, alive),)
        yield WayOut("lower-minimum", f"Lower minMember to {alive}", command, edits)


def _member(group: GangGroup, cause: Cause) -> Iterator[WayOut]:
    """Yield what brings the gangs of the group that are missing, or the one never initialised or too small."""
    missing = [key for key in cause.pods if key in group.gangs and group.gangs[key] is None]
    if any("/" not in key for key in missing):
        yield from _spelled_out(group.own)
    elif missing:
        yield _left_out(group, missing)
        yield from (_create(key, 1, group.own.group, whole=True) for key in missing)
    for gang in group.members:
        if not {gang.key, *(pod.key for pod in gang.pending)} & set(cause.pods):
            continue
        if gang.defined_by == "":
            yield _create(gang.key, len(gang.pending), group.own.group)
        elif gang.minimum is None:
            yield from _min_available(group, cause)
        else:
            yield from _pods_or_minimum(gang)


def _spelled_out(gang: Gang) -> Iterator[WayOut]:
    home = gang.key.partition("/")[0]
    wanted = [key if "/" in key else f"{home}/{key}" for key in gang.group]
    yield WayOut("fix-groups", "Write every id in the groups annotation as NAMESPACE/NAME", _listing([gang], wanted))


def _left_out(group: GangGroup, missing: Collection[str]) -> WayOut:
    """Return the step that takes missing gangs out of the list of all others.

    A gang joins its group when the scheduler first sees it, so that this may not be enough.
    """
    kept = sorted({*(key for key in group.own.group if key not in missing), group.own.key})
    gangs = [gang for gang in dict.fromkeys((group.own, *group.members)) if gang.group != tuple(kept)]
    whose = listed([gang.key for gang in gangs])
    message = (
        f"Remove {listed(list(missing))} from the groups annotation of {whose} (new list: {', '.join(kept)}); recreate"
        " the job if it stays pending"
    )
    return WayOut("fix-groups", message, _listing(gangs, kept))


def _same_groups(group: GangGroup, _cause: Cause) -> Iterator[WayOut]:
    wanted = sorted({*group.own.group, group.own.key})
    every = dict.fromkeys((group.own, *group.members))
    differing = [gang for gang in every if set(gang.group) != set(wanted)]
    names = listed([gang.key for gang in differing])
    message = f"Set the same groups annotation on {names}; recreate the job if it stays pending"
    yield WayOut("fix-groups", message, _listing(differing, wanted))


def _listing(gangs: Sequence[Gang], wanted: Sequence[str]) -> str:
    """Return what to paste for these lists; empty where pods define a gang: they say it when they are created."""
    if any(gang.defined_by != "PodGroup" for gang in gangs):
        return ""
    return " && ".join(_annotated(gang.key, f"--groups {shlex.quote(','.join(wanted))}") for gang in gangs)


def _match_policy(group: GangGroup, _cause: Cause) -> Iterator[WayOut]:
    message = "Set match policy waiting-and-running, so that bound pods count"
    yield WayOut("set-match-policy", message, annotate(group.members, "--match-policy waiting-and-running"))


def _topology(simulation: Simulation, _cause: Cause) -> Iterator[WayOut]:
    if isinstance(simulation.tree, Tree):
        message = "Set awareNetworkTopology: true in the CoschedulingArgs and restart koord-scheduler"
        command = f"kubectl edit configmap koord-scheduler-config -n {_INSTALLED_IN}"
        yield WayOut("set-topology-aware", message, command)
        return
    others = listed(list(simulation.snapshot.topologies))
    made = f"Recreate {others} with the name default" if others else "Create a ClusterNetworkTopology named default"
    yield WayOut("create-topology", made)


def _layers(_question: Simulation, _cause: Cause) -> Iterator[WayOut]:
    message = "Fix parentTopologyLayer: every entry must be on one chain from NodeTopologyLayer to the top"
    yield WayOut("fix-layers", message, "kubectl edit clusternetworktopology default")


def _nearest_layer(simulation: Simulation, _cause: Cause) -> Iterator[WayOut]:
    layers = [layer for layer in simulation.tree.layers if layer != "NodeTopologyLayer"]
    gangs = [gang for gang in simulation.subject.gangs.values() if gang is not None]
    for layer in get_close_matches(simulation.must_gather, layers, n=1, cutoff=0.0):
        verb = annotate(gangs, f"--must-gather {shlex.quote(layer)}")
        spec = json.dumps({"gatherStrategy": [{"layer": layer, "strategy": "MustGather"}]})
        edits = tuple(SetTopology(gang.key, gang.defined_by, spec) for gang in gangs)
        where = "" if verb else f" (network-topology-spec in {written_in(simulation.subject.pending)})"
        yield WayOut("use-layer", f"Gather on {layer}, the layer with the closest name{where}", verb, edits)


_STEPS: Mapping[CauseCode, Callable[[Simulation, Cause], Iterable[WayOut]]] = {
    "other-scheduler": _scheduler_name,
    "mixed-schedulers": _scheduler_name,
    "no-scheduler": _scheduler,
    "being-deleted": _finalizers,
    "scheduling-gated": _ungate,
    "no-topology": _topology,
    "broken-layer-chain": _layers,
    "unknown-layer": _nearest_layer,
}

_GANG_STEPS: Mapping[CauseCode, Callable[[GangGroup, Cause], Iterable[WayOut]]] = {
    "no-podgroup": _pod_group,
    "gang-not-initialised": _min_available,
    "too-few-pods": _more_pods,
    "group-member-missing": _member,
    "group-member-too-few-pods": _member,
    "groups-differ": _same_groups,
    "surplus-pods": _match_policy,
    "replacement-waits": _match_policy,
}
