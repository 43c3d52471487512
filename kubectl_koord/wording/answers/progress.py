"""The sentences of `why-pending --watch` and `--until`: what has changed, and how waiting has ended."""

from collections.abc import Collection, Sequence

from kubectl_koord.wording.words import count, layer_noun, listed

LISTING = "this list"
NO_REASON = "no reason was found."
GONE = "gone"
NONE_UNFINISHED = "no unfinished pods any more"


def called(name: str, *, lone_pod: bool) -> str:
    """Return what a subject is called within a sentence."""
    return f"pod {name}" if lone_pod else name


def list_incomplete(unread: str) -> str:
    """Return that a listing may lack something, and what was unread."""
    return f"may be incomplete: {unread.rstrip('.')}"


def on_nodes(pods: int, *, lone_pod: bool) -> str:
    """Return that a subject is scheduled, and how many of its pods are."""
    return f"scheduled: {'it is' if lone_pod else count(pods, 'pod')} on a node"


def too_few(bound: int, minimum: int) -> str:
    """Return that nothing is pending and less than the minimum is on nodes."""
    return f"no pending pods, {bound} on a node, {minimum} needed"


def pending(reason: str) -> str:
    """Return that a subject is pending, and why."""
    return f"pending: {reason.rstrip('.')}"


def undecided(reason: str) -> str:
    """Return that nobody can tell whether a subject would be placed, and why."""
    return f"cannot tell whether it would be placed: {reason.rstrip('.')}"


def would_be_placed(pods: Collection[str], nodes: Sequence[str]) -> str:
    """Return that a subject would be placed; where the nodes are known, how many pods on which."""
    where = f": {count(len(pods), 'pod')} on {listed(nodes)}" if nodes else ""
    return f"would be placed now{where}"


def ended_scheduled(name: str, state: str) -> str:
    """Return that the wait for a subject is over."""
    return f"{name} is {state}."


def ended_too_few(name: str, waited: str, state: str) -> str:
    """Return that a subject has nothing pending when the time is over, and is not scheduled."""
    return f"{name} is not scheduled after {waited}: {state}."


def ended_not_retried(name: str, waited: str) -> str:
    """Return that a subject would be placed when the time is over."""
    return f"{name} is still pending after {waited}: it would be placed now, but the scheduler has not retried yet."


def ended_pending(name: str, waited: str, reason: str, *, certain: bool) -> str:
    """Return that a subject is pending when the time is over, and why it is, or may be."""
    doubt = "" if certain else "cannot tell whether it would be placed: "
    return f"{name} is still pending after {waited}: {doubt}{reason}"


def pod_gone(key: str) -> str:
    """Return that a pod is there no more."""
    return f"pod {key} was deleted or has finished"


def gang_not_seen(key: str) -> str:
    """Return that no pods of a gang are left, and whether there is a PodGroup could not be read."""
    return f"{key} has no unfinished pods left, and PodGroups could not be read"


def gang_gone(key: str) -> str:
    """Return that a gang is there no more."""
    return f"{key} no longer exists: it has no unfinished pods and no PodGroup"


def bound_changed(bound: int, pods: int, before: int) -> str:
    """Return how many pods are on nodes, and how many were."""
    return f"{bound} of {count(pods, 'pod')} on a node (was {before})"


def pending_changed(pods: int, before: int) -> str:
    """Return how many pods are pending, and how many were."""
    return f"{count(pods, 'pod')} pending (was {before})"


def slots_changed(slots: int, wanted: int | None, domain: tuple[str, str], before: int | None) -> str:
    """Return the slots of a domain, a layer and a name, and how many it had; None where it was not there."""
    layer, name = domain
    of_wanted = f" of {wanted}" if wanted is not None else ""
    was = "new" if before is None else f"was {before}"
    return f"{slots}{of_wanted} slots in {name or f'the {layer_noun(layer)}'} ({was})"


def now_helps(messages: Sequence[str]) -> str:
    """Return the first of the ways out that are new."""
    return f"now helps: {_first(messages)}"


def no_longer_helps(messages: Sequence[str]) -> str:
    """Return the first of the ways out that are none any more."""
    return f"no longer helps: {_first(messages)}"


def _first(messages: Sequence[str]) -> str:
    return messages[0] + (f" (the first of {len(messages)})" if messages[1:] else "")
