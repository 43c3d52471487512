"""Who else wants the place: pending jobs that are tried before a gang, or may be, and whether they leave room."""

from collections.abc import Iterable, Mapping
from itertools import takewhile

from msgspec import Struct

from kubectl_koord.diagnosis import admission, coverage, visibility
from kubectl_koord.engine.attempt import needed
from kubectl_koord.engine.rounds import Course
from kubectl_koord.engine.slots import in_index_order, offer_slots, total
from kubectl_koord.engine.tree import NoTree, Tree
from kubectl_koord.engine.view import View
from kubectl_koord.model.memo import Identity, memoised
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.snapshot import Gap, Snapshot
from kubectl_koord.reports.values import Contention
from kubectl_koord.simulation.simulation import Question, ask, next_attempt, open_courses
from kubectl_koord.simulation.subjects import Subject, pending_subjects

_MOST_AHEAD = 64
_MOST_EQUALS = 16
_FEWEST_LINED, _NODES_IN_ALL = 20, 300_000


class Ahead(Struct, frozen=True):
    """The jobs that go first and would be placed now, and the cluster once they are: for a roaming pod, on any node.

    roaming: the pods of which it is open what nodes they take, from the first such job on, where that may decide.
    fixed: the cluster with the jobs before these.
    """

    names: tuple[str, ...]
    view: View
    roaming: tuple[PendingPod, ...]
    fixed: View


class Behind(Struct, frozen=True):
    """What the jobs that go first leave to a subject that would be placed alone.

    view: the cluster once they are placed. course: what comes of the subject then. leaves_room: whether it
    is placed wherever those before it go. certain: whether it is known where they go, or does not matter.
    """

    names: tuple[str, ...]
    view: View
    course: Course
    leaves_room: bool
    certain: bool


class _Step(Struct, frozen=True):
    """One job of the line, and the cluster once it was tried: `planned` is None when it is not placed."""

    subject: Subject
    planned: bool | None
    view: View


class _Line:
    """The pending jobs of a cluster in the order in which they are tried, each tried once for all who ask."""

    def __init__(self, question: Question) -> None:
        self._question = question
        self._waiting = _by_priority(pending_subjects(question.snapshot))
        self._tried: list[_Step] = []

    def before(self, own: int) -> list[_Step]:
        """Return the steps of the jobs of strictly higher priority, the first of them if they are many."""
        untried = self._waiting[len(self._tried) : _MOST_AHEAD]
        for other in takewhile(lambda other: priority(other) > own, untried):
            self._tried.append(self._try(other))
        return [step for step in self._tried if priority(step.subject) > own]

    def _try(self, other: Subject) -> _Step:
        view = self._tried[-1].view if self._tried else self._question.view
        placement = _placement(self._question, other, view)
        if placement is None:
            return _Step(other, None, view)
        seats, planned = placement
        return _Step(other, planned, view.with_pods(by_node(other.pending, seats)))


@memoised
def _line(view: View, snapshot: Identity[Snapshot], tree: Identity[Tree | NoTree]) -> _Line:
    """Return the line of one variant of the cluster."""
    return _Line(Question(snapshot.value, Subject("", None), view, tree.value))


def behind(question: Question) -> Behind | None:
    """Return what jobs of strictly higher priority leave to the subject, which is tried after them; None for none."""
    before = ahead(question)
    if not before.names:
        return None
    left = open_courses(question, before.view, preemption=False)
    stuck = next((course for course in left if not course.placed_at_once), None)
    certain = not before.roaming
    leaves_room = stuck is None and (certain or _fits_wherever(question, before))
    return Behind(before.names, before.view, stuck or left[0], leaves_room, certain)


def ahead(question: Question) -> Ahead:
    """Return what jobs of strictly higher priority take before the subject is tried.

    Only jobs that would be placed as things are; those that must preempt first are left out.
    """
    line = _line(question.view, Identity(question.snapshot), Identity(question.tree))
    steps = line.before(priority(question.subject))
    placed = [step for step in steps if step.planned is not None]
    fixed = [*takewhile(lambda step: step.planned or _takes_like_places(question, step.subject), placed)]
    return Ahead(
        names=tuple(step.subject.key for step in placed),
        view=steps[-1].view if steps else question.view,
        roaming=tuple(pod for step in placed[len(fixed) :] for pod in step.subject.pending),
        fixed=fixed[-1].view if fixed else question.view,
    )


def _fits_wherever(question: Question, before: Ahead) -> bool:
    """Tell whether the subject is surely placed, whatever nodes the roaming pods take.

    It is when they are too few to take, from every domain that has room, the slots that this one can
    spare. No is no proof of the contrary.
    """
    pods = question.subject.pending
    courses = open_courses(question, before.fixed, preemption=False)
    first = courses[0].first
    if len(courses) > 1 or first.placement is None or not first.prepared.counts_only_room:
        return False
    if len({pod.shape for pod in pods}) > 1 or any(pod.shape.repelled for pod in before.roaming):
        return False
    if any(node.load for node in question.snapshot.nodes.values()):
        return False  # what is assumed on a node counts as load there, and may close it
    most = max(_slots_taken_by(pod, pods[0]) for pod in before.roaming)
    gathering, tree = first.gathering, question.tree
    if gathering is None or not isinstance(tree, Tree):
        offered = total(offer_slots(before.fixed, before.fixed.names(), in_index_order(pods), first.prepared))
        return offered - _wanted_at_once(question.subject) >= most * len(before.roaming)
    top = tree.domains[gathering.start[0]].layer
    below = takewhile(lambda layer: layer != top, reversed(tree.layers))
    for layer in (*below, top):
        multiple = question.multiples.get(layer, 1)
        most = -(-most // multiple) * multiple
    spare = [gathering.slots[index] - gathering.desired for index in gathering.start]
    return sum(few // most + 1 for few in spare if few >= 0) > len(before.roaming)


def _slots_taken_by(pod: PendingPod, member: PendingPod) -> int:
    """Return the most offer slots that a pod can take from a node: by its requests, or by its place."""
    asked = dict(pod.shape.requests)
    return max((-(-asked.get(resource, 0) // need) for resource, need in member.shape.requests), default=1) or 1


def _wanted_at_once(subject: Subject) -> int:
    """Return how many pods at most must find a place together, for a subject without a plan."""
    group = subject.group
    if group is None or group.is_satisfied() or len(group.gangs) > 1:
        return len(subject.pending)
    return max(1, *needed(group).values())


def contentions(question: Question, subjects: Iterable[Subject]) -> tuple[Contention, ...]:
    """Return who, among subjects that would be placed alone, finds no place once those before it are placed.

    They are lined up by priority, then age; which of equal priority is tried first is in no object. Of very
    many in a very large cluster only the first are tried.
    """
    found: list[Contention] = []
    view = question.view
    seated: dict[str, set[str]] = {}
    most = max(_FEWEST_LINED, _NODES_IN_ALL // max(1, len(view.names())))
    for subject in sorted(subjects, key=_in_line)[:most]:
        placement = _placement(question, subject, view)
        if placement is None:
            wanted = _wanted(question, subject)
            others = [key for key, nodes in seated.items() if nodes & wanted]
            found.append(Contention(subject.key, tuple(others or seated)))
            continue
        seated[subject.key] = set(placement[0].values())
        view = view.with_pods(by_node(subject.pending, placement[0]))
    return tuple(found)


def _wanted(question: Question, subject: Subject) -> set[str]:
    """Return the nodes that a subject wants: those of its plan, or for one without a plan all that take a pod."""
    first = next_attempt(ask(question.snapshot, subject, question))[0].first
    if first.gathering is not None:
        return set((first.placement or {}).values())
    slots = offer_slots(question.view, question.view.names(), in_index_order(subject.pending), first.prepared)
    return {name for name, node in slots.items() if node.slots}


def equals(question: Question, placement: Mapping[str, str]) -> tuple[str, ...]:
    """Return pending jobs of the same priority that, tried first, leave no room for a subject with this placement."""
    own = priority(question.subject)
    others = [other for other in pending_subjects(question.snapshot) if priority(other) == own]
    nodes = set(placement.values())
    found = []
    for other in [other for other in others if other.key != question.subject.key][:_MOST_EQUALS]:
        seats = _placement(question, other, question.view)
        if seats is None or not nodes & set(seats[0].values()):
            continue
        after = question.view.with_pods(by_node(other.pending, seats[0]))
        if not all(course.placed_at_once for course in next_attempt(question, after)):
            found.append(other.key)
    return tuple(found)


def _in_line(subject: Subject) -> tuple[int, str, str]:
    return -priority(subject), min((pod.created for pod in subject.pending), default=""), subject.key


def rivals(question: Question) -> tuple[Subject, ...]:
    """Return the pending jobs of strictly higher priority, the highest first."""
    return rivals_of(question.snapshot, priority(question.subject))


@memoised
def rivals_of(snapshot: Snapshot, own: int) -> tuple[Subject, ...]:
    """Return the pending jobs of a priority above this one, the highest first."""
    return tuple(_by_priority(other for other in pending_subjects(snapshot) if priority(other) > own)[:_MOST_AHEAD])


def unread_rivals(question: Question) -> tuple[Gap, ...]:
    """Return the gaps that leave open whether pending jobs of strictly higher priority take the subject's place."""
    own = priority(question.subject)
    found = _not_judged(question.snapshot)
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


def _takes_like_places(question: Question, other: Subject) -> bool:
    """Tell whether it does not matter where the other sits: pods all alike, and none planned by topology."""
    shapes = {pod.shape for subject in (question.subject, other) for pod in subject.pending}
    return len(shapes) == 1 and not question.has_topology


def priority(subject: Subject) -> int:
    """Return the priority with which a subject is tried: the highest of its pending pods."""
    return max((pod.priority for pod in subject.pending), default=0)


def _placement(question: Question, other: Subject, view: View) -> tuple[dict[str, str], bool] | None:
    """Return where another job would go, and whether that is certain; None when it would not be placed."""
    snapshot = question.snapshot
    if admission.before_trying(other, snapshot, question.tree) or coverage.not_evaluated(other, snapshot):
        return None
    if visibility.unread_for(other, snapshot):
        return None
    courses = open_courses(ask(snapshot, other, question), view, preemption=False)
    first = courses[0].first
    if first.placement is None:
        return None
    return dict(first.placement), first.gathering is not None and len(courses) == 1


def by_node(pods: Iterable[PendingPod], seats: Mapping[str, str]) -> dict[str, list[PendingPod]]:
    """Return who of these pods sits where, by node."""
    found: dict[str, list[PendingPod]] = {}
    for pod in pods:
        if pod.key in seats:
            found.setdefault(seats[pod.key], []).append(pod)
    return found
