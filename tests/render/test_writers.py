import sys

import pytest

from kubectl_koord.render.document import (
    Block,
    Bullet,
    Bullets,
    Column,
    Command,
    EmptyLine,
    Line,
    Row,
    Table,
    TreeTable,
    slim,
)
from kubectl_koord.render.plain import to_plain
from kubectl_koord.render.show import OutputStyle, text
from kubectl_koord.render.terminal import to_terminal
from tests.render.samples import ASCII_TERMINAL, PIPE, REPORTS, TERMINAL

PAGE: list[Block] = [
    Line("A sentence that is a little too long for forty cells.", "bad"),
    EmptyLine(),
    Table(
        (Column("NAME"), Column("N", right=True), Column("节"), Column("WHY", flow="wrap")),
        (Row(("a-very-long-name-of-a-node", "1", "点", "short")), Row(("b", "10", "", "one two three four"), "good")),
    ),
    TreeTable(
        (Column("DOMAIN"), Column("N", right=True)),
        (
            Row(("cluster", "1")),
            Row(("a", "2"), depth=1),
            Row(("x", "3"), depth=2),
            Row(("b", "4"), depth=1),
            Row(("y", "5"), depth=2),
        ),
    ),
    Bullets((Bullet("First do this or that and also this", "kubectl koord topo"), Bullet("Then", "run it"))),
]


def on_terminal(blocks: list[Block], *, width: int, colour: bool = False, unicode: bool = True) -> str:
    parts: list[str] = []
    to_terminal(blocks, width=width, colour=colour, unicode=unicode, write=parts.append)
    return "".join(parts)


def test_a_pipe_gets_one_line_per_row_and_nothing_drawn() -> None:
    assert (
        to_plain(PAGE)
        == """\
A sentence that is a little too long for forty cells.

  NAME                          N   节   WHY
  a-very-long-name-of-a-node    1   点   short
  b                            10        one two three four
DOMAIN    N
cluster   1
  a       2
    x     3
  b       4
    y     5
  1. First do this or that and also this
     kubectl koord topo
  2. Then
     run it
"""
    )


def test_a_narrow_terminal_puts_sentences_below_and_breaks_names() -> None:
    assert (
        on_terminal(PAGE, width=40)
        == """\
A sentence that is a little too long for
forty cells.

  NAME                          N   节
  a-very-long-name-of-a-node    1   点
     why: short
  b                            10
     why: one two three four
DOMAIN    N
cluster   1
├─ a      2
│  └─ x   3
└─ b      4
   └─ y   5
  1. First do this or that and also this
     kubectl koord topo
  2. Then
     run it
"""
    )


def test_an_ascii_terminal_gets_ascii_only() -> None:
    assert (
        "\n" + on_terminal(PAGE, width=40, unicode=False)
        == r"""
A sentence that is a little too long for
forty cells.

  NAME                        N   \u8282
  a-very-long-name-of-a-      1   \u70b9
  node
     why: short
  b                          10
     why: one two three four
DOMAIN    N
cluster   1
|- a      2
|  `- x   3
`- b      4
   `- y   5
  1. First do this or that and also this
     kubectl koord topo
  2. Then
     run it
"""
    )


def test_a_list_wraps_between_its_words_and_a_name_stays_whole() -> None:
    columns = (Column("POD"), Column("REQUESTS"), Column("NODE", goes=1))
    table = Table(
        columns, (Row(("default/a-rather-long-name-of-a-pod", "8 CPU, 4 GPU, 1600Gi memory", "n1")),), indent=0
    )
    assert (
        on_terminal([table], width=60)
        == """\
POD                                   REQUESTS          NODE
default/a-rather-long-name-of-a-pod   8 CPU, 4 GPU,     n1
                                      1600Gi memory
"""
    )


def test_wide_columns_go_first_and_none_is_narrower_than_its_words() -> None:
    columns = (
        Column("GANG"),
        Column("PODS", right=True),
        Column("SPAN", goes=1),
        Column("MODE", wide=True),
        Column("MATCH POLICY", wide=True),
    )
    table = Table(columns, (Row(("train/a", "4", "spine", "Strict", "once-satisfied")),), indent=0)
    for width, told in (
        (40, "GANG      PODS   SPAN    MODE\ntrain/a      4   spine   Strict\n(no room for MATCH POLICY)\n"),
        (28, "GANG      PODS   SPAN\ntrain/a      4   spine\n(no room for MODE, MATCH\nPOLICY)\n"),
        (16, "GANG      PODS\ntrain/a      4\n(no room for\nSPAN, MODE,\nMATCH POLICY)\n"),
        (9, "GANG\ntrain/a\n(no room\nfor PODS,\nSPAN,\nMODE,\nMATCH\nPOLICY)\n"),
    ):
        assert on_terminal([table], width=width) == told


def test_no_line_is_wider_than_the_terminal() -> None:
    wide: list[Block] = [block for block in PAGE if not isinstance(block, Bullets)]
    for width in range(1, 90):
        assert max(map(len, on_terminal(wide, width=width, unicode=False).splitlines())) <= width


@pytest.mark.parametrize("width", [0, 1, 20, 80, 200])
def test_a_command_is_in_a_line_of_its_own_and_whole_however_narrow_the_terminal(width: int) -> None:
    long = f"kubectl create --raw /api/v1/namespaces/default/pods/{'x' * 300}/eviction -f -"
    page: list[Block] = [Bullets((Bullet("Evict it", long),)), Command(long, indent=2)]
    assert f"\n     {long}\n  {long}\n" in on_terminal(page, width=width)
    assert to_plain(page) == f"  1. Evict it\n     {long}\n  {long}\n"


def test_a_command_that_would_flood_a_terminal_is_not_cut_but_left_to_json() -> None:
    flood: list[Block] = [Command("x" * 4001)]
    assert on_terminal(flood, width=80) == "(a command of 4001 characters: -o json has it)\n"
    assert on_terminal(flood, width=0) == to_plain(flood) == "x" * 4001 + "\n"


def test_a_width_of_0_cuts_nothing() -> None:
    assert "a-very-long-name-of-a-node" in on_terminal(PAGE, width=0)


def test_without_colours_there_are_no_escape_codes_however_long_the_page() -> None:
    assert "\x1b" not in on_terminal(PAGE * 20, width=80)


def test_colours_change_nothing_but_colours() -> None:
    coloured = on_terminal(PAGE, width=80, colour=True)
    assert coloured.startswith("\x1b[1;31mA sentence")
    for code in ("0", "1", "32", "1;31", "2", "36"):
        coloured = coloured.replace(f"\x1b[{code}m", "")
    assert coloured == on_terminal(PAGE, width=80)


def test_a_table_without_rows_is_its_header() -> None:
    assert to_plain([Table((Column("A"), Column("B")), ())]) == "  A   B\n"
    assert on_terminal([Table((Column("A"), Column("B")), ())], width=80) == "  A   B\n"


def test_columns_that_say_nothing_are_left_out() -> None:
    table = slim(Table((Column("A"), Column("B"), Column("C")), (Row(("1", "", "2")), Row(("3", "", "")))))
    assert to_plain([table]) == "  A   C\n  1   2\n  3\n"


@pytest.mark.parametrize("style", [PIPE, TERMINAL, ASCII_TERMINAL])
@pytest.mark.parametrize("name", REPORTS)
def test_no_page_has_blanks_at_the_end_of_a_line_or_two_gaps_in_a_row(name: str, style: OutputStyle) -> None:
    written = text(REPORTS[name], style=style)
    assert " \n" not in written
    assert "\n\n\n" not in written
    assert not written.startswith("\n")
    assert written.endswith("\n")


def test_the_work_for_rows_grows_no_faster_than_their_number() -> None:
    few, many = (_calls(_rows(number)) for number in (100, 1000))
    assert few > 100
    assert many < 11 * few


def _rows(number: int) -> Table:
    columns = tuple(Column(f"C{column}") for column in range(6))
    return Table(columns, tuple(Row((f"node-{i}", "abc", "1", "2", "x y", str(i))) for i in range(number)))


def _calls(table: Table) -> int:
    """Return how often any function is called: as on every machine, however busy it is."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        to_plain([table])
    finally:
        sys.setprofile(before)
    return calls
