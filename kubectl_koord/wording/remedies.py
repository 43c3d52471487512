"""Sentences and commands of ways out and next steps."""

import json
import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, TypeAlias, assert_never

from msgspec import Struct

from kubectl_koord.engine.filters.resource_claims import UnreadyClaim
from kubectl_koord.engine.reasons import ClaimsUnallocated, VolumesUnbound
from kubectl_koord.engine.tree import Domain
from kubectl_koord.messages.admission import Insecure, Missing, Refused, Webhook
from kubectl_koord.model import objects, values
from kubectl_koord.model.hardware import NOTHING, Allocations, DeviceAllocation
from kubectl_koord.model.installation import TREE_MANAGER, Home
from kubectl_koord.model.pods import SCHEDULER_LABEL, RunningPod
from kubectl_koord.model.reservations import ReservationOwner
from kubectl_koord.model.unevaluated import Unevaluated
from kubectl_koord.model.values import Requirement, Resources, Selector, Taint
from kubectl_koord.reports.common import ReleasedReservation
from kubectl_koord.wording.words import (
    amount_of,
    amounts,
    asked_for,
    count,
    few,
    layer_noun,
    listed,
    paste,
    ranked,
    requests,
    resource_name,
    unevaluated_names,
    verb,
)

USAGE_THRESHOLDS = "scheduling.koordinator.sh/usage-thresholds"
_GROUPS = "gang.scheduling.koordinator.sh/groups"
_FINALIZERS = "{.metadata.finalizers}"
_UNTIL_GONE = "10m"
_TRIES = 9
_NAME = re.compile(r"[a-z0-9]([-.a-z0-9]*[a-z0-9])?")
_EVICTION = '{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"%s","namespace":"%s"}}'

EDIT_TOPOLOGY = paste("kubectl", "edit", "clusternetworktopology", "default")


def see_scheduler(home: Home) -> str:
    """Return what shows the scheduler's pods."""
    return paste("kubectl", "get", "pods", "-n", home.namespace, "-l", "koord-app=koord-scheduler")


def edit_scheduler(home: Home) -> str:
    """Return what edits the scheduler's Deployment."""
    return paste("kubectl", "edit", "deployment", home.scheduler, "-n", home.namespace)


def edit_scheduler_config(home: Home) -> str:
    """Return what edits the scheduler's configuration."""
    return paste("kubectl", "edit", "configmap", home.config, "-n", home.namespace)


def in_turn(commands: Iterable[str]) -> str:
    """Return commands of which each runs when the one before it has worked."""
    return " && ".join(commands)


def _commands_named(key: str) -> tuple[str, str, str]:
    """Return the words that name an object: `NAME -n NAMESPACE`."""
    namespace, _, name = key.partition("/")
    return name, "-n", namespace


def touch(pod_group: str, moment: str) -> str:
    """Return what changes a PodGroup without an effect of its own."""
    stamp = moment.replace(":", "")
    return paste("kubectl", "annotate", "podgroup", *_commands_named(pod_group), f"touched-at={stamp}", "--overwrite")


def wake(pod_group: str, minimum: int, above: int) -> str:
    """Return what sets minMember of a PodGroup above what it has, and back."""
    patches = (json.dumps({"spec": {"minMember": each}}, separators=(",", ":")) for each in (above, minimum))
    return in_turn(patch_pod_group(pod_group, patch) for patch in patches)


def annotate(pod_group: str, options: Sequence[str]) -> str:
    """Return the call of this program that sets annotations of a PodGroup."""
    return paste("kubectl", "koord", "annotate", "podgroup", *_commands_named(pod_group), *options, "--overwrite")


def preempt(key: str, *, lone_pod: bool) -> str:
    """Return the call of this program that shows what preemption would do for a gang, or for a lone pod."""
    name, *namespace = _commands_named(key)
    return paste("kubectl", "koord", "preempt", asked_for(name, lone_pod=lone_pod), *namespace, "--dry-run")


def patch_pod_group(pod_group: str, patch: str) -> str:
    """Return what merges a patch into a PodGroup."""
    return paste("kubectl", "patch", "podgroup", *_commands_named(pod_group), "--type", "merge", "-p", patch)


def create_pod_group(key: str, minimum: int, groups: Sequence[str]) -> str:
    """Return what creates a PodGroup; empty for names that a shell would not take as they are."""
    namespace, _, name = key.partition("/")
    # Of the backslashes before a quote printf takes one away, and YAML the other.
    ids = ",".join(f'\\\\"{each}\\\\"' for each in groups)
    annotations = f', annotations: {{{_GROUPS}: "[{ids}]"}}' if groups else ""
    manifest = (
        f"apiVersion: scheduling.sigs.k8s.io/v1alpha1\\nkind: PodGroup\\nmetadata: {{name: {name},"
        f" namespace: {namespace}{annotations}}}\\nspec: {{minMember: {minimum}}}\\n"
    )
    names = "".join((name, namespace, *groups))
    harmless = shlex.quote(names) == names and "%" not in names
    return f"printf '{manifest}' | kubectl apply -f -" if harmless else ""


def pods_on(node: str) -> str:
    """Return what shows the pods of a node."""
    return paste("kubectl", "get", "pods", "-A", "-o", "wide", "--field-selector", f"spec.nodeName={node}")


def see_finalizers(pod: str) -> str:
    """Return what shows the finalizers of a pod."""
    return f"{paste('kubectl', 'get', 'pod', *_commands_named(pod))} -o jsonpath='{_FINALIZERS}'"


def see_finalizers_of_terminating(pod: str) -> str:
    """Return the same as a way out has it."""
    name, option, namespace = _commands_named(pod)
    return paste("kubectl", "get", "pod", option, namespace, name, "-o", f"jsonpath={_FINALIZERS}")


def set_thresholds(node: str, percent: Mapping[str, int]) -> str:
    """Return what gives a node thresholds of load of its own."""
    value = json.dumps({"usageThresholds": dict(percent)}, separators=(",", ":"))
    return paste("kubectl", "annotate", "node", node, f"{USAGE_THRESHOLDS}={value}", "--overwrite")


def describe_nodes(nodes: Sequence[str]) -> str:
    """Return what shows nodes with their conditions and events."""
    return paste("kubectl", "describe", "node", *nodes)


def uncordon_command(nodes: Sequence[str]) -> str:
    """Return what uncordons nodes."""
    return paste("kubectl", "uncordon", *nodes)


SEE_PROPOSED_TOPOLOGY = "kubectl koord topo init --diff"


def see_named_topology(layers: Iterable[tuple[str, Sequence[str]]]) -> str:
    """Return what shows the topology of layers with these keys, from the top."""
    named = [word for layer, keys in layers for word in ("--layer", f"{layer}={','.join(keys)}")]
    return paste("kubectl", "koord", "topo", "init", *named, "--diff")


def label(nodes: Sequence[str], labels: Sequence[str]) -> str:
    """Return what gives nodes labels that they lack."""
    return paste("kubectl", "label", "node", *nodes, *labels)


def tolerate_command(pod: str, taint: Taint, *, is_first: bool) -> str:
    """Return what adds a toleration to a pod, whether it has others, which must stay, or none."""
    toleration = {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect}
    first = {"op": "add", "path": "/spec/tolerations", "value": [toleration]}
    another = {"op": "add", "path": "/spec/tolerations/-", "value": toleration}
    patch = json.dumps([first if is_first else another])
    return paste("kubectl", "patch", "pod", *_commands_named(pod), "--type", "json", "-p", patch)


def evict_command(pods: Sequence[str]) -> str:
    """Return what evicts pods one by one as their budgets allow, and ends with the first refusal.

    Empty for names that no pod can have: kubectl decodes what is escaped in a path.
    """
    names = [pod.partition("/")[::2] for pod in pods]
    if not all(_NAME.fullmatch(part) for parts in names for part in parts):
        return ""
    if len(pods) > 1:
        return _evict_each(pods)
    ((namespace, name),) = names
    body = paste("printf", "%s", _EVICTION % (name, namespace))
    return f"{body} | {paste('kubectl', 'create', '--raw', _eviction_path(namespace, name), '-f', '-')}"


def _evict_each(pods: Sequence[str]) -> str:
    name, namespace = "${pod#*/}", "${pod%/*}"
    path = _eviction_path(namespace, name)
    one = f'printf \'{_EVICTION}\' "{name}" "{namespace}" | kubectl create --raw "{path}" -f -'
    return f"for pod in {paste(*pods)}; do {one} || break; done"


def _eviction_path(namespace: str, name: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods/{name}/eviction"


def move_command(pod: str, evict: str, kept_free: Sequence[str], successor: str) -> str:
    """Return what evicts a pod, and keeps its successor from the nodes that are to stay free until it has another.

    They are uncordoned again whatever becomes of it. `successor` selects it by labels; empty for one of the same name.
    """
    namespace, _, name = pod.partition("/")
    gone = paste("kubectl", "wait", "--for=delete", f"pod/{name}", "-n", namespace, f"--timeout={_UNTIL_GONE}")
    which = ("pod", "-l", successor) if successor else (f"pod/{name}",)
    bound = paste("kubectl", "wait", "--for=condition=PodScheduled", *which, "-n", namespace, "--timeout=1m")
    waits = f"for try in {' '.join(map(str, range(1, _TRIES + 1)))}; do {bound} && break; sleep 2; done"
    cordon, uncordon = (paste("kubectl", verb, *kept_free) for verb in ("cordon", "uncordon"))
    return f"{in_turn((cordon, evict, gone, waits))}; {uncordon}"


def patch_quota(key: str, patch: str) -> str:
    """Return what merges a patch into an ElasticQuota."""
    return paste("kubectl", "patch", "elasticquota", *_commands_named(key), "--type", "merge", "-p", patch)


def patch_resource_quota(key: str, hard: Mapping[str, str]) -> str:
    """Return what sets amounts of a ResourceQuota."""
    patch = json.dumps({"spec": {"hard": hard}}, separators=(",", ":"))
    return paste("kubectl", "patch", "resourcequota", *_commands_named(key), "--type", "merge", "-p", patch)


def describe_all(kind: str, namespace: str) -> str:
    """Return what shows all objects of a kind in a namespace."""
    return paste("kubectl", "describe", kind, "-n", namespace)


def create_service_account(key: str) -> str:
    """Return what creates a ServiceAccount."""
    return paste("kubectl", "create", "serviceaccount", *_commands_named(key))


def describe(kind: str, key: str) -> str:
    """Return what shows an object with its events."""
    return paste("kubectl", "describe", kind, *_commands_named(key))


def delete(kind: str, key: str) -> str:
    """Return what deletes an object."""
    return paste("kubectl", "delete", kind, *_commands_named(key))


def release(reservations: Sequence[str]) -> str:
    """Return what deletes Reservations."""
    return paste("kubectl", "delete", "reservation", *reservations)


def supply(lacking: Iterable[VolumesUnbound | ClaimsUnallocated]) -> str:
    """Return what is to be done about claims that no node can serve."""
    told = listed([_volume(one) if isinstance(one, VolumesUnbound) else _devices(one) for one in lacking])
    return f"{told[0].upper()}{told[1:]}, so that any node can serve it"


def see(lacking: Iterable[VolumesUnbound | ClaimsUnallocated]) -> str:
    """Return what shows those claims that exist, or deletes those that are in the way."""
    return in_turn(filter(None, map(_command, lacking)))


def _volume(one: VolumesUnbound) -> str:
    claim, about = one.claim, one.about
    match one.fault:
        case "claim-missing":
            return f"create volume claim {claim}"
        case "being-deleted":
            return f"create volume claim {claim} anew, once it is gone"
        case "not-bound" if about:
            return f"find out why StorageClass {about} binds no volume to volume claim {claim}"
        case "not-bound":
            return f"create the StorageClass of volume claim {claim}, or a volume for it"
        case "binding":
            return f"find out why volume {about} is not bound to volume claim {claim}"
        case "lost" | "volume-missing":
            return f"create volume {about} anew for volume claim {claim}"
        case "ephemeral-missing":
            return f"find out why volume claim {claim} is not made for pod {one.pod}"
        case "not-owner":
            return f"delete volume claim {claim}, so that it is made for pod {one.pod}"
        case _:
            assert_never(one.fault)


def _devices(one: ClaimsUnallocated) -> str:
    match one.fault:
        case "no-class":
            return f"create DeviceClass {one.about} for resource claim {one.claim}"
        case "in-use":
            return f"end a pod that uses resource claim {one.claim}"
        case "being-allocated":
            return f"wait until resource claim {one.claim} is allocated"
        case _:
            assert_never(one.fault)


def _command(one: VolumesUnbound | ClaimsUnallocated) -> str:
    if isinstance(one, ClaimsUnallocated):
        return describe("resourceclaim", one.claim)
    if one.fault == "not-owner":
        return delete("pvc", one.claim)
    return "" if one.fault in {"claim-missing", "ephemeral-missing"} else describe("pvc", one.claim)


def make_ready(claim: UnreadyClaim) -> str:
    """Return what is to be done about a resource claim without which a pod is not tried."""
    match claim.fault:
        case "not-made":
            return f"Find out why resource claim {claim.name} is not made from its template"
        case "missing":
            return f"Create resource claim {claim.name}"
        case "being-deleted":
            return f"Create resource claim {claim.name} anew, once it is gone"
        case "not-owner":
            return f"Delete resource claim {claim.name}, so that it is made for the pod"
        case _:
            assert_never(claim.fault)


def show_unready(claim: UnreadyClaim) -> str:
    """Return what shows such a claim, or deletes one that is in the way; empty for one that is not there."""
    if claim.fault == "not-owner":
        return delete("resourceclaim", claim.name)
    return describe("resourceclaim", claim.name) if claim.fault == "being-deleted" else ""


WAKE = (
    "Set minMember above the number of its pods and back, so that the scheduler retries; or delete one of its"
    " pending pods that its controller makes anew"
)
TOUCH_TO_COUNT = "Still pending after a minute? Touch the PodGroup, so that the scheduler counts the bound pods again"
SEE_SCHEDULER = "Check why koord-scheduler is not running"
SEE_FINALIZERS = "Check which controller must remove the finalizers"
SET_MIN_AVAILABLE = (
    "Recreate the pods with a whole number in annotation gang.scheduling.koordinator.sh/min-available"
    " (or label pod-group.scheduling.sigs.k8s.io/min-available)"
)
SPELL_OUT_GROUPS = "Write every id in the groups annotation as NAMESPACE/NAME"
SET_MATCH_POLICY = "Set match policy waiting-and-running, so that bound pods count"
START_TOPOLOGY_MANAGER = f"Start koord-scheduler with {TREE_MANAGER}=true"
SET_TOPOLOGY_AWARE = "Set awareNetworkTopology: true in the CoschedulingArgs and restart koord-scheduler"
_NEXT_STEPS_MOST_NAMED = 4
DEVICE_PLUGIN, KOORDLET = "the device plugin", "koordlet"
FIX_LAYERS = "Fix parentTopologyLayer: every entry must be on one chain from NodeTopologyLayer to the top"


def template_of(owners: Sequence[str]) -> str:
    """Return where fields of pods are to be changed: in what creates them, or in what was applied."""
    return f"the pod template of {listed(owners)}" if owners else "the manifest"


def at_pods(owners: Sequence[str] | None) -> str:
    """Return where the pods have their topology spec, to follow a sentence; empty where they do not have it (None)."""
    return "" if owners is None else f" (network-topology-spec in {template_of(owners)})"


def scale_down(fields: Iterable[tuple[str, str, int]]) -> str:
    """Return which fields to lower: the name of each, its object, by how much; empty for none."""
    fewer = listed([f"{field} of {owner} by {less}" for field, owner, less in fields])
    return f"lower {fewer}" if fewer else ""


def leave_out_pods(pods: Sequence[str]) -> str:
    """Return which pods are not to be there, those that nothing creates anew; empty for none."""
    return f"leave out {few(pods, _NEXT_STEPS_MOST_NAMED)}" if pods else ""


def recreate(pods: int) -> str:
    """Return that so many pods must be made anew, to follow a sentence."""
    return f" and recreate the {'pod' if pods == 1 else 'pods'}"


def set_scheduler_name(scheduler: str, owners: Sequence[str], pods: int, *, by_label: bool) -> str:
    """Return which scheduler so many pods must name, and where; a label beats the field."""
    where = f"in {template_of(owners)}{recreate(pods)}"
    if by_label:
        return f"Set label {SCHEDULER_LABEL}, which counts in place of schedulerName, to {scheduler} {where}"
    return f"Set schedulerName {scheduler} {where}"


def ungate(gates: Sequence[str]) -> str:
    """Return which scheduling gates must go."""
    return f"Check the controller that must remove scheduling gate {listed(gates)}"


def create_pod_group_step(key: str, minimum: int, *, with_pods: bool) -> str:
    """Return which PodGroup to create, and whether its pods, too."""
    namespace, _, name = key.partition("/")
    pods = ", and create its pods" if with_pods else ""
    return f"Create PodGroup {name} in namespace {namespace} with spec.minMember {minimum} or less{pods}"


def add_pods(missing: int) -> str:
    """Return how many pods to create."""
    return f"Create {count(missing, 'missing pod')}: check the controller of the job"


def made_then(owner: str, missing: int) -> str:
    """Return what becomes of the missing pods after a step, to follow it; `owner` creates them, empty for nothing."""
    return f"; {owner} then makes {count(missing, 'more pod')}" if owner else "; then create the pods again"


def raise_resource_quota(quota: str, amounts: Sequence[tuple[str, str, str]]) -> str:
    """Return which amounts of a ResourceQuota to raise: of each its name, what it is, and what it must be."""
    told = listed([f"{name} from {limited} to {wanted}" for name, limited, wanted in amounts])
    return f"Raise {told} in ResourceQuota {quota}, or free as much of it"


def keep_to_quota(quota: str, what: str, owners: Sequence[str]) -> str:
    """Return to write what a ResourceQuota counts, or to ask for less of what it allows (`what` is empty)."""
    if not what:
        return f"Request less in {template_of(owners)}, or raise what ResourceQuota {quota} allows"
    return f"Write {what} in {template_of(owners)}, as ResourceQuota {quota} counts it, or let a LimitRange fill it in"


def keep_to_range(owners: Sequence[str]) -> str:
    """Return to keep to a LimitRange."""
    return f"Keep to the LimitRange of the namespace in {template_of(owners)}, or change the LimitRange"


def next_steps_create_service_account(name: str, namespace: str) -> str:
    """Return to create a ServiceAccount that pods name."""
    return f"Create ServiceAccount {name} in namespace {namespace}"


def let_be_made(why: Refused | None, owners: Sequence[str], namespace: str) -> str:
    """Return what else lets the API server make pods that it refused."""
    match why:
        case Insecure(level):
            return (
                f"Keep to PodSecurity {level} in {template_of(owners)}, or relax label"
                f" pod-security.kubernetes.io/enforce of namespace {namespace}"
            )
        case Missing(kind, name):
            return f"Create {kind} {name}, or name another one in {template_of(owners)}"
        case Webhook(name, answers=True):
            return f"Do what admission webhook {name} asks for in {template_of(owners)}, or ask who runs it"
        case Webhook(name):
            return f"Bring back the service of admission webhook {name}, which does not answer"
        case _:
            return f"Correct what the API server refuses in {template_of(owners)}"


def lower_minimum(minimum: int) -> str:
    """Return to which minimum to lower minMember."""
    return f"Lower minMember to {minimum}"


def leave_out(missing: Sequence[str], gangs: Sequence[str], kept: Sequence[str]) -> str:
    """Return which ids to remove from the lists of which gangs, and what the list is then."""
    return (
        f"Remove {listed(missing)} from the groups annotation of {listed(gangs)} (new list: {', '.join(kept)});"
        " recreate the job if it stays pending"
    )


def same_groups(gangs: Sequence[str]) -> str:
    """Return which gangs must have the same list."""
    return f"Set the same groups annotation on {listed(gangs)}; recreate the job if it stays pending"


def name_topology(others: Sequence[str]) -> str:
    """Return to have a topology with the name that the scheduler reads; `others` have another name."""
    if others:
        return f"Recreate {listed(others)} with the name default"
    return "Create a ClusterNetworkTopology named default"


def request_instead(name: str, resource: str, owners: Sequence[str]) -> str:
    """Return which resource to request in place of another one."""
    return f"Request {name} in place of {resource} in {template_of(owners)}, if that was meant"


def see_publisher(what: str, node: str) -> str:
    """Return that somebody must look why the pod that publishes devices does not, on the first of the nodes."""
    return f"Check why {what} does not publish them on {node}: whether its pod is there, and what it logs"


def use_layer(layer: str, owners: Sequence[str] | None, *, is_closest: bool) -> str:
    """Return which layer to gather on, and why that one; `owners` of the pods where no command does it."""
    why = "the layer with the closest name" if is_closest else "which has room for all its pods"
    return f"Gather on {layer}, {why}{at_pods(owners)}"


def reservations_release(released: Sequence[ReleasedReservation]) -> str:
    """Return which Reservations to delete, and what that costs."""
    named = [f"{one.reservation} on {one.node} ({_cost(one)})" for one in released]
    noun = "reservation" if len(named) == 1 else f"{len(named)} reservations:"
    owners = sorted({owner for one in released for owner in one.owners})
    drawing = [pod for one in released for pod in one.drawing]
    waiting = sorted({pod for one in released for pod in one.waiting})
    for_whom = f"for {listed(owners, 'or')}" if owners else "for nobody"
    running = (
        f"; {count(len(drawing), 'pod')} on it {'keeps' if len(drawing) == 1 else 'keep'} running" if drawing else ""
    )
    lose = f"; {listed(waiting)} {'waits' if len(waiting) == 1 else 'wait'} for this room" if waiting else ""
    return f"Delete {noun} {listed(named)}, {for_whom}{running}{lose}"


def _cost(one: ReleasedReservation) -> str:
    unused = tuple((name, values.amount(name, values.parse(amount))) for name, amount in one.unused.items())
    left = f"{amounts(ranked(unused))} unused" if unused else "all used"
    return f"{left}, {f'expires at {one.expires}' if one.expires else 'never expires'}"


def spelled(left: Mapping[str, int]) -> dict[str, str]:
    """Return amounts as quantities."""
    return {resource: values.spell(resource, amount) for resource, amount in sorted(left.items())}


def owner(one: ReservationOwner) -> str:
    """Return whom one entry of a Reservation's owners means."""
    said = []
    if one.object is not None and (one.object.name or one.object.uid):
        name = one.object.name or f"with uid {one.object.uid}"
        said.append(f"pod {one.object.namespace}/{name}" if one.object.namespace else f"pod {name}")
    elif one.object is not None and one.object.namespace:
        said.append(f"pods in namespace {one.object.namespace}")
    if one.controller is not None:
        named = "/".join(filter(None, (one.controller.kind, one.controller.name)))
        said.append(f"pods of {named or 'a controller'}")
    if one.selector is not None:
        said.append(f"pods with {_labels(one.selector)}" if one.selector.requirements else "all pods")
    return " that are ".join(said) or "all pods"


def _labels(selector: Selector) -> str:
    return ",".join(map(_expression, selector.requirements))


def _expression(one: Requirement) -> str:
    """Return an expression as kubectl takes it with `-l`."""
    if one.operator == "In" and len(one.values) == 1:
        return f"{one.key}={one.values[0]}"
    if one.operator in {"Exists", "DoesNotExist"}:
        return one.key if one.operator == "Exists" else f"!{one.key}"
    return f"{one.key} {one.operator.lower()} ({','.join(one.values)})"


_MOST_NAMED = 3
NO_NODES = "there are no nodes."
WAIT_FOR_TERMINATING = "Wait for the terminating pods"
POD = "pod"
_FEW_NODES = 6
LOWER_PRIORITY_POD = "lower-priority pod"


Change: TypeAlias = Literal[
    "wait",
    "preemption",
    "revoking",
    "label-nodes",
    "other-layers",
    "uncordon",
    "mend-node",
    "raise-threshold",
    "tolerate",
    "topology",
    "fewer-pods",
    "smaller-request",
    "other-quota",
    "raise-quota",
    "release-reservation",
    "supply-claims",
    "free-pods",
    "move-pod",
    "add-nodes",
    "pairs",
]
"""What may be tried."""

_CHANGES: dict[Change, str] = {
    "wait": "waiting for terminating pods",
    "preemption": "waiting for preemption",
    "revoking": "waiting for the over-use controller",
    "label-nodes": "labels for nodes outside the tree",
    "other-layers": "layers of the labels that nodes have",
    "uncordon": "uncordoning nodes",
    "mend-node": "nodes that are not ready",
    "raise-threshold": "higher thresholds of load",
    "tolerate": "tolerating taints",
    "topology": "another topology spec",
    "fewer-pods": "fewer pods",
    "smaller-request": "smaller requests",
    "other-quota": "other quotas",
    "raise-quota": "higher limits of its quotas",
    "release-reservation": "deleting reservations",
    "supply-claims": "claims that any node can serve",
    "free-pods": "evicting pods",
    "move-pod": "moving pods",
    "add-nodes": "more nodes like those there are",
    "pairs": "pairs of changes",
}


class RemovedPod(Struct, frozen=True):
    """A running pod that makes room: `needed` is what it requests of what is short.

    `held` are the cards, CPUs and zones that it holds where these are what is short, `claim` the one that it uses.
    """

    key: str
    node: str
    priority: int
    needed: Resources
    held: Allocations = NOTHING
    claim: str = ""

    @property
    def has(self) -> str:
        """What it gives back, in words."""
        if self.claim:
            return f"claim {self.claim}"
        cards = _cards(self.held.devices)
        cpus = self.held.cpus
        numbered = [f"CPUs {_ranges(cpus.cpus)}"] if cpus is not None and cpus.cpus else []
        zones = [f"NUMA zone {number}" for number, _ in cpus.zones] if cpus is not None and not cpus.cpus else []
        return listed([*cards, *numbered, *zones]) or requests(self.needed)


def none_found(
    tried: Collection[Change], untried: Collection[Change], *, quotas_alone: bool, counted: Collection[Change] = ()
) -> str:
    """Return that nothing is known to let it start, and what was tried.

    Args:
        tried: the changes that do not.
        untried: those that may, as the search ended before all of them were tried.
        quotas_alone: whether the quotas could be made to let it pass, and nodes still have no place for it.
        counted: the changes of which none was tried, as counting slots tells that they do not help.

    """
    if not tried and not counted and not untried:
        return "there is nothing in its way that a change of the cluster or of its pods would remove."
    pairs = ", alone or in pairs" if "pairs" in tried else ""
    alone = [change for change in tried if change != "pairs"]
    parts = (
        f"none of the changes tried lets it start{pairs}: {_named(alone)}" if alone else "",
        f"by counting slots, these would not help: {_named(counted)}" if counted else "",
        "higher limits alone would let it pass its quotas, but nodes have no place for it then" if quotas_alone else "",
        _ended(untried),
    )
    return f"{'; '.join(filter(None, parts))}."


def not_tried(untried: Collection[Change]) -> str:
    """Return what was not looked at to the end where something else was found, empty for nothing."""
    return f"{_ended(untried)}." if untried else ""


def _ended(untried: Collection[Change]) -> str:
    return f"the search ended before it had fully tried {_named(untried)}" if untried else ""


def _named(changes: Collection[Change]) -> str:
    return listed([words for change, words in _CHANGES.items() if change in changes])


def help_depends_on(items: Iterable[Unevaluated]) -> str:
    """Return that whether anything helps depends on what is not evaluated."""
    return f"whether anything helps depends on {unevaluated_names(items)}, which is not evaluated."


def pair(one: str, other: str) -> str:
    """Return two ways out as one."""
    return f"{one}, and {other[0].lower()}{other[1:]}"


def _cards(held: Iterable[DeviceAllocation]) -> list[str]:
    """Return cards by their numbers, those together of which it has as much: `GPU 0-3`, `25% of GPU 5`."""
    numbers: dict[str, list[int]] = {}
    for one in held:
        share = next((amount for name, amount in one.resources if objects.is_share(name)), objects.CARD)
        part = f"{share}% of " if share < objects.CARD else ""
        numbers.setdefault(f"{part}{one.type.upper()}", []).append(one.minor)
    return [f"{what} {_ranges(sorted(minors))}" for what, minors in numbers.items()]


def _ranges(numbers: Sequence[int]) -> str:
    """Return numbers as cpusets are written: `0-3,8`."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][-1] == number - 1:
            parts[-1] = [parts[-1][0], number]
        else:
            parts.append([number])
    return ",".join("-".join(map(str, part)) for part in parts)


# --- the cluster --------------------------------------------------------------------------------


def wait_for_terminating(pods: int, overdue: str) -> str:
    """Return that terminating pods make room enough, and which of them are late, if any."""
    verb = "frees" if pods == 1 else "free"
    late = f"; {overdue}" if overdue else ""
    return f"Wait: {count(pods, 'terminating pod')} {verb} enough room{late}"


def wait_for_preemption(victims: Sequence[RunningPod], domain: Domain | None, *, is_gang: bool) -> str:
    """Return which pods the scheduler itself preempts, and where it then places the subject."""
    pods = _victims(victims) or "pods that are already terminating"
    where = f" in {domain.name}" if domain is not None and domain.name else ""
    return f"Wait: the scheduler will preempt {pods} and place {'the gang' if is_gang else 'it'}{where}"


def _victims(pods: Sequence[RunningPod]) -> str:
    """Return whom preemption ends: a few pods by name, of more the jobs that they are of, those of DaemonSets apart."""
    if len(pods) <= _MOST_NAMED:
        return listed([pod.key for pod in pods])
    daemons = [pod for pod in pods if pod.requirements.of_daemon_set]
    jobs = dict.fromkeys(_job_of(pod) for pod in pods if not pod.requirements.of_daemon_set)
    named = [*jobs][:_MOST_NAMED]
    more = [f"{len(jobs) - len(named)} more"] if len(jobs) > len(named) else []
    of_jobs = f"{count(len(pods) - len(daemons), 'pod')} of {count(len(jobs), 'job')} ({listed([*named, *more])})"
    of_daemons = f"{count(len(daemons), 'DaemonSet pod')}, which {'comes' if len(daemons) == 1 else 'come'} back,"
    return listed([*([of_jobs] if jobs else []), *([of_daemons] if daemons else [])])


def _job_of(pod: RunningPod) -> str:
    return pod.gang or (f"{pod.namespace}/{pod.owner}" if pod.owner else pod.key)


def label_nodes(groups: Sequence[tuple[Sequence[str], Sequence[str]]], *, told: bool) -> str:
    """Return which nodes to give which labels; unless other labels of theirs tell these, only if they are there."""
    each = [f"{_several(nodes)} {listed(labels)}" for nodes, labels in groups]
    proviso = "" if told else ", if that is where it stands in the network"
    if not told and sum(len(nodes) for nodes, _ in groups) > 1:
        proviso = ", if that is where they stand in the network"
    return f"Label {'; '.join(each)}{proviso}"


def _several(nodes: Sequence[str]) -> str:
    return (
        listed(nodes)
        if len(nodes) <= _FEW_NODES
        else f"{', '.join(nodes[:_FEW_NODES])} and {len(nodes) - _FEW_NODES} more"
    )


def other_layers(layers: Iterable[tuple[str, Sequence[str]]], *, told: bool) -> str:
    """Return which labels the topology is to name; to see the change comes before it is applied.

    `told` is whether a provider sets these labels: others may mean something else.
    """
    named = listed([f"{keys[0]} for {layer}" for layer, keys in layers])
    proviso = "" if told else ", if they tell where nodes stand in the network"
    return f"Let the ClusterNetworkTopology name the labels that nodes have: {named}{proviso} (see it, then --apply)"


def uncordon(nodes: Sequence[str], others: Sequence[str]) -> str:
    """Return which nodes to uncordon; where it is one, which others would do as well."""
    instead = f" (or {listed(others)})" if others else ""
    which = nodes[0] if len(nodes) == 1 else f"all of {listed(nodes)}"
    return f"Uncordon {which}{instead}"


def mend_nodes(nodes: Sequence[str], others: Sequence[str], stuck: Sequence[str]) -> str:
    """Return which nodes to bring back, which others would do, and the pods that cannot end there until then."""
    instead = f" (or {listed(others)})" if others else ""
    verb = "is" if len(nodes) == 1 else "are"
    held = f"; {listed(stuck)} cannot end before" if stuck else ""
    return f"Bring back {listed(nodes)}{instead}, which {verb} not ready{held}"


def raise_thresholds(changes: Sequence[tuple[str, str, int, int]]) -> str:
    """Return which thresholds of load to raise: by node, resource, percent now, percent then."""
    named = [
        f"of node {node} for {resource_name(resource)} from {now} to {then} %" for node, resource, now, then in changes
    ]
    return f"Raise the load threshold {listed(named)} (or usageThresholds in LoadAwareSchedulingArgs, for all nodes)"


def raise_thresholds_of_all(changes: Sequence[tuple[str, int, int]]) -> str:
    """Return which thresholds of load to raise for all nodes: by resource, percent now, percent then."""
    named = [f"{resource_name(resource)} from {now} to {then}" for resource, now, then in changes]
    return f"Raise usageThresholds of {listed(named)} in LoadAwareSchedulingArgs, and restart koord-scheduler"


def tolerate(taint: Taint, nodes: int, owners: Sequence[str] | None) -> str:
    """Return which taint to tolerate; `owners` of the pods where no command does it."""
    value = f"={taint.value}" if taint.value else ""
    where = "" if owners is None else f": add it to spec.tolerations in {template_of(owners)}"
    return f"Tolerate taint {taint.key}{value}:{taint.effect} ({count(nodes, 'node')}){where}"


def add_nodes(number: int, like: str, domain: Domain | None) -> str:
    """Return how many nodes to add, and where; None for anywhere."""
    return f"Add {count(number, 'node')} like {like}{_in_domain(domain)}"


def _in_domain(domain: Domain | None) -> str:
    """Return a place to follow a sentence, such as ` in spine s0`; empty for the whole cluster."""
    if domain is None:
        return ""
    noun = layer_noun(domain.layer)
    return f" in {domain.name}" if noun in domain.name else f" in {noun} {domain.name}"


# --- the gang -----------------------------------------------------------------------------------


def gather_on(layer: str, owners: Sequence[str] | None) -> str:
    """Return to gather on another layer; `owners` of the pods where no command does it."""
    return f"Gather on {layer} instead{at_pods(owners)}"


def prefer_gather(owners: Sequence[str] | None) -> str:
    """Return to gather as a preference; `owners` of the pods where no command does it."""
    return f"Use PreferGather instead of MustGather{at_pods(owners)}"


def lower_multiple(layer: str, multiple: int, number: int, owners: Sequence[str] | None) -> str:
    """Return to lower a podCountMultiple; `owners` of the pods where no command does it."""
    return f"Lower podCountMultiple of {layer} from {multiple} to {number}{at_pods(owners)}"


def minimum_of_pod_group(minimum: int) -> str:
    """Return the minimum as a PodGroup has it."""
    return f"minMember {minimum}"


def minimum_of_pods(minimum: int, owners: Sequence[str]) -> str:
    """Return the minimum as pods have it, and where to change it."""
    return f"min-available {minimum} in {template_of(owners)}"


def run_with(pods: int, instead_of: int, how: Sequence[str]) -> str:
    """Return to run with fewer pods, and which fields say so."""
    return f"Run with {count(pods, 'pod')} instead of {instead_of}{_fields(how)}{_share_of_pods(pods, instead_of)}"


def start_with(pods: int, instead_of: int, how: Sequence[str]) -> str:
    """Return to start with fewer pods while the others wait, and which fields say so."""
    start = f"Start with {count(pods, 'pod')}{_fields(how)}; the others start when there is room"
    return start + _share_of_pods(pods, instead_of)


def _share_of_pods(pods: int, instead_of: int) -> str:
    """Return what it means to run with less than half of the pods, to follow a sentence; else nothing."""
    if pods * 2 >= instead_of:
        return ""
    few = f"that is {_percent(pods, instead_of)} of its pods"
    return f"; {few}: the job takes longer accordingly, if it can run with so few at all"


def _percent(part: int, whole: int) -> str:
    return f"{part * 100 // whole} %"


def _fields(how: Sequence[str]) -> str:
    return f" ({'; '.join(how)})" if how else ""


def smaller_request(resource: str, amount: int, before: int, *, limits: bool) -> str:
    """Return to request less of a resource, and to limit pods to as much where their `limits` count."""
    less, more = f"{amount_of(resource, amount)} {resource_name(resource)}", amount_of(resource, before)
    little = f"; that is {_percent(amount, before)} of it: only for a program that can do with so little"
    little = little if amount * 2 < before else ""
    if limits:
        fields = "resources.limits and requests in the pod template"
        return f"Limit each pod to {less} instead of {more} ({fields}){little}"
    return f"Request {less} per pod instead of {more} (resources.requests in the pod template){little}"


def drop_surplus(minimum: int, surplus: int, how: Sequence[str]) -> str:
    """Return to run with the minimum alone, and how many pods are beyond it."""
    return f"Scale the job down to its minimum of {minimum}: it fits without {count(surplus, 'pod')}{_fields(how)}"


# --- running pods -------------------------------------------------------------------------------


def evict(pods: Sequence[RemovedPod], kind: str, domain: Domain | None) -> str:
    """Return which pods to evict, and where; None for the whole cluster."""
    names = listed([f"{pod.key} on {pod.node} ({pod.has}, priority {pod.priority})" for pod in pods])
    return f"Evict {count(len(pods), kind)}{_in_domain(domain)}: {names}"


def not_below(priorities: Sequence[int], own: int) -> str:
    """Return, to follow a sentence, how many of some pods have a higher priority than one's own, or the same."""
    higher, same = (sum(one > own for one in priorities), sum(one == own for one in priorities))
    number, than = (higher, "a higher priority than") if higher else (same, "the same priority as")
    if not number:
        return ""
    all_of_them = "it has" if number == 1 else "they have"
    who = all_of_them if number == len(priorities) else f"{number} of them {verb(number, 'has', 'have')}"
    return f"; {who} {than} this job ({own}): a last resort"


def recreated(pods: int, owners: Sequence[str], taking_the_place: Sequence[str]) -> str:
    """Return who creates evicted pods anew, to follow a sentence; last those whose pods would take the place again."""
    anew = "it" if pods == 1 else "pods"
    return _recreate(owners, anew) + _recreate(taking_the_place, anew, ": scale {} down")


def _recreate(owners: Sequence[str], anew: str, then: str = "") -> str:
    if not owners:
        return ""
    verb, them = ("recreates", "it") if len(owners) == 1 else ("recreate", "them")
    return f"; {listed(owners)} {verb} {anew}{then.format(them)}"


def move(pod: RemovedPod, to: str, domain: Domain | None, owner: str) -> str:
    """Return to move a pod, where that makes room, and who creates it anew; the owner is empty for nobody."""
    there = _in_domain(domain)
    room = f"; this makes enough room{there}" if there else ""
    anew = f"; {owner} recreates it" if owner else " (no controller recreates it)"
    return f"Move {pod.key} ({pod.has}) from {pod.node} to {to}, where it fits{room}{anew}"
