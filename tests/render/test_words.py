import pytest

from kubectl_koord.explain.words import unit
from kubectl_koord.render import words


@pytest.mark.parametrize(
    ("layer", "word"),
    [
        ("SpineLayer", "spine"),
        ("NodeTopologyLayer", "node"),
        ("ClusterTopologyLayer", "cluster"),
        ("Layer", "Layer"),
        ("superPod", "superPod"),
    ],
)
def test_a_layer_is_called_as_people_call_it(layer: str, word: str) -> None:
    assert words.layer_word(layer) == word


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
    ],
)
def test_amounts_are_in_units_of_people(resource: str, number: int, shown: str) -> None:
    assert f"{words.amount(resource, number)} {unit(resource)}" == shown


@pytest.mark.parametrize(
    ("seconds", "shown"), [(-5, "0s"), (45, "45s"), (720, "12m"), (7199, "119m"), (7200, "2h"), (259_200, "3d")]
)
def test_ages_are_short(seconds: int, shown: str) -> None:
    assert words.age(seconds) == shown


@pytest.mark.parametrize("since", ["", "yesterday", "2026-11-20T10:00:00", "99999-01-01T00:00:00Z"])
def test_what_is_no_time_has_no_age(since: str) -> None:
    assert words.age_at(since, "2026-11-20T10:00:00Z") == ""


def test_ordinals() -> None:
    assert [words.ordinal(number) for number in (1, 2, 3, 4, 11, 12, 21, 112)] == (
        ["1st", "2nd", "3rd", "4th", "11th", "12th", "21st", "112th"]
    )


def test_a_command_can_be_pasted_whatever_the_name_is() -> None:
    assert words.command("why-pending", "default/a; rm -rf $HOME") == (
        "kubectl koord why-pending 'default/a; rm -rf $HOME'"
    )


def test_only_the_namespace_of_the_gang_is_left_out() -> None:
    assert [words.local("a/x", "a/gang"), words.local("b/x", "a/gang"), words.local("a/x", "gang")] == (
        ["x", "b/x", "a/x"]
    )
