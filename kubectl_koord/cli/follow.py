"""Answers that go on: their changes as they happen, or waiting for a gang to be scheduled."""

import gc
import math
import os
import select
import stat
import sys
import time
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kubectl_koord.cli.command_line import DOCUMENTS
from kubectl_koord.cli.session import write
from kubectl_koord.cluster.api.connection import request_timeout
from kubectl_koord.errors import KoordError
from kubectl_koord.language import say

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kubectl_koord.cli.session import Session
    from kubectl_koord.cluster.around import Around
    from kubectl_koord.cluster.watching import ClusterWatch
    from kubectl_koord.engine.gangs import Subject
    from kubectl_koord.explain.every_pending import ProgressNote
    from kubectl_koord.live.state import Feed
    from kubectl_koord.model.jobs import Jobs
    from kubectl_koord.model.pods import Event
    from kubectl_koord.model.snapshot import Gap, Snapshot
    from kubectl_koord.render.show import TopoOptions
    from kubectl_koord.render.structured import Report
    from kubectl_koord.reports.jobs import PendingGangsReport, VolcanoGang, WhyReport


GOALS = ("scheduled", "running")
SECONDS_BETWEEN_ANSWERS = 1.0
SECONDS_BETWEEN_JOBS = 5.0
"""So old what was read around the scheduler may be in a listing that is followed: it is listed, not watched."""
SHORTEST_LOOK = 5.0
"""Seconds that reading may take although `--timeout` is shorter: without it there is nothing to tell."""
_NAP = 1.0
"""Seconds after which a signal is seen that came in the instant before a wait began, and did not end it."""
_REACHED, _NOT_IN_TIME = 0, 1


class FollowOptions(NamedTuple):
    """What is to be followed, and how long: `timeout` as written, `seconds` None for ever."""

    watch: bool
    until: str
    timeout: str = ""
    seconds: float | None = None


def follow_options(session: "Session", gang: str, *, watch: bool, until: str, timeout: str) -> FollowOptions | None:
    """Return what the flags ask for, None where an answer now is enough.

    Raises KoordError when they contradict each other, or what is read.
    """
    if until and until not in GOALS:
        raise KoordError(say("error: --until {until!r} is not one of {goals}", until=until, goals=", ".join(GOALS)))
    if timeout and not until:
        raise KoordError(say("error: --timeout needs --until"))
    if not (watch or until):
        return None
    if watch and session.options.output in DOCUMENTS:
        raise KoordError(say("error: -o {output} cannot be used with --watch", output=session.options.output))
    if not session.options.is_live:
        raise KoordError(say("error: --watch and --until need a live cluster"))
    if until and not gang:
        raise KoordError(say("error: --until needs a GANG to wait for"))
    return FollowOptions(watch, until, timeout, _seconds(timeout) if timeout else None)


def _seconds(timeout: str) -> float:
    if timeout.startswith("-"):
        raise KoordError(say("error: --timeout {timeout!r} is negative", timeout=timeout))
    return request_timeout(timeout) or 0.0


def follow_gang(session: "Session", name: str, options: FollowOptions) -> None:
    """Print the answer about one gang and its changes (`--watch`), and end when the goal is reached (`--until`).

    Raises KoordError when the gang is gone, or the cluster can be followed no longer.
    """
    from kubectl_koord.cluster import kinds

    with session.watch((*kinds.DISRUPTION_KINDS, *kinds.ELSEWHERE_KINDS)) as cluster:
        _Gang(session, cluster, name, options).follow()


def follow_listing(session: "Session", namespace: str, listing: "Callable[[Snapshot], PendingGangsReport]") -> None:
    """Print the listing of pending gangs, and who begins to wait, waits for another cause, or waits no more.

    Raises KoordError when the cluster can be followed no longer.
    """
    from kubectl_koord.cluster import kinds
    from kubectl_koord.explain.every_pending import listing_changes

    with session.watch((*kinds.GANG_KINDS, *kinds.ELSEWHERE_KINDS)) as cluster:
        around = JobsAround(session, every=not namespace)
        first = around.added(_first_snapshot(cluster))
        told = listing(first)
        if namespace and not told.items and (nowhere := session.no_namespace(first, namespace)):
            raise nowhere
        session.show(told, more_follow=True)
        ear = _ChangeListener(cluster, None)
        while ear.wait(around.due):
            snapshot = around.added(cluster.snapshot())
            report = listing(snapshot)
            if news := listing_changes(snapshot, told, report):
                _tell(session, news, report)
                told = report


class JobsAround:
    """What lies around the scheduler, for a listing that goes on: listed anew where it is too old.

    `due` is in how many seconds it is to be asked again although nothing changes, None where it was just listed.
    """

    def __init__(self, session: "Session", *, every: bool) -> None:
        self._session = session
        self._every = every
        self._jobs: Jobs | None = None
        self._events: tuple[Event, ...] = ()
        self._read = -math.inf
        self.due: float | None = None

    def added(self, snapshot: "Snapshot") -> "Snapshot":
        """Return the snapshot with it."""
        from msgspec import structs

        from kubectl_koord.cluster.around import Around

        age = time.monotonic() - self._read
        if age < SECONDS_BETWEEN_JOBS:
            self.due = SECONDS_BETWEEN_JOBS - age
            return structs.replace(snapshot, jobs=self._jobs, events=self._events)
        found = with_jobs(self._session, snapshot, Around(with_pods=False), every=self._every)
        self._jobs, self._events, self._read, self.due = found.jobs, found.events, time.monotonic(), None
        return found


def follow_report(
    session: "Session", kinds: "Sequence[str]", ask: "Callable[[Snapshot], Report]", topo: "TopoOptions | None" = None
) -> None:
    """Print an answer, and what changes of it: of gangs a line for each, of anything else all of it anew.

    Raises KoordError when it cannot be followed, or what it is about is gone.
    """
    if session.options.output in DOCUMENTS:
        raise KoordError(say("error: -o {output} cannot be used with --watch", output=session.options.output))
    if not session.options.is_live:
        raise KoordError(say("error: --watch needs a live cluster"))
    with session.watch(kinds) as cluster:
        told = ask(_first_snapshot(cluster))
        session.show(told, topo, more_follow=True)
        ear = _ChangeListener(cluster, None)
        while ear.wait():
            report = ask(cluster.snapshot())
            if _lasting(report) != _lasting(told):
                _tell_anew(session, told, report, topo)
                told = report


_PASSING = frozenset({"moment", "ageSeconds"})


def _lasting(value: object) -> object:
    """Return a report as a document without what depends on when it was computed."""
    from msgspec import Struct

    from kubectl_koord.render.structured import document

    match value:
        case Struct():
            return _lasting(document(value))  # type: ignore[arg-type] # a report
        case dict():
            return {name: _lasting(part) for name, part in value.items() if name not in _PASSING}
        case list():
            return [_lasting(part) for part in value]
        case _:
            return value


def _tell_anew(session: "Session", told: "Report", report: "Report", topo: "TopoOptions | None") -> None:
    from kubectl_koord.explain.every_pending import gang_changes
    from kubectl_koord.reports.jobs import GangsReport

    if isinstance(told, GangsReport) and isinstance(report, GangsReport):
        if news := gang_changes(told, report):
            _tell(session, news, report)
        return
    if session.options.is_text:
        write(f"\n{_time()}\n")
    session.show(report, topo, more_follow=True)


class _Gang:
    """One gang that is followed."""

    def __init__(self, session: "Session", cluster: "ClusterWatch", name: str, options: FollowOptions) -> None:
        self._session = session
        self._cluster = cluster
        self._name = name
        self._options = options
        self._ear = _ChangeListener(cluster, options.seconds)

    def follow(self) -> None:
        from kubectl_koord.explain import every_pending

        if self._options.seconds:
            self._session.live_transport().bound(max(self._options.seconds, SHORTEST_LOOK))
        one = followed(self._session, _first_snapshot(self._cluster), self._name, self._options.until)
        told = one.why() if self._options.watch else None
        if told is not None:
            self._session.show(told, more_follow=True)
        reached = self._is_reached(one)
        while not reached and self._ear.wait():
            one = one.again(self._cluster.snapshot())
            if told is not None:
                report = one.why()
                if text := every_pending.changes(told, report):
                    _tell(
                        self._session,
                        (every_pending.ProgressNote(every_pending.name_of(report), text, report.verdict),),
                        report,
                    )
                    told = report
            reached = self._is_reached(one)
        if not (reached and self._options.watch):
            self._conclude(one.why(), reached=reached)
        self._session.exit_code = _REACHED if reached else _NOT_IN_TIME

    def _is_reached(self, one: "Followed") -> bool:
        from kubectl_koord.wording.words import could_not_be_read

        unread = one.unread() if self._options.until else ()
        if unread:
            goal = self._options.until
            raise KoordError(
                say(
                    "error: cannot tell whether {key} is {goal}: {could_not_be_read}",
                    key=one.key,
                    goal=goal,
                    could_not_be_read=could_not_be_read(unread),
                )
            )
        return bool(self._options.until) and one.is_scheduled()

    def _conclude(self, report: "WhyReport", *, reached: bool) -> None:
        """Print how the waiting has ended. Documents of a watch say it themselves."""
        from kubectl_koord.explain.every_pending import outcome
        from kubectl_koord.render import show

        if self._session.options.is_text:
            said = outcome(report, reached=reached, waited=self._options.timeout)
            write(show.sentence(said, "yes" if reached else "no", style=self._session.style()))
        elif not self._options.watch:
            self._session.show(report)


def _tell(session: "Session", news: "Sequence[ProgressNote]", report: "Report") -> None:
    """Print what has changed: a line each, or the whole report as a document."""
    from kubectl_koord.render import show

    if not session.options.is_text:
        session.show(report, more_follow=True)
        return
    write("".join(show.progress_line(_time(), each, style=session.style()) for each in news))


def _time() -> str:
    return datetime.now(UTC).astimezone().strftime("%H:%M:%S")


def _first_snapshot(cluster: "ClusterWatch") -> "Snapshot":
    """Read the cluster; what is read stays, so that the garbage collector need not look at it again and again."""
    gc.disable()
    snapshot = cluster.snapshot()
    gc.freeze()
    gc.enable()
    return snapshot


class _ChangeListener:
    """Waits for changes of the cluster, no longer than so many seconds in all, and while somebody reads our output."""

    def __init__(self, cluster: "ClusterWatch", seconds: float | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds
        self._output, self._both = select.poll(), select.poll()
        self._both.register(cluster.fileno(), select.POLLIN)
        descriptor = sys.stdout.fileno()
        kind = os.fstat(descriptor).st_mode
        if stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind):
            for poll in (self._output, self._both):
                poll.register(descriptor, 0)

    def wait(self, at_most: float | None = None) -> bool:
        """Return True when something has changed, a second after the last answer at the earliest; False at the end.

        So many seconds later `at_most` it returns True all the same. Raises BrokenPipeError when nobody reads our
        output any more.
        """
        if self._left() == 0:
            return False
        self._heard(self._output, SECONDS_BETWEEN_ANSWERS)
        return self._heard(self._both, at_most) or at_most is not None

    def _left(self) -> float | None:
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    def _heard(self, poll: "select.poll", seconds: float | None) -> bool:
        limits = [limit for limit in (seconds, self._left()) if limit is not None]
        end = time.monotonic() + min(limits) if limits else math.inf
        while not (found := poll.poll(max(0.0, min(end - time.monotonic(), _NAP)) * 1000)):
            if time.monotonic() >= end:
                break
        if any(event & (select.POLLERR | select.POLLHUP) for _, event in found):
            raise BrokenPipeError
        return bool(found)


class Followed(Protocol):
    """What is followed, as a snapshot has it."""

    @property
    def key(self) -> str:
        """Its name, `namespace/name`."""

    def again(self, snapshot: "Snapshot") -> "Followed":
        """Return the gang or job in another snapshot. Raises KoordError when it is gone."""

    def why(self) -> "WhyReport":
        """Return why it is pending."""

    def is_scheduled(self) -> bool:
        """Tell whether nothing of it waits for a node any more."""

    def unread(self) -> "tuple[Gap, ...]":
        """Return the gaps that leave open whether it is scheduled."""


def followed(session: "Session", snapshot: "Snapshot", name: str, until: str = "") -> Followed:
    """Return what a name means. Raises KoordError when it means nothing, or more than one thing."""
    from kubectl_koord.engine.gangs import Subject

    if theirs := of_volcano(session, snapshot, name):
        return _OfVolcano(snapshot, theirs)
    found = session.found(snapshot, name)
    if isinstance(found, Subject) and until != _RUNNING:
        return _OfKoordinator(snapshot, found)
    return _OfJob(session, snapshot, name, until)


def with_job(
    session: "Session", snapshot: "Snapshot", around: "Around", name: str
) -> "tuple[Snapshot, Subject | None]":
    """Return the snapshot with what was read of the job that a name means, and what the scheduler sees of it.

    A live cluster is asked for more than a gang or pod only where that is not what the name means, or where it is not
    the scheduler that it waits for. Raises KoordError with the nearest names, when it means nobody.
    """
    from msgspec import structs

    from kubectl_koord.cluster.one_job import of_job
    from kubectl_koord.engine.gangs import Subject
    from kubectl_koord.explain.way import is_for_scheduler, subject_of

    found = session.found(snapshot, name)
    subject = found if isinstance(found, Subject) else None
    is_of_moment = session.options.is_live or around.gaps is not None
    if subject is not None and is_of_moment and is_for_scheduler(subject, name):
        return structs.replace(snapshot, jobs=None), subject
    home = session.namespace()
    if not session.options.is_live and not session.connection.namespace and subject is not None:
        home = subject.key.partition("/")[0]
    pods = frozenset(pod.key for pod in subject.members) if subject is not None else frozenset()
    more = of_job(snapshot, around, session.transport, name, home, pods)
    if more.jobs is None or (not more.jobs.asked and subject is None):
        return snapshot, session.subject(snapshot, name)
    return more, subject or subject_of(more)


class EventsAround:
    """The events about gangs that wait, of a live cluster: they are listed, not watched, and kept for a while."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._kept: dict[tuple[frozenset[str], bool], tuple[float, tuple[Event, ...], tuple[Gap, ...]]] = {}

    def added(self, snapshot: "Snapshot", subject: "Subject | None") -> "Snapshot":
        """Return the snapshot with the events about a gang or pod. Raises KoordError where there is no answer."""
        from msgspec import structs

        from kubectl_koord.cluster.objects.events import OF_CONTROLLERS
        from kubectl_koord.cluster.source import with_events
        from kubectl_koord.diagnosis.coverage import lacks_pods

        if not (self._session.options.is_live and subject is not None and subject.pending):
            return snapshot
        read = {snapshot.jobs.asked.split("/")[1]} if snapshot.jobs is not None else set()
        homes, lacks = frozenset(pod.namespace for pod in subject.pending) - read, lacks_pods(subject)
        when, events, gaps = self._kept.get((homes, lacks), (-math.inf, (), ()))
        if time.monotonic() - when >= SECONDS_BETWEEN_JOBS:
            bare, transport = structs.replace(snapshot, events=(), gaps=()), self._session.live_transport()
            found = with_events(bare, transport, homes, "reason=FailedScheduling")
            found = with_events(found, transport, homes, OF_CONTROLLERS) if lacks else found
            when, events, gaps = self._kept[homes, lacks] = time.monotonic(), found.events, found.gaps
        return structs.replace(snapshot, events=(*snapshot.events, *events), gaps=(*snapshot.gaps, *gaps))


def report_now(session: "Session", snapshot: "Snapshot", name: str, events: EventsAround) -> "WhyReport":
    """Return why what a name means is pending. Raises KoordError when it means nothing, or more than one thing."""
    from kubectl_koord.cluster.around import Around
    from kubectl_koord.explain import volcano
    from kubectl_koord.explain.way import way

    if theirs := of_volcano(session, snapshot, name):
        return volcano.why(snapshot, theirs)
    snapshot, subject = with_job(session, snapshot, Around(), name)
    return way(events.added(snapshot, subject), subject)


def feed(session: "Session") -> "Feed":
    """Return where the readings come from of what is shown as it changes, on a screen or over HTTP."""
    from kubectl_koord.cluster import kinds
    from kubectl_koord.cluster.watching import HEARTBEATS
    from kubectl_koord.live.state import Followed, Recorded

    wanted = (*kinds.DISRUPTION_KINDS, *kinds.ELSEWHERE_KINDS)
    if session.options.is_live:
        return Followed(partial(session.watch, wanted, HEARTBEATS))
    return Recorded(partial(session.snapshot, wanted, later=(kinds.EVENT.name,)))


def listing_now(session: "Session", selector: str, *, every: bool) -> "Callable[[Snapshot], PendingGangsReport]":
    """Return what lists those that wait in a reading, with what lies around the scheduler."""
    from kubectl_koord.cli.output import parsed
    from kubectl_koord.explain.every_pending import every_pending

    ask = partial(every_pending, selector=parsed(selector))
    everywhere = is_everywhere(session, every=every)
    around = JobsAround(session, every=everywhere)

    def listed(snapshot: "Snapshot") -> "PendingGangsReport":
        seen = around.added(snapshot) if session.options.is_live else snapshot
        return ask(seen, "" if everywhere else session.namespace())

    return listed


def is_everywhere(session: "Session", *, every: bool) -> bool:
    """Tell whether all namespaces are meant: of a file they are, unless one was named."""
    return every or not (session.options.is_live or session.connection.namespace)


def with_jobs(session: "Session", snapshot: "Snapshot", around: "Around", *, every: bool) -> "Snapshot":
    """Return the snapshot with all jobs that a listing is about; one of a file has them already."""
    from kubectl_koord.cluster.one_job import every_job

    if session.transport is None:
        return snapshot
    return every_job(snapshot, around, session.transport, "" if every else session.namespace())


_RUNNING = "running"


def of_volcano(session: "Session", snapshot: "Snapshot", name: str) -> "VolcanoGang | None":
    """Return the gang of Volcano that a name means, None where it means none."""
    from kubectl_koord.engine.gangs import Subject
    from kubectl_koord.explain import volcano
    from kubectl_koord.simulation import subjects

    if not snapshot.volcano.groups:
        return None
    found = subjects.find(snapshot, name, session.namespace())
    homes = {session.namespace()}
    if not session.options.is_live and not session.connection.namespace:
        homes |= {group.namespace for group in snapshot.volcano.groups.values()}
        found = found if isinstance(found, Subject) else subjects.find_anywhere(snapshot, name) or found
    return volcano.meant(snapshot, name, homes, found if isinstance(found, Subject) else None)


class _OfKoordinator:
    """A gang or pod that Koordinator's scheduler places."""

    def __init__(self, snapshot: "Snapshot", subject: "Subject") -> None:
        self._snapshot = snapshot
        self._subject = subject
        self.key = subject.key

    def again(self, snapshot: "Snapshot") -> "_OfKoordinator":
        from kubectl_koord.engine.gangs import PodSubject
        from kubectl_koord.explain.every_pending import gone
        from kubectl_koord.simulation.subjects import again

        found = again(snapshot, self.key, lone_pod=isinstance(self._subject, PodSubject))
        if found is None:
            raise KoordError(say("error: {gone}", gone=gone(snapshot, self._subject)))
        return _OfKoordinator(snapshot, found)

    def why(self) -> "WhyReport":
        from kubectl_koord.explain.why import why

        return why(self._snapshot, self._subject)

    def is_scheduled(self) -> bool:
        from kubectl_koord.explain.every_pending import is_scheduled

        return is_scheduled(self._subject)

    def unread(self) -> "tuple[Gap, ...]":
        from kubectl_koord.diagnosis import coverage

        return coverage.unread_members(self._subject, self._snapshot)


class _OfJob:
    """A job, whatever layer holds it: what lies around the scheduler is read anew for each answer."""

    def __init__(self, session: "Session", snapshot: "Snapshot", name: str, until: str) -> None:
        from kubectl_koord.cluster.around import Around
        from kubectl_koord.cluster.one_job import of_job
        from kubectl_koord.engine.gangs import Subject
        from kubectl_koord.explain.way import subject_of

        found = session.found(snapshot, name)
        subject = found if isinstance(found, Subject) else None
        pods = frozenset(pod.key for pod in subject.members) if subject is not None else frozenset()
        self._snapshot = of_job(snapshot, Around(), session.transport, name, session.namespace(), pods)
        jobs = self._snapshot.jobs
        if subject is None and (jobs is None or not jobs.asked):
            session.subject(snapshot, name)  # which tells that there is nobody of this name
        self._subject = subject or subject_of(self._snapshot)
        self._session, self._name, self._until = session, name, until
        self.key = jobs.asked.partition("/")[2] if jobs is not None else name

    def again(self, snapshot: "Snapshot") -> "_OfJob":
        return _OfJob(self._session, snapshot, self._name, self._until)

    def why(self) -> "WhyReport":
        from kubectl_koord.explain.way import way

        return way(self._snapshot, self._subject)

    def is_scheduled(self) -> bool:
        from kubectl_koord.explain.every_pending import is_scheduled
        from kubectl_koord.explain.way import is_running

        if self._until == _RUNNING:
            return is_running(self._snapshot, self._subject)
        return self._subject is not None and is_scheduled(self._subject)

    def unread(self) -> "tuple[Gap, ...]":
        from kubectl_koord.diagnosis import coverage

        return coverage.unread_members(self._subject, self._snapshot) if self._subject is not None else ()


class _OfVolcano:
    """A gang that Volcano's scheduler places."""

    def __init__(self, snapshot: "Snapshot", gang: "VolcanoGang") -> None:
        self._snapshot = snapshot
        self._gang = gang
        self.key = gang.gang

    def again(self, snapshot: "Snapshot") -> "_OfVolcano":
        from kubectl_koord.explain import volcano
        from kubectl_koord.wording.facts import volcano_gang_gone

        found = volcano.again(snapshot, self.key)
        if found is None:
            raise KoordError(say("error: {volcano_gang_gone}", volcano_gang_gone=volcano_gang_gone(self.key)))
        return _OfVolcano(snapshot, found)

    def why(self) -> "WhyReport":
        from kubectl_koord.explain import volcano

        return volcano.why(self._snapshot, self._gang)

    def is_scheduled(self) -> bool:
        return not self._gang.is_waiting

    def unread(self) -> "tuple[Gap, ...]":
        from kubectl_koord.explain import volcano

        return volcano.unread(self._snapshot, self.key)
