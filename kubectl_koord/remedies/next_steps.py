"""What to do next where no way out is computed: causes before an attempt, retries, surplus pods."""

import json
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from difflib import get_close_matches
from itertools import islice
from typing import Literal, TypeAlias, assert_never

from kubectl_koord.diagnosis import coverage, obstacles
from kubectl_koord.diagnosis.contention import jobs_ahead
from kubectl_koord.diagnosis.scheduler_says import members_bring_it_back
from kubectl_koord.engine.admission import knows_profiles
from kubectl_koord.engine.attempt import Attempt, needed
from kubectl_koord.engine.blockers import has_bound
from kubectl_koord.engine.filters.device_allocation import SHARED
from kubectl_koord.engine.filters.node import untolerated
from kubectl_koord.engine.filters.resource_claims import UnreadyClaim, unready_claim
from kubectl_koord.engine.gangs import Gang, GangGroup, GangSubject, PodSubject, Subject, never_tried
from kubectl_koord.engine.reasons import (
    AntiAffinityViolated,
    Cordoned,
    NotSelected,
    PodAffinityUnmet,
    Refused,
    SpreadLabelMissing,
    Untolerated,
)
from kubectl_koord.engine.tree import Tree
from kubectl_koord.language import say
from kubectl_koord.messages import admission
from kubectl_koord.messages.admission import Insecure, Missing, Webhook, refused
from kubectl_koord.model import values
from kubectl_koord.model.installation import TREE_MANAGER, Home
from kubectl_koord.model.pods import SCHEDULER_LABEL, PendingPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values import between, later
from kubectl_koord.reports.common import (
    CauseCode,
    CreatePodGroup,
    DeletePod,
    Notice,
    SetMinimum,
    SetTopology,
    SupplyClaims,
    Verdict,
    WayOut,
)
from kubectl_koord.reports.jobs import Cause
from kubectl_koord.simulation.simulation import Simulation, all_place, next_attempt
from kubectl_koord.simulation.what_if import changed
from kubectl_koord.wording.facts import (
    DEVICE_PLUGIN,
    FINALIZERS,
    KOORDLET,
    and_recreate,
    annotate_pod_group,
    at_pods,
    delete,
    describe,
    edit_scheduler_config,
    in_fields,
    in_turn,
    name_and_namespace,
    patch_pod_group,
    template_of,
)
from kubectl_koord.wording.words import asked_for, command, count, few, listed, paste

OF_ROOM: frozenset[CauseCode] = frozenset({"insufficient-slots", "no-feasible-node", "insufficient-capacity"})
"""Causes that room may end."""

LateCode: TypeAlias = Literal["satisfied-by-earlier-pods", "surplus-pods", "replacement-waits"]

_MOST_NAMES = 2
_KOORD = "koordinator.sh/"
_SIZE = {"Job": "parallelism"}


def for_cause(simulation: Simulation, cause: Cause) -> tuple[WayOut, ...]:
    """Return the next steps for a cause, none where there is nothing to do but to read what it says."""
    subject = simulation.subject
    if isinstance(subject, GangSubject) and cause.code in _GANG_STEPS:
        return tuple(_GANG_STEPS[cause.code](simulation, subject.group, cause))
    return tuple(_STEPS[cause.code](simulation, cause)) if cause.code in _STEPS else ()


_SCATTERED = say(
    "As much is free as it asks for, but scattered: see which moves of other pods make room, and what they cost"
)


def correct_selector(simulation: Simulation, first: Attempt) -> tuple[WayOut, ...]:
    """Return to correct the labels that the pods select nodes by and no node has; nothing where there are none."""
    missing = obstacles.missing_labels(simulation.view, first.trigger)
    if not missing:
        return ()
    named, where = listed(["=".join(label) for label in missing]), template_of(owners_of(simulation.subject.pending))
    message = say(
        "Correct {named} in the node selector or affinity of {where}, or give nodes that label",
        named=named,
        where=where,
    )
    return (WayOut("select-nodes", message),)


_WHOEVER_RUNS = (AntiAffinityViolated, Cordoned, NotSelected, PodAffinityUnmet, SpreadLabelMissing, Untolerated)


def plan_moves(simulation: Simulation, cause: Cause | None, refused: Collection[Refused] = ()) -> tuple[WayOut, ...]:
    """Return where to find moves that make room, where nodes together have enough free and no place has; none else.

    Nor where what the pods ask for beside room keeps them from all nodes.
    """
    subject = simulation.subject
    if cause is None or cause.code not in OF_ROOM or not any(simulation.snapshot.running.values()):
        return ()
    if refused and all(isinstance(one.reason, _WHOEVER_RUNS) for one in refused):
        return ()
    view = jobs_ahead(simulation).view
    wanted = Counter[str]()
    for pod in subject.pending:
        wanted.update(dict(pod.requirements.requests))
    free = Counter[str]()
    for name in view.names():
        node = view.node(name)
        if not node.unschedulable and untolerated(subject.pending[0].requirements, node) is None:
            left = view.state(name).free
            free.update({resource: max(0, left.get(resource, 0)) for resource in wanted})
    if any(free[resource] < amount for resource, amount in wanted.items()):
        return ()
    name, *namespace = name_and_namespace(subject.key)
    name = asked_for(name, lone_pod=isinstance(subject, PodSubject))
    return (WayOut("plan-moves", _SCATTERED, command("plan", name, *namespace)),)


def annotate(members: Sequence[Gang], *options: str) -> str:
    """Return what to paste: every gang of a group must change alike; empty for gangs that pods define."""
    if any(gang.defined_by != "PodGroup" for gang in members):
        return ""
    return in_turn(annotate_pod_group(gang.key, options) for gang in members)


def touch(simulation: Simulation, message: str) -> WayOut:
    """Return the step that makes the scheduler count the pods of a gang again: any change of its PodGroup."""
    key, snapshot = simulation.subject.key, simulation.snapshot
    command = _touch(key, snapshot.moment) if key in snapshot.pod_groups else ""
    return WayOut("touch-podgroup", message, command)


def _touch(pod_group: str, moment: str) -> str:
    """Return what changes a PodGroup without an effect of its own."""
    stamp = moment.replace(":", "")
    return paste(
        "kubectl", "annotate", "podgroup", *name_and_namespace(pod_group), f"touched-at={stamp}", "--overwrite"
    )


_WAKE = say(
    "Set minMember above the number of its pods and back, so that the scheduler retries; or "
    "delete one of its pending pods that its controller makes anew"
)


def wake(simulation: Simulation) -> WayOut | None:
    """Return the step that makes the scheduler try again a gang that is complete; None where no PodGroup defines it.

    An update of a PodGroup activates a pod of its gang where the gang had too few before it (`onPodGroupUpdate`).
    Nothing else of the gang that may be changed wakes it in every version.
    """
    found = minimum_to_wake(simulation.subject, simulation.snapshot)
    return WayOut("wake-gang", _WAKE, _wake(*found)) if found is not None else None


def minimum_to_wake(subject: Subject, snapshot: Snapshot) -> tuple[str, int, int] | None:
    """Return the PodGroup to change, its minMember, and the one above its pods to set and take back; None for none."""
    for gang in subject.gangs.values():
        if gang is not None and gang.pending and gang.minimum and gang.key in snapshot.pod_groups:
            return gang.key, gang.minimum, max(gang.minimum, gang.children) + 1
    return None


def _wake(pod_group: str, minimum: int, above: int) -> str:
    """Return what sets minMember of a PodGroup above what it has, and back."""
    patches = (json.dumps({"spec": {"minMember": each}}, separators=(",", ":")) for each in (above, minimum))
    return in_turn(patch_pod_group(pod_group, patch) for patch in patches)


def owners_of(pods: Iterable[PendingPod]) -> list[str]:
    """Return what creates these pods, in name order; nothing for pods that were applied."""
    return sorted({pod.owner for pod in pods} - {""})


def dropped(pods: Sequence[PendingPod]) -> list[str]:
    """Return how to be rid of pods for good: which field of their owners to lower, and those that have no owner.

    No command goes with it: it would have to change what creates the pods and their gang as one.
    """
    owners = Counter(pod.owner for pod in pods if pod.owner)
    fields = ((_SIZE.get(owner.partition("/")[0], "replicas"), owner, less) for owner, less in sorted(owners.items()))
    left_out = _leave_out_pods(sorted(pod.key for pod in pods if not pod.owner))
    return [part for part in (_scale_down(fields), left_out) if part]


_MOST_LEFT_OUT = 4


def _leave_out_pods(pods: Sequence[str]) -> str:
    return say("leave out {pods}", pods=few(pods, _MOST_LEFT_OUT)) if pods else ""


def _scale_down(fields: Iterable[tuple[str, str, int]]) -> str:
    """Return which fields to lower: the name of each, its object, by how much; empty for none."""
    fewer = listed(
        [say("{field} of {owner} by {less}", field=field, owner=owner, less=less) for field, owner, less in fields]
    )
    return say("lower {fewer}", fewer=fewer) if fewer else ""


def _scheduler_name(simulation: Simulation, cause: Cause) -> Iterator[WayOut]:
    snapshot, pending = simulation.snapshot, simulation.subject.pending
    pods = [pod for pod in pending if pod.key in cause.pods]
    if not knows_profiles(snapshot, any_named=len(pods) < len(pending)):
        return  # it may be that of a profile
    by_label = any(SCHEDULER_LABEL in dict(pod.labels) for pod in pods)
    scheduler = snapshot.config.profiles[0]
    message = _set_scheduler_name(scheduler, owners_of(pods), len(pods), by_label=by_label)
    yield WayOut("set-scheduler-name", message)


def _set_scheduler_name(scheduler: str, owners: Sequence[str], pods: int, *, by_label: bool) -> str:
    """Return which scheduler so many pods must name, and where; a label beats the field."""
    where = say("in {template}{and_recreate}", template=template_of(owners), and_recreate=and_recreate(pods))
    if by_label:
        return say(
            "Set label {scheduler_label}, which counts in place of schedulerName, to {scheduler} {where}",
            scheduler_label=SCHEDULER_LABEL,
            scheduler=scheduler,
            where=where,
        )
    return say("Set schedulerName {scheduler} {where}", scheduler=scheduler, where=where)


def _scheduler(simulation: Simulation, _cause: Cause) -> Iterator[WayOut]:
    yield WayOut(
        "see-scheduler",
        say("Check why koord-scheduler is not running"),
        _see_scheduler(simulation.snapshot.config.home),
    )


def _see_scheduler(home: Home) -> str:
    return paste("kubectl", "get", "pods", "-n", home.namespace, "-l", "koord-app=koord-scheduler")


def _finalizers(_simulation: Simulation, cause: Cause) -> Iterator[WayOut]:
    yield WayOut(
        "see-finalizers",
        say("Check which controller must remove the finalizers"),
        say(
            "{paste} -o jsonpath='{finalizers}'",
            paste=paste("kubectl", "get", "pod", *name_and_namespace(cause.pods[0])),
            finalizers=FINALIZERS,
        ),
    )


def _ungate(simulation: Simulation, _cause: Cause) -> Iterator[WayOut]:
    gates = sorted({gate for pod in simulation.subject.pending for gate in pod.gates})
    yield WayOut("ungate", say("Check the controller that must remove scheduling gate {gates}", gates=listed(gates)))


def _pod_group(_simulation: Simulation, group: GangGroup, _cause: Cause) -> Iterator[WayOut]:
    yield _create(group.own.key, len(group.pending))


def _create(key: str, minimum: int, groups: tuple[str, ...] = (), *, with_pods: bool = False) -> WayOut:
    """Return the step that creates a PodGroup; `groups` are the ids of its gang group, none where it stands alone."""
    message = _create_pod_group_step(key, minimum, with_pods=with_pods)
    command = _create_pod_group(key, minimum, groups)
    return WayOut("create-podgroup", message, command, (CreatePodGroup(key, minimum, groups),))


def _create_pod_group_step(key: str, minimum: int, *, with_pods: bool) -> str:
    """Return which PodGroup to create, and whether its pods, too."""
    namespace, _, name = key.partition("/")
    pods = say(", and create its pods") if with_pods else ""
    return say(
        "Create PodGroup {name} in namespace {namespace} with spec.minMember {minimum} or less{pods}",
        name=name,
        namespace=namespace,
        minimum=minimum,
        pods=pods,
    )


_GROUPS = "gang.scheduling.koordinator.sh/groups"


def _create_pod_group(key: str, minimum: int, groups: Sequence[str]) -> str:
    """Return what creates a PodGroup; empty for names that a shell would not take as they are."""
    namespace, _, name = key.partition("/")
    # Of the backslashes before a quote printf takes one away, and YAML the other.
    ids = ",".join(f'\\\\"{each}\\\\"' for each in groups)
    annotations = say(', annotations: {{{groups}: "[{ids}]"}}', groups=_GROUPS, ids=ids) if groups else ""
    manifest = say(
        "apiVersion: scheduling.sigs.k8s.io/v1alpha1\\nkind: PodGroup\\nmetadata: {{name: {name}, "
        "namespace: {namespace}{annotations}}}\\nspec: {{minMember: {minimum}}}\\n",
        name=name,
        namespace=namespace,
        annotations=annotations,
        minimum=minimum,
    )
    names = "".join((name, namespace, *groups))
    harmless = shlex.quote(names) == names and "%" not in names
    return say("printf '{manifest}' | kubectl apply -f -", manifest=manifest) if harmless else ""


_SET_MIN_AVAILABLE = say(
    "Recreate the pods with a whole number in annotation "
    "gang.scheduling.koordinator.sh/min-available (or label "
    "pod-group.scheduling.sigs.k8s.io/min-available)"
)


def _min_available(_simulation: Simulation, _group: GangGroup, _cause: Cause) -> Iterator[WayOut]:
    yield WayOut("set-min-available", _SET_MIN_AVAILABLE)


def admitted(namespace: str, said: str, owner: str, missing: int) -> WayOut:
    """Return the step after which the API server makes so many pods that it refused in these words.

    `owner` is what creates them, `Kind/name`, empty for pods that were applied.
    """
    of = [owner] if owner else []
    after = _made_then(owner, missing)
    match refused(said):
        case admission.Exceeded(quota, short) if short and (amounts := _amounts(short, missing)):
            hard = {name: wanted for name, _, wanted in amounts}
            message = _raise_resource_quota(quota, amounts) + after
            return WayOut("raise-resource-quota", message, _patch_resource_quota(f"{namespace}/{quota}", hard))
        case admission.Missing("ServiceAccount", name):
            message = (
                say("Create ServiceAccount {name} in namespace {namespace}", name=name, namespace=namespace) + after
            )
            return WayOut(
                "admit-pods",
                message,
                paste("kubectl", "create", "serviceaccount", *name_and_namespace(f"{namespace}/{name}")),
            )
        case admission.OutOfRange():
            command = paste("kubectl", "describe", "limitranges", "-n", namespace)
            return WayOut(
                "admit-pods",
                say(
                    "Keep to the LimitRange of the namespace in {template}, or change the LimitRange",
                    template=template_of(of),
                ),
                command,
            )
        case admission.Exceeded(quota) | admission.Unspecified(quota) as why:
            what = why.what if isinstance(why, admission.Unspecified) else ""
            command = describe("resourcequota", f"{namespace}/{quota}")
            return WayOut("admit-pods", _keep_to_quota(quota, what, of), command)
        case why:
            kind, _, name = owner.partition("/")
            command = describe(kind.lower(), f"{namespace}/{name}") if owner else ""
            return WayOut("admit-pods", _let_be_made(why, of, namespace) + after, command)


def _let_be_made(why: admission.Refused | None, owners: Sequence[str], namespace: str) -> str:
    """Return what else lets the API server make pods that it refused."""
    match why:
        case Insecure(level):
            return say(
                "Keep to PodSecurity {level} in {template}, or relax label pod-security.kubernetes.io/enforce "
                "of namespace {namespace}",
                level=level,
                template=template_of(owners),
                namespace=namespace,
            )
        case Missing(kind, name):
            return say(
                "Create {kind} {name}, or name another one in {template}",
                kind=kind,
                name=name,
                template=template_of(owners),
            )
        case Webhook(name, answers=True):
            return say(
                "Do what admission webhook {name} asks for in {template}, or ask who runs it",
                name=name,
                template=template_of(owners),
            )
        case Webhook(name):
            return say("Bring back the service of admission webhook {name}, which does not answer", name=name)
        case _:
            return say("Correct what the API server refuses in {template}", template=template_of(owners))


def _keep_to_quota(quota: str, what: str, owners: Sequence[str]) -> str:
    """Return to write what a ResourceQuota counts, or to ask for less of what it allows (`what` is empty)."""
    if not what:
        return say(
            "Request less in {template}, or raise what ResourceQuota {quota} allows",
            template=template_of(owners),
            quota=quota,
        )
    return say(
        "Write {what} in {template}, as ResourceQuota {quota} counts it, or let a LimitRange fill it in",
        what=what,
        template=template_of(owners),
        quota=quota,
    )


def _raise_resource_quota(quota: str, amounts: Sequence[tuple[str, str, str]]) -> str:
    """Return which amounts of a ResourceQuota to raise: of each its name, what it is, and what it must be."""
    told = listed(
        [
            say("{name} from {limited} to {wanted}", name=name, limited=limited, wanted=wanted)
            for name, limited, wanted in amounts
        ]
    )
    return say("Raise {told} in ResourceQuota {quota}, or free as much of it", told=told, quota=quota)


def _made_then(owner: str, missing: int) -> str:
    return (
        say("; {owner} then makes {pods}", owner=owner, pods=count(missing, "more pod"))
        if owner
        else say("; then create the pods again")
    )


def _patch_resource_quota(key: str, hard: Mapping[str, str]) -> str:
    """Return what sets amounts of a ResourceQuota."""
    patch = json.dumps({"spec": {"hard": hard}}, separators=(",", ":"))
    return paste("kubectl", "patch", "resourcequota", *name_and_namespace(key), "--type", "merge", "-p", patch)


def _amounts(short: Iterable[tuple[str, str, str, str]], missing: int) -> list[tuple[str, str, str]]:
    """Return what a ResourceQuota allows, and must allow for so many pods more; none where one is no quantity."""
    found = []
    for name, requested, used, limited in short:
        resource = name.removeprefix("requests.").removeprefix("limits.")
        try:
            nano = values.parse(used) + missing * values.parse(requested)
        except values.QuantityError:
            return []
        found.append((name, limited, values.spell(resource, values.amount(resource, nano))))
    return found


def _more_pods(simulation: Simulation, group: GangGroup, _cause: Cause) -> Iterator[WayOut]:
    yield from _pods_or_minimum(simulation, group.own)


def _pods_or_minimum(simulation: Simulation, gang: Gang) -> Iterator[WayOut]:
    alive = len(gang.pending) + len(gang.running)
    minimum = gang.minimum or 0
    event = coverage.last_said((gang,), simulation.snapshot)
    if event is None:
        yield WayOut(
            "add-pods",
            say("Create {pods}: check the controller of the job", pods=count(minimum - alive, "missing pod")),
        )
    else:
        yield admitted(event.namespace, event.note, f"{event.kind}/{event.name}", minimum - alive)
    if gang.defined_by == "PodGroup" and alive:
        patch = json.dumps({"spec": {"minMember": alive}}, separators=(",", ":"))
        edits = (SetMinimum(gang.key, gang.defined_by, alive),)
        command = patch_pod_group(gang.key, patch)
        yield WayOut("lower-minimum", say("Lower minMember to {alive}", alive=alive), command, edits)


def _member(simulation: Simulation, group: GangGroup, cause: Cause) -> Iterator[WayOut]:
    """Yield what brings the gangs of the group that are missing, or the one never initialised or too small."""
    missing = [key for key in cause.pods if key in group.gangs and group.gangs[key] is None]
    if any("/" not in key for key in missing):
        yield from _spelled_out(group.own)
    elif missing:
        yield _left_out(group, missing)
        yield from (_create(key, 1, group.own.group, with_pods=True) for key in missing)
    for gang in group.members:
        if not {gang.key, *(pod.key for pod in gang.pending)} & set(cause.pods):
            continue
        if gang.defined_by == "":
            yield _create(gang.key, len(gang.pending), group.own.group)
        elif gang.minimum is None:
            yield from _min_available(simulation, group, cause)
        else:
            yield from _pods_or_minimum(simulation, gang)


def _spelled_out(gang: Gang) -> Iterator[WayOut]:
    home = gang.key.partition("/")[0]
    wanted = [key if "/" in key else f"{home}/{key}" for key in gang.group]
    yield WayOut(
        "fix-groups", say("Write every id in the groups annotation as NAMESPACE/NAME"), _with_groups([gang], wanted)
    )


def _left_out(group: GangGroup, missing: Collection[str]) -> WayOut:
    """Return the step that takes missing gangs out of the list of all others.

    A gang joins its group when the scheduler first sees it, so that this may not be enough.
    """
    kept = sorted({*(key for key in group.own.group if key not in missing), group.own.key})
    gangs = [gang for gang in dict.fromkeys((group.own, *group.members)) if gang.group != tuple(kept)]
    message = _leave_out(list(missing), [gang.key for gang in gangs], kept)
    return WayOut("fix-groups", message, _with_groups(gangs, kept))


def _leave_out(missing: Sequence[str], gangs: Sequence[str], kept: Sequence[str]) -> str:
    return say(
        "Remove {missing} from the groups annotation of {gangs} (new list: {kept}); recreate the job "
        "if it stays pending",
        missing=listed(missing),
        gangs=listed(gangs),
        kept=", ".join(kept),
    )


def _same_groups(_simulation: Simulation, group: GangGroup, _cause: Cause) -> Iterator[WayOut]:
    wanted = sorted({*group.own.group, group.own.key})
    every = dict.fromkeys((group.own, *group.members))
    differing = [gang for gang in every if set(gang.group) != set(wanted)]
    message = _set_same_groups([gang.key for gang in differing])
    yield WayOut("fix-groups", message, _with_groups(differing, wanted))


def _set_same_groups(gangs: Sequence[str]) -> str:
    return say("Set the same groups annotation on {gangs}; recreate the job if it stays pending", gangs=listed(gangs))


def _with_groups(gangs: Sequence[Gang], groups: Sequence[str]) -> str:
    """Return what to paste for this list; empty where pods define a gang: they say it when they are created."""
    return annotate(gangs, "--groups", ",".join(groups))


def _match_policy(_simulation: Simulation, group: GangGroup, _cause: Cause) -> Iterator[WayOut]:
    command = annotate(group.members, "--match-policy", "waiting-and-running")
    yield WayOut("set-match-policy", say("Set match policy waiting-and-running, so that bound pods count"), command)


_START_TOPOLOGY_MANAGER = say("Start koord-scheduler with {tree_manager}=true", tree_manager=TREE_MANAGER)


def _topology(simulation: Simulation, _cause: Cause) -> Iterator[WayOut]:
    if isinstance(simulation.tree, Tree):
        config = simulation.snapshot.config
        if not config.manages_topology:
            command = paste("kubectl", "edit", "deployment", config.home.scheduler, "-n", config.home.namespace)
            yield WayOut("start-topology-manager", _START_TOPOLOGY_MANAGER, command)
        if not config.aware_of_topology:
            command = edit_scheduler_config(config.home)
            yield WayOut(
                "set-topology-aware",
                say("Set awareNetworkTopology: true in the CoschedulingArgs and restart koord-scheduler"),
                command,
            )
        return
    yield WayOut("create-topology", _name_topology(list(simulation.snapshot.topologies)))


def _name_topology(others: Sequence[str]) -> str:
    """Return to have a topology with the name that the scheduler reads; `others` have another name."""
    if others:
        return say("Recreate {others} with the name default", others=listed(others))
    return say("Create a ClusterNetworkTopology named default")


_EDIT_TOPOLOGY = paste("kubectl", "edit", "clusternetworktopology", "default")


def _layers(_simulation: Simulation, _cause: Cause) -> Iterator[WayOut]:
    yield WayOut(
        "fix-layers",
        say("Fix parentTopologyLayer: every entry must be on one chain from NodeTopologyLayer to the top"),
        _EDIT_TOPOLOGY,
    )


def _nearest_layer(simulation: Simulation, _cause: Cause) -> Iterator[WayOut]:
    """Yield the layer with the closest name, and where it has no room for the subject the next that has."""
    layers = [layer for layer in simulation.tree.layers if layer != "NodeTopologyLayer"]
    found = get_close_matches(simulation.must_gather, layers, n=max(1, len(layers)), cutoff=0.0)
    every = [_gathering(simulation, layer, is_closest=layer == found[0]) for layer in found]
    roomy = (way for way in every if _places(simulation, way))
    yield from dict.fromkeys((*every[:1], *islice(roomy, 1)))


def _gathering(simulation: Simulation, layer: str, *, is_closest: bool) -> WayOut:
    gangs = [gang for gang in simulation.subject.gangs.values() if gang is not None]
    command = annotate(gangs, "--must-gather", layer)
    spec = json.dumps({"gatherStrategy": [{"layer": layer, "strategy": "MustGather"}]})
    edits = tuple(SetTopology(gang.key, gang.defined_by, spec) for gang in gangs)
    owners = None if command else owners_of(simulation.subject.pending)
    return WayOut("use-layer", _use_layer(layer, owners, is_closest=is_closest), command, edits)


def _use_layer(layer: str, owners: Sequence[str] | None, *, is_closest: bool) -> str:
    """Return which layer to gather on, and why that one; `owners` of the pods where no command does it."""
    why = say("the layer with the closest name") if is_closest else say("which has room for all its pods")
    return say("Gather on {layer}, {why}{at_pods}", layer=layer, why=why, at_pods=at_pods(owners))


def _places(simulation: Simulation, way: WayOut) -> bool:
    return all_place(next_attempt(changed(simulation, way.edits)))


def _claims(simulation: Simulation, _cause: Cause) -> Iterator[WayOut]:
    snapshot = simulation.snapshot
    found = (unready_claim(pod, snapshot) for pod in simulation.subject.pending)
    for claim in dict.fromkeys(one for one in found if one is not None):
        edits = () if claim.fault == "not-made" else (SupplyClaims(resource_claims=(claim.name,)),)
        yield WayOut("supply-claims", claim_message(claim), claim_command(claim), edits)


def claim_command(claim: UnreadyClaim) -> str:
    """Return what shows such a claim, or deletes one that is in the way; empty for one that is not there."""
    if claim.fault == "not-owner":
        return delete("resourceclaim", claim.name)
    return describe("resourceclaim", claim.name) if claim.fault == "being-deleted" else ""


def claim_message(claim: UnreadyClaim) -> str:
    """Return what is to be done about a resource claim without which a pod is not tried."""
    match claim.fault:
        case "not-made":
            return say("Find out why resource claim {name} is not made from its template", name=claim.name)
        case "missing":
            return say("Create resource claim {name}", name=claim.name)
        case "being-deleted":
            return say("Create resource claim {name} anew, once it is gone", name=claim.name)
        case "not-owner":
            return say("Delete resource claim {name}, so that it is made for the pod", name=claim.name)
        case _:
            assert_never(claim.fault)


def _offer(simulation: Simulation, _cause: Cause) -> Iterator[WayOut]:
    first = next_attempt(simulation)[0].first
    found = obstacles.unoffered(simulation, first)
    if found is None:
        return
    if found.resource == SHARED:
        home = simulation.snapshot.config.home.namespace
        yield WayOut(
            "start-publisher", _SHARE_GPUS, paste("kubectl", "edit", "deployment", "koord-manager", "-n", home)
        )
        return
    owners = owners_of(simulation.subject.pending)
    for name in () if found.resource.startswith(tuple(_SET_UP)) else found.similar[:_MOST_NAMES]:
        yield WayOut(
            "other-resource",
            say(
                "Request {name} in place of {resource} in {template}, if that was meant",
                name=name,
                resource=found.resource,
                template=template_of(owners),
            ),
        )
    should = [*found.with_none, *found.listed, *(name for name, _ in found.labelled), *found.unlisted]
    idle = [*found.idle, *should]
    if idle:
        what = KOORDLET if found.unlisted or found.resource.startswith(_KOORD) else DEVICE_PLUGIN
        yield WayOut("start-publisher", _see_publisher(what, idle[0]), _pods_on(idle[0]))
    elif found.resource.startswith(_OF_COLOCATION):
        yield WayOut("start-publisher", _turn_on_colocation(found.resource))
    elif told := next((how for begins, how in _SET_UP.items() if found.resource.startswith(begins)), ""):
        yield WayOut("start-publisher", told)
    elif not found.similar:
        yield WayOut(
            "other-resource",
            say(
                "Check the name {resource} in {template}, or run what offers it",
                resource=found.resource,
                template=template_of(owners),
            ),
        )


_SHARE_GPUS = say(
    "Start koord-manager with feature gate EnableSyncGPUSharedResource=true: it then publishes "
    "{shared}, which its webhook adds to pods that ask for parts of GPUs",
    shared=SHARED,
)
_SET_UP: Mapping[str, str] = {
    "nvidia.com/mig-": (
        say(
            "Divide GPUs by MIG: label a node nvidia.com/mig.config with the profile, and let the device "
            "plugin use MIG strategy mixed; whole GPUs of that node are no longer offered"
        )
    ),
    "nvidia.com/gpu.shared": (
        say("Share GPUs in the configuration of NVIDIA's device plugin (sharing.timeSlicing, renameByDefault: true)")
    ),
    "hugepages-": say(
        "Reserve huge pages of this size on nodes (kernel parameters hugepagesz, hugepages), restart kubelet"
    ),
}
"""What is offered only by nodes that are set up for it, by how its name begins, and how they are."""
_OF_COLOCATION = ("kubernetes.io/batch-", "kubernetes.io/mid-")


def _turn_on_colocation(resource: str) -> str:
    return say(
        "Turn colocation on in ConfigMap slo-controller-config: koord-manager then publishes "
        "{resource} on nodes whose koordlet reports",
        resource=resource,
    )


def _see_publisher(what: str, node: str) -> str:
    return say(
        "Check why {what} does not publish them on {node}: whether its pod is there, and what it logs",
        what=what,
        node=node,
    )


def _pods_on(node: str) -> str:
    return paste("kubectl", "get", "pods", "-A", "-o", "wide", "--field-selector", f"spec.nodeName={node}")


def _before_equals(simulation: Simulation, _cause: Cause) -> Iterator[WayOut]:
    pending = simulation.subject.pending
    yield WayOut(
        "raise-priority",
        say(
            "Name a PriorityClass above theirs in {template}{and_recreate}, or make room for all of them",
            template=template_of(owners_of(pending)),
            and_recreate=and_recreate(len(pending)),
        ),
    )


_STEPS: Mapping[CauseCode, Callable[[Simulation, Cause], Iterable[WayOut]]] = {
    "other-scheduler": _scheduler_name,
    "mixed-schedulers": _scheduler_name,
    "no-scheduler": _scheduler,
    "being-deleted": _finalizers,
    "scheduling-gated": _ungate,
    "no-topology": _topology,
    "broken-layer-chain": _layers,
    "unknown-layer": _nearest_layer,
    "claims-unallocated": _claims,
    "resource-not-offered": _offer,
    "contended": _before_equals,
}

_GANG_STEPS: Mapping[CauseCode, Callable[[Simulation, GangGroup, Cause], Iterable[WayOut]]] = {
    "no-podgroup": _pod_group,
    "gang-not-initialised": _min_available,
    "too-few-pods": _more_pods,
    "group-member-missing": _member,
    "group-member-too-few-pods": _member,
    "groups-differ": _same_groups,
    "surplus-pods": _match_policy,
    "replacement-waits": _match_policy,
}


_SOON = timedelta(minutes=1)  # a pod that young may simply not have been tried yet
_FLUSHED_WITHIN = timedelta(minutes=5, seconds=30)
"""A pod is flushed that waits for 5 minutes, and all are looked at every 30 s (`flushUnschedulablePodsLeftover`)."""


def waits(simulation: Simulation) -> Cause | None:
    """Return the cause of a subject that would be placed now though the scheduler said no earlier; else None.

    Coscheduling registers no cluster events: a pod that only it has refused comes back with the
    periodic flush of the queue, or when a pod comes. Other plugins register some, which not every change is.
    Of a gang other members may bring it back.
    """
    refused = [pod.key for pod in simulation.subject.pending if pod.condition is not None and pod.condition.message]
    if not refused:
        return None
    by_members = members_bring_it_back(simulation)
    message = _not_retried(_latest(simulation), by_members=by_members, has_topology=simulation.has_topology)
    return Cause("waiting-for-retry", message, tuple(refused))


def _not_retried(latest: str, *, by_members: bool, has_topology: bool) -> str:
    """Return when the scheduler will try again a subject that would be placed now: by this time, where it is known.

    by_members: whether its own members mostly bring it back, without any change.
    """
    wakes = say("freed room need not wake it") if has_topology else say("not every change wakes it")
    again = (
        say("mostly it is tried again within seconds, and")
        if by_members
        else say("{wakes}, and it is tried again", wakes=wakes)
    )
    by = say(", here by {latest}", latest=latest) if latest else ""
    return say(
        "it would be placed now, but the scheduler has not retried yet: {again} at the latest 5 min "
        "30 s after its last attempt{by}.",
        again=again,
        by=by,
    )


def _latest(simulation: Simulation) -> str:
    """Return when it is tried again at the latest, by the last attempt that is known; empty where that is over."""
    own = {pod.key for pod in simulation.subject.pending}
    said = [pod.condition.since for pod in simulation.subject.pending if pod.condition is not None]
    said += [one.last_seen for one in simulation.snapshot.events if one.key in own and one.reason == "FailedScheduling"]
    moment = simulation.snapshot.moment
    by = max((later(since, _FLUSHED_WITHIN) for since in said), default="")
    left = between(moment, by)
    return by if left is not None and left > timedelta() else ""


def steps(simulation: Simulation) -> tuple[WayOut, ...]:
    """Return what makes the scheduler try again, where there is a PodGroup to do it by."""
    wakes = wake(simulation)
    return () if wakes is None else (wakes,)


_STUCK_REPRESENTATIVE = say(
    "the scheduler has not reported anything about it. Koordinator 1.7 tries a gang group through "
    "one representative pod and never replaces it after a failed gang check: delete the oldest "
    "pod, or restart the scheduler."
)


def retry_notices(simulation: Simulation, verdict: Verdict) -> Iterator[Notice]:
    """Warn of a group that 1.7 may never try again, and does not report (koordinator#2773)."""
    subject, is_affected = simulation.subject, simulation.snapshot.config.version == "1.7"
    if not is_affected or verdict != "yes" or isinstance(subject, PodSubject) or subject.group.is_satisfied():
        return
    if len(subject.pending) > 1 and all(
        pod.condition is None and _is_old(simulation, pod.created) for pod in subject.pending
    ):
        yield Notice("stuck-representative", _STUCK_REPRESENTATIVE)


def _is_old(simulation: Simulation, created: str) -> bool:
    age = between(created, simulation.snapshot.moment)
    return age is not None and age > _SOON


def without(simulation: Simulation) -> tuple[WayOut, ...]:
    """Return the way out of a topology gang that would be placed with its minimum alone, none else.

    The scheduler wants slots for all members that are pending (`desiredOfferSlot`), not for the minimum.
    """
    subject = simulation.subject
    is_planned = simulation.has_topology and simulation.snapshot.config.aware_of_topology
    if isinstance(subject, PodSubject) or not is_planned:
        return ()
    group = subject.group
    wanted = needed(group)
    never = never_tried(subject, simulation.snapshot)
    kept = {
        gang.key: sorted(gang.pending, key=lambda pod: pod.key in never)[: wanted[gang.key]] for gang in group.members
    }
    staying = {pod.key for pods in kept.values() for pod in pods}
    surplus = tuple(pod for pod in group.pending if pod.key not in staying)
    if not surplus or not staying:
        return ()
    edits = tuple(DeletePod(pod.key) for pod in surplus)
    if not all_place(next_attempt(changed(simulation, edits))):
        return ()
    message = _drop_surplus(len(staying), len(surplus), dropped(surplus))
    return (WayOut("drop-surplus", message, edits=edits),)


def _drop_surplus(minimum: int, surplus: int, how: Sequence[str]) -> str:
    return say(
        "Scale the job down to its minimum of {minimum}: it fits without {pods}{in_fields}",
        minimum=minimum,
        pods=count(surplus, "pod"),
        in_fields=in_fields(how),
    )


def wanted(simulation: Simulation) -> Iterator[Cause]:
    """Yield that only pods beyond the minimum find no place, where that is so."""
    for way in without(simulation):
        gone = tuple(edit.pod for edit in way.edits if isinstance(edit, DeletePod))
        pods = len(simulation.subject.pending)
        yield Cause("surplus-pods", _wanted_beyond(pods - len(gone), pods), gone)


def _wanted_beyond(enough: int, pods: int) -> str:
    return say(
        "{enough} of its {pods} pods would fit and be enough, but the scheduler wants room for all at once.",
        enough=enough,
        pods=pods,
    )


_FORGOTTEN_IF_STILL_PENDING = say(
    "if it stays pending, the scheduler forgot in a restart that the gang ran, and waits for as "
    "many new pods as the minimum: touch the PodGroup."
)


def surplus_notices(simulation: Simulation, verdict: Verdict) -> Iterator[Notice]:
    """Warn of members that are not certain to be bound with the others, or at all."""
    subject = simulation.subject
    if isinstance(subject, PodSubject) or verdict != "yes":
        return
    group = subject.group
    at_once = max(1, sum(needed(group).values()))
    if not group.is_satisfied() and group.minimum > 0 and at_once < len(group.pending):
        yield Notice("surplus-pods", _some_bound_later(at_once, group.pending))
    elif may_be_forgotten(group, simulation.snapshot):
        yield Notice("replacement-waits", _FORGOTTEN_IF_STILL_PENDING)


def _some_bound_later(minimum: int, pods: Collection[object]) -> str:
    """Return that of these pods only the minimum is certain to be bound at once."""
    are = "is" if minimum == 1 else "are"
    return say(
        "only {minimum} of its {number} pods {are} certain to be bound at once: the round ends when "
        "the minimum is met, and the others follow some minutes later.",
        minimum=minimum,
        number=len(pods),
        are=are,
    )


def may_be_forgotten(group: GangGroup, snapshot: Snapshot) -> bool:
    """Tell whether it decides that the scheduler remembers the gang to have run (`OnceResourceSatisfied`).

    A scheduler that has restarted may have forgotten, which is in no object; then the new pods wait
    for as many as the minimum. One that leads for longer than some member is bound remembers.
    """
    if not any(group.has_run(gang) for gang in group.everyone) or has_bound(group, snapshot):
        return False
    forgotten = needed(group, remembered=False)
    return any(len(gang.pending) < forgotten[gang.key] for gang in group.members)


def late_code(group: GangGroup) -> LateCode:
    """Return what the pending members of a satisfied group are: of a new run, beyond the minimum, or replacements."""
    if not any(gang.running for gang in group.members):
        return "satisfied-by-earlier-pods"
    is_complete = all(len(gang.running) >= (gang.minimum or 0) for gang in group.members)
    return "surplus-pods" if is_complete else "replacement-waits"
