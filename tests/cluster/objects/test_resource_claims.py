"""Resource claims, device classes and resource slices: what their objects say, in each version of their API."""

import pytest

from kubectl_koord.cluster import kinds
from kubectl_koord.errors import KoordError
from kubectl_koord.model.resource_claims import (
    ClaimableDevice,
    DeviceReach,
    DeviceRequest,
    DynamicResources,
    PodClaim,
    ResourceClaim,
    SameAttribute,
)
from kubectl_koord.model.snapshot import Gap, Snapshot
from kubectl_koord.model.values import NANO, NodeTerm, Requirement
from tests.cluster.objects.wire import Json, collect, pod, read, thing

GPU = "gpu.example.com"
ON_N1 = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]}
N1 = (NodeTerm(fields=(Requirement("metadata.name", "In", ("n1",)),)),)


def claim(name: str = "c", **fields: object) -> Json:
    return thing("ResourceClaim", name, **fields)


def claiming(*claims: Json, made: Json | None = None) -> Json:
    statuses = [{"name": name, "resourceClaimName": to} for name, to in (made or {}).items()]
    return pod("p", status={"resourceClaimStatuses": statuses}, resourceClaims=list(claims))


def slice_of(name: str, *devices: Json, pool: Json | None = None, **spec: object) -> Json:
    whole = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    return thing(
        "ResourceSlice", name, spec={"driver": GPU, "pool": whole | (pool or {}), "devices": [*devices], **spec}
    )


def cel(expression: str) -> list[Json]:
    return [{"cel": {"expression": expression}}]


def claims_of(snapshot: Snapshot) -> tuple[PodClaim, ...]:
    (found,) = snapshot.pending
    return found.resource_claims


def test_a_pod_names_its_claims_or_has_them_made_from_templates() -> None:
    wanted = (
        {"name": "own", "resourceClaimName": "c"},
        {"name": "made", "resourceClaimTemplateName": "t"},
        {"name": "later", "resourceClaimTemplateName": "t"},
        {"name": "none", "resourceClaimTemplateName": "t"},
    )
    snapshot = read(claiming(*wanted, made={"made": "p-made", "none": None}), claim())
    assert claims_of(snapshot) == (
        PodClaim("own", "default/c", found=ResourceClaim("default/c")),
        PodClaim("made", "default/p-made", is_made=True),
        PodClaim("later", is_made=True),
    )
    assert snapshot.pending[0].requirements.has_resource_claims


def test_where_the_api_serves_no_claims_pods_have_none() -> None:
    collector = collect(claiming({"name": "own", "resourceClaimName": "c"}))
    assert collector.has_resource_claims
    unserved = [Gap(kind, "missing", "not served") for kind in kinds.CLAIM_KINDS]
    snapshot = collector.snapshot(moment="", source="file", gaps=unserved)
    assert (claims_of(snapshot), snapshot.gaps) == ((), ())
    hidden = Gap("ResourceClaim", "forbidden", "no")
    snapshot = collector.snapshot(moment="", source="file", gaps=[hidden])
    assert (claims_of(snapshot), snapshot.gaps) == ((PodClaim("own", "default/c"),), (hidden,))


@pytest.mark.parametrize("asked", ["exactly", ""])
def test_what_a_claim_asks_for_is_told_in_the_request_or_one_level_below(asked: str) -> None:
    told = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2, "selectors": cel("true")}
    request = {"name": "r", **({asked: told} if asked else told)}
    snapshot = read(
        claiming({"name": "own", "resourceClaimName": "c"}), claim(spec={"devices": {"requests": [request]}})
    )
    selectors = ("true",)
    expected = ResourceClaim("default/c", (DeviceRequest("r", (("r", "gpu"),), selectors, 2),))
    assert claims_of(snapshot)[0].found == expected


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ({"exactly": {"deviceClassName": "gpu"}}, DeviceRequest("r", (("r", "gpu"),))),
        ({"exactly": {"allocationMode": "All"}}, DeviceRequest("r", (("r", ""),), every=True)),
        ({"exactly": {"adminAccess": True}}, DeviceRequest("r", (("r", ""),), admin=True)),
        ({"exactly": {"capacity": {"requests": {"m": "1Gi"}}}}, DeviceRequest("r", (("r", ""),), open=("capacity",))),
        (
            {
                "firstAvailable": [
                    {"name": "big", "deviceClassName": "gpu"},
                    {"name": "small", "deviceClassName": "mig", "count": 2},
                ]
            },
            DeviceRequest(
                "r",
                (("r/big", "gpu"), ("r/small", "mig")),
                alternatives=(
                    DeviceRequest("r/big", (("r/big", "gpu"),)),
                    DeviceRequest("r/small", (("r/small", "mig"),), count=2),
                ),
            ),
        ),
    ],
)
def test_what_a_request_asks_for_is_read(request_: Json, expected: DeviceRequest) -> None:
    snapshot = read(
        claiming({"name": "own", "resourceClaimName": "c"}),
        claim(spec={"devices": {"requests": [{"name": "r", **request_}]}}),
    )
    assert claims_of(snapshot)[0].found == ResourceClaim("default/c", (expected,))


@pytest.mark.parametrize(
    ("constraint", "fields"),
    [
        ({"matchAttribute": "x.org/numa"}, {"constraints": (SameAttribute(("x.org", "numa")),)}),
        (
            {"matchAttribute": "x.org/numa", "requests": ["a", "b"]},
            {"constraints": (SameAttribute(("x.org", "numa"), ("a", "b")),)},
        ),
        ({"distinctAttribute": "x.org/numa"}, {"open": ("constraints",)}),
    ],
)
def test_constraints_between_devices_are_read(constraint: Json, fields: Json) -> None:
    spec = {"devices": {"constraints": [constraint]}}
    snapshot = read(claiming({"name": "own", "resourceClaimName": "c"}), claim(spec=spec))
    assert claims_of(snapshot)[0].found == ResourceClaim("default/c", **fields)


def test_an_allocated_claim_holds_its_devices_where_they_are() -> None:
    results = [
        {"request": "r", "driver": GPU, "pool": "p", "device": "d0"},
        {"request": "a", "driver": GPU, "pool": "p", "device": "d1", "adminAccess": True},
    ]
    status = {
        "allocation": {"devices": {"results": results}, "nodeSelector": ON_N1},
        "reservedFor": [{"resource": "pods", "name": "q", "uid": "u2"}, {"name": "p", "uid": "u1"}],
    }
    owners = [{"kind": "Pod", "name": "p", "uid": "u1", "controller": True}]
    meta: Json = {"ownerReferences": owners, "deletionTimestamp": "2026-11-20T10:00:00Z"}
    anywhere = claim("any", status={"allocation": {}})
    snapshot = read(claiming({"name": "own", "resourceClaimName": "c"}), claim(status=status, **meta), anywhere)
    assert claims_of(snapshot)[0].found == ResourceClaim(
        "default/c", allocated=True, terms=N1, reserved=("u1", "u2"), owner=("u1", "p"), terminating=True
    )
    assert snapshot.dynamic_resources == DynamicResources(taken=frozenset({(GPU, "p", "d0")}))


def test_devices_of_the_newest_complete_generation_count() -> None:
    snapshot = read(
        slice_of("a", {"name": "old"}, nodeName="n1"),
        slice_of("b", {"name": "new"}, pool={"generation": 2, "resourceSliceCount": 2}, nodeName="n1"),
        thing("DeviceClass", "gpu", spec={"selectors": cel("true")}),
        thing("DeviceClass", "any"),
    )
    assert snapshot.dynamic_resources == DynamicResources(
        classes={"any": (), "gpu": ("true",)},
        devices=(ClaimableDevice((GPU, "p", "new"), DeviceReach("n1")),),
        incomplete=((GPU, "p"),),
    )


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        ({}, {}),
        ({"attributes": {"model": {"string": "a"}}}, {"attributes": (((GPU, "model"), ("string", "a")),)}),
        ({"attributes": {"x.org/n": {"int": 3}}}, {"attributes": ((("x.org", "n"), ("int", 3)),)}),
        ({"basic": {"attributes": {"ok": {"bool": True}}}}, {"attributes": (((GPU, "ok"), ("bool", True)),)}),
        ({"capacity": {"m": {"value": "2Ki"}}}, {"capacity": (((GPU, "m"), 2048 * NANO),)}),
        ({"basic": {"capacity": {"x.org/m": {"value": "500m"}}}}, {"capacity": ((("x.org", "m"), NANO // 2),)}),
        ({"attributes": {"none": {}}}, {"attributes": (((GPU, "none"), ("", "")),)}),
        ({"taints": [{"key": "k", "effect": "NoSchedule"}]}, {"open": ("taints",)}),
        ({"taints": [{"key": "k", "effect": "None"}]}, {}),
        ({"consumesCounters": [{"counterSet": "s"}]}, {"open": ("counters",)}),
        ({"bindingConditions": ["ready"]}, {"open": ("binding-conditions",)}),
        ({"allowMultipleAllocations": True}, {"open": ("shared-device",)}),
    ],
)
def test_what_is_told_of_a_device(device: Json, expected: Json) -> None:
    snapshot = read(slice_of("a", {"name": "d", **device}, allNodes=True))
    assert snapshot.dynamic_resources.devices == (ClaimableDevice((GPU, "p", "d"), **expected),)


def test_a_capacity_that_is_no_quantity_is_named() -> None:
    with pytest.raises(KoordError, match="capacity m: 'much' is not a quantity"):
        read(slice_of("a", {"name": "d", "capacity": {"m": {"value": "much"}}}, allNodes=True))


def test_a_slice_with_counters_that_devices_share_has_no_devices() -> None:
    snapshot = read(slice_of("a", {"name": "d"}, allNodes=True, sharedCounters=[{"name": "memory"}]))
    assert snapshot.dynamic_resources.devices == ()


def test_where_devices_can_be_used_is_told_for_the_slice_or_for_each() -> None:
    snapshot = read(
        slice_of("a", {"name": "d"}, nodeSelector=ON_N1),
        slice_of("b", {"name": "e", "nodeName": "n2"}, perDeviceNodeSelection=True, pool={"name": "q"}),
        slice_of("c", {"name": "f"}, pool={"name": "r"}),
    )
    assert [(device.place, device.open) for device in snapshot.dynamic_resources.devices] == [
        (DeviceReach(terms=N1), ()),
        (DeviceReach("n2"), ("node-selection",)),
        (DeviceReach(terms=()), ()),
    ]


def test_a_selector_of_no_known_kind_is_not_evaluated() -> None:
    snapshot = read(thing("DeviceClass", "gpu", spec={"selectors": [{}]}))
    assert snapshot.dynamic_resources.classes == {"gpu": ("",)}
