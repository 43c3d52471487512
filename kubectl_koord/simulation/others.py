"""What other jobs see of a subject's own pods: where a what-if changes nothing of that, they go where they went."""

from collections.abc import Collection, Mapping

from kubectl_koord.engine import gangs
from kubectl_koord.engine.admission.queue import priority
from kubectl_koord.engine.quota.sums import waiting
from kubectl_koord.engine.quota.tree import quotas_of
from kubectl_koord.engine.subjects import Subject
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values.memo import memoised
from kubectl_koord.simulation.simulation import Simulation


def see_no_difference(simulation: Simulation, after: Subject) -> bool:
    """Tell whether other jobs go where they did once the subject's own pending pods are changed.

    Of pods that wait they see nothing but what these request of quotas, where they are nominated, whom they keep away,
    and the gangs that they count among their own. No is no proof of the contrary.
    """
    before = simulation.subject
    if any(pod.nominated or pod.requirements.pod_anti_affinity for pod in (*before.pending, *after.pending)):
        return False
    if priority(before) != priority(after) or not _only_own(simulation.seen_by_others, before.gangs):
        return False
    tree = quotas_of(simulation.view)
    is_limited = any(map(tree.limits, tree.quotas))
    return not is_limited or waiting(before.pending, tree) == waiting(after.pending, tree)


def _only_own(snapshot: Snapshot, keys: Collection[str]) -> bool:
    """Tell whether no other gang counts one of these among those of its group."""
    listing = _listing(snapshot)
    return all(listing.get(key, frozenset()) <= set(keys) for key in keys)


@memoised
def _listing(snapshot: Snapshot) -> Mapping[str, frozenset[str]]:
    """Return by gang the gangs that name it in their list."""
    found: dict[str, set[str]] = {}
    for key, gang in gangs.all_gangs(snapshot).items():
        for other in gang.group:
            found.setdefault(other, set()).add(key)
    return {key: frozenset(naming) for key, naming in found.items()}
