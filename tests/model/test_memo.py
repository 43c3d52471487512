"""What was computed of a value is kept by function and arguments."""

from kubectl_koord.model.values import Identity, Memo, memoised


class Number(Memo):
    def __init__(self) -> None:
        self.asked: list[object] = []


@memoised
def plus(number: Number, more: int, times: int = 1) -> int:
    number.asked.append((more, times))
    return more * times


@memoised
def minus(number: Number, more: int) -> int:
    number.asked.append(-more)
    return -more


def test_a_value_is_computed_once_for_each_function_and_set_of_arguments() -> None:
    number = Number()

    found = [plus(number, 1), plus(number, 1), plus(number, 2), plus(number, 1, times=3), minus(number, 1)]

    assert found == [1, 1, 2, 3, -1]
    assert number.asked == [(1, 1), (2, 1), (1, 3), -1]


def test_another_value_keeps_its_own() -> None:
    first, second = Number(), Number()
    plus(first, 1)
    plus(second, 1)
    assert (first.asked, second.asked) == ([(1, 1)], [(1, 1)])


def test_an_identity_equals_itself_alone() -> None:
    one, twin = [1], [1]
    assert Identity(one) == Identity(one)
    assert Identity(one) != Identity(twin)
    assert Identity(one) != one
    assert len({Identity(one), Identity(one), Identity(twin)}) == 2
