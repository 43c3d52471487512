"""The order in which pending jobs are tried, and what those that go first take."""

from collections.abc import Iterable

import pytest
from msgspec import structs

from kubectl_koord.engine import queue as module
from kubectl_koord.engine.blockers import jobs
from kubectl_koord.engine.gangs import Subject
from kubectl_koord.engine.queue import (
    After,
    JobsAhead,
    Nominated,
    NotPlaced,
    Placed,
    Preempting,
    SchedulingQueue,
    Tried,
    by_priority_and_age,
    fits_wherever,
    higher_priority,
    least_priority,
    may_fit_wherever,
    priority,
)
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.state import View, of
from kubectl_koord.engine.tree import build
from kubectl_koord.engine.trying import attempt
from kubectl_koord.model.pods import PodTerm
from tests.build import SPINE, Drawing, card, cluster, having
from tests.engine.filters.device_share.world import node_with

DRAWN = (
    cluster("s0: b0[n1 n2]")
    .with_pod("low", priority=1)
    .with_pod("mid", priority=5, created="2026-11-20T09:00:00Z")
    .with_pod("also-mid", priority=5, created="2026-11-20T09:30:00Z")
    .with_gang("top", 2, priority=9)
)
TWO = cluster("s0: b0[n1]").with_gang("job", 2)
NOW = After(of(DRAWN), ())
NAMES = ("low", "mid", "also-mid", "top")


def subjects(drawing: Drawing = DRAWN) -> list[Subject]:
    return [drawing.subject(name) for name in NAMES]


def queue(asked: list[str], *, certain: bool = True) -> SchedulingQueue:
    def tried(subject: Subject, _now: After, _preempting: Preempting) -> Tried:
        asked.append(subject.key)
        if subject.key == "default/mid":
            return Tried((NotPlaced(),), are_all=True, asked=False)
        return Tried((Placed({"n1": subject.pending}),), are_all=certain)

    return SchedulingQueue(subjects(), NOW, tried)


def on(view: View, node: str) -> list[str]:
    return [pod.name for pod in view.occupants(node)]


def names(found: Iterable[Subject]) -> list[str]:
    return [subject.key.removeprefix("default/") for subject in found]


def test_the_highest_priority_goes_first_and_of_equals_the_oldest() -> None:
    assert names(by_priority_and_age(subjects())) == ["top", "mid", "also-mid", "low"]
    assert names(higher_priority(subjects(), 1)) == ["top", "also-mid", "mid"]
    assert names(higher_priority(subjects(), 9)) == []


@pytest.mark.parametrize("held", [{"terminating": True}, {"gates": ("g",)}])
def test_members_that_never_come_to_the_queue_do_not_raise_the_priority_of_a_job(held: dict[str, object]) -> None:
    drawing = TWO.with_pod("job-9", gang="job", priority=7)
    assert priority(drawing.subject("job")) == 7
    assert priority(drawing.change_pods("job-9", **held).subject("job")) == 0
    assert priority(drawing.change_pods(**held).subject("job")) == 7


@pytest.mark.parametrize("held", [{"terminating": True}, {"gates": ("g",)}])
def test_any_other_member_may_stand_for_a_job_in_the_queue(held: dict[str, object]) -> None:
    drawing = TWO.with_pod("job-9", gang="job", priority=-7)
    assert least_priority(drawing.subject("job")) == -7
    assert least_priority(drawing.change_pods("job-9", **held).subject("job")) == 0


@pytest.mark.parametrize(("lowest", "surely"), [(6, True), (5, False), (4, False)])
def test_a_job_goes_first_for_sure_where_all_its_pods_would(lowest: int, *, surely: bool) -> None:
    drawing = DRAWN.change_pods("top-1", priority=lowest)
    found = SchedulingQueue(
        [drawing.subject("top")],
        After(of(drawing), ()),
        lambda job, _, __: Tried((Placed({"n1": job.pending}),), are_all=True),
    )
    ahead = found.ahead_of(drawing.subject("mid"), is_planned=False)
    assert (ahead.names, ahead.surely) == (("default/top",), surely)


def test_jobs_of_higher_priority_take_their_nodes_first_and_each_is_tried_once() -> None:
    asked: list[str] = []
    queued = queue(asked)
    second = queued.ahead_of(DRAWN.subject("mid"), is_planned=False)
    assert (second.names, on(second.view, "n1"), asked) == (("default/top",), ["top-0", "top-1"], ["default/top"])
    assert (second.tried, second.asked, queued.knows_before(DRAWN.subject("mid"))) == (1, 1, True)
    assert not queued.knows_before(DRAWN.subject("low"))
    last = queued.ahead_of(DRAWN.subject("low"), is_planned=False)
    assert (last.tried, last.asked, queued.knows_before(DRAWN.subject("low"))) == (3, 2, True)
    assert (last.names, on(last.view, "n1")) == (("default/top", "default/also-mid"), ["top-0", "top-1", "also-mid"])
    assert (last.undetermined, last.fixed.view) == ((), last.view)
    assert asked == ["default/top", "default/also-mid", "default/mid"]
    first = queued.ahead_of(DRAWN.subject("top"), is_planned=False)
    assert (first.names, on(first.view, "n1"), on(first.fixed.view, "n1")) == ((), [], [])


def test_where_pods_go_that_are_all_alike_matters_only_to_a_plan() -> None:
    alike = queue([], certain=False).ahead_of(DRAWN.subject("low"), is_planned=False)
    assert alike.undetermined == ()
    planned = queue([], certain=False).ahead_of(DRAWN.subject("low"), is_planned=True)
    assert [pod.name for pod in planned.undetermined] == ["top-0", "top-1", "also-mid"]
    assert (on(planned.fixed.view, "n1"), on(planned.view, "n1")) == ([], ["top-0", "top-1", "also-mid"])


@pytest.mark.parametrize(("certain", "elsewhere"), [(True, []), (False, ["also-mid"])])
def test_a_job_may_be_placed_that_finds_no_place_where_it_is_open_who_takes_it(
    elsewhere: list[str], *, certain: bool
) -> None:
    def tried(subject: Subject, now: After, _preempting: Preempting) -> Tried:
        if subject.key == "default/mid" or (subject.key == "default/also-mid" and on(now.view, "n1")):
            return Tried((NotPlaced(),), are_all=True)
        return Tried((Placed({"n1": subject.pending}),), are_all=certain)

    ahead = SchedulingQueue(subjects(), NOW, tried).ahead_of(DRAWN.subject("low"), is_planned=False)
    assert [pod.name for pod in ahead.elsewhere] == [pod.name for pod in ahead.undetermined] == elsewhere
    assert ahead.names == ("default/top", *(f"default/{name}" for name in elsewhere))
    assert on(ahead.view, "n1") == on(ahead.fixed.view, "n1") == ["top-0", "top-1"]


def test_a_job_may_be_placed_of_which_it_is_open_whether_it_finds_a_place() -> None:
    found = SchedulingQueue(subjects(), NOW, lambda _, __, ___: Tried((NotPlaced(),), are_all=False, may_be=True))
    ahead = found.ahead_of(DRAWN.subject("mid"), is_planned=False)
    assert (ahead.names, [pod.name for pod in ahead.elsewhere]) == (("default/top",), ["top-0", "top-1"])


@pytest.mark.parametrize(
    ("are_all", "ways", "behind"),
    [
        (True, 2, [(None, ["top-0", "top-1"]), (None, [])]),
        (False, 1, [(1, ["top-0", "top-1"]), ("not at all", [])]),
    ],
)
def test_once_not_all_that_may_come_is_followed_only_what_is_likeliest_is(
    ways: int, behind: list[tuple[object, list[str]]], *, are_all: bool
) -> None:
    asked: list[tuple[object, list[str]]] = []

    def tried(subject: Subject, now: After, preempting: Preempting) -> Tried:
        if subject.key == "default/also-mid":
            asked.append((preempting.most if preempting.budget.left else "not at all", on(now.view, "n1")))
        if subject.key != "default/top":
            return Tried((NotPlaced(),), are_all=True)
        return Tried((Placed({"n1": subject.pending}), Placed({"n2": subject.pending})), are_all=are_all)

    ahead = SchedulingQueue(subjects(), NOW, tried).ahead_of(DRAWN.subject("low"), is_planned=False)
    assert (len(ahead.ways), ahead.are_all, asked) == (ways, are_all, behind)


def test_of_very_many_jobs_that_go_first_the_last_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_AHEAD", 1)
    asked: list[str] = []
    queued = queue(asked)
    ahead = [queued.ahead_of(DRAWN.subject(name), is_planned=False) for name in ("top", "mid", "low", "low")]
    assert [[pod.name for pod in one.untried] for one in ahead] == [[], [], ["also-mid", "mid"], ["also-mid", "mid"]]
    assert asked == ["default/top"]


@pytest.mark.parametrize(
    ("nodes", "must_gather", "fits"),
    [
        ("n1 n2 n3", "", True),
        ("n1 n2", "", False),
        ("n1", "", False),
        ("n1 n2 n3", SPINE, True),
        ("n1 n2", SPINE, False),
        ("n1", SPINE, False),
    ],
)
def test_a_job_fits_wherever_a_pod_ahead_goes_where_a_slot_can_be_spared(
    nodes: str, must_gather: str, *, fits: bool
) -> None:
    drawing = cluster(f"s0: b0[{nodes}]").with_gang("job", 2, 8, must_gather=must_gather).with_pod("high", cpu=3)
    view, subject = of(drawing), drawing.subject("job")
    now = After(view, ())
    ahead = JobsAhead(("default/high",), (now,), drawing.subject("high").pending, now)
    (job,) = jobs(subject, drawing, rules("1.8"), build(drawing.topologies, drawing.nodes))
    assert fits_wherever(subject, ahead, attempt(job, view, subject.pending[0]), {}) is fits


@pytest.mark.parametrize(("nodes", "cpu", "fits"), [("n1 n2", 8, True), ("n1 n2:4", 8, False), ("n1 n2:6", 1, True)])
def test_a_pod_ahead_takes_no_more_slots_than_its_requests_are_worth_and_one_node_has(
    nodes: str, cpu: int, *, fits: bool
) -> None:
    drawing = cluster(f"s0: b0[{nodes}]").with_gang("job", 4, 2).with_pod("high", cpu=cpu)
    view, subject = of(drawing), drawing.subject("job")
    now = After(view, ())
    ahead = JobsAhead(("default/high",), (now,), drawing.subject("high").pending, now)
    (job,) = jobs(subject, drawing, rules("1.8"), build(drawing.topologies, drawing.nodes))
    assert fits_wherever(subject, ahead, attempt(job, view, subject.pending[0]), {}) is fits


@pytest.mark.parametrize(
    ("drawing", "may"),
    [
        (cluster("s0: b0[n1]").with_gang("job", 2).with_pod("high"), True),
        (cluster("s0: b0[n1]").with_gang("job", 2).with_pod("job-2", gang="job", cpu=3).with_pod("high"), False),
        (
            cluster("s0: b0[n1]").with_gang("job", 2).with_pod("high", pod_anti_affinity=(PodTerm("zone", having()),)),
            False,
        ),
        (node_with(card(0)).with_gang("job", 2, requests=(("nvidia.com/gpu", 1),)).with_pod("high"), False),
    ],
)
def test_what_pods_ahead_may_take_is_compared_for_pods_alike_that_take_room_alone(
    drawing: Drawing, *, may: bool
) -> None:
    view, subject = of(drawing), drawing.subject("job")
    now = After(view, ())
    ahead = JobsAhead(("default/high",), (now,), drawing.subject("high").pending, now)
    (job,) = jobs(subject, drawing, rules("1.8"), build(drawing.topologies, drawing.nodes))
    assert may_fit_wherever(subject, ahead, (job.prepared(subject.pending[0], view),)) is may


THREE = cluster("s0: b0[n1 n2 n3]").with_pod("a", priority=5).with_pod("b", priority=5).with_pod("c", priority=5)
SEATS = {"default/a": "n1", "default/b": "n2", "default/c": "n3"}


def of_three(asked: list[str], *, certain: bool = True) -> SchedulingQueue:
    """Return the queue of three pods, each of which takes its own node; c finds no place where a went first."""

    def tried(subject: Subject, now: After, _preempting: Preempting) -> Tried:
        asked.append(subject.key)
        if subject.key == "default/c" and on(now.view, "n1"):
            return Tried((NotPlaced(),), are_all=True)
        return Tried((Placed({SEATS[subject.key]: subject.pending}),), are_all=certain)

    return SchedulingQueue([THREE.subject(name) for name in "abc"], After(of(THREE), ()), tried)


def test_jobs_of_equal_priority_go_first_in_each_order_each_state_told_once() -> None:
    asked: list[str] = []
    queued = of_three(asked)
    others = queued.equals(THREE.subject("b"), ())
    found = queued.ahead_of(THREE.subject("b"), is_planned=True, others=others)
    assert (found.names, found.equals, found.undetermined, found.are_all) == ((), ("default/a", "default/c"), (), True)
    assert [(way.went, way.later) for way in found.ways] == [
        ((), ("default/a", "default/c")),
        ((("default/a", ("n1",)),), ()),
        ((("default/c", ("n3",)),), ()),
        ((("default/c", ("n3",)), ("default/a", ("n1",))), ()),
    ]
    before = len(asked)
    again = queued.ahead_of(THREE.subject("b"), is_planned=True, others=others)
    assert ([way.view for way in again.ways], len(asked)) == ([way.view for way in found.ways], before)


def test_of_jobs_of_equal_priority_of_which_it_is_open_where_they_go_all_pods_are_undetermined() -> None:
    queued = of_three([], certain=False)
    others = queued.equals(THREE.subject("b"), ("default/a",))
    found = queued.ahead_of(THREE.subject("b"), is_planned=True, others=others)
    assert (found.equals, found.are_all, found.fixed.went) == (("default/c",), False, ())
    assert [pod.name for pod in found.undetermined] == [pod.name for pod in found.elsewhere] == ["c"]


def test_orders_beyond_a_number_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FEWEST_ORDERS", 2)
    monkeypatch.setattr(module, "_NODES_IN_ALL", 0)
    queued = of_three([])
    others = queued.equals(THREE.subject("b"), ())
    found = queued.ahead_of(THREE.subject("b"), is_planned=True, others=others)
    assert ([way.went for way in found.ways], found.are_all) == ([(), (("default/a", ("n1",)),)], False)


def test_of_many_jobs_of_equal_priority_the_first_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_EQUALS", 2)
    found = of_three([]).equals(THREE.subject("b"), ())
    assert ([one.key for one in found.taking], [one.key for one in found.untried]) == (["default/a"], ["default/c"])


@pytest.mark.parametrize("are_all", [True, False])
def test_a_job_of_equal_priority_that_preempts_holds_its_nodes_where_all_of_it_is_followed(*, are_all: bool) -> None:
    def preempting(subject: Subject, _now: After, _preempting: Preempting) -> Tried:
        held = tuple(structs.replace(pod, nominated="n1") for pod in subject.pending)
        return Tried((Nominated(held, ()),), are_all=are_all)

    queued = SchedulingQueue([THREE.subject(name) for name in "ab"], After(of(THREE), ()), preempting)
    others = queued.equals(THREE.subject("b"), ())
    assert [one.key for one in others.unasked] == ([] if are_all else ["default/a"])
    found = queued.ahead_of(THREE.subject("b"), is_planned=True, others=others)
    ways = [(way.went, [pod.nominated for pod in way.nominated]) for way in found.ways]
    assert ways == ([((), []), ((("default/a", ("n1",)),), ["n1"])] if are_all else [((), [])])
