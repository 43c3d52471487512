"""The sentences of `annotate`: why something cannot be set."""

from collections.abc import Sequence

from kubectl_koord.engine.tree import TreeFault
from kubectl_koord.wording.refusals.tree import fault_clause

NOTHING_TO_SET = (
    "nothing to set: give at least one of --must-gather, --prefer-gather, --multiple, --mode, "
    "--match-policy, --groups, --waiting-time, --total"
)


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


def no_tree(fault: TreeFault) -> str:
    """Return why there is no layer at all."""
    return f"no layer to gather on: {fault_clause(fault)}"


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
