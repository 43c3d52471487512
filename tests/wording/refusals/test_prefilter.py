"""Why a pod is refused before any node is looked at, in English."""

import pytest

from kubectl_koord.engine.reasons.prefilter import NoReservationMatches, VolumeFault, VolumesUnbound
from kubectl_koord.wording.refusals.prefilter import refusal_sentence


@pytest.mark.parametrize(
    ("name", "owned", "words"),
    [
        ("r1", 0, "it must use reservation r1, and no reservation with room is for it."),
        (
            "",
            1,
            "it must use a reservation with its reservation affinity, and the one that is for it does not match.",
        ),
        (
            "",
            2,
            "it must use a reservation with its reservation affinity, and the 2 that are for it do not match.",
        ),
    ],
)
def test_a_pod_that_must_use_a_reservation_says_which(name: str, owned: int, words: str) -> None:
    assert refusal_sentence(NoReservationMatches("default/p", name, owned)) == words


@pytest.mark.parametrize(
    ("fault", "about", "words"),
    [
        ("claim-missing", "", "volume claim c does not exist."),
        ("being-deleted", "", "volume claim c is being deleted."),
        ("not-bound", "fast", "volume claim c is not bound: StorageClass fast binds claims before pods are scheduled."),
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
