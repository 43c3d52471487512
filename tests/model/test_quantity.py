import pytest

from kubectl_koord.model import values
from kubectl_koord.model.values import NANO, QuantityError

EXACT = {
    "0": 0,
    "1": NANO,
    "+1": NANO,
    "-1": -NANO,
    "500m": NANO // 2,
    "1.5": 3 * NANO // 2,
    ".5": NANO // 2,
    "5.": 5 * NANO,
    "1e3": 1000 * NANO,
    "1E3": 1000 * NANO,
    "1e-3": NANO // 1000,
    "1E": 10**18 * NANO,
    "100n": 100,
    "100u": 100_000,
    "2k": 2000 * NANO,
    "2M": 2 * 10**6 * NANO,
    "2G": 2 * 10**9 * NANO,
    "2T": 2 * 10**12 * NANO,
    "2P": 2 * 10**15 * NANO,
    "1Ki": 1024 * NANO,
    "1.5Ki": 1536 * NANO,
    "1Mi": 2**20 * NANO,
    "1Gi": 2**30 * NANO,
    "1Ti": 2**40 * NANO,
    "1Pi": 2**50 * NANO,
    "1Ei": 2**60 * NANO,
}


@pytest.mark.parametrize(("text", "nano"), EXACT.items())
def test_a_quantity_is_read_exactly(text: str, nano: int) -> None:
    assert values.parse(text) == nano
    assert values.parse_once(text) == nano


@pytest.mark.parametrize(("number", "nano"), [(2, 2 * NANO), (0.1, NANO // 10), (1e18, 10**18 * NANO)])
def test_a_json_number_reads_like_its_text(number: float, nano: int) -> None:
    assert values.parse(number) == nano


@pytest.mark.parametrize(("text", "nano"), [("0.1n", 1), ("1.0000000001", NANO + 1), ("-0.1n", -1)])
def test_what_is_finer_than_a_billionth_is_rounded_away_from_zero(text: str, nano: int) -> None:
    assert values.parse(text) == nano


@pytest.mark.parametrize("text", ["9223372036854775807", "9" * 60, "1e999", "8Ei", "9999Ei", 10**60, 1e308, 2**63])
def test_an_amount_is_no_more_than_an_int64_holds(text: str | float) -> None:
    assert values.parse(text) == (2**63 - 1) * NANO


def test_a_negative_amount_is_held_likewise() -> None:
    assert values.parse("-1e30") == -(2**63 - 1) * NANO


def test_a_number_of_thousands_of_digits_is_refused() -> None:
    with pytest.raises(QuantityError):
        values.parse(10**5000)


@pytest.mark.parametrize(
    "text", ["", " ", "1 ", "m", ".", "Ki", "1ki", "1K", "1e", "1e1k", "0x1", "nan", "1" * 65, "٣", "٣m", "²Ki"]
)
def test_a_text_of_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(QuantityError):
        values.parse(text)
    with pytest.raises(QuantityError):
        values.parse_once(text)


def test_the_refusal_quotes_no_more_than_the_first_64_characters() -> None:
    with pytest.raises(QuantityError) as refusal:
        values.parse("x" * 1000)
    assert str(refusal.value) == f"{'x' * 64!r} is not a quantity"


def test_cpu_is_reckoned_in_thousandths_and_the_rest_in_units_both_rounded_up() -> None:
    nano = values.parse("1.0001")
    assert (values.amount("cpu", nano), values.amount("memory", nano)) == (1001, 2)


@pytest.mark.parametrize(
    ("resource", "number", "text"),
    [
        ("cpu", 8000, "8"),
        ("cpu", 1500, "1500m"),
        ("nvidia.com/gpu", 4, "4"),
        ("memory", 0, "0"),
        ("memory", 3 << 40, "3Ti"),
        ("memory", 3 << 30, "3Gi"),
        ("memory", 1536 << 10, "1536Ki"),
        ("memory", 1000, "1000"),
        ("kubernetes.io/batch-memory", 1 << 20, "1Mi"),
        ("ephemeral-storage", 1 << 10, "1Ki"),
        ("hugepages-2Mi", 2 << 20, "2Mi"),
        ("pods", 1024, "1024"),
    ],
)
def test_an_amount_is_spelled_as_short_as_it_can_be(resource: str, number: int, text: str) -> None:
    assert values.spell(resource, number) == text


@pytest.mark.parametrize(
    ("resource", "written", "why"),
    [
        ("nvidia.com/gpu", "1.5", "is no whole number"),
        ("koordinator.sh/gpu-core", "50", ""),
        ("cpu", "1.5", ""),
        ("memory", "1500m", ""),
        ("kubernetes.io/batch-cpu", "0.5", ""),
        ("hugepages-2Mi", "4Mi", ""),
        ("hugepages-2Mi", "3Mi", "is no whole number of pages"),
        ("hugepages-2Mi", "0.5", "is no whole number of pages"),
        ("hugepages-0", "4Mi", "is no whole number of pages"),
        ("hugepages-large", "4Mi", "is no whole number of pages"),
    ],
)
def test_extended_resources_and_huge_pages_are_requested_in_whole_units(resource: str, written: str, why: str) -> None:
    assert values.refused(resource, values.parse(written)) == why
