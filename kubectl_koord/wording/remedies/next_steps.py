"""The sentences of next steps: what to do about a cause that keeps a subject from being tried."""

from collections.abc import Iterable, Sequence

from kubectl_koord.messages.admission import Insecure, Missing, Refused, Webhook
from kubectl_koord.model.installation import TREE_MANAGER
from kubectl_koord.model.pods import SCHEDULER_LABEL
from kubectl_koord.wording.words import count, few, listed

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
_MOST_NAMED = 4
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
    return f"leave out {few(pods, _MOST_NAMED)}" if pods else ""


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


def create_pod_group(key: str, minimum: int, *, with_pods: bool) -> str:
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


def create_service_account(name: str, namespace: str) -> str:
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
