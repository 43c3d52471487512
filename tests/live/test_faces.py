"""What is served of a reading: page, documents and metrics that agree, whatever else is being computed."""

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kubectl_koord.engine.budget import Budget
from kubectl_koord.errors import KoordError
from kubectl_koord.explain.every_pending import every_pending
from kubectl_koord.live import faces
from kubectl_koord.live.faces import Faces, Questions, Reply
from kubectl_koord.live.state import Feed as AnyFeed
from kubectl_koord.live.state import Link
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.render.show import to_hand_on
from kubectl_koord.render.structured import to_json
from kubectl_koord.reports.jobs import PendingGangsReport, WhyReport
from tests.build import Drawing, cluster
from tests.live.served import questions, series, why_named
from tests.live.test_state import PATIENCE, Feed

DRAWING = cluster("s0: b0[n0:8 n1:8]").with_gang("big", 3, cpu=8, must_gather="BlockLayer").with_gang("tiny", 1)


class Shown(Faces):
    """Faces that a test waits for."""

    def __init__(self, feed: AnyFeed, asked: Questions) -> None:
        self.ended = threading.Event()
        self.warned: list[str] = []
        self.settled = threading.Semaphore(0)
        super().__init__(feed, asked, self.ended.set, self.warned.append, 0.0, after=self.settled.release)

    def until(self, holds: Callable[[], bool]) -> None:
        with self._told:
            assert self._told.wait_for(holds, PATIENCE)

    def code(self, path: str) -> int:
        return self.reply(path).code

    def value(self, name: str, *labels: str) -> float:
        return series(self.reply("/metrics").body).get(name, {}).get(labels, -1)


@pytest.fixture
def feed() -> Feed:
    return Feed()


@pytest.fixture
def shown(feed: Feed) -> Iterator[Callable[..., Shown]]:
    made: list[Shown] = []

    def start(**changes: object) -> Shown:
        made.append(Shown(feed, questions(**changes)))
        made[0].holder.start()
        return made[0]

    yield start
    made[0].holder.close()
    assert made[0].holder.join(PATIENCE)


def ready(shown: Shown, feed: Feed, drawing: Drawing = DRAWING) -> Shown:
    feed.give(drawing)
    shown.until(lambda: shown.reply("/readyz").code == 200)
    return shown


def error_of(reply: Reply) -> tuple[int, str]:
    written = json.loads(reply.body)
    assert (written["apiVersion"], written["kind"], written["code"]) == ("kubectl-koord/v1alpha1", "Error", reply.code)
    return reply.code, written["message"]


def test_before_the_first_answer_it_lives_is_not_ready_and_says_so_in_metrics(
    shown: Callable[..., Shown], feed: Feed
) -> None:
    made = shown()
    assert (made.code("/healthz"), made.code("/")) == (200, 503)
    assert error_of(made.reply("/readyz")) == (503, "the cluster is being read for the first time")
    assert made.value("koord_up") == 0
    ready(made, feed)
    assert made.value("koord_up") == 1
    assert made.value("koord_requests_total", "503", "page") == 1
    made.count("refused", 421)
    assert made.value("koord_requests_total", "421", "refused") == 1


def test_documents_and_pages_are_those_of_the_commands(shown: Callable[..., Shown], feed: Feed) -> None:
    made = ready(shown(), feed)
    report = every_pending(DRAWING)
    assert made.reply("/api/v1/why-pending").body.decode() == to_json(report)
    assert made.reply("/why-pending?x=1").body.decode() == to_hand_on(report, "html")
    assert made.reply("/why-pending") is made.reply("/why-pending")
    one = why_named(DRAWING, "big")
    assert made.reply("/api/v1/why-pending/default/big").body.decode() == to_json(one)
    assert made.reply("/why-pending/pod/default/big%2D0").body.decode() == to_hand_on(one, "html")
    for verb, kind in (("topo", "Topology"), ("gangs", "Gangs"), ("quota", "QuotaTree")):
        assert json.loads(made.reply(f"/api/v1/{verb}").body)["kind"] == kind
        assert made.reply(f"/{verb}").body.startswith(b"<!DOCTYPE html>")
    overview = made.reply("/").body.decode()
    for part in ("default/big", "default/tiny", "b0", "No ElasticQuota exists"):
        assert part in overview
    assert '<a href="/why-pending/default/big">default/big</a>' in overview


def test_what_there_is_not_is_told_as_a_document(shown: Callable[..., Shown], feed: Feed) -> None:
    made = ready(shown(), feed)
    assert error_of(made.reply("/api/v1/why-pending/nobody")) == (404, "no gang 'nobody'")
    for path in ("/nowhere", "/api/v1/", "/api/v1/preempt/default/big", "/why-pending/", "/api/v1/topo/x"):
        assert error_of(made.reply(path)) == (404, "there is nothing of this name; see docs/serve.md")


def test_a_name_that_makes_trouble_ends_nothing(shown: Callable[..., Shown], feed: Feed) -> None:
    def troubled(_snapshot: Snapshot, name: str) -> WhyReport:
        raise KoordError("error: x means two things") if name == "x" else ZeroDivisionError("oh")

    made = ready(shown(gang=troubled), feed)
    assert error_of(made.reply("/api/v1/why-pending/x")) == (422, "x means two things")
    assert error_of(made.reply("/api/v1/why-pending/y")) == (500, "internal error: ZeroDivisionError: oh")
    assert made.value("koord_up") == 1


def test_what_nobody_waits_for_any_more_is_broken_off(
    shown: Callable[..., Shown], feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faces, "PATIENCE", 0.5)
    begun, ended = threading.Event(), threading.Event()

    def endless(*_: object) -> WhyReport:
        begun.set()
        try:
            while True:
                Budget().take()
        finally:
            ended.set()

    made = ready(shown(gang=endless), feed)
    asking = threading.Thread(target=made.reply, args=("/why-pending/big",))
    asking.start()
    assert begun.wait(PATIENCE)
    made.holder.close()
    assert ended.wait(PATIENCE)
    asking.join(PATIENCE)


class Held:
    """A question that blocks until it may go on."""

    def __init__(self, ask: Callable[..., Any]) -> None:
        self._ask = ask
        self.begun = threading.Semaphore(0)
        self.may_go_on = threading.Semaphore(0)

    def __call__(self, *asked: object) -> Any:  # noqa: ANN401 - of any question
        self.begun.release()
        assert self.may_go_on.acquire(timeout=PATIENCE)
        return self._ask(*asked)


def test_a_scrape_answers_out_of_the_last_state_while_the_next_is_computed(
    shown: Callable[..., Shown], feed: Feed
) -> None:
    pending = Held(every_pending)
    made = shown(pending=pending)
    pending.may_go_on.release()
    ready(made, feed)
    assert pending.begun.acquire(timeout=PATIENCE)
    feed.give(DRAWING.with_gang("more", 1))
    assert pending.begun.acquire(timeout=PATIENCE)
    before = made.reply("/metrics").body
    assert series(before)["koord_pending_gangs"][("would-start", "default")] == 1
    assert made.reply("/").code == 200
    pending.may_go_on.release()
    made.until(lambda: made.value("koord_pending_gangs", "would-start", "default") == 2)
    assert all(made.settled.acquire(timeout=PATIENCE) for _ in range(2))


def test_who_asks_for_more_waits_no_longer_than_told(
    shown: Callable[..., Shown], feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faces, "PATIENCE", 0.0)
    gang = Held(why_named)
    made = ready(shown(gang=gang), feed)
    late = made.reply("/why-pending/big")
    assert (error_of(late), late.headers) == ((503, "it takes long to compute this: try again"), {"Retry-After": "5"})
    gang.may_go_on.release()


def test_few_are_answered_on_demand_at_once_and_not_for_ever_before_the_state(
    shown: Callable[..., Shown], feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faces, "AT_ONCE", 1)
    monkeypatch.setattr(faces, "BETWEEN_STATES", 1)
    gang = Held(why_named)
    made = ready(shown(gang=gang), feed)
    first = threading.Thread(target=made.reply, args=("/why-pending/big",))
    first.start()
    assert gang.begun.acquire(timeout=PATIENCE)
    assert error_of(made.reply("/gangs")) == (503, "several answers are being computed: try again")
    feed.give(DRAWING.with_gang("more", 1))
    made.until(lambda: made.holder.number == 2)
    assert error_of(made.reply("/gangs"))[1] == "the answers are older than the cluster and come first: try again"
    gang.may_go_on.release()
    first.join(PATIENCE)
    made.until(lambda: made.value("koord_pending_gangs", "would-start", "default") == 2)
    assert made.reply("/gangs").code == 200


def test_where_a_state_cannot_be_computed_the_last_one_stays_and_metrics_say_so(
    shown: Callable[..., Shown], feed: Feed
) -> None:
    def failing(snapshot: Snapshot) -> PendingGangsReport:
        if len(snapshot.pod_groups) != 2:
            raise ZeroDivisionError("oh")
        return every_pending(snapshot)

    made = ready(shown(pending=failing), feed)
    feed.give(DRAWING.with_gang("more", 1))
    made.until(lambda: made.value("koord_up") == 0)
    assert made.value("koord_pending_gangs", "would-start", "default") == 1
    assert made.reply("/").code == 200
    feed.give(DRAWING)
    made.until(lambda: made.value("koord_up") == 1)


def test_where_no_state_was_ever_computed_readiness_says_why(shown: Callable[..., Shown], feed: Feed) -> None:
    def failing(_snapshot: Snapshot) -> PendingGangsReport:
        raise ZeroDivisionError("oh")

    made = shown(pending=failing)
    feed.give(DRAWING)
    made.until(lambda: made.holder.answer("state") is not None)
    assert error_of(made.reply("/readyz")) == (503, "internal error: ZeroDivisionError: oh")


def test_whom_waiting_gangs_preempt_is_told_beside_the_state(
    shown: Callable[..., Shown], feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = ready(shown(examined=3), feed)
    made.until(lambda: made.value("koord_preemption_examined_gangs") == 1)
    assert made.value("koord_computing_seconds", "preemption") > 0

    def failing(*_: object) -> bytes:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(faces, "preemption_of", failing)
    feed.give(DRAWING.with_gang("more", 1))
    made.until(lambda: made.value("koord_up") == 0)


def test_broken_watches_and_a_lost_cluster_are_told(shown: Callable[..., Shown], feed: Feed) -> None:
    made = ready(shown(), feed)
    feed.link = lambda: Link("interrupted", ("Pod",))  # type: ignore[method-assign]
    assert made.value("koord_watch_interrupted", "Pod") == 1
    assert made.value("koord_up") == 1
    feed.give(KoordError("error: no way there"))
    made.until(lambda: made.holder.link().status == "lost")
    assert (made.value("koord_cluster_lost"), made.value("koord_up")) == (1, 0)
    assert made.reply("/readyz").code == 200
    for path in ("/", "/topo", "/why-pending/big"):
        assert "the cluster is lost: no way there" in made.reply(path).body.decode()
    feed.link = lambda: Link("live")  # type: ignore[method-assign]
    feed.give(DRAWING.with_gang("more", 1))
    made.until(lambda: made.value("koord_up") == 1)
    assert "the cluster is lost" not in made.reply("/").body.decode()
    made.until(lambda: len(made.warned) == 2)
    assert made.warned == ["the cluster is lost: no way there", "the cluster is read and answered again"]


def test_a_page_that_cannot_be_written_is_told_and_counted(shown: Callable[..., Shown], feed: Feed) -> None:
    def failing(*_: object) -> str:
        raise ZeroDivisionError("oh")

    made = ready(shown(page=failing), feed)
    assert error_of(made.reply("/")) == (500, "internal error: ZeroDivisionError: oh")
    assert made.value("koord_requests_total", "500", "failed") == 1


def test_the_age_of_the_state_is_that_of_the_reading(shown: Callable[..., Shown], feed: Feed) -> None:
    made = ready(shown(), feed, DRAWING.but(moment="2999-01-01T00:00:00Z"))
    assert made.value("koord_state_age_seconds") == 0
    feed.give(DRAWING.with_gang("more", 1).but(moment="a moment"))
    made.until(lambda: "koord_state_age_seconds" not in series(made.reply("/metrics").body))


def test_a_record_has_no_age(shown: Callable[..., Shown], feed: Feed) -> None:
    feed.link = lambda: Link("recorded")  # type: ignore[method-assign]
    assert ready(shown(), feed).value("koord_state_age_seconds") == -1


def test_a_cluster_that_cannot_be_read_at_all_ends_it(shown: Callable[..., Shown], feed: Feed) -> None:
    made = shown()
    feed.give(KoordError("error: no way there"))
    assert made.ended.wait(PATIENCE)
    assert isinstance(made.holder.failure, KoordError)
