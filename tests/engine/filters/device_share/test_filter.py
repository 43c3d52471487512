"""Which nodes have the devices that a pod asks for: what is free of each card, and of enough of them."""

import pytest
from msgspec.structs import replace

from kubectl_koord.engine.reasons import DevicesMissing, DevicesShort, IsolationMissing, Reason, SharingUnsupported
from kubectl_koord.engine.state import of
from kubectl_koord.model.hardware import DeviceHint, DeviceOptions, FunctionGroup
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.snapshot import GapCode
from tests.build import Drawing, attempt_of, card, cluster, devices, having, holding, nic, preemption_of, why_of
from tests.engine.filters.device_share.world import ROOM, asking, cards, given, node_with, refusal

GI = 1 << 30
ISOLATED = DeviceOptions(isolation="HAMi-core")


def hinting(pod: PendingPod, *hints: DeviceHint) -> PendingPod:
    return replace(pod, requirements=replace(pod.requirements, devices=DeviceOptions(hints)))


def used(drawing: Drawing, *minors: int, share: int = 100, kind: str = "gpu") -> Drawing:
    return drawing.with_running(
        f"run-{kind}-{minors}-{share}", "n1", allocations=holding(*minors, share=share, kind=kind)
    )


@pytest.mark.parametrize(
    ("drawing", "pod", "reason"),
    [
        (cluster("s0: b0[n1]").change("n1", allocatable=ROOM), asking(gpu=1), None),
        (node_with(), asking(gpu=1), DevicesMissing("gpu")),
        (node_with(*cards(2)), asking(rdma=50), DevicesMissing("rdma")),
        (node_with(*cards(2)), asking(gpu=2), None),
        (node_with(*cards(2)), asking(gpu=3), DevicesShort("gpu", 3, 2)),
        (node_with(card(0), card(1, healthy=False)), asking(gpu=2), DevicesShort("gpu", 2, 1)),
        (node_with(card(0, healthy=False)), asking(gpu=1), DevicesShort("gpu", 1, 0)),
        (used(node_with(*cards(2)), 0), asking(gpu=1), None),
        (used(node_with(*cards(2)), 0), asking(gpu=2), DevicesShort("gpu", 2, 1)),
        (used(node_with(*cards(1)), 0, share=25), asking(core=75, ratio=75), None),
        (used(node_with(*cards(1)), 0, share=25), asking(core=100, ratio=100), DevicesShort("gpu", 1, 0)),
        (used(node_with(*cards(2)), 0, share=75), asking(memory=16 * GI), None),
        (used(node_with(*cards(2)), 0, 1, share=75), asking(memory=16 * GI), DevicesShort("gpu", 1, 0)),
        (node_with(*cards(2)), asking(core=200, memory=8 * GI), DevicesShort("gpu", 1, 0)),
        (node_with(*cards(4, memory=80)), asking(shared=4, memory=160 * GI), None),
        (node_with(nic()), asking(rdma=200), DevicesShort("rdma", 2, 1)),
        (used(node_with(nic()), 0, share=60, kind="rdma"), asking(rdma=50), DevicesShort("rdma", 1, 0)),
    ],
)
def test_enough_cards_must_have_enough_free_each(drawing: Drawing, pod: PendingPod, reason: Reason | None) -> None:
    assert refusal(drawing, pod) == reason


def test_what_a_card_does_not_tell_is_not_looked_at() -> None:
    only_memory = card(0, resources=(("koordinator.sh/gpu-memory", 8 * GI),))
    assert refusal(node_with(only_memory), asking(core=500, memory=4 * GI)) is None
    assert given(node_with(only_memory), asking(core=50, memory=4 * GI)) == ["gpu0"]


def test_what_only_pods_have_of_a_card_is_not_free() -> None:
    only_memory = card(0, resources=(("koordinator.sh/gpu-memory", 8 * GI),))
    taken = used(node_with(only_memory), 0, share=10)
    assert refusal(taken, asking(core=50, memory=4 * GI)) == DevicesShort("gpu", 1, 0)


def test_a_node_without_device_object_refuses_once_a_pod_has_had_a_device_there_even_when_the_pod_goes() -> None:
    bare = cluster("s0: b0[n1]").change("n1", allocatable=ROOM)
    assert refusal(used(bare, 0), asking(gpu=1)) == DevicesShort("gpu", 1, 0)
    assert refusal(used(bare, 0), asking(rdma=50)) == DevicesMissing("rdma")
    reserved = bare.with_reserved("r", "n1", allocations=holding(0))
    assert refusal(reserved, asking(gpu=1)) == DevicesShort("gpu", 1, 0)
    job = used(bare, 0).with_gang("job", 1, requests=asking(gpu=1).requirements.requests, priority=9)
    found = preemption_of(job)
    assert (found.reason, found.victims) == ("not-helpful", ())


@pytest.mark.parametrize("code", ["forbidden", "missing", "not-in-input"])
def test_where_no_device_object_could_be_read_no_node_is_refused(code: GapCode) -> None:
    bare = used(cluster("s0: b0[n1]").change("n1", allocatable=ROOM), 0)
    assert refusal(bare.with_gap("Device", code), asking(gpu=1)) is None
    assert refusal(bare.with_gap("Device", code), asking(rdma=150)) is not None


def test_a_pod_may_be_given_devices_of_a_type_that_the_device_object_does_not_list_any_more() -> None:
    assert refusal(used(node_with(nic()), 0), asking(gpu=1)) == DevicesShort("gpu", 1, 0)


@pytest.mark.parametrize(
    ("hint", "reason"),
    [
        (DeviceHint("rdma", selector=having(kind="fast")), None),
        (DeviceHint("rdma", selector=having(kind="slow")), DevicesShort("rdma", 1, 0)),
        (DeviceHint("rdma", strategy="ApplyForAll"), None),
        (DeviceHint("rdma", having(kind="fast"), strategy="ApplyForAll"), None),
        (DeviceHint("rdma", having(kind="slow"), strategy="ApplyForAll"), DevicesMissing("rdma")),
        (DeviceHint("rdma", strategy="RequestsAsCount"), DevicesShort("rdma", 50, 2)),
        (DeviceHint("rdma", function_selector=having()), None),
        (DeviceHint("rdma", function_selector=having(vf="none")), DevicesShort("rdma", 1, 0)),
    ],
)
def test_hints_narrow_which_devices_do(hint: DeviceHint, reason: Reason | None) -> None:
    groups = (FunctionGroup((("vf", "a"),), ("b1", "b2")),)
    drawing = node_with(nic(0, labels=(("kind", "fast"),)), nic(1, functions=groups))
    assert refusal(drawing, hinting(asking(rdma=50), hint)) == reason


def test_a_hint_may_ask_for_every_device_and_for_as_many_as_are_requested() -> None:
    three = node_with(nic(0), nic(1), nic(2))
    assert given(three, hinting(asking(rdma=50), DeviceHint("rdma", strategy="ApplyForAll"))) == [
        "rdma0",
        "rdma1",
        "rdma2",
    ]
    assert given(three, hinting(asking(rdma=2), DeviceHint("rdma", strategy="RequestsAsCount"))) == ["rdma0", "rdma1"]
    whole = DeviceHint("rdma", strategy="RequestsAsCount", exclusive="DeviceLevel")
    assert given(used(three, 0, share=1, kind="rdma"), hinting(asking(rdma=2), whole)) == ["rdma1", "rdma2"]


def test_virtual_functions_are_given_to_one_pod_each() -> None:
    groups = (FunctionGroup((("vf", "a"),), ("b2", "b1")),)
    drawing = node_with(nic(0, functions=groups))
    wants = hinting(asking(rdma=1), DeviceHint("rdma", function_selector=having(vf="a")))
    assert given(drawing, wants) == ["rdma0:b1"]
    allocations = holding(0, share=1, kind="rdma")
    held = tuple(replace(one, virtual_functions=("b1",)) for one in allocations.devices)
    one_taken = drawing.with_running("run-1", "n1", allocations=replace(allocations, devices=held))
    assert given(one_taken, wants) == ["rdma0:b2"]
    held = tuple(replace(one, virtual_functions=("b2",)) for one in allocations.devices)
    both = one_taken.with_running("run-2", "n1", allocations=replace(allocations, devices=held))
    assert refusal(both, wants) == DevicesShort("rdma", 1, 0)
    assert refusal(node_with(nic()), wants) == DevicesMissing("rdma", functions=True)


def test_victims_give_no_virtual_functions_back_before_they_are_gone() -> None:
    groups = (FunctionGroup((), ("b1",)),)
    hint = DeviceOptions((DeviceHint("rdma", function_selector=having()),))
    allocations = holding(0, share=1, kind="rdma")
    held = tuple(replace(one, virtual_functions=("b1",)) for one in allocations.devices)
    drawing = node_with(nic(0, functions=groups)).with_running(
        "low", "n1", allocations=replace(allocations, devices=held)
    )
    requests = asking(rdma=1).requirements.requests
    assert (
        preemption_of(drawing.with_gang("job", 1, requests=requests, priority=9, devices=hint)).reason == "not-helpful"
    )
    whole = asking(rdma=100).requirements.requests
    assert [pod.name for pod in preemption_of(drawing.with_gang("job", 1, requests=whole, priority=9)).victims] == [
        "low"
    ]


def test_a_share_needs_the_isolation_provider_that_the_pod_names_and_whole_cards_do_not() -> None:
    drawing = node_with(*cards(1))
    shared, whole = asking(core=50, ratio=50), asking(gpu=1)
    isolated = [replace(pod, requirements=replace(pod.requirements, devices=ISOLATED)) for pod in (shared, whole)]
    assert [refusal(drawing, pod) for pod in isolated] == [IsolationMissing("HAMi-core"), None]
    labelled = drawing.change("n1", labels=(("koordinator.sh/gpu-isolation-provider", "HAMi-core"),))
    assert refusal(labelled, isolated[0]) is None


def test_models_that_cannot_be_shared_are_known_since_1_8() -> None:
    labels = (("node.koordinator.sh/gpu-model", "310P"), ("node.koordinator.sh/gpu-vendor", "huawei"))
    drawing = node_with(*cards(1)).change("n1", labels=labels).configured(unshareable_gpus=(("huawei", "310P"),))
    assert refusal(drawing, asking(core=50, ratio=50)) == SharingUnsupported("huawei", "310P")
    assert refusal(drawing, asking(gpu=1)) is None
    assert refusal(drawing.version("1.7"), asking(core=50, ratio=50)) is None


def test_the_whole_attempt_fails_over_one_node_without_isolation_provider() -> None:
    room = (*ROOM, ("memory", 8))
    two = cluster("s0: b0[n1 n2]").change("n1", "n2", allocatable=room, devices=devices(*cards(1)))
    labelled = two.change("n2", labels=(("koordinator.sh/gpu-isolation-provider", "HAMi-core"),))
    requests = asking(core=50, ratio=50).requirements.requests
    alike = labelled.with_gang("job", 2, requests=requests, devices=ISOLATED)
    unlike = alike.with_pod("job-0", gang="job", cpu=2, requests=(*requests, ("memory", 1)), devices=ISOLATED)
    for job in (alike, unlike):
        failed = attempt_of(job)
        assert (failed.placement, list(failed.considered(of(job)))) == (None, [])
        assert failed.aborted == {"n1": IsolationMissing("HAMi-core")}
        assert preemption_of(job).reason == "not-helpful"
    report = why_of(alike)
    assert report.cause is not None
    assert (report.cause.code, report.cause.message) == (
        "no-feasible-node",
        "the scheduler gives up every attempt at default/job-0 over n1: GPU isolation HAMi-core missing.",
    )
    more = alike.with_nodes(*(replace(alike.nodes["n1"], name=name) for name in ("n3", "n4")))
    cause = why_of(more).cause
    assert cause is not None
    assert "over n1 and 2 more nodes: " in cause.message


def test_victims_give_their_cards_back_and_no_more_of_them_die_than_needed() -> None:
    drawing = used(used(node_with(*cards(3)), 0), 1).with_running("low", "n1", allocations=holding(2, share=50))
    one = drawing.with_gang("job", 1, requests=asking(gpu=1).requirements.requests, priority=9)
    assert [pod.name for pod in preemption_of(one).victims] == ["run-gpu-(1,)-100"]
    two = drawing.with_gang("job", 1, requests=asking(gpu=2).requirements.requests, priority=9)
    assert len(preemption_of(two).victims) == 2


def test_members_are_counted_against_the_same_free_cards_and_the_plan_fails_on_the_second_seat() -> None:
    drawing = used(node_with(*cards(2)), 0, share=50)
    job = drawing.with_gang(
        "job", 2, must_gather="SpineLayer", requests=asking(core=75, ratio=75).requirements.requests
    )
    failed = attempt_of(job)
    assert failed.plan is not None
    assert (failed.plan.offered, failed.placement) == ((2,), None)
    assert failed.failed_seat is not None
    assert (failed.failed_seat.pod, failed.failed_seat.reason) == ("default/job-1", DevicesShort("gpu", 1, 0))


def test_members_of_a_plain_gang_take_cards_from_each_other_alike_or_not() -> None:
    drawing = used(node_with(*cards(2)), 0, share=50)
    requests = asking(core=75, ratio=75).requirements.requests
    alike = drawing.with_gang("job", 2, requests=requests)
    unlike = alike.with_pod("job-0", gang="job", requests=(*requests, ("memory", 1)))
    unlike = unlike.change("n1", allocatable=(*ROOM, ("memory", 8)))
    for job in (alike, unlike):
        failed = attempt_of(job)
        assert failed.rejections == {"n1": DevicesShort("gpu", 1, 0)}
        ((waits,),) = failed.waiting.values()
        assert waits.allocations == holding(1, share=75)
    assert attempt_of(used(node_with(*cards(3)), 0, share=50).with_gang("job", 2, requests=requests)).placement


def test_what_is_booked_is_one_value_for_nodes_that_are_alike() -> None:
    alike = cluster("s0: b0[n1 n2 n3]")
    layout = devices(*cards(2))
    for name in ("n1", "n2", "n3"):
        alike = alike.change(name, allocatable=ROOM, devices=layout)
    taken = holding(0)
    for name in ("n1", "n2"):
        alike = alike.with_running(f"on-{name}", name, allocations=taken)
    waiting = attempt_of(alike.with_gang("job", 5, requests=asking(gpu=1).requirements.requests)).waiting
    booked = {name: [pod.allocations for pod in pods] for name, pods in waiting.items()}
    assert booked == {"n1": [holding(1)], "n2": [holding(1)], "n3": [holding(0), holding(1)]}
    assert booked["n1"][0] is booked["n2"][0]


def test_devices_reserved_for_others_are_taken_and_what_their_owners_use_of_them_counts_once() -> None:
    room = node_with(*cards(2)).with_reserved("r", "n1", allocations=holding(0, reservation="uid"))
    assert refusal(room, asking(gpu=2)) == DevicesShort("gpu", 2, 1)
    owner = room.with_running("owner", "n1", allocations=holding(0, share=60, reservation="uid"))
    assert given(owner, asking(gpu=1)) == ["gpu1"]
    half = node_with(*cards(1)).with_reserved("r", "n1", allocations=holding(0, share=50, reservation="uid"))
    drawn = half.with_running("owner", "n1", allocations=holding(0, share=40, reservation="uid"))
    assert refusal(drawn, asking(core=50, ratio=50)) is None
    assert refusal(drawn, asking(core=51, ratio=51)) == DevicesShort("gpu", 1, 0)
    foreign = half.with_running("other", "n1", allocations=holding(0, share=40))
    assert refusal(foreign, asking(core=50, ratio=50)) == DevicesShort("gpu", 1, 0)
