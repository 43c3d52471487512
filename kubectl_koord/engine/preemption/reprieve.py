"""Which of the possible victims come back, once the members have their place."""

from collections.abc import Sequence

from kubectl_koord.engine.fit import Prepared, rejection
from kubectl_koord.engine.node_state import NodeState, Room
from kubectl_koord.engine.preemption.victims import job_key
from kubectl_koord.model.pods import PendingPod, ReservedRoom


def not_reprieved(
    state: NodeState, members: Sequence[PendingPod], possible: Sequence[Room], prepared: Prepared, *, names_jobs: bool
) -> list[Room]:
    """Return the possible victims of one node that do not come back, in name order.

    From the highest priority down each is put back, and stays if the members still fit one after
    the other. Mirrors `selectVictims`; `state` is changed, and `names_jobs` is as in `Rules`.
    """

    def turn(pod: Room) -> tuple[int, str, str]:
        return -pod.priority, job_key(pod, names_jobs=names_jobs), _name(pod)

    victims = []
    for pod in sorted(possible, key=turn):
        state.add(pod)
        if not _fit_in_turn(state.copy(), members, prepared):
            state.remove(pod)
            victims.append(pod)
    return sorted(victims, key=lambda pod: pod.key)


def _name(victim: Room) -> str:
    """Return the name that the scheduler goes by: that of the pod which stands for a reservation is its uid."""
    return victim.uid if isinstance(victim, ReservedRoom) else victim.name


def _fit_in_turn(state: NodeState, members: Sequence[PendingPod], prepared: Prepared) -> bool:
    for pod in members:
        if rejection(pod, state, prepared) is not None:
            return False
        state.add(pod)
    return True
