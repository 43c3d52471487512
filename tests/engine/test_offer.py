"""What nodes offer, as a mapping of their names."""

import pytest

from kubectl_koord.engine.offer import LazyNames, NodeSlots, Offer


def test_an_offer_knows_its_nodes_alone() -> None:
    offer = Offer.of({"n1": NodeSlots(2, None), "n2": NodeSlots(0, None)})
    assert (len(offer), list(offer), offer.counts) == (2, ["n1", "n2"], {"n1": 2})
    with pytest.raises(KeyError):
        offer["n3"]


def test_names_that_are_found_out_late_are_as_any() -> None:
    names = LazyNames(lambda: ["n2", "n1", "n2"])
    assert (list(names), len(names), "n1" in names, "n3" in names) == (["n2", "n1"], 2, True, False)
