"""How much is shown: a terminal gets what suits a screen and is told how to see the rest, a pipe gets it all."""

import time

import pytest
from msgspec.structs import replace

from kubectl_koord.render.document import Block, Bullet, Bullets, Column, Line, Row, Table, TreeTable
from kubectl_koord.render.plain import to_plain
from kubectl_koord.render.show import OutputStyle, text
from kubectl_koord.render.shown import EVERYTHING, folded, parted
from kubectl_koord.render.terminal import Screen, laid_out
from kubectl_koord.reports.common import Notice
from kubectl_koord.reports.jobs import Cause, SlotRow
from tests.render.samples import PENDING, PIPE, PREEMPT, TERMINAL, WHY

WIDE = OutputStyle(terminal=True, width=400, colour=False, unicode=True)
NAMES = [f"ns/pod-{number}" for number in range(30)]
LONG = "a" * 29 + "-" + "b" * 30  # as long as names in real clusters get
POD = f"{LONG}/{LONG[::-1]}"


def lines(block: Table | TreeTable | Line | Bullets, width: int) -> list[str]:
    return ["".join(span.text for span in line) for line in laid_out([block], Screen(width, unicode=True))]


@pytest.mark.parametrize(
    ("sentence", "short"),
    [
        ("a, b and c wait.", "a, b and c wait."),
        ("a, b, c and d wait.", "a, b and 2 more (--all shows them) wait."),
        ("of these: a, b, c, d: gone", "of these: a, b and 2 more (--all shows them): gone"),
        ("(a on n1, b on n2, c on n3, d)", "(a on n1, b on n2 and 2 more (--all shows them))"),
        ("a (1 GPU, old), b (2 GPU), c (3 GPU), d", "a (1 GPU, old), b (2 GPU) and 2 more (--all shows them)"),
        ("too little CPU (2 nodes), taint a (1 node), cordoned (3)", None),
        ("first this happens, then that does, then the next thing", None),
        ("nothing", None),
    ],
)
def test_long_lists_of_names_are_folded_and_nothing_else(sentence: str, short: str | None) -> None:
    assert folded(sentence, 2) == (sentence if short is None else short)
    assert folded(sentence, None) == sentence


def test_folding_takes_no_longer_than_reading() -> None:
    start = time.perf_counter()
    for evil in (
        "a, " * 50_000,
        "a" * 200_000 + ", b",
        "a (" * 50_000 + ", b",
        ":" * 200_000 + ", b",
        "a on " * 50_000,
    ):
        folded(evil, 5)
    assert time.perf_counter() - start < 2


def test_one_more_is_shown_and_not_counted() -> None:
    assert parted("abc", 2) == ("abc", ())
    assert parted("abcd", 2) == ("ab", "cd")
    assert parted("abcd", None) == ("abcd", ())


def test_a_pipe_and_all_get_every_name_a_terminal_the_first_and_how_to_see_the_rest() -> None:
    report = replace(WHY, cause=Cause("scheduling-gated", f"these are gated: {', '.join(NAMES)}.", tuple(NAMES)))
    few = "these are gated: ns/pod-0, ns/pod-1, ns/pod-2, ns/pod-3, ns/pod-4 and 25 more (--all shows them).\n"
    assert few in text(report, style=WIDE)
    for page in (text(report, style=PIPE), text(report, style=WIDE, shown=EVERYTHING).replace("\n", "")):
        assert [name for name in NAMES if name not in page] == []
        assert "--all" not in page


def test_what_is_in_the_way_is_told_node_by_node() -> None:
    nodes = tuple(f"node-{number}: a-{number} (8 GPU, priority 1)" for number in range(9))
    row = SlotRow("SpineLayer", "spine-0", 1, 3, f"{nodes[0]} and 8 more nodes", None, nodes)
    report = replace(WHY, domains=(row,))
    assert f"{nodes[0]} and 8 more nodes (--all shows them)\n" in text(report, style=WIDE)
    assert ", ".join(nodes) in text(report, style=PIPE)


def test_many_outcomes_are_cut_on_a_terminal_only() -> None:
    cause, victim = Cause("insufficient-slots", "short."), PREEMPT.victims[0]
    ends = [replace(cause, message=f"it lacks {number}.") for number in range(9)]
    killed = [(replace(victim, pod=f"default/v{number}"),) for number in range(9)]
    unlike = [
        replace(WHY.alternatives[0], when=f"outcome {at}", verdict="no", cause=end) for at, end in enumerate(ends)
    ]
    others = [replace(PREEMPT.alternatives[0], when=f"outcome {at}", victims=one) for at, one in enumerate(killed)]
    for several in (replace(WHY, alternatives=tuple(unlike)), replace(PREEMPT, alternatives=tuple(others))):
        assert "... and 4 more outcomes (--all shows them)\n" in text(several, style=WIDE)
        assert "outcome 8" in text(several, style=PIPE)


def test_what_the_scheduler_wrote_is_whole_in_a_pipe() -> None:
    assert WHY.scheduler_says is not None
    says = replace(WHY.scheduler_says, message="x y " * 1000 + "end", reads="")
    report = replace(WHY, scheduler_says=says)
    assert 'end"' in text(report, style=PIPE)
    assert '... (--all shows the rest)"' in text(report, style=WIDE)


def test_a_listing_in_a_pipe_has_every_gang_and_every_warning() -> None:
    odd = Notice("worst-fit", "Fit.")
    items = tuple(replace(WHY, gang=f"ns/gang-{number:03}", warnings=(odd,)) for number in range(300))
    from kubectl_koord.diagnosis.coverage import by_cause  # noqa: PLC0415 - beside its use

    page = text(replace(PENDING, items=items, causes=by_cause(items)), style=PIPE)
    assert [item.gang for item in items if f"\n  {item.gang} " not in page] == []
    assert "more (" not in page


def test_at_80_columns_a_pod_with_a_name_of_120_letters_is_read_in_full() -> None:
    columns = (
        Column("VICTIM"),
        Column("NODE", goes=2),
        Column("PRIORITY", right=True),
        Column("AGE", right=True, goes=1),
        Column("WHY", flow="wrap"),
    )
    rows = tuple(
        Row((POD, LONG, "1000", "5m", "it has a lower priority, and nobody protects it."), depth=1) for _ in "ab"
    )
    drawn = lines(TreeTable(columns, (Row(("block", "", "", "", "")), *rows)), 80)
    assert max(map(len, drawn)) <= 80
    parts = [line.strip("\u251c\u2500\u2514\u2502 ").split("   ")[0] for line in drawn[2:]]
    assert POD in "".join(parts)
    assert "\u2026" not in "".join(drawn)
    assert sum("why: it has a lower priority, and nobody protects it." in line for line in drawn) == 2


def test_columns_go_in_their_order_and_the_table_says_so() -> None:
    columns = (Column("NAME"), Column("NODE", goes=2), Column("N", right=True, goes=1), Column("LAST"))
    table = Table(columns, (Row(("x" * 30, "y" * 30, "12345", "z" * 10)),), indent=0)
    assert lines(table, 84) == [
        f"{'NAME':30}   {'NODE':30}       N   LAST",
        f"{'x' * 30}   {'y' * 30}   12345   {'z' * 10}",
    ]
    assert lines(table, 80)[1:] == [f"{'x' * 30}   {'y' * 30}   {'z' * 10}", "(no room for N)"]
    assert lines(table, 50)[1:] == [f"{'x' * 30}   {'z' * 10}", "(no room for NODE, N)"]
    assert lines(table, 40)[1:3] == [f"{'x' * 27}   {'z' * 10}", "x" * 3]


def test_where_nothing_fits_the_first_column_stays() -> None:
    columns = (Column("NAME"), Column("A"), Column("B"), Column("WHY", flow="wrap"))
    table = Table(columns, (Row(("name", "aaa", "bbb", "why not")),), indent=0)
    assert lines(table, 6) == ["NAME", "name", "   why", "   :", "   why", "   not", "(no", "room", "for A,", "B)"]


def test_what_runs_across_makes_no_column_wide() -> None:
    columns = (Column("NAME"), Column("N", right=True))
    tree = TreeTable(columns, (Row(("a", "1")), Row(("... and 30 more (--all shows them)", ""), depth=1, across=True)))
    assert lines(tree, 80) == ["NAME   N", "a      1", "\u2514\u2500 ... and 30 more (--all shows them)"]


def test_quoted_text_is_not_folded() -> None:
    names = ", ".join(NAMES)
    for quoted in (True, False):
        (line,) = laid_out([Line(names, quoted=quoted)], Screen(0, unicode=True, names=5))
        assert ("--all" in line[1].text) is not quoted


def test_points_are_folded_and_their_commands_are_not() -> None:
    names = ", ".join(NAMES)
    drawn = list(laid_out([Bullets((Bullet(names, names),))], Screen(0, unicode=True, names=5)))
    assert [span.text for line in drawn for span in line if "ns/" in span.text] == [
        "ns/pod-0, ns/pod-1, ns/pod-2, ns/pod-3, ns/pod-4 and 25 more (--all shows them)",
        names,
    ]


def test_a_terminal_shows_no_more_than_names_can_be_long_of_a_word() -> None:
    (drawn,) = {len("".join(line)) for line in [lines(Line("x" * 10_000), 80)]}
    assert drawn == 400
    assert TERMINAL.width == 80


def test_a_way_out_that_names_four_pods_is_a_list() -> None:
    pods = [f"default/{name} on n-{name} (8 CPU, priority 3)" for name in "abcd"]
    beginning, end = "Evict 4 pods in spine s1: ", "; they have the same priority as this job (3): a last resort"
    several = Bullets((Bullet(f"{beginning}{', '.join(pods[:3])} and {pods[3]}{end}", "kubectl koord evict"),))
    fewer = Bullets((Bullet(f"{beginning}{pods[0]}, {pods[1]} and {pods[2]}"),))
    told = "     They have the same priority as this job (3): a last resort"
    expected = ["  1. Evict 4 pods in spine s1:", *(f"     - {pod}" for pod in pods), told, "     kubectl koord evict"]
    assert to_plain([several]).splitlines() == expected
    assert drawn([several], Screen(80, unicode=True)) == expected
    assert drawn([several], Screen(80, unicode=True, names=2)) == [
        *expected[:3],
        "     - ... and 2 more pods (--all shows them)",
        *expected[5:],
    ]
    assert to_plain([fewer]) == f"  1. {beginning}{pods[0]}, {pods[1]} and {pods[2]}\n"


def drawn(blocks: list[Block], screen: Screen) -> list[str]:
    return ["".join(span.text for span in line) for line in laid_out(blocks, screen)]
