"""What only reading needs is shared by its threads, and forgotten afterwards."""

import ctypes

import pytest

from kubectl_koord.cluster import collect_live
from kubectl_koord.cluster.objects.fields import shared
from kubectl_koord.model import values


def test_equal_values_are_one_object_until_they_are_forgotten() -> None:
    first, second, third = (("cpu", 10**number) for number in (20, 20, 20))
    assert shared(shared(first)) is shared(second)
    values.parse("17")
    collect_live.forget()
    assert shared(third) is third
    assert values.parse.cache_info().currsize == 0


@pytest.mark.parametrize("lacking", [AttributeError, OSError, TypeError])
def test_a_system_that_manages_memory_otherwise_is_no_fault(
    monkeypatch: pytest.MonkeyPatch, lacking: type[Exception]
) -> None:
    asked = []

    def library(name: object) -> object:
        asked.append(name)
        raise lacking

    monkeypatch.setattr(ctypes, "CDLL", library)
    collect_live.share()
    assert asked == [None]
