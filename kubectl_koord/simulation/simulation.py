"""A question to the engine about one subject: what was asked, and the courses that the engine gives.

Shared by every explanation, so that all of them, and every proof of a way out, run the same engine.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct, structs

from kubectl_koord.engine import gangs, tree
from kubectl_koord.engine.fit import Prepared, prepare
from kubectl_koord.engine.placement import Wish
from kubectl_koord.engine.preemption import Preemption
from kubectl_koord.engine.rounds import MOST_ROUNDS, Course, courses
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.tree import NoTree, Tree
from kubectl_koord.engine.view import View, of
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.simulation.subjects import Subject, jobs

_Seen: TypeAlias = tuple[object, ...]


class Question(Struct, frozen=True):
    """A subject in a cluster: the snapshot, the view to reckon with, and the topology tree."""

    snapshot: Snapshot
    subject: Subject
    view: View
    tree: Tree | NoTree

    def answered_alone(self, view: View) -> tuple[Course, ...]:
        """Return the courses without preemption in another variant, as if no other pod were nominated anywhere."""
        alone = structs.replace(self.snapshot, pending=self.subject.pending)
        return open_courses(structs.replace(self, snapshot=alone), view, preemption=False)

    def prepared(self, pod: PendingPod, view: View | None = None) -> Prepared:
        """Return what PreFilter leaves for a pod as things are, before any member is placed, or in another variant."""
        snapshot = self.snapshot
        known = rules(snapshot.config.version)
        claims = snapshot.claims_asked_for
        return prepare(pod, view or self.view, known, snapshot.nominated, self.subject.pending, claims)

    @property
    def desired(self) -> int | None:
        """Return desiredOfferSlot: all pending pods of the group; None without topology."""
        return len(self.subject.pending) if self.has_topology else None

    @property
    def has_topology(self) -> bool:
        """Whether the group is planned by topology."""
        group = self.subject.group
        return group is not None and not group.is_satisfied() and any(spec is not None for spec in group.specs)

    @property
    def must_gather(self) -> str:
        """The hard layer, empty for none."""
        return self._wish.must_gather

    @property
    def multiples(self) -> Mapping[str, int]:
        """The pod count multiple by layer, where it is above one and the version knows of it."""
        return self._wish.multiples if rules(self.snapshot.config.version).pod_count_multiple else {}

    @property
    def _wish(self) -> Wish:
        group = self.subject.group
        if group is None or not self.has_topology:
            return Wish()
        spec = next(spec for spec in group.specs if spec is not None)
        known = self.tree if isinstance(self.tree, Tree) else Tree((), (), {}, (), (), (), {}, ())
        return gangs.topology_requirements(spec, known)


def ask(snapshot: Snapshot, subject: Subject, beside: Question | None = None) -> Question:
    """Return the question about a subject, as the cluster stands.

    `beside` is another question about the same snapshot, to share what was reckoned for it.
    """
    if beside is not None:
        return Question(snapshot, subject, beside.view, beside.tree)
    return Question(snapshot, subject, of(snapshot), tree.build(snapshot.topologies, snapshot.nodes))


def open_courses(
    question: Question, view: View | None = None, *, preemption: bool = True, idle_too: bool = False
) -> tuple[Course, ...]:
    """Return the courses that the API leaves open, one per distinct outcome, the likeliest first.

    Attempts go on with changing triggers until one has an effect: where any course has one, those
    without are dropped; with `idle_too` only where one places the job.
    """
    every = list(every_course(question, view, preemption=preemption))
    effective = [course for course in every if course.placed_at_once or course.rounds]
    if idle_too and not any(course.placed_at_once for course in every):
        return _distinct(every)
    return _distinct(effective or every)


def every_course(
    question: Question, view: View | None = None, *, preemption: bool = True, most_rounds: int = MOST_ROUNDS
) -> Iterator[Course]:
    """Yield the courses as they are reckoned, those that come to the same included."""
    snapshot = question.snapshot
    enabled = preemption and snapshot.config.preemption
    for job in jobs(question.subject, snapshot, rules(snapshot.config.version), question.tree):
        yield from courses(job, view or question.view, preemption=enabled, most_rounds=most_rounds)


def next_attempt(question: Question, view: View | None = None) -> tuple[Course, ...]:
    """Return the courses that tell whether the next attempt places the subject, by every trigger that may come.

    Where all pods are alike, what preemption would do cannot change that, and is not reckoned.
    """
    shapes = {pod.shape for pod in question.subject.pending}
    return open_courses(question, view, preemption=len(shapes) > 1, idle_too=True)


def _distinct(every: Sequence[Course]) -> tuple[Course, ...]:
    """Return one course per outcome: those that differ in their first attempt go before those that differ later."""
    if len(every) == 1:
        return tuple(every)
    by_first: dict[_Seen, dict[_Seen, Course]] = {}
    for course in every:
        by_first.setdefault(at_first(course), {}).setdefault(_later(course), course)
    ranked = [tuple(later.values()) for later in by_first.values()]
    return (*(later[0] for later in ranked), *(course for later in ranked for course in later[1:]))


def at_first(course: Course) -> _Seen:
    """Return what users see of the first attempt: the slots, the placement, the first victims.

    Placement and nominations of plain jobs are left out: which node each pod takes is not predicted.
    """
    gathering = course.first.gathering
    planned = gathering is not None
    slots = tuple(gathering.slots[index] for index in gathering.start) if gathering is not None else ()
    placement = tuple(sorted(course.first.placement.items())) if planned and course.first.placement else ()
    reason = course.last.reason if course.last is not None and not course.rounds else None
    return (
        course.placed_at_once,
        slots,
        placement,
        _effect(course.rounds[0], planned) if course.rounds else (),
        reason,
    )


def _later(course: Course) -> _Seen:
    planned = course.first.gathering is not None
    return (course.runs, tuple(_effect(one, planned) for one in course.rounds[1:]))


def _effect(preemption: Preemption, planned: bool) -> _Seen:  # noqa: FBT001
    nominations = tuple(sorted(preemption.nominations.items())) if planned else ()
    return (tuple(victim.key for victim in preemption.victims), nominations)
