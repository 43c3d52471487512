"""What only reading has needed is given back."""

import ctypes

import pytest

from kubectl_koord.cluster import spare
from kubectl_koord.cluster.objects.fields.shared import shared
from kubectl_koord.model.values import quantity


def test_equal_values_are_one_object_until_memory_is_given_back() -> None:
    first, second, third = (("cpu", 10**number) for number in (20, 20, 20))
    assert shared(shared(first)) is shared(second)
    quantity.parse("17")
    spare.give_back()
    assert shared(third) is third
    assert quantity.parse.cache_info().currsize == 0


@pytest.mark.parametrize("lacking", [AttributeError, OSError, TypeError])
def test_a_system_that_cannot_take_memory_back_is_no_fault(
    monkeypatch: pytest.MonkeyPatch, lacking: type[Exception]
) -> None:
    def library(_name: object) -> object:
        raise lacking

    monkeypatch.setattr(ctypes, "CDLL", library)
    spare.give_back()
