"""What `serve` answers, whatever the transport: pages, JSON documents and metrics of one answered reading.

All of them are of one reading, so they agree. What is asked for by name, and the list of gangs, is computed out of the
newest reading when somebody asks: one at a time, and never so often that the others grow old.
"""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TypeVar
from urllib.parse import quote, unquote

from msgspec import Struct, structs

from kubectl_koord import __version__
from kubectl_koord.diagnosis import coverage
from kubectl_koord.engine.budget import Unwanted
from kubectl_koord.engine.gangs import PodSubject
from kubectl_koord.engine.placement import sums
from kubectl_koord.engine.tree import NODE_LAYER, Tree
from kubectl_koord.errors import KoordError, NotFoundError
from kubectl_koord.explain.preempt import preempt
from kubectl_koord.explain.topo import everywhere, topo
from kubectl_koord.language import say
from kubectl_koord.live import metrics
from kubectl_koord.live.state import Feed, Holder
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values import between
from kubectl_koord.render.structured import API_VERSION, Report
from kubectl_koord.reports.capacity import QuotaTreeReport, TopologyReport
from kubectl_koord.reports.common import OF_LAYERS
from kubectl_koord.reports.jobs import GangsReport, PendingGangsReport, PreemptReport, WhyReport
from kubectl_koord.simulation.simulation import cluster_of
from kubectl_koord.simulation.subjects import pending_subjects
from kubectl_koord.simulation.submitted import ShapeError, parsed, room
from kubectl_koord.wording.words import asked_for

T = TypeVar("T")

JSON, HTML, PLAIN = "application/json", "text/html; charset=utf-8", "text/plain; charset=utf-8"
_STATE, _PREEMPTION = "state", "preemption"
AT_ONCE = 4
"""So many may wait for what is computed only when it is asked for."""
BETWEEN_STATES = 20
"""So many of these are computed while the state is older than the newest reading."""
_PREEMPTING = 5.0
"""Seconds after which no further gang is examined for whom it would preempt."""
PATIENCE = 30.0
"""Seconds after which one who waits for such an answer is told to try again."""
_AGAIN = {"Retry-After": "5"}


class Reply(Struct, frozen=True):
    """What is answered: an HTTP status, the type of the content, the content, and further headers."""

    code: int
    kind: str
    body: bytes
    headers: Mapping[str, str] = {}


class Questions(Struct, frozen=True):
    """What only the command line knows how to ask and to write.

    `page` writes reports below each other as one HTML page, with paths to which rows lead, and a warning above them
    unless it is empty; `document` writes one as JSON. `shapes` are those of which slots are counted, `examined` is of
    how many gangs preemption is computed at most.
    """

    pending: Callable[[Snapshot], PendingGangsReport]
    gang: Callable[[Snapshot, str], WhyReport]
    gangs: Callable[[Snapshot], GangsReport]
    quotas: Callable[[Snapshot], QuotaTreeReport]
    page: Callable[[Sequence[Report], Mapping[str, str], str], str]
    document: Callable[[Report], str]
    shapes: Sequence[str] = ()
    examined: int = 0


class State(Struct, frozen=True):
    """The answers to one reading, its metrics as they are told, and what was `written` of it for those who asked."""

    pending: PendingGangsReport
    topology: TopologyReport
    quotas: QuotaTreeReport
    metrics: bytes
    written: dict[str, Reply] = {}


class Failed(Struct, frozen=True):
    """Why something cannot be answered, with the status that tells it."""

    code: int
    message: str


def state_of(snapshot: Snapshot, questions: Questions) -> State:
    """Return all that is told of a reading."""
    pending, topology, quotas = questions.pending(snapshot), topo(snapshot), questions.quotas(snapshot)
    found = metrics.Values()
    metrics.of_gaps(found, snapshot.gaps)
    metrics.of_pending(found, pending, snapshot.gaps)
    rooms = {shape: _room(snapshot, shape) for shape in questions.shapes}
    metrics.of_topology(found, topology, everywhere(snapshot, topology), rooms)
    metrics.of_quotas(found, quotas)
    found.add("koord_build_info", 1, __version__, pending.basis.koordinator_version)
    return State(pending, topology, quotas, metrics.text(found))


def _room(snapshot: Snapshot, text: str) -> metrics.Room | None:
    """Return how many pods of a shape fit, as `topo --shape` counts them, and on nodes outside the tree as well.

    None where no node has such a resource, or something could not be read.
    """
    try:
        shape = parsed(snapshot, text)
    except ShapeError:
        return None
    if coverage.unread_for_room(PodSubject(shape.pod), snapshot):
        return None
    cluster = cluster_of(snapshot)
    counts, tree = room(cluster, shape).counts, cluster.tree
    domains = tree.domains if isinstance(tree, Tree) else ()
    summed = zip(domains, sums(tree, counts) if isinstance(tree, Tree) else (), strict=True)
    inner = {(domain.layer, domain.name): pods for domain, pods in summed if domain.layer != NODE_LAYER}
    return metrics.Room(sum(counts.values()), inner)


def preemption_of(snapshot: Snapshot, pending: PendingGangsReport | None, most: int) -> bytes:
    """Return the metrics of whom waiting gangs would preempt, the highest priority and the longest wait first.

    `most` gangs are examined, and no further one after some seconds: of many it takes minutes.
    """
    items = () if pending is None else pending.items
    waiting = [one for one in items if one.verdict == "no" and one.cause and one.cause.code not in OF_LAYERS]
    waiting.sort(key=lambda one: (-(one.priority or 0), one.waiting_since or "~", one.gang))
    subjects = {subject.key: subject for subject in pending_subjects(snapshot)}
    cluster, reports = cluster_of(snapshot), list[PreemptReport]()
    end = time.monotonic() + _PREEMPTING
    for item in waiting[:most]:
        if item.gang in subjects and time.monotonic() < end:
            reports.append(preempt(snapshot, subjects[item.gang], sharing=cluster))
    found = metrics.Values()
    metrics.of_preemption(found, reports, len(waiting) - len(reports))
    return metrics.text(found)


class Faces:
    """Answers requests out of what is known.

    `failed` is called once nothing will be read any more; `warn` with the reason where what is told begins to grow
    old, and where that is over; `after` each state, before the next question.
    """

    def __init__(
        self,
        feed: Feed,
        questions: Questions,
        failed: Callable[[], None],
        warn: Callable[[str], None],
        interval: float,
        after: Callable[[], object] = lambda: None,
    ) -> None:
        self._questions = questions
        self._after = after
        self._failed = failed
        self._warn = warn
        self._known = ""
        self._state: State | None = None
        self._preemption = b""
        self._told = threading.Condition()
        self._asking = threading.BoundedSemaphore(AT_ONCE)
        self._asked = 0
        self._writing = threading.Lock()
        self._counts: Counter[tuple[str, str]] = Counter()
        self._counting = threading.Lock()
        self.holder = Holder(feed, self._tell, least=interval)
        self.holder.ask(_STATE, self._answer)

    def _tell(self) -> None:
        trouble = self.trouble()
        with self._told:
            has_changed, self._known = trouble != self._known, trouble
            self._told.notify_all()
        if has_changed:
            self._warn(trouble or say("the cluster is read and answered again"))
        if self.holder.failure is not None:
            self._failed()

    def trouble(self) -> str:
        """Return why what is told only grows old: the cluster is lost, or there is no answer; empty if not."""
        link = self.holder.link()
        if link.status == "lost":
            return say("the cluster is lost: {why}", why=link.message.removeprefix("error: "))
        return next(filter(None, map(self._failure_of, (_STATE, _PREEMPTION))), "")

    def _answer(self, snapshot: Snapshot) -> bool:
        found = _guarded(lambda: state_of(snapshot, self._questions))
        if isinstance(found, Failed):
            raise KoordError(found.message)
        self._state, self._asked = found, 0
        self._after()
        if self._questions.examined:  # which is known of a state alone
            self.holder.ask(_PREEMPTION, self._examine)
        return True

    def _examine(self, snapshot: Snapshot) -> bool:
        pending = self._state.pending if self._state is not None else None
        found = _guarded(lambda: preemption_of(snapshot, pending, self._questions.examined))
        if isinstance(found, Failed):
            raise KoordError(found.message)
        self._preemption = found
        return True

    def reply(self, target: str) -> Reply:
        """Return what is answered to a request for a path, its query left out of account."""
        path = target.partition("?")[0]
        words = [unquote(word) for word in path.split("/")[1:]]
        found = _guarded(lambda: self._of(words))
        face, reply = ("failed", error(found.code, found.message)) if isinstance(found, Failed) else found
        self.count(face, reply.code)
        return reply

    def count(self, face: str, code: int) -> None:
        """Count a request that was answered, or refused."""
        with self._counting:
            self._counts[face, str(code)] += 1

    def _of(self, words: Sequence[str]) -> tuple[str, Reply]:
        """Return the answer, and which face of a few it is."""
        match words:
            case ["metrics"]:
                return "metrics", Reply(200, metrics.CONTENT_TYPE, self._metrics())
            case ["healthz"]:
                return "health", Reply(200, PLAIN, b"ok\n")
            case ["readyz"]:
                return "health", self._with_state(lambda _: Reply(200, PLAIN, b"ok\n"))
            case [""]:
                return "page", self._with_state(self._overview)
            case ["api", "v1", *rest]:
                return "api", self._with_state(lambda state: self._named(state, rest, self._as_json))
            case _:
                return "page", self._with_state(lambda state: self._named(state, words, self._as_page))

    def _with_state(self, reply: Callable[[State], Reply]) -> Reply:
        state = self._state
        if state is not None:
            return reply(state)
        answer = self.holder.answer(_STATE)
        return error(
            503, answer.error if answer is not None else "the cluster is being read for the first time", _AGAIN
        )

    def _overview(self, state: State) -> Reply:
        reports = (state.pending, _folded(state.topology), state.quotas)
        trouble, links = self.trouble(), _links(state.pending)
        return self._once(state, f"/{trouble}", lambda: (HTML, self._questions.page(reports, links, trouble)))

    def _as_json(self, report: Report) -> tuple[str, str]:
        return JSON, self._questions.document(report)

    def _as_page(self, report: Report) -> tuple[str, str]:
        return HTML, self._questions.page((_folded(report),), {}, self.trouble())

    def _named(self, state: State, words: Sequence[str], write: Callable[[Report], tuple[str, str]]) -> Reply:
        """Return what a path names: what is known of the reading, or what is computed out of it now."""
        known: Mapping[str, Report] = {
            "why-pending": state.pending,
            "topo": state.topology,
            "quota": state.quotas,
        }
        match words:
            case [verb] if verb in known:
                return self._once(state, f"{write.__name__} {verb}{self.trouble()}", lambda: write(known[verb]))
            case ["gangs"]:
                return self._now(self._questions.gangs, write)
            case ["why-pending", *names] if all(names):
                return self._now(lambda snapshot: self._questions.gang(snapshot, "/".join(names)), write)
            case _:
                return error(404, say("there is nothing of this name; see docs/serve.md"))

    def _once(self, state: State, name: str, write: Callable[[], tuple[str, str]]) -> Reply:
        """Return what is written once for each state, by whoever is first to ask."""
        with self._writing:
            if name not in state.written:
                kind, text = write()
                state.written[name] = Reply(200, kind, text.encode())
            return state.written[name]

    def _now(self, ask: Callable[[Snapshot], Report], write: Callable[[Report], tuple[str, str]]) -> Reply:
        """Return what is computed out of the newest reading, beside what is answered anyway."""
        if self._asked >= BETWEEN_STATES and self.holder.is_stale(_STATE):
            return error(503, say("the answers are older than the cluster and come first: try again"), _AGAIN)
        if not self._asking.acquire(blocking=False):
            return error(503, say("several answers are being computed: try again"), _AGAIN)
        self._asked += 1
        key = object()

        def once(snapshot: Snapshot) -> Report | Failed:
            self.holder.rest(key)
            return _guarded(lambda: ask(snapshot))

        try:
            self.holder.ask(key, once, first=True)
            with self._told:
                self._told.wait_for(lambda: self.holder.answer(key) is not None, PATIENCE)
            answer = self.holder.answer(key)
        finally:
            self.holder.forget(key)
            self._asking.release()
        if answer is None:
            return error(503, say("it takes long to compute this: try again"), _AGAIN)
        if isinstance(answer.value, Failed):
            return error(answer.value.code, answer.value.message)
        kind, text = write(answer.value)
        return Reply(200, kind, text.encode())

    def _metrics(self) -> bytes:
        """Return what was computed of the state, and how we do now: nothing of the cluster is computed."""
        state, link, found = self._state, self.holder.link(), metrics.Values()
        is_answered = not any(self._failure_of(part) for part in (_STATE, _PREEMPTION))
        is_reached = link.status in {"recorded", "live", "interrupted"}
        found.add("koord_up", state is not None and is_answered and is_reached)
        found.add("koord_cluster_lost", link.status == "lost")
        found.add("koord_reading_seconds", self.holder.reading_seconds)
        found.add("koord_readings_total", self.holder.number)
        for kind in link.kinds:
            found.add("koord_watch_interrupted", 1, kind)
        for part in (_STATE, _PREEMPTION):
            if (answer := self.holder.answer(part)) is not None:
                found.add("koord_computing_seconds", answer.seconds, part)
        age = between(state.pending.basis.moment, datetime.now(UTC).isoformat()) if state is not None else None
        if age is not None and link.status != "recorded":
            found.add("koord_state_age_seconds", max(0.0, age.total_seconds()))
        with self._counting:
            counts = dict(self._counts)
        for (face, code), number in counts.items():
            found.add("koord_requests_total", number, face, code)
        return metrics.text(found, process=True) + (state.metrics + self._preemption if state is not None else b"")

    def _failure_of(self, part: str) -> str:
        answer = self.holder.answer(part)
        return answer.error if answer is not None else ""


def _links(report: PendingGangsReport) -> Mapping[str, str]:
    """Return by the names of those that wait where their own page is."""
    names = (asked_for(item.gang, lone_pod=item.lone_pod) for item in report.items)
    return {name: f"/why-pending/{quote(name)}" for name in names}


def _folded(report: Report) -> Report:
    """Return what a page shows: of a topology its domains, as `topo -o html` does."""
    return structs.replace(report, nodes=()) if isinstance(report, TopologyReport) else report


def _guarded(ask: Callable[[], T]) -> T | Failed:
    """Return the answer, or why there is none: whatever goes wrong, the others go on to be answered."""
    try:
        return ask()
    except Unwanted:
        raise
    except NotFoundError as problem:
        return Failed(404, problem.message)
    except KoordError as problem:
        return Failed(422, problem.message)
    except Exception as problem:  # noqa: BLE001 - who asks is told
        return Failed(500, say("internal error: {name}: {problem}", name=type(problem).__name__, problem=problem))


def error(code: int, message: str, headers: Mapping[str, str] | None = None) -> Reply:
    """Return the document that tells what is wrong with a request, or why it cannot be answered."""
    written = {"apiVersion": API_VERSION, "kind": "Error", "code": code, "message": message.removeprefix("error: ")}
    return Reply(code, JSON, f"{json.dumps(written, indent=2)}\n".encode(), headers or {})
