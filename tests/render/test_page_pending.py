from msgspec.structs import replace

from kubectl_koord.explain.morning import by_cause
from kubectl_koord.explain.reports import Cause, Contention, PendingGangsReport
from kubectl_koord.render.show import text
from tests.render.samples import ASCII_TERMINAL, BASIS, PENDING, PIPE, TERMINAL, WHY


def test_all_pending_gangs_in_a_pipe() -> None:
    expected = """\
2 gangs have pending pods, 1 lone pod is pending: 1 cannot start now, 1 would be placed now, 1 unknown.

CAUSE / GANG              PODS   WAITING FOR   AGE   WHY
insufficient-slots           4   32 CPU        30m
  default/job (+1 gang)      4   32 CPU        30m   no spine has room for its 4 pods, the best has 3.
(unknown)                    1   8 GPU          2d
  pod/default/single         1   8 GPU          2d   ElasticQuotas may not be read.
(would start)                3
  default/job                3                       The scheduler has not tried again yet.

kubectl koord why-pending GANG tells more about one of them.

default/job and default/a, default/b want the same place: whoever is tried first gets it.

Warning: The scheduler's configuration is assumed as the Helm chart sets it. (assumed-config)

as koordinator 1.8 decides (from the image tag)
"""
    assert text(PENDING, style=PIPE) == expected


def test_all_pending_gangs_on_a_terminal() -> None:
    expected = """\
2 gangs have pending pods, 1 lone pod is pending: 1 cannot start now, 1 would be
placed now, 1 unknown.

CAUSE / GANG               PODS   WAITING FOR   AGE   WHY
insufficient-slots            4   32 CPU        30m
└─ default/job (+1 gang)      4   32 CPU        30m   no spine has room for its…
(unknown)                     1   8 GPU          2d
└─ pod/default/single         1   8 GPU          2d   ElasticQuotas may not be…
(would start)                 3
└─ default/job                3                       The scheduler has not tri…

kubectl koord why-pending GANG tells more about one of them.

default/job and default/a, default/b want the same place: whoever is tried first
gets it.

Warning: The scheduler's configuration is assumed as the Helm chart sets it.
(assumed-config)

as koordinator 1.8 decides (from the image tag)
"""
    assert text(PENDING, style=TERMINAL) == expected


def test_all_pending_gangs_on_an_ascii_terminal() -> None:
    expected = """\
2 gangs have pending pods, 1 lone pod is pending: 1 cannot start now, 1 would be
placed now, 1 unknown.

CAUSE / GANG               PODS   WAITING FOR   AGE   WHY
insufficient-slots            4   32 CPU        30m
`- default/job (+1 gang)      4   32 CPU        30m   no spine has room for i...
(unknown)                     1   8 GPU          2d
`- pod/default/single         1   8 GPU          2d   ElasticQuotas may not b...
(would start)                 3
`- default/job                3                       The scheduler has not t...

kubectl koord why-pending GANG tells more about one of them.

default/job and default/a, default/b want the same place: whoever is tried first
gets it.

Warning: The scheduler's configuration is assumed as the Helm chart sets it.
(assumed-config)

as koordinator 1.8 decides (from the image tag)
"""
    assert text(PENDING, style=ASCII_TERMINAL) == expected


def test_hundreds_of_gangs_fit_on_a_screen_and_every_cause_is_there() -> None:
    causes = (Cause("insufficient-slots", "a."), Cause("too-few-pods", "b."), Cause("no-podgroup", "c."))
    gangs = tuple(replace(WHY, gang=f"ns/gang-{number:03}", cause=causes[number % 7 % 3]) for number in range(400))
    page = text(PendingGangsReport("yes", BASIS, (), gangs, by_cause(gangs)), style=TERMINAL).splitlines()
    assert len(page) < 60
    assert [line for line in page if line.endswith(" gangs") or "and " in line] == [
        "insufficient-slots           688   5504 CPU      30m   172 gangs",
        "└─ and 158 more",
        "no-podgroup                  456   3648 CPU      30m   114 gangs",
        "└─ and 101 more",
        "too-few-pods                 456   3648 CPU      30m   114 gangs",
        "└─ and 101 more",
    ]


def test_only_the_first_contentions_are_told() -> None:
    fights = tuple(Contention(f"ns/gang-{number}", ("ns/first",)) for number in range(7))
    page = text(replace(PENDING, contending=fights), style=PIPE)
    assert page.count("want the same place") == 5
    assert "and 2 more gangs that would find their place taken.\n" in page
