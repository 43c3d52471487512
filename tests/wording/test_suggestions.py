"""Suggestions for a name that is nobody's: near ones, or none."""

import pytest

from kubectl_koord.wording.suggestions import near

KNOWN = ("default/train", "default/trace", "default/single", "ml/deep-learning", "ml/job")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("default/train", ("default/train",)),  # none is nearer than the name itself, and another is two letters off
        ("default/trian", ("default/train",)),
        ("default/tran", ("default/train", "default/trace")),
        ("default/sngl", ("default/single",)),
        ("default/deep", ("ml/deep-learning",)),
        ("default/job", ("ml/job",)),
        ("default/jbo", ("ml/job",)),
        ("mk/job", ("ml/job",)),
        ("default/xyz", ()),
        ("default/nobody", ()),
        ("default/", ()),
        ("", ()),
    ],
)
def test_a_name_is_suggested_for_two_slips_or_its_beginning_or_without_its_namespace(
    typed: str, meant: tuple[str, ...]
) -> None:
    assert near(typed, KNOWN)[: len(meant) or None] == meant


def test_the_nearest_come_first_and_no_more_than_asked_for() -> None:
    assert near("preem", ("prompt", "preempted", "preempt", "prem", "topo")) == ("prem", "preempt", "preempted")
    assert near("preem", ("preempted", "preempt", "prem", "topo"), 1) == ("prem",)


def test_of_a_word_of_three_letters_one_may_be_wrong() -> None:
    assert near("tpo", ("topo", "abc", "top", "ton")) == ("top", "topo")
