"""`plan`: the verdict, the steps in order with why and what each costs, and what may go wrong."""

from typing import Any

import pytest
from msgspec import structs

from kubectl_koord.explain.plan import CUT_OFF, NONE, NOT_NEEDED, NOT_ROOM, defrag, missing, plan, replacements, rest
from kubectl_koord.model.pods import PodRequirements
from kubectl_koord.model.unevaluated import PodSetting
from kubectl_koord.remedies import defrag as defragging
from kubectl_koord.remedies import plan as plans
from kubectl_koord.remedies.defrag import FEWEST
from kubectl_koord.remedies.plan import Weights
from kubectl_koord.reports.jobs import PlanCost, PlanPoint, PlanReport
from tests.build import SPINE, Drawing, cluster, cpus, having

SETTING = PodSetting("scheduling-hint")
MOVABLE: dict[str, Any] = {"owner": "ReplicaSet/a"}
ONE_SHORT = (
    cluster("s: b[n0 n1 n2]")
    .with_running("a", "n0", 2, **MOVABLE)
    .with_running("b", "n1", 4)
    .with_running("c", "n2", 5)
    .with_gang("job", 1, cpu=8)
)


def of(drawing: Drawing) -> PlanReport:
    return plan(drawing, drawing.subject("job"), Weights())


def steps(report: PlanReport) -> list[tuple[str, str, str, str, str]]:
    return [(step.action, step.object, step.node, step.to, step.why) for step in report.steps]


def test_nodes_are_closed_before_pods_leave_and_opened_at_the_end() -> None:
    report = of(ONE_SHORT)
    assert steps(report) == [
        ("cordon", "n0", "", "", "so that what is moved does not come to a node that the gang needs"),
        ("move-pod", "default/a", "n0", "n1", "makes room for the gang"),
        ("uncordon", "n0", "", "", "the gang goes there"),
    ]
    assert report.steps[0].command == "kubectl cordon n0"
    assert report.steps[1].command == "kubectl koord evict default/a"
    assert (report.verdict, report.cheapest, report.nodes, report.risks) == ("yes", True, ("n0",), ())
    assert report.cost == PlanCost(gpu_hours=0, pods=1, gangs=0, waiting=0, total=1)


def test_disruptions_of_budgets_count_and_are_avoided() -> None:
    covered = {"labels": (("app", "x"),), **MOVABLE}
    drawing = ONE_SHORT.with_budget("one", having(app="x"), allowed=1).without_running("default/a")
    drawing = drawing.with_running("a", "n0", 2, **covered)
    assert of(drawing).cost == PlanCost(gpu_hours=0, pods=1, gangs=0, waiting=0, total=2, budgets=1)
    either = drawing.with_nodes(*cluster("s: b[n3]").nodes.values()).with_running("z", "n3", 3, **MOVABLE)
    assert [step.object for step in of(either).steps if step.pods] == ["default/z"]


def test_a_node_is_opened_as_soon_as_a_moved_pod_is_to_come_there() -> None:
    drawing = (
        cluster("s: b[n0 n1 n2]")
        .with_running("a", "n0", 4, **MOVABLE)
        .with_running("b", "n1", 2, **MOVABLE)
        .with_running("stays", "n1", 3)
        .with_running("c", "n2", 6)
        .with_gang("job", 1, cpu=8, must_gather=SPINE)
    )
    assert steps(of(drawing)) == [
        ("cordon", "n0", "", "", "so that what is moved does not come to a node that the gang needs"),
        ("cordon", "n1", "", "", "so that what is moved does not come to the node that it leaves"),
        ("move-pod", "default/b", "n1", "n2", "makes room for a pod that moves later"),
        ("uncordon", "n1", "", "", "default/a goes there"),
        ("move-pod", "default/a", "n0", "n1", "makes room for the gang"),
        ("uncordon", "n0", "", "", "the gang goes there"),
        ("wake-gang", "default/job", "", "", "room that others leave does not wake it"),
    ]


def test_what_waits_is_said_with_its_owner_and_what_it_may_do() -> None:
    full = ONE_SHORT.with_running("d", "n1", 4).with_running("e", "n2", 3).change_pods("job-0", priority=1)
    report = of(full)
    waits = "finds no other place, and has a lower priority: it waits; scale ReplicaSet/a down until the gang runs"
    assert ("requeue", "default/a", "n0", "", waits) in steps(report)
    assert report.risks == ("What waits (1 pod) may come back first unless its owner is scaled down before.",)
    assert report.cost == PlanCost(gpu_hours=0, pods=1, gangs=0, waiting=1, total=21)


def test_a_gang_moves_as_one_step() -> None:
    drawing = ONE_SHORT.without_running("default/a").with_group("pair", 2)
    for number, (on, cpu) in enumerate((("n0", 2), ("n1", 1))):
        drawing = drawing.with_running(f"p-{number}", on, cpu, gang="default/pair", **MOVABLE)
    (move,) = [step for step in of(drawing).steps if step.action == "move-gang"]
    assert (move.object, move.node, move.pods) == ("default/pair", "n0, n1", ("default/p-0", "default/p-1"))
    assert move.why == "makes room for the gang, as a whole: alone its pods would be too few"


def test_nodes_that_were_cordoned_and_reservations_are_steps_of_their_own() -> None:
    stuck = ONE_SHORT.without_running("default/a").with_running("a", "n0", 2)
    opened = of(stuck.with_nodes(*cluster("s: b[n3]").nodes.values()).cordon("n3"))
    assert steps(opened) == [("uncordon", "n3", "", "", "the gang goes there")]
    released = of(cluster("s: b[n0]").with_reservation("held", "n0", 4).with_gang("job", 1, cpu=8))
    assert ("release-reservation", "held", "", "", "what it holds is not used") in steps(released)


def test_others_that_wait_and_choices_of_the_scheduler_are_risks() -> None:
    other = of(ONE_SHORT.with_gang("other", 1, cpu=100, priority=-1))
    assert other.risks == ("default/other also waits, and may take room meanwhile.",)
    two = of(ONE_SHORT.with_gang("other", 1, cpu=100, priority=-1).with_gang("third", 1, cpu=100, priority=-1))
    assert two.risks == ("default/other and default/third also wait, and may take room meanwhile.",)


@pytest.mark.parametrize(
    ("drawing", "verdict", "message"),
    [
        (cluster("s: b[n0]").with_gang("job", 1), "yes", NOT_NEEDED),
        (ONE_SHORT.with_group("job", 2), "no", NOT_ROOM),
        (cluster("s: b[n0]").with_running("a", "n0", 2).with_gang("job", 1, cpu=8), "no", NONE),
        (
            ONE_SHORT.with_gap("PodDisruptionBudget"),
            "unknown",
            f"{NONE} Which budgets there are could not be read (you may not read it).",
        ),
        (ONE_SHORT.with_gap("Node"), "unknown", ""),
        (
            ONE_SHORT.change_pods("job-0", requirements=PodRequirements(cpus(8), unevaluated=(SETTING,))),
            "unknown",
            "whether anything helps depends",
        ),
    ],
    ids=["not needed", "no lack of room", "none", "budgets unread", "unknown", "not evaluated"],
)
def test_without_a_plan_it_is_said_why(drawing: Drawing, verdict: str, message: str) -> None:
    report = of(drawing)
    assert (report.verdict, report.steps) == (verdict, ())
    assert report.message.startswith(message)


def test_a_choice_that_spoils_the_plan_is_a_risk(monkeypatch: pytest.MonkeyPatch) -> None:
    drawing = cluster("s: b[n0 n1 n2 n3]").with_group("pair", 2).with_running("small", "n0", 2, **MOVABLE)
    for name, on, cpu in (("x", "n1", 5), ("y", "n2", 5), ("z", "n3", 6)):
        drawing = drawing.with_running(name, on, cpu)
    for number, on in enumerate(("n0", "n1")):
        drawing = drawing.with_running(f"p-{number}", on, 3, gang="default/pair", **MOVABLE)
    drawing = drawing.with_gang("job", 1, cpu=8)
    assert of(drawing).risks == (
        (
            "Where the scheduler chooses other nodes than these, default/pair may find no place: "
            "look again after each step."
        ),
    )
    monkeypatch.setattr(plans, "_MOST_CHOICES", 0)
    assert of(drawing).risks == (
        "Not every choice that the scheduler has for the moved pods was followed: look again after each step.",
    )


def test_seven_pods_leave_one_of_eight_nodes_with_one_gpu_free_each() -> None:
    drawing = cluster("s: b[n0 n1 n2 n3 n4 n5 n6 n7]")
    for name in tuple(drawing.nodes):
        drawing = drawing.change(name, allocatable=(*cpus(64, nvidia_gpu=8), ("pods", 110)))
        for number in range(7):
            asks = cpus(0, nvidia_gpu=1)
            pod = f"p-{name}-{number}"
            drawing = drawing.with_running(pod, name, requests=asks, scheduled="2026-11-20T09:00:00Z", **MOVABLE)
    report = of(drawing.with_gang("job", 1, requests=cpus(0, nvidia_gpu=8)))
    assert [step.action for step in report.steps] == ["cordon", *["move-pod"] * 7, "uncordon"]
    assert {step.to for step in report.steps[1:8]} == {f"n{number}" for number in range(1, 8)}
    assert (report.cost, report.cheapest, report.risks) == (PlanCost(7, 7, 0, 0, 14), True, ())


def test_a_search_that_is_cut_off_is_no_no(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "_MOST_NODES", 0)
    report = of(ONE_SHORT)
    assert (report.verdict, report.message) == ("unknown", CUT_OFF)


def left_of(drawing: Drawing, number: int, *closed: str, of_plan: Drawing = ONE_SHORT) -> PlanReport:
    """Return what is left of a plan after so many steps, in another cluster."""
    return rest(drawing, drawing.subject("job"), of(of_plan).steps[number:], closed, Weights())


def test_what_is_left_of_a_plan_is_tried_in_the_cluster_as_it_is() -> None:
    cordoned = ONE_SHORT.cordon("n0")
    assert steps(left_of(cordoned, 1, "n0")) == steps(of(ONE_SHORT))[1:]
    moved = cordoned.without_running("default/a").with_running("a-2", "n1", 2, **MOVABLE)
    assert steps(left_of(moved, 2, "n0")) == [("uncordon", "n0", "", "", "the gang goes there")]
    elsewhere = cordoned.without_running("default/a").with_running("a-2", "n2", 2, **MOVABLE)
    assert left_of(elsewhere, 2, "n0").verdict == "yes"


@pytest.mark.parametrize(
    ("drawing", "number", "verdict", "message"),
    [
        (
            ONE_SHORT.without_running("default/a").with_running("x", "n0", 1),
            1,
            "no",
            "default/a may not be moved any more, or is not there as it was",
        ),
        (
            ONE_SHORT.without_running("default/a").with_running("thief", "n0", 1),
            2,
            "no",
            "what is left of the plan would not make room any more",
        ),
        (
            ONE_SHORT.with_running("x", "n1", 4).with_running("y", "n2", 3),
            1,
            "no",
            "what is left of the plan would not make room any more",
        ),
        (ONE_SHORT.with_group("job", 2), 1, "no", NOT_ROOM),
        (ONE_SHORT.with_gap("Node"), 1, "unknown", ""),
    ],
    ids=["gone", "room taken", "no place", "no lack of room", "unread"],
)
def test_a_plan_that_does_not_hold_any_more_says_why(drawing: Drawing, number: int, verdict: str, message: str) -> None:
    report = left_of(drawing, number, "n0")
    assert (report.verdict, report.message) == (verdict, message)


def test_gangs_that_wait_nodes_and_reservations_are_found_again() -> None:
    full = ONE_SHORT.with_running("d", "n1", 4).with_running("e", "n2", 3).change_pods("job-0", priority=1)
    assert steps(left_of(full, 1, "n0", of_plan=full)) == steps(of(full))[1:]
    pair = ONE_SHORT.without_running("default/a").with_group("pair", 2)
    for number, (on, cpu) in enumerate((("n0", 2), ("n1", 1))):
        pair = pair.with_running(f"p-{number}", on, cpu, gang="default/pair", **MOVABLE)
    assert steps(left_of(pair, 0, of_plan=pair)) == steps(of(pair))
    gone = pair.without_running("default/p-0", "default/p-1")
    assert "default/pair may not be moved" in left_of(gone.with_running("x", "n0", 1), 1, of_plan=pair).message
    stuck = ONE_SHORT.without_running("default/a").with_running("a", "n0", 2)
    opened = stuck.with_nodes(*cluster("s: b[n3]").nodes.values()).cordon("n3")
    assert steps(left_of(opened, 0, of_plan=opened)) == steps(of(opened))
    held = cluster("s: b[n0]").with_reservation("held", "n0", 4).with_gang("job", 1, cpu=8)
    assert steps(left_of(held, 1, "n0", of_plan=held)) == steps(of(held))[1:]
    waits = left_of(full.change_pods("job-0", priority=0), 1, "n0", of_plan=full)
    assert waits.message == "default/a may not be moved any more, or is not there as it was"


def test_what_a_step_has_not_brought_about_is_named() -> None:
    cordon, move, uncordon = of(ONE_SHORT).steps
    ended = ONE_SHORT.without_running("default/a")
    back = ended.with_running("a-2", "n1", 2, **MOVABLE)
    assert [missing(cordon, ONE_SHORT, now) for now in (ONE_SHORT, ONE_SHORT.cordon("n0"))] == [
        "n0 is not seen cordoned",
        "",
    ]
    assert missing(uncordon, ONE_SHORT, ONE_SHORT) == ""
    assert [missing(move, ONE_SHORT, now) for now in (ONE_SHORT, ended, back)] == [
        "default/a has not ended",
        "0 of 1 pod made anew for default/a stand on a node",
        "",
    ]
    assert replacements(move, ONE_SHORT, back) == ("default/a-2",)
    requeue = structs.replace(move, action="requeue")
    assert missing(requeue, ONE_SHORT, ended) == ""
    held = cluster("s: b[n0]").with_reservation("held", "n0", 4)
    release = structs.replace(move, action="release-reservation", object="held")
    assert [missing(release, held, now) for now in (held, cluster("s: b[n0]"))] == [
        "Reservation held still holds its room",
        "",
    ]
    assert missing(structs.replace(move, action="wake-gang"), held, held) == ""


def test_a_gang_that_is_not_there_yet_is_not_woken() -> None:
    drawing = ONE_SHORT.with_gang("job", 1, cpu=8, must_gather=SPINE)
    report = plan(drawing, drawing.subject("job"), Weights(), is_there=False)
    assert [step.action for step in report.steps] == ["cordon", "move-pod", "uncordon"]


TWICE = (
    cluster("s: b[n0 n1 n2 n3]")
    .with_running("a", "n0", 2, **MOVABLE)
    .with_running("b", "n1", 3, **MOVABLE)
    .with_running("c", "n2", 3)
    .with_running("d", "n3", 4)
    .with_gang("job", 1, cpu=8)
)
OPEN_AGAIN = "Once the nodes are open again, whoever waits or comes next may take the room."


def room_in(drawing: Drawing) -> PlanReport:
    return defrag(drawing, drawing.subject("job"), FEWEST)


def test_room_for_more_gangs_is_a_curve_and_a_plan_that_opens_all_nodes_again() -> None:
    report = room_in(TWICE)
    assert (report.verdict, report.message) == ("yes", "0 gangs of 1 pod fit now, 2 after 2 pods moved.")
    assert report.curve == (
        PlanPoint(0, 0, 0, 0, fewest=True),
        PlanPoint(1, 1, 1, 0, fewest=True),
        PlanPoint(2, 2, 2, 0, fewest=True),
    )
    closing = "so that what is moved does not come to a node that is to be free"
    assert steps(report) == [
        ("cordon", "n0", "", "", closing),
        ("cordon", "n1", "", "", closing),
        ("move-pod", "default/a", "n0", "n3", "makes room for 1 gang"),
        ("move-pod", "default/b", "n1", "n2", "makes room for 2 gangs"),
        ("uncordon", "n0", "", "", "nobody has to stay away any more"),
        ("uncordon", "n1", "", "", "nobody has to stay away any more"),
    ]
    assert (report.cheapest, report.risks) == (True, (OPEN_AGAIN,))
    waits = room_in(TWICE.with_gang("other", 1, cpu=8, priority=9))
    assert (waits.curve, waits.risks) == (
        report.curve,
        ("default/other also waits, and may take room meanwhile.", OPEN_AGAIN),
    )


def test_a_node_to_which_a_pod_moves_that_is_to_be_free_is_opened_before() -> None:
    drawing = (
        cluster("s: b[n0 n1 n2]")
        .with_running("a", "n0", 4, **MOVABLE)
        .with_running("b", "n1", 2, **MOVABLE)
        .with_running("stays", "n1", 3)
        .with_running("c", "n2", 6)
    )
    assert ("uncordon", "n1", "", "", "default/a goes there") in steps(room_in(drawing.with_gang("job", 1, cpu=8)))


@pytest.mark.parametrize(
    ("drawing", "verdict", "message"),
    [
        (
            TWICE.without_running("default/a", "default/b").with_running("e", "n1", 8),
            "no",
            "1 gang of 1 pod fits now; no moves make room for more.",
        ),
        (TWICE.with_group("job", 2), "no", NOT_ROOM),
        (TWICE.with_gap("Node"), "unknown", ""),
    ],
    ids=["none", "no lack of room", "unread"],
)
def test_where_no_room_is_made_it_is_said_why(drawing: Drawing, verdict: str, message: str) -> None:
    report = room_in(drawing)
    assert (report.verdict, report.message, report.steps) == (verdict, message, ())


def test_what_was_not_counted_or_looked_at_to_the_end_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "_MOST_NODES", 0)
    report = room_in(TWICE)
    assert (report.verdict, report.message) == (
        "unknown",
        "0 gangs of 1 pod fit now; whether moves make room for more was not looked at to the end.",
    )
    monkeypatch.undo()
    monkeypatch.setattr(defragging, "_MOST_MORE", 1)
    assert room_in(TWICE).message == "0 gangs of 1 pod fit now, 1 after 1 pod moved, which is as far as was looked."
    monkeypatch.setattr(defragging, "_MOST_STEPS", 1)
    empty = cluster("s: b[n0 n1]").with_gang("job", 1, cpu=8)
    assert (room_in(empty).verdict, room_in(empty).message) == (
        "yes",
        "At least 1 gang of 1 pod fit now: further they were not counted.",
    )
