"""Whole numbers as Go reads them."""

import pytest

from kubectl_koord.cluster.objects.fields import parse_int


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("0", 0),
        ("+7", 7),
        ("-7", -7),
        ("007", 7),
        pytest.param("-" + "0" * 5000 + "1", -1, id="more digits than Python reads"),
        ("9223372036854775807", (1 << 63) - 1),
        ("9223372036854775808", None),
        ("-9223372036854775808", -(1 << 63)),
        ("-9223372036854775809", None),
        pytest.param("9" * 5000, None, id="too large"),
        *((text, None) for text in (None, "", "+", " 1", "1 ", "1\n", "1_0", "0x1", "1.0", "١")),  # noqa: RUF001
    ],
)
def test_an_integer_is_read_as_parse_int_does(written: str | None, value: int | None) -> None:
    assert parse_int(written) == value
