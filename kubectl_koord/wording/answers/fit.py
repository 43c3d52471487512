"""The sentences of `fit` that the answer carries."""

from collections.abc import Sequence

from kubectl_koord.wording.words import count, listed


def not_beside(others: Sequence[str]) -> str:
    """Return that a gang fits alone, and not once others are placed that were submitted with it."""
    verb = "has" if len(others) == 1 else "have"
    return f"it fits alone, but not once {listed(others)} {verb} been placed."


def some_start(pods: int) -> str:
    """Return that so many of the pods of a workload without a gang start as they are."""
    return (
        f"Submit it as it is: {count(pods, 'pod')} {'starts' if pods == 1 else 'start'}, the others once there is room"
    )


def skipped(kinds: Sequence[str]) -> str:
    """Return which kinds in manifests make no pods that are known of."""
    return f"the manifests also have {listed(kinds)}: no pods are known of them, and they were left out."


def assumed(groups: Sequence[str]) -> str:
    """Return which PodGroups operators are taken to make."""
    noun = "PodGroup" if len(groups) == 1 else "PodGroups"
    return f"{noun} {listed(groups)}: made by the job's operator, if gang scheduling is enabled there."


def not_offered(resource: str) -> str:
    """Return that no node offers what Koordinator's webhook makes pods request that ask for parts of GPUs."""
    gate = "koord-manager publishes it only with feature gate EnableSyncGPUSharedResource"
    return f"no node offers {resource}, which pods request that ask for parts of GPUs: {gate}."


def other_scheduler(workloads: Sequence[str], scheduler: str, profile: str) -> str:
    """Return that another scheduler would place what was submitted, and what was computed in its place."""
    have = "has" if len(workloads) == 1 else "have"
    instead = f"computed as if it were {profile}, as no decision is computed for another scheduler"
    return (
        f"{listed(workloads)} {have} schedulerName {scheduler}: {instead}. Set schedulerName {profile} to make it so."
    )


def own_priority(workloads: Sequence[str]) -> str:
    """Return which workloads have a priority that the API server refuses."""
    have = "has" if len(workloads) == 1 else "have"
    return (
        f"{listed(workloads)} {have} a priority that no PriorityClass gives: it counts as written, but the API server"
        " refuses such pods. Name a PriorityClass."
    )


def suspended(workloads: Sequence[str]) -> str:
    """Return which workloads make no pods before they are resumed."""
    told = "is suspended, and makes no pods" if len(workloads) == 1 else "are suspended, and make no pods"
    return f"{listed(workloads)} {told} before somebody resumes {'it' if len(workloads) == 1 else 'them'}."


def scheduled(workloads: Sequence[tuple[str, str]]) -> str:
    """Return when workloads make pods, for which the answer is as if that were now."""
    told = [f"{name} at '{schedule}'" for name, schedule in workloads]
    return f"pods are made on a schedule: {listed(told)}. The answer is for pods that are made now."


def not_admitted(refused: int, pods: int, said: str) -> str:
    """Return how many of the pods the API server refuses, and what it says of the first."""
    return f"the API server refuses {refused} of its {count(pods, 'pod')}: {said}."
