"""Why a pod is refused before any node is looked at, in English."""

import pytest

from kubectl_koord.engine.reasons import NoReservationMatches, VolumeFault, VolumesUnbound
from kubectl_koord.wording.refusals import refusal_sentence


@pytest.mark.parametrize(
    ("name", "owned", "words"),
    [
        ("r1", 0, "it asks for reservation r1, and no reservation with room is for it."),
        ("r1", 3, "it asks for reservation r1; 3 reservations are for it, none is r1."),
        (
            "",
            1,
            "it asks for a reservation with its reservation affinity; 1 reservation is for it, none matches.",
        ),
        (
            "",
            2,
            "it asks for a reservation with its reservation affinity; 2 reservations are for it, none matches.",
        ),
    ],
)
def test_a_pod_that_must_use_a_reservation_says_which(name: str, owned: int, words: str) -> None:
    assert refusal_sentence(NoReservationMatches("default/p", name, owned)) == words


def test_a_reservation_that_is_for_a_pod_and_cannot_take_it_is_not_called_another() -> None:
    assert refusal_sentence(NoReservationMatches("default/p", "r1", 3, is_own=True)) == (
        "it asks for reservation r1, which is for it, but has no room, does not match, or is on a node that the pod may"
        " not go to."
    )


@pytest.mark.parametrize(
    ("fault", "about", "words"),
    [
        ("claim-missing", "", "volume claim c does not exist."),
        ("being-deleted", "", "volume claim c is being deleted."),
        (
            "not-bound",
            "fast",
            (
                "volume claim c is not bound: its StorageClass fast (Immediate) should have bound it; look at the"
                " provisioner."
            ),
        ),
        ("not-bound", "", "volume claim c is not bound, and has no StorageClass that exists."),
        ("binding", "pv", "volume claim c names volume pv, and is not bound to it yet."),
        ("lost", "pv", "volume claim c has lost volume pv, which it was bound to."),
        ("volume-missing", "pv", "volume claim c is bound to volume pv, which does not exist."),
        ("ephemeral-missing", "", "volume claim c for an ephemeral volume was not made yet."),
        ("not-owner", "", "volume claim c exists, but was not made for pod default/p: the pod is not its owner."),
    ],
)
def test_a_claim_that_cannot_be_used_says_why(fault: VolumeFault, about: str, words: str) -> None:
    assert refusal_sentence(VolumesUnbound("default/p", "c", fault, about)) == words
