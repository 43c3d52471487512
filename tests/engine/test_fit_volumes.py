"""Bound volume claims: where their volumes can be reached, and who else holds them."""

import pytest

from kubectl_koord.engine.fit import prepare, rejection
from kubectl_koord.engine.reasons import ClaimInUse, NoClaim, Reason, TooManyVolumes, VolumeElsewhere
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.view import of
from kubectl_koord.model.objects import Claim
from kubectl_koord.model.pods import NodeTerm
from kubectl_koord.model.selectors import Requirement
from tests.build import Drawing, attempt_of, cluster, failing_pod, pending, preempt_of

ZONE = "topology.kubernetes.io/zone"
TWO = cluster("s0: b0[n1 n2]").label("n1", **{ZONE: "a"}).label("n2", **{ZONE: "b"})
DATA = "default/data"


def refusals(drawing: Drawing, *claims: Claim, wanted: tuple[str, ...] = ("data",)) -> dict[str, Reason | None]:
    view = of(drawing)
    pod = pending("p", claims=wanted)
    prepared = prepare(pod, view, rules("1.8"), claims={claim.name: claim for claim in claims})
    return {name: rejection(pod, view.state(name), prepared) for name in view.names()}


def test_without_claims_members_change_nothing_but_room() -> None:
    assert prepare(pending("p"), of(TWO), rules("1.8")).counts_only_room


def test_a_claim_that_does_not_exist_is_refused_everywhere() -> None:
    assert refusals(TWO) == {"n1": NoClaim(DATA), "n2": NoClaim(DATA)}


def test_a_volume_without_limits_can_be_reached_everywhere() -> None:
    assert refusals(TWO, Claim(DATA, "pv", known=True)) == {"n1": None, "n2": None}


def test_a_volume_may_be_bound_to_nodes() -> None:
    term = NodeTerm(fields=(Requirement("metadata.name", "In", ("n2",)),))
    assert refusals(TWO, Claim(DATA, "pv", terms=(term,))) == {"n1": VolumeElsewhere(DATA), "n2": None}


@pytest.mark.parametrize(
    ("labels", "reached"),
    [
        (((ZONE, "a"),), ["n1"]),
        (((ZONE, "a__b"),), ["n1", "n2"]),
        ((("rack", "r1"),), ["n1", "n2"]),
        ((("topology.kubernetes.io/region", "r"),), ["n1", "n2"]),
    ],
)
def test_a_volume_may_be_in_a_zone(labels: tuple[tuple[str, str], ...], reached: list[str]) -> None:
    found = refusals(TWO, Claim(DATA, "pv", labels=labels))
    assert [name for name, reason in found.items() if reason is None] == reached


def test_a_claim_of_one_pod_only_is_in_use_wherever_its_pod_is() -> None:
    drawing = TWO.with_running("other", on="n1", claims=("data",)).with_running("far/other", on="n2", claims=("data",))
    assert refusals(drawing, Claim(DATA, "pv", single_pod=True)) == dict.fromkeys(("n1", "n2"), ClaimInUse(DATA))
    assert refusals(drawing, Claim(DATA, "pv")) == {"n1": None, "n2": None}


def test_a_claim_of_one_pod_only_may_be_free() -> None:
    drawing = TWO.with_running("far/other", on="n1", claims=("data",))
    assert refusals(drawing, Claim(DATA, "pv", single_pod=True)) == {"n1": None, "n2": None}


def test_a_node_holds_no_more_volumes_of_a_driver_than_it_can() -> None:
    drawing = TWO.change("n1", "n2", volume_limits=(("csi", 1),)).with_running("other", on="n1", claims=("old", "gone"))
    claims = (Claim(DATA, "pv", driver="csi"), Claim("default/old", "pv-old", driver="csi"))
    assert refusals(drawing, *claims) == {"n1": TooManyVolumes("csi"), "n2": None}


@pytest.mark.parametrize(
    "claim", [Claim(DATA, "pv-old", driver="csi"), Claim(DATA, "pv"), Claim(DATA, "pv", driver="x")]
)
def test_a_volume_that_is_there_already_or_of_another_driver_counts_for_nothing(claim: Claim) -> None:
    drawing = TWO.change("n1", volume_limits=(("csi", 1),)).with_running("other", on="n1", claims=("old",))
    assert refusals(drawing, claim, Claim("default/old", "pv-old", driver="csi"))["n1"] is None


def test_members_that_share_a_claim_of_one_pod_fail_on_execution() -> None:
    drawing = cluster("s0: b0[n1 n2]").with_gang("job", 2, 1, must_gather="SpineLayer", claims=("data",))
    drawing = drawing.but(claims={DATA: Claim(DATA, "pv", single_pod=True, known=True)})
    assert failing_pod(attempt_of(drawing)) == "default/job-1"


def test_a_node_offers_one_slot_for_members_that_share_a_claim_of_one_pod() -> None:
    drawing = cluster("s0: b0[n1]").with_gang("job", 2, 1, must_gather="SpineLayer", claims=("data",))
    drawing = drawing.but(claims={DATA: Claim(DATA, "pv", single_pod=True, known=True)})
    plan = attempt_of(drawing).plan
    assert plan is not None
    assert plan.nodes["n1"].slots == 1


def test_preempting_the_holder_of_a_claim_of_one_pod_helps() -> None:
    drawing = TWO.with_running("holder", on="n1", cpu=8, claims=("data",)).with_running("other", on="n2", cpu=1)
    drawing = drawing.with_gang("job", 1, 8, priority=9, claims=("data",))
    drawing = drawing.but(claims={DATA: Claim(DATA, "pv", single_pod=True, known=True)})
    report = preempt_of(drawing)
    assert ([victim.pod for victim in report.victims], report.helps) == (["default/holder"], True)


def test_reserved_room_holds_no_claim() -> None:
    assert refusals(TWO.with_reserved("r", on="n1"), Claim(DATA, "pv", single_pod=True)) == {"n1": None, "n2": None}
