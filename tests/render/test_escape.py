import sys
import unicodedata

import pytest

from kubectl_koord.render.plain import clipped, harmless, head, short, width


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain-name_1", "plain-name_1"),
        ("\x1b[31m", r"\x1b[31m"),
        ("a\nb\tc\rd\x00", r"a\x0ab\x09c\x0dd\x00"),
        ("\x7f\x80\x9b", r"\x7f\x80\x9b"),
        ("\u202e\u2066\u061c", r"\u202e\u2066\u061c"),
        ("\u200b\u200d\ufeff\u2060", r"\u200b\u200d\ufeff\u2060"),
        ("\u2028\u2029", r"\u2028\u2029"),
        ("\ud800x\udfff", r"\ud800x\udfff"),
        ("\U000e0001\U0010ffff", r"\U000e0001\U0010ffff"),
        ("\u3164\ufe0f", r"\u3164\ufe0f"),
        ("节点 é e\u0301 \U0001f600", "节点 é e\u0301 \U0001f600"),
    ],
)
def test_what_acts_or_hides_is_shown_and_the_rest_stays(raw: str, shown: str) -> None:
    assert harmless(raw) == shown


@pytest.mark.untraced
def test_every_code_point_of_a_dangerous_category_is_shown() -> None:
    bad = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    whole = "".join(map(chr, range(sys.maxunicode + 1)))
    assert {unicodedata.category(char) for char in set(harmless(whole))}.isdisjoint(bad)


def test_an_ascii_only_output_gets_every_other_character_escaped() -> None:
    assert harmless("n节\x1b", ascii_only=True) == r"n\u8282\x1b"


def test_wide_characters_take_two_cells_and_combining_ones_none() -> None:
    assert [width("ab"), width("节点"), width("e\u0301")] == [2, 4, 1]


@pytest.mark.parametrize(
    ("text", "cells", "cut"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdefgh", 6, "abc…gh"),
        ("abcdefgh", 2, "ab"),
        ("节节节节节节", 7, "节节…节"),
        ("abcdef", 0, ""),
    ],
)
def test_a_long_name_is_cut_in_the_middle(text: str, cells: int, cut: str) -> None:
    assert short(text, cells) == cut
    assert width(cut) <= cells


def test_a_long_sentence_is_cut_at_the_end() -> None:
    assert clipped("one two three", 8) == "one two…"
    assert clipped("one two three", 8, "...") == "one t..."
    assert clipped("one", 8) == "one"


def test_the_longest_beginning_that_fits_is_taken_by_cells_not_characters() -> None:
    found = [head("ab", 5), head("abc", 2), head("表示", 3), head("表示", 4), head("x", -1)]
    assert found == ["ab", "ab", "表", "表示", ""]
