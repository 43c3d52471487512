import pytest

from kubectl_koord.model.values import Requirement, Selector, Taint, Toleration, holds, matches, tolerates

LABELS = {"tier": "gold", "size": "7"}
HOLDING = [
    Requirement("tier", "In", ("gold", "silver")),
    Requirement("tier", "NotIn", ("silver",)),
    Requirement("absent", "NotIn", ("silver",)),
    Requirement("tier", "Exists"),
    Requirement("absent", "DoesNotExist"),
    Requirement("size", "Gt", ("6",)),
    Requirement("size", "Lt", ("8",)),
]
FAILING = [
    Requirement("tier", "In", ("silver",)),
    Requirement("absent", "In", ("gold",)),
    Requirement("tier", "NotIn", ("gold",)),
    Requirement("absent", "Exists"),
    Requirement("tier", "DoesNotExist"),
    Requirement("size", "Gt", ("7",)),
    Requirement("size", "Lt", ("7",)),
    Requirement("absent", "Gt", ("7",)),
    Requirement("tier", "Lt", ("7",)),
    Requirement("size", "Gt"),
    Requirement("size", "Gt", ("many",)),
    Requirement("tier", "Equals", ("gold",)),
]


@pytest.mark.parametrize("requirement", HOLDING)
def test_a_requirement_holds(requirement: Requirement) -> None:
    assert holds(requirement, LABELS)


@pytest.mark.parametrize("requirement", FAILING)
def test_a_requirement_fails(requirement: Requirement) -> None:
    assert not holds(requirement, LABELS)


def test_a_selector_needs_all_its_requirements() -> None:
    assert matches(Selector(tuple(HOLDING)), LABELS)
    assert not matches(Selector((*HOLDING, FAILING[0])), LABELS)


def test_an_empty_selector_matches_everything() -> None:
    assert matches(Selector(), {})


TAINT = Taint("dedicated", "ml", "NoSchedule")


@pytest.mark.parametrize(
    "toleration",
    [
        Toleration(operator="Exists"),
        Toleration("dedicated", "Exists"),
        Toleration("dedicated", "Equal", "ml"),
        Toleration("dedicated", "", "ml"),
        Toleration("dedicated", "Equal", "ml", "NoSchedule"),
    ],
)
def test_a_toleration_covers_a_taint(toleration: Toleration) -> None:
    assert tolerates(toleration, TAINT)


@pytest.mark.parametrize(
    "toleration",
    [
        Toleration(),
        Toleration("other", "Exists"),
        Toleration("dedicated", "Equal", "web"),
        Toleration("dedicated", "Exists", effect="NoExecute"),
        Toleration("dedicated", "Sometimes", "ml"),
    ],
)
def test_a_toleration_leaves_a_taint_uncovered(toleration: Toleration) -> None:
    assert not tolerates(toleration, TAINT)
