"""What only reading needs is shared by its threads, and forgotten afterwards."""

import ctypes

import pytest

from kubectl_koord.cluster import spare
from kubectl_koord.cluster.objects.fields.shared import shared
from kubectl_koord.model.values import quantity


def test_equal_values_are_one_object_until_they_are_forgotten() -> None:
    first, second, third = (("cpu", 10**number) for number in (20, 20, 20))
    assert shared(shared(first)) is shared(second)
    quantity.parse("17")
    spare.forget()
    assert shared(third) is third
    assert quantity.parse.cache_info().currsize == 0


@pytest.mark.parametrize("lacking", [AttributeError, OSError, TypeError])
def test_a_system_that_manages_memory_otherwise_is_no_fault(
    monkeypatch: pytest.MonkeyPatch, lacking: type[Exception]
) -> None:
    asked = []

    def library(name: object) -> object:
        asked.append(name)
        raise lacking

    monkeypatch.setattr(ctypes, "CDLL", library)
    spare.share()
    assert asked == [None]
