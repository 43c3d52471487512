"""Which of the pods that wait are held back by their quota, whatever room nodes have."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from kubectl_koord.engine.quota.state import QuotaState, runs
from kubectl_koord.engine.quota.sums import is_fixed, requested
from kubectl_koord.engine.reasons.prefilter import QuotaExceeded
from kubectl_koord.model.pods import PendingPod


class Held(Struct, frozen=True):
    """A pod that waits, and the refusal of its quota, or of one above that."""

    pod: PendingPod
    refusal: QuotaExceeded


def held_back(state: QuotaState, pods: Iterable[PendingPod]) -> Mapping[str, tuple[Held, ...]]:
    """Return by quota the pods that it refuses, once those before them are placed: by priority, then by name.

    Each is listed under its own quota, also where one above it refuses. Where pods would go is not looked at: a pod
    that nodes have no room for takes its part of the quota here.
    """
    waiting: dict[str, list[PendingPod]] = {}
    for pod in pods:
        name = state.tree.name_of(pod)
        if state.tree.limits(name):
            waiting.setdefault(name, []).append(pod)
    if state.stand_alone:
        found = {name: _refused(state.alone(name), some) for name, some in waiting.items()}
    else:
        found = {name: [] for name in waiting}
        for held in _refused(state, [pod for some in waiting.values() for pod in some]):
            found[state.tree.name_of(held.pod)].append(held)
    return {name: tuple(found[name]) for name in sorted(found) if found[name]}


def _refused(state: QuotaState, pods: Sequence[PendingPod]) -> list[Held]:
    before = state
    known: dict[tuple[str, int, bool], QuotaExceeded] = {}
    found: list[Held] = []
    placed: list[PendingPod] = []
    for run in runs(sorted(pods, key=lambda pod: (-pod.priority, pod.key))):
        # What is used only grows: who is refused once is refused for good, and so are all that ask for the same.
        kind = (state.tree.name_of(run[0]), id(run[0].requirements), is_fixed(run[0]))
        refusal = known.get(kind)
        number = state.fitting(run) if refusal is None else 0
        state, left = state.after(run[0], number), run[number:]
        placed += run[:number]
        if refusal is None and left and (refused := state.refusal(left[0])) is not None:
            refusal = known[kind] = before.behind(placed, refused)
        if refusal is not None:
            found += [Held(pod, refusal) for pod in left]
    return found


class QuotaRoom(Struct, frozen=True):
    """One quota of a chain, and how many pods of a shape it has room for.

    `limit` and `used` are of the `resource` of which it has room for the fewest; `members` is None where it limits
    nothing that they ask for. `checked` is whether the scheduler holds pods against it: of the quotas above a
    pod's own it does so only where it is told to, but what they may use limits those below them.
    """

    quota: str
    resource: str
    limit: int
    used: int
    requested: int
    members: int | None
    checked: bool


def headroom(state: QuotaState, pod: PendingPod) -> tuple[QuotaRoom, ...]:
    """Return for each quota from a pod's own upwards how many pods like it there is room for now; none without one."""
    name = state.tree.name_of(pod)
    if not name or state.tree.fault_of(pod) is not None:
        return ()
    asked = requested(pod, name, state.tree)
    chain = state.tree.chain(name)
    return tuple(
        _level(state, quota.name, asked, checked=not position or state.tree.settings.check_parents)
        for position, quota in enumerate(chain)
    )


def _level(state: QuotaState, name: str, asked: Mapping[str, int], *, checked: bool) -> QuotaRoom:
    used, limit = state.used(name), state.limit(name)
    room = [
        (max(0, (limit[resource] - used.get(resource, 0)) // amount), resource)
        for resource, amount in sorted(asked.items())
        if resource in limit and amount
    ]
    if checked:  # over its limit it refuses whatever a pod asks for
        room += [(0, resource) for resource, amount in sorted(used.items()) if amount > limit.get(resource, amount)]
    if not room:
        return QuotaRoom(name, "", 0, 0, 0, None, checked)
    members, resource = min(room)
    return QuotaRoom(name, resource, limit[resource], used.get(resource, 0), asked.get(resource, 0), members, checked)
