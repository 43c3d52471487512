"""Hard topology spread, with the state that was prepared for one pod."""

from typing import Any

import pytest
from msgspec import structs

from kubectl_koord.engine.filters import prepare, rejection
from kubectl_koord.engine.reasons import Reason, SpreadLabelMissing, SpreadTooSkewed
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.state import of
from kubectl_koord.engine.table import every_node, members, union
from kubectl_koord.model.pods import PendingPod, Spread
from kubectl_koord.model.values import EVERYTHING, Requirement, Selector, Toleration
from tests.build import Drawing, cluster, having, pending

APP = (("app", "web"),)
SKEW = SpreadTooSkewed("network/block")
EVEN = Spread("network/block", 1, having(app="web"))
TWO = cluster("s0: b0[n1] b1[n2]")


def refusals(drawing: Drawing, pod: PendingPod) -> dict[str, Reason | None]:
    view = of(drawing)
    prepared = prepare(pod, view, rules("1.8"))
    return {name: rejection(pod, view.state(name), prepared) for name in view.names()}


def refused_at_once(drawing: Drawing, pod: PendingPod) -> set[str]:
    view = of(drawing)
    found = (check.refused(view, pod, every_node(view)) for check in prepare(pod, view, rules("1.8")).checks)
    return {*members(view, union(found))}


def wanting(*spread: Spread, **fields: Any) -> PendingPod:  # noqa: ANN401
    return pending("p", **({"spread": spread, "labels": APP} | fields))


def test_a_pod_goes_where_it_does_not_skew() -> None:
    drawing = TWO.with_running("w1", on="n1", labels=APP)
    assert refusals(drawing, wanting(EVEN)) == {"n1": SKEW, "n2": None}


def test_the_skew_may_be_as_large_as_allowed() -> None:
    drawing = TWO.with_running("w1", on="n1", labels=APP)
    assert refusals(drawing, wanting(Spread("network/block", 2, having(app="web")))) == {"n1": None, "n2": None}


def test_where_no_skew_is_allowed_not_even_the_first_pod_may_go_anywhere() -> None:
    assert refusals(TWO, wanting(Spread("network/block", 0, having(app="web")))) == {"n1": SKEW, "n2": SKEW}
    assert refused_at_once(TWO, wanting(Spread("network/block", 0, having(app="web")))) == {"n1", "n2"}


@pytest.mark.parametrize(
    "fields",
    [{"labels": (("app", "db"),)}, {"labels": APP, "terminating": True}],
)
def test_other_pods_and_dying_ones_do_not_count(fields: dict[str, Any]) -> None:
    drawing = TWO.with_running("w1", on="n1", **fields)
    assert refusals(drawing, wanting(EVEN)) == {"n1": None, "n2": None}


def test_pods_of_other_namespaces_do_not_count() -> None:
    drawing = TWO.with_running("other/w1", on="n1", labels=APP)
    assert refusals(drawing, wanting(EVEN)) == {"n1": None, "n2": None}


def test_without_a_selector_nobody_counts() -> None:
    drawing = TWO.with_running("w1", on="n1", labels=APP)
    assert refusals(drawing, wanting(Spread("network/block", 1, None))) == {"n1": None, "n2": None}


def test_for_a_selector_that_matches_everybody_nobody_who_is_there_counts() -> None:
    view = of(TWO.with_running("w1", on="n1", labels=APP).with_running("w2", on="n1"))
    pod = wanting(Spread("network/block", 1, EVERYTHING))
    prepared = prepare(pod, view, rules("1.8"))
    assert {name: rejection(pod, view.state(name), prepared) for name in view.names()} == {"n1": None, "n2": None}
    state = view.state("n1").copy()
    state.add(pending("q"))
    assert rejection(pod, state, prepared) == SKEW


def test_a_dying_pod_that_is_taken_away_counts_though_it_did_not_while_it_was_there() -> None:
    drawing = TWO.with_running("w1", on="n1", labels=APP).with_running("w2", on="n1", labels=APP, terminating=True)
    view = of(drawing)
    prepared = prepare(wanting(EVEN), view, rules("1.8"))
    state = view.state("n1").copy()
    assert rejection(wanting(EVEN), state, prepared) == SKEW
    state.remove(next(pod for pod in view.occupants("n1") if pod.name == "w2"))
    assert rejection(wanting(EVEN), state, prepared) is None


def test_a_pod_that_does_not_match_its_own_selector_does_not_count_itself() -> None:
    drawing = TWO.with_running("w1", on="n1", labels=APP)
    assert refusals(drawing, wanting(EVEN, labels=())) == {"n1": None, "n2": None}


def test_a_node_without_the_key_is_beyond_preemption() -> None:
    drawing = cluster("s0: b0[n1] -[n2]")
    assert refusals(drawing, wanting(EVEN)) == {"n1": None, "n2": SpreadLabelMissing("network/block")}


def test_fewer_domains_than_asked_for_count_as_an_empty_one() -> None:
    drawing = TWO.with_running("w1", on="n1", labels=APP).with_running("w2", on="n2", labels=APP)
    few = Spread("network/block", 1, having(app="web"), min_domains=3)
    assert refusals(drawing, wanting(few)) == {"n1": SKEW, "n2": SKEW}


def test_nodes_that_the_pod_does_not_select_are_no_domains() -> None:
    drawing = TWO.with_running("w1", on="n1", labels=APP).label("n1", disk="ssd")
    assert refusals(drawing, wanting(EVEN, node_selector=(("disk", "ssd"),)))["n1"] is None


def test_unless_affinity_is_to_be_ignored() -> None:
    drawing = TWO.with_running("w1", on="n1", labels=APP).label("n1", disk="ssd")
    blunt = Spread("network/block", 1, having(app="web"), honor_affinity=False)
    assert refusals(drawing, wanting(blunt, node_selector=(("disk", "ssd"),)))["n1"] == SKEW


def test_tainted_nodes_are_domains_unless_taints_are_honoured() -> None:
    drawing = TWO.with_running("w1", on="n1", labels=APP).taint("n2", "gpu")
    honest = Spread("network/block", 1, having(app="web"), honor_taints=True)
    assert refusals(drawing, wanting(EVEN))["n1"] == SKEW
    assert refusals(drawing, wanting(honest))["n1"] is None


def test_members_added_to_the_node_count_and_those_elsewhere_do_not() -> None:
    view = of(TWO)
    pod = wanting(EVEN)
    prepared = prepare(pod, view, rules("1.8"))
    state = view.state("n1").copy()
    assert rejection(pod, state, prepared) is None
    state.add(pending("q", labels=APP))
    assert rejection(pod, state, prepared) == SKEW


def test_a_node_that_was_not_counted_has_the_count_of_its_value() -> None:
    drawing = cluster("s0: b0[n1 n2] b1[n3]").with_running("w1", on="n1", labels=APP).taint("n2", "gpu")
    honest = Spread("network/block", 1, having(app="web"), honor_taints=True)
    view = of(drawing)
    prepared = prepare(wanting(honest), view, rules("1.8"))
    tolerant = wanting(honest, tolerations=(Toleration("gpu", "Exists"),))
    assert rejection(tolerant, view.state("n2"), prepared) == SKEW


def test_reserved_room_counts_like_a_pod_but_for_those_that_it_is_for() -> None:
    everyone = Spread("network/block", 1, Selector((Requirement("none", "DoesNotExist"),)))
    for app, reason in (("x", SpreadTooSkewed("network/block")), ("job", None)):
        drawing = TWO.with_reservation("r", "n1", 1, app=app)
        asking = structs.replace(wanting(everyone), labels=(("app", "job"),))
        assert refusals(drawing, asking) == {"n1": reason, "n2": None}
