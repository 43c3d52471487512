"""What nodes offer, as a mapping of their names."""

import pytest

from kubectl_koord.engine.filters import Prepared
from kubectl_koord.engine.reasons import DevicesShort, Insufficient, Refused, TooManyPods
from kubectl_koord.engine.slots import LazyNames, NodeSlots, Offer
from tests.build import attempt_of, card, pending
from tests.engine.filters.device_share.world import node_with


def test_an_offer_knows_its_nodes_alone() -> None:
    offer = Offer.of({"n1": NodeSlots(2, None), "n2": NodeSlots(0, None)})
    assert (len(offer), list(offer), dict(offer.counts)) == (2, ["n1", "n2"], {"n1": 2})
    with pytest.raises(KeyError):
        offer["n3"]


def test_reasons_that_are_known_of_each_node_are_told_one_by_one() -> None:
    reason = TooManyPods(3)
    offer = Offer.of({"n1": NodeSlots(2, reason), "n2": NodeSlots(0, reason), "n3": NodeSlots(2, None)})
    assert offer.reasons == (Refused(reason, 1), Refused(reason, 1))
    assert offer.refused == (Refused(reason, 1),)


def test_what_is_left_where_it_is_too_little_is_that_of_each_node_that_says_so() -> None:
    short = (("cpu", 5000, 2000), ("memory", 8, -1))
    offer = Offer.of({"n1": NodeSlots(1, Insufficient(short)), "n2": NodeSlots(0, TooManyPods(3))})
    found = [offer.left_where_short(resource, Prepared(pending("p", 5), ())) for resource in ("cpu", "memory", "pods")]
    assert found == [[2000], [0], []]


def test_of_a_nominated_node_it_is_told_by_itself_why_it_takes_no_more_pods_with_cards() -> None:
    gpu = (("cpu", 1000), ("nvidia.com/gpu", 1))
    drawing = node_with(card(0)).with_gang("job", 2, requests=gpu)
    drawing = drawing.with_pod("other", priority=9, nominated="n1", requests=gpu)
    found = attempt_of(drawing)
    assert (found.placement, found.refused) == (None, (Refused(DevicesShort("gpu", 1, 0), 1),))


def test_names_that_are_found_out_late_are_as_any() -> None:
    names = LazyNames(lambda: ["n2", "n1", "n2"])
    assert (list(names), len(names), "n1" in names, "n3" in names) == (["n2", "n1"], 2, True, False)
