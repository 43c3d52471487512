"""Terms that select namespaces by their labels: as plugin InterPodAffinity itself, of 1.28.7 and 1.35.2, answered."""

import pytest

from kubectl_koord.engine.filters import prepare, rejection
from kubectl_koord.engine.reasons import AntiAffinityViolated, ExistingAntiAffinityViolated, PodAffinityUnmet, Reason
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.state import of
from kubectl_koord.model.pods import NAME_LABEL, PendingPod, PodRequirements, PodTerm
from kubectl_koord.model.values import EVERYTHING, Requirement, Selector
from tests.build import Drawing, cluster, pending

LABELS = {name: {"team": name, NAME_LABEL: name} for name in ("a", "b")}
DRAWN = cluster("s0: b0[n1]").but(namespaces=LABELS)
KEY = "network/block"

SELECTORS = {
    "In": Selector((Requirement("team", "In", ("a",)),)),
    "NotIn": Selector((Requirement("team", "NotIn", ("a",)),)),
    "Exists": Selector((Requirement("team", "Exists"),)),
    "DoesNotExist": Selector((Requirement("team", "DoesNotExist"),)),
    "both": Selector((Requirement("team", "NotIn", ("a",)), Requirement(NAME_LABEL, "Exists"))),
    "its name": Selector((Requirement(NAME_LABEL, "In", ("a",)),)),
    "not its name": Selector((Requirement(NAME_LABEL, "NotIn", ("a",)),)),
    "all": EVERYTHING,
}
SELECTED = {
    "In": "a",
    "NotIn": "b",
    "Exists": "ab",
    "DoesNotExist": "",
    "both": "b",
    "its name": "a",
    "not its name": "b",
    "all": "ab",
}
"""The namespaces of which the labels match."""
KEPT = SELECTED | dict.fromkeys(("NotIn", "DoesNotExist", "not its name"), "ab")
"""Those that a term of a pod that is tried means where its selector is kept: it matches no labels at all, too."""


def term(selector: str, *names: str) -> PodTerm:
    return PodTerm(KEY, EVERYTHING, names, SELECTORS[selector])


def reason(drawing: Drawing, pod: PendingPod, version: str = "1.8") -> Reason | None:
    view = of(drawing)
    return rejection(pod, view.state("n1"), prepare(pod, view, rules(version)))


@pytest.mark.parametrize("name", SELECTORS)
@pytest.mark.parametrize(("version", "means"), [("1.7", SELECTED), ("1.8", KEPT), ("main", KEPT)])
def test_anti_affinity_shuns_pods_of_the_namespaces_that_it_selects(
    name: str, version: str, means: dict[str, str]
) -> None:
    for home in "ab":
        pod = pending(f"{home}/p", pod_anti_affinity=(term(name),))
        for other in "ab":
            expected = AntiAffinityViolated() if other in means[name] else None
            assert reason(DRAWN.with_running(f"{other}/w", "n1"), pod, version) == expected


@pytest.mark.parametrize("name", SELECTORS)
@pytest.mark.parametrize("version", ["1.7", "1.8", "main"])
def test_a_running_pod_repels_pods_of_the_namespaces_that_its_selector_matches(name: str, version: str) -> None:
    repelling = DRAWN.with_running("b/w", "n1", pod_anti_affinity=(term(name),))
    for home in "ab":
        expected = ExistingAntiAffinityViolated() if home in SELECTED[name] else None
        assert reason(repelling, pending(f"{home}/p"), version) == expected


@pytest.mark.parametrize("name", SELECTORS)
@pytest.mark.parametrize(("version", "means"), [("1.7", SELECTED), ("1.8", KEPT), ("main", KEPT)])
def test_affinity_asks_for_pods_of_the_namespaces_that_it_selects(
    name: str, version: str, means: dict[str, str]
) -> None:
    for home in "ab":
        pod = pending(f"{home}/p", pod_affinity=(term(name),))
        for other in "ab":
            is_met = other in means[name] or home in means[name]  # or it is the first of those that it asks for
            expected = None if is_met else PodAffinityUnmet()
            assert reason(DRAWN.with_running(f"{other}/w", "n1"), pod, version) == expected


def test_names_are_meant_beside_what_is_selected_and_the_own_namespace_only_where_neither_says_so() -> None:
    there = DRAWN.with_running("b/w", "n1")
    assert reason(there, pending("b/p", pod_anti_affinity=(term("In"),))) is None
    assert reason(there, pending("b/p", pod_anti_affinity=(term("In", "b"),))) == AntiAffinityViolated()
    repelling = DRAWN.with_running("a/w", "n1", pod_anti_affinity=(term("In", "b"),))
    assert reason(repelling, pending("b/p")) == ExistingAntiAffinityViolated()


def test_who_comes_to_a_node_or_leaves_it_counts_by_the_labels_of_its_namespace() -> None:
    view = of(DRAWN.with_running("a/w", "n1"))
    pod = pending("b/p", pod_anti_affinity=(term("In"),))
    prepared = prepare(pod, view, rules("1.8"))
    state = view.state("n1").copy()
    state.remove(view.occupants("n1")[0])
    assert rejection(pod, state, prepared) is None
    state.add(pending("b/new"))
    assert rejection(pod, state, prepared) is None
    state.add(pending("a/new"))
    assert rejection(pod, state, prepared) == AntiAffinityViolated()


@pytest.mark.parametrize(("home", "expected"), [("a", None), ("b", ExistingAntiAffinityViolated())])
def test_a_pod_that_is_placed_repels_by_the_labels_of_namespaces(home: str, expected: Reason | None) -> None:
    view, pod, repelling = of(DRAWN), pending(f"{home}/p"), pending("a/new", pod_anti_affinity=(term("NotIn"),))
    prepared = prepare(pod, view, rules("1.8"), pending=(pod, repelling))
    state = view.state("n1").copy()
    state.add(repelling)
    assert rejection(pod, state, prepared) == expected


def test_a_namespace_of_which_nothing_is_known_has_its_name_for_a_label() -> None:
    unread = DRAWN.but(namespaces={}).with_running("a/w", "n1")
    for name, expected in (("its name", AntiAffinityViolated()), ("In", None)):
        assert reason(unread, pending("b/p", pod_anti_affinity=(term(name),))) == expected


def test_what_is_reserved_counts_by_the_labels_of_the_namespace_of_its_template() -> None:
    reserved = DRAWN.with_reserved("r", "n1", namespace="a")
    assert reason(reserved, pending("b/p", pod_anti_affinity=(term("In"),))) == AntiAffinityViolated()
    against = DRAWN.with_reserved("r", "n1", requirements=PodRequirements(pod_anti_affinity=(term("NotIn"),)))
    assert reason(against, pending("b/p")) == ExistingAntiAffinityViolated()
    assert reason(against, pending("a/p")) is None


@pytest.mark.parametrize(("name", "reads"), [("In", True), ("both", True), ("its name", False), ("all", False)])
def test_only_selectors_of_more_than_names_read_namespaces(name: str, *, reads: bool) -> None:
    assert term(name).reads_namespaces == reads
    assert PodRequirements(pod_affinity=(term(name),)).reads_namespaces == reads
    assert not PodTerm(KEY, EVERYTHING, ("a",)).reads_namespaces
