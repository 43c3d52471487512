"""What holds the newest reading and the newest answers: one thread reads, one answers."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count

import pytest

from kubectl_koord.engine.budget import Budget, between_answers
from kubectl_koord.errors import KoordError
from kubectl_koord.live.state import Followed, Holder, Link, Recorded
from kubectl_koord.model.snapshot import Snapshot

PATIENCE, LONGEST_PAUSE = 20.0, 1.0


def reading(moment: str) -> Snapshot:
    return Snapshot(moment, {}, {}, source=f"the {moment}th")


class Told:
    """Who is told that something is new, and can wait for it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()

    def __call__(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def until(self, holds: Callable[[], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(holds, PATIENCE)


class Feed:
    """Readings that a test hands over; an error is raised in place of one."""

    def __init__(self) -> None:
        self._ready = threading.Condition()
        self._next: list[Snapshot | Exception] = []
        self.pauses: list[float] = []
        self.ended = False

    def give(self, one: Snapshot | Exception) -> None:
        with self._ready:
            self._next.append(one)
            self._ready.notify_all()

    def snapshot(self) -> Snapshot:
        with self._ready:
            assert self._ready.wait_for(lambda: self._next, PATIENCE)
            one = self._next.pop(0)
        if isinstance(one, Exception):
            raise one
        return one

    def wait(self, seconds: float) -> bool:
        with self._ready:
            if seconds <= LONGEST_PAUSE:
                self.pauses.append(seconds)
            self._ready.wait_for(lambda: self._next or self.ended, PATIENCE)
            return not self.ended

    def link(self) -> Link:
        return Link("live")

    def close(self) -> None:
        with self._ready:
            self.ended = True
            self._ready.notify_all()


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def feed() -> Feed:
    return Feed()


@pytest.fixture
def holder(feed: Feed, told: Told) -> Iterator[Holder]:
    made = Holder(feed, told, least=0.0, pauses=(0.5, LONGEST_PAUSE))
    yield made
    made.close()
    made.join(PATIENCE)


def _has_read(holder: Holder, number: int, asked: list[str]) -> bool:
    return holder.number == number and bool(asked)


def _noted(order: list[str], key: str, snapshot: Snapshot) -> None:
    order.append(f"{key} {snapshot.moment}")


def moment_of(holder: Holder, key: str) -> str:
    answer = holder.answer(key)
    return answer.value if answer is not None and answer.value is not None else ""


def test_a_question_is_answered_again_after_each_reading_until_it_is_forgotten(
    holder: Holder, feed: Feed, told: Told
) -> None:
    assert (holder.link(), holder.snapshot, holder.answer("when")) == (Link("reading"), None, None)
    holder.ask("when", lambda snapshot: snapshot.moment)
    holder.start()
    feed.give(reading("1"))
    told.until(lambda: moment_of(holder, "when") == "1")
    assert holder.link() == Link("live")
    assert not holder.is_stale("when")
    feed.give(reading("2"))
    told.until(lambda: moment_of(holder, "when") == "2")
    holder.forget("when")
    assert holder.answer("when") is None
    assert not holder.is_stale("when")
    holder.ask("again", lambda snapshot: snapshot.moment)
    told.until(lambda: moment_of(holder, "again") == "2")
    assert set(holder.answers()) == {"again"}


def test_readings_that_come_while_it_computes_are_skipped_but_for_the_newest(
    holder: Holder, feed: Feed, told: Told
) -> None:
    may_go_on, asked = threading.Semaphore(0), list[str]()

    def slow(snapshot: Snapshot) -> str:
        asked.append(snapshot.moment)
        told()
        may_go_on.acquire(timeout=PATIENCE)
        return snapshot.moment

    holder.ask("slow", slow)
    holder.start()
    for number in range(1, 5):
        feed.give(reading(str(number)))
        told.until(partial(_has_read, holder, number, asked))
    may_go_on.release()
    told.until(lambda: moment_of(holder, "slow") == "1")
    assert holder.is_stale("slow")
    may_go_on.release()
    told.until(lambda: moment_of(holder, "slow") == "4")
    assert asked == ["1", "4"]


def test_what_is_newly_asked_is_answered_before_old_answers_are_renewed(holder: Holder, feed: Feed, told: Told) -> None:
    order: list[str] = []
    for key in ("first", "second"):
        holder.ask(key, partial(_noted, order, key))
    holder.start()
    feed.give(reading("1"))
    told.until(lambda: len(holder.answers()) == 2)
    gate = threading.Event()
    holder.ask("gate", lambda _: gate.wait(PATIENCE))
    feed.give(reading("2"))
    told.until(lambda: holder.number == 2)
    holder.ask("new", partial(_noted, order, "new"))
    gate.set()
    told.until(lambda: len(holder.answers()) == 4 and not any(map(holder.is_stale, ("first", "second", "new"))))
    assert order.index("new 2") < order.index("second 2")


def test_a_reading_in_which_nothing_differs_but_the_time_renews_no_answer(
    holder: Holder, feed: Feed, told: Told
) -> None:
    asked = list[str]()
    holder.ask("x", partial(_noted, asked, "x"))
    holder.start()
    feed.give(Snapshot("1", {}, {}))
    told.until(lambda: len(asked) == 1 and "x" in holder.answers())
    feed.give(Snapshot("2", {}, {}, leases=()))
    told.until(lambda: holder.snapshot is not None and holder.snapshot.moment == "2")
    assert (holder.number, holder.is_stale("x"), asked) == (1, False, ["x 1"])
    feed.give(Snapshot("3", {}, {}, source="other"))
    told.until(lambda: holder.number == 2 and not holder.is_stale("x"))
    assert asked == ["x 1", "x 3"]


def test_a_question_that_is_at_rest_keeps_its_answer_until_it_is_asked_again(
    holder: Holder, feed: Feed, told: Told
) -> None:
    asked = list[str]()
    question = partial(_noted, asked, "x")
    holder.ask("x", question)
    holder.start()
    feed.give(reading("1"))
    told.until(lambda: "x" in holder.answers())
    holder.rest("x")
    holder.rest("unknown")
    feed.give(reading("2"))
    holder.ask("y", lambda snapshot: snapshot.moment)
    told.until(lambda: moment_of(holder, "y") == "2")
    assert holder.is_stale("x")
    holder.ask("x", question)
    told.until(lambda: not holder.is_stale("x"))
    assert asked == ["x 1", "x 2"]


@pytest.mark.parametrize("is_newer", [False, True])
def test_what_nobody_asks_any_more_is_broken_off_at_its_next_step(
    holder: Holder, feed: Feed, told: Told, *, is_newer: bool
) -> None:
    began, gate, memos = threading.Event(), threading.Event(), list[object]()

    def long(snapshot: Snapshot) -> str:
        memos.append(snapshot.memo)
        began.set()
        gate.wait(PATIENCE)
        Budget().take()
        return "never"

    holder.ask("long", long)
    holder.start()
    feed.give(reading("1"))
    assert began.wait(PATIENCE)
    holder.forget("long")
    if is_newer:
        feed.give(reading("2"))
        told.until(lambda: holder.number > 1)
    holder.ask("next", lambda snapshot: memos.append(snapshot.memo))
    gate.set()
    told.until(lambda: "next" in holder.answers())
    assert "long" not in holder.answers()
    assert memos[0] is not memos[1]
    assert holder.failure is None


def test_what_comes_first_or_is_new_is_answered_within_a_listing(holder: Holder, feed: Feed, told: Told) -> None:
    began, gate, order = threading.Event(), threading.Event(), list[str]()

    def listing(snapshot: Snapshot) -> None:
        began.set()
        gate.wait(PATIENCE)
        between_answers()
        order.append(f"listing {snapshot.moment}")

    holder.ask("listing", listing)
    holder.ask("first", partial(_noted, order, "first"), first=True)
    holder.start()
    feed.give(reading("1"))
    assert began.wait(PATIENCE)
    feed.give(reading("2"))
    told.until(lambda: holder.number == 2)
    holder.ask("new", partial(_noted, order, "new"))
    gate.set()
    told.until(lambda: len(order) == 5 and not holder.is_stale("listing"))
    assert order == ["first 1", "first 2", "new 2", "listing 1", "listing 2"]


def test_what_comes_first_rests_after_an_answer_and_is_answered_then(holder: Holder, feed: Feed, told: Told) -> None:
    order: list[str] = []

    def slow(snapshot: Snapshot) -> None:
        time.sleep(0.02)
        between_answers()
        order.append(f"slow {snapshot.moment}")

    holder.ask("slow", slow, first=True)
    holder.ask("other", partial(_noted, order, "other"))
    holder.start()
    feed.give(reading("1"))
    told.until(lambda: "other" in holder.answers())
    feed.give(reading("2"))
    told.until(lambda: len(order) == 4)
    assert order == ["slow 1", "other 1", "other 2", "slow 2"]


def test_what_only_ages_is_answered_anew_after_a_while(feed: Feed, told: Told) -> None:
    made = Holder(feed, told, least=0.0, renewed=0.0)
    made.ask("x", lambda snapshot: snapshot.moment)
    made.start()
    feed.give(Snapshot("1", {}, {}))
    told.until(lambda: moment_of(made, "x") == "1")
    for number in count(2):
        feed.give(Snapshot(str(number), {}, {}))
        told.until(partial(_is_read, made, str(number)))
        if made.number > 1:
            break
    told.until(lambda: moment_of(made, "x") != "1")
    made.close()
    assert made.join(PATIENCE)


def _is_read(holder: Holder, moment: str) -> bool:
    return holder.snapshot is not None and holder.snapshot.moment == moment


def test_a_question_that_was_replaced_or_forgotten_while_it_was_answered_has_no_answer(
    holder: Holder, feed: Feed, told: Told
) -> None:
    began, gate = threading.Event(), threading.Event()

    def slow(_: Snapshot) -> str:
        began.set()
        gate.wait(PATIENCE)
        return "too late"

    holder.ask("x", slow)
    holder.start()
    feed.give(reading("1"))
    assert began.wait(PATIENCE)
    holder.ask("x", lambda _: "other")
    gate.set()
    told.until(lambda: moment_of(holder, "x") == "other")


def test_an_error_of_a_question_is_its_answer_and_others_go_on(holder: Holder, feed: Feed, told: Told) -> None:
    def gone(_: Snapshot) -> None:
        raise KoordError("error: gone")

    holder.ask("gone", gone)
    holder.ask("when", lambda snapshot: snapshot.moment)
    holder.start()
    feed.give(reading("1"))
    told.until(lambda: len(holder.answers()) == 2)
    assert (holder.answers()["gone"].error, moment_of(holder, "when")) == ("error: gone", "1")
    assert holder.failure is None


def test_a_lost_cluster_is_told_tried_again_with_longer_pauses_and_taken_up(
    holder: Holder, feed: Feed, told: Told
) -> None:
    holder.ask("when", lambda snapshot: snapshot.moment)
    holder.start()
    feed.give(reading("1"))
    told.until(lambda: moment_of(holder, "when") == "1")
    for _ in range(3):
        feed.give(KoordError("error: no route"))
    told.until(lambda: len(feed.pauses) == 3)
    assert holder.link() == Link("lost", message="error: no route")
    assert moment_of(holder, "when") == "1"
    feed.give(reading("2"))
    told.until(lambda: moment_of(holder, "when") == "2")
    assert (holder.link(), feed.pauses) == (Link("live"), [0.5, 1.0, 1.0])


def test_it_ends_while_the_cluster_is_lost(holder: Holder, feed: Feed, told: Told) -> None:
    holder.start()
    feed.give(reading("1"))
    told.until(lambda: holder.number == 1)
    feed.give(KoordError("error: no route"))
    told.until(lambda: bool(feed.pauses))
    holder.close()
    assert holder.join(PATIENCE)


class Stubborn(Feed):
    """A feed that does not tell its end."""

    def wait(self, seconds: float) -> bool:
        super().wait(seconds)
        return True


def test_it_ends_after_its_end_whatever_the_feed_says(told: Told) -> None:
    feed = Stubborn()
    made = Holder(feed, told, least=0.0)
    made.start()
    feed.give(reading("1"))
    told.until(lambda: made.number == 1)
    feed.give(KoordError("error: no route"))
    told.until(lambda: bool(feed.pauses))
    made.close()
    assert made.join(PATIENCE)


@pytest.mark.parametrize("problem", [KoordError("error: refused"), ValueError("a fault of ours")], ids=str)
def test_a_first_reading_that_fails_is_told_to_who_looks(
    holder: Holder, feed: Feed, told: Told, problem: Exception
) -> None:
    holder.start()
    feed.give(problem)
    told.until(lambda: holder.failure is not None)
    assert holder.failure is problem


def test_a_fault_of_ours_in_a_question_is_told_to_who_looks(holder: Holder, feed: Feed, told: Told) -> None:
    holder.ask("bad", lambda _: 1 // 0)
    holder.start()
    feed.give(reading("1"))
    told.until(lambda: holder.failure is not None)
    assert isinstance(holder.failure, ZeroDivisionError)


def test_a_record_is_read_once(told: Told) -> None:
    feed = Recorded(lambda: reading("1"))
    made = Holder(feed, told)
    made.ask("when", lambda snapshot: snapshot.moment)
    made.start()
    told.until(lambda: moment_of(made, "when") == "1")
    assert (made.link(), feed.wait(1.0)) == (Link("recorded"), False)
    made.close()


class Watched:
    """A watch whose descriptor is a pipe's."""

    def __init__(self, problem: KoordError | None = None) -> None:
        self.read, self.write = os.pipe()
        self.problem = problem
        self.kinds: tuple[str, ...] = ()
        self.closed = 0

    def fileno(self) -> int:
        return self.read

    def snapshot(self) -> Snapshot:
        if self.problem is not None:
            raise self.problem
        return reading("now")

    def interrupted(self) -> tuple[str, ...]:
        return self.kinds

    def close(self) -> None:
        self.closed += 1


def test_a_followed_cluster_waits_for_a_change_and_takes_a_new_watch_for_one_that_gave_up() -> None:
    watches = [Watched(), Watched()]
    feed = Followed(iter(watches).__next__)
    assert feed.link() == Link("live")
    assert feed.snapshot().moment == "now"
    os.write(watches[0].write, b"!")
    assert feed.wait(PATIENCE)
    watches[0].kinds = ("Node", "Pod")
    assert feed.link() == Link("interrupted", ("Node", "Pod"))
    watches[0].problem = KoordError("error: gave up")
    with pytest.raises(KoordError, match="gave up"):
        feed.snapshot()
    assert watches[0].closed == 1
    assert feed.wait(0.0)
    assert feed.snapshot().moment == "now"
    feed.close()
    feed.close()
    assert not feed.wait(PATIENCE)
    assert watches[1].closed == 1


def test_a_followed_cluster_ends_before_anything_was_read() -> None:
    feed = Followed(Watched)
    feed.close()
    assert not feed.wait(PATIENCE)
