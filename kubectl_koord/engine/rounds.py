"""Attempt after attempt: what finally becomes of a job, for each outcome that the API leaves open."""

from collections.abc import Iterator

from msgspec import Struct

from kubectl_koord.engine.attempt import Attempt, Choice, Job, attempt, emptiest, fullest, triggers
from kubectl_koord.engine.preemption import MEETINGS, Meeting, Preemption, possible_victims, preempt
from kubectl_koord.engine.view import View
from kubectl_koord.model.pods import PendingPod, RunningPod

MOST_ROUNDS = 64
"""Each round with effect kills a pod; a job that needs more attempts than this is not followed on."""


class Course(Struct, frozen=True):
    """The attempts that follow from one trigger (and one order of the scheduler's cache).

    first: the first attempt; `rounds` the preemptions with effect, in turn; `last` the preemption
    that ended it without effect, None when the job is placed. `runs` tells whether it is placed in
    the end, None when that was not followed to the end.
    """

    trigger: PendingPod
    first: Attempt
    rounds: tuple[Preemption, ...]
    last: Preemption | None
    runs: bool | None

    @property
    def placed_at_once(self) -> bool:
        """Whether the first attempt places the job."""
        return self.first.placement is not None

    @property
    def killed(self) -> tuple[RunningPod, ...]:
        """All victims of all rounds."""
        return tuple(victim for preemption in self.rounds for victim in preemption.victims)


def courses(job: Job, view: View, *, preemption: bool = True) -> Iterator[Course]:
    """Yield one course per kind of trigger and per open order, the likeliest first."""
    for trigger in triggers(job):
        for choose in _choices(job):
            first = attempt(job, view, trigger, choose)
            if first.placement is not None or not preemption:
                yield Course(trigger, first, (), None, first.placement is not None)
                continue
            for meeting in _meetings(view, first):
                yield follow(job, view, first, meeting, choose)


def _choices(job: Job) -> tuple[Choice, ...]:
    alike = len({pod.shape for pod in job.pods}) == 1
    return (emptiest,) if job.wish is not None or alike else (emptiest, fullest)


def _meetings(view: View, failed: Attempt) -> tuple[Meeting, ...]:
    """Return the orders worth trying: one where no node has victims of one job at several priorities."""
    for name, reason in failed.rejections.items():
        priorities: dict[str, int] = {}
        for pod in () if reason.unresolvable else possible_victims(view, name, failed.trigger):
            if priorities.setdefault(pod.job, pod.priority) != pod.priority:
                return MEETINGS
    return MEETINGS[:1]


def follow(job: Job, view: View, first: Attempt, meeting: Meeting, choose: Choice = emptiest) -> Course:
    """Return the course of attempts: preempt, wait until the victims are gone, try again."""
    rounds: list[Preemption] = []
    tried = first
    now = view
    for _ in range(MOST_ROUNDS):
        preemption = preempt(job, now, tried, meeting)
        if preemption.reason is not None or not preemption.gone:
            return Course(first.trigger, first, tuple(rounds), preemption, runs=False)
        rounds.append(preemption)
        now = now.without(preemption.gone)
        tried = _next_attempt(job, now, first.trigger, choose)
        if tried.placement is not None:
            return Course(first.trigger, first, tuple(rounds), None, runs=True)
    return Course(first.trigger, first, tuple(rounds), None, runs=None)


def _next_attempt(job: Job, view: View, trigger: PendingPod, choose: Choice) -> Attempt:
    """Return the next attempt; any kind of trigger that places the job will come in time."""
    first = attempt(job, view, trigger, choose)
    if first.placement is None:
        for other in triggers(job):
            again = attempt(job, view, other, choose) if other.key != trigger.key else first
            if again.placement is not None:
                return again
    return first
