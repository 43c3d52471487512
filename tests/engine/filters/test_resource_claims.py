"""Resource claims: when they hold pods back, which nodes can serve them, and which devices they get."""

import pytest
from msgspec import structs

from kubectl_koord.diagnosis.coverage import not_evaluated
from kubectl_koord.engine.filters import prepare, rejection, reserve
from kubectl_koord.engine.filters.resource_claims import UnreadyClaim
from kubectl_koord.engine.reasons import (
    ClaimElsewhere,
    ClaimsUnallocated,
    NotEnoughDevices,
    Reason,
    SelectorFails,
    SelectorProblem,
    TooManyDevices,
)
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.state import of
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.resource_claims import (
    GATES,
    ClaimableDevice,
    ClaimSettings,
    DeviceId,
    DeviceReach,
    DeviceRequest,
    DynamicResources,
    PodClaim,
    ResourceClaim,
    SameAttribute,
)
from kubectl_koord.model.unevaluated import ClaimFeature
from kubectl_koord.model.values import NodeTerm, Requirement
from kubectl_koord.wording.words import unevaluated_names
from tests.build import SPINE, Drawing, attempt_of, cluster, jobs_of, pending, preempt_of, short, why_of

DRIVER = "gpu.example.com"
ON_N2 = (NodeTerm(fields=(Requirement("metadata.name", "In", ("n2",)),)),)
TWO = cluster("s0: b0[n1 n2]")
ANY = DeviceRequest("r", (("r", "gpu"),))
OF_DRIVER = f'device.driver == "{DRIVER}"'
BIG = f'device.attributes["{DRIVER}"].model == "big"'
ODD = 'device.driver.split("g").size() == 1'


def device(node: str, name: str = "d0", model: str = "", **fields: object) -> ClaimableDevice:
    attributes = (((DRIVER, "model"), ("string", model)),) if model else ()
    bare = ClaimableDevice((DRIVER, node, name), DeviceReach(node), attributes)
    return structs.replace(bare, **fields)


def with_devices(drawing: Drawing, *devices: ClaimableDevice, **fields: object) -> Drawing:
    resources = DynamicResources(classes={"gpu": (OF_DRIVER,)}, devices=devices)
    return drawing.but(dynamic_resources=structs.replace(resources, **fields))


def claim(name: str = "c", *requests: DeviceRequest, **fields: object) -> PodClaim:
    found = structs.replace(ResourceClaim(f"default/{name}", requests or (ANY,)), **fields)
    return PodClaim("own", f"default/{name}", found=found)


def claiming(*claims: PodClaim, **fields: object) -> PendingPod:
    return structs.replace(pending("p", resource_claims=claims), **fields)


def refusals(drawing: Drawing, *claims: PodClaim) -> dict[str, Reason | None]:
    view, pod = of(drawing), claiming(*claims)
    prepared = prepare(pod, view, rules("1.8"))
    assert prepared.refusal is None
    return {name: rejection(pod, view.state(name), prepared) for name in view.names()}


def given(drawing: Drawing, *claims: PodClaim, node: str = "n1") -> dict[str, tuple[DeviceId, ...]]:
    view, pod = of(drawing), claiming(*claims)
    booked = reserve(pod, view.state(node), prepare(pod, view, rules("1.8")))
    assert isinstance(booked, PendingPod)
    assert booked.allocations is not None
    return dict(booked.allocations.resource_claims)


def gang(drawing: Drawing, *claims: PodClaim) -> Drawing:
    """Add a gang that must gather, one member for each claim."""
    drawn = drawing.with_gang("job", len(claims), 2, must_gather=SPINE)
    for number, one in enumerate(claims):
        drawn = drawn.change_pods(f"job-{number}", resource_claims=(one,))
    return drawn


def lacking(wanted: int = 1, free: int = 0, claim: str = "c", request: str = "r", **fields: bool) -> NotEnoughDevices:
    return NotEnoughDevices(f"default/{claim}", request, wanted, free, **fields)


TAKEN = with_devices(TWO, device("n1"), taken=frozenset({(DRIVER, "n1", "d0")}))
MIXED = with_devices(TWO, device("n1", "d0", "big"), device("n1", "d1", "small"), device("n2", "d0", "small"))
ONE_BIG = structs.replace(ANY, selectors=(BIG,))
EVERY = structs.replace(ANY, every=True)
ADMIN = structs.replace(ANY, admin=True)
TOO_MANY = TooManyDevices("default/c", 1 << 62)
NONE = NotEnoughDevices("default/c", "r", 0, 0, every=True)
SHARING = TWO.configured(claims=ClaimSettings(frozenset(GATES.values())))


def either(*alternatives: DeviceRequest) -> DeviceRequest:
    return DeviceRequest("r", (("r", "gpu"),), alternatives=alternatives)


PAIR = structs.replace(ANY, count=2)


SAME = SameAttribute((DRIVER, "model"))


@pytest.mark.parametrize(
    ("constraint", "requests", "expected"),
    [
        (SAME, (ANY, ANY), {"n1": lacking(free=1), "n2": None}),
        (SAME, (PAIR,), {"n1": lacking(2, 1), "n2": None}),
        (SAME, (EVERY,), {"n1": lacking(2, 1, every=True), "n2": lacking(3, 1, every=True)}),
        (SameAttribute((DRIVER, "other")), (ANY,), {"n1": lacking(), "n2": lacking()}),
        (SameAttribute((DRIVER, "model"), ("x",)), (PAIR,), {"n1": None, "n2": None}),
        (SameAttribute((DRIVER, "model"), ("r",)), (structs.replace(PAIR, name="r/a"),), {"n1": None, "n2": None}),
    ],
)
def test_devices_of_a_claim_may_have_to_share_an_attribute(
    constraint: SameAttribute, requests: tuple[DeviceRequest, ...], expected: dict[str, Reason | None]
) -> None:
    models = (("n1", "big"), ("n1", "small"), ("n2", "big"), ("n2", "small"), ("n2", "small"))
    drawing = with_devices(TWO, *(device(node, f"d{number}", of) for number, (node, of) in enumerate(models)))
    if requests[0].name == "r/a":
        expected = {"n1": lacking(2, 1, request="r/a"), "n2": None}
    assert refusals(drawing, claim("c", *requests, constraints=(constraint,))) == expected


def test_of_alternatives_the_first_that_can_be_served_is_taken() -> None:
    assert given(MIXED, claim("c", either(ONE_BIG, PAIR))) == {"default/c": ((DRIVER, "n1", "d0"),)}
    three = structs.replace(ANY, count=3)
    assert given(MIXED, claim("c", either(three, PAIR))) == {"default/c": ((DRIVER, "n1", "d0"), (DRIVER, "n1", "d1"))}


def test_administrative_access_takes_no_device() -> None:
    drawing = with_devices(TWO, device("n1"))
    assert given(drawing, claim("c", ADMIN)) == {"default/c": ()}
    assert given(drawing, claim("c", ADMIN), claim("d")) == {"default/c": (), "default/d": ((DRIVER, "n1", "d0"),)}


def test_within_a_claim_administrative_access_needs_devices_of_its_own() -> None:
    assert refusals(MIXED, claim("c", ADMIN, ANY)) == {"n1": None, "n2": lacking(free=1)}
    assert given(MIXED, claim("c", ADMIN, ANY)) == {"default/c": ((DRIVER, "n1", "d1"),)}


def test_beside_other_claims_it_is_open_which_devices_administrative_access_leaves_them() -> None:
    drawn = with_devices(TWO, device("n1")).with_pods(claiming(claim("c", ADMIN), claim("d")))
    name = "resource claim default/c (administrative access beside other claims)"
    assert unevaluated_names(not_evaluated(drawn.subject("p"), drawn)) == name
    assert why_of(drawn, "p").verdict == "unknown"


def test_where_no_device_matches_it_is_not_open_what_a_failing_selector_does() -> None:
    drawn = with_devices(TWO, device("n1")).with_pods(claiming(claim("c", ONE_BIG)))
    assert not_evaluated(drawn.subject("p"), drawn) == ()
    either_ = with_devices(TWO, device("n1")).with_pods(claiming(claim("c", either(ONE_BIG, ANY))))
    name = "resource claim default/c (devices on which its CEL selectors fail)"
    assert unevaluated_names(not_evaluated(either_.subject("p"), either_)) == name
    assert why_of(either_, "p").verdict == "unknown"


@pytest.mark.parametrize(("version", "verdict"), [("1.8", "unknown"), ("main", "yes")])
def test_1_8_may_fail_to_rank_nodes_for_claims_of_which_some_are_allocated(version: str, verdict: str) -> None:
    drawing = with_devices(TWO, device("n1"), device("n2")).version(version)
    drawn = drawing.with_pods(claiming(claim("c"), claim("d", allocated=True)))
    assert why_of(drawn, "p").verdict == verdict
    both = drawing.with_pods(claiming(claim("c", allocated=True), claim("d", allocated=True)))
    assert why_of(both, "p").verdict == "yes"


FAILS = SelectorFails("default/c", "r", BIG, SelectorProblem("no-such-key", "model"))
MANY = tuple(device("n1", f"d{number}") for number in range(33))


@pytest.mark.parametrize(
    ("drawing", "requests", "expected"),
    [
        (with_devices(TWO, device("n1")), (ONE_BIG,), {"n1": FAILS, "n2": lacking()}),
        (with_devices(TWO, device("n1"), device("n1", "d1", "big")), (ONE_BIG,), {"n1": None, "n2": lacking()}),
        (
            with_devices(TWO, device("n1", place=DeviceReach(terms=ON_N2))),
            (ONE_BIG,),
            {"n1": lacking(), "n2": FAILS},
        ),
        (with_devices(TAKEN, device("n1"), taken=TAKEN.dynamic_resources.taken), (ONE_BIG,), {"n1": lacking()}),
        (
            with_devices(TAKEN, device("n1"), taken=TAKEN.dynamic_resources.taken),
            (structs.replace(ONE_BIG, every=True),),
            {"n1": structs.replace(FAILS), "n2": NONE},
        ),
        (with_devices(TWO, device("n1")), (ANY, ONE_BIG), {"n1": lacking(), "n2": lacking()}),
        (with_devices(TWO, *MANY), (EVERY,), {"n1": TooManyDevices("default/c", 33), "n2": NONE}),
        (with_devices(TWO, *MANY), (structs.replace(ANY, count=32),), {"n1": None, "n2": lacking(32)}),
        (
            with_devices(TWO, *MANY),
            (structs.replace(ANY, count=31), either(structs.replace(PAIR, name="r/a"), ANY)),
            {"n1": None, "n2": lacking(31)},
        ),
    ],
)
def test_a_node_refuses_where_a_selector_fails_or_a_claim_would_get_too_many(
    drawing: Drawing, requests: tuple[DeviceRequest, ...], expected: dict[str, Reason | None]
) -> None:
    assert refusals(drawing, claim("c", *requests)) == {"n2": lacking()} | expected


def test_the_scheduler_gives_up_a_pod_where_a_selector_fails_on_any_node_that_it_asks() -> None:
    drawing = with_devices(TWO, device("n1"), device("n2", model="big")).with_pods(claiming(claim("c", ONE_BIG)))
    report = why_of(drawing, "p")
    assert report.cause is not None
    assert (report.verdict, report.cause.message) == (
        "no",
        (
            f"the scheduler gives up every attempt at default/p over n1: resource claim default/c (CEL selector {BIG}"
            " of request r fails: no such key: model)."
        ),
    )
    assert why_of(drawing.cordon("n1"), "p").verdict == "unknown"
    too_many = with_devices(TWO, *MANY, device("n2")).with_pods(claiming(claim("c", EVERY)))
    assert why_of(too_many, "p").verdict == "no"
    name = "resource claim default/c (requests for all devices that have to share an attribute, or are more than 32)"
    assert unevaluated_names(not_evaluated(too_many.subject("p"), too_many)) == name


def test_beside_administrative_access_for_several_claims_it_is_not_sure_that_a_selector_fails() -> None:
    found = refusals(with_devices(TWO, device("n1")), claim("c", ADMIN), claim("d", ONE_BIG))
    assert found == {"n1": lacking(claim="d"), "n2": lacking()}


def test_a_selector_that_may_fail_or_not_be_reached_ends_no_attempt() -> None:
    odd = structs.replace(ANY, selectors=(ODD,))
    drawing = with_devices(TWO, device("n1"), device("n2", "d0", "big"), device("n2", "d1", "big"))
    drawn = drawing.with_pods(claiming(claim("c", odd, structs.replace(ANY, selectors=(OF_DRIVER, BIG)))))
    assert why_of(drawn, "p").verdict == "unknown"


def test_a_plan_leaves_nodes_out_where_a_selector_fails() -> None:
    drawing = gang(with_devices(TWO, device("n1"), device("n2", model="big")), claim("c", ONE_BIG))
    assert short(attempt_of(drawing).placement) == {"job-0": "n2"}


@pytest.mark.parametrize(
    ("drawing", "requests", "expected"),
    [
        (with_devices(TWO), (ANY,), {"n1": lacking(), "n2": lacking()}),
        (with_devices(TWO, device("n1")), (ANY,), {"n1": None, "n2": lacking()}),
        (TAKEN, (ANY,), {"n1": lacking(), "n2": lacking()}),
        (MIXED, (ONE_BIG,), {"n1": None, "n2": lacking()}),
        (MIXED, (PAIR,), {"n1": None, "n2": lacking(2, 1)}),
        (MIXED, (structs.replace(ANY, count=1 << 62),), {"n1": TOO_MANY, "n2": TOO_MANY}),
        (MIXED, (EVERY,), {"n1": None, "n2": None}),
        (TAKEN, (EVERY,), {"n1": lacking(1, 0, every=True), "n2": lacking(0, 0, every=True)}),
        (MIXED, (ANY, ONE_BIG), {"n1": None, "n2": lacking(free=0)}),
        (MIXED, (ONE_BIG, ANY, ANY), {"n1": lacking(free=2), "n2": lacking()}),
        (with_devices(TWO, device("n1", place=DeviceReach())), (ANY,), {"n1": None, "n2": None}),
        (with_devices(TWO, device("n1", place=DeviceReach(terms=ON_N2))), (ANY,), {"n1": lacking(), "n2": None}),
        (with_devices(TWO, device("n1", id=("other", "n1", "d0"))), (ANY,), {"n1": lacking(), "n2": lacking()}),
        (with_devices(SHARING, device("n1", open=("shared-device",))), (PAIR,), {"n1": None, "n2": lacking(2)}),
        (with_devices(TWO, device("n1", open=("shared-device",))), (PAIR,), {"n1": lacking(2, 1), "n2": lacking(2)}),
        (with_devices(TWO, device("n1", open=("counters",))), (ANY,), {"n1": lacking(), "n2": lacking()}),
        (with_devices(TWO, device("n1", open=("counters",))), (EVERY,), {"n1": lacking(1, 0, every=True), "n2": NONE}),
        (with_devices(TWO, device("n1", open=("binding-conditions",))), (EVERY,), {"n1": NONE, "n2": NONE}),
        (with_devices(TWO, device("n1", open=("node-selection",))), (ANY,), {"n1": lacking(), "n2": lacking()}),
        (with_devices(TWO, device("n1", open=("taints",))), (ANY,), {"n1": None, "n2": lacking()}),
        (TAKEN, (ADMIN,), {"n1": None, "n2": lacking()}),
        (TAKEN, (structs.replace(ADMIN, count=2),), {"n1": lacking(2, 1), "n2": lacking(2)}),
        (MIXED, (either(ONE_BIG, ANY),), {"n1": None, "n2": None}),
        (MIXED, (either(ONE_BIG, PAIR),), {"n1": None, "n2": lacking()}),
        (MIXED, (either(EVERY, ANY), ANY), {"n1": None, "n2": lacking(free=1)}),
        (with_devices(TWO, device("n1")), (structs.replace(ANY, selectors=(ODD,)),), {"n1": None, "n2": lacking()}),
        (with_devices(TWO).with_gap("ResourceSlice"), (ANY,), {"n1": None, "n2": None}),
        (with_devices(TWO, classes={}).with_gap("DeviceClass"), (ANY,), {"n1": None, "n2": None}),
    ],
)
def test_a_node_refuses_what_its_free_devices_cannot_serve(
    drawing: Drawing, requests: tuple[DeviceRequest, ...], expected: dict[str, Reason | None]
) -> None:
    assert refusals(drawing, claim("c", *requests)) == expected


def test_devices_of_an_allocated_claim_can_only_be_used_where_they_are() -> None:
    here = claim("c", allocated=True, terms=ON_N2)
    assert refusals(TWO, here) == {"n1": ClaimElsewhere("default/c"), "n2": None}
    assert refusals(TWO, claim("c", allocated=True)) == {"n1": None, "n2": None}


def test_what_a_pod_asks_for_is_served_together_and_requests_give_way_to_each_other() -> None:
    claims = (claim("any"), claim("big", ONE_BIG))
    assert given(MIXED, *claims) == {
        "default/any": ((DRIVER, "n1", "d1"),),
        "default/big": ((DRIVER, "n1", "d0"),),
    }


def test_a_claim_whose_class_does_not_exist_is_refused_before_any_node_is_asked() -> None:
    expected = ClaimsUnallocated("default/p", "default/c", "no-class", "gpu", "r")
    assert prepare(claiming(claim()), of(TWO), rules("1.8")).refusal == expected
    cause = why_of(TWO.with_pods(claiming(claim())), "p").cause
    assert cause is not None
    assert (cause.code, cause.pods) == ("claims-unallocated", ("default/p",))


@pytest.mark.parametrize("version", ["1.7", "1.8", "main"])
def test_claims_count_from_1_8_on(version: str) -> None:
    drawing = TWO.with_pods(claiming(claim())).version(version)
    assert why_of(drawing, "p").verdict == ("yes" if version == "1.7" else "no")
    assert not_evaluated(drawing.subject("p"), drawing) == ()


MADE = ResourceClaim("default/p-own", (ANY,), owner=("u", "p"))


@pytest.mark.parametrize(
    ("claim_", "uid", "fault"),
    [
        (PodClaim("own", is_made=True), "u", UnreadyClaim("own", "not-made")),
        (PodClaim("own", "default/c"), "u", UnreadyClaim("default/c", "missing")),
        (claim("c", terminating=True), "u", UnreadyClaim("default/c", "being-deleted")),
        (PodClaim("own", "default/p-own", True, MADE), "v", UnreadyClaim("default/p-own", "not-owner")),  # noqa: FBT003
        (PodClaim("own", "default/p-own", True, MADE), "u", None),  # noqa: FBT003
        (PodClaim("own", "default/p-own", True, MADE), "", None),  # noqa: FBT003
    ],
)
def test_a_pod_is_held_back_until_its_claims_can_be_used(
    claim_: PodClaim, uid: str, fault: UnreadyClaim | None
) -> None:
    more = claim("d", allocated=True)
    drawing = with_devices(TWO, device("n1")).with_pods(claiming(claim_, more, uid=uid)).version("main")
    report = why_of(drawing, "p")
    assert (report.verdict, report.cause and report.cause.code) == (
        ("no", "claims-unallocated") if fault else ("yes", None)
    )
    if fault is not None:
        assert report.cause is not None
        assert fault.name in report.cause.message
        assert preempt_of(drawing, "p").reason == "claims-unallocated"


def test_a_member_without_its_claim_holds_the_gang_back_unless_the_others_are_enough() -> None:
    drawing = gang(with_devices(TWO, device("n1"), device("n1", "d1")), claim("a"), PodClaim("own", "default/b"))
    report = why_of(drawing)
    assert report.cause is not None
    assert (report.verdict, report.cause.code, report.cause.pods) == ("no", "claims-unallocated", ("default/job-1",))
    assert "1 of its 2 pods is not tried" in report.cause.message
    enough = drawing.with_group("job", 1, topology=drawing.pod_groups["default/job"].topology)
    assert why_of(enough).verdict == "unknown"


def test_planning_counts_the_devices_of_one_claim_for_all_members_and_its_execution_fails() -> None:
    drawing = gang(with_devices(TWO, device("n1"), device("n2")), claim("a"), claim("b"), claim("c"))
    found = attempt_of(drawing)
    assert found.plan is not None
    assert found.plan.offered == (6,)  # each node takes all three
    assert found.failed_seat is not None
    assert found.failed_seat.reason in {lacking(claim=name) for name in "abc"}
    report = why_of(drawing)
    assert (report.verdict, report.cause and report.cause.code) == ("unknown", "plan-not-executable")


def test_members_with_claims_that_are_alike_are_one_kind_of_trigger() -> None:
    (job,) = jobs_of(gang(TWO, claim("a"), claim("b"), claim("c", PAIR), PodClaim("own", "default/d")))
    assert [pod.name for pod in job.triggers] == ["job-0", "job-2"]


@pytest.mark.parametrize("topology", [SPINE, ""])
def test_a_claim_that_is_not_allocated_yet_cannot_be_shared_in_a_gang(topology: str) -> None:
    drawing = with_devices(TWO, device("n1"), device("n2"))
    drawing = drawing.with_gang("job", 2, 2, must_gather=topology).change_pods(resource_claims=(claim(),))
    report = why_of(drawing)
    assert report.cause is not None
    assert (report.verdict, report.cause.code) == ("no", "claims-unallocated")
    assert "is being allocated for another pod" in report.cause.message
    placed = drawing.change_pods(resource_claims=(claim(allocated=True, terms=ON_N2),))
    assert short(attempt_of(placed).placement) == {"job-0": "n2", "job-1": "n2"}


def test_members_without_topology_take_devices_one_after_the_other() -> None:
    drawing = with_devices(TWO, device("n1"), device("n2")).with_gang("job", 2, 1)
    drawing = drawing.change_pods("job-0", resource_claims=(claim("a"),))
    drawing = drawing.change_pods("job-1", resource_claims=(claim("b"),))
    assert sorted(short(attempt_of(drawing).placement).values()) == ["n1", "n2"]
    short_of = with_devices(drawing, device("n1"))
    assert why_of(short_of).verdict == "no"


def test_members_without_topology_do_not_get_a_device_twice_that_several_nodes_can_use() -> None:
    drawing = with_devices(TWO, device("n1", place=DeviceReach())).with_gang("job", 2, 1)
    drawing = drawing.change_pods("job-0", resource_claims=(claim("a"),))
    drawing = drawing.change_pods("job-1", resource_claims=(claim("b"),))
    assert why_of(drawing).verdict == "no"


def test_no_pod_is_preempted_for_devices() -> None:
    drawing = TAKEN.with_running("low", on="n1", cpu=1).with_pods(claiming(claim(), priority=9))
    report = preempt_of(drawing, "p")
    assert (report.verdict, report.victims) == ("no", ())
    cause = why_of(drawing, "p").cause
    assert cause is not None
    assert cause.message == ("2 of 2 nodes cannot serve resource claim default/c (request r wants 1 device, 0 free).")


def test_a_pod_that_holds_devices_is_not_moved() -> None:
    drawing = cluster("s0: b0[n1]; s1: b1[n2]").with_running("low", on="n1", cpu=4, owner="Job/low")
    drawing = drawing.with_running("high", on="n2", cpu=2).with_gang("job", 1, 8, must_gather=SPINE)
    assert "move-pod" in {way.action for way in why_of(drawing).unblock}
    held = {name: tuple(_with_claims(pod) for pod in pods) for name, pods in drawing.running.items()}
    assert "move-pod" not in {way.action for way in why_of(drawing.but(running=held)).unblock}


def _with_claims(pod: object) -> object:
    requirements = structs.replace(pod.requirements, has_resource_claims=True)  # type: ignore[attr-defined]
    return structs.replace(pod, requirements=requirements)  # type: ignore[type-var]


def used(feature: ClaimFeature) -> DeviceRequest:
    return structs.replace(ANY, open=(feature,))


OPEN = with_devices(TWO, device("n1"), device("n2"))


def knowing(drawing: Drawing) -> Drawing:
    """Let the scheduler know all features of resource claims, and release idle ones."""
    return drawing.configured(claims=ClaimSettings(frozenset(GATES.values()), releases=True))


@pytest.mark.parametrize(
    ("drawing", "claim_", "names"),
    [
        (OPEN, claim(), ""),
        (OPEN, claim("c", used("capacity")), ""),
        (knowing(OPEN), claim("c", used("capacity")), "resource claim default/c (capacity requests)"),
        (
            with_devices(TWO, device("n1", model="a")),
            claim("c", EVERY, constraints=(SAME,)),
            "resource claim default/c (requests for all devices that have to share an attribute, or are more than 32)",
        ),
        (OPEN, claim(open=("constraints",)), "resource claim default/c (constraints between devices)"),
        (OPEN, claim("c", *[either(*[ANY] * 8)] * 4), "resource claim default/c (requests with alternatives)"),
        (
            with_devices(TWO, *(device("n1", f"d{number}", f"m{number}") for number in range(32))),
            claim("c", ANY, ANY, constraints=(SAME, structs.replace(SAME, requests=("r",)))),
            "resource claim default/c (constraints between devices)",
        ),
        (
            with_devices(TWO, device("n1", model="a")),
            claim(constraints=(SAME,) * 3),
            "resource claim default/c (constraints between devices)",
        ),
        (
            with_devices(TWO, device("n1"), *MANY, taken=TAKEN.dynamic_resources.taken),
            claim("c", structs.replace(EVERY, selectors=(ODD,))),
            (
                'resource claim default/c (CEL selector device.driver.split("g").size() == 1) and resource claim'
                " default/c (requests for all devices that have to share an attribute, or are more than 32)"
            ),
        ),
        (
            OPEN,
            claim("c", structs.replace(ANY, selectors=(ODD,))),
            'resource claim default/c (CEL selector device.driver.split("g").size() == 1)',
        ),
        (
            with_devices(TWO, device("n1"), device("n2", model="big")),
            claim("c", structs.replace(ANY, selectors=(ODD, BIG))),
            'resource claim default/c (CEL selector device.driver.split("g").size() == 1)',
        ),
        (
            with_devices(TWO, device("n1", model="big"), device("n1", "d1")),
            claim("c", ONE_BIG),
            "resource claim default/c (devices on which its CEL selectors fail)",
        ),
        (
            knowing(with_devices(TWO, device("n1", open=("taints",)))),
            claim(),
            "resource claim default/c (device taints)",
        ),
        (with_devices(TWO, device("n1", open=("taints",))), claim(), ""),
        (
            knowing(with_devices(TWO, device("n1"), device("n2", id=("other", "n2", "d0"), open=("taints",)))),
            claim(),
            "",
        ),
        (
            with_devices(TWO, device("n1"), incomplete=((DRIVER, "x"), ("other", "y"))),
            claim(),
            "device pool x of driver gpu.example.com (not all of its ResourceSlices are there)",
        ),
        (OPEN, claim(allocated=True), ""),
        (OPEN, claim(allocated=True, terms=ON_N2, reserved=("other",)), ""),
        (OPEN, claim(allocated=True, terms=ON_N2), ""),
        (
            knowing(OPEN),
            claim(allocated=True, terms=ON_N2),
            "resource claim default/c (no other pod uses it: the scheduler may release it)",
        ),
        (OPEN.with_gap("ResourceSlice"), claim(), "resource claims (ResourceSlice objects could not all be read)"),
        (
            OPEN.with_gap("ResourceClaim"),
            PodClaim("own", "default/c"),
            "resource claims (ResourceClaim objects could not all be read)",
        ),
    ],
)
def test_what_is_not_evaluated_of_claims_is_named_and_makes_a_yes_unknown(
    drawing: Drawing, claim_: PodClaim, names: str
) -> None:
    drawn = drawing.with_pods(claiming(claim_))
    assert unevaluated_names(not_evaluated(drawn.subject("p"), drawn)) == names
    assert why_of(drawn, "p").verdict == ("unknown" if names else "yes")


@pytest.mark.parametrize(
    ("drawing", "claim_", "verdict"),
    [
        (knowing(with_devices(TWO)), claim("c", used("capacity")), "no"),
        (with_devices(TWO, incomplete=((DRIVER, "x"),)), claim(), "unknown"),
        (TWO.cordon("n2"), claim(allocated=True, terms=ON_N2), "no"),
        (knowing(TWO.cordon("n2")), claim(allocated=True, terms=ON_N2), "unknown"),
        (OPEN, claim(allocated=True, reserved=tuple(map(str, range(256)))), "no"),
        (with_devices(TWO), claim("c", either(ANY, EVERY)), "unknown"),
        (with_devices(TWO, device("n1")), claim("c", ONE_BIG), "no"),
        (with_devices(TWO), claim("c", either(EVERY, ANY)), "no"),
        (with_devices(TWO, incomplete=(("other", "y"),)), claim(), "no"),
    ],
)
def test_a_no_stays_a_no_unless_more_devices_may_be_there(drawing: Drawing, claim_: PodClaim, verdict: str) -> None:
    assert why_of(drawing.with_pods(claiming(claim_)), "p").verdict == verdict


def test_ways_to_serve_several_claims_of_a_pod_count_together() -> None:
    claims = tuple(claim(name, *[either(*[ANY] * 8)] * 2) for name in ("a", "b"))
    said = "resource claim default/a (requests with alternatives)"
    for asked, names in ((claims[:1], ""), (claims, said)):
        drawn = OPEN.with_pods(claiming(*asked))
        assert unevaluated_names(not_evaluated(drawn.subject("p"), drawn)) == names
