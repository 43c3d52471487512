"""What is found on nodes: devices, NUMA policies, thresholds."""

from collections.abc import Sequence

from kubectl_koord.wording.doctor.naming import some
from kubectl_koord.wording.words import amounts, count, resource_name, verb


def empty(nodes: Sequence[str]) -> str:
    """Return which nodes have GPUs that their Device does not list."""
    number = len(nodes)
    return (
        f"the Device of {count(number, 'node')} ({some(nodes)}) lists no GPU, though"
        f" {verb(number, 'it has', 'they have')} GPUs: every pod that asks for one is refused there."
    )


def missing(nodes: Sequence[str]) -> str:
    """Return which nodes have GPUs and no Device."""
    number = len(nodes)
    return (
        f"{count(number, 'node')} with GPUs ({some(nodes)}) {verb(number, 'has', 'have')} no Device object: Koordinator"
        " does not allocate these cards."
    )


def not_offered(label: str, nodes: Sequence[str]) -> str:
    """Return which nodes offer no GPU, though a label says that they have some."""
    number = len(nodes)
    return (
        f"{count(number, 'node')} ({some(nodes)}) {verb(number, 'has', 'have')} the label {label}, and"
        f" {verb(number, 'offers', 'offer')} no GPU: no pod that requests one fits there."
    )


def unhealthy(cards: int, nodes: Sequence[str]) -> str:
    """Return how many devices are not healthy, and where."""
    return f"{count(cards, 'device')} on {some(nodes)} {verb(cards, 'is', 'are')} not healthy."


def ignored_policy(policy: str, nodes: Sequence[str]) -> str:
    """Return that the scheduler does not know a NUMA policy."""
    return (
        f"the scheduler does not know the NUMA policy {policy} of {count(len(nodes), 'node')} ({some(nodes)}), and"
        " places pods there without regard to zones."
    )


def unknown_policy(policy: str, nodes: Sequence[str], *, has_zones: bool) -> str:
    """Return what the scheduler does on nodes whose label names no NUMA policy."""
    does = "may crash when it tries a pod there" if has_zones else "refuses every pod that requests anything there"
    return (
        f"the label node.koordinator.sh/numa-topology-policy={policy} of {count(len(nodes), 'node')} ({some(nodes)})"
        f" names no policy: koord-scheduler {does}."
    )


def system_above(resource: str, threshold: int, nodes: Sequence[str]) -> str:
    """Return on which nodes the system alone uses more than the threshold lets any pod use."""
    return (
        f"the system alone uses more than the threshold of {threshold}% {resource_name(resource)} on"
        f" {count(len(nodes), 'node')} ({some(nodes)}): no pod fits there, even when all others are gone."
    )


def pod_above(resource: str, threshold: int, expected: int, total: int, pods: Sequence[str]) -> str:
    """Return that the estimate of a pod alone is above the threshold of every node."""
    return (
        f"{count(len(pods), 'pod')} ({some(pods)}) would never fit: the estimate of"
        f" {amounts([(resource, expected)])} alone is above"
        f" {threshold}% of every node's ({amounts([(resource, total)])} on the largest)."
    )
