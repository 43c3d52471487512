"""Volume claims: where their volumes can be reached or made, who else holds them, and which are refused at once."""

from functools import reduce
from operator import or_

import pytest
from msgspec import structs

from kubectl_koord.engine.filters import prepare, rejection
from kubectl_koord.engine.reasons import (
    ClaimInUse,
    NotEnoughStorage,
    NoVolumeToBind,
    Reason,
    TooManyVolumes,
    VolumeElsewhere,
    VolumesUnbound,
)
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.state import of
from kubectl_koord.engine.table import every_node, members
from kubectl_koord.model.objects import Claim, Storage, StorageCapacity, StorageClass, Volume, VolumeRequest
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.values import NodeTerm, Requirement, Selector
from tests.build import SPINE, Drawing, attempt_of, cluster, failing_pod, having, jobs_of, pending, preempt_of, why_of

ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
TWO = cluster("s0: b0[n1 n2]").label("n1", **{ZONE: "a"}).label("n2", **{ZONE: "b"})
DATA = "default/data"
ON_N2 = (NodeTerm((Requirement(ZONE, "In", ("b",)),)),)
LATE = StorageClass("late", "csi", waits=True)
MANUAL = StorageClass("manual", "kubernetes.io/no-provisioner", waits=True)
NOW = StorageClass("now", "csi")


def with_storage(drawing: Drawing, *claims: Claim, volumes: tuple[Volume, ...] = (), **fields: object) -> Drawing:
    classes = {one.name: one for one in (LATE, MANUAL, NOW)}
    storage = Storage(volumes, classes, **fields)  # type: ignore[arg-type]
    return drawing.but(claims={claim.name: claim for claim in claims}, storage=storage)


def unbound(name: str = DATA, kind: str = "late", size: int = 10, **fields: object) -> Claim:
    return Claim(name, class_name=kind, request=VolumeRequest(size), **fields)  # type: ignore[arg-type]


def refusal(drawing: Drawing, pod: PendingPod) -> VolumesUnbound | None:
    found = prepare(pod, of(drawing), rules("1.8"), claims=drawing.claims_asked_for).refusal
    assert found is None or isinstance(found, VolumesUnbound)
    return found


def answers(drawing: Drawing, pod: PendingPod | None = None, version: str = "1.8") -> dict[str, Reason | None]:
    view, asked = of(drawing), pod or pending("p", claims=("data",))
    prepared = prepare(asked, view, rules(version), claims=drawing.claims)
    assert prepared.refusal is None
    return {name: rejection(asked, view.state(name), prepared) for name in view.names()}


def refusals(drawing: Drawing, *claims: Claim, wanted: tuple[str, ...] = ("data",)) -> dict[str, Reason | None]:
    known = (structs.replace(claim, known=True) for claim in claims)
    return answers(with_storage(drawing, *known), pending("p", claims=wanted))


def test_without_claims_members_change_nothing_but_room() -> None:
    assert prepare(pending("p"), of(TWO), rules("1.8")).counts_only_room


@pytest.mark.parametrize(
    ("claims", "fault", "about"),
    [
        ((), "claim-missing", ""),
        ((unbound(terminating=True),), "being-deleted", ""),
        ((unbound(kind=""),), "not-bound", ""),
        ((unbound(kind="gone"),), "not-bound", ""),
        ((unbound(kind="now"),), "not-bound", "now"),
        ((Claim(DATA, "pv"),), "volume-missing", "pv"),
        ((Claim(DATA, "pv", known=True, binding="begun"),), "binding", "pv"),
        ((Claim(DATA, "pv", known=True, binding="lost", terminating=True),), "lost", "pv"),
    ],
)
def test_a_claim_that_cannot_be_used_is_refused_before_any_node(
    claims: tuple[Claim, ...], fault: str, about: str
) -> None:
    found = refusal(with_storage(TWO, *claims), pending("p", claims=("data",)))
    assert found == VolumesUnbound("default/p", DATA, fault, about)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "claim"),
    [
        ("PersistentVolume", Claim(DATA, "pv")),
        ("StorageClass", unbound(kind="gone")),
        ("PersistentVolumeClaim", None),
    ],
)
def test_what_could_not_be_read_refuses_nobody(kind: str, claim: Claim | None) -> None:
    drawing = with_storage(TWO, *([claim] if claim else [])).with_gap(kind)
    drawing = drawing.with_pod("p", claims=("data",))
    assert refusal(drawing, drawing.pending[0]) is None
    assert why_of(drawing, "p").verdict == "unknown"


SCRATCH = "default/p-scratch"


@pytest.mark.parametrize(
    ("claims", "fault"),
    [
        ((), "ephemeral-missing"),
        ((unbound(SCRATCH),), "not-owner"),
        ((unbound(SCRATCH, owner=("another", "p")),), "not-owner"),
        ((unbound(SCRATCH, owner=("mine", "p")),), None),
    ],
)
def test_the_claim_of_an_ephemeral_volume_must_be_the_pod_s_own(claims: tuple[Claim, ...], fault: str | None) -> None:
    found = refusal(with_storage(TWO, *claims), pending("p", ephemeral=("scratch",), uid="mine"))
    assert (found and found.fault) == fault


def test_a_pod_without_a_uid_owns_the_claims_that_name_it() -> None:
    drawing = with_storage(TWO, unbound(SCRATCH, owner=("any", "p")))
    assert refusal(drawing, pending("p", ephemeral=("scratch",))) is None


def test_a_claim_that_waits_for_its_pod_may_be_made_anywhere_by_default() -> None:
    assert answers(with_storage(TWO, unbound())) == {"n1": None, "n2": None}


@pytest.mark.parametrize(
    ("claim", "kind"),
    [
        (unbound(), structs.replace(LATE, topologies=((Requirement(ZONE, "In", ("b",)),),))),
        (unbound(), structs.replace(LATE, topologies=((), (Requirement(ZONE, "In", ("b",)),)))),
        (unbound(selected="n2"), LATE),
    ],
)
def test_a_volume_is_made_only_where_its_class_allows_it(claim: Claim, kind: StorageClass) -> None:
    drawing = TWO.but(claims={DATA: claim}, storage=Storage(classes={"late": kind}))
    assert answers(drawing) == {"n1": NoVolumeToBind(DATA), "n2": None}


def volume(name: str, size: int, **fields: object) -> Volume:
    return Volume(name, "manual", size, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "unfit",
    [
        volume("pv", 9),
        volume("pv", 10, promised="default/other"),
        volume("pv", 10, is_block=True),
        volume("pv", 10, modes=("ReadWriteMany",)),
        volume("pv", 10, terms=ON_N2),
        volume("pv", 10, labels=(("tier", "slow"),)),
        Volume("pv", "late", 10),
    ],
)
def test_without_a_provisioner_a_free_volume_must_do(unfit: Volume) -> None:
    wanted = VolumeRequest(10, ("ReadWriteOnce",), selector=having(tier="fast"))
    claim = Claim(DATA, class_name="manual", request=wanted)
    fits = volume("pv-2", 10, modes=("ReadWriteOnce",), labels=(("tier", "fast"),), terms=ON_N2)
    unfitting = structs.replace(fits, **{name: getattr(unfit, name) for name in _differs(unfit)})
    assert answers(with_storage(TWO, claim, volumes=(fits,))) == {"n1": NoVolumeToBind(DATA), "n2": None}
    assert answers(with_storage(TWO, claim, volumes=(unfitting,)))["n1"] == NoVolumeToBind(DATA)


def _differs(one: Volume) -> list[str]:
    plain = volume("pv", 10)
    return [name for name in Volume.__struct_fields__ if getattr(one, name) != getattr(plain, name)]


def test_small_claims_choose_first_and_each_volume_serves_one() -> None:
    claims = (unbound("default/big", "manual", 20), unbound("default/small", "manual", 5))
    pod = pending("p", claims=("big", "small"))
    both = (volume("a", 10), volume("b", 30))
    assert answers(with_storage(TWO, *claims, volumes=both), pod) == {"n1": None, "n2": None}
    one = with_storage(TWO, *claims, volumes=(volume("b", 30),))
    assert answers(one, pod)["n1"] == NoVolumeToBind("default/big")


def test_a_volume_that_is_promised_to_the_claim_and_not_reached_leaves_it_without() -> None:
    claim = Claim(
        DATA, class_name="manual", request=VolumeRequest(10, ("ReadWriteOnce",), selector=having(tier="fast"))
    )
    mine = volume("mine", 20, promised=DATA, terms=ON_N2)
    free = volume("pv", 10, modes=("ReadWriteOnce",), labels=(("tier", "fast"),))
    assert answers(with_storage(TWO, claim, volumes=(free, mine))) == {"n1": NoVolumeToBind(DATA), "n2": None}
    small = structs.replace(mine, size=9)
    assert answers(with_storage(TWO, claim, volumes=(free, small))) == {"n1": None, "n2": None}


def test_a_volume_that_is_promised_to_the_claim_goes_first() -> None:
    claims = (unbound("default/a", "manual", 5), unbound("default/b", "manual", 6))
    volumes = (volume("small", 10), volume("mine", 20, promised="default/a"))
    assert answers(with_storage(TWO, *claims, volumes=volumes), pending("p", claims=("a", "b")))["n1"] is None


@pytest.mark.parametrize(("uid", "promised", "is_mine"), [("u", "u", True), ("u", "v", False), ("", "v", True)])
def test_a_volume_that_is_promised_by_uid_is_for_that_claim_alone(uid: str, promised: str, *, is_mine: bool) -> None:
    mine = volume("mine", 20, promised=DATA, promised_uid=promised)
    found = answers(with_storage(TWO, unbound(kind="manual", uid=uid), volumes=(mine,)))
    assert found["n1"] == (None if is_mine else NoVolumeToBind(DATA))


IN_B = Selector((Requirement(ZONE, "In", ("b",)),))


@pytest.mark.parametrize(
    ("capacity", "enough"),
    [
        (StorageCapacity("late", 10, IN_B), True),
        (StorageCapacity("late", 9, IN_B), False),
        (StorageCapacity("late", None, IN_B), False),
        (StorageCapacity("late", 10, None), False),
        (StorageCapacity("other", 10, IN_B), False),
    ],
)
def test_a_driver_that_tells_its_room_makes_no_volume_beyond_it(capacity: StorageCapacity, *, enough: bool) -> None:
    drawing = with_storage(TWO, unbound(), tracked=frozenset({"csi"}), capacities=(capacity,))
    much = NotEnoughStorage(DATA, 10)
    assert answers(drawing) == {"n1": much, "n2": None if enough else much}


def test_unbound_claims_count_among_the_volumes_of_their_provisioner() -> None:
    drawing = TWO.change("n1", "n2", volume_limits=(("csi", 1),)).with_running("other", on="n1", claims=("old",))
    drawing = with_storage(drawing, unbound(), unbound("default/old"), unbound("default/lost", "gone"))
    assert answers(drawing) == {"n1": TooManyVolumes("csi"), "n2": None}
    ephemeral = with_storage(drawing, unbound(SCRATCH, owner=("", "p")), unbound("default/old"))
    assert answers(ephemeral, pending("p", ephemeral=("scratch",)))["n1"] == TooManyVolumes("csi")


def test_the_limit_of_volumes_goes_by_each_member_s_own_and_the_rest_by_the_trigger_s() -> None:
    drawing = TWO.change("n1", volume_limits=(("csi", 1),))
    claims = (Claim("default/a", "pv-a", driver="csi", known=True), Claim("default/b", "pv-b", terms=ON_N2, known=True))
    view, member = of(with_storage(drawing, *claims)), pending("b", claims=("b",))
    prepared = prepare(pending("a", claims=("a",)), view, rules("1.8"), claims={one.name: one for one in claims})
    state = view.state("n1").copy()
    state.add(pending("a", claims=("a",)))
    assert rejection(member, state, prepared) is None


def test_a_volume_without_limits_can_be_reached_everywhere() -> None:
    assert refusals(TWO, Claim(DATA, "pv", known=True)) == {"n1": None, "n2": None}


def test_a_volume_may_be_bound_to_nodes() -> None:
    assert refusals(TWO, Claim(DATA, "pv", terms=ON_N2)) == {"n1": VolumeElsewhere(DATA), "n2": None}


def test_a_volume_that_is_bound_to_nodes_by_name_can_be_reached_from_none() -> None:
    term = NodeTerm(fields=(Requirement("metadata.name", "In", ("n2",)),))
    assert set(refusals(TWO, Claim(DATA, "pv", terms=(term,))).values()) == {VolumeElsewhere(DATA)}


@pytest.mark.parametrize(
    ("labels", "reached"),
    [
        (((ZONE, "a"),), ["n1"]),
        (((ZONE, "a__b"),), ["n1", "n2"]),
        ((("rack", "r1"),), ["n1", "n2"]),
        (((ZONE, " a__b "),), ["n1", "n2"]),
        (((ZONE, "c__"),), ["n1", "n2"]),
        (((REGION, "r"),), []),
        ((("failure-domain.beta.kubernetes.io/zone", "a"),), ["n1"]),
    ],
)
def test_a_volume_may_be_in_a_zone(labels: tuple[tuple[str, str], ...], reached: list[str]) -> None:
    found = refusals(TWO, Claim(DATA, "pv", labels=labels))
    assert [name for name, reason in found.items() if reason is None] == reached


def test_the_zone_of_an_ephemeral_volume_does_not_count() -> None:
    claim = Claim("default/p-data", "pv", known=True, labels=((ZONE, "a"),), owner=("", "p"))
    drawing = with_storage(TWO, claim)
    assert answers(drawing, pending("p", ephemeral=("data",))) == {"n1": None, "n2": None}
    assert answers(drawing, pending("x", claims=("p-data",)))["n2"] == VolumeElsewhere("default/p-data")


def test_a_node_without_zone_or_region_takes_volumes_of_every_zone() -> None:
    claim = Claim(DATA, "pv", labels=((REGION, "r"), (ZONE, "a")))
    assert refusals(cluster("s0: b0[n1]"), claim) == {"n1": None}
    assert refusals(TWO.label("n1", **{REGION: "r", ZONE: "a"}), claim)["n1"] is None


def test_before_1_8_the_older_zone_label_of_a_volume_is_held_against_that_of_the_node_alone() -> None:
    claim = Claim(DATA, "pv", known=True, labels=(("failure-domain.beta.kubernetes.io/zone", "a"),))
    assert set(answers(with_storage(TWO, claim), version="1.7").values()) == {VolumeElsewhere(DATA)}


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


def reserving(claim: str) -> Drawing:
    """Return two nodes that attach a volume each, on the first of which a Reservation's template uses a claim."""
    drawing = TWO.change("n1", "n2", volume_limits=(("csi", 1),)).with_reservation("r", "n1", 1)
    (room,) = drawing.reserved
    wanted = structs.replace(room.requirements, claims=(claim,))
    return drawing.but(reserved=(structs.replace(room, requirements=wanted),))


@pytest.mark.parametrize("version", ["1.7", "1.8", "main"])
def test_the_volumes_of_a_reservation_s_template_count_but_for_the_pods_that_it_is_for(version: str) -> None:
    claims = (Claim(DATA, "pv", driver="csi", known=True), Claim("default/old", "pv-old", driver="csi", known=True))
    drawing = with_storage(reserving("old"), *claims)
    mine = pending("p", claims=("data",), labels=(("app", "job"),))
    assert answers(drawing, version=version) == {"n1": TooManyVolumes("csi"), "n2": None}
    assert answers(drawing, mine, version) == {"n1": None, "n2": None}
    for pod in (mine, pending("p", claims=("data",))):
        prepared, view = prepare(pod, of(drawing), rules(version), claims=drawing.claims), of(drawing)
        refused = [name for name in view.names() if rejection(pod, view.state(name), prepared)]
        found = [check.refused(view, pod, every_node(view)) for check in prepared.checks]
        assert list(members(view, reduce(or_, found))) == refused
    shared = with_storage(reserving("data"), claims[0])
    assert answers(shared, version=version) == {"n1": None, "n2": None}


@pytest.mark.parametrize("version", ["1.7", "1.8", "main"])
def test_a_claim_of_one_pod_only_that_a_reservation_s_template_uses_is_in_use_for_all(version: str) -> None:
    drawing = with_storage(reserving("data"), Claim(DATA, "pv", single_pod=True, known=True))
    for pod in (pending("p", claims=("data",)), pending("p", claims=("data",), labels=(("app", "job"),))):
        assert answers(drawing, pod, version) == dict.fromkeys(("n1", "n2"), ClaimInUse(DATA))


@pytest.mark.parametrize(
    "claim", [Claim(DATA, "pv-old", driver="csi"), Claim(DATA, "pv"), Claim(DATA, "pv", driver="x")]
)
def test_a_volume_that_is_there_already_or_of_another_driver_counts_for_nothing(claim: Claim) -> None:
    drawing = TWO.change("n1", volume_limits=(("csi", 1),)).with_running("other", on="n1", claims=("old",))
    assert refusals(drawing, claim, Claim("default/old", "pv-old", driver="csi"))["n1"] is None


def test_two_volumes_that_the_driver_knows_as_one_count_once() -> None:
    drawing = TWO.change("n1", volume_limits=(("csi", 1),)).with_running("other", on="n1", claims=("old",))
    claims = (Claim(DATA, "pv", driver="csi", handle="h"), Claim("default/old", "pv-old", driver="csi", handle="h"))
    assert refusals(drawing, *claims)["n1"] is None


def test_a_claim_that_has_lost_its_volume_counts_under_the_provisioner_of_its_class() -> None:
    drawing = TWO.change("n1", volume_limits=(("csi", 1),)).with_running("other", on="n1", claims=("old",))
    drawing = with_storage(drawing, unbound(), unbound("default/old", volume="pv-gone"))
    assert answers(drawing)["n1"] == TooManyVolumes("csi")


def test_a_provisioner_of_kubernetes_counts_as_the_driver_that_took_over_from_it() -> None:
    ebs = StorageClass("late", "kubernetes.io/aws-ebs", waits=True)
    drawing = TWO.change("n1", volume_limits=(("ebs.csi.aws.com", 0),))
    drawing = drawing.but(claims={DATA: unbound()}, storage=Storage(classes={"late": ebs}))
    assert answers(drawing) == {"n1": TooManyVolumes("ebs.csi.aws.com"), "n2": None}


ATTACHED = TWO.change("n1", volume_limits=(("csi", 1),), attached=(("csi", "pv"), ("other", "pv-2")))
OLD = Claim("default/old", "pv", driver="csi", known=True)


@pytest.mark.parametrize(("version", "refused"), [("1.7", False), ("1.8", True), ("main", True)])
def test_from_1_8_volumes_count_that_are_attached_and_that_no_pod_uses(version: str, *, refused: bool) -> None:
    for name in ("pv-new", "pv"):  # the pod's own one counts beside itself
        drawing = with_storage(ATTACHED, Claim(DATA, name, driver="csi", known=True))
        assert answers(drawing, version=version)["n1"] == (TooManyVolumes("csi") if refused else None)


def test_an_attached_volume_that_a_pod_uses_counts_once() -> None:
    drawing = ATTACHED.with_running("other", on="n1", claims=("old",)).change("n1", volume_limits=(("csi", 2),))
    drawing = with_storage(drawing, Claim(DATA, "pv-new", driver="csi", known=True), OLD)
    assert answers(drawing)["n1"] is None


def test_preempting_the_user_of_an_attached_volume_frees_no_place_and_its_end_does() -> None:
    drawing = cluster("s0: b0[n1]").change("n1", volume_limits=(("csi", 1),), attached=(("csi", "pv"),))
    drawing = drawing.with_running("other", on="n1", claims=("old",)).with_gang(
        "job", 1, 1, priority=9, claims=("data",)
    )
    drawing = with_storage(drawing, unbound(), OLD)
    assert (preempt_of(drawing).victims, preempt_of(drawing.version("1.7")).victims != ()) == ((), True)
    ended = of(drawing).without(drawing.running["n1"])
    prepared = prepare(drawing.pending[0], ended, rules("1.8"), claims=drawing.claims)
    assert rejection(drawing.pending[0], ended.state("n1"), prepared) is None


def test_members_that_share_a_claim_of_one_pod_fail_on_execution() -> None:
    drawing = cluster("s0: b0[n1 n2]").with_gang("job", 2, 1, must_gather="SpineLayer", claims=("data",))
    drawing = drawing.but(claims={DATA: Claim(DATA, "pv", single_pod=True, known=True)})
    assert failing_pod(attempt_of(drawing)) == "default/job-1"


def test_a_node_offers_slots_for_all_members_that_share_a_claim_of_one_pod_and_takes_one() -> None:
    drawing = cluster("s0: b0[n1]").with_gang("job", 2, 1, must_gather="SpineLayer", claims=("data",))
    drawing = drawing.but(claims={DATA: Claim(DATA, "pv", single_pod=True, known=True)})
    failed = attempt_of(drawing)
    assert failed.plan is not None
    assert failed.plan.nodes["n1"].slots == 2
    assert failing_pod(failed) == "default/job-1"


def test_preempting_the_holder_of_a_claim_of_one_pod_helps() -> None:
    drawing = TWO.with_running("holder", on="n1", cpu=8, claims=("data",)).with_running("other", on="n2", cpu=1)
    drawing = drawing.with_gang("job", 1, 8, priority=9, claims=("data",))
    drawing = drawing.but(claims={DATA: Claim(DATA, "pv", single_pod=True, known=True)})
    report = preempt_of(drawing)
    assert ([victim.pod for victim in report.victims], report.helps) == (["default/holder"], True)


def test_reserved_room_holds_no_claim() -> None:
    assert refusals(TWO.with_reserved("r", on="n1"), Claim(DATA, "pv", single_pod=True)) == {"n1": None, "n2": None}


def test_one_free_volume_serves_every_member_in_slots_and_one_in_fact() -> None:
    claims = (unbound("default/a", "manual"), unbound("default/b", "manual"))
    drawing = with_storage(
        cluster("s0: b0[n1 n2]").label("n2", **{ZONE: "b"}), *claims, volumes=(volume("pv", 10, terms=ON_N2),)
    )
    drawing = drawing.with_gang("job", 1, 1, must_gather=SPINE, claims=("a",), minimum=2)
    failed = attempt_of(drawing.with_pod("job-1", gang="job", claims=("b",)))
    assert failed.plan is not None
    assert (failed.plan.nodes["n1"].slots, failed.plan.nodes["n2"].slots) == (0, 2)
    assert failed.failed_seat is not None
    assert (failed.failed_seat.pod, failed.failed_seat.reason) == ("default/job-1", NoVolumeToBind("default/b"))


@pytest.mark.parametrize(
    ("kind", "volumes", "reason"),
    [
        ("late", (), NoVolumeToBind(DATA)),
        ("manual", (volume("pv", 10, terms=ON_N2),), None),
    ],
)
def test_members_that_share_an_unbound_claim_follow_the_first_one(
    kind: str, volumes: tuple[Volume, ...], reason: Reason | None
) -> None:
    drawing = cluster("s0: b0[n1:1 n2:1]") if kind == "late" else cluster("s0: b0[n1 n2]")
    drawing = with_storage(drawing.label("n2", **{ZONE: "b"}), unbound(kind=kind), volumes=volumes)
    failed = attempt_of(drawing.with_gang("job", 2, 1, must_gather=SPINE, claims=("data",)))
    assert (failed.failed_seat and failed.failed_seat.reason) == reason


def test_a_gang_without_topology_takes_free_volumes_in_turn() -> None:
    claims = (unbound("default/a", "manual"), unbound("default/b", "manual"))
    volumes = (volume("pv-1", 10), volume("pv-2", 10))
    drawing = TWO.with_gang("job", 1, 1, claims=("a",), minimum=2).with_pod("job-1", gang="job", claims=("b",))
    assert attempt_of(with_storage(drawing, *claims, volumes=volumes)).placement is not None
    assert attempt_of(with_storage(drawing, *claims, volumes=volumes[:1])).placement is None


def test_members_whose_claims_are_alike_are_one_kind_of_trigger_and_others_are_not() -> None:
    claims = (unbound("default/a"), unbound("default/b"), unbound("default/c", "now"))
    drawing = with_storage(TWO.with_group("job", 3), *claims)
    for name in "abc":
        drawing = drawing.with_pod(f"job-{name}", gang="job", claims=(name,))
    assert [pod.name for pod in jobs_of(drawing)[0].triggers] == ["job-a", "job-c"]
    drawing = drawing.with_pod("job-d", gang="job", claims=("gone",))
    assert [pod.name for pod in jobs_of(drawing)[0].triggers] == ["job-a", "job-c", "job-d"]


@pytest.mark.parametrize("must_gather", [SPINE, ""])
def test_the_cause_is_the_claim_whichever_member_is_tried_first(must_gather: str) -> None:
    drawing = with_storage(TWO, unbound("default/good"), unbound("default/bad", "now"))
    drawing = drawing.with_gang("job", 1, 1, must_gather=must_gather, claims=("good",), minimum=2)
    report = why_of(drawing.with_pod("job-1", gang="job", claims=("bad",)))
    assert report.cause is not None
    assert (report.verdict, report.cause.code, report.cause.pods) == ("no", "volumes-unbound", ("default/job-1",))


def test_a_preemption_for_members_with_good_claims_is_in_vain_where_another_s_is_not_bound() -> None:
    drawing = with_storage(TWO, unbound("default/good"), unbound("default/bad", "now"))
    drawing = drawing.with_running("low", on="n1", cpu=8).with_running("low-2", on="n2", cpu=1)
    drawing = drawing.with_gang("job", 1, 8, priority=9, must_gather=SPINE, claims=("good",), minimum=2)
    report = preempt_of(drawing.with_pod("job-1", gang="job", priority=9, claims=("bad",)))
    assert (report.verdict, report.helps) == ("no", False)
