import pytest

from kubectl_koord.render import words
from kubectl_koord.wording.words import unit


@pytest.mark.parametrize(
    ("resource", "number", "shown"),
    [
        ("cpu", 8000, "8 CPU"),
        ("cpu", 1500, "1.5 CPU"),
        ("cpu", 10_000_000, "10000 CPU"),
        ("nvidia.com/gpu", 3, "3 GPU"),
        ("memory", 3 << 30, "3Gi memory"),
        ("memory", 0, "0 memory"),
        ("hugepages-2Mi", 3 << 19, "1.5Mi hugepages-2Mi"),
        ("example.com/fpga", 2, "2 fpga"),
        ("huawei.com/npu", 2, "2 NPU"),
    ],
)
def test_amounts_are_in_units_of_people(resource: str, number: int, shown: str) -> None:
    assert f"{words.amount(resource, number)} {unit(resource)}" == shown


@pytest.mark.parametrize("since", ["", "yesterday", "2026-11-20T10:00:00", "99999-01-01T00:00:00Z"])
def test_what_is_no_time_has_no_age(since: str) -> None:
    assert words.age_at(since, "2026-11-20T10:00:00Z") == ""


def test_a_command_can_be_pasted_whatever_the_name_is() -> None:
    assert words.command("why-pending", "default/a; rm -rf $HOME") == (
        "kubectl koord why-pending 'default/a; rm -rf $HOME'"
    )


def test_only_the_namespace_of_the_gang_is_left_out() -> None:
    assert [words.local("a/x", "a/gang"), words.local("b/x", "a/gang"), words.local("a/x", "gang")] == (
        ["x", "b/x", "a/x"]
    )
