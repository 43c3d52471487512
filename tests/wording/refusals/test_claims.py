"""What resource claims wait for, in words."""

import pytest

from kubectl_koord.engine.filters.resource_claims import ClaimFault, UnreadyClaim
from kubectl_koord.engine.reasons import (
    ClaimElsewhere,
    ClaimReason,
    ClaimsUnallocated,
    NotEnoughDevices,
    SelectorFails,
    SelectorProblem,
    TooManyDevices,
)
from kubectl_koord.wording.refusals import claim_obstacle, claims_sentence, not_allocated, unready_clause


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (ClaimElsewhere("ns/c"), "resource claim ns/c (allocated on other nodes)"),
        (NotEnoughDevices("ns/c", "r", 1, 0), "resource claim ns/c (request r wants 1 device, 0 free)"),
        (NotEnoughDevices("ns/c", "r", 4, 3), "resource claim ns/c (request r wants 4 devices, 3 free)"),
        (
            SelectorFails("ns/c", "r", "!device.driver", SelectorProblem("no-such-overload")),
            "resource claim ns/c (CEL selector !device.driver of request r fails: no such overload)",
        ),
        (
            SelectorFails("ns/c", "r", "device.driver", SelectorProblem("no-such-key", "model")),
            "resource claim ns/c (CEL selector device.driver of request r fails: no such key: model)",
        ),
        (TooManyDevices("ns/c", 33), "resource claim ns/c (wants 33 devices, more than one claim may get)"),
        (
            NotEnoughDevices("ns/c", "r", 4, 3, every=True),
            "resource claim ns/c (request r wants all 4 devices, 3 free)",
        ),
        (
            NotEnoughDevices("ns/c", "r", 0, 0, every=True),
            "resource claim ns/c (request r wants all devices that match, none does)",
        ),
    ],
)
def test_what_a_node_lacks_for_a_claim(reason: ClaimReason, words: str) -> None:
    assert claim_obstacle(reason) == words


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("not-made", "its resource claim c was not made from its template yet"),
        ("missing", "resource claim c does not exist"),
        ("being-deleted", "resource claim c is being deleted"),
        ("not-owner", "resource claim c exists, but was made for another pod"),
    ],
)
def test_what_a_pod_waits_for_before_it_is_tried(fault: ClaimFault, words: str) -> None:
    claim = UnreadyClaim("c", fault)
    assert unready_clause((claim,)) == words
    assert unready_clause((claim, claim, claim)) == f"{words} (and 2 more claims)"


@pytest.mark.parametrize(
    ("refusal", "words"),
    [
        (
            ClaimsUnallocated("ns/p", "ns/c", "no-class", "gpu", "r"),
            "request r of resource claim ns/c names DeviceClass gpu, which does not exist.",
        ),
        (
            ClaimsUnallocated("ns/p", "ns/c", "in-use"),
            "as many pods use resource claim ns/c as may at once.",
        ),
        (
            ClaimsUnallocated("ns/p", "ns/c", "being-allocated"),
            (
                "resource claim ns/c is being allocated for another pod that waits to be bound; pods that are bound"
                " together cannot share a claim that is not allocated yet."
            ),
        ),
    ],
)
def test_why_no_node_can_serve_a_claim(refusal: ClaimsUnallocated, words: str) -> None:
    assert claims_sentence(refusal) == words


def test_each_obstacle_is_told_with_its_nodes() -> None:
    assert not_allocated([("a", 3), ("b", 1)], 5) == "3 of 5 nodes cannot serve a and 1 of 5 nodes cannot serve b."
