"""The page of `plan`: the steps as a table, what they cost, and why there are none."""

from msgspec.structs import replace

from kubectl_koord.render.pages.plan import cost, headline, told
from kubectl_koord.render.show import text
from kubectl_koord.reports.jobs import Cause, PlanCost, PlanPoint, PlanReport, PlanStep
from tests.render.samples import BASIS, PIPE

STEPS = (
    PlanStep("cordon", "n0", "", "", "so that nothing comes there", command="kubectl cordon n0"),
    PlanStep("move-pod", "t/a", "n0", "n1", "makes room for the gang", ("t/a",), 6.5, "evict t/a"),
    PlanStep("uncordon", "n0", "", "", "the gang goes there", command="kubectl uncordon n0"),
)
PLAN = PlanReport(
    verdict="yes",
    basis=BASIS,
    warnings=(),
    gang="t/big",
    pods=1,
    steps=STEPS,
    cost=PlanCost(6.5, 1, 0, 0, 7.5),
    cheapest=True,
    nodes=("n0",),
    risks=("t/other also waits, and may take room meanwhile.",),
)


def test_a_step_is_a_line_with_why_and_its_command_stands_below() -> None:
    assert text(PLAN, style=PIPE) == (
        "t/big is placed after 3 steps.\n"
        "1 pod restarts, 6.5 GPU-hours of work are lost. No plan costs less (weighed: 7.5).\n"
        "\n"
        "  #   STEP       OBJECT   FROM   TO   GPU-HOURS   WHY\n"
        "  1   cordon     n0                               so that nothing comes there\n"
        "  2   move pod   t/a      n0     n1         6.5   makes room for the gang\n"
        "  3   uncordon   n0                               the gang goes there\n"
        "\n"
        "What may go wrong\n"
        "  1. t/other also waits, and may take room meanwhile.\n"
        "\n"
        "Commands of each step: go on when the pod that is made anew is ready\n"
        "  1. cordon n0\n"
        "     kubectl cordon n0\n"
        "  2. move pod t/a\n"
        "     evict t/a\n"
        "  3. uncordon n0\n"
        "     kubectl uncordon n0\n"
        "\n"
        "Evaluated as Koordinator 1.8 (from the image tag)\n"
    )


def test_what_a_plan_costs_names_gangs_and_pods_that_wait() -> None:
    assert cost(PlanCost(0, 3, 1, 2, 60, budgets=2), cheapest=False) == (
        "3 pods restart, 0 GPU-hours of work are lost, 1 gang moved whole, 2 pods left waiting, "
        "2 disruptions of budgets used. "
        "It is not proven that no plan costs less (weighed: 60)."
    )


def test_without_steps_the_page_says_why() -> None:
    none = replace(PLAN, verdict="no", steps=(), cost=None, risks=(), message="No moves.", cause=Cause("quota", "Why."))
    assert headline(none) == "There is no plan for t/big. No moves. Why."
    assert "kubectl koord explain quota" in text(none, style=PIPE)
    assert (
        headline(replace(none, verdict="unknown", message="", cause=None)) == "Cannot tell which moves help for t/big."
    )
    assert headline(replace(none, verdict="yes", message="Nothing.")) == "t/big: Nothing."


def test_a_step_is_told_in_a_clause() -> None:
    assert [told(step) for step in STEPS[:2]] == [
        "cordon n0: so that nothing comes there",
        "move pod t/a from n0 to n1: makes room for the gang",
    ]


def test_room_for_gangs_is_a_curve_of_moves_against_gangs() -> None:
    points = (PlanPoint(1, 0, 0, 0, fewest=True), PlanPoint(2, 2, 3, 6.5, fewest=False))
    page = text(replace(PLAN, message="1 gang of 2 pods fits now, 2 after 3 pods moved.", curve=points), style=PIPE)
    assert page.startswith(
        "1 gang of 2 pods fits now, 2 after 3 pods moved.\n"
        "\n"
        "  PODS MOVED   GANGS THAT FIT   GPU-HOURS   FEWEST\n"
        "           0                1           0   proven\n"
        "           3                2         6.5   not proven\n"
        "\n"
        "1 pod restarts, 6.5 GPU-hours"
    )
    alone = replace(PLAN, verdict="no", steps=(), cost=None, risks=(), message="1 fits.", curve=points[:1])
    assert text(alone, style=PIPE) == "1 fits.\n\nEvaluated as Koordinator 1.8 (from the image tag)\n"
