"""Who is tried before a gang: pending jobs of higher priority, and whether they leave room for it."""

from msgspec import Struct

from kubectl_koord.engine.view import View
from kubectl_koord.explain import causes, limits
from kubectl_koord.explain.question import Question, ask, open_courses
from kubectl_koord.explain.subjects import Subject, pending_subjects
from kubectl_koord.model.pods import PendingPod

_MOST_AHEAD = 64


class Ahead(Struct, frozen=True):
    """The jobs that go first and would be placed now, and the cluster once they are.

    `certain` is false where it is open which nodes they take, and that may decide.
    """

    names: tuple[str, ...]
    view: View
    certain: bool


def ahead(question: Question) -> Ahead:
    """Return what jobs of strictly higher priority take before the subject is tried.

    Only jobs that would be placed as things are; those that must preempt first are left out.
    """
    names: list[str] = []
    view = question.view
    certain = True
    for other in rivals(question):
        placement = _placement(question, other, view)
        if placement is None:
            continue
        seats, planned = placement
        certain = certain and (planned or _takes_like_places(question, other))
        names.append(other.key)
        view = view.with_pods(_by_node(other.pending, seats))
    return Ahead(tuple(names), view, certain)


def rivals(question: Question) -> list[Subject]:
    """Return the pending jobs of strictly higher priority, the highest first."""
    own = priority(question.subject)
    found = (other for other in pending_subjects(question.snapshot) if priority(other) > own)
    return sorted(found, key=lambda other: (-priority(other), other.key))[:_MOST_AHEAD]


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
    if causes.before_trying(other, snapshot, question.tree) or limits.not_evaluated(other, snapshot):
        return None
    courses = open_courses(ask(snapshot, other, question), view, preemption=False)
    first = courses[0].first
    if first.placement is None:
        return None
    return dict(first.placement), first.gathering is not None and len(courses) == 1


def _by_node(pods: tuple[PendingPod, ...], seats: dict[str, str]) -> dict[str, list[PendingPod]]:
    by_node: dict[str, list[PendingPod]] = {}
    for pod in pods:
        if pod.key in seats:
            by_node.setdefault(seats[pod.key], []).append(pod)
    return by_node
