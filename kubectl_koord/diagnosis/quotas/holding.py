"""What quotas keep from being placed, and who has what they lack."""

from collections import Counter
from collections.abc import Iterable, Mapping

from kubectl_koord.diagnosis import visibility
from kubectl_koord.engine.quota.amounts import add
from kubectl_koord.engine.quota.holding import Held, held_back
from kubectl_koord.engine.quota.lending import lending
from kubectl_koord.engine.quota.state import QuotaState, quota_state
from kubectl_koord.engine.quota.tree import quota_tree
from kubectl_koord.engine.reasons.prefilter import QuotaExceeded
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.view import View
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values import quantity
from kubectl_koord.reports.capacity.quota import HeldBack, Hold, Share, Spelled
from kubectl_koord.wording.words import main_amounts


def spelled(amounts: Mapping[str, int]) -> Spelled:
    """Return amounts as exact quantities, in the order of the resources."""
    return {resource: quantity.spell(resource, number) for resource, number in sorted(amounts.items())}


def state_of(view: View) -> QuotaState:
    """Return the state of the quotas of a cluster."""
    return quota_state(view, rules(view.snapshot.config.version))


def tried(pods: Iterable[PendingPod], snapshot: Snapshot) -> tuple[PendingPod, ...]:
    """Return the pods that the scheduler takes from its queue: no gate, no end, no other scheduler keeps them."""
    profiles = snapshot.config.profiles
    return tuple(pod for pod in pods if not pod.gates and not pod.terminating and pod.scheduler in profiles)


def held_of(state: QuotaState, snapshot: Snapshot) -> Mapping[str, tuple[Held, ...]]:
    """Return by quota the pods that it refuses, among those that the scheduler tries."""
    return held_back(state, tried(snapshot.pending, snapshot))


def of_namespace(view: View, namespace: str = "") -> tuple[HeldBack, ...]:
    """Return which quotas hold back what of the gangs of a namespace, of all for none; nothing where that is open."""
    snapshot = view.snapshot
    limited = any(quota_tree(snapshot).may_refuse(pod) for pod in snapshot.pending)
    if not limited or visibility.unread(snapshot, "quotas"):
        return ()
    state = state_of(view)
    found = held_of(state, snapshot)
    here = {
        name: tuple(held for held in some if not namespace or held.pod.namespace == namespace)
        for name, some in found.items()
    }
    return reported(here, state, snapshot)


def reported(found: Mapping[str, tuple[Held, ...]], state: QuotaState, snapshot: Snapshot) -> tuple[HeldBack, ...]:
    """Return which quotas hold back what, by gang."""
    waiting = Counter((state.tree.name_of(pod), pod.gang) for pod in snapshot.pending) if found else Counter()
    return tuple(_of_quota(name, some, waiting) for name, some in found.items() if some)


def _of_quota(name: str, held: tuple[Held, ...], waiting: Mapping[tuple[str, str], int]) -> HeldBack:
    gangs: dict[str, list[Held]] = {}
    for one in held:
        gangs.setdefault(one.pod.gang or one.pod.key, []).append(one)
    total = _requests(held)
    return HeldBack(
        quota=name,
        requests=spelled(total),
        gangs=tuple(_hold(gang, some, waiting[name, some[0].pod.gang]) for gang, some in sorted(gangs.items())),
        waiting_for=main_amounts(total),
    )


def _hold(gang: str, held: list[Held], waiting: int) -> Hold:
    lone = not held[0].pod.gang
    return Hold(
        gang=gang,
        pods=tuple(sorted(one.pod.key for one in held)),
        of=1 if lone else waiting,
        resources=tuple(sorted({resource for one in held for resource in one.refusal.over})),
        requests=spelled(_requests(held)),
        lone_pod=lone,
    )


def _requests(held: Iterable[Held]) -> dict[str, int]:
    total: dict[str, int] = {}
    for one in held:
        add(total, one.pod.requirements.requests)
    return total


def holders(state: QuotaState, refusal: QuotaExceeded) -> tuple[Share, ...]:
    """Return who uses what the refusing quota lacks: quotas beside it, above their minimums.

    Where none beside it uses more than its minimum, those beside the quotas above it are looked at, the nearest first:
    what its parent may use is what it shares. Nothing is said of a refusal by a minimum or a maximum, which are fixed.
    """
    name = refusal.path[0]
    if refusal.kind != "runtime" or name in state.tree.faults or name not in state.tree.bottom_up:
        return ()
    found: list[Share] = []
    for resource in refusal.over:
        if dict(state.tree.quotas[name].max).get(resource) == dict(refusal.limit).get(resource):
            continue
        for quota in state.tree.chain(name):
            here = lending(state, state.tree.tree_of(quota), quota.parent).get(resource)
            borrowed = {other: n for other, n in here.borrowed.items() if other != quota.name} if here else {}
            found += [Share(resource, quantity.spell(resource, n), (other,)) for other, n in borrowed.items()]
            if borrowed:
                break
    return tuple(found)
