"""The sentences of `annotate`: why something cannot be set."""

from collections.abc import Sequence

from kubectl_koord.engine.tree import TreeFault
from kubectl_koord.model.workloads import Workload
from kubectl_koord.wording.refusals.tree import fault_clause
from kubectl_koord.wording.words import count, listed

NOTHING_TO_SET = (
    "nothing to set: give at least one of --must-gather, --prefer-gather, --multiple, --mode, --match-policy, "
    "--groups, --waiting-time, --total, --min-member, or the name of a setting and - to remove it, as in mode-"
)
NOTHING_FOR_PODS = (
    "nothing to set: give at least one of --index, --index-order, --topology-selector, "
    "or index- or topology-selector- to remove it"
)
NAMELESS = "a PodGroup in the manifests has no metadata.name"
INDEX_AND_ORDER = "--index and --index-order cannot be used together"


def unchanged(name: str) -> str:
    """Return that there is nothing to change."""
    return f"{name} unchanged."


def no_pod_group(key: str, nearest: str) -> str:
    """Return that there is no such PodGroup, and the name that is nearest, if any."""
    return f"podgroup {key!r} not found{_did_you_mean(nearest)}"


def no_layer(layer: str, nearest: str) -> str:
    """Return that the topology has no such layer, and the name that is nearest, if any."""
    return f"layer {layer!r} is not in the topology{_did_you_mean(nearest)}"


def no_gang(key: str, nearest: str) -> str:
    """Return that there is no such gang, and the name that is nearest, if any."""
    return f"gang {key!r} does not exist{_did_you_mean(nearest)}"


def _did_you_mean(nearest: str) -> str:
    return f", did you mean {nearest}?" if nearest else ""


def gang_not_in_manifests(key: str) -> str:
    """Return that a gang of a group is not where the others are."""
    return f"gang {key!r} is to change with the others and is not in the manifests: give those of the whole group"


def pod_group_not_in_manifests(key: str) -> str:
    """Return that what alone can define a gang is missing."""
    return f"podgroup {key!r} is not in the manifests: by their label, nothing else defines the gang of its pods"


def no_names_yet(key: str) -> str:
    """Return that pods cannot be numbered before they are made."""
    return f"--index and --index-order need pods with names, and those of {key} are made of a template"


def no_tree(fault: TreeFault) -> str:
    """Return why there is no layer at all."""
    return f"no layer to gather on: {fault_clause(fault)}"


def no_setting(name: str) -> str:
    """Return that a name to be removed is no setting of a gang."""
    return f"{name!r} is no setting of a gang (kubectl annotate removes other annotations)"


def no_pod_setting(name: str) -> str:
    """Return that a name to be removed is none of the settings that a single pod has."""
    return f"{name!r} is not one of index, topology-selector (settings of the gang: see annotate gang)"


def set_and_removed(name: str) -> str:
    """Return that one setting is to be set and removed at once."""
    return f"{name!r} is to be set and to be removed"


def bad_selector(value: str) -> str:
    """Return that no pods are told apart by such a text."""
    return f"--topology-selector {value!r} must have 1 to 253 characters, without blanks around them"


def not_pending(name: str, nearest: str) -> str:
    """Return that an order names somebody else, and the name that is nearest, if any."""
    return f"--index-order: {name!r} is no pending pod of the gang{_did_you_mean(nearest)}"


def named_twice(name: str) -> str:
    """Return that an order names a pod again."""
    return f"--index-order names {name} twice"


def not_in_the_order(pods: Sequence[str]) -> str:
    """Return which pods an order leaves out."""
    return f"--index-order leaves out {listed(tuple(pods))}"


def first_pod_decides(key: str) -> str:
    """Return when the scheduler notices what pods newly say of their gang."""
    return (
        f"the scheduler will not notice this now: it has taken the settings of gang {key} from the first of its pods "
        "that it saw, and reads them anew only when all its pods are gone, or after it was restarted."
    )


def group_attached_once(key: str) -> str:
    """Return what a new list of gangs does not change."""
    return (
        f"the scheduler will notice only half of this now: gang {key} keeps the state of the group that it was "
        "attached to first (its representative, and whether it was satisfied) until its PodGroup is created anew, or "
        "the scheduler is restarted."
    )


def minimum_out_of_range(number: int) -> str:
    """Return that no gang has such a minimum."""
    return f"--min-member {number} must be above zero and below 2147483648"


def not_in_a_gang(pod: str) -> str:
    """Return that a pod has no gang whose ranks could be set."""
    return f"pod {pod} belongs to no gang"


def no_pending_pods(key: str) -> str:
    """Return that a gang has no pods to annotate."""
    return f"{key} has no pending pods"


def no_number(pod: str) -> str:
    """Return that a pod's name does not end in a number."""
    return f"pod {pod} has no number at the end of its name: cannot derive its index"


def same_number(one: str, other: str, number: int) -> str:
    """Return that the names of two pods end in the same number."""
    return f"pods {one} and {other} end in the same number {number}"


def total_below_minimum(total: int, minimum: int) -> str:
    """Return that the total is less than the gang's minimum."""
    return f"--total {total} is less than minMember {minimum}"


def not_one_of(option: str, value: str, allowed: Sequence[str]) -> str:
    """Return that an option has none of its values."""
    return f"{option} {value!r} is not one of {', '.join(allowed)}"


def not_a_duration(value: str) -> str:
    """Return that a waiting time cannot be read."""
    return f"--waiting-time {value!r} is not a duration such as 90s, 10m or 1h30m"


def duration_out_of_range(value: str) -> str:
    """Return that a waiting time is too short or too long."""
    return f"--waiting-time {value!r} must be above zero and below 68 years"


def not_a_multiple(value: str) -> str:
    """Return that a multiple cannot be read."""
    return f"--multiple {value!r} must be LAYER=N with N above zero"


def groups_lack(key: str) -> str:
    """Return that a gang's own list of its group leaves it out."""
    return f"--groups must include {key} itself: the scheduler takes the list literally"


def declared_already(name: str, value: str | int | None) -> str:
    """Return that a key has a value already and may not be overwritten."""
    return f"--overwrite is false but {name} is declared already: {value}"


def no_gang_of(one: Workload) -> str:
    """Return why a workload cannot be made a gang, and what can be done."""
    who = f"{one.kind} {one.name}"
    match one.obstacle:
        case "of-another-scheduler":
            return f"{who}: Volcano makes its pods only once its own PodGroup is let in; use another kind of job"
        case "from-runtime":
            return f"{who}: its pod templates stand in its training runtime; give the labels of a gang there"
        case "in-turn":
            return (
                f"{who} makes its pods one after the other ({one.detail}): in a gang they would wait for ever for"
                " those that are not made yet; change that first"
            )
        case "no-name":
            return (
                f"{one.kind} {one.name}* gets a name with each run (generateName), and a PodGroup is for one: name it"
            )
        case "owned":
            return f"{who} is made by {one.detail}, which would undo the change: make a gang of that"
        case _:
            return f"{who} makes no pods: there is nothing to be a gang"


def has_pod_group(key: str) -> str:
    """Return that a gang has a PodGroup already."""
    return f"PodGroup {key} is there already: leave out --create to change it"


def several_gangs(one: Workload, names: Sequence[str]) -> str:
    """Return that the templates of a workload name several gangs."""
    return f"the pod templates of {one.kind} {one.name} are labelled for several gangs: {listed(names)}"


def more_than_its_pods(minimum: int, pods: int) -> str:
    """Return that a gang would need more pods than are made."""
    return f"--min-member {minimum} is more than its {count(pods, 'pod')}"


def of_manifests(changed: int) -> str:
    """Return that manifests would change, and how to get them."""
    return f"Nothing was sent: {count(changed, 'object')} would change. -o yaml prints the new manifests."


def recreate_workload(kind: str, name: str, *, is_immutable: bool) -> str:
    """Return why a workload of the cluster is not changed in place, and what becomes of its pods."""
    why = f"the pod template of a {kind} cannot be changed" if is_immutable else "pods that run do not change"
    return (
        f"Nothing was sent: {kind} {name} is not changed in place, as {why}, and pods that are made anew one by one"
        " would wait for each other. To make it a gang, save its new manifest, delete it, which ends its pods, and"
        " create it:"
    )


def no_object(key: str) -> str:
    """Return that something in a workload is not what it must be."""
    return f"{key} is no object"
