"""What surprises about reservations."""

import pytest

from kubectl_koord.model.installation import Plugins
from kubectl_koord.model.reservations import ReservationAffinity, ReservationUse, ReservedMember
from tests.build import Drawing, cluster, preempt_of, why_of

ONE = cluster("s0: b0[n1:8]")
MINE = (("app", "job"),)
CODES = {
    "reservation-members",
    "reservation-preempts",
    "reservation-plugin-off",
    "reservation-overcommitted",
    "reservation-victims",
    "owners-forgotten",
}


def told(drawing: Drawing) -> list[tuple[str, str]]:
    every = (*why_of(drawing).warnings, *preempt_of(drawing).warnings)
    return list(dict.fromkeys((one.code, one.message) for one in every if one.code in CODES))


def test_a_pending_reservation_that_counts_as_a_member_is_told() -> None:
    drawing = ONE.with_gang("job", 1, 1, minimum=2)
    member = drawing.with_reserve_pod("r", 1, gang="default/job", needs_pod_group=True)
    ends = "of the gang, each with a pod of its own that the scheduler places."
    assert told(member) == [("reservation-members", f"pending reservation r counts as a member {ends}")]
    more = member.with_reserve_pod("s", 1, gang="default/job", needs_pod_group=True)
    assert told(more) == [("reservation-members", f"pending reservations r and s count as members {ends}")]


def test_a_reservation_on_a_node_counts_as_a_bound_member() -> None:
    drawing = ONE.with_gang("job", 1, 1, minimum=2, match_policy="waiting-and-running")
    placed = drawing.but(reserved_members=(ReservedMember("default/job", "r"), ReservedMember("default/none", "x")))
    assert (why_of(drawing).verdict, why_of(placed).verdict) == ("no", "yes")
    sentence = "reservation r counts as a bound member of the gang as long as it exists."
    assert told(placed) == [("reservation-members", sentence)]
    more = placed.but(reserved_members=(*placed.reserved_members, ReservedMember("default/job", "s")))
    sentence = "reservations r and s count as bound members of the gang as long as they exist."
    assert told(more) == [("reservation-members", sentence)]


def test_a_gang_of_which_a_reservation_is_on_a_node_has_run() -> None:
    drawing = ONE.with_gang("job", 1, 1, minimum=3).but(reserved_members=(ReservedMember("default/job", "r"),))
    assert why_of(drawing).verdict == "yes"


def test_whom_a_pending_reservation_preempts_is_told() -> None:
    drawing = ONE.with_running("low", "n1", 8).with_reserve_pod("r", 8).with_gang("job", 1, 1)
    message = "pending reservation r goes first, finds no room, and would preempt default/low."
    assert told(drawing) == [("reservation-preempts", message)]


OFF = "the scheduler's profile does not enable plugin Reservation at "
UNUSED = "pods do not use up the reservations that they match, which keep their room beside them"
UNCHECKED = "what pods may or must use of reservations is not checked"


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (("reserve",), f"{OFF}reserve: {UNUSED}."),
        (("preFilter", "filter"), f"{OFF}preFilter and filter: {UNCHECKED}."),
        (("filter", "reserve"), f"{OFF}filter and reserve: {UNCHECKED} and {UNUSED}."),
        ((), None),
    ],
)
def test_a_profile_without_reservations_is_told_to_those_who_may_use_one(
    points: tuple[str, ...], message: str | None
) -> None:
    drawing = ONE.with_reservation("r", "n1", 4).configured(plugins=Plugins((("Reservation", points),)))
    expected = [("reservation-plugin-off", message)] if message else []
    assert told(drawing.with_gang("job", 1, 1, labels=MINE)) == expected
    assert told(drawing.with_gang("job", 1, 1)) == []
    must = ReservationUse(ReservationAffinity())
    assert told(drawing.with_gang("job", 1, 1, reservation=must)) == expected


def test_a_node_that_1_7_overcommits_is_told() -> None:
    drawing = ONE.with_reservation("r", "n1", 4, policy="Restricted").with_gang("job", 1, 6, labels=MINE)
    (code, message) = ("reservation-overcommitted", "n1 would be overcommitted: ")
    assert [(one, text.startswith(message)) for one, text in told(drawing.version("1.7"))] == [(code, True)]
    assert (why_of(drawing.version("1.7")).verdict, why_of(drawing).verdict, told(drawing)) == ("yes", "no", [])
    fitting = ONE.with_reservation("r", "n1", 4, policy="Restricted").with_gang("job", 1, 4, labels=MINE)
    assert told(fitting.version("1.7")) == []
    holder = ONE.with_running("holder", "n1", 1, offers="h").with_gang("job", 1, 1)
    assert told(holder.version("1.7")) == []


def test_a_reservation_that_preemption_cannot_delete_is_told() -> None:
    drawing = ONE.with_reservation("r", "n1", 4, app="other", priority=1).with_running("low", "n1", 4)
    drawing = drawing.with_gang("job", 1, 8, priority=9)
    report = preempt_of(drawing)
    assert (report.verdict, report.helps, [victim.pod for victim in report.victims]) == ("no", False, ["default/low"])
    message = "preemption would choose reservation r, which it cannot delete: that room stays reserved."
    assert told(drawing) == [("reservation-victims", message)]
    mine = ONE.with_reservation("r", "n1", 8, priority=1).with_owner("low", "n1", of="r", cpu=8)
    mine = mine.with_gang("job", 1, 8, priority=9, labels=MINE)
    assert (preempt_of(mine).verdict, told(mine)) == ("yes", [])
    two = ONE.with_reservation("r", "n1", 4, app="x", priority=1).with_reservation("s", "n1", 4, app="x", priority=1)
    assert "reservations r and s" in told(two.with_gang("job", 1, 8, priority=9))[0][1]


@pytest.mark.parametrize(("version", "codes"), [("main", ["owners-forgotten"]), ("1.8", [])])
def test_that_an_owner_may_be_forgotten_is_told_where_it_decides(version: str, codes: list[str]) -> None:
    drawing = ONE.with_reservation("r", "n1", 4, app="x").with_owner("a", "n1", of="r", cpu=4).version(version)
    assert [code for code, _ in told(drawing.with_gang("job", 1, 4))] == codes
    assert told(drawing.with_gang("job", 1, 5)) == []
    unused = ONE.with_reservation("r", "n1", 4, app="x").version(version)
    assert told(unused.with_gang("job", 1, 4)) == []
