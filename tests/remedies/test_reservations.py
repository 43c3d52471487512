"""Remedies that release what is reserved: each whole, as it is offered."""

from kubectl_koord.model.reservations import OwnerController, OwnerObject, ReservationOwner
from kubectl_koord.model.values import Requirement, Selector
from kubectl_koord.reports.common import ReleasedReservation, ReleaseReservation, WayOut
from kubectl_koord.wording.facts import reservation_owner
from tests.build import Drawing, cluster, having, why_of

NODES = cluster("s0: b0[n1 n2]")
FOUR = "4 CPU unused, never expires"


def ways(drawing: Drawing) -> tuple[WayOut, ...]:
    report = why_of(drawing)
    assert report.verdict == "no"
    return tuple(way for way in report.unblock if way.action == "release-reservation")


def waiting(drawing: Drawing, pods: int = 1) -> Drawing:
    return drawing.with_gang("job", pods, 8, minimum=pods, priority=5, never_preempts=True)


def released(name: str, on: str, **fields: object) -> ReleasedReservation:
    bare = {"owners": ("pods with app=web",), "unused": {"cpu": "4"}, "expires": None, "drawing": (), "waiting": ()}
    return ReleasedReservation(name, on, **(bare | fields))  # type: ignore[arg-type]


def test_a_single_reservation_whose_room_is_enough_is_deleted() -> None:
    drawing = NODES.with_reservation("kept", "n1", 4, app="web", expires="2026-11-21T00:00:00Z")
    drawing = drawing.with_running("full", on="n2", cpu=8, priority=9)
    assert ways(waiting(drawing)) == (
        WayOut(
            "release-reservation",
            "Delete reservation kept on n1 (4 CPU unused, expires at 2026-11-21T00:00:00Z), for pods with app=web",
            "kubectl delete reservation kept",
            (ReleaseReservation("kept"),),
            released=(released("kept", "n1", expires="2026-11-21T00:00:00Z"),),
        ),
    )


def test_as_few_as_are_needed_are_deleted() -> None:
    drawing = NODES.with_reservation("one", "n1", 4, app="web").with_reservation("two", "n2", 4, app="web")
    (way,) = ways(waiting(drawing, 2))
    assert (way.message, way.command) == (
        f"Delete 2 reservations: one on n1 ({FOUR}) and two on n2 ({FOUR}), for pods with app=web",
        "kubectl delete reservation one two",
    )


def test_one_that_others_wait_for_comes_last_and_says_whom_it_takes_the_room_from() -> None:
    drawing = NODES.with_reservation("wanted", "n1", 4, app="web").with_reservation("idle", "n2", 4, app="db")
    drawing = drawing.with_pod("web-0", cpu=1, labels=(("app", "web"),), scheduler="other")
    found = ways(waiting(drawing))
    assert [way.message for way in found] == [
        "Delete reservation idle on n2 (4 CPU unused, never expires), for pods with app=db",
        f"Delete reservation wanted on n1 ({FOUR}), for pods with app=web; default/web-0 waits for this room",
    ]
    report = why_of(waiting(drawing))
    assert report.unblock[-1] == found[-1]


def test_who_draws_on_it_keeps_its_place() -> None:
    drawing = cluster("s0: b0[n1:12]").with_reservation("kept", "n1", 6, app="web")
    (way,) = ways(waiting(drawing.with_owner("web-0", "n1", of="kept", cpu=2)))
    assert way.message == (
        "Delete reservation kept on n1 (4 CPU unused, never expires), for pods with app=web; 1 pod on it keeps running"
    )
    (one,) = way.released
    assert one.drawing == ("default/web-0",)


def test_one_that_is_being_deleted_anyway_is_not_offered() -> None:
    assert ways(waiting(cluster("s0: b0[n1]").with_reservation("going", "n1", 4, app="web", terminating=True))) == ()


def test_a_reservation_that_is_still_to_be_placed_and_goes_first_may_be_deleted() -> None:
    (way,) = ways(waiting(cluster("s0: b0[n1]").with_reserve_pod("next", cpu=4, app="web")))
    assert way.edits == (ReleaseReservation("next"),)


def test_whom_a_reservation_is_for_in_words() -> None:
    exists = Selector((Requirement("app", "Exists"), Requirement("old", "DoesNotExist")))
    one_of = Selector((Requirement("app", "In", ("a", "b")),))
    said = {
        "pod web/a": ReservationOwner(OwnerObject("a", "web")),
        "pod a": ReservationOwner(OwnerObject("a")),
        "pod with uid 7": ReservationOwner(OwnerObject(uid="7")),
        "pods in namespace web": ReservationOwner(OwnerObject(namespace="web")),
        "pods of Job/a": ReservationOwner(controller=OwnerController("Job", "a")),
        "pods of a controller": ReservationOwner(controller=OwnerController()),
        "pods with app,!old": ReservationOwner(selector=exists),
        "pods with app in (a,b)": ReservationOwner(selector=one_of),
        "all pods": ReservationOwner(),
        "pods of Job/a that are pods with app=a": ReservationOwner(None, OwnerController("Job", "a"), having(app="a")),
    }
    assert {reservation_owner(one): one for one in said.values()} == said
    assert reservation_owner(ReservationOwner(OwnerObject(), selector=Selector())) == "all pods"
