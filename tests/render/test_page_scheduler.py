"""The pages of `scheduler`: the scheduler beside the objects, and its log by pod."""

import pytest

from kubectl_koord.render.show import text
from kubectl_koord.render.shown import Shown
from kubectl_koord.reports.common import Basis
from kubectl_koord.reports.operation import (
    Compared,
    Difference,
    Field,
    LoggedPod,
    Part,
    RefusedByPlugin,
    SchedulerLogReport,
    SchedulerReport,
    Scored,
)
from tests.render.samples import PIPE

BASIS = Basis("1.8", "image", "2026-11-20T10:00:00Z", "cluster")
LINGER = Difference("deleted-pods-linger", "1 pod (default/a) is gone")
OPEN = Difference("unexplained", "mode: no known reason")
FEW = Shown(lines=1, rows=1, few=1)


def page(part: Part, *items: Compared, shown: Shown | None = None, **fields: object) -> str:
    report = SchedulerReport("yes", BASIS, (), part, "sched-0", items, **fields)  # type: ignore[arg-type]
    return text(report, style=PIPE, shown=shown).rpartition("\nEvaluated")[0]


def gang(name: str, *differences: Difference, pods: str = "2", ours: str | None = "2") -> Compared:
    return Compared(name, (Field("minMember", "2", "2"), Field("pods", pods, ours)), differences)


def test_gangs_are_a_table_with_the_objects_in_brackets_where_these_differ() -> None:
    absent = Compared("d/c", (), (Difference("not-known", "the scheduler does not know it"),))
    assert page("gangs", gang("d/a"), gang("d/b", LINGER, pods="3"), absent) == (
        "sched-0: 3 gangs, 2 not as the objects say, all for a known reason.\n"
        "\n"
        "NAME   WANTED   PODS\n"
        "d/a    2        2\n"
        "d/b    2        3 (2)\n"
        "In brackets: what follows from the objects, where the scheduler has something else.\n"
        "\n"
        "d/b: 1 pod (default/a) is gone [deleted-pods-linger]\n"
        "d/c: the scheduler does not know it [not-known]\n"
        "What a code means: kubectl koord explain CODE\n"
    )


def test_one_gang_is_a_row_for_each_field() -> None:
    fields = (Field("mode", "Strict", "NonStrict"), Field("waiting", "1"), Field("representative", ""))
    assert page("gang", Compared("d/a", fields, (OPEN,))) == (
        "sched-0: 1 gang, 1 not as the objects say, 1 difference without a known reason.\n"
        "\n"
        "FIELD     SCHEDULER   OBJECTS\n"
        "mode      Strict      NonStrict\n"
        "waiting   1\n"
        "\n"
        "d/a: mode: no known reason [unexplained]\n"
        "What a code means: kubectl koord explain CODE\n"
    )


def test_nothing_and_nothing_that_differs() -> None:
    assert page("gangs") == "sched-0 knows no gang.\n"
    assert page("gangs", gang("d/a")).startswith("sched-0: 1 gang, as the objects say.\n")
    alone = page("gangs", gang("d/a", ours=None), message="Pod could not be read: no")
    assert alone.startswith("sched-0 knows 1 gang.\nNot compared: Pod could not be read: no.\n")


def test_routes_are_listed() -> None:
    assert page("services", routes=("/a", "/b", "/c")) == "sched-0 answers 3 paths.\n\n  /a\n  /b\n  /c\n"
    assert "... and 2 more" in page("services", routes=("/a", "/b", "/c"), shown=FEW)


def test_on_a_screen_long_listings_are_cut() -> None:
    cut = page("gangs", *(gang(f"d/{n}", LINGER) for n in range(4)), shown=FEW)
    assert cut.count("... and 3 more") == 2
    assert "d/1" not in cut


def log_page(*items: LoggedPod, part: str = "scores", shown: Shown | None = None, **fields: int) -> str:
    counted = {"lines": 9, "broken": 0} | fields
    report = SchedulerLogReport("yes", part, items, **counted)  # type: ignore[arg-type]
    return text(report, style=PIPE, shown=shown)


def test_scores_say_why_a_node_is_before_another() -> None:
    scores = (Scored("n1", 177, {"Load": 87, "Fit": 90}), Scored("n2", 93, {"Load": 0, "Fit": 93}))
    item = LoggedPod("d/a", "1122 10:00:01", 1, feasible=3, scores=scores)
    assert log_page(item) == (
        "Scores of 1 pod in the log (9 lines read).\n"
        "\n"
        "d/a: last at 1122 10:00:01, 3 nodes could take it\n"
        "  n1 is before n2 by 84: Load +87 and Fit -3.\n"
        "  NODE   TOTAL   BY PLUGIN\n"
        "  n1       177   Load 87, Fit 90\n"
        "  n2        93   Fit 93\n"
    )


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        ((Scored("n1", 1, {"Fit": 1}), Scored("n2", 1, {"Fit": 1})), "n1 and n2 have the same scores"),
        ((Scored("n1", 1, {"Fit": 1}),), ""),
    ],
)
def test_equal_scores_and_a_single_node(scores: tuple[Scored, ...], said: str) -> None:
    shown = log_page(LoggedPod("d/a", "", 1, scores=scores))
    assert (said in shown) if said else ("before" not in shown)


def test_a_diagnosis_shows_what_was_said_and_which_nodes_failed() -> None:
    item = LoggedPod(
        "d/a",
        "",
        1,
        refused=(
            RefusedByPlugin("Fit", "full", ("n1",), 7, preempt=True),
            RefusedByPlugin("Taint", "taint", (), 1, preempt=False),
        ),
        said=("no room",),
        gang="d/job",
        root_cause=False,
        waiting=2,
        slots={"n1": 3},
        more=4,
    )
    assert log_page(item, part="diagnosis", broken=1, left_out=2) == (
        "Diagnoses of 1 pod in the log (9 lines read).\n"
        "1 line could not be read and was skipped.\n"
        "It tells of more pods than are kept, the last 1: name a pod.\n"
        "\n"
        "d/a of d/job: another member failed first, 2 members waited in Permit\n"
        "  no room\n"
        "  Members placed or offered room: n1 3.\n"
        "  NODES   PLUGIN   VICTIMS HELP   FIRST   REASON\n"
        "      7   Fit      yes            n1      full\n"
        "      1   Taint    no                     taint\n"
        "  ... and 4 refusals that are not kept\n"
    )


def test_a_log_that_says_nothing_tells_which_flags_make_it() -> None:
    assert log_page(part="filters", broken=2) == (
        "No refusals in the log (9 lines read).\n"
        "2 lines could not be read and were skipped.\n"
        "The scheduler logs it where its flags tell it to: --debug-scores=N, --debug-filters, --debug-diagnosis;"
        " errors of pods that fit nowhere from -v=2 on.\n"
    )


def test_on_a_screen_few_pods_and_few_rows_of_each_are_shown() -> None:
    refused = tuple(RefusedByPlugin("Fit", f"r{n}", (), 1) for n in range(3))
    cut = log_page(*(LoggedPod(f"d/{n}", "", 1, refused=refused) for n in range(3)), part="filters", shown=FEW)
    assert "... and 2 more pods" in cut
    assert "... and 2 more (" in cut
