"""How far a search goes."""

import pytest

from kubectl_koord.engine.budget import (
    MOST_STEPS,
    Asker,
    Budget,
    Unwanted,
    asked_by,
    between_answers,
    most_steps,
    steps_of_attempt,
    steps_of_retries,
)


def test_a_search_that_has_no_steps_left_is_cut_off() -> None:
    budget = Budget(2)
    assert (budget.take(), budget.take(), budget.is_cut) == (True, True, False)
    assert (budget.take(), budget.is_cut) == (False, True)


def test_steps_that_are_not_all_left_are_not_taken() -> None:
    budget = Budget(2)
    assert not budget.take(3)
    assert budget.left == 2


def test_a_part_takes_from_the_whole_and_says_so_where_it_is_cut_off() -> None:
    whole = Budget(5)
    part = whole.part(2)
    assert (part.take(2), whole.left, whole.is_cut) == (True, 3, False)
    assert (part.take(), whole.left, whole.is_cut) == (False, 3, True)


def test_a_part_has_no_more_than_the_whole_has_left() -> None:
    whole = Budget(5)
    part = whole.part(9)
    assert whole.take(4)
    assert (part.left, part.take(2), part.is_cut) == (5, False, True)


def test_who_asks_may_stop_waiting_and_do_something_else_between_answers() -> None:
    done: list[str] = []
    with asked_by(Asker(wants_it=lambda: not done, between=lambda: done.append("urgent"))):
        assert Budget().take()
        with pytest.raises(Unwanted):
            between_answers()
        with pytest.raises(Unwanted):
            Budget().take()
    assert done == ["urgent"]
    between_answers()
    assert Budget().take()


def test_the_more_nodes_are_asked_in_each_step_the_fewer_steps_there_are() -> None:
    assert [most_steps(nodes) for nodes in (0, 10, 50, 100, 1000, 5000)] == [MOST_STEPS, 1200, 240, 120, 64, 64]


def test_an_attempt_at_pods_of_many_kinds_counts_for_several_steps() -> None:
    assert [steps_of_attempt(kinds, 0) for kinds in (1, 15, 16, 64)] == [1, 1, 2, 5]


def test_an_attempt_at_many_pods_without_a_plan_counts_for_several_steps() -> None:
    assert [steps_of_attempt(1, pods) for pods in (0, 31, 32, 64)] == [1, 1, 2, 3]


def test_what_befalls_many_nodes_on_which_members_wait_counts_for_several_steps() -> None:
    assert [steps_of_retries(nodes) for nodes in (0, 15, 16, 64)] == [1, 1, 2, 5]
