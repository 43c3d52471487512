"""Who is asked about on all nodes at once is who is found asking everybody, in what-ifs and on trial, too."""

from collections import Counter
from random import Random

import pytest
from msgspec import Struct

from kubectl_koord.engine.filters.interpod_affinity import repelling
from kubectl_koord.engine.preemption import without_victims
from kubectl_koord.engine.reservations import number_on
from kubectl_koord.engine.state import Occupant, View, of
from kubectl_koord.model.pods import AnyLabels, PodTerm
from kubectl_koord.model.values import EVERYTHING, PackedLabels, Requirement, Selector, matches, packed
from tests.build import Drawing, cluster, having, node, pending

NAMES = tuple(f"n{number}" for number in range(6))
TERMS = (
    PodTerm("zone", having(app="web")),
    PodTerm("kubernetes.io/hostname", having(app="db"), namespace_selector=EVERYTHING),
    PodTerm("zone", having(app="db"), namespace_selector=having(team="a")),
)
SELECTORS = (
    having(app="web"),
    having(app="web", tier="a"),
    having(tier="web"),
    Selector((Requirement("app", "In", ("web", "db")), Requirement("tier", "NotIn", ("b",)))),
    Selector((Requirement("app", "In", ()),)),
    Selector((Requirement("tier", "Exists"),)),
    Selector(),
)


class Meant(Struct, frozen=True):
    namespaces: tuple[str, ...] | None
    selectors: tuple[Selector, ...]

    def __call__(self, occupant: Occupant) -> bool:
        reached = self.namespaces is None or occupant.namespace in self.namespaces
        return reached and all(matches(one, dict(occupant.labels)) for one in self.selectors)


def labels(rng: Random) -> AnyLabels:
    pairs = {"app": rng.choice(("web", "web-1", "db", "ü")), "tier": rng.choice("ab"), "zone": "web"}
    if rng.random() < 0.3:
        del pairs["tier"]
    content = packed(pairs.values())
    assert content is not None
    return PackedLabels(tuple(pairs), content, (None, None)) if rng.random() < 0.7 else tuple(pairs.items())


def drawn(rng: Random) -> Drawing:
    """Return pods of a few namespaces, of which some share their labels, and what is reserved."""
    drawing = cluster().with_nodes(*(node(name) for name in NAMES))
    shared = [labels(rng) for _ in range(4)]
    for number in range(20):
        terms = rng.choice(((), (), TERMS[:1], TERMS, TERMS[:1] * 2))
        name, on, worth = f"{rng.choice('abc')}/p{number}", rng.choice((*NAMES, "gone")), rng.choice((0, 9))
        drawing = drawing.with_running(name, on, priority=worth, labels=rng.choice(shared), pod_anti_affinity=terms)
    for on in ("n1", "gone"):
        drawing = drawing.with_reserved(f"r-{on}", on, namespace="a", labels=(("app", "web"),))
    return drawing


def variants(view: View, rng: Random) -> list[View]:
    gone = [pod for pods in view.snapshot.running.values() for pod in pods if rng.random() < 0.3]
    more = pending("a/new", labels=(("app", "web"),), pod_anti_affinity=TERMS)
    what_ifs = (view, view.without(gone), view.with_pods({"n2": [more]}), view.with_nodes([view.node("n3")]))
    emptied = View(view.snapshot, {}, dict.fromkeys(NAMES, ()), view)
    return [*what_ifs, emptied, *(without_victims(one, pending("j", priority=5), frozenset()) for one in what_ifs)]


@pytest.mark.parametrize("seed", range(20))
def test_as_many_are_found_as_by_asking_everybody(seed: int) -> None:
    rng = Random(seed)  # noqa: S311 - data, no secret
    view = of(drawn(rng))
    for one in variants(view, rng):
        for selector in SELECTORS:
            meant = Meant(rng.choice((None, ("a",), ("c", "b", "none"))), (selector, rng.choice(SELECTORS[-2:])))
            there = {name: sum(map(meant, one.occupants(name))) for name in NAMES}
            assert number_on(one, meant) == {name: number for name, number in there.items() if number}


@pytest.mark.parametrize("seed", range(20))
def test_as_many_terms_of_anti_affinity_are_found_as_by_asking_everybody(seed: int) -> None:
    rng = Random(seed)  # noqa: S311 - data, no secret
    for one in variants(of(drawn(rng)), rng):
        expected: dict[tuple[PodTerm, str], Counter[str]] = {}
        for name in NAMES:
            for occupant in one.occupants(name):
                for term in occupant.requirements.pod_anti_affinity:
                    expected.setdefault((term, occupant.namespace), Counter())[name] += 1
        assert repelling(one) == expected
