"""What is found in the configuration of the scheduler."""

from collections.abc import Sequence

from kubectl_koord.wording.words import listed

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
_AGAIN = "the scheduler that runs has read another, and cannot start again with this one"
QUEUE_SORT = "Coscheduling is enabled in queueSort, but is no QueueSort plugin from 1.7 on: the scheduler cannot start."


def unreadable(why: str) -> str:
    """Return that the scheduler cannot decode its configuration, and why where that is told."""
    what = f"cannot be decoded as the scheduler does: {why}" if why else "is no YAML with a KubeSchedulerConfiguration"
    return f"the configuration {what}: the scheduler cannot start."


def of_running(message: str) -> str:
    """Return what keeps a scheduler from starting, of one that runs: it has read another configuration."""
    return message.replace("the scheduler cannot start", _AGAIN).replace("it cannot start", _AGAIN)


def elsewhere(place: str, unused: Sequence[str]) -> str:
    """Return what the scheduler reads its configuration from, which was not seen, and what it does not mount."""
    others = f"; ConfigMap {listed(unused)} is not mounted" if len(unused) == 1 else ""
    others = f"; the ConfigMaps {listed(unused)} are not mounted" if len(unused) > 1 else others
    return f"koord-scheduler reads its configuration from the {place}, which was not seen{others}."


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
