"""What nodes offer, as a mapping of their names."""

import pytest

from kubectl_koord.engine.offer import NodeSlots, Offer


def test_an_offer_knows_its_nodes_alone() -> None:
    offer = Offer.of({"n1": NodeSlots(2, None), "n2": NodeSlots(0, None)})
    assert (len(offer), list(offer), offer.counts) == (2, ["n1", "n2"], {"n1": 2})
    with pytest.raises(KeyError):
        offer["n3"]
