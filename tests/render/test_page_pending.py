import pytest
from msgspec import convert
from msgspec.structs import replace

from kubectl_koord.diagnosis.coverage import by_cause
from kubectl_koord.render.document import Columns
from kubectl_koord.render.show import OutputStyle, text
from kubectl_koord.render.shown import ON_A_SCREEN
from kubectl_koord.reports.common import CauseCode, Notice, Verdict, WarningCode, members
from kubectl_koord.reports.jobs import Cause, Contention, PendingGangsReport
from tests.render.samples import ASCII_TERMINAL, BASIS, PENDING, PIPE, TERMINAL, WHY

BASIS_WARNINGS = (Notice("assumed-config", "The scheduler's configuration is assumed as the Helm chart sets it."),)


def test_all_pending_gangs_in_a_pipe() -> None:
    expected = """\
2 gangs and 1 pod have pending pods: 1 cannot start now, 1 would be placed now, 1 unknown.

CAUSE / GANG              PODS   WAITING FOR   AGE   WHY
insufficient-slots           4   32 CPU        30m
  default/job (+1 gang)      4   32 CPU        30m   no spine has room for its 4 pods; the best has 3.
(unknown)                    1   8 GPU          2d
  pod/default/single         1   8 GPU          2d   ElasticQuotas may not be read.
would-start                  3
  default/job                3                       The scheduler has not tried again yet.

Details: kubectl koord why-pending GANG

default/job and default/a, default/b need the same room: the one tried first gets it.

Warning: The scheduler's configuration is assumed as the Helm chart sets it. (assumed-config)

Evaluated as Koordinator 1.8 (from the image tag)
"""
    assert text(PENDING, style=PIPE) == expected


def test_all_pending_gangs_on_a_terminal() -> None:
    expected = """\
2 gangs and 1 pod have pending pods: 1 cannot start now, 1 would be placed now,
1 unknown.

CAUSE / GANG               PODS   WAITING FOR   AGE
insufficient-slots            4   32 CPU        30m
└─ default/job (+1 gang)      4   32 CPU        30m
      why: no spine has room for its 4 pods; the best has 3.
(unknown)                     1   8 GPU          2d
└─ pod/default/single         1   8 GPU          2d
      why: ElasticQuotas may not be read.
would-start                   3
└─ default/job                3
      why: The scheduler has not tried again yet.

Details: kubectl koord why-pending GANG

default/job and default/a, default/b need the same room: the one tried first
gets it.

Warning: The scheduler's configuration is assumed as the Helm chart sets it.
(assumed-config)

Evaluated as Koordinator 1.8 (from the image tag)
"""
    assert text(PENDING, style=TERMINAL) == expected


def test_all_pending_gangs_on_an_ascii_terminal() -> None:
    expected = """\
2 gangs and 1 pod have pending pods: 1 cannot start now, 1 would be placed now,
1 unknown.

CAUSE / GANG               PODS   WAITING FOR   AGE
insufficient-slots            4   32 CPU        30m
`- default/job (+1 gang)      4   32 CPU        30m
      why: no spine has room for its 4 pods; the best has 3.
(unknown)                     1   8 GPU          2d
`- pod/default/single         1   8 GPU          2d
      why: ElasticQuotas may not be read.
would-start                   3
`- default/job                3
      why: The scheduler has not tried again yet.

Details: kubectl koord why-pending GANG

default/job and default/a, default/b need the same room: the one tried first
gets it.

Warning: The scheduler's configuration is assumed as the Helm chart sets it.
(assumed-config)

Evaluated as Koordinator 1.8 (from the image tag)
"""
    assert text(PENDING, style=ASCII_TERMINAL) == expected


def test_hundreds_of_gangs_fit_on_a_screen_and_every_cause_is_there() -> None:
    causes = (Cause("insufficient-slots", "a."), Cause("too-few-pods", "b."), Cause("no-podgroup", "c."))
    gangs = tuple(replace(WHY, gang=f"ns/gang-{number:03}", cause=causes[number % 7 % 3]) for number in range(400))
    page = text(PendingGangsReport("yes", BASIS, (), gangs, by_cause(gangs)), style=TERMINAL).splitlines()
    assert len(page) < 60
    assert [line for line in page if " gangs: " in line or "and " in line] == [
        "insufficient-slots           688   5504 CPU      30m   172 gangs: a.",
        "└─ ... and 156 more (--all shows them)",
        "no-podgroup                  456   3648 CPU      30m   114 gangs: c.",
        "└─ ... and 99 more (--all shows them)",
        "too-few-pods                 456   3648 CPU      30m   114 gangs: b.",
        "└─ ... and 99 more (--all shows them)",
    ]


def crowd(causes: int, gangs: int, warnings: int = 0) -> PendingGangsReport:
    """Return a listing of so many causes, of gangs with so many kinds of warnings, in which everything else is long."""
    verdicts: tuple[Verdict, ...] = ("no", "unknown")
    kinds = [(verdict, code) for verdict in verdicts for code in members(CauseCode)][:causes]
    odd = tuple(
        convert({"code": code, "message": "It is so. " * 15}, Notice) for code in members(WarningCode)[:warnings]
    )
    items = tuple(
        replace(
            WHY,
            gang=f"ns/gang-{number:03}",
            verdict=kinds[number % causes][0],
            cause=convert({"code": kinds[number % causes][1], "message": "because."}, Cause),
            warnings=odd,
        )
        for number in range(gangs)
    )
    fights = tuple(Contention(f"ns/gang-{number}", ("ns/first",)) for number in range(7)) if warnings else ()
    return PendingGangsReport("yes", BASIS, BASIS_WARNINGS if warnings else (), items, by_cause(items), fights)


@pytest.mark.untraced
@pytest.mark.parametrize("causes", [1, 7, 12, 15, 20, 28, 56])
@pytest.mark.parametrize("warnings", [0, 30])
@pytest.mark.parametrize("style", [PIPE, TERMINAL], ids=["pipe", "terminal"])
def test_the_page_stays_below_60_lines_whatever_waits_and_for_whatever(
    causes: int, warnings: int, style: OutputStyle
) -> None:
    for gangs in (causes, causes + 1, 2 * causes, 5 * causes, 450):
        page = text(crowd(causes, gangs, warnings), style=style, shown=ON_A_SCREEN).splitlines()
        assert len(page) < 60
        assert not [line for line in page if "and 1 more" in line]


def test_a_reason_of_several_gangs_is_said_once_and_another_at_its_gang() -> None:
    reasons = ("no room.", "no room.", "no layer.")
    gangs = tuple(replace(WHY, gang=f"a/g{n}", cause=Cause("no-podgroup", said)) for n, said in enumerate(reasons))
    page = text(PendingGangsReport("yes", BASIS, (), gangs, by_cause(gangs)), style=PIPE)
    assert "3 gangs, 2 alike: no room.\n" in page
    assert [line.split()[0] for line in page.splitlines() if line.endswith("no layer.")] == ["a/g2"]
    assert page.count("no room.") == 1
    alike = text(PendingGangsReport("yes", BASIS, (), gangs[:2], by_cause(gangs[:2])), style=PIPE)
    assert "2 gangs: no room.\n" in alike


def test_with_more_causes_fewer_gangs_of_each_are_shown() -> None:
    page = text(crowd(12, 450), style=PIPE, shown=ON_A_SCREEN)
    crowded = text(crowd(28, 450), style=PIPE, shown=ON_A_SCREEN)

    assert page.count("... and 36 more (--all shows them)\n") == 2
    assert page.count("... and 35 more (--all shows them)\n") == 10
    assert crowded.count("16 gangs: because.\n") + crowded.count("17 gangs: because.\n") == 28
    assert crowded.count(" more (--all shows them)\n") == 12


def test_causes_for_which_there_is_no_room_are_counted() -> None:
    page = text(crowd(56, 56, 30), style=TERMINAL)

    assert page.count(" 1 gang\n") == 10
    assert "\n... and 46 more causes (--all shows them)\n" in page


def test_each_kind_of_warning_about_gangs_is_told_once_with_the_gangs() -> None:
    gangs = tuple(
        replace(
            WHY,
            gang=f"ns/{name}",
            warnings=(Notice("worst-fit", "Fit."), Notice("topology-spec-unreadable", f"That of ns/{name}.")),
        )
        for name in ("a", "b", "c", "d", "e", "f")
    )
    own = (Notice("lease-missing", "No lease."),)
    single = replace(WHY, gang="ns/z", warnings=(Notice("foreign-gang-marker", "Alone."), *own))
    noise = replace(WHY, gang="ns/y", warnings=(Notice("kind-not-in-input", "No Lease."),))
    page = text(replace(PENDING, items=(*gangs, single, noise), warnings=own, contending=()), style=PIPE)

    assert [line for line in page.splitlines() if line.startswith("Warning")] == [
        "Warning: No lease. (lease-missing)",
        "Warning: That of ns/a. Also: ns/b, ns/c, ns/d, ns/e, ns/f. (topology-spec-unreadable)",
        "Warning: ns/z: Alone. (foreign-gang-marker)",
        "Warning: ns/a: Fit. Also: ns/b, ns/c, ns/d, ns/e, ns/f. (worst-fit)",
    ]


def test_of_many_kinds_of_warnings_the_first_are_told() -> None:
    page = text(crowd(1, 1, 30), style=PIPE, shown=ON_A_SCREEN)

    assert page.count("Warning: ns/gang-000: ") == 5
    assert "(foreign-gang-marker)\n" in page
    assert " more kinds of warnings about gangs (--all shows them)\n" in page


def test_only_the_first_contentions_are_told() -> None:
    fights = tuple(Contention(f"ns/gang-{number}", ("ns/first",)) for number in range(7))
    page = text(replace(PENDING, contending=fights), style=PIPE, shown=ON_A_SCREEN)
    assert page.count("need the same room") == 5
    assert "... and 2 more gangs that compete for room (--all shows them)\n" in page


def test_a_list_that_may_lack_some_says_why_below_its_first_line() -> None:
    written = text(replace(PENDING, message="pods could not be read."), style=PIPE)
    assert written.splitlines()[1] == "This list may be incomplete: pods could not be read."


def test_a_flat_list_is_cut_for_a_screen() -> None:
    many = replace(PENDING, items=PENDING.items * 60)
    columns = Columns(ordered=True)
    assert "more (--all shows them)\n" in text(many, style=TERMINAL, columns=columns)
    bare = text(many, style=TERMINAL, columns=replace(columns, headers=False))
    assert "GANG" not in bare
