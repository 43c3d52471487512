"""What is found in the configuration of the scheduler."""

from collections.abc import Sequence

from kubectl_koord.wording.words import listed

UNREADABLE = "koord-scheduler-config is no YAML with a KubeSchedulerConfiguration: the scheduler cannot start with it."
NO_PREEMPTION = (
    "neither enablePreemption of Coscheduling nor DefaultPreemption is on: only ElasticQuota preempts, within a quota."
)
TWO_PREEMPTIONS = (
    "enablePreemption of Coscheduling and DefaultPreemption are both on: single pods of a gang preempt on their own,"
    " too."
)
NOT_RESERVED = (
    "the plugin Reservation is not enabled in reserve: pods that fit a Reservation are bound without it, and it keeps"
    " its room beside them."
)
MANAGER_OFF = (
    "awareNetworkTopology is on, but koord-scheduler runs without --enable-network-topology-manager=true: it builds no"
    " topology tree."
)
NOT_AWARE = (
    "there is a ClusterNetworkTopology, but awareNetworkTopology of Coscheduling is off: topology specs of gangs are"
    " not honoured."
)
QUEUE_SORT = "Coscheduling is enabled in queueSort, but is no QueueSort plugin from 1.7 on: the scheduler cannot start."


def of_profile(scheduler: str, what: str) -> str:
    """Return what was found in a profile."""
    return f"profile {scheduler}: {what}"


def not_enabled(points: Sequence[str]) -> str:
    """Return where Coscheduling is not enabled."""
    return f"Coscheduling is not enabled in {listed(points)}: gangs are not scheduled as one."


def unknown_argument(name: str, version: str) -> str:
    """Return that Coscheduling has no such argument."""
    return f"Coscheduling has no argument {name} in Koordinator {version}: the scheduler cannot start."


def unknown_policy(value: str) -> str:
    """Return that there is no such match policy."""
    return f"defaultMatchPolicy {value} is none of only-waiting, waiting-and-running and once-satisfied."


def bad_value(name: str, value: str) -> str:
    """Return that the scheduler refuses a value."""
    return f"{name} of Coscheduling is {value}, which the scheduler does not accept: it cannot start."
