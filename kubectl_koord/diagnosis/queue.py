"""Who else wants the place: pending jobs that are tried before a gang, or may be, and whether they leave room."""

from collections.abc import Iterable, Mapping
from itertools import takewhile

from msgspec import Struct

from kubectl_koord.diagnosis import admission, coverage, visibility
from kubectl_koord.engine.attempt import needed
from kubectl_koord.engine.fit.load_aware import estimated
from kubectl_koord.engine.rounds import Outcome
from kubectl_koord.engine.slots import in_index_order, offer_slots, total
from kubectl_koord.engine.tree import NoTree, Tree
from kubectl_koord.engine.view import View
from kubectl_koord.model.memo import Identity, memoised
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.snapshot import Gap, Snapshot
from kubectl_koord.reports.pending import Contention
from kubectl_koord.simulation.simulation import Cluster, Simulation, next_attempt, open_outcomes
from kubectl_koord.simulation.subjects import PodSubject, Subject, pending_subjects

_MOST_AHEAD = 64
_MOST_EQUALS = 16
_FEWEST_LINED, _NODES_IN_ALL = 20, 300_000


class JobsAhead(Struct, frozen=True):
    """The jobs that go first and would be placed now, and the cluster once they are.

    A pod of which the node is undetermined is on any node there.

    undetermined: the pods of which it is open what nodes they take, from the first such job on, where that may decide.
    fixed: the cluster with the jobs before these.
    """

    names: tuple[str, ...]
    view: View
    undetermined: tuple[PendingPod, ...]
    fixed: View


class LeftByJobsAhead(Struct, frozen=True):
    """What the jobs that go first leave to a subject that would be placed alone.

    view: the cluster once they are placed. outcome: what comes of the subject then. leaves_room: whether it
    is placed wherever those before it go. certain: whether it is known where they go, or does not matter.
    """

    names: tuple[str, ...]
    view: View
    outcome: Outcome
    leaves_room: bool
    certain: bool


class _Step(Struct, frozen=True):
    """One job of the line, and the cluster once it was tried: `planned` is None when it is not placed."""

    subject: Subject
    planned: bool | None
    view: View


class _SchedulingQueue:
    """The pending jobs of a cluster in the order in which they are tried, each tried once for all who ask."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._waiting = _by_priority(pending_subjects(cluster.snapshot))
        self._tried: list[_Step] = []

    def before(self, own: int) -> list[_Step]:
        """Return the steps of the jobs of strictly higher priority, the first of them if they are many."""
        untried = self._waiting[len(self._tried) : _MOST_AHEAD]
        for other in takewhile(lambda other: priority(other) > own, untried):
            self._tried.append(self._try(other))
        return [step for step in self._tried if priority(step.subject) > own]

    def _try(self, other: Subject) -> _Step:
        view = self._tried[-1].view if self._tried else self._cluster.view
        placement = _placement(self._cluster, other, view)
        if placement is None:
            return _Step(other, None, view)
        assignments, planned = placement
        return _Step(other, planned, view.with_pods(by_node(other.pending, assignments)))


@memoised
def _scheduling_queue(view: View, snapshot: Identity[Snapshot], tree: Identity[Tree | NoTree]) -> _SchedulingQueue:
    """Return the line of one variant of the cluster."""
    return _SchedulingQueue(Cluster(snapshot.value, view, tree.value))


def left_by_jobs_ahead(simulation: Simulation) -> LeftByJobsAhead | None:
    """Return what jobs of strictly higher priority leave to the subject, which is tried after them; None for none."""
    before = jobs_ahead(simulation)
    if not before.names:
        return None
    left = open_outcomes(simulation, before.view, preemption=False)
    stuck = next((outcome for outcome in left if not outcome.placed_at_once), None)
    certain = not before.undetermined
    leaves_room = stuck is None and (certain or _fits_wherever(simulation, before))
    return LeftByJobsAhead(before.names, before.view, stuck or left[0], leaves_room, certain)


def jobs_ahead(simulation: Simulation) -> JobsAhead:
    """Return what jobs of strictly higher priority take before the subject is tried.

    Only jobs that would be placed as things are; those that must preempt first are left out.
    """
    line = _scheduling_queue(simulation.view, Identity(simulation.snapshot), Identity(simulation.tree))
    steps = line.before(priority(simulation.subject))
    placed = [step for step in steps if step.planned is not None]
    fixed = [*takewhile(lambda step: step.planned or _takes_like_places(simulation, step.subject), placed)]
    return JobsAhead(
        names=tuple(step.subject.key for step in placed),
        view=steps[-1].view if steps else simulation.view,
        undetermined=tuple(pod for step in placed[len(fixed) :] for pod in step.subject.pending),
        fixed=fixed[-1].view if fixed else simulation.view,
    )


def _fits_wherever(simulation: Simulation, before: JobsAhead) -> bool:
    """Tell whether the subject is surely placed, whatever nodes the undetermined pods take.

    It is when they are too few to take, from every domain that has room, the slots that this one can
    spare. No is no proof of the contrary.
    """
    pods = simulation.subject.pending
    outcomes = open_outcomes(simulation, before.fixed, preemption=False)
    first = outcomes[0].first
    is_exact = first.prepared.counts_only_room and not first.prepared.books
    if len(outcomes) > 1 or first.placement is None or not is_exact:
        return False
    if len({pod.requirements for pod in pods}) > 1 or any(
        pod.requirements.pod_anti_affinity for pod in before.undetermined
    ):
        return False
    if estimated(simulation.view.snapshot):
        return False  # what is assumed on a node counts as load there, and may close it
    most = max(_slots_taken_by(pod, pods[0]) for pod in before.undetermined)
    plan = first.plan
    if plan is None:
        offered = total(offer_slots(before.fixed, before.fixed.names(), in_index_order(pods), first.prepared))
        return offered - _wanted_at_once(simulation.subject) >= most * len(before.undetermined)
    top = plan.tree.domains[plan.start[0]].layer
    below = takewhile(lambda layer: layer != top, reversed(plan.tree.layers))
    for layer in (*below, top):
        multiple = simulation.multiples.get(layer, 1)
        most = -(-most // multiple) * multiple
    spare = [slots - plan.desired for slots in plan.offered]
    return sum(few // most + 1 for few in spare if few >= 0) > len(before.undetermined)


def _slots_taken_by(pod: PendingPod, member: PendingPod) -> int:
    """Return the most offer slots that a pod can take from a node: by its requests, or by its place."""
    asked = dict(pod.requirements.requests)
    return max((-(-asked.get(resource, 0) // need) for resource, need in member.requirements.requests), default=1) or 1


def _wanted_at_once(subject: Subject) -> int:
    """Return how many pods at most must find a place together, for a subject without a plan."""
    if isinstance(subject, PodSubject) or subject.group.is_satisfied() or len(subject.gangs) > 1:
        return len(subject.pending)
    return max(1, *needed(subject.group).values())


def contentions(cluster: Cluster, subjects: Iterable[Subject]) -> tuple[Contention, ...]:
    """Return who, among subjects that would be placed alone, finds no place once those before it are placed.

    They are lined up by priority, then age; which of equal priority is tried first is in no object. Of very
    many in a very large cluster only the first are tried.
    """
    found: list[Contention] = []
    view = cluster.view
    seated: dict[str, set[str]] = {}
    most = max(_FEWEST_LINED, _NODES_IN_ALL // max(1, len(view.names())))
    for subject in sorted(subjects, key=_in_line)[:most]:
        placement = _placement(cluster, subject, view)
        if placement is None:
            wanted = _wanted(cluster, subject)
            others = [key for key, nodes in seated.items() if nodes & wanted]
            found.append(Contention(subject.key, tuple(others or seated)))
            continue
        seated[subject.key] = set(placement[0].values())
        view = view.with_pods(by_node(subject.pending, placement[0]))
    return tuple(found)


def _wanted(cluster: Cluster, subject: Subject) -> set[str]:
    """Return the nodes that a subject wants: those of its plan, or for one without a plan all that take a pod."""
    first = next_attempt(cluster.simulation(subject))[0].first
    if first.plan is not None:
        return set((first.placement or {}).values())
    slots = offer_slots(cluster.view, cluster.view.names(), in_index_order(subject.pending), first.prepared)
    return {name for name, node in slots.items() if node.slots}


def equals(simulation: Simulation, placement: Mapping[str, str]) -> tuple[str, ...]:
    """Return pending jobs of the same priority that, tried first, leave no room for a subject with this placement."""
    own = priority(simulation.subject)
    others = [other for other in pending_subjects(simulation.snapshot) if priority(other) == own]
    nodes = set(placement.values())
    found = []
    for other in [other for other in others if other.key != simulation.subject.key][:_MOST_EQUALS]:
        assignments = _placement(simulation, other, simulation.view)
        if assignments is None or not nodes & set(assignments[0].values()):
            continue
        after = simulation.view.with_pods(by_node(other.pending, assignments[0]))
        if not all(outcome.placed_at_once for outcome in next_attempt(simulation, after)):
            found.append(other.key)
    return tuple(found)


def _in_line(subject: Subject) -> tuple[int, str, str]:
    return -priority(subject), min((pod.created for pod in subject.pending), default=""), subject.key


def higher_priority_jobs(simulation: Simulation) -> tuple[Subject, ...]:
    """Return the pending jobs of strictly higher priority, the highest first."""
    return jobs_above(simulation.snapshot, priority(simulation.subject))


@memoised
def jobs_above(snapshot: Snapshot, own: int) -> tuple[Subject, ...]:
    """Return the pending jobs of a priority above this one, the highest first."""
    return tuple(_by_priority(other for other in pending_subjects(snapshot) if priority(other) > own)[:_MOST_AHEAD])


def unread_higher_priority_jobs(simulation: Simulation) -> tuple[Gap, ...]:
    """Return the gaps that leave open whether pending jobs of strictly higher priority take the subject's place."""
    own = priority(simulation.subject)
    found = _not_judged(simulation.snapshot)
    return tuple(dict.fromkeys(gap for gaps, most in found.items() if most > own for gap in gaps))


@memoised
def _not_judged(snapshot: Snapshot) -> dict[tuple[Gap, ...], int]:
    """Return the highest priority of the pending jobs that the same gaps keep from being judged."""
    found: dict[tuple[Gap, ...], int] = {}
    for other in pending_subjects(snapshot):
        if gaps := visibility.unread_for(other, snapshot):
            found[gaps] = max(found.get(gaps, priority(other)), priority(other))
    return found


def _by_priority(subjects: Iterable[Subject]) -> list[Subject]:
    return sorted(subjects, key=lambda other: (-priority(other), other.key))


def _takes_like_places(simulation: Simulation, other: Subject) -> bool:
    """Tell whether it does not matter where the other sits: pods all alike, and none planned by topology."""
    shapes = {pod.requirements for subject in (simulation.subject, other) for pod in subject.pending}
    return len(shapes) == 1 and not simulation.has_topology


def priority(subject: Subject) -> int:
    """Return the priority with which a subject is tried: the highest of its pending pods."""
    return max((pod.priority for pod in subject.pending), default=0)


def _placement(cluster: Cluster, other: Subject, view: View) -> tuple[dict[str, str], bool] | None:
    """Return where another job would go, and whether that is certain; None when it would not be placed."""
    snapshot = cluster.snapshot
    if admission.before_trying(other, snapshot, cluster.tree) or coverage.not_evaluated(other, snapshot):
        return None
    if visibility.unread_for(other, snapshot):
        return None
    outcomes = open_outcomes(cluster.simulation(other), view, preemption=False)
    first = outcomes[0].first
    if first.placement is None:
        return None
    return dict(first.placement), first.plan is not None and len(outcomes) == 1


def by_node(pods: Iterable[PendingPod], assignments: Mapping[str, str]) -> dict[str, list[PendingPod]]:
    """Return who of these pods sits where, by node."""
    found: dict[str, list[PendingPod]] = {}
    for pod in pods:
        if pod.key in assignments:
            found.setdefault(assignments[pod.key], []).append(pod)
    return found
