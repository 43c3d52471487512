"""The newest answers about a cluster that changes: one thread reads, one answers, and who looks waits for neither.

Knows no screen and no way to the cluster: a screen and a server can share it.
"""

import gc
import os
import select
import threading
import time
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from msgspec import Struct, structs

from kubectl_koord.engine.budget import Asker, Unwanted, asked_by
from kubectl_koord.errors import KoordError
from kubectl_koord.model.snapshot import Snapshot

Question: TypeAlias = Callable[[Snapshot], Any]
Status: TypeAlias = Literal["reading", "recorded", "live", "interrupted", "lost"]
LEAST = 0.5
"""Seconds from one reading to the next: what changes within them is read together."""
RENEWED = 60.0
"""Seconds after which what was answered is answered anew though nothing but heartbeats has come."""
_REST = 3
"""So many times as long as it took, what comes first is not answered anew: others come to their turn."""
_PATIENCE = 1.0
"""Seconds that a listing waits for a reading."""
_SHARE = 8
"""Of so many seconds one may go into answers that nothing but heartbeats asks for."""


class Watch(Protocol):
    """A cluster that is followed (`cluster.watching.ClusterWatch`)."""

    def fileno(self) -> int:
        """Return a descriptor that is readable once something has changed since the last snapshot."""

    def snapshot(self) -> Snapshot:
        """Return the cluster as it is now. Raises KoordError when it can be followed no longer."""

    def interrupted(self) -> tuple[str, ...]:
        """Return the kinds whose watch is broken for the moment, in name order."""

    def close(self) -> None:
        """End it. May be called twice."""


class Link(Struct, frozen=True):
    """How what is shown hangs on the cluster: `kinds` are those whose watch is broken, `message` why it is lost."""

    status: Status
    kinds: tuple[str, ...] = ()
    message: str = ""


class Feed(Protocol):
    """Where readings come from."""

    def snapshot(self) -> Snapshot:
        """Return the next reading. Raises KoordError when there is none now."""

    def wait(self, seconds: float) -> bool:
        """Return True when there is something new to read, or after so many seconds; False when nothing ever comes."""

    def link(self) -> Link:
        """Return how it hangs on the cluster."""

    def close(self) -> None:
        """Let `wait` return False from now on. May be called twice."""


class Recorded:
    """A file or the demo: it is read once."""

    def __init__(self, read: Callable[[], Snapshot]) -> None:
        self._read = read

    def snapshot(self) -> Snapshot:
        """Return it."""
        return self._read()

    def wait(self, seconds: float) -> bool:  # noqa: ARG002 - as of others
        """Return that nothing changes."""
        return False

    def link(self) -> Link:
        """Return that it is a record."""
        return Link("recorded")

    def close(self) -> None:
        """Do nothing: nothing is open."""


class Followed:
    """A live cluster. A watch that has given up is replaced by a new one."""

    def __init__(self, begin: Callable[[], Watch]) -> None:
        self._begin = begin
        self._watch: Watch | None = None
        self._ended = False
        self._wake = os.pipe()
        self._lock = threading.Lock()

    def snapshot(self) -> Snapshot:
        """Return the cluster as it is now; where no watch is open, one is opened."""
        with self._lock:
            watch = self._watch = self._watch or self._begin()
        try:
            return watch.snapshot()
        except KoordError:
            with self._lock:
                self._watch = None
            watch.close()
            raise

    def wait(self, seconds: float) -> bool:
        """Wait for a change, for so many seconds, or for the end."""
        poll = select.poll()
        poll.register(self._wake[0], select.POLLIN)
        watch = self._watch
        if watch is not None:
            poll.register(watch.fileno(), select.POLLIN)
        poll.poll(seconds * 1000)
        return not self._ended

    def link(self) -> Link:
        """Return which watches are broken."""
        watch = self._watch
        kinds = watch.interrupted() if watch is not None else ()
        return Link("interrupted" if kinds else "live", kinds)

    def close(self) -> None:
        """End the watch, and whoever waits for it."""
        with self._lock:
            if not self._ended:
                self._ended = True
                os.write(self._wake[1], b"!")
                if self._watch is not None:
                    self._watch.close()


class Answer(Struct, frozen=True):
    """What was answered: of which reading, in how many seconds; `error` in place of a value where there is none.

    `moment` is the reading's.
    """

    number: int
    value: Any = None
    error: str = ""
    seconds: float = 0.0
    moment: str = ""


class _Asked(Struct):
    """A question: the how many-th it is, whether it comes before others, and whether its answer is renewed.

    One that comes first is not answered before `due` again, on the clock that only goes on.
    """

    question: Question
    place: int
    first: bool = False
    renewed: bool = True
    due: float = 0.0


class _Due(NamedTuple):
    """A question to be answered of a reading."""

    key: Hashable
    asked: _Asked
    snapshot: Snapshot
    number: int


def _alike(before: Snapshot, after: Snapshot) -> bool:
    """Tell whether nothing differs but the time and the leases, which are renewed all the time."""
    return structs.replace(after, moment=before.moment, leases=before.leases) == before


class Holder:
    """The newest reading and the newest answer to each question, which are kept up to date in threads.

    `told` is called after each change, from one of the threads. `pauses` are the seconds before the first attempt to
    read again where that failed, and at most: they are doubled. Where readings are alike, answers are renewed after
    `renewed` seconds, as they tell ages, or later where answering takes long.

    Questions that come first are answered before others and between the answers of a listing, as are those that are
    asked meanwhile. A reading that comes while a question is answered does not break that off, or those that take long
    would never be answered; that nobody asks it any more does.
    """

    def __init__(
        self,
        feed: Feed,
        told: Callable[[], None],
        *,
        least: float = LEAST,
        pauses: tuple[float, float] = (1.0, 30.0),
        renewed: float = RENEWED,
    ) -> None:
        self._feed = feed
        self._told = told
        self._least = least
        self._pauses = pauses
        self._renewed = renewed
        self._counted = self._spent = 0.0
        self._changed = threading.Condition()
        self._questions: dict[Hashable, _Asked] = {}
        self._answers: dict[Hashable, Answer] = {}
        self._running: list[Hashable] = []
        self._places = 0
        self._is_reading = False
        self._snapshot: Snapshot | None = None
        self._lost = ""
        self._ended = False
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._read, self._answer)]
        self.number = 0
        self.reading_seconds = 0.0
        self.failure: Exception | None = None

    def start(self) -> None:
        """Begin to read."""
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Read and answer no more. What is being computed is not waited for."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        self._feed.close()

    def join(self, seconds: float) -> bool:
        """Wait until nothing runs any more, so many seconds at most, and tell whether that is so."""
        end = time.monotonic() + seconds
        for thread in self._threads:
            if thread.is_alive():
                thread.join(max(0.0, end - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    @property
    def snapshot(self) -> Snapshot | None:
        """The newest reading, None before the first."""
        return self._snapshot

    def link(self) -> Link:
        """Return how what is shown hangs on the cluster."""
        if self._lost:
            return Link("lost", message=self._lost)
        return self._feed.link() if self._snapshot is not None else Link("reading")

    def ask(self, key: Hashable, question: Question, *, first: bool = False) -> None:
        """Have a question answered, now and whenever something changes, until it is forgotten."""
        with self._changed:
            before = self._questions.get(key)
            if before is not None and before.question == question:
                before.renewed = True
            else:
                self._places += 1
                self._questions[key] = _Asked(question, self._places, first)
            self._changed.notify_all()

    def rest(self, key: Hashable) -> None:
        """Keep what was answered, and do not begin to answer it anew until it is asked again."""
        with self._changed:
            if (asked := self._questions.get(key)) is not None:
                asked.renewed = False

    def forget(self, key: Hashable) -> None:
        """Answer a question no more; what is being computed for it is broken off."""
        with self._changed:
            self._questions.pop(key, None)
            self._answers.pop(key, None)

    def answer(self, key: Hashable) -> Answer | None:
        """Return the newest answer to a question, None before the first."""
        return self._answers.get(key)

    def is_stale(self, key: Hashable) -> bool:
        """Tell whether something was read that the answer does not know of."""
        found = self._answers.get(key)
        return found is not None and found.number < self.number

    def answers(self) -> Mapping[Hashable, Answer]:
        """Return the newest answer to each question."""
        with self._changed:
            return dict(self._answers)

    def _read(self) -> None:
        first, most = self._pauses
        pause = first
        while not self._ended:
            began = time.monotonic()
            try:
                snapshot = self._next_reading()
            except KoordError as problem:
                if self._snapshot is None:
                    self._fail(problem)
                    return
                self._lost = problem.message
                self._told()
                if not self._feed.wait(pause):
                    return
                pause = min(pause * 2, most)
                continue
            except Exception as problem:  # noqa: BLE001 - who looks is told
                self._fail(problem)
                return
            pause, self._lost, self.reading_seconds = first, "", time.monotonic() - began
            self._take(snapshot)
            if not (self._feed.wait(max(0.0, self._counted + self._due_again() - time.monotonic())) and self._rest()):
                return

    def _next_reading(self) -> Snapshot:
        self._is_reading = True
        try:
            return self._feed.snapshot()
        finally:
            with self._changed:
                self._is_reading = False
                self._changed.notify_all()

    def _due_again(self) -> float:
        """Return after how many seconds what was answered is answered anew, whatever has come."""
        return max(self._renewed, _SHARE * self._spent)

    def _take(self, snapshot: Snapshot) -> None:
        before = self._snapshot
        if before is None:
            gc.freeze()  # what was read first stays: it is not looked through again and again
            gc.enable()
        now = time.monotonic()
        is_new = before is None or now - self._counted >= self._due_again() or not _alike(before, snapshot)
        with self._changed:
            self._snapshot = snapshot
            if is_new:
                self.number += 1
                self._counted, self._spent = now, 0.0
                self._changed.notify_all()
        self._told()

    def _rest(self) -> bool:
        """Let more changes come; False at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended, self._least)
            return not self._ended

    def _fail(self, problem: Exception) -> None:
        self.failure = self.failure or problem
        self._told()

    def _answer(self) -> None:
        while (due := self._wait_for_due()) is not None:
            self._compute(due)

    def _compute(self, due: _Due) -> None:
        key, asked, snapshot, number = due
        last = self._places
        asker = Asker(
            wants_it=lambda: self._questions.get(key) is asked and not self._ended,
            between=(lambda: None) if asked.first else partial(self._answer_urgent, last),
        )
        began = time.monotonic()
        value, error = None, ""
        self._running.append(key)
        try:
            with asked_by(asker):
                value = asked.question(snapshot)
        except Unwanted:
            self._drop_memo(snapshot)
            return
        except KoordError as problem:
            error = problem.message
        except Exception as problem:  # noqa: BLE001 - who looks is told
            self._fail(problem)
            return
        finally:
            self._running.remove(key)
        seconds = time.monotonic() - began
        with self._changed:
            self._spent += seconds
            asked.due = time.monotonic() + _REST * seconds if asked.first else 0.0
            if self._questions.get(key) is asked:
                self._answers[key] = Answer(number, value, error, seconds, snapshot.moment)
        self._told()

    def _answer_urgent(self, last: int) -> None:
        """Answer what is more urgent than a listing that is half done, when this was the last question.

        A reading is more urgent, too: it is waited for, that both do not take turns.
        """
        with self._changed:
            self._changed.wait_for(lambda: not self._is_reading, _PATIENCE)
        while (due := self._due(last)) is not None:
            self._compute(due)

    def _drop_memo(self, snapshot: Snapshot) -> None:
        """Go on with a copy that has kept nothing: a search that was broken off may have left half of something."""
        with self._changed:
            if self._snapshot is snapshot:
                self._snapshot = structs.replace(snapshot)

    def _wait_for_due(self) -> _Due | None:
        """Wait for a question whose answer is not of the newest reading; None at the end."""
        with self._changed:
            while not self._ended and self._due() is None:
                stale = (asked for key, asked in self._questions.items() if asked.renewed and self.is_stale(key))
                until = min((asked.due for asked in stale), default=None)
                self._changed.wait(None if until is None else max(0.0, until - time.monotonic()))
            return None if self._ended else self._due()

    def _due(self, within: int | None = None) -> _Due | None:
        """Return what is to be answered next: of those that come first the first, or else that with the oldest answer.

        `within` a listing that is being answered, one that comes first, or came after so many and has no answer.
        """
        with self._changed:
            if self._snapshot is None or self.failure is not None:
                return None
            ages = {
                key: self._answers[key].number if key in self._answers else 0
                for key, asked in self._questions.items()
                if asked.renewed and key not in self._running and asked.due <= time.monotonic()
            }
            due = [key for key, age in ages.items() if age < self.number]
            first = [key for key in due if self._questions[key].first]
            if within is not None:
                due = [key for key in due if self._questions[key].place > within and key not in self._answers]
            if not (first or due):
                return None
            key = first[0] if first else min(due, key=ages.__getitem__)
            return _Due(key, self._questions[key], self._snapshot, self.number)
